"""Record the kernels that CuPy itself compiles when gasla's functions run on a GPU, so that they can be shipped.

python tools/record_cupy_kernels.py     # on a machine with a GPU, a few minutes; commit the file that it writes
"""

import json
import lzma
import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

os.environ["CUPY_CACHE_DIR"] = tempfile.mkdtemp()  # empty, so that CuPy compiles every kernel

import cupy
from cupy.cuda import compiler

from benchmarks.first_calls import CALLS
from gasla import cubins
from gasla.gpu.runtime import cupys
from gasla.graph.graph import Graph
from gasla.shipping import calls


def graphs() -> Iterator[tuple[Graph, bool]]:
    """Small graphs of all kinds, and two that need more than one block; each with whether to try options on it."""
    yield from ((kind.graph(), kind.options) for kind in calls.small())
    rng, n = np.random.default_rng(1), 1 << 13
    for src, dst in (rng.integers(n, size=(2, 8 * n)), (n * rng.random((2, 8 * n)) ** 3).astype(int)):
        yield Graph.from_edges(src, dst, 1.0 + (src + dst) % 7, n=n), True


def main() -> None:
    """Run all functions, and write the kernels that CuPy compiled."""
    warnings.simplefilter("ignore")
    cupys.grouped = lambda *request: None  # each kernel is asked for
    compiles = getattr(compiler, cubins._CUPY_FUNCTION)
    found: dict[tuple[str, tuple[str, ...]], None] = {}

    def notes(
        source: str, options: Any = (), arch: Any = None, filename: str = "", names: Any = None, *rest: Any
    ) -> Any:
        if not names:
            found.setdefault((source, tuple(option for option in options if not option.startswith(("-I", "--pch")))))
        return compiles(source, options, arch, filename, names, *rest)

    setattr(compiler, cubins._CUPY_FUNCTION, notes)
    for graph, options in graphs():
        on_gpu = graph.to("gpu")
        for name in dict.fromkeys([*CALLS, *calls.names()]):  # kernels are grouped in this order: used by most first
            for call in calls.calls(name, on_gpu, options):
                with suppress(ValueError, TypeError):
                    call()
    text = json.dumps({"cupy": cupy.__version__, "kernels": [*found]})
    Path(cupys.__file__).with_name(cupys.FILE).write_bytes(lzma.compress(text.encode()))


if __name__ == "__main__":
    main()
