"""Random walks, in which a thread moves a group of walkers together, one step at a time.

In each step, all walkers of a group draw an edge. The program's `accept` decides which of them take their edges. The
others draw again, until all have an edge. Where `accept` calls `has_edge`, these edges are looked up for the whole
group together, but only if the bounds of accept's result do not decide already.

Parameters of the kernels
-------------------------
run :
    the record that declares the variables shared by all functions (`Walk`)
lists :
    a tuple of the adjacency lists, offsets (n + 1,) and ids (m,), and of the prefix sums of weights with their guides
    (positions near which a search begins), or None without weights
near :
    a tuple of the adjacency lists in ascending order, offsets (n + 1,) and ids (m,), in which `has_edge` looks edges up
inputs :
    a tuple of the arrays of fields and the values of parameters that the program's functions read
bound :
    float64, the largest value that `accept` may return
keys :
    (group,) uint64, for each walker, a hash of the seed and of the walker's number
t :
    number of the step, from 0
first :
    number of the group's first walker
now :
    (group,) ids, the vertex of each walker
before :
    (group,) ids, the vertex of each walker one step before, or -1
here :
    (group,) ids, the vertex from which each walker draws an edge, or -1 for a walker that draws none
starts :
    (group,) ids, the vertex at which each walk began
fates :
    (group,) uint64, for each walker GOES, STOPS or RESTARTS
scratch :
    (rows, group) uint64, working memory of the thread, with an entry for each walker in each row
marks :
    (group,) float64, working memory of the thread, for each walker a random number with which weights are compared
refused :
    number of walkers in `opened` whose draws `accept` has refused
low, high :
    the positions in `indices` where the adjacency list of the walker's vertex begins and ends
at :
    a tuple of a walker's previous vertex, vertex, start, step and number
part :
    float64 in [0, 1), the random number that chooses an edge
previous, v, k, start :
    the previous vertex of a walker, its vertex, the position of the edge that it has drawn, and the start of its walk
complaint :
    (4,) float64, the walker, step, function and value of the first invalid result that this thread has seen
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.compiler.template import Each, Record, known
from gasla.cpu.kernels.draws import NOWHERE, fraction, mixed
from gasla.cpu.kernels.hooks import item
from gasla.cpu.kernels.walk_steps import (
    GOES,
    RESTARTS,
    STOPS,
    TO_RESTART,
    TO_STOP,
    TRIES,
    begin_drawing,
    complain,
    draw_together,
    is_edge,
    pick_together,
    search_together,
    weight,
)
from gasla.cpu.runtime.blocks import blocks
from gasla.cpu.runtime.intrinsics import ONE, ZERO, prefetch
from gasla.cpu.runtime.threads import is_stopped

if TYPE_CHECKING:
    from gasla.cpu.program.walk_decisions import WalkDecisions

plan: WalkDecisions = known()


class Walk(Record):
    """The variables that the functions of the kernel for random walks share.

    They are the arguments of the kernel, and the state of a group of walkers.
    """

    before: Any
    begun: Any
    bound: Any
    complaint: Any
    complaints: Any
    control: Any
    doubtful: Any
    doubts: Any
    fates: Any
    first: Any
    found: Any
    here: Any
    highs: Any
    ids: Any
    indices: Any
    indptr: Any
    inputs: Any
    key: Any
    lists: Any
    lows: Any
    mark: Any
    marks: Any
    near: Any
    near_indices: Any
    near_indptr: Any
    opened: Any
    places: Any
    refused: Any
    scratch: Any
    searching: Any
    starts: Any
    state: Any
    t: Any
    thread: Any
    walks: Any
    weights: Any
    e: Each
    ends: Each
    sought: Each
    v: Each


@compiled
def walk(run: Walk):
    """Walk the random walks from all start vertices. Each thread takes one group of walkers after another."""
    n, steps = np.uint64(len(run.starts)), np.uint64(run.walks.shape[1] - 1)
    my_scratch, my_marks, at = run.scratch[run.thread], run.marks[run.thread], run.ids[run.thread, 2]
    keys, places = my_scratch[0], my_scratch[1]
    if plan.functions:
        lists, near = (run.indptr, run.indices, run.weights), (run.near_indptr, run.near_indices)
        inputs, fates, complaint = run.local[plan.inputs], my_scratch[10], run.complaints[run.thread]
        before = run.ids[run.thread, 0]
    for start, end in blocks(run.control, n, np.uint64(run.marks.shape[1])):
        for w in range(start, end):
            keys[w - start] = mixed(run.key, run.first + w)
            run.walks[w, ZERO] = at[w - start] = run.starts[w]
            prefetch(run.indptr, np.uint64(run.starts[w]))
        if plan.functions:
            begun = run.starts[start:end]
            before[: end - start] = -1
        now = at[: end - start]
        for t in range(steps):
            if is_stopped(run.control):
                break
            here = now
            if plan.fates:
                here = run.ids[run.thread, 1][: end - start]
                decide_together(run, lists, inputs, keys, t, start, now, here, begun, fates, complaint)
            draw_together(run.indptr, run.indices, run.weights, t, here, my_scratch, my_marks)
            if plan.accepts:
                accept_together(
                    run, lists, near, inputs, run.bound, t, start, before, here, begun, my_scratch, my_marks, complaint
                )
                for i in range(end - start):
                    before[i] = -1 if "restart" in plan.fates and fates[i] == RESTARTS else now[i]
            arrive(run, start, end, t, places, at)


def arrive(run: Walk, start, end, t, places, at):
    """Move the walkers of a group along the edges that they have drawn in step `t`, to their next vertices.

    `places` has the positions of these edges. A walker without an edge ends its walk. A walker that restarts goes back
    to its start.
    """
    for w in range(start, end):
        place = places[w - start]
        if place == NOWHERE:
            run.walks[w, t + ONE] = at[w - start] = -1
            continue
        to = run.indices[place]
        run.walks[w, t + ONE] = at[w - start] = to
        prefetch(run.indptr, np.uint64(to))
    if "restart" in plan.fates:
        for i in range(end - start):
            if run.fates[i] == RESTARTS:
                run.walks[start + i, t + ONE] = at[i] = run.begun[i]
                prefetch(run.indptr, np.uint64(run.begun[i]))


# --- calls of the program's own functions, such as `accept` -----------------------------------------------------------


def asked(run: Walk, function, previous, v, k, start):
    """Call one of the walk program's functions for a walker that came from the vertex `previous` to the vertex `v`.

    The walker began at `start`, and has drawn the edge at position `k` of the adjacency lists.
    """
    for symbol, role, field in plan.read_by(function):
        run.local[symbol] = value_of(run, role, field, previous, v, k, start)
    return run.local[plan.functions[function].printed](*run.local[plan.symbols(function)])


def value_of(run: Walk, role, field, previous, v, k, start):
    """Return the argument for one parameter of a function of the walk program, for one walker.

    The parameter's `role` (such as "edge") and its `field` tell which value.
    """
    if role == "previous":
        return previous
    if role == "other":
        return run.v[field]
    if role == "edge":
        return item(run.e[field], plan.edge_type(field), k)
    if role == "vertex":
        return value_at(run, field, v)
    if role == "target":
        return value_at(run, field, run.indices[k])
    if field == "start":
        return start
    return np.int64(run.t) if field == "step" else np.int64(len(run.indptr) - 1)


def value_at(run: Walk, field, v):
    """Return the value of a field of the vertex `v`, or its id or out-degree, which are read like fields."""
    if field == "id":
        return v
    if field == "out_degree":
        return np.int64(run.indptr[np.uint64(v) + ONE] - run.indptr[np.uint64(v)])
    return item(run.v[field], plan.vertex_type(field), np.uint64(v))


def unpack(run: Walk):
    """Unpack adjacency lists, fields and parameters into the local variables that the walk program's functions read."""
    run.indptr, run.indices = run.lists[0], run.lists[1]
    if plan.inputs:
        run.local[plan.inputs] = run.inputs


