"""Vertices reduce over their in-edges."""
# mypy: ignore-errors

import numpy as np

from gasla.cpu.kernels.apply import apply, apply_and_list, has_turn, is_active, is_admitted, put_aside
from gasla.cpu.kernels.hooks import call, load, load_edge, row, run
from gasla.cpu.kernels.keyed import begin_table, choose, choose_of_few, fetch_fields, reduce_by_key
from gasla.cpu.kernels.passes import all_receivers, counted, edges_of, list_receiver, variables, words
from gasla.cpu.kernels.queues import NEAR, has
from gasla.cpu.program.decisions import FEW
from gasla.cpu.program.specialize import plan
from gasla.cpu.runtime.blocks import stage
from gasla.cpu.runtime.intrinsics import float_of, prefetch, select
from gasla.program.statements import Load, Store
from semirings import VectorType

AHEAD, LINE = 512, 16  # edges; LINE is the number of int32 ids in a cache line
DISTANCE, FURTHER = 12, 32  # how many edges ahead vectors are prefetched; FURTHER if lists are short


@stage
def gather_all():
    """Gather at all vertices that the mask admits, and apply; or list them, if all gather before any applies."""
    variables()
    for base in words():
        if plan.keeps_active and not plan.two_phases:
            word = zero
        for v in range(base, min(base + np.uint64(64), size)):
            if is_admitted(v):
                gather_edges(False)
                if plan.everyone or found:
                    receive(v)
            elif plan.doubled and not plan.two_phases:
                for name in sorted(plan.doubled):
                    run([Load("after", name), Store(name)], v)
        if plan.keeps_active and not plan.two_phases:
            next_active[base >> np.uint64(6)] = word
    counted()


def receive(v):
    """Apply to a vertex that has gathered, or store the gathered value."""
    if plan.two_phases:
        put_aside(v)
        list_receiver(v)
    else:
        apply(v)
        if plan.keeps_receivers:
            list_receiver(v)
        if is_active():
            if has_turn(v):
                if plan.keeps_active:
                    word |= one << (v & np.uint64(63))
                listed += one
                if plan.sends_news:
                    news[v] = plan.all_news
                if plan.sends and skewed:
                    edges += np.int64(sp[v + one] - sp[v])


@stage
def gather_list():
    """Every receiver reduces over its in-edges, and applies or stores the result."""
    variables()
    for v in all_receivers(1, "g"):
        gather_edges(True)
        if plan.two_phases:
            put_aside(v)
        else:
            apply_and_list(v)
    counted()


# --- one vertex -------------------------------------------------------------------------------------------------------


def gather_edges(is_receiver):
    """Reduce over the in-edges of `v` into `gathered`; `found` tells whether it receives, as a receiver always does."""
    if not plan.gathers and (is_receiver or plan.everyone):
        found = True
        return
    load("dst", v, "gather", "key", "edge_mask")
    if plan.keyed is not None and plan.chooses_of_few:
        first, last = np.uint64(gp[v]), np.uint64(gp[v + one])
        if last - first <= np.uint64(FEW) and first + np.uint64(FEW) <= np.uint64(len(gi)):
            choose_of_few(plan.asks_active(is_receiver))
        else:
            gather_one_by_one(is_receiver)
    else:
        gather_one_by_one(is_receiver)
    if not plan.leaves_early:
        touched += np.int64(last - first)


def gather_one_by_one(is_receiver):
    """Reduce over the edges of `v`, several at once if the program allows that."""
    if plan.keyed is not None:
        begin_table()
    elif plan.gathers:
        gathered = plan.identity
    found = is_receiver or plan.everyone
    if "mask" in plan.functions and not is_receiver:  # the processor can't predict which lists come next
        prefetch(gi, np.uint64(gp[min(v + NEAR, np.uint64(self_n))]))
    if plan.takes_all_edges and plan.is_wide:
        gather_rows(is_receiver)
    elif plan.may_be_narrow and not plan.asks_active(is_receiver):
        gather_narrow(is_receiver)
    else:
        for e in edges_of("g", v):
            if plan.keyed is not None:
                fetch_fields()
            u = np.uint64(gi[e])
            if plan.leaves_early:
                touched += 1
            if not plan.active_only or has(active, u):
                load("src", u, "edge_mask")
                load_edge("g", e, "edge_mask")
                if "edge_mask" not in plan.functions or call("edge_mask"):
                    take(is_receiver)
                    # A final result ends the gather only if the vertex is known to receive.
                    if plan.leaves_early and (not plan.asks_active(is_receiver) or found):
                        if plan.takes_first or is_final(gathered):
                            break
    if plan.keyed is not None:
        choose()


