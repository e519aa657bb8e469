"""Departures and arrivals of the edges of a temporal graph as ranks among all its times, and searches by time.

Ranks are small integers, which are exact whatever the dtype of the times, so one program serves numbers and dates.
"""

import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.arrays import distinct, module_of
from gasla.graph.arguments import real_number
from gasla.graph.dates import NAT, Clock, clock_of
from gasla.graph.edge_times import LARGEST_TIME, check_times
from gasla.graph.graph import Graph
from gasla.operations.run import run
from gasla.program import VertexProgram, edge, option, parameter, vertex

NEVER = 2**30  # larger than all ranks of 32 bits; ranks of 64 bits use 2**62
Duration = str | float | timedelta | np.timedelta64
Window = tuple[Any, Any] | str | timedelta | np.timedelta64


class Arrivals(VertexProgram):
    """arrival(v) = the earliest arrival at v by an in-edge that departs no earlier than the arrival at its source.

    All times are ranks. The run ends, because an arrival only decreases, each time to that of one of finitely many
    edges.
    """

    rank = option(np.int32)
    never = option(NEVER)
    last = parameter(rank, NEVER - 1)
    arrival = vertex(rank, init=never)
    departs = edge(rank, attribute="departure")
    arrives = edge(rank, attribute="arrival")
    reduce = semirings.min

    def gather(self, src, dst, edge):
        # The clipped difference is 1 if the edge departs too early, and 0 otherwise. Unlike a comparison, the compiler
        # can tell that it grows with the arrival.
        is_late = semirings.minimum(semirings.maximum(src.arrival - edge.departs, 0), 1)
        arrival = semirings.maximum(edge.arrives, is_late * self.never)
        return semirings.cast(semirings.where(edge.arrives <= self.last, arrival, self.never), self.rank)

    def apply(self, vertex, gathered):
        return {"arrival": semirings.minimum(vertex.arrival, gathered)}

    def priority(self, vertex):
        return vertex.arrival


class Departures(VertexProgram):
    """departure(v) = the latest departure from v by an out-edge that arrives no later than the departure from its end.

    All times are ranks, and -1 stands for never. The run ends, because a departure only increases, each time to that of
    one of finitely many edges.
    """

    direction = "out"
    rank = option(np.int32)
    never = option(NEVER)
    first = parameter(rank, 0)
    last = parameter(rank, NEVER - 1)
    departure = vertex(rank, init=-1)
    departs = edge(rank, attribute="departure")
    arrives = edge(rank, attribute="arrival")
    reduce = semirings.max

    def gather(self, src, dst, edge):
        is_late = semirings.minimum(semirings.maximum(edge.arrives - src.departure, 0), 1)  # 0 or 1, as in Arrivals
        departure = semirings.minimum(edge.departs, self.never - is_late * (self.never + 1))
        return semirings.cast(semirings.where(edge.departs >= self.first, departure, -1), self.rank)

    def apply(self, vertex, gathered):
        return {"departure": semirings.maximum(vertex.departure, gathered)}

    def priority(self, vertex):
        # priorities from 0 up, since negative priorities take many times the buckets
        return self.last - vertex.departure


