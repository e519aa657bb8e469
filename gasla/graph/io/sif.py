"""SIF files, Cytoscape's simple interaction format, with lines `source relation target…`.

A line of one name is a vertex. Words are separated by tabs if there are any, else by spaces. Relations are texts, which
gasla leaves out.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gasla.graph.exchange.libraries import Records
from gasla.graph.io import record_files
from gasla.graph.io.files import FormatError

if TYPE_CHECKING:
    from gasla.graph.graph import Graph

SUFFIXES = (".sif",)


def read(path: Path) -> Graph:
    """Return the graph in a SIF file. Vertices are numbered in the order in which they first appear."""
    return record_files.read(path, "SIF", lambda stream: _parse(path, stream.read()))


def _parse(path: Path, content: bytes) -> Records:
    nodes: dict[Any, dict[str, Any]] = {}
    edges: list[tuple[Any, Any, dict[str, Any]]] = []
    text = record_files.decoded(path, content)
    separator = "\t" if "\t" in text else None
    for line, row in enumerate(text.split("\n"), start=1):
        words_of_line = [word for word in row.rstrip("\r").split(separator) if word]
        if len(words_of_line) == 2:
            raise FormatError(path, line, f"{row.strip()[:60]!r}; expected `source relation target`, or one name")
        if words_of_line:
            nodes |= {word: nodes.get(word, {}) for word in (words_of_line[0], *words_of_line[2:])}
        edges += [(words_of_line[0], target, {}) for target in words_of_line[2:]]
    return Records([*nodes.items()], edges)
