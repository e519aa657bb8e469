"""Independent work on replicas: each rank has the whole graph, and does a share of the items, such as sources.

Nothing is exchanged until results come. Rows of results stay with the ranks that computed them. Sums are added in the
order of the items, whatever rank has computed a term, so they have the bits of one process. GPUs of one process that
share a call (`Shared`) add up their own terms first.
"""

import functools
import itertools
import operator
import socket
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np

from gasla.arrays import Device, array_module, as_bits, finish, here, module_of, moved
from gasla.distributed.block_array import BlockArray, Handle
from gasla.distributed.collectives.properties import SHARE
from gasla.distributed.communicator import Rank
from gasla.distributed.engine.partition import exchange_arrays, exchange_joined
from gasla.distributed.engine.unsupported import caller, not_whole
from gasla.engines import compiles, running_as
from gasla.graph.graph import Graph
from gasla.graph.memory_limit import available

REPLICA = "replica"  # the key under which a rank keeps the whole graph
ASKED = "asked for a replica"  # the key that the first rank has after it was asked for the whole graph
ALL_ASKED = "all asked for a replica"  # and after the others were
MUCH = 1 << 28  # passes times edges from which GPUs share work: some milliseconds of one GPU
EMPTY = np.zeros(0)  # the sum of no terms
TOGETHER, ROOM = 8, 1 << 28  # terms of a rank that are exchanged at once, and their bytes; a GPU must not wait for each


def map_shares(graph: Any, function: Callable[..., np.ndarray], items: Sequence[Any] | np.ndarray) -> BlockArray:
    """Compute the rows of an array in shares: `distributed.Graph.map_shares` calls this."""
    require_room(graph)
    handle = Handle(graph.ranks)
    shape, kind = graph.ranks.each(_map, graph.handle.key, handle.key, function, items, compiles())[0]
    return BlockArray(handle, "rows", shape, kind)


def sum_shares(graph: Any, function: Callable[..., Iterable[np.ndarray]], items: Sequence[Any]) -> np.ndarray:
    """Add up terms in shares: `distributed.Graph.sum_shares` calls this."""
    if not len(items):
        raise ValueError("there are no items; expected one or more, because the sum has the shape of their terms")
    require_room(graph)
    handle = Handle(graph.ranks)
    shape, kind = graph.ranks.each(_sum, graph.handle.key, handle.key, function, list(items), compiles())[0]
    return BlockArray(handle, "sum", shape, kind).compute()


def require_room(graph: Any) -> None:
    """Raise MemoryError if the whole graph does not fit in the memory of every rank."""
    needed = bytes_of_replica(graph)
    for rank, room in enumerate(rooms(graph)):
        if room < needed:
            raise MemoryError(
                f"{caller()}each rank of a distributed graph needs the whole graph for this, some {needed:,} bytes "
                f"with its neighbor lists, and rank {rank} has {room:,}; expected more memory, or fewer ranks per host"
            )


def bytes_of_replica(graph: Any) -> int:
    """Bytes for the whole graph with its neighbor lists."""
    value = 0 if graph.values is None else graph.values.dtype.itemsize
    columns = graph.m * sum(kind.itemsize for kind in graph.edge_attributes.types.values())
    return int(3 * graph.m * (graph.id_dtype.itemsize + value) + 4 * graph.n * graph.offset_dtype.itemsize + columns)


def rooms(graph: Any) -> list[float]:
    """Return the bytes available to each rank for its replica.

    They are infinite if it has one, or the system tells none.
    """
    free: np.ndarray = graph.ranks.each(_find_room, graph.handle.key)[0]
    return [room if room >= 0 else np.inf for room in free.tolist()]


def on_first_card(graph: Any) -> Graph | None:
    """Return the whole graph on the first GPU of this process: the one it was made from, or a copy.

    None without room for one.

    The first call decides whether there is room: a copy may take half of the memory that is available there.
    """
    first = graph.ranks.members()[0]
    if (original := graph.original_on(first.card)) is not None:
        replica: Graph | None = original
        return replica
    kept = first.kept[graph.handle.key]
    if REPLICA not in kept and ASKED not in kept:
        with suppress(MemoryError):  # runs over all GPUs need no copy
            graph.ranks.each(_receive_on_first, graph.handle.key, bytes_of_replica(graph))
        kept[ASKED] = True
    return kept.get(REPLICA)


def has_copies(graph: Any) -> bool:
    """Return whether all GPUs of this process but the first have the whole graph, made at first use.

    The first call decides whether there is room, as in `on_first_card`.
    """
    members = graph.ranks.members()
    stores = [member.kept[graph.handle.key] for member in members]
    if ALL_ASKED not in stores[0]:
        stores[0][ALL_ASKED] = True
        with suppress(MemoryError):
            graph.ranks.each(_receive_on_others, graph.handle.key, bytes_of_replica(graph))
    return all(REPLICA in store for store in stores[1:])


