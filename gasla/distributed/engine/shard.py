"""A rank's shard of a graph for one direction: a local Graph with all edges over which the rank's own vertices gather.

The local vertices are the rank's own vertices in their order, followed by *mirrors*: copies of the neighbors that other
ranks own, in the order of their global ids. So mirrors of vertices of the same owner are contiguous. In the local graph
every edge is an in-edge of the vertex that gathers over it, whatever the direction of the program. Local edges are
numbered by that vertex, and for each vertex in the order of the input.

A shard is made on the rank's device, and copied to the other device where something asks for the copy.
"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from gasla.arrays import Device, array_module, device_of, distinct, index_dtype, module_of, moved
from gasla.distributed.communicator import Communicator
from gasla.distributed.engine.partition import (
    Edges,
    Rows,
    Source,
    distribute_edges,
    exchange_arrays,
    gather_rows,
    owners_of,
)
from gasla.graph.adjacency import Array
from gasla.graph.arguments import NO_LIMIT
from gasla.graph.attributes import NO_EDGE_ATTRIBUTES, Attributes
from gasla.graph.graph import Graph

# An array over all vertices of the graph is used only if there are at most this many vertices per edge and vertex of
# the rank. With more vertices it would take too much memory.
SPARSE = 2
# The ids of at most this many edges are replaced by local numbers at once, to limit the memory for temporary arrays.
CHUNK = 1 << 24


@dataclass(eq=False)
class Shard:
    """A rank's part of a graph: a local graph, and which vertices of the whole graph its vertices stand for.

    The local vertices are the rank's own vertices, followed by mirrors: copies of neighbors that other ranks own.
    """

    # the local graph, on the rank's device, as are all arrays below that are not said to be in host memory
    graph: Graph
    first: int  # global id of the first own vertex
    own: int  # number of own vertices
    n: int  # number of vertices of the whole graph
    m: int  # number of edges of the whole graph
    bounds: np.ndarray  # rank r owns the vertices bounds[r] to bounds[r + 1] - 1; in host memory
    mirrors: Array  # global ids of the mirrors (copies of vertices that other ranks own), ascending
    cuts: np.ndarray  # the local vertices cuts[r] to cuts[r + 1] - 1 are copies of vertices of rank r; in host memory
    sends: list[Array]  # sends[r] has the own vertices of which rank r has copies, in the order of these copies
    edge_ids: Array  # for each local edge, its number in the whole graph
    # only for direction "all": whether the list that has the edge is that of the edge's target
    leaves: Array | None = None
    attributes: Attributes = NO_EDGE_ATTRIBUTES  # attributes of the local edges, in host memory; see `set_attributes`
    # copy of the local graph on the device that is not the rank's (the CPU or the GPU), or None
    copy: Graph | None = None
    # copies of the shard's arrays on the device that is not the rank's, by name
    copies: dict[Hashable, Any] = field(default_factory=dict)

    @cached_property
    def ids(self) -> np.ndarray:
        """The global id of each local vertex, in host memory."""
        return np.concatenate([np.arange(self.first, self.first + self.own), moved(self.mirrors, "cpu")])

    def ids_as(self, dtype: np.dtype) -> Array:
        """Return the id in the whole graph of each vertex of this shard, in the integer type `dtype`. The array is
        cached.
        """
        xp: Any = array_module(self.mirrors)

        def make(_: Graph) -> Array:
            own = xp.arange(self.first, self.first + self.own, dtype=dtype)
            return xp.concatenate([own, self.mirrors.astype(dtype)])

        return self.graph.kept(("ids", dtype), make)

    def array_on(self, device: Device, key: Hashable, array: Any) -> Any:
        """Return `array`, one of this shard's arrays, on a device. If the array must be copied there, the copy is
        cached under `key`.
        """
        if device == device_of(array):
            return array
        key = device, key
        if key not in self.copies:
            self.copies[key] = moved(array, device)
        return self.copies[key]

    def graph_on(self, device: Device) -> Graph:
        """Return the shard's local graph on a device, the CPU or the rank's GPU. If it must be copied there, the copy
        is cached.
        """
        if device == self.graph.device:
            return self.graph
        if self.copy is None:
            self.copy = self.graph.to(device)
            self.copy.kept("whole", lambda _: self.graph.known("whole"))
            self.set_attributes(self.attributes)
        return self.copy

    def set_attributes(self, attributes: Attributes) -> None:
        """Set the attributes of the local edges: arrays in host memory, in the order of the local edges.

        A graph on a GPU copies an attribute when a program first reads it.
        """
        self.attributes = attributes
        for graph in (self.graph, self.copy):
            if graph is not None:
                graph.edge_attributes = attributes if module_of(graph.device) is np else attributes.to(graph.device)

    def set_vertex_attributes(self, communicator: Communicator, own: Mapping[str, Array]) -> None:
        """Set the attributes of the local vertices, which include copies of other ranks' vertices (collective).

        `own` has the values of the own vertices, on the device of the graph. Those of the mirrors are received from
        owners.
        """
        columns = {name: self.with_mirrors(communicator, column) for name, column in own.items()}
        self.graph.vertex_attributes = Attributes("vertex", columns)

    @property
    def own_vertex_attributes(self) -> dict[str, Array]:
        """The vertex attributes of the rank's own vertices (not of mirrors): arrays by attribute name."""
        return {name: column[: self.own] for name, column in self.graph.vertex_attributes.items()}

    def with_graph(self, graph: Graph) -> "Shard":
        """Return a shard of the same edges whose local graph is `graph`, such as one with other edge values.

        `graph` must have the same adjacency lists as this shard's local graph.
        """
        graph.kept("whole", lambda _: self.graph.known("whole"))
        return replace(self, graph=graph, copy=None, copies={})

    @property
    def nbytes(self) -> int:
        """The memory in bytes that the shard (a rank's part of the graph) takes now, with copies of its arrays.

        A rank computes on a CPU or on a GPU. If it computes on a GPU, the shard may have copies in host memory. If it
        computes on a CPU, the shard may have copies on a GPU.
        """
        parts = [self.graph, self.copy, self.mirrors, self.edge_ids, self.leaves, *self.sends, *self.copies.values()]
        if self.graph.edge_attributes is not self.attributes:
            parts += self.attributes.arrays()
        return sum(int(part.nbytes) for part in parts if part is not None)

    @cached_property
    def _mirrors_on_host(self) -> np.ndarray:
        """The global ids of the mirrors, in host memory."""
        ids_on_host: np.ndarray = self.array_on("cpu", "mirrors", self.mirrors)
        return ids_on_host

    def local_of(self, vertex: int) -> int | None:
        """Return the number, within this shard, of the vertex with the id `vertex` in the whole graph.

        Return None if the shard has neither the vertex nor a copy of it.
        """
        if 0 <= (place := vertex - self.first) < self.own:
            return place
        mirrors = self._mirrors_on_host
        # If `vertex` had another integer type than the array, NumPy would convert the whole array for the search.
        place = int(mirrors.searchsorted(mirrors.dtype.type(vertex)))
        return self.own + place if place < len(mirrors) and mirrors[place] == vertex else None

    def local(self, vertices: np.ndarray) -> np.ndarray:
        """Return the numbers, within this shard, of the vertices with the ids `vertices` in the whole graph.

        Vertices that are not in this shard are left out.
        """
        vertices = np.asarray(vertices, np.int64)
        mirrors = self.array_on("cpu", "mirrors", self.mirrors)
        own = vertices[(vertices >= self.first) & (vertices < self.first + self.own)] - self.first
        mirror_positions = np.searchsorted(mirrors, vertices.astype(mirrors.dtype))
        is_mirror = mirror_positions < len(mirrors)
        is_mirror[is_mirror] = mirrors[mirror_positions[is_mirror]] == vertices[is_mirror]
        return np.concatenate([own, mirror_positions[is_mirror] + self.own])

    def with_mirrors(self, communicator: Communicator, values: Array) -> Array:
        """Return an array over all vertices of this shard, from `values`, the array over this rank's own vertices
        (collective).

        The values at mirrors (copies of other ranks' vertices) are received from the ranks that own the vertices, and
        appended.
        """
        device = device_of(values)
        sends = [self.array_on(device, ("sends", rank), ids) for rank, ids in enumerate(self.sends)]
        parts = exchange_arrays(communicator, [values[ids] for ids in sends])
        return array_module(values).concatenate([values, *parts])


