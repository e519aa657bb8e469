"""Runs of a distributed graph over several GPUs that the first GPU does alone, because it has memory for the whole
graph.

In a run over several GPUs, the GPUs wait for each other in every superstep, and starting the run costs the host some
time per GPU. For small graphs, for searches (which visit each edge at most once), and for programs whose supersteps
need the host, one GPU alone is therefore faster.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import Device, array_module, finish, here, module_of, moved
from gasla.distributed.block_array import BlockArray, Handle, divide, fill_out
from gasla.distributed.checkpoint import is_saving
from gasla.distributed.collectives.properties import SHARE
from gasla.distributed.engine.cards_run import exchanges
from gasla.distributed.engine.run_options import Options
from gasla.distributed.replicas import MUCH, Shared, bytes_of_replica, has_copies, on_first_card, over_cards, release
from gasla.distributed.thread_ranks import turn_over_cards
from gasla.engines import Running, Runs, engine, peers, runner
from gasla.graph.graph import Graph
from gasla.program.binding import Outcome, Synchronous
from gasla.program.frontier import Frontier
from gasla.program.plan import Plan
from gasla.program.program import VertexProgram

# For programs in which all vertices are active: with at least this many edges all GPUs take part, and otherwise the
# first GPU alone. An iteration of PageRank on so many edges takes longer than two exchanges between GPUs.
DIVIDED = 1 << 25
# The same limit for other programs. In many of their iterations few vertices are active, as in shortest paths, so there
# is less work to divide.
DIVIDED_THIN = 1 << 28
# number of columns in the trace of a distributed run: active vertices, edges, push or pull, exchanges, bytes
OF_RANKS = 5


class Choice(NamedTuple):
    """The decision whether the first GPU runs a program alone, and the reason for it, as a clause that can follow
    "because".
    """

    is_one: bool
    reason: str


@functools.cache
def searches(kind: Any, id_type: np.dtype[Any]) -> bool:
    """Return whether a vertex receives messages at most once in a run of the program, as in a breadth-first search."""
    return Plan(kind.traced(id_type)).applies_once


def choose(program: VertexProgram, graph: Any, options: Options) -> Choice:
    """Decide whether the first GPU runs a vertex program alone, or all GPUs of this process run it together.

    Return the decision, and its reason for the user.
    """
    if program.edge_fields and any(field.attribute is not None for field in program.edge_fields.values()):
        return Choice(False, "the program reads an edge attribute, of which each rank has a part")
    kind: Any = type(program)
    if graph.one_card is None and graph.m >= DIVIDED:
        if searches(kind, options.id_type):
            return Choice(True, "each vertex receives at most once, as in a search")
        if not exchanges(program, options):
            return Choice(True, "over several cards the host takes part in each of its supersteps")
    return by_size(graph, DIVIDED if kind.everyone else DIVIDED_THIN)


def by_size(graph: Any, least: int) -> Choice:
    """Decide by a graph's number of edges whether the first GPU alone or all GPUs compute something.

    All GPUs do if the graph has at least `least` edges. The user's setting `graph.one_card`, if not None, overrides
    this.
    """
    if graph.one_card is not None:
        return Choice(bool(graph.one_card), f"the graph's one_card is {graph.one_card}")
    if graph.m < least:
        return Choice(True, f"the graph has {graph.m:,} edges, fewer than {least:,}")
    return Choice(False, f"the graph has {graph.m:,} edges, {least:,} or more")


def choose_call(graph: Any, divided: bool) -> Choice:
    """Decide whether the first GPU alone or all GPUs compute a call of a library function, such as an algorithm.

    `divided` says whether the function's programs are faster on a large graph that is divided among all GPUs.
    """
    if divided or graph.one_card is not None:
        return by_size(graph, DIVIDED)
    return Choice(True, "it would gain nothing from a divided graph")


def is_free(graph: Any, options: Options) -> bool:
    """Return whether this process could let one GPU run a vertex program alone, rather than all ranks.

    This is possible if this process drives the GPUs of all ranks, and the run may use GPUs.
    """
    return options.has_card and bool(graph.ranks.members())


def whole_graph(program: VertexProgram, graph: Any, options: Options) -> Graph | None:
    """Return a copy of the whole graph on the first GPU if that GPU should run the program alone.

    Return None if all ranks take part, or if the GPU has no memory for the copy.
    """
    if not is_free(graph, options) or is_saving():
        return None
    return on_first_card(graph) if choose(program, graph, options).is_one else None


def whole_graph_for_call(graph: Any, divided: bool = False) -> Graph | None:
    """Return a copy of the whole graph on the first GPU if that GPU should compute a call of a library function alone.

    Return None if all ranks take part, or if the GPU has no memory for the copy. `divided` says whether the function's
    programs are faster on a large graph that is divided among all GPUs.
    """
    return on_first_card(graph) if is_left_to_one(graph, divided) else None


def is_left_to_one(graph: Any, divided: bool) -> bool:
    """Return whether the first GPU alone should compute a call of a library function.

    Whether the whole graph fits in the GPU's memory is not considered here. `divided` says whether the function's
    programs are faster on a large graph that is divided among all GPUs.
    """
    return not is_saving() and bool(graph.ranks.members()) and choose_call(graph, divided).is_one


def alone(graph: Any, function: Callable[[Graph], Any]) -> Any:
    """Call `function` with a copy of the whole graph on the first GPU, and return its result, if one GPU should compute
    it.

    Return None without calling the function if all ranks take part.
    """
    whole_copy = whole_graph_for_call(graph)
    if whole_copy is None:
        return None
    with turn_over_cards, on_card(graph):
        output = function(whole_copy)
        finish(whole_copy.device)
    return output


def called(
    graph: Any, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], divided: bool = False
) -> Any:
    """Call a library function with the whole graph on the first GPU in place of the distributed graph, if that is
    faster.

    Otherwise call it with the distributed graph. If memory runs out, this frees cached results of earlier calls and the
    copy of the whole graph, and tries again at most twice, with the adjacency lists spread over the memory of all GPUs.
    """
    if not is_left_to_one(graph, divided):
        return function(*args, **kwargs)
    cards = sorted({member.card for member in graph.ranks.members()})
    # the last try also spreads arrays that have a few bytes per vertex
    for find_graph, least in ((on_first_card, None), (over_cards, graph.m), (over_cards, graph.m // 8)):
        if (whole := find_graph(graph)) is None:
            continue
        free = functools.partial(peers().free_unused, cards)
        spreading = peers().joint_memory.spreading(cards, least, free) if least is not None else nullcontext()
        with suppress(MemoryError), on_card(graph), spreading:
            return _call_on_first_card(graph, whole, function, args, kwargs)
        del whole
        release(graph)
    return function(*args, **kwargs)


def _call_on_first_card(
    graph: Any, whole: Graph, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Call a function on the first GPU, with the whole graph in place of the distributed graph among its arguments.

    Arrays with an entry per vertex among the arguments are copied to the first GPU, too.
    """

    def replace_argument(argument: Any) -> Any:
        if argument is graph:
            return Shared.of(whole, graph)
        if isinstance(argument, BlockArray):
            return joined(argument, whole.device, graph)
        is_of_vertices = (
            isinstance(argument, np.ndarray) and argument.shape[:1] == (graph.n,) and argument.dtype.kind in "biuf"
        )
        return moved(argument, whole.device) if is_of_vertices else argument

    with turn_over_cards, on_card(graph):
        result = function(
            *map(replace_argument, args), **{name: replace_argument(argument) for name, argument in kwargs.items()}
        )
        finish(whole.device)
        return in_blocks(graph, whole, result)


