"""Time-respecting paths: beside brute force over states of a vertex and a time, on hard shapes, and what is refused."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import verify
from gasla.arrays import moved
from gasla.verify import VerificationError

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]
LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
Trip = tuple[int, int, Any, Any]  # from, to, departure, arrival


def states(trips: list[Trip], source: int, start: Any) -> set[tuple[int, Any]]:
    """Every pair of a vertex and a time of arrival there, along all paths from a source; trips by departure."""
    found, waiting = {(source, start)}, [(source, start)]
    while waiting:
        vertex, time = waiting.pop()
        for src, dst, departure, arrival in trips:
            if src == vertex and departure >= time and (dst, arrival) not in found:
                found.add((dst, arrival))
                waiting.append((dst, arrival))
    return found


def brute(n: int, trips: list[Trip], vertex: int, window: Any, limits: tuple[Any, Any]) -> dict[str, list[Any]]:
    """The answers of all four functions about a vertex, by trying all paths."""
    (least, most), (start, end) = limits, window or (None, None)
    trips = [t for t in trips if (start is None or t[2] >= start) and (end is None or t[3] <= end)]
    trips.sort(key=lambda trip: trip[2])
    first = least if start is None else start
    reached = states(trips, vertex, first)
    arrivals = [first if v == vertex else min([t for u, t in reached if u == v], default=most) for v in range(n)]
    departures = [least] * n
    durations = [most] * n
    for src, dst, departure, arrival in trips:
        after = states(trips, dst, arrival)
        if any(u == vertex for u, _ in after):
            departures[src] = max(departures[src], departure)
        if src == vertex:
            for u, t in after:
                durations[u] = min(durations[u], t - departure)
    departures[vertex] = most if end is None else end
    durations[vertex] = 0
    return {
        "earliest_arrival": arrivals,
        "latest_departure": departures,
        "fastest_durations": durations,
        "temporal_reachability": [[a < most or v == vertex for v, a in enumerate(arrivals)]],
    }


def check(graph: gasla.Graph, vertex: int, duration: Any, window: Any, device: Any = "cpu") -> None:
    (src, dst), times = graph.edges(), graph.edge_attributes["time"]
    long = graph.edge_attributes[duration] if isinstance(duration, str) else np.full(graph.m, duration)
    is_float = "f" in (times.dtype.kind, long.dtype.kind)
    kind, limits = (np.float64, (-np.inf, np.inf)) if is_float else (np.int64, (LEAST, MOST))
    ends = times.astype(kind) + long.astype(kind)
    trips = list(zip(src.tolist(), dst.tolist(), times.astype(kind).tolist(), ends.tolist(), strict=True))
    there, options = graph.to(device), {"duration": duration, "window": window}
    for name, right in brute(graph.n, trips, vertex, window, limits).items():
        question = [vertex] if name == "temporal_reachability" else vertex
        found = moved(getattr(gasla, name)(there, question, **options), "cpu")
        assert found.dtype == (bool if name == "temporal_reachability" else kind)
        np.testing.assert_array_equal(found, np.array(right, found.dtype), err_msg=name)
        getattr(verify, name)(graph, question, found, **options)


def drawn(n: int, m: int, seed: int, latest: int = 8, kind: Any = np.int64) -> gasla.Graph:
    """A graph with loops, parallel edges, times that repeat and durations of which some are 0."""
    rng = np.random.default_rng(seed)
    graph = gasla.Graph.from_edges(rng.integers(0, n, m), rng.integers(0, n, m), n=n)
    times, long = rng.integers(-2, latest, m), rng.integers(0, 3, m)
    return graph.with_edge_attributes(time=times.astype(kind), long=long.astype(kind))


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_paths_are_those_of_brute_force(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 6))
    graph = drawn(n, data.draw(st.integers(0, 16)), data.draw(st.integers(0, 10**6)))
    duration = data.draw(st.sampled_from(["long", 0, 1, 0.5]))
    start, end = data.draw(st.none() | st.integers(-3, 5)), data.draw(st.none() | st.integers(5, 9))
    window = data.draw(st.sampled_from([None, (start, end)]))
    check(graph, data.draw(st.integers(0, n - 1)), duration, window)


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@given(st.integers(1, 7), st.integers(0, 20), st.integers(0, 10**6))
def test_the_interpreter_finds_the_same_paths(n: int, m: int, seed: int) -> None:
    with gasla.engines.interpreted():
        check(drawn(n, m, seed), seed % n, ["long", 0][seed % 2], [None, (0, 6)][seed // 2 % 2])


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", ["int8", "uint16", "int64", "float32", "float64", "bool"])
def test_times_of_every_type(kind: str, device: Any) -> None:
    graph = drawn(7, 20, 3)
    ids = np.arange(20)
    graph = graph.with_edge_attributes(time=(ids * 7 % 5).astype(kind), long=(ids % 3).astype(kind))
    for vertex in range(3):
        check(graph, vertex, "long", None, device)
        check(graph, vertex, 1, (1, 4), device)


SHAPES = {
    "no edge": ([], [], [], 3),
    "one vertex": ([0, 0], [0, 0], [1, 5], 1),
    "in the wrong order": ([0, 1, 2], [1, 2, 3], [3, 2, 1], 4),
    "all at once": ([0, 1, 2, 3], [1, 2, 3, 0], [5, 5, 5, 5], 5),
    "parallel": ([0, 0, 0, 1, 1], [1, 1, 1, 2, 2], [4, 1, 9, 3, 5], 3),
    "nanoseconds": ([0, 1, 1], [1, 2, 2], [2**60 + 1, 2**60, 2**60 + 3], 3),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_hard_shapes(shape: str, device: Any) -> None:
    src, dst, times, n = SHAPES[shape]
    graph = gasla.Graph.from_edges(np.array(src, int), np.array(dst, int), n=n)
    graph = graph.with_edge_attributes(time=np.array(times, np.int64))
    for window in (None, (2, 5), (None, 4), (3, None)):
        check(graph, 0, 0, window, device)
        check(graph, n - 1, 1, window, device)


@pytest.mark.thorough
def test_large_graphs_pass_the_verifiers() -> None:
    graph = drawn(2000, 30_000, 1, latest=10_000)
    verify.earliest_arrival(graph, 5, gasla.earliest_arrival(graph, 5, duration="long"), duration="long")
    verify.latest_departure(graph, 5, gasla.latest_departure(graph, 5), window=None)
    window = (100, 900)
    verify.fastest_durations(graph, 5, gasla.fastest_durations(graph, 5, window=window), window=window)
    verify.temporal_reachability(graph, [5, 9], gasla.temporal_reachability(graph, [5, 9]))


def test_a_column_may_have_any_name_and_unsorted_and_wide_lists() -> None:
    graph = gasla.Graph.from_csr(np.array([0, 2, 3, 3]), np.array([2, 1, 2])).with_edge_attributes(hour=[9, 1, 4])
    assert gasla.earliest_arrival(graph, 0, time="hour", window=(0, None)).tolist() == [0, 1, 4]


def test_dates_are_integers_of_their_unit() -> None:
    days = np.array(["2024-03-01", "2024-03-05"], "datetime64[D]")
    graph = gasla.Graph.from_edges([0, 1], [1, 2]).with_edge_attributes(time=days)
    found = gasla.earliest_arrival(graph, 0)[1:].astype("datetime64[D]")
    np.testing.assert_array_equal(found, days)


GRAPH = gasla.Graph.from_edges([0, 1], [1, 2]).with_edge_attributes(time=[1.0, 2.0], less=[0.0, -1.0])
FUNCTIONS = ["earliest_arrival", "latest_departure", "fastest_durations"]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"time": "when"}, ValueError, "'when' is no edge attribute; there are 'time', 'less'"),
        ({"time": 3}, TypeError, "time is 3; expected the name of an edge attribute"),
        ({"duration": "long"}, ValueError, "'long' is no edge attribute"),
        ({"duration": -1}, ValueError, "duration is -1; expected a number from 0 to"),
        ({"duration": "less"}, ValueError, r"'less', the duration, is -1\.0 at edge 1; expected 0 or more"),
        ({"window": (3, 1)}, ValueError, r"window is \(3, 1\); expected a start that is not after the end"),
        ({"window": 3}, TypeError, r"window is 3; expected \(start, end\)"),
        ({"window": ("a", 1)}, TypeError, r"window\[0\] is 'a'; expected a number"),
    ],
)
def test_unsupported_options_are_refused(function: str, options: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        getattr(gasla, function)(GRAPH, 0, **options)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_unsupported_graphs_are_refused(function: str) -> None:
    call = getattr(gasla, function)
    with pytest.raises(ValueError, match="outside a graph of 3 vertices"):
        call(GRAPH, 3)
    with pytest.raises(ValueError, match=r"'time' is no edge attribute; the graph has none; add it: graph\.with_edge"):
        call(gasla.Graph.from_edges([0], [1]), 0)
    for times, words in (
        ([1.0, np.nan], "'time', the time, is nan at edge 1; expected a finite number"),
        ([2**62, 0], r"'time', the time, is 4611686018427387904 at edge 0; expected an integer between -2\*\*62 and"),
    ):
        with pytest.raises(ValueError, match=words):
            call(GRAPH.with_edge_attributes(time=times), 0)


@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [
        ("earliest_arrival", [LEAST, 2, 5], "vertex 2 is reached at 5, but the edge 1 → 2 arrives there at 3"),
        ("earliest_arrival", [LEAST, 2, 1], "vertex 2 is reached at 1, but no time-respecting path has this time"),
        ("latest_departure", [MOST, 1, 2], "vertex 1 is left at 1, but no time-respecting path has this time"),
        ("fastest_durations", [0, 0, 2], "vertex 2 is said to take 2 from the source 0, but a departure at 2 takes 1"),
        ("fastest_durations", [0, 0, 0], "vertex 2 is said to take 0, but the fastest takes 1"),
    ],
)
def test_verifiers_reject_wrong_answers(name: str, answer: list[int], words: str) -> None:
    graph = gasla.Graph.from_edges([0, 1], [1, 2]).with_edge_attributes(time=[2, 3])
    getattr(verify, name)(graph, 0, getattr(gasla, name)(graph, 0))
    with pytest.raises(VerificationError, match=words):
        getattr(verify, name)(graph, 0, answer)
