"""Walks and samples: against walkers in plain Python that draw the same lots, and by chi-square tests."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import chisquare

import gasla
from gasla import datasets, verify
from gasla.graph.graph import Graph
from semirings import hash as hashed
from semirings import random

CASES = [{"weighted": False}, {"weighted": True}]


def use_threads(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr("gasla.cpu.runtime.blocks.SMALL", 0)
    monkeypatch.setattr("gasla.cpu.runtime.blocks.num_threads", lambda: count)


def walker(graph: Graph, w: int, start: int, length: int, seed: int, weighted: bool) -> list[int]:
    """Where one walker is, by Python's whole numbers and NumPy's sums."""
    indptr, indices, weights = graph.out.indptr, graph.out.indices, graph.out_values
    walk = [start]
    for t in range(length):
        v = walk[-1]
        first, last = (0, 0) if v < 0 else indptr[v : v + 2]
        if weighted and weights is not None:
            sums = np.cumsum(weights[first:last].astype(np.float64))
            k = np.searchsorted(sums, random(seed, w, t, 0) * sums[-1], "right") if sums.any() else last - first
        else:
            k = int(hashed(seed, w, t, 0)) * int(last - first) >> 64
        walk.append(int(indices[first + k]) if first + k < last else -1)
    return walk


def sampled(graph: Graph, i: int, v: int, k: int, seed: int, replace: bool) -> list[int]:
    """A row of a sample."""
    stored = graph.out.indices[graph.out.indptr[v] : graph.out.indptr[v + 1]].tolist()
    degree, chosen = len(stored), list[int]()
    count = k * (degree > 0) if replace else min(k, degree)
    for j in range(count):
        top = degree if replace else degree - count + j + 1
        drawn = int(hashed(seed, i, j)) * top >> 64
        chosen.append(top - 1 if not replace and drawn in chosen else drawn)
    return [stored[c] for c in chosen] + [-1] * (k - count)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Directed, with loops, parallel edges, dead ends, weights of 0; of either type of ids."""
    n = draw(st.integers(1, 9))
    ends = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(ends, ends), max_size=30))
    kind = draw(st.sampled_from([np.int32, np.int64]))
    src, dst = np.array(edges, kind).reshape(-1, 2).T
    weights = draw(st.none() | st.lists(st.integers(0, 3), min_size=len(edges), max_size=len(edges)))
    made = Graph.from_edges(src, dst, None if weights is None else np.array(weights, np.float32), n=n)
    return Graph.from_csr(made.out.indptr.astype(kind), made.out.indices, made.out_values)


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@given(graphs(), st.integers(-(2**63), 2**64 - 1), st.booleans(), st.data())
def test_walks_are_those_of_plain_walkers(graph: Graph, seed: int, weighted: bool, data: st.DataObject) -> None:
    starts = data.draw(st.lists(st.integers(0, graph.n - 1), max_size=5))
    length = data.draw(st.integers(0, 7))
    walks = gasla.random_walks(graph, starts, length, weighted=weighted, seed=seed)
    assert walks.shape == (len(starts), length + 1) and walks.dtype == graph.id_dtype
    word = np.uint64(seed % 2**64)
    expected = [walker(graph, w, s, length, word, weighted) for w, s in enumerate(starts)]
    assert walks.tolist() == expected
    verify.random_walks(graph, starts, walks, weighted=weighted)
    np.testing.assert_array_equal(gasla.node2vec_walks(graph, starts, length, weighted=weighted, seed=seed), walks)
    verify.random_walks(
        graph, starts, gasla.node2vec_walks(graph, starts, length, p=0.1, q=5, weighted=weighted), weighted=weighted
    )


