"""`laplacian` with the arguments and results of SciPy's function: degrees on the diagonal, minus the adjacency matrix.

Operations that both NumPy's and CuPy's arrays have are used, in fewer passes over the edges than SciPy makes.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from gasla.arrays import array_module
from gasla.csgraph import passthrough
from gasla.csgraph.inputs import is_foreign, is_sparse, require_sound
from gasla.graph.validate import require_square

Product = Callable[[Any], Any]


def laplacian(
    csgraph: Any,
    normed: bool = False,
    return_diag: bool = False,
    use_out_degree: bool = False,
    *,
    copy: bool = True,
    form: str = "array",
    dtype: Any = None,
    symmetrized: bool = False,
) -> Any:
    """Compute the Laplacian of a graph: degrees minus adjacency.

    Parameters
    ----------
    csgraph, normed, return_diag, use_out_degree, copy, form, dtype, symmetrized
        As for `scipy.sparse.csgraph.laplacian`; CuPy's arrays, too.

    Returns
    -------
    lap, diag
        As SciPy's: a sparse array in COO form, or in DIA form for one in DIA form that is not `normed`.

    Raises
    ------
    TypeError
        If the array is of bool or unsigned, and not `normed`: edges are negative in a Laplacian.
    ValueError
        As SciPy's function; and if a degree overflows the integer type, where SciPy wraps.

    Examples
    --------
    >>> import numpy as np
    >>> from gasla import csgraph
    >>> csgraph.laplacian(np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]]))
    array([[ 1, -1,  0],
           [-1,  3, -2],
           [ 0, -2,  2]])
    """
    if is_foreign(csgraph):
        options = {"copy": copy, "form": form, "dtype": dtype, "symmetrized": symmetrized}
        reason = "an array of PyData's sparse"
        return passthrough.by_scipy("laplacian", reason, csgraph, normed, return_diag, use_out_degree, **options)
    if form not in ("array", "function", "lo"):
        raise ValueError(f"Invalid form: {form!r}; expected 'array', 'function' or 'lo'")
    A = csgraph if is_sparse(csgraph) else array_module(csgraph).asarray(csgraph)
    require_square(A.shape)
    if is_sparse(A):
        require_sound(A)
    if normed and A.dtype.kind in "biu":
        A = A.astype(np.float64)
    if A.dtype.kind in "bu":
        raise TypeError(f"csgraph holds {A.dtype}, which has no negative numbers; pass csgraph.astype(float)")
    dtype, given_array = A.dtype if dtype is None else np.dtype(dtype), A
    if A.dtype.kind == "i" and A.dtype.itemsize < 8 and (copy or is_sparse(A)):
        A = A.astype(np.int64)  # Degrees are summed in int64, so that they don't overflow a smaller integer type.
    axis = 1 if use_out_degree else 0
    if form == "array":
        compute_laplacian = _sparse_laplacian if is_sparse(A) else _dense_laplacian
        sum_dtype = A.dtype if A.dtype.kind == dtype.kind == "i" else dtype
        lap, diag = compute_laplacian(A, normed, axis, sum_dtype, symmetrized, in_place=not copy)
        if sum_dtype != dtype:
            _require_fits(dtype, lap.data if is_sparse(A) else lap)
            lap = lap.astype(dtype)
        # With copy=False the array that the caller passed has to be overwritten. If the Laplacian was computed in an
        # int64 copy of the array, it is written back.
        if is_sparse(A) and A is not given_array and not (copy or symmetrized):
            lap = _write_laplacian(given_array, lap)
    else:
        lap, diag = _laplacian_product(A.copy() if copy and not is_sparse(A) else A, normed, axis, symmetrized)
    if form == "lo":
        linalg: Any = import_module("scipy.sparse.linalg" if array_module(A) is np else "cupyx.scipy.sparse.linalg")
        lap = linalg.LinearOperator(A.shape, matvec=lap, matmat=lap, dtype=dtype)
    if return_diag and diag.dtype.kind == dtype.kind == "i":
        _require_fits(dtype, diag)
    return (lap, diag.astype(dtype, copy=False)) if return_diag else lap


def _write_laplacian(caller_array: Any, lap: Any) -> Any:
    """Write the Laplacian into the caller's array, and return that array, if it is in COO form and of the same dtype.

    Otherwise return the Laplacian as an array of its own.
    """
    if caller_array.format != "coo" or caller_array.dtype != lap.dtype:
        return lap
    caller_array.row, caller_array.col, caller_array.data = lap.row, lap.col, lap.data
    caller_array.has_canonical_format = False
    return caller_array


def _require_fits(dtype: np.dtype[Any], numbers: Any) -> None:
    """Raise ValueError if any of the integers `numbers` is out of the range of the dtype."""
    bounds = np.iinfo(dtype)
    for bound in (int(numbers.min()), int(numbers.max())) if numbers.size else ():
        if not bounds.min <= bound <= bounds.max:
            raise ValueError(f"the Laplacian holds {bound}, which {dtype} doesn't; pass dtype=np.int64")


def _sparse_laplacian(
    A: Any, normed: bool, axis: int, dtype: Any, symmetrized: bool, in_place: bool
) -> tuple[Any, Any]:
    """Return the Laplacian of a sparse array, and the vector that SciPy calls its diagonal.

    This vector has the degrees or, if `normed`, their square roots, by which rows and columns were divided.
    """
    m = A.tocoo() if A.format in ("lil", "dok") else A
    m = m + m.T.conj() if symmetrized else m
    xp: Any = array_module(m)
    weights = _sum_along(m, axis) - m.diagonal()
    coo = m.tocoo(copy=False)
    row, col, data = coo.row, coo.col, coo.data
    if not (is_edge := row != col).all():
        row, col, data = row[is_edge], col[is_edge], data[is_edge]
    diagonal = weights
    if normed:
        weights, diagonal = _square_roots(weights), weights != 0
        data = data / weights[row]
        data /= weights[col]
    n, count = A.shape[0], len(data)
    values = xp.empty(count + n, dtype)
    values[:count] = data
    xp.negative(values[:count], out=values[:count])
    values[count:] = diagonal
    ids = xp.arange(n, dtype=row.dtype)
    rows, columns = xp.concatenate([row, ids]), xp.concatenate([col, ids])
    if coo is not A or (in_place and A.dtype == dtype):
        coo.row, coo.col, coo.data, coo.has_canonical_format = rows, columns, values, False
    else:
        coo = type(coo)((values, (rows, columns)), shape=A.shape)
    return (coo.todia() if A.format == "dia" and not normed else coo), weights


def _dense_laplacian(A: Any, normed: bool, axis: int, dtype: Any, symmetrized: bool, in_place: bool) -> tuple[Any, Any]:
    """Return the Laplacian of a dense array, and the vector that SciPy calls its diagonal.

    This vector has the degrees or, if `normed`, their square roots, by which rows and columns were divided.
    """
    m, n = (A if in_place else A.copy()), len(A)
    if symmetrized:
        m += m.T.conj()
    xp: Any = array_module(m)
    ids = xp.arange(n)
    m[ids, ids] = 0
    weights = diagonal = m.sum(axis=axis)
    if normed:
        weights, diagonal = _square_roots(weights), weights != 0
        m /= weights
        m /= weights[:, None]
    xp.negative(m, out=m)
    m[ids, ids] = diagonal
    return m.astype(dtype, copy=False), weights


def _laplacian_product(m: Any, normed: bool, axis: int, symmetrized: bool) -> tuple[Product, Any]:
    """Return a function that multiplies the Laplacian by a vector or matrix, and what SciPy calls its diagonal.

    This vector has the degrees or, if `normed`, their square roots, by which rows and columns are divided.
    """
    sums, loops = _sum_along(m, axis), m.diagonal()
    weights = sums - loops
    if symmetrized:
        sums = sums + _sum_along(m, 1 - axis)
        weights = sums - loops - loops
    weights = _square_roots(weights) if normed else weights
    adjoint = m.T.conj() if m.dtype.kind == "c" else m.T

    def laplace(v: Any) -> Any:
        v = _scale_rows(1 / weights, v) if normed else v
        product = _scale_rows(sums, v) - m @ v
        if symmetrized:
            product = product - adjoint @ v
        return _scale_rows(1 / weights, product) if normed else product

    return laplace, weights


def _sum_along(m: Any, axis: int) -> Any:
    """Return the sum of each row (axis 1) or column (axis 0) of a matrix."""
    return array_module(m).asarray(m.sum(axis=axis)).ravel()


def _square_roots(weights: Any) -> Any:
    """Return the square roots of weighted degrees, with 1 in place of 0, so that one can divide by them."""
    xp: Any = array_module(weights)
    return xp.where(weights == 0, 1, xp.sqrt(weights))


def _scale_rows(factors: Any, v: Any) -> Any:
    """Return a matrix with row i multiplied by `factors[i]`, or a vector with entry i multiplied by `factors[i]`."""
    return factors * v if v.ndim == 1 else factors[:, None] * v
