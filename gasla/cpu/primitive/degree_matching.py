"""Compute a maximal matching without weights: edges in the order of the smaller degree of their ends, then of u ^ v.

Vertices are sorted by degree. For one degree after another, the edges from its free vertices to free vertices of no
smaller degree are sorted by u ^ v, the bitwise exclusive or of their ends, and matched one by one. Most adjacency lists
are never read, since few vertices are still free when their degree is reached. If many vertices have the same degree, a
fraction of their edges, with the smallest u ^ v, is matched first. Their other edges are then collected only from the
vertices that are still free.

Two edges of equal degree and equal u ^ v have no end in common, so their order does not matter. One thread is enough,
because a pass reads one byte for each entry of a list.
"""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.runtime.blocks import inlined, run
from gasla.cpu.runtime.intrinsics import prefetch
from gasla.cpu.runtime.threads import is_stopped
from gasla.graph.adjacency import Adjacency

Array = np.ndarray[Any, Any]

_ZERO, _ONE = np.uint64(0), np.uint64(1)
# a sort key is u ^ v in the upper half of 64 bits and v in the lower half
_HALF, _ID = np.uint64(32), np.uint64(2**32 - 1)
_DIGIT, _DIGITS = np.uint64(8), np.uint64(256)  # bits of a digit in the radix sort, and the number of its values
# if very many vertices have the same degree, about one in _SHARE of their edges is matched first: those whose u ^ v is
# below a limit, which is estimated from a sample of _SAMPLES edges
_SAMPLES, _SHARE = np.uint64(256), np.uint64(8)
# if at least this many vertices have the same degree, their edges are matched in two steps, the smallest u ^ v first
_LARGE = np.uint64(1 << 10)
# adjacency lists are prefetched _NEAR vertices ahead, and the offsets of the lists _FAR vertices ahead
_NEAR, _FAR = np.uint64(8), np.uint64(24)
_NONE_ABOVE = np.uint64(2**63)  # larger than u ^ v of any two vertices
_LOOKS = 16  # estimated time for each edge, in units of the time to read one edge; tells whether the run takes long


def match_by_degrees(lists: Adjacency, in_lists: Adjacency | None, degrees: Array) -> Array:
    """Return the vertex that each vertex is matched with in a maximal matching, or -1.

    Each edge has to be in `lists` or in `in_lists`, the adjacency lists of out- and in-neighbors, at both of its ends.
    """
    n, m = len(lists.indptr) - 1, len(lists.indices)
    mates, order = np.full(n, -1, lists.indices.dtype), np.empty(n, lists.indices.dtype)
    outgoing = lists.indptr, lists.indices
    incoming = (lists.indptr[:1], lists.indices[:0]) if in_lists is None else (in_lists.indptr, in_lists.indices)
    # the array is large, but takes memory only where it is written, which is a small part
    keys = np.empty((2, m + len(incoming[1])), np.uint64)
    degree_ends, places = np.zeros(int(_DIGITS) + 1, np.uint64), np.empty(int(_DIGITS), np.uint64)
    vertices, sorting = (degrees.copy(), order, mates), (degree_ends, places, keys)
    run(_match, 0, outgoing, incoming, vertices, sorting, most=_LOOKS * (n + m))
    return mates


@compiled
def _match(thread, threads, control, outgoing, incoming, vertices, sorting):
    """Match the free vertices along the edges of one degree after another, from the smallest.

    The degree of an edge is the smaller degree of its ends. A vertex gets degree 0 in `degrees` once it is matched.
    """
    degrees, order, mates = vertices
    ends, places, keys = sorting
    _sort_vertices(degrees, order, ends)
    first = np.uint64(ends[0])
    for degree in range(_ONE, _DIGITS):
        last = np.uint64(ends[degree])
        limit = _NONE_ABOVE
        if last - first >= _LARGE:
            limit = _sample_limit(outgoing, order, first, last, keys)
        begin = _ZERO
        while first < last:
            count = _ZERO
            left = first
            for i in range(first, last):
                v = np.uint64(order[i])
                prefetch(outgoing[0], np.uint64(order[min(i + _FAR, last - _ONE)]))
                start = np.uint64(outgoing[0][np.uint64(order[min(i + _NEAR, last - _ONE)])])
                prefetch(outgoing[1], start)
                if np.uint64(degrees[v]) == degree:
                    order[left] = v
                    left += _ONE
                    count = _collect_edges(outgoing, degrees, v, begin, limit, keys, count)
                    if len(incoming[1]) > 0:
                        count = _collect_edges(incoming, degrees, v, begin, limit, keys, count)
                    if is_stopped(control):
                        return
            _match_sorted(degrees, mates, keys, _sort_keys(keys, count, places), count)
            if limit == _NONE_ABOVE:
                break
            last, begin, limit = left, limit, _NONE_ABOVE
        first = np.uint64(ends[degree])


