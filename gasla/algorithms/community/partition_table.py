"""The communities of a partition in numbers: size, weight inside, weight of the cut, and conductance of each.

The sums are those of `modularity`: one pass over the edges, in which every vertex adds up the weights of its edges from
its own community, and three reductions by community.

J. Leskovec, K. J. Lang, A. Dasgupta, M. W. Mahoney: Statistical properties of community structure in large social and
information networks. WWW 2008.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from gasla.algorithms.community.modularity import community_sums
from gasla.arrays import array_module
from gasla.graph.weights import takes_weight
from gasla.operations.on_one_device import on_one_device
from gasla.rows import Command, Row


class PartitionTable(NamedTuple):
    """The size, the weight inside, the weight of the cut and the conductance of each community, as four arrays.

    ``pandas.DataFrame(table._asdict())`` makes a table of them.
    """

    sizes: np.ndarray[Any, Any]  # or a CuPy array
    internal: np.ndarray[Any, Any]
    cut: np.ndarray[Any, Any]
    conductance: np.ndarray[Any, Any]

    @property
    def coverage(self) -> float:
        """The fraction of the weight of all edges that is within communities, or NaN if all weights are 0."""
        internal_weight = float(self.internal.sum())
        total_weight = internal_weight + float(self.cut.sum())
        return internal_weight / total_weight if total_weight else np.nan


@takes_weight
@on_one_device()
def partition_table(graph: Any, labels: Any, *, weighted: bool = True) -> PartitionTable:
    """Describe each community of a partition: its size, the weight within it, its cut and its conductance.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is an edge between i and j, read as undirected: sums are those of ``(A + A.T) / 2``, which is `A` if
        every edge is stored in both directions.
    labels : (n,) array of integers
        The community of each vertex, 0 to n - 1; on the device of the graph.
    weighted : bool
        Whether edges count by their values, which must not be negative. Otherwise each counts 1.

    Returns
    -------
    PartitionTable
        A named tuple of arrays with an entry for each community, from 0 to the largest label:

        - `sizes`: its number of vertices;
        - `internal`: the internal degree, which is the total weight at its vertices of edges within it. An edge counts
          at both ends, a self loop once;
        - `cut`: the total weight at its vertices of edges to other communities;
        - `conductance`: the cut divided by the degrees, ``internal + cut``, of its vertices or of all other vertices,
          whichever is smaller: from 0, well separated, to 1. NaN if that is 0.

        Its property `coverage` is the fraction of all weight that is within communities.

    Raises
    ------
    TypeError
        If labels are not integers, or not on the device of the graph.
    ValueError
        If labels do not have shape (n,), a label is out of range, or a weight is negative or not finite.

    See Also
    --------
    gasla.modularity, gasla.partition_quality : numbers for the whole partition.

    Notes
    -----
    Parallel edges add up; stored zeros have weight 0 if `weighted`. NetworkX counts a self loop of an undirected graph
    twice: store it with twice its weight.

    References
    ----------
    J. Leskovec, K. J. Lang, A. Dasgupta, M. W. Mahoney: Statistical properties of community structure in large social
    and information networks. WWW 2008.

    Examples
    --------
    A triangle and an edge, joined by an edge:

    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2, 3], [1, 2, 0, 3, 4]).symmetrized()
    >>> table = gasla.partition_table(graph, [0, 0, 0, 1, 1])
    >>> table.sizes, table.internal, table.cut
    (array([3, 2]), array([6., 2.]), array([1., 1.]))
    >>> table.conductance.round(2), table.coverage
    (array([0.33, 0.33]), 0.8)
    """
    sums = community_sums(graph, labels, weighted)
    xp: Any = array_module(sums.labels)
    degree = sums.leaving / 2 + sums.arriving / 2
    cut_weights = xp.maximum(degree - sums.inside, 0)  # not below 0, which rounding might cause
    outside_degree = xp.maximum(degree.sum() - degree, cut_weights)
    smaller = xp.minimum(degree, outside_degree)
    conductance = xp.where(smaller > 0, cut_weights / xp.where(smaller > 0, smaller, 1), xp.nan)
    with np.errstate(over="ignore"):  # if a sum exceeds float64, it is inf, without a warning
        internal, cut_weights = xp.ldexp(sums.inside, sums.exponent), xp.ldexp(cut_weights, sums.exponent)
    return PartitionTable(xp.bincount(sums.labels), internal, cut_weights, conductance)


def _report_lines(f: Any) -> Iterator[str]:
    """Yield the lines by which the command describes the largest communities of a partition, of which `f` has the
    results.
    """
    for c in np.argsort(-f["sizes"], kind="stable")[: f.top].tolist():
        yield (
            f"{c:6}  {f['sizes'][c]:>14,} vertices, internal weight {f['internal'][c]:,.6g}, "
            f"cut {f['cut'][c]:,.6g}, conductance {f['conductance'][c]:.4f}"
        )


ROW = Row(
    partition_table,
    Command("partition-table", {}, lambda f: f"{len(f['sizes']):,} communities, the largest first:", _report_lines),
    method="one pass over the edges (Leskovec et al., WWW 2008)",
)
