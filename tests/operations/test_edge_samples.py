"""Pairs without an edge and edges in sets: every small case by brute force, chi-square tests, hostile input."""

from collections.abc import Callable
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
from gasla.operations import edge_samples
from tests.algorithms.walks.test_random_walks import graphs


def free_pairs(graph: Graph, undirected: bool) -> set[tuple[int, int]]:
    """All pairs without an edge."""
    stored = set(zip(*(side.tolist() for side in graph.edges())))
    stored |= {(j, i) for i, j in stored} if undirected else set()
    return {(i, j) for i in range(graph.n) for j in range(graph.n) if (i < j if undirected else i != j)} - stored


@settings(max_examples=80, deadline=None)
@given(graphs(), st.booleans(), st.integers(0, 2**64 - 1), st.data())
def test_pairs_are_distinct_and_no_edges(graph: Graph, undirected: bool, seed: int, data: st.DataObject) -> None:
    free = free_pairs(graph, undirected)
    for count in (len(free), data.draw(st.integers(0, len(free)))):
        found = gasla.negative_edges(graph, count, undirected=undirected, seed=seed)
        pairs = {*zip(*found.tolist())}
        assert found.shape == (2, count) and found.dtype == np.int64 and len(pairs) == count and pairs <= free
        verify.negative_edges(graph, count, found, undirected=undirected)
    with pytest.raises(ValueError, match=f"count is {len(free) + 1}; expected {len(free)} at most"):
        gasla.negative_edges(graph, len(free) + 1, undirected=undirected)


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("count", [2, 15])  # by draws that may repeat, and by the order of all pairs
def test_pairs_are_fair(undirected: bool, count: int) -> None:
    graph = Graph.from_edges([0, 1, 2, 5, 3, 3], [1, 0, 4, 3, 3, 2], n=7)
    free = sorted(free_pairs(graph, undirected))
    draws = [gasla.negative_edges(graph, min(count, len(free)), undirected=undirected, seed=s) for s in range(3000)]
    for k in (0, 1):  # the first pair drawn, and the second
        some = np.stack([draw[:, k] for draw in draws], axis=1)
        counts = np.array([(some == np.array(pair)[:, None]).all(axis=0).sum() for pair in free])
        assert chisquare(counts).pvalue > 1e-3


def test_products_of_64_bits_are_exact() -> None:
    words = np.append(np.random.default_rng(0).integers(0, 2**64, 500, np.uint64), np.uint64(2**64 - 1))
    for total in (1, 5, 2**32 - 1, 2**32, 2**40 + 7, 2**62 - 3):
        assert edge_samples._random_below(words, total).tolist() == [int(word) * total >> 64 for word in words]


@pytest.mark.parametrize("undirected", [False, True])
def test_numbers_of_pairs_are_exact_in_large_graphs(undirected: bool) -> None:
    """Also the first and the last pair of rows, where square roots round."""
    n = 2**31
    rows = np.append(np.random.default_rng(0).integers(2, n, 2000), [2, 3, n - 2, n - 1])
    pairs = edge_samples.Pairs(n, undirected)
    numbers = np.concatenate([pairs.row_start(rows) + d for d in (-1, 0)])
    i, j = pairs.of(numbers)
    if undirected:
        i, j = j, i
    assert i.min() >= 0 and i.max() < n and j.min() >= 0 and ((j < i) if undirected else (i != j)).all()
    np.testing.assert_array_equal(pairs.row_start(i) + j - (0 if undirected else j > i), numbers)
    np.testing.assert_array_equal(pairs.numbers(i, j), numbers)


def test_a_large_sparse_graph_and_dense_ones() -> None:
    sparse = Graph.from_edges([0, 10**6], [10**6, 5], n=10**6 + 1)
    verify.negative_edges(sparse, 1000, gasla.negative_edges(sparse, 1000, undirected=True), undirected=True)
    full = Graph(csr_array(np.ones((40, 40))))
    assert gasla.negative_edges(full, 0).shape == (2, 0)
    with pytest.raises(
        ValueError, match="count is 1; expected 0 at most, the number of pairs of vertices without an e"
    ):
        gasla.negative_edges(full, 1)
    holes = np.ones((40, 40))
    holes[3, 7] = holes[9, 2] = 0
    assert {*zip(*gasla.negative_edges(Graph(csr_array(holes)), 2).tolist())} == {(3, 7), (9, 2)}


