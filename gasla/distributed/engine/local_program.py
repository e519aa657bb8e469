"""A vertex program as one rank runs it: the same functions, over a shard whose vertices have numbers of its own.

What a program may ask of the whole graph becomes something of the rank's own: ids and degrees are fields, the number of
vertices and of the iteration are parameters, and so is what aggregates came to, over all ranks. What decides how the
run as a whole goes on (`stop`, `idle`, `wake`, `bucket`) is left out: ranks decide it together.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

import semirings
from gasla.names import inner
from gasla.program.fields import ID, Aggregate, EdgeField, Parameter, VertexField
from gasla.program.program import VertexProgram
from gasla.program.records import Record

PREFIX = "of_all_"  # begins the names of what a program is given in place of what the whole graph says
OWN = f"{PREFIX}own"  # how many vertices are the rank's own: they come first
EDGE_ID, LEAVES = f"{PREFIX}edge_id", f"{PREFIX}leaves"
WHOLE = ("n", "iteration", "bucket")  # numbers that `self` shows
DECIDED = ("stop", "idle", "wake", "bucket", "scatter")  # by all ranks together
VERTEX, EDGE, ASIS = range(3)
RECORDS = {
    **dict.fromkeys(("gather", "key", "edge_mask"), (VERTEX, VERTEX, EDGE)),
    **dict.fromkeys(("mask", "post_apply", "priority"), (VERTEX,)),
    **{"choose": (VERTEX, ASIS, ASIS), "apply": (VERTEX, ASIS), "activate": (VERTEX, VERTEX)},
}


class _Renamed(Mapping[str, Any]):
    """The fields of a record, some under other names, some of one value."""

    def __init__(
        self, fields: Mapping[str, Any], names: Mapping[str, str], id_type: np.dtype, constants: Mapping[str, Any]
    ) -> None:
        self._fields, self._names, self._id_type, self._constants = fields, names, id_type, constants

    def __getitem__(self, name: str) -> Any:
        if name in self._constants:
            return self._constants[name]
        other = self._names.get(name, name)
        if other in self._fields:
            return self._fields[other]
        # Declared is only what a result depends on: of the rest a function may ask for the type.
        return semirings.cast(self._fields[name], self._id_type) if name == "id" else self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._fields if not name.startswith(PREFIX))

    def __len__(self) -> int:
        return sum(1 for _ in self)


OF_VERTEX = {name: PREFIX + name for name in ("id", "in_degree", "out_degree")}
OF_EDGE = {"id": EDGE_ID, "leaves": LEAVES}


def _seen(direction: str, id_type: np.dtype, record: Any, what: int) -> Any:
    """A record as the program's own functions see it."""
    if what == ASIS:
        return record
    if what == VERTEX:
        return Record("vertex", _Renamed(record._fields, OF_VERTEX, id_type, {}))
    # A shard's edges lead in, whichever way they did.
    constants: dict[str, Any] = {}
    if direction != "all":
        is_stored = np.bool_(direction == "in")
        constants["leaves"] = semirings.as_expr(is_stored) if isinstance(record.leaves, semirings.Expr) else is_stored
    return Record("edge", _Renamed(record._fields, OF_EDGE, id_type, constants))


def _self(base: type[VertexProgram], local: Any) -> VertexProgram:
    """The program's `self` as its own functions see it."""
    stand_in = object.__new__(base)
    stand_in.__dict__.update(local.__dict__)
    stand_in.__dict__.update({name: local.__dict__[PREFIX + name] for name in WHOLE if PREFIX + name in local.__dict__})
    return stand_in


def _calling(
    base: type[VertexProgram], id_type: np.dtype, function: Callable[..., Any], kinds: tuple[int, ...]
) -> Callable[..., Any]:
    """A function of the program for a rank."""
    seen = functools.partial(_seen, base.direction, id_type)

    def call(self: Any, *records: Any) -> Any:
        return function(_self(base, self), *map(seen, records, kinds))

    return call


def _own_only(call: Callable[..., Any] | None) -> Callable[..., Any]:
    """A mask that admits no mirror."""

    def mask(self: Any, vertex: Any) -> Any:
        is_own = vertex.id < getattr(self, OWN)
        return is_own if call is None else is_own & call(self, vertex)

    return mask