def joined(given: BlockArray, device: Device, graph: Any) -> Any:
    """Return a distributed array as one array on the first GPU: its blocks, concatenated.

    `graph` is the distributed graph, whose ranks have the GPUs.
    """
    members = given.handle.ranks.members()
    for member in members:
        with peers().on(member.card):
            finish(device)
    with on_card(graph):
        held = (member.kept[given.handle.key][given.name] for member in members)
        parts = [here(moved(part, device), device) for part in held]
        found = array_module(parts[0]).concatenate(parts)
        finish(device)  # another GPU may free its block after this returns, so wait until the first GPU has copied it
    return found


def in_blocks(graph: Any, whole: Graph, answer: Any) -> Any:
    """Return the result of a function that one GPU has computed, with each array divided into blocks, one per rank.

    `whole` is the copy of the graph on that GPU. The data stay there.
    """
    if isinstance(answer, Graph):
        return answer.to("cpu")
    if isinstance(answer, tuple | list):
        parts = [in_blocks(graph, whole, part) for part in answer]
        return type(answer)(*parts) if hasattr(answer, "_fields") else type(answer)(parts)
    if not isinstance(answer, module_of(whole.device).ndarray):
        return answer
    # Ranks divide vertices and edges at different bounds. In a graph with as many vertices as edges, an array may have
    # an entry per vertex or per edge, so it is not divided but copied to the host.
    ambiguous = graph.n == graph.m and len(vertex_bounds(graph)) > 2
    if answer.ndim == 0 or (ambiguous and len(answer) == graph.n):
        return moved(answer, "cpu")[()]
    of_vertices = len(answer) == graph.n
    bounds = vertex_bounds(graph) if of_vertices else even_bounds(graph, len(answer))
    divided = divide(graph.ranks.members(), Handle(graph.ranks), {"found": (answer, bounds)}, wait_no_more)
    return divided["found"]