@settings(max_examples=80, deadline=None)
@given(graphs(), st.booleans(), st.lists(st.integers(0, 5), min_size=1, max_size=4), st.integers(0, 2**64 - 1))
def test_sets_are_whole(graph: Graph, both: bool, parts: list[int], seed: int) -> None:
    graph = graph.with_values(None)
    graph = graph.symmetrized() if both else graph
    fractions = (np.array(parts) / sum(parts)).tolist() if sum(parts) else [1.0]
    found = gasla.split_edges(graph, fractions, seed=seed)
    verify.split_edges(graph, fractions, found)
    src, dst = graph.edges()
    turn = np.random.default_rng(seed).permutation(graph.m)
    again = gasla.split_edges(Graph.from_edges(src[turn], dst[turn], n=graph.n), fractions, seed=seed)
    for one, other in zip(found, again):
        assert np.array_equal(one, np.sort(turn[other]))


def test_sets_are_fair() -> None:
    """Each edge is as often in each set, and pairs of edges are together as often as chance has it."""
    graph = Graph.from_edges(np.arange(12), np.arange(1, 13))
    inside = np.zeros((3000, 12), bool)
    for seed in range(3000):
        inside[seed, gasla.split_edges(graph, (0.25, 0.75), seed=seed)[0]] = True
    assert (inside.sum(axis=1) == 3).all()
    assert chisquare(inside.sum(axis=0)).pvalue > 1e-3
    together = (inside.T.astype(int) @ inside)[np.triu_indices(12, 1)]
    assert chisquare(together).pvalue > 1e-3


def test_hard_shapes() -> None:
    for n in (0, 1):
        empty = Graph.from_edges([], [], n=n)
        for undirected in (False, True):
            assert gasla.negative_edges(empty, 0, undirected=undirected).shape == (2, 0)
            with pytest.raises(ValueError, match="count is 1; expected 0 at most"):
                gasla.negative_edges(empty, 1, undirected=undirected)
        assert [part.tolist() for part in gasla.split_edges(empty)] == [[], [], []]
    loop = Graph.from_edges([0, 0], [0, 0])
    assert [part.tolist() for part in gasla.split_edges(loop, [0.0, 1.0])] == [[], [0, 1]]


def free_at(graph: Graph, undirected: bool, last: float) -> set[tuple[int, int]]:
    """All pairs without an edge at a time or before."""
    return free_pairs(graph.select(np.flatnonzero(graph.edge_attributes["time"] <= last)), undirected)


@settings(max_examples=25, deadline=None)
@given(graphs(), st.booleans(), st.integers(0, 2**64 - 1), st.data())
def test_pairs_are_no_edges_at_their_times(graph: Graph, undirected: bool, seed: int, data: st.DataObject) -> None:
    times = np.array(data.draw(st.lists(st.integers(0, 4), min_size=graph.m, max_size=graph.m)), np.int64)
    graph = graph.with_edge_attributes(time=times)
    last = data.draw(st.integers(-1, 5))
    free, options = free_at(graph, undirected, last), {"undirected": undirected, "at": last}
    found = gasla.negative_edges(graph, len(free), seed=seed, **options)  # type: ignore[arg-type]
    assert {*zip(*found.tolist())} == free
    verify.negative_edges(graph, len(free), found, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=f"count is {len(free) + 1}; expected {len(free)} at most"):
        gasla.negative_edges(graph, len(free) + 1, **options)  # type: ignore[arg-type]
    several = np.array(data.draw(st.lists(st.integers(-1, 5), max_size=9)))
    full = [k for k, end in enumerate(several) if not free_at(graph, undirected, end)]
    if full:
        with pytest.raises(ValueError, match=f"all pairs of vertices are edges at the time of pair {full[0]}"):
            gasla.negative_edges(graph, len(several), undirected=undirected, at=several)
        return
    found = gasla.negative_edges(graph, len(several), undirected=undirected, at=several, seed=seed)
    assert all(pair in free_at(graph, undirected, end) for pair, end in zip(zip(*found.tolist()), several))
    verify.negative_edges(graph, len(several), found, undirected=undirected, at=several)


