"""Graph algorithms as masked semiring products, compiled from plain Python functions.

Names are imported when first used, so that ``import gasla`` stays light.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "Graph": "graph",
    "as_graph": "graph",
    "bfs": "algorithms.bfs",
    "sssp": "algorithms.sssp",
    "pagerank": "algorithms.pagerank",
    "connected_components": "algorithms.connected_components",
    "triangle_count": "algorithms.triangle_count",
    "betweenness_centrality": "algorithms.betweenness_centrality",
    "ConvergenceWarning": "runner",
    "mxv": "products",
    "vxm": "products",
    "VertexProgram": "program",
    "vertex": "fields",
    "edge": "fields",
    "parameter": "fields",
    "aggregate": "fields",
    "ID": "fields",
    "run": "runner",
    "Result": "runner",
    "Frontier": "frontier",
    "Schedule": "schedule",
    "EdgeFrontier": "frontier",
}
_MODULES = ("datasets", "io", "progress", "stages", "verify")

__all__ = [*_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f"gasla.{_HOMES[name]}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"gasla.{name}")
    else:
        raise AttributeError(f"module 'gasla' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
