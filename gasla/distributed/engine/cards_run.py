"""A run over several GPUs whose kernels exchange values directly: the part of one process, driven by its calling
thread.

The host only starts the kernels and waits for them, because every superstep takes place on the GPUs. No rank has a
thread of its own. The GPUs belong to one process, or to several processes of one host, each of which drives its own
GPUs.
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import device_of, finish, here, module_of, moved
from gasla.distributed.block_array import Placed
from gasla.distributed.communicator import RankError
from gasla.distributed.engine.local_state import InitialState, LocalArray, local_frontier
from gasla.distributed.engine.run_options import Options
from gasla.distributed.engine.shard import Shard
from gasla.distributed.failures import note, place
from gasla.distributed.links import PeerFailed
from gasla.distributed.peer_groups import OneProcess, Processes
from gasla.engines import peers
from gasla.names import given as given_name
from gasla.program.binding import Layout, are_fixed, layout
from gasla.program.frontier import Frontier
from gasla.program.part import EDGE_ID, FIRST, LEAVES, OWN, PREFIX, in_part
from gasla.program.plan import Plan
from gasla.program.program import VertexProgram


class Choices(NamedTuple):
    """The decisions that hold for all runs of a program over GPUs, whatever the graph.

    They depend only on the program's class, the type of vertex ids, and whether results must be deterministic.
    """

    plan: Plan
    # whether GPUs can store the program's values into each other's memory, so that the host need not send them
    exchanges: bool
    # the program that each rank runs on its part of the graph if GPUs exchange values directly
    local: type[VertexProgram]


@functools.cache
def choices(kind: Any, id_type: np.dtype, deterministic: bool) -> Choices:
    """Return the decisions that hold for all runs of a program over GPUs: its plan, whether GPUs can exchange its
    values directly, and the program that each rank runs.

    `kind` is the program's class, and `id_type` the type of vertex ids.
    """
    plan = Plan(kind.traced(id_type), deterministic)
    return Choices(plan, peers().can_exchange(plan), in_part(kind, id_type, plan.is_single, True))


def exchanges(program: VertexProgram, options: Options) -> bool:
    """Return whether GPUs can store the program's values into each other's memory, so that the host sends none."""
    program_class: Any = type(program)
    return options.has_card and choices(program_class, options.id_type, options.deterministic).exchanges


def can_meet(group: OneProcess | Processes, shards: Sequence[Shard]) -> bool:
    """Return whether kernels on the GPUs of a group of ranks can exchange values by storing them into each other's
    memory.

    The shard of every rank must have at least one vertex, and every GPU must be able to access the memory of the
    others.
    """
    fewest_vertices = min(n for (n,) in group.told(min(shard.graph.n for shard in shards)))
    return fewest_vertices > 0 and not group.obstacle()


# errors that a GPU may raise, to which the rank and the superstep are added; wrong arguments raise other errors
_GPU_ERRORS = (MemoryError, RuntimeError, OSError)


def _advise(error: BaseException) -> None:
    """Add a note to an error of a GPU that CUDA no longer lets this process use, which tells the user to start a new
    process.

    Do nothing for other errors.
    """
    if peers().is_lost(error):
        error.add_note("CUDA lets this process use that GPU no more; start a new process")


class Reference(NamedTuple):
    """A reference to start values that the ranks already store as a distributed array.

    It consists of the key under which they store the array, and the array's name.
    """

    key: Any
    name: str


class OwnFields(Mapping[str, Any]):
    """The fields of a rank's own vertices after a run. The arrays are computed when one of them is first read."""

    def __init__(self, run: Any, own: int, on: Callable[[], AbstractContextManager[Any]]) -> None:
        self._run, self._own, self._on = run, own, on

    @functools.cached_property
    def _state(self) -> Mapping[str, Any]:
        state: Mapping[str, Any] = self._run.state()
        return state

    def __getitem__(self, name: str) -> Any:
        # Reading a field may launch a kernel, which restores the original numbering of the vertices. The kernel must
        # run on this run's GPU, so that is made the current one.
        with self._on():
            array = self._state[name][: self._own]
            # the caller may read the array on another CUDA stream, so wait until it is complete
            finish(device_of(array))
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._state)

    def __len__(self) -> int:
        return len(self._state)


