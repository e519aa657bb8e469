"""Partition a graph into k parts of nearly equal weight with a small cut, by multilevel partitioning.

Coarsening: vertices join a neighboring group, level by level, until few groups are left. The coarsest graph is halved
recursively: one half grows around a start vertex, and the best of several starts is taken. Refinement: the parts are
carried back from each level to the finer one, where vertices on the boundary move to the part that lowers the cut most.
A search goes on for a while when no move lowers the cut, and ends by going back to the best state that it has seen.

In skewed graphs most edges are in a dense core, which groups hide. Therefore the finest levels of such graphs are also
*peeled*: starting with nearly all vertices in one half, vertices leave this half, those first that raise the cut least,
until it has its share of the weight.

Two attempts with different seeds are made, and the better one is taken. In a skewed graph, the second attempt halves
the graph itself instead of the coarsest one. If parts may weigh much more than the mean, the halves hardly constrain
the parts that are made of them. Then a third attempt, called even, makes parts of nearly equal weight, which are
improved within the wide limits at the end. Each attempt moves vertices on a thread of its own, and contracts graphs on
all threads. Sums of weights are exact if the weights are multiples of one number and their sum is at most 2**53 times
as large. Then results do not depend on the number of threads.

G. Karypis, V. Kumar: A fast and high quality multilevel scheme for partitioning irregular graphs. SIAM Journal on
Scientific Computing 20 (1998).
H. Meyerhenke, P. Sanders, C. Schulz: Partitioning complex networks via size-constrained clustering. SEA 2014.
C. M. Fiduccia, R. M. Mattheyses: A linear-time heuristic for improving network partitions. DAC 1982.

Parameters of the kernels
-------------------------
starts, ends, indices, values :
    (n,) and (n,) int64, where the adjacency list of each vertex starts and ends in the other two arrays; (m,) ids of
    neighbors; (m,) weights of edges, or None if each edge weighs 1
weights :
    (n,) float64, the weight of each vertex
part, side :
    (n,) ids, the part of each vertex from 0 to k - 1; where there are two parts, its side, 0 or 1
loads, limits :
    (k,) float64, the current weight of each part, and the largest weight that it may have
sizes :
    (n,) ids, the number of vertices of the original graph that each vertex of a coarser graph stands for
needs, members :
    (k,) int64, the smallest number of original vertices that each part must have, and the number that it has now
own, total :
    (n,) float64, the summed weight of each vertex's edges within its part, and of all its edges
sums, near :
    scratch: (k,) float64, the weight of edges to each neighboring part, 0 between two uses; (k + 1,) ids, the parts
    whose sum is not 0
heap, place, keys :
    (n,) ids, a binary heap of vertices, the largest key first; (n,) ids, the position of each vertex on the heap, or
    `_NONE` or `_LOCKED`; (n,) float64, the key of each vertex
moved, came :
    (n,) ids, the vertices that a search has moved, in order, and the part that each of them left
size, patience :
    number of vertices on the heap; number of moves without a new best state after which a search ends
v, to :
    a vertex, and the part that it moves to
share, queue, best, state :
    float, the weight that side 0 should have; (n,) ids, the queue of a breadth-first search; (n,) ids, the best sides
    so far; uint64, the seed of random numbers
most, label, loads, favorite :
    in `_join_groups`, the largest weight of a group; (n,) ids, the group of each vertex; (n,) float64, the weight of
    each group; (n,) ids, the group that each vertex would have joined if it were not full
first, step, runs :
    the order in which vertices are visited, as `louvain.visits` takes it
which, number :
    in `_copy_side`, the side to copy, and (n,) int64, the new number of each vertex on that side
to_starts, to_ends, to_indices, to_values :
    adjacency lists that are written, in the form of `starts`, `ends`, `indices` and `values`
more, seen, met, most_looks :
    in `_lower_volume`, (k,) int64, for each part the number of neighbors that would see it for the first time; (k,)
    int64 and (n,) ids, marks of parts and of neighbors that were counted; the largest number of edges to read for one
    vertex
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

# if the adjacency lists have more entries than this, each attempt to divide the graph runs in a thread of its own
SIDE_BY_SIDE = 1 << 15
# the graph that is divided into k parts is coarsened until at most this many groups of vertices per part are left
FEW = 15
FEWEST = 120  # coarsening ends at this number of groups of vertices, even if fewer would do for the number of parts
# largest weight of a group of vertices that coarsening forms, in multiples of the average weight of a vertex
GROWTH = 4.0
SHRINKS = 0.95  # coarsening ends when the next coarser graph would still have more than this fraction of the vertices
SKEWED = 10  # a graph is called skewed if its largest degree is more than this many times the mean degree
# the coarsest graph is halved from this many start vertices, and the halves with the smallest cut are taken
STARTS = 12
# the attempt that makes parts of nearly equal weight lets a part weigh at most this fraction more than the mean
TIGHT = 0.1
# the attempt that makes parts of nearly equal weight treats a vertex as if it weighed at most this many times the
# median
HEAVY = 2.0
EVEN = 2  # number of the third attempt to divide the graph, which makes parts of nearly equal weight

PASSES = 6  # at most this many times, a level of the graph is refined by moving vertices on the boundary of parts
ROUNDS = 3  # at most this many times, a separate search for better moves is started from every single boundary vertex
SHORT = 12  # a search that starts from a single boundary vertex ends after this many moves without a new smallest cut
# all searches from single boundary vertices together read at most this many times the number of the graph's edges
MOST_SHORT = 2
PEELS = 3  # a skewed graph is also halved by peeling vertices off one half, on this many of the finest levels
PATIENCE = 150  # a search that starts from all boundary vertices ends after this many moves without a new smallest cut
# a vertex is not moved to lower the communication volume if its neighbors have more edges than this, to save time
MOST_LOOKS = 1 << 14
# what `place` holds for a vertex that has no position on the heap: `_LOCKED` if this search has already moved the
# vertex, or else `_NONE`
_NONE, _LOCKED = np.int64(-1), np.int64(-2)
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
    """Return a partition of a graph into k parts of nearly equal weight, with a small cut or a small communication
    volume.

    The result is the part of each vertex, the weight of the cut, and the communication volume. See
    `gasla.engines.HostOnly`.
    """
    indptr, indices, values = lists
    n, level = len(weights), Level(indptr[:-1], indptr[1:], indices, values)
    part = np.arange(n, dtype=indices.dtype)
    if n > k:
        mean, lengths = float(weights.sum()) / k, np.diff(indptr)
        largest_weight, even_weight = (1 + tolerance) * mean, (1 + min(tolerance, TIGHT)) * mean
        is_skewed = bool(lengths.max() > SKEWED * lengths.mean())
        has_heavy = _equal_limits(weights, k, even_weight)[0] > even_weight and weights.max() > HEAVY * weights.mean()
        cuts = dict[int, tuple[float, Array]]()
        attempts = [
            _divide(level, weights, k, largest_weight, seed, 0, cuts, 0),
            _divide(level, weights, k, largest_weight, seed + n, PEELS * is_skewed, cuts, 1),
        ]
        if largest_weight > even_weight or has_heavy:
            attempts.append(_divide(level, weights, k, even_weight, seed, 0, cuts, EVEN))
        if len(indices) > SIDE_BY_SIDE:
            run_apart(*attempts)
        else:
            for attempt in attempts:
                for _ in attempt:
                    pass
        best = min(sorted(cuts), key=lambda number: cuts[number][0])
        part = cuts[best][1]
        if best == EVEN and largest_weight > even_weight:
            call_apart(_refine_all, level, weights, part, k, largest_weight)
        if by_volume:
            call_apart(_lower_volume_in_passes, level, weights, part, _equal_limits(weights, k, largest_weight))
    cut = np.zeros(1)
    volume = _measure_cut(indptr[:-1], indptr[1:], indices, given, part, np.full(min(k, n), -1, indices.dtype), cut)
    return part, float(cut[0]), volume


def _divide(
    level: Level,
    weights: Array,
    k: int,
    max_weight: float,
    seed: int,
    peels: int,
    cuts: dict[int, tuple[float, Array]],
    number: int,
) -> Iterator[None]:
    """Make one attempt to divide the graph, and store its cut and the part of each vertex in ``cuts[number]``.

    This is a generator that yields between its steps, so that it can be stopped there. If `peels` is not 0, the graph
    itself is halved, and not the coarsest graph. The attempt with number `EVEN` limits the weight of heavy vertices to
    `HEAVY` times the median.

    Parameters
    ----------
    level, weights, k, seed :
        adjacency lists; (n,) float64, the weight of each vertex; number of parts; seed of this attempt
    max_weight, peels :
        what a part may weigh; number of levels at which the halves are peeled, 0 for a graph that is not skewed
    cuts, number :
        the results of all attempts, to which this one is added; the number of this attempt
    """
    levels, groups, limit = [(level, weights)], list[Array](), max_weight
    if number == EVEN:
        light = np.minimum(weights, HEAVY * np.median(weights[weights > 0]))
        levels, limit = [(level, light)], max_weight * float(light.sum() / weights.sum())
    if not peels:
        yield from _coarsen(levels, groups, max(FEW * k, FEWEST), seed, k)
    part = np.zeros(len(levels[-1][1]), level.indices.dtype)
    yield
    _halve(*levels[-1], np.arange(len(part)), part, 0, k, limit, seed, peels)
    loads = _sum_over_groups(levels, groups, weights)
    while True:
        (level, _), weights = levels.pop(), loads.pop()
        yield
        cut = _refine_all(level, weights, part, k, max_weight)
        if not groups:
            break
        part = part[groups.pop()]
    cuts[number] = cut, part


def _refine_all(level: Level, weights: Array, part: Array, k: int, max_weight: float) -> float:
    """Move vertices between all k parts to lower the cut, in place, and return the weight of the cut.

    No part becomes empty, and no part gets heavier than about `max_weight`.
    """
    sizes, needs = np.ones(len(part), part.dtype), np.ones(k, np.int64)
    return _refine_in_place(level, weights, part, _equal_limits(weights, k, max_weight), sizes, needs)


def _equal_limits(weights: Array, k: int, max_weight: float) -> Array:
    """Return a (k,) array that holds the same limit k times: the largest weight that a part may have.

    The limit is `max_weight`, or more if otherwise a heavy vertex could not be moved: any vertex of a part above its
    limit must fit into some other part.
    """
    return np.full(k, max(max_weight, float(weights.sum()) / k + (1 - 1 / k) * float(weights.max())))


def _coarsen(
    levels: list[tuple[Level, Array]], groups: list[Array], target_count: int, seed: int, fewest: int = 1
) -> Iterator[None]:
    """Coarsen a graph level by level, until a graph is small enough. Append each coarser graph to `levels`.

    The vertices of a coarser graph are groups of vertices of the finer one. The group of each vertex of the finer graph
    is appended to `groups`. A graph is small enough if it has at most `target_count` vertices. This ends earlier if the
    next graph would have fewer than `fewest` vertices, or hardly fewer than the graph before.
    """
    total = float(levels[0][1].sum())
    while (n := len(levels[-1][1])) > target_count:
        yield
        level, weights = levels[-1]
        max_group_weight = min(GROWTH * total / n, 1.5 * total / target_count)
        group, count = _form_groups(level, weights, max_group_weight, seed + len(groups))
        if count > SHRINKS * n or count < fewest:
            return
        yield
        edges = int((level.ends - level.starts).sum())
        coarser, _ = contracted(level, group, group, count)
        coarser = Level(coarser.starts, coarser.ends, coarser.indices[:edges], coarser.values[:edges])  # type: ignore[index]
        groups.append(group)
        levels.append((coarser, np.bincount(group, weights, count)))


def _sum_over_groups(levels: list[tuple[Level, Array]], groups: list[Array], values: Array) -> list[Array]:
    """Add up a number of each vertex, such as a weight, over the groups that are the vertices of coarser graphs.

    `levels` has the graphs from the finest to the coarsest, and `groups` the group of each vertex of all but the
    coarsest. Return a list with one array for each graph. The first array is `values`, the numbers for the finest
    graph.
    """
    sums = [values]
    for group, (_, coarser_weights) in zip(groups, levels[1:], strict=True):
        sums.append(np.bincount(group, sums[-1], len(coarser_weights)))
    return sums


def _form_groups(level: Level, weights: Array, max_group_weight: float, seed: int) -> tuple[Array, int]:
    """Put the vertices of a graph into groups, which are the vertices of the next coarser graph.

    A group weighs at most `max_group_weight`. Return the group of each vertex, numbered from 0, and the number of
    groups.
    """
    n, ids = len(weights), level.indices.dtype
    label, loads, favorites = np.arange(n, dtype=ids), weights.copy(), np.empty(n, ids)
    _join_groups(
        *level,
        weights,
        max_group_weight,
        label,
        loads,
        favorites,
        np.zeros(n),
        np.empty(n + 1, ids),
        *_visiting_order(n, seed),
    )
    _join_twins(weights, max_group_weight, label, loads, favorites, np.full(n + 1, -1, ids))
    return label, renumber(label, np.empty_like(label))


def _visiting_order(n: int, seed: int) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Return the arguments `first`, `step` and `runs` of `louvain.visits` for a pseudorandom order of n vertices."""
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
    max_weight: float,
    seed: int,
    peels: int,
) -> None:
    """Divide the vertices of a subgraph into k parts by recursive halving, and write the part of each vertex to `part`.

    The parts are numbered from `first`.

    Parameters
    ----------
    level, weights, vertices :
        adjacency lists of the vertices to divide; (count,) float64 weights and (count,) ids of these vertices
    part :
        (n,) ids, the part of each vertex of the whole graph, which is written
    first, k :
        number of the first part, and of parts
    max_weight, seed, peels :
        as for `_divide`
    """
    if k == 1 or len(vertices) == 0:
        part[vertices] = first
        return
    total = float(weights.sum())
    left_parts = k // 2
    share = total * np.array([left_parts, k - left_parts]) / k
    slack = max(1.0, (max_weight * k / total) ** (1 / (k - 1).bit_length())) if total else 1.0
    needs = np.array([left_parts, k - left_parts])
    side = _bisect(level, weights, share, slack, needs, seed, peels)
    _fill_side(level, side, needs)
    for which, count in ((0, left_parts), (1, k - left_parts)):
        (chosen,) = np.nonzero(side == which)
        lists = _subgraph_of_side(level, side, which, len(chosen)) if count > 1 else level
        start = first + which * left_parts
        _halve(lists, weights[chosen], vertices[chosen], part, start, count, max_weight, seed + which + 1, peels)


