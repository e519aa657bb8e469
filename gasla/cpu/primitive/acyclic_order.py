"""Order an acyclic graph by levels, on one thread: the level of a vertex is the length of the longest path to it.

A vertex enters a queue once all its in-neighbors have been taken from the queue. So the levels follow one another in
the queue without barriers between them, which suits meshes with thousands of levels of little work each.

A. B. Kahn: Topological sorting of large networks. Communications of the ACM 5 (1962).
"""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.runtime.blocks import run
from gasla.cpu.runtime.threads import is_stopped
from gasla.graph.graph import Graph

Array = np.ndarray[Any, Any]

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_LOOKS = 16  # estimated time for each edge, in units of the time to read one edge; tells whether the run takes long


def acyclic_order(graph: Graph) -> tuple[Array, Array, Array]:
    """Return the vertices of a graph by level, their levels, and how many in-edges each vertex still waits for.

    The level of a vertex is the length of the longest path to it. Vertices on a cycle, or after one, wait for in-edges
    at the end. See `primitives.acyclic_order`.
    """
    waiting, levels = graph.in_degrees.copy(), np.full(graph.n, -1, np.int32)
    order, queue, places = (np.empty(size, graph.id_dtype) for size in (graph.n, graph.n, graph.n + 1))
    lists = graph.out.indptr, graph.out.indices
    run(_order, 0, lists, (waiting, levels, order), queue, places, most=_LOOKS * (graph.n + graph.m))
    return order, levels, waiting


@compiled
def _order(thread, threads, control, lists, vertices, queue, places):
    """Compute the level of each vertex (the length of the longest path to it), then sort the vertices by level into
    `order`.

    ``places[level]`` is the position in `order` for the next vertex of a level.
    """
    indptr, indices = lists
    waiting, levels, order = vertices
    n, tail = np.uint64(len(waiting)), _ZERO
    for v in range(n):
        if waiting[v] == 0:
            queue[tail], levels[v] = v, 0
            tail += _ONE
    head = places[0] = _ZERO
    while head < tail:
        v = np.uint64(queue[head])
        level = np.int64(levels[v]) + 1
        head += _ONE
        places[np.uint64(level)] = head
        for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
            u = np.uint64(indices[k])
            waiting[u] -= 1
            if waiting[u] == 0:
                queue[tail], levels[u] = u, level
                tail += _ONE
        if is_stopped(control):
            return
    for v in range(n):
        if levels[v] >= 0:
            level_of_v = np.uint64(levels[v])
            order[np.uint64(places[level_of_v])] = v
            places[level_of_v] += 1
