"""Verifiers of arrivals, departures and durations of time-respecting paths."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gasla.graph.graph import as_graph
from gasla.verify._common import (
    SAMPLES,
    Array,
    VerificationError,
    check_source,
    reachable,
    require,
    sample,
    takes_names,
    vertex_answer,
)

Window = tuple[float | None, float | None]


class Trips(NamedTuple):
    """The edges of a temporal graph that are in a window: their ends, departures and arrivals."""

    n: int
    src: Array
    dst: Array
    departure: Array
    arrival: Array

    @property
    def limits(self) -> tuple[Any, Any]:
        """The least and the greatest number of the type of times."""
        if self.arrival.dtype.kind == "f":
            return -np.inf, np.inf
        return np.iinfo(np.int64).min, np.iinfo(np.int64).max

    def backward(self) -> "Trips":
        """The trips with ends swapped, on a clock that runs backward."""
        return Trips(self.n, self.dst, self.src, flipped(self.arrival), flipped(self.departure))

    def arrivals(self, source: int, start: Any) -> Array:
        """The earliest arrival at each vertex, improved by all trips until none improves any."""
        found = np.full(self.n, self.limits[1], self.arrival.dtype)
        found[source] = start
        while True:
            usable = found[self.src] <= self.departure
            better = found.copy()
            np.minimum.at(better, self.dst[usable], self.arrival[usable])
            better[source] = start
            if np.array_equal(better, found):
                return found
            found = better


def flipped(times: Array) -> Array:
    """Times in the opposite order; of integers the bits are inverted, which never overflows."""
    return -times if times.dtype.kind == "f" else ~times


def _trips(graph: Any, time: str, duration: str | float, window: Window | None) -> Trips:
    graph = as_graph(graph)
    src, dst = graph.edges()
    departure = np.asarray(graph.edge_attributes[time])
    length = np.asarray(graph.edge_attributes[duration] if isinstance(duration, str) else duration)
    kind = np.float64 if "f" in (departure.dtype.kind, length.dtype.kind) else np.int64
    departure = departure.astype(kind)
    arrival = departure + length.astype(kind)
    start, end = window or (None, None)
    used = np.ones(len(src), bool)
    if start is not None:
        used &= departure >= start
    if end is not None:
        used &= arrival <= end
    return Trips(graph.n, src[used], dst[used], departure[used], arrival[used])


@takes_names
def earliest_arrival(
    graph: Any,
    source: Any,
    arrivals: ArrayLike,
    *,
    time: str = "time",
    duration: str | float = 0,
    window: Window | None = None,
) -> None:
    """Verify the earliest arrivals of time-respecting paths from a source.

    Parameters
    ----------
    graph, source, time, duration, window
        As for `gasla.earliest_arrival`.
    arrivals : array of int64 or float64
        The arrival at each vertex; the largest number of the type, or inf, if there is none.

    Examples
    --------
    >>> import gasla
    >>> calls = gasla.Graph.from_edges([0, 1], [1, 2]).with_edge_attributes(time=[1.0, 3.0])
    >>> earliest_arrival(calls, 0, [-np.inf, 1.0, 3.0])
    >>> earliest_arrival(calls, 0, [-np.inf, 1.0, 4.0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 2 is reached at 4.0, but the edge 1 → 2 arrives there at 3.0
    """
    trips = _trips(graph, time, duration, window)
    start = None if window is None else window[0]
    given = vertex_answer("arrivals", arrivals, trips.n, trips.arrival.dtype.kind).astype(trips.arrival.dtype)
    _check_arrivals(trips, check_source(source, trips.n), trips.limits[0] if start is None else start, given, given)


@takes_names
def latest_departure(
    graph: Any,
    target: Any,
    departures: ArrayLike,
    *,
    time: str = "time",
    duration: str | float = 0,
    window: Window | None = None,
) -> None:
    """Verify the latest departures of time-respecting paths to a target.

    Parameters
    ----------
    graph, target, time, duration, window
        As for `gasla.latest_departure`.
    departures : array of int64 or float64
        The departure from each vertex; the smallest number of the type, or -inf, if there is none.

    Examples
    --------
    >>> import gasla
    >>> calls = gasla.Graph.from_edges([0, 1], [1, 2]).with_edge_attributes(time=[1.0, 3.0])
    >>> latest_departure(calls, 2, [1.0, 3.0, np.inf])
    >>> latest_departure(calls, 2, [1.0, 2.0, np.inf])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 1 is left at 2.0, but the edge 1 → 2 departs there at 3.0
    """
    trips = _trips(graph, time, duration, window)
    end = None if window is None else window[1]
    given = vertex_answer("departures", departures, trips.n, trips.arrival.dtype.kind).astype(trips.arrival.dtype)
    last = np.array(trips.limits[1] if end is None else end).astype(trips.arrival.dtype)
    _check_arrivals(trips.backward(), check_source(target, trips.n), flipped(last), flipped(given), given, True)


def _check_arrivals(
    trips: Trips, source: int, start: Any, given: Array, shown: Array, is_backward: bool = False
) -> None:
    """Verify earliest arrivals; errors show the numbers in `shown`, and say departures if time runs backward."""
    end, reached, verb = ("target", "left", "departs") if is_backward else ("source", "reached", "arrives")
    times = flipped(trips.arrival) if is_backward else trips.arrival
    if given[source] != start:
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


@takes_names
def fastest_durations(
    graph: Any,
    source: Any,
    durations: ArrayLike,
    *,
    time: str = "time",
    duration: str | float = 0,
    window: Window | None = None,
    samples: int = SAMPLES,
) -> None:
    """Verify the least durations of time-respecting paths from a source.

    Parameters
    ----------
    graph, source, time, duration, window
        As for `gasla.fastest_durations`.
    durations : array of int64 or float64
        The duration of a path to each vertex; the largest number of the type, or inf, if there is none.
    samples : int
        Number of departures from the source to search from. If there are no more, durations are verified completely.

    Examples
    --------
    >>> import gasla
    >>> trains = gasla.Graph.from_edges([0, 0, 1], [1, 1, 2]).with_edge_attributes(time=[1.0, 5.0, 7.0])
    >>> fastest_durations(trains, 0, [0.0, 0.0, 2.0])
    >>> fastest_durations(trains, 0, [0.0, 0.0, 6.0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 2 is said to take 6.0 from the source 0, but a departure at 5.0 takes 2.0
    """
    trips = _trips(graph, time, duration, window)
    source, never = check_source(source, trips.n), trips.limits[1]
    given = vertex_answer("durations", durations, trips.n, trips.arrival.dtype.kind).astype(trips.arrival.dtype)
    if given[source] != 0:
        raise VerificationError(f"the duration of the source {source} is {given[source]}; expected 0")
    require(given == given, lambda v: f"vertex {v} is said to take NaN")
    leaving = np.unique(trips.departure[trips.src == source])
    least = np.full(trips.n, never, given.dtype)
    least[source] = 0
    chosen = leaving[sample(len(leaving), samples)]
    for start in chosen:
        arrivals = trips.arrivals(source, start)
        takes = np.where(arrivals < never, arrivals, start) - start
        takes = np.where(arrivals < never, takes, never).astype(given.dtype)
        require(
            given <= takes,
            lambda v, start=start, takes=takes: (  # type: ignore[misc]
                f"vertex {v} is said to take {given[v]} from the source {source}, but a departure at {start} takes "
                f"{takes[v]}"
            ),
        )
        least = np.minimum(least, takes)
    if len(chosen) == len(leaving):
        require(given == least, lambda v: f"vertex {v} is said to take {given[v]}, but the fastest takes {least[v]}")
    require(given >= 0, lambda v: f"vertex {v} is said to take {given[v]}, less than 0")


@takes_names
def temporal_reachability(
    graph: Any,
    sources: Iterable[Any],
    reached: ArrayLike,
    *,
    time: str = "time",
    duration: str | float = 0,
    window: Window | None = None,
    samples: int = SAMPLES,
) -> None:
    """Verify which vertices time-respecting paths reach from each source.

    Parameters
    ----------
    graph, sources, time, duration, window
        As for `gasla.temporal_reachability`.
    reached : (len(sources), n) array of bool
        Whether a path leads from the source of the row to the vertex of the column.
    samples : int
        Number of sources to search from.

    Examples
    --------
    >>> import gasla
    >>> calls = gasla.Graph.from_edges([0, 1], [1, 2]).with_edge_attributes(time=[2, 1])
    >>> temporal_reachability(calls, [0], [[True, True, False]])
    >>> temporal_reachability(calls, [0], [[True, True, True]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 2 is said to be reached from source 0, but it is not
    """
    trips = _trips(graph, time, duration, window)
    chosen, array = [check_source(source, trips.n) for source in sources], np.asarray(reached)
    if array.shape != (len(chosen), trips.n) or array.dtype != bool:
        raise VerificationError(
            f"reached: bool of shape ({len(chosen)}, {trips.n}) was expected, one row a source, not "
            f"{array.dtype}{array.shape}"
        )
    start = None if window is None else window[0]
    for i in sample(len(chosen), samples):
        found = trips.arrivals(chosen[i], trips.limits[0] if start is None else start) < trips.limits[1]
        require(
            array[i] == found,
            lambda v, i=i, found=found: (  # type: ignore[misc]
                f"vertex {v} is said {'' if array[i, v] else 'not '}to be reached from source {chosen[i]}, but it is"
                f"{'' if found[v] else ' not'}"
            ),
        )
