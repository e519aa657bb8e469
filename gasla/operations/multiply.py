"""Sparse matrix times dense vectors, and dense vectors times sparse matrix, over any semiring.

`mxv` reduces over the rows of the matrix, `vxm` over its columns. This file checks the operands; the engine of the
matrix's device multiplies. The matrix may be rectangular.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import semirings
from gasla.arrays import array_module, device_of
from gasla.engines import engine
from gasla.graph.arguments import check_flags
from gasla.graph.memory_limit import require_room
from gasla.operations.on_one_device import DECORATED, Gains
from gasla.operations.operands import (
    check_semiring,
    checked_outs,
    is_plain,
    lists_of,
    mask_of,
    outs_for,
    outside,
    unaliased,
    unaliased_lists,
    vector,
)
from gasla.program.terms import Array, Lists, Ready, trace
from gasla.rows import Row
from semirings import Semiring, TupleType

MOST = 64  # largest number of compiled products that are cached with a matrix; when there are more, all are discarded


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
    identity. The `any` monoid skips its identity, 0: it gives one of the nonzero products, if there is one
    (`min_secondi` and `max_secondi` distinguish index 0 from an empty row, `any_secondi` does not).

    Parameters
    ----------
    A : SciPy or CuPy sparse array or matrix, or Graph
        Of shape (m, n). CSR is used as it is; other formats are converted at every call, but a Graph only once. The
        entries of a Graph without values are True. The product is computed on its device, where all other arrays must
        be. Offsets and indices of a matrix on the GPU are checked at its first product only: don't change them later.
    x : (n,) array, or (n, k) for k products at once
        float16 is converted to float32, in which all is computed.
    semiring : semirings.Semiring
        A predefined semiring, or ``Semiring(monoid, multiply)`` of ordinary functions. A multiply of five arguments
        ``(x, y, i, k, j)`` also receives int64 indices: row i, column k, and column j of x (0 for a vector).
    mask : array of the result's shape, optional
        Compute y only where the mask is True (not zero).
    complement : bool
        Compute y only where `mask` is False.
    accum : BinaryOp, Monoid or function of two values, optional
        Merge into `out`: ``out[i] = accum(out[i], y[i])`` at every computed position; with a monoid without identity
        (`first`, `second`), only where the row has an entry.
    out : array of the result's shape, optional
        Array to write to. Positions that the mask excludes keep their values; without `out` they hold the identity.
        It may be `x` itself.

    Returns
    -------
    (m,) array, or (m, k)
        `out`, if given. The type is that of the semiring's expression under NumPy's promotion rules. A multiply that
        returns a tuple gives (and takes as `out`) a tuple of arrays.

    Raises
    ------
    ValueError, TypeError
        If shapes or types don't fit, or an index of A is outside its shape. In the last case `out` may have
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

    A custom semiring of plain functions:

    >>> widest = semirings.Semiring(semirings.max, lambda width, rest: semirings.minimum(width, rest))
    >>> gasla.mxv(kilometres, [0, 0, 9], widest, mask=[True, True, False])
    array([                   8,                    2, -9223372036854775808])
    """
    return product(A, x, semiring, False, mask, complement, accum, out)


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

    With edges i -> j in ``A[i, j]``, every vertex reduces over its in-edges, as the gather of a vertex program does.

    Parameters
    ----------
    x : (m,) array, or (m, k) for k products at once
        One row of x per row of A: the result is ``A.T @ x``, column by column.
    A : SciPy or CuPy sparse array or matrix, or Graph
        Of shape (m, n). CSC is used as it is; other formats are converted at every call, but a Graph only once.
    semiring, mask, complement, accum, out
        As for `mxv`; the product is ``multiply(x[k], A[k, j])``. The three indices of a multiply of five arguments are
        the column of x (0 for a vector), k and j.

    Returns
    -------
    (n,) array, or (n, k)
        `out`, if given.

    Examples
    --------
    One step of a breadth-first search from vertex 0, then one that records parents of unvisited vertices:

    >>> import gasla, semirings
    >>> from scipy.sparse import csr_array
    >>> graph = gasla.Graph(csr_array([[0, 1, 1], [0, 0, 1], [1, 0, 0]]))
    >>> gasla.vxm([True, False, False], graph, semirings.or_and)
    array([False,  True,  True])
    >>> gasla.vxm([1, 1, 1], graph, semirings.max_secondi, mask=[1, 0, 0], complement=True, out=np.full(3, -1))
    array([-1,  0,  1])
    """
    return product(A, x, semiring, True, mask, complement, accum, out)


def product(
    A: Any, x: Any, semiring: Semiring, by_column: bool, mask: Any, complement: bool, accum: Any, out: Any
) -> Any:
    """Return the product of a matrix and one or several vectors: the common body of `mxv` and `vxm`.

    Parameters
    ----------
    A, x, semiring, mask, complement, accum, out :
        as for `mxv`, not yet checked
    by_column :
        whether columns of the matrix are reduced, as `vxm` does
    """
    check_semiring("semiring", semiring)
    if complement is not False:
        check_flags(complement=complement)
    if hasattr(A, "multiplied"):  # this is a distributed graph, which multiplies by a method of its own
        if not (mask is None and accum is None and out is None):
            A.require_whole("mask, accum and out")
        mask_of(None, complement, (), np)
        if not hasattr(x, "handle"):  # only an array in blocks over the ranks has a handle; any other x is converted
            x = vector(x, A.n, "row" if by_column else "column", np)
        return A.multiplied(x, semiring, by_column, _product_of_whole)
    lists = lists_of(A, by_column, ordered=not semiring.monoid.commutative)
    if mask is None and accum is None and out is None and not complement:
        plain = _cached_product(lists, x, semiring, by_column)
        if plain is not None:
            return plain
    count = len(lists.indptr) - 1
    xp = array_module(lists.indptr)
    if np.ndim(x) > 1 and out is None:
        entries, entry_bytes = count * np.shape(x)[1], getattr(x, "itemsize", 8)
        require_room("the product has", entries, entry_bytes, device_of(lists.indptr), "fewer columns at a time")
    x = vector(x, lists.width, "row" if by_column else "column", xp)
    shape = (count, *x.shape[1:])
    mask = mask_of(mask, complement, shape, xp)
    given_outs = checked_outs(out, accum, shape, xp)
    if given_outs:
        x, mask, lists = unaliased(x, given_outs), unaliased(mask, given_outs), unaliased_lists(lists, given_outs)
    merging = None if accum is None else (accum, tuple(array.dtype for array in given_outs))
    terms, multiply = _compiled_product(lists, semiring, by_column, x, mask is not None, merging)
    outs = outs_for(out, given_outs, terms, semiring.monoid, shape, mask is not None, xp)
    buffers = tuple(result if is_plain(result) else result.copy() for result in outs) if given_outs else outs
    if not multiply(x, mask, complement, buffers):
        raise outside(lists, by_column)
    for result, buffer in zip(outs, buffers):
        if result is not buffer:
            result[...] = buffer
    return outs if isinstance(terms.out_type, TupleType) else outs[0]


# Registers `mxv` and `vxm` like functions decorated with `on_one_device`. They gain nothing from several GPUs, and a
# distributed graph may call `_product_of_whole` with a copy of the whole graph on one device.
DECORATED.update(mxv=Gains(), vxm=Gains())


def _product_of_whole(A: Any, x: Any, semiring: Semiring, by_column: bool) -> Any:
    """Return the product of a graph's matrix and a vector `x`, for a graph that is distributed over ranks.

    `A` is a copy of the whole graph on one device, where the product is computed without a mask and an output array.
    """
    return product(A, x, semiring, by_column, None, False, None, None)


def _cached_product(lists: Lists, x: Any, semiring: Semiring, by_column: bool) -> np.ndarray | None:
    """Return the product of a matrix and the vector `x` if its compiled kernel is cached, and `x` needs no conversion.

    Otherwise return None. This function is the fastest path for a repeated product, so it is short: after a kernel
    whose data has replaced everything else in the CPU's caches, each line of Python takes 1 µs.
    """
    if type(x) is not np.ndarray or type(lists.indptr) is not np.ndarray or x.shape != (lists.width,):
        return None
    ready = lists.products.get((semiring, by_column, x.dtype, 1, False, None))
    flags = x.flags
    if ready is None or isinstance(ready.terms.out_type, TupleType) or not (flags.c_contiguous and flags.aligned):
        return None
    output = np.empty(len(lists.indptr) - 1, ready.terms.out_type)
    # If the kernel finds an invalid index, the result is None. Then `product` computes again, and raises the error.
    return output if ready.multiply(x, None, False, (output,)) else None


def _compiled_product(lists: Lists, semiring: Semiring, by_column: bool, x: Array, masked: bool, merging: Any) -> Ready:
    """Return the compiled kernel of a product of a matrix and `x`, with the expressions from which it was compiled.

    If the arrays of the matrix are cached, as those of a graph are, the kernel is stored with them for later products.
    """
    key = semiring, by_column, x.dtype, x.ndim, masked, merging
    ready = lists.products.get(key)
    if ready is None:
        value_type = None if lists.values is None else lists.values.dtype
        terms = trace(semiring, by_column, value_type, x.dtype, merging, wide=x.ndim > 1)
        products = engine(device_of(lists.indptr)).products()
        ready = Ready(terms, (products.ready if x.ndim == 1 else products.ready_wide)(lists, terms, masked))
        if lists.are_cached:
            if len(lists.products) >= MOST:
                lists.products.clear()
            lists.products[key] = ready
    return ready


ROW = [
    Row(mxv, method="merge-based rows (Merrill, Garland, SC 2016), as in cuSPARSE and MKL"),
    Row(vxm, method="merge-based rows of the transposed matrix (Merrill, Garland, SC 2016)"),
]
