"""Verify connected components: no edge may leave one, and each must be connected."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import VerificationError, answer, edge_name, edges_of, require


def components(graph: Any, labels: ArrayLike, count: int | None = None) -> None:
    """Verify weakly connected components.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph.
    labels : array of int
        For each vertex the number of its component; components are numbered by their smallest vertices.
    count : int, optional
        How many components there are said to be.

    Raises
    ------
    VerificationError
        If an edge leaves its component, two components share a number, or the numbers are not in order.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> edge_and_point = csr_array([[0, 1, 0], [0, 0, 0], [0, 0, 0]])
    >>> components(edge_and_point, [0, 0, 1], 2)
    >>> components(edge_and_point, [0, 0, 0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertices 0 and 2 share component 0, but no path joins them
    """
    from scipy.sparse.csgraph import connected_components

    edges = edges_of(graph)
    label = answer("labels", labels, edges.n, "iu").astype(np.int64)
    joined = label[edges.src] == label[edges.dst]
    require(
        joined,
        lambda e: f"{edge_name(edges, e)} leaves component {label[edges.src[e]]} for component {label[edges.dst[e]]}",
    )
    _, piece = connected_components(edges.matrix(), directed=True, connection="weak")
    _, smallest = np.unique(piece, return_index=True)  # of each truly connected piece
    smallest = np.sort(smallest)
    _, owner, shared = np.unique(label[smallest], return_index=True, return_inverse=True)
    require(
        owner[shared] == np.arange(smallest.size),
        lambda p: (
            f"vertices {smallest[owner[shared[p]]]} and {smallest[p]} share component {label[smallest[p]]}, "
            "but no path joins them"
        ),
    )
    require(
        label[smallest] == np.arange(smallest.size),
        lambda p: (
            f"the component of vertex {smallest[p]} is numbered {label[smallest[p]]}; in the order of the "
            f"smallest vertices it is {p}"
        ),
    )
    if count is not None and count != smallest.size:
        raise VerificationError(f"{count} components were counted, but there are {smallest.size}")
