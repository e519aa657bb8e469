"""Louvain's and Leiden's methods without barriers: vertices move one after another, and communities are contracted.

A vertex moves to the community of the largest gain, and sees all earlier moves: no move lowers the modularity. A sweep
visits the vertices that are due: a vertex is due if a neighbor in another community has moved since its last visit. The
better result of two orders is taken, because modularity differs by up to 3% between orders, and neither is always the
better one. Each order runs on a thread of its own, if there are two. The weights of the edges to neighboring
communities are added up in `totals`, an array with one entry per label, which is negative if not in use; `near` lists
those in use.

V. D. Blondel, J.-L. Guillaume, R. Lambiotte, E. Lefebvre: Fast unfolding of communities in large networks. Journal of
Statistical Mechanics (2008).
V. A. Traag, L. Waltman, N. J. van Eck: From Louvain to Leiden: guaranteeing well-connected communities. Scientific
Reports 9 (2019).
"""

# mypy: disable-error-code="no-untyped-def"
import threading
from contextlib import suppress
from typing import Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.kernels.draws import mixed
from gasla.cpu.runtime.threads import get_num_threads

Array = np.ndarray[Any, Any]

PARALLEL = 1 << 12  # number of edges from which a second thread pays off
MOST_SWEEPS = 32  # per level
_FEW = np.uint64(1000)  # a level ends when fewer than one vertex in _FEW has moved in a sweep
_ZERO, _ONE, _THREE = np.uint64(0), np.uint64(1), np.uint64(3)
_BITS, _LAST, _SIGN = np.uint64(6), np.uint64(63), np.uint64(63)  # a block has 64 vertices with adjacent lists


def louvain_levels(
    lists: tuple[Array, Array, Array], community: Array, resolution: float, seed: int, refine: bool
) -> list[Array]:
    """The community of every vertex after each level, from given communities; see `gasla.engines.Primitives`."""
    indptr, indices, values = lists
    lists = indptr.astype(np.int64, copy=False), indices.astype(community.dtype, copy=False), values
    key = np.uint64(seed)
    second: list[tuple[float, list[Array]]] = []

    def levels(scattered: bool) -> tuple[float, list[Array]]:
        return _levels(lists, community.copy(), resolution, key, scattered, refine)

    if len(indices) > PARALLEL and get_num_threads() > 1:
        other = threading.Thread(target=lambda: second.append(levels(True)), name="gasla")
        with suppress(RuntimeError, MemoryError):  # "can't start new thread": the orders are then computed in turn
            other.start()
        first = levels(False)
        if other.ident is not None:
            other.join()
    else:
        first = levels(False)
    return max(first, *(second or [levels(True)]), key=lambda each: each[0])[1]


def _levels(
    lists: tuple[Array, Array, Array],
    community: Array,
    resolution: float,
    key: np.uint64,
    scattered: bool,
    refine: bool,
) -> tuple[float, list[Array]]:
    """The modularity, up to a factor, and the levels that one order of the vertices leads to."""
    levels: list[Array] = []
    while True:  # ends, since each level has fewer vertices than the one before
        n, m, ids = len(community), len(lists[1]), community.dtype
        near, number, volume, totals = np.empty(n, ids), np.empty(n, ids), np.empty(n), np.full(n, -1.0)
        rows = *lists, np.empty(n)
        share = _weigh(*rows, resolution)
        _move(*rows, community, share, key, scattered, np.ones(n, bool), totals, near, volume)
        groups = community
        if refine:
            groups = np.empty(n, ids)
            _refine(*rows, community, groups, share, key, scattered, number, totals, near, volume)
            _renumber(community, number)
        count = _renumber(groups, number)
        if count == n:
            return _quality(*rows, share), levels
        levels.append(groups[levels[-1]] if levels else groups)
        above, starts, offsets = np.empty(count, ids), np.empty(count, np.int64), np.empty(count + 1, np.int64)
        indices, values = np.empty(m, ids), np.empty(m)
        edges = _contract(*lists, groups, community, totals, near, number, starts, offsets, indices, values, above)
        lists, community = (offsets, indices[:edges], values[:edges]), above


@compiled
def _weigh(indptr, indices, values, degree, resolution):
    """Add up the weights at each vertex; returns the factor of a product of two volumes in the formula of the gain."""
    n, total = np.uint64(len(degree)), 0.0
    for v in range(n):
        mine = 0.0
        for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
            mine += values[k]
        degree[v] = mine
        total += mine
    return resolution / (total if total > 0 else 1.0)


@compiled
def _quality(indptr, indices, values, degree, share):
    """The modularity of single vertices, times the total weight."""
    total = 0.0
    for v in range(np.uint64(len(degree))):
        for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
            total += values[k] if np.uint64(indices[k]) == v else 0.0
        total -= share * degree[v] * degree[v]
    return total


