"""Edges out of a table's columns: anything that speaks the Arrow PyCapsule stream (pandas, polars, pyarrow, cuDF).

Ids that are names, strings or wide integers, are numbered once, in the order in which they first appear: all of the
first column, then the second. Everything here is Arrow's own work by columns; nothing goes row by row.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from gasla.graph.adjacency import Array
from gasla.graph.validate import are_sparse, physical_memory
from gasla.names import meant

_PAIRS = (("src", "dst"), ("source", "target"), ("from", "to"))  # what columns of ids are commonly called
_WIDE = 2**31  # a vertex number from here on is taken for a name

Column = str | int


class Edges(NamedTuple):
    """What a Graph is made of; `names` of vertices where ids were names."""

    n: int
    src: Array
    dst: Array
    weights: Array | None
    names: Array | None


def arrow(module: str = "pyarrow") -> Any:
    """A module of pyarrow, or an error that says how to get it.

    Examples
    --------
    >>> arrow("pyarrow.compute").__name__  # doctest: +SKIP
    'pyarrow.compute'
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError("tables need pyarrow: pip install 'gasla[arrow]'") from None


def as_arrow(table: Any) -> Any:
    """The table as pyarrow's, its columns shared where they can be."""
    pa = arrow()
    if isinstance(table, pa.Table):
        return table
    if not hasattr(table, "__arrow_c_stream__"):
        hint = "its collect() gives one" if hasattr(table, "collect") else "arrays go to Graph.from_edges"
        raise TypeError(
            f"table is a {type(table).__name__}; expected one with the Arrow PyCapsule stream, as pandas, polars and "
            f"pyarrow have it; {hint}"
        )
    try:
        return pa.RecordBatchReader.from_stream(table).read_all()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        why = " ".join(map(str, error.args))
        raise TypeError(
            f"the table has a column of mixed types, or of one that pyarrow hasn't ({why}); expected one type a "
            "column, numbers of 64 bits at most"
        ) from error


def places_of_numbers(schema: Any) -> list[int]:
    """The places of columns that hold integers or floats, without what pandas had for an index."""
    types = arrow().types
    kinds = [column.type.value_type if types.is_dictionary(column.type) else column.type for column in schema]
    return [
        place
        for place, (column, kind) in enumerate(zip(schema, kinds))
        if (types.is_integer(kind) or types.is_floating(kind)) and not column.name.startswith("__index_level_")
    ]


def choose(
    titles: Sequence[str],
    src: Column | None,
    dst: Column | None,
    weight: Column | None,
    numbers: Collection[int] = (),
) -> tuple[int, int, int | None]:
    """The places of the columns meant: by name or place; by default those commonly called so, else the first two.

    `numbers` are the places of columns that hold numbers: where nobody says what is what, none of them is passed over.

    Examples
    --------
    >>> choose(["Weight", "Source", "Target"], None, None, None)
    (1, 2, 0)
    >>> choose(["a", "b", "c"], "c", 0, None)
    (2, 0, None)
    """
    if (src is None) != (dst is None):
        raise ValueError(f"src is {src!r} and dst is {dst!r}; expected both columns, or neither")
    is_guessed = src is None or dst is None
    if src is None or dst is None:
        src, dst = _usual(titles) or (0, 1)
    if weight is None and (called := [title.casefold() for title in titles]).count("weight") == 1:
        weight = called.index("weight")
    ends = _place(titles, "src", src), _place(titles, "dst", dst)
    value = None if weight is None else _place(titles, "weight", weight)
    if ends[0] == ends[1]:
        raise ValueError(f"src and dst are both column {ends[0]}, {titles[ends[0]]!r}; expected two columns")
    if value in ends:
        raise ValueError(
            f"column {titles[value]!r} is taken for an end of edges and for their weight; name the columns"
        )
    if is_guessed and value is None and (others := sorted(set(numbers) - {*ends})):
        raise ValueError(
            f"column {others[0]}, {titles[others[0]]!r}, holds numbers, and nothing says what for; pass "
            f"weight={others[0]} for weights of edges, or src={ends[0]} and dst={ends[1]} alone for edges without"
        )
    return (*ends, value)


def are_usual(titles: Sequence[str]) -> bool:
    """Whether two columns are called as the ends of edges commonly are.

    Examples
    --------
    >>> are_usual(["id", "source", "target"])
    True
    """
    return _usual(titles) is not None


def _usual(titles: Sequence[str]) -> tuple[int, int] | None:
    """The places of two columns that are called as the ends of edges commonly are, in capitals or not."""
    called = [title.casefold() for title in titles]
    pairs = ((called.index(u), called.index(v)) for u, v in _PAIRS if called.count(u) == called.count(v) == 1)
    return next(pairs, None)


def _place(titles: Sequence[str], what: str, column: Column) -> int:
    """The place of one column."""
    known = ", ".join(map(repr, titles)) or "none"
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool):
        if not 0 <= column < len(titles):
            raise ValueError(f"{what} is column {column}; expected a place from 0 among {len(titles)}: {known}")
        return int(column)
    if not isinstance(column, str):
        raise TypeError(f"{what} is {column!r}; expected the name of a column or its place; there are {known}")
    if (count := list(titles).count(column)) != 1:
        hint = meant(column, titles)
        found = "is not there" if count == 0 else f"is there {count} times; give its place"
        raise ValueError(f"{what}: column {column!r} {found}; there are {known}{hint}")
    return list(titles).index(column)


