"""Programs over wide vectors on the GPU, against the independent engine."""

from typing import Any

import numpy as np
import pytest

import gasla
from gasla.arrays import moved
from gasla.graph.graph import Graph
from tests.helpers import wide_programs
from tests.helpers.reference_engine import Reference

PROGRAMS = {
    "summing": (wide_programs.summing, None, 1),
    "scaled": (wide_programs.scaled, None, 4),
    "spreading": (wide_programs.spreading, [1, 5], 5),
    "from all": (lambda lanes: wide_programs.spreading(lanes, "all"), [1, 5], 4),
    "lowering": (wide_programs.lowering, None, 50),
    "lowering from a few": (lambda lanes: wide_programs.lowering(lanes, "active"), [3], 50),
    "first": (wide_programs.first, [0, 3], 8),
    "looking": (wide_programs.looking, None, 1),
    "nothing": (wide_programs.nothing, [2], 5),
}


def made(n: int, m: int, kind: str = "i4") -> Graph:
    """Of many out- and many in-edges, with loops, parallel edges and vertices that have none."""
    rng = np.random.default_rng(n)
    ends = rng.integers(0, n, m) ** 2 // max(n, 1), rng.integers(0, n, m) ** 4 // max(n, 1) ** 3
    graph = Graph.from_edges(*ends, rng.integers(0, 9, m), n=n)
    return Graph.from_csr(graph.out.indptr.astype(kind), graph.out.indices, graph.out_values)


def star(leaves: int) -> Graph:
    """One row longer than several pieces, and one entry in each other's."""
    hub, others = np.zeros(leaves, int), np.arange(1, leaves + 1)
    ones = np.arange(2 * leaves) % 9
    return Graph.from_edges(np.append(hub, others), np.append(others, hub), ones, n=leaves + 1)


GRAPHS = {
    "empty": lambda: Graph.from_edges([], [], np.zeros(0, int), n=0),
    "one vertex": lambda: Graph.from_edges([0, 0], [0, 0], [2, 5], n=1),
    "skewed": lambda: made(700, 3000, "i8"),
    "star": lambda: star(1500),
    "path": lambda: Graph.from_edges(np.arange(99), np.arange(1, 100), np.arange(99) % 7, n=100),
}


@pytest.mark.gpu
@pytest.mark.parametrize("small", [0, 10_000], ids=["several blocks", "one block"])
@pytest.mark.parametrize(
    "lanes", [9, pytest.param(33, marks=pytest.mark.sanitize), 64, 200, pytest.param(1024, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_the_independent_engine(name: str, lanes: int, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gasla.gpu.program.workspace.SMALL", small)
    make, active, limit = PROGRAMS[name]
    program = make(lanes)
    for shape, graph in ((shape, GRAPHS[shape]()) for shape in GRAPHS):
        some = None if active is None else [v for v in active if v < graph.n]
        reference = Reference(program(), graph).run(some, limit)
        for option in ({}, {"direction": "pull"}, {"direction": "push"}, {"deterministic": True}):
            result = gasla.run(program, graph, device="gpu", active=some, max_iterations=limit, **option)
            check(result, reference, f"{shape} {option}")
            assert result.iterations == reference.iteration


def check(result: gasla.Result, reference: Reference, where: str) -> None:
    """Every field and every aggregate is what the independent engine found."""
    for name, value in reference.aggregates.items():
        assert np.asarray(moved(result.aggregates[name], "cpu")) == value, f"{where} {name}"
    for name, expected in {**reference.vertex, **reference.edge}.items():
        if name in result.state:
            got = result.state[name].get()
            np.testing.assert_array_equal(got.T if got.ndim == 2 else got, expected, err_msg=f"{where} {name}")


@pytest.mark.gpu
@pytest.mark.parametrize("given", ["numbers", "arrays", "on the device", "rows", "out"])
def test_what_fields_start_with(given: str) -> None:
    """One number for all lanes, arrays wherever they are, rows of some vertices, arrays that a result lives in."""
    import cupy

    graph, program = made(300, 2000), wide_programs.summing(40)
    features = np.random.default_rng(2).integers(0, 9, (graph.n, 40)).astype(np.float32)
    start: dict[str, Any] = {"x": features}
    if given == "numbers":
        start = {"x": 3}
    elif given == "rows":
        start = {"x": {5: features[5], 7: 2}}
    reference = Reference(program(), graph, **start).run(None, 1)
    if given in ("on the device", "out"):
        start = {"x": cupy.asarray(features)}
    if given == "out":
        start |= {"out": {"x": start["x"], "y": cupy.zeros((graph.n, 40), np.float32)}}
    result = gasla.run(program, graph, device="gpu", max_iterations=1, **start)
    check(result, reference, given)
    if given == "on the device":
        assert (start["x"].get() == features).all()


@pytest.mark.gpu
def test_sums_of_floats_are_the_same_every_time() -> None:
    graph, program = star(5000), wide_programs.summing(64)
    features = np.random.default_rng(3).random((graph.n, 64), dtype=np.float32)
    results = [gasla.run(program, graph, device="gpu", max_iterations=1, x=features).y.get() for _ in range(3)]
    assert all((result == results[0]).all() for result in results)
    np.testing.assert_allclose(results[0][0], features[1:].sum(0, dtype=np.float64), rtol=1e-5)
