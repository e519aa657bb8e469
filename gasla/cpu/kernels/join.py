"""Joins of neighbor lists: matches are extended by one vertex at a time, depth-first.

The vertices that fit next are found in the shortest list that has them all, and collected before the first of them is
tried, so a thread needs one buffer per vertex of the pattern. Bits at each vertex of the graph tell where in a pattern
it may be, and in which lists of the vertices matched so far it is: one test decides about all those lists. The list of
the vertex that was matched last is not marked before it is known that something fits: it is read, or what other lists
have is searched in it.

Vertices of the pattern on which no others depend are not tried, but counted.

Parameters of the kernels
-------------------------
run :
    the record that the functions share (`Run`)
thread, threads :
    number of this thread, from 0, and of all threads
control :
    words by which threads take blocks and see that the run is stopped
n, indptr, indices :
    number of vertices; (kinds * n + 1,) and (m,) one adjacency list after another for each kind of list
all_rows, all_marks :
    (threads, 8) uint64, the vertices matched so far; (threads, n) words of bits, where in a pattern a vertex may be
all_buffers :
    (threads, vertices of the pattern, longest list) ids, the vertices that fit next
all_tables, all_sizes :
    (threads, tables, n) int32, for each vertex of the pattern that is counted ahead, how many vertices fit it after
    each vertex; (threads, vertices of the pattern that are only counted) uint64, how many vertices fit each
all_totals, all_tallies :
    (threads, 8) uint64, words of `total` (LOW and so on); (threads, n) int64, matches that each vertex is in, or empty
found :
    (rows, vertices of the pattern) ids, the matches that are written, or empty
first, edges, grain :
    number of the first block; number of edges that matches begin with; edges of a block
skips, takes, places :
    (blocks,) uint64: for each block how many matches are skipped, how many are wanted, and the row of the first
counts :
    (blocks, 2) uint64, the number of matches of each block in two words, which is written
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.compiler.template import Constant, Each, Record, known
from gasla.cpu.kernels.searches import first_not_less, owner_of
from gasla.cpu.runtime.blocks import blocks
from gasla.cpu.runtime.intrinsics import ONE, ZERO
from gasla.cpu.runtime.threads import is_stopped

if TYPE_CHECKING:
    from gasla.cpu.primitive.join_decisions import Decisions

# Words of `total`: the number of matches in two words, those to be skipped, the most that are wanted, where to write,
# whether the tables are filled, and whether nothing begins with the first vertex.
LOW, HIGH, SKIP, LEFT, PLACE, FILLED, BARREN = map(np.uint64, range(7))
FAR = 8  # if a list is this many times as long as another one, the entries of that one are searched in it

plan: Decisions = known()


class Run(Record):
    """Variables that functions share: arguments, the state of a thread, and the list that is read."""

    control: Any
    n: Any
    indptr: Any
    indices: Any
    row: Any
    marks: Any
    buffers: Any
    tables: Any
    sizes: Any
    total: Any
    tally: Any
    found: Any
    e: Any
    low: Any
    high: Any
    count: Any
    fits: Any
    at: Each
    end: Each
    v: Each
    size: Each
    local: Each


@compiled
def join(
    run: Run, thread, threads, control, n, indptr, indices,
    all_rows, all_marks, all_buffers, all_tables, all_sizes, all_totals, all_tallies, found,
    first, edges, grain, skips, takes, places, counts,
):  # fmt: skip
    """Visit the matches that begin with an edge of some blocks. `total` has their number, and what is to be written."""
    run.row, run.marks, run.buffers = all_rows[thread], all_marks[thread], all_buffers[thread]
    run.tables, run.sizes, run.tally = all_tables[thread], all_sizes[thread], all_tallies[thread]
    run.total = all_totals[thread]
    shift = n * np.uint64(plan.slot(plan.joins[1].within[0]))
    base = np.uint64(indptr[shift])
    for block, _ in blocks(control, np.uint64(len(counts)), ONE):
        start = base + (first + block) * grain
        stop = min(start + grain, base + edges)
        run.total[LOW] = run.total[HIGH] = ZERO
        run.total[SKIP], run.total[LEFT], run.total[PLACE] = skips[block], takes[block], places[block]
        owner = owner_of(indptr, start)
        begun = False
        for e in range(start, stop):
            if is_stopped(control) or run.total[LOW] >= run.total[LEFT]:
                break
            if np.uint64(indptr[owner + ONE]) <= e:
                if begun:
                    end_root(run)
                    begun = False
                while np.uint64(indptr[owner + ONE]) <= e:
                    owner += ONE
            run.row[ZERO] = owner - shift
            run.row[ONE] = np.uint64(indices[e])
            if not starts(run):
                continue
            if not begun:
                run.total[BARREN] = np.uint64(not begin_root(run))
                begun = True
            if run.total[BARREN] == 0:
                extend(run, 2)
        if begun:
            end_root(run)
        counts[block, ZERO], counts[block, ONE] = run.total[LOW], run.total[HIGH]


@compiled
def starts(run: Run):
    """Return whether the first two vertices fit."""
    u, w = run.row[ZERO], run.row[ONE]
    if not (run.marks[u] & plan.kind(plan.joins[0]) and run.marks[w] & plan.kind(plan.joins[1])):
        return False
    if plan.joins[1].above:
        if w < u:
            return False
    for reach, is_within in plan.checks_of_start:  # noqa: SIM110 - unrolled
        if is_in(run, reach, w) != is_within:
            return False
    return True


@compiled
def begin_root(run: Run):
    """Mark the lists of the first vertex, and count what depends on it alone.

    Return False if nothing begins with it.
    """
    for reach in plan.marked_of(0):
        mark(run, reach)
    run.total[FILLED] = 0
    for number in plan.ready_at(1):
        count_free(run, number)
        if run.sizes[np.uint64(number)] == 0:
            return False
    return True


@compiled
def end_root(run: Run):
    """Take back the marks of the first vertex."""
    for reach in plan.marked_of(0):
        unmark(run, reach)
    if plan.tabled:
        if run.total[FILLED]:
            for number in plan.tabled:
                fill_table(run, number, 0)


@compiled
def extend(run: Run, key: Constant):
    """Find what fits after `key` vertices, and go on with each."""
    for number in plan.ready_at(key):
        count_free(run, number)
        if run.sizes[np.uint64(number)] == 0:
            return
    if key == plan.size:
        finish(run)
    else:
        gather(run, plan.joins[key], key, True)
        if run.count > 0:
            try_each(run, key, run.count)


@compiled
def try_each(run: Run, key: Constant, count):
    """Go on with each of the vertices that fit after `key` vertices."""
    for reach in plan.marked_of(key - 1):
        mark(run, reach)
    for k in range(count):
        if is_stopped(run.control) or run.total[LOW] >= run.total[LEFT]:
            break
        run.row[np.uint64(key)] = np.uint64(run.buffers[np.uint64(key), k])
        extend(run, key + 1)
    for reach in plan.marked_of(key - 1):
        unmark(run, reach)


# --- lists ------------------------------------------------------------------------------------------------------------


def list_of(run: Run, reach):
    """Return the number of a list: in-neighbors follow all out-neighbors, and further relations follow both."""
    return run.row[np.uint64(reach.place)] + run.n * np.uint64(plan.slot(reach))


def is_in(run: Run, reach, w):
    """Return whether a vertex is in a list, by a search."""
    v = list_of(run, reach)
    return contains(run.indices, np.uint64(run.indptr[v]), np.uint64(run.indptr[v + ONE]), w)


@compiled
def contains(indices, low, high, w):
    """Return whether an ascending list has an entry."""
    at = first_not_less(indices, low, high, w)
    return at < high and np.uint64(indices[at]) == w


@compiled
def advance(indices, low, high, w):
    """Return the same, where the position is probably near: strides double until they lead too far."""
    stride = ONE
    while low + stride < high and np.uint64(indices[low + stride]) < w:
        low += stride
        stride += stride
    return first_not_less(indices, low, min(low + stride + ONE, high), w)


def mark(run: Run, reach):
    """Set the bit of a list at its entries."""
    v = list_of(run, reach)
    for e in range(np.uint64(run.indptr[v]), np.uint64(run.indptr[v + ONE])):
        run.marks[np.uint64(run.indices[e])] |= plan.bit(reach)


def unmark(run: Run, reach):
    """Take back the bit of a list at its entries."""
    v = list_of(run, reach)
    for e in range(np.uint64(run.indptr[v]), np.uint64(run.indptr[v + ONE])):
        run.marks[np.uint64(run.indices[e])] &= plan.all_but(reach)


def fill_table(run: Run, number, amount):
    """Count for each vertex what fits between the first vertex and it. With an amount of 0, forget the counts."""
    begin_list(run, plan.free[number].join.within[0])
    raise_low(run, plan.free[number].join)
    for e in range(run.low, run.high):
        middle = np.uint64(run.indices[e])
        if plan.free[number].join.has_label:
            if not run.marks[middle] & plan.kind(plan.free[number].join):
                continue
        to = middle + run.n * np.uint64(plan.slot(plan.crossed(plan.free[number].join.within[1])))
        for k in range(np.uint64(run.indptr[to]), np.uint64(run.indptr[to + ONE])):
            w = np.uint64(run.indices[k])
            run.tables[plan.tabled.index(number), w] = run.tables[plan.tabled.index(number), w] * amount + amount


# --- what fits --------------------------------------------------------------------------------------------------------


def gather(run: Run, join, place, collects):
    """Collect or count the vertices that fit next, after `place` matched ones. Their number goes to `run.count`."""
    run.count = ZERO
    if not plan.latest(join, place):
        begin_shortest(run, join, place)
        scan(run, join, place, plan.pending(join, place), collects)
    elif not plan.earlier(join, place):
        begin_list(run, plan.latest(join, place)[0])
        scan(run, join, place, plan.rest(plan.pending(join, place)), collects)
    else:
        begin_shortest(run, join, place)
        v = list_of(run, plan.latest(join, place)[0])
        if np.uint64(run.indptr[v + ONE] - run.indptr[v]) > (run.high - run.low) * np.uint64(FAR):
            scan(run, join, place, plan.pending(join, place), collects)
        else:
            begin_list(run, plan.latest(join, place)[0])
            scan(run, join, place, plan.rest(plan.pending(join, place)), collects)


def begin_list(run: Run, reach):
    """Begin to read a list."""
    v = list_of(run, reach)
    run.low, run.high = np.uint64(run.indptr[v]), np.uint64(run.indptr[v + ONE])


def begin_shortest(run: Run, join, place):
    """Begin to read the shortest adjacency list of the vertices that have been marked."""
    begin_list(run, plan.earlier(join, place)[0])
    for reach in plan.rest(plan.earlier(join, place)):
        v = list_of(run, reach)
        if np.uint64(run.indptr[v + ONE] - run.indptr[v]) < run.high - run.low:
            run.low, run.high = np.uint64(run.indptr[v]), np.uint64(run.indptr[v + ONE])


def raise_low(run: Run, join):
    """Leave out vertices that are not above those which they could be exchanged with."""
    if join.above:
        bound = run.row[np.uint64(join.above[0])]
        for other in plan.rest(join.above):
            bound = max(bound, run.row[np.uint64(other)])
        run.low = first_not_less(run.indices, run.low, run.high, bound + ONE)


def scan(run: Run, join, place, searched, collects):
    """Read the list. What passes all tests is collected or counted, after it was searched in some lists."""
    raise_low(run, join)
    for i in plan.apart(join, place):
        run.v[i] = run.row[np.uint64(i)]
    for reach, _ in searched:
        v = list_of(run, reach)
        run.at[plan.name(reach)], run.end[plan.name(reach)] = np.uint64(run.indptr[v]), np.uint64(run.indptr[v + ONE])
    for run.e in range(run.low, run.high):
        w = np.uint64(run.indices[run.e])
        run.fits = True
        if plan.mask(join, place):
            run.fits = (run.marks[w] & plan.mask(join, place)) == plan.value(join, place)
        for i in plan.apart(join, place):
            run.fits = run.fits & (w != run.v[i])
        if searched:
            if run.fits:
                for reach, is_within in searched:
                    search(run, plan.name(reach), w, is_within)
        if collects:
            run.buffers[np.uint64(place), run.count] = run.indices[run.e]
        run.count += np.uint64(run.fits)


def search(run: Run, name, w, is_within):
    """Search an entry in a list from where the last search has ended."""
    run.at[name] = advance(run.indices, run.at[name], run.end[name], w)
    is_there = run.at[name] < run.end[name] and np.uint64(run.indices[run.at[name]]) == w
    run.fits = run.fits & (is_there if is_within else not is_there)


# --- what is counted --------------------------------------------------------------------------------------------------


def count_free(run: Run, number):
    """Count what fits at a vertex that is not matched, less the matched vertices that are there for certain."""
    if plan.is_tabled(number):
        if run.total[FILLED] == 0:
            for each in plan.tabled:
                fill_table(run, each, 1)
            run.total[FILLED] = 1
        run.count = np.uint64(run.tables[plan.tabled.index(number), run.row[np.uint64(plan.free[number].ready - 1)]])
    elif plan.is_degree(number):
        begin_list(run, plan.free[number].join.within[0])
        raise_low(run, plan.free[number].join)
        run.count = run.high - run.low
    else:
        gather(run, plan.free[number].join, plan.free[number].ready, False)
    run.sizes[np.uint64(number)] = max(run.count, np.uint64(plan.certain(number))) - np.uint64(plan.certain(number))


def finish(run: Run):
    """Add the matches that begin with the matched vertices."""
    if plan.writes:
        write(run)
    elif plan.tallies:
        for i in plan.places:
            run.tally[run.row[np.uint64(i)]] += 1
        add(run.total, ONE, ONE)
    else:
        for number in plan.numbers:
            run.size[number] = run.sizes[np.uint64(number)]
            for place, tests in plan.met_of(number):
                run.size[number] -= coincides(run, plan.free[number].join, place, tests)
        add(run.total, product(run, plan.factors(0)), product(run, plan.factors(2)))


def product(run: Run, numbers):
    """Return the product of two sizes, or the one size that is left."""
    if not numbers:
        return ONE
    return run.size[numbers[0]] * run.size[numbers[1]] if len(numbers) > 1 else run.size[numbers[0]]


def coincides(run: Run, join, place, tests):
    """Return 1 if the matched vertex at `place` would fit in place of a vertex that is only counted, else 0."""
    run.fits = True
    for test in tests:
        run.fits = run.fits & (run.marks[run.row[np.uint64(test.place)]] & plan.bit(test.reach) != 0)
    for i in join.above:
        run.fits = run.fits & (run.row[np.uint64(place)] > run.row[np.uint64(i)])
    if join.has_label:
        run.fits = run.fits & (run.marks[run.row[np.uint64(place)]] & plan.kind(join) != 0)
    return np.uint64(run.fits)


@compiled
def add(total, a, b):
    """Add the product of two numbers below 2^62 to a total of two words."""
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    if b == 1 or (a < mask and b < mask):
        low, high = a * b, ZERO
    else:
        a_low, a_high, b_low, b_high = a & mask, a >> half, b & mask, b >> half
        first, second = a_low * b_high, a_high * b_low
        middle = (a_low * b_low >> half) + (first & mask) + (second & mask)
        low = a * b
        high = a_high * b_high + (first >> half) + (second >> half) + (middle >> half)
    total[LOW] += low
    total[HIGH] += high + np.uint64(total[LOW] < low)


def write(run: Run):
    """Write a match, unless it has to be skipped."""
    if run.total[SKIP] > 0:
        run.total[SKIP] -= ONE
    elif run.total[LOW] < run.total[LEFT]:
        for i in plan.places:
            run.found[run.total[PLACE] + run.total[LOW], i] = run.row[np.uint64(i)]
        run.total[LOW] += ONE
