"""A rank's shard of a graph for one direction: a local Graph, in which its own vertices alone receive.

Own vertices come first, in their order; then *mirrors*, the others over which they gather, by id and so by owner. In
the local graph every edge is an in-edge of the vertex that gathers over it, whatever the direction was, and edges are
numbered in the order of the input.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from gasla.distributed.communicator import Communicator
from gasla.distributed.engine.partition import Edges, Share, exchange_arrays, owners_of, send_to
from gasla.graph.arguments import NO_LIMIT
from gasla.graph.graph import Graph


@dataclass(eq=False)
class Shard:
    """See above.

    `sends[r]` are own vertices that rank r mirrors, in the order in which it has them; its own mirrors of rank r's
    vertices are `cuts[r]` to `cuts[r + 1]`, counted from the first local vertex.
    """

    graph: Graph
    first: int  # the global id of its first own vertex
    own: int
    n: int  # vertices, and edges, of all ranks
    m: int
    bounds: np.ndarray
    mirrors: np.ndarray  # global ids, ascending
    cuts: np.ndarray
    sends: list[np.ndarray]
    edge_ids: np.ndarray  # of the local graph's edges
    leaves: np.ndarray | None = None  # where edges of both directions are gathered over, whether each is stored so

    @cached_property
    def ids(self) -> np.ndarray:
        """The global id of every local vertex."""
        return np.concatenate([np.arange(self.first, self.first + self.own, dtype=np.int64), self.mirrors])

    @property
    def nbytes(self) -> int:
        """Bytes of the shard, as it is now."""
        return self.graph.nbytes + self.mirrors.nbytes + self.edge_ids.nbytes + sum(ids.nbytes for ids in self.sends)

    def local(self, vertices: np.ndarray) -> np.ndarray:
        """The local vertices that these global ones are, of those that are here."""
        vertices = np.asarray(vertices, np.int64)
        own = vertices[(vertices >= self.first) & (vertices < self.first + self.own)] - self.first
        places = np.searchsorted(self.mirrors, vertices)
        is_mirror = places < len(self.mirrors)
        is_mirror[is_mirror] = self.mirrors[places[is_mirror]] == vertices[is_mirror]
        return np.concatenate([own, places[is_mirror] + self.own])

    def with_mirrors(self, communicator: Communicator, values: np.ndarray) -> np.ndarray:
        """Values of own vertices, and after them those of the mirrors, from their owners."""
        return np.concatenate([values, *exchange_arrays(communicator, [values[ids] for ids in self.sends])])


def shard_of(communicator: Communicator, share: Share, direction: str) -> Shard:
    """The shard of a rank, made of the edges that each rank has a share of."""
    rank, bounds = communicator.rank, share.bounds
    first, own = int(bounds[rank]), int(bounds[rank + 1] - bounds[rank])
    edges, leaves = _gathered_over(communicator, share, direction)
    is_mirror = (edges.src < first) | (edges.src >= first + own)
    mirrors = np.unique(edges.src[is_mirror])
    src = edges.src - first
    src[is_mirror] = own + np.searchsorted(mirrors, edges.src[is_mirror])
    graph = Graph.from_edges(src, edges.dst - first, edges.values, n=own + len(mirrors))
    owners = owners_of(bounds, mirrors)
    wanted = [mirrors[owners == r] for r in range(communicator.size)]
    sends = [(ids - first).astype(graph.id_dtype) for ids in exchange_arrays(communicator, wanted)]
    cuts = own + np.searchsorted(owners, np.arange(communicator.size + 1))
    shard = Shard(graph, first, own, share.n, share.m, bounds, mirrors, cuts, sends, edges.ids, leaves)
    _tell_facts(communicator, shard, direction)
    return shard


def _gathered_over(communicator: Communicator, share: Share, direction: str) -> tuple[Edges, np.ndarray | None]:
    """The edges over which own vertices gather: `dst` is the own vertex, `src` its neighbour.

    In both directions an edge seen from its tail comes before the same edge seen from its head, from which it is as it
    is stored: so it is told.
    """
    edges = share.edges
    if direction == "in":
        return edges, None
    turned = Edges(edges.dst, edges.src, edges.ids, edges.values)
    turned = send_to(communicator, share.owners(edges.src), turned)
    if direction == "out":
        return turned.taken(np.argsort(turned.ids, kind="stable")), None
    both = [np.concatenate(pair) for pair in zip(turned.columns(), edges.columns(), strict=True)]
    is_stored = np.repeat([False, True], [len(turned.ids), len(edges.ids)])
    order = np.lexsort((is_stored, both[2]))
    values = both[3] if edges.values is not None else None
    return Edges(both[0], both[1], both[2], values).taken(order), is_stored[order]


def _tell_facts(communicator: Communicator, shard: Shard, direction: str) -> None:
    """Have the local graph know what an engine goes by where it decides in which order floats are added.

    Where vertices gather over both directions, that is as if lists were long.
    """
    longest = int(np.max(communicator.allgather(np.array([shard.graph.max_in_degree]))))
    edges = shard.m if direction != "all" else NO_LIMIT
    shard.graph.kept("whole", lambda _: (shard.n, edges, longest))


def degrees(communicator: Communicator, share: Share, shard: Shard, which: str) -> np.ndarray:
    """The in- or out-degrees, in the whole graph, of a shard's own vertices and mirrors."""
    rank, bounds = communicator.rank, share.bounds
    first, own = int(bounds[rank]), int(bounds[rank + 1] - bounds[rank])
    ends = share.edges.dst
    if which == "out":
        order = np.sort(share.edges.src)
        cuts = np.searchsorted(order, bounds)
        ends = np.concatenate(exchange_arrays(communicator, [order[a:b] for a, b in pairwise(cuts)]))
    return shard.with_mirrors(communicator, np.bincount(ends - first, minlength=own).astype(np.int64))
