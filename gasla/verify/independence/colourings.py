"""Verify colourings: neighbours have different colours, and nobody could have a lower one."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import Array, Edges, answer, edge_name, edges_of, require, without_loops


def greedy_color(graph: Any, colours: ArrayLike) -> None:
    """Verify a colouring that is proper and greedy.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph; directions, values and loops mean nothing.
    colours : array of int
        The colour of each vertex, from 0 on.

    Raises
    ------
    VerificationError
        If two neighbours have the same colour, a vertex could take a lower one, or a component that two colours do for
        has more.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> greedy_color(path, [0, 1, 0])
    >>> greedy_color(path, [0, 1, 2])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 2 has colour 2, and no neighbour of colour 0
    """
    edges = without_loops(edges_of(graph))
    colour = answer("colours", colours, edges.n, "iu").astype(np.int64)
    require(colour >= 0, lambda v: f"vertex {v} has colour {colour[v]}; expected 0 or more")
    same = colour[edges.src] == colour[edges.dst]
    require(~same, lambda e: f"{edge_name(edges, e)} joins two vertices of colour {colour[edges.src[e]]}")
    v, seen = np.concatenate([edges.src, edges.dst]), colour[np.concatenate([edges.dst, edges.src])]
    lower = seen < colour[v]
    pairs = np.unique(np.stack([v[lower].astype(np.int64), seen[lower]]), axis=1)  # sorted: colours of each vertex
    lacks = np.bincount(pairs[0], minlength=edges.n) < colour
    require(~lacks, lambda v: f"vertex {v} has colour {colour[v]}, and no neighbour of colour {_gap(pairs, v)}")
    _two_do(edges, colour)


def _gap(pairs: Array, v: int) -> int:
    """The least colour that no neighbour of a vertex has."""
    seen = pairs[1][pairs[0] == v]
    return int(np.setdiff1d(np.arange(len(seen) + 1), seen)[0])


def _two_do(edges: Edges, colour: Array) -> None:
    """Verify that whatever component has more than two colours needs them: it has an odd cycle.

    A component has none just if each of its vertices has two halves that no path joins, where every edge leads from a
    half of one end to the other half of the other end.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = edges.n
    rows = np.concatenate([edges.src, edges.src.astype(np.int64) + n])
    columns = np.concatenate([edges.dst.astype(np.int64) + n, edges.dst])
    doubled = coo_array((np.ones(len(rows), bool), (rows, columns)), shape=(2 * n, 2 * n))
    _, half = connected_components(doubled, directed=False)
    two_do = half[:n] != half[n:]
    require(~(two_do & (colour > 1)), lambda v: f"vertex {v} has colour {colour[v]}, where 0 and 1 would have done")
