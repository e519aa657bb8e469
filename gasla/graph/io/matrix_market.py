"""Matrix Market files, as coordinates or as arrays, with any symmetry but Hermitian and any numbers but complex ones.

An entry is an edge. The zeros of an array are no edges. The rows and columns of a rectangular matrix are the two sides
of a bipartite graph.

The faster reader of SciPy is not used, because it aborts the process on some truncated files, and truncates decimals in
integer files.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, TextIO

import numpy as np

from gasla.graph.exchange.two_sides import SIDES, sides
from gasla.graph.io.files import (
    Array,
    FormatError,
    Part,
    complain,
    edge_blocks,
    graph_of_parts,
    has_weights,
    is_count,
    is_number,
    is_whole,
    open_text,
    parts_of_table,
    weights,
)

if TYPE_CHECKING:
    from gasla.graph.graph import Graph

SUFFIXES = (".mtx",)
_TYPES = {"real": "f8", "double": "f8", "integer": "i8", "unsigned-integer": "u8", "pattern": None}
# Files with symmetry leave out the upper triangle of a matrix. An entry (j, i) is the entry (i, j) multiplied by this
# factor, which is 0 if the file stores all entries.
_MIRRORED = {"general": 0, "symmetric": 1, "skew-symmetric": -1}


class _Header(NamedTuple):
    line: int  # number of the line that holds the sizes
    type: str | None
    mirrored: int
    n: int  # number of rows
    columns: int
    m: int  # number of entries
    is_array: bool
    # The number to add to a column index to get the number of its vertex: the number of rows for a bipartite graph,
    # whose rows are vertices of their own, else 0.
    shift: int = 0

    @property
    def vertices(self) -> int:
        """The number of vertices of the graph."""
        return max(self.n, self.shift + self.columns)


def read(path: Path, bipartite: bool | None = None) -> Graph:
    """Return the graph in a Matrix Market file. A symmetric file gives both directions of each edge."""
    if not bipartite:
        return graph_of_parts(parts(path))
    each_part = parts(path, True)
    first_part = next(each_part)
    graph = graph_of_parts(chain([first_part], each_part))
    rows = first_part.m  # the first part has the number of rows as `m`
    return graph.with_vertex_attributes({SIDES: sides(graph.n, rows)})


def parts(path: Path, bipartite: bool = False) -> Iterator[Part]:
    """Yield the edges of a Matrix Market file in blocks.

    In a symmetric matrix, the mirror images of a block's entries follow these entries. The first part has no edges, and
    its `m` is the number of rows of the matrix.
    """
    count = 0
    with open_text(path) as stream:
        header = _read_header(path, stream)
        if bipartite:
            header = header._replace(shift=header.n)
        elif header.n != header.columns:
            matrix_shape = f"a matrix of {header.n} x {header.columns}; expected a square matrix"
            raise FormatError(path, header.line, f"{matrix_shape}, or bipartite=True for rows and columns as two sides")
        if header.is_array:
            yield from _array_parts(path, stream, header)
            return
        fields = [("u", "i8"), ("v", "i8")] + ([("value", header.type)] if header.type else [])
        # This part has no edges. It holds the numbers of vertices and rows.
        yield _edges_of_entries(path, np.zeros(0, fields), header)._replace(m=header.n)
        for table in parts_of_table(stream, fields, "%"):
            if table is None or not _are_in_range(table, header):
                raise complain(path, lambda line, words: _check(line, words, header), "%")
            count += len(table)
            yield _edges_of_entries(path, table, header)
    if count != header.m:
        raise FormatError.of_count(path, header.line, header.m, count)


def _are_in_range(table: Array, header: _Header) -> bool:
    """Return whether the row and column indices of all entries are within the sizes in the header."""
    index_limits = ("u", header.n), ("v", header.columns)
    return len(table) == 0 or all(table[end].min() >= 1 and table[end].max() <= count for end, count in index_limits)


def _array_parts(path: Path, stream: TextIO, header: _Header) -> Iterator[Part]:
    """Yield the nonzero entries of a file in array format as edges, in blocks, column by column.

    The first part has no edges, and its `m` is the number of rows. Files store only the entries on and below the
    diagonal of a symmetric array, and only those below the diagonal of a skew-symmetric array.
    """
    count, is_strict, rows = 0, header.mirrored == -1, np.arange(header.columns, dtype=np.int64)
    begins = rows * header.n if header.mirrored == 0 else rows * (header.n - is_strict) - rows * (rows - 1) // 2
    value_type = str(header.type)
    no_entries = np.zeros(0, [("u", "i8"), ("v", "i8"), ("value", value_type)])
    yield _edges_of_entries(path, no_entries, header)._replace(m=header.n)
    for table in parts_of_table(stream, [("value", value_type)], "%"):
        if table is None or count + len(table) > header.m:
            raise complain(path, lambda line, words: _check_array(line, words, header), "%")
        entry_positions = count + np.arange(len(table))
        v = np.searchsorted(begins, entry_positions, side="right") - 1
        u = entry_positions - begins[v] + (0 if header.mirrored == 0 else v + is_strict)
        count += len(table)
        entries = np.zeros(len(table), no_entries.dtype)
        entries["u"], entries["v"], entries["value"] = u + 1, v + 1, table["value"]
        yield _edges_of_entries(path, entries[table["value"] != 0], header)
    if count != header.m:
        raise FormatError.of_count(path, header.line, header.m, count)


def _check_array(line: int, words_of_line: list[str], header: _Header) -> str | None:
    if line <= header.line:
        return None
    return (
        _check_value(words_of_line[0], header)
        if len(words_of_line) == 1
        else f"{' '.join(words_of_line)[:60]!r}; expected a number a line"
    )


def _edges_of_entries(path: Path, table: Array, header: _Header) -> Part:
    """Return the edges that entries of a matrix stand for.

    If the matrix is symmetric, that includes the reverse edge of each entry off the diagonal, which the file leaves
    out.
    """
    u, v = table["u"] - 1, table["v"] - 1 + header.shift
    values = table["value"] if header.type else None
    if header.mirrored and not header.shift:
        off_diagonal = u != v
        if header.mirrored == -1 and header.type == "i8" and table["value"].min(initial=0) == -(2**63):
            raise FormatError(path, header.line, f"{-(2**63)} in a skew-symmetric matrix; its negative exceeds 64 bits")
        u, v = np.concatenate([u, v[off_diagonal]]), np.concatenate([v, u[off_diagonal]])
        values = values if values is None else np.concatenate([values, header.mirrored * values[off_diagonal]])
    return Part(u, v, values, header.vertices)


def write(stream: IO[bytes], graph: Graph, path: Path) -> None:
    """Write a graph as general coordinates, with the field pattern if all weights are 1, else real or integer.

    Integers beyond int64 are written as unsigned-integer, which not all readers support.
    """
    field = "pattern"
    if has_weights(graph):
        values = weights(graph)
        is_wide = values.dtype == np.uint64 and bool(values.max() >= 2**63)
        field = "real" if values.dtype.kind == "f" else "unsigned-integer" if is_wide else "integer"
    stream.write(f"%%MatrixMarket matrix coordinate {field} general\n{graph.n} {graph.n} {graph.m}\n".encode())
    for block in edge_blocks(graph):
        if field == "pattern":
            lines = [f"{u + 1} {v + 1}\n" for u, v in zip(*block[:2])]
        else:
            lines = [f"{u + 1} {v + 1} {edge_weight}\n" for u, v, edge_weight in zip(*block)]
        stream.write("".join(lines).encode())


def _read_header(path: Path, stream: IO[str]) -> _Header:
    """Read the header of a file, up to the line with the sizes."""
    banner_words = stream.readline().lower().split()
    is_array = banner_words[2:3] == ["array"]
    if (
        len(banner_words) != 5
        or banner_words[:2] != ["%%matrixmarket", "matrix"]
        or not (is_array or banner_words[2] == "coordinate")
    ):
        expected = "`%%MatrixMarket matrix coordinate FIELD SYMMETRY`, or array in place of coordinate"
        raise FormatError(path, 1, f"{' '.join(banner_words)[:60]!r}; expected {expected}")
    field, symmetry = banner_words[3:]
    for word, known_words in ((field, _TYPES), (symmetry, _MIRRORED)):
        if word not in known_words:
            raise FormatError(path, 1, f"{word!r}; expected one of {', '.join(known_words)}")
    if symmetry == "skew-symmetric" and field in ("unsigned-integer", "pattern"):
        raise FormatError(path, 1, f"{field} values have no negative; expected real or integer, or not {symmetry}")
    if is_array and field == "pattern":
        raise FormatError(path, 1, "an array of pattern entries; expected coordinates, or another field")
    line_number, sizes = 1, "ROWS COLUMNS" if is_array else "ROWS COLUMNS ENTRIES"
    while line := stream.readline():
        line_number += 1
        words_of_line = line.split()
        if not words_of_line or words_of_line[0].startswith("%"):
            continue
        if len(words_of_line) != len(sizes.split()) or not all(map(is_count, words_of_line)):
            raise FormatError(path, line_number, f"{line.strip()[:60]!r}; expected `{sizes}`")
        rows, columns, *entry_counts = map(int, words_of_line)
        if rows != columns and symmetry != "general":
            raise FormatError(path, line_number, f"a {symmetry} matrix of {rows} x {columns}; expected a square one")
        half = {"general": rows * columns, "symmetric": rows * (rows + 1) // 2}.get(symmetry, rows * (rows - 1) // 2)
        entries = entry_counts[0] if entry_counts else half
        return _Header(line_number, _TYPES[field], _MIRRORED[symmetry], rows, columns, entries, is_array)
    raise FormatError(path, line_number, f"the file ends; expected `{sizes}`")


def _check(line: int, words_of_line: list[str], header: _Header) -> str | None:
    if line <= header.line:
        return None
    if len(words_of_line) != (3 if header.type else 2):
        return (
            f"{' '.join(words_of_line)[:60]!r}; expected `row column{' value' if header.type else ''}`, as line 1 says"
        )
    for end, largest_index in zip(words_of_line[:2], (header.n, header.columns)):
        if not is_whole(end) or not 1 <= int(end) <= largest_index:
            return f"vertex {end[:60]!r}; expected 1 to {largest_index}, as line {header.line} says"
    return _check_value(words_of_line[2], header) if header.type else None


def _check_value(word: str, header: _Header) -> str | None:
    if header.type == "f8" and not is_number(word):
        return f"value {word[:60]!r}; expected a number"
    if header.type == "i8" and not is_whole(word):
        return f"value {word[:60]!r}; expected a whole number, as line 1 says, of 64 bits at most"
    if header.type == "u8" and not (word.isdecimal() and len(word) <= 20 and int(word) < 2**64):
        return f"value {word[:60]!r}; expected a whole number from 0, as line 1 says, of 64 bits at most"
    return None