class Parts:
    """What all runs of a program over the GPUs of this process share.

    The first rank of the process stores it with the graph.

    Parameters
    ----------
    group : OneProcess or Processes
        The ranks of this process, and how they reach the ranks of other processes.
    shards : sequence of Shard
        The part of the graph of each rank of this process.
    degrees : sequence of mapping
        For each shard, the degrees in the whole graph of its vertices, if the program reads them.
    program : VertexProgram
        The program, with any values of its parameters.
    options : Options
        The options of the runs.
    """

    def __init__(
        self,
        group: OneProcess | Processes,
        shards: Sequence[Shard],
        degrees: Sequence[Mapping[str, np.ndarray]],
        program: VertexProgram,
        options: Options,
    ) -> None:
        program_class: Any = type(program)
        self.choices, self.shards, self.options = (
            choices(program_class, options.id_type, options.deterministic),
            shards,
            options,
        )
        value_types = self.choices.plan.traced.vertex_types
        # by field: the shape and the dtype of the whole array, with an entry for every vertex of the graph
        self.layouts = {given_name(name): layout(value_types[name], shards[0].n) for name in value_types}
        cards = [member.card for member in group.members]
        # for each rank of this process, the number of ranks that use the same GPU as this rank
        self.shares = [cards.count(card) for card in cards]
        self.on = [
            peers().card_of(card, i, work_share > 1)
            for i, (card, work_share) in enumerate(zip(cards, self.shares, strict=True))
        ]
        # the user's program for which `_locals`, the programs of the ranks, were made last
        self._program: VertexProgram | None = None
        self._parameters = ""
        self._locals: list[VertexProgram] = []
        self.starts: list[InitialState] = []
        # for each rank of this process, the start values of fields that are the same in all runs, such as degrees
        self._fixed: list[dict[str, Any]] = []
        local, device = self.choices.local, options.device
        declared = local.vertex_fields.keys() | local.edge_fields.keys()
        self.mirrors: list[Any] = []
        for i, shard in enumerate(shards):
            with self.on[i]():
                peers().enable(cards)
                start = InitialState(program, self.choices.plan, shard, options.id_type, degrees[i], device)
                fixed = {EDGE_ID: shard.edge_ids, LEAVES: shard.leaves}
                fields = {n: shard.array_on(device, n, x) for n, x in fixed.items() if n in declared and x is not None}
                self._fixed.append(fields | start.global_fields(local))
                self.starts.append(start)
                sends = [
                    shard.array_on(device, ("sends", rank_number), ids) for rank_number, ids in enumerate(shard.sends)
                ]
                self.mirrors.append(peers().Mirrors(sends, [int(mirror_cut) for mirror_cut in shard.cuts]))
        self._graphs = [shard.graph_on(device) for shard in shards]
        peers().number(self.locals(program), self._graphs, options.deterministic, self.mirrors, self.on, group)

    def locals(self, program: VertexProgram) -> list[VertexProgram]:
        """Return, for each rank of this process, the program that the rank runs on its shard, with the parameters of
        the user's `program`.

        The programs are cached, and reused while the parameters stay equal.
        """
        if program is self._program:
            return self._locals
        is_fixed = are_fixed(program.values)
        # Parameters are compared as text, because 0.0 == -0.0 is true, although a program may treat them differently.
        parameters = repr(program.values) if is_fixed else ""
        if not parameters or parameters != self._parameters:
            for start in self.starts:
                start.program = program
            self._locals = [
                self.choices.local(
                    **{**start.parameters_of(), f"{PREFIX}n": shard.n, OWN: shard.own, FIRST: shard.first}
                )
                for start, shard in zip(self.starts, self.shards, strict=True)
            ]
        self._program, self._parameters = program if is_fixed else None, parameters
        return self._locals

    def run(self, i: int, local: VertexProgram, values: Mapping[str, Any], active: Frontier) -> Any:
        """Return a new run on the GPU of the i-th rank of this process. The GPU must be CUDA's current device.

        `local` is the program that the rank runs on its shard, `values` has the start values by field, and `active` the
        vertices that are active first.
        """
        options, shard, graph = self.options, self.shards[i], self._graphs[i]
        fields = dict(self._fixed[i])
        for name, start_value in self.starts[i].starting_fields(values).items():
            fields[name] = moved(start_value, options.device) if isinstance(start_value, np.ndarray) else start_value
        run = peers().PeerRun(local, graph, fields, options.way, options.deterministic, self.shares[i])
        run.activate(Frontier.all(graph.n, graph.device) if active.is_all else local_frontier(shard, active), None)
        return run


