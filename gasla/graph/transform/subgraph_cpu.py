"""`Graph.subgraph` on the CPU: reads only the adjacency lists of the chosen vertices, in several threads.

Each list is read twice: first to count the entries that remain, which gives the offsets, then to write them. The second
read comes from the cache. It is cheaper than to allocate memory for entries that may be dropped.

Parameters of the kernels
-------------------------
thread, threads :
    the number of this thread, from 0, and the number of threads
control :
    an array of integers that threads share: the next block of vertices to process, and whether the run is to stop
chosen :
    (count,) ids of the vertices that remain, ascending
indptr, indices :
    (n + 1,) offsets and (m,) neighbors: the adjacency lists of the whole graph
number :
    (n,) integers: 1, 2, … for the chosen vertices, 0 for all other vertices
lengths :
    (count,) int64, the number of neighbors of each chosen vertex that remain, which is written
firsts :
    (count + 1,) int64, where the remaining neighbors of each chosen vertex begin in `targets`
targets, places :
    (firsts[count],) arrays that are written: the new ids of the neighbors that remain, and their positions in `indices`
grain :
    the number of chosen vertices in a block
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from gasla.arrays import index_dtype, running_sums
from gasla.compiler.function import compiled
from gasla.cpu.runtime.blocks import SMALL, block_size, blocks, run, threads_for
from gasla.graph.adjacency import Adjacency, Array


def is_for(lists: Adjacency) -> bool:
    """Return whether the function `cut` can make a subgraph from adjacency lists, and is faster than array operations.

    The edges have to be in the order of the input. A kernel has to be compiled first, so `cut` is faster only for
    long lists.
    """
    return lists.edge_ids is None and len(lists.indices) >= SMALL


def cut(lists: Adjacency, chosen: Array, number: Array) -> tuple[Adjacency, Array]:
    """Return the adjacency lists of the subgraph of the chosen vertices, and the old position of each entry.

    `lists` are those of the whole graph, and `chosen` the ids of the vertices, ascending. `number` has 1, 2, … for them
    in this order, and 0 for all other vertices.
    """
    indptr, indices, count = lists.indptr, lists.indices, len(chosen)
    work = int((indptr[1:][chosen] - indptr[chosen]).sum())
    grain = block_size(count, threads_for(work))
    dtype = index_dtype(len(indices))  # the dtype of edge numbers
    lengths = np.empty(count, np.int64)
    run(_count, work, chosen, indptr, indices, number, lengths, grain)
    firsts = running_sums(lengths)
    targets, positions = np.empty(firsts[-1], number.dtype), np.empty(firsts[-1], dtype)
    run(_fill, work, chosen, indptr, indices, number, firsts, targets, positions, grain)
    return Adjacency(firsts.astype(dtype, copy=False), targets), positions


@compiled
def _count(thread, threads, control, chosen, indptr, indices, number, lengths, grain):
    """Count the neighbors of each chosen vertex that are chosen vertices themselves."""
    for start, end in blocks(control, np.uint64(len(chosen)), grain):
        for i in range(start, end):
            v, staying = np.uint64(chosen[i]), np.int64(0)
            for e in range(np.uint64(indptr[v]), np.uint64(indptr[v + np.uint64(1)])):
                staying += number[np.uint64(indices[e])] > 0
            lengths[i] = staying


@compiled
def _fill(thread, threads, control, chosen, indptr, indices, number, firsts, targets, places, grain):
    """Write the new ids of the neighbors of each chosen vertex that are chosen themselves, and their old positions."""
    for start, end in blocks(control, np.uint64(len(chosen)), grain):
        for i in range(start, end):
            v, place = np.uint64(chosen[i]), np.uint64(firsts[i])
            for e in range(np.uint64(indptr[v]), np.uint64(indptr[v + np.uint64(1)])):
                target = number[np.uint64(indices[e])]
                if target > 0:
                    targets[place], places[place] = target - 1, e
                    place += np.uint64(1)
