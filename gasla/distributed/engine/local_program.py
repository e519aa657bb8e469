"""The vertex program that one rank runs: the functions of the user's program, on a shard with local vertex numbers.

Values that depend on the whole graph are replaced: global ids and degrees become vertex fields; the number of vertices,
the iteration and the values of aggregates become parameters. Functions that control the whole run (`stop`, `idle`,
`wake`, `bucket`) and `scatter` are removed, because all ranks call them together. Where the kernels of all ranks
exchange values themselves (`together`), they know the iteration and the aggregates, and call `stop`.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import semirings
from gasla.distributed.engine.any_vertex import local_vertex
from gasla.names import inner
from gasla.program.fields import ID, Aggregate, EdgeField, Parameter, VertexField
from gasla.program.program import VertexProgram
from gasla.program.records import Record

PREFIX = "of_all_"  # prefix of fields and parameters that hold values of the whole graph
OWN = "of_rank_own"  # parameter: number of own vertices, which have the local numbers 0 to own - 1
FIRST = "of_rank_first"  # parameter: the global id of the first own vertex
EDGE_ID, LEAVES = f"{PREFIX}edge_id", f"{PREFIX}leaves"
GLOBAL_NUMBERS = ("n", "iteration", "bucket")  # attributes of `self` with global values
DECIDED_GLOBALLY = ("stop", "idle", "wake", "bucket", "scatter")  # functions that all ranks call together
VERTEX, EDGE, ASIS = range(3)
RECORDS = {  # kinds of the arguments of each function
    **dict.fromkeys(("gather", "key", "edge_mask"), (VERTEX, VERTEX, EDGE)),
    **dict.fromkeys(("mask", "post_apply", "priority"), (VERTEX,)),
    **{"choose": (VERTEX, ASIS, ASIS), "apply": (VERTEX, ASIS), "activate": (VERTEX, VERTEX)},
}


class _Renamed(Mapping[str, Any]):
    """The fields of a record, with some renamed and some replaced by constants."""

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
        # Only fields that results depend on are declared; functions may still ask for the type of the others.
        return semirings.cast(self._fields[name], self._id_type) if name == "id" else self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._fields if not name.startswith(PREFIX))

    def __len__(self) -> int:
        return sum(1 for _ in self)


OF_VERTEX = {name: PREFIX + name for name in ("id", "in_degree", "out_degree")}
OF_EDGE = {"id": EDGE_ID, "leaves": LEAVES}


def _renamed_record(direction: str, id_type: np.dtype, record: Any, what: int) -> Any:
    """A record with the global values that the user's functions expect."""
    if what == ASIS:
        return record
    if what == VERTEX:
        return Record("vertex", _Renamed(record._fields, OF_VERTEX, id_type, {}))
    # All edges of a shard are in-edges, whatever the direction of the program.
    constants: dict[str, Any] = {}
    if direction != "all":
        is_stored = np.bool_(direction == "in")
        constants["leaves"] = semirings.as_expr(is_stored) if isinstance(record.leaves, semirings.Expr) else is_stored
    return Record("edge", _Renamed(record._fields, OF_EDGE, id_type, constants))


def _self(base: type[VertexProgram], id_type: np.dtype, local: Any) -> VertexProgram:
    """`self` with the global values that the user's functions expect."""
    stand_in = object.__new__(base)
    stand_in.__dict__.update(local.__dict__)
    stand_in.__dict__["at"] = functools.partial(_at, id_type, local)
    stand_in.__dict__.update(
        {name: local.__dict__[PREFIX + name] for name in GLOBAL_NUMBERS if PREFIX + name in local.__dict__}
    )
    return stand_in


def _at(id_type: np.dtype, local: Any, index: Any) -> Record:
    """`self.at` for a global id; the shard mirrors all vertices, where a program reads any."""
    place = _local(local, index)
    other = semirings.where(place >= 0, semirings.cast(index, np.int64), np.int64(-1))
    return Record("vertex", _Renamed(local.at(place)._fields, {}, id_type, {"id": semirings.cast(other, id_type)}))


def _local(local: Any, index: Any) -> Any:
    """The local number of a global id; -1 for no vertex."""
    return local_vertex(index, getattr(local, FIRST), getattr(local, OWN), getattr(local, f"{PREFIX}n"))


def _wrapped(
    base: type[VertexProgram], id_type: np.dtype, function: Callable[..., Any], kinds: tuple[int, ...]
) -> Callable[..., Any]:
    """A function of the program, called with global values in its records."""
    seen = functools.partial(_renamed_record, base.direction, id_type)

    def call(self: Any, *records: Any) -> Any:
        return function(_self(base, id_type, self), *map(seen, records, kinds))

    return call


def _own_mask(call: Callable[..., Any] | None) -> Callable[..., Any]:
    """A mask that admits own vertices only, no mirrors."""

    def mask(self: Any, vertex: Any) -> Any:
        is_own = vertex.id < getattr(self, OWN)
        return is_own if call is None else is_own & call(self, vertex)

    return mask


