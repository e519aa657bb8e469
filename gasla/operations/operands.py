"""Check the operands of products (matrices, vectors, masks and outputs), and convert them for the engines."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import semirings
from gasla.arrays import array_module, converted, device_of, imported
from gasla.engines import Products, engine
from gasla.graph.graph import Graph
from gasla.graph.validate import as_ids, as_values, find_outside, require_sparse
from gasla.operations.sparse import Sparse
from gasla.program.terms import Array, Format, Lists, Terms, parts
from semirings import Monoid, Semiring, TupleType
from semirings.types import SCALAR_NAMES

SCALARS = frozenset(map(np.dtype, SCALAR_NAMES))


def check_semiring(name: str, given: Any) -> None:
    """Raise TypeError if an argument is not a semiring. `name` is the name of the argument."""
    if not isinstance(given, Semiring):
        hint = f"; semirings.Semiring({given.name}, multiply) makes one" if isinstance(given, Monoid) else ""
        if isinstance(given, str) and isinstance(getattr(semirings, given, None), Semiring):
            hint = f"; did you mean semirings.{given}?"
        raise TypeError(f"{name} is {given!r}; expected a semirings.Semiring, such as semirings.min_plus{hint}")


# --- matrices, as CSR or CSC arrays -----------------------------------------------------------------------------------


def lists_of(A: Any, by_column: bool, ordered: bool) -> Lists:
    """Return a matrix as compressed arrays (offsets, indices and values), by rows as CSR or by columns as CSC.

    `ordered` asks for the entries of each row in the order of the input. Offsets and indices are not checked here, as
    the kernel checks them while it reads them.
    """
    if isinstance(A, Graph):
        A.require_whole()
        return _lists_of_graph(A, by_column, ordered)
    matrix_format: Format = "csc" if by_column else "csr"
    products = engine(device_of(place(A))).products()
    return products.lists_of(A, matrix_format, partial(_lists_of_matrix, A, matrix_format, products))


def place(A: Any) -> Any:
    """Return an object whose class tells on which device a matrix is, such as a NumPy array for the CPU.

    A graph or a `Sparse` matrix of gasla may be on either device, so for it one of its arrays is returned. A matrix of
    SciPy or CuPy is returned itself.
    """
    return A.indices if isinstance(A, Sparse) else A.out.indices if isinstance(A, Graph) else A


def _lists_of_matrix(A: Any, matrix_format: Format, products: Products) -> Lists:
    if not isinstance(A, Sparse):
        require_sparse(A)
    elif isinstance(A.data, tuple):
        raise TypeError(
            f"each value of the matrix is a tuple of {len(A.data)}; expected one value per entry: "
            "gasla.Sparse(C.shape, C.indptr, C.indices, C.data[0])"
        )
    if A.ndim != 2:
        raise ValueError(f"the matrix has shape {A.shape}; expected two dimensions")
    count, width = A.shape if matrix_format == "csr" else A.shape[::-1]
    A = products.in_format(A, matrix_format)
    indptr, indices = (contiguous(as_ids(name, getattr(A, name))) for name in ("indptr", "indices"))
    if len(indptr) != count + 1:
        raise ValueError(f"indptr has {len(indptr)} entries in a matrix of shape {A.shape}; expected {count + 1}")
    return Lists(indptr, indices, as_values(A.data, len(indices)), int(width))


def _lists_of_graph(graph: Graph, by_column: bool, in_order: bool) -> Lists:
    if in_order and (lists := (stored := graph.in_ if by_column else graph.out).in_order()) is not stored:
        values = None if graph.value_type is None else graph.valued.each[lists.edge_ids]  # type: ignore[index]
        return Lists(lists.indptr, lists.indices, values, graph.n)
    return graph.kept("columns", _columns_of_graph) if by_column else graph.kept("rows", _rows_of_graph)


def _rows_of_graph(graph: Graph) -> Lists:
    return Lists(graph.out.indptr, graph.out.indices, graph.valued.by_out, graph.n, are_cached=True)


def _columns_of_graph(graph: Graph) -> Lists:
    """Return the columns of a graph's matrix, which are its in-edges, as CSC arrays.

    If in-edges and out-edges have the same arrays, return the same object as for the rows.
    """
    if graph.in_.indices is graph.out.indices and graph.valued.by_in is graph.valued.by_out:
        return graph.kept("rows", _rows_of_graph)
    return Lists(graph.in_.indptr, graph.in_.indices, graph.valued.by_in, graph.n, are_cached=True)


def outside(lists: Lists, by_column: bool) -> ValueError:
    """Return the error for a matrix with an offset or index that is out of range.

    It names the first such offset or index.
    """
    line, cross = ("column", "row") if by_column else ("row", "column")
    problem = find_outside(lists.indptr, lists.indices, lists.width, line, cross)
    return problem or ValueError(
        "the matrix changed while it was read; expected the same arrays until the call returns"
    )


# --- vectors, masks and outputs, as arrays ----------------------------------------------------------------------------


def vector(x: Any, length: int, what: str, xp: Any) -> Array:
    """Return `x`, the vector or matrix that a matrix is multiplied with, as a contiguous array in native byte order.

    Raise an error unless it has `length` entries or rows. `what` is "row" or "column", to say in the error that one is
    expected for each row or column of the matrix.
    """
    x = as_operand("x", x, xp)
    x = converted(x, np.dtype(np.float32)) if x.dtype == np.float16 else x
    dtype = x.dtype if x.dtype in SCALARS else x.dtype.newbyteorder("=")
    if dtype not in SCALARS:
        raise TypeError(f"x has type {x.dtype}; expected one of {', '.join(SCALAR_NAMES)}; convert with .astype")
    if x.ndim not in (1, 2) or len(x) != length:
        raise ValueError(
            f"x has shape {x.shape}; expected ({length},), one value for each {what} of the matrix, or ({length}, k)"
        )
    if xp is not np:
        return contiguous(x)
    flags = x.flags
    # np.require would test the same, but takes longer
    is_ready = dtype is x.dtype and flags.c_contiguous and flags.aligned
    return x if is_ready else np.require(x, dtype, ["C", "A"])


def as_operand(name: str, x: Any, xp: Any) -> Array:
    """Return `x`, an operand of a product, as an array of the module `xp` (NumPy or CuPy) of the matrix's arrays.

    Raise TypeError if that would need a copy from one device to the other. `name` is the argument's name in the error.
    """
    x = imported(x)
    module = array_module(x)
    if module is not np or isinstance(x, np.ndarray):
        require_same_device(name, x, xp)
    array: Array = x if type(x) is xp.ndarray else xp.asarray(x)
    return array


def require_same_device(name: str, x: Any, xp: Any) -> None:
    """Raise TypeError if an operand, an array or matrix, is on another device than the matrix it is multiplied with.

    `xp` is the array module of that matrix, NumPy or CuPy. `name` is the operand's name in the error.
    """
    module = array_module(x)
    if module is not xp:
        library, matrix_library = library_of(module), library_of(xp)
        raise TypeError(
            f"{name} is a {library} array and the matrix is {matrix_library}'s; expected both on one device"
        )


def contiguous(array: Array) -> Array:
    """Return the array itself if it is C-contiguous, else a copy that is."""
    result: Array = array_module(array).ascontiguousarray(array)
    return result


def library_of(xp: Any) -> str:
    """Return the name of an array module for error messages: NumPy or CuPy."""
    return "NumPy" if xp is np else "CuPy"


def mask_of(mask: Any, complement: bool, shape: tuple[int, ...], xp: Any) -> Array | None:
    """Return the mask of a product as a contiguous array of bool, or None without a mask.

    Raise an error if it is invalid.
    """
    if mask is None:
        if complement:
            raise ValueError("complement is set and there is no mask; expected mask=, the positions to leave out")
        return None
    mask = as_operand("mask", mask, xp)
    if mask.dtype.kind not in "biuf":
        raise TypeError(f"mask has type {mask.dtype}; expected bool, or numbers of which those not zero count as True")
    if mask.shape != shape:
        raise ValueError(f"mask has shape {mask.shape}; expected {shape}, one value for each position of the result")
    return contiguous(mask if mask.dtype.kind == "b" else mask != 0)


def checked_outs(out: Any, accum: Any, shape: tuple[int, ...], xp: Any) -> tuple[Array, ...]:
    """Check the arrays in the argument `out`, to which a product is written, and return them as a tuple.

    The tuple is empty if `out` is None. Raise an error if the arrays can't be written to. Their types are checked
    later, once the type of the product is known.
    """
    if accum is not None and not callable(accum):
        raise TypeError(f"accum is {accum!r}; expected a BinaryOp, a Monoid or a function of two values")
    if out is None:
        if accum is not None:
            raise ValueError("accum merges into what is there, and there is no out; expected out=, an array")
        return ()
    out_arrays = out if isinstance(out, tuple) else (out,)
    for array in out_arrays:
        if not isinstance(array, xp.ndarray):
            type_of_array = type(array)
            name = f"{type_of_array.__module__}.{type_of_array.__name__}".removeprefix("builtins.")
            raise TypeError(f"out is of type {name}; expected a {library_of(xp)} array")
        imported(array)  # called only for its check, which raises an error for masked arrays
        if array.shape != shape:
            raise ValueError(f"out has shape {array.shape}; expected {shape}")
        if xp is np and not array.flags.writeable:
            raise ValueError("out is read-only; expected an array that may be written to: pass a copy")
    return out_arrays


def outs_for(
    out: Any, given: tuple[Array, ...], terms: Terms, monoid: Monoid, shape: tuple[int, ...], masked: bool, xp: Any
) -> tuple[Array, ...]:
    """Return the arrays that a product is written to: those of the argument `out`, or new arrays if it is None.

    `given` has the arrays of `out` as a tuple. Raise TypeError if their types differ from that of the product. If a
    mask may leave parts of a new array unwritten, the array is filled with the monoid's identity.
    """
    types = parts(terms.out_type)
    if out is not None:
        given_types = tuple(array.dtype for array in given)
        if isinstance(out, tuple) != isinstance(terms.out_type, TupleType) or given_types != types:
            raise TypeError(
                f"out has type {', '.join(map(str, given_types))} and the product {terms.out_type}; expected the same: "
                "pass an array of that type (for a product that is a tuple, a tuple of arrays)"
            )
        return given
    if not masked:
        return tuple(xp.empty(shape, dtype) for dtype in types)
    identity = monoid.identity(terms.out_type)
    return tuple(
        xp.full(shape, v, value_type)
        for v, value_type in zip(identity if isinstance(identity, tuple) else (identity,), types)
    )


def is_plain(array: Array) -> bool:
    """Return whether kernels can write to an array directly: it is contiguous, and on the CPU aligned and writable."""
    return bool(array.flags.carray if isinstance(array, np.ndarray) else array.flags.c_contiguous)


def unaliased(array: Array | None, outs: tuple[Array, ...]) -> Any:
    """Return an input array of a product: a copy if it shares memory with an output, else the array itself.

    So writing the output can't change an input that is still read.
    """
    if array is not None and any(array_module(output).may_share_memory(array, output) for output in outs):
        return array.copy()
    return array


def unaliased_lists(lists: Lists, outs: tuple[Array, ...]) -> Lists:
    """Return the matrix of a product such that it shares no memory with the product's output arrays `outs`.

    Those of its CSR or CSC arrays that do are copied, so writing the output can't change the matrix.
    """
    indptr, indices, values = (unaliased(array, outs) for array in (lists.indptr, lists.indices, lists.values))
    if indptr is lists.indptr and indices is lists.indices and values is lists.values:
        return lists
    return Lists(indptr, indices, values, lists.width)
