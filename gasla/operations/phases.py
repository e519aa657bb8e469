"""Phases: several vertex programs that take turns on shared fields, as one run."""

import functools
import itertools
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal, get_args

import numpy as np

from gasla.arrays import as_values
from gasla.engines import Running, Together
from gasla.graph.arguments import NO_LIMIT
from gasla.graph.graph import Graph, require_unchanged_files
from gasla.names import given as given_name
from gasla.names import inner
from gasla.operations.prepare import Begin, Course, Variant, runs_of
from gasla.operations.result import Result
from gasla.program.binding import Binding, by_number
from gasla.program.frontier import Frontier, as_frontier
from gasla.program.plan import Plan
from gasla.program.program import as_program
from gasla.program.reasons import why_endless, why_unstable
from semirings.types import computed

__all__ = ["Phase"]

Until = Literal["once", "still"]
TURN = "turn"  # a parameter of this name receives the number of finished turns


@dataclass(frozen=True, eq=False)
class Phase:
    """A vertex program as one of several that take turns: `gasla.run([Phase(A, until="still"), B], graph)`.

    Parameters
    ----------
    program : VertexProgram
        An instance, or a class.
    until : "once" or "still"
        How long it runs in each turn: one iteration, or until no vertex is active. In both cases it ends
        sooner if its `stop()` returns true, which also ends the run.

    Raises
    ------
    TypeError, ValueError
        If `program` is not a program, or `until` is another word.

    Notes
    -----
    Phases share fields and parameters of the same name; a field's type must be the same in all of them, and the first
    `init` holds. A parameter with the name of another phase's aggregate receives the aggregate's latest value, and one
    called `turn` the number of finished turns. Aggregates belong to their phase.

    A phase starts with the active vertices that the phase before it has left; with all vertices if its program has
    `everyone = True`; or, if it has a method `start(self, vertex)`, with the vertices for which that is true.
    `self.iteration` counts from 0 in each turn of the phase.

    The run ends when a `stop()` is true, or after a turn in which no phase left a vertex active (an "until still" phase
    counts as having done so if it ran more than one iteration). The second rule does not apply if a phase without
    `activate` reads something that may differ in the next turn, such as `turn`. If neither rule can end the run, it
    needs `max_iterations`.

    Examples
    --------
    >>> import gasla, semirings, numpy as np
    >>> from scipy.sparse import csr_array
    >>> class Down(gasla.VertexProgram):
    ...     x = gasla.vertex(np.int32, init=lambda vertex: abs(vertex.id - 2))
    ...     reduce = semirings.min
    ...     def start(self, vertex): return True
    ...     def gather(self, src, dst, edge): return src.x
    ...     def apply(self, vertex, gathered): return {"x": semirings.minimum(vertex.x, gathered)}
    >>> class Up(Down):
    ...     direction = "out"
    >>> path = csr_array(np.eye(5, k=1))
    >>> gasla.run([gasla.Phase(Down, until="still"), Up], path, max_iterations=1).x
    array([1, 0, 0, 0, 0], dtype=int32)
    """

    program: Any  # an instance after __post_init__
    until: Until = "once"

    def __post_init__(self) -> None:
        object.__setattr__(self, "program", as_program(self.program))
        if self.until not in get_args(Until):
            raise ValueError(f"until is {self.until!r}; expected 'once' or 'still'")


def as_phases(given: Sequence[Any]) -> list[Phase]:
    """Return the members of a list as phases: a bare program is a phase of one iteration per turn."""
    phases = [one if isinstance(one, Phase) else Phase(one) for one in given]
    if not phases:
        raise ValueError("there are no phases; expected a program, or a list of programs")
    for a, b in itertools.pairwise(phases):
        if type(a.program) is type(b.program) and a.until == b.until == "still":
            raise ValueError(
                f"two phases of {type(a.program).__name__} follow each other, until 'still'; leave one out"
            )
    return phases


