"""Values and attributes of the edges of a distributed graph: columns on the ranks, in the order of their edges.

A rank keeps a column for the edges that it holds, in the host's memory. A card copies a column when a program first
reads it there. Shards for other directions than "in" fetch the columns that programs read, once.

Columns of vertices are short enough for every process to keep them whole, as it keeps names.
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

Described = tuple[np.dtype[Any] | None, Any, Any]  # type of a column, its smallest and its largest number


class EdgeValues:
    """Stands for a column on ranks, the values of a graph or an attribute: the calling process knows its type.

    `min`, `max` and `numpy.unique` of the column are computed by the ranks.
    """

    def __init__(
        self, handle: Handle, m: int, dtype: np.dtype, limits: tuple[Any, Any] | None = None, name: str | None = None
    ) -> None:
        self.handle, self.shape, self.dtype, self._range, self.name = handle, (m,), dtype, limits, name

    def __len__(self) -> int:
        return self.shape[0]

    def view(self, dtype: np.dtype) -> "EdgeValues":
        """Stand for the same column as dates or durations, of which it holds the integers."""
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
        return self._shown(self.handle.ranks.each(_distinct, self.handle.key, self.name)[0])

    def _shown(self, numbers: Any) -> Any:
        return numbers.view(self.dtype) if self.dtype.kind in "mM" else numbers

    def min(self) -> Any:
        """Return the smallest value, or NaN if any is."""
        return self._shown(self._bounds()[0])

    def max(self) -> Any:
        """Return the largest value, or NaN if any is."""
        return self._shown(self._bounds()[1])

    def _bounds(self) -> Any:
        if not len(self):
            raise ValueError(
                "the distributed graph has no edges; expected one or more, of which one has the smallest value"
            )
        if self._range is None:
            self._range = self.handle.ranks.each(_range_of, self.handle.key, self.name)[0]
        return self._range

    def of_ranks(self, function: Callable[[Any, Any], Any]) -> list[Any]:
        """Return what `function(values, numbers)` returns on each rank. `numbers` are those of the values' edges."""
        parts: list[Any] = self.handle.ranks.each(_of_ranks, self.handle.key, self.name, function)[0]
        return parts

    def __getitem__(self, edges: Any) -> np.ndarray:
        """Return the values of some edges, by their numbers: an array of integers."""
        edges = np.asarray(edges)
        if edges.dtype.kind not in "iu" or edges.ndim != 1:
            self.__array__()
        for bad in (edges.min(), edges.max()) if len(edges) else ():
            if not 0 <= bad < len(self):
                raise IndexError(f"edge {bad} is outside a graph of {len(self)} edges")
        values: np.ndarray = self._shown(self.handle.ranks.each(_values_of, self.handle.key, self.name, edges)[0])
        return values


class Column(NamedTuple):
    """A column that ranks already hold: an attribute of a graph with the same edges, or its values (None)."""

    graph: Any
    name: str | None


def sent_columns(given: Mapping[str, Any], m: int, ranks: Ranks) -> dict[str, Any]:
    """Return what to send to the ranks for each column of `Graph.with_edge_attributes`.

    Check it as far as it is here.
    """
    sent: dict[str, Any] = {}
    for name, column in given.items():
        if isinstance(column, BlockArray | EdgeValues) and column.handle.ranks is not ranks:
            raise ValueError(f"edge attribute {name!r} is on other ranks than the graph; expected the same ranks")
        if isinstance(column, BlockArray):
            if column.shape != (m,):
                raise ValueError(f"edge attribute {name!r} has shape {column.shape}; expected ({m},), one per edge")
            sent[name] = Reference(column.handle.key, column.name)
        elif isinstance(column, EdgeValues):
            sent[name] = Column(column.handle.key, column.name)
        elif column is None or callable(column):
            sent[name] = column
        else:
            sent[name] = checked("edge", name, moved(imported(column), "cpu"), m, "cpu")  # takes a TimeColumn, too
    return sent


# --- on each rank -----------------------------------------------------------------------------------------------------


def keep_columns(rank: Rank, graph: Any, key: Any, given: Mapping[str, Any]) -> Attributes:
    """Keep a graph of the same edges under a key, with columns added or removed. Return the types of all columns."""
    shard = rank.kept[graph][SHARE].shard
    own = {name: None if column is None else _own(rank, shard, name, column) for name, column in given.items()}
    attributes = shard.attributes.replaced(own, shard.graph.m, "cpu")
    _require_one_type(rank, attributes)
    made = shard.with_graph(shard.graph.with_edge_attributes())
    made.set_attributes(attributes)
    rank.kept[key] = {SHARE: Share(made), FREE: rank.kept[graph][FREE]}
    return Attributes("edge", None, attributes.types, attributes.time_types)


def keep_vertex_columns(rank: Rank, graph: Any, key: Any, columns: Mapping[str, np.ndarray]) -> None:
    """Keep a graph of the same edges under a key, with these columns of all vertices (collective)."""
    shard = rank.kept[graph][SHARE].shard
    made = shard.with_graph(shard.graph.with_edge_attributes())
    own = {name: column[shard.first : shard.first + shard.own] for name, column in columns.items()}
    made.set_vertex_attributes(rank.communicator, {name: moved(each, made.graph.device) for name, each in own.items()})
    rank.kept[key] = {SHARE: Share(made), FREE: rank.kept[graph][FREE]}


