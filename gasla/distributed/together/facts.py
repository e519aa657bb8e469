"""What is asked of a graph as a whole, found out by all ranks: symmetry, loops, parallel edges, and a simple graph."""

from typing import Any

import numpy as np

from gasla.arrays import with_bits_of_numbers
from gasla.distributed.communicator import Communicator, Rank
from gasla.distributed.engine.partition import Edges, Share, send_to

SHARE = "share"  # by what a rank keeps its share of a graph


def facts_of(rank: Rank, graph: Any, weighted: bool) -> dict[str, bool]:
    """Whether edges, if `weighted` with values, are there in both directions; whether any is a loop, or repeats."""
    communicator, share = rank.communicator, rank.kept[graph][SHARE]
    own = np.array([_is_symmetric(communicator, share, weighted), *_loops_and_repeats(share.edges)], np.int64)
    found = np.stack(communicator.allgather(own))
    return {
        "is_symmetric": bool(found[:, 0].all()),
        "has_self_loops": bool(found[:, 1].any()),
        "has_parallel_edges": bool(found[:, 2].any()),
    }


def _is_symmetric(communicator: Communicator, share: Share, weighted: bool) -> bool:
    """Whether own vertices have the same edges in as out; with values, of equal numbers, in any order."""
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
    """A share of the edges of a graph in both directions, each once and without loops."""
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
