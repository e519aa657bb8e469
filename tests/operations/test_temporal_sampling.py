"""Samples of edges up to a time, and disjoint trees: against plain Python, by chi-square tests, and hostile input."""

from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import gasla
from gasla import datasets, verify
from gasla.cpu.primitive import search_lists as search_on_cpu
from gasla.gpu.primitive.sampling import search_lists as search_in_rounds
from gasla.graph.edge_times import span_of
from gasla.graph.graph import Graph
from semirings import hash as hashed
from tests.algorithms.walks.test_random_walks import graphs, use_threads

Options = dict[str, Any]
WAYS: list[Options] = [
    {"strategy": "last"},
    *({"weighted": weighted, "replace": replace} for weighted in (False, True) for replace in (False, True)),
]
STAR = Graph.from_edges(np.zeros(7, int), np.arange(1, 8), np.array([1.0, 2, 0, 4, 1, 8, 0.5]))
STAR = STAR.with_edge_attributes(time=[5, 1, 4, 3, 3, 9, 7])
DAYS = np.array(["2026-01-05", "2026-01-01", "2026-01-04", "2026-01-03", "2026-01-03", "2026-02-09", "2026-01-07"])
DATED = STAR.with_edge_attributes(time=DAYS.astype("M8[D]"))


def usable(graph: Graph, v: int, first: float, last: float) -> list[tuple[int, int]]:
    """The out-edges of a vertex in a span of time, by time and number, each with its end."""
    src, dst = (side.tolist() for side in graph.edges())
    times = graph.edge_attributes["time"].tolist()
    edges = sorted((times[e], e) for e in range(graph.m) if src[e] == v and first <= times[e] <= last)
    return [(e, dst[e]) for _, e in edges]


def drawn(edges: list[Any], row: int, k: int, seed: int, replace: bool, is_last: bool) -> list[Any]:
    """A row of a sample, by Python's whole numbers."""
    degree, chosen = len(edges), list[int]()
    if is_last:
        return edges[max(degree - k, 0) :]
    for j in range(k * (degree > 0) if replace else min(k, degree)):
        top = degree if replace else degree - min(k, degree) + j + 1
        place = int(hashed(seed, row, j)) * top >> 64
        chosen.append(top - 1 if not replace and place in chosen else place)
    return [edges[place] for place in chosen]


@st.composite
def timed(draw: st.DrawFn) -> Graph:
    """Graphs of `graphs`, with times in three types."""
    graph = draw(graphs())
    times = draw(st.lists(st.integers(-3, 3), min_size=graph.m, max_size=graph.m))
    return graph.with_edge_attributes(time=np.array(times, draw(st.sampled_from(["i1", "i8", "f4"]))))


@settings(max_examples=40, deadline=None)
@given(timed(), st.integers(0, 2**64 - 1), st.sampled_from(["uniform", "replaced", "last"]), st.data())
def test_trees_are_those_of_plain_draws(graph: Graph, seed: int, way: str, data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(0, graph.n - 1), max_size=5))
    at = data.draw(st.lists(st.integers(-4, 4), min_size=len(ids), max_size=len(ids)))
    window = data.draw(st.none() | st.integers(0, 3))
    layers = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    options: Options = {"replace": way == "replaced", "strategy": "last" if way == "last" else "uniform"}
    found = gasla.sample_neighbors(graph, ids, layers, at=np.array(at), window=window, seed=seed, **options)
    vertices, edges, begin = [*enumerate(ids)], list[tuple[int, int, int]](), 0
    number = {key: i for i, key in enumerate(vertices)}
    for k in layers:
        end = len(vertices)
        for i in range(begin, end):
            root, v = vertices[i]
            open_now = usable(graph, v, -9 if window is None else at[root] - window, at[root])
            for e, x in drawn(open_now, i, k, seed, way == "replaced", way == "last"):
                if (root, x) not in number:
                    number[root, x] = len(vertices)
                    vertices.append((root, x))
                edges.append((i, number[root, x], e))
        begin = end
    assert found.batch is not None
    assert list(zip(found.batch.tolist(), found.vertices.tolist())) == vertices
    assert list(zip(*found.edge_index.tolist(), found.edge_ids.tolist())) == edges
    assert found.vertices.dtype == graph.id_dtype and found.batch.dtype == np.int64
    verify.sample_neighbors(graph, ids, layers, found, at=np.array(at), window=window, **options)


