"""Not a benchmark: common imports. asv imports this file once, and then forks a process for each case."""

from contextlib import suppress

import gasla
from gasla import datasets

gasla.connected_components(datasets.grid(2))  # lazy imports and initializations of a first call
with suppress(ImportError):
    import cupy  # noqa: F401  # imported only, because CUDA must not be initialized before the fork