# --- the program's functions `stop` and `restart` ---------------------------------------------------------------------


@compiled
def decide_together(run: Walk, lists, inputs, keys, t, first, now, here, starts, fates, complaint):
    """Decide which walkers of a group stop, and which restart, by the program's functions `stop` and `restart`.

    `here` becomes the vertex of each walker that goes on, and -1 for all others.
    """
    unpack(run)
    for i in range(np.uint64(len(now))):
        here[i], fates[i], v = now[i], GOES, now[i]
        if v < 0:
            continue
        run.state = mixed(keys[i], t)
        if "stop" in plan.fates:
            decide(run, i, v, "stop", 0, TO_STOP, STOPS)
        if "restart" in plan.fates:
            if fates[i] == GOES:
                decide(run, i, v, "restart", 1, TO_RESTART, RESTARTS)
        if fates[i] != GOES:
            here[i] = -1


def decide(run: Walk, i, v, function, number, draw, fate):
    """Stop walker i or let it restart, with the probability that the program's `function` ("stop" or "restart")
    returns.

    `v` is the walker's vertex, and `fate` is STOPS or RESTARTS.
    """
    chance = asked(run, function, -1, v, 0, run.starts[i])
    if not 0.0 <= chance <= 1.0:
        complain(run.complaint, run.first + i, run.t, number, chance)
    if fraction(mixed(run.state, draw)) < chance:
        run.fates[i] = fate


