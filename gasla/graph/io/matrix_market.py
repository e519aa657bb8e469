"""Matrix Market files, coordinate form: real, integer, unsigned-integer or pattern; general, symmetric or skew.

The faster reader of SciPy is not used: it aborts the process on some truncated files, and truncates decimals in integer
files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np

from gasla.graph.io.files import (
    Array,
    FormatError,
    Part,
    complain,
    csr_of_parts,
    edge_blocks,
    has_weights,
    is_count,
    is_number,
    is_whole,
    open_text,
    parts_of_table,
    weights,
    within,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from gasla.graph.graph import Graph

SUFFIXES = (".mtx",)
_TYPES = {"real": "f8", "double": "f8", "integer": "i8", "unsigned-integer": "u8", "pattern": None}
_MIRRORED = {"general": 0, "symmetric": 1, "skew-symmetric": -1}  # sign of the upper half, which files leave out


class _Header(NamedTuple):
    line: int  # line with the sizes
    type: str | None
    mirrored: int
    n: int
    m: int


def read(path: Path) -> csr_array:
    """Return the graph in a Matrix Market file; symmetric files give both directions of each edge."""
    return csr_of_parts(parts(path))


def parts(path: Path) -> Iterator[Part]:
    """The edges, in blocks; of a symmetric matrix each entry is followed by its mirror image."""
    count = 0
    with open_text(path) as stream:
        header = _header(path, stream)
        fields = [("u", "i8"), ("v", "i8")] + ([("value", header.type)] if header.type else [])
        yield _expanded(path, np.zeros(0, fields), header)  # says how many vertices there are
        for table in parts_of_table(stream, fields, "%"):
            if table is None or not within(table, header.n):
                raise complain(path, lambda line, words: _check(line, words, header), "%")
            count += len(table)
            yield _expanded(path, table, header)
    if count != header.m:
        raise FormatError.of_count(path, header.line, header.m, count)


def _expanded(path: Path, table: Array, header: _Header) -> Part:
    """The edges of some entries: both directions of a symmetric matrix."""
    u, v = table["u"] - 1, table["v"] - 1
    values = table["value"] if header.type else None
    if header.mirrored:
        off = u != v
        if header.mirrored == -1 and header.type == "i8" and table["value"].min(initial=0) == -(2**63):
            raise FormatError(path, header.line, f"{-(2**63)} in a skew-symmetric matrix; its negative exceeds 64 bits")
        u, v = np.concatenate([u, v[off]]), np.concatenate([v, u[off]])
        values = values if values is None else np.concatenate([values, header.mirrored * values[off]])
    return Part(u, v, values, header.n)


def write(stream: IO[bytes], graph: Graph, path: Path) -> None:
    """Write a general coordinate file: pattern if all values are 1, else real or integer.

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
            lines = [f"{u + 1} {v + 1} {w}\n" for u, v, w in zip(*block)]
        stream.write("".join(lines).encode())


def _header(path: Path, stream: IO[str]) -> _Header:
    """Read the header, up to the line with the sizes."""
    first = stream.readline().lower().split()
    if len(first) != 5 or first[:3] != ["%%matrixmarket", "matrix", "coordinate"]:
        expected = "`%%MatrixMarket matrix coordinate FIELD SYMMETRY`"
        raise FormatError(path, 1, f"{' '.join(first)[:60]!r}; expected {expected}")
    field, symmetry = first[3:]
    for word, known in ((field, _TYPES), (symmetry, _MIRRORED)):
        if word not in known:
            raise FormatError(path, 1, f"{word!r}; expected one of {', '.join(known)}")
    if symmetry == "skew-symmetric" and field in ("unsigned-integer", "pattern"):
        raise FormatError(path, 1, f"{field} values have no negative; expected real or integer, or not {symmetry}")
    number = 1
    while line := stream.readline():
        number += 1
        words = line.split()
        if not words or words[0].startswith("%"):
            continue
        if len(words) != 3 or not all(map(is_count, words)):
            raise FormatError(path, number, f"{line.strip()[:60]!r}; expected `ROWS COLUMNS ENTRIES`")
        rows, columns, entries = map(int, words)
        if rows != columns:
            raise FormatError(path, number, f"a matrix of {rows} x {columns}; expected a square matrix")
        return _Header(number, _TYPES[field], _MIRRORED[symmetry], rows, entries)
    raise FormatError(path, number, "the file ends; expected `ROWS COLUMNS ENTRIES`")


def _check(line: int, words: list[str], header: _Header) -> str | None:
    if line <= header.line:
        return None
    if len(words) != (3 if header.type else 2):
        return f"{' '.join(words)[:60]!r}; expected `row column{' value' if header.type else ''}`, as line 1 says"
    for end in words[:2]:
        if not is_whole(end) or not 1 <= int(end) <= header.n:
            return f"vertex {end[:60]!r}; expected 1 to {header.n}, as line {header.line} says"
    if header.type == "f8" and not is_number(words[2]):
        return f"value {words[2][:60]!r}; expected a number"
    if header.type == "i8" and not is_whole(words[2]):
        return f"value {words[2][:60]!r}; expected a whole number, as line 1 says, of 64 bits at most"
    if header.type == "u8" and not (words[2].isdecimal() and len(words[2]) <= 20 and int(words[2]) < 2**64):
        return f"value {words[2][:60]!r}; expected a whole number from 0, as line 1 says, of 64 bits at most"
    return None
