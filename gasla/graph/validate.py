"""Validation of the input of graphs and products: matrices, vertex ids, offsets and edge values.

Arrays that already have the required type are returned as they are. No array is written to.
"""

import os
import reprlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.arrays import Device, any_true, array_module, device_of, imported, index_dtype
from gasla.graph.adjacency import Adjacency, Array
from gasla.graph.memory_limit import require_bytes
from gasla.graph.neighbor_lists import Lists

VALUE_TYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
# The dtypes as objects, because these are compared in less time than their names.
_VALUE_DTYPES = frozenset(map(np.dtype, VALUE_TYPES))


def require_sparse(A: Any) -> None:
    """Raise TypeError for an object that is not a sparse matrix.

    The message says how to make a graph from the object.
    """
    xp = array_module(A)
    if xp is np:
        import scipy.sparse as sparse
    else:
        import cupyx.scipy.sparse as sparse  # type: ignore[no-redef]
    if sparse.issparse(A):
        return
    if isinstance(A, xp.ndarray):
        remedy = (
            f"for a dense matrix pass {sparse.__name__}.csr_array(A), for arrays of edges Graph.from_edges(src, dst)"
        )
    elif (library := type(A).__module__.partition(".")[0]) in ("networkx", "igraph"):
        remedy = f"pass Graph.from_{library}(G)"
    elif isinstance(A, str | os.PathLike):
        remedy = "to read a file use gasla.io.read(path)"
    elif hasattr(A, "__arrow_c_stream__"):
        remedy = "for a table with one edge per row pass Graph.from_table(table)"
    else:
        remedy = "or use Graph.from_edges(src, dst) or Graph.from_csr(indptr, indices)"
    raise TypeError(f"got {type(A).__name__}; expected a SciPy sparse array or matrix, or a gasla.Graph; {remedy}")


def require_square(shape: tuple[int, ...]) -> None:
    """Raise ValueError for the shape of a matrix that is not square."""
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(
            f"the matrix has shape {tuple(map(int, shape))}; expected (n, n), a row and column per vertex; "
            "Graph.from_bipartite takes the rows and columns of another matrix as two sides"
        )


def require_compressed(A: Any) -> None:
    """Raise ValueError for a CSR, CSC or BSR matrix whose arrays don't fit each other or its shape.

    This is called before SciPy or CuPy converts a matrix, because they would follow a wrong offset or index out of
    bounds. Entries after the last offset are ignored, as SciPy does.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> A = sp.csc_array([[0, 3], [4, 0]])
    >>> require_compressed(A)
    >>> A.indices[1] = 9
    >>> require_compressed(A)
    Traceback (most recent call last):
        ...
    ValueError: entry 1 of the matrix is in row 9; expected 0 to 1
    """
    count, width = map(int, A.shape[::-1] if A.format == "csc" else A.shape)
    line, cross = ("column", "row") if A.format == "csc" else ("row", "column")
    shape = A.data.shape
    if A.format == "bsr":
        if len(shape) != 3 or 0 in shape[1:] or count % shape[1] or width % shape[2]:
            raise ValueError(f"data has shape {shape}; expected blocks that divide a matrix of shape {A.shape}")
        count, width, line, cross = count // shape[1], width // shape[2], "block row", "block column"
    elif len(shape) != 1:
        raise ValueError(f"data has shape {shape}; expected one dimension")
    indptr, indices = as_ids("indptr", A.indptr), as_ids("indices", A.indices)
    if len(indptr) != count + 1:
        raise ValueError(f"indptr has {len(indptr)} entries in a matrix of shape {A.shape}; expected {count + 1}")
    if first_offset := int(indptr[0]):
        raise ValueError(f"indptr starts at {first_offset}; expected 0")
    if error := find_outside(indptr, indices, width, line, cross):
        raise error
    if (last_offset := int(indptr[-1])) > shape[0]:
        raise ValueError(f"there are {last_offset} entries and data of shape {shape}; expected a value for each entry")


