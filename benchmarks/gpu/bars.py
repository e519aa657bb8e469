"""The most that a figure of the GPU engine should be: milliseconds on one H100, or ratios."""

from __future__ import annotations

GRAPHS = ("rmat22", "kron21", "urand22", "rmat24", "rgg22", "grid24")
MILLISECONDS: dict[str, tuple[float | None, ...]] = {  # on the graphs above
    "bfs": (0.25, 0.15, 0.45, 0.8, 6.5, 22),
    "sssp": (4.5, 4.5, 4.2, None, 27, 60),
    "pagerank iteration": (0.85, 0.95, 1.15, 4, 0.18, 0.27),
    "pagerank": (16, 14, 13, 65, 7.5, 14),
    "components": (1.0, 0.4, 1.2, 4, 1.0, 3),
    "triangles": (100, 300, 8, None, 2.5, 0.8),
    "betweenness": (40, 40, 60, None, 150, 500),
    "multi_source_bfs": (10, None, 7, None, 110, 150),
    "core_number": (120, None, 20, None, 25, 12),
    "label_propagation": (60, None, 80, None, 30, 40),
    "louvain_communities": (400, None, 600, None, 200, 300),
    "hits": (42, None, 46, None, 8, 12),  # 20 iterations
    "random_walks": (13.7, None, None, None, None, None),  # 16 steps of 4.3 million walkers, 5 billion a second
    "maximal_independent_set": (4.5, None, 9, None, 1.2, 1.9),
    "minimum_spanning_forest": (35, None, 30, None, 20, 60),
    "katz": (3, None, 40, None, 4, None),
    "eigenvector": (4.3, None, 5, None, 5.5, None),
    "strong_components": (40, None, None, None, None, None),  # each edge kept one way by lot
}
CALL = 100  # microseconds, on 1,000 vertices
FIRST_CALL = {"nothing compiled": 1.5, "compiled before": 0.05}  # seconds
FEATURES_OF_64 = {"rmat22": 20, "urand22": 30, "rgg22": 6, "grid24": 6}  # float32 numbers a vertex, milliseconds
PARENTS = 1.3  # levels and parents together take at most so many times what levels take


def bar(graph: str, name: str) -> float | None:
    """The most milliseconds for a figure."""
    return MILLISECONDS[name][GRAPHS.index(graph)] if graph in GRAPHS and name in MILLISECONDS else None
