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
    """A product of two sparse matrices A and B, computed in two steps: count its entries, then fill them in.

    In its terms `value` is an entry of A at (`row`, `other`), and `x` an entry of B at (`other`, `column`).
    """

    def count(self, most: int) -> Array | None:
        """Return the number of entries in each row of the product, or None if an index of A or B is out of range.

        Counting may end early once there are more than `most` entries in all. The counts are then too small, but still
        add up to more than `most`.
        """

    def fill(self, indptr: Array, indices: Array, outs: tuple[Array, ...]) -> None:
        """Fill `indices` with the columns of the product's entries, and the arrays `outs` with the values of the
        entries.

        Columns ascend in each row. `indptr` holds the prefix sums of the counts that `count` has returned. It has the
        type of `indices`, int32 or int64.
        """


class Products(Protocol):
    """An engine's products of matrices and vectors over semirings. `gasla.operations` checks the operands before it
    calls these methods.
    """

    def ready(self, lists: Lists, terms: Terms, masked: bool) -> Multiply:
        """Compile the product of a matrix and a vector, and return a function that computes it.

        See `gasla.program.terms.Ready`.
        """

    def ready_wide(self, lists: Lists, terms: Terms, masked: bool) -> Multiply:
        """Compile the product of a sparse and a dense matrix, and return a function that computes it.

        The function takes C-contiguous arrays `x`, `mask` and `outs` of shape (rows, columns).
        """

    def of_matrices(self, A: Lists, B: Lists, terms: Terms, left_out: Lists | None) -> MatrixProduct:
        """Prepare the product of two sparse matrices A and B, which is computed row by row, and return an object that
        computes it.

        The product has no entry at the positions of the entries of `left_out`.
        """

    def at_entries(self, A: Lists, B: Lists, terms: Terms, mask: Lists, outs: tuple[Array, ...]) -> bool:
        """Fill `outs` with the product of two sparse matrices at the entries of a mask, in the order of these entries.

        The value is the identity where the product has no entry. Parallel entries of the mask get equal values.
        Returns False if an offset or index of a matrix is out of range.
        """

    def in_format(self, A: Any, wanted: Format) -> Any:
        """Return a matrix converted to CSR or CSC, with all entries in stored order.

        The result needs no attributes but `indptr`, `indices` and `data`.
        """

    def lists_of(self, A: Any, form: Format, make: Callable[[], Lists]) -> Lists:
        """Return the adjacency lists of a matrix in CSR or CSC form, which `make` builds.

        An engine may cache the lists for the next product with this matrix.
        """


class Running(Protocol):
    """A run of a vertex program that has begun, which the caller advances by some iterations at a time."""

    log_rows: int  # maximum number of iterations whose rows the buffer of the trace can hold
    iteration: int
    edges: int
    ended: bool
    stopped: bool  # whether the run ended because the program's `stop()` returned true

    def advance(self, until: int, progress: Callable[[int], Any] | None = None, trace: bool = False) -> None:
        """Run a program until iteration `until` or until it ends, or until a pause in which Python can handle Ctrl-C.

        `progress` is a function that is called now and then to show how far the run is. With `trace`, each iteration
        writes a row that `log` returns.
        """

    def leave(self, until: int) -> bool:
        """Start an asynchronous run until iteration `until`: return without waiting for its end.

        Return False, and start nothing, if the engine can't run asynchronously.
        """

    def known(self) -> dict[str, Any]:
        """Return the attributes of the result, by name, that an asynchronous run knows before it has ended."""

    def finish(self) -> None:
        """Wait until an asynchronous run has ended."""

    def log(self, rows: int) -> np.ndarray:
        """Return the first `rows` rows of the trace, which has a row for each iteration of the run.

        A row holds the iteration's number of active vertices, number of edges, and direction (push or pull). In a
        distributed run it also holds the number of exchanges between processes and of the bytes exchanged.
        """

    def reasons(self) -> Mapping[int, str]:
        """Return for each direction (push or pull) a sentence that says why the engine has chosen it."""

    def state(self) -> Mapping[str, Any]:
        """Return the current values of the program's fields, by name."""

    def changed(self) -> Mapping[str, Any]:
        """Return the current values of the program's parameters that its function `idle` changes, by name."""

    def outcome(self) -> Outcome:
        """Return the state of a run, such as its iteration and its fields, from which a `Result` is made for the
        caller.
        """

    def close(self) -> None:
        """Release the memory of the run, so that the next run can use it."""


