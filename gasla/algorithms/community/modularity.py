"""Modularity: the fraction of edges within communities, minus the fraction expected at random.

The expected fraction is that of a random graph with the same degrees, or sums of weights. Modularity is 0 if all
vertices are one community, and at most 1.

In one pass over the edges every vertex sums the weight of its in-edges from its own community. These sums and the
degrees are then summed by community. `partition_table` shows the sums.

The resolution: J. Reichardt, S. Bornholdt: Statistical mechanics of community detection. Physical Review E 74 (2006).
"""

from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.arrays import array_module
from gasla.graph.arguments import LARGEST, check_flags, real_number
from gasla.graph.graph import Graph, as_graph
from gasla.graph.transform.reduction import reduce_by_key
from gasla.graph.validate import as_labels, same_device
from gasla.graph.weights import in_range, takes_weight
from gasla.operations.multiply import mxv, vxm
from gasla.operations.on_one_device import on_one_device
from gasla.operations.run import run
from gasla.program import ID, VertexProgram, edge, option, vertex
from gasla.rows import UNWEIGHTED, Row, number


class Inside(VertexProgram):
    """inside(v) = the number, or total weight, of in-edges of v from its own community."""

    weights = option(None)  # dtype of the weights; None if unweighted
    label = vertex(ID)
    inside = vertex(np.float64)
    weight = edge(weights, when=weights)
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        one = semirings.cast(edge.weight, np.float64) if self.weights else 1.0
        return semirings.where(src.label == dst.label, one, 0.0)

    def apply(self, vertex, gathered):
        return {"inside": gathered}


@takes_weight
@on_one_device()
def modularity(graph: Any, labels: Any, *, weighted: bool = True, resolution: float = 1.0) -> float:
    """Compute the modularity of communities: the fraction of edges within them, minus that expected at random.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j. An undirected graph has every edge in both directions.
    labels : (n,) array of integers
        The community of each vertex, 0 to n - 1; on the device of the graph.
    weighted : bool
        Whether edges count by their values, which must not be negative. Otherwise each counts 1.
    resolution : float
        Factor of the expected fraction: values above 1 favor small communities, below 1 large ones.

    Returns
    -------
    float
        The modularity, computed in float64.

    Raises
    ------
    TypeError
        If labels are not integers, or not on the device of the graph.
    ValueError
        If labels do not have shape (n,), a label is out of range, a weight is negative or not finite, or all weights
        sum to 0.

    Notes
    -----
    Parallel edges add up; stored zeros have weight 0 if `weighted`; a self loop counts once. NetworkX counts a self
    loop of an undirected graph twice: store it with twice its weight. `Graph.contract` preserves modularity: the
    contracted graph with one label per vertex has the modularity of the graph with the groups as labels.

    See Also
    --------
    gasla.partition_table : the size, the internal weight, the cut and the conductance of each community.

    References
    ----------
    M. E. J. Newman: Modularity and community structure in networks. PNAS 103 (2006).

    E. A. Leicht, M. E. J. Newman: Community Structure in Directed Networks. Physical Review Letters 100 (2008).

    Examples
    --------
    Two edges, each a community:

    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 3], [1, 0, 3, 2])
    >>> gasla.modularity(graph, [0, 0, 1, 1])
    0.5
    """
    resolution = real_number("resolution", resolution, least=-LARGEST)
    sums = community_sums(graph, labels, weighted)
    total_weight = float(sums.leaving.sum())
    if total_weight == 0:
        raise ValueError("the weights of all edges sum to 0; expected a positive sum")
    by_chance = float((sums.leaving * (sums.arriving / total_weight)).sum())
    # divides by `total_weight` twice, since the product of two sums may overflow
    return float(sums.inside.sum()) / total_weight - resolution * (by_chance / total_weight)


class CommunitySums(NamedTuple):
    """For each community the total weight of edges within it, of edges from its vertices, and of edges to them.

    The sums are to be multiplied by ``2**exponent``. In a graph with symmetric values `arriving` is `leaving`.
    """

    labels: Any  # the community of each vertex: the caller's labels as an array, after checks that all are valid
    inside: Any
    leaving: Any
    arriving: Any
    exponent: int


def community_sums(graph: Any, labels: Any, weighted: bool) -> CommunitySums:
    """Return the edge weights summed by community, for the labels from 0 to the largest label.

    Raise an error if a weight is not valid, or the labels are not one integer of 0 or more per vertex.
    """
    graph = as_graph(graph)
    check_flags(weighted=weighted)
    label_array = as_labels(labels, graph.n)
    if graph.n:
        same_device(graph=graph.out_degrees, labels=label_array)
    counted, exponent = not weighted or graph.value_type is None, 0
    if not counted:
        graph.notice_values()
        graph, exponent = in_range(graph)
    leaving, arriving = _vertex_weights(graph, counted)
    label_ids = label_array.astype(graph.id_dtype, copy=False)
    program = Inside(weights=None if counted else graph.value_type)
    inner_weights = array_module(label_array).asarray(run(program, graph, max_iterations=1, label=label_ids).inside)
    out = reduce_by_key(label_array, leaving, semirings.plus)
    arriving_sums = out if arriving is leaving else reduce_by_key(label_array, arriving, semirings.plus)
    return CommunitySums(
        label_array, reduce_by_key(label_array, inner_weights, semirings.plus), out, arriving_sums, exponent
    )


def _vertex_weights(graph: Graph, counted: bool) -> tuple[Any, Any]:
    """Return the total weight of each vertex's out-edges, and of its in-edges, as two arrays.

    If `counted`, every edge counts 1, whatever its weight.
    """
    if counted:
        leaving = graph.out_degrees.astype(np.float64)
        return leaving, leaving if graph.is_symmetric else graph.in_degrees.astype(np.float64)
    ones = array_module(graph.out_degrees).ones(graph.n, np.float64)
    leaving = mxv(graph, ones)
    return leaving, leaving if graph.has_symmetric_values else vxm(ones, graph)


ROW = Row(
    modularity,
    number("modularity", "the modularity of the given communities", options=UNWEIGHTED),
    method="one pass over the edges (Newman, PNAS 103, 2006)",
)
