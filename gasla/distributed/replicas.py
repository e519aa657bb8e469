"""Independent work on *replicas*: each rank has a copy of the whole graph, and does its part of the items, such as
sources.

Ranks exchange nothing until results are ready. If the results are rows of an array, each rank keeps the rows that it
has computed. If the results are summed, terms are added in the order of the items, whichever rank has computed them, so
the sum has the same bits as in one process. Only GPUs of one process that share a call (`Shared`) add up their own
terms first.
"""

import functools
import gc
import itertools
import operator
import socket
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np

from gasla.arrays import Device, array_module, as_bits, finish, here, module_of, moved, running_sums
from gasla.distributed.block_array import BlockArray, Handle
from gasla.distributed.collectives.properties import FREE, SHARE
from gasla.distributed.communicator import Rank
from gasla.distributed.engine.partition import exchange_arrays, exchange_joined
from gasla.distributed.engine.shard import CHUNK, degrees
from gasla.distributed.engine.unsupported import caller, not_whole
from gasla.engines import compiles, peers, running_as
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph
from gasla.graph.memory_limit import available
from gasla.graph.neighbor_lists import Lists

REPLICA = "replica"  # the key under which a rank stores its copy of the whole graph
# A key in the first rank's data that says that copying the whole graph to this rank was tried. It is tried only once.
ASKED = "asked for a replica"
# the key under which the first rank stores a whole graph whose adjacency lists are spread over the memory of all GPUs
OVER_CARDS = "over cards"
# A key in the first rank's data that says that copying the graph to all GPUs was tried. It is tried only once.
ALL_ASKED = "all asked for a replica"
# Work is divided among GPUs if it visits at least this many edges in all passes, which takes one GPU some milliseconds.
# Less work is faster on the first GPU alone.
MUCH = 1 << 28
EMPTY = np.zeros(0)  # the sum before any term is added
# Ranks compute several terms of a sum before they exchange them, so that GPUs wait less often: at most `TOGETHER`
# terms, of at most `ROOM` bytes together.
TOGETHER, ROOM = 8, 1 << 28


def map_shares(graph: Any, function: Callable[..., np.ndarray], items: Sequence[Any] | np.ndarray) -> BlockArray:
    """Compute the rows of an array over all ranks, and return them as a `BlockArray` (`distributed.Graph.map_shares`).

    `function(graph, items, first)` computes the rows of some of the items, such as sources. Each rank calls it for a
    range of items, with its copy of the whole graph.
    """
    require_room(graph)
    handle = Handle(graph.ranks)
    shape, dtype = graph.ranks.each(_map, graph.handle.key, handle.key, function, items, compiles())[0]
    return BlockArray(handle, "rows", shape, dtype)


def sum_shares(graph: Any, function: Callable[..., Iterable[np.ndarray]], items: Sequence[Any]) -> np.ndarray:
    """Compute terms over all ranks, and return their sum (`distributed.Graph.sum_shares`).

    `function(graph, items)` yields the terms of some of the items, such as sources. Each rank calls it for some items,
    with its copy of the whole graph.
    """
    if not len(items):
        raise ValueError("there are no items; expected one or more, because the sum has the shape of their terms")
    require_room(graph)
    handle = Handle(graph.ranks)
    shape, dtype = graph.ranks.each(_sum, graph.handle.key, handle.key, function, list(items), compiles())[0]
    return BlockArray(handle, "sum", shape, dtype).compute()


def require_room(graph: Any) -> None:
    """Raise MemoryError if a copy of the whole graph does not fit in the memory of every rank."""
    size = bytes_of_replica(graph)
    for rank, room in enumerate(rooms(graph)):
        if room < size:
            raise MemoryError(
                f"{caller()}each rank of a distributed graph needs the whole graph for this, some {size:,} bytes "
                f"with its neighbor lists, and rank {rank} has {room:,}; expected more memory, or fewer ranks per host"
            )


