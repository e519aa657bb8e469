"""What all formats share: the error, compression, and tables of numbers."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import warnings
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TextIO

import numpy as np

from gasla.arrays import index_dtype
from gasla.graph.validate import physical_memory
from gasla.progress import follow, track

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from gasla.graph.graph import Graph

Array = np.ndarray[Any, Any]
COMPRESSIONS: dict[str, Callable[..., Any]] = {
    ".gz": lambda file, mode: gzip.GzipFile("", mode, 6, file),  # the name of a temporary file is nobody's business
    ".bz2": bz2.open,
    ".xz": lzma.open,
}


EXPECTED_ID = (
    "expected a whole number from 0, of 64 bits at most, or names=True for ids that are names (--vertices names)"
)
EXPECTED_WEIGHT = "expected a number, with a point before its decimals"


class FormatError(ValueError):
    """A file that is not what its format asks for; `line` is where (from 1), or None for a binary file, `said` why."""

    def __init__(self, path: Path, line: int | None, message: str) -> None:
        self.path, self.line, self.said = path, line, message
        super().__init__(f"{path}: {message}" if line is None else f"{path}, line {line}: {message}")

    def __reduce__(self) -> tuple[type[FormatError], tuple[Path, int | None, str]]:
        return type(self), (self.path, self.line, self.said)

    @classmethod
    def of_count(cls, path: Path, line: int | None, promised: int, found: int) -> FormatError:
        """Return the error for a file that holds more or fewer edges than its header says."""
        hint = "is the file truncated?" if found < promised else "expected as many"
        return cls(path, line, f"promises {promised} edges and {found} follow; {hint}")


class TooLarge(FormatError, MemoryError):
    """A file that asks for more memory than there is."""

    @classmethod
    def of(cls, path: Path, wanted: str) -> TooLarge:
        """Return the error for what is `wanted`, with the memory that there is."""
        memory = physical_memory()
        there = "more than can be had" if memory is None else f"{memory:,} bytes can be had"
        return cls(
            path,
            None,
            f"asks for more memory than there is: {wanted}, and {there}; where ids are names, such as account numbers, "
            "names=True (--vertices names) takes no vertex but those named; else read a part of the file",
        )


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Turn what damaged compression and absurd sizes raise into a FormatError."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise FormatError(path, None, f"the compressed file is damaged or truncated ({error})") from error
    except OSError as error:
        if error.errno is not None:  # not found, not allowed, ...
            raise
        raise FormatError(path, None, f"the compressed file is damaged ({error})") from error
    except TooLarge:
        raise
    except MemoryError as error:
        said = " ".join(str(error).split())
        size = path.stat().st_size if path.is_file() else 0
        wanted = said if re.search(r"\d", said) else f"what is in it takes more than the file's {size:,} bytes"
        raise TooLarge.of(path, wanted) from error


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open for reading, decompressing by the name's end."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size

        def place() -> tuple[int, int]:
            with suppress(ValueError, OSError):  # closed by now, or a pipe
                return file.raw.tell(), size
            return size, size

        follow(place, "bytes")
        source = file if file.seekable() else BytesIO(file.read())  # a pipe is read once, and readers go back
        with COMPRESSIONS.get(path.suffix.lower(), lambda file, _: file)(source, "rb") as stream:
            yield stream


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open for reading as text; every byte is a character, so that no file fails to decode.

    What some editors put before the text, to say that it is UTF-8, is passed over.
    """
    with open_bytes(path) as stream:
        if stream.read(len(BOM_UTF8)) != BOM_UTF8:
            stream.seek(0)
        with TextIOWrapper(stream, encoding="latin-1") as text:
            yield text


@contextmanager
def compress(stream: IO[bytes], path: Path) -> Iterator[IO[bytes]]:
    """What is written to a stream, compressed by the name's end."""
    with COMPRESSIONS.get(path.suffix.lower(), lambda file, _: nullcontext(file))(stream, "wb") as packed:
        yield packed


