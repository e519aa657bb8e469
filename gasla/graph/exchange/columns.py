"""Edges of a graph from the columns of a table, which may be of pandas, polars, pyarrow or cuDF.

Tables are read through the Arrow PyCapsule stream, by Arrow's column functions, without a loop over rows. Ids that are
names (strings, or integers of 2**31 or more) are numbered in the order of first appearance: all of the first column,
then the second.
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

OWN = ("src", "dst")  # titles of the columns of sources and targets in files that gasla writes
# Usual titles of the two columns with the ends of edges, in the short form that `_core_of_title` returns.
_PAIRS = (
    OWN, ("source", "target"), ("from", "to"), ("u", "v"), ("i", "j"), ("subject", "object"), ("head", "tail"),
    ("sender", "receiver"), ("sender", "recipient"), ("origin", "destination"), ("orig", "dest"), ("src", "dest"),
    ("source", "destination"), ("source", "sink"), ("start", "end"), ("caller", "callee"), ("citing", "cited"),
    ("follower", "followee"), ("payer", "payee"), ("predecessor", "successor"),
)  # fmt: skip
_IDS = re.compile("(node|vertex|id)?(.+?)((?:node|vertex)?(?:id|index|name)?)")
# names of types that tables of Neo4j have at the end of titles, such as "amount:double"
_TYPES = "int|long|float|double|boolean|byte|short|string|(local)?(date|time|datetime)|duration"
_TYPED = re.compile(rf"(?<=.):({_TYPES})(\[\])?$")
_KINDS = (  # titles of columns that have vertices of two kinds: people, and things that people use
    {"user", "customer", "client", "reader", "buyer", "reviewer", "viewer", "listener", "person", "author", "actor"},
    {"item", "movie", "film", "product", "book", "song", "track", "artist", "article", "paper", "page", "tag", "group",
     "business", "game", "event", "course", "video"},
)  # fmt: skip
_BOTH_WAYS = ("undirected", "mutual")
WAYS = ("directed", *_BOTH_WAYS)  # the words that the column "Type" of Gephi's tables may have
WIDE = 2**31  # if any integer id is this number or larger, all ids are taken for names of vertices

Column = str | int


class Edges(NamedTuple):
    """The edges of a graph as arrays, with the names of vertices, and attributes of edges and vertices by name.

    `names` is None if vertices have numbers only.
    """

    n: int
    src: Array
    dst: Array
    weights: Array | None
    names: Array | None
    edge_attributes: Mapping[str, Array | TimeColumn] = MappingProxyType({})
    vertex_attributes: Mapping[str, Array | TimeColumn] = MappingProxyType({})


def arrow(module: str = "pyarrow") -> Any:
    """Return a module of pyarrow. If pyarrow is missing, the ImportError says how to install it.

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
    """Return a table of any library as a pyarrow.Table. Its columns share the table's memory where possible."""
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
        reason = " ".join(map(str, error.args))
        raise TypeError(
            f"the table has a column of mixed types, or of a type that pyarrow lacks ({reason}); expected one type per "
            "column, and numbers of at most 64 bits"
        ) from error


class Kinds(NamedTuple):
    """The positions of those columns of a table that hold numbers, that hold whole numbers, and that hold text.

    Columns of whole numbers are among the columns of numbers, too.
    """

    numbers: Collection[int] = ()
    whole: Collection[int] = ()
    texts: Collection[int] = ()

    def without(self, places: Collection[int | None]) -> Kinds:
        """Return the same positions of columns without those in `places`."""
        return Kinds(*([position for position in group if position not in places] for group in self))


_UNKNOWN = Kinds()


def kinds_of(schema: Any) -> Kinds:
    """Return the positions of the columns of an Arrow schema that hold numbers, whole numbers and text.

    The index of pandas is left out.
    """
    types = arrow().types
    dtypes = {
        position: column.type.value_type if types.is_dictionary(column.type) else column.type
        for position, column in enumerate(schema)
        if not column.name.startswith("__index_level_")
    }
    integer_positions, texts = (
        [position for position, dtype in dtypes.items() if test(dtype)] for test in (types.is_integer, _is_text)
    )
    fractional = (position for position, dtype in dtypes.items() if types.is_floating(dtype) or types.is_decimal(dtype))
    return Kinds(sorted((*integer_positions, *fractional)), integer_positions, texts)


