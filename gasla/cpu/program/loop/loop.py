"""The loop that every thread runs from a program's first iteration to its last.

All threads take the same decisions from the same counters: nothing is read that the iteration at hand still writes.
"""

from typing import TYPE_CHECKING

from gasla.cpu.program.pieces import indented

if TYPE_CHECKING:
    from gasla.cpu.program.stage_functions import Stages

TEAM_SIZE = [  # how many threads take part in the next iteration
    "if threads > 1 or (team > 1 and amount >= thin):  # a lone thread stays alone in thin iterations",
    "    in_row = in_row + 1 if amount < control[THIN] else 0",
    "    next_threads = choose_threads(amount, in_row, counters, control, threads)",
]


def text(module: "Stages") -> str:
    """The source of `run_loop`."""
    if module.scheduled:
        return _scheduled(module)
    body = [
        *_begin(module),
        *_ahead(module),
        "next_threads, in_row = threads, 0",
        "while goes_on and next_threads == threads:",
        *("    " + line for line in _iteration(module)),
        *("    " + line for line in _ahead(module)),
        *("    " + line for line in TEAM_SIZE),
        *_end(module),
    ]
    doc = "Run iterations until nothing is active, the program says stop, or a limit is reached."
    return f'@entry_point\ndef run_loop({module.arguments}):\n    """{doc}"""\n' + indented(body, 1) + "\n"


def _ahead(m: "Stages") -> list[str]:
    """Whether there is another iteration, and how many vertices and edges it looks at."""
    more = "(size > 0 or left > 0)" if m.prioritised else "size > 0" if m.ends_when_still else "self_n > 0"
    amount = "self_n + entries"
    if m.sends and not m.everyone:
        amount = f"size + edges{' + left' if m.prioritised else ''} if control[WAY] != DENSE else {amount}"
    return [
        f"goes_on = {more} and self_iteration < limit and work + edges <= enough and not (done or stopped)",
        f"amount = {amount}",
    ]


def start(m: "Stages") -> str:
    """The source of `start`, which comes before the loop where it needs aggregates of the initial state."""
    body = [
        *_fill(m),
        "if thread == 0:",
        "    control[FILLED] = 1",
        m.stages["aggregate"].call(),
    ]
    doc = "Fill the fields, and reduce over them."
    return f'@entry_point\ndef start({m.arguments}):\n    """{doc}"""\n' + indented(body, 1) + "\n"


def _begin(m: "Stages") -> list[str]:
    return [
        *([] if m.measures_first else _fill(m)),
        "team, thin, entries, limit = control[TEAM], 2 * control[THIN], control[ENTRIES], control[LAST]",
        "size, edges = control[ACTIVE], control[EDGE_SUM]",
        "remaining, form, done, stopped, traversed = control[REMAINING], control[FORM], False, False, np.int64(0)",
        "mean_degree = control[REMAINING] // max(self_n, 1)",
        "began, self_iteration = control[BEGAN], control[ITERATION]",
        *_collect(m),
        "work, enough = control[WORK], control[ENOUGH]",
        *_take_sums(m, "1 - (self_iteration & 1)"),
        *(["left, threshold, last_threshold = control[PUT_OFF], bounds[0], bounds[1]"] if m.prioritised else []),
        *(f"self_{name} = set_{name}[0]" for name in m.carried),
        *m.resume(start=True),
    ]


def _nothing_aggregated(m: "Stages") -> list[str]:
    """Aggregates start anew, those of threads that take no part, too; where they are summed in order, all are set."""
    names = [] if m.sums_in_order else m.traced.aggregates
    resets = [f"    part_{n}[parity, t * 8] = {m.aggregate_identity(n)}" for n in names]
    cleared = [
        f"to_{n}[(self_iteration + 1) % 3, self_n * thread // threads : self_n * (thread + 1) // threads] = {identity}"
        for n, identity in ((n, m.aggregate_identity(n)) for n in m.traced.deposits)
    ]
    return [*(["for t in range(thread, team, threads):", *resets] if resets else []), *cleared]


def _sum_up(m: "Stages") -> list[str]:
    return [m.stages["sum_up"].call(), "barrier(control, threads)"] if m.sums_in_order else []


def _take_sums(m: "Stages", row: str) -> list[str]:
    """What aggregates came to, from a row of parts."""
    parts = "chunks_of(self_n)" if m.sums_in_order else "team"
    return [f"self_{n} = combined_{n}(part_{n}[{row}], {parts})" for n in m.traced.aggregates]


