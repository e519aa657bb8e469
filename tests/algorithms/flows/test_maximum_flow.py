"""Maximum flows and minimum cuts against SciPy and NetworkX, and as any right answer is."""

import math
import shutil
import sys
import warnings
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csc_array, csr_array
from scipy.sparse.csgraph import maximum_flow as scipys

import gasla
from gasla import datasets, primitives, verify
from gasla.algorithms.flows import preflow, solver
from gasla.arrays import moved
from gasla.cpu.runtime.threads import STOP, new_control
from gasla.engines import programs_only

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]
NETWORK = csr_array(np.array([[0, 3, 2, 0], [0, 0, 5, 2], [0, 0, 0, 3], [0, 0, 0, 0]]))


def both(graph: Any, source: int, target: int) -> tuple[Any, Any]:
    """Flow and cut, each verified, of one value."""
    flow, cut = gasla.maximum_flow(graph, source, target), gasla.minimum_cut(graph, source, target)
    there = gasla.as_graph(graph).to("cpu")
    verify.maximum_flow(there, source, target, flow.value, moved(flow.flow, "cpu"))
    verify.minimum_cut(there, source, target, cut.value, moved(cut.source_side, "cpu"))
    assert flow.value == pytest.approx(cut.value, rel=1e-12) and type(flow.value) is type(cut.value)
    return flow, cut


def by_networkx(graph: gasla.Graph, source: int, target: int) -> float:
    network = nx.DiGraph()
    network.add_nodes_from(range(graph.n))
    values = np.ones(graph.m, int) if graph.values is None else graph.values
    for i, j, x in zip(*(ends.tolist() for ends in graph.edges()), values.tolist(), strict=True):
        if i != j:
            known = network.get_edge_data(i, j, {"capacity": 0})["capacity"]
            network.add_edge(i, j, capacity=known + x)
    return nx.maximum_flow_value(network, source, target)


@pytest.mark.thorough
@given(st.data())
@settings(deadline=None, max_examples=60)
def test_any_network_gives_a_right_answer(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 9))
    vertices = st.integers(0, n - 1)
    edges = data.draw(st.lists(st.tuples(vertices, vertices, st.sampled_from([0, 1, 2, 3, 7, 50])), max_size=40))
    source, target = data.draw(st.permutations(range(n)))[:2]
    by_programs = data.draw(st.booleans())
    src, dst, capacity = (np.array([edge[i] for edge in edges], np.int64) for i in range(3))
    kind = data.draw(st.sampled_from([np.int64, np.uint8, np.float64]))
    graph = gasla.Graph.from_edges(src, dst, capacity.astype(kind), n=n)
    with programs_only() if by_programs else nullcontext():
        flow, _ = both(graph, source, target)
    assert flow.value == by_networkx(graph, source, target)
    matrix = coo_array((capacity, (src, dst)), shape=(n, n)).tocsr().astype(np.int32)
    assert flow.value == scipys(matrix, source, target).flow_value


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("scale", [None, 0.1])
@pytest.mark.parametrize("by_programs", [False, True])
def test_each_shape_gives_a_right_answer(by_programs: bool, scale: float | None, device: Any) -> None:
    with programs_only() if by_programs else nullcontext():
        try_each_shape(scale, device)


def try_each_shape(scale: float | None, device: Any) -> None:
    rng = np.random.default_rng(0)
    n = 300
    path, star = np.arange(n - 1), np.zeros(n - 2, int)
    shapes = {
        "path": (path, path + 1, 0, n - 1),
        "against it": (path, path + 1, n - 1, 0),
        "star": (np.r_[star, path[1:]], np.r_[path[1:], star + n - 1], 0, n - 1),
        "no edges": (path[:0], path[:0], 0, n - 1),
        "many": (rng.integers(0, n, 4000), rng.integers(0, n, 4000), 3, 5),
        "both ways": (np.r_[path, path + 1], np.r_[path + 1, path], 0, n - 1),
        "apart": (np.r_[path[:100], path[150:]], np.r_[path[:100], path[150:]] + 1, 0, n - 1),
        "into nowhere": (np.r_[0, 0, path[2:]], np.r_[1, 2, path[2:] + 1], 0, 1),
    }
    for name, (src, dst, source, target) in shapes.items():
        capacity = rng.integers(0, 20, len(src)) * (1 if scale is None else scale)
        graph = gasla.Graph.from_edges(src, dst, capacity, n=n).to(device)
        flow, _ = both(graph, source, target)
        assert flow.value == pytest.approx(by_networkx(graph.to("cpu"), source, target), rel=1e-12), name
        again = gasla.maximum_flow(graph, source, target).flow
        np.testing.assert_array_equal(moved(flow.flow, "cpu"), moved(again, "cpu"))


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
def test_real_graphs_give_right_answers(device: Any) -> None:
    airports = gasla.Graph(datasets.openflights().matrix)
    for source, target in [(0, 7), (1000, 2000), (int(airports.out_degrees.argmax()), 100)]:
        flow, _ = both(airports.with_values(None).to(device), source, target)
        assert flow.value == by_networkx(airports.with_values(None), source, target)
    both(airports.to(device), 0, 7)  # distances as capacities
    grid = datasets.grid(10)
    whole = csr_array((grid.data.astype(np.int32), grid.indices, grid.indptr), shape=grid.shape)
    flow, _ = both(gasla.Graph(whole).to(device), 0, grid.shape[0] - 1)
    assert flow.value == scipys(whole, 0, grid.shape[0] - 1).flow_value


