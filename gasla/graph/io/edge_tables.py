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
    """The columns of a table that the caller asks for, each by its title or its position."""

    src: Column | None = None
    dst: Column | None = None
    weight: Column | None = None
    # None means the columns that gasla itself has written as attributes, which the file's metadata list.
    attributes: Sequence[Column] | None = None
    bipartite: bool | None = None  # None means that the file says whether the graph is bipartite
    undirected: bool | None = None  # None means that the file decides
    only_ends: bool = False  # whether only sources and targets are read, without weights and attributes

    @property
    def given(self) -> list[Column]:
        """The columns that the caller passed: source, target, weight and attributes, unless they are None."""
        return [column for column in (*self[:3], *(self.attributes or ())) if column is not None]


class Chosen(NamedTuple):
    """The titles of the columns to read from a table: sources and targets, weights, and edge attributes."""

    ends: list[str]
    weight: str | None
    attributes: list[str]
    direction: str | None = None  # title of the column whose cells may say which edges are undirected

    @property
    def titles(self) -> list[str]:
        """The titles of all columns to read, each once: sources, targets, weights, attributes and directions."""
        numbers = [] if self.weight is None else [self.weight]
        directions = [] if self.direction is None else [self.direction]
        return list(dict.fromkeys([*self.ends, *numbers, *self.attributes, *directions]))


_COUNT_KEY = b"gasla.vertices"  # key of the metadata entry that holds the number of vertices
_ATTRIBUTES_KEY = b"gasla.attributes"  # key of the metadata entry that lists the columns of edge attributes, as JSON
_VERSION_KEY = b"gasla.version"  # key of the metadata entry that holds the version of gasla's entries
VERSION = 1
# If the metadata have this key, ids are names of vertices, even if they are small integers.
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
        table, chosen_columns = (_read_parquet if format == "parquet" else _read_feather)(path, columns)
        metadata = _read_metadata(path, table.schema)
        if names is None and (_NAMES_KEY in metadata or _COUNT_KEY in metadata):
            names = _NAMES_KEY in metadata
        return _graph(path, table, chosen_columns, names, columns)
    layout = look(path, separator, format == "csv")
    try:
        return _graph_of_text(path, layout, columns, names)
    except FormatError as error:
        if not skips_bad_rows or error.line is None or error.line <= layout.head + 1:
            raise
        header = _infer_header(path, layout, columns)
        chosen_columns = _choose_columns(path, header.titles, columns, header.kinds)
        bad_rows = {
            bad.line: bad for bad in _row_errors(path, layout, header, chosen_columns, names) if bad.line is not None
        }
        graph = _graph_of_text(path, layout._replace(left_out=frozenset(bad_rows)), columns, names)
        warn_of_bad_rows(path, len(bad_rows), next(iter(bad_rows.values()), error))
        return graph


def _graph_of_text(path: Path, layout: Layout, columns: Columns, names: bool | None) -> Graph:
    header = _infer_header(path, layout, columns)
    chosen_columns = _choose_columns(path, header.titles, columns, header.kinds)
    table = _csv_table(path, layout, header, chosen_columns, names)
    try:
        return _graph(path, table, chosen_columns, names, columns)
    except FormatError as error:
        raise next(_row_errors(path, layout, header, chosen_columns, names), error) from error


def _graph(path: Path, table: Any, chosen_columns: Chosen, names: bool | None, columns: Columns) -> Graph:
    metadata = _read_metadata(path, table.schema)
    with translate_errors(path):
        try:
            if table.num_rows == 0 and _COUNT_KEY in metadata:
                return _without_edges(table, chosen_columns, _vertex_count(path, metadata, 0))
            graph = Graph.from_table(
                *(table, 0, 1, chosen_columns.weight),
                attributes=chosen_columns.attributes,
                names=names,
                bipartite=columns.bipartite,
                # `gasla.io.read` itself makes edges undirected if this is True
                undirected=False if columns.undirected else columns.undirected,
            )
        except (ValueError, TypeError) as error:
            raise FormatError(path, None, str(error)) from error
    count = _vertex_count(path, metadata, graph.n)
    if graph.names is None and count > graph.n:
        edge_attributes = graph.edge_attributes.columns()
        return Graph.from_edges(*graph.edges(), graph.values, n=count).with_edge_attributes(edge_attributes)
    return graph


