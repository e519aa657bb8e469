"""Edges for link prediction: pairs of vertices that are not edges, and edges split into training and test sets.

All pairs are numbered row by row, and a pair that is not an edge has a rank among those. Distinct random ranks are
drawn, and the pair of a rank is found by bisection in the sorted numbers of the edges. So no pair is ever rejected
because it is an edge, and a dense graph is no slower than a sparse one.

With a time for each pair, pairs are drawn among all, and again if they are an edge by then. Those that are left after
some rounds are drawn by rank, as above, together for all rows of a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.arrays import any_true, array_module, device_of, distinct
from gasla.graph.arguments import NO_LIMIT, check_flags, real_number, whole_number
from gasla.graph.edge_times import span_of, times_of_edges
from gasla.graph.exchange.two_sides import require_across
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.memory_limit import require_room
from gasla.graph.transform.reduction import reduce_by_key
from gasla.operations.sampling import seed_word

Array = Any  # NumPy's or CuPy's
FRACTIONS = (0.8, 0.1, 0.1)
MOST = 2**31  # vertices: numbers of pairs fit int64
ROUNDS = 128  # largest number of rounds of draws; at least half of the draws are new, so far fewer rounds suffice
ENTRY = 96  # bytes, at most, for each pair that is drawn
BLOCK = 1 << 14  # pairs that NumPy hashes at a time, which fit a cache


def negative_edges(
    graph: Any, count: int, *, undirected: bool = False, at: Any = None, time: str = "time", seed: int = 0
) -> Array:
    """Draw distinct pairs of different vertices that are not edges, uniformly at random.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j. Stored zeros are edges. Values, self loops and parallel edges make no difference.
    count : int
        Number of pairs, 0 or more.
    undirected : bool
        Whether to draw pairs i < j with neither i -> j nor j -> i an edge. Otherwise all pairs (i, j) with i and j
        different are drawn of which i -> j is not an edge. In a graph that knows its sides (`Graph.from_bipartite`)
        it makes no difference: i is on side 0, j on side 1, and neither i -> j nor j -> i is an edge.
    at : time, or (count,) array of times, optional
        Draw among the pairs that are not edges at this time or before, which may be edges later: one time for all, or
        one for each pair. With a time for each, draws are independent, and pairs may repeat. As for
        `gasla.sample_neighbors`.
    time : str, default "time"
        The edge attribute with the time of each edge.
    seed : int
        At most 64 bits. The same seed gives the same pairs on both engines.

    Returns
    -------
    (2, count) array of int64
        The first and the second vertex of each pair, in random order, without repeats; on the graph's device.

    Raises
    ------
    TypeError, ValueError
        If `count` or `seed` is not a valid number, there are fewer pairs than `count`, or the graph has more than 2**31
        vertices. If all pairs are edges at one of several times, or for times as in `gasla.sample_neighbors`.
    MemoryError
        If the result does not fit memory.

    Notes
    -----
    The numbers of the graph's edges are sorted at first use, and kept with the graph: 8 bytes per edge; with times, 16.
    All sets of `count` pairs are equally likely, up to n * n / 2**64.

    References
    ----------
    J. Leskovec, L. Backstrom: Supervised Random Walks. WSDM 2011.

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    >>> gasla.negative_edges(graph, 3)
    array([[1, 3, 0],
           [0, 2, 2]])
    >>> gasla.negative_edges(graph, 2, undirected=True)
    array([[0, 1],
           [2, 3]])

    Vertices 2 and 3 become neighbors at time 9 only:

    >>> ring = graph.with_edge_attributes(time=[1, 2, 9, 4])
    >>> gasla.negative_edges(ring, 3, undirected=True, at=8)
    array([[2, 0, 1],
           [3, 2, 3]])
    """
    graph, count, word = whole_graph(graph), whole_number("count", count, NO_LIMIT), seed_word(seed)
    check_flags(undirected=undirected)
    if graph.n > MOST:
        raise ValueError(f"the graph has {graph.n} vertices; expected at most {MOST}")
    pairs = PairsAcross(graph, graph.sides) if graph.sides is not None else Pairs(graph.n, bool(undirected))
    if at is None:
        before = graph.kept(("pairs before edges", pairs.kind), partial(_free_before, pairs=pairs))
    else:
        last = span_of(graph, time, at, None, None).last
        known = graph.kept(("first times of pairs", pairs.kind, time), partial(_first_times, pairs=pairs, time=time))
        if len(last) != 1 or np.ndim(at):
            return _each_at_its_time(pairs, known, last, count, word)
        before = known.free_before(last)
    if count > pairs.count - len(before):
        raise ValueError(
            f"count is {count}; expected {pairs.count - len(before)} at most, the number of pairs of vertices without "
            "an edge"
        )
    require_room("the result has", count, ENTRY, graph.device, "a smaller count")
    xp: Any = array_module(before)
    ranks = _distinct(xp, count, pairs.count - len(before), word)
    return pairs.of(ranks + xp.searchsorted(before, ranks, side="right"))


class Pairs:
    """Numbers for all pairs of different vertices, row by row; of i < j only, if undirected."""

    def __init__(self, n: int, undirected: bool) -> None:
        self.n, self.kind = n, undirected
        self.count = n * (n - 1) // (2 if undirected else 1)

    def row_start(self, i: Array) -> Array:
        """The number of the first pair of vertex i: with a smaller vertex if undirected, else with any other."""
        return i * (i - 1) // 2 if self.kind else i * (self.n - 1)

    def numbers(self, i: Array, j: Array) -> Array:
        """The numbers of the pairs of these vertices, without those of a vertex with itself."""
        xp: Any = array_module(i)
        if self.kind:
            i, j = xp.maximum(i, j), xp.minimum(i, j)
        return (self.row_start(i) + j - (0 if self.kind else j > i))[i != j]

    def of(self, numbers: Array) -> Array:
        """The pairs of these numbers: a row of sources and a row of targets."""
        xp: Any = array_module(numbers)
        if not self.kind:
            first = numbers // max(self.n - 1, 1)
            second = numbers - self.row_start(first)
            return xp.stack([first, second + (second >= first)])
        larger = ((1 + xp.sqrt(1 + 8.0 * numbers)) / 2).astype(np.int64)  # rounded: at most one too large or too small
        larger -= self.row_start(larger) > numbers
        larger += self.row_start(larger + 1) <= numbers
        return xp.stack([numbers - self.row_start(larger), larger])


class PairsAcross:
    """Numbers for all pairs of a vertex on side 0 and one on side 1."""

    kind = "across"

    def __init__(self, graph: Graph, sides: Array) -> None:
        xp: Any = array_module(sides)
        self.sides = sides
        self.left, self.right = (xp.flatnonzero(sides == side) for side in (0, 1))
        self.count = len(self.left) * len(self.right)

    def numbers(self, i: Array, j: Array) -> Array:
        """The numbers of the pairs of these vertices, in either order; ValueError if two are on the same side."""
        xp: Any = array_module(i)
        require_across(i, j, self.sides)
        is_left = self.sides[i] == 0
        left, right = xp.where(is_left, i, j), xp.where(is_left, j, i)
        return xp.searchsorted(self.left, left) * len(self.right) + xp.searchsorted(self.right, right)

    def of(self, numbers: Array) -> Array:
        """The pairs of these numbers: a row of vertices on side 0 and a row of vertices on side 1."""
        width = max(len(self.right), 1)
        return array_module(numbers).stack([self.left[numbers // width], self.right[numbers % width]])


def _free_before(graph: Graph, pairs: Pairs | PairsAcross) -> Array:
    """For each pair of vertices with an edge, the number of pairs before it without one."""
    numbers = distinct(pairs.numbers(*(side.astype(np.int64) for side in graph.edges())))
    return numbers - array_module(numbers).arange(len(numbers))


class _FirstTimes(NamedTuple):
    """The pairs of vertices with an edge, as ascending numbers, and the first time at which each is one."""

    numbers: Array
    times: Array

    def free_before(self, last: Array) -> Array:
        """For each pair that is an edge at a time or before, the number of pairs before it that are not."""
        numbers = self.numbers[self.times <= last]
        return numbers - array_module(numbers).arange(len(numbers))

    def have(self, numbers: Array, last: Array) -> Array:
        """Whether each of some pairs is an edge at its time or before."""
        xp: Any = array_module(numbers)
        if not len(self.numbers):
            return xp.zeros(len(numbers), bool)
        at = xp.minimum(xp.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        return (self.numbers[at] == numbers) & (self.times[at] <= last)


def _first_times(graph: Graph, pairs: Pairs | PairsAcross, time: str) -> _FirstTimes:
    i, j = (side.astype(np.int64) for side in graph.edges())
    times, is_pair = times_of_edges(graph, time), i != j
    each = pairs.numbers(i[is_pair], j[is_pair])
    numbers = distinct(each)
    at = array_module(each).searchsorted(numbers, each)
    return _FirstTimes(numbers, reduce_by_key(at, times[is_pair], semirings.min, len(numbers)))


def _each_at_its_time(
    pairs: Pairs | PairsAcross, known: _FirstTimes, last: Array, count: int, seed: np.uint64
) -> Array:
    """Independent draws of pairs that are not edges at a time each, or before."""
    if len(last) != count:
        raise ValueError(f"at has {len(last)} times; expected one time, or one for each of {count} pairs")
    xp: Any = array_module(last)
    edges = xp.searchsorted(xp.sort(known.times), last, side="right")  # pairs that are edges by then
    if any_true(is_full := edges >= pairs.count):
        raise ValueError(f"all pairs of vertices are edges at the time of pair {int(is_full.argmax())}; expected none")
    require_room("the result has", count, ENTRY, device_of(last), "a smaller count")
    found, left = xp.zeros(count, np.int64), xp.arange(count)
    for draw in range(ROUNDS):
        if not len(left):
            break
        found[left] = _shares(semirings.hash(seed, left, draw), pairs.count)
        left = left[known.have(found[left], last[left])]
    for many in distinct(edges[left]).tolist():  # equal for times between which no pair becomes an edge
        some = left[edges[left] == many]
        before = known.free_before(last[some[0]])
        ranks = _shares(semirings.hash(seed, some, ROUNDS), pairs.count - many)
        found[some] = ranks + xp.searchsorted(before, ranks, side="right")
    return pairs.of(found)


def _distinct(xp: Any, count: int, total: int, seed: np.uint64) -> Array:
    """Distinct random numbers below `total`, in random order.

    If most numbers are wanted, all are put in random order. Otherwise at least half of the draws are new.
    """
    if 2 * count >= total:
        order = xp.argsort(semirings.hash(seed, xp.arange(total)))
        return order[:count].astype(np.int64, copy=False)
    found, drawn = xp.zeros(0, np.int64), 0
    for _ in range(ROUNDS):
        if len(found) == count:
            break
        more = 2 * (count - len(found))
        words = semirings.hash(seed, xp.arange(drawn, drawn + more))
        found, drawn = _appended(found, _shares(words, total))[:count], drawn + more
    return found


def _appended(found: Array, more: Array) -> Array:
    """The distinct numbers of both arrays, in order of first appearance."""
    xp: Any = array_module(found)
    both = xp.concatenate([found, more])
    order = xp.argsort(both, kind="stable")
    first = xp.ones(len(both), bool)
    first[1:] = both[order][1:] != both[order][:-1]
    return both[xp.sort(order[first])]


def _shares(words: Array, total: int) -> Array:
    """`words * total // 2**64`, from products of 32 bits."""
    low, high, half = np.uint64(total % 2**32), np.uint64(total >> 32), np.uint64(32)
    bits = np.uint64(2**32 - 1)
    upper, lower = words >> half, words & bits
    middle = upper * low + (lower * low >> half)
    rest = lower * high + (middle & bits)
    return (upper * high + (middle >> half) + (rest >> half)).astype(np.int64)


def split_edges(
    graph: Any, fractions: Sequence[float] = FRACTIONS, *, time: str | None = None, at: Any = None, seed: int = 0
) -> list[Array]:
    """Split the edges at random or by time, for example into a training, a validation and a test set.

    At random, all edges between two vertices go into the same set: parallel edges, and in an undirected graph both
    directions. So no edge of a test set is known from the training set. By time, all edges of a set are later than
    those of the set before.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j. It is undirected if `Graph.is_symmetric`.
    fractions : sequence of float
        The fraction of each set, 0 or more; they add up to 1.
    time : str, optional
        Split by this edge attribute: numbers, dates, or times of day. Edges at one time go into the same set, the
        earliest that has room for one of them.
    at : time, or array of times, optional
        Split by time into sets that end at these times, and one of all later edges, in place of fractions: the first
        has the edges at the first time or before. Times ascend; they are given as for `gasla.sample_neighbors`. The
        attribute is `time`, by default "time".
    seed : int
        At most 64 bits. The same seed gives the same sets on both engines. By time, it makes no difference.

    Returns
    -------
    list of arrays of integers
        The numbers of the edges of each set, ascending, on the graph's device. ``graph.select(numbers)`` is the graph
        of a set, and ``graph.to_edge_index()[:, numbers]`` are its edges.

    Raises
    ------
    TypeError, ValueError
        If fractions are not numbers from 0 to 1 that add up to 1, `seed` is not a valid number, or the graph has more
        than 2**31 vertices; for times as in `gasla.sample_neighbors`, and if those of `at` descend, or fractions are
        given, too.

    Notes
    -----
    Pairs of vertices are put in the order of `semirings.hash(seed, i, j)`, and set k begins at the sum of all fractions
    before it, times the number of pairs, rounded. Pairs of the same hash, which are improbable, are in the same set.
    The order of the edges makes no difference.

    References
    ----------
    D. Liben-Nowell, J. Kleinberg: The link-prediction problem for social networks. JASIST 58 (2007).

    Examples
    --------
    >>> import gasla
    >>> path = gasla.Graph.from_edges([0, 1, 2, 3, 1, 2, 3, 4], [1, 2, 3, 4, 0, 1, 2, 3])
    >>> train, test = gasla.split_edges(path, (0.75, 0.25))
    >>> train, test
    (array([1, 2, 3, 5, 6, 7]), array([0, 4]))
    >>> path.select(train)
    Graph(n=5, m=6, values=None)
    >>> calls = path.with_edge_attributes(time=[3, 1, 2, 5, 3, 4, 9, 8])
    >>> gasla.split_edges(calls, (0.5, 0.5), time="time"), gasla.split_edges(calls, at=[2, 5])
    ([array([0, 1, 2, 4]), array([3, 5, 6, 7])], [array([1, 2]), array([0, 3, 4, 5]), array([6, 7])])
    """
    graph, word = whole_graph(graph), seed_word(seed)
    if at is not None or time is not None:
        return _split_by_time(graph, fractions, "time" if time is None else time, at)
    ends = _cumulative(fractions)
    if graph.n > MOST:
        raise ValueError(f"the graph has {graph.n} vertices; expected at most {MOST}")
    src, dst = graph.edges()
    xp: Any = array_module(src)
    words = _words_of_pairs(word, src, dst, graph.is_symmetric)
    order = distinct(words[src <= dst] if graph.is_symmetric else words)  # one of each pair of vertices
    cuts = [order[cut] if cut < len(order) else None for cut in (round(end * len(order)) for end in ends[:-1])]
    sets = []
    for first, last in pairwise([np.uint64(0), *cuts, None]):
        is_member = xp.zeros(len(words), bool) if first is None else words >= first
        sets.append(xp.flatnonzero(is_member if last is None else is_member & (words < last)))
    return [numbers.astype(np.int64, copy=False) for numbers in sets]


def _split_by_time(graph: Graph, fractions: Sequence[float], time: str, at: Any) -> list[Array]:
    """Split edges where a fraction of them, or the times `at`, end."""
    times = times_of_edges(graph, time)
    xp: Any = array_module(times)
    order = xp.sort(times)
    if at is None:
        cuts = [round(end * len(order)) for end in _cumulative(fractions)[:-1]]
    elif fractions != FRACTIONS:
        raise ValueError(f"fractions is {fractions!r} and at is {at!r}; expected one of the two")
    else:
        last = span_of(graph, time, at, None, None).last
        if any_true(falls := last[1:] < last[:-1]):
            raise ValueError(f"at falls after entry {int(falls.argmax())}; expected ascending times")
        cuts = xp.searchsorted(order, last, side="right").tolist()
    ranks = xp.searchsorted(order, times)  # the number of earlier edges
    return [
        xp.flatnonzero((ranks >= first) & (ranks < end)).astype(np.int64, copy=False)
        for first, end in pairwise([0, *cuts, len(order)])
    ]


def _words_of_pairs(seed: np.uint64, i: Array, j: Array, symmetric: bool) -> Array:
    """`semirings.hash(seed, i, j)` of all pairs, of which the smaller vertex is first if `symmetric`."""
    xp: Any = array_module(i)
    words = xp.empty(len(i), np.uint64)
    step = BLOCK if xp is np else max(len(i), 1)
    for first in range(0, len(i), step):
        some = slice(first, first + step)
        ends = (xp.minimum(i[some], j[some]), xp.maximum(i[some], j[some])) if symmetric else (i[some], j[some])
        words[some] = semirings.hash(seed, *ends)
    return words


def _cumulative(fractions: Sequence[float]) -> list[float]:
    """The sums of the first, the first two, … fractions, checked; the last is 1."""
    several = isinstance(fractions, Sequence | np.ndarray) and not isinstance(fractions, str | bytes)
    if not several or getattr(fractions, "ndim", 1) == 0 or len(fractions) == 0:
        raise TypeError(f"fractions is {fractions!r}; expected several numbers, such as (0.8, 0.1, 0.1)")
    parts = [real_number(f"fractions[{k}]", part, 0, 1) for k, part in enumerate(fractions)]
    if abs(sum(parts) - 1) > 1e-6:
        raise ValueError(f"fractions add up to {sum(parts):g}; expected 1, such as (0.8, 0.1, 0.1)")
    return [min(sum(parts[: k + 1]), 1.0) for k in range(len(parts) - 1)] + [1.0]
