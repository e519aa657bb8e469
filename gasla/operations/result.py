"""`Result`: the outcome of a run, and the start of another run from it, when edges have been added (a warm start)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from gasla.arrays import array_module
from gasla.engines import Running
from gasla.graph.exchange import html_view
from gasla.graph.graph import Graph
from gasla.names import given as given_name
from gasla.program import Frontier, VertexProgram
from gasla.program.hooks import BETWEEN
from gasla.program.plan import Plan

__all__ = ["ConvergenceWarning", "Result"]


class ConvergenceWarning(UserWarning):
    """A warning that an algorithm stopped at its limit of iterations before its results had converged."""


@dataclass(eq=False)
class Result:
    """The result of a run of a program. The program's fields are attributes: `result.distance`.

    If a GPU still runs (`wait=False`), the fields can be used at once, as CuPy's arrays can: later work on the stream
    finds them finished. Reading any other attribute waits for the end of the run.

    Attributes
    ----------
    state : dict of str to ndarray
        Every vertex field, and every edge field that has an `init` (in the order of the input's edges).
    iterations : int
        Number of iterations.
    converged : bool
        Whether the program ended by itself: no vertex active, or its `stop()` true.
    edges : int
        Edges visited, over all iterations.
    active : Frontier
        The vertices active at the end; all vertices for a program in which everyone gathers from all.
    aggregates : dict
        The last value of every aggregate.
    trace : structured ndarray or None
        With `trace=True`, one entry per iteration: active vertices before it, edges visited, "push" or "pull", and the
        reason for the direction. For a distributed graph also the number of exchanges, and the bytes that ranks sent.
    """

    state: Mapping[str, Any]
    iterations: int
    converged: bool
    edges: int
    active: Frontier = field(repr=False)
    aggregates: Mapping[str, Any]
    trace: np.ndarray | None = field(default=None, repr=False)

    def __getattr__(self, name: str) -> Any:
        own_attributes = self.__dict__
        state = own_attributes.get("state", {})
        if name in state:
            return state[name]
        if name in own_attributes.get("aggregates", {}):
            return own_attributes["aggregates"][name]
        if "_running" in own_attributes and not name.startswith("_"):
            _wait_for(own_attributes)
            return getattr(self, name)
        raise AttributeError(f"the result has no {name!r}; its fields: {', '.join(state)}")

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows: iterations, convergence, aggregates and a summary of every field."""
        facts = {"iterations": f"{self.iterations:,}", "converged": str(self.converged)}
        facts |= {"edges looked at": f"{self.edges:,}", "active vertices": f"{len(self.active):,}"}
        facts |= {name: str(value) for name, value in self.aggregates.items() if np.size(value) == 1}
        return html_view.of_result(facts, self.state)


def pending_result(running: Running) -> Result:
    """Return the result of a run that the GPU has not finished yet. Reading it waits for the end where necessary.

    The run is closed once the result is read or no longer referenced.
    """
    result = Result.__new__(Result)
    result.__dict__.update(running.known(), state=running.state(), _running=running)
    return result


def _wait_for(own_attributes: dict[str, Any]) -> None:
    """Wait until the run of a pending result has ended, and complete the result.

    `own_attributes` is the result's `__dict__`, to which the attributes are added that are known only then.
    """
    running: Running = own_attributes.pop("_running")
    try:
        running.finish()
        finished = Result(*running.outcome())
    finally:
        running.close()
    own_attributes.update(vars(finished) | own_attributes)


# --- warm start: a run that goes on from the result of another run ----------------------------------------------------


def warm_start(
    start: Any, program: VertexProgram, graph: Graph, active: Any, values: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Return the active vertices and the start values of a run that goes on from the values of an earlier run.

    `start` is the earlier run's result, or a dict of fields. Raise an error if the program or the graph does not allow
    a warm start.
    """
    program_class: Any = type(program)
    if reason := _why_no_warm_start(program_class, graph.id_dtype):
        raise ValueError(f"a run of {type(program).__name__} can't go on from another's values: {reason}")
    if isinstance(start, Result):
        if active is not None:
            raise ValueError(
                "start is a result, whose run goes on from the sources of new edges; leave out active, or give the "
                "fields alone: start=result.state"
            )
        active, start = _warm_active(start, program, graph), start.state
    if not isinstance(start, Mapping):
        raise TypeError(f"start is {type(start).__name__}; expected a Result, or a dict of field to array")
    if unknown := sorted(start.keys() - program.vertex_fields):
        field_names = ", ".join(sorted(program.vertex_fields)) or "none"
        raise TypeError(
            f"{type(program).__name__} has no vertex field {unknown[0]!r} to go on from; its own: {field_names}"
        )
    if twice := sorted(start.keys() & values.keys()):
        raise TypeError(f"{twice[0]} is given twice, by start and by itself; expected one of them")
    for name, array in start.items():
        if len(np.shape(array)) == 0 or len(array) != graph.n:
            raise ValueError(
                f"start has {name} of shape {np.shape(array)}; expected an entry for each of {graph.n} vertices"
            )
    return active, {**start, **values}


def _warm_active(result: Result, program: VertexProgram, graph: Graph) -> Frontier:
    """Return the vertices that are active when a run goes on from a result after edges were added.

    These are the vertices from which new edges carry values, and those that were still active when the earlier run
    ended.
    """
    name, origin = type(program).__name__, result.__dict__.get("_origin")
    if origin is None:
        raise ValueError(
            "start is a result without its program and graph: of phases, of a callback, or loaded from a file; "
            "give its fields alone, and the active vertices: start=result.state, active=..."
        )
    earlier_program, edition = origin
    if type(earlier_program) is not type(program):
        raise ValueError(
            f"start is a result of {type(earlier_program).__name__}; expected one of {name}, the same class"
        )
    for parameter, value in program.values.items():
        if not np.array_equal(earlier_program.values[parameter], value):
            raise ValueError(
                f"start is a result with {parameter} = {earlier_program.values[parameter]!r}, and this run has "
                f"{value!r}; expected the same value, or a run without start"
            )
    inserted_ends = graph.ends_since(edition)
    if inserted_ends is None:
        raise ValueError(
            "start is a result of a graph from which this one differs by more than added edges: what followed from "
            "removed edges or old values is not known. Expected graph.changed(insert=...) of that graph; otherwise run "
            "without start"
        )
    if not result.converged and "priority" in Plan(type(program).traced(graph.id_dtype)).functions:
        raise ValueError("start is a result of an unfinished run of a program with priority; let that run end first")
    src, dst = inserted_ends
    xp: Any = array_module(src)
    senders = {"in": src, "out": dst, "all": xp.concatenate([src, dst])}[program.direction]
    active = Frontier.of(graph.n, xp.unique(senders))
    return active if result.converged else active | result.active


@cache
def _why_no_warm_start(program_class: Any, id_type: np.dtype[Any]) -> str | None:
    """Return why a run of a program can't start from the values of an earlier run, or None if it can."""
    plan = Plan(program_class.traced(id_type))
    if program_class.everyone:
        return "everyone takes part in each iteration, from the first on"
    if isinstance(plan.absorption, str):
        return plan.absorption
    if hooks := sorted(plan.functions.keys() & BETWEEN):
        return f"{hooks[0]} says how it goes on from the first iteration on"
    if plan.edge_states:
        return f"new edges have no value of {given_name(plan.edge_states[0])}, an edge field of its own"
    if plan.degrees:
        return f"it reads {min(plan.degrees)}, which new edges change"
    return None
