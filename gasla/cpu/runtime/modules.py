"""Makes a Python module of generated source; its functions are compiled when they are first called."""

import hashlib
import linecache
import marshal
import sys
from importlib.util import MAGIC_NUMBER
from types import ModuleType
from typing import Any

from gasla import cache
from gasla.names import title

_FOLDER = "__pycache__"  # folder in the cache, with Python's name for folders of compiled code


def load(source: str, tag: str) -> ModuleType:
    """The module of a source, named by `tag` and a hash of the text. It has no file, but tracebacks show its lines."""
    name = f"gasla_{title(tag)}_{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    file = _file_of(name)
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    exec(_code(source, file, name), module.__dict__)
    return sys.modules.setdefault(name, module)  # registered only when it is complete: another thread may look for it


def _code(source: str, file: str, name: str) -> Any:
    """The compiled code of a module, from the cache if possible: that takes a tenth of the time."""
    key = f"{_FOLDER}/{name}-{MAGIC_NUMBER.hex()}.code"
    data = cache.load(key)
    if data is not None:
        return marshal.loads(data)
    code = compile(source, file, "exec")
    cache.store(key, marshal.dumps(code))
    return code


def _file_of(module: str) -> str:
    return f"<{module}>"