def test_inputs_of_all_forms() -> None:
    for matrix in (NETWORK, csc_array(NETWORK), coo_array(NETWORK), NETWORK.astype(np.uint8), NETWORK.astype(bool) * 5):
        assert gasla.maximum_flow(matrix, 0, 3).value == gasla.minimum_cut(matrix, 0, 3).value > 0
    backwards = csr_array(
        (NETWORK.data[[1, 0, 3, 2, 4]], NETWORK.indices[[1, 0, 3, 2, 4]], NETWORK.indptr), shape=(4, 4)
    )
    assert both(backwards, 0, 3)[0].value == 5
    assert gasla.maximum_flow(gasla.Graph.from_edges([0, 1], [1, 2]), 0, 2).value == 1
    before = NETWORK.data.copy()
    gasla.maximum_flow(NETWORK, 0, 3)
    np.testing.assert_array_equal(NETWORK.data, before)


@pytest.mark.slow  # other kernels
def test_int64_ids_are_supported() -> None:
    graph = gasla.Graph.from_csr(NETWORK.indptr.astype(np.int64), NETWORK.indices.astype(np.int64), NETWORK.data)
    assert both(graph, 0, 3)[0].value == 5


def test_values_that_change_are_noticed() -> None:
    matrix = NETWORK.copy()
    graph = gasla.Graph(matrix)
    assert gasla.maximum_flow(graph, 0, 3).value == 5
    matrix.data[:] = 1
    assert gasla.maximum_flow(graph, 0, 3).value == gasla.minimum_cut(graph, 0, 3).value == 2


def test_large_capacities_are_exact() -> None:
    most = 2**61 - 1
    graph = gasla.Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3], [most, most, most, 2**60 + 1])
    assert gasla.maximum_flow(graph, 0, 3).value == most + 2**60 + 1 == gasla.minimum_cut(graph, 0, 3).value
    floats = gasla.Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3], [1e300, 1.5, 1e299, 7.0])
    assert gasla.maximum_flow(floats, 0, 3).value == pytest.approx(1e299)
    tiny = gasla.Graph.from_edges([0, 1], [1, 2], [3e-310, 1e-310])
    assert gasla.maximum_flow(tiny, 0, 2).value == 1e-310


@pytest.mark.parametrize(
    ("values", "ends", "said"),
    [
        ([1, 1], (1, 1), "source and target are both 1; expected two different vertices"),
        ([1, 1], (0, 3), "target 3 is outside a graph of 3 vertices"),
        ([1, 1], (-1, 0), "source -1 is outside"),
        ([1, -2], (0, 2), "the capacity of edge 1 is -2; expected a number, 0 or more"),
        ([1.0, np.nan], (0, 2), "the capacity of edge 1 is nan; expected a number, 0 or more"),
        ([-np.inf, 1.0], (0, 2), "the capacity of edge 0 is -inf; expected"),
        ([np.inf, np.inf], (0, 2), "a path of infinite capacity leads from source 0 to target 2"),
    ],
)
def test_unsupported_input_is_refused(values: Any, ends: Any, said: str) -> None:
    graph = gasla.Graph.from_edges([0, 1], [1, 2], values)
    for function in (gasla.maximum_flow, gasla.minimum_cut):
        with pytest.raises(ValueError, match=said):
            function(graph, *ends)


