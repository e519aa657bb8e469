"""Edges from the columns of a table with the Arrow PyCapsule stream (pandas, polars, pyarrow, cuDF).

Ids that are names (strings, or integers of 2**31 or more) are numbered in the order of first appearance: all of the
first column, then the second. All work is done by Arrow's column functions; there is no loop over rows.
"""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from gasla.graph.adjacency import Array
from gasla.graph.dates import TimeColumn, looks_dated, of_arrow
from gasla.graph.memory_limit import require_bytes
from gasla.graph.validate import are_sparse, as_ids
from gasla.names import meant

OWN = ("src", "dst")  # the titles in files of gasla's own
_PAIRS = (  # usual titles of the columns of ids, as `_bare` leaves them; single letters only as they are
    OWN, ("source", "target"), ("from", "to"), ("u", "v"), ("i", "j"), ("subject", "object"), ("head", "tail"),
    ("sender", "receiver"), ("sender", "recipient"), ("origin", "destination"), ("orig", "dest"), ("src", "dest"),
    ("source", "destination"), ("source", "sink"), ("start", "end"), ("caller", "callee"), ("citing", "cited"),
    ("follower", "followee"), ("payer", "payee"), ("predecessor", "successor"),
)  # fmt: skip
_IDS = re.compile("(node|vertex|id)?(.+?)((?:node|vertex)?(?:id|index|name)?)")
_TYPES = "int|long|float|double|boolean|byte|short|string|(local)?(date|time|datetime)|duration"  # Neo4j's types
_TYPED = re.compile(rf"(?<=.):({_TYPES})(\[\])?$")
_KINDS = (  # titles of columns of two kinds of vertices
    {"user", "customer", "client", "reader", "buyer", "reviewer", "viewer", "listener", "person", "author", "actor"},
    {"item", "movie", "film", "product", "book", "song", "track", "artist", "article", "paper", "page", "tag", "group",
     "business", "game", "event", "course", "video"},
)  # fmt: skip
_BOTH_WAYS = ("undirected", "mutual")
WAYS = ("directed", *_BOTH_WAYS)  # what a column "Type" of Gephi's tables holds
WIDE = 2**31  # integer ids this large are taken for names

Column = str | int


class Edges(NamedTuple):
    """The data of a Graph, with attributes of edges and vertices by name.

    `names` are those of vertices if ids were names.
    """

    n: int
    src: Array
    dst: Array
    weights: Array | None
    names: Array | None
    edge_attributes: Mapping[str, Array | TimeColumn] = MappingProxyType({})
    vertex_attributes: Mapping[str, Array | TimeColumn] = MappingProxyType({})


