"""CuPy's own kernels that gasla's calls compile, recorded on a GPU by `tools/record_cupy_kernels.py`.

A wheel can ship their code. Without it, they are compiled in groups: what CuPy compiles takes 0.06 s for each kernel
alone, of which all but 0.01 s goes to headers and to starting the compiler.
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
TOGETHER = 10  # kernels of a group
AHEAD = 2  # groups that are begun together with one


class Kernel(NamedTuple):
    """A request of CuPy to NVRTC: the source, and the options except for include paths."""

    source: str
    options: tuple[str, ...]


def kernels() -> list[Kernel]:
    """Return all recorded kernels. If they were recorded with another version of CuPy, there are none."""
    import cupy

    version, found = recorded()
    return found if version == cupy.__version__ else []


@functools.cache
def recorded() -> tuple[str, list[Kernel]]:
    """Return the version of CuPy, and its kernels in the order in which gasla's calls used them first."""
    found = json.loads(lzma.decompress((resources.files("gasla.gpu.runtime") / FILE).read_bytes()))
    return found["cupy"], [Kernel(source, tuple(options)) for source, options in found["kernels"]]


def compiled(kernel: Kernel, architecture: str) -> bytes:
    """Compile a kernel with CuPy's headers. CUDA's headers must be installed (nvidia-cuda-runtime-cu12)."""
    from cupy._core import core

    folders = tuple(option for option in core.assemble_cupy_compiler_options(()) if option.startswith("-I"))
    options = *kernel.options, *folders, "--device-as-default-execution-space"
    return compile_text(kernel.source, architecture, options, {}, "kernel.cu")


# --- several at a time -----------------------------------------------------------------------------------------------


def grouped(source: str, options: tuple[str, ...], architecture: str) -> bytes | None:
    """Return code that has a kernel and other kernels of its group, or None if the kernel has to be compiled alone.

    The next groups are begun in threads, as calls tend to use kernels in the order of the record.
    """
    place = _places().get(Kernel(source, tuple(option for option in options if not option.startswith("-I"))))
    if place is None:
        return None
    wanted, *_ = [begin(place + ahead, architecture) for ahead in range(1 + AHEAD)]
    try:
        return None if wanted is None else wanted.result()
    except Exception:  # another CuPy's headers or functions don't fit this version
        return None


def begin(place: int, architecture: str) -> Future[bytes] | None:
    """Begin to compile a group of kernels in a thread, unless it has been begun. Return None if there is no thread."""
    place %= len(groups())
    with _lock:
        begun = _begun.get((place, architecture)) or in_thread(_code_of, place, architecture)
        if begun is not None:
            _begun[place, architecture] = begun
        return begun


_begun: dict[tuple[int, str], Future[bytes]] = {}
_lock = threading.Lock()


def _code_of(place: int, architecture: str) -> bytes:
    import cupy
    from cupy.cuda import nvrtc

    group = groups()[place]
    whole = Kernel(together(group), group[0].options)
    version = ".".join(map(str, nvrtc.getVersion()))
    name = f"{cubins.digest(cupy.__version__, whole.source, *whole.options, architecture)}-{version}.cubin"
    code = cache.load(name)
    if code is None:
        code = compiled(whole, architecture)
        cache.store(name, code)
    return code


@functools.cache
def groups() -> list[list[Kernel]]:
    """Return the kernels that can be compiled together, in groups with the same headers and different names."""
    found: list[dict[str, Kernel]] = []
    for kernel in recorded()[1]:
        name = re.search(r'^\s*extern "C" __global__ void (cupy_\w+)', kernel.source, re.MULTILINE)
        if name is None or "<cub/" in kernel.source:
            continue
        fits = (g for g in found if len(g) < TOGETHER and name[1] not in g and _first(g).options == kernel.options
                and _headers(_first(g)) == _headers(kernel))  # fmt: skip
        group = next(fits, None)
        if group is None:
            found.append(group := {})
        group[name[1]] = kernel
    return [[*group.values()] for group in found]


def _first(group: dict[str, Kernel]) -> Kernel:
    return next(iter(group.values()))


@functools.cache
def _places() -> dict[Kernel, int]:
    return {kernel: place for place, group in enumerate(groups()) for kernel in group}


def _headers(kernel: Kernel) -> list[str]:
    return re.findall(r"^#include.*$", kernel.source, re.MULTILINE)


def together(group: Sequence[Kernel]) -> str:
    """Return one source that has all kernels of a group, each in a namespace of its own for its types.

    Examples
    --------
    >>> together([Kernel("int f;", ()), Kernel("long g;", ())]).split()
    ['namespace', 'kernel_0', '{', 'int', 'f;', '}', 'namespace', 'kernel_1', '{', 'long', 'g;', '}']
    """
    parts = _headers(group[0])
    for i, kernel in enumerate(group):
        own = [line for line in kernel.source.splitlines() if line and not line.startswith("#include")]
        parts += [f"namespace kernel_{i} {{", *own, "}"]
        parts += [f"#undef {name}" for name in re.findall(r"^#define\s+(\w+)", kernel.source, re.MULTILINE)]
    return "\n".join(parts)
