"""Bind a vertex program to a graph once, for many runs (`prepare`), and carry out each run (`run_once`)."""

import os
import reprlib
from collections.abc import Callable, Mapping
from threading import Lock, RLock
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from gasla.arrays import Device
from gasla.engines import Running, Runs, compiles, runner
from gasla.graph.arguments import NO_LIMIT, check_flags, check_functions, most_iterations, real_number
from gasla.graph.graph import Graph, as_graph
from gasla.operations.result import Result, pending_result, warm_start
from gasla.program.binding import AUTO, PULL, PUSH, by_number
from gasla.program.fields import Order, as_instance
from gasla.program.frontier import as_frontier
from gasla.program.hooks import HOOKS
from gasla.program.program import VertexProgram, in_order
from gasla.program.reasons import check_ends
from gasla.program.schedule import as_schedule

__all__ = ["Prepared", "prepare"]

Direction = Literal["auto", "push", "pull"]


class Ways(dict[str, int]):
    """A dict from the words for the direction of iterations ("auto", "push", "pull") to the numbers that engines use.

    A missing word raises ValueError, with the words that are expected.
    """

    def __missing__(self, direction: str) -> int:
        raise ValueError(f"direction is {direction!r}; expected 'auto', 'push' or 'pull'")


WAYS = Ways(auto=AUTO, push=PUSH, pull=PULL)
FLAGS = {bool}  # to test that all of several arguments are True or False: then the set of their types equals this set
TRACE = np.dtype([("active", np.int64), ("edges", np.int64), ("direction", "U4"), ("reason", "U48")])
# A lock for changes of prepared runs. A thread that has it may take it again, as a signal handler may start a run while
# the thread is in such a change.
_runs_lock = RLock()
# columns that only the trace of a distributed run has: number of exchanges, and bytes sent, of all ranks together
OF_RANKS = ("exchanges", "bytes")
TRACE_OF_RANKS = np.dtype([*TRACE.descr, *((name, np.int64) for name in OF_RANKS)])


class Variant(NamedTuple):
    """The options of a run on which its compiled code depends, such as the direction of iterations.

    A graph stores prepared runs of a program for each combination of these options.
    """

    way: int  # the direction of iterations, as one of the numbers AUTO, PUSH and PULL
    deterministic: bool
    scheduled: bool
    compiled: bool


class Begin:
    """The arguments of `gasla.run` that say what a run starts with: start values, active vertices, schedule, `out`.

    Checks that need the graph are made later.
    """

    def __init__(self, values: dict[str, Any], active: Any, schedule: Any, out: Any, start: Any) -> None:
        if out is not None and not isinstance(out, Mapping):
            raise TypeError(f"out is {reprlib.repr(out)}; expected a dict from vertex field to array")
        self.values, self.active, self.schedule, self.start = values, active, schedule, start
        self.out: Mapping[str, Any] = out or {}


class Course:
    """The arguments of `gasla.run` that say how long a run goes on and how the caller observes it.

    They are checked when the object is made.
    """

    def __init__(
        self,
        max_iterations: int | None,
        delta: float | None,
        trace: bool,
        callback: Callable[[Result], Any] | None,
        progress: Callable[[int], Any] | None,
        wait: bool,
    ) -> None:
        if {type(trace), type(wait)} != FLAGS:
            check_flags(trace=trace, wait=wait)
        if callback is not None or progress is not None:
            check_functions(callback=callback, progress=progress)
        # whether the caller has limited the number of iterations (in a run of phases, the number of turns)
        self.has_limit = max_iterations is not None
        self.limit = NO_LIMIT if max_iterations is None else most_iterations("max_iterations", max_iterations)
        self.delta = None if delta is None else real_number("delta", delta, most=np.inf, above=True)
        self.trace, self.callback, self.progress, self.wait = trace, callback, progress, wait


def prepare(
    program: VertexProgram | type[VertexProgram],
    graph: Any,
    *,
    direction: Direction = "auto",
    deterministic: bool = False,
    order: Order | None = None,
    scheduled: bool = False,
    notice: bool = True,
    device: Device | None = None,
    compile: bool = True,
) -> "Prepared":
    """Bind a vertex program to a graph, for many runs that differ in their active vertices and start values.

    A call of the result takes a few microseconds more than the run itself. On a GPU the program's kernel is compiled in
    the background.

    Parameters
    ----------
    program : VertexProgram
        An instance (with its parameters), or a class (with their defaults).
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j.
    direction, deterministic, order, notice, device, compile
        As for `gasla.run`.
    scheduled : bool
        Whether its runs will take schedules.

    Returns
    -------
    Prepared

    Examples
    --------
    >>> import gasla, semirings, numpy as np
    >>> from scipy.sparse import csr_array
    >>> class Hops(gasla.VertexProgram):
    ...     hops = gasla.vertex(np.int32, init=100)
    ...     reduce = semirings.min
    ...     def gather(self, src, dst, edge): return src.hops + 1
    ...     def apply(self, vertex, gathered): return {"hops": semirings.minimum(vertex.hops, gathered)}
    >>> search = gasla.prepare(Hops, csr_array(np.eye(4, k=1)))
    >>> [search(active=[source], hops={source: 0}).hops.tolist() for source in (0, 2)]
    [[0, 1, 2, 3], [100, 100, 0, 1]]
    """
    check_flags(deterministic=deterministic, scheduled=scheduled, notice=notice, compile=compile)
    variant = Variant(WAYS[direction], deterministic, scheduled, compile and compiles())
    return Prepared(runs_alone(program, order), as_graph(graph), variant, notice, device and check_device(device))


