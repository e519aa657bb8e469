"""The protocols that an engine implements, and the choice of the engine by the device of the arrays.

An engine is a package whose `__init__.py` implements `Engine`; the reference engine implements only `Runner`. Engines
are named only here, by string: callers don't depend on which engine they have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from threading import Lock
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from gasla.arrays import Device
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph
from gasla.program import Frontier, Schedule, VertexProgram, WalkProgram
from gasla.program.binding import Outcome
from gasla.program.join_plan import JoinPlan
from gasla.program.terms import Array, Format, Lists, Multiply, Terms
from gasla.program.walk_plan import WalkBinding


class MatrixProduct(Protocol):
    """A product of two sparse matrices in two steps: count its entries, then compute them.

    In its terms `value` is an entry of A at (`row`, `other`), and `x` an entry of B at (`other`, `column`).
    """

    def count(self, most: int) -> Array | None:
        """Count the entries of each row, as int64. Return None if an offset or index of a matrix is out of range.

        Counting may end early once there are more than `most` entries; the counts are then smaller, but still of more.
        """

    def fill(self, indptr: Array, indices: Array, outs: tuple[Array, ...]) -> None:
        """Fill `indices` with the columns of the entries, ascending in each row, and `outs` with their values.

        `indptr` holds the prefix sums of the counts, and has the type of `indices`, int32 or int64.
        """


class Products(Protocol):
    """Products over semirings, of operands that `gasla.operations` has checked."""

    def ready(self, lists: Lists, terms: Terms, masked: bool) -> Multiply:
        """Compile a product of a matrix with a vector. See `gasla.program.terms.Ready`."""

    def ready_wide(self, lists: Lists, terms: Terms, masked: bool) -> Multiply:
        """Compile a product with a dense matrix: x, mask and outs are C-contiguous, of shape (rows, columns)."""

    def of_matrices(self, A: Lists, B: Lists, terms: Terms, left_out: Lists | None) -> MatrixProduct:
        """Prepare a product of two sparse matrices by rows, without the positions of the entries of `left_out`."""

    def at_entries(self, A: Lists, B: Lists, terms: Terms, mask: Lists, outs: tuple[Array, ...]) -> bool:
        """Fill `outs` with the product at each entry of a mask, in the mask's order.

        The value is the identity where the product has no entry. Parallel entries of the mask get equal values.
        Returns False if an offset or index of a matrix is out of range.
        """

    def in_format(self, A: Any, wanted: Format) -> Any:
        """Return a matrix as CSR or CSC, with all entries in stored order. `indptr`, `indices` and `data` suffice."""

    def lists_of(self, A: Any, form: Format, make: Callable[[], Lists]) -> Lists:
        """Return the lists that `make` returns, possibly cached for the next product of the matrix."""


class Running(Protocol):
    """A run in progress."""

    log_rows: int  # capacity of the trace's buffer, in iterations
    iteration: int
    edges: int
    ended: bool
    stopped: bool  # ended because `stop()` was true

    def advance(self, until: int, progress: Callable[[int], Any] | None = None, trace: bool = False) -> None:
        """Run until the iteration `until`, or the program's end, or a pause in which Python handles Ctrl-C."""

    def leave(self, until: int) -> bool:
        """Run to `until` asynchronously. Returns False, without side effects, if the engine cannot."""

    def known(self) -> dict[str, Any]:
        """Return attributes of the result of an asynchronous run that are known before its end."""

    def finish(self) -> None:
        """Wait for the end of an asynchronous run."""

    def log(self, rows: int) -> np.ndarray:
        """Return the first rows of the trace: active vertices, edges, direction.

        A distributed run adds exchanges and bytes.
        """

    def reasons(self) -> Mapping[int, str]:
        """Return the reason for each direction of an iteration."""

    def state(self) -> Mapping[str, Any]:
        """Return the current values of fields."""

    def changed(self) -> Mapping[str, Any]:
        """Return the current values of the parameters that `idle` changes."""

    def outcome(self) -> Outcome:
        """Return the current state of the run, as in `Result`."""

    def close(self) -> None:
        """Release the workspace for the next run."""


