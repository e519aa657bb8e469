"""Searches from many sources at once against SciPy and NetworkX, on hard shapes and bad input."""

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import gasla
from gasla import datasets, verify
from gasla.algorithms.traversal import multi_source_bfs as searches
from gasla.graph.graph import Graph
from tests.algorithms.test_basics import chain, matrices, star


@pytest.fixture(params=["together", "one by one"])
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """Whether searches are made together is for them to choose, but not here."""
    is_together = request.param == "together"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searches, "SHALLOW", 1 << 40 if is_together else -1)
        patch.setattr(searches, "WORTH", 0)
        patch.setattr(searches, "fills", lambda *_: not is_together)
        patch.setattr(searches, "batches_are_faster", lambda *_: True)
        yield request.param


def levels_by_scipy(A: csr_array, sources: Any) -> np.ndarray:
    ones = csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
    distances = dijkstra(ones, indices=sources)
    return np.where(np.isfinite(distances), distances, -1)


@pytest.mark.thorough
@settings(max_examples=40)
@given(A=matrices(), data=st.data())
def test_levels_from_many_sources_are_right(A: csr_array, data: st.DataObject) -> None:
    n = A.shape[0]
    sources = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=80))  # more than a word's bits
    depth = data.draw(st.integers(0, 4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searches, "WORTH", data.draw(st.sampled_from([1, 1000])))
        patch.setattr(searches, "fills", lambda *_: True)
        patch.setattr(searches, "batches_are_faster", lambda *_: True)
        levels = gasla.multi_source_bfs(A, sources)
        limited = gasla.multi_source_bfs(A, sources, depth_limit=depth)
    assert levels.dtype == np.int32
    np.testing.assert_array_equal(levels, levels_by_scipy(A, sources))
    np.testing.assert_array_equal(limited, np.where(levels > depth, -1, levels))
    verify.multi_source_bfs(Graph(A), sources, levels)


SHAPES = {
    "path": lambda: chain(100),
    "star": lambda: star(100),
    "loops and parallel edges": lambda: Graph.from_edges([0, 0, 0, 1, 1, 2], [0, 1, 1, 1, 2, 2], n=4),
    "no edges": lambda: Graph.from_edges([], [], n=3),
    "one vertex": lambda: Graph.from_edges([], [], n=1),
    "two parts": lambda: Graph.from_edges([0, 1, 3, 4], [1, 0, 4, 3], n=6),
    "unsorted": lambda: Graph.from_csr(np.array([0, 3, 3, 4, 4], np.int32), np.array([3, 1, 2, 0], np.int32)),
    "wide offsets": lambda: Graph.from_csr(np.array([0, 2, 3, 3], np.int64), np.array([2, 1, 2], np.int32)),
}

HARD = [
    pytest.param(name, marks=pytest.mark.slow if name == "wide offsets" else [])  # for which all is compiled anew
    for name in SHAPES
]


@pytest.mark.parametrize("shape", HARD)
def test_levels_of_hard_shapes(way: str, shape: str) -> None:
    graph = SHAPES[shape]()
    sources = list(range(graph.n))[::-1]
    levels = gasla.multi_source_bfs(graph, sources)
    np.testing.assert_array_equal(levels, [gasla.bfs(graph, source) for source in sources])


@pytest.mark.parametrize("limit", [None, 0, 1, 14, 15, 16, 30, 31, 98, 99, 10**30])
def test_levels_go_on_where_digits_end(way: str, limit: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches, "PROGRAMS", {4: searches.BinaryLevels()})
    levels = gasla.multi_source_bfs(chain(100), [0, 3, 60], depth_limit=limit)
    np.testing.assert_array_equal(levels, [gasla.bfs(chain(100), s, depth_limit=limit) for s in (0, 3, 60)])


@pytest.mark.parametrize(("digits", "n"), [(8, 120), (8, 400), pytest.param(16, 400, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_levels_of_a_long_path(digits: int, n: int) -> None:
    graph = Graph.from_edges(np.arange(n), np.roll(np.arange(n), -1), n=n)
    levels = np.empty((3, n), np.int32)
    searches._search(graph, [0, 5, 5], levels, digits, None)
    np.testing.assert_array_equal(levels, (np.arange(n) - np.array([[0], [5], [5]])) % n)


def test_no_sources_give_no_rows() -> None:
    assert gasla.multi_source_bfs(chain(5), []).shape == (0, 5)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["openflights", "rmat", "grid"])
def test_levels_of_real_graphs(name: str) -> None:
    graph = Graph({"openflights": lambda: datasets.openflights().matrix, "rmat": lambda: datasets.rmat(10),
                   "grid": lambda: datasets.grid(8)}[name]())  # fmt: skip
    sources = np.random.default_rng(1).integers(0, graph.n, 100)
    levels = gasla.multi_source_bfs(graph, sources)
    A = csr_array((np.ones(graph.m), graph.out.indices, graph.out.indptr), shape=(graph.n, graph.n))
    np.testing.assert_array_equal(levels, levels_by_scipy(A, sources))


@pytest.mark.parametrize(
    ("sources", "error", "said"),
    [
        ([0, 5], ValueError, "source 5 is outside a graph of 5 vertices"),
        ([-1], ValueError, "source -1 is outside"),
        ([0.5], TypeError, "source is 0.5"),
        (["JFK"], TypeError, "source is 'JFK'"),
    ],
)
def test_bad_sources_are_refused(sources: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        gasla.multi_source_bfs(chain(5), sources)
    with pytest.raises(ValueError, match="depth_limit is -1"):
        gasla.multi_source_bfs(chain(5), [0], depth_limit=-1)


def test_the_verifier_names_source_and_vertex() -> None:
    levels = gasla.multi_source_bfs(chain(5), [0, 2])
    levels[1, 4] = 1
    with pytest.raises(verify.VerificationError, match="from source 2: "):
        verify.multi_source_bfs(chain(5), [0, 2], levels)
    with pytest.raises(verify.VerificationError, match=r"of shape \(2, 5\), not an array of shape \(5,\)"):
        verify.multi_source_bfs(chain(5), [0, 2], levels[0])


# --- shortest paths ---------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@settings(max_examples=30)
@given(A=matrices(least=-1), data=st.data())
def test_distances_from_many_sources_are_right(A: csr_array, data: st.DataObject) -> None:
    if data.draw(st.booleans()):
        A.data = abs(A.data)
    sources = data.draw(st.lists(st.integers(0, A.shape[0] - 1), min_size=1, max_size=20))
    is_together = data.draw(st.booleans())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searches, "fills", lambda *_: not is_together)
        patch.setattr(searches, "batches_are_faster", lambda *_: True)
        try:
            right = [gasla.sssp(A, source) for source in sources]
        except ValueError:
            with pytest.raises(ValueError, match="a cycle"):
                gasla.multi_source_shortest_paths(A, sources)
            return
        distances = gasla.multi_source_shortest_paths(A, sources)
    assert distances.dtype == np.float64
    np.testing.assert_array_equal(distances, right)
    verify.multi_source_shortest_paths(Graph(A), sources, distances)


@settings(max_examples=40, deadline=None)
@given(A=matrices(least=0), data=st.data())
def test_distances_up_to_a_cutoff_are_those_of_single_searches(A: csr_array, data: st.DataObject) -> None:
    sources = data.draw(st.lists(st.integers(0, A.shape[0] - 1), max_size=6))
    cutoff = data.draw(st.sampled_from([0, 1, 2.5, np.float32(4), 1e308, np.inf]))
    found = gasla.multi_source_shortest_paths(A, sources, cutoff=cutoff)
    right = [gasla.sssp(A, source, cutoff=cutoff) for source in sources]
    np.testing.assert_array_equal(found, np.reshape(right, found.shape))
    whole = gasla.multi_source_shortest_paths(A, sources)
    np.testing.assert_array_equal(found, np.where(whole <= cutoff, whole, np.inf))
    verify.multi_source_shortest_paths(A, sources, found, cutoff=cutoff)


def test_a_cutoff_of_many_sources_is_checked() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], np.array([2.0, -3]))
    with pytest.raises(ValueError, match="a cutoff was given, but lengths are negative"):
        gasla.multi_source_shortest_paths(graph, [0, 1], cutoff=2)
    for bad, error in ((-1, ValueError), (np.nan, ValueError), ("2", TypeError)):
        with pytest.raises(error, match="cutoff is"):
            gasla.multi_source_shortest_paths(graph.with_values([2.0, 3]), [0, 1], cutoff=bad)
    with pytest.raises(verify.VerificationError, match=r"from source 1: vertex 2 is at distance 3\.0, past"):
        verify.multi_source_shortest_paths(graph.with_values([2.0, 3]), [1], [[np.inf, 0, 3.0]], cutoff=2)


@pytest.mark.parametrize("shape", HARD)
def test_distances_of_hard_shapes(way: str, shape: str) -> None:
    graph = SHAPES[shape]()
    sources = list(range(graph.n))[-20:]
    distances = gasla.multi_source_shortest_paths(graph, sources)
    np.testing.assert_array_equal(distances, [gasla.sssp(graph, source) for source in sources])


@pytest.mark.slow  # which compiles all for that type
def test_distances_have_the_type_of_lengths(way: str) -> None:
    graph = Graph.from_edges([0, 1], [1, 2], np.array([2, 3], np.float32))
    distances = gasla.multi_source_shortest_paths(graph, [0, 1])
    assert distances.dtype == np.float32
    np.testing.assert_array_equal(distances, [[0, 2, 5], [np.inf, 0, 3]])


def test_bad_arguments_of_distances_are_refused() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], np.array([2, 3], np.float32))
    assert gasla.multi_source_shortest_paths(graph, []).shape == (0, 3)
    with pytest.raises(ValueError, match="source 3 is outside"):
        gasla.multi_source_shortest_paths(graph, [0, 3])
    bad = Graph.from_edges([0, 1], [1, 2], np.array([2, np.nan]))
    with pytest.raises(ValueError, match="the weight of edge 1 is nan"):
        gasla.multi_source_shortest_paths(bad, [0, 1])


