"""Minimum cut: the edges of least total capacity whose removal separates one vertex from another.

The capacity of a minimum cut equals the maximum flow (Ford and Fulkerson), so a maximum flow is sent to the target.
Vertices without a residual path to the target are then the source's side, and every edge that leaves this side is
saturated.
"""

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from gasla.algorithms.flows.solver import solve
from gasla.graph.weights import takes_weight
from gasla.rows import Command, Row


class MinimumCut(NamedTuple):
    """The capacity of a minimum cut, and which vertices are on the source's side."""

    value: int | float
    source_side: np.ndarray


@takes_weight
def minimum_cut(graph: Any, source: Hashable, target: Hashable) -> MinimumCut:
    """Find a minimum cut between two vertices.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the capacity of the edge i -> j, as in `maximum_flow`.
    source, target : int or name
        The vertices to separate.

    Returns
    -------
    MinimumCut(value, source_side)
        `value`, an int for integer capacities, else a float, is the total capacity of the edges from the source's side
        to the other side. `source_side`, shape (n,), bool, marks the source's side: among several minimum cuts the
        largest, so vertices that cannot reach the target are on it. Cuts whose float capacities differ by less than a
        fraction of 2**-40 may count as equal.

    Raises
    ------
    ValueError
        As for `maximum_flow`.

    Notes
    -----
    Takes at most as long as `maximum_flow`, since excess need not return to the source. The edges of the cut are
    those with ``source_side[src] & ~source_side[dst]``.

    See Also
    --------
    gasla.maximum_flow : the flow that saturates the cut.

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
    solution = solve(graph, source, target, cut=True)
    return MinimumCut(solution.value, solution.source_side)


def _cut_edges(result_view: Any) -> Any:
    """Return the ids of the edges from the source's side of the cut to the target's side.

    `result_view` has the results of the command.
    """
    src, dst = result_view.graph.edges()
    return np.flatnonzero(result_view["source_side"][src] & ~result_view["source_side"][dst])


ROW = Row(
    minimum_cut,
    Command(
        *("minimum-cut", {"source_side": "source_side"}),
        lambda f: (
            f"a minimum cut from {f.ends} has {len(_cut_edges(f)):,} edges of total capacity {f['value']:,}, and "
            f"{f['source_side'].sum():,} and {(~f['source_side']).sum():,} vertices on its sides"
            f"{'; edges in the cut:' * bool(len(_cut_edges(f)))}"
        ),
        lambda f: f.edges(_cut_edges(f)),
    ),
    method="a maximum flow, then one search (WBPR, 2024; Boykov, Kolmogorov, IEEE PAMI 26, 2004)",
    longer="A maximum flow first.",
)
