"""Subgraph matching: where a graph contains a pattern of up to four vertices, or how often.

The number of matches is computed first, from degrees, triangles and paths of two edges where that is enough. Then rows
are extended by one vertex at a time: a common neighbor of the matched neighbors in the pattern, later in the order of
degrees than the vertices it could be exchanged with. So hubs are reached from their small neighbors, and each match is
found once. A vertex between an in-neighbor and an out-neighbor comes from the shorter of the two lists.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_
from typing import Any

import numpy as np

from gasla.algorithms.patterns import directed_counts, match_counts
from gasla.algorithms.patterns.pattern import Pattern, Step
from gasla.arrays import array_module, shares
from gasla.graph.arguments import check_flags, whole_number
from gasla.graph.graph import Graph, as_graph
from gasla.operations.memory_limit import available, require_memory
from gasla.operations.primitives import common, has_edges, simplify
from gasla.program.frontier import EdgeFrontier

Array = np.ndarray[Any, Any]  # of NumPy or CuPy
Both = tuple[Graph, Graph]  # a graph and its reverse, or an undirected graph twice

PART = 1 << 22  # neighbors per block


def subgraph_matches(
    graph: Any,
    pattern: Any,
    *,
    directed: bool = False,
    induced: bool = False,
    count: bool = False,
    limit: int | None = None,
) -> int | Array:
    """List the matches of a pattern in a graph, or count them.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `triangle_count`; as simple and directed if the pattern is directed.
        Values are ignored; stored zeros are edges.
    pattern : str, (vertices, vertices) matrix of SciPy, NumPy or nested lists, or Graph
        A connected graph of 1 to 4 vertices without self loops. As text, a name or edges: "edge", "path3", "path4",
        "triangle", "cycle4", "star3" (three leaves), "paw" (a triangle and an edge), "diamond", "clique4"; "0-1,1-2",
        or directed "0>1,1>2". The edges of a matrix are the nonzeros of a dense one, or the stored entries of a sparse
        one; it is symmetric unless `directed`.
    directed : bool, default False
        Whether a pattern given by a matrix or a name has directed edges: a "path" or "cycle" follows its edges, and a
        "star" has edges from its center. Text with ``>`` is always directed.
    induced : bool, default False
        Whether edges that are not in the pattern must not be in the graph. Otherwise a triangle contains a path of
        three vertices three times.
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
    else `subgraph_monomorphisms_iter`) divided by the number of the pattern's automorphisms; of `DiGraphMatcher` if the
    pattern is directed.

    Counting takes no longer than counting triangles and paths of two edges between two vertices. Directed patterns of
    four vertices are enumerated, except paths, stars and other trees that are not `induced`.

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
    >>> gasla.subgraph_matches(graph, "path3", count=True)
    5
    >>> gasla.subgraph_matches(graph, "0>1,1>2,2>0")
    array([[0, 1, 2]], dtype=int32)
    """
    check_flags(directed=directed, induced=induced, count=count)
    graph, wanted = as_graph(graph), Pattern.of(pattern, directed)
    most = None if limit is None else whole_number("limit", limit)
    simple = graph.simple() if wanted.directed else simplify(graph)
    number = _number(simple, wanted, induced)
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


def _number(simple: Graph, pattern: Pattern, induced: bool) -> int:
    """The number of matches: by formulas if there are some, else by enumeration."""
    if not pattern.directed:
        return match_counts.matches(simple, pattern, induced)
    number = directed_counts.matches(simple, pattern, induced)
    return sum(block.shape[1] for block, _ in _blocks(simple, pattern, induced)) if number is None else number


def _listed(simple: Graph, pattern: Pattern, induced: bool, number: int) -> Array:
    xp, filled = array_module(simple.out.indices), 0
    rows = xp.empty((number, pattern.size), simple.id_dtype)
    if not number:
        return rows
    places = np.argsort(pattern.order).tolist()
    for block, vertices in _blocks(simple, pattern, induced):
        last = filled + block.shape[1]
        rows[filled:last] = _smallest(vertices[block[places]], pattern).T
        filled = last
    assert filled == number, f"{filled} matches were found, and {number} counted"
    return rows


def _blocks(simple: Graph, pattern: Pattern, induced: bool) -> Iterator[tuple[Array, Array]]:
    """Yield blocks of all matches by positions in the order of degrees, in the order of matching; and the ids."""
    graph, vertices = match_counts.by_degree(simple)
    both = graph, graph.reversed() if pattern.directed else graph
    first = array_module(vertices).arange(simple.n, dtype=simple.id_dtype)[None]
    for block in _extended(both, first, pattern.steps(), induced):
        yield block, vertices


def _extended(both: Both, columns: Array, steps: Sequence[Step], induced: bool) -> Iterator[Array]:
    """Yield blocks of matches, extended by all remaining steps; each column is a match."""
    if not columns.shape[1]:
        return
    if not steps:
        yield columns
        return
    step, xp = steps[0], array_module(columns)
    for graph, chosen, (a, b) in _lists(both, columns, step):
        src, dst = chosen[a], chosen[b]
        for part in shares(xp.minimum(graph.out_degrees[src], graph.out_degrees[dst]), PART):
            few = chosen[:, part]
            above = few[list(step.above)].max(axis=0) if step.above else None
            which, found = common(graph, EdgeFrontier(graph.n, src[part], src[part], dst[part]), above)
            fits = _fits(both, few, which, found, _remaining(step, graph is both[0], {a, b}), induced)
            if fits is not None:
                which, found = which[fits], found[fits]
            yield from _extended(both, xp.concatenate([few[:, which], found[None]]), steps[1:], induced)


def _lists(both: Both, columns: Array, step: Step) -> Iterator[tuple[Graph, Array, tuple[int, int]]]:
    """The lists with the candidates for the next vertex: a graph, matches, and the positions of two list owners.

    A single neighbor serves as both owners. Candidates between two neighbors come from the shorter list of each match.
    """
    forward, backward = both
    if len(step.after) > 1 or not step.before:
        yield forward, columns, (step.after[0], step.after[:2][-1])
    elif len(step.before) > 1 or not step.after:
        yield backward, columns, (step.before[0], step.before[:2][-1])
    else:
        (a,), (b,) = step.after, step.before
        is_shorter = forward.out_degrees[columns[a]] <= backward.out_degrees[columns[b]]
        yield forward, columns[:, is_shorter], (a, a)
        yield backward, columns[:, ~is_shorter], (b, b)


def _remaining(step: Step, is_forward: bool, owners: set[int]) -> Step:
    """The constraints of a step that candidates from the lists of these owners need not satisfy yet."""
    if is_forward:
        return step._replace(after=tuple(i for i in step.after if i not in owners))
    return step._replace(before=tuple(i for i in step.before if i not in owners))


def _fits(both: Both, columns: Array, which: Array, found: Array, step: Step, induced: bool) -> Array | None:
    """Whether new vertices satisfy the remaining constraints of a step; None if there are none."""

    def has(graph: Graph, place: int) -> Array:
        return has_edges(graph, EdgeFrontier(graph.n, found, columns[place][which], found))

    forward, backward = both
    asked = [has(forward, place) for place in step.after] + [has(backward, place) for place in step.before]
    asked += [found != columns[place][which] for place in step.others if place not in step.above]
    if induced:
        asked += [~has(forward, place) for place in step.not_after]
        asked += [~has(backward, place) for place in step.not_before]
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