def run_phases(phases: list[Phase], graph: Graph, variant: Variant, begin: Begin, course: Course) -> Result:
    """Run phases in turns. Fields stay in place between them."""
    if begin.start is not None:
        raise ValueError("a run of phases takes no start; leave it out, or give the fields and active")
    if course.trace or begin.schedule is not None:
        raise ValueError("a run of phases takes no trace and no schedule; leave them out, or run a single program")
    limit, delta, active = course.limit, course.delta, as_frontier(graph, begin.active)
    stays = [_Stay(phase, graph, variant) for phase in phases]
    is_alone = course.callback is None and graph.n > 0 and limit > 0  # nothing happens between turns
    together = _together(stays, graph, is_alone)
    shared, unstable = _Shared(stays, graph, by_number(graph, begin.values), begin.out), _why_unstable(stays)
    _check_ends(stays, unstable, limit, course)
    shared.fill_out()
    result = None if together is None else shared.go_together(together, stays, active, unstable, course)
    if result is not None:
        return result
    turns, edges, is_over, shown = 0, 0, False, time.perf_counter()
    while not is_over and turns < limit:
        left = 0
        for stay in stays:
            active, looked, is_over, went_on = shared.go_on(stay, active, turns, delta)
            edges, left = edges + looked, left + len(active) + went_on
            if is_over:
                break
        turns, is_over = turns + 1, is_over or graph.n == 0 or not (left or unstable)
        if course.callback and course.callback(shared.result(turns, is_over, edges, active)):
            break
        if course.progress and time.perf_counter() - shown > 0.1:
            shown = time.perf_counter()
            course.progress(turns)
    return shared.result(turns, is_over, edges, active)


def begin_compiling(phases: list[Phase], graph: Graph, variant: Variant) -> None:
    """Begin to compile phases that are about to take turns."""
    _together([_Stay(phase, graph, variant) for phase in phases], graph, graph.n > 0)


def _together(stays: "list[_Stay]", graph: Graph, is_alone: bool) -> Together | None:
    """Prepare turns in one launch if nothing happens between them (`is_alone`), else a launch for each stay."""
    together = stays[0].runs.in_turns([stay.program for stay in stays], graph) if is_alone else None
    for stay in stays if together is None else ():
        stay.runs.compile_ahead(stay.program, graph)
    return together


class _Stay(Binding):
    """A phase bound to a graph. One run of it in its turn is a stay."""

    def __init__(self, phase: Phase, graph: Graph, variant: Variant) -> None:
        kind: Any = type(phase.program)
        self.plan = _plan(kind, graph.id_dtype, variant.deterministic)
        super().__init__(phase.program, graph)
        self.limit = 1 if phase.until == "once" else NO_LIMIT
        self.variant = variant
        self.runs = runs_of(phase.program, graph, variant, Lock())
        self.starts = getattr(kind, "start", None)

    @functools.cached_property
    def types(self) -> Mapping[str, tuple[str, Any]]:
        """The kind and type of each field and parameter, by the names in the program."""
        t = self.traced
        kinds = [("vertex field", t.vertex_types), ("edge field", t.edge_types), ("parameter", t.parameter_types)]
        return {name: (what, kind) for what, types in kinds for name, kind in self.by_given_name(types).items()}

    @functools.cached_property
    def deposits(self) -> Mapping[str, Any]:
        """The types of its aggregates at vertices, by the names in the program."""
        return self.by_given_name(self.traced.deposit_types)

    def fields(self, given: Mapping[str, Any], known: Iterable[str]) -> Iterator[tuple[str, Any]]:
        """Yield the arrays of its fields at the start of the run, except those in `known`."""
        own = self.by_inner_name({n: x for n, x in given.items() if n in self.types.keys() - self.program.parameters})
        self.check(own)
        for name in self.traced.vertex_types.keys() - set(map(inner, known)):
            yield given_name(name), self._start_array(name, own.get(name))
        for name in set(self.plan.edge_states) - set(map(inner, known)):
            yield given_name(name), self._edge_array(name, own)

    def first(self, state: Mapping[str, Any], parameters: Mapping[str, Any]) -> Frontier:
        """Return the vertices for which the program's `start` is true."""
        graph, xp, kind = self.graph, self.xp, type(self.program)
        stand_in = object.__new__(kind)
        stand_in.__dict__.update(parameters, n=graph.n)
        fields = {name: functools.partial(_read, state[name]) for name in self.program.vertex_fields}
        assert self.starts is not None
        with np.errstate(all="ignore"):
            said = xp.asarray(self.starts(stand_in, self.every_vertex(fields)))
        if said.dtype != bool or said.shape not in ((), (graph.n,)):
            raise TypeError(f"{kind.__name__}.start gave {said.dtype}{said.shape}; expected one bool per vertex")
        return Frontier(graph.n, mask=xp.broadcast_to(said, (graph.n,)).copy())


