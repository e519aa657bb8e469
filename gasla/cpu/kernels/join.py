"""Joins of adjacency lists, which find all matches of a pattern in a graph.

Matches are extended by one vertex at a time, depth-first. The vertices that fit next are found in the shortest
adjacency list that contains them all. They are collected before the first of them is tried, so a thread needs one
buffer for each vertex of the pattern. Each vertex of the graph has a word of bits. They tell where in a pattern the
vertex may be, and which lists of the vertices matched so far contain the vertex, so that one test decides about all of
these lists. The list of the vertex that was matched last is marked in this way only when it is known that something
fits. Until then, the list is read, or entries of other lists are searched in it.

A vertex of the pattern on which no other vertices depend is not tried. The vertices that fit there are only counted.

Parameters of the kernels
-------------------------
run :
    the record that declares the variables shared by all functions (`Run`)
thread, threads :
    number of this thread, from 0, and number of all threads
control :
    words by which threads take blocks of edges, and see that the run was interrupted
n :
    number of vertices of the graph
indptr, indices :
    (kinds * n + 1,) offsets and (m,) ids of adjacency lists: those of all vertices for the first kind of list, then
    those for the next kind
all_rows :
    (threads, 8) uint64, the vertices of the graph that are matched so far
all_marks :
    (threads, n) words of bits for each vertex of the graph
all_buffers :
    (threads, vertices of the pattern, longest list) ids, the vertices that fit next
all_tables :
    (threads, tables, n) int32, for some vertices of the pattern, how many vertices fit there after each vertex
all_sizes :
    (threads, vertices of the pattern that are only counted) uint64, how many vertices fit there
all_totals :
    (threads, 8) uint64, for each thread the words of `total`, whose indices are LOW and so on
all_tallies :
    (threads, n) int64, the number of matches that contain each vertex, or an empty array
found :
    (rows, vertices of the pattern) ids, the matches that are written, or an empty array
first :
    number of the first block of edges
edges, grain :
    number of edges with which matches can begin, and number of edges of a block
skips, takes, places :
    (blocks,) uint64, for each block how many matches are skipped, how many are wanted, and the row of the first one
counts :
    (blocks, 2) uint64, the number of matches of each block, in two words, which is written
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

# Indices of the words of a thread's `total`: the number of matches in two words, the number of matches to skip, the
# number of matches that are wanted, the row where the next match is written, whether the tables of common neighbors are
# filled, and whether no match begins with the current first vertex.
LOW, HIGH, SKIP, LEFT, PLACE, FILLED, BARREN = map(np.uint64, range(7))
# if one list is more than this many times as long as another, the entries of the shorter list are searched in it
FAR = 8

plan: Decisions = known()


class Run(Record):
    """The variables that the functions of the kernel which finds matches of a pattern share.

    They are the arguments of the kernel, the state of a thread, and the adjacency list that is being read.
    """

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
    """Find the matches that begin with an edge of some blocks of edges, and count or write these matches."""
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
        has_begun = False
        for e in range(start, stop):
            if is_stopped(control) or run.total[LOW] >= run.total[LEFT]:
                break
            if np.uint64(indptr[owner + ONE]) <= e:
                if has_begun:
                    end_root(run)
                    has_begun = False
                while np.uint64(indptr[owner + ONE]) <= e:
                    owner += ONE
            run.row[ZERO] = owner - shift
            run.row[ONE] = np.uint64(indices[e])
            if not starts(run):
                continue
            if not has_begun:
                run.total[BARREN] = np.uint64(not begin_root(run))
                has_begun = True
            if run.total[BARREN] == 0:
                extend(run, 2)
        if has_begun:
            end_root(run)
        counts[block, ZERO], counts[block, ONE] = run.total[LOW], run.total[HIGH]


@compiled
def starts(run: Run):
    """Return whether the current edge can begin a match: whether both of its ends fit the first two vertices of the
    pattern.
    """
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
    """Begin the matches with a new first vertex: mark the entries of its adjacency lists, and count what depends on it
    alone.

    Return False if no match begins with this vertex.
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
    """End the search for matches with a first vertex: clear the marks and the tables set for this vertex."""
    for reach in plan.marked_of(0):
        unmark(run, reach)
    if plan.tabled:
        if run.total[FILLED]:
            for number in plan.tabled:
                fill_table(run, number, 0)


