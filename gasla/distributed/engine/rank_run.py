"""A run on one rank: each superstep is an iteration of an engine on the shard and an exchange with all ranks.

The engine is the GPU's where ranks have cards: then fields, and the numbers of active vertices, are arrays on the card.

After its iteration a rank sends to each rank the updates of the vertices mirrored there, its number of active vertices,
and its part of the aggregates. Then all ranks have the same totals, and make the same decisions.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gasla.arrays import as_values, device_of, finish, module_of, moved
from gasla.distributed.communicator import Communicator
from gasla.distributed.engine.any_vertex import VertexAggregates, read_others
from gasla.distributed.engine.cards_run import exchanges
from gasla.distributed.engine.edge_fields import scatter
from gasla.distributed.engine.local_program import EDGE_ID, FIRST, LEAVES, OWN, PREFIX, local_program
from gasla.distributed.engine.local_state import InitialState, local_vertices
from gasla.distributed.engine.messages import (
    NO_UPDATES,
    NO_VERTICES,
    Updates,
    content_size,
    pack,
    pack_message,
    unpack_message,
)
from gasla.distributed.engine.restarted import RestartedPart
from gasla.distributed.engine.run_options import Options
from gasla.distributed.engine.shard import Shard
from gasla.distributed.engine.unsupported import check_supported
from gasla.distributed.links import Link, find_link
from gasla.engines import Part, Runs, runner
from gasla.graph.arguments import NO_LIMIT
from gasla.graph.graph import Graph
from gasla.names import given as given_name
from gasla.names import inner
from gasla.program.binding import PULL
from gasla.program.frontier import Frontier
from gasla.program.plan import Plan
from gasla.program.program import VertexProgram
from gasla.program.records import Lazy, Record
from gasla.program.tracing import Traced
from semirings.types import computed

NUMBERS = struct.Struct("=qq")  # begin of a message: number of active (or updated) vertices; edges traversed


class RankRun:
    """The part of a run on one rank. Fields and aggregates have the names of the user's program."""

    def __init__(
        self,
        communicator: Communicator,
        shard: Shard,
        degrees: Mapping[str, np.ndarray],
        program: VertexProgram,
        options: Options,
        values: Mapping[str, Any],
        active: Frontier,
        may_drain: bool,
    ) -> None:
        kind: Any = type(program)
        self.communicator, self.shard, self.program, self.options = communicator, shard, program, options
        self.traced = kind.traced(options.id_type)
        base = Plan(self.traced, options.deterministic)
        self.drains = may_drain and drains(self.traced, options.deterministic)
        self.local = local_program(kind, options.id_type, self.drains)
        plan = Plan(self.local.traced(shard.graph.id_dtype), options.deterministic)
        self.everyone, self.only_active, self.resumes = plan.everyone, plan.active_only, base.resumes
        self.base = base
        self.scatters = "scatter" in self.traced.functions
        self.always = not base.keeps_active  # all vertices are active in every iteration
        self.start = InitialState(program, base, shard, options.id_type, degrees)
        self.xp: Any = module_of(options.device)
        self.state = {name: self._here(array) for name, array in self.start.vertex_fields(values).items()}
        self.parameters: dict[str, Any] = dict(self.start.parameters_of(program))
        self._find_sent_fields()
        self.iteration, self.edges, self.ended, self.stopped = 0, 0, False, False
        self.bucket, self.waiting = -1, np.zeros(shard.own, bool)
        self.exchanges, self.bytes = 0, 0
        self.traces, self.rows = False, list[tuple[int, ...]]()  # whether to trace, and rows of the trace
        self.kinds_of_aggregates = {given_name(n): k for n, k in self.traced.aggregate_types.items()}
        self.aggregates: dict[str, Any] = {}
        self.at_vertices = VertexAggregates(self.traced, shard)
        self.others: Mapping[str, np.ndarray] | None = None  # what self.at reads, if not the current values
        self._edges_before = 0
        self._begin(plan, base, values)
        self.active = self.xp.arange(shard.graph.n)
        if not (active.is_all or self.always):
            self.active = self._here(local_vertices(shard, active))
        self._begin_active()

    def _find_sent_fields(self) -> None:
        """Determine the fields to send to mirrors, and whether only those of active vertices change."""
        traced = self.traced
        travels = traced.seen_by_neighbors
        self.sent_fields = [given_name(name) for name in travels]
        later = set(travels) & traced.writes("post_apply")
        is_default = not self.everyone and not {"activate", "bucket"} & traced.functions.keys()
        only_active = self.only_active and not traced.looks_up
        self.as_active = not self.drains and (only_active or (is_default and not later))
        self.kinds = [(self.state[name].dtype, self.state[name].shape[1:]) for name in self.sent_fields]
        self.tells_active = not self.everyone or self.only_active or self.scatters
        self._mirroring = [rank for rank, ids in enumerate(self.shard.sends) if len(ids)]
        self._is_mirrored = self.xp.zeros(self.shard.own, bool)
        device = self.options.device
        self._sends = [self.shard.array_on(device, ("sends", r), ids) for r, ids in enumerate(self.shard.sends)]
        for ids in self._sends:
            self._is_mirrored[ids] = True
        self.sent = [
            [] if self.as_active else [self.state[name][ids] for name in self.sent_fields] for ids in self._sends
        ]

    def _begin(self, plan: Plan, base: Plan, values: Mapping[str, Any]) -> None:
        """Begin the run of the local program on the shard."""
        shard, edge, graph = self.shard, self.start.edge_fields(values), self.shard.graph_on(self.options.device)
        if EDGE_ID in self.local.edge_fields:
            edge[EDGE_ID] = shard.array_on(self.options.device, "edge_ids", shard.edge_ids)
        if LEAVES in self.local.edge_fields:
            edge[LEAVES] = shard.array_on(self.options.device, "leaves", shard.leaves)
        known = {name: self._here(array) for name, array in self.start.global_fields(self.local).items()}
        runs = runner(self.options.device, self.options.compiled).prepare(
            self._with_parameters(), graph, self.options.way, self.options.deterministic
        )
        self.turn = runs.turn  # held until `close`, because only the holder may use several threads
        self.turn.acquire()
        try:
            if self.has_card:
                found: Any = self._begin_there(runs, graph, known, edge)
            else:
                found = self._begin_here(runs, plan, known, edge)
        except BaseException:
            self.turn.release()
            raise
        self.running: Part = found
        state = found.state()
        self.edge_state = {name: on_host(state[name]) for name in map(given_name, base.edge_states)}

    def _begin_here(self, runs: Runs, plan: Plan, known: dict[str, Any], edge: dict[str, Any]) -> Any:
        """Begin on the CPU, whose engine works on the arrays of this run."""
        fields = self.state | known | self.at_vertices.arrays
        doubled = {name for name in fields if inner(name) in plan.doubled}
        out = {name: fields[name] for name in fields.keys() - doubled}
        given = {name: fields[name] for name in doubled} | edge
        nothing = Frontier.none(self.shard.graph.n)
        return runs.begin(self._with_parameters(), self.shard.graph_on("cpu"), given, nothing, None, None, out)

    def _begin_there(self, runs: Runs, graph: Graph, known: dict[str, Any], edge: dict[str, Any]) -> RestartedPart:
        """Begin on this rank's card."""
        constant = {**known, **{name: self._here(x) for name, x in edge.items()}}

        def fields() -> dict[str, Any]:
            changing = {**self.at_vertices.arrays, **self.edge_state}
            return {**self.state, **constant, **{name: self._here(array) for name, array in changing.items()}}

        self.edge_state = {}
        everyone = self.everyone and not self.only_active
        return RestartedPart(runs, graph, self._with_parameters, fields, everyone)

    @property
    def has_card(self) -> bool:
        """Whether this rank runs on a card."""
        return self.options.has_card

    def _here(self, x: Any) -> Any:
        """An array on the device of this run; a number as it is."""
        return moved(x, self.options.device) if isinstance(x, np.ndarray) else x

    def close(self) -> None:
        """Release resources for the next run."""
        self.running.close()
        self.turn.release()

    def _with_parameters(self) -> VertexProgram:
        """The local program with the current values of all its parameters."""
        made: VertexProgram = self.local(**self._numbers())
        return made

    def _numbers(self) -> dict[str, Any]:
        shard = self.shard
        whole = {"n": shard.n, "iteration": self.iteration, "bucket": self.bucket}
        local = {OWN: shard.own, FIRST: shard.first}
        return {**self.parameters, **self.aggregates, **{PREFIX + name: x for name, x in whole.items()}, **local}

    def _changed(self) -> dict[str, Any]:
        """The parameters of the local program that may change between supersteps, by inner names."""
        found = {PREFIX + "iteration": self.iteration, PREFIX + "bucket": self.bucket}
        found |= {inner(name): value for name, value in self.aggregates.items()}
        if "idle" in self.traced.functions:
            found |= {inner(name): value for name, value in self.parameters.items()}
        return found

    # --- active vertices ----------------------------------------------------------------------------------------------

    def _begin_active(self) -> None:
        """Exchange what ranks need before the first iteration: aggregates, and active vertices of the first bucket."""
        self._exchange_at_vertices(has_run=True)
        own = self.active[self.active < self.shard.own]
        mirrors = self.active[self.active >= self.shard.own]
        if self.kinds_of_aggregates or self.resumes:
            if "bucket" in self.traced.functions:
                self.waiting[on_host(own)] = True
                own, mirrors = own[:0], mirrors[:0]
            self._exchange(own, self._partials(), False)
            self.active = self.xp.concatenate([own, mirrors])
            self._resume()
        else:
            self._count(len(own))

    def _count(self, own: int) -> None:
        counts = self.communicator.allgather(np.array([own], np.int64))
        self.total = int(np.sum(counts))
        self.exchanges += 1
        self.ended = self.is_over()

    def _partials(self) -> dict[str, Any]:
        """The part of the aggregates of this rank, of the last iteration or of the start."""
        if not self.kinds_of_aggregates:
            return {}
        aggregates = self.running.found()[5]
        return {name: on_host(aggregates[PREFIX + name]) for name in self.kinds_of_aggregates}

    def _exchange_at_vertices(self, has_run: bool) -> None:
        """Exchange the aggregates at vertices of the last iteration, or of the start; this rank may have no part."""
        if not self.at_vertices.arrays:
            return
        parts = self.running.found()[5] if has_run else {}
        own = {name.removeprefix(PREFIX): on_host(array) for name, array in parts.items()}
        self.bytes += self.at_vertices.exchange(self.communicator, own if has_run else None)
        self.exchanges += 2 * len(self.at_vertices.arrays)

    def _identities(self) -> dict[str, Any]:
        """The part of the aggregates of a rank without work: identities."""
        declared = self.program.aggregates
        return {n: declared[n].monoid.identity(kind) for n, kind in self.kinds_of_aggregates.items()}

    # --- a superstep --------------------------------------------------------------------------------------------------

    def advance(self, until: int) -> None:
        """Run supersteps until iteration `until` or the end of the run."""
        while not self.ended and self.iteration < until:
            self.communicator.superstep = self.iteration  # for error messages
            self._step()

    def _step(self) -> None:
        active, shares, before = self.total, self._identities(), (self.exchanges, self.bytes)
        new = self.active[:0]
        before_apply = self._seen_by_scatter()
        has_run = bool(self.shard.graph.n and (self.everyone or len(self.active)))
        if has_run:
            new = self._iterate()
            shares = self._partials()
        if "bucket" in self.traced.functions:
            new = on_host(new)
            buckets = self._buckets(new)
            self.waiting[new] = buckets > self.bucket
            new = new[(buckets >= 0) & (buckets <= self.bucket)]
        looked = self._exchange(new, shares, True)
        self.edges += looked
        if self.scatters:
            self.others = before_apply
            scatter(self, on_host(self.active))
            self.others = None
        self._exchange_at_vertices(has_run)
        self.stopped = "stop" in self.traced.functions and bool(self.call("stop"))
        self.iteration += 1
        if self.stopped:
            self.ended = True
        else:
            self._resume()
        if self.traces:
            self.rows.append((active, looked, PULL, self.exchanges - before[0], self.bytes - before[1]))

    def _seen_by_scatter(self) -> Mapping[str, np.ndarray] | None:
        """Copies of the values that `scatter` reads by `self.at`, which are those before the iteration."""
        if not self.scatters or not self.traced.functions["scatter"].reads("other"):
            return None
        return {name: on_host(array.copy()) for name, array in (self.state | self.at_vertices.arrays).items()}

    def is_over(self) -> bool:
        """Whether no rank has work left."""
        return self.base.is_over(self.total, self.shard.n)

    def _iterate(self) -> np.ndarray:
        """Run one iteration, or with `drains` until this rank has no work left; returns the active own vertices."""
        running = self.running
        running.go_on(self.active, self._changed())
        target = NO_LIMIT if self.drains else running.iteration + 1
        while not running.ended and running.iteration < target:
            running.advance(target)
        state, _, _, _, frontier, _ = running.found()
        if not self.has_card:  # there no kernel writes edge fields, as all ranks call `scatter` together
            self.edge_state = {name: state[name] for name in self.edge_state}
        self.state = {name: state[name] for name in self.state}
        return self.xp.sort(self._here(frontier.ids)) if self.tells_active else self._counted(frontier)

    def _counted(self, frontier: Frontier) -> Any:
        """If all vertices take part, only the number of active vertices matters, so any vertices are returned."""
        return self.xp.arange(min(len(frontier), self.shard.own))

    def _exchange(self, new: Any, shares: Mapping[str, Any], news: bool) -> int:
        """Send updates to the other ranks and receive theirs; returns the edges that all ranks have traversed since."""
        new = self._here(new)
        looked = self.running.edges - self._edges_before
        self._edges_before = self.running.edges
        mirrored = new[self._is_mirrored[new]] if self.as_active and len(new) else new
        found = [(rank, self._updates(rank, mirrored)) for rank in self._mirroring] if news else []
        count = sum(len(one.places) for _, one in found) if self.drains else len(new)
        common = NUMBERS.pack(count, looked)
        for name, kind in self.kinds_of_aggregates.items():
            common += np.asarray(shares[name]).astype(kind).tobytes()
        self.exchanges += 1
        got, news_of = self._swap(common, [(rank, one) for rank, one in found if len(one.places)])
        own = new[:0] if self.drains else new
        parts = [own, *(self._receive(rank, one) for rank, one in news_of)]
        self.active = self.xp.concatenate(parts) if len(parts) > 1 else own
        if self.has_card:
            finish(self.options.device)  # copies from other GPUs' arrays must end before these are released
        counts = [NUMBERS.unpack_from(message.data) for message in got]
        self.total = sum(count for count, _ in counts)
        if self.kinds_of_aggregates:
            self._combine(got)
        self.ended = self.is_over()
        return sum(looked for _, looked in counts)

    def _swap(self, common: bytes, found: Sequence[tuple[int, Updates]]) -> tuple[list[Any], list[tuple[int, Updates]]]:
        """Send the common part to all ranks, and updates to some; returns the common parts and updates received."""
        communicator, head = self.communicator, np.frombuffer(common, np.uint8)
        if self.has_card and communicator.shares_memory:  # the receiver copies from this card
            finish(self.options.device)
            parts: list[Any] = [(head, NO_UPDATES)] * communicator.size
            for rank, one in found:
                parts[rank] = head, one
            pairs: list[Any] = communicator.exchange(parts)
            self.bytes += len(head) * (communicator.size - 1) + sum(one.nbytes for _, one in found)
            return [part for part, _ in pairs], [(r, one) for r, (_, one) in enumerate(pairs) if len(one.places)]
        if self.has_card and (link := find_link(communicator)) is not None:
            return self._swap_apart(link, common, found)
        sent = [head] * communicator.size
        for rank, one in found:
            sent[rank] = pack_message(common, one.on_host() if self.has_card else one, len(self.shard.sends[rank]))
        got = communicator.exchange(sent)
        self.bytes += sum(map(len, sent)) - len(common)
        return got, [
            (rank, unpack_message(message, len(common), self._held_from(rank), self.kinds))
            for rank, message in enumerate(got)
            if len(message) > len(common)
        ]

    def _swap_apart(
        self, link: Link, common: bytes, found: Sequence[tuple[int, Updates]]
    ) -> tuple[list[Any], list[tuple[int, Updates]]]:
        """As `_swap`: hosts send what the updates are, and GPUs their contents."""
        communicator, at = self.communicator, len(common)
        sent = [np.frombuffer(common, np.uint8)] * communicator.size
        contents = [self.xp.zeros(0, np.uint8)] * communicator.size
        for rank, one in found:
            header, contents[rank] = pack(one, len(self.shard.sends[rank]))
            sent[rank] = np.frombuffer(common + header, np.uint8)
        got = communicator.exchange(sent)
        held = [self._held_from(rank) for rank in range(communicator.size)]
        sizes = [content_size(message, at, held[rank], self.kinds) for rank, message in enumerate(got)]
        received = link.exchange(communicator, contents, sizes)
        self.bytes += sum(map(len, sent)) - at + sum(map(len, contents))
        return got, [
            (rank, unpack_message(message, at, held[rank], self.kinds, received[rank]))
            for rank, message in enumerate(got)
            if len(message) > at
        ]

    def _held_from(self, rank: int) -> int:
        """How many vertices of a rank are mirrored here."""
        return int(self.shard.cuts[rank + 1] - self.shard.cuts[rank])

    def _updates(self, rank: int, new: Any) -> Updates:
        """The updates of own vertices that a rank mirrors."""
        xp, ids, is_active = self.xp, self._sends[rank], None
        if self.as_active:
            places = self._places(rank, new) if len(new) else NO_VERTICES
        else:
            now = [self.state[name][ids] for name in self.sent_fields]
            changed = _differ(xp, now, self.sent[rank], len(ids))
            if changed.all() and (self.drains or not self.tells_active):
                self.sent[rank] = now
                return Updates(range(len(ids)), None, [array.copy() for array in now] if self.has_card else now)
            if self.tells_active and not self.drains:
                is_new = xp.zeros(len(ids), bool)
                is_new[self._places(rank, new)] = True
                changed |= is_new
                is_active = is_new[changed]
            places = xp.flatnonzero(changed)
            for before, after in zip(self.sent[rank], now, strict=True):
                before[places] = after[places]
        if not len(places):
            return NO_UPDATES
        return Updates(places, is_active, [self.state[name][ids[places]] for name in self.sent_fields])

    def _places(self, rank: int, new: np.ndarray) -> np.ndarray:
        """The positions of the vertices `new` in the list of own vertices that a rank mirrors."""
        xp, ids = self.xp, self._sends[rank]
        if 8 * len(new) < len(ids):
            places = xp.searchsorted(ids, new)
            inside = ids[xp.minimum(places, len(ids) - 1)] == new
            return places[inside]
        is_new = xp.zeros(self.shard.own, bool)
        is_new[new] = True
        return xp.flatnonzero(is_new[ids])

    def _receive(self, rank: int, news: Updates) -> Any:
        """Apply the updates from a rank to its mirrors; returns which of them are active."""
        xp, first, last = self.xp, int(self.shard.cuts[rank]), int(self.shard.cuts[rank + 1])
        is_all = isinstance(news.places, range)
        places: Any = slice(first, last) if is_all else first + xp.asarray(news.places)
        for name, values in zip(self.sent_fields, news.values, strict=True):
            self.state[name][places] = xp.asarray(values)
        if not self.tells_active:
            return xp.asarray(NO_VERTICES)
        vertices = xp.arange(first, last) if is_all else places
        return vertices if news.is_active is None else vertices[xp.asarray(news.is_active)]

    def _combine(self, got: Sequence[np.ndarray]) -> None:
        """Reduce the aggregates over all ranks, in rank order."""
        at = NUMBERS.size
        for name, kind in self.kinds_of_aggregates.items():
            values = np.array([np.frombuffer(message, kind, 1, at)[0] for message in got], kind)
            at += kind.itemsize
            with np.errstate(all="ignore"):
                self.aggregates[name] = kind.type(self.program.aggregates[name].monoid.reduce(values))

    # --- decisions of all ranks ---------------------------------------------------------------------------------------

    def call(self, function: str, *records: Record) -> Any:
        """Call a function of the user's program, with parameters in their declared types."""
        kind: Any = type(self.program)
        stand_in = object.__new__(kind)
        stand_in.__dict__.update(self.parameters, **self.aggregates)
        stand_in.__dict__.update(
            iteration=np.int64(self.iteration), n=np.int64(self.shard.n), bucket=np.int64(self.bucket)
        )
        arrays = self.others if self.others is not None else self.state | self.at_vertices.arrays
        if self.traced.looks_up:
            arrays = {name: on_host(array) for name, array in arrays.items()}
        stand_in.__dict__["at"] = read_others(self.program, self.traced, self.shard, arrays, self.options.id_type)
        with np.errstate(all="ignore"):
            return getattr(kind, function)(stand_in, *records)

    def _own(self, ids: np.ndarray) -> Record:
        """A record of arrays for some own vertices."""
        arrays = {**self.state, **self.start.global_values}

        def reading(array: Any) -> Any:
            kind: Any = computed(array.dtype)
            return lambda: as_values(on_host(array[moved(ids, device_of(array))]).astype(kind, copy=False).T)

        return Record("vertex", Lazy({name: reading(array) for name, array in arrays.items()}))

    def _evaluate(self, function: str, ids: np.ndarray, kind: type) -> np.ndarray:
        return np.broadcast_to(np.asarray(self.call(function, self._own(ids)), kind), len(ids))

    def _buckets(self, ids: np.ndarray) -> np.ndarray:
        return self._evaluate("bucket", ids, np.int64)

    def _resume(self) -> None:
        """If no vertex is active: open the next bucket, or call `idle` and `wake`."""
        if self.total or not self.resumes:
            return
        functions = self.traced.functions
        if "bucket" in functions and self._open_next():
            return
        if "wake" in functions:
            if "idle" in functions:
                types = {given_name(n): kind for n, kind in self.traced.parameter_types.items()}
                changed = self.call("idle")
                self.parameters.update({n: types[n].type(np.asarray(x).astype(types[n])) for n, x in changed.items()})
            everyone = np.arange(self.shard.own)
            woken = everyone[self._evaluate("wake", everyone, np.bool_)]
            if "bucket" in functions:
                self.waiting[woken] = True
                self._open_next()
            else:
                self._exchange(woken, self.aggregates_as_shares(), True)

    def aggregates_as_shares(self) -> dict[str, Any]:
        """Parts of the aggregates whose total is unchanged: the first rank has all of it."""
        return self.aggregates.copy() if self.communicator.rank == 0 else self._identities()

    def _open_next(self) -> bool:
        """Open the lowest bucket with waiting vertices; returns whether there is one."""
        ids = np.flatnonzero(self.waiting)
        buckets = self._buckets(ids)
        self.waiting[ids[buckets < 0]] = False
        ids, buckets = ids[buckets >= 0], buckets[buckets >= 0]
        none = np.iinfo(np.int64).max
        lowest = int(np.min(self.communicator.allgather(np.array([buckets.min(initial=none)], np.int64))))
        self.exchanges += 1
        if lowest == none:
            return False
        self.bucket, opened = lowest, ids[buckets == lowest]
        self.waiting[opened] = False
        self._exchange(opened, self.aggregates_as_shares(), True)
        return True


