"""Emits the functions of the kernel language as LLVM IR, statement by statement.

A value consists of scalars, its leaves: those of an array are its address and lengths, those of a tuple the leaves of
its items. A variable is a stack slot for each leaf, which LLVM turns into a register; a parameter that is never set
needs none. Constants (numbers that have no type yet, types, functions) are evaluated here and need no instructions: of
an `if` on a constant only one branch is emitted.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import operator
import struct
from collections.abc import Callable, Iterable, Mapping
from types import BuiltinFunctionType, ModuleType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from gasla.compiler.kernel_types import (
    BOOL,
    F64,
    I8,
    I64,
    NONE,
    NUMBERS,
    U64,
    CompileError,
    Type,
    array_of,
    meeting,
    scalar_type,
    tuple_of,
    vector_of,
)


class Value:
    """A value in the running kernel: its type, and a name or constant of LLVM IR for each leaf."""

    def __init__(self, kind: Type, *names: str) -> None:
        self.type, self.names = kind, names

    @property
    def text(self) -> str:
        """The name of a value with one leaf."""
        (name,) = self.names
        return name

    @property
    def typed(self) -> str:
        """The leaves as operands of an instruction, each with its type."""
        return ", ".join(f"{leaf.ir} {name}" for leaf, name in zip(self.type.leaves, self.names))


class Known(NamedTuple):
    """A constant, known while compiling: a number, a tuple of numbers, a type, a function."""

    value: Any


class Function(NamedTuple):
    """A function: its syntax tree, its file, and the names of its module."""

    node: ast.FunctionDef
    file: str
    lines: tuple[str, ...]
    marks: frozenset[str]
    names: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name in the source."""
        return self.node.name


class Instance(NamedTuple):
    """A function compiled for some types."""

    symbol: str
    returns: Type
    takes: list[Type]  # without constants


Operand = Value | Known


class Builtin:
    """A built-in function of the language: `emit(emitter, node, *arguments)` emits a call of it."""

    def __init__(self, name: str, emit: Callable[..., Any]) -> None:
        self.name, self.emit = name, emit

    def __call__(self, *_: Any) -> Any:
        """Raise: only compiled code can call this."""
        raise TypeError(f"{self.name} was called by Python; expected a call in a compiled function")

    def __repr__(self) -> str:
        return f"<{self.name} of the kernel language>"


class Extern(NamedTuple):
    """A function of C."""

    name: str
    returns: Type
    takes: tuple[Type, ...] = ()

    def __call__(self, *_: Any) -> Any:
        """Raise: only compiled code can call this."""
        raise TypeError(f"{self.name} was called by Python; expected a call in a compiled function")


class Sources:
    """The text of a compilation unit so far, and its functions, each once for each combination of types."""

    def __init__(self, machine: str, builtins: Mapping[str, Builtin]) -> None:
        self.machine, self.builtins = machine, builtins
        self.text: list[str] = []
        self.heads: dict[str, str] = {}  # declarations and tables of constants
        self.parts: dict[str, str] = {}  # the IR of functions with objects of their own, by symbol
        self.instances: dict[tuple[Any, ...], Instance | None] = {}

    def ir(self) -> str:
        """The LLVM IR."""
        return "\n".join([*self.heads.values(), *self.text, ""])


# For each operator: its name, Python's function, and LLVM's instruction for each kind of scalar. Operators without
# instructions take several, which `binary` emits.
OPERATORS: dict[type, tuple[str, Callable[[Any, Any], Any], dict[str, str]]] = {
    ast.Add: ("add", operator.add, {"iu": "add", "f": "fadd"}),
    ast.Sub: ("sub", operator.sub, {"iu": "sub", "f": "fsub"}),
    ast.Mult: ("mul", operator.mul, {"iu": "mul", "f": "fmul"}),
    ast.Div: ("div", operator.truediv, {"f": "fdiv"}),
    ast.FloorDiv: ("quotient", operator.floordiv, {}),
    ast.Mod: ("remainder", operator.mod, {}),
    ast.BitAnd: ("and", operator.and_, {"iub": "and"}),
    ast.BitOr: ("or", operator.or_, {"iub": "or"}),
    ast.BitXor: ("xor", operator.xor, {"iub": "xor"}),
    ast.LShift: ("shl", operator.lshift, {}),
    ast.RShift: ("shr", operator.rshift, {}),
    ast.Pow: ("pow", operator.pow, {}),
}
COMPARISONS: dict[type, tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
}
UNARY: dict[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.inv,
    ast.Not: operator.not_,
}
# Instructions of conversions, by source and target kind: to fewer bits, and to more.
CASTS = {
    **dict.fromkeys(("ii", "iu"), ("trunc", "sext")),
    **dict.fromkeys(("ui", "uu", "bi", "bu"), ("trunc", "zext")),
    **dict.fromkeys(("uf", "bf"), ("uitofp", "uitofp")),
    "if": ("sitofp", "sitofp"),
    "ff": ("fptrunc", "fpext"),
}
MARKS = {"inline": "alwaysinline"}  # LLVM's attributes for marks of functions
PYTHON_TYPES = {int: I64, float: F64, bool: BOOL}
PYTHONS: dict[str, Any] = {f.__name__: f for f in (min, max, abs, len, range, int, float, bool, sum)}
NAMES: dict[str, Any] = {**NUMBERS, "bool": BOOL, "inf": float("inf"), "nan": float("nan")}
# Functions whose names differ in NumPy or `math` and in the language.
SAME = {"absolute": "abs", "fabs": "abs", "arctan2": "atan2", "power": "pow", "arcsin": "asin", "arccos": "acos"}
SAME |= {"arctan": "atan", "bitwise_count": "count_bits"}


class Variable:
    """A variable: a stack slot for each leaf of its type."""

    def __init__(self, kind: Type, slots: list[str]) -> None:
        self.type, self.slots = kind, slots


class Frame:
    """A function that is being emitted, and the meaning of its names."""

    def __init__(self, function: Function, give: Callable[[Operand], None] | None = None) -> None:
        self.function = function
        self.give = give  # in a generator: called with each yielded value
        self.variables: dict[str, Variable] = {}
        self.bound: dict[str, Operand] = {}  # constants, and parameters that are never set
        self.loops: list[tuple[str, str]] = []  # the labels of `continue` and `break`


# Functions with objects of their own, and their IR with that of their callees. Holding the functions keeps ids unique.
_apart: dict[tuple[Any, ...], tuple[Function, Instance, dict[str, str]]] = {}


