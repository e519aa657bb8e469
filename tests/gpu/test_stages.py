"""The stages on the GPU, for loops written by hand: against whole runs and against the independent engine.

And devices that can't launch cooperatively, where the fused loop has but one block.
"""

import importlib.util
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import gasla
from gasla import stages
from gasla.gpu.program.generate import Module
from gasla.gpu.program.plan import Variant
from gasla.gpu.runtime.compile import compile_source
from gasla.graph.graph import Graph
from tests.gpu.test_programs import PROGRAMS, same
from tests.helpers import ROOT, programs
from tests.helpers.in_turns import in_turns
from tests.helpers.reference_engine import Reference
from tests.program.test_runs import CASES, NAMES, STAGED, graphs, staged

pytestmark = pytest.mark.thorough

STAGED_NAMES = [case[0].__name__ for case in STAGED]
EXAMPLES = ROOT / "examples"


def scale_free(n: int, m: int) -> Graph:
    """A graph with a few vertices of many edges."""
    rng = np.random.default_rng(n)
    return Graph.from_edges(rng.integers(0, n, m) ** 2 // n, rng.integers(0, n, m), rng.integers(0, 9, m), n=n)


WIDTHS = [("compute_80", "i8"), ("compute_90", "i4"), ("compute_90", "i8")]


# Buckets only a run opens, and in place only a run goes.
FITTING = [(p,) for p in PROGRAMS if not hasattr(p, "bucket") and p.order == "synchronous"]


@pytest.mark.parametrize(("program", "architecture", "offsets"), in_turns(FITTING, WIDTHS))
def test_every_kernel_compiles(program: Any, architecture: str, offsets: str) -> None:
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    ids = np.dtype(np.int32 if architecture == "compute_90" else np.int64)
    module = Module(program.traced(ids), Variant(np.dtype(offsets), staged=True))
    assert compile_source(module.source, architecture, program.__name__)


def test_the_struct_of_arguments_has_what_stages_need_alone() -> None:
    module = Module(programs.Flow.traced(np.dtype(np.int32)), Variant(np.dtype(np.int32), staged=True))
    names = [name for name, _, _ in module.members]
    assert "vertices" in names and "barrier" not in names
    assert [name for name, _ in module.struct._fields_] == names


def check(program: Any, start: Any, alone: bool, limit: int, graph: Graph, source: int) -> None:
    """Staged on the GPU, fused on the GPU, and the independent engine agree."""
    active, there = [source] if alone else None, graph.to("gpu")
    reference = Reference(program(), graph, **start(source)).run(active, limit)
    state = staged(program, there, active, limit, start(source))
    result = gasla.run(program, there, active=active, max_iterations=limit, **start(source))
    same(result, reference)
    for name, expected in result.state.items():
        np.testing.assert_array_equal(getattr(state, name).get(), expected.get(), err_msg=name)


@pytest.mark.gpu
@pytest.mark.sanitize
@pytest.mark.parametrize(("program", "start", "alone", "limit"), STAGED, ids=STAGED_NAMES)
def test_a_larger_graph(program: Any, start: Any, alone: bool, limit: int) -> None:
    graph = scale_free(700, 3000)
    check(program, start, alone, limit, graph, int(np.flatnonzero(graph.out_degrees)[0]))


@pytest.mark.gpu
@pytest.mark.parametrize(("program", "start", "alone", "limit"), STAGED, ids=STAGED_NAMES)
@settings(max_examples=10)
@given(graph=graphs(), data=st.data())
def test_staged_equals_fused(program: Any, start: Any, alone: bool, limit: int, graph: Graph, data: Any) -> None:
    check(program, start, alone, limit, graph, data.draw(st.integers(0, graph.n - 1)))


@pytest.mark.gpu
@pytest.mark.parametrize(("ids", "offsets"), [(np.int32, np.int64), (np.int64, np.int64), (np.int64, np.int32)])
@pytest.mark.parametrize(("program", "start", "alone", "limit"), STAGED, ids=STAGED_NAMES)
def test_wide_ids_and_offsets(program: Any, start: Any, alone: bool, limit: int, ids: Any, offsets: Any) -> None:
    lists = scale_free(300, 1500)
    graph = Graph.from_csr(lists.out.indptr.astype(offsets), lists.out.indices.astype(ids), lists.out_values)
    check(program, start, alone, limit, graph, 0)


@pytest.mark.gpu
def test_a_star_and_no_edges() -> None:
    leaves = 100_000
    star = Graph.from_edges(np.zeros(leaves, np.int64), np.arange(1, leaves + 1), np.ones(leaves, np.int64))
    for graph in (star, Graph.from_edges([], [], np.zeros(0, np.int64), n=5)):
        for program, start, alone, limit in STAGED:
            there, active = graph.to("gpu"), [0] if alone else None
            state = staged(program, there, active, min(limit, 5), start(0))
            result = gasla.run(program, graph, active=active, max_iterations=min(limit, 5), **start(0))
            for name, expected in result.state.items():
                np.testing.assert_array_equal(getattr(state, name).get(), expected, err_msg=name)


@pytest.mark.gpu
@settings(max_examples=20)
@given(graph=graphs(), data=st.data())
def test_expand_and_contract_equal_those_on_the_cpu(graph: Graph, data: Any) -> None:
    chosen = data.draw(st.lists(st.integers(0, graph.n - 1), unique=True))
    there = graph.to("gpu")
    for on_gpu, on_cpu in (
        (there, graph),
        *((stages.start(p, there), stages.start(p, graph)) for p in (programs.Flow, programs.Bits, programs.Paths)),
    ):
        found, expected = stages.expand(on_gpu, chosen), stages.expand(on_cpu, chosen)
        for name in ("ids", "src", "dst"):
            np.testing.assert_array_equal(getattr(found, name).get(), getattr(expected, name))
        receivers = stages.contract(on_gpu, found)
        np.testing.assert_array_equal(receivers.ids.get(), stages.contract(on_cpu, expected).ids)
        np.testing.assert_array_equal(receivers.mask.get(), stages.contract(on_cpu, expected).mask)


@pytest.mark.gpu
def test_what_stages_hand_back_is_cupys_and_either_kind_is_taken() -> None:
    import cupy

    there = scale_free(100, 400).to("gpu")
    state = stages.start(programs.Paths, there, paths={0: 1}, level={0: 0})
    for first in ([0], np.array([0]), cupy.array([0]), np.arange(100) == 0, cupy.arange(100) == 0):
        edges = stages.expand(state, first)
        assert isinstance(edges.src, cupy.ndarray) and len(edges) == int(there.out_degrees[0])
    receivers = stages.contract(state, edges)
    gathered = stages.gather(state, receivers, gasla.Frontier(100, [0]))
    assert isinstance(gathered, cupy.ndarray) and isinstance(state.paths, cupy.ndarray)
    frontier = stages.apply(state, gasla.Frontier(100, receivers.ids.get()), gathered.get())
    assert isinstance(frontier.ids, cupy.ndarray) and len(frontier) == len(receivers)
    state.level[5] = 77
    assert int(state.level.max()) == 77
    assert len(gasla.Frontier.all(7).to("gpu").ids) == 7
    assert isinstance(gasla.Frontier.one(7, 3).to("gpu").mask, cupy.ndarray)
    assert frontier.to("gpu") is frontier
    assert isinstance(frontier.to("cpu").ids, np.ndarray)


@pytest.mark.gpu
def test_errors_say_what_is_wrong() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], n=3).to("gpu")
    with pytest.raises(TypeError, match="no field 'speed'"):
        stages.start(programs.Hops, graph, speed=1)
    state = stages.start(programs.Hops, graph, hops={0: 0})
    with pytest.raises(AttributeError, match="no 'speed'; its fields: hops"):
        state.speed  # noqa: B018
    with pytest.raises(ValueError, match="Hops has no scatter"):
        stages.scatter(state, [0])
    with pytest.raises(ValueError, match="vertex 9 is outside a graph of 3"):
        stages.expand(state, [9])
    with pytest.raises(ValueError, match="a graph of 4 vertices; this graph has 3"):
        stages.expand(state, gasla.Frontier(4, [0]))
    with pytest.raises(TypeError, match="apply needs the values that gather returned"):
        stages.apply(state, [1])
    with pytest.raises(ValueError, match="Counter has no gather"):
        stages.gather(stages.start(programs.Counter, graph), [1])


