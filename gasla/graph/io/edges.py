"""Edge lists: text files with lines `source target [weight]`, ids from 0, and comments that begin with `#` or `%`.

The format of SNAP (.txt, .tsv) and of the GAP benchmark suite (.el without weights, .wel with). The SNAP comment
`# Nodes: 5 Edges: 7` gives the number of vertices, and reveals truncated files; without it the number of vertices is
one more than the largest id.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from io import BytesIO, StringIO, TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, TextIO

import numpy as np

from gasla.graph.io import files
from gasla.graph.io.files import (
    EXPECTED_ID,
    EXPECTED_WEIGHT,
    FormatError,
    Part,
    complain,
    edge_blocks,
    graph_of_parts,
    has_weights,
    is_number,
    is_whole,
    open_text,
    read_table,
    uncommented,
)
from gasla.graph.io.separated import warn_of_bad_rows
from gasla.graph.validate import are_sparse

if TYPE_CHECKING:
    from gasla.graph.graph import Graph

SUFFIXES = (".txt", ".el", ".wel", ".tsv", ".edges", ".edgelist", ".ncol")
_COMMENTS = "#%"


def read(path: Path, skips_bad_rows: bool = False, is_numbered: bool = False, bipartite: bool | None = None) -> Graph:
    """Return the graph in an edge list.

    If `is_numbered`, ids are certainly vertex numbers. Otherwise raise FormatError if ids are so large for the number
    of edges that they may be names, such as account numbers.
    """

    def require(n: int, m: int) -> None:
        if not is_numbered and not states_n and (doubt := are_sparse(n, m)):
            raise FormatError(path, None, doubt)

    each_part = parts(path, skips_bad_rows, bipartite)
    first_part = next(each_part)
    states_n = first_part.states_n
    return graph_of_parts(chain([first_part], each_part), require)


def _valid_rows(path: Path, header: _Header, lines: list[str]) -> tuple[Part, int]:
    """Return the edges of the well-formed lines among `lines`, and the number of malformed lines."""
    good, bad_count = [], 0
    for line in lines:
        if words_of_line := uncommented(line, _COMMENTS).split():
            is_bad = _check(words_of_line, header.columns) is not None
            bad_count += is_bad
            good += [] if is_bad else [line]
    parsed_part = _parse(header, StringIO("".join(good)))
    if parsed_part is None:
        raise _first_error(path, header)
    return parsed_part, bad_count


def read_part(path: Path, start: int = 0, stop: int | None = None) -> Part:
    """Return the edges of all lines, or of the lines that begin from byte `start` to `stop` of an uncompressed file.

    Several processes can thus read a part each. The caller compares the number of edges in the header with the sum over
    all parts.
    """
    with open_text(path) as text:
        header = _read_header(path, text)
        if stop is None:
            text.seek(0)
            return _parse_or_raise(path, header, text)
    with open(path, "rb") as file:
        file.seek(max(start - 1, 0))
        if start > 0:
            # Skip the rest of a line that began before byte `start`, because that line belongs to the preceding part.
            file.readline()
        first_byte = file.tell()
        file.seek(max(first_byte, stop - 1))
        if stop > first_byte:
            file.readline()
        last_byte = file.tell()
        file.seek(first_byte)
        return _parse_or_raise(
            path, header, TextIOWrapper(BytesIO(file.read(last_byte - first_byte)), encoding="latin-1")
        )


def parts(path: Path, skips_bad_rows: bool = False, bipartite: bool | None = None) -> Iterator[Part]:
    """Yield the edges of an edge list in blocks.

    The first block has no edges. It holds the number of vertices if the header states one, and an empty array of
    weights if the file has weights. With `skips_bad_rows`, malformed lines are left out, with a warning at the end.
    """
    count = bad_count = 0
    with open_text(path) as text:
        start = text.tell()
        header = _read_header(path, text, bipartite)
        text.seek(start)
        nothing = np.zeros(0, np.int64)
        weights = nothing if header.columns == 3 else None
        yield Part(nothing, nothing, weights, header.n, states_n=header.line is not None)
        while lines := text.readlines(files.PART):
            parsed_part = _parse(header, StringIO("".join(lines)))
            if parsed_part is None:
                if not skips_bad_rows:
                    raise _first_error(path, header)
                parsed_part, left_out = _valid_rows(path, header, lines)
                bad_count += left_out
            count += len(parsed_part.src)
            yield parsed_part
    if bad_count:
        warn_of_bad_rows(path, bad_count, _first_error(path, header))
    if count + bad_count < header.m:
        raise FormatError.of_count(path, header.line, header.m, count)


def _parse_or_raise(path: Path, header: _Header, text: TextIO) -> Part:
    """Return the edges in the text of an edge list. Raise FormatError for the first malformed line of the file."""
    if text.read(len(BOM_UTF8)) != BOM_UTF8.decode("latin-1"):
        text.seek(0)
    parsed_part = _parse(header, text)
    if parsed_part is None:
        raise _first_error(path, header)
    return parsed_part


def _parse(header: _Header, text: TextIO) -> Part | None:
    """Return the edges in the text of an edge list.

    Return None if a line does not have two ids and, if edges have weights, a weight.
    """
    fields = [("src", "i8"), ("dst", "i8"), ("weight", "number")][: header.columns]
    table = read_table(text, fields, _COMMENTS)
    if table is None or (len(table) and min(table["src"].min(), table["dst"].min()) < 0):
        return None
    return Part(table["src"], table["dst"], table["weight"] if header.columns == 3 else None, header.n, header.m)


def _first_error(path: Path, header: _Header) -> FormatError:
    """Return the error for the first malformed line of a file."""
    return complain(path, lambda _, words: _check(words, header.columns), _COMMENTS)


def write(stream: IO[bytes], graph: Graph, path: Path) -> None:
    """Write an edge list. Weights are written if any weight differs from 1, and always in .wel and .tsv files."""
    names = [suffix.lower() for suffix in path.suffixes]
    last_is_used = graph.n > 0 and (graph.out_degrees[-1] > 0 or graph.in_degrees[-1] > 0)
    # Files .el and .wel get no comment if possible, because other readers of these files don't support comments.
    # Without the comment the number of vertices is one more than the largest id, so the last vertex needs an edge.
    if not last_is_used or not {".el", ".wel"} & set(names):
        stream.write(f"# Nodes: {graph.n} Edges: {graph.m}\n".encode())
    separator = "\t" if ".tsv" in names else " "
    weighted = has_weights(graph) or bool({".wel", ".tsv"} & set(names))
    for block in edge_blocks(graph):
        if weighted:
            lines = [f"{u}{separator}{v}{separator}{edge_weight}\n" for u, v, edge_weight in zip(*block)]
        else:
            lines = [f"{u}{separator}{v}\n" for u, v in zip(*block[:2])]
        stream.write("".join(lines).encode())


class _Header(NamedTuple):
    columns: int  # number of columns of the first line that holds an edge: 2, or 3 if edges have weights
    # number of the line with the comment `# Nodes: n Edges: m`, or None if no comment states these counts
    line: int | None
    n: int
    m: int


def _read_header(path: Path, stream: IO[str], bipartite: bool | None = None) -> _Header:
    """Read the comments above the first edge of an edge list, and count the columns of the first edge."""
    counts: tuple[int | None, int, int] = (None, 0, 0)
    line_number = 0
    for line_number, line in enumerate(stream, start=1):
        words_of_line = line.split()
        if words_of_line and words_of_line[0][0] in _COMMENTS:
            if words_of_line[:2] == ["%", "bip"] and bipartite is None:
                problem = "says that the columns hold two kinds of vertices, which this reader would number alike"
                remedy = "gasla.io.read of a file tells them apart; pass bipartite=False if they are one kind"
                raise FormatError(path, line_number, f"{problem}; {remedy}")
            match = re.search(r"Nodes:\s*(\d{1,18})\s+Edges:\s*(\d{1,18})\b", line, re.ASCII)
            counts = (line_number, int(match[1]), int(match[2])) if match else counts
        elif words_of_line:
            columns = len(uncommented(line, _COMMENTS).split())
            if columns not in (2, 3):
                raise FormatError(
                    path,
                    line_number,
                    f"{columns} columns; expected `source target [weight]`, separated by spaces; to choose among more "
                    "columns pass src=, dst= and weight=, for another separator pass separator=",
                )
            return _Header(columns, *counts)
    if line_number == 0:
        raise FormatError(path, 1, "the file is empty; expected lines `source target [weight]`")
    return _Header(2, *counts)


def _check(words_of_line: list[str], columns: int) -> str | None:
    if len(words_of_line) != columns:
        return f"{len(words_of_line)} columns; expected {columns}, as in the first edge"
    for word in words_of_line[:2]:
        if not is_whole(word) or int(word) < 0:
            return f"vertex {word[:60]!r}; {EXPECTED_ID}"
    if columns == 3 and not is_number(words_of_line[2]):
        return f"weight {words_of_line[2][:60]!r}; {EXPECTED_WEIGHT}"
    return None