def take(is_receiver):
    """Reduce the edge at position `e`, from `u`."""
    load("src", u, "gather", "key", but="edge_mask")
    load_edge("g", e, "gather", "key", but="edge_mask")
    if plan.keyed is not None:
        reduce_by_key()
    elif plan.gathers:
        reduce()
    if plan.asks_active(is_receiver):
        found |= has(active, u)
    elif not is_receiver and not plan.everyone:
        found = True


def reduce():
    """Combine `gathered` with an edge's value."""
    if plan.takes_first:
        gathered = call("gather")
    elif plan.is_wide:
        gathered = gather_into(gathered, *plan.symbols("gather"))
    else:
        gathered = combine(gathered, call("gather"))


# --- wide vectors -----------------------------------------------------------------------------------------------------


def gather_rows(is_receiver):
    """Gather wide vectors of several edges at once, so that `gathered` is read and written once for them."""
    first, last = np.uint64(gp[v]), np.uint64(gp[v + one])
    begin = first
    while begin + np.uint64(FEW) <= last:
        for i in range(FEW):
            e_[i] = begin + np.uint64(i)
            u_[i] = np.uint64(gi[e_[i]])
            fetch_rows(e_[i], DISTANCE)
            load("src", u_[i], "gather", "key", number=i)
            load_edge("g", e_[i], "gather", "key", number=i)
            if plan.asks_active(is_receiver):
                found |= has(active, u_[i])
        gathered = gather_few(gathered, *plan.symbols_of_few)
        begin += np.uint64(FEW)
    for e in range(begin, last):
        u = np.uint64(gi[e])
        take(is_receiver)


def fetch_rows(e, distance):
    """Prefetch the vectors of a neighbor some edges ahead; the hardware prefetcher fetches the rest of long ones."""
    if plan.fetched_rows:
        ahead = np.uint64(gi[min(e + np.uint64(distance), np.uint64(len(gi)) - one)])
        for name, places in plan.fetched_rows:
            for i in places:
                prefetch(row(name, "old")[ahead], np.uint64(i))


# --- short lists without branches: a misprediction costs more than computing unused values ------------------


def gather_narrow(is_receiver):
    """If no list is long, gather the first few edges in any case, and select those that belong to the list.

    In a pass over all vertices, entries of later lists are prefetched in a loop of its own, so that LLVM can vectorize
    the main one. The hardware prefetcher is late, as the processor waits for neighbors' values.
    """
    first, last = np.uint64(gp[v]), np.uint64(gp[v + one])
    begin = first
    if narrow and first + np.uint64(FEW) <= np.uint64(len(gi)):
        for i in range(FEW):
            e = first + np.uint64(i)
            u = np.uint64(gi[e])
            load("src", u, "gather")
            load_edge("g", e, "gather")
            value_[i] = call("gather")
            value_[i] = within(i, value_[i], plan.gathered_identity, plan.traced.gathered_type)
        gathered = combine(combine(value_[0], value_[1]), combine(value_[2], value_[3]))
        begin = first + np.uint64(FEW)
    elif not is_receiver:
        for e in range(first, last, np.uint64(LINE)):
            prefetch(gi, e + np.uint64(AHEAD))
            for name in plan.values_gathered:
                prefetch(gv_[name], e + np.uint64(AHEAD))
    for e in range(begin, max(begin, last)):
        fetch_rows(e, FURTHER)
        u = np.uint64(gi[e])
        take(is_receiver)


def within(k, value, identity, kind):
    """Value k, or the identity if the list has no entry k."""
    if isinstance(kind, VectorType):
        return tuple(within(k, value[i], identity[i], kind.scalar) for i in range(kind.length))
    return select(rank(last - first, kind) > rank(k, kind), value, plan.literal(identity, kind))


def rank(count, kind):
    """Map a number below 2**23 to one that compares like it; to floats above 1 if floats are selected.

    LLVM turns a selection of floats by an integer comparison into a branch.
    """
    if kind.kind != "f":
        return np.uint64(count)
    if kind.itemsize == 4:
        return float_of(np.int32(np.int32(count) + np.int32(plan.one_in_bits(kind))))
    return float_of(np.int64(np.int64(count) + np.int64(plan.one_in_bits(kind))))