@functools.cache
def _plan(kind: Any, ids: np.dtype, deterministic: bool) -> Plan:
    return Plan(kind.traced(ids), deterministic)


def _read(array: Any) -> Any:
    return as_values(array.astype(computed(array.dtype), copy=False).T)


class _Shared:
    """The state that all phases of a run share: fields, parameters and the latest values of aggregates."""

    def __init__(self, stays: list[_Stay], graph: Graph, values: dict[str, Any], out: Mapping[str, Any]) -> None:
        _agree(stays)
        self.graph, self.out = graph, out
        known = {name for stay in stays for name in stay.types}
        if unknown := sorted(values.keys() - known):
            raise TypeError(f"no phase has {unknown[0]!r}; expected some of: {', '.join(sorted(known)) or 'none'}")
        self.parameters: dict[str, Any] = {}
        for stay in stays:
            for name, value in stay.program.values.items():
                first = self.parameters.setdefault(name, values.get(name, value))
                is_given = name in values or name == TURN or any(name in other.program.aggregates for other in stays)
                if not is_given and not np.array_equal(first, value):
                    raise ValueError(
                        f"phases have {name} = {first!r} and {value!r}; expected one value, as by run(..., {name}=...)"
                    )
        self.state: dict[str, Any] = {}
        for stay in stays:
            lent = {name: array for name, array in out.items() if name in stay.types and name not in self.state}
            stay.check_out(lent, values, is_copied=True)
            self.state |= dict(stay.fields({n: a for n, a in lent.items() if n not in values} | values, self.state))
        for name in out:
            if name not in self.state:
                raise TypeError(f"no phase has a vertex field {name!r} to leave in `out`")
        self.aggregates: dict[str, Any] = {}

    def fill_out(self) -> None:
        """Copy the start values into the arrays of `out`, which become the fields."""
        for name, array in self.out.items():
            array[...] = self.state[name]
            self.state[name] = array

    def go_on(self, stay: _Stay, active: Frontier, turns: int, delta: float | None) -> tuple[Frontier, int, bool, bool]:
        """Run one stay: returns the active vertices, edges visited, whether the run is over, and whether it changed.

        An "until still" phase leaves no vertex active, so that it ran more than one iteration shows that it changed
        something; except with buckets or `wake`, which activate vertices that did not change.
        """
        turn = Lock()
        with turn:
            stay.runs = runs_of(stay.program, self.graph, stay.variant, turn)
            running = self._begin(stay, active, turns, delta)
            try:
                running.advance(stay.limit)
                while not running.ended and running.iteration < stay.limit:
                    running.advance(stay.limit)
                require_unchanged_files(self.graph)
                fields, _, _, edges, active, aggregates = running.outcome()
                self.state.update(fields)
                self.state.update({name: aggregates[name] for name in stay.deposits if name in self.state})
                self.aggregates.update(aggregates)
                self.parameters.update(running.changed())
                return active, edges, running.stopped, running.iteration > 1 and not stay.plan.resumes
            finally:
                running.close()

    def go_together(
        self, together: Together, stays: list[_Stay], active: Frontier, unstable: str | None, course: Course
    ) -> Result | None:
        """Let the engine run all turns in one call. If it lacks memory for that, return None, with nothing changed."""
        programs = [type(stay.program)(**self._values(stay, 0)) for stay in stays]
        limits, goes_on = [stay.limit for stay in stays], unstable is not None
        outcome = together.run(
            *(programs, limits, self.graph, self.state, active),
            *(course.limit, goes_on, course.delta, course.progress),
        )
        if outcome is None:
            return None
        require_unchanged_files(self.graph)
        state, turns, is_over, edges, active, aggregates = outcome
        self.state.update(state)
        self.aggregates.update(aggregates)
        return self.result(turns, is_over, edges, active)

    def _values(self, stay: _Stay, turns: int) -> dict[str, Any]:
        """Return the current values of a phase's parameters."""
        own = {TURN: turns} | self.aggregates
        return {n: own.get(n, self.parameters[n]) for n in stay.program.parameters}

    def _begin(self, stay: _Stay, active: Frontier, turns: int, delta: float | None) -> Running:
        """Begin a stay with the shared state."""
        values = self._values(stay, turns)
        program = type(stay.program)(**values)
        if stay.starts is not None:
            active = stay.first(self.state, values)
        elif program.everyone:
            active = Frontier.all(self.graph.n, self.graph.device)
        out = {n: self.state[n] for n in stay.program.vertex_fields if inner(n) not in stay.plan.doubled}
        fields = {n: self.state[n] for n in stay.types if n in self.state and n not in out}
        return stay.runs.begin(program, self.graph, fields, active, None, delta, out)

    def result(self, turns: int, is_over: bool, edges: int, active: Frontier) -> Result:
        """Return the result of the run at its current state."""
        for name, array in self.out.items():
            if self.state[name] is not array:
                array[...] = self.state[name]
                self.state[name] = array
        return Result(dict(self.state), turns, is_over, edges, active, dict(self.aggregates))


