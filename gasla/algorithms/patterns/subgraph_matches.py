"""Subgraph matches: where a graph holds a pattern of up to four vertices, or how often.

Returned is a row for each place: for each vertex of the pattern one of the graph, so that what the pattern joins is
joined. Of the rows that name one place in other orders, as many as the pattern has automorphisms, the smallest is
returned. `induced` asks that nothing else be joined.

The number is a sum over degrees, triangles and ways of two edges, and comes first. Then rows grow by a vertex at a
time: it must be a common neighbor of those that the pattern joins it to, and later in the order of degrees than those
that it could change places with. So hubs are met from their small neighbors, and each place is met once.

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

Array = np.ndarray[Any, Any]  # NumPy's or CuPy's

PART = 1 << 22  # neighbors that are looked at at once


def subgraph_matches(
    graph: Any, pattern: Any, *, induced: bool = False, count: bool = False, limit: int | None = None
) -> int | Array:
    """List the places where a graph holds a pattern, or count them.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `triangle_count`. Values are not looked at.
    pattern : (vertices, vertices) matrix, of SciPy, NumPy or nested lists, or a Graph
        A connected graph of 1 to 4 vertices, symmetric, without self loops. Edges are what isn't 0, of a sparse matrix
        what is stored. Directed patterns are refused.
    induced : bool, default False
        Whether vertices that the pattern doesn't join may not be joined: then each set of vertices is one place at
        most. Otherwise a path of three is there three times in a triangle.
    count : bool, default False
        Return the number alone; no list is made.
    limit : int, optional
        List no more than so many: if there are more, that is an error, before it starts. By default what memory holds.

    Returns
    -------
    (matches, vertices) array of the type of ids, or int
        Row by row, for each vertex of the pattern the vertex of the graph that is in its place, on the device of the
        graph; of several orders of one place the smallest, and rows in no particular order, the same at every call.
        With `count` the number of rows, exact.

    Raises
    ------
    TypeError, ValueError
        If the pattern is no such matrix; if there are more matches than `limit`.
    MemoryError
        If they would take more memory than there is; it says how many there are.

    See Also
    --------
    gasla.count_cliques : cliques of any size.

    Notes
    -----
    As many as `networkx.algorithms.isomorphism.GraphMatcher` finds, `subgraph_isomorphisms_iter` if `induced`, else
    `subgraph_monomorphisms_iter`, divided by the pattern's automorphisms.

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
            f"there are {number:,} matches, and limit is {most:,}; expected no more: raise it, or count=True"
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
    """The matches with all vertices that the steps add to them, in blocks; each a column."""
    if not columns.shape[1]:
        return
    if not steps:
        yield columns
        return
    step, xp = steps[0], array_module(columns)
    ends = columns[step.joined[0]], columns[step.joined[:2][-1]]  # one neighbor is both ends
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
    """Whether those found are joined to more than two as they should be, and to no others if that is asked."""
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
    """Of the orders in which each column names a place, the smallest."""
    xp, group = array_module(columns), pattern.automorphisms
    for vertex in range(pattern.size):
        # one automorphism for each vertex that can come here while those before stay
        choices = {a[vertex]: a for a in group}
        best, smallest = columns[vertex], columns
        for other, a in choices.items():
            if other != vertex:
                is_less = columns[other] < best
                best, smallest = xp.minimum(best, columns[other]), xp.where(is_less, columns[list(a)], smallest)
        columns = smallest
        group = [a for a in group if a[vertex] == vertex]
    return columns