def _without_edges(table: Any, chosen_columns: Chosen, n: int) -> Graph:
    """Return the graph of a table that `write` wrote for a graph with n vertices and no edges."""
    no_ids = np.zeros(0, np.int64)
    values = None if chosen_columns.weight is None else table.column(chosen_columns.weight).to_numpy()
    return Graph.from_edges(no_ids, no_ids, values, n=n).with_edge_attributes(
        attributes_of(table, chosen_columns.attributes)
    )


def _name_column(path: Path, names: Array) -> Array:
    """Return the names of vertices as an array of strings, or of 64-bit integers.

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
                reason = "begins or ends with a blank" if name else "is empty"
                raise ValueError(
                    f"{path}: the name of vertex {v} {reason}, which a csv file can't hold; write .parquet"
                )
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
    """Return an edge attribute in a form that pyarrow can write.

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
    """Return the graph with the vertices of a table, which is in memory or in a file, and their attributes.

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
    id_titles = [
        _read_vertices(Path(table), vertex, is_text, firsts)
        if isinstance(table, str | os.PathLike)
        else _vertices_of_table(table, vertex, firsts)
        for table in tables
    ]
    columns = graph.edge_attributes.columns(), graph.vertex_attributes.columns()
    edges = Edges(graph.n, *graph.edges(), graph.values, graph.names, *columns)
    result = Graph._of_edges(
        two_tables.with_sides(edges, id_titles) if firsts else two_tables.joined(edges, id_titles[0], names)
    )
    return result if weight_name is None else result.weighted_by(weight_name)


def _vertices_of_table(table: Any, vertex: Column | None, firsts: Sequence[str]) -> two_tables.Vertices:
    return two_tables.of_side(table, vertex, firsts) if firsts else two_tables.vertices_of(table, vertex)


def _read_vertices(path: Path, vertex: Column | None, is_text: bool, firsts: Sequence[str]) -> two_tables.Vertices:
    """Return the table of vertices in a file.

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
    first_row = [title.strip(BLANKS) for title in lines[0]]
    chosen_title = two_tables.title_of_side(first_row, firsts) if vertex is None else None
    vertex = vertex if chosen_title is None else chosen_title[1]
    is_above = isinstance(vertex, str) and vertex not in first_row and vertex in layout.titles
    has_titles = not is_above and (
        isinstance(vertex, str) or (not any(map(is_number, first_row)) and two_tables.has_ids(first_row))
    )
    titles = first_row if has_titles else [f"column {id_position}" for id_position in range(len(first_row))]
    titles = [*layout.titles] if is_above else titles
    header = _Header(titles, has_titles, _infer_kinds(lines[int(has_titles) :], len(titles)))
    try:
        id_position = (
            place_of(titles, "vertex", vertex)
            if vertex is not None
            else two_tables.place_of_ids(
                titles if has_titles or any(map(is_number, first_row)) else first_row, header.kinds
            )
        )
        attribute_titles = [title for title in titles if title != titles[id_position]]
        table = _parse_csv(
            path, layout, header, Chosen([titles[id_position]], None, attribute_titles), [titles[id_position]]
        )
        if not is_text:
            table = table.set_column(0, titles[id_position], table[titles[id_position]].cast("int64"))
        else:
            table = _trim_ids(table, [titles[id_position]])
        return _vertices_of_table(table, titles[id_position], firsts)
    except (ValueError, TypeError) as error:
        raise error if isinstance(error, FormatError) else FormatError(path, None, str(error)) from error


# --- reading Parquet and Feather files --------------------------------------------------------------------------------


def _read_metadata(path: Path, schema: Any) -> dict[bytes, bytes]:
    """Return the metadata of a table.

    Raise FormatError if a later version of gasla has written its entries in the metadata.
    """
    notes: dict[bytes, bytes] = schema.metadata or {}
    version = notes.get(_VERSION_KEY, b"1")
    require_version(path, "table", int(version) if version.isdigit() else version, VERSION)
    return notes


