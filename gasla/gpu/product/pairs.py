"""Products of two sparse matrices: which entries they have, and which rows a warp can reduce in which of four ways.

Rows are sorted by the most entries that they can have. Few fit in a table in shared memory, of 4 threads or of a warp;
more are cut into windows of columns, or, where those would find too little to do, have a table in global memory. The
kernels are in kernels/product/structure.cuh and ways.cuh.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import array_module
from gasla.gpu.program import rows
from gasla.gpu.runtime.compile import Kernel, device
from gasla.graph import lists_gpu
from gasla.program.terms import Array, Lists

THREADS = 128  # of a block
WARPS = THREADS // 32
SHARED = (48 << 10) // WARPS  # bytes for a warp
SMALL_LANES, SMALL_BITS = 4, 6  # threads a small row, and its table: of at most half as many entries,
SMALL_PAIRS = 256  # and at most so many pairs, as rows side by side wait for each other
LONGEST = 1 << 26  # entries of a row of B, as their numbers are 32-bit
WIDEST = 1 << 30  # columns of B, as those of tables are
VISIT = 20  # a window costs what so many entries of A do that are looked up for it
BATCH = 1 << 30  # bytes of tables in global memory at once
WAYS = "small", "tables", "memory", "windows"
KINDS_OF_WINDOWS = 32  # of rows in windows, by how many pairs meet, as in kernels/product/ways.cuh

SOURCE = """
#include "structure.cuh"
using namespace gasla;

constexpr u32 WARPS = {warps};
#define GIVEN const long long* a_offsets, const int* a_indices, const long long* b_offsets, const int* b_indices, \\
    const long long* out_offsets, const int* out_indices, const long long* rows, u64 count, const long long* pairs, \\
    u32 width, long long* sizes, const long long* offsets, int* columns
#define STRUCTURE {{a_offsets, a_indices}}, {{b_offsets, b_indices}}, {{out_offsets, out_indices}}, rows, count, \\
    pairs, width, sizes, offsets, columns
#define BOUNDS {threads}

