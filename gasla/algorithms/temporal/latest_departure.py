"""Latest departure finds the last time at which each vertex can be left to reach a target along time-respecting paths.

The program reduces by `max` the departures of the out-edges that arrive no later than the latest departure from their
end. It is `earliest_arrival` in the reversed graph, on a clock that runs backward.
"""

from collections.abc import Hashable
from typing import Any

from gasla.algorithms.temporal.times import Duration, Window, timed
from gasla.graph.exchange.vertex_names import translate_vertex
from gasla.graph.graph import as_graph
from gasla.operations.on_one_device import on_one_device
from gasla.rows import Row, times


@on_one_device()
def latest_departure(
    graph: Any, target: Hashable, *, time: str = "time", duration: Duration = 0, window: Window | None = None
) -> Any:
    """Find the latest time at which a time-respecting path to a target departs from every vertex.

    Parameters
    ----------
    graph : Graph
        With an edge attribute for the times. Values are ignored.
    target : int or name
        The vertex to reach.
    time, duration, window
        As in `gasla.earliest_arrival`; a window that is a duration ends when the target is last reached.

    Returns
    -------
    (n,) int64, float64 if times or durations are floats, or datetime64
        The latest departure from every vertex: the smallest number of the type, or -inf, if no path leads to the
        target. At the target it is the end of the window; without an end, the largest number of the type, or inf. Of
        dates, NaT if no path leads there, and without an end the last date of all edges at the target.

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
    end = translate_vertex(graph, target, "target")
    search = timed(graph, time, duration)
    window_start, window_end = search.bounds(window, end, leaves=False)
    ranks = search.departures(end, search.first_from(window_start), search.last_until(window_end))
    return search.result(ranks, ranks >= 0, end, window_end, latest=True)


ROW = Row(
    latest_departure,
    times("latest-departure", "departures", "latest departures:", "target", "lead to"),
    "latest_departure(timed, 0, duration='time')",
    method="one pass over the edges by descending time (Wu et al., PVLDB 7, 2014)",
    longer="Times are improved several times along an edge, and late vertices go first, a bucket after another.",
)