class Prepared:
    """A program bound to a graph, ready to be run. It is made by `gasla.prepare`.

    Each run returns new arrays, except those given as `out`. Calls must not overlap: prepare one for each thread.
    """

    def __init__(
        self, program: VertexProgram, graph: Graph, variant: Variant, notice: bool, device: Device | None
    ) -> None:
        self._program, self._given, self._variant, self._device = program, graph, variant, device
        self._notices = notice and bool(program.edge_fields)
        self._turn = Lock()  # a lock that the latest call of this object holds until it returns
        self._note_values()
        runs_of(program, self._graph, variant, Lock()).compile_ahead(program, self._graph)

    def __repr__(self) -> str:
        return f"Prepared({type(self._program).__name__}, {self._graph!r})"

    def _note_values(self) -> None:
        if self._notices:
            self._given.notice_values()
        self._mark = self._given.kept("values", lambda _: object())
        self._graph = self._given if self._device is None else self._given.to(self._device)

    def __call__(
        self,
        *,
        active: Any = None,
        max_iterations: int | None = None,
        delta: float | None = None,
        trace: bool = False,
        callback: Callable[[Result], Any] | None = None,
        progress: Callable[[int], Any] | None = None,
        schedule: Any = None,
        wait: bool = True,
        out: Mapping[str, Any] | None = None,
        start: Result | Mapping[str, Any] | None = None,
        **values: Any,
    ) -> Result:
        """Run the prepared program once.

        Parameters
        ----------
        active, max_iterations, delta, trace, callback, progress, schedule, wait, out, start
            As for `gasla.run`.
        **values
            Start values of fields, and values of parameters for this run, as for `gasla.run`.

        Returns
        -------
        Result

        Raises
        ------
        RuntimeError
            If another call has not returned yet, in another thread or as the caller of this callback.
        """
        lock = Lock()
        # A `with` statement releases the lock in any case. If `acquire` and `release` were called, a signal could
        # interrupt the code between such a call and the `try` that belongs to it.
        with lock:
            with _runs_lock:
                if self._turn.locked():
                    raise RuntimeError(
                        f"a prepared run of {type(self._program).__name__} was called while another call of it is "
                        "under way; prepare one for each thread, and for use in a callback"
                    )
                self._turn = lock
            if self._variant.scheduled is (schedule is None):
                variant_words = ("with", "without") if self._variant.scheduled else ("without", "with")
                name = type(self._program).__name__
                raise ValueError(
                    f"{name} was prepared {variant_words[0]} scheduled=True, and called {variant_words[1]} a schedule"
                )
            if self._notices:
                self._given.notice_values()
                # The graph discards what it derived from edge values when they change. As this object was derived from
                # them, a value has changed since the last call.
                if self._given.known("values") is not self._mark:
                    self._note_values()
            run_arguments = Begin(values, active, schedule, out, start)
            course = Course(max_iterations, delta, trace, callback, progress, wait)
            runs = runs_of(self._program, self._graph, self._variant, lock)
            return run_once(runs, self._program, self._graph, run_arguments, course)


def _after_fork() -> None:
    global _runs_lock
    # In a forked process, no thread could release the old lock if another thread of the parent process had it. So this
    # makes a new lock.
    _runs_lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def runs_alone(given: Any, order: Order | None) -> VertexProgram:
    """Return the program that a caller wants to run as an instance, with another `order` of vertices if one is given.

    Raise ValueError for a program with the function `start`, which can only be one of several phases.
    """
    program = as_instance(VertexProgram, given)
    if hasattr(program, "start"):
        raise ValueError(
            f"{type(program).__name__} has start, which says where one of several phases begins; give `active` instead"
        )
    return program if order is None else in_order(program, order)


