"""Compute the lightest spanning forest by Borůvka's method: every tree takes its lightest edge to another tree.

Trees are kept in an array of parents, as in `forest`. In each round a thread finds the trees at both ends of its edges.
It drops edges within one tree, and offers each other edge to both trees, which keep the lightest edge offered. Each
tree then becomes a child of the tree at the other end of that edge. If two trees choose the same edge, the tree with
the smaller root stays a root. There is no other cycle, as edges are totally ordered.

If there are many more edges than vertices, the lightest edges are tried first. Afterwards most heavier edges are within
a tree, so they are read only once (V. Osipov, P. Sanders, J. Singler: The Filter-Kruskal Minimum Spanning Tree
Algorithm. ALENEX 2009).

Parameters of the kernels
-------------------------
thread, threads :
    index of this thread, from 0, and the number of threads of the run
control :
    (72,) int64 array that all threads of the run share: counters by which they take blocks of work and wait for each
    other, and the flag that stops the run
indptr, indices, weights :
    (n + 1,) offsets of the adjacency lists, (m,) ids of neighbors, and (m,) weights, or None if all edges are equal
limit :
    largest weight of the edges that are tried first, or None to try all edges at once
parents, roots :
    (n,) ids, the parent of each vertex; (n,) ids, the roots of trees, a range of them for each thread
best :
    (n,) int64, the position in `left` of the lightest edge that each tree was offered, or -1
left :
    (m,) int64, the positions in `indices` of the edges that may still join two trees
ends, others :
    (m,) ids, the roots of the trees at both ends of the edges in `left`
counts :
    (8 * threads,) int64, how many edges each thread has in `left`, each number in a cache line of its own
taken :
    (n,) int64, the position of the edge by which each former root became a child, or -1
a, b, e, left_end :
    both ends of an edge; its position in `indices`; the end of this thread's edges in `left`
first, last :
    the range of this thread's roots in `roots`
"""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.kernels.searches import owner_of
from gasla.cpu.primitive.forest import find
from gasla.cpu.runtime.blocks import go_on, inlined, run, threads_for
from gasla.cpu.runtime.intrinsics import compare_and_swap_release, load_acquire, store_unordered
from gasla.cpu.runtime.threads import barrier
from gasla.graph.adjacency import Adjacency

Array = np.ndarray[Any, Any]

_ONE = np.uint64(1)
# number of int64 words in a cache line of 64 bytes, so that each thread's counter is on a line of its own
_LINE = np.uint64(8)
_SAMPLES = 4096  # size of the sample of weights from which the largest weight of a light edge is estimated
# if the adjacency lists have more than `_MANY` entries per vertex, the lightest `_LIGHT` entries per vertex are tried
# first, because most heavier edges can then be dropped after one look
_LIGHT, _MANY = 4, 8
_ROUNDS = 16  # estimated number of passes over all edges, from which an upper bound of the kernel's steps is computed


def lightest_forest(lists: Adjacency, weights: Array | None) -> Array:
    """Return the edges of a minimum spanning forest, as their positions in the adjacency lists, in no particular order.

    Only entries from a smaller to a larger vertex are read. Of two edges of equal weight, the earlier entry counts as
    lighter.
    """
    n, m, id_type = len(lists.indptr) - 1, len(lists.indices), lists.indices.dtype
    team = threads_for(n + m)
    parents, best, taken = np.arange(n, dtype=id_type), np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    left, ends = np.empty(m, np.int64), np.empty((2, m), id_type)
    inputs = lists.indptr, lists.indices, weights, _limit_of_light_edges(n, weights)
    working_arrays = parents, np.arange(n, dtype=id_type), best, left, *ends, np.zeros(8 * team, np.int64)
    run(_grow_forest, n + m, *inputs, *working_arrays, taken, most=_ROUNDS * (n + m), team=team)
    return taken[taken >= 0]