class Emitter:
    """Emits one function for given types of its parameters."""

    def __init__(self, unit: Sources, function: Function) -> None:
        self.unit, self.frame = unit, Frame(function)
        self.lines: list[str] = []
        self.slots: list[str] = []
        self.returns: Type | None = None
        self.flags = "reassoc nsz " if "reassociating" in function.marks else ""
        self.dead = False  # whether the next statement is unreachable
        self.assigned: frozenset[Variable] = frozenset()  # variables that are set on every path to here
        self.arrivals: dict[str, frozenset[Variable]] = {}  # for each label, variables set on all jumps to it so far
        self._count = 0

    # --- a function ---------------------------------------------------------------------------------------------------

    def function(self, given: list[Type | Known], symbol: str) -> Instance:
        """Emit the function; `given` has a type or a constant for each parameter."""
        of, takes = self.frame.function, []
        for parameter, kind in zip(self.parameters(), given, strict=True):
            value: Operand
            if isinstance(kind, Type):
                value = Value(kind, *(f"%arg.{parameter.arg}.{k}" for k in range(len(kind.leaves))))
                takes.append(value)
            else:
                value = kind
            self.bind(parameter, value)
        self.block(of.node.body)
        if not self.dead:
            if self.returns not in (None, NONE):
                self.fail(of.node, f"{of.name} may end without returning {self.returns}; return it on every path")
            self.emit("ret void")
        self.returns = self.returns or NONE
        marks = " ".join(MARKS[mark] for mark in sorted(of.marks & MARKS.keys()))
        head = f"define internal {self.returns.ir} @{symbol}({listed(takes)}) nounwind {marks} {{\nentry:"
        self.unit.text.append("\n".join([head, *self.slots, *self.lines, "}"]))
        return Instance(symbol, self.returns, [value.type for value in takes])

    def parameters(self) -> list[ast.arg]:
        """The parameters."""
        of = self.frame.function
        a = of.node.args
        if a.posonlyargs or a.kwonlyargs or a.vararg or a.kwarg or a.defaults:
            self.fail(of.node, f"{of.name} has special parameters; expected plain ones, without defaults")
        return a.args

    def bind(self, parameter: ast.arg, value: Operand) -> None:
        """Bind a parameter to a value; it becomes a variable only if the function sets it."""
        if isinstance(value, Known) or parameter.arg not in _names_set(self.frame.function.node):
            self.frame.bound[parameter.arg] = value
        else:
            self.set_variable(parameter, parameter.arg, value)

    def fail(self, node: Any, message: str) -> NoReturn:
        """Raise a CompileError that shows the line of a node."""
        of = self.frame.function
        number = getattr(node, "lineno", of.node.lineno)
        text = of.lines[number - 1].strip() if number <= len(of.lines) else ""
        raise CompileError(f"{of.file}:{number}: {message}\n    {text}")

    # --- instructions and labels --------------------------------------------------------------------------------------

    def emit(self, text: str) -> None:
        """Add an instruction, unless it is unreachable."""
        if not self.dead:
            self.lines.append("  " + text)

    def make(self, kind: Type, text: str) -> Value:
        """Add an instruction, and name its result."""
        self._count += 1
        self.emit(f"%t{self._count} = {text}")
        return Value(kind, f"%t{self._count}")

    def op(self, name: str, a: Value, b: Value) -> Value:
        """Add a binary instruction on two values of one type."""
        return self.make(a.type, f"{name} {a.typed}, {b.text}")

    def choose(self, condition: Value, a: Value, b: Value) -> Value:
        """Select one of two values, both computed."""
        return self.make(a.type, f"select {condition.typed}, {a.typed}, {b.typed}")

    def compare(self, what: str, a: Value, b: Value) -> Value:
        """Compare two values of one type; NaN is unequal to everything."""
        if a.type.scalar.kind == "f":
            name = f"fcmp {'une' if what == 'ne' else 'o' + what}"
        else:
            sign = "" if what in ("eq", "ne") else "s" if a.type.scalar.kind == "i" else "u"
            name = f"icmp {sign}{what}"
        return self.make(a.type.each(BOOL), f"{name} {a.typed}, {b.text}")

    def call(self, returns: Type, name: str, values: Iterable[Value], flags: str = "") -> Any:
        """Call a function; Known(None) if it returns nothing."""
        text = f"call {flags}{returns.ir} @{name}({listed(values)})"
        if returns == NONE:
            self.emit(text)
            return Known(None)
        found = self.make(returns, text)
        if returns.kind not in "at":
            return found
        leaves = enumerate(returns.leaves)
        return Value(returns, *(self.make(t, f"extractvalue {returns.ir} {found.text}, {k}").text for k, t in leaves))

    def declare(self, name: str, returns: Type, takes: Iterable[Type]) -> None:
        """Declare a function of LLVM or C."""
        self.unit.heads[name] = f"declare {returns.ir} @{name}({', '.join(kind.ir for kind in takes)}) nounwind"

    def intrinsic(self, kind: Type, name: str, *values: Value, flags: str = "") -> Any:
        """Call a function of LLVM or of C; Known(None) if it returns nothing."""
        self.declare(name, kind, [value.type for value in values])
        return self.call(kind, name, values, flags)

    def labels(self, *names: str) -> list[str]:
        """New labels."""
        self._count += 1
        return [f"{name}.{self._count}" for name in names]

    def jump(self, *labels: str, condition: Value | None = None) -> None:
        """End a basic block with a jump, or with a conditional jump to one of two labels."""
        if not self.dead:
            where = ", ".join(f"label %{label}" for label in labels)
            self.emit(f"br {where}" if condition is None else f"br {condition.typed}, {where}")
            for label in labels:
                self.arrivals[label] = self.arrivals.get(label, self.assigned) & self.assigned
        self.dead = True

    def label(self, label: str) -> None:
        """Begin a basic block; it is dead if nothing jumps to it."""
        self.jump(label)
        self.dead = label not in self.arrivals
        if not self.dead:
            self.assigned = self.arrivals[label]
            self.lines.append(f"{label}:")

    # --- variables ----------------------------------------------------------------------------------------------------

    def variable(self, name: str, kind: Type) -> Variable:
        """A new variable."""
        slots = []
        for leaf in kind.leaves:
            slots.append(f"%{name}.{len(self.slots)}")
            self.slots.append(f"  {slots[-1]} = alloca {leaf.ir}")
        return Variable(kind, slots)

    def store(self, variable: Variable, value: Value) -> None:
        """Set a variable."""
        for part, slot in zip(parts(value), variable.slots, strict=True):
            self.emit(f"store {part.typed}, ptr {slot}")

    def load(self, variable: Variable) -> Value:
        """The value of a variable."""
        places = zip(variable.type.leaves, variable.slots, strict=True)
        return Value(variable.type, *(self.make(t, f"load {t.ir}, ptr {slot}").text for t, slot in places))

    def set_variable(self, node: Any, name: str, value: Operand) -> None:
        """Set a variable of the function; its type is that of the first value it is set to."""
        if name in self.frame.bound:
            self.fail(node, f"{name} is known while compiling; expected another name for what is set here")
        variable = self.frame.variables.get(name)
        value = self.settled(node, value) if variable is None else self.to(node, value, variable.type)
        if variable is None:
            variable = self.frame.variables[name] = self.variable(f"var.{name}", value.type)
        self.store(variable, value)
        self.assigned |= {variable}

    # --- types --------------------------------------------------------------------------------------------------------

    def to(self, node: Any, value: Operand, kind: Type) -> Value:
        """Convert a value to a wider type, which holds all of its values."""
        if isinstance(value, Known):
            return self.constant(node, value.value, kind)
        have = value.type
        if have == kind:
            return value
        if have.kind == kind.kind == "t" and len(have.of) == len(kind.of):
            return joined(kind, *(self.to(node, item(value, k), each) for k, each in enumerate(kind.of)))
        if meeting(have, kind) != kind:
            self.fail(node, f"this is {have}, where {kind} is expected; write {kind}(...) to convert it")
        if kind.kind == "v":
            return self.spread(self.to(node, value, kind.of), kind.extent)
        return self.cast(node, value, kind)

    def stored(self, node: Any, value: Operand, kind: Type) -> Value:
        """Convert a value to an array's item type, as NumPy does; but no float to an integer, and no number to bool."""
        if isinstance(value, Known) or value.type == kind or kind.kind not in "iuf":
            return self.to(node, value, kind)
        if value.type.kind not in ("biuf" if kind.kind == "f" else "biu"):
            self.fail(node, f"{value.type} is stored in an array of {kind}; write {kind}(...) to convert it")
        return self.cast(node, value, kind)

    def constant(self, node: Any, number: Any, kind: Type) -> Value:
        """A constant as a value of a type."""
        if kind == NONE and number is None:
            return Value(NONE)
        if kind.kind == "v":
            return self.spread(self.constant(node, number, kind.of), kind.extent)
        if kind.kind == "t" and isinstance(number, tuple) and len(number) == len(kind.of):
            return joined(kind, *(self.constant(node, x, t) for x, t in zip(number, kind.of)))
        if kind == BOOL and isinstance(number, bool):
            return Value(BOOL, "true" if number else "false")
        if kind.kind == "f" and isinstance(number, int | float):
            return Value(kind, float_text(float(number), kind.bits))
        if kind.kind in "iu" and isinstance(number, int) and number == _wrapped(number, kind):
            return Value(kind, str(int(number)))
        shown = number.name if isinstance(number, Function) else repr(number)
        self.fail(node, f"{shown} is not a value of {kind}")

    def settled(self, node: Any, value: Operand, within: bool = False) -> Value:
        """A value with a type: a constant becomes i64, f64 or bool; None has a type within tuples."""
        if isinstance(value, Value):
            return value
        number = value.value
        if isinstance(number, tuple):
            return joined_tuple(self.settled(node, Known(x), True) for x in number)
        kind = NONE if within and number is None else PYTHON_TYPES.get(type(number))
        return self.constant(
            node, number, kind or self.fail(node, f"{ast.unparse(node)} is not a value; expected a number")
        )

    def common(self, nodes: tuple[Any, Any], a: Operand, b: Operand) -> Type:
        """The common type of two values, as in NumPy; a constant takes the type of the other value."""
        if isinstance(a, Known) and isinstance(b, Known):
            a, b = self.settled(nodes[0], a), self.settled(nodes[1], b)
            if (a.type == BOOL) != (b.type == BOOL):
                self.fail(nodes[1], "one of two is a bool and the other a number; expected two of a kind")
        for known, typed in ((a, b), (b, a)):
            if isinstance(known, Known):
                assert isinstance(typed, Value)
                if isinstance(known.value, float) and typed.type.kind in "iub":
                    return F64
                return I64 if typed.type == BOOL and not isinstance(known.value, bool) else typed.type
        assert isinstance(a, Value)
        assert isinstance(b, Value)
        found = meeting(a.type, b.type)
        return found or self.fail(nodes[1], f"{a.type} meets {b.type}, and no type holds both; convert one of them")

    def same(self, nodes: tuple[Any, Any], a: Operand, b: Operand) -> tuple[Value, Value]:
        """Convert two values to their common type."""
        kind = self.common(nodes, a, b)
        return self.to(nodes[0], a, kind), self.to(nodes[1], b, kind)

    def cast(self, node: Any, value: Operand, kind: Type) -> Value:
        """`kind(value)`. A float becomes the nearest integer of the type towards 0; NaN becomes 0."""
        if isinstance(value, Known):
            number = value.value
            if kind.kind not in "iu" or not isinstance(number, float):
                if kind.kind in "iu" and isinstance(number, int):
                    number = _wrapped(number, kind)
                elif kind == BOOL and not isinstance(number, tuple):
                    number = bool(number)
                return self.constant(node, number, kind)
            value = self.settled(node, value)
        have = value.type
        if kind.kind in "biuf":
            kind = have.each(kind)
        a, b = have.scalar, kind.scalar
        if have == kind:
            return value
        if have.each(BOOL) == kind.each(BOOL):
            if b == BOOL and a.kind in "iuf":
                return self.compare("ne", value, self.constant(node, 0, have))
            if a.kind == "f" and b.kind in "iu":
                how = "fptosi" if b.kind == "i" else "fptoui"
                return self.intrinsic(kind, f"llvm.{how}.sat.{kind.mangled}.{have.mangled}", value)
            if a.is_integer and b.is_integer and a.bits == b.bits:
                return Value(kind, value.text)
            if a.kind + b.kind in CASTS:
                how = CASTS[a.kind + b.kind][a.bits < b.bits]
                return self.make(kind, f"{how} {value.typed} to {kind.ir}")
        self.fail(node, f"there is no conversion from {have} to {kind}")

    def spread(self, value: Value, lanes: int) -> Value:
        """A vector of one value in all lanes."""
        kind = vector_of(value.type, lanes)
        one = self.make(kind, f"insertelement {kind.ir} poison, {value.typed}, i32 0")
        return self.make(kind, f"shufflevector {one.typed}, {kind.ir} poison, <{lanes} x i32> zeroinitializer")

    # --- expressions --------------------------------------------------------------------------------------------------

    def expr(self, node: Any) -> Operand:
        """The value of an expression."""
        method = getattr(self, f"_e_{type(node).__name__}", None)
        if method is None:
            self.fail(node, f"{ast.unparse(node)} ({type(node).__name__}) is not in the language")
        found: Operand = method(node)
        return found

    def value(self, node: Any) -> Value:
        """The value of an expression, with a type."""
        return self.settled(node, self.expr(node))

    def _e_Constant(self, node: Any) -> Known:
        if not isinstance(node.value, bool | int | float | None):
            self.fail(node, f"{node.value!r} is not in the language; expected a number")
        return Known(node.value)

    def _e_Name(self, node: Any) -> Operand:
        name, frame = node.id, self.frame
        if name in frame.variables:
            if frame.variables[name] not in self.assigned and not self.dead:
                self.fail(node, f"{name} may not be set here; expected it to be set on every path")
            return self.load(frame.variables[name])
        if name in frame.bound:
            return frame.bound[name]
        for names in (frame.function.names, PYTHONS):
            if name in names:
                return self.meaning(node, names[name])
        self.fail(node, f"{name} is not known here")

    def meaning(self, node: Any, value: Any) -> Operand:
        """The meaning of a Python object in a kernel."""
        found = getattr(value, "kernel_function", value)
        if isinstance(found, np.generic):
            return self.constant(node, found.item(), scalar_type(found.dtype))
        if isinstance(found, np.ndarray):
            return self._table(found)
        if isinstance(found, Function | Builtin | Extern | Type | ModuleType | bool | int | float | tuple | None):
            return Known(found)
        if isinstance(found, Known):
            return found
        if isinstance(found, type) and issubclass(found, np.generic):
            return Known(scalar_type(np.dtype(found)))
        if found is range:
            return Known(found)
        if found in PYTHON_TYPES:
            return Known(PYTHON_TYPES[found])
        if isinstance(found, np.ufunc | BuiltinFunctionType):
            name = SAME.get(found.__name__, found.__name__)
            if name in self.unit.builtins:
                return Known(self.unit.builtins[name])
        self.fail(node, f"{ast.unparse(node)}, {value!r}, is not in the language")

    def _table(self, values: np.ndarray[Any, Any]) -> Value:
        """An array of constants."""
        name, kind = f"@table.{len(self.unit.heads)}", array_of(scalar_type(values.dtype), values.ndim)
        words = values.tobytes()
        text = "".join(f"\\{byte:02X}" for byte in words)
        self.unit.heads[name] = f'{name} = internal constant [{len(words)} x i8] c"{text}", align 16'
        return Value(kind, name, *map(str, values.shape))

    def _e_Tuple(self, node: Any) -> Operand:
        items = [self.expr(x) for x in node.elts]
        if all(isinstance(x, Known) for x in items):
            return Known(tuple(x.value for x in items))  # type: ignore[union-attr]
        return joined_tuple(self.settled(n, x, True) for n, x in zip(node.elts, items))

    def _e_UnaryOp(self, node: Any) -> Operand:
        is_not = isinstance(node.op, ast.Not)
        a = self.truth(node.operand) if is_not else self.expr(node.operand)
        if isinstance(a, Known):
            return Known(self._plainly(node, UNARY[type(node.op)], a.value))
        kind = a.type.scalar.kind
        if is_not or (isinstance(node.op, ast.Invert) and kind in "iub"):
            return self.op(
                "xor", a, self.constant(node, {"b": True, "i": -1}.get(kind, ~(-1 << a.type.scalar.bits)), a.type)
            )
        if isinstance(node.op, ast.USub) and kind == "f":
            return self.make(a.type, f"fneg {self.flags}{a.typed}")
        if isinstance(node.op, ast.USub) and kind in "iu":
            return self.op("sub", Value(a.type, "zeroinitializer"), a)
        if isinstance(node.op, ast.UAdd) and kind in "iuf":
            return a
        self.fail(node, f"{ast.unparse(node)} is not in the language for {a.type}")

    def _plainly(self, node: Any, function: Callable[..., Any], *given: Any) -> Any:
        """Evaluate a Python function of constants."""
        try:
            return function(*given)
        except (TypeError, ValueError, ArithmeticError) as error:
            self.fail(node, f"{ast.unparse(node)} can't be computed while compiling: {error}")

    def _e_BinOp(self, node: Any) -> Operand:
        return self.binary(node, (node.left, node.right), self.expr(node.left), self.expr(node.right))

    def binary(self, node: Any, nodes: tuple[Any, Any], a: Operand, b: Operand) -> Operand:
        """The value of `a op b`, where `node` has the operator."""
        if type(node.op) not in OPERATORS:
            self.fail(node, f"{type(node.op).__name__} is not in the language")
        what, plain, instructions = OPERATORS[type(node.op)]
        if isinstance(a, Known) and isinstance(b, Known):
            if what in ("shl", "pow") and abs(b.value) >= 64:
                self.fail(node, f"{ast.unparse(node)} has no type, and more than 64 bits")
            return Known(self._plainly(node, plain, a.value, b.value))
        if what in ("shl", "shr") and isinstance(a, Value) and isinstance(b, Value) and {a.type, b.type} == {I64, U64}:
            b = self.cast(nodes[1], b, a.type)  # the shift count does not affect the type
        a, b = self.same(nodes, a, b)
        if what == "div" and a.type.kind in "iu":
            a, b = self.cast(node, a, F64), self.cast(node, b, F64)
        kind = a.type.scalar.kind
        for kinds, instruction in instructions.items():
            if kind in kinds:
                return self.op(f"{instruction} {self.flags}" if kind == "f" else instruction, a, b)
        if kind in "iu" and what in ("shl", "shr"):
            return self._shift(a, b, what)
        if a.type.kind in "iu" and what in ("quotient", "remainder"):
            return self._divide(a, b, what)
        hint = "write i64(...)" if a.type == BOOL else "of integers, convert to f64 before a division"
        self.fail(node, f"{a.type} has no operator {what}; {hint}")

    def _shift(self, a: Value, b: Value, what: str) -> Value:
        """Shift by `b` bits; as in NumPy, a shift by the width or more gives 0, or the sign."""
        kind, bits = a.type, a.type.scalar.bits
        name = "shl" if what == "shl" else "ashr" if kind.scalar.kind == "i" else "lshr"
        if b.text.isdigit() and int(b.text) < bits:
            return self.op(name, a, b)
        last = self.constant(None, bits - 1, kind)
        is_less = self.make(kind.each(BOOL), f"icmp ule {b.typed}, {last.text}")
        shifted = self.op(name, a, self.choose(is_less, b, last))
        return shifted if name == "ashr" else self.choose(is_less, shifted, Value(kind, "zeroinitializer"))

    def _divide(self, a: Value, b: Value, what: str) -> Value:
        """Divide rounding down, as Python does; 0 if b is 0. The only quotient that overflows wraps."""
        zero, one = Value(a.type, "0"), Value(a.type, "1")
        if b.text.isdigit() and b.text != "0":
            return self._floor_divide(a, b, what)
        is_zero = unsafe = self.compare("eq", b, zero)
        if a.type.kind == "i":  # the processor faults at the least integer by -1
            is_minus = self.compare("eq", b, Value(a.type, "-1"))
            unsafe = self.op("or", is_zero, is_minus)
        found = self._floor_divide(a, self.choose(unsafe, one, b), what)
        if a.type.kind == "i" and what == "quotient":
            found = self.choose(is_minus, self.op("sub", zero, a), found)
        return self.choose(is_zero, zero, found)

    def _floor_divide(self, a: Value, b: Value, what: str) -> Value:
        zero = Value(a.type, "0")
        if a.type.kind == "u":
            return self.op("udiv" if what == "quotient" else "urem", a, b)
        quotient, rest = self.op("sdiv", a, b), self.op("srem", a, b)
        differ = self.compare("lt", self.op("xor", rest, b), zero)
        is_off = self.op("and", differ, self.compare("ne", rest, zero))
        if what == "quotient":
            return self.op("add", quotient, self.make(a.type, f"sext {is_off.typed} to {a.type.ir}"))
        return self.op("add", rest, self.choose(is_off, b, zero))

    def _e_Compare(self, node: Any) -> Operand:
        """A comparison; a chain evaluates operands only while all comparisons before hold."""
        if len(node.ops) > 1:
            return self._e_BoolOp(self._chained(node))
        (op,), (side,) = node.ops, node.comparators
        a, b = self.expr(node.left), self.expr(side)
        if isinstance(op, ast.Is | ast.IsNot):
            if b != Known(None):
                self.fail(node, "`is` is for None alone")
            return Known((a == Known(None)) == isinstance(op, ast.Is))
        if type(op) not in COMPARISONS:
            self.fail(node, f"{type(op).__name__} is not in the language; expected == != < <= > or >=")
        what, plain = COMPARISONS[type(op)]
        if isinstance(a, Known) and isinstance(b, Known):
            return Known(self._plainly(node, plain, a.value, b.value))
        if isinstance(a, Value) and isinstance(b, Value) and {a.type, b.type} == {I64, U64}:
            a, b = (self.cast(node, x, Type("i", 128)) for x in (a, b))
        a, b = self.same((node.left, side), a, b)
        if a.type.kind not in "iufbv":
            self.fail(node, f"{a.type} can't be compared; expected numbers")
        return self.compare(what, a, b)

    def _chained(self, node: Any) -> ast.BoolOp:
        """`a < b < c` as `a < b and b < c`, with names for a and b, which are evaluated once."""
        names = []
        for side in (node.left, node.comparators[0]):
            (name,) = self.labels("side")
            self.frame.bound[name] = self.expr(side)
            names.append(ast.copy_location(ast.Name(name, ast.Load()), side))
        pairs = (names[0], node.ops[:1], names[1:]), (names[1], node.ops[1:], node.comparators[1:])
        return ast.BoolOp(ast.And(), [ast.copy_location(ast.Compare(*pair), node) for pair in pairs])

    # --- conditions ---------------------------------------------------------------------------------------------------

    def truth(self, node: Any) -> Operand:
        """A condition: a constant or a bool."""
        found = self.expr(node)
        if isinstance(found, Known):
            return Known(bool(found.value))
        if found.type.kind not in "biuf":
            self.fail(node, f"{found.type} is neither true nor false; expected a bool or a number")
        return self.cast(node, found, BOOL)

    def test(self, node: Any, yes: str, no: str) -> None:
        """Jump to one of two labels by a condition; operands of `and` and `or` are evaluated only if they matter."""
        if isinstance(node, ast.BoolOp):
            for part in node.values[:-1]:
                (further,) = self.labels("further")
                self.test(part, *((yes, further) if isinstance(node.op, ast.Or) else (further, no)))
                self.label(further)
            if not self.dead:
                self.test(node.values[-1], yes, no)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.test(node.operand, no, yes)
        elif not self.dead:
            found = self.truth(node)
            if isinstance(found, Known):
                self.jump(yes if found.value else no)
            else:
                self.jump(yes, no, condition=found)

    def _e_BoolOp(self, node: Any) -> Operand:
        yes, no, end = self.labels("yes", "no", "end")
        self.test(node, yes, no)
        if not {yes, no} <= self.arrivals.keys():
            self.label(yes if yes in self.arrivals else no)
            return Known(yes in self.arrivals)
        self.label(yes)
        self.jump(end)
        self.label(no)
        self.label(end)
        return self.make(BOOL, f"phi i1 [ true, %{yes} ], [ false, %{no} ]")

    def _e_IfExp(self, node: Any) -> Operand:
        """`a if c else b`, of the common type of both sides."""
        yes, no, first, second, end = self.labels("yes", "no", "first", "second", "end")
        self.test(node.test, yes, no)
        sides = (yes, node.body, first), (no, node.orelse, second)
        reached = [side for side in sides if side[0] in self.arrivals]
        found = []
        for label, side, after in reached or sides[:1]:
            self.label(label)
            found.append(self.expr(side))
            if len(reached) < 2:
                return found[0]
            self.jump(after)
        either = self.variable("either", self.common((node.body, node.orelse), *found))
        for (_, side, after), value in zip(sides, found):
            self.label(after)
            self.store(either, self.to(side, value, either.type))
            self.jump(end)
        self.label(end)
        return self.load(either)

    # --- items, arrays and attributes ---------------------------------------------------------------------------------

    def _e_Subscript(self, node: Any) -> Operand:
        of = self.expr(node.value)
        if isinstance(of, Value) and of.type.kind == "a":
            found = self.locate(node, of)
            return found if found.type.kind == "a" else self.read(found)
        index = self.expr(node.slice)
        if isinstance(index, Known) and isinstance(index.value, int):
            if isinstance(of, Known) and isinstance(of.value, tuple):
                return Known(self._plainly(node, operator.getitem, of.value, index.value))
            if isinstance(of, Value) and of.type.kind == "t":
                if not 0 <= index.value < len(of.type.of):
                    self.fail(node, f"{of.type} has no item {index.value}")
                return item(of, index.value)
        if isinstance(of, Value) and of.type.kind == "v":
            return self.make(of.type.of, f"extractelement {of.typed}, {self.settled(node.slice, index).typed}")
        what = of.type if isinstance(of, Value) else of.value
        self.fail(node, f"{what} has no items that {ast.unparse(node.slice)} picks; a tuple's are picked by constants")

    def _e_Attribute(self, node: Any) -> Operand:
        of = self.expr(node.value)
        if isinstance(of, Value) and of.type.kind == "a":
            if node.attr == "shape":
                return joined_tuple(parts(of)[1:])
            if node.attr == "dtype":
                return Known(of.type.of)
        if isinstance(of, Known):
            if node.attr == "type" and isinstance(of.value, Type):
                return of
            if isinstance(of.value, ModuleType) and hasattr(of.value, node.attr):
                return self.meaning(node, getattr(of.value, node.attr))
        self.fail(node, f"{ast.unparse(node)} is not in the language")

    def place(self, node: Any, start: Value, index: Value) -> Value:
        """The address `index` items after another."""
        if index.type.kind not in "iu":
            self.fail(node, f"an index is {index.type}; expected an integer")
        if index.type.kind == "u" and index.type.bits < 64:
            index = self.to(node, index, U64)
        return self.make(start.type, f"getelementptr inbounds {start.type.of.stored}, {start.typed}, {index.typed}")

    def locate(self, node: Any, array: Value) -> Value:
        """The address of `array[...]`, or the subarray if there are fewer indices than dimensions."""
        (start, *lengths), indices = parts(array), _indices(node)
        if len(indices) > len(lengths):
            self.fail(node, f"{array.type} is given {len(indices)} indices")
        for k, index in enumerate(indices):
            if not isinstance(index, ast.Slice):
                start, lengths = self._step_in(index, start, lengths), lengths[1:]
                continue
            if k < len(indices) - 1 or index.step:
                self.fail(node, "a slice is read only as the last index, and without a step; expected a loop")
            first, last = self._bounds(index, lengths[0])
            start = self.place(node, start, self._times(first, lengths[1:]))
            lengths[0] = self.op("sub", last, first)
        return joined(array_of(array.type.of, len(lengths)), start, *lengths) if lengths else start

    def _step_in(self, node: Any, start: Value, lengths: list[Value]) -> Value:
        """The address at an index of an array's first dimension."""
        found = self.expr(node)
        if isinstance(found, Known) and isinstance(found.value, int) and found.value < 0:
            self.fail(node, f"{ast.unparse(node)} is no index: they do not count from the end")
        index = self.settled(node, found)
        return self.place(node, start, self._times(self.cast(node, index, I64), lengths[1:]) if lengths[1:] else index)

    def _bounds(self, node: Any, length: Value) -> tuple[Value, Value]:
        """The bounds of a slice."""
        bounds = []
        for part, default in ((node.lower, Value(I64, "0")), (node.upper, length)):
            found = default if part is None else self.expr(part)
            if isinstance(found, Known) and not (isinstance(found.value, int) and found.value >= 0):
                self.fail(part, f"{ast.unparse(part)} bounds a slice; expected an integer, 0 or more")
            bounds.append(self.cast(part, found, I64))
        return bounds[0], bounds[1]

    def _times(self, index: Value, lengths: list[Value]) -> Value:
        for length in lengths:
            index = self.op("mul", index, length)
        return index

    def read(self, place: Value, how: str = "") -> Value:
        """Load from an address; `how` is "" or "atomic ORDER"."""
        kind, (atomic, _, order) = place.type.of, how.partition(" ")
        found = self.make(kind, f"load {atomic} {kind.stored}, {place.typed} {order}, align {kind.size}")
        return self.make(BOOL, f"trunc i8 {found.text} to i1") if kind == BOOL else found

    def write(self, place: Value, value: Value, how: str = "") -> None:
        """Store a value at an address."""
        kind, (atomic, _, order) = place.type.of, how.partition(" ")
        if kind == BOOL:
            value = self.cast(None, value, I8)
        self.emit(f"store {atomic} {value.typed}, {place.typed} {order}, align {kind.size}")

    def fill(
        self, node: Any, source: Any, start: Value, lengths: list[Value], indices: list[Any], value: Operand
    ) -> None:
        """`a[...] = value`: a loop over each dimension with a slice or without an index."""
        if not lengths:
            self.write(start, self.stored(source, value, start.type.of))
            return
        index, *rest = indices or [ast.Slice()]
        if not isinstance(index, ast.Slice):
            self.fill(node, source, self._step_in(index, start, lengths), lengths[1:], rest, value)
            return
        first, last = self._bounds(index, lengths[0])
        step = self.expr(index.step) if index.step else Known(1)
        if not (isinstance(step, Known) and isinstance(step.value, int) and step.value > 0):
            self.fail(node, "a slice's step is not a positive constant")

        def one(at: Value) -> None:
            self.fill(node, source, self.place(node, start, self._times(at, lengths[1:])), lengths[1:], rest, value)

        self._count_from(node, first, last, step, one)

    # --- calls --------------------------------------------------------------------------------------------------------

    def _e_Call(self, node: Any) -> Operand:
        if node.keywords or any(isinstance(x, ast.Starred) for x in node.args):
            self.fail(node, "a call has keywords or stars; expected plain arguments")
        of = self.expr(node.func)
        if not isinstance(of, Known):
            self.fail(node, f"{ast.unparse(node.func)} is {of.type}; expected a function")
        given, found = [self.expr(x) for x in node.args], of.value
        if isinstance(found, Type):
            if len(given) != 1:
                self.fail(node, f"{found} converts one value; {len(given)} are given")
            return self.cast(node.args[0], given[0], found)
        if isinstance(found, Function):
            return self._call_function(node, found, given)
        if isinstance(found, Extern):
            return self.call_extern(node, found, given)
        if not isinstance(found, Builtin):
            self.fail(node, f"{ast.unparse(node.func)} is not a function")
        try:
            return found.emit(self, node, *given)
        except TypeError as error:
            self.fail(node, f"{ast.unparse(node.func)} does not take these arguments: {error}")

    def call_extern(self, node: Any, of: Extern, given: list[Operand]) -> Operand:
        """Call a function of C."""
        if len(of.takes) != len(given):
            self.fail(node, f"{of.name} is given {len(given)} arguments; expected {len(of.takes)}")
        values = [self.cast(node, x, kind) for x, kind in zip(given, of.takes)]
        found: Operand = self.intrinsic(of.returns, of.name, *values)
        return found

    def _call_function(self, node: Any, of: Function, given: list[Operand]) -> Operand:
        inside = Emitter(self.unit, of)
        parameters = inside.parameters()
        if len(parameters) != len(given):
            self.fail(node, f"{of.name} is given {len(given)} arguments; expected {len(parameters)}")
        kinds: list[Type | Known] = []
        values = []
        for value, at in zip(given, node.args):
            if isinstance(value, Known) and not isinstance(value.value, bool | int | float | tuple):
                kinds.append(value)
            else:
                values.append(self.settled(at, value))
                kinds.append(values[-1].type)
        made = self.instance(of, kinds)
        if made is None:
            self.fail(node, f"{of.name} calls itself, which is not in the language")
        found: Operand = self.call(made.returns, made.symbol, values)
        return found

    def instance(self, of: Function, given: list[Type | Known]) -> Instance | None:
        """A function for some types and constants; None while it is being emitted."""
        done = self.unit.instances
        key = id(of.node), *(x if isinstance(x, Type) else ("known", type(x.value), x.value) for x in given)
        if key not in done:
            done[key] = None
            if "apart" in of.marks:
                done[key] = self._apart(of, given, key)
            else:
                done[key] = Emitter(self.unit, of).function(given, f"{of.name}.{len(done)}")
        return done[key]

    def _apart(self, of: Function, given: list[Type | Known], key: tuple[Any, ...]) -> Instance:
        """Put a function into an object of its own, named by a hash of its IR, so that all programs can share it."""
        key = self.unit.machine, id(of.names), *key
        if key not in _apart:
            unit = Sources(self.unit.machine, self.unit.builtins)
            unit.instances = {key: None for key, made in self.unit.instances.items() if made is None}  # under way
            made = Emitter(unit, of).function(given, of.name)
            text = unit.ir()
            symbol = f"{of.name}.{hashlib.sha256(text.encode()).hexdigest()[:32]}"
            head = f" {made.returns.ir} @"
            text = text.replace(f"define internal{head}{of.name}(", f"define{head}{symbol}(")
            _apart[key] = of, made._replace(symbol=symbol), unit.parts | {symbol: text}
        _, made, parts = _apart[key]
        self.unit.parts |= parts
        self.declare(made.symbol, made.returns, [leaf for kind in made.takes for leaf in kind.leaves])
        return made

    # --- statements ---------------------------------------------------------------------------------------------------

    def block(self, body: list[Any]) -> None:
        """Emit statements up to the first unreachable one."""
        for node in body:
            if self.dead:
                return
            method = getattr(self, f"_s_{type(node).__name__}", None)
            if method is None:
                self.fail(node, f"{type(node).__name__} is not in the language")
            method(node)

    def _s_Pass(self, node: Any) -> None:
        pass

    def _s_Expr(self, node: Any) -> None:
        if not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)):  # a docstring
            self.expr(node.value)

    def _s_Assign(self, node: Any) -> None:
        if isinstance(node.value, ast.Tuple) and all(isinstance(target, ast.Tuple) for target in node.targets):
            # All values are computed before any is set; constants take their targets' types.
            values = [self.expr(x) for x in node.value.elts]
            for target in node.targets:
                if len(target.elts) != len(values):
                    self.fail(node, f"{len(values)} values are set to {len(target.elts)} names")
                for each, value, source in zip(target.elts, values, node.value.elts):
                    self.assign(each, value, source)
            return
        value = self.expr(node.value)
        for target in node.targets:
            self.assign(target, value, node.value)

    def _s_AugAssign(self, node: Any) -> None:
        target, nodes = node.target, (node.target, node.value)
        if not isinstance(target, ast.Subscript):
            self.assign(target, self.binary(node, nodes, self.expr(target), self.expr(node.value)), node.value)
            return
        array = self._array_set(target)
        place = self.locate(target, array)
        if place.type.kind != "p":
            self.fail(target, f"{array.type} is changed as a whole here; expected an index for each dimension")
        found = self.binary(node, nodes, self.read(place), self.expr(node.value))
        self.write(place, self.stored(node.value, found, place.type.of))

    def _array_set(self, target: Any) -> Value:
        array = self.value(target.value)
        if array.type.kind != "a":
            self.fail(target, f"items of {array.type} can't be set; expected an array")
        return array

    def assign(self, target: Any, value: Operand, source: Any) -> None:
        """Assign to a name, to items of an array, or to a tuple of those."""
        if isinstance(target, ast.Tuple):
            value = self.settled(source, value)
            if value.type.kind != "t" or len(value.type.of) != len(target.elts):
                self.fail(target, f"{value.type} is set to {len(target.elts)} names")
            for k, each in enumerate(target.elts):
                self.assign(each, item(value, k), source)
        elif isinstance(target, ast.Subscript):
            array, indices = self._array_set(target), _indices(target)
            if len(indices) > array.type.extent:
                self.fail(target, f"{array.type} is given {len(indices)} indices")
            start, *lengths = parts(array)
            self.fill(target, source, start, lengths, indices, value)
        elif isinstance(target, ast.Name):
            self.set_variable(source, target.id, value)
        else:
            self.fail(target, f"{ast.unparse(target)} can't be set")

    def _s_If(self, node: Any) -> None:
        yes, no, end = self.labels("yes", "no", "end")
        self.test(node.test, yes, no)
        for label, body in ((yes, node.body), (no, node.orelse)):
            self.label(label)
            self.block(body)
            self.jump(end)
        self.label(end)

    def _s_While(self, node: Any) -> None:
        head, body, end = self.labels("head", "body", "end")
        self.label(head)
        self.test(node.test, body, end)
        self.label(body)
        self._loop(node, head, end)
        self.jump(head)
        self.label(end)

    def _loop(self, node: Any, further: str, end: str) -> None:
        if node.orelse:
            self.fail(node, "a loop has an else, which is not in the language")
        self.frame.loops.append((further, end))
        self.block(node.body)
        self.frame.loops.pop()

    def _s_Break(self, node: Any) -> None:
        self.jump(self.frame.loops[-1][1])

    def _s_Continue(self, node: Any) -> None:
        self.jump(self.frame.loops[-1][0])

    def _s_Return(self, node: Any) -> None:
        if self.frame.give is not None:
            self.fail(node, f"{self.frame.function.name} yields and returns; expected break, or an if around the rest")
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            kind, text = NONE, "ret void"
        else:
            found = self.expr(node.value)
            value = (
                self.settled(node.value, found) if self.returns is None else self.to(node.value, found, self.returns)
            )
            kind, text = value.type, f"ret {self._whole(value)}"
        if self.returns not in (None, kind):
            self.fail(
                node, f"{self.frame.function.name} returns {kind} here and {self.returns} before; expected one type"
            )
        self.returns = kind
        self.emit(text)
        self.dead = True

    def _whole(self, value: Value) -> str:
        """A value as a single typed operand."""
        if value.type.kind not in "at":
            return value.typed
        whole = Value(value.type, "poison")
        for k, part in enumerate(parts(value)):
            whole = self.make(value.type, f"insertvalue {value.type.ir} {whole.text}, {part.typed}, {k}")
        return f"{value.type.ir} {whole.text}"

    # --- loops over something -----------------------------------------------------------------------------------------

    def _s_For(self, node: Any) -> None:
        call = node.iter
        if isinstance(call, ast.Tuple):  # of constants: the body is unrolled
            self._unrolled(node, call)
            return
        of = self.expr(call.func if isinstance(call, ast.Call) else call)
        if isinstance(of, Known) and isinstance(of.value, Function):
            self._over_generator(node, of.value)
        elif isinstance(of, Value) and of.type.kind == "a":
            self._over_items(node, of)
        elif isinstance(of, Known) and of.value is range:
            self._over_range(node)
        else:
            self.fail(node, "a loop is over something else than a range; expected range(...)")

    def _over_range(self, node: Any) -> None:
        call = node.iter
        if not isinstance(node.target, ast.Name) or not 1 <= len(call.args) <= 3 or call.keywords:
            self.fail(node, "expected `for name in range(...)`, of one to three numbers")
        found = [self.expr(x) for x in call.args]
        begin, stop = (Known(0), found[0]) if len(found) == 1 else (found[0], found[1])
        first, last = self.same((call.args[0], call.args[min(1, len(found) - 1)]), begin, stop)
        step = found[2] if len(found) == 3 else Known(1)
        if isinstance(step, Value):
            step = self.to(call.args[2], step, first.type)
        elif not isinstance(step.value, int) or not step.value:
            self.fail(node, "the step of a range is not an integer other than 0")
        self._count_from(node, first, last, step, lambda count: self.set_variable(node, node.target.id, count), node)

    def _over_items(self, node: Any, array: Value) -> None:
        """A loop over the items or rows of an array."""
        start, length, *lengths = parts(array)

        def body(count: Value) -> None:
            place = self.place(node, start, self._times(count, lengths))
            row = joined(array_of(array.type.of, len(lengths)), place, *lengths) if lengths else self.read(place)
            self.assign(node.target, row, node.iter)

        self._count_from(node, Value(I64, "0"), length, Known(1), body, node)

    def _over_generator(self, node: Any, of: Function) -> None:
        """A loop over a generator: its body is emitted with the loop's body in place of each `yield`."""
        parameters, arguments = of.node.args.args, node.iter.args
        if node.orelse or node.iter.keywords or len(arguments) != len(parameters):
            self.fail(node, f"expected a loop without else over {of.name}(...), of {len(parameters)} arguments")
        (end,) = self.labels("end")
        outside, given = self.frame, [self.value(x) for x in arguments]

        def give(value: Operand) -> None:
            (further,) = self.labels("further")
            generator, self.frame = self.frame, outside
            self.assign(node.target, value, node.iter)
            self._loop(node, further, end)
            self.frame = generator
            self.label(further)

        self.frame = Frame(of, give)
        for parameter, value in zip(parameters, given):
            self.bind(parameter, value)
        self.block(of.node.body)
        self.frame = outside
        self.label(end)

    def _e_Yield(self, node: Any) -> Operand:
        if self.frame.give is None or node.value is None:
            self.fail(node, "a generator is only looped over")
        self.frame.give(self.expr(node.value))
        return Known(None)

    def _unrolled(self, node: Any, items: Any) -> None:
        if node.orelse or not isinstance(node.target, ast.Name):
            self.fail(node, "expected `for name in (...)`, without else")
        if any(isinstance(x, ast.Break | ast.Continue) for each in node.body for x in ast.walk(each)):
            self.fail(node, "a loop over a tuple is unrolled, so that it has no break and no continue")
        for part in items.elts:
            value = self.expr(part)
            if not isinstance(value, Known):
                self.fail(part, "a loop over a tuple is over a value; expected what is known while compiling")
            self.frame.bound[node.target.id] = value
            self.block(node.body)
        self.frame.bound.pop(node.target.id, None)

    def _count_from(
        self, node: Any, first: Value, last: Value, by: Operand, do: Callable[[Value], None], loop: Any = None
    ) -> None:
        """A loop that counts as `range` does: `do`, then the body of `loop`, if that is not None.

        Loops with other steps than 1 and -1 count their iterations, as the counter may overflow after the last.
        """
        kind, step = first.type, by.value if isinstance(by, Known) else 0
        if kind.kind not in "iu":
            self.fail(node, f"a range is over {kind}; expected integers")
        place, turns = self.variable("count", kind), None
        self.store(place, first)
        if isinstance(by, Known):
            by = Value(kind, str(step % (1 << kind.bits)))
        if abs(step) != 1:
            turns = self.variable("turns", kind)
            self.store(turns, self._turns(first, last, by, step))
        head, body, further, end = self.labels("head", "body", "further", "end")
        self.label(head)
        count = self.load(place)
        if turns is None:
            goes_on = self.compare("gt" if step < 0 else "lt", count, last)
        else:
            left = self.load(turns)
            goes_on = self.compare("ne", left, Value(kind, "0"))
            self.store(turns, self.op("sub", left, Value(kind, "1")))
        self.jump(body, end, condition=goes_on)
        self.label(body)
        do(count)
        if loop is not None:
            self._loop(loop, further, end)
        self.label(further)
        wraps = "" if step != 1 else "nsw" if kind.kind == "i" else "nuw"
        self.store(place, self.op(f"add {wraps}", count, by))
        self.jump(head)
        self.label(end)

    def _turns(self, first: Value, last: Value, by: Value, step: int) -> Value:
        """The number of iterations: (distance + |step| - 1) // |step|, without overflow; 0 if the step is 0.

        `step` is the value of `by` if that is a constant, else 0.
        """
        kind = first.type
        zero, one = Value(kind, "0"), Value(kind, "1")
        if step:
            (low, high), size = (first, last) if step > 0 else (last, first), Value(kind, str(abs(step)))
        elif kind.kind == "u":
            low, high, size = first, last, by
        else:
            back = self.compare("lt", by, zero)
            low, high = self.choose(back, last, first), self.choose(back, first, last)
            size = self.choose(back, self.op("sub", zero, by), by)
        some = self.compare("lt", low, high)
        if not step:
            stays = self.compare("eq", size, zero)
            size, some = self.choose(stays, one, size), self.choose(stays, Value(BOOL, "false"), some)
        before = self.op("sub", self.op("sub", high, low), one)
        return self.choose(some, self.op("add", self.op("udiv", before, size), one), zero)