def _why_unstable(stays: list[_Stay]) -> str | None:
    """Return why a turn that leaves no vertex active may not be the last, in words, or None if it is.

    A phase that starts anew in each turn, and activates the vertices that changed, repeats its computation unless it
    reads something that may differ in the next turn: the number of the turn, the aggregate of a phase, a parameter
    that `idle` sets, or a field that is written after all have applied.
    """
    varying, later = {TURN}, set()
    for stay in stays:
        varying |= {*stay.program.aggregates, *map(given_name, stay.plan.changes)}
        later |= stay.traced.revised
    for stay in stays:
        where, names = type(stay.program).__name__, varying & stay.program.parameters.keys()
        if not stay.plan.ends_when_still:
            return f"{where}.{why_unstable(stay.plan)}".partition(",")[0]
        if not stay.plan.is_active_by_change:
            continue
        if names and stay.starts is not None:  # which is not traced
            return f"{where}.start may read self.{min(names)}"
        early = stay.plan.find_read(set(map(inner, names)), later)
        if stay.program.everyone and early is not None:
            return f"{where}.{early[0]} reads {early[1]}"
    return None


def _check_ends(stays: list[_Stay], unstable: str | None, limit: int, course: Course) -> None:
    """Refuse an "until still" phase that never ends, and a run that never ends without a limit of turns."""
    for stay in stays:
        where, why = type(stay.program).__name__, why_endless(stay.plan)
        if why is not None and stay.limit > 1:
            raise ValueError(
                f"the phase {where} goes on until 'still', and never ends by itself: {why}, and it has no stop; add "
                "one, or activate(before, after) that says which vertices are active next, or leave out until='still'"
            )
        if why is not None and unstable is None and stay.plan.ends_when_still:
            unstable = f"in {where} {why}"
    has_stop = any("stop" in stay.traced.functions for stay in stays)
    if unstable is not None and not has_stop and limit >= NO_LIMIT and course.callback is None:
        raise ValueError(
            f"these phases never end by themselves: {unstable}, so that a turn which changes nothing may not be the "
            "last, and none has a stop; give max_iterations, or add stop(self) to a phase, or activate(before, after) "
            "to that one"
        )


def _agree(stays: list[_Stay]) -> None:
    """Refuse a name that is declared differently in two programs."""
    seen: dict[str, tuple[str, Any, str]] = {}
    for stay in stays:
        where = type(stay.program).__name__
        declared = {**stay.types, **{name: ("vertex field", kind) for name, kind in stay.deposits.items()}}
        for name, (what, kind) in declared.items():
            first = seen.setdefault(name, (what, kind, where))
            if first[:2] != (what, kind):
                raise TypeError(
                    f"{first[2]}.{name} is a {first[0]} of type {first[1]}, and {where}.{name} a {what} of type "
                    f"{kind}; phases share what has the same name: expected the same type, or another name"
                )
