"""BFS, shortest paths, PageRank and betweenness against SciPy, NetworkX and igraph, on hard shapes and bad input."""

import time
import warnings
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, triu
from scipy.sparse.csgraph import bellman_ford, dijkstra

import gasla
from gasla import datasets, verify
from gasla.algorithms.paths.sssp import BellmanFord
from gasla.algorithms.traversal.bfs import LEVELS
from gasla.graph.graph import Graph


@st.composite
def matrices(draw: st.DrawFn, least: int = 0) -> csr_array:
    """Small directed graphs without parallel edges, with whole weights from `least` to 9."""
    n = draw(st.integers(1, 12))
    ends = st.integers(0, n - 1)
    edges = draw(st.dictionaries(st.tuples(ends, ends), st.integers(least, 9), max_size=40))
    if draw(st.booleans()):
        edges |= {(j, i): w for (i, j), w in edges.items()}
    src, dst = np.array(list(edges), np.int32).reshape(-1, 2).T  # wide ones would compile every program once more
    return csr_array((np.array(list(edges.values()), np.float64), (src, dst)), shape=(n, n))


def chain(n: int) -> Graph:
    return Graph.from_edges(np.arange(n - 1), np.arange(1, n), np.ones(n - 1), n=n)


def star(leaves: int) -> Graph:
    """One hub with edges to and from every leaf."""
    leaf = np.arange(1, leaves + 1)
    hub = np.zeros(leaves, np.int64)
    return Graph.from_edges(np.concatenate([hub, leaf]), np.concatenate([leaf, hub]), n=leaves + 1)


@settings(max_examples=60)
@given(A=matrices(), data=st.data())
def test_bfs(A: csr_array, data: st.DataObject) -> None:
    source = data.draw(st.integers(0, A.shape[0] - 1))
    levels, parents = gasla.bfs(A, source, parents=True)
    ones = csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
    np.testing.assert_array_equal(np.where(levels < 0, np.inf, levels), dijkstra(ones, indices=source))
    verify.bfs(Graph(A), source, levels, parents)
    np.testing.assert_array_equal(gasla.bfs(A, source), levels)
    found = gasla.run(LEVELS, Graph(A), active=[source], level={source: 0}, wait=False)
    assert found.iterations == levels.max() + 1  # the last reaches nothing
    depth = data.draw(st.integers(0, 4))
    np.testing.assert_array_equal(gasla.bfs(A, source, depth_limit=depth), np.where(levels > depth, -1, levels))


@settings(max_examples=60)
@given(A=matrices(), data=st.data())
def test_sssp(A: csr_array, data: st.DataObject) -> None:
    source = data.draw(st.integers(0, A.shape[0] - 1))
    distances, parents = gasla.sssp(A, source, parents=True)
    reference = nx.single_source_dijkstra_path_length(nx.from_scipy_sparse_array(A, create_using=nx.DiGraph), source)
    np.testing.assert_array_equal(distances, [reference.get(v, np.inf) for v in range(A.shape[0])])
    verify.sssp(Graph(A), source, distances, parents)  # edges of no length included
    delta = data.draw(st.floats(0.1, 50))
    np.testing.assert_array_equal(gasla.sssp(A, source, delta=delta), distances)


@settings(max_examples=60)
@given(A=matrices(least=-2), data=st.data())
def test_sssp_with_negative_weights(A: csr_array, data: st.DataObject) -> None:
    source = data.draw(st.integers(0, A.shape[0] - 1))
    G = nx.DiGraph()
    G.add_nodes_from(range(A.shape[0]))
    G.add_weighted_edges_from((int(i), int(j), w) for i, j, w in zip(*A.tocoo().coords, A.data))
    try:
        reference = nx.single_source_bellman_ford_path_length(G, source)
    except nx.NetworkXUnbounded:
        with pytest.raises(ValueError, match=r"a cycle through vertex \d+ has a negative length") as caught:
            gasla.sssp(A, source)
        named = int(str(caught.value).split("vertex ")[1].split()[0])
        cycles = (c for c in nx.simple_cycles(G) if sum(G[u][v]["weight"] for u, v in zip(c, c[1:] + c[:1])) < 0)
        assert any(named in cycle for cycle in cycles)
        return
    distances, parents = gasla.sssp(A, source, parents=True)
    np.testing.assert_array_equal(distances, [reference.get(v, np.inf) for v in range(A.shape[0])])
    assert ((parents >= 0) == np.isfinite(distances)).all()


