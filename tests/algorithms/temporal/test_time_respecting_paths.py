"""Time-respecting paths: beside brute force over states of a vertex and a time, on hard shapes, and what is refused."""

from datetime import UTC, date, datetime, timedelta
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


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_dates_are_as_the_integers_that_count_them(data: st.DataObject) -> None:
    """Times in minutes and durations in seconds, against integers of seconds; never is NaT."""
    n, m = data.draw(st.integers(2, 5)), data.draw(st.integers(0, 9))
    ends = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=2 * m, max_size=2 * m)), int).reshape(2, m)
    minutes = np.array(data.draw(st.lists(st.integers(-4, 9), min_size=m, max_size=m)), np.int64)
    takes = np.array(data.draw(st.lists(st.integers(0, 150), min_size=m, max_size=m)), np.int64)
    bounds = data.draw(st.none() | st.tuples(st.none() | st.integers(-4, 3), st.none() | st.integers(3, 9)))
    graph = gasla.Graph.from_edges(*ends, n=n)
    counted = graph.with_edge_attributes(time=60 * minutes, long=takes)
    dated = graph.with_edge_attributes(time=minutes.view("M8[m]"), long=takes.view("m8[s]"))
    window = bounds and tuple(None if bound is None else np.datetime64(bound, "m") for bound in bounds)
    seconds = bounds and tuple(None if bound is None else 60 * bound for bound in bounds)
    for number, duration in ((0, 0), (90, "90s"), (120, timedelta(minutes=2)), ("long", "long")):
        right = gasla.temporal_reachability(counted, [0], duration=number, window=seconds)
        np.testing.assert_array_equal(gasla.temporal_reachability(dated, [0], duration=duration, window=window), right)
        for name, never in (("earliest_arrival", MOST), ("latest_departure", LEAST), ("fastest_durations", MOST)):
            expected = getattr(gasla, name)(counted, 0, duration=number, window=seconds)
            found = getattr(gasla, name)(dated, 0, duration=duration, window=window)
            getattr(verify, name)(dated, 0, found, duration=duration, window=window)
            assert found.dtype.kind == ("m" if name == "fastest_durations" else "M")
            plain = found.astype(f"{found.dtype.kind}8[s]")
            np.testing.assert_array_equal(np.isnat(plain[1:]), expected[1:] == never)
            is_never = np.isnat(plain)
            np.testing.assert_array_equal(plain.view(np.int64)[1:][~is_never[1:]], expected[1:][~is_never[1:]])
            assert m == 0 or not is_never[0]


def test_an_open_window_of_dates_is_that_of_the_graph() -> None:
    days = np.array(["2024-03-01", "2024-03-05"], "datetime64[D]")
    graph = gasla.Graph.from_edges([0, 1], [1, 2], n=4).with_edge_attributes(time=days)
    assert gasla.earliest_arrival(graph, 0).astype(str).tolist() == ["2024-03-01", *days.astype(str), "NaT"]
    assert gasla.latest_departure(graph, 2).astype(str).tolist() == [*days.astype(str), "2024-03-05", "NaT"]
    assert gasla.fastest_durations(graph, 0).tolist() == [timedelta(0), timedelta(0), timedelta(4), None]
    empty = gasla.Graph.from_edges([], [], n=2).with_edge_attributes(time=days[:0])
    for name in FUNCTIONS[:2]:
        found = getattr(gasla, name)(empty, 0)
        assert np.isnat(found).all()
        getattr(verify, name)(empty, 0, found)


MARCH = np.array(["2024-03-01T08:00", "2024-03-02T07:00", "2024-03-02T09:00"], "datetime64[m]")
WINDOWS: list[Any] = [
    ("2024-03-01", "2024-03-02 08:00"),
    (date(2024, 3, 1), datetime(2024, 3, 2, 8)),
    ("2024-03-01", "32h"),
    ("1 day", np.datetime64("2024-03-02T08:00")),
    "24h",
    timedelta(days=1),
    np.timedelta64(1440, "m"),
]


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_windows_of_dates_have_many_forms(window: Any) -> None:
    """The first two edges are in each."""
    graph = gasla.Graph.from_edges([0, 1, 2], [1, 2, 3]).with_edge_attributes(time=MARCH)
    found = gasla.earliest_arrival(graph, 0, window=window)
    assert found[1:].astype(str).tolist() == [*MARCH[:2].astype(str), "NaT"]
    assert gasla.temporal_reachability(graph, [0], window=window).tolist() == [[True, True, True, False]]
    verify.earliest_arrival(graph, 0, found, window=window)
    verify.temporal_reachability(graph, [0], [[True, True, True, False]], window=window)


