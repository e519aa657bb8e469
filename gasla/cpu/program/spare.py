"""What a run leaves with the graph for the next: scratch arrays of any content, and all that it has settled."""

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gasla.cpu.program.again import Left
from gasla.graph.graph import Graph
from gasla.program.binding import Room
from gasla.program.program import VertexProgram
from gasla.program.schedule import Schedule
from gasla.progress import is_watched

if TYPE_CHECKING:
    from gasla.cpu.program.engine import Bound
    from gasla.cpu.program.passes import Pages

LONG = 1 << 22  # vertices and edges; where there are more, an open bar counts iterations, by the long way


def kind_of_run(program: VertexProgram, deterministic: bool, is_scheduled: bool) -> Hashable:
    """What a workspace knows the runs of a kind by."""
    return type(program), deterministic, is_scheduled


class Workspace:
    """Scratch arrays of any content, as fresh pages cost as much as a search: one run's at a time.

    With them goes what runs of each kind are bound to, and what the passes of betweenness are.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.bound: dict[Hashable, Bound] = {}
        self.pages: Pages | None = None

    def fitting(self, shapes: Mapping[str, Room]) -> dict[str, np.ndarray]:
        """Arrays of these shapes and types."""
        arrays = {name: _fitting(self.arrays.get(name), *shape) for name, shape in shapes.items()}
        if any(self.arrays.get(name, array) is not array for name, array in arrays.items()):
            self.bound.clear()  # nobody keeps the one before
            self.pages = None
        self.arrays |= arrays
        return arrays


class Spare(dict[str, Workspace]):
    """The workspace of a graph between runs, as "workspace": who pops it has it."""

    def again(
        self,
        program: VertexProgram,
        source: int | None,
        schedule: Schedule | None,
        limit: int,
        given: Mapping[str, Any],
    ) -> Left | None:
        """Run a program, if it has run on the graph before and nothing is unusual; else None, and nothing has happened.

        `given` are start values of fields: at the source, where it is a vertex, or arrays as such a field is left.
        """
        workspace = self.pop("workspace", None)
        if workspace is None:
            return None
        bound = workspace.bound.get((type(program), False, schedule is not None))  # `kind_of_run`, but for the call
        left = None
        if bound is not None and not bound.again.is_unusual and not (bound.size > LONG and is_watched()):
            left = bound.again(source, schedule, limit, given)
        self["workspace"] = workspace
        return left


def spare(graph: Graph) -> Spare:
    """That of a graph."""
    return graph.kept("spare", lambda _: Spare())


def _fitting(spare: np.ndarray | None, shape: tuple[int, ...], kind: np.dtype) -> np.ndarray:
    """An array of any content: a spare one, if it is of that shape and type."""
    return spare if spare is not None and spare.shape == shape and spare.dtype == kind else np.empty(shape, kind)
