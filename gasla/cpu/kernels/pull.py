"""Kernels in which vertices pull: each vertex reads its in-edges, and reduces their values to one."""

import numpy as np

from gasla.cpu.kernels.apply import apply, apply_and_list, has_turn, is_active, is_admitted, put_aside
from gasla.cpu.kernels.hooks import call, identity, load, load_edge, perform, row
from gasla.cpu.kernels.keyed import begin_table, choose, choose_of_few, fetch_fields, reduce_by_key
from gasla.cpu.kernels.passes import all_receivers, counted, edges_of, list_receiver, variables, words
from gasla.cpu.kernels.queues import NEAR, has
from gasla.cpu.kernels.record import Pass, plan
from gasla.cpu.program.decisions import FEW
from gasla.cpu.runtime.blocks import stage
from gasla.cpu.runtime.intrinsics import ONE, ZERO, float_of, prefetch, select
from gasla.program.statements import Load, Store
from semirings import VectorType

# entries of adjacency lists are prefetched this many entries ahead; number of int32 ids in a cache line
AHEAD, LINE = 512, 16
# vectors of neighbors are prefetched this many edges ahead, in general and if adjacency lists are short
DISTANCE, FURTHER = 12, 32


@stage
def gather_all(run: Pass):
    """Let all vertices that the program's `mask` allows gather, and apply the results to their fields.

    If the program gathers at all vertices before it applies, the results are stored, and a later stage applies them.
    """
    variables(run)
    for base in words(run):
        if plan.keeps_active and not plan.two_phases:
            run.word = ZERO
        for v in range(base, min(base + np.uint64(64), np.uint64(run.self_n))):
            if is_admitted(run, v):
                gather_edges(run, v, False)
                if plan.everyone or run.found:
                    receive(run, v)
            elif plan.doubled and not plan.two_phases:
                for name in sorted(plan.doubled):
                    perform(run, [Load("after", name), Store(name)], v)
        if plan.keeps_active and not plan.two_phases:
            run.next_active[base >> np.uint64(6)] = run.word
    counted(run)


def receive(run: Pass, v):
    """Apply the gathered value to a vertex, or store the value if values are applied only after all gathers."""
    if plan.two_phases:
        put_aside(run, v)
        list_receiver(run, v)
    else:
        apply(run, v)
        if plan.keeps_receivers:
            list_receiver(run, v)
        if is_active(run):
            if has_turn(run, v):
                if plan.keeps_active:
                    run.word |= ONE << (v & np.uint64(63))
                run.listed += ONE
                if plan.sends_news:
                    run.news[v] = np.uint8(plan.all_news)
                if plan.sends and run.skewed:
                    run.edges += np.int64(run.sp[v + ONE] - run.sp[v])


@stage
def gather_list(run: Pass):
    """Let each receiver (a vertex of this iteration) gather, and apply the result or store it for a later stage."""
    variables(run)
    for v in all_receivers(run, 1, "g"):
        gather_edges(run, v, True)
        if plan.two_phases:
            put_aside(run, v)
        else:
            apply_and_list(run, v)
    counted(run)


# --- the gather of one vertex, which reduces the values of its edges one by one ---------------------------------------


def gather_edges(run: Pass, v, is_receiver):
    """Reduce the values of the in-edges of vertex `v` into `gathered`, and set `found` if `v` receives in this
    iteration.

    Vertices that were chosen as receivers (`is_receiver`) always receive. Any other vertex receives if an edge has a
    value for it.
    """
    if not plan.gathers and (is_receiver or plan.everyone):
        run.found = True
        return
    load(run, "dst", v, "gather", "key", "edge_mask")
    if plan.keyed is not None and plan.chooses_of_few:
        run.first, run.last = np.uint64(run.gp[v]), np.uint64(run.gp[v + ONE])
        if run.last - run.first <= np.uint64(FEW) and run.first + np.uint64(FEW) <= np.uint64(len(run.gi)):
            choose_of_few(run, v, plan.asks_active(is_receiver))
        else:
            gather_one_by_one(run, v, is_receiver)
    else:
        gather_one_by_one(run, v, is_receiver)
    if not plan.leaves_early:
        run.touched += np.int64(run.last - run.first)


def gather_one_by_one(run: Pass, v, is_receiver):
    """Reduce the values of a vertex's edges in order, one edge at a time, or a few at a time if the program allows
    that.
    """
    if plan.keyed is not None:
        begin_table(run, v)
    elif plan.gathers:
        run.gathered = identity(run)
    run.found = is_receiver or plan.everyone
    # prefetch the adjacency list of a later vertex: the processor can't predict which vertices the mask admits, and so
    # which lists are read next
    if "mask" in plan.functions and not is_receiver:
        prefetch(run.gi, np.uint64(run.gp[min(v + NEAR, np.uint64(run.self_n))]))
    if plan.takes_all_edges and plan.is_wide:
        gather_rows(run, v, is_receiver)
    elif plan.may_be_narrow and not plan.asks_active(is_receiver):
        gather_narrow(run, v, is_receiver)
    else:
        for e in edges_of(run, "g", v):
            if plan.keyed is not None:
                fetch_fields(run, e)
            u = np.uint64(run.gi[e])
            if plan.leaves_early:
                run.touched += 1
            if not plan.active_only or has(run.active, u):
                load(run, "src", u, "edge_mask")
                load_edge(run, "g", e, "edge_mask")
                if "edge_mask" not in plan.functions or call(run, "edge_mask"):
                    take(run, e, u, is_receiver)
                    # stop at a final result, which no edge can change, but only once it is known that v receives
                    if plan.leaves_early and (not plan.asks_active(is_receiver) or run.found):
                        if plan.takes_first or run.is_final(run.gathered):
                            break
    if plan.keyed is not None:
        choose(run, v)


