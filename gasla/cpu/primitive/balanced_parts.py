"""Balanced parts with a small cut: vertices are grouped, the graph of groups is divided, and each level is improved.

Vertices join a neighboring group, level by level, until few groups are left. Their graph is halved again and again:
each half grows around a vertex, from several of which the best is taken. Then the parts are carried back to each
level, and vertices on the boundary move to the part that gains most, and on for a while if none gains; the best state
on the way is kept.

In skewed graphs a dense core has most edges, and groups hide it. There the finest levels are also peeled: one half
loses vertices, those first that lose least, until it has its share.

Of two attempts, with two seeds, the better is taken; of a skewed graph the second attempt halves the graph itself. If
parts may weigh much more than the mean, many divisions are allowed, and halves tell little of the parts that they
become: there a third attempt makes even parts, and those are improved within the limits at last. Each attempt
moves vertices on a thread of its own, and contracts on all. Sums of weights are exact if the weights are multiples of
one number and their sum is at most 2**53 times as large: then results do not depend on the number of threads.

G. Karypis, V. Kumar: A fast and high quality multilevel scheme for partitioning irregular graphs. SIAM Journal on
Scientific Computing 20 (1998).
H. Meyerhenke, P. Sanders, C. Schulz: Partitioning complex networks via size-constrained clustering. SEA 2014.
C. M. Fiduccia, R. M. Mattheyses: A linear-time heuristic for improving network partitions. DAC 1982.

Parameters of the kernels
-------------------------
starts, ends, indices, values :
    (n,), (n,), (m,) and (m,) adjacency lists; without `values` each edge weighs 1
weights :
    (n,) float64, the weight of each vertex
part, side :
    (n,) ids, the part of each vertex; with two parts, its side
loads, limits :
    (k,) float64, what each part weighs, and what it may weigh
sizes :
    (n,) ids, how many vertices of the graph each vertex stands for
needs, members :
    (k,) int64, how many vertices each part needs, and how many it has
own, total :
    (n,) float64, the weight of each vertex's edges within its part, and of all of them
sums, near :
    (k,) float64 and (k + 1,) ids, working memory: weights by neighboring part, 0 elsewhere, and these parts
heap, place, keys :
    (n,) a heap of vertices by `keys`, and the place of each vertex in it, or `_NONE` or `_LOCKED`
moved, came :
    (n,) ids, the vertices that a search has moved, and the parts that they left
size, patience :
    vertices on the heap, and moves without a new best state after which a search ends
v, to :
    a vertex, and the part that it moves to
share, queue, best, state :
    weight that side 0 shall have; (n,) ids; (n,) ids, the best sides; seed of random numbers
most, label, loads, favorite :
    in `_join`, what a group may weigh; (n,) ids and weights of groups; (n,) the group wanted
first, step, runs :
    the order of the vertices, as `louvain.visits` takes it
which, number :
    in `_select`, the side to copy, and (n,) the new number of each vertex of it
to_starts, to_ends, to_indices, to_values :
    the lists that are written
more, seen, met, most_looks :
    in `_send_less`, (k,) and (k,) int64, (n,) ids, and the edges to look at for one vertex
"""

# mypy: disable-error-code="no-untyped-def"
from collections.abc import Iterator
from math import gcd
from typing import Any

import numpy as np

from gasla.apart import call_apart, run_apart
from gasla.compiler.function import compiled
from gasla.cpu.kernels.draws import mixed
from gasla.cpu.primitive.indexed_heap import pop, push, rise, sink
from gasla.cpu.primitive.louvain import Level, contracted, renumber, visits
from gasla.cpu.runtime.blocks import inlined

Array = np.ndarray[Any, Any]

