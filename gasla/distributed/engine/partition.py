"""Partition of a graph: each rank owns a contiguous range of vertices, so that edges and vertices are balanced.

Ranks start with arbitrary subsets of the edges, and send each edge to the owner of its target, which makes adjacency
lists of the edges that it receives. Arrays are NumPy's, or CuPy's where ranks have GPUs, which then send the edges.

Memory on a GPU, in bytes, with ids of 4 bytes and edge values of w bytes:

- The adjacency lists take 8 + w per edge that the rank receives.
- Edges are sent in at most `ROUNDS` rounds of equal sizes. A round needs some 40 bytes per edge of the round, which is
  some 5 bytes per edge of the rank.
- To store each received edge at its final place in the lists, ranks first count the edges into every vertex. The counts
  take 4 or 8 bytes per vertex of the whole graph, and as much again while a round is counted. They are freed before
  edges are sent.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from gasla.arrays import Device, array_module, device_of, finish, here, index_dtype, module_of, moved, running_sums
from gasla.distributed.communicator import Communicator
from gasla.distributed.links import find_link
from gasla.graph.adjacency import Adjacency, Array, lists_on
from gasla.graph.neighbor_lists import ascends
from gasla.graph.validate import range_of

# Edges are counted by ranges of target vertices, called bins, of which there are at most 2**16. A rank's range of
# vertices consists of whole bins.
BINS = 16
ROUNDS = 8  # GPUs send their edges in at most this many rounds, because each round takes some time
# If there are several rounds, each has at least this many edges per rank. On the CPU there is only one round.
ROUND = 1 << 24
FEW = 8  # For at most this many ranks, comparing all ids with each rank's bounds is faster than sorting the ids.


@dataclass(eq=False)
class Edges:
    """Edges of a graph: arrays of sources, targets and edge numbers (positions in the input), and of values if there
    are any.
    """

    src: Array
    dst: Array
    ids: Array
    values: Array | None

    def columns(self) -> list[Array]:
        """Return the arrays of these edges: sources, targets, edge numbers, and values if the edges have any."""
        return [column for column in (self.src, self.dst, self.ids, self.values) if column is not None]

    def taken(self, places: Array) -> "Edges":
        """Return the edges at the positions `places` of the arrays."""
        return Edges(*(None if a is None else a[places] for a in (self.src, self.dst, self.ids, self.values)))  # type: ignore[arg-type]

    def on(self, device: Device) -> "Edges":
        """Return the same edges with their arrays on `device`. Arrays that are on another device are copied."""
        columns = (self.src, self.dst, self.ids, self.values)
        return Edges(*(None if column is None else here(column, device) for column in columns))  # type: ignore[arg-type]


class Source(Protocol):
    """A rank's part of the input edges, which it sends to the owners of their targets in rounds.

    Rounds are in the order of the input: all edges of a round come after all edges of earlier rounds.
    """

    count: int  # number of edges that this rank sends in all rounds together

    def extent(self) -> tuple[int, int]:
        """Return the smallest and the largest vertex id that may occur among this rank's edges, or (0, -1) if it has
        none.
        """

    def plan(self, m: int) -> "Rounds":
        """Return in how many rounds all ranks together send the graph's `m` edges to their owners.

        All ranks return the same number.
        """

    def targets(self, number: int, rounds: int) -> Array:
        """Return the targets of the edges that this rank sends in round `number` of `rounds`, on the rank's device."""

    def edges(self, number: int, rounds: int) -> Edges:
        """Return the edges that this rank sends in round `number` of `rounds`, on the rank's device."""


class Rounds(NamedTuple):
    """The number of rounds in which ranks send edges to their owners, and how many rounds' edges make adjacency lists
    at once.
    """

    number: int
    together: int  # adjacency lists are made of the edges of this many rounds together


