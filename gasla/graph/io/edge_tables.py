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

BLANKS = " \t"  # around names, titles and numbers they don't count, in quotes or not
_LOOKED = 1000  # rows that say what columns hold
_ROWS = 1 << 14  # rows that Python splits into cells at a time


class Columns(NamedTuple):
    """The columns that the caller asks for, by name or position."""

    src: Column | None = None
    dst: Column | None = None
    weight: Column | None = None
    attributes: Sequence[Column] | None = None  # None stands for the columns that the file itself names
    bipartite: bool | None = None  # None: as the file says
    undirected: bool | None = None  # None: as the file says
    only_ends: bool = False  # whether no column is a weight or an attribute

    @property
    def given(self) -> list[Column]:
        """The columns that the caller names: source, target, weight and attributes, without those left at None."""
        return [column for column in (*self[:3], *(self.attributes or ())) if column is not None]


class Chosen(NamedTuple):
    """The titles of the columns to read."""

    ends: list[str]
    weight: str | None
    attributes: list[str]
    direction: str | None = None  # title of a column that may say which edges are undirected

    @property
    def titles(self) -> list[str]:
        """All titles, each once: of sources, of targets, and then of numbers."""
        numbers = [] if self.weight is None else [self.weight]
        directions = [] if self.direction is None else [self.direction]
        return list(dict.fromkeys([*self.ends, *numbers, *self.attributes, *directions]))


_COUNT = b"gasla.vertices"  # schema metadata: number of vertices
_ATTRIBUTES = b"gasla.attributes"  # schema metadata: titles of the columns of attributes, as JSON
_VERSION = b"gasla.version"  # schema metadata: version of these entries
VERSION = 1
_NAMED = b"gasla.names"  # schema metadata: ids are names, even if they are small integers


def read(
    path: Path,
    format: str,
    columns: Columns,
    names: bool | None = None,
    separator: str | None = None,
    skips_bad_rows: bool = False,
) -> Graph:
    """Return the graph in a table. Bad rows of a CSV file or an edge list may be skipped."""
    arrow()
    names = True if names is None and columns.bipartite else names
    if path.exists() and not path.is_file() and not (format == "parquet" and has_parts(path)):
        raise ValueError(f"{path} is not a regular file; tables are read more than once, so pipes are not supported")
    if format in ("parquet", "feather"):
        table, chosen = (_parquet if format == "parquet" else _feather)(path, columns)
        about = _notes(path, table.schema)
        if names is None and (_NAMED in about or _COUNT in about):
            names = _NAMED in about
        return _graph(path, table, chosen, names, columns)
    layout = look(path, separator, format == "csv")
    try:
        return _of_text(path, layout, columns, names)
    except FormatError as error:
        if not skips_bad_rows or error.line is None or error.line <= layout.head + 1:
            raise
        header = _header(path, layout, columns)
        chosen = _chosen(path, header.titles, columns, header.kinds)
        bad_rows = {bad.line: bad for bad in _bad_rows(path, layout, header, chosen, names) if bad.line is not None}
        graph = _of_text(path, layout._replace(left_out=frozenset(bad_rows)), columns, names)
        warn_of_bad_rows(path, len(bad_rows), next(iter(bad_rows.values()), error))
        return graph


def _of_text(path: Path, layout: Layout, columns: Columns, names: bool | None) -> Graph:
    header = _header(path, layout, columns)
    chosen = _chosen(path, header.titles, columns, header.kinds)
    table = _csv(path, layout, header, chosen, names)
    try:
        return _graph(path, table, chosen, names, columns)
    except FormatError as error:
        raise next(_bad_rows(path, layout, header, chosen, names), error) from error


def _graph(path: Path, table: Any, chosen: Chosen, names: bool | None, columns: Columns) -> Graph:
    notes = _notes(path, table.schema)
    with translate_errors(path):
        try:
            if table.num_rows == 0 and _COUNT in notes:
                return _without_edges(table, chosen, _count(path, notes, 0))
            graph = Graph.from_table(
                *(table, 0, 1, chosen.weight),
                attributes=chosen.attributes,
                names=names,
                bipartite=columns.bipartite,
                undirected=False if columns.undirected else columns.undirected,  # True is for `gasla.io.read`
            )
        except (ValueError, TypeError) as error:
            raise FormatError(path, None, str(error)) from error
    count = _count(path, notes, graph.n)
    if graph.names is None and count > graph.n:
        kept = graph.edge_attributes.columns()
        return Graph.from_edges(*graph.edges(), graph.values, n=count).with_edge_attributes(kept)
    return graph


def _without_edges(table: Any, chosen: Chosen, n: int) -> Graph:
    """Return the graph of a table without rows that `write` has written."""
    none = np.zeros(0, np.int64)
    values = None if chosen.weight is None else table.column(chosen.weight).to_numpy()
    return Graph.from_edges(none, none, values, n=n).with_edge_attributes(attributes_of(table, chosen.attributes))