@pytest.mark.gpu
def test_the_example_of_a_loop_by_hand() -> None:
    found = importlib.util.spec_from_file_location("stages_loop", EXAMPLES / "stages_loop.py")
    assert found is not None and found.loader is not None
    example = importlib.util.module_from_spec(found)
    found.loader.exec_module(example)
    rng = np.random.default_rng(2)
    matrix = csr_array((np.ones(900), (rng.integers(0, 300, 900), rng.integers(0, 300, 900))), (300, 300))
    graph = gasla.Graph(matrix)
    for start, goal in rng.integers(0, 300, (6, 2)).tolist():
        expected = example.flights_between(graph, start, goal)
        assert example.flights_between(graph.to("gpu"), start, goal) == expected


@pytest.mark.gpu
def test_callbacks_see_every_iteration() -> None:
    n = 300
    path = Graph.from_edges(np.arange(n - 1), np.arange(1, n), n=n).to("gpu")
    seen: list[tuple[int, list[int], int]] = []
    result = gasla.run(
        programs.Hops, path, active=[0], hops={0: 0}, trace=True, direction="push",
        callback=lambda r: seen.append((r.iterations, list(r.active), int((r.hops < n).sum()))),
    )  # fmt: skip
    assert seen == [(i, [i] if i < n else [], min(i + 1, n)) for i in range(1, n + 1)]
    assert list(result.trace["active"]) == [1] * n and result.edges == n - 1
    stopped = gasla.run(programs.Hops, path, active=[0], hops={0: 0}, callback=lambda r: r.iterations == 7)
    assert (stopped.iterations, stopped.converged, list(stopped.active)) == (7, False, [7])


@pytest.fixture
def one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that can't launch cooperatively."""
    monkeypatch.setattr("gasla.gpu.runtime.compile.launches_cooperatively", lambda: False)


@pytest.mark.gpu
@pytest.mark.usefixtures("one_block")
@pytest.mark.parametrize(("program", "start", "alone", "limit"), CASES, ids=NAMES)
def test_one_block_where_no_grid_can_be_launched_at_once(program: Any, start: Any, alone: bool, limit: int) -> None:
    graph = scale_free(1000, 4000)
    active = [0] if alone else None
    reference = Reference(program(), graph, **start(0)).run(active, limit)
    for direction in ("auto", "push", "pull"):
        result = gasla.run(
            program, graph, device="gpu", active=active, max_iterations=limit, direction=direction, **start(0)
        )
        same(result, reference)


@pytest.mark.gpu
@pytest.mark.usefixtures("one_block")
def test_components_of_one_block() -> None:
    graph = scale_free(3000, 4000)
    count, labels = gasla.connected_components(graph.to("gpu"))
    expected, names = gasla.connected_components(graph)
    assert count == expected
    np.testing.assert_array_equal(labels.get(), names)