def test_a_window_that_is_a_duration_ends_at_the_target() -> None:
    graph = gasla.Graph.from_edges([0, 1, 2], [1, 2, 3]).with_edge_attributes(time=MARCH)
    found = gasla.latest_departure(graph, 3, window="2h")
    assert found.astype(str).tolist() == ["NaT", *MARCH[1:].astype(str), "2024-03-02T09:00"]
    verify.latest_departure(graph, 3, found, window="2h")
    verify.fastest_durations(graph, 0, gasla.fastest_durations(graph, 0, window="1h"), window="1h")


def test_bounds_of_dates_in_a_zone_have_one() -> None:
    pd = pytest.importorskip("pandas")
    local = pd.Series(MARCH).dt.tz_localize("Asia/Tokyo")
    graph = gasla.Graph.from_edges([0, 1, 2], [1, 2, 3]).with_edge_attributes(time=local)
    for bound in ("2024-03-02 08:00+09:00", pd.Timestamp("2024-03-01 23:00Z"), np.datetime64("2024-03-01T23:00")):
        found = gasla.earliest_arrival(graph, 1, window=(bound, None))
        assert np.isnat(found[2:]).all(), bound
    assert not np.isnat(gasla.earliest_arrival(graph, 1, window=("2024-03-02 07:00+09:00", None))[2])
    for bound in ("2024-03-02", date(2024, 3, 2), datetime(2024, 3, 2), pd.Timestamp("2024-03-02")):
        with pytest.raises(
            ValueError, match=r"without a zone, and the times are in Asia/Tokyo; .* '2024-03-02T00:00:00\+09:00'"
        ):
            gasla.earliest_arrival(graph, 1, window=(bound, None))
    with pytest.raises(ValueError, match=r"is '2024-03-02T00:00:00\.1234567', without a zone"):
        gasla.earliest_arrival(graph, 1, window=("2024-03-02T00:00:00.1234567", None))


DATED = gasla.Graph.from_edges([0, 1, 2], [1, 2, 3]).with_edge_attributes(
    time=MARCH, number=[1, 2, 3], back=-np.ones(3, "m8[s]"), far=np.full(3, "9000-01-01", "M8[D]")
)


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"window": (5, None)}, ValueError, r"window\[0\] is 5; expected a date, such as .*datetime64\[m\]"),
        ({"window": (None, "soon")}, ValueError, r"window\[1\] is 'soon'; expected a date"),
        ({"window": ([], None)}, TypeError, r"window\[0\] is \[\]; expected a date"),
        ({"window": "soon"}, ValueError, "window is 'soon'; expected a duration, such as"),
        ({"window": "-1h"}, ValueError, "expected a duration of 0 or more"),
        ({"window": (None, "3h")}, TypeError, "expected a date for the end that '3h' counts from"),
        ({"window": ("2024-03-02", "2024-03-01")}, ValueError, "expected a start that is not after the end"),
        ({"window": 24}, TypeError, r"window is 24; expected \(start, end\)"),
        ({"window": (datetime(2024, 3, 1, tzinfo=UTC), None)}, TypeError, "with a zone, and the times have none"),
        ({"duration": 5}, ValueError, "duration is 5; expected a duration, such as '90min'"),
        ({"duration": "long"}, ValueError, "'long' is no edge attribute"),
        ({"duration": "number"}, TypeError, "'number', the duration, holds int64, and 'time', the time, datetime64"),
        ({"duration": "time"}, TypeError, "expected durations"),
        ({"duration": "back"}, ValueError, "'back', the duration, is -1 seconds at edge 0; expected 0 or more"),
        ({"time": "far", "duration": "1ns"}, ValueError, "is 9000-01-01 at edge 0; expected dates within the range"),
        ({"time": "number", "duration": "back"}, TypeError, "'back', the duration, holds timedelta64"),
    ],
)
def test_dates_and_durations_are_not_mixed_with_numbers(options: Any, kind: type[Exception], words: str) -> None:
    for name in FUNCTIONS:
        with pytest.raises(kind, match=words):
            getattr(gasla, name)(DATED, 0, **options)


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
        ({"window": ("a", 1)}, ValueError, r"window\[0\] is 'a'; expected a number"),
        ({"duration": np.timedelta64(1, "h")}, TypeError, "expected a number, as 'time' holds numbers"),
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


