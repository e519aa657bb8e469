"""Tables with one edge per row (CSV, Parquet, Feather), read and written by pyarrow (`pip install 'gasla[arrow]'`).

`Graph.from_table` says what columns mean, and which ids are names. The first line of a CSV file is a header unless it
contains a number. If that is ambiguous, the caller decides, by passing names or positions of columns.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime
from io import BytesIO, StringIO
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from gasla.apart import call_apart
from gasla.graph.attributes import checked
from gasla.graph.dates import TimeColumn, iso, length, looks_dated, times_of_texts
from gasla.graph.exchange import two_sides, two_tables
from gasla.graph.exchange.columns import (
    WAYS,
    WIDE,
    Column,
    Edges,
    Kinds,
    are_first,
    are_usual,
    arrow,
    attributes_of,
    choose,
    direction_column,
    edges_of,
    kinds_of,
    place_of,
    places_of_attributes,
)
from gasla.graph.graph import Graph
from gasla.graph.io import dimacs, files
from gasla.graph.io.files import (
    COMPRESSIONS,
    EXPECTED_ID,
    EXPECTED_WEIGHT,
    Array,
    FormatError,
    Part,
    TooLarge,
    is_number,
    is_whole,
    open_bytes,
    parsed_json,
    require_version,
    translate_errors,
)
from gasla.graph.io.separated import SPACES, Layout, first_rows, look, rows, warn_of_bad_rows
from gasla.graph.memory_limit import require_bytes

BLANKS = " \t"  # Spaces and tabs around names, titles and numbers are ignored, in quotes or not.
_SAMPLED_ROWS = 1000  # number of rows read to find out what each column holds
_ROWS = 1 << 14  # number of rows that Python splits into cells at a time


class Columns(NamedTuple):
    """The columns that the caller of `read` asks for, each by its title or its position, and options for the edges."""

    src: Column | None = None
    dst: Column | None = None
    weight: Column | None = None
    # None means the columns that `write` stored as edge attributes, whose titles are in the metadata of the file.
    attributes: Sequence[Column] | None = None
    bipartite: bool | None = None  # None means that the file says whether the graph is bipartite
    # None means that a column of the file, such as Gephi's Type, says which edges are undirected
    undirected: bool | None = None
    only_ends: bool = False  # whether only sources and targets are read, without weights and attributes

    @property
    def given(self) -> list[Column]:
        """The columns that the caller passed as source, target, weight or attributes, without those that are None."""
        return [column for column in (*self[:3], *(self.attributes or ())) if column is not None]


class Chosen(NamedTuple):
    """The titles of the columns to read from a table: those of sources, targets, weights and edge attributes."""

    ends: list[str]
    weight: str | None
    attributes: list[str]
    # title of the column with cells such as "Undirected", or None if the table has no such column
    direction: str | None = None

    @property
    def titles(self) -> list[str]:
        """The titles of all columns to read, each once: of sources, targets, weights, attributes and directions."""
        numbers = [] if self.weight is None else [self.weight]
        directions = [] if self.direction is None else [self.direction]
        return list(dict.fromkeys([*self.ends, *numbers, *self.attributes, *directions]))


_COUNT_KEY = b"gasla.vertices"  # key of the metadata entry that holds the number of vertices
_ATTRIBUTES_KEY = b"gasla.attributes"  # key of the metadata entry that lists the columns of edge attributes, as JSON
# key of the metadata entry with the version of the entries that gasla adds to a file's metadata
_VERSION_KEY = b"gasla.version"
VERSION = 1
# A file whose metadata have this key stores names of vertices in place of vertex numbers. The names may be small
# integers.
_NAMES_KEY = b"gasla.names"


def read(
    path: Path,
    format: str,
    columns: Columns,
    names: bool | None = None,
    separator: str | None = None,
    skips_bad_rows: bool = False,
) -> Graph:
    """Return the graph in a table file.

    With `skips_bad_rows`, malformed rows of CSV files and edge lists are left out with a warning.
    """
    arrow()
    names = True if names is None and columns.bipartite else names
    if path.exists() and not path.is_file() and not (format == "parquet" and has_parts(path)):
        raise ValueError(f"{path} is not a regular file; tables are read more than once, so pipes are not supported")
    if format in ("parquet", "feather"):
        table, chosen = (_read_parquet if format == "parquet" else _read_feather)(path, columns)
        metadata = _read_metadata(path, table.schema)
        if names is None and (_NAMES_KEY in metadata or _COUNT_KEY in metadata):
            names = _NAMES_KEY in metadata
        return _graph(path, table, chosen, names, columns)
    layout = look(path, separator, format == "csv")
    try:
        return _graph_of_text(path, layout, columns, names)
    except FormatError as error:
        if not skips_bad_rows or error.line is None or error.line <= layout.head + 1:
            raise
        header = _infer_header(path, layout, columns)
        chosen = _choose_columns(path, header.titles, columns, header.kinds)
        bad_rows = {bad.line: bad for bad in _row_errors(path, layout, header, chosen, names) if bad.line is not None}
        graph = _graph_of_text(path, layout._replace(left_out=frozenset(bad_rows)), columns, names)
        warn_of_bad_rows(path, len(bad_rows), next(iter(bad_rows.values()), error))
        return graph


def _graph_of_text(path: Path, layout: Layout, columns: Columns, names: bool | None) -> Graph:
    header = _infer_header(path, layout, columns)
    chosen = _choose_columns(path, header.titles, columns, header.kinds)
    table = _csv_table(path, layout, header, chosen, names)
    try:
        return _graph(path, table, chosen, names, columns)
    except FormatError as error:
        raise next(_row_errors(path, layout, header, chosen, names), error) from error


def _graph(path: Path, table: Any, chosen: Chosen, names: bool | None, columns: Columns) -> Graph:
    metadata = _read_metadata(path, table.schema)
    with translate_errors(path):
        try:
            if table.num_rows == 0 and _COUNT_KEY in metadata:
                return _without_edges(table, chosen, _vertex_count(path, metadata, 0))
            graph = Graph.from_table(
                *(table, 0, 1, chosen.weight),
                attributes=chosen.attributes,
                names=names,
                bipartite=columns.bipartite,
                # `gasla.io.read` adds reverse edges itself if the caller passed True, so none are added here.
                undirected=False if columns.undirected else columns.undirected,
            )
        except (ValueError, TypeError) as error:
            raise FormatError(path, None, str(error)) from error
    count = _vertex_count(path, metadata, graph.n)
    if graph.names is None and count > graph.n:
        edge_attributes = graph.edge_attributes.columns()
        return Graph.from_edges(*graph.edges(), graph.values, n=count).with_edge_attributes(edge_attributes)
    return graph


def _without_edges(table: Any, chosen: Chosen, n: int) -> Graph:
    """Return a graph with n vertices and no edges, with weights and attributes of the dtypes in an empty table.

    `write` stores the number of vertices in the metadata of such a table.
    """
    no_ids = np.zeros(0, np.int64)
    values = None if chosen.weight is None else table.column(chosen.weight).to_numpy()
    return Graph.from_edges(no_ids, no_ids, values, n=n).with_edge_attributes(attributes_of(table, chosen.attributes))


def _name_column(path: Path, names: Array) -> Array:
    """Return the names of vertices as an array for a column of a table, either of strings or of 64-bit integers.

    Raise ValueError if the names are of several types or don't fit into 64 bits.
    """
    values = names.tolist()
    with suppress(UnicodeEncodeError, OverflowError):
        if all(isinstance(name, str) for name in values):
            "".join(values).encode()
            return np.array(values, object)
        if all(isinstance(name, int | np.integer) and not isinstance(name, bool) for name in values):
            return np.array(values, np.int64 if max(values) < 2**63 else np.uint64)
    raise ValueError(
        f"{path}: a table stores names that are all text, valid in UTF-8, or all integers, within int64 or uint64; "
        "others are stored in .npz files and .gasla folders"
    )


def write(stream: IO[bytes], graph: Graph, path: Path, format: str) -> None:
    """Write the edges of a graph as a table: columns src and dst, weight if edges have values, and edge attributes."""
    pa = arrow()
    if graph.m == 0 and (graph.names is not None or format == "csv"):
        raise ValueError(f"{path}: a {format} file stores only edges, and the graph has none; write .npz or .mtx")
    has_edges = np.zeros(graph.n, bool)
    src, dst = graph.edges()
    has_edges[src] = has_edges[dst] = True
    if not has_edges.all() and (graph.names is not None or (format == "csv" and not has_edges[-1])):
        v = int(np.flatnonzero(~has_edges)[-1])
        raise ValueError(f"{path}: a {format} file stores only edges, and vertex {v} has none; write .npz or .mtx")
    if format == "csv" and graph.names is not None:
        for v, name in enumerate(graph.names.tolist()):
            if isinstance(name, str) and (not name or name != name.strip(BLANKS)):
                why = "begins or ends with a blank" if name else "is empty"
                raise ValueError(f"{path}: the name of vertex {v} {why}, which a csv file can't hold; write .parquet")
    try:
        columns = two_tables.edge_columns(graph, None if graph.names is None else _name_column(path, graph.names))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    table = pa.table({name: _to_arrow_column(column, format) for name, column in columns.items()})
    if format == "csv":
        arrow("pyarrow.csv").write_csv(table, stream)
        return
    metadata: dict[bytes, str] = {_VERSION_KEY: str(VERSION)}
    metadata |= {_COUNT_KEY: str(graph.n)} if graph.names is None else {_NAMES_KEY: "1"}
    if graph.edge_attributes:
        metadata[_ATTRIBUTES_KEY] = json.dumps([*graph.edge_attributes])
    table = table.replace_schema_metadata(metadata)
    if format == "parquet":
        arrow("pyarrow.parquet").write_table(table, stream)
    else:
        arrow("pyarrow.feather").write_feather(table, stream)


def _to_arrow_column(column: Any, format: str) -> Any:
    """Return an edge attribute as a column that pyarrow can write to a file of this format.

    pyarrow can't write durations to CSV files, so they become text by ISO 8601, such as "PT5M".
    """
    if isinstance(column, TimeColumn):
        if format == "csv" and column.type.kind == "duration":
            return [*map(iso, column.type.shown(column.numbers))]
        return column.to_arrow(arrow())
    # float32 becomes float64, so that numbers are written with as many digits as in other formats.
    return column.astype(np.float64) if format == "csv" and column.dtype.kind == "f" else column


# --- reading the table of vertices that may come with a table of edges ------------------------------------------------


def joined(graph: Graph, vertices: Any, vertex: Column | None, names: bool | None) -> Graph:
    """Return the graph with the vertices and vertex attributes of a table, which is in memory or in a file.

    The vertex with number i is the i-th row of the table. For a bipartite graph, there may be a table for each side.
    """
    weight_name, firsts = graph.edge_attributes.name_of(graph.values), []
    if {*graph.vertex_attributes} == {two_sides.SIDES} and graph.names is not None and graph.n:
        firsts = two_tables.firsts_of(graph.names, graph.vertex_attributes[two_sides.SIDES])
    elif graph.vertex_attributes:
        own_names = ", ".join(map(repr, graph.vertex_attributes))
        raise ValueError(
            f"vertices was given, and the file itself has attributes of vertices, {own_names}; expected one"
        )
    is_text = graph.names is not None and isinstance(graph.names[0], str)
    tables = vertices if firsts and isinstance(vertices, list | tuple) else [vertices]
    sides = [
        _read_vertices(Path(table), vertex, is_text, firsts)
        if isinstance(table, str | os.PathLike)
        else _vertices_of_table(table, vertex, firsts)
        for table in tables
    ]
    columns = graph.edge_attributes.columns(), graph.vertex_attributes.columns()
    edges = Edges(graph.n, *graph.edges(), graph.values, graph.names, *columns)
    result = Graph._of_edges(
        two_tables.with_sides(edges, sides) if firsts else two_tables.joined(edges, sides[0], names)
    )
    return result if weight_name is None else result.weighted_by(weight_name)


def _vertices_of_table(table: Any, vertex: Column | None, firsts: Sequence[str]) -> two_tables.Vertices:
    return two_tables.of_side(table, vertex, firsts) if firsts else two_tables.vertices_of(table, vertex)


def _read_vertices(path: Path, vertex: Column | None, is_text: bool, firsts: Sequence[str]) -> two_tables.Vertices:
    """Return the table of vertices in a file, with their ids and attributes.

    `is_text` says whether ids are text in the table of edges, because ids in both tables must be of one type. If the
    graph is bipartite, `firsts` are names of vertices of both sides, by which the side of this table is found.
    """
    pa, ending = arrow(), path.suffix.lower()
    if dimacs.has_coordinates(path):
        with translate_errors(path):
            return two_tables.vertices_of(pa.table(dimacs.coordinates(path)), "id")
    if ending in (".parquet", ".feather", ".arrow"):
        _require_memory(path, path.stat().st_size)
        with _open_for_arrow(path) as source:
            read = arrow("pyarrow.parquet" if ending == ".parquet" else "pyarrow.feather").read_table
            table = _validate(read(source))
        return _vertices_of_table(table, vertex, firsts)
    layout = look(path, None, is_csv=True)
    lines = first_rows(path, layout, 0, _SAMPLED_ROWS)
    if not lines:
        raise FormatError(path, 1, "the file is empty; expected a row for each vertex")
    first = [title.strip(BLANKS) for title in lines[0]]
    side = two_tables.title_of_side(first, firsts) if vertex is None else None
    vertex = vertex if side is None else side[1]
    is_above = isinstance(vertex, str) and vertex not in first and vertex in layout.titles
    has_titles = not is_above and (
        isinstance(vertex, str) or (not any(map(is_number, first)) and two_tables.has_ids(first))
    )
    titles = first if has_titles else [f"column {place}" for place in range(len(first))]
    titles = [*layout.titles] if is_above else titles
    header = _Header(titles, has_titles, _infer_kinds(lines[int(has_titles) :], len(titles)))
    try:
        place = (
            place_of(titles, "vertex", vertex)
            if vertex is not None
            else two_tables.place_of_ids(titles if has_titles or any(map(is_number, first)) else first, header.kinds)
        )
        attribute_titles = [title for title in titles if title != titles[place]]
        table = _parse_csv(path, layout, header, Chosen([titles[place]], None, attribute_titles), [titles[place]])
        if not is_text:
            table = table.set_column(0, titles[place], table[titles[place]].cast("int64"))
        else:
            table = _trim_ids(table, [titles[place]])
        return _vertices_of_table(table, titles[place], firsts)
    except (ValueError, TypeError) as error:
        raise error if isinstance(error, FormatError) else FormatError(path, None, str(error)) from error


# --- reading Parquet and Feather files --------------------------------------------------------------------------------


def _read_metadata(path: Path, schema: Any) -> dict[bytes, bytes]:
    """Return the metadata of a table as a dict of bytes.

    Raise FormatError if a later release of gasla has written its entries in a form that this release doesn't know.
    """
    notes: dict[bytes, bytes] = schema.metadata or {}
    version = notes.get(_VERSION_KEY, b"1")
    require_version(path, "table", int(version) if version.isdigit() else version, VERSION)
    return notes


def _vertex_count(path: Path, notes: dict[bytes, bytes], default: int) -> int:
    """Return the number of vertices that the metadata `notes` of a table state, or `default` if they state none."""
    text = notes.get(_COUNT_KEY, b"%d" % default)
    if not text.isdigit() or len(text) > 18:
        raise FormatError(path, None, f"is damaged: {_COUNT_KEY.decode()} is {text!r}; expected a number of vertices")
    return int(text)


def _with_listed_attributes(path: Path, columns: Columns, schema: Any) -> Columns:
    """Return `columns` with the edge attributes that the metadata of the file list.

    If the caller asks for certain attributes, or for sources and targets only, return `columns` unchanged.
    """
    stored_titles = _read_metadata(path, schema).get(_ATTRIBUTES_KEY)
    if stored_titles is None or columns.attributes is not None or columns.only_ends:
        return columns
    titles = parsed_json(path, stored_titles)
    if not isinstance(titles, list) or not all(isinstance(title, str) for title in titles):
        expected = "expected a list of titles of columns"
        raise FormatError(path, None, f"is damaged: {_ATTRIBUTES_KEY.decode()} is {stored_titles!r}; {expected}")
    return columns._replace(attributes=titles)


def has_parts(path: Path) -> bool:
    """Return whether a path is a folder that contains Parquet files, as Spark and Dask write a table."""
    return path.is_dir() and next(path.rglob("*.parquet"), None) is not None


def _read_parquet_folder(path: Path, columns: Columns) -> tuple[Any, Chosen]:
    """Return the table in a folder of Parquet files, and the titles of the columns read.

    The rows of one file follow those of another in the order of the files' names.
    """
    with _errors_of_arrow(path):
        dataset = arrow("pyarrow.dataset").dataset(path, format="parquet", partitioning="hive")
        schema = dataset.schema
        chosen = _choose_columns(path, schema.names, _with_listed_attributes(path, columns, schema), kinds_of(schema))
        _require_memory(path, 24 * dataset.count_rows())
        return _validate(dataset.to_table(chosen.titles)), chosen


def _read_parquet(path: Path, columns: Columns) -> tuple[Any, Chosen]:
    if path.is_dir():
        return _read_parquet_folder(path, columns)
    parquet = arrow("pyarrow.parquet")
    with _open_for_arrow(path) as source:
        reader = parquet.ParquetFile(source)
        schema, rows, groups = _read_schema(path, reader), reader.metadata.num_rows, reader.metadata.num_row_groups
        titles = schema.names
        chosen = _choose_columns(path, titles, _with_listed_attributes(path, columns, schema), kinds_of(schema))
        # pyarrow ends the process if the metadata of a single column are damaged, so the size is read from the metadata
        # of row groups only.
        size = sum(reader.metadata.row_group(g).total_byte_size for g in range(groups))
    _require_memory(path, (size if {*titles} == {*chosen.titles} else 0) + 24 * rows)
    with _open_for_arrow(path) as source:
        table = parquet.ParquetFile(source).read(columns=chosen.titles).select(chosen.titles)
        return _validate(table).replace_schema_metadata(schema.metadata), chosen


def _validate(table: Any) -> Any:
    """Return the table, after a check of the offsets of its strings and the indices of its dictionaries.

    pyarrow would follow them outside the table's memory if the file is damaged.
    """
    table.validate(full=True)
    return table


def _read_schema(path: Path, file: Any) -> Any:
    """Return the schema of a Parquet file. Raise FormatError if the two copies of gasla's metadata in the file differ.

    A Parquet file stores its metadata twice, and pyarrow's functions return one copy or the other.
    """
    schema, file_metadata = file.schema_arrow, file.metadata.metadata or {}
    for entry, value in (schema.metadata or {}).items():
        if entry.startswith(b"gasla.") and file_metadata.get(entry, value) != value:
            raise FormatError(
                path, None, f"is damaged: {entry!r} is {value!r} in one place and {file_metadata[entry]!r} in another"
            )
    return schema


def parts_of_table(path: Path, format: str, columns: Columns, names: bool | None) -> Iterator[Part] | None:
    """Return the edges of a Parquet or Feather file in parts, one for each row group or record batch.

    Return None if the file can't be read in parts. For example, vertex names get their numbers only when all names are
    known.
    """
    if not path.is_file() or path.suffix.lower() in COMPRESSIONS:
        return None
    with _open_for_arrow(path) as source:
        if format == "feather" and source.read(6) != b"ARROW1":
            return None
        source.seek(0)
        reader = _table_file(source, format)
        schema = _read_schema(path, reader) if format == "parquet" else reader.schema
        if format == "parquet":
            is_empty = reader.metadata.num_rows == 0
        else:  # Feather files may have record batches without rows, so all batches are asked for their numbers of rows.
            is_empty = all(reader.get_batch(i).num_rows == 0 for i in range(reader.num_record_batches))
    chosen = _choose_columns(path, schema.names, _with_listed_attributes(path, columns, schema), kinds_of(schema))
    if is_empty or not all(arrow().types.is_integer(schema.field(name).type) for name in chosen.ends):
        return None
    if chosen.direction is not None:
        return None
    metadata = _read_metadata(path, schema)
    if _NAMES_KEY in metadata or (
        names is None and _COUNT_KEY not in metadata and not _are_small_ids(path, format, chosen.ends)
    ):
        return None
    return _parts_by_groups(path, format, chosen, _vertex_count(path, metadata, 0))


def _table_file(source: IO[bytes], format: str) -> Any:
    """Return pyarrow's reader of an open Parquet or Feather file."""
    if format == "parquet":
        return arrow("pyarrow.parquet").ParquetFile(source)
    return arrow("pyarrow.ipc").open_file(source)


