"""Common parts of all file formats: errors, compression, parsing of numeric columns, names as JSON."""

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
    ".gz": lambda file, mode: gzip.GzipFile("", mode, 6, file),  # does not store the name of the temporary file
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": lambda file, mode: _zstandard(file, mode),
}


class _LeftOpen:
    """A file that pyarrow does not close with its own stream."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self.write, self.flush = file.write, file.flush

    def close(self) -> None:
        """Leave the file open."""


def _zstandard(file: IO[bytes], mode: str) -> Any:
    """Return a stream that compresses or decompresses a file by pyarrow."""
    pa = arrow()
    if mode == "wb":
        return pa.CompressedOutputStream(pa.PythonFile(_LeftOpen(file), "w"), "zstd")
    try:
        return BytesIO(pa.CompressedInputStream(file, "zstd").read())
    except OSError as error:
        raise zlib.error(" ".join(str(error).split())) from error


PART = 1 << 20  # bytes of text that are read at a time
BLOCK = 1 << 16  # edges that are moved at a time, in some ten arrays of 64-bit words

EXPECTED_ID = "expected a whole number from 0, of 64 bits at most; pass names=True if ids are names"
EXPECTED_WEIGHT = "expected a number, with a point before its decimals"


class Part(NamedTuple):
    """Some edges in their order."""

    src: Array
    dst: Array
    weights: Array | None
    n: int = 0  # vertices of the whole graph; 0 if the file does not say
    m: int = 0  # edges of the whole graph; 0 if the file does not say
    states_n: bool = False  # whether the file says how many vertices there are
    attributes: Mapping[str, Array | TimeColumn] = MappingProxyType(
        {}
    )  # attributes of the edges; all parts have the same names


class WeightType:
    """The type that holds the weights of all parts: theirs if they agree, uint64 if none is negative, or float64."""

    def __init__(self) -> None:
        self._kinds: set[np.dtype[Any]] = set()
        self._of_nothing: np.dtype[Any] | None = None
        self._least = 0

    def see(self, weights: Array | None) -> None:
        """Take one part's weights into account."""
        if weights is None:
            return
        self._of_nothing = weights.dtype
        if len(weights):
            self._kinds.add(weights.dtype)
            self._least = min(self._least, int(weights.min())) if weights.dtype.kind == "i" else self._least

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """The type, or None if parts have no weights."""
        if len(self._kinds) <= 1:
            return next(iter(self._kinds), self._of_nothing)
        if self._kinds == {np.dtype(np.int64), np.dtype(np.uint64)} and self._least >= 0:
            return np.dtype(np.uint64)
        return np.dtype(np.float64)


class FormatError(ValueError):
    """Raised for a malformed or truncated file. `line` is the line number from 1, or None, and `said` the reason."""

    def __init__(self, path: Path, line: int | None, message: str) -> None:
        self.path, self.line, self.said = path, line, message
        super().__init__(f"{path}: {message}" if line is None else f"{path}, line {line}: {message}")

    def __reduce__(self) -> tuple[type[FormatError], tuple[Path, int | None, str]]:
        return type(self), (self.path, self.line, self.said)

    @classmethod
    def of_count(cls, path: Path, line: int | None, promised: int, count: int) -> FormatError:
        """Return the error for a file with more or fewer edges than its header says."""
        hint = "is the file truncated?" if count < promised else "expected the same number"
        return cls(path, line, f"the header says {promised} edges, and {count} follow; {hint}")


class TooLarge(FormatError, MemoryError):
    """A file whose graph needs more memory than available."""

    @classmethod
    def of(cls, path: Path, wanted: str) -> TooLarge:
        """Return the error, given a text on the memory `wanted`."""
        memory = available("cpu")
        wanted = wanted.partition("; if ids are names")[0]
        there = "" if memory is None or "available" in wanted else f", and {memory:,} bytes are available"
        return cls(
            path,
            None,
            f"not enough memory: {wanted}{there}; if ids are names, such as account numbers, pass names=True, "
            "which numbers only the ids that occur; else read a part of the file",
        )