def _name_column(path: Path, names: Array) -> Array:
    """Return names as an array of strings, or of integers of 64 bits. Raise ValueError for others."""
    each = names.tolist()
    with suppress(UnicodeEncodeError, OverflowError):
        if all(isinstance(name, str) for name in each):
            "".join(each).encode()
            return np.array(each, object)
        if all(isinstance(name, int | np.integer) and not isinstance(name, bool) for name in each):
            return np.array(each, np.int64 if max(each) < 2**63 else np.uint64)
    raise ValueError(
        f"{path}: a table stores names that are all text, valid in UTF-8, or all integers, within int64 or uint64; "
        "others are stored in .npz files and .gasla folders"
    )


def write(stream: IO[bytes], graph: Graph, path: Path, format: str) -> None:
    """Write the edges of a graph: columns src, dst, weight if there are values, and the attributes of edges."""
    pa = arrow()
    if graph.m == 0 and (graph.names is not None or format == "csv"):
        raise ValueError(f"{path}: a {format} file stores only edges, and the graph has none; write .npz or .mtx")
    used = np.zeros(graph.n, bool)
    src, dst = graph.edges()
    used[src] = used[dst] = True
    if not used.all() and (graph.names is not None or (format == "csv" and not used[-1])):
        v = int(np.flatnonzero(~used)[-1])
        raise ValueError(f"{path}: a {format} file stores only edges, and vertex {v} has none; write .npz or .mtx")
    if format == "csv" and graph.names is not None:
        for v, name in enumerate(graph.names.tolist()):
            if isinstance(name, str) and (not name or name != name.strip(BLANKS)):
                what = "begins or ends with a blank" if name else "is empty"
                raise ValueError(f"{path}: the name of vertex {v} {what}, which a csv file can't hold; write .parquet")
    try:
        columns = two_tables.edge_columns(graph, None if graph.names is None else _name_column(path, graph.names))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    table = pa.table({name: _column(column, format) for name, column in columns.items()})
    if format == "csv":
        arrow("pyarrow.csv").write_csv(table, stream)
        return
    about: dict[bytes, str] = {_VERSION: str(VERSION)}
    about |= {_COUNT: str(graph.n)} if graph.names is None else {_NAMED: "1"}
    if graph.edge_attributes:
        about[_ATTRIBUTES] = json.dumps([*graph.edge_attributes])
    table = table.replace_schema_metadata(about)
    if format == "parquet":
        arrow("pyarrow.parquet").write_table(table, stream)
    else:
        arrow("pyarrow.feather").write_feather(table, stream)


def _column(column: Any, format: str) -> Any:
    """Return an attribute as pyarrow writes it. Durations that it can't write as text become text of ISO 8601."""
    if isinstance(column, TimeColumn):
        if format == "csv" and column.type.kind == "duration":
            return [*map(iso, column.type.shown(column.numbers))]
        return column.to_arrow(arrow())
    # float32 numbers are written with the digits of float64, as in other formats
    return column.astype(np.float64) if format == "csv" and column.dtype.kind == "f" else column


# --- tables of vertices ---------------------------------------------------------------------------------------------


def joined(graph: Graph, vertices: Any, vertex: Column | None, names: bool | None) -> Graph:
    """Return a graph whose vertices are the rows of a table, in memory or in a file."""
    own, firsts = graph.edge_attributes.name_of(graph.values), []
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
        _vertices(Path(table), vertex, is_text, firsts)
        if isinstance(table, str | os.PathLike)
        else _of_table(table, vertex, firsts)
        for table in tables
    ]
    columns = graph.edge_attributes.columns(), graph.vertex_attributes.columns()
    edges = Edges(graph.n, *graph.edges(), graph.values, graph.names, *columns)
    made = Graph._of_edges(two_tables.with_sides(edges, sides) if firsts else two_tables.joined(edges, sides[0], names))
    return made if own is None else made.weighted_by(own)


def _of_table(table: Any, vertex: Column | None, firsts: Sequence[str]) -> two_tables.Vertices:
    return two_tables.of_side(table, vertex, firsts) if firsts else two_tables.vertices_of(table, vertex)


