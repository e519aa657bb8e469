"""One step of a group of walkers: drawing edges from adjacency lists, and looking edges up.

A step needs two random reads, one after the other: the offset of a list, and an entry of the list. A thread moves a
group of walkers together and prefetches what each of them will read, so that the reads of the group overlap.

Parameters of the kernels
-------------------------
near :
    a tuple of the adjacency lists in ascending order: offsets (n + 1,) and ids (m,)
ends, sought :
    (group,) uint64, for each walker the vertex whose list is searched, and the neighbor that is looked for
is_found :
    (group,) uint64, for each walker a word in which each search sets a bit if it finds the neighbor
number :
    number of the bit that this search sets
lows, highs :
    (group,) uint64, working memory: for each walker where the part of the list begins and ends that is to be searched
doubtful :
    numbers of the walkers for which to search
opened :
    (group,) uint64, working memory: numbers of the walkers whose part of the list is still long
"""

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.kernels.draws import NOWHERE, aimed, exceeding, fraction, mixed, share
from gasla.cpu.kernels.searches import first_not_less
from gasla.cpu.runtime.intrinsics import ONE, ZERO, prefetch, select

# when this many draws of a walker, and one for each edge of its list, were refused, all edges of the list are weighed
TRIES = np.uint64(32)
# numbers that take the place of a draw's number in the hash, for the random numbers by which a walker stops or restarts
TO_STOP, TO_RESTART = np.uint64(2**64 - 1), np.uint64(2**64 - 2)
GOES, STOPS, RESTARTS = np.uint64(0), np.uint64(1), np.uint64(2)
FEW = np.uint64(16)  # a part of a list with at most this many entries is searched entry by entry, and not by bisection


@compiled
def draw_together(indptr, indices, weights, t, here, scratch, marks):
    """Draw an edge for each walker of a group, as its position in the adjacency lists, and store it in a row of
    `scratch`.

    The vertex of a walker is in `here`. A walker whose walk has ended gets NOWHERE.
    """
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
    """Begin to draw an edge for one walker, from the adjacency list at positions `first` to `last`.

    Without weights, return a position that the random number `bits` draws uniformly. With weights, return `first`: then
    `pick_together` draws the position for a group of walkers.
    """
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
    """Draw the positions of edges by weight, for the walkers of a group whose numbers are in `drawing`.

    The group reads the total weights of adjacency lists first, then the guides (positions near the results), and then
    the prefix sums of weights, and prefetches each before it is read. Without weights, do nothing.
    """
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
    """Look up edges for a group of walkers: search for a neighbor of each in an ascending adjacency list.

    Set a bit of `is_found` for each walker whose edge exists. The binary searches of the group advance together. The
    last entries, about a cache line, are searched linearly. A vertex whose id is out of range has an empty list.
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
        open_count = ZERO
        for k in range(count):
            i = opened[k]
            low, high = lows[i], highs[i]
            middle = (low + high) >> ONE
            is_right = np.uint64(indices[middle]) < sought[i]
            low, high = select(is_right, middle, low), select(is_right, high, middle + ONE)
            lows[i], highs[i] = low, high
            prefetch(indices, (low + high) >> ONE)
            opened[open_count] = i
            open_count += np.uint64(high - low > FEW)
        count = open_count
    for i in doubtful:
        neighbor, is_there = sought[i], ZERO
        for k in range(lows[i], highs[i]):
            is_there |= np.uint64(np.uint64(indices[k]) == neighbor)
        is_found[i] |= is_there << np.uint64(number)


@compiled
def is_edge(near, u, to):
    """Return whether there is an edge from vertex `u` to vertex `to`, by a binary search of the adjacency list of `u`.

    `near` has the adjacency lists in ascending order.
    """
    indptr, indices = near
    if u >= np.uint64(len(indptr) - 1):
        return False
    end = np.uint64(indptr[u + ONE])
    place = first_not_less(indices, np.uint64(indptr[u]), end, to)
    return place < end and np.uint64(indices[place]) == to


@compiled
def weight(weights, first, k):
    """Return the weight of the edge at position k of an adjacency list, or 1 if the graph has no weights.

    The list begins at position `first`.
    """
    if weights is None:
        return 1.0
    sums = weights[0]
    return sums[k] - (sums[k - ONE] if k > first else 0.0)


@compiled
def complain(complaint, walker, t, function, value):
    """Record an invalid result of one of the program's functions in the array `complaint`, for an error message.

    If this thread has already recorded one, do nothing.
    """
    if complaint[0] < 0:
        complaint[0], complaint[1], complaint[2], complaint[3] = walker, t, function, value
