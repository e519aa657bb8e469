"""Partition of a graph: each rank owns a contiguous range of vertices, balanced by edges and vertices.

Ranks start with arbitrary subsets of the edges, and send each edge to the owner of its target.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gasla.arrays import array_module, finish, running_sums
from gasla.distributed.communicator import Communicator, Rank

BINS = 1 << 16  # number of bins of the histogram by which ranges are balanced; ranges end at bounds of bins


@dataclass(eq=False)
class Edges:
    """Some edges: sources, targets, edge numbers (positions in the input), values."""

    src: np.ndarray
    dst: np.ndarray
    ids: np.ndarray
    values: np.ndarray | None

    def columns(self) -> list[np.ndarray]:
        """All arrays; ids as int64."""
        numbers = [np.ascontiguousarray(column, dtype=np.int64) for column in (self.src, self.dst, self.ids)]
        return numbers if self.values is None else [*numbers, np.ascontiguousarray(self.values)]

    def taken(self, places: np.ndarray) -> "Edges":
        """The edges at some positions."""
        return Edges(*(None if a is None else a[places] for a in (self.src, self.dst, self.ids, self.values)))  # type: ignore[arg-type]


@dataclass(eq=False)
class Share:
    """A rank's share of a graph: the in-edges of its own vertices, in the order of the input."""

    bounds: np.ndarray  # rank r owns the vertices bounds[r] to bounds[r + 1] - 1
    m: int  # number of edges of all ranks
    edges: Edges

    @property
    def n(self) -> int:
        """Number of vertices of all ranks."""
        return int(self.bounds[-1])

    def owners(self, vertices: np.ndarray) -> np.ndarray:
        """The owning rank of each vertex."""
        return owners_of(self.bounds, vertices)


def owners_of(bounds: np.ndarray, vertices: np.ndarray) -> np.ndarray:
    """The owning rank of each vertex."""
    return np.searchsorted(bounds[1:-1], vertices, side="right")


def distribute_edges(communicator: Communicator, n: int, edges: Edges) -> Share:
    """Compute the partition, and send all edges to the owners of their targets; returns this rank's share.

    Raises
    ------
    ValueError
        On every rank, if an id is out of range.
    """
    ends = np.array(
        [[array.min(), array.max()] for array in (edges.src, edges.dst)] if len(edges.ids) else [[0, 0]] * 2
    )
    found = np.stack(communicator.allgather(np.array([ends.min(), ends.max(), len(edges.ids)], np.int64)))
    least, most, m = int(found[:, 0].min()), int(found[:, 1].max()), int(found[:, 2].sum())
    if m and not 0 <= least <= most < n:
        raise ValueError(f"an edge has the vertex {least if least < 0 else most}; expected 0 to {n - 1}")
    bounds = balanced_bounds(communicator, n, m, edges.dst)
    own = send_to(communicator, owners_of(bounds, edges.dst), edges)
    return Share(bounds, m, own.taken(np.argsort(own.ids, kind="stable")))


def balanced_bounds(communicator: Communicator, n: int, m: int, dst: np.ndarray) -> np.ndarray:
    """Bounds of ranges of vertices with about equal sums of vertices and in-edges."""
    width = max(1, -(-n // BINS))
    count = -(-n // width)
    held = np.bincount(np.asarray(dst, np.int64) // width, minlength=count).astype(np.int64)
    work = np.sum(communicator.allgather(held), axis=0) + width
    before = running_sums(work)
    wanted = before[-1] * np.arange(communicator.size + 1) / communicator.size
    bounds = np.minimum(np.searchsorted(before, wanted) * width, n).astype(np.int64)
    bounds[0], bounds[-1] = 0, n
    return np.maximum.accumulate(bounds)


def send_to(communicator: Communicator, owners: np.ndarray, edges: Edges) -> Edges:
    """Send each edge to its owner; returns the edges received."""
    order = np.argsort(owners, kind="stable")
    cuts = np.searchsorted(owners[order], np.arange(communicator.size + 1))
    columns = [column[order] for column in edges.columns()]
    found = [exchange_arrays(communicator, [column[a:b] for a, b in pairwise(cuts)]) for column in columns]
    src, dst, ids, *values = (np.concatenate(parts) for parts in found)
    return Edges(src, dst, ids, values[0] if values else None)


def exchange_arrays(communicator: Communicator, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
    """`Communicator.exchange` for arrays of any type, the same on all ranks; returns copies."""
    kind = parts[0].dtype
    row = parts[0].shape[1:]
    sent = [np.ascontiguousarray(part).reshape(-1).view(np.uint8) for part in parts]
    return [np.array(got, np.uint8).view(kind).reshape(-1, *row) for got in communicator.exchange(sent)]


def exchange_on_device(rank: Rank, parts: Sequence[Any]) -> list[Any]:
    """`exchange_arrays` for arrays on the ranks' device: they go from card to card if those are in one process."""
    if not rank.reaches_cards:
        return exchange_arrays(rank.communicator, parts)
    finish("gpu")
    found = [array_module(part).array(part) for part in rank.communicator.exchange(parts)]
    finish("gpu")  # before another rank releases its part
    return found
