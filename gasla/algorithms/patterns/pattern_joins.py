"""Plans that find or count the matches of a pattern by joins. A plan says which vertices are matched, in which order.

Vertices of the pattern that are not adjacent to each other need not be matched. Once all their neighbors are matched,
the vertices of the graph that fit each of them are counted, and the product of these counts is the number of matches.
The product also counts maps in which two of them coincide. These are maps of smaller patterns, in which the vertices
are merged, and are subtracted:

    maps(pattern) = sum over the places of the matched vertices of the product of numbers that fit
                    - sum over partitions of the counted vertices of maps(pattern with the parts merged)

T. Shi, M. Zhai, Y. Xu, J. Zhai: GraphPi: High Performance Graph Pattern Matching through Effective Redundancy
Elimination. SC 2020.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from gasla.algorithms.patterns.pattern import Pattern, partitions
from gasla.program.join_plan import Free, Join, JoinPlan, Reach, Test

# largest number of vertices that are only counted, so that the product of their counts fits in two 64-bit words
MOST_FREE = 4


class Counting(NamedTuple):
    """A plan to count the maps of a pattern to a graph by a join.

    The number of maps is `times` the number that the join `plan` counts, minus the numbers of maps of the smaller
    patterns in `merged`. `order` lists the pattern's vertices in the order of matching.
    """

    order: list[int]
    plan: JoinPlan
    times: int
    free: tuple[int, ...] = ()  # vertices that are only counted and may coincide, if there are several
    merged: tuple[Pattern, ...] = ()

    @property
    def descends(self) -> bool:
        """Whether counting needs the graph's vertices renumbered so that those of the highest degrees get the smallest
        ids.

        The first vertex of a match has its smallest id, so paths from the first vertex then avoid vertices of high
        degree.
        """
        return len(self.plan.free) == 1 and bool(self.plan.tabled)


class Listing(NamedTuple):
    """Two joins that find each match of a pattern once, and the order in which the pattern's vertices are matched.

    The join `plan` matches all vertices. The join `counting` matches all but the last vertex, and only counts the
    graph's vertices that fit there.
    """

    order: list[int]
    plan: JoinPlan
    counting: JoinPlan


def listing(pattern: Pattern, induced: bool) -> Listing:
    """Return the joins that find each match of a pattern once, in the pattern's own order of matching."""
    last = max(pattern.size - 1, 2)
    above = smaller_places(pattern.order, last, pattern.automorphisms)
    plans = [
        _make_plan(pattern, pattern.order, count, induced, above) for count in (pattern.size, min(last, pattern.size))
    ]
    return Listing(pattern.order, *plans)


def counting(pattern: Pattern, induced: bool) -> Counting:
    """Return the best plan to count the matches of a pattern: one that leaves the most vertices to be counted only.

    Vertices that are only counted, and not matched, take no step of the search. Among plans that match equally few
    vertices, `_quality` decides.
    """
    count = len(pattern.automorphisms)
    if not induced:
        for free_count in range(pattern.size - 1, 1, -1):  # number of vertices that are not matched, but only counted
            if free_count <= MOST_FREE and (candidates := list(_plans_with_free(pattern, free_count))):
                return max(candidates, key=lambda count_plan: _quality(pattern, count_plan))
    orders = [
        _extend_order(pattern, [u, v], pattern.size)
        for u in range(pattern.size)
        for v in range(pattern.size)
        if pattern.has(u, v)
    ]
    matched_count = max(pattern.size - 1, 2)
    plans = [
        _make_plan(
            pattern,
            order_of_plan,
            matched_count,
            induced,
            smaller_places(order_of_plan, matched_count, pattern.automorphisms),
        )
        for order_of_plan in orders
    ]
    candidates = [Counting(order, plan, count) for order, plan in zip(orders, plans)]
    return max(candidates, key=lambda count_plan: _quality(pattern, count_plan))


