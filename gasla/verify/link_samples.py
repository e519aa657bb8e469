"""Verifiers of pairs without an edge, and of edges split into sets."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.graph.graph import as_graph
from gasla.verify._common import VerificationError, edges_of, require


def negative_edges(graph: Any, count: int, found: ArrayLike, *, undirected: bool = False) -> None:
    """Verify pairs without an edge: their number, and that they are distinct, of different vertices, and no edges.

    Parameters
    ----------
    graph, count, undirected
        As for `gasla.negative_edges`.
    found : (2, count) array of integers
        The answer.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> pair = csr_array([[0, 1], [0, 0]])
    >>> negative_edges(pair, 1, [[1], [0]])
    >>> negative_edges(pair, 1, [[0], [1]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: pair 0 is 0, 1: an edge
    """
    edges, pairs = edges_of(graph), np.asarray(found)
    if pairs.shape != (2, count) or pairs.dtype.kind != "i":
        raise VerificationError(f"pairs are {pairs.dtype}{pairs.shape}; expected integers of shape {2, count}")
    i, j = pairs.astype(np.int64)
    right = ((pairs >= 0) & (pairs < edges.n)).all(axis=0) & ((i < j) if undirected else (i != j))
    wanted = "i < j" if undirected else "different vertices"
    require(np.asarray(right), lambda p: f"pair {p} is {i[p]}, {j[p]}; expected {wanted} from 0 to {edges.n - 1}")
    stored = edges.src.astype(np.int64) * edges.n + edges.dst
    back = edges.dst.astype(np.int64) * edges.n + edges.src
    is_edge = np.isin(i * edges.n + j, np.concatenate([stored, back]) if undirected else stored)
    require(~is_edge, lambda p: f"pair {p} is {i[p]}, {j[p]}: an edge")
    if len(set(zip(i.tolist(), j.tolist()))) != count:
        raise VerificationError("a pair occurs twice; expected distinct pairs")


def split_edges(graph: Any, fractions: Sequence[float], sets: Sequence[ArrayLike]) -> None:
    """Verify edges split into sets: each edge is in one set, with all edges between its ends; the sizes of the sets.

    Parameters
    ----------
    graph, fractions
        As for `gasla.split_edges`.
    sets : sequence of arrays of integers
        The answer.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> split_edges(path, (0.5, 0.5), [[0, 1], [2, 3]])
    >>> split_edges(path, (0.5, 0.5), [[0, 2], [1, 3]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: edges between 0 and 1 are in sets 0 and 1
    """
    graph = as_graph(graph)
    if len(sets) != len(fractions):
        raise VerificationError(f"there are {len(sets)} sets; expected {len(fractions)}")
    parts = [np.asarray(part) for part in sets]
    numbers = np.concatenate(parts)
    if not np.array_equal(np.sort(numbers), np.arange(graph.m)):
        raise VerificationError(f"the sets do not have each of {graph.m} edges once")
    for k, part in enumerate(parts):
        require(np.append(True, part[1:] > part[:-1]), lambda e: f"set {k} does not ascend at entry {e}")  # noqa: B023
    set_of = np.repeat(np.arange(len(parts)), [len(part) for part in parts])[np.argsort(numbers)]
    u, v = (side.astype(np.int64) for side in graph.edges())
    if graph.is_symmetric:
        u, v = np.minimum(u, v), np.maximum(u, v)
    order = np.argsort(u * graph.n + v, kind="stable")
    u, v, set_of = u[order], v[order], set_of[order]
    again = (u[1:] == u[:-1]) & (v[1:] == v[:-1])
    require(
        ~again | (set_of[1:] == set_of[:-1]),
        lambda e: f"edges between {u[e]} and {v[e]} are in sets {set_of[e]} and {set_of[e + 1]}",
    )
    counts = np.bincount(set_of[np.append(True, ~again)[: graph.m]], minlength=len(parts))
    wanted = np.asarray(fractions) * counts.sum()
    require(abs(counts - wanted) <= 1, lambda k: f"set {k} has {counts[k]} pairs of vertices; expected {wanted[k]:g}")