def _iterate_groups(path: Path, format: str, titles: list[str]) -> Iterator[Any]:
    """Yield the columns `titles` of a file as one table for each row group (Parquet) or record batch (Feather)."""
    with _open_for_arrow(path) as source:
        file = _table_file(source, format)
        for i in range(file.num_row_groups if format == "parquet" else file.num_record_batches):
            if format == "parquet":
                table = file.read_row_group(i, columns=titles)
            else:
                table = arrow().Table.from_batches([file.get_batch(i)])
            yield _validate(table).select(titles)


def _are_small_ids(path: Path, format: str, ends: list[str]) -> bool:
    """Return whether all ids in a file are so small that they can only be vertex numbers. Larger integers may be names.

    All ids are read, because pyarrow would end the process if it read their maximum from damaged statistics of the
    file.
    """
    find_maximum = arrow("pyarrow.compute").max
    tables = (table for table in _iterate_groups(path, format, ends) if table.num_rows)
    largest_ids = [find_maximum(column).as_py() for table in tables for column in table.columns]
    return bool(largest_ids) and all(largest_id is not None and largest_id < WIDE for largest_id in largest_ids)


def _parts_by_groups(path: Path, format: str, chosen: Chosen, n: int) -> Iterator[Part]:
    for group, table in enumerate(_iterate_groups(path, format, chosen.titles)):
        if table.num_rows == 0:
            continue
        try:
            edges = edges_of(table, 0, 1, chosen.weight, names=False, attributes=chosen.attributes)
            columns = attributes_of(table, chosen.attributes)
            attributes = {name: checked("edge", name, each, len(each), "cpu") for name, each in columns.items()}
        except (ValueError, TypeError) as error:
            unit = "row group" if format == "parquet" else "batch"
            raise FormatError(path, None, f"{unit} {group}: {error}") from error
        yield Part(edges.src, edges.dst, edges.weights, max(n, edges.n), states_n=n > 0, attributes=attributes)


