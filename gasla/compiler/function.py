"""Python functions that are compiled when they are first called, for each combination of argument types.

Names in a compiled function refer to its module. The compiled code is stored in a cache, under a hash of all that it
depends on: the text of the function's module and of the modules of gasla that it imports, the argument types, the
target machine, and the compiler.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
import linecache
import operator
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from logging import DEBUG
from pathlib import Path
from typing import Any

import numpy as np

from gasla import cache
from gasla.compiler.emit import NAMES, Function, Known, function_of
from gasla.compiler.kernel_types import BOOL, F64, I64, NONE, NUMBERS, Type, array_of, scalar_type, tuple_of
from gasla.compiler.objects import Loaded, common, compile_ir, host, llvm_version
from gasla.compiler.unit import Unit
from gasla.log import LOG, say, speaking_later
from gasla.once import once

# The type of the C function by which Python calls compiled code. ctypes releases the GIL during such a call.
ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)
_compiling = threading.Lock()
# Functions that are called with a compiled function and argument types, when the process first needs code for these
# types.
on_new_kernel: list[Callable[[Compiled, tuple[Any, ...]], None]] = []


class _ArrayInterface(ctypes.Structure):
    """The C struct `PyArrayInterface`, by which NumPy describes an array.

    Reading an array's address from it is five times as fast as by `array.ctypes`.
    """

    _fields_ = (
        *((name, ctypes.c_int) for name in ("two", "nd", "kind", "itemsize", "flags")),
        *((name, ctypes.c_void_p) for name in ("shape", "strides", "data", "descr")),
    )


_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400  # bits in the `flags` of NumPy's arrays
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
SECONDS = 1.0  # When compilations have taken this many seconds in all since the last message, a message is printed.


class Kernel:
    """The loaded machine code of a function of the kernel language for given argument types.

    Arguments are passed in a buffer of words of 8 bytes. `places` has the index of each argument's first word, and
    `size` is the number of words for all arguments.
    """

    def __init__(self, takes: tuple[Type | Known, ...], returns: Type, codes: Sequence[bytes]) -> None:
        self.takes, self.returns = takes, returns
        self.address = Loaded(*codes).address("entry")
        self.enter = ENTRY(self.address)
        # Whether the function's first argument is an int64, which is then passed in a register and not in the buffer.
        self.is_numbered = takes[:1] == (I64,)
        # For each argument that is an array: its dtype and its number of dimensions. For all other arguments: None.
        self.arrays: list[tuple[np.dtype[Any], int] | None] = []
        self.places, self.size, self.numbers = list[int](), 0, range(len(takes))
        for k, kind in enumerate(takes):
            is_array = isinstance(kind, Type) and kind.kind == "a"
            self.arrays.append((kind.of.dtype, kind.extent) if is_array else None)  # type: ignore[union-attr]
            self.places.append(self.size)
            self.size += 0 if isinstance(kind, Known) or (k == 0 and self.is_numbered) else len(kind.leaves)


class Compiled:
    """A compiled function. Other compiled functions can call it, and Python can call it with NumPy's arrays and
    numbers.

    Parameters
    ----------
    function
        The Python function. Only its text and the names of its module are used.
    marks
        A set of "inline", for a function that LLVM inlines; "apart", for one that is compiled into an object file of
        its own, which all its callers share; and "reassociating", for one that may add floats in any order.
    packs
        Whether LLVM runs its SLP vectorizer.
    plan
        The plan (an object with decisions) for which a template is compiled. Its `fingerprint` is a hash of all that
        the code depends on, or None.
    """

    def __init__(
        self, function: Callable[..., Any], marks: frozenset[str] = frozenset(), packs: bool = False, plan: Any = None
    ) -> None:
        functools.update_wrapper(self, function)
        self.__name__ = function.__name__
        self.plain, self.marks, self.packs, self.plan = function, marks, packs, plan
        self._kernels: dict[tuple[Any, ...], Kernel] = {}
        # number of compilations of this function in this process, without code that the cache on disk had
        self.made = 0
        self._calls: list[Call] = []

    @functools.cached_property
    def kernel_function(self) -> Function:
        """The function as the compiler reads it: its syntax tree, and the objects that its names stand for."""
        return function_of(self.plain, self.marks)

    def kernel(self, takes: tuple[Type | Known, ...]) -> Kernel:
        """Return the loaded machine code of the function for the argument types `takes`.

        The code comes from this process, from the cache on disk, or from the compiler, whichever has it first.
        """
        compiled = self._kernels.get(takes)
        if compiled is None:
            with speaking_later(), _compiling:
                # Another thread may have compiled the function while this one waited for the lock.
                compiled = self._kernels.get(takes)
                if compiled is None:
                    target = self._target
                    stored = _load_code(self._key(takes, target))
                    # Stored code may have another format, or can't be loaded here. Then the function is compiled again.
                    with suppress(ValueError, RuntimeError):
                        compiled = None if stored is None else _load_kernel(takes, stored)
                    compiled = compiled or _load_kernel(takes, self._compile(takes, target, stored))
                    for follow in on_new_kernel:
                        follow(self, takes)
                    self._kernels[takes] = compiled
        return compiled

    def is_compiled(self, arguments: Sequence[Any]) -> bool:
        """Return whether the code for arguments of these types exists, in this process or in the cache on disk."""
        takes = kinds_of(arguments)
        return takes in self._kernels or _load_code(self._key(takes, self._target)) is not None

    @property
    def identity(self) -> str | None:
        """A hash of all that the code depends on, except the argument types, the target machine and the compiler.

        It is None if the function's plan has no fingerprint (a hash of the plan). Then the code can't be stored in the
        cache, where the hash is part of the code's name.
        """
        if self.plan is not None:
            return self.plan.fingerprint and f"{self.plan.fingerprint} {self.__name__}"
        text = "".join(linecache.getlines(self.plain.__code__.co_filename))
        return hashlib.sha256(repr((repr(self), made_of(text))).encode()).hexdigest()[:32]

    def compile_for(self, takes: tuple[Type | Known, ...], target: tuple[str, str, str]) -> None:
        """Compile the function for the argument types `takes` and another machine, and store the code.

        The code is stored in the cache on disk. Functions that are compiled for exactly the processor that they run on
        are skipped.
        """
        if not self._is_native and _load_code(self._key(takes, target)) is None:
            self._compile(takes, target)

    def _key(self, takes: tuple[Type | Known, ...], target: tuple[str, str, str]) -> str | None:
        """Return the name under which the cache on disk has the code for argument types and a target machine.

        The argument types are `takes`. The result is None if the code can't be stored. For a template, the file of this
        name only has the name of another file, which has the code. So templates with the same code share one file.
        """
        if self.identity is None:
            return None
        key_parts = self.identity, [str(t) for t in takes], target, _compiler_hash()
        return _cache_name("kernels" if self.plan is None else "programs", key_parts)

    @property
    def _target(self) -> tuple[str, str, str]:
        """The target for which the function is compiled: LLVM's triple, processor and features.

        It is exactly this machine's processor if the module sets `NATIVE`. Otherwise it is a processor whose code most
        machines can run, if this machine can run it.
        """
        return host() if self._is_native else common()

    @property
    def _is_native(self) -> bool:
        """Whether the function's code may use all features of the processor that compiles it.

        Then other machines may be unable to run it.
        """
        return bool(getattr(self.plan, "is_native", False) or self.plain.__globals__.get("NATIVE"))

    def __repr__(self) -> str:
        where = self.plain.__qualname__, self.plain.__code__.co_firstlineno, self.packs, sorted(self.marks)
        return repr((*where, self._closure_values()))

    def _closure_values(self) -> list[Any]:
        """Return the values of the variables of enclosing functions that the Python function uses (its closure)."""
        return [cell.cell_contents for cell in self.plain.__closure__ or ()]

    def _compile(
        self, takes: tuple[Type | Known, ...], target: tuple[str, str, str], useless: bytes | None = None
    ) -> bytes:
        """Compile the function for some argument types and a target machine. Store the code, and return it.

        The argument types are `takes`, and the code is stored in the cache on disk. Templates with the same LLVM IR
        share code. So if the cache has code for this IR, it is returned. But `useless` is not returned: code from the
        cache that could not be loaded on this machine.
        """
        start_time, key, unit = time.perf_counter(), self._key(takes, target), Unit(target[0], self.plan)
        instance = unit.export(self.kernel_function, takes)
        if self.plan is not None:
            alias, key = key, _cache_name("kernels", (unit.ir(), self.packs, target, llvm_version()[0]))
            if alias is not None:
                cache.store(alias, key.encode())
            if (stored := cache.load(key)) is not None and stored != useless:
                return stored
        assert key is not None
        self.made += 1
        codes = [
            compile_ir(unit.ir(), self.packs, target),
            *(_separate_object(text, target) for text in unit.parts.values()),
        ]
        head = " ".join([str(instance.returns), *(str(len(code)) for code in codes)])
        data = head.encode() + b"\n" + b"".join(codes)
        cache.store(key, data)
        _log_compilation(self.__name__, time.perf_counter() - start_time)
        return data

    def source(self, takes: tuple[Type | Known, ...]) -> list[str]:
        """Return the Python source of a template as it is compiled for the argument types `takes`, for users.

        The list has a text for each function that is compiled, after those that it calls. Constants are evaluated, and
        inlined functions are written out.
        """
        unit = Unit(host()[0], self.plan)
        unit.shown = []
        with speaking_later(), _compiling:
            unit.export(self.kernel_function, takes)
        return unit.shown

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function with these arguments. It is compiled first if there is no code for their types."""
        call = self.lend()
        result = call.set(arguments)()
        self.take_back(call)
        return result

    def lend(self) -> Call:
        """Return a `Call` (a buffer of arguments) for the use of one thread, which gives it back by `take_back`."""
        try:
            return self._calls.pop()
        except IndexError:
            return Call(self)

    def take_back(self, call: Call) -> None:
        """Keep a `Call` (a buffer of arguments) for the next caller of `lend`, without references to its arguments."""
        call.given = [_NOTHING] * len(call.given)
        self._calls.append(call)

    @once(most=4096)
    def of(self, plan: Any) -> Compiled:
        """Return the function, a template, as compiled for a plan.

        A plan is an object with decisions that are known while compiling, so only the code that it selects is compiled.
        """
        return Compiled(self.plain, packs=getattr(plan, "has_short_vectors", False), plan=plan)

    def __reduce__(self) -> str:
        return str(self.plain.__qualname__)


