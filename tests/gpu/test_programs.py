"""Vertex programs on the GPU against the independent engine; and every kernel gasla can generate, compiled anywhere."""

import ctypes
import types
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla.algorithms.centrality import pagerank
from gasla.algorithms.centrality.betweenness import brandes, edge_betweenness_centrality
from gasla.algorithms.paths import sssp
from gasla.algorithms.traversal import bfs
from gasla.gpu.program.generate import Module
from gasla.gpu.program.plan import Variant
from gasla.gpu.runtime import waiting
from gasla.gpu.runtime.compile import compile_source
from gasla.graph.graph import Graph
from gasla.program.plan import Plan
from gasla.program.program import VertexProgram
from tests.helpers import programs
from tests.helpers.reference_engine import Reference
from tests.program.test_runs import CASES, NAMES, SUMS, bits_of_sums, graphs

pytestmark = pytest.mark.thorough

MODULES = (programs, bfs, sssp, pagerank, brandes, edge_betweenness_centrality)
PROGRAMS = [
    p
    for module in MODULES
    for p in vars(module).values()
    if isinstance(p, type) and issubclass(p, VertexProgram) and p.__module__ == module.__name__
]


def modes(program: type[VertexProgram]) -> list[dict[str, bool]]:
    """The ways in which a program may run."""
    in_place = program.order == "in place"
    fits_schedule = not (in_place or any(hasattr(program, name) for name in ("mask", "scatter", "bucket", "wake")))
    return [
        {},
        {"bounded_degree": 4, "row_lanes": 8},
        {"small": True, "row_lanes": 1},
        *([] if in_place else [{"deterministic": True}]),
        *([{"scheduled": True}] if fits_schedule else []),
    ]