def _collect(m: "Stages") -> list[str]:
    """A lone thread takes over what others have listed, but not the counts of their last iteration."""
    lines = ["collect(counts, self_iteration, form, queues[self_iteration & 1])"] if "queues" in m.arrays else []
    lines += ["collect_far(counts, self_iteration, lows, far)"] if m.prioritised else []
    lines += ["counts[:, own_at(1) :] = 0"]
    return ["if threads < team:", *("    " + line for line in lines)]


def _fill(m: "Stages") -> list[str]:
    return [
        "if control[FILLED] == 0:  # else this goes on with a run",
        f"    {m.stages['fill'].call()}",
        "    barrier(control, threads)",
    ]


def _iteration(m: "Stages") -> list[str]:
    lines = [
        "counters, parity = counts[self_iteration % 3], self_iteration & 1",
        "open_iteration(thread, threads, control, counts, self_iteration)",
        *_nothing_aggregated(m),
        *(_everyone(m) if m.everyone else _buckets(m) if m.prioritised else _choose(m)),
    ]
    if "scatter" in m.functions:
        lines += [*_list_next(m), m.stages["scatter"].call(), "barrier(control, threads)"]
    if m.edges_behind:
        lines += [m.stages["catch_up_edges"].call(), "barrier(control, threads)"]
    if "post_apply" in m.functions:
        lines += [m.stages["post_apply"].call(), "barrier(control, threads)"]
    if m.behind:
        lines += [m.stages["catch_up"].call(), "barrier(control, threads)"]
    lines += [
        *_sum_up(m),
        f"touched, listed, reached, {'left' if m.prioritised else '_'} = results_of(counters, threads)",
        "if thread == 0:",
        "    note(log, self_iteration - began, size, touched, way)",
        "traversed += touched",
        "work += touched + size + (self_n >> 3 if way == DENSE else 0) + 1",
        "size = listed",
        "edges = reached if skewed else size * mean_degree",
        *_take_sums(m, "parity"),
    ]
    if "mask" in m.functions and not m.everyone:
        lines.append("remaining = max(remaining - edges, 0)")
    lines += _stop(m)
    return [*lines, "stopped = counters[STOPPED] != 0", "self_iteration += 1", *m.resume()]


def _stop(m: "Stages") -> list[str]:
    """Ask the program whether to stop; no thread writes what it sees before all have asked."""
    asked = [f"done = {m.call('stop')}"] if "stop" in m.functions else []
    return [*asked, "barrier(control, threads)"] if m.stop_sees_fields else asked


def _buckets(m: "Stages") -> list[str]:
    """Near vertices until none is left, then the next bucket of those put off."""
    width = "delta" if m.adds_up else "delta if delta > 0 else share_of_range(low, waiting, threads)"
    return [
        "way = SPARSE",
        "if size > 0:",
        f"    {m.stages['push'].call()}",
        "else:",
        "    last_threshold = threshold",
        "    waiting = lows[(self_iteration + 2) % 3]",
        "    low = smallest(waiting, threads)",
        f"    threshold = beyond(low, {width})",
        f"    {m.stages['split'].call()}",
        "barrier(control, threads)",
    ]


def _choose(m: "Stages") -> list[str]:
    """Sparse or dense, and the change of form that goes with it."""
    return [
        "way = control[WAY]",
        "if way == 0:",
        f"    way = DENSE if dense_is_cheaper(size, edges, remaining, self_n, {m.ratio}) else SPARSE",
        "mine = counts[(self_iteration + 2) % 3][own_at(thread) :]",
        "if way == DENSE:",
        "    if form == LIST:",
        "        clear_both(thread, threads, claimed)",
        "        to_bits(thread, threads, control, queues[parity], mine[NEXT], bits[parity])",
        *("    " + line for line in _dense(m)),
        "else:",
        "    if form == BITS:",
        "        barrier(control, threads)  # all have read the count that this one replaces",
        "        mine[NEXT] = to_list(thread, threads, control, bits[parity], queues[parity])",
        "        barrier(control, threads)",
        "    form = LIST",
        *("    " + line for line in _sparse(m)),
    ]


def _dense(m: "Stages") -> list[str]:
    lines = [m.stages["gather_all"].call(), "barrier(control, threads)"]
    if m.two_phases:
        return [*lines, m.stages["apply_list"].call(), "barrier(control, threads)", "form = LIST"]
    return [*lines, "form = BITS"]


