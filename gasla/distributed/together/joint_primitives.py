"""The stages that need no program, as far as ranks have them: components, a simple graph, triangles."""

from typing import Any

import numpy as np

from gasla.distributed.block_array import BlockArray, Handle
from gasla.distributed.engine.refusals import absent
from gasla.distributed.together.components import label_components
from gasla.distributed.together.triangles import count_triangles


class DistributedPrimitives:
    """See `gasla.engines.Primitives`."""

    def label_components(self, graph: Any) -> tuple[int, BlockArray]:
        """How many components there are, and the number of each vertex's own."""
        handle = Handle(graph.ranks)
        count = graph.ranks.each(label_components, graph.handle.key, handle.key, graph.id_dtype)[0]
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
        raise absent(f"a distributed graph has no {name}: it needs lists of neighbours that no process has")
