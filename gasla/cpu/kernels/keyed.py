"""Reductions by key over the edges of a vertex: each thread has a hash table, of which one key is chosen."""
# mypy: ignore-errors

import numpy as np

from gasla.cpu.kernels.hooks import call, load, load_edge, row
from gasla.cpu.kernels.queues import has
from gasla.cpu.kernels.tables import place_of
from gasla.cpu.program.decisions import FEW
from gasla.cpu.program.specialize import local, plan
from gasla.cpu.runtime.intrinsics import prefetch, select
from semirings import VectorType

AHEAD = 16  # edges


def clear_tables():
    """Empty all tables when a run begins."""
    for t in range(thread, len(table_keys), threads):
        table_keys[t] = -1


def begin_table():
    """Use as much of the table as the vertex's list needs."""
    used, capacity = zero, (np.uint64(gp[v + one]) - np.uint64(gp[v])) << one


def reduce_by_key():
    """Combine an edge's value with the total of its key."""
    key = call("key")
    if key >= 0:
        place = place_of(my_table_keys, key, capacity)
        if my_table_keys[place] >= 0:
            my_table_totals[place] = combine(my_table_totals[place], call("gather"))
        else:
            my_table_keys[place], my_table_totals[place] = key, call("gather")
            my_table_places[used] = place
            used += one
            for name in plan.read("other", "choose"):  # keys are most often vertices
                fetch(other_[name], name, np.uint64(key))


def fetch_fields():
    """Prefetch the fields of a neighbor some edges ahead: the branch on new keys is unpredictable, and stalls loads."""
    if plan.fields_of_keys:
        ahead = np.uint64(gi[min(e + np.uint64(AHEAD), np.uint64(len(gi)) - one)])
        for name in plan.fields_of_keys:
            fetch(row(name, "old"), name, ahead)


def fetch(array, name, at):
    """Prefetch a field of a vertex; of a vector, its first items."""
    if isinstance(plan.vertex_type(name), VectorType):
        prefetch(array[at], zero)
    else:
        prefetch(array, at)


def choose():
    """Set `gathered` to the chosen key with its total and scores, if the vertex receives; empty the table."""
    load("vertex", v, "choose")
    local["best", plan.entry] = plan.identity
    for i in range(used):
        place = np.uint64(my_table_places[i])
        key, total = my_table_keys[place], my_table_totals[place]
        my_table_keys[place] = -1
        if found:
            local[plan.scores] = call("choose")
            if better(*plan.compared):
                local["best", plan.entry] = local[plan.entry]
    gathered = local["best", plan.entry]


def choose_of_few(asks_active):
    """Choose without a table and without branches: each edge is compared with all after it.

    A mispredicted branch costs more than computing values that are not used. With `asks_active`, the vertex receives
    only if a neighbor is active.
    """
    load("vertex", v, "choose")
    local["best", plan.entry] = plan.identity
    found = not asks_active
    for i in range(FEW):
        e = first + np.uint64(i)
        u = np.uint64(gi[e])
        load("src", u, "gather", "key")
        load_edge("g", e, "gather", "key")
        value_[i] = call("gather")
        if asks_active:
            found |= has(active, u) & (last - first > np.uint64(i))
        key_[i] = select(last - first > np.uint64(i), call("key"), plan.literal(-1, plan.keyed.key))
    for i in range(FEW):
        key, total = key_[i], value_[i]
        for j in range(i + 1, FEW):
            total = combine(total, select(key_[j] == key, value_[j], plan.nothing))
        local[plan.scores] = call("choose")
        wins = is_first_of_key(i, i) & better(*plan.compared)
        for name in plan.entry:
            best_[name] = select(wins, local[name], best_[name])
    gathered = local["best", plan.entry]


def is_first_of_key(i, count):
    """Whether edge i has a key that none of the first `count` edges has."""
    if count == 0:
        return key_[i] >= 0
    return is_first_of_key(i, count - 1) & (key_[count - 1] != key_[i])
