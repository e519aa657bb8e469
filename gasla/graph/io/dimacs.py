"""DIMACS files, with ids from 1 and `c` comments: a line `p KIND VERTICES EDGES`, then a line for each edge.

| kind | file | line of an edge | |
|---|---|---|---|
| `sp` | `.gr` of the 9th challenge | `a from to length` | directed |
| `tw` | `.gr` of PACE | `u v` | undirected |
| `edge`, `col` | `.col` of colorings and cliques | `e u v` | undirected |
| `max` | `.max` of maximum flows | `a from to capacity`; `n id s` and `n id t` name source and sink | directed |

Of an undirected file both directions are stored. A `.co` file has lines `v id x y`, the coordinates of vertices.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TextIO

import numpy as np

from gasla.graph.io.files import (
    FormatError,
    Part,
    complain,
    edge_blocks,
    graph_of_parts,
    is_count,
    is_number,
    is_whole,
    open_text,
    parts_of_table,
    read_table,
    within,
)

if TYPE_CHECKING:
    from gasla.graph.graph import Graph

SUFFIXES = (".gr", ".col", ".max")
_COMMENT = "c"


class _Kind(NamedTuple):
    """The form of the lines for edges in one kind of DIMACS file, such as `a from to length`.

    A line is a letter (`tag`, empty if lines have none), the ids of two vertices, and a weight if `is_weighted`.
    """

    tag: str
    is_weighted: bool
    is_directed: bool

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The names and NumPy dtypes of the words in a line for an edge: tag, two ids and weight."""
        tag, weight = [("tag", "S2")] if self.tag else [], [("weight", "number")] if self.is_weighted else []
        return [*tag, ("u", "i8"), ("v", "i8"), *weight]

    @property
    def expected(self) -> str:
        """The form that a line for an edge should have, as text for error messages, such as "`e u v`"."""
        return f"`{self.tag}{' ' * bool(self.tag)}{'from to weight' if self.is_weighted else 'u v'}`"


_KINDS = {
    "sp": _Kind("a", True, True),
    "tw": _Kind("", False, False),
    "edge": _Kind("e", False, False),
    "col": _Kind("e", False, False),
    "max": _Kind("a", True, True),
}


class _Header(NamedTuple):
    line: int
    name: str
    n: int
    m: int

    @property
    def kind(self) -> _Kind:
        """The form of the lines for edges in a file whose header has this name, such as "sp"."""
        return _KINDS[self.name]


def read(path: Path) -> Graph:
    """Return the graph in a DIMACS file."""
    return graph_of_parts(parts(path))


def parts(path: Path) -> Iterator[Part]:
    """Yield the edges of a DIMACS file in blocks.

    In an undirected file, the reverse edges of a block follow the edges of the block.
    """
    count = 0
    with open_text(path) as stream:
        header = _read_header(path, stream)
        problem = header.kind
        nothing = np.zeros(0, np.int64)
        yield Part(nothing, nothing, nothing if problem.is_weighted else None, header.n)
        edge_lines: TextIO = (
            stream if header.name in ("sp", "tw") else StringIO(_without_nodes(path, stream.read(), header))
        )
        for table in parts_of_table(edge_lines, problem.fields, _COMMENT):
            tagged = table is not None and (not problem.tag or bool(np.all(table["tag"] == problem.tag.encode())))
            if table is None or not tagged or not within(table, header.n):
                raise complain(path, lambda line, words: _check(line, words, header), _COMMENT)
            count += len(table)
            u, v = table["u"] - 1, table["v"] - 1
            if problem.is_directed:
                yield Part(u, v, table["weight"], header.n)
            else:
                yield Part(np.concatenate([u, v]), np.concatenate([v, u]), None, header.n)
    # Some undirected files count each edge twice in their header, once in each direction, so half of the stated number
    # is accepted.
    if count != header.m and not (header.name in ("edge", "col") and count * 2 == header.m):
        raise FormatError.of_count(path, header.line, header.m, count)