@pytest.mark.parametrize("rounds", [128, 2, 0])  # by draws again, by both ways, and by rank
def test_pairs_at_times_are_fair(rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_samples, "ROUNDS", rounds)
    src, dst = np.nonzero(~np.eye(5, dtype=bool))
    graph = Graph.from_edges(src, dst).with_edge_attributes(time=np.arange(20) // 2)
    at = np.tile([3, 7], 3000)
    found = gasla.negative_edges(graph, 6000, at=at, seed=5)
    for last in (3, 7):
        free = sorted(free_at(graph, False, last))
        some = found[:, at == last].T
        counts = np.array([(some == pair).all(axis=1).sum() for pair in free])
        assert counts.sum() == 3000 and chisquare(counts).pvalue > 1e-3


def weights_by_degree(graph: Graph, undirected: bool, last: float) -> dict[tuple[int, int], int]:
    """The weight of each pair that can be drawn by degree, edge by edge: of its target, or of both if undirected."""
    sides, weights = graph.sides, dict[tuple[int, int], int]()
    some = np.flatnonzero(graph.edge_attributes["time"] <= last)
    edges = [*zip(*(side[some].tolist() for side in graph.edges()))]
    both_ways = edges + [(j, i) for i, j in edges]
    for _, target in both_ways if undirected or sides is not None else edges:
        for i in range(graph.n):
            pair = (min(i, target), max(i, target)) if undirected and sides is None else (i, target)
            known = both_ways if undirected or sides is not None else edges
            across = sides is None or (sides[i], sides[target]) == (0, 1)
            if i != target and across and (i, target) not in known:
                weights[pair] = weights.get(pair, 0) + 1
    return weights


def timed_edges(sided: bool) -> Graph:
    """Loops, parallel edges, a hub with many in-edges, and a vertex without edges; or two sides."""
    src, dst = [0, 1, 2, 3, 0, 0, 4, 4, 3], [1, 2, 1, 1, 1, 2, 4, 1, 0]
    if sided:
        made = Graph.from_bipartite(csr_array(([1] * 5, ([0, 1, 2, 0, 0], [0, 0, 0, 1, 2])), shape=(4, 4)))
        return made.with_edge_attributes(time=np.arange(made.m))
    return Graph.from_edges(src, dst, n=6).with_edge_attributes(time=np.arange(9))


@pytest.mark.parametrize("rounds", [128, 1, 0])
@pytest.mark.parametrize(("undirected", "sided"), [(False, False), (True, False), (False, True)])
def test_pairs_by_degree_are_fair(undirected: bool, sided: bool, rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over all edges, at one time, and at a time each."""
    monkeypatch.setattr(edge_samples, "ROUNDS", rounds)
    graph, end = timed_edges(sided), 3
    options: dict[str, Any] = {"undirected": undirected, "by": "degree"}
    at = np.tile([end, 99], 4000)
    each = gasla.negative_edges(graph, 8000, at=at, seed=2, **options)
    verify.negative_edges(graph, 8000, each, at=at, **options)
    for last, until in ((99, {}), (end, {"at": end})):
        weights = weights_by_degree(graph, undirected, last)
        found = gasla.negative_edges(graph, 4000, seed=2, **options, **until)  # type: ignore[arg-type]
        verify.negative_edges(graph, 4000, found, **options, **until)  # type: ignore[arg-type]
        for drawn in (found, each[:, at == last]):
            counts = np.array([(drawn == np.array(pair)[:, None]).all(axis=0).sum() for pair in weights])
            expected = np.array([*weights.values()])
            assert counts.sum() == 4000 and chisquare(counts, 4000 * expected / expected.sum()).pvalue > 1e-3


@settings(max_examples=25, deadline=None)
@given(graphs(), st.booleans(), st.integers(0, 2**64 - 1), st.data())
def test_pairs_by_degree_are_no_edges(graph: Graph, undirected: bool, seed: int, data: st.DataObject) -> None:
    times = np.array(data.draw(st.lists(st.integers(0, 4), min_size=graph.m, max_size=graph.m)), np.int64)
    graph, last = graph.with_edge_attributes(time=times), data.draw(st.integers(-1, 5))
    free, options = weights_by_degree(graph, undirected, last), {"undirected": undirected, "by": "degree"}
    for at in (last, np.full(30, last)):
        if not free:
            with pytest.raises(ValueError, match="whose target has"):
                gasla.negative_edges(graph, 30, at=at, seed=seed, **options)  # type: ignore[arg-type]
            continue
        found = gasla.negative_edges(graph, 30, at=at, seed=seed, **options)  # type: ignore[arg-type]
        assert {*zip(*found.tolist())} <= {*free} and found.shape == (2, 30)
        verify.negative_edges(graph, 30, found, at=at, **options)  # type: ignore[arg-type]
    assert gasla.negative_edges(graph, 0, seed=seed, **options).shape == (2, 0)  # type: ignore[arg-type]


BUYS, KNOWS = ("user", "buys", "item"), ("user", "knows", "user")


@pytest.mark.parametrize("by", ["uniform", "degree"])
def test_pairs_of_relations_are_those_of_their_graphs(by: Any) -> None:
    shop = gasla.TypedGraph({BUYS: [[0, 0, 1, 2], [0, 2, 2, 1]], KNOWS: [[0, 2], [1, 1]]}, {"user": 4})
    shop = shop.with_edge_attributes({BUYS: {"time": [0, 1, 2, 3]}, KNOWS: {"time": [0, 9]}})
    found = gasla.negative_edges(shop, {KNOWS: 2, BUYS: 3}, by=by, seed=4)
    assert [*found] == [BUYS, KNOWS]
    for name, pairs in found.items():
        verify.negative_edges(shop[name], pairs.shape[1], pairs + np.array(shop.starts(name))[:, None], by=by)
    alone = gasla.negative_edges(shop[BUYS], 3, by=by, seed=4) - [[0], [4]]
    np.testing.assert_array_equal(found[BUYS], alone)
    at = {BUYS: np.array([3, 0, 3]), KNOWS: 5}
    found = gasla.negative_edges(shop, {BUYS: 3, KNOWS: 1}, by=by, at=at)
    for name, pairs in found.items():
        ends = pairs + np.array(shop.starts(name))[:, None]
        verify.negative_edges(shop[name], pairs.shape[1], ends, by=by, at=at[name])
    assert gasla.negative_edges(shop, {}) == {}
    with pytest.raises(TypeError, match="count is 3; expected a mapping from relations to numbers, such as"):
        gasla.negative_edges(shop, 3)
    with pytest.raises(ValueError, match=r"at has no times for \('user', 'buys', 'item'\); expected some"):
        gasla.negative_edges(shop, {BUYS: 3}, at={KNOWS: 1})
    with pytest.raises(KeyError, match="is no relation"):
        gasla.negative_edges(shop, {("a", "b", "c"): 3})


def test_a_star_and_a_lonely_vertex_have_no_pairs_by_degree() -> None:
    star = Graph.from_edges([1, 2, 3], [0, 0, 0]).with_edge_attributes(time=[1, 2, 3])
    message = "count is 1; expected 0 at most, the number of pairs of vertices without an edge whose target has one"
    with pytest.raises(ValueError, match=message):
        gasla.negative_edges(star, 1, by="degree")
    assert gasla.negative_edges(star, 2, by="degree", at=[2, 2]).tolist() == [[3, 3], [0, 0]]
    with pytest.raises(ValueError, match="all pairs of vertices whose target has an edge are edges at the time of p"):
        gasla.negative_edges(star, 2, by="degree", at=[2, 3])
    loop = Graph.from_edges([0], [0]).with_edge_attributes(time=[1])
    for at in (None, 1, [1]):
        with pytest.raises(ValueError, match="whose target has"):
            gasla.negative_edges(loop, 1, by="degree", at=at)


def test_pairs_across_two_sides_at_times() -> None:
    liked = Graph.from_bipartite(csr_array(np.ones((2, 2)))).with_edge_attributes(time=[1, 2, 3, 4])
    found = gasla.negative_edges(liked, 40, at=np.full(40, 3))
    assert {*zip(*found.tolist())} == {(1, 3)}
    verify.negative_edges(liked, 40, found, at=np.full(40, 3))


@settings(max_examples=25, deadline=None)
@given(graphs(), st.lists(st.integers(0, 5), min_size=1, max_size=4), st.data())
def test_sets_follow_one_another_in_time(graph: Graph, parts: list[int], data: st.DataObject) -> None:
    times = np.array(data.draw(st.lists(st.integers(0, 4), min_size=graph.m, max_size=graph.m)), np.float32)
    graph = graph.with_edge_attributes(when=times)
    fractions = (np.array(parts) / sum(parts)).tolist() if sum(parts) else [1.0]
    sets = gasla.split_edges(graph, fractions, time="when")
    verify.split_edges(graph, fractions, sets, time="when")
    room = np.cumsum(fractions) * graph.m
    for k, edges in enumerate(sets):
        before = sum(map(len, sets[:k]))
        assert not len(edges) or times[edges].min() > max(
            (times[part].max() for part in sets[:k] if len(part)), default=-1
        )
        if len(edges):  # without the last of its times it would have room for an edge
            assert before + (times[edges] < times[edges].max()).sum() < room[k] + 0.5
    cuts = sorted(data.draw(st.lists(st.floats(-1, 5), max_size=3)))
    sets = gasla.split_edges(graph, at=cuts, time="when")
    verify.split_edges(graph, (), sets, at=cuts, time="when")
    bounds, times = [-np.inf, *cuts, np.inf], times.astype(np.float64)
    for k, edges in enumerate(sets):
        assert edges.tolist() == np.flatnonzero((times > bounds[k]) & (times <= bounds[k + 1])).tolist()


def test_sets_by_dates() -> None:
    days = np.array(["2026-01-05", "2026-01-01", "2026-02-01", "2026-01-31"], "M8[D]")
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0]).with_edge_attributes(time=days)
    assert [part.tolist() for part in gasla.split_edges(graph, at="2026-01-31")] == [[0, 1, 3], [2]]
    assert [part.tolist() for part in gasla.split_edges(graph, at=["2026-01-04", "2026-01-31"])] == [[1], [0, 3], [2]]
    assert [part.tolist() for part in gasla.split_edges(graph, time="time")] == [[0, 1, 3], [2], []]
    assert gasla.negative_edges(graph, 9, at="2026-01-04").shape == (2, 9)
    empty = Graph.from_edges([], [], n=3).with_edge_attributes(time=np.zeros(0))
    assert [part.tolist() for part in gasla.split_edges(empty, time="time")] == [[], [], []]
    assert gasla.negative_edges(empty, 6, at=1).shape == gasla.negative_edges(empty, 6, at=np.ones(6)).shape == (2, 6)


def test_the_verifier_tells_times() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0]).with_edge_attributes(time=[1, 2, 3])
    verify.split_edges(graph, (), [[0], [1, 2]], at=1)
    with pytest.raises(verify.VerificationError, match="edge 1 at 2 is in set 0; expected 1"):
        verify.split_edges(graph, (), [[0, 1], [2]], at=1)
    with pytest.raises(verify.VerificationError, match="there are 1 sets; expected 2"):
        verify.split_edges(graph, (), [[0, 1, 2]], at=1)
    verify.negative_edges(graph, 2, [[2, 2], [0, 0]], at=[2, 1])
    with pytest.raises(verify.VerificationError, match="pair 1 is 2, 0: an edge"):
        verify.negative_edges(graph, 2, [[2, 2], [0, 0]], at=[2, 3])


GRAPH = Graph(datasets.rmat(5))
TIMED = GRAPH.with_edge_attributes(time=np.arange(GRAPH.m))


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: gasla.negative_edges(GRAPH, -1), ValueError, "count is -1; expected 0 or more"),
        (lambda: gasla.negative_edges(GRAPH, 1.5), TypeError, "count is 1.5; expected a whole number"),  # type: ignore[arg-type]
        (lambda: gasla.negative_edges(GRAPH, 1, seed=2**64), ValueError, "expected an integer of at most 64 bits"),
        (lambda: gasla.negative_edges(GRAPH, 1, undirected=2), TypeError, "undirected is 2; expected True or False"),  # type: ignore[arg-type]
        (lambda: gasla.negative_edges(GRAPH, 1, by="rank"), ValueError, "by is 'rank'; expected one of"),  # type: ignore[call-overload]
        (lambda: gasla.split_edges(GRAPH, (0.5, 0.6)), ValueError, r"fractions add up to 1.1; expected 1, such as \(0"),
        (lambda: gasla.split_edges(GRAPH, (1.5, -0.5)), ValueError, r"fractions\[0\] is 1.5; expected a number from 0"),
        (lambda: gasla.split_edges(GRAPH, (0.5, "x")), TypeError, r"fractions\[1\] is 'x'; expected a number"),  # type: ignore[list-item]
        (lambda: gasla.split_edges(GRAPH, (0.5, float("nan"))), ValueError, r"fractions\[1\] is nan; expected a num"),
        (lambda: gasla.split_edges(GRAPH, 0.8), TypeError, "fractions is 0.8; expected several numbers, such as"),  # type: ignore[arg-type]
        (lambda: gasla.split_edges(GRAPH, np.array(1.0)), TypeError, r"expected several numbers, such as"),
        (lambda: gasla.split_edges(GRAPH, ()), TypeError, r"fractions is \(\); expected several numbers, such as"),
        (lambda: gasla.split_edges(GRAPH, seed=True), TypeError, "seed is True; expected a whole number"),
        (lambda: gasla.split_edges(GRAPH, time="time"), ValueError, "'time' is no edge attribute; the graph has none"),
        (lambda: gasla.split_edges(TIMED, at=[3, 2]), ValueError, "at falls after entry 0; expected ascending times"),
        (lambda: gasla.split_edges(TIMED, (0.5, 0.5), at=3), ValueError, r"fractions is \(0.5, 0.5\) and at is 3; exp"),
        (lambda: gasla.split_edges(TIMED, at="2026-01-01"), TypeError, "at holds <U10; expected numbers"),
        (lambda: gasla.negative_edges(TIMED, 2, at=[1]), ValueError, "at has 1 times; expected one time, or one for"),
        (lambda: gasla.negative_edges(TIMED, 2, at=[1, np.nan]), ValueError, "at is nan in row 1; expected a number"),
        (lambda: gasla.negative_edges(TIMED, 2, at=[[1, 2]]), ValueError, r"at has shape \(1, 2\); expected one time"),
    ],
)
def test_errors_say_what_is_wrong(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.gpu
@pytest.mark.parametrize("undirected", [False, True])
def test_gpu_gives_the_same(undirected: bool) -> None:
    there = GRAPH.to("gpu")
    for count in (20, 300):
        expected = gasla.negative_edges(GRAPH, count, undirected=undirected, seed=3)
        found = gasla.negative_edges(there, count, undirected=undirected, seed=3)
        np.testing.assert_array_equal(found.get(), expected)
    for one, other in zip(gasla.split_edges(there, seed=3), gasla.split_edges(GRAPH, seed=3)):
        np.testing.assert_array_equal(one.get(), other)
    there = TIMED.to("gpu")
    for by in ("uniform", "degree"):
        for at in (None, 30, np.arange(40)):
            options: dict[str, Any] = {"undirected": undirected, "by": by, "at": at}
            found = gasla.negative_edges(there, 40, **options)
            np.testing.assert_array_equal(found.get(), gasla.negative_edges(TIMED, 40, **options))
    for one, other in zip(gasla.split_edges(there, time="time"), gasla.split_edges(TIMED, time="time")):
        np.testing.assert_array_equal(one.get(), other)
