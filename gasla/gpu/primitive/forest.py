"""Stages of union-find on the GPU: a kernel for each, and one that runs all of them for connected components.

Numbered trees of a spanning forest come from the same stages, and an Euler tour.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.gpu.runtime import compile
from gasla.gpu.runtime.counters import counters
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph

Array = Any  # CuPy's

_THREADS = 512
_BLOCKS = 4  # blocks per multiprocessor: threads that follow paths wait for memory, so occupancy should be full
_SLICE = 2048  # edges of a piece of a list, as in union_find.cuh
_STRIDE = 32  # arcs of a tour for each splitter, as in trees.cuh
_BITS = 32  # bits of a word


def source(vertex_size: int, offset_size: int, file: str) -> str:
    """Return the CUDA source of a file such as "forest" or "sides". The sizes are bytes of ids and of offsets."""
    return compile.source_of(f"{file}.cuh", vertex_size, offset_size)


def hook(graph: Graph) -> Array:
    """Create a forest: each vertex's parent is its first out-neighbor if that is smaller, else the vertex is a root."""
    import cupy

    lists = graph.out
    parents = cupy.empty(graph.n, graph.id_dtype)
    kernel = _kernel("forest_hook", parents, lists.indptr)
    kernel.plain(_blocks(graph.n), lists.indptr, lists.indices, graph.n, parents)
    return parents


def link(
    graph: Graph,
    parents: Array,
    first: int,
    last: int | None,
    known: int | None,
    across: tuple[Array, Array] | None,
) -> None:
    """Unite the trees at both ends of every edge, in place. `across` has numbers and sizes of subtrees."""
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
    """Unite the groups at both ends of every edge in a forest of groups, in place."""
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
    """Point every vertex at its root, in place."""
    _kernel("forest_compress", parents).plain(_blocks(len(parents)), parents, len(parents))


def number(parents: Array) -> int:
    """Replace parents by tree numbers in the order of the roots, in place. Return the number of trees."""
    import cupy

    n = len(parents)
    if n == 0:
        return 0
    kernel, count = _kernel("forest_number", parents), cupy.empty((), np.int64)
    kernel.cooperative(parents, cupy.empty_like(parents), n, _counters(kernel), count, blocks=_blocks(n))
    return int(count)


def likely_largest(parents: Array) -> int:
    """Return the most frequent root in a sample of vertices: that of the largest tree, if it holds most vertices."""
    import cupy

    root = cupy.empty((), np.int64)
    _kernel("forest_largest", parents).plain(1, parents, len(parents), root)
    return int(root)


def label_components(graph: Graph) -> tuple[Array, Array]:
    """Return the number of connected components, and that of each vertex, by Afforest in one asynchronous launch.

    The stages are those of the CPU with two differences: a vertex's first two neighbors are read together, and roots
    are ranked by a hash of their ids, which keeps trees shallow; the smallest vertex of each tree is found on the way.
    """
    import cupy

    lists = graph.out
    labels = cupy.empty(graph.n, graph.id_dtype)
    if not graph.n:
        return cupy.zeros((), np.int64), labels
    kernel, count = _kernel("label_components", labels, lists.indptr), cupy.empty((), np.int64)
    slices = 8 * _slice_capacity(graph.m)
    scratch = cupy.cuda.alloc(slices + graph.n * labels.dtype.itemsize)
    kernel.cooperative(
        *(lists.indptr, lists.indices, graph.n, graph.m, int(not graph.is_symmetric)),
        *(labels, scratch.ptr + slices, scratch.ptr, _counters(kernel), count),
        blocks=_blocks(graph.n),
    )
    return count, labels


def label_sides(graph: Graph) -> Array:
    """Return the side of each vertex, int32, in one asynchronous launch. It is -1 in components with an odd cycle.

    The smallest vertex of a component is on side 0. Edges join two copies of each vertex, from one copy to the other.
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
    """Return offsets of a type that holds twice as many edges, as kernels add up to m to a position."""
    return offsets if 2 * m <= np.iinfo(offsets.dtype).max else offsets.astype(np.int64)


def number_trees(graph: Graph) -> tuple[Array, Array, Array]:
    """Return the parents, the numbers and the sizes of a rooted spanning forest of a symmetric graph, in one launch.

    Takes 42 bytes per vertex besides, of int32 ids, and a few for long lists.
    """
    import cupy

    n, lists, ids = graph.n, graph.out, graph.id_dtype
    parents, numbers, sizes = (cupy.empty(n, ids) for _ in range(3))
    if n:
        kernel, words, stretches = (
            _kernel("number_trees", parents, lists.indptr),
            -(-2 * n // _BITS),
            -(-2 * n // _STRIDE),
        )
        ends, arcs, last, splitters, before = (
            cupy.empty(count, ids) for count in (2 * n, 4 * n, n + 1, 4 * stretches, words)
        )
        kernel.cooperative(
            *(lists.indptr, lists.indices, n, graph.m, parents, numbers, sizes, ends, arcs, last, splitters),
            *(cupy.empty(words, np.uint32), before, cupy.empty(_slice_capacity(graph.m), np.uint64), _counters(kernel)),
            blocks=_blocks(n),
        )
    return parents, numbers, sizes


def extremes_of_subtrees(trees: tuple[Array, Array, Array], low: Array, high: Array) -> tuple[Array, Array]:
    """Return the smallest of `low` and the largest of `high` in each subtree of numbered trees."""
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
    """Return the number of blocks with a thread for each vertex."""
    return compile.blocks_for(n, _THREADS)


def _slice_capacity(m: int) -> int:
    """Return the words for the slices of long lists.

    They are at most twice as many as there are full slices in m edges.
    """
    return 3 * (2 * m // _SLICE)


def _counters(kernel: compile.Kernel) -> Array:
    """Return memory for `Control` in union_find.cuh.

    Kernels leave numbers in it, so it has more words than the counters that any other kernel needs to be zero.
    """
    return counters(8 + kernel.blocks)
