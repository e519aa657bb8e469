"""Topological order: an order of the vertices of an acyclic graph in which every edge leads forward.

Every vertex counts its in-edges from vertices that are not in the order yet. A vertex whose count is 0 becomes active
for one iteration, in which each out-neighbor reduces its own count by the number of edges from active vertices. A
vertex whose count reaches 0 in iteration i is on level i + 1. Vertices whose count never reaches 0 are on a cycle, or
reachable from a cycle.

In host memory one thread processes a queue of vertices instead (`primitives.acyclic_order`): meshes have thousands of
levels, each with too little work for several threads.
"""

from heapq import heappop, heappush
from typing import Any, Literal, NamedTuple, overload

import numpy as np

import semirings
from gasla.arrays import any_true, array_module, module_of, moved
from gasla.graph.arguments import check_flags
from gasla.graph.graph import Graph, as_graph
from gasla.graph.vertex_keys import ranks_of_keys
from gasla.operations.on_one_device import on_one_device
from gasla.operations.primitives import acyclic_order, fits_one_thread
from gasla.operations.run import run
from gasla.program import ID, VertexProgram, vertex
from gasla.rows import Command, Row

SHOWN_EDGES = 6  # longest cycle, in edges, that an error shows as a whole; longer cycles are shortened


class Order(VertexProgram):
    """level(v) = 0 if v has no in-edges, and otherwise 1 + the largest level of an in-neighbor.

    `waiting` is the number of in-neighbors that have not been active yet. The run ends after at most n iterations,
    since each vertex is active once, when its `waiting` reaches 0.
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
    """The vertices in topological order, and the level of each vertex."""

    order: np.ndarray
    levels: np.ndarray


@overload
def topological_order(graph: Any, *, levels: Literal[False] = ..., key: Any = ...) -> np.ndarray: ...
@overload
def topological_order(graph: Any, *, levels: Literal[True], key: Any = ...) -> TopologicalOrderResult: ...


@on_one_device()
def topological_order(graph: Any, *, levels: bool = False, key: Any = None) -> np.ndarray | TopologicalOrderResult:
    """Sort the vertices of an acyclic graph such that every edge leads from an earlier to a later one.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j. Values are ignored.
    levels : bool
        Whether to return the level of each vertex as well.
    key : (n,) array, optional
        Numbers or texts, such as `graph.names`. Of all vertices whose in-neighbors are in the order already, the one of
        the smallest key comes next; of equal keys the smallest vertex. So of all topological orders, this is the first
        by keys (lexicographic). On one thread, by Python, for a graph in one memory. Entries of a list are compared
        as Python compares them. `graph.names` of a graph without names is None, which is no key: the order is by level.

    Returns
    -------
    order : (n,) array of ids
        Sorted by level, then by id, or as `key` says; deterministic.
    TopologicalOrderResult(order, levels)
        With `levels=True`. `levels`, shape (n,), int32, is the number of edges on a longest path that ends at each
        vertex; 0 for vertices without in-edges. No edge joins two vertices of one level.

    Raises
    ------
    ValueError
        If the graph has a cycle, which the error names. Every undirected graph with an edge has one. If `key` is not
        one number or text per vertex, or has NaN or NaT.
    TypeError
        If entries of `key` can't be compared, such as numbers with texts, None or complex numbers; if it is a masked
        array.

    See Also
    --------
    gasla.longest_path : longest paths of an acyclic graph.

    Notes
    -----
    Stored zeros are edges. Parallel edges count as one. A self loop is a cycle.

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
    >>> gasla.topological_order(graph, key=["d", "c", "b", "a"])
    array([2, 3, 0, 1], dtype=int32)
    """
    graph = as_graph(graph)
    check_flags(levels=levels)
    ranks = None
    if key is not None:
        ranks = ranks_of_keys("key", key, graph.n)
        graph.require_whole("key")
    order, level_of = _order_by_level(graph)
    if ranks is not None:
        order = module_of(graph.device).asarray(_order_by_rank(graph, ranks), graph.id_dtype)
    return TopologicalOrderResult(order, level_of) if levels else order


def _order_by_level(graph: Graph) -> tuple[Any, Any]:
    """Return the vertices sorted by level and then by id, and the level of each vertex.

    Raise ValueError if the graph has a cycle.
    """
    if fits_one_thread(graph):
        order, levels, waiting = acyclic_order(graph)
        check_acyclic(graph, waiting)
        return order, levels
    result = run(Order, graph, active=graph.in_degrees == 0)
    check_acyclic(graph, result.waiting)
    # Levels below 2**16 are sorted as 16-bit keys, for which NumPy's stable sort is a radix sort, several times as fast
    # as its sort of 32-bit keys.
    levels = result.level
    keys = levels.astype(np.uint16) if len(levels) and int(levels.max()) < 2**16 else levels
    return array_module(levels).argsort(keys, kind="stable").astype(graph.id_dtype, copy=False), levels


def _order_by_rank(graph: Graph, ranks: np.ndarray) -> np.ndarray:
    """Return the topological order of an acyclic graph that is lexicographically smallest by the ranks of vertices.

    `ranks` gives each vertex its position among all vertices by key. A heap holds the ranks of the vertices that may
    come next, and the smallest rank is taken.
    """
    by_rank, rank = np.argsort(ranks), ranks.tolist()
    indptr, heads = (moved(array, "cpu").tolist() for array in (graph.out.indptr, graph.out.indices))
    waiting = moved(graph.in_degrees, "cpu")
    # a sorted list is already a heap, so heapify is not needed
    ready, order = np.sort(ranks[waiting == 0]).tolist(), []
    vertex_of_rank, waiting = by_rank.tolist(), waiting.tolist()
    while ready:
        order.append(heappop(ready))
        vertex = vertex_of_rank[order[-1]]
        for head in heads[indptr[vertex] : indptr[vertex + 1]]:
            waiting[head] -= 1
            if not waiting[head]:
                heappush(ready, rank[head])
    sorted_vertices: np.ndarray = by_rank[order]
    return sorted_vertices


def check_acyclic(graph: Graph, waiting: Any) -> None:
    """Raise ValueError, with a cycle in its text, if a run in topological order has found that the graph has a cycle.

    `waiting` is the number of in-edges of each vertex from which the run has not gathered. A positive number at the end
    of the run means that the vertex is on a cycle or reachable from one.
    """
    if any_true(waiting > 0):
        raise ValueError(
            f"the graph has the cycle {_cycle_text(graph, waiting)}; expected an acyclic one: "
            "leave out an edge of every cycle"
        )


class Waited(VertexProgram):
    """before(v) = the smallest in-neighbor of v that still waits for in-neighbors of its own, or n if there is none.

    It is used to find a cycle after a topological sort has failed.
    """

    waiting = vertex(np.int64)
    before = vertex(ID)
    reduce = semirings.min
    everyone = True

    def gather(self, src, dst, edge):
        return semirings.cast(semirings.where(src.waiting > 0, src.id, self.n), src.id.dtype)

    def apply(self, vertex, gathered):
        return {"before": gathered}


def _cycle_text(graph: Graph, waiting: Any) -> str:
    """Return the text of a cycle for an error, such as "3 → 5 → 3".

    `waiting` is the number of in-edges of each vertex whose tails never became active. Each vertex with a positive
    number has an in-neighbor with a positive number, so walking backward over such vertices leads to a cycle.
    """
    predecessor = moved(run(Waited, graph, max_iterations=1, waiting=waiting, compile=False).before, "cpu")
    position: dict[int, int] = {}
    vertex = int((waiting > 0).argmax())
    while vertex not in position:
        position[vertex] = len(position)
        vertex = int(predecessor[vertex])
    cycle = [vertex, *list(position)[: position[vertex] : -1], vertex]
    length = len(cycle) - 1
    if length <= SHOWN_EDGES:
        return " → ".join(map(str, cycle))
    return f"{' → '.join(map(str, cycle[: SHOWN_EDGES - 1]))} → … → {vertex}, of {length} vertices"


ROW = Row(
    topological_order,
    Command(
        *("topological-order", {"levels": "level"}),
        lambda f: f"{f['levels'].max(initial=-1) + 1:,} levels; the first vertices in order:",
        lambda f: f.listed(f["order"], f["levels"][f["order"]]),
        fixed={"levels": True},
    ),
    method="peeling of vertices without in-edges (Kahn, Communications of the ACM 5, 1962)",
    longer="On a GPU one level of the order waits for the one before; a long path has as many levels.",
)
