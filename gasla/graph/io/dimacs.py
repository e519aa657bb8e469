"""DIMACS .gr files, with ids from 1 and `c` comments: directed arcs (9th challenge), or undirected edges (PACE).

9th challenge: `p sp VERTICES ARCS`, then lines `a from to weight`. PACE: `p tw VERTICES EDGES`, then lines `u v`; both
directions are stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np

from gasla.graph.io.files import (
    FormatError,
    Part,
    complain,
    csr_of_parts,
    edge_blocks,
    is_count,
    is_number,
    is_whole,
    open_text,
    parts_of_table,
    within,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from gasla.graph.graph import Graph

SUFFIXES = (".gr",)
_COMMENT = "c"
_FIELDS = {
    "sp": [("tag", "S2"), ("u", "i8"), ("v", "i8"), ("weight", "number")],
    "tw": [("u", "i8"), ("v", "i8")],
}


class _Header(NamedTuple):
    line: int
    kind: str
    n: int
    m: int


def read(path: Path) -> csr_array:
    """Return the graph in a .gr file."""
    return csr_of_parts(parts(path))


def parts(path: Path) -> Iterator[Part]:
    """The edges, in blocks; of an undirected file each is followed by its mirror image."""
    count = 0
    with open_text(path) as stream:
        header = _header(path, stream)
        nothing = np.zeros(0, np.int64)
        yield Part(nothing, nothing, None if header.kind == "tw" else nothing, header.n)
        for table in parts_of_table(stream, _FIELDS[header.kind], _COMMENT):
            tagged = table is not None and (header.kind == "tw" or bool(np.all(table["tag"] == b"a")))
            if table is None or not tagged or not within(table, header.n):
                raise complain(path, lambda line, words: _check(line, words, header), _COMMENT)
            count += len(table)
            u, v = table["u"] - 1, table["v"] - 1
            if header.kind == "tw":
                yield Part(np.concatenate([u, v]), np.concatenate([v, u]), None, header.n)
            else:
                yield Part(u, v, table["weight"], header.n)
    if count != header.m:
        raise FormatError.of_count(path, header.line, header.m, count)


def write(stream: IO[bytes], graph: Graph, path: Path) -> None:
    """Write the form of the 9th challenge."""
    stream.write(f"p sp {graph.n} {graph.m}\n".encode())
    for block in edge_blocks(graph):
        stream.write("".join([f"a {u + 1} {v + 1} {w}\n" for u, v, w in zip(*block)]).encode())


def _header(path: Path, stream: IO[str]) -> _Header:
    """Read the header: the line that starts with p."""
    expected = "expected `p sp VERTICES ARCS` or `p tw VERTICES EDGES` before the edges"
    number = 0
    while line := stream.readline():
        number += 1
        words = line.split()
        if not words or words[0].startswith(_COMMENT):
            continue
        if len(words) == 4 and words[0] == "p" and words[1] in _FIELDS and is_count(words[2]) and is_count(words[3]):
            return _Header(number, words[1], int(words[2]), int(words[3]))
        raise FormatError(path, number, f"{line.strip()[:60]!r}; {expected}")
    raise FormatError(path, max(number, 1), f"the file ends; {expected}")


def _check(line: int, words: list[str], header: _Header) -> str | None:
    if line <= header.line:
        return None
    expected = "`a from to weight`" if header.kind == "sp" else "`u v`"
    ends = words[1:3] if header.kind == "sp" else words
    if len(words) != len(_FIELDS[header.kind]) or (header.kind == "sp" and words[0] != "a"):
        return f"{' '.join(words)[:60]!r}; expected {expected}"
    for end in ends:
        if not is_whole(end) or not 1 <= int(end) <= header.n:
            return f"vertex {end[:60]!r}; expected 1 to {header.n}, as line {header.line} says"
    if header.kind == "sp" and not is_number(words[3]):
        return f"weight {words[3][:60]!r}; expected a number"
    return None
