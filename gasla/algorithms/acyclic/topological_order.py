"""Topological order: an order of the vertices of an acyclic graph in which every edge leads forward.

Returned are the vertices in that order and, on request, the level of each: the most edges on a path that ends there.
Vertices of a level come by their ids, so the order is the same every time.

Every vertex counts the in-edges that it still waits for. Those that wait for none are active, and tell their
out-neighbors. A vertex that hears along the last of its in-edges is on the next level. Vertices that wait for ever are
on a cycle, or behind one.

A. B. Kahn: Topological sorting of large networks. Communications of the ACM 5 (1962).
"""

from typing import Any, Literal, NamedTuple, overload

import numpy as np

import semirings
from gasla.arrays import any_true, array_module, moved
from gasla.graph.arguments import check_flags
from gasla.graph.graph import Graph, as_graph
from gasla.operations.run import run
from gasla.program.fields import vertex
from gasla.program.program import VertexProgram

SHOWN = 6  # vertices of a cycle that an error names


class Order(VertexProgram):
    """level(v) = the iteration in which v hears along the last of its in-edges that its source has a level.

    Ends after n iterations at most: a vertex is active once, when its last in-edge has been heard of.
    """

    waiting = vertex(np.int64, init=lambda vertex: vertex.in_degree)
    level = vertex(np.int32, init=lambda vertex: semirings.where(vertex.in_degree == 0, 0, -1))
    reduce = semirings.plus
    sources = "active"

    def gather(self, src, dst, edge):
        return semirings.cast(1, np.int64)

    def apply(self, vertex, gathered):
        waiting = vertex.waiting - gathered
        return {"waiting": waiting, "level": semirings.where(waiting == 0, self.iteration + 1, -1)}

    def activate(self, before, after):
        return after.waiting == 0


class TopologicalOrderResult(NamedTuple):
    """The vertices in order, and the level of each vertex."""

    order: np.ndarray
    levels: np.ndarray


@overload
def topological_order(graph: Any, *, levels: Literal[False] = ...) -> np.ndarray: ...
@overload
def topological_order(graph: Any, *, levels: Literal[True]) -> TopologicalOrderResult: ...


def topological_order(graph: Any, *, levels: bool = False) -> np.ndarray | TopologicalOrderResult:
    """The vertices of an acyclic graph, in an order in which every edge leads from an earlier one to a later one.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j; values are not looked at, and stored zeros are edges. Parallel edges are as good
        as one; a loop is a cycle.
    levels : bool
        Also return each vertex's level.

    Returns
    -------
    order : (n,) array of ids
        By levels, and within a level by ids: the same every time.
    TopologicalOrderResult(order, levels)
        With `levels=True`. The level of a vertex, int32, is the largest number of edges on a path that ends there: 0
        where no edge leads to it. Vertices of one level don't depend on each other.

    Raises
    ------
    ValueError
        If the graph has a cycle, which is named; as has every undirected one with an edge.

    See Also
    --------
    gasla.longest_path : the longest way along such an order.

    References
    ----------
    A. B. Kahn: Topological sorting of large networks. Communications of the ACM 5 (1962).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([2, 2, 0, 3], [0, 3, 1, 1])
    >>> gasla.topological_order(graph)
    array([2, 0, 3, 1], dtype=int32)
    >>> gasla.topological_order(graph, levels=True).levels
    array([1, 2, 0, 1], dtype=int32)
    """
    graph = as_graph(graph)
    check_flags(levels=levels)
    result = run(Order, graph, active=graph.in_degrees == 0)
    check_acyclic(graph, result.waiting)
    found = result.level
    # NumPy sorts 16 bits by counting, several times as fast.
    keys = found.astype(np.uint16) if len(found) and int(found.max()) < 2**16 else found
    order = array_module(found).argsort(keys, kind="stable").astype(graph.id_dtype, copy=False)
    return TopologicalOrderResult(order, found) if levels else order


def check_acyclic(graph: Graph, waiting: Any) -> None:
    """Refuse a graph in which vertices still wait for in-edges at the end: such are on a cycle, or behind one."""
    if any_true(waiting > 0):
        raise ValueError(
            f"the graph has the cycle {_cycle(graph, moved(waiting, 'cpu') > 0)}; expected an acyclic one: "
            "leave out an edge of every cycle"
        )


def _cycle(graph: Graph, waits: np.ndarray) -> str:
    """A cycle in words. Each waiting vertex waits for another one, so going back along such edges closes a cycle."""
    indptr, indices = moved(graph.in_.indptr, "cpu"), moved(graph.in_.indices, "cpu")
    way: dict[int, int] = {}
    vertex = int(waits.argmax())
    while vertex not in way:
        way[vertex] = len(way)
        before = indices[indptr[vertex] : indptr[vertex + 1]]
        vertex = int(before[waits[before].argmax()])
    cycle = [vertex, *list(way)[: way[vertex] : -1], vertex]
    length = len(cycle) - 1
    if length <= SHOWN:
        return " → ".join(map(str, cycle))
    return f"{' → '.join(map(str, cycle[: SHOWN - 1]))} → … → {vertex}, of {length} vertices"
