"""Statements: what a generated function loads, calls and stores for one vertex or one edge, for any target language.

Each engine's generator renders a statement in a line or two of its own language. Local variables are named like the
symbols of the traced functions: `src_level` is the field `level` of the edge's source.
"""

from collections.abc import Iterable
from typing import NamedTuple

from gasla.program.plan import Plan


class Load(NamedTuple):
    """A load, in generated code, of a vertex's field into a local variable.

    `role` says for which argument of the program's functions the vertex stands, such as "src" for an edge's source.
    If the field has two copies, `copy` says which one is loaded: "old" or "new".
    """

    role: str
    field: str
    copy: str = "old"


class LoadEdge(NamedTuple):
    """A load, in generated code, of an edge's field into a local variable.

    With the role "back" the field is that of the reverse edge. `copy` is "now" for the current value, or "before" for
    the value before `scatter`.
    """

    field: str
    role: str = "edge"
    copy: str = "now"


class Copy(NamedTuple):
    """A copy of a field's value from one local variable of generated code to another.

    A variable is named after an argument of the program's functions (its role) and the field. The variable of the role
    `of` is copied to the variable of `role`.
    """

    role: str
    field: str
    of: str


class Call(NamedTuple):
    """A call, in generated code, of one of the program's functions that returns fields of a vertex or an edge.

    Each field goes to a local variable that is named after `role`, such as "after".
    """

    function: str
    role: str


class Store(NamedTuple):
    """A store, in generated code, of a vertex's field after `apply`, from a local variable to the field's array.

    If the field has two copies, the value goes to the new one.
    """

    field: str


class StoreEdge(NamedTuple):
    """A store, in generated code, of the value that `scatter` returned for an edge's field, into the field's array."""

    field: str


class Reduce(NamedTuple):
    """The statement in generated code that reduces one vertex's value into an aggregate with one value for the whole
    graph.
    """

    aggregate: str


class Deposit(NamedTuple):
    """The statement in generated code that reduces one vertex's value into an aggregate with a value for each vertex.

    `is_first` says that the value comes from the start values, before the first iteration.
    """

    aggregate: str
    is_first: bool = False


Statement = Load | LoadEdge | Copy | Call | Store | StoreEdge | Reduce | Deposit


def read(plan: Plan, role: str, functions: Iterable[str]) -> list[str]:
    """Return the sorted names of the fields that some of the program's functions read of an argument, such as "src".

    `role` is the argument, and `functions` are the names of functions. Functions that the program does not have are
    skipped.
    """
    return sorted({field for name in functions if name in plan.functions for field in plan.functions[name].reads(role)})


def loads(plan: Plan, role: str, *functions: str, copy: str = "old") -> list[Statement]:
    """Return statements of generated code that load the fields that some of the program's functions read of a vertex.

    `functions` are their names, and `role` is the argument that stands for the vertex, such as "src".
    """
    return [Load(role, field, copy) for field in read(plan, role, functions)]


def edge_loads(plan: Plan, *functions: str) -> list[LoadEdge]:
    """Return statements of generated code that load the fields that the named functions read of an edge and its reverse
    edge.
    """
    return [LoadEdge(field, edge_role) for edge_role in ("edge", "back") for field in read(plan, edge_role, functions)]


def applied(plan: Plan) -> list[Statement]:
    """Return the statements of generated code that run `apply` for one vertex: load fields, call apply, store new
    fields.

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
    """Return the statements of generated code that run a hook for one vertex after `apply` has run for all vertices.

    The hook, whose name is `function`, changes new fields of the vertex once more.
    """
    return [
        *loads(plan, "vertex", function, copy="new"),
        Call(function, "after"),
        *map(Store, written_by(plan, function)),
    ]


def scattered(plan: Plan) -> list[Statement]:
    """Return the statements of generated code that run `scatter` for one edge.

    They come after the statements that load the fields of the edge's source.
    """
    return [
        *loads(plan, "dst", "scatter", copy="new"),
        *[_load_before_scatter(plan, load) for load in edge_loads(plan, "scatter")],
        Call("scatter", "result"),
        *map(StoreEdge, written_by(plan, "scatter")),
    ]


def _load_before_scatter(plan: Plan, load: LoadEdge) -> Statement:
    """Return the statement by which `scatter` loads a field of an edge or of its reverse edge.

    If `scatter` itself writes a field that it reads of the reverse edge, the field has a copy from before the scatter,
    which is then loaded. Otherwise another thread might write the field while it is read.
    """
    return load._replace(copy="before") if load.role == "back" and load.field in plan.edges_behind else load


def observed(plan: Plan) -> list[Statement]:
    """Return the statements of generated code that load the fields for aggregates over the start values.

    Before the first iteration, the vertices "before" and "after" an iteration have the same fields.
    """
    return [load for state_role in ("before", "after") for load in loads(plan, state_role, *plan.traced.measures)]


def watched(plan: Plan) -> list[str]:
    """Return the names of the fields that aggregates or `activate` read of a vertex before or after `apply`."""
    observers = [*plan.traced.measures, "activate"]
    return sorted({field for state_role in ("before", "after") for field in read(plan, state_role, observers)})


def written_by(plan: Plan, function: str) -> list[str]:
    """Return the names of the fields that one of the program's functions returns, to be written.

    The list is empty if the program does not have the function.
    """
    return list(plan.functions[function].result) if function in plan.functions else []