def choose(
    titles: Sequence[str], src: Column | None, dst: Column | None, weight: Column | None, kinds: Kinds = _UNKNOWN
) -> tuple[int, int, int | None]:
    """Return the positions of the columns of sources, targets and weights in a table, by name, position or usual title.

    If `src` and `dst` are left out, columns of uncertain meaning are an error: more than two columns that could hold
    the ends of edges, and numbers that may or may not be weights.

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
        usual = _find_usual_ends(titles)
        if usual is None and not are_first(kinds.without({value})):
            raise _unclear_ends(titles, "nothing says which two columns are the ends of edges")
        src, dst = usual or (0, 1)
    end_positions = place_of(titles, "src", src), place_of(titles, "dst", dst)
    if end_positions[0] == end_positions[1]:
        raise ValueError(
            f"src and dst are both column {end_positions[0]}, {titles[end_positions[0]]!r}; expected two columns"
        )
    if value in end_positions and weight is None and not is_guessed:
        value = None
    if value in end_positions:
        raise ValueError(
            f"column {titles[value]!r} would be both an end of edges and their weight; pass src, dst and weight"
        )
    if is_guessed and value is None and (unexplained := sorted(set(kinds.numbers) - {*end_positions})):
        columns = ", ".join(f"{position}, {titles[position]!r}" for position in unexplained)
        hold = f"column {columns}, holds" if len(unexplained) == 1 else f"columns {columns}, hold"
        raise ValueError(
            f"{hold} numbers of unknown meaning; pass weight={unexplained[0] if len(unexplained) == 1 else '…'} if "
            f"they are edge weights, or src={end_positions[0]} and dst={end_positions[1]} to ignore them"
        )
    return (*end_positions, value)


def _titled_weight(titles: Sequence[str]) -> int | None:
    """Return the position of the column with the title "weight", or None if there is none.

    The title may have any case, and a type after it, as in tables of Neo4j.
    """
    called = [title.casefold().partition(":")[0].strip() for title in titles]
    if (count := called.count("weight")) > 1:
        raise ValueError(
            f"{count} columns are called 'weight'; there are {titles_listed(titles)}; pass weight=, a position"
        )
    return called.index("weight") if count else None


def are_usual(titles: Sequence[str]) -> bool:
    """Return whether two columns have usual titles for the ends of edges, such as "source" and "target".

    Titles of a single letter don't count, because they are more likely the ids of a table without titles.

    Examples
    --------
    >>> are_usual(["id", "source", "target"]), are_usual(["u", "v"])
    (True, False)
    """
    return any(len(_core_of_title(titles[position])) > 1 for pair in _usual_pairs(titles) for position in pair)


def _find_usual_ends(titles: Sequence[str]) -> tuple[int, int] | None:
    """Return the positions of the two columns with usual titles for the ends of edges, or None if there are none.

    Such titles are "source" and "target". Raise ValueError if more than two columns have such titles.
    """
    pairs = _usual_pairs(titles)
    own_pairs = [pair for pair in pairs if tuple(titles[position] for position in pair) == OWN]
    if len({*pairs}) > 1 and not own_pairs:
        raise _unclear_ends(titles, "more than two columns are called like ends of edges")
    return next(iter(own_pairs or pairs), None)


def _usual_pairs(titles: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions of all pairs of columns with usual titles for the ends of edges, such as "from" and "to".

    A column "tail" before a column "head" is no such pair: in a table of triples an edge leads from the head to the
    tail, but in other tables from the tail to the head.
    """
    positions: dict[str, list[int]] = {}
    for position, title in enumerate(titles):
        positions.setdefault(_core_of_title(title), []).append(position)
    pairs = [
        (source, target)
        for u, v in _PAIRS
        for source in positions.get(u, ())
        for target in positions.get(v, ())
        if u != "head" or source < target
    ]
    titled_pairs = [pair for pair in pairs if tuple(titles[position].casefold() for position in pair) in _PAIRS]
    return titled_pairs if len(titled_pairs) == 1 else pairs


