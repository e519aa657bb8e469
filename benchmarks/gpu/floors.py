"""What an algorithm takes at least on this GPU: bytes over the bandwidth, random reads over their rate, barriers.

The rates were measured with kernels that do nothing else: a copy; reads of 4 bytes at random places of a vector that
the L2 cache holds, and of one that it doesn't; the barrier of a cooperative grid. A floor counts only what any way of
computing the same must do, so that no program reaches it; it says which of the three is in the way. Random reads count
on flat random graphs alone: on skewed ones most edges lead to a few vertices, which may be kept near, and on grids
neighbours are near each other.
"""

from __future__ import annotations

from typing import NamedTuple

STREAM = {"H100": 3.0e12, "H200": 4.3e12}  # bytes a second, read and written
NEAR_READS, FAR_READS = 125e9, 49e9  # random reads a second: from the L2 cache, from beyond it
CACHE = 50e6  # bytes
BARRIER = 1.1e-6  # seconds
SECTOR = 32  # bytes: the least that is read at a random place


class Floor(NamedTuple):
    """Milliseconds, and what they are spent on."""

    milliseconds: float
    cause: str


class Work(NamedTuple):
    """A graph as a floor sees it."""

    n: int
    m: int
    is_scattered: bool  # whether neighbours are anywhere, and none is read so often that a cache could keep it
    device: str = "H100"

    def floor(self, size: float, reads: float, barriers: float, vector: float | None = None) -> Floor:
        """Bytes and random reads go on at the same time, so that the larger counts; barriers come on top."""
        bandwidth = next((rate for name, rate in STREAM.items() if name in self.device), STREAM["H100"])
        rate = NEAR_READS if (4 * self.n if vector is None else vector) <= CACHE else FAR_READS
        parts = {"bytes": size / bandwidth, "random reads": reads / rate if self.is_scattered else 0}
        cause = max(parts, key=lambda name: parts[name])
        waiting = barriers * BARRIER
        return Floor(1e3 * (parts[cause] + waiting), "barriers" if waiting > parts[cause] else cause)


def bfs(work: Work, reached: int, depth: int) -> Floor:
    """Levels are written; every reached vertex looks up its row and a sector of it; a barrier a level."""
    return work.floor(4 * work.n + reached * (8 + SECTOR), reached, depth)


def sssp(work: Work, iterations: int) -> Floor:
    """Every edge and its weight are read once, and the distance at its end."""
    return work.floor(8 * work.m + 8 * work.n, work.m, iterations)


def pagerank(work: Work) -> Floor:
    """An iteration: every edge, the share at its end; six numbers a vertex."""
    return work.floor(4 * work.m + 24 * work.n, work.m, 1)


def betweenness(work: Work, reached: int, depth: int, sources: int) -> Floor:
    """From every source a search, and twice all edges, with a number of eight bytes at their ends."""
    search = bfs(work, reached, depth)
    sums = work.floor(2 * (4 * work.m + 32 * work.n), 2 * work.m, 2 * depth, vector=8 * work.n)
    return Floor(sources * (search.milliseconds + sums.milliseconds), sums.cause)
