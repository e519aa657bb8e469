"""The coverage and the performance of a partition: how many pairs of vertices it places as edges suggest.

S. Fortunato: Community detection in graphs. Physics Reports 486 (2010).
"""

from typing import Any, NamedTuple

import numpy as np

from gasla.algorithms.community.modularity import community_sums
from gasla.arrays import array_module
from gasla.graph.graph import whole_graph
from gasla.operations.primitives import simplify
from gasla.rows import Command, Row


class PartitionQuality(NamedTuple):
    """Coverage, the share of edges within communities, and performance, the share of pairs that fit the communities."""

    coverage: float
    performance: float


def partition_quality(graph: Any, labels: Any) -> PartitionQuality:
    """Compute the coverage and the performance of a partition.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected: direction, self loops, parallel edges and values are ignored; stored zeros are
        edges.
    labels : (n,) array of integers
        The community of each vertex, 0 to n - 1; on the device of the graph.

    Returns
    -------
    PartitionQuality
        A named tuple of floats. `coverage` is the fraction of edges whose ends share a community. `performance` is the
        fraction of pairs of vertices that share a community and an edge, or neither. NaN without edges, or pairs.

    Raises
    ------
    TypeError
        If labels are not integers, or not on the device of the graph.
    ValueError
        If labels do not have shape (n,), or a label is out of range.

    See Also
    --------
    gasla.partition_table : numbers for each community, in which edges may have weights.
    gasla.modularity : the coverage, compared with that expected at random.

    References
    ----------
    S. Fortunato: Community detection in graphs. Physics Reports 486 (2010).

    Examples
    --------
    A triangle and an edge, joined by an edge:

    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2, 3], [1, 2, 0, 3, 4])
    >>> gasla.partition_quality(graph, [0, 0, 0, 1, 1])
    PartitionQuality(coverage=0.8, performance=0.9)
    """
    simple = simplify(whole_graph(graph))
    sums = community_sums(simple, labels, False)
    sizes = array_module(sums.labels).bincount(sums.labels)
    # of an undirected edge or pair, both directions count
    n, edges, inner_edges = simple.n, simple.m, int(sums.inside.sum())
    separated_pairs = n * n - int((sizes**2).sum()) - (edges - inner_edges)
    pairs = n * (n - 1)
    return PartitionQuality(
        inner_edges / edges if edges else np.nan, (inner_edges + separated_pairs) / pairs if pairs else np.nan
    )


ROW = Row(
    partition_quality,
    Command(
        "partition-quality",
        {},
        lambda f: f"{f['coverage']:.6g} of all edges are within the given communities",
        lambda f: [f"{f['performance']:.6g} of all pairs of vertices share a community and an edge, or neither"],
    ),
    method="one pass over the edges (Fortunato, Physics Reports 486, 2010)",
)
