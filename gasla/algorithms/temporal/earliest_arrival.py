"""Earliest arrival: the first time at which paths whose edges are used in the order of time reach each vertex.

The reduction is `min` over the arrivals of the edges that depart once their source has been reached. The arrival is
also the priority, so early vertices go first.
"""

from collections.abc import Hashable
from typing import Any

from gasla.algorithms.temporal.times import Window, bounds_of, extreme, timed, times_of
from gasla.graph.arguments import source_vertex
from gasla.graph.graph import as_graph


def earliest_arrival(
    graph: Any, source: Hashable, *, time: str = "time", duration: str | float = 0, window: Window | None = None
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
        The edge attribute with the departure of each edge: numbers; dates are integers there.
    duration : str or float, default 0
        How long each edge takes: the name of an edge attribute, or one number for all edges, 0 or more. With 0 a path
        may use several edges at the same time; with 1, and whole times, only one after the other.
    window : (start, end), optional
        Use only edges that depart at `start` or later and arrive at `end` or earlier; None is no bound.

    Returns
    -------
    (n,) int64, or float64 if times or durations are floats
        The earliest arrival at every vertex: the largest number of the type, or inf, if there is none. At the source it
        is the start of the window; without a start, the smallest number of the type, or -inf.

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
    >>> buses = gasla.Graph.from_edges([0, 0, 1, 1], [1, 2, 2, 3])
    >>> buses = buses.with_edge_attributes(time=[8, 7, 10, 6], ride=[1, 5, 1, 1])
    >>> gasla.earliest_arrival(buses, 0, duration="ride", window=(7, 20))
    array([                  7,                   9,                  11,
           9223372036854775807])
    """
    graph = as_graph(graph)
    start = source_vertex(graph, source)
    search = timed(graph, time, duration)
    first, last = bounds_of(window, search.times)
    ranks = search.arrivals(start, search.first_from(first), search.last_until(last))
    found = times_of(search, ranks, ranks < search.never, extreme(search.times.dtype, least=False))
    found[start] = extreme(search.times.dtype, least=True) if first is None else first
    return found
