"""What every generated kernel uses: counters, a queue per thread to take from and steal from, bitmaps."""

# mypy: disable-error-code="no-untyped-def"
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
    TOTAL,
    UNTIL,
    WORK,
)
from gasla.cpu.runtime.blocks import stage
from gasla.cpu.runtime.intrinsics import (
    count_trailing_zeros,
    fetch_add,
    fetch_and,
    fetch_or,
    load,
    load_unordered,
    store,
    words_at,
)
from gasla.cpu.runtime.threads import NEXT_THREADS, POOL, PROGRESS, STOP, TEAM, are_awake, barrier, time_apart, wake_all
from gasla.cpu.runtime.workers import POOL_SIZE

# The counters of one iteration: the ticket of full passes, then each thread's own, of tickets (a cache line each)
# and of what the thread has done. Three rows take turns: one in use, the last one's results, one being zeroed; so an
# iteration needs no barrier to reset them.
DENSE_TICKET, STOPPED, APART, FIRST, STRIDE = 0, 1, 2, 8, 64
NEXT, EDGES, TOUCHED, RECEIVED, LEFT = 56, 57, 58, 59, 60

LIST, BITS = 0, 1  # the form that the active set is in
SPARSE, DENSE = 1, 2  # ways of an iteration; 0 lets the engine choose

CHUNK = 64  # entries of a queue that a thread takes at once
DENSE_CHUNK = 1024  # vertices of a full pass that a thread takes at once; whole words of a bitmap
# How far ahead a field of a queue's neighbours, their lists, and the places of those are fetched.
NEAREST, NEAR, FAR = np.uint64(4), np.uint64(16), np.uint64(32)


@compiled
def has(bits, vertex):
    """Whether the bit of `vertex` is set."""
    return (bits[vertex >> np.uint64(6)] >> (vertex & np.uint64(63))) & np.uint64(1) != np.uint64(0)


@compiled
def claim(bits, vertex, shared):
    """Set the bit of `vertex`; True for the one caller that found it clear."""
    word, bit = vertex >> np.uint64(6), np.uint64(1) << (vertex & np.uint64(63))
    if load_unordered(bits, word) & bit:
        return False
    if shared:
        return fetch_or(bits, word, bit) & bit == np.uint64(0)
    bits[word] |= bit
    return True


@compiled
def takes_turn(waiting, vertex, bucket, opened, shared):
    """Whether a vertex of this bucket is active now; else it waits, if it has a bucket."""
    word, bit = vertex >> np.uint64(6), np.uint64(1) << (vertex & np.uint64(63))
    waits, waited = bucket > opened, load_unordered(waiting, word) & bit != np.uint64(0)
    if waits and not waited:
        claim(waiting, vertex, shared)
    elif waited and not waits:
        fetch_and(waiting, word, ~bit)
    return 0 <= bucket <= opened


@compiled
def least_of(lowest, threads):
    """The least of the buckets that threads have found, where -1 stands for none."""
    least = np.int64(-1)
    for thread in range(threads):
        low = lowest[8 * thread]
        if low >= 0 and (low < least or least < 0):
            least = low
    return least


@compiled
def add_news(news, vertex, bits, shared):
    """Say that some parts of what a vertex holds are new."""
    if shared:
        fetch_or(news, vertex, np.uint8(bits))
    else:
        news[vertex] |= np.uint8(bits)


@compiled
def take_news(news, vertex, shared):
    """Which parts of what a vertex holds are new; from now on none is."""
    bits = load_unordered(news, vertex)
    if shared:
        if bits != np.uint8(0):
            bits = fetch_and(news, vertex, np.uint8(0))
    else:
        news[vertex] = np.uint8(0)
    return np.uint64(bits)


