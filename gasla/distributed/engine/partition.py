"""What each rank owns: a contiguous range of vertices, balanced by edges and vertices.

Edges come in any shares, each with its place in the input, and go to the owner of one of their ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gasla.arrays import running_sums
from gasla.distributed.communicator import Communicator

BINS = 1 << 16  # into which vertices are counted: ranges end at the bounds of one


@dataclass(eq=False)
class Edges:
    """Some edges: their ends, their places in the input, their values."""

    src: np.ndarray
    dst: np.ndarray
    ids: np.ndarray
    values: np.ndarray | None

    def columns(self) -> list[np.ndarray]:
        """All arrays, those of whole numbers as int64."""
        numbers = [np.ascontiguousarray(column, dtype=np.int64) for column in (self.src, self.dst, self.ids)]
        return numbers if self.values is None else [*numbers, np.ascontiguousarray(self.values)]

    def taken(self, places: np.ndarray) -> "Edges":
        """Some of them."""
        return Edges(*(None if a is None else a[places] for a in (self.src, self.dst, self.ids, self.values)))  # type: ignore[arg-type]


@dataclass(eq=False)
class Share:
    """A rank's share of a graph: the edges into its own vertices, in the order of the input."""

    bounds: np.ndarray  # rank r owns the vertices bounds[r] to bounds[r + 1]
    m: int  # edges of all ranks
    edges: Edges

    @property
    def n(self) -> int:
        """Vertices of all ranks."""
        return int(self.bounds[-1])

    def owners(self, vertices: np.ndarray) -> np.ndarray:
        """The rank that owns each of some vertices."""
        return owners_of(self.bounds, vertices)


def owners_of(bounds: np.ndarray, vertices: np.ndarray) -> np.ndarray:
    """The rank that owns each of some vertices."""
    return np.searchsorted(bounds[1:-1], vertices, side="right")


def share_out(communicator: Communicator, n: int, edges: Edges) -> Share:
    """Each rank's share of the edges that they hold together, in any order.

    Raises
    ------
    ValueError
        On every rank, if an edge leads outside of n vertices.
    """
    ends = np.array(
        [[array.min(), array.max()] for array in (edges.src, edges.dst)] if len(edges.ids) else [[0, 0]] * 2
    )
    found = np.stack(communicator.allgather(np.array([ends.min(), ends.max(), len(edges.ids)], np.int64)))
    least, most, m = int(found[:, 0].min()), int(found[:, 1].max()), int(found[:, 2].sum())
    if m and not 0 <= least <= most < n:
        raise ValueError(f"an edge has the end {least if least < 0 else most}; expected ids from 0 to {n - 1}")
    bounds = balanced(communicator, n, m, edges.dst)
    own = send_to(communicator, owners_of(bounds, edges.dst), edges)
    return Share(bounds, m, own.taken(np.argsort(own.ids, kind="stable")))


def balanced(communicator: Communicator, n: int, m: int, dst: np.ndarray) -> np.ndarray:
    """Bounds of ranges of vertices that have about as many vertices and in-edges each."""
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
    """Send each edge to its owner; the edges that come to this rank."""
    order = np.argsort(owners, kind="stable")
    cuts = np.searchsorted(owners[order], np.arange(communicator.size + 1))
    columns = [column[order] for column in edges.columns()]
    found = [exchange_arrays(communicator, [column[a:b] for a, b in pairwise(cuts)]) for column in columns]
    src, dst, ids, *values = (np.concatenate(parts) for parts in found)
    return Edges(src, dst, ids, values[0] if values else None)


def exchange_arrays(communicator: Communicator, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Send each rank an array, all of one type; what each has for this one, as copies."""
    kind = parts[0].dtype
    row = parts[0].shape[1:]
    sent = [np.ascontiguousarray(part).reshape(-1).view(np.uint8) for part in parts]
    return [np.array(got, np.uint8).view(kind).reshape(-1, *row) for got in communicator.exchange(sent)]