def _fill_side(level: Level, side: Array, needs: Array) -> None:
    """Move vertices, in place, to a side of a bisected graph that has too few vertices.

    A side is later divided into ``needs[side]`` parts, and no part may be empty. So the side needs at least that many
    vertices. The vertices that raise the cut least are moved first.
    """
    missing = needs - np.bincount(side, minlength=2)
    if (missing > 0).any():
        side_to_fill = int(missing.argmax())
        inner_weights, total_weights = np.empty(len(side)), np.empty(len(side))
        _weigh_parts(*level, side, inner_weights, total_weights)
        (movable,) = np.nonzero(side != side_to_fill)
        side[
            movable[np.argsort((2 * inner_weights - total_weights)[movable], kind="stable")[: missing[side_to_fill]]]
        ] = side_to_fill


def _subgraph_of_side(level: Level, side: Array, which: int, count: int) -> Level:
    """Return the subgraph of the vertices on side `which` (0 or 1) of a bisected graph, of which there are `count`."""
    number = np.cumsum(side == which) - 1
    m = int((level.ends - level.starts).sum())
    ids = level.indices.dtype
    starts, ends, indices = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(m, ids)
    values = np.empty(m)
    _copy_side(*level, side, which, number, starts, ends, indices, values)
    return Level(starts, ends, indices, values)