def _without_nodes(path: Path, text: str, header: _Header) -> str:
    """Return the text of a DIMACS file without its lines `n …`, which describe vertices.

    These lines hold the source and sink of a flow, or colors. gasla doesn't read them, so a warning says that they are
    left out.
    """
    nodes = re.findall(r"^[ \t]*n[ \t].*$", text, re.MULTILINE)
    if not nodes:
        return text
    shown = "; ".join(" ".join(line.split()) for line in nodes[:2])
    warnings.warn(
        f"{path}: {len(nodes)} lines about vertices are left out, such as source, sink or colors: {shown}; vertex 1 of "
        "the file is vertex 0",
        UserWarning,
        stacklevel=6,
    )
    return re.sub(r"^[ \t]*n[ \t].*$", "", text, flags=re.MULTILINE)


def write(stream: IO[bytes], graph: Graph, path: Path) -> None:
    """Write a graph as a .gr file of the 9th DIMACS challenge."""
    if {suffix.lower() for suffix in path.suffixes} & {".col", ".max"}:
        raise ValueError(f"{path}: gasla writes DIMACS files in the form of the 9th challenge; expected a .gr file")
    stream.write(f"p sp {graph.n} {graph.m}\n".encode())
    for block in edge_blocks(graph):
        stream.write("".join([f"a {u + 1} {v + 1} {edge_weight}\n" for u, v, edge_weight in zip(*block)]).encode())


def has_coordinates(path: Path) -> bool:
    """Return whether the name of a file, compressed or not, ends in .co, as coordinates of vertices do."""
    return ".co" in [suffix.lower() for suffix in path.suffixes[-2:]]


def coordinates(path: Path) -> dict[str, Any]:
    """Return the columns of a .co file, which are ids from 0 and the coordinates x and y of vertices."""
    fields = [("tag", "S2"), ("id", "i8"), ("x", "f8"), ("y", "f8")]
    with open_text(path) as stream:
        text = re.sub(r"^[ \t]*p[ \t].*$", "", stream.read(), flags=re.MULTILINE)
    table = read_table(StringIO(text), fields, _COMMENT)
    if table is None or not np.all(table["tag"] == b"v") or (len(table) and table["id"].min() < 1):
        raise complain(path, lambda _, words: _check_coordinates(words), _COMMENT)
    order = np.argsort(table["id"], kind="stable")
    return {"id": table["id"][order] - 1} | {name: np.ascontiguousarray(table[name][order]) for name in ("x", "y")}


def _check_coordinates(words_of_line: list[str]) -> str | None:
    is_vertex = (
        len(words_of_line) == 4
        and words_of_line[0] == "v"
        and is_whole(words_of_line[1])
        and int(words_of_line[1]) >= 1
    )
    if words_of_line[0] == "p" or (is_vertex and all(map(is_number, words_of_line[2:]))):
        return None
    return f"{' '.join(words_of_line)[:60]!r}; expected `v id x y`, ids from 1"


def _read_header(path: Path, stream: IO[str]) -> _Header:
    """Read the header of a DIMACS file, a line that begins with the letter p. Only comments may precede it."""
    expected = f"expected `p KIND VERTICES EDGES` before the edges, the kind one of {', '.join(_KINDS)}"
    line_number = 0
    while line := stream.readline():
        line_number += 1
        words_of_line = line.split()
        if not words_of_line or words_of_line[0].startswith(_COMMENT):
            continue
        if (
            len(words_of_line) == 4
            and words_of_line[0] == "p"
            and words_of_line[1] in _KINDS
            and is_count(words_of_line[2])
            and is_count(words_of_line[3])
        ):
            return _Header(line_number, words_of_line[1], int(words_of_line[2]), int(words_of_line[3]))
        raise FormatError(path, line_number, f"{line.strip()[:60]!r}; {expected}")
    raise FormatError(path, max(line_number, 1), f"the file ends; {expected}")


def _check(line: int, words_of_line: list[str], header: _Header) -> str | None:
    if line <= header.line:
        return None
    problem = header.kind
    end_words = words_of_line[bool(problem.tag) :][:2]
    if words_of_line[0] == "n" and header.name not in ("sp", "tw"):
        return None
    if len(words_of_line) != len(problem.fields) or (problem.tag and words_of_line[0] != problem.tag):
        return f"{' '.join(words_of_line)[:60]!r}; expected {problem.expected}"
    for end in end_words:
        if not is_whole(end) or not 1 <= int(end) <= header.n:
            return f"vertex {end[:60]!r}; expected 1 to {header.n}, as line {header.line} says"
    if problem.is_weighted and not is_number(words_of_line[3]):
        return f"weight {words_of_line[3][:60]!r}; expected a number"
    return None