def _after_fork() -> None:
    global _compiling
    # If a thread of the parent process held the lock during the fork, no thread of the child process would ever release
    # it. So the child gets a new lock.
    _compiling = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


_waits: list[tuple[str, float]] = []  # names and seconds of compilations since the last message
_compilation_count = [0]


def compilations() -> int:
    """Return how many kernels this process has compiled because the cache did not have them."""
    return _compilation_count[0]


def _log_compilation(name: str, seconds: float) -> None:
    """Log that a function was compiled, with its name and the seconds that it took.

    On a terminal, also print a message whenever another second was spent compiling, as the program would seem to hang.
    """
    say(LOG.debug, "compiled %s in %.3f s", name, seconds)
    _compilation_count[0] += 1
    _waits.append((name, seconds))
    total = sum(seconds for _, seconds in _waits)
    if total < SECONDS:
        return
    names = ", ".join(dict.fromkeys(name for name, _ in _waits))
    message = f"gasla compiled {names} in {total:.1f} s; later calls and processes find it stored"
    _waits.clear()
    # Print no message if the log shows the compilation already, or if the user wants no messages.
    if os.environ.get("GASLA_QUIET") or LOG.isEnabledFor(DEBUG):
        return
    if sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules):
        say(print, message, file=sys.stderr)


