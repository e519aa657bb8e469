"""What lies two edges away: some rows at a time of the product of the adjacency matrix with itself."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.arrays import module_of, moved, running_sums
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph
from gasla.operations.matrices import mxm
from gasla.operations.sparse import Sparse

Array = np.ndarray[Any, Any]
MOST = 1 << 22  # paths of two edges that are looked at together, but all from one vertex are


class TwoHops(NamedTuple):
    """For some vertices those that they share a neighbour with, but for themselves, and what these neighbours weigh."""

    rows: slice
    indptr: Array  # of rows of their own, the first of which is that of vertex rows.start
    vertices: Array  # ascending in each row
    weights: Array
    owners: Array  # the vertex whose row each is in


def two_hops(simple: Graph, weights: Array) -> Iterator[TwoHops]:
    """All vertices of a simple undirected graph, some at a time; weights are added in the order of the neighbours."""
    xp: Any = module_of(simple.device)
    lists, pattern = simple.sorted_out, simple.with_values(None)
    paths = running_sums(simple.out_degrees[lists.indices])[lists.indptr]
    for start, stop in pairwise(_cuts(moved(paths, "cpu"))):
        first, last = (int(lists.indptr[v]) for v in (start, stop))
        indptr, neighbours = lists.indptr[start : stop + 1] - lists.indptr[start], lists.indices[first:last]
        shape, each = (stop - start, simple.n), xp.arange(stop - start + 1, dtype=indptr.dtype)
        some = Sparse(shape, indptr, neighbours, weights[neighbours])
        themselves = Sparse(shape, each, xp.arange(start, stop, dtype=neighbours.dtype), xp.ones(stop - start, bool))
        found = mxm(some, pattern, semirings.plus_first, mask=themselves, complement=True)
        owners = Adjacency(found.indptr, found.indices).owners() + start
        yield TwoHops(slice(start, stop), found.indptr, found.indices, found.data, owners)


def _cuts(paths: Array) -> list[int]:
    """Where to cut the vertices, so that up to so many paths begin at those between two cuts: sums before each."""
    cuts, n = [0], len(paths) - 1
    while cuts[-1] < n:
        last = int(np.searchsorted(paths, paths[cuts[-1]] + MOST, side="right")) - 1
        cuts.append(max(last, cuts[-1] + 1))
    return cuts
