"""GPU machine code that a wheel ships: a zip file of cubins for gasla's kernels and CuPy's, each under a key.

CuPy compiles each of its own kernels at the first call, one by one, 0.1 s each, and gasla calls dozens. `lend`
therefore wraps the function by which CuPy calls NVRTC: source that has shipped code gets that code, and CuPy caches it
as if NVRTC had made it. Without it, kernels that gasla's calls are known to use are compiled in groups, and other
source with precompiled headers: reading CuPy's takes longer than compiling the kernel. CuPy has no public hook for
this. If its function is missing, as in another version, CuPy compiles as usual.
"""

from __future__ import annotations

import atexit
import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, wraps
from lzma import LZMAError
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from types import ModuleType
from typing import Any
from zipfile import ZIP_LZMA, BadZipFile, ZipFile

from gasla import cache

FILE = "cubins.zip"
_CUPY_FUNCTION = "_compile_using_nvrtc_no_warning"


@lru_cache(1)
def _archive() -> ZipFile | None:
    """Return the open zip file, which stays open, or None if there is none, as in a checkout."""
    with suppress(OSError, BadZipFile):
        return ZipFile(cache.SHIPPED / FILE)
    return None


def are_there() -> bool:
    """Return whether this installation ships machine code."""
    return _archive() is not None


def has(key: str) -> bool:
    """Return whether code with this key is shipped."""
    archive = _archive()
    return archive is not None and key in archive.NameToInfo


def load(key: str) -> bytes | None:
    """Return the code with this key, or None if there is none, or if the file is damaged."""
    if has(key):
        with suppress(OSError, BadZipFile, LZMAError, EOFError):  # treated as absent: NVRTC compiles
            return _archive().read(key)  # type: ignore[union-attr]
    return None


class Writer:
    """Writes the zip file of cubins into a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._archive = ZipFile(folder / FILE, "w", ZIP_LZMA)

    def add(self, key: str, code: bytes) -> None:
        """Add code under its key."""
        self._archive.writestr(key, code)

    def close(self) -> None:
        """Finish the file."""
        self._archive.close()


def digest(*parts: str) -> str:
    """Hash the strings that code was made from."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def key_of_cupys(source: str, options: tuple[str, ...], architecture: str) -> str:
    """Return the key of one of CuPy's kernels.

    CuPy's version stands for its headers, and include paths are left out.
    """
    import cupy

    kept = [option for option in options if not option.startswith("-I")]
    return digest("CuPy", cupy.__version__, source, *kept, architecture)


made_by: list[Callable[[str, tuple[str, ...], str], bytes | None]] = []
"""Functions that may have code for a source, options and an architecture: the GPU engine's groups of kernels."""


def lend(cupy: ModuleType) -> None:
    """Make CuPy look for its kernels here first, from now on."""
    compiler = cupy.cuda.compiler
    compile_with_nvrtc = getattr(compiler, _CUPY_FUNCTION, None)
    if compile_with_nvrtc is None:
        return

    @wraps(compile_with_nvrtc)
    def load_or_compile(
        source: str, options: Any = (), arch: Any = None, filename: Any = "", name_expressions: Any = None, *others: Any
    ) -> Any:
        if not name_expressions:
            code = load(key_of_cupys(source, tuple(options), f"sm_{arch}"))
            for make in made_by if code is None else ():
                code = make(source, tuple(options), f"sm_{arch}")
            if code is not None:
                return code, None
            options = *options, *_precompiling()
        return compile_with_nvrtc(source, options, arch, filename, name_expressions, *others)

    setattr(compiler, _CUPY_FUNCTION, load_or_compile)


def _precompiling() -> tuple[str, ...]:
    """Return options by which NVRTC keeps the headers that it has read for the next kernel, if it knows these options.

    They are kept in a folder of this process, as their file has the same name in every process.
    """
    from cupy.cuda import nvrtc

    with suppress(OSError):
        if nvrtc.getVersion() >= (12, 8):
            return "--pch", f"--pch-dir={_folder_of_headers()}"
    return ()


def _folder_of_headers() -> str:
    """Return a folder of this process. If the last one is gone, as after long in /tmp, it is another.

    Without the folder NVRTC compiles nothing.
    """
    process = os.getpid()
    folder = _folders.get(process)
    if folder is None or not os.path.isdir(folder):
        folder = _folders[process] = mkdtemp(prefix="gasla-headers-")
        atexit.register(_remove, folder, process)
    return folder


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # a fork that ends leaves its parent's alone
        rmtree(folder, ignore_errors=True)


_folders: dict[int, str] = {}  # by processes
