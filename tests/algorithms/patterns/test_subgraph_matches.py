"""Where patterns are, and how often, against NetworkX's matcher: all patterns, on all graphs of few vertices."""

from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx.algorithms.isomorphism import GraphMatcher
from scipy.sparse import coo_array, csr_array

import gasla
from gasla import datasets, verify
from gasla.algorithms.patterns import exact_sums, match_counts, matching, subgraph_matches
from gasla.graph.graph import Graph
from tests import oracles
from tests.algorithms.community.test_edge_support import DEVICES, HARD, Edges, on, peer, plain
from tests.algorithms.patterns.test_cliques import complete, random_edges

PATTERNS: dict[str, tuple[int, list[tuple[int, int]]]] = {
    "vertex": (1, []),
    "edge": (2, [(0, 1)]),
    "path": (3, [(0, 1), (1, 2)]),
    "triangle": (3, [(0, 1), (1, 2), (0, 2)]),
    "star": (4, [(2, 0), (2, 1), (2, 3)]),
    "path of four": (4, [(3, 1), (1, 0), (0, 2)]),
    "tailed triangle": (4, [(0, 1), (1, 2), (0, 2), (2, 3)]),
    "cycle": (4, [(0, 1), (1, 2), (2, 3), (3, 0)]),
    "diamond": (4, [(0, 1), (1, 2), (2, 3), (3, 0), (1, 3)]),
    "clique": (4, [(0, 1), (1, 2), (2, 3), (3, 0), (1, 3), (0, 2)]),
}


def matrix(name: str) -> np.ndarray:
    size, edges = PATTERNS[name]
    pattern = np.zeros((size, size), int)
    for u, v in edges:
        pattern[u, v] = pattern[v, u] = 1
    return pattern


def places(graph: nx.Graph, name: str, induced: bool) -> list[tuple[int, ...]]:
    """By NetworkX: of all orders of a place the smallest."""
    pattern = nx.from_numpy_array(matrix(name))
    matcher = GraphMatcher(graph, pattern)
    found = matcher.subgraph_isomorphisms_iter() if induced else matcher.subgraph_monomorphisms_iter()
    rows = [tuple(sorted(match, key=match.__getitem__)) for match in found]
    orders = [[a[v] for v in range(len(a))] for a in GraphMatcher(pattern, pattern).isomorphisms_iter()]
    return sorted({min(tuple(row[v] for v in order) for order in orders) for row in rows})