def _vertex_count(path: Path, notes: dict[bytes, bytes], default: int) -> int:
    """Return the number of vertices that the metadata of a table state, or `default` if they state none."""
    text = notes.get(_COUNT_KEY, b"%d" % default)
    if not text.isdigit() or len(text) > 18:
        raise FormatError(path, None, f"is damaged: {_COUNT_KEY.decode()} is {text!r}; expected a number of vertices")
    return int(text)


def _with_listed_attributes(path: Path, columns: Columns, schema: Any) -> Columns:
    """Return the columns that the caller selects.

    If the caller selects no attributes, add those that gasla listed in the file's metadata.
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
    """Return the table in a folder of Parquet files, and the titles of its columns.

    Rows of the files follow each other in the order of the files' names.
    """
    with _errors_of_arrow(path):
        dataset = arrow("pyarrow.dataset").dataset(path, format="parquet", partitioning="hive")
        schema = dataset.schema
        chosen_columns = _choose_columns(
            path, schema.names, _with_listed_attributes(path, columns, schema), kinds_of(schema)
        )
        _require_memory(path, 24 * dataset.count_rows())
        return _validate(dataset.to_table(chosen_columns.titles)), chosen_columns


def _read_parquet(path: Path, columns: Columns) -> tuple[Any, Chosen]:
    if path.is_dir():
        return _read_parquet_folder(path, columns)
    parquet = arrow("pyarrow.parquet")
    with _open_for_arrow(path) as source:
        reader = parquet.ParquetFile(source)
        schema, rows, groups = _read_schema(path, reader), reader.metadata.num_rows, reader.metadata.num_row_groups
        titles = schema.names
        chosen_columns = _choose_columns(path, titles, _with_listed_attributes(path, columns, schema), kinds_of(schema))
        # pyarrow ends the process if the metadata of a single column are damaged, so only those of row groups are read.
        size = sum(reader.metadata.row_group(row_group).total_byte_size for row_group in range(groups))
    _require_memory(path, (size if {*titles} == {*chosen_columns.titles} else 0) + 24 * rows)
    with _open_for_arrow(path) as source:
        table = parquet.ParquetFile(source).read(columns=chosen_columns.titles).select(chosen_columns.titles)
        return _validate(table).replace_schema_metadata(schema.metadata), chosen_columns


def _validate(table: Any) -> Any:
    """Check the offsets of strings and the indices of dictionaries, and return the table.

    pyarrow would follow them outside the table's memory if the file is damaged.
    """
    table.validate(full=True)
    return table


def _read_schema(path: Path, file: Any) -> Any:
    """Return the schema of a Parquet file. Raise FormatError if its two copies of gasla's metadata differ.

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
    """Return the edges of a Parquet or Feather file in parts, one per row group or batch.

    Return None if the file can't be read in parts, for example because ids are or may be names, which are numbered only
    when all of them are known.
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
        else:  # Feather files may have batches without rows.
            is_empty = all(reader.get_batch(i).num_rows == 0 for i in range(reader.num_record_batches))
    chosen_columns = _choose_columns(
        path, schema.names, _with_listed_attributes(path, columns, schema), kinds_of(schema)
    )
    if is_empty or not all(arrow().types.is_integer(schema.field(name).type) for name in chosen_columns.ends):
        return None
    if chosen_columns.direction is not None:
        return None
    metadata = _read_metadata(path, schema)
    if _NAMES_KEY in metadata or (
        names is None and _COUNT_KEY not in metadata and not _are_small_ids(path, format, chosen_columns.ends)
    ):
        return None
    return _parts_by_groups(path, format, chosen_columns, _vertex_count(path, metadata, 0))


def _table_file(source: IO[bytes], format: str) -> Any:
    """Return pyarrow's reader of an open Parquet or Feather file."""
    if format == "parquet":
        return arrow("pyarrow.parquet").ParquetFile(source)
    return arrow("pyarrow.ipc").open_file(source)


def _iterate_groups(path: Path, format: str, titles: list[str]) -> Iterator[Any]:
    """Yield a table with the columns `titles` for each row group of a Parquet file or batch of a Feather file."""
    with _open_for_arrow(path) as source:
        file = _table_file(source, format)
        for i in range(file.num_row_groups if format == "parquet" else file.num_record_batches):
            if format == "parquet":
                table = file.read_row_group(i, columns=titles)
            else:
                table = arrow().Table.from_batches([file.get_batch(i)])
            yield _validate(table).select(titles)