class Part(Running, Protocol):
    """A run of a vertex program on one part of a distributed graph.

    Between iterations, the values of mirrored vertices (copies of vertices of other parts) are updated.
    """

    def go_on(self, active: Array, parameters: Mapping[str, Any]) -> None:
        """Continue a run with other active vertices and changed parameters, even if the run had ended.

        Only if the program has the function `activate`, `active` may omit vertices that are active now. In programs
        with `everyone = True`, all vertices receive values, whether or not their neighbors are active.
        """


class Together(Protocol):
    """Several programs (phases) that take turns on one graph, without returning to Python between turns."""

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
        """Run several programs (phases) in turns, up to `limit` turns, on fields that all phases share.

        Return None if memory does not suffice. The result has the fields by name, and the number of turns as
        `iterations`.

        Parameters
        ----------
        programs, stays :
            the program of each phase, and the maximum number of iterations of each phase in a turn, two sequences of
            equal
            length
        graph, state, active :
            the graph; fields by name, which all phases share; the vertices that are active first
        limit, goes_on :
            maximum number of turns; whether another turn follows a turn that leaves no vertex active
        delta, progress :
            width of a bucket of priorities, or None; a function that is called now and then with the number of turns,
            or
            None
        """


class Runs(Protocol):
    """The state that all runs of one program on one graph share, such as memory. The graph caches this object.

    The object does not refer to the graph, so that the graph can be freed.
    """

    turn: Lock  # lock of the call that used this object last, which is held until that call returns
    is_spare: bool  # whether only simultaneous calls need this object; if so, its memory is freed after each call

    def compile_ahead(self, program: VertexProgram, graph: Graph) -> None:
        """Start to compile a program in the background, before its first run, if the engine can do this."""

    def in_turns(self, programs: Sequence[VertexProgram], graph: Graph) -> Together | None:
        """Prepare to run several programs in turns on one graph. Return an object that runs them.

        Return None if the engine can't run them without returning to Python between turns.
        """

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
        """Begin a run of a program from a frontier (the vertices active first), or along a schedule.

        A schedule says in which iteration each vertex receives. The program's parameters may differ from those of
        earlier runs.
        """


class Draws(NamedTuple):
    """Arguments for drawing random neighbors: the seed, whether a neighbor may be drawn twice, and weights of edges."""

    key: int  # the hash of the seed
    replace: bool
    # the cumulative weights of edges, and tables that speed up searches in them; None if all edges are equally likely
    weights: tuple[Any, Any] | None


Share = tuple[int, int]  # two numbers (i, k) that stand for part i of some work, which is divided into k equal parts
WHOLE: Share = (0, 1)


