"""What an engine offers, and the one place where engines are named: by string, after the device of the arrays.

An engine is a package whose face implements `Engine`; one that compiles nothing implements `Runner` alone. Nothing
above asks which one it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from threading import Lock
from typing import Any, Protocol, cast

import numpy as np

from gasla.arrays import Device
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph
from gasla.program.binding import Found
from gasla.program.frontier import Frontier
from gasla.program.program import VertexProgram
from gasla.program.schedule import Schedule
from gasla.program.terms import Array, Format, Lists, Multiply, Terms
from gasla.program.walk_plan import WalkBinding
from gasla.program.walk_program import WalkProgram


class MatrixProduct(Protocol):
    """A product of two sparse matrices that is to be computed: how large it is, then what it is.

    In the terms `value` is an entry of A at (`row`, `other`), `x` one of B at (`other`, `column`).
    """

    def count(self) -> Array | None:
        """How many entries each row has, an int64 array; None if a matrix points outside itself."""

    def fill(self, indptr: Array, indices: Array, outs: tuple[Array, ...]) -> None:
        """Fill in the columns of the entries, ascending in each row, and their values.

        All arrays are given: `indptr` holds the sums of the counts, and is of the type of `indices`, int32 or int64.
        """


class Products(Protocol):
    """Products over semirings; `gasla.operations.multiply` settles what may be given."""

    def ready(self, lists: Lists, terms: Terms, masked: bool) -> Multiply:
        """What computes a product of a matrix, see `Ready`."""

    def ready_wide(self, lists: Lists, terms: Terms, masked: bool) -> Multiply:
        """The same where x has columns: x, the mask and what is filled are C-contiguous, of shape (rows, columns)."""

    def of_matrices(self, A: Lists, B: Lists, terms: Terms, left_out: Lists | None) -> MatrixProduct:
        """A product of two sparse matrices by rows, without the positions of the entries of a third."""

    def at_entries(self, A: Lists, B: Lists, terms: Terms, mask: Lists, outs: tuple[Array, ...]) -> bool:
        """Fill `outs` with the product at each entry of a mask, in its order; False if a matrix points outside itself.

        Where the product has no entry, that is the monoid's identity. Parallel entries of the mask get the same.
        """

    def available(self) -> int | None:
        """Bytes of memory that could be had now; None where the system doesn't tell."""

    def in_format(self, A: Any, wanted: Format) -> Any:
        """A matrix as CSR or CSC: itself, or what has its `indptr`, `indices` and `data`; all entries, in order."""

    def lists_of(self, A: Any, form: Format, make: Callable[[], Lists]) -> Lists:
        """What `make` returns, which may be cached for the next product of the matrix."""


class Running(Protocol):
    """A run that has begun."""

    log_rows: int  # that a trace has room for
    iteration: int
    edges: int
    ended: bool
    stopped: bool  # because the program's `stop()` held

    def advance(self, until: int, progress: Callable[[int], Any] | None = None, trace: bool = False) -> None:
        """Run iterations up to such a number, or the program's end, or until Python should hear Ctrl-C."""

    def leave(self, until: int) -> bool:
        """Run them while Python does other things; False if it can't be, and nothing has happened."""

    def known(self) -> dict[str, Any]:
        """What a result says of the run that has been left, as far as it is known beforehand."""

    def finish(self) -> None:
        """Wait for the end of the run that has been left."""

    def log(self, rows: int) -> np.ndarray:
        """So many rows of the trace: active vertices, edges, way; over ranks also exchanges and bytes."""

    def reasons(self) -> Mapping[int, str]:
        """Why iterations go each way."""

    def state(self) -> Mapping[str, Any]:
        """The fields as they are now."""

    def changed(self) -> Mapping[str, Any]:
        """The parameters that `idle` may change, as they are now."""

    def found(self) -> Found:
        """What the run has left by now."""

    def close(self) -> None:
        """Give back what the next run can use."""


class Part(Running, Protocol):
    """A run of one part of a graph: between its iterations others change what it has copies of."""

    def go_on(self, active: Array, parameters: Mapping[str, Any]) -> None:
        """Have just these vertices be active, and parameters be others, in the next iteration; see that there is one.

        Those that were active may stay out only if the program has a test of its own for who is (`activate`). Where
        everyone takes part everyone still does, whoever is active.
        """


class Runs(Protocol):
    """What the runs of a program on a graph have in common. It refers to no graph, so that a graph may keep it."""

    turn: Lock  # acquired by whatever begins a run

    def compile_ahead(self, program: VertexProgram, graph: Graph) -> None:
        """Begin to compile, where that doesn't take this thread's time."""

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
        """A run at its start, from these vertices or along a schedule; the program may have other parameters."""


