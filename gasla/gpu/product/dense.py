"""Multiplies a sparse matrix by a dense matrix over any semiring. The columns of the dense matrix are independent of
each other, and neighboring threads process neighboring columns (kernels/product/dense.cuh).
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import address, current_device
from gasla.gpu.product import semiring
from gasla.gpu.program import rows
from gasla.gpu.runtime.compile import Kernel, multiprocessors, struct
from gasla.program.terms import Array, Lists, Multiply, Terms, parts
from semirings import TupleType
from semirings.printers import cuda as printer

WHOLE = 256  # number of entries of the longest row that is not cut, and of each piece into which longer rows are cut
LOAD = 16  # largest number of bytes that one instruction loads
WIDTHS = 4, 2, 1  # numbers of matrix columns per thread, in the order in which they are tried
WARP = 32
RESIDENT, WAVES = 4, 4  # blocks per multiprocessor that run at the same time; a launch has at most four times as many
MOST = 2**31 - 1  # largest number of columns of the dense matrix

TEMPLATE = """// A product over a semiring with all columns of a matrix
#include "dense.cuh"

{prelude}
{functions}
using namespace gasla;
typedef {offset} offset_t;
typedef {vertex} vertex_t;
typedef Choose<sizeof(vertex_t) == 8, u64, u32>::type unsigned_vertex_t;
typedef {row} row_t;
typedef Position<offset_t>::type position_t;
constexpr u32 LANES = {lanes}, WIDTH = {width};

struct Product {{
    typedef {value} value_t;
    typedef {out} out_t;
    struct entry_t {{ {entry} }};
    typedef {x} x_t;
    struct had_t {{ {had} }};
{members}
    u32 columns;

{monoid}
    __device__ __forceinline__ bool wanted(row_t row, u32 column) const {{ return {wanted}; }}
    __device__ __forceinline__ entry_t entry(position_t at) const {{ return entry_t{{{loaded}}}; }}
    __device__ __forceinline__ x_t load(const entry_t& entry, u32 column) const {{ return {x_loaded}; }}
    __device__ __forceinline__ value_t term(row_t row, const entry_t& entry, const x_t& xs, u32 i, u32 column) const {{
        return product_({arguments});
    }}
    __device__ __forceinline__ had_t load_old(row_t row, u32 column) const {{
        const u64 at = (u64)row * columns + column;
        return had_t{{{had_loaded}}};
    }}
    __device__ __forceinline__ void finish(
        row_t row, u32 column, const value_t (&totals)[WIDTH], const had_t& had
    ) const {{
        const u64 at = (u64)row * columns + column;
{packs}
#pragma unroll
        for (u32 i = 0; i < WIDTH; ++i) {{
            const value_t& total = totals[i];
            const out_t old = {old};
            const auto result = {result};
{packed}
        }}
{stored}
    }}
}};

