"""Products of two sparse matrices: which entries they have, and which rows a warp can reduce in which of four ways.

Rows are sorted by the most entries that they can have. Few fit in a table in shared memory, of 8 threads or of a warp;
more are cut into windows of columns, or, where those would find too little to do, have a table in global memory. The
kernels are in kernels/product/structure.cuh.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import any_true, array_module
from gasla.gpu.program import rows
from gasla.gpu.runtime.compile import Kernel, device
from gasla.graph import lists_gpu
from gasla.program.terms import Array, Lists

THREADS = 128  # of a block
WARPS = THREADS // 32
SHARED = (48 << 10) // WARPS  # bytes for a warp
SMALL_LANES, SMALL_BITS = 8, 6  # threads a small row, and its table: of at most half as many entries,
SMALL_PAIRS = 256  # and at most so many pairs, as rows side by side wait for each other
LONGEST = 1 << 26  # entries of a row of B, as their numbers are 32-bit
WIDEST = 1 << 30  # columns of B, as those of tables are
VISIT = 20  # a window costs what so many entries of A do that are looked up for it
BATCH = 1 << 30  # bytes of tables in global memory at once
WAYS = "small", "tables", "windows", "memory"

SOURCE = """
#include "structure.cuh"
using namespace gasla;

constexpr u32 WARPS = {warps};
#define GIVEN const long long* a_offsets, const int* a_indices, const long long* b_offsets, const int* b_indices, \\
    const long long* out_offsets, const int* out_indices, const long long* rows, u64 count, const long long* bounds, \\
    long long* sizes, const long long* offsets, int* columns
#define STRUCTURE {{a_offsets, a_indices}}, {{b_offsets, b_indices}}, {{out_offsets, out_indices}}, rows, count, \\
    bounds, sizes, offsets, columns

