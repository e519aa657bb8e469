"""Latest departure: the last time at which each vertex can be left to reach a target along time-respecting paths.

The reduction is `max` over the departures of the out-edges that arrive no later than the latest departure from their
end. It is `earliest_arrival` in the reversed graph, on a clock that runs backward.
"""

from collections.abc import Hashable
from typing import Any

from gasla.algorithms.temporal.times import Window, bounds_of, extreme, timed, times_of
from gasla.graph.arguments import source_vertex
from gasla.graph.graph import as_graph


def latest_departure(
    graph: Any, target: Hashable, *, time: str = "time", duration: str | float = 0, window: Window | None = None
) -> Any:
    """Find the latest time at which a time-respecting path to a target departs from every vertex.

    Parameters
    ----------
    graph : Graph
        With an edge attribute for the times. Values are ignored.
    target : int or name
        The vertex to reach.
    time, duration, window
        As in `gasla.earliest_arrival`.

    Returns
    -------
    (n,) int64, or float64 if times or durations are floats
        The latest departure from every vertex: the smallest number of the type, or -inf, if no path leads to the
        target. At the target it is the end of the window; without an end, the largest number of the type, or inf.

    Raises
    ------
    TypeError, ValueError
        As in `earliest_arrival`.

    See Also
    --------
    gasla.earliest_arrival : the other direction, from a source to every vertex.

    References
    ----------
    H. Wu, J. Cheng, S. Huang, Y. Ke, Y. Lu, Y. Xu: Path Problems in Temporal Graphs. PVLDB 7 (2014).

    Examples
    --------
    >>> import gasla
    >>> buses = gasla.Graph.from_edges([0, 0, 1, 1], [1, 2, 2, 3])
    >>> buses = buses.with_edge_attributes(time=[8.0, 7.0, 10.0, 6.0], ride=[1.0, 5.0, 1.0, 1.0])
    >>> gasla.latest_departure(buses, 2, duration="ride")
    array([  8.,  10.,  inf, -inf])
    """
    graph = as_graph(graph)
    end = source_vertex(graph, target, "target")
    search = timed(graph, time, duration)
    first, last = bounds_of(window, search.times)
    ranks = search.departures(end, search.first_from(first), search.last_until(last))
    found = times_of(search, ranks, ranks >= 0, extreme(search.times.dtype, least=True))
    found[end] = extreme(search.times.dtype, least=False) if last is None else last
    return found
