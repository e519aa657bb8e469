"""What a run leaves behind, and how another goes on from there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from gasla.arrays import array_module
from gasla.engines import Running
from gasla.graph.exchange import picture
from gasla.graph.graph import Graph
from gasla.names import given as given_name
from gasla.program.frontier import Frontier
from gasla.program.plan import Plan
from gasla.program.program import VertexProgram

__all__ = ["ConvergenceWarning", "Result"]


class ConvergenceWarning(UserWarning):
    """A program stopped at its limit of iterations before its own test was met."""


@dataclass(eq=False)
class Result:
    """What a run left behind. Fields of the program are attributes: `result.distance`.

    Of a run that a GPU is still at (`wait=False`) the fields can be used at once, as CuPy's arrays are: whatever the
    stream does next finds them finished. To ask for one of the others waits for the run's end.

    Attributes
    ----------
    state : dict of str to ndarray
        Every vertex field, and every edge field that the program owns (in the order of the input's edges).
    iterations : int
        How many iterations ran.
    converged : bool
        Whether the program ended by itself: nothing active, or its `stop()` held.
    edges : int
        Edges looked at, over all iterations.
    active : Frontier
        The vertices that were active at the end; of a program in which everyone gathers from all, everyone.
    aggregates : dict
        The last value of every aggregate.
    trace : structured ndarray or None
        On request, an entry per iteration: active vertices before it, edges looked at, "push" or "pull", and the
        reason for that. Of a distributed graph also the exchanges that it took, and the bytes that ranks sent.
    """

    state: Mapping[str, Any]
    iterations: int
    converged: bool
    edges: int
    active: Frontier = field(repr=False)
    aggregates: Mapping[str, Any]
    trace: np.ndarray | None = field(default=None, repr=False)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        state = own.get("state", {})
        if name in state:
            return state[name]
        if name in own.get("aggregates", {}):
            return own["aggregates"][name]
        if "_running" in own and not name.startswith("_"):
            _wait_for(own)
            return getattr(self, name)
        raise AttributeError(f"the result has no {name!r}; its fields: {', '.join(state)}")

    def _repr_html_(self) -> str:
        """What a notebook shows, when the run has ended: how it went, and every field's values in short."""
        facts = {"iterations": f"{self.iterations:,}", "converged": str(self.converged)}
        facts |= {"edges looked at": f"{self.edges:,}", "active vertices": f"{len(self.active):,}"}
        facts |= {name: str(value) for name, value in self.aggregates.items() if np.size(value) == 1}
        return picture.of_result(facts, self.state)


def left_by(running: Running, trace: np.ndarray | None = None) -> Result:
    """What a run has left behind by now."""
    return Result(*running.found(), trace)


def under_way(running: Running) -> Result:
    """What a run will have left behind; it is closed when that is known, or the result is dropped."""
    result = Result.__new__(Result)
    result.__dict__.update(running.known(), state=running.state(), _running=running)
    return result


def _wait_for(own: dict[str, Any]) -> None:
    """Complete the attributes of a result that is under way."""
    running: Running = own.pop("_running")
    try:
        running.finish()
        found = left_by(running)
    finally:
        running.close()
    own.update(vars(found) | own)


# --- going on --------------------------------------------------------------------------------------------------------


def remember(result: Result, program: VertexProgram, graph: Graph) -> Result:
    """Note in the result of which program and graph it is."""
    result.__dict__["_origin"] = program, graph.edition
    return result


def go_on(
    start: Any, program: VertexProgram, graph: Graph, active: Any, values: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Active vertices and start values of a run that goes on from a result or from fields."""
    kind: Any = type(program)
    if why := _why_not(kind, graph.id_dtype):
        raise ValueError(f"a run of {type(program).__name__} can't go on from another's values: {why}")
    if isinstance(start, Result):
        if active is not None:
            raise ValueError(
                "start is a result, from which a run goes on where edges are new; leave out active, or give the "
                "fields alone: start=result.state"
            )
        active, start = _active_after(start, program, graph), start.state
    if not isinstance(start, Mapping):
        raise TypeError(f"start is {type(start).__name__}; expected a Result, or a dict of field to array")
    if unknown := sorted(start.keys() - program.vertex_fields):
        known = ", ".join(sorted(program.vertex_fields)) or "none"
        raise TypeError(f"{type(program).__name__} has no vertex field {unknown[0]!r} to go on from; its own: {known}")
    if twice := sorted(start.keys() & values.keys()):
        raise TypeError(f"{twice[0]} is given twice, by start and by itself; expected one of them")
    for name, array in start.items():
        if len(np.shape(array)) == 0 or len(array) != graph.n:
            raise ValueError(
                f"start has {name} of shape {np.shape(array)}; expected an entry for each of {graph.n} vertices"
            )
    return active, {**start, **values}


def _active_after(result: Result, program: VertexProgram, graph: Graph) -> Frontier:
    """The vertices whose values travel along new edges; those, too, that were active when the run before was ended."""
    name, origin = type(program).__name__, result.__dict__.get("_origin")
    if origin is None:
        raise ValueError(
            "start is a result that doesn't say what it is of: of phases, of a callback, or loaded from a file; give "
            "its fields alone, and who is active: start=result.state, active=..."
        )
    before, edition = origin
    if type(before) is not type(program):
        raise ValueError(f"start is a result of {type(before).__name__}; expected one of {name}, the same class")
    for parameter, value in program.values.items():
        if not np.array_equal(before.values[parameter], value):
            raise ValueError(
                f"start is a result with {parameter} = {before.values[parameter]!r}, and this run has {value!r}; "
                "expected the same, or a run from nothing"
            )
    ends = graph.ends_since(edition)
    if ends is None:
        raise ValueError(
            "start is a result of a graph to which edges were not just added to get this one: where edges are removed, "
            "or values are others, nobody knows what followed from them. Expected graph.changed(insert=...) of that "
            "graph; else run from nothing"
        )
    if not result.converged and "priority" in Plan(type(program).traced(graph.id_dtype)).functions:
        raise ValueError("start is a result of a run that had not ended, and doesn't say who waited; let it end first")
    src, dst = ends
    xp: Any = array_module(src)
    senders = {"in": src, "out": dst, "all": xp.concatenate([src, dst])}[program.direction]
    active = Frontier.of(graph.n, xp.unique(senders))
    return active if result.converged else active | result.active


@cache
def _why_not(kind: Any, id_type: np.dtype[Any]) -> str | None:
    """Why a run can't go on from values of another, as a sentence; None if it can."""
    plan = Plan(kind.traced(id_type))
    if kind.everyone:
        return "everyone takes part in each iteration, from the first on"
    if isinstance(plan.absorption, str):
        return plan.absorption
    if found := sorted({"stop", "idle", "wake"} & plan.functions.keys()):
        return f"{found[0]} says how it goes on from the first iteration on"
    if plan.edge_states:
        return f"new edges have no value of {given_name(plan.edge_states[0])}, an edge field of its own"
    if plan.degrees:
        return f"it reads {min(plan.degrees)}, which new edges change"
    return None