@settings(max_examples=30, deadline=None)
@given(timed(), st.sampled_from(WAYS), st.sampled_from(["out", "in"]), st.data())
def test_samples_hold_what_the_verifier_checks(graph: Graph, way: Options, direction: str, data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(0, graph.n - 1), max_size=4))
    at = data.draw(st.floats(-4, 4) | st.lists(st.floats(-4, 4), min_size=len(ids), max_size=len(ids)))
    options = {"at": at, "window": data.draw(st.none() | st.floats(0, 3)), "direction": direction, **way}
    for k in (data.draw(st.integers(0, 4)), [3, 2]):
        verify.sample_neighbors(graph, ids, k, gasla.sample_neighbors(graph, ids, k, seed=3, **options), **options)
    trees = gasla.sample_neighbors(graph, ids, [3, 2], disjoint=True, direction=direction)  # type: ignore[call-overload]
    verify.sample_neighbors(graph, ids, [3, 2], trees, disjoint=True, direction=direction)


@settings(max_examples=30, deadline=None)
@given(timed(), st.booleans(), st.data())
def test_bisections_are_those_of_numpy(graph: Graph, after: bool, data: st.DataObject) -> None:
    lists = graph.out
    values = data.draw(st.lists(st.integers(0, 5), min_size=graph.m, max_size=graph.m))
    each = np.array([], np.int64)
    for v in range(graph.n):
        each = np.append(each, np.sort(values[lists.indptr[v] : lists.indptr[v + 1]]).astype(np.int64))
    ids = np.array(data.draw(st.lists(st.integers(0, graph.n - 1), max_size=9)), graph.id_dtype)
    marks = np.array(data.draw(st.lists(st.integers(-1, 6), min_size=len(ids), max_size=len(ids))), np.int64)
    side: Any = "right" if after else "left"
    expected = [
        int(lists.indptr[v]) + int(np.searchsorted(each[lists.indptr[v] : lists.indptr[v + 1]], mark, side))
        for v, mark in zip(ids, marks)
    ]
    for search in (search_on_cpu, search_in_rounds):
        assert search(lists, each, ids, marks, after).tolist() == expected


def test_no_edge_of_many_draws_is_after_its_time() -> None:
    rng = np.random.default_rng(0)
    base = Graph(datasets.rmat(10))
    graph = base.with_edge_attributes(time=rng.integers(0, 1000, base.m))
    ids, at = rng.integers(0, graph.n, 2000), rng.integers(0, 1000, 2000)
    found = gasla.sample_neighbors(graph, ids, [600, 3], at=at, window=300, replace=True, direction="in")
    assert found.batch is not None and len(found.edge_ids) > 800_000
    until = at[found.batch[found.edge_index[1]]]
    times = graph.edge_attributes["time"][found.edge_ids]
    assert (times <= until).all() and (times >= until - 300).all()


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_draws_up_to_a_time_are_fair(weighted: bool, replace: bool) -> None:
    found = gasla.sample_neighbors(
        STAR, np.zeros(6000, int), 1 if weighted else 2, at=5, window=2, weighted=weighted, replace=replace, seed=4
    )
    counts = np.bincount(found.ravel(), minlength=8)
    chances = np.array([1.0, 4, 1]) if weighted else np.ones(3)  # of the edges to 1, 4 and 5; the one to 3 weighs 0
    open_now = [1, 4, 5] if weighted else [1, 3, 4, 5]
    chances = chances if weighted else np.ones(4)
    assert counts.sum() == counts[open_now].sum()
    assert chisquare(counts[open_now], counts.sum() * chances / chances.sum()).pvalue > 1e-3


def test_the_last_edges_come_in_order_of_time_and_of_the_input() -> None:
    assert gasla.sample_neighbors(STAR, [0, 0, 0], 3, at=[4, 9, 0], strategy="last").tolist() == [
        [4, 5, 3],
        [1, 7, 6],
        [-1, -1, -1],
    ]
    assert gasla.sample_neighbors(STAR, [0], 9, at=np.inf, strategy="last").tolist() == [[2, 4, 5, 3, 1, 7, 6, -1, -1]]