def _cache_name(folder: str, contents: Any) -> str:
    """Return the name of a file in the cache: a folder, and a hash of all that the file depends on."""
    return f"{folder}/{hashlib.sha256(repr(contents).encode()).hexdigest()[:32]}"


def _load_code(key: str | None) -> bytes | None:
    """Return the compiled code that the cache on disk has under the name `key`, or None if it has none.

    For a template, the file of that name only holds the name of another file, whose content is returned.
    """
    data = cache.load(key) if key is not None else None
    return cache.load(data.decode()) if data is not None and data.startswith(b"kernels/") else data


def parts_of(data: bytes) -> tuple[str, list[bytes]]:
    """Split the data of a stored kernel into the name of the type that the kernel returns, and its object files.

    Raise a ValueError if the data has another format.
    """
    head, _, code = data.partition(b"\n")
    name, *sizes = head.decode("latin1").split()
    end_offsets = [0, *itertools.accumulate(map(int, sizes))]
    if not code or end_offsets[-1] != len(code):
        raise ValueError(f"a stored kernel has {len(code)} bytes of code; expected {end_offsets[-1]}")
    return name, [code[a:b] for a, b in itertools.pairwise(end_offsets)]


def _load_kernel(takes: tuple[Type | Known, ...], data: bytes) -> Kernel:
    """Load a kernel that the cache has stored into memory, and return it.

    `takes` are the types of its arguments, and `data` is the content of the stored file. Raise a ValueError if the data
    has another format, and a RuntimeError if the code can't be loaded on this machine.
    """
    name, codes = parts_of(data)
    returns = NONE if name == "None" else NAMES.get(name)
    if not isinstance(returns, Type):
        raise ValueError(f"a stored kernel returns {name!r}; expected a type")
    return Kernel(takes, returns, codes)


