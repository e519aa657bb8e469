"""Graph algorithms as masked semiring products, compiled from plain Python functions.

Names are imported when first used, so that ``import gasla`` stays light.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.2.0"

_HOMES = {
    "Graph": "graph.graph",
    "as_graph": "graph.graph",
    "TypedGraph": "graph.typed_graph",
    "bfs": "algorithms.traversal.bfs",
    "depth_first_order": "algorithms.traversal.depth_first_order",
    "dominators": "algorithms.traversal.dominators",
    "multi_source_bfs": "algorithms.traversal.multi_source_bfs",
    "eccentricity": "algorithms.traversal.eccentricity",
    "effective_diameter": "algorithms.traversal.effective_diameter",
    "k_hop_counts": "algorithms.traversal.k_hop_counts",
    "sssp": "algorithms.paths.sssp",
    "shortest_path": "algorithms.paths.shortest_path",
    "k_shortest_paths": "algorithms.paths.k_shortest_paths",
    "steiner_tree": "algorithms.paths.steiner_tree",
    "alternative_paths": "algorithms.paths.alternative_paths",
    "simple_paths": "algorithms.paths.simple_paths",
    "simple_cycles": "algorithms.paths.simple_cycles",
    "find_cycle": "algorithms.paths.find_cycle",
    "multi_source_shortest_paths": "algorithms.paths.multi_source_shortest_paths",
    "nearest_source": "algorithms.paths.nearest_source",
    "earliest_arrival": "algorithms.temporal.earliest_arrival",
    "latest_departure": "algorithms.temporal.latest_departure",
    "fastest_durations": "algorithms.temporal.fastest_durations",
    "temporal_reachability": "algorithms.temporal.temporal_reachability",
    "temporal_cycles": "algorithms.temporal.temporal_cycles",
    "temporal_motif_counts": "algorithms.temporal.temporal_motif_counts",
    "article_rank": "algorithms.centrality.article_rank",
    "pagerank": "algorithms.centrality.pagerank",
    "top_k_pagerank": "algorithms.centrality.top_k_pagerank",
    "hits": "algorithms.centrality.hits",
    "salsa": "algorithms.centrality.salsa",
    "katz_centrality": "algorithms.centrality.katz_centrality",
    "eigenvector_centrality": "algorithms.centrality.eigenvector_centrality",
    "connected_components": "algorithms.components.connected_components",
    "is_bipartite": "algorithms.components.is_bipartite",
    "bridges": "algorithms.components.bridges",
    "articulation_points": "algorithms.components.articulation_points",
    "biconnected_components": "algorithms.components.biconnected_components",
    "is_biconnected": "algorithms.components.biconnected_components",
    "minimum_spanning_forest": "algorithms.components.minimum_spanning_forest",
    "strongly_connected_components": "algorithms.components.strongly_connected_components",
    "condensation": "algorithms.components.condensation",
    "ego_graph": "algorithms.neighborhood.ego_graph",
    "triangle_count": "algorithms.community.triangle_count",
    "edge_support": "algorithms.community.edge_support",
    "clustering": "algorithms.clustering.clustering",
    "transitivity": "algorithms.clustering.transitivity",
    "average_clustering": "algorithms.clustering.average_clustering",
    "scan_statistics": "algorithms.clustering.scan_statistics",
    "jaccard": "algorithms.similarity.measures",
    "overlap": "algorithms.similarity.measures",
    "sorensen": "algorithms.similarity.measures",
    "cosine": "algorithms.similarity.measures",
    "adamic_adar": "algorithms.similarity.measures",
    "resource_allocation": "algorithms.similarity.measures",
    "preferential_attachment": "algorithms.similarity.measures",
    "shared_nearest_neighbors": "algorithms.similarity.shared_nearest_neighbors",
    "top_k_similar": "algorithms.similarity.top_k_similar",
    "square_clustering": "algorithms.clustering.square_clustering",
    "k_truss": "algorithms.community.k_truss",
    "count_cliques": "algorithms.patterns.count_cliques",
    "maximal_cliques": "algorithms.patterns.maximal_cliques",
    "subgraph_matches": "algorithms.patterns.subgraph_matches",
    "weisfeiler_lehman_colors": "algorithms.patterns.weisfeiler_lehman_colors",
    "weisfeiler_lehman_hash": "algorithms.patterns.weisfeiler_lehman_colors",
    "is_isomorphic": "algorithms.patterns.is_isomorphic",
    "isomorphisms": "algorithms.patterns.is_isomorphic",
    "motif_counts": "algorithms.patterns.motif_counts",
    "triadic_census": "algorithms.patterns.triadic_census",
    "randomized": "algorithms.random_graphs.randomized",
    "null_model": "algorithms.random_graphs.null_model",
    "layout": "algorithms.drawing.layout",
    "spectral_clustering": "algorithms.spectral.spectral_clustering",
    "spectral_embedding": "algorithms.spectral.spectral_embedding",
    "fiedler_vector": "algorithms.spectral.fiedler_vector",
    "geolocate": "algorithms.neighborhood.geolocate",
    "modularity": "algorithms.community.modularity",
    "partition_table": "algorithms.community.partition_table",
    "partition_quality": "algorithms.community.partition_quality",
    "label_propagation": "algorithms.community.label_propagation",
    "leiden_communities": "algorithms.community.louvain_communities",
    "louvain_communities": "algorithms.community.louvain_communities",
    "pagerank_nibble": "algorithms.community.pagerank_nibble",
    "core_number": "algorithms.community.core_number",
    "k_core": "algorithms.community.k_core",
    "maximal_independent_set": "algorithms.independence.maximal_independent_set",
    "greedy_color": "algorithms.independence.greedy_color",
    "maximal_matching": "algorithms.independence.maximal_matching",
    "maximum_bipartite_matching": "algorithms.independence.maximum_bipartite_matching",
    "betweenness_centrality": "algorithms.centrality.betweenness.betweenness_centrality",
    "edge_betweenness_centrality": "algorithms.centrality.betweenness.edge_betweenness_centrality",
    "closeness_centrality": "algorithms.centrality.closeness_centrality",
    "harmonic_centrality": "algorithms.centrality.harmonic_centrality",
    "topological_order": "algorithms.acyclic.topological_order",
    "longest_path": "algorithms.acyclic.longest_path",
    "transitive_closure": "algorithms.acyclic.transitive_closure",
    "transitive_reduction": "algorithms.acyclic.transitive_reduction",
    "maximum_flow": "algorithms.flows.maximum_flow",
    "minimum_cut": "algorithms.flows.minimum_cut",
    "fastrp": "algorithms.neighborhood.fastrp",
    "aggregate_features": "algorithms.neighborhood.aggregate_features",
    "random_walks": "algorithms.walks.random_walks",
    "node2vec_walks": "algorithms.walks.node2vec_walks",
    "draw": "algorithms.drawing.draw",
    "project": "algorithms.neighborhood.project",
    "walk": "operations.walks",
    "temporal_walks": "operations.sampled_walks",
    "metapath_walks": "operations.sampled_walks",
    "sample_neighbors": "operations.sampling",
    "loader": "operations.loader",
    "edge_softmax": "operations.edge_softmax",
    "edge_softmax_gradient": "operations.edge_softmax",
    "negative_edges": "operations.edge_samples",
    "split_edges": "operations.edge_samples",
    "ranking_metrics": "operations.ranking_metrics",
    "walk_pairs": "operations.walk_pairs",
    "ConvergenceWarning": "operations.result",
    "compare_partitions": "operations.compare_partitions",
    "reduce_by_key": "graph.transform.reduction",
    "batch": "graph.transform.batch",
    "nearest_neighbors_graph": "graph.transform.nearest_neighbors",
    "mxm": "operations.matrices",
    "Sparse": "operations.sparse",
    "top_k": "operations.top_k",
    "table": "operations.result_table",
    "mxv": "operations.multiply",
    "vxm": "operations.multiply",
    "VertexProgram": "program.program",
    "WalkProgram": "program.walk_program",
    "vertex": "program.fields",
    "edge": "program.fields",
    "parameter": "program.fields",
    "option": "program.options",
    "aggregate": "program.fields",
    "ID": "program.fields",
    "run": "operations.run",
    "Phase": "operations.phases",
    "explain": "operations.explain",
    "source": "operations.explain",
    "workspace": "operations.explain",
    "prepare": "operations.prepare",
    "Prepared": "operations.prepare",
    "Result": "operations.result",
    "Frontier": "program.frontier",
    "Schedule": "program.schedule",
    "EdgeFrontier": "program.frontier",
    "networkx_report": "backends.networkx_calls",
    "set_num_threads": "cpu.runtime.threads",
    "get_num_threads": "cpu.runtime.threads",
}
_MODULES = (
    "csgraph",
    "datasets",
    "distributed",
    "engines",
    "generators",
    "io",
    "primitives",
    "progress",
    "stages",
    "verify",
)

_OF_GRAPHS = ("neighbors", "has_edge", "from_edges", "from_table", "from_networkx", "out_degrees", "subgraph")
_ELSEWHERE = {  # names of NetworkX, igraph and textbooks
    "degree": "Graph.out_degrees", "dijkstra": "sssp", "bellman_ford": "sssp", "shortest_paths": "sssp",
    "breadth_first_search": "bfs", "leiden": "leiden_communities", "wcc": "connected_components",
    "scc": "strongly_connected_components", "mst": "minimum_spanning_forest", "max_flow": "maximum_flow",
    "read_csv": "io.read", "read": "io.read", "write": "io.write", "load": "io.read", "save": "io.write",
    "random_walk": "random_walks", "predict_links": "adamic_adar", "label_propagation_communities": "label_propagation",
}  # fmt: skip

__all__ = [*_HOMES, *(name for name in _MODULES if name != "engines")]  # engines is only for implementing one


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"gasla.{name}")
    if name not in _HOMES:
        from gasla.names import meant

        known = [] if name.startswith("_") else [*__all__, "graph", *(f"Graph.{part}" for part in _OF_GRAPHS)]
        hint = f"; did you mean '{_ELSEWHERE[name]}'?" if name in _ELSEWHERE else meant(name, known)
        raise AttributeError(f"module 'gasla' has no attribute {name!r}{hint}")
    value = getattr(importlib.import_module(f"gasla.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
