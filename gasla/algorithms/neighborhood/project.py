"""Bipartite projection: the vertices of one side, joined if they have a common neighbor.

It is the product A[side] times its transpose, without the diagonal. A vertex of degree d on the other side contributes
d² entries, so the result may be much larger than the graph; its size is computed first.
"""

from typing import Any

import numpy as np

import semirings
from gasla.arrays import module_of
from gasla.graph.exchange import two_sides
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.transform.merging import mirrored
from gasla.graph.weights import check_sums, sum_type
from gasla.operations.matrices import mxm
from gasla.operations.operands import check_semiring
from gasla.rows import Row
from semirings import Semiring

COMMUTATIVE = {np.add, np.multiply, np.minimum, np.maximum}  # commutative operators


def project(graph: Any, side: Any = None, combine: Semiring | None = None) -> Graph:
    """Project a bipartite graph onto one side: join its vertices that have a common neighbor.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        A bipartite graph, read as undirected: every edge joins a vertex of the side with one of the other side.
    side : 0 or 1, (n,) array of bool, or array of ids or names, optional
        The vertices of the side, as a mask, ascending ids, or names. A mask can be made by `gasla.is_bipartite(graph,
        colors=True)`: ``colors == 0``. 0 and 1 stand for the graph's own sides (`Graph.sides`), of which 0 is the
        default: the rows of `Graph.from_bipartite`.
    combine : semirings.Semiring, optional
        Multiplies the values of the edges from two vertices to a common neighbor, and reduces over all common
        neighbors. By default common neighbors are counted, and parallel edges count once.

    Returns
    -------
    Graph
        On the device of the input: vertices in the order of their ids, with their names; both directions of every edge,
        by rows, without self loops. Values count the common neighbors, or are those of `combine`. ``origin.vertices``
        holds the original ids. The result is unique.

    Raises
    ------
    TypeError, ValueError
        If the side is not a set of vertices, or missing and not known to the graph; if there is a self loop, or an edge
        joins two vertices of the same side.
    MemoryError
        If the edges of the result need more memory than is available; the message has both sizes.

    Notes
    -----
    Stored zeros are edges. With `combine`, each of parallel edges counts, and if the matrix is not symmetric, the
    values of i -> j and j -> i are added first. Integers become int64 or uint64, which may wrap around in products, as
    in `gasla.mxm`.

    References
    ----------
    T. Zhou, J. Ren, M. Medo, Y.-C. Zhang: Bipartite network projection and personal recommendation. Physical Review E
    76 (2007).

    Examples
    --------
    Readers 0 to 2, and books 3 and 4:

    >>> import gasla
    >>> lent = gasla.Graph.from_edges([0, 1, 1, 2], [3, 3, 4, 4])
    >>> readers = gasla.project(lent, [0, 1, 2])
    >>> readers.out.indptr, readers.out.indices, readers.values
    (array([0, 1, 3, 4], dtype=int32), array([1, 0, 2, 1], dtype=int32), array([1, 1, 1, 1]))
    """
    graph = whole_graph(graph)
    if combine is not None:
        check_semiring("combine", combine)
    side = two_sides.chosen(graph, side)
    graph = graph.with_edge_attributes(dict.fromkeys(graph.edge_attributes))  # new edges have none
    if graph.sides is not None:
        graph = graph.with_vertex_attributes({two_sides.SIDES: None})  # new edges are within a side
    xp: Any = module_of(graph.device)
    blank = graph.with_values(None).select(xp.zeros(graph.m, bool))  # keeps the names of vertices
    try:
        chosen = blank.subgraph(side)
    except (TypeError, ValueError) as error:
        raise type(error)(f"side: {error}") from None
    inside = xp.zeros(graph.n, bool)
    inside[_original(chosen)] = True
    both = _both_ways(graph, combine)
    src, dst = both.out.owners(), both.out.indices
    if graph.has_self_loops:
        raise ValueError("a vertex has a self loop; expected a bipartite graph")
    two_sides.require_across(src, dst, inside)
    from_side = xp.zeros(both.m, bool)
    from_side[both.out.numbers()] = inside[src]
    half = both.select(from_side)
    made = mxm(half, half.reversed(), combine or semirings.plus_pair)
    product = Graph.from_csr(made.indptr, made.indices, made.data)
    if combine is not None and combine.operator.function in COMMUTATIVE and combine.monoid.commutative:
        product = product.with_values(mirrored(product.out, made.data))  # both triangles must be equal to the last bit
    off = product.out.owners() != product.out.indices
    ends = product.out.owners()[off], product.out.indices[off]
    return blank.changed(insert=ends).subgraph(_original(chosen)).with_values(product.out_values[off])  # type: ignore[index]


def _original(graph: Any) -> Any:
    """Return the original ids of a subgraph's vertices."""
    return graph.origin.vertices


def _both_ways(graph: Graph, combine: Semiring | None) -> Graph:
    """Return the graph with both directions of every edge. If edges are only counted, it has no parallel edges."""
    if combine is not None and graph.values is not None:
        graph.notice_values()
        kind = graph.values.dtype
        if kind.kind in "iu" and kind != sum_type(kind):
            graph = graph.with_values(graph.values.astype(sum_type(kind)))
        if graph.has_symmetric_values:
            return graph
        if kind.kind in "iu":
            check_sums("project", graph)
        return graph.symmetrized(semirings.plus)
    graph = graph.with_values(None)
    return graph.symmetrized() if not graph.is_symmetric else graph if graph.is_simple else graph.simple()


ROW = Row(
    project,
    method="a sparse product by hashing of rows (Nagasaka et al., Parallel Computing 90, 2019)",
    longer="The product of the part's two sides: all paths of two edges.",
)  # its command writes a graph
