"""Longest paths of an acyclic graph: the critical path of a plan, and what each of its steps has to wait for.

Returned are a longest path and its length, and for every vertex the length of a longest path that ends there and the
vertex before it on one.

The levels of a topological order are known ahead, so they are a schedule: each vertex receives once, when all that is
before it is done, and takes the greatest of length(u) + weight(u, v); of several such u that of the smallest id. Where
all of these are negative, a path is longer that begins there.

J. E. Kelley, M. R. Walker: Critical-path planning and scheduling. Eastern Joint Computer Conference 1959.
"""

from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.acyclic.topological_order import order_levels
from gasla.arrays import array_module, moved
from gasla.graph.arguments import check_weights, float_type
from gasla.graph.graph import as_graph
from gasla.operations.run import run
from gasla.program.fields import ID, edge, vertex
from gasla.program.program import VertexProgram
from gasla.program.schedule import Schedule


class MostEdges(VertexProgram):
    """length(v) = max over in-edges of length(u) + 1; parent(v) = the u of the smallest id that gives it."""

    length = vertex(np.float64)
    parent = vertex(ID, init=lambda vertex: vertex.id)
    reduce = semirings.argmax

    def gather(self, src, dst, edge):
        return src.length + 1, -src.id

    def apply(self, vertex, gathered):
        length, parent = gathered
        goes_on = length >= 0
        return {
            "length": semirings.where(goes_on, length, 0),
            "parent": semirings.where(goes_on, -parent, vertex.id),
        }


class Longest(MostEdges):
    """The same, where edges have lengths."""

    weight = edge(np.float64)

    def gather(self, src, dst, edge):
        return src.length + edge.weight, -src.id


class LongestPathResult(NamedTuple):
    """A longest path and its length; of every vertex the length of a longest path to it, and who is before it there."""

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
        If the graph has a cycle, which is named, or a length is NaN or minus infinity.

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
    program: type[VertexProgram] = MostEdges
    if weighted and graph.values is not None:
        graph.notice_values()
        check_weights(graph)
        program = Longest.typed(length=float_type(graph), weight=graph.values.dtype)
    found = run(program, graph, schedule=Schedule(order_levels(graph), first=1), notice=False)
    lengths, parents = found.state["length"], found.state["parent"]
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
