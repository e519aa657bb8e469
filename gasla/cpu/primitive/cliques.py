"""Count cliques of k vertices: for each vertex, the cliques among the neighbors that follow it in an order.

In the order of degrees, at most sqrt(2m) neighbors follow a vertex. Their adjacency matrix is stored as bits. An `and`
of two rows gives the common neighbors of the vertices chosen so far and of one more vertex. Cliques of four vertices
are bits of such rows, and are counted with one `and` for each triangle and 64 vertices.

Larger cliques are counted by pivoting, not one by one. The pivot is the candidate with the most neighbors among the
candidates. Each clique either contains a vertex that is not adjacent to the pivot (the search tries these in turn), or
can be extended by the pivot. So p pivots, which are all adjacent, stand for all subsets of them. The search counts its
leaves by their number of pivots and of vertices that are still missing. Sums of binomial coefficients, in Python's
integers, then give the number of cliques.

S. Jain, C. Seshadhri: The Power of Pivoting for Exact Clique Counting. WSDM 2020.

Parameters of the kernels
-------------------------
thread, threads :
    index of this thread, from 0, and the number of threads of the run
control :
    (72,) int64 array that all threads of the run share: counters by which they take blocks of work and wait for each
    other, and the flag that stops the run
indptr, heads :
    (n + 1,) int64 offsets and (m,) ids, the neighbors of each vertex that follow it in the order
k :
    number of vertices of a clique
all_places :
    (threads, n) ids, the number of each neighbor among the neighbors of the vertex at hand, from 1, or 0
all_rows :
    (threads, longest list, words) uint64, the adjacency matrix of these neighbors, as bits
all_sets, all_states :
    (threads, 2, depths, words) uint64, the candidates at each depth of the search, and the candidates still to try, as
    bits; (threads, depths, 3) int64, the number of missing vertices, the number of pivots, and the pivot at each depth
all_leaves :
    (threads, k + 1, longest list + 2) int64, the number of leaves by the number of missing vertices and of pivots
"""

# mypy: disable-error-code="no-untyped-def"
import math
from math import comb

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.primitive.neighborhood_bits import fill_row, forget, mirror, number
from gasla.cpu.primitive.neighbors import ByDegree
from gasla.cpu.runtime.blocks import blocks, run, threads_for
from gasla.cpu.runtime.intrinsics import count_bits, count_trailing_zeros
from gasla.cpu.runtime.threads import is_stopped
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph

_NONE, _ONE, _SIX, _LAST = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(63)
_ALL = np.uint64(2**64 - 1)
_GRAIN = np.uint64(8)  # number of vertices that a thread takes at once; small, because a single vertex may take long
_LOOKS = 16  # estimated time for each edge, in units of the time to read one edge; decides how many threads run
# the search goes no deeper when this many vertices of a clique are missing, as `_count_small_cliques` counts the rest
_FEW_MISSING = 3


def count_cliques(graph: Graph, lists: Adjacency | ByDegree, k: int) -> int:
    """Return the number of cliques of k vertices in a simple graph, for k of at least 4."""
    n, m, longest_list = graph.n, graph.m, int(np.diff(lists.indptr).max(initial=0))
    if longest_list < k - 1:
        return 0
    work = _LOOKS * (n + m)
    team, words = threads_for(work), -(-longest_list // 64)
    places = np.zeros((team, n), lists.indices.dtype)
    rows = np.zeros((team, longest_list, words), np.uint64)
    depths = longest_list + 1 if k > 4 else 1
    # at each depth of the search, two sets as bits: the candidates to extend a clique, and those of them still to be
    # tried
    sets = np.empty((team, 2, depths, words), np.uint64)
    states = np.empty((team, depths, 3), np.int64)
    leaves = np.zeros((team, k + 1, longest_list + 2), np.int64)
    steps = m * math.isqrt(m) * 64
    # offsets are always converted to int64, because compiling the kernel for a second dtype takes far longer
    starts = lists.indptr.astype(np.int64, copy=False)
    run(_count, work, starts, lists.indices, k, places, rows, sets, states, leaves, most=steps, loose=True, team=team)
    counts = leaves.sum(axis=0)
    with_pivots = ((int(counts[lack, p]), lack, p) for lack, p in np.argwhere(counts).tolist())
    return sum(count * comb(p, lack) for count, lack, p in with_pivots)


@compiled
def _count(thread, threads, control, indptr, heads, k, all_places, all_rows, all_sets, all_states, all_leaves):
    places, rows, sets, states = all_places[thread], all_rows[thread], all_sets[thread], all_states[thread]
    n, leaves, members = np.uint64(len(indptr) - 1), all_leaves[thread], all_sets[thread, 0, 0]
    for taken, end in blocks(control, n, _GRAIN):  # begin with the highest ranks, as their vertices take longest
        for v in range(n - end, n - taken):
            low, high = np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])
            # adjacency lists with both directions of each edge also hold lower neighbors, which are skipped
            while low < high and np.uint64(heads[low]) <= v:
                low += _ONE
            count = high - low
            if np.int64(count) < k - 1:
                continue
            words = (count + _LAST) >> _SIX
            number(heads, low, count, places)
            # bit j of row i may still be 0 for adjacent vertices i and j if j < i; where this matters, `mirror` sets it
            # below
            for i in range(count):
                u = np.uint64(heads[low + i])
                fill_row(heads, np.uint64(indptr[u]), np.uint64(indptr[u + _ONE]), words, places, rows, i)
            forget(heads, low, count, places)
            for word in range(words):
                members[word] = _ALL
            members[words - _ONE] >>= (words << _SIX) - count
            if k == _FEW_MISSING + 1:
                _count_small_cliques(rows, words, members, sets[1, 0], leaves, 0)
            else:
                mirror(rows, count, words)
                _search(control, rows, words, k - 1, sets, states, leaves)


