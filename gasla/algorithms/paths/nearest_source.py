"""The nearest of several sources for each vertex, and the distance from it, which are the graph's Voronoi cells.

The first run finds the distance from the nearest source. The second run sends the positions of sources along tight
edges, whose length equals the difference of the distances of their ends. Each vertex keeps the smallest position that
arrives.
"""

from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.paths.sssp import NegativeCycleError, length_types, sssp
from gasla.arrays import moved
from gasla.graph.arguments import several_vertices, weight_range
from gasla.graph.graph import as_graph
from gasla.graph.weights import takes_weight
from gasla.operations.run import run
from gasla.program import VertexProgram, edge, option, vertex
from gasla.rows import Command, Row, Task

NONE = 2**32 - 1  # largest 32-bit position; it stands for no source, and is -1 when read as int32


class Cells(VertexProgram):
    """nearest(v) = the smallest nearest(u) over v's tight in-edges, where nearest is the position of the nearest
    source.

    An in-edge is tight if it is on a shortest path. The run ends, because only a smaller position activates a vertex.
    """

    real = option(np.float64)
    lengths = option(np.float64)
    distance = vertex(real)
    nearest = vertex(np.uint32, init=NONE)
    weight = edge(lengths)
    reduce = semirings.min
    sources = "active"

    def mask(self, vertex):
        return semirings.isfinite(vertex.distance)

    def edge_mask(self, src, dst, edge):
        return semirings.cast(src.distance + edge.weight, self.real) == dst.distance

    def gather(self, src, dst, edge):
        return src.nearest

    def apply(self, vertex, gathered):
        return {"nearest": semirings.minimum(vertex.nearest, gathered)}


class NearestSourceResult(NamedTuple):
    """The distance of each vertex from its nearest source, and the position of this source among the given sources."""

    distances: np.ndarray
    nearest: np.ndarray


@takes_weight
def nearest_source(
    graph: Any, sources: Iterable[Hashable], *, cutoff: float | None = None, dtype: Any = None
) -> NearestSourceResult:
    """Find the nearest of several sources for every vertex, and the distance from it.

    The vertices with the same nearest source are its Voronoi cell.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the length of the edge i -> j. A graph without values has edges of length 1. Negative lengths are
        allowed without `cutoff`, unless a source reaches a negative cycle.
    sources, cutoff, dtype
        As in `gasla.multi_source_shortest_paths`.

    Returns
    -------
    NearestSourceResult(distances, nearest)
        `distances`, shape (n,), float: the length of a shortest path from the nearest source, inf if none reaches the
        vertex. `nearest`, shape (n,), int32: the position of this source in `sources`, -1 if none reaches the vertex.
        Of equally near sources, the one of the smallest position counts.

    Raises
    ------
    TypeError, ValueError
        If a source is not a vertex; otherwise as in `gasla.sssp`.

    See Also
    --------
    gasla.sssp : from several sources, the distances alone; with parents.
    gasla.multi_source_shortest_paths : the distances from each source.

    Notes
    -----
    Distances are along the edges, from sources to vertices. For the nearest target of each vertex, pass
    `graph.reversed()`.

    Stored zeros are edges of length 0. Of parallel edges the shortest counts. Two sources are equally near a vertex if
    the sums of lengths, rounded to the type of the distances, are equal along the whole paths.

    References
    ----------
    M. Erwig: The Graph Voronoi Diagram with Applications. Networks 36 (2000).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 4], [1, 2, 3, 3], [1.0, 2.0, 4.0, 4.0], n=6)
    >>> found = gasla.nearest_source(graph, [4, 0])
    >>> found.distances
    array([ 0.,  1.,  3.,  4.,  0., inf])
    >>> found.nearest
    array([ 1,  1,  1,  0,  0, -1], dtype=int32)
    """
    graph = as_graph(graph)
    source_ids = several_vertices(graph, "sources", sources)
    distances = sssp(graph, source_ids, cutoff=cutoff, dtype=dtype)
    # if a source is given several times, its first position counts
    positions = {source: i for i, source in reversed(list(enumerate(source_ids)))}
    is_negative = weight_range(graph)[0] < 0
    if is_negative:  # a source may then be nearer to another source than to itself
        host_distances = moved(distances, "cpu")
        positions = {source: i for source, i in positions.items() if host_distances[source] == 0}
    program = Cells(**length_types(graph, distances.dtype))
    result = run(program, graph, active=list(positions), distance=distances, nearest=positions, wait=False)
    nearest = result.nearest.view(np.int32)
    if is_negative and bool((np.isfinite(host_distances) & (moved(nearest, "cpu") < 0)).any()):
        raise NegativeCycleError(
            "a cycle has a negative length, which vanished in rounding; shortest paths do not exist"
        )
    return NearestSourceResult(distances, nearest)


ROW = Row(
    nearest_source,
    Command(
        *("nearest-source", {"distances": "distance", "nearest": "nearest"}),
        lambda f: f"{(f['nearest'] >= 0).sum():,} of {f.graph.n:,} vertices reached; vertices per nearest source:",
        lambda f: f.cells(),
    ),
    Task(part="distances", several=64),
    method="Δ-stepping from all sources at once (Erwig, Networks 36, 2000; Meyer, Sanders, 2003)",
    longer="A search as `sssp`, with the source carried along as well.",
)
