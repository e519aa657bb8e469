"""`Graph.subgraph` on the CPU: reads only the lists of the chosen vertices, in parallel.

Each list is read twice: first to count the remaining entries, which gives the offsets, then to write them. The second
read comes from the cache, and is cheaper than memory for entries that may be dropped.

Parameters of the kernels
-------------------------
thread, threads :
    number of this thread, from 0, and of all threads
control :
    words by which threads take blocks and see that the run is stopped
chosen :
    (count,) ids of the vertices that stay, ascending
indptr, indices :
    (n + 1,) and (m,) adjacency lists of the whole graph
number :
    (n,) ids: 1, 2, … for the chosen vertices, 0 for all others
lengths, firsts :
    (count,) int64, the number of entries of each chosen vertex that stay; (count + 1,) int64, where they begin
targets, places :
    (firsts[count],) that are written: new ids of the entries that stay, and their old positions
grain :
    number of chosen vertices in a block
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from gasla.arrays import index_dtype, running_sums
from gasla.compiler.function import compiled
from gasla.cpu.runtime.blocks import SMALL, block_size, blocks, run, threads_for
from gasla.graph.adjacency import Adjacency, Array


def is_for(lists: Adjacency) -> bool:
    """Return whether `cut` can and should be used for these lists.

    It can if their entries are in the order of the input. It should if they are long: compiling a kernel takes time.
    """
    return lists.edge_ids is None and len(lists.indices) >= SMALL


def cut(lists: Adjacency, chosen: Array, number: Array) -> tuple[Adjacency, Array]:
    """Return the lists of the `chosen` vertices (ascending) without other vertices, and each entry's old position.

    `number` is 1, 2, … for the chosen vertices in their order, and 0 for all others.
    """
    indptr, indices, count = lists.indptr, lists.indices, len(chosen)
    work = int((indptr[1:][chosen] - indptr[chosen]).sum())
    grain = block_size(count, threads_for(work))
    kind = index_dtype(len(indices))  # type of edge numbers
    lengths = np.empty(count, np.int64)
    run(_count, work, chosen, indptr, indices, number, lengths, grain)
    firsts = running_sums(lengths)
    targets, places = np.empty(firsts[-1], number.dtype), np.empty(firsts[-1], kind)
    run(_fill, work, chosen, indptr, indices, number, firsts, targets, places, grain)
    return Adjacency(firsts.astype(kind, copy=False), targets), places


@compiled
def _count(thread, threads, control, chosen, indptr, indices, number, lengths, grain):
    """Count the remaining entries of each list."""
    for start, end in blocks(control, np.uint64(len(chosen)), grain):
        for i in range(start, end):
            v, staying = np.uint64(chosen[i]), np.int64(0)
            for e in range(np.uint64(indptr[v]), np.uint64(indptr[v + np.uint64(1)])):
                staying += number[np.uint64(indices[e])] > 0
            lengths[i] = staying


@compiled
def _fill(thread, threads, control, chosen, indptr, indices, number, firsts, targets, places, grain):
    """Write the remaining entries of each list with their new numbers, and their old positions."""
    for start, end in blocks(control, np.uint64(len(chosen)), grain):
        for i in range(start, end):
            v, place = np.uint64(chosen[i]), np.uint64(firsts[i])
            for e in range(np.uint64(indptr[v]), np.uint64(indptr[v + np.uint64(1)])):
                target = number[np.uint64(indices[e])]
                if target > 0:
                    targets[place], places[place] = target - 1, e
                    place += np.uint64(1)