@compiled
def _visits(n, key, scattered):
    """The vertices in one of two orders.

    Either two fronts take turns, one from each half of the vertices, by blocks of random direction. Hubs often have the
    smallest ids: communities grow around them first. Or vertices are scattered: ids are multiplied and shifted modulo a
    power of two, which is a permutation.
    """
    half, size, factor = (n + _ONE) >> _ONE, _ONE, mixed(key, n) | _ONE
    while size < n:
        size += size
    for i in range(size if scattered else half + half):
        if scattered:
            v = (i ^ (i >> _THREE)) * factor & (size - _ONE)
            v = (v ^ (v >> _THREE)) * factor & (size - _ONE)
        else:
            v = (i & _ONE) * half + (i >> _ONE)
            mirrored = v ^ (_LAST * (mixed(key, v >> _BITS) >> _SIGN))
            v = mirrored if max(v, mirrored) < n else v
        if v < n:
            yield v


@compiled
def _move(indptr, indices, values, degree, community, share, key, scattered, is_due, totals, near, volume):
    """Sweep over the vertices until few still move."""
    n = np.uint64(len(degree))
    for v in range(n):
        volume[v] = 0.0
    for v in range(n):
        volume[np.uint64(community[v])] += degree[v]
    for _sweep in range(MOST_SWEEPS):
        moved = _ZERO
        for v in _visits(n, key, scattered):
            if is_due[v]:
                is_due[v] = False
                own, mass, count = np.uint64(community[v]), share * degree[v], _ZERO
                low, high = np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])
                for k in range(low, high):
                    u = np.uint64(indices[k])
                    if u != v:
                        c = np.uint64(community[u])
                        total = totals[c]
                        near[count] = c
                        count += np.uint64(total < 0)
                        totals[c] = max(total, 0.0) + values[k]
                best, most = own, max(totals[own], 0.0) - mass * (volume[own] - degree[v])
                for j in range(count):
                    c = np.uint64(near[j])
                    gain = totals[c] - mass * volume[c]
                    totals[c] = -1.0
                    if c != own and (gain > most or (gain == most and best != own and c < best)):
                        best, most = c, gain
                if best != own:
                    moved += _ONE
                    community[v] = best
                    volume[own] -= degree[v]
                    volume[best] += degree[v]
                    for k in range(low, high):
                        u = np.uint64(indices[k])
                        is_due[u] |= np.uint64(community[u]) != best
        if moved * _FEW <= n:
            break


@compiled
def _refine(indptr, indices, values, degree, community, part, share, key, scattered, members, totals, near, volume):
    """Vertices that are still alone in their part join the part of the largest gain within their community."""
    n = np.uint64(len(degree))
    for v in range(n):
        part[v], members[v], volume[v] = v, 1, degree[v]
    for v in _visits(n, key, scattered):
        if np.uint64(part[v]) == v and members[v] == 1:
            mass, count = share * degree[v], _ZERO
            for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
                u = np.uint64(indices[k])
                if u != v and community[u] == community[v]:
                    p = np.uint64(part[u])
                    total = totals[p]
                    near[count] = p
                    count += np.uint64(total < 0)
                    totals[p] = max(total, 0.0) + values[k]
            best, most = v, 0.0
            for j in range(count):
                p = np.uint64(near[j])
                gain = totals[p] - mass * volume[p]
                totals[p] = -1.0
                if gain > most or (gain == most and best != v and p < best):
                    best, most = p, gain
            if best != v:
                part[v] = best
                members[v] = 0
                members[best] += 1
                volume[best] += degree[v]


@compiled
def _renumber(label, number):
    """Number labels from 0 in the order of the smallest vertex of each; returns how many there are."""
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
def _contract(indptr, indices, values, group, community, totals, near, order, starts, to_ptr, to_ids, to_values, above):
    """Make each group a vertex, and add up parallel edges; returns how many edges there are."""
    n, count = np.uint64(len(group)), np.uint64(len(above))
    for g in range(count):
        starts[g] = 0
    for v in range(n):
        starts[np.uint64(group[v])] += 1
    before = 0
    for g in range(count):
        before, starts[g] = before + starts[g], before
    for v in range(n):
        g = np.uint64(group[v])
        order[np.uint64(starts[g])] = v
        starts[g] += 1
        above[g] = community[v]
    end, done = _ZERO, _ZERO
    for g in range(count):
        to_ptr[g] = end
        used = _ZERO
        for i in range(done, np.uint64(starts[g])):
            v = np.uint64(order[i])
            for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
                h = np.uint64(group[np.uint64(indices[k])])
                total = totals[h]
                near[used] = h
                used += np.uint64(total < 0)
                totals[h] = max(total, 0.0) + values[k]
        done = np.uint64(starts[g])
        for j in range(used):
            h = np.uint64(near[j])
            to_ids[end] = h
            to_values[end] = totals[h]
            totals[h] = -1.0
            end += _ONE
    to_ptr[count] = end
    return end