class Shared(Graph):
    """The whole graph on the first GPU, for a call there, in which the other GPUs do a part of independent work.

    It has the lists, values and cache of that graph. Graphs made from it are on the first GPU only.
    """

    whole: Graph
    spread: Any = None

    @classmethod
    def of(cls, whole: Graph, spread: Any) -> "Shared":
        """Return the whole graph, with the distributed graph whose ranks share work."""
        made = cls.__new__(cls)
        made.__dict__.update(whole.__dict__)
        made.whole, made.spread, made.naming = whole, spread, spread.naming
        return made

    def require_whole(self, option: str = "") -> None:
        """Raise TypeError for an option: ranks refuse it, whether there is room for the whole graph or not."""
        if option and self.spread is not None:
            raise not_whole(option)

    def sharers(self, passes: int) -> int:
        """Return the number of GPUs, where work is much and each has room for a copy, or 0."""
        return self.spread.ranks.size if passes > 1 and passes * self.m >= MUCH and self._has_copies() else 0

    def _has_copies(self) -> bool:
        return self.spread is not None and self.spread.ranks.size > 1 and has_copies(self.spread)

    def map_shares(self, function: Callable[..., Any], items: Any) -> Any:
        """Compute rows (`gasla.Graph.map_shares`) on the first GPU: each one a range of them."""
        if len(items) < 2 or not self._has_copies():
            return function(self.whole, items, 0)
        return array_module(self.lists.any_ids).concatenate(self._parts(_map_here, function, items))

    def sum_shares(self, function: Callable[..., Iterable[Any]], items: Sequence[Any]) -> Any:
        """Add up terms (`gasla.Graph.sum_shares`) on the first GPU: first each GPU those of its items."""
        if len(items) < 2 or not self._has_copies():
            return functools.reduce(operator.add, function(self.whole, items))
        return functools.reduce(operator.iadd, self._parts(_sum_here, function, list(items)))

    def _parts(self, step: Callable[..., Any], function: Callable[..., Any], items: Any) -> list[Any]:
        """Return what each GPU has found, on the first one."""
        found = self.spread.ranks.each(step, self.spread.handle.key, function, self.whole, items, compiles())
        parts = [here(part, self.device) for part in found if part is not None]
        finish(self.device)  # before another GPU releases what it has found
        return parts


# --- on each rank -----------------------------------------------------------------------------------------------------


def _find_room(rank: Rank, graph: Any) -> np.ndarray:
    """Return the bytes available to each rank, an equal part of its host's.

    They are -1 if it has the graph, or the system tells none.
    """
    host = zlib.crc32(socket.gethostname().encode())
    hosts = np.concatenate(rank.communicator.allgather(np.array([host], np.int64)))
    there = None if REPLICA in rank.kept[graph] else available(rank.device)
    room = -1 if there is None else there // (1 if rank.has_card else int(np.sum(hosts == host)))
    return np.concatenate(rank.communicator.allgather(np.array([room], np.int64)))


def replica_on(rank: Rank, graph: Any) -> Graph:
    """Return the whole graph on this rank, with edges in the order of the input.

    It is made at first use (collective).
    """
    parts: dict[Any, Any] = rank.kept[graph]
    wanted = np.concatenate(rank.communicator.allgather(np.array([REPLICA not in parts])))
    if wanted.any():
        _receive(rank, graph, wanted)
    replica: Graph = parts[REPLICA]
    return replica


def _receive_on_first(rank: Rank, graph: Any, needed: int) -> None:
    """Make the whole graph on the first rank, if it takes at most half of the memory there (collective)."""
    there = available(rank.device)
    fits = rank.communicator.allgather(np.array([there is None or there >= 2 * needed]))[0][0]
    if fits:
        _receive(rank, graph, np.arange(rank.communicator.size) == 0)


def _receive_on_others(rank: Rank, graph: Any, needed: int) -> None:
    """Make the whole graph on all ranks but the first, if it takes at most half of the memory of each (collective)."""
    communicator, there = rank.communicator, available(rank.device)
    has_it = communicator.rank == 0 or REPLICA in rank.kept[graph]
    fits = has_it or there is None or there >= 2 * needed
    told = np.stack(communicator.allgather(np.array([has_it, fits])))
    if told[:, 1].all():
        _receive(rank, graph, ~told[:, 0])


