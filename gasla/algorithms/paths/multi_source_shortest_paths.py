"""Shortest paths from many vertices, with weights.

Returned is a row of distances for each source, as `sssp` from it would give.

Where a search mostly waits for its next iteration, eight sources go together: a vertex holds eight distances, and its
neighbors gather them all at one look along an edge. Elsewhere each source's near vertices go first by themselves,
which visits fewer edges in all.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

import semirings
from gasla.algorithms.paths.sssp import sssp
from gasla.algorithms.traversal.multi_source_bfs import look
from gasla.arrays import module_of
from gasla.graph.arguments import float_type, score_type, several_vertices, weight_range
from gasla.graph.graph import as_graph
from gasla.graph.weights import check_lengths, may_overflow
from gasla.operations.prepare import Prepared, prepare
from gasla.program.fields import edge, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram
from gasla.progress import track

LANES = 8  # sources at once


class Lanes(VertexProgram):
    """distance(v)[i] = min over in-edges of distance(u)[i] + weight, near vertices first."""

    real = option(np.float64)
    lengths = option(np.float64)
    distance = vertex((real, (LANES,)), init=np.inf)
    weight = edge(lengths)
    reduce = semirings.min

    def gather(self, src, dst, edge):
        return src.distance + edge.weight

    def apply(self, vertex, gathered):
        return {"distance": semirings.minimum(vertex.distance, gathered)}

    def priority(self, vertex):
        return semirings.min(vertex.distance)


def multi_source_shortest_paths(graph: Any, sources: Iterable[int], *, dtype: Any = None) -> np.ndarray:
    """Length of a shortest path from each of some sources to every vertex.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the length of the edge i -> j; stored zeros are edges of length 0. A graph without values has
        edges of length 1. Negative lengths are allowed where no cycle that a source reaches is negative.
    sources : ids
        Where to start: any number of vertices, in any order, also one several times.
    dtype : float32 or float64, optional
        The type of sums of lengths; by default float32 for float32 lengths, else float64.

    Returns
    -------
    (len(sources), n) float
        Row i is what `gasla.sssp(graph, sources[i])` gives: infinite where the source does not reach.

    Raises
    ------
    TypeError, ValueError
        If a source is not a vertex, a length is NaN, a cycle is negative, or a sum of finite lengths overflows.

    Examples
    --------
    >>> import gasla, numpy as np
    >>> from scipy.sparse import csr_array
    >>> A = csr_array(np.array([[0, 2, 7, 0], [0, 0, 3, 0], [0, 0, 0, 0], [1, 0, 0, 0]], np.float32))
    >>> gasla.multi_source_shortest_paths(A, [0, 3])
    array([[ 0.,  2.,  5., inf],
           [ 1.,  3.,  6.,  0.]], dtype=float32)
    """
    graph = as_graph(graph)
    chosen = several_vertices(graph, "sources", sources)
    graph.notice_values()
    kind, bounds = score_type(float_type(graph), dtype), weight_range(graph)
    is_negative = bounds[0] < 0
    distances = module_of(graph.device).empty((len(chosen), graph.n), kind)
    if len(chosen) > 1 and not is_negative and look(graph, chosen).waits:
        lengths = kind if graph.values is None else graph.values.dtype
        search = prepare(Lanes(real=kind, lengths=lengths), graph, notice=False)
        for first in track(range(0, len(chosen), LANES), "batches of sources"):
            _search(search, chosen[first : first + LANES], distances[first : first + LANES])
        if may_overflow(graph, kind, bounds):
            for row in distances:
                check_lengths(graph, row)
    else:
        for row, source in track(list(enumerate(chosen)), "sources"):
            distances[row] = sssp(graph, source, dtype=kind)
    return distances


def _search(search: Prepared, sources: list[int], distances: Any) -> None:
    """Write the distances from up to eight sources."""
    start: dict[int, np.ndarray] = {}
    for lane, source in enumerate(sources):
        start.setdefault(source, np.full(LANES, np.inf, distances.dtype))[lane] = 0
    distances[:] = search(active=list(start), distance=start, wait=False).distance.T[: len(sources)]
