"""NumPy archives as `scipy.sparse.save_npz` writes them. All arrays are checked before SciPy uses them.

Names and attributes are further arrays of the archive, which SciPy ignores.
"""

from __future__ import annotations

import errno
import io
import json
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gasla.graph.dates import TimeColumn, parsed_time_types
from gasla.graph.io.files import (
    BLOCK,
    COMPRESSIONS,
    Array,
    FormatError,
    Part,
    names_of_json,
    names_to_json,
    open_bytes,
    parsed_json,
    require_memory,
    require_version,
    rows_of,
    to_graph,
    warning_filters,
    weights,
)
from gasla.graph.io.mapped_csr import OF_GASLA, read_header
from gasla.graph.validate import as_ids, check_offsets, check_range, require_compressed
from semirings.types import SCALAR_NAMES

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from gasla.graph.graph import Graph

SUFFIXES = (".npz",)
_FORMATS = ("csr", "csc", "bsr", "dia", "coo")
_ARRAYS = ("format", "shape", "data", "indices", "indptr", "offsets", "row", "col", "coords")
# Prefix of the names of arrays that hold attributes. The array whose name is the prefix alone says whether the graph
# has values.
_ATTRIBUTES = "attributes/"
_NAMES = "gasla/names"  # array of the vertices' names, as the bytes of a JSON list
_TIMES = "gasla/times"  # array of the kind, unit and zone of dates and times, as the bytes of JSON
_VERSION = "gasla/version"  # array of the number of the version in which names and attributes are stored
VERSION = 3  # Files of version 1 have no names, and files of version 2 no dates.
_EXPECTED = "expected a file written by scipy.sparse.save_npz"


class _Compressed(NamedTuple):
    """The arrays of a sparse matrix in CSR, CSC or BSR form, as read from a file, before they are checked."""

    format: str
    shape: tuple[int, int]
    data: Array
    indices: Array
    indptr: Array


def read(path: Path) -> Graph:
    """Return the graph in an .npz archive."""
    from gasla.graph.graph import Graph

    with open_bytes(path) as stream:
        if not zipfile.is_zipfile(stream):
            raise FormatError(path, None, f"is not an archive, or truncated; {_EXPECTED}")
        stream.seek(0)
        arrays = _read_arrays(path, stream)
    if "format" not in arrays:
        raise FormatError(path, None, f"contains no sparse array; {_EXPECTED}")
    try:
        require_version(path, "npz", int(_value_in(arrays.get(_VERSION, np.array(VERSION)))), VERSION)
        return (
            _build_graph(path, arrays)
            if any(name.startswith(OF_GASLA) for name in arrays)
            else Graph(_checked_matrix(path, arrays))
        )
    except KeyError as error:
        raise FormatError(path, None, f"has no array {error}; {_EXPECTED}") from error
    except FormatError:
        raise
    except (ValueError, TypeError) as error:
        raise FormatError(path, None, f"{error}; {_EXPECTED}") from error


def parts(path: Path) -> Iterator[Part] | None:
    """Return the edges of an archived CSR or CSC matrix in parts, whose arrays are decompressed part by part.

    Return None for other archives. Memory holds the row offsets and one block.
    """
    if not path.is_file() or path.suffix.lower() in COMPRESSIONS or not zipfile.is_zipfile(path):
        return None
    with _convert_errors(path), zipfile.ZipFile(path) as archive:
        names = {name.removesuffix(".npy") for name in archive.namelist()}
        if not {"format", "shape", "indptr", "indices", "data"} <= names or any(x.startswith(OF_GASLA) for x in names):
            return None
        with np.load(path, allow_pickle=False) as arrays:
            format, shape = _string_in(arrays["format"]), tuple(arrays["shape"].ravel().tolist())
    is_known = format in ("csr", "csc") and len(shape) == 2 and shape[0] == shape[1]
    return _read_blocks(path, format, shape[0]) if is_known else None


def _read_blocks(path: Path, format: str, n: int) -> Iterator[Part]:
    with ExitStack() as stack:
        with _convert_errors(path):
            archive = stack.enter_context(zipfile.ZipFile(path))
            with archive.open("indptr.npy") as file:
                indptr = as_ids("indptr", np.lib.format.read_array(file, allow_pickle=False))
            check_offsets(indptr, n, m := int(indptr[-1]) if len(indptr) else 0)
            ids, data_file = (stack.enter_context(archive.open(f"{name}.npy")) for name in ("indices", "data"))
            array_dtypes = [_read_dtype(file, m) for file in (ids, data_file)]
            if array_dtypes[0].kind not in "iu" or array_dtypes[1].name not in SCALAR_NAMES:
                raise ValueError(f"has indices of type {array_dtypes[0]} and data of type {array_dtypes[1]}")
        # A matrix without entries yields one empty part, which holds the number of vertices.
        for start in range(0, max(m, 1), BLOCK):
            block_end = min(start + BLOCK, m)
            with _convert_errors(path):
                neighbors, values = (
                    _read(file, block_end - start, dtype) for file, dtype in zip((ids, data_file), array_dtypes)
                )
                neighbors = neighbors.astype(np.int64, copy=False)
                check_range("indices", neighbors, n)
            owners = rows_of(indptr, start, block_end)
            src, dst = (owners, neighbors) if format == "csr" else (neighbors, owners)
            yield Part(src, dst, values.astype(values.dtype.newbyteorder("="), copy=False), n)


