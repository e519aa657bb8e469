"""Verifiers of arrivals, departures and durations of time-respecting paths."""

import math
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from gasla.graph.dates import NAT, Clock, clock_of
from gasla.graph.graph import as_graph
from gasla.graph.weights import differences
from gasla.verify._common import (
    SAMPLES,
    Array,
    VerificationError,
    check_source,
    reachable,
    require,
    sample,
    verifier,
    vertex_answer,
)

Duration = str | float | timedelta | np.timedelta64
Window = tuple[Any, Any] | str | timedelta | np.timedelta64


class Trips(NamedTuple):
    """The edges of a temporal graph that lie in a time window, as arrays of their ends, departures and arrivals.

    `start` and `end` are the first and the last time of the window, in the dtype of the times.
    """

    n: int
    src: Array
    dst: Array
    departure: Array
    arrival: Array
    start: Any
    end: Any
    has_dates: bool = False

    @property
    def limits(self) -> tuple[Any, Any]:
        """Return the smallest and the largest number that the dtype of the times can hold."""
        if self.arrival.dtype.kind == "f":
            return -np.inf, np.inf
        return np.iinfo(np.int64).min, np.iinfo(np.int64).max

    def backward(self) -> "Trips":
        """Return trips along the reversed edges, with times on a clock that runs backward.

        The latest departures of the graph are the earliest arrivals of these trips.
        """
        departure, arrival, start, end = map(flipped, (self.arrival, self.departure, self.end, self.start))
        return self._replace(src=self.dst, dst=self.src, departure=departure, arrival=arrival, start=start, end=end)

    def answer(self, name: str, given: ArrayLike, never: Any) -> Array:
        """Return the times of an answer, called `name` in errors, in the dtype of the trips' times.

        Dates become integers. `never` replaces NaT, which stands for a vertex that is not reached.
        """
        if not self.has_dates:
            return vertex_answer(name, given, self.n, self.arrival.dtype.kind).astype(self.arrival.dtype)
        dates = np.asarray(given)
        numbers = vertex_answer(name, dates.view(np.int64) if dates.dtype.kind in "mM" else dates, self.n, "i")
        return np.where(numbers == NAT, never, numbers)

    def arrivals(self, source: int, start: Any) -> Array:
        """Return the earliest arrival at each vertex, from a source that is left at time `start` or later.

        All trips improve the arrivals at their ends, again and again, until no arrival changes any more.
        """
        earliest = np.full(self.n, self.limits[1], self.arrival.dtype)
        earliest[source] = start
        while True:
            usable = earliest[self.src] <= self.departure
            better = earliest.copy()
            np.minimum.at(better, self.dst[usable], self.arrival[usable])
            better[source] = start
            if np.array_equal(better, earliest):
                return earliest
            earliest = better


def flipped(times: Any) -> Any:
    """Return times in the opposite order. Floats are negated. Integers get all bits inverted, which never overflows."""
    return -times if times.dtype.kind == "f" else ~times


def _trips(graph: Any, time: str, duration: Duration, window: Window | None, begin: int | None, leaves: bool) -> Trips:
    """Return the edges of a temporal graph whose times are within a window, as trips.

    If the window is only a duration, it begins when the vertex `begin` is first left (if `leaves` is True), or ends
    when `begin` is last reached (if it is False).
    """
    graph = as_graph(graph)
    src, dst = graph.edges()
    clock = clock_of(graph.edge_attributes, time, duration)
    if clock is not None:
        return _dated_trips(graph, time, duration, window, (begin, leaves), clock)
    departure = np.asarray(graph.edge_attributes[time])
    length = np.asarray(graph.edge_attributes[duration] if isinstance(duration, str) else duration)
    dtype = np.float64 if "f" in (departure.dtype.kind, length.dtype.kind) else np.int64
    departure = departure.astype(dtype)
    arrival = departure + length.astype(dtype)
    start, end = (_bound(bound, np.dtype(dtype), i) for i, bound in enumerate(cast(Any, window) or (None, None)))
    used = (departure >= start) & (arrival <= end)
    return Trips(graph.n, src[used], dst[used], departure[used], arrival[used], start, end)


