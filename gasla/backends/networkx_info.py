"""Backend information that NetworkX reads at its own import: names of functions, and additions to their docstrings.

It imports nothing, so that importing NetworkX is as fast as without gasla.
"""

from typing import Any

DEVICE = {"device : {'cpu', 'gpu'}, optional": "Where to run: by default `nx.config.backends.gasla.device`, 'cpu'."}
SCORES = DEVICE | {"dtype : float32 or float64, optional": "The type of the scores: by default float64."}

# Additions to NetworkX's docstrings. Other functions return what NetworkX returns, in the same order.
NOTES = {
    "betweenness_centrality": "With `k`, the sources are those that NetworkX draws with the seed.",
    "edge_betweenness_centrality": "With `k`, the sources are those that NetworkX draws with the seed.",
    "hits": "If scores are not unique, they may differ from NetworkX's.",
    "label_propagation_communities": "Only on explicit request: ties between labels are broken differently.",
    "leiden_communities": "One of many partitions, chosen by the seed.",
    "shortest_path": "By weight between two nodes only if the shortest path is unique.",
    "strongly_connected_components": "Only on explicit request: components are in the order of their first nodes.",
}
SCORED = ("eigenvector_centrality", "hits", "katz_centrality", "pagerank")
NAMES = (
    "adamic_adar_index", "all_pairs_dijkstra", "all_pairs_dijkstra_path", "all_pairs_dijkstra_path_length",
    "all_pairs_shortest_path", "all_pairs_shortest_path_length", "ancestors", "average_clustering",
    "average_shortest_path_length", "betweenness_centrality", "bfs_edges", "bfs_layers", "bfs_predecessors",
    "bfs_successors", "bfs_tree", "bidirectional_shortest_path", "closeness_centrality", "clustering",
    "connected_components", "core_number", "degree_centrality", "descendants", "descendants_at_distance",
    "diameter", "dijkstra_path", "dijkstra_path_length", "dijkstra_predecessor_and_distance", "eccentricity",
    "edge_betweenness_centrality", "eigenvector_centrality", "greedy_color", "harmonic_centrality", "has_cycle",
    "has_path", "hits", "in_degree_centrality", "is_bipartite", "is_connected", "is_directed_acyclic_graph",
    "is_strongly_connected", "is_weakly_connected", "jaccard_coefficient", "katz_centrality",
    "label_propagation_communities", "leiden_communities", "leiden_partitions", "maximum_flow_value",
    "maximum_spanning_edges", "minimum_spanning_edges", "multi_source_dijkstra", "multi_source_dijkstra_path",
    "multi_source_dijkstra_path_length", "node_connected_component", "number_connected_components",
    "number_of_isolates", "number_strongly_connected_components", "number_weakly_connected_components",
    "out_degree_centrality", "pagerank", "periphery", "predecessor", "preferential_attachment", "radius",
    "resource_allocation_index", "shortest_path", "shortest_path_length", "single_source_dijkstra",
    "single_source_dijkstra_path", "single_source_dijkstra_path_length", "single_source_shortest_path",
    "single_source_shortest_path_length", "single_target_shortest_path", "single_target_shortest_path_length",
    "square_clustering", "strongly_connected_components", "topological_generations", "transitivity",
    "triadic_census", "triangles", "voronoi_cells", "weakly_connected_components",
)  # fmt: skip


def get_info() -> dict[str, Any]:
    """The answer to NetworkX's entry point `networkx.backend_info`."""
    return {
        "backend_name": "gasla",
        "project": "gasla",
        "package": "gasla",
        "short_summary": "Compiled for the CPU and for NVIDIA GPUs; for large graphs.",
        "default_config": {"device": "cpu"},
        "functions": {
            name: {
                "additional_docs": NOTES.get(name, ""),
                "additional_parameters": SCORES if name in SCORED else DEVICE,
            }
            for name in NAMES
        },
    }
