"""KONECT's edge lists, which are files called `out.NAME`, with ids from 1.

The first line is `% sym`, `% asym` or `% bip` and the kind of weights, and each further line `from to [weight [time]]`.
`sym` makes every edge lead both ways, and `bip` makes the columns two sides of a bipartite graph. Times become the edge
attribute `time`.
"""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gasla.graph.exchange.columns import Edges
from gasla.graph.exchange.libraries import both_ways
from gasla.graph.exchange.two_sides import SIDES, sides
from gasla.graph.io.files import (
    EXPECTED_ID,
    FormatError,
    complain,
    is_count,
    is_number,
    is_whole,
    open_text,
    read_table,
    require_memory,
)

if TYPE_CHECKING:
    from gasla.graph.graph import Graph

SUFFIXES = ()  # KONECT's files have no suffix, and are recognized by names that begin with "out."
_KINDS = ("sym", "asym", "bip")
_WEIGHTS = ("unweighted", "positive", "posweighted", "signed", "weighted", "multiweighted", "dynamic", "multisigned",
            "multiposweighted")  # fmt: skip


def has_name(path: Path) -> bool:
    """Return whether a file's name has the form `out.NAME`, as KONECT names its edge lists."""
    return path.name.startswith("out.") and len(path.name) > 4


def read(path: Path) -> Graph:
    """Return the graph in an edge list of KONECT."""
    from gasla.graph.graph import Graph

    with open_text(path) as stream:
        text = stream.read()
    lines = text.split("\n", 3)
    kind, counts = _read_header(path, lines)
    first = next((words for line in text.split("\n") if (words := line.split()) and words[0][0] != "%"), ["", ""])
    columns = len(first)
    if not 2 <= columns <= 4:
        raise FormatError(path, None, f"{' '.join(first)[:60]!r}; expected `from to [weight [time]]`")
    fields = [("u", "i8"), ("v", "i8"), ("weight", "number"), ("time", "number")][:columns]
    table = _read_edges(text, fields)
    if table is None or (len(table) and min(table["u"].min(), table["v"].min()) < 1):
        raise complain(path, lambda _, words: _check(words, columns), "%")
    if counts and counts[0] != len(table):
        raise FormatError.of_count(path, 2, counts[0], len(table))
    src, dst = table["u"] - 1, table["v"] - 1
    largest = [1 + int(end.max(initial=-1)) for end in (src, dst)]
    side_sizes = [max(pair) for pair in zip(largest, [*counts[1:3], 0, 0][:2])]
    n = sum(side_sizes) if kind == "bip" else max(side_sizes)
    require_memory(n, len(table))
    if kind == "bip":
        dst = dst + side_sizes[0]
    weights = np.ascontiguousarray(table["weight"]) if columns > 2 and kind_of_weights(lines) != "unweighted" else None
    edge_attributes = {"time": np.ascontiguousarray(table["time"])} if columns > 3 else {}
    vertex_attributes: dict[str, Any] = {SIDES: sides(n, side_sizes[0])} if kind == "bip" else {}
    return Graph._of_edges(
        both_ways(Edges(n, src, dst, weights, None, edge_attributes, vertex_attributes), kind == "sym")
    )


def _read_edges(text: str, fields: list[tuple[str, str]]) -> Any:
    """Return a structured array with one record for each edge, or None if the text is malformed.

    Weights are int64 if all of them are integers, else float64, and so are times.
    """
    if len(fields) < 4:
        return read_table(StringIO(text), fields, "%")
    for weight in ("i8", "f8"):
        columns = read_table(StringIO(text), [*fields[:2], ("weight", weight), fields[3]], "%")
        if columns is not None:
            return columns
    return None


def kind_of_weights(lines: list[str]) -> str:
    """Return what the first line of a KONECT file calls its weights, such as "unweighted" or "signed"."""
    return lines[0].split()[2]


def _read_header(path: Path, lines: list[str]) -> tuple[str, list[int]]:
    """Return the kind of graph ("sym", "asym" or "bip") from line 1 of a file, and the counts from line 2."""
    words = lines[0].split()
    if len(words) != 3 or words[0] != "%" or words[1] not in _KINDS or words[2] not in _WEIGHTS:
        expected = f"expected `% KIND WEIGHTS`, one of {', '.join(_KINDS)} and one of {', '.join(_WEIGHTS)}"
        raise FormatError(path, 1, f"{lines[0].strip()[:60]!r}; {expected}")
    counts = lines[1].split()[1:] if len(lines) > 1 and lines[1].startswith("%") else []
    return words[1], [*map(int, counts[:3])] if counts and all(map(is_count, counts)) else []


def _check(words: list[str], columns: int) -> str | None:
    if len(words) != columns:
        return f"{len(words)} columns; expected {columns}, as in the first edge"
    for word in words[:2]:
        if not is_whole(word) or int(word) < 1:
            return f"vertex {word[:60]!r}; {EXPECTED_ID.replace('from 0', 'from 1')}"
    invalid = next((word for word in words[2:] if not is_number(word)), None)
    return None if invalid is None else f"{invalid[:60]!r}; expected a number"