def take(run: Pass, e, u, is_receiver):
    """Reduce the value of the edge from the vertex `u` into `gathered`, and set `found` if the current vertex receives.

    The edge is at position `e` of the adjacency lists. `is_receiver` says that the vertex was chosen to receive.
    """
    load(run, "src", u, "gather", "key", but="edge_mask")
    load_edge(run, "g", e, "gather", "key", but="edge_mask")
    if plan.keyed is not None:
        reduce_by_key(run)
    elif plan.gathers:
        reduce(run)
    if plan.asks_active(is_receiver):
        run.found |= has(run.active, u)
    elif not is_receiver and not plan.everyone:
        run.found = True


def reduce(run: Pass):
    """Combine the value of the current edge with `gathered`, the reduced values of the vertex's edges before it."""
    if plan.takes_first:
        run.gathered = call(run, "gather")
    elif plan.is_wide:
        run.gathered = run.gather_into(run.gathered, *run.local[plan.symbols("gather")])
    else:
        run.gathered = run.combine(run.gathered, call(run, "gather"))


# --- gathers of wide vectors, which are kept in memory ----------------------------------------------------------------


def gather_rows(run: Pass, v, is_receiver):
    """Gather wide vectors of `FEW` edges of the vertex `v` at a time.

    The reduced vector `gathered` is in memory, and so is read and written once for several edges.
    """
    run.first, run.last = np.uint64(run.gp[v]), np.uint64(run.gp[v + ONE])
    begin = run.first
    while begin + np.uint64(FEW) <= run.last:
        for i in range(FEW):
            run.local["e", i] = begin + np.uint64(i)
            run.local["u", i] = np.uint64(run.gi[run.local["e", i]])
            fetch_rows(run, run.local["e", i], DISTANCE)
            load(run, "src", run.local["u", i], "gather", "key", number=i)
            load_edge(run, "g", run.local["e", i], "gather", "key", number=i)
            if plan.asks_active(is_receiver):
                run.found |= has(run.active, run.local["u", i])
        run.gathered = run.gather_few(run.gathered, *run.local[plan.symbols_of_few])
        begin += np.uint64(FEW)
    for e in range(begin, run.last):
        u = np.uint64(run.gi[e])
        take(run, e, u, is_receiver)


def fetch_rows(run: Pass, e, distance):
    """Prefetch the vectors of the neighbor whose entry comes `distance` edges after position `e` of the adjacency
    lists.

    Only the first cache lines are prefetched. The hardware fetches the rest of a long vector.
    """
    if plan.fetched_rows:
        ahead = np.uint64(run.gi[min(e + np.uint64(distance), np.uint64(len(run.gi)) - ONE)])
        for name, places in plan.fetched_rows:
            for i in places:
                prefetch(row(run, name, "old")[ahead], np.uint64(i))


# --- gathering over short adjacency lists without branches, which could be mispredicted -------------------------------


def gather_narrow(run: Pass, v, is_receiver):
    """Gather over the first `FEW` edges of a vertex without branches, if no adjacency list is long.

    Values past the end of the list are discarded. A mispredicted branch would cost more.
    """
    run.first, run.last = np.uint64(run.gp[v]), np.uint64(run.gp[v + ONE])
    begin = run.first
    if run.narrow and run.first + np.uint64(FEW) <= np.uint64(len(run.gi)):
        for i in range(FEW):
            e = run.first + np.uint64(i)
            u = np.uint64(run.gi[e])
            load(run, "src", u, "gather")
            load_edge(run, "g", e, "gather")
            run.local["value", i] = call(run, "gather")
            run.local["value", i] = within(
                run, i, run.local["value", i], plan.gathered_identity, plan.traced.gathered_type
            )
        run.gathered = run.combine(
            run.combine(run.local["value", 0], run.local["value", 1]),
            run.combine(run.local["value", 2], run.local["value", 3]),
        )
        begin = run.first + np.uint64(FEW)
    elif not is_receiver:
        for e in range(run.first, run.last, np.uint64(LINE)):
            prefetch(run.gi, e + np.uint64(AHEAD))
            for name in plan.values_gathered:
                prefetch(run.gv[name], e + np.uint64(AHEAD))
    for e in range(begin, max(begin, run.last)):
        fetch_rows(run, e, FURTHER)
        u = np.uint64(run.gi[e])
        take(run, e, u, is_receiver)


def within(run: Pass, k, value, identity, kind):
    """Return `value` if the current adjacency list has an entry k, from which it was computed, or else the identity.

    This takes no branch. `kind` is the type of the value.
    """
    if isinstance(kind, VectorType):
        return tuple(within(run, k, value[i], identity[i], kind.scalar) for i in range(kind.length))
    return select(rank(run.last - run.first, kind) > rank(k, kind), value, identity)


def rank(count, kind):
    """Return a number below 2**23 in a form that can be compared without a branch among values of the type `kind`.

    For types of floats, it is a float that compares like the number.
    """
    if kind.kind != "f":
        return np.uint64(count)
    if kind.itemsize == 4:
        return float_of(np.int32(np.int32(count) + np.int32(plan.one_in_bits(kind))))
    return float_of(np.int64(np.int64(count) + np.int64(plan.one_in_bits(kind))))
