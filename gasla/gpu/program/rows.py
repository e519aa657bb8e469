"""Divides the rows of a sparse matrix among threads, once for each pair of CSR arrays (kernels/product/rows.cuh).

If the columns of a row are near those of the next row, a row is processed by one to eight neighboring threads, and the
L1 cache serves the values that they share. Otherwise the entries of 32 rows are packed side by side. Long rows are cut
into pieces.

A kernel inspects the arrays once, and checks that all offsets and indices are in range. The result is cached, so nobody
should write to offsets and indices afterwards.
"""

from __future__ import annotations

import functools
import weakref
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gasla.arrays import finish
from gasla.gpu.runtime.compile import compile_ahead, kernel, multiprocessors, struct
from gasla.graph.streamed import PackedIds
from semirings.printers.cuda import ctype

PROPERTIES = np.dtype(
    [
        ("lowest", "i8"),
        ("highest", "i8"),
        ("longest", "u8"),
        ("wrong_offsets", "u4"),
        ("compared", "u4"),
        ("near", "u4"),
    ],
    align=True,
)
ROWS = np.dtype(
    [
        *((name, "u8") for name in ("offsets", "cut_rows", "cut_pieces", "long_rows", "numbers", "partials", "count")),
        *((name, "u4") for name in ("pieces", "cut", "limit", "piece")),
    ],
    align=True,
)
"""The struct `gasla::Rows`, which tells kernels how rows are divided among threads."""

THREADS = 256  # threads per block
PIECE = 4096  # number of entries of a piece of a long row: 128 for each of a warp's 32 threads
# This stands in place of a number of threads per row, and means that a warp packs the entries of 32 rows side by side.
PACKED = 0
# number of rows in the sample, and the distance below which two column numbers count as near, so that the two entries
# of a vector are likely to be in the same cache line (kernels/product/row_properties.cuh)
SAMPLES, NEAR = 1 << 14, 32
# largest number of offsets and indices that the host inspects instead of a kernel, which takes it a few milliseconds
FEW = 1 << 22

SOURCE = """
#include "packed_ids.cuh"
#include "row_properties.cuh"
using namespace gasla;
typedef {offset} offset_t;
typedef {vertex} vertex_t;
extern "C" __global__ void find_properties(const offset_t* offsets, {ids} indices, u64 rows, u64 stored,
                                 RowProperties* found) {{
    find_row_properties(offsets, indices, rows, stored, found);
}}
extern "C" __global__ void sample(const offset_t* offsets, {ids} indices, u64 rows, RowProperties* found) {{
    sample_rows(offsets, indices, rows, found);
}}
extern "C" __global__ void long_rows(const offset_t* offsets, u64 rows, u64 limit, u64* found, u64* list) {{
    list_long_rows(offsets, rows, limit, found, list);
}}
"""

HUB_NEIGHBORS = """
#include "packed_ids.cuh"
#include "hub_first.cuh"
using namespace gasla;
typedef {offset} offset_t;
typedef {vertex} vertex_t;
extern "C" __global__ void hub_neighbors(const offset_t* offsets, {ids} indices, u64 rows, vertex_t* found) {{
    find_hub_neighbors(offsets, indices, rows, found);
}}
"""


@dataclass(frozen=True)
class RowProperties:
    """Properties of a sparse matrix that kernels are chosen by, such as its longest row, found by an inspection of its
    arrays.
    """

    rows: int
    entries: int
    offsets_fit: bool
    lowest: int  # the smallest column index if that is negative (which is an error), else 0
    highest: int
    longest: int
    # The fraction of sampled entries whose column is less than NEAR columns from that of the entry at the same position
    # of the next row.
    near: float

    @classmethod
    def of(cls, rows: int, entries: int, facts: Any) -> RowProperties:
        """Return the properties of a sparse matrix, converted from `facts`, the struct that the inspecting kernels
        write.

        `rows` and `entries` are the matrix's numbers of rows and entries.
        """
        lowest, highest, longest = (int(facts[name]) for name in ("lowest", "highest", "longest"))
        near_share = float(facts["near"]) / max(1, int(facts["compared"]))
        return cls(rows, entries, not facts["wrong_offsets"], lowest, highest, longest, near_share)