def _vertices(path: Path, vertex: Column | None, is_text: bool, firsts: Sequence[str]) -> two_tables.Vertices:
    """Return the table of vertices in a file. `is_text` says whether ids are text in the table of edges.

    `firsts` are names of vertices of two sides, if there are two.
    """
    pa, ending = arrow(), path.suffix.lower()
    if dimacs.has_coordinates(path):
        with translate_errors(path):
            return two_tables.vertices_of(pa.table(dimacs.coordinates(path)), "id")
    if ending in (".parquet", ".feather", ".arrow"):
        _require_memory(path, path.stat().st_size)
        with _open(path) as source:
            read = arrow("pyarrow.parquet" if ending == ".parquet" else "pyarrow.feather").read_table
            table = _validated(read(source))
        return _of_table(table, vertex, firsts)
    layout = look(path, None, is_csv=True)
    lines = first_rows(path, layout, 0, _LOOKED)
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
    header = _Header(titles, has_titles, _kinds(lines[int(has_titles) :], len(titles)))
    try:
        place = (
            place_of(titles, "vertex", vertex)
            if vertex is not None
            else two_tables.place_of_ids(titles if has_titles or any(map(is_number, first)) else first, header.kinds)
        )
        others = [title for title in titles if title != titles[place]]
        table = _inferred(path, layout, header, Chosen([titles[place]], None, others), [titles[place]])
        if not is_text:
            table = table.set_column(0, titles[place], table[titles[place]].cast("int64"))
        else:
            table = _named(table, [titles[place]])
        return _of_table(table, titles[place], firsts)
    except (ValueError, TypeError) as error:
        raise error if isinstance(error, FormatError) else FormatError(path, None, str(error)) from error


# --- Parquet and Feather --------------------------------------------------------------------------------------------


def _notes(path: Path, schema: Any) -> dict[bytes, bytes]:
    """Return the metadata of a table, in which gasla's entries are of a version that this gasla reads."""
    notes: dict[bytes, bytes] = schema.metadata or {}
    version = notes.get(_VERSION, b"1")
    require_version(path, "table", int(version) if version.isdigit() else version, VERSION)
    return notes


def _count(path: Path, notes: dict[bytes, bytes], default: int) -> int:
    """Return the number of vertices that the metadata state. If they state none, return `default`."""
    text = notes.get(_COUNT, b"%d" % default)
    if not text.isdigit() or len(text) > 18:
        raise FormatError(path, None, f"is damaged: {_COUNT.decode()} is {text!r}; expected a number of vertices")
    return int(text)


def _kept(path: Path, columns: Columns, schema: Any) -> Columns:
    """Return the columns that the caller selects.

    Without a selection, add the attributes that gasla listed in the file.
    """
    known = _notes(path, schema).get(_ATTRIBUTES)
    if known is None or columns.attributes is not None or columns.only_ends:
        return columns
    titles = parsed_json(path, known)
    if not isinstance(titles, list) or not all(isinstance(title, str) for title in titles):
        expected = "expected a list of titles of columns"
        raise FormatError(path, None, f"is damaged: {_ATTRIBUTES.decode()} is {known!r}; {expected}")
    return columns._replace(attributes=titles)


def has_parts(path: Path) -> bool:
    """Return whether a path is a folder of Parquet files, as Spark and Dask write a table."""
    return path.is_dir() and next(path.rglob("*.parquet"), None) is not None


def _parquet_folder(path: Path, columns: Columns) -> tuple[Any, Chosen]:
    """Return the columns of the files in a folder, one after the other in the order of their names."""
    with _errors_of_arrow(path):
        dataset = arrow("pyarrow.dataset").dataset(path, format="parquet", partitioning="hive")
        schema = dataset.schema
        chosen = _chosen(path, schema.names, _kept(path, columns, schema), kinds_of(schema))
        _require_memory(path, 24 * dataset.count_rows())
        return _validated(dataset.to_table(chosen.titles)), chosen


def _parquet(path: Path, columns: Columns) -> tuple[Any, Chosen]:
    if path.is_dir():
        return _parquet_folder(path, columns)
    parquet = arrow("pyarrow.parquet")
    with _open(path) as source:
        about = parquet.ParquetFile(source)
        schema, rows, groups = _schema(path, about), about.metadata.num_rows, about.metadata.num_row_groups
        titles = schema.names
        chosen = _chosen(path, titles, _kept(path, columns, schema), kinds_of(schema))
        # pyarrow ends the process if a column's own metadata are damaged, so only those of row groups are looked at
        size = sum(about.metadata.row_group(g).total_byte_size for g in range(groups))
    _require_memory(path, (size if {*titles} == {*chosen.titles} else 0) + 24 * rows)
    with _open(path) as source:
        table = parquet.ParquetFile(source).read(columns=chosen.titles).select(chosen.titles)
        return _validated(table).replace_schema_metadata(schema.metadata), chosen


def _validated(table: Any) -> Any:
    """Check offsets of strings and indices of dictionaries, which pyarrow would follow anywhere. Return the table."""
    table.validate(full=True)
    return table


def _schema(path: Path, file: Any) -> Any:
    """Return the schema of a Parquet file.

    Its metadata are stored twice; readers of pyarrow return one copy or the other.
    """
    schema, own = file.schema_arrow, file.metadata.metadata or {}
    for entry, known in (schema.metadata or {}).items():
        if entry.startswith(b"gasla.") and own.get(entry, known) != known:
            raise FormatError(
                path, None, f"is damaged: {entry!r} is {known!r} in one place and {own[entry]!r} in another"
            )
    return schema