def _core_of_title(title: str) -> str:
    """Return a title in lower case, without a part such as "id" that only says that the column holds ids.

    "start" and "end" without such a part become empty, because columns of times have these titles.

    Examples
    --------
    >>> [_core_of_title(title) for title in ("Source", "FromNodeId", ":START_ID(Person)", "start", "vid", "x")]
    ['source', 'from', 'start', '', 'vid', 'x']
    """
    word = re.sub(r"\(.*|[\W_]", "", title.casefold())
    match = _IDS.fullmatch(word)
    if match is None or len(match[2]) == 1:
        return word
    return "" if match[2] in ("start", "end") and not match[3] else match[2]


def are_first(kinds: Kinds) -> bool:
    """Return whether no columns of a table except the first two could be the ends of edges.

    Two columns could be the ends if both hold whole numbers, or if both hold text. `kinds` has the positions of the
    columns of each kind.
    """
    candidates = [position for group in (kinds.whole, kinds.texts) if len(group) > 1 for position in group]
    return len(candidates) < 2 or sorted(candidates) == [0, 1]


def _unclear_ends(titles: Sequence[str], reason: str) -> ValueError:
    return ValueError(f"{reason}; there are {titles_listed(titles)}; pass src= and dst=, names or positions of columns")


def titles_listed(titles: Sequence[str]) -> str:
    """Return the positions and titles of all columns as text for an error message."""
    return ", ".join(f"{position} {title!r}" for position, title in enumerate(titles)) or "none"


def _without_type(title: str) -> str:
    """Return a title without the type that Neo4j writes after it, such as ":double".

    Examples
    --------
    >>> _without_type("amount:double"), _without_type("a:b")
    ('amount', 'a:b')
    """
    return _TYPED.sub("", title)