def _read_feather(path: Path, columns: Columns) -> tuple[Any, Chosen]:
    _require_memory(path, path.stat().st_size)
    with _open_for_arrow(path) as source:
        table = _validate(arrow("pyarrow.feather").read_table(source))
    chosen = _choose_columns(
        path, table.column_names, _with_listed_attributes(path, columns, table.schema), kinds_of(table.schema)
    )
    return table.select(chosen.titles), chosen


def _choose_columns(path: Path, titles: list[str], columns: Columns, kinds: Kinds) -> Chosen:
    """Return the titles of the columns to read from a table with these titles, according to what the caller asks for.

    `kinds` says which columns hold numbers or text. This determines the columns that the caller does not name. Raise
    FormatError if the columns can't be determined.
    """
    try:
        attribute_places = places_of_attributes(titles, columns.attributes or ())
        kinds = kinds.without(attribute_places)
        src, dst, weight = choose(titles, *columns[:3], kinds._replace(numbers=()) if columns.only_ends else kinds)
        weight = None if columns.only_ends else weight
        weight_title = None if weight is None else titles[weight]
        type_position = (
            direction_column(titles, kinds.texts) if columns.undirected is None and not columns.only_ends else None
        )
        direction = None if type_position is None or type_position in (src, dst) else titles[type_position]
        chosen = Chosen(
            [titles[src], titles[dst]], weight_title, [titles[place] for place in attribute_places], direction
        )
        if repeated := [title for title in chosen.titles if titles.count(title) > 1]:
            raise ValueError(
                f"{titles.count(repeated[0])} columns are called {repeated[0]!r}; expected different titles"
            )
        return chosen
    except (ValueError, TypeError) as error:
        raise FormatError(path, None, str(error)) from error


