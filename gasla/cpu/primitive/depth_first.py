"""Depth-first search and peeling on one thread: low points of every vertex, and core numbers.

R. E. Tarjan: Depth-First Search and Linear Graph Algorithms. SIAM J. Computing 1 (1972).
V. Batagelj, M. Zaversnik: An O(m) Algorithm for Cores Decomposition of Networks. arXiv:cs/0310049 (2003).
"""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.graph.graph import Graph

Array = np.ndarray[Any, Any]

_ZERO, _ONE = np.uint64(0), np.uint64(1)


def depth_first(graph: Graph) -> tuple[Array, Array, Array]:
    """The parent, the number and the low point of every vertex of a simple graph; see `gasla.engines.OneThread`."""
    parents, numbers, low = (np.empty(graph.n, graph.id_dtype) for _ in range(3))
    starts = graph.out.indptr.astype(np.int64, copy=False)
    _search(starts, graph.out.indices, parents, numbers, low, np.empty(graph.n, np.int64))
    return parents, numbers, low


def peel(graph: Graph) -> Array:
    """The core number of every vertex of a simple graph; see `gasla.engines.OneThread`."""
    degree, order, place = (np.empty(graph.n, graph.id_dtype) for _ in range(3))
    starts = graph.out.indptr.astype(np.int64, copy=False)
    _peel(starts, graph.out.indices, degree, order, place, np.zeros(graph.max_out_degree + 2, graph.id_dtype))
    return degree


@compiled
def _search(indptr, indices, parents, numbers, low, at):
    """Visit every vertex from its parent; `at` is the next position of its list, and parents are the stack."""
    n, count = np.uint64(len(numbers)), 0
    for v in range(n):
        numbers[v] = -1
    for root in range(n):
        if numbers[root] < 0:
            v = root
            parents[v], numbers[v], low[v], at[v] = v, count, count, indptr[v]
            count += 1
            while True:
                k = np.uint64(at[v])
                if k < np.uint64(indptr[v + _ONE]):
                    at[v] += 1
                    u = np.uint64(indices[k])
                    if numbers[u] < 0:
                        parents[u], numbers[u], low[u], at[u] = v, count, count, indptr[u]
                        count += 1
                        v = u
                    elif u != np.uint64(parents[v]):
                        low[v] = min(low[v], numbers[u])
                else:
                    parent = np.uint64(parents[v])
                    if parent == v:
                        break
                    low[parent] = min(low[parent], low[v])
                    v = parent


@compiled
def _peel(indptr, indices, degree, order, place, first):
    """Remove vertices in the order of their remaining degrees; those of degree d begin at `first[d]` in `order`."""
    n = np.uint64(len(degree))
    for v in range(n):
        degree[v] = indptr[v + _ONE] - indptr[v]
        first[np.uint64(degree[v]) + _ONE] += 1
    for d in range(_ONE, np.uint64(len(first))):
        first[d] += first[d - _ONE]
    for v in range(n):
        d = np.uint64(degree[v])
        place[v] = first[d]
        order[np.uint64(first[d])] = v
        first[d] += 1
    for i in range(np.uint64(len(first)) - _ONE):
        d = np.uint64(len(first)) - _ONE - i
        first[d] = first[d - _ONE]
    first[_ZERO] = 0
    for i in range(n):
        v = np.uint64(order[i])
        for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
            u = np.uint64(indices[k])
            if degree[u] > degree[v]:
                d = np.uint64(degree[u])
                front = np.uint64(first[d])
                w, mine = np.uint64(order[front]), np.uint64(place[u])
                order[front], order[mine] = u, w
                place[u], place[w] = front, mine
                first[d] += 1
                degree[u] -= 1
