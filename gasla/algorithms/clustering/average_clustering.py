"""Average clustering: the mean of the clustering coefficients of all vertices."""

from typing import Any

from gasla.algorithms.clustering.clustering import clustering
from gasla.graph.arguments import check_flags
from gasla.operations.on_one_device import on_one_device
from gasla.rows import Row, Task, number


@on_one_device("triangles")
def average_clustering(graph: Any, *, count_zeros: bool = True) -> float:
    """Compute the mean clustering coefficient.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `triangle_count`. Values are ignored; stored zeros are edges.
    count_zeros : bool, default True
        Whether vertices with coefficient 0 count. Vertices with fewer than two neighbors are among them.

    Returns
    -------
    float
        0 if no vertex counts.

    See Also
    --------
    gasla.clustering : the coefficient of each vertex.
    gasla.transitivity : gives vertices with many neighbors more weight.

    References
    ----------
    D. J. Watts, S. H. Strogatz: Collective dynamics of 'small-world' networks. Nature 393 (1998).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> round(gasla.average_clustering(graph), 3), round(gasla.average_clustering(graph, count_zeros=False), 3)
    (0.583, 0.778)
    """
    check_flags(count_zeros=count_zeros)
    scores = clustering(graph)
    count = len(scores) if count_zeros else int((scores > 0).sum())
    return float(scores.sum()) / max(count, 1)


ROW = Row(
    average_clustering,
    number("average-clustering", "the mean clustering coefficient"),
    Task(agree="near"),
    method="triangles at vertices by oriented lists (Schank, Wagner, WEA 2005)",
    longer="Lists are intersected at every edge: the work grows with m to the power of 1.5, not with m.",
)
