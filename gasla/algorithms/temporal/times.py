"""Departures and arrivals of the edges of a temporal graph, as ranks among all its times, and the search by time.

Ranks are small integers, exact whatever the type of the times, so one program serves numbers and dates.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.arrays import distinct, module_of
from gasla.graph.arguments import real_number
from gasla.graph.graph import Graph
from gasla.graph.validate import range_of
from gasla.operations.run import run
from gasla.program.fields import edge, parameter, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram

NEVER = 2**30  # larger than all ranks; 2**62 if they have 64 bits
LARGEST_TIME = 2**62  # sums and differences of integers below it fit in int64
Window = tuple[float | None, float | None]


class Arrivals(VertexProgram):
    """arrival(v) = min of the arrivals of in-edges that depart no earlier than the arrival at their source.

    All times are ranks. Ends: an arrival only decreases, each to the arrival of one of finitely many edges.
    """

    rank = option(np.int32)
    never = option(NEVER)
    last = parameter(rank, NEVER - 1)
    arrival = vertex(rank, init=never)
    departs = edge(rank, attribute="departure")
    arrives = edge(rank, attribute="arrival")
    reduce = semirings.min

    def gather(self, src, dst, edge):
        # A clipped difference, 0 or 1, grows with the arrival as a comparison does, and is known to do so.
        is_late = semirings.minimum(semirings.maximum(src.arrival - edge.departs, 0), 1)
        arrival = semirings.maximum(edge.arrives, is_late * self.never)
        return semirings.cast(semirings.where(edge.arrives <= self.last, arrival, self.never), self.rank)

    def apply(self, vertex, gathered):
        return {"arrival": semirings.minimum(vertex.arrival, gathered)}

    def priority(self, vertex):
        return vertex.arrival


class Departures(VertexProgram):
    """departure(v) = max of the departures of out-edges that arrive no later than the departure from their end.

    All times are ranks; -1 is never. Ends: a departure only increases, each to that of one of finitely many edges.
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
        is_late = semirings.minimum(semirings.maximum(edge.arrives - src.departure, 0), 1)  # as in Arrivals
        departure = semirings.minimum(edge.departs, self.never - is_late * (self.never + 1))
        return semirings.cast(semirings.where(edge.departs >= self.first, departure, -1), self.rank)

    def apply(self, vertex, gathered):
        return {"departure": semirings.maximum(vertex.departure, gathered)}

    def priority(self, vertex):
        return self.last - vertex.departure  # from 0 up, as in Arrivals: negative ones take many times the buckets


class Timed(NamedTuple):
    """A graph with the edge attributes `departure` and `arrival`, ranks in `times`, which ascend."""

    graph: Graph
    times: Any

    @property
    def rank(self) -> np.dtype:
        """The type of ranks."""
        return np.dtype(np.int32 if len(self.times) < NEVER else np.int64)

    @property
    def never(self) -> int:
        """The rank of what never happens."""
        return NEVER if self.rank == np.int32 else 2**62

    def first_from(self, start: Any) -> int:
        """The rank of the first time from `start` on; 0 for None."""
        return 0 if start is None else self._position(start, "left")

    def last_until(self, end: Any) -> int:
        """The rank of the last time until `end`; -1 if there is none."""
        return len(self.times) - 1 if end is None else self._position(end, "right") - 1

    def _position(self, time: Any, side: Any) -> int:
        xp: Any = module_of(self.graph.device)
        return int(xp.searchsorted(self.times, xp.asarray([time], self.times.dtype), side=side)[0])

    def arrivals(self, source: int, first: int, last: int, start: Any = None) -> Any:
        """The rank of the earliest arrival at each vertex, from a source that is left at rank `first` or later.

        `start` are arrivals to improve, from a source that is left at rank `first`.
        """
        program = Arrivals(rank=self.rank, never=self.never, last=last)
        start = {source: first} if start is None else start
        return run(program, self.graph, active=[source], arrival=start, wait=False).arrival

    def departures(self, target: int, first: int, last: int) -> Any:
        """The rank of the latest departure from each vertex to a target that is reached at rank `last` or earlier."""
        program = Departures(rank=self.rank, never=self.never, first=first, last=last)
        return run(program, self.graph, active=[target], departure={target: last}, wait=False).departure


