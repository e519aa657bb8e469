"""Directed patterns against NetworkX's matcher; patterns as text; and patterns that are refused."""

from itertools import pairwise, permutations
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx.algorithms.isomorphism import DiGraphMatcher
from scipy.sparse import csr_array

import gasla
from gasla.algorithms.patterns import exact_sums, match_counts, matching, pattern_text
from gasla.algorithms.patterns.pattern import MOST, Pattern
from gasla.graph.graph import Graph
from tests import oracles
from tests.algorithms.community.test_edge_support import DEVICES, HARD, Edges, on, plain
from tests.algorithms.patterns.test_cliques import random_edges

# Trees, cycles of every direction, edges both ways, and all else of four vertices that is likely to differ.
PATTERNS = [
    *("0>1", "0>1,1>0", "0>1,1>2", "0>1,2>1", "1>0,1>2", "0>1,1>0,1>2", "0>1,1>2,2>0", "0>1,1>2,0>2"),
    *("0>1,1>0,1>2,2>0", "0>1,1>0,1>2,2>1,2>0,0>2", "0>1,1>2,2>3", "0>1,2>1,2>3", "0>1,0>2,0>3", "1>0,2>0,3>0"),
    *("0>1,0>2,3>0", "0>1,1>0,0>2,3>0", "0>1,1>0,1>2,2>1,2>3", "0>1,1>2,2>3,3>0", "0>1,0>2,1>3,2>3"),
    *("0>2,0>3,1>2,1>3", "0>1,1>2,2>0,2>3", "0>1,1>2,2>3,3>0,0>2", "0>1,0>2,0>3,1>2,1>3,2>3"),
    *("0>1,1>2,2>0,0>3,1>3,2>3", "0>1,1>0,1>2,2>3,3>0,3>2"),
]


def matrix(text: str) -> np.ndarray:
    size, pairs, _ = pattern_text.read(text, False, MOST)
    found = np.zeros((size, size), int)
    for u, v in pairs:
        found[u, v] = 1
    return found


def peer(n: int, src: np.ndarray, dst: np.ndarray) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from((u, v) for u, v in zip(src.tolist(), dst.tolist()) if u != v)
    return graph


def places(graph: nx.DiGraph, pattern: nx.DiGraph, induced: bool) -> list[tuple[int, ...]]:
    """By NetworkX: of all orders of a place the smallest."""
    matcher = DiGraphMatcher(graph, pattern)
    found = matcher.subgraph_isomorphisms_iter() if induced else matcher.subgraph_monomorphisms_iter()
    rows = [tuple(sorted(match, key=match.__getitem__)) for match in found]
    orders = [[a[v] for v in range(len(a))] for a in DiGraphMatcher(pattern, pattern).isomorphisms_iter()]
    return sorted({min(tuple(row[v] for v in order) for order in orders) for row in rows})


