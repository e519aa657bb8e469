"""Functions of Python modules that are compiled for each combination of argument types, when first called.

Names in a compiled function refer to its module. Code is stored under a hash of all that it depends on: the text of the
module and of the modules of gasla that it imports, the types, the target, and the compiler.
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
from gasla.compiler.kernel_types import (
    BOOL,
    F64,
    I64,
    NONE,
    NUMBERS,
    Type,
    array_of,
    scalar_type,
    tuple_of,
)
from gasla.compiler.objects import Loaded, common, compile_ir, host, llvm_version
from gasla.compiler.unit import Unit
from gasla.log import LOG, say, speaking_later
from gasla.once import once

ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)  # ctypes releases the GIL during the call
_compiling = threading.Lock()
on_new_kernel: list[Callable[[Compiled, tuple[Any, ...]], None]] = []  # called when a process first needs a kernel


class _ArrayInterface(ctypes.Structure):
    """NumPy's array interface for C, `PyArrayInterface`. It is five times as fast as `array.ctypes`."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("two", "nd", "kind", "itemsize", "flags")),
        *((name, ctypes.c_void_p) for name in ("shape", "strides", "data", "descr")),
    )


_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400  # flags of arrays
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
SECONDS = 1.0  # seconds of compilation after which a message is printed


class Kernel:
    """The loaded code of a function for some types, and where the words of its arguments are."""

    def __init__(self, takes: tuple[Type | Known, ...], returns: Type, codes: Sequence[bytes]) -> None:
        self.takes, self.returns = takes, returns
        self.address = Loaded(*codes).address("entry")
        self.enter = ENTRY(self.address)
        self.is_numbered = takes[:1] == (I64,)  # whether the first argument is passed directly, not in the words
        self.arrays: list[tuple[np.dtype[Any], int] | None] = []  # the type and dimensions of arguments that are arrays
        self.places, self.size, self.numbers = list[int](), 0, range(len(takes))
        for k, kind in enumerate(takes):
            is_array = isinstance(kind, Type) and kind.kind == "a"
            self.arrays.append((kind.of.dtype, kind.extent) if is_array else None)  # type: ignore[union-attr]
            self.places.append(self.size)
            self.size += 0 if isinstance(kind, Known) or (k == 0 and self.is_numbered) else len(kind.leaves)