@dataclass(eq=False)
class Share:
    """What a rank stores of a distributed graph as long as the graph exists: the in-edges of the rank's own vertices,
    as a shard.

    Shards for other directions are made from it.
    """

    shard: Shard

    @property
    def bounds(self) -> np.ndarray:
        """The ranges of vertices of all ranks: rank r owns the vertices bounds[r] to bounds[r + 1] - 1."""
        return self.shard.bounds

    @property
    def n(self) -> int:
        """The number of vertices of the whole graph."""
        return self.shard.n

    @property
    def m(self) -> int:
        """The number of edges of the whole graph."""
        return self.shard.m

    def owners(self, vertices: Array) -> Array:
        """Return, for each vertex in `vertices`, the rank that owns it."""
        return owners_of(self.bounds, vertices)

    def edges(self) -> Edges:
        """Return the sources and targets of this rank's edges, as vertex ids of the whole graph, on the rank's device.

        The edges' numbers and values are the rank's own arrays, and not copies.
        """
        shard = self.shard
        src, dst = shard.graph.edges()
        ids = shard.ids_as(index_dtype(shard.n))
        return Edges(ids.take(src), ids.take(dst), shard.edge_ids, shard.graph.valued.each)


def distribute(communicator: Communicator, n: int, source: Source) -> Share:
    """Send all edges of a graph to the ranks that own their targets, and return this rank's part of the graph
    (collective).

    `source` yields the edges that this rank has before, and `n` is the number of vertices.
    """
    bounds, m, rows = distribute_edges(communicator, n, source)
    shard = _shard_of_rows(communicator, rows, bounds, m, mirrors_all=False)
    _keep_global_sizes(communicator, shard, m)
    return Share(shard)


