"""Sequential algorithms, on one thread: depth-first searches, strong components, dominators, and core numbers.

R. E. Tarjan: Depth-First Search and Linear Graph Algorithms. SIAM J. Computing 1 (1972).
T. Lengauer, R. E. Tarjan: A fast algorithm for finding dominators in a flowgraph. ACM TOPLAS 1 (1979).
V. Batagelj, M. Zaversnik: An O(m) Algorithm for Cores Decomposition of Networks. arXiv:cs/0310049 (2003).

Parameters of the kernels
-------------------------
thread, threads :
    index of this thread, from 0, and the number of threads of the run
control :
    (72,) int64 array that all threads of the run share: counters by which they take blocks of work and wait for each
    other, and the flag that stops the run
indptr, indices :
    (n + 1,) int64 offsets of the adjacency lists, and (m,) ids of neighbors
parents, numbers, low :
    (n,) ids: the parent of each vertex in the search, its number in preorder, and its low point
at :
    (n,) int64, the position in `indices` at which the search of each vertex's list goes on
starts, before, after :
    ids of vertices to start from; (n,) ids, the vertices in preorder and in postorder
labels, stack :
    (n,) ids: the smallest vertex of each component, and the vertices of components that are not complete yet
order, place :
    (n,) ids: the vertices by number or by degree, and the position of each vertex in this order
up, label, over, head, idom :
    (n,) numbers in preorder: the parents in the search tree, and the arrays of the forest that `_dominate` describes
degree, first :
    (n,) ids, the remaining degree of each vertex, and (largest degree + 2,) ids, the position in `order` at which the
    vertices of each degree begin
"""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.runtime.blocks import run
from gasla.cpu.runtime.threads import is_stopped
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph

Array = np.ndarray[Any, Any]

_ZERO, _ONE = np.uint64(0), np.uint64(1)
# estimated time for each vertex and edge, in units of the time to read one edge; large, as a search waits for memory
_LOOKS = 16


def depth_first(graph: Graph) -> tuple[Array, Array, Array]:
    """Return the parent, preorder number and low point of every vertex of a simple graph (`primitives.depth_first`)."""
    parents, numbers, low = (np.empty(graph.n, graph.id_dtype) for _ in range(3))
    _run_on_one_thread(_search, graph.out, parents, numbers, low, np.empty(graph.n, np.int64))
    return parents, numbers, low


def number_trees(graph: Graph) -> tuple[Array, Array, Array]:
    """Return the parents, preorder numbers and subtree sizes of a spanning forest (`primitives.number_trees`)."""
    parents, numbers, _ = depth_first(graph)
    sizes = np.ones(graph.n, graph.id_dtype)
    run(_sum_sizes, 0, parents, np.argsort(numbers), sizes)
    return parents, numbers, sizes


def extremes_of_subtrees(trees: tuple[Array, Array, Array], low: Array, high: Array) -> tuple[Array, Array]:
    """Return the minimum of `low` and the maximum of `high` over the subtree of each vertex in a spanning forest.

    `trees` has the forest's parents, preorder numbers and subtree sizes. See `primitives.extremes_of_subtrees`.
    """
    parents, numbers, _ = trees
    low, high = low.copy(), high.copy()
    run(_pass_extremes_up, 0, parents, np.argsort(numbers), low, high)
    return low, high


def depth_first_order(graph: Graph, starts: Array) -> tuple[Array, Array, Array]:
    """Return the vertices that `starts` reach in preorder and in postorder, and the parents of all vertices.

    See `primitives.depth_first_order`.
    """
    before, after, parents = (
        np.empty(graph.n, graph.id_dtype),
        np.empty(graph.n, graph.id_dtype),
        _filled_with_minus_one(graph),
    )
    _run_on_one_thread(_visit_in_order, graph.out, starts, before, after, parents, np.empty(graph.n, np.int64))
    count = int((parents >= 0).sum())
    return before[:count], after[:count], parents


def dominators(graph: Graph, source: int) -> Array:
    """Return the immediate dominator of every vertex, for all paths from `source` (`primitives.dominators`)."""
    order, _, parents = depth_first_order(graph, np.array([source], graph.id_dtype))
    count, numbers, immediate = len(order), _filled_with_minus_one(graph), _filled_with_minus_one(graph)
    numbers[order] = np.arange(count)
    over, head = np.full(count, -1, graph.id_dtype), np.full(count, -1, graph.id_dtype)
    low, label, after, idom, stack = (np.arange(count, dtype=graph.id_dtype) for _ in range(5))
    _run_on_one_thread(
        _dominate, graph.in_, order, numbers, numbers[parents[order]], low, label, over, head, after, idom, stack
    )
    immediate[order] = order[idom]
    return immediate


