"""Sparse matrix times vector, and vector times sparse matrix, over any semiring.

`mxv` reduces over the rows of the matrix, `vxm` over its columns. Here is settled what may be given; the engine of the
device where the matrix is multiplies. The matrix may be rectangular.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import semirings
from gasla.arrays import array_module, device_of
from gasla.engines import Products, engine
from gasla.graph.graph import Graph
from gasla.graph.validate import as_ids, as_values, find_outside, require_sparse
from gasla.program.terms import Array, Format, Lists, Ready, Terms, parts, trace
from semirings import Monoid, Semiring, TupleType
from semirings.types import SCALAR_NAMES

SCALARS = frozenset(map(np.dtype, SCALAR_NAMES))
MOST = 64  # products that are kept


def mxv(
    A: Any,
    x: ArrayLike,
    semiring: Semiring = semirings.plus_times,
    *,
    mask: ArrayLike | None = None,
    complement: bool = False,
    accum: Callable[[Any, Any], Any] | None = None,
    out: Any = None,
) -> Any:
    """Multiply a matrix by a vector: ``y[i]`` is the sum over row i of ``A[i, k] * x[k]``.

    Sum and product are the semiring's: its monoid reduces ``multiply(A[i, k], x[k])`` over the stored entries of the
    row, in their stored order. Stored zeros and parallel entries count. A row without entries gives the monoid's
    identity. The `any` monoid passes its identity over, which is 0: it gives one of the products that are not 0, if
    there is one (`min_secondi` and `max_secondi` tell index 0 from no entry, `any_secondi` can't).

    Parameters
    ----------
    A : SciPy or CuPy sparse array or matrix, or Graph
        Of shape (m, n). CSR is used as it is; other formats are converted at every call, but a Graph once. The entries
        of a Graph without values are True. Where it is, the product is computed, and all other arrays must be; the
        offsets and indices of a matrix on the GPU are checked when they are first seen, and should stay as they are.
    x : (n,) array
    semiring : semirings.Semiring
        One of the predefined, or ``Semiring(monoid, multiply)`` of ordinary functions. A multiply of five values
        ``(x, y, i, k, j)`` also gets the indices, as int64: of row i and column k; j is 0, the only column of x.
    mask : (m,) array, optional
        Compute y only where it is True (not zero).
    complement : bool
        Compute y only where `mask` is False.
    accum : BinaryOp, Monoid or function of two values, optional
        Merge into `out`: ``out[i] = accum(out[i], y[i])`` at every computed position.
    out : (m,) array, optional
        Where to write. Positions that are not computed stay as they are; without `out` they hold the identity. It may
        be `x` itself.

    Returns
    -------
    (m,) array
        `out`, if given. The type is that of the semiring's expression under NumPy's rules of promotion. A multiply that
        returns a tuple gives (and takes as `out`) a tuple of arrays.

    Raises
    ------
    ValueError, TypeError
        If shapes or types don't fit, or an index of A is outside its shape. In the last case a given `out` may have
        been written to.

    Examples
    --------
    >>> import gasla, semirings, numpy as np
    >>> from scipy.sparse import csr_array
    >>> kilometres = csr_array([[0, 3, 8], [0, 0, 2], [0, 0, 0]])
    >>> gasla.mxv(kilometres, [1.0, 10, 100])
    array([830., 200.,   0.])

    Distances to vertex 2, one edge further:

    >>> distance = np.array([np.inf, np.inf, 0])
    >>> gasla.mxv(kilometres, distance, semirings.min_plus, accum=semirings.min, out=distance)
    array([8., 2., 0.])

    A semiring of one's own, of plain functions:

    >>> widest = semirings.Semiring(semirings.max, lambda width, rest: semirings.minimum(width, rest))
    >>> gasla.mxv(kilometres, [0, 0, 9], widest, mask=[True, True, False])
    array([                   8,                    2, -9223372036854775808])
    """
    return _product(A, x, semiring, False, mask, complement, accum, out)


def vxm(
    x: ArrayLike,
    A: Any,
    semiring: Semiring = semirings.plus_times,
    *,
    mask: ArrayLike | None = None,
    complement: bool = False,
    accum: Callable[[Any, Any], Any] | None = None,
    out: Any = None,
) -> Any:
    """Multiply a vector by a matrix: ``y[j]`` is the sum over column j of ``x[k] * A[k, j]``.

    With edges i -> j in ``A[i, j]``, every vertex reduces over its in-edges: what a gather of a vertex program does.

    Parameters
    ----------
    x : (m,) array
    A : SciPy or CuPy sparse array or matrix, or Graph
        Of shape (m, n). CSC is used as it is; other formats are converted at every call, but a Graph once.
    semiring, mask, complement, accum, out
        As for `mxv`; the product is ``multiply(x[k], A[k, j])``. A multiply of five values gets i = 0 (the only row
        of x), k and j.

    Returns
    -------
    (n,) array
        `out`, if given.

    Examples
    --------
    A step of a breadth-first search, to where it has not been, with parents:

    >>> import gasla, semirings
    >>> from scipy.sparse import csr_array
    >>> graph = gasla.Graph(csr_array([[0, 1, 1], [0, 0, 1], [1, 0, 0]]))
    >>> gasla.vxm([True, False, False], graph, semirings.or_and)
    array([False,  True,  True])
    >>> gasla.vxm([1, 1, 1], graph, semirings.max_secondi, mask=[1, 0, 0], complement=True, out=np.full(3, -1))
    array([-1,  0,  1])
    """
    return _product(A, x, semiring, True, mask, complement, accum, out)


def _product(
    A: Any, x: Any, semiring: Semiring, by_column: bool, mask: Any, complement: bool, accum: Any, out: Any
) -> Any:
    """What `mxv` and `vxm` share: each row of the matrix (each column) reduces to one value."""
    if not isinstance(semiring, Semiring):
        raise TypeError(f"semiring is {semiring!r}; expected a semirings.Semiring, such as semirings.min_plus")
    lists = _lists(A, by_column, ordered=not semiring.monoid.commutative)
    if mask is None and accum is None and out is None and not complement:
        plain = _again(lists, x, semiring, by_column)
        if plain is not None:
            return plain
    count = len(lists.indptr) - 1
    xp = array_module(lists.indptr)
    x = _vector(x, lists.width, "row" if by_column else "column", xp)
    mask = _mask(mask, complement, count, xp)
    given = _given(out, accum, count, xp)
    if given:
        x, mask, lists = _apart(x, given), _apart(mask, given), _lists_apart(lists, given)
    merging = None if accum is None else (accum, tuple(array.dtype for array in given))
    terms, multiply = _ready(lists, semiring, by_column, x.dtype, mask is not None, merging)
    outs = _outs(out, given, terms, semiring.monoid, count, mask is not None, xp)
    work = tuple(o if _is_plain(o) else o.copy() for o in outs) if given else outs
    if not multiply(x, mask, complement, work):
        raise _outside(lists, by_column)
    for o, w in zip(outs, work):
        if o is not w:
            o[...] = w
    return outs if isinstance(terms.out_type, TupleType) else outs[0]


def _again(lists: Lists, x: Any, semiring: Semiring, by_column: bool) -> np.ndarray | None:
    """The product, if one like it is kept and x can be taken as it is; else None.

    After a kernel that has used all caches a line of Python takes a microsecond, so there are as few as can be.
    """
    if type(x) is not np.ndarray or type(lists.indptr) is not np.ndarray or x.shape != (lists.width,):
        return None
    ready = lists.products.get((semiring, by_column, x.dtype, False, None))
    flags = x.flags
    if ready is None or isinstance(ready.terms.out_type, TupleType) or not (flags.c_contiguous and flags.aligned):
        return None
    found = np.empty(len(lists.indptr) - 1, ready.terms.out_type)
    return found if ready.multiply(x, None, False, (found,)) else None  # else the long way finds what is wrong


def _ready(lists: Lists, semiring: Semiring, by_column: bool, x_type: Any, masked: bool, merging: Any) -> Ready:
    """The product over a semiring, kept from an earlier one if the lists are."""
    key = semiring, by_column, x_type, masked, merging
    found = lists.products.get(key)
    if found is None:
        value_type = None if lists.values is None else lists.values.dtype
        terms = trace(semiring, by_column, value_type, x_type, merging)
        found = Ready(terms, engine(device_of(lists.indptr)).products().ready(lists, terms, masked))
        if lists.are_kept:
            if len(lists.products) >= MOST:
                lists.products.clear()
            lists.products[key] = found
    return found


# --- the matrix ------------------------------------------------------------------------------------------------------


def _lists(A: Any, by_column: bool, ordered: bool) -> Lists:
    """The rows or columns of a matrix. What can be checked only by a pass over them, the kernel checks."""
    if isinstance(A, Graph):
        return _lists_of_graph(A, by_column, ordered)
    form: Format = "csc" if by_column else "csr"
    products = engine(device_of(A)).products()
    return products.lists_of(A, form, partial(_lists_of_matrix, A, form, products))


def _lists_of_matrix(A: Any, form: Format, products: Products) -> Lists:
    require_sparse(A)
    if A.ndim != 2:
        raise ValueError(f"the matrix has shape {A.shape}; expected two dimensions")
    count, width = A.shape if form == "csr" else A.shape[::-1]
    A = products.in_format(A, form)
    indptr, indices = (_contiguous(as_ids(name, getattr(A, name))) for name in ("indptr", "indices"))
    if len(indptr) != count + 1:
        raise ValueError(f"indptr has {len(indptr)} entries in a matrix of shape {A.shape}; expected {count + 1}")
    return Lists(indptr, indices, as_values(A.data, len(indices)), width)


def _lists_of_graph(graph: Graph, by_column: bool, ordered: bool) -> Lists:
    if ordered and (lists := (found := graph.in_ if by_column else graph.out).in_order()) is not found:
        values = None if graph.values is None else graph.values[lists.edge_ids]
        return Lists(lists.indptr, lists.indices, values, graph.n)
    return graph.kept("columns", _columns) if by_column else graph.kept("rows", _rows)


def _rows(graph: Graph) -> Lists:
    return Lists(graph.out.indptr, graph.out.indices, graph.out_values, graph.n, are_kept=True)


def _columns(graph: Graph) -> Lists:
    """Those of the rows, where they are the same."""
    if graph.in_.indices is graph.out.indices and graph.in_values is graph.out_values:
        return graph.kept("rows", _rows)
    return Lists(graph.in_.indptr, graph.in_.indices, graph.in_values, graph.n, are_kept=True)


def _outside(lists: Lists, by_column: bool) -> ValueError:
    """The error for the first offset or index of a matrix that points outside it."""
    line, cross = ("column", "row") if by_column else ("row", "column")
    found = find_outside(lists.indptr, lists.indices, lists.width, line, cross)
    return found or ValueError("the matrix changed while it was read; expected it to stay")


# --- the vectors -----------------------------------------------------------------------------------------------------


def _vector(x: Any, length: int, what: str, xp: Any) -> Array:
    """`x` as a native contiguous array of one value for each row (column) of the matrix."""
    x = _array("x", x, xp)
    kind = x.dtype if x.dtype in SCALARS else x.dtype.newbyteorder("=")
    if kind not in SCALARS:
        raise TypeError(f"x has type {x.dtype}; expected one of {', '.join(SCALAR_NAMES)}; convert with .astype")
    if x.shape != (length,):
        raise ValueError(f"x has shape {x.shape}; expected ({length},), one value for each {what} of the matrix")
    if xp is not np:
        return _contiguous(x)
    flags = x.flags
    is_ready = kind is x.dtype and flags.c_contiguous and flags.aligned  # NumPy takes longer to see it
    return x if is_ready else np.require(x, kind, ["C", "A"])


def _array(name: str, x: Any, xp: Any) -> Array:
    """`x` as an array beside the matrix; it does not cross from one device to the other unasked."""
    found = array_module(x)
    if found is not xp and (found is not np or isinstance(x, np.ndarray)):
        given, expected = _library(found), _library(xp)
        raise TypeError(f"{name} is a {given} array and the matrix is {expected}'s; expected both on one device")
    array: Array = x if type(x) is xp.ndarray else xp.asarray(x)
    return array


def _contiguous(array: Array) -> Array:
    """The same, one value beside the other."""
    result: Array = array_module(array).ascontiguousarray(array)
    return result


def _library(xp: Any) -> str:
    """What people call it."""
    return "NumPy" if xp is np else "CuPy"


def _mask(mask: Any, complement: bool, count: int, xp: Any) -> Array | None:
    """The mask as an array of bool."""
    if mask is None:
        if complement:
            raise ValueError("complement is set and there is no mask; expected mask=, the positions to leave out")
        return None
    mask = _array("mask", mask, xp)
    if mask.dtype.kind not in "biuf":
        raise TypeError(f"mask has type {mask.dtype}; expected bool, or numbers of which those not zero count as True")
    if mask.shape != (count,):
        raise ValueError(f"mask has shape {mask.shape}; expected ({count},), one value for each position of the result")
    return _contiguous(mask if mask.dtype.kind == "b" else mask != 0)


def _given(out: Any, accum: Any, count: int, xp: Any) -> tuple[Array, ...]:
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
            raise TypeError(f"out is of type {name}; expected a {_library(xp)} array")
        if array.shape != (count,):
            raise ValueError(f"out has shape {array.shape}; expected ({count},)")
        if xp is np and not array.flags.writeable:
            raise ValueError("out is read-only; expected an array that may be written to: pass a copy")
    return given


def _outs(
    out: Any, given: tuple[Array, ...], terms: Terms, monoid: Monoid, count: int, masked: bool, xp: Any
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
        return tuple(xp.empty(count, kind) for kind in types)
    identity = monoid.identity(terms.out_type)
    return tuple(xp.full(count, v, t) for v, t in zip(identity if isinstance(identity, tuple) else (identity,), types))


def _is_plain(array: Array) -> bool:
    """Whether kernels can write to it: one value beside the other, aligned."""
    return bool(array.flags.carray if isinstance(array, np.ndarray) else array.flags.c_contiguous)


def _apart(array: Array | None, outs: tuple[Array, ...]) -> Any:
    """A copy of an input that shares memory with an output; else the input itself."""
    if array is not None and any(array_module(o).may_share_memory(array, o) for o in outs):
        return array.copy()
    return array


def _lists_apart(lists: Lists, outs: tuple[Array, ...]) -> Lists:
    """The same for the matrix."""
    indptr, indices, values = (_apart(array, outs) for array in (lists.indptr, lists.indices, lists.values))
    if indptr is lists.indptr and indices is lists.indices and values is lists.values:
        return lists
    return Lists(indptr, indices, values, lists.width)
