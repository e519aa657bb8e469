"""A compilation unit: a function with all that it calls, compiled together, and a function `entry` by which C calls
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gasla.compiler.builtin import BUILTINS
from gasla.compiler.emit import Emitter, Function, Instance, Known, Sources
from gasla.compiler.kernel_types import BOOL, I64, CompileError, Type


class Unit(Sources):
    """A compilation unit: a function and all functions that it calls, compiled together.

    Each is compiled once for each combination of argument types.

    Parameters
    ----------
    machine
        The architecture, as LLVM names it: the first part of a target triple.
    """

    def __init__(self, machine: str = "x86_64", plan: Any = None) -> None:
        super().__init__(machine, BUILTINS, plan)

    def export(self, function: Function, takes: Sequence[Type | Known]) -> Instance:
        """Compile a function of the kernel language, and add a C function `entry(number, words)` that calls it.

        The number is the function's first argument if that is an i64. The words, of 8 bytes each, hold all other
        arguments. An array takes a word for its address and one for each length. The result, a number, is written to
        the last word.
        """
        emitter = Emitter(self, function)
        parameters = emitter.parameters()
        if len(takes) != len(parameters):
            emitter.fail(function.node, f"{function.name} is given {len(takes)} arguments; expected {len(parameters)}")
        if function.is_template:
            instance: Instance | None = emitter.function(list(takes), f"{function.name}.0")
        else:
            instance = emitter.instance(function, list(takes))
        assert instance is not None
        self.text.append(_entry(function.name, instance))
        return instance


def _entry(name: str, instance: Instance) -> str:
    """Return the LLVM IR of the C function `entry`, by which Python calls the compiled function `instance`.

    `entry` reads the arguments from memory, calls the compiled function, and writes its result to memory.
    """
    is_numbered = instance.takes[:1] == [I64]
    scalar_types = [leaf for kind in instance.takes[is_numbered:] for leaf in kind.leaves]
    lines = ["define void @entry(i64 %number, ptr %words) nounwind {"]
    arguments = ["i64 %number"] * is_numbered
    for k, leaf in enumerate(scalar_types):
        lines.append(f"  %p{k} = getelementptr i64, ptr %words, i64 {k}")
        lines.append(f"  %l{k} = load {leaf.stored}, ptr %p{k}, align 8")
        if leaf == BOOL:
            lines.append(f"  %b{k} = trunc i8 %l{k} to i1")
        arguments.append(f"{leaf.ir} %{'b' if leaf == BOOL else 'l'}{k}")
    call, returns = f"call {instance.returns.ir} @{instance.symbol}({', '.join(arguments)})", instance.returns
    if returns.kind == "n":
        return "\n".join([*lines, f"  {call}", "  ret void", "}"])
    if returns.kind not in "iufb":
        raise CompileError(f"{name} is called by Python and returns {returns}; expected a number or nothing")
    lines += [f"  %found = {call}", f"  %place = getelementptr i64, ptr %words, i64 {len(scalar_types)}"]
    if returns == BOOL:
        lines.append("  %byte = zext i1 %found to i8")
    stored = f"store {returns.stored} {'%byte' if returns == BOOL else '%found'}, ptr %place, align 8"
    return "\n".join([*lines, f"  {stored}", "  ret void", "}"])