def _are_small_ids(path: Path, format: str, end_titles: list[str]) -> bool:
    """Return whether all ids are so small that they are taken as vertex numbers. Larger ids may be names.

    All ids are read, because pyarrow would end the process if it read a maximum from damaged statistics.
    """
    largest = arrow("pyarrow.compute").max
    tables = (table for table in _iterate_groups(path, format, end_titles) if table.num_rows)
    largest_ids = [largest(column).as_py() for table in tables for column in table.columns]
    return bool(largest_ids) and all(largest_id is not None and largest_id < WIDE for largest_id in largest_ids)


def _parts_by_groups(path: Path, format: str, chosen_columns: Chosen, n: int) -> Iterator[Part]:
    for group, table in enumerate(_iterate_groups(path, format, chosen_columns.titles)):
        if table.num_rows == 0:
            continue
        try:
            edges = edges_of(table, 0, 1, chosen_columns.weight, names=False, attributes=chosen_columns.attributes)
            columns = attributes_of(table, chosen_columns.attributes)
            attributes = {name: checked("edge", name, values, len(values), "cpu") for name, values in columns.items()}
        except (ValueError, TypeError) as error:
            unit = "row group" if format == "parquet" else "batch"
            raise FormatError(path, None, f"{unit} {group}: {error}") from error
        yield Part(edges.src, edges.dst, edges.weights, max(n, edges.n), states_n=n > 0, attributes=attributes)


def _read_feather(path: Path, columns: Columns) -> tuple[Any, Chosen]:
    _require_memory(path, path.stat().st_size)
    with _open_for_arrow(path) as source:
        table = _validate(arrow("pyarrow.feather").read_table(source))
    chosen_columns = _choose_columns(
        path, table.column_names, _with_listed_attributes(path, columns, table.schema), kinds_of(table.schema)
    )
    return table.select(chosen_columns.titles), chosen_columns


def _choose_columns(path: Path, titles: list[str], columns: Columns, kinds: Kinds) -> Chosen:
    """Return the titles of the columns to read, given the titles of all columns and what the caller asks for."""
    try:
        attribute_places = places_of_attributes(titles, columns.attributes or ())
        kinds = kinds.without(attribute_places)
        src, dst, weight = choose(titles, *columns[:3], kinds._replace(numbers=()) if columns.only_ends else kinds)
        weight = None if columns.only_ends else weight
        value = None if weight is None else titles[weight]
        text_place = (
            direction_column(titles, kinds.texts) if columns.undirected is None and not columns.only_ends else None
        )
        direction = None if text_place is None or text_place in (src, dst) else titles[text_place]
        chosen_columns = Chosen(
            [titles[src], titles[dst]], value, [titles[position] for position in attribute_places], direction
        )
        if repeated := [title for title in chosen_columns.titles if titles.count(title) > 1]:
            raise ValueError(
                f"{titles.count(repeated[0])} columns are called {repeated[0]!r}; expected different titles"
            )
        return chosen_columns
    except (ValueError, TypeError) as error:
        raise FormatError(path, None, str(error)) from error