def parts_of_table(path: Path, format: str, columns: Columns, names: bool | None) -> Iterator[Part] | None:
    """Return the edges by row groups or batches, if ids are vertex numbers.

    If that depends on all of them, return None.
    """
    if not path.is_file() or path.suffix.lower() in COMPRESSIONS:
        return None
    with _open(path) as source:
        if format == "feather" and source.read(6) != b"ARROW1":
            return None
        source.seek(0)
        about = _table_file(source, format)
        schema = _schema(path, about) if format == "parquet" else about.schema
        if format == "parquet":
            is_empty = about.metadata.num_rows == 0
        else:  # there may be batches without rows
            is_empty = all(about.get_batch(i).num_rows == 0 for i in range(about.num_record_batches))
    chosen = _chosen(path, schema.names, _kept(path, columns, schema), kinds_of(schema))
    if is_empty or not all(arrow().types.is_integer(schema.field(name).type) for name in chosen.ends):
        return None
    if chosen.direction is not None:
        return None
    notes = _notes(path, schema)
    if _NAMED in notes or (names is None and _COUNT not in notes and not _are_narrow(path, format, chosen.ends)):
        return None
    return _by_groups(path, format, chosen, _count(path, notes, 0))


def _table_file(source: IO[bytes], format: str) -> Any:
    """Return the open Parquet or Feather file of pyarrow."""
    if format == "parquet":
        return arrow("pyarrow.parquet").ParquetFile(source)
    return arrow("pyarrow.ipc").open_file(source)


def _groups(path: Path, format: str, titles: list[str]) -> Iterator[Any]:
    """Yield the columns of each row group or batch, as tables."""
    with _open(path) as source:
        file = _table_file(source, format)
        for i in range(file.num_row_groups if format == "parquet" else file.num_record_batches):
            if format == "parquet":
                table = file.read_row_group(i, columns=titles)
            else:
                table = arrow().Table.from_batches([file.get_batch(i)])
            yield _validated(table).select(titles)


def _are_narrow(path: Path, format: str, ends: list[str]) -> bool:
    """Return whether no id is so large that it may be a name.

    The ids are read: damaged statistics would end the process.
    """
    largest = arrow("pyarrow.compute").max
    tables = (table for table in _groups(path, format, ends) if table.num_rows)
    largest_ids = [largest(column).as_py() for table in tables for column in table.columns]
    return bool(largest_ids) and all(known is not None and known < WIDE for known in largest_ids)


def _by_groups(path: Path, format: str, chosen: Chosen, n: int) -> Iterator[Part]:
    for group, table in enumerate(_groups(path, format, chosen.titles)):
        if table.num_rows == 0:
            continue
        try:
            edges = edges_of(table, 0, 1, chosen.weight, names=False, attributes=chosen.attributes)
            columns = attributes_of(table, chosen.attributes)
            attributes = {name: checked("edge", name, each, len(each), "cpu") for name, each in columns.items()}
        except (ValueError, TypeError) as error:
            what = "row group" if format == "parquet" else "batch"
            raise FormatError(path, None, f"{what} {group}: {error}") from error
        yield Part(edges.src, edges.dst, edges.weights, max(n, edges.n), states_n=n > 0, attributes=attributes)


def _feather(path: Path, columns: Columns) -> tuple[Any, Chosen]:
    _require_memory(path, path.stat().st_size)
    with _open(path) as source:
        table = _validated(arrow("pyarrow.feather").read_table(source))
    chosen = _chosen(path, table.column_names, _kept(path, columns, table.schema), kinds_of(table.schema))
    return table.select(chosen.titles), chosen


def _chosen(path: Path, titles: list[str], columns: Columns, kinds: Kinds) -> Chosen:
    """Return the titles of the columns to read."""
    try:
        others = places_of_attributes(titles, columns.attributes or ())
        kinds = kinds.without(others)
        src, dst, weight = choose(titles, *columns[:3], kinds._replace(numbers=()) if columns.only_ends else kinds)
        weight = None if columns.only_ends else weight
        value = None if weight is None else titles[weight]
        text = direction_column(titles, kinds.texts) if columns.undirected is None and not columns.only_ends else None
        direction = None if text is None or text in (src, dst) else titles[text]
        chosen = Chosen([titles[src], titles[dst]], value, [titles[place] for place in others], direction)
        if repeated := [title for title in chosen.titles if titles.count(title) > 1]:
            raise ValueError(
                f"{titles.count(repeated[0])} columns are called {repeated[0]!r}; expected different titles"
            )
        return chosen
    except (ValueError, TypeError) as error:
        raise FormatError(path, None, str(error)) from error


