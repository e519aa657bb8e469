"""Functions that the loops of all programs use: counters, queues with work stealing, bitmaps, and buckets."""

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

# The layout of a row of counters, which belongs to one iteration. First comes the counter from which threads take
# chunks of all vertices. Then each thread has counters from which others take chunks of its queues, a cache line each,
# and the numbers that it has counted. Three rows are used in turn: one is in use, one has the results of the last
# iteration, and one is being cleared. So no barrier is needed to clear them.
DENSE_TICKET, STOPPED, APART, FIRST, STRIDE = 0, 1, 2, 8, 64
NEXT, EDGES, TOUCHED, RECEIVED, LEFT = 56, 57, 58, 59, 60

LIST, BITS = 0, 1  # the two forms in which the active vertices are stored: in queues of the threads, or in a bitmap
# the two ways to run an iteration: over the active vertices, or over all vertices; 0 lets the engine choose
SPARSE, DENSE = 1, 2

CHUNK = 64  # number of vertices that a thread takes from a queue at a time
# Number of vertices that a thread takes at a time in a loop over all vertices. It is a multiple of 64, so that no two
# threads write to the same word of a bitmap.
DENSE_CHUNK = 1024
# data is prefetched for a vertex that comes this many places later in a queue: the fields of its neighbors, its
# adjacency list, and the offset of the list
NEAREST, NEAR, FAR = np.uint64(4), np.uint64(16), np.uint64(32)


@compiled
def has(bits, vertex):
    """Return whether the bit of a vertex is set in `bits`, a bitmap with a bit for each vertex."""
    return (bits[vertex >> np.uint64(6)] >> (vertex & np.uint64(63))) & np.uint64(1) != np.uint64(0)


@compiled
def claim(bits, vertex, shared):
    """Set the bit of a vertex in a bitmap, to claim the vertex. Return True for the first thread to do so, else False.

    `shared` says that other threads may set bits at the same time.
    """
    word, bit = vertex >> np.uint64(6), np.uint64(1) << (vertex & np.uint64(63))
    if load_unordered(bits, word) & bit:
        return False
    if shared:
        return fetch_or_relaxed(bits, word, bit) & bit == np.uint64(0)
    bits[word] |= bit
    return True


@compiled
def takes_turn(waiting, vertex, bucket, opened, shared):
    """Return whether a vertex is active now, by its bucket, which must be the current bucket (`opened`) or one before
    it.

    A vertex of a later bucket is marked in the bitmap `waiting`. A vertex with a negative bucket is neither active nor
    waiting. `shared` says that other threads may set bits at the same time.
    """
    word, bit = vertex >> np.uint64(6), np.uint64(1) << (vertex & np.uint64(63))
    waits, waited = bucket > opened, load_unordered(waiting, word) & bit != np.uint64(0)
    if waits and not waited:
        claim(waiting, vertex, shared)
    elif waited and not waits:
        fetch_and_relaxed(waiting, word, ~bit)
    return 0 <= bucket <= opened


@compiled
def least_of(lowest, threads):
    """Return the smallest bucket number that any thread has seen, or -1 if no thread has seen a waiting vertex.

    The array `lowest` has a number for each thread.
    """
    least = np.int64(-1)
    for thread in range(threads):
        low = lowest[8 * thread]
        if low >= 0 and (low < least or least < 0):
            least = low
    return least


@compiled
def add_news(news, vertex, bits, shared):
    """Mark parts (numbers) of a vertex's value as changed, so that the vertex sends them when it is active next.

    `news` has a byte for each vertex, in which `bits`, one for each changed part, are set.
    """
    if shared:
        fetch_or_release(news, vertex, np.uint8(bits))
    else:
        news[vertex] |= np.uint8(bits)


@compiled
def take_news(news, vertex, shared):
    """Return the bits that say which parts (numbers) of a vertex's value have changed, and clear them.

    The caller sends these parts now. `news` has a byte of bits for each vertex.
    """
    bits = load_unordered(news, vertex)
    if shared:
        if bits != np.uint8(0):
            bits = fetch_and_acquire(news, vertex, np.uint8(0))
    else:
        news[vertex] = np.uint8(0)
    return np.uint64(bits)


