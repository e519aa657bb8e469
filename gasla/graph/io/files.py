"""Functions shared by readers and writers of all formats: errors, compression, numeric columns, names as JSON."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import re
import threading
import warnings
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TextIO

import numpy as np

from gasla.arrays import index_dtype
from gasla.graph.dates import TimeColumn
from gasla.graph.exchange.columns import arrow
from gasla.graph.exchange.vertex_names import Names
from gasla.graph.memory_limit import available, require_bytes
from gasla.progress import follow, track

if TYPE_CHECKING:
    from gasla.graph.graph import Graph

Array = np.ndarray[Any, Any]
_filtering = threading.RLock()
COMPRESSIONS: dict[str, Callable[..., Any]] = {
    # gzip would store the name of the temporary file in the compressed file, so this passes an empty name.
    ".gz": lambda file, mode: gzip.GzipFile("", mode, 6, file),
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": lambda file, mode: _open_zstandard(file, mode),
}


class _LeftOpen:
    """A wrapper of a file that ignores `close`.

    pyarrow closes the file together with the compressed stream, but the caller goes on writing to the file.
    """

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self.write, self.flush = file.write, file.flush

    def close(self) -> None:
        """Do nothing, so that the wrapped file stays open and the caller can go on with it."""


def _open_zstandard(file: IO[bytes], mode: str) -> Any:
    """Return a stream that compresses to a file, or decompresses it, in Zstandard format by pyarrow."""
    pa = arrow()
    if mode == "wb":
        return pa.CompressedOutputStream(pa.PythonFile(_LeftOpen(file), "w"), "zstd")
    try:
        return BytesIO(pa.CompressedInputStream(file, "zstd").read())
    except OSError as error:
        raise zlib.error(" ".join(str(error).split())) from error


PART = 1 << 20  # number of bytes of text that a reader reads and parses at a time
BLOCK = 1 << 16  # number of edges that are read or written at a time; about ten arrays of 64-bit words have this length

EXPECTED_ID = "expected a whole number from 0, of 64 bits at most; pass names=True if ids are names"
EXPECTED_WEIGHT = "expected a number, with a point before its decimals"


class Part(NamedTuple):
    """Consecutive edges of a file. Readers of large files yield one such part after the other."""

    src: Array
    dst: Array
    weights: Array | None
    n: int = 0  # number of vertices of the whole graph, or 0 if the file does not say
    m: int = 0  # number of edges of the whole graph, or 0 if the file does not say
    states_n: bool = False  # whether the file states its number of vertices, so that large ids are no sign of names
    attributes: Mapping[str, Array | TimeColumn] = MappingProxyType(
        {}
    )  # attributes of these edges; all parts of a file have attributes of the same names


class WeightType:
    """The dtype that can hold the weights of all parts of a file, each of which may have another dtype.

    That is the dtype of the parts if they agree, uint64 if they are int64 and uint64 without negative weights, and else
    float64.
    """

    def __init__(self) -> None:
        self._dtypes: set[np.dtype[Any]] = set()
        self._dtype_of_empty: np.dtype[Any] | None = None
        self._smallest = 0

    def see(self, weights: Array | None) -> None:
        """Take the weights of one more part into account."""
        if weights is None:
            return
        self._dtype_of_empty = weights.dtype
        if len(weights):
            self._dtypes.add(weights.dtype)
            self._smallest = min(self._smallest, int(weights.min())) if weights.dtype.kind == "i" else self._smallest

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """The dtype for the weights of all parts, or None if parts have no weights."""
        if len(self._dtypes) <= 1:
            return next(iter(self._dtypes), self._dtype_of_empty)
        if self._dtypes == {np.dtype(np.int64), np.dtype(np.uint64)} and self._smallest >= 0:
            return np.dtype(np.uint64)
        return np.dtype(np.float64)


class FormatError(ValueError):
    """The error for a malformed or truncated file.

    `line` is the number of the line, from 1, or None. `said` is the message without path and line.
    """

    def __init__(self, path: Path, line: int | None, message: str) -> None:
        self.path, self.line, self.said = path, line, message
        super().__init__(f"{path}: {message}" if line is None else f"{path}, line {line}: {message}")

    def __reduce__(self) -> tuple[type[FormatError], tuple[Path, int | None, str]]:
        return type(self), (self.path, self.line, self.said)

    @classmethod
    def of_count(cls, path: Path, line: int | None, promised: int, count: int) -> FormatError:
        """Return the error for a file that holds more or fewer edges than its header promises."""
        hint = "is the file truncated?" if count < promised else "expected the same number"
        return cls(path, line, f"the header says {promised} edges, and {count} follow; {hint}")


class TooLarge(FormatError, MemoryError):
    """The error for a file whose graph needs more memory than is available."""

    @classmethod
    def of(cls, path: Path, wanted: str) -> TooLarge:
        """Return the error for a file, where `wanted` says in words how much memory is needed."""
        memory = available("cpu")
        wanted = wanted.partition("; if ids are names")[0]
        memory_text = "" if memory is None or "available" in wanted else f", and {memory:,} bytes are available"
        return cls(
            path,
            None,
            f"not enough memory: {wanted}{memory_text}; if ids are names, such as account numbers, pass names=True, "
            "which numbers only the ids that occur; else read a part of the file",
        )


def require_version(path: Path, what: str, version: Any, known: int) -> None:
    """Raise FormatError unless this gasla can read the version of the format that a file states.

    `what` is the name of the format, and `known` the latest version that this gasla reads. Versions count from 1.

    Examples
    --------
    >>> require_version(Path("a.npz"), "npz", 2, 1)
    Traceback (most recent call last):
    gasla.graph.io.files.FormatError: a.npz: has version 2 of the npz format, and this gasla reads version 1; ...
    """
    if type(version) is int and 1 <= version <= known:
        return
    reads = f"has version {version!r} of the {what} format, and this gasla reads version {known}"
    hint = "upgrade gasla" if type(version) is int and version > known else "is the file damaged?"
    raise FormatError(path, None, f"{reads}; {hint}")


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Convert exceptions to FormatError that damaged compressed data or a file with too many vertices cause."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise FormatError(path, None, f"the compressed file is damaged or truncated ({error})") from error
    except OSError as error:
        # An error with a number is of the operating system, such as "file not found", and is raised unchanged. An error
        # without a number is of a decompressor.
        if error.errno is not None:
            raise
        raise FormatError(path, None, f"the compressed file is damaged ({error})") from error
    except TooLarge:
        raise
    except MemoryError as error:
        message = " ".join(str(error).split())
        file_size = path.stat().st_size if path.is_file() else 0
        requirement = (
            message if re.search(r"\d", message) else f"the graph needs more than the {file_size:,} bytes of the file"
        )
        raise TooLarge.of(path, requirement) from error


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed according to its suffix."""
    with open(path, "rb") as file:
        file_size = os.fstat(file.fileno()).st_size

        def place() -> tuple[int, int]:
            # Where the position can't be read, because the file is closed or is a pipe, progress shows the file as
            # complete.
            with suppress(ValueError, OSError):
                return file.raw.tell(), file_size
            return file_size, file_size

        follow(place, "bytes")
        # Readers seek, which pipes don't support, so a pipe is read into memory first.
        source = file if file.seekable() else BytesIO(file.read())
        with COMPRESSIONS.get(path.suffix.lower(), lambda file, _: file)(source, "rb") as stream:
            yield stream


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open a file as Latin-1 text, in which every byte is a character and decoding never fails.

    A UTF-8 BOM is skipped.
    """
    with open_bytes(path) as stream:
        if stream.read(len(BOM_UTF8)) != BOM_UTF8:
            stream.seek(0)
        with TextIOWrapper(stream, encoding="latin-1") as text:
            yield text


@contextmanager
def compress(stream: IO[bytes], path: Path) -> Iterator[IO[bytes]]:
    """Yield a stream that writes to `stream` and compresses according to the suffix of `path`."""
    with COMPRESSIONS.get(path.suffix.lower(), lambda file, _: nullcontext(file))(stream, "wb") as compressed_stream:
        yield compressed_stream


@contextmanager
def warning_filters() -> Iterator[None]:
    """Open a context in which this thread may change Python's warning filters, one thread at a time.

    All threads of a process share the warning filters, so a thread would restore filters that another thread has
    changed.
    """
    with _filtering, warnings.catch_warnings():
        yield


def _after_fork() -> None:
    global _filtering
    # When the process forked, another thread of the parent may have held the lock. That thread does not exist in the
    # child, so nobody would release the lock, and the child needs a new one.
    _filtering = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def read_table(stream: TextIO, fields: list[tuple[str, str]], comments: str) -> Array | None:
    """Return the remaining lines of a text as a structured array with one record per line.

    Return None if a line does not have the expected fields. `fields` are pairs of a name and a dtype. The last field
    may have "number" in place of a dtype. It is then int64 if all values are integers in that range, else uint64 if
    possible, else float64.
    """
    text = uncommented(stream.read(), comments)
    for number_type in ("i8", "u8", "f8") if fields[-1][1] == "number" else ("",):
        types = [(name, number_type if field_kind == "number" else field_kind) for name, field_kind in fields]
        try:
            with warning_filters():
                # NumPy only warns when it parses 1.5 as an integer. As an error, the warning makes this loop try the
                # next dtype.
                warnings.simplefilter("error", DeprecationWarning)
                warnings.filterwarnings("ignore", "loadtxt: input contained no data")
                return np.loadtxt(StringIO(text), dtype=types, comments=None, ndmin=1)
        except (ValueError, DeprecationWarning, OverflowError):
            continue
    return None


def parts_of_table(stream: TextIO, fields: list[tuple[str, str]], comments: str) -> Iterator[Array | None]:
    """Yield the records of a text in structured arrays of some lines each, or None for malformed lines.

    The parameters are those of `read_table`.
    """
    while lines := stream.readlines(PART):
        yield read_table(StringIO("".join(lines)), fields, comments)


def complain(path: Path, check: Callable[[int, list[str]], str | None], comments: str) -> FormatError:
    """Return the error for the first malformed line of a file.

    `check(line number, words)` returns a message for a malformed line, and None for a valid line. `comments` are the
    characters that start a comment.
    """
    line_number = 0
    with open_text(path) as stream:
        for line_number, line in enumerate(stream, start=1):
            words_of_line = uncommented(line, comments).split()
            message = check(line_number, words_of_line) if words_of_line else None
            if message is not None:
                return FormatError(path, line_number, message)
    return FormatError(path, line_number, "malformed")


def uncommented(text: str, comments: str) -> str:
    r"""Return text without its comments, which begin at a word that starts with a character of `comments`.

    Within a word these characters have no meaning.

    Examples
    --------
    >>> uncommented("% bip\n0 1 # Nodes: 50%\n2 3#4", "#%")
    '\n0 1 \n2 3#4'
    """
    if not any(sign in text for sign in comments):
        return text
    return re.sub(rf"(?<!\S)[{re.escape(comments)}].*", "", text)


def parsed_json(path: Path, text: str | bytes) -> Any:
    """Return the value of a JSON text. Raise FormatError if the text is not valid JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # lists nested too deeply raise RecursionError
        raise FormatError(path, None, f"is damaged ({error}); expected JSON") from error


