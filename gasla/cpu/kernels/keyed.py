"""Reductions by key: a vertex adds up the values of its edges separately for each key, and then chooses one of the
keys.

Each thread has a hash table that holds the keys of one vertex at a time.
"""

import numpy as np

from gasla.cpu.kernels.hooks import call, identity, load, load_edge, row
from gasla.cpu.kernels.queues import has
from gasla.cpu.kernels.record import Pass, plan
from gasla.cpu.kernels.tables import place_of
from gasla.cpu.program.decisions import FEW
from gasla.cpu.runtime.intrinsics import ONE, ZERO, prefetch, select
from semirings import VectorType

AHEAD = 16  # the fields of a neighbor are prefetched this many edges before the edge to the neighbor is read


def clear_tables(run: Pass):
    """Empty the hash tables of all threads when a run begins."""
    for t in range(run.thread, len(run.table_keys), run.threads):
        run.table_keys[t] = -1


def begin_table(run: Pass, v):
    """Set the thread's hash table of keys up for the vertex `v`, so that no entry is used.

    Its size is twice the number of the vertex's edges.
    """
    run.used, run.capacity = ZERO, (np.uint64(run.gp[v + ONE]) - np.uint64(run.gp[v])) << ONE


def reduce_by_key(run: Pass):
    """Add the value of the current edge to the total of the edge's key, in the hash table of the receiving vertex.

    Edges with a negative key are ignored.
    """
    key = call(run, "key")
    if key >= 0:
        place = place_of(run.my_table_keys, key, run.capacity)
        if run.my_table_keys[place] >= 0:
            run.my_table_totals[place] = run.combine(run.my_table_totals[place], call(run, "gather"))
        else:
            run.my_table_keys[place], run.my_table_totals[place] = key, call(run, "gather")
            run.my_table_places[run.used] = place
            run.used += ONE
            # keys are most often vertices, so prefetch the fields of the vertex, which `choose` will read
            for name in plan.read("other", "choose"):
                fetch(run.other[name], name, np.uint64(key))


def fetch_fields(run: Pass, e):
    """Prefetch the fields of a neighbor from which the key of a later edge (some entries after position `e`) is
    computed.

    The processor can't predict whether a key is new, and each wrong prediction delays the loads that follow.
    """
    if plan.fields_of_keys:
        ahead = np.uint64(run.gi[min(e + np.uint64(AHEAD), np.uint64(len(run.gi)) - ONE)])
        for name in plan.fields_of_keys:
            fetch(row(run, name, "old"), name, ahead)


def fetch(array, name, at):
    """Prefetch the field `name` of the vertex `at` from its array, or its first cache line if the field is a vector."""
    if isinstance(plan.vertex_type(name), VectorType):
        prefetch(array[at], ZERO)
    else:
        prefetch(array, at)


def choose(run: Pass, v):
    """Choose the best key of the vertex `v` among the keys of its edges in the hash table, and empty the table.

    If the vertex receives, the variable `gathered` becomes that key with its total and its scores.
    """
    load(run, "vertex", v, "choose")
    run.local["best", plan.entry] = identity(run)
    for i in range(run.used):
        place = np.uint64(run.my_table_places[i])
        run.local["key"], run.local["total"] = run.my_table_keys[place], run.my_table_totals[place]
        run.my_table_keys[place] = -1
        if run.found:
            run.local[plan.scores] = call(run, "choose")
            if run.better(*run.local[plan.compared]):
                run.local["best", plan.entry] = run.local[plan.entry]
    run.gathered = run.local["best", plan.entry]


def choose_of_few(run: Pass, v, asks_active):
    """Choose the best key of a vertex with few edges by comparing each edge with all later edges.

    This needs neither a table nor branches. A mispredicted branch would cost more than computing values that are not
    used. With `asks_active`, the vertex receives only if a neighbor is active.
    """
    load(run, "vertex", v, "choose")
    run.local["best", plan.entry] = identity(run)
    run.found = not asks_active
    for i in range(FEW):
        e = run.first + np.uint64(i)
        u = np.uint64(run.gi[e])
        load(run, "src", u, "gather", "key")
        load_edge(run, "g", e, "gather", "key")
        run.local["value", i] = call(run, "gather")
        if asks_active:
            run.found |= has(run.active, u) & (run.last - run.first > np.uint64(i))
        run.local["key", i] = select(run.last - run.first > np.uint64(i), call(run, "key"), plan.no_key)
    for i in range(FEW):
        run.local["key"], run.local["total"] = run.local["key", i], run.local["value", i]
        for j in range(i + 1, FEW):
            more = select(run.local["key", j] == run.local["key"], run.local["value", j], plan.nothing)
            run.local["total"] = run.combine(run.local["total"], more)
        run.local[plan.scores] = call(run, "choose")
        wins = is_first_of_key(run, i, i) & run.better(*run.local[plan.compared])
        for name in plan.entry:
            run.local["best", name] = select(wins, run.local[name], run.local["best", name])
    run.gathered = run.local["best", plan.entry]


def is_first_of_key(run: Pass, i, count):
    """Return whether edge i of a vertex has a valid key that none of the first `count` edges of the vertex has."""
    if count == 0:
        return run.local["key", i] >= 0
    return is_first_of_key(run, i, count - 1) & (run.local["key", count - 1] != run.local["key", i])
