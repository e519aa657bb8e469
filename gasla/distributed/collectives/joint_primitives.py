"""The primitives of the distributed engine: connected components, simple graphs, and triangle counts."""

from typing import Any

import numpy as np

from gasla.distributed.block_array import BlockArray, Handle
from gasla.distributed.collectives.card_components import label_on_cards
from gasla.distributed.collectives.components import label_components
from gasla.distributed.collectives.triangles import count_on_replica, count_triangles
from gasla.distributed.communicator import Rank
from gasla.distributed.engine.unsupported import not_whole
from gasla.distributed.replicas import bytes_of_replica, rooms


class DistributedPrimitives:
    """The operations on whole distributed graphs that are no vertex programs, such as connected components
    (`gasla.engines.Primitives`).
    """

    def label_components(self, graph: Any) -> tuple[int, BlockArray]:
        """Return the number of components, and the component of each vertex."""
        handle = Handle(graph.ranks)
        count = graph.ranks.each(_label, graph.handle.key, handle.key, graph.id_dtype)[0]
        return count, BlockArray(handle, "labels", (graph.n,), graph.id_dtype)

    def simplify(self, graph: Any) -> Any:
        """Return the simple undirected graph: each edge in both directions, without loops and parallel edges.

        If `graph` is simple, return it unchanged.
        """
        return graph if graph.is_simple else graph.kept("simple", lambda _: graph.simplified())

    def orient(self, graph: Any) -> Any:
        """Return `graph` unchanged, where other engines direct each edge from lower to higher degree to count
        triangles.

        The ranks of a distributed graph direct their edges when they count.
        """
        return graph

    def count_common_neighbors(self, lists: Any, per_vertex: bool) -> tuple[int, BlockArray | None]:
        """Return the number of triangles of a simple distributed graph, and with `per_vertex` also the number at each
        vertex, otherwise None.
        """
        handle = Handle(lists.ranks)
        replica_fits = lists.ranks.has_cards and min(rooms(lists)) >= bytes_of_replica(lists)
        count = count_on_replica if replica_fits else count_triangles
        triangle_count = lists.ranks.each(count, lists.handle.key, handle.key, per_vertex)[0]
        return triangle_count, BlockArray(handle, "counts", (lists.n,), np.dtype(np.int64)) if per_vertex else None

    def __getattr__(self, name: str) -> Any:
        raise not_whole(name)


def _label(rank: Rank, *arguments: Any) -> int:
    """Find the connected components of a distributed graph, and return the number of components (collective).

    The GPUs find them if they can access each other's memory, and otherwise the CPU does.
    """
    return (label_on_cards if rank.reaches_cards else label_components)(rank, *arguments)
