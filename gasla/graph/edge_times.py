"""Times of edges, stored as an edge attribute: checks, spans of time for queries, and adjacency lists sorted by time.

Times are compared as int64 or float64, which hold those of every narrower type exactly.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import array_module, moved
from gasla.graph.adjacency import Adjacency
from gasla.graph.arguments import real_number
from gasla.graph.dates import NAT
from gasla.graph.edge_values import first_edge
from gasla.graph.graph import Graph
from gasla.graph.validate import as_array, range_of

Array = Any  # a NumPy array, or a CuPy array on the GPU
LARGEST_TIME = 2**62  # times must be below this bound, so that sums and differences of two of them fit in int64
EXACT = 2**53  # largest integer up to which float64 represents all integers exactly


class TimedLists(NamedTuple):
    """Adjacency lists in which the edges of each vertex are sorted by time, and the time of the edge at each position.

    Edges of the same time are in the order of the input.
    """

    lists: Adjacency
    times: Array


class Span(NamedTuple):
    """The span of time of the edges that each row of a query may use: its first and its last time.

    A query has a row for each vertex from which edges are drawn, for example. If `first` is None, edges may be
    arbitrarily early.
    """

    first: Array | None
    last: Array

    def of(self, rows: Array) -> Span:
        """Return the spans of time of some rows of the query, which are given by their positions."""
        return Span(None if self.first is None else self.first[rows], self.last[rows])


def check_times(what: str, graph: Graph, name: str, least: float = -np.inf, per: int = 1) -> None:
    """Raise ValueError unless all numbers of an edge attribute are finite, at least `least`, and not too large.

    Times are later multiplied by `per`, so integers must stay below `LARGEST_TIME` after that. `what` describes the
    attribute in the error.
    """
    column: Any = graph.edge_attributes.numbers(name)
    is_float, dates = column.dtype.kind == "f", graph.edge_attributes.time_types.get(name)
    limit = np.inf if is_float else LARGEST_TIME // per
    # The smallest and the largest number of the column. Both are NaN if any number is NaN.
    for extreme in [end.item() for end in range_of(column)] if len(column) else ():
        if not -limit < extreme < limit:
            expected = "a finite number" if is_float else "an integer between -2**62 and 2**62"
            if dates is not None:
                expected = "a date" if extreme == NAT else f"dates within the range of {dates.dtype}, in a larger unit"
        elif extreme < least:
            expected = f"{least} or more"
        else:
            continue
        edge, time_value = first_edge(column, partial(_is_equal_or_nan, extreme))
        time_value = time_value if dates is None else np.int64(extreme).view(dates.dtype)
        raise ValueError(f"edge attribute {name!r}, the {what}, is {time_value} at edge {edge}; expected {expected}")


def _is_equal_or_nan(sought: Any, column: Any) -> Any:
    """Return a boolean array that is True for the numbers that are equal to `sought` or NaN."""
    return (column == sought) | (column != column)


def times_of_edges(graph: Graph, time: str) -> Array:
    """Return the times of all edges as int64 or float64, after checks. Dates are returned as integers in their unit."""
    dtype = _time_dtype(graph, time)

    def checked(graph: Graph) -> bool:
        check_times("time", graph, time)
        return True

    graph.kept(("checked times", time), checked)
    return graph.edge_attributes.numbers(time).astype(dtype, copy=False)


def lists_by_time(graph: Graph, time: str, direction: str) -> TimedLists:
    """Return adjacency lists of out-edges ("out") or in-edges, in which the edges of each vertex are sorted by time.

    They are cached in the graph, and take up to 20 bytes per edge.
    """
    numbers = times_of_edges(graph, time)

    def build_lists(graph: Graph) -> TimedLists:
        src, dst = graph.edges()
        xp: Any = array_module(numbers)
        order = np.argsort(numbers, kind="stable") if xp is np else xp.argsort(numbers)
        owners, neighbors = (src, dst) if direction == "out" else (dst, src)
        lists = Adjacency.grouped(owners[order], neighbors[order], graph.n)
        ids = order[lists.numbers()].astype(lists.numbers().dtype, copy=False)
        return TimedLists(Adjacency(lists.indptr, lists.indices, ids), numbers[ids])

    return graph.kept(("lists by time", time, direction), build_lists)


def span_of(graph: Graph, time: str, at: Any, window: Any, rows: int | None) -> Span:
    """Return the span of time of the edges that each row of a query (such as a vertex that draws neighbors) may use.

    A row uses edges at the time `at` or before, but not more than `window` before. `at` is one time for all rows, or
    one for each row: numbers or dates, as the edge attribute `time` has them. A window is a number or a duration. The
    bounds are exact: a bound between two times of the attribute's unit is rounded inwards. If `rows` is None, there are
    as many rows as times.
    """
    dtype, dates = _time_dtype(graph, time), graph.edge_attributes.time_types.get(time)
    if dates is not None:
        is_one, earliest, latest = dates.span("at", at, window)
    else:
        is_one, earliest, latest = _span_of_numbers(time, dtype, at, window)
    if latest.ndim != 1 or (rows is not None and not is_one and len(latest) != rows):
        raise ValueError(f"at has shape {latest.shape}; expected one time, or one for each of {rows or 'some'} rows")
    bounds = (
        None if limit is None else np.full(rows, limit[0]) if is_one and rows is not None else limit
        for limit in (earliest, latest)
    )
    return Span(*(None if limit is None else moved(limit, graph.device) for limit in bounds))


def _time_dtype(graph: Graph, time: str) -> Any:
    """Return the dtype in which the times of an edge attribute are compared: float64 or int64.

    Raise an error if there is no such attribute.
    """
    if not isinstance(time, str):
        raise TypeError(f"time is {time!r}; expected the name of an edge attribute, such as 'time'")
    graph.edge_attributes.require(time, "time")
    return np.float64 if graph.edge_attributes.types[time].kind == "f" else np.int64


def _span_of_numbers(time: str, dtype: Any, moments: Any, window: Any) -> tuple[bool, Array | None, Array]:
    """Return the span of time that ends at each number of `moments`: its first and its last time.

    The result is a triple: whether `moments` is a single number, the first times, and the last times. They have the
    dtype `dtype`, in which times of edges are compared. Without a window, None stands for the first times.
    """
    latest_times = moved(as_array("at", moments), "cpu")
    if latest_times.dtype.kind not in "iuf" and latest_times.size:
        raise TypeError(f"at holds {latest_times.dtype}; expected numbers, as the edge attribute {time!r} does")
    is_one, latest_times = latest_times.ndim == 0, latest_times.reshape(1) if latest_times.ndim == 0 else latest_times
    if latest_times.dtype.kind == "f" and np.isnan(latest_times).any():
        raise ValueError(f"at is nan in row {int(np.isnan(latest_times).argmax())}; expected a number")
    width = None if window is None else real_number("window", window, 0, np.inf)
    width = None if width == np.inf else width
    if dtype is np.float64:
        if latest_times.dtype.kind in "iu" and ((latest_times > EXACT) | (latest_times < -EXACT)).any():
            raise ValueError(f"at holds integers beyond 2**53; expected floats, as the edge attribute {time!r} does")
        latest = latest_times.astype(np.float64)
        return is_one, None if width is None else latest - width, latest
    if latest_times.dtype.kind == "f":
        return (
            is_one,
            None if width is None else _as_int64(np.ceil(latest_times - width)),
            _as_int64(np.floor(latest_times)),
        )
    largest = np.iinfo(np.int64).max
    latest = (np.minimum(latest_times, largest) if latest_times.dtype == np.uint64 else latest_times).astype(np.int64)
    if width is None:
        return is_one, None, latest
    distance = largest if width >= largest else int(window)
    return is_one, np.where(latest < -largest + distance, -largest, latest - distance), latest


def _as_int64(numbers: Array) -> Array:
    """Convert floats without a fraction to int64.

    Floats beyond the range of int64 become its smallest or largest number.
    """
    return np.clip(numbers, -(2.0**63), 2.0**63 - 1024).astype(np.int64)