def runs_of(program: VertexProgram, graph: Graph, variant: Variant, turn: Lock) -> Runs:
    """Return an object that runs a program on a graph. No other call uses it until the lock `turn` is released.

    The caller holds the lock `turn`. `variant` has the options that change the compiled code. For each variant, the
    graph stores as many of these objects as there were calls at the same time.
    """
    key = type(program), *variant
    prepared: list[Runs] = graph.known(key) or graph.kept(key, lambda _: [])
    with _runs_lock:
        for runs in prepared:
            if not runs.turn.locked():
                runs.turn = turn
                return runs
    if variant.scheduled:
        *hook_names, last_hook = (name for name, hook in HOOKS.items() if not hook.in_schedule)
        if any(getattr(program, name, None) for name in (*hook_names, last_hook)):
            raise ValueError(
                f"the program of a scheduled run has no {', '.join(hook_names)} and {last_hook}; remove them"
            )
    direction, deterministic, scheduled, compiled = variant
    runs = runner(graph.engine, compiled).prepare(program, graph, direction, deterministic, scheduled)
    runs.turn = turn
    with _runs_lock:
        runs.is_spare = bool(prepared)
        prepared.append(runs)
    return runs


def run_once(runs: Runs, program: VertexProgram, graph: Graph, begin: Begin, course: Course) -> Result:
    """Run a program once with an object `runs` that is prepared for it, and return the result.

    `begin` and `course` are the arguments of the call. The caller holds the lock that keeps other calls from using
    `runs`.
    """
    values, active, schedule, start = begin.values, begin.active, begin.schedule, begin.start
    limit, progress = course.limit, course.progress
    if not course.has_limit and course.callback is None and schedule is None:
        check_ends(program, graph.id_dtype)
    if program.parameters:
        changed_parameters = {name: values.pop(name) for name in program.parameters.keys() & values.keys()}
        program = type(program)(**program.values | changed_parameters) if changed_parameters else program
    values = by_number(graph, values)
    if start is not None:
        if schedule is not None:
            raise ValueError("a scheduled run takes no start; leave it out, or the schedule")
        active, values = warm_start(start, program, graph, active, values)
    if schedule is None:
        frontier = as_frontier(graph, active)
    else:
        frontier, schedule = None, as_schedule(graph.n, schedule)
        if active is not None:
            raise ValueError("a scheduled run takes no active set; leave out active, or the schedule")
    running = runs.begin(program, graph, values, frontier, schedule, course.delta, begin.out)
    table, is_left = None, False
    try:
        if course.trace or course.callback:
            rows = run_in_pieces(running, limit, course)
            table = _trace_table(rows, running.reasons()) if course.trace else None
        elif course.wait or progress or not (is_left := running.leave(limit)):
            running.advance(limit, progress)
            while not running.ended and running.iteration < limit:
                running.advance(limit, progress)
        if not is_left and graph.files is not None:
            graph.files.require_unchanged()
        result = pending_result(running) if is_left else Result(*running.outcome(), table)
    finally:
        if not is_left:
            running.close()
    # the program and the state of the graph's edges, which a later run that starts from this result compares with its
    # own
    result.__dict__["_origin"] = program, graph.edition
    return result


def run_in_pieces(running: Running, limit: int, course: Course) -> list[np.ndarray]:
    """Run a program a few iterations at a time, and return its trace as a list of arrays.

    Each array has a row for each of these few iterations. The list is empty if no trace is wanted. If there is a
    callback, it is called after each single iteration. Otherwise the run stops only when the buffer for the rows of the
    trace is full.
    """
    callback, trace = course.callback, course.trace
    iterations_per_call = 1 if callback else running.log_rows
    rows = []
    while True:
        began = running.iteration
        running.advance(
            limit if limit - began <= iterations_per_call else began + iterations_per_call, course.progress, trace
        )
        if trace:
            rows.append(running.log(running.iteration - began))
        enough = running.ended or running.iteration >= limit
        if callback and running.iteration > began and callback(Result(*running.outcome())):
            enough = True
        if enough:
            return rows


def _trace_table(rows: list[np.ndarray], reasons: Mapping[int, str]) -> np.ndarray:
    """Return the trace of a run as one structured array with the columns of `Result.trace`.

    `rows` are arrays of numbers with a row for each iteration, and `reasons` says in words why iterations pull or push.
    """
    numbers = np.concatenate(rows)
    # Only the trace of a distributed run has five columns. That of a GPU has four, the last of which has times, which
    # are left out here.
    is_of_ranks = numbers.shape[1] == 3 + len(OF_RANKS)
    table = np.empty(len(numbers), TRACE_OF_RANKS if is_of_ranks else TRACE)
    for column, name in enumerate(OF_RANKS if is_of_ranks else (), 3):
        table[name] = numbers[:, column]
    table["active"], table["edges"] = numbers[:, 0], numbers[:, 1]
    table["direction"] = np.where(numbers[:, 2] == PULL, "pull", "push")
    table["reason"] = np.where(numbers[:, 2] == PULL, reasons[PULL], reasons[PUSH])
    return table


def check_device(device: Device) -> Device:
    """Return the device itself. Raise an error if it is neither "cpu" nor "gpu"."""
    if device not in get_args(Device):
        raise ValueError(f"device is {device!r}; expected 'cpu' or 'gpu'")
    return device
