"""Triangle counts over ranks: owners send the adjacency lists of mirrored vertices, and ranks intersect lists.

The total is counted on lists oriented by degree (only neighbors of higher degree), so that vertices of high degree have
short lists, and each triangle is found once. Counts per vertex need the whole lists.

GPUs with enough memory for the whole graph receive a copy once, and each then counts a part of the triangles.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from gasla.arrays import Device, index_dtype, moved, running_sums
from gasla.distributed.collectives.properties import SHARE
from gasla.distributed.communicator import Rank
from gasla.distributed.engine.distributed_run import degrees_on, shard_on
from gasla.distributed.engine.partition import exchange_arrays
from gasla.distributed.engine.shard import Shard
from gasla.distributed.replicas import replica_on
from gasla.engines import engine
from gasla.graph.graph import Graph


def count_triangles(rank: Rank, graph: Any, result: Any, per_vertex: bool) -> int:
    """Count the triangles of a simple distributed graph, and return their number (collective).

    With `per_vertex`, also store the number of triangles at each of this rank's own vertices, under the key `result`.
    """
    shard = shard_on(rank, graph, "in")
    local = shard.graph_on("cpu").in_
    owners, neighbors = local.owners().astype(np.int64), local.indices.astype(np.int64)
    if not per_vertex:
        degrees = moved(degrees_on(rank, graph, "in", "in"), "cpu")
        owner_degrees, neighbor_degrees = degrees[owners], degrees[neighbors]
        later = (owner_degrees < neighbor_degrees) | (
            (owner_degrees == neighbor_degrees) & (shard.ids[owners] < shard.ids[neighbors])
        )
        owners, neighbors = owners[later], neighbors[later]
    lists = _with_lists_of_mirrors(rank, shard, owners, shard.ids[neighbors])
    closed = engine("cpu").primitives().intersect(lists, owners, neighbors, None)
    counts = np.bincount(owners, weights=closed, minlength=shard.own).astype(np.int64)
    triangle_count = int(np.sum(rank.communicator.allgather(np.array([counts.sum()]))))
    if not per_vertex:
        return triangle_count
    # A vertex finds each of its triangles twice, along both of the triangle's edges at the vertex. So counts are
    # halved.
    rank.kept[result] = {"counts": counts // 2}
    return triangle_count // 6


def count_on_replica(rank: Rank, graph: Any, result: Any, per_vertex: bool) -> int:
    """Count the triangles of a simple graph, of which each rank has a whole copy, and return their number (collective).

    Each rank counts a part of the triangles. With `per_vertex`, the number of triangles at each of the rank's own
    vertices is stored under the key `result`.
    """
    communicator, primitives = rank.communicator, engine(rank.device).primitives()
    lists = primitives.orient(replica_on(rank, graph))
    triangle_count, counts = primitives.count_common_neighbors(
        lists, per_vertex, (communicator.rank, communicator.size)
    )
    if per_vertex:
        device: Device = rank.device if rank.reaches_cards else "cpu"
        counts, bounds = moved(counts, device), rank.kept[graph][SHARE].bounds
        first_counts, *other_counts = exchange_arrays(
            rank.communicator, [counts[range_start:range_end] for range_start, range_end in pairwise(bounds.tolist())]
        )
        rank.kept[result] = {"counts": sum(other_counts, first_counts)}
    return int(np.sum(communicator.allgather(np.array([int(triangle_count)], np.int64))))


def _with_lists_of_mirrors(rank: Rank, shard: Shard, owners: np.ndarray, neighbors: np.ndarray) -> Graph:
    """Return a graph in which this rank's own vertices and their mirrors have adjacency lists, which the rank then
    intersects to count triangles (collective).

    The lists of mirrors (copies of other ranks' vertices) are received from the ranks that own the vertices. The
    neighbors in all lists are numbered in the order of their global ids, so that lists ascend.
    """
    own_list_sizes = np.bincount(owners, minlength=shard.own)
    offsets = running_sums(own_list_sizes)
    sends = [shard.array_on("cpu", ("sends", rank_number), ids) for rank_number, ids in enumerate(shard.sends)]
    lengths = np.concatenate(exchange_arrays(rank.communicator, [own_list_sizes[ids] for ids in sends]))
    lists_to_send = [_lists(offsets, neighbors, ids) for ids in sends]
    columns = np.concatenate([neighbors, *exchange_arrays(rank.communicator, lists_to_send)])
    ids, numbers = np.unique(columns, return_inverse=True)
    count = max(len(shard.ids), len(ids))
    indptr = np.full(count + 1, len(columns), np.int64)
    indptr[0] = 0
    indptr[1 : len(shard.ids) + 1] = np.cumsum(np.concatenate([own_list_sizes, lengths]))
    return Graph.from_csr(indptr, numbers.astype(index_dtype(count)))


def _lists(offsets: np.ndarray, entries: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the adjacency lists of the vertices in `rows`, one after another in one array, to send them to another
    rank.

    The list of a vertex v is entries[offsets[v]:offsets[v + 1]].
    """
    counts = offsets[rows + 1] - offsets[rows]
    list_ends = np.cumsum(counts)
    lists: np.ndarray = entries[np.repeat(offsets[rows] - (list_ends - counts), counts) + np.arange(int(counts.sum()))]
    return lists
