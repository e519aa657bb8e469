"""Two-hop neighborhoods: blocks of rows of the squared adjacency matrix."""

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
MOST = 1 << 22  # paths of two edges per block; all paths from a vertex are in one block


class TwoHops(NamedTuple):
    """A block of rows: for some vertices, all vertices with a common neighbor, also themselves, and total weights."""

    rows: slice  # positions in `chosen`
    indptr: Array  # offsets of the rows of this block
    vertices: Array  # ascending in each row
    weights: Array
    owners: Array  # the vertex of each entry's row


def two_hops(simple: Graph, weights: Array, chosen: Array) -> Iterator[TwoHops]:
    """Yield rows of a simple undirected graph times itself, in blocks. Weights are summed in the order of neighbors."""
    lists, pattern = simple.sorted_out, simple.with_values(None)
    for rows in shares(paths_from(simple)[chosen], MOST):
        here = lists.of(chosen[rows])
        some = Sparse((len(here.indptr) - 1, simple.n), here.indptr, here.indices, weights[here.indices])
        product = mxm(some, pattern, semirings.plus_first)
        owners = chosen[rows][Adjacency(product.indptr, product.indices).owners()]
        yield TwoHops(rows, product.indptr, product.indices, product.data, owners)


def paths_from(simple: Graph) -> Array:
    """Return the number of paths of two edges from each vertex of a simple undirected graph."""
    xp: Any = module_of(simple.device)
    degrees = simple.out_degrees.astype(np.int64)
    return xp.diff(running_sums(degrees[simple.out.indices])[simple.out.indptr])
