"""Eccentricity is the distance in edges from each vertex to the farthest vertex that can be reached.

In a symmetric graph, a search from one vertex bounds the eccentricities of all vertices of its component, by the
triangle inequality. A vertex whose bounds meet needs no search of its own. Searches from vertices with low lower
bounds, near the center, lower the upper bounds. Searches from the vertices farthest from these raise the lower bounds.
"""

from typing import Any

import numpy as np

import semirings
from gasla.algorithms.components.connected_components import connected_components
from gasla.algorithms.paths.sssp import sssp
from gasla.algorithms.traversal.bfs import bfs
from gasla.algorithms.traversal.multi_source_bfs import multi_source_bfs
from gasla.arrays import any_true, array_module, module_of
from gasla.graph.exchange.vertex_names import as_numbers
from gasla.graph.graph import Graph, as_graph
from gasla.graph.transform.reduction import reduce_by_key
from gasla.operations.on_one_device import on_one_device
from gasla.progress import track
from gasla.rows import Row, Task, scores

BATCH = 64  # number of breadth-first searches that run at once


@on_one_device()
def eccentricity(graph: Any) -> Any:
    """Compute the eccentricity of every vertex: the largest number of edges on a shortest path from it.

    The maximum is the diameter, the minimum the radius, and the vertices that attain it are the center.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Paths are along the edges. Values are ignored; stored zeros are edges.

    Returns
    -------
    (n,) int32
        Of distances to the vertices that are reached; 0 if there is no other.

    See Also
    --------
    gasla.effective_diameter : the distance that most pairs are within, also of large graphs.

    Notes
    -----
    NetworkX and others refuse graphs in which some vertex does not reach another; here such pairs are ignored.

    A symmetric graph takes few searches if its eccentricities differ: some 380 for the 264,346 road crossings of New
    York. If they are all alike, as on a ring, it takes up to one for each vertex. Any other graph, and a graph over
    ranks, takes one for each vertex.

    References
    ----------
    F. F. Dragan, M. Habib, L. Viennot: Revisiting Radius, Diameter, and All Eccentricity Computation in Graphs through
    Certificates. arXiv:1803.04660 (2018).

    Examples
    --------
    >>> import gasla
    >>> path = gasla.Graph.from_edges([0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2])
    >>> gasla.eccentricity(path)
    array([3, 2, 2, 3], dtype=int32)
    """
    graph = as_graph(graph)
    if graph.is_whole and graph.is_symmetric:
        return _eccentricities_by_bounds(graph)
    xp: Any = module_of(graph.device)
    eccentricities = xp.zeros(graph.n, np.int32)
    for batch_start in track(range(0, graph.n, BATCH), "batches of sources"):
        sources = as_numbers(graph, list(range(batch_start, min(batch_start + BATCH, graph.n))))
        eccentricities[batch_start : batch_start + BATCH] = multi_source_bfs(graph, sources).max(axis=1)
    return eccentricities


def _eccentricities_by_bounds(graph: Graph) -> Any:
    """Return the eccentricities in a symmetric graph, from searches that raise lower bounds and lower upper bounds.

    It ends when both bounds of every vertex are equal. A round searches each component that has a vertex whose bounds
    differ. It starts from the vertex among these with the lowest lower bound. If the search finds an eccentricity above
    that bound, a second search starts from the vertex farthest from the first start. Ties go to the vertex of the
    highest degree.
    """
    xp: Any = module_of(graph.device)
    plain, labels = graph.with_values(None), connected_components(graph).labels
    sizes = xp.bincount(labels, minlength=1)[labels]
    lower_bounds, upper_bounds = (sizes > 1).astype(np.int32), (sizes - 1).astype(np.int32)
    order = (-graph.out_degrees.astype(np.int64)).argsort()
    rank = xp.empty_like(order)
    rank[order] = xp.arange(graph.n)

    def first_of_each(vertices: Any, key: Any) -> Any:
        """Return from each component the vertex of the smallest key among the given vertices. Ties go to the highest
        degree.
        """
        smallest = reduce_by_key(labels[vertices], key.astype(np.int64) * graph.n + rank[vertices], semirings.min)
        return order[smallest[smallest < np.iinfo(np.int64).max] % graph.n]

    while any_true(lower_bounds < upper_bounds):
        unsettled = xp.flatnonzero(lower_bounds < upper_bounds)
        centers = first_of_each(unsettled, lower_bounds[unsettled])
        expected = lower_bounds[centers]
        level, far = _search(plain, centers, labels)
        _tighten(lower_bounds, upper_bounds, level, far)
        wrong = labels[centers[lower_bounds[centers] > expected]]
        if len(wrong):
            far_vertices = xp.flatnonzero((level == far) & xp.isin(labels, wrong))
            _tighten(
                lower_bounds,
                upper_bounds,
                *_search(plain, first_of_each(far_vertices, xp.zeros_like(far_vertices)), labels),
            )
    return lower_bounds


def _search(graph: Graph, starts: Any, labels: Any) -> tuple[Any, Any]:
    """Search from the vertices `starts`, at most one in each component, and return levels and eccentricities.

    They are the level of each vertex, or -1 if it is not reached, and the largest level in the vertex's component.
    """
    xp: Any = module_of(graph.device)
    if len(starts) == 1:
        level = bfs(graph, as_numbers(graph, starts.tolist())[0])
        return level, level.max()
    level = sssp(graph, as_numbers(graph, starts.tolist()))
    level = xp.where(level < np.inf, level, -1).astype(np.int32)
    return level, reduce_by_key(labels, level, semirings.max)[labels]


def _tighten(lower_bounds: Any, upper_bounds: Any, level: Any, far: Any) -> None:
    """Tighten the bounds of eccentricities after a search, in place, for the vertices that it reached.

    `lower_bounds` and `upper_bounds` are the lower and the upper bounds, `level` the distance from the start of the
    search, and `far` the largest distance in the component: the eccentricity of the start.
    """
    xp: Any = array_module(level)
    lower_bounds[:] = xp.where(level >= 0, xp.maximum(lower_bounds, xp.maximum(far - level, level)), lower_bounds)
    upper_bounds[:] = xp.where(level >= 0, xp.minimum(upper_bounds, far + level), upper_bounds)


def _heading(result_view: Any) -> str:
    """Return the heading that the command `eccentricity` prints. `result_view` has the results of the function."""
    distances = result_view["distances"]
    smallest = distances.min() if len(distances) else 0
    return f"diameter {distances.max(initial=0):,}, radius {smallest:,}; highest eccentricities:"


ROW = Row(
    eccentricity,
    scores("eccentricity", {"distances": "eccentricity"}, _heading),
    Task(checked_with={"samples": 4}, size=lambda n, m: 4 * n),
    method="certificates from few searches (Dragan, Habib, Viennot, arXiv:1803.04660, 2018)",
    longer="Bounds need several searches, and each has a barrier per level.",
)
