"""Betweenness from source after source: its passes start again on the arrays of the last, in few lines of Python.

On small graphs as much time goes into what is around the kernels as into them, and here next to nothing changes between
one source and the next.
"""

from collections.abc import Callable

import numpy as np

from gasla.cpu import levels, threads
from gasla.cpu.again import Again
from gasla.cpu.spare import Spare, Workspace, kind_of_run
from gasla.graph import Graph
from gasla.program import VertexProgram
from gasla.schedule import Schedule, of_depth


class Passes:
    """A search, sums over paths along its levels, and sums back, added to the scores, which stay where they are."""

    def __init__(
        self, spare: Spare, workspace: Workspace, runs: list[Again], scores: np.ndarray, overflow: Callable[..., bool]
    ) -> None:
        self.scores, self._overflow = scores, overflow
        self._spare, self._workspace = spare, workspace
        self._search, self._count, self._depend = runs
        self._team = max(run.team for run in runs)
        self._searching, fields = self._search.settled({"level": 0})
        self._levels, self._depth = fields["level"], -1
        self._counting, fields = self._count.settled({"paths": 1})
        self._paths = fields["paths"]
        self._depending, _ = self._depend.settled({"paths": self._paths, "score": scores}, in_place=("score",))

    def take(self, source: int) -> bool | Schedule:
        """Add what the paths from one source come to.

        False if others have the threads or the workspace; the order in which to count if plain numbers don't hold them.
        Then the scores are as before.
        """
        taken = self._spare.pop("workspace", None)
        if taken is not self._workspace or (self._team > 1 and not threads.hold(self)):
            if taken is not None:
                self._spare["workspace"] = taken
            return False
        try:
            depth = self._search.to_end(self._searching, source) - 1  # the last one reaches nothing
            if depth != self._depth:
                self._make_room(depth)
            if is_plain := not self._overflow(depth):
                self._starts[0, 0] = 1
                self._count.to_end(self._counting, source, depth=depth)
                if is_plain := not self._overflow(depth, self._paths):
                    self._depend.to_end(self._depending, None, depth=depth, is_sorted=True, is_backward=True)
            self._spare["workspace"] = taken
            return is_plain or of_depth(self._levels, 1, depth)
        finally:
            threads.release(self)

    def _make_room(self, depth: int) -> None:
        """Arrays for schedules of so many levels."""
        found = levels.unsorted(of_depth(self._levels, 1, depth), self._count.ids, self._team)
        self._depth, self._starts = depth, found[1]
        for run, arguments in ((self._count, self._counting), (self._depend, self._depending)):
            arguments[run.levels : run.levels + 3] = found


def passes(
    graph: Graph,
    search: VertexProgram,
    count: VertexProgram,
    depend: VertexProgram,
    scores: np.ndarray | None,
    overflow: Callable[..., bool],
) -> Passes | None:
    """What takes source after source, if these programs have run on the graph before, and nothing is unusual.

    What these come to is added to scores, if there are some. `overflow(depth)` says whether paths of so many levels
    surely exceed plain numbers, and `overflow(depth, paths)` whether these have.
    """
    spare: Spare | None = graph.known("spare")
    workspace = None if spare is None else spare.get("workspace")
    if spare is None or workspace is None:
        return None
    kinds = kind_of_run(search, False, False), kind_of_run(count, False, True), kind_of_run(depend, False, True)
    runs = [bound.again for bound in map(workspace.bound.get, kinds) if bound is not None]
    if len(runs) < 3 or any(run.is_unusual for run in runs):
        return None
    return Passes(spare, workspace, runs, np.zeros(graph.n) if scores is None else scores, overflow)
