"""What is compiled together: what objects of Python mean in a text, and which functions there are for which types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, ModuleType
from typing import Any, NoReturn

import numpy as np

from gasla.compiler.builtin import BUILTINS
from gasla.compiler.emit import Builtin, Emitter, Extern, Function, Instance, Known, Value, part_types
from gasla.compiler.kernel_types import BOOL, F64, I64, CompileError, Type, scalar_type


class Unit:
    """What is compiled together: the functions that others are made of, each once for each combination of types.

    Parameters
    ----------
    machine
        The processor that the code is for, as LLVM calls it: the first part of a target triple.
    """

    def __init__(self, machine: str = "x86_64") -> None:
        self.machine = machine
        self.text: list[str] = []
        self.heads: dict[str, str] = {}  # declarations, and constants
        self._done: dict[tuple[Any, ...], Instance | None] = {}

    def meaning(self, value: Any) -> Known | None:
        """What an object of Python stands for in a text; None if nothing."""
        if isinstance(value, Known):
            return value
        found = getattr(value, "kernel_function", value)
        if isinstance(found, Function | Builtin | Extern | Type | ModuleType | bool | int | float | tuple | None):
            return Known(found)
        if isinstance(found, type) and issubclass(found, np.generic):
            return Known(scalar_type(np.dtype(found)))
        if found in (int, float, bool):
            return Known({int: I64, float: F64, bool: BOOL}[found])
        if found is range:
            return Known(range)
        if isinstance(found, np.ufunc | BuiltinFunctionType):
            name = SAME.get(found.__name__, found.__name__)
            return Known(BUILTINS[name]) if name in BUILTINS else None
        return None

    def declare(self, name: str, returns: Type, takes: list[Type]) -> None:
        """Note a function of LLVM or C that the text calls."""
        kinds = ", ".join("ptr" if kind.kind in "pa" else kind.ir for kind in takes)
        self.heads[name] = f"declare {returns.ir} @{name}({kinds}) nounwind"

    def instance(self, function: Function, given: list[Type | Known], fail: Callable[[str], NoReturn]) -> Instance:
        """A function for some types, and for what is known while compiling."""
        kinds = tuple(x if isinstance(x, Type) else ("known", type(x.value), x.value) for x in given)
        key = id(function.node), kinds
        if key not in self._done:
            self._done[key] = None
            self._done[key] = Emitter(self, function).function(given, f"{function.name}.{len(self._done)}")
        found = self._done[key]
        if found is None:
            fail(f"{function.name} calls itself, which is not in the language")
        return found

    def export(self, function: Function, takes: Sequence[Type | Known]) -> Instance:
        """Have the code offer a function to C, as `entry(number, words)`.

        The number is the function's first argument if that is an i64; the words, of 8 bytes each, are all others: an
        array's are its address and its lengths. What the function returns, a number, is the last word.
        """
        emitter = Emitter(self, function)
        parameters = emitter.parameters()
        if len(takes) != len(parameters):
            emitter.fail(function.node, f"{function.name} is given {len(takes)} arguments; expected {len(parameters)}")
        for parameter, kind in zip(parameters, takes, strict=True):
            wanted = emitter.annotated(parameter.annotation)
            if wanted not in (None, kind):
                emitter.fail(parameter, f"{parameter.arg} of {function.name} is {kind}; expected {wanted}")
        made = self.instance(function, list(takes), lambda message: emitter.fail(function.node, message))
        self.text.append(_entry(function.name, made))
        return made

    def ir(self) -> str:
        """The text of LLVM IR of all that was exported."""
        return "\n".join([*self.heads.values(), *self.text, ""])


def count_words(kind: Type) -> int:
    """How many words an argument takes."""
    return 1 + kind.extent if kind.kind == "a" else sum(map(count_words, kind.of)) if kind.kind == "t" else 1


def _entry(name: str, made: Instance) -> str:
    """The function that C calls."""
    lines, at = ["define void @entry(i64 %number, ptr %words) nounwind {"], 0

    def loaded(kind: Type) -> str:
        nonlocal at
        if kind.kind in "at":
            value = "poison"
            for j, item in enumerate(part_types(kind) if kind.kind == "a" else kind.of):
                part = loaded(item)
                lines.append(f"  %a{at}.{j}.{len(lines)} = insertvalue {kind.ir} {value}, {item.ir} {part}, {j}")
                value = f"%a{at}.{j}.{len(lines) - 1}"
            return value
        lines.append(f"  %p{at} = getelementptr i64, ptr %words, i64 {at}")
        lines.append(f"  %l{at} = load {kind.stored}, ptr %p{at}, align 8")
        if kind == BOOL:
            lines.append(f"  %b{at} = trunc i8 %l{at} to i1")
        at += 1
        return f"%{'b' if kind == BOOL else 'l'}{at - 1}"

    is_numbered = made.takes[:1] == [I64]
    given = [f"{I64.ir} %number"] if is_numbered else []
    for kind in made.takes[is_numbered:]:
        given += [f"{part.ir} {loaded(part)}" for part in (part_types(kind) if kind.kind == "a" else [kind])]
    call = f"call {made.returns.ir} @{made.symbol}({', '.join(given)})"
    if made.returns.kind == "n":
        return "\n".join([*lines, f"  {call}", "  ret void", "}"])
    if made.returns.kind not in "iufb":
        raise CompileError(f"{name} is called by Python, and returns {made.returns}; expected a number or nothing")
    lines += [f"  %found = {call}", f"  %place = getelementptr i64, ptr %words, i64 {at}"]
    stored = Value(made.returns, "%found")
    if made.returns == BOOL:
        lines.append("  %byte = zext i1 %found to i8")
        stored = Value(made.returns, "%byte")
    return "\n".join([*lines, f"  store {made.returns.stored} {stored.text}, ptr %place, align 8", "  ret void", "}"])


# What NumPy and `math` call otherwise than the language.
SAME = {"absolute": "abs", "fabs": "abs", "arctan2": "atan2", "power": "pow", "arcsin": "asin", "arccos": "acos"}
SAME |= {"arctan": "atan", "bitwise_count": "count_bits"}