def timed(graph: Graph, time: str, duration: str | float) -> Timed:
    """The graph with ranks of its edges' departures and arrivals, kept with it."""
    if not isinstance(time, str):
        raise TypeError(f"time is {time!r}; expected the name of an edge attribute, such as 'time'")
    graph.edge_attributes.require(time, "time")
    length: str | float
    if isinstance(duration, str):
        graph.edge_attributes.require(duration, "duration")
        length = duration
    else:
        number = real_number("duration", duration, most=LARGEST_TIME)
        length = int(number) if number == int(number) else number
    return graph.kept(("timed", time, length), lambda graph: _ranked(graph, time, length))


def _ranked(graph: Graph, time: str, duration: str | float) -> Timed:
    xp: Any = module_of(graph.device)
    _check("time", graph, time)
    if isinstance(duration, str):
        _check("duration", graph, duration, least=0)
    kinds = [graph.edge_attributes.types[name] for name in (time, duration) if isinstance(name, str)]
    kind = np.dtype(np.float64 if isinstance(duration, float) or any(k.kind == "f" for k in kinds) else np.int64)

    def departure(edges: Any) -> Any:
        return edges[time].astype(kind) + kind.type(0)  # 0.0 in place of -0.0, so equal times have the same bits

    def arrival(edges: Any) -> Any:
        return departure(edges) + (edges[duration].astype(kind) if isinstance(duration, str) else duration)

    def rank_of(name: str) -> Callable[[Any], Any]:
        def ranks(edges: Any) -> Any:
            own, places = xp.unique(edges[name], return_inverse=True)  # in order, which is faster to search for
            return xp.searchsorted(times, own).astype(rank)[places]

        return ranks

    found = graph.with_edge_attributes(departure=departure, arrival=arrival)
    times = distinct(xp.concatenate([distinct(found.edge_attributes[name]) for name in ("departure", "arrival")]))
    rank = Timed(found, times).rank
    return Timed(found.with_edge_attributes({name: rank_of(name) for name in ("departure", "arrival")}), times)


def _check(what: str, graph: Graph, name: str, least: float = -np.inf) -> None:
    """Raise ValueError unless all numbers of a column are finite, in range, and at least `least`."""
    column: Any = graph.edge_attributes[name]
    is_float = column.dtype.kind == "f"
    limit = np.inf if is_float else LARGEST_TIME
    for bound in [end.item() for end in range_of(column)] if len(column) else ():  # both NaN if any number is
        if not -limit < bound < limit:
            wanted = "a finite number" if is_float else "an integer between -2**62 and 2**62"
        elif bound < least:
            wanted = f"{least} or more"
        else:
            continue
        where = f" at edge {int(((column == bound) | (column != column)).argmax())}" if graph.is_whole else ""
        raise ValueError(f"edge attribute {name!r}, the {what}, is {bound}{where}; expected {wanted}")


def bounds_of(window: Any, times: Any) -> tuple[Any, Any]:
    """The start and the end of a window in the type of the times, None where it is open."""
    if window is None:
        return None, None
    if not isinstance(window, tuple | list) or len(window) != 2:
        raise TypeError(f"window is {window!r}; expected (start, end), of which each is a number or None")
    given = [
        None if bound is None else _bound(f"window[{i}]", bound, times.dtype, up=i == 0)
        for i, bound in enumerate(window)
    ]
    if None not in window and window[0] > window[1]:
        raise ValueError(f"window is {window!r}; expected a start that is not after the end")
    return given[0], given[1]


def _bound(name: str, given: Any, kind: np.dtype, up: bool) -> Any:
    """A bound as a number of the type of the times; a fraction is rounded into the window."""
    number = real_number(name, given, -np.inf, np.inf)
    if math.isinf(number):
        return None if (number < 0) == up else kind.type(LARGEST_TIME if up else -LARGEST_TIME)
    if kind.kind == "f":
        return kind.type(number)
    whole = int(given) if given == int(given) else math.ceil(number) if up else math.floor(number)
    return kind.type(max(-LARGEST_TIME, min(LARGEST_TIME, whole)))


def extreme(kind: np.dtype, least: bool) -> Any:
    """The least or the greatest number of a type; for floats an infinite one."""
    if kind.kind == "f":
        return kind.type(-np.inf if least else np.inf)
    return np.iinfo(kind).min if least else np.iinfo(kind).max


def times_of(timed: Timed, ranks: Any, happens: Any, otherwise: Any) -> Any:
    """The times of ranks where a mask says that they happen, else `otherwise`."""
    xp: Any = module_of(timed.graph.device)
    if not len(timed.times):
        return xp.full(len(ranks), otherwise, timed.times.dtype)
    known = timed.times[xp.clip(ranks, 0, len(timed.times) - 1)]  # the rank of a source may be -1 or len(timed.times)
    return xp.where(happens, known, timed.times.dtype.type(otherwise))
