"""The numbered steps in the documentation of `VertexProgram`, one after another on whole arrays.

Each step computes all values before it writes any, so functions read the state before it. In place, receivers are
processed in parts, and each part reads what earlier parts have applied.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gasla.arrays import as_values
from gasla.graph.graph import Graph
from gasla.names import given as given_name
from gasla.names import inner
from gasla.program.plan import Plan
from gasla.program.program import VertexProgram
from gasla.program.records import Lazy, Record
from gasla.program.reductions.keys import Keyed
from gasla.reference.choice import greatest, grouped
from gasla.reference.edge_order import Edges
from gasla.reference.segments import reduce_segments
from semirings import VectorType
from semirings.types import computed

PARTS = 16  # parts of the receivers in an iteration in place


class Steps:
    """The state of a run: fields by inner names, active vertices and aggregates; and the steps of an iteration.

    `levels` is the iteration in which each vertex receives, for runs along a schedule.
    """

    def __init__(
        self,
        program: VertexProgram,
        plan: Plan,
        graph: Graph,
        edges: Edges,
        parameters: Mapping[str, Any],
        vertex: dict[str, np.ndarray],
        edge: dict[str, np.ndarray],
        active: np.ndarray,
        levels: np.ndarray | None,
    ) -> None:
        self.program, self.plan, self.graph, self.edges = program, plan, graph, edges
        self.parameters, self.vertex, self.edge = dict(parameters), vertex, edge
        self.seen_by_others = vertex  # the fields that self.at reads: within an iteration, copies from before it
        self.active, self.levels, self.iteration, self.stopped = active, levels, 0, False
        self.bucket, self.waiting = -1, np.zeros(graph.n, bool)
        self.aggregates: dict[str, Any] = {}
        self.deposits: dict[str, np.ndarray] = {}  # aggregates at vertices
        everyone = self.vertices(np.arange(graph.n))
        self.aggregates = self.reduce_aggregates(everyone, everyone, graph.n)
        self.deposits = self.reduce_at_vertices(everyone, everyone, graph.n)
        if self.has("bucket"):
            self.waiting[self.active] = True
            self.active = active[:0]
        self.resume()

    # --- the program's functions on arrays ---------------------------------------------------------------------------

    def vertices(self, ids: np.ndarray, now: bool = False) -> Record:
        """The record of some vertices, whose fields are copied when first read, or `now`."""
        graph = self.graph
        makers = _makers(self.vertex, ids)
        if now:
            held = {name: make() for name, make in makers.items()}
            makers = {name: lambda value=value: value for name, value in held.items()}  # type: ignore[misc]
        makers |= {
            "id": lambda: as_values(ids.astype(graph.id_dtype)),
            "in_degree": lambda: as_values(graph.in_degrees.astype(np.int64)[ids]),
            "out_degree": lambda: as_values(graph.out_degrees.astype(np.int64)[ids]),
        }
        return Record("vertex", Lazy(makers))

    def ends(self, places: np.ndarray) -> tuple[Record, Record, Record]:
        """The records of the sources, the receivers and the edges at some positions."""
        ids = self.edges.ids[places]
        leaves = {"in": True, "out": False}.get(self.program.direction, as_values(self.edges.leaves[places]))
        more = {"leaves": lambda: leaves, "back": lambda: self.link("edge's partner", self.graph.reverse_edge_ids[ids])}
        link = self.link("edge", ids, more)
        return self.vertices(self.edges.src[places]), self.vertices(self.edges.dst[places]), link

    def link(self, what: str, ids: np.ndarray, more: Mapping[str, Callable[[], Any]] | None = None) -> Record:
        """The record of some edges, by their ids."""
        makers = _makers(self.edge, ids) | {"id": lambda: as_values(ids.astype(np.int64, copy=False))}
        return Record(what, Lazy({**makers, **(more or {})}))

    def other(self, index: Any) -> Record:
        """The record of `self.at(index)`, with `missing` for indices out of range."""
        index = np.asarray(index)
        is_there = (index >= 0) & (index < self.graph.n)
        ids = np.where(is_there, index, 0).astype(np.int64)
        declared, deposits = self.program.vertex_fields, self.plan.traced.deposits
        missing = {inner(name): field.missing for name, field in declared.items()}
        kinds = self.plan.traced.deposit_types
        missing |= {name: aggregate.monoid.identity(kinds[name]) for name, aggregate in deposits.items()}

        def reading(array: np.ndarray, outside: Any) -> Callable[[], Any]:
            def read() -> Any:
                dtype: Any = computed(array.dtype)
                shape = *index.shape, *array.shape[1:]
                found = np.broadcast_to(np.asarray(outside, array.dtype), shape)
                if len(array):
                    found = np.where(is_there.reshape(index.shape + (1,) * (array.ndim - 1)), array[ids], found)
                return as_values(found.astype(dtype, copy=False).T)  # no effect but on vectors

            return read

        arrays = {**self.seen_by_others, **self.deposits}
        makers = {given_name(name): reading(array, missing[name]) for name, array in arrays.items()}
        makers["id"] = lambda: as_values(np.where(is_there, index, -1).astype(self.graph.id_dtype))
        return Record("vertex", Lazy(makers))

    def call(self, function: Callable[..., Any] | str, *records: Record) -> Any:
        """Call a function of the program, with a `self` of the current parameters, counters and aggregates."""
        kind = type(self.program)
        stand_in = object.__new__(kind)
        stand_in.__dict__.update(self.parameters, iteration=np.int64(self.iteration), n=np.int64(self.graph.n))
        stand_in.__dict__["at"] = self.other
        stand_in.__dict__["bucket"] = np.int64(self.bucket)
        stand_in.__dict__.update({given_name(name): value for name, value in self.aggregates.items()})
        with np.errstate(all="ignore"):
            return (getattr(kind, function) if isinstance(function, str) else function)(stand_in, *records)

    def admitted(self, function: str, count: int, *records: Record) -> np.ndarray:
        """The results of a test for each vertex or edge; True if the program does not have it."""
        if not self.has(function):
            return np.ones(count, bool)
        return np.broadcast_to(np.asarray(self.call(function, *records), bool), count)

    def has(self, function: str) -> bool:
        return function in self.plan.functions and getattr(self.program, function, None) is not None

    # --- buckets and wake --------------------------------------------------------------------------------------------

    def buckets(self, ids: np.ndarray) -> np.ndarray:
        """The buckets of some vertices."""
        return np.broadcast_to(np.asarray(self.call("bucket", self.vertices(ids)), np.int64), len(ids))

    def open(self, ids: np.ndarray) -> np.ndarray:
        """Those of some vertices whose bucket is open; the others wait, unless their bucket is below 0."""
        if not self.has("bucket"):
            return ids
        buckets = self.buckets(ids)
        self.waiting[ids] = buckets > self.bucket
        return ids[(buckets >= 0) & (buckets <= self.bucket)]

    def resume(self) -> None:
        """If no vertex is active, open the next bucket, or call `idle` and `wake`."""
        if len(self.active) or not self.plan.resumes or self.levels is not None:
            return
        if self.has("bucket") and self.open_next():
            return
        if self.has("wake"):
            if self.has("idle"):
                types = self.plan.traced.parameter_types
                changed = {n: _spread(value, types[inner(n)], 1)[0] for n, value in self.call("idle").items()}
                self.parameters.update(changed)
            everyone = np.arange(self.graph.n)
            self.active = everyone[self.admitted("wake", len(everyone), self.vertices(everyone))]
            if self.has("bucket"):
                self.waiting[self.active] = True
                self.active = everyone[:0]
                self.open_next()

    def open_next(self) -> bool:
        """Open the lowest bucket with a waiting vertex; False if there is none."""
        ids = np.flatnonzero(self.waiting)
        buckets = self.buckets(ids)
        self.waiting[ids[buckets < 0]] = False
        ids, buckets = ids[buckets >= 0], buckets[buckets >= 0]
        if not len(ids):
            return False
        self.bucket = int(buckets.min())
        self.active = ids[buckets == self.bucket]
        self.waiting[self.active] = False
        return True

    # --- an iteration ------------------------------------------------------------------------------------------------

    def step(self) -> tuple[int, int]:
        """Run one iteration; returns the number of active vertices before it, and of edges visited."""
        active = len(self.active)
        copies = {name: self.vertex[name].copy() for name in self.plan.traced.looked_up - self.plan.in_place}
        self.seen_by_others = {**self.vertex, **copies}
        from_active, receivers = self.receivers()
        if self.levels is not None:
            active = len(receivers)
        looked = self.apply(receivers, from_active)
        self.seen_by_others = self.vertex
        self.stopped = self.has("stop") and bool(self.call("stop"))
        self.iteration += 1
        if not self.stopped:
            self.resume()
        return active, looked if self.plan.gathers else 0

    def receivers(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the out-edges of active vertices, if they are needed, and the receivers."""
        receivers, from_active = np.arange(self.graph.n), np.zeros(0, np.int64)
        if self.levels is not None:
            return from_active, np.flatnonzero(self.levels == self.iteration)
        if not self.plan.everyone or self.plan.active_only:
            from_active = self.usable(self.edges.out_of(self.active))
        if not self.plan.everyone:
            receivers = np.unique(self.edges.dst[from_active])
        return from_active, receivers[self.admitted("mask", len(receivers), self.vertices(receivers))]

    def places(self, receivers: np.ndarray, from_active: np.ndarray) -> np.ndarray:
        """Positions of the edges that some receivers gather over."""
        if not self.plan.active_only:
            return self.usable(self.edges.into(receivers))
        takes = np.zeros(self.graph.n, bool)
        takes[receivers] = True
        return from_active[takes[self.edges.dst[from_active]]]

    def usable(self, places: np.ndarray) -> np.ndarray:
        """The edges that `edge_mask` admits."""
        return places[self.admitted("edge_mask", len(places), *self.ends(places))] if self.has("edge_mask") else places

    def gather(self, receivers: np.ndarray, places: np.ndarray) -> Any:
        """The reduced values of each receiver, in the order of the input."""
        if not self.plan.gathers:
            return None
        traced: Any = self.plan.traced
        kind, monoid, held = traced.gathered_type, traced.monoid, traced.held
        if self.plan.keyed is not None:
            return self.gather_by_key(self.plan.keyed, receivers, places)
        given = self.call("gather", *self.ends(places))
        values = given if held is None else held.lift(given)
        kinds = kind.items if self.plan.is_tuple else (kind,)
        items = zip(values if self.plan.is_tuple else (values,), kinds, strict=True)
        parts = tuple(_spread(value, k, len(places)) for value, k in items)
        place = np.empty(self.graph.n, np.int64)
        place[receivers] = np.arange(len(receivers))
        with np.errstate(all="ignore"):
            found = reduce_segments(monoid, parts, place[self.edges.dst[places]], len(receivers), kind)
        found = as_values(found)
        if held is not None:
            found = held.lower(found)
        elif not self.plan.is_tuple:
            return found[0]
        return given._make(found) if hasattr(given, "_make") else found

    def gather_by_key(self, keyed: Keyed, receivers: np.ndarray, places: np.ndarray) -> Record:
        """The key that each receiver chooses, with its total and score, as the record `gathered`."""
        keys = _spread(self.call("key", *self.ends(places)), keyed.key, len(places))
        values = _spread(self.call("gather", *self.ends(places)), keyed.total, len(places))
        place = np.empty(self.graph.n, np.int64)
        place[receivers] = np.arange(len(receivers))
        pairs, rows = grouped(place[self.edges.dst[places]], keys)
        with np.errstate(all="ignore"):
            (totals,) = reduce_segments(self.program.reduce, (values[pairs.order],), rows, len(pairs.keys), keyed.total)
        owners = self.vertices(receivers[pairs.owners])
        scores = self.call("choose", owners, as_values(pairs.keys), as_values(totals))
        scores = scores if isinstance(scores, tuple) else (scores,)
        found = pairs.keys, totals, *(_spread(x, k, len(pairs.keys)) for x, k in zip(scores, keyed.scores, strict=True))
        chosen = greatest(pairs, found[2:])
        parts = []
        for nothing, part in zip(keyed.nothing, found, strict=True):
            parts.append(np.full(len(receivers), nothing, part.dtype))
            parts[-1][pairs.owners[chosen]] = part[chosen]
        return Record("gathered", keyed.fields(as_values(tuple(parts))))

    def apply(self, receivers: np.ndarray, from_active: np.ndarray) -> int:
        """Run steps 2 to 6 for the receivers; returns the number of edges visited."""
        before, looked, changes = self.vertices(receivers, now=True), 0, {}
        for part in np.array_split(receivers, PARTS) if self.plan.in_place else [receivers]:
            places = self.places(part, from_active)
            gathered, looked = self.gather(part, places), looked + len(places)
            if self.has("apply"):
                changes = self.call("apply", self.vertices(part, now=True), gathered)
                self.write(part, changes)
        after = self.vertices(receivers)
        fresh = self.reduce_aggregates(before, after, len(receivers))
        at_vertices = self.reduce_at_vertices(before, after, len(receivers))
        if self.levels is None:
            self.active = self.open(receivers[self.activated(before, after, changes, len(receivers))])
        if self.has("scatter"):
            self.scatter()
        if self.has("post_apply"):
            self.write(receivers, self.call("post_apply", self.vertices(receivers)))
        self.aggregates, self.deposits = fresh, at_vertices
        return looked

    def write(self, ids: np.ndarray, changes: Mapping[str, Any]) -> None:
        """Write fields of some vertices."""
        _write(self.vertex, self.plan.traced.vertex_types, ids, changes)

    def activated(self, before: Record, after: Record, changes: Mapping[str, Any], count: int) -> np.ndarray:
        """A mask of the receivers that are active next: by `activate`, or if a field changed; NaN equals NaN."""
        if self.has("activate"):
            return self.admitted("activate", count, before, after)
        moved = np.zeros(count, bool)
        for name in changes:
            a, b = (np.asarray(getattr(record, name)) for record in (after, before))
            differs = (a != b) & ((a == a) | (b == b))
            moved |= differs.any(axis=0) if differs.ndim == 2 else differs
        return moved

    def reduce_aggregates(self, before: Record, after: Record, count: int) -> dict[str, Any]:
        """The aggregates over some vertices."""
        found = {}
        for name, declared in self.plan.traced.aggregates.items():
            kind = self.plan.traced.aggregate_types[name]
            values = _spread(self.call(declared.function, before, after), kind, count)
            with np.errstate(all="ignore"):
                found[name] = kind.type(declared.monoid.reduce(values))
        return found

    def reduce_at_vertices(self, before: Record, after: Record, count: int) -> dict[str, np.ndarray]:
        """The aggregates at vertices, an array each."""
        found, n = {}, self.graph.n
        for name, declared in self.plan.traced.deposits.items():
            assert declared.at is not None
            kind = self.plan.traced.deposit_types[name]
            places = np.broadcast_to(np.asarray(self.call(declared.at, after)), count)
            values = _spread(self.call(declared.function, before, after), kind, count)
            taken = np.flatnonzero((places >= 0) & (places < n))
            taken = taken[np.argsort(places[taken], kind="stable")]
            rows = places[taken].astype(np.int64)
            with np.errstate(all="ignore"):
                (found[name],) = reduce_segments(declared.monoid, (values[taken],), rows, n, kind)
        return found

    def scatter(self) -> None:
        """Run scatter on the out-edges of active vertices."""
        places = self.edges.out_of(self.active)
        places = places[self.edges.leaves[places]]
        changes = self.call("scatter", *self.ends(places))
        _write(self.edge, self.plan.traced.edge_types, self.edges.ids[places], changes)


def _makers(fields: Mapping[str, np.ndarray], ids: np.ndarray) -> dict[str, Callable[[], Any]]:
    """Functions that read the entries `ids` of fields, by the names in the program; vectors with their items first."""

    def reading(array: np.ndarray) -> Callable[[], np.ndarray]:
        dtype = computed(array.dtype)
        return lambda: as_values(array[ids].astype(dtype, copy=False).T)  # no effect but on vectors

    return {given_name(name): reading(array) for name, array in fields.items()}


def _write(fields: dict[str, Any], types: Mapping[str, Any], ids: np.ndarray, changes: Mapping[str, Any]) -> None:
    """Write the results of a function to the entries `ids` of fields."""
    for name, value in changes.items():
        field = inner(name)
        fields[field][ids] = _spread(value, types[field], len(ids)).T  # no effect but on vectors


def _spread(value: Any, kind: Any, count: int) -> np.ndarray:
    """A function's result as `count` values of a type; vectors with their items first.

    A function that reads no field returns a single value.
    """
    shape, base = ((kind.length, count), kind.scalar) if isinstance(kind, VectorType) else ((count,), kind)
    with np.errstate(all="ignore"):  # overflow to infinity
        return np.broadcast_to(np.asarray(value), shape).astype(base)