def arrow(module: str = "pyarrow") -> Any:
    """Import a module of pyarrow. Its ImportError says how to install it.

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
    """Return the table as a pyarrow.Table, its columns shared where possible."""
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


class Kinds(NamedTuple):
    """The positions of the columns that hold numbers, whole numbers among them, and text."""

    numbers: Collection[int] = ()
    whole: Collection[int] = ()
    texts: Collection[int] = ()

    def without(self, places: Collection[int | None]) -> Kinds:
        """Return the same without the columns at these positions."""
        return Kinds(*([place for place in each if place not in places] for each in self))


_UNKNOWN = Kinds()


def kinds_of(schema: Any) -> Kinds:
    """Return what the columns of an Arrow schema hold, without the columns of a pandas index."""
    types = arrow().types
    dtypes = {
        place: column.type.value_type if types.is_dictionary(column.type) else column.type
        for place, column in enumerate(schema)
        if not column.name.startswith("__index_level_")
    }
    whole, texts = ([place for place, dtype in dtypes.items() if test(dtype)] for test in (types.is_integer, _is_text))
    others = (place for place, dtype in dtypes.items() if types.is_floating(dtype) or types.is_decimal(dtype))
    return Kinds(sorted((*whole, *others)), whole, texts)


def choose(
    titles: Sequence[str],
    src: Column | None,
    dst: Column | None,
    weight: Column | None,
    kinds: Kinds = _UNKNOWN,
) -> tuple[int, int, int | None]:
    """Choose the columns of source, target and weight by name, position or usual title, and return their positions.

    Where `src` and `dst` are left out, columns whose part is not certain are an error: more than two that could be the
    ends, and numbers that may or may not be weights.

    Examples
    --------
    >>> choose(["Weight", "Source", "Target"], None, None, None)
    (1, 2, 0)
    >>> choose(["a", "b", "c"], "c", 0, None)
    (2, 0, None)
    """
    if (src is None) != (dst is None):
        raise ValueError(f"src is {src!r} and dst is {dst!r}; expected both columns, or neither")
    value = place_of(titles, "weight", weight) if weight is not None else _titled_weight(titles)
    is_guessed = src is None or dst is None
    if src is None or dst is None:
        usual = _usual(titles)
        if usual is None and not are_first(kinds.without({value})):
            raise _unclear_ends(titles, "nothing says which two columns are the ends of edges")
        src, dst = usual or (0, 1)
    ends = place_of(titles, "src", src), place_of(titles, "dst", dst)
    if ends[0] == ends[1]:
        raise ValueError(f"src and dst are both column {ends[0]}, {titles[ends[0]]!r}; expected two columns")
    if value in ends and weight is None and not is_guessed:
        value = None
    if value in ends:
        raise ValueError(
            f"column {titles[value]!r} would be both an end of edges and their weight; pass src, dst and weight"
        )
    if is_guessed and value is None and (others := sorted(set(kinds.numbers) - {*ends})):
        columns = ", ".join(f"{place}, {titles[place]!r}" for place in others)
        hold = f"column {columns}, holds" if len(others) == 1 else f"columns {columns}, hold"
        raise ValueError(
            f"{hold} numbers of unknown meaning; pass weight={others[0] if len(others) == 1 else '…'} if "
            f"they are edge weights, or src={ends[0]} and dst={ends[1]} to ignore them"
        )
    return (*ends, value)


def _titled_weight(titles: Sequence[str]) -> int | None:
    """Return the position of the column "weight" in any case, with or without a type as in Neo4j.

    None if there is none.
    """
    called = [title.casefold().partition(":")[0].strip() for title in titles]
    if (count := called.count("weight")) > 1:
        raise ValueError(
            f"{count} columns are called 'weight'; there are {titles_listed(titles)}; pass weight=, a position"
        )
    return called.index("weight") if count else None


def are_usual(titles: Sequence[str]) -> bool:
    """Return whether two columns have usual titles for the ends of edges, such as "source" and "target".

    Single letters are more likely ids.

    Examples
    --------
    >>> are_usual(["id", "source", "target"]), are_usual(["u", "v"])
    (True, False)
    """
    return any(len(_bare(titles[place])) > 1 for pair in _pairs(titles) for place in pair)


def _usual(titles: Sequence[str]) -> tuple[int, int] | None:
    """Return the positions of the two columns with usual titles for the ends of edges, such as "source" and "target".

    Raise ValueError if more than two columns have such titles.
    """
    pairs = _pairs(titles)
    own = [pair for pair in pairs if tuple(titles[place] for place in pair) == OWN]
    if len({*pairs}) > 1 and not own:
        raise _unclear_ends(titles, "more than two columns are called like ends of edges")
    return next(iter(own or pairs), None)


def _pairs(titles: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions of all pairs of columns with usual titles for the ends of edges.

    A column "tail" before "head" is no such pair: in a table of triples an edge leads from the head to the tail, in
    other tables from the tail to the head.
    """
    places: dict[str, list[int]] = {}
    for place, title in enumerate(titles):
        places.setdefault(_bare(title), []).append(place)
    pairs = [(a, b) for u, v in _PAIRS for a in places.get(u, ()) for b in places.get(v, ()) if u != "head" or a < b]
    exact = [pair for pair in pairs if tuple(titles[place].casefold() for place in pair) in _PAIRS]
    return exact if len(exact) == 1 else pairs


def _bare(title: str) -> str:
    """Return a title in lower case without the part that only says that the column holds ids.

    "start" and "end" without such a part become empty, because columns of times have these titles.

    Examples
    --------
    >>> [_bare(title) for title in ("Source", "FromNodeId", ":START_ID(Person)", "start", "vid", "x")]
    ['source', 'from', 'start', '', 'vid', 'x']
    """
    word = re.sub(r"\(.*|[\W_]", "", title.casefold())
    match = _IDS.fullmatch(word)
    if match is None or len(match[2]) == 1:
        return word
    return "" if match[2] in ("start", "end") and not match[3] else match[2]


def are_first(kinds: Kinds) -> bool:
    """Return whether no two columns of one type could be the ends of edges but the first two."""
    able = [place for places in (kinds.whole, kinds.texts) if len(places) > 1 for place in places]
    return len(able) < 2 or sorted(able) == [0, 1]