@contextmanager
def _open_for_arrow(path: Path, rewritten: IO[bytes] | None = None) -> Iterator[IO[bytes]]:
    """Open a file for pyarrow, decompressed according to its suffix, and convert errors of pyarrow to FormatError.

    If the caller has rewritten the text of the file as plain CSV, `rewritten` is that text, and is yielded instead.
    """
    with _errors_of_arrow(path), open_bytes(path) if rewritten is None else nullcontext(rewritten) as stream:
        yield stream


@contextmanager
def _errors_of_arrow(path: Path) -> Iterator[None]:
    """Convert the errors that pyarrow raises for a file to FormatError."""
    with translate_errors(path):
        try:
            yield
        except (OSError, MemoryError):
            raise
        except (arrow().ArrowException, KeyError, IndexError) as error:
            why = " ".join(str(error).split())
            raise FormatError(path, None, f"is damaged or of another format ({why})") from error


def _require_memory(path: Path, needed: int) -> None:
    """Raise MemoryError if reading a file needs more memory than is available. `needed` is in bytes."""
    remedy = "read part of it with pyarrow, and pass that to Graph.from_table"
    require_bytes(f"{path} needs at least", needed, remedy)


# --- reading CSV files and edge lists ---------------------------------------------------------------------------------


def _csv_table(path: Path, layout: Layout, header: _Header, chosen: Chosen, names: bool | None) -> Any:
    _require_memory(path, path.stat().st_size)
    types = arrow().types
    if names is not False:
        table = _trim_ids(_convert_times(_read_csv(path, layout, header, chosen, chosen.ends), chosen), chosen.ends)
        if names or (numbered := _convert_ids(path, table, chosen.ends)) is not None:
            return table if names else numbered
    table = _convert_times(_read_csv(path, layout, header, chosen, []), chosen)
    converted_names = [
        end for end in chosen.ends if types.is_temporal(table[end].type) or types.is_boolean(table[end].type)
    ]
    # pyarrow has converted dates and "true", which are names of vertices here, so their columns are read again as
    # strings.
    if converted_names:
        table = _convert_times(_read_csv(path, layout, header, chosen, converted_names), chosen)
    for end in chosen.ends:
        if types.is_floating(table[end].type):
            wanted = "expected whole numbers from 0; pass names=True if ids are names"
            error = FormatError(path, None, f"column {end!r} holds numbers that are not 64-bit integers; {wanted}")
            raise next(_row_errors(path, layout, header, chosen, False), error)
    return _trim_ids(table, [end for end in chosen.ends if types.is_string(table[end].type)])