class Timed(NamedTuple):
    """A graph whose edges have departures and arrivals as ranks: positions in `times`, the sorted array of all its
    times.
    """

    graph: Graph
    times: Any
    # converts between dates and `times`, which then are integers in the clock's unit; None if the times are numbers
    clock: Clock | None = None

    @property
    def rank(self) -> np.dtype:
        """The dtype of ranks, the positions of times in the sorted array of all times. It is int32 unless there are too
        many.
        """
        return np.dtype(np.int32 if len(self.times) < NEVER else np.int64)

    @property
    def never(self) -> int:
        """The rank that stands for "never". It is larger than the ranks of all times of the graph."""
        return NEVER if self.rank == np.int32 else 2**62

    def first_from(self, start: Any) -> int:
        """Return the rank (the position among all times of the graph) of the first time that is `start` or later.

        If `start` is None, return 0.
        """
        return 0 if start is None else self._search_time(start, "left")

    def last_until(self, end: Any) -> int:
        """Return the rank (the position among all times of the graph) of the last time that is `end` or earlier.

        Return -1 if there is no such time. If `end` is None, return the rank of the last time of all.
        """
        return len(self.times) - 1 if end is None else self._search_time(end, "right") - 1

    def bounds(self, window: Any, vertex: int, leaves: bool = True) -> tuple[Any, Any]:
        """Return the start and the end of a window in the dtype of the times. An open side of the window is None.

        If the window is a single duration, it begins when the vertex is first left, or without `leaves` ends when the
        vertex is last reached.
        """
        if window is None:
            return None, None
        if self.clock is None:
            return bounds_of(window, self.times)
        if (span := self.clock.span(window)) is None:
            return self.clock.bounds(window)
        at_vertex = self.graph.edges()[0 if leaves else 1] == vertex
        ranks = self.graph.edge_attributes["departure" if leaves else "arrival"][at_vertex]
        if not len(ranks):
            return None, None
        moment = int(self.times[ranks.min() if leaves else ranks.max()])
        return (moment, moment + span) if leaves else (moment - span, moment)

    def result(self, ranks: Any, happens: Any, vertex: int, bound: Any, latest: bool) -> Any:
        """Return the times that a search has found for the vertices, given their ranks, in the form that users get.

        `happens` says which vertices are reached. Others get the largest number of the dtype, or the smallest if
        `latest`, or NaT. The vertex where the search begins gets `bound`, the bound of the window of times. If the
        window is open, the vertex gets the opposite extreme number, or the first or last date.
        """
        dtype = self.times.dtype
        if self.clock is None:
            times = times_of(self, ranks, happens, extreme(dtype, least=latest))
            times[vertex] = extreme(dtype, least=not latest) if bound is None else bound
            return times
        times = times_of(self, ranks, happens, NAT)
        if bound is None and len(self.times):
            bound = int(self.times[-1 if latest else 0])
        times[vertex] = NAT if bound is None else bound
        return self.clock.type.shown(times)

    def _search_time(self, time: Any, search_side: Any) -> int:
        xp: Any = module_of(self.graph.device)
        return int(xp.searchsorted(self.times, xp.asarray([time], self.times.dtype), side=search_side)[0])

    def arrivals(self, source: int, first: int, last: int, start: Any = None) -> Any:
        """Return the rank of the earliest arrival at each vertex, from a source that is left at rank `first` or later.

        If given, `start` has the arrivals that an earlier search found, and this search improves them.
        """
        program = Arrivals(rank=self.rank, never=self.never, last=last)
        start = {source: first} if start is None else start
        return run(program, self.graph, active=[source], arrival=start, wait=False).arrival

    def departures(self, target: int, first: int, last: int) -> Any:
        """Return the rank of the latest departure from each vertex to a target that is reached at rank `last` or
        earlier.
        """
        program = Departures(rank=self.rank, never=self.never, first=first, last=last)
        return run(program, self.graph, active=[target], departure={target: last}, wait=False).departure


def timed(graph: Graph, time: str, duration: Duration) -> Timed:
    """Return a graph whose edges have their departures and arrivals as ranks, positions in the sorted array of all
    times.

    `time` is the edge attribute with the times of departure. The result is cached with the graph.
    """
    if not isinstance(time, str):
        raise TypeError(f"time is {time!r}; expected the name of an edge attribute, such as 'time'")
    graph.edge_attributes.require(time, "time")
    if (clock := clock_of(graph.edge_attributes, time, duration)) is not None:
        column = duration if isinstance(duration, str) and duration in graph.edge_attributes else clock.duration
        return graph.kept(("timed", time, column, clock), lambda graph: _rank_times(graph, time, column, clock))
    length: str | float
    if isinstance(duration, timedelta | np.timedelta64):
        raise TypeError(f"duration is {duration!r}; expected a number, as {time!r} holds numbers")
    if isinstance(duration, str):
        graph.edge_attributes.require(duration, "duration")
        length = duration
    else:
        as_float = real_number("duration", duration, most=LARGEST_TIME)
        length = int(duration) if as_float == int(as_float) else as_float  # `int(as_float)` is inexact from 2**53 on
        if isinstance(length, int) and length >= LARGEST_TIME:
            raise ValueError(f"duration is {duration!r}; expected a number below 2**62")
    return graph.kept(("timed", time, length), lambda graph: _rank_times(graph, time, length))


