"""NumPy archives as written by `scipy.sparse.save_npz`. All arrays are checked before SciPy uses them.

Names and attributes are further arrays of the archive, which SciPy passes over.
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
_KEPT = "attributes/"  # prefix of arrays of attributes; the array of this name says whether the graph has values
_NAMES = "gasla/names"  # the array with the names of vertices: the bytes of a JSON list
_TIMES = "gasla/times"  # the array with the kind, unit and zone of dates and times: the bytes of JSON
_VERSION = "gasla/version"  # the array with the version of the form of attributes and names
VERSION = 3  # 1 has no names, 2 no dates
_EXPECTED = "expected a file written by scipy.sparse.save_npz"


class _Compressed(NamedTuple):
    """The unchecked arrays of a compressed matrix."""

    format: str
    shape: tuple[int, int]
    data: Array
    indices: Array
    indptr: Array


def read(path: Path) -> Graph:
    """Return the graph in an archive."""
    from gasla.graph.graph import Graph

    with open_bytes(path) as stream:
        if not zipfile.is_zipfile(stream):
            raise FormatError(path, None, f"is not an archive, or truncated; {_EXPECTED}")
        stream.seek(0)
        arrays = _arrays(path, stream)
    if "format" not in arrays:
        raise FormatError(path, None, f"contains no sparse array; {_EXPECTED}")
    try:
        require_version(path, "npz", int(_item(arrays.get(_VERSION, np.array(VERSION)))), VERSION)
        return (
            _graph(path, arrays) if any(name.startswith(OF_GASLA) for name in arrays) else Graph(_matrix(path, arrays))
        )
    except KeyError as error:
        raise FormatError(path, None, f"has no array {error}; {_EXPECTED}") from error
    except FormatError:
        raise
    except (ValueError, TypeError) as error:
        raise FormatError(path, None, f"{error}; {_EXPECTED}") from error


def parts(path: Path) -> Iterator[Part] | None:
    """Return the edges of a CSR or CSC matrix, in blocks that are decompressed one after the other.

    None for other archives.

    Memory holds the offsets of the lists, and one block.
    """
    if not path.is_file() or path.suffix.lower() in COMPRESSIONS or not zipfile.is_zipfile(path):
        return None
    with _translated(path), zipfile.ZipFile(path) as archive:
        names = {name.removesuffix(".npy") for name in archive.namelist()}
        if not {"format", "shape", "indptr", "indices", "data"} <= names or any(x.startswith(OF_GASLA) for x in names):
            return None
        with np.load(path, allow_pickle=False) as arrays:
            format, shape = _word(arrays["format"]), tuple(arrays["shape"].ravel().tolist())
    is_known = format in ("csr", "csc") and len(shape) == 2 and shape[0] == shape[1]
    return _blocks(path, format, shape[0]) if is_known else None


def _blocks(path: Path, format: str, n: int) -> Iterator[Part]:
    with ExitStack() as stack:
        with _translated(path):
            archive = stack.enter_context(zipfile.ZipFile(path))
            with archive.open("indptr.npy") as file:
                indptr = as_ids("indptr", np.lib.format.read_array(file, allow_pickle=False))
            check_offsets(indptr, n, m := int(indptr[-1]) if len(indptr) else 0)
            ids, data = (stack.enter_context(archive.open(f"{name}.npy")) for name in ("indices", "data"))
            kinds = [_kind(file, m) for file in (ids, data)]
            if kinds[0].kind not in "iu" or kinds[1].name not in SCALAR_NAMES:
                raise ValueError(f"has indices of type {kinds[0]} and data of type {kinds[1]}")
        for start in range(0, max(m, 1), BLOCK):  # at least one part, for the number of vertices
            stop = min(start + BLOCK, m)
            with _translated(path):
                others, values = (_read(file, stop - start, kind) for file, kind in zip((ids, data), kinds))
                others = others.astype(np.int64, copy=False)
                check_range("indices", others, n)
            own = rows_of(indptr, start, stop)
            src, dst = (own, others) if format == "csr" else (others, own)
            yield Part(src, dst, values.astype(values.dtype.newbyteorder("="), copy=False), n)


def _kind(file: IO[bytes], m: int) -> np.dtype[Any]:
    """Return the type of the one-dimensional array that begins here, which has at least m items."""
    shape, _, kind = read_header(file)
    if len(shape) != 1 or shape[0] < m or kind.hasobject:
        raise ValueError(f"has an array of shape {shape} and type {kind} for {m} entries")
    return kind


def _read(file: IO[bytes], count: int, dtype: np.dtype[Any]) -> Array:
    data = file.read(count * dtype.itemsize)
    if len(data) < count * dtype.itemsize:
        raise ValueError(f"an array ends after {len(data)} bytes; expected {count * dtype.itemsize}")
    return np.frombuffer(data, dtype)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Convert the exceptions of damaged archives, compression and headers to FormatError: there are many types."""
    try:
        with warning_filters():
            warnings.simplefilter("ignore")  # damaged headers may look like old ones, of which NumPy warns
            yield
    except (MemoryError, FormatError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # EINVAL: seek before the start
            raise
        raise FormatError(path, None, f"is damaged ({error}); {_EXPECTED}") from error


def _arrays(path: Path, stream: IO[bytes]) -> dict[str, Array]:
    """Return the arrays of the archive that may belong to a matrix."""
    with _translated(path), np.load(stream, allow_pickle=False) as archive:
        kept = [name for name in archive if name.startswith(_KEPT)]
        arrays = {name: archive[name] for name in (*_ARRAYS, _VERSION, _NAMES, _TIMES, *kept) if name in archive}
        for name, array in arrays.items():
            if not isinstance(array, np.ndarray):  # NumPy returns the bytes of what does not begin as an array
                raise ValueError(f"{name} is no array")
        return arrays


def _matrix(path: Path, arrays: dict[str, Array]) -> csr_array:
    """Return the matrix made of the arrays, which are checked first."""
    from scipy.sparse import bsr_array, csc_array, csr_array, dia_array

    format, data = _word(arrays["format"]), arrays["data"]
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
        return _of_edges(n, as_ids("row", row), as_ids("col", col), data)
    if format == "dia":
        offsets = as_ids("offsets", arrays["offsets"])
        if data.ndim != 2 or len(data) != len(offsets):
            raise ValueError(f"data has shape {data.shape}; expected a row for each of {len(offsets)} offsets")
        inside = (offsets > -n) & (offsets < n)
        A: Any = dia_array((data[inside], offsets[inside]), shape=shape).tocoo()
        return to_graph(n, A.row, A.col, A.data).to_scipy()
    given = _Compressed(format, shape, data, as_ids("indices", arrays["indices"]), as_ids("indptr", arrays["indptr"]))
    require_compressed(given)
    A = {"csr": csr_array, "csc": csc_array, "bsr": bsr_array}[format](given[2:], shape=shape)
    if format == "bsr":
        A = A.tocoo()
        return to_graph(n, A.row, A.col, A.data).to_scipy()
    return A if format == "csr" and A.has_sorted_indices else A.tocsc().tocsr()  # sorts without summing entries


def _of_edges(n: int, row: Array, col: Array, data: Array) -> csr_array:
    if not len(row) == len(col) == data.size or data.ndim != 1:
        raise ValueError(f"{len(row)} rows, {len(col)} columns and {data.shape} values; expected equal counts")
    check_range("row", row, n)
    check_range("col", col, n)
    return to_graph(n, row, col, data).to_scipy()


def _graph(path: Path, arrays: dict[str, Array]) -> Graph:
    """Return the graph of the arrays, which `write` has put into the order of sorted rows.

    It has names and attributes.
    """
    from gasla.graph.graph import Graph

    A = _matrix(path, arrays)
    columns: dict[str, dict[str, Any]] = {"edge": {}, "vertex": {}}
    for key, column in arrays.items():
        of, _, name = key.removeprefix(_KEPT).partition("/")
        if key.startswith(_KEPT) and of in columns:
            columns[of][name] = column
    if columns["edge"] and (_word(arrays["format"]) != "csr" or not np.array_equal(A.indices, arrays["indices"])):
        raise FormatError(path, None, "has attributes of edges that are not sorted by rows and columns; is it damaged?")
    graph = Graph(A) if _item(arrays[_KEPT]) else Graph.from_csr(A.indptr, A.indices)
    if _NAMES in arrays:
        graph.naming = names_of_json(path, arrays[_NAMES].tobytes(), graph.n)
    times = parsed_json(path, arrays[_TIMES].tobytes()) if _TIMES in arrays else {}
    for of, each in columns.items():
        for name, kind in parsed_time_types(times.get(of, {}), each).items():
            columns[of][name] = TimeColumn(each[name], kind)
    return graph.with_edge_attributes(columns["edge"]).with_vertex_attributes(columns["vertex"])


def _columns(graph: Graph) -> dict[str, Array]:
    """Return attributes by the names of their arrays, those of edges by sorted rows.

    Names and a flag for values are added.
    """
    edges, vertices, names = graph.edge_attributes, graph.vertex_attributes, graph.naming
    if not edges and not vertices and names is None:
        return {}
    columns = {f"{_KEPT}edge/{name}": edges.numbers(name)[graph.sorted_out.numbers()] for name in edges}
    columns |= {f"{_KEPT}vertex/{name}": vertices.numbers(name) for name in vertices}
    if names is not None:
        columns[_NAMES] = np.frombuffer(names_to_json(names).encode(), np.uint8)
    version = 1 if names is None else 2  # the earliest version that can hold this graph
    if edges.time_types or vertices.time_types:
        about = json.dumps({"edge": edges.time_types, "vertex": vertices.time_types})
        columns[_TIMES], version = np.frombuffer(about.encode(), np.uint8), VERSION
    return {**columns, _KEPT: np.array(graph.values is not None), _VERSION: np.array(version)}


def _word(array: Array) -> str:
    """Return the string in a zero-dimensional array."""
    word = _item(array)
    return word.decode("ascii") if isinstance(word, bytes) else str(word)


def _item(array: Array) -> Any:
    """Return the value in a zero-dimensional array. Raises ValueError if it is text that Python can't hold."""
    try:
        return array.item()
    except SystemError as error:  # NumPy's error for characters beyond Unicode
        raise ValueError(f"{error}") from error


def write(stream: IO[bytes], graph: Graph, path: Path) -> None:
    """Write an archive of the CSR arrays, the names and the attributes."""
    from scipy.sparse import csr_array, save_npz

    archive = io.BytesIO()  # zip archives need to seek, which compressed streams can't
    columns = _columns(graph)
    rows = graph.sorted_out if columns else graph.out
    values = weights(graph) if not columns or graph.values is None else graph.values[rows.numbers()]
    save_npz(archive, csr_array((values, rows.indices, rows.indptr), shape=(graph.n, graph.n)))
    with zipfile.ZipFile(archive, "a", zipfile.ZIP_DEFLATED) as more:
        for name, column in columns.items():
            with more.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, column, allow_pickle=False)
    stream.write(archive.getbuffer())