@contextmanager
def _open_for_arrow(path: Path, rewritten: IO[bytes] | None = None) -> Iterator[IO[bytes]]:
    """Open a file for pyarrow, decompressed according to its suffix. If its text was `rewritten`, yield that instead.

    Errors of pyarrow become FormatError.
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
            reason = " ".join(str(error).split())
            raise FormatError(path, None, f"is damaged or of another format ({reason})") from error


def _require_memory(path: Path, byte_count: int) -> None:
    """Raise MemoryError before a file is read if reading it needs more than the available memory, in bytes."""
    remedy = "read part of it with pyarrow, and pass that to Graph.from_table"
    require_bytes(f"{path} needs at least", byte_count, remedy)


# --- reading CSV files and edge lists ---------------------------------------------------------------------------------


def _csv_table(path: Path, layout: Layout, header: _Header, chosen_columns: Chosen, names: bool | None) -> Any:
    _require_memory(path, path.stat().st_size)
    types = arrow().types
    if names is not False:
        table = _trim_ids(
            _convert_times(_read_csv(path, layout, header, chosen_columns, chosen_columns.ends), chosen_columns),
            chosen_columns.ends,
        )
        if names or (numbered := _convert_ids(path, table, chosen_columns.ends)) is not None:
            return table if names else numbered
    table = _convert_times(_read_csv(path, layout, header, chosen_columns, []), chosen_columns)
    converted_names = [
        end for end in chosen_columns.ends if types.is_temporal(table[end].type) or types.is_boolean(table[end].type)
    ]
    if (
        converted_names
    ):  # pyarrow would convert dates and "true", which are names here, so these columns are read again as strings.
        table = _convert_times(_read_csv(path, layout, header, chosen_columns, converted_names), chosen_columns)
    for end in chosen_columns.ends:
        if types.is_floating(table[end].type):
            expectation = "expected whole numbers from 0; pass names=True if ids are names"
            error = FormatError(path, None, f"column {end!r} holds numbers that are not 64-bit integers; {expectation}")
            raise next(_row_errors(path, layout, header, chosen_columns, False), error)
    return _trim_ids(table, [end for end in chosen_columns.ends if types.is_string(table[end].type)])


def _convert_times(table: Any, chosen_columns: Chosen) -> Any:
    """Return the table with text attributes converted to times or durations, where all cells of a column allow that."""
    for title in chosen_columns.attributes:
        if arrow().types.is_string(table[title].type) and table[title].null_count == 0:
            times = times_of_texts(table[title].to_pylist())
            if times is not None:
                table = table.set_column(table.column_names.index(title), title, times.to_arrow(arrow()))
    return table


def _convert_ids(path: Path, table: Any, end_titles: list[str]) -> Any:
    """Return the table with ids converted from text to integers, or None if an id is not an integer.

    Raise FormatError if the integers may be meant as names, because they have leading zeros.
    """
    pc = arrow("pyarrow.compute")
    numbered = table
    for end in end_titles:
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
    """Raise FormatError if all ids are numbers, except some that begin with # or % and so may be comments."""
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
    """Return a column of strings without spaces and tabs around them, which pyarrow.csv ignores around numbers only."""
    return arrow("pyarrow.compute").ascii_trim(texts, BLANKS)


def _trim_ids(table: Any, end_titles: list[str]) -> Any:
    """Return the table with blanks removed around ids, so that "b" and " b" are one vertex. Empty ids become null."""
    pa, pc = arrow(), arrow("pyarrow.compute")
    for end in end_titles:
        texts = _trim(table[end])
        texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)
        table = table.set_column(table.column_names.index(end), end, texts)
    return table


def _parse_integers(texts: Any) -> Any:
    """Return a column of strings converted to int64 or uint64, or None if a string is not an integer."""
    for integer_type in ("int64", "uint64"):
        with suppress(arrow().ArrowInvalid):
            return texts.cast(integer_type)
    return None


def _read_csv(path: Path, layout: Layout, header: _Header, chosen_columns: Chosen, texts: list[str]) -> Any:
    """Return a table with the columns `chosen_columns` of a CSV file.

    Columns listed in `texts` are read as strings. pyarrow infers the types of all other columns, and this function adds
    uint64, which pyarrow does not infer.
    """
    types, pc = arrow().types, arrow("pyarrow.compute")
    table = _parse_csv(path, layout, header, chosen_columns, texts)
    wide = [
        title
        for title in chosen_columns.titles
        if types.is_floating(table[title].type) and pc.any(pc.greater_equal(table[title], 2.0**63)).as_py()
    ]
    if wide:  # pyarrow reads integers beyond int64 as floats, so these columns are read again as strings and converted.
        for title, column in zip(wide, _parse_csv(path, layout, header, chosen_columns, wide).select(wide).columns):
            if (numbers := _parse_integers(column)) is not None:
                table = table.set_column(table.column_names.index(title), title, numbers)
    return table