SIDE_BY_SIDE = 1 << 15  # edges from which two attempts run in threads of their own
FEW = 15  # groups per part at which grouping ends
FEWEST = 120  # groups at which it ends in any case
GROWTH = 4.0  # most vertices, of average weight, that one level groups
SHRINKS = 0.95  # grouping ends with a level that has more than this share of the vertices of the level before
SKEWED = 10  # a graph is skewed if the largest degree is this many times the mean
STARTS = 12  # vertices from which a half grows
TIGHT = 0.1  # greatest tolerance of the even attempt
HEAVY = 2.0  # most that a vertex weighs in the even attempt, in multiples of the median
EVEN = 2  # number of the even attempt
PASSES = 6  # passes over the boundary of a level
ROUNDS = 3  # rounds of searches from each vertex on the boundary of a level
SHORT = 12  # moves without a new best cut after which such a search ends
MOST_SHORT = 2  # edges that these searches look at, in multiples of the edges of the level
PEELS = 3  # finest levels on which a skewed graph is peeled as well
PATIENCE = 150  # moves without a new best cut after which a pass ends
MOST_LOOKS = 1 << 14  # edges of the neighbors of a vertex that may move to lessen the volume
_NONE, _LOCKED = np.int64(-1), np.int64(-2)  # stand for a position in the heap
_ZERO, _ONE = np.uint64(0), np.uint64(1)


def balanced_parts(
    lists: tuple[Array, Array, Array | None],
    given: Array | None,
    weights: Array,
    k: int,
    tolerance: float,
    by_volume: bool,
    seed: int,
) -> tuple[Array, float, int]:
    """Return a part for each vertex, the cut and the communication volume. See `gasla.engines.HostOnly`."""
    indptr, indices, values = lists
    n, level = len(weights), Level(indptr[:-1], indptr[1:], indices, values)
    part = np.arange(n, dtype=indices.dtype)
    if n > k:
        mean, lengths = float(weights.sum()) / k, np.diff(indptr)
        most, tight = (1 + tolerance) * mean, (1 + min(tolerance, TIGHT)) * mean
        is_skewed = bool(lengths.max() > SKEWED * lengths.mean())
        has_heavy = _equal_limits(weights, k, tight)[0] > tight and weights.max() > HEAVY * weights.mean()
        cuts = dict[int, tuple[float, Array]]()
        attempts = [
            _divide(level, weights, k, most, seed, 0, cuts, 0),
            _divide(level, weights, k, most, seed + n, PEELS * is_skewed, cuts, 1),
        ]
        if most > tight or has_heavy:
            attempts.append(_divide(level, weights, k, tight, seed, 0, cuts, EVEN))
        if len(indices) > SIDE_BY_SIDE:
            run_apart(*attempts)
        else:
            for attempt in attempts:
                for _ in attempt:
                    pass
        best = min(sorted(cuts), key=lambda number: cuts[number][0])
        part = cuts[best][1]
        if best == EVEN and most > tight:
            call_apart(_improve_all, level, weights, part, k, most)
        if by_volume:
            call_apart(_lessen_volume, level, weights, part, _equal_limits(weights, k, most))
    cut = np.zeros(1)
    volume = _measure(indptr[:-1], indptr[1:], indices, given, part, np.full(min(k, n), -1, indices.dtype), cut)
    return part, float(cut[0]), volume


def _divide(
    level: Level,
    weights: Array,
    k: int,
    most: float,
    seed: int,
    peels: int,
    cuts: dict[int, tuple[float, Array]],
    number: int,
) -> Iterator[None]:
    """Put the cut and the part of each vertex into `cuts`, under the number of this attempt. Yield between steps.

    With `peels`, the graph itself is halved, and not that of groups. The even attempt takes no vertex for heavy.

    Parameters
    ----------
    level, weights, k, seed :
        adjacency lists; (n,) float64, the weight of each vertex; number of parts; seed of this attempt
    most, peels :
        what a part may weigh; number of levels at which the halves are peeled, 0 for a graph that is not skewed
    cuts, number :
        the results of all attempts, to which this one is added; the number of this attempt
    """
    levels, groups, limit = [(level, weights)], list[Array](), most
    if number == EVEN:
        light = np.minimum(weights, HEAVY * np.median(weights[weights > 0]))
        levels, limit = [(level, light)], most * float(light.sum() / weights.sum())
    if not peels:
        yield from _group(levels, groups, max(FEW * k, FEWEST), seed, k)
    part = np.zeros(len(levels[-1][1]), level.indices.dtype)
    yield
    _halve(*levels[-1], np.arange(len(part)), part, 0, k, limit, seed, peels)
    loads = _sums(levels, groups, weights)
    while True:
        (level, _), weights = levels.pop(), loads.pop()
        yield
        cut = _improve_all(level, weights, part, k, most)
        if not groups:
            break
        part = part[groups.pop()]
    cuts[number] = cut, part