@contextmanager
def _open(path: Path, rewritten: IO[bytes] | None = None) -> Iterator[IO[bytes]]:
    """Open a file, decompressed according to its suffix, or its `rewritten` text.

    Errors of pyarrow become FormatError.
    """
    with _errors_of_arrow(path), open_bytes(path) if rewritten is None else nullcontext(rewritten) as stream:
        yield stream


@contextmanager
def _errors_of_arrow(path: Path) -> Iterator[None]:
    """Convert the errors of pyarrow to FormatErrors of a file."""
    with translate_errors(path):
        try:
            yield
        except (OSError, MemoryError):
            raise
        except (arrow().ArrowException, KeyError, IndexError) as error:
            why = " ".join(str(error).split())
            raise FormatError(path, None, f"is damaged or of another format ({why})") from error


def _require_memory(path: Path, needed: int) -> None:
    """Raise MemoryError for a file larger than memory, before it is read."""
    remedy = "read part of it with pyarrow, and pass that to Graph.from_table"
    require_bytes(f"{path} needs at least", needed, remedy)


# --- CSV ------------------------------------------------------------------------------------------------------------


def _csv(path: Path, layout: Layout, header: _Header, chosen: Chosen, names: bool | None) -> Any:
    _require_memory(path, path.stat().st_size)
    types = arrow().types
    if names is not False:
        table = _named(_with_times(_read_csv(path, layout, header, chosen, chosen.ends), chosen), chosen.ends)
        if names or (numbered := _numbered(path, table, chosen.ends)) is not None:
            return table if names else numbered
    table = _with_times(_read_csv(path, layout, header, chosen, []), chosen)
    odd = [end for end in chosen.ends if types.is_temporal(table[end].type) or types.is_boolean(table[end].type)]
    if odd:  # dates and "true" are names, so they are read as strings
        table = _with_times(_read_csv(path, layout, header, chosen, odd), chosen)
    for end in chosen.ends:
        if types.is_floating(table[end].type):
            wanted = "expected whole numbers from 0; pass names=True if ids are names"
            error = FormatError(path, None, f"column {end!r} holds numbers that are not 64-bit integers; {wanted}")
            raise next(_bad_rows(path, layout, header, chosen, False), error)
    return _named(table, [end for end in chosen.ends if types.is_string(table[end].type)])


def _with_times(table: Any, chosen: Chosen) -> Any:
    """Return the table with attributes whose texts are all times or durations converted."""
    for title in chosen.attributes:
        if arrow().types.is_string(table[title].type) and table[title].null_count == 0:
            times = times_of_texts(table[title].to_pylist())
            if times is not None:
                table = table.set_column(table.column_names.index(title), title, times.to_arrow(arrow()))
    return table


def _numbered(path: Path, table: Any, ends: list[str]) -> Any:
    """Return the table with ids converted to integers.

    None if some are not; FormatError if they may be meant as names.
    """
    pc = arrow("pyarrow.compute")
    numbered = table
    for end in ends:
        texts = _trimmed(table[end])
        if (ids := _integers(texts)) is None:
            _refuse_comments(path, end, texts)
            return None
        has_leading_zero = pc.and_(pc.starts_with(texts, "0"), pc.greater(pc.binary_length(texts), 1))
        if pc.any(has_leading_zero).as_py():
            text, number = (column.filter(has_leading_zero)[0].as_py() for column in (texts, ids))
            raise FormatError(
                path,
                None,
                f"column {end!r} holds {text!r}, with a leading 0; pass names=True if that is another vertex than "
                f"{number}, names=False if it is the same",
            )
        numbered = numbered.set_column(table.column_names.index(end), end, ids)
    return numbered


def _refuse_comments(path: Path, end: str, texts: Any) -> None:
    """Raise FormatError if all ids are numbers, except some that may be comments."""
    pc = arrow("pyarrow.compute")
    is_sign = pc.match_substring_regex(texts, "^[#%]")
    if pc.any(is_sign).as_py() and pc.all(pc.or_(is_sign, pc.match_substring_regex(texts, "^[0-9]+$"))).as_py():
        raise FormatError(
            path,
            None,
            f"column {end!r} holds numbers and {texts.filter(is_sign)[0].as_py()[:60]!r}; pass names=True if that is "
            "the name of a vertex, or remove the line if it is a comment",
        )


def _trimmed(texts: Any) -> Any:
    """Return a column of strings without the spaces and tabs around them, which pyarrow.csv ignores around numbers."""
    return arrow("pyarrow.compute").ascii_trim(texts, BLANKS)


def _named(table: Any, ends: list[str]) -> Any:
    """Remove the blanks around ids in text, so that "b" and " b" are one vertex. An empty text becomes null."""
    pa, pc = arrow(), arrow("pyarrow.compute")
    for end in ends:
        texts = _trimmed(table[end])
        texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)
        table = table.set_column(table.column_names.index(end), end, texts)
    return table