def _bisect(level: Level, weights: Array, share: Array, slack: float, needs: Array, seed: int, peels: int) -> Array:
    """Divide a graph into two sides by multilevel bisection, and return the side of each vertex, 0 or 1.

    This coarsens the graph, halves the coarsest graph, and refines the halves on each finer level. On the `peels`
    finest levels, it also makes halves by peeling vertices off one half, and takes the better halves.
    """
    levels, groups = [(level, weights)], list[Array]()
    for _ in _coarsen(levels, groups, FEWEST, seed):
        pass
    sizes = [
        vertex_counts.astype(level.indices.dtype)
        for vertex_counts in _sum_over_groups(levels, groups, np.ones(len(weights)))
    ]
    part = _grow_sides(*levels[-1], _limits(levels[-1][1], share, slack), sizes.pop(), needs, float(share[0]), seed)
    while groups:
        part = part[groups.pop()]
        levels.pop()
        level, weights = levels[-1]
        limits = _limits(weights, share, slack)
        level_sizes = sizes.pop()
        cut = _refine_in_place(level, weights, part, limits, level_sizes, needs)
        if len(levels) <= peels:
            peeled_part = np.ones_like(part)
            # side 0 has a single vertex and side 1 exceeds its limit, so refining moves vertices to side 0
            peeled_part[seed % len(peeled_part)] = 0
            if _refine_in_place(level, weights, peeled_part, limits, level_sizes, needs) < cut:
                part = peeled_part
    return part


