"""Louvain's and Leiden's methods without barriers: vertices move one after another, and communities are contracted.

A vertex moves to the community of the largest gain, and sees all earlier moves: no move lowers the quality. A sweep
visits the vertices that are due: those of which enough neighbors in other communities have moved since their last
visit. The weights of the edges to neighboring communities are added up in `totals`, an array with one entry per label,
which is 0 if not in use; `near` lists those in use. Moves run on one thread, contraction on all.

Sums of weights are exact if the weights are multiples of one number and their sum is at most 2**53 times as large. Then
results depend neither on the order of adjacency lists nor on the number of threads.

V. D. Blondel, J.-L. Guillaume, R. Lambiotte, E. Lefebvre: Fast unfolding of communities in large networks. Journal of
Statistical Mechanics (2008).
V. A. Traag, L. Waltman, N. J. van Eck: From Louvain to Leiden: guaranteeing well-connected communities. Scientific
Reports 9 (2019).

Parameters of the kernels
-------------------------
thread, threads :
    number of this thread, from 0, and of all threads
control :
    words by which threads take blocks, meet and see that the run is stopped
starts, ends, indices, values :
    (n,), (n,), (m,) and (m,) adjacency lists; without `values` each edge weighs 1
a, b :
    (n,) float64, numbers of each vertex; its penalty in a community is `share` times `a` times the sum of `b`
    there, and the other way round; without `b`, `share` times `a` times the sum of `a`
sizes, most_size :
    (n,) float64 sizes, or None, and what a community may have
fixed :
    (n,) bool, vertices that stay, or None
label, within :
    (n,) ids, the community of each vertex; the communities that it may not leave, or None
share :
    factor of the penalty
first, step, runs :
    the order of the vertices, as `visits` takes it
due :
    (n,) int32, how many neighbors of each vertex have moved since its last visit
totals, near :
    (n,) weights by community, 0 if not in use, and (n,) ids of those in use; in `_contract` a row per thread
empty, members :
    (n + 1,) labels that no vertex has, and (n,) how many vertices each label has
sum_a, sum_b, sum_sizes :
    (n,) float64, sums over each community
v, low, high :
    a vertex, and the positions of its list
group, community, above :
    (n,) ids, the group of each vertex, its community, and (groups,) the community of each group
order, bounds, places :
    (n,) vertices by group; (groups + 1,) where each group begins there, and where its edges begin
to_ends, to_ids, to_values :
    the lists of the groups that are written
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

APART = 1 << 20  # number of edges from which Ctrl-C should end the wait at once
MOST_SWEEPS = 32  # per level
_FEW = np.uint64(100)  # a level ends when at most one vertex in _FEW has moved in a sweep
_PART = np.uint64(32)  # a vertex is due again if one neighbor in _PART has moved
_RUN = np.uint64(64)  # vertices with adjacent lists that are visited one after another
_BLOCK = np.uint64(16)  # vertices that a thread contracts before it looks for more
_ZERO, _ONE = np.uint64(0), np.uint64(1)


class Level(NamedTuple):
    """The adjacency lists of a level: vertex v's are the entries from ``starts[v]`` to ``ends[v]``."""

    starts: Array
    ends: Array
    indices: Array
    values: Array | None  # None if every edge weighs 1


class Vertices(NamedTuple):
    """What a level knows of its vertices. A vertex v gains w - share * (a[v] * B + b[v] * A) if it joins a community.

    A and B are the sums of `a` and `b` in that community, and w is the weight of v's edges to it; without `b` the gain
    is w - share * a[v] * A.
    """

    a: Array
    b: Array | None
    sizes: Array | None  # None if communities have no maximum size
    fixed: Array | None  # whether each vertex stays in its community; None if none has to

    def contracted(self, groups: Array, count: int) -> "Vertices":
        """Return what the next level knows, whose vertices are groups."""

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
    """Return the community of every vertex after each level, from given communities. See `gasla.engines.Primitives`."""
    indptr, indices, values = lists
    level = Level(indptr[:-1], indptr[1:], indices.astype(community.dtype, copy=False), values)
    known, each_start = Vertices(*vertices), list[list[Array]]()

    def search() -> Iterator[None]:
        first = community
        for number in range(iterations):
            levels = list[Array]()
            each_start.append(levels)
            yield from _find_levels(level, first.copy(), known, limits, seed + number, refine, levels)
            if not levels or np.array_equal(first, levels[-1]):
                break
            first = levels[-1]

    if len(indices) <= APART:
        for _ in search():
            pass
    else:
        run_apart(search())
    return each_start[-1]


