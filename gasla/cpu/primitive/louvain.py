"""Find communities by the methods of Louvain and Leiden: vertices move one by one, then communities are contracted.

A vertex moves to the community with the largest gain, and sees all earlier moves, so no move lowers the quality. A
sweep visits the vertices of which enough neighbors in other communities have moved since their last visit. The weights
of the edges to neighboring communities are added up in `totals`, an array with one entry for each label, which is 0
between two uses; `near` has the labels whose entry is not 0. Vertices move on one thread, and contraction uses all
threads.

Sums of weights are exact if the weights are multiples of one number and their sum is at most 2**53 times as large. Then
results depend neither on the order of adjacency lists nor on the number of threads.

V. D. Blondel, J.-L. Guillaume, R. Lambiotte, E. Lefebvre: Fast unfolding of communities in large networks. Journal of
Statistical Mechanics (2008).
V. A. Traag, L. Waltman, N. J. van Eck: From Louvain to Leiden: guaranteeing well-connected communities. Scientific
Reports 9 (2019).

Parameters of the kernels
-------------------------
thread, threads :
    index of this thread, from 0, and the number of threads of the run
control :
    (72,) int64 array that all threads of the run share: counters by which they take blocks of work and wait for each
    other, and the flag that stops the run
starts, ends, indices, values :
    (n,) and (n,) int64, where the adjacency list of each vertex starts and ends in the other two arrays; (m,) ids of
    neighbors; (m,) weights of edges, or None if each edge weighs 1
a, b :
    (n,) float64 numbers of each vertex. The penalty for vertex v in a community is `share` times a[v] times the sum of
    `b` there, plus `share` times b[v] times the sum of `a` there. If `b` is None, it is `share` times a[v] times the
    sum of `a`.
sizes, most_size :
    (n,) float64, the size of each vertex, or None; the largest summed size of a community
fixed :
    (n,) bool, whether each vertex must stay in its community, or None
label, within :
    (n,) ids, the community of each vertex; (n,) ids, the larger communities that vertices may not leave, or None
share :
    factor of the penalty
first, step, runs :
    the order in which vertices are visited, as `visits` takes it
due :
    (n,) int32, how many neighbors of each vertex have moved since its last visit
totals, near :
    scratch: (n,) weights by community, 0 between two uses; (n,) ids of the communities that are not 0. In `_contract`,
    each thread has a row of both.
empty, members :
    (n + 1,) ids, the labels that no vertex has; (n,) ids, how many vertices have each label
sum_a, sum_b, sum_sizes :
    (n,) float64, the sums of `a`, `b` and `sizes` over each community
v, low, high :
    a vertex, and the range of its adjacency list
group, community, above :
    (n,) ids, the group of each vertex; (n,) ids, the community of each vertex; (groups,) ids, the community of each
    group
order, bounds, places :
    (n,) ids, the vertices by group; (groups + 1,) int64, where each group begins in `order`; (groups + 1,) int64, where
    the edges of each group begin in the new lists
to_ends, to_ids, to_values :
    ends, neighbors and weights of the new lists, whose vertices are groups; they are written
"""

# mypy: disable-error-code="no-untyped-def"
from collections.abc import Iterator
from math import gcd
from typing import Any, NamedTuple

import numpy as np

from gasla.apart import run_apart
from gasla.compiler.function import compiled
from gasla.cpu.kernels.draws import mixed
from gasla.cpu.runtime.blocks import blocks, inlined, run, threads_for

Array = np.ndarray[Any, Any]

# a search on more adjacency-list entries than this runs in another thread, so that Ctrl-C ends the wait at once
APART = 1 << 20
MOST_SWEEPS = 32  # on one level of the graph, vertices are visited in at most this many sweeps
_FEW = np.uint64(100)  # the sweeps over a level end when at most one in _FEW vertices has moved in a sweep
# a vertex is visited again when at least one in _PART of its neighbors has moved since its last visit
_PART = np.uint64(32)
# this many vertices with consecutive ids are visited in a row, because their adjacency lists are adjacent in memory
_RUN = np.uint64(64)
_BLOCK = np.uint64(16)  # number of groups that a thread contracts before it takes the next block of groups
_ZERO, _ONE = np.uint64(0), np.uint64(1)


