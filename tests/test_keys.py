"""Reductions by key: what is said of them, and what they come to, against plain loops."""

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from keyed_programs import Labels, Told, labels_once

import gasla
import semirings
from gasla.graph.graph import Graph

COMPILED = [False]


def shapes() -> dict[str, Graph]:
    """Graphs on which something may go wrong; weights are whole numbers, so that sums are exact."""
    rng = np.random.default_rng(28)
    src, dst = rng.integers(0, 40, (2, 300))
    hub = np.arange(1, 200)
    of = Graph.from_edges
    return {
        "random": of(src, dst, rng.integers(1, 4, 300), n=45),  # loops, parallel edges, lonely vertices
        "negative": of(src, dst, rng.integers(-3, 4, 300), n=45),
        "empty": of([], [], n=0),
        "one": of([], [], n=1),
        "loop": of([0], [0]),
        "star": of(np.r_[hub, 0 * hub], np.r_[0 * hub, hub]),
        "path": of(np.arange(99), np.arange(1, 100)),
        "alike": of(hub, 0 * hub, np.ones(len(hub))),
    }


@pytest.mark.parametrize("compiled", COMPILED)
@pytest.mark.parametrize("name", shapes())
def test_labels_are_those_of_plain_loops(name: str, compiled: bool) -> None:
    graph = shapes()[name]
    labels = np.arange(graph.n, dtype=graph.id_dtype) % 7
    for _ in range(3):
        found = gasla.run(Labels, graph, max_iterations=1, label=labels, compile=compiled).label
        labels = labels_once(graph, labels)
        np.testing.assert_array_equal(found, labels)


@pytest.mark.parametrize("compiled", COMPILED)
@pytest.mark.parametrize("name", shapes())
def test_all_is_told_of_what_is_chosen(name: str, compiled: bool) -> None:
    graph = shapes()[name]
    found = gasla.run(Told, graph, max_iterations=1, compile=compiled)
    totals: Any = [defaultdict(int) for _ in range(graph.n)]
    for u, v, e in zip(graph.out.owners(), graph.out.indices, graph.out.numbers(), strict=True):
        if u % 5 - 1 >= 0:
            totals[v][u % 5 - 1] += u + e
    for v in range(graph.n):
        score: Any = lambda key, v=v: (totals[v][key] % 4, (key % 3 if key < graph.n else -1) + v % 5 - 1)
        key = max(totals[v], key=lambda key: (*score(key), -key), default=-1)
        wanted = (key, totals[v][key], *score(key)) if key >= 0 else (-1, 0, np.iinfo(np.int64).min, -np.inf)
        assert (found.chosen[v], found.total[v], found.score[v], found.other[v]) == wanted


def broken(**changed: Any) -> type[gasla.VertexProgram]:
    return type("Broken", (Labels,), changed)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (
            {"key": lambda self, src, dst, edge: src.label * 0.5},
            "Broken.key returned .*float64; expected a whole number",
        ),
        ({"key": lambda self, src, dst, edge: src.label > 1}, "Broken.key returned .*bool; expected a whole number"),
        ({"key": lambda self, src, dst, edge: (src.label, dst.label)}, "Broken.key returned a tuple; expected a whole"),
        ({"reduce": semirings.Monoid(lambda x, y: x, 0, name="left", commutative=False)}, "which minds the order"),
        ({"gather": lambda self, src, dst, edge: (edge.weight, 1)}, "gather returned a tuple and reduces by key"),
        (
            {"gather": lambda self, src, dst, edge: src.three, "three": gasla.vertex((np.float32, (3,)))},
            "returned a vector",
        ),
        ({"choose": None}, "Broken has key and no choose: nothing says which key"),
        ({"key": None}, "Broken has choose and no key"),
        ({"gather": None}, "Broken has key and no gather"),
        ({"choose": lambda self, vertex, key, total: total > 1}, "Broken.choose returned .*bool; expected a number"),
        ({"choose": lambda self, vertex, key, total: {"a": total}}, "expected one value"),
        ({"apply": lambda self, vertex, gathered: {"label": gathered.first}}, "it has key, score, total"),
    ],
)
def test_what_is_refused(changed: dict[str, Any], says: str) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError), match=says):
        broken(**changed).traced()


def test_keys_never_push() -> None:
    plan = gasla.program.plan.Plan(Labels.traced())
    assert plan.reason_to_pull == "values are reduced by key, where they are received"
