"""GPU machine code that a wheel ships: a zip file of cubins for kernels of gasla and CuPy, each stored under a key.

CuPy compiles each of its own kernels at the first call, which takes 0.1 s for each, and gasla uses dozens of them. So
`lend` wraps the function by which CuPy calls NVRTC. If there is shipped code for the source, CuPy gets that code, and
caches it as if NVRTC had compiled it. If there is none, kernels that gasla's calls are known to use are compiled in
groups, and any other source with precompiled headers, because reading CuPy's headers takes longer than compiling a
kernel. CuPy has no public hook for this. If another version of CuPy lacks the wrapped function, CuPy compiles as usual.
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
    """Return the open zip file of shipped code, or None if there is none, as in a checkout. The file stays open."""
    with suppress(OSError, BadZipFile):
        return ZipFile(cache.SHIPPED / FILE)
    return None


def are_there() -> bool:
    """Return whether this installation comes with machine code for GPUs."""
    return _archive() is not None


def has(key: str) -> bool:
    """Return whether there is shipped code with this key."""
    archive = _archive()
    return archive is not None and key in archive.NameToInfo


def load(key: str) -> bytes | None:
    """Return the shipped code with this key, or None if there is none or the file is damaged."""
    if has(key):
        # a damaged file is ignored, and NVRTC compiles the code
        with suppress(OSError, BadZipFile, LZMAError, EOFError):
            return _archive().read(key)  # type: ignore[union-attr]
    return None


class Writer:
    """Writes the zip file of cubins into a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._archive = ZipFile(folder / FILE, "w", ZIP_LZMA)

    def add(self, key: str, code: bytes) -> None:
        """Add machine code to the file under its key."""
        self._archive.writestr(key, code)

    def close(self) -> None:
        """Complete and close the file."""
        self._archive.close()


def digest(*parts: str) -> str:
    """Return a hash of the strings from which code was made, such as its source and compiler options."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def key_of_cupys(source: str, options: tuple[str, ...], architecture: str) -> str:
    """Return the key under which a wheel ships the machine code of one of CuPy's own kernels.

    The key depends on CuPy's version in place of its headers, and not on include paths.
    """
    import cupy

    relevant_options = [option for option in options if not option.startswith("-I")]
    return digest("CuPy", cupy.__version__, source, *relevant_options, architecture)


made_by: list[Callable[[str, tuple[str, ...], str], bytes | None]] = []
"""Functions that are asked for machine code if a wheel ships none, before CuPy compiles a source on its own.

Each is called with the source, compiler options and the GPU architecture, and returns code or None. The GPU engine
appends the function that compiles kernels in groups.
"""


def lend(cupy: ModuleType) -> None:
    """Make CuPy look for shipped machine code, from now on, before it compiles one of its own kernels."""
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
    """Return compiler options with which NVRTC stores parsed headers for the next kernel, or () if NVRTC is older than
    12.8.

    The parsed headers are in a folder of this process only, because NVRTC gives their file the same name in every
    process.
    """
    from cupy.cuda import nvrtc

    with suppress(OSError):
        if nvrtc.getVersion() >= (12, 8):
            return "--pch", f"--pch-dir={_folder_of_headers()}"
    return ()


def _folder_of_headers() -> str:
    """Return the folder for this process's precompiled headers. Make the folder if it does not exist.

    The system may have deleted the folder, as it deletes old folders in /tmp. NVRTC would refuse to compile without the
    folder.
    """
    process = os.getpid()
    folder = _folders.get(process)
    if folder is None or not os.path.isdir(folder):
        folder = _folders[process] = mkdtemp(prefix="gasla-headers-")
        atexit.register(_remove, folder, process)
    return folder


def _remove(folder: str, process: int) -> None:
    # a forked process runs this function, too, when it ends, but must not delete the folder of its parent process
    if os.getpid() == process:
        rmtree(folder, ignore_errors=True)


_folders: dict[int, str] = {}  # for each process id, the folder of that process's precompiled headers
