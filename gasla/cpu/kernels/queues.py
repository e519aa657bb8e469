"""Functions that all generated loops use: counters, queues with work stealing, bitmaps, buckets."""

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.program.launch import (
    ACTIVE,
    DONE,
    EDGE_SUM,
    ENTRIES,
    FILLED,
    FORM,
    ITERATION,
    LASTING,
    MISSED,
    PUT_OFF,
    REMAINING,
    STAYS_ALONE,
    THIN,
    TOTAL,
    UNTIL,
    WORK,
)
from gasla.cpu.runtime.blocks import stage
from gasla.cpu.runtime.intrinsics import (
    count_trailing_zeros,
    fetch_add_relaxed,
    fetch_and_acquire,
    fetch_and_relaxed,
    fetch_or_relaxed,
    fetch_or_release,
    load_relaxed,
    load_unordered,
    store_relaxed,
    words_at,
)
from gasla.cpu.runtime.threads import (
    NEXT_THREADS,
    POOL,
    PROGRESS,
    STOP,
    TEAM,
    are_awake,
    barrier,
    thin,
    time_apart,
    wake_all,
)
from gasla.cpu.runtime.workers import POOL_SIZE

# The counters of one iteration: the ticket of passes over all vertices, then each thread's own: the tickets of its
# queues (a cache line each), and counts. Iterations use three rows in turn: one is in use, one has the results of the
# last iteration, and one is being zeroed; so no barrier is needed to reset them.
DENSE_TICKET, STOPPED, APART, FIRST, STRIDE = 0, 1, 2, 8, 64
NEXT, EDGES, TOUCHED, RECEIVED, LEFT = 56, 57, 58, 59, 60

LIST, BITS = 0, 1  # forms of the active set: lists of the threads, or a bitmap
SPARSE, DENSE = 1, 2  # an iteration over active vertices, or over all; 0 lets the engine choose

CHUNK = 64  # entries of a queue that a thread takes at once
DENSE_CHUNK = 1024  # vertices that a thread takes at once in a pass over all; a multiple of a bitmap's word
# Prefetch distances in a queue: for fields of the vertices' neighbors, for neighbor lists, and for their offsets.
NEAREST, NEAR, FAR = np.uint64(4), np.uint64(16), np.uint64(32)


@compiled
def has(bits, vertex):
    """Return whether the bit of `vertex` is set."""
    return (bits[vertex >> np.uint64(6)] >> (vertex & np.uint64(63))) & np.uint64(1) != np.uint64(0)


@compiled
def claim(bits, vertex, shared):
    """Set the bit of `vertex`. Return True for exactly one caller, which found it clear."""
    word, bit = vertex >> np.uint64(6), np.uint64(1) << (vertex & np.uint64(63))
    if load_unordered(bits, word) & bit:
        return False
    if shared:
        return fetch_or_relaxed(bits, word, bit) & bit == np.uint64(0)
    bits[word] |= bit
    return True


@compiled
def takes_turn(waiting, vertex, bucket, opened, shared):
    """Return whether a vertex of a bucket is active now. Otherwise it waits, unless the bucket is negative."""
    word, bit = vertex >> np.uint64(6), np.uint64(1) << (vertex & np.uint64(63))
    waits, waited = bucket > opened, load_unordered(waiting, word) & bit != np.uint64(0)
    if waits and not waited:
        claim(waiting, vertex, shared)
    elif waited and not waits:
        fetch_and_relaxed(waiting, word, ~bit)
    return 0 <= bucket <= opened


@compiled
def least_of(lowest, threads):
    """Return the smallest of the buckets that threads have found, or -1 if there is none."""
    least = np.int64(-1)
    for thread in range(threads):
        low = lowest[8 * thread]
        if low >= 0 and (low < least or least < 0):
            least = low
    return least


@compiled
def add_news(news, vertex, bits, shared):
    """Mark parts of a vertex as changed."""
    if shared:
        fetch_or_release(news, vertex, np.uint8(bits))
    else:
        news[vertex] |= np.uint8(bits)