def joined(kind: Type, *values: Value) -> Value:
    """A value of the leaves of several."""
    return Value(kind, *(name for value in values for name in value.names))


def joined_tuple(values: Iterable[Value]) -> Value:
    """A tuple of values."""
    values = list(values)
    return joined(tuple_of(*(value.type for value in values)), *values)


def parts(value: Value) -> list[Value]:
    """The leaves of a value, as values."""
    return [Value(leaf, name) for leaf, name in zip(value.type.leaves, value.names)]


def item(value: Value, k: int) -> Operand:
    """An item of a tuple."""
    kind, first = value.type.of[k], sum(len(before.leaves) for before in value.type.of[:k])
    return Known(None) if kind == NONE else Value(kind, *value.names[first : first + len(kind.leaves)])


def listed(values: Iterable[Value]) -> str:
    """Values as a list of arguments in LLVM IR."""
    return ", ".join(value.typed for value in values if value.names)


@functools.cache
def _names_set(node: ast.FunctionDef) -> frozenset[str]:
    """The names that a function sets."""
    return frozenset(x.id for x in ast.walk(node) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store))


def _indices(node: Any) -> list[Any]:
    """The indices of a subscript."""
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _wrapped(number: int, kind: Type) -> int:
    """The number of an integer type with the same low bits."""
    below = 1 << kind.bits - 1 if kind.kind == "i" else 0
    return (number + below) % (1 << kind.bits) - below


def float_text(number: float, bits: int) -> str:
    """A float in LLVM IR: the bits of a float64, of a number rounded to `bits` bits."""
    with np.errstate(over="ignore"):
        rounded = np.dtype(f"f{bits // 8}").type(number)
    if bits == 16:
        return f"0xH{rounded.view(np.uint16):04X}"
    return "0x" + struct.pack(">d", rounded).hex().upper()
