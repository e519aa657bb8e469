"""What is two edges away: the most similar vertices and square clustering, against NetworkX and sorted rows."""

import importlib
from typing import Any, get_args

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import datasets, verify
from gasla.algorithms.neighborhood import two_hops
from gasla.algorithms.similarity.top_k_similar import Measure
from gasla.bench import graphs
from gasla.bench.peers import make
from gasla.bench.tasks import Gasla
from gasla.graph.graph import Graph
from tests import oracles
from tests.algorithms.community.test_edge_support import HARD, Edges, on, peer, plain
from tests.algorithms.community.test_triangles import edge_lists
from tests.algorithms.similarity.test_measures import OURS, by_sets

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]
MEASURES: tuple[Any, ...] = get_args(Measure)


def check(device: Any, edges: Edges, k: int) -> None:
    graph, other = on(device, edges), peer(*edges)
    n = graph.n
    for measure in MEASURES:
        vertices, scores = map(plain, gasla.top_k_similar(graph, k, measure=measure))
        assert vertices.shape == scores.shape == (n, k)
        for v in range(n):
            found = [(-by_sets(measure, other, v, u), u) for u in range(n) if u != v]
            wanted = sorted(pair for pair in found if pair[0])[:k]
            count = len(wanted)
            np.testing.assert_allclose(scores[v], [*(-score for score, _ in wanted), *[0] * (k - count)], rtol=1e-12)
            assert (vertices[v, count:] == -1).all() and (vertices[v, :count] >= 0).all()
            if measure in ("jaccard", "overlap", "sorensen"):  # no rounding makes others of equals
                assert vertices[v, :count].tolist() == [u for _, u in wanted]
    squares = nx.square_clustering(other)
    np.testing.assert_allclose(plain(gasla.square_clustering(graph)), [squares[v] for v in range(n)])
    for zeros in (True, False) if n else ():
        wanted_mean = (
            nx.average_clustering(other, count_zeros=zeros) if zeros or sum(nx.triangles(other).values()) else 0
        )
        assert gasla.average_clustering(graph, count_zeros=zeros) == pytest.approx(wanted_mean)


@pytest.mark.parametrize("device", DEVICES)
@settings(max_examples=20)
@given(edges=edge_lists(), k=st.integers(0, 5), most=st.sampled_from([1, 20, 1 << 22]))
def test_random_graphs_give_right_answers(device: Any, edges: Edges, k: int, most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(two_hops, "MOST", most)
        check(device, edges, k)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [name for name, edges in HARD.items() if edges[0] < 100])
def test_hard_shapes_give_right_answers(device: Any, shape: str) -> None:
    check(device, HARD[shape], 3)


@pytest.mark.parametrize("device", DEVICES)
def test_star_and_path(device: Any) -> None:
    """Leaves are all alike, and know nobody else; on a path whoever is two steps away is."""
    star = on(device, HARD["a star"])
    vertices, scores = map(plain, gasla.top_k_similar(star, 2))
    assert vertices[0].tolist() == [-1, -1] and vertices[1].tolist() == [2, 3] and vertices[-1].tolist() == [1, 2]
    assert (scores[1:] == 1).all() and not scores[0].any() and not plain(gasla.square_clustering(star)).any()
    path = on(device, HARD["a path"])
    np.testing.assert_array_equal(plain(gasla.top_k_similar(path, 1).vertices)[2:-3, 0], np.arange(495))
    assert gasla.average_clustering(on(device, HARD["no vertex"])) == 0


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("hubs", [1, 2])
def test_hubs_cost_what_their_edges_do(device: Any, hubs: int) -> None:
    """Leaves of the same hubs: pairs of them are 2 * 10^10, more than can be gone through."""
    leaves = 200_000
    src, dst = np.divmod(np.arange(hubs * leaves), leaves)
    graph = on(device, (hubs + leaves, src, dst + hubs))
    squares = plain(gasla.square_clustering(graph))
    np.testing.assert_array_equal(squares, np.full(graph.n, float(hubs == 2)))  # all that could be are there
    vertices, scores = map(plain, gasla.top_k_similar(graph, 1))
    assert (scores[hubs:] == 1).all() and (scores[:hubs] == hubs - 1).all()
    assert vertices[hubs:, 0].tolist() == [hubs + 1] + [hubs] * (leaves - 1)


@settings(max_examples=20)
@given(edges=edge_lists(), k=st.integers(0, 5))
def test_what_neighbors_have_in_common_is_looked_at_and_not_their_sums_alone(edges: Edges, k: int) -> None:
    graph = on("cpu", edges)
    vertices, scores = gasla.top_k_similar(graph, k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np.random, "default_rng", lambda _: NoDraws())
        alike, same = gasla.top_k_similar(graph, k)
    np.testing.assert_array_equal(alike, vertices)
    np.testing.assert_array_equal(same, scores)


