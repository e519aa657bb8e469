"""The community of one vertex: beside pushes one by one, NetworkX's PageRank and conductance, and NetworKit's cuts."""

from collections import defaultdict, deque
from fractions import Fraction
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import gasla
import semirings
from gasla import Graph, datasets, verify
from gasla.cli.compute import on_host
from gasla.verify import VerificationError

# The programs as NumPy runs them, by default: four variants take the compiler a while. test_cli has two compiled.
ENGINES = ["numpy", pytest.param("cpu", marks=pytest.mark.slow), pytest.param("gpu", marks=pytest.mark.gpu)]


@pytest.fixture
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where graphs are."""
    if request.param == "numpy":
        monkeypatch.setattr("gasla.algorithms.community.pagerank_nibble.run", partial(gasla.run, compile=False))
        return "cpu"
    return str(request.param)


def karate() -> csr_array:
    return csr_array(nx.to_scipy_sparse_array(nx.karate_club_graph(), dtype=np.float32))


def airports() -> csr_array:
    pattern = datasets.openflights().matrix
    return csr_array(((pattern + pattern.T) > 0).astype(np.float32))


GRAPHS = {"karate": karate, "airports": airports, "rmat": lambda: datasets.rmat(9), "grid": lambda: datasets.grid(8)}


def nibbled(graph: Any, source: int, device: str = "cpu", **options: Any) -> Any:
    """What is found, once it is verified."""
    found = on_host(gasla.pagerank_nibble(Graph(graph).to(device), source, **options))
    verify.pagerank_nibble(graph, source, *found, **options)
    assert source in found.vertices and found.scores.dtype == np.float64
    return found


def pushed_one_by_one(matrix: csr_array, source: int, alpha: float, epsilon: float) -> np.ndarray:
    """Scores by the paper's own push: half of what is not retained stays, and half is sent on."""
    degree = matrix.sum(axis=1)
    score, residual, waiting = np.zeros(len(degree)), np.zeros(len(degree)), deque([source])
    residual[source] = 1
    while waiting:
        u = waiting.popleft()
        if (had := residual[u]) < epsilon * degree[u]:
            continue
        score[u] += alpha * had
        residual[u] = (1 - alpha) * had / 2
        row = slice(matrix.indptr[u], matrix.indptr[u + 1])
        residual[matrix.indices[row]] += (1 - alpha) * had / 2 * matrix.data[row] / degree[u]
        waiting.extend(v for v in (u, *matrix.indices[row].tolist()) if residual[v] >= epsilon * degree[v])
    return score


@pytest.mark.parametrize("device", ENGINES, indirect=True)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["karate", "rmat", pytest.param("airports", marks=pytest.mark.slow), "grid"])
def test_scores_and_conductance(name: str, weighted: bool, device: str) -> None:
    matrix = GRAPHS[name]()
    if not weighted:
        matrix.data[:] = 1
    degree = matrix.sum(axis=1)
    source, epsilon = int(np.argmax(degree)), 1e-3 / degree.max()
    found = nibbled(matrix, source, device, alpha=0.1, epsilon=epsilon, weighted=weighted)
    scores = pushed_one_by_one(matrix, source, 0.1, epsilon)
    assert (abs(found.scores - scores) <= epsilon * degree).all()  # as near as either is to what both approximate
    cut = nx.conductance(nx.from_scipy_sparse_array(matrix), found.vertices.tolist(), weight="weight")
    assert found.conductance == pytest.approx(cut, rel=1e-6)


@pytest.mark.parametrize("device", ENGINES, indirect=True)
def test_scores_come_near_to_pagerank(device: str) -> None:
    matrix = karate()
    found = nibbled(matrix, 5, device, alpha=0.2, epsilon=1e-12, weighted=True)
    ranks = nx.pagerank(nx.karate_club_graph(), 1 - 0.4 / 1.2, personalization={5: 1}, tol=1e-12)
    np.testing.assert_allclose(found.scores, [ranks[v] for v in range(34)], atol=1e-8)


