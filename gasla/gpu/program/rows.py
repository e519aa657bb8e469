"""How the rows of a matrix are shared out among threads (kernels/product): decided once for the same arrays.

Where the neighbours of one row are near those of the next, the next thread or the next few take the next row, and what
one reads serves the others from the L1 cache; elsewhere entries are packed side by side. Long rows are cut into pieces.
The same look at the arrays finds their range, so that a matrix is checked once and not at every use: its offsets and
indices should not be written to afterwards.
"""

from __future__ import annotations

import functools
import weakref
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gasla.arrays import finish
from gasla.gpu.runtime.compile import Kernel, compile_ahead, device, multiprocessors, struct
from semirings.printers.cuda import ctype

FACTS = np.dtype(
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
"""The struct `gasla::Rows`."""

THREADS = 256  # of a block
PIECE = 4096  # entries: 128 for each lane of a warp
PACKED = 0  # in the place of lanes
SAMPLES, NEAR = 1 << 14, 32  # as in kernels/product/row_facts.cuh
FEW = 1 << 22  # offsets and indices of a graph, looked at in a few milliseconds

SOURCE = """
#include "row_facts.cuh"
using namespace gasla;
typedef {offset} offset_t;
typedef {vertex} vertex_t;
extern "C" __global__ void facts(const offset_t* offsets, const vertex_t* indices, u64 rows, u64 stored,
                                 RowFacts* found) {{
    find_row_facts(offsets, indices, rows, stored, found);
}}
extern "C" __global__ void sample(const offset_t* offsets, const vertex_t* indices, u64 rows, RowFacts* found) {{
    sample_rows(offsets, indices, rows, found);
}}
extern "C" __global__ void long_rows(const offset_t* offsets, u64 rows, u64 limit, u64* found, u64* list) {{
    list_long_rows(offsets, rows, limit, found, list);
}}
"""

HEADS = """
#include "heads.cuh"
using namespace gasla;
typedef {offset} offset_t;
typedef {vertex} vertex_t;
extern "C" __global__ void heads(const offset_t* offsets, const vertex_t* indices, u64 rows, vertex_t* found) {{
    find_heads(offsets, indices, rows, found);
}}
"""


@dataclass(frozen=True)
class RowFacts:
    """What was found in the arrays of a matrix."""

    rows: int
    entries: int
    offsets_fit: bool
    lowest: int  # 0, or a negative index
    highest: int
    longest: int
    near: float  # share of entries near the entry at the same place in the next row

    @classmethod
    def of(cls, rows: int, entries: int, found: Any) -> RowFacts:
        """From the struct that kernels write."""
        lowest, highest, longest = (int(found[name]) for name in ("lowest", "highest", "longest"))
        near = float(found["near"]) / max(1, int(found["compared"]))
        return cls(rows, entries, not found["wrong_offsets"], lowest, highest, longest, near)


@dataclass(frozen=True)
class RowShares:
    """How the rows of one matrix are reduced.

    Attributes
    ----------
    lanes : int
        Threads a row, or 0 for rows packed side by side: a template parameter of the kernels.
    row_type : str
        The C++ type that numbers the rows.
    pieces, cut : int
        Pieces of long rows; rows of several pieces, which `reduce_cut_rows` must finish.
    warps : int
        How many find work.
    """

    facts: RowFacts
    lanes: int
    limit: int
    pieces: int
    cut: int
    arrays: tuple[Any, ...]  # what `rows` points to
    rows: Any  # the struct `gasla::Rows` but for partials
    known: dict[str, Any] = field(default_factory=dict)  # what users of these very arrays found out about them

    @functools.cached_property
    def row_type(self) -> str:
        return "unsigned int" if self.facts.rows < 2**32 else "unsigned long long"

    @property
    def warps(self) -> int:
        return self.pieces + -(-self.facts.rows * (self.lanes or 1) // 32)

    @functools.cached_property
    def blocks(self) -> int:
        """Blocks of a plain launch of THREADS threads."""
        return max(1, -(-self.warps * 32 // THREADS))

    @property
    def blocks_of_cut_rows(self) -> int:
        """Blocks for `reduce_cut_rows`."""
        return -(-self.cut * 32 // THREADS)

    def partials(self, value_size: int) -> Any:
        """Room for the values of pieces, of so many bytes each, to be held until the launches; None if none is cut."""
        import cupy

        return cupy.empty(self.pieces * value_size, np.uint8) if self.cut else None

    def argument(self, partials: Any = None) -> Any:
        """The struct `gasla::Rows` for a launch."""
        if partials is None:
            return self.rows
        rows = self.rows.copy()
        rows["partials"] = partials.data.ptr
        return rows

    @functools.cached_property
    def packed(self) -> Any:
        """The argument of a launch without partials, packed as kernels take it."""
        return struct(self.rows)


_shares: dict[tuple[int, int, int | None], tuple[Any, Any, RowShares]] = {}


def share_out(indptr: Any, indices: Any, whole: int | None = None) -> RowShares:
    """The shares of these very arrays (CuPy), made when they are first seen.

    With `whole`, rows of more entries are cut into pieces of so many.
    """
    key = id(indptr), id(indices), whole
    known = _shares.get(key)
    if known is not None and known[0]() is indptr and known[1]() is indices:
        return known[2]
    if whole is None:
        made = make_shares(indptr, find_facts(indptr, indices))
    else:
        made = make_shares(indptr, share_out(indptr, indices).facts, 1, whole, whole)
    finish("gpu")  # another thread may find it, on another stream

    def forget(_: Any) -> None:
        _shares.pop(key, None)

    _shares[key] = weakref.ref(indptr, forget), weakref.ref(indices, forget), made
    return made


def find_facts(indptr: Any, indices: Any) -> RowFacts:
    """Look at all offsets and indices, and wait for the answer."""
    import cupy

    rows, stored = len(indptr) - 1, len(indices)
    start = np.zeros(1, FACTS)
    start["highest"] = -1
    found = cupy.asarray(start.view(np.uint8))
    source = _source(SOURCE, indptr, indices)
    sizes = np.uint64(rows), np.uint64(stored)
    _kernel(source, "facts").plain(_blocks(max(rows, stored)), indptr, indices, *sizes, found)
    facts = found.get().view(FACTS)[0]
    if not facts["wrong_offsets"] and facts["lowest"] >= 0 and rows > 1:
        _kernel(source, "sample").plain(_blocks(1 << 14), indptr, indices, sizes[0], found)
        facts = found.get().view(FACTS)[0]
    return RowFacts.of(rows, stored, facts)


def find_facts_once(indptr: Any, indices: Any) -> RowFacts:
    """`find_facts` for arrays that are looked at once: short ones are looked at here, with nothing to compile."""
    if len(indptr) + len(indices) > FEW:
        return find_facts(indptr, indices)
    return facts_of(indptr.get(), indices.get())


def facts_of(indptr: np.ndarray, indices: np.ndarray) -> RowFacts:
    """The facts of arrays on the host."""
    rows, stored, lengths = len(indptr) - 1, len(indices), np.diff(indptr)
    if indptr[0] < 0 or indptr[-1] > stored or lengths.min(initial=0) < 0:
        return RowFacts(rows, stored, False, 0, -1, 0, 0.0)
    listed = indices[indptr[0] : indptr[-1]]
    row = np.arange(0, max(0, rows - 1), max(1, rows // SAMPLES))
    shared = np.minimum(lengths[row], lengths[row + 1])
    row, shared = row[shared > 0], shared[shared > 0].astype(np.uint64)
    place = (_mixed(row.astype(np.uint32)) * shared >> np.uint64(32)).astype(np.int64)
    apart = indices[indptr[row] + place].astype(np.int64) - indices[indptr[row + 1] + place]
    near = float((np.abs(apart) < NEAR).sum()) / max(1, len(row))
    lowest, highest = int(listed.min(initial=0)), int(listed.max(initial=-1))
    return RowFacts(rows, stored, True, lowest, highest, int(lengths.max(initial=0)), near)


def _mixed(x: np.ndarray) -> np.ndarray:
    """Random numbers of 32 bits, in 64, from ones of 32."""
    x = (x ^ x >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    x = (x ^ x >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    mixed: np.ndarray = (x ^ x >> np.uint32(16)).astype(np.uint64)
    return mixed


def begin_heads(offset_type: np.dtype, id_type: np.dtype) -> None:
    """Begin to compile what finds heads, for a caller that has something else to compile."""
    compile_ahead(HEADS.format(offset=ctype(offset_type), vertex=ctype(id_type)))


def find_heads(indptr: Any, indices: Any, heads: Any) -> None:
    """For each vertex the neighbour that has most neighbours itself, into an array of bytes."""
    n = len(indptr) - 1
    _kernel(_source(HEADS, indptr, indices), "heads").plain(_blocks(8 * n), indptr, indices, np.uint64(n), heads)


def choose(facts: RowFacts) -> tuple[int, int]:
    """Lanes a row, and the most entries of a row that stays whole."""
    mean = facts.entries / max(1, facts.rows)
    if facts.near < 0.5:
        return PACKED, 512
    return 1 << int(np.clip(np.round(np.log2(max(1, mean / 8))), 0, 3)), 128


def is_flat(longest: int, entries: int, n: int) -> bool:
    """Whether no vertex has very many edges, so that a few lanes a vertex are balanced enough."""
    return n > 0 and longest <= 64 + 4 * entries // n


def make_shares(
    indptr: Any, facts: RowFacts, lanes: int | None = None, limit: int | None = None, piece: int | None = None
) -> RowShares:
    """The shares of rows of these facts; lanes and limit are chosen where they aren't given."""
    chosen, piece = choose(facts), piece or PIECE
    lanes, limit = chosen[0] if lanes is None else lanes, chosen[1] if limit is None else limit
    arrays: tuple[Any, ...] = (None, None, None, None)
    if facts.offsets_fit and facts.longest > limit:
        arrays = _long_rows(indptr, facts, limit, piece)
    cut_rows, cut_pieces, long_rows, numbers = arrays
    shared = np.zeros((), ROWS)
    shared["offsets"] = indptr.data.ptr
    names = "cut_rows", "cut_pieces", "long_rows", "numbers"
    for name, array in zip(names, arrays):
        shared[name] = 0 if array is None else array.data.ptr
    pieces, cut = (0 if array is None else len(array) for array in (long_rows, cut_rows))
    shared["count"], shared["pieces"], shared["cut"] = facts.rows, pieces, cut
    shared["limit"], shared["piece"] = limit, piece
    return RowShares(facts, lanes, limit, pieces, cut, (cut_rows, cut_pieces, long_rows, numbers), shared)


def _long_rows(indptr: Any, facts: RowFacts, limit: int, piece: int) -> tuple[Any, ...]:
    """Rows of several pieces, their first pieces, the row of each piece and its number within the row."""
    import cupy

    capacity = facts.entries // (limit + 1) + 1
    found = cupy.zeros(1 + capacity, np.uint64)
    kernel = _kernel(_source(SOURCE, indptr, indptr), "long_rows")
    kernel.plain(_blocks(facts.rows), indptr, np.uint64(facts.rows), np.uint64(limit), found, found[1:])
    count = int(found[0])
    rows = np.sort(found[1 : 1 + count].get()).astype(np.int64)
    where = cupy.asarray(rows)
    lengths = (indptr[where + 1] - indptr[where]).get()
    counts = -(-lengths.astype(np.int64) // piece)
    starts = counts.cumsum() - counts
    numbers = np.arange(counts.sum()) - np.repeat(starts, counts)
    cut = counts > 1
    arrays = rows[cut], starts[cut].astype(np.uint32), np.repeat(rows, counts), numbers.astype(np.uint32)
    return tuple(cupy.asarray(array) for array in arrays)


def _source(source: str, indptr: Any, indices: Any) -> str:
    return source.format(offset=ctype(indptr.dtype), vertex=ctype(indices.dtype))


def _kernel(source: str, function: str) -> Kernel:
    return _kernel_on(source, function, device())


@functools.cache
def _kernel_on(source: str, function: str, device: int) -> Kernel:
    return Kernel(source, function, THREADS)


def _blocks(items: int) -> int:
    return max(1, min(-(-items // THREADS), 16 * multiprocessors()))
