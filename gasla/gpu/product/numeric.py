"""Computes the values of a product of two sparse matrices at known positions: those of a mask, or those that the
symbolic phase (symbolic.py) has found.

No value is ever updated by two threads at the same time (kernels/product/numeric.cuh). So any monoid works, and results
are the same to the last bit in every run.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from gasla.arrays import current_device
from gasla.gpu.product import semiring, symbolic
from gasla.gpu.product.symbolic import CSR, MaxColumns, RowOrder, SharedLimits, Structure
from gasla.gpu.runtime.compile import Kernel
from gasla.program.terms import Array, Lists, Terms
from semirings.printers import cuda as printer

TEMPLATE = """// Values of a product of sparse matrices over a semiring
#include "numeric.cuh"

{prelude}
{functions}
using namespace gasla;

struct Product {{
    typedef {value} value_t;
    typedef {out} had_t;
{members}

{monoid}
    __device__ __forceinline__ value_t term(long long row, u64 left, u64 right, int column) const {{
        return product_({arguments});
    }}
    __device__ __forceinline__ void finish(u64 at, const value_t& total) const {{
        const had_t old{{}};
{finish}
    }}
}};
constexpr u32 WARPS = {warps}, SMALL_SLOTS = (WARP / {small_lanes}) << {small_bits};
constexpr u32 BITS = {bits}, LARGE_BITS = {large_bits}, WIDTH = {width};

#define GIVEN const long long* a_offsets, const int* indices, const long long* b_offsets, const int* b_indices, \\
    const long long* offsets, const int* columns, const long long* rows, u64 count, \\
    bool are_apart{parameters}
#define ENTRIES Entries{{{{a_offsets, indices}}, {{b_offsets, b_indices}}, {{offsets, columns}}, rows, count, \\
    are_apart}}
#define PRODUCT Product{{{names}}}
typedef Product::value_t value_t;

{kernels}
"""
KERNELS = {
    "small": """
extern "C" __global__ void __launch_bounds__({threads}, {small_blocks}) small(GIVEN) {{
    __shared__ u32 keys[WARPS][SMALL_SLOTS];
    __shared__ value_t totals[WARPS][SMALL_SLOTS];
    multiply_in_tables<{small_lanes}, {small_bits}>(PRODUCT, ENTRIES, keys[warp_of_block()], totals[warp_of_block()]);
}}""",
    "tables": """
extern "C" __global__ void __launch_bounds__({threads}) tables(GIVEN) {{
    __shared__ u32 keys[WARPS][1u << BITS];
    __shared__ value_t totals[WARPS][1u << BITS];
    multiply_in_tables<WARP, BITS>(PRODUCT, ENTRIES, keys[warp_of_block()], totals[warp_of_block()]);
}}""",
    "large": """
extern "C" __global__ void __launch_bounds__({large_warps} * WARP) large(GIVEN) {{
    __shared__ u32 keys[{large_warps}][1u << LARGE_BITS];
    __shared__ value_t totals[{large_warps}][1u << LARGE_BITS];
    multiply_in_tables<WARP, LARGE_BITS>(PRODUCT, ENTRIES, keys[warp_of_block()], totals[warp_of_block()]);
}}""",
    "windows": """
extern "C" __global__ void __launch_bounds__({threads}) windows(GIVEN, u32 windows, bool ascends) {{
    __shared__ value_t totals[WARPS][WIDTH];
    multiply_in_windows(PRODUCT, ENTRIES, totals[warp_of_block()], WIDTH, windows, ascends);
}}""",
    "memory": """
