"""`shortest_path`, `dijkstra`, `bellman_ford` and `yen` with the arguments and results of SciPy's functions.

Distances are float64, and -9999 stands for no predecessor.
"""

import warnings
from typing import Any

import numpy as np
from scipy.sparse.csgraph import NegativeCycleError

from gasla.algorithms.paths.k_shortest_paths import k_shortest_paths
from gasla.algorithms.paths.multi_source_shortest_paths import multi_source_shortest_paths
from gasla.algorithms.paths.sssp import NegativeCycleError as Unbounded
from gasla.algorithms.paths.sssp import sssp
from gasla.algorithms.traversal.bfs import bfs
from gasla.algorithms.traversal.multi_source_bfs import multi_source_bfs
from gasla.arrays import array_module, device_of, module_of
from gasla.csgraph import passthrough
from gasla.csgraph.inputs import both_ways, graph_of, has_negative, is_foreign, most_edges, require_real, sources_of
from gasla.graph.graph import Graph
from gasla.graph.memory_limit import require_room

NONE = -9999  # the predecessor of a vertex that has none, as in SciPy
FEW = 1 << 16  # If the number of edges times the number of sources is below this, SciPy is faster.
# If gasla would search from each source separately, SciPy is faster on graphs of fewer edges than this.
FEW_EDGES_ALONE = 1 << 18
MANY_SOURCES = 16  # From this number of sources on, SciPy is as fast in a dense graph.
FEW_EDGES_OF_PATHS = 1 << 11  # On graphs of fewer edges than this, SciPy's `yen` is as fast.
NAN_OR_MINUS_INFINITY = "a length that is NaN or minus infinity"
NEGATIVE_OR_NAN = "a length that is negative or NaN"
NEGATIVE = (  # the text of SciPy's own warning
    "Graph has negative weights: dijkstra will give inaccurate results if the graph contains negative cycles. "
    "Consider johnson or bellman_ford."
)
METHODS = ("auto", "FW", "D", "BF", "J")


def shortest_path(
    csgraph: Any,
    method: str = "auto",
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
    indices: Any = None,
) -> Any:
    """Find the lengths of shortest paths.

    Parameters
    ----------
    csgraph, method, directed, return_predecessors, unweighted, overwrite, indices
        As for `scipy.sparse.csgraph.shortest_path`; CuPy's arrays, too, give CuPy arrays. The methods differ only in
        what is an error: a negative length for "D", a negative cycle anywhere for "FW" and "J", a reachable negative
        cycle for "BF". `overwrite` changes nothing: the array is never written to.

    Returns
    -------
    dist_matrix, predecessors
        As SciPy's; of several shortest paths any may give the predecessor.

    Examples
    --------
    >>> import numpy as np
    >>> from gasla import csgraph
    >>> A = np.array([[0, 1, 2, 0], [0, 0, 0, 1], [2, 0, 0, 3], [0, 0, 0, 0]])
    >>> csgraph.shortest_path(A, indices=0, directed=False, return_predecessors=True)
    (array([0., 1., 2., 2.]), array([-9999,     0,     0,     1], dtype=int32))
    """
    if method not in METHODS:
        raise ValueError(f"unrecognized method '{method}'")
    if method == "FW" and indices is not None:
        raise ValueError("Cannot specify indices with method == 'FW'.")
    options: dict[str, Any] = {
        "directed": directed,
        "return_predecessors": return_predecessors,
        "unweighted": unweighted,
    }
    options |= {"method": method, "indices": indices}
    if method == "D":
        return dijkstra(csgraph, directed, indices, return_predecessors, unweighted)
    require_real(csgraph)
    reads_per_source = np.shape(csgraph)[0] if method in ("BF", "J") and np.ndim(csgraph) else 1
    if reason := _reason_for_scipy(csgraph, indices, return_predecessors, reads_per_source):
        return passthrough.by_scipy("shortest_path", reason, csgraph, **options)
    graph = _searched_graph(csgraph, directed, unweighted)
    least_length = _least_length(graph)
    if not least_length > -np.inf:
        return passthrough.by_scipy("shortest_path", NAN_OR_MINUS_INFINITY, csgraph, **options)
    anywhere = least_length < 0 and method != "BF"
    return _search(graph, sources_of(indices, graph.n), return_predecessors, unweighted, anywhere=anywhere)