class Part(Running, Protocol):
    """A run on one part of a distributed graph: between iterations its mirrored vertices are updated."""

    def go_on(self, active: Array, parameters: Mapping[str, Any]) -> None:
        """Go on with these active vertices, and with changed parameters, even if the run had ended.

        Currently active vertices may be omitted only if the program has `activate`. With `everyone = True` all vertices
        receive in any case.
        """


class Together(Protocol):
    """Phases that take turns without their caller, on one graph."""

    def run(
        self,
        programs: Sequence[VertexProgram],
        stays: Sequence[int],
        graph: Graph,
        state: Mapping[str, Any],
        active: Frontier,
        limit: int,
        goes_on: bool,
        delta: float | None,
        progress: Callable[[int], Any] | None,
    ) -> Outcome | None:
        """Run up to `limit` turns of phases, whose shared fields are in `state`.

        Return None if memory does not suffice.

        `stays` limit the iterations of each phase in its turn. `goes_on`: a turn that leaves no vertex active may not
        be the last. The fields of the result are given by name, and `iterations` is the number of turns.

        Parameters
        ----------
        programs, stays :
            the program of each phase, and the most iterations of each in a turn, two sequences of equal length
        graph, state, active :
            the graph; fields by name, which all phases share; the vertices that are active first
        limit, goes_on :
            number of turns; whether a turn that leaves no vertex active may not be the last
        delta, progress :
            width of a bucket of priorities, or None; called with the number of turns now and then, or None
        """


class Runs(Protocol):
    """What runs of a program on a graph share, one after another. Kept by the graph, to which it does not refer."""

    turn: Lock  # lock of the call that has had it last, which holds it until it returns
    is_spare: bool  # whether only calls that are under way at once need it, so that it keeps no workspace meanwhile

    def compile_ahead(self, program: VertexProgram, graph: Graph) -> None:
        """Start to compile in the background, if the engine can."""

    def in_turns(self, programs: Sequence[VertexProgram], graph: Graph) -> Together | None:
        """Prepare runs of phases that take turns. Return None if the engine can't run them without its caller."""

    def begin(
        self,
        program: VertexProgram,
        graph: Graph,
        fields: Mapping[str, Any],
        frontier: Frontier | None,
        schedule: Schedule | None,
        delta: float | None,
        out: Mapping[str, Any] | None,
    ) -> Running:
        """Begin a run from a frontier or along a schedule. The program may have other parameters than before."""


class Draws(NamedTuple):
    """Arguments of a sample of neighbors: the seed, whether with replacement, and weights."""

    key: int  # the hash of the seed
    replace: bool
    weights: tuple[Any, Any] | None  # prefix sums and guide tables, for draws by weight


Share = tuple[int, int]  # (i, k): share i of k equal ones
WHOLE: Share = (0, 1)


