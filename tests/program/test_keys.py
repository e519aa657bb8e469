"""Reductions by key: what is said of them, and what they come to, against plain loops."""

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla.graph.graph import Graph
from tests.helpers.keyed_programs import Both, Chosen, Heard, Labels, Out, hub_of_a_million, labels_once

COMPILED = [False, True]


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
        "alike": of(hub, 0 * hub, np.ones(len(hub), np.int64)),
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
    found = gasla.run(Chosen, graph, max_iterations=1, compile=compiled)
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
        ({"reduce": semirings.Monoid(lambda x, y: x, 0, name="left", commutative=False)}, "which depends on the order"),
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
def test_unsupported_input_is_refused(changed: dict[str, Any], says: str) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError), match=says):
        broken(**changed).traced()


def test_keys_never_push() -> None:
    plan = gasla.program.plan.Plan(Labels.traced())
    assert plan.reason_to_pull == "values are reduced by key, at the receiver"


@pytest.mark.thorough
@pytest.mark.parametrize("program", [Heard, Both, Out])
@pytest.mark.parametrize(
    "direction", ["auto", *(pytest.param(way, marks=pytest.mark.slow) for way in ("push", "pull"))]
)
@pytest.mark.parametrize("deterministic", [False, True])
def test_engines_agree(program: Any, direction: Any, deterministic: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By several threads, with masks, frontiers, active sources, directions, aggregates of both kinds, and `stop`."""
    monkeypatch.setattr("gasla.cpu.program.workspace.SMALL", 0)
    for name, graph in shapes().items():
        active = None if graph.n < 3 else np.arange(0, graph.n, 3)
        wanted = gasla.run(program, graph, active=active, max_iterations=6, compile=False)
        found = gasla.run(
            program, graph, active=active, max_iterations=6, direction=direction, deterministic=deterministic
        )
        for field in ("label", "times"):
            np.testing.assert_array_equal(getattr(found, field), getattr(wanted, field), err_msg=f"{name} {field}")
        assert found.iterations == wanted.iterations, name
        assert found.aggregates["moved"] == wanted.aggregates["moved"], name
        np.testing.assert_array_equal(found.aggregates["members"], wanted.aggregates["members"], err_msg=name)
        np.testing.assert_array_equal(found.active.mask, wanted.active.mask, err_msg=name)


def test_stages_gather_what_is_chosen() -> None:
    graph = shapes()["random"]
    state = gasla.stages.start(Labels, graph)
    key, total, score = gasla.stages.gather(state, range(graph.n))
    np.testing.assert_array_equal(np.where(key >= 0, key, np.arange(graph.n)), labels_once(graph, np.arange(graph.n)))
    np.testing.assert_array_equal(total[key >= 0], score[key >= 0])
    gasla.stages.apply(state, range(graph.n), (key, total, score))
    np.testing.assert_array_equal(state.label, labels_once(graph, np.arange(graph.n)))


@pytest.mark.thorough
def test_floats_are_added_in_the_order_of_the_input() -> None:
    """At a hub, whose lists are in another order than the input's edges, where the order shows in the sum."""
    rng = np.random.default_rng(2)
    src = rng.permutation(np.arange(1, 400))
    weights = 10.0 ** rng.integers(-8, 9, len(src))
    graph = Graph.from_edges(src, np.zeros_like(src), weights)

    class Sum(Labels):
        label = gasla.vertex(gasla.ID, init=0)
        total = gasla.vertex(np.float64)

        def apply(self, vertex, gathered):
            return {"total": gathered.total}

    found = gasla.run(Sum, graph, max_iterations=1, deterministic=True).total[0]
    wanted = 0.0
    for weight in weights:
        wanted += weight
    assert found == wanted


@pytest.mark.thorough
def test_ids_of_64_bits_and_keys_anywhere() -> None:
    """Keys needn't be vertices: those of int64, far apart, that share low bits."""
    rng = np.random.default_rng(3)
    kinds = (rng.integers(0, 2**20, 50) << 42) | 7
    src, dst = rng.integers(0, 50, (2, 600))
    order = np.lexsort((src, dst))
    indptr = np.searchsorted(dst[order], np.arange(51)).astype(np.int64)

    class Far(Labels):
        kind = gasla.vertex(np.int64)
        label = gasla.vertex(np.int64, init=-1)

        def key(self, src, dst, edge):
            return src.kind

    graph = Graph.from_csr(indptr, src[order].astype(np.int64))
    results = [gasla.run(Far, graph, max_iterations=1, kind=kinds, compile=c).label for c in (False, True)]
    np.testing.assert_array_equal(*results)
    assert np.isin(results[0][graph.in_degrees > 0], kinds).all()


def test_memory_is_stated() -> None:
    graph = shapes()["star"]
    without = type("Plain", (Labels,), {"key": None, "choose": None, "apply": None})
    threads_ = 1  # on a small graph
    assert gasla.workspace(Labels, graph) - gasla.workspace(without, graph) == threads_ * 199 * (2 * (4 + 8) + 4)
    assert "a table of 398 keys" in gasla.explain(Labels, graph)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["alike", "different", "some"])
def test_a_hub_of_a_million(kind: str) -> None:
    graph, labels, wanted = hub_of_a_million(kind)
    found = gasla.run(Labels, graph, max_iterations=1, label=labels).label
    assert found[0] == wanted
    np.testing.assert_array_equal(found[1:], labels[1:])