def _quality(pattern: Pattern, count_plan: Counting) -> tuple[float, ...]:
    """Return a tuple by which plans to count a pattern are compared: the larger, the better the plan `count_plan`.

    A good plan begins with a rare label or edge. It intersects adjacency lists after few steps, or counts from a table.
    Many adjacency lists limit its candidates, and many pairs of its vertices have a fixed order, both early.
    """
    plan = count_plan.plan
    intersected = (free.ready for k, free in enumerate(plan.free) if k not in plan.tabled and len(free.join.within) > 1)
    joins = [*plan.joins, *(free.join for free in plan.free)]
    return (
        pattern.rarity(*count_plan.order[:2]),
        -max(intersected, default=0),
        *(len(join.within) for join in plan.joins),
        sum(len(join.above) for join in joins),
        *(len(join.above) for join in joins),
    )


def _plans_with_free(pattern: Pattern, size: int) -> Iterator[Counting]:
    """Yield plans to count a pattern that match all but `size` of its vertices.

    For the other vertices, the graph's vertices that fit are only counted. No two of them are adjacent.
    """
    for free in combinations(range(pattern.size), size):
        if any(pattern.has(u, v) for u, v in combinations(free, 2)):
            continue
        core = [v for v in range(pattern.size) if v not in free]
        group = [automorphism for automorphism in pattern.automorphisms if {automorphism[v] for v in core} == set(core)]
        times = len({tuple(automorphism[v] for v in core) for automorphism in group})
        for u in core:
            for v in core:
                order = _extend_order(pattern, [u, v], len(core), core) if pattern.has(u, v) else []
                if len(order) == len(core):
                    order = [*order, *free]
                    plan = _make_plan(pattern, order, len(core), False, smaller_places(order, len(core), group))
                    yield Counting(order, plan, times, free, tuple(_merged_patterns(pattern, free)))


def _extend_order(pattern: Pattern, first: list[int], count: int, among: Sequence[int] | None = None) -> list[int]:
    """Extend `first`, the beginning of an order in which the vertices of a pattern are matched, to `count` vertices.

    The vertex with the most neighbors in the order comes next. Vertices are taken from `among`, if given. Return an
    empty list if none of them is adjacent to the order.
    """
    order, among = list(first), range(pattern.size) if among is None else among
    while len(order) < count:
        rest = [v for v in among if v not in order and any(pattern.has(u, v) for u in order)]
        if not rest:
            return []
        order.append(max(rest, key=lambda v: (sum(pattern.has(u, v) for u in order), v in among)))
    return order


def _make_plan(
    pattern: Pattern, order: Sequence[int], matched: int, induced: bool, above: dict[int, tuple[int, ...]]
) -> JoinPlan:
    """Return the join that matches the first `matched` vertices of a pattern, in the order `order`.

    For the later vertices of the order it only counts the graph's vertices that fit.
    """
    joins = [_make_join(pattern, order, k, matched, induced, above[order[k]]) for k in range(pattern.size)]
    free = [
        Free(join, _matched_that_fit(pattern, order, k, matched, join))
        for k, join in enumerate(joins[matched:], matched)
    ]
    return JoinPlan(tuple(joins[:matched]), tuple(free), pattern.directed)