class Primitives(Protocol):
    """The primitives, documented in `gasla.primitives`, for arguments that it has checked.

    A forest is an array with the parent of each vertex. Arrays are on the engine's device.
    """

    def hook(self, graph: Graph) -> Any:
        """Make a first forest, from the first out-neighbor of each vertex."""

    def link(
        self,
        graph: Graph,
        parents: Any,
        first: int,
        last: int | None,
        known: int | None,
        across: tuple[Any, Any] | None,
    ) -> None:
        """Unite the trees at both ends of edges, in place.

        With numbers and sizes of subtrees in `across`, only of edges between subtrees of which neither contains the
        other.
        """

    def link_groups(self, lists: Adjacency, groups: Any, parents: Any, known: int | None) -> None:
        """Unite the trees of the groups at both ends of edges, in place, in a forest whose entries are groups.

        `groups` has the group of each vertex, in the type of `parents` and of ids. The lists of vertices in the group
        `known` are not read.
        """

    def compress(self, parents: Any) -> None:
        """Set every parent to the root of its tree, in place."""

    def number(self, parents: Any) -> int:
        """Replace parents by the number of the tree, in place. Return the number of trees."""

    def likely_largest(self, parents: Any) -> int:
        """Return the most frequent root in a sample of vertices."""

    def label_components(self, graph: Graph) -> tuple[Any, Any]:
        """Return the number of components, and the component of each vertex. A whole algorithm (Afforest)."""

    def number_trees(self, graph: Graph) -> tuple[Any, Any, Any]:
        """Return parents, numbers and sizes of subtrees in a rooted spanning forest of a simple graph."""

    def extremes_of_subtrees(self, trees: tuple[Any, Any, Any], low: Any, high: Any) -> tuple[Any, Any]:
        """Return the smallest and the largest value in each subtree of the trees that `number_trees` returns."""

    def simplify(self, graph: Graph) -> Graph:
        """Return the graph as simple and undirected. If it is so already, return itself."""

    def orient(self, graph: Graph) -> Any:
        """Return the engine's oriented lists of a simple graph: its sorted Adjacency (by id), or lists by degree."""

    def count_common_neighbors(self, lists: Any, per_vertex: bool, share: Share = WHOLE) -> tuple[Any, Any]:
        """Count triangles, and on request the triangles at each vertex. A whole algorithm (forward lists).

        Each triangle is in one share of the work. Shares of the same lists can be counted by several engines.
        """

    def count_at_edges(self, graph: Graph, lists: Any) -> tuple[Any, Any]:
        """Count triangles, and the triangles at each stored edge, in the order of the input."""

    def color_in_order(self, lists: Adjacency, order: Any, colors: Any) -> None:
        """Give each vertex of color -1 the smallest one that no neighbor before it in the order has, in place."""

    def intersect(self, graph: Graph, sources: Any, targets: Any, weights: Any | None) -> Any:
        """Count the common out-neighbors of pairs of vertices, or add up their float64 weights."""

    def top_k(self, indptr: Any, indices: Any, values: Any, k: int) -> tuple[Any, Any]:
        """Return columns and values of the k largest entries of each row, padded with -1 and 0."""

    def common(self, graph: Graph, sources: Any, targets: Any, above: Any | None) -> tuple[Any, Any]:
        """List the common out-neighbors of pairs, above a bound each: the positions of pairs, and the vertices."""

    def has_edges(self, graph: Graph, sources: Any, targets: Any) -> Any:
        """Return for each pair of vertices whether there is an edge."""

    def count_cliques(self, graph: Graph, lists: Any, k: int) -> int:
        """Count the cliques of k >= 4 vertices, given the lists of `orient`. A whole algorithm (pivoting)."""

    def lightest_forest(self, lists: Adjacency, weights: Any | None) -> Any:
        """Return the list positions of the lightest spanning forest's edges, each from its smaller end."""

    def peel(self, graph: Graph) -> Any:
        """Return the core number of every vertex of a simple graph. A whole algorithm."""

    def peel_edges(self, graph: Graph, first: int, last: int) -> Any:
        """Return the level at which each edge of a simple graph is removed (`gasla.primitives.peel_edges`)."""

    def list_sums(self, lists: Adjacency, weights: Any) -> Any:
        """Return prefix sums of each list's weights, in float64, added in order."""

    def list_guides(self, lists: Adjacency, sums: Any) -> Any:
        """Return guide tables as uint32.

        Entry j of a list of d is the first position whose sum exceeds j / d of the total.
        """

    def walk(
        self, walking: WalkBinding, starts: Any, steps: int, key: int, weights: tuple[Any, Any] | None, first: int = 0
    ) -> Any:
        """Return random walks of a program, one row per walker.

        They are weighted if prefix sums and guide tables are given.

        `first` is the number of the first walker: ranks share the walkers.
        """

    def sample(self, lists: Adjacency, ids: Any, k: int, draws: Draws) -> Any:
        """Return `k` random neighbors of each vertex, one row per vertex, padded with -1."""

    def sample_lists(self, lists: Adjacency, ids: Any, k: int, row: int, draws: Draws) -> tuple[Any, Any, Any]:
        """Return random neighbors of each vertex, the numbers of their edges, and their rows, counted from `row`.

        A vertex has `k` entries, or fewer if its list is shorter and not `replace`; by weight, -1 stands for an entry
        that no edge of positive weight is left for. The first vertex draws as row `row` of `sample` does.
        """

    def search_lists(self, lists: Adjacency, values: Any, ids: Any, marks: Any, after: bool) -> Any:
        """Return for each of some vertices the position in its list at which a mark belongs, as int64.

        Values, one for each position, ascend in each list. All before the position are less than the mark, or `after`
        no more than it.
        """

    def append_distinct(self, vertices: Any, ids: Any) -> tuple[Any, Any]:
        """Append the new ids to distinct vertices, by first appearance. Return them, and each id's place in them."""

    def join(self, plan: JoinPlan, lists: Adjacency, kinds: Any) -> JoinRun:
        """Prepare a join on ascending lists: out-neighbors and, if it is directed, in-neighbors after those of all.

        The lists of further relations follow in the same order. Bit v of kinds, which has an entry of uint8 for each
        vertex, is set for those that may be in the place of the pattern's vertex v.
        """


