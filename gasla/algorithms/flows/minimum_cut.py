"""Minimum cut: the cheapest edges to take out so that nothing can get from one vertex to another.

Returned are what they cost together, and which vertices are then on the source's side.

As much has to be cut as can flow (Ford and Fulkerson): push-relabel sends all that can get to the target there. Those
from which no residual edge leads on to the target are the source's side, and every edge that leaves them is full.

L. R. Ford, D. R. Fulkerson: Maximal flow through a network. Canadian Journal of Mathematics 8 (1956).
"""

from typing import Any, NamedTuple

import numpy as np

from gasla.algorithms.flows.solver import largest


class MinimumCut(NamedTuple):
    """What a cut costs, and which vertices are on the source's side of it."""

    value: int | float
    source_side: np.ndarray


def minimum_cut(graph: Any, source: int, target: int) -> MinimumCut:
    """The cheapest cut between two vertices.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is what it costs to cut the edge i -> j, a capacity as `maximum_flow` has it.
    source, target : int
        Two vertices.

    Returns
    -------
    MinimumCut(value, source_side)
        `value`, an int for capacities of integers, else a float, is what all edges from the source's side to the other
        cost together. `source_side`, (n,) bool, says who is on the source's side: of several cheapest cuts that with
        the most vertices there, so that those who can't reach the target are there too. Costs of floats
        that differ by less than 2**-40 of them may count as equal.

    Raises
    ------
    ValueError
        As `maximum_flow`.

    Notes
    -----
    It takes as long as a maximum flow, or less: what can't get to the target need not be sent back. The edges of the
    cut are those with ``source_side[src] & ~source_side[dst]``.

    See Also
    --------
    gasla.maximum_flow : what goes through it.

    References
    ----------
    L. R. Ford, D. R. Fulkerson: Maximal flow through a network. Canadian Journal of Mathematics 8 (1956).

    Examples
    --------
    >>> import gasla, numpy as np
    >>> from scipy.sparse import csr_array
    >>> A = csr_array(np.array([[0, 3, 2, 0], [0, 0, 5, 2], [0, 0, 0, 3], [0, 0, 0, 0]]))
    >>> gasla.minimum_cut(A, 0, 3)
    MinimumCut(value=5, source_side=array([ True,  True,  True, False]))
    """
    found = largest(graph, source, target, cut=True)
    return MinimumCut(found.value, found.source_side)
