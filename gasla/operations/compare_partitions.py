"""Measure how similar two partitions of vertices are.

The measures are computed from a table that counts, for each two communities, the vertices that are in both.
"""

from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import array_module
from gasla.graph.validate import as_ids, same_device
from gasla.rows import Row


class PartitionComparison(NamedTuple):
    """Three measures of how similar two partitions of the same vertices are.

    They are the normalized mutual information, the adjusted Rand index, and the variation of information.
    """

    nmi: float
    ari: float
    vi: float


def compare_partitions(first: Any, second: Any) -> PartitionComparison:
    """Compare two partitions of the same vertices: normalized mutual information, Rand index, variation of information.

    Parameters
    ----------
    first, second : (n,) arrays of integers
        The community of each vertex, by any numbers; on one device.

    Returns
    -------
    PartitionComparison
        A named tuple of floats:

        - `nmi`: the mutual information divided by the mean of both entropies; 1 if the partitions are the same, and
          about 0 if they are independent, though larger if communities are small;
        - `ari`: the adjusted Rand index; 1 if they are the same, and 0 on average for random labels;
        - `vi`: the variation of information, in nats; a metric, 0 if they are the same and at most log n.

    Raises
    ------
    TypeError, ValueError
        If a partition is not a one-dimensional array of integers, both are not of equal length or not on one device.

    Notes
    -----
    It takes a sort of the pairs of labels. igraph's `compare_communities` returns the same numbers, as "nmi",
    "adjusted_rand" and "vi"; scikit-learn's functions the first two.

    References
    ----------
    L. Hubert, P. Arabie: Comparing partitions. Journal of Classification 2 (1985).

    M. Meilă: Comparing clusterings: an information based distance. Journal of Multivariate Analysis 98 (2007).

    Examples
    --------
    >>> import gasla
    >>> gasla.compare_partitions([0, 0, 1, 1], [5, 5, 2, 2])
    PartitionComparison(nmi=1.0, ari=1.0, vi=0.0)
    >>> [round(x, 3) for x in gasla.compare_partitions([0, 0, 1, 1], [0, 0, 0, 1])]
    [0.344, 0.0, 0.824]
    """
    partitions = as_ids("first", first), as_ids("second", second)
    n = len(partitions[0])
    if len(partitions[1]) != n:
        raise ValueError(f"the partitions have {n} and {len(partitions[1])} labels; expected as many in both")
    if n == 0:
        return PartitionComparison(1.0, 1.0, 0.0)
    same_device(first=partitions[0], second=partitions[1])
    xp: Any = array_module(partitions[0])
    (_, rows), (column_labels, columns) = (xp.unique(partition, return_inverse=True) for partition in partitions)
    joint_counts = xp.unique(rows.astype(np.int64) * len(column_labels) + columns, return_counts=True)[1]
    counts = [xp.bincount(rows), xp.bincount(columns), joint_counts]
    row_entropy, column_entropy, joint = (
        -float((fractions * xp.log(fractions)).sum()) for fractions in (count / n for count in counts)
    )
    variation = max(
        2 * joint - row_entropy - column_entropy, 0.0
    )  # never below 0, although rounding may make the difference negative if the partitions are equal
    nmi = 1 - variation / (row_entropy + column_entropy) if row_entropy + column_entropy else 1.0
    # The numbers of ordered pairs of vertices that are in one community of the first partition, of the second, and of
    # both.
    in_rows, in_columns, in_both = (float((count * (count - 1.0)).sum()) for count in counts)
    expected = in_rows * in_columns / (n * (n - 1.0)) if n > 1 else 0.0
    largest = (in_rows + in_columns) / 2
    ari = (in_both - expected) / (largest - expected) if largest != expected else 1.0
    return PartitionComparison(max(nmi, 0.0), ari, variation)


ROW = Row(compare_partitions, method="a sorted contingency table (Hubert, Arabie, Journal of Classification 2, 1985)")