def _grow_sides(
    level: Level, weights: Array, limits: Array, sizes: Array, needs: Array, share: float, seed: int
) -> Array:
    """Divide the coarsest graph into two sides from several start vertices. Return the sides with the smallest cut.

    From each start vertex, side 0 grows until it has the weight `share`, and then both sides are improved.
    """
    n = len(weights)
    best = np.zeros(n, level.indices.dtype)
    state = mixed(np.uint64(seed & (2**64 - 1)), np.uint64(n))
    side, queue = np.empty_like(best), np.empty_like(best)
    scratch = _new_scratch(best, 2)
    _grow_best(*level, weights, side, limits, sizes, needs, *scratch, share, np.uint64(state), queue, best)
    return best


def _limits(weights: Array, share: Array, slack: float) -> Array:
    """Return the largest weight that each of the two sides of a bisected graph may have, a (2,) array.

    `share` has the weight that each side should have, and `slack` the factor by which it may be exceeded. The limits
    are wide enough that any vertex of a side above its limit fits into the other side. A limit also leaves the other
    side at least an eighth of its share of the weight, unless there is a vertex too heavy for that.
    """
    return np.maximum(np.minimum(slack * share, share + share[::-1] * 7 / 8), share + weights.max() / 2)


def _refine_in_place(level: Level, weights: Array, part: Array, limits: Array, sizes: Array, needs: Array) -> float:
    """Move vertices between parts, in place: first until no part exceeds its limit, then to lower the cut.

    Return the weight of the cut. A vertex does not leave a part that would then have fewer vertices of the original
    graph than ``needs[part]``.
    """
    cut: float = _refine(*level, weights, part, limits, sizes, needs, *_new_scratch(part, len(limits)))
    return cut


