"""Color a graph greedily in a given order, vertex by vertex on one thread.

Each adjacency list is read once. Several threads would have to wait for each other's colors, or meet at a barrier in
each of hundreds of rounds: on a skewed graph, two cores take several times as long as one.

D. J. A. Welsh, M. B. Powell: An upper bound for the chromatic number of a graph and its application to timetabling
problems. The Computer Journal 10 (1967).
"""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.runtime.blocks import run
from gasla.cpu.runtime.intrinsics import prefetch
from gasla.cpu.runtime.threads import is_stopped
from gasla.graph.adjacency import Adjacency

Array = np.ndarray[Any, Any]

_ZERO, _ONE = np.uint64(0), np.uint64(1)
# adjacency lists are prefetched _NEAR vertices ahead, and the offsets of the lists _FAR vertices ahead
_NEAR, _FAR = np.uint64(8), np.uint64(24)
_LINE = np.uint64(16)  # number of vertex ids of 4 bytes in a cache line of 64 bytes
_LOOKS = 16  # estimated time for each edge, in units of the time to read one edge; tells whether the run takes long


def color_in_order(lists: Adjacency, order: Array, colors: Array) -> None:
    """Give colors, in place, to the vertices whose color is -1, in the given order (`primitives.color_in_order`)."""
    n, m = len(order), len(lists.indices)
    taken = np.zeros(n + 2, lists.indices.dtype)
    run(_color, 0, (lists.indptr, lists.indices), order, colors, taken, most=_LOOKS * (n + m))


@compiled
def _color(thread, threads, control, lists, order, colors, taken):
    """Give each vertex without a color, in the given order, the smallest color that no neighbor has.

    ``taken[c + 1]`` is 1 + the vertex for which color c was last seen at a neighbor.
    """
    indptr, indices = lists
    color_limit, n = np.int64(len(order)), np.uint64(len(order))
    for i in range(n):
        v = np.uint64(order[i])
        prefetch(indptr, np.uint64(order[min(i + _FAR, n - _ONE)]))
        start = np.uint64(indptr[np.uint64(order[min(i + _NEAR, n - _ONE)])])
        prefetch(indices, start)
        prefetch(indices, start + _LINE)
        if colors[v] < 0:
            for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
                # any color of n or more counts as n: only smaller ones matter, as n vertices need no color above n - 1
                color = min(np.int64(colors[np.uint64(indices[k])]), color_limit)
                taken[np.uint64(color + 1)] = v + _ONE
            least = _ZERO
            while np.uint64(taken[least + _ONE]) == v + _ONE:
                least += _ONE
            colors[v] = least
            if is_stopped(control):
                return