# --- closeness and harmonic centrality --------------------------------------------------------------------------------


def by_networkx(A: csr_array, name: str, **options: Any) -> np.ndarray:
    G = nx.from_scipy_sparse_array(A, create_using=nx.DiGraph)
    found = getattr(nx, name)(G, **options)
    return np.array([found[v] for v in range(A.shape[0])])


@pytest.mark.thorough
@settings(max_examples=30)
@given(A=matrices(), data=st.data())
def test_closeness_is_right_however_sources_are_batched(A: csr_array, data: st.DataObject) -> None:
    options = {"distance": data.draw(st.sampled_from([None, "weight"])), "wf_improved": data.draw(st.booleans())}
    is_together = data.draw(st.booleans())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searches, "fills", lambda *_: not is_together)
        patch.setattr(searches, "batches_are_faster", lambda *_: True)
        scores = gasla.closeness_centrality(A, **options)
    right = by_networkx(A, "closeness_centrality", **options)
    np.testing.assert_allclose(scores, right, rtol=1e-12)
    u = data.draw(st.integers(0, A.shape[0] - 1))
    assert gasla.closeness_centrality(A, u, **options) == pytest.approx(right[u])
    verify.closeness(Graph(A), scores, **options)


@pytest.mark.thorough
@settings(max_examples=30)
@given(A=matrices(), data=st.data())
def test_harmonic_centrality_is_right_however_sources_are_batched(A: csr_array, data: st.DataObject) -> None:
    n, is_together = A.shape[0], data.draw(st.booleans())
    options: dict[str, Any] = {"distance": data.draw(st.sampled_from([None, "weight"]))}
    ids = st.lists(st.integers(0, n - 1), min_size=1, unique=True)
    if data.draw(st.booleans()):
        options["sources"] = data.draw(ids)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searches, "fills", lambda *_: not is_together)
        patch.setattr(searches, "batches_are_faster", lambda *_: True)
        scores = gasla.harmonic_centrality(A, **options)
    np.testing.assert_allclose(scores, by_networkx(A, "harmonic_centrality", **options), rtol=1e-12)
    nbunch = data.draw(ids)
    np.testing.assert_allclose(gasla.harmonic_centrality(A, nbunch, **options), scores[nbunch], rtol=1e-12)
    verify.harmonic(Graph(A), scores, **options)