def dijkstra(
    csgraph: Any,
    directed: bool = True,
    indices: Any = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
    limit: float = np.inf,
    min_only: bool = False,
) -> Any:
    """Find the lengths of shortest paths where no length is negative.

    Parameters
    ----------
    csgraph, directed, indices, return_predecessors, unweighted, limit, min_only
        As for `scipy.sparse.csgraph.dijkstra`; CuPy's arrays, too. Where lengths are negative this warns of it, as
        SciPy's function does, and answers as `bellman_ford`.

    Returns
    -------
    dist_matrix, predecessors, sources
        As SciPy's; of several shortest paths any may give the predecessor, and of several nearest sources any.

    Examples
    --------
    >>> import numpy as np
    >>> from gasla import csgraph
    >>> A = np.array([[0, 1, 2, 0], [0, 0, 0, 1], [2, 0, 0, 3], [0, 0, 0, 0]])
    >>> csgraph.dijkstra(A, indices=[1, 2], min_only=True)
    array([2., 0., 0., 1.])
    """
    if limit < 0:
        raise ValueError("limit must be >= 0")
    options: dict[str, Any] = {"directed": directed, "indices": indices, "return_predecessors": return_predecessors}
    options |= {"unweighted": unweighted, "limit": limit, "min_only": min_only}
    require_real(csgraph)
    if has_negative(csgraph):
        warnings.warn(NEGATIVE, UserWarning, stacklevel=2)
        if not unweighted:
            return _by_bellman_ford(csgraph, directed, indices, return_predecessors, limit, min_only)
    stops = passthrough.sparing("a limit, where SciPy's search ends", csgraph) if limit < np.inf else ""
    reason = "a limit that is NaN" if limit != limit else stops
    if reason := reason or _reason_for_scipy(csgraph, 0 if min_only else indices, return_predecessors):
        return passthrough.by_scipy("dijkstra", reason, csgraph, **options)
    graph = _searched_graph(csgraph, directed, unweighted)
    if not _least_length(graph) >= 0:
        return passthrough.by_scipy("dijkstra", NAN_OR_MINUS_INFINITY, csgraph, **options)
    sources = sources_of(indices, graph.n)
    if min_only:
        return _search_nearest(graph, sources, return_predecessors, limit)
    return _search(graph, sources, return_predecessors, unweighted, limit)


def bellman_ford(
    csgraph: Any,
    directed: bool = True,
    indices: Any = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
) -> Any:
    """Find the lengths of shortest paths where lengths may be negative.

    Parameters
    ----------
    csgraph, directed, indices, return_predecessors, unweighted
        As for `scipy.sparse.csgraph.bellman_ford`; CuPy's arrays, too.

    Returns
    -------
    dist_matrix, predecessors
        As for `shortest_path`.

    Examples
    --------
    >>> import numpy as np
    >>> from gasla import csgraph
    >>> csgraph.bellman_ford(np.array([[0, 4, 1], [0, 0, 0], [0, -2, 0]]), indices=0)
    array([ 0., -1.,  1.])
    """
    options: dict[str, Any] = {"directed": directed, "indices": indices, "return_predecessors": return_predecessors}
    options |= {"unweighted": unweighted}
    require_real(csgraph)
    reads_per_source = np.shape(csgraph)[0] if np.ndim(csgraph) else 1
    if reason := _reason_for_scipy(csgraph, indices, return_predecessors, reads_per_source):
        return passthrough.by_scipy("bellman_ford", reason, csgraph, **options)
    graph = _searched_graph(csgraph, directed, unweighted)
    if not _least_length(graph) > -np.inf:
        return passthrough.by_scipy("bellman_ford", NAN_OR_MINUS_INFINITY, csgraph, **options)
    return _search(graph, sources_of(indices, graph.n), return_predecessors, unweighted)


def yen(
    csgraph: Any,
    source: int,
    sink: int,
    K: int,
    *,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
) -> Any:
    """Find the K shortest paths between two vertices that visit no vertex twice.

    Parameters
    ----------
    csgraph, source, sink, K, directed, return_predecessors, unweighted
        As for `scipy.sparse.csgraph.yen`; CuPy's arrays, too.

    Returns
    -------
    dist_array, predecessors
        As SciPy's.

    Examples
    --------
    >>> import numpy as np
    >>> from gasla import csgraph
    >>> A = np.array([[0, 1, 2, 0], [0, 0, 0, 1], [2, 0, 0, 3], [0, 0, 0, 0]])
    >>> csgraph.yen(A, 0, 3, 2, directed=False)
    array([2., 5.])
    """
    options: dict[str, Any] = {
        "directed": directed,
        "return_predecessors": return_predecessors,
        "unweighted": unweighted,
    }
    require_real(csgraph)
    shape = np.shape(csgraph)
    # SciPy before 1.17 crashes if the source or the sink is not a vertex, so both are checked here.
    if len(shape) == 2 and not (0 <= source < shape[0] and 0 <= sink < shape[0]):
        raise ValueError(
            "For csgraph with shape (N, N), must have 0 <= source < N and 0 <= sink < N. "
            f"Got N={shape[0]}, source={source}, sink={sink}."
        )
    few = passthrough.sparing("few edges", csgraph) if most_edges(csgraph) < FEW_EDGES_OF_PATHS else ""
    if reason := "an array of PyData's sparse" if is_foreign(csgraph) else few:
        return _yen_by_scipy(reason, csgraph, source, sink, K, options)
    graph = _searched_graph(csgraph, directed, unweighted)
    least_length = _least_length(graph)
    if not least_length >= 0:
        return _yen_by_scipy(NEGATIVE_OR_NAN, csgraph, source, sink, K, options)
    paths = k_shortest_paths(graph, int(source), int(sink), K)
    xp: Any = module_of(graph.device)
    lengths = xp.asarray([path.distance for path in paths], dtype=np.float64)
    if not return_predecessors:
        return lengths
    require_room("the predecessors have", len(paths) * graph.n, 4, graph.device, "a smaller K")
    predecessors = xp.full((len(paths), graph.n), NONE, np.int32)
    for row, (_, path, _) in zip(predecessors, paths):
        row[path[1:]] = path[:-1]
    return lengths, predecessors


