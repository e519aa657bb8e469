"""Edges from the columns of a table with the Arrow PyCapsule stream (pandas, polars, pyarrow, cuDF).

Ids that are names (strings, or integers of 2**31 or more) are numbered in the order of first appearance: all of the
first column, then the second. All work is done by Arrow's column functions; there is no loop over rows.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from gasla.graph.adjacency import Array
from gasla.graph.validate import are_sparse, as_ids, physical_memory
from gasla.names import meant

_PAIRS = (("src", "dst"), ("source", "target"), ("from", "to"))  # usual titles of the columns of ids
WIDE = 2**31  # integer ids this large are taken for names

Column = str | int


class Edges(NamedTuple):
    """The data of a Graph; `names` of the vertices if ids were names; attributes of edges and of vertices by name."""

    n: int
    src: Array
    dst: Array
    weights: Array | None
    names: Array | None
    edge_attributes: Mapping[str, Array] = MappingProxyType({})
    vertex_attributes: Mapping[str, Array] = MappingProxyType({})


def arrow(module: str = "pyarrow") -> Any:
    """Import a module of pyarrow; the ImportError says how to install it.

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
    """The table as a pyarrow.Table, its columns shared where possible."""
    pa = arrow()
    if isinstance(table, pa.Table):
        return table
    if not hasattr(table, "__arrow_c_stream__"):
        hint = "call its collect() first" if hasattr(table, "collect") else "pass arrays to Graph.from_edges"
        raise TypeError(
            f"table is a {type(table).__name__}; expected a table with the Arrow PyCapsule stream, such as those of "
            f"pandas, polars and pyarrow; {hint}"
        )
    try:
        return pa.RecordBatchReader.from_stream(table).read_all()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        why = " ".join(map(str, error.args))
        raise TypeError(
            f"the table has a column of mixed types, or of a type that pyarrow lacks ({why}); expected one type per "
            "column, and numbers of at most 64 bits"
        ) from error