# --- the program's function `accept`, which refuses edges that were drawn ---------------------------------------------


@compiled
def accept_together(run: Walk, lists, near, inputs, bound, t, first, before, here, starts, scratch, marks, complaint):
    """Draw edges for a group of walkers, again and again, until the program's `accept` has let one edge of each walker
    pass.

    At the beginning, `places` has the positions of the edges that were drawn first. The loop ends, because after many
    refused draws of a walker, its edge is drawn by computing what `accept` returns for all edges of its adjacency list.
    """
    unpack(run)
    keys, run.places, run.highs, states, draws = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    run.lows, run.opened, run.doubtful = scratch[5], scratch[6], scratch[7]
    run.searching, run.found = scratch[8], scratch[9]
    for number in range(plan.pair_count):
        run.ends[number], run.sought[number] = scratch[plan.rows + 2 * number], scratch[plan.rows + 2 * number + 1]
    count = ZERO
    for i in range(np.uint64(len(here))):
        if run.places[i] != NOWHERE:
            run.opened[count], states[i], draws[i] = i, mixed(keys[i], t), ONE
            count += ONE
    while count > ZERO:
        run.refused = run.doubts = ZERO
        for j in range(count):
            i = run.opened[j]
            run.mark = fraction(mixed(states[i], draws[i])) * bound
            if not plan.pair_count:
                accept(run, i)
            else:
                low, high = asked(run, "range", before[i], here[i], run.places[i], starts[i])
                if low >= 0.0 and high <= bound:
                    if run.mark < low:
                        continue
                    if run.mark >= high:
                        refuse(run, i)
                        continue
                doubt(run, i)
        if plan.pair_count:
            accept_doubtful(run)
        count = draw_again(
            run, lists, near, inputs, bound, t, first, before, here, starts, scratch, marks, run.refused, complaint
        )


def accept(run: Walk, i):
    """Let the program's `accept` decide whether walker i takes the edge that it has drawn."""
    accepted = asked(run, "accept", run.before[i], run.here[i], run.places[i], run.starts[i])
    if not 0.0 <= accepted <= run.bound:
        complain(run.complaint, run.first + i, run.t, 2, accepted)
    if not run.mark < accepted:
        refuse(run, i)


def refuse(run: Walk, i):
    """Append walker i to `opened`, the walkers that have to draw again because `accept` has refused their edge."""
    run.opened[run.refused] = i
    run.refused += ONE


