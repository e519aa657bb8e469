"""Verifiers of core numbers and k-cores.

A vertex has enough neighbors for its core number, and peeling vertices off shows that the number is not too low.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import Array, VerificationError, edges_of, require, verifier, vertex_answer

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@verifier()
def core_number(graph: Any, numbers: ArrayLike) -> None:
    """Verify `numbers` of `gasla.core_number`.

    A vertex of core number k must have k neighbors of number k or more, and it must be possible to peel it off where no
    more of these neighbors remain.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> core_number(path, [1, 1, 1])
    >>> core_number(path, [1, 2, 1])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 1 has the core number 2, but only 0 neighbors of 2 or more
    """
    simple = edges_of(graph).simple()
    number = vertex_answer("numbers", numbers, simple.shape[0], "iu").astype(np.int64)
    require(number >= 0, lambda v: f"vertex {v} has the core number {number[v]}; expected 0 or more")
    support = _neighbors(simple, lambda v, u: number[u] >= number[v])
    require(
        support >= number,
        lambda v: f"vertex {v} has the core number {number[v]}, but only {support[v]} neighbors of {number[v]} or more",
    )
    peeling = Peeling(simple)
    for k in np.unique(number).tolist():
        peeling.peel(np.flatnonzero(number == k), k)
        require(
            peeling.gone | (number != k),
            lambda v: f"vertex {v} has the core number {number[v]}, but is in a core of {number[v] + 1} or more",
        )


@verifier()
def k_core(graph: Any, members: ArrayLike, k: int | None = None) -> None:
    """Verify `members` of `gasla.k_core`. All members have k or more neighbors among them, and all other vertices can
    be peeled off.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> triangle = csr_array([[0, 1, 1, 1], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    >>> k_core(triangle, [True, True, True, False], 2)
    >>> k_core(triangle, [True, True, True, True], 2)
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 3 is in the core of 2, but has 1 neighbors in it
    """
    simple = edges_of(graph).simple()
    member = vertex_answer("members", members, simple.shape[0], "b")
    member_neighbors = _neighbors(simple, lambda v, u: member[v] & member[u])
    least = int(member_neighbors[member].min(initial=np.iinfo(np.int64).max)) if k is None else k
    require(
        (member_neighbors >= least) | ~member,
        lambda v: f"vertex {v} is in the core of {least}, but has {member_neighbors[v]} neighbors in it",
    )
    peeling = Peeling(simple)
    peeling.peel(np.flatnonzero(~member), least - 1)
    require(peeling.gone | member, lambda v: f"vertex {v} is missing from the core of {least}")
    if k is None and len(member):
        if not member.any():
            raise VerificationError("the core is empty; expected that of the highest k, which is not")
        peeling.peel(np.flatnonzero(member), least)
        require(peeling.gone, lambda v: f"vertex {v} is in a core of more than {least}")


def _neighbors(simple: "csr_array", counts: Any) -> Array:
    """Return for each vertex how many neighbors satisfy a condition.

    `counts` takes two arrays, with a vertex and one of its neighbors at each index, and returns a bool for each index.
    """
    vertex = np.repeat(np.arange(simple.shape[0]), np.diff(simple.indptr))
    return np.bincount(vertex[counts(vertex, simple.indices)], minlength=simple.shape[0])


class Peeling:
    """A simple graph from which vertices are removed. `left` is the number of remaining neighbors of each vertex."""

    def __init__(self, simple: "csr_array") -> None:
        self.simple = simple
        self.left = np.diff(simple.indptr).astype(np.int64)
        self.gone = np.zeros(simple.shape[0], bool)

    def peel(self, some: Array, most: int) -> None:
        """Remove vertices of `some` that have at most `most` remaining neighbors, until no such vertex remains in
        `some`.
        """
        may_go = np.zeros(len(self.gone), bool)
        may_go[some] = True
        front = some[self.left[some] <= most]
        while len(front):
            self.gone[front] = True
            may_go[front] = False
            neighbors, times = np.unique(self.simple[front].indices, return_counts=True)
            self.left[neighbors] -= times
            front = neighbors[may_go[neighbors] & (self.left[neighbors] <= most)]