def places_of_numbers(schema: Any) -> list[int]:
    """The positions of columns of integers or floats, except columns that hold a pandas index."""
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
    """The positions of source, target and weight columns, given by name or position, or found by their usual titles.

    `numbers` are the positions of numeric columns: if no column was given, a numeric column that would be ignored is an
    error.

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
            f"column {titles[value]!r} would be both an end of edges and their weight; pass src, dst and weight"
        )
    if is_guessed and value is None and (others := sorted(set(numbers) - {*ends})):
        raise ValueError(
            f"column {others[0]}, {titles[others[0]]!r}, holds numbers of unknown meaning; pass weight={others[0]} if "
            f"they are edge weights, or src={ends[0]} and dst={ends[1]} to ignore them"
        )
    return (*ends, value)


def are_usual(titles: Sequence[str]) -> bool:
    """Whether two columns have usual titles for the ends of edges, such as "source" and "target".

    Examples
    --------
    >>> are_usual(["id", "source", "target"])
    True
    """
    return _usual(titles) is not None


def _usual(titles: Sequence[str]) -> tuple[int, int] | None:
    """The positions of two columns with usual titles for the ends of edges, case-insensitive."""
    called = [title.casefold() for title in titles]
    pairs = ((called.index(u), called.index(v)) for u, v in _PAIRS if called.count(u) == called.count(v) == 1)
    return next(pairs, None)


def _place(titles: Sequence[str], what: str, column: Column) -> int:
    """The position of one column, given by name or position."""
    known = ", ".join(map(repr, titles)) or "none"
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool):
        if not 0 <= column < len(titles):
            raise ValueError(f"{what} is column {column}; expected a position, 0 to {len(titles) - 1}: {known}")
        return int(column)
    if not isinstance(column, str):
        raise TypeError(f"{what} is {column!r}; expected the name of a column or its position; there are {known}")
    if (count := list(titles).count(column)) != 1:
        hint = meant(column, titles)
        found = "does not exist" if count == 0 else f"exists {count} times; pass its position"
        raise ValueError(f"{what}: column {column!r} {found}; there are {known}{hint}")
    return list(titles).index(column)


def edges_of(
    table: Any,
    src: Column | None,
    dst: Column | None,
    weight: Column | None,
    names: bool | None,
    attributes: Sequence[Column] = (),
) -> Edges:
    """The edges in a pyarrow.Table; `attributes` are columns with another meaning than that of weights."""
    places = _places(table, src, dst, weight, attributes)
    if table.num_rows == 0:
        raise ValueError("the table has no rows; expected one edge per row; Graph.from_edges([], [], n=n) has no edges")
    titles = [None if place is None else table.column_names[place] for place in places]
    values = None if places[2] is None else _weights(titles[2], table.column(places[2]))
    ends = [_plain(title, table.column(place)) for title, place in zip(titles[:2], places[:2])]
    texts = [_is_text(ids.type) for ids in ends]
    if texts[0] != texts[1]:
        kinds = " and ".join(f"column {title!r} holds {ids.type}" for title, ids in zip(titles, ends))
        raise TypeError(f"{kinds}; expected both of one kind, integers or strings")
    is_open = names is None
    if is_open:
        names = texts[0] or max(_largest(ids) for ids in ends) >= WIDE
    if names:
        return _with_names(ends, values)
    if texts[0]:
        raise TypeError(
            f"column {titles[0]!r} holds strings; expected integers, because of names=False or because ranks number no "
            "names: gasla.io.read(path) numbers names, and distributed.Graph.from_graph takes its graph"
        )
    return _with_numbers(titles, ends, values, is_open)


def _places(
    table: Any, src: Column | None, dst: Column | None, weight: Column | None, attributes: Sequence[Column]
) -> tuple[int, int, int | None]:
    """The positions of source, target and weight columns in a pyarrow.Table."""
    numbers = {*places_of_numbers(table.schema)} - {*places_of_attributes(table.column_names, attributes)}
    return choose(table.column_names, src, dst, weight, numbers)


def attribute_of_weight(
    table: Any, src: Column | None, dst: Column | None, weight: Column | None, attributes: Sequence[Column]
) -> str | None:
    """The attribute that is the weight as well; None if none is."""
    place = _places(table, src, dst, weight, attributes)[2]
    return table.column_names[place] if place in places_of_attributes(table.column_names, attributes) else None


def places_of_attributes(titles: Sequence[str], attributes: Any) -> list[int]:
    """The positions of the columns that hold attributes."""
    if isinstance(attributes, str) or not isinstance(attributes, Sequence):
        raise TypeError(f"attributes is {attributes!r}; expected a list of columns, such as ['amount', 'time']")
    places = [_place(titles, "attributes", column) for column in attributes]
    if again := [place for place in places if places.count(place) > 1]:
        raise ValueError(f"attributes has column {titles[again[0]]!r} twice; expected each once")
    return places


def attributes_of(table: Any, attributes: Sequence[Column]) -> dict[str, Array]:
    """Columns of a pyarrow.Table by name, checked to hold numbers or dates, and no nulls."""
    places = places_of_attributes(table.column_names, attributes)
    return {table.column_names[place]: _numbers(table.column_names[place], table.column(place)) for place in places}


def _with_names(ends: list[Any], values: Array | None) -> Edges:
    """Edges whose ids are names; those of `src` are numbered first."""
    pa, m = arrow(), len(ends[0])
    kind = pa.large_string() if _is_text(ends[0].type) else _common(ends)
    whole = pa.concat_arrays([chunk for ids in ends for chunk in ids.cast(kind).chunks]).dictionary_encode()
    numbers = whole.indices.to_numpy()
    try:
        names = whole.dictionary.to_numpy(zero_copy_only=False)
    except pa.ArrowException as error:  # pyarrow decodes them only now
        raise ValueError("a name is not valid UTF-8; expected text, or integers") from error
    return Edges(len(names), numbers[:m], numbers[m:], values, names)


def _with_numbers(titles: list[Any], ends: list[Any], values: Array | None, is_open: bool) -> Edges:
    """Edges whose ids are vertex numbers."""
    pc = arrow("pyarrow.compute")
    for title, ids in zip(titles, ends):
        if (least := pc.min(ids).as_py()) < 0:
            row = pc.index(ids, least).as_py()
            raise ValueError(
                f"row {row} of column {title!r} holds {least}; expected vertex numbers from 0; pass names=True if ids "
                "are names"
            )
    n = 1 + max(_largest(ids) for ids in ends)
    memory = physical_memory()
    if memory is not None and (needed := 16 * n + 24 * len(ends[0])) > memory:
        raise MemoryError(
            f"ids go up to {n - 1}, and {n:,} vertices need {needed:,} bytes of {memory:,}; pass names=True to number "
            "only the ids that occur"
        )
    if is_open and (doubt := are_sparse(n, len(ends[0]))):
        raise ValueError(doubt)
    src, dst = (as_ids(title, ids.to_numpy()) for title, ids in zip(titles, ends))
    return Edges(n, src, dst, values, None)


def _plain(title: Any, column: Any) -> Any:
    """A column of ids, checked to hold integers or strings, and no nulls."""
    pa = arrow()
    column = _decoded(column)
    _require_all(title, column)
    if not (pa.types.is_integer(column.type) or _is_text(column.type)):
        raise TypeError(f"column {title!r} holds {column.type}; expected integers or strings, ids of vertices")
    return column


def _weights(title: Any, column: Any) -> Array:
    """A column of weights, checked to hold numbers, and no nulls."""
    types = arrow().types
    column = _decoded(column)
    _require_all(title, column)
    if not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type)):
        raise TypeError(f"column {title!r} holds {column.type}; expected numbers, the weights of edges")
    values: Array = column.to_numpy()
    return values


def _numbers(title: str, column: Any) -> Array:
    """A column of an attribute."""
    types, column = arrow().types, _decoded(column)
    if types.is_date(column.type) or types.is_timestamp(column.type) or types.is_duration(column.type):
        _require_all(title, column)
        dates: Array = column.to_numpy()
        return dates
    if not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type)):
        raise TypeError(
            f"attributes: column {title!r} holds {column.type}; expected numbers, dates or times; number strings "
            f"first, for instance with pandas: table[{title!r}].astype('category').cat.codes"
        )
    return _weights(title, column)


def _decoded(column: Any) -> Any:
    """A column with dictionaries, such as categories, expanded to the values.

    Arrow's cast does not support dictionaries of string views, which polars uses for categories.
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
    raise ValueError("some ids are negative and others 2**63 or more; expected all within int64 or all within uint64")


def _largest(ids: Any) -> int:
    return int(arrow("pyarrow.compute").max(ids).as_py())
