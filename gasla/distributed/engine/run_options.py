"""Options of a distributed run."""

from dataclasses import dataclass

import numpy as np

from gasla.arrays import Device


@dataclass(frozen=True)
class Options:
    """Options of a run."""

    way: int
    deterministic: bool
    compiled: bool
    id_type: np.dtype
    has_card: bool = False

    @property
    def device(self) -> Device:
        """Where the engine and the fields are."""
        return "gpu" if self.has_card else "cpu"
