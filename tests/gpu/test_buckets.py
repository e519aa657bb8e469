"""Buckets and waking on the GPU, against the same by NumPy, by one block and by several."""

from typing import Any

import networkx as nx
import numpy as np
import pytest

import gasla
from gasla.arrays import moved
from gasla.graph.graph import Graph
from tests.helpers.programs import Cores, Reaches, Thawing
from tests.program.test_buckets import GRAPHS, graph_of

pytestmark = pytest.mark.gpu


@pytest.fixture(params=[0, 10_000], ids=["several blocks", "one block"], autouse=True)
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gasla.gpu.program.workspace.SMALL", request.param)


OPTIONS: dict[str, dict[str, Any]] = {
    "auto": {},
    "push": {"direction": "push"},
    "deterministic": {"deterministic": True},
}
# Reaches runs as many searches as there are vertices: minutes under a sanitizer.
SANITIZED = ((Cores, "auto"), (Thawing, "auto"))


@pytest.mark.parametrize(
    ("program", "options"),
    [
        pytest.param(program, options, marks=pytest.mark.sanitize if (program, options) in SANITIZED else ())
        for program in (Cores, Reaches, Thawing)
        for options in OPTIONS
    ],
)
def test_equals_numpy(program: type[gasla.VertexProgram], options: str) -> None:
    for name in ("karate", "star", "path", "apart", "nothing", "one"):
        graph = Graph(graph_of(GRAPHS[name]))
        for active in (None, []):
            expected = gasla.run(program, graph, active=active, compile=False)
            for more in ({}, {"callback": lambda result: False}):
                found = gasla.run(program, graph, device="gpu", active=active, **OPTIONS[options], **more)
                for field in program.vertex_fields:
                    np.testing.assert_array_equal(getattr(found, field).get(), getattr(expected, field), err_msg=name)
                assert (found.iterations, found.converged) == (expected.iterations, expected.converged)


def test_a_run_that_is_cut(small: None) -> None:
    graph = Graph(graph_of(GRAPHS["large"]))
    for limit in (0, 1, 5, 100):
        expected = gasla.run(Thawing, graph, compile=False, max_iterations=limit)
        found = gasla.run(Thawing, graph, device="gpu", max_iterations=limit)
        np.testing.assert_array_equal(found.opened.get(), expected.opened)
        np.testing.assert_array_equal(moved(found.active.mask, "cpu"), expected.active.mask)
        assert (found.iterations, found.converged) == (expected.iterations, expected.converged)


@pytest.mark.parametrize("direction", ["auto", "push", "pull"])
def test_cores_of_a_larger_graph(direction: Any) -> None:
    made = nx.barabasi_albert_graph(20_000, 8, seed=2)
    found = gasla.run(Cores, graph_of(made), device="gpu", direction=direction)
    np.testing.assert_array_equal(found.degree.get(), [core for _, core in sorted(nx.core_number(made).items())])