def wait_no_more() -> None:
    """Do nothing, where a function is needed that waits for the GPU before a block of a result is read.

    The call that has computed the result has already waited.
    """


def sentences(program: VertexProgram, graph: Any, options: Options) -> tuple[list[str], bool]:
    """Return sentences for `gasla.explain` that say whether one GPU or all GPUs run the program, and why.

    The second result is True if the first GPU runs the program alone: then the sentences are the whole explanation.
    """
    if not is_free(graph, options):
        return [], False
    choice = choose(program, graph, options)
    whole = whole_graph(program, graph, options)
    if whole is not None:
        first = f"The first card runs it alone, on the whole graph, because {choice.reason}."
        with on_card(graph):
            return [first, *engine(whole.engine).explain(_runs(program, whole, options), program, whole)], True
    if not choice.is_one:
        return [f"All cards take part, because {choice.reason}."], False
    why = "a Checkpoint is open" if is_saving() else "the first has no room for the whole graph"
    return [f"All cards take part, because {why}, although {choice.reason}."], False


def sentences_of_call(graph: Any, gains: tuple[str, bool] | None) -> list[str]:
    """Return sentences for `gasla.explain` on a call of a library function: which GPUs compute it, and why.

    `gains` says what work GPUs can share in the function, and whether its programs are faster on a graph that is
    divided among all GPUs. It is None if this has to be decided for each of its programs.
    """
    members = graph.ranks.members()
    if not members:
        return [f"{graph.ranks.size} ranks take part, each with its part of the graph."]
    if gains is None:
        return ["Each of its programs runs where gasla.explain says it of the program."]
    (shared, divided), needed = gains, bytes_of_replica(graph)
    memory = (
        f"A copy of the whole graph takes up to {needed:,} bytes of a card, and at most half of what is free there."
    )
    choice, whole = choose_call(graph, divided), whole_graph_for_call(graph, divided)
    if whole is None and is_left_to_one(graph, divided) and over_cards(graph) is not None:
        how = "with neighbor lists in the memory of all, because no card has room for the whole graph"
        return [f"The first card computes it, {how}.", memory]
    if whole is None:
        why = "a Checkpoint is open" if is_saving() else "the first has no room for the whole graph"
        return [f"All cards take part, because {why if choice.is_one else choice.reason}.", memory]
    lines = [f"The first card computes it, on the whole graph, because {choice.reason}."]
    if shared and len(members) > 1:
        share = "share" if has_copies(graph) else "have no room for copies; else they would share"
        lines.append(f"The other cards {share} the {shared}, if that saves {MUCH:,} visits of edges or more.")
    return [*lines, memory]


def _runs(program: VertexProgram, whole: Graph, options: Options) -> Runs:
    """Return a vertex program prepared for runs on a copy of the whole graph on one GPU.

    The copy caches the prepared program, so that later runs reuse it.
    """

    def make(graph: Graph) -> Runs:
        return runner(graph.engine, options.compiled).prepare(program, graph, options.way, options.deterministic)

    return whole.kept(("over cards", type(program), options), make)


def on_card(graph: Any) -> AbstractContextManager[Any]:
    """Return a context manager in which the first GPU of a distributed graph is CUDA's current device."""
    context: AbstractContextManager[Any] = peers().on(graph.ranks.members()[0].card)
    return context


def vertex_bounds(graph: Any) -> np.ndarray:
    """Return the bounds of the ranges of vertices that ranks own: rank r owns the vertices bounds[r] to bounds[r + 1] -
    1.
    """
    bounds: np.ndarray = graph.ranks.members()[0].kept[graph.handle.key][SHARE].bounds
    return bounds