def _convert_times(table: Any, chosen: Chosen) -> Any:
    """Return the table with text attributes converted to times or durations, if all cells of a column are such."""
    for title in chosen.attributes:
        if arrow().types.is_string(table[title].type) and table[title].null_count == 0:
            times = times_of_texts(table[title].to_pylist())
            if times is not None:
                table = table.set_column(table.column_names.index(title), title, times.to_arrow(arrow()))
    return table


def _convert_ids(path: Path, table: Any, ends: list[str]) -> Any:
    """Return the table with the two columns of ids converted from text to integers, or None if an id is not an integer.

    Raise FormatError for an integer with leading zeros, such as "007", because it may be meant as a name.
    """
    pc = arrow("pyarrow.compute")
    numbered = table
    for end in ends:
        texts = _trim(table[end])
        if (ids := _parse_integers(texts)) is None:
            _refuse_comments(path, end, texts)
            return None
        has_leading_zero = pc.and_(pc.starts_with(texts, "0"), pc.greater(pc.binary_length(texts), 1))
        if pc.any(has_leading_zero).as_py():
            id_text, id_number = (column.filter(has_leading_zero)[0].as_py() for column in (texts, ids))
            raise FormatError(
                path,
                None,
                f"column {end!r} holds {id_text!r}, with a leading 0; pass names=True if that is another vertex than "
                f"{id_number}, names=False if it is the same",
            )
        numbered = numbered.set_column(table.column_names.index(end), end, ids)
    return numbered


def _refuse_comments(path: Path, end: str, texts: Any) -> None:
    """Raise FormatError if some ids begin with # or % and all others are numbers.

    The ids with # or % are then probably comments. The error tells the caller to pass names=True if they are names.
    """
    pc = arrow("pyarrow.compute")
    is_sign = pc.match_substring_regex(texts, "^[#%]")
    if pc.any(is_sign).as_py() and pc.all(pc.or_(is_sign, pc.match_substring_regex(texts, "^[0-9]+$"))).as_py():
        raise FormatError(
            path,
            None,
            f"column {end!r} holds numbers and {texts.filter(is_sign)[0].as_py()[:60]!r}; pass names=True if that is "
            "the name of a vertex, or remove the line if it is a comment",
        )


def _trim(texts: Any) -> Any:
    """Return a column of strings without the spaces and tabs around them, which pyarrow leaves around text."""
    return arrow("pyarrow.compute").ascii_trim(texts, BLANKS)