def _own(rank: Rank, shard: Shard, name: str, column: Any) -> Any:
    """Return the entries of a column for the edges of a rank."""
    if isinstance(column, Reference):
        return from_input_order(shard, rank.communicator, on_host(rank.kept[column.key][column.name]))
    if isinstance(column, Column):
        there = rank.kept[column.graph][SHARE].shard
        if there.edge_ids is not shard.edge_ids:
            raise ValueError(
                f"edge attribute {name!r} is a column of another distributed graph; expected one of a graph with the "
                "same edges, made by with_edge_attributes or weighted_by"
            )
        values = column_of(there, column.name)
        return values if column.name is None else there.attributes.column(column.name, values)
    if callable(column):
        return column(shard.attributes)
    return column[on_host(shard.edge_ids)]


def column_of(shard: Shard, name: str | None) -> Any:
    """Return an attribute of the local edges in host memory, or their values (None)."""
    return shard.array_on("cpu", "values", shard.graph.valued.each) if name is None else shard.attributes.numbers(name)


def _require_one_type(rank: Rank, attributes: Attributes) -> None:
    """Raise TypeError if a function has made columns of other types on other ranks."""
    types = {**attributes.types, **attributes.time_types}
    own = "\n".join(f"{name!r} holds {kind}" for name, kind in types.items()).encode()
    here, *others = (text.decode() for text in share_bytes(rank.communicator, own))
    for other in others:
        if other != here:
            pairs = zip(here.splitlines(), other.splitlines(), strict=True)
            one, two = next((a, b) for a, b in pairs if a != b)
            raise TypeError(f"edge attribute {one} on one rank, and {two} on another; expected one type: use .astype")


def keep_weighted(rank: Rank, graph: Any, key: Any, name: str) -> Described:
    """Keep the graph of the same edges under a key, whose values are an attribute. Return what `describe` does."""
    return _keep_valued(rank, graph, key, rank.kept[graph][SHARE].shard.graph.weighted_by(name))


def keep_values(rank: Rank, graph: Any, key: Any, values: Any) -> Described:
    """Keep the graph of the same edges under a key, with other values. Return what `describe` does."""
    shard = rank.kept[graph][SHARE].shard
    if values is not None and not callable(values):
        values = moved(_own(rank, shard, "values", values), shard.graph.device)
    return _keep_valued(rank, graph, key, shard.graph.with_values(values))


def _keep_valued(rank: Rank, graph: Any, key: Any, valued: Graph) -> Described:
    shard = rank.kept[graph][SHARE].shard.with_graph(valued)
    rank.kept[key] = {SHARE: Share(shard), FREE: rank.kept[graph][FREE]}
    return describe(rank, shard)


def describe(rank: Rank, shard: Shard) -> Described:
    """Return the type and the range of the values of all ranks."""
    values = shard.graph.valued
    if values.each is None:
        return None, None, None
    return values.each.dtype, *_joint_range(rank, values.range, values.each.dtype)


def _joint_range(rank: Rank, own: tuple[Any, Any] | None, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return the range of all ranks. Without values it is None."""
    some = np.concatenate(rank.communicator.allgather(np.array(own or (), dtype)))
    return range_of(some) if len(some) else (None, None)


def _range_of(rank: Rank, graph: Any, name: str | None) -> tuple[Any, Any]:
    column = column_of(rank.kept[graph][SHARE].shard, name)
    return _joint_range(rank, range_of(column) if len(column) else None, column.dtype)


def _of_ranks(rank: Rank, graph: Any, name: str | None, function: Callable[[Any, Any], Any]) -> list[Any]:
    shard = rank.kept[graph][SHARE].shard
    answer = function(column_of(shard, name), shard.array_on("cpu", "edge_ids", shard.edge_ids))
    return [pickle.loads(part) for part in share_bytes(rank.communicator, pickle.dumps(answer))]


def _distinct(rank: Rank, graph: Any, name: str | None) -> Any:
    own = distinct(column_of(rank.kept[graph][SHARE].shard, name))
    return distinct(np.concatenate(rank.communicator.allgather(own)))


def _values_of(rank: Rank, graph: Any, name: str | None, wanted: np.ndarray) -> np.ndarray:
    """Return the values of some edges, by their numbers. Each rank looks up the edges that it holds."""
    shard = rank.kept[graph][SHARE].shard
    ids = shard.array_on("cpu", "edge_ids", shard.edge_ids)
    values: Any = column_of(shard, name)
    each, places = np.unique(wanted, return_inverse=True)
    held = np.flatnonzero(np.isin(ids, each))
    values_of_edges = np.empty(len(each), values.dtype)
    values_of_edges[np.concatenate(rank.communicator.allgather(np.searchsorted(each, ids[held])))] = np.concatenate(
        rank.communicator.allgather(values[held])
    )
    return values_of_edges[places]
