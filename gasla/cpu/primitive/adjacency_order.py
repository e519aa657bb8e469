"""Compute a maximum adjacency order on one thread: the next vertex has the largest weight of edges to earlier vertices.

H. Nagamochi, T. Ono, T. Ibaraki: Implementing an efficient minimum capacity cut algorithm. Mathematical Programming 67
(1994).
M. Henzinger, A. Noe, C. Schulz, D. Strash: Practical Minimum Cut Algorithms. ACM Journal of Experimental Algorithmics
23 (2018).

Parameters of the kernels
-------------------------
thread, threads :
    index of this thread, from 0, and the number of threads of the run
control :
    (72,) int64 array that all threads of the run share: counters by which they take blocks of work and wait for each
    other, and the flag that stops the run
indptr, indices, weights :
    (n + 1,) int64 offsets of the adjacency lists, (m,) ids of neighbors, and (m,) int64 weights of edges
bound :
    (1,) int64, the largest key on the heap; larger weights count as this one, so vertices beyond it come in any order
order, sums :
    (n,) ids, the order, which is written; (n,) int64, the weight of edges from each vertex to earlier ones, written too
keys, heap, place :
    (n,) int64, the key of each vertex; (n,) ids, a binary heap of vertices; (n,) int64, the position of each vertex on
    the heap
"""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.primitive.indexed_heap import pop, push, rise
from gasla.cpu.runtime.blocks import run
from gasla.cpu.runtime.threads import is_stopped
from gasla.graph.adjacency import Adjacency

Array = np.ndarray[Any, Any]

_ZERO, _ONE = np.uint64(0), np.uint64(1)
# what `place` holds for a vertex that has no position on the heap: `_UNSEEN` if it was never pushed, `_TAKEN` if it is
# already in the order
_UNSEEN, _TAKEN = -1, -2


def adjacency_order(lists: Adjacency, weights: Array, most: int) -> tuple[Array, Array]:
    """Return a maximum adjacency order of a graph, and the weight of edges from each vertex to vertices earlier in it.

    `most` is the largest sum of weights that counts: vertices beyond it come in any order. See
    `primitives.adjacency_order`.
    """
    n, starts = len(lists.indptr) - 1, lists.indptr.astype(np.int64, copy=False)
    order, sums = np.empty(n, lists.indices.dtype), np.zeros(n, np.int64)
    heap, place, bound = np.empty_like(order), np.full(n, _UNSEEN), np.array([most])
    arrays = lists.indices, weights, bound, order, sums, np.zeros(n, np.int64), heap, place
    run(_order, 0, starts, *arrays, most=1 << 62)
    return order, sums


@compiled
def _order(thread, threads, control, indptr, indices, weights, bound, order, sums, keys, heap, place):
    """Take the vertex with the largest key from a heap, add edge weights to the keys of its neighbors, and repeat.

    The vertices are written to `order` as they are taken. Keys grow no further than ``bound[0]``. ``place[v]`` is the
    position of v on the heap, or `_UNSEEN` before v is pushed, or `_TAKEN` after it is in the order.
    """
    n, size, first, most = np.uint64(len(order)), _ZERO, _ZERO, bound[0]
    for i in range(n):
        if is_stopped(control):
            return
        if size > _ZERO:
            v = np.uint64(heap[_ZERO])
            size = pop(heap, place, keys, size, _TAKEN)
        else:
            while place[first] != _UNSEEN:
                first += _ONE
            v = first
            place[v] = _TAKEN
        order[i] = v
        for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
            u = np.uint64(indices[k])
            if place[u] != _TAKEN:
                sums[u] += weights[k]
                if place[u] == _UNSEEN:
                    size = push(heap, place, keys, size, u, min(sums[u], most))
                elif keys[u] < most:
                    keys[u] = min(sums[u], most)
                    rise(heap, place, keys, np.uint64(place[u]))
