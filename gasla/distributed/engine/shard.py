"""A rank's shard of a graph for one direction: a local Graph with all edges over which own vertices gather.

Local vertices are the rank's own vertices in their order, followed by *mirrors*, copies of the neighbors that other
ranks own, by global id and therefore by owner. In the local graph every edge is an in-edge of the vertex that gathers
over it, whatever the direction of the program; edges are in the order of the input.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from gasla.arrays import Device, moved
from gasla.distributed.communicator import Communicator
from gasla.distributed.engine.partition import Edges, Share, exchange_arrays, owners_of, send_to
from gasla.graph.arguments import NO_LIMIT
from gasla.graph.graph import Graph


@dataclass(eq=False)
class Shard:
    """The local graph, and the correspondence of its vertices with those of other ranks."""

    graph: Graph
    first: int  # global id of the first own vertex
    own: int  # number of own vertices
    n: int  # number of vertices of all ranks
    m: int  # number of edges of all ranks
    bounds: np.ndarray  # rank r owns the vertices bounds[r] to bounds[r + 1] - 1
    mirrors: np.ndarray  # global ids of the mirrors, ascending
    cuts: np.ndarray  # local vertices cuts[r] to cuts[r + 1] - 1 mirror vertices of rank r
    sends: list[np.ndarray]  # sends[r]: own vertices that rank r mirrors, in the order of its mirrors
    edge_ids: np.ndarray  # global edge number of each local edge
    leaves: np.ndarray | None = None  # for direction "all": whether each edge is stored in this direction
    copy: Graph | None = None  # of the local graph, on this rank's card

    @cached_property
    def ids(self) -> np.ndarray:
        """The global id of each local vertex."""
        return np.concatenate([np.arange(self.first, self.first + self.own, dtype=np.int64), self.mirrors])

    def array_on(self, device: Device, key: Hashable, array: np.ndarray) -> Any:
        """An array that belongs to the shard, on a device; a copy on a card is kept by its key."""
        if device == self.graph.device:
            return array
        return self.graph_on(device).kept(("of the shard", key), lambda _: moved(array, device))

    def ids_as(self, kind: np.dtype) -> np.ndarray:
        """`ids` in the type of the ids of the whole graph; the array is kept."""
        return self.graph.kept(("ids", kind), lambda _: self.ids.astype(kind))

    def graph_on(self, device: Device) -> Graph:
        """The local graph on a device; the copy on a card is kept."""
        if device == self.graph.device:
            return self.graph
        if self.copy is None:
            self.copy = self.graph.to(device)
        return self.copy

    @property
    def nbytes(self) -> int:
        """Bytes held now."""
        return self.graph.nbytes + self.mirrors.nbytes + self.edge_ids.nbytes + sum(ids.nbytes for ids in self.sends)

    def local_of(self, vertex: int) -> int | None:
        """The local number of a global vertex; None if it is not in this shard."""
        if 0 <= vertex - self.first < self.own:
            return vertex - self.first
        place = int(self.mirrors.searchsorted(vertex))
        return self.own + place if place < len(self.mirrors) and self.mirrors[place] == vertex else None

    def local(self, vertices: np.ndarray) -> np.ndarray:
        """The local numbers of some global vertices; vertices not in this shard are dropped."""
        vertices = np.asarray(vertices, np.int64)
        own = vertices[(vertices >= self.first) & (vertices < self.first + self.own)] - self.first
        places = np.searchsorted(self.mirrors, vertices)
        is_mirror = places < len(self.mirrors)
        is_mirror[is_mirror] = self.mirrors[places[is_mirror]] == vertices[is_mirror]
        return np.concatenate([own, places[is_mirror] + self.own])

    def with_mirrors(self, communicator: Communicator, values: np.ndarray) -> np.ndarray:
        """Append the values of the mirrors, received from their owners, to values of own vertices."""
        return np.concatenate([values, *exchange_arrays(communicator, [values[ids] for ids in self.sends])])


def shard_of(communicator: Communicator, share: Share, direction: str, mirrors_all: bool = False) -> Shard:
    """Make a rank's shard of its share (collective); `mirrors_all`: of all vertices, not only of neighbors."""
    rank, bounds = communicator.rank, share.bounds
    first, own = int(bounds[rank]), int(bounds[rank + 1] - bounds[rank])
    edges, leaves = _gather_edges(communicator, share, direction)
    is_mirror = (edges.src < first) | (edges.src >= first + own)
    mirrors = np.unique(edges.src[is_mirror])
    if mirrors_all:
        mirrors = np.concatenate([np.arange(first, dtype=np.int64), np.arange(first + own, share.n, dtype=np.int64)])
    src = edges.src - first
    src[is_mirror] = own + np.searchsorted(mirrors, edges.src[is_mirror])
    graph = Graph.from_edges(src, edges.dst - first, edges.values, n=own + len(mirrors))
    owners = owners_of(bounds, mirrors)
    wanted = [mirrors[owners == r] for r in range(communicator.size)]
    sends = [(ids - first).astype(graph.id_dtype) for ids in exchange_arrays(communicator, wanted)]
    cuts = own + np.searchsorted(owners, np.arange(communicator.size + 1))
    shard = Shard(graph, first, own, share.n, share.m, bounds, mirrors, cuts, sends, edges.ids, leaves)
    _keep_global_sizes(communicator, shard, direction)
    return shard


def _gather_edges(communicator: Communicator, share: Share, direction: str) -> tuple[Edges, np.ndarray | None]:
    """The edges over which own vertices gather: `dst` is the own vertex, `src` the neighbor.

    For direction "all" each edge appears at both ends, first at its source; the second result is whether an entry has
    the stored direction.
    """
    edges = share.edges
    if direction == "in":
        return edges, None
    reverse = Edges(edges.dst, edges.src, edges.ids, edges.values)
    reverse = send_to(communicator, share.owners(edges.src), reverse)
    if direction == "out":
        return reverse.taken(np.argsort(reverse.ids, kind="stable")), None
    both = [np.concatenate(pair) for pair in zip(reverse.columns(), edges.columns(), strict=True)]
    is_stored = np.repeat([False, True], [len(reverse.ids), len(edges.ids)])
    order = np.lexsort((is_stored, both[2]))
    values = both[3] if edges.values is not None else None
    return Edges(both[0], both[1], both[2], values).taken(order), is_stored[order]


def _keep_global_sizes(communicator: Communicator, shard: Shard, direction: str) -> None:
    """Store the global sizes in the local graph, from which engines choose the order of float additions.

    So all ranks choose the same order. For direction "all" the number of edges counts as unlimited.
    """
    longest = int(np.max(communicator.allgather(np.array([shard.graph.max_in_degree]))))
    edges = shard.m if direction != "all" else NO_LIMIT
    shard.graph.kept("whole", lambda _: (shard.n, edges, longest))


def degrees(communicator: Communicator, share: Share, shard: Shard, which: str) -> np.ndarray:
    """The global in- or out-degrees of a shard's own vertices and mirrors (collective)."""
    rank, bounds = communicator.rank, share.bounds
    first, own = int(bounds[rank]), int(bounds[rank + 1] - bounds[rank])
    ends = share.edges.dst
    if which == "out":
        order = np.sort(share.edges.src)
        cuts = np.searchsorted(order, bounds)
        ends = np.concatenate(exchange_arrays(communicator, [order[a:b] for a, b in pairwise(cuts)]))
    return shard.with_mirrors(communicator, np.bincount(ends - first, minlength=own).astype(np.int64))
