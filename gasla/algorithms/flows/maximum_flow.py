"""Maximum flow: the most that can flow from one vertex to another without exceeding the capacity of any edge.

On the CPU flow is sent along shortest paths, on one thread (`primitives.send_flow`). On a GPU the algorithm is
push-relabel (preflow.py). The source sends the full capacity of its edges. Excess is pushed to the target, which
determines the value of the flow. The excess that can't reach the target is pushed back to the source. If the target's
edges have less capacity than the source's, the flow is computed from the target to the source along reversed edges.
Float capacities are scaled to integers (solver.py).
"""

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from gasla.algorithms.flows.solver import solve
from gasla.graph.weights import takes_weight
from gasla.rows import Row, edge_values


class MaximumFlow(NamedTuple):
    """The value of a maximum flow, and the flow along each edge."""

    value: int | float
    flow: np.ndarray


@takes_weight
def maximum_flow(graph: Any, source: Hashable, target: Hashable) -> MaximumFlow:
    """Find a maximum flow from one vertex to another.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the capacity of the edge i -> j, inf for no limit. Without values every capacity is 1. An
        undirected edge is an edge in each direction.
    source, target : int or name
        The vertex that sends, and the vertex that receives.

    Returns
    -------
    MaximumFlow(value, flow)
        `value` is an int for integer capacities, else a float. `flow`, shape (m,), int64 or float64, is the flow along
        each edge in input order: from 0 to its capacity, and 0 along an edge or along its paired edge
        (`Graph.reverse_edge_ids`). The result is deterministic; of several maximum flows, a GPU may
        return another one than a CPU.

    Raises
    ------
    ValueError
        If source or target is not a vertex, or they are equal; if a capacity is negative or NaN; if a path of infinite
        capacity leads from source to target; if the value overflows float64; if integer capacities sum to 2**62 - 1 or
        more in every cut; on a GPU, also if they do at the source and at the target, and no cut avoids the largest of
        them.

    Notes
    -----
    Stored zeros are edges of capacity 0, which carry nothing; nor do self loops. Parallel edges have a capacity each.

    Integers of any type are exact. For floats the value is at least the maximum flow, and exceeds it by at most a
    fraction of 2**-40 (1e-12). It is exact if all capacities are multiples of a power of two, as integers are, and the
    value is less than 2**53 times that. No edge carries more than its capacity, and inflow equals outflow up to a
    fraction of 1e-9, by rounding.

    On the CPU the call runs on one thread.

    The graph keeps, for later calls, a network of all edges in both directions: per edge of it 8 bytes of capacity and
    up to 40 of lists. A call needs 8 bytes per edge for the flow, and 40 more for float capacities. On a GPU the
    network has a self loop per vertex, and 8 more bytes per edge if a flow was computed in reverse.

    See Also
    --------
    gasla.minimum_cut : the edges that limit the flow.

    References
    ----------
    A. V. Goldberg, R. E. Tarjan: A new approach to the maximum-flow problem. Journal of the ACM 35 (1988).

    Y. Dinitz: Algorithm for solution of a problem of maximum flow in networks with power estimation. Soviet Mathematics
    Doklady 11 (1970).

    Examples
    --------
    >>> import gasla, numpy as np
    >>> from scipy.sparse import csr_array
    >>> A = csr_array(np.array([[0, 3, 2, 0], [0, 0, 5, 2], [0, 0, 0, 3], [0, 0, 0, 0]]))
    >>> gasla.maximum_flow(A, 0, 3)
    MaximumFlow(value=5, flow=array([3, 2, 1, 2, 3]))
    """
    solution = solve(graph, source, target, cut=False)
    return MaximumFlow(solution.value, solution.flow)


def _edges_with_flow(result_view: Any) -> Any:
    """Return the ids of the edges with positive flow, sorted by descending flow. `result_view` has the command's
    results.
    """
    return result_view.highest("flow")[: int((result_view["flow"] > 0).sum())]


ROW = Row(
    maximum_flow,
    edge_values(
        *("maximum-flow", {"flow": "flow"}),
        lambda f: (
            f"a maximum flow of {f['value']:,} from {f.ends} uses {len(_edges_with_flow(f)):,} of {f.graph.m:,} edges"
            f"{'; edges of the largest flow:' * bool(len(_edges_with_flow(f)))}"
        ),
        lambda f: f.edges(_edges_with_flow(f)),
    ),
    method="pushes and relabels by a balanced queue: WBPR (Hsieh et al., 2024); on a CPU Boykov, Kolmogorov, 2004",
    longer="Pushes and relabels go to and fro, and labels are set anew by searches.",
)
