"""The best k of many personalized PageRanks are those of the whole ranks, whatever is left out."""

import re
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import gasla
import semirings
from gasla import Graph, engines
from tests.algorithms.community.test_edge_support import DEVICES, HARD, on
from tests.helpers.law import NO_EDGE, SHARED, Asked, Row, host


def asked(q: Asked) -> dict[str, Any]:
    """The ranks alone, as equal ones may be those of other vertices. NumPy can't run the program of several ranks."""
    with engines._within(engines._interprets, False):
        found = gasla.top_k_pagerank(q.given, [q.v(0), [q.v(1), q.v(2)]], 4, known=True, tol=1e-12, max_iter=1000)
    return {"ranks": host(found.ranks)}


LAWS = [Row("top_k_pagerank", asked, weights=True, zeros=NO_EDGE, split=SHARED, rtol=1e-7)]


def expected(graph: Graph, sources: list[Any], k: int, known: bool, among: Any) -> tuple[list[list[int]], np.ndarray]:
    """By a whole ranking, by NumPy."""
    vertices, best = [], np.zeros((len(sources), k))
    for row, source in enumerate(sources):
        start = source if isinstance(source, dict) else dict.fromkeys(np.atleast_1d(source).tolist(), 1.0)
        ranks = gasla.pagerank(graph, personalization=start, nstart=start, tol=1e-13, max_iter=1000).ranks.copy()
        if not known:
            ranks[[v for v, weight in start.items() if weight]] = 0
            for v in start:
                ranks[graph.out.row(v)] = 0
        if among is not None:
            ranks[np.setdiff1d(np.arange(graph.n), among)] = 0
        order = np.argsort(-ranks, kind="stable")[:k]
        best[row, : len(order)] = ranks[order]
        vertices.append([int(v) if ranks[v] > 0 else -1 for v in order])
    return vertices, best


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 12), st.integers(0, 40), st.integers(0, 5), st.booleans(), st.integers(0, 10**6))
def test_the_best_of_whole_ranks(n: int, m: int, k: int, known: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    graph = Graph.from_edges(*random.integers(0, n, (2, m)), random.random(m) + 0.1, n=n)
    sources = [0, [n - 1, 0], {n // 2: 2.0, 0: 1.0}, *random.integers(0, n, 8).tolist()]
    among = None if seed % 2 else np.flatnonzero(random.random(n) < 0.7)
    found = gasla.top_k_pagerank(graph, sources, k, known=known, among=among, tol=1e-13, max_iter=1000)
    _, ranks = expected(graph, sources, k, known, among)
    assert found.vertices.shape == found.ranks.shape == (len(sources), k) and found.converged
    np.testing.assert_allclose(found.ranks, ranks, rtol=1e-7, atol=1e-11)
    for source, row in zip(sources, found.vertices.tolist(), strict=True):
        chosen = [v for v in row if v >= 0]
        assert len({*chosen}) == len(chosen) and (among is None or {*chosen} <= {*among.tolist()})
        own = [*source] if isinstance(source, dict | list) else [source]
        assert known or not {*chosen} & ({*own} | {v for u in own for v in graph.out.row(u).tolist()})


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", HARD)
def test_hard_shapes(device: Any, shape: str) -> None:
    graph = on(device, HARD[shape])
    found = gasla.top_k_pagerank(graph, list(range(min(graph.n, 3))), graph.n + 2, known=True)
    assert found.vertices.shape == (min(graph.n, 3), graph.n + 2)
    np.testing.assert_allclose(np.asarray(found.ranks.sum(axis=1).tolist()), 1, rtol=1e-6)
    assert gasla.top_k_pagerank(graph, [], 3).vertices.shape == (0, 3)


def test_vertices_of_equal_rank_are_in_order_of_their_ids() -> None:
    star = Graph.from_edges(np.zeros(6, int), [3, 1, 2, 5, 6, 4], n=9).symmetrized()
    assert gasla.top_k_pagerank(star, [0], 4, known=True).vertices.tolist() == [[0, 1, 2, 3]]
    assert gasla.top_k_pagerank(star, [1], 9).vertices.tolist() == [[2, 3, 4, 5, 6, -1, -1, -1, -1]]


def test_names_are_sources() -> None:
    graph = Graph.from_networkx(nx.Graph([("ann", "tea"), ("bob", "tea"), ("bob", "rum"), ("cem", "rum")]))
    found = gasla.top_k_pagerank(graph, ["ann", ["ann", "cem"]], 1, among=["tea", "rum"])
    assert graph.name(found.vertices).tolist() == [["rum"], [None]]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_edges_from_one_side_to_the_other_are_followed_both_ways(turned: bool, weighted: bool) -> None:
    table = pa.table({"user": ["ann", "ann", "bob", "bob"], "film": ["Dune", "Alien", "Alien", "Jaws"]})
    graph = Graph.from_table(table.append_column("weight", pa.array([1.0, 2.0, 3.0, 4.0])), bipartite=True)
    graph = graph.reversed() if turned else graph
    both = graph.symmetrized(semirings.max)
    for sources in ([0, 1], [2], [{0: 1.0, 4: 2.0}], ["user bob"]):
        found, expected = (gasla.top_k_pagerank(each, sources, 2, weighted=weighted) for each in (graph, both))
        assert np.array_equal(found.vertices, expected.vertices)
        np.testing.assert_allclose(found.ranks, expected.ranks, rtol=1e-5)
    assert graph.name(gasla.top_k_pagerank(graph, ["user ann"], 1).vertices).tolist() == [["film Jaws"]]


def test_users_of_a_bipartite_graph_are_recommended_items() -> None:
    matrix = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]])
    bought = Graph.from_bipartite(csr_array(matrix)).symmetrized(semirings.max)
    assert gasla.top_k_pagerank(bought, [0, [0, 1], 3], 9).vertices[:, :3].tolist() == [
        [5, 6, -1],
        [6, -1, -1],
        [1, 2, -1],
    ]
    assert gasla.top_k_pagerank(bought, [[0, 3]], 9).vertices[0, :5].tolist() != [-1] * 5  # of both sides
    limited = gasla.top_k_pagerank(bought, [0], 9, among=[1, 2])
    assert {*limited.vertices[0].tolist()} == {1, 2, -1}


