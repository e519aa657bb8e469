"""Walks in time, along relations, and with restart: against plain Python, by chi-square tests, and hostile input."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import chisquare

import gasla
from gasla import datasets, verify
from gasla.graph.graph import Graph
from gasla.graph.typed_graph import Relation, TypedGraph
from semirings import hash as hashed
from tests.algorithms.walks.test_random_walks import use_threads
from tests.operations.test_temporal_sampling import timed, usable
from tests.operations.test_typed_sampling import BUYS, KNOWS, SOLD, typed

CALLS = Graph.from_edges([0, 1, 1, 2], [1, 2, 3, 3]).with_edge_attributes(time=[2, 1, 5, 9])
RING: dict[Relation, Any] = {("a", "to", "b"): [[0, 1], [1, 0]], ("b", "to", "a"): [[0, 1], [0, 1]]}


def place(seed: int, step: int, walker: int, count: int) -> int:
    """The position that a walker draws among this many edges."""
    return int(hashed(np.uint64(int(hashed(np.uint64(seed), step))), walker, 0)) * count >> 64


@settings(max_examples=25, deadline=None)
@given(timed(), st.integers(0, 2**64 - 1), st.data())
def test_temporal_walks_are_those_of_plain_draws(graph: Graph, seed: int, data: st.DataObject) -> None:
    starts = data.draw(st.lists(st.integers(0, graph.n - 1), max_size=4))
    at = data.draw(st.none() | st.lists(st.integers(-4, 4), min_size=len(starts), max_size=len(starts)))
    window = data.draw(st.none() | st.integers(0, 3) | st.just(np.inf))
    when = None if at is None else np.array(at, int)
    found = gasla.temporal_walks(graph, starts, 4, at=when, window=window, seed=seed)
    times, expected = graph.edge_attributes["time"].tolist(), list[list[int]]()
    for walker, v in enumerate(starts):
        row, now, end = [v], -np.inf if at is None else at[walker], np.inf
        for step in range(4):
            edges = usable(graph, row[-1], now, end) if row[-1] >= 0 else []
            if edges:
                e, v = edges[place(seed, step, walker, len(edges))]
                now, end = times[e], np.inf if window is None else times[e] + window
            row.append(v if edges else -1)
        expected.append(row)
    assert found.tolist() == expected
    assert found.dtype == graph.id_dtype and found.shape == (len(starts), 5)


@settings(max_examples=25, deadline=None)
@given(typed(), st.integers(0, 2**64 - 1), st.data())
def test_walks_along_relations_are_those_of_plain_draws(graph: TypedGraph, seed: int, data: st.DataObject) -> None:
    path = [data.draw(st.sampled_from([*graph.relations]))]
    while (after := [name for name in graph.relations if name[0] == path[-1][2]]) and len(path) < 3:
        path.append(data.draw(st.sampled_from(after)))
    length = data.draw(st.integers(0, len(path) if path[-1][2] != path[0][0] else 5))
    size = graph.sizes[path[0][0]]
    starts = data.draw(st.lists(st.integers(0, size - 1), max_size=4)) if size else []
    found = gasla.metapath_walks(graph, starts, path, length, seed=seed)
    for walker, v in enumerate(starts):
        row, kind = [v + graph.offsets[path[0][0]]], path[0][0]
        for step in range(length):
            name = path[step % len(path)]
            ends = [y for x, y in graph.edge_index(name).T.tolist() if x == v] if v >= 0 else []
            v, kind = ends[place(seed, step, walker, len(ends))] if ends else -1, name[2]
            row.append(-1 if v < 0 else v + graph.offsets[kind])
        assert found[walker].tolist() == row
    assert found.shape == (len(starts), length + 1)


def test_steps_are_fair_and_end_where_no_edge_is_left() -> None:
    star = Graph.from_edges(np.zeros(6, int), np.arange(1, 7), np.array([1.0, 2, 3, 4, 0, 6]))
    star = star.with_edge_attributes(time=[5, 1, 4, 3, 3, 9])
    for weighted, chances in ((False, [1, 0, 1, 1, 1, 1]), (True, [1, 0, 3, 4, 0, 6])):
        walks = gasla.temporal_walks(star, np.zeros(6000, int), 2, at=2, weighted=weighted, seed=3)
        counts, odds = np.bincount(walks[:, 1], minlength=7)[1:], np.array(chances)
        assert (walks[:, 2] == -1).all() and counts[odds == 0].sum() == 0
        assert chisquare(counts[odds > 0], 6000 * odds[odds > 0] / odds.sum()).pvalue > 1e-3
        two = TypedGraph({BUYS: csr_array((star.values, (np.zeros(6, int), np.arange(6))), shape=(1, 6))})  # type: ignore[arg-type]
        walks = gasla.metapath_walks(two, np.zeros(6000, int), [BUYS], 1, weighted=weighted, seed=5)
        counts = np.bincount(walks[:, 1] - 1, minlength=6)
        odds = np.array([1, 2, 3, 4, 0, 6]) if weighted else np.ones(6)
        assert chisquare(counts[odds > 0], 6000 * odds[odds > 0] / odds.sum()).pvalue > 1e-3


def test_pairs_of_all_walks() -> None:
    walks = gasla.metapath_walks(TypedGraph(RING), [0], [*RING], 4)
    assert walks.tolist() == [[0, 3, 1, 2, 0]]
    assert gasla.walk_pairs(walks, 1).shape == (2, 8)
    assert gasla.walk_pairs(gasla.temporal_walks(CALLS, [0, 1], 3, at=0), 2).shape == (2, 8)


def test_walks_go_back_with_the_probability_of_a_restart() -> None:
    ring = Graph.from_edges(np.arange(1000), np.arange(1, 1001) % 1000)
    walks = gasla.random_walks(ring, np.full(4000, 7), 3, restart=0.25, seed=2)
    assert chisquare([(walks[:, 1] == 7).sum(), (walks[:, 1] == 8).sum()], [1000, 3000]).pvalue > 1e-3
    verify.random_walks(ring, np.full(4000, 7), walks, restart=0.25)
    assert (gasla.random_walks(ring, [5], 9, restart=1) == 5).all()
    with pytest.raises(verify.VerificationError, match="there is no such edge"):
        verify.random_walks(ring, np.full(4000, 7), walks)
    np.testing.assert_array_equal(gasla.random_walks(ring, [5], 9), gasla.random_walks(ring, [5], 9, restart=0))


def test_dates_and_hard_shapes() -> None:
    days = np.array(["2026-01-02", "2026-01-01", "2026-01-05", "2026-01-09"], "M8[D]")
    dated = CALLS.with_edge_attributes(time=days)
    assert gasla.temporal_walks(dated, [1], 1, at="2026-01-04 12:00").tolist() == [[1, 3]]
    assert gasla.temporal_walks(dated, [1, 1], 2, at=pd.to_datetime(["2026-01-06", "2026-01-01"]).to_numpy()).tolist()[
        0
    ] == [1, -1, -1]
    for window, steps in (("71h", [0, 1, -1]), ("3 days", [0, 1, 3]), (np.timedelta64(73, "h"), [0, 1, 3])):
        assert gasla.temporal_walks(dated, [0], 2, at="2025-12-31", window=window).tolist() == [steps]
    daily = CALLS.with_edge_attributes(time=np.array([2, 1, 5, 9], "m8[h]"))
    assert gasla.temporal_walks(daily, [0], 2, window="2h").tolist() == [[0, 1, -1]]
    assert gasla.temporal_walks(CALLS, [], 3).shape == (0, 4)
    assert gasla.temporal_walks(CALLS, [3, 0], 0).tolist() == [[3], [0]]
    lonely = Graph.from_edges([], [], n=1).with_edge_attributes(time=np.zeros(0))
    assert gasla.temporal_walks(lonely, [0], 2).tolist() == [[0, -1, -1]]
    late = Graph.from_edges([0], [0]).with_edge_attributes(time=[2**61])
    for window in (None, 0, 2**62, 1e300):
        assert gasla.temporal_walks(late, [0], 2, at=2**61, window=window).tolist() == [[0, 0, 0]]
    none = TypedGraph({BUYS: np.zeros((2, 0), int)}, {"u": 2})
    assert gasla.metapath_walks(none, [1, 0], [BUYS], 1).tolist() == [[1, -1], [0, -1]]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: gasla.temporal_walks(CALLS, [0], -1), ValueError, "length is -1; expected 0 or more"),
        (
            lambda: gasla.temporal_walks(CALLS, [0], 1, window=-1),
            ValueError,
            "window is -1; expected a number, 0 or more",
        ),
        (lambda: gasla.temporal_walks(CALLS, [9], 1), ValueError, "starts has vertex 9, outside a graph of 4"),
        (lambda: gasla.temporal_walks(CALLS, [0], 1, at=[1, 2]), ValueError, r"at has shape \(2,\); expected one time"),
        (lambda: gasla.temporal_walks(CALLS, [0], 1, time="when"), ValueError, "'when' is no edge attribute"),
        (lambda: gasla.temporal_walks(CALLS, [0], 1, at=np.nan), ValueError, "at is nan in row 0"),
        (lambda: gasla.random_walks(CALLS, [0], 1, restart=2), ValueError, "restart is 2; expected"),
        (lambda: gasla.metapath_walks(CALLS, [0], [BUYS], 1), TypeError, "graph is a Graph; expected a TypedGraph"),  # type: ignore[arg-type]
        (lambda: gasla.metapath_walks(TypedGraph(RING), [0], [], 1), TypeError, r"metapath is \[\]; expected a list"),
        (lambda: gasla.metapath_walks(TypedGraph(RING), [0], [KNOWS], 1), ValueError, "metapath has .*'knows'"),
        (
            lambda: gasla.metapath_walks(TypedGraph(RING), [0], [("a", "to", "b")], 2),
            ValueError,
            "goes from .* to .*; expected a relation that begins at 'b'",
        ),
        (lambda: gasla.metapath_walks(TypedGraph(RING), [7], [*RING], 1), ValueError, "starts has vertex 7, outside"),
    ],
)
def test_errors_say_what_is_wrong(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    base = Graph(datasets.rmat(8))
    graph, starts = base.with_edge_attributes(time=np.arange(base.m) % 97), np.arange(base.n)
    expected = gasla.temporal_walks(graph, starts, 5, seed=4)
    use_threads(monkeypatch, 2)
    np.testing.assert_array_equal(gasla.temporal_walks(graph, starts, 5, seed=4), expected)


@pytest.mark.gpu
@pytest.mark.parametrize("weighted", [False, True])
def test_gpu_gives_the_same(weighted: bool) -> None:
    rng, base = np.random.default_rng(2), Graph(datasets.rmat(9))
    graph = base.with_values(rng.integers(0, 3, base.m).astype(np.float32))
    graph = graph.with_edge_attributes(time=rng.integers(0, 10**6, base.m))
    starts, at = rng.integers(0, graph.n, 300), rng.integers(0, 10**6, 300)
    expected = gasla.temporal_walks(graph, starts, 6, at=at, weighted=weighted, seed=3)
    found = gasla.temporal_walks(graph.to("gpu"), starts, 6, at=at, weighted=weighted, seed=3)
    np.testing.assert_array_equal(found.get(), expected)
    matrix = csr_array((rng.random(900), rng.integers(0, 60, (2, 900))), shape=(60, 70))
    two = TypedGraph({BUYS: matrix, SOLD: csr_array(matrix.T)})
    starts = rng.integers(0, 60, 200)
    walks = gasla.metapath_walks(two, starts, [BUYS, SOLD], 7, weighted=weighted, seed=3)
    found = gasla.metapath_walks(two.to("gpu"), starts, [BUYS, SOLD], 7, weighted=weighted, seed=3)
    np.testing.assert_array_equal(found.get(), walks)