def _improve_all(level: Level, weights: Array, part: Array, k: int, most: float) -> float:
    """Improve all parts, none of which becomes empty, in place. Return the cut."""
    sizes, needs = np.ones(len(part), part.dtype), np.ones(k, np.int64)
    return _improve(level, weights, part, _equal_limits(weights, k, most), sizes, needs)


def _equal_limits(weights: Array, k: int, most: float) -> Array:
    """Return what each part may weigh: `most`, or so much that a part that weighs more has room in another."""
    return np.full(k, max(most, float(weights.sum()) / k + (1 - 1 / k) * float(weights.max())))


def _group(
    levels: list[tuple[Level, Array]], groups: list[Array], enough: int, seed: int, least: int = 1
) -> Iterator[None]:
    """Append coarser levels, and the groups of each, until one has few vertices, but not fewer than `least`."""
    total = float(levels[0][1].sum())
    while (n := len(levels[-1][1])) > enough:
        yield
        level, weights = levels[-1]
        most = min(GROWTH * total / n, 1.5 * total / enough)
        group, count = _grouped(level, weights, most, seed + len(groups))
        if count > SHRINKS * n or count < least:
            return
        yield
        edges = int((level.ends - level.starts).sum())
        above, _ = contracted(level, group, group, count)
        above = Level(above.starts, above.ends, above.indices[:edges], above.values[:edges])  # type: ignore[index]
        groups.append(group)
        levels.append((above, np.bincount(group, weights, count)))


def _sums(levels: list[tuple[Level, Array]], groups: list[Array], each: Array) -> list[Array]:
    """Return the sum of a number of each vertex over each group, of all levels."""
    sums = [each]
    for group, (_, above) in zip(groups, levels[1:], strict=True):
        sums.append(np.bincount(group, sums[-1], len(above)))
    return sums


def _grouped(level: Level, weights: Array, most: float, seed: int) -> tuple[Array, int]:
    """Return the group of each vertex, and how many there are."""
    n, ids = len(weights), level.indices.dtype
    label, loads, favorite = np.arange(n, dtype=ids), weights.copy(), np.empty(n, ids)
    _join(*level, weights, most, label, loads, favorite, np.zeros(n), np.empty(n + 1, ids), *_order(n, seed))
    _join_twins(weights, most, label, loads, favorite, np.full(n + 1, -1, ids))
    return label, renumber(label, np.empty_like(label))


