"""Calls compiled functions with NumPy arrays and numbers, which are checked first."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from gasla.compiler.emit import Instance
from gasla.compiler.kernel_types import Type, type_of
from gasla.compiler.objects import Loaded, compile_ir, host
from gasla.compiler.unit import Unit

ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)  # ctypes lets go of the interpreter's lock meanwhile


class Kernel:
    """A compiled function that Python calls: `kernel(number, *arguments)`."""

    def __init__(self, name: str, made: Instance, loaded: Loaded) -> None:
        self.name, self.returns, self.takes = name, made.returns, made.takes
        self.address = loaded.address(name)
        self._entry = ENTRY(self.address)

    def __call__(self, number: int, *arguments: Any) -> Any:
        """Check the arguments, call the function, and return what it does."""
        words = self.words(*arguments)
        self._entry(number, words.ctypes.data)
        return words[-1:].view(self.returns.dtype)[0].item() if self.returns.kind != "n" else None

    def words(self, *arguments: Any) -> np.ndarray[Any, Any]:
        """The words that the function is passed; the arrays among the arguments must outlive the call."""
        kinds = self.takes[1:]
        if len(arguments) != len(kinds):
            raise TypeError(f"{self.name} is given {len(arguments)} arguments after its number; expected {len(kinds)}")
        found: list[int] = []
        for k, (value, kind) in enumerate(zip(arguments, kinds, strict=True)):
            found += self._words_of(k + 1, value, kind)
        return np.array([*found, 0], np.uint64)

    def _words_of(self, place: int, value: Any, kind: Type) -> list[int]:
        have = type_of(value)
        if kind.kind == "a":
            if have != kind:
                raise TypeError(f"argument {place} of {self.name} is {have}; expected {kind}")
            if not (value.flags.c_contiguous and value.flags.aligned):
                raise ValueError(f"argument {place} of {self.name} is not C-contiguous and aligned; copy it")
            return [value.ctypes.data, *value.shape]
        is_pythons = not isinstance(value, np.generic | np.ndarray) and have.kind in "if" and kind.kind in "iuf"
        if not (have == kind or is_pythons) or (have.kind == "f" and kind.kind != "f"):
            raise TypeError(f"argument {place} of {self.name} is {have}; expected {kind}")
        if kind.kind in "iu":
            low = -(1 << kind.bits - 1) if kind.kind == "i" else 0
            if not low <= int(value) < low + (1 << kind.bits):
                raise OverflowError(f"argument {place} of {self.name} is {value}; expected a number that {kind} holds")
        word = np.zeros(1, np.uint64)
        word.view(kind.dtype)[0] = value
        return [int(word[0])]


def compile_kernel(unit: Unit, name: str, takes: list[Type] | None = None) -> Kernel:
    """Compile one function of a unit, for types that its text says or that `takes` has."""
    made = unit.export(name, takes)
    return Kernel(name, made, Loaded(compile_ir(unit.ir())))


def new_unit(*sources: tuple[str, str], **constants: Any) -> Unit:
    """A unit for this machine."""
    return Unit(*sources, machine=host()[0], **constants)