class Level(NamedTuple):
    """The adjacency lists of one of the graphs that arise when communities are contracted, level by level.

    The list of vertex v is at positions ``starts[v]`` to ``ends[v]`` of `indices`.
    """

    starts: Array
    ends: Array
    indices: Array
    values: Array | None  # weight of each entry of `indices`, or None if every edge weighs 1


class Vertices(NamedTuple):
    """The numbers of each vertex from which the gain of joining a community is computed.

    The gain of vertex v is w - share * (a[v] * B + b[v] * A). Here w is the weight of v's edges to the community, and A
    and B are the sums of `a` and `b` over the community's vertices. If `b` is None, the gain is w - share * a[v] * A.
    """

    a: Array
    b: Array | None
    sizes: Array | None  # size of each vertex; None if the sizes of communities are not limited
    fixed: Array | None  # whether each vertex must stay in its community; None if all vertices may move

    def contracted(self, groups: Array, count: int) -> "Vertices":
        """Return the `Vertices` of the contracted graph, in which each group of vertices of this graph becomes one
        vertex.

        `groups` has the group of each vertex, from 0 to `count` - 1. In the result, `a`, `b` and `sizes` of a group are
        the sums over its vertices. A group must stay in its community (`fixed`) if any of its vertices must.
        """

        def sums(each: Array | None) -> Array | None:
            return None if each is None else np.bincount(groups, each, count)

        fixed = sums(self.fixed)
        a: Any = sums(self.a)
        return Vertices(a, sums(self.b), sums(self.sizes), None if fixed is None else fixed > 0)


def louvain_levels(
    lists: tuple[Array, Array, Array | None],
    community: Array,
    vertices: tuple[Array, Array | None, Array | None, Array | None],
    limits: tuple[float, float],
    seed: int,
    refine: bool,
    iterations: int,
) -> list[Array]:
    """Return the community of every vertex after each level of contraction, by the method of Louvain or Leiden.

    The search starts from the communities `community`. See `gasla.engines.Primitives`.
    """
    indptr, indices, values = lists
    level = Level(indptr[:-1], indptr[1:], indices.astype(community.dtype, copy=False), values)
    vertex_numbers, levels_of_starts = Vertices(*vertices), list[list[Array]]()

    def search() -> Iterator[None]:
        first = community
        for number in range(iterations):
            levels = list[Array]()
            levels_of_starts.append(levels)
            yield from _find_levels(level, first.copy(), vertex_numbers, limits, seed + number, refine, levels)
            if not levels or np.array_equal(first, levels[-1]):
                break
            first = levels[-1]

    if len(indices) <= APART:
        for _ in search():
            pass
    else:
        run_apart(search())
    return levels_of_starts[-1]


def degrees(indptr: Array, weights: Array | None) -> Array:
    """Return the sum of the weights of each vertex's edges, or the number of its edges if there are no weights."""
    if weights is None:
        return np.diff(indptr).astype(np.float64)
    sums = np.empty(len(indptr) - 1)
    _add_weights(indptr, weights, sums)
    return sums


def _find_levels(
    level: Level,
    community: Array,
    vertex_numbers: Vertices,
    limits: tuple[float, float],
    seed: int,
    refine: bool,
    levels: list[Array],
) -> Iterator[None]:
    """Find communities level by level: append an array with the community of each vertex to `levels` after each level.

    This generator yields between steps, so that it can be stopped there. It holds references to all arrays that it
    reads and writes, so it may go on in its own thread after Ctrl-C has interrupted its caller.
    """
    while True:  # ends at the latest when one group is left, since each level has fewer vertices than the level before
        yield
        _move_vertices(level, community, None, vertex_numbers, limits, seed)
        groups = community
        if refine:
            yield
            groups = _single_vertex_parts(community, vertex_numbers.fixed)
            _move_vertices(level, groups, community, vertex_numbers, limits, seed)
            renumber(community, np.empty_like(community))
        count = renumber(groups, np.empty_like(groups))
        if count == len(groups):
            return
        levels.append(groups[levels[-1]] if levels else groups)
        yield
        level, community = contracted(level, groups, community, count)
        vertex_numbers = vertex_numbers.contracted(groups, count)