def require_version(path: Path, what: str, version: Any, known: int) -> None:
    """Raise FormatError for a file of a format that a later gasla has introduced, or of no known one.

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
    """Convert the exceptions raised for damaged compression and excessive sizes to FormatError."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise FormatError(path, None, f"the compressed file is damaged or truncated ({error})") from error
    except OSError as error:
        if error.errno is not None:  # from the operating system: not found, no permission, ...
            raise
        raise FormatError(path, None, f"the compressed file is damaged ({error})") from error
    except TooLarge:
        raise
    except MemoryError as error:
        said = " ".join(str(error).split())
        size = path.stat().st_size if path.is_file() else 0
        wanted = said if re.search(r"\d", said) else f"the graph needs more than the {size:,} bytes of the file"
        raise TooLarge.of(path, wanted) from error


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed according to its suffix."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size

        def place() -> tuple[int, int]:
            with suppress(ValueError, OSError):  # the file is closed, or is a pipe
                return file.raw.tell(), size
            return size, size

        follow(place, "bytes")
        source = file if file.seekable() else BytesIO(file.read())  # readers seek, which pipes don't support
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
    """Yield a stream that compresses what is written to `stream`, according to the suffix of `path`."""
    with COMPRESSIONS.get(path.suffix.lower(), lambda file, _: nullcontext(file))(stream, "wb") as packed:
        yield packed


@contextmanager
def warning_filters() -> Iterator[None]:
    """Enter `warnings.catch_warnings` for one thread at a time, because all threads of a process share the filters.

    Of two threads that change and restore them at once, one would restore those of the other.
    """
    with _filtering, warnings.catch_warnings():
        yield


def _after_fork() -> None:
    global _filtering
    _filtering = threading.RLock()  # a thread of the parent process may hold the old one


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def read_table(stream: TextIO, fields: list[tuple[str, str]], comments: str) -> Array | None:
    """Return the rest of a stream as one record per line, or None if any line does not have exactly these fields.

    A last field of type "number" becomes int64 if possible, else uint64 if possible, else float64.
    """
    text = uncommented(stream.read(), comments)
    for number in ("i8", "u8", "f8") if fields[-1][1] == "number" else ("",):
        types = [(name, number if kind == "number" else kind) for name, kind in fields]
        try:
            with warning_filters():
                warnings.simplefilter("error", DeprecationWarning)  # raised when 1.5 is parsed as an integer
                warnings.filterwarnings("ignore", "loadtxt: input contained no data")
                return np.loadtxt(StringIO(text), dtype=types, comments=None, ndmin=1)
        except (ValueError, DeprecationWarning, OverflowError):
            continue
    return None


def parts_of_table(stream: TextIO, fields: list[tuple[str, str]], comments: str) -> Iterator[Array | None]:
    """Yield the rest of a stream as `read_table` returns it, some lines at a time."""
    while lines := stream.readlines(PART):
        yield read_table(StringIO("".join(lines)), fields, comments)


def complain(path: Path, check: Callable[[int, list[str]], str | None], comments: str) -> FormatError:
    """Return the error for the first line for which `check(line number, words)` returns a message.

    `comments` are the characters that start a comment.
    """
    number = 0
    with open_text(path) as stream:
        for number, line in enumerate(stream, start=1):
            words = uncommented(line, comments).split()
            message = check(number, words) if words else None
            if message is not None:
                return FormatError(path, number, message)
    return FormatError(path, number, "malformed")


def uncommented(text: str, comments: str) -> str:
    r"""Return lines up to the first word that begins with a character of `comments`. Within a word it has no meaning.

    Examples
    --------
    >>> uncommented("% bip\n0 1 # Nodes: 50%\n2 3#4", "#%")
    '\n0 1 \n2 3#4'
    """
    if not any(sign in text for sign in comments):
        return text
    return re.sub(rf"(?<!\S)[{re.escape(comments)}].*", "", text)