def on_host(x: Any) -> Any:
    """A copy of an array on a card in the host's memory; anything else as it is."""
    return moved(x, "cpu")


def _differ(xp: Any, now: list[Any], before: list[Any], count: int) -> Any:
    """For each entry, whether any of its bits differ."""
    found = xp.zeros(count, bool)
    for a, b in zip(now, before, strict=True):
        if a.ndim == 1 and a.itemsize in (1, 2, 4, 8):
            found |= a.view(f"u{a.itemsize}") != b.view(f"u{a.itemsize}")
        else:
            bits = [xp.ascontiguousarray(x).reshape(count, -1).view(np.uint8) for x in (a, b)]
            found |= (bits[0] != bits[1]).any(axis=1)
    return found


def drains(traced: Traced, deterministic: bool) -> bool:
    """Whether a rank may iterate until it has no work left between exchanges, because the program absorbs."""
    if traced.looks_up or {"stop", "idle", "wake"} & traced.functions.keys():
        return False
    return bool(Plan(traced, deterministic).absorbs)


def sentences(program: VertexProgram, graph: Any, options: Options) -> list[str]:
    """Sentences on how ranks run a program, for `gasla.explain`."""
    kind: Any = type(program)
    traced = kind.traced(options.id_type)
    check_supported(program, traced)
    names = [given_name(name) for name in traced.seen_by_neighbors]
    what = f"changed values of {', '.join(names)}" if names else "no fields"
    found = [
        f"{graph.ranks.size} ranks; each owns a range of vertices and all edges over which these gather.",
        f"In each superstep a rank sends {what}, and which vertices are active, to the ranks that mirror them.",
    ]
    if exchanges(program, options):
        found.append(
            "Cards of one host that are peers run all supersteps themselves: each stores what changes at the others."
        )
    elif options.has_card:
        found.append(
            "Values are copied from card to card, between processes by NCCL if they have it, and the host decides what "
            "follows after each superstep."
        )
    if traced.looks_up:
        found.append(
            "Each rank mirrors all vertices of the others, as the program reads or reduces at any vertex: each rank "
            "needs memory for the fields of every vertex."
        )
    if drains(traced, options.deterministic):
        found.append(
            "Without a limit each rank iterates until it has no work left between exchanges, as the program absorbs."
        )
    return found