@compiled
def extend(run: Run, key: Constant):
    """Extend the current match of a pattern by one vertex: find the vertices that may be matched next, and try each of
    them.

    `key` is the number of vertices that are matched already.
    """
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
    """Try each of `count` vertices as the next vertex of a match of `key` vertices: add it, and extend the match
    further.
    """
    for reach in plan.marked_of(key - 1):
        mark(run, reach)
    for k in range(count):
        if is_stopped(run.control) or run.total[LOW] >= run.total[LEFT]:
            break
        run.row[np.uint64(key)] = np.uint64(run.buffers[np.uint64(key), k])
        extend(run, key + 1)
    for reach in plan.marked_of(key - 1):
        unmark(run, reach)


# --- functions that read, search and mark adjacency lists -------------------------------------------------------------


def list_of(run: Run, reach):
    """Return the number of the adjacency list that `reach` (a relation and a direction) selects for a matched vertex.

    The lists of out-neighbors of all vertices come first, then those of in-neighbors, and then those of further
    relations.
    """
    return run.row[np.uint64(reach.place)] + run.n * np.uint64(plan.slot(reach))


def is_in(run: Run, reach, w):
    """Return whether the vertex `w` is in an adjacency list of a matched vertex, by bisection of the list.

    `reach` says of which matched vertex, and which of its lists (by relation and direction).
    """
    v = list_of(run, reach)
    return contains(run.indices, np.uint64(run.indptr[v]), np.uint64(run.indptr[v + ONE]), w)


@compiled
def contains(indices, low, high, w):
    """Return whether the ascending list at positions `low` to `high` of the array `indices` contains the vertex `w`."""
    at = first_not_less(indices, low, high, w)
    return at < high and np.uint64(indices[at]) == w


@compiled
def advance(indices, low, high, w):
    """Return the first position in [low, high) of an ascending list in `indices` whose entry is at least w, or else
    `high`.

    The search is fast if the position is near `low`: its steps double until they lead too far.
    """
    stride = ONE
    while low + stride < high and np.uint64(indices[low + stride]) < w:
        low += stride
        stride += stride
    return first_not_less(indices, low, min(low + stride + ONE, high), w)


def mark(run: Run, reach):
    """Mark all vertices in an adjacency list of a matched vertex, by setting the bit that stands for this list at each.

    `reach` says of which matched vertex, and which of its lists (by relation and direction).
    """
    v = list_of(run, reach)
    for e in range(np.uint64(run.indptr[v]), np.uint64(run.indptr[v + ONE])):
        run.marks[np.uint64(run.indices[e])] |= plan.bit(reach)


def unmark(run: Run, reach):
    """Undo `mark`: at all vertices in an adjacency list of a matched vertex, clear the bit that stands for this list.

    `reach` says of which matched vertex, and which of its lists (by relation and direction).
    """
    v = list_of(run, reach)
    for e in range(np.uint64(run.indptr[v]), np.uint64(run.indptr[v + ONE])):
        run.marks[np.uint64(run.indices[e])] &= plan.all_but(reach)


def fill_table(run: Run, number, amount):
    """Count, for each vertex w of the graph, the vertices that are adjacent to both the first matched vertex and w.

    They fit the pattern vertex with the given `number`, which is only counted and not matched. `amount` is 1 to count,
    and 0 to set these counts back to 0.
    """
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


# --- finding the vertices of the graph that may be matched next -------------------------------------------------------