def bytes_of_replica(graph: Any) -> int:
    """Return the number of bytes that a copy of the whole graph takes, with its adjacency lists."""
    value = 0 if graph.values is None else graph.values.dtype.itemsize
    columns = graph.m * sum(dtype.itemsize for dtype in graph.edge_attributes.types.values())
    return int(3 * graph.m * (graph.id_dtype.itemsize + value) + 4 * graph.n * graph.offset_dtype.itemsize + columns)


def rooms(graph: Any) -> list[float]:
    """Return, for each rank, the number of bytes of memory that are available for a copy of the whole graph.

    The number is infinite for a rank that has a copy already, or if the system doesn't say how much memory is free.
    """
    free_bytes: np.ndarray = graph.ranks.each(_find_room, graph.handle.key)[0]
    return [room if room >= 0 else np.inf for room in free_bytes.tolist()]


def on_first_card(graph: Any) -> Graph | None:
    """Return the whole graph on the first GPU of this process, or None if there is no memory for a copy.

    It is the graph that the distributed one was made from, or a copy that the first call makes. A copy may take at most
    half of the memory that is free on the GPU.
    """
    first_rank = graph.ranks.members()[0]
    if (original := graph.original_on(first_rank.card)) is not None:
        replica: Graph | None = original
        return replica
    store = first_rank.kept[graph.handle.key]
    if REPLICA not in store and ASKED not in store:
        has_ended = False
        # Without memory for the copy there is no error, because the ranks then use their parts of the graph.
        with suppress(MemoryError):
            graph.ranks.each(_receive_on_first, graph.handle.key, bytes_of_replica(graph))
            has_ended = True
        # Free memory only outside of the `with` statement, where the error and what it refers to no longer exist.
        if not has_ended:
            release(graph)
        store[ASKED] = True
    return store.get(REPLICA)


def has_copies(graph: Any) -> bool:
    """Return whether every GPU of this process except the first has a copy of the whole graph.

    The first call makes the copies if there is memory: a copy may take at most half of what is free on its GPU.
    """
    members = graph.ranks.members()
    stores = [member.kept[graph.handle.key] for member in members]
    if ALL_ASKED not in stores[0]:
        stores[0][ALL_ASKED] = True
        with suppress(MemoryError):
            graph.ranks.each(_receive_on_others, graph.handle.key, bytes_of_replica(graph))
    return all(REPLICA in store for store in stores[1:])


def over_cards(graph: Any) -> Graph | None:
    """Return a whole graph for the first GPU, whose adjacency lists are spread over the memory of all GPUs.

    Return None without enough memory, if GPUs can't access each other's memory, or if the graph has edge attributes.
    The first call makes the lists from the parts of the graph that the ranks store.
    """
    members = graph.ranks.members()
    first_store = members[0].kept[graph.handle.key]
    if OVER_CARDS not in first_store:
        first_store[OVER_CARDS] = None
        cards = [member.card for member in members]
        if not graph.edge_attributes and peers().are_peers(cards) and peers().joint_memory.can_map(cards):
            with suppress(MemoryError), peers().on(members[0].card):
                first_store[OVER_CARDS] = _joined_lists(graph, members)
    spread_graph: Graph | None = first_store[OVER_CARDS]
    return spread_graph


def release(graph: Any) -> None:
    """Free cached results and copies of the graph on the GPUs of this process, after a GPU has run out of memory.

    The ranks' parts of the graph stay. Later calls compute again what they need, but they don't try again to copy the
    whole graph.
    """
    members = graph.ranks.members()
    for member in members:
        store = member.kept[graph.handle.key]
        for key in store.keys() - {SHARE, FREE, ASKED, ALL_ASKED}:
            del store[key]
        store[SHARE].shard.graph.forget()
    # The MemoryError and the arrays in its stack frames refer to each other, so only the garbage collector frees the
    # arrays.
    gc.collect()
    peers().free_unused([member.card for member in members])