def _trim_ids(table: Any, ends: list[str]) -> Any:
    """Return the table without blanks around ids, so that "b" and " b" are one vertex. Empty ids become null."""
    pa, pc = arrow(), arrow("pyarrow.compute")
    for end in ends:
        texts = _trim(table[end])
        texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)
        table = table.set_column(table.column_names.index(end), end, texts)
    return table


def _parse_integers(texts: Any) -> Any:
    """Return a column of strings converted to int64 or uint64, or None if a string is not an integer."""
    for kind in ("int64", "uint64"):
        with suppress(arrow().ArrowInvalid):
            return texts.cast(kind)
    return None


def _read_csv(path: Path, layout: Layout, header: _Header, chosen: Chosen, texts: list[str]) -> Any:
    """Return a table with the columns `chosen` of a CSV file.

    Columns listed in `texts` are read as strings. pyarrow infers the types of all other columns, and this function adds
    uint64, which pyarrow does not infer.
    """
    types, pc = arrow().types, arrow("pyarrow.compute")
    table = _parse_csv(path, layout, header, chosen, texts)
    wide = [
        title
        for title in chosen.titles
        if types.is_floating(table[title].type) and pc.any(pc.greater_equal(table[title], 2.0**63)).as_py()
    ]
    # pyarrow reads integers beyond int64 as floats, which loses digits, so these columns are read again as strings.
    if wide:
        for title, column in zip(wide, _parse_csv(path, layout, header, chosen, wide).select(wide).columns):
            if (numbers := _parse_integers(column)) is not None:
                table = table.set_column(table.column_names.index(title), title, numbers)
    return table


def _parse_csv(path: Path, layout: Layout, header: _Header, chosen: Chosen, texts: list[str]) -> Any:
    """Return a table with the columns `chosen` of a CSV file.

    Columns listed in `texts` are read as strings, all others with the types that pyarrow infers.
    """
    arrow_csv = arrow("pyarrow.csv")

    def table() -> Any:
        with _open_plain_csv(path, layout) as (source, separator, head):
            return arrow_csv.read_csv(
                source,
                arrow_csv.ReadOptions(
                    column_names=header.titles, skip_rows=head, skip_rows_after_names=int(header.has_title_line)
                ),
                arrow_csv.ParseOptions(delimiter=separator),
                _conversion_options(chosen, texts),
            )

    try:
        # In the main thread pyarrow handles Ctrl-C itself and sometimes loses it, so the file is read in another
        # thread.
        return call_apart(table)
    except TooLarge:
        raise
    except FormatError as error:
        raise next(_row_errors(path, layout, header, chosen, bool(texts)), error) from error


def _conversion_options(chosen: Chosen, texts: list[str]) -> Any:
    """Return pyarrow's options for reading the columns `chosen` of a CSV file. Empty cells become null.

    The columns in `texts` are read as strings, and pyarrow infers the types of the other columns.
    """
    return arrow("pyarrow.csv").ConvertOptions(
        include_columns=chosen.titles,
        column_types=dict.fromkeys(texts, arrow().string()),
        null_values=[""],  # By default pyarrow also reads "NA" as null, but that is the country code of Namibia.
        strings_can_be_null=True,
    )


def parts_of_text(
    path: Path, columns: Columns, names: bool | None, separator: str | None, is_csv: bool
) -> Iterator[Part] | None:
    """Return the edges of a CSV file or an edge list in parts, so that memory need not hold the whole file.

    Return None if the file can't be read in parts. For example, vertex names get their numbers only when all names are
    known, and reading in parts supports no attributes.
    """
    if names or columns.attributes or not path.is_file():
        return None
    layout = look(path, separator, is_csv)
    with _open_for_arrow(path) as source:
        head_lines = [source.readline() for _ in range(layout.head)]
    if any(b"\r" in line.removesuffix(b"\n").removesuffix(b"\r") for line in head_lines):
        # The lines end in \r without \n. `_whole_rows` would take the file for a single line, so the file has to be
        # read at once.
        return None
    header = _infer_header(path, layout, columns)
    chosen = _choose_columns(path, header.titles, columns, header.kinds)
    title_lines = int(header.has_title_line)
    first = next(iter(first_rows(path, layout, title_lines, title_lines + 1)), [""] * len(header.titles))
    positions = [header.titles.index(title) for title in chosen.titles if title != chosen.direction]
    if chosen.direction is not None and first[header.titles.index(chosen.direction)].casefold() in WAYS:
        return None
    chosen = chosen._replace(direction=None)
    if len(first) != len(header.titles) or not all(is_number(first[place]) for place in positions):
        # The first row holds names or Boolean weights, or is malformed, so the whole file has to be read at once.
        return None
    if names is None and not _are_numbers(path, layout, header, chosen):
        return None
    return _parts_by_rows(path, layout, header, chosen)


def _are_numbers(path: Path, layout: Layout, header: _Header, chosen: Chosen) -> bool:
    """Return whether all ids in a text file are surely vertex numbers, and not names that look like numbers."""
    find_maximum, only_ends = arrow("pyarrow.compute").max, chosen._replace(weight=None)
    try:
        for table in _text_blocks(path, layout, header, only_ends):
            numbered = _convert_ids(path, table, chosen.ends)
            if numbered is None or any((find_maximum(ids).as_py() or 0) >= WIDE for ids in numbered.columns):
                return False
    except TooLarge:
        raise
    # A row of this block has no valid numbers as ids. The ids may be names, which only a look at the whole file can
    # tell.
    except FormatError:
        return False
    return True


