"""Verify a shortest path from one vertex to another."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.graph.graph import as_graph
from gasla.verify._common import VerificationError, check_source, edges_of


def shortest_path(graph: Any, source: int, target: int, distance: float, path: ArrayLike, edges: ArrayLike) -> None:
    """Verify a shortest path: its vertices, its edges, and that SciPy finds none that is shorter.

    The length may differ from the sum along the path, and from the least, by the rounding of float32.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph; its values are the lengths (1 where it has none).
    source, target : int
        Where the path was to begin and to end.
    distance : float
        Its length; infinite if there is none.
    path : array of int
        Its vertices in order.
    edges : array of int
        Numbers of the edges between them.

    Raises
    ------
    VerificationError
        If it is no path from source to target, has another length, or is not a shortest one.

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
    path, steps = np.asarray(path), np.asarray(edges)
    for name, ids in (("path", path), ("edges", steps)):
        if ids.ndim != 1 or (len(ids) and ids.dtype.kind not in "iu"):
            raise VerificationError(f"{name}: integers in one dimension were expected, not {ids.dtype}{ids.shape}")
    search: Any = dijkstra
    least = search(every.lightest(), indices=source)[target]
    if len(path) == 0:
        if distance != np.inf or len(steps):
            raise VerificationError(f"there is no path, but the length {distance} and {len(steps)} edges")
        if np.isfinite(least):
            raise VerificationError(f"vertex {target} is unreached, but there is a path of length {least}")
        return
    if path[0] != source or path[-1] != target:
        raise VerificationError(f"the path leads from {path[0]} to {path[-1]}, not from {source} to {target}")
    if len(steps) != len(path) - 1:
        raise VerificationError(f"the path has {len(path)} vertices and {len(steps)} edges, not one fewer")
    numbers = _numbers(graph)
    total = 0.0
    for e, u, v in zip(steps.tolist(), path[:-1].tolist(), path[1:].tolist()):
        place = numbers[e] if 0 <= e < len(numbers) else -1
        if place < 0 or every.src[place] != u or every.dst[place] != v:
            raise VerificationError(f"the path goes from {u} to {v} by edge {e}, which does not lead there")
        total += every.weight[place].item()
    if not np.isclose(distance, total, rtol=1e-5, atol=0):
        raise VerificationError(f"the path has length {total}, not {distance}")
    if not (total <= least or np.isclose(total, least, rtol=1e-5, atol=0)):
        raise VerificationError(
            f"the path from {source} to {target} has length {total}, but there is one of length {least}"
        )


def _numbers(graph: Any) -> Any:
    """Where among edges grouped by where they start the edge of each number is."""
    return np.argsort(as_graph(graph).out.numbers(), kind="stable")
