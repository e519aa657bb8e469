"""Counts cliques on the GPU: for each vertex, among its neighbors that come later in the order of degrees.

Adjacency among these neighbors is kept as bits. Cliques of more than four vertices are counted by pivoting. The
algorithm is that of `gasla.cpu.primitive.cliques`, which explains it. A block processes a vertex at a time. For cliques
of four, a warp processes each vertex with up to 32 later neighbors.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from gasla.arrays import array_module, moved
from gasla.gpu.primitive.neighbors import ByDegree, by_degree
from gasla.gpu.runtime import compile as gpu
from gasla.gpu.runtime.waiting import wait_for_work, work_page
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph
from gasla.host_memory import free_bytes

Array = Any  # an array of CuPy

# entries of the longest forward list (neighbors later in the order) that a warp processes; threads per block; both as
# in cliques.cuh
SHORT, THREADS = 32, 256
BLOCKS = 8  # largest number of blocks per multiprocessor
# bytes that the adjacency bits of all blocks may take together; if a single block needs more, one block runs
MEMORY = 1 << 31


def count_cliques(graph: Graph, lists: Adjacency | ByDegree, k: int) -> int:
    """Return the number of cliques of k vertices in a simple graph, where k is at least four."""
    if not isinstance(lists, ByDegree):
        lists = by_degree(graph.out.indptr, graph.out.indices, graph.out_degrees)
    xp: Any = array_module(lists.indices)
    control = xp.zeros(4, np.uint64)
    forward = np.uint64(graph.n), lists.indptr, lists.forward, lists.lengths
    most_short = SHORT if k == 4 else k - 2
    vertices = xp.empty(min(graph.n, len(lists.indices) // (most_short + 1)), lists.indices.dtype)
    _kernel("list_long", lists).plain(
        gpu.blocks_for(graph.n, THREADS), forward[0], lists.lengths, np.uint32(most_short), vertices, control
    )
    count, longest = control[:2].tolist()
    leaves = xp.zeros((k + 1, longest + 2), np.uint64)
    if k == 4:
        kernel = _kernel("count_cliques_of_short", lists)
        kernel.plain(min(gpu.blocks_for(graph.n, THREADS), kernel.blocks), *forward, control[2:], leaves)
    if count:
        words_per_block = _words_per_block(k, longest)
        kernel = _kernel("count_cliques_of_long", lists)
        blocks = max(1, min(count, kernel.blocks, min(MEMORY, free_bytes() // 2) // (4 * words_per_block)))
        memory, page = xp.empty(blocks * words_per_block, np.uint32), work_page()
        numbers, word_count = (np.uint64(count), np.uint32(k), np.uint32(longest)), np.uint64(words_per_block)
        kernel.plain(
            blocks, *forward, vertices, *numbers, memory, word_count, control[3:], leaves, np.uint64(page.ctypes.data)
        )
        wait_for_work(page, count, "vertices")
    counts = moved(leaves, "cpu")
    return sum(int(counts[lack, p]) * comb(p, lack) for lack, p in np.argwhere(counts).tolist())


def _words_per_block(k: int, longest: int) -> int:
    """Return how many 32-bit words of memory a block needs to count the cliques of a vertex with `longest` later
    neighbors.

    Later neighbors are those that come after the vertex in the order of degrees. The words hold the adjacency bits of
    these neighbors. For k > 4, they also hold the bits of the opposite direction, and the sets of vertices that each
    warp keeps at each level of the search.
    """
    words = -(-longest // 32)
    if k == 4:
        return longest * words
    return 2 * longest * words + THREADS // 32 * ((2 * longest + 3) * words + 3 * (longest + 1))


def source(vertex_size: int, offset_size: int) -> str:
    """Return the CUDA source of the clique kernels, for ids and offsets of the given sizes in bytes."""
    return gpu.source_of("cliques.cuh", vertex_size, offset_size)


def _kernel(function: str, lists: ByDegree) -> gpu.Kernel:
    cuda_source = source(lists.indices.dtype.itemsize, lists.indptr.dtype.itemsize)
    return gpu.kernel(cuda_source, function, THREADS, BLOCKS)
