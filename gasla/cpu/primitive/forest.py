"""Union-find on a forest of vertices: unite the trees at both ends of edges, flatten trees, and number them.

A forest is an array: ``parents[v]`` is the parent of v, and a root is its own parent. A parent is never larger than its
child, so a root is the smallest vertex of its tree. Many threads may run `link` at once: a root gets a parent only by
compare-and-swap. Paths are shortened by plain writes, which are safe in any order, since they always store an ancestor.

Parameters of the kernels
-------------------------
thread, threads :
    index of this thread, from 0, and the number of threads of the run
control :
    (72,) int64 array that all threads of the run share: counters by which they take blocks of work and wait for each
    other, and the flag that stops the run
indptr, indices :
    (n + 1,) offsets of the adjacency lists, and (m,) ids of neighbors
indptr2, indices2 :
    the same for the other direction, if `both` and not `symmetric`
parents :
    (n,) ids, the parent of each vertex in the forest
first, last :
    positions within each adjacency list: only the edges between them are linked
known, largest :
    root of the tree whose vertices' edges need not be read, or -1; (1,) int64, to which `_label` writes that root
joins :
    whether the edges of a vertex are linked only until the vertex is in the tree of root `known`
numbers, sizes :
    (n,) ids, the preorder number of each vertex in another rooted forest, and the size of its subtree there
groups :
    (n,) ids, the vertex of the forest that stands for each vertex of the graph
symmetric, both :
    whether the lists have both directions of each edge; whether `indptr2` and `indices2` have the other direction
counts :
    (threads,) int64, the number of roots in each thread's range of vertices
grain :
    number of vertices in a block
"""

# mypy: disable-error-code="no-untyped-def"
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.runtime.blocks import block_size, blocks, go_on, inlined, run, threads_for
from gasla.cpu.runtime.intrinsics import compare_and_swap_relaxed, load_unordered, prefetch, store_unordered
from gasla.cpu.runtime.threads import barrier
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph

Array = np.ndarray[Any, Any]

_AHEAD = np.uint64(24)  # the neighbors of the vertex this many ids ahead are prefetched, to hide the wait for memory
_SAMPLES = 1024
_ONE = np.uint64(1)


def hook(graph: Graph) -> Array:
    """Return a forest to begin union-find with: each vertex is a child of its first out-neighbor, or else a root.

    It is a root if that neighbor is not smaller than the vertex.
    """
    parents = np.empty(graph.n, graph.id_dtype)
    run(_hook, graph.n, graph.out.indptr, graph.out.indices, parents, _grain(graph.n), loose=True)
    return parents


def link(
    graph: Graph, parents: Array, first: int, last: int | None, known: int | None, across: tuple[Array, Array] | None
) -> None:
    """Unite the trees at both ends of every edge of the graph, in the forest `parents`, in place.

    Only positions `first` to `last` of each adjacency list are read. `known` is the root of a tree whose vertices are
    skipped, or None. If `across` is given, it holds the preorder number and the subtree size of each vertex in another
    forest, and only edges between disjoint subtrees of that forest count.
    """
    lists = graph.out
    positions = np.uint64(min(first, graph.m)), np.uint64(graph.m if last is None else min(last, graph.m))
    root = -1 if known is None else known
    with _as_contiguous(parents) as flat:
        arguments: tuple[Any, ...] = lists.indptr, lists.indices, flat, *positions, root
        if across is not None:
            run(_link_across, graph.n + graph.m, *arguments, *across, _grain(graph.n), loose=True)
        elif known is None or graph.is_symmetric:
            run(_link, graph.n + graph.m, *arguments, False, _grain(graph.n), loose=True)
        else:
            run(_link_outward, graph.n + graph.m, *arguments, _grain(graph.n), loose=True)


def link_groups(lists: Adjacency, groups: Array, parents: Array, known: int | None) -> None:
    """Unite the trees at both ends of every edge of a graph, in place, in a forest of groups of the graph's vertices.

    `parents` has the parent of each group. The edge from u to v unites the trees of ``groups[u]`` and ``groups[v]``.
    The edges of vertices in group `known` are skipped.
    """
    n, m, group = len(lists.indptr) - 1, len(lists.indices), -1 if known is None else known
    run(_link_groups, n + m, lists.indptr, lists.indices, groups, parents, group, _grain(n), loose=True)


def compress(parents: Array) -> None:
    """Flatten all trees of a forest, in place: the parent of every vertex becomes the root of its tree."""
    with _as_contiguous(parents) as flat:
        run(_compress, len(flat), flat, _grain(len(flat)), loose=True)


def number(parents: Array) -> int:
    """Replace each vertex's parent in a forest by the number of the vertex's tree, in place. Return the number of
    trees.

    Trees are numbered from 0 in the order of their roots.
    """
    counts = np.zeros(threads_for(len(parents)), np.int64)
    with _as_contiguous(parents) as flat:
        run(_number, len(flat), flat, counts, team=len(counts))
    return sum(counts.tolist())


