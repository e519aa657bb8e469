"""Verifier of a layout: neighbors are nearer than any two vertices are on average, and no vertex covers another one."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import VerificationError, edges_of, require


def layout(graph: Any, positions: ArrayLike) -> None:
    """Verify positions of vertices by the lengths of edges.

    The squared distances of all pairs of vertices have a mean that does not depend on which vertex is where. A layout
    places neighbors closer together, so the mean of edges is at most that of pairs, and equal if all are neighbors.

    Parameters
    ----------
    graph
        As for `gasla.layout`.
    positions : (n, 2) array of float
        The position of each vertex.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> layout(path, [[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    >>> layout(path, [[-0.5, 0.5], [1.0, -1.0], [-0.5, 0.5]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertices 0 and 2 have one position
    """
    simple = edges_of(graph).simple().tocoo()
    n, edges = simple.shape[0], simple.nnz
    places = np.asarray(positions)
    if places.shape != (n, 2) or places.dtype.kind != "f":
        raise VerificationError(f"positions: ({n}, 2) floats were expected, not {places.dtype}{places.shape}")
    places = places.astype(np.float64)
    require(np.isfinite(places).all(axis=1), lambda v: f"vertex {v} has the position {places[v].tolist()}")
    order = np.lexsort(places.T)
    here, following = places[order[:-1]], places[order[1:]]
    is_apart = (here != following).any(axis=1)
    require(is_apart, lambda i: f"vertices {order[i]} and {order[i + 1]} have one position")
    extent = np.abs(places).max(initial=0)
    middle = np.abs(places.mean(axis=0)).max() if n else 0.0
    if middle > 1e-9 * extent:
        raise VerificationError(f"the mean of the positions is {middle:g} from 0")
    if not edges:
        return
    length = float(((places[simple.row] - places[simple.col]) ** 2).sum()) / edges
    if abs(length - 1) > 1e-6:
        raise VerificationError(f"the squared lengths of edges have the mean {length:g}; expected 1")
    distance = 2 * float((places**2).sum()) / (n - 1)  # the mean of all pairs, as that of the positions is 0
    if distance < 1 - 1e-6:
        raise VerificationError(
            f"squared distances of all pairs have the mean {distance:g}, less than 1, that of edges"
        )
