"""Bipartite projection: the vertices of one side, joined if they have a common neighbor.

The projection is the product of A[side] and its transpose, without the diagonal. A vertex of degree d on the other side
contributes d² entries, so the result may be much larger than the graph. The size of the result is therefore computed
first.
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

# operators f with f(x, y) == f(y, x), for which the projection is symmetric
COMMUTATIVE = {np.add, np.multiply, np.minimum, np.maximum}


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
    # edges of the projection are not edges of the graph, so they have no attributes
    graph = graph.with_edge_attributes(dict.fromkeys(graph.edge_attributes))
    if graph.sides is not None:
        # all vertices of the projection are on one side, so the attribute of sides is dropped
        graph = graph.with_vertex_attributes({two_sides.SIDES: None})
    xp: Any = module_of(graph.device)
    # keeps the names and attributes of vertices
    without_edges = graph.with_values(None).select(xp.zeros(graph.m, bool))
    try:
        side_graph = without_edges.subgraph(side)
    except (TypeError, ValueError) as error:
        raise type(error)(f"side: {error}") from None
    is_chosen = xp.zeros(graph.n, bool)
    is_chosen[_original_ids(side_graph)] = True
    both_ways = _with_both_directions(graph, combine)
    src, dst = both_ways.out.owners(), both_ways.out.indices
    if graph.has_self_loops:
        raise ValueError("a vertex has a self loop; expected a bipartite graph")
    two_sides.require_across(src, dst, is_chosen)
    from_side = xp.zeros(both_ways.m, bool)
    from_side[both_ways.out.numbers()] = is_chosen[src]
    from_chosen = both_ways.select(from_side)
    entries = mxm(from_chosen, from_chosen.reversed(), combine or semirings.plus_pair)
    product = Graph.from_csr(entries.indptr, entries.indices, entries.data)
    if combine is not None and combine.operator.function in COMMUTATIVE and combine.monoid.commutative:
        # The two triangles of the product may differ in the last bit, as their sums have another order, so one is
        # copied.
        product = product.with_values(mirrored(product.out, entries.data))
    is_off_diagonal = product.out.owners() != product.out.indices
    new_edges = product.out.owners()[is_off_diagonal], product.out.indices[is_off_diagonal]
    values: Any = product.out_values
    return (
        without_edges.changed(insert=new_edges).subgraph(_original_ids(side_graph)).with_values(values[is_off_diagonal])
    )


def _original_ids(graph: Any) -> Any:
    """Return, for each vertex of a subgraph, its id in the graph from which the subgraph was made."""
    return graph.origin.vertices


def _with_both_directions(graph: Graph, combine: Semiring | None) -> Graph:
    """Return the graph with both directions of every edge, as a projection needs.

    If `combine` is None, common neighbors are only counted, so values and parallel edges are dropped as well.
    """
    if combine is not None and graph.values is not None:
        graph.notice_values()
        value_dtype = graph.values.dtype
        if value_dtype.kind in "iu" and value_dtype != sum_type(value_dtype):
            graph = graph.with_values(graph.values.astype(sum_type(value_dtype)))
        if graph.has_symmetric_values:
            return graph
        if value_dtype.kind in "iu":
            check_sums("project", graph)
        return graph.symmetrized(semirings.plus)
    graph = graph.with_values(None)
    return graph.symmetrized() if not graph.is_symmetric else graph if graph.is_simple else graph.simple()


ROW = Row(
    project,
    method="a sparse product by hashing of rows (Nagasaka et al., Parallel Computing 90, 2019)",
    longer="The product of the part's two sides: all paths of two edges.",
)  # no `Command` here: gasla/cli has the command, which writes a graph