def _unclear_ends(titles: Sequence[str], why: str) -> ValueError:
    return ValueError(f"{why}; there are {titles_listed(titles)}; pass src= and dst=, names or positions of columns")


def titles_listed(titles: Sequence[str]) -> str:
    """Return the positions and titles of columns, for an error."""
    return ", ".join(f"{place} {title!r}" for place, title in enumerate(titles)) or "none"


def _without_type(title: str) -> str:
    """Return a title without the type that Neo4j writes behind it.

    Examples
    --------
    >>> _without_type("amount:double"), _without_type("a:b")
    ('amount', 'a:b')
    """
    return _TYPED.sub("", title)


def place_of(titles: Sequence[str], what: str, column: Column) -> int:
    """Return the position of one column, given by name or position."""
    known = ", ".join(map(repr, titles)) or "none"
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool):
        if not 0 <= column < len(titles):
            raise ValueError(f"{what} is column {column}; expected a position, 0 to {len(titles) - 1}: {known}")
        return int(column)
    if not isinstance(column, str):
        raise TypeError(f"{what} is {column!r}; expected the name of a column or its position; there are {known}")
    typed = [place for place, title in enumerate(titles) if _without_type(title) == column != title]
    if column not in titles and len(typed) == 1:
        return typed[0]
    if (count := list(titles).count(column)) != 1:
        hint = meant(column, titles)
        problem = "does not exist" if count == 0 else f"exists {count} times; pass its position"
        raise ValueError(f"{what}: column {column!r} {problem}; there are {known}{hint}")
    return list(titles).index(column)


def edges_of(
    table: Any,
    src: Column | None,
    dst: Column | None,
    weight: Column | None,
    names: bool | None,
    attributes: Sequence[Column] = (),
    bipartite: bool | None = None,
    may_be_empty: bool = False,
) -> Edges:
    """Return the edges in a pyarrow.Table. `attributes` are columns with another meaning than weights.

    Parameters
    ----------
    table :
        a pyarrow.Table
    src, dst, weight :
        names or positions of the columns of sources, targets and weights, or None for those that their titles or types
        tell
    names :
        whether vertices are numbered by name; None decides by the types of the columns
    attributes :
        names or positions of columns with another meaning than weights
    bipartite :
        whether sources and targets are two sets of vertices
    may_be_empty :
        whether a table without rows is valid
    """
    places = _places(table, src, dst, weight, attributes)
    if table.num_rows == 0 and not may_be_empty:
        raise ValueError("the table has no rows; expected one edge per row; Graph.from_edges([], [], n=n) has no edges")
    titles = [None if place is None else table.column_names[place] for place in places]
    values = None if places[2] is None else _weights(titles[2], table.column(places[2]))
    if table.num_rows == 0:
        return Edges(0, np.zeros(0, np.int64), np.zeros(0, np.int64), values, None)
    ends = [ids_of(title, table.column(place)) for title, place in zip(titles[:2], places[:2])]
    texts = [_is_text(ids.type) for ids in ends]
    if texts[0] != texts[1]:
        kinds = " and ".join(f"column {title!r} holds {ids.type}" for title, ids in zip(titles, ends))
        raise TypeError(f"{kinds}; expected both of one kind, integers or strings")
    if bipartite:
        if names is False:
            raise ValueError("bipartite=True gives vertices names, by their columns; expected names=True, or left out")
        return _with_names(_with_kinds(titles[:2], ends), values)
    if bipartite is None and are_two_kinds(*titles[:2]):
        _warn_of_shared(titles, ends)
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
    """Return the positions of source, target and weight columns in a pyarrow.Table."""
    others = places_of_attributes(table.column_names, attributes)
    return choose(table.column_names, src, dst, weight, kinds_of(table.schema).without(others))


def attribute_of_weight(
    table: Any, src: Column | None, dst: Column | None, weight: Column | None, attributes: Sequence[Column]
) -> str | None:
    """Return the attribute that is the weight as well, or None if none is."""
    place = _places(table, src, dst, weight, attributes)[2]
    is_attribute = place in places_of_attributes(table.column_names, attributes)
    return _without_type(table.column_names[place]) if is_attribute else None


def places_of_attributes(titles: Sequence[str], attributes: Any) -> list[int]:
    """Return the positions of the columns that hold attributes."""
    if isinstance(attributes, str) or not isinstance(attributes, Sequence):
        raise TypeError(f"attributes is {attributes!r}; expected a list of columns, such as ['amount', 'time']")
    places = [place_of(titles, "attributes", column) for column in attributes]
    if again := [place for place in places if places.count(place) > 1]:
        raise ValueError(f"attributes has column {titles[again[0]]!r} twice; expected each once")
    return places