def _parts_by_rows(path: Path, layout: Layout, header: _Header, chosen: Chosen) -> Iterator[Part]:
    for table in _text_blocks(path, layout, header, chosen):
        try:
            for title in chosen.titles:
                texts = _trim(table[title])
                numbers = _parse_integers(texts)
                if numbers is None and title not in chosen.ends:
                    numbers = texts.cast("float64")
                if numbers is not None:
                    table = table.set_column(table.column_names.index(title), title, numbers)
            edges = edges_of(table, 0, 1, chosen.weight, names=False)
        # ArrowInvalid, which pyarrow raises for cells that are no numbers, is a ValueError, too.
        except (ValueError, TypeError) as error:
            raise next(_row_errors(path, layout, header, chosen, False), FormatError(path, None, str(error))) from error
        yield Part(edges.src, edges.dst, edges.weights, edges.n)


def _text_blocks(path: Path, layout: Layout, header: _Header, chosen: Chosen) -> Iterator[Any]:
    """Yield tables of some rows each of a text file, with the columns `chosen` as strings. Empty cells are null."""
    pa, arrow_csv = arrow(), arrow("pyarrow.csv")
    if _needs_rewriting(layout):
        places = {title: header.titles.index(title) for title in chosen.titles}
        each_row = islice(rows(path, layout), int(header.has_title_line), None)
        while block_of_rows := [row for _, row in islice(each_row, _ROWS)]:
            if any(len(row) != len(header.titles) for row in block_of_rows):
                raise next(_row_errors(path, layout, header, chosen, False))
            texts = {title: [row[place] or None for row in block_of_rows] for title, place in places.items()}
            yield pa.table({title: pa.array(column, pa.string()) for title, column in texts.items()})
        return
    parse = arrow_csv.ParseOptions(delimiter=layout.separator)
    convert = _conversion_options(chosen, chosen.titles)
    try:
        with _open_for_arrow(path) as source:
            for i, block in enumerate(_whole_rows(source, layout.head)):
                # pyarrow.csv.open_csv would read ahead and fill memory, so the blocks are parsed one by one.
                options = arrow_csv.ReadOptions(
                    use_threads=False,
                    block_size=len(block) + 1,
                    column_names=header.titles,
                    skip_rows_after_names=int(header.has_title_line and i == 0),
                )
                table = call_apart(arrow_csv.read_csv, BytesIO(block), options, parse, convert)
                if table.num_rows:
                    yield table
    except TooLarge:
        raise
    except FormatError as error:
        raise next(_row_errors(path, layout, header, chosen, False), error) from error


def _whole_rows(stream: IO[bytes], head: int) -> Iterator[bytes]:
    """Yield the text of a CSV file in blocks that begin and end with whole rows. The first `head` lines are skipped."""
    for _ in range(head):
        stream.readline()
    while block := stream.read(files.PART):
        block = _extend_to_closing_quote(block + stream.readline(), stream)
        if block.strip(b"\r\n"):  # pyarrow refuses text without rows, so a block of empty lines is left out.
            yield block


def _extend_to_closing_quote(text: bytes, stream: IO[bytes]) -> bytes:
    """Return a block of CSV text, extended by further lines of the stream until its last quoted cell is closed.

    A quoted cell may contain line breaks, so a block that ends with a line may end within a cell.
    """
    lines = [text]
    while text.count(b'"') % 2:
        text = stream.readline()
        lines.append(text)
        if not text:
            break
        text = b'"' + text
    return b"".join(lines)


def _needs_rewriting(layout: Layout) -> bool:
    """Return whether the rows of a file have to be rewritten as plain CSV, so that pyarrow can parse them.

    That is so if spaces separate the columns, or if there are comments, blanks after separators, or rows to leave out.
    """
    return layout.separator == SPACES or layout.has_comments or layout.is_spaced or bool(layout.left_out)


@contextmanager
def _open_plain_csv(path: Path, layout: Layout) -> Iterator[tuple[IO[bytes], str, int]]:
    """Yield a stream of CSV text for pyarrow, its separator, and the number of lines above the first row.

    The stream is the file itself, or its rows rewritten as plain CSV if pyarrow can't parse the file.
    """
    if not _needs_rewriting(layout):
        with _open_for_arrow(path) as source:
            yield source, layout.separator, layout.head
        return
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(row for _, row in rows(path, layout))
    with _open_for_arrow(path, BytesIO(text.getvalue().encode())) as source:
        yield source, ",", 0


class _Header(NamedTuple):
    """The titles of a text file's columns, whether the first line holds them, and the kinds of the columns."""

    titles: list[str]
    has_title_line: bool  # whether the first line holds the titles
    kinds: Kinds


def _infer_header(path: Path, layout: Layout, columns: Columns) -> _Header:
    """Return the titles of a file's columns, and whether the first line holds them.

    This is decided by the first lines of the file, and by whether the caller passes columns by title or by position.
    Raise FormatError if the first line may as well be an edge.
    """
    lines = first_rows(path, layout, 0, _SAMPLED_ROWS)
    if not lines:
        raise FormatError(path, 1, "the file is empty; expected a header, or an edge")
    first = [title.strip(BLANKS) for title in lines[0]]
    if len(first) == 1:
        raise FormatError(
            path,
            layout.head + 1,
            f"{first[0].strip()[:60]!r} is one column with separator {layout.separator!r}; expected two or three "
            "columns; pass separator=' ' for spaces and tabs, or another character",
        )
    has_names, has_numbers = any(isinstance(column, str) for column in columns.given), any(map(is_number, first))
    below = zip(first, *lines[1:2]) if lines[1:] else ()
    has_titles = are_usual(first) or any(is_number(cell) for title, cell in below if title.strip())
    if has_names or (has_titles and not has_numbers):
        if not _contains_named(columns.given, first) and _contains_named(columns.given, layout.titles):
            return _Header([*layout.titles], False, _infer_kinds(lines, len(first)))
        _require_one_line(path, layout, first)
        return _Header(first, True, _infer_kinds(lines[1:], len(first)))
    if has_numbers or columns.src is not None or ".ncol" in path.suffixes:  # .ncol files never have a header
        kinds = _infer_kinds(lines, len(first))
        return _Header(_make_titles(len(first), columns, kinds), False, kinds)
    which = "positions 0 and 1" if len(first) == 2 else f"two positions from 0 to {len(first) - 1}"
    raise FormatError(
        path,
        layout.head + 1,
        f"{layout.separator.join(first)[:60]!r} may be a header or an edge; pass src= and dst=: names of columns if it "
        f"is a header, or {which} if it is an edge",
    )


