"""Arrays of a sparse matrix, mapped from a folder of ``.npy`` files or from an ``.npz`` archive without compression.

A folder holds ``indptr.npy``, ``indices.npy`` and, if edges have values, ``data.npy``. An archive is one of
`scipy.sparse.save_npz` with ``compressed=False``, or of `numpy.savez` with arrays of these names.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from gasla.graph.adjacency import Array
from gasla.graph.graph import Graph
from gasla.graph.io.files import FormatError
from gasla.graph.mapped_files import MappedFiles
from gasla.graph.validate import is_value_type, lists_of_rows

NAMES = ("indptr", "indices", "data")
# prefixes of the names of arrays with attributes and names of vertices, which the module `npz` stores besides a matrix
OF_GASLA = ("attributes/", "gasla/")
_EXPECTED = "expected arrays indptr, indices and, if edges have values, data"


def is_folder(path: Path) -> bool:
    """Return whether a folder holds the arrays of a sparse matrix."""
    return (path / "indptr.npy").is_file()


def open_matrix(path: Path) -> Graph:
    """Return the graph of a matrix whose arrays are mapped from a folder or an archive. See `gasla.io.open`."""
    paths = [path] if path.is_file() else [file for name in NAMES if (file := path / f"{name}.npy").is_file()]
    # The sizes and times of the files are recorded before the files are read, so that a change while they are read is
    # noticed.
    files = MappedFiles(path, paths)
    arrays, by_column = (_map_archive if path.is_file() else _map_folder)(path)
    indptr, indices, data = (arrays.get(name) for name in NAMES)
    if indptr is None or indices is None:
        raise FormatError(path, None, f"has arrays {', '.join(arrays) or 'of other names'}; {_EXPECTED}")
    for name, array in arrays.items():
        if array.ndim != 1:
            raise FormatError(path, None, f"{name} has shape {array.shape}; expected one dimension")
    for name, ids in (("indptr", indptr), ("indices", indices)):
        if ids.dtype not in (np.int32, np.int64):
            raise FormatError(path, None, f"{name} has type {ids.dtype}; expected int32 or int64, in native byte order")
    if data is not None and not (data.dtype.isnative and is_value_type(data.dtype)):
        raise FormatError(path, None, f"data has type {data.dtype}; expected real numbers, in native byte order")
    graph: Graph = Graph.__new__(Graph)
    try:
        if len(indptr) == 0:
            raise ValueError("indptr is empty; expected n + 1 offsets")
        graph._set_lists(*lists_of_rows(len(indptr) - 1, indptr, indices, data, by_column))
    except ValueError as error:
        raise FormatError(path, None, f"{error}; {_EXPECTED}") from error
    files.require_unchanged()
    graph.files = graph.lists.files = files
    files.columns = [graph.values]
    return graph


def _map_folder(path: Path) -> tuple[dict[str, Array], bool]:
    """Return the arrays of a CSR matrix in a folder by name, memory-mapped, and False.

    The second value says whether the matrix is in CSC form, as for `_map_archive`. In a folder it always is in CSR
    form.
    """
    arrays = {}
    for name in NAMES:
        file = path / f"{name}.npy"
        if file.is_file():
            with _convert_errors(file):
                arrays[name] = np.asarray(np.load(file, mmap_mode="r", allow_pickle=False))
    return arrays, False


def _map_archive(path: Path) -> tuple[dict[str, Array], bool]:
    """Return the arrays of an archived matrix by name, memory-mapped, and whether the matrix is in CSC form."""
    with open(path, "rb") as file, _convert_errors(path), zipfile.ZipFile(file) as archive:
        members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
        if any(name.startswith(OF_GASLA) for name in members):
            raise FormatError(path, None, f"has names or attributes, which can't be mapped; {how_to_convert(path)}")
        by_column = False
        if "format" in members:
            format_name = _read_small_array(archive, "format").item()
            format_name = format_name.decode("ascii") if isinstance(format_name, bytes) else format_name
            shape = tuple(_read_small_array(archive, "shape").tolist())
            by_column = format_name == "csc"
            if format_name not in ("csr", "csc"):
                raise FormatError(path, None, f"has a matrix in format {format_name!r}; {how_to_convert(path)}")
            if len(shape) != 2 or shape[0] != shape[1]:
                raise FormatError(path, None, f"has a matrix of shape {shape}; expected a square matrix")
        return {name: _map_member(path, file, members[name]) for name in NAMES if name in members}, by_column


def _map_member(path: Path, file: IO[bytes], member: zipfile.ZipInfo) -> Array:
    """Return one array of an uncompressed archive, memory-mapped.

    The array may begin at an unaligned address, which is no error for kernels that only read it.
    """
    if member.compress_type != zipfile.ZIP_STORED:
        raise FormatError(path, None, f"is compressed and can't be mapped; {how_to_convert(path)}")
    # The array begins after its local header, which also holds a name and extra data. Their lengths may differ from
    # those in the directory of the archive, so they are read from the local header.
    file.seek(member.header_offset + 26)
    name, extra = np.frombuffer(file.read(4), "<u2").tolist()
    data_start = member.header_offset + 30 + name + extra
    file.seek(data_start)
    shape, fortran, dtype = read_header(file)
    if dtype.hasobject or (fortran and len(shape) > 1):
        raise ValueError(f"{member.filename} has type {dtype} and shape {shape}")
    offset = file.tell()
    if offset + dtype.itemsize * int(np.prod(shape)) != data_start + member.file_size:
        raise ValueError(f"{member.filename} has {member.file_size:,} bytes, which do not fit its shape {shape}")
    if not int(np.prod(shape)):
        return np.zeros(shape, dtype)
    return np.asarray(np.memmap(path, dtype, "r", offset, shape))


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of a ``.npy`` array. Return its shape, whether it is in Fortran order, and its dtype."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"an array has version {version} of the .npy format; expected 1.0 or 2.0")
    read = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}[version[0]]
    header: tuple[tuple[int, ...], bool, np.dtype[Any]] = read(file)
    return header


def _read_small_array(archive: zipfile.ZipFile, name: str) -> Array:
    with archive.open(f"{name}.npy") as file:
        array: Array = np.lib.format.read_array(file, allow_pickle=False)
        return array


def how_to_convert(path: Path) -> str:
    """Return the advice that error messages give for an archive that can't be memory-mapped."""
    return (
        "expected a CSR or CSC matrix without compression; gasla.io.convert makes a folder of it in bounded memory, "
        f"which gasla.io.open maps: type gasla convert {path} {path.with_suffix('.gasla')}"
    )


@contextmanager
def _convert_errors(path: Path) -> Iterator[None]:
    """Convert exceptions that damaged arrays and archives cause to FormatError."""
    try:
        yield
    except (OSError, MemoryError, FormatError):
        raise
    # Many types of exceptions are caught, because a damaged header raises anything from SyntaxError to TokenError.
    except Exception as error:
        raise FormatError(path, None, f"is damaged or truncated ({error}); {_EXPECTED}") from error
