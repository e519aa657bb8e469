"""Verifiers of searches from many sources: each row like that of a single search."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.graph.graph import as_graph
from gasla.progress import track
from gasla.verify._common import VerificationError, takes_names
from gasla.verify.searches.paths import bfs, sssp


@takes_names
def multi_source_bfs(graph: Any, sources: Iterable[Any], levels: ArrayLike, *, depth_limit: int | None = None) -> None:
    """Verify the levels of breadth-first searches from many sources.

    Parameters
    ----------
    graph, sources, depth_limit
        As for `gasla.multi_source_bfs`.
    levels : (len(sources), n) array of int
        The distance in edges of each vertex from each source, or -1.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> multi_source_bfs(path, [0, 2], [[0, 1, 2], [-1, -1, 0]])
    >>> multi_source_bfs(path, [0, 2], [[0, 1, 2], [-1, 1, 0]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: from source 2: vertex 1 is at level 1, but has no in-edge from level 0
    """
    _each(graph, sources, "levels", levels, lambda *found: bfs(*found, depth_limit=depth_limit))


@takes_names
def multi_source_shortest_paths(
    graph: Any, sources: Iterable[Any], distances: ArrayLike, *, cutoff: float | None = None
) -> None:
    """Verify shortest distances from many sources; weights may be negative.

    Parameters
    ----------
    graph, sources, cutoff
        As for `gasla.multi_source_shortest_paths`.
    distances : (len(sources), n) array of float
        The distance of each vertex from each source; inf if unreachable.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> triangle = csr_array([[0, 1.0, 5.0], [0, 0, 2.0], [0, 0, 0]])
    >>> multi_source_shortest_paths(triangle, [0, 1], [[0.0, 1.0, 3.0], [np.inf, 0.0, 2.0]])
    >>> multi_source_shortest_paths(triangle, [1], [[np.inf, 0.0, 5.0]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: from source 1: vertex 2 is at distance 5.0, but the edge 1 → 2 offers 2.0
    """
    _each(graph, sources, "distances", distances, lambda *found: sssp(*found, cutoff=cutoff))


def _each(graph: Any, sources: Iterable[int], name: str, rows: ArrayLike, check: Callable[..., None]) -> None:
    graph, chosen, array = as_graph(graph), list(sources), np.asarray(rows)
    if array.shape != (len(chosen), graph.n):
        raise VerificationError(
            f"{name}: expected one row per source and one value per vertex, of shape ({len(chosen)}, {graph.n}), "
            f"not an array of shape {array.shape}"
        )
    for source, row in track(list(zip(chosen, array)), "sources"):
        try:
            check(graph, source, row)
        except VerificationError as error:
            raise VerificationError(f"from source {source}: {error}") from None
