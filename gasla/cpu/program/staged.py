"""A program prepared on the CPU for a hand-written loop, in which Python calls the stages one by one."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from gasla.cpu.program.generate import STAGES
from gasla.cpu.program.prepared import Prepared
from gasla.cpu.program.workspace import Workspace
from gasla.graph.graph import Graph
from gasla.program.frontier import EdgeFrontier, Frontier
from gasla.program.program import VertexProgram


class Staged(Prepared):
    """A program prepared on a graph for a hand-written loop, in which Python calls the stages of an iteration.

    Arrays keep values, such as those gathered, from one stage to the next. `gasla.gpu.program.staged.Staged` does the
    same on a GPU.
    """

    _has_begun = False

    def __init__(self, program: VertexProgram, graph: Graph, fields: Mapping[str, Any]) -> None:
        super().__init__(program, graph, staged=True)
        workspace: Workspace = {}
        self._use(workspace)
        if self.plan.keyed is not None:
            workspace["table_keys", self._shapes["table_keys"]].fill(-1)
        self.iteration = 0
        self._start(fields, None)

    @property
    def arrays(self) -> dict[str, Any]:
        """The arrays that the kernels of all stages take as arguments, by name."""
        return dict(zip(self._places, self._arguments, strict=True))

    def gather(self, receivers: np.ndarray, active: Frontier, iteration: int) -> None:
        """Reduce the values of the edges of each receiving vertex.

        The results stay in arrays until `apply` reads them.
        """
        if self.plan.keeps_active:
            self._get("bits")[:] = 0
            for parity in (0, 1):
                self.set_active(active, parity)
        self.over("gather", receivers, iteration)

    def apply(self, receivers: np.ndarray, iteration: int) -> np.ndarray:
        """Apply the gathered values to the receiving vertices. Return a mask of the vertices that are active next."""
        self._get("activated")[:] = False
        self.over("apply", receivers, iteration)
        activated: np.ndarray = self._get("activated").copy()
        return activated

    def scatter(self, vertices: np.ndarray, iteration: int) -> None:
        """Run the program's `scatter`, which writes to fields of edges, on all out-edges of the vertices `vertices`."""
        self.over("scatter", vertices, iteration)

    def mask(self, vertices: np.ndarray, iteration: int) -> np.ndarray:
        """Return a bool for each of the given vertices: whether the program's `mask` lets it receive."""
        self.over("mask", vertices, iteration)
        admitted: np.ndarray = self._get("activated")[vertices]
        return admitted

    def edge_mask(self, vertices: np.ndarray, edges: EdgeFrontier, places: np.ndarray, iteration: int) -> np.ndarray:
        """Return a bool for each out-edge of the given vertices: whether the program's `edge_mask` admits the edge.

        `places` has the positions of these edges in the adjacency lists.
        """
        self.over("edge_mask", vertices, iteration)
        admitted: np.ndarray = self._get("admitted")[places]
        return admitted

    def over(self, stage: str, vertices: np.ndarray, iteration: int) -> None:
        """Run the kernel of a stage of an iteration, such as "apply_list", on `vertices`, on all threads."""
        self._put("receivers", np.ascontiguousarray(vertices, self.ids))
        self._get("counts")[:] = 0
        self._put("receiver_count", np.int64(len(vertices)))
        self._put("self_iteration", np.int64(iteration))
        self.call(STAGES[stage][1])