def read_table(stream: TextIO, fields: list[tuple[str, str]], comment: str | list[str]) -> Array | None:
    """Return the rest of a stream as records, a line each; None if any line does not have just these fields.

    A last field of type "number" is int64 if all of its numbers are whole, uint64 if some are from 2**63 and none is
    negative, else float64.
    """
    start = stream.tell()
    for number in ("i8", "u8", "f8") if fields[-1][1] == "number" else ("",):
        types = [(name, number if kind == "number" else kind) for name, kind in fields]
        stream.seek(start)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", DeprecationWarning)  # 1.5 taken for an integer
                warnings.filterwarnings("ignore", "loadtxt: input contained no data")
                return np.loadtxt(stream, dtype=types, comments=comment, ndmin=1)
        except (ValueError, DeprecationWarning, OverflowError):
            continue
    return None


def complain(path: Path, check: Callable[[int, list[str]], str | None], comments: str) -> FormatError:
    """Return the error for the first line that `check(line number, words)` has something to say of.

    `comments`: the signs that start one.
    """
    number = 0
    with open_text(path) as stream:
        for number, line in enumerate(stream, start=1):
            words = uncommented(line, comments).split()
            message = check(number, words) if words else None
            if message is not None:
                return FormatError(path, number, message)
    return FormatError(path, number, "malformed")


def uncommented(line: str, comments: str) -> str:
    """Return a line up to the first sign that starts a comment.

    Examples
    --------
    >>> uncommented("0 1 # Nodes: 50%", "#%")
    '0 1 '
    """
    return re.split(f"[{re.escape(comments)}]", line, maxsplit=1)[0]


def within(table: Array, n: int) -> bool:
    """Whether the fields u and v hold 1 to n."""
    return len(table) == 0 or all(table[end].min() >= 1 and table[end].max() <= n for end in ("u", "v"))


def is_whole(word: str, stop: int = 2**63) -> bool:
    """Whether a word is an integer that fits 64 bits; `stop` is 2**64 where it may be one of uint64."""
    return re.fullmatch(r"[+-]?\d{1,30}", word, re.ASCII) is not None and -(2**63) <= int(word) < stop


def is_count(word: str) -> bool:
    """Whether a word is a number of things: digits alone."""
    return word.isdecimal() and len(word) <= 18


def is_number(word: str) -> bool:
    """Whether a word is a number."""
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word


def to_csr(n: int, src: Array, dst: Array, values: Array | None) -> csr_array:
    """Return the edges as a sparse array, columns ascending, parallel edges kept in their order."""
    from scipy.sparse import coo_array

    require_memory(n, len(src))
    ids = index_dtype(max(n, len(src)))  # SciPy would keep the wide ones as read
    ends: Any = src.astype(ids, copy=False), dst.astype(ids, copy=False)
    coo = coo_array((np.ones(len(src), np.float32) if values is None else values, ends), shape=(n, n))
    coo.has_canonical_format = True  # or they would be added up
    return coo.tocsc().tocsr()  # two stable sorts


def require_memory(n: int, m: int) -> None:
    """Refuse what would drive the machine out of memory, such as one edge between vertices 0 and 10**10."""
    memory = physical_memory()
    if memory is not None and 16 * n + 24 * m > memory:
        raise MemoryError(f"{n:,} vertices and {m:,} edges need {16 * n + 24 * m:,} bytes")


def edge_blocks(graph: Graph) -> Iterator[tuple[list[int], list[int], list[Any]]]:
    """Yield sources, destinations and weights of all edges by rows, in blocks; whole weights as int."""
    indptr, indices = graph.out.indptr, graph.out.indices
    values = weights(graph)
    whole = values.dtype.kind != "f" or bool(np.all(np.isfinite(values)) and np.all(values == np.rint(values)))
    step = 1 << 16
    for start in track(range(0, graph.m, step), "blocks"):
        stop = min(start + step, graph.m)
        src = np.searchsorted(indptr, np.arange(start, stop), side="right") - 1
        part = values[start:stop]
        yield src.tolist(), indices[start:stop].tolist(), [int(x) for x in part.tolist()] if whole else part.tolist()


def weights(graph: Graph) -> Array:
    """Return the edge values by rows; ones where there are none."""
    return np.ones(graph.m, np.float32) if graph.out_values is None else graph.out_values


def has_weights(graph: Graph) -> bool:
    """Whether any edge has a value other than 1."""
    return graph.values is not None and bool(np.any(graph.values != 1))
