"""Union-find on the GPU: a kernel for each of its stages, and kernels that run several stages in one launch.

A forest is an array with the parent of each vertex. Connected components, two-colorings and numbered spanning trees,
which also take an Euler tour, are made of these stages.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.gpu.runtime import compile
from gasla.gpu.runtime.counters import counters
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph

Array = Any  # an array of CuPy

_THREADS = 512
# Blocks per multiprocessor. Threads that follow paths of parents mostly wait for memory, so as many blocks as possible
# should be resident.
_BLOCKS = 4
_SLICE = 2048  # number of edges in a piece of a long adjacency list, as in union_find.cuh
# In the array of an Euler tour's arcs, a thread begins at every such number of arcs (at a "splitter"), as in trees.cuh.
_STRIDE = 32
_BITS = 32  # bits of a word of a bitmap


def source(vertex_size: int, offset_size: int, file: str) -> str:
    """Return the CUDA source of a kernel file such as "forest", for ids and offsets of the given sizes in bytes."""
    return compile.source_of(f"{file}.cuh", vertex_size, offset_size)


def hook(graph: Graph) -> Array:
    """Make a first forest for union-find, in which a vertex's parent is its first out-neighbor if this has a smaller
    id.

    All other vertices are roots. The result has the parent of each vertex.
    """
    import cupy

    lists = graph.out
    parents = cupy.empty(graph.n, graph.id_dtype)
    kernel = _kernel("forest_hook", parents, lists.indptr)
    kernel.plain(_blocks(graph.n), lists.indptr, lists.indices, graph.n, parents)
    return parents


def link(
    graph: Graph, parents: Array, first: int, last: int | None, known: int | None, across: tuple[Array, Array] | None
) -> None:
    """Unite the trees at both ends of edges in a forest, in place. `parents` has each vertex's parent.

    Only the edges at positions `first` to `last` of each vertex's adjacency list are read. The adjacency lists of
    vertices in the tree with the root `known` are skipped. `across` may have the vertices' numbers and subtree sizes in
    a spanning forest of the graph. Then edges between a vertex and its ancestor in that forest are skipped as well.
    """
    import cupy

    if parents.dtype != graph.id_dtype:
        raise TypeError(f"the forest has type {parents.dtype}; expected that of the graph's ids, {graph.id_dtype}")
    if not graph.n:
        return
    lists = graph.out
    kernel = _kernel("forest_link" if across is None else "forest_link_across", parents, lists.indptr)
    outward = known is not None and not graph.is_symmetric
    limits = min(first, graph.m), graph.m if last is None else min(last, graph.m), -1 if known is None else known
    kernel.cooperative(
        *(lists.indptr, lists.indices, graph.n, parents, *limits, int(outward), *(across or ())),
        *(cupy.empty(_slice_capacity(graph.m), np.uint64), _counters(kernel)),
        blocks=_blocks(graph.n),
    )


def link_groups(lists: Adjacency, groups: Array, parents: Array, known: int | None) -> None:
    """Unite the trees of the groups at both ends of every edge, in place, in a forest whose nodes are groups of
    vertices.

    `groups` has the group of each vertex, and `parents` the parent of each group. The adjacency lists of vertices in
    the group `known` are not read.
    """
    import cupy

    n, m = len(lists.indptr) - 1, len(lists.indices)
    if not n:
        return
    kernel = _kernel("forest_link_groups", parents, lists.indptr)
    kernel.cooperative(
        *(lists.indptr, lists.indices, n, m, groups, parents, -1 if known is None else known),
        *(cupy.empty(_slice_capacity(m), np.uint64), _counters(kernel)),
        blocks=_blocks(n),
    )


def compress(parents: Array) -> None:
    """Set every vertex's parent in a forest to the root of the vertex's tree, in place."""
    _kernel("forest_compress", parents).plain(_blocks(len(parents)), parents, len(parents))


def number(parents: Array) -> int:
    """Replace each vertex's parent by the number of the vertex's tree, in place. Return the number of trees.

    Trees are numbered in the order of their roots.
    """
    import cupy

    n = len(parents)
    if n == 0:
        return 0
    kernel, count = _kernel("forest_number", parents), cupy.empty((), np.int64)
    kernel.cooperative(parents, cupy.empty_like(parents), n, _counters(kernel), count, blocks=_blocks(n))
    return int(count)


def likely_largest(parents: Array) -> int:
    """Return the root that occurs most often in a sample of the vertices' parents.

    This is probably the root of the forest's largest tree, whose edges a caller can then skip.
    """
    import cupy

    root = cupy.empty((), np.int64)
    _kernel("forest_largest", parents).plain(1, parents, len(parents), root)
    return int(root)


def label_components(graph: Graph) -> tuple[Array, Array]:
    """Return the number of connected components of a graph and the component of each vertex.

    Both are arrays on the GPU, returned without waiting for the kernel. The algorithm is Afforest, in one launch. It
    differs in two ways from the stages on the CPU: a vertex's first two neighbors are read together, and roots are
    ranked by a hash of their ids, which keeps trees shallow. The smallest vertex of each tree, which names the
    component, is found on the way.
    """
    import cupy

    lists = graph.out
    labels = cupy.empty(graph.n, graph.id_dtype)
    if not graph.n:
        return cupy.zeros((), np.int64), labels
    kernel, count = _kernel("label_components", labels, lists.indptr), cupy.empty((), np.int64)
    slice_bytes = 8 * _slice_capacity(graph.m)
    scratch = cupy.cuda.alloc(slice_bytes + graph.n * labels.dtype.itemsize)
    kernel.cooperative(
        *(lists.indptr, lists.indices, graph.n, graph.m, int(not graph.is_symmetric)),
        *(labels, scratch.ptr + slice_bytes, scratch.ptr, _counters(kernel), count),
        blocks=_blocks(graph.n),
    )
    return count, labels


def label_sides(graph: Graph) -> Array:
    """Return a two-coloring of a graph: for each vertex 0 or 1, as int32, so that the ends of every edge differ.

    The smallest vertex of a component gets 0. Vertices of a component with an odd cycle, which has no two-coloring, get
    -1. The kernel finds the connected components of another graph: it has two copies of each vertex, and each edge
    joins a copy of one end to the other copy of the other end. This doesn't wait for the kernel.
    """
    import cupy

    lists, ids = graph.out, graph.id_dtype
    sides = cupy.empty(graph.n, np.int32)
    if graph.n:
        parents, work = cupy.empty(2 * graph.n, ids), cupy.empty(2 * graph.n, ids)
        offsets = offsets_of_both(lists.indptr, graph.m)
        kernel = _kernel("label_sides", parents, offsets)
        kernel.cooperative(
            *(offsets, lists.indices, graph.n, graph.m, int(not graph.is_symmetric), parents, work),
            *(cupy.empty(_slice_capacity(2 * graph.m), np.uint64), _counters(kernel), sides),
            blocks=_blocks(2 * graph.n),
        )
    return sides


def offsets_of_both(offsets: Array, m: int) -> Array:
    """Return the adjacency offsets of a graph with m entries, as int64 if 2 * m doesn't fit in their type.

    Kernels that work on two copies of each vertex add up to m to an offset, which must not overflow.
    """
    return offsets if 2 * m <= np.iinfo(offsets.dtype).max else offsets.astype(np.int64)


def number_trees(graph: Graph) -> tuple[Array, Array, Array]:
    """Return a rooted spanning forest of a symmetric graph, in three arrays with an entry for each vertex.

    They hold the vertex's parent, the vertex's preorder number, and the size of its subtree. One launch does
    this. With int32 ids it takes 42 bytes of memory per vertex besides the result, and some for long adjacency lists.
    """
    import cupy

    n, lists, ids = graph.n, graph.out, graph.id_dtype
    parents, numbers, sizes = (cupy.empty(n, ids) for _ in range(3))
    if n:
        kernel, bitmap_words, splitter_count = (
            _kernel("number_trees", parents, lists.indptr),
            -(-2 * n // _BITS),
            -(-2 * n // _STRIDE),
        )
        ends, arcs, last_arcs, splitters, bits_before = (
            cupy.empty(count, ids) for count in (2 * n, 4 * n, n + 1, 4 * splitter_count, bitmap_words)
        )
        kernel.cooperative(
            *(lists.indptr, lists.indices, n, graph.m, parents, numbers, sizes, ends, arcs, last_arcs, splitters),
            *(
                cupy.empty(bitmap_words, np.uint32),
                bits_before,
                cupy.empty(_slice_capacity(graph.m), np.uint64),
                _counters(kernel),
            ),
            blocks=_blocks(n),
        )
    return parents, numbers, sizes


def extremes_of_subtrees(trees: tuple[Array, Array, Array], low: Array, high: Array) -> tuple[Array, Array]:
    """Return the smallest value of `low` and the largest value of `high` in the subtree of each vertex of a forest.

    `low` and `high` have a value for each vertex. `trees` is a result of `number_trees`.
    """
    import cupy

    _, numbers, sizes = trees
    n, ids, low, high = len(numbers), numbers.dtype, low.copy(), high.copy()
    if n:
        kernel, blocks = _kernel("extremes_of_subtrees", numbers), -(-n // _BITS)
        table = cupy.empty(2 * blocks * blocks.bit_length(), ids)
        kernel.cooperative(
            *(numbers, sizes, n, low, high, cupy.empty(2 * n, ids), table, _counters(kernel)), blocks=_blocks(n)
        )
    return low, high


_FILES = {
    "label_components": "components",
    "label_sides": "sides",
    "number_trees": "trees",
    "extremes_of_subtrees": "trees",
}


def _kernel(function: str, parents: Array, offsets: Array | None = None) -> compile.Kernel:
    vertex_size = parents.dtype.itemsize
    offset_size = vertex_size if offsets is None else offsets.dtype.itemsize
    file = _FILES.get(function, "forest")
    return compile.kernel(source(vertex_size, offset_size, file), function, _THREADS, _BLOCKS)


def _blocks(n: int) -> int:
    """Return the number of blocks that give each of n vertices a thread of its own."""
    return compile.blocks_for(n, _THREADS)


def _slice_capacity(m: int) -> int:
    """Return how many 64-bit words hold the slices (pieces of long adjacency lists) of a graph with m edges.

    There are at most twice as many slices as full slices in m edges.
    """
    return 3 * (2 * m // _SLICE)


def _counters(kernel: compile.Kernel) -> Array:
    """Return zeroed device memory for the counters of a union-find kernel (the struct `Control` in union_find.cuh).

    The kernel leaves numbers in this memory that its next launch reads. No other kernel takes memory of this size, so
    no other kernel gets the same memory.
    """
    return counters(8 + kernel.blocks)
