"""Triangles over ranks: owners send the lists of what others mirror, and each rank intersects those of its own edges.

For their number lists are of later neighbours alone, by degree: hubs have few, and each triangle is met once. For the
number at each vertex they are whole.
"""

from typing import Any

import numpy as np

from gasla.arrays import index_dtype, running_sums
from gasla.distributed.communicator import Rank
from gasla.distributed.engine.partition import exchange_arrays
from gasla.distributed.engine.running import degrees_on, shard_on
from gasla.distributed.engine.shard import Shard
from gasla.engines import engine
from gasla.graph.graph import Graph


def count_triangles(rank: Rank, graph: Any, result: Any, per_vertex: bool) -> int:
    """How many there are in a simple graph; those at own vertices are left on the rank, if asked for."""
    shard = shard_on(rank, graph, "in")
    local = shard.graph.in_
    owners, neighbours = local.owners().astype(np.int64), local.indices.astype(np.int64)
    if not per_vertex:
        degrees = degrees_on(rank, graph, "in", "in")
        a, b = degrees[owners], degrees[neighbours]
        later = (a < b) | ((a == b) & (shard.ids[owners] < shard.ids[neighbours]))
        owners, neighbours = owners[later], neighbours[later]
    lists = _with_lists_of_mirrors(rank, shard, owners, shard.ids[neighbours])
    found = engine("cpu").primitives().intersect(lists, owners, neighbours, None)
    counts = np.bincount(owners, weights=found, minlength=shard.own).astype(np.int64)
    total = int(np.sum(rank.communicator.allgather(np.array([counts.sum()]))))
    if not per_vertex:
        return total
    rank.kept[result] = {"counts": counts // 2}  # met from both of its other corners
    return total // 6


def _with_lists_of_mirrors(rank: Rank, shard: Shard, owners: np.ndarray, neighbours: np.ndarray) -> Graph:
    """The lists of own vertices, ascending, and of mirrors; neighbours go by numbers of their own after these."""
    own = np.bincount(owners, minlength=shard.own)
    offsets = running_sums(own)
    lengths = np.concatenate(exchange_arrays(rank.communicator, [own[ids] for ids in shard.sends]))
    sent = [_lists(offsets, neighbours, ids) for ids in shard.sends]
    columns = np.concatenate([neighbours, *exchange_arrays(rank.communicator, sent)])
    ids, numbers = np.unique(columns, return_inverse=True)
    count = max(len(shard.ids), len(ids))
    indptr = np.full(count + 1, len(columns), np.int64)
    indptr[0] = 0
    indptr[1 : len(shard.ids) + 1] = np.cumsum(np.concatenate([own, lengths]))
    return Graph.from_csr(indptr, numbers.astype(index_dtype(count)))


def _lists(offsets: np.ndarray, entries: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The entries of some rows, one row's after another's."""
    counts = offsets[rows + 1] - offsets[rows]
    ends = np.cumsum(counts)
    found: np.ndarray = entries[np.repeat(offsets[rows] - (ends - counts), counts) + np.arange(int(counts.sum()))]
    return found
