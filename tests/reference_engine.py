"""An independent way to run a vertex program: NumPy over whole arrays, one plain step after another.

Slow and simple: it follows the numbered steps in the documentation of `VertexProgram` and shares nothing with the
engines but the program's own functions, which it calls with arrays in place of values.
"""

from typing import Any

import numpy as np

from gasla.graph.graph import Graph
from gasla.program.fields import ID
from gasla.program.plan import Plan
from gasla.program.program import VertexProgram
from gasla.program.tracing import Record
from semirings import VectorType, as_type


class Reference:
    """A program on a graph; `run` returns its vertex and edge fields and the number of iterations."""

    def __init__(self, program: VertexProgram, graph: Graph, **fields: Any) -> None:
        self.program, self.graph = program, graph
        rows = np.repeat(np.arange(graph.n), np.diff(graph.out.indptr))
        order = np.argsort(graph.out_edge_ids, kind="stable")
        src, dst = rows[order], graph.out.indices[order].astype(np.int64)  # by edge id: the order of the input
        ids = np.arange(graph.m)
        if program.direction == "out":
            src, dst = dst, src
        elif program.direction == "all":  # each edge from both its ends, in the order of the input
            src, dst, ids = np.ravel([src, dst], "F"), np.ravel([dst, src], "F"), np.repeat(ids, 2)
        self.src, self.dst, self.ids = src, dst, ids
        self.leave = np.ones(len(ids), bool)  # whether an edge is seen from its tail, which alone scatters
        if program.direction == "all":
            self.leave[1::2] = False
        self.vertex = {n: self.start(f, fields.get(n), graph.n) for n, f in program.vertex_fields.items()}
        self.edge = {
            n: self.edge_values(f.type) if f.is_value else self.start(f, fields.get(n), graph.m)
            for n, f in program.edge_fields.items()
        }
        self.aggregates = dict.fromkeys(program.aggregates)
        # What the values of others count for is said of the program's form, and asked of who reads that.
        self.from_active = Plan(type(program).traced(graph.id_dtype)).active_only

    def start(self, field: Any, given: Any, count: int) -> np.ndarray:
        kind = np.dtype(self.graph.id_dtype) if field.type is ID else as_type(field.type)
        shape = (kind.length, count) if isinstance(kind, VectorType) else (count,)
        array = np.empty(shape, kind.scalar if isinstance(kind, VectorType) else kind)
        init = field.init(self.record(np.arange(count), {})) if callable(field.init) else field.init
        array[...] = np.asarray(init if given is None or isinstance(given, dict) else np.asarray(given).T)
        for v, value in (given if isinstance(given, dict) else {}).items():
            array[..., v] = value
        return array

    def edge_values(self, kind: Any) -> np.ndarray:
        values = self.graph.values
        return np.ones(self.graph.m, kind) if values is None else values.astype(kind)

    def record(self, ids: np.ndarray, fields: dict[str, np.ndarray]) -> Record:
        graph = self.graph
        degrees = {
            "in_degree": graph.in_degrees.astype(np.int64)[ids],
            "out_degree": graph.out_degrees.astype(np.int64)[ids],
        }
        return Record(
            "vertex", {**{n: a[..., ids] for n, a in fields.items()}, "id": ids.astype(graph.id_dtype), **degrees}
        )

    def edges(self, chosen: np.ndarray) -> tuple[Record, Record, Record]:
        ids = self.ids[chosen]
        link = Record("edge", {**{n: a[..., ids] for n, a in self.edge.items()}, "id": ids})
        return self.record(self.src[chosen], self.vertex), self.record(self.dst[chosen], self.vertex), link

    def call(self, name: str, *records: Any) -> Any:
        stand_in = object.__new__(type(self.program))
        stand_in.__dict__.update(self.program.values, iteration=self.iteration, n=self.graph.n, **self.aggregates)
        with np.errstate(all="ignore"):
            return getattr(type(self.program), name)(stand_in, *records)

    def has(self, name: str) -> bool:
        return hasattr(type(self.program), name)

    def run(self, active: Any = None, max_iterations: int = 10**6, schedule: Any = None) -> "Reference":
        n = self.graph.n
        self.levels = None if schedule is None else np.asarray(schedule)  # the iteration in which each receives
        self.iteration, self.active = 0, np.ones(n, bool)
        if active is not None:
            self.active[:] = False
            self.active[np.asarray(active, int)] = True
        everyone = self.record(np.arange(n), self.vertex)
        self.reduce_aggregates(everyone, everyone, n)
        self.converged = not self.active.any() if self.levels is None else self.levels.max(initial=-1) < 0
        while not self.converged and self.iteration < max_iterations:
            self.step()
            over = not self.active.any() if self.levels is None else self.iteration == self.levels.max()
            self.converged = bool(over) or (self.has("stop") and bool(self.call("stop")))
            self.iteration += 1
        return self

    def step(self) -> None:
        admitted = self.call_mask("mask", self.record(np.arange(self.graph.n), self.vertex), self.graph.n)
        usable = self.call_mask("edge_mask", *self.edges(np.arange(len(self.src))), count=len(self.src))
        awake = usable & self.active[self.src]
        receives = admitted.copy()
        if not self.program.everyone:
            woken = np.zeros(self.graph.n, bool)
            woken[self.dst[awake]] = True
            receives &= woken
        taken = awake if self.from_active else usable
        if self.levels is not None:
            receives, taken = self.levels == self.iteration, usable
        receivers = np.flatnonzero(receives)
        gathered = self.gather(receivers, np.flatnonzero(taken & receives[self.dst]))
        before = self.record(receivers, self.vertex)
        changes = self.call("apply", before, gathered) if self.has("apply") else {}
        self.vertex = {name: array.copy() for name, array in self.vertex.items()}
        for name, value in changes.items():
            self.vertex[name][..., receivers] = np.asarray(value).astype(self.vertex[name].dtype)
        after = self.record(receivers, self.vertex)
        self.active = np.zeros(self.graph.n, bool)
        self.active[receivers] = self.activated(before, after, changes, len(receivers))
        self.new_aggregates(before, after, len(receivers))
        self.scatter()
        if self.has("post_apply"):
            for name, value in self.call("post_apply", self.record(receivers, self.vertex)).items():
                self.vertex[name][..., receivers] = np.asarray(value).astype(self.vertex[name].dtype)
        self.aggregates = self.fresh

    def call_mask(self, name: str, *records: Any, count: int = -1) -> np.ndarray:
        count = records[1] if count < 0 else count
        records = records[:1] if name == "mask" else records
        return np.broadcast_to(self.call(name, *records), count).copy() if self.has(name) else np.ones(count, bool)

    def gather(self, receivers: np.ndarray, chosen: np.ndarray) -> Any:
        """Reduce each receiver's values one after another, in the order of the input."""
        if not self.has("gather"):
            return None
        monoid = self.program.reduce
        values = self.call("gather", *self.edges(chosen))
        parts = values if isinstance(values, tuple) else (values,)
        parts = tuple(np.broadcast_to(p, (*np.shape(p)[:-1], len(chosen))) for p in parts)
        place = {int(v): i for i, v in enumerate(receivers)}
        rows = np.array([place[int(v)] for v in self.dst[chosen]], int)
        traced = type(self.program).traced(self.graph.id_dtype).gathered_type
        results = self.empty(traced, len(receivers), monoid)
        seen = np.zeros(len(receivers), bool)
        for k, row in enumerate(rows):
            new = tuple(p[..., k] for p in parts)
            if seen[row]:
                old = tuple(r[..., row] for r in results)
                with np.errstate(all="ignore"):
                    new = monoid.combine(old, new) if isinstance(values, tuple) else (monoid.combine(old[0], new[0]),)
            for r, x in zip(results, new, strict=True):
                r[..., row] = np.asarray(x)
            seen[row] = True
        return results if isinstance(values, tuple) else results[0]

    @staticmethod
    def empty(kind: Any, count: int, monoid: Any) -> tuple[np.ndarray, ...]:
        kinds = getattr(kind, "items", None)
        identity = monoid.identity(kind)
        arrays = []
        for i, k in enumerate(kinds or (kind,)):
            start = identity if not kinds or np.isscalar(identity) else identity[i]
            shape, base = ((k.length, count), k.scalar) if isinstance(k, VectorType) else ((count,), k)
            arrays.append(np.empty(shape, base))
            arrays[-1][...] = np.asarray(start).reshape(-1, 1) if isinstance(k, VectorType) else start
        return tuple(arrays)

    def activated(self, before: Record, after: Record, changes: dict[str, Any], count: int) -> np.ndarray:
        if self.has("activate"):
            return np.broadcast_to(self.call("activate", before, after), count)
        moved = np.zeros(count, bool)
        for name in changes:
            a, b = getattr(after, name), getattr(before, name)
            differs = (a != b) & ((a == a) | (b == b))
            moved |= differs.any(axis=0) if differs.ndim == 2 else differs
        return moved

    def reduce_aggregates(self, before: Record, after: Record, count: int) -> None:
        self.new_aggregates(before, after, count)
        self.aggregates = self.fresh

    def new_aggregates(self, before: Record, after: Record, count: int) -> None:
        self.fresh = {}
        for name, declared in self.program.aggregates.items():
            stand_in = object.__new__(type(self.program))
            stand_in.__dict__.update(self.program.values, iteration=self.iteration, n=self.graph.n, **self.aggregates)
            values = np.broadcast_to(declared.function(stand_in, before, after), count).astype(as_type(declared.type))
            self.fresh[name] = declared.monoid.reduce(values)

    def scatter(self) -> None:
        if not self.has("scatter"):
            return
        # Out-edges of the active, in the direction of activity.
        chosen = np.flatnonzero(self.active[self.src] & self.leave)
        for name, value in self.call("scatter", *self.edges(chosen)).items():
            self.edge[name] = self.edge[name].copy()
            self.edge[name][..., self.ids[chosen]] = np.asarray(value).astype(self.edge[name].dtype)
