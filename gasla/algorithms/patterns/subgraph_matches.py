"""Subgraph matching: where a graph contains a pattern of up to four vertices, or how often.

The result has one row per match: a vertex of the graph for each vertex of the pattern, such that edges of the pattern
are edges of the graph. Of the rows that are equal up to an automorphism of the pattern, the smallest is returned. With
`induced`, vertices not adjacent in the pattern must not be adjacent in the graph.

The number of matches is computed first, from degrees, triangles and paths of two edges. Then rows are extended by one
vertex at a time: a common neighbor of the matched neighbors in the pattern, later in the order of degrees than the
vertices it could be exchanged with. So hubs are reached from their small neighbors, and each match is found once.

J. A. Grochow, M. Kellis: Network Motif Discovery Using Subgraph Enumeration and Symmetry-Breaking. RECOMB 2007.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_
from typing import Any

import numpy as np

from gasla.algorithms.patterns import match_counts
from gasla.algorithms.patterns.pattern import Pattern, Step
from gasla.arrays import array_module, shares
from gasla.graph.arguments import check_flags, whole_number
from gasla.graph.graph import Graph, as_graph
from gasla.operations.memory_limit import available, require_memory
from gasla.operations.primitives import common, has_edges, simplify
from gasla.program.frontier import EdgeFrontier

Array = np.ndarray[Any, Any]  # of NumPy or CuPy

PART = 1 << 22  # neighbors per block


def subgraph_matches(
    graph: Any, pattern: Any, *, induced: bool = False, count: bool = False, limit: int | None = None
) -> int | Array:
    """List the matches of a pattern in a graph, or count them.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `triangle_count`. Values are ignored; stored zeros are edges.
    pattern : (vertices, vertices) matrix, of SciPy, NumPy or nested lists, or a Graph
        A connected graph of 1 to 4 vertices: symmetric, without self loops. Its edges are the nonzeros of a dense
        matrix, or the stored entries of a sparse one.
    induced : bool, default False
        Whether vertices that are not adjacent in the pattern must not be adjacent in the graph. Otherwise a triangle
        contains a path of three vertices three times.
    count : bool, default False
        Whether to return only the number of matches.
    limit : int, optional
        Raise an error, before listing, if there are more matches than this. By default memory is the limit.

    Returns
    -------
    (matches, vertices) array of the type of ids, or int
        One row per match: the vertex of the graph for each vertex of the pattern, on the device of the graph. Of rows
        equal up to an automorphism, the smallest. Rows have no particular order, but are deterministic. With `count`
        the exact number of rows.

    Raises
    ------
    TypeError, ValueError
        If the pattern is not a valid matrix, or there are more matches than `limit`.
    MemoryError
        If the matches need more memory than is available; the message has their number.

    See Also
    --------
    gasla.count_cliques : counts cliques of any size.

    Notes
    -----
    The number equals that of `networkx.algorithms.isomorphism.GraphMatcher` (`subgraph_isomorphisms_iter` if `induced`,
    else `subgraph_monomorphisms_iter`) divided by the number of the pattern's automorphisms.

    References
    ----------
    J. A. Grochow, M. Kellis: Network Motif Discovery Using Subgraph Enumeration and Symmetry-Breaking. RECOMB 2007.

    A. Pinar, C. Seshadhri, V. Vishal: ESCAPE: Efficiently Counting All 5-Vertex Subgraphs. WWW 2017.

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> gasla.subgraph_matches(graph, path, induced=True)
    array([[0, 2, 3],
           [1, 2, 3]], dtype=int32)
    >>> gasla.subgraph_matches(graph, path, count=True)
    5
    """
    graph, wanted = as_graph(graph), Pattern.of(pattern)
    check_flags(induced=induced, count=count)
    most = None if limit is None else whole_number("limit", limit)
    simple = simplify(graph)
    number = match_counts.matches(simple, wanted, induced)
    if count:
        return number
    if most is not None and number > most:
        raise ValueError(
            f"there are {number:,} matches, and limit is {most:,}; expected no more: raise limit, or pass count=True"
        )
    each = wanted.size * graph.id_dtype.itemsize
    require_memory(
        "the list has", number, each, available(graph.device), "pass count=True, or take a part of the graph"
    )
    return _listed(simple, wanted, induced, number)


def _listed(simple: Graph, pattern: Pattern, induced: bool, number: int) -> Array:
    xp, filled = array_module(simple.out.indices), 0
    rows = xp.empty((number, pattern.size), simple.id_dtype)
    if not number:
        return rows
    by_degree, vertices = match_counts.by_degree(simple)
    places = np.argsort(pattern.order).tolist()
    first = xp.arange(simple.n, dtype=simple.id_dtype)[None]
    for block in _extended(by_degree, first, pattern.steps(), induced):
        last = filled + block.shape[1]
        rows[filled:last] = _smallest(vertices[block[places]], pattern).T
        filled = last
    assert filled == number, f"{filled} matches were found, and {number} counted"
    return rows


def _extended(graph: Graph, columns: Array, steps: Sequence[Step], induced: bool) -> Iterator[Array]:
    """Yield blocks of matches, extended by all remaining steps; each column is a match."""
    if not columns.shape[1]:
        return
    if not steps:
        yield columns
        return
    step, xp = steps[0], array_module(columns)
    ends = columns[step.joined[0]], columns[step.joined[:2][-1]]  # a single neighbor serves as both ends
    for part in shares(xp.minimum(graph.out_degrees[ends[0]], graph.out_degrees[ends[1]]), PART):
        src, dst = (ids[part] for ids in ends)
        above = columns[list(step.above), part].max(axis=0) if step.above else None
        which, found = common(graph, EdgeFrontier(graph.n, src, src, dst), above)
        fits = _fits(graph, columns[:, part], which, found, step, induced)
        if fits is not None:
            which, found = which[fits], found[fits]
        more = xp.concatenate([columns[:, part][:, which], found[None]])
        yield from _extended(graph, more, steps[1:], induced)


def _fits(graph: Graph, columns: Array, which: Array, found: Array, step: Step, induced: bool) -> Array | None:
    """Whether new vertices satisfy the remaining constraints of a step; None if there are none."""
    asked = []
    for place in step.joined[2:]:
        asked.append(has_edges(graph, EdgeFrontier(graph.n, found, found, columns[place][which])))
    for place in step.others:
        other = columns[place][which]
        if place not in step.above:
            asked.append(found != other)
        if induced:
            asked.append(~has_edges(graph, EdgeFrontier(graph.n, found, found, other)))
    return reduce(and_, asked) if asked else None


def _smallest(columns: Array, pattern: Pattern) -> Array:
    """Replace each match by the smallest of its images under automorphisms."""
    xp, group = array_module(columns), pattern.automorphisms
    for vertex in range(pattern.size):
        # one automorphism per vertex that can move here while those before stay fixed
        choices = {a[vertex]: a for a in group}
        best, smallest = columns[vertex], columns
        for other, a in choices.items():
            if other != vertex:
                is_less = columns[other] < best
                best, smallest = xp.minimum(best, columns[other]), xp.where(is_less, columns[list(a)], smallest)
        columns = smallest
        group = [a for a in group if a[vertex] == vertex]
    return columns