LARGE = 2**62 - 1
ENDS = [-LARGE, -LARGE + 1, -(2**53) - 1, -1, 0, 1, 2**31, 2**53 + 1, 2**61, LARGE - 1, LARGE]


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_times_at_the_ends_of_their_type(data: st.DataObject) -> None:
    """Exactly as in Python's integers, or an error that names a duration that no int64 holds."""
    n, m = data.draw(st.integers(2, 4)), data.draw(st.integers(1, 8))
    ends = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=2 * m, max_size=2 * m))).reshape(2, m)
    times = data.draw(st.lists(st.sampled_from(ENDS), min_size=m, max_size=m))
    long = data.draw(st.lists(st.sampled_from([e for e in ENDS if e >= 0]), min_size=m, max_size=m))
    graph = gasla.Graph.from_edges(*ends, n=n).with_edge_attributes(time=times, long=long)
    duration = data.draw(st.sampled_from(["long", 0, *[e for e in ENDS if e > 0]]))
    bounds = st.sampled_from([None, *ENDS, -(2**63), 2**63 - 1, LARGE + 7])
    window = data.draw(st.tuples(bounds, bounds).filter(lambda w: None in w or w[0] <= w[1]))
    trips = [(u, v, t, t + d) for u, v, t, d in zip(*ends.tolist(), times, long)]  # of Python's integers
    if isinstance(duration, int):
        trips = [(u, v, t, t + duration) for u, v, t, _ in trips]
    never = 2**99
    for name, right in brute(n, trips, 0, window, (-never, never)).items():
        question: Any = [0] if name == "temporal_reachability" else 0
        if any(MOST <= x < never for x in right if name == "fastest_durations"):
            with pytest.raises(ValueError, match=r"the shortest duration to vertex \d is .*; expected a int64 below"):
                gasla.fastest_durations(graph, 0, duration=duration, window=window)
            continue
        found = getattr(gasla, name)(graph, question, duration=duration, window=window)
        if name != "temporal_reachability":
            right = [{never: MOST, -never: LEAST}.get(x, x) for x in right]
        assert found.tolist() == right, name
        getattr(verify, name)(graph, question, found, duration=duration, window=window)


def test_sums_and_differences_that_no_float_holds_are_refused() -> None:
    graph = gasla.Graph.from_edges([0, 1], [1, 2])
    far = graph.with_edge_attributes(time=[-1.5e308, 1.5e308], long=[0.0, 1e308])
    for function in (gasla.earliest_arrival, gasla.latest_departure, gasla.fastest_durations):
        with pytest.raises(ValueError, match="add up to infinity in float64"):
            function(far, 0, duration="long")
    with pytest.raises(ValueError, match="the shortest duration to vertex 2 is inf"):
        gasla.fastest_durations(far, 0)
    exact = graph.with_edge_attributes(time=[0, 2**53 + 1])
    assert gasla.earliest_arrival(exact, 0, duration=2**53 + 1).tolist() == [LEAST, 2**53 + 1, 2**54 + 2]
    with pytest.raises(ValueError, match=r"expected a number below 2\*\*62"):
        gasla.earliest_arrival(exact, 0, duration=2**62)
    rounded = graph.with_edge_attributes(time=[2.0**53, 2.0**53])
    assert gasla.earliest_arrival(rounded, 0, window=(2**53 + 1, None))[1] == np.inf
