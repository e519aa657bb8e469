"""Verifiers of one shortest path between two vertices, or of several."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.arrays import moved
from gasla.verify._common import SAMPLES, VerificationError, check_source, edges_by_id, edges_of, sample, takes_names


@takes_names
def shortest_path(graph: Any, source: Any, target: Any, distance: float, path: ArrayLike, edges: ArrayLike) -> None:
    """Verify a shortest path: its vertices and edges, and that SciPy finds no shorter one.

    The length may differ from the sum along the path, and from the distance, by rounding in float32.

    Parameters
    ----------
    graph, source, target
        As for `gasla.shortest_path`.
    distance : float
        Its length; inf if there is no path.
    path : array of int
        Its vertices in order.
    edges : array of int
        The ids of the edges between them.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> triangle = csr_array([[0, 1.0, 5.0], [0, 0, 2.0], [0, 0, 0]])
    >>> shortest_path(triangle, 0, 2, 3.0, [0, 1, 2], [0, 2])
    >>> shortest_path(triangle, 0, 2, 5.0, [0, 2], [1])
    Traceback (most recent call last):
    gasla.verify.VerificationError: the path from 0 to 2 has length 5.0, but there is one of length 3.0
    """
    from scipy.sparse.csgraph import dijkstra

    every = edges_of(graph)
    source, target = check_source(source, every.n), check_source(target, every.n)
    search: Any = dijkstra
    least = search(every.lightest(), indices=source)[target]
    if len(path := _ids("path", path)) == 0:
        if distance != np.inf or len(_ids("edges", edges)):
            raise VerificationError(
                f"there is no path, but the length {distance} and {len(_ids('edges', edges))} edges"
            )
        if np.isfinite(least):
            raise VerificationError(f"vertex {target} is unreached, but there is a path of length {least}")
        return
    total = _length(edges_by_id(graph), source, target, distance, path, _ids("edges", edges))
    if not (total <= least or np.isclose(total, least, rtol=1e-5, atol=0)):
        raise VerificationError(
            f"the path from {source} to {target} has length {total}, but there is one of length {least}"
        )


@takes_names
def k_shortest_paths(
    graph: Any,
    source: Any,
    target: Any,
    k: int,
    paths: Sequence[tuple[float, ArrayLike, ArrayLike]],
    *,
    samples: int = SAMPLES,
) -> None:
    """Verify the k shortest paths that visit no vertex twice: each of them, their order, and that none is missing.

    Every other path leaves the given ones at some vertex. For sampled such vertices, SciPy finds the shortest way on.

    Parameters
    ----------
    graph, source, target, k
        As for `gasla.k_shortest_paths`.
    paths : list of (length, vertices, edges)
        The paths in order.
    samples : int
        The number of places at which to look for a missing path.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> triangle = csr_array([[0, 1.0, 5.0], [0, 0, 2.0], [0, 0, 0]])
    >>> k_shortest_paths(triangle, 0, 2, 2, [(3.0, [0, 1, 2], [0, 2]), (5.0, [0, 2], [1])])
    >>> k_shortest_paths(triangle, 0, 2, 2, [(3.0, [0, 1, 2], [0, 2])])
    Traceback (most recent call last):
    gasla.verify.VerificationError: a path that begins with [0], and then goes to 2, is missing; its length is 5.0
    """
    every, numbered = edges_of(graph), edges_by_id(graph)
    source, target = check_source(source, every.n), check_source(target, every.n)
    if len(paths) > k:
        raise VerificationError(f"there are {len(paths)} paths; expected {k} at most")
    last: tuple[float, tuple[int, ...]] = (-np.inf, ())
    begun: dict[tuple[int, ...], tuple[float, set[int]]] = {(source,): (0.0, set())} if source != target else {}
    for distance, vertices, edges in paths:
        path, steps = _ids("path", vertices), _ids("edges", edges)
        if len(path) == 0:
            raise VerificationError("a path has no vertices")
        if np.ndim(distance):
            raise VerificationError(f"one length a path was expected, not {distance}")
        _length(numbered, source, target, distance, path, steps)
        this = float(distance), tuple(path.tolist())
        if len(set(this[1])) < len(path):
            raise VerificationError(f"the path {list(this[1])} visits a vertex twice")
        if not last < this:
            raise VerificationError(f"the path {list(this[1])} of length {this[0]} is not after the one before it")
        last, lengths = this, numbered[2][steps].cumsum()
        for i, (u, length) in enumerate(zip(this[1][1:], [0.0, *lengths.tolist()]), 1):
            begun.setdefault(this[1][:i], (length, set()))[1].add(u)
    if source == target and k > 0 and not paths:
        raise VerificationError(f"the path of the vertex {source} alone is missing")
    lightest, limit = every.lightest().tocoo(), last if len(paths) == k else (np.inf, ())
    _check_lengths(lightest, paths)
    places = list(begun.items())
    for i in sample(len(places), samples) if k > 0 else ():
        begin, (length, known) = places[i]
        _check_next(lightest, target, begin, length, known, limit)


def _check_lengths(lightest: Any, paths: Any) -> None:
    """Verify that the paths take the shortest of parallel edges."""
    least = lightest.tocsr()
    for distance, path, _ in paths:
        total = sum(least[u, v] for u, v in pairwise(_ids("path", path).tolist()))
        if not np.isclose(distance, total, rtol=1e-5, atol=0):
            raise VerificationError(f"a path has length {distance}, but by shorter parallel edges {total}")


def _check_next(
    lightest: Any, target: int, begin: tuple[int, ...], length: float, known: set[int], last: tuple[float, Any]
) -> None:
    """Verify that no path with this beginning, and with an unknown next vertex, comes before the last one."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    (src, dst), weight, n = lightest.coords, lightest.data, lightest.shape[0]
    free = ~(np.isin(src, begin) | np.isin(dst, begin))
    back = csr_array((weight[free], (dst[free], src[free])), shape=(n, n))
    search: Any = dijkstra
    rest = search(back, indices=target)
    leaves = (src == begin[-1]) & ~np.isin(dst, [*begin, *known]) & np.isfinite(rest[dst])
    for u, total in zip(dst[leaves].tolist(), (length + weight[leaves] + rest[dst[leaves]]).tolist()):
        is_same = np.isclose(total, last[0], rtol=1e-12, atol=0)
        if (total < last[0] and not is_same) or (total == last[0] and (*begin, u) < last[1]):
            raise VerificationError(
                f"a path that begins with {list(begin)}, and then goes to {u}, is missing; its length is {total}"
            )


