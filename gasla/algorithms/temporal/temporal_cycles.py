"""Temporal cycles are rings of edges, each later than the one before, that all lie within a given duration.

A cycle begins with its earliest edge. Edges are sorted by source and time, so that the edges that may follow an edge
are a range, which a binary search finds. Sequences of edges are extended by such ranges, block by block, depth-first.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gasla.algorithms.temporal.times import Duration, timed
from gasla.arrays import module_of, running_sums, shares
from gasla.graph.arguments import check_flags, whole_number
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.memory_limit import require_room
from gasla.operations.vertex_lists import VertexLists
from gasla.rows import Row

Array = np.ndarray[Any, Any]  # a NumPy or CuPy array
PART = 1 << 20  # number of partial cycles (sequences of edges) in a block, to bound memory


def temporal_cycles(
    graph: Any,
    max_length: int,
    duration: Duration,
    *,
    time: str = "time",
    min_length: int = 2,
    count: bool = False,
    limit: int | None = None,
) -> VertexLists | int:
    """List the cycles whose edges follow one another in time, or count them: transfers that lead back to their start.

    Parameters
    ----------
    graph : Graph
        With an edge attribute for the times. Values are ignored.
    max_length, min_length : int
        The largest and the smallest number of edges of a cycle, 2 or more.
    duration : number; of dates a duration, such as "24h"
        The longest time from the first edge of a cycle to its last one.
    time : str, default "time"
        The edge attribute with the time of each edge.
    count : bool, default False
        Whether to return only the number of cycles.
    limit : int, optional
        List this many cycles at most. By default memory is the limit.

    Returns
    -------
    VertexLists, or int
        Of each cycle the vertices, in the order of its edges, and the ids of the `edges`, on the device of the graph.
        Each cycle begins with its first edge, each edge is later than the one before, and no vertex is there twice.
        Cycles have no particular order, but are deterministic. With `count` their number.

    Raises
    ------
    TypeError, ValueError
        As in `gasla.earliest_arrival`; if a length is no whole number.
    MemoryError
        If the cycles need more memory than is available.

    See Also
    --------
    gasla.simple_cycles : without times.

    Notes
    -----
    Parallel edges are different transfers, and edges at one time do not follow one another. Work grows with the
    sequences of up to `max_length` edges within the duration; some 2^20 of each length are in memory at a time.

    References
    ----------
    R. Kumar, T. Calders: 2SCENT: An Efficient Algorithm to Enumerate All Simple Temporal Cycles. PVLDB 11 (2018).

    Examples
    --------
    >>> import gasla
    >>> transfers = gasla.Graph.from_edges([0, 1, 2, 1], [1, 2, 0, 0]).with_edge_attributes(time=[1, 3, 9, 2])
    >>> rings = gasla.temporal_cycles(transfers, 3, 10)
    >>> rings.tolist(), rings.edges
    ([[0, 1], [0, 1, 2]], array([0, 3, 0, 1, 2]))
    >>> gasla.temporal_cycles(transfers, 3, 5, count=True)
    1
    """
    graph = whole_graph(graph)
    check_flags(count=count)
    min_edges, max_edges = max(whole_number("min_length", min_length), 2), whole_number("max_length", max_length)
    rows = None if limit is None else whole_number("limit", limit)
    search = _Search(graph, time, duration)
    cycle_count, blocks = 0, list[Array]()
    for cycles in search.cycles(search.begin(), max_edges) if max_edges > 1 else ():
        if len(cycles) < min_edges:
            continue
        cycle_count += cycles.shape[1]
        if not count:
            require_room("the cycles have", cycle_count * max_edges, 16, graph.device, "pass count=True, or a limit")
            blocks.append(cycles if rows is None else cycles[:, : max(cycles.shape[1] - max(cycle_count - rows, 0), 0)])
            if rows is not None and cycle_count >= rows:
                break
    return cycle_count if count else search.lists(blocks)


class _Search:
    """A search for cycles that extends sequences of edges by a later edge, over edges sorted by source and time.

    A sequence is a column of an array, whose entries are positions of edges in this order.
    """

    def __init__(self, graph: Graph, time: str, duration: Duration) -> None:
        timed_graph = timed(graph, time, duration)
        self.graph, self.xp = graph, module_of(graph.device)
        self.many = len(timed_graph.times) + 1
        src, dst = graph.edges()
        start, end = (timed_graph.graph.edge_attributes[name].astype(np.int64) for name in ("departure", "arrival"))
        keys = src.astype(np.int64) * self.many + start
        self.ids = self.xp.argsort(keys)
        if self.xp is np:
            self.ids = np.argsort(keys, kind="stable")
        self.keys, self.time, self.last = keys[self.ids], start[self.ids], end[self.ids]
        self.src, self.dst = src[self.ids], dst[self.ids]

    def begin(self) -> Array:
        """Return the sequences of one edge with which the search for cycles begins, as columns. Self loops are left
        out.
        """
        return self.xp.flatnonzero(self.src != self.dst)[None]

    def cycles(self, columns: Array, most: int) -> Iterator[Array]:
        """Extend sequences of edges, the columns of `columns`, by one later edge at a time, and yield blocks of the
        cycles that arise.

        Cycles have up to `most` edges.
        """
        first_edges, last_edges = columns[0], columns[-1]
        key = self.dst[last_edges].astype(np.int64) * self.many
        range_starts = self.xp.searchsorted(self.keys, key + self.time[last_edges] + 1)
        range_ends = self.xp.searchsorted(self.keys, key + self.last[first_edges] + 1)
        counts = self.xp.maximum(range_ends - range_starts, 0)
        for match_range in shares(counts, PART):
            part_counts = counts[match_range]
            sequence_index = self.xp.repeat(
                self.xp.arange(len(part_counts)), part_counts.tolist() if self.xp is not np else part_counts
            )
            following = (
                range_starts[match_range][sequence_index]
                + self.xp.arange(len(sequence_index))
                - running_sums(part_counts)[:-1][sequence_index]
            )
            longer = self.xp.concatenate([columns[:, match_range][:, sequence_index], following[None]])
            next_targets = self.dst[following]
            closes = next_targets == self.src[longer[0]]
            if closes.any():
                yield longer[:, closes]
            if len(longer) < most:
                is_open = ~closes
                for column in longer[:-1]:
                    is_open &= next_targets != self.dst[column]
                if is_open.any():
                    yield from self.cycles(longer[:, is_open], most)

    def lists(self, blocks: list[Array]) -> VertexLists:
        """Return blocks of cycles as one list of cycles, with the vertices and the edges of each.

        In a block, a cycle is a column of positions of edges, in the order by source and time.
        """
        no_edges = self.xp.empty(0, np.int64)
        edge_positions = self.xp.concatenate([no_edges, *(block.T.ravel() for block in blocks)])
        lengths = self.xp.concatenate([no_edges, *(self.xp.full(block.shape[1], len(block)) for block in blocks)])
        return VertexLists(
            running_sums(lengths), self.src[edge_positions].astype(self.graph.id_dtype), self.ids[edge_positions]
        )


ROW = Row(
    temporal_cycles,
    "temporal_cycles(timed, 3, 50)",
    method="2SCENT: searches from seeds with candidates (Kumar, Calders, PVLDB 11, 2018)",
    longer="All edges are sorted by source and time, and sequences of edges extended by binary searches.",
)
