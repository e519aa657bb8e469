"""Oracles: gasla's results computed again, completely, where `gasla.verify` has no verifier.

Like the functions of `gasla.verify`, each takes the graph, the arguments and the result, and raises
`VerificationError` if the result is wrong.
"""

from tests.oracles.motifs import motif_counts, triadic_census
from tests.oracles.nearest_points import nearest_neighbors_graph
from tests.oracles.patterns import count_cliques, subgraph_matches
from tests.oracles.projections import project
from tests.oracles.similarity import top_k_similar
from tests.oracles.square_clustering import square_clustering
from tests.oracles.trusses import k_truss
from tests.oracles.walk_pairs import walk_pairs

__all__ = [
    "count_cliques",
    "k_truss",
    "motif_counts",
    "nearest_neighbors_graph",
    "project",
    "square_clustering",
    "subgraph_matches",
    "top_k_similar",
    "triadic_census",
    "walk_pairs",
]