def _yen_by_scipy(reason: str, csgraph: Any, source: int, sink: int, K: int, options: dict[str, Any]) -> Any:
    """Return the result of SciPy's `yen`, and log the reason for which gasla does not compute it.

    For K = 0 SciPy would write out of bounds, so one path is searched and left out of the result.
    """
    # SciPy allocates memory for K paths at once, so this is the number of bytes for a path.
    bytes_of_path = 8 + (4 * np.shape(csgraph)[0] if options["return_predecessors"] else 0)
    require_room("the result has", K, bytes_of_path, "cpu", "a smaller K")
    result = passthrough.by_scipy("yen", reason, csgraph, source, sink, K or 1, **options)
    if K:
        return result
    return tuple(values[:0] for values in result) if options["return_predecessors"] else result[:0]


def _reason_for_scipy(csgraph: Any, indices: Any, is_alone: bool, reads_per_source: int = 1) -> str:
    """Return the reason for which SciPy's function should process an array, or "" if gasla's should.

    `is_alone` says whether gasla would search from each source separately. SciPy's function reads each edge
    `reads_per_source` times for each source. The lengths of edges are not considered.
    """
    if is_foreign(csgraph):
        return "an array of PyData's sparse"
    rows = np.shape(csgraph)[0] if indices is None and np.ndim(csgraph) else int(np.size(indices))
    # Bytes of the result for each vertex and source: a distance has 8, and a predecessor 4.
    bytes_of_entry = 12 if is_alone else 8
    entries = rows * max(np.shape(csgraph), default=0)
    require_room("the result has", entries, bytes_of_entry, device_of(csgraph), "fewer indices at a time")
    edges = reads_per_source * most_edges(csgraph)
    if edges * rows < FEW or (is_alone and edges < FEW_EDGES_ALONE):
        return passthrough.sparing("few edges", csgraph)
    is_dense = reads_per_source == 1 and rows >= MANY_SOURCES and 4 * edges >= np.prod(np.shape(csgraph))
    return passthrough.sparing("many sources in a dense graph", csgraph) if is_dense else ""


def _by_bellman_ford(
    csgraph: Any, directed: bool, indices: Any, return_predecessors: bool, limit: float, min_only: bool
) -> Any:
    """Return the result of `dijkstra` for a graph with negative lengths, computed by `bellman_ford`.

    SciPy's Dijkstra would process a vertex again whenever its distance decreases, and never end if there is a negative
    cycle.
    """
    sources = sources_of(indices, np.shape(csgraph)[0])
    distances, predecessors = bellman_ford(csgraph, directed, sources.ravel() if min_only else sources, True)
    xp: Any = array_module(distances)
    is_far = distances > limit
    distances[is_far], predecessors[is_far] = np.inf, NONE
    if not min_only:
        return (distances, predecessors) if return_predecessors else distances
    # A row of infinite distances is appended, which stands for no source. Index -1 selects this row for vertices that
    # no source reaches.
    distances, predecessors = (
        xp.pad(rows, ((0, 1), (0, 0)), constant_values=filler)
        for rows, filler in ((distances, np.inf), (predecessors, NONE))
    )
    sources = xp.asarray([*sources.ravel().tolist(), NONE], np.int32)
    ids, nearest = xp.arange(distances.shape[1]), distances.argmin(axis=0)
    nearest[xp.isinf(distances.min(axis=0))] = -1
    if return_predecessors:
        return distances[nearest, ids], predecessors[nearest, ids], sources[nearest]
    return distances[nearest, ids]


