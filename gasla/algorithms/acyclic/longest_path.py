"""Longest paths of an acyclic graph, as for the critical path of a project plan.

Every vertex counts the in-edges whose tails do not have their final length yet, as in a topological order. It keeps the
maximum of length(u) + weight(u, v) over the in-edges u -> v processed so far, but at least 0, the length of the path
that consists of v alone. When the count of a vertex reaches 0, its length is final: the vertex becomes active and its
out-neighbors gather from it. In a second pass the parent of v is the smallest u with length(u) + weight(u, v) =
length(v).
"""

from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.acyclic.topological_order import check_acyclic
from gasla.algorithms.paths.sssp import check_lengths, length_types
from gasla.arrays import array_module, moved
from gasla.graph.arguments import check_flags, check_weights, float_type
from gasla.graph.graph import as_graph
from gasla.graph.weights import may_overflow, takes_weight
from gasla.operations.on_one_device import on_one_device
from gasla.operations.run import run
from gasla.program import ID, VertexProgram, edge, option, vertex
from gasla.rows import UNWEIGHTED, Command, Row


class Lengths(VertexProgram):
    """length(v) = the length of a longest path that ends at v: the maximum over the in-edges u -> v of length(u) +
    weight.

    A vertex gathers from an in-edge once length(u) is final.

    `waiting` is the number of in-edges from which the vertex has not gathered yet. The run ends after at most n
    iterations, since each vertex is active once, when its `waiting` reaches 0.
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
    """parent(v) = the vertex before v on a longest path: the smallest u with length(u) + weight(u, v) = length(v).

    If there is no such u, it is v itself.
    """

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
    """A longest path, its length, the length of a longest path to each vertex, and each vertex's predecessor."""

    path: np.ndarray
    length: float
    lengths: np.ndarray
    parents: np.ndarray


@takes_weight
@on_one_device()
def longest_path(graph: Any, *, weighted: bool = True) -> LongestPathResult:
    """Find a longest path of an acyclic graph.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the length of the edge i -> j. Lengths may be negative.
    weighted : bool
        Whether values are lengths. If False, or if the graph has no values, every edge has length 1.

    Returns
    -------
    LongestPathResult(path, length, lengths, parents)
        `path` holds the ids of the vertices of a longest path in order; among several longest paths, the one whose last
        vertex has the smallest id. `length` is its length. `lengths`, shape (n,), float32 for float32 values and
        float64 otherwise, is the length of a longest path that ends at each vertex; it is at least 0, since a path may
        start anywhere. `parents`, shape (n,), ids, is the smallest possible predecessor on such a path, or the vertex
        itself if no path from elsewhere has length 0 or more. The result is deterministic.

    Raises
    ------
    ValueError
        If the graph has a cycle (the error names it), a length is NaN or -inf, or a sum of finite lengths overflows.

    See Also
    --------
    gasla.topological_order : an order in which all edges lead forward.

    Notes
    -----
    Stored zeros are edges of length 0. Of parallel edges the longest counts. A self loop is a cycle.

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
    dtypes = length_types(graph, length)
    result = run(Lengths(**dtypes), graph, active=graph.in_degrees == 0, notice=False)
    check_acyclic(graph, result.waiting)
    lengths = result.length
    if may_overflow(graph, length):
        check_lengths(graph, lengths)
    parents = run(Parents(**dtypes), graph, max_iterations=1, notice=False, length=lengths).parent
    if graph.n == 0:
        return LongestPathResult(parents, 0.0, lengths, parents)
    end = int(lengths.argmax())
    return LongestPathResult(_path_to(parents, end), float(lengths[end]), lengths, parents)


def _path_to(parents: Any, end: int) -> Any:
    """Return the vertices of the longest path that ends at vertex `end`, in order, by following parents back."""
    parent_of, path = moved(parents, "cpu"), [end]
    while (parent := parent_of.item(path[-1])) != path[-1]:
        path.append(parent)
    return array_module(parents).asarray(path[::-1], parents.dtype)


ROW = Row(
    longest_path,
    Command(
        *("longest-path", {"lengths": "length", "parents": "parent"}),
        lambda f: f"the longest path has {len(f['path']):,} vertices and length {f['length']:,.6g}:",
        lambda f: (
            f.listed(f["path"], f["lengths"][f["path"]], more=f"more, to {f.label(int(f['path'][-1]))}")
            if len(f["path"])
            else []
        ),
        options=UNWEIGHTED,
    ),
    method="dynamic programming in topological order (Kelley, Walker, 1959)",
    longer="As `topological_order`, then lengths level by level: two barriers for each vertex of a long path.",
)
