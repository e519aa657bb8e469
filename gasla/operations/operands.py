"""What products may be given: matrices, vectors, masks and outputs, checked and made ready for the engines."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import semirings
from gasla.arrays import array_module, converted, device_of
from gasla.engines import Products, engine
from gasla.graph.graph import Graph
from gasla.graph.validate import as_ids, as_values, find_outside, require_sparse
from gasla.operations.sparse import Sparse
from gasla.program.terms import Array, Format, Lists, Terms, parts
from semirings import Monoid, Semiring, TupleType
from semirings.types import SCALAR_NAMES

SCALARS = frozenset(map(np.dtype, SCALAR_NAMES))


def check_semiring(name: str, given: Any) -> None:
    """Refuse what is no semiring."""
    if not isinstance(given, Semiring):
        hint = f"; semirings.Semiring({given.name}, multiply) makes one" if isinstance(given, Monoid) else ""
        if isinstance(given, str) and isinstance(getattr(semirings, given, None), Semiring):
            hint = f"; did you mean semirings.{given}?"
        raise TypeError(f"{name} is {given!r}; expected a semirings.Semiring, such as semirings.min_plus{hint}")


# --- the matrix ------------------------------------------------------------------------------------------------------


def lists_of(A: Any, by_column: bool, ordered: bool) -> Lists:
    """The rows or columns of a matrix. What can be checked only by a pass over them, the kernel checks."""
    if isinstance(A, Graph):
        return _lists_of_graph(A, by_column, ordered)
    form: Format = "csc" if by_column else "csr"
    products = engine(device_of(place(A))).products()
    return products.lists_of(A, form, partial(_lists_of_matrix, A, form, products))


def place(A: Any) -> Any:
    """What tells where a matrix is."""
    return A.indices if isinstance(A, Sparse) else A.out.indices if isinstance(A, Graph) else A


def _lists_of_matrix(A: Any, form: Format, products: Products) -> Lists:
    if not isinstance(A, Sparse):
        require_sparse(A)
    elif isinstance(A.data, tuple):
        raise TypeError(
            f"each value of the matrix is a tuple of {len(A.data)}; expected one value an entry: "
            "gasla.Sparse(C.shape, C.indptr, C.indices, C.data[0])"
        )
    if A.ndim != 2:
        raise ValueError(f"the matrix has shape {A.shape}; expected two dimensions")
    count, width = A.shape if form == "csr" else A.shape[::-1]
    A = products.in_format(A, form)
    indptr, indices = (contiguous(as_ids(name, getattr(A, name))) for name in ("indptr", "indices"))
    if len(indptr) != count + 1:
        raise ValueError(f"indptr has {len(indptr)} entries in a matrix of shape {A.shape}; expected {count + 1}")
    return Lists(indptr, indices, as_values(A.data, len(indices)), int(width))


def _lists_of_graph(graph: Graph, by_column: bool, ordered: bool) -> Lists:
    if ordered and (lists := (found := graph.in_ if by_column else graph.out).in_order()) is not found:
        values = None if graph.values is None else graph.values[lists.edge_ids]
        return Lists(lists.indptr, lists.indices, values, graph.n)
    return graph.kept("columns", _columns) if by_column else graph.kept("rows", _rows)


def _rows(graph: Graph) -> Lists:
    return Lists(graph.out.indptr, graph.out.indices, graph.out_values, graph.n, are_cached=True)


def _columns(graph: Graph) -> Lists:
    """Those of the rows, where they are the same."""
    if graph.in_.indices is graph.out.indices and graph.in_values is graph.out_values:
        return graph.kept("rows", _rows)
    return Lists(graph.in_.indptr, graph.in_.indices, graph.in_values, graph.n, are_cached=True)


def outside(lists: Lists, by_column: bool) -> ValueError:
    """The error for the first offset or index of a matrix that points outside it."""
    line, cross = ("column", "row") if by_column else ("row", "column")
    found = find_outside(lists.indptr, lists.indices, lists.width, line, cross)
    return found or ValueError("the matrix changed while it was read; expected it to stay")


# --- the vectors -----------------------------------------------------------------------------------------------------


def vector(x: Any, length: int, what: str, xp: Any) -> Array:
    """`x` as a native contiguous array of one value, or one row of values, for each row (column) of the matrix."""
    x = beside("x", x, xp)
    x = converted(x, np.dtype(np.float32)) if x.dtype == np.float16 else x
    kind = x.dtype if x.dtype in SCALARS else x.dtype.newbyteorder("=")
    if kind not in SCALARS:
        raise TypeError(f"x has type {x.dtype}; expected one of {', '.join(SCALAR_NAMES)}; convert with .astype")
    if x.ndim not in (1, 2) or len(x) != length:
        raise ValueError(
            f"x has shape {x.shape}; expected ({length},), one value for each {what} of the matrix, or ({length}, k)"
        )
    if xp is not np:
        return contiguous(x)
    flags = x.flags
    is_ready = kind is x.dtype and flags.c_contiguous and flags.aligned  # NumPy takes longer to see it
    return x if is_ready else np.require(x, kind, ["C", "A"])


def beside(name: str, x: Any, xp: Any) -> Array:
    """`x` as an array beside the matrix; it does not cross from one device to the other unasked."""
    found = array_module(x)
    if found is not np or isinstance(x, np.ndarray):
        require_beside(name, x, xp)
    array: Array = x if type(x) is xp.ndarray else xp.asarray(x)
    return array


def require_beside(name: str, x: Any, xp: Any) -> None:
    """Refuse an array or a matrix on the other device."""
    found = array_module(x)
    if found is not xp:
        given, expected = library_of(found), library_of(xp)
        raise TypeError(f"{name} is a {given} array and the matrix is {expected}'s; expected both on one device")


def contiguous(array: Array) -> Array:
    """The same, one value beside the other."""
    result: Array = array_module(array).ascontiguousarray(array)
    return result


def library_of(xp: Any) -> str:
    """What people call it."""
    return "NumPy" if xp is np else "CuPy"


def mask_of(mask: Any, complement: bool, shape: tuple[int, ...], xp: Any) -> Array | None:
    """The mask as an array of bool."""
    if mask is None:
        if complement:
            raise ValueError("complement is set and there is no mask; expected mask=, the positions to leave out")
        return None
    mask = beside("mask", mask, xp)
    if mask.dtype.kind not in "biuf":
        raise TypeError(f"mask has type {mask.dtype}; expected bool, or numbers of which those not zero count as True")
    if mask.shape != shape:
        raise ValueError(f"mask has shape {mask.shape}; expected {shape}, one value for each position of the result")
    return contiguous(mask if mask.dtype.kind == "b" else mask != 0)


def given_outs(out: Any, accum: Any, shape: tuple[int, ...], xp: Any) -> tuple[Array, ...]:
    """The arrays given to write to."""
    if accum is not None and not callable(accum):
        raise TypeError(f"accum is {accum!r}; expected a BinaryOp, a Monoid or a function of two values")
    if out is None:
        if accum is not None:
            raise ValueError("accum merges into what is there, and there is no out; expected out=, an array")
        return ()
    given = out if isinstance(out, tuple) else (out,)
    for array in given:
        if not isinstance(array, xp.ndarray):
            found = type(array)
            name = f"{found.__module__}.{found.__name__}".removeprefix("builtins.")
            raise TypeError(f"out is of type {name}; expected a {library_of(xp)} array")
        if array.shape != shape:
            raise ValueError(f"out has shape {array.shape}; expected {shape}")
        if xp is np and not array.flags.writeable:
            raise ValueError("out is read-only; expected an array that may be written to: pass a copy")
    return given


def outs_for(
    out: Any, given: tuple[Array, ...], terms: Terms, monoid: Monoid, shape: tuple[int, ...], masked: bool, xp: Any
) -> tuple[Array, ...]:
    """The arrays to write to, of the right types; new ones hold the identity where a mask may leave them alone."""
    types = parts(terms.out_type)
    if out is not None:
        found = tuple(array.dtype for array in given)
        if isinstance(out, tuple) != isinstance(terms.out_type, TupleType) or found != types:
            raise TypeError(
                f"out has type {', '.join(map(str, found))} and the product {terms.out_type}; expected the same: "
                "pass an array of that type (for a product that is a tuple, a tuple of arrays)"
            )
        return given
    if not masked:
        return tuple(xp.empty(shape, kind) for kind in types)
    identity = monoid.identity(terms.out_type)
    return tuple(xp.full(shape, v, t) for v, t in zip(identity if isinstance(identity, tuple) else (identity,), types))


def is_plain(array: Array) -> bool:
    """Whether kernels can write to it: one value beside the other, aligned."""
    return bool(array.flags.carray if isinstance(array, np.ndarray) else array.flags.c_contiguous)


def apart(array: Array | None, outs: tuple[Array, ...]) -> Any:
    """A copy of an input that shares memory with an output; else the input itself."""
    if array is not None and any(array_module(o).may_share_memory(array, o) for o in outs):
        return array.copy()
    return array


def lists_apart(lists: Lists, outs: tuple[Array, ...]) -> Lists:
    """The same for the matrix."""
    indptr, indices, values = (apart(array, outs) for array in (lists.indptr, lists.indices, lists.values))
    if indptr is lists.indptr and indices is lists.indices and values is lists.values:
        return lists
    return Lists(indptr, indices, values, lists.width)