def _joined_lists(graph: Any, members: Sequence[Any]) -> Graph:
    """Return the whole graph for the first GPU, with adjacency lists in memory that is spread over all GPUs.

    The ranks write their parts of the graph to this memory.

    If edges are numbered by their sources, the graph has lists of out-edges. Otherwise it has arrays of sources and
    targets in the order of the edge numbers.
    """
    shards = [member.kept[graph.handle.key][SHARE].shard for member in members]
    cards, counts = [member.card for member in members], [shard.graph.m for shard in shards]
    memory, device = peers().joint_memory, shards[0].graph.device
    targets = memory.spread_array(counts, cards, graph.id_dtype)
    values = None if graph.values is None else memory.spread_array(counts, cards, graph.values.dtype)
    begins = graph.ranks.each(_fill_rows, graph.handle.key, targets, values)[0]
    if begins is not None:
        lists = Lists(graph.n, device, rows=Adjacency(begins, targets[0]))
    else:
        sources = memory.spread_array(counts, cards, graph.id_dtype)
        graph.ranks.each(_fill_sources, graph.handle.key, sources)
        lists = Lists(graph.n, device, ends=(sources[0], targets[0]))
    return Shared.of_lists(lists, None if values is None else values[0], graph)


class Shared(Graph):
    """The whole graph on the first GPU, which library functions get in place of a distributed graph.

    Other GPUs may help with independent work, such as searches from several sources. Graphs made from this one use the
    first GPU only.
    """

    whole: Graph
    spread: Any = None

    @classmethod
    def of(cls, whole: Graph, spread: Any) -> "Shared":
        """Return the graph `whole`, on the first GPU, as one whose independent work the GPUs of other ranks may share.

        `spread` is the distributed graph to which the ranks belong.
        """
        shared_graph = cls.__new__(cls)
        shared_graph.__dict__.update(whole.__dict__)
        shared_graph.whole, shared_graph.spread, shared_graph.naming = whole, spread, spread.naming
        return shared_graph

    @classmethod
    def of_lists(cls, lists: Lists, values: Any, spread: Any) -> "Shared":
        """Return a whole graph with the adjacency lists `lists` and the edge values `values`, which are on the first
        GPU.

        Callers can't change the values. `spread` is the distributed graph that the lists were made from.
        """
        view = cls.__new__(cls)
        view._set_lists(lists, values)
        view.valued.are_private = array_module(lists.any_ids) is not np
        view.vertex_attributes = spread.vertex_attributes.to(lists.device)
        return view

    def require_whole(self, option: str = "") -> None:
        """Raise TypeError for an option of a function that distributed graphs don't support, although this GPU has the
        whole graph.

        So whether a call raises the error does not depend on whether the graph fits in the GPU's memory.
        """
        if option and self.spread is not None:
            raise not_whole(option)

    def sharers(self, passes: int, visits: int | None = None) -> int:
        """Return the number of GPUs that divide independent work among them, or 0 if the first GPU does it alone.

        They share it if it visits many edges in several passes, and if each GPU has memory for a copy of the graph.
        """
        is_much = passes > 1 and (passes * self.m if visits is None else visits) >= MUCH
        return self.spread.ranks.size if is_much and self._has_copies() else 0

    def _has_copies(self) -> bool:
        return self.spread is not None and self.spread.ranks.size > 1 and has_copies(self.spread)

    def map_shares(self, function: Callable[..., Any], items: Any) -> Any:
        """Compute the rows of an array, such as one row per source, on several GPUs, and return the array on the first
        GPU (`gasla.Graph.map_shares`).
        """
        if len(items) < 2 or not self._has_copies():
            return function(self.whole, items, 0)
        return array_module(self.lists.any_ids).concatenate(self._parts(_map_own_range, function, items))

    def sum_shares(self, function: Callable[..., Iterable[Any]], items: Sequence[Any]) -> Any:
        """Return a sum of terms, such as one term per source, on the first GPU (`gasla.Graph.sum_shares`).

        Each GPU first adds up the terms of its own items.
        """
        if len(items) < 2 or not self._has_copies():
            return functools.reduce(operator.add, function(self.whole, items))
        return functools.reduce(operator.iadd, self._parts(_sum_own_terms, function, list(items)))

    def _parts(self, step: Callable[..., Any], function: Callable[..., Any], items: Any) -> list[Any]:
        """Call `step(rank, graph, function, …)` on every rank, which does the rank's part of some independent work.

        Return the results of all ranks, copied to the first GPU. Where a rank has no items, its result is left out.
        """
        rank_results = self.spread.ranks.each(step, self.spread.handle.key, function, self.whole, items, compiles())
        rank_rows = [here(rows, self.device) for rows in rank_results if rows is not None]
        # Another GPU may free its result after this call, so wait until the first GPU has copied it.
        finish(self.device)
        return rank_rows


