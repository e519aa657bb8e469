"""The distributed engine, seen from the calling process: it starts and controls a `RankRun` on every rank."""

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from gasla.distributed.block_array import BlockArray, Handle, fill_out
from gasla.distributed.checkpoint import Saver
from gasla.distributed.collectives.properties import SHARE
from gasla.distributed.communicator import Rank
from gasla.distributed.engine import one_card
from gasla.distributed.engine.cards_run import CardsRun, Parts, Reference, can_meet, exchanges
from gasla.distributed.engine.edge_fields import attributes_read, from_input_order, to_input_order
from gasla.distributed.engine.local_state import LocalArray
from gasla.distributed.engine.rank_run import RankRun, on_host
from gasla.distributed.engine.rank_runs import RankRuns
from gasla.distributed.engine.run_options import Options
from gasla.distributed.engine.shard import Shard, degrees, shard_of
from gasla.distributed.engine.unsupported import check_supported
from gasla.distributed.links import connect
from gasla.distributed.peer_groups import OneProcess, Processes
from gasla.distributed.replicas import release
from gasla.graph.arguments import NO_LIMIT
from gasla.program.binding import FEW, PULL, PUSH, Binding, Layout, Outcome, Synchronous, layout, require_attribute
from gasla.program.frontier import Frontier
from gasla.program.plan import Plan
from gasla.program.program import VertexProgram
from gasla.program.schedule import Schedule
from gasla.progress import follow, is_watched


class Compiled:
    """The engine that runs programs on all ranks, each with the compiled engine of its device (a
    `gasla.engines.Runner`).
    """

    compiled = True

    def prepare(
        self, program: VertexProgram, graph: Any, way: int, deterministic: bool = False, scheduled: bool = False
    ) -> "DistributedRuns":
        """Check that the ranks can run the program, and return an object that begins runs. Nothing is compiled yet."""
        program_class: Any = type(program)
        traced = program_class.traced(graph.id_dtype)
        check_supported(program, traced, scheduled)
        for name in attributes_read(program, traced):
            require_attribute(program, name, graph)
        has_card = self.compiled and graph.ranks.has_cards
        plan = Plan(traced, deterministic)
        return DistributedRuns(Options(way, deterministic, self.compiled, graph.id_dtype, has_card), plan)


class Interpreted(Compiled):
    """The engine that runs programs on all ranks with NumPy, without compilation."""

    compiled = False


class DistributedRuns:
    """A vertex program prepared for runs over the ranks of a distributed graph: what all these runs have in common."""

    is_spare = False

    def __init__(self, options: Options, plan: Plan) -> None:
        self.turn, self.options, self._plan = threading.Lock(), options, plan

    def compile_ahead(self, program: VertexProgram, graph: Any) -> None:
        """Do nothing, because the ranks compile a program only when its run begins."""

    def in_turns(self, programs: Sequence[VertexProgram], graph: Any) -> None:
        """Return None, because this engine can't alternate between the phases of several programs, so the caller has
        to.
        """

    def begin(
        self,
        program: VertexProgram,
        graph: Any,
        fields: Mapping[str, Any],
        frontier: Frontier | None,
        schedule: Schedule | None = None,
        delta: float | None = None,
        out: Mapping[str, Any] | None = None,
    ) -> "DistributedRun | one_card.OneCardRun":
        """Begin a run of the program: on the first GPU alone if that is faster and its memory suffices, or else on all
        ranks.
        """
        assert frontier is not None
        run_on_whole_graph = one_card.whole_graph(program, graph, self.options)
        # a run on one GPU checks its start values itself, unless `out` has arrays of the caller
        if run_on_whole_graph is None or out:
            _StartValues(self._plan, program, graph).check_all(fields, out or {})
        if run_on_whole_graph is not None:
            with suppress(MemoryError):
                return one_card.OneCardRun(
                    self.options, program, graph, run_on_whole_graph, fields, frontier, delta, out or {}
                )
            del run_on_whole_graph
            release(graph)
        return DistributedRun(self.options, program, graph, fields, frontier, out or {})