class Compiled:
    """A compiled function, which compiled functions call, or Python with NumPy's arrays and numbers.

    Parameters
    ----------
    function
        The Python function; only its text and the names of its module are used.
    marks
        "inline"; "apart": compiled into an object of its own, which all its callers share; or "reassociating": sums of
        floats may be computed in any order.
    packs
        Whether LLVM runs its SLP vectorizer.
    plan
        What a template is compiled for; its `fingerprint` is a hash of all that the code depends on, or None.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        marks: frozenset[str] = frozenset(),
        packs: bool = False,
        plan: Any = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.__name__ = function.__name__
        self.plain, self.marks, self.packs, self.plan = function, marks, packs, plan
        self._kernels: dict[tuple[Any, ...], Kernel] = {}
        self.made = 0  # kernels that had to be compiled
        self._calls: list[Call] = []

    @functools.cached_property
    def kernel_function(self) -> Function:
        """The function's text and the meaning of its names."""
        return function_of(self.plain, self.marks)

    def kernel(self, takes: tuple[Type | Known, ...]) -> Kernel:
        """Return the code for some types: loaded before, stored, or compiled now."""
        compiled = self._kernels.get(takes)
        if compiled is None:
            with speaking_later(), _compiling:
                compiled = self._kernels.get(takes)  # another thread may have compiled it meanwhile
                if compiled is None:
                    target = self._target
                    stored = _stored(self._key(takes, target))
                    with suppress(
                        ValueError, RuntimeError
                    ):  # stored code of another form, or that can't be loaded here
                        compiled = None if stored is None else _loaded(takes, stored)
                    compiled = compiled or _loaded(takes, self._compile(takes, target, stored))
                    for follow in on_new_kernel:
                        follow(self, takes)
                    self._kernels[takes] = compiled
        return compiled

    def is_compiled(self, arguments: Sequence[Any]) -> bool:
        """Return whether there is code for arguments of these types, loaded or stored."""
        takes = kinds_of(arguments)
        return takes in self._kernels or _stored(self._key(takes, self._target)) is not None

    @property
    def identity(self) -> str | None:
        """A hash of all that the code depends on, except the types of the parameters, the target and the compiler.

        None if a plan can't be described.
        """
        if self.plan is not None:
            return self.plan.fingerprint and f"{self.plan.fingerprint} {self.__name__}"
        text = "".join(linecache.getlines(self.plain.__code__.co_filename))
        return hashlib.sha256(repr((repr(self), made_of(text))).encode()).hexdigest()[:32]

    def compile_for(self, takes: tuple[Type | Known, ...], target: tuple[str, str, str]) -> None:
        """Store the code for some types and another target, unless it depends on the processor that it will run on."""
        if not self._is_native and _stored(self._key(takes, target)) is None:
            self._compile(takes, target)

    def _key(self, takes: tuple[Type | Known, ...], target: tuple[str, str, str]) -> str | None:
        """Return the name of the code in the cache. For a template, a file of this name has the name of the code."""
        if self.identity is None:
            return None
        made = self.identity, [str(t) for t in takes], target, _compiler()
        return _name("kernels" if self.plan is None else "programs", made)

    @property
    def _target(self) -> tuple[str, str, str]:
        """The target of the code: this processor if the module sets `NATIVE`, else what most have if that runs here."""
        return host() if self._is_native else common()

    @property
    def _is_native(self) -> bool:
        """Whether the code is for the processor on which it is compiled."""
        return bool(getattr(self.plan, "is_native", False) or self.plain.__globals__.get("NATIVE"))

    def __repr__(self) -> str:
        where = self.plain.__qualname__, self.plain.__code__.co_firstlineno, self.packs, sorted(self.marks)
        return repr((*where, self._cells()))

    def _cells(self) -> list[Any]:
        """Return the values of the function's closure."""
        return [cell.cell_contents for cell in self.plain.__closure__ or ()]

    def _compile(
        self, takes: tuple[Type | Known, ...], target: tuple[str, str, str], useless: bytes | None = None
    ) -> bytes:
        """Compile for some types. Templates with the same IR share their code, unless what is stored is `useless`."""
        began, key, unit = time.perf_counter(), self._key(takes, target), Unit(target[0], self.plan)
        made = unit.export(self.kernel_function, takes)
        if self.plan is not None:
            given, key = key, _name("kernels", (unit.ir(), self.packs, target, llvm_version()[0]))
            if given is not None:
                cache.store(given, key.encode())
            if (stored := cache.load(key)) is not None and stored != useless:
                return stored
        assert key is not None
        self.made += 1
        codes = [compile_ir(unit.ir(), self.packs, target), *(_part(text, target) for text in unit.parts.values())]
        head = " ".join([str(made.returns), *(str(len(code)) for code in codes)])
        data = head.encode() + b"\n" + b"".join(codes)
        cache.store(key, data)
        _report(self.__name__, time.perf_counter() - began)
        return data

    def source(self, takes: tuple[Type | Known, ...]) -> list[str]:
        """Return the source of the templates that are compiled for arguments of some types.

        The text of each function shows what its template has become for them, and follows the functions that it calls.
        """
        unit = Unit(host()[0], self.plan)
        unit.shown = []
        with speaking_later(), _compiling:
            unit.export(self.kernel_function, takes)
        return unit.shown

    def __call__(self, *arguments: Any) -> Any:
        """Call the code for these arguments. If there is none, it is compiled first."""
        call = self.lend()
        result = call.set(arguments)()
        self.take_back(call)
        return result

    def lend(self) -> Call:
        """Return a `Call` that no thread is using."""
        try:
            return self._calls.pop()
        except IndexError:
            return Call(self)

    def take_back(self, call: Call) -> None:
        """Keep a call for reuse, without its arguments."""
        call.given = [_NOTHING] * len(call.given)
        self._calls.append(call)

    @once(most=4096)
    def of(self, plan: Any) -> Compiled:
        """Return the function, a template, for a plan."""
        return Compiled(self.plain, packs=getattr(plan, "has_short_vectors", False), plan=plan)

    def __reduce__(self) -> str:
        return str(self.plain.__qualname__)


def _after_fork() -> None:
    global _compiling
    _compiling = threading.Lock()  # a thread of the parent process may hold the old one


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


_waits: list[tuple[str, float]] = []  # names and seconds of compilations since the last report
_count = [0]


def compilations() -> int:
    """Return the number of kernels that this process has compiled, and not found."""
    return _count[0]


def _report(name: str, seconds: float) -> None:
    """Log a compilation. On a terminal, print a message once a second has gone by: the program would seem to hang."""
    say(LOG.debug, "compiled %s in %.3f s", name, seconds)
    _count[0] += 1
    _waits.append((name, seconds))
    total = sum(seconds for _, seconds in _waits)
    if total < SECONDS:
        return
    names = ", ".join(dict.fromkeys(name for name, _ in _waits))
    message = f"gasla compiled {names} in {total:.1f} s; later calls and processes find it stored"
    _waits.clear()
    if os.environ.get("GASLA_QUIET") or LOG.isEnabledFor(DEBUG):  # in the log already
        return
    if sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules):
        say(print, message, file=sys.stderr)


