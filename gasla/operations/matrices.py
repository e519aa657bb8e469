"""Sparse matrix times matrix, sparse or dense, over any semiring, by the engine of the matrices' device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import semirings
from gasla.arrays import array_module, device_of, index_dtype, running_sums
from gasla.engines import engine
from gasla.graph.arguments import check_flags
from gasla.graph.graph import Graph
from gasla.graph.memory_limit import available, require_memory
from gasla.graph.validate import find_outside
from gasla.operations.multiply import product
from gasla.operations.operands import check_semiring, lists_of, place, require_same_device
from gasla.operations.sparse import Sparse
from gasla.program.terms import Array, Lists, Terms, parts, trace
from gasla.rows import Row
from semirings import Semiring, TupleType


def mxm(
    A: Any,
    B: Any,
    semiring: Semiring = semirings.plus_times,
    *,
    mask: Any = None,
    complement: bool = False,
    accum: Callable[[Any, Any], Any] | None = None,
    out: Any = None,
) -> Any:
    """Multiply two matrices: ``C[i, j]`` is the sum over k of ``A[i, k] * B[k, j]``.

    Sum and product are the semiring's. A sparse product has an entry (i, j) wherever both factors are stored for some
    k, whatever its value. Stored zeros and parallel entries count. Each entry reduces in the stored order of row i of
    A, then of row k of B. With B dense this is `mxv` for every column of B at once.

    Parameters
    ----------
    A : SciPy or CuPy sparse array or matrix, Sparse or Graph
        Of shape (m, n). CSR is used as it is; other formats are converted at every call, but a Graph only once. The
        entries of a Graph without values are True.
    B : the same, or a dense (n, p) array
        On the device of A.
    semiring : semirings.Semiring
        A predefined semiring, or ``Semiring(monoid, multiply)`` of ordinary functions. A multiply of five arguments
        ``(x, y, i, k, j)`` also receives the indices, as int64.
    mask : matrix as A, or dense array of bool, optional
        For a sparse product a sparse matrix of shape (m, p): only the positions of its entries are computed, whatever
        their values. For a dense product an array of that shape: only its nonzero positions are computed.
    complement : bool
        Compute only the other positions.
    accum, out
        For a dense product, as for `mxv`: ``out[i, j] = accum(out[i, j], C[i, j])``. A sparse product is always new.

    Returns
    -------
    Sparse or (m, p) array
        Sparse where B is sparse, with columns ascending and unique in each row. With a mask (and no complement) it has
        the entries of the mask, in the mask's order by rows, with the monoid's identity where the product has no entry.
        A dense array where B is dense: `out`, if given. Types are those of the semiring's expression under NumPy's
        promotion rules; a multiply that returns a tuple gives a tuple of arrays, in a Sparse as its `data`.

    Raises
    ------
    ValueError, TypeError
        If shapes or types don't fit, an index of a matrix is outside its shape, or the mask is dense for a sparse
        product or sparse for a dense one.
    MemoryError
        If the entries of the product, which are counted first, need more memory than is available.

    Notes
    -----
    F. Gustavson: Two Fast Algorithms for Sparse Matrices. ACM Transactions on Mathematical Software 4(3), 1978.

    Examples
    --------
    >>> import gasla, semirings, numpy as np
    >>> from scipy.sparse import csr_array
    >>> kilometres = csr_array([[0, 3, 8], [0, 0, 2], [1, 0, 0]])
    >>> gasla.mxm(kilometres, kilometres, semirings.min_plus).to_scipy().toarray()
    array([[9, 0, 5],
           [3, 0, 0],
           [0, 4, 9]])

    For each edge, the number of paths of two edges between its ends:

    >>> graph = gasla.Graph.from_edges([0, 0, 1, 2], [1, 2, 2, 0])
    >>> gasla.mxm(graph, graph, semirings.plus_pair, mask=graph).data
    array([0, 1, 0, 0])

    A dense right side:

    >>> gasla.mxm(kilometres, np.ones((3, 2)))
    array([[11., 11.],
           [ 2.,  2.],
           [ 1.,  1.]])
    """
    check_semiring("semiring", semiring)
    check_flags(complement=complement)
    if not _is_sparse(B):
        return _multiply_dense(A, B, semiring, mask, complement, accum, out)
    for graph in (A, B, mask):
        if isinstance(graph, Graph):
            graph.require_whole()
    if accum is not None or out is not None:
        raise TypeError(f"{'accum' if out is None else 'out'} is for dense products, and B is sparse; expected neither")
    if mask is None and complement:
        raise ValueError("complement is set and there is no mask; expected mask=, the positions to leave out")
    if mask is not None and not _is_sparse(mask):
        raise TypeError(f"mask is {type(mask).__name__}; expected a sparse matrix, as the product is sparse")
    _check_shapes(A, B, mask)
    rows_of_A = _lists(A, "A", A, semiring)
    rows_of_B = rows_of_A if B is A else _lists(B, "B", A, semiring)
    mask_lists = None if mask is None else rows_of_A if mask is A else _lists(mask, "mask", A, semiring)
    type_of_A, type_of_B = (None if lists.values is None else lists.values.dtype for lists in (rows_of_A, rows_of_B))
    terms = trace(semiring, False, type_of_A, type_of_B, merging=None, wide=True)
    if mask_lists is not None and not complement:
        return _multiply_at_entries(rows_of_A, rows_of_B, terms, mask_lists)
    return _multiply_by_rows(rows_of_A, rows_of_B, terms, mask_lists)


def _multiply_dense(A: Any, B: Any, semiring: Semiring, mask: Any, complement: bool, accum: Any, out: Any) -> Any:
    """Return the product of a sparse matrix A and a dense matrix B, which is dense.

    `mask`, `complement`, `accum` and `out` are as for `gasla.mxm`. Raise an error if they don't suit a dense product.
    """
    if mask is not None and _is_sparse(mask):
        raise TypeError(f"mask is {type(mask).__name__}; expected a dense array of bool, as the product is dense")
    if np.ndim(B) != 2:
        raise ValueError(f"B has shape {np.shape(B)}; expected two dimensions: for a vector use gasla.mxv")
    return product(A, B, semiring, False, mask, complement, accum, out)


def _multiply_by_rows(A: Lists, B: Lists, terms: Terms, left_out: Lists | None) -> Sparse:
    """Return the product of two sparse matrices A and B as a sparse matrix, computed row by row.

    `left_out` is a matrix or None: the product gets no entry where `left_out` has one. The number of entries of each
    row is counted first, to allocate memory. Then the entries are computed.
    """
    products = engine(device_of(A.indptr)).products()
    task = products.of_matrices(A, B, terms, left_out)
    # The free memory is looked up here, where it takes no extra time because a GPU is still busy with `of_matrices`.
    free_bytes = available(device_of(A.indptr))
    shape, types = (len(A.indptr) - 1, B.width), parts(terms.out_type)
    entry_bytes = sum(value_type.itemsize for value_type in types)  # number of bytes for the value of one entry
    most_entries = (
        np.iinfo(np.int64).max if free_bytes is None else free_bytes // (entry_bytes + index_dtype(max(shape)).itemsize)
    )
    counts = task.count(most_entries)
    if counts is None:
        raise _index_error(A=A, B=B, mask=left_out)
    xp, sums = array_module(counts), running_sums(counts)
    entries = int(sums[-1])
    ids = index_dtype(max(entries, *shape))
    instead = "pass a mask=, or some rows of A at a time"
    require_memory("the product has at least", entries, entry_bytes + ids.itemsize, free_bytes, instead)
    indptr, indices = sums.astype(ids, copy=False), xp.empty(entries, ids)
    outs = tuple(xp.empty(entries, dtype) for dtype in types)
    task.fill(indptr, indices, outs)
    return Sparse(shape, indptr, indices, _array_or_tuple(outs, terms))


def _multiply_at_entries(A: Lists, B: Lists, terms: Terms, mask: Lists) -> Sparse:
    """Return the product of two sparse matrices A and B, computed only where the sparse matrix `mask` has an entry.

    The result has the same row offsets and column indices as the mask.
    """
    xp, products = array_module(A.indptr), engine(device_of(A.indptr)).products()
    indices = mask.indices[: max(int(mask.indptr[-1]), 0)]
    outs = tuple(xp.empty(len(indices), dtype) for dtype in parts(terms.out_type))
    if not products.at_entries(A, B, terms, mask, outs):
        raise _index_error(A=A, B=B, mask=mask)
    return Sparse((len(mask.indptr) - 1, mask.width), mask.indptr, indices, _array_or_tuple(outs, terms))


def _array_or_tuple(outs: tuple[Array, ...], terms: Terms) -> Any:
    return outs if isinstance(terms.out_type, TupleType) else outs[0]


# --- checks and conversion of the operands ----------------------------------------------------------------------------


def _is_sparse(A: Any) -> bool:
    """Return whether an operand is a sparse matrix or a Graph."""
    return isinstance(A, (Sparse, Graph)) or hasattr(A, "tocsr")


def _shape(A: Any) -> tuple[int, ...]:
    return (A.n, A.n) if isinstance(A, Graph) else tuple(A.shape)


def _check_shapes(A: Any, B: Any, mask: Any) -> None:
    if not _is_sparse(A):
        return  # `lists_of` raises the error for a matrix A that is not sparse
    (m, n), (k, p) = _shape(A), _shape(B)
    if n != k:
        raise ValueError(f"A has shape {(m, n)} and B {(k, p)}; expected as many rows of B as A has columns")
    if mask is not None and _shape(mask) != (m, p):
        raise ValueError(f"mask has shape {_shape(mask)}; expected {(m, p)}, that of the product")


def _lists(M: Any, name: str, A: Any, semiring: Semiring) -> Lists:
    """Return the rows of a matrix M, an operand called `name`, as CSR arrays.

    Raise TypeError if M is on another device than A.
    """
    if M is not A:
        require_same_device(name, place(M), array_module(place(A)))
    return lists_of(M, by_column=False, ordered=not semiring.monoid.commutative and name != "mask")


def _index_error(**matrices: Lists | None) -> ValueError:
    """Return the error for an offset or index that is out of range in one of the matrices of a product.

    The matrices are given by the names of their arguments. The error names the first such offset or index.
    """
    for name, lists in matrices.items():
        if lists is not None and (error := find_outside(lists.indptr, lists.indices, lists.width, "row", "column")):
            return ValueError(f"in {name}, {error}")
    return ValueError("a matrix changed while it was read; expected the same arrays until the call returns")


ROW = Row(
    mxm,
    method="hash tables by length of row (Nagasaka et al., Parallel Computing 90, 2019); OpSparse (Du et al., 2022)",
    longer="The product has an entry for nearly each path of two edges.",
)