def _parse_csv(path: Path, layout: Layout, header: _Header, chosen_columns: Chosen, texts: list[str]) -> Any:
    """Return a table with the columns `chosen_columns` of a CSV file.

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
                _conversion_options(chosen_columns, texts),
            )

    try:
        # This runs in another thread, because in the main thread pyarrow handles Ctrl-C itself and sometimes loses it.
        return call_apart(table)
    except TooLarge:
        raise
    except FormatError as error:
        raise next(_row_errors(path, layout, header, chosen_columns, bool(texts)), error) from error


def _conversion_options(chosen_columns: Chosen, texts: list[str]) -> Any:
    """Return pyarrow's options for reading the columns `chosen_columns`, of which those in `texts` are read as strings.

    Empty cells become null.
    """
    return arrow("pyarrow.csv").ConvertOptions(
        include_columns=chosen_columns.titles,
        column_types=dict.fromkeys(texts, arrow().string()),
        null_values=[""],  # By default pyarrow also reads "NA" as null, which is the country code of Namibia.
        strings_can_be_null=True,
    )


def parts_of_text(
    path: Path, columns: Columns, names: bool | None, separator: str | None, is_csv: bool
) -> Iterator[Part] | None:
    """Return the edges of a CSV file or an edge list in parts of some rows each.

    Return None if ids are not vertex numbers, because names are numbered only when all rows are positions.
    """
    if names or columns.attributes or not path.is_file():
        return None
    layout = look(path, separator, is_csv)
    with _open_for_arrow(path) as source:
        head = [source.readline() for _ in range(layout.head)]
    if any(b"\r" in line.removesuffix(b"\n").removesuffix(b"\r") for line in head):
        return None  # The lines end in \r without \n, and `_whole_rows` would not count them as lines.
    header = _infer_header(path, layout, columns)
    chosen_columns = _choose_columns(path, header.titles, columns, header.kinds)
    header_lines = int(header.has_title_line)
    first_row_cells = next(iter(first_rows(path, layout, header_lines, header_lines + 1)), [""] * len(header.titles))
    positions = [header.titles.index(title) for title in chosen_columns.titles if title != chosen_columns.direction]
    if (
        chosen_columns.direction is not None
        and first_row_cells[header.titles.index(chosen_columns.direction)].casefold() in WAYS
    ):
        return None
    chosen_columns = chosen_columns._replace(direction=None)
    if len(first_row_cells) != len(header.titles) or not all(
        is_number(first_row_cells[position]) for position in positions
    ):
        # The first row holds names or Boolean weights, or is malformed, so the whole file has to be read at once.
        return None
    if names is None and not _are_numbers(path, layout, header, chosen_columns):
        return None
    return _parts_by_rows(path, layout, header, chosen_columns)


def _are_numbers(path: Path, layout: Layout, header: _Header, chosen_columns: Chosen) -> bool:
    """Return whether all ids in the file are surely vertex numbers, not names that look like numbers."""
    largest, only_ends = arrow("pyarrow.compute").max, chosen_columns._replace(weight=None)
    try:
        for table in _text_blocks(path, layout, header, only_ends):
            numbered = _convert_ids(path, table, chosen_columns.ends)
            if numbered is None or any((largest(ids).as_py() or 0) >= WIDE for ids in numbered.columns):
                return False
    except TooLarge:
        raise
    # The rows of this part are invalid as numbers. They may be names, which only a look at all rows can tell.
    except FormatError:
        return False
    return True


def _parts_by_rows(path: Path, layout: Layout, header: _Header, chosen_columns: Chosen) -> Iterator[Part]:
    for table in _text_blocks(path, layout, header, chosen_columns):
        try:
            for title in chosen_columns.titles:
                texts = _trim(table[title])
                numbers = _parse_integers(texts)
                if numbers is None and title not in chosen_columns.ends:
                    numbers = texts.cast("float64")
                if numbers is not None:
                    table = table.set_column(table.column_names.index(title), title, numbers)
            edges = edges_of(table, 0, 1, chosen_columns.weight, names=False)
        except (ValueError, TypeError) as error:  # pyarrow's error ArrowInvalid is a ValueError, too.
            raise next(
                _row_errors(path, layout, header, chosen_columns, False), FormatError(path, None, str(error))
            ) from error
        yield Part(edges.src, edges.dst, edges.weights, edges.n)


def _text_blocks(path: Path, layout: Layout, header: _Header, chosen_columns: Chosen) -> Iterator[Any]:
    """Yield tables of some rows each, with the columns `chosen_columns` as strings. Empty cells are null."""
    pa, arrow_csv = arrow(), arrow("pyarrow.csv")
    if _needs_rewriting(layout):
        column_positions = {title: header.titles.index(title) for title in chosen_columns.titles}
        each_row = islice(rows(path, layout), int(header.has_title_line), None)
        while block_of_rows := [row for _, row in islice(each_row, _ROWS)]:
            if any(len(row) != len(header.titles) for row in block_of_rows):
                raise next(_row_errors(path, layout, header, chosen_columns, False))
            texts = {
                title: [row[position] or None for row in block_of_rows] for title, position in column_positions.items()
            }
            yield pa.table({title: pa.array(column, pa.string()) for title, column in texts.items()})
        return
    parse = arrow_csv.ParseOptions(delimiter=layout.separator)
    convert = _conversion_options(chosen_columns, chosen_columns.titles)
    try:
        with _open_for_arrow(path) as source:
            for i, block in enumerate(_whole_rows(source, layout.head)):
                # Blocks are parsed one by one, because pyarrow.csv.open_csv would read ahead and fill memory.
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
        raise next(_row_errors(path, layout, header, chosen_columns, False), error) from error


def _whole_rows(stream: IO[bytes], head: int) -> Iterator[bytes]:
    """Yield the text of a CSV file in blocks of whole rows, without its first `head` lines."""
    for _ in range(head):
        stream.readline()
    while block := stream.read(files.PART):
        block = _extend_to_closing_quote(block + stream.readline(), stream)
        if block.strip(b"\r\n"):  # pyarrow refuses text without rows, so empty lines are skipped.
            yield block


def _extend_to_closing_quote(text: bytes, stream: IO[bytes]) -> bytes:
    """Return a block of text, extended by lines of the stream until its last quoted cell is closed.

    Quoted cells may contain line breaks, so that a block that ends with a line may end within a cell.
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
    """Return whether pyarrow can't parse the rows of the file as CSV, so that they have to be rewritten first."""
    return layout.separator == SPACES or layout.has_comments or layout.is_spaced or bool(layout.left_out)