def shard_of(communicator: Communicator, share: Share, direction: str, mirrors_all: bool = False) -> Shard:
    """Return this rank's shard for a direction, made from the in-edges that all ranks store (collective).

    With `mirrors_all`, the shard has mirrors of all vertices of other ranks, and not only of neighbors.
    """
    if direction == "in" and not mirrors_all:
        return share.shard
    edges, leaves = share.edges(), None
    if direction == "in":
        rows = Rows(share.shard.graph.in_.indptr[: share.shard.own + 1], edges.src, edges.ids, edges.values)
    elif direction == "out":
        reverse = Edges(edges.dst, edges.src, edges.ids, edges.values)
        rows = gather_rows(communicator, share.bounds, share.m, [reverse])
    else:
        rows, leaves = _rows_of_both_ends(communicator, share, edges)
    del edges
    shard = _shard_of_rows(communicator, rows, share.bounds, share.m, mirrors_all)
    shard.leaves = leaves
    # The shard has the same edges in the same order as the rank's stored part of the graph, so the attributes are the
    # same.
    if direction == "in":
        shard.set_attributes(share.shard.attributes)
    shard.set_vertex_attributes(communicator, share.shard.own_vertex_attributes)
    _keep_global_sizes(communicator, shard, share.m if direction != "all" else NO_LIMIT)
    return shard


def _rows_of_both_ends(communicator: Communicator, share: Share, edges: Edges) -> tuple[Rows, Array]:
    """Return adjacency lists for programs that gather in direction "all", in which each edge is at both its ends
    (collective).

    The second result says, for each entry of the lists, whether it is in the list of the edge's target. A self loop has
    two entries in one list: first as an out-edge, then as an in-edge.
    """
    xp: Any = array_module(edges.src)
    # numbers by which the entries of a list are sorted: twice the edge's number at its source, and 1 more at its target
    keys = xp.left_shift(edges.ids.astype(np.int64), 1)
    ends = xp.concatenate([edges.dst, edges.src]), xp.concatenate([edges.src, edges.dst])
    values = None if edges.values is None else xp.concatenate([edges.values, edges.values])
    both = Edges(*ends, xp.concatenate([keys, keys + 1]), values)
    rows = gather_rows(communicator, share.bounds, 2 * share.m, [both])
    leaves = xp.equal(xp.bitwise_and(rows.ids, 1), 1)
    ids = xp.right_shift(rows.ids, 1).astype(index_dtype(share.m), copy=False)
    return rows._replace(ids=ids), leaves