def _dated_trips(
    graph: Any, time: str, duration: Any, window: Any, begin: tuple[int | None, bool], clock: Clock
) -> Trips:
    """Return the trips of a graph whose times are dates. The trips' times are integers, in a unit of time that suits
    all columns.

    `begin` is the vertex where a window that is only a duration begins, and whether that is when the vertex is left.
    """
    (src, dst), columns, (vertex, leaves) = graph.edges(), graph.edge_attributes, begin
    departure = columns.numbers(time) * clock.per_time
    takes = columns.numbers(duration) * clock.per_duration if duration in {*columns} else clock.duration
    arrival = departure + takes
    start: int | None = None
    end: int | None = None
    if window is not None and (span := clock.span(window)) is not None:
        times = departure[src == vertex] if leaves else arrival[dst == vertex]
        if len(times):
            start, end = (times.min(), times.min() + span) if leaves else (times.max() - span, times.max())
    elif window is not None:
        start, end = clock.bounds(window)
    has_trips = len(departure) > 0
    start = start if start is not None else departure.min() if has_trips else np.iinfo(np.int64).max
    end = end if end is not None else arrival.max() if has_trips else np.iinfo(np.int64).min
    used = (departure >= start) & (arrival <= end)
    return Trips(graph.n, src[used], dst[used], departure[used], arrival[used], np.int64(start), np.int64(end), True)


def _bound(bound: float | None, dtype: np.dtype[Any], end: int) -> Any:
    """Return the first number of a dtype that is not before a bound. With `end`, return the last number that is not
    after the bound.
    """
    smallest, largest = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if bound is None:
        return dtype.type(largest if end else smallest)
    exact = bound.item() if isinstance(bound, np.generic) else bound
    if exact <= smallest or exact >= largest:
        return dtype.type(smallest if exact <= smallest else largest)
    if dtype.kind != "f":
        return dtype.type(math.floor(exact) if end else math.ceil(exact))
    rounded = float(exact)
    if rounded > exact if end else rounded < exact:
        rounded = math.nextafter(rounded, -math.inf if end else math.inf)
    return dtype.type(rounded)


@verifier()
def earliest_arrival(
    graph: Any,
    source: Any,
    arrivals: ArrayLike,
    *,
    time: str = "time",
    duration: Duration = 0,
    window: Window | None = None,
) -> None:
    """Verify `arrivals` of `gasla.earliest_arrival`.

    No edge that departs once its source is reached arrives earlier than its end is reached, and such edges lead to each
    vertex that is reached.

    Examples
    --------
    >>> import gasla
    >>> calls = gasla.Graph.from_edges([0, 1], [1, 2]).with_edge_attributes(time=[1.0, 3.0])
    >>> earliest_arrival(calls, 0, [-np.inf, 1.0, 3.0])
    >>> earliest_arrival(calls, 0, [-np.inf, 1.0, 4.0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 2 is reached at 4.0, but the edge 1 → 2 arrives there at 3.0
    """
    trips = _trips(graph, time, duration, window, source, True)
    answer = trips.answer("arrivals", arrivals, trips.limits[1])
    _check_arrivals(trips, check_source(source, trips.n), answer, answer)


@verifier()
def latest_departure(
    graph: Any,
    target: Any,
    departures: ArrayLike,
    *,
    time: str = "time",
    duration: Duration = 0,
    window: Window | None = None,
) -> None:
    """Verify `departures` of `gasla.latest_departure`: as arrivals, on a clock that runs backward.

    Examples
    --------
    >>> import gasla
    >>> calls = gasla.Graph.from_edges([0, 1], [1, 2]).with_edge_attributes(time=[1.0, 3.0])
    >>> latest_departure(calls, 2, [1.0, 3.0, np.inf])
    >>> latest_departure(calls, 2, [1.0, 2.0, np.inf])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 1 is left at 2.0, but the edge 1 → 2 departs there at 3.0
    """
    trips = _trips(graph, time, duration, window, target, False)
    answer = trips.answer("departures", departures, trips.limits[0])
    _check_arrivals(trips.backward(), check_source(target, trips.n), flipped(answer), answer, True)


def _check_arrivals(trips: Trips, source: int, given: Array, shown: Array, is_backward: bool = False) -> None:
    """Verify that `given` are the earliest arrivals of trips or, if `is_backward`, the latest departures, as earliest
    arrivals on a clock that runs backward.

    Errors show the times in `shown`, which are the answer's own, and speak of departures if time runs backward.
    """
    end, reached, verb = ("target", "left", "departs") if is_backward else ("source", "reached", "arrives")
    times = flipped(trips.arrival) if is_backward else trips.arrival
    if given[source] != trips.start:
        raise VerificationError(f"the {end} {source} is {reached} at {shown[source]}, not at the bound of the window")
    require(given == given, lambda v: f"vertex {v} is {reached} at NaN")
    usable = given[trips.src] <= trips.departure

    def name(e: int) -> str:
        ends = (trips.dst[e], trips.src[e]) if is_backward else (trips.src[e], trips.dst[e])
        return f"edge {ends[0]} → {ends[1]}"

    require(
        ~usable | (given[trips.dst] <= trips.arrival),
        lambda e: (
            f"vertex {trips.dst[e]} is {reached} at {shown[trips.dst[e]]}, but the {name(e)} {verb} there at {times[e]}"
        ),
    )
    attains = usable & (given[trips.dst] == trips.arrival)
    require(
        reachable(trips.n, trips.src[attains], trips.dst[attains], [source]) | (given == trips.limits[1]),
        lambda v: f"vertex {v} is {reached} at {shown[v]}, but no time-respecting path has this time",
    )


