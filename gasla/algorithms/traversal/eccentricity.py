"""Eccentricity: the distance in edges from each vertex to the farthest one that it reaches.

In a symmetric graph a search from a vertex bounds the eccentricities of all others of its component by the triangle
inequality. A vertex whose bounds meet needs no search of its own. Searches start at vertices with the highest upper and
the lowest lower bounds.

F. W. Takes, W. A. Kosters: Computing the Eccentricity Distribution of Large Graphs. Algorithms 6 (2013).
"""

from typing import Any

import numpy as np

import semirings
from gasla.algorithms.components.connected_components import connected_components
from gasla.algorithms.paths.sssp import sssp
from gasla.algorithms.traversal.multi_source_bfs import multi_source_bfs
from gasla.arrays import any_true, array_module, module_of
from gasla.graph.exchange.vertex_names import as_numbers
from gasla.graph.graph import Graph, as_graph
from gasla.graph.transform.reduction import reduce_by_key
from gasla.progress import track

BATCH = 64  # searches at once
SEPARATE = 64  # of more components that are left, one vertex each starts a common search


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

    A symmetric graph takes some dozens of searches if its eccentricities differ, as in networks of people and of roads,
    and up to one for each vertex if they are all alike, as on a ring. Any other graph, and a
    graph over ranks, takes one for each vertex.

    References
    ----------
    F. W. Takes, W. A. Kosters: Computing the Eccentricity Distribution of Large Graphs. Algorithms 6 (2013).

    Examples
    --------
    >>> import gasla
    >>> path = gasla.Graph.from_edges([0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2])
    >>> gasla.eccentricity(path)
    array([3, 2, 2, 3], dtype=int32)
    """
    graph = as_graph(graph)
    if graph.is_whole and graph.is_symmetric:
        return _by_bounds(graph)
    xp: Any = module_of(graph.device)
    found = xp.zeros(graph.n, np.int32)
    for first in track(range(0, graph.n, BATCH), "batches of sources"):
        some = as_numbers(graph, list(range(first, min(first + BATCH, graph.n))))
        found[first : first + BATCH] = multi_source_bfs(graph, some).max(axis=1)
    return found


def _by_bounds(graph: Graph) -> Any:
    xp: Any = module_of(graph.device)
    plain, labels = graph.with_values(None), connected_components(graph).labels
    sizes = xp.bincount(labels, minlength=1)[labels]
    low, high = (sizes > 1).astype(np.int32), (sizes - 1).astype(np.int32)
    is_upper = True
    while any_true(low < high):
        left = xp.flatnonzero(low < high)
        bound = -high[left] if is_upper else low[left]
        left = left[xp.lexsort(xp.stack([-graph.out_degrees[left], bound, labels[left]]))]
        firsts = left[xp.concatenate([xp.ones(1, bool), labels[left[1:]] != labels[left[:-1]]])]
        if len(firsts) > SEPARATE:
            level = sssp(plain, as_numbers(graph, firsts.tolist()))
            _tighten(low, high, xp.where(level < np.inf, level, -1).astype(np.int32), labels)
        else:
            for row in multi_source_bfs(graph, as_numbers(graph, _batch(left, low, high))):
                _tighten(low, high, row, labels)
        is_upper = not is_upper
    return low


def _batch(left: Any, low: Any, high: Any) -> list[int]:
    """The sources of a batch: half with the lowest lower bounds, half with the highest upper bounds."""
    half = BATCH // 2
    lowest, highest = left[low[left].argsort()[:half]], left[(-high[left]).argsort()[:half]]
    return list(dict.fromkeys([*lowest.tolist(), *highest.tolist()]))


def _tighten(low: Any, high: Any, level: Any, labels: Any) -> None:
    """Tighten the bounds by the levels of one search per component; -1 is out of reach."""
    xp: Any = array_module(level)
    reached = xp.flatnonzero(level >= 0)
    distance, component = level[reached], labels[reached]
    far = reduce_by_key(component, distance, semirings.max)[component]
    low[reached] = xp.maximum(low[reached], xp.maximum(far - distance, distance))
    high[reached] = xp.minimum(high[reached], far + distance)