def compiled(program: type[VertexProgram], mode: dict[str, Any], architecture: str) -> bytes:
    """The kernel's code; NVRTC also finds the struct of arguments to have the size that Python gives it."""
    kind = np.dtype(np.int32 if architecture == "compute_90" else np.int64)
    module = Module(program.traced(kind), Variant(kind, **mode))
    check = f"static_assert(sizeof(Program::Arguments) == {ctypes.sizeof(module.struct)});"
    return compile_source(f"{module.source}\n{check}", architecture, program.__name__)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_every_kernel_compiles(program: type[VertexProgram]) -> None:
    """Each in one of its ways, for one architecture and one width of ids; the next test takes all of them."""
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    place, ways = PROGRAMS.index(program), modes(program)
    assert compiled(program, ways[place % len(ways)], ("compute_80", "compute_90")[place // len(ways) % 2])


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["compute_80", "compute_90"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_every_kernel_compiles_for_every_architecture(program: type[VertexProgram], architecture: str) -> None:
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    for mode in modes(program):
        assert compiled(program, mode, architecture)


@pytest.mark.parametrize(
    ("mask", "kind", "shuts"),
    [
        (lambda self, vertex: vertex.level < 0, np.int32, True),
        (lambda self, vertex: vertex.level < 1, np.int64, True),
        (lambda self, vertex: vertex.level < 2, np.int32, False),  # so has who is reached first
        (lambda self, vertex: vertex.level <= 0, np.int32, True),
        (lambda self, vertex: vertex.level <= 1, np.int32, False),
        (lambda self, vertex: vertex.level == -1, np.int32, True),
        (lambda self, vertex: vertex.level != 5, np.int32, False),
        (lambda self, vertex: vertex.level < 0, np.int8, False),  # as 128 iterations do
        (lambda self, vertex: vertex.level + vertex.level < 0, np.int32, False),  # nobody looks that closely
    ],
)
def test_whether_vertices_that_were_reached_are_shut_for_good(mask: Any, kind: Any, shuts: bool) -> None:
    program: Any = type("Search", (bfs.Levels,), {"mask": mask, "level": gasla.vertex(kind, init=-1)})
    module = Module(program.traced(np.dtype(np.int32)), Variant(np.dtype(np.int32)))
    assert module.closes
    assert module.applies_once == shuts


def same(result: Any, reference: Reference) -> None:
    """Every field of the run is what the independent engine found."""
    for name, expected in {**reference.vertex, **reference.edge}.items():
        if name in result.state:
            got = result.state[name].get()
            np.testing.assert_array_equal(got.T if got.ndim == 2 else got, expected, err_msg=name)


@pytest.mark.gpu
@pytest.mark.sanitize
@pytest.mark.parametrize("small", [0, 10_000], ids=["several blocks", "one block"])
@pytest.mark.parametrize(("program", "start", "alone", "limit"), CASES, ids=NAMES)
def test_a_larger_graph(
    program: Any, start: Any, alone: bool, limit: int, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gasla.gpu.program.workspace.SMALL", small)
    rng = np.random.default_rng(len(program.__name__))
    n, m = 700, 3000  # of many out- and many in-edges
    graph = Graph.from_edges(
        rng.integers(0, n, m) ** 2 // n, rng.integers(0, n, m) ** 4 // n**3, rng.integers(0, 9, m), n=n
    )
    source = int(np.flatnonzero(graph.out_degrees)[0])
    active = [source] if alone else None
    reference = Reference(program(), graph, **start(source)).run(active, limit)
    options: list[dict[str, Any]] = [{"direction": d} for d in ("auto", "push", "pull")] + [{"deterministic": True}]
    for option in options:
        result = gasla.run(program, graph, device="gpu", active=active, max_iterations=limit, **option, **start(source))
        same(result, reference)
        assert result.converged == reference.converged
        if not hasattr(program, "priority"):
            # Where apply does what reduce does, a value may go on within an iteration, unless runs are to be alike.
            hurries = Plan(program.traced()).absorbs and not option.get("deterministic")
            assert result.iterations == reference.iteration or (hurries and result.iterations < reference.iteration)


@pytest.mark.gpu
def test_small_graphs_of_several_sizes_in_turn() -> None:
    """One kernel serves them all."""
    graphs = [Graph.from_edges(*np.random.default_rng(n).integers(0, n, (2, 3 * n)), n=n) for n in (1500, 100)]
    copies = [graph.to("gpu") for graph in graphs]
    for graph, copy in [*zip(graphs, copies, strict=True)] * 2:
        np.testing.assert_allclose(gasla.pagerank(copy).ranks.get(), gasla.pagerank(graph).ranks, rtol=1e-9)


@pytest.mark.gpu
@pytest.mark.parametrize(("program", "start", "alone", "limit"), CASES, ids=NAMES)
@settings(max_examples=15)
@given(graph=graphs(), data=st.data())
def test_equals_the_independent_engine(
    program: Any, start: Any, alone: bool, limit: int, graph: Graph, data: Any
) -> None:
    source = data.draw(st.integers(0, graph.n - 1))
    active = [source] if alone else None
    reference = Reference(program(), graph, **start(source)).run(active, limit)
    for direction in ("auto", "push", "pull"):
        result = gasla.run(
            program, graph, device="gpu", active=active, max_iterations=limit, direction=direction, **start(source)
        )
        same(result, reference)
        assert result.converged == reference.converged


@pytest.mark.gpu
@pytest.mark.parametrize(("program", "start", "alone", "limit"), CASES, ids=NAMES)
def test_in_pieces_with_wide_offsets(program: Any, start: Any, alone: bool, limit: int) -> None:
    rng = np.random.default_rng(3)
    n, m = 300, 1500
    given = Graph.from_edges(rng.integers(0, n, m), rng.integers(0, n, m), rng.integers(0, 9, m), n=n)
    graph = Graph.from_csr(given.out.indptr.astype(np.int64), given.out.indices, given.out_values)
    active = [0] if alone else None
    reference = Reference(program(), graph, **start(0)).run(active, limit)
    seen: list[int] = []
    result = gasla.run(
        program, graph, device="gpu", active=active, max_iterations=limit, trace=True,
        callback=lambda r: seen.append(r.iterations), **start(0),
    )  # fmt: skip
    same(result, reference)
    assert seen == list(range(1, result.iterations + 1))
    assert len(result.trace) == result.iterations


def test_a_kernel_that_crashed_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """CuPy's `Stream.done` says of it that it is still running."""
    cupy = pytest.importorskip("cupy")
    answers, shown = [600, 0, 600, 600, 700], []
    monkeypatch.setattr(cupy.cuda, "get_current_stream", lambda: types.SimpleNamespace(ptr=0))
    monkeypatch.setattr(cupy.cuda.runtime, "streamQuery", lambda stream: answers.pop(0))
    page = types.SimpleNamespace(ended=0)
    waiting.wait(page, 1)  # until the stream is idle
    assert answers == [600, 600, 700]
    monkeypatch.setattr(waiting.time, "perf_counter", iter(np.arange(0, 1, 0.11)).__next__)
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="illegal memory access"):
        waiting.wait(page, 1, lambda: shown.append(page.ended))
    assert shown == [0, 0, 0]
    waiting.wait(page, 0)


@pytest.mark.gpu
@pytest.mark.parametrize(("program", "scheduled"), SUMS)
@pytest.mark.parametrize("n", [700, 20_000])
def test_sums_of_floats_are_the_same_every_time(program: Any, scheduled: bool, n: int) -> None:
    graph = Graph.from_edges(*np.random.default_rng(0).integers(0, n, (2, 5 * n)), n=n).to("gpu")
    assert len({bits_of_sums(program, scheduled, graph) for _ in range(20)}) == 1