def _shard_of_rows(communicator: Communicator, rows: Rows, bounds: np.ndarray, m: int, mirrors_all: bool) -> Shard:
    """Return the shard with the given adjacency lists of a rank's own vertices (collective).

    Neighbors that other ranks own become mirrors, and their owners are told which of their vertices this rank mirrors.
    """
    xp: Any = array_module(rows.others)
    first, last = (int(bound) for bound in bounds[communicator.rank : communicator.rank + 2])
    own, n = last - first, int(bounds[-1])
    mirrors, local = _number_locally(rows.others, first, own, n, mirrors_all)
    ends = xp.full(len(mirrors), len(local), rows.indptr.dtype)
    indptr = xp.concatenate([rows.indptr, ends])
    graph = Graph.from_csr(indptr, local, rows.values).reversed()
    if xp is not np:
        # No caller can write to values on a GPU, so results derived from them stay valid.
        graph.valued.are_private = True
    cuts = xp.searchsorted(mirrors, xp.asarray(bounds.astype(mirrors.dtype)))
    cuts = moved(cuts, "cpu").astype(np.int64)
    ids_mirrored = exchange_arrays(communicator, [mirrors[a:b] for a, b in pairwise(cuts.tolist())])
    sends = [xp.subtract(ids, first).astype(graph.id_dtype) for ids in ids_mirrored]
    return Shard(graph, first, own, n, m, bounds, mirrors, own + cuts, sends, rows.ids)


def _number_locally(others: Array, first: int, own: int, n: int, mirrors_all: bool) -> tuple[Array, Array]:
    """Return the mirrors of a rank (global ids of neighbors that other ranks own), and its neighbors by local numbers.

    `others` has the neighbors by global ids, and may be overwritten by the result. Where memory suffices for an array
    over all vertices of the graph, nothing is sorted. With many ranks, each rank has edges to few of the vertices, so
    it sorts these vertices instead. With `mirrors_all`, all vertices of other ranks become mirrors.
    """
    xp: Any = array_module(others)
    if n > SPARSE * (len(others) + own) and not mirrors_all:
        some = [distinct(part) for part in _chunks(others)]
        vertices = distinct(xp.concatenate([others[:0], *some]))
        mirrors = vertices[xp.logical_or(xp.less(vertices, first), xp.greater_equal(vertices, first + own))]

        def numbers_of(ids: Array) -> Array:
            is_own = xp.logical_and(xp.greater_equal(ids, first), xp.less(ids, first + own))
            return xp.where(is_own, xp.subtract(ids, first), xp.searchsorted(mirrors, ids) + own)
    else:
        is_mirror = xp.ones(n, bool) if mirrors_all else xp.zeros(n, bool)
        is_mirror[others] = True
        is_mirror[first : first + own] = False
        mirrors = xp.flatnonzero(is_mirror).astype(index_dtype(n))
        del is_mirror
        numbers = xp.empty(n, index_dtype(own + len(mirrors)))
        numbers[mirrors] = xp.arange(own, own + len(mirrors), dtype=numbers.dtype)
        numbers[first : first + own] = xp.arange(own, dtype=numbers.dtype)
        numbers_of = numbers.take

    kind = index_dtype(own + len(mirrors))
    local = others if others.dtype == kind else xp.empty(len(others), kind)
    for ids, target in zip(_chunks(others), _chunks(local), strict=True):
        target[...] = numbers_of(ids)
    return mirrors, local


def _chunks(array: Array) -> Iterator[Array]:
    """Yield consecutive pieces of an array, each of at most `CHUNK` entries, so that temporary arrays stay small."""
    for start in range(0, len(array), CHUNK):
        yield array[start : start + CHUNK]


def _keep_global_sizes(communicator: Communicator, shard: Shard, edges: int) -> None:
    """Store the numbers of vertices and edges and the largest degree of the whole graph in the local graph
    (collective).

    Engines choose the order of float additions by these sizes, so all ranks choose the same order. For direction "all"
    the number of edges counts as unlimited.
    """
    longest = int(np.max(communicator.allgather(np.array([shard.graph.max_in_degree]))))
    shard.graph.kept("whole", lambda _: (shard.n, edges, longest))


def degrees(communicator: Communicator, share: Share, shard: Shard, which: str) -> Array:
    """Return the in- or out-degrees in the whole graph of a shard's own vertices and mirrors (collective)."""
    in_shard = share.shard
    if which == "in":
        degrees_of_own = in_shard.graph.in_degrees[: in_shard.own].astype(np.int64)
    # For out-degrees, each rank counts its edges by source, and sends the counts to the ranks that own the sources.
    else:
        counts = in_shard.graph.out_degrees.astype(np.int64)
        degrees_of_own = counts[: in_shard.own].copy()
        parts = exchange_arrays(communicator, [counts[a:b] for a, b in pairwise(in_shard.cuts.tolist())])
        for ids, part in zip(in_shard.sends, parts, strict=True):
            degrees_of_own[ids] += part
    return shard.with_mirrors(communicator, degrees_of_own)
