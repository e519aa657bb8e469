"""Kernels without a GPU: the source that is made for one, launched over NumPy's arrays by one emulated block."""

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from emulated_loop import BLOCK, FLAGS, includes

C_TYPES: dict[Any, Any] = {
    np.uint64: ctypes.c_uint64,
    np.uint32: ctypes.c_uint32,
    np.float64: ctypes.c_double,
    np.bool_: ctypes.c_bool,
}


def library(source: str, functions: tuple[str, ...], folder: Path, threads: int = BLOCK) -> ctypes.CDLL:
    """The kernels of a source, compiled by g++ into an empty folder, for a block of so many threads."""
    folder.mkdir(parents=True, exist_ok=True)
    launched = "".join(
        f'extern "C" void launch_{f}(void** arguments) {{ warp::launch({f}, arguments); }}\n' for f in functions
    )
    (folder / "kernels.cpp").write_text(f'#include "launch.hpp"\n{source}\n{launched}')
    built = str(folder / "kernels.so")
    subprocess.run(
        ["g++", *FLAGS, f"-DBLOCK={threads}", *includes(), str(folder / "kernels.cpp"), "-o", built], check=True
    )
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
