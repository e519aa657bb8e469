"""Tables of results with one row per vertex: their columns, their conversion to table libraries, and files of them."""

from __future__ import annotations

import csv
import importlib
import io
from collections.abc import Iterator, Mapping
from datetime import date, time, timedelta
from numbers import Number
from pathlib import Path
from typing import Any

import numpy as np

from gasla.arrays import moved
from gasla.graph.adjacency import Array
from gasla.graph.dates import NAT, TimeColumn, iso, time_column
from gasla.graph.exchange.columns import arrow
from gasla.output import replacing

Columns = dict[str, Array | TimeColumn]
FILES = (".csv", ".parquet", ".feather")

_SINGLE = (str, bytes, Number, np.generic, date, time, timedelta, type(None))


def columns_of(n: int, names: Array | None, results: tuple[Any, ...], columns: Mapping[str, Any]) -> dict[str, Array]:
    """Return the columns of a table of results with one row for each of n vertices, as NumPy arrays by title.

    The column "vertex" has the names or numbers of the vertices, and the other columns have one value per vertex.

    Examples
    --------
    >>> columns_of(2, None, (), {"rank": [0.5, 0.5], "run": "first"})
    {'vertex': array([0, 1]), 'rank': array([0.5, 0.5]), 'run': array(['first', 'first'], dtype=object)}
    """
    by_title = {"vertex": np.arange(n) if names is None else names}
    titled_values = [pair for result in results for pair in _fields(n, None, result)]
    titled_values += [pair for title, result in columns.items() for pair in _fields(n, title, result)]
    for title, value in titled_values:
        if not isinstance(title, str):
            raise TypeError(
                f"a dict of columns has the key {title!r}, of type {type(title).__name__}; expected text, the name of "
                "the column: {'level': levels}"
            )
        if title in by_title:
            raise ValueError(f"two columns are named {title!r}; name them: graph.named(rank=..., level=...)")
        by_title[title] = _as_column(n, title, value)
    return by_title


def _fields(n: int, title: str | None, result: Any) -> Iterator[tuple[str, Any]]:
    """Yield the title and the values of each column that the result of an algorithm gives in a table of n vertices.

    `title` is that of a single column, or the beginning of the titles of several columns. If it is None, titles are the
    names of the result's fields, or "value" for an array.
    """
    if hasattr(result, "state"):
        fields = dict(result.state)
    elif hasattr(result, "_fields"):
        fields = result._asdict()
    elif hasattr(result, "keys") and hasattr(result, "items") and not hasattr(result, "dtype"):
        if title is not None:
            raise TypeError(f"{title} is a {type(result).__name__}; a dict of columns has no name: leave out {title}=")
        yield from result.items()
        return
    else:
        yield "value" if title is None else title, result
        return
    vertex_fields = [field for field, value in fields.items() if getattr(value, "shape", None) == (n,)]
    if title is not None and not vertex_fields:
        raise ValueError(
            f"{title} is a {type(result).__name__} without an array of {n} values; expected one per vertex"
        )
    for field in vertex_fields:
        yield field if title is None else title if len(vertex_fields) == 1 else f"{title}_{field}", fields[field]


def _as_column(n: int, title: str, value: Any) -> Array:
    """Return the values of a column with n rows, from an array or from a constant that stands in every row."""
    if isinstance(value, _SINGLE) or getattr(value, "ndim", 1) == 0:
        value = value.item() if hasattr(value, "item") else value
        return np.full(n, value, None if isinstance(value, Number) else object)
    values = moved(value, "cpu")
    try:
        values = np.asarray(values)
    except ValueError:  # raised for a list of rows of unequal lengths, which the check below refuses
        values = np.asarray(None)
    if values.shape != (n,):
        shape = f"shape {values.shape}" if values.ndim else f"type {type(value).__name__}"
        raise ValueError(
            f"{title} has {shape}; expected ({n},), a value a vertex, as in "
            "graph.named(degree=graph.out_degrees), or a number or text for all vertices"
        )
    return values


def in_zone(columns: Mapping[str, Any], graph: Any) -> Columns:
    """Return the columns of a table of results, with dates and times in the time zone that the graph's attributes have.

    Nothing changes if the graph's attributes of dates have no time zone, or several.
    """
    types_of_times = (*graph.edge_attributes.time_types.values(), *graph.vertex_attributes.time_types.values())
    zones = {time_type.zone for time_type in types_of_times if time_type.kind == "datetime"}
    if len(zones) != 1 or None in zones:
        return dict(columns)
    zone = zones.pop()
    return {title: _convert_to_zone(values, zone) for title, values in columns.items()}


