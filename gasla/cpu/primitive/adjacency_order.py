"""Maximum adjacency order on one thread: next comes the vertex with most weight of edges to those before it.

H. Nagamochi, T. Ono, T. Ibaraki: Implementing an efficient minimum capacity cut algorithm. Mathematical Programming 67
(1994).
M. Henzinger, A. Noe, C. Schulz, D. Strash: Practical Minimum Cut Algorithms. ACM Journal of Experimental Algorithmics
23 (2018).
"""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.runtime.blocks import run
from gasla.cpu.runtime.threads import is_stopped
from gasla.graph.adjacency import Adjacency

Array = np.ndarray[Any, Any]

_ZERO, _ONE, _TWO = np.uint64(0), np.uint64(1), np.uint64(2)


def adjacency_order(lists: Adjacency, weights: Array, most: int) -> tuple[Array, Array]:
    """Return an order, and the weight of edges from each vertex to those before it (`primitives.adjacency_order`)."""
    n, starts = len(lists.indptr) - 1, lists.indptr.astype(np.int64, copy=False)
    order, sums = np.empty(n, lists.indices.dtype), np.zeros(n, np.int64)
    heap, place, bound = np.empty_like(order), np.zeros(n, np.int64), np.array([most])
    given = lists.indices, weights, bound, order, sums, np.zeros(n, np.int64), heap, place
    run(_order, 0, starts, *given, most=1 << 62)
    return order, sums


@compiled
def _order(thread, threads, control, indptr, indices, weights, bound, order, sums, keys, heap, place):
    """Take the vertex of the largest key from a heap, and raise the keys of its neighbors, but none that is `bound`.

    `place[v]` is 0 before v is on the heap, -1 after it, and else its position there, from 1.
    """
    n, size, first, most = np.uint64(len(order)), _ZERO, _ZERO, bound[0]
    for i in range(n):
        if is_stopped(control):
            return
        if size > _ZERO:
            v, last = np.uint64(heap[_ZERO]), np.uint64(heap[size - _ONE])
            size -= _ONE
            if size > _ZERO:
                _sink(heap, place, keys, size, last)
        else:
            while place[first] != 0:
                first += _ONE
            v = first
        order[i], place[v] = v, -1
        for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
            u = np.uint64(indices[k])
            if place[u] >= 0:
                sums[u] += weights[k]
                if place[u] == 0:
                    size += _ONE
                    place[u] = size
                    keys[u] = min(sums[u], most)
                    _rise(heap, place, keys, u)
                elif keys[u] < most:
                    keys[u] = min(sums[u], most)
                    _rise(heap, place, keys, u)


@compiled
def _rise(heap, place, keys, u):
    """Move a vertex up to its place."""
    at = np.uint64(place[u]) - _ONE
    while at > _ZERO:
        above = (at - _ONE) // _TWO
        w = np.uint64(heap[above])
        if keys[w] >= keys[u]:
            break
        heap[at], place[w] = w, at + _ONE
        at = above
    heap[at], place[u] = u, at + _ONE


@compiled
def _sink(heap, place, keys, size, u):
    """Put a vertex at the root, and move it down to its place."""
    at = _ZERO
    while True:
        below = _TWO * at + _ONE
        if below >= size:
            break
        if below + _ONE < size and keys[np.uint64(heap[below + _ONE])] > keys[np.uint64(heap[below])]:
            below += _ONE
        w = np.uint64(heap[below])
        if keys[w] <= keys[u]:
            break
        heap[at], place[w] = w, at + _ONE
        at = below
    heap[at], place[u] = u, at + _ONE
