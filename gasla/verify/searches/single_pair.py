"""Verifier of a shortest path between two vertices."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.graph.graph import as_graph
from gasla.verify._common import VerificationError, check_source, edges_of


def shortest_path(graph: Any, source: int, target: int, distance: float, path: ArrayLike, edges: ArrayLike) -> None:
    """Verify a shortest path: its vertices and edges, and that SciPy finds no shorter one.

    The length may differ from the sum along the path, and from the distance, by rounding in float32.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph; its values are the lengths (1 where it has none).
    source, target : int
        The ends of the path.
    distance : float
        Its length; inf if there is no path.
    path : array of int
        Its vertices in order.
    edges : array of int
        The ids of the edges between them.

    Raises
    ------
    VerificationError
        If it is not a path from source to target, has another length, or is not a shortest path.

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
    positions = _positions(graph)
    total = 0.0
    for e, u, v in zip(steps.tolist(), path[:-1].tolist(), path[1:].tolist()):
        place = positions[e] if 0 <= e < len(positions) else -1
        if place < 0 or every.src[place] != u or every.dst[place] != v:
            raise VerificationError(f"the path goes from {u} to {v} by edge {e}, which does not lead there")
        total += every.weight[place].item()
    if not np.isclose(distance, total, rtol=1e-5, atol=0):
        raise VerificationError(f"the path has length {total}, not {distance}")
    if not (total <= least or np.isclose(total, least, rtol=1e-5, atol=0)):
        raise VerificationError(
            f"the path from {source} to {target} has length {total}, but there is one of length {least}"
        )


def _positions(graph: Any) -> Any:
    """The position of each edge id among edges grouped by source."""
    return np.argsort(as_graph(graph).out.numbers(), kind="stable")
