"""`Sparse`: the CSR matrix that `mxm` returns, with values of any type, tuples too, on either device."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from gasla.arrays import moved, require_gpu
from gasla.graph.validate import as_ids
from gasla.program.terms import Array

_CUPY_HOLDS = ("bool", "float32", "float64")


@dataclass(frozen=True, eq=False, repr=False)
class Sparse:
    """A sparse matrix in CSR form, as `gasla.mxm` returns it. All products accept it as a matrix.

    `Graph.from_csr` makes a graph of its arrays.

    Attributes
    ----------
    shape : (int, int)
    indptr : (m + 1,) array of int32 or int64
        Row i holds the entries from ``indptr[i]`` to ``indptr[i + 1]``.
    indices : (nnz,) array of int32 or int64
        Column of each entry.
    data : (nnz,) array, or tuple of such arrays
        Value of each entry; where values are tuples, one array per item.

    Raises
    ------
    ValueError, TypeError
        If the arrays don't fit each other or the shape. The range of the indices is checked where the matrix is used.

    Examples
    --------
    >>> import gasla, semirings
    >>> from scipy.sparse import csr_array
    >>> kilometres = csr_array([[0, 3, 8], [0, 0, 2], [1, 0, 0]])
    >>> two_hops = gasla.mxm(kilometres, kilometres, semirings.min_plus)
    >>> two_hops
    Sparse(shape=(3, 3), nnz=5, values=int64)
    >>> two_hops.to_scipy().toarray()
    array([[9, 0, 5],
           [3, 0, 0],
           [0, 4, 9]])
    """

    shape: tuple[int, int]
    indptr: Array
    indices: Array
    data: Array | tuple[Array, ...]
    format: ClassVar[str] = "csr"
    ndim: ClassVar[int] = 2

    def __post_init__(self) -> None:
        m, n = map(int, self.shape)
        object.__setattr__(self, "shape", (m, n))
        for name in ("indptr", "indices"):
            object.__setattr__(self, name, as_ids(name, getattr(self, name)))
        if len(self.indptr) != m + 1:
            raise ValueError(
                f"indptr has {len(self.indptr)} entries in a matrix of shape {self.shape}; expected {m + 1}"
            )
        for component in self.data if isinstance(self.data, tuple) else (self.data,):
            if np.shape(component) != self.indices.shape:
                raise ValueError(
                    f"data has shape {np.shape(component)}; expected {self.indices.shape}, one value per entry"
                )

    @property
    def nnz(self) -> int:
        """The number of stored entries."""
        return len(self.indices)

    def to_scipy(self) -> Any:
        """Convert to a ``scipy.sparse.csr_array`` that shares the arrays. From the GPU, the arrays are copied.

        Raises
        ------
        TypeError
            If the values are tuples.
        """
        from scipy.sparse import csr_array

        data, indices, indptr = (moved(array, "cpu") for array in (self._one_value(), self.indices, self.indptr))
        return csr_array((data, indices, indptr), shape=self.shape)

    def to_cupy(self) -> Any:
        """Convert to a ``cupyx.scipy.sparse.csr_matrix`` that shares the arrays. From the CPU, the arrays are copied.

        Raises
        ------
        TypeError
            If the values are tuples or integers: CuPy's matrices hold only bool, float32 and float64.
        RuntimeError
            If CuPy or a GPU is missing.
        """
        data = self._one_value()
        if data.dtype.name not in _CUPY_HOLDS:
            raise TypeError(
                f"the values are {data.dtype}, and CuPy's matrices hold {', '.join(_CUPY_HOLDS)}; expected one of "
                "those: gasla.Sparse(C.shape, C.indptr, C.indices, C.data.astype(np.float64)).to_cupy()"
            )
        require_gpu()
        sparse = import_module("cupyx.scipy.sparse")
        data, indices, indptr = (moved(array, "gpu") for array in (data, self.indices, self.indptr))
        return sparse.csr_matrix((data, indices, indptr), shape=self.shape)

    def asformat(self, form: str) -> Any:
        """Convert to a SciPy array of a format such as "csc"."""
        return self.to_scipy().asformat(form)

    def _one_value(self) -> Array:
        if isinstance(self.data, tuple):
            raise TypeError(
                f"each value is a tuple of {len(self.data)}; expected one value per entry: "
                "gasla.Sparse(C.shape, C.indptr, C.indices, C.data[0])"
            )
        return self.data

    def __repr__(self) -> str:
        dtype_names = [
            str(component.dtype) for component in (self.data if isinstance(self.data, tuple) else (self.data,))
        ]
        values = dtype_names[0] if len(dtype_names) == 1 else f"({', '.join(dtype_names)})"
        return f"Sparse(shape={self.shape}, nnz={self.nnz}, values={values})"
