"""CuPy's own kernels that gasla's calls compile, recorded on a GPU by `tools/record_cupy_kernels.py`."""

from __future__ import annotations

import json
import lzma
from importlib import resources
from typing import NamedTuple

from gasla.gpu.runtime.compile import compile_text

FILE = "cupy_kernels.json.xz"


class Kernel(NamedTuple):
    """A request of CuPy to NVRTC: the source, and the options except for include paths."""

    source: str
    options: tuple[str, ...]


def kernels() -> list[Kernel]:
    """Return all recorded kernels. If they were recorded with another version of CuPy, there are none."""
    import cupy

    shipped = json.loads(lzma.decompress((resources.files("gasla.gpu.shipping") / FILE).read_bytes()))
    if shipped["cupy"] != cupy.__version__:
        return []
    return [Kernel(source, tuple(options)) for source, options in shipped["kernels"]]


def compiled(kernel: Kernel, architecture: str) -> bytes:
    """Compile a kernel with CuPy's headers. CUDA's headers must be installed (nvidia-cuda-runtime-cu12)."""
    from cupy._core import core

    folders = [option for option in core.assemble_cupy_compiler_options(()) if option.startswith("-I")]
    options = (*kernel.options, *folders, "--device-as-default-execution-space")
    return compile_text(kernel.source, architecture, options, {}, "kernel.cu")