class Primitives(Protocol):
    """The stages that need no vertex program; `gasla.primitives` says what they do, and looks at what it is given.

    Forests are arrays of one parent a vertex. Graphs are Graphs, arrays are the device's.
    """

    def hook(self, graph: Graph) -> Any:
        """A first forest: every vertex under its first out-neighbour if that is smaller."""

    def link(self, graph: Graph, parents: Any, first: int, last: int | None, known: int | None) -> None:
        """Unite the trees at both ends of edges, in place."""

    def compress(self, parents: Any) -> None:
        """Point every vertex at its root, in place."""

    def number(self, parents: Any) -> int:
        """Replace parents by the number of the tree, in place; how many there are."""

    def likely_largest(self, parents: Any) -> int:
        """The root that most of a sample of vertices have."""

    def label_components(self, graph: Graph) -> tuple[Any, Any]:
        """How many components there are, and the number of each vertex's own."""

    def simplify(self, graph: Graph) -> Graph:
        """The graph with every edge in both directions, once, and without self loops; itself where it is so."""

    def orient(self, graph: Graph) -> Any:
        """What `count_common_neighbours` goes by: a simple graph's sorted Adjacency, or lists by degree."""

    def count_common_neighbours(self, lists: Any, per_vertex: bool) -> tuple[Any, Any]:
        """Sum up, over all edges, the common neighbours that follow both ends; if wanted at each vertex, too."""

    def count_at_edges(self, graph: Graph, lists: Any) -> tuple[Any, Any]:
        """That sum; and for each stored edge, in the order of the input, all common neighbours of its ends."""

    def intersect(self, graph: Graph, sources: Any, targets: Any, weights: Any | None) -> Any:
        """Count the common out-neighbours of pairs of vertices, or add up their weights, which are float64."""

    def top_k(self, indptr: Any, indices: Any, values: Any, k: int) -> tuple[Any, Any]:
        """Columns and values of the k largest entries of each row, -1 and 0 behind those of a row that has fewer."""

    def common(self, graph: Graph, sources: Any, targets: Any, above: Any | None) -> tuple[Any, Any]:
        """List the common out-neighbours of pairs, in order: which pair, and which vertex; those above a bound each."""

    def has_edges(self, graph: Graph, sources: Any, targets: Any) -> Any:
        """Whether there is an edge between each of some pairs of vertices."""

    def count_cliques(self, graph: Graph, lists: Any, k: int) -> int:
        """The number of sets of k vertices, four or more, that are all joined; `lists` are what `orient` returns."""

    def list_sums(self, lists: Adjacency, weights: Any) -> Any:
        """The sums of each list's weights up to each position, in float64, added in order."""

    def list_guides(self, lists: Adjacency, sums: Any) -> Any:
        """For each list of d entries, at j of d: the first place in it whose sum exceeds j / d of the total; uint32."""

    def walk(self, walking: WalkBinding, starts: Any, steps: int, key: int, weights: tuple[Any, Any] | None) -> Any:
        """Walks of a program by lot, a row a walker; by sums of weights and their guides, where there are any."""

    def sample(self, graph: Graph, ids: Any, k: int, key: int, replace: bool) -> Any:
        """Out-neighbours by lot, a row a vertex."""


class Runner(Protocol):
    """What runs vertex programs."""

    def prepare(
        self, program: VertexProgram, graph: Graph, way: int, deterministic: bool = False, scheduled: bool = False
    ) -> Runs:
        """What the runs of a program on a graph have in common."""


class Engine(Runner, Protocol):
    """What runs on one kind of device."""

    def explain(self, runs: Runs, program: VertexProgram, graph: Graph) -> list[str]:
        """What such runs do, and why: a sentence each."""

    def staged(self, program: VertexProgram, graph: Graph, fields: Mapping[str, Any]) -> Any:
        """A program and a graph for a loop written by hand."""

    def source(self, program: type[VertexProgram], id_type: np.dtype[Any]) -> str:
        """The code that is generated for a program."""

    def walk_source(self, program: type[WalkProgram], id_type: np.dtype[Any]) -> str:
        """The same for a walk program."""

    def workspace(self, program: VertexProgram, graph: Graph, deterministic: bool) -> int:
        """Bytes that a run takes beside the graph and its fields, at most."""

    def products(self) -> Products:
        """What computes products over semirings."""

    def primitives(self) -> Primitives:
        """The stages that need no program."""


@cache
def engine(device: str) -> Engine:
    """The engine for arrays of a device; or for graphs whose parts are on ranks, "distributed"."""
    return cast(Engine, _face(device))


@cache
def runner(device: str, compiled: bool) -> Runner:
    """What runs programs on graphs of a device: its engine, or what calls their functions as they are."""
    found = engine(device)
    if compiled:
        return found
    return getattr(found, "interpreted", None) or cast(Runner, _face("reference"))


_interprets = ContextVar("interprets", default=False)


@contextmanager
def interpreted() -> Iterator[None]:
    """Run every vertex program of this context as `compile=False` does, those of gasla's algorithms too.

    NumPy calls the functions of a program on whole arrays, so a program costs no compilation, and each of its
    iterations some hundred times as much as compiled code. For small graphs, for tests, and to debug. Stages that are
    no programs (intersections of neighbour lists, components, products, walks) stay compiled.

    Examples
    --------
    >>> import gasla
    >>> path = gasla.Graph.from_edges([0, 1], [1, 2])
    >>> with gasla.engines.interpreted():
    ...     gasla.bfs(path, 0)
    array([0, 1, 2], dtype=int32)
    """
    token = _interprets.set(True)
    try:
        yield
    finally:
        _interprets.reset(token)


def compiles() -> bool:
    """Whether programs are compiled here: everywhere but within `interpreted`."""
    return not _interprets.get()


def _face(package: str) -> object:
    """A package with an engine's functions, imported when it is first needed."""
    return import_module(f"gasla.{package}")


def engine_of_language(target: str) -> Engine:
    """The engine that generates code for a target: "cpu" or "cuda"."""
    devices: dict[str, Device] = {"cpu": "cpu", "cuda": "gpu"}
    if target not in devices:
        raise ValueError(f"target is {target!r}; expected 'cpu' or 'cuda'")
    return engine(devices[target])
