"""Verifiers, which check an answer by properties that only the right answer has, without computing a second answer.

Each function takes the graph, the arguments of the algorithm with the same names and meaning, and the answer. It
returns nothing, or raises a `VerificationError` that names the vertex or edge and the property that it violates. None
of them runs gasla's kernels: they use NumPy and SciPy on plain arrays, so that an error in an engine cannot hide itself
here.

Some answers have no property that is faster to check than the answer is to compute. For these, randomly sampled
vertices, edges or pairs are compared with a direct computation; `samples` is their number, and all are compared if
there are no more.

The idea of verifying properties, apart from golden values, is that of the GAP benchmark suite (Beamer, Asanović,
Patterson: The GAP Benchmark Suite, 2015) and of Graph500's validation.
"""

from gasla.verify._common import VerificationError
from gasla.verify.centrality.betweenness import betweenness, edge_betweenness, number_of_shortest_paths
from gasla.verify.centrality.influence import influence_maximization
from gasla.verify.centrality.power_iterations import article_rank, eigenvector, hits, katz, pagerank, salsa
from gasla.verify.core_numbers import core_number, k_core
from gasla.verify.derived_graphs import complement, condensation, ego_graph, line_graph
from gasla.verify.directed.closures import transitive_closure, transitive_reduction
from gasla.verify.directed.flows import global_minimum_cut, maximum_flow, minimum_cost_flow, minimum_cut
from gasla.verify.directed.orders import longest_path, topological_order
from gasla.verify.partitions import (
    components,
    label_propagation,
    leiden_communities,
    louvain_communities,
    modularity,
    partition,
    partition_quality,
    partition_table,
    spectral_clustering,
    strong_components,
)
from gasla.verify.positions import geolocate, layout
from gasla.verify.searches.depth_first_searches import depth_first_order, dominators
from gasla.verify.searches.hops import eccentricity, effective_diameter, k_hop_counts
from gasla.verify.searches.paths import bfs, multi_source_bfs, multi_source_shortest_paths, nearest_source, sssp
from gasla.verify.searches.paths_and_cycles import find_cycle, simple_cycles, simple_paths
from gasla.verify.searches.single_pair import alternative_paths, k_shortest_paths, shortest_path
from gasla.verify.searches.temporal import earliest_arrival, fastest_durations, latest_departure, temporal_reachability
from gasla.verify.spot_checks import (
    aggregate_features,
    closeness,
    clustering,
    edge_support,
    harmonic,
    scan_statistics,
    shared_nearest_neighbors,
    similarity,
    triangles,
)
from gasla.verify.undirected.chains_and_bases import chain_decomposition, cycle_basis
from gasla.verify.undirected.clique_lists import maximal_cliques
from gasla.verify.undirected.cycles import articulation_points, biconnected_components, bipartite, bridges
from gasla.verify.undirected.independence import (
    assignment,
    greedy_color,
    maximal_independent_set,
    maximal_matching,
    maximum_bipartite_matching,
)
from gasla.verify.undirected.laplacians import fiedler_vector, spectral_embedding
from gasla.verify.undirected.sweep_cut import pagerank_nibble
from gasla.verify.undirected.trees import minimum_spanning_forest, steiner_tree
from gasla.verify.walks_and_samples import negative_edges, random_walks, randomized, sample_neighbors, split_edges

__all__ = [
    "VerificationError",
    "aggregate_features",
    "alternative_paths",
    "article_rank",
    "articulation_points",
    "assignment",
    "betweenness",
    "bfs",
    "biconnected_components",
    "bipartite",
    "bridges",
    "chain_decomposition",
    "closeness",
    "clustering",
    "complement",
    "components",
    "condensation",
    "core_number",
    "cycle_basis",
    "depth_first_order",
    "dominators",
    "earliest_arrival",
    "eccentricity",
    "edge_betweenness",
    "edge_support",
    "effective_diameter",
    "ego_graph",
    "eigenvector",
    "fastest_durations",
    "fiedler_vector",
    "find_cycle",
    "geolocate",
    "global_minimum_cut",
    "greedy_color",
    "harmonic",
    "hits",
    "influence_maximization",
    "k_core",
    "k_hop_counts",
    "k_shortest_paths",
    "katz",
    "label_propagation",
    "latest_departure",
    "layout",
    "leiden_communities",
    "line_graph",
    "longest_path",
    "louvain_communities",
    "maximal_cliques",
    "maximal_independent_set",
    "maximal_matching",
    "maximum_bipartite_matching",
    "maximum_flow",
    "minimum_cost_flow",
    "minimum_cut",
    "minimum_spanning_forest",
    "modularity",
    "multi_source_bfs",
    "multi_source_shortest_paths",
    "nearest_source",
    "negative_edges",
    "number_of_shortest_paths",
    "pagerank",
    "pagerank_nibble",
    "partition",
    "partition_quality",
    "partition_table",
    "random_walks",
    "randomized",
    "salsa",
    "sample_neighbors",
    "scan_statistics",
    "shared_nearest_neighbors",
    "shortest_path",
    "similarity",
    "simple_cycles",
    "simple_paths",
    "spectral_clustering",
    "spectral_embedding",
    "split_edges",
    "sssp",
    "steiner_tree",
    "strong_components",
    "temporal_reachability",
    "topological_order",
    "transitive_closure",
    "transitive_reduction",
    "triangles",
]
