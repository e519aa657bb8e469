"""Nearest neighbors of points: by SciPy's k-d tree in few dimensions, by products of matrices in many.

To compare directions (cosine), points are moved to the unit sphere. To compare places on the Earth (haversine), they
become points of a sphere in three dimensions. On a sphere, the order of distances is that of straight lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from gasla.apart import run_apart
from gasla.arrays import any_true, array_module, device_of, index_dtype, moved
from gasla.engines import engine
from gasla.graph.arguments import check_choice, check_flags, whole_number
from gasla.graph.datasets import EARTH_RADIUS
from gasla.graph.graph import Graph
from gasla.graph.memory_limit import require_room
from gasla.graph.transform.nearest_by_tree import nearest_by_tree
from gasla.graph.validate import as_array
from gasla.rows import Row
from semirings import max as largest

Metric = Literal["euclidean", "manhattan", "chebyshev", "cosine", "haversine"]
# upper bound of the bytes for each edge of the graph: 25 while neighbors are searched, and 12 in the result
BYTES = 25 + 12
POWERS = {"manhattan": 1.0, "chebyshev": np.inf}
# In this number of dimensions or more, all points are compared with each other, without a tree: in 16 dimensions, a
# tree took three times as long as that, in 8 dimensions as long.
DIMENSIONS = 16
BLOCK = 1 << 23  # number of pairs of points whose products are computed at a time, to limit memory
# Tolerance for rounding: a neighbor's squared distance may exceed that of the true neighbor by this fraction.
ENOUGH = 1e-9
# Number of candidates besides the k nearest points. As distances from products lose digits, the distances of all
# candidates are computed again from differences.
SPARE = 8


class NearestNeighbors(NamedTuple):
    """The nearest points of each point, or of each query, in ascending order of distance, and their distances."""

    neighbors: Any
    distances: Any


def k_nearest_neighbors(points: Any, k: int, *, queries: Any = None, metric: Metric = "euclidean") -> NearestNeighbors:
    """Find the k points nearest to each point, or to each of other points (`queries`).

    Parameters
    ----------
    points : (n, d) array of numbers
        A row of finite coordinates for each point.
    k : int
        Number of neighbors, from 0 to n, or to n - 1 without `queries`.
    queries : (q, d) array of numbers, optional
        The points whose neighbors are wanted, on the device of `points`. By default these are all of `points`, and no
        point is its own neighbor.
    metric : {"euclidean", "manhattan", "chebyshev", "cosine", "haversine"}, default "euclidean"
        The distance: the root of the sum of squared differences; the sum of differences; the largest difference; 1
        minus the cosine of the angle between two rows, none of which is 0; or kilometers on a spherical Earth between
        rows of latitude and longitude in degrees.

    Returns
    -------
    NearestNeighbors(neighbors, distances)
        `neighbors`, shape (q, k), are row numbers of `points`, nearest first; `distances`, float64, are theirs. On the
        device of the points.

    Raises
    ------
    TypeError, ValueError
        If points or queries are not rows of finite numbers, or not for the metric; `k` is out of range; or the metric
        is unknown.
    MemoryError
        If the result needs more memory than is available.

    See Also
    --------
    gasla.nearest_neighbors_graph : the same as a graph.
    gasla.datasets.great_circle : the distance between two places.

    Notes
    -----
    Neighbors are exact. In up to 15 dimensions, and for "manhattan", "chebyshev" and "haversine", they are found by
    `scipy.spatial.cKDTree`, which runs on the CPU, also for points on a GPU: O(k + log n) for a point in few
    dimensions.
    For "euclidean" and "cosine" in 16 dimensions or more, all pairs are compared by products of matrices in float64, on
    the device of the points: O(n d) for a point. The k + 8 nearest are then compared by differences. Where the rounding
    of products may have hidden a neighbor that is nearer by a fraction of 1e-9, as among close points of which others
    are very far, all differences are computed, which takes longer. Among points at the same distance, which ones are
    neighbors is up to the method.

    Distances are roots of sums of squares: in two dimensions or more, differences below 1e-154 of the largest
    coordinate lose digits, and below 1e-162 count as 0.

    Besides the result and the tree, memory is 25 bytes per neighbor, and 25 bytes and the coordinates per point;
    blocks take 100 MB, or 200 bytes per point if that is more. Ctrl-C ends the call within some tenths of a second.

    References
    ----------
    S. Maneewongvatana, D. M. Mount: Analysis of approximate nearest neighbor searching with clustered point sets.
    DIMACS Series in Discrete Mathematics and Theoretical Computer Science 59 (2002).

    Examples
    --------
    >>> import gasla
    >>> gasla.k_nearest_neighbors([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], 1, queries=[[0.0, 3.0]])
    NearestNeighbors(neighbors=array([[2]], dtype=int32), distances=array([[1.]]))
    >>> towns = [[52.5, 13.4], [48.9, 2.4], [51.5, -0.1]]  # Berlin, Paris, London
    >>> near = gasla.k_nearest_neighbors(towns, 1, metric="haversine")
    >>> near.neighbors.ravel(), near.distances.ravel().round()
    (array([1, 2, 1], dtype=int32), array([871., 339., 339.]))
    """
    check_choice("metric", metric, get_args(Metric))
    data = as_array("points", points)
    _check_rows("points", data, metric)
    query_data = data if queries is None else as_array("queries", queries)
    n, is_own = len(data), queries is None
    if not is_own:
        _check_rows("queries", query_data, metric)
        if query_data.shape[1] != data.shape[1] or device_of(query_data) != device_of(data):
            raise ValueError(
                f"queries has rows of {query_data.shape[1]} numbers on the {device_of(query_data)}, points of "
                f"{data.shape[1]} on the {device_of(data)}; expected the same"
            )
    k, largest_k = whole_number("k", k), max(n - is_own, 0)
    if k > largest_k:
        raise ValueError(f"k is {k}; expected {largest_k} at most, the number of {'other ' * is_own}points")
    require_room("the result has", len(query_data) * k, BYTES, device_of(data), "a smaller k")
    return _find_neighbors(data, query_data, k, metric, is_own)


def nearest_neighbors_graph(points: Any, k: int, *, metric: Metric = "euclidean", symmetric: bool = False) -> Graph:
    """Make the graph in which each point has edges to the k nearest other points.

    Parameters
    ----------
    points : (n, d) array of numbers
        A row of finite coordinates for each point.
    k : int
        Number of neighbors of each point, from 0 to n - 1.
    metric : {"euclidean", "manhattan", "chebyshev", "cosine", "haversine"}, default "euclidean"
        The distance, as for `k_nearest_neighbors`.
    symmetric : bool, default False
        Whether to add the reverse of each edge: then two points are joined if either is among the nearest of the other.

    Returns
    -------
    Graph
        Vertex i is point i, and values are distances, as float64. Out-neighbors are in ascending order of distance;
        with `symmetric` in ascending order of ids. On the device of the points.

    Raises
    ------
    TypeError, ValueError
        If the points are not rows of finite numbers, or not for the metric; `k` is out of range; or the metric is
        unknown.
    MemoryError
        If the graph needs more memory than is available.

    See Also
    --------
    gasla.k_nearest_neighbors : the same as arrays, also of other points than those that are searched.
    gasla.shared_nearest_neighbors : the number of nearest neighbors that two points have in common.

    Notes
    -----
    Neighbors are exact; `k_nearest_neighbors` says how they are found, and in what time. Besides the result and the
    tree, memory is 25 bytes for each edge, and 25 bytes and the coordinates for each point. Instead of a tree, products
    of blocks take 100 MB, or 200 bytes for each point if that is more.

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.nearest_neighbors_graph([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [9.0, 2.0]], 1)
    >>> graph.edges()
    (array([0, 1, 2, 3], dtype=int32), array([1, 0, 0, 1], dtype=int32))
    >>> graph.values.round(2)
    array([1.  , 1.  , 2.  , 8.25])
    """
    check_flags(symmetric=symmetric)
    neighbors, distances = k_nearest_neighbors(points, k, metric=metric)
    n, xp = len(neighbors), array_module(neighbors)
    indptr = xp.arange(n + 1, dtype=index_dtype(n * k)) * k
    graph = Graph.from_csr(indptr, neighbors.ravel(), distances.ravel())
    return graph.symmetrized(largest) if symmetric else graph


def _check_rows(name: str, rows: Any, metric: Metric) -> None:
    """Raise an error unless an array of points is valid: a row of finite numbers for each point, which suit the metric.

    For example, latitudes have to be between -90 and 90 degrees. `name` is the argument's name, for the error.
    """
    if rows.ndim != 2 or rows.shape[1] == 0 or rows.dtype.kind not in "biuf":
        raise TypeError(f"{name} is {rows.dtype}{rows.shape}; expected an (n, d) array of numbers, a row per point")
    xp: Any = array_module(rows)
    # For a float type longer than float64, numbers out of the range of float64 become inf or 0, which the checks below
    # refuse where they matter.
    if rows.dtype.itemsize > 8:
        with np.errstate(over="ignore", under="ignore"):
            rows = rows.astype(np.float64)
    is_wrong, expected = ~xp.isfinite(rows).all(axis=1), "finite coordinates"
    if metric == "cosine" and not any_true(is_wrong):
        is_wrong, expected = ~rows.any(axis=1), "a row with a direction, not all 0"
    elif metric == "haversine":
        if rows.shape[1] != 2:
            raise ValueError(f"{name} has {rows.shape[1]} columns; expected two, latitude and longitude in degrees")
        is_wrong |= xp.abs(rows[:, 0]) > 90
        expected = "finite degrees, the latitude from -90 to 90"
    if any_true(is_wrong):
        row = int(is_wrong.argmax())
        numbers = rows[row].astype(np.float64).tolist()
        raise ValueError(f"{name} has {numbers} in row {row}; expected {expected}")


def _find_neighbors(given_points: Any, given_queries: Any, k: int, metric: Metric, is_own: bool) -> NearestNeighbors:
    """Return, for each query point, the k nearest of the points `given_points` and their distances, for any metric.

    `given_queries` has the query points. With `is_own` they are the points themselves, and no point is its own
    neighbor. For some metrics the points are mapped so that straight lines between them have the same order as the
    metric.
    """
    xp, device, exponent = array_module(given_points), device_of(given_points), 0
    if metric == "cosine":
        points = _unit_rows(given_points)
        queries = points if is_own else _unit_rows(given_queries)
    elif metric == "haversine":
        points = _on_sphere(given_points)
        queries = points if is_own else _on_sphere(given_queries)
    else:  # other metrics: points are scaled so that differences are 1 at most, and no square overflows
        largest_coordinate = max(_largest_absolute(given_points), _largest_absolute(given_queries))
        exponent = int(np.frexp(largest_coordinate)[1]) + 1
        points = xp.ldexp(given_points.astype(np.float64), np.int32(-exponent))
        queries = points if is_own else xp.ldexp(given_queries.astype(np.float64), np.int32(-exponent))
    if metric in ("euclidean", "cosine") and given_points.shape[1] >= DIMENSIONS:
        # squared distance up to which two directions count as equal, as it may come from rounding
        noise = given_points.shape[1] * 1e-30 if metric == "cosine" else 0.0
        neighbors, distances = _neighbors_by_blocks(points, queries, k, is_own, noise)
    else:
        tree_points, tree_queries = (np.ascontiguousarray(moved(rows, "cpu")) for rows in (points, queries))
        # The power of Minkowski's metric. In one dimension, 1 gives the same distances as 2, without squares that may
        # underflow.
        power = 1.0 if given_points.shape[1] == 1 else POWERS.get(metric, 2.0)
        nearest = nearest_by_tree(tree_points, tree_queries, k, power, is_own)
        neighbors, distances = (moved(result_array, device) for result_array in nearest)
    if metric == "cosine":
        return NearestNeighbors(neighbors, distances * distances / 2)
    if metric == "haversine":
        return NearestNeighbors(neighbors, 2 * EARTH_RADIUS * xp.arcsin(xp.minimum(distances / 2, 1.0)))
    with np.errstate(over="ignore"):
        return NearestNeighbors(neighbors, xp.ldexp(distances, np.int32(exponent)))


def _largest_absolute(rows: Any) -> float:
    """Return the largest absolute value in an array, or 0 if it has no rows."""
    return float(abs(rows.astype(np.float64)).max()) if len(rows) else 0.0


def _unit_rows(rows: Any) -> Any:
    """Return the rows of an array scaled to length 1, which are the directions of the points from the origin."""
    xp: Any = array_module(rows)
    rows = rows.astype(np.float64)
    rows = rows / xp.abs(rows).max(axis=1, keepdims=True) if len(rows) else rows
    return rows / xp.sqrt((rows * rows).sum(axis=1, keepdims=True))


def _on_sphere(coordinates: Any) -> Any:
    """Return the points of the unit sphere, in three dimensions, at the given latitudes and longitudes in degrees."""
    xp: Any = array_module(coordinates)
    latitude, longitude = xp.radians(coordinates.T.astype(np.float64))
    across = xp.cos(latitude)
    return xp.stack([across * xp.cos(longitude), across * xp.sin(longitude), xp.sin(latitude)], axis=1)


def _neighbors_by_differences(points: Any, query: Any, k: int, own_row: int | None) -> tuple[Any, Any]:
    """Return the k points nearest to the point `query`, and their distances, from the differences of coordinates.

    If the query is one of `points`, `own_row` is its row, which is left out. Otherwise `own_row` is None.
    """
    xp: Any = array_module(points)
    differences = points - query
    lengths = xp.sqrt((differences * differences).sum(axis=1))
    if own_row is not None:
        lengths[own_row] = np.inf
    ids = xp.argsort(lengths)[:k]
    return ids, lengths[ids]


def _neighbors_by_blocks(points: Any, queries: Any, k: int, is_own: bool, noise: float) -> tuple[Any, Any]:
    """Return the k nearest neighbors of each point in `queries`, and their distances, from products of matrices.

    With `is_own`, `queries` and `points` are the same points, and no point is its own neighbor. For points x and a
    query y, the larger x·y - |x|²/2 is, the nearer x is to y. Points whose squared distance is at most `noise` count as
    equal.
    """
    xp: Any = array_module(points)
    n, candidate_count, device = len(points), min(k + SPARE, len(points) - is_own), device_of(points)
    neighbors = xp.empty((len(queries), k), index_dtype(n))
    distances = xp.empty((len(queries), k))
    block_size = max(16, BLOCK // max(n, 1))
    select = engine(device).primitives().top_k

    def steps() -> Iterator[None]:
        """Find the neighbors of one block of points after another, and yield before each block."""
        middle = points.mean(axis=0)
        centered = points - middle
        largest_square, rounding = (
            (centered * centered).sum(axis=1).max(),
            8 * (points.shape[1] + 2) * np.finfo(np.float64).eps,
        )
        table = xp.concatenate([centered.T, -(centered * centered).sum(axis=1)[None] / 2])
        columns = xp.tile(xp.arange(n, dtype=neighbors.dtype), min(block_size, len(queries)))
        buffer = xp.empty((min(block_size, len(queries)), n))
        for first_query in range(0, len(queries), block_size):
            yield
            rows = queries[first_query : first_query + block_size] - middle
            rows_and_ones = xp.concatenate([rows, xp.ones((len(rows), 1))], axis=1)
            scores = xp.matmul(rows_and_ones, table, out=buffer[: len(rows)])
            if is_own:
                scores[xp.arange(len(rows)), xp.arange(first_query, first_query + len(rows))] = -np.inf
            row_ends = xp.arange(len(rows) + 1, dtype=np.int64) * n
            ids = select(row_ends, columns[: scores.size], scores.ravel(), candidate_count)[0]
            block = slice(first_query, first_query + len(rows))
            differences = points[ids] - queries[block, None]
            lengths = xp.sqrt((differences * differences).sum(axis=2))
            order = xp.argsort(lengths, axis=1)[:, :k]
            neighbors[block] = xp.take_along_axis(ids, order, axis=1)
            distances[block] = xp.take_along_axis(lengths, order, axis=1)
            # If some points are not candidates, one of them may be nearer than the products, which are rounded, have
            # shown.
            if candidate_count < n - is_own:
                squares = (rows * rows).sum(axis=1)
                error = rounding * (squares + largest_square)
                # a lower bound of the squared distances of all points that are not candidates
                lower_bound = squares - 2 * xp.take_along_axis(scores, ids, axis=1).min(axis=1)
                farthest = distances[block, -1] ** 2
                unsure = (farthest > noise) & (farthest > lower_bound - error) & (farthest * ENOUGH < error)
                for row in (xp.flatnonzero(unsure) + first_query).tolist():
                    yield
                    neighbors[row], distances[row] = _neighbors_by_differences(
                        points, queries[row], k, row if is_own else None
                    )

    if len(queries) > 0 and k > 0:
        if xp is np:
            run_apart(steps())
        else:
            for _ in steps():
                pass
    return neighbors, distances


ROW = [
    Row(
        k_nearest_neighbors,
        method="products of blocks and a selection: Faiss (Johnson et al., 2021); in few dimensions a k-d tree",
        longer="All pairs of 8,192 points are compared in 64 dimensions, which no graph limits.",
    ),
    Row(
        nearest_neighbors_graph,
        method="products of blocks and a selection: Faiss (Johnson et al., 2021); in few dimensions a k-d tree",
        longer="All pairs of 8,192 points are compared in 64 dimensions, which no graph limits.",
    ),
]