def _new_scratch(part: Array, k: int) -> tuple[Array, ...]:
    """Return the scratch arrays that the kernel `_refine` works in, for n vertices and k parts."""
    n, ids = len(part), part.dtype
    loads, members, sums, near = np.empty(k), np.empty(k, np.int64), np.zeros(k), np.empty(k + 1, ids)
    own, total, keys = np.empty(n), np.empty(n), np.empty(n)
    heap, place, moved, came = (np.empty(n, ids) for _ in range(4))
    return loads, members, own, total, sums, near, heap, place, keys, moved, came


def _lower_volume_in_passes(level: Level, weights: Array, part: Array, limits: Array) -> None:
    """Move single vertices to other parts of a partition, in place, as long as this lowers its communication volume.

    The communication volume is the number of other parts in which each vertex has neighbors, summed over vertices.
    """
    k, ids = len(limits), part.dtype
    loads, members = np.bincount(part, weights, k), np.bincount(part, minlength=k)
    more, seen, met, near = np.zeros(k, np.int64), np.zeros(k, np.int64), np.empty(len(part), ids), np.empty(k, ids)
    starts, ends, indices, _ = level
    for _ in range(PASSES):
        if not _lower_volume(
            starts, ends, indices, weights, part, loads, limits, members, more, seen, met, near, MOST_LOOKS
        ):
            break


# --- compiled kernels that coarsen, divide and refine -----------------------------------------------------------------


@compiled
def _join_groups(starts, ends, indices, values, weights, most, label, loads, favorite, sums, near, first, step, runs):
    """Let each vertex that is the only one of its group join the group of a neighbor, to coarsen a graph.

    Of the neighboring groups, the vertex joins the one with the largest ratio of two weights: of the vertex's edges to
    the group, and of the group itself. A group that would weigh more than `most` is not joined.
    """
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
            best, favorite_group, best_rating, favorite_rating = v, n, 0.0, 0.0
            for j in range(count):
                c = np.uint64(near[j])
                rating = sums[c] / max(loads[c], 1e-300)
                sums[c] = 0.0
                if rating > favorite_rating:
                    favorite_group, favorite_rating = c, rating
                if rating > best_rating and loads[c] + weights[v] <= most:
                    best, best_rating = c, rating
            if best != v:
                label[v] = best
                loads[best] += weights[v]
                loads[v] = 0.0
            else:
                favorite[v] = favorite_group


@compiled
def _join_twins(weights, most, label, loads, favorite, waiting):
    """Put vertices that are still alone in their group together if they wanted to join the same group, which was full.

    Vertices without neighbors are grouped in the same way. ``waiting[f]`` is the last vertex that wanted group f.
    """
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
def _copy_side(starts, ends, indices, values, side, which, number, to_starts, to_ends, to_indices, to_values):
    """Copy the adjacency lists of the vertices on side `which` of a bisected graph, as lists of the subgraph of that
    side.

    Self-loops and neighbors on the other side are left out.
    """
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
    """Divide the graph into two sides from each of `STARTS` start vertices. Keep those with the smallest cut in `best`.

    For every second start vertex, side 0 first grows breadth-first from this vertex. For the others, side 0 has this
    vertex alone at first, and is filled by moves of single vertices.
    """
    n, smallest_cut = np.uint64(len(side)), 0.0
    for number in range(STARTS):
        for v in range(n):
            side[v] = 1
        first = mixed(state, np.uint64(number)) % n
        if number % 2 == 1:
            _grow(starts, ends, indices, weights, side, share, first, queue)
        else:
            # side 0 has a single vertex and side 1 exceeds its limit, so `_refine` moves vertices to side 0
            side[first] = 0
        cut = _refine(
            starts, ends, indices, values, weights, side, limits, sizes, needs, loads, members, own, total, sums, near,
            heap, place, keys, moved, came,
        )  # fmt: skip
        if number == 0 or cut < smallest_cut:
            smallest_cut = cut
            for v in range(n):
                best[v] = side[v]


