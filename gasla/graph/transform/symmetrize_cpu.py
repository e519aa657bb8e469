"""`Graph.symmetrized` on the CPU: for each vertex, the sorted lists of out-neighbors and in-neighbors are merged.

Threads merge the lists of different vertices at the same time. A sort of the edges in both directions would need
several arrays of twice the edges. This method needs memory only for the lists of in-neighbors and the result.

Parameters of the kernels
-------------------------
thread, threads :
    the number of this thread, from 0, and the number of threads
control :
    an array of integers that threads share: the next block of vertices to process, and whether the run is to stop
indptr, indices :
    (n + 1,) offsets and (m,) neighbors of sorted adjacency lists: out-neighbors in `_merge`, and neighbors in both
    directions in `_pair`
starts, sources :
    (n + 1,) offsets and (m,) in-neighbors of each vertex, sorted
starts, targets :
    in `_pair`, (n + 1,) offsets and (m,) out-neighbors of each vertex, sorted
lengths :
    (n,) int64, the number of merged neighbors of each vertex, which is written
firsts :
    (n + 1,) int64, where the merged neighbors of each vertex begin in `targets`, or an empty array to count only
targets :
    in `_merge`, (firsts[n],) vertex ids, the merged neighbors, which are written
cursor :
    (n,) integers, the position in each adjacency list up to which reverse edges have been found
canonical :
    (entries,) positions that are written: for each merged entry, the position of the entry i -> j with i <= j that
    joins the same vertices
slots :
    (m,) positions that are written: for each edge, the position of that entry
grain :
    the number of vertices in a block
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from gasla.arrays import index_dtype, running_sums
from gasla.compiler.function import compiled
from gasla.cpu.runtime.blocks import block_size, blocks, run, threads_for
from gasla.graph.adjacency import Adjacency, Array
from gasla.graph.lists_cpu import transpose_pattern


def merged(rows: Adjacency) -> Adjacency:
    """Return sorted adjacency lists with every edge i -> j of the lists `rows` and its reverse edge j -> i, each once.

    The adjacency lists `rows` have to be sorted.
    """
    lists = rows.indptr, rows.indices, *transpose_pattern(rows.indptr, rows.indices)
    n, work = len(rows.indptr) - 1, 2 * len(rows.indices)
    grain = block_size(n, threads_for(work))
    lengths, dtype = np.zeros(n, np.int64), index_dtype(n)
    run(_merge, work, *lists, lengths, np.empty(0, np.int64), np.empty(0, dtype), grain)
    firsts = running_sums(lengths)
    targets = np.empty(firsts[-1], dtype)
    run(_merge, work, *lists, lengths, firsts, targets, grain)
    return Adjacency(firsts.astype(index_dtype(len(targets))), targets)


def paired(both: Adjacency, rows: Adjacency) -> tuple[Array, Array]:
    """Return, for edges between the same two vertices, the one position at which their values are reduced.

    This is the position of the entry i -> j with i <= j in the adjacency lists `both`. The first array has the position
    for each entry of `both`, and the second array for each edge of `rows`.
    """
    canonical = np.empty(len(both.indices), both.indptr.dtype)
    slots = np.empty(len(rows.indices), both.indptr.dtype)
    cursor = np.zeros(len(both.indptr) - 1, both.indptr.dtype)
    run(_pair, 0, both.indptr, both.indices, rows.indptr, rows.indices, cursor, canonical, slots, most=len(canonical))
    if rows.edge_ids is not None:
        slots[rows.edge_ids] = slots.copy()
    return canonical, slots


@compiled
def _merge(thread, threads, control, indptr, indices, starts, sources, lengths, firsts, targets, grain):
    """Merge the out-neighbors and in-neighbors of each vertex into `targets`. If `firsts` is empty, only count them."""
    writes = len(firsts) > 0
    for start, end in blocks(control, np.uint64(len(lengths)), grain):
        for v in range(start, end):
            a, a_end = np.uint64(indptr[v]), np.uint64(indptr[v + np.uint64(1)])
            b, b_end = np.uint64(starts[v]), np.uint64(starts[v + np.uint64(1)])
            first = place = np.uint64(firsts[v]) if writes else np.uint64(0)
            while a < a_end or b < b_end:
                least = indices[a] if b == b_end or (a < a_end and indices[a] <= sources[b]) else sources[b]
                while a < a_end and indices[a] == least:
                    a += np.uint64(1)
                while b < b_end and sources[b] == least:
                    b += np.uint64(1)
                if writes:
                    targets[place] = least
                place += np.uint64(1)
            lengths[v] = place - first


@compiled
def _pair(thread, threads, control, indptr, indices, starts, targets, cursor, canonical, slots):
    """Find the position of the reverse edge i -> j for every edge j -> i with i < j.

    Vertices j are processed in ascending order, which is also their order in the sorted adjacency list of i. So it
    suffices to keep one position in each list (`cursor`), from which the next reverse edge is looked for.
    """
    for v in range(np.uint64(len(cursor))):
        k, k_end = np.uint64(starts[v]), np.uint64(starts[v + np.uint64(1)])
        cursor[v] = indptr[v]
        for place in range(np.uint64(indptr[v]), np.uint64(indptr[v + np.uint64(1)])):
            neighbor = np.uint64(indices[place])
            first_place = place
            if neighbor < v:
                first_place = np.uint64(cursor[neighbor])
                cursor[neighbor] += 1
            if neighbor <= v:
                cursor[v] += 1
            canonical[place] = first_place
            while k < k_end and np.uint64(targets[k]) == neighbor:
                slots[k] = first_place
                k += np.uint64(1)
