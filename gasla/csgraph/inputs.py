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

# dtypes of lengths that are not converted; lengths of other dtypes become float64, because a search is compiled for
# each dtype
LENGTHS = frozenset(map(np.dtype, ("f4", "f8")))
# Entries of a dense array whose absolute value is at most this are not edges. SciPy has the same limit, because it
# calls numpy.ma.masked_values.
NEGLIGIBLE = 1e-8
KINDS = LENGTHS | frozenset(map(np.dtype, ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")))


def sparse_module(of: Any) -> Any:
    """Return the module with sparse arrays for the device of an array, which is scipy.sparse or cupyx.scipy.sparse."""
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
    """Return whether `csgraph` is an array of the package sparse (PyData), which SciPy accepts and gasla does not."""
    return type(csgraph).__module__.partition(".")[0] == "sparse"


def most_edges(csgraph: Any) -> int:
    """Return an upper bound of the number of edges: the entries of an array, only the stored ones if it is sparse."""
    return int(csgraph.nnz if is_sparse(csgraph) else np.size(csgraph))


def require_real(csgraph: Any) -> None:
    """Raise TypeError if an array is complex, because SciPy would silently drop the imaginary parts."""
    kind = csgraph.dtype if is_sparse(csgraph) or hasattr(csgraph, "dtype") else np.asarray(csgraph).dtype
    if kind.kind == "c":
        raise TypeError(f"lengths are complex ({kind}); expected real numbers; pass abs(csgraph)")


def has_negative(csgraph: Any) -> bool:
    """Return whether any edge has a negative length. Entries that are no edges, such as masked ones, don't count."""
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
    """Return the graph whose edges are those entries of an array that SciPy takes for edges.

    Values are converted to float64 if their dtype is not in `kinds`.
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
    """Return a sparse array converted to CSR as SciPy converts it. A CSR array is returned unchanged."""
    if csgraph.format == "csr":
        return csgraph
    require_sound(csgraph)
    return csgraph.tocsr() if csgraph.format in ("coo", "csc") else as_csr(csgraph)


def require_sound(csgraph: Any) -> None:
    """Raise ValueError if an index of a sparse array is out of range. SciPy would read outside the arrays."""
    if csgraph.format in ("csr", "csc", "bsr"):
        require_compressed(csgraph)
    elif csgraph.format == "coo":
        for name, ids, count in zip(("row", "col"), as_coordinates(csgraph), csgraph.shape):
            check_range(name, ids, count)


def _are_edges(dense: Any) -> Any:
    """Return a mask of the entries of a dense array that are edges, which are finite and not close to 0."""
    return array_module(dense).isfinite(dense) & (abs(dense) > NEGLIGIBLE)


def _of_entries(dense: Any, is_edge: Any) -> Graph:
    """Return the graph whose edges are the entries of a dense array for which the mask `is_edge` is True."""
    require_square(dense.shape)
    xp: Any = array_module(dense)
    indptr = running_sums(is_edge.sum(axis=1))
    columns = xp.broadcast_to(xp.arange(len(dense), dtype=np.int32), dense.shape)
    offset_dtype = index_dtype(dense.size)
    return Graph.from_csr(indptr.astype(offset_dtype), columns[is_edge], _as_numbers(dense)[is_edge])


def _as_numbers(array: Any) -> Any:
    """Return an array of float32 or float64. Arrays of other types are converted to float64."""
    require_real(array)
    return array if array.dtype in LENGTHS else array.astype(np.float64)


def both_ways(graph: Graph) -> Graph:
    """Return the graph with a reverse edge added for every edge. A symmetric graph is returned unchanged."""
    if graph.has_symmetric_values:
        return graph
    lists, values, n = graph.out, graph.out_values, graph.n
    xp: Any = array_module(lists.indices)
    # On the CPU, joining the rows of the matrix and its transpose is faster than sorting all edges. On a GPU it is
    # slower.
    if xp is np:
        data = np.zeros(graph.m, np.int8) if values is None else values
        one_way = csr_array((data, lists.indices, lists.indptr), shape=(n, n))
        joined = hstack([one_way, one_way.T.tocsr()], format="csr")
        columns = joined.indices
        columns[columns >= n] -= n
        return Graph.from_csr(joined.indptr, columns, None if values is None else joined.data)
    src, dst = lists.owners(), lists.indices
    doubled_values = None if values is None else xp.concatenate([values, values])
    return Graph.from_edges(xp.concatenate([src, dst]), xp.concatenate([dst, src]), doubled_values, n=n)


def sources_of(indices: Any, n: int) -> np.ndarray:
    """Return the argument `indices` of SciPy's functions as an array of source vertices.

    As in SciPy, negative indices count from the last vertex, and None means all vertices.
    """
    if indices is None:
        return np.arange(n, dtype=np.int32)
    sources = np.array(moved(indices, "cpu") if array_module(indices) is not np else indices, dtype=np.int64)
    sources[sources < 0] += n
    if np.any(sources < 0) or np.any(sources >= n):
        raise ValueError("indices out of range 0...N")
    return sources
