"""Runs over GPUs of one process that the first GPU does alone, because it has room for the whole graph.

Supersteps over several GPUs meet, and a call takes the host some time for each of them. So small graphs, searches,
which visit each edge at most once, and programs whose supersteps end on the host take longer there than on one GPU.
"""

import functools
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import array_module, finish, here, moved
from gasla.distributed.block_array import BlockArray, Handle, divide, fill_out
from gasla.distributed.checkpoint import is_saving
from gasla.distributed.collectives.properties import SHARE
from gasla.distributed.engine.cards_run import exchanges
from gasla.distributed.engine.run_options import Options
from gasla.distributed.replicas import on_first_card
from gasla.distributed.thread_ranks import turn_over_cards
from gasla.engines import Running, Runs, engine, peers, runner
from gasla.graph.graph import Graph
from gasla.program.binding import Outcome, Synchronous
from gasla.program.frontier import Frontier
from gasla.program.plan import Plan
from gasla.program.program import VertexProgram

DIVIDED = 1 << 25  # edges from which all GPUs take part: an iteration of PageRank then takes longer than two exchanges
OF_RANKS = 5  # columns in the trace of a run over ranks: active vertices, edges, way, exchanges, bytes


class Choice(NamedTuple):
    """Whether the first GPU runs a program alone, and why, as a part of a sentence."""

    is_one: bool
    reason: str


@functools.cache
def searches(kind: Any, id_type: np.dtype[Any]) -> bool:
    """Return whether each vertex receives at most once in a run of the program, as in a search."""
    return Plan(kind.traced(id_type)).applies_once


def choose(program: VertexProgram, graph: Any, options: Options) -> Choice:
    """Choose for a run over GPUs of this process."""
    if any(field.attribute is not None for field in program.edge_fields.values()):
        return Choice(False, "the program reads an edge attribute, of which each rank has a part")
    if graph.one_card is not None:
        return Choice(bool(graph.one_card), f"the graph's one_card is {graph.one_card}")
    if graph.m < DIVIDED:
        return Choice(True, f"the graph has {graph.m:,} edges, fewer than {DIVIDED:,}")
    kind: Any = type(program)
    if searches(kind, options.id_type):
        return Choice(True, "each vertex receives at most once, as in a search")
    if not exchanges(program, options):
        return Choice(True, "over several cards the host takes part in each of its supersteps")
    return Choice(False, f"the graph has {graph.m:,} edges, {DIVIDED:,} or more")


def is_free(graph: Any, options: Options) -> bool:
    """Return whether there is a choice: ranks have GPUs of this process, and run the program there."""
    return options.has_card and bool(graph.ranks.members())


def whole_graph(program: VertexProgram, graph: Any, options: Options) -> Graph | None:
    """Return the whole graph on the first GPU, for a run of a program there alone, or None if all ranks take part."""
    if not is_free(graph, options) or is_saving():
        return None
    return on_first_card(graph) if choose(program, graph, options).is_one else None


def whole_graph_for_all_edges(graph: Any) -> Graph | None:
    """Return the same for a computation that visits each edge about once, and is no program."""
    if graph.one_card is False or not graph.ranks.members():
        return None
    return on_first_card(graph)


def alone(graph: Any, function: Callable[[Graph], Any]) -> Any:
    """Return the result of a function on the whole graph on the first GPU, or None if all ranks take part."""
    whole = whole_graph_for_all_edges(graph)
    if whole is None:
        return None
    with turn_over_cards, on_card(graph):
        answer = function(whole)
        finish(whole.device)
    return answer


def sentences(program: VertexProgram, graph: Any, options: Options) -> tuple[list[str], bool]:
    """Sentences for `gasla.explain` on the choice, and whether they say all about the run, as one GPU does it alone."""
    if not is_free(graph, options):
        return [], False
    chosen = choose(program, graph, options)
    whole = whole_graph(program, graph, options)
    if whole is not None:
        first = f"The first card runs it alone, on the whole graph, because {chosen.reason}."
        with on_card(graph):
            return [first, *engine(whole.engine).explain(_runs(program, whole, options), program, whole)], True
    if not chosen.is_one:
        return [f"All cards take part, because {chosen.reason}."], False
    why = "a Checkpoint is open" if is_saving() else "the first has no room for the whole graph"
    return [f"All cards take part, because {why}, although {chosen.reason}."], False