@pytest.mark.parametrize("length", [1e-320, 1.7e308])
def test_one_vertex_has_the_centrality_of_all_where_sums_overflow(length: float) -> None:
    graph = Graph.from_edges([0, 1], [2, 2], [length, length])
    for vertices in ([2], [0, 2], []):
        scores = gasla.harmonic_centrality(graph, distance="weight")[np.array(vertices, int)]
        assert gasla.harmonic_centrality(graph, vertices, distance="weight").tolist() == scores.tolist()
    closeness = gasla.closeness_centrality(graph, distance="weight")
    assert [gasla.closeness_centrality(graph, v, distance="weight") for v in range(3)] == closeness.tolist()


@pytest.mark.parametrize("wrong", [np.ones(2), ["weight"], 0, "length"])
def test_an_unknown_distance_is_refused(wrong: Any) -> None:
    for function in (gasla.closeness_centrality, gasla.harmonic_centrality):
        with pytest.raises(ValueError, match=r"distance is .*; expected None"):
            function(Graph.from_edges([0], [1]), distance=wrong)


@pytest.mark.parametrize("shape", HARD)
@pytest.mark.parametrize("name", ["closeness_centrality", "harmonic_centrality"])
def test_centrality_of_hard_shapes(way: str, shape: str, name: str) -> None:
    graph = SHAPES[shape]()
    A = csr_array((np.ones(graph.m), graph.out.indices, graph.out.indptr), shape=(graph.n, graph.n))
    np.testing.assert_allclose(getattr(gasla, name)(graph), by_networkx(A, name), rtol=1e-12)


