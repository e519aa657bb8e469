"""Breadth-first search: how many edges away is every vertex, and through whom.

Returned are levels (0 at the source, -1 where it does not reach) and, on request, a parent of every reached vertex.

A frontier of vertices grows level by level. An unvisited vertex joins as soon as one in-neighbour in the frontier is
found, so the reduction is `any`: the engine pushes from a small frontier, and lets the unvisited vertices look for a
parent when the frontier is large, stopping at the first.

S. Beamer, K. Asanović, D. Patterson: Direction-optimizing breadth-first search. SC 2012.
"""

from typing import Any, Literal, NamedTuple, overload

import numpy as np

import semirings
from gasla.graph.arguments import most_iterations, source_vertex
from gasla.graph.graph import as_graph
from gasla.operations.run import run
from gasla.program.fields import ID, vertex
from gasla.program.program import VertexProgram


class Levels(VertexProgram):
    """level(v) = the iteration in which an edge first reaches v."""

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
    """The same, keeping who reached v."""

    parent = vertex(ID, init=-1)

    def gather(self, src, dst, edge):
        return src.id + 1  # `any` passes over zero

    def apply(self, vertex, gathered):
        return {"level": self.iteration + 1, "parent": gathered - 1}


LEVELS, PARENTS = Levels(), Parents()


class BFSResult(NamedTuple):
    """Levels and parents of a breadth-first search."""

    levels: np.ndarray
    parents: np.ndarray


@overload
def bfs(graph: Any, source: int, *, parents: Literal[False] = ..., depth_limit: int | None = ...) -> np.ndarray: ...
@overload
def bfs(graph: Any, source: int, *, parents: Literal[True], depth_limit: int | None = ...) -> BFSResult: ...


def bfs(graph: Any, source: int, *, parents: bool = False, depth_limit: int | None = None) -> np.ndarray | BFSResult:
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
        If the source is not a vertex, the matrix is not square, or `depth_limit` is negative.

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
    limit = None if depth_limit is None else most_iterations("depth_limit", depth_limit)
    start, own = {source: 0}, {source: source}
    if parents:
        found = run(PARENTS, graph, active=[source], max_iterations=limit, level=start, parent=own, wait=False)
        return BFSResult(found.level, found.parent)
    levels: np.ndarray = run(LEVELS, graph, active=[source], max_iterations=limit, level=start, wait=False).level
    return levels
