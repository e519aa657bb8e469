"""Finds matches of a pattern in a graph by joins of adjacency lists on the GPU (`kernels/primitive/joins.cuh`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.arrays import array_module, moved
from gasla.gpu.primitive.join_constants import constants, first_slot, slots
from gasla.gpu.runtime import compile as gpu
from gasla.gpu.runtime.waiting import wait_for_work, work_page
from gasla.graph.adjacency import Adjacency
from gasla.host_memory import free_bytes
from gasla.program.join_plan import JoinPlan

Array = Any  # an array of CuPy

NO_LIMIT = np.uint64(2**64 - 1)
_MOST_BLOCKS = 1 << 16  # largest number of groups of edges ("blocks of edges") whose matches are counted separately
_PIECE = 512  # largest number of edges that a block of threads takes at a time
# number of neighbors from which on a vertex is a hub, for which blocks of threads are larger, so that more share its
# work
_HUB = 1024
# Largest number of 32-bit words of global memory for all blocks of threads together. If this
# suffices for fewer blocks than the GPU has multiprocessors, one block for each multiprocessor may take more.
_WORDS = 1 << 31
_FILLED = 64  # smallest number of edges for which filling tables of common neighbors saves more time than it takes


class Joined:
    """The matches of a pattern in a graph, which are counted or written on request (`gasla.engines.JoinRun`).

    A block of threads has a bitmap of all vertices for each adjacency list of the first matched vertex. It also has a
    table with 4 bytes per vertex for each vertex of the pattern that is counted by common neighbors. All blocks
    together take at most 8 GiB, unless that is less than one block per multiprocessor. If the tables took more than
    half of the free memory, the kernel does without them.
    """

    def __init__(self, plan: JoinPlan, lists: Adjacency, kinds: Array) -> None:
        self.plan, self.lists, self.kinds = plan, lists, kinds
        self.xp: Any = array_module(lists.indices)
        self.n = len(kinds)
        offsets = lists.indptr[self.n * first_slot(plan) :][: self.n + 1]
        first_vertex_ends, last_vertex_ends = (moved(ends, "cpu").tolist() for ends in (offsets[:2], offsets[-2:]))
        self.first, self.edges = first_vertex_ends[0], last_vertex_ends[-1] - first_vertex_ends[0]
        # The vertices are sorted so that hubs come first or last. So the degrees of the first and the last vertex tell
        # whether there are hubs.
        self.has_hubs = (
            max(first_vertex_ends[-1] - first_vertex_ends[0], last_vertex_ends[-1] - last_vertex_ends[0]) > _HUB
        )
        self.grain = max(1, -(-self.edges // _MOST_BLOCKS))
        self.blocks = -(-self.edges // self.grain)

    def total(self) -> int:
        """Return the number of all matches of the pattern in the graph."""
        low, high = moved(self._visit("count", 0, 1, max(self.edges, 1)), "cpu")[0].tolist()
        return int(low + (high << 64))

    def count(self, first: int = 0, number: int | None = None, most: int | None = None) -> list[int]:
        """Return how many matches begin in each of `number` blocks (groups) of edges, from block `first` on.

        By default, the matches of all blocks are counted. If a block has `most` matches or more, its count need not be
        exact.
        """
        number = self.blocks - first if number is None else number
        counts = self._visit("count", first, number, self.grain, NO_LIMIT if most is None else np.uint64(most))
        return [low + (high << 64) for low, high in moved(counts, "cpu").tolist()]

    def tally(self) -> Array:
        """Return, for each vertex of the graph, the number of matches of the pattern that contain the vertex."""
        counts = self.xp.zeros(self.n, np.int64)
        self._visit("tally", 0, 1, max(self.edges, 1), tally=counts)
        return counts

    def write(self, first: int, wanted: Any, rows: Array) -> list[int]:
        """Write the matches of a pattern that begin in some blocks (groups) of edges to the array `rows`.

        `first` is the number of the first block. `wanted` tells for each block how many matches to skip, how many to
        write at most, and to which row the first match goes. Return how many matches were written for each block.
        """
        units, written = len(wanted), self.xp.zeros(len(wanted), np.uint64)
        if units == 0 or self.edges == 0:
            return [0] * units
        kernel, page = self._kernel("write_matches", "write"), work_page()
        warps = kernel.threads // 32
        start, end = self._edges(first, units, self.grain)
        wanted_on_gpu = self.xp.asarray(np.ascontiguousarray(wanted, np.uint64))
        kernel.plain(
            *(min(kernel.blocks, gpu.blocks_for(units, warps)), *self._graph(), start, end),
            *(np.uint64(self.grain), np.uint64(units), wanted_on_gpu, rows, written, self.xp.zeros(1, np.uint64)),
            np.uint64(page.ctypes.data),
        )
        wait_for_work(page, units, "blocks of edges")
        return [int(number) for number in moved(written, "cpu")]

    def _visit(
        self, way: str, first: int, number: int, grain: int, most: np.uint64 = NO_LIMIT, tally: Array | None = None
    ) -> Array:
        """Visit all matches of a pattern that begin in some blocks (groups) of edges, in a kernel, and count the
        matches.

        There are `number` blocks from block `first` on, of `grain` edges each. Return the number of matches in each
        block as two 64-bit words.
        """
        counts = self.xp.zeros((number, 2), np.uint64)
        if number == 0 or self.edges == 0:
            return counts
        start, end = self._edges(first, number, grain)
        kernel, most_blocks, words_per_block = self._kernel_and_words(way)
        edge_count, has_tables = int(end - start), len(self.plan.tabled) > 0
        is_whole = has_tables and self.plan.size == 3 and edge_count == self.edges
        smallest_piece, pieces = (_FILLED, 4) if has_tables and not is_whole else (1, 64)
        piece = max(smallest_piece, min(_PIECE, edge_count // (pieces * most_blocks)))
        pieces = -(-edge_count // piece)
        memory = self.xp.zeros((min(most_blocks, pieces), words_per_block), np.uint32)
        page = work_page()
        kernel.plain(
            *(len(memory), *self._graph(), start, end, np.uint64(grain), most, np.uint64(piece), np.bool_(is_whole)),
            *(memory, np.uint64(words_per_block), self.xp.zeros(1, np.uint64), counts),
            *(np.uint64(0) if tally is None else tally, np.uint64(page.ctypes.data)),
        )
        wait_for_work(page, pieces, "blocks of edges")
        return counts

    def _graph(self) -> tuple[Any, ...]:
        return np.uint64(self.n), self.lists.indptr, self.lists.indices, self.kinds

    def _edges(self, first: int, number: int, grain: int) -> tuple[np.uint64, np.uint64]:
        """Return the positions in the adjacency lists at which some blocks (groups) of edges begin and end.

        There are `number` blocks from block `first` on, of `grain` edges each.
        """
        ends = (min(self.edges, edges * grain) for edges in (first, first + number))
        start, end = (np.uint64(self.first + edge) for edge in ends)
        return start, end

    def _kernel_and_words(self, way: str) -> tuple[gpu.Kernel, int, int]:
        """Return the kernel that visits the matches of a pattern, how many blocks it may have, and the 32-bit words per
        block.

        The words are global memory for bitmaps and tables. `way` says what is done with matches: "count" or "tally".
        """
        bitmap_words = -(-self.n // 32) * slots(self.plan)
        words_per_block = bitmap_words + len(self.plan.tabled) * self.n
        kernel, most_words = self._kernel("visit_matches", way), free_bytes() // 8
        wanted_blocks = min(kernel.blocks, max(_WORDS // max(words_per_block, 1), gpu.multiprocessors()))
        blocks = min(wanted_blocks, most_words // max(words_per_block, 1))
        if blocks < min(wanted_blocks, gpu.multiprocessors()) and self.plan.tabled:
            kernel, words_per_block = self._kernel("visit_matches", way, has_tables=False), bitmap_words
            blocks = min(kernel.blocks, most_words // max(words_per_block, 1))
        return kernel, max(blocks, 1), words_per_block

    def _kernel(self, function: str, way: str, has_tables: bool = True) -> gpu.Kernel:
        sizes = self.lists.indices.dtype.itemsize, self.lists.indptr.dtype.itemsize
        threads = self._threads(way, has_tables)
        cuda_source = source(self.plan, way, *sizes, has_tables, threads)
        return gpu.kernel(cuda_source, function, threads, 2048 // threads)

    def _threads(self, way: str, has_tables: bool) -> int:
        """Return the number of threads per block of the kernel that matches a pattern.

        If the graph has hubs (vertices of high degree), a kernel with tables of common neighbors has more threads per
        block, which share the work at a hub.
        """
        if way != "count" or not (has_tables and self.plan.tabled):
            return 256
        if self.plan.size > 3:
            return 512
        return 1024 if self.has_hubs else 128


def source(
    plan: JoinPlan, way: str, vertex_size: int, offset_size: int, has_tables: bool = True, threads: int = 256
) -> str:
    """Return the CUDA source of the kernels that find the matches of a pattern, which `plan` describes.

    `way` is what is done with matches: "count", "tally" or "write". Blocks have `threads` threads.
    """
    header = "join_rows.cuh" if way == "write" else "join_counts.cuh"
    types = gpu.source_of("join_plan.cuh", vertex_size, offset_size)
    return f'{types}{constants(plan, way, has_tables, threads)}\n#include "{header}"\n'