def as_csr(A: Any) -> Any:
    """Return a sparse matrix that is in another format than CSR, CSC and COO as CSR.

    Its arrays are checked before and after conversion.
    """
    if A.format == "bsr":
        require_compressed(A)
    elif A.format == "dia":
        offsets, shape = as_ids("offsets", A.offsets), A.data.shape
        if len(shape) != 2 or shape[0] != len(offsets):
            raise ValueError(f"data has shape {shape} for {len(offsets)} offsets; expected a row of data for each")
    # Each row is checked here, because SciPy does not check that a row has as many values as indices.
    elif A.format == "lil":
        rows, values = ([len(row) if isinstance(row, list) else -1 for row in part] for part in (A.rows, A.data))
        if rows != values or len(rows) != A.shape[0] or -1 in rows:
            raise ValueError("rows and data of the matrix differ; expected two lists of equal length for every row")
    A = A.tocsr()
    require_compressed(A)
    return A


def as_coordinates(A: Any) -> tuple[Array, Array]:
    """Return the row and column indices of a COO matrix. Raise ValueError unless they have the length of its data."""
    row, col = as_ids("row", A.row), as_ids("col", A.col)
    if not len(row) == len(col) == len(A.data):
        raise ValueError(
            f"row has {len(row)} entries, col has {len(col)} and data has {len(A.data)}; expected as many in each"
        )
    return row, col


def find_outside(indptr: Array, indices: Array, width: int, line: str, cross: str) -> ValueError | None:
    """Return an error that names the first offset or index of a CSR or CSC matrix that is out of bounds, or None.

    For the error, `line` and `cross` are the words for the compressed and for the other dimension: "row" and "column"
    in CSR.
    """
    stored = len(indices)
    wrong = (indptr[:-1] > indptr[1:]) | (indptr[:-1] < 0) | (indptr[1:] > stored)
    if any_true(wrong):
        i = int(wrong.argmax())
        return ValueError(
            f"{line} {i} of the matrix has entries {indptr[i]} to {indptr[i + 1]} of {stored}; "
            "expected offsets that ascend from 0 to the number of entries"
        )
    wrong = ((indices < 0) | (indices >= width))[: int(indptr[-1])]
    if any_true(wrong):
        e = int(wrong.argmax())
        return ValueError(f"entry {e} of the matrix is in {cross} {indices[e]}; expected 0 to {width - 1}")
    return None


def require_vertices(n: int) -> None:
    """Raise MemoryError if the offsets of n vertices, in both directions, need more memory than available.

    This happens when ids are names of vertices, such as an edge between 0 and 10**10.
    """
    remedy = "use Graph.from_table(table, names=True), which numbers only the ids that occur"
    require_bytes(f"{n:,} vertices need", 16 * n, f"if ids are names, such as account numbers, {remedy}")


# Ids are probably names, such as account numbers, if the largest id would give more than MANY vertices, and more than
# PER_ID vertices for each id in the input.
MANY, PER_ID = 1 << 24, 16


def are_sparse(n: int, m: int, is_table: bool = True) -> str | None:
    """Return an error message if there are so few edges for n vertices that ids may be names. Otherwise return None.

    With `is_table`, edges come from a table or a file, and the message suggests the argument `names`. Otherwise it
    suggests `n`.

    Examples
    --------
    >>> are_sparse(1 << 24, 1), are_sparse(32 * 10**6, 10**6)
    (None, None)
    """
    if n <= MANY or n <= PER_ID * 2 * m:
        return None
    edges = "there is one edge" if m == 1 else f"there are {m:,} edges"
    requirement = f"{n:,} vertices, which take {16 * n + 24 * m:,} bytes"
    if is_table:
        remedy = (
            "pass names=True if ids are names, such as account numbers, to number only the ids that occur, or "
            f"names=False for {requirement}"
        )
    else:
        remedy = (
            "if ids are names, such as account numbers, pass Graph.from_table(pyarrow.table({'src': src, 'dst': dst}), "
            f"names=True), which numbers only the ids that occur; else n={n} for {requirement}"
        )
    return f"ids go up to {n - 1:,}, and {edges}; {remedy}"


def count_vertices(src: Array, dst: Array) -> int:
    """Return the number of vertices of edges: the largest id plus one. Raise ValueError if the ids look like names."""
    n = 1 + max((int(ids.max()) for ids in (src, dst) if len(ids)), default=-1)
    require_vertices(n)
    if doubt := are_sparse(n, len(src), is_table=False):
        raise ValueError(doubt)
    return n


