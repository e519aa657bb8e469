"""Options of a distributed run."""

from typing import NamedTuple

import numpy as np

from gasla.arrays import Device


class Options(NamedTuple):
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
