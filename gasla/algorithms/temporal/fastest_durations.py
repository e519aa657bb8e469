"""Fastest durations finds the shortest time between departure and arrival of a time-respecting path to each vertex.

Each edge is an event, which is an arrival at its end. An event can be followed by the next arrival at the same vertex,
and by the edges that depart there before this arrival. The latest departure from the source that leads to an event
spreads along these links, the latest departures first. The time from this departure to the event is the duration of a
path.

Events are sorted by arrival, which takes all edges in one process. A graph over ranks is searched once for each
departure from the source instead, the latest departure first. A search goes on from the arrivals of the search before,
so only vertices that are reached earlier are visited again.
"""

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.temporal.times import Duration, Timed, Window, extreme, timed
from gasla.arrays import any_true, array_module, distinct, module_of
from gasla.graph.dates import NAT
from gasla.graph.exchange.vertex_names import translate_vertex
from gasla.graph.graph import Graph, as_graph
from gasla.graph.transform.reduction import reduce_by_key
from gasla.graph.weights import differences
from gasla.operations.on_one_device import on_one_device
from gasla.operations.run import run
from gasla.program import VertexProgram, edge, option, parameter, vertex
from gasla.progress import track
from gasla.rows import Row, times


class LatestStarts(VertexProgram):
    """left(event) = the rank of the latest departure from the source from which a path leads to the event.

    An event is the use of an edge. It gathers the maximum over the events that can come before it. The run ends,
    because a departure only increases, each to one of finitely many.
    """

    rank = option(np.int32)
    left = vertex(rank, init=-1)
    reduce = semirings.max

    def gather(self, src, dst, edge):
        return src.left

    def apply(self, vertex, gathered):
        return {"left": semirings.maximum(vertex.left, gathered)}

    def priority(self, vertex):
        return -vertex.left


class Leaving(VertexProgram):
    """begins(e) = whether edge e leaves the source.

    All vertices start active, and `activate` then selects the source, because vertices that a run is given as active do
    not scatter.
    """

    everyone = True
    source = parameter(np.int64, 0)
    begins = edge(np.bool_, init=False)

    def activate(self, before, after):
        return after.id == self.source

    def scatter(self, src, dst, edge):
        return {"begins": True}


class Events(NamedTuple):
    """A graph whose vertices are events (uses of edges), sorted by the vertex and the time of arrival.

    `edges` has the id of the edge of each event.
    """

    graph: Graph
    edges: Any


@on_one_device()
def fastest_durations(
    graph: Any, source: Hashable, *, time: str = "time", duration: Duration = 0, window: Window | None = None
) -> Any:
    """Find the shortest time between departure and arrival of a time-respecting path from a source to every vertex.

    Parameters
    ----------
    graph : Graph
        With an edge attribute for the times. Values are ignored.
    source : int or name
        The vertex to start from. Waiting there costs nothing; waiting on the way does.
    time, duration, window
        As in `gasla.earliest_arrival`.

    Returns
    -------
    (n,) int64, float64 if times or durations are floats, or timedelta64
        The shortest duration of a path to every vertex: 0 at the source; the largest number of the type, or inf, if no
        path leads there. Of dates, NaT if no path leads there; on a GPU, int64.

    Raises
    ------
    TypeError, ValueError
        As in `earliest_arrival`; if a least duration is larger than the type holds.

    See Also
    --------
    gasla.earliest_arrival : for who leaves at a given time.

    Notes
    -----
    The first call makes a graph with a vertex for each edge and at most two edges for each, kept with the graph. Over
    ranks a call takes a search for each time at which an edge leaves the source.

    References
    ----------
    H. Wu, J. Cheng, S. Huang, Y. Ke, Y. Lu, Y. Xu: Path Problems in Temporal Graphs. PVLDB 7 (2014).

    Examples
    --------
    >>> import gasla
    >>> trains = gasla.Graph.from_edges([0, 0, 1], [1, 1, 2]).with_edge_attributes(time=[1.0, 5.0, 7.0])
    >>> gasla.fastest_durations(trains, 0, duration=1.5)
    array([0. , 1.5, 3.5])
    """
    graph = as_graph(graph)
    start = translate_vertex(graph, source)
    timed_graph = timed(graph, time, duration)
    bounds = timed_graph.bounds(window, start)
    first_rank, last_rank = timed_graph.first_from(bounds[0]), timed_graph.last_until(bounds[1])
    if not graph.is_whole:
        return _search_each_departure(timed_graph, start, first_rank, last_rank)
    events = timed_graph.graph.kept("events", lambda _: _events(timed_graph))
    xp: Any = module_of(graph.device)
    (src, dst), columns = graph.edges(), timed_graph.graph.edge_attributes
    src, dst = src[events.edges], dst[events.edges]
    departure, arrival = columns["departure"][events.edges], columns["arrival"][events.edges]
    begins = (src == start) & (departure >= first_rank) & (arrival <= last_rank)
    latest_start = xp.where(begins, departure, timed_graph.rank.type(-1))
    latest_start = run(
        LatestStarts(rank=timed_graph.rank), events.graph, active=xp.flatnonzero(begins), left=latest_start
    ).left
    is_end = (latest_start >= 0) & (arrival <= last_rank)
    lengths = differences(timed_graph.times[arrival[is_end]], timed_graph.times[latest_start[is_end]])
    shortest = reduce_by_key(dst[is_end], lengths, semirings.min, graph.n)
    is_reached = xp.zeros(graph.n, bool)
    is_reached[dst[is_end]] = True
    return _durations_as_shown(timed_graph, shortest, is_reached, start)


