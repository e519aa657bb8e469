"""A run over GPUs whose kernels exchange values themselves: the part of one process, driven by the calling thread.

The host only starts the kernels and waits: every superstep takes place on the GPUs. No rank has a thread. GPUs are of
one process, or of several processes of one host, each of which drives its own.
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import finish, module_of, moved
from gasla.distributed.communicator import RankError
from gasla.distributed.engine.local_state import InitialState, LocalArray, local_frontier
from gasla.distributed.engine.run_options import Options
from gasla.distributed.engine.shard import Shard
from gasla.distributed.failures import note, place
from gasla.distributed.links import PeerFailed
from gasla.distributed.peer_groups import OneProcess, Processes
from gasla.engines import peers
from gasla.names import given as given_name
from gasla.program.frontier import Frontier
from gasla.program.part import EDGE_ID, FIRST, LEAVES, OWN, PREFIX, in_part
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
    return Choices(plan, peers().can_exchange(plan), in_part(kind, id_type, plan.is_single, True))


def exchanges(program: VertexProgram, options: Options) -> bool:
    """Return whether kernels can exchange the program's values themselves."""
    kind: Any = type(program)
    return options.has_card and choices(kind, options.id_type, options.deterministic).exchanges


def can_meet(group: OneProcess | Processes, shards: Sequence[Shard]) -> bool:
    """Return whether kernels of these GPUs can exchange values.

    Each must have vertices, and reach the others' memory.
    """
    sizes = group.gather([np.array([shard.graph.n]) for shard in shards])
    return min(int(n) for (n,) in sizes) > 0 and not group.obstacle()


class Reference(NamedTuple):
    """Start values that ranks already hold."""

    key: Any
    name: str