def _searched_graph(csgraph: Any, directed: bool, unweighted: bool) -> Graph:
    """Return the graph in which paths are searched for an array.

    It has no lengths if `unweighted`, and a reverse edge for every edge if not `directed`.
    """
    graph = graph_of(csgraph)
    graph = graph.with_values(None) if unweighted else graph
    return graph if directed else both_ways(graph)


def _least_length(graph: Graph) -> Any:
    """Return the smallest length of an edge, or 0 if no length is negative. If any length is NaN, return NaN."""
    if graph.values is None or graph.m == 0 or graph.values.dtype.kind in "bu":
        return 0
    shortest = graph.values.min().item()
    return shortest if shortest != shortest else min(shortest, 0)


def _search(
    graph: Graph,
    sources: np.ndarray,
    return_predecessors: bool,
    unweighted: bool,
    limit: float = np.inf,
    anywhere: bool = False,
) -> Any:
    """Return the distances of all vertices from each source and, if `return_predecessors`, their predecessors.

    Raise NegativeCycleError if a source reaches a negative cycle or, with `anywhere`, if there is any negative cycle.
    """
    shape, source_list = (*sources.shape, graph.n), sources.ravel().tolist()
    predecessors = module_of(graph.device).empty((len(source_list) if return_predecessors else 0, graph.n), np.int32)
    try:
        if anywhere:
            sssp(graph, range(graph.n))
        distances = _distances(graph, source_list, predecessors, unweighted, limit)
    except Unbounded as error:
        raise NegativeCycleError(str(error)) from None
    distances = distances.reshape(shape)
    return (distances, predecessors.reshape(shape)) if return_predecessors else distances


def _distances(graph: Graph, sources: list[int], predecessors: Any, unweighted: bool, limit: float) -> Any:
    """Return an array with a row of distances for each source.

    The rows of `predecessors` are filled with the predecessors of vertices, unless the array has no rows, which means
    that they are not asked for.
    """
    xp: Any = module_of(graph.device)
    cutoff = _cutoff(limit)
    deepest = None if cutoff is None else min(int(cutoff), graph.n)
    if len(predecessors) == 0 and not unweighted:
        return multi_source_shortest_paths(graph, sources, cutoff=cutoff, dtype=np.float64)
    if len(predecessors) == 0:
        return _as_lengths(multi_source_bfs(graph, sources, depth_limit=deepest))
    distances = xp.empty((len(sources), graph.n))
    for row, source in enumerate(sources):
        if unweighted:
            levels, parents = bfs(graph, source, parents=True, depth_limit=deepest)
            distances[row] = _as_lengths(levels)
        else:
            distances[row], parents = sssp(graph, source, parents=True, cutoff=cutoff, dtype=np.float64)
        predecessors[row] = _as_predecessors(parents, [source])
    return distances


def _cutoff(limit: float) -> float | None:
    """Return SciPy's `limit` of distances as the argument `cutoff` of gasla's searches, in which None means no limit.

    An infinite limit becomes None, since a search without a cutoff is faster.
    """
    return None if limit == np.inf else float(limit)


def _as_lengths(levels: Any) -> Any:
    """Return the levels of a breadth-first search as float64 distances. Vertices not reached (level -1) get inf."""
    return array_module(levels).where(levels < 0, np.inf, levels)


def _as_predecessors(parents: Any, sources: list[int]) -> Any:
    """Return the parents in a search tree as SciPy's predecessors: -9999 for sources and unreached vertices."""
    predecessors = array_module(parents).where(parents < 0, parents.dtype.type(NONE), parents)
    predecessors[sources] = NONE
    return predecessors


def _search_nearest(graph: Graph, sources: np.ndarray, return_predecessors: bool, limit: float) -> Any:
    """Return the distance of each vertex from its nearest source and, if `return_predecessors`, two more arrays.

    These are the predecessor of each vertex, and the source that is nearest to it.
    """
    source_list, cutoff = sources.ravel().tolist(), _cutoff(limit)
    if not return_predecessors:
        return sssp(graph, source_list, cutoff=cutoff, dtype=np.float64)
    xp: Any = module_of(graph.device)
    distances, parents = sssp(graph, source_list, parents=True, cutoff=cutoff, dtype=np.float64)
    is_far = distances == np.inf
    roots = xp.where(is_far, xp.arange(graph.n, dtype=parents.dtype), parents)
    # Pointer doubling: after k rounds, `roots` is the ancestor of each vertex up to 2**k steps up the search tree.
    for _ in range(graph.n.bit_length()):
        roots = roots[roots]
    roots[is_far] = NONE
    return (
        distances,
        _as_predecessors(parents, source_list).astype(np.int32, copy=False),
        roots.astype(np.int32, copy=False),
    )