def edges_of(table: Any, src: Column | None, dst: Column | None, weight: Column | None, names: bool | None) -> Edges:
    """The edges in a table of pyarrow's."""
    places = choose(table.column_names, src, dst, weight, places_of_numbers(table.schema))
    if table.num_rows == 0:
        raise ValueError("the table has no rows; expected an edge a row; Graph.from_edges([], [], n=n) has no edges")
    titles = [None if place is None else table.column_names[place] for place in places]
    values = None if places[2] is None else _weights(titles[2], table.column(places[2]))
    ends = [_plain(title, table.column(place)) for title, place in zip(titles[:2], places[:2])]
    texts = [_is_text(ids.type) for ids in ends]
    if texts[0] != texts[1]:
        kinds = " and ".join(f"column {title!r} holds {ids.type}" for title, ids in zip(titles, ends))
        raise TypeError(f"{kinds}; expected both of one kind, integers or strings")
    is_open = names is None
    if is_open:
        names = texts[0] or max(_largest(ids) for ids in ends) >= _WIDE
    if names:
        return _with_names(ends, values)
    if texts[0]:
        raise TypeError(
            f"column {titles[0]!r} holds strings, which are names; expected integers, as names=False says and ranks "
            "need: gasla.io.read numbers names, and distributed.Graph.from_graph takes that graph"
        )
    return _with_numbers(titles, ends, values, is_open)


def _with_names(ends: list[Any], values: Array | None) -> Edges:
    """Edges whose ids are names: those of `src` are numbered first."""
    pa, m = arrow(), len(ends[0])
    kind = pa.large_string() if _is_text(ends[0].type) else _common(ends)
    whole = pa.concat_arrays([chunk for ids in ends for chunk in ids.cast(kind).chunks]).dictionary_encode()
    numbers = whole.indices.to_numpy()
    names = whole.dictionary.to_numpy(zero_copy_only=False)
    return Edges(len(names), numbers[:m], numbers[m:], values, names)


def _with_numbers(titles: list[Any], ends: list[Any], values: Array | None, is_open: bool) -> Edges:
    """Edges whose ids are the numbers of vertices."""
    pc = arrow("pyarrow.compute")
    for title, ids in zip(titles, ends):
        if (least := pc.min(ids).as_py()) < 0:
            row = pc.index(ids, least).as_py()
            raise ValueError(
                f"row {row} of column {title!r} holds {least}; expected numbers from 0, or names=True for ids that are "
                "names"
            )
    n = 1 + max(_largest(ids) for ids in ends)
    memory = physical_memory()
    if memory is not None and (needed := 16 * n + 24 * len(ends[0])) > memory:
        raise MemoryError(
            f"ids go up to {n - 1}, and so many vertices need {needed:,} bytes of {memory:,}; names=True numbers the "
            "ids that occur"
        )
    if is_open and (doubt := are_sparse(n, len(ends[0]))):
        raise ValueError(doubt)
    src, dst = (ids.to_numpy() for ids in ends)
    return Edges(n, src, dst, values, None)


def _plain(title: Any, column: Any) -> Any:
    """A column of ids, integers or strings, without a missing one."""
    pa = arrow()
    column = _decoded(column)
    _require_all(title, column)
    if not (pa.types.is_integer(column.type) or _is_text(column.type)):
        raise TypeError(f"column {title!r} holds {column.type}; expected integers or strings, ids of vertices")
    return column


def _weights(title: Any, column: Any) -> Array:
    """A column of numbers, without a missing one."""
    types = arrow().types
    column = _decoded(column)
    _require_all(title, column)
    if not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type)):
        raise TypeError(f"column {title!r} holds {column.type}; expected numbers, the weights of edges")
    values: Array = column.to_numpy()
    return values


def _decoded(column: Any) -> Any:
    """A column whose values are numbered in a dictionary, such as categories, as the values themselves.

    Not by Arrow's cast, which knows no dictionary of string views: polars' categories.
    """
    pa = arrow()
    if not pa.types.is_dictionary(column.type):
        return column
    kind = pa.large_string() if _is_text(column.type.value_type) else column.type.value_type
    return pa.chunked_array([chunk.dictionary.cast(kind).take(chunk.indices) for chunk in column.chunks], kind)


def _require_all(title: Any, column: Any) -> None:
    if column.null_count:
        pc = arrow("pyarrow.compute")
        row = pc.index(pc.is_null(column), True).as_py()
        raise ValueError(
            f"row {row} of column {title!r} is null, one of {column.null_count} such rows; expected a value in each"
        )


def _is_text(kind: Any) -> bool:
    types = arrow().types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _common(ends: list[Any]) -> Any:
    """The type that holds the integers of both columns."""
    pa = arrow()
    if max(_largest(ids) for ids in ends) < 2**63:
        return pa.int64()
    if min(arrow("pyarrow.compute").min(ids).as_py() for ids in ends) >= 0:
        return pa.uint64()
    raise ValueError("ids go from below 0 to over 2**63; expected all of them within int64, or within uint64")


def _largest(ids: Any) -> int:
    return int(arrow("pyarrow.compute").max(ids).as_py())
