"""Symbolic phase of products of two sparse matrices: which entries each row has, and by which method it is computed.

The method of a row follows from the largest number of entries that it can have. Few entries fit in a hash table in
shared memory, of 4 threads or of a warp. Larger rows are cut into windows of columns. If these would meet too few
partial products, rows have a large table, of a warp that is alone in its block or in global memory. The kernels are in
kernels/product/symbolic.cuh and methods.cuh.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import array_module, current_device
from gasla.gpu.program import rows
from gasla.gpu.runtime.compile import Kernel
from gasla.graph import lists_gpu
from gasla.program.terms import Array, Lists, counts_below

THREADS = 128  # per block
WARPS = THREADS // 32
LARGE_WARPS = 1  # per block, where tables are large
SHARED = (48 << 10) // WARPS  # bytes per warp
SMALL_LANES, SMALL_BITS = 4, 6  # threads per small row, and log2 of its table's slots; the table is at most half full
SMALL_PAIRS = 256  # partial products of a small row: adjacent rows of a warp wait for each other
LONGEST = 1 << 26  # entries of a row of B: partial products are numbered in 32 bits
WIDEST = 1 << 30  # columns of B: column numbers in tables have 31 bits
VISIT = 20  # overhead of a window, in units of one entry of A that is looked up
BATCH = 1 << 30  # bytes of tables in global memory at once
METHODS = "small", "tables", "large", "memory", "windows"
WINDOW_CLASSES = 32  # classes of rows in windows, by their partial products, as in kernels/product/methods.cuh

SOURCE = """
#include "symbolic.cuh"
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
extern "C" __global__ void __launch_bounds__({large_warps} * WARP) large(GIVEN) {{
    __shared__ u32 keys[{large_warps}][1u << {large_bits}];
    find_columns_in_tables<WARP, {large_bits}>(Structure{{STRUCTURE}}, keys[warp_of_block()]);
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
extern "C" __global__ void __launch_bounds__(BOUNDS) choose_methods(
    const long long* pairs, const long long* offsets, const long long* left_out, u32 width, const long long* a_offsets,
    u64 rows, u64 small, u64 small_pairs, u64 tables, u64 large, u64 windows, u64 visit, unsigned char* methods,
    u64* counts
) {{
    __shared__ u32 here[ALL_METHODS];
    const MaxColumns most{{pairs, offsets, left_out, width}};
    const Limits limits{{small, small_pairs, tables, large, windows, visit}};
    choose_methods_of_rows(most, a_offsets, rows, limits, methods, counts, here);
}}
extern "C" __global__ void __launch_bounds__(BOUNDS) list_rows(
    const unsigned char* methods, u64 rows, const u64* counts, u64* taken, long long* list
) {{
    __shared__ u32 here[ALL_METHODS];
    __shared__ u64 starts[ALL_METHODS];
    list_rows_by_method(methods, rows, counts, taken, list, here, starts);
}}
extern "C" __global__ void __launch_bounds__(BOUNDS) find_order(
    const long long* offsets, const int* indices, u64 rows, u64* found
) {{
    find_order_of_rows({{offsets, indices}}, rows, found);
}}
"""
FUNCTIONS = *METHODS, "count_pairs", "choose_methods", "list_rows", "find_order"


class SharedLimits(NamedTuple):
    """Sizes of a warp's tables and windows in shared memory."""

    bits: int  # log2 of the slots of the largest table
    large_bits: int  # bits for a warp that has the memory of a whole block
    width: int  # columns of a window

    @classmethod
    def of(cls, table_slot: int, window_column: float) -> SharedLimits:
        """Return the largest sizes that fit, given the bytes of a table's slot and of a window's column."""
        bits, large_bits = ((size // table_slot).bit_length() - 1 for size in (SHARED, WARPS * SHARED // LARGE_WARPS))
        return cls(bits, large_bits, int(SHARED / window_column) // 32 * 32)


STRUCTURE_LIMITS = SharedLimits.of(4, 4)  # wider bitmaps would fit, but a warp would have too much work


class RowOrder(NamedTuple):
    """How the columns of each row are ordered."""

    ascends: bool
    is_apart: bool  # whether no row has duplicate columns; checked only if columns ascend


class CSR(NamedTuple):
    """The rows of a checked matrix, in the kernels' types."""

    offsets: Array  # int64
    indices: Array  # int32
    values: Array | None
    width: int
    known: dict[str, Any]  # cached properties of the matrix

    @property
    def order(self) -> RowOrder:
        """Computed when first read."""
        if "order" not in self.known:
            self.known["order"] = find_order(self)
        row_order: RowOrder = self.known["order"]
        return row_order


def as_csr(lists: Lists, name: str) -> CSR | None:
    """Return the rows of a matrix, or None if an index is out of range."""
    partition = rows.partition_rows(lists.indptr, lists.indices)
    properties = partition.properties
    if not properties.offsets_fit or properties.lowest < 0 or properties.highest >= lists.width:
        return None
    if lists.width > WIDEST:
        raise ValueError(f"{name} has {lists.width} columns; expected at most {WIDEST} on a GPU")
    if properties.longest > LONGEST:
        raise ValueError(f"{name} has a row of {properties.longest} entries; expected at most {LONGEST} on a GPU")
    offsets, indices = lists.indptr.astype(np.int64, copy=False), lists.indices.astype(np.int32, copy=False)
    return CSR(offsets, indices, lists.values, lists.width, partition.known)


def find_order(matrix: CSR) -> RowOrder:
    """Inspect all entries, and wait for the result."""
    counts = array_module(matrix.offsets).zeros(2, np.uint64)
    count = len(matrix.offsets) - 1
    most = max(count, len(matrix.indices))
    _call("find_order", min(-(-most // THREADS), 1 << 12), matrix.offsets, matrix.indices, np.uint64(count), counts)
    falls, repeats = counts.tolist()
    return RowOrder(not falls, not falls and not repeats)


def in_ascending_order(matrix: CSR) -> CSR:
    """Return the matrix with ascending columns in each row, by a stable sort.

    If they ascend already, return it itself.
    """
    if matrix.order.ascends:
        return matrix
    first, last = int(matrix.offsets[0]), int(matrix.offsets[-1])
    starts, indices = array_module(matrix.offsets).subtract(matrix.offsets, first), matrix.indices[first:last]
    owners = lists_gpu.owners(starts, indices)
    _, owners, by_column = lists_gpu.group(indices, owners, matrix.width)
    offsets, indices, order = lists_gpu.group(owners, indices[by_column], len(starts) - 1)
    values = None if matrix.values is None else matrix.values[first:last][by_column[order]]
    return CSR(offsets.astype(np.int64), indices, values, matrix.width, {})


def count_pairs(a: CSR, b: CSR) -> Array:
    """Return the number of partial products of each row of the product."""
    count = len(a.offsets) - 1
    pairs: Array = array_module(a.offsets).empty(count, np.int64)
    _call("count_pairs", blocks(count, 32 // SMALL_LANES), a.offsets, a.indices, b.offsets, np.uint64(count), pairs)
    return pairs


class RowSet(NamedTuple):
    """Rows that share a method."""

    number: int
    listed: Array | None  # int64; None for all rows


class MaxColumns(NamedTuple):
    """Upper bounds of the columns of each row of a product: `MaxColumns` in kernels/product/methods.cuh."""

    pairs: Array
    offsets: Array | None
    left_out: Array | None  # offsets
    width: int

    def of(self, listed: Array) -> np.ndarray[Any, Any]:
        """Return the bounds of some rows, in host memory."""

        def lengths(offsets: Array) -> np.ndarray[Any, Any]:
            return _on_host(offsets[listed + 1]) - _on_host(offsets[listed])

        pairs = _on_host(self.pairs[listed])
        known = np.minimum(pairs, self.width) if self.offsets is None else lengths(self.offsets)
        if self.left_out is None:
            return known
        return np.where(pairs > 0, np.minimum(known + lengths(self.left_out), WIDEST), 0)


def group_rows(most: MaxColumns, a: CSR, limits: SharedLimits, small: bool = True) -> dict[str, RowSet]:
    """Group the rows by their method. Rows without entries are in no group."""
    count, xp = len(most.pairs), array_module(most.pairs)
    which, sizes = xp.empty(count, np.uint8), xp.zeros((2, len(METHODS) + WINDOW_CLASSES), np.uint64)
    in_small, in_table = 1 << SMALL_BITS >> 1 if small else 0, 1 << limits.bits >> 1
    in_large, windows = 1 << limits.large_bits >> 1, count_windows(most.width, limits)
    given = (np.uint64(0) if x is None else x for x in most[:3])
    numbers = map(np.uint64, (count, in_small, SMALL_PAIRS, in_table, in_large, windows, VISIT))
    _call("choose_methods", -(-count // THREADS), *given, np.uint32(most.width), a.offsets, *numbers, which, sizes[0])
    counts = _on_host(sizes[0]).astype(np.int64)
    apart = len(METHODS) - 1
    counts = np.append(counts[:apart], counts[apart:-1].sum())
    if count in counts[:2]:
        return {method: RowSet(int(n), None) for method, n in zip(METHODS, counts)}
    listed = xp.empty(count, np.int64)
    if counts.any():
        _call("list_rows", -(-count // THREADS), which, np.uint64(count), *sizes, listed)
    ends = counts.cumsum()
    return {method: RowSet(int(n), listed[end - n : end]) for method, n, end in zip(METHODS, counts, ends)}


def _call(function: str, blocks: int, *arguments: Any) -> None:
    kernel(function, current_device()).plain(max(1, min(blocks, 2**31 - 1)), *arguments)


def count_windows(columns: int, limits: SharedLimits) -> int:
    """Return the number of windows that cover this number of columns."""
    return max(1, -(-columns // limits.width))


def batches(most: MaxColumns, listed: Array, slot: int) -> Iterator[tuple[Array, Array, int]]:
    """Split rows into batches whose tables fit in memory: yields rows, starts of their tables, and number of slots.

    A slot takes `slot` bytes.
    """
    wanted = 2 * np.maximum(most.of(listed), 16)
    sizes = 1 << np.frexp((wanted - 1).astype(np.float64))[1].astype(np.int64)  # rounded up to a power of two
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
    """The entries of a product: first their number per row, then their columns."""

    def __init__(self, a: CSR, b: CSR, left_out: CSR | None) -> None:
        self.a, self.b, self.left_out = a, b, left_out
        self.xp, self.pairs = array_module(a.offsets), count_pairs(a, b)
        self.methods = group_rows(self._most(None), a, STRUCTURE_LIMITS)
        self.windows = count_windows(b.width, STRUCTURE_LIMITS)
        if self.methods["windows"].number:
            self.b = in_ascending_order(b)
        self.in_windows = self.xp.zeros((self.methods["windows"].number, self.windows), np.uint32)

    @property
    def is_small(self) -> bool:
        """Whether all rows that have entries are small."""
        return not any(some.number for method, some in self.methods.items() if method != "small")

    def _most(self, offsets: Array | None) -> MaxColumns:
        return MaxColumns(self.pairs, offsets, None if self.left_out is None else self.left_out.offsets, self.b.width)

    def bound(self, most: int) -> Array | None:
        """Return lower bounds of the entries of each row if they prove that there are more than `most`, else None."""
        if len(self.a.indices) * len(self.b.indices) <= most or not self.b.order.is_apart:
            return None
        least = counts_below(self.pairs, self.a.offsets, None if self.left_out is None else self.left_out.offsets)
        return least if int(least.sum()) > most else None

    def count(self) -> Array:
        """Count the entries of each row."""
        sizes = self.xp.zeros(len(self.pairs), np.int64)
        self._launch(sizes, None, None, self.in_windows)
        if self.methods["windows"].number:
            sizes[self.methods["windows"].listed] = self.in_windows.sum(axis=1).astype(np.int64)
        return sizes

    def fill(self, offsets: Array, columns: Array) -> None:
        """Write the int32 columns of all entries, ascending in each row."""
        before = self.in_windows
        if len(before):
            before = self.xp.cumsum(before, axis=1).astype(np.uint32) - before
        self._launch(None, offsets, columns, before)
        if (listed := self.methods["memory"].listed) is not None:
            _sort_columns(listed, offsets, columns)

    def _launch(self, sizes: Array | None, offsets: Array | None, columns: Array | None, in_windows: Array) -> None:
        out = (None, None) if self.left_out is None else (self.left_out.offsets, self.left_out.indices)
        matrices = self.a.offsets, self.a.indices, self.b.offsets, self.b.indices, *out
        wanted = self.pairs, np.uint32(self.b.width), sizes, offsets, columns

        def arguments(some: RowSet) -> list[Any]:
            given = *matrices, some.listed, np.uint64(some.number), *wanted
            return [np.uint64(0) if x is None else x for x in given]

        find = functools.partial(kernel, device=current_device())
        launch(self.methods, find, arguments, (self.windows, in_windows), self._most(offsets), 4)


def launch(
    methods: dict[str, RowSet],
    find: Callable[[str], Kernel],
    arguments: Callable[[RowSet], list[Any]],
    windows: tuple[int, Any],
    most: MaxColumns,
    slot: int,
) -> None:
    """Launch the kernel of each method for its rows. `arguments` makes the arguments for a set of rows.

    The kernel for windows also gets the number of windows and one further argument. The kernel for tables in global
    memory also gets the tables, of columns and, if a slot has more than 4 bytes, of values, and where each row's table
    begins.
    """
    for method, some in methods.items():
        if not some.number:
            continue
        called = find(method)
        if method == "windows":
            count, beside = windows
            called.plain(blocks(some.number * count), *arguments(some), np.uint32(count), beside)
        elif method == "memory":
            assert some.listed is not None
            xp = array_module(some.listed)
            for listed, places, slots in batches(most, some.listed, slot):
                tables = [xp.empty(slots, np.uint32), *([xp.empty(slots * (slot - 4), np.uint8)] if slot > 4 else [])]
                called.plain(blocks(len(listed)), *arguments(RowSet(len(listed), listed)), *tables, places)
        else:
            each = {"small": 32 // SMALL_LANES, "large": LARGE_WARPS / WARPS}.get(method, 1)  # rows of a warp
            called.plain(blocks(some.number, each), *arguments(some))


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


def blocks(items: int, per_warp: float = 1) -> int:
    """Return the blocks of a launch with `per_warp` items per warp. Beyond the largest grid, warps process several."""
    return max(1, min(-(-items // int(per_warp * WARPS)), 2**31 - 1))


def threads_of(function: str) -> int:
    """Return the threads of a block of a kernel."""
    return 32 * LARGE_WARPS if function == "large" else THREADS


def source() -> str:
    """Return the CUDA source of the kernels."""
    return SOURCE.format(
        warps=WARPS,
        threads=THREADS,
        small_lanes=SMALL_LANES,
        small_bits=SMALL_BITS,
        bits=STRUCTURE_LIMITS.bits,
        large_bits=STRUCTURE_LIMITS.large_bits,
        large_warps=LARGE_WARPS,
        width=STRUCTURE_LIMITS.width,
    )


@functools.cache
def kernel(function: str, device: int) -> Kernel:
    """Return one of the compiled `FUNCTIONS`: a method's kernel, or one that inspects the matrices."""
    return Kernel(source(), function, threads_of(function))
