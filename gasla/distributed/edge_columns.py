"""Values and attributes of the edges of a distributed graph: arrays on the ranks, in the order of the rank's edges.

A rank stores an attribute of the edges in its shard in the host's memory. A GPU copies it when a program first reads
it. Shards for directions other than "in" have the edges in another order, so they fetch the attributes that programs
read from the ranks that store them, once.

Attributes of vertices are short enough for every process to store them whole, as it stores the names of vertices.
"""

import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from gasla.arrays import distinct, imported, moved
from gasla.distributed.block_array import BlockArray, Handle
from gasla.distributed.collectives.properties import FREE, SHARE
from gasla.distributed.communicator import Rank, Ranks, share_bytes
from gasla.distributed.engine.cards_run import Reference
from gasla.distributed.engine.edge_fields import from_input_order
from gasla.distributed.engine.rank_run import on_host
from gasla.distributed.engine.shard import Shard, Share
from gasla.distributed.engine.unsupported import unsupported
from gasla.graph.attributes import Attributes, checked
from gasla.graph.graph import Graph
from gasla.graph.validate import range_of

Described = tuple[np.dtype[Any] | None, Any, Any]  # the dtype of edge values, and the smallest and the largest value


class EdgeValues:
    """The values of a distributed graph's edges, or an edge attribute, as the calling process sees them.

    The calling process knows the type only. The ranks have the numbers, and compute `min`, `max` and `numpy.unique`.
    """

    def __init__(
        self, handle: Handle, m: int, dtype: np.dtype, limits: tuple[Any, Any] | None = None, name: str | None = None
    ) -> None:
        self.handle, self.shape, self.dtype, self._range, self.name = handle, (m,), dtype, limits, name

    def __len__(self) -> int:
        return self.shape[0]

    def view(self, dtype: np.dtype) -> "EdgeValues":
        """Return an object for the same edge values that are read as dates or durations.

        The ranks store dates and durations as integers.
        """
        return EdgeValues(self.handle, len(self), dtype, self._range, self.name)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self.__array__()

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        described = f", from {self._range[0]} to {self._range[1]}" if self._range else ""
        what = "values" if self.name is None else f"values of the edge attribute {self.name!r}"
        raise unsupported(
            f"no process has all {what} of a distributed graph as an array; they are {self.dtype}{described}; expected "
            "some, as in values[edges], or their min, max and numpy.unique"
            if len(self)
            else "the distributed graph has no edges"
        )

    def _refuse(self, *_: Any) -> NoReturn:
        self.__array__()

    __lt__ = __le__ = __gt__ = __ge__ = __mul__ = __rmul__ = _refuse

    def __array_function__(self, function: Any, _: Any, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        if function is not np.unique or named or len(arguments) != 1:
            self.__array__()
        return self._as_own_dtype(self.handle.ranks.each(_distinct_values, self.handle.key, self.name)[0])

    def _as_own_dtype(self, numbers: Any) -> Any:
        return numbers.view(self.dtype) if self.dtype.kind in "mM" else numbers

    def min(self) -> Any:
        """Return the smallest edge value of all ranks, or NaN if any value is NaN."""
        return self._as_own_dtype(self._bounds()[0])

    def max(self) -> Any:
        """Return the largest edge value of all ranks, or NaN if any value is NaN."""
        return self._as_own_dtype(self._bounds()[1])

    def _bounds(self) -> Any:
        if not len(self):
            raise ValueError(
                "the distributed graph has no edges; expected one or more, of which one has the smallest value"
            )
        if self._range is None:
            self._range = self.handle.ranks.each(_range_of, self.handle.key, self.name)[0]
        return self._range

    def of_ranks(self, function: Callable[[Any, Any], Any]) -> list[Any]:
        """Call `function(values, numbers)` on each rank with the values of its edges, and return the results of all
        ranks.

        `numbers` has the edge numbers of the values, that is, the positions of the edges in the input.
        """
        rank_results: list[Any] = self.handle.ranks.each(_call_with_values, self.handle.key, self.name, function)[0]
        return rank_results

    def __getitem__(self, edges: Any) -> np.ndarray:
        """Return the values of some edges. `edges` is an array of edge numbers."""
        edges = np.asarray(edges)
        if edges.dtype.kind not in "iu" or edges.ndim != 1:
            self.__array__()
        for extreme_edge in (edges.min(), edges.max()) if len(edges) else ():
            if not 0 <= extreme_edge < len(self):
                raise IndexError(f"edge {extreme_edge} is outside a graph of {len(self)} edges")
        values: np.ndarray = self._as_own_dtype(
            self.handle.ranks.each(_values_of, self.handle.key, self.name, edges)[0]
        )
        return values


class Column(NamedTuple):
    """A reference to an array that the ranks store: an edge attribute, by the graph's key and the attribute's name.

    If the name is None, it refers to the graph's edge values.
    """

    graph: Any
    name: str | None


def sent_columns(given: Mapping[str, Any], m: int, ranks: Ranks) -> dict[str, Any]:
    """Check the edge attributes given to `Graph.with_edge_attributes`, and return what is sent to the ranks for each of
    them.

    For an array that the ranks already store, only a reference is sent. `m` is the number of edges. Raise ValueError if
    an array has the wrong length or is on other ranks.
    """
    sent_by_name: dict[str, Any] = {}
    for name, column in given.items():
        if isinstance(column, BlockArray | EdgeValues) and column.handle.ranks is not ranks:
            raise ValueError(f"edge attribute {name!r} is on other ranks than the graph; expected the same ranks")
        if isinstance(column, BlockArray):
            if column.shape != (m,):
                raise ValueError(f"edge attribute {name!r} has shape {column.shape}; expected ({m},), one per edge")
            sent_by_name[name] = Reference(column.handle.key, column.name)
        elif isinstance(column, EdgeValues):
            sent_by_name[name] = Column(column.handle.key, column.name)
        elif column is None or callable(column):
            sent_by_name[name] = column
        else:
            # `imported` also accepts a column of dates or durations (a `TimeColumn`), which is stored as integers
            sent_by_name[name] = checked("edge", name, moved(imported(column), "cpu"), m, "cpu")
    return sent_by_name


# --- functions that run on each rank: storing edge values and attributes, and looking them up -------------------------


def keep_columns(rank: Rank, graph: Any, key: Any, given: Mapping[str, Any]) -> Attributes:
    """Store, under `key`, this rank's part of a new graph: the edges of `graph`, with edge attributes added or removed
    (collective).

    `given` has the new attributes by name, with None for those to remove.

    Return the types of all edge attributes.
    """
    shard = rank.kept[graph][SHARE].shard
    own_columns = {
        name: None if column is None else _column_of_rank(rank, shard, name, column) for name, column in given.items()
    }
    attributes = shard.attributes.replaced(own_columns, shard.graph.m, "cpu")
    _require_one_type(rank, attributes)
    new_shard = shard.with_graph(shard.graph.with_edge_attributes())
    new_shard.set_attributes(attributes)
    rank.kept[key] = {SHARE: Share(new_shard), FREE: rank.kept[graph][FREE]}
    return Attributes("edge", None, attributes.types, attributes.time_types)


def keep_vertex_columns(rank: Rank, graph: Any, key: Any, columns: Mapping[str, np.ndarray]) -> None:
    """Store, under `key`, this rank's part of a new graph: the edges of `graph`, with the vertex attributes `columns`
    (collective).
    """
    shard = rank.kept[graph][SHARE].shard
    new_shard = shard.with_graph(shard.graph.with_edge_attributes())
    own_columns = {name: column[shard.first : shard.first + shard.own] for name, column in columns.items()}
    new_shard.set_vertex_attributes(
        rank.communicator, {name: moved(values, new_shard.graph.device) for name, values in own_columns.items()}
    )
    rank.kept[key] = {SHARE: Share(new_shard), FREE: rank.kept[graph][FREE]}


def _column_of_rank(rank: Rank, shard: Shard, name: str, column: Any) -> Any:
    """Return the values of an edge attribute at the edges of this rank.

    `column` is what the caller has given for the attribute: an array with an entry per edge of the graph, a reference
    to values that the ranks store, or a function of the attributes of the rank's edges.
    """
    if isinstance(column, Reference):
        return from_input_order(shard, rank.communicator, on_host(rank.kept[column.key][column.name]))
    if isinstance(column, Column):
        other_shard = rank.kept[column.graph][SHARE].shard
        if other_shard.edge_ids is not shard.edge_ids:
            raise ValueError(
                f"edge attribute {name!r} is a column of another distributed graph; expected one of a graph with the "
                "same edges, made by with_edge_attributes or weighted_by"
            )
        values = column_of(other_shard, column.name)
        return values if column.name is None else other_shard.attributes.column(column.name, values)
    if callable(column):
        return column(shard.attributes)
    return column[on_host(shard.edge_ids)]


def column_of(shard: Shard, name: str | None) -> Any:
    """Return the values of an edge attribute at the edges of this rank's shard, in host memory.

    `name` is the attribute's name, or None for the graph's edge values.
    """
    return shard.array_on("cpu", "values", shard.graph.valued.each) if name is None else shard.attributes.numbers(name)


def _require_one_type(rank: Rank, attributes: Attributes) -> None:
    """Raise TypeError if an edge attribute has different dtypes on different ranks, so that the graph has no single
    one.

    This happens if a caller's function, which each rank calls for its own edges, returns different dtypes.
    """
    types = {**attributes.types, **attributes.time_types}
    own_text = "\n".join(f"{name!r} holds {dtype}" for name, dtype in types.items()).encode()
    first_text, *other_texts = (text.decode() for text in share_bytes(rank.communicator, own_text))
    for other_text in other_texts:
        if other_text != first_text:
            pairs = zip(first_text.splitlines(), other_text.splitlines(), strict=True)
            first_type, second_type = next(
                (description, other_description)
                for description, other_description in pairs
                if description != other_description
            )
            raise TypeError(
                f"edge attribute {first_type} on one rank, and {second_type} on another; expected one type: use .astype"
            )


def keep_weighted(rank: Rank, graph: Any, key: Any, name: str) -> Described:
    """Store, under `key`, this rank's part of a new graph: the edges of `graph`, with the edge attribute `name` as
    values.

    Return the dtype of the values, and the smallest and the largest value.
    """
    return _keep_valued(rank, graph, key, rank.kept[graph][SHARE].shard.graph.weighted_by(name))


def keep_values(rank: Rank, graph: Any, key: Any, values: Any) -> Described:
    """Store, under `key`, this rank's part of a new graph: the edges of `graph`, with other edge values.

    Return the dtype of the values, and the smallest and the largest value.
    """
    shard = rank.kept[graph][SHARE].shard
    if values is not None and not callable(values):
        values = moved(_column_of_rank(rank, shard, "values", values), shard.graph.device)
    return _keep_valued(rank, graph, key, shard.graph.with_values(values))


def _keep_valued(rank: Rank, graph: Any, key: Any, valued: Graph) -> Described:
    shard = rank.kept[graph][SHARE].shard.with_graph(valued)
    rank.kept[key] = {SHARE: Share(shard), FREE: rank.kept[graph][FREE]}
    return describe(rank, shard)


def describe(rank: Rank, shard: Shard) -> Described:
    """Return the dtype of a distributed graph's edge values, and the smallest and the largest value (collective).

    In a graph without edge values, all three are None.
    """
    values = shard.graph.valued
    if values.each is None:
        return None, None, None
    return values.each.dtype, *_joint_range(rank, values.range, values.each.dtype)


def _joint_range(rank: Rank, own_range: tuple[Any, Any] | None, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return the smallest and the largest edge value of all ranks (collective).

    `own_range` has those of this rank, or is None if this rank has no edges. If no rank has edges, both results are
    None.
    """
    extremes = np.concatenate(rank.communicator.allgather(np.array(own_range or (), dtype)))
    return range_of(extremes) if len(extremes) else (None, None)


def _range_of(rank: Rank, graph: Any, name: str | None) -> tuple[Any, Any]:
    column = column_of(rank.kept[graph][SHARE].shard, name)
    return _joint_range(rank, range_of(column) if len(column) else None, column.dtype)


def _call_with_values(rank: Rank, graph: Any, name: str | None, function: Callable[[Any, Any], Any]) -> list[Any]:
    shard = rank.kept[graph][SHARE].shard
    result = function(column_of(shard, name), shard.array_on("cpu", "edge_ids", shard.edge_ids))
    return [pickle.loads(pickled_result) for pickled_result in share_bytes(rank.communicator, pickle.dumps(result))]


def _distinct_values(rank: Rank, graph: Any, name: str | None) -> Any:
    own_values = distinct(column_of(rank.kept[graph][SHARE].shard, name))
    return distinct(np.concatenate(rank.communicator.allgather(own_values)))


def _values_of(rank: Rank, graph: Any, name: str | None, wanted_edges: np.ndarray) -> np.ndarray:
    """Return the values of the edges with the numbers `wanted_edges`, whichever rank stores the edges (collective).

    `name` is the name of an edge attribute, or None for the graph's edge values.
    """
    shard = rank.kept[graph][SHARE].shard
    ids = shard.array_on("cpu", "edge_ids", shard.edge_ids)
    values: Any = column_of(shard, name)
    distinct_edges, position_of_wanted = np.unique(wanted_edges, return_inverse=True)
    stored_places = np.flatnonzero(np.isin(ids, distinct_edges))
    values_of_edges = np.empty(len(distinct_edges), values.dtype)
    values_of_edges[
        np.concatenate(rank.communicator.allgather(np.searchsorted(distinct_edges, ids[stored_places])))
    ] = np.concatenate(rank.communicator.allgather(values[stored_places]))
    return values_of_edges[position_of_wanted]
