"""Two-hop neighborhoods: the squared adjacency matrix, computed in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.arrays import module_of, running_sums, shares
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph
from gasla.operations.matrices import mxm
from gasla.operations.sparse import Sparse

Array = np.ndarray[Any, Any]
MOST = 1 << 22  # approximate largest number of paths of two edges in a block of rows; a single row may have more


class TwoHops(NamedTuple):
    """A block of rows of the squared adjacency matrix, in CSR form.

    The row of a vertex has an entry for each vertex that shares a neighbor with it, the vertex itself included: the sum
    of the weights of the common neighbors.
    """

    rows: slice  # which of the vertices in the argument `chosen` of `two_hops` the rows belong to
    indptr: Array  # offsets of the rows of this block
    vertices: Array  # column of each entry, ascending within a row
    weights: Array
    owners: Array  # for each entry, the vertex whose row holds the entry


def two_hops(simple: Graph, weights: Array, chosen: Array) -> Iterator[TwoHops]:
    """Yield the rows of some vertices of the squared adjacency matrix of a simple undirected graph, in blocks.

    The value of an entry is the sum of `weights` over the common neighbors of both vertices, added in the order of the
    adjacency list.
    """
    lists, pattern = simple.sorted_out, simple.with_values(None)
    for rows in shares(paths_from(simple)[chosen], MOST):
        chosen_lists = lists.of(chosen[rows])
        block = Sparse(
            (len(chosen_lists.indptr) - 1, simple.n),
            chosen_lists.indptr,
            chosen_lists.indices,
            weights[chosen_lists.indices],
        )
        product = mxm(block, pattern, semirings.plus_first)
        owners = chosen[rows][Adjacency(product.indptr, product.indices).owners()]
        yield TwoHops(rows, product.indptr, product.indices, product.data, owners)


def paths_from(simple: Graph) -> Array:
    """Return the number of paths of two edges from each vertex of a simple undirected graph."""
    xp: Any = module_of(simple.device)
    degrees = simple.out_degrees.astype(np.int64)
    return xp.diff(running_sums(degrees[simple.out.indices])[simple.out.indptr])
