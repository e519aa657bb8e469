"""Verify core numbers and cores: they are as high as said where neighbors hold, and no higher where peeling ends."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import Array, VerificationError, answer, edges_of, require

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def core_number(graph: Any, numbers: ArrayLike) -> None:
    """Verify the core number of every vertex; the graph is read as simple and undirected.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph.
    numbers : array of int
        For each vertex the largest k whose core it is said to be in.

    Raises
    ------
    VerificationError
        If a number is too high, as its core would have a vertex of too few neighbors, or too low.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> core_number(path, [1, 1, 1])
    >>> core_number(path, [1, 2, 1])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 1 has the core number 2, but 0 neighbors with 2 or more
    """
    simple = edges_of(graph).simple()
    number = answer("numbers", numbers, simple.shape[0], "iu").astype(np.int64)
    require(number >= 0, lambda v: f"vertex {v} has the core number {number[v]}; expected 0 or more")
    support = _neighbors(simple, lambda v, u: number[u] >= number[v])
    require(
        support >= number,
        lambda v: f"vertex {v} has the core number {number[v]}, but {support[v]} neighbors with {number[v]} or more",
    )
    peeling = Peeling(simple)
    for k in np.unique(number).tolist():
        peeling.peel(np.flatnonzero(number == k), k)
        require(
            peeling.gone | (number != k),
            lambda v: f"vertex {v} has the core number {number[v]}, but is in a core of {number[v] + 1} or more",
        )


def k_core(graph: Any, members: ArrayLike, k: int | None = None) -> None:
    """Verify which vertices are in the k-core; the graph is read as simple and undirected.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph.
    members : array of bool
        Whether each vertex is said to be in the core.
    k : int, optional
        How many neighbors all must have; by default as many as there can be.

    Raises
    ------
    VerificationError
        If a member has too few neighbors in the core, a vertex is missing in it, or there is one of a higher k.

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
    member = answer("members", members, simple.shape[0], "b")
    inside = _neighbors(simple, lambda v, u: member[v] & member[u])
    least = int(inside[member].min(initial=np.iinfo(np.int64).max)) if k is None else k
    require(
        (inside >= least) | ~member,
        lambda v: f"vertex {v} is in the core of {least}, but has {inside[v]} neighbors in it",
    )
    peeling = Peeling(simple)
    peeling.peel(np.flatnonzero(~member), least - 1)
    require(peeling.gone | member, lambda v: f"vertex {v} is missing in the core of {least}")
    if k is None and len(member):
        if not member.any():
            raise VerificationError("no vertex is in the core; expected that of the highest k, which is never empty")
        peeling.peel(np.flatnonzero(member), least)
        require(peeling.gone, lambda v: f"vertex {v} is in a core of more than {least}")


def _neighbors(simple: "csr_array", counts: Any) -> Array:
    """For each vertex how many neighbors count."""
    vertex = np.repeat(np.arange(simple.shape[0]), np.diff(simple.indptr))
    return np.bincount(vertex[counts(vertex, simple.indices)], minlength=simple.shape[0])


class Peeling:
    """A simple graph from which vertices are taken off; how many neighbors are left of each."""

    def __init__(self, simple: "csr_array") -> None:
        self.simple = simple
        self.left = np.diff(simple.indptr).astype(np.int64)
        self.gone = np.zeros(simple.shape[0], bool)

    def peel(self, some: Array, most: int) -> None:
        """Take off those of some vertices that have at most so many neighbors left, round after round."""
        may_go = np.zeros(len(self.gone), bool)
        may_go[some] = True
        front = some[self.left[some] <= most]
        while len(front):
            self.gone[front] = True
            may_go[front] = False
            neighbors, times = np.unique(self.simple[front].indices, return_counts=True)
            self.left[neighbors] -= times
            front = neighbors[may_go[neighbors] & (self.left[neighbors] <= most)]