@settings(max_examples=60, deadline=None)
@given(graphs(), st.integers(0, 2**64 - 1), st.booleans(), st.integers(0, 6), st.data())
def test_samples_are_those_of_plain_draws(graph: Graph, seed: int, replace: bool, k: int, data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(0, graph.n - 1), max_size=5))
    found = gasla.sample_neighbors(graph, ids, k, seed=seed, replace=replace)
    assert found.shape == (len(ids), k) and found.dtype == graph.id_dtype
    assert found.tolist() == [sampled(graph, i, v, k, seed, replace) for i, v in enumerate(ids)]
    verify.sample_neighbors(graph, ids, k, found, replace=replace)


CALLS: dict[str, Callable[[Graph, Any], Any]] = {
    "uniform": lambda graph, ids: gasla.random_walks(graph, ids, 9, seed=5),
    "weighted": lambda graph, ids: gasla.random_walks(graph, ids, 9, weighted=True, seed=5),
    "node2vec": lambda graph, ids: gasla.node2vec_walks(graph, ids, 9, p=4, q=0.5, seed=5),
    "node2vec, weighted": lambda graph, ids: gasla.node2vec_walks(graph, ids, 9, p=0.2, q=9, weighted=True, seed=5),
    "sample": lambda graph, ids: gasla.sample_neighbors(graph, ids, 5, seed=5),
    "sample, replaced": lambda graph, ids: gasla.sample_neighbors(graph, ids, 5, seed=5, replace=True),
}


