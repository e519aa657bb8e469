"""Compiles the kernels of gasla's functions into a folder, for all architectures that a wheel supports, without a GPU.

python -m gasla.gpu.shipping.build FOLDER [--seconds S]
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from gasla.cubins import Writer, key_of_cupys
from gasla.gpu.runtime import compile, cupys
from gasla.gpu.shipping.recorder import SHARED, Noted, merged, recording
from gasla.shipping import calls


def build(folder: Path, seconds: float | None = None) -> None:
    """Compile the kernels to ship into a folder, for at most `seconds` seconds. Kernels for small graphs come first.

    Kernels that are left when the time is over are compiled on the user's machine when a function needs them.
    """
    until = time.monotonic() + (float("inf") if seconds is None else seconds)
    writer = Writer(folder)

    def compile_in_time(one: tuple[str, Callable[[], bytes]]) -> bytes | None:
        return None if time.monotonic() > until else one[1]()

    to_compile = code_to_ship()
    # NVRTC doesn't hold Python's global lock, so threads compile at the same time
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for (key, _), code in zip(to_compile, threads.map(compile_in_time, to_compile), strict=True):
            if code is not None:
                writer.add(key, code)
    writer.close()


def code_to_ship() -> list[tuple[str, Callable[[], bytes]]]:
    """Return the machine code to ship in a wheel: for each kernel, its key, and a function that compiles the kernel.

    CuPy's kernels, which all functions use, come before gasla's own.
    """
    kernels: list[tuple[str, Callable[[], bytes]]] = [
        (key_of_cupys(kernel.source, kernel.options, architecture), partial(cupys.compiled, kernel, architecture))
        for kernel, architecture in itertools.product(cupys.kernels(), SHARED)
    ]
    for of_architectures in zip(*sources_to_ship().values(), strict=True):
        for architecture, source in zip(SHARED, of_architectures, strict=True):
            compiles = partial(compile.compile_source, source, architecture)
            kernels.append((compile.key(source, architecture), compiles))
    return kernels


def sources_to_ship() -> dict[str, list[str]]:
    """Return the CUDA sources that gasla's public functions need, for each architecture that a wheel supports.

    They are recorded while the functions run on the CPU, in several processes.
    """
    # Each process calls the CPU engine with one thread, because there are as many processes as cores.
    os.environ.setdefault("GASLA_NUM_THREADS", "1")
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as processes:
        return merged(processes.map(sources_for, calls.names()))


def sources_for(name: str) -> Noted:
    """Return the CUDA sources that one of gasla's public functions needs on a GPU, for example graphs.

    `name` is the function's name. The function is called on the CPU with small graphs and a network of flights, while
    its sources are recorded.
    """
    with recording() as recorder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scores that have not converged cause warnings
        for kind in (*calls.small(), *calls.large()[:2]):
            for call in calls.calls(name, kind.graph(), kind.options):
                with suppress(ValueError, TypeError):  # Some functions refuse some graphs, such as those with cycles.
                    call()
        return recorder.noted


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float)
    options = parser.parse_args()
    build(options.folder, options.seconds)