def likely_largest(parents: Array) -> int:
    """Return the root that most vertices of a sample have in the forest `parents`, which is probably the largest tree's
    root.

    The forest must be flat: each parent is a root. The guess is good if the largest tree has over half of all vertices.
    """
    return int(_likely_majority(np.ascontiguousarray(parents)))


def label_components(graph: Graph) -> tuple[int, Array]:
    """Return the number of connected components, and the component of each vertex, by the Afforest algorithm.

    The adjacency lists of one direction suffice. If both directions are available, the edges of vertices in the largest
    tree need not be read.
    """
    parents, work = np.empty(graph.n, graph.id_dtype), graph.n + graph.m
    counts, available_lists = np.zeros(threads_for(work), np.int64), graph.lists.available
    grain, largest = block_size(graph.n, len(counts)), np.empty(1, np.int64)
    edges = [array for lists in (available_lists[0], available_lists[-1]) for array in (lists.indptr, lists.indices)]
    run(
        _label,
        work,
        *edges,
        parents,
        graph.is_symmetric,
        len(available_lists) == 2,
        largest,
        counts,
        grain,
        team=len(counts),
    )
    return sum(counts.tolist()), parents


@contextmanager
def _as_contiguous(parents: Array) -> Iterator[Array]:
    """Yield the array `parents` itself if it is contiguous, as kernels need it.

    Otherwise yield a contiguous copy that is written back at the end.
    """
    flat = np.ascontiguousarray(parents)
    yield flat
    if flat is not parents:
        parents[...] = flat


def _grain(n: int) -> np.uint64:
    return block_size(n, threads_for(n))


# --- compiled kernels that unite, flatten and number trees ------------------------------------------------------------


@compiled
def _hook(thread, threads, control, indptr, indices, parents, grain):
    n = np.uint64(len(parents))
    for start, end in blocks(control, n, grain):
        low = np.uint64(indptr[start])
        for v in range(start, end):
            prefetch(indices, np.uint64(indptr[min(v + _AHEAD, n)]))
            high = np.uint64(indptr[v + _ONE])
            parents[v] = min(v, np.uint64(indices[low])) if low < high else v
            low = high


@inlined
def find(parents, v):
    """Return the root of vertex v's tree in the forest `parents`.

    This halves the path to the root: every other vertex gets its grandparent as parent.
    """
    parent = np.uint64(load_unordered(parents, v))
    grandparent = np.uint64(load_unordered(parents, parent))
    while parent != grandparent:
        store_unordered(parents, v, grandparent)
        v = grandparent
        parent = np.uint64(load_unordered(parents, v))
        grandparent = np.uint64(load_unordered(parents, parent))
    return parent


@inlined
def _unite(parents, root, v):
    """Unite the tree with root `root` and the tree of vertex v. Return the root of the united tree.

    The smaller one of the two roots becomes the parent of the larger one.
    """
    other = find(parents, v)
    while root != other:
        large, small = max(root, other), min(root, other)
        if compare_and_swap_relaxed(parents, large, large, small):
            return small
        # another thread has given the larger root a parent, so find both roots again
        root, other = find(parents, large), find(parents, small)
    return root


@inlined
def _link_list(parents, v, indices, low, high, last_root):
    """Unite the tree of v with the trees of its neighbors, which are at positions `low` to `high` of `indices`.

    Stops as soon as the root of v's tree is `last_root`.
    """
    if low < high:
        root = find(parents, v)
        for k in range(low, high):
            root = _unite(parents, root, np.uint64(indices[k]))
            if np.int64(root) == last_root:
                break


@compiled
def _link(thread, threads, control, indptr, indices, parents, first, last, known, joins, grain):
    """Unite the trees of a forest along the edges of all vertices that are not in the tree of root `known`.

    With `joins`, the edges of a vertex are read only until the vertex joins that tree. The edges that are skipped must
    also be in the list of their other end: then either that end links them, or both ends are in the tree.
    """
    n, last_root = np.uint64(len(parents)), known if joins else np.int64(-1)
    for start, end in blocks(control, n, grain):
        for v in range(start, end):
            if load_unordered(parents, v) != known:
                low = np.uint64(indptr[v])
                _link_list(parents, v, indices, low + first, min(np.uint64(indptr[v + _ONE]), low + last), last_root)


@compiled
def _link_outward(thread, threads, control, indptr, indices, parents, first, last, known, grain):
    """Unite the trees of a forest along edges, but for vertices in the tree of root `known` only along edges that leave
    it.
    """
    n = np.uint64(len(parents))
    for start, end in blocks(control, n, grain):
        for v in range(start, end):
            low = np.uint64(indptr[v])
            low, high = low + first, min(np.uint64(indptr[v + _ONE]), low + last)
            if load_unordered(parents, v) != known:
                _link_list(parents, v, indices, low, high, -1)
            else:
                for k in range(low, high):
                    if load_unordered(parents, np.uint64(indices[k])) != known:
                        _link_list(parents, v, indices, k, k + _ONE, -1)


