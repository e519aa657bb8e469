"""Core numbers of flat graphs: each thread removes its vertices of the lowest degree, and all that thereby fall to it.

Threads meet only when a level is done, so a level of many steps, as on a grid, costs no more than its edges. Graphs
with hubs have many levels, and threads would change the same degrees: there one thread removes vertices one by one.

H. Kabir, K. Madduri: Parallel k-core decomposition on multicore platforms. IPDPS Workshops 2017.

Parameters of the kernels
-------------------------
thread, threads :
    number of this thread, from 0, and of all threads
control :
    words by which threads take blocks, meet and see that the run is stopped
indptr, indices :
    (n + 1,) and (m,) adjacency lists
degrees :
    (n,) ids, the remaining degree of each vertex, in the end its core number
stay :
    (n,) ids, the vertices above the level, in a part for each thread
stacks, stack, top :
    (threads, n) ids, this thread's row, and its end: vertices to remove
words :
    (8 * threads,) int64, the lowest degree that each thread has left, each in a cache line of its own
level :
    the degree at which vertices are removed
shared :
    whether several threads lower degrees, which then needs atomic operations
"""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.primitive.depth_first import peel_one_by_one
from gasla.cpu.runtime.blocks import go_on, inlined, run, threads_for
from gasla.cpu.runtime.intrinsics import fetch_add_relaxed, load_unordered
from gasla.cpu.runtime.threads import barrier, is_stopped
from gasla.graph.graph import Graph

Array = np.ndarray[Any, Any]

_FLAT = 16  # most neighbors of a vertex in a flat graph, which therefore has at most this many levels
_NONE, _ONE = np.uint64(0), np.uint64(1)
_LINE = np.uint64(8)  # words of a cache line
_LOOKS = 16  # rough work per edge, in units of the work to read one edge
_ALL = np.iinfo(np.int64).max


def peel(graph: Graph) -> Array:
    """Return the core number of every vertex of a simple graph (`primitives.peel`)."""
    if graph.max_out_degree > _FLAT:
        return peel_one_by_one(graph)[0]
    n, work = graph.n, graph.n + graph.m
    team = threads_for(work)
    degrees, stay, stacks = (np.empty(shape, graph.id_dtype) for shape in (n, n, (team, n)))
    words = np.zeros(8 * team, np.int64)
    run(_peel, work, graph.out.indptr, graph.out.indices, degrees, stay, stacks, words, most=_LOOKS * work, team=team)
    return degrees


@compiled
def _peel(thread, threads, control, indptr, indices, degrees, stay, stacks, words):
    """Remove all vertices, those with the lowest degree first. `stay` has the vertices that are left, by thread."""
    n, stack, own = np.uint64(len(degrees)), stacks[thread], _LINE * np.uint64(thread)
    begin, end = n * np.uint64(thread) // np.uint64(threads), n * np.uint64(thread + 1) // np.uint64(threads)
    for v in range(begin, end):
        degrees[v], stay[v] = indptr[v + _ONE] - indptr[v], v
    level = np.int64(-1)
    while True:
        end, words[own] = _left(stay, begin, end, degrees, level)
        barrier(control, threads)
        level = np.int64(_ALL)
        for other in range(threads):
            level = min(level, words[_LINE * np.uint64(other)])
        if level == _ALL:
            return
        top = _NONE
        if words[own] == level:
            for i in range(begin, end):
                if degrees[np.uint64(stay[i])] == level:
                    stack[top] = stay[i]
                    top += _ONE
        barrier(control, threads)  # from here on, a vertex that falls to the level is pushed by whoever lowers it
        _drain(control, indptr, indices, degrees, stack, top, level, threads > 1)
        if not go_on(thread, threads, control, True):
            return


@inlined
def _left(stay, begin, end, degrees, level):
    """Keep the vertices above a level. Return their new end, and the lowest degree of them."""
    kept, lowest = begin, np.int64(_ALL)
    for i in range(begin, end):
        degree = np.int64(degrees[np.uint64(stay[i])])
        if degree > level:
            stay[kept] = stay[i]
            kept += _ONE
            lowest = min(lowest, degree)
    return kept, lowest


@compiled
def _drain(control, indptr, indices, degrees, stack, top, level, shared):
    """Remove the vertices on the stack, and the vertices whose degree thereby falls to the level."""
    while top > _NONE:
        if is_stopped(control):
            return
        top -= _ONE
        v = np.uint64(stack[top])
        for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
            u = np.uint64(indices[k])
            if load_unordered(degrees, u) > level:
                if shared:
                    before = np.int64(fetch_add_relaxed(degrees, u, -1))
                else:
                    before = np.int64(degrees[u])
                    degrees[u] -= 1
                if before == level + 1:
                    stack[top] = u
                    top += _ONE
                elif before <= level:
                    fetch_add_relaxed(degrees, u, 1)