def gather(run: Run, join, place, collects):
    """Find the vertices of the graph that may be matched next, after `place` vertices of the pattern have been matched.

    The vertices are collected in a buffer, or only counted if `collects` is False. Their number becomes `run.count`.
    """
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
    """Set `run.low` and `run.high` to the positions where an adjacency list of a matched vertex begins and ends.

    `reach` says of which matched vertex, and which of its lists (by relation and direction).
    """
    v = list_of(run, reach)
    run.low, run.high = np.uint64(run.indptr[v]), np.uint64(run.indptr[v + ONE])


def begin_shortest(run: Run, join, place):
    """Choose the shortest of the adjacency lists that must contain the vertex to match next, so that this list is read.

    Set `run.low` and `run.high` to the positions where the list begins and ends.
    """
    begin_list(run, plan.earlier(join, place)[0])
    for reach in plan.rest(plan.earlier(join, place)):
        v = list_of(run, reach)
        if np.uint64(run.indptr[v + ONE] - run.indptr[v]) < run.high - run.low:
            run.low, run.high = np.uint64(run.indptr[v]), np.uint64(run.indptr[v + ONE])


def raise_low(run: Run, join):
    """Skip the entries of the list from `run.low` whose ids are too small for the next vertex, by raising `run.low`.

    Where vertices of a pattern could be exchanged, the id of the later one has to be larger, so that each match is
    found only once.
    """
    if join.above:
        bound = run.row[np.uint64(join.above[0])]
        for other in plan.rest(join.above):
            bound = max(bound, run.row[np.uint64(other)])
        run.low = first_not_less(run.indices, run.low, run.high, bound + ONE)


def scan(run: Run, join, place, searched, collects):
    """Collect or count the vertices that may be matched next, from the adjacency list at `run.low` to `run.high`.

    First a vertex's bits are tested, which tell in which marked lists the vertex is. A vertex that passes is then
    searched in the lists `searched`.
    """
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
    """Search the vertex `w` in an adjacency list, from the position where the search for the vertex before `w` ended.

    `name` says which list. The vertex must be in the list if `is_within` is True, and must not be in the list
    otherwise. If that is not so, set `run.fits` to False.
    """
    run.at[name] = advance(run.indices, run.at[name], run.end[name], w)
    is_there = run.at[name] < run.end[name] and np.uint64(run.indices[run.at[name]]) == w
    run.fits = run.fits & (is_there if is_within else not is_there)


# --- counting matches, and writing them -------------------------------------------------------------------------------


def count_free(run: Run, number):
    """Count the vertices of the graph that fit a vertex of the pattern which is only counted, not matched.

    `number` is the number of that pattern vertex. Matched vertices that are certainly among the counted ones are
    subtracted, as no vertex of the graph may be used twice in a match.
    """
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
    """Count or write the matches of the pattern that contain all vertices matched so far, as no further one is matched.

    The pattern's other vertices are only counted: any vertices that fit may stand for them, so the numbers of fitting
    vertices are multiplied.
    """
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
    """Return the product of the counts of fitting vertices for one or two pattern vertices, or 1 if `numbers` is empty.

    `numbers` has the numbers of pattern vertices that are only counted, not matched.
    """
    if not numbers:
        return ONE
    return run.size[numbers[0]] * run.size[numbers[1]] if len(numbers) > 1 else run.size[numbers[0]]


def coincides(run: Run, join, place, tests):
    """Return 1 if the matched vertex number `place` was counted among the vertices that fit an unmatched pattern
    vertex.

    Otherwise return 0. `tests` decide about it. A caller subtracts the result from the count, as no vertex of the graph
    may stand for two vertices of the pattern.
    """
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
    """Add the product of two numbers below 2**62, `a` and `b`, to a number of 128 bits: the words LOW and HIGH of
    `total`.
    """
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
    """Write the current match to the array of matches, unless it is one to skip, or all wanted matches have been
    written.
    """
    if run.total[SKIP] > 0:
        run.total[SKIP] -= ONE
    elif run.total[LOW] < run.total[LEFT]:
        for i in plan.places:
            run.found[run.total[PLACE] + run.total[LOW], i] = run.row[np.uint64(i)]
        run.total[LOW] += ONE
