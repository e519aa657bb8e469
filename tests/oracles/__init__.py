"""Oracles: gasla's results computed again, completely, by NumPy, SciPy and plain Python.

Like the functions of `gasla.verify`, each takes the graph, the arguments and the result, and raises
`VerificationError` if the result is wrong. Functions in both places check all of a result here, and a sample there.
"""

from tests.oracles.counts import clustering, square_clustering, triangles
from tests.oracles.cuts import articulation_points, bridges
from tests.oracles.features import aggregate_features
from tests.oracles.motifs import motif_counts, triadic_census
from tests.oracles.nearest_points import nearest_neighbors_graph
from tests.oracles.patterns import count_cliques, subgraph_matches
from tests.oracles.projections import project
from tests.oracles.similarity import similarity, top_k_similar
from tests.oracles.trusses import edge_support, k_truss
from tests.oracles.walk_pairs import walk_pairs

__all__ = [
    "aggregate_features",
    "articulation_points",
    "bridges",
    "clustering",
    "count_cliques",
    "edge_support",
    "k_truss",
    "motif_counts",
    "nearest_neighbors_graph",
    "project",
    "similarity",
    "square_clustering",
    "subgraph_matches",
    "top_k_similar",
    "triadic_census",
    "triangles",
    "walk_pairs",
]
