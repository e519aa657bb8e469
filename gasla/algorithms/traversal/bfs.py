"""Breadth-first search finds the distance from a source to every vertex in edges, and a parent of each vertex.

The frontier grows level by level. An unvisited vertex joins it as soon as one of its in-neighbors in the frontier is
found, so the reduction is `any`. The engine pushes from a small frontier. With a large frontier it pulls, where every
unvisited vertex stops at the first parent it finds.
"""

from collections.abc import Hashable
from typing import Any, Literal, NamedTuple, overload

import numpy as np

import semirings
from gasla.arrays import array_module
from gasla.deprecation import deprecated
from gasla.graph.arguments import check_flags, check_previous, check_source, most_iterations, new_edges
from gasla.graph.exchange.vertex_names import translate_vertex
from gasla.graph.graph import Graph, as_graph
from gasla.operations.run import run
from gasla.program import ID, VertexProgram, option, vertex
from gasla.rows import Command, Row, Task


class Levels(VertexProgram):
    """level(v) = the number of edges on a shortest path from the source to v, set by the iteration that reaches v.

    The run ends after at most n iterations, since each vertex is reached once.
    """

    direction = option("in")
    level = vertex(np.int32, init=-1)
    reduce = semirings.any
    sources = "active"

    def mask(self, vertex):
        return vertex.level < 0

    def gather(self, src, dst, edge):
        return True

    def apply(self, vertex, gathered):
        return {"level": self.iteration + 1}


class Parents(Levels):
    """The program `Levels` that also stores parent(v), the id of the in-neighbor that reached v."""

    parent = vertex(ID, init=-1)

    def gather(self, src, dst, edge):
        return src.id + 1  # plus 1, since `any` takes 0 for no value

    def apply(self, vertex, gathered):
        return {"level": self.iteration + 1, "parent": gathered - 1}


class Nearer(VertexProgram):
    """level(v) = the minimum of level(v) and 1 + level(u) over the in-edges u -> v, beginning with an earlier search's
    levels.

    The program continues a search after edges were inserted. Levels are compared as uint32, where -1 is the largest.
    """

    level = vertex(np.uint32)
    reduce = semirings.min

    def gather(self, src, dst, edge):
        return semirings.minimum(src.level, np.uint32(2**32 - 2)) + np.uint32(1)

    def apply(self, vertex, gathered):
        return {"level": semirings.minimum(vertex.level, gathered)}


class NearerThrough(Nearer):
    """The program `Nearer` that also stores a parent of v, the in-neighbor that improved the level of v last.

    If the level of v does not improve, that of its parent did not either, and the parent stays valid.
    """

    parent = vertex(ID)
    reduce = semirings.argmin

    def gather(self, src, dst, edge):
        return super().gather(src, dst, edge), src.id

    def apply(self, vertex, gathered):
        level, parent = gathered
        is_nearer = level < vertex.level
        return {
            "level": semirings.where(is_nearer, level, vertex.level),
            "parent": semirings.where(is_nearer, parent, vertex.parent),
        }

    def activate(self, before, after):
        return after.level < before.level


LEVELS, PARENTS, NEARER, NEARER_THROUGH = Levels(), Parents(), Nearer(), NearerThrough()


class BFSResult(NamedTuple):
    """Levels and parents of a breadth-first search."""

    levels: np.ndarray
    parents: np.ndarray


@overload
def bfs(
    graph: Any, source: Hashable, *, parents: Literal[False] = ..., depth_limit: int | None = ..., start: Any = ...
) -> np.ndarray: ...
@overload
def bfs(
    graph: Any, source: Hashable, *, parents: Literal[True], depth_limit: int | None = ..., start: Any = ...
) -> BFSResult: ...


