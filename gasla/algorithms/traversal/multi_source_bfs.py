"""Breadth-first searches from many vertices at once: how many edges away from each of them is every vertex.

Returned is a row of levels for each source, as `bfs` from it would give.

A word of 64 bits at each vertex says from which of 64 sources it has been reached, another from which in the last
iteration; neighbors gather these words by "or", so one look along an edge serves 64 searches. The level at which a bit
came is written down in binary, a word for each of its digits. That pays where many sources reach a vertex in the same
iteration, or where iterations are so short that a search mostly waits for the next: what a first search finds tells.

M. Then, M. Kaufmann, F. Chirigati, T.-A. Hoang-Vu, K. Pham, A. Kemper, T. Neumann, H. T. Vo:
The More the Merrier: Efficient Multi-Source Graph Traversal. PVLDB 8 (2014).
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.traversal.bfs import bfs
from gasla.arrays import Device, array_module, fills, module_of
from gasla.graph.arguments import most_iterations, several_vertices
from gasla.graph.graph import Graph, as_graph
from gasla.operations.prepare import prepare
from gasla.operations.result import Result
from gasla.operations.run import run
from gasla.program.fields import parameter, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram
from gasla.progress import track

WORD = 64  # sources at once
ROWS, DIGITS = 8, 4  # of levels that are written at once
SHALLOW = 32  # of so few levels, many a vertex is reached from several sources in the same one
WORTH = 16  # so many single searches take as long as 64 at once, or longer


class Limits(NamedTuple):
    """Where searches are better made together: from so many sources on, up to so many vertices where they wait.

    And where they don't, if no vertex has so many times the mean degree.
    """

    sources: int
    vertices: float
    hub: float


# Single searches are better on a GPU where the digits of all vertices are far more than its cache holds, iteration for
# iteration, and where hubs let each pull early; measured on an H100.
LIMITS: dict[Device, Limits] = {"cpu": Limits(0, np.inf, np.inf), "gpu": Limits(32, 1 << 21, 64)}


class Arrivals(VertexProgram):
    """seen(v) = from which of 64 sources v has been reached; new(v) = from which in the last iteration.

    With what comes goes what v has: once all bits are there, no other neighbor can bring any.
    """

    seen = vertex(np.uint64)
    new = vertex(np.uint64)
    reduce = semirings.bor
    sources = "active"

    def mask(self, vertex):
        return vertex.seen != 2**64 - 1

    def gather(self, src, dst, edge):
        return src.new | dst.seen

    def apply(self, vertex, gathered):
        new = gathered & ~vertex.seen
        return {"seen": vertex.seen | new, "new": new}

    def activate(self, before, after):
        return after.new != 0


class Levels(Arrivals):
    """The same, and low(v)[j] = from which sources v was reached at a level whose j-th binary digit is 1.

    Of sixteen digits the last eight are high(v): on a GPU one wide vector would never be pushed.
    """

    digits = option(4)  # of low(v)
    is_high = option(False)  # whether there are eight more
    low = vertex((np.uint64, (digits,)))
    high = vertex((np.uint64, (8,)), when=is_high)

    def apply(self, vertex, gathered):
        level, new = self.iteration + 1, gathered & ~vertex.seen
        high = {"high": _with(vertex.high, level >> 8, new)} if self.is_high else {}
        return {"seen": vertex.seen | new, "new": new, "low": _with(vertex.low, level, new), **high}


def _with(digits, level, new):
    """Digits in which those that arrive at this level have theirs."""
    is_set = (level >> np.arange(len(digits))) & 1 != 0
    return digits | semirings.where(is_set, new, semirings.cast(0, np.uint64))


class Rows(VertexProgram):
    """row_i(v) = the level of v from the i-th of eight sources, whose bits are `first` and on.

    Four digits at a time, of levels above a base, add to it; where all are 0 it stays what it was, -1 if `fresh`.
    """

    row0, row1, row2, row3, row4, row5, row6, row7 = (vertex(np.int32) for _ in range(ROWS))
    digit0, digit1, digit2, digit3 = (vertex(np.uint64) for _ in range(DIGITS))
    first = parameter(np.uint64, 0)
    up = parameter(np.int32, 0)
    base = parameter(np.int32, 0)
    fresh = parameter(np.int32, 1)
    everyone = True

    def apply(self, vertex, gathered):
        digits = vertex.digit0, vertex.digit1, vertex.digit2, vertex.digit3
        bits = [semirings.cast((digit >> self.first) & 255, np.int32) << j for j, digit in enumerate(digits)]
        rows = {}
        for i in range(ROWS):
            level = sum((bits[j] >> i) & (1 << j) for j in range(DIGITS))
            before = semirings.where(self.fresh != 0, -1, getattr(vertex, f"row{i}"))
            after = semirings.maximum(before, self.base) + (level << self.up)
            rows[f"row{i}"] = semirings.where(level != 0, after, before)
        return rows

    def activate(self, before, after):
        return True


PROGRAMS = {4: Levels(), 8: Levels(digits=8), 16: Levels(digits=8, is_high=True)}


def multi_source_bfs(graph: Any, sources: Iterable[int], *, depth_limit: int | None = None) -> np.ndarray:
    """Number of edges on a shortest path from each of some sources to every vertex.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j; values are not looked at, and stored zeros are edges.
    sources : ids
        Where to start: any number of vertices, in any order, also one several times. 64 are searched from at once.
    depth_limit : int, optional
        Go no further than this many edges.

    Returns
    -------
    (len(sources), n) int32
        Row i is what `gasla.bfs(graph, sources[i])` gives: 0 at the source, -1 where it does not reach.

    Raises
    ------
    TypeError, ValueError
        If a source is not a vertex, the matrix is not square, or `depth_limit` is negative.

    Notes
    -----
    The levels take 4 bytes a source and vertex. Searches together take 48 to 144 bytes a vertex beside them, and up to
    156 for a moment at the end. A sum over many sources, as closeness is, needs no levels.

    References
    ----------
    M. Then, M. Kaufmann, F. Chirigati, T.-A. Hoang-Vu, K. Pham, A. Kemper, T. Neumann, H. T. Vo:
    The More the Merrier: Efficient Multi-Source Graph Traversal. PVLDB 8 (2014).

    Examples
    --------
    >>> import gasla, numpy as np
    >>> from scipy.sparse import csr_array
    >>> A = csr_array(np.array([[0, 1, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0]]))
    >>> gasla.multi_source_bfs(A, [0, 3])
    array([[ 0,  1,  1, -1],
           [ 1,  2,  2,  0]], dtype=int32)
    """
    graph = as_graph(graph)
    chosen = several_vertices(graph, "sources", sources)
    limit = None if depth_limit is None else most_iterations("depth_limit", depth_limit)
    levels = module_of(graph.device).empty((len(chosen), graph.n), np.int32)
    if not chosen:
        return levels
    seen = look(graph, chosen, limit)
    if seen.is_shared and spares_time(graph, chosen, seen):
        digits = next((k for k in PROGRAMS if 2 * seen.depth < 1 << k), max(PROGRAMS))
        for first in track(range(0, len(chosen), WORD), "batches of sources"):
            _search(graph, chosen[first : first + WORD], levels[first : first + WORD], digits, limit)
    else:
        for row, source in track(list(enumerate(chosen)), "sources"):
            levels[row] = seen.level if row == seen.which else bfs(graph, source, depth_limit=limit)
    return levels


class Seen(NamedTuple):
    """A search from one of several sources, and what it tells of searches from all."""

    which: int  # of the sources
    level: Any
    depth: int
    waits: bool  # a search mostly waits for its next iteration
    is_shared: bool  # all are better made together


def look(graph: Graph, sources: list[int], depth_limit: int | None = None) -> Seen:
    """Search from one of the sources."""
    which = int(graph.out_degrees[module_of(graph.device).asarray(sources)].argmax())
    level = bfs(graph, sources[which], depth_limit=depth_limit)
    depth, reached = int(level.max()), int((level >= 0).sum())
    waits = len(sources) > 1 and not fills(graph.device, reached / (depth + 1))
    return Seen(which, level, depth, waits, waits or (len(sources) >= WORTH and depth <= SHALLOW))


def spares_time(graph: Graph, sources: list[int], seen: Seen) -> bool:
    """Whether levels of searches made together are there sooner than by one search after another."""
    limits = LIMITS[graph.device]
    is_skewed = graph.max_out_degree > limits.hub * (graph.m // graph.n + 1)
    return len(sources) >= limits.sources and (graph.n <= limits.vertices if seen.waits else not is_skewed)


def beginning(graph: Graph, sources: list[int]) -> dict[str, Any]:
    """How searches from up to 64 sources begin: bit i is the i-th one's, and bits without a source are in no search."""
    words: dict[int, int] = {}
    for i, source in enumerate(sources):
        words[source] = words.get(source, 0) | 1 << i
    xp: Any = module_of(graph.device)
    new = xp.zeros(graph.n, np.uint64)
    new[xp.asarray(list(words))] = xp.asarray(np.array(list(words.values()), np.uint64))
    return {"active": list(words), "seen": new | np.uint64((1 << WORD) - (1 << len(sources))), "new": new}


