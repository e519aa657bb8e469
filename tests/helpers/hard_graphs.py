"""Small graphs at the edge of what functions take: by the shape, and by the weights of the edges."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import gasla
from gasla.graph.exchange.vertex_names import Names

Array = np.ndarray[Any, Any]

SHAPES: dict[str, tuple[int, list[int], list[int]]] = {  # vertices, sources and targets of edges
    "no vertices": (0, [], []),
    "one vertex": (1, [], []),
    "one loop": (1, [0], [0]),
    "two loops at a vertex": (1, [0, 0], [0, 0]),
    "no edges": (3, [], []),
    "only loops": (3, [0, 2, 2], [0, 2, 2]),
    "one edge": (2, [0], [1]),
    "an edge back": (2, [1], [0]),
    "both ways": (2, [0, 1], [1, 0]),
    "parallel": (2, [0, 0], [1, 1]),
    "an edge, a loop, a vertex": (4, [0, 2], [1, 2]),
    "disconnected": (5, [1, 2, 3, 4], [2, 1, 4, 3]),
    "path": (4, [0, 1, 2], [1, 2, 3]),
    "path backwards": (4, [1, 2, 3], [0, 1, 2]),
    "path both ways": (4, [0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]),
    "cycle": (3, [0, 1, 2], [1, 2, 0]),
    "star out": (5, [0, 0, 0, 0], [1, 2, 3, 4]),
    "star in": (5, [1, 2, 3, 4], [0, 0, 0, 0]),
    "star both ways": (4, [0, 0, 0, 1, 2, 3], [1, 2, 3, 0, 0, 0]),
    "complete": (4, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3], [1, 2, 3, 0, 2, 3, 0, 1, 3, 0, 1, 2]),
    "two sides": (4, [0, 0, 1, 1], [2, 3, 2, 3]),
    "unsorted, with loops and parallel edges": (5, [3, 0, 1, 0, 3, 2, 0, 1], [0, 2, 1, 1, 0, 3, 2, 3]),
}

KINDS: dict[str, tuple[str, tuple[Any, ...]]] = {  # the type of weights, and the weights that edges have in turn
    "ones": ("f8", (1.0,)),
    "whole numbers": ("i8", (3, 1, 2)),
    "fractions": ("f8", (0.1, 0.7, 0.3)),
    "zeros": ("f8", (0.0,)),
    "a zero": ("f8", (1.0, 0.0, 2.0)),
    "zeros of both signs": ("f8", (-0.0, 0.0)),
    "a negative zero": ("f8", (2.0, -0.0, 1.0)),
    "whole zeros": ("i4", (0, 2, 0)),
    "NaN": ("f8", (np.nan,)),
    "a NaN": ("f8", (1.0, np.nan, 2.0)),
    "infinite": ("f8", (np.inf,)),
    "an infinity": ("f8", (1.0, np.inf, 2.0)),
    "infinite below": ("f8", (1.0, -np.inf)),
    "negative": ("f8", (-1.0, 2.0, -3.0)),
    "subnormal": ("f8", (5e-324, 1e-310)),
    "tiny and huge": ("f8", (1e-300, 1e300)),
    "huge": ("f8", (1e308, 1.7e308)),
    "huge float32": ("f4", (3e38, 1e38)),
    "fractions float32": ("f4", (0.1, 0.7, 0.3)),
    "ends of int8": ("i1", (127, -128)),
    "most of int8": ("i1", (127,)),
    "most of uint8": ("u1", (255, 0)),
    "ends of int16": ("i2", (2**15 - 1, -(2**15))),
    "most of uint16": ("u2", (2**16 - 1,)),
    "most of int32": ("i4", (2**31 - 1,)),
    "ends of int32": ("i4", (2**31 - 1, -(2**31))),
    "most of uint32": ("u4", (2**32 - 1, 1)),
    "most of int64": ("i8", (2**63 - 1,)),
    "ends of int64": ("i8", (2**63 - 1, -(2**63))),
    "most of uint64": ("u8", (2**64 - 1, 1)),
    "truth": ("?", (True, False)),
}


def weights(kind: str | None, m: int) -> Array | None:
    """The weights of m edges; none if the graph has none."""
    if kind is None:
        return None
    dtype, cycle = KINDS[kind]
    return np.resize(np.array(cycle, dtype), m) if m else np.zeros(0, dtype)


def named(graph: gasla.Graph) -> gasla.Graph:
    """The graph with strings as names."""
    graph.naming = Names(np.array([f"v{i}" for i in range(graph.n)], object))
    return graph


def backwards(graph: gasla.Graph) -> csr_array:
    """A matrix with int64 indices, whose rows are not sorted."""
    src, dst = graph.edges()
    order = np.lexsort((-np.arange(len(src)), src))
    A = csr_array((graph.n, graph.n))
    A.data = np.ones(len(src)) if graph.values is None else graph.values[order]
    A.indices, A.indptr = dst[order].astype(np.int64), np.searchsorted(src[order], np.arange(graph.n + 1))
    return A


FORMS: dict[str, Callable[[gasla.Graph], Any]] = {"graph": lambda graph: graph, "names": named, "matrix": backwards}


def hard_graph(shape: str, kind: str | None = None) -> gasla.Graph:
    """A graph of a shape, with the weights of a kind, and times and durations."""
    n, src, dst = SHAPES[shape]
    made = gasla.Graph.from_edges(np.array(src, int), np.array(dst, int), weights(kind, len(src)), n=n)
    return made.with_edge_attributes(time=np.arange(len(src)) * 5 % 7, duration=np.arange(len(src)) % 3)