@pytest.mark.parametrize("call", CALLS)
def test_any_number_of_threads_and_of_walkers(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph(datasets.rmat(9))
    ids = np.random.default_rng(1).integers(0, graph.n, 1000)
    expected = CALLS[call](graph, ids)
    use_threads(monkeypatch, 2)
    np.testing.assert_array_equal(CALLS[call](graph, ids), expected)
    np.testing.assert_array_equal(CALLS[call](graph, ids[:100]), expected[:100])


def likely(counts: np.ndarray, shares: np.ndarray) -> bool:
    """Whether counts are what such shares give, and nothing where those are 0."""
    assert not counts[shares == 0].any()
    some = shares > 0
    return bool(chisquare(counts[some], counts.sum() * shares[some] / shares.sum()).pvalue > 1e-3)


DENSE = np.array([[0, 3, 1, 0, 2], [1, 0, 0, 4, 0], [2, 5, 1, 0, 1], [0, 1, 0, 0, 7], [3, 0, 1, 2, 0]], np.float64)


@pytest.mark.parametrize("weighted", [False, True])
def test_steps_are_fair(weighted: bool) -> None:
    graph, starts = Graph(csr_array(DENSE)), np.repeat(np.arange(5), 4000)
    walks = gasla.random_walks(graph, starts, 3, weighted=weighted, seed=11)
    wanted = DENSE if weighted else (DENSE > 0).astype(float)
    for before, after in pairwise(walks.T):
        for v in range(5):
            assert likely(np.bincount(after[before == v], minlength=5), wanted[v])


@pytest.mark.parametrize("spread", [0, 0.5, 12])
def test_draws_by_weight_are_where_sums_first_exceed_them(spread: float) -> None:
    """Whether weights are alike, so that draws fall on the bounds of shares, or one outweighs all others."""
    weights = np.exp(spread * np.random.default_rng(3).standard_normal(999))
    weights[::7] = 0
    graph = Graph.from_edges(np.zeros(999, int), np.arange(999)[::-1], weights)
    sums = np.cumsum(graph.out_values)
    walks = gasla.random_walks(graph, np.zeros(9000, int), 1, weighted=True, seed=8)
    drawn = np.searchsorted(sums, random(8, np.arange(9000), 0, 0) * sums[-1], "right")
    np.testing.assert_array_equal(walks[:, 1], graph.out.indices[drawn])


@pytest.mark.parametrize("exponent", [-300, -900, -1070, 900])
def test_walks_do_not_depend_on_the_scale_of_weights(exponent: int) -> None:
    """Even where each draw is refused and all edges are weighed: `accept` is 10⁻¹⁰⁰ of its bound."""
    A = datasets.rmat(6).copy()
    A.data = np.arange(len(A.data)) % 3 + 1.0
    scaled = A.copy()
    scaled.data = np.ldexp(A.data, exponent)
    for p, q in ((1e-100, 1.0), (1e100, 1e100), (1.0, 1.0)):
        walks, same = (gasla.node2vec_walks(B, range(64), 5, p=p, q=q, weighted=True, seed=1) for B in (A, scaled))
        assert (walks == same).all()
        assert ((walks[:, -1] >= 0) == (walks[:, 1] >= 0)).all()  # edges lead both ways
    samples = (gasla.sample_neighbors(B, range(64), 3, weighted=True, seed=1) for B in (A, scaled))
    assert (next(samples) == next(samples)).all()


def test_parallel_edges_loops_and_zeros_count() -> None:
    graph = Graph.from_edges([0, 0, 0, 0, 0], [1, 1, 1, 0, 2], [1.0, 1.0, 0.0, 2.0, 0.0], n=3)
    starts = np.zeros(8000, int)
    plain = gasla.random_walks(graph, starts, 1)[:, 1]
    assert likely(np.bincount(plain, minlength=3), np.array([1, 3, 1]))
    heavy = gasla.random_walks(graph, starts, 1, weighted=True)[:, 1]
    assert likely(np.bincount(heavy, minlength=3), np.array([2, 2, 0]))


@pytest.mark.parametrize(("p", "q"), [(1, 1), (0.25, 4), (4, 0.25), (1e4, 1), (1, 1e4), (1e4, 1e4), (1e-4, 1)])
@pytest.mark.parametrize("weighted", [False, True])
def test_second_steps_are_fair(p: float, q: float, weighted: bool) -> None:
    """Also where draws are refused again and again, and all edges are weighed."""
    graph, starts = Graph(csr_array(DENSE)), np.repeat(np.arange(5), 4000)
    walks = gasla.node2vec_walks(graph, starts, 2, p=p, q=q, weighted=weighted, seed=12)
    weights = DENSE if weighted else (DENSE > 0).astype(float)
    for u, v in np.argwhere(DENSE > 0):
        bias = np.where(DENSE[u] > 0, 1, 1 / q)
        bias[u] = 1 / p
        shares = weights[v] * bias
        counts = np.bincount(walks[(walks[:, 0] == u) & (walks[:, 1] == v), 2], minlength=5)
        rare = shares < 1e-2 * shares.sum()  # too few for the test
        assert counts[rare & (shares > 0)].sum() <= 40 and not counts[shares == 0].any()
        assert (~rare).sum() == 1 or likely(counts[~rare], shares[~rare])


def test_networkx_agrees_on_what_is_near() -> None:
    """Never off, nor back, where others are near: walks with such p and q stay in triangles."""
    import networkx as nx

    graph = nx.karate_club_graph()
    walks = gasla.node2vec_walks(nx.to_scipy_sparse_array(graph), range(34), 6, p=1e90, q=1e90, seed=3)
    for a, b, c in zip(walks[:, :-2].ravel(), walks[:, 1:-1].ravel(), walks[:, 2:].ravel()):
        common = set(nx.common_neighbors(graph, a, b))
        assert c in common if common else c in graph[b]


@pytest.mark.parametrize("replace", [False, True])
def test_samples_are_fair(replace: bool) -> None:
    graph = Graph.from_edges(np.zeros(7, int), np.arange(1, 8))
    found = gasla.sample_neighbors(graph, np.zeros(6000, int), 3, seed=2, replace=replace)
    assert likely(np.bincount(found.ravel(), minlength=8), np.append(0, np.ones(7)))
    sets = np.unique(np.sort(found, axis=1), axis=0, return_counts=True)[1]
    if replace:
        assert len(sets) == 84  # multisets
    else:
        assert len(sets) == 35 and chisquare(sets).pvalue > 1e-3


def test_draws_do_not_depend_on_each_other() -> None:
    """Of walkers beside each other, of steps, of seeds."""
    graph = Graph.from_edges(np.repeat(np.arange(4), 4), np.tile(np.arange(4), 4))
    walks = [gasla.random_walks(graph, np.zeros(3000, int), 4, seed=s)[:, 1:] for s in (0, 1)]
    pairs = [(walks[0][1:], walks[0][:-1]), (walks[0][:, 1:], walks[0][:, :-1]), (walks[0], walks[1])]
    for one, other in pairs:
        assert chisquare(np.bincount((4 * one + other).ravel(), minlength=16)).pvalue > 1e-3


def test_hard_shapes_give_right_answers() -> None:
    empty = Graph.from_edges([], [], n=0)
    assert gasla.random_walks(empty, [], 3).shape == (0, 4)
    assert gasla.sample_neighbors(empty, [], 3).shape == (0, 3)
    alone = Graph.from_edges([], [], np.zeros(0), n=1)
    for weighted in (False, True):
        assert gasla.random_walks(alone, [0, 0], 2, weighted=weighted).tolist() == [[0, -1, -1]] * 2
    assert gasla.random_walks(alone, [0], 0).tolist() == [[0]]
    assert gasla.sample_neighbors(alone, [0], 2, replace=True).tolist() == [[-1, -1]]
    loop = Graph.from_edges([0], [0], [0.0])
    assert gasla.random_walks(loop, [0], 2).tolist() == [[0, 0, 0]]
    assert gasla.random_walks(loop, [0], 2, weighted=True).tolist() == [[0, -1, -1]]
    path = Graph.from_edges(np.arange(5000), np.arange(1, 5001))
    np.testing.assert_array_equal(gasla.random_walks(path, [0], 5001)[0], np.append(np.arange(5001), -1))
    pair = Graph.from_edges([0, 1], [1, 0])  # nobody is elsewhere: back, however seldom
    assert gasla.node2vec_walks(pair, [0], 5, p=1e100).tolist() == [[0, 1, 0, 1, 0, 1]]
    tiny = Graph.from_edges([0, 0, 0], [1, 2, 3], np.array([0, 5e-324, 0]))
    assert set(gasla.random_walks(tiny, np.zeros(99, int), 1, weighted=True)[:, 1]) == {2}


def test_weights_that_change_are_noticed() -> None:
    weights = np.array([1.0, 0.0])
    graph = Graph.from_edges([0, 0], [1, 2], weights)
    assert gasla.random_walks(graph, [0], 1, weighted=True)[0, 1] == 1
    weights[:] = 0, 1
    assert gasla.random_walks(graph, [0], 1, weighted=True)[0, 1] == 2


def test_lists_in_any_order_and_graphs_by_columns() -> None:
    matrix = csr_array(DENSE).tocsc()
    shuffled = Graph.from_edges([0, 1, 0, 2, 0], [3, 0, 1, 0, 2], n=4)
    for graph in (Graph(matrix), shuffled):
        walks = gasla.node2vec_walks(graph, np.zeros(50, int), 9, p=3, q=0.3)
        verify.random_walks(graph, np.zeros(50, int), walks)


PAIR = Graph.from_edges([0, 0], [1, 2], [1.0, -1.0])


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: gasla.random_walks(PAIR, [3], 1), ValueError, "starts has vertex 3, outside a graph of 3 vertices"),
        (lambda: gasla.random_walks(PAIR, [-1], 1), ValueError, "starts has vertex -1, outside a graph of 3 vertices"),
        (lambda: gasla.random_walks(PAIR, [0.5], 1), TypeError, r"starts is \[0\.5\], float64\(1,\); expected"),
        (lambda: gasla.random_walks(PAIR, 0, 1), TypeError, "starts is 0; expected several vertices"),
        (lambda: gasla.random_walks(PAIR, [0], -1), ValueError, "length is -1; expected 0 or more"),
        (lambda: gasla.random_walks(PAIR, [0], 1.5), TypeError, "length is 1.5; expected a whole number"),
        (lambda: gasla.random_walks(PAIR, [0], 1, seed=2**64), ValueError, "expected an integer of at most 64 bits"),
        (lambda: gasla.random_walks(PAIR, [0], 1, seed=None), TypeError, "seed is None; expected a whole number"),  # type: ignore[arg-type]
        (lambda: gasla.random_walks(PAIR, [0], 1, weighted=True), ValueError, "the weight of edge 1 is -1.0"),
        (
            lambda: gasla.random_walks(PAIR.with_values([1e308, 1e308]), [0], 1, weighted=True),
            ValueError,
            "the weights of the out-edges of vertex 0 add up to infinity",
        ),
        (lambda: gasla.node2vec_walks(PAIR, [0], 1, p=0), ValueError, "p is 0; expected a number from 1e-100"),
        (lambda: gasla.node2vec_walks(PAIR, [0], 1, q=np.nan), ValueError, "q is nan; expected a number from 1e-100"),
        (lambda: gasla.sample_neighbors(PAIR, [9], 1), ValueError, "ids has vertex 9, outside a graph of 3 vertices"),
        (lambda: gasla.sample_neighbors(PAIR, [0], -2), ValueError, "k is -2; expected 0 or more"),
    ],
)
def test_errors_say_what_is_wrong(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize(
    ("walks", "message"),
    [
        ([[1, 2]], "walker 0 begins at 1; expected 0"),
        ([[0, 0]], "walker 0 goes from 0 to 0 in step 0; there is no such edge"),
        ([[0, -1]], "walker 0 goes from 0 to -1 in step 0; expected a step along an edge"),
        ([[0, 1, -1, 0]], "walker 0 goes from -1 to 0 in step 2; expected -1 after -1"),
        ([[0, 7]], "7 is not a vertex"),
        ([0], "walks are int64"),
    ],
)
def test_the_verifier_of_walks_tells(walks: Any, message: str) -> None:
    with pytest.raises(verify.VerificationError, match=message):
        verify.random_walks(PAIR, [0], walks)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([1, 1], "row 0 has 1 2 times; expected at most 1"),
        ([1, -1], "row 0 of vertex 0 has 1 neighbors; expected 2"),
        ([0, 1], "row 0 has 0 1 times; expected at most 0"),
    ],
)
def test_the_verifier_of_samples_tells(row: Any, message: str) -> None:
    with pytest.raises(verify.VerificationError, match=message):
        verify.sample_neighbors(PAIR, [0], 2, [row])


