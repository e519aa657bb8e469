"""List or count maximal cliques by the search of Bron and Kerbosch with pivots, from each vertex in degeneracy order.

The search from a vertex extends cliques by neighbors that follow it in the order, of which there are few. The
candidates are the bits of some words, and so are the neighbors of each candidate among them. Some vertices could extend
a clique although cliques with them are found elsewhere, which means that the clique is not maximal here: vertices that
this search has tried before, which are bits, too; and neighbors that precede the first vertex, which are indices of
rows. A row without a candidate is dropped during the search. A row with all candidates ends a branch, since no clique
of the branch is maximal.

D. Eppstein, M. Löffler, D. Strash: Listing All Maximal Cliques in Large Sparse Real-World Graphs. JEA 18 (2013).

Parameters of the kernels
-------------------------
thread, threads :
    index of this thread, from 0, and the number of threads of the run
control :
    (72,) int64 array that all threads of the run share: counters by which they take blocks of work and wait for each
    other, and the flag that stops the run
tally, block_starts, total, limit, writers, entries, row_lengths :
    the arrays into which cliques are counted or written, as `row_lists` describes them
writing :
    a tuple of this thread's row of `writers`, `entries` and `row_lengths`
indptr, middles, heads :
    (n + 1,) int64 offsets of sorted adjacency lists; (n,) int64, the position of the first neighbor that follows each
    vertex; (m,) ids of neighbors
least :
    smallest number of vertices of a clique
all_places, places :
    (threads, n) ids and this thread's row: the number of each candidate, from 1, or 0
all_rows :
    (threads, rows, words) uint64, bits that tell which candidates are neighbors of each candidate and of each preceding
    vertex
all_sets :
    (threads, depth, 3, words) uint64, the sets `_CANDIDATES`, `_TRIED` and `_LEFT` at each depth of the search, as bits
all_counts, all_numbers :
    (threads, depth) int64, how many preceding vertices could extend the clique at each depth; (threads, rows) int64,
    the rows of these vertices
bits :
    a tuple of this thread's parts of the four arrays before
all_paths, path :
    (threads, depth) ids and this thread's row: the vertices of the clique so far
v, first, count, words :
    a vertex, the position and the number of the neighbors that follow it, and the number of words of a row of bits
"""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from gasla.arrays import running_sums
from gasla.compiler.function import compiled
from gasla.cpu.primitive.depth_first import peel_one_by_one
from gasla.cpu.primitive.neighborhood_bits import fill_row, forget, mirror, number
from gasla.cpu.primitive.row_lists import RowSearch, close_block, is_full, open_block, open_blocks, write
from gasla.cpu.runtime.blocks import blocks, run, threads_for
from gasla.cpu.runtime.intrinsics import count_bits, count_trailing_zeros
from gasla.cpu.runtime.threads import is_stopped
from gasla.graph.graph import Graph

Array = np.ndarray[Any, Any]

_ZERO, _ONE, _SIX, _LAST, _NONE = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(63), np.int64(-1)
_ALL = np.uint64(2**64 - 1)
_GRAIN = 8  # number of vertices that a thread takes at once; small, because a single vertex may take long
_ROWS = 256  # number of cliques that a thread takes at once to convert their vertices to ids of the original graph
# estimated time for each vertex and edge, in units of the time to read one edge; decides how many threads run
_LOOKS = 64
# the sets of vertices that the search keeps at each depth: the vertices that could extend the clique, those of them
# that were tried before, and those that are still to be tried
_CANDIDATES, _TRIED, _LEFT = np.uint64(0), np.uint64(1), np.uint64(2)