def _rank_times(graph: Graph, time: str, duration: str | float, clock: Clock | None = None) -> Timed:
    xp: Any = module_of(graph.device)
    per_time, per_duration = (1, 1) if clock is None else (clock.per_time, clock.per_duration)
    check_times("time", graph, time, per=per_time)
    if isinstance(duration, str):
        check_times("duration", graph, duration, least=0, per=per_duration)
    dtypes = [graph.edge_attributes.types[name] for name in (time, duration) if isinstance(name, str)]
    dtype = np.dtype(np.float64 if isinstance(duration, float) or any(k.kind == "f" for k in dtypes) else np.int64)

    def departure(edges: Any) -> Any:
        # Adding 0 turns -0.0 into 0.0, so that equal times have the same bits.
        return edges.numbers(time).astype(dtype) * per_time + dtype.type(0)

    def arrival(edges: Any) -> Any:
        with np.errstate(over="ignore"):  # a sum that is infinite raises an error below
            if isinstance(duration, str):
                return departure(edges) + edges.numbers(duration).astype(dtype) * per_duration
            return departure(edges) + duration

    def rank_of(name: str) -> Callable[[Any], Any]:
        def ranks(edges: Any) -> Any:
            distinct_times, inverse = xp.unique(
                edges[name], return_inverse=True
            )  # distinct times ascend, and searches for ascending times are faster
            return xp.searchsorted(times, distinct_times).astype(rank)[inverse]

        return ranks

    timed = graph.with_edge_attributes(departure=departure, arrival=arrival)
    times = distinct(xp.concatenate([distinct(timed.edge_attributes[name]) for name in ("departure", "arrival")]))
    if len(times) and not math.isfinite(times[-1]):
        raise ValueError(
            f"the {time} and the duration of an edge add up to infinity in {dtype}; expected finite arrivals: divide "
            "both by the same number"
        )
    rank = Timed(timed, times).rank
    ranked = timed.with_edge_attributes({name: rank_of(name) for name in ("departure", "arrival")})
    return Timed(ranked, times, clock)


def bounds_of(window: Any, times: Any) -> tuple[Any, Any]:
    """Return the start and the end of a window in the dtype of the times. A side of the window that is open is None."""
    if not isinstance(window, tuple | list) or len(window) != 2:
        raise TypeError(f"window is {window!r}; expected (start, end), of which each is a number or None")
    for i, window_bound in enumerate(window):
        if isinstance(window_bound, str):
            raise ValueError(f"window[{i}] is {window_bound!r}; expected a number, as the times are {times.dtype}")
    bounds = [
        None if window_bound is None else _bound(f"window[{i}]", window_bound, times.dtype, up=i == 0)
        for i, window_bound in enumerate(window)
    ]
    if None not in window and window[0] > window[1]:
        raise ValueError(f"window is {window!r}; expected a start that is not after the end")
    return bounds[0], bounds[1]


def _bound(name: str, bound_argument: Any, dtype: np.dtype, up: bool) -> Any:
    """Return one bound of a window of times, which a user gave as the argument `name`, as a number of the times' dtype.

    A fraction is rounded so that the window shrinks: up for the window's start, where `up` is true, and down for its
    end.
    """
    bound_number = real_number(name, bound_argument, -np.inf, np.inf)
    if math.isinf(bound_number):
        return None if (bound_number < 0) == up else extreme(dtype, least=not up)
    exact_bound = int(bound_argument) if bound_argument == int(bound_argument) else bound_argument
    if dtype.kind == "f":
        is_outside = bound_number < exact_bound if up else bound_number > exact_bound
        return dtype.type(math.nextafter(bound_number, np.inf if up else -np.inf) if is_outside else bound_number)
    type_limits, whole_bound = np.iinfo(dtype), math.ceil(exact_bound) if up else math.floor(exact_bound)
    return dtype.type(max(type_limits.min, min(type_limits.max, whole_bound)))


def extreme(dtype: np.dtype, least: bool) -> Any:
    """Return the smallest or the largest number of a dtype, which is infinite for a float dtype."""
    if dtype.kind == "f":
        return dtype.type(-np.inf if least else np.inf)
    return np.iinfo(dtype).min if least else np.iinfo(dtype).max


def times_of(timed: Timed, ranks: Any, happens: Any, otherwise: Any) -> Any:
    """Return the time of each rank, a position in the sorted array of all times, where `happens` is true.

    Where `happens` is false, the result is the time `otherwise`.
    """
    xp: Any = module_of(timed.graph.device)
    if not len(timed.times):
        return xp.full(len(ranks), otherwise, timed.times.dtype)
    # The rank at a source may be -1 or len(timed.times), which are ranks of no time, so ranks are clipped.
    times_by_rank = timed.times[xp.clip(ranks, 0, len(timed.times) - 1)]
    return xp.where(happens, times_by_rank, timed.times.dtype.type(otherwise))