def test_memory_does_not_grow_with_the_number_of_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most nine distributions are alive at a time."""
    from gasla.algorithms.centrality import top_k_pagerank as module

    made = []
    monkeypatch.setattr(module, "distribution", lambda *given, was=module.distribution: made.append(1) or was(*given))
    batches, sizes = module.batches, []

    def counted(*given: Any) -> Any:
        for rows, ranks, found in batches(*given):
            sizes.append((ranks.shape, len(made)))
            made.clear()
            yield rows, ranks, found

    monkeypatch.setattr(module, "batches", counted)
    gasla.top_k_pagerank(Graph.from_edges([0, 1], [1, 0]), [0, 1] * 20, 1, known=True)
    assert {shape for shape, _ in sizes} == {(8, 2)} and max(count for _, count in sizes) <= 18


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "one source": ({"sources": "ann"}, "sources is 'ann'; expected several personalizations"),
    "a number": ({"sources": 3}, "sources is 3; expected several personalizations"),
    "outside": ({"sources": [0, 7]}, "sources: vertex 7 is outside a graph of 3 vertices"),
    "no weight": ({"sources": [{0: 0.0}]}, "sources has only zeros"),
    "none": ({"sources": [[]]}, "sources"),
    "k": ({"k": -1}, "k is -1; expected 0 or more"),
    "among": ({"among": [5]}, "among has vertex 5, outside a graph of 3 vertices"),
    "known": ({"known": 1}, "known is 1; expected True or False"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_refused(case: str) -> None:
    options, message = WRONG[case]
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        gasla.top_k_pagerank(Graph.from_edges([0, 1], [1, 2]), **{"sources": [0], **options})