def rounds_of(device: Device, m: int, size: int) -> int:
    """Return the number of rounds in which `size` ranks send `m` edges to their owners.

    Each rank is assumed to send and receive about equally many edges. On the CPU one round suffices.
    """
    edges_per_rank = -(-m // size)
    return 1 if module_of(device) is np or m == 0 else -(-edges_per_rank // max(ROUND, -(-edges_per_rank // ROUNDS)))


class Held:
    """Edges that a rank has in the host's memory, in any order, and sends to the owners of their targets (a `Source`).

    In each round, ranks send the edges of a range of edge numbers. Often one rank has all edges of a range, and the
    other ranks send nothing in this round. Therefore there are more rounds than where all ranks send in every round,
    with fewer edges in each.
    """

    def __init__(self, edges: Edges, n: int, device: Device, size: int) -> None:
        self._edges, self._n, self._m, self._device, self._size = edges, n, 0, device, size
        self.count = len(edges.ids)
        self._order: Array | None = None if ascends(edges.ids) else np.argsort(edges.ids, kind="stable")

    def extent(self) -> tuple[int, int]:
        """Return the smallest and the largest vertex id among this rank's edges, or (0, -1) if it has none."""
        if not self.count:
            return 0, -1
        ranges = [range_of(ends) for ends in (self._edges.src, self._edges.dst)]
        return min(int(least) for least, _ in ranges), max(int(most) for _, most in ranges)

    def plan(self, m: int) -> Rounds:
        """Return in how many rounds all ranks together send the graph's `m` edges to their owners.

        Raise ValueError for an edge number out of range.
        """
        if self.count:
            least, most = map(int, range_of(self._edges.ids))
            if not 0 <= least <= most < m:
                raise ValueError(f"an edge has the number {least if least < 0 else most}; expected 0 to {m - 1}")
        self._m, count = m, rounds_of(self._device, m, self._size)
        return Rounds(count, 1) if count == 1 else Rounds(count * self._size, self._size)

    def targets(self, number: int, rounds: int) -> Array:
        """Return the targets of the edges that this rank sends in round `number` of `rounds`, on its device."""
        return self._ids_on_device(self._edges.dst, self._part(number, rounds), self._n)

    def edges(self, number: int, rounds: int) -> Edges:
        """Return the edges that this rank sends in round `number` of `rounds`, on its device."""
        edges, part = self._edges, self._part(number, rounds)
        values = None if edges.values is None else here(edges.values[part], self._device)
        src, dst = (self._ids_on_device(ends, part, self._n) for ends in (edges.src, edges.dst))
        return Edges(src, dst, self._ids_on_device(edges.ids, part, self._m), values)

    def _part(self, number: int, rounds: int) -> Any:
        """Return the positions, in this rank's arrays, of the edges that it sends in round `number` of `rounds`.

        The result is a slice, or an array of positions if the edges are not in the order of their numbers.
        """
        ends = [self._m * one // rounds for one in (number, number + 1)]
        if self._order is None:
            return slice(*np.searchsorted(self._edges.ids, ends).tolist())
        return self._order[slice(*np.searchsorted(self._edges.ids, ends, sorter=self._order).tolist())]

    def _ids_on_device(self, ids: Array, part: Any, bound: int) -> Array:
        """Return the ids at the positions `part`, on the rank's device, in the smallest integer type for ids below
        `bound`.

        They are converted before they are copied to the device, because the copy is then half as large.
        """
        return here(ids[part].astype(index_dtype(bound), copy=False), self._device)


class Rows(NamedTuple):
    """The adjacency lists of a rank's own vertices: for each vertex, the edges over which it gathers, as arrays.

    Each list is in the order of the input.
    """

    indptr: Array
    others: Array  # for each entry of the lists, the global id of the neighbor, from which a value is gathered
    ids: Array  # for each entry of the lists, the edge's number (its position in the input)
    values: Array | None


def owners_of(bounds: np.ndarray, vertices: Array) -> Array:
    """Return, for each vertex in `vertices`, the rank that owns it.

    Rank r owns the vertices bounds[r] to bounds[r + 1] - 1.
    """
    xp, inner = array_module(vertices), bounds[1:-1]
    if len(inner) < FEW:
        owners = xp.zeros(len(vertices), np.uint8)
        for bound in inner.tolist():
            owners += xp.greater_equal(vertices, bound)
        return owners
    numbers = xp.searchsorted(xp.asarray(inner.astype(vertices.dtype)), vertices, side="right")
    return numbers.astype(np.uint16 if len(inner) < 1 << 16 else np.int64)


def distribute_edges(communicator: Communicator, n: int, source: Source) -> tuple[np.ndarray, int, Rows]:
    """Choose which rank owns which vertices, and send all edges to the owners of their targets (collective).

    Returns
    -------
    bounds : ndarray
        Rank r owns the vertices bounds[r] to bounds[r + 1] - 1.
    m : int
        Number of edges of all ranks.
    rows : Rows
        The in-edges of this rank's vertices.

    Raises
    ------
    ValueError
        On every rank, if an id is out of range.
    """
    extents = np.stack(communicator.allgather(np.array([*source.extent(), source.count], np.int64)))
    nonempty = extents[extents[:, 2] > 0]
    m = int(extents[:, 2].sum())
    smallest, largest = (int(nonempty[:, 0].min()), int(nonempty[:, 1].max())) if m else (0, -1)
    if m and not 0 <= smallest <= largest < n:
        raise ValueError(f"an edge has the vertex {smallest if smallest < 0 else largest}; expected 0 to {n - 1}")
    count, together = source.plan(m)
    targets = (source.targets(number, count) for number in range(count))
    shift = max(0, (n - 1).bit_length() - BINS)
    if count == together:
        bounds, indptr = balanced_bounds(communicator, n, _in_bins(targets, n, shift), shift), None
    else:
        bounds, indptr = _count_edges(communicator, n, targets, shift, index_dtype(int(extents[:, 2].max())))
    parts = (source.edges(number, count) for number in range(count))
    return bounds, m, gather_rows(communicator, bounds, m, parts, together, indptr)


def _in_bins(targets: Iterable[Array], n: int, shift: int) -> np.ndarray:
    """Return the number of this rank's edges into each bin, which is a range of 2**shift target vertices.

    `targets` yields arrays of the edges' targets, and `n` is the number of vertices.
    """
    count = ((n - 1) >> shift) + 1
    totals = np.zeros(count, np.int64)
    for dst in targets:
        if len(dst):
            bins = array_module(dst).right_shift(dst, shift) if shift else dst
            totals += moved(lists_on(dst).count_ids(bins, count), "cpu").astype(np.int64)
    return totals


def _count_edges(
    communicator: Communicator, n: int, targets: Iterable[Array], shift: int, dtype: np.dtype[Any]
) -> tuple[np.ndarray, Array]:
    """Return which vertices each rank owns (as bounds of ranges), and the offsets of this rank's adjacency lists
    (collective).

    Both follow from the number of edges into each vertex, which all ranks count together in arrays over all vertices.
    """
    # number of vertices, rounded up to a multiple of a bin's size, so that the counts can be summed bin by bin
    whole = (((n - 1) >> shift) + 1) << shift
    counts: Any = None
    for dst in targets:
        of_piece = lists_on(dst).count_ids(dst, whole).astype(dtype, copy=False)
        if counts is None:
            counts = of_piece
        else:
            counts += of_piece
        del dst, of_piece
    bins = moved(counts.reshape(-1, 1 << shift).sum(axis=1, dtype=np.int64), "cpu")
    bounds = balanced_bounds(communicator, n, bins, shift)
    parts = exchange_arrays(communicator, [counts[a:b] for a, b in pairwise(bounds.tolist())])
    del counts
    lengths: Any = sum(part.astype(np.int64) for part in parts)
    return bounds, running_sums(lengths)


def balanced_bounds(communicator: Communicator, n: int, held: np.ndarray, shift: int) -> np.ndarray:
    """Divide the vertices into one range per rank, with about equal sums of vertices and in-edges (collective).

    `held` has the number of this rank's edges into each bin of 2**shift vertices. Ranges end only where a bin ends.
    Return the bounds: rank r owns the vertices bounds[r] to bounds[r + 1] - 1.
    """
    work = np.sum(communicator.allgather(held), axis=0) + (1 << shift)
    work_before = running_sums(work)
    work_until = work_before[-1] * np.arange(communicator.size + 1) / communicator.size
    bounds = np.minimum(np.searchsorted(work_before, work_until) << shift, n).astype(np.int64)
    bounds[0], bounds[-1] = 0, n
    return np.maximum.accumulate(bounds)


# --- sending edges to the ranks that own them, and making adjacency lists of the edges received -----------------------


def gather_rows(
    communicator: Communicator,
    bounds: np.ndarray,
    numbers: int,
    parts: Iterable[Edges],
    together: int = 1,
    indptr: Array | None = None,
) -> Rows:
    """Send edges in rounds to the owners of their `dst`, and make adjacency lists of the edges received (collective).

    Parameters
    ----------
    communicator : Communicator
    bounds : array
        Rank r owns the vertices bounds[r] to bounds[r + 1] - 1.
    numbers : int
        Upper bound of the edge numbers, which determines their type.
    parts : iterable of Edges
        The edges that this rank sends in each round.
    together : int
        Number of rounds after which lists are made of the edges received since.
    indptr : array, optional
        The offsets of the complete lists. They are needed if there are more than `together` rounds.
    """
    first, last = (int(bound) for bound in bounds[communicator.rank : communicator.rank + 2])
    vertex, kind = index_dtype(int(bounds[-1])), index_dtype(numbers)
    lists, received = None if indptr is None else _GrowingLists(indptr), list[Edges]()
    for number, edges in enumerate(parts, 1):
        src, dst, ids = edges.src.astype(vertex, copy=False), edges.dst.astype(vertex, copy=False), edges.ids
        edges = Edges(src, dst, ids.astype(kind, copy=False), edges.values)
        received.append(send_to(communicator, places_by_owner(bounds, dst), edges))
        del src, dst, ids, edges
        if number % together == 0:
            rows = _rows_of(_join(received), first, last - first)
            if lists is None:
                return rows
            lists.append(rows)
            del rows
    assert lists is not None
    return lists.rows()


class _GrowingLists:
    """Adjacency lists that are filled round by round, as a rank receives edges from other ranks.

    The lengths of the lists are known from the beginning, so that memory is allocated once.
    """

    def __init__(self, indptr: Array) -> None:
        kind = index_dtype(int(indptr[-1]))
        self._indptr, self._columns = indptr.astype(kind), list[Any]()
        self._ends = self._indptr[:-1].copy()  # for each list, the position at which its next edge is stored

    def append(self, rows: Rows) -> None:
        """Append received edges, which are grouped by target in `rows`, to the adjacency lists of the same vertices."""
        parts, starts = rows[1:], rows.indptr
        xp: Any = array_module(starts)
        if not self._columns:
            size = int(self._indptr[-1])
            self._columns = [
                None if column_part is None else xp.empty(size, column_part.dtype) for column_part in parts
            ]
        positions = (self._ends - starts[:-1])[lists_on(starts).owners(starts, xp.empty(len(rows.ids), np.int32))]
        positions += xp.arange(len(rows.ids), dtype=positions.dtype)
        for column, column_part in zip(self._columns, parts, strict=True):
            if column is not None:
                column[positions] = column_part
        self._ends += starts[1:] - starts[:-1]

    def rows(self) -> Rows:
        """Return the adjacency lists, after the edges of all rounds have been appended."""
        return Rows(self._indptr, *self._columns)


def send_to(communicator: Communicator, places: Sequence[Array], edges: Edges) -> Edges:
    """Send edges to other ranks: to each rank r those at the positions `places[r]` of the arrays in `edges`
    (collective).

    Return the edges that this rank receives, in the order of the senders.
    """
    columns: list[Any] = []
    for column in (edges.src, edges.dst, edges.ids, edges.values):
        if column is not None:
            column = exchange_joined(communicator, [column[some] for some in places])
        columns.append(column)
    return Edges(*columns)


def places_by_owner(bounds: np.ndarray, vertices: Array) -> list[Array]:
    """Return for each rank the positions, in the array `vertices`, of the vertices that the rank owns."""
    xp, owners, size = array_module(vertices), owners_of(bounds, vertices), len(bounds) - 1
    if size <= FEW or not len(owners):
        return [xp.flatnonzero(xp.equal(owners, rank)) for rank in range(size)]
    order = xp.argsort(owners, kind="stable")
    cuts = xp.searchsorted(owners[order], xp.arange(size + 1, dtype=owners.dtype)).tolist()
    return [order[a:b] for a, b in pairwise(cuts)]


def _join(parts: list[Edges]) -> Edges:
    """Concatenate the edges of several rounds to one set of arrays, and return it.

    The list `parts` is emptied, to free the memory of its arrays.
    """
    joined = parts.pop() if len(parts) == 1 else None
    if joined is None:
        columns = zip(*(part.columns() for part in parts), strict=True)
        src, dst, ids, *values = [array_module(column[0]).concatenate(column) for column in columns]
        joined = Edges(src, dst, ids, values[0] if values else None)
        parts.clear()
    return joined


def _rows_of(edges: Edges, first: int, own: int) -> Rows:
    """Return adjacency lists by target for this rank's own vertices: `own` vertices from the vertex `first` on.

    The edges may be given in any order. Each list is in the order of the input.
    """
    own_targets = array_module(edges.dst).subtract(edges.dst, first)
    rows = _group(own_targets, edges, own)
    if not lists_on(rows.ids).Properties(rows.indptr, rows.ids).ascend:
        order = edges.ids.argsort(kind="stable")
        rows = _group(own_targets[order], edges.taken(order), own)
    return rows


def _group(own_targets: Array, edges: Edges, own: int) -> Rows:
    """Return adjacency lists by target for this rank's own vertices, each in the order in which `edges` has its edges.

    `own_targets` has the target of each edge, counted from the rank's first own vertex, and `own` is the number of own
    vertices.
    """
    lists = Adjacency.grouped(own_targets, edges.src, own)
    places = lists.numbers()
    values = None if edges.values is None else edges.values.take(places)
    return Rows(lists.indptr, lists.indices, edges.ids.take(places), values)


# --- exchanges of arrays between ranks --------------------------------------------------------------------------------


def exchange_arrays(communicator: Communicator, parts: Sequence[Array]) -> list[Array]:
    """Send one array to each rank, and return copies of the arrays received, in rank order (collective).

    The arrays can have any type, which must be the same on all ranks. The copies are on the device of the arrays sent.
    """
    return [array_module(part).array(part) for part in _exchange(communicator, parts)]


def exchange_joined(communicator: Communicator, parts: Sequence[Array]) -> Array:
    """Send one array to each rank, and return the arrays received, concatenated in rank order (collective)."""
    return array_module(parts[0]).concatenate(_exchange(communicator, parts))


def _exchange(communicator: Communicator, parts: Sequence[Array]) -> list[Array]:
    """Send one array to each rank, and return the arrays received, in rank order (collective).

    They are valid only until the next exchange, because they may be views of another rank's memory. They are on the
    device of the arrays sent.
    """
    device, is_on_card = device_of(parts[0]), array_module(parts[0]) is not np
    if is_on_card and communicator.shares_memory:
        finish(device)
        received = [here(part, device) for part in communicator.exchange(parts)]
        finish(device)  # the rank that sent an array may free it after this exchange, so wait until it is copied
        return received
    kind, row_shape = parts[0].dtype, parts[0].shape[1:]
    if is_on_card and (link := find_link(communicator)) is not None:
        sizes = np.array([[part.nbytes] for part in parts], np.int64).view(np.uint8)
        lengths = [int(size.view(np.int64)[0]) for size in communicator.exchange(list(sizes))]
        return [message.view(kind).reshape(-1, *row_shape) for message in link.exchange(communicator, parts, lengths)]
    sent = [np.ascontiguousarray(moved(part, "cpu")).reshape(-1).view(np.uint8) for part in parts]
    return [moved(message.view(kind).reshape(-1, *row_shape), device) for message in communicator.exchange(sent)]