extern "C" __global__ void __launch_bounds__(BOUNDS) small(GIVEN) {{
    __shared__ u32 keys[WARPS][(WARP / {small_lanes}) << {small_bits}];
    find_columns_in_tables<{small_lanes}, {small_bits}>(Structure{{STRUCTURE}}, keys[warp_of_block()]);
}}
extern "C" __global__ void __launch_bounds__(BOUNDS) tables(GIVEN) {{
    __shared__ u32 keys[WARPS][1u << {bits}];
    find_columns_in_tables<WARP, {bits}>(Structure{{STRUCTURE}}, keys[warp_of_block()]);
}}
extern "C" __global__ void __launch_bounds__(BOUNDS) windows(GIVEN, u32 windows, u32* counts) {{
    __shared__ u32 bits[WARPS][{width} / WARP];
    find_columns_in_windows(Structure{{STRUCTURE}}, bits[warp_of_block()], {width}, windows, counts);
}}
extern "C" __global__ void __launch_bounds__(BOUNDS) memory(GIVEN, u32* keys, const u64* places) {{
    find_columns_in_memory(Structure{{STRUCTURE}}, keys, places);
}}
extern "C" __global__ void __launch_bounds__(BOUNDS) count_pairs(
    const long long* a_offsets, const int* a_indices, const long long* b_offsets, u64 rows, long long* pairs
) {{
    count_pairs_of_rows<{small_lanes}>({{a_offsets, a_indices}}, b_offsets, rows, pairs);
}}
extern "C" __global__ void __launch_bounds__(BOUNDS) choose_ways(
    const long long* pairs, const long long* offsets, const long long* left_out, u32 width, const long long* a_offsets,
    u64 rows, u64 small, u64 small_pairs, u64 tables, u64 windows, u64 visit, unsigned char* ways, u64* counts
) {{
    __shared__ u32 here[ALL_WAYS];
    const Most most{{pairs, offsets, left_out, width}};
    const Limits limits{{small, small_pairs, tables, windows, visit}};
    choose_way_of_rows(most, a_offsets, rows, limits, ways, counts, here);
}}
extern "C" __global__ void __launch_bounds__(BOUNDS) list_rows(
    const unsigned char* ways, u64 rows, const u64* counts, u64* taken, long long* list
) {{
    __shared__ u32 here[ALL_WAYS];
    __shared__ u64 starts[ALL_WAYS];
    list_rows_by_way(ways, rows, counts, taken, list, here, starts);
}}
extern "C" __global__ void __launch_bounds__(BOUNDS) find_order(
    const long long* offsets, const int* indices, u64 rows, u64* found
) {{
    find_order_of_rows({{offsets, indices}}, rows, found);
}}
"""
FUNCTIONS = *WAYS, "count_pairs", "choose_ways", "list_rows", "find_order"


class SharedLimits(NamedTuple):
    """What fits into shared memory for a warp, with so many bytes a column beside its name."""

    bits: int  # of the largest table
    width: int  # columns of a window

    @classmethod
    def of(cls, table_slot: int, window_column: float) -> SharedLimits:
        """What fits, by the bytes of a table's slot and of a window's column."""
        return cls((SHARED // table_slot).bit_length() - 1, int(SHARED / window_column) // 32 * 32)


STRUCTURE = SharedLimits.of(4, 4)  # windows could be far wider, but then a warp would have too much to do


class Order(NamedTuple):
    """How the columns of each row are ordered."""

    ascends: bool
    is_apart: bool  # no row has a column twice; known only if they ascend


class Lines(NamedTuple):
    """The rows of a checked matrix, as kernels want them."""

    offsets: Array  # int64
    indices: Array  # int32
    values: Array | None
    width: int
    known: dict[str, Any]  # what was found out about it, cached as long as the matrix lives

    @property
    def order(self) -> Order:
        """Found when it is first asked for."""
        if "order" not in self.known:
            self.known["order"] = find_order(self)
        found: Order = self.known["order"]
        return found


def lines(lists: Lists, name: str) -> Lines | None:
    """The rows of a matrix; None if it points outside itself."""
    shares = rows.share_out(lists.indptr, lists.indices)
    facts = shares.facts
    if not facts.offsets_fit or facts.lowest < 0 or facts.highest >= lists.width:
        return None
    if lists.width > WIDEST:
        raise ValueError(f"{name} has {lists.width} columns; expected at most {WIDEST} on a GPU")
    if facts.longest > LONGEST:
        raise ValueError(f"{name} has a row of {facts.longest} entries; expected at most {LONGEST} on a GPU")
    offsets, indices = lists.indptr.astype(np.int64, copy=False), lists.indices.astype(np.int32, copy=False)
    return Lines(offsets, indices, lists.values, lists.width, shares.known)


def find_order(matrix: Lines) -> Order:
    """Look at all entries, and wait for the answer."""
    found = array_module(matrix.offsets).zeros(2, np.uint64)
    count = len(matrix.offsets) - 1
    most = max(count, len(matrix.indices))
    _call("find_order", min(-(-most // THREADS), 1 << 12), matrix.offsets, matrix.indices, np.uint64(count), found)
    falls, repeats = found.tolist()
    return Order(not falls, not falls and not repeats)


def in_ascending_order(matrix: Lines) -> Lines:
    """The matrix with columns ascending in each row, parallel entries in their order; itself where that is so."""
    if matrix.order.ascends:
        return matrix
    first, last = int(matrix.offsets[0]), int(matrix.offsets[-1])
    starts, indices = array_module(matrix.offsets).subtract(matrix.offsets, first), matrix.indices[first:last]
    owners = lists_gpu.owners(starts, indices)
    _, owners, by_column = lists_gpu.group(indices, owners, matrix.width)
    offsets, indices, order = lists_gpu.group(owners, indices[by_column], len(starts) - 1)
    values = None if matrix.values is None else matrix.values[first:last][by_column[order]]
    return Lines(offsets.astype(np.int64), indices, values, matrix.width, {})


def count_pairs(a: Lines, b: Lines) -> Array:
    """How many pairs of entries meet in each row of A."""
    count = len(a.offsets) - 1
    pairs: Array = array_module(a.offsets).empty(count, np.int64)
    _call("count_pairs", blocks(count, 32 // SMALL_LANES), a.offsets, a.indices, b.offsets, np.uint64(count), pairs)
    return pairs


class Some(NamedTuple):
    """Rows that are reduced in one way."""

    number: int
    listed: Array | None  # int64; None for all rows


class Most(NamedTuple):
    """The most columns that each row of a product may have: `Most` in kernels/product/ways.cuh."""

    pairs: Array
    offsets: Array | None
    left_out: Array | None  # offsets
    width: int

    def of(self, listed: Array) -> np.ndarray[Any, Any]:
        """Those of some rows, on the host."""

        def lengths(offsets: Array) -> np.ndarray[Any, Any]:
            return _on_host(offsets[listed + 1]) - _on_host(offsets[listed])

        pairs = _on_host(self.pairs[listed])
        known = np.minimum(pairs, self.width) if self.offsets is None else lengths(self.offsets)
        if self.left_out is None:
            return known
        return np.where(pairs > 0, np.minimum(known + lengths(self.left_out), WIDEST), 0)


def sort_rows(most: Most, a: Lines, limits: SharedLimits, small: bool = True) -> dict[str, Some]:
    """Which rows are reduced in which way; those that have no entries in none."""
    count, xp = len(most.pairs), array_module(most.pairs)
    which, found = xp.empty(count, np.uint8), xp.zeros((2, len(WAYS) + KINDS_OF_WINDOWS), np.uint64)
    in_small, in_table = 1 << SMALL_BITS >> 1 if small else 0, 1 << limits.bits >> 1
    given = (np.uint64(0) if x is None else x for x in most[:3])
    numbers = map(np.uint64, (count, in_small, SMALL_PAIRS, in_table, windows_of(most.width, limits), VISIT))
    _call("choose_ways", -(-count // THREADS), *given, np.uint32(most.width), a.offsets, *numbers, which, found[0])
    counts = _on_host(found[0]).astype(np.int64)
    counts = np.append(counts[:3], counts[3:-1].sum())
    if count in counts[:2]:
        return {way: Some(int(n), None) for way, n in zip(WAYS, counts)}
    listed = xp.empty(count, np.int64)
    if counts.any():
        _call("list_rows", -(-count // THREADS), which, np.uint64(count), *found, listed)
    ends = counts.cumsum()
    return {way: Some(int(n), listed[end - n : end]) for way, n, end in zip(WAYS, counts, ends)}


def _call(function: str, blocks: int, *arguments: Any) -> None:
    kernel(function, device()).plain(max(1, min(blocks, 2**31 - 1)), *arguments)


def windows_of(columns: int, limits: SharedLimits) -> int:
    """How many windows so many columns take."""
    return max(1, -(-columns // limits.width))


def batches(most: Most, listed: Array, slot: int) -> Iterator[tuple[Array, Array, int]]:
    """Rows whose tables in global memory fit together, where each table begins, and slots of all of them.

    A slot takes so many bytes.
    """
    wanted = 2 * np.maximum(most.of(listed), 16)
    sizes = 1 << np.frexp((wanted - 1).astype(np.float64))[1].astype(np.int64)  # the power of two not below
    first = 0
    while first < len(sizes):
        sums = sizes[first:].cumsum()
        count = max(1, int(np.searchsorted(sums, BATCH // slot, side="right")))
        places = (sums[:count] - sizes[first : first + count]).astype(np.uint64)
        yield listed[first : first + count], array_module(listed).asarray(places), int(sums[count - 1])
        first += count


def _on_host(array: Array) -> np.ndarray[Any, Any]:
    return array if isinstance(array, np.ndarray) else array.get()


class Structure:
    """The entries of a product: how many each row has, then which."""

    def __init__(self, a: Lines, b: Lines, left_out: Lines | None) -> None:
        self.a, self.b, self.left_out = a, b, left_out
        self.xp, self.pairs = array_module(a.offsets), count_pairs(a, b)
        self.ways = sort_rows(self._most(None), a, STRUCTURE)
        self.windows = windows_of(b.width, STRUCTURE)
        if self.ways["windows"].number:
            self.b = in_ascending_order(b)
        self.in_windows = self.xp.zeros((self.ways["windows"].number, self.windows), np.uint32)

    @property
    def is_small(self) -> bool:
        """Whether all rows that have entries are small."""
        return not any(some.number for way, some in self.ways.items() if way != "small")

    def _most(self, offsets: Array | None) -> Most:
        return Most(self.pairs, offsets, None if self.left_out is None else self.left_out.offsets, self.b.width)

    def count(self) -> Array:
        """Entries of each row."""
        sizes = self.xp.zeros(len(self.pairs), np.int64)
        self._launch(sizes, None, None, self.in_windows)
        if self.ways["windows"].number:
            sizes[self.ways["windows"].listed] = self.in_windows.sum(axis=1).astype(np.int64)
        return sizes

    def fill(self, offsets: Array, columns: Array) -> None:
        """The columns of all entries, ascending in each row, of type int32."""
        before = self.in_windows
        if len(before):
            before = self.xp.cumsum(before, axis=1).astype(np.uint32) - before
        self._launch(None, offsets, columns, before)
        if (listed := self.ways["memory"].listed) is not None:
            _sort_columns(listed, offsets, columns)

    def _launch(self, sizes: Array | None, offsets: Array | None, columns: Array | None, in_windows: Array) -> None:
        out = (None, None) if self.left_out is None else (self.left_out.offsets, self.left_out.indices)
        matrices = self.a.offsets, self.a.indices, self.b.offsets, self.b.indices, *out
        wanted = self.pairs, np.uint32(self.b.width), sizes, offsets, columns

        def arguments(some: Some) -> list[Any]:
            given = *matrices, some.listed, np.uint64(some.number), *wanted
            return [np.uint64(0) if x is None else x for x in given]

        find = functools.partial(kernel, device=device())
        launch(self.ways, find, arguments, (self.windows, in_windows), self._most(offsets), 4)


def launch(
    ways: dict[str, Some],
    find: Callable[[str], Kernel],
    arguments: Callable[[Some], list[Any]],
    windows: tuple[int, Any],
    most: Most,
    slot: int,
) -> None:
    """Launch for all rows what is found for their way. The kernel is passed the arguments for its rows, and more.

    Of windows it is told how many there are, and what is given beside. Of tables in global memory, where they are: of
    columns, of values if a slot has over 4 bytes, and where each row's own begin.
    """
    for way, some in ways.items():
        if not some.number:
            continue
        called = find(way)
        if way == "windows":
            count, beside = windows
            called.plain(blocks(some.number * count), *arguments(some), np.uint32(count), beside)
        elif way == "memory":
            assert some.listed is not None
            xp = array_module(some.listed)
            for listed, places, slots in batches(most, some.listed, slot):
                tables = [xp.empty(slots, np.uint32), *([xp.empty(slots * (slot - 4), np.uint8)] if slot > 4 else [])]
                called.plain(blocks(len(listed)), *arguments(Some(len(listed), listed)), *tables, places)
        else:
            called.plain(blocks(some.number, 32 // SMALL_LANES if way == "small" else 1), *arguments(some))


def _sort_columns(listed: Array, offsets: Array, columns: Array) -> None:
    """Sort the columns of some rows."""
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
def kernel(function: str, device: int) -> Kernel:
    """One of the `FUNCTIONS`: what finds entries of rows that are reduced in a way, and what is asked before."""
    return Kernel(source(), function, THREADS)