@compiled
def _grow(starts, ends, indices, weights, side, share, first, queue):
    """Let side 0 of a bisected graph grow breadth-first from the vertex `first`, until it weighs about `share`.

    All vertices are on side 1 at the start. The search goes on at another vertex if a component is used up.
    """
    n, head, tail, load, next_start = np.uint64(len(side)), _ZERO, _ZERO, 0.0, first
    for _ in range(n):
        if head == tail:
            while side[next_start] == 0:
                next_start = (next_start + _ONE) % n
            side[next_start] = 0
            queue[tail] = next_start
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
    """Store the summed weight of each vertex's edges within its part in `own`, and that of all its edges in `total`.

    Self-loops do not count.
    """
    for v in range(np.uint64(len(part))):
        inner_weight, total_weight = 0.0, 0.0
        for k in range(np.uint64(starts[v]), np.uint64(ends[v])):
            u = np.uint64(indices[k])
            weight = 1.0 if values is None else values[k]
            weight = weight if u != v else 0.0
            total_weight += weight
            inner_weight += weight if part[u] == part[v] else 0.0
        own[v], total[v] = inner_weight, total_weight


@inlined
def _best_part(
    starts, ends, indices, values, weights, part, loads, limits, sizes, needs, members, own, total, sums, near, v,
):  # fmt: skip
    """Return the part to which vertex v should move, and by how much the move lowers the cut.

    Only parts of v's neighbors with room for v are considered. The result is v's own part if there is no such part, or
    if v's part would have fewer vertices than it needs.
    """
    own_part, count, weight = np.uint64(part[v]), _ZERO, weights[v]
    if members[own_part] - np.int64(sizes[v]) < needs[own_part]:
        return own_part, 0.0
    if len(limits) == 2:
        to = _ONE - own_part
        has_room = total[v] > own[v] and loads[to] + weight <= limits[to]
        return to if has_room else own_part, total[v] - own[v] - own[v]
    for k in range(np.uint64(starts[v]), np.uint64(ends[v])):
        p = np.uint64(part[np.uint64(indices[k])])
        old_sum, edge_weight = sums[p], 1.0 if values is None else values[k]
        near[count] = p
        count += np.uint64((old_sum == 0) & (edge_weight > 0))
        sums[p] = old_sum + edge_weight
    best, largest_sum = own_part, -1.0
    for j in range(count):
        p = np.uint64(near[j])
        has_room = p != own_part and loads[p] + weight <= limits[p]
        if has_room and (sums[p] > largest_sum or (sums[p] == largest_sum and loads[p] < loads[best])):
            best, largest_sum = p, sums[p]
        sums[p] = 0.0
    return best, largest_sum - own[v]


@inlined
def _move_vertex(starts, ends, indices, values, weights, part, loads, sizes, members, own, total, v, to):
    """Move vertex v to another part, `to`, of the partition, and update all sums that depend on the part of v.

    These are the weights of both parts, and the weights of edges within their part for v and for its neighbors.
    """
    old_part, inside = np.uint64(part[v]), 0.0
    loads[old_part] -= weights[v]
    loads[to] += weights[v]
    members[old_part] -= np.int64(sizes[v])
    members[to] += np.int64(sizes[v])
    part[v] = to
    for k in range(np.uint64(starts[v]), np.uint64(ends[v])):
        u = np.uint64(indices[k])
        weight = 1.0 if values is None else values[k]
        if u != v:
            p = np.uint64(part[u])
            if p == old_part:
                own[u] -= weight
            elif p == to:
                own[u] += weight
                inside += weight
    own[v] = inside


