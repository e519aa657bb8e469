"""Earliest arrival finds the first time at which paths whose edges are used in the order of time reach each vertex.

The program reduces by `min` the arrivals of the edges that depart once their source has been reached. The arrival is
also the priority, so that early vertices are processed first.
"""

from collections.abc import Hashable
from typing import Any

from gasla.algorithms.temporal.times import Duration, Window, timed
from gasla.graph.exchange.vertex_names import translate_vertex
from gasla.graph.graph import as_graph
from gasla.operations.on_one_device import on_one_device
from gasla.rows import Row, times


@on_one_device()
def earliest_arrival(
    graph: Any, source: Hashable, *, time: str = "time", duration: Duration = 0, window: Window | None = None
) -> Any:
    """Find the earliest time at which a time-respecting path from a source arrives at every vertex.

    An edge departs at its time, and arrives after its duration. A path is time-respecting if each of its edges departs
    when the edge before it has arrived, or later.

    Parameters
    ----------
    graph : Graph
        With an edge attribute for the times, such as of `Graph.from_table(…, attributes=["time"])`. Values are ignored.
    source : int or name
        The vertex to start from.
    time : str, default "time"
        The edge attribute with the departure of each edge: numbers, dates, or times of day.
    duration : str, float or timedelta, default 0
        How long each edge takes, 0 or more: the name of an edge attribute, or one number for all edges. Of dates, an
        attribute of durations or one duration, such as "90min", a `datetime.timedelta` or a `numpy.timedelta64`. With
        0 a path may use several edges at the same time; with 1, and whole times, only one after the other.
    window : (start, end), or a duration, optional
        Use only edges that depart at `start` or later and arrive at `end` or earlier; None is no bound. Of dates, each
        is a date of NumPy, Python or pandas, a text such as "2026-01-31 12:00", or one of the two a duration from the
        other: ("2026-01-31", "24h"). If the attribute has a zone, dates state their offset; NumPy's are in UTC. A
        duration alone, such as "24h", begins when the source is first left.

    Returns
    -------
    (n,) int64, float64 if times or durations are floats, or datetime64
        The earliest arrival at every vertex: the largest number of the type, or inf, if there is none. At the source it
        is the start of the window; without a start, the smallest number of the type, or -inf. Of dates, NaT if there is
        none, and without a start the first date of all edges at the source; on a GPU, these as int64.

    Raises
    ------
    TypeError, ValueError
        If the graph has no such attribute, the source is not a vertex, a time is not finite, integers are 2**62 or
        more, a duration is negative, or the window starts after its end.

    See Also
    --------
    gasla.latest_departure : the other direction, from every vertex to a target.
    gasla.fastest_durations : the shortest time between departure and arrival.
    gasla.temporal_reachability : which vertices are reached, from several sources.

    References
    ----------
    H. Wu, J. Cheng, S. Huang, Y. Ke, Y. Lu, Y. Xu: Path Problems in Temporal Graphs. PVLDB 7 (2014).

    Examples
    --------
    >>> import gasla
    >>> import numpy as np
    >>> buses = gasla.Graph.from_edges([0, 0, 1, 1], [1, 2, 2, 3])
    >>> buses = buses.with_edge_attributes(time=[8, 7, 10, 6], ride=[1, 5, 1, 1])
    >>> gasla.earliest_arrival(buses, 0, duration="ride", window=(7, 20))
    array([                  7,                   9,                  11,
           9223372036854775807])
    >>> days = np.array(["2026-01-03", "2026-01-01", "2026-01-05", "2026-01-04"], "M8[D]")
    >>> buses = buses.with_edge_attributes(time=days)
    >>> gasla.earliest_arrival(buses, 0, duration="36h", window=("2026-01-02", None)).astype("M8[h]")
    array(['2026-01-02T00', '2026-01-04T12', '2026-01-06T12',           'NaT'],
          dtype='datetime64[h]')
    """
    graph = as_graph(graph)
    start = translate_vertex(graph, source)
    search = timed(graph, time, duration)
    window_start, window_end = search.bounds(window, start)
    ranks = search.arrivals(start, search.first_from(window_start), search.last_until(window_end))
    return search.result(ranks, ranks < search.never, start, window_start, latest=False)


ROW = Row(
    earliest_arrival,
    times("earliest-arrival", "arrivals", "latest arrivals:"),
    "earliest_arrival(timed, 0)",
    method="one pass over the edges by time (Wu et al., PVLDB 7, 2014)",
    longer="Times are improved several times along an edge, and early vertices go first, a bucket after another.",
)