def test_more_than_floats_hold_is_refused() -> None:
    graph = gasla.Graph.from_edges([0, 0], [1, 1], [1e308, 1e308])
    for function in (gasla.maximum_flow, gasla.minimum_cut):
        with pytest.raises(ValueError, match="exceeds float64"):
            function(graph, 0, 1)


def exactly(graph: gasla.Graph, source: int, target: int) -> Fraction | None:
    """The value by NetworkX, in Python's integers; None where it is unbounded."""
    network = nx.DiGraph()
    network.add_nodes_from(range(graph.n))
    assert graph.values is not None
    for i, j, x in zip(*(ends.tolist() for ends in graph.edges()), graph.values.tolist(), strict=True):
        if i != j:
            known = network.get_edge_data(i, j, {"capacity": 0}).get("capacity", math.inf)
            if math.inf in (known, x):
                network.add_edge(i, j)
                network[i][j].pop("capacity", None)
            else:
                network.add_edge(i, j, capacity=known + int(Fraction(x) * 2**1074))
    try:
        return Fraction(
            nx.maximum_flow_value(network, source, target, flow_func=nx.algorithms.flow.edmonds_karp), 2**1074
        )
    except nx.NetworkXUnbounded:
        return None


def capacities() -> st.SearchStrategy[float]:
    sizes = st.builds(math.ldexp, st.floats(0.5, 1), st.integers(-900, 900))
    users = st.sampled_from([0.0, math.inf, 0.1, 3.5, 1.0, 2.0**53 - 1, 1e20, 1e300, 1e-300, 5e-324, 1.7e308])
    return st.one_of(sizes, users, st.floats(0, 1))


@pytest.mark.thorough
@pytest.mark.parametrize("bits", [solver.BITS, 20])  # with few of them it takes several rounds
@given(data=st.data())
@settings(deadline=None, max_examples=150)
def test_floats_of_any_size(bits: int, data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 7))
    vertices = st.integers(0, n - 1)
    edges = data.draw(st.lists(st.tuples(vertices, vertices, capacities()), max_size=20))
    source, target = data.draw(st.permutations(range(n)))[:2]
    src, dst = (np.array([edge[i] for edge in edges], np.int64) for i in range(2))
    capacity = np.array([edge[2] for edge in edges])
    graph = gasla.Graph.from_edges(src, dst, capacity, n=n)
    right = exactly(graph, source, target)
    with mock.patch.object(solver, "BITS", bits), warnings.catch_warnings():
        warnings.simplefilter("error")
        if right is None or right > Fraction(sys.float_info.max):
            with pytest.raises(ValueError, match="infinite capacity" if right is None else "exceeds float64"):
                gasla.maximum_flow(graph, source, target)
            return
        flow, cut = both(graph, source, target)
        assert flow.value == cut.value and abs(Fraction(flow.value) - right) <= right / 10**12
        assert (flow.flow <= capacity).all()
        for v in range(n):
            arrives, leaves = (sum(map(Fraction, flow.flow[ends == v].tolist()), Fraction(0)) for ends in (dst, src))
            if v == target:
                assert abs(arrives - leaves - right) <= right / 10**12
            elif v != source:
                assert abs(arrives - leaves) <= max(arrives, leaves) / 10**12
        order = np.random.default_rng(0).permutation(len(src))
        other = gasla.Graph.from_edges(src[order], dst[order], capacity[order], n=n)
        assert gasla.maximum_flow(other, source, target).value == flow.value
        power = data.draw(st.integers(-60, 60))
        with np.errstate(over="ignore"):
            scaled = np.ldexp(capacity, power)
            if (np.ldexp(scaled, -power) != capacity).any():
                return
        value, along = gasla.maximum_flow(graph.with_values(scaled), source, target)
        assert value == math.ldexp(flow.value, power)
        np.testing.assert_array_equal(along, np.ldexp(flow.flow, power))