@contextmanager
def _open_plain_csv(path: Path, layout: Layout) -> Iterator[tuple[IO[bytes], str, int]]:
    """Yield a stream of CSV for pyarrow, its separator, and the number of lines to skip.

    The stream is the file itself, or its rows rewritten as plain CSV where pyarrow can't parse them.
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
    """The titles of a table's columns, and what the columns hold, judged by the first rows."""

    titles: list[str]
    has_title_line: bool  # whether the first line holds the titles
    kinds: Kinds


def _infer_header(path: Path, layout: Layout, columns: Columns) -> _Header:
    """Return the titles of columns, and whether the first line holds them.

    That is decided by the first lines of the file and by the columns that the caller names.
    """
    lines = first_rows(path, layout, 0, _SAMPLED_ROWS)
    if not lines:
        raise FormatError(path, 1, "the file is empty; expected a header, or an edge")
    titles = [title.strip(BLANKS) for title in lines[0]]
    if len(titles) == 1:
        raise FormatError(
            path,
            layout.head + 1,
            f"{titles[0].strip()[:60]!r} is one column with separator {layout.separator!r}; expected two or three "
            "columns; pass separator=' ' for spaces and tabs, or another character",
        )
    has_names, has_numbers = any(isinstance(column, str) for column in columns.given), any(map(is_number, titles))
    titles_and_cells = zip(titles, *lines[1:2]) if lines[1:] else ()
    has_titles = are_usual(titles) or any(is_number(cell) for title, cell in titles_and_cells if title.strip())
    if has_names or (has_titles and not has_numbers):
        if not _contains_named(columns.given, titles) and _contains_named(columns.given, layout.titles):
            return _Header([*layout.titles], False, _infer_kinds(lines, len(titles)))
        _require_one_line(path, layout, titles)
        return _Header(titles, True, _infer_kinds(lines[1:], len(titles)))
    if has_numbers or columns.src is not None or ".ncol" in path.suffixes:  # .ncol files have no header
        kinds = _infer_kinds(lines, len(titles))
        return _Header(_make_titles(len(titles), columns, kinds), False, kinds)
    possible_positions = "positions 0 and 1" if len(titles) == 2 else f"two positions from 0 to {len(titles) - 1}"
    raise FormatError(
        path,
        layout.head + 1,
        f"{layout.separator.join(titles)[:60]!r} may be a header or an edge; pass src= and dst=: names of columns if "
        f"it is a header, or {possible_positions} if it is an edge",
    )