class Primitives(Protocol):
    """The operations on graphs that an engine offers besides vertex programs, such as finding components or peeling.

    `gasla.primitives` documents them, and checks their arguments before it calls an engine. A forest is an array with
    the parent of each vertex. Arrays are on the engine's device.
    """

    def hook(self, graph: Graph) -> Any:
        """Return a forest, as an array of parents: each vertex is a child of its first out-neighbor, if that has a
        smaller id.

        This is the first step of finding connected components.
        """

    def link(
        self,
        graph: Graph,
        parents: Any,
        first: int,
        last: int | None,
        known: int | None,
        across: tuple[Any, Any] | None,
    ) -> None:
        """Unite the trees of a forest that edges of the graph join, in place.

        Only the edges from position `first` to `last` of each adjacency list are used. The adjacency lists of vertices
        in the tree of the root `known` are not read. `across` may have the preorder numbers and sizes of subtrees. Then
        only edges between two subtrees are used, neither of which contains the other.
        """

    def link_groups(self, lists: Adjacency, groups: Any, parents: Any, known: int | None) -> None:
        """Unite the trees of a forest of groups of vertices that edges join, in place.

        `parents` has the parent of each group, and `groups` the group of each vertex, in the type of `parents` and of
        ids. The adjacency lists of vertices in the group `known` are not read.
        """

    def compress(self, parents: Any) -> None:
        """Replace the parent of every vertex in a forest by the root of its tree, in place."""

    def number(self, parents: Any) -> int:
        """Replace the parent of every vertex in a forest by the number of its tree, in place. Trees are numbered from
        0.

        Return the number of trees.
        """

    def likely_largest(self, parents: Any) -> int:
        """Return the root that is most frequent among randomly sampled vertices of a forest, probably that of the
        largest tree.
        """

    def label_components(self, graph: Graph) -> tuple[Any, Any]:
        """Return the number of connected components, and the component of each vertex (algorithm Afforest)."""

    def number_trees(self, graph: Graph) -> tuple[Any, Any, Any]:
        """Return the parent, the preorder number and the subtree size of each vertex in a spanning forest."""

    def extremes_of_subtrees(self, trees: tuple[Any, Any, Any], low: Any, high: Any) -> tuple[Any, Any]:
        """Return for each vertex of a spanning forest the smallest value of `low` and the largest of `high` in its
        subtree.

        `trees` is what `number_trees` returns.
        """

    def simplify(self, graph: Graph) -> Graph:
        """Return the graph without directions, parallel edges and self-loops.

        A graph that has none is returned itself.
        """

    def orient(self, graph: Graph) -> Any:
        """Return the adjacency lists with each edge in one direction, in the form in which this engine counts
        triangles.

        These are sorted lists, an Adjacency, if vertices are ordered by id, or lists of later neighbors in the order of
        degrees.
        """

    def count_common_neighbors(self, lists: Any, per_vertex: bool, share: Share = WHOLE) -> tuple[Any, Any]:
        """Count the triangles of a graph and, if `per_vertex`, the triangles at each vertex.

        `share` selects a part of the work, so that several engines with the same lists can divide it. Each triangle is
        counted in one part only.
        """

    def count_at_edges(self, graph: Graph, lists: Any) -> tuple[Any, Any]:
        """Count the triangles of a graph, and those that each stored edge is part of, in the input's order of edges."""

    def color_in_order(self, lists: Adjacency, order: Any, colors: Any) -> None:
        """Color the vertices whose color is -1, one after the other in a given order, in place.

        Each vertex gets the smallest color that no neighbor before it in the order has.
        """

    def intersect(self, graph: Graph, sources: Any, targets: Any, weights: Any | None) -> Any:
        """Return for each pair of vertices the number of their common out-neighbors or, given weights, the sum of these
        neighbors' weights.
        """

    def top_k(self, indptr: Any, indices: Any, values: Any, k: int) -> tuple[Any, Any]:
        """Return the columns and values of the k largest entries in each row of a matrix, padded with -1 and 0."""

    def common(self, graph: Graph, sources: Any, targets: Any, above: Any | None) -> tuple[Any, Any]:
        """Return the common out-neighbors of each pair of vertices, as two arrays: the index of the pair, and the
        neighbor.

        `above` has a vertex id for each pair, or is None for no limit. Only neighbors with larger ids are returned.
        """

    def has_edges(self, graph: Graph, sources: Any, targets: Any) -> Any:
        """Return for each pair of vertices whether there is an edge between them."""

    def count_cliques(self, graph: Graph, lists: Any, k: int) -> int:
        """Count the cliques of `k` vertices, for k of 4 or more, by a search with pivots. `lists` is what `orient`
        returns.
        """

    def lightest_forest(self, lists: Adjacency, weights: Any | None) -> Any:
        """Return the edges of a minimum spanning forest.

        Each edge is given by its position in the adjacency list of its smaller end.
        """

    def peel(self, graph: Graph) -> Any:
        """Return the core number of every vertex of a simple graph, by removing vertices of low degree until none is
        left.
        """

    def peel_edges(self, graph: Graph, first: int, last: int) -> Any:
        """Return the level at which each edge of a simple graph is removed, as in `gasla.primitives.peel_edges`."""

    def list_sums(self, lists: Adjacency, weights: Any) -> Any:
        """Return the cumulative weights of the edges in each adjacency list, as float64, added from left to right."""

    def list_guides(self, lists: Adjacency, sums: Any) -> Any:
        """Return a table for each adjacency list that speeds up searches in the list's cumulative weights, as uint32.

        Entry j for a list of d edges is the first position whose cumulative weight exceeds j / d of the list's total.
        """

    def walk(
        self, walking: WalkBinding, starts: Any, steps: int, key: int, weights: tuple[Any, Any] | None, first: int = 0
    ) -> Any:
        """Return the random walks of a walk program, one row per walker.

        Edges are drawn in proportion to weights if `weights` has cumulative weights and search tables. `first` is the
        number of the first walker, as the processes of a distributed run divide the walkers.
        """

    def sample(self, lists: Adjacency, ids: Any, k: int, draws: Draws) -> Any:
        """Return `k` random neighbors of each vertex, one row per vertex.

        Rows with fewer neighbors are padded with -1.
        """

    def sample_lists(self, lists: Adjacency, ids: Any, k: int, row: int, draws: Draws) -> tuple[Any, Any, Any]:
        """Return random neighbors of each vertex as three arrays: the neighbors, the ids of the edges to them, and row
        numbers.

        Rows are counted from `row`. A vertex has `k` neighbors, or fewer if its adjacency list is shorter and neighbors
        must not repeat. In draws by weight, -1 stands for a neighbor that is missing because no edge of positive weight
        is left. The draws are the same as those of `sample` for rows from `row` on.
        """

    def search_lists(self, lists: Adjacency, values: Any, ids: Any, marks: Any, after: bool) -> Any:
        """Return for each vertex in `ids` the position in its adjacency list at which its mark would be inserted, as
        int64.

        `values` has a number for each position of the lists, such as a time, and these numbers ascend in each list.
        `marks` has a number for each vertex in `ids`. Values before the returned position are less than the mark or, if
        `after`, at most the mark.
        """

    def append_distinct(self, vertices: Any, ids: Any) -> tuple[Any, Any]:
        """Append those of `ids` that are not in `vertices`, each once, in the order of their first appearance.

        Return the longer array of vertices, and the position of each of `ids` in it.
        """

    def join(self, plan: JoinPlan, lists: Adjacency, kinds: Any) -> JoinRun:
        """Prepare to match a pattern in a graph with sorted adjacency lists.

        `lists` has the out-neighbors of all vertices and, if the plan is directed, the in-neighbors of all vertices
        after these. The lists of further relations follow in the same order. `kinds` has an entry of uint8 for each
        vertex of the graph, in which bit v is set if the vertex may match vertex v of the pattern.
        """