@compiled
def _link_across(thread, threads, control, indptr, indices, parents, first, last, known, numbers, sizes, grain):
    """Unite trees of the forest `parents` along the edges that connect disjoint subtrees of another forest.

    `numbers` and `sizes` have the preorder numbers and the subtree sizes of the other forest. The edges of vertices in
    the tree of root `known` are skipped.
    """
    n = np.uint64(len(parents))
    for start, end in blocks(control, n, grain):
        for v in range(start, end):
            if load_unordered(parents, v) != known:
                low = np.uint64(indptr[v])
                for k in range(low + first, min(np.uint64(indptr[v + _ONE]), low + last)):
                    u = np.uint64(indices[k])
                    if _are_apart(numbers[v], sizes[v], numbers[u], sizes[u]):
                        _link_list(parents, v, indices, k, k + _ONE, -1)


@inlined
def _are_apart(first, size, other, size_of_other):
    """Return whether two subtrees of a rooted forest are disjoint.

    Each subtree is given by the preorder number of its root (`first`, `other`) and its number of vertices.
    """
    return first + size <= other or other + size_of_other <= first


@compiled
def _link_groups(thread, threads, control, indptr, indices, groups, parents, known, grain):
    n = np.uint64(len(indptr)) - _ONE
    for start, end in blocks(control, n, grain):
        for v in range(start, end):
            if groups[v] != known:
                root = find(parents, np.uint64(groups[v]))
                for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
                    root = _unite(parents, root, np.uint64(groups[np.uint64(indices[k])]))


@compiled
def _flatten(parents, v):
    """Make the root of v's tree the parent of v in the forest `parents`, and return the root.

    The parents of other vertices are left alone, as other threads may flatten them at the same time.
    """
    parent = np.uint64(load_unordered(parents, v))
    root = np.uint64(load_unordered(parents, parent))
    if parent != root:
        while parent != root:
            parent = root
            root = np.uint64(load_unordered(parents, parent))
        store_unordered(parents, v, root)
    return root


@compiled
def _compress(thread, threads, control, parents, grain):
    n = np.uint64(len(parents))
    for start, end in blocks(control, n, grain):
        for v in range(start, end):
            _flatten(parents, v)


@compiled
def _number(thread, threads, control, parents, counts):
    """Replace each parent in the forest by the number of its tree, in place and in four passes.

    In between, the entry of a root is ~number, which is negative, until all vertices of its tree have read the number.
    """
    n, team = np.uint64(len(parents)), np.uint64(threads)
    start, end = n * np.uint64(thread) // team, n * np.uint64(thread + 1) // team
    roots = np.uint64(0)
    for v in range(start, end):
        roots += np.uint64(_flatten(parents, v) == v)
    counts[thread] = roots
    barrier(control, threads)
    before = np.int64(0)
    for t in range(thread):
        before += counts[t]
    _name_roots(parents, start, end, before)
    barrier(control, threads)
    for v in range(start, end):
        parent = parents[v]
        at = v if parent < 0 else np.uint64(parent)
        tree_number = ~load_unordered(parents, at)
        store_unordered(parents, v, parent if parent < 0 else tree_number)
    barrier(control, threads)
    for v in range(start, end):
        parents[v] = max(parents[v], ~parents[v])


@compiled
def _label(
    thread, threads, control, indptr, indices, indptr2, indices2, parents, symmetric, both, largest, counts, grain
):
    """Label connected components by union-find: each vertex gets the number of its component.

    First two edges of each vertex are linked, and then all edges outside the largest tree so far.
    """
    _hook(thread, threads, control, indptr, indices, parents, grain)
    if not go_on(thread, threads, control, True):
        return
    _link(thread, threads, control, indptr, indices, parents, _ONE, _ONE + _ONE, -1, False, grain)
    if not go_on(thread, threads, control, True):
        return
    _compress(thread, threads, control, parents, grain)
    if not go_on(thread, threads, control, True):
        return
    if thread == 0 and len(parents):
        largest[0] = _likely_majority(parents)
    barrier(control, threads)
    zero, end = np.uint64(0), np.uint64(len(indices))
    if symmetric or both:
        _link(thread, threads, control, indptr, indices, parents, zero, end, largest[0], True, grain)
        if not symmetric:
            if not go_on(thread, threads, control, True):
                return
            _link(thread, threads, control, indptr2, indices2, parents, zero, end, largest[0], True, grain)
    else:
        _link_outward(thread, threads, control, indptr, indices, parents, zero, end, largest[0], grain)
    barrier(control, threads)
    _number(thread, threads, control, parents, counts)


@compiled
def _likely_majority(parents):
    """Return the parent of over half of the vertices in a sample, if there is one (Boyer and Moore's majority vote).

    If there is none, return some other parent in the sample.
    """
    n, root, lead = np.uint64(len(parents)), np.int64(0), 0
    for i in range(_SAMPLES):
        label = np.int64(parents[np.uint64(i) * np.uint64(0x9E3779B97F4A7C15) % n])
        if lead == 0:
            root = label
        lead += 1 if label == root else -1
    return root


@compiled
def _name_roots(parents, start, end, number):
    for v in range(start, end):
        parent = parents[v]
        is_root = np.uint64(parent) == v
        parents[v] = ~number if is_root else parent
        number += np.int64(is_root)
