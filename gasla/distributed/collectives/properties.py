"""Properties of a distributed graph (symmetry, self loops, parallel edges), and its simple undirected form."""

from typing import Any

import numpy as np

from gasla.arrays import with_bits_of_numbers
from gasla.distributed.communicator import Communicator, Rank
from gasla.distributed.engine.partition import Edges, Share, send_to

SHARE = "share"  # the key under which a rank keeps its share of a graph


def find_properties(rank: Rank, graph: Any, weighted: bool) -> dict[str, bool]:
    """Whether the graph is symmetric (with `weighted`, values too), has self loops, and has parallel edges."""
    communicator, share = rank.communicator, rank.kept[graph][SHARE]
    own = np.array([_is_symmetric(communicator, share, weighted), *_loops_and_repeats(share.edges)], np.int64)
    found = np.stack(communicator.allgather(own))
    return {
        "is_symmetric": bool(found[:, 0].all()),
        "has_self_loops": bool(found[:, 1].any()),
        "has_parallel_edges": bool(found[:, 2].any()),
    }


def _is_symmetric(communicator: Communicator, share: Share, weighted: bool) -> bool:
    """Whether own vertices have the same in- and out-neighbors; with `weighted`, also equal values, in any order."""
    into = share.edges
    out = send_to(communicator, share.owners(into.src), into)
    columns = []
    for own, other, values in [(into.dst, into.src, into.values), (out.src, out.dst, out.values)]:
        keys = [other, own]
        if weighted and values is not None:
            keys.insert(0, with_bits_of_numbers(values).view(f"u{values.dtype.itemsize}"))
        order = np.lexsort(keys)
        columns.append([key[order] for key in keys])
    return all(np.array_equal(a, b) for a, b in zip(*columns, strict=True))


def _loops_and_repeats(edges: Edges) -> tuple[bool, bool]:
    order = np.lexsort((edges.src, edges.dst))
    src, dst = edges.src[order], edges.dst[order]
    return bool((src == dst).any()), bool(((src[1:] == src[:-1]) & (dst[1:] == dst[:-1])).any())


def simple_edges(rank: Rank, graph: Any) -> Edges:
    """A rank's share of the simple undirected graph: both directions of each edge once, no self loops, no values."""
    communicator, share = rank.communicator, rank.kept[graph][SHARE]
    src, dst = (
        np.concatenate(pair) for pair in ((share.edges.src, share.edges.dst), (share.edges.dst, share.edges.src))
    )
    differ = src != dst
    src, dst = src[differ], dst[differ]
    found = send_to(communicator, share.owners(dst), Edges(src, dst, np.zeros(len(src), np.int64), None))
    pairs = np.unique(np.stack([found.dst, found.src], axis=1), axis=0)
    counts = np.concatenate(communicator.allgather(np.array([len(pairs)], np.int64)))
    first = int(counts[: communicator.rank].sum())
    return Edges(pairs[:, 1], pairs[:, 0], np.arange(first, first + len(pairs)), None)