def _contains_named(given: list[Column], titles: Sequence[str]) -> bool:
    """Return whether `titles` contains every column that the caller passes by its title. Positions are ignored."""
    return len(titles) > 0 and all(each in titles for each in given if isinstance(each, str))


def _make_titles(count: int, columns: Columns, kinds: Kinds) -> list[str]:
    """Return titles for the columns of a file without a header: "column 0", "column 1", …

    If there are only two or three columns that may be sources, targets and weights, they are called src, dst and
    weight.
    """
    has_weight = count == 3 and 2 in kinds.numbers
    are_ends = {columns.src, columns.dst} <= {None, 0, 1} and are_first(kinds.without({2} if has_weight else ()))
    titles = ["src", "dst", "weight"][: 2 + has_weight] if count <= 3 and are_ends else []
    return [*titles, *(f"column {place}" for place in range(len(titles), count))]


def _infer_kinds(lines: list[list[str]], count: int) -> Kinds:
    """Return which columns of a text file hold numbers, integers or text.

    `lines` are the first rows of the file, and `count` is the number of columns. The first cell of a column that is not
    empty decides. A column of empty cells counts as numbers, because numbers may follow further down.
    """
    columns = ([row[place].strip() for row in lines if place < len(row)] for place in range(count))
    cells = [next(filter(None, column), "") for column in columns]
    numbers = [place for place, cell in enumerate(cells) if not cell or is_number(cell)]
    whole = [place for place in numbers if _is_id(cells[place])]
    return Kinds(numbers, whole, [place for place in range(count) if place not in numbers])


def _require_one_line(path: Path, layout: Layout, titles: list[str]) -> None:
    """Raise FormatError if a title in the header of a CSV file contains a line break.

    The header would then have several lines, of which pyarrow would skip only the first.
    """
    if broken := next((title for title in titles if "\n" in title or "\r" in title), None):
        raise FormatError(
            path,
            layout.head + 1,
            f"the title {broken[:60]!r} has a line break; expected a header of one line; is a quote not closed?",
        )


def _row_errors(
    path: Path, layout: Layout, header: _Header, chosen: Chosen, names: bool | None
) -> Iterator[FormatError]:
    """Yield an error for each malformed row of a text file.

    A row is malformed if its number of columns or the types of its cells differ from those of the first row.
    """
    titles = header.titles
    places = [titles.index(title) for title in chosen.titles]
    tests: list[_CellTest] | None = None
    for line, row in islice(rows(path, layout), int(header.has_title_line), None):
        if len(row) != len(titles):
            yield FormatError(path, line, f"{len(row)} columns; expected {len(titles)}, as in the first line")
            continue
        cells = [row[place] for place in places]
        if tests is None:
            attribute_cells = list(zip(chosen.titles, cells))[2:]
            is_numbered = names is False or (not names and all(map(_is_id, cells[:2])))
            id_test = _NUMBER if is_numbered else _NAME
            known_tests = {chosen.weight: _WEIGHT, chosen.direction: _ANY}
            tests = [
                id_test,
                id_test,
                *(known_tests.get(title) or _choose_test(cell) for title, cell in attribute_cells),
            ]
        if _EMPTY in tests:
            tests = [_choose_test(cell) if test is _EMPTY else test for test, cell in zip(tests, cells)]
        for title, cell, test in zip(chosen.titles, cells, tests):
            if not test.holds(cell):
                yield FormatError(path, line, f"column {title!r} holds {cell[:60]!r}; {test.expected}")
                break


class _CellTest(NamedTuple):
    """A test that all cells of a column should pass. `expected` is the text for the error message if a cell fails."""

    holds: Callable[[str], bool]
    expected: str


def _is_date(cell: str) -> bool:
    """Return whether a cell is a date by ISO 8601, with a time of day or without."""
    try:
        datetime.fromisoformat(cell)
    except ValueError:
        return False
    return True


def _is_id(cell: str) -> bool:
    """Return whether a cell is an integer of at most 64 bits, so that it may be an id.

    Spaces and tabs around the integer are ignored, as pyarrow.csv does.
    """
    return is_whole(cell.strip(BLANKS), 2**64)


_NUMBER = _CellTest(lambda cell: _is_id(cell) and int(cell) >= 0, EXPECTED_ID)
_NAME = _CellTest(lambda cell: cell.strip(BLANKS) != "" and "\ufffd" not in cell, "expected a name, in UTF-8")
_WEIGHT = _CellTest(is_number, EXPECTED_WEIGHT)
_DATE = _CellTest(_is_date, "expected a date, as in the first row")
_DURATION = _CellTest(lambda cell: length(cell) is not None, "expected a duration or a time, as in the first row")
_ANY = _CellTest(lambda cell: True, "")
_EMPTY = _CellTest(lambda cell: False, "expected a number, a date or a time in each row")
_OTHER_DATE = _CellTest(
    lambda cell: False,
    "expected a number, or a date by ISO 8601, such as 2026-04-03; pandas.read_csv reads other dates, with "
    "parse_dates= and dayfirst=, for Graph.from_table",
)
_BOOL = _CellTest(lambda cell: cell.lower() in ("true", "false"), "expected true or false, as in the first row")


def _choose_test(cell: str) -> _CellTest:
    """Return the test that all cells of an attribute have to pass, chosen by the first cell that is not empty.

    For an empty cell, return `_EMPTY`, so that the caller chooses again at the next row.
    """
    if not cell.strip():
        return _EMPTY
    if looks_dated(cell) and not _is_date(cell):
        return _OTHER_DATE
    return next((kind for kind in (_DATE, _DURATION, _BOOL) if not is_number(cell) and kind.holds(cell)), _WEIGHT)
