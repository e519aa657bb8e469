"""Makes a Python module of generated source code. Its functions are compiled when they are first called."""

import hashlib
import linecache
import sys
from types import ModuleType

from gasla.names import title


def load(source: str, tag: str) -> ModuleType:
    """Make a Python module of a source text, and return it. Its name consists of `tag` and a hash of the text.

    A module that was made of the same text before is returned again. It has no file, but tracebacks show its source
    lines.
    """
    name = f"gasla_{title(tag)}_{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    file = f"<{name}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    exec(compile(source, file, "exec"), module.__dict__)
    # register the module only now that it is complete, because another thread may look it up at once
    return sys.modules.setdefault(name, module)
