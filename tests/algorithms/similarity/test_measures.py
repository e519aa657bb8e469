"""How alike vertices are, against NetworkX, igraph, and SciPy's products of rows."""

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import datasets, verify
from gasla.bench import graphs
from gasla.bench.peers import make
from gasla.bench.tasks import Gasla
from gasla.graph.graph import Graph
from tests.algorithms.community.test_edge_support import HARD, Edges, on, peer, plain
from tests.algorithms.community.test_triangles import edge_lists

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]
LONG = (pytest.mark.slow,)  # compiles what long lists take, which tests of support and of intersections do, too
OURS: dict[str, Callable[..., Any]] = {
    "jaccard": gasla.jaccard,
    "overlap": gasla.overlap,
    "sorensen": gasla.sorensen,
    "cosine": gasla.cosine,
    "adamic_adar": gasla.adamic_adar,
    "resource_allocation": gasla.resource_allocation,
    "preferential_attachment": gasla.preferential_attachment,
}
NETWORKX: dict[str, Callable[..., Any]] = {
    "jaccard": nx.jaccard_coefficient,
    "adamic_adar": nx.adamic_adar_index,
    "resource_allocation": nx.resource_allocation_index,
    "preferential_attachment": nx.preferential_attachment,
}


def by_sets(measure: str, other: nx.Graph, u: int, v: int) -> float:
    """What NetworkX says; where it has no such measure, by its neighbors."""
    a, b = set(other[u]), set(other[v])
    if measure == "adamic_adar" and u == v and any(len(other[w]) == 1 for w in a):
        return np.inf  # NetworkX divides by zero
    if measure in NETWORKX:
        return next(iter(NETWORKX[measure](other, [(u, v)])))[2]
    by_name = {"overlap": min(len(a), len(b)), "sorensen": (len(a) + len(b)) / 2, "cosine": (len(a) * len(b)) ** 0.5}
    size = by_name[measure]
    return len(a & b) / size if size else 0.0


def check(device: Any, edges: Edges, pairs: tuple[np.ndarray, np.ndarray]) -> None:
    _, src, dst = edges
    graph, other = on(device, edges), peer(*edges)
    for measure, ours in OURS.items():
        for u, v, found in ((src, dst, ours(graph)), (*pairs, ours(graph, pairs))):
            assert found.dtype == np.float64
            wanted = [by_sets(measure, other, *ends) for ends in zip(u.tolist(), v.tolist())]
            np.testing.assert_allclose(plain(found), np.array(wanted, float), rtol=1e-12)


@pytest.mark.parametrize("device", DEVICES)
@settings(max_examples=20)
@given(edges=edge_lists(), data=st.data())
def test_random_graphs_give_right_answers(device: Any, edges: Edges, data: st.DataObject) -> None:
    ends = st.lists(st.integers(0, edges[0] - 1), min_size=6, max_size=6)
    pairs = np.array(data.draw(ends)), np.array(data.draw(ends))
    check(device, edges, pairs)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [pytest.param(name, marks=LONG * (name == "a star")) for name in HARD])
def test_hard_shapes_give_right_answers(device: Any, shape: str) -> None:
    n = HARD[shape][0]
    pairs = np.arange(n)[:40], np.arange(n)[::-1][:40]
    check(device, HARD[shape], pairs)


@pytest.mark.slow  # as above
@pytest.mark.parametrize("device", DEVICES)
def test_the_airport_graph_gives_a_right_answer(device: Any) -> None:
    graph = Graph(datasets.openflights().matrix)
    rng = np.random.default_rng(3)
    edges = rng.choice(graph.m, 300)
    u, v = np.append(graph.out.owners()[edges], 5), np.append(graph.out.indices[edges], 5)
    other, here = peer(graph.n, graph.out.owners(), graph.out.indices), graph.to(device)
    for measure, ours in OURS.items():
        wanted = [by_sets(measure, other, *ends) for ends in zip(u.tolist(), v.tolist())]
        np.testing.assert_allclose(plain(ours(here, (u, v))), wanted, rtol=1e-12)
        np.testing.assert_allclose(plain(ours(here))[graph.out.numbers()[edges]], wanted[:-1], rtol=1e-12)


@settings(max_examples=25)
@given(edges=edge_lists())
def test_the_verifier_accepts_right_answers_only(edges: Edges) -> None:
    graph = on("cpu", edges)
    for measure, ours in OURS.items():
        scores = ours(graph)
        verify.similarity(graph, scores, measure)  # type: ignore[arg-type]
        everyone = np.arange(graph.n)
        verify.similarity(graph, ours(graph, (everyone, everyone[::-1])), measure, (everyone, everyone[::-1]))  # type: ignore[arg-type]
        if graph.m and np.isfinite(scores[-1]):
            with pytest.raises(verify.VerificationError, match=f"the {measure} of "):
                verify.similarity(graph, scores + (np.arange(graph.m) == graph.m - 1), measure)  # type: ignore[arg-type]


@given(edges=edge_lists())
def test_scores_know_no_direction(edges: Edges) -> None:
    n, src, dst = edges
    graph = Graph.from_edges(src, dst, n=n)
    for name, ours in OURS.items():
        found, of_pairs = ours(graph), ours(graph, (src, dst))
        np.testing.assert_array_equal(of_pairs, ours(graph, (dst, src)))
        np.testing.assert_array_equal(found, ours(Graph.from_edges(dst, src, n=n)))
        if name in ("adamic_adar", "resource_allocation"):  # weights of all edges are summed as integers
            np.testing.assert_allclose(found, of_pairs, rtol=1e-14)
        else:
            np.testing.assert_array_equal(found, of_pairs)
    scores = np.stack([OURS[name](graph) for name in ("jaccard", "cosine", "overlap")])
    assert (scores >= 0).all() and (scores <= 1).all() and (np.diff(scores, axis=0) >= -1e-15).all()


def test_arguments_are_checked() -> None:
    graph = on("cpu", HARD["two pieces"])
    for pairs, error, said in (
        ([0, 1, 2], TypeError, r"pairs is \[0, 1, 2\]; expected \(u, v\), two arrays of vertices"),
        (np.array([[0, 1], [1, 2]]), TypeError, r"pairs is array\("),
        (([0, 1], [2]), ValueError, "u has 2 entries and v has 1"),
        (([0, 1], [2, 7]), ValueError, r"v\[1\] is 7, outside a graph of 7 vertices"),
        (([-1], [2]), ValueError, r"u\[0\] is -1"),
        (([0.5], [2]), TypeError, "u has type float64; expected integers"),
    ):
        for ours in OURS.values():
            with pytest.raises(error, match=said):
                ours(graph, pairs)
    with pytest.raises(verify.VerificationError, match="6 floating-point numbers were expected, one per pair"):
        verify.similarity(graph, np.ones(3))
    assert all(len(ours(graph, ([], []))) == 0 for ours in OURS.values())


@pytest.mark.parametrize("name", ["graphblas", "igraph", "networkit"])
def test_peers_agree(name: str) -> None:
    pytest.importorskip(name)
    graph = graphs.load("rmat8")
    ours, theirs = Gasla(graph), make(name, graph)
    for algorithm in ("jaccard", "adamic_adar"):
        if hasattr(theirs, algorithm):
            found = theirs.dense(getattr(theirs, algorithm)())
            np.testing.assert_allclose(found, getattr(ours, algorithm)(), rtol=1e-9)
