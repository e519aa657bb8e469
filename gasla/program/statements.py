"""Statements: the loads, calls and stores of each stage for one vertex or one edge, independent of the language.

Each engine's generator renders a statement in a line or two of its own language. Local variables are named like the
symbols of the traced functions: `src_level` is the field level of the edge's source.
"""

from collections.abc import Iterable
from typing import NamedTuple

from gasla.program.plan import Plan


class Load(NamedTuple):
    """Load a field of a vertex, in its role for a function. Of two copies, it is the "old" or the "new" one."""

    role: str
    field: str
    copy: str = "old"


class LoadEdge(NamedTuple):
    """Load a field of the edge, or in the role "back" of its partner.

    Its value is that of "now", or "before" the scatter.
    """

    field: str
    role: str = "edge"
    copy: str = "now"


class Copy(NamedTuple):
    """Copy a field from the local variable of the role `of`."""

    role: str
    field: str
    of: str


class Call(NamedTuple):
    """Call a function that returns fields, each into a local variable of a role."""

    function: str
    role: str


class Store(NamedTuple):
    """Store a field of the vertex from the role "after". Of two copies, the new one is written."""

    field: str


class StoreEdge(NamedTuple):
    """Store a field of the edge from the role "result"."""

    field: str


class Reduce(NamedTuple):
    """Reduce the vertex's value into an aggregate."""

    aggregate: str


class Deposit(NamedTuple):
    """Reduce the vertex's value into an aggregate at another vertex. `is_first` is for before the first iteration."""

    aggregate: str
    is_first: bool = False


Statement = Load | LoadEdge | Copy | Call | Store | StoreEdge | Reduce | Deposit


def read(plan: Plan, role: str, functions: Iterable[str]) -> list[str]:
    """Return the fields of a role that the given functions read, as far as the program has these functions."""
    return sorted({field for name in functions if name in plan.functions for field in plan.functions[name].reads(role)})


def loads(plan: Plan, role: str, *functions: str, copy: str = "old") -> list[Statement]:
    """Return loads of the fields that some functions read of a vertex."""
    return [Load(role, field, copy) for field in read(plan, role, functions)]


def edge_loads(plan: Plan, *functions: str) -> list[LoadEdge]:
    """Return loads of the fields that some functions read of an edge and of its partner."""
    return [LoadEdge(field, role) for role in ("edge", "back") for field in read(plan, role, functions)]


def applied(plan: Plan) -> list[Statement]:
    """Apply gathered values to a vertex, store its new fields, and pass old and new to aggregates and activate."""
    had, written = read(plan, "vertex", ["apply"]), written_by(plan, "apply")
    statements = [*loads(plan, "vertex", "apply"), *([Call("apply", "after")] if written else [])]
    for field in watched(plan):
        statements.append(Copy("before", field, "vertex") if field in had else Load("before", field))
    statements += [Copy("after", field, "before") for field in watched(plan) if field not in written]
    unwritten = sorted(plan.doubled - set(written))  # `apply` copies their old values; a later function writes them
    statements += [Load("after", field) for field in unwritten if field not in watched(plan)]
    statements += map(Store, [*written, *unwritten])
    return [*statements, *map(Reduce, plan.traced.aggregates), *map(Deposit, plan.traced.deposits)]


def revised(plan: Plan, function: str) -> list[Statement]:
    """Return statements that run a function after `apply`, which reads and writes the new values of a vertex."""
    return [
        *loads(plan, "vertex", function, copy="new"),
        Call(function, "after"),
        *map(Store, written_by(plan, function)),
    ]


def scattered(plan: Plan) -> list[Statement]:
    """Run `scatter` on an edge, whose source is loaded already."""
    return [
        *loads(plan, "dst", "scatter", copy="new"),
        *[_before(plan, load) for load in edge_loads(plan, "scatter")],
        Call("scatter", "result"),
        *map(StoreEdge, written_by(plan, "scatter")),
    ]


def _before(plan: Plan, load: LoadEdge) -> Statement:
    """Have a scatter read old values of a partner, which the partner's source may be writing at the same time."""
    return load._replace(copy="before") if load.role == "back" and load.field in plan.edges_behind else load


def observed(plan: Plan) -> list[Statement]:
    """Return loads for aggregates before the first iteration, with equal before and after."""
    return [load for role in ("before", "after") for load in loads(plan, role, *plan.traced.measures)]


def watched(plan: Plan) -> list[str]:
    """Return the fields of which aggregates or `activate` read the value from before `apply`, or the one after."""
    observers = [*plan.traced.measures, "activate"]
    return sorted({field for role in ("before", "after") for field in read(plan, role, observers)})


def written_by(plan: Plan, function: str) -> list[str]:
    """Return the fields that a function returns. If the program does not have it, there are none."""
    return list(plan.functions[function].result) if function in plan.functions else []