def _order(n: int, seed: int) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Return the arguments of `visits` for an order of the vertices that a seed determines."""
    runs = max(-(-n // 64), 1)
    first = int(mixed(np.uint64(seed & (2**64 - 1)), np.uint64(n)))
    step = next(step for step in range(first % runs, first % runs + runs + 1) if gcd(step, runs) == 1)
    return np.uint64(first % runs), np.uint64(step), np.uint64(runs)


def _halve(
    level: Level,
    weights: Array,
    vertices: Array,
    part: Array,
    first: int,
    k: int,
    most: float,
    seed: int,
    peels: int,
) -> None:
    """Divide some vertices, whose graph is given, into the parts from `first` to ``first + k - 1``, by halves.

    Parameters
    ----------
    level, weights, vertices :
        adjacency lists of the vertices to divide; (count,) float64 weights and (count,) ids of these vertices
    part :
        (n,) ids, the part of each vertex of the whole graph, which is written
    first, k :
        number of the first part, and of parts
    most, seed, peels :
        as for `_divide`
    """
    if k == 1 or len(vertices) == 0:
        part[vertices] = first
        return
    total = float(weights.sum())
    left = k // 2
    share = total * np.array([left, k - left]) / k
    slack = max(1.0, (most * k / total) ** (1 / (k - 1).bit_length())) if total else 1.0
    needs = np.array([left, k - left])
    side = _two_sides(level, weights, share, slack, needs, seed, peels)
    _supply(level, side, needs)
    for which, count in ((0, left), (1, k - left)):
        (chosen,) = np.nonzero(side == which)
        lists = _selected(level, side, which, len(chosen)) if count > 1 else level
        start = first + which * left
        _halve(lists, weights[chosen], vertices[chosen], part, start, count, most, seed + which + 1, peels)


def _supply(level: Level, side: Array, needs: Array) -> None:
    """Fill a side that has fewer vertices than it needs, in place, with vertices of the other side that lose least."""
    lacks = needs - np.bincount(side, minlength=2)
    if (lacks > 0).any():
        to = int(lacks.argmax())
        own, total = np.empty(len(side)), np.empty(len(side))
        _weigh_parts(*level, side, own, total)
        (others,) = np.nonzero(side != to)
        side[others[np.argsort((2 * own - total)[others], kind="stable")[: lacks[to]]]] = to


def _selected(level: Level, side: Array, which: int, count: int) -> Level:
    """Return the graph of the vertices on one side."""
    number = np.cumsum(side == which) - 1
    m = int((level.ends - level.starts).sum())
    ids = level.indices.dtype
    starts, ends, indices = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(m, ids)
    values = np.empty(m)
    _select(*level, side, which, number, starts, ends, indices, values)
    return Level(starts, ends, indices, values)


def _two_sides(level: Level, weights: Array, share: Array, slack: float, needs: Array, seed: int, peels: int) -> Array:
    """Return the side, 0 or 1, of each vertex, by grouping and growing one side.

    On the finest levels, `peels` of them, the graph is also peeled, and the better sides are taken.
    """
    levels, groups = [(level, weights)], list[Array]()
    for _ in _group(levels, groups, FEWEST, seed):
        pass
    sizes = [each.astype(level.indices.dtype) for each in _sums(levels, groups, np.ones(len(weights)))]
    part = _grown(*levels[-1], _limits(levels[-1][1], share, slack), sizes.pop(), needs, float(share[0]), seed)
    while groups:
        part = part[groups.pop()]
        levels.pop()
        level, weights = levels[-1]
        limits = _limits(weights, share, slack)
        each = sizes.pop()
        cut = _improve(level, weights, part, limits, each, needs)
        if len(levels) <= peels:
            other = np.ones_like(part)
            other[seed % len(other)] = 0  # the other side is too heavy then
            if _improve(level, weights, other, limits, each, needs) < cut:
                part = other
    return part


def _grown(level: Level, weights: Array, limits: Array, sizes: Array, needs: Array, share: float, seed: int) -> Array:
    """Return the sides with the smallest cut. Sides grow from several vertices in two ways, and are improved.

    Side 0 grows to a share of the weight.
    """
    n = len(weights)
    best = np.zeros(n, level.indices.dtype)
    state = mixed(np.uint64(seed & (2**64 - 1)), np.uint64(n))
    side, queue = np.empty_like(best), np.empty_like(best)
    room = _room(best, 2)
    _grow_best(*level, weights, side, limits, sizes, needs, *room, share, np.uint64(state), queue, best)
    return best


def _limits(weights: Array, share: Array, slack: float) -> Array:
    """Return what each of two sides may weigh: a vertex of a side that weighs more has room on the other.

    Neither falls below an eighth of its share, unless a heavy vertex needs that room.
    """
    return np.maximum(np.minimum(slack * share, share + share[::-1] * 7 / 8), share + weights.max() / 2)


def _improve(level: Level, weights: Array, part: Array, limits: Array, sizes: Array, needs: Array) -> float:
    """Bring all parts within their limits, and lessen the cut, in place. Return the cut.

    No part loses vertices if their sizes then sum to less than it needs.
    """
    cut: float = _better(*level, weights, part, limits, sizes, needs, *_room(part, len(limits)))
    return cut


def _room(part: Array, k: int) -> tuple[Array, ...]:
    """Return arrays in which `_better` works."""
    n, ids = len(part), part.dtype
    loads, members, sums, near = np.empty(k), np.empty(k, np.int64), np.zeros(k), np.empty(k + 1, ids)
    own, total, keys = np.empty(n), np.empty(n), np.empty(n)
    heap, place, moved, came = (np.empty(n, ids) for _ in range(4))
    return loads, members, own, total, sums, near, heap, place, keys, moved, came


def _lessen_volume(level: Level, weights: Array, part: Array, limits: Array) -> None:
    """Move single vertices while that lessens the communication volume, in place."""
    k, ids = len(limits), part.dtype
    loads, members = np.bincount(part, weights, k), np.bincount(part, minlength=k)
    more, seen, met, near = np.zeros(k, np.int64), np.zeros(k, np.int64), np.empty(len(part), ids), np.empty(k, ids)
    starts, ends, indices, _ = level
    for _ in range(PASSES):
        if not _send_less(
            starts, ends, indices, weights, part, loads, limits, members, more, seen, met, near, MOST_LOOKS
        ):
            break


# --- kernels ---------------------------------------------------------------------------------------------------------


@compiled
def _join(starts, ends, indices, values, weights, most, label, loads, favorite, sums, near, first, step, runs):
    """Let each vertex that is alone join the group to which its edges weigh most, compared with the group."""
    n, one = np.uint64(len(label)), 1.0
    for v in visits(n, first, step, runs):
        favorite[v] = n
        if np.uint64(label[v]) == v and loads[v] == weights[v]:
            count = _ZERO
            for k in range(np.uint64(starts[v]), np.uint64(ends[v])):
                u = np.uint64(indices[k])
                if u != v:
                    c = np.uint64(label[u])
                    total, weight = sums[c], one if values is None else values[k]
                    near[count] = c
                    count += np.uint64((total == 0) & (weight > 0))
                    sums[c] = total + weight
            best, most_wanted, wanted, liked = v, n, 0.0, 0.0
            for j in range(count):
                c = np.uint64(near[j])
                rating = sums[c] / max(loads[c], 1e-300)
                sums[c] = 0.0
                if rating > liked:
                    most_wanted, liked = c, rating
                if rating > wanted and loads[c] + weights[v] <= most:
                    best, wanted = c, rating
            if best != v:
                label[v] = best
                loads[best] += weights[v]
                loads[v] = 0.0
            else:
                favorite[v] = most_wanted


@compiled
def _join_twins(weights, most, label, loads, favorite, waiting):
    """Let vertices join that are alone and would have joined the same full group, or have no neighbors."""
    for v in range(np.uint64(len(label))):
        if np.uint64(label[v]) == v and loads[v] == weights[v]:
            f = np.uint64(favorite[v])
            w = np.int64(waiting[f])
            if w >= 0 and loads[np.uint64(w)] + weights[v] <= most:
                label[v] = w
                loads[np.uint64(w)] += weights[v]
                loads[v] = 0.0
            else:
                waiting[f] = v


@compiled
def _select(starts, ends, indices, values, side, which, number, to_starts, to_ends, to_indices, to_values):
    """Copy the adjacency lists of the vertices on one side, without neighbors on the other side."""
    end = _ZERO
    for v in range(np.uint64(len(side))):
        if side[v] == which:
            i = np.uint64(number[v])
            to_starts[i] = end
            for k in range(np.uint64(starts[v]), np.uint64(ends[v])):
                u = np.uint64(indices[k])
                if side[u] == which and u != v:
                    to_indices[end] = number[u]
                    to_values[end] = 1.0 if values is None else values[k]
                    end += _ONE
            to_ends[i] = end


@compiled
def _grow_best(
    starts, ends, indices, values, weights, side, limits, sizes, needs, loads, members, own, total, sums, near, heap,
    place, keys, moved, came, share, state, queue, best,
):  # fmt: skip
    """Grow side 0 from several vertices, by turns in two ways, and keep the sides with the smallest cut."""
    n, least = np.uint64(len(side)), 0.0
    for number in range(STARTS):
        for v in range(n):
            side[v] = 1
        first = mixed(state, np.uint64(number)) % n
        if number % 2 == 1:
            _grow(starts, ends, indices, weights, side, share, first, queue)
        else:
            side[first] = 0  # the other side is too heavy then
        cut = _better(
            starts, ends, indices, values, weights, side, limits, sizes, needs, loads, members, own, total, sums, near,
            heap, place, keys, moved, came,
        )  # fmt: skip
        if number == 0 or cut < least:
            least = cut
            for v in range(n):
                best[v] = side[v]


@compiled
def _grow(starts, ends, indices, weights, side, share, first, queue):
    """Move vertices to side 0, breadth-first from one, until it has its share. `side` is 1 everywhere."""
    n, head, tail, load, next_one = np.uint64(len(side)), _ZERO, _ZERO, 0.0, first
    for _ in range(n):
        if head == tail:
            while side[next_one] == 0:
                next_one = (next_one + _ONE) % n
            side[next_one] = 0
            queue[tail] = next_one
            tail += _ONE
        v = np.uint64(queue[head])
        if load + weights[v] / 2 > share:
            break
        head += _ONE
        load += weights[v]
        for k in range(np.uint64(starts[v]), np.uint64(ends[v])):
            u = np.uint64(indices[k])
            if side[u] == 1:
                side[u] = 0
                queue[tail] = u
                tail += _ONE
    for i in range(head, tail):
        side[np.uint64(queue[i])] = 1


@compiled
def _weigh_parts(starts, ends, indices, values, part, own, total):
    """Add up the weights of each vertex's edges, and of its edges within its part, without loops."""
    for v in range(np.uint64(len(part))):
        inside, all_of_it = 0.0, 0.0
        for k in range(np.uint64(starts[v]), np.uint64(ends[v])):
            u = np.uint64(indices[k])
            weight = 1.0 if values is None else values[k]
            weight = weight if u != v else 0.0
            all_of_it += weight
            inside += weight if part[u] == part[v] else 0.0
        own[v], total[v] = inside, all_of_it


