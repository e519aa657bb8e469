"""Cliques on the GPU: forward lists in the order of degrees, adjacency as bits, and pivoting beyond four vertices.

The algorithm is that of `gasla.cpu.primitive.cliques`, which explains it. A block takes a vertex; for cliques of four,
a warp takes a vertex of up to 32 later neighbors.
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

Array = Any  # CuPy's

SHORT, THREADS = 32, 256  # as in cliques.cuh
BLOCKS = 8  # per multiprocessor, at most
MEMORY = 1 << 31  # bytes, at most, for the bits of all blocks, unless one block needs more


def count_cliques(graph: Graph, lists: Adjacency | ByDegree, k: int) -> int:
    """Return the number of cliques of k vertices, four or more, of a simple graph."""
    if not isinstance(lists, ByDegree):
        lists = by_degree(graph.out.indptr, graph.out.indices, graph.out_degrees)
    xp: Any = array_module(lists.indices)
    control = xp.zeros(4, np.uint64)
    forward = np.uint64(graph.n), lists.indptr, lists.forward, lists.lengths
    above = SHORT if k == 4 else k - 2
    vertices = xp.empty(min(graph.n, len(lists.indices) // (above + 1)), lists.indices.dtype)
    _kernel("list_long", lists).plain(
        gpu.blocks_for(graph.n, THREADS), forward[0], lists.lengths, np.uint32(above), vertices, control
    )
    count, longest = control[:2].tolist()
    leaves = xp.zeros((k + 1, longest + 2), np.uint64)
    if k == 4:
        kernel = _kernel("count_cliques_of_short", lists)
        kernel.plain(min(gpu.blocks_for(graph.n, THREADS), kernel.blocks), *forward, control[2:], leaves)
    if count:
        words = _words(k, longest)
        kernel = _kernel("count_cliques_of_long", lists)
        blocks = max(1, min(count, kernel.blocks, min(MEMORY, free_bytes() // 2) // (4 * words)))
        memory, page = xp.empty(blocks * words, np.uint32), work_page()
        numbers, size = (np.uint64(count), np.uint32(k), np.uint32(longest)), np.uint64(words)
        kernel.plain(
            blocks, *forward, vertices, *numbers, memory, size, control[3:], leaves, np.uint64(page.ctypes.data)
        )
        wait_for_work(page, count, "vertices")
    counts = moved(leaves, "cpu")
    return sum(int(counts[lack, p]) * comb(p, lack) for lack, p in np.argwhere(counts).tolist())


def _words(k: int, longest: int) -> int:
    """Return words of memory for a block.

    These are rows, for k > 4 in both directions, and each warp's sets and levels.
    """
    words = -(-longest // 32)
    if k == 4:
        return longest * words
    return 2 * longest * words + THREADS // 32 * ((2 * longest + 3) * words + 3 * (longest + 1))


def source(vertex_size: int, offset_size: int) -> str:
    """Return the CUDA source of the kernels, for ids of `vertex_size` bytes and offsets of `offset_size`."""
    return gpu.source_of("cliques.cuh", vertex_size, offset_size)


def _kernel(function: str, lists: ByDegree) -> gpu.Kernel:
    text = source(lists.indices.dtype.itemsize, lists.indptr.dtype.itemsize)
    return gpu.kernel(text, function, THREADS, BLOCKS)