def check(device: Any, edges: Edges, pattern: Any, given: np.ndarray) -> None:
    graph, other = on(device, edges), peer(*edges)
    for induced in (False, True):
        wanted = places(other, nx.from_numpy_array(given, create_using=nx.DiGraph), induced)
        options = {"induced": induced, "directed": not isinstance(pattern, str)}
        assert gasla.subgraph_matches(graph, pattern, count=True, **options) == len(wanted)
        found: Any = plain(gasla.subgraph_matches(graph, pattern, **options))  # type: ignore[arg-type]
        assert found.dtype == graph.id_dtype
        assert found.shape == (len(wanted), len(given))
        assert sorted(map(tuple, found.tolist())) == wanted


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("text", PATTERNS)
@settings(max_examples=6)
@given(st.integers(1, 7), st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_named_patterns_are_found_in_random_graphs(device: Any, text: str, n: int, seed: int, density: float) -> None:
    check(device, random_edges(n, seed, density), text, matrix(text))


@pytest.mark.thorough
@settings(max_examples=200)
@given(st.integers(1, 4), st.integers(0, 2**32 - 1), st.floats(0.2, 1), st.integers(1, 7), st.floats(0, 1))
def test_random_patterns_are_found_in_random_graphs(k: int, seed: int, some: float, n: int, density: float) -> None:
    _, src, dst = random_edges(k, seed, some)
    pattern = np.zeros((k, k), int)
    pattern[src, dst] = src != dst
    if nx.is_weakly_connected(nx.from_numpy_array(pattern, create_using=nx.DiGraph)):
        check("cpu", random_edges(n, seed + 1, density), pattern, pattern)


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", HARD)
def test_hard_shapes_give_right_answers(device: Any, shape: str) -> None:
    """A star has too many places of some patterns to be listed."""
    graph = on("cpu", HARD[shape])
    for text in PATTERNS:
        given = matrix(text)
        for induced in (False, True):
            if (shape, len(given), induced) == ("a star", 4, True):
                continue  # enumerated
            number: Any = gasla.subgraph_matches(graph.to(device), text, induced=induced, count=True)
            if number < 10**5:
                found = plain(gasla.subgraph_matches(graph.to(device), text, induced=induced))  # type: ignore[arg-type]
                oracles.subgraph_matches(graph, found, given, induced, directed=True)
            else:
                assert (shape, text, number) in [
                    ("a star", "1>0,1>2", 499 * 249),
                    ("a star", "0>1,0>2,0>3", 499 * 83 * 497),
                ]


@pytest.mark.thorough
@settings(max_examples=4)
@given(st.integers(20, 40), st.integers(0, 2**32 - 1), st.floats(0.02, 0.3))
def test_counts_do_not_depend_on_the_size_of_parts(n: int, seed: int, density: float) -> None:
    graph = on("cpu", random_edges(n, seed, density))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact_sums, "LARGEST", 1 << 9)
        patch.setattr(match_counts, "PART", 50)
        patch.setattr(matching, "PART", 200)
        for text in ("0>1,1>2,2>3,3>0", "0>1,1>2,2>3", "0>1,0>2,3>0", "0>1,1>2,2>0,2>3", "0>1,0>2,1>3,2>3"):
            found = gasla.subgraph_matches(graph, text, induced=seed % 2 == 0)
            oracles.subgraph_matches(graph, found, matrix(text), seed % 2 == 0, directed=True)


def test_hubs_are_counted_and_passed() -> None:
    """A hub with 10^5 edges in and 3 edges out has few cycles, and some 10^20 places of stars."""
    leaves = 100_000
    src = np.r_[np.arange(1, leaves + 1), np.zeros(3, int)]
    dst = np.r_[np.zeros(leaves, int), [1, leaves + 1, leaves + 2]]
    hub = Graph.from_edges(src, dst)
    assert gasla.subgraph_matches(hub, "0>1,1>2,2>0,2>3", count=True) == 0
    assert gasla.subgraph_matches(hub, "0>1,1>2,2>3,3>0").shape == (0, 4)  # type: ignore[union-attr]
    assert gasla.subgraph_matches(hub, "1>0,2>0,3>0", count=True) == leaves * (leaves - 1) * (leaves - 2) // 6
    assert gasla.subgraph_matches(hub, "0>1,1>2", count=True) == leaves * 3 - 1
    assert gasla.subgraph_matches(hub, "0>1,1>0").tolist() == [[0, 1]]  # type: ignore[union-attr]
    assert len(gasla.subgraph_matches(hub, "0>1,1>2")) == leaves * 3 - 1  # type: ignore[arg-type]


def test_sums_longer_than_integers_of_the_machine() -> None:
    factors = np.array([2**40, 3, 0]), np.array([2**40, 2**50, 7]), np.array([2, 1, 5])
    assert exact_sums.sum_of_products(*factors) == 2**81 + 3 * 2**50


@pytest.mark.gpu
@pytest.mark.parametrize("text", PATTERNS)
def test_a_gpu_lists_the_same_in_the_same_order(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "PART", 1 << 12)
    graph = Graph(gasla.datasets.rmat(6))
    for induced in (False, True):
        rows: Any = gasla.subgraph_matches(graph, text, induced=induced)
        found: Any = gasla.subgraph_matches(graph.to("gpu"), text, induced=induced)
        np.testing.assert_array_equal(plain(found), rows)


# --- patterns as text -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "graph"),
    [
        *(("edge", nx.path_graph(2)), ("path3", nx.path_graph(3)), ("path4", nx.path_graph(4))),
        *(("triangle", nx.cycle_graph(3)), ("cycle3", nx.cycle_graph(3)), ("cycle4", nx.cycle_graph(4))),
        *(("star2", nx.star_graph(2)), ("star3", nx.star_graph(3)), ("clique4", nx.complete_graph(4))),
        *(("diamond", nx.diamond_graph()), ("paw", nx.Graph([(0, 1), (1, 2), (0, 2), (2, 3)]))),
    ],
)
def test_names_are_those_of_networkx(name: str, graph: nx.Graph) -> None:
    pattern = nx.DiGraph([*Pattern.of(name).edges])
    assert nx.is_isomorphic(pattern, graph.to_directed())
    assert name in pattern_text.names(MOST)


