"""The edges between some vertices, on the CPU: only their lists are read, and what stays is written to its place.

Each list is read twice: entries that stay are counted, so that every list has its place, and then written. Two reads
from the nearest caches are cheaper than memory for entries that may not stay.
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from gasla.arrays import index_dtype, running_sums
from gasla.compiler.function import compiled
from gasla.cpu.runtime.blocks import SMALL, block_size, blocks, run, threads_for
from gasla.graph.adjacency import Adjacency, Array


def is_for(lists: Adjacency) -> bool:
    """Whether `cut` takes these lists: those of the input, in which a kernel is worth compiling."""
    return lists.edge_ids is None and len(lists.indices) >= SMALL


def cut(lists: Adjacency, chosen: Array, number: Array) -> tuple[Adjacency, Array]:
    """The lists of some vertices, ascending, without all others, and where each entry was.

    `number` is 1, 2, … of the chosen in their order, and 0 of all others.
    """
    indptr, indices, count = lists.indptr, lists.indices, len(chosen)
    work = int((indptr[1:][chosen] - indptr[chosen]).sum())
    grain = block_size(count, threads_for(work))
    kind = index_dtype(len(indices))  # of edge numbers
    lengths = np.empty(count, np.int64)
    run(_count, work, chosen, indptr, indices, number, lengths, grain)
    firsts = running_sums(lengths)
    targets, places = np.empty(firsts[-1], number.dtype), np.empty(firsts[-1], kind)
    run(_fill, work, chosen, indptr, indices, number, firsts, targets, places, grain)
    return Adjacency(firsts.astype(kind, copy=False), targets), places


@compiled
def _count(thread, threads, control, chosen, indptr, indices, number, lengths, grain):
    """Of each list, how many entries stay."""
    for start, end in blocks(control, np.uint64(len(chosen)), grain):
        for i in range(start, end):
            v, staying = np.uint64(chosen[i]), np.int64(0)
            for e in range(np.uint64(indptr[v]), np.uint64(indptr[v + np.uint64(1)])):
                staying += number[np.uint64(indices[e])] > 0
            lengths[i] = staying


@compiled
def _fill(thread, threads, control, chosen, indptr, indices, number, firsts, targets, places, grain):
    """Of each list, the entries that stay, by their new numbers, and where they were."""
    for start, end in blocks(control, np.uint64(len(chosen)), grain):
        for i in range(start, end):
            v, place = np.uint64(chosen[i]), np.uint64(firsts[i])
            for e in range(np.uint64(indptr[v]), np.uint64(indptr[v + np.uint64(1)])):
                target = number[np.uint64(indices[e])]
                if target > 0:
                    targets[place], places[place] = target - 1, e
                    place += np.uint64(1)
