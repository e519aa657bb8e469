"""Multiplies a sparse matrix by a vector over a semiring: generates the kernels, compiles them and launches them.

Rows are reduced by kernels/product/rows.cuh. Calls return before the kernels have ended. Only the first call with the
arrays of a matrix waits, for a kernel that inspects and checks them.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import current_device
from gasla.gpu.product import semiring
from gasla.gpu.product.dense import ready as ready_wide
from gasla.gpu.product.numeric import MatrixProduct as of_matrices
from gasla.gpu.product.numeric import at_entries
from gasla.gpu.program import rows
from gasla.gpu.runtime.compile import Kernel, struct
from gasla.graph import lists_gpu as neighbor_lists
from gasla.graph.validate import as_coordinates, as_csr, require_compressed
from gasla.program.terms import Array, Format, Lists, Multiply, Terms
from semirings.printers import cuda as printer

__all__ = ["at_entries", "in_format", "lists_of", "of_matrices", "ready", "ready_wide"]

TEMPLATE = """// A product over a semiring
#include "rows.cuh"

{prelude}
{functions}
using namespace gasla;
typedef {offset} offset_t;
typedef {vertex} vertex_t;
typedef {row} row_t;
typedef Position<offset_t>::type position_t;

struct Product {{
    typedef {value} value_t;
    typedef {had} had_t;
    static constexpr bool ordered = {ordered}, first_only = {first_only}, brings_near = false;
{members}

{monoid}
    __device__ __forceinline__ bool wanted(row_t row) const {{ return {wanted}; }}
    __device__ __forceinline__ value_t term(row_t row, position_t at) const {{
{term}
    }}
    __device__ __forceinline__ had_t load(row_t row) const {{ return {old}; }}
    __device__ __forceinline__ void finish(row_t row, const value_t& total, const had_t& old) const {{
{finish}
    }}
}};

