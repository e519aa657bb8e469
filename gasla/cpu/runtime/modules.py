"""Generated source becomes a Python module, whose functions are compiled when they are first called."""

import hashlib
import linecache
import marshal
import sys
from importlib.util import MAGIC_NUMBER
from types import ModuleType
from typing import Any

from gasla import cache
from gasla.names import title

_FOLDER = "__pycache__"  # of the cache: what Python calls a folder of compiled code


def load(source: str, tag: str) -> ModuleType:
    """The module of a source; its name is `tag` and a hash of its text. It has no file, but a traceback shows it."""
    name = f"gasla_{title(tag)}_{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    file = _file_of(name)
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    exec(_code(source, file, name), module.__dict__)
    return sys.modules.setdefault(name, module)  # once it is whole: another thread may look for it


def _code(source: str, file: str, name: str) -> Any:
    """Python's code of a module: to find it takes a tenth of the time to make it."""
    key = f"{_FOLDER}/{name}-{MAGIC_NUMBER.hex()}.code"
    data = cache.load(key)
    if data is not None:
        return marshal.loads(data)
    code = compile(source, file, "exec")
    cache.store(key, marshal.dumps(code))
    return code


def _file_of(module: str) -> str:
    return f"<{module}>"