@compiled
def chunks_of(n):
    """Return the number of chunks (ranges of `DENSE_CHUNK` vertices) into which n vertices are divided, at least 1."""
    return max((n + DENSE_CHUNK - 1) // DENSE_CHUNK, 1)


@compiled
def own_at(thread):
    """Return the index at which the counters of a thread begin in the array of all threads' counters."""
    return FIRST + thread * STRIDE


@stage
def renew(thread, threads, counters):
    """Clear the counters of this thread, so that the next iteration can use them."""
    if thread == 0:
        counters[DENSE_TICKET] = 0
    counters[own_at(thread) : own_at(thread) + STRIDE] = 0


@stage
def begin(control, counts):
    """Reset the state of the loop in the array `control` at the start of a run.

    Also set how many active vertices the queue of each thread has at first.
    """
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
    """Fill a field of numbers for the vertices from `low` to `high`, which are the thread's part.

    `values` has a value for each vertex, or one value for all vertices followed by those of the vertices in `places`.
    If it is empty, the field stays as it is. This function is compiled once for each type, not for each program.
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
    """Fill a field of vectors for the vertices from `low` to `high`, which are the thread's part.

    `values` has a vector for each vertex, or one for all vertices followed by those of the vertices in `places`. If it
    is empty, the field stays as it is.
    """
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
    """Return the number of threads for the next iteration, which has `amount` vertices and edges.

    One thread continues alone if several threads would wait for each other longer than they work. This is so after many
    small iterations in a row (`in_row`), and if a thread recently had to wait for a core. A thread that works alone
    goes on alone until it has done enough work for the others to be worth waking. Then it wakes them, and goes on
    working until they are awake, unless the iteration takes longer than waking them.
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
    """Return the number of vertices and edges below which an iteration counts as small, and may run on one thread.

    The number is in the array `control`. If it is negative there, it is computed from the measured costs of sharing
    work.
    """
    return control[THIN] if control[THIN] >= 0 else thin(words_at(control[POOL], POOL_SIZE))


@stage
def collect(counts, iteration, form, lists):
    """Move the vertices in all threads' queues to the first thread's queue, because this thread goes on alone."""
    team, last = lists.shape[0], counts[(iteration + 2) % 3]
    size = last[own_at(0) + NEXT]
    for t in range(1, team if form == LIST else 1):
        for i in range(last[own_at(t) + NEXT]):
            lists[0, size] = lists[t, i]
            size += 1
    last[own_at(0) + NEXT] = size


@stage
def collect_far(counts, iteration, lows, far, far_bits):
    """Move the deferred vertices of all threads into the first thread's list, because this thread goes on alone.

    A vertex that several threads have deferred is moved once.
    """
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
    """Return the number of out-edges of the active vertices, which are in the queues of all threads."""
    edges = np.int64(0)
    for t in range(threads):
        for i in range(counters[own_at(t) + NEXT]):
            v = np.uint64(queue[t, i])
            edges += np.int64(indptr[v + np.uint64(1)]) - np.int64(indptr[v])
    return edges


@compiled
def total(counters, threads, what):
    """Return the sum of a counter over all threads, such as the number of edges that were read.

    `what` is the counter's offset among the counters of a thread.
    """
    result = np.int64(0)
    for thread in range(threads):
        result += counters[own_at(thread) + what]
    return result


@compiled
def smallest(lows, threads):
    """Return the smallest priority that any thread has deferred, from the array `lows`.

    The array has one priority for each thread. These are 8 items apart, so that each is in a cache line of its own.
    """
    low = lows[0]
    for thread in range(1, threads):
        low = min(low, lows[8 * thread])
    return low


PARTS = 16.0  # the range of deferred priorities is divided into this many buckets
# the finite number that stands for the priority NaN, so that priorities can be compared
LATEST = np.finfo(np.float64).max
# the finite number that stands for the priority inf; a constant, because the compiler would call `nextafter` each time
LATE = np.nextafter(LATEST, 0.0)


@compiled
def ranked(priority):
    """Return a priority as a finite number, such that numbers have the same order as priorities. NaN is the largest."""
    if priority != priority:
        return LATEST
    return min(max(priority, -LATEST), LATE)


@compiled
def nearer(priority, other):
    """Return the smaller of two priorities. If `other` is NaN, return `priority`."""
    return other if other < priority else priority


@compiled
def higher(high, priority):
    """Return the larger one of `high`, the largest priority so far, and another priority.

    A `priority` that stands for inf or NaN is ignored.
    """
    return priority if high < priority < LATE else high


@compiled
def share_of_range(low, lows, threads):
    """Return the width of the next bucket of priorities, for programs where it does not follow from edge values.

    The width is a fixed fraction of the range of deferred priorities, which begins at `low`.
    """
    high = -np.inf
    for thread in range(threads):
        high = max(high, lows[8 * thread + 1])
    return (high - low) / PARTS if -LATEST < low < high else 0.0


@compiled
def beyond(low, delta):
    """Return the upper end of the bucket (range of priorities) of width `delta` that contains the priority `low`.

    If the width is lost in rounding, the end is the next number above `low`.
    """
    end = (np.floor(low / delta) + 1.0) * delta
    if not end > low:
        end = np.nextafter(low, np.inf)
    return min(end, LATEST) if low < LATEST else np.inf


@compiled
def take(counters, thread, ticket, size):
    """Reserve a chunk of a thread's queue, which has `size` entries, for the calling thread. Return its first index.

    If no entries are left, return `size` or more. `ticket` is the number of the counter by which chunks are taken.
    """
    at = own_at(thread) + 8 * ticket
    if load_relaxed(counters, at) >= size:
        return np.uint64(size)
    return np.uint64(fetch_add_relaxed(counters, at, CHUNK))


@compiled
def dense_is_cheaper(size, edges, remaining, n, ratio):
    """Return whether a pull over all n vertices is estimated to be cheaper than a push from the active vertices.

    A push would read `edges` edges, and a pull `remaining` edges. `ratio` is the number of edges that a pull reads in
    the time in which a push sends along one edge.
    """
    return edges * ratio > remaining + (n * ratio >> 4)


@stage
def to_bits(thread, threads, control, queue, size, bits):
    """Convert the queues of active vertices of all threads into a bitmap. All threads call this together.

    At the end, all threads wait for each other.
    """
    clear(thread, threads, bits)
    barrier(control, threads)
    for i in range(size):
        v = np.uint64(queue[thread, i])
        fetch_or_relaxed(bits, v >> np.uint64(6), np.uint64(1) << (v & np.uint64(63)))
    barrier(control, threads)


@stage
def to_list(thread, threads, control, bits, queue):
    """Convert a bitmap of vertices into queues: each thread appends the vertices of its part of the bitmap.

    Return the number of vertices that this thread has appended. The caller must wait for all threads before it reads
    the queues.
    """
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
    """Clear a bitmap of vertices together with all other threads: each thread clears an equal part.

    All threads see the cleared bitmap after the caller's next barrier.
    """
    words = len(bits)
    for w in range(words * thread // threads, words * (thread + 1) // threads):
        bits[w] = np.uint64(0)


@stage
def clear_both(thread, threads, pair):
    """Clear two bitmaps of vertices together with all other threads: each thread clears a part of both.

    All threads see the cleared bitmaps after the caller's next barrier.
    """
    clear(thread, threads, pair[0])
    clear(thread, threads, pair[1])


@stage
def sort_by_level(thread, threads, control, levels, starts, order):
    """Sort the vertices by level (the iteration in which each receives) with a counting sort, on all threads.

    Vertices of levels below `starts[0, 0]` are left out. Within a level, vertices stay in ascending order. `starts[0]`
    becomes the offsets of the levels in `order`. `starts[1 + t, l]` is first the number of vertices of the l-th level
    in thread t's part, and then the index at which the next of these vertices is stored. The result is visible to all
    threads after the caller's next barrier.
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
    """Record one iteration as a line of a run's log: the number of active vertices, the edges read, and the direction.

    Iterations beyond the end of the log are not recorded.
    """
    if line < len(log):
        log[line, 0], log[line, 1], log[line, 2] = active, edges, way


@stage
def open_iteration(thread, threads, control, counts, iteration):
    """Begin an iteration: publish its number for the progress bar, and read whether the run was interrupted.

    Only the first thread reads this, so that all threads leave the loop in the same iteration.
    """
    renew(thread, threads, counts[(iteration + 1) % 3])
    if thread == 0:
        counters = counts[iteration % 3]
        store_relaxed(control, PROGRESS, iteration)
        counters[STOPPED] = load_relaxed(control, STOP)
        if threads > 1:
            counters[APART] = time_apart(control)


@stage
def results_of(counters, threads):
    """Return the sums over all threads of what they have counted in an iteration: four numbers.

    These are the edges read, the vertices appended to queues, the out-edges of these vertices, and the vertices
    deferred.
    """
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
    """Store the state of the loop in the control array, so that the next launch can resume the run.

    Parameters
    ----------
    control :
        (CONTROL_SIZE,) int64, words that the caller reads after the launch
    iteration :
        number of the next iteration
    size, edges :
        number of vertices that are active in the next iteration, and number of their out-edges
    remaining :
        number of edges of the vertices that the mask may still admit
    form :
        LIST if queues hold the active vertices, BITS if a bitmap does
    done :
        whether the program's `stop` has ended the run
    work :
        number of vertices and edges that the run has processed so far
    traversed :
        number of edges that this launch has read
    next_threads :
        number of threads that should go on, negative if the loop has ended
    """
    control[ITERATION], control[ACTIVE], control[EDGE_SUM] = iteration, size, edges
    control[REMAINING], control[FORM], control[DONE] = remaining, form, done
    control[WORK], control[FILLED] = work, 1
    control[TOTAL] += traversed
    control[NEXT_THREADS] = next_threads
