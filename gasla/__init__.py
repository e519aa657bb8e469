"""Graph algorithms as masked semiring products, compiled from plain Python functions.

Names are imported when first used, so that ``import gasla`` stays light.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

__version__ = "0.2.0"

_HOMES = {
    "Graph": "graph.graph",
    "as_graph": "graph.graph",
    "spectral_embedding": "algorithms.spectral.spectral_embedding",
    "fiedler_vector": "algorithms.spectral.fiedler_vector",
    "bfs": "algorithms.traversal.bfs",
    "multi_source_bfs": "algorithms.traversal.multi_source_bfs",
    "eccentricity": "algorithms.traversal.eccentricity",
    "effective_diameter": "algorithms.traversal.effective_diameter",
    "k_hop_counts": "algorithms.traversal.k_hop_counts",
    "sssp": "algorithms.paths.sssp",
    "shortest_path": "algorithms.paths.shortest_path",
    "k_shortest_paths": "algorithms.paths.k_shortest_paths",
    "multi_source_shortest_paths": "algorithms.paths.multi_source_shortest_paths",
    "nearest_source": "algorithms.paths.nearest_source",
    "earliest_arrival": "algorithms.temporal.earliest_arrival",
    "latest_departure": "algorithms.temporal.latest_departure",
    "fastest_durations": "algorithms.temporal.fastest_durations",
    "temporal_reachability": "algorithms.temporal.temporal_reachability",
    "closeness_centrality": "algorithms.centrality.closeness_centrality",
    "harmonic_centrality": "algorithms.centrality.harmonic_centrality",
    "pagerank": "algorithms.centrality.pagerank",
    "hits": "algorithms.centrality.hits",
    "salsa": "algorithms.centrality.salsa",
    "connected_components": "algorithms.components.connected_components",
    "strongly_connected_components": "algorithms.components.strongly_connected_components",
    "katz_centrality": "algorithms.centrality.katz_centrality",
    "eigenvector_centrality": "algorithms.centrality.eigenvector_centrality",
    "is_bipartite": "algorithms.components.is_bipartite",
    "bridges": "algorithms.components.bridges",
    "articulation_points": "algorithms.components.articulation_points",
    "minimum_spanning_forest": "algorithms.components.minimum_spanning_forest",
    "triangle_count": "algorithms.community.triangle_count",
    "edge_support": "algorithms.community.edge_support",
    "clustering": "algorithms.clustering.clustering",
    "transitivity": "algorithms.clustering.transitivity",
    "average_clustering": "algorithms.clustering.average_clustering",
    "scan_statistics": "algorithms.clustering.scan_statistics",
    "square_clustering": "algorithms.clustering.square_clustering",
    "k_truss": "algorithms.community.k_truss",
    "jaccard": "algorithms.similarity.measures",
    "sorensen": "algorithms.similarity.measures",
    "overlap": "algorithms.similarity.measures",
    "cosine": "algorithms.similarity.measures",
    "adamic_adar": "algorithms.similarity.measures",
    "resource_allocation": "algorithms.similarity.measures",
    "preferential_attachment": "algorithms.similarity.measures",
    "shared_nearest_neighbors": "algorithms.similarity.shared_nearest_neighbors",
    "top_k_similar": "algorithms.similarity.top_k_similar",
    "count_cliques": "algorithms.patterns.count_cliques",
    "layout": "algorithms.drawing.layout",
    "draw": "algorithms.drawing.draw",
    "motif_counts": "algorithms.patterns.motif_counts",
    "triadic_census": "algorithms.patterns.triadic_census",
    "subgraph_matches": "algorithms.patterns.subgraph_matches",
    "louvain_communities": "algorithms.community.louvain_communities",
    "core_number": "algorithms.community.core_number",
    "k_core": "algorithms.community.k_core",
    "label_propagation": "algorithms.community.label_propagation",
    "modularity": "algorithms.community.modularity",
    "pagerank_nibble": "algorithms.community.pagerank_nibble",
    "condensation": "algorithms.components.condensation",
    "ego_graph": "algorithms.neighborhood.ego_graph",
    "geolocate": "algorithms.neighborhood.geolocate",
    "project": "algorithms.neighborhood.project",
    "betweenness_centrality": "algorithms.centrality.betweenness.betweenness_centrality",
    "edge_betweenness_centrality": "algorithms.centrality.betweenness.edge_betweenness_centrality",
    "topological_order": "algorithms.acyclic.topological_order",
    "longest_path": "algorithms.acyclic.longest_path",
    "maximal_independent_set": "algorithms.independence.maximal_independent_set",
    "greedy_color": "algorithms.independence.greedy_color",
    "maximal_matching": "algorithms.independence.maximal_matching",
    "maximum_bipartite_matching": "algorithms.independence.maximum_bipartite_matching",
    "maximum_flow": "algorithms.flows.maximum_flow",
    "minimum_cut": "algorithms.flows.minimum_cut",
    "aggregate_features": "algorithms.neighborhood.aggregate_features",
    "random_walks": "algorithms.walks.random_walks",
    "node2vec_walks": "algorithms.walks.node2vec_walks",
    "walk": "operations.walks",
    "sample_neighbors": "operations.sampling",
    "negative_edges": "operations.edge_samples",
    "split_edges": "operations.edge_samples",
    "walk_pairs": "operations.walk_pairs",
    "ConvergenceWarning": "operations.result",
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

__all__ = [*_HOMES, *(name for name in _MODULES if name != "engines")]  # engines is only for implementing one


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"gasla.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'gasla' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    value = getattr(importlib.import_module(f"gasla.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
