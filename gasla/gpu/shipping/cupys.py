"""The kernels of its own that CuPy compiles for gasla, as `tools/record_cupy_kernels.py` has found them on a GPU."""

from __future__ import annotations

import json
import lzma
from importlib import resources
from typing import NamedTuple

from gasla.gpu.runtime.compile import compile_text

FILE = "cupy_kernels.json.xz"


class Kernel(NamedTuple):
    """What CuPy asks NVRTC for: the text, and the options but for the folders of headers."""

    source: str
    options: tuple[str, ...]


def kernels() -> list[Kernel]:
    """All of them; none if they are another CuPy's."""
    import cupy

    found = json.loads(lzma.decompress((resources.files("gasla.gpu.shipping") / FILE).read_bytes()))
    if found["cupy"] != cupy.__version__:
        return []
    return [Kernel(source, tuple(options)) for source, options in found["kernels"]]


def compiled(kernel: Kernel, architecture: str) -> bytes:
    """Machine code of a kernel, by CuPy's headers; those of CUDA have to be there (nvidia-cuda-runtime-cu12)."""
    from cupy._core import core

    folders = [option for option in core.assemble_cupy_compiler_options(()) if option.startswith("-I")]
    options = (*kernel.options, *folders, "--device-as-default-execution-space")
    return compile_text(kernel.source, architecture, options, {}, "kernel.cu")
