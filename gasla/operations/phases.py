"""Phases: several vertex programs that run in turns on shared fields, as one run."""

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
TURN = "turn"  # name of the parameter that gets the number of finished turns, if a program declares it


@dataclass(frozen=True, eq=False)
class Phase:
    """A vertex program that takes turns with others in a run: `gasla.run([Phase(A, until="still"), B], graph)`.

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

    program: Any  # an instance of the program; if a class was given, __post_init__ replaces it by an instance
    until: Until = "once"

    def __post_init__(self) -> None:
        object.__setattr__(self, "program", as_program(self.program))
        if self.until not in get_args(Until):
            raise ValueError(f"until is {self.until!r}; expected 'once' or 'still'")


def as_phases(given: Sequence[Any]) -> list[Phase]:
    """Return a list of phases from a list whose members are phases or programs.

    A program becomes a phase of one iteration per turn.
    """
    phases = [program if isinstance(program, Phase) else Phase(program) for program in given]
    if not phases:
        raise ValueError("there are no phases; expected a program, or a list of programs")
    for phase, next_phase in itertools.pairwise(phases):
        if type(phase.program) is type(next_phase.program) and phase.until == next_phase.until == "still":
            raise ValueError(
                f"two phases of {type(phase.program).__name__} follow each other, until 'still'; leave one out"
            )
    return phases


def run_phases(phases: list[Phase], graph: Graph, variant: Variant, begin: Begin, course: Course) -> Result:
    """Run phases in turns until the run is over, and return its result.

    All phases read and write the same arrays, one for each field.
    """
    if begin.start is not None:
        raise ValueError("a run of phases takes no start; leave it out, or give the fields and active")
    if course.trace or begin.schedule is not None:
        raise ValueError("a run of phases takes no trace and no schedule; leave them out, or run a single program")
    limit, delta, active = course.limit, course.delta, as_frontier(graph, begin.active)
    bound_phases = [_BoundPhase(phase, graph, variant) for phase in phases]
    # whether all turns may run without Python in between: there is no callback, and something to run
    is_alone = course.callback is None and graph.n > 0 and limit > 0
    joint_run = _prepare_together(bound_phases, graph, is_alone)
    shared, unstable = (
        _Shared(bound_phases, graph, by_number(graph, begin.values), begin.out),
        _why_unstable(bound_phases),
    )
    _check_ends(bound_phases, unstable, limit, course)
    shared.fill_out()
    result = None if joint_run is None else shared.go_together(joint_run, bound_phases, active, unstable, course)
    if result is not None:
        return result
    turns, edges, is_over, last_progress = 0, 0, False, time.perf_counter()
    while not is_over and turns < limit:
        active_count = 0
        for bound_phase in bound_phases:
            active, visited, is_over, went_on = shared.go_on(bound_phase, active, turns, delta)
            edges, active_count = edges + visited, active_count + len(active) + went_on
            if is_over:
                break
        turns, is_over = turns + 1, is_over or graph.n == 0 or not (active_count or unstable)
        if course.callback and course.callback(shared.result(turns, is_over, edges, active)):
            break
        if course.progress and time.perf_counter() - last_progress > 0.1:
            last_progress = time.perf_counter()
            course.progress(turns)
    return shared.result(turns, is_over, edges, active)


def begin_compiling(phases: list[Phase], graph: Graph, variant: Variant) -> None:
    """Begin to compile the programs of phases for a graph in the background, so that a later run need not wait."""
    _prepare_together([_BoundPhase(phase, graph, variant) for phase in phases], graph, graph.n > 0)


def _prepare_together(bound_phases: "list[_BoundPhase]", graph: Graph, is_alone: bool) -> Together | None:
    """Prepare to run all turns of a list of phases in one call of the engine, and return that call as an object.

    If Python has to call something between turns (not `is_alone`), or if the engine has no such call, return None, and
    begin to compile a kernel for each phase.
    """
    joint_run = (
        bound_phases[0].runs.in_turns([bound_phase.program for bound_phase in bound_phases], graph)
        if is_alone
        else None
    )
    for bound_phase in bound_phases if joint_run is None else ():
        bound_phase.runs.compile_ahead(bound_phase.program, graph)
    return joint_run


class _BoundPhase(Binding):
    """A phase bound to a graph: its program, and the prepared runs of the program, of which each turn uses one."""

    def __init__(self, phase: Phase, graph: Graph, variant: Variant) -> None:
        program_class: Any = type(phase.program)
        self.plan = _make_plan(program_class, graph.id_dtype, variant.deterministic)
        super().__init__(phase.program, graph)
        self.limit = 1 if phase.until == "once" else NO_LIMIT
        self.variant = variant
        self.runs = runs_of(phase.program, graph, variant, Lock())
        self.starts = getattr(program_class, "start", None)

    @functools.cached_property
    def types(self) -> Mapping[str, tuple[str, Any]]:
        """The names of the fields and parameters that the phase's vertex program declares, each with a pair of values.

        A phase is a vertex program that takes turns with others in one run. The pair is what the name stands for
        ("vertex field", "edge field" or "parameter"), and its dtype.
        """
        traced = self.traced
        groups = [
            ("vertex field", traced.vertex_types),
            ("edge field", traced.edge_types),
            ("parameter", traced.parameter_types),
        ]
        return {
            name: (description, field_type)
            for description, types in groups
            for name, field_type in self.by_given_name(types).items()
        }

    @functools.cached_property
    def deposits(self) -> Mapping[str, Any]:
        """The aggregates of the program that have a value for each vertex, instead of one: their dtypes by name."""
        return self.by_given_name(self.traced.deposit_types)

    def fields(self, given: Mapping[str, Any], known: Iterable[str]) -> Iterator[tuple[str, Any]]:
        """Yield the name and the array of each field of the phase's program at the start of a run of phases.

        `given` has the start values that the caller of the run has given, by name. Fields in `known` are left out, as
        another phase of the run has made their arrays already.
        """
        start_values = self.by_inner_name(
            {
                field_name: start_value
                for field_name, start_value in given.items()
                if field_name in self.types.keys() - self.program.parameters
            }
        )
        self.check(start_values)
        for name in self.traced.vertex_types.keys() - set(map(inner, known)):
            yield given_name(name), self._start_array(name, start_values.get(name))
        for name in set(self.plan.edge_states) - set(map(inner, known)):
            yield given_name(name), self._edge_array(name, start_values)

    def first(self, state: Mapping[str, Any], parameters: Mapping[str, Any]) -> Frontier:
        """Return the vertices that are active when the phase's turn begins, as the program's function `start` decides.

        `state` has the current values of the fields, and `parameters` those of the parameters, which `start` may read.
        """
        graph, xp, program_class = self.graph, self.xp, type(self.program)
        stand_in = object.__new__(program_class)
        stand_in.__dict__.update(parameters, n=graph.n)
        fields = {name: functools.partial(_values_for_start, state[name]) for name in self.program.vertex_fields}
        assert self.starts is not None
        with np.errstate(all="ignore"):
            is_active = xp.asarray(self.starts(stand_in, self.every_vertex(fields)))
        if is_active.dtype != bool or is_active.shape not in ((), (graph.n,)):
            raise TypeError(
                f"{program_class.__name__}.start gave {is_active.dtype}{is_active.shape}; expected one bool per vertex"
            )
        return Frontier(graph.n, mask=xp.broadcast_to(is_active, (graph.n,)).copy())


@functools.cache
def _make_plan(program_class: Any, ids: np.dtype, deterministic: bool) -> Plan:
    return Plan(program_class.traced(ids), deterministic)


def _values_for_start(array: Any) -> Any:
    return as_values(array.astype(computed(array.dtype), copy=False).T)


class _Shared:
    """The data that all phases of a run share: arrays of fields, parameters, and the latest values of aggregates."""

    def __init__(
        self, bound_phases: list[_BoundPhase], graph: Graph, values: dict[str, Any], out: Mapping[str, Any]
    ) -> None:
        _check_same_types(bound_phases)
        self.graph, self.out = graph, out
        known_names = {name for bound_phase in bound_phases for name in bound_phase.types}
        if unknown := sorted(values.keys() - known_names):
            raise TypeError(
                f"no phase has {unknown[0]!r}; expected some of: {', '.join(sorted(known_names)) or 'none'}"
            )
        self.parameters: dict[str, Any] = {}
        for bound_phase in bound_phases:
            for name, value in bound_phase.program.values.items():
                start = self.parameters.setdefault(name, values.get(name, value))
                is_given = (
                    name in values
                    or name == TURN
                    or any(name in other_phase.program.aggregates for other_phase in bound_phases)
                )
                if not is_given and not np.array_equal(start, value):
                    raise ValueError(
                        f"phases have {name} = {start!r} and {value!r}; expected one value, as by run(..., {name}=...)"
                    )
        self.state: dict[str, Any] = {}
        for bound_phase in bound_phases:
            out_arrays = {
                name: array for name, array in out.items() if name in bound_phase.types and name not in self.state
            }
            bound_phase.check_out(out_arrays, values, is_copied=True)
            self.state |= dict(
                bound_phase.fields({n: a for n, a in out_arrays.items() if n not in values} | values, self.state)
            )
        for name in out:
            if name not in self.state:
                raise TypeError(f"no phase has a vertex field {name!r} to leave in `out`")
        self.aggregates: dict[str, Any] = {}

    def fill_out(self) -> None:
        """Copy the start values of fields into the arrays that the caller of the run has passed as `out`.

        From then on, these arrays are the fields of the run.
        """
        for name, array in self.out.items():
            array[...] = self.state[name]
            self.state[name] = array

    def go_on(
        self, bound: _BoundPhase, active: Frontier, turns: int, delta: float | None
    ) -> tuple[Frontier, int, bool, bool]:
        """Run one phase for one turn, from the `active` vertices.

        Return a tuple: the active vertices after it, the number of edges visited, whether the run is over, and whether
        the phase certainly changed a vertex. A phase that goes on until no vertex is active did so if it took more than
        one iteration. For a program with buckets or `wake` the answer is always no, because vertices that have not
        changed become active, too.
        """
        turn = Lock()
        with turn:
            bound.runs = runs_of(bound.program, self.graph, bound.variant, turn)
            running = self._begin(bound, active, turns, delta)
            try:
                running.advance(bound.limit)
                while not running.ended and running.iteration < bound.limit:
                    running.advance(bound.limit)
                require_unchanged_files(self.graph)
                fields, _, _, edges, active, aggregates = running.outcome()
                self.state.update(fields)
                self.state.update({name: aggregates[name] for name in bound.deposits if name in self.state})
                self.aggregates.update(aggregates)
                self.parameters.update(running.changed())
                return active, edges, running.stopped, running.iteration > 1 and not bound.plan.resumes
            finally:
                running.close()

    def go_together(
        self,
        together: Together,
        bound_phases: list[_BoundPhase],
        active: Frontier,
        unstable: str | None,
        course: Course,
    ) -> Result | None:
        """Run all turns of all phases in one call of the engine, `together`, and return the result.

        Return None if there is not enough memory for that. Then nothing has been changed, and each turn can still be
        run alone.
        """
        programs = [type(bound_phase.program)(**self._values(bound_phase, 0)) for bound_phase in bound_phases]
        limits, goes_on = [bound_phase.limit for bound_phase in bound_phases], unstable is not None
        outcome = together.run(
            *(programs, limits, self.graph, self.state, active), *(course.limit, goes_on, course.delta, course.progress)
        )
        if outcome is None:
            return None
        require_unchanged_files(self.graph)
        state, turns, is_over, edges, active, aggregates = outcome
        self.state.update(state)
        self.aggregates.update(aggregates)
        return self.result(turns, is_over, edges, active)

    def _values(self, bound_phase: _BoundPhase, turns: int) -> dict[str, Any]:
        """Return the values of a phase's parameters in the current turn.

        `turns` is the number of finished turns, which the parameter "turn" gets. A parameter with the name of a phase's
        aggregate gets the aggregate's latest value. Any other parameter has its own value.
        """
        values_by_name = {TURN: turns} | self.aggregates
        return {n: values_by_name.get(n, self.parameters[n]) for n in bound_phase.program.parameters}

    def _begin(self, bound_phase: _BoundPhase, active: Frontier, turns: int, delta: float | None) -> Running:
        """Begin the turn of a phase: start a run of its program on the fields and parameters that all phases share."""
        values = self._values(bound_phase, turns)
        program = type(bound_phase.program)(**values)
        if bound_phase.starts is not None:
            active = bound_phase.first(self.state, values)
        elif program.everyone:
            active = Frontier.all(self.graph.n, self.graph.device)
        out = {n: self.state[n] for n in bound_phase.program.vertex_fields if inner(n) not in bound_phase.plan.doubled}
        fields = {n: self.state[n] for n in bound_phase.types if n in self.state and n not in out}
        return bound_phase.runs.begin(program, self.graph, fields, active, None, delta, out)

    def result(self, turns: int, is_over: bool, edges: int, active: Frontier) -> Result:
        """Return the result of a run of phases after `turns` turns.

        Fields for which the caller passed arrays `out` are copied into these arrays.
        """
        for name, array in self.out.items():
            if self.state[name] is not array:
                array[...] = self.state[name]
                self.state[name] = array
        return Result(dict(self.state), turns, is_over, edges, active, dict(self.aggregates))


def _why_unstable(bound_phases: list[_BoundPhase]) -> str | None:
    """Return why a run of phases may have to go on after a turn that leaves no vertex active, or None if it ends then.

    The reason is a clause for an error message. A phase that activates the vertices that changed would only repeat its
    computation in the next turn, unless it reads something that may differ: the number of the turn, the aggregate of a
    phase, a parameter that `idle` sets, or a field that is written after all vertices have applied.
    """
    varying, later = {TURN}, set()
    for bound_phase in bound_phases:
        varying |= {*bound_phase.program.aggregates, *map(given_name, bound_phase.plan.changes)}
        later |= bound_phase.traced.revised
    for bound_phase in bound_phases:
        where, names = type(bound_phase.program).__name__, varying & bound_phase.program.parameters.keys()
        if not bound_phase.plan.ends_when_still:
            return f"{where}.{why_unstable(bound_phase.plan)}".partition(",")[0]
        if not bound_phase.plan.is_active_by_change:
            continue
        # as `start` is not traced, which of these parameters it reads is unknown
        if names and bound_phase.starts is not None:
            return f"{where}.start may read self.{min(names)}"
        early = bound_phase.plan.find_read(set(map(inner, names)), later)
        if bound_phase.program.everyone and early is not None:
            return f"{where}.{early[0]} reads {early[1]}"
    return None


def _check_ends(bound_phases: list[_BoundPhase], unstable: str | None, limit: int, course: Course) -> None:
    """Raise ValueError if a run of phases would never end.

    This is so if a phase that goes on until no vertex is active never ends by itself, or if nothing ends the run: no
    limit of turns, no `stop` and no callback. `unstable` says why a turn without active vertices does not end the run,
    or is None if it does.
    """
    for bound_phase in bound_phases:
        where, reason = type(bound_phase.program).__name__, why_endless(bound_phase.plan)
        if reason is not None and bound_phase.limit > 1:
            raise ValueError(
                f"the phase {where} goes on until 'still', and never ends by itself: {reason}, and it has no stop; add "
                "one, or activate(before, after) that says which vertices are active next, or leave out until='still'"
            )
        if reason is not None and unstable is None and bound_phase.plan.ends_when_still:
            unstable = f"in {where} {reason}"
    has_stop = any("stop" in bound_phase.traced.functions for bound_phase in bound_phases)
    if unstable is not None and not has_stop and limit >= NO_LIMIT and course.callback is None:
        raise ValueError(
            f"these phases never end by themselves: {unstable}, so that a turn which changes nothing may not be the "
            "last, and none has a stop; give max_iterations, or add stop(self) to a phase, or activate(before, after) "
            "to that one"
        )


def _check_same_types(bound_phases: list[_BoundPhase]) -> None:
    """Raise TypeError if the programs of two phases declare the same name with different types."""
    declarations: dict[str, tuple[str, Any, str]] = {}
    for bound_phase in bound_phases:
        where = type(bound_phase.program).__name__
        declared = {
            **bound_phase.types,
            **{name: ("vertex field", field_type) for name, field_type in bound_phase.deposits.items()},
        }
        for name, (description, field_type) in declared.items():
            first_declaration = declarations.setdefault(name, (description, field_type, where))
            if first_declaration[:2] != (description, field_type):
                raise TypeError(
                    f"{first_declaration[2]}.{name} is a {first_declaration[0]} of type {first_declaration[1]}, and "
                    f"{where}.{name} a {description} of type {field_type}; phases share what has the same name: "
                    "expected the same type, or another name"
                )
