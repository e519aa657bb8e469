"""Preparation of a program on one rank, once for all its runs: the engine's runs, and which fields are exchanged."""

import functools
from typing import Any

import numpy as np

from gasla.arrays import module_of
from gasla.distributed.engine.cards_run import exchanges
from gasla.distributed.engine.local_state import InitialState
from gasla.distributed.engine.run_options import Options
from gasla.distributed.engine.shard import Shard
from gasla.distributed.engine.unsupported import check_supported
from gasla.engines import runner
from gasla.names import given as given_name
from gasla.program.binding import layout
from gasla.program.hooks import BETWEEN
from gasla.program.part import EDGE_ID, LEAVES, PREFIX, in_part
from gasla.program.plan import Plan
from gasla.program.program import VertexProgram


class RankRuns:
    """A vertex program prepared on one rank, for all its runs on the rank's shard (its part of the graph).

    Only one run at a time can use it, because it owns their memory.

    Attributes
    ----------
    whole : Plan
        The plan of the program for the whole graph.
    plan : Plan
        The plan of the local program, which runs on the shard.
    sent_fields : list of str
        The fields that a rank sends to the ranks that mirror its vertices.
    as_active : bool
        Whether these fields change at active vertices only.
    changing : dict of str to str
        The parameters of the local program that are read and differ between supersteps: inner name to name.
    head : numpy.dtype
        The beginning of each message: numbers of active vertices and edges, and this rank's part of each aggregate.
    """

    def __init__(
        self, shard: Shard, degrees: dict[str, np.ndarray], program: VertexProgram, options: Options, may_drain: bool
    ) -> None:
        program_class: Any = type(program)
        device = options.device
        self.shard, self.options, self.xp = shard, options, module_of(device)
        self.traced = program_class.traced(options.id_type)
        self.drains = may_drain and drains(program_class, options.id_type, options.deterministic)
        self.local = in_part(program_class, options.id_type, self.drains)
        self.whole = Plan(self.traced, options.deterministic)
        self.plan = Plan(self.local.traced(shard.graph.id_dtype), options.deterministic)
        self.start = InitialState(program, self.whole, shard, options.id_type, degrees)
        self.graph = shard.graph_on(device)
        self.engine = runner(device, options.compiled).prepare(
            self.local(), self.graph, options.way, options.deterministic
        )
        of_vertices = self.start.global_fields(self.local).items()
        self.constant = {name: shard.array_on(device, name, array) for name, array in of_vertices}
        of_edges = {EDGE_ID: shard.edge_ids, LEAVES: shard.leaves}
        of_edges = {name: array for name, array in of_edges.items() if name in self.local.edge_fields}
        self.edge_constant = {name: shard.array_on(device, name, array) for name, array in of_edges.items()}
        self.doubled = [*map(given_name, sorted(self.plan.doubled))]
        read = {name for function in self.plan.functions.values() for name in function.reads("self")}
        changes = {PREFIX + "iteration", PREFIX + "bucket", *self.traced.aggregate_types, *self.traced.writes("idle")}
        self.changing = {name: given_name(name) for name in sorted(read & changes)}
        self.types = {given_name(name): program_class for name, program_class in self.traced.aggregate_types.items()}
        self.head = np.dtype([("active", np.int64), ("edges", np.int64), ("aggregates", [*self.types.items()])])
        monoids = {name: declared.monoid for name, declared in program.aggregates.items()}
        self.monoids = {name: monoids[name] for name in self.types}
        self.identities = {name: monoids[name].identity(program_class) for name, program_class in self.types.items()}
        self._find_sent_fields()

    def _find_sent_fields(self) -> None:
        """Determine which fields a rank sends to the ranks that have copies (mirrors) of its vertices, and store their
        names.

        Also determine whether only the fields of vertices that become active can have changed.
        """
        traced, plan, shard = self.traced, self.plan, self.shard
        travels = traced.seen_by_neighbors
        self.sent_fields = [given_name(name) for name in travels]
        later = set(travels) & traced.revised
        is_default = not plan.everyone and not {"activate", "bucket"} & traced.functions.keys()
        only_active = plan.active_only and not traced.looks_up
        self.as_active = not self.drains and (only_active or (is_default and not later))
        layouts = [layout(traced.vertex_types[name], 0) for name in travels]
        self.cuts = shard.cuts.tolist()
        self.kinds = [(base, shape[1:]) for shape, base in layouts]
        self.sends = [shard.array_on(self.options.device, ("sends", r), ids) for r, ids in enumerate(shard.sends)]
        self.mirroring = [rank for rank, ids in enumerate(self.sends) if len(ids)]
        self.is_mirrored = self.xp.zeros(shard.own, bool)
        for ids in self.sends:
            self.is_mirrored[ids] = True


@functools.cache
def drains(program: Any, id_type: np.dtype, deterministic: bool) -> bool:
    """Return whether a rank may run several iterations between exchanges, until it has no work left.

    This is possible for programs that *absorb*: they reduce gathered values directly into a field (such as a minimum
    distance), so the result does not depend on when a value arrives.
    """
    traced = program.traced(id_type)
    if traced.looks_up or traced.functions.keys() & BETWEEN:
        return False
    return bool(Plan(traced, deterministic).absorbs)


def sentences(program: VertexProgram, graph: Any, options: Options) -> list[str]:
    """Return the sentences by which `gasla.explain` describes how ranks run a program."""
    kind: Any = type(program)
    traced = kind.traced(options.id_type)
    check_supported(program, traced)
    names = [given_name(name) for name in traced.seen_by_neighbors]
    what = f"changed values of {', '.join(names)}" if names else "no fields"
    lines = [
        f"{graph.ranks.size} ranks; each owns a range of vertices and all edges over which these gather.",
        f"In each superstep a rank sends {what}, and which vertices are active, to the ranks that mirror them.",
    ]
    if exchanges(program, options):
        lines.append(
            "Cards of one host that are peers run all supersteps themselves: each stores what changes at the others."
        )
    elif options.has_card:
        lines.append(
            "Values are copied from card to card, between processes by NCCL if they have it, and the host decides what "
            "follows after each superstep."
        )
    if traced.looks_up:
        lines.append(
            "Each rank mirrors all vertices of the others, as the program reads or reduces at any vertex: each rank "
            "needs memory for the fields of every vertex."
        )
    if drains(kind, options.id_type, options.deterministic):
        lines.append(
            "Without a limit each rank iterates until it has no work left between exchanges, as the program absorbs."
        )
    return lines
