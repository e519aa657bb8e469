"""What NetworkX reads about this backend when it is imported: names of functions, and additions to their docstrings.

It imports next to nothing, so that importing NetworkX is as fast as without gasla.
"""

import os
import re
import sys
from typing import Any

DEVICE = {"device : {'cpu', 'gpu'}, optional": "Where to run: by default `nx.config.backends.gasla.device`, 'cpu'."}
SCORES = DEVICE | {"dtype : float32 or float64, optional": "The type of the scores: by default float64."}

OTHER = "Only with `backend='gasla'` or `GASLA_OTHER_ANSWERS=1`: {}."

# Additions to the docstrings of NetworkX's functions. A function without an addition returns what NetworkX returns, in
# the same order.
NOTES = {
    "algebraic_connectivity": OTHER.format("within the tolerance, by another method"),
    "articulation_points": OTHER.format("nodes are in the order of the graph"),
    "betweenness_centrality": "With `k`, the sources are those that NetworkX draws with the seed.",
    "biconnected_components": OTHER.format("components are in another order"),
    "condensation": OTHER.format("strong components have other numbers"),
    "edge_betweenness_centrality": "With `k`, the sources are those that NetworkX draws with the seed.",
    "fiedler_vector": OTHER.format("within the tolerance, and perhaps of the other sign"),
    "find_cliques": OTHER.format("cliques are in another order"),
    "find_cycle": OTHER.format("another of several cycles"),
    "hits": "If scores are not unique, they may differ from NetworkX's.",
    "hopcroft_karp_matching": OTHER.format("another of many maximum matchings"),
    "label_propagation_communities": OTHER.format("ties between labels are broken differently"),
    "leiden_communities": "One of many partitions, chosen by the seed.",
    "louvain_communities": OTHER.format("nodes move in another order"),
    "louvain_partitions": OTHER.format("nodes move in another order"),
    "maximal_independent_set": OTHER.format("another of many sets"),
    "maximal_matching": OTHER.format("another of many matchings"),
    "maximum_flow": OTHER.format("another of many maximum flows"),
    "minimum_cut": "Only integer capacities.",
    "simple_cycles": OTHER.format("cycles are in another order, each from its first node"),
    "stoer_wagner": OTHER.format("another of many cheapest cuts"),
    "strongly_connected_components": OTHER.format("components are in the order of their first nodes"),
}
SCORED = ("eigenvector_centrality", "hits", "katz_centrality", "pagerank")
NAMES = (
    "adamic_adar_index", "adjacency_matrix", "algebraic_connectivity", "all_pairs_all_shortest_paths",
    "all_pairs_dijkstra", "all_pairs_dijkstra_path", "all_pairs_dijkstra_path_length", "all_pairs_shortest_path",
    "all_pairs_shortest_path_length", "all_shortest_paths", "all_simple_paths", "ancestors", "articulation_points",
    "astar_path", "astar_path_length", "attribute_assortativity_coefficient", "average_clustering",
    "average_degree_connectivity", "average_neighbor_degree", "average_shortest_path_length", "barycenter",
    "bellman_ford_path", "bellman_ford_path_length", "betweenness_centrality", "bfs_edges", "bfs_layers",
    "bfs_predecessors", "bfs_successors", "bfs_tree", "biconnected_components", "bidirectional_dijkstra",
    "bidirectional_shortest_path", "bridges", "center", "closeness_centrality", "clustering", "condensation",
    "connected_components", "constraint", "core_number", "dag_longest_path", "dag_longest_path_length",
    "degree_assortativity_coefficient", "degree_centrality", "degree_pearson_correlation_coefficient", "descendants",
    "descendants_at_distance", "dfs_edges", "dfs_postorder_nodes", "dfs_preorder_nodes", "dfs_tree", "diameter",
    "dijkstra_path", "dijkstra_path_length", "dijkstra_predecessor_and_distance", "eccentricity",
    "edge_betweenness_centrality", "effective_size", "ego_graph", "eigenvector_centrality", "fiedler_vector",
    "find_cliques", "find_cycle", "floyd_warshall_numpy", "global_efficiency", "greedy_color", "gutman_index",
    "harmonic_centrality", "harmonic_diameter", "has_bridges", "has_cycle", "has_path", "hits",
    "hopcroft_karp_matching", "hyper_wiener_index", "immediate_dominators", "in_degree_centrality", "is_arborescence",
    "is_biconnected", "is_bipartite", "is_branching", "is_connected", "is_directed_acyclic_graph", "is_eulerian",
    "is_forest", "is_regular", "is_strongly_connected", "is_tree", "is_weakly_connected", "isolates",
    "jaccard_coefficient", "k_core", "k_corona", "k_crust", "k_shell", "k_truss", "katz_centrality",
    "label_propagation_communities", "laplacian_matrix", "leiden_communities", "leiden_partitions", "local_efficiency",
    "louvain_communities", "louvain_partitions", "maximal_independent_set", "maximal_matching", "maximum_flow",
    "maximum_flow_value", "maximum_spanning_edges", "maximum_spanning_tree", "minimum_cut", "minimum_cut_value",
    "minimum_spanning_edges", "minimum_spanning_tree", "modularity", "multi_source_dijkstra",
    "multi_source_dijkstra_path", "multi_source_dijkstra_path_length", "node_connected_component",
    "normalized_laplacian_matrix", "number_connected_components", "number_of_isolates",
    "number_strongly_connected_components", "number_weakly_connected_components", "numeric_assortativity_coefficient",
    "out_degree_centrality", "overall_reciprocity", "pagerank", "periphery", "predecessor", "preferential_attachment",
    "radius", "reciprocity", "resource_allocation_index", "rich_club_coefficient", "s_metric", "schultz_index",
    "shortest_path", "shortest_path_length", "simple_cycles", "single_source_all_shortest_paths",
    "single_source_dijkstra", "single_source_dijkstra_path", "single_source_dijkstra_path_length",
    "single_source_shortest_path", "single_source_shortest_path_length", "single_target_shortest_path",
    "single_target_shortest_path_length", "square_clustering", "stoer_wagner", "strongly_connected_components",
    "to_numpy_array", "to_scipy_sparse_array", "topological_generations", "topological_sort", "transitivity",
    "triadic_census", "triangles", "trophic_differences", "trophic_incoherence_parameter", "trophic_levels",
    "voronoi_cells", "weakly_connected_components", "wiener_index",
)  # fmt: skip


def get_info() -> dict[str, Any]:
    """Return what NetworkX reads about this backend through its entry point `networkx.backend_info`."""
    return {
        "backend_name": "gasla",
        "project": "gasla",
        "package": "gasla",
        "short_summary": "Compiled for the CPU and for NVIDIA GPUs; for large graphs.",
        "default_config": {
            "device": "cpu",
            "other_answers": os.environ.get("GASLA_OTHER_ANSWERS", "0") not in ("", "0"),
        },
        "functions": {
            "centroid" if name == "barycenter" and _has_centroid() else name: {
                "additional_docs": NOTES.get(name, ""),
                "additional_parameters": SCORES if name in SCORED else DEVICE,
            }
            for name in NAMES
        },
    }


def _has_centroid() -> bool:
    """Return whether NetworkX has renamed `barycenter` to `centroid`, as from version 3.7 on."""
    version = re.match(r"(\d+)\.(\d+)", getattr(sys.modules.get("networkx"), "__version__", ""))
    return version is not None and tuple(map(int, version.groups())) >= (3, 7)
