"""Spectral clusters are planted blocks and components, and cut no more than NumPy's eigenvectors with k-means do."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.vq import kmeans2

import gasla
from gasla import Graph, distributed, verify
from gasla.algorithms.spectral.spectral_clustering import SpectralClusteringResult
from gasla.cli.compute import on_host
from tests.algorithms.community.test_edge_support import DEVICES, HARD, on
from tests.algorithms.community.test_partitions import columns_of
from tests.helpers.law import ALL_SPLIT, SHARED, VERIFIED, Answer, Array, Asked, Law, Row, host
from tests.helpers.mutants import ALL, Question, Questions, Small
from tests.helpers.mutants import Asked as Questioned


def clustered(weighted: bool) -> Any:
    def call(q: Asked) -> Answer:
        found = gasla.spectral_clustering(q.given, 2, weighted=weighted)
        q.check(verify.spectral_clustering, *found, weighted=weighted)
        return {"count": len(host(found.cut))}

    return call


ZERO = Law("an edge of weight 0: verified", lambda before, then, now: {}, "set")
LAWS = [
    Row("spectral_clustering", clustered(True), weights=True, ranks=True, zeros=ZERO, split=SHARED, isolated=VERIFIED),
    Row("spectral_clustering", clustered(False), "weighted=False", ranks=True, split=ALL_SPLIT, isolated=VERIFIED),
]


def clusters(g: Small) -> Questioned:
    """The questions to the verifier."""
    labels = np.minimum(np.arange(g.n), 2)

    def is_right(labels: Array, cut: Array, conductance: Array) -> bool:
        firsts = [*dict.fromkeys(labels.tolist())]
        if labels.shape != (g.n,) or firsts != [*range(len(firsts))] or len(firsts) > 3:
            return False
        _, _, right, ratio = columns_of(g, labels)
        right, ratio = right[: len(firsts)], ratio[: len(firsts)]
        return bool(
            cut.shape == conductance.shape == right.shape
            and np.allclose(cut, right)
            and np.allclose(conductance, ratio, equal_nan=True)
        )

    _, _, cut, conductance = columns_of(g, labels)
    answer = {"labels": labels, "cut": cut, "conductance": conductance}
    yield Question(lambda **parts: verify.spectral_clustering(g.matrix, **parts), answer, is_right)


QUESTIONS: Questions = {"spectral_clustering": (clusters, ALL)}


def check(graph: Graph, k: int, device: Any = "cpu", **options: Any) -> SpectralClusteringResult:
    found = on_host(gasla.spectral_clustering(graph.to(device), k, **options))
    verify.spectral_clustering(graph, *found)
    assert found.labels.dtype == graph.id_dtype and len(found.cut) <= k
    return SpectralClusteringResult(*found)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", HARD)
def test_hard_shapes(device: Any, shape: str) -> None:
    graph = on("cpu", HARD[shape])
    if graph.n < 2:
        with pytest.raises(ValueError, match=f"the graph has {graph.n} vertices; expected 2 or more"):
            gasla.spectral_clustering(graph, 2)
        return
    for k in (2, min(graph.n, 9)):
        check(graph, k, device)


def test_components_are_the_clusters() -> None:
    parts = nx.disjoint_union_all([nx.complete_graph(4), nx.path_graph(9), nx.cycle_graph(7), nx.star_graph(30)])
    found = check(Graph.from_networkx(parts), 4)
    assert not found.cut.any() and np.bincount(found.labels).tolist() == [4, 9, 7, 31]


@pytest.mark.parametrize("device", DEVICES)
def test_planted_blocks_are_found(device: Any) -> None:
    G = nx.planted_partition_graph(6, 40, 0.4, 0.03, seed=2)
    found = check(Graph.from_networkx(G), 6, device)
    assert (found.labels == np.arange(240) // 40).all()
    heavy = Graph.from_networkx(nx.complete_graph(12))
    src, dst = heavy.edges()
    heavy = heavy.with_values(np.where(src // 4 == dst // 4, 9.0, 1.0))  # only weights tell the blocks
    assert (check(heavy, 3, device).labels == np.arange(12) // 4).all()


@pytest.mark.filterwarnings("ignore:One of the clusters is empty")  # of the peer
@settings(max_examples=8, deadline=None)
@given(st.integers(2, 5), st.integers(5, 20), st.integers(0, 10**6))
def test_cuts_are_as_small_as_by_numpy_and_k_means(k: int, size: int, seed: int) -> None:
    """The definition by the whole matrix: rows of the first k eigenvectors, scaled, and grouped by k-means++."""
    G = nx.planted_partition_graph(k, size, 0.7, 0.05, seed=seed)
    G.add_edges_from(nx.path_graph(len(G)).edges)
    matrix = nx.to_numpy_array(G)
    root = np.sqrt(matrix.sum(axis=0))
    vectors = np.linalg.eigh(-matrix / root / root[:, None])[1][:, :k]
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    theirs = [kmeans2(vectors, k, 30, minit="++", rng=start, missing="warn")[1] for start in range(4)]

    def normalized_cut(labels: Array) -> float:
        members = np.eye(k)[:, labels]
        return float(sum(1 - one @ matrix @ one / (one @ root**2) for one in members if one.any()))

    right = min(normalized_cut(labels) for labels in theirs if len({*labels.tolist()}) == k)
    found = check(Graph.from_networkx(G), k)
    assert normalized_cut(found.labels) <= 1.1 * right + 1e-9


def test_the_same_seed_gives_the_same_labels_and_loops_do_not_count() -> None:
    graph = Graph.from_networkx(nx.gnm_random_graph(90, 300, seed=1))
    one, same = (gasla.spectral_clustering(graph, 5, seed=3).labels for _ in range(2))
    np.testing.assert_array_equal(one, same)
    pair = Graph.from_edges([0, 1, 2, 3, 1, 0], [1, 0, 3, 2, 2, 0], [1, 1, 1, 1, 0.1, 50])
    assert check(pair, 2).labels.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_find_the_same_clusters(ranks: int) -> None:
    graph = Graph.from_networkx(nx.planted_partition_graph(4, 30, 0.5, 0.03, seed=2))
    spread = distributed.Graph.from_graph(graph, distributed.ThreadRanks(ranks))
    for mine, theirs in zip(gasla.spectral_clustering(graph, 4), gasla.spectral_clustering(spread, 4), strict=True):
        np.testing.assert_array_equal(mine, host(theirs))


@pytest.mark.parametrize("k", [1, 7])
def test_wrong_numbers_of_clusters_are_refused(k: int) -> None:
    with pytest.raises(ValueError, match=f"k is {k}; expected 2 to 6, the number of vertices"):
        gasla.spectral_clustering(Graph.from_edges([0, 1], [1, 2], n=6), k)