@inlined
def _best_part(
    starts, ends, indices, values, weights, part, loads, limits, sizes, needs, members, own, total, sums, near, v,
):  # fmt: skip
    """Return the neighboring part with room that gains most from a vertex, and the gain.

    Without one, return its own part.

    A vertex may not leave a part that needs it.
    """
    mine, count, weight = np.uint64(part[v]), _ZERO, weights[v]
    if members[mine] - np.int64(sizes[v]) < needs[mine]:
        return mine, 0.0
    if len(limits) == 2:
        to = _ONE - mine
        has_room = total[v] > own[v] and loads[to] + weight <= limits[to]
        return to if has_room else mine, total[v] - own[v] - own[v]
    for k in range(np.uint64(starts[v]), np.uint64(ends[v])):
        p = np.uint64(part[np.uint64(indices[k])])
        before, more = sums[p], 1.0 if values is None else values[k]
        near[count] = p
        count += np.uint64((before == 0) & (more > 0))
        sums[p] = before + more
    best, most = mine, -1.0
    for j in range(count):
        p = np.uint64(near[j])
        has_room = p != mine and loads[p] + weight <= limits[p]
        if has_room and (sums[p] > most or (sums[p] == most and loads[p] < loads[best])):
            best, most = p, sums[p]
        sums[p] = 0.0
    return best, most - own[v]