def attributes_of(table: Any, attributes: Sequence[Column]) -> dict[str, Any]:
    """Return columns of a pyarrow.Table by name, checked to hold numbers or dates, and no nulls."""
    places = places_of_attributes(table.column_names, attributes)
    titles = [table.column_names[place] for place in places]
    return {_without_type(title): _numbers(title, table.column(place)) for title, place in zip(titles, places)}


def direction_column(titles: Sequence[str], texts: Collection[int]) -> int | None:
    """Return the position of a column of text that is called "Type", as in tables of Gephi."""
    return next((place for place in texts if titles[place].strip().casefold() == "type"), None)


def undirected_rows(table: Any) -> Array | bool:
    """Return for each row of a table of edges whether its column "Type" says that the edge is undirected.

    Return False if there is no such column, or if it has other words than Gephi's: then it is no direction.

    Examples
    --------
    >>> import pyarrow as pa  # doctest: +SKIP
    >>> undirected_rows(pa.table({"Type": ["Directed", "Undirected"]}))  # doctest: +SKIP
    array([False,  True])
    """
    place = direction_column(table.column_names, kinds_of(table.schema).texts)
    if place is None:
        return False
    pc = arrow("pyarrow.compute")
    # Tables of polars have string views, which become plain strings here.
    words = pc.utf8_lower(_decoded(table.column(place)).cast(arrow().large_string()))
    distinct = {*words.unique().to_pylist()} - {None}
    if not distinct or not distinct <= {*WAYS}:
        return False
    _require_all(table.column_names[place], words)
    is_undirected: Array = pc.is_in(words, arrow().array(_BOTH_WAYS, words.type)).to_numpy()
    return is_undirected


def numeric_columns(table: Any, left: Collection[str | None], what: str) -> list[str]:
    """Return the titles of the columns that have a number or a date in each row, except `left`.

    Warn of other columns.
    """
    titles = [title for title in table.column_names if title not in left and not title.startswith("__index_level_")]
    odd = {title: said for title in titles if (said := _no_attribute(table.column(title)))}
    if odd:
        warnings.warn(
            f"{what} are left out, because only those are kept that have a number in each row: "
            f"{', '.join(f'{title!r} ({said})' for title, said in odd.items())}",
            UserWarning,
            stacklevel=4,
        )
    return [title for title in titles if title not in odd]


def further_columns(table: Any, src: Column | None, dst: Column | None, weight: Column | None) -> list[str]:
    """Return the titles of columns with a number or a date in each row, except ends and weight.

    Warn of other columns.
    """
    places = choose(table.column_names, src, dst, weight, kinds_of(table.schema)._replace(numbers=()))
    return numeric_columns(table, [None if place is None else table.column_names[place] for place in places], "columns")


def _no_attribute(column: Any) -> str:
    """Return the reason why a column can't be an attribute. If it can, the text is empty."""
    types, pc = arrow().types, arrow("pyarrow.compute")
    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    tests = types.is_integer, types.is_floating, types.is_boolean, types.is_temporal
    if not any(test(kind) for test in tests):
        return str(kind)
    return f"row {pc.index(pc.is_null(column), True).as_py()} is null" if column.null_count else ""


def are_two_kinds(src: str | None, dst: str | None) -> bool:
    """Return whether two titles say that the vertices of the columns are of two kinds, such as users and items.

    Examples
    --------
    >>> are_two_kinds("userId", "movieId"), are_two_kinds("citing", "cited")
    (True, False)
    """
    one, other = (_bare(title or "") for title in (src, dst))
    return any(one in people and other in things for people, things in (_KINDS, _KINDS[::-1]))


def _with_kinds(titles: Sequence[Any], ends: list[Any]) -> list[Any]:
    """Return ids as the names of vertices of the kinds that the columns hold, such as "userId 1"."""
    text, join = arrow().large_string(), arrow("pyarrow.compute").binary_join_element_wise
    begins = [f"{title} " for title in titles]
    if begins[0].startswith(begins[1]) or begins[1].startswith(begins[0]):
        raise ValueError(
            f"one of the titles {titles[0]!r} and {titles[1]!r} begins the other; rename it for bipartite="
        )
    none = arrow().scalar("", text)
    return [join(arrow().scalar(begin, text), ids.cast(text), none) for begin, ids in zip(begins, ends)]


