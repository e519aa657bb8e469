"""Records declare the names of all arguments and shared variables of the kernels of vertex programs.

`run.size` is the variable `size` of the function that is compiled, and `run.v[field]` is the variable `v_level` for a
field `level` (`gasla.compiler.template`). Each stage is a function of its own, which takes the arguments that it uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gasla.compiler.template import Each, Record, known

if TYPE_CHECKING:
    from gasla.cpu.program.decisions import CpuPlan

plan: CpuPlan = known()

Array = np.ndarray[Any, Any]
Number = Any  # a NumPy number, or a bool


class Run(Record):
    """The arguments of a kernel, which every function sees, and the functions of the program."""

    thread: Number
    threads: Number
    self_n: Number  # number of vertices
    self_iteration: Number
    self_bucket: Number  # the open bucket
    self_: Each  # parameters, and the aggregates of the last iteration
    skewed: Number  # whether degrees differ so much that out-edges of active vertices are counted, not estimated
    narrow: Number  # whether no adjacency list is long

    # --- the state of the run, and the active vertices ---
    control: Array
    counts: Array
    log: Array
    queues: Array
    bits: Array  # bitmaps of active vertices
    activated: Array
    admitted: Array
    claimed: Array  # bitmaps of vertices that a queue already has, of this iteration and of the last
    receivers: Array
    receiver_count: Number
    starts: Array  # where each level of a schedule starts
    levels: Array
    waiting: Array  # bitmap of vertices that wait for their buckets
    lowest: Array  # the lowest bucket that each thread has seen

    # --- priorities ---
    far: Array  # deferred vertices of each thread
    far_bits: Array
    lows: Array  # the lowest and highest deferred priority of each thread
    bounds: Array  # threshold, last_threshold, width and spare between two calls of the loop
    delta: Number  # the smallest width of a bucket
    threshold: Number  # the end of the open bucket
    last_threshold: Number  # the end of the bucket before it
    width: Number  # width of the open bucket, if priorities are sums
    spare: Number  # above 0 if few vertices of the open bucket were active twice
    news: Array  # for each vertex, the bits of its parts that changed and were not sent yet

    # --- fields, gathered values and aggregates ---
    v: Each  # fields of vertices
    from_: Each  # initial values of fields
    at: Each  # the vertices that have these initial values
    old: Each  # the copy that is read, of a field with two copies
    new: Each  # the copy that is written
    was: Each  # values of fields before the iteration, for other vertices to read
    e: Each  # fields of edges
    value: Each  # edge values in the order of the input, to read values of reverse edges
    set: Each  # attributes of `self` that the loop sets
    acc: Array  # gathered values
    table_keys: Array
    table_totals: Array
    table_places: Array
    to: Each  # aggregates at vertices
    part: Each  # partial results of aggregates
    term: Each  # terms of sums that are added in order
    summed: Array  # bitmap of the vertices that have terms

    # --- neighbor lists, `g` to gather and `s` to send: offsets (p), ids (i), edge numbers (e), values (v) ---
    gp: Array
    gi: Array
    gv: Each
    sp: Array
    si: Array
    se: Array
    leaving: Array  # for each entry of lists of both directions, whether it is an out-edge
    in_p: Array
    out_p: Array

    # --- functions printed from the program's expressions ---
    combine: Each
    is_final: Any
    better: Any
    nothing: Any
    gather_into: Any
    gather_few: Any


class Loop(Run):
    """The variables of the loop."""

    counters: Array  # counters of this iteration
    mine: Array  # the thread's own counters of the last iteration
    parity: Number  # parity of the iteration, which tells which of two copies is read
    began: Number  # the iteration at which this call of the loop began
    team: Number  # number of threads that may take part
    next_threads: Number  # number of threads of the next iteration
    in_row: Number  # number of thin iterations in a row
    few: Number  # work below which an iteration is thin (`choose_threads`)
    amount: Number  # estimated work of the next iteration
    entries: Number  # number of entries of the adjacency lists
    limit: Number  # the iteration before which this call returns
    enough: Number  # work after which this call returns
    work: Number  # work done so far, in vertices and edges
    traversed: Number  # edges traversed in this call
    mean_degree: Number
    size: Number  # number of active vertices
    edges: Number  # number of out-edges of the active set
    left: Number  # number of deferred vertices
    remaining: Number  # entries of vertices that the mask may admit
    form: Number  # LIST or BITS
    way: Number  # SPARSE or DENSE
    goes_on: Number  # whether there is another iteration in this call
    done: Number  # what `stop` has returned
    stopped: Number  # whether the run is interrupted
    order: Array  # all receivers of a schedule
    depth: Number
    level: Number
    backward: Number


class Pass(Run):
    """The arguments of a kernel, and each thread's variables that the functions of one stage of an iteration share."""

    # --- views of arguments ---
    counters: Array  # counters of this iteration
    last_counters: Array
    mine: Array  # the thread's own counters of the last iteration
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
    other: Each  # the arrays from which functions read fields of any vertex

    # --- counts of a stage ---
    listed: Number  # vertices that this thread has appended to its queue
    received: Number  # vertices that this thread has appended to its receivers
    edges: Number  # out-edges of the vertices appended to the queue
    touched: Number  # edges traversed
    deferred: Number  # vertices that this thread has deferred
    low: Number  # the lowest priority of these vertices
    high: Number  # the highest priority of these vertices
    sum_: Each  # this thread's part of each aggregate
    ordered: Each  # aggregates of one chunk of vertices

    # --- the current vertex ---
    first: Number  # the first entry of its adjacency list
    last: Number  # the end of its adjacency list
    gathered: Any
    found: Number  # whether the vertex receives
    activates: Number  # whether the vertex is active next
    word: Number  # word of the bitmap of active vertices
    used: Number  # entries of a table of keys
    capacity: Number
    fresh: Number  # the bits of the vertex's parts that changed
    improved: Number  # the bits of the parts of a target that a push improved
    nearest: Number
    priority: Number