def smaller_places(order: Sequence[int], matched: int, group: list[tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
    """Return for each vertex of a pattern which vertices must get smaller ids, so that each match is found once.

    Those vertices are given by their positions in `order`, the order of matching. Without these constraints, a match
    would be found again as each of its images under the automorphisms in `group`. Constraints between matched vertices
    are preferred, because constraints on vertices that are only counted prevent tables of common neighbors.
    """
    above: dict[int, tuple[int, ...]] = dict.fromkeys(order, ())
    core = set(order[:matched])
    group = list(
        {
            tuple(automorphism[v] if v in core or len(order) - matched == 1 else v for v in range(len(order)))
            for automorphism in group
        }
    )
    while len(group) > 1:
        orbits = {frozenset(automorphism[v] for automorphism in group) for v in order}
        orbit = min(
            (candidate for candidate in orbits if len(candidate) > 1),
            key=lambda candidate: (order[0] not in candidate, not candidate <= core, min(map(order.index, candidate))),
        )
        first = min(orbit, key=order.index)
        for v in orbit - {first}:
            above[v] += (order.index(first),)
        group = [automorphism for automorphism in group if automorphism[first] == first]
    return above


def _lists_to_check(pattern: Pattern, u: int, v: int, place: int, wanted: bool) -> list[Reach]:
    """Return the conditions that the edges between u and v, vertices of a pattern, put on a vertex that is to match v.

    A condition is an adjacency list of u's match that must hold the vertex. There is one for each edge of the pattern
    between u and v, and each relation of the edge. Without `wanted`, return the lists that must not hold the vertex,
    because the pattern lacks the edge. `place` is u's position in the order of matching.
    """
    pairs = [(u, v), (v, u)] if pattern.directed else [(u, v)]
    return [
        Reach(place, backward, relation)
        for backward, pair in zip((False, True), pairs, strict=False)
        if (pair in pattern.edges) == wanted
        for relation in sorted(pattern.relations.get(pair, {0}))
    ]


def _make_join(
    pattern: Pattern, order: Sequence[int], k: int, matched: int, induced: bool, above: tuple[int, ...]
) -> Join:
    v, before = order[k], list(enumerate(order[: min(k, matched)]))
    within = [reach for i, u in before for reach in _lists_to_check(pattern, u, v, i, True)]
    outside = [reach for i, u in before if induced for reach in _lists_to_check(pattern, u, v, i, False)]
    apart = [i for i, u in before if not pattern.has(u, v) and i not in above and pattern.may_coincide(u, v)]
    has_label = pattern.labels[v] >= 0
    is_checked = has_label or max(pattern.degrees_of(v)) > 1 or any(v in ends for ends in pattern.relations)
    return Join(tuple(within), tuple(outside), tuple(apart), above, v, has_label, is_checked)


def _matched_that_fit(
    pattern: Pattern, order: Sequence[int], k: int, matched: int, join: Join
) -> tuple[tuple[int, tuple[Test, ...]], ...]:
    """Return the matched vertices that might be wrongly included when the vertices that fit at `order[k]` are counted.

    The vertex `order[k]` of the pattern is only counted, not matched. Each result is the position of a matched vertex
    in `order`, and the tests of adjacency that decide whether it would be counted.
    """
    if join.outside:
        # adjacency lists that must not hold a candidate depend on all matched vertices, so generated code compares with
        # all
        return ()
    result = []
    for position in range(matched):
        if (
            pattern.has(order[position], order[k])
            or position in join.above
            or not pattern.may_coincide(order[position], order[k])
        ):
            continue
        uncertain = [
            reach
            for reach in join.within
            if reach not in _lists_to_check(pattern, order[reach.place], order[position], reach.place, True)
        ]
        tests = [
            Test(reach, position)
            if reach.place < position
            else Test(Reach(position, pattern.directed and not reach.backward, reach.relation), reach.place)
            for reach in uncertain
        ]
        result.append((position, tuple(tests)))
    return tuple(result)


def _merged_patterns(pattern: Pattern, free: Sequence[int]) -> Iterator[Pattern]:
    """Yield the smaller patterns that arise if some of the vertices `free`, which are only counted, become one.

    There is one for each partition of these vertices, except the one that keeps all of them apart.
    """
    for labels in partitions(len(free)):
        if max(labels) + 1 < len(free):
            parts = [[v for v, label in zip(free, labels) if label == part] for part in range(max(labels) + 1)]
            if all(pattern.may_coincide(u, v) for part in parts for u, v in combinations(part, 2)):
                yield pattern.merged(parts)