def _own_aggregate(call: Callable[..., Any], aggregate: Aggregate, kind: np.dtype) -> Callable[..., Any]:
    """An aggregate over own vertices only: before the first iteration it is evaluated for mirrors, too."""
    nothing = kind.type(aggregate.monoid.identity(kind))

    def measure(self: Any, before: Any, after: Any) -> Any:
        return semirings.where(after.id < getattr(self, OWN), semirings.cast(call(self, before, after), kind), nothing)

    return measure


def _own_place(call: Callable[..., Any]) -> Callable[..., Any]:
    """The local number of the vertex at which an own vertex's value is reduced; -1 for mirrors."""

    def place(self: Any, vertex: Any) -> Any:
        return semirings.where(vertex.id < getattr(self, OWN), _local(self, call(self, vertex)), np.int64(-1))

    return place


def _wakes_none(self: Any, vertex: Any) -> Any:
    """A `wake` that wakes no vertex."""
    return vertex.id < 0


def _activate(call: Callable[..., Any] | None, applied: list[str]) -> Callable[..., Any]:
    """An explicit `activate` that depends on the iteration, so that the engine does not assume the default."""

    def activate(self: Any, before: Any, after: Any) -> Any:
        found = _differs(before, after, applied) if call is None else call(self, before, after)
        return found & (getattr(self, PREFIX + "iteration") >= 0)

    return activate


def _differs(before: Any, after: Any, applied: list[str]) -> Any:
    """Whether any field returned by `apply` has changed; NaN equals NaN."""
    found: Any = False
    for name in applied:
        a, b = getattr(before, name), getattr(after, name)
        differs = (a != b) & ((a == a) | (b == b))
        kind = getattr(differs, "type", None)  # vectors: by type for expressions, by dimension for arrays
        is_vector = isinstance(kind, semirings.VectorType) or getattr(differs, "ndim", 0) == 2
        found = found | (semirings.any(differs) if is_vector else differs)
    return found


@functools.cache
def local_program(
    base: type[VertexProgram], id_type: np.dtype, has_priority: bool, together: bool = False
) -> type[VertexProgram]:
    """The program that a rank runs; `id_type` is the type of global ids."""
    traced = base.traced(id_type)
    used = {f.sources[s.name] for f in traced.functions.values() for s in f.symbols}
    body: dict[str, Any] = {"direction": "in", **dict.fromkeys(DECIDED_GLOBALLY)}
    declared: dict[str, Any] = {**base.vertex_fields, **base.parameters}
    for name, field in declared.items():
        if field.type is ID:
            body[name] = replace(field, type=id_type) if isinstance(field, VertexField) else Parameter(id_type, 0)
    kinds = {"id": id_type, "in_degree": np.dtype(np.int64), "out_degree": np.dtype(np.int64)}
    asked = {of for role, of in used if role not in ("self", "edge", "")}
    body |= {PREFIX + name: VertexField(kind, 0) for name, kind in kinds.items() if name in asked}
    body |= {PREFIX + name: Parameter(np.int64, 0) for name in (("n",) if together else GLOBAL_NUMBERS)}
    body |= {name: Parameter(np.int64, 0) for name in (OWN, FIRST)}
    if ("edge", "id") in used:
        body[EDGE_ID] = EdgeField(np.int64, 0)
    if ("edge", "leaves") in used:
        body[LEAVES] = EdgeField(np.bool_, 0)
    for name, kinds_of in {**RECORDS, **({"stop": ()} if together else {})}.items():
        if getattr(base, name, None) is not None:
            body[name] = _wrapped(base, id_type, getattr(base, name), kinds_of)
    if base.everyone:
        body["mask"] = _own_mask(body.get("mask"))
    # `self.iteration` becomes a parameter: the engine would not see that it changes, and might take values as absorbed.
    varies = not base.everyone and any(f.reads("self") & traced.changing for f in traced.functions.values())
    if not together and ({"bucket", "scatter"} & traced.functions.keys() or varies):
        applied = [] if "apply" not in traced.functions else list(traced.functions["apply"].result)
        body["activate"] = _activate(body.get("activate"), sorted(applied))
    if base.everyone and "scatter" in traced.functions:
        body["wake"] = _wakes_none  # makes the engine report active vertices, although all vertices take part
    if not has_priority:
        body["priority"] = None
    for name, aggregate in base.aggregates.items():
        call = _wrapped(base, id_type, aggregate.function, (VERTEX, VERTEX))
        if aggregate.at is not None:  # its totals are a field, which ranks write between iterations
            kind = traced.deposit_types[inner(name)]
            nothing = aggregate.monoid.identity(kind)
            place = _own_place(_wrapped(base, id_type, aggregate.at, (VERTEX,)))
            body[name] = VertexField(kind, nothing, missing=nothing)
            body[PREFIX + name] = Aggregate(aggregate.monoid, kind, call, place)
            continue
        kind = traced.aggregate_types[inner(name)]
        own = Aggregate(aggregate.monoid, kind, _own_aggregate(call, aggregate, kind))
        body |= {name: own} if together else {name: Parameter(kind, 0), PREFIX + name: own}
    body["_most"] = {PREFIX + "id": int(np.iinfo(id_type).max) - 1}
    return type(base.__name__, (base,), body)
