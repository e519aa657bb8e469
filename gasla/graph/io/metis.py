"""METIS files: undirected graphs, with a line of neighbors for each vertex, ids from 1, and `%` comments.

The first line is `VERTICES EDGES [FORMAT [CONSTRAINTS]]`. The three digits of FORMAT say whether each vertex's line
starts with a vertex size, whether vertex weights follow (CONSTRAINTS of them, by default 1), and whether each neighbor
is followed by an edge weight. EDGES counts each edge once, while the lines of both its ends list it, with the same
weight. Vertex sizes and weights are left out, with a warning.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gasla.graph.io.files import (
    Array,
    FormatError,
    edge_blocks,
    has_weights,
    is_count,
    is_whole,
    open_text,
    to_graph,
    warning_filters,
)

if TYPE_CHECKING:
    from gasla.graph.graph import Graph

SUFFIXES = (".graph", ".metis")


class _Header(NamedTuple):
    line: int
    n: int
    m: int
    skip: int  # number of words (size and weights of the vertex) before the first neighbor in each line
    weighted: bool


def read(path: Path) -> Graph:
    """Return the graph in a METIS file."""
    with open_text(path) as stream:
        header = _read_header(path, stream)
        text = stream.read()
    if "%" in text:
        text = re.sub(r"^[ \t\v\f]*%.*(\n|$)", "", text, flags=re.MULTILINE)
    parsed = _parse(text, header)
    if parsed is None:
        raise _first_error(path, header)
    src, dst, values = parsed
    graph = to_graph(header.n, src, dst, values)
    if error := _asymmetry_error(path, header, graph.to_scipy()):
        raise error
    if header.skip:
        left_out = f"{header.skip} numbers" if header.skip > 1 else "a number"
        warning = f"{path}: {left_out} of each vertex, its size or weights, are left out; only the edges are read"
        warnings.warn(warning, UserWarning, stacklevel=4)
    return graph


def write(stream: IO[bytes], graph: Graph, path: Path) -> None:
    """Write an undirected graph with whole-number weights as a METIS file. Raise ValueError for other graphs."""
    _require_undirected(path, graph)
    weighted = has_weights(graph)
    stream.write(f"{graph.n} {graph.m // 2}{' 001' if weighted else ''}\n".encode())
    row = 0
    words_of_line: list[str] = []
    for block in edge_blocks(graph):
        for u, v, edge_weight in zip(*block):
            if u > row:
                stream.write((" ".join(words_of_line) + "\n" * (u - row)).encode())
                row, words_of_line = u, []
            words_of_line.append(f"{v + 1} {edge_weight}" if weighted else str(v + 1))
    stream.write((" ".join(words_of_line) + "\n" * (graph.n - row)).encode())


def _require_undirected(path: Path, graph: Graph) -> None:
    values = graph.values
    if not graph.has_symmetric_values:
        problem = "edges without a reverse edge of equal weight"
    elif graph.has_self_loops:
        problem = "self loops"
    elif values is not None and not (np.all(np.isfinite(values)) and np.all(values == np.rint(values))):
        problem = "weights that are not whole numbers"
    elif values is not None and graph.m and not -(2**63) <= values.min().item() <= values.max().item() < 2**63:
        problem = "weights of more than 64 bits"
    else:
        return
    raise ValueError(f"{path}: the graph has {problem}; METIS files can't store them; write .mtx or .npz instead")


def _is_comment(line: str) -> bool:
    return line.lstrip(" \t\v\f").startswith("%")


def _split_words(line: str) -> list[str]:
    """Return the words of a line, split at the white space of C, as NumPy does.

    ``str.split`` splits at more characters, so that words could be counted differently.
    """
    return [word.decode("latin-1") for word in line.encode("latin-1").split()]


def _read_header(path: Path, stream: IO[str]) -> _Header:
    """Read the header, which is the first line that is not a comment."""
    expected = "expected `VERTICES EDGES [FORMAT [CONSTRAINTS]]`"
    line_number = 0
    while line := stream.readline():
        line_number += 1
        header_words = _split_words(line)
        if _is_comment(line):
            continue
        if not (2 <= len(header_words) <= 4 and all(map(is_count, header_words))):
            raise FormatError(path, line_number, f"{line.strip()[:60]!r}; {expected}")
        format_digits = header_words[2].zfill(3) if len(header_words) > 2 else "000"
        if len(format_digits) != 3 or set(format_digits) - {"0", "1"}:
            raise FormatError(path, line_number, f"format {header_words[2]!r}; expected three digits, each 0 or 1")
        constraints = (int(header_words[3]) if len(header_words) == 4 else 1) if format_digits[1] == "1" else 0
        return _Header(
            line_number,
            int(header_words[0]),
            int(header_words[1]),
            int(format_digits[0]) + constraints,
            format_digits[2] == "1",
        )
    raise FormatError(path, max(line_number, 1), f"the file ends; {expected}")


def _parse(text: str, header: _Header) -> tuple[Array, Array, Array | None] | None:
    """Return the sources, targets and weights of all edges in a METIS file, or None if the text is invalid."""
    counts = _words_per_line(text)
    if len(counts) < header.n or counts[header.n :].any() or (counts[: header.n] < header.skip).any():
        return None
    counts = counts[: header.n]
    numbers = _parse_integers(text)
    if numbers is None or len(numbers) != counts.sum():
        return None
    if header.skip:
        index_in_line = np.arange(len(numbers)) - np.repeat(np.cumsum(counts) - counts, counts)
        numbers, counts = numbers[index_in_line >= header.skip], counts - header.skip
    values = None
    if header.weighted:
        if (counts % 2).any():
            return None
        numbers, values, counts = numbers[::2], numbers[1::2], counts // 2
    if len(numbers) != 2 * header.m or (len(numbers) and (numbers.min() < 1 or numbers.max() > header.n)):
        return None
    return np.repeat(np.arange(header.n), counts), numbers - 1, values


def _words_per_line(text: str) -> Array:
    characters = np.frombuffer(text.encode("latin-1"), np.uint8)
    # Mark each character that is not white space, and so belongs to a word.
    word = (characters != 32) & ((characters < 9) | (characters > 13))
    starts = word.copy()
    starts[1:] &= ~word[:-1]
    line_ends = np.flatnonzero(characters == 10)
    if len(characters) and characters[-1] != 10:
        line_ends = np.append(line_ends, len(characters) - 1)
    return np.diff(np.cumsum(starts)[line_ends], prepend=0)


def _parse_integers(text: str) -> Array | None:
    """Return the integers in a text, or None if the text contains anything else."""
    if not text or text.isspace():
        return np.empty(0, np.int64)
    try:
        with warning_filters():
            warnings.simplefilter("error", DeprecationWarning)
            numbers = np.fromstring(text, np.int64, sep=" ")
    except (ValueError, DeprecationWarning):
        return None
    if numbers.min(initial=0) > -(2**63) and numbers.max(initial=0) < 2**63 - 1:
        return numbers
    # NumPy clips numbers beyond int64 silently. If a number may have been clipped, all words are parsed again by
    # Python.
    try:
        return np.array([int(word) for word in _split_words(text)], np.int64)
    except (ValueError, OverflowError):
        return None


def _vertex_lines(path: Path, header: _Header) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the words of each line that describes a vertex and its neighbors."""
    with open_text(path) as stream:
        for line_number, line in enumerate(stream, start=1):
            if line_number > header.line and not _is_comment(line):
                yield line_number, _split_words(line)


