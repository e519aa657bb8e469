"""Random walks: a group of walkers advances one step at a time.

All walkers of a group draw an edge, and the program's accept decides which of them pass; those refused draw again, and
so on. The edges of `has_edge` calls in accept are looked up for the whole group, but only if the bounds of accept's
result do not decide already.
"""
# mypy: ignore-errors

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.kernels.draws import *
from gasla.cpu.kernels.hooks import call, item
from gasla.cpu.kernels.walk_steps import *
from gasla.cpu.program.specialize import local, plan
from gasla.cpu.runtime.blocks import blocks
from gasla.cpu.runtime.threads import STOP

ROWS = 11  # scratch rows of a thread's group; each `has_edge` in `accept` takes two more


@compiled
def walk():
    """Walk from all starts, one group after another."""
    n, steps, my_marks = np.uint64(len(starts)), np.uint64(walks.shape[1] - 1), marks[thread]
    keys, places, at = scratch[thread, 0], scratch[thread, 1], ids[thread, 2]  # `at`: a group's current vertices
    if plan.functions:
        lists, near, inputs = (indptr, indices, weights), (near_indptr, near_indices), local[plan.inputs]
        before, fates, complaint = ids[thread, 0], scratch[thread, 10], complaints[thread]
    for start, end in blocks(control, n, np.uint64(marks.shape[1])):
        for w in range(start, end):
            keys[w - start] = mixed(key, first + w)
            walks[w, ZERO] = at[w - start] = starts[w]
            prefetch(indptr, np.uint64(starts[w]))
        if plan.functions:
            begun = starts[start:end]
            before[: end - start] = -1
        now = at[: end - start]
        for t in range(steps):
            if control[STOP]:
                break
            here = now
            if plan.fates:
                here = ids[thread, 1][: end - start]
                decide_together(lists, inputs, keys, t, start, now, here, begun, fates, complaint)
            draw_together(indptr, indices, weights, t, here, scratch[thread], my_marks)
            if plan.accepts:
                accept_together(
                    lists, near, inputs, bound, t, start, before, here, begun, scratch[thread], my_marks, complaint
                )
                for i in range(end - start):
                    before[i] = -1 if "restart" in plan.fates and fates[i] == RESTARTS else now[i]
            arrive()


def arrive():
    """Move walkers along their edges; those without one end, and those that restart go back to their starts."""
    for w in range(start, end):
        place = places[w - start]
        if place == NOWHERE:
            walks[w, t + ONE] = at[w - start] = -1
            continue
        to = indices[place]
        walks[w, t + ONE] = at[w - start] = to
        prefetch(indptr, np.uint64(to))
    if "restart" in plan.fates:
        for i in range(end - start):
            if fates[i] == RESTARTS:
                walks[start + i, t + ONE] = at[i] = begun[i]
                prefetch(indptr, np.uint64(begun[i]))


# --- the program's functions ------------------------------------------------------------------------------------------


def asked(function, previous, v, k, start):
    """Call a function for a walker that came to `v` from `previous` and has drawn the edge at position `k`."""
    for symbol, role, field in plan.read_by(function):
        local[symbol] = value_of(role, field, previous, v, k, start)
    return call(function)


def value_of(role, field, previous, v, k, start):
    """The value of a parameter of a function."""
    if role == "previous":
        return previous
    if role == "other":
        return v_[field]
    if role == "edge":
        return item(e_[field], plan.edge_type(field), k)
    if role == "vertex":
        return value_at(field, v)
    if role == "target":
        return value_at(field, indices[k])
    if field == "start":
        return start
    return np.int64(t) if field == "step" else np.int64(len(indptr) - 1)


def value_at(field, v):
    """A field of a vertex."""
    if field == "id":
        return v
    if field == "out_degree":
        return np.int64(indptr[np.uint64(v) + ONE] - indptr[np.uint64(v)])
    return item(v_[field], plan.vertex_type(field), np.uint64(v))


def known():
    """Unpack the neighbor lists, arrays and parameters that the program's functions read."""
    indptr, indices = lists[0], lists[1]
    if plan.inputs:
        local[plan.inputs] = inputs


# --- stop and restart ---------------------------------------------------------------------------------


@compiled
def decide_together(lists, inputs, keys, t, first, now, here, starts, fates, complaint):
    """Decide which walkers stop or restart; `here` is the vertex of those that do neither, -1 for others."""
    known()
    for i in range(np.uint64(len(now))):
        here[i], fates[i], v = now[i], GOES, now[i]
        if v < 0:
            continue
        state = mixed(keys[i], t)
        if "stop" in plan.fates:
            decide("stop", 0, TO_STOP, STOPS)
        if "restart" in plan.fates:
            if fates[i] == GOES:
                decide("restart", 1, TO_RESTART, RESTARTS)
        if fates[i] != GOES:
            here[i] = -1


