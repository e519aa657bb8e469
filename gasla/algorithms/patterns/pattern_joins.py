"""Patterns as joins: which vertices are matched, in which order, and which are counted without being matched.

Vertices that are not adjacent to each other can be counted apart, once all their neighbors are matched: the product of
the numbers of vertices that fit counts the matches, and maps in which some of them coincide. These are maps of smaller
patterns, in which the vertices are merged, and are subtracted:

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

MOST_FREE = 4  # vertices that are only counted, at most: the product of their counts fits in two words


class Counting(NamedTuple):
    """A way to count: `times` the number that a join counts, less the maps of smaller patterns, are maps."""

    order: list[int]
    plan: JoinPlan
    times: int
    free: tuple[int, ...] = ()  # several vertices that are counted, and may coincide
    merged: tuple[Pattern, ...] = ()

    @property
    def descends(self) -> bool:
        """Whether hubs come first: a path from the first vertex, which is the smallest, then avoids them."""
        return len(self.plan.free) == 1 and bool(self.plan.tabled)


class Listing(NamedTuple):
    """The order in which vertices are matched, and the join that matches all, or counts what fits at the last one."""

    order: list[int]
    plan: JoinPlan
    counting: JoinPlan


def listing(pattern: Pattern, induced: bool) -> Listing:
    """Return the joins that find each match once, in the pattern's order."""
    last = max(pattern.size - 1, 2)
    above = smaller_places(pattern.order, last, pattern.automorphisms)
    plans = [_plan(pattern, pattern.order, count, induced, above) for count in (pattern.size, min(last, pattern.size))]
    return Listing(pattern.order, *plans)


def counting(pattern: Pattern, induced: bool) -> Counting:
    """Return the way to count that matches the fewest vertices."""
    count = len(pattern.automorphisms)
    if not induced:
        for size in range(pattern.size - 1, 1, -1):  # number of vertices that are counted
            if size <= MOST_FREE and (ways := list(_with_free(pattern, size))):
                return max(ways, key=lambda way: _merit(pattern, way))
    orders = [
        _order(pattern, [u, v], pattern.size)
        for u in range(pattern.size)
        for v in range(pattern.size)
        if pattern.has(u, v)
    ]
    last = max(pattern.size - 1, 2)
    plans = [_plan(pattern, one, last, induced, smaller_places(one, last, pattern.automorphisms)) for one in orders]
    ways = [Counting(order, plan, count) for order, plan in zip(orders, plans)]
    return max(ways, key=lambda way: _merit(pattern, way))


def _merit(pattern: Pattern, way: Counting) -> tuple[float, ...]:
    """Tell how good a way is.

    A good way begins with a rare label or edge; intersects lists early, or counts ahead; has many lists and orders,
    both early.
    """
    plan = way.plan
    intersected = (free.ready for k, free in enumerate(plan.free) if k not in plan.tabled and len(free.join.within) > 1)
    joins = [*plan.joins, *(free.join for free in plan.free)]
    return (
        pattern.rarity(*way.order[:2]),
        -max(intersected, default=0),
        *(len(join.within) for join in plan.joins),
        sum(len(join.above) for join in joins),
        *(len(join.above) for join in joins),
    )


def _with_free(pattern: Pattern, size: int) -> Iterator[Counting]:
    """Yield plans that match all but `size` vertices of a pattern, and only count the vertices that fit these."""
    for free in combinations(range(pattern.size), size):
        if any(pattern.has(u, v) for u, v in combinations(free, 2)):
            continue
        core = [v for v in range(pattern.size) if v not in free]
        group = [a for a in pattern.automorphisms if {a[v] for v in core} == set(core)]
        times = len({tuple(a[v] for v in core) for a in group})
        for u in core:
            for v in core:
                order = _order(pattern, [u, v], len(core), core) if pattern.has(u, v) else []
                if len(order) == len(core):
                    order = [*order, *free]
                    plan = _plan(pattern, order, len(core), False, smaller_places(order, len(core), group))
                    yield Counting(order, plan, times, free, tuple(_merged(pattern, free)))


def _order(pattern: Pattern, first: list[int], count: int, among: Sequence[int] | None = None) -> list[int]:
    """Continue an order of matching: next comes the vertex with the most neighbors among the vertices in the order."""
    order, among = list(first), range(pattern.size) if among is None else among
    while len(order) < count:
        rest = [v for v in among if v not in order and any(pattern.has(u, v) for u in order)]
        if not rest:
            return []
        order.append(max(rest, key=lambda v: (sum(pattern.has(u, v) for u in order), v in among)))
    return order


