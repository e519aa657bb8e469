"""What is loaded, called and stored for one vertex or one edge: the operations of each stage, in no language yet.

An engine's generator renders them, each by a line or two of its own language. Locals are named as the symbols of the
functions are: `src_level` is the field level of the vertex at the tail.
"""

from collections.abc import Iterable
from typing import NamedTuple

from gasla.program.plan import Plan


class Load(NamedTuple):
    """A field of a vertex, in the role that it has for a function; of two copies the "old" or the "new" one."""

    role: str
    field: str
    copy: str = "old"


class LoadEdge(NamedTuple):
    """A field of the edge at hand, or in the role "back" of its partner; as it is, or as it was before a scatter."""

    field: str
    role: str = "edge"
    copy: str = "now"


class Copy(NamedTuple):
    """What a local of another role holds of the same field."""

    role: str
    field: str
    of: str


class Call(NamedTuple):
    """A function that returns fields, each into a local of a role."""

    function: str
    role: str


class Store(NamedTuple):
    """A field of the vertex, from the role "after", into the new one of two copies."""

    field: str


class StoreEdge(NamedTuple):
    """A field of the edge, from the role "result"."""

    field: str


class Reduce(NamedTuple):
    """An aggregate takes in what the vertex gives."""

    aggregate: str


class Deposit(NamedTuple):
    """An aggregate takes in, at a vertex that the vertex names, what it gives; or as before the first iteration."""

    aggregate: str
    is_first: bool = False


Statement = Load | LoadEdge | Copy | Call | Store | StoreEdge | Reduce | Deposit


def read(plan: Plan, role: str, functions: Iterable[str]) -> list[str]:
    """The fields that some functions read of a role, those that there are."""
    return sorted({field for name in functions if name in plan.functions for field in plan.functions[name].reads(role)})


def loads(plan: Plan, role: str, *functions: str, copy: str = "old") -> list[Statement]:
    """What some functions read of a vertex."""
    return [Load(role, field, copy) for field in read(plan, role, functions)]


def edge_loads(plan: Plan, *functions: str) -> list[LoadEdge]:
    """What some functions read of an edge."""
    return [LoadEdge(field, role) for role in ("edge", "back") for field in read(plan, role, functions)]


def applied(plan: Plan) -> list[Statement]:
    """Apply to a vertex what was gathered, store what is new, and have it observed: by aggregates, and by activate."""
    had, written = read(plan, "vertex", ["apply"]), written_by(plan, "apply")
    statements = [*loads(plan, "vertex", "apply"), *([Call("apply", "after")] if written else [])]
    for field in watched(plan):
        statements.append(Copy("before", field, "vertex") if field in had else Load("before", field))
    statements += [Copy("after", field, "before") for field in watched(plan) if field not in written]
    unwritten = sorted(plan.doubled - set(written))  # which post_apply changes: until then they are as before
    statements += [Load("after", field) for field in unwritten if field not in watched(plan)]
    statements += map(Store, [*written, *unwritten])
    return [*statements, *map(Reduce, plan.traced.aggregates), *map(Deposit, plan.traced.deposits)]


def applied_once_more(plan: Plan) -> list[Statement]:
    """Apply `post_apply` to a vertex, which sees what all have applied."""
    return [
        *loads(plan, "vertex", "post_apply", copy="new"),
        Call("post_apply", "after"),
        *map(Store, written_by(plan, "post_apply")),
    ]


def scattered(plan: Plan) -> list[Statement]:
    """Compute and store what an edge takes from its ends; the vertex at its tail is loaded already."""
    return [
        *loads(plan, "dst", "scatter", copy="new"),
        *[_before(plan, load) for load in edge_loads(plan, "scatter")],
        Call("scatter", "result"),
        *map(StoreEdge, written_by(plan, "scatter")),
    ]


def _before(plan: Plan, load: LoadEdge) -> Statement:
    """What a scatter reads of a partner is what was there before it, which the partner's own tail may be changing."""
    return load._replace(copy="before") if load.role == "back" and load.field in plan.edges_behind else load


def observed(plan: Plan) -> list[Statement]:
    """Load what aggregates read before the first iteration, where before and after are the same."""
    return [load for role in ("before", "after") for load in loads(plan, role, *plan.traced.measures)]


def watched(plan: Plan) -> list[str]:
    """The fields that are looked at before and after apply."""
    observers = [*plan.traced.measures, "activate"]
    return sorted({field for role in ("before", "after") for field in read(plan, role, observers)})


def written_by(plan: Plan, function: str) -> list[str]:
    """The fields that a function returns; none if there is no such function."""
    return list(plan.functions[function].result) if function in plan.functions else []