def _integers(texts: Any) -> Any:
    """Return a column of strings as int64 or uint64, or None if some are not integers."""
    for kind in ("int64", "uint64"):
        with suppress(arrow().ArrowInvalid):
            return texts.cast(kind)
    return None


def _read_csv(path: Path, layout: Layout, header: _Header, chosen: Chosen, texts: list[str]) -> Any:
    """Return the columns `chosen`. Those in `texts` are strings, all others have inferred types, uint64 included."""
    types, pc = arrow().types, arrow("pyarrow.compute")
    table = _inferred(path, layout, header, chosen, texts)
    wide = [
        title
        for title in chosen.titles
        if types.is_floating(table[title].type) and pc.any(pc.greater_equal(table[title], 2.0**63)).as_py()
    ]
    if wide:  # pyarrow reads integers beyond int64 as floats
        for title, column in zip(wide, _inferred(path, layout, header, chosen, wide).select(wide).columns):
            if (numbers := _integers(column)) is not None:
                table = table.set_column(table.column_names.index(title), title, numbers)
    return table


def _inferred(path: Path, layout: Layout, header: _Header, chosen: Chosen, texts: list[str]) -> Any:
    """Return the columns `chosen`. Those in `texts` are strings, all others have the types that pyarrow infers."""
    arrow_csv = arrow("pyarrow.csv")

    def table() -> Any:
        with _source(path, layout) as (source, separator, head):
            return arrow_csv.read_csv(
                source,
                arrow_csv.ReadOptions(
                    column_names=header.titles, skip_rows=head, skip_rows_after_names=int(header.is_there)
                ),
                arrow_csv.ParseOptions(delimiter=separator),
                _conversion(chosen, texts),
            )

    try:
        return call_apart(table)  # in the main thread pyarrow handles Ctrl-C itself, and sometimes loses it
    except TooLarge:
        raise
    except FormatError as error:
        raise next(_bad_rows(path, layout, header, chosen, bool(texts)), error) from error


def _conversion(chosen: Chosen, texts: list[str]) -> Any:
    """Return options of pyarrow to read the columns `chosen`, those in `texts` as strings. Empty cells are null."""
    return arrow("pyarrow.csv").ConvertOptions(
        include_columns=chosen.titles,
        column_types=dict.fromkeys(texts, arrow().string()),
        null_values=[""],  # not "NA", the country code of Namibia
        strings_can_be_null=True,
    )


def parts_of_text(
    path: Path, columns: Columns, names: bool | None, separator: str | None, is_csv: bool
) -> Iterator[Part] | None:
    """Return the edges of a CSV file or an edge list, some rows at a time.

    If ids are no vertex numbers, return None.
    """
    if names or columns.attributes or not path.is_file():
        return None
    layout = look(path, separator, is_csv)
    with _open(path) as source:
        head = [source.readline() for _ in range(layout.head)]
    if any(b"\r" in line.removesuffix(b"\n").removesuffix(b"\r") for line in head):
        return None  # lines that end in \r alone, which `_whole_rows` would not count
    header = _header(path, layout, columns)
    chosen = _chosen(path, header.titles, columns, header.kinds)
    begin = int(header.is_there)
    first = next(iter(first_rows(path, layout, begin, begin + 1)), [""] * len(header.titles))
    read = [header.titles.index(title) for title in chosen.titles if title != chosen.direction]
    if chosen.direction is not None and first[header.titles.index(chosen.direction)].casefold() in WAYS:
        return None
    chosen = chosen._replace(direction=None)
    if len(first) != len(header.titles) or not all(is_number(first[place]) for place in read):
        return None  # names, Boolean weights or an error
    if names is None and not _are_numbers(path, layout, header, chosen):
        return None
    return _by_rows(path, layout, header, chosen)


def _are_numbers(path: Path, layout: Layout, header: _Header, chosen: Chosen) -> bool:
    """Return whether all ids are vertex numbers beyond doubt."""
    largest, only_ends = arrow("pyarrow.compute").max, chosen._replace(weight=None)
    try:
        for table in _text_blocks(path, layout, header, only_ends):
            numbered = _numbered(path, table, chosen.ends)
            if numbered is None or any((largest(ids).as_py() or 0) >= WIDE for ids in numbered.columns):
                return False
    except TooLarge:
        raise
    except FormatError:  # all rows together may be names
        return False
    return True


def _by_rows(path: Path, layout: Layout, header: _Header, chosen: Chosen) -> Iterator[Part]:
    for table in _text_blocks(path, layout, header, chosen):
        try:
            for title in chosen.titles:
                texts = _trimmed(table[title])
                numbers = _integers(texts)
                if numbers is None and title not in chosen.ends:
                    numbers = texts.cast("float64")
                if numbers is not None:
                    table = table.set_column(table.column_names.index(title), title, numbers)
            edges = edges_of(table, 0, 1, chosen.weight, names=False)
        except (ValueError, TypeError) as error:  # ArrowInvalid is a ValueError
            raise next(_bad_rows(path, layout, header, chosen, False), FormatError(path, None, str(error))) from error
        yield Part(edges.src, edges.dst, edges.weights, edges.n)


