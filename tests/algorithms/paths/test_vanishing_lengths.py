"""Shortest paths where a length vanishes beside a distance, so that an edge is tight in both directions."""

import networkx as nx
import numpy as np
import pytest

import gasla
from gasla import engines, verify


def random_graph(seed: int, dtype: type = np.float64) -> gasla.Graph:
    """A few vertices, some of them joined by lengths that vanish beside others, or that are infinite."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        lengths = np.array([1.0, 2.0, 1e-20, 1e-20, 1e-20, 3e-18, np.inf])
    else:
        lengths = np.array([2**61, 2**60, 1, 1, 1, 3])
    n, m = 6, 14
    src, dst, weights = rng.integers(0, n, m), rng.integers(0, n, m), rng.choice(lengths, m)
    if seed % 2:
        src, dst, weights = np.concatenate([src, dst]), np.concatenate([dst, src]), np.concatenate([weights, weights])
    return gasla.Graph.from_edges(src, dst, weights.astype(dtype), n=n)


def enumerated(graph: gasla.Graph) -> tuple[np.ndarray, np.ndarray]:
    """Sums over pairs for vertices and edges, from a list of all simple paths; parallel edges make different paths."""
    edges = list(zip(*(ends.tolist() for ends in graph.edges()), graph.values.tolist(), strict=True))
    vertices, on_edges = np.zeros(graph.n), np.zeros(graph.m)
    for source in range(graph.n):
        paths = [((), [source], [(0.0, 0)])]
        for way, seen, costs in paths:
            for e, (u, v, w) in enumerate(edges):
                if u == seen[-1] and v not in seen:
                    far, hops = costs[-1]
                    cost = (far + w, hops + 1 if far + w == far else 0)
                    if cost[0] < np.inf:
                        paths.append(((*way, e), [*seen, v], [*costs, cost]))
        best = {}
        for _, seen, costs in paths:
            best[seen[-1]] = min(best.get(seen[-1], costs[-1]), costs[-1])
        shortest = [p for p in paths if all(best[v] == cost for v, cost in zip(p[1], p[2], strict=True))]
        for target in range(graph.n):
            among = [p for p in shortest if p[1][-1] == target and target != source]
            for way, seen, _ in among:
                vertices[seen[1:-1]] += 1 / len(among)
                on_edges[list(way)] += 1 / len(among)
    return vertices, on_edges


def test_paths_of_fewest_vanishing_edges_by_numpy() -> None:
    with gasla.engines.interpreted():
        for seed in range(4):
            graph = random_graph(seed)
            twice = 2 if graph.is_symmetric and graph.has_symmetric_values else 1
            got = gasla.betweenness_centrality(graph, weighted=True, normalized=False)
            np.testing.assert_allclose(got * twice, enumerated(graph)[0], atol=1e-12, err_msg=str(seed))


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_betweenness_counts_paths_of_fewest_vanishing_edges(dtype: type) -> None:
    for seed in range(12):
        graph = random_graph(seed, dtype)
        vertices, on_edges = enumerated(graph)
        twice = 2 if graph.is_symmetric and graph.has_symmetric_values else 1
        got = gasla.betweenness_centrality(graph, weighted=True, normalized=False)
        np.testing.assert_allclose(got * twice, vertices, atol=1e-12, err_msg=str(seed))
        verify.betweenness(graph, got, normalized=False, weighted=True)
        got = gasla.edge_betweenness_centrality(graph, weighted=True, normalized=False)
        if twice == 1:
            np.testing.assert_allclose(got, on_edges, atol=1e-12, err_msg=str(seed))
        verify.edge_betweenness(graph, got, normalized=False, weighted=True)


@pytest.mark.thorough
def test_the_listing_of_edges_does_not_count() -> None:
    graph = random_graph(3)
    src, dst = graph.edges()
    order = np.random.default_rng(0).permutation(graph.m)
    other = gasla.Graph.from_edges(src[order], dst[order], graph.values[order], n=graph.n)
    of_vertices = [gasla.betweenness_centrality(g, weighted=True) for g in (graph, other)]
    np.testing.assert_allclose(*of_vertices, atol=1e-14)
    of_edges = [gasla.edge_betweenness_centrality(g, weighted=True) for g in (graph, other)]
    np.testing.assert_allclose(of_edges[0][order], of_edges[1], atol=1e-14)


@pytest.mark.thorough
def test_a_long_chain_of_vanishing_edges_ends() -> None:
    n = 2000
    lengths = np.full(n - 1, 1e-20)
    lengths[0] = 1.0
    path = gasla.Graph.from_edges(
        np.r_[:n - 1, 1:n], np.r_[1:n, :n - 1], np.concatenate([lengths, lengths]), n=n
    )  # fmt: skip
    got = gasla.betweenness_centrality(path, weighted=True, sources=[0], normalized=False)
    np.testing.assert_allclose(got[1:] * 2 * (1 / n), np.arange(n - 2, -1, -1) * (got[1] * 2 / n) / (n - 2))


@pytest.mark.thorough
def test_parents_close_no_circle_where_lengths_vanish_or_are_zero() -> None:
    for seed in range(40):
        graph = random_graph(seed)
        if seed % 3 == 0:
            graph = graph.with_values(np.where(graph.values < 1e-10, 0.0, graph.values))
        found = gasla.sssp(graph, 0, parents=True)
        for v in np.flatnonzero(np.isfinite(found.distances)):
            steps = 0
            while found.parents[v] != v:
                v, steps = found.parents[v], steps + 1
                assert steps < graph.n, seed
            assert v == 0


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_the_gpu_counts_the_same_paths(dtype: type) -> None:
    for seed in range(6):
        graph = random_graph(seed, dtype)
        for function in (gasla.betweenness_centrality, gasla.edge_betweenness_centrality):
            got = function(graph.to("gpu"), weighted=True).get()
            np.testing.assert_allclose(got, function(graph, weighted=True), atol=1e-12, err_msg=str(seed))


@pytest.mark.thorough
def test_networkx_keeps_its_own_answer() -> None:
    """Which counts a path of no length twice: 1.5 for the vertex in the middle."""
    path = nx.Graph([("a", "b", {"weight": 5e6}), ("b", "c", {"weight": 1e-10})])
    for function in (nx.edge_betweenness_centrality, nx.betweenness_centrality):
        with pytest.raises(NotImplementedError, match="backend raised NotImplementedError"):
            function(path.copy(), weight="weight", backend="gasla")
    scores = gasla.betweenness_centrality(gasla.Graph.from_networkx(path), weighted=True)
    assert scores.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    "lengths", [[0.1, 0.7, 0.3], [1, 2**30 + 1, 2**25 - 1], [1e-50, 0.5, 1e-310], [0.1, 0.7, -0.05]]
)
def test_sums_are_rounded_to_the_type_of_the_distances(lengths: list[float]) -> None:
    """Float32 distances of lengths that it can't hold: all reached vertices have a parent and a nearest source."""
    src, dst = [0, 1, 2, 0, 4], [1, 2, 3, 3, 3]
    graph = gasla.Graph.from_edges(src, dst, np.resize(np.array(lengths), 5), n=5)
    with engines.interpreted():
        verify.sssp(graph, 0, *gasla.sssp(graph, 0, parents=True, dtype=np.float32))
        verify.nearest_source(graph, [4, 0], *gasla.nearest_source(graph, [4, 0], dtype=np.float32))
        if min(lengths) >= 0:
            for cutoff in lengths:
                near = gasla.sssp(graph, 0, parents=True, dtype=np.float32, cutoff=cutoff)
                verify.sssp(graph, 0, *near, cutoff=cutoff)


