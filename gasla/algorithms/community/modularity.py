"""Modularity: how many more edges lie within communities than would by chance.

Returned is a score of labels: the share of edges, or of their weight, within communities, less the share that would be
there if every edge kept its ends' strengths and met others at random. It is 0 for one community of all, and at most 1.

For one look at each edge, every vertex sums up the weight of its in-edges from its own community; strengths of vertices
are summed up by community.

M. E. J. Newman: Modularity and community structure in networks. PNAS 103 (2006). For directed graphs: E. A. Leicht,
M. E. J. Newman: Community Structure in Directed Networks. Physical Review Letters 100 (2008). The resolution:
J. Reichardt, S. Bornholdt: Statistical mechanics of community detection. Physical Review E 74 (2006).
"""

from typing import Any

import numpy as np

import semirings
from gasla.arrays import array_module
from gasla.graph.arguments import LARGEST, check_flags, real_number
from gasla.graph.graph import Graph, as_graph
from gasla.graph.transform.reduction import reduce_by_key
from gasla.graph.validate import as_labels, same_device
from gasla.graph.weights import in_range
from gasla.operations.multiply import mxv, vxm
from gasla.operations.run import run
from gasla.program.fields import ID, edge, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram


class Inside(VertexProgram):
    """inside(v) = how many edges reach v from its own community, or what these weigh."""

    weights = option(None)  # their type, where edges count by weight
    label = vertex(ID)
    inside = vertex(np.float64)
    weight = edge(weights, when=weights)
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        one = semirings.cast(edge.weight, np.float64) if self.weights else 1.0
        return semirings.where(src.label == dst.label, one, 0.0)

    def apply(self, vertex, gathered):
        return {"inside": gathered}


def modularity(graph: Any, labels: Any, *, weighted: bool = True, resolution: float = 1.0) -> float:
    """Find the modularity of communities: how much more of the edges lies within them than would by chance.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Directed; an undirected graph has every edge in both directions. A loop counts as it is stored, once.
    labels : (n,) array of integers
        From 0 to n - 1, for each vertex that of its community; on the device of the graph.
    weighted : bool
        Whether edges count by their values, where there are any, which must not be negative; else each counts 1.
    resolution : float
        With more than 1, small communities score higher, with less, large ones.

    Returns
    -------
    float
        The score; in float64, whatever the type of the values.

    Raises
    ------
    TypeError
        If labels are no integers, or elsewhere than the graph.
    ValueError
        If there are more or fewer labels than vertices, one is out of range, a weight is negative or not finite, or all
        weights sum to 0.

    Notes
    -----
    NetworkX counts a loop of an undirected graph at both its ends: store it with twice its weight. As `Graph.contract`
    keeps both directions of what lies within a group, a contracted graph scores with a label for each of its vertices
    what the graph scored with the groups' labels.

    References
    ----------
    M. E. J. Newman: Modularity and community structure in networks. PNAS 103 (2006).

    E. A. Leicht, M. E. J. Newman: Community Structure in Directed Networks. Physical Review Letters 100 (2008).

    Examples
    --------
    Two edges, each a community.

    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 3], [1, 0, 3, 2])
    >>> gasla.modularity(graph, [0, 0, 1, 1])
    0.5
    """
    graph = as_graph(graph)
    check_flags(weighted=weighted)
    resolution = real_number("resolution", resolution, least=-LARGEST)
    given = as_labels(labels, graph.n)
    if graph.n:
        same_device(graph=graph.out_degrees, labels=given)
    counted = not weighted or graph.values is None
    if not counted:
        graph.notice_values()
        graph, _ = in_range(graph)
    leaving, arriving = _strengths(graph, counted)
    total = float(leaving.sum())
    if total == 0:
        raise ValueError("the weights of all edges sum to 0, of which there are no shares; expected some weight")
    named = given.astype(graph.id_dtype, copy=False)
    program = Inside(weights=None if counted else graph.values.dtype)
    inside = float(run(program, graph, max_iterations=1, label=named).inside.sum())
    out = reduce_by_key(given, leaving, semirings.plus, graph.n)
    into = out if arriving is leaving else reduce_by_key(given, arriving, semirings.plus, graph.n)
    by_chance = float((out * (into / total)).sum())
    return inside / total - resolution * (by_chance / total)  # shares: no product of a resolution overflows


def _strengths(graph: Graph, counted: bool) -> tuple[Any, Any]:
    """The weight of each vertex's out-edges, and of its in-edges."""
    if counted:
        leaving = graph.out_degrees.astype(np.float64)
        return leaving, leaving if graph.is_symmetric else graph.in_degrees.astype(np.float64)
    ones = array_module(graph.out_degrees).ones(graph.n, np.float64)
    leaving = mxv(graph, ones)
    return leaving, leaving if graph.has_symmetric_values else vxm(ones, graph)
