"""Shortest paths from many sources, with weights.

If a search mostly waits for its next iteration, eight sources run together. Each vertex then holds a vector of eight
distances, and one read of an edge serves all eight. Otherwise each source runs alone, which lets vertices near the
source go first and visits fewer edges in total. Searches up to a cutoff visit few vertices, so they run alone, too.
"""

from collections.abc import Hashable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

import semirings
from gasla.algorithms.paths.sssp import check_lengths, is_limited, length_types, search_within, sssp
from gasla.algorithms.traversal.multi_source_bfs import probe
from gasla.arrays import module_of
from gasla.graph.arguments import float_type, score_type, several_vertices, weight_range
from gasla.graph.graph import Graph, as_graph
from gasla.graph.memory_limit import require_room
from gasla.graph.weights import may_overflow, takes_weight
from gasla.operations.on_one_device import on_one_device
from gasla.operations.prepare import Prepared, prepare
from gasla.program import VertexProgram, edge, option, vertex
from gasla.progress import track
from gasla.rows import Row, per_source

BATCH = 8  # number of sources whose distances one run of the program computes


class BatchedDistances(VertexProgram):
    """distance(v)[i] = the minimum of distance(u)[i] + weight over the in-edges of v, for eight sources i at once.

    Vertices with a small distance from some source go first, since the priority is the minimum of the vector.
    """

    real = option(np.float64)
    lengths = option(np.float64)
    distance = vertex((real, (BATCH,)), init=np.inf)
    weight = edge(lengths)
    reduce = semirings.min

    def gather(self, src, dst, edge):
        return src.distance + edge.weight

    def apply(self, vertex, gathered):
        return {"distance": semirings.minimum(vertex.distance, gathered)}

    def priority(self, vertex):
        return semirings.min(vertex.distance)


@takes_weight
@on_one_device("sources")
def multi_source_shortest_paths(
    graph: Any, sources: Iterable[Hashable], *, cutoff: float | None = None, dtype: Any = None
) -> np.ndarray:
    """Find the lengths of shortest paths from each of several sources to every vertex.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the length of the edge i -> j. A graph without values has edges of length 1. Negative lengths are
        allowed, unless a source reaches a negative cycle.
    sources : ids or names
        The vertices to start from: any number, in any order, repetitions allowed.
    cutoff : float, optional
        Maximum distance to search to, as in `gasla.sssp`.
    dtype : float32 or float64, optional
        Type of the distances; by default float32 for float32 lengths, else float64.

    Returns
    -------
    (len(sources), n) float
        Row i is `gasla.sssp(graph, sources[i], cutoff=cutoff)`: inf if unreachable.

    Raises
    ------
    TypeError, ValueError
        If a source is not a vertex, a length is NaN, a source reaches a negative cycle, a sum of finite lengths
        overflows, `cutoff` is negative, or a length is negative and there is a `cutoff`.
    MemoryError
        If the result needs more memory than is available.

    Notes
    -----
    Stored zeros are edges of length 0. Of parallel edges the shortest counts. Self loops count only if negative.

    Examples
    --------
    >>> import gasla, numpy as np
    >>> from scipy.sparse import csr_array
    >>> A = csr_array(np.array([[0, 2, 7, 0], [0, 0, 3, 0], [0, 0, 0, 0], [1, 0, 0, 0]], np.float32))
    >>> gasla.multi_source_shortest_paths(A, [0, 3])
    array([[ 0.,  2.,  5., inf],
           [ 1.,  3.,  6.,  0.]], dtype=float32)
    >>> gasla.multi_source_shortest_paths(A, [0, 3], cutoff=2)
    array([[ 0.,  2., inf, inf],
           [ 1., inf, inf,  0.]], dtype=float32)
    """
    graph = as_graph(graph)
    source_ids = several_vertices(graph, "sources", sources)
    graph.notice_values()
    distance_type, bounds = score_type(float_type(graph), dtype), weight_range(graph)
    require_room(
        "the distances have", len(source_ids) * graph.n, distance_type.itemsize, graph.device, "fewer sources at a time"
    )
    if source_ids and graph.sharers(len(source_ids)):
        # ranks divide the sources among them, unless the whole graph does not fit on one rank
        with suppress(MemoryError):
            shared: Any = graph.map_shares(partial(_distances_from, cutoff, distance_type), source_ids)
            shared_distances: np.ndarray = shared if graph.is_whole else shared.compute()
            return shared_distances
    is_negative = bounds[0] < 0
    distances = module_of(graph.device).empty((len(source_ids), graph.n), distance_type)
    if cutoff is not None:
        limited_search = prepare(search_within(graph, cutoff, distance_type, is_negative), graph, notice=False)
        for row, source in track(list(enumerate(source_ids)), "sources"):
            distances[row] = limited_search(active=[source], distance={source: 0}, wait=False).distance
            if not is_limited(cutoff, distance_type) and may_overflow(graph, distance_type, bounds):
                check_lengths(graph, distances[row])
    elif len(source_ids) > 1 and not is_negative and probe(graph, source_ids).waits:
        search = prepare(BatchedDistances(**length_types(graph, distance_type)), graph, notice=False)
        for batch_start in track(range(0, len(source_ids), BATCH), "batches of sources"):
            _search(search, source_ids[batch_start : batch_start + BATCH], distances[batch_start : batch_start + BATCH])
        if may_overflow(graph, distance_type, bounds):
            for row in distances:
                check_lengths(graph, row)
    else:
        for row, source in track(list(enumerate(source_ids)), "sources"):
            distances[row] = sssp(graph, source, dtype=distance_type)
    return distances


def _distances_from(
    cutoff: float | None, dtype: np.dtype, graph: Graph, sources: list[int], first_row: int
) -> np.ndarray:
    """Return the distances from some sources to all vertices, with a row for each source.

    If several ranks divide the sources among them, each rank calls this for its own sources.
    """
    return multi_source_shortest_paths(graph, sources, cutoff=cutoff, dtype=dtype)


def _search(search: Prepared, sources: list[int], distances: Any) -> None:
    """Write the distances from up to eight sources to all vertices into the rows of `distances`.

    `search` is the prepared program of the search.
    """
    start: dict[int, np.ndarray] = {}
    for i, source in enumerate(sources):
        start.setdefault(source, np.full(BATCH, np.inf, distances.dtype))[i] = 0
    distances[:] = search(active=list(start), distance=start, wait=False).distance.T[: len(sources)]


ROW = Row(
    multi_source_shortest_paths,
    per_source("multi-source-shortest-paths", {"distances": "distance"}),
    "multi_source_shortest_paths(g, range(20))",
    method="ρ-stepping from each source (Dong et al., SPAA 2021, PASGAL)",
    longer="Eight searches, each as long as `sssp`.",
)
