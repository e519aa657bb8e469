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
    """The arguments of the kernel of a vertex program, which each of its functions can use, and the program's own
    functions.
    """

    thread: Number
    threads: Number
    self_n: Number  # number of vertices of the graph
    self_iteration: Number
    self_bucket: Number  # number of the bucket (a priority class of vertices) that is processed now
    self_: Each  # the program's parameters, and the values of its aggregates in the last iteration
    # whether degrees differ so much that the out-edges of active vertices are counted; otherwise their number is
    # estimated from the mean degree
    skewed: Number
    narrow: Number  # whether all adjacency lists are short, so that they are gathered without branches

    # --- the state of the run, and its active vertices ----------------------------------------------------------------
    control: Array
    counts: Array
    log: Array
    queues: Array
    bits: Array  # two bitmaps of active vertices: one for this iteration, and one for the next
    activated: Array
    admitted: Array
    # two bitmaps of vertices that some thread has appended to a queue: in this iteration, and in the last one
    claimed: Array
    receivers: Array
    receiver_count: Number
    starts: Array  # for each level of a schedule, the index of its first vertex in `receivers`
    levels: Array
    waiting: Array  # bitmap of the vertices that wait until their bucket (their priority class) is processed
    lowest: Array  # for each thread, the smallest bucket number of the vertices that it has found waiting

    # --- priorities: vertices are processed in buckets, and deferred until their bucket's turn ------------------------
    far: Array  # for each thread, the vertices that it has deferred
    far_bits: Array
    lows: Array  # for each thread, the smallest and the largest priority of the vertices that it has deferred
    bounds: Array  # where threshold, last_threshold, width and spare are kept between two launches of the loop
    delta: Number  # the smallest width of a bucket (a range of priorities)
    threshold: Number  # the priority at which the current bucket ends
    last_threshold: Number  # the priority at which the bucket before the current one ended
    width: Number  # range of priorities that the current bucket covers, if priorities are sums of edge values
    spare: Number  # positive as long as few vertices of the current bucket were active more than once
    news: Array  # for each vertex, bits that say which parts (numbers) of its value it still has to send

    # --- fields of vertices and edges, gathered values, and aggregates ------------------------------------------------
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
    to: Each  # aggregates that have a value for each vertex, into which any vertex may reduce
    part: Each  # partial results of aggregates, one for each thread or for each chunk of 1024 vertices
    term: Each  # for each vertex, the value that it adds to an aggregate whose additions have a fixed order
    summed: Array  # bitmap of the vertices that have stored a value in `term`

    # --- adjacency lists to gather (g) and to send (s): offsets (p), vertex ids (i), edge numbers (e), values (v) -----
    gp: Array
    gi: Array
    gv: Each
    sp: Array
    si: Array
    se: Array
    leaving: Array  # for each entry of adjacency lists that have edges of both directions, whether it is an out-edge
    in_p: Array
    out_p: Array

    # --- compiled functions that are printed from the program's expressions -------------------------------------------
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
    began: Number  # number of the first iteration of this launch of the loop
    team: Number  # number of threads that the run may use
    next_threads: Number  # number of threads that run the next iteration
    in_row: Number  # number of iterations with little work, in a row, up to now
    few: Number  # an iteration with fewer vertices and edges than this is small, and may run on one thread
    amount: Number  # estimated number of vertices and edges that the next iteration processes
    entries: Number  # number of entries of the graph's adjacency lists
    limit: Number  # number of iterations of the run after which this launch ends
    enough: Number  # number of vertices and edges after which this launch ends, so that Python can handle Ctrl-C
    work: Number  # number of vertices and edges that the run has processed so far
    traversed: Number  # number of edges that this launch has read
    mean_degree: Number
    size: Number  # number of vertices that are active in the next iteration
    edges: Number  # number of out-edges of these active vertices, perhaps estimated
    left: Number  # number of vertices that are deferred to a later bucket
    remaining: Number  # number of edges of the vertices that the program's `mask` may still admit
    form: Number  # whether queues (LIST) or a bitmap (BITS) hold the active vertices
    way: Number  # whether active vertices push (SPARSE), or all vertices pull (DENSE)
    goes_on: Number  # whether another iteration follows in this launch
    done: Number  # what the program's `stop` has returned, which ends the run if it is True
    stopped: Number  # whether the run was interrupted, for instance by Ctrl-C
    order: Array  # the vertices of a schedule, sorted by the iteration in which they receive
    depth: Number
    level: Number
    backward: Number


class Pass(Run):
    """The arguments of a kernel, and the variables of one thread in a stage of an iteration, a loop over vertices."""

    # --- rows of array arguments that belong to this iteration or this thread -----------------------------------------
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
    other: Each  # arrays of the fields that the program's functions read at any vertex

    # --- what this thread has counted in the stage --------------------------------------------------------------------
    listed: Number  # number of vertices that this thread has appended to its queue
    received: Number  # number of vertices that this thread has appended to its array of receivers
    edges: Number  # number of out-edges of the vertices that this thread has appended to its queue
    touched: Number  # number of edges that this thread has read
    deferred: Number  # number of vertices that this thread has deferred to a later bucket
    low: Number  # the smallest priority of the vertices that this thread has deferred
    high: Number  # the largest priority of the vertices that this thread has deferred
    sum_: Each  # for each aggregate, the result over the vertices of this thread
    ordered: Each  # for each aggregate, the result over the current chunk of 1024 vertices

    # --- the vertex that is being processed ---------------------------------------------------------------------------
    first: Number  # index of the first entry of the vertex's adjacency list
    last: Number  # index of the entry after the vertex's adjacency list
    gathered: Any
    found: Number  # whether the vertex receives in this iteration
    activates: Number  # whether the vertex is active in the next iteration
    word: Number  # the vertex's word (64 bits) of the bitmap of active vertices
    used: Number  # number of entries of the hash table of keys that are used
    capacity: Number
    fresh: Number  # bits that say which parts (numbers) of the vertex's value have changed
    improved: Number  # bits that say which parts (numbers) of a neighbor's value a push has improved
    nearest: Number
    priority: Number
