"""Maximum flow: how much can go from one vertex to another, each edge taking no more than its capacity.

Returned are its value, and what flows along every edge. Nothing is lost on the way: at all other vertices as much
arrives as leaves.

It is found by push-relabel (see `preflow`): the source sends all that its edges take; what can get to the target is
pushed there, which settles the value, and what is left is pushed back to the source. Where the target's edges take less
than the source's, all goes the other way round. How floats are counted, `largest` says.

A. V. Goldberg, R. E. Tarjan: A new approach to the maximum-flow problem. Journal of the ACM 35 (1988).
"""

from typing import Any, NamedTuple

import numpy as np

from gasla.algorithms.flows.solver import largest


class MaximumFlow(NamedTuple):
    """The value of a flow, and what flows along each edge."""

    value: int | float
    flow: np.ndarray


def maximum_flow(graph: Any, source: int, target: int) -> MaximumFlow:
    """The largest flow from one vertex to another.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the capacity of the edge i -> j, 1 where the graph has no values, and infinity where it has no
        limit. Edges of capacity 0 take nothing, and neither do loops. Parallel edges have a capacity each. An
        undirected edge is one in each direction.
    source, target : int
        Two vertices.

    Returns
    -------
    MaximumFlow(value, flow)
        `value` is an int for capacities of integers, else a float. `flow`, (m,), int64 or float64, is what flows along
        each edge, in the order of the input: from 0 to its capacity, and never both along an edge and along the one
        that it is paired with (`Graph.reverse_edge_ids`). Which of several largest flows it is, is the same every time,
        on both engines.

    Raises
    ------
    ValueError
        If source or target is no vertex, or they are the same; if a capacity is negative or NaN; if edges of infinite
        capacity lead from the source to the target, so that no flow is the largest; if the value is more than a float
        holds, 1.8e308; if integers are 2**62 - 1 or more together both on the edges that leave the source and on those
        that enter the target, and there is no cut without the largest of them.

    Notes
    -----
    Integers of any type are exact. Floats may be of any size: the value is at least that of the exact largest flow, and
    at most 2**-40 (1e-12) of it more. It is exact where all capacities are multiples of a power of two, as whole
    numbers are, of which the value has less than 2**53. No edge carries more than its capacity, and what arrives at a
    vertex leaves it but for rounding, at most 1e-9 of it.

    Beside the graph it holds one with all edges in both directions and a loop at every vertex, 8 bytes of capacity, 8
    of flow and up to 40 of lists for each of these edges, and where flows have been sought from the target's end, as
    much capacity once more; the graph keeps it for the next call. Floats take 40 bytes more an edge in a call.

    See Also
    --------
    gasla.minimum_cut : which edges hold it up.

    References
    ----------
    A. V. Goldberg, R. E. Tarjan: A new approach to the maximum-flow problem. Journal of the ACM 35 (1988).

    Examples
    --------
    >>> import gasla, numpy as np
    >>> from scipy.sparse import csr_array
    >>> A = csr_array(np.array([[0, 3, 2, 0], [0, 0, 5, 2], [0, 0, 0, 3], [0, 0, 0, 0]]))
    >>> gasla.maximum_flow(A, 0, 3)
    MaximumFlow(value=5, flow=array([3, 2, 1, 2, 3]))
    """
    found = largest(graph, source, target, cut=False)
    return MaximumFlow(found.value, found.flow)