def test_a_negative_cycle_is_named_in_time_that_grows_with_it() -> None:
    took = {}
    for n in (10, 20_000):
        graph = Graph.from_edges(np.arange(n), np.roll(np.arange(n), -1), np.r_[np.ones(n - 1), -float(n)], n=n)
        began = time.perf_counter()
        with pytest.raises(ValueError, match=r"a cycle through vertex \d+ has a negative length"):
            gasla.sssp(graph, 0)
        took[n] = time.perf_counter() - began
    assert took[20_000] < 5  # the first of them also compiles


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        *(("f4", "f4"), ("i8", "f8")),
        *(pytest.param(kind, "f8", marks=pytest.mark.slow) for kind in ("f8", "u1", "i4", "?")),
    ],
)
@pytest.mark.slow
def test_sssp_keeps_the_type_of_floats_and_takes_others_as_float64(kind: str, expected: str) -> None:
    A = csr_array(np.array([[0, 200], [0, 0]]).astype(kind))
    distances = gasla.sssp(A, 0)
    assert distances.dtype == expected
    assert distances.tolist() == [0, A.data[0]]


def test_without_weights_every_edge_has_length_one() -> None:
    assert gasla.sssp(Graph.from_edges([0, 1], [1, 2]), 0).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("weighted", "personal"),
    [
        (True, True),
        (False, False),
        *(pytest.param(w, not w, marks=pytest.mark.slow) for w in (True, False)),
    ],
)
@settings(max_examples=40)
@given(A=matrices(least=1), data=st.data())
def test_pagerank(weighted: bool, personal: bool, A: csr_array, data: st.DataObject) -> None:
    G = nx.from_scipy_sparse_array(A, create_using=nx.DiGraph)
    n, options, theirs = A.shape[0], {}, {}
    alpha = data.draw(st.floats(0.05, 0.95))
    for name in ("personalization", "dangling", "nstart"):
        if data.draw(st.booleans()) if personal or name == "nstart" else False:
            options[name] = {v: data.draw(st.integers(0, 3)) for v in range(n)}
            options[name][data.draw(st.integers(0, n - 1))] = 2
    theirs = {k: v for k, v in options.items() if k != "nstart"}
    result = gasla.pagerank(A, alpha=alpha, weighted=weighted, tol=1e-12, max_iter=3000, **options)
    expected = nx.pagerank(G, alpha, weight="weight" if weighted else None, tol=1e-14, max_iter=9000, **theirs)
    np.testing.assert_allclose(result.ranks, [expected[v] for v in range(n)], atol=1e-9)
    assert result.converged


@pytest.mark.slow
def test_pagerank_without_normalisation() -> None:
    A = datasets.rmat(10)
    pattern = csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
    result = gasla.pagerank(A, normalized=False, tol=1e-10, max_iter=500)
    degrees = np.maximum(pattern.sum(axis=1), 1)
    x = np.full(A.shape[0], 0.15)
    for _ in range(300):
        x = 0.15 + 0.85 * (pattern.T @ (x / degrees))
    np.testing.assert_allclose(result.ranks, x, rtol=1e-7)
    assert result.converged
    with pytest.raises(ValueError, match="normalized=False"):
        gasla.pagerank(A, normalized=False, nstart={0: 1})


@pytest.mark.slow
def test_pagerank_says_that_it_did_not_converge() -> None:
    with pytest.warns(gasla.ConvergenceWarning, match="after 2 iterations"):
        result = gasla.pagerank(datasets.rmat(8), max_iter=2, tol=1e-12)
    assert (result.iterations, result.converged) == (2, False)
    assert type(result.residual) is float
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranks = gasla.pagerank(datasets.rmat(8), dtype=np.float32, tol=1e-4).ranks
    assert ranks.dtype == np.float32
    np.testing.assert_allclose(ranks.sum(), 1, rtol=1e-5)


@pytest.mark.parametrize("iterations", [0, 1, 2, 20])
@pytest.mark.slow
def test_pagerank_of_just_so_many_iterations(iterations: int) -> None:
    """Without a tolerance, and without a warning; ranks are those of the power iteration."""
    A = datasets.rmat(10)
    degrees = np.diff(A.indptr)
    pattern = csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
    ranks = before = np.full(A.shape[0], 1 / A.shape[0])
    for _ in range(iterations):
        before, lost = ranks, ranks[degrees == 0].sum()
        ranks = (0.15 + 0.85 * lost) / len(ranks) + 0.85 * (pattern.T @ (ranks / np.maximum(degrees, 1)))
    result = gasla.pagerank(A, weighted=False, tol=0, max_iter=iterations)
    np.testing.assert_allclose(result.ranks, ranks, rtol=1e-12)
    np.testing.assert_allclose(result.residual, abs(ranks - before).sum(), rtol=1e-6)
    assert (result.iterations, result.converged) == (iterations, False)