@pytest.mark.parametrize("options", WAYS)
def test_any_number_of_threads(options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, base = np.random.default_rng(2), Graph(datasets.rmat(8))
    graph = base.with_values(rng.integers(0, 3, base.m).astype(np.float32))
    graph = graph.with_edge_attributes(time=rng.integers(0, 99, base.m))
    ids, at = rng.integers(0, graph.n, 200), rng.integers(0, 99, 200)
    expected = gasla.sample_neighbors(graph, ids, [5, 3], at=at, seed=7, **options)
    use_threads(monkeypatch, 2)
    for one, other in zip(gasla.sample_neighbors(graph, ids, [5, 3], at=at, seed=7, **options), expected):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("at", "window", "expected"),
    [
        ("2026-01-03", None, {2, 4, 5}),
        (date(2026, 1, 3), "1 day", {4, 5}),
        (datetime(2026, 1, 3, 23, 59), None, {2, 4, 5}),
        (datetime(2026, 1, 3, 12), "12h", {4, 5}),
        (datetime(2026, 1, 3, 12), "11h", set()),  # from 01:00 to 12:00 no day begins
        (np.datetime64("2026-01-04"), "24h", {3, 4, 5}),
        (["2026-01-04"], np.timedelta64(1, "D"), {3, 4, 5}),
        (np.array(["2026-01-03T23:59:59.999999999"], "M8[ns]"), None, {2, 4, 5}),
        (np.array(["9999-01-01"], "M8[D]"), None, {*range(1, 8)}),
        (pd.Series(pd.to_datetime(["2026-01-03"])), None, {2, 4, 5}),
        (pd.Timestamp("2026-01-03 01:00"), "90min", {4, 5}),
    ],
)
def test_dates_of_all_kinds(at: Any, window: Any, expected: set[int]) -> None:
    found = gasla.sample_neighbors(DATED, [0], 7, at=at, window=window)
    assert {*found[0].tolist()} - {-1} == expected


def test_zones_are_those_of_the_attribute_and_of_numpy() -> None:
    """09:30 UTC is 10:30 in Berlin: a text states an offset, NumPy's dates are in UTC."""
    stamps = pd.Series(pd.to_datetime(["2026-01-03 10:30", "2026-01-03 11:30"])).dt.tz_localize("Europe/Berlin")
    graph = Graph.from_edges([0, 0], [1, 2]).with_edge_attributes(time=stamps)
    for at in (
        "2026-01-03 10:30+01:00",
        np.datetime64("2026-01-03T09:30"),
        graph.edge_attributes["time"][:1],
        stamps[:1],
    ):
        assert gasla.sample_neighbors(graph, [0], 2, at=at, strategy="last").tolist() == [[1, -1]]
    with pytest.raises(
        ValueError, match=r"'2026-01-03', without a zone, .* Europe/Berlin; .* '2026-01-03T00:00:00\+01:00'"
    ):
        gasla.sample_neighbors(graph, [0], 2, at="2026-01-03")
    with pytest.raises(TypeError, match="expected dates with a zone"):
        gasla.sample_neighbors(graph, [0], 2, at=pd.Series(pd.to_datetime(["2026-01-03"])))


def test_extreme_numbers_are_exact() -> None:
    big = 2**61 + 1
    graph = Graph.from_edges([0, 0, 0], [1, 2, 3]).with_edge_attributes(time=[big, big + 1, -big])
    for at, window, expected in (
        (big, None, {1, 3}),
        (big, 0, {1}),
        (np.uint64(2**64 - 1), None, {1, 2, 3}),
        (-(2**63), 2**70, set[int]()),
        (big, 2**63, {1, 3}),
        (-big + 0.0, None, {3} if -float(big) >= -big else set()),
        (-np.inf, None, set()),
        (np.inf, np.inf, {1, 2, 3}),
    ):
        found = gasla.sample_neighbors(graph, [0], 3, at=at, window=window)
        assert {*found[0].tolist()} - {-1} == expected
    halves = graph.with_edge_attributes(time=np.array([0.5, 1, np.nextafter(1, 2)]))
    assert sorted(gasla.sample_neighbors(halves, [0], 3, at=1)[0].tolist()) == [-1, 1, 2]
    assert span_of(graph, "time", [1.5, -1.5], 1, 2).first.tolist() == [1, -2]  # type: ignore[union-attr]


