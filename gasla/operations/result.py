"""What a run leaves behind."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gasla.engines import Running
from gasla.program.frontier import Frontier

__all__ = ["ConvergenceWarning", "Result"]


class ConvergenceWarning(UserWarning):
    """A program stopped at its limit of iterations before its own test was met."""


@dataclass(eq=False)
class Result:
    """What a run left behind. Fields of the program are attributes: `result.distance`.

    Of a run that a GPU is still at (`wait=False`) the fields can be used at once, as CuPy's arrays are: whatever the
    stream does next finds them finished. To ask for one of the others waits for the run's end.

    Attributes
    ----------
    state : dict of str to ndarray
        Every vertex field, and every edge field that the program owns (in the order of the input's edges).
    iterations : int
        How many iterations ran.
    converged : bool
        Whether the program ended by itself: nothing active, or its `stop()` held.
    edges : int
        Edges looked at, over all iterations.
    active : Frontier
        The vertices that were active at the end; of a program in which everyone gathers from all, everyone.
    aggregates : dict
        The last value of every aggregate.
    trace : structured ndarray or None
        On request, an entry per iteration: active vertices before it, edges looked at, "push" or "pull", and the
        reason for that.
    """

    state: Mapping[str, Any]
    iterations: int
    converged: bool
    edges: int
    active: Frontier = field(repr=False)
    aggregates: Mapping[str, Any]
    trace: np.ndarray | None = field(default=None, repr=False)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        state = own.get("state", {})
        if name in state:
            return state[name]
        if name in own.get("aggregates", {}):
            return own["aggregates"][name]
        if "_running" in own and not name.startswith("_"):
            _wait_for(own)
            return getattr(self, name)
        raise AttributeError(f"the result has no {name!r}; its fields: {', '.join(state)}")


def left_by(running: Running, trace: np.ndarray | None = None) -> Result:
    """What a run has left behind by now."""
    return Result(*running.found(), trace)


def under_way(running: Running) -> Result:
    """What a run will have left behind; it is closed when that is known, or nobody wants to know any more."""
    result = Result.__new__(Result)
    result.__dict__.update(running.known(), state=running.state(), _running=running)
    return result


def _wait_for(own: dict[str, Any]) -> None:
    """Complete the attributes of a result that is under way."""
    running: Running = own.pop("_running")
    try:
        running.finish()
        found = left_by(running)
    finally:
        running.close()
    own.update(vars(found) | own)