def doubt(run: Walk, i):
    """Append walker i to `doubtful`, the walkers for which `accept` needs to know whether some edges exist.

    Also record which edges these are.
    """
    run.marks[i], run.doubtful[run.doubts], run.found[i] = run.mark, i, ZERO
    run.doubts += ONE
    for number in range(plan.pair_count):
        src, dst = asked(run, "pair_" + str(number), run.before[i], run.here[i], run.places[i], run.starts[i])
        run.ends[number][i], run.sought[number][i] = np.uint64(src), np.uint64(dst)


def accept_doubtful(run: Walk):
    """Look up the edges that the program's `accept` asks for, and let it decide about the walkers in `doubtful`.

    For these walkers, it depends on such edges whether the walker takes the edge that it has drawn.
    """
    for number in range(plan.pair_count):
        search_together(
            run.near,
            run.ends[number],
            run.sought[number],
            run.found,
            number,
            run.lows,
            run.highs,
            run.doubtful[: run.doubts],
            run.searching,
        )
    for j in range(run.doubts):
        i, run.mark = run.doubtful[j], run.marks[run.doubtful[j]]
        for number in plan.answers:
            run.local["near", number] = (run.found[i] >> np.uint64(number)) & ONE != ZERO
        accept(run, i)


@compiled
def draw_again(
    run: Walk, lists, near, inputs, bound, t, first, before, here, starts, scratch, marks, refused, complaint
):
    """Draw an edge again for each walker whose last draw the program's `accept` has refused.

    Return for how many walkers `accept` has to decide again. Their numbers are in `opened`. If many draws of a walker
    were refused, its edge is drawn by weighing all edges of its adjacency list, and needs no decision.
    """
    indptr, indices = lists[0], lists[1]
    places, highs, states, draws, bits, opened = scratch[1], scratch[2], scratch[3], scratch[4], scratch[5], scratch[6]
    count = ZERO
    for j in range(refused):
        i = opened[j]
        v = np.uint64(here[i])
        low, high = np.uint64(indptr[v]), np.uint64(indptr[v + ONE])
        bits[i] = mixed(states[i], draws[i] + ONE)
        draws[i] += ONE + ONE
        if draws[i] > (ONE + ONE) * (TRIES + high - low):
            part = fraction(mixed(states[i], draws[i]))
            at = (before[i], here[i], starts[i], t, first + i)
            places[i] = weighed(run, lists, near, inputs, bound, low, high, at, part, complaint)
        else:
            places[i], highs[i] = begin_drawing(indices, lists[2], low, high, bits[i]), high
            opened[count] = i
            count += ONE
    pick_together(indices, lists[2], bits, opened[:count], places, highs, marks)
    return count


@compiled
def weighed(run: Walk, lists, near, inputs, bound, low, high, at, part, complaint):
    """Draw an edge of a whole adjacency list with a probability proportional to its weight times what `accept` returns.

    The list is at positions `low` to `high`. Return the edge's position, or NOWHERE if `accept` lets no edge pass.
    """
    before, v, start, t, walker = at
    total, place = 0.0, NOWHERE
    for k in range(low, high):
        accepted = accept_exactly(run, lists, near, inputs, before, v, k, start, t)
        if not 0.0 <= accepted <= bound:
            complain(complaint, walker, t, 2, accepted)
            return NOWHERE
        total += weight(lists[2], low, k) * (accepted / bound)
    mark, total = part * total, 0.0
    for k in range(low, high):
        more = weight(lists[2], low, k) * (accept_exactly(run, lists, near, inputs, before, v, k, start, t) / bound)
        if more > 0:
            place = k
            total += more
            if total > mark:
                break
    return place


@compiled
def accept_exactly(run: Walk, lists, near, inputs, previous, v, k, start, t):
    """Return what the program's `accept` returns for the edge at position `k` of the adjacency lists.

    All edges whose existence `accept` asks for are looked up first.
    """
    unpack(run)
    for number in range(plan.pair_count):
        src, dst = asked(run, "pair_" + str(number), previous, v, k, start)
        run.local["near", number] = is_edge(near, np.uint64(src), np.uint64(dst))
    accepted = asked(run, "accept", previous, v, k, start)
    return accepted