def check(device: Any, edges: Edges, name: str) -> None:
    graph, other = on(device, edges), peer(*edges)
    for induced in (False, True):
        wanted = places(other, name, induced)
        assert gasla.subgraph_matches(graph, matrix(name), induced=induced, count=True) == len(wanted)
        found: Any = plain(gasla.subgraph_matches(graph, matrix(name), induced=induced))
        assert found.dtype == graph.id_dtype
        assert found.shape == (len(wanted), len(matrix(name)))
        assert sorted(map(tuple, found.tolist())) == wanted


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", PATTERNS)
@settings(max_examples=12)
@given(st.integers(1, 6), st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_patterns_are_found_in_random_graphs(device: Any, name: str, n: int, seed: int, density: float) -> None:
    check(device, random_edges(n, seed, density), name)


@pytest.mark.slow  # 1253 graphs
@pytest.mark.parametrize("name", PATTERNS)
def test_all_graphs_of_up_to_seven_vertices(name: str) -> None:
    for graph in nx.graph_atlas_g()[1:]:
        ends = np.array(graph.edges, int).reshape(-1, 2).T
        check("cpu", (graph.number_of_nodes(), *ends), name)


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", HARD)
def test_hard_shapes_give_right_answers(device: Any, shape: str) -> None:
    """Listed, and counted again by the verifier, which lists all orders of all places; a star has too many of some."""
    graph = on("cpu", HARD[shape])
    for name in PATTERNS:
        for induced in (False, True):
            number: Any = gasla.subgraph_matches(graph.to(device), matrix(name), induced=induced, count=True)
            if number < 10**5:
                found = plain(gasla.subgraph_matches(graph.to(device), matrix(name), induced=induced))
                oracles.subgraph_matches(graph, found, matrix(name), induced)
            else:
                assert (shape, name, number) in [("a star", "path", 499 * 249), ("a star", "star", 499 * 83 * 497)], (
                    number
                )


@pytest.mark.thorough
@settings(max_examples=4)
@given(st.integers(20, 40), st.integers(0, 2**32 - 1), st.floats(0.02, 0.3))
def test_matches_do_not_depend_on_the_size_of_parts(n: int, seed: int, density: float) -> None:
    """Sums in parts, rows in parts, of larger graphs."""
    graph = on("cpu", random_edges(n, seed, density))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(match_counts, "PART", 50)
        patch.setattr(exact_sums, "LARGEST", 1 << 9)
        patch.setattr(matching, "PART", 200)
        for name in ("cycle", "path of four", "tailed triangle", "diamond", "clique"):
            found = gasla.subgraph_matches(graph, matrix(name), induced=seed % 2 == 0)
            oracles.subgraph_matches(graph, found, matrix(name), induced=seed % 2 == 0)


def test_hubs_are_met_from_their_neighbors() -> None:
    """A star has some 10^14 stars of three leaves, which are told, and no cycle, not looked for in its pairs."""
    star = Graph.from_edges(np.zeros(100_000, int), np.arange(1, 100_001))
    leaves = 100_000
    wanted = leaves * (leaves - 1) * (leaves - 2) // 6
    assert gasla.subgraph_matches(star, matrix("star"), count=True) == wanted
    for name in ("cycle", "triangle", "diamond", "clique", "tailed triangle", "path of four"):
        assert gasla.subgraph_matches(star, matrix(name)).shape == (0, len(matrix(name)))  # type: ignore[union-attr]
    with pytest.raises(MemoryError, match=rf"the list has {wanted:,} entries, which take {wanted * 16:,} bytes"):
        gasla.subgraph_matches(star, matrix("star"))


def test_sums_longer_than_integers_of_the_machine() -> None:
    """Of 2^40 · 2^40 and more."""
    assert exact_sums.sum_of_products(np.array([2**40, 3]), np.array([2**40, 2**50])) == 2**80 + 3 * 2**50
    assert exact_sums.sum_of_choices(np.array([10**6] * 3), 4) == 3 * (
        10**6 * (10**6 - 1) * (10**6 - 2) * (10**6 - 3) // 24
    )


@pytest.mark.thorough
def test_the_airport_graph_gives_a_right_answer() -> None:
    """Triangles of all, and every pattern among the hubs, which are joined densely."""
    graph = Graph(datasets.openflights().matrix)
    triangles: Any = gasla.subgraph_matches(graph, matrix("triangle"))
    assert len(triangles) == gasla.triangle_count(graph)
    assert (np.diff(triangles, axis=1) > 0).all()
    hubs = graph.subgraph(np.argsort(-graph.out_degrees, kind="stable")[:40])
    for name in PATTERNS:
        found = gasla.subgraph_matches(hubs, matrix(name), induced=True)
        oracles.subgraph_matches(hubs, found, matrix(name), induced=True)


@pytest.mark.gpu
@pytest.mark.parametrize("name", PATTERNS)
def test_a_gpu_lists_the_same_in_the_same_order(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(match_counts, "PART", 1 << 14)
    monkeypatch.setattr(matching, "PART", 1 << 12)
    graph = Graph(datasets.rmat(6))
    for induced in (False, True):
        rows: Any = gasla.subgraph_matches(graph, matrix(name), induced=induced)
        np.testing.assert_array_equal(
            plain(gasla.subgraph_matches(graph.to("gpu"), matrix(name), induced=induced)), rows
        )
        again = gasla.subgraph_matches(graph.to("gpu"), matrix(name), induced=induced, count=True)
        assert again == len(rows)


def test_patterns_in_any_form() -> None:
    graph = complete(5)
    square = matrix("cycle")
    zeros = coo_array((np.zeros(8), np.nonzero(square)), shape=(4, 4))  # stored, and so edges
    for pattern in (
        square,
        square.astype(bool),
        square * 0.5,
        square.tolist(),
        csr_array(square),
        zeros,
        Graph(csr_array(square)),
    ):
        assert gasla.subgraph_matches(graph, pattern, count=True) == 15
        assert gasla.subgraph_matches(graph, pattern, count=True, induced=True) == 0


def test_more_matches_than_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = complete(5)
    assert len(gasla.subgraph_matches(graph, matrix("cycle"), limit=15)) == 15  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="there are 15 matches, and limit is 14"):
        gasla.subgraph_matches(graph, matrix("cycle"), limit=14)
    with pytest.raises(ValueError, match="limit is -1"):
        gasla.subgraph_matches(graph, matrix("cycle"), limit=-1)
    monkeypatch.setattr(subgraph_matches, "available", lambda device: 100)
    with pytest.raises(MemoryError, match=r"15 entries, which take 240 bytes, and 100 are available; .* count=True"):
        gasla.subgraph_matches(graph, matrix("cycle"))


@pytest.mark.parametrize(
    ("pattern", "error", "words"),
    [
        (np.ones((2, 3)), TypeError, "expected a square matrix"),
        (np.array([["a"]]), TypeError, "expected a square matrix"),
        (np.zeros((0, 0)), ValueError, "has 0 vertices; expected 1 to 8"),
        (np.ones((9, 9)) - np.eye(9), ValueError, "has 9 vertices; expected 1 to 8"),
        ([[0, 1], [0, 0]], ValueError, "has the edge 0 -> 1 and not 1 -> 0; .* or directed=True"),
        ([[0, 1], [1, 1]], ValueError, "vertex 1 of the pattern has a self loop"),
        ([[0, 1, 0], [1, 0, 0], [0, 0, 0]], ValueError, "leads from vertex 0 to 2; expected a connected pattern"),
    ],
)
def test_patterns_that_are_none(pattern: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        gasla.subgraph_matches(complete(3), pattern)


def test_the_verifier_rejects_wrong_matches() -> None:
    graph, square = complete(4), matrix("cycle")
    right: Any = gasla.subgraph_matches(graph, square)
    oracles.subgraph_matches(graph, right, square)
    oracles.subgraph_matches(graph, 3, square)
    wrong = {
        "the pattern is there 3 times, not 2": right[:2],
        "not 4": 4,
        "in another order": right[:, ::-1],
        "a vertex twice": np.array([[0, 1, 2, 1]]),
        "outside 4 vertices": right + 1,
        "which is there twice": np.concatenate([right, right]),
        "rows of 4 integers": right[:, :3],
    }
    for words, matches in wrong.items():
        with pytest.raises(verify.VerificationError, match=words):
            oracles.subgraph_matches(graph, matches, square)
    with pytest.raises(verify.VerificationError, match="are joined"):
        oracles.subgraph_matches(graph, right, square, induced=True)
    with pytest.raises(verify.VerificationError, match="are not joined"):
        oracles.subgraph_matches(Graph.from_edges([0, 1, 2], [1, 2, 3]), right, square)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_all_pairs_of_few_vertices_are_connected_patterns_or_refused(count: int) -> None:
    """Every labelled graph: either it is one of the patterns, or it is said what is wrong."""
    pairs = list(combinations(range(count), 2))
    graph = complete(6)
    for chosen in range(2 ** len(pairs)):
        pattern = np.zeros((count, count), int)
        for bit, (u, v) in enumerate(pairs):
            pattern[u, v] = pattern[v, u] = chosen >> bit & 1
        if nx.is_connected(nx.from_numpy_array(pattern)):
            found: Any = gasla.subgraph_matches(graph, pattern)
            assert len(found) == gasla.subgraph_matches(graph, pattern, count=True)
        else:
            with pytest.raises(ValueError, match="expected a connected pattern"):
                gasla.subgraph_matches(graph, pattern)
