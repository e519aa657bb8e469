"""Louvain communities: their modularity beside NetworkX's, and on hard shapes."""

from collections.abc import Iterator
from contextlib import nullcontext

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import gasla
from gasla import Graph, datasets, engines, primitives, verify
from gasla.cli.compute import on_host
from gasla.verify import VerificationError

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]


@pytest.fixture(autouse=True, params=["one thread", pytest.param("programs", marks=pytest.mark.thorough)])
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Small graphs on the CPU run on one thread; others by vertex programs."""
    with nullcontext() if request.param == "one thread" else engines.programs_only():
        yield


def modularity(matrix: csr_array, labels: np.ndarray, resolution: float = 1) -> float:
    """That of an undirected graph without loops, by NetworkX."""
    groups = [set(np.flatnonzero(labels == c).tolist()) for c in range(labels.max() + 1)]
    found: float = nx.community.modularity(nx.from_scipy_sparse_array(matrix), groups, resolution=resolution)
    return found


def karate() -> csr_array:
    return csr_array(nx.to_scipy_sparse_array(nx.karate_club_graph(), dtype=np.float32))


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("resolution", [1.0, 2.0])
def test_modularity_is_about_networkxs(resolution: float, device: str) -> None:
    matrix = karate()
    found = on_host(gasla.louvain_communities(Graph(matrix).to(device), resolution=resolution))
    best = nx.community.louvain_communities(nx.from_scipy_sparse_array(matrix), resolution=resolution, seed=1)
    expected = nx.community.modularity(nx.from_scipy_sparse_array(matrix), best, resolution=resolution)
    assert modularity(matrix, found.labels, resolution) > expected - 0.03
    verify.louvain_communities(matrix, found.labels, resolution=resolution)
    assert np.array_equal(found.levels[-1], found.labels)
    for finer, coarser in zip(found.levels, found.levels[1:]):
        assert len(np.unique(np.stack([finer, coarser]), axis=1).T) == finer.max() + 1  # each lies within one


def test_routes_of_flights_have_communities() -> None:
    pattern = datasets.openflights().matrix
    both = csr_array(pattern + pattern.T)
    labels = gasla.louvain_communities(both, weighted=False).labels
    verify.louvain_communities(both, labels, weighted=False)
    assert modularity(csr_array((np.ones(both.nnz), both.indices, both.indptr), both.shape), labels) > 0.64


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
def test_hard_shapes_give_right_answers(device: str) -> None:
    def labels(src: list[int], dst: list[int], n: int, weights: list[float] | None = None) -> list[int]:
        graph = Graph.from_edges(src, dst, weights, n=n)
        found = on_host(gasla.louvain_communities(graph.to(device))).labels
        verify.louvain_communities(graph, found)
        listed: list[int] = found.tolist()
        return listed

    assert labels([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3], 7) == [0, 0, 0, 1, 1, 1, 2]  # one way
    assert labels([], [], 0) == []
    assert labels([], [], 3) == [0, 1, 2]
    assert labels([0, 1], [0, 1], 2) == [0, 1]  # loops alone
    assert labels([0, 0, 1], [0, 1, 1], 2, [2.0, 2.0, 1.0]) == [0, 1]  # loops weigh more than what is between
    assert labels([0, 0, 0, 1], [1, 1, 1, 0], 2) == [0, 0]  # parallel edges
    assert labels([0, 0, 0, 0], [1, 2, 3, 4], 5) == [0] * 5
    assert labels([0, 1], [1, 2], 3, [0.0, 0.0]) == [0, 1, 2]  # nothing weighs anything
    assert labels([0, 1, 2], [1, 2, 3], 4, [9.0, 0.5, 9.0]) == [0, 0, 1, 1]


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
def test_refined_communities_hang_together(device: str) -> None:
    for seed, G in enumerate([nx.karate_club_graph(), nx.watts_strogatz_graph(300, 6, 0.2, seed=2), nx.path_graph(40)]):
        matrix = csr_array(nx.to_scipy_sparse_array(G, dtype=np.float32))
        found = on_host(gasla.louvain_communities(Graph(matrix).to(device), seed=seed, refine=True))
        for labels in found.levels:
            verify.louvain_communities(matrix, labels, refine=True)
        best = nx.community.modularity(G, nx.community.louvain_communities(G, seed=1))
        assert modularity(matrix, found.labels) > best - 0.03
        assert np.array_equal(found.levels[-1], found.labels)


def test_what_falls_apart_is_not_refined() -> None:
    star = Graph.from_edges([0, 0, 3, 3], [1, 2, 4, 5])
    with pytest.raises(VerificationError, match="vertex 4 is apart from others of its community 0"):
        verify.louvain_communities(star, [0, 0, 0, 1, 0, 1], refine=True)


@pytest.mark.thorough
@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), st.integers(0, 3)), max_size=40), st.integers(0, 99))
def test_any_network_is_refined(edges: list[tuple[int, int, int]], seed: int) -> None:
    src, dst, weights = np.array(edges, np.int64).reshape(-1, 3).T
    graph = Graph.from_edges(src, dst, weights.astype(np.float64), n=12)
    found = gasla.louvain_communities(graph, seed=seed, refine=True)
    verify.louvain_communities(graph, found.labels, refine=True)


@pytest.mark.thorough
def test_the_same_every_time() -> None:
    graph = Graph(karate())
    a, b = (gasla.louvain_communities(graph, seed=7).labels for _ in range(2))
    assert np.array_equal(a, b)


@pytest.mark.parametrize(("options", "complaint"), [({"resolution": -1}, "resolution is -1"), ({"seed": -1}, "seed")])
def test_what_is_out_of_range_is_refused(options: dict[str, int], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        gasla.louvain_communities(karate(), **options)  # type: ignore[arg-type]


def test_negative_weights_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="the weight of edge 1 is -2"):
        gasla.louvain_communities(Graph.from_edges([0, 1], [1, 0], [1.0, -2.0]))


def test_the_verifier_names_what_is_wrong() -> None:
    with pytest.raises(VerificationError, match="modularity is"):
        verify.louvain_communities(csr_array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]), [0, 1, 0, 1])
    with pytest.raises(VerificationError):
        verify.louvain_communities(csr_array([[0, 1], [1, 0]]), [1, 1])


@pytest.mark.thorough
@pytest.mark.parametrize("refine", [False, True])
def test_the_last_levels_of_a_large_graph_run_on_one_thread(refine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = csr_array(nx.to_scipy_sparse_array(nx.watts_strogatz_graph(300, 6, 0.2, seed=2), dtype=np.float32))
    monkeypatch.setattr("gasla.algorithms.community.community_search.ONE_THREAD", 1000)
    found = gasla.louvain_communities(matrix, refine=refine)
    verify.louvain_communities(matrix, found.labels, refine=refine)
    assert len(found.levels) > 1 and np.array_equal(found.levels[-1], found.labels)
    for finer, coarser in zip(found.levels, found.levels[1:]):
        assert len(np.unique(np.stack([finer, coarser]), axis=1).T) == finer.max() + 1
    assert modularity(matrix, found.labels) > modularity(matrix, found.levels[0]) + 0.01


@pytest.mark.parametrize("refine", [False, True])
def test_a_seed_decides_on_any_type_of_ids(refine: bool) -> None:
    matrix = karate()
    wide = Graph.from_csr(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data)
    found = primitives.louvain_levels(Graph(matrix), seed=3, refine=refine)
    for labels, other in zip(found, primitives.louvain_levels(wide, seed=3, refine=refine), strict=True):
        np.testing.assert_array_equal(labels, other)
    verify.louvain_communities(matrix, found[-1], refine=refine)
    assert modularity(matrix, found[-1]) > 0.4


@pytest.mark.parametrize(
    ("communities", "complaint"),
    [([0, 1], r"communities has shape \(2,\); expected \(34,\)"), (np.arange(34) + 1, "range from 1 to 34")],
)
def test_impossible_first_communities_are_refused(communities: list[int], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        primitives.louvain_levels(karate(), communities)
    with pytest.raises(ValueError, match="a weight is -4"):
        primitives.louvain_levels(-karate())


def ring_of_cliques(cliques: int = 30, size: int = 5) -> Graph:
    return Graph(csr_array(nx.to_scipy_sparse_array(nx.ring_of_cliques(cliques, size), dtype=np.float64)))


@pytest.mark.parametrize("refine", [False, True])
def test_the_potts_model_finds_cliques_that_modularity_merges(refine: bool) -> None:
    graph, cliques = ring_of_cliques(), np.repeat(np.arange(30), 5)
    found = primitives.louvain_levels(graph, node_weights=np.ones(graph.n), resolution=0.5, refine=refine)[-1]
    np.testing.assert_array_equal(found, cliques)
    assert primitives.louvain_levels(graph, refine=refine)[-1].max() < 29


@pytest.mark.parametrize("refine", [False, True])
def test_communities_have_a_maximum_size(refine: bool) -> None:
    graph, sizes = ring_of_cliques(), np.arange(150) % 3
    for found in primitives.louvain_levels(graph, max_size=7, refine=refine):
        assert np.bincount(found).max() <= 7
    for found in primitives.louvain_levels(graph, sizes=sizes, max_size=6, refine=refine):
        assert np.bincount(found, sizes).max() <= 6


@pytest.mark.parametrize("refine", [False, True])
def test_fixed_vertices_stay_in_their_communities(refine: bool) -> None:
    graph, fixed = ring_of_cliques(), np.isin(np.arange(150), [0, 77, 10, 11])
    start = np.arange(150)
    start[77], start[10], start[11] = 0, 1, 10  # together though far apart, and apart though in one clique
    found = primitives.louvain_levels(graph, start, fixed=fixed, refine=refine)[-1]
    assert found[77] == found[0] and len(set(found[[0, 10, 11]])) == 3
    (stays,) = primitives.louvain_levels(graph, start, fixed=np.ones(150, bool))
    assert len(np.unique(np.stack([stays, start]), axis=1).T) == stays.max() + 1 == 148


@pytest.mark.parametrize("refine", [False, True])
def test_two_weights_a_vertex_give_directed_modularity(refine: bool) -> None:
    planted = [[0.4 if i == j else 0.02 for j in range(4)] for i in range(4)]
    arcs = nx.stochastic_block_model([20] * 4, planted, directed=True, seed=1)
    matrix = csr_array(nx.to_scipy_sparse_array(arcs, dtype=np.float64))
    degrees = [matrix.sum(axis) / np.sqrt(matrix.sum()) for axis in (1, 0)]
    found = primitives.louvain_levels(csr_array(matrix + matrix.T), node_weights=degrees, refine=refine)[-1]
    np.testing.assert_array_equal(found, np.repeat(np.arange(4), 20))


def pairs(seed: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both directions of 6,000 random edges between 600 vertices, and weights of many magnitudes."""
    rng = np.random.default_rng(seed)
    ends, weights = rng.integers(0, 600, (2, 6000)), 10.0 ** rng.uniform(-5, 5, 6000)
    return np.concatenate(ends), np.concatenate(ends[::-1]), np.tile(weights, 2)


