"""Reductions by key on a GPU, against the reference: rows for every way, hubs of a hundred thousand neighbors too."""

import itertools
from typing import Any

import numpy as np
import pytest

import gasla
from gasla.graph.graph import Graph
from tests.gpu.test_keys_emulated import Heard, Moods, shapes
from tests.helpers.keyed_programs import Chosen, Labels, hub_of_a_million

pytestmark = pytest.mark.gpu


def graphs() -> dict[str, Graph]:
    rng = np.random.default_rng(1)
    lengths = np.r_[rng.integers(0, 70, 3000), 240, 241, 384, 385, 7680, 7681, 12288, 12289, 100_000]
    dst = np.repeat(np.arange(len(lengths)), lengths)
    src = rng.integers(0, 120_000, len(dst))
    weights = rng.integers(-1, 5, len(dst))
    return {**shapes(), "hubs": Graph.from_edges(src, dst, weights, n=120_000)}


SANITIZED = [(name, program) for name in ("rows", "alike") for program in (Labels, Chosen)]  # small, and by every way


@pytest.mark.parametrize("options", [{}, {"deterministic": True}], ids=["", "deterministic"])
@pytest.mark.parametrize(
    ("name", "program"),
    [
        pytest.param(*case, marks=pytest.mark.sanitize if case in SANITIZED else ())
        for case in itertools.product(graphs(), (Labels, Chosen, Heard, Moods))
    ],
)
def test_equals_the_reference(name: str, program: Any, options: dict[str, Any]) -> None:
    graph = graphs()[name]
    expected = gasla.run(program, graph, max_iterations=4, compile=False)
    found = gasla.run(program, graph.to("gpu"), max_iterations=4, **options)
    for field in expected.state:
        np.testing.assert_array_equal(getattr(found, field).get(), getattr(expected, field), err_msg=field)
    assert found.iterations == expected.iterations


def test_floats_add_up_in_order() -> None:
    rng = np.random.default_rng(2)
    dst = np.repeat(np.arange(40), 1000)
    graph = Graph.from_edges(rng.integers(0, 500, len(dst)), dst, rng.random(len(dst)), n=500)
    expected = gasla.run(Labels, graph, max_iterations=3, compile=False, deterministic=True)
    for _ in range(2):
        found = gasla.run(Labels, graph.to("gpu"), max_iterations=3, deterministic=True)
        np.testing.assert_array_equal(found.label.get(), expected.label)


def test_workspace_names_the_tables() -> None:
    assert gasla.workspace(Labels, graphs()["hubs"].to("gpu")) > 2 * 100_000 * 12


@pytest.mark.parametrize("kind", ["alike", "different", "some"])
def test_a_hub_of_a_million(kind: str) -> None:
    graph, labels, wanted = hub_of_a_million(kind)
    found = gasla.run(Labels, graph.to("gpu"), max_iterations=1, label=labels).label
    assert int(found[0]) == wanted
    np.testing.assert_array_equal(found.get()[1:], labels[1:])
