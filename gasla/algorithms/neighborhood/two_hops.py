"""What lies two edges away: some rows at a time of the product of the adjacency matrix with itself."""

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
MOST = 1 << 22  # paths of two edges that are looked at together, but all from one vertex are


class TwoHops(NamedTuple):
    """For some of the chosen vertices all with whom they share a neighbor, themselves too, and what these weigh."""

    rows: slice  # of the chosen vertices
    indptr: Array  # of those rows alone
    vertices: Array  # ascending in each row
    weights: Array
    owners: Array  # the vertex whose row each is in


def two_hops(simple: Graph, weights: Array, chosen: Array) -> Iterator[TwoHops]:
    """Rows of a simple undirected graph times itself, some at a time; weights are added in the order of neighbors."""
    lists, pattern = simple.sorted_out, simple.with_values(None)
    for rows in shares(paths_from(simple)[chosen], MOST):
        here = lists.of(chosen[rows])
        some = Sparse((len(here.indptr) - 1, simple.n), here.indptr, here.indices, weights[here.indices])
        found = mxm(some, pattern, semirings.plus_first)
        owners = chosen[rows][Adjacency(found.indptr, found.indices).owners()]
        yield TwoHops(rows, found.indptr, found.indices, found.data, owners)


def paths_from(simple: Graph) -> Array:
    """How many paths of two edges begin at each vertex of a simple undirected graph."""
    xp: Any = module_of(simple.device)
    degrees = simple.out_degrees.astype(np.int64)
    return xp.diff(running_sums(degrees[simple.out.indices])[simple.out.indptr])
