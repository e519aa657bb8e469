"""Breadth-first search: how many edges away is every vertex, and through whom.

Returned are levels (0 at the source, -1 where it does not reach) and, on request, a parent of every reached vertex.

A frontier of vertices grows level by level. An unvisited vertex joins as soon as one in-neighbor in the frontier is
found, so the reduction is `any`: the engine pushes from a small frontier, and lets the unvisited vertices look for a
parent when the frontier is large, stopping at the first.

S. Beamer, K. Asanović, D. Patterson: Direction-optimizing breadth-first search. SC 2012.
"""

from typing import Any, Literal, NamedTuple, overload

import numpy as np

import semirings
from gasla.arrays import array_module
from gasla.graph.arguments import (
    check_flags,
    check_previous,
    check_source,
    most_iterations,
    new_edges,
    source_vertex,
)
from gasla.graph.graph import Graph, as_graph
from gasla.operations.run import run
from gasla.program.fields import ID, vertex
from gasla.program.program import VertexProgram


class Levels(VertexProgram):
    """level(v) = the iteration in which an edge first reaches v. Ends after n, as each vertex receives once."""

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
    """Levels, and the parent that reached v."""

    parent = vertex(ID, init=-1)

    def gather(self, src, dst, edge):
        return src.id + 1  # `any` passes over zero

    def apply(self, vertex, gathered):
        return {"level": self.iteration + 1, "parent": gathered - 1}


class Nearer(VertexProgram):
    """level(v) = min over in-edges of level(u) + 1, from levels that are known. As unsigned, -1 is the largest."""

    level = vertex(np.uint32)
    reduce = semirings.min

    def gather(self, src, dst, edge):
        return semirings.minimum(src.level, np.uint32(2**32 - 2)) + np.uint32(1)

    def apply(self, vertex, gathered):
        return {"level": semirings.minimum(vertex.level, gathered)}


class NearerThrough(Nearer):
    """The same, keeping who v came nearer through. Where v came no nearer, whom it had came no nearer either."""

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
    graph: Any, source: int, *, parents: Literal[False] = ..., depth_limit: int | None = ..., start: Any = ...
) -> np.ndarray: ...
@overload
def bfs(
    graph: Any, source: int, *, parents: Literal[True], depth_limit: int | None = ..., start: Any = ...
) -> BFSResult: ...


def bfs(
    graph: Any, source: int, *, parents: bool = False, depth_limit: int | None = None, start: Any = None
) -> np.ndarray | BFSResult:
    """Number of edges on a shortest path from `source` to every vertex.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j; values are not looked at, and stored zeros are edges.
    source : int
        Where to start.
    parents : bool
        Also return a vertex before each one on a shortest path.
    depth_limit : int, optional
        Go no further than this many edges.
    start : array or BFSResult, optional
        What this returned, from the same source and without a limit, for the graph that `graph` was made of by
        `Graph.changed` with edges added alone: the search goes on from there. With `parents=True` a BFSResult.

    Returns
    -------
    levels : (n,) int32
        0 at the source, -1 where it does not reach.
    BFSResult(levels, parents)
        With `parents=True`. The source is its own parent; -1 where it does not reach. Which of several possible
        parents is given may differ from run to run.

    Raises
    ------
    ValueError
        If the source is not a vertex, the matrix is not square, or `depth_limit` is negative; if `start` is of another
        source or graph, as far as that shows, or edges were removed since.
    TypeError
        If `start` is something else than this returned.

    Notes
    -----
    On a GPU it may return while its kernel still runs, as CuPy's functions do: what the stream does next finds the
    result finished, and `cupy.cuda.get_current_stream().synchronize()` waits for it.

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
    source = source_vertex(graph, source)
    check_flags(parents=parents)
    limit = None if depth_limit is None else most_iterations("depth_limit", depth_limit)
    if start is not None:
        if limit is not None:
            raise ValueError("start goes on from a search without a limit; leave out depth_limit, or start")
        return _go_on(graph, source, parents, start)
    begin, own = {source: 0}, {source: source}
    if parents:
        found = run(PARENTS, graph, active=[source], max_iterations=limit, level=begin, parent=own, wait=False)
        return BFSResult(found.level, found.parent)
    levels: np.ndarray = run(LEVELS, graph, active=[source], max_iterations=limit, level=begin, wait=False).level
    return levels


def _go_on(graph: Graph, source: int, parents: bool, start: Any) -> np.ndarray | BFSResult:
    """The search once edges are new: a vertex that comes nearer tells its neighbors."""
    src, _ = new_edges(graph)
    if parents and not isinstance(start, BFSResult):
        raise TypeError(f"start is {type(start).__name__}; expected a BFSResult, as parents are wanted")
    given, known = start if isinstance(start, BFSResult) else (start, None)
    before = check_previous(graph, "start", given, np.dtype(np.int32))
    check_source("start", before, source)
    xp: Any = array_module(before)
    fields = {"level": xp.ascontiguousarray(before).view(np.uint32)}
    program = NEARER
    if parents:
        fields["parent"] = check_previous(graph, "start.parents", known, graph.id_dtype)
        program = NEARER_THROUGH
    found = run(program, graph, **fields, active=xp.unique(src), wait=False)
    levels: np.ndarray = found.level.view(np.int32)
    return BFSResult(levels, found.parent) if parents else levels