@inlined
def _move(starts, ends, indices, values, weights, part, loads, sizes, members, own, total, v, to):
    """Move a vertex to another part. Its neighbors keep the weight of their edges within their parts."""
    mine, inside = np.uint64(part[v]), 0.0
    loads[mine] -= weights[v]
    loads[to] += weights[v]
    members[mine] -= np.int64(sizes[v])
    members[to] += np.int64(sizes[v])
    part[v] = to
    for k in range(np.uint64(starts[v]), np.uint64(ends[v])):
        u = np.uint64(indices[k])
        weight = 1.0 if values is None else values[k]
        if u != v:
            p = np.uint64(part[u])
            if p == mine:
                own[u] -= weight
            elif p == to:
                own[u] += weight
                inside += weight
    own[v] = inside


@compiled
def _better(
    starts, ends, indices, values, weights, part, limits, sizes, needs, loads, members, own, total, sums, near, heap,
    place, keys, moved, came,
):  # fmt: skip
    """Bring all parts within their limits, and lessen the cut. Return the cut."""
    n, parts = np.uint64(len(part)), np.uint64(len(limits))
    for p in range(parts):
        loads[p] = 0.0
        members[p] = 0
    for v in range(n):
        loads[np.uint64(part[v])] += weights[v]
        members[np.uint64(part[v])] += np.int64(sizes[v])
        place[v] = _NONE
    _weigh_parts(starts, ends, indices, values, part, own, total)
    is_heavy = False
    for p in range(parts):
        is_heavy = is_heavy or loads[p] > limits[p]
    if is_heavy:
        _relieve(
            starts, ends, indices, values, weights, part, loads, limits, sizes, needs, members, own, total, sums, near,
            heap, place, keys,
        )  # fmt: skip
    _climb(
        starts, ends, indices, values, weights, part, loads, limits, sizes, needs, members, own, total, sums, near,
        heap, place, keys, moved, came,
    )  # fmt: skip
    twice = 0.0
    for v in range(n):
        twice += total[v] - own[v]
    return twice / 2


