"""A run on one part of a graph, others of which run elsewhere: the active vertices are given from outside.

All that depends on it is set as the loop would have left it: a list, and no bitmap.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from gasla.cpu.kernels import queues
from gasla.cpu.program import launch
from gasla.cpu.program.launch import ACTIVE, EDGE_SUM
from gasla.program.binding import Binding
from gasla.program.frontier import Frontier


class Joining(Binding):
    """What such a run offers beyond others."""

    iteration: int
    ended: bool
    _words: Any
    _places: Mapping[str, int]

    @abstractmethod
    def _put(self, name: str, value: Any) -> None:
        """Pass this to the kernel."""

    @abstractmethod
    def _get(self, name: str) -> Any:
        """What is passed to the kernel by this name."""

    @abstractmethod
    def _activate(self, frontier: Frontier) -> None:
        """Have the loop begin with these vertices."""

    @abstractmethod
    def set_active(self, frontier: Frontier, parity: int = 0) -> None:
        """Set the active vertices, for a gather over those alone."""

    def go_on(self, active: np.ndarray, parameters: Mapping[str, Any]) -> None:
        """Have just these vertices be active, and parameters be others, in the next iteration; see that there is one.

        See `gasla.engines.Part`. They are listed for the first thread; others take from its list.
        """
        for name, value in parameters.items():
            self._put(f"self_{name}", self.traced.parameter_types[name].type(value))
        words, plan = self._words, self.plan
        self.ended = False
        if words[launch.FILLED] == 0:
            words[launch.SOURCE] = -1
            self._activate(Frontier(self.graph.n, active))
            if plan.everyone:  # there is an iteration even if no vertex is active
                words[ACTIVE] = self.graph.n
            return
        words[ACTIVE], words[launch.FORM] = self.graph.n if plan.everyone else len(active), queues.LIST
        if "queues" in self._places:
            last = self._get("counts")[(self.iteration + 2) % 3]
            last[queues.FIRST + queues.NEXT :: queues.STRIDE] = 0
            last[queues.FIRST + queues.NEXT] = len(active)
            self._get("queues")[self.iteration & 1, 0, : len(active)] = active
        if "sp" in self._places:
            offsets = self._get("sp")
            words[EDGE_SUM] = int((offsets[active + 1] - offsets[active]).sum())
        if plan.starts_active:
            self.set_active(Frontier(self.graph.n, active), self.iteration & 1)
        if plan.sends_news:
            self._get("news")[active] = (1 << len(plan.parts)) - 1
        if plan.prioritised:  # all are near, as at a run's start
            lows, bounds = self._get("lows"), self._get("bounds")
            lows[:] = np.inf
            lows[:, 1::8] = bounds[:] = -np.inf