def even_bounds(graph: Any, count: int) -> np.ndarray:
    """Return bounds that divide an array of `count` rows, such as results at edges, evenly among the ranks.

    Rank r has the rows bounds[r] to bounds[r + 1] - 1.
    """
    bounds: np.ndarray = count * np.arange(graph.ranks.size + 1) // graph.ranks.size
    return bounds


class OneCardRun(Synchronous):
    """A run on the first GPU alone, whose results are divided among all ranks like those of other distributed runs.

    The methods may return while the GPU still works. Reading a block of a result then waits for the GPU.
    """

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
        self._members = graph.ranks.members()
        # a context manager in which the first GPU is CUDA's current device
        self._on: AbstractContextManager[Any] = peers().on(self._members[0].card)
        values = {**out, **fields}
        start_values = {
            n: joined(x, whole.device, graph) if isinstance(x, BlockArray) else x for n, x in values.items()
        }
        with self._on:
            runs = _runs(program, whole, options)
            self._run: Running = runs.begin(program, whole, start_values, frontier, None, delta, None)
        self.log_rows = self._run.log_rows

    iteration = property(lambda self: self._run.iteration)
    edges = property(lambda self: self._run.edges)
    ended = property(lambda self: self._run.ended)
    stopped = property(lambda self: self._run.stopped)

    def advance(self, until: int, progress: Callable[[int], Any] | None = None, trace: bool = False) -> None:
        """Run until iteration `until` or the end of the run."""
        with turn_over_cards, self._on:
            self._run.advance(until, progress, trace)

    def leave(self, until: int) -> bool:
        """Start the run on the GPU, up to iteration `until`, without waiting for its end.

        Return whether that was possible.

        It is not possible if results are to be copied into arrays of the caller (`out`).
        """
        with turn_over_cards, self._on:
            return not self._out and self._run.leave(until)

    def finish(self) -> None:
        """Wait for the end of an asynchronous run."""
        with self._on:
            self._run.finish()

    def log(self, rows: int) -> np.ndarray:
        """Return the first `rows` rows of the run's trace, which has a row per iteration.

        The columns for exchanges and bytes are 0, because one GPU exchanges nothing.
        """
        rows_of_log = np.zeros((rows, OF_RANKS), np.int64)
        with self._on:
            rows_of_log[:, :3] = self._run.log(rows)[:, :3]
        return rows_of_log

    def reasons(self) -> Mapping[int, str]:
        """Return, for push and for pull, the reason why iterations went in this direction, by the number of the
        direction.
        """
        return self._run.reasons()

    def outcome(self) -> Outcome:
        """Return the current results of the run: fields, iteration, whether it has ended, edges visited, active
        vertices and aggregates.
        """
        with self._on:
            state, iteration, ended, edges, frontier, aggregates = self._run.outcome()
            of_vertices = {name: array for name, array in aggregates.items() if np.ndim(array)}
            sums = self._in_blocks(of_vertices) if of_vertices else {}
            fields, active = self._in_blocks(state), frontier.to("cpu")
            numbers = {n: sums[n] if n in sums else moved(number, "cpu")[()] for n, number in aggregates.items()}
        fill_out(self._out, fields)
        return fields, iteration, ended, edges, active, numbers

    def state(self) -> Mapping[str, Any]:
        """Return the current fields of the run, as distributed arrays by name."""
        with self._on:
            return self._in_blocks(self._run.state())

    def _in_blocks(self, arrays: Mapping[str, Any]) -> dict[str, BlockArray]:
        """Divide arrays with an entry per vertex or per edge into one block per rank."""
        graph, first = self._graph, self._members[0]
        bounds: dict[str, np.ndarray] = dict.fromkeys(arrays, first.kept[graph.handle.key][SHARE].bounds)
        for name in self._program.edge_fields:
            if name in bounds:
                bounds[name] = even_bounds(graph, graph.m)
        whole = {name: (array, bounds[name]) for name, array in arrays.items()}
        return divide(self._members, Handle(graph.ranks), whole, peers().waiting(first.card))

    def changed(self) -> Mapping[str, Any]:
        """Return the current values of the parameters that `idle` changes."""
        with self._on:
            return self._run.changed()

    def close(self) -> None:
        """Release the memory of the run on the GPU, so that the next run of the program can use it."""
        self._run.close()