def _limit_of_light_edges(n: int, weights: Array | None) -> Any:
    """Return the weight up to which edges count as light and are tried first, or None to try all edges at once.

    The weight is estimated from a sample of `weights`, the edges' weights, for a graph of n vertices.
    """
    if weights is None or len(weights) <= _MANY * n:
        return None
    sample = np.sort(weights[:: -(-len(weights) // _SAMPLES)])
    return sample[len(sample) * _LIGHT * n // len(weights)]


@compiled
def _grow_forest(
    thread, threads, control, indptr, indices, weights, limit, parents, roots, best, left, ends, others, counts, taken
):
    """Unite trees of a forest along lightest edges until no edge joins two trees: first light edges, then all others.

    ``taken[r]`` becomes the position of the edge by which the former root r became a
    child.
    """
    n, m, team, thread_index = np.uint64(len(parents)), np.uint64(len(indices)), np.uint64(threads), np.uint64(thread)
    begin, end = m * thread_index // team, m * (thread_index + _ONE) // team
    first, last = n * thread_index // team, n * (thread_index + _ONE) // team
    passes = 1 if limit is None else 2
    for number in range(passes):
        left_end, u = begin, owner_of(indptr, begin)
        for e in range(begin, end):
            while np.uint64(indptr[u + _ONE]) <= e:
                u += _ONE
            v = np.uint64(indices[e])
            if u < v and (limit is None or (weights[e] <= limit) == (number == 0)):
                left_end = _keep_edge(parents, u, v, e, weights, best, left, ends, others, left_end)
        while True:
            counts[_LINE * thread_index] = left_end - begin
            if not go_on(thread, threads, control, True):
                return
            total = np.int64(0)
            for other in range(team):
                total += counts[_LINE * other]
            if total == 0:
                barrier(control, threads)  # wait until all threads have read the counts, which the next pass overwrites
                break
            _hook_trees(roots, first, last, parents, best, left, ends, others, taken)
            barrier(control, threads)
            last = _keep_roots(roots, first, last, parents, best)
            barrier(control, threads)
            high, left_end = left_end, begin
            for k in range(begin, high):
                a, b = np.uint64(ends[k]), np.uint64(others[k])
                left_end = _keep_edge(parents, a, b, np.uint64(left[k]), weights, best, left, ends, others, left_end)


@inlined
def _keep_edge(parents, a, b, e, weights, best, left, ends, others, left_end):
    """Append edge e to `left`, the list of edges between trees, if its ends a and b are in two trees, and offer it to
    both.

    Each tree keeps the lightest edge that it was offered. Return the new end of the list.
    """
    x, y = find(parents, a), find(parents, b)
    if x == y:
        return left_end
    left[left_end], ends[left_end], others[left_end] = e, x, y
    _offer(best, x, left_end, e, left, weights)
    _offer(best, y, left_end, e, left, weights)
    return left_end + _ONE


@inlined
def _offer(best, root, k, e, left, weights):
    """Make an edge the best (lightest) edge of a tree if it precedes the best edge that the tree was offered so far.

    `k` is the position of the edge in `left`, the list of edges between trees, and `e` its position in the adjacency
    lists.
    """
    old_best = load_acquire(best, root)
    while old_best < 0 or _precedes(e, np.uint64(left[np.uint64(old_best)]), weights):
        if compare_and_swap_release(best, root, old_best, np.int64(k)):
            break
        old_best = load_acquire(best, root)


@inlined
def _precedes(e, other, weights):
    if weights is None:
        return e < other
    return weights[e] < weights[other] or (weights[e] == weights[other] and e < other)


@compiled
def _hook_trees(roots, first, last, parents, best, left, ends, others, taken):
    """Make each root (of a tree of the forest) of this thread a child of the root at the other end of its best edge.

    The best edge is the lightest edge that leaves the tree. Of two trees with the same best edge, the one with the
    smaller root stays a root.
    """
    for i in range(first, last):
        root = np.uint64(roots[i])
        if best[root] >= 0:
            k = np.uint64(best[root])
            target = np.uint64(ends[k]) + np.uint64(others[k]) - root
            if best[target] != best[root] or root > target:
                parents[root], taken[root] = target, left[k]


@compiled
def _keep_roots(roots, first, last, parents, best):
    """Drop from this thread's list of roots those that have become children of other vertices, and return its new end.

    The list is `roots` from `first` to `last`. The best (lightest) edges of the remaining roots are reset, as a new
    round of joining trees begins.
    """
    new_end = first
    for i in range(first, last):
        v = np.uint64(roots[i])
        best[v] = -1
        root = find(parents, v)
        if root == v:
            roots[new_end] = v
            new_end += _ONE
        else:
            store_unordered(parents, v, root)
    return new_end
