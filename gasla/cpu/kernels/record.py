"""Records declare the names of all arguments and shared variables of the kernels of vertex programs.

In a kernel template, `run.size` is the variable `size` of the function that is compiled, and `run.v[field]` is the
variable `v_level` for a field `level` (see `gasla.compiler.template`). Each stage of an iteration is a compiled
function of its own, which takes those variables as arguments that it uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gasla.compiler.template import Each, Record, known

if TYPE_CHECKING:
    from gasla.cpu.program.decisions import CpuPlan

plan: CpuPlan = known()

Array = np.ndarray[Any, Any]
Number = Any  # a NumPy number or a bool


class Run(Record):
    """The arguments of a kernel, which each of its functions can use, and the functions of the user's program."""

    thread: Number
    threads: Number
    self_n: Number  # number of vertices
    self_iteration: Number
    self_bucket: Number  # number of the bucket whose vertices are processed now
    self_: Each  # the program's parameters, and its aggregates in the last iteration
    # whether degrees differ so much that the out-edges of active vertices are counted; otherwise their number is
    # estimated from the mean degree
    skewed: Number
    narrow: Number  # whether all adjacency lists are short

    # --- the state of the run, and its active vertices ---
    control: Array
    counts: Array
    log: Array
    queues: Array
    bits: Array  # two bitmaps of active vertices: of this iteration and of the next
    activated: Array
    admitted: Array
    # two bitmaps of vertices that some thread has appended to a queue: in this iteration, and in the last one
    claimed: Array
    receivers: Array
    receiver_count: Number
    starts: Array  # for each level of a schedule, the index of its first vertex in `receivers`
    levels: Array
    waiting: Array  # bitmap of the vertices that wait until their bucket (their priority class) is processed
    lowest: Array  # for each thread, the smallest number among the buckets of its waiting vertices

    # --- priorities: vertices are processed in buckets, and deferred until their bucket's turn ---
    far: Array  # for each thread, the vertices that it has deferred
    far_bits: Array
    lows: Array  # for each thread, the smallest and the largest priority of its deferred vertices
    bounds: Array  # between two launches of the loop, the values of threshold, last_threshold, width and spare
    delta: Number  # the smallest width of a bucket
    threshold: Number  # upper end of the current bucket, as a priority
    last_threshold: Number  # upper end of the bucket before the current one
    width: Number  # width of the current bucket, if priorities are sums of edge values
    spare: Number  # positive as long as few vertices of the current bucket were active more than once
    news: Array  # for each vertex, a bit for each part of its value that has changed and was not sent yet

    # --- fields of vertices and edges, gathered values, and aggregates ---
    v: Each  # arrays of vertex fields
    from_: Each  # initial values of vertex fields
    at: Each  # ids of the vertices that have initial values of their own
    old: Each  # the copy that this iteration reads, of vertex fields with two copies
    new: Each  # the copy that this iteration writes, of vertex fields with two copies
    was: Each  # copies of fields from before the iteration, for other vertices to read
    e: Each  # arrays of edge fields
    # edge values in the order in which the user gave the edges, where the values of reverse edges are looked up
    value: Each
    set: Each  # values that the loop changes: parameters of the program, and the number of the current bucket
    acc: Array  # gathered values of vertices, into which pushes reduce
    table_keys: Array
    table_totals: Array
    table_places: Array
    to: Each  # aggregates that have a value for each vertex, into which any vertex may reduce
    part: Each  # partial results of aggregates, one for each thread or chunk of vertices
    term: Each  # for each vertex, its term of an aggregate that is added up in a fixed order
    summed: Array  # bitmap of the vertices that have stored terms in `term`

    # --- adjacency lists to gather (g) and to send (s): offsets (p), vertex ids (i), edge numbers (e), values (v) ---
    gp: Array
    gi: Array
    gv: Each
    sp: Array
    si: Array
    se: Array
    leaving: Array  # for each entry of adjacency lists that have edges of both directions, whether it is an out-edge
    in_p: Array
    out_p: Array

    # --- compiled functions that are printed from the program's expressions ---
    combine: Each
    is_final: Any
    better: Any
    nothing: Any
    gather_into: Any
    gather_few: Any


class Loop(Run):
    """The variables of the loop over iterations, besides the arguments of the kernel."""

    counters: Array  # counters of all threads in this iteration
    mine: Array  # this thread's counters in the last iteration
    parity: Number  # parity of the iteration's number, 0 or 1, which selects the copy of a field that is read
    began: Number  # number of the iteration with which this launch of the loop began
    team: Number  # number of threads that may take part
    next_threads: Number  # number of threads of the next iteration
    in_row: Number  # number of iterations with little work, in a row, up to now
    few: Number  # an iteration with less work than this is small (see `choose_threads`)
    amount: Number  # estimated work of the next iteration, in vertices and edges
    entries: Number  # number of entries of the graph's adjacency lists
    limit: Number  # number of the iteration before which this launch ends
    enough: Number  # work, in vertices and edges, after which this launch ends
    work: Number  # vertices and edges that the run has processed so far
    traversed: Number  # edges read in this launch
    mean_degree: Number
    size: Number  # number of active vertices
    edges: Number  # number of out-edges of the active vertices
    left: Number  # number of deferred vertices
    remaining: Number  # number of edges of the vertices that the program's `mask` may still admit
    form: Number  # LIST or BITS: whether queues or a bitmap hold the active vertices
    way: Number  # SPARSE or DENSE: whether active vertices push, or all vertices pull
    goes_on: Number  # whether another iteration follows in this launch
    done: Number  # what the program's `stop` has returned, which ends the run if it is True
    stopped: Number  # whether the run was interrupted
    order: Array  # all receivers of a schedule, sorted by level
    depth: Number
    level: Number
    backward: Number


class Pass(Run):
    """The arguments of a kernel, and the variables of one thread in one stage of an iteration."""

    # --- rows of array arguments that belong to this iteration or this thread ---
    counters: Array  # counters of all threads in this iteration
    last_counters: Array
    mine: Array  # this thread's counters in the last iteration
    parity: Number
    next_queue: Array
    my_receivers: Array
    my_far: Array
    my_far_bits: Array
    my_table_keys: Array
    my_table_totals: Array
    my_table_places: Array
    active: Array
    next_active: Array
    claims: Array
    last_claims: Array
    other: Each  # arrays of fields that functions read at any vertex

    # --- what this thread has counted in the stage ---
    listed: Number  # number of vertices that this thread has appended to its queue
    received: Number  # number of vertices that this thread has appended to its receivers
    edges: Number  # number of out-edges of the vertices that were appended to the queue
    touched: Number  # number of edges read
    deferred: Number  # number of vertices that this thread has deferred
    low: Number  # the smallest priority of the deferred vertices
    high: Number  # the largest priority of the deferred vertices
    sum_: Each  # this thread's partial result of each aggregate
    ordered: Each  # this thread's partial results of aggregates for the chunk of vertices that it processes

    # --- the vertex that is being processed ---
    first: Number  # index of the first entry of the vertex's adjacency list
    last: Number  # index after the last entry of the vertex's adjacency list
    gathered: Any
    found: Number  # whether the vertex receives in this iteration
    activates: Number  # whether the vertex is active in the next iteration
    word: Number  # the vertex's word (64 bits) of the bitmap of active vertices
    used: Number  # number of entries of the hash table of keys that are used
    capacity: Number
    fresh: Number  # a bit for each part of the vertex's value that has changed
    improved: Number  # a bit for each part of a target's value that a push has improved
    nearest: Number
    priority: Number