# --- functions that run on each rank: copying the whole graph, and a rank's part of rows and sums ---------------------


def _find_room(rank: Rank, graph: Any) -> np.ndarray:
    """Return the number of bytes available to each rank for a copy of the whole graph (collective).

    A rank on the CPU gets an equal part of its host's free memory. The number is -1 if the rank has a copy, or if the
    system doesn't say how much memory is free.
    """
    host = zlib.crc32(socket.gethostname().encode())
    hosts = np.concatenate(rank.communicator.allgather(np.array([host], np.int64)))
    free_bytes = None if REPLICA in rank.kept[graph] else available(rank.device)
    room = -1 if free_bytes is None else free_bytes // (1 if rank.has_card else int(np.sum(hosts == host)))
    return np.concatenate(rank.communicator.allgather(np.array([room], np.int64)))


def replica_on(rank: Rank, graph: Any) -> Graph:
    """Return the whole graph on this rank, with edges in the order of the input (collective).

    The copy is made at the first call.
    """
    graph_parts: dict[Any, Any] = rank.kept[graph]
    lacks_replica = np.concatenate(rank.communicator.allgather(np.array([REPLICA not in graph_parts])))
    if lacks_replica.any():
        _receive(rank, graph, lacks_replica)
    replica: Graph = graph_parts[REPLICA]
    return replica


def _receive_on_first(rank: Rank, graph: Any, replica_bytes: int) -> None:
    """Copy the whole graph to the memory of the first rank, if the copy takes at most half of what is free there
    (collective).

    `replica_bytes` is the size of the copy in bytes.
    """
    free_bytes = available(rank.device)
    has_room = rank.communicator.allgather(np.array([free_bytes is None or free_bytes >= 2 * replica_bytes]))[0][0]
    if has_room:
        _receive(rank, graph, np.arange(rank.communicator.size) == 0)


def _receive_on_others(rank: Rank, graph: Any, replica_bytes: int) -> None:
    """Copy the whole graph to the memory of all ranks except the first, if the copy takes at most half of what is free
    on each (collective).

    `replica_bytes` is the size of the copy in bytes.
    """
    communicator, free_bytes = rank.communicator, available(rank.device)
    has_it = communicator.rank == 0 or REPLICA in rank.kept[graph]
    has_room = has_it or free_bytes is None or free_bytes >= 2 * replica_bytes
    answers_of_ranks = np.stack(communicator.allgather(np.array([has_it, has_room])))
    if answers_of_ranks[:, 1].all():
        _receive(rank, graph, ~answers_of_ranks[:, 0])


def _receive(rank: Rank, graph: Any, lacks_replica: np.ndarray) -> None:
    """Copy the whole graph to some ranks: all ranks send their edges to each rank r for which wanted[r] is true
    (collective).

    These ranks store the graph that they make of the edges.
    """
    communicator, graph_share, xp = rank.communicator, rank.kept[graph][SHARE], module_of(rank.device)
    is_mine = bool(lacks_replica[communicator.rank])
    edges = graph_share.edges()

    def received(column: Any) -> Any:
        return exchange_joined(communicator, [column if wants else column[:0] for wants in lacks_replica])

    def whole(column: Any) -> Any:
        if column is None:
            return None
        received_column = received(moved(column, rank.device))
        if not is_mine:
            return None
        whole_column = xp.empty(graph_share.m, column.dtype)
        as_bits(whole_column)[order] = as_bits(received_column)
        return whole_column

    order = received(edges.ids)
    src, dst, values = (whole(column) for column in (edges.src, edges.dst, edges.values))
    attributes_of_share = graph_share.shard.attributes
    new_columns = {name: whole(attributes_of_share.numbers(name)) for name in attributes_of_share}
    # Ranks own consecutive ranges of vertices. So the parts of a column that ranks send, in rank order, are the whole
    # column.
    own_attributes = graph_share.shard.own_vertex_attributes
    vertices = {name: received(moved(column, rank.device)) for name, column in own_attributes.items()}
    if is_mine:
        columns = {name: attributes_of_share.column(name, column) for name, column in new_columns.items()}
        replica = Graph.from_edges(src, dst, values, n=graph_share.n).with_edge_attributes(columns)
        replica = replica.with_vertex_attributes(vertices)
        rank.kept[graph][REPLICA] = replica
        # Mark the edge values (`valued`) as private on a GPU, where no caller has the array and can write to it. Then
        # results that gasla has derived from the values stay valid.
        replica.valued.are_private = xp is not np
        # Other threads, with CUDA streams of their own, will read the graph, so wait until it is complete.
        finish(rank.device)