class JoinRun(Protocol):
    """A join on a graph. The edges that matches begin with are divided into blocks."""

    blocks: int

    def total(self) -> int:
        """Return the number of matches."""

    def count(self, first: int = 0, number: int | None = None, most: int | None = None) -> list[int]:
        """Return the number of matches that begin in each of some blocks, by default in all.

        Where it reaches `most`, it may be any larger number.
        """

    def tally(self) -> Any:
        """Return the number of matches that each vertex is in. All vertices of the pattern must be matched."""

    def write(self, first: int, wanted: Any, rows: Any) -> list[int]:
        """Write matches of some blocks into rows. Return how many there were.

        `wanted` has for each block how many matches to skip, how many to take at most, and the row of the first one.
        """


class HostOnly(Protocol):
    """Further primitives of the CPU engine: whole algorithms, most on one thread. Callers have checked the graph."""

    def match_heaviest(self, lists: Adjacency, weights: Any, degrees: Any) -> Any:
        """Return the mate of each vertex, or -1. Lists have each edge in both directions. Degrees are at most 255."""

    def sum_at_edges(self, graph: Graph, lists: Any, weights: Any) -> Any | None:
        """Return the weights of opposite vertices, summed at each stored edge, or None if they differ too much."""

    def match_by_degrees(self, lists: Adjacency, in_lists: Adjacency | None, degrees: Any) -> Any:
        """Return the mate of each vertex, or -1, of edges that weigh the same. Ids are below 2**32."""

    def depth_first(self, graph: Graph) -> tuple[Any, Any, Any]:
        """Return the parent, the number and the low point of every vertex of a simple graph."""

    def depth_first_order(self, graph: Graph, starts: Any) -> tuple[Any, Any, Any]:
        """Return what `starts` reach in preorder and in postorder, and the parents of all vertices."""

    def dominators(self, graph: Graph, source: int) -> Any:
        """Return the immediate dominator of every vertex on its ways from the source."""

    def acyclic_order(self, graph: Graph) -> tuple[Any, Any, Any]:
        """Return an order by level, the level of each vertex, and for how many in-edges each vertex still waits."""

    def strong_components(self, graph: Graph) -> Any:
        """Return the smallest vertex of each vertex's strong component."""

    def adjacency_order(self, lists: Adjacency, weights: Any, most: int) -> tuple[Any, Any]:
        """Return a maximum adjacency order, and the weight from each vertex to those before it. Weights are int64."""

    def send_flow(self, network: Graph, source: int, target: int) -> tuple[int, Any]:
        """Return the value of a maximum flow, and the net flow of each edge. Capacities are int64, below 2**62."""

    def residual_sources(self, network: Graph, flow: Any, target: int) -> Any:
        """Mark the vertices from which edges of positive residual capacity lead to the target."""

    def count_paths(self, graph: Graph, sources: Any, targets: Any, least: int, most: int, is_bounded: bool) -> int:
        """Count the simple paths of `least` to `most` edges from each source to its target."""

    def list_paths(
        self,
        graph: Graph,
        sources: Any,
        targets: Any,
        least: int,
        most: int,
        is_bounded: bool,
        one_way: bool,
        limit: int | None,
    ) -> tuple[Any, Any]:
        """List such paths, as offsets and vertices.

        Parameters
        ----------
        graph, sources, targets :
            the graph; (searches,) ids of both ends of each search
        least, most :
            fewest and most edges of a path
        is_bounded, one_way :
            whether all vertices of a path are smaller than its source; whether only one direction of a cycle is listed
        limit :
            number of paths to list at most, or None
        """

    def maximal_cliques(self, graph: Graph, least: int, limit: int | None, is_counting: bool) -> Any:
        """List the maximal cliques of a simple graph, as offsets and vertices, or count them."""

    def louvain_levels(
        self,
        lists: tuple[Any, Any, Any],
        community: Any,
        vertices: tuple[Any, Any, Any, Any],
        limits: tuple[float, float],
        seed: int,
        refine: bool,
        iterations: int,
    ) -> list[Any]:
        """Return the communities after each level. `lists` are offsets, neighbors and weights, or None if each is 1.

        `vertices` are two node weights, the sizes, and whether each vertex is fixed; all but the first may be None.
        `limits` are the factor of the penalty and the maximum size.
        """

    def degrees(self, indptr: Any, weights: Any) -> Any:
        """Return the sum of the weights at each vertex, or the number of edges."""

    def balanced_parts(
        self,
        lists: tuple[Any, Any, Any],
        given: Any,
        weights: Any,
        k: int,
        tolerance: float,
        by_volume: bool,
        seed: int,
    ) -> tuple[Any, float, int]:
        """Return a part for each vertex, the weight of the edges between parts, and the communication volume.

        `lists` are offsets, neighbors and weights of edges, or None if each is 1; `given` are their weights before they
        were rounded, by which the cut is measured; `weights` are those of vertices.
        """

    def edge_triples(self, n: int, src: Any, dst: Any, times: Any, ends: Any) -> list[int]:
        """Count the triples of edges of ascending times, of 36 kinds.

        The third time is at most the end of the first.
        """