def _plan(
    pattern: Pattern, order: Sequence[int], matched: int, induced: bool, above: dict[int, tuple[int, ...]]
) -> JoinPlan:
    """Return the join in an order, of which the last vertices are counted."""
    joins = [_join(pattern, order, k, matched, induced, above[order[k]]) for k in range(pattern.size)]
    free = [Free(join, _met(pattern, order, k, matched, join)) for k, join in enumerate(joins[matched:], matched)]
    return JoinPlan(tuple(joins[:matched]), tuple(free), pattern.directed)


def smaller_places(order: Sequence[int], matched: int, group: list[tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
    """Return the places of vertices that must be smaller than each vertex. So one of all images under a group is found.

    Constraints between matched vertices are preferred, as those of counted ones hinder tables.
    """
    above: dict[int, tuple[int, ...]] = dict.fromkeys(order, ())
    core = set(order[:matched])
    group = list(
        {tuple(a[v] if v in core or len(order) - matched == 1 else v for v in range(len(order))) for a in group}
    )
    while len(group) > 1:
        orbits = {frozenset(a[v] for a in group) for v in order}
        orbit = min(
            (one for one in orbits if len(one) > 1),
            key=lambda one: (order[0] not in one, not one <= core, min(map(order.index, one))),
        )
        first = min(orbit, key=order.index)
        for v in orbit - {first}:
            above[v] += (order.index(first),)
        group = [a for a in group if a[first] == first]
    return above


def _reaches(pattern: Pattern, u: int, v: int, place: int, wanted: bool) -> list[Reach]:
    """Return the lists of u, matched at a place, that have v by an edge of the pattern, or those that lack it."""
    pairs = [(u, v), (v, u)] if pattern.directed else [(u, v)]
    return [
        Reach(place, backward, relation)
        for backward, pair in zip((False, True), pairs, strict=False)
        if (pair in pattern.edges) == wanted
        for relation in sorted(pattern.relations.get(pair, {0}))
    ]


def _join(pattern: Pattern, order: Sequence[int], k: int, matched: int, induced: bool, above: tuple[int, ...]) -> Join:
    v, before = order[k], list(enumerate(order[: min(k, matched)]))
    within = [reach for i, u in before for reach in _reaches(pattern, u, v, i, True)]
    outside = [reach for i, u in before if induced for reach in _reaches(pattern, u, v, i, False)]
    apart = [i for i, u in before if not pattern.has(u, v) and i not in above and pattern.may_coincide(u, v)]
    has_label = pattern.labels[v] >= 0
    is_checked = has_label or max(pattern.degrees_of(v)) > 1 or any(v in ends for ends in pattern.relations)
    return Join(tuple(within), tuple(outside), tuple(apart), above, v, has_label, is_checked)


def _met(
    pattern: Pattern, order: Sequence[int], k: int, matched: int, join: Join
) -> tuple[tuple[int, tuple[Test, ...]], ...]:
    """Return the matched vertices that may fit at the vertex to be counted, with what is open about their lists."""
    if join.outside:
        return ()  # it depends on all matched vertices, and is compared with them
    met = []
    for c in range(matched):
        if pattern.has(order[c], order[k]) or c in join.above or not pattern.may_coincide(order[c], order[k]):
            continue
        uncertain = [r for r in join.within if r not in _reaches(pattern, order[r.place], order[c], r.place, True)]
        tests = [
            Test(r, c) if r.place < c else Test(Reach(c, pattern.directed and not r.backward, r.relation), r.place)
            for r in uncertain
        ]
        met.append((c, tuple(tests)))
    return tuple(met)


def _merged(pattern: Pattern, free: Sequence[int]) -> Iterator[Pattern]:
    """Yield the patterns in which some of the vertices to be counted coincide, by all partitions of them."""
    for labels in partitions(len(free)):
        if max(labels) + 1 < len(free):
            parts = [[v for v, label in zip(free, labels) if label == part] for part in range(max(labels) + 1)]
            if all(pattern.may_coincide(u, v) for part in parts for u, v in combinations(part, 2)):
                yield pattern.merged(parts)