class JoinRun(Protocol):
    """A search for the matches of a pattern in a graph. Each match begins with an edge, and these edges are divided
    into blocks.
    """

    blocks: int

    def total(self) -> int:
        """Return the number of all matches."""

    def count(self, first: int = 0, number: int | None = None, most: int | None = None) -> list[int]:
        """Return the number of matches in each of `number` blocks of first edges, from block `first` on, by default in
        all blocks.

        A count of at least `most` may be wrong, but is then still at least `most`. This lets the search end early.
        """

    def tally(self) -> Any:
        """Return for each vertex of the graph the number of matches of the pattern that contain the vertex.

        The plan must match all vertices of the pattern one by one. A plan that only counts how often some of them are
        matched can't be used here.
        """

    def write(self, first: int, wanted: Any, rows: Any) -> list[int]:
        """Write the matches in some blocks of first edges into rows, and return the number of matches written for each
        block.

        `wanted` has for each block how many matches to skip, how many to write at most, and the row of the block's
        first match.
        """


class HostOnly(Protocol):
    """The operations on graphs that only the CPU engine has. Most run on one thread. Callers have checked the graph."""

    def match_heaviest(self, lists: Adjacency, weights: Any, degrees: Any) -> Any:
        """Return the mate of each vertex in a matching of large weight, or -1 for a vertex without one.

        The adjacency lists must have each edge in both directions. Degrees must be at most 255.
        """

    def sum_at_edges(self, graph: Graph, lists: Any, weights: Any) -> Any | None:
        """Return for each stored edge the sum of the weights of all vertices that form a triangle with the edge.

        Return None if the weights differ so much that sums of integers could not represent them.
        """

    def match_by_degrees(self, lists: Adjacency, in_lists: Adjacency | None, degrees: Any) -> Any:
        """Return the mate of each vertex in a matching of edges of equal weight, or -1 for a vertex without a mate.

        Ids must be below 2**32.
        """

    def depth_first(self, graph: Graph) -> tuple[Any, Any, Any]:
        """Return the parent, the preorder number and the low point of every vertex in a depth-first search."""

    def depth_first_order(self, graph: Graph, starts: Any) -> tuple[Any, Any, Any]:
        """Search depth-first from the vertices `starts`.

        Return the reached vertices in preorder and in postorder, and the parents of all vertices.
        """

    def dominators(self, graph: Graph, source: int) -> Any:
        """Return the immediate dominator of every vertex: the last other vertex on all paths to it from the source."""

    def acyclic_order(self, graph: Graph) -> tuple[Any, Any, Any]:
        """Return a topological order by levels, the level of each vertex, and for each vertex the number of its
        in-edges from vertices outside the order.

        The last number is positive only for vertices on a cycle or reached from one, which have no place in the order.
        """

    def strong_components(self, graph: Graph) -> Any:
        """Return for each vertex the smallest vertex of its strongly connected component."""

    def adjacency_order(self, lists: Adjacency, weights: Any, most: int) -> tuple[Any, Any]:
        """Return an order of vertices in which the next vertex is always one with the largest weight of edges to
        earlier vertices.

        Also return this weight for each vertex. Weights are int64.
        """

    def send_flow(self, network: Graph, source: int, target: int) -> tuple[int, Any]:
        """Return the value of a maximum flow, and the net flow along each edge. Capacities are int64, below 2**62."""

    def residual_sources(self, network: Graph, flow: Any, target: int) -> Any:
        """Return a bool for each vertex: whether more flow can reach the target from it, along edges of positive
        residual capacity.
        """

    def count_paths(self, graph: Graph, sources: Any, targets: Any, least: int, most: int, is_bounded: bool) -> int:
        """Count the simple paths of `least` to `most` edges from each source to its target.

        If `is_bounded`, all vertices of a path must be smaller than its source.
        """

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
        """List the simple paths from each source to its target, as two arrays: the offset of each path, and the paths'
        vertices.

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
        """List or count the maximal cliques of a simple graph that have `least` or more vertices.

        The list is two arrays: the offset at which each clique begins, and the vertices of all cliques, one clique
        after the other.
        """

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
        """Return the community of each vertex after each level of the Louvain algorithm.

        `lists` are the offsets, neighbors and weights of edges, or None for weights that are all 1. `vertices` are two
        weights of each vertex, its size, and whether its community is fixed. All but the first may be None. `limits`
        are the factor of the penalty and the maximum size of a community.
        """

    def degrees(self, indptr: Any, weights: Any) -> Any:
        """Return for each vertex the sum of the weights of its edges or, without weights, their number."""

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
        """Divide the vertices into k parts of about equal weight between which there are few edges.

        Return the part of each vertex, the weight of the edges between parts, and the communication volume. `lists` are
        the offsets, neighbors and rounded weights of edges, or None for weights that are all 1. `given` are the weights
        before they were rounded, by which the cut is measured, and `weights` those of vertices.
        """

    def edge_triples(self, n: int, src: Any, dst: Any, times: Any, ends: Any) -> list[int]:
        """Count the temporal motifs of three edges: triples of edges with ascending times, separately for 36 patterns.

        The time of the third edge must be at most the end (in `ends`) of the first edge.
        """


class CardOnly(Protocol):
    """The operations on graphs that only the GPU engine has. Callers have checked the graph, which is on the GPU."""

    def label_sides(self, graph: Graph) -> Any:
        """Return the side (0 or 1) of each vertex in its bipartite component, or -1 if the component has an odd cycle.

        The smallest vertex of each component has side 0.
        """

    def decide_in_order(self, lists: Adjacency, ranks: Any) -> Any:
        """Return the independent set that a loop over vertices by falling rank would find, as a bool for each vertex.

        The loop adds a vertex if none of its neighbors is in the set. The array of ranks is overwritten.
        """


@cache
def peers() -> Any:
    """Return the module of `PeerRun`, which runs a program on several GPUs that exchange values directly."""
    return import_module("gasla.gpu.program.peers")


class Runner(Protocol):
    """The part of an engine's interface that runs vertex programs. The reference engine implements nothing else."""

    def prepare(
        self, program: VertexProgram, graph: Graph, way: int, deterministic: bool = False, scheduled: bool = False
    ) -> Runs:
        """Prepare to run a program on a graph. Return an object with the state that runs of this program share.

        `way` is the constant AUTO, PUSH or PULL of `gasla.program.binding`.
        """


