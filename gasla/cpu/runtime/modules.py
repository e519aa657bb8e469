"""Generated source becomes a Python module, and what Numba compiles is stored for later processes.

Numba's own cache trusts its files: a damaged one fails every later call, or runs as it is; two processes that compile
for different types at once may mix up whose code is whose; and what is in another file isn't seen to change. So here
each function has a file for each signature, whose name tells all that the code is made of, and `gasla.cache` says
whether it is whole. For that, private API of Numba is used; tried with Numba 0.66.0 and 0.68.1.
"""

import functools
import hashlib
import inspect
import linecache
import marshal
import os
import pickle
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.util import MAGIC_NUMBER, find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
from numba.core.caching import (
    _Cache,  # what a function asks for compiled code: its own cache can't be changed otherwise
)
from numba.core.compiler import Compiler, CompileResult  # how it compiles; what it returns, and restores
from numba.core.serialize import dumps  # pickles these parts: functions of C and intrinsics among them

from gasla import cache
from gasla.compiler.function import Compiled
from gasla.names import title

# Options of `numba.njit` that its manual does not name. `_nrt=False`: such functions only use arrays that they are
# given, so Numba need not count references to them. It would otherwise do so wherever an array is handed to a helper,
# at 4 ns a time in the hottest loops. C never calls them, and Python few: the wrappers that Numba would make for that
# take a tenth of the time to compile.
LEAN: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
OPTIONS: dict[str, Any] = {**LEAN, "no_cfunc_wrapper": True}  # of what Python calls
INNER: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True}  # of what compiled code alone calls

OWN = os.environ.get("GASLA_COMPILER", "own") == "own"
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


def _is_generated(file: str) -> bool:
    return file.startswith("<gasla_")


class Plain(Compiler):
    """Numba's own way to compile, whatever is being compiled around it."""

    packs = 0

    def compile_extra(self, function: Any) -> Any:
        """Compile; Numba lets one thread at a time do so, and asks its configuration when LLVM's turn has come."""
        before, numba.config.SLP_VECTORIZE = numba.config.SLP_VECTORIZE, self.packs
        try:
            return super().compile_extra(function)
        finally:
            numba.config.SLP_VECTORIZE = before


class Packing(Plain):
    """Has LLVM look for scalars side by side that make one vector of the processor, which Numba leaves out."""

    packs = 1


def compiled(packs: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator like `numba.njit(cache=True)`, with the cache described above; `packs` as in `Packing`."""

    def decorate(function: Callable[..., Any]) -> Any:
        if OWN:
            marks = {"reassociating"} if options.get("fastmath") else set()
            marks |= {"inline"} if options.get("inline") else set()
            return Compiled(function, frozenset(marks), packs)
        if options.get("inline") or inspect.isgeneratorfunction(function):
            return numba.njit(**options)(function)
        dispatcher = numba.njit(**options, pipeline_class=Packing if packs else Plain)(function)
        file = function.__code__.co_filename
        if _is_generated(file) or Path(file).is_file():  # else there is no telling whether it has changed
            dispatcher._cache = _CodeCache(function)  # there is no public place for a cache
        return dispatcher

    return decorate


def is_compiled(kernel: Any, arguments: Sequence[Any]) -> bool:
    """Whether there is code of a function for such arguments: here, or in the cache."""
    if OWN:
        found: bool = kernel.is_compiled(arguments)
        return found
    signature = tuple(map(numba.typeof, arguments))
    if signature in kernel.overloads:
        return True
    return cache.load(kernel._cache._name(signature, kernel.targetctx)) is not None


class _CodeCache(_Cache):
    """The compiled code of one function, as Numba asks for it."""

    cache_path = None

    def __init__(self, function: Any) -> None:
        self._function = function

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The code for a signature, or None: then Numba compiles it, and has it saved."""
        target.refresh()
        data = cache.load(self._name(signature, target))
        if data is None:
            return None
        try:
            return CompileResult._rebuild(target, *pickle.loads(data))
        except Exception:  # whole, and yet of no use here: some library has changed in place
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        if not (result.library.has_dynamic_globals or result.lifted):  # what holds addresses is of no use to others
            cache.store(self._name(signature, result.target_context), dumps(result._reduce()))

    def _name(self, signature: Any, target: Any) -> str:
        """The name of a file, which tells the function, its types, the processor, and what compiles it for that."""
        function = self._function
        where = function.__qualname__, function.__code__.co_firstlineno
        made = signature, target.codegen().magic_tuple(), numba.__version__, sys.version, _made_of(function.__module__)
        digest = hashlib.sha256(repr((where, made)).encode()).hexdigest()[:32]
        return f"{_FOLDER}/{title(function.__qualname__)}-{digest}.nbc"

    def enable(self) -> None:
        """Numba's cache may be turned off and on; this one is always on."""

    disable = flush = enable


@functools.cache
def _made_of(module: str) -> str:
    """A hash of a module's text and of all of gasla that it imports: a function's code also holds what it calls."""
    seen, waiting = {module: _text(module)}, [module]
    while waiting:
        for name in _imports(seen[waiting.pop()]):
            if name not in seen:
                seen[name] = _text(name)
                waiting.append(name)
    return hashlib.sha256(repr(sorted(seen.items())).encode()).hexdigest()


@functools.cache
def _text(module: str) -> str:
    """A module's text; none of what is no module, or has no file."""
    if lines := linecache.getlines(_file_of(module)):
        return "".join(lines)
    spec = find_spec(module)
    return "" if spec is None or spec.origin is None else Path(spec.origin).read_text("utf-8")


_IMPORT = re.compile(r"^ *from (gasla[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)


def _imports(text: str) -> Iterator[str]:
    """The modules of this package that a text names in its imports."""
    for package, names in _IMPORT.findall(text):
        yield package
        yield from (m for name in re.findall(r"\w+", names) if (m := f"{package}.{name}") in sys.modules)
