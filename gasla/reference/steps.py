"""Runs the numbered steps in the documentation of `VertexProgram`, one after another, on whole arrays.

Each step computes all values before it writes any, so functions read the state before the step. In a program that works
in place, the receiving vertices are processed in 16 parts, and each part reads what earlier parts have written.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gasla.arrays import as_values
from gasla.graph.graph import Graph
from gasla.program.part import FIRST, OWN
from gasla.program.plan import Plan
from gasla.program.program import VertexProgram
from gasla.program.records import Record
from gasla.program.reductions.keys import Keyed
from gasla.reference.choice import greatest, grouped
from gasla.reference.edge_order import Edges
from gasla.reference.on_arrays import Functions, spread, write
from gasla.reference.segments import reduce_segments

# In a program that works in place, an iteration processes the receiving vertices in this many parts, one after another.
PARTS = 16


class Steps(Functions):
    """The state of a run (fields by inner names, active vertices and aggregates), and the steps of an iteration.

    For a run along a schedule, `levels` has the iteration in which each vertex receives. It is None for all other runs.
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
        self.plan, self.graph, self.edges, self.own = plan, graph, edges, int(parameters.get(OWN, graph.n))
        known: dict[str, Callable[[np.ndarray], np.ndarray]] = {
            "id": lambda ids: ids.astype(plan.traced.whole.id_type),
            "in_degree": lambda ids: graph.in_degrees.astype(np.int64)[ids],
            "out_degree": lambda ids: graph.out_degrees.astype(np.int64)[ids],
        }
        counters = {"n": graph.n, "iteration": 0, "bucket": -1}
        own = int(parameters.get(FIRST, 0)), self.own
        super().__init__(program, plan.traced.whole, parameters, counters, vertex, edge, known, own)
        self.active, self.levels, self.stopped = active, levels, False
        self.waiting = np.zeros(graph.n, bool)
        self.aggregates = {name: kind.type(0) for name, kind in plan.traced.aggregate_types.items()}
        all_vertices = self.vertices(np.arange(self.own))
        self.aggregates = self.reduce_aggregates(all_vertices, all_vertices, self.own)
        self.deposits = self.reduce_at_vertices(all_vertices, all_vertices, self.own)
        if self.has("bucket"):
            self.waiting[self.active] = True
            self.active = active[:0]
        self.resume()

    @property
    def iteration(self) -> int:
        """The number of iterations that the run has done so far."""
        return self.numbers["iteration"]

    def ends(self, places: np.ndarray) -> tuple[Record, Record, Record]:
        """Return the three arguments of functions such as `gather` for some edges: `src`, `dst` and `edge`.

        Each argument is a record: an object whose attributes are arrays, with an item for each of these edges. `places`
        has the positions of the edges in the arrays of `Edges`, where edges are sorted by receiving vertex.
        """
        ids = self.edges.ids[places]
        leaves = {"in": True, "out": False}.get(self.traced.program.direction, as_values(self.edges.leaves[places]))
        partner = functools.partial(self._partners, ids)
        link = self.link("edge", ids, {"leaves": lambda: leaves, "back": partner})
        return self.vertices(self.edges.src[places]), self.vertices(self.edges.dst[places]), link

    def _partners(self, ids: np.ndarray) -> Record:
        """Return a record by which the program's functions read the reverse edges of the edges number `ids`."""
        return self.link("edge's partner", self.graph.reverse_edge_ids[ids], {})

    def resume(self) -> None:
        """Make some vertices active if none is: those of the next bucket, or those that the program's `wake` chooses.

        The program's `idle` is called before `wake`, and may change parameters.
        """
        if len(self.active) or not self.plan.resumes or self.levels is not None:
            return
        if self.has("bucket") and self.open_next():
            return
        if self.has("wake"):
            self.parameters.update(self.idle())
            self.active = self.woken(self.graph.n)
            if self.has("bucket"):
                self.waiting[self.active] = True
                self.active = self.active[:0]
                self.open_next()

    def open_next(self) -> bool:
        """Make the vertices that wait in the lowest bucket (group of vertices) active, and open this bucket.

        Return False if no vertex waits.
        """
        ids, buckets = self.ask_again(self.waiting)
        if not len(ids):
            return False
        lowest = self.numbers["bucket"] = int(buckets.min())
        self.active = ids[buckets == lowest]
        self.waiting[self.active] = False
        return True

    # --- the steps of one iteration: which vertices receive, gather, apply, and which are active next -----------------

    def step(self) -> tuple[int, int]:
        """Run one iteration of the program.

        Return the number of vertices that were active before it, and the number of edges that it visited.
        """
        active = len(self.active)
        copies = {name: self.vertex[name].copy() for name in self.plan.traced.looked_up - self.plan.in_place}
        self.seen_by_others = {**self.vertex, **copies}
        from_active, receivers = self.receivers()
        if self.levels is not None:
            active = len(receivers)
        visited_edges = self.apply(receivers, from_active)
        self.seen_by_others = self.vertex
        self.stopped = self.has("stop") and bool(self.call("stop"))
        self.numbers["iteration"] += 1
        if not self.stopped:
            self.resume()
        return active, visited_edges if self.plan.gathers else 0

    def receivers(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of the active vertices' edges, and the vertices that receive values in this iteration.

        Positions are those in the arrays of `Edges`, where edges are sorted by receiving vertex. They are left out if
        no step of the program needs them.
        """
        receivers, from_active = np.arange(self.own), np.zeros(0, np.int64)
        if self.levels is not None:
            return from_active, np.flatnonzero(self.levels == self.iteration)
        if not self.plan.everyone or self.plan.active_only:
            from_active = self.usable(self.edges.out_of(self.active))
        if not self.plan.everyone:
            receivers = np.unique(self.edges.dst[from_active])
        return from_active, receivers[self.admitted("mask", len(receivers), self.vertices(receivers))]

    def gathered_over(self, receivers: np.ndarray, from_active: np.ndarray) -> np.ndarray:
        """Return the positions of the edges over which the vertices `receivers` gather values.

        Positions are those in the arrays of `Edges`, where edges are sorted by receiving vertex. `from_active` has the
        positions of the active vertices' edges. If values are gathered over these alone, the result is those of them
        whose receiving vertex is in `receivers`.
        """
        if not self.plan.active_only:
            return self.usable(self.edges.into(receivers))
        is_receiver = np.zeros(self.graph.n, bool)
        is_receiver[receivers] = True
        return from_active[is_receiver[self.edges.dst[from_active]]]

    def usable(self, places: np.ndarray) -> np.ndarray:
        """Return those of the positions `places` of edges at which the program's `edge_mask` is true.

        Without an `edge_mask`, return all of them. Positions are those in the arrays of `Edges`, where edges are sorted
        by receiving vertex.
        """
        return places[self.admitted("edge_mask", len(places), *self.ends(places))] if self.has("edge_mask") else places

    def gather(self, receivers: np.ndarray, places: np.ndarray) -> Any:
        """Call the program's `gather` on some edges, and return the reduced values of each receiving vertex.

        `places` has the positions of the edges in the sorted arrays of `Edges`. Values are reduced in the order of the
        edges in the input. The result is None if the program does not gather.
        """
        if not self.plan.gathers:
            return None
        traced: Any = self.plan.traced
        kind, monoid, held = traced.gathered_type, traced.monoid, traced.held
        if self.plan.keyed is not None:
            return self.gather_by_key(self.plan.keyed, receivers, places)
        gathered_values = self.call("gather", *self.ends(places))
        values = gathered_values if held is None else held.lift(gathered_values)
        kinds = kind.items if self.plan.is_tuple else (kind,)
        items = zip(values if self.plan.is_tuple else (values,), kinds, strict=True)
        parts = tuple(spread(value, k, len(places)) for value, k in items)
        row_of_vertex = np.empty(self.graph.n, np.int64)
        row_of_vertex[receivers] = np.arange(len(receivers))
        with np.errstate(all="ignore"):
            gathered = reduce_segments(monoid, parts, row_of_vertex[self.edges.dst[places]], len(receivers), kind)
        gathered = as_values(gathered)
        if held is not None:
            gathered = held.lower(gathered)
        elif not self.plan.is_tuple:
            return gathered[0]
        return gathered_values._make(gathered) if hasattr(gathered_values, "_make") else gathered

    def gather_by_key(self, keyed: Keyed, receivers: np.ndarray, places: np.ndarray) -> Record:
        """Gather over some edges by key, and return what each receiving vertex has chosen.

        `places` has the positions of the edges in the sorted arrays of `Edges`. The values of each key are reduced to a
        total. The program's `choose` gives each key a score. The record `gathered` has each vertex's best key, its
        total and its scores.
        """
        keys = spread(self.call("key", *self.ends(places)), keyed.key, len(places))
        values = spread(self.call("gather", *self.ends(places)), keyed.total, len(places))
        row_of_vertex = np.empty(self.graph.n, np.int64)
        row_of_vertex[receivers] = np.arange(len(receivers))
        pairs, rows = grouped(row_of_vertex[self.edges.dst[places]], keys)
        with np.errstate(all="ignore"):
            (totals,) = reduce_segments(self.program.reduce, (values[pairs.order],), rows, len(pairs.keys), keyed.total)
        owners = self.vertices(receivers[pairs.owners])
        scores = self.call("choose", owners, as_values(pairs.keys), as_values(totals))
        scores = scores if isinstance(scores, tuple) else (scores,)
        sums = (pairs.keys, totals, *(spread(x, k, len(pairs.keys)) for x, k in zip(scores, keyed.scores, strict=True)))
        chosen = greatest(pairs, sums[2:])
        parts = []
        for nothing, part in zip(keyed.nothing, sums, strict=True):
            parts.append(np.full(len(receivers), nothing, part.dtype))
            parts[-1][pairs.owners[chosen]] = part[chosen]
        return Record("gathered", keyed.fields(as_values(tuple(parts))))

    def apply(self, receivers: np.ndarray, from_active: np.ndarray) -> int:
        """Run the steps 2 to 6 of an iteration, as the documentation of `VertexProgram` numbers them.

        `receivers` are the receiving vertices, and `from_active` has the positions of the active vertices' edges.
        Return the number of edges visited.
        """
        before, visited_edges, changes = self.vertices(receivers, now=True), 0, {}
        for part in np.array_split(receivers, PARTS) if self.plan.in_place else [receivers]:
            places = self.gathered_over(part, from_active)
            gathered, visited_edges = self.gather(part, places), visited_edges + len(places)
            if self.has("apply"):
                changes = self.call("apply", self.vertices(part, now=True), gathered)
                self.write(part, changes)
        after = self.vertices(receivers)
        aggregates = self.reduce_aggregates(before, after, len(receivers))
        deposits = self.reduce_at_vertices(before, after, len(receivers))
        if self.levels is None:
            new = receivers[self.activated(before, after, changes, len(receivers))]
            self.active = self.open(new, self.waiting)
        if self.has("scatter"):
            self.scatter()
        for function in self.plan.revising:
            self.write(receivers, self.call(function, self.vertices(receivers)))
        self.aggregates, self.deposits = aggregates, deposits
        return visited_edges

    def write(self, ids: np.ndarray, changes: Mapping[str, Any]) -> None:
        """Write what a function of the program, such as `apply`, has returned to the fields of the vertices `ids`.

        `changes` has the new values by field.
        """
        write(self.vertex, self.plan.traced.vertex_types, ids, changes)

    def activated(self, before: Record, after: Record, changes: Mapping[str, Any], count: int) -> np.ndarray:
        """Return a mask of the `count` receiving vertices that are active in the next iteration.

        The program's `activate` decides. Without it, a vertex is active if one of the fields in `changes` differs
        between `before` and `after`, the records before and after the iteration. NaN counts as equal to NaN.
        """
        if self.has("activate"):
            return self.admitted("activate", count, before, after)
        has_changed = np.zeros(count, bool)
        for name in changes:
            a, b = (np.asarray(getattr(record, name)) for record in (after, before))
            differs = (a != b) & ((a == a) | (b == b))
            has_changed |= differs.any(axis=0) if differs.ndim == 2 else differs
        return has_changed

    def reduce_aggregates(self, before: Record, after: Record, count: int) -> dict[str, Any]:
        """Return the program's aggregates: numbers, each of which is reduced from one value per receiving vertex.

        The program computes the values from the vertices' records before and after the iteration.
        """
        totals = {}
        for name, declared in self.plan.traced.aggregates.items():
            kind = self.plan.traced.aggregate_types[name]
            values = spread(self.call(declared.function, before, after), kind, count)
            with np.errstate(all="ignore"):
                totals[name] = kind.type(declared.monoid.reduce(values))
        return totals

    def reduce_at_vertices(self, before: Record, after: Record, count: int) -> dict[str, np.ndarray]:
        """Return the program's aggregates at vertices: for each of them an array with a reduced value for every vertex.

        Each receiving vertex contributes a value to one vertex. The program computes both from `before` and `after`,
        the vertices' records before and after the iteration.
        """
        totals, n = {}, self.graph.n
        for name, declared in self.plan.traced.deposits.items():
            assert declared.at is not None
            kind = self.plan.traced.deposit_types[name]
            places = np.broadcast_to(self.places(self.call(declared.at, after)), count)
            values = spread(self.call(declared.function, before, after), kind, count)
            in_range = np.flatnonzero(places >= 0)
            in_range = in_range[np.argsort(places[in_range], kind="stable")]
            rows = places[in_range].astype(np.int64)
            with np.errstate(all="ignore"):
                (totals[name],) = reduce_segments(declared.monoid, (values[in_range],), rows, n, kind)
        return totals

    def scatter(self) -> None:
        """Call the program's `scatter` on the out-edges of active vertices, and write the fields that it returns."""
        edge_positions = self.edges.out_of(self.active)
        edge_positions = edge_positions[self.edges.leaves[edge_positions]]
        changes = self.call("scatter", *self.ends(edge_positions))
        write(self.edge, self.plan.traced.edge_types, self.edges.ids[edge_positions], changes)
