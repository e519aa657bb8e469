"""Temporal reachability finds the vertices that time-respecting paths reach from each of several sources."""

from collections.abc import Hashable, Iterable
from typing import Any

from gasla.algorithms.temporal.times import Duration, Window, timed
from gasla.arrays import module_of
from gasla.graph.arguments import several_vertices
from gasla.graph.graph import as_graph
from gasla.graph.memory_limit import require_room
from gasla.operations.on_one_device import on_one_device
from gasla.progress import track
from gasla.rows import Row, per_source


@on_one_device()
def temporal_reachability(
    graph: Any, sources: Iterable[Hashable], *, time: str = "time", duration: Duration = 0, window: Window | None = None
) -> Any:
    """Find the vertices that a time-respecting path reaches from each source.

    Parameters
    ----------
    graph : Graph
        With an edge attribute for the times. Values are ignored.
    sources : ids or names
        The vertices to start from: any number, in any order, repetitions allowed.
    time, duration, window
        As in `gasla.earliest_arrival`.

    Returns
    -------
    (len(sources), n) bool
        Whether the source of the row reaches the vertex of the column; a source reaches itself.

    Raises
    ------
    TypeError, ValueError
        As in `earliest_arrival`.
    MemoryError
        If the result needs more memory than is available.

    See Also
    --------
    gasla.earliest_arrival : when a vertex is reached.

    References
    ----------
    P. Holme, J. Saramäki: Temporal networks. Physics Reports 519 (2012).

    Examples
    --------
    >>> import gasla
    >>> calls = gasla.Graph.from_edges([0, 1, 2], [1, 2, 3]).with_edge_attributes(time=[1, 3, 2])
    >>> gasla.temporal_reachability(calls, [0, 2])
    array([[ True,  True,  True, False],
           [False, False,  True,  True]])
    """
    graph = as_graph(graph)
    source_ids = several_vertices(graph, "sources", sources)
    require_room("the result has", len(source_ids) * graph.n, 1, graph.device, "fewer sources at a time")
    search = timed(graph, time, duration)
    is_reached = module_of(graph.device).empty((len(source_ids), graph.n), bool)
    for row, source in track(list(enumerate(source_ids)), "sources"):
        start, end = search.bounds(window, source)
        first_rank, last_rank = search.first_from(start), search.last_until(end)
        is_reached[row] = search.arrivals(source, first_rank, last_rank) < search.never
    return is_reached


ROW = Row(
    temporal_reachability,
    per_source("temporal-reachability", {"reached": "reached"}),
    "temporal_reachability(timed, [0, 1])",
    method="one pass over the edges by time, a bit per source (Wu et al., PVLDB 7, 2014)",
    longer="Eight searches, each as `earliest_arrival`.",
)