class Engine(Runner, Protocol):
    """An engine for arrays on one kind of device."""

    converts_weights: bool
    """Whether kernels read weights of any dtype and convert them to float64, so that a graph needs no copy in float64.

    It decides by which programs Louvain's and Leiden's methods run.
    """

    def explain(self, runs: Runs, program: VertexProgram, graph: Graph) -> list[str]:
        """Return the sentences that `gasla.explain` prints about a program on a graph."""

    def explain_elsewhere(
        self, program: VertexProgram, graph: Graph, way: int, deterministic: bool, scheduled: bool
    ) -> list[str]:
        """Return the sentences of `gasla.explain` for a graph that is on another device than this engine's, or without
        the device.

        The sentences are made without this engine's device, and without arrays on it.
        """

    def staged(self, program: VertexProgram, graph: Graph, fields: Mapping[str, Any]) -> Any:
        """Return an object that runs the stages of an iteration of a program, such as gather and apply, one by one.

        `gasla.stages` uses it.
        """

    def source(self, program: type[VertexProgram], id_type: np.dtype[Any]) -> str:
        """Return the source code that the engine generates for a vertex program."""

    def walk_source(self, program: type[WalkProgram], id_type: np.dtype[Any]) -> str:
        """Return the source code that the engine generates for a walk program."""

    def workspace(self, program: VertexProgram, graph: Graph, deterministic: bool) -> int:
        """Return the largest number of bytes that a run of a program takes, in addition to the graph and its fields."""

    def products(self) -> Products:
        """Return the object that computes this engine's products over semirings."""

    def primitives(self) -> Primitives:
        """Return the object that has this engine's primitives."""


