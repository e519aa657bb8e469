"""The stages that need no program, as far as ranks have them: components, a simple graph, triangles."""

from typing import Any

import numpy as np

import semirings
from gasla.distributed.block_array import BlockArray, Handle
from gasla.distributed.communicator import Rank
from gasla.distributed.engine.partition import Share, exchanged, owners_of
from gasla.distributed.engine.running import Compiled
from gasla.distributed.together.facts import SHARE
from gasla.distributed.together.triangles import count_triangles
from gasla.graph.arguments import NO_LIMIT
from gasla.program.binding import AUTO
from gasla.program.fields import ID, vertex
from gasla.program.frontier import Frontier
from gasla.program.program import VertexProgram


class LeastLabel(VertexProgram):
    """label(v) = the least id that any path leads to, whichever way edges point."""

    label = vertex(ID, init=lambda vertex: vertex.id)
    direction = "all"
    reduce = semirings.min

    def gather(self, src: Any, dst: Any, edge: Any) -> Any:
        return src.label

    def apply(self, vertex: Any, gathered: Any) -> Any:
        return {"label": semirings.minimum(vertex.label, gathered)}


class DistributedPrimitives:
    """See `gasla.engines.Primitives`."""

    def label_components(self, graph: Any) -> tuple[int, BlockArray]:
        """How many components there are, and the number of each vertex's own: least labels, then their numbers."""
        runs = Compiled().prepare(LeastLabel(), graph, AUTO)
        running = runs.begin(LeastLabel(), graph, {}, Frontier.all(graph.n))
        try:
            running.advance(NO_LIMIT)
            labels: Any = running.state()["label"]
        finally:
            running.close()
        handle = Handle(graph.ranks)
        count = graph.ranks.each(_numbered, graph.handle.key, labels.handle.key, handle.key)[0]
        return count, BlockArray(handle, "labels", (graph.n,), graph.id_dtype)

    def simplify(self, graph: Any) -> Any:
        """The graph with every edge in both directions, once, and without self loops; itself where it is so."""
        return graph if graph.is_simple else graph.simplified()

    def orient(self, graph: Any) -> Any:
        """The graph: ranks orient their own edges."""
        return graph

    def count_common_neighbours(self, lists: Any, per_vertex: bool) -> tuple[int, BlockArray | None]:
        """How many triangles a simple graph has, and how many each vertex is in."""
        handle = Handle(lists.ranks)
        total = lists.ranks.each(count_triangles, lists.handle.key, handle.key, per_vertex)[0]
        return total, BlockArray(handle, "counts", (lists.n,), np.dtype(np.int64)) if per_vertex else None

    def __getattr__(self, name: str) -> Any:
        raise TypeError(f"a distributed graph has no {name}: it needs lists of neighbours that no process has")


def _numbered(rank: Rank, graph: Any, labels: Any, result: Any) -> int:
    """Number the components in the order of their least vertices."""
    communicator, share = rank.communicator, rank.kept[graph][SHARE]
    first = int(share.bounds[communicator.rank])
    own: np.ndarray = rank.kept[labels]["label"]
    is_root = own == np.arange(first, first + len(own))
    counts = np.concatenate(communicator.allgather(np.array([is_root.sum()], np.int64)))
    numbers = np.cumsum(is_root) - 1 + int(counts[: communicator.rank].sum())
    rank.kept[result] = {"labels": _looked_up(rank, share, numbers, own).astype(own.dtype)}
    return int(counts.sum())


def _looked_up(rank: Rank, share: Share, numbers: np.ndarray, vertices: np.ndarray) -> np.ndarray:
    """What the owners of some vertices have for them."""
    communicator, wanted = rank.communicator, np.unique(vertices).astype(np.int64)
    owners = owners_of(share.bounds, wanted)
    asked = exchanged(communicator, [wanted[owners == r] for r in range(communicator.size)])
    first = int(share.bounds[communicator.rank])
    found = np.concatenate(exchanged(communicator, [numbers[ids - first].astype(np.int64) for ids in asked]))
    return found[np.searchsorted(wanted, vertices)]