def _read_dtype(file: IO[bytes], m: int) -> np.dtype[Any]:
    """Read the header of a one-dimensional array from the position of a file, and return the array's dtype.

    Raise ValueError if the array has fewer than m items.
    """
    shape, _, dtype = read_header(file)
    if len(shape) != 1 or shape[0] < m or dtype.hasobject:
        raise ValueError(f"has an array of shape {shape} and type {dtype} for {m} entries")
    return dtype


def _read(file: IO[bytes], count: int, dtype: np.dtype[Any]) -> Array:
    content = file.read(count * dtype.itemsize)
    if len(content) < count * dtype.itemsize:
        raise ValueError(f"an array ends after {len(content)} bytes; expected {count * dtype.itemsize}")
    return np.frombuffer(content, dtype)


@contextmanager
def _convert_errors(path: Path) -> Iterator[None]:
    """Convert exceptions to FormatError, because damaged archives raise exceptions of many types."""
    try:
        with warning_filters():
            # NumPy would warn about a damaged header that looks as if an old version of NumPy had written it.
            warnings.simplefilter("ignore")
            yield
    except (MemoryError, FormatError):
        raise
    except Exception as error:
        # EINVAL means that a damaged file made NumPy seek to a position before the start. That is damage, and no error
        # of the operating system, so it becomes a FormatError.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise FormatError(path, None, f"is damaged ({error}); {_EXPECTED}") from error


def _read_arrays(path: Path, stream: IO[bytes]) -> dict[str, Array]:
    """Return those arrays of an archive that may belong to a matrix of SciPy, or to gasla's names and attributes."""
    with _convert_errors(path), np.load(stream, allow_pickle=False) as archive:
        attribute_names = [name for name in archive if name.startswith(_ATTRIBUTES)]
        arrays = {
            name: archive[name] for name in (*_ARRAYS, _VERSION, _NAMES, _TIMES, *attribute_names) if name in archive
        }
        for name, array in arrays.items():
            # NumPy returns bytes for an entry of the archive that is not an array.
            if not isinstance(array, np.ndarray):
                raise ValueError(f"{name} is no array")
        return arrays


def _checked_matrix(path: Path, arrays: dict[str, Array]) -> csr_array:
    """Return the sparse matrix whose arrays an archive holds. Raise ValueError if the arrays are inconsistent."""
    from scipy.sparse import bsr_array, csc_array, csr_array, dia_array

    format, data = _string_in(arrays["format"]), arrays["data"]
    if format not in _FORMATS:
        raise FormatError(path, None, f"has a matrix in format {format!r}; expected one of {', '.join(_FORMATS)}")
    shape = tuple(map(int, as_ids("shape", arrays["shape"])))
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] < 0:
        shown = " x ".join(map(str, shape))
        raise FormatError(path, None, f"a matrix of {shown}; expected a square matrix")
    if data.dtype.name not in SCALAR_NAMES:
        raise FormatError(path, None, f"has {data.dtype} values; expected one of {', '.join(SCALAR_NAMES)}")
    n = shape[0]
    require_memory(n, data.size)
    data = data.astype(data.dtype.newbyteorder("="), copy=False)
    if format == "coo":
        row, col = arrays["coords"] if "coords" in arrays else (arrays["row"], arrays["col"])
        return _matrix_of_edges(n, as_ids("row", row), as_ids("col", col), data)
    if format == "dia":
        offsets = as_ids("offsets", arrays["offsets"])
        if data.ndim != 2 or len(data) != len(offsets):
            raise ValueError(f"data has shape {data.shape}; expected a row for each of {len(offsets)} offsets")
        is_within = (offsets > -n) & (offsets < n)
        A: Any = dia_array((data[is_within], offsets[is_within]), shape=shape).tocoo()
        return to_graph(n, A.row, A.col, A.data).to_scipy()
    compressed = _Compressed(
        format, shape, data, as_ids("indices", arrays["indices"]), as_ids("indptr", arrays["indptr"])
    )
    require_compressed(compressed)
    A = {"csr": csr_array, "csc": csc_array, "bsr": bsr_array}[format](compressed[2:], shape=shape)
    if format == "bsr":
        A = A.tocoo()
        return to_graph(n, A.row, A.col, A.data).to_scipy()
    # Two conversions, to CSC and back, sort the entries of each row. SciPy's other ways to sort would sum parallel
    # entries.
    return A if format == "csr" and A.has_sorted_indices else A.tocsc().tocsr()