def _contains_named(columns: list[Column], titles: Sequence[str]) -> bool:
    """Return whether `titles` contains all columns that the caller passes by name."""
    return len(titles) > 0 and all(column in titles for column in columns if isinstance(column, str))


def _make_titles(count: int, columns: Columns, kinds: Kinds) -> list[str]:
    """Return titles for the columns of a file without a header: "column 0", "column 1", …

    If there are only two or three columns that may be sources, targets and weights, they are called src, dst and
    weight.
    """
    has_weight = count == 3 and 2 in kinds.numbers
    are_ends = {columns.src, columns.dst} <= {None, 0, 1} and are_first(kinds.without({2} if has_weight else ()))
    titles = ["src", "dst", "weight"][: 2 + has_weight] if count <= 3 and are_ends else []
    return [*titles, *(f"column {position}" for position in range(len(titles), count))]


def _infer_kinds(lines: list[list[str]], count: int) -> Kinds:
    """Return which columns hold numbers, integers or text, judged by the first cell of each that is not empty.

    A column of empty cells counts as one of numbers, because numbers may follow.
    """
    columns = ([row[position].strip() for row in lines if position < len(row)] for position in range(count))
    cells = [next(filter(None, column), "") for column in columns]
    numbers = [position for position, cell in enumerate(cells) if not cell or is_number(cell)]
    id_positions = [position for position in numbers if _is_id(cells[position])]
    return Kinds(numbers, id_positions, [position for position in range(count) if position not in numbers])


def _require_one_line(path: Path, layout: Layout, titles: list[str]) -> None:
    """Raise FormatError if a title in the header contains a line break.

    The header would then have several lines, of which pyarrow would skip only the first.
    """
    if broken := next((title for title in titles if "\n" in title or "\r" in title), None):
        raise FormatError(
            path,
            layout.head + 1,
            f"the title {broken[:60]!r} has a line break; expected a header of one line; is a quote not closed?",
        )


def _row_errors(
    path: Path, layout: Layout, header: _Header, chosen_columns: Chosen, names: bool | None
) -> Iterator[FormatError]:
    """Yield an error for each row whose number of columns or types of cells differ from the first row's."""
    titles = header.titles
    column_positions = [titles.index(title) for title in chosen_columns.titles]
    tests: list[_CellTest] | None = None
    for line, row in islice(rows(path, layout), int(header.has_title_line), None):
        if len(row) != len(titles):
            yield FormatError(path, line, f"{len(row)} columns; expected {len(titles)}, as in the first line")
            continue
        cells = [row[position] for position in column_positions]
        if tests is None:
            attribute_cells = list(zip(chosen_columns.titles, cells))[2:]
            is_numbered = names is False or (not names and all(map(_is_id, cells[:2])))
            id_test = _NUMBER if is_numbered else _NAME
            known_tests = {chosen_columns.weight: _WEIGHT, chosen_columns.direction: _ANY}
            tests = [
                id_test,
                id_test,
                *(known_tests.get(title) or _choose_test(cell) for title, cell in attribute_cells),
            ]
        if _EMPTY in tests:
            tests = [_choose_test(cell) if test is _EMPTY else test for test, cell in zip(tests, cells)]
        for title, cell, test in zip(chosen_columns.titles, cells, tests):
            if not test.holds(cell):
                yield FormatError(path, line, f"column {title!r} holds {cell[:60]!r}; {test.expected}")
                break


class _CellTest(NamedTuple):
    """A test for the cells of a column, and what the error says that was expected if a cell fails."""

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
    """Return the test for cells of an attribute, chosen by the first cell that is not empty."""
    if not cell.strip():
        return _EMPTY
    if looks_dated(cell) and not _is_date(cell):
        return _OTHER_DATE
    return next(
        (cell_test for cell_test in (_DATE, _DURATION, _BOOL) if not is_number(cell) and cell_test.holds(cell)), _WEIGHT
    )
