"""Generated source becomes a Python module: one file per content, so that Numba's cache works across processes."""

import hashlib
import importlib.util
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType

from gasla.cache import cache_directory


def load(source: str, tag: str) -> ModuleType:
    """Import `source` as a module whose name is `tag` and a hash of its text.

    The file stays, so that a person can read it, a traceback shows it, and the next process finds it compiled.
    """
    digest = hashlib.sha256((_salt() + source).encode()).hexdigest()[:16]
    name = f"gasla_{tag}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    path = _write(name, source)
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return sys.modules.setdefault(name, module)  # once it is whole: another thread may look for it


def _salt() -> str:
    """Compiled code also holds the functions of the engine itself: a change in any of them is a new module."""
    global _engine
    if _engine is None:
        files = sorted(Path(__file__).parent.glob("*.py"))
        _engine = hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()
    return _engine


_engine: str | None = None


def _write(name: str, source: str) -> Path:
    """Put the module's file in the cache, or in a temporary folder where the cache can't be written."""
    try:
        return _place(cache_directory(), name, source)
    except OSError:
        return _place(Path(tempfile.mkdtemp(prefix="gasla-")), name, source)


def _place(folder: Path, name: str, source: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.py"
    if not path.exists():  # a rename is atomic: another process sees the whole file or none
        handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
        with os.fdopen(handle, "w") as stream:
            stream.write(source)
        os.replace(temporary, path)
    return path
