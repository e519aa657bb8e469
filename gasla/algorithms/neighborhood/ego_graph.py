"""Ego graphs: a vertex, whoever it reaches within a radius, and all edges between them.

Returned is a graph. Its `origin` tells which vertices and edges those were. Found is no more than who is near: a byte a
vertex, where a level would take four. Then only the edges of those are looked at.

M. Everett, S. Borgatti: Ego network betweenness. Social Networks 27 (2005).
"""

from typing import Any

import numpy as np

import semirings
from gasla.algorithms.paths.sssp import sssp
from gasla.graph.arguments import check_flags, real_number, source_vertex
from gasla.graph.graph import Graph, as_graph
from gasla.operations.run import run
from gasla.program.fields import vertex
from gasla.program.program import VertexProgram


class Near(VertexProgram):
    """is_near(v) holds where an edge leads from somebody near."""

    is_near = vertex(np.bool_, init=False)
    reduce = semirings.any
    sources = "active"

    def mask(self, vertex):
        return ~vertex.is_near

    def gather(self, src, dst, edge):
        return True

    def apply(self, vertex, gathered):
        return {"is_near": True}


def ego_graph(
    graph: Any,
    source: int,
    radius: float = 1,
    *,
    center: bool = True,
    undirected: bool = False,
    weighted: bool = False,
) -> Graph:
    """Make the graph of a vertex and all that it reaches within a radius.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Directed. All edges between the vertices stay, loops and parallel ones too, in their order.
    source : int
        The vertex in the middle.
    radius : float
        How far away vertices may be: at most so many edges, or such a length.
    center : bool
        Whether the source itself stays.
    undirected : bool
        Whether edges may be followed either way.
    weighted : bool
        Whether distances are sums of edge values, as by `gasla.sssp`; else numbers of edges.

    Returns
    -------
    Graph
        On the device of the graph, vertices in the order of their numbers; ``origin.vertices`` says which they were.
        There is one right answer.

    Raises
    ------
    TypeError, ValueError
        If the source is no vertex, or the radius is negative or no number; as by `gasla.sssp`, if it is used.

    References
    ----------
    M. Everett, S. Borgatti: Ego network betweenness. Social Networks 27 (2005).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 0, 1, 2, 3], [1, 2, 2, 3, 4])
    >>> near = gasla.ego_graph(graph, 0)
    >>> near, near.origin.vertices
    (Graph(n=3, m=3, values=None), array([0, 1, 2], dtype=int32))
    """
    graph = as_graph(graph)
    source = source_vertex(graph, source)
    check_flags(center=center, undirected=undirected, weighted=weighted)
    radius = real_number("radius", radius, most=np.inf)
    found = _within(_both_ways(graph, weighted) if undirected else graph, source, radius, weighted)
    if not center:
        found[source] = False
    return graph.subgraph(found)


def _within(graph: Graph, source: int, radius: float, weighted: bool) -> Any:
    """Who is no farther from the source than that."""
    if weighted:
        distance = sssp(graph, source)
        with np.errstate(over="ignore"):  # a radius beyond float32 is infinite among such distances
            return (distance <= radius) & (distance < np.inf)
    limit = int(min(radius, graph.n))
    return run(Near, graph, active=[source], max_iterations=limit, is_near={source: True}).is_near


def _both_ways(graph: Graph, weighted: bool) -> Graph:
    """The graph with every edge turned round beside it."""
    if graph.is_symmetric and not (weighted and graph.values is not None):
        return graph
    return graph.symmetrized(semirings.min) if weighted else graph.with_values(None).symmetrized()