def _matrix_of_edges(n: int, row: Array, col: Array, data: Array) -> csr_array:
    if not len(row) == len(col) == data.size or data.ndim != 1:
        raise ValueError(f"{len(row)} rows, {len(col)} columns and {data.shape} values; expected equal counts")
    check_range("row", row, n)
    check_range("col", col, n)
    return to_graph(n, row, col, data).to_scipy()


def _build_graph(path: Path, arrays: dict[str, Array]) -> Graph:
    """Return the graph, with its names and attributes, from the arrays of an archive that gasla has written.

    `write` stores edges sorted by row and column, and edge attributes in that order.
    """
    from gasla.graph.graph import Graph

    A = _checked_matrix(path, arrays)
    columns: dict[str, dict[str, Any]] = {"edge": {}, "vertex": {}}
    for key, column in arrays.items():
        owner, _, name = key.removeprefix(_ATTRIBUTES).partition("/")
        if key.startswith(_ATTRIBUTES) and owner in columns:
            columns[owner][name] = column
    if columns["edge"] and (_string_in(arrays["format"]) != "csr" or not np.array_equal(A.indices, arrays["indices"])):
        raise FormatError(path, None, "has attributes of edges that are not sorted by rows and columns; is it damaged?")
    graph = Graph(A) if _value_in(arrays[_ATTRIBUTES]) else Graph.from_csr(A.indptr, A.indices)
    if _NAMES in arrays:
        graph.naming = names_of_json(path, arrays[_NAMES].tobytes(), graph.n)
    times = parsed_json(path, arrays[_TIMES].tobytes()) if _TIMES in arrays else {}
    for owner, columns_by_name in columns.items():
        for name, time_type in parsed_time_types(times.get(owner, {}), columns_by_name).items():
            columns[owner][name] = TimeColumn(columns_by_name[name], time_type)
    return graph.with_edge_attributes(columns["edge"]).with_vertex_attributes(columns["vertex"])


def _attribute_arrays(graph: Graph) -> dict[str, Array]:
    """Return the arrays that `write` stores for names and attributes besides the matrix, by their names in the archive.

    Edge attributes are in the order of edges sorted by row and column. Graphs without names and attributes need none.
    """
    edges, vertices, names = graph.edge_attributes, graph.vertex_attributes, graph.naming
    if not edges and not vertices and names is None:
        return {}
    columns = {f"{_ATTRIBUTES}edge/{name}": edges.numbers(name)[graph.sorted_out.numbers()] for name in edges}
    columns |= {f"{_ATTRIBUTES}vertex/{name}": vertices.numbers(name) for name in vertices}
    if names is not None:
        columns[_NAMES] = np.frombuffer(names_to_json(names).encode(), np.uint8)
    # The file gets the earliest version that can hold this graph, so that older releases of gasla can read it.
    version = 1 if names is None else 2
    if edges.time_types or vertices.time_types:
        time_types = json.dumps({"edge": edges.time_types, "vertex": vertices.time_types})
        columns[_TIMES], version = np.frombuffer(time_types.encode(), np.uint8), VERSION
    return {**columns, _ATTRIBUTES: np.array(graph.values is not None), _VERSION: np.array(version)}


def _string_in(array: Array) -> str:
    """Return the string that a zero-dimensional array holds."""
    string_value = _value_in(array)
    return string_value.decode("ascii") if isinstance(string_value, bytes) else str(string_value)


def _value_in(array: Array) -> Any:
    """Return the value in a zero-dimensional array. Raise ValueError for text that Python can't represent."""
    try:
        return array.item()
    except SystemError as error:  # NumPy raises SystemError for characters beyond Unicode
        raise ValueError(f"{error}") from error


def write(stream: IO[bytes], graph: Graph, path: Path) -> None:
    """Write a graph as an .npz archive of its CSR arrays, names and attributes."""
    from scipy.sparse import csr_array, save_npz

    # Zip archives need to seek, which compressed streams can't, so the archive is first written to memory.
    archive = io.BytesIO()
    columns = _attribute_arrays(graph)
    rows = graph.sorted_out if columns else graph.out
    values = weights(graph) if not columns or graph.values is None else graph.values[rows.numbers()]
    save_npz(archive, csr_array((values, rows.indices, rows.indptr), shape=(graph.n, graph.n)))
    with zipfile.ZipFile(archive, "a", zipfile.ZIP_DEFLATED) as open_archive:
        for name, column in columns.items():
            with open_archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, column, allow_pickle=False)
    stream.write(archive.getbuffer())