def maximal_cliques(graph: Graph, least: int, limit: int | None, is_counting: bool) -> tuple[Array, Array] | int:
    """Return the offsets and the vertices of all maximal cliques of at least `least` vertices, or only their number."""
    _, order = peel_one_by_one(graph)
    lists = graph.subgraph(order).sorted_out
    starts, heads = lists.indptr.astype(np.int64, copy=False), lists.indices
    preceding_counts = np.diff(running_sums(heads < lists.owners())[starts])
    middles = starts[:-1] + preceding_counts
    most_following, most_preceding = int((starts[1:] - middles).max(initial=0)), int(preceding_counts.max(initial=0))
    work, words = _LOOKS * (graph.n + graph.m), max(-(-most_following // 64), 1)
    threads = threads_for(work)
    places = np.zeros((threads, graph.n), heads.dtype)
    rows = np.zeros((threads, most_following + most_preceding, words), np.uint64)
    sets = np.empty((threads, most_following + 2, 3, words), np.uint64)
    # for each depth of the search, the number of vertices that could extend the clique but precede the search's first
    # vertex
    counts = np.empty((threads, most_following + 2), np.int64)
    numbers = np.empty((threads, most_preceding), np.int64)
    path = np.empty((threads, most_following + 2), heads.dtype)
    inputs = starts, middles, heads, least, places, rows, sets, counts, numbers, path

    def search(*row_arrays: Any) -> None:
        run(_search, work, *row_arrays, *inputs, most=1 << 62, loose=True, team=threads)

    rows_found = RowSearch(search, -(-graph.n // _GRAIN), graph.id_dtype, threads)
    if is_counting:
        return rows_found.count()
    indptr, vertices = rows_found.rows(limit)
    run(_restore_ids, _LOOKS * len(indptr), indptr, order, vertices, most=_LOOKS * len(vertices), loose=True)
    return indptr, vertices


@compiled
def _search(
    thread, threads, control, tally, block_starts, total, limit, writers, entries, row_lengths, indptr, middles, heads,
    least, all_places, all_rows, all_sets, all_counts, all_numbers, all_paths,
):  # fmt: skip
    writer, path = writers[thread], all_paths[thread]
    bits = all_rows[thread], all_sets[thread], all_counts[thread], all_numbers[thread]
    n, writing = np.uint64(len(middles)), (writers[thread], entries, row_lengths)
    for block, start, end in open_blocks(control, total, limit, n, np.uint64(_GRAIN)):
        open_block(writer, block, tally, block_starts, limit)
        for v in range(start, end):
            first, count = np.uint64(middles[v]), np.uint64(indptr[v + _ONE] - middles[v])
            path[0] = v
            if is_stopped(control) or is_full(writing) or np.int64(count) + 1 < least:
                continue
            if count == _ZERO:
                if np.uint64(indptr[v]) == first:
                    write(writing, path, np.int64(1), _NONE, _NONE)
                continue
            words = (count + _LAST) >> _SIX
            _set_up_search(indptr, middles, heads, v, first, count, words, all_places[thread], bits)
            _extend_cliques(control, heads, first, words, least, bits, path, writing)
        close_block(writer, block, tally, block_starts, total)


@compiled
def _restore_ids(thread, threads, control, indptr, order, vertices):
    """Replace positions in the degeneracy order by vertex ids in the cliques found, and sort the ids of each clique."""
    for start, end in blocks(control, np.uint64(len(indptr) - 1), np.uint64(_ROWS)):
        for row in range(start, end):
            first = np.uint64(indptr[row])
            for i in range(first, np.uint64(indptr[row + _ONE])):
                v, at = order[np.uint64(vertices[i])], i
                while at > first and vertices[at - _ONE] > v:
                    vertices[at] = vertices[at - _ONE]
                    at -= _ONE
                vertices[at] = v


@compiled
def _set_up_search(indptr, middles, heads, v, first, count, words, places, bits):
    """Set up the search for cliques from vertex v: rows of bits for v's neighbors, and the candidates at depth 0.

    Bit j of a row tells whether the neighbor is adjacent to candidate j. The candidates, the neighbors that follow v in
    the degeneracy order, have the first rows. Then come the neighbors that precede v and are adjacent to a candidate.
    """
    rows, sets, counts, numbers = bits
    number(heads, first, count, places)
    for i in range(count):
        u = np.uint64(heads[first + i])
        fill_row(heads, np.uint64(middles[u]), np.uint64(indptr[u + _ONE]), words, places, rows, i)
    mirror(rows, count, words)
    row = count
    for j in range(np.uint64(indptr[v]), np.uint64(middles[v])):
        u = np.uint64(heads[j])
        if fill_row(heads, np.uint64(middles[u]), np.uint64(indptr[u + _ONE]), words, places, rows, row):
            numbers[row - count] = row
            row += _ONE
    counts[0] = row - count
    forget(heads, first, count, places)
    for word in range(words):
        sets[0, _CANDIDATES, word], sets[0, _TRIED, word] = _ALL, _ZERO
    sets[0, _CANDIDATES, words - _ONE] >>= (words << _SIX) - count


@compiled
def _extend_cliques(control, heads, first, words, least, bits, path, writing):
    """Write the maximal cliques that consist of the vertex ``path[0]`` and some of the candidates, neighbors that
    follow it.
    """
    rows, sets = bits[0], bits[1]
    depth = _ZERO
    _choose_pivot(words, depth, bits)
    while not is_stopped(control):
        current_sets, word = sets[depth], _ZERO
        while word < words and current_sets[_LEFT, word] == 0:
            word += _ONE
        if word == words or is_full(writing):
            if depth == _ZERO:
                break
            depth -= _ONE
            continue
        i = (word << _SIX) + count_trailing_zeros(current_sets[_LEFT, word])
        bit, next_sets, size, tried = _ONE << (i & _LAST), sets[depth + _ONE], 0, _ZERO
        for w in range(words):
            next_sets[_CANDIDATES, w] = current_sets[_CANDIDATES, w] & rows[i, w]
            next_sets[_TRIED, w] = current_sets[_TRIED, w] & rows[i, w]
            size += np.int64(count_bits(next_sets[_CANDIDATES, w]))
            tried |= next_sets[_TRIED, w]
        current_sets[_LEFT, word] &= ~bit
        current_sets[_CANDIDATES, word] &= ~bit
        current_sets[_TRIED, word] |= bit
        path[depth + _ONE] = heads[first + i]
        if size == 0:
            if tried == 0 and np.int64(depth) + 2 >= least and _is_adjacent_to_no_excluder(i, depth, bits):
                write(writing, path, np.int64(depth) + 2, _NONE, _NONE)
        elif np.int64(depth) + 2 + size >= least:
            _keep_excluders(i, words, depth, bits)
            depth += _ONE
            _choose_pivot(words, depth, bits)


@compiled
def _is_adjacent_to_no_excluder(i, depth, bits):
    """Return whether candidate i is adjacent to none of the vertices that show that a clique is not maximal.

    These vertices precede the search's first vertex, and could extend the cliques at this depth.
    """
    rows, _, counts, numbers = bits
    for k in range(np.uint64(counts[depth])):
        if (rows[np.uint64(numbers[k]), i >> _SIX] >> (i & _LAST)) & _ONE:
            return False
    return True


@compiled
def _keep_excluders(i, words, depth, bits):
    """Select the excluders at the next depth: vertices that show that a clique with candidate i is not maximal.

    They precede the search's first vertex, and are adjacent to candidate i and to some candidate of the next depth. The
    numbers of their rows are moved to the front of `numbers`, and their count is stored for the next depth.
    """
    rows, sets, counts, numbers = bits
    next_sets, kept_count = sets[depth + _ONE], _ZERO
    for k in range(np.uint64(counts[depth])):
        number = np.uint64(numbers[k])
        if (rows[number, i >> _SIX] >> (i & _LAST)) & _ONE:
            common_bits = _ZERO
            for w in range(words):
                common_bits |= rows[number, w] & next_sets[_CANDIDATES, w]
            if common_bits:
                numbers[k] = numbers[kept_count]
                numbers[kept_count] = number
                kept_count += _ONE
    counts[depth + _ONE] = kept_count


@compiled
def _choose_pivot(words, depth, bits):
    """Choose a pivot for this depth of the search, and mark the candidates that are not adjacent to it as still to try.

    The pivot is a vertex that is adjacent to many candidates. No candidate is marked if a vertex that could extend the
    clique, but was tried before, is adjacent to all candidates. Then no clique of this branch is maximal.
    """
    rows, sets, counts, numbers = bits
    current_sets, pivot, largest_count, size = sets[depth], _ZERO, np.int64(-1), 0
    for w in range(words):
        size += np.int64(count_bits(current_sets[_CANDIDATES, w]))
        current_sets[_LEFT, w] = _ZERO
    for k in range(np.uint64(counts[depth])):
        number = np.uint64(numbers[k])
        adjacent_count = _count_adjacent_candidates(rows, number, words, current_sets)
        if adjacent_count == size:
            return
        if adjacent_count > largest_count:
            pivot, largest_count = number, adjacent_count
    for which in range(_TRIED + _ONE):
        # as pivots, try first the vertices that were tried before as candidates, then the candidates that are left
        candidate_set = _TRIED - which
        for word in range(words):
            left = current_sets[candidate_set, word]
            while left and (candidate_set == _TRIED or largest_count < size - 1):
                u = (word << _SIX) + count_trailing_zeros(left)
                left &= left - _ONE
                adjacent_count = _count_adjacent_candidates(rows, u, words, current_sets)
                if adjacent_count == size:
                    return
                if adjacent_count > largest_count:
                    pivot, largest_count = u, adjacent_count
    for w in range(words):
        current_sets[_LEFT, w] = current_sets[_CANDIDATES, w] & ~rows[pivot, w]


@compiled
def _count_adjacent_candidates(rows, number, words, current_sets):
    """Return how many of the current candidates are adjacent to the vertex with row `number` in `rows`, a matrix of
    bits.
    """
    adjacent_count = 0
    for w in range(words):
        adjacent_count += np.int64(count_bits(current_sets[_CANDIDATES, w] & rows[number, w]))
    return adjacent_count