def _of_own(call: Callable[..., Any], aggregate: Aggregate, kind: np.dtype) -> Callable[..., Any]:
    """An aggregate to which mirrors add nothing: it is also asked for before the first iteration, of all vertices."""
    nothing = kind.type(aggregate.monoid.identity(kind))

    def measure(self: Any, before: Any, after: Any) -> Any:
        return semirings.where(after.id < getattr(self, OWN), semirings.cast(call(self, before, after), kind), nothing)

    return measure


def _nobody(self: Any, vertex: Any) -> Any:
    """The vertices that wake, as the rank says."""
    return vertex.id < 0


def _changing(call: Callable[..., Any] | None, applied: list[str]) -> Callable[..., Any]:
    """Which vertices are active next, by a test of its own: so engines see that other ranks have a say in it."""

    def activate(self: Any, before: Any, after: Any) -> Any:
        found = _differs(before, after, applied) if call is None else call(self, before, after)
        return found & (getattr(self, PREFIX + "iteration") >= 0)

    return activate


def _differs(before: Any, after: Any, applied: list[str]) -> Any:
    """Whether any field that apply returns is another than before; NaN is like itself."""
    found: Any = False
    for name in applied:
        a, b = getattr(before, name), getattr(after, name)
        differs = (a != b) & ((a == a) | (b == b))
        kind = getattr(differs, "type", None)  # of an expression; of arrays there are two axes
        is_vector = isinstance(kind, semirings.VectorType) or getattr(differs, "ndim", 0) == 2
        found = found | (semirings.any(differs) if is_vector else differs)
    return found


@functools.cache
def local_program(base: type[VertexProgram], id_type: np.dtype, has_priority: bool) -> type[VertexProgram]:
    """The program that a rank runs; `id_type` is that of the whole graph's ids."""
    traced = base.traced(id_type)
    used = {f.sources[s.name] for f in traced.functions.values() for s in f.symbols}
    body: dict[str, Any] = {"direction": "in", **dict.fromkeys(DECIDED)}
    declared: dict[str, Any] = {**base.vertex_fields, **base.parameters}
    for name, field in declared.items():
        if field.type is ID:
            body[name] = VertexField(id_type, field.init) if isinstance(field, VertexField) else Parameter(id_type, 0)
    kinds = {"id": id_type, "in_degree": np.dtype(np.int64), "out_degree": np.dtype(np.int64)}
    asked = {of for role, of in used if role not in ("self", "edge", "")}
    body |= {PREFIX + name: VertexField(kind, 0) for name, kind in kinds.items() if name in asked}
    body |= {PREFIX + name: Parameter(np.int64, 0) for name in (*WHOLE, "own")}
    if ("edge", "id") in used:
        body[EDGE_ID] = EdgeField(np.int64, 0)
    if ("edge", "leaves") in used:
        body[LEAVES] = EdgeField(np.bool_, 0)
    for name, kinds_of in RECORDS.items():
        if getattr(base, name, None) is not None:
            body[name] = _calling(base, id_type, getattr(base, name), kinds_of)
    if base.everyone:
        body["mask"] = _own_only(body.get("mask"))
    if {"bucket", "scatter"} & traced.functions.keys():
        applied = [] if "apply" not in traced.functions else list(traced.functions["apply"].result)
        body["activate"] = _changing(body.get("activate"), sorted(applied))
    if base.everyone and "scatter" in traced.functions:
        body["wake"] = _nobody  # with it the engine reports active vertices, which it need not where all take part
    if not has_priority:
        body["priority"] = None
    for name, aggregate in base.aggregates.items():
        kind = traced.aggregate_types[inner(name)]
        call = _calling(base, id_type, aggregate.function, (VERTEX, VERTEX))
        body[name] = Parameter(kind, 0)
        body[PREFIX + name] = Aggregate(aggregate.monoid, kind, _of_own(call, aggregate, kind))
    body["_most"] = {PREFIX + "id": int(np.iinfo(id_type).max) - 1}
    return type(base.__name__, (base,), body)
