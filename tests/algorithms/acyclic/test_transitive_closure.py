"""Transitive closures and reductions are NetworkX's, in blocks of 64 sources, and bounded."""

from typing import Any

import networkx as nx
import numpy as np
import pytest

import gasla
from gasla import Graph, verify
from gasla.cli.compute import on_host
from gasla.graph import memory_limit
from tests.algorithms.community.test_edge_support import DEVICES, HARD, on
from tests.helpers.law import Answer, Asked, Row
from tests.helpers.mutants import ALL, Array, Question, Questions, Small
from tests.helpers.mutants import Asked as Questioned


def closed(q: Asked) -> Answer:
    made = gasla.transitive_closure(q.given).to("cpu")
    verify.transitive_closure(q.plain, made)
    return {"edges": q.joined(made)}


def reduced(q: Asked) -> Answer:
    found = on_host(gasla.transitive_reduction(q.given))
    q.check(verify.transitive_reduction, found)
    src, dst = q.plain.edges()
    return {"edges": sorted({*zip(q.was[src[found]].tolist(), q.was[dst[found]].tolist(), strict=True)})}


LAWS = [
    Row("transitive_closure", closed),
    Row("transitive_reduction", reduced, kinds=("acyclic",)),
]


def closures(g: Small) -> Questioned:
    """The question to the verifier."""
    right = np.array(sorted(nx.transitive_closure(g.directed).edges), int).reshape(-1, 2)

    def check(src: Array, dst: Array) -> None:
        verify.transitive_closure(g.matrix, Graph.from_edges(src, dst, n=g.n))

    def is_right(src: Array, dst: Array) -> bool:
        if src.shape != dst.shape:
            return False
        order = np.argsort(src, kind="stable")
        return np.array_equal(np.stack([src, dst], axis=1)[order], right)

    yield Question(check, {"src": right[:, 0], "dst": right[:, 1]}, is_right)


def reductions(g: Small) -> Questioned:
    """The question to the verifier."""
    yield Question(lambda kept: verify.transitive_reduction(g.matrix, kept), {"kept": first_of(*g.matrix.edges())})


QUESTIONS: Questions = {
    "transitive_closure": (closures, (*ALL, "acyclic")),
    "transitive_reduction": (reductions, ("acyclic", "two sides")),
}


def first_of(src: Array, dst: Array) -> Array:
    """Which edges are NetworkX's reduction, the first of parallel ones."""
    edges = [*zip(src.tolist(), dst.tolist(), strict=True)]
    right = {*nx.transitive_reduction(nx.DiGraph(edges)).edges}
    return np.array([edge in right and edge not in edges[:e] for e, edge in enumerate(edges)], bool)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", HARD)
def test_hard_shapes(device: Any, shape: str) -> None:
    n, src, dst = HARD[shape]
    graph = on(device, HARD[shape])
    made = gasla.transitive_closure(graph).to("cpu")
    verify.transitive_closure(on("cpu", HARD[shape]), made)
    assert made.id_dtype == graph.id_dtype and made.n == n
    low = src < dst
    acyclic = on(device, (n, src[low], dst[low]))
    found = on_host(gasla.transitive_reduction(acyclic))
    verify.transitive_reduction(acyclic.to("cpu"), found)
    assert shape != "a path" or (found.all() and made.m == n * (n - 1) // 2)


@pytest.mark.parametrize("n", [5, 64, 65, 100])
def test_random_graphs(n: int) -> None:
    for seed in range(6):
        random = np.random.default_rng(seed)
        src, dst = random.integers(0, n, (2, n + seed * n // 6))
        made = gasla.transitive_closure(Graph.from_edges(src, dst, n=n))
        right = nx.transitive_closure(nx.DiGraph([*zip(src.tolist(), dst.tolist(), strict=True)]))
        assert [*zip(*(ends.tolist() for ends in made.edges()), strict=True)] == sorted(right.edges)
        name, low, high = random.permutation(n), np.minimum(src, dst), np.maximum(src, dst)
        src, dst = name[low[low < high]], name[high[low < high]]
        found = gasla.transitive_reduction(Graph.from_edges(src, dst, n=n))
        assert found.tolist() == first_of(src, dst).tolist()


def test_names_stay_and_weights_of_the_reduction() -> None:
    graph = Graph.from_networkx(nx.DiGraph([("a", "b"), ("b", "c"), ("a", "c")])).with_values(np.array([1.0, 5.0, 2.0]))
    closure = gasla.transitive_closure(graph)
    assert closure.names.tolist() == graph.names.tolist() and closure.values is None
    src, dst = graph.edges()
    assert gasla.transitive_reduction(graph).tolist() == [
        (u, v) != ("a", "c") for u, v in zip(graph.name(src), graph.name(dst), strict=True)
    ]


def test_a_cycle_has_no_reduction() -> None:
    with pytest.raises(ValueError, match="the graph has the cycle"):
        gasla.transitive_reduction(Graph.from_edges([0, 1, 2], [1, 2, 0]))


def test_a_closure_that_does_not_fit_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the first block of sources that exceeds it."""
    monkeypatch.setattr(memory_limit, "LARGE", 1)
    monkeypatch.setattr(memory_limit, "available", lambda device: 100_000)
    path = Graph.from_edges(np.arange(999), np.arange(1, 1000))
    message = r"the closure has at least [\d,]+ entries, which take [\d,]+ bytes, and 100,000 are available"
    with pytest.raises(MemoryError, match=message):
        gasla.transitive_closure(path)
    assert gasla.transitive_reduction(path).all()


def test_a_closure_of_a_giant_component_is_refused_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """300 vertices on a cycle, 50 before it and 100 after it."""
    src = np.concatenate([np.arange(300), np.arange(300, 350), np.zeros(100, int)])
    dst = np.concatenate([np.roll(np.arange(300), -1), np.zeros(50, int), np.arange(350, 450)])
    monkeypatch.setattr(memory_limit, "LARGE", 1)
    monkeypatch.setattr(memory_limit, "available", lambda device: 100_000)
    monkeypatch.setattr(
        "gasla.algorithms.acyclic.transitive_closure.prepare", lambda *args, **kwargs: pytest.fail("begun")
    )
    with pytest.raises(MemoryError, match="the closure has at least 139,999 entries"):
        gasla.transitive_closure(Graph.from_edges(src, dst))
