"""The CPU's kernel `gasla.primitives.match_heaviest`, against a loop over the edges and vertex programs."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
import semirings
from gasla import engines, primitives
from tests.algorithms.community.test_triangles import edge_lists, use_threads

Edges = tuple[int, np.ndarray, np.ndarray]
WEIGHTS: dict[str, Any] = {
    "none": lambda random, m: None,
    "bool": lambda random, m: random.integers(0, 2, m).astype(bool),
    "int8": lambda random, m: random.choice([-128, -1, 3, 127], m).astype(np.int8),
    "uint64": lambda random, m: random.integers(0, 3, m).astype(np.uint64) + np.uint64(2**58),
    "float32": lambda random, m: random.random(m).astype(np.float32),
    "float64": lambda random, m: random.choice([-2.0, 0.0, -0.0, 1.5, np.inf], m),
}
QUICK = "none", "float64"  # the others compile everything for one more type


def best_first(n: int, src: np.ndarray, dst: np.ndarray, weights: np.ndarray | None) -> list[int]:
    """The mates that a loop over the edges finds, in the order that the page names."""
    degrees = np.minimum(np.bincount(src, minlength=n) + np.bincount(dst, minlength=n), 255)
    heavy = np.zeros(len(src)) if weights is None else np.unique(weights, return_inverse=True)[1]
    mates = [-1] * n
    for e in np.lexsort((src ^ dst, np.minimum(degrees[src], degrees[dst]), -heavy)).tolist():
        u, v = int(src[e]), int(dst[e])
        if u != v and mates[u] < 0 and mates[v] < 0:
            mates[u], mates[v] = v, u
    return mates


@pytest.mark.parametrize("kind", [_ if _ in QUICK else pytest.param(_, marks=pytest.mark.thorough) for _ in WEIGHTS])
@settings(max_examples=30)
@given(edges=edge_lists(), seed=st.integers(0, 2**32 - 1), threads=st.integers(1, 3), mirrored=st.booleans())
def test_it_is_the_matching_of_a_loop(kind: str, edges: Edges, seed: int, threads: int, mirrored: bool) -> None:
    n, src, dst = edges
    weights = WEIGHTS[kind](np.random.default_rng(seed), len(src))
    if mirrored:
        src, dst = np.append(src, dst), np.append(dst, src)
        weights = None if weights is None else np.append(weights, weights)
    graph = gasla.Graph.from_edges(src, dst, weights, n=n)
    with pytest.MonkeyPatch.context() as patch:
        use_threads(patch, threads)
        patch.setattr("gasla.cpu.runtime.blocks.SMALL", 1)  # kernels that ask for no work have one thread
        found = primitives.match_heaviest(graph)
    assert found.dtype == graph.id_dtype
    assert found.tolist() == best_first(n, src, dst, weights)
    with engines.programs_only():
        np.testing.assert_array_equal(found, gasla.maximal_matching(graph, weighted=True))


@pytest.mark.parametrize("threads", [1, 3])
def test_a_hub_that_is_rejected_by_every_neighbor_but_the_last(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It proposes to one after another, before vertices that they prefer do, so its list becomes a heap."""
    use_threads(monkeypatch, threads)
    k = 300
    leaves = np.arange(1, k + 1)
    src, dst = np.append(np.zeros(k, int), leaves[:-1]), np.append(leaves, leaves[:-1] + k)
    weights = np.append(k - leaves, np.full(k - 1, k)).astype(np.float32)
    graph = gasla.Graph.from_edges(src, dst, weights).symmetrized(semirings.max)
    found = primitives.match_heaviest(graph)
    both = np.append(src, dst), np.append(dst, src), np.append(weights, weights)
    assert found.tolist() == best_first(graph.n, *both)
    assert found[0] == k


def test_threads_agree_on_a_larger_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = gasla.Graph(gasla.datasets.with_weights(gasla.datasets.rmat(14)))
    found = primitives.match_heaviest(graph)
    use_threads(monkeypatch, 1)
    np.testing.assert_array_equal(found, primitives.match_heaviest(graph))
    gasla.verify.maximal_matching(graph, found, weighted=True)


@settings(max_examples=100)
@given(edges=edge_lists(), mirrored=st.booleans())
def test_without_weights_it_is_the_matching_of_a_loop(edges: Edges, mirrored: bool) -> None:
    n, src, dst = edges
    if mirrored:
        src, dst = np.append(src, dst), np.append(dst, src)
    weights = np.arange(len(src), dtype=np.float32)  # left alone
    graph = gasla.Graph.from_edges(src, dst, weights, n=n)
    found = primitives.match_heaviest(graph, weighted=False)
    assert found.tolist() == best_first(n, src, dst, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gasla.operations.one_thread.MOST_BY_DEGREES", 0)  # as if ids did not fit half a word
        np.testing.assert_array_equal(found, primitives.match_heaviest(graph, weighted=False))


@pytest.mark.parametrize("name", ["rmat", "grid", "uniform", "star", "path", "cycle"])
@pytest.mark.parametrize("directed", [False, True])
def test_many_vertices_of_one_degree(name: str, directed: bool) -> None:
    """Their edges are matched in two steps, and those of large ids are sorted by several digits."""
    k = 1 << 12
    ids = np.random.default_rng(1).permutation(k).astype(np.int32)
    ends = {"star": (np.zeros(k - 1, np.int32), ids[1:]), "path": (ids[:-1], ids[1:]), "cycle": (ids, np.roll(ids, 1))}
    if name in ends:
        graph = gasla.Graph.from_edges(*ends[name], n=k)
    else:
        graph = gasla.Graph(getattr(gasla.datasets, name)(12)).with_values(None)
    if not directed:
        graph = graph.symmetrized()
    src, dst = graph.edges()
    found = primitives.match_heaviest(graph, weighted=False)
    assert found.tolist() == best_first(graph.n, src, dst, None)
    gasla.verify.maximal_matching(graph, found)
    with engines.programs_only():
        np.testing.assert_array_equal(found, gasla.maximal_matching(graph))


def test_arguments_are_checked() -> None:
    with pytest.raises(TypeError, match="weighted"):
        primitives.match_heaviest(gasla.Graph.from_edges([0], [1]), weighted="yes")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the weight of edge 1 is nan"):
        primitives.match_heaviest(gasla.Graph.from_edges([0, 1], [1, 2], [1.0, np.nan]))
    with pytest.raises(TypeError, match="expected"):
        primitives.match_heaviest([[0, 1], [1]])
    assert primitives.match_heaviest(gasla.Graph.from_edges([], [], n=0)).tolist() == []
    assert primitives.match_heaviest(gasla.Graph.from_edges([1], [1], n=3)).tolist() == [-1, -1, -1]