def _single_vertex_parts(community: Array, fixed: Array | None) -> Array:
    """Return labels that put each vertex into a part of its own, from which the refinement of Leiden starts.

    Fixed vertices of the same community share a part instead.
    """
    parts = np.arange(len(community), dtype=community.dtype)
    if fixed is not None:
        vertices = np.flatnonzero(fixed)
        _, first_positions, community_index = np.unique(community[vertices], return_index=True, return_inverse=True)
        parts[vertices] = vertices[first_positions[community_index]]
    return parts


def _move_vertices(
    level: Level, label: Array, within: Array | None, vertex_numbers: Vertices, limits: tuple[float, float], seed: int
) -> None:
    """Move vertices to the communities in which they have the largest gain, by changing `label` in place.

    With `within`, a vertex moves only if it is alone in its community, and only to communities in the same larger
    community, which `within` holds.
    """
    n, ids = len(label), label.dtype
    due = np.maximum((level.ends - level.starts).astype(np.int32), 1)
    if vertex_numbers.fixed is not None:
        due[vertex_numbers.fixed] = 0
    runs = max(-(-n // int(_RUN)), 1)
    first = int(mixed(np.uint64(seed & (2**64 - 1)), np.uint64(n)))
    step = next(step for step in range(first % runs, first % runs + runs + 1) if gcd(step, runs) == 1)
    order = np.uint64(first % runs), np.uint64(step), np.uint64(runs)
    totals = np.zeros(n, np.int32 if level.values is None else np.float64)
    scratch = due, totals, np.empty(n, ids), np.empty(n + 1, ids), np.zeros(n, ids)
    sums = [None if each is None else np.zeros(n) for each in vertex_numbers[:3]]
    _move(*level, *vertex_numbers, label, within, *limits, *order, *scratch, *sums)


def contracted(level: Level, groups: Array, community: Array, count: int) -> tuple[Level, Array]:
    """Return the graph whose `count` vertices are the groups, and the community of each group."""
    n, m, ids = len(groups), len(level.indices), groups.dtype
    team = threads_for(n + m)
    above, order, bounds = np.empty(count, ids), np.empty(n, ids), np.zeros(count + 1, np.int64)
    places, ends = np.zeros(count + 1, np.int64), np.empty(count, np.int64)
    _sort_by_group(level.starts, level.ends, groups, community, above, order, bounds, places)
    totals = np.zeros((team, count), np.int32 if level.values is None else np.float64)
    near = np.empty((team, count + 1), ids)
    indices, values = np.empty(m, ids), np.empty(m)
    own = order, bounds, places, totals, near, ends, indices, values
    run(_contract, n + m, *level, groups, *own, most=n + m, team=team)
    return Level(places[:-1], ends, indices, values), above


# --- compiled kernels that move vertices and contract communities -----------------------------------------------------


@compiled
def _add_weights(indptr, values, sums):
    """Store the sum of the weights of each vertex's edges in `sums`."""
    for v in range(np.uint64(len(sums))):
        total = 0.0
        for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
            total += values[k]
        sums[v] = total


@inlined
def _penalty(share, a, b, v, sum_a, sum_b, c):
    """Return the penalty by which the gain of vertex v in community c is less than the weight of v's edges to c."""
    if b is None:
        return share * a[v] * sum_a[c]
    return share * (a[v] * sum_b[c] + b[v] * sum_a[c])


@inlined
def _sum_by_community(numbers, community, sums):
    """Set ``sums[c]`` to the sum of a number that each vertex has, such as its size, over community c."""
    if numbers is not None:
        n = np.uint64(len(numbers))
        for v in range(n):
            sums[v] = 0.0
        for v in range(n):
            sums[np.uint64(community[v])] += numbers[v]


@inlined
def _move_between_sums(numbers, sums, v, old_label, new_label):
    """Move a number that vertex v has, such as its size, from the sum of its old community to the sum of its new
    community.

    `numbers` has the number of each vertex, and `sums` the sum over each community.
    """
    if numbers is not None:
        sums[old_label] -= numbers[v]
        sums[new_label] += numbers[v]


@compiled
def visits(n, first, step, runs):
    """Yield all vertices, in runs of 64 consecutive ids.

    The order of the runs is scattered, since vertices of large degree often have the smallest ids. Run number `first`
    comes first, and each next run is `step` runs further on, modulo `runs`.
    """
    run = first
    for _ in range(runs):
        for v in range(run * _RUN, min(run * _RUN + _RUN, n)):  # noqa: UP028 - the language has no `yield from`
            yield v
        run = (run + step) % runs


@compiled
def _move(
    starts, ends, indices, values, a, b, sizes, fixed, label, within, share, most_size, first, step, runs, due, totals,
    near, empty, members, sum_a, sum_b, sum_sizes,
):  # fmt: skip
    """Move vertices to the communities with the largest gain, in sweeps over all vertices, until few still move.

    If `within` is given, there is a single sweep. ``due[v]`` counts the neighbors of v that have moved since v was
    visited. The first `spare` entries of `empty` are the unused labels.
    """
    n = np.uint64(len(label))
    _sum_by_community(a, label, sum_a)
    _sum_by_community(b, label, sum_b)
    _sum_by_community(sizes, label, sum_sizes)
    spare = _count_members(label, members, empty)
    for _sweep in range(MOST_SWEEPS):
        moved = _ZERO
        for v in visits(n, first, step, runs):
            old_label, low, high = np.uint64(label[v]), np.uint64(starts[v]), np.uint64(ends[v])
            if due[v] > 0 and np.uint64(due[v]) * _PART >= high - low and (within is None or members[old_label] == 1):
                due[v] = 0
                count = _weigh_communities(indices, values, label, within, v, low, high, totals, near)
                own_penalty = _penalty(share, a, b, v, a, b, v)
                best_label, largest_gain = (
                    old_label,
                    totals[old_label] - (_penalty(share, a, b, v, sum_a, sum_b, old_label) - own_penalty),
                )
                if largest_gain < 0 and members[old_label] > 1:
                    best_label, largest_gain = np.uint64(empty[spare - _ONE]), 0.0
                for j in range(count):
                    c = np.uint64(near[j])
                    gain = totals[c] - _penalty(share, a, b, v, sum_a, sum_b, c)
                    totals[c] = 0
                    has_room = sizes is None or sum_sizes[c] + sizes[v] <= most_size
                    if (
                        c != old_label
                        and has_room
                        and (
                            gain > largest_gain or (gain == largest_gain and best_label != old_label and c < best_label)
                        )
                    ):
                        best_label, largest_gain = c, gain
                if best_label != old_label:
                    moved += _ONE
                    label[v] = best_label
                    _move_between_sums(a, sum_a, v, old_label, best_label)
                    _move_between_sums(b, sum_b, v, old_label, best_label)
                    _move_between_sums(sizes, sum_sizes, v, old_label, best_label)
                    spare = _update_members(members, empty, spare, old_label, best_label)
                    if within is None:
                        _notify_neighbors(indices, label, fixed, low, high, best_label, due)
        if within is not None or moved * _FEW <= n:
            break


@inlined
def _count_members(label, members, empty):
    """Count the vertices that have each community label in `members`, and store the unused labels in `empty`.

    Return the number of unused labels.
    """
    n, spare = np.uint64(len(label)), _ZERO
    for v in range(n):
        members[np.uint64(label[v])] += 1
    for v in range(n):
        empty[spare] = v
        spare += np.uint64(members[v] == 0)
    return spare


@inlined
def _update_members(members, empty, spare, old_label, new_label):
    """Update `members`, the number of vertices of each community, after a vertex has moved to another community.

    The vertex had the label `old_label`, and now has `new_label`. The first `spare` entries of `empty` are the unused
    labels, and are updated as well. Return their new number.
    """
    spare -= np.uint64(members[new_label] == 0)
    members[old_label] -= 1
    members[new_label] += 1
    empty[spare] = old_label
    return spare + np.uint64(members[old_label] == 0)


@inlined
def _weigh_communities(indices, values, label, within, v, low, high, totals, near):
    """Add up the weights of vertex v's edges to each neighboring community, in `totals`.

    Returns the number of these communities, whose labels are in `near`.
    """
    count, one = _ZERO, totals.dtype.type(1)
    for k in range(low, high):
        u = np.uint64(indices[k])
        if u != v and (within is None or within[u] == within[v]):
            c = np.uint64(label[u])
            total, weight = totals[c], one if values is None else values[k]
            near[count] = c
            count += np.uint64((total == 0) & (weight > 0))
            totals[c] = total + weight
    return count


@inlined
def _notify_neighbors(indices, label, fixed, low, high, best, due):
    """Tell the neighbors u of a vertex that it has moved to community `best`: add 1 to ``due[u]``.

    Neighbors in community `best` and fixed vertices are left out, because the move gives them no reason to move.
    """
    for k in range(low, high):
        u = np.uint64(indices[k])
        if fixed is None or not fixed[u]:
            due[u] += np.int32(np.uint64(label[u]) != best)


@compiled
def renumber(label, number):
    """Renumber community labels from 0, in the order of the smallest vertex of each community, in place.

    Return the number of communities.
    """
    n, count = np.uint64(len(label)), 0
    for v in range(n):
        number[v] = -1
    for v in range(n):
        c = np.uint64(label[v])
        if number[c] < 0:
            number[c] = count
            count += 1
        label[v] = number[c]
    return count


@compiled
def _sort_by_group(starts, ends, group, community, above, order, bounds, places):
    """Sort the vertices by group into `order`, before each group is contracted to one vertex.

    The vertices of group g are at positions ``bounds[g]`` to ``bounds[g + 1]``. The adjacency list of group g in the
    contracted graph begins at ``places[g]``, with room for all edges of the group's vertices.
    """
    n, count = np.uint64(len(group)), np.uint64(len(above))
    for v in range(n):
        g = np.uint64(group[v])
        bounds[g] += 1
        places[g] += np.int64(ends[v]) - np.int64(starts[v])
        above[g] = community[v]
    before, place = np.int64(0), np.int64(0)
    for g in range(count + _ONE):
        before, bounds[g] = before + bounds[g], before
        place, places[g] = place + places[g], place
    for v in range(n):
        g = np.uint64(group[v])
        order[np.uint64(bounds[g])] = v
        bounds[g] += 1
    for i in range(count):
        g = count - i
        bounds[g] = bounds[g - _ONE]
    bounds[_ZERO] = 0


@compiled
def _contract(
    thread, threads, control, starts, ends, indices, values, group, order, bounds, places, totals, near, to_ends,
    to_ids, to_values,
):  # fmt: skip
    """Write the adjacency lists of the graph whose vertices are groups, with the weights of parallel edges added up."""
    count, row, one = np.uint64(len(to_ends)), np.uint64(thread), totals.dtype.type(1)
    for first, last in blocks(control, count, _BLOCK):
        for g in range(first, last):
            near_count, end = _ZERO, np.uint64(places[g])
            for i in range(np.uint64(bounds[g]), np.uint64(bounds[g + _ONE])):
                v = np.uint64(order[i])
                for k in range(np.uint64(starts[v]), np.uint64(ends[v])):
                    other_group = np.uint64(group[np.uint64(indices[k])])
                    total, weight = totals[row, other_group], one if values is None else values[k]
                    near[row, near_count] = other_group
                    near_count += np.uint64((total == 0) & (weight > 0))
                    totals[row, other_group] = total + weight
            for j in range(near_count):
                other_group = np.uint64(near[row, j])
                to_ids[end] = other_group
                to_values[end] = totals[row, other_group]
                totals[row, other_group] = 0
                end += _ONE
            to_ends[g] = end