def _separate_object(text: str, target: tuple[str, str, str]) -> bytes:
    """Return the object file of a function marked "apart", which all programs that call the function share.

    It comes from the cache, or is compiled now from the LLVM IR `text`. It is stored for one version of LLVM, as the
    calling convention may differ between versions.
    """
    key = _cache_name("parts", (text, target, llvm_version()[0]))
    code = cache.load(key)
    if code is None:
        code = compile_ir(text, target=target)
        cache.store(key, code)
    return code


def compiled(function: Callable[..., Any]) -> Any:
    """Return an object that stands for the decorated function, and compiles it for given argument types when it is
    called.
    """
    return Compiled(function)


def apart(function: Callable[..., Any]) -> Any:
    """Return the decorated function as one that is compiled into an object file of its own, which all its callers
    share.
    """
    return Compiled(function, frozenset({"apart"}))


# takes the place of an argument whose words in the buffer are not valid, so that they are written for the next call
_NOTHING = object()


class Call:
    """A buffer with the arguments of a compiled function, by which the function is called.

    If the call is made again, only the arguments that have changed are written to the buffer.
    """

    def __init__(self, function: Compiled) -> None:
        self.function = function
        self.given: list[Any] = []
        self.kernel: Kernel
        self.address = 0  # address of `words`, the buffer with the arguments
        # the call of the function that starts threads, each of which then makes this call
        self.launcher: Call | None = None

    def set(self, arguments: Sequence[Any]) -> Call:
        """Write those of the call's arguments to the buffer that differ from the arguments of the last call.

        References to the arguments are kept, so that arrays stay in memory until the call. Return this object.
        """
        if len(self.given) != len(arguments):
            self._allocate(arguments)
        last_arguments, kernel = self.given, self.kernel
        changed: list[int] = []
        arrays: list[tuple[int, np.ndarray]] = []
        for k in itertools.compress(kernel.numbers, map(operator.is_not, arguments, last_arguments)):
            value, array, place, kind = arguments[k], kernel.arrays[k], kernel.places[k], kernel.takes[k]
            if array is not None:
                if not isinstance(value, np.ndarray) or value.dtype != array[0] or value.ndim != array[1]:
                    return self._allocate(arguments).set(arguments)
                last_arguments[k] = (
                    # until all words of the argument are written, as Ctrl-C or an error may interrupt this in between
                    _NOTHING
                )
                changed.append(k)
                arrays.append((place, value))
                continue
            if (_kinds.get(type(value)) or kind_of(value)) != kind:
                return self._allocate(arguments).set(arguments)
            last_arguments[k] = _NOTHING
            if k == 0 and kernel.is_numbered:
                self.number = int(value)
                if not -(1 << 63) <= self.number < 1 << 63:
                    raise OverflowError(f"{self.function.__name__} is given {value}; expected an int64")
            elif kind is I64:
                self.ints[place] = int(value)
            elif kind is F64:
                self.floats[place] = value
            elif not isinstance(kind, Known):
                self._write_value(place, value, kind)
            last_arguments[k] = value
        if changed:
            self._write_arrays(arrays)
            for k in changed:
                last_arguments[k] = arguments[k]
        return self

    def _allocate(self, arguments: Sequence[Any]) -> Call:
        """Find the compiled code for the types of the call's arguments, and allocate a buffer for the arguments.

        Return this object.
        """
        self.given = []
        self.kernel = self.function.kernel(kinds_of(arguments))
        self.words = np.zeros(self.kernel.size + 1, np.int64)
        self.ints, self.unsigned = self.words.data, self.words.view(np.uint64).data
        self.floats = self.words.view(np.float64).data
        # `__array_interface__` needs one call of Python for the address, and `ctypes` needs two
        self.address, self.number = self.words.__array_interface__["data"][0], 0
        self.given = [_NOTHING] * len(arguments)
        return self

    def keep(self, known: Sequence[Any]) -> None:
        """Drop the references to those of the last arguments that differ from the objects in `known`, to free memory.

        There are as many last arguments as objects in `known`. These are compared by identity.
        """
        first = len(self.given) - len(known)
        if first >= 0:
            arguments = self.given[first:]
            for k in itertools.compress(range(len(arguments)), map(operator.is_not, arguments, known)):
                arguments[k] = _NOTHING
            self.given[first:] = arguments

    def _write_arrays(self, arrays: Sequence[tuple[int, np.ndarray]]) -> None:
        """Write the addresses and lengths of arrays, which are arguments of a kernel, to the call's buffer.

        `arrays` has pairs of the index of an array's first word in the buffer and the array.
        """
        ints = self.ints
        for place, value in arrays:
            capsule = value.__array_struct__
            array = _ArrayInterface.from_address(_pointer(capsule, None))
            flags = array.flags
            # Other unaligned arrays are refused. A read-only one may be mapped from a file, and CPUs can load from any
            # address.
            if not flags & _CONTIGUOUS or (flags & _WRITEABLE and not flags & _ALIGNED):
                name = self.function.__name__
                raise ValueError(f"{name} is given an array that is not C-contiguous and aligned; expected its copy()")
            ints[place] = array.data or 0
            for length in value.shape:
                place += 1
                ints[place] = length

    def _write_value(self, place: int, value: Any, kind: Type) -> int:
        """Write an argument of the type `kind` to the call's buffer from the word `place` on.

        Return the index of the word after the argument.
        """
        if kind.kind == "t":
            for item, item_type in zip(value, kind.of, strict=True):
                place = self._write_value(place, item, item_type)
            return place
        if kind.kind == "a":
            self._write_arrays([(place, value)])
            return place + len(kind.leaves)
        if kind.kind in "iub":
            (self.unsigned if kind.kind == "u" else self.ints)[place] = int(value)
        elif kind.bits == 64:
            self.floats[place] = value
        else:
            self.words[place : place + 1].view(kind.dtype)[0] = value
        return place + 1

    def __call__(self) -> Any:
        """Call the compiled code with the arguments in the buffer, and return its result."""
        self.kernel.enter(self.number, self.address)
        returns = self.kernel.returns
        return None if returns.kind == "n" else self.words[-1:].view(returns.dtype)[0].item()