def test_trees_are_apart_and_seeds_may_repeat() -> None:
    """Two trees from one vertex have their own draws; times leave the graph and the arrays as they were."""
    ring = Graph.from_edges([0, 1, 2, 0], [1, 2, 0, 2])
    found = gasla.sample_neighbors(ring, [0, 0], [2, 1], disjoint=True)
    assert found.batch is not None
    assert found.vertices.tolist() == [0, 0, 1, 2, 1, 2] and found.batch.tolist() == [0, 1, 0, 0, 1, 1]
    assert [block.destinations for block in found.blocks] == [6, 2]
    assert gasla.sample_neighbors(ring, [0], [2, 1]).batch is None
    one = gasla.sample_neighbors(STAR, np.zeros(50, int), [1], at=9, seed=1)
    assert len({*one.edge_ids.tolist()}) > 3
    none = gasla.sample_neighbors(STAR, [], [2, 2], at=[])
    assert none.batch is not None and none.batch.shape == (0,) and none.edge_index.shape == (2, 0)
    lonely = Graph.from_edges([], [], n=1).with_edge_attributes(time=np.zeros(0))
    assert gasla.sample_neighbors(lonely, [0, 0], [2, 2], at=1).vertex_counts == [2, 0, 0]
    nobody = Graph.from_edges([], [], n=0).with_edge_attributes(time=np.zeros(0, int))
    assert gasla.sample_neighbors(nobody, [], [2], at=1).vertices.shape == (0,)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: gasla.sample_neighbors(STAR, [0], 2, window=3), ValueError, "window=3 without a time; expected at="),
        (lambda: gasla.sample_neighbors(STAR, [0], 2, strategy="last"), ValueError, "strategy='last' without a time"),
        (
            lambda: gasla.sample_neighbors(STAR, [0], 2, at=1, strategy="last", replace=True),
            ValueError,
            "strategy='last' draws nothing; expected weighted=False and replace=False",
        ),
        (lambda: gasla.sample_neighbors(STAR, [0], 2, at=1, strategy="first"), ValueError, "strategy is 'first'"),
        (lambda: gasla.sample_neighbors(STAR, [0], 2, at=[1, 2]), ValueError, r"at has shape \(2,\); expected one ti"),
        (lambda: gasla.sample_neighbors(STAR, [0], 2, at=[[1]]), ValueError, r"at has shape \(1, 1\)"),
        (lambda: gasla.sample_neighbors(STAR, [0, 1], 2, at=[1, np.nan]), ValueError, "at is nan in row 1; expected"),
        (lambda: gasla.sample_neighbors(STAR, [0], 2, at="2026-01-01"), TypeError, "at holds <U10; expected numbers"),
        (lambda: gasla.sample_neighbors(STAR, [0], 2, at=1, window=-1), ValueError, "window is -1; expected a number"),
        (lambda: gasla.sample_neighbors(STAR, [0], 2, at=1, window="1h"), TypeError, "window is '1h'; expected a num"),
        (lambda: gasla.sample_neighbors(STAR, [0], 2, at=1, time="when"), ValueError, "'when' is no edge attribute"),
        (lambda: gasla.sample_neighbors(STAR, [0], 2, at=1, time=3), TypeError, "time is 3; expected the name of"),  # type: ignore[call-overload]
        (lambda: gasla.sample_neighbors(DATED, [0], 2, at=5), ValueError, "at is 5; expected a date, such as"),
        (lambda: gasla.sample_neighbors(DATED, [0], 2, at=[None]), TypeError, r"at\[0\] is None; expected a date"),
        (
            lambda: gasla.sample_neighbors(DATED, [0, 0], 2, at=np.array(["2026-01-01", "NaT"], "M8[D]")),
            ValueError,
            "at has no date in row 1; expected one in each",
        ),
        (lambda: gasla.sample_neighbors(DATED, [0], 2, at=pd.NaT), TypeError, "at is NaT; expected a date"),
        (
            lambda: gasla.sample_neighbors(DATED, [0], 2, at=np.array([3], "m8[D]")),
            TypeError,
            r"at holds timedelta64\[D\]; expected datetime64\[D\], as the times are",
        ),
        (lambda: gasla.sample_neighbors(DATED, [0], 2, at="2026-01-01", window=3), TypeError, "window is 3; expected"),
        (lambda: gasla.sample_neighbors(DATED, [0], 2, at="2026-01-01", window="-3h"), ValueError, "of 0 or more"),
        (
            lambda: gasla.sample_neighbors(DATED, [0], 2, at=np.array(["9999-01-01"], "M8[D]"), window="1ns"),
            ValueError,
            r"at or window is beyond the range of M8\[ns\]",
        ),
        (
            lambda: gasla.sample_neighbors(STAR.with_edge_attributes(time=np.full(7, np.nan)), [0], 2, at=1),
            ValueError,
            "edge attribute 'time', the time, is nan at edge 0; expected a finite number",
        ),
        (
            lambda: gasla.sample_neighbors(STAR.with_edge_attributes(time=np.full(7, 0.5)), [0], 2, at=2**53 + 1),
            ValueError,
            "at holds integers beyond 2",
        ),
        (lambda: gasla.sample_neighbors(STAR, [0, 0], [2], disjoint=1), TypeError, "disjoint is 1; expected True or"),  # type: ignore[call-overload]
    ],
)
def test_errors_say_what_is_wrong(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_the_verifier_tells_times_trees_and_the_last() -> None:
    right = gasla.sample_neighbors(STAR, [0, 0], [2], at=[4, 9], strategy="last")

    def check(found: Any, **options: Any) -> None:
        verify.sample_neighbors(STAR, [0, 0], [2], found, at=[4, 9], **options)

    check(right, strategy="last")
    early = gasla.sample_neighbors(STAR, [0, 0], [2], at=[4, 4], strategy="last")
    check(early)
    with pytest.raises(verify.VerificationError, match="drew edges outside its span of time, or not the last"):
        check(early, strategy="last")
    with pytest.raises(verify.VerificationError, match="drew edges outside its span"):
        check(gasla.sample_neighbors(STAR, [0, 0], [2], at=[9, 9], strategy="last"))
    with pytest.raises(verify.VerificationError, match="leads to another tree"):
        check(right._replace(edge_index=np.array([[1, 1, 0, 0], right.edge_index[1].tolist()])))
    with pytest.raises(verify.VerificationError, match="batch is"):
        check(right._replace(batch=None))
    with pytest.raises(verify.VerificationError, match="is in tree 5 of 2"):
        check(right._replace(batch=np.array([0, 1, 0, 0, 1, 5])))
    with pytest.raises(verify.VerificationError, match="has a batch; expected none"):
        verify.sample_neighbors(STAR, [0], [9], gasla.sample_neighbors(STAR, [0], [9], disjoint=True))
    rows = gasla.sample_neighbors(STAR, [0], 2, at=4, strategy="last")
    with pytest.raises(verify.VerificationError, match="row 0 has not the last 2 neighbors of vertex 0"):
        verify.sample_neighbors(STAR, [0], 2, rows[:, ::-1], at=4, strategy="last")


@pytest.mark.gpu
@pytest.mark.parametrize("options", WAYS)
def test_gpu_gives_the_same(options: Options) -> None:
    rng, base = np.random.default_rng(2), Graph(datasets.rmat(9))
    graph = base.with_values(rng.integers(0, 3, base.m).astype(np.float32))
    graph = graph.with_edge_attributes(time=rng.integers(0, 10**6, base.m))
    ids, at = rng.integers(0, graph.n, 200), rng.integers(0, 10**6, 200)
    expected = gasla.sample_neighbors(graph, ids, [5, 3], at=at, window=10**5, seed=7, **options)
    found = gasla.sample_neighbors(graph.to("gpu"), ids, [5, 3], at=at, window=10**5, seed=7, **options)
    for one, other in zip([*found[:3], found.batch], [*expected[:3], expected.batch]):
        np.testing.assert_array_equal(one.get(), other)
    assert found[3:5] == expected[3:5]