def degrees(indptr: Array, weights: Array | None) -> Array:
    """Return the sum of the weights at each vertex, or the number of edges."""
    if weights is None:
        return np.diff(indptr).astype(np.float64)
    sums = np.empty(len(indptr) - 1)
    _add_weights(indptr, weights, sums)
    return sums


def _find_levels(
    level: Level,
    community: Array,
    known: Vertices,
    limits: tuple[float, float],
    seed: int,
    refine: bool,
    levels: list[Array],
) -> Iterator[None]:
    """Append the communities after each level to `levels`. Yield between levels.

    All arrays are the generator's own, or held by it: it may go on in its thread after its caller was interrupted.
    """
    while True:  # ends, since each level has fewer vertices than the one before
        yield
        _move_vertices(level, community, None, known, limits, seed)
        groups = community
        if refine:
            yield
            groups = _single_parts(community, known.fixed)
            _move_vertices(level, groups, community, known, limits, seed)
            renumber(community, np.empty_like(community))
        count = renumber(groups, np.empty_like(groups))
        if count == len(groups):
            return
        levels.append(groups[levels[-1]] if levels else groups)
        yield
        level, community = contracted(level, groups, community, count)
        known = known.contracted(groups, count)


def _single_parts(community: Array, fixed: Array | None) -> Array:
    """Return each vertex as a part of its own, but the fixed vertices of a community as one."""
    parts = np.arange(len(community), dtype=community.dtype)
    if fixed is not None:
        vertices = np.flatnonzero(fixed)
        _, first, which = np.unique(community[vertices], return_index=True, return_inverse=True)
        parts[vertices] = vertices[first[which]]
    return parts