class CardsRun:
    """A run. Fields and aggregates have the names of the user's program.

    Parameters
    ----------
    group : OneProcess or Processes
        The ranks here, and what they share with those of other processes.
    shards : sequence of Shard
        Of the ranks here, as below.
    degrees : sequence of mapping
        The global degrees of each shard's vertices that the program reads.
    program : VertexProgram
    options : Options
    values : mapping
        Start values; of blocks on the ranks their key and name (`Reference`).
    active : Frontier
    """

    def __init__(
        self,
        group: OneProcess | Processes,
        shards: Sequence[Shard],
        degrees: Sequence[Mapping[str, np.ndarray]],
        program: VertexProgram,
        options: Options,
        values: Mapping[str, Any],
        active: Frontier,
    ) -> None:
        self._group, self._members, self._shards, self._device = group, group.members, shards, options.device
        kind: Any = type(program)
        self._choices = choices(kind, options.id_type, options.deterministic)
        self._names = list(program.vertex_fields)
        self.iteration, self.edges, self.ended, self.stopped = 0, 0, False, False
        given = self._with_mirrors({name: x for name, x in values.items() if isinstance(x, Reference)})
        self._runs: list[Any] = []
        for i, shard in enumerate(shards):
            with self._on(i), self._naming(i):
                here = {**values, **given[i]}
                self._runs.append(self._part(i, shard, degrees[i], program, options, here, active))
        self._meeting: Any = peers().meet(self._runs, self._mirrors, self._on, group)

    def _on(self, i: int) -> AbstractContextManager[Any]:
        """Return the GPU of a rank here, and the stream of its kernels."""
        return peers().on(self._members[i].card, i, self._share(i) > 1)

    def _share(self, i: int) -> int:
        """Return how many ranks here have the GPU of this one."""
        return sum(member.card == self._members[i].card for member in self._members)

    def _part(
        self,
        i: int,
        shard: Shard,
        degrees: Mapping[str, np.ndarray],
        program: VertexProgram,
        options: Options,
        values: Mapping[str, Any],
        active: Frontier,
    ) -> Any:
        """Return the run on one GPU."""
        (base, _, local), device = self._choices, self._device
        start = InitialState(program, base, shard, options.id_type, degrees, device)
        numbers = {**start.parameters_of(), f"{PREFIX}n": shard.n, OWN: shard.own, FIRST: shard.first}
        graph, constant = shard.graph_on(device), {EDGE_ID: shard.edge_ids, LEAVES: shard.leaves}
        declared = local.vertex_fields.keys() | local.edge_fields.keys()
        fields = {n: shard.array_on(device, n, x) for n, x in constant.items() if n in declared and x is not None}
        fields |= start.global_fields(local)
        for name, one in start.starting_fields(values).items():
            fields[name] = moved(one, device) if isinstance(one, np.ndarray) else one
        run = peers().PeerRun(local(**numbers), graph, fields, options.way, options.deterministic, self._share(i))
        active = base.first_active(active)
        run.activate(Frontier.all(graph.n, device) if active.is_all else local_frontier(shard, active), None)
        return run

    def _sends(self, i: int) -> list[Any]:
        """Return on a rank's GPU, for each rank the vertices that it mirrors."""
        shard = self._shards[i]
        return [shard.array_on(self._device, ("sends", r), ids) for r, ids in enumerate(shard.sends)]

    def _mirrors(self, i: int) -> Any:
        """Return what a rank needs to exchange values, with its GPU able to reach the memory of the others."""
        peers().enable([member.card for member in self._members])
        return peers().Mirrors(self._sends(i), [int(cut) for cut in self._shards[i].cuts])

    def _with_mirrors(self, references: Mapping[str, "Reference"]) -> list[dict[str, LocalArray]]:
        """Start values of each rank here from blocks on all of them."""
        arrays: list[dict[str, LocalArray]] = [{} for _ in self._members]
        xp: Any = module_of(self._device)
        for name, (key, block) in references.items():
            pieces, own = [], []
            for i, member in enumerate(self._members):
                with self._on(i):
                    own.append(moved(member.kept[key][block], self._device))
                    pieces.append([own[i][ids] for ids in self._sends(i)])
                    finish(self._device)
            for i, parts in enumerate(self._group.exchange(pieces)):
                with self._on(i):
                    received = [xp.array(part) for part in parts]  # copied from the GPU that has it
                    arrays[i][name] = LocalArray(xp.concatenate([own[i], *received]))
                    finish(self._device)  # before another GPU reuses the memory of the pieces
        return arrays

    def advance(self, until: int) -> None:
        """Run supersteps until iteration `until` or the end of the run."""
        if self._meeting is None:
            raise RuntimeError("this run has failed before; expected another run to be begun in its place")
        try:
            limits = [limit.tolist() for limit in self._group.gather([np.array([self.iteration, until], np.int64)])]
            if limits.count(limits[0]) < len(limits):
                raise ValueError(
                    f"processes were asked to run from and to the supersteps {limits}; expected the same on all: under "
                    "mpiexec every process makes the same calls"
                )
            self._each(lambda run: run.launch(until))
            self._each(self._finish)
            edges = self._group.gather([np.array([run.edges], np.int64) for run in self._runs])
        except BaseException as error:
            self._fail(error)
            raise
        first = self._runs[0]
        self.iteration, self.ended, self.stopped = first.iteration, first.ended, first.stopped
        self.edges = int(np.sum(edges))

    def _finish(self, run: Any) -> None:
        """Wait for a kernel. If it has ended too early, that of another process that has failed may have ended it."""
        try:
            run.finish(self._watch)
        except TimeoutError:
            self._group.find_failure(self._meeting.number, run.superstep)
            raise

    def _fail(self, error: BaseException) -> None:
        """End the kernels of all ranks, which won't meet again with what they share now."""
        number, self._meeting = self._meeting.number, None
        if not isinstance(error, PeerFailed | RankError):
            self._group.fail(number, self._runs[0].superstep)
        self._stop()
        if isinstance(error, PeerFailed):
            self._hear()

    def _hear(self) -> None:
        """Raise the RankError by which another process says why it has failed."""
        try:
            self._group.gather([np.zeros(1, np.int64)])
        except RankError as error:
            raise error from None

    def _each(self, step: Callable[[Any], None]) -> None:
        """Do a step for each GPU here."""
        for i, run in enumerate(self._runs):
            with self._on(i), self._naming(i):
                step(run)

    @contextmanager
    def _naming(self, i: int) -> Iterator[None]:
        """Add to an error of a GPU where it was raised."""
        try:
            yield
        except (MemoryError, RuntimeError, OSError) as error:  # not one of what the caller gave
            if not hasattr(error, "__notes__"):  # while another GPU is waited for
                superstep = self._runs[i].superstep if i < len(self._runs) else 0
                note(error, place(self._members[i].rank, self._group.size, self._members[i].host, superstep))
            raise

    def _watch(self, superstep: int) -> None:
        """Raise an error of another kernel or process. This is called while a kernel is waited for."""
        self._group.watch(self._meeting.number, superstep)
        self._each(lambda run: run.raise_failure())

    def _stop(self) -> None:
        """Ask all kernels here to end, and wait until they have."""
        for stop in ("ask_to_stop", "wait_for_end"):
            for i, run in enumerate(self._runs):
                with suppress(Exception), self._on(i):  # a GPU that has failed refuses this, too
                    getattr(run, stop)()

    @property
    def aggregates(self) -> dict[str, Any]:
        """The aggregates of the last iteration, of all ranks."""
        totals = self._runs[0].aggregates()
        return {name: totals[name] for name in map(given_name, self._choices.plan.traced.aggregate_types)}

    def leave(self, key: Any) -> dict[str, tuple[tuple[int, ...], Any]]:
        """Leave the fields on the ranks, under a key. Return the shape and the type of each."""
        fields = {}
        for member, shard, run in zip(self._members, self._shards, self._runs, strict=True):
            with peers().on(member.card):
                state = run.state()
                left = {name: state[name][: shard.own].copy() for name in self._names}
                member.kept[key] = left
                fields = {name: ((shard.n, *array.shape[1:]), array.dtype) for name, array in left.items()}
        return fields

    def active(self) -> np.ndarray | None:
        """Return the active vertices, by global ids, or None for all."""
        if self.ended and not self.stopped:
            return np.zeros(0, np.int64)
        if not self._choices.plan.keeps_active:
            return None
        blocks = []
        for member, shard, run in zip(self._members, self._shards, self._runs, strict=True):
            with peers().on(member.card):
                ids = run.frontier().ids
                blocks.append(moved(ids[ids < shard.own], "cpu").astype(np.int64) + shard.first)
        return np.concatenate(self._group.gather(blocks))

    def close(self) -> None:
        """Release resources for the next run."""
        if self._meeting is not None:
            peers().part(self._runs, self._meeting)
        self._meeting = None
        for run in self._runs:
            run.close()
