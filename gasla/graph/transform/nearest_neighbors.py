"""Nearest neighbors of points as a graph, by SciPy's k-d tree."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any, Literal, get_args

import numpy as np

from gasla.apart import run_apart
from gasla.arrays import device_of, index_dtype, moved
from gasla.cpu.runtime.threads import get_num_threads
from gasla.graph.arguments import check_choice, check_flags, whole_number
from gasla.graph.graph import Graph
from gasla.graph.memory_limit import require_room
from gasla.graph.validate import as_array
from semirings import max as largest

Metric = Literal["euclidean", "manhattan", "chebyshev"]
BYTES = 25 + 12  # of an edge: while it is found, and in the graph
STEP = 0.1  # seconds between looks whether Ctrl-C has come
FEW = 64  # points of each thread in the first step
POWERS = {"euclidean": 2.0, "manhattan": 1.0, "chebyshev": np.inf}


def nearest_neighbors_graph(points: Any, k: int, *, metric: Metric = "euclidean", symmetric: bool = False) -> Graph:
    """Make the graph in which each point has edges to the k nearest other points.

    Parameters
    ----------
    points : (n, d) array of numbers
        A row of finite coordinates for each point.
    k : int
        Number of neighbors of each point, from 0 to n - 1.
    metric : {"euclidean", "manhattan", "chebyshev"}, default "euclidean"
        The distance: the root of the sum of squared differences, the sum of differences, or the largest difference.
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
        If the points are not rows of finite numbers, `k` is out of range, or the metric is unknown.
    MemoryError
        If the graph needs more memory than is available.

    See Also
    --------
    gasla.shared_nearest_neighbors : the number of nearest neighbors that two points have in common.

    Notes
    -----
    Neighbors are exact: `scipy.spatial.cKDTree`, which runs on the CPU, also for points on a GPU. In up to some ten
    dimensions a point takes O(k + log n). In hundreds, almost all points are compared with each other, and so are equal
    points. Among points at the same distance, which ones are neighbors is up to the tree. Besides the result and the
    tree, memory is 25 bytes for each edge, and 25 bytes and the coordinates for each point.
    Ctrl-C ends the call at once; the tree's threads end within some tenths of a second.

    References
    ----------
    S. Maneewongvatana, D. M. Mount: Analysis of approximate nearest neighbor searching with clustered point sets.
    DIMACS Series in Discrete Mathematics and Theoretical Computer Science 59 (2002).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.nearest_neighbors_graph([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [9.0, 2.0]], 1)
    >>> graph.edges()
    (array([0, 1, 2, 3], dtype=int32), array([1, 0, 0, 1], dtype=int32))
    >>> graph.values.round(2)
    array([1.  , 1.  , 2.  , 8.25])
    """
    given = as_array("points", points)
    rows = _as_rows(given)
    n, k = len(rows), whole_number("k", k)
    check_choice("metric", metric, get_args(Metric))
    check_flags(symmetric=symmetric)
    if k > max(n - 1, 0):
        raise ValueError(f"k is {k}; expected {max(n - 1, 0)} at most, the number of other points")
    require_room("the graph has", n * k, BYTES, "cpu", "a smaller k")
    neighbors, distances = _nearest(rows, k, metric)
    indptr = np.arange(n + 1, dtype=index_dtype(n * k)) * k
    graph = Graph.from_csr(indptr, neighbors.ravel(), distances.ravel()).to(device_of(given))
    return graph.symmetrized(largest) if symmetric else graph


def _as_rows(given: Any) -> np.ndarray:
    """The points as a float64 array of finite rows, on the CPU."""
    if given.ndim != 2 or given.shape[1] == 0 or given.dtype.kind not in "biuf":
        raise TypeError(f"points is {given.dtype}{given.shape}; expected an (n, d) array of numbers, a row per point")
    rows: np.ndarray = np.ascontiguousarray(moved(given, "cpu"), np.float64)
    if not np.isfinite(rows).all():
        point = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise ValueError(f"points has {rows[point].tolist()} in row {point}; expected finite coordinates")
    return rows


def _nearest(rows: np.ndarray, k: int, metric: Metric) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest other points of each point, nearest first, and their distances."""
    from scipy.spatial import cKDTree

    n = len(rows)
    neighbors, distances = np.empty((n, k), index_dtype(n)), np.empty((n, k))
    exponent = int(np.frexp(np.abs(rows).max(initial=0))[1]) + 1  # differences are 1 at most: no square overflows
    places = np.arange(1, k + 2)  # k + 1, as a point is among its own neighbors unless many are at distance 0

    def steps() -> Iterator[None]:
        """Find the neighbors of some points at a time: of as many as take about `STEP` seconds."""
        tree: Any = cKDTree(np.ldexp(rows, -exponent))
        workers, first = get_num_threads(), 0
        size = FEW * workers
        while first < n:
            yield
            some, began = slice(first, first + size), perf_counter()
            lengths, ids = tree.query(tree.data[some], places, p=POWERS[metric], workers=workers)
            others = ids != np.arange(first, first + len(ids))[:, None]
            others[:, k] &= ~others.all(axis=1)
            neighbors[some] = ids[others].reshape(-1, k)
            with np.errstate(over="ignore"):
                distances[some] = np.ldexp(lengths[others].reshape(-1, k), exponent)
            first += size
            size = max(workers, int(size * min(2, STEP / (perf_counter() - began + 1e-9))))

    if n > 0 and k > 0:
        run_apart(steps())
    return neighbors, distances
