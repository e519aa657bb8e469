"""Ego graphs: the subgraph of all vertices within a radius of a vertex.

The search stores one byte per vertex, which tells whether the vertex is within the radius. Then only the edges of the
vertices within the radius are read.
"""

from collections.abc import Hashable
from typing import Any

import numpy as np

import semirings
from gasla.algorithms.paths.sssp import sssp
from gasla.arrays import moved
from gasla.graph.arguments import check_flags, has_negative, real_number
from gasla.graph.exchange.vertex_names import translate_vertex
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.weights import takes_weight
from gasla.operations.run import run
from gasla.program import VertexProgram, vertex
from gasla.rows import Command, Row


class WithinRadius(VertexProgram):
    """is_near(v) = whether v is within the radius: each iteration adds the out-neighbors of the vertices that
    it finds.
    """

    is_near = vertex(np.bool_, init=False)
    reduce = semirings.any
    sources = "active"

    def mask(self, vertex):
        return ~vertex.is_near

    def gather(self, src, dst, edge):
        return True

    def apply(self, vertex, gathered):
        return {"is_near": True}


@takes_weight
def ego_graph(
    graph: Any,
    source: Hashable,
    radius: float = 1,
    *,
    center: bool = True,
    undirected: bool = False,
    weighted: bool = False,
) -> Graph:
    """Make the subgraph of all vertices within a radius of a vertex.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j. All edges between the vertices are kept in their order.
    source : int or name
        The center.
    radius : float
        Maximum distance from the source, in edges, or in length if `weighted`.
    center : bool
        Whether to include the source.
    undirected : bool
        Whether distances ignore the direction of edges.
    weighted : bool
        Whether distances are sums of edge values, as in `gasla.sssp`. Otherwise they count edges.

    Returns
    -------
    Graph
        On the device of the input, with vertices in the order of their ids; ``origin.vertices`` holds the original ids.
        The result is unique.

    Raises
    ------
    TypeError, ValueError
        If the source is not a vertex, or the radius is negative or not a number; with `weighted` as in `gasla.sssp`.

    Notes
    -----
    Stored zeros are edges, of length 0 if `weighted`. Self loops and parallel edges are kept.

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
    graph = whole_graph(graph)
    source = translate_vertex(graph, source)
    check_flags(center=center, undirected=undirected, weighted=weighted)
    radius = real_number("radius", radius, most=np.inf)
    is_near = _mask_within(_with_both_directions(graph, weighted) if undirected else graph, source, radius, weighted)
    if not center:
        is_near[source] = False
    return graph.subgraph(is_near)


def _mask_within(graph: Graph, source: int, radius: float, weighted: bool) -> Any:
    """Return a mask of the vertices to which a path of at most the length `radius` leads from the source."""
    if weighted:
        graph.notice_values()
        distance = sssp(graph, source, cutoff=None if has_negative(graph) else radius)
        with np.errstate(over="ignore"):  # a large radius may overflow float32 to inf, which means no limit
            return (distance <= radius) & (distance < np.inf)
    limit = int(min(radius, graph.n))
    return run(WithinRadius, graph, active=[source], max_iterations=limit, is_near={source: True}).is_near


def _with_both_directions(graph: Graph, weighted: bool) -> Graph:
    """Return the graph with both directions of every edge, for an ego graph that ignores directions.

    If lengths count, and the two directions differ in length, both get the smaller length.
    """
    if graph.is_symmetric and not (weighted and graph.values is not None):
        return graph
    return graph.symmetrized(semirings.min) if weighted else graph.with_values(None).symmetrized()


ROW = Row(
    ego_graph,
    Command(
        *("ego-graph", {"vertices": "nearby"}),
        lambda f: (
            f"{f['ego'].n:,} of {f.graph.n:,} vertices and {f['ego'].m:,} of {f.graph.m:,} edges are within distance "
            f"{f.arguments['radius']:g} of {f.end('source')}{', among them' if f['ego'].n else ''}"
        ),
        *(lambda f: f.named(f["vertices"]), "ids"),
        unpack=lambda _, made: {"ego": made, "vertices": moved(made.origin.vertices, "cpu")},
    ),
    method="a bounded search, then the induced rows (Everett, Borgatti, Social Networks 27, 2005)",
)
