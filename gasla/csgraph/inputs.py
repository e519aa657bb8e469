"""Conversion of SciPy's and CuPy's sparse, dense and masked arrays to `gasla.Graph`, as SciPy's functions read them.

In dense arrays, entries that are infinite, NaN, or within 1e-8 of 0 are not edges, nor are masked entries of masked
arrays. In sparse arrays, stored zeros are edges of length 0. As in SciPy, duplicates in COO arrays are summed, while in
CSR and CSC arrays each of them is an edge. Complex numbers are rejected.
"""

from importlib import import_module
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack

from gasla.arrays import array_module, index_dtype, moved, running_sums
from gasla.graph.graph import Graph
from gasla.graph.validate import as_coordinates, as_csr, check_range, require_compressed, require_square

LENGTHS = frozenset(map(np.dtype, ("f4", "f8")))  # other types become float64, since a search is compiled for each type
# entries of a dense array up to this size are not edges, as in SciPy, which calls numpy.ma.masked_values
NEGLIGIBLE = 1e-8
KINDS = LENGTHS | frozenset(map(np.dtype, ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")))


def sparse_module(of: Any) -> Any:
    """Return the module with sparse arrays for the device that an array is on: scipy.sparse or cupyx.scipy.sparse."""
    return import_module("scipy.sparse" if array_module(of) is np else "cupyx.scipy.sparse")


def is_sparse(csgraph: Any) -> bool:
    """Return whether `csgraph` is a sparse array or matrix of SciPy or CuPy. Raise TypeError if it is a gasla.Graph."""
    if isinstance(csgraph, Graph):
        raise TypeError(
            "csgraph is a gasla.Graph; expected a sparse, dense or masked array: graph.to_scipy(), or call gasla's own "
            "function"
        )
    return bool(sparse_module(csgraph).issparse(csgraph))


def is_foreign(csgraph: Any) -> bool:
    """Return whether `csgraph` is an array of the package sparse (PyData), which only SciPy's functions accept."""
    return type(csgraph).__module__.partition(".")[0] == "sparse"


def most_edges(csgraph: Any) -> int:
    """Return the number of stored entries of a sparse array, or of all entries of a dense array."""
    return int(csgraph.nnz if is_sparse(csgraph) else np.size(csgraph))


def require_real(csgraph: Any) -> None:
    """Raise TypeError if an array is complex. SciPy would drop the imaginary parts."""
    kind = csgraph.dtype if is_sparse(csgraph) or hasattr(csgraph, "dtype") else np.asarray(csgraph).dtype
    if kind.kind == "c":
        raise TypeError(f"lengths are complex ({kind}); expected real numbers; pass abs(csgraph)")


def has_negative(csgraph: Any) -> bool:
    """Return whether any edge has a negative length. Entries that SciPy does not take for edges don't count."""
    if is_foreign(csgraph):
        values = np.asarray(csgraph.data)
    elif is_sparse(csgraph):
        values = (csgraph if csgraph.format == "csc" else rows_of(csgraph)).data[: csgraph.nnz]
    elif isinstance(csgraph, np.ma.MaskedArray):
        values = csgraph.compressed()
    else:
        values = array_module(csgraph).asarray(csgraph)
        values = values[_are_edges(values)] if values.dtype.kind == "f" else values
    return bool((values < 0).any())


def graph_of(csgraph: Any, kinds: frozenset[np.dtype[Any]] = LENGTHS) -> Graph:
    """Return an array as a graph with the edges that SciPy sees.

    Values are converted to float64 if their type is not in `kinds`.
    """
    if isinstance(csgraph, np.ma.MaskedArray):
        return _of_entries(csgraph.data, ~np.ma.getmaskarray(csgraph))
    if not is_sparse(csgraph):
        xp: Any = array_module(csgraph)
        dense = _as_numbers(xp.asarray(csgraph))
        return _of_entries(dense, _are_edges(dense))
    require_square(csgraph.shape)
    csgraph = csgraph if csgraph.format == "csc" else rows_of(csgraph)
    data = csgraph.data
    if data.dtype in kinds:
        return Graph(csgraph)
    numbers = _as_numbers(data)
    return Graph(type(csgraph)((numbers, csgraph.indices, csgraph.indptr), shape=csgraph.shape))


def rows_of(csgraph: Any) -> Any:
    """Return a sparse array converted to CSR in the way of SciPy. A CSR array is returned itself."""
    if csgraph.format == "csr":
        return csgraph
    require_sound(csgraph)
    return csgraph.tocsr() if csgraph.format in ("coo", "csc") else as_csr(csgraph)


def require_sound(csgraph: Any) -> None:
    """Raise ValueError if indices of a sparse array are out of range. SciPy's functions would read out of bounds."""
    if csgraph.format in ("csr", "csc", "bsr"):
        require_compressed(csgraph)
    elif csgraph.format == "coo":
        for name, ids, count in zip(("row", "col"), as_coordinates(csgraph), csgraph.shape):
            check_range(name, ids, count)


def _are_edges(dense: Any) -> Any:
    """Return which entries of a dense array of floats are edges: those that are finite and not close to 0."""
    return array_module(dense).isfinite(dense) & (abs(dense) > NEGLIGIBLE)


def _of_entries(dense: Any, is_edge: Any) -> Graph:
    """Return the graph whose edges are the entries of a dense array that `is_edge` marks."""
    require_square(dense.shape)
    xp: Any = array_module(dense)
    indptr = running_sums(is_edge.sum(axis=1))
    columns = xp.broadcast_to(xp.arange(len(dense), dtype=np.int32), dense.shape)
    kind = index_dtype(dense.size)
    return Graph.from_csr(indptr.astype(kind), columns[is_edge], _as_numbers(dense)[is_edge])


def _as_numbers(array: Any) -> Any:
    """Return an array of float32 or float64. Arrays of other types are converted to float64."""
    require_real(array)
    return array if array.dtype in LENGTHS else array.astype(np.float64)


def both_ways(graph: Graph) -> Graph:
    """Return the graph with both directions of every edge. If it is symmetric already, it is returned itself."""
    if graph.has_symmetric_values:
        return graph
    lists, values, n = graph.out, graph.out_values, graph.n
    xp: Any = array_module(lists.indices)
    if xp is np:  # on the CPU, joining rows is faster than sorting edges; on a GPU it is slower
        data = np.zeros(graph.m, np.int8) if values is None else values
        one_way = csr_array((data, lists.indices, lists.indptr), shape=(n, n))
        joined = hstack([one_way, one_way.T.tocsr()], format="csr")
        columns = joined.indices
        columns[columns >= n] -= n
        return Graph.from_csr(joined.indptr, columns, None if values is None else joined.data)
    src, dst = lists.owners(), lists.indices
    twice = None if values is None else xp.concatenate([values, values])
    return Graph.from_edges(xp.concatenate([src, dst]), xp.concatenate([dst, src]), twice, n=n)


def sources_of(indices: Any, n: int) -> np.ndarray:
    """Return the argument `indices` as an array of sources.

    As in SciPy, negative indices count from the end, and None means all vertices.
    """
    if indices is None:
        return np.arange(n, dtype=np.int32)
    sources = np.array(moved(indices, "cpu") if array_module(indices) is not np else indices, dtype=np.int64)
    sources[sources < 0] += n
    if np.any(sources < 0) or np.any(sources >= n):
        raise ValueError("indices out of range 0...N")
    return sources