class _StartValues(Binding):
    """The start values that a caller gives to a run, to check them in the calling process before ranks begin the run.

    Some of them may be distributed arrays (`BlockArray`).
    """

    def __init__(self, plan: Plan, program: VertexProgram, graph: Any) -> None:
        self.plan = plan
        super().__init__(program, graph)

    def check_all(self, fields: Mapping[str, Any], out: Mapping[str, Any]) -> None:
        """Raise an error if start values or arrays of `out` have the wrong type or shape."""
        fields = self.by_inner_name(fields)
        self.check(fields)
        if out:
            self.check_out(out, fields)
        for name, start_value in fields.items():
            is_of_edges = name in self.traced.edge_types
            if start_value is not None and (is_of_edges or not isinstance(start_value, FEW)):
                array = start_value if hasattr(start_value, "dtype") else np.asarray(start_value)
                count, owners = (self.graph.m, "edges") if is_of_edges else (self.graph.n, "vertices")
                self._check_array(self._where(name), array, layout(self.plan.starting[name][0], count), owners)

    def _is_ready(self, value: Any, expected_layout: Layout) -> bool:
        is_in_blocks = isinstance(value, BlockArray)
        return (
            (value.shape, value.dtype) == expected_layout if is_in_blocks else super()._is_ready(value, expected_layout)
        )


class Status(NamedTuple):
    """The progress of a run: the iteration, the edges visited so far, whether the run has ended, and new rows of the
    trace.

    All ranks return the same values.
    """

    iteration: int
    edges: int
    ended: bool
    stopped: bool
    rows: np.ndarray


