"""Count the common neighbors of given pairs of vertices, or add up their weights.

If all adjacency lists are short, the two lists of each pair are merged. Otherwise pairs are grouped by the vertex with
the longer list. This list is marked in an array once for the group, and the entries of each shorter list are looked up
there. If a group has few entries to look up, they are searched in the sorted long list instead.

N. Chiba, T. Nishizeki: Arboricity and Subgraph Listing Algorithms. SIAM Journal on Computing 14(1), 1985.

Parameters of the kernels
-------------------------
thread, threads :
    index of this thread, from 0, and the number of threads of the run
control :
    (72,) int64 array that all threads of the run share: counters by which they take blocks of work and wait for each
    other, and the flag that stops the run
indptr, indices :
    (n + 1,) offsets of sorted adjacency lists, and (m,) ids of neighbors
sources, targets :
    (pairs,) ids, both vertices of each pair
longer, shorter :
    (pairs,) ids, the vertex with the longer list and the other vertex of each pair
order :
    positions of pairs, grouped by `longer`
weights :
    (n,) float64, the weight of each vertex as a common neighbor, or None to count
totals :
    (pairs,) int64 or float64, the number or the summed weight of common neighbors, which is written
marks :
    (threads, n), how often each vertex occurs in the list that is marked; all 0 between two groups
"""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.runtime.blocks import blocks, run, threads_for
from gasla.cpu.runtime.intrinsics import select
from gasla.graph.graph import Graph

Array = np.ndarray[Any, Any]

SHORT = 16  # if no vertex has more neighbors than this, the lists of each pair are merged
_ONE = np.uint64(1)
_GRAIN = np.uint64(1024)  # number of pairs of vertices that a thread takes at once
_LOOKS = 16  # estimated time for each pair, in units of the time to read one edge; decides how many threads run
# pairs with the same longer list are a group. If this list is over this many times as long as all shorter lists of the
# group together, the entries of the shorter lists are searched in it. Otherwise it is marked.
_SPARSE = np.uint64(8)


def intersect(graph: Graph, sources: Array, targets: Array, weights: Array | None) -> Array:
    """Return for each i the number of common out-neighbors of sources[i] and targets[i], or the sum of their weights.

    Weights are added in ascending order of vertices. A neighbor by parallel edges counts as often as it is in both
    lists.
    """
    lists, count = graph.sorted_out, len(sources)
    sources, targets = (np.ascontiguousarray(ids, graph.id_dtype) for ids in (sources, targets))
    totals = np.zeros(count, np.int64 if weights is None else np.float64)
    work, most = _LOOKS * count, count * graph.max_out_degree
    if graph.max_out_degree <= SHORT:
        run(_merge, work, lists.indptr, lists.indices, sources, targets, weights, totals, most=most, loose=True)
        return totals
    swap = graph.out_degrees[sources] < graph.out_degrees[targets]
    longer, shorter = np.where(swap, targets, sources), np.where(swap, sources, targets)
    marks = np.zeros((threads_for(work), graph.n), np.int32 if graph.has_parallel_edges else np.uint8)
    keys = longer.astype(np.int64) * graph.n + shorter
    order = np.argsort(keys)
    keys = keys[order]
    is_first = np.append(True, keys[1:] != keys[:-1])[:count]
    distinct = order[is_first]  # each distinct pair is computed once, as a pair of vertices with long lists takes long
    args = lists.indptr, lists.indices, longer, shorter, distinct, weights, totals, marks
    run(_mark, work, *args, most=most, loose=True, team=len(marks))
    if len(distinct) < count:
        totals[order] = totals[distinct][is_first.cumsum() - 1]
    return totals


@compiled
def _merge(thread, threads, control, indptr, indices, sources, targets, weights, totals):
    for start, end in blocks(control, np.uint64(len(sources)), _GRAIN):
        for e in range(start, end):
            u, v = np.uint64(sources[e]), np.uint64(targets[e])
            i, i_end = np.uint64(indptr[u]), np.uint64(indptr[u + _ONE])
            j, j_end = np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])
            total = totals[e]  # ``totals[e]`` is 0 here, and gives `total` the dtype of the sums
            while i < i_end and j < j_end:
                first_entry, second_entry = indices[i], indices[j]
                total += (
                    first_entry == second_entry
                    if weights is None
                    else select(first_entry == second_entry, weights[np.uint64(first_entry)], 0.0)
                )
                i += np.uint64(first_entry <= second_entry)
                j += np.uint64(second_entry <= first_entry)
            totals[e] = total


@compiled
def _mark(thread, threads, control, indptr, indices, longer, shorter, order, weights, totals, marks):
    """Count the common neighbors of pairs of vertices: mark the longer adjacency list, and look up the shorter one's
    entries.

    Pairs are grouped by the vertex with the longer list. A mark says how often a vertex occurs in that list. All marks
    are 0 again between two groups.
    """
    own_marks = marks[thread]
    for start, end in blocks(control, np.uint64(len(order)), _GRAIN):
        while start < end:
            hub, last, lookup_count = np.uint64(longer[order[start]]), start, np.uint64(0)
            while last < end and np.uint64(longer[order[last]]) == hub:
                v = np.uint64(shorter[order[last]])
                lookup_count += np.uint64(indptr[v + _ONE]) - np.uint64(indptr[v])
                last += _ONE
            low, high = np.uint64(indptr[hub]), np.uint64(indptr[hub + _ONE])
            if lookup_count * _SPARSE < high - low:
                for at in range(start, last):
                    e = order[at]
                    totals[e] = _search(indptr, indices, np.uint64(shorter[e]), low, high, weights, totals[e])
            else:
                for k in range(low, high):
                    own_marks[np.uint64(indices[k])] += 1
                for at in range(start, last):
                    e = order[at]
                    totals[e] = _look_up(indptr, indices, np.uint64(shorter[e]), own_marks, weights, totals[e])
                for k in range(low, high):
                    own_marks[np.uint64(indices[k])] = 0
            start = last


@compiled
def _look_up(indptr, indices, v, marks, weights, total):
    """Count the entries of v's adjacency list that are marked, or sum their weights. Return `total` plus the result.

    ``marks[u]`` says how often u occurs in the longer list, with which v's list is compared.
    """
    count, previous = 0, np.int64(-1)
    for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
        w = np.int64(indices[k])
        count = count + 1 if w == previous else 1
        previous = w
        is_common = marks[np.uint64(w)] >= count
        total += is_common if weights is None else select(is_common, weights[np.uint64(w)], 0.0)
    return total


@compiled
def _search(indptr, indices, v, low, high, weights, total):
    """Count the entries of v's adjacency list that are in a longer list, or sum their weights. Return `total` plus the
    result.

    The longer list is at positions `low` to `high`. Each bisection begins where the one before it ended.
    """
    for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
        w, last = indices[k], high
        while low < last:
            middle = (low + last) >> _ONE
            if indices[middle] < w:
                low = middle + _ONE
            else:
                last = middle
        if low == high:
            break
        if indices[low] == w:
            total += 1 if weights is None else weights[np.uint64(w)]
            low += _ONE
    return total