@pytest.mark.parametrize("device", DEVICES)
def test_unlimited_capacities(device: Any) -> None:
    """Sources that lead to everyone without limit, and the other way round: sums of both ends say nothing."""
    rng = np.random.default_rng(7)
    src, dst, capacity = rng.integers(0, 100, 900), rng.integers(0, 100, 900), rng.random(900)
    middle = gasla.Graph.from_edges(src, dst, capacity)
    ends = [100] * 20 + [*range(80, 100)], [*range(20)] + [101] * 20
    expected = None
    for most in (np.inf, 1e300, 1e30, 1e9):
        values = np.r_[capacity, np.full(40, most)]
        graph = gasla.Graph.from_edges(np.r_[src, ends[0]], np.r_[dst, ends[1]], values, n=102).to(device)
        value = both(graph, 100, 101)[0].value
        assert value == pytest.approx(expected or value, rel=1e-12)
        expected = value
    assert middle.n == 100 and expected == pytest.approx(by_networkx(graph.to("cpu"), 100, 101), rel=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_integers_of_any_size(kind: type) -> None:
    most = np.iinfo(kind).max
    graph = gasla.Graph.from_edges([0, 1, 1, 2, 3], [1, 2, 3, 4, 4], np.array([most, 3, 4, most, most], kind))
    assert both(graph, 0, 4)[0].value == 7
    graph = gasla.Graph.from_edges([0, 1], [1, 2], np.array([most, 3], kind))
    assert both(graph, 0, 2)[0].value == 3
    np.testing.assert_array_equal(graph.values, [most, 3])
    with pytest.raises(ValueError, match="expected at most 2"):
        gasla.maximum_flow(graph.with_values(np.array([most, most], kind)), 0, 2)


def test_too_much_at_once_is_refused() -> None:
    graph = gasla.Graph.from_edges([0] * 3, [1, 1, 1], [2**61] * 3)
    with pytest.raises(ValueError, match=r"that enter target 1 to 6.92e\+18 or more; expected at most"):
        gasla.maximum_flow(graph, 0, 1)


def test_a_cut_far_from_large_capacities_is_found() -> None:
    src, dst = [0] * 10 + [1] * 9 + [2] * 10, [1] * 10 + [2] * 9 + [3] * 10
    for part in ((2**62 - 1) // 58, (2**62 - 2) // 9):
        values = np.array([2**61] * 10 + [part] * 9 + [2**61] * 10)
        flow, cut = both(gasla.Graph.from_edges(src, dst, values), 0, 3)
        assert flow.value == 9 * part and cut.source_side.tolist() == [True, True, False, False]
    values[10:19] = 2**59
    with pytest.raises(ValueError, match="or a much smaller cut"):
        gasla.maximum_flow(gasla.Graph.from_edges(src, dst, values), 0, 3)
    values[10:19] = (2**62 - 1) // 58
    with programs_only(), pytest.raises(ValueError, match="or a much smaller cut"):
        gasla.maximum_flow(gasla.Graph.from_edges(src, dst, values), 0, 3)


def test_a_flow_is_never_minus_zero() -> None:
    for values in ([-0.0, 1.0], [-0.0, -0.0], np.array([-0.0, 2], np.float32)):
        found = gasla.maximum_flow(gasla.Graph.from_edges([0, 0], [1, 1], values), 0, 1)
        assert not np.signbit(found.flow).any() and not np.signbit(found.value)


def test_errors_name_vertices() -> None:
    graph = gasla.Graph.from_networkx(nx.DiGraph([("Oslo", "Rome")]))
    for ends, values, said in [
        (("Oslo", 0), [1], "source and target are both 'Oslo'"),
        (("Oslo", "Rome"), [np.inf], "from source 'Oslo' to target 'Rome'"),
        (("Oslo", "Rome"), [2**62], "source 'Oslo' sum to 4.61e.18 or more, those .* that enter target 'Rome'"),
    ]:
        with pytest.raises(ValueError, match=said):
            gasla.maximum_flow(graph.with_values(np.array(values)), *ends)
    with pytest.raises(ValueError, match="source and target are both 'Oslo'"):
        primitives.send_flow(graph.with_values([1]), "Oslo", "Oslo")


def test_the_verifier_rejects_wrong_answers() -> None:
    value, flow = gasla.maximum_flow(NETWORK, 0, 3)
    for wrong, said in [
        (flow + np.int64(1), "its capacity is"),
        (-flow, "expected 0 or more"),
        (flow * [0, 1, 1, 1, 1], "inflow minus outflow"),
        (flow * 0, "the value is 5, but 0 arrives"),
        (flow.astype(float), "values of int64 were expected"),
    ]:
        with pytest.raises(verify.VerificationError, match=said):
            verify.maximum_flow(NETWORK, 0, 3, value, wrong)
    with pytest.raises(verify.VerificationError, match="more could be sent"):
        verify.maximum_flow(NETWORK, 0, 3, 0, flow * 0)
    side = np.array([True, False, False, False])
    for wrong, cost, said in [
        (~side, 5, "not on their sides"),
        (side, 4, "the edges of the cut cost 5"),
        (np.array([True, False, True, False]), 6, "there is one that costs 5"),
    ]:
        with pytest.raises(verify.VerificationError, match=said):
            verify.minimum_cut(NETWORK, 0, 3, cost, wrong)


def wide(name: str) -> tuple[gasla.Graph, int, int]:
    """Networks whose cuts are far from both ends, so that flows take many phases, along many paths."""
    rng = np.random.default_rng(3)
    if name == "mesh":  # from the left side to the right
        ids, n = np.arange(30 * 40).reshape(30, 40), 30 * 40
        a, b = np.r_[ids[:, :-1].ravel(), ids[:-1].ravel()], np.r_[ids[:, 1:].ravel(), ids[1:].ravel()]
        src, dst = np.r_[a, b, np.full(30, n), ids[:, -1]], np.r_[b, a, ids[:, 0], np.full(30, n + 1)]
    else:  # sparse layers, in one direction
        n, width = 40 * 30, 30
        src = np.r_[np.repeat(np.arange(n - width), 3), np.full(width, n), np.arange(n - width, n)]
        layer = (np.arange(n - width) // width + 1) * width
        dst = np.r_[(layer[:, None] + rng.integers(0, width, (n - width, 3))).ravel(), np.arange(width)]
        dst = np.r_[dst, np.full(width, n + 1)]
    capacity = rng.integers(1, 100, len(src))
    capacity[(src >= n) | (dst >= n)] = 10_000
    return gasla.Graph.from_edges(src, dst, capacity, n=n + 2), n, n + 1


@pytest.mark.parametrize("name", ["mesh", "layers"])
def test_flows_of_many_phases_are_those_of_scipy(name: str) -> None:
    graph, source, target = wide(name)
    flow, cut = both(graph, source, target)
    assert flow.value == scipys(graph.to_scipy().astype(np.int32), source, target).flow_value > 0
    side = gasla.minimum_cut(graph.with_values(graph.values.astype(float)), source, target).source_side
    with programs_only():
        assert (gasla.minimum_cut(graph, source, target).source_side == cut.source_side).all()
    np.testing.assert_array_equal(side, cut.source_side)


def test_the_primitives_name_what_they_expect() -> None:
    graph = gasla.Graph.from_edges([0, 1], [1, 0], [3, 0])
    value, flow = primitives.send_flow(graph, 0, 1)
    assert value == 3 and flow.tolist() == [3, -3]
    assert primitives.residual_sources(graph, np.zeros(4, np.int64)[::2], 1).all()
    with pytest.raises(ValueError, match="different vertices"):
        primitives.send_flow(graph, 1, 1)
    with pytest.raises(TypeError, match="expected int64"):
        primitives.send_flow(graph.with_values([1.0, 2.0]), 0, 1)
    with pytest.raises(ValueError, match="one per edge"):
        primitives.residual_sources(graph, flow[:1], 1)
    with pytest.raises(ValueError, match="reverse"):
        primitives.send_flow(gasla.Graph.from_edges([0], [1], [3]), 0, 1)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([-3, 0], r"the value of edge 0 is -3; expected 0 to 2\*\*62 - 1"),
        ([3, 2**62], r"the value of edge 1 is 4611686018427387904; expected 0 to 2\*\*62 - 1"),
    ],
)
def test_the_primitives_refuse_values_out_of_range(values: Any, said: str) -> None:
    graph = gasla.Graph.from_edges([0, 1], [1, 0], np.array([3, 0]))
    assert primitives.send_flow(graph, 0, 1)[0] == 3
    graph.values[:] = values
    with pytest.raises(ValueError, match=said):
        primitives.send_flow(graph, 0, 1)
    with pytest.raises(ValueError, match=said):
        primitives.residual_sources(graph, np.zeros(2, np.int64), 1)


def test_the_primitives_send_more_than_an_integer_of_64_bits() -> None:
    graph = gasla.Graph.from_edges([0] * 8 + [1] * 8, [1] * 8 + [0] * 8, np.array([2**62 - 1] * 8 + [0] * 8))
    value, flow = primitives.send_flow(graph, 0, 1)
    assert value == 8 * (2**62 - 1) and (flow[:8] == 2**62 - 1).all() and (flow[8:] == 1 - 2**62).all()
    assert not primitives.residual_sources(graph, flow, 1)[0]


def test_the_kernels_end_when_they_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    path, stopped = gasla.Graph.from_edges(np.arange(999), np.arange(1, 1000)).paired(), new_control()
    whole = primitives.send_flow(path, 0, 999)
    assert whole[0] == 1
    stopped[STOP] = 1
    monkeypatch.setattr("gasla.cpu.runtime.blocks.new_control", lambda: stopped)
    assert primitives.send_flow(path, 0, 999)[0] == 0
    assert not primitives.residual_sources(path, 0 * whole[1], 999).all()


@pytest.mark.slow  # two kernels, compiled by g++
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("blocks", [1, 2])
def test_an_emulated_gpu_gives_the_same_answer(blocks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gasla.gpu.program.plan import Variant
    from tests.helpers.emulated_loop import EmulatedRun

    made: dict[type, EmulatedRun] = {}

    def run(program: Any, graph: gasla.Graph, active: Any, max_iterations: int = 10**6, **given: Any) -> Any:
        given.pop("notice")
        kind = type(program)
        if kind not in made:
            shape = Variant(np.dtype(np.int32), small=blocks == 1, shared=blocks == 1)
            made[kind] = EmulatedRun(kind, graph, shape, blocks, {}, tmp_path / kind.__name__)
            (tmp_path / kind.__name__).mkdir()
        kernel = made[kind]
        kernel.program = program
        active = np.flatnonzero(active) if np.asarray(active).dtype == bool else active
        fields = kernel.run(active, limit=max_iterations, **given)
        copies = {name: np.array(array) for name, array in fields.items()}
        return SimpleNamespace(**copies, iterations=int(kernel.page.control.iteration))

    rng = np.random.default_rng(5)
    src, dst, capacity = rng.integers(0, 60, 500), rng.integers(0, 60, 500), rng.integers(0, 30, 500)
    graph = gasla.Graph.from_edges(src, dst, capacity, n=60)
    with programs_only():
        expected = gasla.maximum_flow(graph, 2, 3)
        monkeypatch.setattr(preflow, "run", run)
        found = gasla.maximum_flow(graph, 2, 3)
    assert found.value == expected.value == by_networkx(graph, 2, 3)
    np.testing.assert_array_equal(found.flow, expected.flow)


@pytest.mark.slow  # seconds for each kernel
@pytest.mark.parametrize("program", [preflow.Rounds, preflow.Distances])
@pytest.mark.parametrize("shape", [{}, {"small": True}, {"bounded_degree": True, "local": True}])
def test_kernels_compile(program: Any, shape: dict[str, bool]) -> None:
    compile = pytest.importorskip("gasla.gpu.runtime.compile", reason="NVRTC comes with CuPy")
    from gasla.gpu.program.generate import module
    from gasla.gpu.program.plan import Variant

    source = module(program, np.dtype(np.int32), Variant(np.dtype(np.int32), **shape)).source
    assert compile.compile_source(source, "compute_90")


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
def test_by_scipys_door(device: Any) -> None:
    """The same kind of result whoever finds it: SciPy's arrays are answered by SciPy, CuPy's by gasla."""
    from gasla import csgraph
    from gasla.csgraph.flow import by_gasla

    rng = np.random.default_rng(2)
    dense = rng.integers(1, 9, (30, 30)) * (rng.random((30, 30)) < 0.2)
    matrix = csr_array(dense.astype(np.int32))
    theirs = csgraph.maximum_flow(matrix, 0, 29)
    if device == "gpu":
        there = pytest.importorskip("cupyx.scipy.sparse").csr_matrix(matrix.astype(np.float32))
        ours = csgraph.maximum_flow(there, 0, 29)
        flow, indptr = ours.flow.toarray().get(), ours.flow.indptr.get()
    else:
        ours = by_gasla(matrix, 0, 29)
        flow, indptr = ours.flow.toarray(), ours.flow.indptr
    assert type(ours) is type(theirs) and ours.flow_value == theirs.flow_value
    assert (flow == -flow.T).all() and (flow <= dense).all()
    assert flow[0].sum() == ours.flow_value and (np.delete(flow.sum(axis=1), [0, 29]) == 0).all()
    np.testing.assert_array_equal(indptr, theirs.flow.indptr)
    for wrong in (matrix.tocsc(), matrix.toarray()):
        with pytest.raises(TypeError, match="CSR"):
            csgraph.maximum_flow(wrong, 0, 1)