def decide(function, number, draw, fate):
    """Stop or restart a walker with the probability that a function returns."""
    chance = asked(function, -1, v, 0, starts[i])
    if not 0.0 <= chance <= 1.0:
        complain(complaint, first + i, t, number, chance)
    if fraction(mixed(state, draw)) < chance:
        fates[i] = fate


# --- accept -----------------------------------------------------------------------------------------------


@compiled
def accept_together(lists, near, inputs, bound, t, first, before, here, starts, scratch, marks, complaint):
    """Redraw positions for a group until accept lets them pass; draws and lookups of edges alternate.

    `places` begin with the positions of draw 0. It ends, because after many refused draws all edges of a list are
    weighed.
    """
    known()
    keys, places, highs, states, draws = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    lows, opened, doubtful, searching, found = scratch[5], scratch[6], scratch[7], scratch[8], scratch[9]
    for number in range(plan.pair_count):
        ends_[number], sought_[number] = scratch[ROWS + 2 * number], scratch[ROWS + 2 * number + 1]
    count = ZERO
    for i in range(np.uint64(len(here))):
        if places[i] != NOWHERE:
            opened[count], states[i], draws[i] = i, mixed(keys[i], t), ONE
            count += ONE
    while count > ZERO:
        refused = doubts = ZERO
        for j in range(count):
            i = opened[j]
            mark = fraction(mixed(states[i], draws[i])) * bound
            if not plan.pair_count:
                accept()
            else:
                low, high = asked("range", before[i], here[i], places[i], starts[i])
                if low >= 0.0 and high <= bound:
                    if mark < low:
                        continue
                    if mark >= high:
                        refuse()
                        continue
                doubt()
        if plan.pair_count:
            accept_doubtful()
        count = draw_again(
            lists, near, inputs, bound, t, first, before, here, starts, scratch, marks, refused, complaint
        )


def accept():
    """Accept or refuse the edge that a walker has drawn."""
    accepted = asked("accept", before[i], here[i], places[i], starts[i])
    if not 0.0 <= accepted <= bound:
        complain(complaint, first + i, t, 2, accepted)
    if not mark < accepted:
        refuse()


def refuse():
    """A walker draws again."""
    opened[refused] = i
    refused += ONE


def doubt():
    """Record which edges have to be looked up for a walker."""
    marks[i], doubtful[doubts], found[i] = mark, i, ZERO
    doubts += ONE
    for number in range(plan.pair_count):
        src, dst = asked("pair_" + str(number), before[i], here[i], places[i], starts[i])
        ends_[number][i], sought_[number][i] = np.uint64(src), np.uint64(dst)


def accept_doubtful():
    """Look edges up for the walkers that need it, and accept or refuse their draws."""
    for number in range(plan.pair_count):
        search_together(near, ends_[number], sought_[number], found, number, lows, highs, doubtful[:doubts], searching)
    for j in range(doubts):
        i, mark = doubtful[j], marks[doubtful[j]]
        for number in plan.answers:
            near_[number] = (found[i] >> np.uint64(number)) & ONE != ZERO
        accept()


@compiled
def draw_again(lists, near, inputs, bound, t, first, before, here, starts, scratch, marks, refused, complaint):
    """Draw again for refused walkers; returns how many new draws there are, listed in `opened`."""
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
            places[i] = weighed(lists, near, inputs, bound, low, high, at, part, complaint)
        else:
            places[i], highs[i] = begin_drawing(indices, lists[2], low, high, bits[i]), high
            opened[count] = i
            count += ONE
    pick_together(indices, lists[2], bits, opened[:count], places, highs, marks)
    return count


@compiled
def weighed(lists, near, inputs, bound, low, high, at, part, complaint):
    """Draw a position by weight times acceptance, over a whole list; NOWHERE if no edge can pass."""
    before, v, start, t, walker = at
    total, place = 0.0, NOWHERE
    for k in range(low, high):
        accepted = accept_exactly(lists, near, inputs, before, v, k, start, t)
        if not 0.0 <= accepted <= bound:
            complain(complaint, walker, t, 2, accepted)
            return NOWHERE
        total += weight(lists[2], low, k) * (accepted / bound)
    mark, total = part * total, 0.0
    for k in range(low, high):
        more = weight(lists[2], low, k) * (accept_exactly(lists, near, inputs, before, v, k, start, t) / bound)
        if more > 0:
            place = k
            total += more
            if total > mark:
                break
    return place


@compiled
def accept_exactly(lists, near, inputs, previous, v, k, start, t):
    """The value of accept, after all edges of its `has_edge` calls have been looked up."""
    known()
    for number in range(plan.pair_count):
        src, dst = asked("pair_" + str(number), previous, v, k, start)
        near_[number] = is_edge(near, np.uint64(src), np.uint64(dst))
    accepted = asked("accept", previous, v, k, start)
    return accepted
