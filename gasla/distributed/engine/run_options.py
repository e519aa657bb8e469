"""The options of a distributed run that all ranks need."""

from typing import NamedTuple

import numpy as np

from gasla.arrays import Device


class Options(NamedTuple):
    """The options of a run of a vertex program over ranks, which all ranks need.

    They are also part of the key under which ranks cache the prepared program.
    """

    way: int
    deterministic: bool
    compiled: bool
    id_type: np.dtype
    has_card: bool = False

    @property
    def device(self) -> Device:
        """The device on which a rank's engine runs and its fields are stored."""
        return "gpu" if self.has_card else "cpu"
