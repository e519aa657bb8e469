"""Graphs that no single card holds, made by the cards themselves: seconds to build, bytes, PageRank and searches.

python -m benchmarks.made_on_cards [--runs 1:25 2:26 4:27 4:29] [--output FILE]

A run is a number of cards and a scale. A graph of scale S is Graph500's: 2^S vertices and 16 * 2^S random edges, stored
in both directions, loops and repeated edges among them. Each card draws its share of the edges when they are sent, so
no card and no host memory ever has all of them. Runs of equal edges per card show weak scaling: efficiency is the time
of the first run by that of another. GTEPS of a search are the stored edges of the vertices that it reaches, by seconds:
twice what Graph500 counts. Those of PageRank are all stored edges by the seconds of an iteration.

Answers are checked by what must hold of them: ranks sum to 1, a search gives no neighbor of a reached vertex a level
that is higher by more than one, and a graph of scale 16 has the answers that one card gives for the same edges.
"""

from typing import Any

import numpy as np

import gasla
import semirings
from benchmarks.cards import ranks as ranked
from benchmarks.cards import seconds
from benchmarks.script import Script, command
from gasla import distributed
from gasla.arrays import Device, index_dtype, module_of
from gasla.bench.runner import timed
from gasla.distributed.communicator import Rank, Ranks
from gasla.distributed.engine.partition import Edges, Rounds, rounds_of
from gasla.graph.generators import kronecker_ends

FACTOR = 16  # edges per vertex
FEW, MANY = 5, 25  # iterations
DRAWN = 1 << 26  # edges that are drawn at once


class Kronecker:
    """A rank's share of the edges; see `gasla.distributed.engine.partition.Source`."""

    def __init__(self, rank: Rank, scale: int) -> None:
        self._rank, self._size, self._device = rank.communicator.rank, rank.communicator.size, rank.device
        self._scale, self._m = scale, 2 * FACTOR << scale
        self.count = self._m * (self._rank + 1) // self._size - self._m * self._rank // self._size

    def extent(self) -> tuple[int, int]:
        """The least and the largest vertex."""
        return 0, (1 << self._scale) - 1

    def plan(self, m: int) -> Rounds:
        """In each round, ranks send consecutive slices of the edges."""
        return Rounds(rounds_of(self._device, m, self._size), 1)

    def targets(self, number: int, rounds: int) -> Any:
        """The targets of the edges of a round."""
        return self.edges(number, rounds).dst

    def edges(self, number: int, rounds: int) -> Edges:
        """The edges of a round: edge 2 k leads one way, and edge 2 k + 1 back."""
        pieces, piece = rounds * self._size, number * self._size + self._rank
        first, last = (self._m * end // pieces for end in (piece, piece + 1))
        xp: Any = module_of(self._device)
        src, dst = (xp.empty(last - first, np.int32) for _ in range(2))
        for begin in range(first, last, DRAWN):
            ids = xp.arange(begin, min(begin + DRAWN, last), dtype=np.uint64)
            ends = [self._renamed(end) for end in kronecker_ends(ids >> np.uint64(1), self._scale)]
            is_back = (ids & np.uint64(1)).astype(bool)
            part = slice(begin - first, begin - first + len(ids))
            src[part], dst[part] = xp.where(is_back, *ends[::-1]), xp.where(is_back, *ends)
        return Edges(src, dst, xp.arange(first, last, dtype=index_dtype(self._m)), None)

    def _renamed(self, ids: Any) -> Any:
        """Other names, so that the vertices with many edges are not neighbors: a permutation of `scale` bits."""
        mask, half = np.uint32((1 << self._scale) - 1), np.uint32(self._scale // 2 + 1)
        ids = ids.astype(np.uint32)
        for factor in (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D):  # odd
            ids = (ids * np.uint32(factor) + np.uint32(0x27D4EB2F)) & mask
            ids ^= ids >> half
        return ids.astype(np.int32)


def made(scale: int, ranks: Ranks) -> distributed.Graph:
    """The graph, over ranks."""
    graph = distributed.Graph.from_shares(ranks, 1 << scale, Kronecker, scale)
    graph.one_card = False
    return graph


def check_small(ranks: Ranks, scale: int = 16) -> None:
    """A small graph has the answers that one process gives for the same edges."""
    with distributed.Cluster(threads=1) as single:
        (edges,) = single.each(lambda rank: Kronecker(rank, scale).edges(0, 1))
    one, spread = gasla.Graph.from_edges(edges.src, edges.dst, n=1 << scale), made(scale, ranks)
    np.testing.assert_array_equal(gasla.bfs(spread, 1).compute(), gasla.bfs(one, 1))
    np.testing.assert_allclose(ranked(spread, FEW).compute(), ranked(one, FEW), rtol=1e-6)


class Worst(gasla.VertexProgram):
    """The most by which a vertex is further than an in-neighbor; vertices that were not reached are at 2^30."""

    everyone = True
    level = gasla.vertex(np.int32)
    worst = gasla.vertex(np.int32, init=0)
    reduce = semirings.min

    def gather(self, src: Any, dst: Any, edge: Any) -> Any:
        return src.level

    def apply(self, vertex: Any, nearest: Any) -> dict[str, Any]:
        return {"worst": vertex.level - nearest}

    @gasla.aggregate(semirings.max, np.int32)
    def most(self, before: Any, after: Any) -> Any:
        return after.worst


def row(cards: int, scale: int, ranks: Ranks) -> str:
    """Make a graph, and time what it is for."""
    device: Device = "gpu" if ranks.has_cards else "cpu"
    built, graph = timed(lambda: made(scale, ranks))
    few, _ = seconds(lambda: ranked(graph, FEW), device)
    many, answer = seconds(lambda: ranked(graph, MANY), device)
    iteration, total = (many - few) / (MANY - FEW), float(answer.sum())
    if abs(total - 1) > 1e-6:
        raise AssertionError(f"the ranks sum to {total}; expected 1")
    degrees = np.asarray(graph.in_degrees)
    source = int(degrees.argmax())
    search, levels = seconds(lambda: gasla.bfs(graph, source), device)
    reached = levels >= 0
    most = gasla.run(Worst, graph, level=np.where(reached, levels, 1 << 30).astype(np.int32), max_iterations=1)
    if int(most.aggregates["most"]) > 1:
        raise AssertionError(f"a vertex is further from the source than a neighbor by {most.aggregates['most']}")
    edges, largest = int(degrees[reached].sum()), int(graph.report()["bytes"].max())
    return (
        f"{cards:5d}{scale:7d}{graph.m / 1e9:9.2f}{built:9.1f}{largest / 1e9:9.1f}{1e3 * iteration:11.2f}"
        f"{graph.m / iteration / 1e9:8.1f}{1e3 * search:9.2f}{edges / search / 1e9:8.1f}"
    )


HEAD = "cards  scale  G edges  s build  GB/card  PageRank ms   GTEPS   BFS ms   GTEPS"


def main() -> None:
    """Measure, and print a table."""
    parser = command(__doc__, "output")
    parser.add_argument("--runs", nargs="+", default=["1:20", "2:21"], help="CARDS:SCALE")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="gpu", help="cpu: threads, to try it out")
    script = Script(parser)
    script.say(HEAD)
    for cards, scale in (map(int, run.split(":")) for run in script.options.runs):
        how: dict[str, Any] = {"threads" if script.device == "cpu" else "cards": cards}
        with distributed.Cluster(**how) as ranks:
            check_small(ranks)
            script.say(row(cards, scale, ranks))


if __name__ == "__main__":
    main()
