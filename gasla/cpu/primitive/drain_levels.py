"""Compute core numbers of graphs with small degrees: each thread removes its vertices of the lowest remaining degree.

A level is the removal of all vertices of the lowest degree, and of all vertices whose degree thereby falls to it.
Threads wait for each other only at the end of a level. So a level of many steps, as on a grid, costs no more than
reading its edges. Graphs with vertices of large degree have many levels, and their threads would update the same
degrees. There one thread removes vertices one by one instead.

H. Kabir, K. Madduri: Parallel k-core decomposition on multicore platforms. IPDPS Workshops 2017.

Parameters of the kernels
-------------------------
thread, threads :
    index of this thread, from 0, and the number of threads of the run
control :
    (72,) int64 array that all threads of the run share: counters by which they take blocks of work and wait for each
    other, and the flag that stops the run
indptr, indices :
    (n + 1,) offsets of the adjacency lists, and (m,) ids of neighbors
degrees :
    (n,) ids, the remaining degree of each vertex, and in the end its core number
stay :
    (n,) ids, the vertices whose degree is above the level, in a range for each thread
stacks, stack, top :
    (threads, n) ids, a stack of vertices to remove for each thread; this thread's row of it; the height of this stack
words :
    (8 * threads,) int64, the lowest remaining degree of each thread's vertices, each in a cache line of its own
level :
    the degree of the vertices that are removed now
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

# largest degree of a graph whose core numbers several threads compute; it limits the number of levels, each of which
# ends with threads waiting for each other
_FLAT = 16
_NONE, _ONE = np.uint64(0), np.uint64(1)
# number of int64 words in a cache line of 64 bytes, so that each thread's word is on a line of its own
_LINE = np.uint64(8)
_LOOKS = 16  # estimated time for each edge, in units of the time to read one edge; tells whether the run takes long
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
    """Remove all vertices, those with the lowest remaining degree first, so that `degrees` becomes the core numbers.

    `stay` holds the vertices that have not been removed yet, in a range for each thread.
    """
    n, stack, own = np.uint64(len(degrees)), stacks[thread], _LINE * np.uint64(thread)
    begin, end = n * np.uint64(thread) // np.uint64(threads), n * np.uint64(thread + 1) // np.uint64(threads)
    for v in range(begin, end):
        degrees[v], stay[v] = indptr[v + _ONE] - indptr[v], v
    level = np.int64(-1)
    while True:
        end, words[own] = _keep_above_level(stay, begin, end, degrees, level)
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
        # wait until all threads have collected their vertices of this degree: from now on, the thread that lowers a
        # vertex's degree to `level` pushes it
        barrier(control, threads)
        _drain(control, indptr, indices, degrees, stack, top, level, threads > 1)
        if not go_on(thread, threads, control, True):
            return


@inlined
def _keep_above_level(stay, begin, end, degrees, level):
    """Drop from `stay` those of one thread's vertices whose remaining degree is at most `level`.

    The thread's range of `stay` is from `begin` to `end`. Return its new end, and the lowest degree of the vertices
    that are left in it.
    """
    new_end, lowest = begin, np.int64(_ALL)
    for i in range(begin, end):
        degree = np.int64(degrees[np.uint64(stay[i])])
        if degree > level:
            stay[new_end] = stay[i]
            new_end += _ONE
            lowest = min(lowest, degree)
    return new_end, lowest


@compiled
def _drain(control, indptr, indices, degrees, stack, top, level, shared):
    """Remove the vertices on the stack, and then all vertices whose remaining degree thereby falls to `level`."""
    while top > _NONE:
        if is_stopped(control):
            return
        top -= _ONE
        v = np.uint64(stack[top])
        for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
            u = np.uint64(indices[k])
            if load_unordered(degrees, u) > level:
                if shared:
                    old_degree = np.int64(fetch_add_relaxed(degrees, u, -1))
                else:
                    old_degree = np.int64(degrees[u])
                    degrees[u] -= 1
                if old_degree == level + 1:
                    stack[top] = u
                    top += _ONE
                elif old_degree <= level:
                    fetch_add_relaxed(degrees, u, 1)