@pytest.mark.parametrize("device", ENGINES[:2], indirect=True)
@pytest.mark.parametrize("name", ["karate", "airports", "grid"])
def test_cuts_are_about_networkits(name: str, device: str) -> None:
    nk = pytest.importorskip("networkit")
    matrix = GRAPHS[name]()
    peer, plain = nk.Graph(matrix.shape[0]), nx.from_scipy_sparse_array(matrix)
    for u, v in plain.edges:
        if u != v:
            peer.addEdge(u, v)
    plain.remove_edges_from(nx.selfloop_edges(plain))
    for source in (1, 17, 33):
        found = nibbled(nx.to_scipy_sparse_array(plain), source, device, alpha=0.05, epsilon=1e-5)
        theirs = nk.scd.PageRankNibble(peer, 0.05, 1e-5).expandOneCommunity(source)
        assert found.conductance <= 1.1 * nx.conductance(plain, theirs) + 1e-12


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Directed or not, with loops, parallel edges, weights of 0; of either type of ids."""
    n = draw(st.integers(1, 8))
    edges = draw(st.lists(st.tuples(*[st.integers(0, n - 1)] * 2, st.integers(0, 3)), max_size=20))
    src, dst, weight = np.array(edges, np.int64).reshape(-1, 3).T
    if draw(st.booleans()):
        src, dst, weight = np.r_[src, dst], np.r_[dst, src], np.r_[weight, weight]
    made = Graph.from_edges(src, dst, weight.astype(np.float32), n=n)
    kind = draw(st.sampled_from([np.int32, np.int64]))
    return Graph.from_csr(made.out.indptr.astype(kind), made.out.indices, made.out_values)


@pytest.mark.thorough
@pytest.mark.parametrize("device", ENGINES[:2], indirect=True)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    graph=graphs(),
    weighted=st.booleans(),
    alpha=st.sampled_from([1.0, 0.5, 0.01]),
    epsilon=st.sampled_from([0.5, 1e-2, 1e-7]),
    data=st.data(),
)
def test_communities_of_random_graphs_are_verified(
    device: str, graph: Graph, weighted: bool, alpha: float, epsilon: float, data: st.DataObject
) -> None:
    nibbled(graph, data.draw(st.integers(0, graph.n - 1)), device, alpha=alpha, epsilon=epsilon, weighted=weighted)


@pytest.mark.parametrize("device", ENGINES, indirect=True)
def test_hard_shapes_give_right_answers(device: str) -> None:
    def community(src: Any, dst: Any, n: int, source: int = 0) -> tuple[list[int], float]:
        found = nibbled(Graph.from_edges(src, dst, n=n), source, device)
        return sorted(found.vertices.tolist()), found.conductance

    np.testing.assert_equal(community([], [], 1), ([0], np.nan))
    np.testing.assert_equal(community([0], [0], 2), ([0], np.nan))  # there is nothing else
    np.testing.assert_equal(community([0], [0], 2, 1), ([1], np.nan))
    assert community([0, 1], [1, 0], 2) == ([0], 1.0)
    assert community([0, 1, 2, 2], [1, 0, 2, 2], 3) == ([0, 1], 0.0)  # a component
    assert community([0, 2, 2, 2], [1, 2, 2, 2], 3) == ([0, 1], 0.0)  # one way
    star, conductance = community(np.zeros(200, int), np.arange(1, 201), 201, 7)
    assert star == [7] and conductance == 1
    path, conductance = community(np.arange(299), np.arange(1, 300), 300, 0)
    assert path == list(range(len(path))) and conductance == pytest.approx(1 / (2 * len(path) - 1))
    bells = nx.to_scipy_sparse_array(nx.barbell_graph(20, 0), dtype=np.int64)
    assert sorted(nibbled(bells, 3, device).vertices.tolist()) == list(range(20))


def exact_conductances(graph: Graph, order: list[int]) -> list[Fraction | None]:
    """That of each beginning of an order, without rounding; None where it is no cut."""
    weight: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for i, j, w in zip(*(ends.tolist() for ends in (*graph.edges(), graph.values)), strict=True):
        weight[i, j] += Fraction(w)
    if any(weight[i, j] != weight.get((j, i)) for i, j in list(weight)):
        turned = [((j, i), w) for (i, j), w in weight.items()]
        for ends, w in turned:
            weight[ends] += w
    found: list[Fraction | None] = []
    for count in range(1, len(order) + 1):
        inside = set(order[:count])
        cut = sum(w for (i, j), w in weight.items() if i in inside and j not in inside)
        sides = [sum(w for (i, _), w in weight.items() if (i in inside) == way) for way in (True, False)]
        found.append(cut / min(sides) if min(sides) else None)
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("device", ENGINES[:1], indirect=True)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_the_best_of_the_proper_cuts(device: str, data: Any) -> None:
    n = data.draw(st.integers(2, 6))
    ends = st.integers(0, n - 1)
    edges = data.draw(st.lists(st.tuples(ends, ends), min_size=1, max_size=12))
    near, far = st.floats(0.1, 5), st.sampled_from([0.0, 1e-30, 1e-17, 0.1, 0.3, 1e17])
    weights = data.draw(st.lists(near | far, min_size=len(edges), max_size=len(edges)))
    graph = Graph.from_edges(*np.array(edges).T, np.array(weights), n=n)
    if data.draw(st.booleans()):
        graph = graph.symmetrized(semirings.plus)
    source = data.draw(ends)
    found = nibbled(graph, source, device, epsilon=1e-9, weighted=True)
    verdicts = exact_conductances(graph, found.vertices.tolist())
    others = np.flatnonzero(found.scores > 0)
    degree = gasla.mxv(graph, np.ones(n)) + (0 if graph.has_symmetric_values else gasla.vxm(np.ones(n), graph))
    ratio = found.scores[others] / np.maximum(degree[others], 1e-150)
    if len(set(ratio.tolist())) < len(others):
        return  # of those that tie either may come first
    order = others[np.argsort(-ratio)].tolist()
    cuts = [cut for cut in exact_conductances(graph, order) if cut is not None]
    if not cuts:
        assert np.isnan(found.conductance) and found.vertices.tolist() == [source]
    else:
        assert found.conductance == pytest.approx(float(min(cuts)), rel=1e-9, abs=1e-14)
        assert verdicts[-1] is not None and float(verdicts[-1]) == pytest.approx(found.conductance, abs=1e-14)


@pytest.mark.parametrize("device", ENGINES, indirect=True)
def test_a_component_has_no_cut_beside_a_tiny_loop(device: str) -> None:
    """The cut around the sweep is summed from its own edges: a difference of degrees would leave a rounding error."""
    weights = np.array([3.6931596914738704, 1.0, 1e-30])
    graph = Graph.from_edges(np.array([0, 0, 2]), np.array([0, 1, 2]), weights, n=3)
    found = nibbled(graph, 0, device, epsilon=1e-9, weighted=True)
    assert found.conductance == 0 and found.vertices.tolist() == [0, 1]


def test_wrong_input_is_refused() -> None:
    pair = Graph.from_edges([0, 1], [1, 0], [1.0, 1.0])
    for options in ({"alpha": 0}, {"alpha": 1.5}, {"alpha": np.nan}, {"epsilon": 0}, {"epsilon": np.inf}):
        with pytest.raises(ValueError, match=f"{next(iter(options))} is .*; expected a (finite )?number above 0"):
            gasla.pagerank_nibble(pair, 0, **options)
    with pytest.raises(ValueError, match="source 2 is outside a graph of 2 vertices"):
        gasla.pagerank_nibble(pair, 2)
    with pytest.raises(ValueError, match="the weight of edge 1 is -1"):
        gasla.pagerank_nibble(pair.with_values([1.0, -1.0]), 0, weighted=True)
    with pytest.raises(ValueError, match="the weights at vertex 0 sum to 1e-200; expected 1e-150"):
        gasla.pagerank_nibble(pair.with_values([1e-200, 1e-200]), 0, weighted=True)


@pytest.mark.parametrize("device", ENGINES[:1], indirect=True)
def test_weights_that_change_are_noticed(device: str) -> None:
    weights = np.array([9.0, 9, 1, 1, 9, 9])
    graph = Graph.from_edges([0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2], weights)
    nibbled(graph, 1, device, weighted=True)
    weights[:] = 1, 1, 9, 9, 9, 9
    nibbled(graph, 1, device, weighted=True)


@pytest.mark.parametrize("device", ENGINES[:1], indirect=True)
@pytest.mark.usefixtures("device")
def test_the_verifier_rejects_wrong_answers() -> None:
    graph = karate()
    vertices, conductance, scores = gasla.pagerank_nibble(graph, 0)
    spoiled: dict[str, Any] = {
        "residual .* could push": (vertices, conductance, scores * 0.5),
        "has residual -": (vertices, conductance, scores * 1.1),
        "has conductance": (vertices, conductance * 1.2, scores),
        "has more score over degree": (vertices[::-1], conductance, scores),
        "appears twice": ([*vertices, vertices[0]], conductance, scores),
        "is not a vertex": ([34], conductance, scores),
        "expected no less": (vertices[:2], 30 / 34, scores),
    }
    for words, wrong in spoiled.items():
        with pytest.raises(VerificationError, match=words):
            verify.pagerank_nibble(graph, 0, *wrong)


def test_an_alpha_that_retains_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="alpha is 1e-20; expected 2"):
        gasla.pagerank_nibble(gasla.Graph.from_edges([0, 1], [1, 0]), 0, alpha=1e-20)