def _filled_with_minus_one(graph: Graph) -> Array:
    return np.full(graph.n, -1, graph.id_dtype)


def peel_one_by_one(graph: Graph) -> tuple[Array, Array]:
    """Return the core number of each vertex, and an order in which it has at most that many later neighbors."""
    degree, order, place = (np.empty(graph.n, graph.id_dtype) for _ in range(3))
    _run_on_one_thread(_peel, graph.out, degree, order, place, np.zeros(graph.max_out_degree + 2, graph.id_dtype))
    return degree, order


def strong_components(graph: Graph) -> Array:
    """Return the smallest vertex of each vertex's strong component (`primitives.strong_components`)."""
    parents, numbers, low, labels, stack = (np.empty(graph.n, graph.id_dtype) for _ in range(5))
    _run_on_one_thread(_label_components, graph.out, parents, numbers, low, labels, stack, np.empty(graph.n, np.int64))
    return labels


def _run_on_one_thread(kernel: Any, lists: Adjacency, *args: Array) -> None:
    """Run a kernel on adjacency lists with one thread. Ctrl-C ends the run if the graph is large."""
    starts = lists.indptr.astype(np.int64, copy=False)
    run(kernel, 0, starts, lists.indices, *args, most=_LOOKS * (len(starts) + len(lists.indices)))


@compiled
def _search(thread, threads, control, indptr, indices, parents, numbers, low, at):
    """Run a depth-first search over all vertices, and set parents, preorder numbers and low points.

    ``at[v]`` is the position in v's list at which the search goes on. The chain of parents serves as the stack.
    """
    n, count = np.uint64(len(numbers)), 0
    for v in range(n):
        numbers[v] = -1
    for root in range(n):
        if numbers[root] < 0:
            v, parent, lowest = root, root, count
            parents[v], numbers[v] = v, count
            count += 1
            k, end = np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])
            while True:
                while k < end:
                    u = np.uint64(indices[k])
                    k += _ONE
                    number = numbers[u]
                    if number < 0:
                        at[v], low[v] = k, lowest
                        v, parent, lowest = u, v, count
                        parents[v], numbers[v] = parent, count
                        count += 1
                        k, end = np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])
                        if is_stopped(control):
                            return
                    elif u != parent:
                        lowest = min(lowest, number)
                low[v] = lowest
                if parent == v or is_stopped(control):
                    break
                v = parent
                parent, lowest = np.uint64(parents[v]), min(lowest, low[v])
                k, end = np.uint64(at[v]), np.uint64(indptr[v + _ONE])


@compiled
def _sum_sizes(thread, threads, control, parents, order, sizes):
    """Add the size of each vertex's subtree to the size of its parent's subtree, children before parents.

    `sizes` has the sizes, 1 at first, `parents` has the parent of each vertex in a forest, and `order` the vertices in
    preorder.
    """
    for i in range(len(order) - 1, -1, -1):
        v = np.uint64(order[np.uint64(i)])
        parent = np.uint64(parents[v])
        if parent != v:
            sizes[parent] += sizes[v]


@compiled
def _pass_extremes_up(thread, threads, control, parents, order, low, high):
    """Lower `low` and raise `high` of each parent to the extremes of its children, children before parents.

    Afterwards they are the minimum and the maximum over each vertex's subtree.
    """
    for i in range(len(order) - 1, -1, -1):
        v = np.uint64(order[np.uint64(i)])
        parent = np.uint64(parents[v])
        low[parent] = min(low[parent], low[v])
        high[parent] = max(high[parent], high[v])


@compiled
def _visit_in_order(thread, threads, control, indptr, indices, starts, before, after, parents, at):
    """Run a depth-first search from each vertex in `starts`, and write the preorder and the postorder.

    Neighbors are visited in the order of the adjacency lists. A vertex that was not reached has parent -1.
    """
    count, done = _ZERO, _ZERO
    for s in range(np.uint64(len(starts))):
        v = np.uint64(starts[s])
        if parents[v] < 0:
            parents[v], at[v], before[count] = v, indptr[v], v
            count += _ONE
            while True:
                k = np.uint64(at[v])
                if k < np.uint64(indptr[v + _ONE]):
                    at[v] += 1
                    u = np.uint64(indices[k])
                    if parents[u] < 0:
                        parents[u], at[u], before[count] = v, indptr[u], u
                        count += _ONE
                        v = u
                        if is_stopped(control):
                            return
                else:
                    after[done] = v
                    done += _ONE
                    parent = np.uint64(parents[v])
                    if parent == v or is_stopped(control):
                        break
                    v = parent