class CardOnly(Protocol):
    """Further primitives of the GPU engine: whole algorithms. Callers have checked the graph, which is on the GPU."""

    def label_sides(self, graph: Graph) -> Any:
        """Return the side of each vertex in its component, 0 for the smallest one. It is -1 where an odd cycle is."""

    def decide_in_order(self, lists: Adjacency, ranks: Any) -> Any:
        """Return which vertices join the set of a loop by falling rank. The ranks are used up."""


@cache
def peers() -> Any:
    """Return the module whose `PeerRun` runs a program on several GPUs that exchange values themselves."""
    return import_module("gasla.gpu.program.peers")


class Runner(Protocol):
    """Runs vertex programs."""

    def prepare(
        self, program: VertexProgram, graph: Graph, way: int, deterministic: bool = False, scheduled: bool = False
    ) -> Runs:
        """Prepare the runs of a program on a graph. `way` is AUTO, PUSH or PULL of `gasla.program.binding`."""


class Engine(Runner, Protocol):
    """An engine for one kind of device."""

    def explain(self, runs: Runs, program: VertexProgram, graph: Graph) -> list[str]:
        """Return the sentences of `gasla.explain`."""

    def explain_elsewhere(
        self, program: VertexProgram, graph: Graph, way: int, deterministic: bool, scheduled: bool
    ) -> list[str]:
        """Return the sentences of `gasla.explain` that need neither the engine's device nor a graph there."""

    def staged(self, program: VertexProgram, graph: Graph, fields: Mapping[str, Any]) -> Any:
        """Return a program bound to a graph for `gasla.stages`."""

    def source(self, program: type[VertexProgram], id_type: np.dtype[Any]) -> str:
        """Return the generated code of a program."""

    def walk_source(self, program: type[WalkProgram], id_type: np.dtype[Any]) -> str:
        """Return the generated code of a walk program."""

    def workspace(self, program: VertexProgram, graph: Graph, deterministic: bool) -> int:
        """Return the most bytes that a run takes, besides the graph and its fields."""

    def products(self) -> Products:
        """Return the engine's products over semirings."""

    def primitives(self) -> Primitives:
        """Return the engine's primitives."""


