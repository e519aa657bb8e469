"""Maximum matchings of bipartite graphs: as large as SciPy's and NetworkX's, on hard shapes, and what is refused."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching as of_scipy

import gasla
from gasla import verify
from gasla.arrays import moved
from gasla.verify import VerificationError

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]


def check(graph: gasla.Graph, left: Any, device: Any = "cpu") -> Any:
    """Verify the matching of a graph; `left` are the vertices of one side."""
    mates = moved(gasla.maximum_bipartite_matching(graph.to(device)), "cpu")
    verify.maximum_bipartite_matching(graph, mates)
    src, dst = graph.edges()
    is_left = np.isin(np.arange(graph.n), left)
    src, dst = np.where(is_left[src], src, dst), np.where(is_left[src], dst, src)
    matrix: Any = csr_array(coo_array((np.ones(len(src)), (src, dst)), shape=(graph.n, graph.n)))
    assert (mates >= 0).sum() == 2 * (of_scipy(matrix) >= 0).sum()
    return mates


def drawn(rows: int, columns: int, m: int, seed: int, both: bool = False) -> gasla.Graph:
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, rows, m), rows + rng.integers(0, columns, m)
    flip = rng.random(m) < 0.5
    src, dst = np.where(flip, dst, src), np.where(flip, src, dst)
    if both:
        src, dst = np.r_[src, dst], np.r_[dst, src]
    return gasla.Graph.from_edges(src, dst, n=rows + columns)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 30), st.integers(0, 10**6), st.booleans())
def test_matchings_are_as_large_as_scipys(rows: int, columns: int, m: int, seed: int, both: bool) -> None:
    check(drawn(rows, columns, m, seed, both), np.arange(rows))


@pytest.mark.thorough
@settings(max_examples=30, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 20), st.integers(0, 10**6))
def test_the_interpreter_finds_matchings_as_large(rows: int, columns: int, m: int, seed: int) -> None:
    with gasla.engines.interpreted():
        check(drawn(rows, columns, m, seed), np.arange(rows))


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("degree", [1, 2, 3, 8])
def test_large_matchings(degree: int, device: Any) -> None:
    check(drawn(3000, 2900, 3000 * degree, degree), np.arange(3000), device)


def test_long_augmenting_paths() -> None:
    """Chains of which a greedy matching takes the wrong edges."""
    n = 400
    path = np.arange(n - 1)
    assert (check(gasla.Graph.from_edges(path, path + 1), path[::2]) >= 0).all()
    rng = np.random.default_rng(0)
    names = rng.permutation(n)
    shuffled = gasla.Graph.from_edges(names[path], names[path + 1])
    assert (check(shuffled, names[::2]) >= 0).all()


SHAPES = {
    "no vertex": ([], [], 0),
    "no edge": ([], [], 4),
    "star": ([0] * 5, range(1, 6), 6),
    "parallel edges in both directions": ([0, 1, 0, 0], [1, 0, 1, 3], 4),
    "components whose sides are the other way round": ([5, 5, 0, 2], [0, 1, 3, 4], 7),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_hard_shapes_have_matchings(shape: str, device: Any) -> None:
    src, dst, n = SHAPES[shape]
    graph = gasla.Graph.from_edges(np.array(src, int), np.array(dst, int), n=n)
    left = [v for v, color in nx.bipartite.color(nx.Graph(graph.to_networkx())).items() if color] if n else []
    check(graph, left, device)


def test_matchings_of_a_matrix_in_wide_and_unsorted_lists() -> None:
    A = csr_array(
        (np.ones(4), np.array([4, 3, 3, 5], np.int64), np.array([0, 2, 3, 4, 4, 4, 4], np.int64)), shape=(6, 6)
    )
    assert (check(gasla.Graph(A), [0, 1, 2]) >= 0).all()


def test_odd_cycles_and_loops_are_refused() -> None:
    for edges in (([0, 1, 2], [1, 2, 0]), ([0, 1], [1, 1])):
        with pytest.raises(ValueError, match="the graph is not bipartite: the component of vertex 0 has an odd cycle"):
            gasla.maximum_bipartite_matching(gasla.Graph.from_edges(*edges))


def test_the_verifier_rejects_wrong_matchings() -> None:
    graph = gasla.Graph.from_edges([0, 1, 2], [1, 2, 3])
    for mates, words in (
        ([-1, 2, 1, -1], "an augmenting path leads to vertex"),
        ([3, 2, 1, 0], "vertex 0 has the mate 3, which is not its neighbor"),
    ):
        with pytest.raises(VerificationError, match=words):
            verify.maximum_bipartite_matching(graph, mates)