@pytest.mark.parametrize("refine", [False, True])
def test_the_order_of_edges_and_the_number_of_threads_do_not_matter(
    refine: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    src, dst, weights = pairs()
    expected = primitives.louvain_levels(Graph.from_edges(src, dst, weights), refine=refine, iterations=2)
    order = np.random.default_rng(1).permutation(len(src))
    shuffled = Graph.from_edges(src[order], dst[order], weights[order])
    monkeypatch.setattr("gasla.cpu.runtime.blocks.SMALL", 0)
    for threads in (1, 2, 5):
        monkeypatch.setattr("gasla.cpu.runtime.blocks.num_threads", lambda threads=threads: threads)
        found = primitives.louvain_levels(shuffled, refine=refine, iterations=2)
        for labels, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(labels, other)


def test_whoever_is_better_off_alone_leaves() -> None:
    together = np.zeros(34, np.int64)
    assert primitives.louvain_levels(karate(), together, node_weights=np.ones(34), resolution=100) == []
    assert primitives.louvain_levels(Graph.from_edges([], [], n=3), [0, 0, 0], node_weights=np.ones(3)) == []
    (found,) = primitives.louvain_levels(
        ring_of_cliques(), np.zeros(150, int), node_weights=np.ones(150), resolution=0.5
    )
    np.testing.assert_array_equal(found, np.repeat(np.arange(30), 5))


@pytest.mark.parametrize("refine", [False, True])
def test_further_iterations_raise_modularity(refine: bool) -> None:
    src, dst, _ = pairs()
    matrix = csr_array((np.ones(len(src)), (src, dst)))
    one, three = (primitives.louvain_levels(matrix, refine=refine, iterations=k)[-1] for k in (1, 3))
    assert modularity(matrix, three) > modularity(matrix, one) + 0.005
    verify.louvain_communities(matrix, three, refine=refine)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"iterations": 0}, "iterations is 0; expected 1 or more"),
        ({"node_weights": [1.0]}, r"node_weights has shape \(1,\); expected \(34,\)"),
        ({"node_weights": np.full(34, np.nan)}, "node_weights has the entry nan"),
        ({"sizes": -np.ones(34), "max_size": 3}, "sizes has the entry -1"),
        ({"max_size": -1}, "max_size is -1"),
        ({"fixed": [True]}, r"fixed has shape \(1,\)"),
    ],
)
def test_impossible_numbers_of_vertices_are_refused(options: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        primitives.louvain_levels(karate(), **options)  # type: ignore[arg-type]
