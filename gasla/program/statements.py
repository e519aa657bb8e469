"""Statements: a description of what is loaded, called and stored for one vertex or one edge, for any target language.

Each engine's generator renders a statement in a line or two of its own language. Local variables are named like the
symbols of the traced functions: `src_level` is the field level of the edge's source.
"""

from collections.abc import Iterable
from typing import NamedTuple

from gasla.program.plan import Plan


class Load(NamedTuple):
    """A load of a vertex's field into the local variable of a role, such as "src" for an edge's source.

    If the field has two copies, `copy` says which one is loaded: the "old" or the "new" one.
    """

    role: str
    field: str
    copy: str = "old"


class LoadEdge(NamedTuple):
    """A load of an edge's field into a local variable.

    With the role "back" it is the field of the edge's partner.

    `copy` is "now" for the current value, or "before" for the value before `scatter`.
    """

    field: str
    role: str = "edge"
    copy: str = "now"


class Copy(NamedTuple):
    """A copy of a field from the local variable of the role `of` to that of another role."""

    role: str
    field: str
    of: str


class Call(NamedTuple):
    """A call of a function that returns fields. Each field goes to a local variable of the given role."""

    function: str
    role: str


class Store(NamedTuple):
    """A store of a vertex's field, from the local variable of the role "after".

    If the field has two copies, to the new one.
    """

    field: str


class StoreEdge(NamedTuple):
    """A store of an edge's field, from the local variable of the role "result"."""

    field: str


class Reduce(NamedTuple):
    """A reduction of the vertex's value into an aggregate over all vertices."""

    aggregate: str


class Deposit(NamedTuple):
    """A reduction of the vertex's value into an aggregate that has one value per vertex.

    `is_first` says that it runs over the start values, before the first iteration.
    """

    aggregate: str
    is_first: bool = False


Statement = Load | LoadEdge | Copy | Call | Store | StoreEdge | Reduce | Deposit


def read(plan: Plan, role: str, functions: Iterable[str]) -> list[str]:
    """Return the names of the fields that any of the functions reads of an argument, such as "src".

    Functions that the program does not have are skipped.
    """
    return sorted({field for name in functions if name in plan.functions for field in plan.functions[name].reads(role)})


def loads(plan: Plan, role: str, *functions: str, copy: str = "old") -> list[Statement]:
    """Return statements that load the fields that some functions read of a vertex, such as "src"."""
    return [Load(role, field, copy) for field in read(plan, role, functions)]


def edge_loads(plan: Plan, *functions: str) -> list[LoadEdge]:
    """Return statements that load the fields that some functions read of an edge and of its reverse edge."""
    return [LoadEdge(field, role) for role in ("edge", "back") for field in read(plan, role, functions)]


def applied(plan: Plan) -> list[Statement]:
    """Return the statements of `apply` for one vertex: load fields, call apply, store the new fields.

    The old and the new values are then passed to aggregates and to `activate`.
    """
    loaded, written = read(plan, "vertex", ["apply"]), written_by(plan, "apply")
    statements = [*loads(plan, "vertex", "apply"), *([Call("apply", "after")] if written else [])]
    for field in watched(plan):
        statements.append(Copy("before", field, "vertex") if field in loaded else Load("before", field))
    statements += [Copy("after", field, "before") for field in watched(plan) if field not in written]
    # `apply` does not write these fields: it copies their old values to the new copy, and a later function changes them
    unwritten = sorted(plan.doubled - set(written))
    statements += [Load("after", field) for field in unwritten if field not in watched(plan)]
    statements += map(Store, [*written, *unwritten])
    return [*statements, *map(Reduce, plan.traced.aggregates), *map(Deposit, plan.traced.deposits)]


def revised(plan: Plan, function: str) -> list[Statement]:
    """Return the statements of a function that runs after `apply`, and changes a vertex's new fields once more."""
    return [
        *loads(plan, "vertex", function, copy="new"),
        Call(function, "after"),
        *map(Store, written_by(plan, function)),
    ]


def scattered(plan: Plan) -> list[Statement]:
    """Return the statements of `scatter` for one edge, after the fields of the edge's source have been loaded."""
    return [
        *loads(plan, "dst", "scatter", copy="new"),
        *[_load_before_scatter(plan, load) for load in edge_loads(plan, "scatter")],
        Call("scatter", "result"),
        *map(StoreEdge, written_by(plan, "scatter")),
    ]


def _load_before_scatter(plan: Plan, load: LoadEdge) -> Statement:
    """Return a load for `scatter`, changed to load the value from before the scatter if the field has a copy of it.

    Otherwise the source of the edge's partner might write the field at the same time.
    """
    return load._replace(copy="before") if load.role == "back" and load.field in plan.edges_behind else load


def observed(plan: Plan) -> list[Statement]:
    """Return statements that load what aggregates of the start values read, with equal "before" and "after"."""
    return [load for role in ("before", "after") for load in loads(plan, role, *plan.traced.measures)]


def watched(plan: Plan) -> list[str]:
    """Return the fields that aggregates or `activate` read, with their value before `apply` or after it."""
    observers = [*plan.traced.measures, "activate"]
    return sorted({field for role in ("before", "after") for field in read(plan, role, observers)})


def written_by(plan: Plan, function: str) -> list[str]:
    """Return the fields that a function returns. The list is empty if the program does not have the function."""
    return list(plan.functions[function].result) if function in plan.functions else []
