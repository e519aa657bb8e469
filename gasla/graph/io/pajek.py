"""Pajek's .net files, with labels and coordinates of vertices, directed arcs and undirected edges.

Arcs and edges may also be stored as adjacency lists or as a matrix. `*Vertices 5 2` says that the first two vertices
are one side of a bipartite graph. Looks and relations are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gasla.graph.exchange.libraries import Records
from gasla.graph.exchange.two_sides import SIDES
from gasla.graph.io import record_files
from gasla.graph.io.files import FormatError, is_count, is_number, require_memory
from gasla.graph.io.record_files import distinct_texts, number_or_text

if TYPE_CHECKING:
    from gasla.graph.graph import Graph

SUFFIXES = (".net", ".paj")
_WORD = re.compile(r'"([^"]*)"|(\S+)')
_SECTIONS = ("*vertices", "*arcs", "*edges", "*arcslist", "*edgeslist", "*matrix")


class _Content:
    """The vertices and edges that have been read from a Pajek file so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.n, self.row, self.has_vertices = 0, 0, False
        self.labels: list[str | None] = []
        self.places: list[dict[str, Any]] = []
        self.edges: list[tuple[int, int, dict[str, Any]]] = []
        self.undirected: list[bool] = []

    def begin(self, line: int, words: list[str]) -> str:
        """Begin a section of a Pajek file, such as `*Vertices 5`, and return the name of the section in lower case.

        `words` are the words of the first line of the section, and `line` is its number.
        """
        name = words[0].lower()
        if name == "*network":
            return name
        if name not in _SECTIONS or (name == "*vertices") == self.has_vertices:
            expected = f"expected *Vertices first, then one of {', '.join(_SECTIONS[1:])}"
            raise FormatError(self.path, line, f"{words[0][:60]!r}; {expected}")
        if name == "*vertices":
            counts = words[1:3]
            if not counts or not all(map(is_count, counts)) or (len(counts) > 1 and int(counts[1]) > int(counts[0])):
                raise FormatError(self.path, line, f"{' '.join(words)[:60]!r}; expected `*Vertices COUNT`")
            self.n, self.has_vertices = int(counts[0]), True
            require_memory(self.n, 0)
            self.labels, self.places = [None] * self.n, [{} for _ in range(self.n)]
            for v in range(self.n) if len(counts) > 1 else ():
                self.places[v][SIDES] = int(v >= int(counts[1]))
        return name

    def vertex(self, line: int, word: str) -> int:
        """Return the number of a vertex, counted from 0, which the file states as a word, counted from 1.

        Raise FormatError if the word is not the number of a vertex.
        """
        if not is_count(word) or not 1 <= int(word) <= self.n:
            raise FormatError(self.path, line, f"vertex {word[:60]!r}; expected 1 to {self.n}")
        return int(word) - 1

    def add(self, line: int, section: str, words: list[str]) -> None:
        """Parse one line of a section, and add the vertex or the edges that the line describes."""
        if section == "*vertices":
            v = self.vertex(line, words[0])
            self.labels[v] = words[1] if len(words) > 1 else None
            coordinates = [float(word) for word in words[2:5] if is_number(word)]
            self.places[v] |= dict(zip("xyz", coordinates))
        elif section in ("*arcs", "*edges"):
            if len(words) < 2:
                raise FormatError(self.path, line, f"{' '.join(words)[:60]!r}; expected `from to` or `from to weight`")
            weight = words[2] if len(words) > 2 else ""
            if weight and not is_number(weight):
                raise FormatError(self.path, line, f"weight {weight[:60]!r}; expected a number")
            self._join(line, section, words[0], words[1], {"weight": number_or_text(weight)} if weight else {})
        elif section == "*matrix":
            if len(words) != self.n or not all(map(is_number, words)) or self.row == self.n:
                raise FormatError(self.path, line, f"{len(words)} words; expected {self.n} rows of {self.n} numbers")
            self.row += 1
            for column_number, word in enumerate(words, start=1):
                if float(word) != 0:
                    self._join(line, section, str(self.row), str(column_number), {"weight": number_or_text(word)})
        else:
            for word in words[1:]:
                self._join(line, section, words[0], word, {})

    def _join(self, line: int, section: str, u: str, v: str, attributes: dict[str, Any]) -> None:
        self.edges.append((self.vertex(line, u), self.vertex(line, v), attributes))
        self.undirected.append(section.startswith("*edges"))


def read(path: Path) -> Graph:
    """Return the graph in a Pajek .net file."""
    return record_files.read(path, "Pajek", lambda stream: _parse(path, stream.read()))


def _parse(path: Path, content: bytes) -> Records:
    read_lines, section = _Content(path), ""
    for line, text in enumerate(record_files.decoded(path, content).split("\n"), start=1):
        words_of_line = [quoted or word for quoted, word in _WORD.findall(text)]
        if not words_of_line or text.startswith("%"):
            continue
        if words_of_line[0].startswith("*"):
            section = read_lines.begin(line, words_of_line)
        elif section in _SECTIONS:
            read_lines.add(line, section, words_of_line)
        else:
            raise FormatError(path, line, f"{text.strip()[:60]!r}; expected `*Vertices COUNT`")
    if section not in _SECTIONS:
        raise FormatError(path, None, "has no line `*Vertices COUNT`; expected one")
    record_files.weighted_by_default(read_lines.edges)
    records = Records([*zip(range(read_lines.n), read_lines.places)], read_lines.edges, read_lines.undirected)
    return record_files.named_by(path, records, read_lines.labels) if any(read_lines.labels) else records


def write(stream: IO[bytes], graph: Graph, path: Path) -> None:
    """Write a graph as a Pajek file: its vertices with their names, and all edges as arcs."""
    names = distinct_texts(path, graph)
    if unsupported := next((name for name in names if re.search(r'["\r\n]', name)), None):
        raise ValueError(f"{path}: Pajek files can't store the name {unsupported!r}; write .npz, .csv or .parquet")
    stream.write(f"*Vertices {graph.n}\n".encode())
    if graph.names is not None:
        stream.write("".join(f'{v} "{name}"\n' for v, name in enumerate(names, start=1)).encode())
    stream.write(b"*Arcs\n")
    weights = (
        [""] * graph.m
        if graph.values is None
        else [f" {_number_text(edge_weight)}" for edge_weight in graph.values.tolist()]
    )
    src, dst = (end.tolist() for end in graph.edges())
    stream.write("".join(f"{u + 1} {v + 1}{edge_weight}\n" for u, v, edge_weight in zip(src, dst, weights)).encode())


def _number_text(value: Any) -> str:
    return str(int(value) if isinstance(value, bool) else value)
