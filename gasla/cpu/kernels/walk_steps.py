"""Steps of a group of walkers at once: drawing positions in neighbor lists, and looking edges up.

A step is two dependent random reads: the offset of a list, and an entry of it. A thread advances a group of walkers by
one step together and prefetches what each will read, so that the reads of a group overlap.

Parameters of the kernels
-------------------------
near :
    (n + 1,) and (m,) adjacency lists that ascend, a tuple
ends, sought :
    (group,) uint64, for each walker the vertex whose list is searched, and the neighbor that is looked for
is_found, number :
    (group,) uint64, a word for each walker; the bit of it that tells whether this search has a hit
lows, highs :
    (group,) uint64, working memory: the part of the list that is still to be searched
doubtful, opened :
    walkers for which to search; (group,) uint64, working memory: those whose part is still long
"""

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.kernels.draws import NOWHERE, aimed, exceeding, fraction, mixed, share
from gasla.cpu.kernels.searches import first_not_less
from gasla.cpu.runtime.intrinsics import ONE, ZERO, prefetch, select

TRIES = np.uint64(32)  # refused draws, in addition to one per edge, after which all edges of a list are weighed
TO_STOP, TO_RESTART = np.uint64(2**64 - 1), np.uint64(2**64 - 2)  # the numbers of the draws for stop and restart
GOES, STOPS, RESTARTS = np.uint64(0), np.uint64(1), np.uint64(2)
FEW = np.uint64(16)  # entries that are searched linearly


@compiled
def draw_together(indptr, indices, weights, t, here, scratch, marks):
    """Draw positions (draw 0) for a group of walkers. Walkers that have ended get NOWHERE."""
    keys, places, highs, bits, drawing = scratch[0], scratch[1], scratch[2], scratch[5], scratch[6]
    count = ZERO
    for i in range(np.uint64(len(here))):
        first, last = ZERO, ZERO
        if here[i] >= 0:
            first, last = np.uint64(indptr[np.uint64(here[i])]), np.uint64(indptr[np.uint64(here[i]) + ONE])
        drawn = mixed(mixed(keys[i], t), ZERO)
        places[i] = begin_drawing(indices, weights, first, last, drawn)
        if weights is not None:
            highs[i], bits[i], drawing[count] = last, drawn, i
            count += np.uint64(first != last)
    pick_together(indices, weights, bits, drawing[:count], places, highs, marks)


@compiled
def begin_drawing(indices, weights, first, last, bits):
    """Draw a position of a list uniformly. With weights return its first one, for `pick_together`."""
    if first == last:
        return NOWHERE
    if weights is None:
        place = first + share(bits, last - first)
        prefetch(indices, place)
        return place
    prefetch(weights[0], last - ONE)
    return first


@compiled
def pick_together(indices, weights, bits, drawing, places, highs, marks):
    """Draw positions by weight, if there are weights. A group reads first totals, then guides, then prefix sums."""
    if weights is None:
        return
    sums, guides = weights
    count = ZERO
    for i in drawing:
        if sums[highs[i] - ONE] == 0:
            places[i] = NOWHERE
            continue
        marks[i], bits[i] = aimed(sums, places[i], highs[i], fraction(bits[i]))
        prefetch(guides, bits[i])
        drawing[count] = i
        count += ONE
    for i in drawing[:count]:
        bits[i] = places[i] + np.uint64(guides[bits[i]])
        prefetch(sums, bits[i])
    for i in drawing[:count]:
        places[i] = exceeding(sums, places[i], bits[i], marks[i])
        prefetch(indices, places[i])


@compiled
def search_together(near, ends, sought, is_found, number, lows, highs, doubtful, opened):
    """Search sorted neighbor lists for vertices, and set a bit of `is_found` for each hit. Bisections step together.

    The last entries, about a cache line, are searched linearly. An id out of range has an empty list.
    """
    indptr, indices = near
    n, count = np.uint64(len(indptr) - 1), ZERO
    for i in doubtful:
        u = ends[i]
        lows[i] = highs[i] = ZERO
        if u < n:
            lows[i], highs[i] = np.uint64(indptr[u]), np.uint64(indptr[u + ONE])
            prefetch(indices, (lows[i] + highs[i]) >> ONE)
        opened[count] = i
        count += np.uint64(highs[i] - lows[i] > FEW)
    while count > ZERO:
        left = ZERO
        for k in range(count):
            i = opened[k]
            low, high = lows[i], highs[i]
            middle = (low + high) >> ONE
            is_right = np.uint64(indices[middle]) < sought[i]
            low, high = select(is_right, middle, low), select(is_right, high, middle + ONE)
            lows[i], highs[i] = low, high
            prefetch(indices, (low + high) >> ONE)
            opened[left] = i
            left += np.uint64(high - low > FEW)
        count = left
    for i in doubtful:
        to, is_there = sought[i], ZERO
        for k in range(lows[i], highs[i]):
            is_there |= np.uint64(np.uint64(indices[k]) == to)
        is_found[i] |= is_there << np.uint64(number)


@compiled
def is_edge(near, u, to):
    """Return whether there is an edge from u to a vertex, by a search of u's sorted list."""
    indptr, indices = near
    if u >= np.uint64(len(indptr) - 1):
        return False
    end = np.uint64(indptr[u + ONE])
    place = first_not_less(indices, np.uint64(indptr[u]), end, to)
    return place < end and np.uint64(indices[place]) == to


@compiled
def weight(weights, first, k):
    """Return the weight of the edge at position k, 1 without weights."""
    if weights is None:
        return 1.0
    sums = weights[0]
    return sums[k] - (sums[k - ONE] if k > first else 0.0)


@compiled
def complain(complaint, walker, t, function, value):
    """Record the first invalid value of a function that this thread has seen."""
    if complaint[0] < 0:
        complaint[0], complaint[1], complaint[2], complaint[3] = walker, t, function, value