class CardsRun:
    """A run over the GPUs of this process. Fields and aggregates have the names of the user's program.

    Parameters
    ----------
    group : OneProcess or Processes
        The ranks of this process, and how they reach the ranks of other processes.
    parts : Parts
        What all runs of the program share.
    program : VertexProgram
        The program, with the values of its parameters.
    values : mapping
        Start values by field. A `Reference` stands for an array whose blocks the ranks already store.
    active : Frontier
        The vertices that are active first.
    """

    def __init__(
        self,
        group: OneProcess | Processes,
        parts: Parts,
        program: VertexProgram,
        values: Mapping[str, Any],
        active: Frontier,
    ) -> None:
        self._group, self._parts, self._on = group, parts, parts.on
        self._plan = parts.choices.plan
        self.iteration, self.edges, self.ended, self.stopped = 0, 0, False, False
        references = {name: x for name, x in values.items() if isinstance(x, Reference)}
        mirrored_values = self._with_mirrors(references) if references else None
        self._runs: list[Any] = []
        locals, active = parts.locals(program), self._plan.first_active(active)
        for i, local in enumerate(locals):
            try:
                with self._on[i]():
                    local_values = values if mirrored_values is None else {**values, **mirrored_values[i]}
                    self._runs.append(parts.run(i, local, local_values, active))
            except _GPU_ERRORS as error:
                self._note_place(error, i)
                raise
        try:
            self._meeting: Any = peers().meet(self._runs, parts.mirrors, self._on, group)
        except _GPU_ERRORS as error:
            _advise(error)
            raise

    def _with_mirrors(self, references: Mapping[str, "Reference"]) -> list[dict[str, LocalArray]]:
        """Return, for each rank of this process, the start values that are given as references to distributed arrays.

        A rank gets the values at its own vertices, followed by those at mirrors (copies of other ranks' vertices).
        """
        members, mirrors, device = self._group.members, self._parts.mirrors, self._parts.options.device
        shards = self._parts.shards
        starts: list[dict[str, LocalArray]] = [{} for _ in members]
        xp: Any = module_of(device)
        for name, (key, block) in references.items():
            stored = [member.kept[key] for member in members]
            local_values: list[Any] = [
                x.with_mirrors.get(shard) if isinstance(x, Placed) else None
                for x, shard in zip(stored, shards, strict=True)
            ]
            if not all(is_known for (is_known,) in self._group.told(all(x is not None for x in local_values))):
                values_to_send, own_blocks = [], []
                for i in range(len(members)):
                    with self._on[i]():
                        # if another run has left the blocks of all ranks on the first GPU, this copies the rank's block
                        # to its own GPU
                        own_blocks.append(here(moved(stored[i][block], device), device))
                        values_to_send.append([own_blocks[i][ids] for ids in mirrors[i].sends])
                        finish(device)
                for i, parts_of_gpu in enumerate(self._group.exchange(values_to_send)):
                    with self._on[i]():
                        # each array is copied from the GPU of the rank that has sent it
                        mirror_values = [xp.array(received_part) for received_part in parts_of_gpu]
                        local_values[i] = xp.concatenate([own_blocks[i], *mirror_values])
                        # the GPUs that have sent the arrays may reuse their memory after this, so wait until they are
                        # copied
                        finish(device)
                    if isinstance(stored[i], Placed):
                        stored[i].with_mirrors[shards[i]] = local_values[i]
            for i, array in enumerate(local_values):
                starts[i][name] = LocalArray(array)
        return starts

    def advance(self, until: int) -> None:
        """Run supersteps on all GPUs of this process until iteration `until` or the end of the run."""
        if self._meeting is None:
            raise RuntimeError("this run has failed before; expected another run to be begun in its place")
        with peers().joint_memory.freeing_later():
            self._advance(until)

    def _advance(self, last_iteration: int) -> None:
        try:
            limits = self._group.told(self.iteration, last_iteration)
            if limits.count(limits[0]) < len(limits):
                raise ValueError(
                    f"processes were asked to run from and to the supersteps {limits}; expected the same on all: under "
                    "mpiexec every process makes the same calls"
                )
            for i, run in enumerate(self._runs):
                try:
                    with self._on[i]():
                        run.launch(last_iteration)
                except _GPU_ERRORS as error:
                    self._note_place(error, i)
                    raise
            self._on_each_gpu(self._finish)
            edges = sum([run.edges for run in self._runs])
            self.edges = sum([edge_count for (edge_count,) in self._group.told(edges)])
        except BaseException as error:
            self._end_all_kernels(error)
            raise
        first_run = self._runs[0]
        self.iteration, self.ended, self.stopped = first_run.iteration, first_run.ended, first_run.stopped

    def _finish(self, run: Any) -> None:
        """Wait until the kernel of one GPU ends, and raise an error if it has failed.

        A kernel gives up after it has waited too long for another GPU. If another process has failed, its error is
        raised instead of the kernel's TimeoutError.
        """
        try:
            run.finish(self._watch)
        except TimeoutError:
            self._group.find_failure(self._meeting.number, run.superstep)
            raise

    def _end_all_kernels(self, error: BaseException) -> None:
        """End the kernels of all ranks, because one of them has raised an error.

        The memory in which these kernels synchronize is not used again, because its state is unknown.
        """
        meeting_number, self._meeting = self._meeting.number, None
        if not isinstance(error, PeerFailed | RankError):
            self._group.fail(meeting_number, self._runs[0].superstep)
        self._stop()
        if isinstance(error, PeerFailed):
            self._raise_peer_error()

    def _raise_peer_error(self) -> None:
        """Receive the error message of the process that has failed, and raise it as a RankError."""
        try:
            self._group.told(0)
        except RankError as error:
            raise error from None

    def _on_each_gpu(self, step: Callable[[Any], None]) -> None:
        """Call `step` with the run of each GPU of this process, while that GPU is CUDA's current device."""
        for i, run in enumerate(self._runs):
            try:
                with self._on[i]():
                    step(run)
            except _GPU_ERRORS as error:
                self._note_place(error, i)
                raise

    def _note_place(self, error: BaseException, i: int) -> None:
        """Add a note to a GPU's error that says on which rank and in which superstep it was raised.

        `i` is the position of the rank among those of this process.
        """
        # An error that was raised on another GPU, while this one was waited for, already has a note with its place.
        if not hasattr(error, "__notes__"):
            superstep = self._runs[i].superstep if i < len(self._runs) else 0
            member = self._group.members[i]
            note(error, place(member.rank, self._group.size, member.host, superstep))
            _advise(error)

    def _watch(self, superstep: int) -> None:
        """Raise an error if another process, or the kernel of another GPU of this process, has failed.

        This is called again and again while a kernel runs.
        """
        self._group.watch(self._meeting.number, superstep)
        self._on_each_gpu(lambda run: run.raise_failure())

    def _stop(self) -> None:
        """Ask all kernels of this process to end, and wait until they have ended."""
        for stop_method in ("ask_to_stop", "wait_for_end"):
            for i, run in enumerate(self._runs):
                # A GPU that has failed raises an error here, too, which is ignored, so that the other GPUs are still
                # stopped.
                with suppress(Exception), self._on[i]():
                    getattr(run, stop_method)()

    @property
    def aggregates(self) -> dict[str, Any]:
        """The values of the program's aggregates in the last iteration, reduced over all ranks."""
        all_values = self._runs[0].aggregates()
        return {name: all_values[name] for name in map(given_name, self._plan.traced.aggregate_types)}

    def leave(self, key: Any) -> Mapping[str, Layout]:
        """Store each rank's resulting fields under `key`, without copying them.

        Return, by field, the shape and the dtype of the whole array.
        """
        for i, (member, run) in enumerate(zip(self._group.members, self._runs, strict=True)):
            member.kept[key] = OwnFields(run, self._parts.shards[i].own, self._on[i])
        return self._parts.layouts

    def active(self) -> np.ndarray | None:
        """Return the global ids of the vertices that are active now, from all ranks.

        Return None if all vertices are active in every iteration.
        """
        if self.ended and not self.stopped:
            return np.zeros(0, np.int64)
        if not self._plan.keeps_active:
            return None
        blocks = []
        for on, shard, run in zip(self._on, self._parts.shards, self._runs, strict=True):
            with on():
                ids = run.frontier().ids
                blocks.append(moved(ids[ids < shard.own], "cpu").astype(np.int64) + shard.first)
        return np.concatenate(self._group.gather(blocks))

    def close(self) -> None:
        """End the run, and give back the memory of its kernels, so that the next run can use it."""
        if self._meeting is not None:
            peers().part(self._runs, self._meeting)
        self._meeting = None
        for run in self._runs:
            run.close()
