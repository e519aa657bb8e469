"""`Graph.contract` with the monoid `plus` on the CPU: weights between groups are added up in a dense table per thread.

A thread processes one group at a time. It reads the edges of the group's vertices and adds their weights to a table
with one entry per target group. Only the resulting edges are sorted.

Parameters of the kernels
-------------------------
thread, threads :
    the number of this thread, from 0, and the number of threads
control :
    an array of integers that threads share: the next block of groups to process, and whether the run is to stop
starts, members :
    (count + 1,) offsets and (n,) vertices: the vertices of each group
indptr, indices, weights :
    (n + 1,) offsets, (m,) neighbors and (m,) weights: the adjacency lists of the graph, and the weights of their edges
became :
    (n,) ids, the group of each vertex
firsts :
    (count + 1,) int64, where each group's entries begin in `targets` and `totals`
loops :
    whether edges within a group become a self loop; otherwise they are dropped
seen, sums :
    (threads, count) working memory: for each target group, the last group that had an edge to it, and the sum of
    weights so far
lengths, targets, totals :
    (count,) int64, (m,) ids and (m,) weights that are written: for each group the number of groups that its edges lead
    to, these groups, and the total weight of the edges to each of them
grain :
    the number of groups in a block
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from gasla.arrays import index_dtype, running_sums
from gasla.compiler.function import compiled
from gasla.cpu.runtime.blocks import SMALL, block_size, blocks, run, threads_for
from gasla.graph.adjacency import Adjacency, Array
from semirings import Monoid

_KINDS = frozenset(map(np.dtype, ("i4", "i8", "f4", "f8")))  # dtypes of weights for which the kernel is compiled


def is_for(lists: Adjacency | None, weights: Array | None, monoid: Monoid, count: int) -> bool:
    """Return whether the function `summed` can contract a graph with a monoid, and is faster than a sort of all edges.

    `count` is the number of groups of vertices.
    """
    if lists is None or weights is None or lists.edge_ids is not None:
        return False
    m = len(lists.indices)
    # With this condition, the tables of all threads (an entry per group each) take no more memory than the edges.
    is_worth_it = m >= SMALL and threads_for(m) * count <= m
    return is_worth_it and monoid.op.function is np.add and weights.dtype in _KINDS


def summed(lists: Adjacency, weights: Array, became: Array, count: int, loops: bool) -> tuple[Adjacency, Array]:
    """Return a contracted graph: sorted adjacency lists of groups of vertices, and the total weights of their edges.

    `became` has the group of each vertex. The weights of the edges between two groups are added in the order of the
    input. With `loops`, edges within a group become a self loop; otherwise they are dropped.
    """
    starts, _, members = Adjacency.grouped(became, became, count)
    degrees = np.diff(lists.indptr)[members]
    firsts = running_sums(degrees)[starts]
    m = int(firsts[-1])
    threads = threads_for(m)
    seen, sums = np.full((threads, count), -1, became.dtype), np.empty((threads, count), weights.dtype)
    lengths, targets, totals = np.empty(count, np.int64), np.empty(m, became.dtype), np.empty(m, weights.dtype)
    arguments = starts, members, lists.indptr, lists.indices, weights, became, firsts, loops
    run(_sum, m, *arguments, seen, sums, lengths, targets, totals, block_size(count, threads), team=threads)
    indptr = running_sums(lengths)
    positions = np.arange(indptr[-1]) + np.repeat(firsts[:-1] - indptr[:-1], lengths)
    dtype = index_dtype(len(positions))
    adjacency = Adjacency(indptr.astype(dtype), targets[positions]).transposed().transposed()
    return Adjacency(adjacency.indptr, adjacency.indices), totals[positions[adjacency.edge_ids]]


@compiled
def _sum(
    thread, threads, control, starts, members, indptr, indices, weights, became, firsts, loops, seen, sums, lengths,
    targets, totals, grain
):  # fmt: skip
    """Write, for each group of vertices, the groups that its edges lead to, and the total weights of these edges.

    The groups are written in the order in which they first occur.
    """
    seen_by, sum_of = seen[thread], sums[thread]
    for start, end in blocks(control, np.uint64(len(lengths)), grain):
        for group in range(np.int64(start), np.int64(end)):
            first = place = np.uint64(firsts[np.uint64(group)])
            for k in range(np.uint64(starts[np.uint64(group)]), np.uint64(starts[np.uint64(group + 1)])):
                v = np.uint64(members[k])
                for e in range(np.uint64(indptr[v]), np.uint64(indptr[v + np.uint64(1)])):
                    other = became[np.uint64(indices[e])]
                    if other == group and not loops:
                        continue
                    target = np.uint64(other)
                    if seen_by[target] == group:
                        sum_of[target] += weights[e]
                    else:
                        seen_by[target] = group
                        sum_of[target] = weights[e]
                        targets[place] = other
                        place += np.uint64(1)
            lengths[np.uint64(group)] = place - first
            for k in range(first, place):
                totals[k] = sum_of[np.uint64(targets[k])]