def _sparse(m: "Stages") -> list[str]:
    def call(name: str) -> list[str]:
        return [m.stages[name].call(), "barrier(control, threads)"]

    if m.push_at_once:
        release = ["if total(counters, threads, RECEIVED) > 0:", *("    " + x for x in call("release"))]
        return [*call("push"), *release]
    lines = []
    if m.pushes:
        stages = ["push"] if m.absorbs else ["push", "release", "apply_list"]
    else:
        stages = ["expand", "release", "gather_list"] + (["apply_list"] if m.two_phases else [])
        if m.active_only:  # gathers look at the bits
            lines.append("to_bits(thread, threads, control, queues[parity], mine[NEXT], bits[parity])")
    return [*lines, *(line for name in stages for line in call(name))]


def _list_next(m: "Stages") -> list[str]:
    """A scatter walks the newly active vertices from lists."""
    listing = [
        "counters[own_at(thread) + NEXT] = to_list(thread, threads, control, bits[1 - parity], queues[1 - parity])",
        "barrier(control, threads)",
    ]
    if m.everyone:
        return listing
    return ["if form == BITS:", *("    " + x for x in listing), "    form = LIST"]


def _scheduled(m: "Stages") -> str:
    """The loop of a run whose receivers are known ahead: iteration i takes those between `starts[i]` and the next."""
    names = ["gather_list", *(["apply_list"] if m.two_phases else [])]
    names += ["post_apply"] if "post_apply" in m.functions else []
    names += ["catch_up"] if m.behind else []
    stages = [m.stages[name].call() for name in names]
    ahead = [
        "goes_on = self_iteration < limit and not (done or stopped)",
        "if goes_on:",
        "    level = depth - 1 - self_iteration if backward else self_iteration",
        "    amount = (starts[0, level + 1] - starts[0, level]) * (1 + mean_degree)",
    ]
    body = [
        "counters, parity = counts[self_iteration % 3], self_iteration & 1",
        "open_iteration(thread, threads, control, counts, self_iteration)",
        *_nothing_aggregated(m),
        "receivers = order[starts[0, level] : starts[0, level + 1]]",
        "receiver_count = len(receivers)",
        *(line for stage in stages for line in (stage, "barrier(control, threads)")),
        *_sum_up(m),
        "touched = total(counters, threads, TOUCHED)",
        "if thread == 0:",
        "    note(log, self_iteration - began, receiver_count, touched, DENSE)",
        "traversed += touched",
        *_take_sums(m, "parity"),
        *_stop(m),
        "stopped = counters[STOPPED] != 0",
        "self_iteration += 1",
        *ahead,
        *TEAM_SIZE,
    ]
    lines = [
        *([] if m.traced.measures else _fill(m)),
        "if control[SORTED] == 0:",
        "    sort_by_level(thread, threads, control, levels, starts, receivers)",
        "    barrier(control, threads)",
        "depth, backward = starts.shape[1] - 1, control[BACKWARD] != 0",
        "team, thin = control[TEAM], 2 * control[THIN]",
        "limit, done, stopped, traversed = min(control[LAST], depth), False, False, np.int64(0)",
        "began, self_iteration = control[BEGAN], control[ITERATION]",
        *_collect(m),
        "order = receivers",
        *_take_sums(m, "1 - (self_iteration & 1)"),
        "mean_degree = control[ENTRIES] // max(self_n, 1)",
        "level, amount, next_threads, in_row = np.int64(0), np.int64(0), threads, 0",
        *ahead,
        "while goes_on and next_threads == threads:",
        *("    " + line for line in body),
        "if thread == 0:",
        "    control[ITERATION], control[DONE], control[FILLED] = self_iteration, done, 1",
        "    control[ACTIVE], control[SORTED] = depth - self_iteration, 1",
        "    control[TOTAL] += traversed",
        "    control[NEXT_THREADS] = next_threads if goes_on else -next_threads",
        *(["    control[PUT_OFF], bounds[0], bounds[1] = left, threshold, last_threshold"] if m.prioritised else []),
    ]
    return f'@entry_point\ndef run_loop({m.arguments}):\n    """Run the schedule."""\n' + indented(lines, 1) + "\n"


def _everyone(m: "Stages") -> list[str]:
    return ["way, form = DENSE, BITS", m.stages["gather_all"].call(), "barrier(control, threads)"]


def _end(m: "Stages") -> list[str]:
    return [
        "if thread == 0:",
        "    on = next_threads if goes_on else -next_threads",
        "    leave_off(control, self_iteration, size, edges, remaining, form, done, work, traversed, on)",
        *(["    control[PUT_OFF], bounds[0], bounds[1] = left, threshold, last_threshold"] if m.prioritised else []),
        *(f"    set_{name}[0] = self_{name}" for name in m.carried),
    ]
