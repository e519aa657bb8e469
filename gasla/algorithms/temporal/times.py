"""Departures and arrivals of the edges of a temporal graph, as ranks among all its times, and the search by time.

Ranks are small integers, exact whatever the type of the times, so one program serves numbers and dates.
"""

import math
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.arrays import any_true, module_of
from gasla.graph.arguments import real_number
from gasla.graph.graph import Graph
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

    def arrivals(self, source: int, first: int, last: int) -> Any:
        """The rank of the earliest arrival at each vertex, from a source that is left at rank `first` or later."""
        program = Arrivals(rank=self.rank, never=self.never, last=last)
        return run(program, self.graph, active=[source], arrival={source: first}, wait=False).arrival


def timed(graph: Graph, time: str, duration: str | float, *, backward: bool = False) -> Timed:
    """The graph with ranks of its edges' departures and arrivals, kept with it.

    Backward, edges are reversed, and the ranks are those of a clock that runs backward; `times` ascend all the same.
    """
    if not graph.is_whole:
        graph.edges()  # raises: no process holds all edges
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
    found = graph.kept(("timed", time, length), lambda graph: _ranked(graph, time, length))
    return graph.kept(("timed backward", time, length), lambda _: _reversed(found)) if backward else found


def _reversed(timed: Timed) -> Timed:
    last, columns = len(timed.times) - 1, timed.graph.edge_attributes
    ranks = {"departure": last - columns["arrival"], "arrival": last - columns["departure"]}
    return Timed(timed.graph.reversed().with_edge_attributes(ranks), timed.times)


def _ranked(graph: Graph, time: str, duration: str | float) -> Timed:
    xp: Any = module_of(graph.device)
    departure = _numbers("time", time, graph.edge_attributes[time])
    if isinstance(duration, str):
        length = _numbers("duration", duration, graph.edge_attributes[duration])
        if any_true(length < 0):
            edge = int((length < 0).argmax())
            raise ValueError(
                f"edge attribute {duration!r}, the duration, is {length[edge].item()} at edge {edge}; expected 0 or "
                "more"
            )
    else:
        length = duration
    arrival = departure + length
    times, ranks = xp.unique(xp.concatenate([departure.astype(arrival.dtype), arrival]), return_inverse=True)
    kind = Timed(graph, times).rank
    ranks = ranks.reshape(2, graph.m).astype(kind)
    return Timed(graph.with_edge_attributes(departure=ranks[0], arrival=ranks[1]), times)


def _numbers(what: str, name: str, column: Any) -> Any:
    """A column of times or durations as int64 or float64, checked to be finite and in range."""
    kind = np.float64 if column.dtype.kind == "f" else np.int64
    if column.dtype.itemsize < 8:
        column = column.astype(kind)
    if kind is np.float64:
        bad = ~(abs(column) < np.inf)
    else:
        bad = column >= LARGEST_TIME
        if column.dtype.kind == "i":
            bad |= column <= -LARGEST_TIME
    if any_true(bad):
        edge = int(bad.argmax())
        wanted = "a finite number" if kind is np.float64 else "an integer between -2**62 and 2**62"
        raise ValueError(
            f"edge attribute {name!r}, the {what}, is {column[edge].item()} at edge {edge}; expected {wanted}"
        )
    return column.astype(kind)


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


def times_of(timed: Timed, ranks: Any, otherwise: Any) -> Any:
    """The times of ranks, and `otherwise` for what never happens."""
    xp: Any = module_of(timed.graph.device)
    if not len(timed.times):
        return xp.full(len(ranks), otherwise, timed.times.dtype)
    known = timed.times[xp.minimum(ranks, len(timed.times) - 1)]  # the rank of a source may be len(timed.times)
    return xp.where(ranks < timed.never, known, timed.times.dtype.type(otherwise))
