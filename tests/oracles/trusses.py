"""Oracle of trusses: peeling by the common neighbors of each edge."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import Array, VerificationError, common_weights, edge_answer, edges_of, require
from tests.oracles._common import adjacent

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def k_truss(graph: Any, edges: ArrayLike, k: int | None = None) -> None:
    """Verify the edges of the k-truss; the graph is read as simple and undirected.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> triangle = csr_array([[0, 1, 1, 1], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    >>> k_truss(triangle, [True, True, False, True], 3)
    >>> k_truss(triangle, [True, True, True, True], 3)
    Traceback (most recent call last):
    gasla.verify.VerificationError: the edge 0 -> 3 is in the truss of 3, but in 0 triangles of it
    """
    stored, simple = edges_of(graph), edges_of(graph).simple()
    member = edge_answer("edges", graph, edges, "b")
    src, dst = stored.src, stored.dst
    require(~member | (src != dst), lambda e: f"the edge {src[e]} -> {dst[e]} is in the truss, but a self loop")
    both = _pattern(np.append(src[member], dst[member]), np.append(dst[member], src[member]), stored.n)
    both.data[:] = 1
    inside = _support(both, src, dst)
    least = int(inside[member].min(initial=np.iinfo(np.int64).max)) if k is None else k - 2
    require(
        ~member | (inside >= least),
        lambda e: f"the edge {src[e]} -> {dst[e]} is in the truss of {least + 2}, but in {inside[e]} triangles of it",
    )
    left = _at(_peeled(simple, least), src, dst)
    require(
        member | (left == 0),
        lambda e: f"the edge {src[e]} -> {dst[e]} is missing in the truss of {least + 2}",
    )
    if k is None and simple.nnz:
        if not member.any():
            raise VerificationError("no edge is in the truss; expected that of the highest k, which is never empty")
        if _peeled(both, least + 1).nnz:
            raise VerificationError(f"there is a truss of more than {least + 2}")


def _peeled(simple: "csr_array", least: int) -> "csr_array":
    """Remove edges until each has at least `least` common neighbors of its ends."""
    while simple.nnz:
        row, column = simple.tocoo().coords
        enough = _support(simple, row, column) >= least
        if enough.all():
            break
        simple = _pattern(row[enough], column[enough], simple.shape[0])
    return simple


def _pattern(row: Array, column: Array, n: int) -> "csr_array":
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(row), np.int64), (row, column)), shape=(n, n))


def _support(simple: "csr_array", src: Array, dst: Array) -> Array:
    """The number of common neighbors of pairs of vertices; 0 if they are not adjacent."""
    found: Array = np.where(adjacent(simple, src, dst), common_weights(simple, src, dst), 0).astype(np.int64)
    return found


def _at(matrix: "csr_array", src: Array, dst: Array) -> Array:
    """Entries of a matrix."""
    return np.asarray(matrix[src, dst]).ravel().astype(np.int64) if len(src) else np.zeros(0, np.int64)