@dataclass(frozen=True)
class RowPartition:
    """The division of a sparse matrix's rows among threads.

    Attributes
    ----------
    lanes : int
        Threads per row, or 0 for rows packed side by side: a template parameter of the kernels.
    limit : int
        Entries of the longest row that is not cut.
    row_type : str
        The C++ type of row numbers.
    pieces, cut : int
        Number of pieces of long rows; number of rows with several pieces, which `reduce_cut_rows` finishes.
    warps : int
        Number of warps that have work.
    """

    properties: RowProperties
    lanes: int
    limit: int
    pieces: int
    cut: int
    arrays: tuple[Any, ...]  # These arrays must not be freed, because `rows` has their addresses.
    # the struct `gasla::Rows` for kernels; the address `partials` in it is null until `argument` sets it in a copy
    rows: Any
    # results for the same matrix that other modules compute once and store here, by name
    known: dict[str, Any] = field(default_factory=dict)

    @functools.cached_property
    def row_type(self) -> str:
        return "unsigned int" if self.properties.rows < 2**32 else "unsigned long long"

    @property
    def warps(self) -> int:
        return self.pieces + -(-self.properties.rows * (self.lanes or 1) // 32)

    @functools.cached_property
    def blocks(self) -> int:
        """The number of blocks, of THREADS threads each, that process all rows at once."""
        return max(1, -(-self.warps * 32 // THREADS))

    @property
    def blocks_of_cut_rows(self) -> int:
        """The number of blocks of `reduce_cut_rows`, the kernel that combines the pieces of each long row."""
        return -(-self.cut * 32 // THREADS)

    def partials(self, value_size: int) -> Any:
        """Allocate a GPU array for the result of each piece of a long row, of `value_size` bytes each.

        Return None if no row is cut into pieces. The caller keeps the array until the kernels that use it have been
        launched.
        """
        import cupy

        return cupy.empty(self.pieces * value_size, np.uint8) if self.cut else None

    def argument(self, partials: Any = None) -> Any:
        """Return the division of rows among threads as the struct `gasla::Rows`, which is an argument of kernels.

        `partials` is an array for the results of the pieces of long rows, from the method `partials`.
        """
        if partials is None:
            return self.rows
        rows = self.rows.copy()
        rows["partials"] = partials.data.ptr
        return rows

    @functools.cached_property
    def packed(self) -> Any:
        """The division of a matrix's rows among threads as a kernel's argument, the struct `gasla::Rows`, if no row is
        cut.
        """
        return struct(self.rows)


_partitions: dict[tuple[int, int, int | None], tuple[Any, Any, RowPartition]] = {}


def partition_rows(indptr: Any, indices: Any, whole: int | None = None) -> RowPartition:
    """Divide the rows of a sparse matrix among the threads of a kernel. The division is cached as long as the arrays
    exist.

    `indptr` and `indices` are CSR arrays of CuPy. With `whole`, a row of more than that many entries is cut into pieces
    of `whole` entries each.
    """
    key = id(indptr), id(indices), whole
    known_partition = _partitions.get(key)
    if known_partition is not None and known_partition[0]() is indptr and known_partition[1]() is indices:
        return known_partition[2]
    if whole is None:
        partition = make_partition(indptr, find_properties(indptr, indices))
    else:
        partition = make_partition(indptr, partition_rows(indptr, indices).properties, 1, whole, whole)
    # The result may be read on other streams, which don't wait for this one, so its arrays must be complete.
    finish("gpu")

    def forget(_: Any) -> None:
        _partitions.pop(key, None)

    _partitions[key] = weakref.ref(indptr, forget), weakref.ref(indices, forget), partition
    return partition


def find_properties(indptr: Any, indices: Any) -> RowProperties:
    """Inspect all row offsets and column indices of a sparse matrix in a kernel, wait for it, and return what it has
    found.
    """
    import cupy

    row_count, entry_count = len(indptr) - 1, len(indices)
    initial_properties = np.zeros(1, PROPERTIES)
    initial_properties["highest"] = -1
    properties_on_gpu = cupy.asarray(initial_properties.view(np.uint8))
    source = _source(SOURCE, indptr, indices)
    row_and_entry_counts = np.uint64(row_count), np.uint64(entry_count)
    ids = _ids_argument(indices)
    kernel(source, "find_properties", THREADS).plain(
        _blocks_for(max(row_count, entry_count)), indptr, ids, *row_and_entry_counts, properties_on_gpu
    )
    properties = properties_on_gpu.get().view(PROPERTIES)[0]
    if not properties["wrong_offsets"] and properties["lowest"] >= 0 and row_count > 1:
        kernel(source, "sample", THREADS).plain(
            _blocks_for(1 << 14), indptr, ids, row_and_entry_counts[0], properties_on_gpu
        )
        properties = properties_on_gpu.get().view(PROPERTIES)[0]
    return RowProperties.of(row_count, entry_count, properties)


def find_properties_once(indptr: Any, indices: Any) -> RowProperties:
    """Inspect the arrays of a sparse matrix as `find_properties` does, for arrays that will not be inspected again.

    Short arrays are inspected by the host, which saves the time to compile a kernel.
    """
    if len(indptr) + len(indices) > FEW:
        return find_properties(indptr, indices)
    return properties_of(indptr.get(), indices.get())


def properties_of(indptr: np.ndarray, indices: np.ndarray) -> RowProperties:
    """Return the properties of a sparse matrix by which its kernels are chosen, such as the length of its longest row.

    The CSR arrays are in host memory, and the CPU reads them. They are also checked: the result says whether the
    offsets are valid, and has the smallest and largest column index. A kernel computes the same in `find_properties`,
    from arrays in GPU memory.
    """
    row_count, entry_count, lengths = len(indptr) - 1, len(indices), np.diff(indptr)
    if indptr[0] < 0 or indptr[-1] > entry_count or lengths.min(initial=0) < 0:
        return RowProperties(row_count, entry_count, False, 0, -1, 0, 0.0)
    columns = indices[indptr[0] : indptr[-1]]
    sampled_rows = np.arange(0, max(0, row_count - 1), max(1, row_count // SAMPLES))
    shared_length = np.minimum(lengths[sampled_rows], lengths[sampled_rows + 1])
    sampled_rows, shared_length = sampled_rows[shared_length > 0], shared_length[shared_length > 0].astype(np.uint64)
    position_in_row = (_hash_32_bits(sampled_rows.astype(np.uint32)) * shared_length >> np.uint64(32)).astype(np.int64)
    distance = (
        indices[indptr[sampled_rows] + position_in_row].astype(np.int64)
        - indices[indptr[sampled_rows + 1] + position_in_row]
    )
    near_fraction = float((np.abs(distance) < NEAR).sum()) / max(1, len(sampled_rows))
    lowest, highest = int(columns.min(initial=0)), int(columns.max(initial=-1))
    return RowProperties(row_count, entry_count, True, lowest, highest, int(lengths.max(initial=0)), near_fraction)


def _hash_32_bits(x: np.ndarray) -> np.ndarray:
    """Return a hash of each 32-bit integer in `x`, as a uint64 below 2**32. Kernels compute the same hash."""
    x = (x ^ x >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    x = (x ^ x >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    mixed: np.ndarray = (x ^ x >> np.uint32(16)).astype(np.uint64)
    return mixed


def compile_hub_neighbors(offset_type: np.dtype, id_type: np.dtype, packed: bool) -> None:
    """Start compiling, in the background, the kernel that finds each vertex's neighbor of highest degree."""
    compile_ahead(formatted(HUB_NEIGHBORS, offset_type, id_type, packed))


def find_hub_neighbors(indptr: Any, indices: Any, hubs: Any) -> None:
    """Find each vertex's neighbor of highest degree, by a kernel. Write the ids of these neighbors into `hubs`.

    `hubs` is an array of bytes with room for one id per vertex.
    """
    n = len(indptr) - 1
    kernel(_source(HUB_NEIGHBORS, indptr, indices), "hub_neighbors", THREADS).plain(
        _blocks_for(8 * n), indptr, _ids_argument(indices), np.uint64(n), hubs
    )


def choose(properties: RowProperties) -> tuple[int, int]:
    """Choose how many threads process a row of a sparse matrix, and the length of the longest row that is not cut into
    pieces.

    If the columns of neighboring rows are not near each other, the first number is PACKED: the entries of 32 rows are
    packed side by side.
    """
    mean_length = properties.entries / max(1, properties.rows)
    if properties.near < 0.5:
        return PACKED, 512
    return 1 << int(np.clip(np.round(np.log2(max(1, mean_length / 8))), 0, 3)), 128


def has_bounded_degree(longest: int, entries: int, n: int) -> bool:
    """Return whether the highest degree, `longest`, is not far above the mean degree, `entries` / n.

    If so, giving each vertex the same number of threads, fewer than 32, balances the work.
    """
    return n > 0 and longest <= 64 + 4 * entries // n


def make_partition(
    indptr: Any, properties: RowProperties, lanes: int | None = None, limit: int | None = None, piece: int | None = None
) -> RowPartition:
    """Divide the rows of a matrix among threads by the `properties` that an inspection of the matrix has found.

    `lanes` is the number of threads per row, `limit` the number of entries of the longest row that is not cut, and
    `piece` the number of entries of a piece. Where they are None, they are chosen by `properties`.
    """
    defaults, piece = choose(properties), piece or PIECE
    lanes, limit = defaults[0] if lanes is None else lanes, defaults[1] if limit is None else limit
    arrays: tuple[Any, ...] = (None, None, None, None)
    if properties.offsets_fit and properties.longest > limit:
        arrays = _cut_long_rows(indptr, properties, limit, piece)
    cut_rows, cut_pieces, long_rows, numbers = arrays
    rows_struct = np.zeros((), ROWS)
    rows_struct["offsets"] = indptr.data.ptr
    names = "cut_rows", "cut_pieces", "long_rows", "numbers"
    for name, array in zip(names, arrays):
        rows_struct[name] = 0 if array is None else array.data.ptr
    piece_count, cut_count = (0 if array is None else len(array) for array in (long_rows, cut_rows))
    rows_struct["count"], rows_struct["pieces"], rows_struct["cut"] = properties.rows, piece_count, cut_count
    rows_struct["limit"], rows_struct["piece"] = limit, piece
    return RowPartition(
        properties, lanes, limit, piece_count, cut_count, (cut_rows, cut_pieces, long_rows, numbers), rows_struct
    )


def _cut_long_rows(indptr: Any, properties: RowProperties, limit: int, entries_per_piece: int) -> tuple[Any, ...]:
    """Return four arrays that tell a kernel how rows of more than `limit` entries are cut into pieces of
    `entries_per_piece` entries.

    The first two have an item for each row of several pieces: the row, and its first piece. The last two have an item
    for each piece: its row, and its number within the row.
    """
    import cupy

    capacity = properties.entries // (limit + 1) + 1
    long_rows = cupy.zeros(1 + capacity, np.uint64)
    find_long_rows = kernel(_source(SOURCE, indptr, indptr), "long_rows", THREADS)
    find_long_rows.plain(
        _blocks_for(properties.rows), indptr, np.uint64(properties.rows), np.uint64(limit), long_rows, long_rows[1:]
    )
    count = int(long_rows[0])
    rows = np.sort(long_rows[1 : 1 + count].get()).astype(np.int64)
    rows_on_gpu = cupy.asarray(rows)
    lengths = (indptr[rows_on_gpu + 1] - indptr[rows_on_gpu]).get()
    pieces_per_row = -(-lengths.astype(np.int64) // entries_per_piece)
    first_pieces = pieces_per_row.cumsum() - pieces_per_row
    piece_numbers = np.arange(pieces_per_row.sum()) - np.repeat(first_pieces, pieces_per_row)
    is_cut = pieces_per_row > 1
    arrays = (
        rows[is_cut],
        first_pieces[is_cut].astype(np.uint32),
        np.repeat(rows, pieces_per_row),
        piece_numbers.astype(np.uint32),
    )
    return tuple(cupy.asarray(array) for array in arrays)


def ids_type(dtype: np.dtype, packed: bool) -> str:
    """Return the C++ type by which kernels take the array of neighbors' ids, which may be packed (use fewer bits)."""
    return "gasla::PackedIds" if packed else f"const {ctype(dtype)}*"


def _ids_argument(ids: Any) -> Any:
    """Return the array that kernels take for the neighbors' ids `ids`: for packed ids (which use fewer bits), the array
    of their groups.
    """
    return ids.groups if isinstance(ids, PackedIds) else ids


def _source(source: str, indptr: Any, indices: Any) -> str:
    return formatted(source, indptr.dtype, indices.dtype, isinstance(indices, PackedIds))


def formatted(source: str, offset_type: np.dtype, id_type: np.dtype, packed: bool = False) -> str:
    """Return the CUDA source that a template, `source`, gives with the C++ types of offsets and ids filled in."""
    return source.format(offset=ctype(offset_type), vertex=ctype(id_type), ids=ids_type(id_type, packed))


def _blocks_for(item_count: int) -> int:
    return max(1, min(-(-item_count // THREADS), 16 * multiprocessors()))