@compiled
def take_news(news, vertex, shared):
    """Return the bits of the changed parts of a vertex, and clear them."""
    bits = load_unordered(news, vertex)
    if shared:
        if bits != np.uint8(0):
            bits = fetch_and_acquire(news, vertex, np.uint8(0))
    else:
        news[vertex] = np.uint8(0)
    return np.uint64(bits)


@compiled
def chunks_of(n):
    """Return the number of chunks of a pass over all vertices, at least 1."""
    return max((n + DENSE_CHUNK - 1) // DENSE_CHUNK, 1)


@compiled
def own_at(thread):
    """Return the index of a thread's first counter in a row."""
    return FIRST + thread * STRIDE


@stage
def renew(thread, threads, counters):
    """Zero a thread's own counters for the next iteration."""
    if thread == 0:
        counters[DENSE_TICKET] = 0
    counters[own_at(thread) : own_at(thread) + STRIDE] = 0


@stage
def begin(control, counts):
    """Reset the state of an earlier run, and set the number of vertices in each thread's queue."""
    control[PROGRESS] = control[ITERATION] = control[FORM] = control[DONE] = 0
    control[TOTAL] = control[PUT_OFF] = control[WORK] = control[MISSED] = 0
    control[REMAINING] = control[EDGE_SUM] = control[ENTRIES]
    counts[:] = 0
    active, team = control[ACTIVE], control[TEAM]
    for t in range(team):
        first, last = (active * t + team - 1) // team, (active * (t + 1) + team - 1) // team
        counts[2, own_at(t) + NEXT] = last - first


@stage
def fill_field(low, high, field, values, places):
    """Fill a thread's part of a field: from values of all vertices, or from one value and those of some vertices.

    Without values the field stays as it is. The function is compiled once for each type, not for each program.
    """
    if len(values) > len(places) + 1:
        for v in range(low, high):
            field[np.uint64(v)] = values[np.uint64(v)]
    elif len(values) > 0:
        for v in range(low, high):
            field[np.uint64(v)] = values[0]
        for i in range(len(places)):
            if low <= places[i] < high:
                field[np.uint64(places[i])] = values[i + 1]


@stage
def fill_vectors(low, high, field, values, places):
    """Fill a field of vectors, as `fill_field` does one of numbers."""
    if len(values) > len(places) + 1:
        for v in range(low, high):
            for lane in range(field.shape[1]):
                field[np.uint64(v), lane] = values[np.uint64(v), lane]
    elif len(values) > 0:
        for v in range(low, high):
            for lane in range(field.shape[1]):
                field[np.uint64(v), lane] = values[0, lane]
        for i in range(len(places)):
            for lane in range(field.shape[1] if low <= places[i] < high else 0):
                field[np.uint64(places[i]), lane] = values[i + 1, lane]


@stage
def choose_threads(amount, in_row, counters, control, threads):
    """Choose the number of threads for the next iteration, of `amount` vertices and edges.

    One thread continues alone if several would wait for each other longer than they work: after many small iterations
    in a row, or if a thread recently had to wait for a core. It stays alone while the others sleep and it has not yet
    done enough work to be worth waking them. Then it wakes them, and works until they are awake, unless the iteration
    takes longer than waking them.
    """
    team = control[TEAM]
    if threads == team:
        return 1 if in_row >= control[LASTING] or amount < counters[APART] else team
    if control[STAYS_ALONE] != 0 or amount < time_apart(control):
        return 1
    if are_awake(words_at(control[POOL], POOL_SIZE), team):
        control[MISSED] = 0
        return team
    control[MISSED] += amount
    if control[MISSED] > control[UNTIL]:
        control[MISSED] = 0
        if amount > control[UNTIL]:
            return team
        wake_all(control, team)
    return 1


@compiled
def thin_work(control):
    """Return the number of vertices and edges below which an iteration is thin: as given, or else as measured."""
    return control[THIN] if control[THIN] >= 0 else thin(words_at(control[POOL], POOL_SIZE))


@stage
def collect(counts, iteration, form, lists):
    """Move the entries of all threads' lists into the first, for one thread alone."""
    team, last = lists.shape[0], counts[(iteration + 2) % 3]
    size = last[own_at(0) + NEXT]
    for t in range(1, team if form == LIST else 1):
        for i in range(last[own_at(t) + NEXT]):
            lists[0, size] = lists[t, i]
            size += 1
    last[own_at(0) + NEXT] = size


@stage
def collect_far(counts, iteration, lows, far, far_bits):
    """Move the deferred vertices of all threads into the first pile, each once, for one thread alone."""
    last, low = counts[(iteration + 2) % 3], lows[(iteration + 2) % 3]
    size = last[own_at(0) + LEFT]
    for t in range(1, far.shape[0]):
        for i in range(last[own_at(t) + LEFT]):
            v = np.uint64(far[t, i])
            far_bits[t, v >> np.uint64(6)] = 0
            if claim(far_bits[0], v, False):
                far[0, size] = v
                size += 1
        low[0] = min(low[0], low[8 * t])
    last[own_at(0) + LEFT] = size
    lows[:, 8:] = np.inf


@stage
def edges_from(queue, counters, threads, indptr):
    """Return the number of out-edges of the vertices in all threads' queues."""
    edges = np.int64(0)
    for t in range(threads):
        for i in range(counters[own_at(t) + NEXT]):
            v = np.uint64(queue[t, i])
            edges += np.int64(indptr[v + np.uint64(1)]) - np.int64(indptr[v])
    return edges


@compiled
def total(counters, threads, what):
    """Return the sum of a counter over all threads."""
    result = np.int64(0)
    for thread in range(threads):
        result += counters[own_at(thread) + what]
    return result


@compiled
def smallest(lows, threads):
    """Return the smallest of the threads' own lower bounds."""
    low = lows[0]
    for thread in range(1, threads):
        low = min(low, lows[8 * thread])
    return low


PARTS = 16.0  # buckets that the range of deferred priorities is divided into
LATEST = np.finfo(np.float64).max  # stands for NaN, so that all priorities are finite
LATE = np.nextafter(LATEST, 0.0)  # stands for inf; a constant, since the compiler would call the function each time


@compiled
def ranked(priority):
    """Return a priority as a finite number that orders like it. NaN comes last."""
    if priority != priority:
        return LATEST
    return min(max(priority, -LATEST), LATE)


@compiled
def nearer(priority, other):
    """Return the lesser of two priorities."""
    return other if other < priority else priority


@compiled
def higher(high, priority):
    """Return the larger of two priorities that were finite."""
    return priority if high < priority < LATE else high


@compiled
def share_of_range(low, lows, threads):
    """Return the width of buckets if the program implies none.

    It is a part of the range of deferred priorities from `low` on.
    """
    high = -np.inf
    for thread in range(threads):
        high = max(high, lows[8 * thread + 1])
    return (high - low) / PARTS if -LATEST < low < high else 0.0


@compiled
def beyond(low, delta):
    """Return the end of the bucket of width `delta` that contains `low`.

    If rounding loses the width, it is just above `low`.
    """
    end = (np.floor(low / delta) + 1.0) * delta
    if not end > low:
        end = np.nextafter(low, np.inf)
    return min(end, LATEST) if low < LATEST else np.inf


@compiled
def take(counters, thread, ticket, size):
    """Reserve a chunk of a thread's queue of `size` entries: its first index, or `size` or more if none is left."""
    at = own_at(thread) + 8 * ticket
    if load_relaxed(counters, at) >= size:
        return np.uint64(size)
    return np.uint64(fetch_add_relaxed(counters, at, CHUNK))


@compiled
def dense_is_cheaper(size, edges, remaining, n, ratio):
    """Return whether a pass over all vertices is cheaper than pushing from the active ones.

    `ratio` is the number of edges that a pull checks in the time of one edge of a push.
    """
    return edges * ratio > remaining + (n * ratio >> 4)


@stage
def to_bits(thread, threads, control, queue, size, bits):
    """Convert all threads' queues into a bitmap. Ends with a barrier."""
    clear(thread, threads, bits)
    barrier(control, threads)
    for i in range(size):
        v = np.uint64(queue[thread, i])
        fetch_or_relaxed(bits, v >> np.uint64(6), np.uint64(1) << (v & np.uint64(63)))
    barrier(control, threads)


@stage
def to_list(thread, threads, control, bits, queue):
    """Convert a bitmap into queues: each thread lists its part, and returns the count. The caller adds a barrier."""
    words, listed = len(bits), np.uint64(0)
    for w in range(words * thread // threads, words * (thread + 1) // threads):
        word = bits[w]
        while word != np.uint64(0):
            queue[thread, listed] = np.uint64(w) * np.uint64(64) + count_trailing_zeros(word)
            listed += np.uint64(1)
            word &= word - np.uint64(1)
    return np.int64(listed)


@compiled
def clear(thread, threads, bits):
    """Zero a bitmap. Other threads see this after the caller's next barrier."""
    words = len(bits)
    for w in range(words * thread // threads, words * (thread + 1) // threads):
        bits[w] = np.uint64(0)


@stage
def clear_both(thread, threads, pair):
    """Zero both rows of a pair of bitmaps. Other threads see this after the caller's next barrier."""
    clear(thread, threads, pair[0])
    clear(thread, threads, pair[1])


@stage
def sort_by_level(thread, threads, control, levels, starts, order):
    """Sort the vertices by level, by counting, from level `starts[0, 0]` on. Ids stay in order within a level.

    `starts[0]` becomes the offsets of the levels. `starts[1 + t, l]` is the number of vertices of the l-th level in
    thread t's part, then the index of the next of them. The result is visible after the caller's next barrier.
    """
    n, depth, first, places = len(levels), starts.shape[1] - 1, starts[0, 0], starts[1 + thread]
    begin, end = n * thread // threads, n * (thread + 1) // threads
    for level in range(depth):
        places[level] = 0
    for v in range(begin, end):
        if levels[v] >= first:
            places[levels[v] - first] += 1
    barrier(control, threads)
    if thread == 0:
        place = np.int64(0)
        for level in range(depth):
            starts[0, level] = place
            for t in range(threads):
                place, starts[1 + t, level] = place + starts[1 + t, level], place
        starts[0, depth] = place
    barrier(control, threads)
    for v in range(begin, end):
        if levels[v] >= first:
            level = levels[v] - first
            order[np.uint64(places[level])] = v
            places[level] += 1


@stage
def note(log, line, active, edges, way):
    """Record an iteration in the log, if there is one."""
    if line < len(log):
        log[line, 0], log[line, 1], log[line, 2] = active, edges, way


@stage
def open_iteration(thread, threads, control, counts, iteration):
    """Publish the progress, and read once whether to stop, so that all threads leave at the same barrier."""
    renew(thread, threads, counts[(iteration + 1) % 3])
    if thread == 0:
        counters = counts[iteration % 3]
        store_relaxed(control, PROGRESS, iteration)
        counters[STOPPED] = load_relaxed(control, STOP)
        if threads > 1:
            counters[APART] = time_apart(control)


@stage
def results_of(counters, threads):
    """Return the counts of an iteration: edges looked at, vertices listed, their out-edges, vertices deferred."""
    touched = listed = edges = left = np.int64(0)
    for thread in range(threads):
        at = own_at(thread)
        touched += counters[at + TOUCHED]
        listed += counters[at + NEXT]
        edges += counters[at + EDGES]
        left += counters[at + LEFT]
    return touched, listed, edges, left


@stage
def leave_off(control, iteration, size, edges, remaining, form, done, work, traversed, next_threads):
    """Store the state of the loop, for the call that resumes it.

    Parameters
    ----------
    control :
        words that the caller reads after the launch
    iteration, size, edges :
        number of the next iteration, of its active vertices, and of their out-edges
    remaining, work, traversed :
        edges of vertices that have not been active; edges of work so far; edges that this launch has read
    form, done :
        LIST or BITS, how the active vertices are stored; whether the program's `stop` has ended the run
    next_threads :
        number of threads that should go on, negative if the loop has ended
    """
    control[ITERATION], control[ACTIVE], control[EDGE_SUM] = iteration, size, edges
    control[REMAINING], control[FORM], control[DONE] = remaining, form, done
    control[WORK], control[FILLED] = work, 1
    control[TOTAL] += traversed
    control[NEXT_THREADS] = next_threads