def _asymmetry_error(path: Path, header: _Header, A: Any) -> FormatError | None:
    """Return the error for an edge whose two directions differ, or None if the adjacency matrix A is symmetric.

    Such an edge is in the line of one end only, or in the lines of both ends with different weights.
    """
    from scipy.sparse import csr_array

    ones = csr_array((np.ones(A.nnz, np.int64), A.indices, A.indptr), shape=A.shape)
    for weight_or_not, listed in (("", ones), ("the weight of ", A)):
        differences = (listed - listed.T).tocoo()
        if differences.nnz:
            u, v = sorted(map(int, (differences.row[0], differences.col[0])))
            line_number = next(islice(_vertex_lines(path, header), u, None))[0]
            reason = f"the lines of vertices {u + 1} and {v + 1} differ in {weight_or_not}the edges between them"
            return FormatError(path, line_number, f"{reason}; expected both to be equal")
    return None


def _first_error(path: Path, header: _Header) -> FormatError:
    """Return the error for the first invalid line of a METIS file, or for a wrong number of lines or edges."""
    vertex, listed, line_number = 0, 0, header.line
    for line_number, words_of_line in _vertex_lines(path, header):
        vertex += 1
        message = _check(vertex, words_of_line, header)
        if message is not None:
            return FormatError(path, line_number, message)
        listed += max(0, len(words_of_line) - header.skip) // (2 if header.weighted else 1)
    if vertex < header.n:
        return FormatError(
            path,
            line_number,
            f"the file ends after vertex {vertex}; expected a line for each of {header.n}; is it truncated?",
        )
    expectation = f"expected {2 * header.m} neighbors, since both ends list an edge"
    return FormatError(
        path, header.line, f"the header says {header.m} edges, and {listed} neighbors follow; {expectation}"
    )


def _check(vertex: int, words: list[str], header: _Header) -> str | None:
    if vertex > header.n:
        return f"more lines than the {header.n} vertices of line {header.line}; expected the end" if words else None
    for word in words:
        if not is_whole(word):
            return f"{word[:60]!r}; expected whole numbers, of 64 bits at most"
    if len(words) < header.skip:
        return f"{len(words)} numbers; expected at least {header.skip} before the neighbors, as line {header.line} says"
    neighbors = words[header.skip :]
    if header.weighted and len(neighbors) % 2:
        return f"neighbor {neighbors[-1]} without a weight; expected pairs, as line {header.line} says"
    for word in neighbors[:: 2 if header.weighted else 1]:
        if not 1 <= int(word) <= header.n:
            return f"neighbor {word}; expected 1 to {header.n}, as line {header.line} says"
    return None