def vertex_count(n: Any) -> int:
    """Return the argument `n` as an int. Raise ValueError unless it is a number of vertices, 0 or more."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
        raise ValueError(f"n is {n!r}; expected a number of vertices, 0 or more")
    return int(n)


def for_names(given: Any) -> str:
    """Return a hint for an error message if an argument holds names, where the graph's vertices have none.

    In any other case return an empty string.
    """
    return "; the graph has no names: Graph.from_table numbers names" if given.dtype.kind in "USO" else ""


def as_array(name: str, x: Any) -> Array:
    """Return an argument as an array. Raise ValueError for nested lists of unequal lengths."""
    x = imported(x)
    try:
        array: Array = array_module(x).asarray(x)
    except ValueError:
        raise ValueError(f"{name} is {reprlib.repr(x)}; expected an array, or rows of equal length") from None
    return array


def as_ids(name: str, x: ArrayLike) -> Array:
    """Return an argument as a one-dimensional int32 or int64 array. If it already is one, return the object itself."""
    # An array that needs no conversion is the usual case. It is tested first, because this test takes the least time.
    if type(x) is np.ndarray and x.ndim == 1 and x.dtype in (np.int32, np.int64):
        return x
    x = imported(x)
    xp = array_module(x)
    ids = as_array(name, x)
    if ids.ndim == 0:
        raise ValueError(f"{name} is {reprlib.repr(ids.item())}; expected an array of integers")
    if ids.ndim != 1:
        raise ValueError(f"{name} has shape {ids.shape}; expected one dimension")
    if ids.size == 0 and not isinstance(x, xp.ndarray):
        return ids.astype(np.int32)
    if ids.dtype.kind not in "iu":
        remedy = for_names(ids) or "; convert with .astype(np.int64)"
        raise TypeError(f"{name} has type {ids.dtype}; expected integers{remedy}")
    # This is false for ids in another byte order, whose dtypes are not equal to these. They are converted below.
    if ids.dtype in (np.int32, np.int64):
        return ids
    if ids.dtype.kind == "u" and ids.dtype.itemsize == 8 and ids.size and int(ids.max()) >= 2**63:
        raise ValueError(f"{name} holds {int(ids.max())}, which does not fit int64")
    return ids.astype(np.int64 if ids.dtype.itemsize == 8 or ids.dtype == np.uint32 else np.int32)


def as_labels(labels: ArrayLike, n: int) -> Array:
    """Check an argument that has the group of each of n vertices, and return it as an array.

    Raise ValueError unless groups are from 0 to n - 1.
    """
    groups = as_ids("labels", labels)
    if len(groups) != n:
        raise ValueError(f"there are {len(groups)} labels; expected one for each of {n} vertices")
    check_range("labels", groups, n)
    return groups


def is_value_type(dtype: np.dtype[Any]) -> bool:
    """Return whether the values of edges and vertices may have this dtype."""
    return dtype in _VALUE_DTYPES


def as_values(data: Any, m: int) -> Array | None:
    """Return edge values as a contiguous array in native byte order, or None if `data` is None.

    If `data` already is such an array, return it. Raise an error unless there are m numbers.
    """
    if data is None:
        return None
    data = imported(data)
    xp = array_module(data)
    values = xp.asarray(data)
    if values.dtype.kind == "c":
        raise TypeError(f"edge values are complex ({values.dtype}); expected real numbers; pass abs(A) or A.real")
    native = values.dtype.newbyteorder("=")
    if native not in _VALUE_DTYPES:
        raise TypeError(
            f"edge values have type {values.dtype}; expected one of {', '.join(VALUE_TYPES)}; "
            "convert with .astype(np.float64)"
        )
    if values.shape != (m,):
        raise ValueError(f"there are {m} edges and values of shape {values.shape}; expected ({m},), one value per edge")
    return xp.ascontiguousarray(values if values.dtype.isnative else values.astype(native))


def same_device(**arrays: Any) -> Device:
    """Return the common device of the arrays. Raise TypeError if they are on different devices."""
    devices = {name: device_of(array) for name, array in arrays.items() if array is not None}
    if len(set(devices.values())) > 1:
        described = ", ".join(f"{name} on the {device}" for name, device in devices.items())
        raise TypeError(f"got {described}; expected all of them on one device")
    return next(iter(devices.values()))


def check_offsets(indptr: Array, n: int, m: int) -> None:
    """Raise ValueError unless `indptr` holds the offsets of n adjacency lists with m entries in total."""
    if len(indptr) != n + 1:
        raise ValueError(f"indptr has {len(indptr)} entries for {n} vertices; expected {n + 1}")
    if first_offset := int(indptr[0]):
        raise ValueError(f"indptr starts at {first_offset}; expected 0")
    falls = array_module(indptr).less(indptr[1:], indptr[:-1])
    if any_true(falls):
        v = int(falls.argmax())
        offset, next_offset = int(indptr[v]), int(indptr[v + 1])
        raise ValueError(f"indptr falls from {offset} to {next_offset} at vertex {v}; expected ascending offsets")
    if (last_offset := int(indptr[-1])) != m:
        raise ValueError(f"indptr ends at {last_offset} and there are {m} indices; expected the same number")


def range_of(values: Array) -> tuple[Any, Any]:
    """Return the smallest and the largest of an array's values, as NumPy scalars. Both are NaN if any value is NaN."""
    if array_module(values) is not np:
        from gasla.gpu.runtime.min_max import summary

        return summary(values)[:2]
    return values.min(), values.max()