@pytest.mark.parametrize(
    ("name", "graph"),
    [
        *(("edge", [(0, 1)]), ("cycle2", [(0, 1), (1, 0)]), ("cycle4", [*pairwise((0, 1, 2, 3, 0))])),
        *(("path4", [*pairwise(range(4))]), ("star3", [(0, 1), (0, 2), (0, 3)])),
    ],
)
def test_names_with_directions(name: str, graph: list[tuple[int, int]]) -> None:
    assert Pattern.of(name, directed=True).edges == {*graph}


def test_text_and_matrices_agree() -> None:
    n, src, dst = random_edges(12, 5, 0.3)
    graph = Graph.from_edges(src, dst, n=n)
    ring = np.roll(np.eye(3, dtype=bool), 1, axis=1)
    wanted = gasla.subgraph_matches(graph, "0>1, 1>2, 2>0")
    for form in (ring, ring * 0.5, ring.tolist(), csr_array(ring), Graph(csr_array(ring)), "cycle3"):
        np.testing.assert_array_equal(gasla.subgraph_matches(graph, form, directed=True), wanted)
    twice = gasla.subgraph_matches(graph, "0>1,1>2,2>0,0>1")  # a parallel edge counts once
    np.testing.assert_array_equal(twice, wanted)
    both = gasla.subgraph_matches(graph, "0-1,1-0,1-2")
    np.testing.assert_array_equal(both, gasla.subgraph_matches(graph, "path3"))


@pytest.mark.parametrize(
    ("pattern", "directed", "words"),
    [
        *(("triangel", False, "did you mean 'triangle'"), ("", False, "pattern is ''; expected edges")),
        *(("0>1>2", False, "expected edges"), ("0-4000", False, "expected edges"), ("0 1", False, "expected edges")),
        *(("clique9", False, "clique9, of 9 vertices; expected 2 to 8"), ("path1", False, "expected 2 to 8 behind")),
        *(("star8", True, "star8, of 9 vertices; expected 2 to 7"), ("cycle2", False, "expected 3 to 8")),
        *(("diamond", True, "'diamond', which has no directed form"), ("clique3", True, "no directed form")),
        *(("0-1,1>2", False, "edges of both kinds"), ("0-1", True, "expected directed edges")),
        *(("0>0", False, "vertex 0 of the pattern has a self loop"), ("0-1,1-1", False, "vertex 1 .* self loop")),
        *(("0>1,2>3", False, "leads from vertex 0 to 2; expected a connected"), ("0>2", False, "from vertex 0 to 1")),
        *(
            (",".join(f"{v}>{v + 1}" for v in range(8)), False, "the pattern has 9 vertices; expected 1 to 8"),
            ("0-999", False, "1000 vertices"),
        ),
    ],
)
def test_text_that_is_no_pattern(pattern: str, directed: bool, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        gasla.subgraph_matches(Graph.from_edges([0], [1]), pattern, directed=directed)


def test_a_large_matrix_is_refused_by_its_size() -> None:
    large = Graph.from_edges([0], [1], n=10**6)
    with pytest.raises(ValueError, match="has 1000000 vertices; expected 1 to 8"):
        gasla.subgraph_matches(large, large, directed=True)


def test_more_matches_than_the_limit_are_refused() -> None:
    ring = Graph.from_edges([0, 1, 2], [1, 2, 0])
    with pytest.raises(ValueError, match="there are 3 matches, and limit is 2"):
        gasla.subgraph_matches(ring, "0>1,1>2", limit=2)


@pytest.mark.parametrize("size", [2, 3])
def test_every_directed_graph_is_a_pattern_that_finds_itself(size: int) -> None:
    pairs = [*permutations(range(size), 2)]
    for chosen in range(2 ** len(pairs)):
        edges = [pair for bit, pair in enumerate(pairs) if chosen >> bit & 1]
        graph = nx.DiGraph(edges)
        if len(graph) == size and nx.is_weakly_connected(graph):
            text = ",".join(f"{u}>{v}" for u, v in edges)
            found: Any = gasla.subgraph_matches(Graph.from_edges(*zip(*edges)), text, induced=True)
            assert [set(row) for row in found.tolist()] == [set(range(size))]
