"""Edges for link prediction: pairs of vertices that are not edges, and edges split into training and test sets.

All pairs of vertices are numbered row by row. A pair that is not an edge also has a rank: the number of such pairs
before it. Distinct random ranks are drawn, and the pair of a rank is found by bisection in the sorted numbers of the
edges. So no draw is rejected because its pair is an edge, and a dense graph is no slower than a sparse one.

If each pair has a time of its own, pairs are drawn among all pairs of vertices, and drawn again if they are an edge by
then. The pairs that are still missing after some rounds are drawn by rank, as above, together for all that have the
same edges so far.

By degree, pairs are numbered target by target, so the pairs of one target that are not edges have successive ranks. A
target is drawn in proportion to its degree times the number of these pairs, and then one of their ranks. With times,
the target is that of a random edge among the edges so far, which are sorted by time, and the source is any vertex.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args, overload

import numpy as np

import semirings
from gasla.arrays import any_true, array_module, device_of, distinct, running_sums
from gasla.graph.arguments import NO_LIMIT, check_choice, check_flags, real_number, whole_number
from gasla.graph.edge_times import span_of, times_of_edges
from gasla.graph.exchange.two_sides import require_across
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.memory_limit import require_room
from gasla.graph.transform.reduction import reduce_by_key
from gasla.graph.typed_graph import Relation, TypedGraph
from gasla.operations.sampling import relation_seed, seed_word
from gasla.rows import Row

Array = Any  # an array of NumPy or CuPy
By = Literal["uniform", "degree"]
FRACTIONS = (0.8, 0.1, 0.1)
MOST = 2**31  # largest number of vertices of a graph, so that the number of each pair of vertices fits int64
# Largest number of times that pairs that can't be used are drawn again. When distinct pairs are drawn, at least half of
# the draws can be used, so far fewer times suffice.
ROUNDS = 128
ENTRY = 96  # upper bound of the bytes of memory for each pair that is drawn, for checks before memory is allocated
BLOCK = 1 << 14  # number of pairs whose hashes NumPy computes at a time, so that the arrays fit a cache


@overload
def negative_edges(
    graph: TypedGraph,
    count: Mapping[Relation, int],
    *,
    undirected: bool = False,
    by: By = "uniform",
    at: Any = None,
    time: str = "time",
    seed: int = 0,
) -> dict[Relation, Array]: ...
@overload
def negative_edges(
    graph: Any,
    count: int,
    *,
    undirected: bool = False,
    by: By = "uniform",
    at: Any = None,
    time: str = "time",
    seed: int = 0,
) -> Array: ...
def negative_edges(
    graph: Any,
    count: Any,
    *,
    undirected: bool = False,
    by: By = "uniform",
    at: Any = None,
    time: str = "time",
    seed: int = 0,
) -> Array | dict[Relation, Array]:
    """Draw random pairs of different vertices that are not edges, all equally likely or by degree.

    Parameters
    ----------
    graph : Graph, SciPy or CuPy sparse array, or TypedGraph
        `A[i, j]` is the edge i -> j. Stored zeros are edges. Values make no difference, and self loops and parallel
        edges only to degrees.
    count : int, or of a typed graph a mapping from relation to int
        Number of pairs, 0 or more.
    undirected : bool
        Whether to draw pairs i < j with neither i -> j nor j -> i an edge. Otherwise all pairs (i, j) with i and j
        different are drawn of which i -> j is not an edge. In a graph that knows its sides (`Graph.from_bipartite`)
        it makes no difference: i is on side 0, j on side 1, and neither i -> j nor j -> i is an edge.
    by : "uniform" or "degree"
        Whether all these pairs are equally likely, and distinct; or a pair (i, j) in proportion to the in-degree of j,
        so that popular vertices are as frequent among wrong targets as among right ones. Pairs i < j are drawn by the
        sum of both degrees, and those across two sides by that of j, where edges count in both directions. Draws by
        degree are independent, and pairs may repeat.
    at : time, or (count,) array of times, or of a typed graph a mapping from relation to these, optional
        Draw among the pairs that are not edges at this time or before, which may be edges later: one time for all, or
        one for each pair. Degrees are those by this time. With a time for each, draws are independent, and pairs may
        repeat. As for `gasla.sample_neighbors`.
    time : str, default "time"
        The edge attribute with the time of each edge.
    seed : int
        At most 64 bits. The same seed gives the same pairs on both engines.

    Returns
    -------
    (2, count) array of int64
        The first and the second vertex of each pair, in random order; on the graph's device. Of a typed graph, a dict
        of these for the relations of `count`: a source and a target, each numbered within its type.

    Raises
    ------
    TypeError, ValueError
        If `count` or `seed` is not a valid number, there are fewer pairs than `count`, or the graph has more than 2**31
        vertices, or by degree a product of edges and vertices of 2**61. If all pairs are edges at one of several times,
        or by degree all whose target has one; or for times as in `gasla.sample_neighbors`.
    KeyError
        If a typed graph has no such relation.
    MemoryError
        If the result does not fit memory.

    Notes
    -----
    The numbers of the graph's edges are sorted at first use, and kept with the graph: 8 bytes per edge; with times, 24.
    By degree these are 8 and 24 per vertex, or with times 32, and twice as many per edge where edges count in both
    directions. All sets of `count` pairs are equally likely, up to n * n / 2**64.

    Relation r > 0 of a typed graph has the seed `semirings.hash(seed, r)`.

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

    By degree, vertex 2 with two in-edges is drawn twice as often with each free source as vertex 3 with one:

    >>> star = gasla.Graph.from_edges([0, 1, 4], [2, 2, 3])
    >>> gasla.negative_edges(star, 4, by="degree")
    array([[4, 2, 3, 1],
           [2, 3, 2, 3]])

    For a relation of a typed graph, users and items that they did not buy:

    >>> buys = ("user", "buys", "item")
    >>> shop = gasla.TypedGraph({buys: [[0, 1], [0, 1]]})
    >>> gasla.negative_edges(shop, {buys: 2})[buys]
    array([[0, 1],
           [1, 0]])
    """
    seed_bits = seed_word(seed)
    check_flags(undirected=undirected)
    check_choice("by", by, get_args(By))
    if isinstance(graph, TypedGraph):
        return _negatives_of_relations(graph, count, at, seed_bits, {"undirected": undirected, "by": by, "time": time})
    graph, count = whole_graph(graph), whole_number("count", count, NO_LIMIT)
    negatives = Negatives(graph, bool(undirected), by, None if at is None else time)
    if at is None:
        return negatives.draw(count, seed_bits)
    edge_limits = span_of(graph, time, at, None, None).last
    if len(edge_limits) == 1 and np.ndim(at) == 0:
        return negatives.draw(count, seed_bits, edge_limits)
    if len(edge_limits) != count:
        raise ValueError(f"at has {len(edge_limits)} times; expected one time, or one for each of {count} pairs")
    return negatives.draw_each(edge_limits, seed_bits)


def _negatives_of_relations(
    graph: TypedGraph, counts: Any, times_by_relation: Any, seed_bits: np.uint64, options: Mapping[str, Any]
) -> dict[Relation, Array]:
    """Return random pairs of vertices that are not edges, for each relation of a typed graph.

    `counts` maps a relation to the number of pairs to draw. The vertices of a pair are numbered within their types.
    """
    if not isinstance(counts, Mapping):
        raise TypeError(
            f"count is {counts!r}; expected a mapping from relations to numbers, such as "
            f"{{{next(iter(graph.relations))!r}: 5}}"
        )
    for name in (*counts, *(times_by_relation if isinstance(times_by_relation, Mapping) else ())):
        graph[name]
    by_relation = dict[Relation, Array]()
    for i, (name, relation_graph) in enumerate(graph.relations.items()):
        if name not in counts:
            continue
        if isinstance(times_by_relation, Mapping) and name not in times_by_relation:
            raise ValueError(f"at has no times for {name}; expected some for each relation of count")
        times = times_by_relation[name] if isinstance(times_by_relation, Mapping) else times_by_relation
        pairs = negative_edges(relation_graph, counts[name], at=times, seed=relation_seed(seed_bits, i), **options)
        by_relation[name] = pairs - array_module(pairs).asarray(graph.starts(name))[:, None]
    return by_relation


class Negatives:
    """A source of random pairs of vertices that are not edges of a graph, or were not edges at a time.

    Pairs of vertices are numbered. The sorted numbers of the pairs that are edges are computed once and stored with the
    graph.
    """

    def __init__(self, graph: Graph, undirected: bool, by: By, time: str | None) -> None:
        if graph.n > MOST:
            raise ValueError(f"the graph has {graph.n} vertices; expected at most {MOST}")
        self.graph, self.time, self.is_by_degree = graph, time, by == "degree"
        self.pairs: Numbering = PairsAcross(graph.sides) if graph.sides is not None else Pairs(graph.n, undirected)
        if self.is_by_degree:
            self.pairs = PairsByTarget(graph, undirected)

    def draw(self, count: int, word: np.uint64, last: Array | None = None) -> Array:
        """Return `count` random pairs of vertices that are not edges, as an array of two rows: sources and targets.

        With a time `last`, the pairs are not edges at this time or before, but may be edges later. The pairs are
        distinct, except that pairs drawn by degree are independent, and may repeat. `word` is the seed.
        """
        if self.time is None:
            free_pairs = self.graph.kept(
                ("pairs before edges", self.pairs.kind), partial(_free_pairs_of_graph, pairs=self.pairs)
            )
        else:
            free_pairs = self._known_edges().free(self.pairs, last)
        if count > (free_pairs.total if free_pairs.targets is None else NO_LIMIT if free_pairs.total else 0):
            raise ValueError(
                f"count is {count}; expected {free_pairs.total} at most, the number of pairs of vertices without an "
                "edge" + (" whose target has one" if self.is_by_degree else "")
            )
        require_room("the result has", count, ENTRY, self.graph.device, "a smaller count")
        xp: Any = array_module(free_pairs.before)
        if free_pairs.targets is None:
            return self.pairs.of(free_pairs.numbers(_draw_distinct(xp, count, free_pairs.total, word)))
        return self.pairs.of(free_pairs.draw_numbers(semirings.hash(word, xp.arange(count))))

    def draw_each(self, last: Array, word: np.uint64) -> Array:
        """Return a random pair of vertices for each time in the array `last`: a pair that is not an edge by that time.

        The result has a row of sources and a row of targets. The pairs are independent, and may repeat. `word` is the
        seed.
        """
        known_edges, count, xp = self._known_edges(), len(last), array_module(last)
        # The number of edges up to each time. Times with equal numbers have the same edges, and are handled together
        # below.
        so_far = xp.searchsorted(known_edges.order, last, side="right")
        if any_true(
            is_full := (so_far == 0) | (not self.pairs.count) if self.is_by_degree else so_far >= self.pairs.count
        ):
            raise self._no_pairs_error(int(is_full.argmax()))
        require_room("the result has", count, ENTRY, device_of(last), "a smaller count")
        numbers, undrawn = xp.zeros(count, np.int64), xp.arange(count)
        for draw in range(ROUNDS):
            if not len(undrawn):
                break
            numbers[undrawn] = known_edges.any_pairs(self.pairs, semirings.hash(word, undrawn, draw), so_far[undrawn])
            undrawn = undrawn[known_edges.have(numbers[undrawn], last[undrawn])]
        for edge_count in distinct(so_far[undrawn]).tolist():
            group = undrawn[so_far[undrawn] == edge_count]
            unused_pairs = known_edges.free(self.pairs, last[group[:1]])
            if not unused_pairs.total:
                raise self._no_pairs_error(int(group[0]))
            numbers[group] = unused_pairs.draw_numbers(semirings.hash(word, group, ROUNDS))
        return self.pairs.of(numbers)

    def _known_edges(self) -> _KnownEdges:
        key = "first times of pairs", self.pairs.kind, self.time
        known_edges: _KnownEdges = self.graph.kept(
            key, partial(_find_known_edges, pairs=self.pairs, time=str(self.time))
        )
        return known_edges

    def _no_pairs_error(self, row: int) -> ValueError:
        subject = "all pairs of vertices whose target has an edge" if self.is_by_degree else "all pairs of vertices"
        return ValueError(f"{subject} are edges at the time of pair {row}; expected none")


class Pairs:
    """A numbering of all pairs of different vertices: the pairs of source 0 first, then those of source 1, ….

    The pairs of one source are a row of the numbering. If undirected, only pairs with i < j have a number, and a pair
    is in the row of its larger vertex j.
    """

    def __init__(self, n: int, undirected: bool) -> None:
        self.n, self.kind = n, undirected
        self.count = n * (n - 1) // (2 if undirected else 1)
        # The number of rows, and of pairs in each row, if pairs are directed. In an undirected numbering they are not
        # used.
        self.rows, self.width = n, max(n - 1, 0)

    def row_of(self, vertices: Array) -> Array:
        """Return, for each vertex, the row of the numbering that has its pairs. Row v has those of vertex v.

        In another numbering, such as `PairsAcross`, rows and vertices may differ.
        """
        return vertices

    def row_start(self, i: Array) -> Array:
        """Return, for each vertex in `i`, the number of the first pair in its row of the numbering of all pairs.

        A vertex's row has its pairs with all other vertices, or if undirected, with all smaller vertices.
        """
        return i * (i - 1) // 2 if self.kind else i * (self.n - 1)

    def numbers(self, i: Array, j: Array) -> Array:
        """Return the number of the pair of vertices i[k] and j[k] for each k.

        Pairs of a vertex with itself are left out.
        """
        xp: Any = array_module(i)
        if self.kind:
            i, j = xp.maximum(i, j), xp.minimum(i, j)
        return (self.row_start(i) + j - (0 if self.kind else j > i))[i != j]

    def of(self, numbers: Array) -> Array:
        """Return the pairs of vertices that have the given numbers, as an array of two rows: sources and targets."""
        xp: Any = array_module(numbers)
        if not self.kind:
            first_vertex = numbers // max(self.n - 1, 1)
            second = numbers - self.row_start(first_vertex)
            return xp.stack([first_vertex, second + (second >= first_vertex)])
        # The square root is rounded, so the vertex that it gives may be too large or too small by one, which the next
        # two lines correct.
        larger = ((1 + xp.sqrt(1 + 8.0 * numbers)) / 2).astype(np.int64)
        larger -= self.row_start(larger) > numbers
        larger += self.row_start(larger + 1) <= numbers
        return xp.stack([numbers - self.row_start(larger), larger])


class PairsAcross:
    """A numbering of all pairs of a vertex on side 0 and a vertex on side 1 of a bipartite graph.

    The pairs of the first vertex on side 0 come first (row 0 of the numbering), then those of the second (row 1), and
    so on.
    """

    kind = "across"

    def __init__(self, sides: Array) -> None:
        xp: Any = array_module(sides)
        self.sides = sides
        self.left, self.right = (xp.flatnonzero(sides == side_number) for side_number in (0, 1))
        self.rows, self.width = len(self.left), len(self.right)
        self.count = self.rows * self.width

    def row_of(self, vertices: Array) -> Array:
        """Return, for each vertex on side 0, the row of the numbering that has its pairs.

        This is the vertex's position among the vertices on side 0.
        """
        return array_module(vertices).searchsorted(self.left, vertices)

    def numbers(self, i: Array, j: Array) -> Array:
        """Return the number of the pair of vertices i[k] and j[k] for each k, whichever of the two is on side 0.

        Raise ValueError if the two vertices of a pair are on the same side.
        """
        xp: Any = array_module(i)
        require_across(i, j, self.sides)
        is_left = self.sides[i] == 0
        left_vertices, right_vertices = xp.where(is_left, i, j), xp.where(is_left, j, i)
        return self.row_of(left_vertices) * self.width + xp.searchsorted(self.right, right_vertices)

    def of(self, numbers: Array) -> Array:
        """Return the pairs of vertices that have the given numbers, as an array of two rows: side 0 and side 1."""
        width = max(self.width, 1)
        return array_module(numbers).stack([self.left[numbers // width], self.right[numbers % width]])


class PairsByTarget:
    """A numbering of all pairs of vertices in the order of their targets, for random draws by the degree of the target.

    The pairs with the same target are a row of the numbering. If undirected, each edge counts in both directions. In a
    bipartite graph it counts in the direction to side 1.
    """

    def __init__(self, graph: Graph, undirected: bool) -> None:
        self.sides = graph.sides
        self.is_sorted = undirected and self.sides is None
        self.is_both_ways = undirected or self.sides is not None
        self.by_row = Pairs(graph.n, False) if self.sides is None else PairsAcross(1 - self.sides)
        self.kind = "by target", self.by_row.kind, self.is_both_ways
        self.rows, self.width, self.count = self.by_row.rows, self.by_row.width, self.by_row.count
        if graph.m * 2 * max(self.width, 1) >= 2**62:
            raise ValueError(
                f"by degree, {graph.m} edges and {graph.n} vertices are too many; expected a product below 2**61"
            )

    def ends(self, i: Array, j: Array) -> tuple[Array, Array]:
        """Return the sources and targets of edges, followed by the reverse edges if edges count in both directions."""
        xp: Any = array_module(i)
        return (xp.concatenate([i, j]), xp.concatenate([j, i])) if self.is_both_ways else (i, j)

    def targets(self, j: Array) -> tuple[Array, Array]:
        """Return the row of the numbering for each edge's target (the row has all pairs with that target).

        `j` has the targets of all edges. In a bipartite graph, edges to side 0 are left out, so a second array has the
        positions in `j` of the edges that remain.
        """
        xp: Any = array_module(j)
        target_positions = xp.arange(len(j)) if self.sides is None else xp.flatnonzero(self.sides[j] == 1)
        return self.by_row.row_of(j[target_positions]), target_positions

    def numbers(self, i: Array, j: Array) -> Array:
        """Return the number of the pair of source i[k] and target j[k] for each k.

        Pairs of a vertex with itself are left out.
        """
        return self.by_row.numbers(j, i)

    def of(self, numbers: Array) -> Array:
        """Return the pairs of vertices that have the given numbers, as an array of two rows: sources and targets.

        If undirected, the smaller vertex of each pair is in the first row.
        """
        pairs = self.by_row.of(numbers)[::-1]
        xp: Any = array_module(pairs)
        return xp.sort(pairs, axis=0) if self.is_sorted else xp.ascontiguousarray(pairs)


Numbering = Pairs | PairsAcross | PairsByTarget


class _TargetWeights(NamedTuple):
    """What draws by degree need to know of each target, to draw pairs of vertices that are not edges (free pairs).

    These are its in-degree, the rank of its first free pair among all free pairs, and running sums of the weights of
    targets. The weight of a target is its degree times the number of its free pairs.
    """

    degrees: Array
    first_free: Array
    sums: Array


class _FreePairs(NamedTuple):
    """The free pairs of a graph: pairs of vertices that are not edges.

    `total` is how many free pairs can be drawn. `before` has, for each pair that is an edge, the number of free pairs
    with smaller numbers in the numbering of all pairs. `targets` is for draws by degree, and otherwise None.
    """

    before: Array
    total: int
    targets: _TargetWeights | None

    def numbers(self, ranks: Array) -> Array:
        """Return the numbers of some free pairs (pairs that are not edges) in the numbering of all pairs.

        `ranks` gives these free pairs by their positions among all free pairs.
        """
        return ranks + array_module(ranks).searchsorted(self.before, ranks, side="right")

    def draw_numbers(self, words: Array) -> Array:
        """Return the numbers of random free pairs (pairs that are not edges), one for each random 64-bit word."""
        if self.targets is None or not len(words):
            return self.numbers(_random_below(words, self.total))
        degrees, first_free, sums = self.targets
        draws = _random_below(words, int(sums[-1]))
        target_rows = array_module(words).searchsorted(sums, draws, side="right") - 1
        return self.numbers(first_free[target_rows] + (draws - sums[target_rows]) // degrees[target_rows])


def _find_free_pairs(pairs: Numbering, numbers: Array, rows: Array | None) -> _FreePairs:
    """Return the free pairs of a graph (pairs of vertices that are not edges), in a form from which they can be drawn.

    `pairs` is a numbering of all pairs, and `numbers` has the ascending numbers of the pairs that are edges. For draws
    by degree, `rows` has, for each edge, the row of the numbering with the pairs of its target. Otherwise it is None.
    """
    xp: Any = array_module(numbers)
    free_before = numbers - xp.arange(len(numbers))
    if rows is None:
        return _FreePairs(free_before, pairs.count - len(numbers), None)
    starts = xp.arange(pairs.rows + 1) * pairs.width
    first_free = starts - xp.searchsorted(numbers, starts)
    degrees = reduce_by_key(rows, xp.ones(len(rows), np.int64), semirings.plus, pairs.rows)
    free_counts = first_free[1:] - first_free[:-1]
    targets = _TargetWeights(degrees, first_free, running_sums(degrees * free_counts))
    return _FreePairs(free_before, int(free_counts[degrees > 0].sum()), targets)


def _ends_of_edges(graph: Graph, pairs: Numbering) -> tuple[Array, Array]:
    i, j = (endpoint.astype(np.int64) for endpoint in graph.edges())
    return pairs.ends(i, j) if isinstance(pairs, PairsByTarget) else (i, j)


def _free_pairs_of_graph(graph: Graph, pairs: Numbering) -> _FreePairs:
    i, j = _ends_of_edges(graph, pairs)
    rows = pairs.targets(j)[0] if isinstance(pairs, PairsByTarget) else None
    return _find_free_pairs(pairs, distinct(pairs.numbers(i, j)), rows)


class _KnownEdges(NamedTuple):
    """The pairs of vertices that are edges of a graph with times, as ascending `numbers` in a numbering of all pairs.

    `times` has the first time at which each pair is an edge, and `order` has the same times, ascending. For draws by
    degree, `order` instead has the times of all edges, ascending, and `rows` has, for each edge in this order, the row
    of the numbering with the pairs of its target.
    """

    numbers: Array
    times: Array
    order: Array
    rows: Array | None

    def free(self, pairs: Numbering, last: Array) -> _FreePairs:
        """Return the pairs of vertices that are not edges at a time or before. `last` is an array with this one time.

        `pairs` is the numbering of all pairs.
        """
        rows = self.rows
        if rows is not None:
            rows = rows[: int(array_module(rows).searchsorted(self.order, last, side="right")[0])]
        return _find_free_pairs(pairs, self.numbers[self.times <= last], rows)

    def have(self, numbers: Array, last: Array) -> Array:
        """Return, for each of some pairs of vertices, whether it is an edge at the pair's time or before.

        `numbers` has the pairs, as numbers in the numbering of all pairs, and `last` has the time for each of them.
        """
        xp: Any = array_module(numbers)
        if not len(self.numbers):
            return xp.zeros(len(numbers), bool)
        positions = xp.minimum(xp.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        return (self.numbers[positions] == numbers) & (self.times[positions] <= last)

    def any_pairs(self, pairs: Numbering, words: Array, so_far: Array) -> Array:
        """Return the number of a random pair of vertices, which may be an edge, for each random 64-bit word in `words`.

        `pairs` is the numbering of all pairs. If pairs are drawn by degree, the target is that of a random edge among
        the earliest ones: for each pair to draw, `so_far` is how many edges are chosen from, in the order of time.
        """
        if self.rows is None:
            return _random_below(words, pairs.count)
        draws = _random_below(words, so_far * pairs.width)
        return self.rows[draws // pairs.width] * pairs.width + draws % pairs.width


def _find_known_edges(graph: Graph, pairs: Numbering, time: str) -> _KnownEdges:
    (i, j), times = _ends_of_edges(graph, pairs), times_of_edges(graph, time)
    xp: Any = array_module(times)
    times = times if len(i) == len(times) else xp.concatenate([times, times])
    is_pair = i != j
    pair_numbers = pairs.numbers(i[is_pair], j[is_pair])
    numbers = distinct(pair_numbers)
    first_times = reduce_by_key(xp.searchsorted(numbers, pair_numbers), times[is_pair], semirings.min, len(numbers))
    if not isinstance(pairs, PairsByTarget):
        return _KnownEdges(numbers, first_times, xp.sort(first_times), None)
    rows, target_positions = pairs.targets(j)
    # A stable sort keeps edges with equal times in the order of the input, so that draws are the same on each machine.
    order = xp.argsort(times[target_positions], kind="stable")
    return _KnownEdges(numbers, first_times, times[target_positions][order], rows[order])


def _draw_distinct(xp: Any, count: int, population: int, seed: np.uint64) -> Array:
    """Return `count` distinct random integers from 0 to `population` - 1, in random order.

    If at least half of these integers are wanted, all of them are put in random order. Otherwise integers are drawn
    until `count` distinct ones are there. These are fewer than half of all integers, so each draw is new with a
    probability of at least 1/2.
    """
    if 2 * count >= population:
        order = xp.argsort(semirings.hash(seed, xp.arange(population)))
        return order[:count].astype(np.int64, copy=False)
    keys, total_draws = xp.zeros(0, np.int64), 0
    for _ in range(ROUNDS):
        if len(keys) == count:
            break
        draw_count = 2 * (count - len(keys))
        hashes = semirings.hash(seed, xp.arange(total_draws, total_draws + draw_count))
        keys, total_draws = _append_distinct(keys, _random_below(hashes, population))[:count], total_draws + draw_count
    return keys


def _append_distinct(keys: Array, new_keys: Array) -> Array:
    """Return the distinct numbers of two arrays, in the order of their first appearance."""
    xp: Any = array_module(keys)
    all_keys = xp.concatenate([keys, new_keys])
    order = xp.argsort(all_keys, kind="stable")
    is_first = xp.ones(len(all_keys), bool)
    is_first[1:] = all_keys[order][1:] != all_keys[order][:-1]
    return all_keys[xp.sort(order[is_first])]


def _random_below(random_words: Array, total: Any) -> Array:
    """Return a random number below `total` for each random 64-bit word: ``words * total // 2**64``.

    The products, of up to 128 bits, are computed from halves of 32 bits. `total` is a number or an array.
    """
    half, bits = np.uint64(32), np.uint64(2**32 - 1)
    total = np.uint64(total) if isinstance(total, int) else total.astype(np.uint64)
    low_half, high_half = total & bits, total >> half
    upper, lower = random_words >> half, random_words & bits
    middle = upper * low_half + (lower * low_half >> half)
    low_bits_of_product = lower * high_half + (middle & bits)
    return (upper * high_half + (middle >> half) + (low_bits_of_product >> half)).astype(np.int64)


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
    graph, seed_bits = whole_graph(graph), seed_word(seed)
    if at is not None or time is not None:
        return _split_by_time(graph, fractions, "time" if time is None else time, at)
    set_ends = _check_fractions(fractions)
    if graph.n > MOST:
        raise ValueError(f"the graph has {graph.n} vertices; expected at most {MOST}")
    src, dst = graph.edges()
    xp: Any = array_module(src)
    pair_hashes = _hash_pairs(seed_bits, src, dst, graph.is_symmetric)
    # In an undirected graph, each pair of vertices has two edges with the same hash, of which only one counts here.
    order = distinct(pair_hashes[src <= dst] if graph.is_symmetric else pair_hashes)
    cuts = [
        order[cut_index] if cut_index < len(order) else None
        for cut_index in (round(end * len(order)) for end in set_ends[:-1])
    ]
    sets = []
    for first_hash, end_hash in pairwise([np.uint64(0), *cuts, None]):
        is_member = xp.zeros(len(pair_hashes), bool) if first_hash is None else pair_hashes >= first_hash
        sets.append(xp.flatnonzero(is_member if end_hash is None else is_member & (pair_hashes < end_hash)))
    return [numbers.astype(np.int64, copy=False) for numbers in sets]


def _split_by_time(graph: Graph, fractions: Sequence[float], time: str, at: Any) -> list[Array]:
    """Return the numbers of the edges of each set, such as a training and a test set, if edges are split by time.

    All sets but the last end with the edges at the ascending times `at`. If `at` is None, sets have the given fractions
    of all edges.
    """
    times = times_of_edges(graph, time)
    xp: Any = array_module(times)
    order = xp.sort(times)
    if at is None:
        cuts = [round(end * len(order)) for end in _check_fractions(fractions)[:-1]]
    elif fractions != FRACTIONS:
        raise ValueError(f"fractions is {fractions!r} and at is {at!r}; expected one of the two")
    else:
        edge_limits = span_of(graph, time, at, None, None).last
        if any_true(is_descending := edge_limits[1:] < edge_limits[:-1]):
            raise ValueError(f"at falls after entry {int(is_descending.argmax())}; expected ascending times")
        cuts = xp.searchsorted(order, edge_limits, side="right").tolist()
    earlier_counts = xp.searchsorted(order, times)  # for each edge, the number of edges with earlier times
    return [
        xp.flatnonzero((earlier_counts >= first_edge) & (earlier_counts < end)).astype(np.int64, copy=False)
        for first_edge, end in pairwise([0, *cuts, len(order)])
    ]


def _hash_pairs(seed: np.uint64, i: Array, j: Array, symmetric: bool) -> Array:
    """Return a 64-bit hash, `semirings.hash(seed, i[k], j[k])`, for each pair of vertices i[k] and j[k].

    If `symmetric`, the smaller vertex comes first in the hash, so that both directions of an edge have the same hash.
    """
    xp: Any = array_module(i)
    pair_hashes = xp.empty(len(i), np.uint64)
    step = BLOCK if xp is np else max(len(i), 1)
    for block_start in range(0, len(i), step):
        block = slice(block_start, block_start + step)
        pair_endpoints = (
            (xp.minimum(i[block], j[block]), xp.maximum(i[block], j[block])) if symmetric else (i[block], j[block])
        )
        pair_hashes[block] = semirings.hash(seed, *pair_endpoints)
    return pair_hashes


def _check_fractions(fractions: Sequence[float]) -> list[float]:
    """Return the running sums of the fractions of edges in each set: at which fraction of all edges each set ends.

    Raise an error if the fractions don't add up to 1.
    """
    several = isinstance(fractions, Sequence | np.ndarray) and not isinstance(fractions, str | bytes)
    if not several or getattr(fractions, "ndim", 1) == 0 or len(fractions) == 0:
        raise TypeError(f"fractions is {fractions!r}; expected several numbers, such as (0.8, 0.1, 0.1)")
    fraction_numbers = [real_number(f"fractions[{k}]", fraction, 0, 1) for k, fraction in enumerate(fractions)]
    if abs(sum(fraction_numbers) - 1) > 1e-6:
        raise ValueError(f"fractions add up to {sum(fraction_numbers):g}; expected 1, such as (0.8, 0.1, 0.1)")
    return [min(sum(fraction_numbers[: k + 1]), 1.0) for k in range(len(fraction_numbers) - 1)] + [1.0]


ROW = [
    Row(
        negative_edges,
        method="random pairs, rejected where an edge is (Leskovec, Backstrom, WSDM 2011), as in DGL",
        longer="n pairs are drawn, looked up by binary search, and checked for repetition by a sort.",
    ),
    Row(
        split_edges,
        method="a random key for each edge and a selection (Liben-Nowell, Kleinberg, JASIST 58, 2007)",
        longer="A key is hashed for each edge, all keys are sorted, and each set is a pass over them.",
    ),
]