@compiled
def chunks_of(n):
    """How many chunks of a full pass there are; one at least."""
    return max((n + DENSE_CHUNK - 1) // DENSE_CHUNK, 1)


@compiled
def own_at(thread):
    """Where a thread's own counters start in a row of them."""
    return FIRST + thread * STRIDE


@stage
def renew(thread, threads, counters):
    """Zero a thread's own counters for the next iteration."""
    if thread == 0:
        counters[DENSE_TICKET] = 0
    counters[own_at(thread) : own_at(thread) + STRIDE] = 0


@stage
def begin(control, counts):
    """Zero what an earlier run left, and note how many vertices are listed for each thread, as if an iteration had."""
    for slot in (PROGRESS, ITERATION, FORM, DONE, TOTAL, PUT_OFF, WORK, MISSED):
        control[slot] = 0
    control[REMAINING] = control[EDGE_SUM] = control[ENTRIES]
    counts[:] = 0
    active, team = control[ACTIVE], control[TEAM]
    for t in range(team):
        first, last = (active * t + team - 1) // team, (active * (t + 1) + team - 1) // team
        counts[2, own_at(t) + NEXT] = last - first


@stage
def fill_field(low, high, field, values, places):
    """A thread's part of a field: values of all; or one, and others for some places; or as it is, where there are none.

    Here, and not in the text of each program, it is compiled once for each type.
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
    """How many threads are to do the next iteration, which looks at so many vertices and edges.

    One alone, where several would wait for each other longer than they work: in many thin iterations in a row, or where
    they lately had to wait for one without a core. (A lone thread does not ask in thin ones.) And as long as the others
    sleep, and it is not worth waking them. Once it is, they are called; but the lone thread goes on until they come,
    unless the iteration takes longer than that.
    """
    team = control[TEAM]
    if threads == team:
        return 1 if in_row >= control[LASTING] or amount < counters[APART] else team
    if amount < time_apart(control):
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


@stage
def collect(counts, iteration, form, lists):
    """Have what is listed in one list, for one thread alone."""
    team, last = lists.shape[0], counts[(iteration + 2) % 3]
    size = last[own_at(0) + NEXT]
    for t in range(1, team if form == LIST else 1):
        for i in range(last[own_at(t) + NEXT]):
            lists[0, size] = lists[t, i]
            size += 1
    last[own_at(0) + NEXT] = size


@stage
def collect_far(counts, iteration, lows, far):
    """Have what was put off in one pile, for one thread alone."""
    last, low = counts[(iteration + 2) % 3], lows[(iteration + 2) % 3]
    size = last[own_at(0) + LEFT]
    for t in range(1, far.shape[0]):
        for i in range(last[own_at(t) + LEFT]):
            far[0, size] = far[t, i]
            size += 1
        low[0] = min(low[0], low[8 * t])
    last[own_at(0) + LEFT] = size
    lows[:, 8:] = np.inf


@stage
def edges_from(queue, counters, threads, indptr):
    """How many edges lead on from the vertices in all threads' queues."""
    edges = np.int64(0)
    for t in range(threads):
        for i in range(counters[own_at(t) + NEXT]):
            v = np.uint64(queue[t, i])
            edges += np.int64(indptr[v + np.uint64(1)]) - np.int64(indptr[v])
    return edges


@compiled
def total(counters, threads, what):
    """The sum of one result over all threads."""
    result = np.int64(0)
    for thread in range(threads):
        result += counters[own_at(thread) + what]
    return result


@compiled
def smallest(lows, threads):
    """The least of the threads' own lower bounds."""
    low = lows[0]
    for thread in range(1, threads):
        low = min(low, lows[8 * thread])
    return low


PARTS = 16.0  # buckets in the range of what waits
LATEST = np.finfo(np.float64).max  # where NaN is put among priorities, which are all finite then


@compiled
def ranked(priority):
    """A priority in an order of finite numbers: infinities at its ends, and NaN after all."""
    if priority != priority:
        return LATEST
    return min(max(priority, -LATEST), np.nextafter(LATEST, 0.0))


@compiled
def nearer(priority, other):
    """The less of two priorities; NaN comes after all."""
    return other if other < priority else priority


@compiled
def higher(high, priority):
    """The larger of the two; of priorities that were finite."""
    return priority if high < priority < np.nextafter(LATEST, 0.0) else high


@compiled
def share_of_range(low, lows, threads):
    """A part of the range of what waits, from `low` on: as wide as a bucket, where nothing better is known of it."""
    high = -np.inf
    for thread in range(threads):
        high = max(high, lows[8 * thread + 1])
    return (high - low) / PARTS if -LATEST < low < high else 0.0


@compiled
def beyond(low, delta):
    """The end of the bucket of width `delta` that `low` is in; of `low` alone, where that is lost beside it."""
    end = (np.floor(low / delta) + 1.0) * delta
    if not end > low:
        end = np.nextafter(low, np.inf)
    return min(end, LATEST) if low < LATEST else np.inf


@compiled
def take(counters, thread, ticket, size):
    """Reserve a chunk of a thread's queue of `size` entries: its first place, `size` or more if none is left."""
    at = own_at(thread) + 8 * ticket
    if load_unordered(counters, at) >= size:
        return np.uint64(size)
    return np.uint64(fetch_add(counters, at, CHUNK))


@compiled
def dense_is_cheaper(size, edges, remaining, n, ratio):
    """Whether a pass over all vertices beats walking the active ones.

    `ratio` is how many edges a pull looks at for one that a push follows: few, where a pull may stop early.
    """
    return edges * ratio > remaining + (n * ratio >> 4)


@stage
def to_bits(thread, threads, control, queue, size, bits):
    """Set exactly the bits of the vertices in all threads' queues. Ends with a barrier."""
    clear(thread, threads, bits)
    barrier(control, threads)
    for i in range(size):
        v = np.uint64(queue[thread, i])
        fetch_or(bits, v >> np.uint64(6), np.uint64(1) << (v & np.uint64(63)))
    barrier(control, threads)


@stage
def to_list(thread, threads, control, bits, queue):
    """List the vertices whose bits are set, each thread those of its part; how many. The caller's barrier follows."""
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
    """Zero a bitmap. The caller's next barrier makes it seen."""
    words = len(bits)
    for w in range(words * thread // threads, words * (thread + 1) // threads):
        bits[w] = np.uint64(0)


@stage
def clear_both(thread, threads, pair):
    """Zero both rows of a pair of bitmaps. The caller's next barrier makes it seen."""
    clear(thread, threads, pair[0])
    clear(thread, threads, pair[1])


@stage
def sort_by_level(thread, threads, control, levels, starts, order):
    """A counting sort of the vertices from the level `starts[0, 0]` on; ids stay in order.

    `starts[0]` becomes where each level starts, and at last the number of vertices. `starts[1 + t, l]` is how many
    vertices of the l-th level thread t has, then where the next of them goes. The caller's next barrier makes it seen.
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
    """Record one iteration, if a trace is wanted."""
    if line < len(log):
        log[line, 0], log[line, 1], log[line, 2] = active, edges, way


@stage
def open_iteration(thread, threads, control, counts, iteration):
    """Tell how far the loop is, and read once whether to stop: all threads leave at the same barrier."""
    renew(thread, threads, counts[(iteration + 1) % 3])
    if thread == 0:
        counters = counts[iteration % 3]
        store(control, PROGRESS, iteration)
        counters[STOPPED] = load(control, STOP)
        if threads > 1:
            counters[APART] = time_apart(control)


@stage
def results_of(counters, threads):
    """What threads did in an iteration: edges looked at, vertices listed, edges on from those, vertices put off."""
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
    """Note where a loop ends, for the call that goes on from there."""
    control[ITERATION], control[ACTIVE], control[EDGE_SUM] = iteration, size, edges
    control[REMAINING], control[FORM], control[DONE] = remaining, form, done
    control[WORK], control[FILLED] = work, 1
    control[TOTAL] += traversed
    control[NEXT_THREADS] = next_threads