extern "C" __global__ void __launch_bounds__({threads}, {resident}) product_of_columns(
    Rows<offset_t> rows, u32 columns{parameters}
) {{
    Product product{{{names}}};
    reduce_dense<LANES, WIDTH, row_t>(rows, columns, product);
}}
extern "C" __global__ void __launch_bounds__({threads}, {resident}) product_of_cut_columns(
    Rows<offset_t> rows, u32 columns{parameters}
) {{
    Product product{{{names}}};
    reduce_dense_cut_rows<LANES, WIDTH, row_t>(rows, columns, product);
}}
"""


class Variant(NamedTuple):
    """What the kernels of a sparse times a dense matrix are compiled for besides the semiring, such as the types of
    indices.
    """

    masked: bool
    offset: np.dtype[Any]
    vertex: np.dtype[Any]
    row: str
    lanes: int
    width: int


class Kernels(NamedTuple):
    """The two compiled kernels of a sparse times a dense matrix, and the names of the arrays that both read.

    One kernel computes whole rows, and the other combines the pieces of rows that are cut.
    """

    product: Kernel
    product_of_cut_rows: Kernel
    inputs: list[str]


def ready(lists: Lists, terms: Terms, masked: bool) -> Multiply:
    """Return a function that multiplies the sparse matrix `lists` by dense matrices over a semiring.

    `gasla.engines.Products.ready_wide` documents the parameters.
    """
    # The returned function is cached in `lists`. It refers to a copy, because with a reference to `lists`, neither
    # would ever be freed.
    arrays = Lists(lists.indptr, lists.indices, lists.values, lists.width)
    return functools.partial(multiply, arrays, terms)


def multiply(lists: Lists, terms: Terms, x: Array, mask: Any, complement: bool, outs: tuple[Array, ...]) -> bool:
    """Write the product of the sparse matrix `lists` and the dense matrix `x` to `outs`, where the mask admits an
    entry.

    Return True, or False, without writing anything, if an index of the sparse matrix is out of range.
    """
    partition = rows.partition_rows(lists.indptr, lists.indices, WHOLE)
    properties, columns = partition.properties, x.shape[1]
    reads_index = terms.reads("x") or terms.reads("other")
    if not properties.offsets_fit or (reads_index and (properties.lowest < 0 or properties.highest >= lists.width)):
        return False
    if properties.rows == 0 or columns == 0:
        return True
    if columns > MOST:
        raise ValueError(f"x has {columns} columns; expected at most {MOST} on a GPU")
    lanes, width = layout(columns, mask is not None, (x, *outs) if terms.reads("x") else outs)
    variant = Variant(mask is not None, lists.indptr.dtype, lists.indices.dtype, partition.row_type, lanes, width)
    kernels = compiled(terms, variant, current_device())
    values_by_name = {
        "indices": lists.indices,
        "values": lists.values,
        "x": x,
        "mask": mask,
        "complement": np.bool_(complement),
    }
    partials = partition.partials(semiring.size_of(terms.type) * columns)
    argument = partition.argument(partials)
    arguments = (struct(argument), np.uint32(columns), *[values_by_name[name] for name in kernels.inputs], *outs)
    kernels.product.plain(blocks(partition.pieces + properties.rows, lanes), *arguments)
    if partition.cut:
        kernels.product_of_cut_rows.plain(blocks(partition.cut, lanes), *arguments)
    return True


def layout(columns: int, masked: bool, arrays: tuple[Array, ...]) -> tuple[int, int]:
    """Return how many threads process a row of the product, and how many columns each thread has.

    `columns` is the number of columns of the dense matrix. A thread has several columns if one instruction can load
    them together, for which the `arrays` must be aligned. With a mask, a thread has one column.
    """
    width = next(w for w in WIDTHS if w == 1 or (not masked and columns % w == 0 and _can_pack(arrays, w)))
    return min(WARP, 1 << (-(-columns // width) - 1).bit_length()), width


def _can_pack(arrays: tuple[Array, ...], width: int) -> bool:
    """Return whether one instruction can load or store `width` adjacent values of each array."""
    sizes = [width * array.dtype.itemsize for array in arrays]
    return sizes[0] <= LOAD and not any(address(array) % size for array, size in zip(arrays, sizes))


def blocks(items: int, lanes: int) -> int:
    """Return the number of blocks that give each of `items` rows `lanes` threads.

    If there are more rows than the largest launch has threads for, each thread processes several rows.
    """
    return min(-(-items * lanes // rows.THREADS), WAVES * RESIDENT * multiprocessors())


@functools.lru_cache(maxsize=1024)
def compiled(terms: Terms, variant: Variant, device: int) -> Kernels:
    """Return the kernels that multiply a sparse by a dense matrix over a semiring, compiled for a device.

    The latest 1,024 results are cached.
    """
    cuda_source = source(terms, variant)
    whole_rows, cut_rows = (
        Kernel(cuda_source, name, rows.THREADS) for name in ("product_of_columns", "product_of_cut_columns")
    )
    return Kernels(whole_rows, cut_rows, list(semiring.inputs(terms, variant.masked)))


def source(terms: Terms, variant: Variant) -> str:
    """Return the CUDA source of the two kernels that multiply a sparse by a dense matrix over a semiring."""
    inputs, outs = semiring.inputs(terms, variant.masked), semiring.outputs(terms)
    type_by_name, types = inputs | outs, {s.name: printer.ctype(s.type) for s in terms.symbols}
    entry = {"other": "vertex_t"} if "indices" in inputs else {}
    entry |= {"value": types["value"]} if "value" in types else {}
    packs = [f"Pack<{printer.ctype(kind)}, WIDTH>" for kind in parts(terms.out_type)]
    return TEMPLATE.format(
        prelude=printer.PRELUDE,
        functions=semiring.functions(terms),
        offset=printer.ctype(variant.offset),
        vertex=printer.ctype(variant.vertex),
        row=variant.row,
        lanes=variant.lanes,
        width=variant.width,
        value=printer.ctype(terms.type),
        out=printer.ctype(terms.out_type),
        entry=" ".join(f"{kind} {name};" for name, kind in entry.items()),
        x=f"Pack<{types['x']}, WIDTH>" if "x" in types else "bool",
        had=" ".join(f"{pack} {name};" for name, pack in zip(outs, packs)) if terms.reads_old else "",
        members="\n".join(f"    {kind} {name};" for name, kind in type_by_name.items()),
        monoid=semiring.monoid(terms),
        wanted="mask[(u64)row * columns + column] != complement" if variant.masked else "true",
        loaded=", ".join({"other": "indices[at]", "value": "values[at]"}[name] for name in entry),
        x_loaded="x_t::load(x + ((u64)(unsigned_vertex_t)entry.other * columns + column))" if "x" in types else "false",
        arguments=", ".join(_ARGUMENTS[s.name] for s in terms.symbols),
        had_loaded=", ".join(f"{pack}::load({name} + at)" for name, pack in zip(outs, packs))
        if terms.reads_old
        else "",
        packs="\n".join(f"        {pack} pack{p};" for p, pack in enumerate(packs)),
        old=_old_value(terms),
        result=semiring.result(terms),
        packed="\n".join(f"            pack{p}.item[i] = {item};" for p, item in enumerate(semiring.items(terms))),
        stored="\n".join(f"        pack{p}.store({name} + at);" for p, name in enumerate(outs)),
        threads=rows.THREADS,
        resident=RESIDENT,
        parameters="".join(f", {kind} {name}" for name, kind in type_by_name.items()),
        names=", ".join([*type_by_name, "columns"]),
    )


_ARGUMENTS = {
    "value": "entry.value",
    "x": "xs.item[i]",
    "row": "(long long)row",
    "other": "(long long)entry.other",
    "column": "(long long)column",
}


def _old_value(terms: Terms) -> str:
    """Return the C++ expression that loads the value that an output had before, with which the product is merged."""
    if not terms.reads_old:
        return "out_t{}"
    names = [f"had.{name}.item[i]" for name in semiring.outputs(terms)]
    return f"out_t{{{', '.join(names)}}}" if isinstance(terms.out_type, TupleType) else names[0]