class NoDraws:
    """A generator whose numbers tell nothing apart."""

    def integers(self, most: int, size: int) -> Any:
        return np.zeros(size, np.int64)


@pytest.mark.parametrize("device", DEVICES)
def test_a_long_search_is_announced(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = on(device, (9, np.r_[np.zeros(8, int), np.arange(1, 9)], np.r_[np.arange(1, 9), np.arange(2, 9), 1]))
    gasla.top_k_similar(wheel)
    monkeypatch.setattr(importlib.import_module("gasla.algorithms.similarity.top_k_similar"), "LONG", 100)
    with pytest.warns(UserWarning, match="has 136 paths of two edges to process; vertex 0 alone has 8 neighbors"):
        gasla.top_k_similar(wheel)


def test_squares_beyond_int64_are_refused() -> None:
    bound = importlib.import_module("gasla.algorithms.clustering.square_clustering")
    bound._require_exact(np.array([2**30, 1]), np.array([2**33 - 1, 2**60]))
    with pytest.raises(ValueError, match=r"vertex 1 has 1,073,741,824 neighbors.*expected a product below 2\^63"):
        bound._require_exact(np.array([1, 2**30]), np.array([1, 2**33]))


@pytest.mark.slow  # compiles what long lists take, which other tests do, too
@pytest.mark.parametrize("device", DEVICES)
def test_the_airport_graph_gives_a_right_answer(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_hops, "MOST", 100_000)
    graph = Graph(datasets.openflights().matrix)
    here = graph.to(device)
    for measure in ("cosine", "adamic_adar"):
        vertices, scores = map(plain, gasla.top_k_similar(here, 7, measure=measure))
        oracles.top_k_similar(graph, vertices, scores, 7, measure, samples=300)
        v = np.repeat(np.arange(graph.n), 7)[vertices.ravel() >= 0]
        found = OURS[measure](graph, (v, vertices.ravel()[vertices.ravel() >= 0]))
        np.testing.assert_allclose(scores.ravel()[vertices.ravel() >= 0], found, rtol=0 if device == "cpu" else 1e-12)
    oracles.square_clustering(graph, plain(gasla.square_clustering(here)))


@settings(max_examples=20)
@given(edges=edge_lists(), data=st.data())
def test_verifiers_accept_right_answers_only(edges: Edges, data: st.DataObject) -> None:
    graph = on("cpu", edges)
    measure = data.draw(st.sampled_from(MEASURES))
    vertices, scores = gasla.top_k_similar(graph, 3, measure=measure)
    oracles.top_k_similar(graph, vertices, scores, 3, measure)
    squares = gasla.square_clustering(graph)
    oracles.square_clustering(graph, squares)
    v, place = data.draw(st.integers(0, graph.n - 1)), data.draw(st.integers(0, 2))
    change = (np.arange(graph.n)[:, None] == v) & (np.arange(3) == place)
    for wrong in ((vertices, scores + change), (np.where(change, v, vertices), scores)):
        with pytest.raises(verify.VerificationError):
            oracles.top_k_similar(graph, *wrong, 3, measure)
    with pytest.raises(verify.VerificationError, match=f"the square clustering of vertex {v} is"):
        oracles.square_clustering(graph, squares + (np.arange(graph.n) == v))
    if (vertices[v, 1] >= 0) and scores[v, 0] > scores[v, 1]:
        swapped = [part.copy() for part in (vertices, scores)]
        for part in swapped:
            part[v, :2] = part[v, 1::-1]
        with pytest.raises(verify.VerificationError, match=f"the others of vertex {v} are not in order"):
            oracles.top_k_similar(graph, *swapped, 3, measure)


def test_arguments_are_checked() -> None:
    graph = on("cpu", HARD["two pieces"])
    with pytest.raises(ValueError, match="measure is 'likeness'; expected one of 'jaccard', 'overlap'"):
        gasla.top_k_similar(graph, 1, measure="likeness")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"k is 1\.5"):
        gasla.top_k_similar(graph, 1.5)  # type: ignore[arg-type]
    with pytest.raises(verify.VerificationError, match="7 rows of 2 integers"):
        oracles.top_k_similar(graph, np.zeros((7, 1), int), np.zeros((7, 2)), 2)


def test_peers_agree() -> None:
    pytest.importorskip("graphblas")
    graph = graphs.load("rmat8")
    ours, theirs = Gasla(graph), make("graphblas", graph)
    np.testing.assert_allclose(theirs.top_k_similar(), ours.top_k_similar(), rtol=1e-12)