@compiled
def _search(control, rows, words, lack, sets, states, leaves):
    """Count the cliques of `lack` vertices among the candidates in ``sets[0, 0]``, depth-first without recursion.

    `rows` has the adjacency matrix of the candidates as bits. The ends of branches of the search are counted in
    `leaves`.
    """
    members, untried = sets[0], sets[1]
    states[0, 0], states[0, 1] = lack, 0
    states[0, 2] = _choose_pivot(rows, words, members[0], untried[0])
    depth = 0
    while depth >= 0 and not is_stopped(control):
        x = _next_candidate(words, untried[depth], states[depth])
        if x < 0:
            depth -= 1
            continue
        lack, pivots, i = states[depth, 0], states[depth, 1], np.uint64(x)
        if x == states[depth, 2]:
            pivots += 1
            states[depth, 2] = -1
        else:
            lack -= 1
        untried[depth, i >> _SIX] &= ~(_ONE << (i & _LAST))
        members[depth, i >> _SIX] &= ~(_ONE << (i & _LAST))
        size = 0
        for word in range(words):
            members[depth + 1, word] = members[depth, word] & rows[i, word]
            size += np.int64(count_bits(members[depth + 1, word]))
        if size + pivots < lack:
            continue
        if size == 0:
            leaves[lack, pivots] += 1
        elif lack == _FEW_MISSING:
            _count_small_cliques(rows, words, members[depth + 1], untried[depth + 1], leaves, pivots)
        else:
            depth += 1
            states[depth, 0], states[depth, 1] = lack, pivots
            states[depth, 2] = _choose_pivot(rows, words, members[depth], untried[depth])


@compiled
def _next_candidate(words, untried, state):
    """Return the number of the candidate that the search for cliques tries next, the pivot first, or -1 if none is
    left.
    """
    if state[2] >= 0:
        return state[2]
    for word in range(words):
        if untried[word]:
            return np.int64((word << _SIX) + count_trailing_zeros(untried[word]))
    return np.int64(-1)


@compiled
def _choose_pivot(rows, words, members, untried):
    """Return the pivot of the search for cliques: the candidate in `members` with the most neighbors among the
    candidates.

    The pivot, and the candidates that are not adjacent to it, are marked in `untried` as still to be tried.
    """
    best, largest_count = _NONE, np.int64(-1)
    for word in range(words):
        left = members[word]
        while left:
            i = (word << _SIX) + count_trailing_zeros(left)
            left &= left - _ONE
            adjacent_count = 0
            for other in range(words):
                adjacent_count += np.int64(count_bits(members[other] & rows[i, other]))
            if adjacent_count > largest_count:
                best, largest_count = i, adjacent_count
    for word in range(words):
        untried[word] = members[word] & ~rows[best, word]
    return np.int64(best)


@compiled
def _count_small_cliques(rows, words, members, after, leaves, pivots):
    """Count the cliques of 0, 1, 2 and 3 vertices among `members` as leaves, the ends of branches of the search.

    A clique of i vertices is a leaf with 3 - i vertices missing.
    """
    size = edges = triangles = _NONE
    for word in range(words):
        untried_bits = members[word]
        size += count_bits(untried_bits)
        while untried_bits:
            i = (word << _SIX) + count_trailing_zeros(untried_bits)
            untried_bits &= untried_bits - _ONE
            after[word] = untried_bits & rows[i, word]
            for other in range(word + _ONE, words):
                after[other] = members[other] & rows[i, other]
            for middle in range(word, words):
                common_bits = after[middle]
                edges += count_bits(common_bits)
                while common_bits:
                    j = (middle << _SIX) + count_trailing_zeros(common_bits)
                    common_bits &= common_bits - _ONE
                    triangles += count_bits(common_bits & rows[j, middle])
                    for other in range(middle + _ONE, words):
                        triangles += count_bits(after[other] & rows[j, other])
    leaves[3, pivots] += 1
    leaves[2, pivots] += np.int64(size)
    leaves[1, pivots] += np.int64(edges)
    leaves[0, pivots] += np.int64(triangles)