class DistributedRun(Synchronous):
    """A run of a vertex program over all ranks, as the calling process sees it.

    The ranks begin the run in the first `advance`, because that call says how far to run.
    """

    log_rows = 1024

    def __init__(
        self,
        options: Options,
        program: VertexProgram,
        graph: Any,
        fields: Mapping[str, Any],
        frontier: Frontier,
        out: Mapping[str, Any],
    ) -> None:
        self.iteration, self.edges, self.ended, self.stopped = 0, 0, False, False
        self._graph = graph
        self._out, fields = out, {**out, **fields}
        sent_fields = {
            name: Reference(x.handle.key, x.name) if isinstance(x, BlockArray) else x for name, x in fields.items()
        }
        self._beginning: tuple[Any, ...] | None = (options, program, sent_fields, frontier)
        self._rows = np.zeros((0, 5), np.int64)
        # the run in which kernels of several GPUs exchange values directly, or None if the ranks exchange them by
        # messages
        self._together: CardsRun | None = None
        # Whether kernels exchange values directly. It stays True if beginning such a run has raised an error, so that
        # `close` does not call ranks that have no run.
        self._is_together = False
        self._saver = Saver.of_run(out)

    @functools.cached_property
    def _handle(self) -> Handle:
        """The handle of the key under which ranks store this run. Ranks delete the run after this object is freed."""
        return Handle(self._graph.ranks)

    def _begin(self, drains: bool, together: bool, last_iteration: int = 0, trace: bool = False) -> None:
        if self._beginning is None:
            return
        (options, program, sent_fields, frontier), self._beginning = self._beginning, None
        if together and self._saver is None and exchanges(program, options):
            self._is_together = True
            self._graph.ranks.together(self._begin_together, options, program, sent_fields, frontier, last_iteration)
            self._is_together = self._together is not None
            if self._is_together:
                return
        self._call_ranks(
            _begin, self._graph.handle.key, options, program, sent_fields, frontier, drains, last_iteration, trace
        )
        if self._saver is not None and self._saver.resume:
            self._call_ranks(_restore, self._saver)

    def _begin_together(
        self,
        group: OneProcess | Processes,
        options: Options,
        program: VertexProgram,
        values: Mapping[str, Any],
        frontier: Frontier,
        last_iteration: int,
    ) -> None:
        """Begin a run whose kernels exchange values directly, and advance it, if the GPUs can do that.

        Otherwise do nothing.
        """
        parts_on_gpus = _parts_together(group, self._graph.handle.key, program, options)
        if parts_on_gpus is not None:
            self._together = CardsRun(group, parts_on_gpus, program, values, frontier)
            self._advance_together(group, last_iteration)

    def _advance_together(self, _: OneProcess | Processes, last_iteration: int) -> None:
        run: Any = self._together
        run.advance(last_iteration)
        self.iteration, self.edges, self.ended, self.stopped = run.iteration, run.edges, run.ended, run.stopped

    def _outcome_together(self, _: OneProcess | Processes, key: Any) -> tuple[Any, ...]:
        run: Any = self._together
        return run.leave(key), run.active(), run.aggregates, {}

    def _call_ranks(self, function: Callable[..., Any], *arguments: Any) -> None:
        status: Status = self._graph.ranks.each(function, self._handle.key, *arguments)[0]
        self.iteration, self.edges, self.ended, self.stopped, self._rows = status

    def advance(self, until: int, progress: Callable[[int], Any] | None = None, trace: bool = False) -> None:
        """Run supersteps on all ranks until iteration `until` or the end of the run.

        With `progress`, this function is called with the iteration from time to time. With `trace`, the run records a
        row of its trace for each superstep.
        """
        rows = [self._rows[:0]]
        follow(lambda: (self.iteration, 0), "supersteps")
        while self._beginning is not None or (not self.ended and self.iteration < until):
            next_stop = min(until, self.iteration + PIECE) if progress is not None or is_watched() else until
            # Ranks begin a run and advance it in one call. With an open `Checkpoint`, they only begin it, and may then
            # restore a state.
            if self._beginning is not None:
                first_stop = next_stop if self._saver is None else 0
                self._begin(until >= NO_LIMIT and not trace, not trace, first_stop, trace)
                if first_stop == 0:
                    continue
            else:
                next_stop = next_stop if self._saver is None else self._saver.next_stop(next_stop, self.iteration)
                if self._together is None:
                    self._call_ranks(_advance, next_stop, trace)
                else:
                    self._graph.ranks.together(self._advance_together, next_stop)
            rows.append(self._rows)
            if self._saver is not None and self._saver.is_due(self.iteration) and not self.ended:
                self._graph.ranks.each(_save, self._handle.key, self._saver)
            if progress is not None:
                progress(self.iteration)
        if self._together is None:
            self._rows = np.concatenate(rows)

    def log(self, rows: int) -> np.ndarray:
        """Return the first `rows` rows of the run's trace, which has a row per superstep.

        The columns are the numbers of active vertices and of edges, push or pull, and the numbers of exchanges and of
        bytes sent.
        """
        return self._rows[:rows]

    def reasons(self) -> Mapping[int, str]:
        """Return, for push and for pull, the reason why iterations went in this direction, by the number of the
        direction.
        """
        return {PULL: "each rank chooses", PUSH: "each rank chooses"}

    def outcome(self) -> Outcome:
        """Return the current results of the run: fields, iteration, whether it has ended, edges visited, active
        vertices and aggregates.

        Later supersteps don't change the fields returned.
        """
        self._begin(drains=False, together=False)
        handle = Handle(self._graph.ranks)
        n, ranks = self._graph.n, self._graph.ranks
        fields, active, aggregates, at_vertices = (
            ranks.each(_leave, self._handle.key, handle.key)[0]
            if self._together is None
            else ranks.together(self._outcome_together, handle.key)
        )
        state = {name: BlockArray(handle, name, shape, dtype) for name, (shape, dtype) in fields.items()}
        aggregates |= {name: BlockArray(handle, name, (n,), dtype) for name, dtype in at_vertices.items()}
        fill_out(self._out, state)
        frontier = Frontier.all(n) if active is None else Frontier.of(n, active)
        return state, self.iteration, self.ended, self.edges, frontier, aggregates

    def state(self) -> Mapping[str, Any]:
        """Return the current fields of the run, as distributed arrays by name."""
        return self.outcome()[0]

    def changed(self) -> Mapping[str, Any]:
        """Return the current values of the program's parameters, which the program's `idle` may have changed.

        Return an empty mapping if kernels exchange values directly, because such programs have no `idle`.
        """
        # A program with `idle`, which alone changes parameters, is never run by kernels that exchange values directly.
        if self._together is not None:
            return {}
        fields: Mapping[str, Any] = self._graph.ranks.each(_changed, self._handle.key)[0]
        return fields

    def close(self) -> None:
        """Remove the run from all ranks."""
        if self._together is not None:
            self._together.close()
        elif self._beginning is None and not self._is_together:
            self._graph.ranks.each(_close, self._handle.key)
        self._beginning = ()