@compiled
def _climb(
    starts, ends, indices, values, weights, part, loads, limits, sizes, needs, members, own, total, sums, near, heap,
    place, keys, moved, came,
):  # fmt: skip
    """Lessen the cut by searches that start at all vertices of the boundary at once, and then by others at each alone.

    A search ends at the best state that it has seen. Searches from one vertex leave a local minimum where others would
    make up for what they gain.
    """
    n = np.uint64(len(part))
    edges, looks = 0, 0
    for v in range(n):
        edges += np.int64(ends[v]) - np.int64(starts[v])
    for _pass in range(PASSES):
        size = _ZERO
        for v in range(n):
            place[v] = _NONE
            if total[v] > own[v]:
                size = push(heap, place, keys, size, v, total[v] - own[v] - own[v])
        gain, more = _search(
            starts, ends, indices, values, weights, part, loads, limits, sizes, needs, members, own, total, sums, near,
            heap, place, keys, moved, came, size, np.int64(PATIENCE),
        )  # fmt: skip
        if gain <= 0:
            break
    for _pass in range(ROUNDS):
        gained = 0.0
        for v in range(n):
            place[v] = _NONE
        for v in range(n):
            if total[v] > own[v] and np.int64(place[v]) == _NONE and looks < MOST_SHORT * edges:
                size = push(heap, place, keys, _ZERO, v, total[v] - own[v] - own[v])
                gain, more = _search(
                    starts, ends, indices, values, weights, part, loads, limits, sizes, needs, members, own, total,
                    sums, near, heap, place, keys, moved, came, size, np.int64(SHORT),
                )  # fmt: skip
                gained += gain
                looks += more
        if gained <= 0:
            break


@compiled
def _search(
    starts, ends, indices, values, weights, part, loads, limits, sizes, needs, members, own, total, sums, near, heap,
    place, keys, moved, came, size, patience,
):  # fmt: skip
    """Move vertices, the one of the largest gain first, each once, and go back to the best state.

    Returns what it gains, and how many edges were looked at. Keys on the heap are upper bounds of gains: the gain is
    computed again when a vertex comes first.
    """
    gained, best, count, kept, looks = 0.0, 0.0, np.int64(0), np.int64(0), 0
    while size > _ZERO and count - kept < patience:
        v = np.uint64(heap[_ZERO])
        looks += np.int64(ends[v]) - np.int64(starts[v])
        to, gain = _best_part(
            starts, ends, indices, values, weights, part, loads, limits, sizes, needs, members, own, total, sums, near,
            v,
        )  # fmt: skip
        if to == np.uint64(part[v]):
            size = pop(heap, place, keys, size, _NONE)
        elif gain < keys[v]:
            keys[v] = gain
            sink(heap, place, keys, _ZERO, size)
        else:
            size = pop(heap, place, keys, size, _LOCKED)
            mine = np.uint64(part[v])
            moved[np.uint64(count)], came[np.uint64(count)] = v, mine
            count += 1
            gained += gain
            looks += 3 * (np.int64(ends[v]) - np.int64(starts[v]))  # to move it, to tell its neighbors, and back
            _move(starts, ends, indices, values, weights, part, loads, sizes, members, own, total, v, to)
            if gained > best:
                best, kept = gained, count
            for k in range(np.uint64(starts[v]), np.uint64(ends[v])):
                u = np.uint64(indices[k])
                weight = 1.0 if values is None else values[k]
                p = np.uint64(part[u])
                if place[u] >= 0:
                    if p == to:
                        keys[u] -= weight + weight
                        sink(heap, place, keys, np.uint64(place[u]), size)
                    else:
                        keys[u] += weight if p != mine else weight + weight
                        rise(heap, place, keys, np.uint64(place[u]))
                elif np.int64(place[u]) == _NONE and p != to:
                    size = push(heap, place, keys, size, u, total[u] - own[u] - own[u])
    while count > kept:
        count -= 1
        v = np.uint64(moved[np.uint64(count)])
        _move(
            starts, ends, indices, values, weights, part, loads, sizes, members, own, total, v,
            np.uint64(came[np.uint64(count)]),
        )  # fmt: skip
    for i in range(size):
        place[np.uint64(heap[i])] = _NONE
    return best, looks


