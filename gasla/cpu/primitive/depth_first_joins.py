"""Find matches of a pattern in a graph by joins of neighbor lists: their number, or the matches themselves.

The kernel is `gasla/cpu/kernels/join.py`.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import Any

import numpy as np

from gasla.compiler.function import Compiled
from gasla.cpu.kernels import join
from gasla.cpu.primitive.join_decisions import Decisions, mark_type, slot
from gasla.cpu.runtime.blocks import run, threads_for
from gasla.graph.adjacency import Adjacency
from gasla.once import once
from gasla.program.join_plan import JoinPlan

Array = np.ndarray[Any, Any]

NO_LIMIT = np.uint64(2**64 - 1)
_LOOKS = 64  # estimated time for each edge, in units of the time to read one edge; decides how many threads run
_GRAIN, _BLOCKS = 256, 64  # largest number of edges in a block; approximate number of blocks of edges for each thread


@once()
def kernel(plan: JoinPlan, way: str) -> Compiled:
    """Return the compiled kernel that finds matches of a pattern by a plan of joins.

    `way` says what the kernel does with matches: "count" counts them, "tally" counts those of each vertex, and "write"
    writes them.
    """
    compiled: Compiled = join.join.of(Decisions(plan, way))
    return compiled


class Joined:
    """A search for all matches of a pattern in a graph, by joins of adjacency lists (`gasla.engines.JoinRun`).

    Each thread takes one block of edges after another, and finds the matches that begin with these edges.

    The scratch memory of a thread has 2 to 8 bytes per vertex for marks, depending on how many lists are marked. It has
    4 bytes per vertex for each pattern vertex that is counted ahead. For each pattern vertex that is matched, it has a
    buffer as long as the longest adjacency list.
    """

    def __init__(self, plan: JoinPlan, lists: Adjacency, kinds: Array) -> None:
        self.plan, self.lists, self.kinds = plan, lists, kinds
        self.n = len(kinds)
        first = self.n * slot(plan, plan.joins[1].within[0])
        self.edges = int(lists.indptr[first + self.n] - lists.indptr[first])
        self.work = _LOOKS * (self.n + self.edges)
        # the number of threads is fixed here, so that all runs agree even if another thread sets a new number in
        # between
        self.team = threads_for(self.work)
        self.grain = max(1, min(_GRAIN, self.edges // (_BLOCKS * self.team)))
        self.blocks = -(-self.edges // self.grain)

    def total(self) -> int:
        """Return the number of all matches of the pattern in the graph."""
        return sum(self.count())

    def count(self, first: int = 0, number: int | None = None, most: int | None = None) -> list[int]:
        """Return the number of matches in each of some blocks of edges, by default in all blocks.

        A match belongs to the block that has its first edge. The blocks are the `number` blocks from block `first` on.
        With `most`, counting may stop there: if a block has `most` matches or more, its result may be any number from
        `most` on.
        """
        wanted = np.zeros((self.blocks - first if number is None else number, 3), np.uint64)
        wanted[:, 1] = NO_LIMIT if most is None else most
        return [low + (high << 64) for low, high in self._run("count", first, wanted).tolist()]

    def tally(self) -> Array:
        """Return for each vertex of the graph the number of matches that contain it."""
        tallies = np.zeros((self.team, self.n), np.int64)
        self._run("tally", 0, np.full((self.blocks, 3), NO_LIMIT), tallies=tallies)
        sums: Array = tallies.sum(axis=0)
        return sums

    def write(self, first: int, wanted: Array, rows: Array) -> list[int]:
        """Write the wanted matches of some blocks of edges into `rows`, and return how many were written for each
        block.

        The blocks begin with block `first`. Each row of `wanted` is for one block: how many of its matches to skip, how
        many to write, and the row of `rows` at which to begin.
        """
        written: list[int] = self._run("write", first, wanted, rows)[:, 0].tolist()
        return written

    def _run(
        self, way: str, first: int, wanted: Array, rows: Array | None = None, tallies: Array | None = None
    ) -> Array:
        """Run the compiled kernel of the search on some blocks of edges, from block `first` on.

        Each row of `wanted` is for one block, as for `write`. Return the number of matches of each block, each as two
        uint64 words, the low one first.
        """
        plan, n, lists, team = self.plan, self.n, self.lists, self.team
        longest = int(np.diff(lists.indptr).max(initial=0))
        skips, takes, places = (np.ascontiguousarray(wanted[:, k], np.uint64) for k in range(3))
        counts = np.zeros((len(wanted), 2), np.uint64)
        words = np.zeros((team, 8), np.uint64)
        run(
            *(kernel(plan, way), self.work),
            *(np.uint64(n), lists.indptr.astype(np.int64, copy=False), lists.indices),
            *(words, np.tile(self.kinds.astype(mark_type(plan)), (team, 1))),
            np.empty((team, plan.size, longest), lists.indices.dtype),
            np.zeros((team, len(plan.tabled), n), np.int32),
            *(np.zeros((team, max(len(plan.free), 1)), np.uint64), np.zeros((team, 8), np.uint64)),
            np.zeros((team, 0), np.int64) if tallies is None else tallies,
            np.empty((0, 0), lists.indices.dtype) if rows is None else rows,
            *(np.uint64(first), np.uint64(self.edges), np.uint64(self.grain), skips, takes, places, counts),
            most=1 << 62,
            loose=True,
            team=team,
        )
        return counts