def _name(folder: str, made: Any) -> str:
    """Return the name in the cache of what is made of something."""
    return f"{folder}/{hashlib.sha256(repr(made).encode()).hexdigest()[:32]}"


def _stored(key: str | None) -> bytes | None:
    """Return the code in the cache under a name, or under the name that it has there."""
    data = cache.load(key) if key is not None else None
    return cache.load(data.decode()) if data is not None and data.startswith(b"kernels/") else data


def parts_of(data: bytes) -> tuple[str, list[bytes]]:
    """Return the name of the type that a stored kernel returns, and its objects.

    ValueError if the data has another form.
    """
    head, _, code = data.partition(b"\n")
    name, *sizes = head.decode("latin1").split()
    ends = [0, *itertools.accumulate(map(int, sizes))]
    if not code or ends[-1] != len(code):
        raise ValueError(f"a stored kernel has {len(code)} bytes of code; expected {ends[-1]}")
    return name, [code[a:b] for a, b in itertools.pairwise(ends)]


def _loaded(takes: tuple[Type | Known, ...], data: bytes) -> Kernel:
    """Load a kernel. ValueError if the data has another form, RuntimeError if it can't be loaded here."""
    name, codes = parts_of(data)
    returns = NONE if name == "None" else NAMES.get(name)
    if not isinstance(returns, Type):
        raise ValueError(f"a stored kernel returns {name!r}; expected a type")
    return Kernel(takes, returns, codes)


def _part(text: str, target: tuple[str, str, str]) -> bytes:
    """Return the object of a function marked "apart". Its calling convention may differ between versions of LLVM."""
    key = _name("parts", (text, target, llvm_version()[0]))
    code = cache.load(key)
    if code is None:
        code = compile_ir(text, target=target)
        cache.store(key, code)
    return code


def compiled(function: Callable[..., Any]) -> Any:
    """Return a decorator: the function is compiled when it is first called."""
    return Compiled(function)


def apart(function: Callable[..., Any]) -> Any:
    """Return a decorator: the function is compiled into an object of its own, which all its callers share."""
    return Compiled(function, frozenset({"apart"}))


_NOTHING = object()  # stands for an argument whose words are not valid


class Call:
    """A call and the words of its arguments. The next call rewrites only the arguments that changed."""

    def __init__(self, function: Compiled) -> None:
        self.function = function
        self.given: list[Any] = []
        self.kernel: Kernel
        self.address = 0  # address of `words`
        self.launcher: Call | None = None  # the call by which threads make this call

    def set(self, arguments: Sequence[Any]) -> Call:
        """Set the arguments, and hold references to them."""
        if len(self.given) != len(arguments):
            self._begin(arguments)
        given, kernel = self.given, self.kernel
        changed: list[int] = []
        arrays: list[tuple[int, np.ndarray]] = []
        for k in itertools.compress(kernel.numbers, map(operator.is_not, arguments, given)):
            value, array, place, kind = arguments[k], kernel.arrays[k], kernel.places[k], kernel.takes[k]
            if array is not None:
                if not isinstance(value, np.ndarray) or value.dtype != array[0] or value.ndim != array[1]:
                    return self._begin(arguments).set(arguments)
                given[k] = _NOTHING  # until its words are complete: Ctrl-C or an error may interrupt this
                changed.append(k)
                arrays.append((place, value))
                continue
            if (_kinds.get(type(value)) or kind_of(value)) != kind:
                return self._begin(arguments).set(arguments)
            given[k] = _NOTHING
            if k == 0 and kernel.is_numbered:
                self.number = int(value)
                if not -(1 << 63) <= self.number < 1 << 63:
                    raise OverflowError(f"{self.function.__name__} is given {value}; expected an int64")
            elif kind is I64:
                self.ints[place] = int(value)
            elif kind is F64:
                self.floats[place] = value
            elif not isinstance(kind, Known):
                self._put(place, value, kind)
            given[k] = value
        if changed:
            self._put_arrays(arrays)
            for k in changed:
                given[k] = arguments[k]
        return self

    def _begin(self, arguments: Sequence[Any]) -> Call:
        """Find the code for the arguments' types, and make room for their words."""
        self.given = []
        self.kernel = self.function.kernel(kinds_of(arguments))
        self.words = np.zeros(self.kernel.size + 1, np.int64)
        self.ints, self.unsigned = self.words.data, self.words.view(np.uint64).data
        self.floats = self.words.view(np.float64).data
        self.address, self.number = self.words.ctypes.data, 0
        self.given = [_NOTHING] * len(arguments)
        return self

    def keep(self, known: Sequence[Any]) -> None:
        """Drop the references to arguments, except those that are identical to `known`, the last arguments."""
        first = len(self.given) - len(known)
        if first >= 0:
            given = self.given[first:]
            for k in itertools.compress(range(len(given)), map(operator.is_not, given, known)):
                given[k] = _NOTHING
            self.given[first:] = given

    def _put_arrays(self, arrays: Sequence[tuple[int, np.ndarray]]) -> None:
        """Write the words of arrays, each at its place."""
        ints = self.ints
        for place, value in arrays:
            capsule = value.__array_struct__
            array = _ArrayInterface.from_address(_pointer(capsule, None))
            flags = array.flags
            # A read-only array, mapped from an archive, may be unaligned: CPUs load from any address.
            if not flags & _CONTIGUOUS or (flags & _WRITEABLE and not flags & _ALIGNED):
                name = self.function.__name__
                raise ValueError(f"{name} is given an array that is not C-contiguous and aligned; expected its copy()")
            ints[place] = array.data or 0
            for length in value.shape:
                place += 1
                ints[place] = length

    def _put(self, place: int, value: Any, kind: Type) -> int:
        """Write the words of a value. Return the index after them."""
        if kind.kind == "t":
            for item, of in zip(value, kind.of, strict=True):
                place = self._put(place, item, of)
            return place
        if kind.kind == "a":
            self._put_arrays([(place, value)])
            return place + len(kind.leaves)
        if kind.kind in "iub":
            (self.unsigned if kind.kind == "u" else self.ints)[place] = int(value)
        elif kind.bits == 64:
            self.floats[place] = value
        else:
            self.words[place : place + 1].view(kind.dtype)[0] = value
        return place + 1

    def __call__(self) -> Any:
        """Make the call, and return its result."""
        self.kernel.enter(self.number, self.address)
        returns = self.kernel.returns
        return None if returns.kind == "n" else self.words[-1:].view(returns.dtype)[0].item()


