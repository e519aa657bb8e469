"""Betweenness from source after source: its passes start again on the arrays of the last, in few lines of Python.

On small graphs as much time goes into what is around the kernels as into them, and here next to nothing changes between
one source and the next.
"""

from collections.abc import Callable

import numpy as np

from gasla.binding import NO_LIMIT
from gasla.cpu import levels, threads
from gasla.cpu.again import Again
from gasla.cpu.spare import Spare, Workspace
from gasla.graph import Graph
from gasla.program import VertexProgram
from gasla.schedule import Schedule, of_depth


class Passes:
    """A search, sums over paths along its levels, and sums back, added to the scores, which stay where they are."""

    def __init__(
        self,
        graph: Graph,
        workspace: Workspace,
        kinds: tuple[Again, Again, Again],
        scores: np.ndarray,
        overflow: Callable[..., bool],
    ) -> None:
        self.scores, self._overflow = scores, overflow
        self._spare: Spare = graph.known("spare")
        self._workspace, self._ids = workspace, graph.id_dtype
        self._search, self._count, self._depend = kinds
        self._team = max(kind.team for kind in kinds)
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
            depth = self._search.from_vertex(self._searching, source, NO_LIMIT) - 1  # the last one reaches nothing
            if depth != self._depth:
                self._make_room(depth)
            if is_plain := not self._overflow(depth):
                self._starts[0, 0] = 1
                self._count.along(self._counting, source, depth, False, False, NO_LIMIT)
                if is_plain := not self._overflow(depth, self._paths):
                    self._depend.along(self._depending, None, depth, True, True, NO_LIMIT)
            self._spare["workspace"] = taken
            return is_plain or of_depth(self._levels, 1, depth)
        finally:
            threads.release(self)

    def _make_room(self, depth: int) -> None:
        """Arrays for schedules of so many levels."""
        found = levels.unsorted(of_depth(self._levels, 1, depth), self._ids, self._team)
        self._depth, self._starts = depth, found[1]
        for kind, arguments in ((self._count, self._counting), (self._depend, self._depending)):
            arguments[kind.levels : kind.levels + 3] = found


def passes(
    graph: Graph,
    search: VertexProgram,
    count: VertexProgram,
    depend: VertexProgram,
    scores: np.ndarray,
    overflow: Callable[..., bool],
) -> Passes | None:
    """What takes source after source, if these programs have run on the graph before, and nothing is unusual.

    `overflow(depth)` says whether paths of so many levels surely exceed plain numbers, and `overflow(depth, paths)`
    whether these have.
    """
    spare: Spare | None = graph.known("spare")
    workspace = None if spare is None else spare.get("workspace")
    if workspace is None:
        return None
    crew, runs = threads.num_threads(), ((search, False), (count, True), (depend, True))
    bound = [workspace.bound.get((type(program), False, scheduled, crew)) for program, scheduled in runs]
    kinds = [one.again for one in bound if one is not None and not one.again.is_unusual]
    return Passes(graph, workspace, (kinds[0], kinds[1], kinds[2]), scores, overflow) if len(kinds) == 3 else None