@pytest.mark.parametrize("distance", [None, "weight"])
def test_all_sources_drawn_give_the_exact_centrality(distance: Any) -> None:
    graph = Graph(datasets.with_weights(datasets.rmat(8)).astype(np.float64))
    everyone = np.arange(graph.n)
    for name, check in (("closeness_centrality", verify.closeness), ("harmonic_centrality", verify.harmonic)):
        function = getattr(gasla, name)
        whole = function(graph, distance=distance)
        np.testing.assert_allclose(function(graph, distance=distance, k=graph.n), whole, rtol=1e-12)
        np.testing.assert_allclose(function(graph, distance=distance, sources=everyone), whole, rtol=1e-12)
        some = function(graph, distance=distance, k=100, seed=3)
        np.testing.assert_array_equal(some, function(graph, distance=distance, k=100, seed=3))
        drawn = np.sort(np.random.default_rng(3).choice(graph.n, 100, replace=False))
        extra = {"k": 100} if check is verify.harmonic else {}
        check(graph, some, distance=distance, sources=drawn, **extra)
        assert np.corrcoef(some, whole)[0, 1] > 0.95
    some = gasla.harmonic_centrality(graph, k=100, seed=3, distance=distance)
    np.testing.assert_allclose(
        gasla.harmonic_centrality(graph, [5, 2], k=100, seed=3, distance=distance), some[[5, 2]], rtol=1e-12
    )


def test_bad_arguments_of_centrality_are_refused() -> None:
    negative = Graph.from_edges([0], [1], np.array([-1.0]))
    for function in (gasla.closeness_centrality, gasla.harmonic_centrality):
        with pytest.raises(ValueError, match="distance is 'length'; expected None"):
            function(chain(3), distance="length")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="a length is negative"):
            function(negative, distance="weight")
        assert function(negative).shape == (2,)
        with pytest.raises(ValueError, match="sources and k were both given"):
            function(chain(3), sources=[1], k=2)
        with pytest.raises(ValueError, match="k is 4; expected 1 to 3"):
            function(chain(3), k=4)
        with pytest.raises(ValueError, match="twice among the sources"):
            function(chain(3), sources=[1, 1])
        assert function(Graph.from_edges([], [], n=0)).shape == (0,)
        np.testing.assert_array_equal(function(chain(3), sources=[]), [0, 0, 0])
    with pytest.raises(ValueError, match="u 3 is outside"):
        gasla.closeness_centrality(chain(3), 3)
    assert gasla.harmonic_centrality(chain(3), []).shape == (0,)


@pytest.mark.parametrize("name", ["closeness", "harmonic"])
def test_the_verifiers_of_centrality_reject_what_is_wrong(name: str) -> None:
    graph = Graph(datasets.grid(6))
    scores = getattr(gasla, f"{name}_centrality")(graph)
    check = getattr(verify, name)
    check(graph, scores)
    for v in (0, 17, 63):
        wrong = scores.copy()
        wrong[v] *= 1.001
        with pytest.raises(verify.VerificationError, match=f"vertex {v} has the score"):
            check(graph, wrong)
    check(graph, scores, samples=1)
    with pytest.raises(verify.VerificationError, match="negative"):
        check(graph, -scores)
