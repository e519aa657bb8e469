"""Tables of edges, a row an edge: CSV, Parquet and Feather, read and written by pyarrow (`pip install 'gasla[arrow]'`).

What columns mean, and which ids are names, says `Graph.from_table`. The first line of a CSV file is a header unless it
holds a number. Where neither a name nor a number tells, one who calls says which: names of columns, or their places.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from gasla.graph.exchange.columns import Column, are_usual, arrow, choose, places_of_numbers
from gasla.graph.graph import Graph
from gasla.graph.io.files import FormatError, is_number, is_whole, open_bytes, open_text, translate_errors
from gasla.graph.validate import physical_memory

Columns = tuple[Column | None, Column | None, Column | None]  # src, dst, weight
SUFFIXES = {".csv": "csv", ".parquet": "parquet", ".feather": "feather", ".arrow": "feather"}
_COUNT = b"gasla.vertices"  # where a file's schema says how many there are


def read(path: Path, format: str, columns: Columns, names: bool | None) -> Graph:
    """The graph in a file."""
    arrow()
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is no file; a table is read more than once, and can't come out of a pipe or a folder")
    if format == "csv":
        table = _csv(path, columns, names)
    else:
        table = (_parquet if format == "parquet" else _feather)(path, columns)
    try:
        graph = Graph.from_table(table, 0, 1, 2 if table.num_columns > 2 else None, names=names)
    except (ValueError, TypeError) as error:
        found = None
        if format == "csv":
            found = _first_bad_row(path, _header(path, columns), table.column_names, bool(names))
        raise found or FormatError(path, None, str(error)) from error
    count = int((table.schema.metadata or {}).get(_COUNT, graph.n))
    if graph.names is None and count > graph.n:
        return Graph.from_edges(*graph._edges(), graph.values, n=count)
    return graph


def write(stream: IO[bytes], graph: Graph, path: Path, format: str) -> None:
    """Write the edges of a graph: columns src, dst, and weight if there are values."""
    pa = arrow()
    used = np.zeros(graph.n, bool)
    src, dst = graph._edges()
    used[src] = used[dst] = True
    if not used.all() and (graph.names is not None or (format == "csv" and not used[-1])):
        v = int(np.flatnonzero(~used)[-1])
        raise ValueError(f"{path}: a {format} file holds edges alone, and vertex {v} has none; write .npz or .mtx")
    each = (lambda ends: ends) if graph.names is None else graph.names.__getitem__
    table = pa.table({"src": each(src), "dst": each(dst)} | ({} if graph.values is None else {"weight": graph.values}))
    if format == "csv":
        arrow("pyarrow.csv").write_csv(table, stream)
        return
    if graph.names is None:
        table = table.replace_schema_metadata({_COUNT: str(graph.n)})
    if format == "parquet":
        arrow("pyarrow.parquet").write_table(table, stream)
    else:
        arrow("pyarrow.feather").write_feather(table, stream)


# --- Parquet and Feather --------------------------------------------------------------------------------------------


def _parquet(path: Path, columns: Columns) -> Any:
    parquet = arrow("pyarrow.parquet")
    with _open(path) as source:
        about = parquet.ParquetFile(source)
        titles, rows, groups = about.schema_arrow.names, about.metadata.num_rows, about.metadata.num_row_groups
        chosen = _chosen(path, titles, columns, places_of_numbers(about.schema_arrow))
        parts = [
            about.metadata.row_group(g).column(c) for g in range(groups) for c in range(about.metadata.num_columns)
        ]
    size = sum(part.total_uncompressed_size for part in parts if part.path_in_schema in chosen)
    _require_memory(path, size + 24 * rows)
    with _open(path) as source:
        return parquet.ParquetFile(source).read(columns=chosen).select(chosen)


def _feather(path: Path, columns: Columns) -> Any:
    _require_memory(path, path.stat().st_size)
    with _open(path) as source:
        table = arrow("pyarrow.feather").read_table(source)
    return table.select(_chosen(path, table.column_names, columns, places_of_numbers(table.schema)))


def _chosen(path: Path, titles: list[str], columns: Columns, numbers: list[int]) -> list[str]:
    """The names of the columns meant."""
    try:
        return [titles[place] for place in choose(titles, *columns, numbers) if place is not None]
    except (ValueError, TypeError) as error:
        raise FormatError(path, None, str(error)) from error


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes]]:
    """A file to read, decompressed by the name's end; pyarrow's errors as a FormatError."""
    with translate_errors(path):
        try:
            with open_bytes(path) as stream:
                yield stream
        except arrow().ArrowInvalid as error:
            why = " ".join(str(error).split())
            raise FormatError(path, None, f"is damaged or of another format ({why})") from error


def _require_memory(path: Path, needed: int) -> None:
    """Refuse a file that is larger than memory before any of it is read."""
    memory = physical_memory()
    if memory is not None and needed > memory:
        raise MemoryError(
            f"{path} needs {needed:,} bytes at least, and the machine has {memory:,}; read a part of it with pyarrow, "
            "and pass that to Graph.from_table"
        )


# --- CSV ------------------------------------------------------------------------------------------------------------


def _csv(path: Path, columns: Columns, names: bool | None) -> Any:
    _require_memory(path, path.stat().st_size)
    header = _header(path, columns)
    chosen = _chosen(path, header.titles, columns, header.numbers)
    types = arrow().types
    if names is not False:
        table = _read_csv(path, header, chosen, chosen[:2])
        if names or (numbered := _numbered(path, table, chosen[:2])) is not None:
            return table if names else numbered
    table = _read_csv(path, header, chosen, [])
    odd = [end for end in chosen[:2] if types.is_temporal(table[end].type) or types.is_boolean(table[end].type)]
    if odd:  # a date or "true" is a name like any other
        table = _read_csv(path, header, chosen, odd)
    return table


def _numbered(path: Path, table: Any, ends: list[str]) -> Any:
    """The table with ids as numbers, if all of its strings are; refused, if some may be meant for names."""
    pc = arrow("pyarrow.compute")
    numbered = table
    for end in ends:
        texts = table[end]
        try:
            ids = texts.cast("int64")
        except arrow().ArrowInvalid:
            return None
        led = pc.and_(pc.starts_with(texts, "0"), pc.greater(pc.binary_length(texts), 1))
        if pc.any(led).as_py():
            led = texts.filter(led)[0].as_py()
            raise FormatError(
                path,
                None,
                f"column {end!r} holds {led!r}, which begins with 0; pass names=True if it is another vertex than "
                f"{int(led)}, names=False if it is the same (--vertices names, --vertices numbers)",
            )
        numbered = numbered.set_column(table.column_names.index(end), end, ids)
    return numbered


def _read_csv(path: Path, header: _Header, chosen: list[str], texts: list[str]) -> Any:
    """The columns `chosen`, of which those in `texts` are strings whatever they look like."""
    pa, arrow_csv = arrow(), arrow("pyarrow.csv")
    try:
        with _open(path) as source:
            return arrow_csv.read_csv(
                source,
                arrow_csv.ReadOptions(column_names=header.titles, skip_rows_after_names=int(header.is_there)),
                convert_options=arrow_csv.ConvertOptions(
                    include_columns=chosen,
                    column_types=dict.fromkeys(texts, pa.string()),
                    null_values=[""],  # NA is Namibia
                    strings_can_be_null=True,
                ),
            )
    except FormatError as error:
        raise _first_bad_row(path, header, chosen, bool(texts)) or error from error


class _Header(NamedTuple):
    """The names of the columns, whether the first line says them, and the places of those that begin with a number."""

    titles: list[str]
    is_there: bool
    numbers: list[int]


def _header(path: Path, columns: Columns) -> _Header:
    """What the first two lines tell."""
    lines = [row for _, row in islice(_rows(path), 2)]
    if not lines:
        raise FormatError(path, 1, "the file is empty; expected the names of columns, or an edge")
    first = lines[0]
    usual = ["src", "dst", "weight"][: len(first)] if len(first) <= 3 else []
    unnamed = [*usual, *(f"column {i}" for i in range(len(usual), len(first)))]
    later = [place for line in lines[1:] for place, cell in enumerate(line[: len(first)]) if is_number(cell)]
    if any(isinstance(column, str) for column in columns):
        return _Header(first, True, later)
    if numbers := [place for place, cell in enumerate(first) if is_number(cell)]:
        return _Header(unnamed, False, numbers)
    if are_usual(first) or later:
        return _Header(first, True, later)
    if columns[0] is not None:
        return _Header(unnamed, False, [])
    raise FormatError(
        path,
        1,
        f"{','.join(first)[:60]!r} may be a header or an edge; pass src= and dst=, the names of the columns if it is a "
        "header, or their places 0 and 1 if it is an edge",
    )


def _first_bad_row(path: Path, header: _Header, chosen: list[str], names: bool) -> FormatError | None:
    """The error for the first line of a CSV file that is not like the first of its rows."""
    titles = header.titles
    places = [titles.index(title) for title in chosen]
    kinds: list[_Kind] | None = None
    for line, row in islice(_rows(path), int(header.is_there), None):
        if len(row) != len(titles):
            return FormatError(path, line, f"{len(row)} columns; expected {len(titles)}, as in the first line")
        cells = [row[place] for place in places]
        if kinds is None:
            end = _NUMBER if not names and all(map(is_whole, cells[:2])) else _NAME
            kinds = [end, end, _WEIGHT][: len(chosen)]
        for title, cell, kind in zip(chosen, cells, kinds):
            if not kind.holds(cell):
                return FormatError(path, line, f"column {title!r} holds {cell[:60]!r}; expected {kind.expected}")
    return None


class _Kind(NamedTuple):
    """What a column's cells are."""

    holds: Callable[[str], bool]
    expected: str


_NUMBER = _Kind(
    lambda cell: is_whole(cell) and int(cell) >= 0,
    "a whole number from 0, of 64 bits at most, or names=True for ids that are names",
)
_NAME = _Kind(bool, "a name")
_WEIGHT = _Kind(is_number, "a number")


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file with the numbers of their lines, empty ones left out."""
    with translate_errors(path), open_text(path) as text:
        reader = csv.reader(line.encode("latin-1").decode(errors="replace") for line in text)
        try:
            yield from ((reader.line_num, row) for row in reader if row)
        except csv.Error as error:
            raise FormatError(path, reader.line_num, f"{error}; expected comma-separated values") from error