@deprecated("depth_limit", since="0.2", parameter="max_depth")
def bfs(
    graph: Any, source: Hashable, *, parents: bool = False, depth_limit: int | None = None, start: Any = None
) -> np.ndarray | BFSResult:
    """Find the distance from a source to every vertex, in edges, by breadth-first search.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j. Values are ignored.
    source : int or name
        The vertex to start from.
    parents : bool
        Whether to return a parent of every vertex as well: its predecessor on a shortest path.
    depth_limit : int, optional
        Maximum distance to search to.
    start : array or BFSResult, optional
        A previous result to continue from, which saves most of the work: for the same source, without `depth_limit`,
        and for the graph that `Graph.changed` made into `graph` by inserting edges only. A BFSResult if `parents=True`.

    Returns
    -------
    levels : (n,) int32
        The distance of every vertex; 0 at the source, -1 if unreachable.
    BFSResult(levels, parents)
        With `parents=True`. `parents`, shape (n,), ids: the source is its own parent, and unreachable vertices have -1.
        If a vertex has several possible parents, the choice may differ from run to run.

    Raises
    ------
    ValueError
        If the source is not a vertex, the matrix is not square, or `depth_limit` is negative; if `start` visibly
        belongs to another source or graph, or edges were removed since.
    TypeError
        If `start` is not a result of this function.

    Notes
    -----
    Stored zeros are edges. Parallel edges and self loops do not matter.

    On a GPU the function may return before its kernel finishes, as CuPy's functions do. Later work on the same stream
    sees the finished result; `cupy.cuda.get_current_stream().synchronize()` waits for it.

    References
    ----------
    S. Beamer, K. Asanović, D. Patterson: Direction-optimizing breadth-first search. SC 2012.

    Examples
    --------
    >>> import gasla, numpy as np
    >>> from scipy.sparse import csr_array
    >>> A = csr_array(np.array([[0, 1, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0]]))
    >>> gasla.bfs(A, 0)
    array([ 0,  1,  1, -1], dtype=int32)
    >>> gasla.bfs(A, 3, parents=True).parents
    array([3, 0, 0, 3], dtype=int32)
    """
    graph = as_graph(graph)
    source = translate_vertex(graph, source)
    check_flags(parents=parents)
    limit = None if depth_limit is None else most_iterations("depth_limit", depth_limit)
    if start is not None:
        if limit is not None:
            raise ValueError("start continues a search without a limit; leave out depth_limit, or start")
        return _continue_search(graph, source, parents, start)
    source_level, source_parent = {source: 0}, {source: source}
    if parents:
        result = run(
            PARENTS, graph, active=[source], max_iterations=limit, level=source_level, parent=source_parent, wait=False
        )
        return BFSResult(result.level, result.parent)
    levels: np.ndarray = run(LEVELS, graph, active=[source], max_iterations=limit, level=source_level, wait=False).level
    return levels


def _continue_search(graph: Graph, source: int, parents: bool, start: Any) -> np.ndarray | BFSResult:
    """Continue a finished search after edges were inserted, and return the new result.

    `start` is the result of the finished search. Vertices whose level improves activate their neighbors.
    """
    src, _ = new_edges(graph)
    if parents and not isinstance(start, BFSResult):
        raise TypeError(f"start is {type(start).__name__}; expected a BFSResult, since parents=True")
    old_levels, old_parents = start if isinstance(start, BFSResult) else (start, None)
    known_levels = check_previous(graph, "start", old_levels, np.dtype(np.int32))
    check_source("start", known_levels, source)
    xp: Any = array_module(known_levels)
    fields = {"level": xp.ascontiguousarray(known_levels).view(np.uint32)}
    program = NEARER
    if parents:
        fields["parent"] = check_previous(graph, "start.parents", old_parents, graph.id_dtype)
        program = NEARER_THROUGH
    result = run(program, graph, **fields, active=xp.unique(src), wait=False)
    levels: np.ndarray = result.level.view(np.int32)
    return BFSResult(levels, result.parent) if parents else levels


ROW = Row(
    bfs,
    Command(
        *("bfs", {"levels": "level", "parents": "parent"}),
        *(lambda f: f.reached("levels"), lambda f: f.histogram("levels", "level")),
        iterations=lambda f: int(f["levels"].max(initial=0)),
    ),
    Task(options={"parents": True}, part="parents", form="levels_of"),
    Task("levels", checked_by="bfs"),
    method="direction-optimizing search (Beamer, Asanović, Patterson, SC 2012), as in GAPBS and Gunrock",
    longer="Each level of the search waits for the one before, and components need no levels.",
)