def _text_blocks(path: Path, layout: Layout, header: _Header, chosen: Chosen) -> Iterator[Any]:
    """Yield the columns `chosen` as strings, some rows at a time. Empty cells are null."""
    pa, arrow_csv = arrow(), arrow("pyarrow.csv")
    if _needs_rewriting(layout):
        places = {title: header.titles.index(title) for title in chosen.titles}
        each_row = islice(rows(path, layout), int(header.is_there), None)
        while some := [row for _, row in islice(each_row, _ROWS)]:
            if any(len(row) != len(header.titles) for row in some):
                raise next(_bad_rows(path, layout, header, chosen, False))
            texts = {title: [row[place] or None for row in some] for title, place in places.items()}
            yield pa.table({title: pa.array(column, pa.string()) for title, column in texts.items()})
        return
    parse = arrow_csv.ParseOptions(delimiter=layout.separator)
    convert = _conversion(chosen, chosen.titles)
    try:
        with _open(path) as source:
            for i, block in enumerate(_whole_rows(source, layout.head)):
                # pyarrow.csv.open_csv would read the file ahead, as fast as the disk
                options = arrow_csv.ReadOptions(
                    use_threads=False,
                    block_size=len(block) + 1,
                    column_names=header.titles,
                    skip_rows_after_names=int(header.is_there and i == 0),
                )
                table = call_apart(arrow_csv.read_csv, BytesIO(block), options, parse, convert)
                if table.num_rows:
                    yield table
    except TooLarge:
        raise
    except FormatError as error:
        raise next(_bad_rows(path, layout, header, chosen, False), error) from error


def _whole_rows(stream: IO[bytes], head: int) -> Iterator[bytes]:
    """Yield the rows of a CSV file in blocks, without its first `head` lines."""
    for _ in range(head):
        stream.readline()
    while block := stream.read(files.PART):
        block = _closed(block + stream.readline(), stream)
        if block.strip(b"\r\n"):  # pyarrow refuses text without rows
            yield block


def _closed(text: bytes, stream: IO[bytes]) -> bytes:
    """Return the text extended by the lines up to its closing quote: quoted cells may contain line breaks."""
    lines = [text]
    while text.count(b'"') % 2:
        text = stream.readline()
        lines.append(text)
        if not text:
            break
        text = b'"' + text
    return b"".join(lines)


def _needs_rewriting(layout: Layout) -> bool:
    """Return whether the rows are not plain CSV."""
    return layout.separator == SPACES or layout.has_comments or layout.is_spaced or bool(layout.left_out)


@contextmanager
def _source(path: Path, layout: Layout) -> Iterator[tuple[IO[bytes], str, int]]:
    """Open a file, or its rows rewritten as plain CSV, for pyarrow. Yield it, its separator and the lines to skip."""
    if not _needs_rewriting(layout):
        with _open(path) as source:
            yield source, layout.separator, layout.head
        return
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(row for _, row in rows(path, layout))
    with _open(path, BytesIO(text.getvalue().encode())) as source:
        yield source, ",", 0


class _Header(NamedTuple):
    """The titles of columns, and what the columns hold in the first rows."""

    titles: list[str]
    is_there: bool  # whether the first line holds the titles
    kinds: Kinds


def _header(path: Path, layout: Layout, columns: Columns) -> _Header:
    """Return the header, by the first lines and the columns that the caller names."""
    lines = first_rows(path, layout, 0, _LOOKED)
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
        if not _are_in(columns.given, first) and _are_in(columns.given, layout.titles):
            return _Header([*layout.titles], False, _kinds(lines, len(first)))
        _require_one_line(path, layout, first)
        return _Header(first, True, _kinds(lines[1:], len(first)))
    if has_numbers or columns.src is not None or ".ncol" in path.suffixes:  # such a file has no header
        kinds = _kinds(lines, len(first))
        return _Header(_unnamed(len(first), columns, kinds), False, kinds)
    which = "positions 0 and 1" if len(first) == 2 else f"two positions from 0 to {len(first) - 1}"
    raise FormatError(
        path,
        layout.head + 1,
        f"{layout.separator.join(first)[:60]!r} may be a header or an edge; pass src= and dst=: names of columns if it "
        f"is a header, or {which} if it is an edge",
    )


def _are_in(given: list[Column], titles: Sequence[str]) -> bool:
    """Return whether the first row, or a comment above it, holds the titles that the caller names."""
    return len(titles) > 0 and all(each in titles for each in given if isinstance(each, str))