def place_of(titles: Sequence[str], what: str, column: Column) -> int:
    """Return the position of a column in a table, for an argument that gives its title or its position.

    `titles` has the titles of all columns. Raise an error if there is no such column. `what` is the argument's name in
    errors.
    """
    known_titles = ", ".join(map(repr, titles)) or "none"
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool):
        if not 0 <= column < len(titles):
            raise ValueError(f"{what} is column {column}; expected a position, 0 to {len(titles) - 1}: {known_titles}")
        return int(column)
    if not isinstance(column, str):
        raise TypeError(
            f"{what} is {column!r}; expected the name of a column or its position; there are {known_titles}"
        )
    matches = [position for position, title in enumerate(titles) if _without_type(title) == column != title]
    if column not in titles and len(matches) == 1:
        return matches[0]
    if (count := list(titles).count(column)) != 1:
        hint = meant(column, titles)
        problem = "does not exist" if count == 0 else f"exists {count} times; pass its position"
        raise ValueError(f"{what}: column {column!r} {problem}; there are {known_titles}{hint}")
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
    """Return the edges in a pyarrow.Table with one edge per row.

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
    positions = _column_positions(table, src, dst, weight, attributes)
    if table.num_rows == 0 and not may_be_empty:
        raise ValueError("the table has no rows; expected one edge per row; Graph.from_edges([], [], n=n) has no edges")
    titles = [None if position is None else table.column_names[position] for position in positions]
    values = None if positions[2] is None else _read_weights(titles[2], table.column(positions[2]))
    if table.num_rows == 0:
        return Edges(0, np.zeros(0, np.int64), np.zeros(0, np.int64), values, None)
    id_columns = [ids_of(title, table.column(position)) for title, position in zip(titles[:2], positions[:2])]
    are_texts = [_is_text(ids.type) for ids in id_columns]
    if are_texts[0] != are_texts[1]:
        column_types = " and ".join(f"column {title!r} holds {ids.type}" for title, ids in zip(titles, id_columns))
        raise TypeError(f"{column_types}; expected both of one kind, integers or strings")
    if bipartite:
        if names is False:
            raise ValueError("bipartite=True gives vertices names, by their columns; expected names=True, or left out")
        return _number_names(_prefix_with_titles(titles[:2], id_columns), values)
    if bipartite is None and are_two_kinds(*titles[:2]):
        _warn_of_shared_ids(titles, id_columns)
    names_undecided = names is None
    if names_undecided:
        names = are_texts[0] or max(_largest_id(ids) for ids in id_columns) >= WIDE
    if names:
        return _number_names(id_columns, values)
    if are_texts[0]:
        raise TypeError(
            f"column {titles[0]!r} holds strings; expected integers, because of names=False or because ranks number no "
            "names: gasla.io.read(path) numbers names, and distributed.Graph.from_graph takes its graph"
        )
    return _check_numbers(titles, id_columns, values, names_undecided)


def _column_positions(
    table: Any, src: Column | None, dst: Column | None, weight: Column | None, attributes: Sequence[Column]
) -> tuple[int, int, int | None]:
    """Return the positions of the columns of sources, targets and weights in a pyarrow.Table.

    The last position is None if there are no weights.
    """
    attribute_positions = places_of_attributes(table.column_names, attributes)
    return choose(table.column_names, src, dst, weight, kinds_of(table.schema).without(attribute_positions))


def attribute_of_weight(
    table: Any, src: Column | None, dst: Column | None, weight: Column | None, attributes: Sequence[Column]
) -> str | None:
    """Return the name of the edge attribute whose column is the column of weights as well, or None if there is none."""
    position = _column_positions(table, src, dst, weight, attributes)[2]
    is_attribute = position in places_of_attributes(table.column_names, attributes)
    return _without_type(table.column_names[position]) if is_attribute else None


def places_of_attributes(titles: Sequence[str], attributes: Any) -> list[int]:
    """Return the positions of the columns that the argument `attributes` lists by title or position."""
    if isinstance(attributes, str) or not isinstance(attributes, Sequence):
        raise TypeError(f"attributes is {attributes!r}; expected a list of columns, such as ['amount', 'time']")
    positions = [place_of(titles, "attributes", column) for column in attributes]
    if repeated := [position for position in positions if positions.count(position) > 1]:
        raise ValueError(f"attributes has column {titles[repeated[0]]!r} twice; expected each once")
    return positions


def attributes_of(table: Any, attributes: Sequence[Column]) -> dict[str, Any]:
    """Return columns of a pyarrow.Table as attributes by name.

    Raise an error for anything but numbers and dates, and for nulls.
    """
    positions = places_of_attributes(table.column_names, attributes)
    titles = [table.column_names[position] for position in positions]
    return {
        _without_type(title): _read_attribute(title, table.column(position))
        for title, position in zip(titles, positions)
    }


def direction_column(titles: Sequence[str], texts: Collection[int]) -> int | None:
    """Return the position of the column of text with the title "Type", or None if there is none.

    In tables of Gephi this column says whether edges are directed.
    """
    return next((position for position in texts if titles[position].strip().casefold() == "type"), None)


def undirected_rows(table: Any) -> Array | bool:
    """Return a mask of the rows whose edge is undirected, as the column "Type" of a table of Gephi says.

    Return False if there is no such column, or if it has other words than Gephi's, because then it does not say
    directions.

    Examples
    --------
    >>> import pyarrow as pa  # doctest: +SKIP
    >>> undirected_rows(pa.table({"Type": ["Directed", "Undirected"]}))  # doctest: +SKIP
    array([False,  True])
    """
    position = direction_column(table.column_names, kinds_of(table.schema).texts)
    if position is None:
        return False
    pc = arrow("pyarrow.compute")
    # polars gives text Arrow's type string view, for which Arrow has no `utf8_lower`. So the column is cast to
    # large_string.
    lowercase_words = pc.utf8_lower(_expand_dictionary(table.column(position)).cast(arrow().large_string()))
    distinct = {*lowercase_words.unique().to_pylist()} - {None}
    if not distinct or not distinct <= {*WAYS}:
        return False
    _require_no_nulls(table.column_names[position], lowercase_words)
    is_undirected: Array = pc.is_in(lowercase_words, arrow().array(_BOTH_WAYS, lowercase_words.type)).to_numpy()
    return is_undirected


def numeric_columns(table: Any, left: Collection[str | None], what: str) -> list[str]:
    """Return the titles of the columns of a table that have a number or a date in every row.

    Columns whose titles are in `left` are left out. Warn of all other columns. `what` says in the warning whose columns
    they are.
    """
    titles = [title for title in table.column_names if title not in left and not title.startswith("__index_level_")]
    reasons = {title: reason for title in titles if (reason := _why_no_attribute(table.column(title)))}
    if reasons:
        warnings.warn(
            f"{what} are left out, because only those are kept that have a number in each row: "
            f"{', '.join(f'{title!r} ({reason})' for title, reason in reasons.items())}",
            UserWarning,
            stacklevel=4,
        )
    return [title for title in titles if title not in reasons]


def further_columns(table: Any, src: Column | None, dst: Column | None, weight: Column | None) -> list[str]:
    """Return the titles of the columns of a table of edges that have a number or a date in every row: edge attributes.

    The columns of ends and weights are left out. Warn of all other columns.
    """
    positions = choose(table.column_names, src, dst, weight, kinds_of(table.schema)._replace(numbers=()))
    return numeric_columns(
        table, [None if position is None else table.column_names[position] for position in positions], "columns"
    )


def _why_no_attribute(column: Any) -> str:
    """Return the reason why a column of a table can't be an attribute, or an empty text if it can."""
    types, pc = arrow().types, arrow("pyarrow.compute")
    dtype = column.type.value_type if types.is_dictionary(column.type) else column.type
    tests = types.is_integer, types.is_floating, types.is_boolean, types.is_temporal
    if not any(test(dtype) for test in tests):
        return str(dtype)
    return f"row {pc.index(pc.is_null(column), True).as_py()} is null" if column.null_count else ""