def check_range(name: str, ids: Array, n: int) -> None:
    """Raise ValueError if any of the vertex ids is outside a graph of n vertices.

    `name` is the array's name in the error.
    """
    if len(ids) == 0:
        return
    smallest, largest = map(int, range_of(ids))
    if smallest < 0 or largest >= n:
        outside_id = smallest if smallest < 0 else largest
        where, expected = int((ids == outside_id).argmax()), f"0 to {n - 1}" if n > 0 else "no ids"
        raise ValueError(f"{name}[{where}] is {outside_id}, outside a graph of {n} vertices; expected {expected}")


# --- checked adjacency lists and edge values, from a matrix or from arrays --------------------------------------------

Checked = tuple[Lists, Array | None]  # the edges of a graph, and their values, or None for a graph without values


def lists_of_matrix(A: Any) -> Checked:
    """Check a SciPy or CuPy matrix, and return its entries as a `Lists` of the edges of a graph, and their values."""
    require_sparse(A)
    shape, matrix_format = A.shape, A.format
    require_square(shape)
    n = int(shape[0])
    if matrix_format == "coo":
        return lists_of_edges(n, *as_coordinates(A), A.data)
    if matrix_format not in ("csr", "csc"):
        A = as_csr(A)
    indptr, indices, data = as_ids("indptr", A.indptr), as_ids("indices", A.indices), A.data
    m = int(indptr[-1]) if len(indptr) else 0
    # SciPy allows unused space after the last entry of a matrix, which is cut off here
    if len(indices) != m or len(data) != m:
        indices, data = indices[:m], data[:m]
    return lists_of_rows(n, indptr, indices, data, by_column=matrix_format == "csc")


def lists_of_rows(n: int, indptr: Array, indices: Array, data: Any, by_column: bool = False) -> Checked:
    """Check CSR arrays, and return them as a `Lists` of the edges of a graph with n vertices, and the edges' values.

    With `by_column` the arrays are CSC.
    """
    m = len(indices)
    values = as_values(data, m)
    device = same_device(indptr=indptr, indices=indices, values=values)
    check_offsets(indptr, n, m)
    check_range("indices", indices, n)
    xp = array_module(indptr)
    dtype = indices.dtype if device == "cpu" else index_dtype(n)
    adjacency = Adjacency(xp.ascontiguousarray(indptr), xp.ascontiguousarray(indices, dtype=dtype))
    return Lists(n, device, *((None, adjacency) if by_column else (adjacency, None))), values


def lists_of_edges(n: int, src: Array, dst: Array, data: Any) -> Checked:
    """Check arrays of edges from ``src[k]`` to ``dst[k]``, and return them as a `Lists`, and the edges' values."""
    if len(src) != len(dst):
        raise ValueError(f"src has {len(src)} entries and dst has {len(dst)}; expected as many of each")
    values = as_values(data, len(src))
    device = same_device(src=src, dst=dst, values=values)
    check_range("src", src, n)
    check_range("dst", dst, n)
    require_vertices(n)
    return Lists.of_edges(n, device, src, dst), values