extern "C" __global__ void __launch_bounds__({threads}) small(GIVEN) {{
    __shared__ u32 keys[WARPS][(WARP / {small_lanes}) << {small_bits}];
    find_columns_in_tables<{small_lanes}, {small_bits}>(Structure{{STRUCTURE}}, keys[warp_of_block()]);
}}
extern "C" __global__ void __launch_bounds__({threads}) tables(GIVEN) {{
    __shared__ u32 keys[WARPS][1u << {bits}];
    find_columns_in_tables<WARP, {bits}>(Structure{{STRUCTURE}}, keys[warp_of_block()]);
}}
extern "C" __global__ void __launch_bounds__({threads}) windows(GIVEN, u32 windows, u32* counts) {{
    __shared__ u32 bits[WARPS][{width} / WARP];
    find_columns_in_windows(Structure{{STRUCTURE}}, bits[warp_of_block()], {width}, windows, counts);
}}
extern "C" __global__ void __launch_bounds__({threads}) memory(GIVEN, u32* keys, const u64* places) {{
    find_columns_in_memory(Structure{{STRUCTURE}}, keys, places);
}}
"""


class Room(NamedTuple):
    """What fits into shared memory for a warp, with so many bytes a column beside its name."""

    bits: int  # of the largest table
    width: int  # columns of a window

    @classmethod
    def of(cls, table_slot: int, window_column: float) -> Room:
        """For so many bytes a slot, and a column."""
        return cls((SHARED // table_slot).bit_length() - 1, int(SHARED / window_column) // 32 * 32)


STRUCTURE = Room.of(4, 4)  # windows could be far wider, but then a warp would have too much to do


class Lines(NamedTuple):
    """The rows of a checked matrix, from offset 0 on, as kernels want them."""

    offsets: Array  # int64
    indices: Array  # int32
    values: Array | None
    width: int

    @property
    def lengths(self) -> Array:
        """Entries of each row."""
        found: Array = array_module(self.offsets).diff(self.offsets)
        return found


def lines(lists: Lists, name: str) -> Lines | None:
    """The rows of a matrix; None if it points outside itself."""
    facts = rows.plan(lists.indptr, lists.indices).facts
    if not facts.offsets_fit or facts.lowest < 0 or facts.highest >= lists.width:
        return None
    if lists.width > WIDEST:
        raise ValueError(f"{name} has {lists.width} columns; expected at most {WIDEST} on a GPU")
    if facts.longest > LONGEST:
        raise ValueError(f"{name} has a row of {facts.longest} entries; expected at most {LONGEST} on a GPU")
    offsets = lists.indptr.astype(np.int64)
    first, last = (int(offsets[0]), int(offsets[-1])) if len(offsets) > 1 else (0, 0)
    if first:
        offsets -= first
    indices = lists.indices[first:last].astype(np.int32, copy=False)
    values = None if lists.values is None else lists.values[first:last]
    return Lines(offsets, indices, values, lists.width)


def ascending(matrix: Lines, strictly: bool = False) -> bool:
    """Whether the columns of each row ascend: if strictly, without parallel entries."""
    xp, indices = array_module(matrix.indices), matrix.indices
    if len(indices) < 2:
        return True
    falls = (xp.less_equal if strictly else xp.less)(indices[1:], indices[:-1])
    begins = xp.zeros(len(indices) + 1, bool)
    begins[matrix.offsets] = True
    return not any_true(xp.logical_and(falls, xp.logical_not(begins[1:-1])))


def in_ascending_order(matrix: Lines) -> Lines:
    """The same with the columns of each row ascending, parallel entries in their order; itself where that is so."""
    if ascending(matrix):
        return matrix
    owners = lists_gpu.owners(matrix.offsets, matrix.indices)
    _, owners, by_column = lists_gpu.group(matrix.indices, owners, matrix.width)
    offsets, indices, order = lists_gpu.group(owners, matrix.indices[by_column], len(matrix.offsets) - 1)
    values = None if matrix.values is None else matrix.values[by_column[order]]
    return Lines(offsets.astype(np.int64), indices, values, matrix.width)


def count_pairs(a: Lines, b: Lines) -> Array:
    """How many pairs of entries meet in each row of A."""
    xp = array_module(a.offsets)
    sums = xp.zeros(len(a.indices) + 1, np.int64)
    if len(a.indices):
        sums[1:] = xp.cumsum(b.lengths[a.indices])
    found: Array = xp.diff(sums[a.offsets])
    return found


def sort_rows(
    bounds: Array, pairs: Array, lengths: Array, columns: int, room: Room, small: bool = True
) -> dict[str, Array]:
    """Which rows are reduced in which way; those that have no entries in none."""
    xp = array_module(bounds)
    if not len(bounds):
        return {way: xp.zeros(0, np.int64) for way in WAYS}
    which = xp.full(len(bounds), WAYS.index("memory"))
    visits = xp.multiply(xp.add(lengths, VISIT), windows_of(columns, room))
    which[xp.less_equal(visits, pairs)] = WAYS.index("windows")
    which[xp.less_equal(bounds, 1 << room.bits >> 1)] = WAYS.index("tables")
    if small:
        few = xp.less_equal(bounds, 1 << SMALL_BITS >> 1)
        which[xp.logical_and(few, xp.less_equal(pairs, SMALL_PAIRS))] = WAYS.index("small")
    which[xp.equal(bounds, 0)] = len(WAYS)
    ways = {way: xp.flatnonzero(xp.equal(which, k)).astype(np.int64, copy=False) for k, way in enumerate(WAYS)}
    if len(long := ways["windows"]):
        ways["windows"] = long[xp.argsort(xp.negative(pairs[long]))]  # nobody begins with one when the others end
    return ways


def windows_of(columns: int, room: Room) -> int:
    """How many windows there are."""
    return max(1, -(-columns // room.width))


def batches(bounds: Array, listed: Array, slot: int) -> Iterator[tuple[Array, Array, int]]:
    """Rows whose tables in global memory fit together, where each table begins, and slots of all of them.

    A slot takes so many bytes.
    """
    xp = array_module(bounds)
    wanted = 2 * np.maximum(_on_host(bounds[listed]), 16)
    sizes = 1 << np.frexp((wanted - 1).astype(np.float64))[1].astype(np.int64)  # the power of two not below
    first = 0
    while first < len(sizes):
        sums = sizes[first:].cumsum()
        count = max(1, int(np.searchsorted(sums, BATCH // slot, side="right")))
        places = (sums[:count] - sizes[first : first + count]).astype(np.uint64)
        yield listed[first : first + count], xp.asarray(places), int(sums[count - 1])
        first += count


def _on_host(array: Array) -> np.ndarray[Any, Any]:
    return array if isinstance(array, np.ndarray) else array.get()


class Structure:
    """The entries of a product: how many each row has, then which."""

    def __init__(self, a: Lines, b: Lines, left_out: Lines | None) -> None:
        self.a, self.b, self.left_out = a, b, left_out
        self.xp, self.pairs = array_module(a.offsets), count_pairs(a, b)
        most = self.xp.minimum(self.pairs, b.width)
        self.ways = sort_rows(self._with_left_out(most), self.pairs, a.lengths, b.width, STRUCTURE)
        self.windows = windows_of(b.width, STRUCTURE)
        if len(self.ways["windows"]):
            self.b = in_ascending_order(b)
        self.in_windows = self.xp.zeros((len(self.ways["windows"]), self.windows), np.uint32)
        self.bounds = self._with_left_out(most)

    def _with_left_out(self, columns: Array) -> Array:
        """With room for what is left out, in rows that have pairs."""
        if self.left_out is None:
            return columns
        most = self.xp.minimum(self.xp.add(columns, self.left_out.lengths), WIDEST)
        return self.xp.where(self.xp.greater(self.pairs, 0), most, 0)

    def count(self) -> Array:
        """Entries of each row."""
        sizes = self.xp.zeros(len(self.pairs), np.int64)
        self._launch(self.bounds, sizes, None, None, self.in_windows)
        if len(listed := self.ways["windows"]):
            sizes[listed] = self.in_windows.sum(axis=1).astype(np.int64)
        return sizes

    def fill(self, offsets: Array, columns: Array) -> None:
        """The columns of all entries, ascending in each row, of type int32."""
        bounds = self._with_left_out(self.xp.diff(offsets))
        before = self.in_windows
        if len(before):
            before = self.xp.cumsum(before, axis=1).astype(np.uint32) - before
        self._launch(bounds, None, offsets, columns, before)
        _sort_columns(self.ways["memory"], offsets, columns)

    def _launch(
        self, bounds: Array, sizes: Array | None, offsets: Array | None, columns: Array | None, in_windows: Array
    ) -> None:
        out = (None, None) if self.left_out is None else (self.left_out.offsets, self.left_out.indices)
        matrices = self.a.offsets, self.a.indices, self.b.offsets, self.b.indices, *out

        def arguments(listed: Array) -> list[Any]:
            given = *matrices, listed, np.uint64(len(listed)), bounds, sizes, offsets, columns
            return [np.uint64(0) if x is None else x for x in given]

        find = functools.partial(kernel, device=device())
        launch(self.ways, find, arguments, (self.windows, in_windows), bounds, 4)


def launch(
    ways: dict[str, Array],
    find: Callable[[str], Kernel],
    arguments: Callable[[Array], list[Any]],
    windows: tuple[int, Any],
    bounds: Array,
    slot: int,
) -> None:
    """Launch for all rows what is found for their way. The kernel is passed the arguments for its rows, and more.

    Of windows it is told how many there are, and what is given beside. Of tables in global memory, where they are: of
    columns, of values if a slot has over 4 bytes, and where each row's own begin.
    """
    for way, listed in ways.items():
        if not len(listed):
            continue
        called = find(way)
        if way == "windows":
            count, beside = windows
            called.plain(blocks(len(listed) * count), *arguments(listed), np.uint32(count), beside)
        elif way == "memory":
            xp = array_module(bounds)
            for some, places, slots in batches(bounds, listed, slot):
                tables = [xp.empty(slots, np.uint32), *([xp.empty(slots * (slot - 4), np.uint8)] if slot > 4 else [])]
                called.plain(blocks(len(some)), *arguments(some), *tables, places)
        else:
            called.plain(blocks(len(listed), 32 // SMALL_LANES if way == "small" else 1), *arguments(listed))


def _sort_columns(listed: Array, offsets: Array, columns: Array) -> None:
    """Let the columns of some rows ascend."""
    if not len(listed):
        return
    xp = array_module(offsets)
    starts, sums = offsets[listed], xp.zeros(len(listed) + 1, np.int64)
    sums[1:] = xp.cumsum(offsets[listed + 1] - starts)
    count = int(sums[-1])
    if not count:
        return
    owners = lists_gpu.owners(sums, columns[:count])
    where = xp.arange(count) + (starts - sums[:-1])[owners]
    packed = owners.astype(np.uint64)
    packed <<= 32
    packed |= columns[where].astype(np.uint64)
    packed.sort()
    columns[where] = packed.view(np.uint32)[::2].astype(np.int32)


def blocks(items: int, per_warp: int = 1) -> int:
    """Of a launch in which a warp takes so many of the items; what is over the most that there can be, comes again."""
    return max(1, min(-(-items // (per_warp * WARPS)), 2**31 - 1))


def source() -> str:
    """The text of the kernels."""
    return SOURCE.format(
        warps=WARPS,
        threads=THREADS,
        small_lanes=SMALL_LANES,
        small_bits=SMALL_BITS,
        bits=STRUCTURE.bits,
        width=STRUCTURE.width,
    )


@functools.cache
def kernel(way: str, device: int) -> Kernel:
    """What finds entries of rows that are reduced in one of the `WAYS`."""
    return Kernel(source(), way, THREADS)
