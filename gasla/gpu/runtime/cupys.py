"""CuPy's own kernels that gasla's functions use, recorded on a GPU by `tools/record_cupy_kernels.py`.

A wheel can contain their machine code. Otherwise they are compiled in groups. A kernel alone takes 0.06 s to compile.
All but 0.01 s of this goes to headers and to the start of the compiler, so a group takes little longer than one kernel.
"""

from __future__ import annotations

import functools
import json
import lzma
import re
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from importlib import resources
from typing import NamedTuple

from gasla import cache, cubins
from gasla.gpu.runtime.nvrtc import compile_text, in_thread

FILE = "cupy_kernels.json.xz"
TOGETHER = 10  # largest number of kernels in a group
AHEAD = 2  # number of further groups whose compilation begins together with that of a group


class Kernel(NamedTuple):
    """A kernel as CuPy asks NVRTC to compile it: the source, and the options other than include paths."""

    source: str
    options: tuple[str, ...]


def kernels() -> list[Kernel]:
    """Return all recorded kernels of CuPy, or an empty list if another version of CuPy is installed."""
    import cupy

    version, recorded_kernels = recorded()
    return recorded_kernels if version == cupy.__version__ else []


@functools.cache
def recorded() -> tuple[str, list[Kernel]]:
    """Return the recorded version of CuPy, and its kernels in the order in which gasla's functions first used them."""
    record = json.loads(lzma.decompress((resources.files("gasla.gpu.runtime") / FILE).read_bytes()))
    return record["cupy"], [Kernel(source, tuple(options)) for source, options in record["kernels"]]


def compiled(kernel: Kernel, architecture: str) -> bytes:
    """Compile one of CuPy's kernels with CuPy's headers, and return the machine code.

    CUDA's headers must be installed (nvidia-cuda-runtime-cu12).
    """
    from cupy._core import core

    folders = tuple(option for option in core.assemble_cupy_compiler_options(()) if option.startswith("-I"))
    options = *kernel.options, *folders, "--device-as-default-execution-space"
    return compile_text(kernel.source, architecture, options, {}, "kernel.cu")


# The following functions compile several kernels, a group, as one source.


def grouped(source: str, options: tuple[str, ...], architecture: str) -> bytes | None:
    """Return machine code that contains one of CuPy's kernels and the other kernels of its group.

    `source` and `options` are those with which CuPy compiles the kernel. Return None if the kernel must be compiled
    alone, because it was not recorded or its group can't be compiled. Threads begin to compile the groups that follow,
    because functions tend to use kernels in the recorded order.
    """
    place = _group_numbers().get(Kernel(source, tuple(option for option in options if not option.startswith("-I"))))
    if place is None:
        return None
    future, *_ = [begin(place + ahead, architecture) for ahead in range(1 + AHEAD)]
    try:
        return None if future is None else future.result()
    # If another version of CuPy is installed, its headers or functions may not fit the recorded kernels.
    except Exception:
        return None


def begin(place: int, architecture: str) -> Future[bytes] | None:
    """Begin to compile a group of CuPy's kernels in a thread, unless its compilation has begun before.

    `place` is the number of the group. Return the thread's future result, or None if no thread can be started.
    """
    place %= len(groups())
    with _lock:
        code = _begun.get((place, architecture)) or in_thread(_code_of, place, architecture)
        if code is not None:
            _begun[place, architecture] = code
        return code


_begun: dict[tuple[int, str], Future[bytes]] = {}
_lock = threading.Lock()


def _code_of(place: int, architecture: str) -> bytes:
    import cupy
    from cupy.cuda import nvrtc

    group = groups()[place]
    joined_kernel = Kernel(together(group), group[0].options)
    version = ".".join(map(str, nvrtc.getVersion()))
    name = (
        f"{cubins.digest(cupy.__version__, joined_kernel.source, *joined_kernel.options, architecture)}-{version}.cubin"
    )
    code = cache.load(name)
    if code is None:
        code = compiled(joined_kernel, architecture)
        cache.store(name, code)
    return code


@functools.cache
def groups() -> list[list[Kernel]]:
    """Return the recorded kernels of CuPy in groups, each of which is compiled as one source.

    A group's kernels have the same options and headers and different names.
    """
    result: list[dict[str, Kernel]] = []
    for kernel in recorded()[1]:
        name = re.search(r'^\s*extern "C" __global__ void (cupy_\w+)', kernel.source, re.MULTILINE)
        if name is None or "<cub/" in kernel.source:
            continue
        fits = (g for g in result if len(g) < TOGETHER and name[1] not in g and _first(g).options == kernel.options
                and _headers(_first(g)) == _headers(kernel))  # fmt: skip
        group = next(fits, None)
        if group is None:
            result.append(group := {})
        group[name[1]] = kernel
    return [[*group.values()] for group in result]


def _first(group: dict[str, Kernel]) -> Kernel:
    return next(iter(group.values()))


@functools.cache
def _group_numbers() -> dict[Kernel, int]:
    return {kernel: place for place, group in enumerate(groups()) for kernel in group}


def _headers(kernel: Kernel) -> list[str]:
    return re.findall(r"^#include.*$", kernel.source, re.MULTILINE)


def together(group: Sequence[Kernel]) -> str:
    """Return one CUDA source with all kernels of a group, where each has a namespace of its own for its types.

    Examples
    --------
    >>> together([Kernel("int f;", ()), Kernel("long g;", ())]).split()
    ['namespace', 'kernel_0', '{', 'int', 'f;', '}', 'namespace', 'kernel_1', '{', 'long', 'g;', '}']
    """
    parts = _headers(group[0])
    for i, kernel in enumerate(group):
        lines = [line for line in kernel.source.splitlines() if line and not line.startswith("#include")]
        parts += [f"namespace kernel_{i} {{", *lines, "}"]
        parts += [f"#undef {name}" for name in re.findall(r"^#define\s+(\w+)", kernel.source, re.MULTILINE)]
    return "\n".join(parts)
