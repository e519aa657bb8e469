"""Common neighbours of chosen pairs of vertices: how many, or what they weigh: `gasla.primitives.intersect`."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.arrays import array_module, module_of, moved
from gasla.engines import engine
from gasla.graph.graph import Graph, as_graph
from gasla.program.frontier import EdgeFrontier

Array = Any  # NumPy's or CuPy's


def intersect(graph: Any, edges: EdgeFrontier, weights: Array | None = None) -> Array:
    """Count the out-neighbours that both ends of each of some edges have in common, or add up their weights.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
    edges : EdgeFrontier
        As from `gasla.stages.expand`. Any pairs of vertices will do: ``EdgeFrontier(graph.n, ids, src, dst)``.
    weights : (n,) array of numbers, optional
        What each vertex counts where it is a common neighbour. By default 1, and the sum is whole.

    Returns
    -------
    array of int64, with `weights` of float64
        One number an edge. A neighbour stored several times counts as often as it is in both lists. Weights are added
        in ascending order of the neighbours on the CPU, in another on a GPU; the same every time.

    Raises
    ------
    TypeError
        If `edges` is something else, its ends are no integers, or the weights no real numbers.
    ValueError
        If an end is no vertex of the graph, or the weights are not one a vertex.

    Examples
    --------
    >>> import numpy as np
    >>> from gasla import EdgeFrontier, Graph, primitives
    >>> square = Graph.from_edges([0, 0, 1, 1, 2, 2, 3, 3], [1, 2, 0, 3, 0, 3, 1, 2])
    >>> corners = EdgeFrontier(4, np.arange(2), np.array([0, 0]), np.array([1, 3]))
    >>> primitives.intersect(square, corners)
    array([0, 2])
    >>> primitives.intersect(square, corners, weights=np.array([0.5, 1, 2, 4]))
    array([0., 3.])
    """
    graph = as_graph(graph)
    src, dst = ends_of(graph, edges)
    weighed = None if weights is None else _of_vertices(graph, weights)
    return engine(graph.engine).primitives().intersect(graph, src, dst, weighed)


def ends_of(graph: Graph, edges: EdgeFrontier) -> tuple[Array, Array]:
    """The ends of edges, where the graph is."""
    if not isinstance(edges, EdgeFrontier):
        raise TypeError(f"edges is {edges!r}; expected an EdgeFrontier, as stages.expand gives it")
    if len(edges.src) != len(edges.dst):
        raise ValueError(f"edges have {len(edges.src)} sources and {len(edges.dst)} destinations; expected as many")
    for ends in (edges.src, edges.dst):
        if ends.dtype.kind not in "iu":
            raise TypeError(f"the ends of edges are {ends.dtype}; expected integers, ids of vertices")
        for bad in (int(ends.min()), int(ends.max())) if len(ends) else ():
            if not 0 <= bad < graph.n:
                raise ValueError(f"vertex {bad} is outside a graph of {graph.n} vertices; expected 0 to {graph.n - 1}")
    return moved(edges.src, graph.device), moved(edges.dst, graph.device)


def _of_vertices(graph: Graph, weights: Array) -> Array:
    """Weights as float64, where the graph is."""
    xp: Any = module_of(graph.device)
    weights = array_module(weights).asarray(weights)
    if weights.dtype.kind not in "biuf":
        raise TypeError(f"weights are {weights.dtype}; expected real numbers")
    if weights.shape != (graph.n,):
        raise ValueError(f"weights have shape {weights.shape}; expected ({graph.n},), one a vertex")
    return xp.ascontiguousarray(moved(weights, graph.device), np.float64)