def _receive(rank: Rank, graph: Any, wanted: np.ndarray) -> None:
    """Send all edges to the ranks that want them, which keep the whole graph (collective)."""
    communicator, share, xp = rank.communicator, rank.kept[graph][SHARE], module_of(rank.device)
    is_mine = bool(wanted[communicator.rank])
    edges = share.edges()

    def received(column: Any) -> Any:
        return exchange_joined(communicator, [column if wants else column[:0] for wants in wanted])

    def whole(column: Any) -> Any:
        if column is None:
            return None
        some = received(moved(column, rank.device))
        if not is_mine:
            return None
        gathered = xp.empty(share.m, column.dtype)
        as_bits(gathered)[order] = as_bits(some)
        return gathered

    order = received(edges.ids)
    src, dst, values = (whole(column) for column in (edges.src, edges.dst, edges.values))
    held = share.shard.attributes
    attributes = {name: whole(held.numbers(name)) for name in held}
    own = share.shard.own_vertex_attributes  # ranks own ranges of vertices, in order
    vertices = {name: received(moved(column, rank.device)) for name, column in own.items()}
    if is_mine:
        columns = {name: held.column(name, column) for name, column in attributes.items()}
        made = Graph.from_edges(src, dst, values, n=share.n).with_edge_attributes(columns)
        made = made.with_vertex_attributes(vertices)
        rank.kept[graph][REPLICA] = made
        made.valued.are_private = xp is not np  # no caller has the array
        finish(rank.device)  # other threads, with streams of their own, will read it


def _map(
    rank: Rank, graph: Any, result: Any, function: Callable[..., Any], items: Any, compiled: bool
) -> tuple[Any, ...]:
    """Compute this rank's range of rows, and keep it. Return shape and type of all rows."""
    communicator, whole, count = rank.communicator, replica_on(rank, graph), len(items)
    first, last = (count * r // communicator.size for r in (communicator.rank, communicator.rank + 1))
    with running_as(compiled):
        rows = moved(function(whole, items[first:last], first), "cpu")
    rank.kept[result] = {"rows": rows}
    return (count, *rows.shape[1:]), rows.dtype


def _map_here(rank: Rank, graph: Any, function: Callable[..., Any], whole: Graph, items: Any, compiled: bool) -> Any:
    """Return this rank's range of rows. The first rank has `whole`."""
    me, size, count = rank.communicator.rank, rank.communicator.size, len(items)
    first, last = (count * r // size for r in (me, me + 1))
    with running_as(compiled):
        rows = function(rank.kept[graph][REPLICA] if me else whole, items[first:last], first)
    finish(rank.device)
    return rows


def _sum_here(
    rank: Rank, graph: Any, function: Callable[..., Iterable[Any]], whole: Graph, items: list[Any], compiled: bool
) -> Any:
    """Return the sum of the terms of this rank's items, or None without items. The first rank has `whole`."""
    me, total = rank.communicator.rank, None
    with running_as(compiled):
        for term in function(rank.kept[graph][REPLICA] if me else whole, items[me :: rank.communicator.size]):
            if total is None:
                total = term.copy()  # a run may reuse the array of its result
            else:
                total += term
    finish(rank.device)
    return total


def _sum(
    rank: Rank, graph: Any, result: Any, function: Callable[..., Iterable[np.ndarray]], items: list[Any], compiled: bool
) -> tuple[Any, ...]:
    """Sum the terms of all items, in rounds of a few items per rank. Each rank keeps a range of entries.

    Returns shape and type of all entries.
    """
    communicator, whole = rank.communicator, replica_on(rank, graph)
    size, here, total = communicator.size, communicator.rank, EMPTY
    device: Device = rank.device if rank.reaches_cards else "cpu"
    xp: Any = module_of(device)
    counts = [len(range(other, len(items), size)) for other in range(size)]  # items of each rank
    with running_as(compiled):
        terms = iter(function(whole, items[here::size]))
        first = [next(terms)] if counts[here] else []
        length = int(communicator.allgather(np.array([len(term) for term in first], np.int64))[0][0])
        kind = np.dtype(bytes(communicator.allgather(_name_of(first))[0]).decode())  # rank 0 has an item
        together = max(1, min(TOGETHER, ROOM // max(1, length * kind.itemsize)))
        bounds = (length * np.arange(size + 1) // size).tolist()
        width = bounds[here + 1] - bounds[here]
        for begin in range(0, counts[0], together):
            communicator.superstep += 1
            here_now, *now = (min(together, max(0, count - begin)) for count in [counts[here], *counts])
            block = xp.empty((here_now, length), kind)
            for row in range(here_now):
                block[row] = moved(first.pop() if first else next(terms), device)
            spans = [xp.ascontiguousarray(block[:, a:b]).reshape(-1) for a, b in pairwise(bounds)]
            del block
            parts = exchange_arrays(communicator, spans)
            rows = [part.reshape(count, width) for part, count in zip(parts, now, strict=True)]
            for row, other in itertools.product(range(together), range(size)):  # items in their order
                if row < now[other]:
                    total = rows[other][row] if total is EMPTY else total + rows[other][row]
    rank.kept[result] = {"sum": total}
    return (length,), kind


def _name_of(terms: Sequence[Any]) -> np.ndarray:
    """Return the type of the first array as bytes."""
    return np.frombuffer(terms[0].dtype.str.encode() if terms else b"", np.uint8)
