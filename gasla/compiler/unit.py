"""Sources that are compiled together: which names they know, which functions they have for which types."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NoReturn

from gasla.compiler.builtin import BUILTINS
from gasla.compiler.emit import NAMES, Emitter, Function, Instance, Known, Value, is_const
from gasla.compiler.kernel_types import BOOL, I64, CompileError, Type


class Unit:
    """Some sources, `(text, file)` each, whose functions and constants know each other by name.

    What a source imports is not looked up: a source comes after those that it uses.

    Parameters
    ----------
    sources
        Texts of the language, and the names of their files, which errors show.
    machine
        The processor that the code is for, as LLVM calls it: the first part of a target triple.
    constants
        Numbers, types and functions known under these names, in place of what the sources set them to.
    """

    def __init__(self, *sources: tuple[str, str], machine: str = "x86_64", **constants: Any) -> None:
        self.machine = machine
        self.text: list[str] = []
        self.known: dict[str, Known] = {name: Known(value) for name, value in {**NAMES, **BUILTINS}.items()}
        self.known |= {name: Known(value) for name, value in constants.items()}
        self._given, self._declared = set(constants), dict[str, str]()
        self._done: dict[tuple[Any, ...], Instance | None] = {}
        for text, file in sources:
            self._read(text, file)

    def _read(self, text: str, file: str) -> None:
        try:
            body = ast.parse(text, file).body
        except SyntaxError as error:
            raise CompileError(f"{file}:{error.lineno}: {error.msg}\n    {(error.text or '').strip()}") from None
        lines = tuple(text.splitlines())
        for node in body:
            if isinstance(node, ast.FunctionDef):
                if node.name not in self._given:
                    marks = frozenset(ast.unparse(mark) for mark in node.decorator_list)
                    self.known[node.name] = Known(Function(node, file, lines, marks))
            elif isinstance(node, ast.Assign):
                self._read_constant(node, file, lines)
            elif not (isinstance(node, ast.Import | ast.ImportFrom) or _is_docstring(node)):
                self._fail(node, file, lines, f"{type(node).__name__} stands outside of functions")

    def _read_constant(self, node: ast.Assign, file: str, lines: tuple[str, ...]) -> None:
        holder = ast.FunctionDef("constants", ast.arguments([], [], None, [], [], None, []), [], [], lineno=node.lineno)
        found = Emitter(self, Function(holder, file, lines, frozenset())).expr(node.value)
        if not isinstance(found, Known):
            self._fail(node, file, lines, "this is not known while compiling")
        for target in node.targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            values = found.value if isinstance(target, ast.Tuple) else [found.value]
            if len(names) != len(values) or not all(isinstance(name, ast.Name) for name in names):
                self._fail(node, file, lines, "expected names, and as many values")
            for name, value in zip(names, values, strict=True):
                if name.id not in self._given:  # type: ignore[attr-defined]
                    self.known[name.id] = Known(value)  # type: ignore[attr-defined]

    @staticmethod
    def _fail(node: Any, file: str, lines: tuple[str, ...], message: str) -> NoReturn:
        raise CompileError(f"{file}:{node.lineno}: {message}\n    {lines[node.lineno - 1].strip()}")

    def function(self, name: str) -> Function:
        """A function of the sources, by name."""
        found = self.known.get(name)
        if found is None or not isinstance(found.value, Function):
            raise CompileError(f"{name} is not a function of {', '.join(self.files) or 'any source'}")
        return found.value

    @property
    def files(self) -> list[str]:
        """The files that functions come from."""
        return sorted({known.value.file for known in self.known.values() if isinstance(known.value, Function)})

    def declare(self, name: str, returns: Type, takes: list[Type]) -> None:
        """Note a function of LLVM or C that the text calls."""
        kinds = ", ".join("ptr" if kind.kind in "pa" else kind.ir for kind in takes)
        self._declared[name] = f"declare {returns.ir} @{name}({kinds}) nounwind"

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

    def export(self, name: str, takes: list[Type] | None = None) -> Instance:
        """Have the code offer a function to C, under its own name.

        C calls `name(number, words)`: the number is the function's first argument, an i64, and the words, of 8 bytes
        each, are all the others: an array's are its address and its lengths. What the function returns, a number, is
        the last word. `takes` has the types of all parameters; without it, they are those that the text says.
        """
        function = self.function(name)
        emitter = Emitter(self, function)
        parameters = emitter._parameters()
        if takes is None:
            if any(p.annotation is None or is_const(p.annotation) for p in parameters):
                emitter.fail(function.node, f"{name} does not say the types of its parameters, and none are given")
            takes = [emitter.type_at(p.annotation) for p in parameters]
        if not takes or takes[0] != I64 or len(takes) != len(parameters):
            emitter.fail(
                function.node, f"{name} is exported for {[str(t) for t in takes]}; expected i64 first, and all"
            )
        made = self.instance(function, list(takes), lambda message: emitter.fail(function.node, message))
        self.text.append(_entry(name, made))
        return made

    def ir(self) -> str:
        """The text of LLVM IR of all that was exported."""
        return "\n".join([*self._declared.values(), *self.text, ""])


def _entry(name: str, made: Instance) -> str:
    """The function that C calls."""
    lines, given, at = [f"define void @{name}(i64 %number, ptr %words) nounwind {{"], ["i64 %number"], 0
    for k, kind in enumerate(made.takes[1:]):
        parts = ["ptr", *["i64"] * kind.extent] if kind.kind == "a" else [kind.stored]
        for j, part in enumerate(parts):
            lines.append(f"  %p{k}.{j} = getelementptr i64, ptr %words, i64 {at}")
            lines.append(f"  %l{k}.{j} = load {part}, ptr %p{k}.{j}, align 8")
            at += 1
        value = f"%l{k}.0"
        if kind == BOOL:
            lines.append(f"  %b{k} = trunc i8 {value} to i1")
            value = f"%b{k}"
        elif kind.kind == "a":
            value = "poison"
            for j, part in enumerate(parts):
                lines.append(f"  %a{k}.{j} = insertvalue {kind.ir} {value}, {part} %l{k}.{j}, {j}")
                value = f"%a{k}.{j}"
        given.append(f"{kind.ir} {value}")
    call = f"call {made.returns.ir} @{made.symbol}({', '.join(given)})"
    if made.returns.kind == "n":
        return "\n".join([*lines, f"  {call}", "  ret void", "}"])
    if made.returns.kind not in "iufb":
        raise CompileError(f"{name} is exported, and returns {made.returns}; expected a number or nothing")
    lines += [f"  %found = {call}", f"  %place = getelementptr i64, ptr %words, i64 {at}"]
    stored = Value(made.returns, "%found")
    if made.returns == BOOL:
        lines.append("  %byte = zext i1 %found to i8")
        stored = Value(made.returns, "%byte")
    return "\n".join([*lines, f"  store {made.returns.stored} {stored.text}, ptr %place, align 8", "  ret void", "}"])


def _is_docstring(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