def _move_vertices(
    level: Level, label: Array, within: Array | None, known: Vertices, limits: tuple[float, float], seed: int
) -> None:
    """Move vertices to better communities, in place. Within given communities, only vertices that are alone move."""
    n, ids = len(label), label.dtype
    due = np.maximum((level.ends - level.starts).astype(np.int32), 1)
    if known.fixed is not None:
        due[known.fixed] = 0
    runs = max(-(-n // int(_RUN)), 1)
    first = int(mixed(np.uint64(seed & (2**64 - 1)), np.uint64(n)))
    step = next(step for step in range(first % runs, first % runs + runs + 1) if gcd(step, runs) == 1)
    order = np.uint64(first % runs), np.uint64(step), np.uint64(runs)
    totals = np.zeros(n, np.int32 if level.values is None else np.float64)
    own = due, totals, np.empty(n, ids), np.empty(n + 1, ids), np.zeros(n, ids)
    sums = [None if each is None else np.zeros(n) for each in known[:3]]
    _move(*level, *known, label, within, *limits, *order, *own, *sums)


def contracted(level: Level, groups: Array, community: Array, count: int) -> tuple[Level, Array]:
    """Return the next level, whose vertices are groups, and the community of each."""
    n, m, ids = len(groups), len(level.indices), groups.dtype
    team = threads_for(n + m)
    above, order, bounds = np.empty(count, ids), np.empty(n, ids), np.zeros(count + 1, np.int64)
    places, ends = np.zeros(count + 1, np.int64), np.empty(count, np.int64)
    _sort(level.starts, level.ends, groups, community, above, order, bounds, places)
    totals = np.zeros((team, count), np.int32 if level.values is None else np.float64)
    near = np.empty((team, count + 1), ids)
    indices, values = np.empty(m, ids), np.empty(m)
    own = order, bounds, places, totals, near, ends, indices, values
    run(_contract, n + m, *level, groups, *own, most=n + m, team=team)
    return Level(places[:-1], ends, indices, values), above


# --- kernels ---------------------------------------------------------------------------------------------------------


@compiled
def _add_weights(indptr, values, sums):
    """Add up the weights at each vertex."""
    for v in range(np.uint64(len(sums))):
        total = 0.0
        for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
            total += values[k]
        sums[v] = total


@inlined
def _penalty(share, a, b, v, sum_a, sum_b, c):
    """Return what the sums of a community c cost vertex v outside it."""
    if b is None:
        return share * a[v] * sum_a[c]
    return share * (a[v] * sum_b[c] + b[v] * sum_a[c])


@inlined
def _sum(each, community, sums):
    """Add up one number of each vertex in its community."""
    if each is not None:
        n = np.uint64(len(each))
        for v in range(n):
            sums[v] = 0.0
        for v in range(n):
            sums[np.uint64(community[v])] += each[v]


@inlined
def _carry(each, sums, v, old, new):
    """Move one number of a vertex from one sum to another."""
    if each is not None:
        sums[old] -= each[v]
        sums[new] += each[v]


@compiled
def visits(n, first, step, runs):
    """Yield the vertices by runs of adjacent ones. The runs are scattered, since hubs often have the smallest ids."""
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
    """Sweep over the vertices until few still move. If they stay within communities, sweep once.

    `due` counts a vertex's neighbors that have moved. `empty` has the labels that no vertex has, `spare` of them.
    """
    n = np.uint64(len(label))
    _sum(a, label, sum_a)
    _sum(b, label, sum_b)
    _sum(sizes, label, sum_sizes)
    spare = _count(label, members, empty)
    for _sweep in range(MOST_SWEEPS):
        moved = _ZERO
        for v in visits(n, first, step, runs):
            own, low, high = np.uint64(label[v]), np.uint64(starts[v]), np.uint64(ends[v])
            if due[v] > 0 and np.uint64(due[v]) * _PART >= high - low and (within is None or members[own] == 1):
                due[v] = 0
                count = _weigh(indices, values, label, within, v, low, high, totals, near)
                alone = _penalty(share, a, b, v, a, b, v)
                best, most = own, totals[own] - (_penalty(share, a, b, v, sum_a, sum_b, own) - alone)
                if most < 0 and members[own] > 1:
                    best, most = np.uint64(empty[spare - _ONE]), 0.0
                for j in range(count):
                    c = np.uint64(near[j])
                    gain = totals[c] - _penalty(share, a, b, v, sum_a, sum_b, c)
                    totals[c] = 0
                    has_room = sizes is None or sum_sizes[c] + sizes[v] <= most_size
                    if c != own and has_room and (gain > most or (gain == most and best != own and c < best)):
                        best, most = c, gain
                if best != own:
                    moved += _ONE
                    label[v] = best
                    _carry(a, sum_a, v, own, best)
                    _carry(b, sum_b, v, own, best)
                    _carry(sizes, sum_sizes, v, own, best)
                    spare = _recount(members, empty, spare, own, best)
                    if within is None:
                        _notify(indices, label, fixed, low, high, best, due)
        if within is not None or moved * _FEW <= n:
            break


@inlined
def _count(label, members, empty):
    """Count the vertices of each label, and list the labels without any. Return how many there are."""
    n, spare = np.uint64(len(label)), _ZERO
    for v in range(n):
        members[np.uint64(label[v])] += 1
    for v in range(n):
        empty[spare] = v
        spare += np.uint64(members[v] == 0)
    return spare


@inlined
def _recount(members, empty, spare, old, new):
    """Count the members of the labels after a vertex has moved from one to another.

    Return how many labels are empty.
    """
    spare -= np.uint64(members[new] == 0)
    members[old] -= 1
    members[new] += 1
    empty[spare] = old
    return spare + np.uint64(members[old] == 0)


@inlined
def _weigh(indices, values, label, within, v, low, high, totals, near):
    """Add up the weights of a vertex's edges by the label at their other end. Return how many labels there are."""
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
def _notify(indices, label, fixed, low, high, best, due):
    """Mark the neighbors of a vertex that has moved as due, except those in its new community."""
    for k in range(low, high):
        u = np.uint64(indices[k])
        if fixed is None or not fixed[u]:
            due[u] += np.int32(np.uint64(label[u]) != best)


@compiled
def renumber(label, number):
    """Number labels from 0 in the order of the smallest vertex of each. Return how many there are."""
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
def _sort(starts, ends, group, community, above, order, bounds, places):
    """Sort the vertices by group.

    Those of group g are at ``bounds[g]`` to ``bounds[g + 1]`` in `order`. There is room for its edges from
    ``places[g]`` on.
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
    """Make each group a vertex, and add up parallel edges."""
    count, mine, one = np.uint64(len(to_ends)), np.uint64(thread), totals.dtype.type(1)
    for first, last in blocks(control, count, _BLOCK):
        for g in range(first, last):
            used, end = _ZERO, np.uint64(places[g])
            for i in range(np.uint64(bounds[g]), np.uint64(bounds[g + _ONE])):
                v = np.uint64(order[i])
                for k in range(np.uint64(starts[v]), np.uint64(ends[v])):
                    h = np.uint64(group[np.uint64(indices[k])])
                    total, weight = totals[mine, h], one if values is None else values[k]
                    near[mine, used] = h
                    used += np.uint64((total == 0) & (weight > 0))
                    totals[mine, h] = total + weight
            for j in range(used):
                h = np.uint64(near[mine, j])
                to_ids[end] = h
                to_values[end] = totals[mine, h]
                totals[mine, h] = 0
                end += _ONE
            to_ends[g] = end