def _runs(program: VertexProgram, whole: Graph, options: Options) -> Runs:
    """Return what runs of the program share on the whole graph, which keeps it."""

    def make(graph: Graph) -> Runs:
        return runner(graph.engine, options.compiled).prepare(program, graph, options.way, options.deterministic)

    return whole.kept(("over cards", type(program), options), make)


def on_card(graph: Any) -> AbstractContextManager[Any]:
    """Make the first GPU of a graph the current one."""
    context: AbstractContextManager[Any] = peers().on(graph.ranks.members()[0].card)
    return context


def vertex_bounds(graph: Any) -> np.ndarray:
    """Rank r owns the vertices bounds[r] to bounds[r + 1] - 1."""
    bounds: np.ndarray = graph.ranks.members()[0].kept[graph.handle.key][SHARE].bounds
    return bounds


def edge_bounds(graph: Any) -> np.ndarray:
    """Of results at edges rank r has those of edges bounds[r] to bounds[r + 1] - 1."""
    bounds: np.ndarray = graph.m * np.arange(graph.ranks.size + 1) // graph.ranks.size
    return bounds


class OneCardRun(Synchronous):
    """A run on the first GPU, whose results are in blocks like those of all GPUs."""

    def __init__(
        self,
        options: Options,
        program: VertexProgram,
        graph: Any,
        whole: Graph,
        fields: Mapping[str, Any],
        frontier: Frontier,
        delta: float | None,
        out: Mapping[str, Any],
    ) -> None:
        self._graph, self._out, self._program = graph, out, program
        self._card = graph.ranks.members()[0].card
        start = {
            name: self._joined(x, whole) if isinstance(x, BlockArray) else x for name, x in {**out, **fields}.items()
        }
        with self._on():
            runs = _runs(program, whole, options)
            self._run: Running = runs.begin(program, whole, start, frontier, None, delta, None)
        self.log_rows = self._run.log_rows

    def _on(self) -> AbstractContextManager[Any]:
        """Make the GPU the current one."""
        context: AbstractContextManager[Any] = peers().on(self._card)
        return context

    def _joined(self, given: BlockArray, whole: Graph) -> Any:
        """Start values in blocks as one array on the first GPU."""
        members = given.handle.ranks.members()
        for member in members:
            with peers().on(member.card):
                finish(whole.device)
        with self._on():
            held = (member.kept[given.handle.key][given.name] for member in members)
            parts = [here(moved(part, whole.device), whole.device) for part in held]
            joined = array_module(parts[0]).concatenate(parts)
            finish(whole.device)  # before another GPU releases its block
        return joined

    iteration = property(lambda self: self._run.iteration)
    edges = property(lambda self: self._run.edges)
    ended = property(lambda self: self._run.ended)
    stopped = property(lambda self: self._run.stopped)

    def advance(self, until: int, progress: Callable[[int], Any] | None = None, trace: bool = False) -> None:
        """Run until iteration `until` or the end of the run."""
        with turn_over_cards, self._on():
            self._run.advance(until, progress, trace)

    def log(self, rows: int) -> np.ndarray:
        """Return the first rows of the trace, without exchanges and bytes."""
        rows_of_log = np.zeros((rows, OF_RANKS), np.int64)
        with self._on():
            rows_of_log[:, :3] = self._run.log(rows)[:, :3]
        return rows_of_log

    def reasons(self) -> Mapping[int, str]:
        """Return the reasons for push or pull, by way."""
        return self._run.reasons()

    def outcome(self) -> Outcome:
        """Return the current results of the run."""
        graph, handle = self._graph, Handle(self._graph.ranks)
        with self._on():
            state, iteration, ended, edges, frontier, aggregates = self._run.outcome()
            of_vertices, of_edges = vertex_bounds(graph), self._program.edge_fields
            whole = {name: (state[name], edge_bounds(graph) if name in of_edges else of_vertices) for name in state}
            whole |= {name: (array, of_vertices) for name, array in aggregates.items() if np.ndim(array)}
            active = frontier.to("cpu")
            blocks = divide(handle, whole)
        fields = {name: blocks[name] for name in state}
        fill_out(self._out, fields)
        numbers = {name: blocks.get(name, number) for name, number in aggregates.items()}
        return fields, iteration, ended, edges, active, numbers

    def state(self) -> Mapping[str, Any]:
        """Return the current fields."""
        return self.outcome()[0]

    def changed(self) -> Mapping[str, Any]:
        """Return the current values of the parameters that `idle` changes."""
        with self._on():
            return self._run.changed()

    def close(self) -> None:
        """Release the workspace for the next run."""
        with self._on():
            self._run.close()
