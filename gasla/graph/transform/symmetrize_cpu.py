"""`Graph.symmetrized` on the CPU: out-lists and in-lists, which both ascend, are merged in parallel.

A sort of the edges in both directions would need several arrays of twice the edges. Here only the in-lists and the
result are made.

Parameters of the kernels
-------------------------
thread, threads :
    number of this thread, from 0, and of all threads
control :
    words by which threads take blocks and see that the run is stopped
indptr, indices :
    (n + 1,) and (m,) adjacency lists that ascend: out-neighbors in `_merge`, both directions in `_pair`
starts, sources :
    (n + 1,) and (m,) in-neighbors of each vertex, which ascend
starts, targets :
    in `_pair`, (n + 1,) and (m,) out-neighbors of each vertex, which ascend
lengths, firsts :
    (n,) int64, the number of merged entries of each vertex; (n + 1,) int64, where they begin, or empty to count only
targets :
    in `_merge`, (firsts[n],) ids, the merged entries that are written
cursor :
    (n,) the position in each list up to which its reverse entries have been found
canonical, slots :
    (entries,) and (m,) positions that are written: for each merged entry, and for each edge, that of i -> j, i <= j
grain :
    number of vertices in a block
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from gasla.arrays import index_dtype, running_sums
from gasla.compiler.function import compiled
from gasla.cpu.runtime.blocks import block_size, blocks, run, threads_for
from gasla.graph.adjacency import Adjacency, Array
from gasla.graph.lists_cpu import transpose_pattern


def merged(rows: Adjacency) -> Adjacency:
    """Return ascending lists with every edge i -> j of `rows`, which ascend, and its reverse j -> i, each once."""
    lists = rows.indptr, rows.indices, *transpose_pattern(rows.indptr, rows.indices)
    n, work = len(rows.indptr) - 1, 2 * len(rows.indices)
    grain = block_size(n, threads_for(work))
    lengths, kind = np.zeros(n, np.int64), index_dtype(n)
    run(_merge, work, *lists, lengths, np.empty(0, np.int64), np.empty(0, kind), grain)
    firsts = running_sums(lengths)
    targets = np.empty(firsts[-1], kind)
    run(_merge, work, *lists, lengths, firsts, targets, grain)
    return Adjacency(firsts.astype(index_dtype(len(targets))), targets)


def paired(both: Adjacency, rows: Adjacency) -> tuple[Array, Array]:
    """Return for each entry i -> j of `both` and each edge of `rows` the position in `both` of the entry with i <= j.

    Values of both directions are reduced there.
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
    """Merge the two lists of each vertex into `targets`. Without `firsts`, only count the entries."""
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
    """Find i -> j for every j -> i with i < j: vertices j come in the order in which the list of i has them."""
    for v in range(np.uint64(len(cursor))):
        k, k_end = np.uint64(starts[v]), np.uint64(starts[v + np.uint64(1)])
        cursor[v] = indptr[v]
        for place in range(np.uint64(indptr[v]), np.uint64(indptr[v + np.uint64(1)])):
            other = np.uint64(indices[place])
            first_place = place
            if other < v:
                first_place = np.uint64(cursor[other])
                cursor[other] += 1
            if other <= v:
                cursor[v] += 1
            canonical[place] = first_place
            while k < k_end and np.uint64(targets[k]) == other:
                slots[k] = first_place
                k += np.uint64(1)