@pytest.mark.thorough
@settings(max_examples=30)
@given(A=matrices(least=1), data=st.data())
def test_betweenness(A: csr_array, data: st.DataObject) -> None:
    weighted, ends, normalized = (data.draw(st.booleans()) for _ in range(3))
    B = A if weighted else csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
    symmetric = abs(B - B.T).nnz == 0  # counts as undirected; without weights, the pattern decides
    G = nx.from_scipy_sparse_array(B, create_using=nx.Graph if symmetric else nx.DiGraph)
    scores = gasla.betweenness_centrality(A, weighted=weighted, endpoints=ends, normalized=normalized)
    expected = nx.betweenness_centrality(
        G, weight="weight" if weighted else None, endpoints=ends, normalized=normalized
    )
    np.testing.assert_allclose(scores, [expected[v] for v in range(A.shape[0])], rtol=1e-12, atol=1e-14)


@pytest.mark.slow  # compiles two programs more
@settings(max_examples=30)
@given(A=matrices(least=1), data=st.data())
def test_edge_betweenness(A: csr_array, data: st.DataObject) -> None:
    weighted, normalized = data.draw(st.booleans()), data.draw(st.booleans())
    B = A if weighted else csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
    symmetric = abs(B - B.T).nnz == 0
    G = nx.from_scipy_sparse_array(B, create_using=nx.Graph if symmetric else nx.DiGraph)
    expected = nx.edge_betweenness_centrality(G, weight="weight" if weighted else None, normalized=normalized)
    if symmetric:
        expected |= {(v, u): score for (u, v), score in expected.items()}
    order = np.random.default_rng(1).permutation(A.nnz)  # in which edges are given has nothing to say
    src, dst = (ends[order] for ends in A.tocoo().coords)
    scores = gasla.edge_betweenness_centrality(
        Graph.from_edges(src, dst, A.tocoo().data[order], n=A.shape[0]), weighted=weighted, normalized=normalized
    )
    edges = zip(src.tolist(), dst.tolist())
    np.testing.assert_allclose(scores, [expected[e] for e in edges], rtol=1e-12, atol=1e-14)


def test_edge_betweenness_from_some_sources() -> None:
    A = datasets.grid(4)
    total = sum(gasla.edge_betweenness_centrality(A, sources=[s], normalized=False) for s in range(5))
    several = gasla.edge_betweenness_centrality(A, sources=range(5), normalized=False)
    np.testing.assert_allclose(several, total / 5)
    same = [gasla.edge_betweenness_centrality(A, k=7, seed=3) for _ in range(2)]
    np.testing.assert_array_equal(*same)
    verify.edge_betweenness(A, gasla.edge_betweenness_centrality(A, sources=[3, 1]), sources=[3, 1])
    doubled = Graph.from_edges([0, 0, 0, 1], [1, 1, 2, 3])  # parallel edges are paths of their own
    assert gasla.edge_betweenness_centrality(doubled, normalized=False).tolist() == [1, 1, 1, 2]


def test_betweenness_against_igraph_on_a_real_graph() -> None:
    igraph = pytest.importorskip("igraph")
    A = datasets.openflights().matrix
    keep = np.flatnonzero(np.diff(A.indptr) > 12)
    A = csr_array(A[keep][:, keep])
    sources, targets = A.nonzero()
    peer = igraph.Graph(n=A.shape[0], edges=list(zip(sources.tolist(), targets.tolist())), directed=True)
    np.testing.assert_allclose(gasla.betweenness_centrality(A, normalized=False), peer.betweenness(), rtol=1e-9)


def diamonds(k: int, weighted: bool) -> tuple[Graph, np.ndarray, np.ndarray]:
    """A chain of k diamonds, which has 2**k shortest paths from end to end; where they join, and their middles."""
    junction, middle = 3 * np.arange(k + 1), 3 * np.arange(k)[:, None] + [1, 2]
    src = np.concatenate([np.repeat(junction[:-1], 2), middle.ravel()])
    dst = np.concatenate([middle.ravel(), np.repeat(junction[1:], 2)])
    return Graph.from_edges(src, dst, np.full(len(src), 0.5) if weighted else None), junction, middle