@compiled
def _dominate(thread, threads, control, indptr, indices, order, place, up, low, label, over, head, after, idom, stack):
    """Compute the immediate dominator of each vertex, with the algorithm of Lengauer and Tarjan.

    Vertices are preorder numbers. ``low[i]`` is the semidominator of i. `over` holds the parents in a forest of the
    vertices whose semidominator is known. ``label[i]`` is the vertex with the smallest semidominator on the path from i
    toward its root. `head` and `after` are linked lists of the vertices that have the same semidominator.
    """
    n = np.uint64(len(order))
    for k in range(_ONE, n):
        i = n - k
        if is_stopped(control):
            return
        v = np.uint64(order[i])
        for e in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
            u = place[np.uint64(indices[e])]
            if u >= 0:
                low[i] = min(low[i], low[_smallest_semidominator(np.uint64(u), low, label, over, stack)])
        semidominator = np.uint64(low[i])
        after[i] = head[semidominator]
        head[semidominator] = i
        parent = np.uint64(up[i])
        over[i] = parent
        vertex = head[parent]
        head[parent] = -1
        while vertex >= 0:
            j = np.uint64(vertex)
            best = _smallest_semidominator(j, low, label, over, stack)
            idom[j] = parent
            if low[best] < low[j]:
                idom[j] = best
            vertex = after[j]
    for i in range(_ONE, n):
        if idom[i] != low[i]:
            idom[i] = idom[np.uint64(idom[i])]


@compiled
def _smallest_semidominator(v, low, label, over, stack):
    """Return the vertex with the smallest semidominator on the path from v to its root, and compress the path.

    The path leads through the forest of the vertices whose semidominator is known, whose parents are in `over`.
    """
    if over[v] < 0:
        return v
    top, x = _ZERO, v
    while over[np.uint64(over[x])] >= 0:
        stack[top] = x
        top += _ONE
        x = np.uint64(over[x])
    while top > _ZERO:
        top -= _ONE
        y = np.uint64(stack[top])
        x = np.uint64(over[y])
        if low[np.uint64(label[x])] < low[np.uint64(label[y])]:
            label[y] = label[x]
        over[y] = over[x]
    return np.uint64(label[v])


@compiled
def _peel(thread, threads, control, indptr, indices, degree, order, place, first):
    """Compute core numbers: remove vertices in the order of their remaining degrees, so that `degree` becomes the
    result.

    ``first[d]`` is the position in `order` of the first vertex of degree d.
    """
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
        if is_stopped(control):
            return
        for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
            u = np.uint64(indices[k])
            if degree[u] > degree[v]:
                d = np.uint64(degree[u])
                first_place = np.uint64(first[d])
                w, place_of_u = np.uint64(order[first_place]), np.uint64(place[u])
                order[first_place], order[place_of_u] = u, w
                place[u], place[w] = first_place, place_of_u
                first[d] += 1
                degree[u] -= 1


@compiled
def _label_components(thread, threads, control, indptr, indices, parents, numbers, low, labels, stack, at):
    """Run a depth-first search over all vertices, and label strong components by Tarjan's algorithm.

    A vertex whose low point is its own number closes a component: all vertices above it on the stack, and itself.
    """
    n, count, top = np.uint64(len(numbers)), 0, np.uint64(0)
    for v in range(n):
        numbers[v] = labels[v] = -1
    for root in range(n):
        if numbers[root] < 0:
            v = root
            parents[v], numbers[v], low[v], at[v], stack[top] = v, count, count, indptr[v], v
            count, top = count + 1, top + _ONE
            while True:
                k = np.uint64(at[v])
                if k < np.uint64(indptr[v + _ONE]):
                    at[v] += 1
                    u = np.uint64(indices[k])
                    if numbers[u] < 0:
                        parents[u], numbers[u], low[u], at[u], stack[top] = v, count, count, indptr[u], u
                        count, top = count + 1, top + _ONE
                        v = u
                        if is_stopped(control):
                            return
                    elif labels[u] < 0:
                        low[v] = min(low[v], numbers[u])
                else:
                    if low[v] == numbers[v]:
                        top = _close_component(labels, stack, top, v)
                    parent = np.uint64(parents[v])
                    if parent == v or is_stopped(control):
                        break
                    low[parent] = min(low[parent], low[v])
                    v = parent


@compiled
def _close_component(labels, stack, top, v):
    """Pop the vertices of a strong component, from the top down to v, from the stack. Label each with the smallest of
    them.

    Return the new top of the stack.
    """
    smallest, first = v, top
    while True:
        first -= _ONE
        smallest = min(smallest, np.uint64(stack[first]))
        if np.uint64(stack[first]) == v:
            break
    for i in range(first, top):
        labels[np.uint64(stack[i])] = smallest
    return first