extern "C" __global__ void __launch_bounds__({threads}) memory(GIVEN, u32* keys, value_t* totals, const u64* places) {{
    multiply_in_memory(PRODUCT, ENTRIES, keys, totals, places);
}}""",
}
# The kernel for small rows is compiled for so many blocks per multiprocessor. Its threads mostly wait for memory, so
# many should be resident at once. A thread then has 64 registers, which suffice.
SMALL_BLOCKS = 8


class MatrixProduct:
    """A product of two sparse matrices on a GPU: `count` finds how many entries it has, and `fill` computes them.

    These are the two steps of `gasla.engines.MatrixProduct`.
    """

    def __init__(self, A: Lists, B: Lists, terms: Terms, left_out: Lists | None) -> None:
        self.given, self.terms = (A, B, left_out), terms

    def count(self, most: int) -> Array | None:
        """Return the number of entries of each row of the product of two sparse matrices.

        If it is certain that there are more than `most` entries in all, lower bounds of the numbers are returned
        instead. Return None if an offset or index of a matrix is out of range.
        """
        A, B, mask = self.given
        a = symbolic.as_csr(A, "A")
        b = a if B is A else symbolic.as_csr(B, "B")
        left_out = None if mask is None else symbolic.as_csr(mask, "mask")
        if a is None or b is None or (mask is not None and left_out is None):
            return None
        self.structure = Structure(a, b, left_out)
        lower_bounds = self.structure.bound(most)
        return self.structure.count() if lower_bounds is None else lower_bounds

    def fill(self, indptr: Array, indices: Array, outs: tuple[Array, ...]) -> None:
        structure = self.structure
        if not len(indices):  # There is nothing to compute, and kernels don't accept the null pointers of empty arrays.
            return
        columns = indices if indices.dtype == np.int32 else structure.xp.empty(len(indices), np.int32)
        offsets = indptr.astype(np.int64, copy=False)
        structure.fill(offsets, columns)
        if columns is not indices:
            indices[...] = columns
        entries = CSR(offsets, columns, None, structure.b.width, {"order": RowOrder(True, True)})
        methods = structure.methods if structure.is_small and has_small(self.terms) else None
        multiply(structure.a, structure.b, self.terms, entries, structure.pairs, outs, methods)


def at_entries(A: Lists, B: Lists, terms: Terms, mask: Lists, outs: tuple[Array, ...]) -> bool:
    """Compute the product of the sparse matrices `A` and `B` at the positions of a mask only, and write it to `outs`.

    Return True, or False, without writing anything, if an index of a matrix is out of range (see
    `gasla.engines.Products.at_entries`).
    """
    a, b, entries = (symbolic.as_csr(lists, name) for lists, name in ((A, "A"), (B, "B"), (mask, "mask")))
    if a is None or b is None or entries is None:
        return False
    multiply(a, b, terms, entries, symbolic.count_pairs(a, b), outs, None)
    return True


def multiply(
    a: CSR,
    b: CSR,
    terms: Terms,
    entries: CSR,
    met: Array,
    outs: tuple[Array, ...],
    methods: dict[str, symbolic.RowSet] | None,
) -> None:
    """Write to `outs` the values of the product of two sparse matrices at known positions, those of `entries`.

    `met` has the number of partial products (pairs of an entry of A and an entry of B) of each row. `methods` groups
    the rows by the method (kernel) that computes them. If it is None, the rows are grouped here.
    """
    if not len(entries.indices):
        return
    limits, max_columns = shared_limits(terms), MaxColumns(met, entries.offsets, None, b.width)
    methods = methods or symbolic.group_rows(max_columns, a, limits, small=has_small(terms))
    are_apart, ascends = np.bool_(b.order.is_apart), False
    if methods["windows"].number:
        b, ascends = symbolic.in_ascending_order(b), entries.order.ascends
    values_by_name = {"values": a.values, "x": b.values}
    values = [*(values_by_name[name] for name in semiring.values(terms)), *outs]
    matrices = a.offsets, a.indices, b.offsets, b.indices, entries.offsets, entries.indices

    def arguments(row_set: symbolic.RowSet) -> list[Any]:
        row_numbers = np.uint64(0) if row_set.listed is None else row_set.listed
        return [*matrices, row_numbers, np.uint64(row_set.number), are_apart, *values]

    find_kernel = functools.partial(compiled, terms, device=current_device())
    windows = symbolic.count_windows(b.width, limits), np.bool_(ascends)
    symbolic.launch(methods, find_kernel, arguments, windows, max_columns, 4 + semiring.size_of(terms.type))


def shared_limits(terms: Terms) -> SharedLimits:
    """Return the largest hash tables and windows (ranges of columns) with values that fit in a warp's shared memory.

    They depend on the size of a value, which `terms` gives.
    """
    size = semiring.size_of(terms.type)
    return SharedLimits.of(4 + size, size)


def has_small(terms: Terms) -> bool:
    """Return whether the kernel for rows with few entries can be used, whose hash tables with values are in shared
    memory.

    The tables fit if a value of the product has few enough bytes.
    """
    return symbolic.SHARED // (4 + semiring.size_of(terms.type)) >= 32 // symbolic.SMALL_LANES << symbolic.SMALL_BITS


@functools.lru_cache(maxsize=1024)
def compiled(terms: Terms, method: str, device: int) -> Kernel:
    """Return the kernel that computes values of a product of sparse matrices by one method, such as "small" or
    "windows".

    The kernel is compiled for a semiring and a device, and cached.
    """
    return Kernel(source(terms, (method,)), method, symbolic.threads_of(method))


def source(terms: Terms, methods: tuple[str, ...]) -> str:
    """Return the CUDA source of the kernels that compute the values of a product of two sparse matrices.

    There is a kernel for each of `methods`, such as "small" and "windows".
    """
    type_by_name = semiring.values(terms) | semiring.outputs(terms)
    sizes = {
        "threads": symbolic.THREADS,
        "warps": symbolic.WARPS,
        "small_lanes": symbolic.SMALL_LANES,
        "small_bits": symbolic.SMALL_BITS,
        "small_blocks": SMALL_BLOCKS,
        "large_warps": symbolic.LARGE_WARPS,
    }
    limits = shared_limits(terms)
    return TEMPLATE.format(
        prelude=printer.PRELUDE,
        functions=semiring.functions(terms),
        value=printer.ctype(terms.type),
        out=printer.ctype(terms.out_type),
        members="\n".join(f"    {kind} {name};" for name, kind in (_MEMBERS | type_by_name).items()),
        monoid=semiring.monoid(terms),
        arguments=", ".join(_ARGUMENTS[s.name] for s in terms.symbols),
        finish=semiring.store(terms, "at"),
        parameters="".join(f", {kind} {name}" for name, kind in type_by_name.items()),
        names=", ".join([*_MEMBERS, *type_by_name]),
        kernels="\n".join(KERNELS[method].format(**sizes) for method in methods),
        bits=limits.bits,
        large_bits=limits.large_bits,
        width=limits.width,
        **sizes,
    )


# names and C++ types of the arrays of matrix A that kernels read besides its values
_MEMBERS = {"indices": "const int*"}
_ARGUMENTS = {
    "value": "values[left]",
    "x": "x[right]",
    "row": "row",
    "other": "(long long)indices[left]",
    "column": "(long long)column",
}