@cache
def engine(device: str) -> Engine:
    """Return the engine for arrays of a device, "cpu" or "gpu", or "distributed" for distributed graphs."""
    return cast(Engine, _face(device))


@cache
def runner(device: str, compiled: bool) -> Runner:
    """Return the engine of a device if `compiled`, otherwise the reference engine."""
    chosen = engine(device)
    if compiled:
        return chosen
    return getattr(chosen, "interpreted", None) or cast(Runner, _face("reference"))


_interprets = ContextVar("interprets", default=False)
_chooses_kernels = ContextVar("chooses_kernels", default=True)


@contextmanager
def _within(variable: ContextVar[bool], value: bool) -> Iterator[None]:
    """Give a variable another value in this context."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def interpreted() -> AbstractContextManager[None]:
    """Run every vertex program in this context as with `compile=False`, including those of gasla's algorithms.

    Functions of programs are called on whole NumPy arrays: nothing is compiled, and iterations are some hundred times
    slower. For small graphs, tests, and debugging. Operations that are not vertex programs (primitives, products,
    walks) stay compiled.

    Examples
    --------
    >>> import gasla
    >>> path = gasla.Graph.from_edges([0, 1], [1, 2])
    >>> with gasla.engines.interpreted():
    ...     gasla.bfs(path, 0)
    array([0, 1, 2], dtype=int32)
    """
    return _within(_interprets, True)


def running_as(compiled: bool) -> AbstractContextManager[None]:
    """Return a context in which programs are compiled or not, as in the one that `compiles` described."""
    return nullcontext() if compiled else interpreted()


def compiles() -> bool:
    """Return whether programs are compiled in this context: not within `interpreted`."""
    return not _interprets.get()


def programs_only() -> AbstractContextManager[None]:
    """Run vertex programs in this context where an algorithm would run on one thread, as small graphs do on the CPU.

    For tests, and to list the code that graphs on a GPU need.

    Examples
    --------
    >>> import gasla
    >>> triangle = gasla.Graph.from_edges([0, 1, 2], [1, 2, 0])
    >>> with gasla.engines.programs_only():
    ...     gasla.louvain_communities(triangle).labels
    array([0, 0, 0], dtype=int32)
    """
    return _within(_chooses_kernels, False)


def chooses_kernels() -> bool:
    """Return whether algorithms may run on one thread, without programs.

    Within `interpreted` and `programs_only` they may not.
    """
    return _chooses_kernels.get() and compiles()


def _face(package: str) -> object:
    """Return the package of an engine, imported on first use."""
    return import_module(f"gasla.{package}")


def engine_of_language(target: str) -> Engine:
    """Return the engine that generates code for a target: "cpu" or "cuda"."""
    devices: dict[str, Device] = {"cpu": "cpu", "cuda": "gpu"}
    if target not in devices:
        raise ValueError(f"target is {target!r}; expected 'cpu' or 'cuda'")
    return engine(devices[target])
