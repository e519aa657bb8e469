"""No benchmark: what all need. asv imports this file once, and forks a process for each case."""

from contextlib import suppress

import gasla
from gasla import datasets

gasla.connected_components(datasets.grid(2))  # whatever else a first call imports and makes ready
with suppress(ImportError):
    import cupy  # noqa: F401  # CUDA itself must not start before the fork