def _unnamed(count: int, columns: Columns, kinds: Kinds) -> list[str]:
    """Return titles for columns without a header.

    Two or three are called src, dst and weight, where they may be that.
    """
    has_weight = count == 3 and 2 in kinds.numbers
    are_ends = {columns.src, columns.dst} <= {None, 0, 1} and are_first(kinds.without({2} if has_weight else ()))
    titles = ["src", "dst", "weight"][: 2 + has_weight] if count <= 3 and are_ends else []
    return [*titles, *(f"column {place}" for place in range(len(titles), count))]


def _kinds(lines: list[list[str]], count: int) -> Kinds:
    """Return what each column holds, by its first cell that is not empty.

    If all cells are empty, numbers may follow.
    """
    columns = ([row[place].strip() for row in lines if place < len(row)] for place in range(count))
    cells = [next(filter(None, column), "") for column in columns]
    numbers = [place for place, cell in enumerate(cells) if not cell or is_number(cell)]
    whole = [place for place in numbers if _is_id(cells[place])]
    return Kinds(numbers, whole, [place for place in range(count) if place not in numbers])


def _require_one_line(path: Path, layout: Layout, titles: list[str]) -> None:
    """Raise FormatError if a quote leads beyond the first line, the header, as pyarrow would skip one line only."""
    if broken := next((title for title in titles if "\n" in title or "\r" in title), None):
        raise FormatError(
            path,
            layout.head + 1,
            f"the title {broken[:60]!r} has a line break; expected a header of one line; is a quote not closed?",
        )


def _bad_rows(path: Path, layout: Layout, header: _Header, chosen: Chosen, names: bool | None) -> Iterator[FormatError]:
    """Yield the errors for all rows that do not match the first row."""
    titles = header.titles
    places = [titles.index(title) for title in chosen.titles]
    kinds: list[_Kind] | None = None
    for line, row in islice(rows(path, layout), int(header.is_there), None):
        if len(row) != len(titles):
            yield FormatError(path, line, f"{len(row)} columns; expected {len(titles)}, as in the first line")
            continue
        cells = [row[place] for place in places]
        if kinds is None:
            others = list(zip(chosen.titles, cells))[2:]
            is_numbered = names is False or (not names and all(map(_is_id, cells[:2])))
            end = _NUMBER if is_numbered else _NAME
            own = {chosen.weight: _WEIGHT, chosen.direction: _ANY}
            kinds = [end, end, *(own.get(title) or _kind(cell) for title, cell in others)]
        if _EMPTY in kinds:
            kinds = [_kind(cell) if kind is _EMPTY else kind for kind, cell in zip(kinds, cells)]
        for title, cell, kind in zip(chosen.titles, cells, kinds):
            if not kind.holds(cell):
                yield FormatError(path, line, f"column {title!r} holds {cell[:60]!r}; {kind.expected}")
                break


class _Kind(NamedTuple):
    """A test for the cells of a column, and the text of its error."""

    holds: Callable[[str], bool]
    expected: str


def _is_date(cell: str) -> bool:
    """Return whether a cell is a date, with a time or without."""
    try:
        datetime.fromisoformat(cell)
    except ValueError:
        return False
    return True


def _is_id(cell: str) -> bool:
    """Return whether a cell is an integer, which may be an id.

    As in pyarrow.csv, spaces and tabs around it don't count.
    """
    return is_whole(cell.strip(BLANKS), 2**64)


_NUMBER = _Kind(lambda cell: _is_id(cell) and int(cell) >= 0, EXPECTED_ID)
_NAME = _Kind(lambda cell: cell.strip(BLANKS) != "" and "\ufffd" not in cell, "expected a name, in UTF-8")
_WEIGHT = _Kind(is_number, EXPECTED_WEIGHT)
_DATE = _Kind(_is_date, "expected a date, as in the first row")
_DURATION = _Kind(lambda cell: length(cell) is not None, "expected a duration or a time, as in the first row")
_ANY = _Kind(lambda cell: True, "")
_EMPTY = _Kind(lambda cell: False, "expected a number, a date or a time in each row")
_OTHER_DATE = _Kind(
    lambda cell: False,
    "expected a number, or a date by ISO 8601, such as 2026-04-03; pandas.read_csv reads other dates, with "
    "parse_dates= and dayfirst=, for Graph.from_table",
)
_BOOL = _Kind(lambda cell: cell.lower() in ("true", "false"), "expected true or false, as in the first row")


def _kind(cell: str) -> _Kind:
    """Return the kind of cells of an attribute, by the first that is not empty."""
    if not cell.strip():
        return _EMPTY
    if looks_dated(cell) and not _is_date(cell):
        return _OTHER_DATE
    return next((kind for kind in (_DATE, _DURATION, _BOOL) if not is_number(cell) and kind.holds(cell)), _WEIGHT)