_kinds: dict[Any, Type | Known] = {type(None): Known(None), int: I64, float: F64, bool: BOOL, np.bool_: BOOL}
_kinds |= {kind.dtype.type: kind for kind in NUMBERS.values()}


def kinds_of(values: Sequence[Any]) -> tuple[Type | Known, ...]:
    """Return the kernel language's type of each argument of a call. `values` has the arguments.

    For None, which is a constant and has no type, return the constant (`Known`) in its place.
    """
    kinds = []
    for value in values:
        key = (value.dtype, value.ndim) if isinstance(value, np.ndarray) else type(value)
        kinds.append(_kinds.get(key) or kind_of(value))
    return tuple(kinds)


def kind_of(value: Any) -> Type | Known:
    """Return the kernel language's type of a value that Python passes to a compiled function.

    The value is an array, a number, or a tuple of these.
    """
    is_array = isinstance(value, np.ndarray)
    type_of_value = _kinds.get((value.dtype, value.ndim) if is_array else type(value))
    if type_of_value is not None:
        return type_of_value
    if is_array:
        type_of_value = _kinds[value.dtype, value.ndim] = array_of(scalar_type(value.dtype), value.ndim)
        return type_of_value
    if isinstance(value, tuple):
        return tuple_of(*kinds_of(value))  # type: ignore[arg-type]
    if isinstance(value, np.generic):
        return scalar_type(value.dtype)
    for kind in type(value).__mro__:
        if kind in _kinds:
            return _kinds[kind]
    raise TypeError(f"a kernel is given {value!r}; expected a NumPy array or a number")