def are_two_kinds(src: str | None, dst: str | None) -> bool:
    """Return whether two titles say that the vertices of the columns are of two kinds, such as users and items.

    Examples
    --------
    >>> are_two_kinds("userId", "movieId"), are_two_kinds("citing", "cited")
    (True, False)
    """
    source, target = (_core_of_title(title or "") for title in (src, dst))
    return any(source in people and target in things for people, things in (_KINDS, _KINDS[::-1]))


def _prefix_with_titles(titles: Sequence[Any], id_columns: list[Any]) -> list[Any]:
    """Return the vertex ids in two columns as names that begin with the title of their column, such as "userId 1".

    So an id that occurs in both columns names two vertices.
    """
    text, join = arrow().large_string(), arrow("pyarrow.compute").binary_join_element_wise
    prefixes = [f"{title} " for title in titles]
    if prefixes[0].startswith(prefixes[1]) or prefixes[1].startswith(prefixes[0]):
        raise ValueError(
            f"one of the titles {titles[0]!r} and {titles[1]!r} begins the other; rename it for bipartite="
        )
    no_separator = arrow().scalar("", text)
    return [
        join(arrow().scalar(prefix, text), ids.cast(text), no_separator) for prefix, ids in zip(prefixes, id_columns)
    ]


def _warn_of_shared_ids(titles: list[Any], id_columns: list[Any]) -> None:
    """Warn if a vertex id occurs in both of two columns whose titles say that they hold different kinds of vertices."""
    pc = arrow("pyarrow.compute")
    ids = [column.combine_chunks().unique() for column in id_columns]
    shared = ids[0].filter(pc.is_in(ids[0], ids[1].cast(ids[0].type)))
    if len(shared):
        warnings.warn(
            f"ids in column {titles[0]!r} are also in column {titles[1]!r}, such as {shared[0].as_py()!r}, and each is "
            "one vertex; pass bipartite=True if the columns hold two kinds of vertices, else bipartite=False",
            UserWarning,
            stacklevel=4,
        )


def _number_names(id_columns: list[Any], values: Array | None) -> Edges:
    """Return the edges of a table whose ids are names, as arrays of vertex numbers and the names.

    Vertices are numbered in the order in which their names first occur: those of the first column come before those
    that are only in the second.
    """
    pa, m = arrow(), len(id_columns[0])
    dtype = pa.large_string() if _is_text(id_columns[0].type) else _common_integer_type(id_columns)
    encoded = pa.concat_arrays([chunk for ids in id_columns for chunk in ids.cast(dtype).chunks]).dictionary_encode()
    numbers = encoded.indices.to_numpy()
    try:
        names = encoded.dictionary.to_numpy(zero_copy_only=False)
    except pa.ArrowException as error:  # pyarrow checks only here whether texts have a valid encoding
        raise ValueError("a name is not valid UTF-8; expected text, or integers") from error
    return Edges(len(names), numbers[:m], numbers[m:], values, names)


