"""Statements: what a generated function loads, calls and stores for one vertex or one edge, for any target language.

Each engine's generator renders a statement in a line or two of its own language. Local variables are named like the
symbols of the traced functions: `src_level` is the field `level` of the edge's source.
"""

from collections.abc import Iterable
from typing import NamedTuple

from gasla.program.plan import Plan


class Load(NamedTuple):
    """A load of a vertex's field into a local variable.

    `role` says for which argument of the program's functions the vertex stands, such as "src" for an edge's source.
    If the field has two copies, `copy` says which one is loaded: "old" or "new".
    """

    role: str
    field: str
    copy: str = "old"


class LoadEdge(NamedTuple):
    """A load of an edge's field into a local variable.

    With the role "back" the field is that of the reverse edge. `copy` is "now" for the current value, or "before" for
    the value before `scatter`.
    """

    field: str
    role: str = "edge"
    copy: str = "now"


class Copy(NamedTuple):
    """A copy of a field's value from one local variable to another.

    Each variable belongs to an argument of the program's functions, which is its role: the value of the role `of` is
    copied to `role`.
    """

    role: str
    field: str
    of: str


class Call(NamedTuple):
    """A call of a function that returns fields of a vertex or an edge.

    Each field goes to a local variable that is named after `role`, such as "after".
    """

    function: str
    role: str


class Store(NamedTuple):
    """A store of the value that a vertex's field has after `apply`, from a local variable to the field's array.

    If the field has two copies, the value goes to the new one.
    """

    field: str


class StoreEdge(NamedTuple):
    """A store of the value that `scatter` returned for an edge's field, from a local variable to the field's array."""

    field: str


class Reduce(NamedTuple):
    """A reduction of one vertex's value into an aggregate, which has one value for the whole graph."""

    aggregate: str


class Deposit(NamedTuple):
    """A reduction of one vertex's value into an aggregate that has a value for each vertex.

    `is_first` says that the value comes from the start values, before the first iteration.
    """

    aggregate: str
    is_first: bool = False


Statement = Load | LoadEdge | Copy | Call | Store | StoreEdge | Reduce | Deposit


def read(plan: Plan, role: str, functions: Iterable[str]) -> list[str]:
    """Return the names of the fields of an argument, such as "src", that any of the named functions reads.

    Functions that the program does not have are skipped.
    """
    return sorted({field for name in functions if name in plan.functions for field in plan.functions[name].reads(role)})


def loads(plan: Plan, role: str, *functions: str, copy: str = "old") -> list[Statement]:
    """Return statements that load the fields that the named functions read of a vertex.

    `role` is the argument that stands for the vertex, such as "src".
    """
    return [Load(role, field, copy) for field in read(plan, role, functions)]


def edge_loads(plan: Plan, *functions: str) -> list[LoadEdge]:
    """Return statements that load the fields that the named functions read of an edge and of its reverse edge."""
    return [LoadEdge(field, edge_role) for edge_role in ("edge", "back") for field in read(plan, edge_role, functions)]


def applied(plan: Plan) -> list[Statement]:
    """Return the statements that run `apply` for one vertex: load fields, call apply, store the new fields.

    Further statements pass the old and the new values to aggregates and to `activate`.
    """
    loaded, written = read(plan, "vertex", ["apply"]), written_by(plan, "apply")
    statements = [*loads(plan, "vertex", "apply"), *([Call("apply", "after")] if written else [])]
    for field in watched(plan):
        statements.append(Copy("before", field, "vertex") if field in loaded else Load("before", field))
    statements += [Copy("after", field, "before") for field in watched(plan) if field not in written]
    # If a field has two copies and `apply` does not write it, its old value is copied to the new copy. A function that
    # runs after `apply` changes it there.
    unwritten = sorted(plan.doubled - set(written))
    statements += [Load("after", field) for field in unwritten if field not in watched(plan)]
    statements += map(Store, [*written, *unwritten])
    return [*statements, *map(Reduce, plan.traced.aggregates), *map(Deposit, plan.traced.deposits)]


def revised(plan: Plan, function: str) -> list[Statement]:
    """Return the statements of a hook that changes new fields of a vertex after `apply` has run for all vertices."""
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
    """Return a load of an edge's field as `scatter` needs it, from before the scatter if the field has a copy of then.

    Without this copy, another thread might write the field of the reverse edge while it is read.
    """
    return load._replace(copy="before") if load.role == "back" and load.field in plan.edges_behind else load


def observed(plan: Plan) -> list[Statement]:
    """Return statements that load the fields that aggregates over the start values read.

    Before the first iteration, the vertices "before" and "after" an iteration have the same fields.
    """
    return [load for state_role in ("before", "after") for load in loads(plan, state_role, *plan.traced.measures)]


def watched(plan: Plan) -> list[str]:
    """Return the fields whose values before or after `apply` are read by aggregates or by `activate`."""
    observers = [*plan.traced.measures, "activate"]
    return sorted({field for state_role in ("before", "after") for field in read(plan, state_role, observers)})


def written_by(plan: Plan, function: str) -> list[str]:
    """Return the fields that a function returns. The list is empty if the program does not have the function."""
    return list(plan.functions[function].result) if function in plan.functions else []