def _search(graph: Graph, sources: list[int], levels: Any, digits: int, limit: int | None) -> None:
    """Write the levels of up to 64 sources; as many at once as the digits can count, and on from there."""
    xp: Any = module_of(graph.device)
    going = beginning(graph, sources)
    most, base = (1 << digits) - 1, 0
    while going:
        left = most if limit is None else min(most, limit - base)
        found = run(PROGRAMS[digits], graph, max_iterations=left, **going)
        _unpack(graph, found, levels, base)
        base += left
        is_over = found.converged or base == limit
        going = {} if is_over else {"active": found.active, "seen": found.seen, "new": found.new}
    levels[xp.arange(len(sources)), xp.asarray(sources)] = 0


def _unpack(graph: Graph, found: Result, levels: Any, base: int) -> None:
    """Write the levels whose binary digits have just been found: the first ones, or those above `base`."""
    xp: Any = array_module(levels)
    state = found.state
    digits = [word for name in ("low", "high") if name in state for word in xp.ascontiguousarray(state[name].T)]
    unpack = prepare(Rows, graph)
    for up in range(0, max(found.iterations.bit_length(), 1), DIGITS):
        some = {f"digit{j}": word for j, word in enumerate(digits[up : up + DIGITS])}
        how: dict[str, Any] = {"up": up, "base": base, "fresh": base == up == 0}
        for first in range(0, len(levels), ROWS):
            rows = {f"row{i}": row for i, row in enumerate(levels[first : first + ROWS])}
            unpack(first=first, **how, out=some | rows, max_iterations=1, wait=False)