@verifier()
def fastest_durations(
    graph: Any,
    source: Any,
    durations: ArrayLike,
    *,
    time: str = "time",
    duration: Duration = 0,
    window: Window | None = None,
    samples: int = SAMPLES,
) -> None:
    """Verify `durations` of `gasla.fastest_durations`: none of `samples` departures from the source offers less.

    If the source has no more departures than `samples`, one of them must attain each duration.

    Examples
    --------
    >>> import gasla
    >>> trains = gasla.Graph.from_edges([0, 0, 1], [1, 1, 2]).with_edge_attributes(time=[1.0, 5.0, 7.0])
    >>> fastest_durations(trains, 0, [0.0, 0.0, 2.0])
    >>> fastest_durations(trains, 0, [0.0, 0.0, 6.0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 2 is said to take 6.0 from the source 0, but a departure at 5.0 takes 2.0
    """
    trips = _trips(graph, time, duration, window, source, True)
    source, never = check_source(source, trips.n), trips.limits[1]
    answer = trips.answer("durations", durations, never)
    if answer[source] != 0:
        raise VerificationError(f"the duration of the source {source} is {answer[source]}; expected 0")
    require(answer == answer, lambda v: f"vertex {v} is said to take NaN")
    leaving = np.unique(trips.departure[trips.src == source])
    least = np.full(trips.n, never, answer.dtype)
    least[source] = 0
    chosen = leaving[sample(len(leaving), samples)]
    for start in chosen:
        arrivals = trips.arrivals(source, start)
        spans = differences(np.where(arrivals < never, arrivals, start), start)
        takes = np.minimum(np.where(arrivals < never, spans, spans.dtype.type(never)), never).astype(answer.dtype)
        require(
            answer <= takes,
            lambda v, start=start, takes=takes: (  # type: ignore[misc]
                f"vertex {v} is said to take {answer[v]} from the source {source}, but a departure at {start} takes "
                f"{takes[v]}"
            ),
        )
        least = np.minimum(least, takes)
    if len(chosen) == len(leaving):
        require(answer == least, lambda v: f"vertex {v} is said to take {answer[v]}, but the fastest takes {least[v]}")
    require(answer >= 0, lambda v: f"vertex {v} is said to take {answer[v]}, less than 0")


@verifier()
def temporal_reachability(
    graph: Any,
    sources: Iterable[Any],
    reached: ArrayLike,
    *,
    time: str = "time",
    duration: Duration = 0,
    window: Window | None = None,
    samples: int = SAMPLES,
) -> None:
    """Verify `reached` of `gasla.temporal_reachability` for `samples` sources, by arrivals that NumPy finds.

    Examples
    --------
    >>> import gasla
    >>> calls = gasla.Graph.from_edges([0, 1], [1, 2]).with_edge_attributes(time=[2, 1])
    >>> temporal_reachability(calls, [0], [[True, True, False]])
    >>> temporal_reachability(calls, [0], [[True, True, True]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 2 is said to be reached from source 0, but it is not
    """
    n = as_graph(graph).n
    chosen, array = [check_source(source, n) for source in sources], np.asarray(reached)
    if array.shape != (len(chosen), n) or array.dtype != bool:
        raise VerificationError(
            f"reached: bool of shape ({len(chosen)}, {n}) was expected, a row for each source, not "
            f"{array.dtype}{array.shape}"
        )
    for i in sample(len(chosen), samples):
        trips = _trips(graph, time, duration, window, chosen[i], True)
        is_reached = trips.arrivals(chosen[i], trips.start) < trips.limits[1]
        is_reached[chosen[i]] = True
        require(
            array[i] == is_reached,
            lambda v, i=i, is_reached=is_reached: (  # type: ignore[misc]
                f"vertex {v} is said {'' if array[i, v] else 'not '}to be reached from source {chosen[i]}, but it is"
                f"{'' if is_reached[v] else ' not'}"
            ),
        )