def _parts_together(group: OneProcess | Processes, key: Any, program: VertexProgram, options: Options) -> Parts | None:
    """Return what all runs of a program over the GPUs of this process share, or None if kernels can't exchange values
    directly.

    The first rank of the process stores it, so that the GPUs' memory is free after the cluster is closed.
    """
    store, name = group.members[0].kept[key], (TOGETHER, type(program), options)
    shared: Parts | bool | None = store.get(name, False)
    if [True] in group.told(shared is False):
        shards, degrees_of_shards = zip(*group.call(_part_on, key, program, options), strict=True)
        shared = store[name] = (
            Parts(group, shards, degrees_of_shards, program, options) if can_meet(group, shards) else None
        )
    assert not isinstance(shared, bool)
    return shared


RUNS = "runs"  # The first part of the keys under which a rank stores prepared programs that no run uses at the moment.
# The first part of the keys under which the first rank of a process stores `Parts`: what runs over the GPUs of this
# process share.
TOGETHER = "together"
PIECE = 16  # If there is a progress function, ranks run this many supersteps between two calls of it.


# --- functions that run on each rank: shards and degrees, and beginning, advancing and ending a run -------------------


def shard_on(rank: Rank, graph: Any, direction: str, mirrors_all: bool = False) -> Any:
    """Return the shard (this rank's part of a graph) for vertices that gather over edges in `direction` (collective).

    The first call makes the shard. With `mirrors_all`, the shard has copies of all vertices of other ranks.
    """
    graph_share, key = rank.kept[graph][SHARE], (direction, mirrors_all)
    return make_once(rank, graph, key, lambda: shard_of(rank.communicator, graph_share, direction, mirrors_all))


def degrees_on(rank: Rank, graph: Any, direction: str, which: str, mirrors_all: bool = False) -> np.ndarray:
    """Return the in- or out-degrees, in the whole graph, of the vertices of a rank's shard (collective).

    The first call computes them.
    """
    shard, graph_share = shard_on(rank, graph, direction, mirrors_all), rank.kept[graph][SHARE]
    key = direction, mirrors_all, which
    degrees_of_shard: np.ndarray = make_once(
        rank, graph, key, lambda: degrees(rank.communicator, graph_share, shard, which)
    )
    return degrees_of_shard


def keep_attribute(rank: Rank, graph: Any, shard: Shard, name: str, kind: tuple[str, bool]) -> None:
    """Add an edge attribute to a shard, in the order of the shard's edges (collective).

    `kind` is the shard's direction, and whether it mirrors all vertices. Ranks store attributes in the order of the
    shard of in-edges, so for another direction the values are sent.
    """
    own_shard, communicator = rank.kept[graph][SHARE].shard, rank.communicator
    if shard is not own_shard and kind[0] != "in":

        def fetch() -> np.ndarray:
            return from_input_order(
                shard, communicator, to_input_order(communicator, own_shard, own_shard.attributes[name])
            )

        column = make_once(rank, graph, (*kind, "attribute", name), fetch)
        if name not in shard.attributes:
            shard.set_attributes(shard.attributes.replaced({name: column}, shard.graph.m, "cpu"))


def make_once(rank: Rank, graph: Any, key: Any, make: Callable[[], Any]) -> Any:
    """Return the value that the rank stores with a graph under `key`.

    If there is none, call `make` to compute it (collective). If only some ranks lack the value, because `make` failed
    there, all ranks call `make` again.
    """
    store: dict[Any, Any] = rank.kept[graph]
    if not np.all(rank.communicator.allgather(np.array([key in store]))):
        store[key] = make()
    return store[key]


def _part_on(rank: Rank, graph: Any, program: VertexProgram, options: Options) -> tuple[Shard, dict[str, np.ndarray]]:
    """Return this rank's shard (its part of the graph) for a program, with the edge attributes that the program reads
    (collective).

    The second result has the degrees of the shard's vertices, if the program reads them.
    """
    program_class: Any = type(program)
    traced = program_class.traced(options.id_type)
    shard = shard_on(rank, graph, program.direction, traced.looks_up)
    for attribute in attributes_read(program, traced).values():
        keep_attribute(rank, graph, shard, attribute, (program.direction, traced.looks_up))
    used = {function.sources[symbol.name][1] for function in traced.functions.values() for symbol in function.symbols}
    has_start = any(callable(field.init) for field in program.vertex_fields.values())
    return shard, {
        f"{end}_degree": degrees_on(rank, graph, program.direction, end, traced.looks_up)
        for end in ("in", "out")
        if has_start or f"{end}_degree" in used
    }