def names_to_json(names: Names) -> str:
    """Return the names of vertices as a JSON list. Raise TypeError for a name that is neither a string nor an integer.

    Examples
    --------
    >>> names_to_json(Names(np.array(["Oslo", 7], object)))
    '["Oslo", 7]'
    """
    names_list = [int(name) if isinstance(name, np.integer) else name for name in names.each.tolist()]
    bad_name = next((name for name in names_list if not isinstance(name, str | int) or isinstance(name, bool)), None)
    if bad_name is not None:
        raise TypeError(f"vertex {bad_name!r} has a name of {type(bad_name).__name__}; expected strings or integers")
    return json.dumps(names_list)


def names_of_json(path: Path, text: str | bytes, n: int) -> Names:
    """Return the names of n vertices, parsed from a JSON text. Raise FormatError unless it is a list of n names."""
    names = parsed_json(path, text)
    if not isinstance(names, list) or len(names) != n or not all(isinstance(name, str | int) for name in names):
        raise FormatError(path, None, f"is damaged; expected a list of {n} names")
    objects = np.empty(n, object)
    objects[:] = names
    return Names(objects)


def within(table: Array, n: int) -> bool:
    """Return whether all vertex ids in the columns u and v of a table of edges are from 1 to n."""
    return len(table) == 0 or all(table[end].min() >= 1 and table[end].max() <= n for end in ("u", "v"))


