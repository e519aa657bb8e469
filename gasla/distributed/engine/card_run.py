"""A run on one rank with a GPU whose kernel exchanges values with those of the other ranks, in one process.

The host only starts the kernels and waits: every superstep takes place on the GPUs.
"""

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import finish, moved
from gasla.distributed.engine.any_vertex import VertexAggregates
from gasla.distributed.engine.local_program import EDGE_ID, FIRST, LEAVES, OWN, PREFIX, local_program
from gasla.distributed.engine.local_state import InitialState, local_vertices
from gasla.distributed.engine.run_options import Options
from gasla.distributed.engine.shard import Shard
from gasla.engines import peers
from gasla.names import given as given_name
from gasla.program.frontier import Frontier
from gasla.program.plan import Plan
from gasla.program.program import VertexProgram


class Choices(NamedTuple):
    """What all runs of a program share."""

    plan: Plan
    exchanges: bool  # whether kernels can exchange its values themselves
    local: type[VertexProgram]  # the program that a rank runs then


@functools.cache
def choices(kind: Any, id_type: np.dtype, deterministic: bool) -> Choices:
    """Decide for a program, once."""
    plan = Plan(kind.traced(id_type), deterministic)
    return Choices(plan, peers().can_exchange(plan), local_program(kind, id_type, plan.is_single, True))


def shared_cards(communicator: Any, shard: Shard, program: VertexProgram, options: Options) -> list[int]:
    """The GPU of each rank if kernels exchange the program's values themselves; else nothing (collective)."""
    if not (options.has_card and getattr(communicator, "shares_memory", False)):
        return []
    if shard.cards is None:
        here = np.array([peers().current(), shard.graph.n], np.int64)
        cards, sizes = zip(*(found.tolist() for found in communicator.allgather(here)), strict=True)
        shard.cards = list(cards) if min(sizes) > 0 and peers().are_peers(cards) else []
    kind: Any = type(program)
    return shard.cards if choices(kind, options.id_type, options.deterministic).exchanges else []


class CardRun:
    """The part of a run on one rank. Fields and aggregates have the names of the user's program."""

    def __init__(
        self,
        communicator: Any,
        shard: Shard,
        degrees: Mapping[str, np.ndarray],
        program: VertexProgram,
        options: Options,
        values: Mapping[str, Any],
        active: Frontier,
        cards: list[int],
    ) -> None:
        kind: Any = type(program)
        self.communicator, self.shard, self.traced = communicator, shard, kind.traced(options.id_type)
        base, _, local = choices(kind, options.id_type, options.deterministic)
        self.tells_active = base.keeps_active
        self._names = list(program.vertex_fields)
        # Such programs have neither edge fields of their own nor aggregates at vertices.
        self.edge_state: Mapping[str, Any] = {}
        self.at_vertices = VertexAggregates(self.traced, shard)
        self.iteration, self.edges, self.ended, self.stopped = 0, 0, False, False
        self.traces, self.rows = False, list[tuple[int, ...]]()  # no superstep is traced
        self._device = device = options.device
        start = InitialState(program, base, shard, options.id_type, degrees, device)
        numbers = {**start.parameters_of(program), f"{PREFIX}n": shard.n, OWN: shard.own, FIRST: shard.first}
        rank, graph = communicator.rank, shard.graph_on(device)
        constant = {EDGE_ID: shard.edge_ids, LEAVES: shard.leaves}
        declared = local.vertex_fields.keys() | local.edge_fields.keys()
        fields = {n: shard.array_on(device, n, x) for n, x in constant.items() if n in declared and x is not None}
        fields |= start.global_fields(local)
        for name, given in start.starting_fields(values).items():
            fields[name] = moved(given, device) if isinstance(given, np.ndarray) else given
        sends = [shard.array_on(device, ("sends", r), ids) for r, ids in enumerate(shard.sends)]
        finish(device)
        peers().enable(cards)
        share = cards.count(cards[rank])
        self._stream = peers().own_stream(rank, share > 1)
        with self._stream:
            self._run = peers().PeerRun(
                local(**numbers),
                graph,
                fields,
                options.way,
                options.deterministic,
                peers().Mirrors(sends, [int(cut) for cut in shard.cuts]),
                communicator.exchange,
                share,
            )
            is_all = active.is_all or not base.keeps_active
            here = Frontier.all(graph.n, device) if is_all else Frontier.of(graph.n, local_vertices(shard, active))
            self._run.activate(here, None)
        self._launched = False

    def advance(self, until: int) -> None:
        """Run supersteps until iteration `until` or the end of the run."""
        if not self.ended and self.iteration < until:
            self._advance(until)

    def _advance(self, until: int) -> None:
        """Launch the kernel, which runs at the same time on all ranks, and read what it has found."""
        self._launched = True
        with self._stream:
            self._run.advance(until, progress=self._watch)
            finish(self._device)
        run = self._run
        self.iteration, self.ended, self.stopped = run.iteration, run.ended, run.stopped
        self.edges = int(np.sum(self.communicator.allgather(np.array([run.edges], np.int64))))

    def _watch(self, iteration: int) -> None:
        """Called while the kernel runs: an error on another rank ends it."""
        self.communicator.superstep = iteration
        self.communicator.check_others()

    @property
    def state(self) -> Mapping[str, Any]:
        """The current fields of own vertices and mirrors, on the GPU."""
        if not self._launched:
            self._advance(0)
        found = self._run.state()
        return {name: found[name] for name in self._names}

    @property
    def aggregates(self) -> dict[str, Any]:
        """The aggregates of the last iteration, of all ranks."""
        found = self._run.aggregates()
        return {name: found[name] for name in map(given_name, self.traced.aggregate_types)}

    @property
    def active(self) -> Any:
        """The active vertices, by their local numbers."""
        return self._run.frontier().ids

    @property
    def total(self) -> int:
        """How many vertices are active or waiting on all ranks."""
        return int(self._run.everywhere)

    def is_over(self) -> bool:
        """Whether no rank has work left."""
        return self.ended and not self.stopped

    def close(self) -> None:
        """Release resources for the next run."""
        self._run.close()