@pytest.mark.slow  # compiles programs in wide numbers
@pytest.mark.parametrize("weighted", [False, True])
def test_edge_betweenness_where_path_counts_exceed_float64(weighted: bool) -> None:
    graph, junction, _ = diamonds(1500, weighted)
    scores = gasla.edge_betweenness_centrality(graph, sources=[0], normalized=False, weighted=weighted)
    beyond = np.repeat((graph.n - 1 - junction[1:] + 1) / 2, 2)  # half of those behind the middle, where both join
    into, out = np.split(scores / graph.n, 2)
    np.testing.assert_allclose(into, beyond + 1, rtol=1e-10)
    np.testing.assert_allclose(out, beyond, rtol=1e-10)


@pytest.mark.parametrize("weighted", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_betweenness_where_path_counts_exceed_float64(weighted: bool) -> None:
    graph, junction, middle = diamonds(1500, weighted)
    scores = gasla.betweenness_centrality(graph, sources=[0], normalized=False, weighted=weighted)
    beyond = graph.n - 1 - junction  # vertices that only paths through a junction reach
    assert np.isfinite(scores).all()
    scale = (graph.n - 1) / 1
    np.testing.assert_allclose(scores[junction[1:]], beyond[1:] * scale, rtol=1e-10)
    np.testing.assert_allclose(scores[middle], np.repeat((beyond[1:] + 1) / 2 * scale, 2).reshape(-1, 2), rtol=1e-10)


def test_betweenness_from_sampled_sources() -> None:
    A = datasets.grid(6)
    G = nx.from_scipy_sparse_array(A)
    for normalized in (True, False):
        several = gasla.betweenness_centrality(A, sources=range(5), normalized=normalized)
        total = sum(gasla.betweenness_centrality(A, sources=[s], normalized=False) for s in range(5))
        assert several.shape == (64,)
        assert np.isfinite(total).all()
    np.testing.assert_allclose(gasla.betweenness_centrality(A, k=64), list(nx.betweenness_centrality(G).values()))
    same = [gasla.betweenness_centrality(A, k=7, seed=3) for _ in range(2)]
    np.testing.assert_array_equal(*same)


@pytest.mark.thorough
def test_a_star_with_a_million_leaves() -> None:
    graph = star(10**6)
    assert gasla.bfs(graph, 5)[[0, 5, 6]].tolist() == [1, 0, 2]
    assert gasla.sssp(graph, 0).sum() == 10**6
    ranks = gasla.pagerank(graph, tol=1e-8, max_iter=200).ranks
    np.testing.assert_allclose(ranks.sum(), 1)
    np.testing.assert_allclose(ranks[0], 0.15 / graph.n + 0.85 * (1 - ranks[0]), rtol=1e-6)
    scores = gasla.betweenness_centrality(graph, sources=[1, 2], normalized=False)
    assert scores[0] == (10**6 - 1) * 2 * (graph.n - 1) / 2 / 2
    assert scores[3] == 0


def test_a_path_of_a_hundred_thousand() -> None:
    n = 100_000
    graph = chain(n)
    np.testing.assert_array_equal(gasla.bfs(graph, 0), np.arange(n))
    np.testing.assert_array_equal(gasla.sssp(graph, 0, parents=True).parents, np.maximum(np.arange(n) - 1, 0))
    scores = gasla.betweenness_centrality(graph, sources=[0], endpoints=True, normalized=False)
    np.testing.assert_allclose(scores, np.maximum(n - np.arange(n), 0) * 1.0 * n - n * (np.arange(n) == 0))
    lengths = -np.ones(n - 1)
    falling = Graph.from_csr(graph.out.indptr, graph.out.indices, lengths)
    np.testing.assert_array_equal(gasla.sssp(falling, 0), -np.arange(n))


def widened(A: csr_array) -> Graph:
    return Graph.from_csr(A.indptr.astype(np.int64), A.indices.astype(np.int64), A.data)


@pytest.mark.thorough
def test_int64_offsets_and_ids_give_the_same() -> None:
    A = datasets.rmat(9)
    wide = widened(A)
    source = datasets.sources(A, 1)[0]
    np.testing.assert_array_equal(gasla.bfs(wide, source), gasla.bfs(A, source))


@pytest.mark.slow
def test_int64_offsets_and_ids_give_the_same_in_all_other_programs() -> None:
    A = datasets.rmat(9)
    np.testing.assert_allclose(gasla.pagerank(widened(A)).ranks, gasla.pagerank(A).ranks, rtol=1e-6)  # float32
    A = A.astype(np.float64)
    wide, falling = widened(A), csr_array(-triu(A, 1))  # the latter has no cycles
    source = datasets.sources(A, 1)[0]
    np.testing.assert_array_equal(gasla.sssp(wide, source), gasla.sssp(A, source))
    np.testing.assert_allclose(
        gasla.betweenness_centrality(wide, sources=[source]), gasla.betweenness_centrality(A, sources=[source])
    )
    verify.bfs(wide, source, *gasla.bfs(wide, source, parents=True))
    verify.sssp(wide, source, *gasla.sssp(wide, source, parents=True))
    np.testing.assert_array_equal(*(gasla.sssp(G, source) for G in (widened(falling), falling)))
    ones = dict.fromkeys(range(5), 1)
    for options in ({"weighted": False}, {"personalization": ones}, {"weighted": False, "personalization": ones}):
        np.testing.assert_allclose(*(gasla.pagerank(G, **options).ranks for G in (wide, A)), rtol=1e-6)
    np.testing.assert_allclose(*(gasla.pagerank(G, normalized=False).ranks for G in (wide, A)), rtol=1e-6)
    np.testing.assert_allclose(
        *(gasla.betweenness_centrality(G, sources=[source], weighted=True) for G in (wide, A)), rtol=1e-12
    )


def test_real_roads_against_scipy() -> None:
    A = datasets.ny_roads()
    graph = Graph(A)
    weights = np.random.default_rng(0).integers(1, 100, A.nnz).astype(np.float32)
    B = csr_array((weights, A.indices, A.indptr), shape=A.shape)
    np.testing.assert_array_equal(gasla.sssp(B, 7), dijkstra(B.astype(np.float64), indices=7))
    levels, parents = gasla.bfs(graph, 7, parents=True)
    verify.bfs(graph, 7, levels, parents)
    assert bellman_ford(csr_array(np.array([[0.0, 1], [0, 0]])), indices=0)[1] == 1


def test_graphs_of_no_and_of_one_vertex_give_answers() -> None:
    single = Graph.from_edges([], [], n=1)
    assert gasla.bfs(single, 0).tolist() == [0]
    assert gasla.sssp(single, 0).tolist() == [0]
    assert gasla.pagerank(single).ranks.tolist() == [1]
    assert gasla.betweenness_centrality(single).tolist() == [0]
    empty = Graph.from_edges([], [], n=0)
    assert gasla.edge_betweenness_centrality(empty).size == gasla.edge_betweenness_centrality(single).size == 0
    assert len(gasla.pagerank(empty).ranks) == len(gasla.betweenness_centrality(empty)) == 0


A3 = csr_array(np.array([[0, 1.0, 0], [0, 0, 1], [0, 0, 0]]))


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: gasla.bfs(A3, 12), ValueError, "source 12 is outside a graph of 3 vertices"),
        (lambda: gasla.bfs(A3, -1), ValueError, "source -1 is outside"),
        (lambda: gasla.bfs(A3, 0.5), TypeError, r"source is 0\.5"),
        (lambda: gasla.bfs(csr_array((2, 3)), 0), ValueError, r"shape \(2, 3\)"),
        (lambda: gasla.bfs(A3.astype(complex), 0), TypeError, "complex"),
        (lambda: gasla.sssp(A3 * np.nan, 0), ValueError, "the weight of edge 0 is nan"),
        (lambda: gasla.sssp(A3 * -np.inf, 0), ValueError, "the weight of edge 0 is -inf"),
        (lambda: gasla.sssp(A3, 0, delta=0), ValueError, "delta is 0"),
        (lambda: gasla.pagerank(A3 * -1), ValueError, r"the weight of edge 0 is -1\.0; expected a finite number, 0 or"),
        (lambda: gasla.pagerank(A3 * np.inf), ValueError, "the weight of edge 0 is inf; expected a finite number"),
        (lambda: gasla.pagerank(A3 * np.nan), ValueError, "the weight of edge 0 is nan; expected a finite number"),
        (lambda: gasla.pagerank(A3, max_iter=-1), ValueError, "max_iter is -1; expected 0 or more"),
        (lambda: gasla.pagerank(A3, max_iter=2.5), TypeError, r"max_iter is 2\.5; expected a whole number"),
        (lambda: gasla.bfs(A3, 0, depth_limit=2.5), TypeError, r"depth_limit is 2\.5; expected a whole number"),
        (lambda: gasla.bfs(A3, 0, depth_limit=-1), ValueError, "depth_limit is -1; expected 0 or more"),
        (lambda: gasla.betweenness_centrality(A3, k=2.5), TypeError, r"k is 2\.5; expected a whole number"),
        (lambda: gasla.pagerank(A3, alpha=2), ValueError, "alpha is 2"),
        (lambda: gasla.pagerank(A3, tol=-1), ValueError, "tol is -1"),
        (lambda: gasla.pagerank(A3, dtype=int), ValueError, "expected float32 or float64"),
        (lambda: gasla.pagerank(A3, personalization=[0, 0, 0]), ValueError, "only zeros"),
        (lambda: gasla.pagerank(A3, personalization=[1e308, 1e308, 1e308]), ValueError, "an infinite sum"),
        (lambda: gasla.pagerank(A3, personalization=[1, 1]), ValueError, r"expected \(3,\)"),
        (lambda: gasla.pagerank(A3, dangling={7: 1}), ValueError, "vertex 7 is outside"),
        (lambda: gasla.betweenness_centrality(A3, k=9), ValueError, "k is 9; expected 1 to 3"),
        (lambda: gasla.betweenness_centrality(A3, k=1, sources=[0]), ValueError, "both given"),
        (lambda: gasla.betweenness_centrality(A3, sources=[0, 0]), ValueError, "twice"),
        (lambda: gasla.betweenness_centrality(A3 * 0.0, weighted=True), ValueError, "expected a positive number"),
        (lambda: gasla.edge_betweenness_centrality(A3 * 0.0, weighted=True), ValueError, "expected a positive number"),
        (lambda: gasla.edge_betweenness_centrality(A3, k=9), ValueError, "k is 9; expected 1 to 3"),
    ],
)
def test_bad_input_is_refused(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_weights_may_be_written_to_between_calls(form: str) -> None:
    rng = np.random.default_rng(3)
    dense = np.where(rng.random((30, 30)) < 0.3, rng.integers(1, 9, (30, 30)), 0).astype(float)
    for A in (csr_array(dense), csr_array(dense + dense.T)):  # the second has one array for both directions
        A = A.asformat(form)
        graph = Graph(A)
        calls: list[Any] = [
            lambda g: gasla.sssp(g, 0, parents=True).distances,
            lambda g: gasla.pagerank(g).ranks,
            lambda g: gasla.betweenness_centrality(g, weighted=True),
            lambda g: gasla.run(BellmanFord, g, active=[0], direction="pull", distance={0: 0}).distance,
            lambda g: gasla.run(BellmanFord, g.with_values(g.values), active=[0], distance={0: 0}).distance,
        ]
        for values in (A.data.copy(), rng.integers(1, 99, A.nnz), A.data[::-1].copy()):
            A.data[:] = values
            for call in calls:
                np.testing.assert_array_equal(call(graph), call(Graph(A.copy())))
        A.data[:] = -1
        for call, message in zip(calls, ("negative length", "0 or more", "positive"), strict=False):
            with pytest.raises(ValueError, match=message):
                call(graph)
        A.data[3] = np.nan
        for call in calls[:3]:
            with pytest.raises(ValueError, match="the weight of edge 3 is nan" if call is calls[0] else "the weight"):
                call(graph)


@pytest.mark.parametrize(
    ("kind", "dtype", "scales"),
    [
        (np.float64, None, [5e307, 1e-309, (1e300, 1e-300, 1)]),
        pytest.param(np.float32, None, [1e38, 1e-40, (1e30, 1e-30, 1)], marks=pytest.mark.slow),
        pytest.param(np.float64, "float32", [1e300, 1e-300, (1e300, 1e-30, 1)], marks=pytest.mark.slow),
        pytest.param(np.uint64, "float32", [2**62, (2**62, 1, 2**30)], marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_how_large_weights_are_does_not_matter_to_ranks(kind: type, dtype: str | None, scales: list[Any]) -> None:
    """Each vertex's may even be scaled by a number of its own."""
    A = np.array([[0, 1, 3], [1, 0, 1], [1, 0, 0]])
    expected = gasla.pagerank(csr_array(A), personalization=[1, 2, 3]).ranks
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for scale in scales:
            scaled = csr_array((A * np.reshape(scale, (-1, 1)).astype(object)).astype(kind))
            for form in (scaled, scaled.tocsc()):
                result = gasla.pagerank(form, dtype=dtype, personalization=[1, 2, 3])
                assert result.converged
                np.testing.assert_allclose(result.ranks, expected, atol=1e-5)