def test_an_infinite_cutoff_hides_no_overflow() -> None:
    graph = gasla.Graph.from_edges([0, 1], [1, 2], np.array([3e38, 3e38], np.float32))
    with engines.interpreted():
        for search in (gasla.sssp, gasla.multi_source_shortest_paths, gasla.nearest_source):
            with pytest.raises(ValueError, match="sum to infinity"):
                search(graph, [0], cutoff=np.inf)
            search(graph, [0], cutoff=3.2e38)


def test_a_source_that_a_negative_length_reaches_belongs_to_another() -> None:
    graph = gasla.Graph.from_edges([1, 0], [0, 2], [-1.0, 2.0])
    with engines.interpreted():
        found = gasla.nearest_source(graph, [0, 1])
        assert found.nearest.tolist() == [1, 1, 1]
        assert gasla.sssp(graph, [0, 1], parents=True).parents.tolist() == [1, 1, 0]
        verify.nearest_source(graph, [0, 1], *found)
        with pytest.raises(verify.VerificationError):
            verify.nearest_source(graph, [0, 1], found.distances, [0, 1, 0])
        circle = gasla.Graph.from_edges([0, 1], [1, 0], np.array([2**31 - 1, -(2**31)]))
        with pytest.raises(ValueError, match="negative"):  # float32 has -1, but not what follows
            gasla.sssp(circle, 1, dtype=np.float32)