def _warn_of_shared(titles: list[Any], ends: list[Any]) -> None:
    """Warn if the same ids occur in two columns that seem to hold vertices of two kinds."""
    pc = arrow("pyarrow.compute")
    ids = [each.combine_chunks().unique() for each in ends]
    shared = ids[0].filter(pc.is_in(ids[0], ids[1].cast(ids[0].type)))
    if len(shared):
        warnings.warn(
            f"ids in column {titles[0]!r} are also in column {titles[1]!r}, such as {shared[0].as_py()!r}, and each is "
            "one vertex; pass bipartite=True if the columns hold two kinds of vertices, else bipartite=False",
            UserWarning,
            stacklevel=4,
        )


def _with_names(ends: list[Any], values: Array | None) -> Edges:
    """Number the edges' names, those of `src` first, and return the edges with these numbers as ids."""
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
    """Return edges whose ids are vertex numbers."""
    pc = arrow("pyarrow.compute")
    for title, ids in zip(titles, ends):
        if (least := pc.min(ids).as_py()) < 0:
            row = pc.index(ids, least).as_py()
            raise ValueError(
                f"row {row} of column {title!r} holds {least}; expected vertex numbers from 0; pass names=True if ids "
                "are names"
            )
    n = 1 + max(_largest(ids) for ids in ends)
    needed, remedy = 16 * n + 24 * len(ends[0]), "pass names=True to number only the ids that occur"
    require_bytes(f"ids go up to {n - 1}, and {n:,} vertices need", needed, remedy)
    if is_open and (doubt := are_sparse(n, len(ends[0]))):
        raise ValueError(doubt)
    src, dst = (as_ids(title, ids.to_numpy()) for title, ids in zip(titles, ends))
    return Edges(n, src, dst, values, None)


def ids_of(title: Any, column: Any) -> Any:
    """Return a column of ids, checked to hold integers or strings, and no nulls."""
    pa = arrow()
    column = _decoded(column)
    _require_all(title, column)
    if not (pa.types.is_integer(column.type) or _is_text(column.type)):
        raise TypeError(f"column {title!r} holds {column.type}; expected integers or strings, ids of vertices")
    return column


def _weights(title: Any, column: Any) -> Array:
    """Return a column of weights, checked to hold numbers, and no nulls."""
    types = arrow().types
    column = _decoded(column)
    _require_all(title, column)
    if not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type)):
        raise TypeError(f"column {title!r} holds {column.type}; expected numbers, the weights of edges")
    values: Array = column.to_numpy()
    return values


def _numbers(title: str, column: Any) -> Any:
    """Return a column of an attribute. Dates and times become a `TimeColumn`."""
    types, column = arrow().types, _decoded(column)
    if types.is_temporal(column.type):
        _require_all(title, column)
        return of_arrow(column, arrow())
    if not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type)):
        texts = column.drop_null() if _is_text(column.type) else []
        if len(texts) and looks_dated(texts[0].as_py()):
            raise TypeError(
                f"attributes: column {title!r} holds texts such as {texts[0].as_py()[:60]!r}, which are not all dates "
                "by ISO 8601, or of which only some have a zone; expected dates, as "
                f"pandas.to_datetime(table[{title!r}], format='mixed', utc=True) makes them, with dayfirst=True for "
                "days before months; then Graph.from_table"
            )
        raise TypeError(
            f"attributes: column {title!r} holds {column.type}; expected numbers, dates or times; number strings "
            f"first, for instance with pandas: table[{title!r}].astype('category').cat.codes"
        )
    return _weights(title, column)


def _decoded(column: Any) -> Any:
    """Return a column with dictionaries, such as categories, expanded to the values.

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


def same_kind(one: Any, other: Any) -> tuple[Any, Any]:
    """Return two arrays of ids as arrays of one type. If one holds text and the other integers, return None twice."""
    if _is_text(one.type) != _is_text(other.type):
        return None, None
    kind = arrow().large_string() if _is_text(one.type) else _common([one, other])
    return one.cast(kind), other.cast(kind)


def _common(ends: list[Any]) -> Any:
    """Return the type that holds the integers of both columns."""
    pa = arrow()
    if max(_largest(ids) for ids in ends) < 2**63:
        return pa.int64()
    if min(arrow("pyarrow.compute").min(ids).as_py() or 0 for ids in ends) >= 0:
        return pa.uint64()
    raise ValueError("some ids are negative and others 2**63 or more; expected all within int64 or all within uint64")


def _largest(ids: Any) -> int:
    return int(arrow("pyarrow.compute").max(ids).as_py() or 0)