extern "C" __global__ void __launch_bounds__({threads}) product_of_rows(Rows<offset_t> rows{parameters}) {{
    Product product{{{arguments}}};
    reduce_rows<{lanes}, row_t>(rows, product);
}}
extern "C" __global__ void __launch_bounds__({threads}) product_of_cut_rows(Rows<offset_t> rows{parameters}) {{
    Product product{{{arguments}}};
    reduce_cut_rows<row_t>(rows, product);
}}
"""


class Variant(NamedTuple):
    """What the kernels of a matrix times a vector are compiled for besides the semiring, such as the type of ids."""

    masked: bool
    offset: np.dtype[Any]
    vertex: np.dtype[Any]
    row: str
    lanes: int


class Kernels(NamedTuple):
    """The two compiled kernels of a matrix times a vector, and the names of the arrays that both read.

    One kernel reduces whole rows, and the other combines the pieces of long rows.
    """

    product: Kernel
    product_of_cut_rows: Kernel
    inputs: list[str]
    value_size: int  # bytes of one value
    reads_index: bool


def ready(lists: Lists, terms: Terms, masked: bool) -> Multiply:
    """Return a function that multiplies the sparse matrix `lists` by vectors over a semiring.

    This function, `in_format` and `lists_of` are documented in `gasla.engines.Products`.
    """
    # The returned function is cached in `lists`. It refers to a copy, because with a reference to `lists`, neither
    # would ever be freed.
    arrays = Lists(lists.indptr, lists.indices, lists.values, lists.width)
    return functools.partial(multiply, arrays, terms)


def multiply(lists: Lists, terms: Terms, x: Array, mask: Any, complement: bool, outs: tuple[Array, ...]) -> bool:
    """Write the product of the sparse matrix `lists` and the vector `x` to `outs`, where the mask admits an entry.

    Return True, or False, without writing anything, if an index of the matrix is out of range.
    """
    partition = rows.partition_rows(lists.indptr, lists.indices)
    properties = partition.properties
    variant = Variant(mask is not None, lists.indptr.dtype, lists.indices.dtype, partition.row_type, partition.lanes)
    kernels = compiled(terms, variant, current_device())
    if not properties.offsets_fit or (
        kernels.reads_index and (properties.lowest < 0 or properties.highest >= lists.width)
    ):
        return False
    if properties.rows == 0:
        return True
    values_by_name = {
        "indices": lists.indices,
        "values": lists.values,
        "x": x,
        "mask": mask,
        "complement": np.bool_(complement),
    }
    partials = partition.partials(kernels.value_size)
    argument = partition.argument(partials)
    packed = struct(argument) if partition.cut else partition.packed
    arguments = (packed, *[values_by_name[name] for name in kernels.inputs], *outs)
    kernels.product.plain(partition.blocks, *arguments)
    if partition.cut and not terms.takes_first:
        kernels.product_of_cut_rows.plain(partition.blocks_of_cut_rows, *arguments)
    return True


@functools.lru_cache(maxsize=1024)
def compiled(terms: Terms, variant: Variant, device: int) -> Kernels:
    """Return the kernels that multiply a sparse matrix by a vector over a semiring, compiled for a device.

    The latest 1,024 results are cached.
    """
    cuda_source = source(terms, variant)
    whole_rows, cut_rows = (
        Kernel(cuda_source, name, rows.THREADS) for name in ("product_of_rows", "product_of_cut_rows")
    )
    inputs = list(semiring.inputs(terms, variant.masked))
    return Kernels(whole_rows, cut_rows, inputs, semiring.size_of(terms.type), terms.reads("x") or terms.reads("other"))


def source(terms: Terms, variant: Variant) -> str:
    """Return the CUDA source of the two kernels that multiply a sparse matrix by a vector over a semiring."""
    type_by_name = semiring.inputs(terms, variant.masked) | semiring.outputs(terms)
    return TEMPLATE.format(
        prelude=printer.PRELUDE,
        functions=semiring.functions(terms),
        offset=printer.ctype(variant.offset),
        vertex=printer.ctype(variant.vertex),
        row=variant.row,
        value=printer.ctype(terms.type),
        ordered=semiring.flag(not terms.monoid.commutative),
        first_only=semiring.flag(terms.takes_first),
        members="\n".join(f"    {kind} {name};" for name, kind in type_by_name.items()),
        monoid=semiring.monoid(terms),
        wanted="mask[row] != complement" if variant.masked else "true",
        had=printer.ctype(terms.out_type) if terms.merged is not None else "bool",
        old=semiring.old(terms, "row"),
        term="\n".join(f"        {line}" for line in _term_statements(terms, variant)),
        finish=semiring.store(terms, "row"),
        threads=rows.THREADS,
        parameters="".join(f", {kind} {name}" for name, kind in type_by_name.items()),
        arguments=", ".join(type_by_name),
        lanes=variant.lanes,
    )


def _term_statements(terms: Terms, variant: Variant) -> list[str]:
    """Return C++ statements that compute one term of a row's reduction in a product of a matrix and a vector.

    They load the matrix's entry at position `at`, multiply it by the entry of `x` for its column, and return the
    result.
    """
    # Where several threads process a row, neighboring threads read the same cache line one after the other, so a plain
    # load keeps the line in the cache. Packed rows are read just once.
    load_text = "read_once({} + at)" if variant.lanes == rows.PACKED else "{}[at]"
    lines = []
    if terms.reads("x") or terms.reads("other"):
        lines.append(f"const vertex_t other = {load_text.format('indices')};")
    argument_texts = {"value": load_text.format("values"), "x": "x[other]"}
    argument_texts |= {"row": "(long long)row", "other": "(long long)other"}
    return [*lines, f"return product_({', '.join(argument_texts[s.name] for s in terms.symbols)});"]


# The following functions convert CuPy's sparse matrices to another format if needed, and cache their arrays between
# products.


_cached_lists: dict[int, tuple[Any, Lists]] = {}


def lists_of(A: Any, form: Format, make: Callable[[], Lists]) -> Lists:
    """Return a sparse matrix of CuPy as `Lists` (CSR or CSC arrays that have been checked), from the cache if possible.

    `make` makes the result if it isn't cached, or if the matrix has other arrays than before. The result is cached
    while the matrix exists, because checking its indices takes longer than a product's launch.
    """
    if known_lists := _find_cached_lists(A, form):
        return known_lists
    lists, key = make(), id(A)
    if A.format == form and A.indptr is lists.indptr:
        lists.are_cached = True
        _cached_lists[key] = weakref.ref(A, lambda _: _cached_lists.pop(key, None)), lists
    return lists


def _find_cached_lists(A: Any, form: Format) -> Lists | None:
    """Return the cached CSR or CSC arrays (`Lists`) of the CuPy matrix `A`, or None if they are not cached.

    Return None also if the matrix has another format than `form`, or other arrays than before.
    """
    entry = _cached_lists.get(id(A))
    if entry is None or entry[0]() is not A or A.format != form:
        return None
    lists = entry[1]
    if A.shape[form == "csr"] != lists.width:
        return None
    has_same_arrays = A.indptr is lists.indptr and A.indices is lists.indices and A.data is lists.values
    return lists if has_same_arrays else None


class Compressed(NamedTuple):
    """A matrix in CSR or CSC format, with the attributes that SciPy's sparse matrices have."""

    indptr: Array
    indices: Array
    data: Array
    shape: tuple[int, int]


def in_format(A: Any, wanted: Format) -> Any:
    """Convert a sparse matrix of CuPy to CSR or CSC format. Duplicate entries are kept, in their order."""
    if A.format not in ("coo", "csr", "csc"):
        A = as_csr(A)
    if A.format == wanted:
        return A
    if A.format == "coo":
        coordinates = as_coordinates(A)
    else:
        require_compressed(A)
        indices = A.indices[: int(A.indptr[-1])]
        owners = neighbor_lists.owners(A.indptr, indices)
        coordinates = (indices, owners) if A.format == "csc" else (owners, indices)
    keys, others = coordinates if wanted == "csr" else coordinates[::-1]
    count = A.shape[0 if wanted == "csr" else 1]
    indptr, indices, order = neighbor_lists.group(keys, others, count)
    if int(indptr[-1]) != len(keys):
        line = "row" if wanted == "csr" else "column"
        raise ValueError(
            f"the matrix has entries outside its shape {A.shape}; expected each {line} from 0 to {count - 1}"
        )
    return Compressed(indptr, indices, A.data[order], A.shape)
