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
    # Whether degrees differ so much that the out-edges of active vertices are counted. Otherwise their number is
    # estimated from the mean degree.
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
    claimed: Array  # two bitmaps of vertices that are in a queue already: of this iteration and of the last
    receivers: Array
    receiver_count: Number
    starts: Array  # for each level of a schedule, the index of its first vertex in `receivers`
    levels: Array
    waiting: Array  # bitmap of vertices that wait until their bucket is processed
    lowest: Array  # for each thread, the smallest number of a bucket that it has seen

    # --- priorities: vertices are processed in buckets, and deferred until their bucket's turn ---
    far: Array  # for each thread, the vertices that it has deferred
    far_bits: Array
    lows: Array  # for each thread, the smallest and the largest priority of its deferred vertices
    bounds: Array  # between two launches of the loop, the values of threshold, last_threshold, width and spare
    delta: Number  # the smallest width of a bucket
    threshold: Number  # upper end of the current bucket, as a priority
    last_threshold: Number  # upper end of the bucket before the current one
    width: Number  # width of the current bucket, if priorities are sums of edge values
    spare: Number  # positive if few vertices of the current bucket were active twice
    news: Array  # for each vertex, a bit for each part of its value that has changed and was not sent yet

    # --- fields of vertices and edges, gathered values, and aggregates ---
    v: Each  # arrays of vertex fields
    from_: Each  # initial values of vertex fields
    at: Each  # ids of the vertices that have initial values of their own
    old: Each  # of vertex fields with two copies, the copy that this iteration reads
    new: Each  # of vertex fields with two copies, the copy that this iteration writes
    was: Each  # copies of fields from before the iteration, for other vertices to read
    e: Each  # arrays of edge fields
    value: Each  # edge values in the order of the user's edges, where those of reverse edges are found
    set: Each  # parameters, and the number of the bucket, that the loop changes
    acc: Array  # gathered values of vertices
    table_keys: Array
    table_totals: Array
    table_places: Array
    to: Each  # aggregates that are reduced at single vertices
    part: Each  # partial results of aggregates, one for each thread or chunk of vertices
    term: Each  # for each vertex, its term of a sum that is added up in a fixed order
    summed: Array  # bitmap of the vertices that have such terms

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
    parity: Number  # 0 or 1, the parity of the iteration, which selects the copy of a field that is read
    began: Number  # number of the iteration with which this launch of the loop began
    team: Number  # number of threads that may take part
    next_threads: Number  # number of threads of the next iteration
    in_row: Number  # number of small iterations in a row until now
    few: Number  # an iteration with less work than this is small (see `choose_threads`)
    amount: Number  # estimated work of the next iteration, in vertices and edges
    entries: Number  # number of entries of the adjacency lists
    limit: Number  # number of the iteration before which this launch ends
    enough: Number  # work, in vertices and edges, after which this launch ends
    work: Number  # vertices and edges that the run has processed so far
    traversed: Number  # edges read in this launch
    mean_degree: Number
    size: Number  # number of active vertices
    edges: Number  # number of out-edges of the active vertices
    left: Number  # number of deferred vertices
    remaining: Number  # number of edges of the vertices that the mask may still admit
    form: Number  # LIST or BITS: whether queues or a bitmap hold the active vertices
    way: Number  # SPARSE or DENSE: whether active vertices push, or all vertices pull
    goes_on: Number  # whether another iteration follows in this launch
    done: Number  # what the program's `stop` has returned
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
    ordered: Each  # partial results of aggregates for one chunk of vertices

    # --- the vertex that is being processed ---
    first: Number  # index of the first entry of the vertex's adjacency list
    last: Number  # index after the last entry of the vertex's adjacency list
    gathered: Any
    found: Number  # whether the vertex receives in this iteration
    activates: Number  # whether the vertex is active in the next iteration
    word: Number  # the vertex's word (64 bits) of the bitmap of active vertices
    used: Number  # number of used entries of the table of keys
    capacity: Number
    fresh: Number  # a bit for each part of the vertex's value that has changed
    improved: Number  # a bit for each part of a target's value that a push has improved
    nearest: Number
    priority: Number
