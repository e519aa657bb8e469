"""Machine code for GPUs that comes with gasla, in a zip file, by a key of what it was made of: gasla's own, and CuPy's.

CuPy compiles each of its kernels when it is first called, 0.1 s, one by one, and gasla calls dozens. So what CuPy asks
NVRTC for is looked up here first, by its text; CuPy stores the answer as if NVRTC had given it. There is no public way:
where CuPy's function is not as expected, or is of another version, CuPy compiles as ever.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import lru_cache, wraps
from lzma import LZMAError
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import ZIP_LZMA, BadZipFile, ZipFile

from gasla import cache

FILE = "cubins.zip"
_CUPYS = "_compile_using_nvrtc_no_warning"


@lru_cache(1)
def _archive() -> ZipFile | None:
    """The file, open for good; None where there is none, as in a checkout."""
    with suppress(OSError, BadZipFile):
        return ZipFile(cache.SHIPPED / FILE)
    return None


def are_there() -> bool:
    """Whether any code came with gasla."""
    return _archive() is not None


def has(key: str) -> bool:
    """Whether there is code of this key."""
    archive = _archive()
    return archive is not None and key in archive.NameToInfo


def load(key: str) -> bytes | None:
    """The code of this key, if there is any and it is whole."""
    if has(key):
        with suppress(OSError, BadZipFile, LZMAError, EOFError):  # it counts as absent: NVRTC compiles
            return _archive().read(key)  # type: ignore[union-attr]
    return None


class Writer:
    """Writes such a file into a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._archive = ZipFile(folder / FILE, "w", ZIP_LZMA)

    def add(self, key: str, code: bytes) -> None:
        """Put in the code of a key."""
        self._archive.writestr(key, code)

    def close(self) -> None:
        """Finish the file."""
        self._archive.close()


def digest(*parts: str) -> str:
    """The key of what code was made of."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def key_of_cupys(source: str, options: tuple[str, ...], architecture: str) -> str:
    """The key of a kernel of the CuPy at hand, whose headers it includes: wherever these are."""
    import cupy

    kept = [option for option in options if not option.startswith("-I")]
    return digest("CuPy", cupy.__version__, source, *kept, architecture)


def lend(cupy: ModuleType) -> None:
    """Have CuPy find its kernels here, from now on."""
    compiler = cupy.cuda.compiler
    compiles = getattr(compiler, _CUPYS, None)
    if compiles is None or not are_there():
        return

    @wraps(compiles)
    def finds(
        source: str, options: Any = (), arch: Any = None, filename: Any = "", name_expressions: Any = None, *others: Any
    ) -> Any:
        code = None if name_expressions else load(key_of_cupys(source, tuple(options), f"sm_{arch}"))
        return compiles(source, options, arch, filename, name_expressions, *others) if code is None else (code, None)

    setattr(compiler, _CUPYS, finds)
