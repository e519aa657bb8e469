"""Kernels without a GPU: the source that is made for one over NumPy's arrays by one emulated block."""

import ctypes
import re
import subprocess
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np

from tests.helpers.emulated_loop import BLOCK, FLAGS, KERNELS, includes

C_TYPES: dict[Any, Any] = {
    np.uint64: ctypes.c_uint64,
    np.uint32: ctypes.c_uint32,
    np.float64: ctypes.c_double,
    np.bool_: ctypes.c_bool,
}


def library(
    source: str, functions: tuple[str, ...], folder: Path, threads: int = BLOCK, **constants: int
) -> ctypes.CDLL:
    """The kernels of a source, compiled by g++ into an empty folder, for a block of so many threads.

    Constants of the kernels may be others, so that small graphs go all ways.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kernels = copytree(KERNELS, folder / "of_gpu") if constants else KERNELS
    for path in kernels.rglob("*.cuh") if constants else ():
        text = path.read_text()
        for name, value in constants.items():
            text = re.sub(rf"(constexpr u32 {name} = )[^;]*;", rf"\g<1>{value};", text)
        path.write_text(text)
    launched = "".join(
        f'extern "C" void launch_{f}(void** arguments) {{ warp::launch({f}, arguments); }}\n' for f in functions
    )
    (folder / "kernels.cpp").write_text(f'#include "launch.hpp"\n{source}\n{launched}')
    built = str(folder / "kernels.so")
    options = [*FLAGS, f"-DBLOCK={threads}", *includes(kernels)]
    subprocess.run(["g++", *options, str(folder / "kernels.cpp"), "-o", built], check=True)
    return ctypes.CDLL(built)


class EmulatedKernel:
    """Stands for a `Kernel`."""

    def __init__(self, compiled: ctypes.CDLL, function: str) -> None:
        self.launch, self.launches = getattr(compiled, f"launch_{function}"), 0

    def plain(self, blocks: int, *arguments: Any) -> None:
        """One block does it all."""
        assert 0 < blocks < 2**31
        self.launches += 1
        held = [_argument(a) for a in arguments]
        places = [a.ctypes.data if isinstance(a, np.ndarray) else ctypes.addressof(a) for a in held]
        self.launch((ctypes.c_void_p * len(places))(*places))


def _argument(given: Any) -> Any:
    """What is passed, in memory: a pointer to an array, a number, or a struct, which is an array of no dimension."""
    if not isinstance(given, np.ndarray):
        return C_TYPES[type(given)](given)
    if given.ndim == 0:
        return given
    assert given.flags.c_contiguous
    return ctypes.c_void_p(given.ctypes.data)
