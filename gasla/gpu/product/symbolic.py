"""Finds the entries that a product of two sparse matrices has (its symbolic phase), before their values are computed.

Each row is processed by one of several methods, by the largest number of entries that it can have. A row of few entries
uses a hash table in shared memory, filled by 4 threads or by a warp. A larger row is cut into windows of columns, if
the windows have enough partial products to do. Otherwise the row uses a larger hash table, of a warp that is alone in
its block or in global memory. The kernels are in kernels/product/symbolic.cuh and methods.cuh.
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

THREADS = 128  # threads per block
WARPS = THREADS // 32
# A block of the kernel for large tables is a single warp, so that the warp has all of the block's shared memory.
LARGE_WARPS = 1
SHARED = (48 << 10) // WARPS  # bytes of shared memory per warp
# number of threads that process a small row, and log2 of the slots of its hash table, at most half of which are used
SMALL_LANES, SMALL_BITS = 4, 6
# Largest number of partial products of a small row. Several small rows share a warp, and would wait for a longer one.
SMALL_PAIRS = 256
LONGEST = 1 << 26  # largest number of entries of a row of B, because partial products are numbered in 32 bits
WIDEST = 1 << 30  # largest number of columns of B, because tables store column numbers in 31 bits
# time to process a window of columns besides its partial products, as a multiple of the time to look up one entry of A
VISIT = 20
BATCH = 1 << 30  # bytes that tables in global memory may take at a time
METHODS = "small", "tables", "large", "memory", "windows"
# Rows that are computed in windows of columns are classed by their number of partial products, so that the rows with
# most can start first. This is the number of classes, as in kernels/product/methods.cuh.
WINDOW_CLASSES = 32

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
    """The sizes of hash tables and of windows (ranges of columns) that fit in a warp's part of shared memory."""

    bits: int  # log2 of the number of slots in the largest hash table that fits in a warp's part of shared memory
    # log2 of the number of slots in the largest hash table if a warp has the shared memory of a whole block
    large_bits: int
    width: int  # number of columns of a window, that is, a range of columns that a warp computes at a time

    @classmethod
    def of(cls, table_slot: int, window_column: float) -> SharedLimits:
        """Return the largest hash tables and windows (ranges of columns) that fit in a warp's part of shared memory.

        `table_slot` is the bytes that a slot of a table takes, and `window_column` those that a column of a window
        takes.
        """
        bits, large_bits = ((size // table_slot).bit_length() - 1 for size in (SHARED, WARPS * SHARED // LARGE_WARPS))
        return cls(bits, large_bits, int(SHARED / window_column) // 32 * 32)


# The limits for finding the positions of entries. A bitmap takes only a bit per column, so windows could have more
# columns, but a warp would then have too much work.
STRUCTURE_LIMITS = SharedLimits.of(4, 4)


class RowOrder(NamedTuple):
    """Whether the columns of each row of a sparse matrix ascend, and whether no column occurs twice in a row."""

    ascends: bool
    is_apart: bool  # whether no row has a column twice, which is only known if columns ascend


class CSR(NamedTuple):
    """A sparse matrix in CSR format whose indices have been checked, in the types that kernels take."""

    offsets: Array  # row offsets, of type int64
    indices: Array  # column numbers, of type int32
    values: Array | None
    width: int
    known: dict[str, Any]  # results for this matrix that are computed once and cached, by name

    @property
    def order(self) -> RowOrder:
        """Whether columns ascend in each row of the matrix, computed when it is first read and then cached."""
        if "order" not in self.known:
            self.known["order"] = find_order(self)
        row_order: RowOrder = self.known["order"]
        return row_order


def as_csr(lists: Lists, name: str) -> CSR | None:
    """Convert a matrix to the types that the kernels take, after a check of its offsets and indices.

    Return None if an offset or index is out of range. Errors call the matrix `name`.
    """
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
    """Find whether the columns of each row of a sparse matrix ascend, by a kernel that inspects all entries.

    This waits for the kernel.
    """
    counts = array_module(matrix.offsets).zeros(2, np.uint64)
    count = len(matrix.offsets) - 1
    item_count = max(count, len(matrix.indices))
    _launch_inspection(
        "find_order", min(-(-item_count // THREADS), 1 << 12), matrix.offsets, matrix.indices, np.uint64(count), counts
    )
    falls, repeats = counts.tolist()
    return RowOrder(not falls, not falls and not repeats)


def in_ascending_order(matrix: CSR) -> CSR:
    """Return the matrix with each row's columns in ascending order.

    Entries with the same column keep their order. If all columns ascend already, the matrix itself is returned.
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
    """Return the number of partial products of each row of the product of `a` and `b`.

    A partial product is the product of an entry of A with an entry of B. All partial products of a row that have the
    same column are summed.
    """
    count = len(a.offsets) - 1
    pairs: Array = array_module(a.offsets).empty(count, np.int64)
    _launch_inspection(
        "count_pairs", blocks(count, 32 // SMALL_LANES), a.offsets, a.indices, b.offsets, np.uint64(count), pairs
    )
    return pairs


class RowSet(NamedTuple):
    """The rows of a product of two sparse matrices that are computed by the same method, in the same kernel."""

    number: int
    listed: Array | None  # the row numbers as int64, or None if the set has all rows


class MaxColumns(NamedTuple):
    """Upper bounds of the number of entries in each row of a product (`MaxColumns` in kernels/product/methods.cuh).

    `pairs` are the numbers of partial products per row, and `offsets` are the product's row offsets, or None while they
    are unknown. `left_out` are the row offsets of a mask whose entries the product leaves out, or None. `width` is the
    number of columns of B.
    """

    pairs: Array
    offsets: Array | None
    left_out: Array | None
    width: int

    def of(self, listed: Array) -> np.ndarray[Any, Any]:
        """Return the upper bounds of the number of entries for the rows with the numbers `listed`, as a NumPy array."""

        def lengths(offsets: Array) -> np.ndarray[Any, Any]:
            return _to_host(offsets[listed + 1]) - _to_host(offsets[listed])

        pairs = _to_host(self.pairs[listed])
        bounds = np.minimum(pairs, self.width) if self.offsets is None else lengths(self.offsets)
        if self.left_out is None:
            return bounds
        return np.where(pairs > 0, np.minimum(bounds + lengths(self.left_out), WIDEST), 0)


def group_rows(most: MaxColumns, a: CSR, limits: SharedLimits, small: bool = True) -> dict[str, RowSet]:
    """Group the rows of a product by the method that computes them, such as "small" or "windows".

    Rows without entries are in no group. If `small` is False, no row is processed by the method for small rows.
    """
    count, xp = len(most.pairs), array_module(most.pairs)
    row_methods, sizes = xp.empty(count, np.uint8), xp.zeros((2, len(METHODS) + WINDOW_CLASSES), np.uint64)
    small_columns, table_columns = 1 << SMALL_BITS >> 1 if small else 0, 1 << limits.bits >> 1
    large_columns, windows = 1 << limits.large_bits >> 1, count_windows(most.width, limits)
    bound_arrays = (np.uint64(0) if x is None else x for x in most[:3])
    limit_arguments = map(np.uint64, (count, small_columns, SMALL_PAIRS, table_columns, large_columns, windows, VISIT))
    _launch_inspection(
        "choose_methods",
        -(-count // THREADS),
        *bound_arrays,
        np.uint32(most.width),
        a.offsets,
        *limit_arguments,
        row_methods,
        sizes[0],
    )
    counts = _to_host(sizes[0]).astype(np.int64)
    window_method = len(METHODS) - 1
    counts = np.append(counts[:window_method], counts[window_method:-1].sum())
    if count in counts[:2]:
        return {method: RowSet(int(n), None) for method, n in zip(METHODS, counts)}
    rows_by_method = xp.empty(count, np.int64)
    if counts.any():
        _launch_inspection("list_rows", -(-count // THREADS), row_methods, np.uint64(count), *sizes, rows_by_method)
    ends = counts.cumsum()
    return {method: RowSet(int(n), rows_by_method[end - n : end]) for method, n, end in zip(METHODS, counts, ends)}


def _launch_inspection(function: str, blocks: int, *arguments: Any) -> None:
    kernel(function, current_device()).plain(max(1, min(blocks, 2**31 - 1)), *arguments)


def count_windows(columns: int, limits: SharedLimits) -> int:
    """Return how many windows (ranges of columns that a warp computes at a time) cover `columns` columns."""
    return max(1, -(-columns // limits.width))


def batches(most: MaxColumns, listed: Array, slot: int) -> Iterator[tuple[Array, Array, int]]:
    """Split the rows `listed` of a product into batches whose hash tables together fit in global memory.

    Yield for each batch its rows, the first slot of each row's table, and the number of slots in all its tables. A slot
    takes `slot` bytes.
    """
    slots_needed = 2 * np.maximum(most.of(listed), 16)
    # The sizes are rounded up to powers of two.
    sizes = 1 << np.frexp((slots_needed - 1).astype(np.float64))[1].astype(np.int64)
    first = 0
    while first < len(sizes):
        sums = sizes[first:].cumsum()
        count = max(1, int(np.searchsorted(sums, BATCH // slot, side="right")))
        table_starts = (sums[:count] - sizes[first : first + count]).astype(np.uint64)
        yield listed[first : first + count], array_module(listed).asarray(table_starts), int(sums[count - 1])
        first += count


def _to_host(array: Array) -> np.ndarray[Any, Any]:
    return array if isinstance(array, np.ndarray) else array.get()


class Structure:
    """The positions of the entries of a product of two sparse matrices, without their values.

    They are found in two steps: first the number of entries in each row, then their columns. Entries at the positions
    of `left_out`, a mask, are not part of the product.
    """

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
        """Whether every row of the product has few enough entries for the kernel for small rows, which then computes
        them all.
        """
        return not any(some.number for method, some in self.methods.items() if method != "small")

    def _most(self, offsets: Array | None) -> MaxColumns:
        return MaxColumns(self.pairs, offsets, None if self.left_out is None else self.left_out.offsets, self.b.width)

    def bound(self, most: int) -> Array | None:
        """Return lower bounds for the number of entries in each row of the product, if they add up to more than `most`.

        The caller can then raise an error without computing a product that is too large. Otherwise return None.
        """
        if len(self.a.indices) * len(self.b.indices) <= most or not self.b.order.is_apart:
            return None
        lower_bounds = counts_below(
            self.pairs, self.a.offsets, None if self.left_out is None else self.left_out.offsets
        )
        return lower_bounds if int(lower_bounds.sum()) > most else None

    def count(self) -> Array:
        """Return the number of entries of each row of the product."""
        sizes = self.xp.zeros(len(self.pairs), np.int64)
        self._launch(sizes, None, None, self.in_windows)
        if self.methods["windows"].number:
            sizes[self.methods["windows"].listed] = self.in_windows.sum(axis=1).astype(np.int64)
        return sizes

    def fill(self, offsets: Array, columns: Array) -> None:
        """Write the columns of all entries of the product to the int32 array `columns`, ascending in each row.

        `offsets` has the position at which each row begins.
        """
        entries_before = self.in_windows
        if len(entries_before):
            entries_before = self.xp.cumsum(entries_before, axis=1).astype(np.uint32) - entries_before
        self._launch(None, offsets, columns, entries_before)
        if (listed := self.methods["memory"].listed) is not None:
            _sort_columns(listed, offsets, columns)

    def _launch(self, sizes: Array | None, offsets: Array | None, columns: Array | None, in_windows: Array) -> None:
        left_out_arrays = (None, None) if self.left_out is None else (self.left_out.offsets, self.left_out.indices)
        matrices = self.a.offsets, self.a.indices, self.b.offsets, self.b.indices, *left_out_arrays
        other_arguments = self.pairs, np.uint32(self.b.width), sizes, offsets, columns

        def arguments(row_set: RowSet) -> list[Any]:
            all_arguments = *matrices, row_set.listed, np.uint64(row_set.number), *other_arguments
            return [np.uint64(0) if x is None else x for x in all_arguments]

        find_kernel = functools.partial(kernel, device=current_device())
        launch(self.methods, find_kernel, arguments, (self.windows, in_windows), self._most(offsets), 4)


def launch(
    methods: dict[str, RowSet],
    find: Callable[[str], Kernel],
    arguments: Callable[[RowSet], list[Any]],
    windows: tuple[int, Any],
    most: MaxColumns,
    slot: int,
) -> None:
    """Launch the kernels that compute the rows of a product, one for each method, such as "small" or "windows".

    `methods` has the rows that use each method. `find` returns the kernel of a method, and `arguments` returns a
    kernel's arguments for a set of rows.

    The kernel for windows also gets the number of windows and one further argument, both from `windows`. The kernel for
    tables in global memory also gets the tables and where each row's table begins. The tables are of columns and, if a
    slot has more than 4 bytes, of values.
    """
    for method, row_set in methods.items():
        if not row_set.number:
            continue
        method_kernel = find(method)
        if method == "windows":
            count, window_argument = windows
            method_kernel.plain(blocks(row_set.number * count), *arguments(row_set), np.uint32(count), window_argument)
        elif method == "memory":
            assert row_set.listed is not None
            xp = array_module(row_set.listed)
            for row_numbers, table_starts, slot_count in batches(most, row_set.listed, slot):
                tables = [
                    xp.empty(slot_count, np.uint32),
                    *([xp.empty(slot_count * (slot - 4), np.uint8)] if slot > 4 else []),
                ]
                method_kernel.plain(
                    blocks(len(row_numbers)), *arguments(RowSet(len(row_numbers), row_numbers)), *tables, table_starts
                )
        else:
            # The number of rows that a warp processes at the same time, as a fraction if several warps process one row.
            rows_per_warp = {"small": 32 // SMALL_LANES, "large": LARGE_WARPS / WARPS}.get(method, 1)
            method_kernel.plain(blocks(row_set.number, rows_per_warp), *arguments(row_set))


def _sort_columns(listed: Array, offsets: Array, columns: Array) -> None:
    """Sort the columns in each of the rows `listed` of a product, in place. Rows of `columns` begin at `offsets`."""
    if not len(listed):
        return
    xp = array_module(offsets)
    starts, sums = offsets[listed], xp.zeros(len(listed) + 1, np.int64)
    sums[1:] = xp.cumsum(offsets[listed + 1] - starts)
    count = int(sums[-1])
    if not count:
        return
    owners = lists_gpu.owners(sums, columns[:count])
    positions = xp.arange(count) + (starts - sums[:-1])[owners]
    row_and_column = owners.astype(np.uint64)
    row_and_column <<= 32
    row_and_column |= columns[positions].astype(np.uint64)
    row_and_column.sort()
    columns[positions] = row_and_column.view(np.uint32)[::2].astype(np.int32)


def blocks(items: int, per_warp: float = 1) -> int:
    """Return the number of blocks of a launch in which each warp processes `per_warp` items at a time.

    It is at most the largest grid that CUDA allows. Warps of such a grid process several groups of items.
    """
    return max(1, min(-(-items // int(per_warp * WARPS)), 2**31 - 1))


def threads_of(function: str) -> int:
    """Return the number of threads per block with which a kernel, one of `FUNCTIONS`, is launched."""
    return 32 * LARGE_WARPS if function == "large" else THREADS


def source() -> str:
    """Return the CUDA source of the kernels that find the entries of a product of two sparse matrices."""
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
    """Return a kernel of the symbolic phase of a product, compiled for a device, by its name.

    The kernel finds the entries of rows by one method, or inspects a matrix.
    """
    return Kernel(source(), function, threads_of(function))
