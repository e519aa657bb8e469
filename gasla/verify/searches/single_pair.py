"""Verifiers of one or several shortest paths between two vertices."""

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.arrays import moved
from gasla.verify._common import (
    SAMPLES,
    VerificationError,
    check_source,
    distances_from,
    edges_by_id,
    edges_of,
    sample,
    sparse,
    verifier,
)


@verifier("lengths")
def shortest_path(graph: Any, source: Any, target: Any, distance: float, path: ArrayLike, edges: ArrayLike) -> None:
    """Verify `distance`, `path` and `edges` of `gasla.shortest_path`.

    The edges lead along the path and add up to its length, up to rounding in float32. SciPy finds no shorter path.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> triangle = csr_array([[0, 1.0, 5.0], [0, 0, 2.0], [0, 0, 0]])
    >>> shortest_path(triangle, 0, 2, 3.0, [0, 1, 2], [0, 2])
    >>> shortest_path(triangle, 0, 2, 5.0, [0, 2], [1])
    Traceback (most recent call last):
    gasla.verify.VerificationError: the path from 0 to 2 has length 5.0, but there is one of length 3.0
    """
    every = edges_of(graph)
    source, target = check_source(source, every.n), check_source(target, every.n)
    least = distances_from(every.lightest(), source)[target]
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


@verifier("lengths")
def k_shortest_paths(
    graph: Any,
    source: Any,
    target: Any,
    k: int,
    paths: Sequence[tuple[float, ArrayLike, ArrayLike]],
    *,
    samples: int = SAMPLES,
) -> None:
    """Verify `paths` of `gasla.k_shortest_paths`: each path is correct, they are in order, and no shorter path is
    missing.

    Every other path leaves the given paths at some vertex. For `samples` such vertices, SciPy finds the shortest path
    from there on.

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
    next_vertices: dict[tuple[int, ...], tuple[float, set[int]]] = {(source,): (0.0, set())} if source != target else {}
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
            next_vertices.setdefault(this[1][:i], (length, set()))[1].add(u)
    if source == target and k > 0 and not paths:
        raise VerificationError(f"the path of the vertex {source} alone is missing")
    lightest, limit = every.lightest().tocoo(), last if len(paths) == k else (np.inf, ())
    _check_lengths(lightest, paths)
    beginnings = list(next_vertices.items())
    for i in sample(len(beginnings), samples) if k > 0 else ():
        begin, (length, known) = beginnings[i]
        _check_next(lightest, target, begin, length, known, limit)


@verifier("lengths")
def alternative_paths(
    graph: Any,
    source: Any,
    target: Any,
    paths: Sequence[tuple[float, ArrayLike, ArrayLike]],
    *,
    k: int = 3,
    max_overlap: float = 0.5,
    stretch: float = 1.5,
) -> None:
    """Verify `paths` of `gasla.alternative_paths`: the first is a shortest path, no path is too long, and no two are
    too similar.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> triangle = csr_array([[0, 1.0, 4.0], [0, 0, 2.0], [0, 0, 0]])
    >>> alternative_paths(triangle, 0, 2, [(3.0, [0, 1, 2], [0, 2]), (4.0, [0, 2], [1])])
    >>> alternative_paths(triangle, 0, 2, [(4.0, [0, 2], [1])])
    Traceback (most recent call last):
    gasla.verify.VerificationError: the first path has length 4.0, but there is one of length 3.0
    """
    every, numbered = edges_of(graph), edges_by_id(graph)
    source, target = check_source(source, every.n), check_source(target, every.n)
    least = distances_from(every.lightest(), source)[target]
    if len(paths) > k or (k > 0 and bool(paths) != bool(np.isfinite(least))):
        raise VerificationError(f"there are {len(paths)} paths; expected {k} at most, and one if there is any")
    lengths, chosen = [], []
    for distance, vertices, edges in paths:
        path, steps = _ids("path", vertices), _ids("edges", edges)
        if len(path) == 0 or np.ndim(distance):
            raise VerificationError("a path has no vertices, or several lengths")
        lengths.append(_length(numbered, source, target, distance, path, steps))
        chosen.append(set(steps.tolist()))
        if len(set(path.tolist())) < len(path):
            raise VerificationError(f"the path {path.tolist()} visits a vertex twice")
    if lengths and not np.isclose(lengths[0], least, rtol=1e-5, atol=0):
        raise VerificationError(f"the first path has length {lengths[0]}, but there is one of length {least}")
    if (np.diff(lengths) < 0).any() or (lengths and lengths[-1] > stretch * least * (1 + 1e-6)):
        raise VerificationError(
            f"the paths have lengths {lengths}; expected ascending ones, {stretch} * {least} at most"
        )
    for a, b in combinations(range(len(paths)), 2):
        common = sum(numbered[2][e].item() for e in chosen[a] & chosen[b])
        if common > max_overlap * min(lengths[a], lengths[b]) * (1 + 1e-6) or chosen[a] == chosen[b]:
            raise VerificationError(
                f"paths {a} and {b} have a length of {common} in common; expected {max_overlap} of it"
            )


def _check_lengths(lightest: Any, paths: Any) -> None:
    """Verify that every path takes the shortest of parallel edges.

    `lightest` is the matrix of the smallest weight between each two vertices.
    """
    least = lightest.tocsr()
    for distance, path, _ in paths:
        total = sum(least[u, v] for u, v in pairwise(_ids("path", path).tolist()))
        if not np.isclose(distance, total, rtol=1e-5, atol=0):
            raise VerificationError(f"a path has length {distance}, but by shorter parallel edges {total}")


def _check_next(
    lightest: Any, target: int, begin: tuple[int, ...], length: float, known: set[int], last: tuple[float, Any]
) -> None:
    """Verify that no path is missing that begins with the vertices `begin` and is shorter than the last path of the
    answer.

    Missing paths are those that begin with `begin`, and go on to a vertex outside of `known`. None of them may come
    before `last`, the last path of the answer.
    """
    (src, dst), weight, n = lightest.coords, lightest.data, lightest.shape[0]
    avoids_beginning = ~(np.isin(src, begin) | np.isin(dst, begin))
    rest = distances_from(sparse(n, dst[avoids_beginning], src[avoids_beginning], weight[avoids_beginning]), target)
    leaves = (src == begin[-1]) & ~np.isin(dst, [*begin, *known]) & np.isfinite(rest[dst])
    for u, total in zip(dst[leaves].tolist(), (length + weight[leaves] + rest[dst[leaves]]).tolist()):
        is_same = np.isclose(total, last[0], rtol=1e-12, atol=0)
        if (total < last[0] and not is_same) or (total == last[0] and (*begin, u) < last[1]):
            raise VerificationError(
                f"a path that begins with {list(begin)}, and then goes to {u}, is missing; its length is {total}"
            )


def _ids(name: str, given: ArrayLike) -> Any:
    """Return the ids of vertices or edges in an answer as an int64 array in the host's memory."""
    ids = np.asarray(given if isinstance(given, list | tuple) else moved(given, "cpu"))
    if ids.ndim != 1 or (len(ids) and ids.dtype.kind not in "iu"):
        raise VerificationError(f"{name}: integers in one dimension were expected, not {ids.dtype}{ids.shape}")
    return ids.astype(np.int64)


def _length(numbered: Any, source: int, target: int, distance: float, path: Any, steps: Any) -> float:
    """Verify that edges lead along a path from source to target, and that their lengths sum to `distance`. Return the
    sum.

    `numbered` is three arrays with the source, target and weight of each edge id. `steps` are the ids of the path's
    edges.
    """
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