def parsed_json(path: Path, text: str | bytes) -> Any:
    """Return the content of a JSON text. Raise FormatError if it is damaged."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # RecursionError: lists in lists in lists
        raise FormatError(path, None, f"is damaged ({error}); expected JSON") from error


def names_to_json(names: Names) -> str:
    """Return the names of vertices as a JSON list. Raise TypeError for a name that JSON does not give back.

    Examples
    --------
    >>> names_to_json(Names(np.array(["Oslo", 7], object)))
    '["Oslo", 7]'
    """
    each = [int(name) if isinstance(name, np.integer) else name for name in names.each.tolist()]
    other = next((name for name in each if not isinstance(name, str | int) or isinstance(name, bool)), None)
    if other is not None:
        raise TypeError(f"vertex {other!r} has a name of {type(other).__name__}; expected strings or integers")
    return json.dumps(each)


def names_of_json(path: Path, text: str | bytes, n: int) -> Names:
    """Return the names of n vertices in a JSON list."""
    names = parsed_json(path, text)
    if not isinstance(names, list) or len(names) != n or not all(isinstance(name, str | int) for name in names):
        raise FormatError(path, None, f"is damaged; expected a list of {n} names")
    each = np.empty(n, object)
    each[:] = names
    return Names(each)


def within(table: Array, n: int) -> bool:
    """Return whether the ids in the fields u and v are from 1 to n."""
    return len(table) == 0 or all(table[end].min() >= 1 and table[end].max() <= n for end in ("u", "v"))


def is_whole(word: str, stop: int = 2**63) -> bool:
    """Return whether a word is an integer of at least -2**63 and below `stop`."""
    return re.fullmatch(r"[+-]?\d{1,30}", word, re.ASCII) is not None and -(2**63) <= int(word) < stop


def is_count(word: str) -> bool:
    """Return whether a word consists of at most 18 digits."""
    return word.isdecimal() and len(word) <= 18


def is_number(word: str) -> bool:
    """Return whether a word is a number."""
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word


def to_graph(n: int, src: Array, dst: Array, values: Array | None) -> Graph:
    """Return the graph of these edges, numbered by rows, with ascending columns and parallel edges in their order."""
    require_memory(n, len(src))
    ids = index_dtype(max(n, len(src)))  # SciPy would keep int64
    return _sorted(n, src.astype(ids, copy=False), dst.astype(ids, copy=False), values)


def _sorted(n: int, src: Array, dst: Array, values: Array | None) -> Graph:
    from scipy.sparse import coo_array

    from gasla.graph.graph import Graph

    coo = coo_array((np.zeros(len(src), np.bool_) if values is None else values, (src, dst)), shape=(n, n))
    coo.has_canonical_format = True  # keeps SciPy from summing parallel edges
    is_weighted = values is not None
    del values, src, dst
    csc = coo.tocsc()  # the first of two stable sorts
    del coo
    csr = csc.tocsr()
    del csc
    return Graph.from_csr(csr.indptr, csr.indices, csr.data if is_weighted else None)


def graph_of_parts(parts: Iterable[Part], require: Callable[[int, int], None] = lambda n, m: None) -> Graph:
    """Return the edges of all parts as `to_graph` does. `require` may refuse their numbers of vertices and edges.

    Besides the result, memory holds at most 16 bytes per edge: ids are narrowed part by part, and each array is freed
    once the next one is built of it.
    """
    kind, sources, targets, weights = WeightType(), [], [], []
    n = m = 0
    for part in parts:
        kind.see(part.weights)
        n = max(n, part.n, *(1 + int(ids.max(initial=-1)) for ids in (part.src, part.dst)))
        m += len(part.src)
        sources.append(part.src.astype(index_dtype(n)))
        targets.append(part.dst.astype(index_dtype(n)))
        weights.append(None if part.weights is None else part.weights.copy())  # not a view of a part's records
    require_memory(n, m)
    require(n, m)
    ids, weight = index_dtype(max(n, m)), kind.dtype  # SciPy would keep int64
    # no name here holds the arrays, so that `_sorted` can free them
    return _sorted(
        n, _joined(sources, m, ids), _joined(targets, m, ids), None if weight is None else _joined(weights, m, weight)
    )


def _joined(parts: list[Any], length: int, dtype: np.dtype[Any]) -> Array:
    """Concatenate the arrays. The list is empty afterwards, so that memory is freed meanwhile."""
    whole, end = np.empty(length, dtype), length
    while parts:
        part = parts.pop()
        whole[end - len(part) : end] = part
        end -= len(part)
    return whole


def require_memory(n: int, m: int) -> None:
    """Raise MemoryError for a graph larger than memory, such as one edge between vertices 0 and 10**10."""
    remedy = "gasla.io.convert makes a folder of any file, in little memory"
    require_bytes(f"{n:,} vertices and {m:,} edges need", 16 * n + 24 * m, remedy)


def edge_blocks(graph: Graph) -> Iterator[tuple[list[int], list[int], list[Any]]]:
    """Yield sources, targets and weights of all edges by rows, in blocks.

    If all weights are whole numbers, they are ints.
    """
    indptr, indices = graph.out.indptr, graph.out.indices
    values = weights(graph)
    whole = values.dtype.kind != "f" or bool(np.all(np.isfinite(values)) and np.all(values == np.rint(values)))
    for start in track(range(0, graph.m, BLOCK), "blocks"):
        stop = min(start + BLOCK, graph.m)
        src = rows_of(indptr, start, stop)
        part = values[start:stop]
        yield src.tolist(), indices[start:stop].tolist(), [int(x) for x in part.tolist()] if whole else part.tolist()


def rows_of(indptr: Array, start: int, stop: int) -> Array:
    """Return the rows of the entries from position `start` to `stop`, by the offsets of the rows."""
    return np.searchsorted(indptr, np.arange(start, stop), side="right") - 1


def weights(graph: Graph) -> Array:
    """Return the edge values by rows. A graph without values has ones."""
    return np.ones(graph.m, np.float32) if graph.out_values is None else graph.out_values


def has_weights(graph: Graph) -> bool:
    """Return whether any edge has a value other than 1."""
    return graph.values is not None and bool(np.any(graph.values != 1))
