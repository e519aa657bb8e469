"""What every generated kernel uses: counters, queues with a private buffer per thread, bitmaps, atomic reduction."""

# mypy: disable-error-code="no-untyped-def"
import numpy as np
from numba import njit

from gasla.cpu.atomics import compare_and_swap, fetch_add, fetch_or, load, prefetch, store
from gasla.cpu.threads import CONTROL_SIZE, PROGRESS, STOP, barrier

__all__ = [
    "ACTIVE", "BITS", "BUFFER", "CHUNK", "DENSE", "DENSE_CHUNK", "DONE", "EDGES", "EDGE_SUM", "FORM", "ITERATION",
    "LAST", "LIST", "LISTED", "NEXT", "PROGRESS", "RECEIVED", "REMAINING", "SPARSE", "STOP", "THIN", "THIN_LIST", "TICKET",
    "TOTAL", "TOUCHED", "WAY", "WIDTH", "append", "barrier", "claim", "clear", "compare_and_swap",
    "dense_is_cheaper", "fetch_add", "fetch_or", "flush", "has", "jit", "load", "note", "np", "prefetch", "store",
    "to_bits", "to_list",
]  # fmt: skip

jit = njit(cache=True, nogil=True, error_model="numpy")

# Slots of a run's control array, beside those of threads.py: where a loop stopped, to go on from there.
ITERATION, LAST, ACTIVE, EDGE_SUM, REMAINING, FORM, WAY, DONE, TOTAL = range(40, 49)
assert TOTAL < CONTROL_SIZE

# Columns of the counters of one iteration, a cache line apart. Three rows take turns: one in use, one that all may
# still be reading, one being zeroed; so an iteration needs no barrier to reset them.
NEXT, EDGES, RECEIVED, TOUCHED, LISTED, TICKET = 0, 8, 16, 24, 32, 40
WIDTH = 96

LIST, BITS = 0, 1  # the form that the active set is in
SPARSE, DENSE = 1, 2  # ways of an iteration; 0 lets the engine choose

BUFFER = 1024  # vertices that a thread keeps before it reserves their places in the shared queue
CHUNK = 64  # entries of a queue that a thread takes at once
DENSE_CHUNK = 1024  # vertices of a full pass that a thread takes at once; whole words of a bitmap
THIN = 2048  # edges below which one thread does an iteration alone
THIN_LIST = 256  # the same for vertices of a schedule, whose edges are not counted


@jit
def has(bits, vertex):
    """Whether the bit of `vertex` is set."""
    return (bits[vertex >> np.uint64(6)] >> (vertex & np.uint64(63))) & np.uint64(1) != np.uint64(0)


@jit
def claim(bits, vertex, shared):
    """Set the bit of `vertex`; True for the one caller that found it clear."""
    word, bit = vertex >> np.uint64(6), np.uint64(1) << (vertex & np.uint64(63))
    if bits[word] & bit:
        return False
    if shared:
        return fetch_or(bits, word, bit) & bit == np.uint64(0)
    bits[word] |= bit
    return True


@jit
def flush(buffer, held, queue, counts, counter):
    """Move a thread's `held` vertices to places in the shared queue that it reserves at once."""
    at = np.uint64(fetch_add(counts, counter, np.int64(held)))
    for i in range(np.uint64(0), held):
        queue[at + i] = buffer[i]


@jit
def append(buffer, held, vertex, queue, counts, counter):
    """Add `vertex` to the thread's buffer; returns how many the buffer now holds."""
    buffer[held] = vertex
    held += np.uint64(1)
    if held == np.uint64(BUFFER):
        flush(buffer, held, queue, counts, counter)
        held = np.uint64(0)
    return held


@jit
def dense_is_cheaper(size, edges, remaining, n, ratio):
    """Whether a pass over all vertices beats walking the active ones.

    `ratio` is how many edges a pull looks at for one that a push follows: few, where a pull may stop early.
    """
    return edges * ratio > remaining + (n * ratio >> 4)


@jit
def to_bits(thread, threads, control, queue, size, bits):
    """Set exactly the bits of the queue's vertices. Ends with a barrier."""
    words = len(bits)
    for w in range(words * thread // threads, words * (thread + 1) // threads):
        bits[w] = np.uint64(0)
    barrier(control, threads)
    for i in range(size * thread // threads, size * (thread + 1) // threads):
        v = np.uint64(queue[i])
        fetch_or(bits, v >> np.uint64(6), np.uint64(1) << (v & np.uint64(63)))
    barrier(control, threads)


@jit
def to_list(thread, threads, control, bits, queue, counts, counter, buffer):
    """List the vertices whose bits are set. Ends with a barrier."""
    words, held = len(bits), np.uint64(0)
    for w in range(words * thread // threads, words * (thread + 1) // threads):
        word = bits[w]
        while word != np.uint64(0):
            low = word & (~word + np.uint64(1))
            v = np.uint64(w) * np.uint64(64) + _position(low)
            held = append(buffer, held, v, queue, counts, counter)
            word ^= low
    flush(buffer, held, queue, counts, counter)
    barrier(control, threads)


@jit
def clear(thread, threads, bits):
    """Zero both rows of a pair of bitmaps. The caller's next barrier makes it seen."""
    words = bits.shape[1]
    for w in range(words * thread // threads, words * (thread + 1) // threads):
        bits[0, w] = np.uint64(0)
        bits[1, w] = np.uint64(0)


@jit
def count_levels(thread, threads, control, levels, counts, order):
    """A counting sort, first half: how many vertices of each level there are in each thread's part."""
    n = len(levels)
    for v in range(n * thread // threads, n * (thread + 1) // threads):
        if levels[v] >= 0:
            counts[thread, levels[v]] += 1


@jit
def sort_by_level(thread, threads, control, levels, places, order):
    """Second half: `places[t, l]` is where thread t's first vertex of level l goes; ids stay in order."""
    n = len(levels)
    for v in range(n * thread // threads, n * (thread + 1) // threads):
        level = levels[v]
        if level >= 0:
            order[np.uint64(places[thread, level])] = v
            places[thread, level] += 1


@jit
def note(row, active, edges, way):
    """Record one iteration."""
    row[0], row[1], row[2] = active, edges, way


@jit
def _position(bit):
    """The place of the one bit that is set."""
    place = np.uint64(0)
    for shift in (32, 16, 8, 4, 2, 1):
        if bit >> np.uint64(shift) != np.uint64(0):
            bit >>= np.uint64(shift)
            place += np.uint64(shift)
    return place
