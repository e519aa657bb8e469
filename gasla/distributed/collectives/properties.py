"""Properties of a distributed graph (symmetry, self loops, parallel edges), and its simple undirected form."""

from typing import Any

import numpy as np

from gasla.arrays import index_dtype, with_bits_of_numbers
from gasla.distributed.communicator import Communicator, Rank
from gasla.distributed.engine.partition import Edges, places_by_owner, send_to
from gasla.distributed.engine.shard import Share
from gasla.graph.adjacency import lists_on
from gasla.graph.neighbor_lists import Lists

SHARE = "share"  # the key under which a rank stores its part of a graph
# the key under which a rank stores the bytes of memory that were free before and after its part of the graph was made
FREE = "free"


def find_properties(rank: Rank, graph: Any, weighted: bool) -> dict[str, bool]:
    """Return a dict that says whether a distributed graph is symmetric, has self loops, and has parallel edges
    (collective).

    With `weighted`, it is symmetric only if the values are symmetric, too.
    """
    communicator, graph_share = rank.communicator, rank.kept[graph][SHARE]
    shard_lists = graph_share.shard.graph.lists
    # Use new objects for the lists and the graph, so that what is computed from them is freed and not cached with the
    # graph.
    lists = Lists(shard_lists.n, shard_lists.device, shard_lists.rows, shard_lists.columns)
    of_ranks = np.stack(communicator.allgather(np.array([lists.has_self_loops, lists.has_parallel_edges])))
    del lists
    return {
        "is_symmetric": is_symmetric(communicator, graph_share, weighted),
        "has_self_loops": bool(of_ranks[:, 0].any()),
        "has_parallel_edges": bool(of_ranks[:, 1].any()),
    }


def is_symmetric(communicator: Communicator, share: Share, weighted: bool) -> bool:
    """Return whether a distributed graph stores the edge j -> i as often as i -> j, for all vertices i and j
    (collective).

    With `weighted`, this must hold for each edge value separately.
    """
    shard = share.shard
    lists, values = shard.graph.in_, shard.graph.valued.each if weighted else None
    own_imbalance = lists_on(lists.indptr).imbalance(
        lists.indptr[: shard.own + 1],
        shard.ids_as(index_dtype(shard.n)).take(lists.indices),
        None if values is None else with_bits_of_numbers(values),
        shard.first,
    )
    return not np.sum(communicator.allgather(np.array([own_imbalance], np.uint64)), dtype=np.uint64)


def simple_edges(rank: Rank, graph: Any) -> Edges:
    """Return this rank's edges of the simple undirected graph: each edge in both directions, no loops, no values."""
    communicator, graph_share = rank.communicator, rank.kept[graph][SHARE]
    edges = graph_share.edges().on("cpu")
    src, dst = (np.concatenate(pair) for pair in ((edges.src, edges.dst), (edges.dst, edges.src)))
    differ = src != dst
    src, dst = src[differ], dst[differ]
    positions_by_owner = places_by_owner(graph_share.bounds, dst)
    own_edges = send_to(communicator, positions_by_owner, Edges(src, dst, np.zeros(len(src), np.int8), None))
    pairs = np.unique(np.stack([own_edges.dst, own_edges.src], axis=1), axis=0)
    counts = np.concatenate(communicator.allgather(np.array([len(pairs)], np.int64)))
    first_edge_number = int(counts[: communicator.rank].sum())
    return Edges(pairs[:, 1], pairs[:, 0], np.arange(first_edge_number, first_edge_number + len(pairs)), None)