# --- on a GPU --------------------------------------------------------------------------------------------------------


@pytest.mark.gpu
@pytest.mark.sanitize
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", ["rmat", "grid", "shuffled"])
def test_gpu_gives_the_same(call: str, name: str) -> None:
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 3000, (2, 20000)) ** 2 // 3000
    graphs = {
        "rmat": lambda: Graph(datasets.rmat(10)),
        "grid": lambda: Graph(datasets.grid(10)),
        "shuffled": lambda: Graph.from_edges(src, dst, rng.random(20000).astype(np.float32), n=3001),
    }
    graph = graphs[name]()
    ids = rng.integers(0, graph.n, 2000)
    on_gpu = CALLS[call](graph.to("gpu"), ids)
    np.testing.assert_array_equal(on_gpu.get(), CALLS[call](graph, ids))


@pytest.mark.gpu
@pytest.mark.sanitize
def test_gpu_hard_shapes() -> None:
    empty = Graph.from_edges([], [], n=0).to("gpu")
    assert gasla.random_walks(empty, [], 3).shape == (0, 4)
    loop = Graph.from_edges([0], [0], [0.0], n=2).to("gpu")
    assert gasla.random_walks(loop, [0, 1], 2, weighted=True).get().tolist() == [[0, -1, -1], [1, -1, -1]]
    assert gasla.sample_neighbors(loop, [0, 1], 2).get().tolist() == [[0, -1], [-1, -1]]
    assert gasla.sample_neighbors(loop, [0, 1], 0).shape == (2, 0)
    with pytest.raises(ValueError, match="starts has vertex 2"):
        gasla.random_walks(loop, [2], 1)
