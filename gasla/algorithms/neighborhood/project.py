"""Projection of a bipartite graph: the vertices of one side, joined where they have a neighbor in common.

Returned is a graph, whose values tell how many those are, or what a semiring makes of the edges to them. Its `origin`
tells which vertices it is of.

It is a product: A[side] times its transpose, without the diagonal. With d neighbors of a vertex of the other side,
that vertex alone makes d² entries: so what is made may be far larger than the graph, and is counted first.

T. Zhou, J. Ren, M. Medo, Y.-C. Zhang: Bipartite network projection and personal recommendation. Physical Review E 76
(2007).
"""

from typing import Any

import numpy as np

import semirings
from gasla.arrays import module_of
from gasla.graph.graph import Graph, as_graph
from gasla.graph.transform.merging import mirrored
from gasla.graph.weights import check_sums, sum_type
from gasla.operations.matrices import mxm
from gasla.operations.operands import check_semiring
from semirings import Semiring

ALIKE = {np.add, np.multiply, np.minimum, np.maximum}  # operators that give the same both ways round


def project(graph: Any, side: Any, combine: Semiring | None = None) -> Graph:
    """Make the graph of one side of a bipartite graph, joined by common neighbors.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Every edge joins a vertex of the side with one that isn't. Directions don't matter.
    side : (n,) array of bool, or array of integers
        The vertices of the side: a mask, or their ids, ascending. A color of `gasla.is_bipartite(graph, colors=True)`
        is one: ``colors == 0``.
    combine : semirings.Semiring, optional
        What values come to: the edges from two vertices to a common neighbor are multiplied, over all such neighbors
        reduced. By default these are counted, and parallel edges count once.

    Returns
    -------
    Graph
        On the device of the graph: its vertices in the order of their ids, with their names; each edge in both
        directions, by rows, without loops. ``origin.vertices`` says which vertices they were. There is one right
        answer.

    Raises
    ------
    TypeError, ValueError
        If the side names no vertices, there is a loop, or an edge joins two vertices of the side, or two of the other.
    MemoryError
        If the edges, which are counted first, need more memory than there is; the error has both numbers.

    Notes
    -----
    With `combine`, each of parallel edges counts; unless values are the same in both directions, those of i -> j and
    j -> i are added first. Integers become int64, or uint64, so that small types don't wrap; beyond that, products are
    those of `gasla.mxm`.

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
    graph = as_graph(graph)
    xp: Any = module_of(graph.device)
    blank = graph.with_values(None).select(xp.zeros(graph.m, bool))  # which has the names
    try:
        chosen = blank.subgraph(side)
    except (TypeError, ValueError) as error:
        raise type(error)(f"side: {error}") from None
    if combine is not None:
        check_semiring("combine", combine)
    inside = xp.zeros(graph.n, bool)
    inside[_of(chosen)] = True
    both = _both_ways(graph, combine)
    src, dst = both.out.owners(), both.out.indices
    wrong = inside[src] == inside[dst]
    if graph.has_self_loops:
        raise ValueError("a vertex has a loop; expected a bipartite graph")
    if bool(wrong.any()):
        bad = int(wrong.argmax())
        what = "of the side" if bool(inside[src[bad]]) else "of the other side"
        raise ValueError(f"an edge joins {int(src[bad])} and {int(dst[bad])}, both {what}; expected a bipartite graph")
    from_side = xp.zeros(both.m, bool)
    from_side[both.out.numbers()] = inside[src]
    half = both.select(from_side)
    made = mxm(half, half.reversed(), combine or semirings.plus_pair)
    product = Graph.from_csr(made.indptr, made.indices, made.data)
    if combine is not None and combine.operator.function in ALIKE and combine.monoid.commutative:
        product = product.with_values(mirrored(product.out, made.data))  # sums in two orders, of the same
    off = product.out.owners() != product.out.indices
    ends = product.out.owners()[off], product.out.indices[off]
    return blank.changed(insert=ends).subgraph(_of(chosen)).with_values(product.out_values[off])  # type: ignore[index]


def _of(graph: Any) -> Any:
    """Which vertices they were."""
    return graph.origin.vertices


def _both_ways(graph: Graph, combine: Semiring | None) -> Graph:
    """Every edge in both directions; where edges are but counted, once."""
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