def _check_numbers(titles: list[Any], id_columns: list[Any], values: Array | None, is_open: bool) -> Edges:
    """Return the edges of a table whose ids are vertex numbers, after checks.

    `is_open` says that the caller has not said whether ids are numbers or names. Then raise an error if there are so
    few edges for the largest id that ids may be names.
    """
    pc = arrow("pyarrow.compute")
    for title, ids in zip(titles, id_columns):
        if (smallest := pc.min(ids).as_py()) < 0:
            row = pc.index(ids, smallest).as_py()
            raise ValueError(
                f"row {row} of column {title!r} holds {smallest}; expected vertex numbers from 0; pass names=True if "
                "ids are names"
            )
    n = 1 + max(_largest_id(ids) for ids in id_columns)
    byte_count, remedy = 16 * n + 24 * len(id_columns[0]), "pass names=True to number only the ids that occur"
    require_bytes(f"ids go up to {n - 1}, and {n:,} vertices need", byte_count, remedy)
    if is_open and (doubt := are_sparse(n, len(id_columns[0]))):
        raise ValueError(doubt)
    src, dst = (as_ids(title, ids.to_numpy()) for title, ids in zip(titles, id_columns))
    return Edges(n, src, dst, values, None)


def ids_of(title: Any, column: Any) -> Any:
    """Return a column of vertex ids, after checks.

    Raise an error for anything but integers and strings, and for nulls.
    """
    pa = arrow()
    column = _expand_dictionary(column)
    _require_no_nulls(title, column)
    if not (pa.types.is_integer(column.type) or _is_text(column.type)):
        raise TypeError(f"column {title!r} holds {column.type}; expected integers or strings, ids of vertices")
    return column


def _read_weights(title: Any, column: Any) -> Array:
    """Return a column of edge weights as an array. Raise an error for anything but numbers, and for nulls."""
    types = arrow().types
    column = _expand_dictionary(column)
    _require_no_nulls(title, column)
    if not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type)):
        raise TypeError(f"column {title!r} holds {column.type}; expected numbers, the weights of edges")
    values: Array = column.to_numpy()
    return values


def _read_attribute(title: str, column: Any) -> Any:
    """Return a column of an attribute as an array of numbers, or as a `TimeColumn` if it holds dates or times."""
    types, column = arrow().types, _expand_dictionary(column)
    if types.is_temporal(column.type):
        _require_no_nulls(title, column)
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
    return _read_weights(title, column)


def _expand_dictionary(column: Any) -> Any:
    """Return an Arrow column in which dictionary-encoded values, such as categories, are replaced by their values.

    Arrow's own cast does not support dictionaries of string views, which polars uses for categories.
    """
    pa = arrow()
    if not pa.types.is_dictionary(column.type):
        return column
    dtype = pa.large_string() if _is_text(column.type.value_type) else column.type.value_type
    return pa.chunked_array([chunk.dictionary.cast(dtype).take(chunk.indices) for chunk in column.chunks], dtype)


def _require_no_nulls(title: Any, column: Any) -> None:
    if column.null_count:
        pc = arrow("pyarrow.compute")
        row = pc.index(pc.is_null(column), True).as_py()
        raise ValueError(
            f"row {row} of column {title!r} is null, one of {column.null_count} such rows; expected a value in each"
        )


def _is_text(dtype: Any) -> bool:
    types = arrow().types
    return bool(types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype))


def same_kind(one: Any, other: Any) -> tuple[Any, Any]:
    """Return two arrays of vertex ids after conversion to one Arrow type, so that the ids can be compared.

    If one array holds text and the other integers, return None twice.
    """
    if _is_text(one.type) != _is_text(other.type):
        return None, None
    dtype = arrow().large_string() if _is_text(one.type) else _common_integer_type([one, other])
    return one.cast(dtype), other.cast(dtype)


def _common_integer_type(id_columns: list[Any]) -> Any:
    """Return the Arrow type, int64 or uint64, that can hold the integers of both columns of vertex ids."""
    pa = arrow()
    if max(_largest_id(ids) for ids in id_columns) < 2**63:
        return pa.int64()
    if min(arrow("pyarrow.compute").min(ids).as_py() or 0 for ids in id_columns) >= 0:
        return pa.uint64()
    raise ValueError("some ids are negative and others 2**63 or more; expected all within int64 or all within uint64")


def _largest_id(ids: Any) -> int:
    return int(arrow("pyarrow.compute").max(ids).as_py() or 0)