@inlined
def _sort_vertices(degrees, order, ends):
    """Sort the vertices by degree into `order`, by counting. ``ends[d]`` is the end of the vertices of degree d."""
    n = np.uint64(len(degrees))
    for v in range(n):
        ends[np.uint64(degrees[v]) + _ONE] += _ONE
    for d in range(_ONE, np.uint64(len(ends))):
        ends[d] += ends[d - _ONE]
    for v in range(n):
        d = np.uint64(degrees[v])
        order[np.uint64(ends[d])] = v
        ends[d] += _ONE


@compiled
def _sample_limit(lists, order, first, last, keys):
    """Return a power of two that is larger than u ^ v for roughly one in `_SHARE` edges u - v, by a sample of edges.

    The edges are those of the vertices at positions `first` to `last` of `order`. This overwrites `keys`.
    """
    indptr, indices = lists
    count = _ZERO
    for s in range(min(_SAMPLES, np.uint64(keys.shape[1]))):
        v = np.uint64(order[first + (last - first) * s // _SAMPLES])
        length = np.uint64(indptr[v + _ONE]) - np.uint64(indptr[v])
        if length > _ZERO:
            keys[0, count] = np.uint64(indices[np.uint64(indptr[v]) + s % length]) ^ v
            count += _ONE
    limit = _ONE
    below = _ZERO
    while below * _SHARE < count:
        limit <<= _ONE
        below = _ZERO
        for s in range(count):
            below += np.uint64(keys[0, s] < limit)
    return limit


@inlined
def _collect_edges(lists, degrees, v, begin, limit, keys, count):
    """Append those edges of v to `keys` that lead to free vertices u of no smaller degree, if ``begin <= u ^ v <
    limit``.

    `count` is the number of edges in `keys` so far. Return the new number.
    """
    indptr, indices = lists
    degree = degrees[v]
    for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
        u = np.uint64(indices[k])
        x = u ^ v
        is_later = (degrees[u] > degree) | ((degrees[u] == degree) & (u > v))
        if is_later & (x - begin < limit - begin):
            keys[0, count] = x << _HALF | v
            count += _ONE
    return count


@compiled
def _sort_keys(keys, count, places):
    """Sort the first `count` keys of row 0 of `keys` by their upper halves, with a radix sort.

    A key is an edge u - v: u ^ v is its upper half. Return the row of `keys` that has the sorted keys.
    """
    row, widest = _ZERO, _ZERO
    for i in range(count):
        widest |= keys[0, i]
    shift = _HALF
    while widest >> shift > _ZERO and count > _ONE:
        for d in range(_DIGITS):
            places[d] = _ZERO
        for i in range(count):
            places[(keys[row, i] >> shift) % _DIGITS] += _ONE
        total = _ZERO
        for d in range(_DIGITS):
            total += places[d]
            places[d] = total - places[d]
        for i in range(count):
            digit = (keys[row, i] >> shift) % _DIGITS
            keys[_ONE - row, places[digit]] = keys[row, i]
            places[digit] += _ONE
        row, shift = _ONE - row, shift + _DIGIT
    return row


@inlined
def _match_sorted(degrees, mates, keys, row, count):
    """Match the two ends of each edge, in the order of the sorted keys in a row of `keys`, if both ends are free."""
    for i in range(count):
        v = keys[row, i] & _ID
        u = keys[row, i] >> _HALF ^ v
        if degrees[u] > 0 and degrees[v] > 0:
            degrees[u] = degrees[v] = 0
            mates[u], mates[v] = v, u