def is_whole(word: str, stop: int = 2**63) -> bool:
    """Return whether a word is an integer from -2**63 to below `stop`."""
    return re.fullmatch(r"[+-]?\d{1,30}", word, re.ASCII) is not None and -(2**63) <= int(word) < stop


def is_count(word: str) -> bool:
    """Return whether a word is a count: digits only, and at most 18, so that it fits into 64 bits."""
    return word.isdecimal() and len(word) <= 18


def is_number(word: str) -> bool:
    """Return whether a word is a number that `float` can parse, without underscores between digits."""
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word


def to_graph(n: int, src: Array, dst: Array, values: Array | None) -> Graph:
    """Return the graph with these edges, sorted by source and target. Parallel edges stay in their order."""
    require_memory(n, len(src))
    # int32 if possible, because SciPy would keep int64, which takes twice the memory
    ids = index_dtype(max(n, len(src)))
    return _sort_edges(n, src.astype(ids, copy=False), dst.astype(ids, copy=False), values)


def _sort_edges(n: int, src: Array, dst: Array, values: Array | None) -> Graph:
    from scipy.sparse import coo_array

    from gasla.graph.graph import Graph

    coo = coo_array((np.zeros(len(src), np.bool_) if values is None else values, (src, dst)), shape=(n, n))
    # This claims that there are no duplicates, so that SciPy does not sum the values of parallel edges.
    coo.has_canonical_format = True
    is_weighted = values is not None
    del values, src, dst
    csc = coo.tocsc()  # conversion sorts by column, and back to rows by row; both sorts are stable
    del coo
    csr = csc.tocsr()
    del csc
    return Graph.from_csr(csr.indptr, csr.indices, csr.data if is_weighted else None)