def array_type(dtype: np.dtype[Any], dimensions: int) -> Type:
    """Return the type of arrays of a dtype in kernels.

    Arrays of float16 are passed as uint16, that is, as their bits.
    """
    return array_of(scalar_type(np.dtype(np.uint16) if dtype == np.float16 else dtype), dimensions)


@functools.cache
def _compiler_hash() -> str:
    """Return a hash of the source text of the compiler's modules. It is part of the names of stored code.

    So code that another version of the compiler has stored is not reused. LLVM's version is not part of the hash, as
    object files can be loaded under any version.
    """
    texts = [file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha256(b"".join(texts)).hexdigest()


@functools.cache
def made_of(text: str) -> str:
    """Return a hash of a module's source text and of the texts of the modules of gasla that it imports.

    Modules that are imported through others are included. Compiled code contains the functions that it calls, so it
    changes with all of these modules.
    """
    return hashlib.sha256(repr(sorted(modules_of(text).items())).encode()).hexdigest()


def modules_of(text: str) -> dict[str, str]:
    """Return the texts of all modules of gasla that a module with the source `text` imports, by the modules' names.

    Modules that are imported through others are included. The name "" stands for the module itself.
    """
    texts, waiting = {"": text}, [""]
    while waiting:
        for name in _imported_modules(texts[waiting.pop()]):
            if name not in texts:
                texts[name] = _text(name)
                waiting.append(name)
    return texts


@functools.cache
def _text(module: str) -> str:
    """Return a module's source text. The text is empty if there is no such module, or if the module has no file."""
    if lines := linecache.getlines(f"<{module}>"):
        return "".join(lines)
    spec = find_spec(module)
    return "" if spec is None or spec.origin is None else Path(spec.origin).read_text("utf-8")


_ROOT = Path(__file__).parents[2]
_IMPORT = re.compile(r"^ *from (gasla[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)


def _imported_modules(text: str) -> Iterator[str]:
    """Yield the names of the modules of gasla that a source text imports."""
    for package, names in _IMPORT.findall(text):
        yield package
        yield from (m for name in re.findall(r"\w+", names) if _is_module(m := f"{package}.{name}"))


@functools.cache
def _is_module(name: str) -> bool:
    """Return whether gasla has a file for a module name, and so a module of that name.

    The file is looked up instead of `sys.modules`, because a cache key must not depend on what a process has imported.
    """
    path = _ROOT.joinpath(*name.split("."))
    return path.with_name(f"{path.name}.py").is_file() or (path / "__init__.py").is_file()