def _durations_as_shown(timed: Timed, shortest: Any, is_reached: Any, source: int) -> Any:
    """Return the shortest durations of paths in the form that users get: in the dtype of the times, or timedelta64 for
    dates.

    Vertices that are not reached get the largest number of the dtype, or NaT. Raise ValueError for a duration that the
    dtype doesn't hold.
    """
    dtype, xp = timed.times.dtype, array_module(shortest)
    never = extreme(dtype, least=False)
    is_reached[source], shortest[source] = True, 0
    if any_true(wrong := is_reached & (shortest >= shortest.dtype.type(never))):
        v, remedy = int(wrong.argmax()), "smaller numbers" if dtype.kind == "f" else "floats, .astype(np.float64)"
        raise ValueError(
            f"the shortest duration to vertex {v} is {shortest[v].item()}; expected a {dtype} below {never}: give the "
            f"times as {remedy}"
        )
    if timed.clock is not None:
        return timed.clock.lengths.shown(xp.where(is_reached, shortest.astype(np.int64), NAT))
    return xp.where(is_reached, shortest, shortest.dtype.type(never)).astype(dtype, copy=False)


def _search_each_departure(timed: Timed, source: int, first_rank: int, last_rank: int) -> Any:
    """Return the shortest durations of paths from a source, by one search for each time at which an edge leaves the
    source.

    The searches go from the last of these times to the first. The rank of a time is its position among all times of the
    graph, in ascending order. Only edges that depart at rank `first_rank` or later and arrive at rank `last_rank` or
    earlier are used.
    """
    no_rank = timed.rank.type(-1)

    def leaves(edges: Any) -> Any:
        is_open = (edges["departure"] >= first_rank) & (edges["arrival"] <= last_rank)
        return np.where(edges["leaves"] & is_open, edges["departure"], no_rank)

    leaves_source = run(Leaving(source=source), timed.graph, max_iterations=1).begins
    begins = timed.graph.with_edge_attributes(leaves=leaves_source).with_edge_attributes(leaves=leaves)
    starts = distinct(begins.edge_attributes["leaves"]) if len(timed.times) else []
    n = timed.graph.n
    arrivals = np.full(n, timed.never, timed.rank)
    is_float = timed.times.dtype.kind == "f"
    durations = np.full(n, np.inf if is_float else np.uint64(2**64 - 1))
    is_reached = np.zeros(n, bool)
    for rank in track([start for start in reversed(starts) if start >= 0], "departures"):
        previous_arrivals, arrivals[source] = arrivals.copy(), rank
        arrivals = np.array(timed.arrivals(source, rank, last_rank, arrivals))
        earlier = np.flatnonzero(arrivals < previous_arrivals)
        lengths = differences(timed.times[arrivals[earlier]], timed.times[rank])
        durations[earlier], is_reached[earlier] = np.minimum(durations[earlier], lengths), True
    return _durations_as_shown(timed, durations, is_reached, source)


def _events(timed: Timed) -> Events:
    xp: Any = module_of(timed.graph.device)
    (src, dst), columns, count = timed.graph.edges(), timed.graph.edge_attributes, len(timed.times)
    at_end = dst.astype(np.int64) * count + columns["arrival"]
    edges = xp.argsort(at_end, kind="stable") if xp is np else xp.argsort(at_end)
    keys, edge_targets = at_end[edges], dst[edges]
    event_before = (
        xp.searchsorted(keys, src[edges].astype(np.int64) * count + columns["departure"][edges], side="right") - 1
    )
    follows = (
        (event_before >= 0) & (edge_targets[xp.maximum(event_before, 0)] == src[edges])
        if len(edges)
        else event_before >= 0
    )
    event_ids = xp.arange(len(edges))
    waits = xp.flatnonzero(edge_targets[1:] == edge_targets[:-1])
    links = xp.concatenate([event_before[follows], waits]), xp.concatenate([event_ids[follows], waits + 1])
    return Events(Graph.from_edges(*links, n=len(edges)), edges)


ROW = Row(
    fastest_durations,
    times("fastest-durations", "durations", "longest durations:"),
    "fastest_durations(timed, 0)",
    method="one pass over the edges with lists of departures (Wu et al., PVLDB 7, 2014)",
    longer="Every edge is an event that is linked with others: two sorts of all edges, then a search.",
)