def _convert_to_zone(values: Any, zone: Any) -> Any:
    if isinstance(values, TimeColumn) or values.dtype.kind != "M" or values.dtype == np.dtype("M8[D]"):
        return values
    column = time_column(values)
    return column if column is None else TimeColumn(column.numbers, column.type._replace(zone=zone))


def as_table(columns: Columns, kind: str) -> Any:
    """Return the columns of a table of results as the object of a table library.

    It is a pyarrow.Table if `kind` is "arrow", and a DataFrame if it is "pandas" or "polars".
    """
    library = module_for(kind)
    converted = {title: _convert_for(values, kind) for title, values in columns.items()}
    if kind == "pandas":
        return library.DataFrame(converted)
    make = library.array if kind == "arrow" else lambda values: library.Series(values=values.tolist(), strict=True)
    columns_made = {}
    for title, values in converted.items():
        if (kind == "polars" and values.dtype != object) or (kind == "arrow" and not isinstance(values, np.ndarray)):
            columns_made[title] = values
            continue
        try:
            columns_made[title] = make(values)
        except (
            ValueError,
            TypeError,
            OverflowError,
            NotImplementedError,
        ) as error:  # errors of Arrow are subclasses of these types
            types = ", ".join(sorted({type(value).__name__ for value in values.tolist()}))
            raise TypeError(
                f"{kind} has no type for column {title!r} with values of type {types}; expected one type, and integers "
                "of 64 bits; as_='pandas' takes any"
            ) from error
    return library.table(columns_made) if kind == "arrow" else library.DataFrame(columns_made)


def _convert_for(values: Any, library: str) -> Any:
    """Return a column of a table, converted such that the library `kind` supports the type and unit of its dates.

    `kind` is "arrow", "pandas" or "polars".
    """
    if isinstance(values, TimeColumn):
        # polars does not support time zones that are offsets from UTC, such as "+02:00"
        if library == "polars" and (values.type.zone or "")[:1] in ("+", "-"):
            values = TimeColumn(values.numbers, values.type._replace(zone="UTC"))
        column, is_none = values.to_arrow(arrow()), values.numbers == NAT
        if is_none.any():
            column = arrow("pyarrow.compute").if_else(is_none, None, column)
        return (
            column
            if library == "arrow"
            else column.to_pandas()
            if library == "pandas"
            else module_for(library).from_arrow(column)
        )
    if values.dtype.kind not in "mM" or np.datetime_data(values.dtype)[0] in ("ms", "us", "ns"):
        return values
    is_date = values.dtype == np.dtype("M8[D]")
    return values if is_date else values.astype(f"{values.dtype.kind}8[ms]")


def module_for(kind: str) -> Any:
    """Return the module of the table library `kind`. If it is missing, the ImportError says how to install it."""
    if kind == "arrow":
        return arrow()
    try:
        return importlib.import_module(kind)
    except ImportError:
        raise ImportError(f"a table of {kind} needs it: pip install {kind}") from None


def check_file(path: Any) -> Path:
    """Return the path of a table's file. Raise ValueError unless it ends in ".csv", ".parquet" or ".feather"."""
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in FILES:
        raise ValueError(
            f"output is {str(path)!r}; expected a file that ends in {', '.join(FILES[:-1])} or {FILES[-1]}"
        )
    if ending != ".csv":
        arrow()
    return target


def write(path: Path, columns: Columns) -> None:
    """Write columns to a CSV, Parquet or Feather file, as its suffix says.

    An interrupted write leaves no partial file.
    """
    ending = path.suffix.lower()
    table = None if ending == ".csv" else as_table(columns, "arrow")
    with replacing(path) as stream:
        if ending == ".csv":
            stream.write(_csv_text(columns).encode())
        elif ending == ".parquet":
            arrow("pyarrow.parquet").write_table(table, stream)
        else:
            arrow("pyarrow.feather").write_feather(table, stream)


def _csv_text(columns: Columns) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*map(words, columns.values())))
    return text.getvalue()


def words(values: Array | TimeColumn) -> list[Any]:
    """Return the values of a column as texts for a CSV file.

    Numbers get the fewest digits that read back as the same number.

    Dates and durations are in ISO 8601 format, and NaT becomes an empty text. Objects stay as they are.
    """
    if isinstance(values, TimeColumn):
        is_date = values.numbers != NAT
        dates = iter(values[is_date].tolist())
        return [iso(next(dates)) if is_there else "" for is_there in is_date]
    if values.dtype.kind in "mM":
        return ["" if np.isnat(value) else iso(value) for value in values]
    texts: list[Any] = values.tolist() if values.dtype == object else values.astype(str).tolist()
    return texts