def graph_of_parts(parts: Iterable[Part], require: Callable[[int, int], None] = lambda n, m: None) -> Graph:
    """Return the graph with the edges of all parts, sorted by source and target. Parallel edges stay in their order.

    `require(n, m)` may raise an error for the numbers of vertices and edges. Besides the result, memory holds at most
    16 bytes per edge, because the ids of each part are converted to int32 where that suffices, and each array is freed
    once the next one is built from it.
    """
    weight_type, sources, targets, weights = WeightType(), [], [], []
    n = m = 0
    for edge_part in parts:
        weight_type.see(edge_part.weights)
        n = max(n, edge_part.n, *(1 + int(ids.max(initial=-1)) for ids in (edge_part.src, edge_part.dst)))
        m += len(edge_part.src)
        sources.append(edge_part.src.astype(index_dtype(n)))
        targets.append(edge_part.dst.astype(index_dtype(n)))
        # A copy, because a view of one field would keep the whole structured array of the part in memory.
        weights.append(None if edge_part.weights is None else edge_part.weights.copy())
    require_memory(n, m)
    require(n, m)
    # int32 if possible, because SciPy would keep int64, which takes twice the memory
    ids, weight = index_dtype(max(n, m)), weight_type.dtype
    # The arrays get no local names here, because such a reference would keep `_sort_edges` from freeing them.
    return _sort_edges(
        n,
        _concatenate(sources, m, ids),
        _concatenate(targets, m, ids),
        None if weight is None else _concatenate(weights, m, weight),
    )


def _concatenate(pieces: list[Any], length: int, dtype: np.dtype[Any]) -> Array:
    """Return one array that holds the arrays of a list in their order.

    The list is emptied meanwhile, so that each array is freed once it is copied.
    """
    joined_array, end = np.empty(length, dtype), length
    while pieces:
        piece = pieces.pop()
        joined_array[end - len(piece) : end] = piece
        end -= len(piece)
    return joined_array


def require_memory(n: int, m: int) -> None:
    """Raise MemoryError if a graph needs more than the available memory.

    A small file can hold such a graph: one edge between vertices 0 and 10**10 needs memory for all vertices between.
    """
    remedy = "gasla.io.convert makes a folder of any file, in little memory"
    require_bytes(f"{n:,} vertices and {m:,} edges need", 16 * n + 24 * m, remedy)


def edge_blocks(graph: Graph) -> Iterator[tuple[list[int], list[int], list[Any]]]:
    """Yield the sources, targets and weights of a graph's edges as lists, in blocks of edges sorted by source.

    If all weights of the graph are whole numbers, the lists hold ints, so that writers print weights without decimals.
    """
    indptr, indices = graph.out.indptr, graph.out.indices
    values = weights(graph)
    are_integers = values.dtype.kind != "f" or bool(np.all(np.isfinite(values)) and np.all(values == np.rint(values)))
    for start in track(range(0, graph.m, BLOCK), "blocks"):
        block_end = min(start + BLOCK, graph.m)
        src = rows_of(indptr, start, block_end)
        block_values = values[start:block_end]
        yield (
            src.tolist(),
            indices[start:block_end].tolist(),
            [int(x) for x in block_values.tolist()] if are_integers else block_values.tolist(),
        )


def rows_of(indptr: Array, start: int, stop: int) -> Array:
    """Return the row of each entry from position `start` to `stop` of a CSR matrix, given its row offsets."""
    return np.searchsorted(indptr, np.arange(start, stop), side="right") - 1


def weights(graph: Graph) -> Array:
    """Return the weights of a graph in the order of edges sorted by source, or ones if the graph has no weights."""
    return np.ones(graph.m, np.float32) if graph.out_values is None else graph.out_values


def has_weights(graph: Graph) -> bool:
    """Return whether any edge of a graph has a weight other than 1."""
    return graph.values is not None and bool(np.any(graph.values != 1))