def _begin(
    rank: Rank,
    key: Any,
    graph: Any,
    options: Options,
    program: VertexProgram,
    sent_fields: Mapping[str, Any],
    active: Frontier,
    drains: bool,
    last_iteration: int,
    trace: bool,
) -> Status:
    """Begin a run on this rank, with the memory of an earlier run of the program if there is any, and advance it.

    Parameters
    ----------
    rank : Rank
        The rank that calls this.
    key, graph : hashable
        The keys under which the rank stores the run, and its shard of the graph.
    options, program :
        The options of the run, and the vertex program.
    sent_fields : mapping
        Start values of fields by name. A `Reference` stands for an array that the rank already stores.
    active : Frontier
        The vertices that are active first.
    drains : bool
        Whether each rank iterates until it has no work left before values are exchanged.
    last_iteration : int
        The iteration before which the run pauses.
    trace : bool
        Whether to record a trace.
    """
    connect(rank)
    unused_runs: list[RankRuns] = rank.kept[graph].setdefault((RUNS, type(program), options, drains), [])
    # `unused_runs` has prepared programs that earlier runs have left. A rank on which a run failed has none. All ranks
    # must do the same, so they reuse one only if every rank has one.
    if np.all(rank.communicator.allgather(np.array([len(unused_runs)]))):
        rank_runs = unused_runs.pop()
    else:
        rank_runs = RankRuns(*_part_on(rank, graph, program, options), program, options, drains)
    values = dict(sent_fields)
    for name, x in sent_fields.items():
        if isinstance(x, Reference):
            stored_array = on_host(rank.kept[x.key][x.name])
            make = from_input_order if name in program.edge_fields else Shard.with_mirrors
            values[name] = LocalArray(make(rank_runs.shard, rank.communicator, stored_array))
    rank.kept[key] = RankRun(rank.communicator, rank_runs, program, values, active, unused_runs)
    return _advance(rank, key, last_iteration, trace)


def _advance(rank: Rank, key: Any, last_iteration: int, trace: bool) -> Status:
    run: RankRun = rank.kept[key]
    run.communicator, run.traces = rank.communicator, trace
    run.advance(last_iteration)
    return _status(run)


def _save(rank: Rank, key: Any, saver: Saver) -> None:
    run: RankRun = rank.kept[key]
    run.communicator = rank.communicator
    saver.save(run)


def _restore(rank: Rank, key: Any, saver: Saver) -> Status:
    run: RankRun = rank.kept[key]
    run.communicator = rank.communicator
    saver.restore(run)
    return _status(run)


def _status(run: RankRun) -> Status:
    rows, run.rows = np.array(run.rows, np.int64).reshape(-1, 5), []
    # The bytes that ranks have sent are summed over ranks. All other columns of the trace are equal on all ranks.
    if run.traces:
        rows[:, 4] = np.sum(run.communicator.allgather(rows[:, 4].copy()), axis=0)
    return Status(run.iteration, run.edges, run.ended, run.stopped, rows)


def _leave(rank: Rank, key: Any, result: Any) -> tuple[Any, ...]:
    run: RankRun = rank.kept[key]
    own_count = run.shard.own
    rank.kept[result] = {name: array[:own_count].copy() for name, array in run.state.items()}
    fields = {name: ((run.shard.n, *array.shape[1:]), array.dtype) for name, array in run.state.items()}
    for name, array in run.edge_state.items():
        rank.kept[result][name] = to_input_order(rank.communicator, run.shard, array)
        fields[name] = (run.shard.m, *array.shape[1:]), array.dtype
    active = None
    if run.runs.whole.keeps_active or run.is_over():
        ids = on_host(run.active[run.active < own_count]).astype(np.int64) + run.shard.first
        active = np.concatenate(rank.communicator.allgather(ids if run.total else ids[:0]))
    at_vertices = run.at_vertices.arrays
    rank.kept[result] |= {name: array[:own_count].copy() for name, array in at_vertices.items()}
    return fields, active, run.aggregates.copy(), {name: array.dtype for name, array in at_vertices.items()}


def _changed(rank: Rank, key: Any) -> dict[str, Any]:
    run: RankRun = rank.kept[key]
    idle = run.traced.functions.get("idle")
    return {} if idle is None else {name: run.parameters[name] for name in run.parameters}


def _close(rank: Rank, key: Any) -> None:
    run = rank.kept.pop(key, None)
    if run is not None:
        run.close()