_kinds: dict[Any, Type | Known] = {type(None): Known(None), int: I64, float: F64, bool: BOOL, np.bool_: BOOL}
_kinds |= {kind.dtype.type: kind for kind in NUMBERS.values()}


def kinds_of(values: Sequence[Any]) -> tuple[Type | Known, ...]:
    """Return the types of arguments, each as `kind_of` does."""
    kinds = []
    for value in values:
        key = (value.dtype, value.ndim) if isinstance(value, np.ndarray) else type(value)
        kinds.append(_kinds.get(key) or kind_of(value))
    return tuple(kinds)


def kind_of(value: Any) -> Type | Known:
    """Return the type of an argument: a NumPy array or number, a Python number, None, or a tuple of those."""
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
    """Return the type of arrays of a dtype. Of float16 arrays, kernels take the bits."""
    return array_of(scalar_type(np.dtype(np.uint16) if dtype == np.float16 else dtype), dimensions)


@functools.cache
def _compiler() -> str:
    """Return a hash of the compiler's text. LLVM's version is not part of keys: object code loads under any version."""
    texts = [file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha256(b"".join(texts)).hexdigest()


@functools.cache
def made_of(text: str) -> str:
    """Return a hash of a module's text and of the modules of gasla that it imports, as code contains its callees."""
    return hashlib.sha256(repr(sorted(modules_of(text).items())).encode()).hexdigest()


def modules_of(text: str) -> dict[str, str]:
    """Return the texts of the modules of gasla that a module imports, directly or not, by name.

    "" is the module itself.
    """
    seen, waiting = {"": text}, [""]
    while waiting:
        for name in _imports(seen[waiting.pop()]):
            if name not in seen:
                seen[name] = _text(name)
                waiting.append(name)
    return seen


@functools.cache
def _text(module: str) -> str:
    """Return a module's text. If there is no such module, or no file of it, the text is empty."""
    if lines := linecache.getlines(f"<{module}>"):
        return "".join(lines)
    spec = find_spec(module)
    return "" if spec is None or spec.origin is None else Path(spec.origin).read_text("utf-8")


_ROOT = Path(__file__).parents[2]
_IMPORT = re.compile(r"^ *from (gasla[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)


def _imports(text: str) -> Iterator[str]:
    """Yield the modules of this package that a text imports."""
    for package, names in _IMPORT.findall(text):
        yield package
        yield from (m for name in re.findall(r"\w+", names) if _is_module(m := f"{package}.{name}"))


@functools.cache
def _is_module(name: str) -> bool:
    """Return whether there is a file of a module. A key must not depend on what a process has imported."""
    path = _ROOT.joinpath(*name.split("."))
    return path.with_name(f"{path.name}.py").is_file() or (path / "__init__.py").is_file()