@cache
def engine(device: str) -> Engine:
    """Return the engine of a device: "cpu", "gpu", or "distributed" for distributed graphs."""
    return cast(Engine, _face(device))


@cache
def runner(device: str, compiled: bool) -> Runner:
    """Return the engine that runs vertex programs on a device: the device's own or, if not `compiled`, one that calls
    Python.
    """
    chosen = engine(device)
    if compiled:
        return chosen
    return getattr(chosen, "interpreted", None) or cast(Runner, _face("reference"))


_interprets = ContextVar("interprets", default=False)
_chooses_kernels = ContextVar("chooses_kernels", default=True)


@contextmanager
def _within(variable: ContextVar[bool], value: bool) -> Iterator[None]:
    """Return a context in which the context variable `variable` has the value `value`."""
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
    """Return a context in which programs are compiled or, if not `compiled`, run as within `interpreted`.

    The ranks of a distributed run use it to run programs in the same way as their caller, for which `compiles` returned
    `compiled`.
    """
    return nullcontext() if compiled else interpreted()


def compiles() -> bool:
    """Return whether vertex programs are compiled in this context. Within `interpreted` they are not."""
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
    """Return the module of an engine, such as `gasla.cpu`, which is imported at the first call."""
    return import_module(f"gasla.{package}")


def engine_of_language(target: str) -> Engine:
    """Return the engine that generates code for a target: "cpu" or "cuda"."""
    devices: dict[str, Device] = {"cpu": "cpu", "cuda": "gpu"}
    if target not in devices:
        raise ValueError(f"target is {target!r}; expected 'cpu' or 'cuda'")
    return engine(devices[target])
