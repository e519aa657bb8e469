"""Longest paths of an acyclic graph: the critical path of a plan, and what each of its steps has to wait for.

Returned are a longest path and its length, and for every vertex the length of a longest path that ends there and the
vertex before it on one.

Every vertex counts the in-edges that it still waits for, as in a topological order, and keeps the greatest
length(u) + weight(u, v) that it has heard; where all of these are negative, the path that begins there is longer. Once
it has heard along all in-edges, it tells its out-neighbors. When all lengths are known, the vertex before v is the u
of the smallest id with length(u) + weight(u, v) = length(v).

J. E. Kelley, M. R. Walker: Critical-path planning and scheduling. Eastern Joint Computer Conference 1959.
"""

from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.acyclic.topological_order import check_acyclic
from gasla.arrays import array_module, moved
from gasla.graph.arguments import check_flags, check_weights, float_type
from gasla.graph.graph import as_graph
from gasla.graph.weights import check_lengths, may_overflow
from gasla.operations.run import run
from gasla.program.fields import ID, edge, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram


class Lengths(VertexProgram):
    """length(v) = max over in-edges of length(u) + weight(u, v), told once u waits for no in-edge.

    Ends after n iterations at most: a vertex is active once, when it waits for no in-edge any more.
    """

    real = option(np.float64)
    lengths = option(np.float64)
    waiting = vertex(np.int64, init=lambda vertex: vertex.in_degree)
    length = vertex(real)
    weight = edge(lengths)
    reduce = semirings.product(semirings.plus, semirings.max)
    sources = "active"

    def gather(self, src, dst, edge):
        return semirings.cast(1, np.int64), src.length + edge.weight

    def apply(self, vertex, gathered):
        settled, length = gathered
        return {"waiting": vertex.waiting - settled, "length": semirings.maximum(vertex.length, length)}

    def activate(self, before, after):
        return after.waiting == 0


class Parents(VertexProgram):
    """parent(v) = the smallest u with length(u) + weight(u, v) = length(v), or v itself if there is none."""

    real = option(np.float64)
    lengths = option(np.float64)
    length = vertex(real)
    parent = vertex(ID)
    weight = edge(lengths)
    reduce = semirings.min
    everyone = True

    def gather(self, src, dst, edge):
        return semirings.where(src.length + edge.weight == dst.length, src.id, semirings.cast(self.n, src.id.dtype))

    def apply(self, vertex, gathered):
        return {"parent": semirings.where(gathered < self.n, gathered, vertex.id)}


class LongestPathResult(NamedTuple):
    """A longest path and its length; for each vertex the length of a longest path to it, and the vertex before it."""

    path: np.ndarray
    length: float
    lengths: np.ndarray
    parents: np.ndarray


def longest_path(graph: Any, *, weighted: bool = True) -> LongestPathResult:
    """The longest path of an acyclic graph.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the length of the edge i -> j; stored zeros are edges of length 0, and of parallel edges the
        longest counts. Lengths may be negative. A loop is a cycle.
    weighted : bool
        Whether the values are lengths; otherwise, and in a graph without values, every edge has length 1.

    Returns
    -------
    LongestPathResult(path, length, lengths, parents)
        `path` holds the vertices of a longest path, from its first to its last: that of the smallest id where several
        are as far. `lengths`, (n,), is the length of a longest path that ends at each vertex, float32 for float32
        lengths, else float64; never negative, as a path may begin anywhere. `parents`, (n,), is the vertex before it
        on such a path, that of the smallest id where there are several; itself where no path that comes from elsewhere
        has length 0 or more. All of this is the same every time.

    Raises
    ------
    ValueError
        If the graph has a cycle, which is named, a length is NaN or minus infinity, or a sum of finite ones overflows.

    See Also
    --------
    gasla.topological_order : the order along which it goes.

    References
    ----------
    J. E. Kelley, M. R. Walker: Critical-path planning and scheduling. Eastern Joint Computer Conference 1959.

    Examples
    --------
    >>> import gasla, numpy as np
    >>> from scipy.sparse import csr_array
    >>> A = csr_array(np.array([[0, 2, 7, 0], [0, 0, 6, 1], [0, 0, 0, 0], [0, 0, 0, 0]], np.float32))
    >>> gasla.longest_path(A).path, gasla.longest_path(A).length
    (array([0, 1, 2], dtype=int32), 8.0)
    >>> gasla.longest_path(A).lengths
    array([0., 2., 8., 3.], dtype=float32)
    """
    graph = as_graph(graph)
    check_flags(weighted=weighted)
    if not weighted:
        graph = graph.kept("edges alone", lambda graph: graph.with_values(None))
    graph.notice_values()
    check_weights(graph)
    length = float_type(graph)
    types = {"real": length, "lengths": length if graph.values is None else graph.values.dtype}
    found = run(Lengths(**types), graph, active=graph.in_degrees == 0, notice=False)
    check_acyclic(graph, found.waiting)
    lengths = found.length
    if may_overflow(graph, length):
        check_lengths(graph, lengths)
    parents = run(Parents(**types), graph, max_iterations=1, notice=False, length=lengths).parent
    if graph.n == 0:
        return LongestPathResult(parents, 0.0, lengths, parents)
    end = int(lengths.argmax())
    return LongestPathResult(_path(parents, end), float(lengths[end]), lengths, parents)


def _path(parents: Any, end: int) -> Any:
    """The path that the parents lead back along from its end."""
    there, path = moved(parents, "cpu"), [end]
    while (before := there.item(path[-1])) != path[-1]:
        path.append(before)
    return array_module(parents).asarray(path[::-1], parents.dtype)
