"""The CPU's kernel `gasla.primitives.lightest_forest`, against Kruskal's method and vertex programs."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import engines, primitives
from tests.algorithms.community.test_triangles import edge_lists, use_threads

Edges = tuple[int, np.ndarray, np.ndarray]
WEIGHTS: dict[str, Any] = {
    "none": lambda random, m: None,
    "bool": lambda random, m: random.integers(0, 2, m).astype(bool),
    "int8": lambda random, m: random.integers(-3, 3, m).astype(np.int8),
    "uint64": lambda random, m: random.integers(0, 3, m).astype(np.uint64) + np.uint64(2**58),
    "float32": lambda random, m: random.random(m).astype(np.float32),
    "float64": lambda random, m: random.choice([0.0, -0.0, 1.5, np.inf], m),
}
QUICK = "none", "float64"  # the others compile everything for one more type


def kruskal(n: int, src: np.ndarray, dst: np.ndarray, weights: np.ndarray | None) -> list[int]:
    """The forest's edges, in the order that the page names."""
    roots, taken = list(range(n)), []
    each = np.zeros(len(src)) if weights is None else weights
    for e in np.lexsort((np.maximum(src, dst), np.minimum(src, dst), each)).tolist():
        a, b = roots[src[e]], roots[dst[e]]
        if a != b:
            roots = [a if root == b else root for root in roots]
            taken.append(e)
    return sorted(taken)


@pytest.mark.parametrize("kind", [_ if _ in QUICK else pytest.param(_, marks=pytest.mark.thorough) for _ in WEIGHTS])
@settings(max_examples=30)
@given(edges=edge_lists(), seed=st.integers(0, 2**32 - 1), threads=st.integers(1, 3), mirrored=st.booleans())
def test_it_is_the_forest_of_kruskal(kind: str, edges: Edges, seed: int, threads: int, mirrored: bool) -> None:
    n, src, dst = edges
    weights = WEIGHTS[kind](np.random.default_rng(seed), len(src))
    if mirrored:  # sorted lists of both directions, as a symmetric matrix has
        key, first = np.unique(np.minimum(src, dst) * n + np.maximum(src, dst), return_index=True)
        low, high = key // n, key % n
        other = low != high
        src, dst = np.append(low, high[other]), np.append(high, low[other])
        order = np.lexsort((dst, src))
        src, dst = src[order], dst[order]
        weights = None if weights is None else np.append(weights[first], weights[first][other])[order]
    graph = gasla.Graph.from_edges(src, dst, weights, n=n)
    with pytest.MonkeyPatch.context() as patch:
        use_threads(patch, threads)
        patch.setattr("gasla.cpu.primitive.boruvka._MANY", seed % 4)
        patch.setattr("gasla.cpu.primitive.boruvka._LIGHT", 0)
        found = primitives.lightest_forest(graph)
    assert found.dtype == np.int64
    assert sorted(found.tolist()) == kruskal(n, src, dst, weights)
    with engines.programs_only():
        by_programs = gasla.minimum_spanning_forest(graph)
    whole = gasla.minimum_spanning_forest(graph)
    np.testing.assert_array_equal(whole.edges, by_programs.edges)
    assert whole.total == by_programs.total


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("shape", ["rising path", "falling path", "star"])
def test_long_chains_of_trees_and_hubs(shape: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a path with rising weights, each vertex hooks to the one before in the first round."""
    n = 100_000
    use_threads(monkeypatch, threads)
    src = np.zeros(n - 1, np.int32) if shape == "star" else np.arange(n - 1, dtype=np.int32)
    weights = np.arange(n - 1)[:: -1 if shape == "falling path" else 1]
    found = primitives.lightest_forest(gasla.Graph.from_edges(src, np.arange(1, n, dtype=np.int32), weights))
    np.testing.assert_array_equal(np.sort(found), np.arange(n - 1))


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_no_thread_goes_ahead_when_the_light_edges_are_done(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One round, the first, finds no edge: the next may not change the counts that others read."""
    use_threads(monkeypatch, threads)
    monkeypatch.setattr("gasla.cpu.primitive.boruvka._MANY", 0)
    monkeypatch.setattr("gasla.cpu.primitive.boruvka._LIGHT", 0)
    loop = gasla.Graph.from_edges([0, 1, 2, 1, 4, 2], [1, 3, 3, 1, 0, 3], [2.0, 1.0, 2.0, -3.0, 3.0, 2.0])
    for _ in range(50):
        assert sorted(primitives.lightest_forest(loop).tolist()) == [0, 1, 2, 4]


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match="the weight of edge 1 is nan"):
        primitives.lightest_forest(gasla.Graph.from_edges([0, 1], [1, 2], [1.0, np.nan]))
    with pytest.raises(TypeError, match="expected"):
        primitives.lightest_forest([[0, 1], [1]])
    assert primitives.lightest_forest(gasla.Graph.from_edges([], [], n=0)).tolist() == []
    assert primitives.lightest_forest(gasla.Graph.from_edges([1], [1], n=3)).tolist() == []