def _ids(name: str, given: ArrayLike) -> Any:
    """An array of ids, in the host's memory."""
    ids = np.asarray(given if isinstance(given, list | tuple) else moved(given, "cpu"))
    if ids.ndim != 1 or (len(ids) and ids.dtype.kind not in "iu"):
        raise VerificationError(f"{name}: integers in one dimension were expected, not {ids.dtype}{ids.shape}")
    return ids.astype(np.int64)


def _length(numbered: Any, source: int, target: int, distance: float, path: Any, steps: Any) -> float:
    """Verify that edges lead along a path from source to target, and add up to its length; returns their sum."""
    if path[0] != source or path[-1] != target:
        raise VerificationError(f"the path leads from {path[0]} to {path[-1]}, not from {source} to {target}")
    if len(steps) != len(path) - 1:
        raise VerificationError(f"the path has {len(path)} vertices and {len(steps)} edges, not one fewer")
    (src, dst, weight), total = numbered, 0.0
    for e, u, v in zip(steps.tolist(), path[:-1].tolist(), path[1:].tolist()):
        if not 0 <= e < len(src) or src[e] != u or dst[e] != v:
            raise VerificationError(f"the path goes from {u} to {v} by edge {e}, which does not lead there")
        total += weight[e].item()
    if not np.isclose(distance, total, rtol=1e-5, atol=0):
        raise VerificationError(f"the path has length {total}, not {distance}")
    return total