def _map(
    rank: Rank, graph: Any, result: Any, function: Callable[..., Any], items: Any, compiled: bool
) -> tuple[Any, ...]:
    """Compute this rank's range of the rows of an array, by `function(whole graph, items, first row)`, and store them
    under the key `result` (collective).

    Return the shape and the dtype of the array of all rows.
    """
    communicator, replica, count = rank.communicator, replica_on(rank, graph), len(items)
    first_item, end_item = (
        count * rank_number // communicator.size for rank_number in (communicator.rank, communicator.rank + 1)
    )
    with running_as(compiled):
        rows = moved(function(replica, items[first_item:end_item], first_item), "cpu")
    rank.kept[result] = {"rows": rows}
    return (count, *rows.shape[1:]), rows.dtype


def _fill_rows(rank: Rank, graph: Any, targets: Sequence[Any], values: Sequence[Any] | None) -> Any:
    """Write the targets and the values of this rank's edges to arrays of all edges, at the positions of the edges'
    numbers (collective).

    `targets` and `values` are memory that all GPUs share. Return the offsets of the adjacency lists by source. Return
    None if edges are not numbered by their sources, because then the arrays are not lists by source.
    """
    communicator, graph_share = rank.communicator, rank.kept[graph][SHARE]
    me, shard, xp = communicator.rank, graph_share.shard, module_of(rank.device)
    own_out_degrees = degrees(communicator, graph_share, shard, "out")[: shard.own]
    every = exchange_joined(communicator, [own_out_degrees] * communicator.size)
    begins = running_sums(every).astype(shard.edge_ids.dtype)
    lists, global_ids, are_lists = shard.graph.in_, shard.ids_as(targets[me].dtype), True
    owners = lists.owners()
    for start in range(0, shard.graph.m, CHUNK):
        edge_range = slice(start, start + CHUNK)
        sources, ids = global_ids.take(lists.indices[edge_range]), shard.edge_ids[edge_range]
        is_in_row = xp.logical_and(xp.greater_equal(ids, begins[sources]), xp.less(ids, begins[sources + 1]))
        are_lists = are_lists and bool(is_in_row.all())
        targets[me][ids] = xp.add(owners[edge_range], shard.first).astype(targets[me].dtype)
        if values is not None:
            values[me][ids] = shard.graph.valued.each[edge_range]
    finish(rank.device)
    return begins if np.all(communicator.allgather(np.array([are_lists]))) else None


def _fill_sources(rank: Rank, graph: Any, sources: Sequence[Any]) -> None:
    """Write the sources of this rank's edges to an array of all edges, at the positions of the edges' numbers.

    The array is in memory that all GPUs share.
    """
    me, shard = rank.communicator.rank, rank.kept[graph][SHARE].shard
    global_ids = shard.ids_as(sources[me].dtype)
    for start in range(0, shard.graph.m, CHUNK):
        edge_range = slice(start, start + CHUNK)
        sources[me][shard.edge_ids[edge_range]] = global_ids.take(shard.graph.in_.indices[edge_range])
    finish(rank.device)


