"""Betweenness from source after source: its passes start again on the arrays of the last, in few lines of Python.

On small graphs as much time goes into what is around the kernels as into them, and here next to nothing changes between
one source and the next.
"""

from collections.abc import Callable

import numpy as np

from gasla.cpu.program import levels
from gasla.cpu.program.again import Again
from gasla.cpu.program.spare import Spare, Workspace, kind_of_run
from gasla.cpu.runtime import threads
from gasla.cpu.runtime.threads import busy
from gasla.graph.graph import Graph
from gasla.program.program import VertexProgram
from gasla.program.schedule import Schedule, of_depth


class Pages:
    """What the loops of three passes are passed, on arrays that serve the next call, too; only the scores are its own.

    Those are a search, sums over paths along its levels, and sums back, added to the scores.
    """

    def __init__(self, runs: list[Again], team: int, scores: np.ndarray) -> None:
        self.runs, self.team = runs, team
        search, count, depend = runs
        searching, fields = search.settled({"level": 0})
        self.levels, self.depth = fields["level"], 0
        counting, fields = count.settled({"paths": 1})
        self.paths = fields["paths"]
        depending, _ = depend.settled({"paths": self.paths, "score": scores}, in_place=("score",))
        found = levels.unsorted(of_depth(self.levels, 1, 0), count.ids, self.team)
        self.starts = found[1]
        for run, arguments in ((count, counting), (depend, depending)):
            arguments[run.levels : run.levels + 3] = found
        self.search, self.count = search.page(searching), count.page(counting)
        self.depend = depend.page(depending, [depend.place_of("score")])

    def make_room(self, depth: int) -> None:
        """An array for where each of so many levels starts."""
        self.depth, self.starts = depth, levels.starts(depth, self.team)
        for run, page in zip(self.runs[1:], (self.count, self.depend)):
            page.put(run.levels + 1, self.starts)


class Passes:
    """The passes of one call, from source to source."""

    def __init__(
        self, spare: Spare, workspace: Workspace, runs: list[Again], scores: np.ndarray, overflow: Callable[..., bool]
    ) -> None:
        self.scores, self._overflow = scores, overflow
        self._spare, self._workspace, self._runs = spare, workspace, runs
        self._team = max(run.team for run in runs)

    def take(self, source: int) -> bool | Schedule:
        """Add what the paths from one source come to.

        False if others have the threads or the workspace; the order in which to count if plain numbers don't hold them.
        Then the scores are as before.
        """
        taken = self._spare.pop("workspace", None)
        try:
            if taken is not self._workspace or (self._team > 1 and not threads.hold(self)):
                if taken is not None:
                    self._spare["workspace"] = taken
                return False
            pages = taken.pages
            if pages is None or pages.runs != self._runs:
                pages = taken.pages = Pages(self._runs, self._team, self.scores)
            search, count, depend = self._runs
            depth = search.to_end(pages.search.call, source) - 1  # the last one reaches nothing
            if depth != pages.depth:
                pages.make_room(depth)
            if is_plain := not self._overflow(depth):
                pages.starts[0, 0] = 1
                count.to_end(pages.count.call, source, depth=depth)
                if is_plain := not self._overflow(depth, pages.paths):
                    pages.depend.renew(0, self.scores)
                    depend.to_end(pages.depend.call, None, depth=depth, is_sorted=True, is_backward=True)
            self._spare["workspace"] = taken
            return is_plain or of_depth(pages.levels.copy(), 1, depth)
        finally:
            if "owner" in busy and busy["owner"] is self:
                del busy["owner"]


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
    number = threads.num_threads()
    if len(runs) < 3 or any(run.is_unusual or run.number != number for run in runs):
        return None
    return Passes(spare, workspace, runs, np.zeros(graph.n) if scores is None else scores, overflow)
