"""Properties of a distributed graph (symmetry, self loops, parallel edges), and its simple undirected form."""

from typing import Any

import numpy as np

from gasla.arrays import with_bits_of_numbers
from gasla.distributed.communicator import Communicator, Rank
from gasla.distributed.engine.partition import Edges, places_by_owner, send_to
from gasla.graph.symmetry import imbalance

SHARE = "share"  # the key under which a rank keeps its share of a graph


def find_properties(rank: Rank, graph: Any, weighted: bool) -> dict[str, bool]:
    """Whether the graph is symmetric (with `weighted`, values too), has self loops, and has parallel edges."""
    communicator, share = rank.communicator, rank.kept[graph][SHARE]
    edges = share.edges().on("cpu")
    found = np.stack(communicator.allgather(np.array(_loops_and_repeats(edges))))
    return {
        "is_symmetric": is_symmetric(communicator, edges, weighted),
        "has_self_loops": bool(found[:, 0].any()),
        "has_parallel_edges": bool(found[:, 1].any()),
    }


def is_symmetric(communicator: Communicator, edges: Edges, weighted: bool) -> bool:
    """Whether j -> i is stored as often as i -> j, for all i and j; with `weighted`, as often with each value.

    Each rank gives its edges, in host memory.
    """
    values = edges.values if weighted else None
    own = imbalance(edges.src, edges.dst, None if values is None else with_bits_of_numbers(values))
    return not np.sum(communicator.allgather(np.array([own], np.uint64)), dtype=np.uint64)


def _loops_and_repeats(edges: Edges) -> tuple[bool, bool]:
    order = np.lexsort((edges.src, edges.dst))
    src, dst = edges.src[order], edges.dst[order]
    return bool((src == dst).any()), bool(((src[1:] == src[:-1]) & (dst[1:] == dst[:-1])).any())


def simple_edges(rank: Rank, graph: Any) -> Edges:
    """A rank's share of the simple undirected graph: both directions of each edge once, no self loops, no values."""
    communicator, share = rank.communicator, rank.kept[graph][SHARE]
    edges = share.edges().on("cpu")
    src, dst = (np.concatenate(pair) for pair in ((edges.src, edges.dst), (edges.dst, edges.src)))
    differ = src != dst
    src, dst = src[differ], dst[differ]
    places = places_by_owner(share.bounds, dst)
    found = send_to(communicator, places, Edges(src, dst, np.zeros(len(src), np.int8), None))
    pairs = np.unique(np.stack([found.dst, found.src], axis=1), axis=0)
    counts = np.concatenate(communicator.allgather(np.array([len(pairs)], np.int64)))
    first = int(counts[: communicator.rank].sum())
    return Edges(pairs[:, 1], pairs[:, 0], np.arange(first, first + len(pairs)), None)