@compiled
def _refine(
    starts, ends, indices, values, weights, part, limits, sizes, needs, loads, members, own, total, sums, near, heap,
    place, keys, moved, came,
):  # fmt: skip
    """Move vertices between parts until no part exceeds its weight limit, then to lower the weight of the cut, and
    return it.
    """
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
        _relieve_heavy_parts(
            starts, ends, indices, values, weights, part, loads, limits, sizes, needs, members, own, total, sums, near,
            heap, place, keys,
        )  # fmt: skip
    _lower_cut(
        starts, ends, indices, values, weights, part, loads, limits, sizes, needs, members, own, total, sums, near,
        heap, place, keys, moved, came,
    )  # fmt: skip
    twice = 0.0
    for v in range(n):
        twice += total[v] - own[v]
    return twice / 2


@compiled
def _lower_cut(
    starts, ends, indices, values, weights, part, loads, limits, sizes, needs, members, own, total, sums, near, heap,
    place, keys, moved, came,
):  # fmt: skip
    """Lower the cut of a partition by searches that start with all boundary vertices, then by searches from each single
    one.

    A search moves vertices, and ends by going back to the best state that it has seen. A search from one vertex can
    leave a local minimum that a search from all vertices does not leave, because moves elsewhere would make up for its
    gain.
    """
    n = np.uint64(len(part))
    edges, total_edges_read = 0, 0
    for v in range(n):
        edges += np.int64(ends[v]) - np.int64(starts[v])
    for _pass in range(PASSES):
        size = _ZERO
        for v in range(n):
            place[v] = _NONE
            if total[v] > own[v]:
                size = push(heap, place, keys, size, v, total[v] - own[v] - own[v])
        gain, edges_read = _search(
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
            if total[v] > own[v] and np.int64(place[v]) == _NONE and total_edges_read < MOST_SHORT * edges:
                size = push(heap, place, keys, _ZERO, v, total[v] - own[v] - own[v])
                gain, edges_read = _search(
                    starts, ends, indices, values, weights, part, loads, limits, sizes, needs, members, own, total,
                    sums, near, heap, place, keys, moved, came, size, np.int64(SHORT),
                )  # fmt: skip
                gained += gain
                total_edges_read += edges_read
        if gained <= 0:
            break


@compiled
def _search(
    starts, ends, indices, values, weights, part, loads, limits, sizes, needs, members, own, total, sums, near, heap,
    place, keys, moved, came, size, patience,
):  # fmt: skip
    """Search for a smaller cut: move vertices to other parts, always the vertex with the largest gain, each at most
    once.

    At the end, go back to the state with the smallest cut. Return by how much the cut is lower, and how many edges were
    read. Keys on the heap are upper bounds of gains, so the gain of a vertex is computed again when the vertex comes
    first.
    """
    gained, best, count, best_count, edges_read = 0.0, 0.0, np.int64(0), np.int64(0), 0
    while size > _ZERO and count - best_count < patience:
        v = np.uint64(heap[_ZERO])
        edges_read += np.int64(ends[v]) - np.int64(starts[v])
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
            old_part = np.uint64(part[v])
            moved[np.uint64(count)], came[np.uint64(count)] = v, old_part
            count += 1
            gained += gain
            # v's edges are read three times: to move v, to update its neighbors' keys, and perhaps to move v back at
            # the end
            edges_read += 3 * (np.int64(ends[v]) - np.int64(starts[v]))
            _move_vertex(starts, ends, indices, values, weights, part, loads, sizes, members, own, total, v, to)
            if gained > best:
                best, best_count = gained, count
            for k in range(np.uint64(starts[v]), np.uint64(ends[v])):
                u = np.uint64(indices[k])
                weight = 1.0 if values is None else values[k]
                p = np.uint64(part[u])
                if place[u] >= 0:
                    if p == to:
                        keys[u] -= weight + weight
                        sink(heap, place, keys, np.uint64(place[u]), size)
                    else:
                        keys[u] += weight if p != old_part else weight + weight
                        rise(heap, place, keys, np.uint64(place[u]))
                elif np.int64(place[u]) == _NONE and p != to:
                    size = push(heap, place, keys, size, u, total[u] - own[u] - own[u])
    while count > best_count:
        count -= 1
        v = np.uint64(moved[np.uint64(count)])
        _move_vertex(
            starts, ends, indices, values, weights, part, loads, sizes, members, own, total, v,
            np.uint64(came[np.uint64(count)]),
        )  # fmt: skip
    for i in range(size):
        place[np.uint64(heap[i])] = _NONE
    return best, edges_read


@compiled
def _relieve_heavy_parts(
    starts, ends, indices, values, weights, part, loads, limits, sizes, needs, members, own, total, sums, near, heap,
    place, keys,
):  # fmt: skip
    """Move vertices out of the parts that exceed their weight limits, first those whose move raises the cut least.

    This always succeeds: if a part is too heavy, the part that is farthest below its limit has room for any of its
    vertices.
    """
    n, parts, size = np.uint64(len(part)), np.uint64(len(loads)), _ZERO
    for v in range(n):
        p = np.uint64(part[v])
        if loads[p] > limits[p] and weights[v] > 0:
            size = push(heap, place, keys, size, v, total[v] - own[v] - own[v])
    while size > _ZERO:
        v = np.uint64(heap[_ZERO])
        old_part = np.uint64(part[v])
        if loads[old_part] <= limits[old_part] or members[old_part] - np.int64(sizes[v]) < needs[old_part]:
            size = pop(heap, place, keys, size, _LOCKED)
        else:
            to, gain = _best_part(
                starts, ends, indices, values, weights, part, loads, limits, sizes, needs, members, own, total, sums,
                near, v,
            )  # fmt: skip
            if to == old_part:
                gain = -own[v]
                for p in range(parts):
                    if limits[p] - loads[p] > limits[to] - loads[to]:
                        to = p
            if gain < keys[v]:
                keys[v] = gain
                sink(heap, place, keys, _ZERO, size)
            else:
                size = pop(heap, place, keys, size, _LOCKED)
                _move_vertex(starts, ends, indices, values, weights, part, loads, sizes, members, own, total, v, to)
                for k in range(np.uint64(starts[v]), np.uint64(ends[v])):
                    u = np.uint64(indices[k])
                    if place[u] >= 0:
                        weight = 1.0 if values is None else values[k]
                        keys[u] += weight if np.uint64(part[u]) != old_part else weight + weight
                        rise(heap, place, keys, np.uint64(place[u]))


@compiled
def _lower_volume(starts, ends, indices, weights, part, loads, limits, members, more, seen, met, near, most_looks):
    """Move each vertex to the neighboring part with room for which the communication volume becomes smallest.

    The communication volume is the number of other parts in which each vertex has neighbors, summed over vertices.
    Returns the number of vertices that moved. While vertex v is considered, ``more[p]`` counts the neighbors that would
    see part p for the first time if v moved there. ``seen[p]`` holds the number of the neighbor that sees part p
    through another vertex. ``met[u]`` is the vertex for which neighbor u was counted last, so that parallel edges count
    once.
    """
    count, number = 0, np.int64(0)
    for i in range(np.uint64(len(seen))):
        seen[i] = 0
    for i in range(np.uint64(len(met))):
        met[i] = -1
    for v in range(np.uint64(len(part))):
        own_part, low, high = np.uint64(part[v]), np.uint64(starts[v]), np.uint64(ends[v])
        number += 1
        parts, edges_to_read = _ZERO, np.int64(0)
        for k in range(low, high):
            u = np.uint64(indices[k])
            edges_to_read += np.int64(ends[u]) - np.int64(starts[u])
            p = np.uint64(part[u])
            if u != v and seen[p] != number:
                seen[p] = number
                near[parts] = p
                more[p] = 0
                parts += _ONE
        is_alone = np.int64(seen[own_part] != number)
        if edges_to_read <= most_looks and members[own_part] > 1 and parts > np.uint64(1 - is_alone):
            leaving = is_alone
            for k in range(low, high):
                u = np.uint64(indices[k])
                part_of_u = np.uint64(part[u])
                if u != v and np.int64(met[u]) != np.int64(v):
                    met[u] = v
                    number += 1
                    for j in range(np.uint64(starts[u]), np.uint64(ends[u])):
                        w = np.uint64(indices[j])
                        if w != v:
                            seen[np.uint64(part[w])] = number
                    leaving += np.int64(part_of_u != own_part and seen[own_part] != number)
                    for j in range(parts):
                        p = np.uint64(near[j])
                        more[p] += np.int64(part_of_u != p and seen[p] != number)
            best_part, smallest_volume = own_part, leaving
            for j in range(parts):
                p = np.uint64(near[j])
                if p != own_part and more[p] < smallest_volume and loads[p] + weights[v] <= limits[p]:
                    best_part, smallest_volume = p, more[p]
            if best_part != own_part:
                loads[own_part] -= weights[v]
                loads[best_part] += weights[v]
                members[own_part] -= 1
                members[best_part] += 1
                part[v] = best_part
                count += 1
    return count


@compiled
def _measure_cut(starts, ends, indices, values, part, mark, cut):
    """Set ``cut[0]`` to the weight of the edges between parts, and return the communication volume.

    The volume is the number of other parts that each vertex has neighbors in, summed over vertices. ``mark[p]``, which
    is -1 at the start, is the last vertex for which part p was counted.
    """
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