@compiled
def _relieve(
    starts, ends, indices, values, weights, part, loads, limits, sizes, needs, members, own, total, sums, near, heap,
    place, keys,
):  # fmt: skip
    """Move vertices out of the parts that are too heavy, those first that lose least.

    It ends well: if a part is too heavy, the one that is farthest below its limit has room for any of its vertices.
    """
    n, parts, size = np.uint64(len(part)), np.uint64(len(loads)), _ZERO
    for v in range(n):
        p = np.uint64(part[v])
        if loads[p] > limits[p] and weights[v] > 0:
            size = push(heap, place, keys, size, v, total[v] - own[v] - own[v])
    while size > _ZERO:
        v = np.uint64(heap[_ZERO])
        mine = np.uint64(part[v])
        if loads[mine] <= limits[mine] or members[mine] - np.int64(sizes[v]) < needs[mine]:
            size = pop(heap, place, keys, size, _LOCKED)
        else:
            to, gain = _best_part(
                starts, ends, indices, values, weights, part, loads, limits, sizes, needs, members, own, total, sums,
                near, v,
            )  # fmt: skip
            if to == mine:
                gain = -own[v]
                for p in range(parts):
                    if limits[p] - loads[p] > limits[to] - loads[to]:
                        to = p
            if gain < keys[v]:
                keys[v] = gain
                sink(heap, place, keys, _ZERO, size)
            else:
                size = pop(heap, place, keys, size, _LOCKED)
                _move(starts, ends, indices, values, weights, part, loads, sizes, members, own, total, v, to)
                for k in range(np.uint64(starts[v]), np.uint64(ends[v])):
                    u = np.uint64(indices[k])
                    if place[u] >= 0:
                        weight = 1.0 if values is None else values[k]
                        keys[u] += weight if np.uint64(part[u]) != mine else weight + weight
                        rise(heap, place, keys, np.uint64(place[u]))


@compiled
def _send_less(starts, ends, indices, weights, part, loads, limits, members, more, seen, met, near, most_looks):
    """Move each vertex to the neighboring part with room that lessens the volume most. Return how many have moved.

    If a vertex moves to a part, `more` neighbors see that part for the first time. `seen` tells which parts the
    neighbor at hand sees besides this vertex, by a number of its own. `met` tells which neighbors were counted: each is
    once, whatever its parallel edges.
    """
    count, number = 0, np.int64(0)
    for i in range(np.uint64(len(seen))):
        seen[i] = 0
    for i in range(np.uint64(len(met))):
        met[i] = -1
    for v in range(np.uint64(len(part))):
        mine, low, high = np.uint64(part[v]), np.uint64(starts[v]), np.uint64(ends[v])
        number += 1
        parts, looks = _ZERO, np.int64(0)
        for k in range(low, high):
            u = np.uint64(indices[k])
            looks += np.int64(ends[u]) - np.int64(starts[u])
            p = np.uint64(part[u])
            if u != v and seen[p] != number:
                seen[p] = number
                near[parts] = p
                more[p] = 0
                parts += _ONE
        is_alone = np.int64(seen[mine] != number)
        if looks <= most_looks and members[mine] > 1 and parts > np.uint64(1 - is_alone):
            leaving = is_alone
            for k in range(low, high):
                u = np.uint64(indices[k])
                own = np.uint64(part[u])
                if u != v and np.int64(met[u]) != np.int64(v):
                    met[u] = v
                    number += 1
                    for j in range(np.uint64(starts[u]), np.uint64(ends[u])):
                        w = np.uint64(indices[j])
                        if w != v:
                            seen[np.uint64(part[w])] = number
                    leaving += np.int64(own != mine and seen[mine] != number)
                    for j in range(parts):
                        p = np.uint64(near[j])
                        more[p] += np.int64(own != p and seen[p] != number)
            best, least = mine, leaving
            for j in range(parts):
                p = np.uint64(near[j])
                if p != mine and more[p] < least and loads[p] + weights[v] <= limits[p]:
                    best, least = p, more[p]
            if best != mine:
                loads[mine] -= weights[v]
                loads[best] += weights[v]
                members[mine] -= 1
                members[best] += 1
                part[v] = best
                count += 1
    return count


@compiled
def _measure(starts, ends, indices, values, part, mark, cut):
    """Set the cut, and return the communication volume. `mark` has no vertex yet for each part."""
    twice, volume = 0.0, 0
    for v in range(np.uint64(len(part))):
        for k in range(np.uint64(starts[v]), np.uint64(ends[v])):
            p = np.uint64(part[np.uint64(indices[k])])
            if p != np.uint64(part[v]):
                twice += 1.0 if values is None else values[k]
                volume += np.uint64(mark[p]) != v
                mark[p] = v
    cut[0] = twice / 2
    return volume