def _map_own_range(
    rank: Rank, graph: Any, function: Callable[..., Any], replica: Graph, items: Any, compiled: bool
) -> Any:
    """Return this rank's range of the rows of an array, computed by `function(whole graph, items, first row)`.

    On the first rank, `replica` is the whole graph. All other ranks have copies of it.
    """
    me, rank_count, count = rank.communicator.rank, rank.communicator.size, len(items)
    first_item, end_item = (count * rank_number // rank_count for rank_number in (me, me + 1))
    with running_as(compiled):
        rows = function(rank.kept[graph][REPLICA] if me else replica, items[first_item:end_item], first_item)
    finish(rank.device)
    return rows


def _sum_own_terms(
    rank: Rank, graph: Any, function: Callable[..., Iterable[Any]], replica: Graph, items: list[Any], compiled: bool
) -> Any:
    """Return the sum of the terms that `function(whole graph, items)` yields for this rank's items, or None without
    items.

    On the first rank, `replica` is the whole graph. All other ranks have copies of it.
    """
    me, term_sum = rank.communicator.rank, None
    own_items = items[me :: rank.communicator.size]
    with running_as(compiled):
        for term in function(rank.kept[graph][REPLICA] if me else replica, own_items) if own_items else ():
            if term_sum is None:
                term_sum = term.copy()  # The function may write its next term to the same array, so this one is copied.
            else:
                term_sum += term
    finish(rank.device)
    return term_sum


def _sum(
    rank: Rank, graph: Any, result: Any, function: Callable[..., Iterable[np.ndarray]], items: list[Any], compiled: bool
) -> tuple[Any, ...]:
    """Add up the terms of all items in the order of the items, and store the sum under the key `result` (collective).

    Return the shape and the dtype of the sum. In each round, every rank computes a few terms, and sends each rank one
    range of the entries of its terms. A rank adds up its range of all terms, so each rank has a range of the sum in the
    end.
    """
    communicator, replica = rank.communicator, replica_on(rank, graph)
    rank_count, me, term_sum = communicator.size, communicator.rank, EMPTY
    device: Device = rank.device if rank.reaches_cards else "cpu"
    xp: Any = module_of(device)
    counts = [len(range(peer, len(items), rank_count)) for peer in range(rank_count)]  # number of items of each rank
    with running_as(compiled):
        terms = iter(function(replica, items[me::rank_count]))
        first_term_or_none = [next(terms)] if counts[me] else []
        length = int(communicator.allgather(np.array([len(term) for term in first_term_or_none], np.int64))[0][0])
        # Items are dealt out from rank 0 on, so rank 0 has a term, whose dtype is that of the sum.
        dtype = np.dtype(bytes(communicator.allgather(_encode_dtype(first_term_or_none))[0]).decode())
        terms_at_once = max(1, min(TOGETHER, ROOM // max(1, length * dtype.itemsize)))
        bounds = (length * np.arange(rank_count + 1) // rank_count).tolist()
        width = bounds[me + 1] - bounds[me]
        for first_term in range(0, counts[0], terms_at_once):
            communicator.superstep += 1
            own_now, *term_counts = (min(terms_at_once, max(0, count - first_term)) for count in [counts[me], *counts])
            block = xp.empty((own_now, length), dtype)
            for row in range(own_now):
                block[row] = moved(first_term_or_none.pop() if first_term_or_none else next(terms), device)
            spans = [
                xp.ascontiguousarray(block[:, span_start:span_end]).reshape(-1)
                for span_start, span_end in pairwise(bounds)
            ]
            del block
            received_spans = exchange_arrays(communicator, spans)
            rows = [
                received_span.reshape(count, width)
                for received_span, count in zip(received_spans, term_counts, strict=True)
            ]
            # terms are added in the order of the items, which are dealt out to the ranks in turn
            for row, peer in itertools.product(range(terms_at_once), range(rank_count)):
                if row < term_counts[peer]:
                    term_sum = rows[peer][row] if term_sum is EMPTY else term_sum + rows[peer][row]
    rank.kept[result] = {"sum": term_sum}
    return (length,), dtype


def _encode_dtype(terms: Sequence[Any]) -> np.ndarray:
    """Return the name of the dtype of a rank's first term, as an array of bytes that ranks can exchange.

    A rank without terms sends an empty array.
    """
    return np.frombuffer(terms[0].dtype.str.encode() if terms else b"", np.uint8)
