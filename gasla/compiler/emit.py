"""Writes one function of the kernel language as LLVM IR, statement by statement.

A variable is a place on the stack, which LLVM turns into registers. What is known while compiling (a number without a
type yet, a type, a function) is computed here and leaves no instruction: an `if` on it emits one branch alone.
"""

from __future__ import annotations

import ast
import copy
import operator
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple, NoReturn, Protocol

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
    address_of,
    array_of,
    meeting,
    scalar_type,
    tuple_of,
    vector_of,
)


class Value(NamedTuple):
    """A value of the running kernel: its type, and its name or constant in LLVM IR.

    An array may be in parts, its address and its lengths, instead: that leaves LLVM less to take apart.
    """

    type: Type
    text: str
    parts: tuple[Any, ...] = ()


class Known(NamedTuple):
    """A value known while compiling: a number, a tuple of numbers, a type, a function."""

    value: Any


class Function(NamedTuple):
    """A function's text, where it stands, and what its names mean there."""

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
    takes: list[Type]  # without what is known while compiling


Operand = Value | Known


class Builtin:
    """A function that the language comes with: `emit(emitter, node, *arguments)` writes what stands for a call."""

    def __init__(self, name: str, emit: Callable[..., Any]) -> None:
        self.name, self.emit = name, emit

    def __call__(self, *_: Any) -> Any:
        """Refuse: compiled code alone can do this."""
        raise TypeError(f"{self.name} is called in kernels alone")

    def __repr__(self) -> str:
        return f"<{self.name} of the kernel language>"


class Extern(NamedTuple):
    """A function of C."""

    name: str
    returns: Type
    takes: tuple[Type, ...] = ()

    def __call__(self, *_: Any) -> Any:
        """Refuse: compiled code alone calls it."""
        raise TypeError(f"{self.name} is called in kernels alone")


OPERATORS: dict[type, tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("sub", operator.sub),
    ast.Mult: ("mul", operator.mul),
    ast.Div: ("div", operator.truediv),
    ast.FloorDiv: ("quotient", operator.floordiv),
    ast.Mod: ("remainder", operator.mod),
    ast.BitAnd: ("and", operator.and_),
    ast.BitOr: ("or", operator.or_),
    ast.BitXor: ("xor", operator.xor),
    ast.LShift: ("shl", operator.lshift),
    ast.RShift: ("shr", operator.rshift),
    ast.Pow: ("pow", operator.pow),
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
MARKS = {"inline": "alwaysinline", "noinline": "noinline"}  # decorators, and the attributes of LLVM that they are
CONSTRUCTORS: dict[str, Callable[[Type, int], Type]] = {
    "array": array_of,
    "vec": vector_of,
}  # of types: array[f64], array[f64, 2], vec[f64, 4]


class Sources(Protocol):
    """What an emitter asks of the sources that are compiled together."""

    machine: str
    text: list[str]
    heads: dict[str, str]

    def meaning(self, value: Any) -> Operand | None:
        """What an object of Python stands for in a text; None if nothing."""

    def declare(self, name: str, returns: Type, takes: list[Type]) -> None:
        """Note a function of LLVM or C that the text calls."""

    def instance(self, function: Function, given: list[Type | Known], fail: Callable[[str], NoReturn]) -> Instance:
        """Compile a function for some types, and for what is known; once for each."""


class Emitter:
    """Emits one function for given types of its parameters."""

    def __init__(self, unit: Sources, function: Function) -> None:
        self.unit, self.at = unit, function
        self.lines: list[str] = []
        self.slots: list[str] = []
        self.variables: dict[str, tuple[Type, list[str]]] = {}
        self.known: dict[str, Known] = {}
        self.loops: list[tuple[str, str]] = []
        self.returns: Type | None = None
        self.flags = "reassoc nsz " if "reassociating" in function.marks else ""
        self.dead = False  # whether what comes next can't be reached
        self.assigned: frozenset[str] = frozenset()  # variables that are set by now, on every path
        self.arrivals: dict[str, frozenset[str]] = {}  # of each label, what is set on all jumps to it so far
        self._yields: list[Callable[[Operand], None]] = []  # what a generator that is being written out gives to
        self._count = 0

    # --- a function ---------------------------------------------------------------------------------------------------

    def function(self, given: list[Type | Known], symbol: str) -> Instance:
        """Emit the function; `given` has a type or a known value for each parameter."""
        node, takes, header = self.at.node, [], []
        for parameter, kind in zip(self.parameters(), given, strict=True):
            if isinstance(kind, Known):
                self.known[parameter.arg] = kind
                continue
            takes.append(kind)
            value = Value(kind, f"%arg.{parameter.arg}")
            if kind.kind == "a":
                value = Value(kind, "", tuple(Value(t, f"{value.text}.{k}") for k, t in enumerate(part_types(kind))))
            header += [f"{part.type.ir} {part.text}" for part in value.parts or (value,)]
            self.set_variable(parameter, parameter.arg, value)
        self.returns = self.annotated(node.returns)
        self.block(node.body)
        if not self.dead:
            if self.returns not in (None, NONE):
                self.fail(node, f"{node.name} may end without returning {self.returns}; return it on every path")
            self.emit("ret void")
        self.returns = self.returns or NONE
        marks = " ".join(MARKS[mark] for mark in sorted(self.at.marks & MARKS.keys()))
        head = f"define internal {self.returns.ir} @{symbol}({', '.join(header)}) nounwind {marks} {{\nentry:"
        self.unit.text.append("\n".join([head, *self.slots, *self.lines, "}"]))
        return Instance(symbol, self.returns, takes)

    def parameters(self) -> list[ast.arg]:
        """The parameters."""
        a = self.at.node.args
        if a.posonlyargs or a.kwonlyargs or a.vararg or a.kwarg or a.defaults:
            self.fail(self.at.node, f"{self.at.name} has special parameters; expected plain ones, without defaults")
        return a.args

    def fail(self, node: Any, message: str) -> NoReturn:
        """Raise an error that shows the line of a node."""
        number = getattr(node, "lineno", self.at.node.lineno)
        text = self.at.lines[number - 1].strip() if number <= len(self.at.lines) else ""
        raise CompileError(f"{self.at.file}:{number}: {message}\n    {text}")

    def annotated(self, node: Any) -> Type | None:
        """The type that an annotation names, if it does: a Python type such as `int` says nothing here."""
        if node is None or (isinstance(node, ast.Name) and node.id in ("int", "float", "Any")):
            return None
        if isinstance(node, ast.Attribute | ast.BinOp) or (isinstance(node, ast.Constant) and node.value is None):
            return None
        return self.type_at(node)

    def type_at(self, node: Any) -> Type:
        """The type that an annotation names."""
        if isinstance(node, ast.Constant) and node.value is None:
            return NONE
        found = self.expr(node)
        if not (isinstance(found, Known) and isinstance(found.value, Type)):
            self.fail(node, f"{ast.unparse(node)} is not a type; expected one such as i64, f64 or array[f64]")
        return found.value

    # --- instructions, labels, places on the stack --------------------------------------------------------------------

    def emit(self, text: str) -> None:
        """Add an instruction, unless it can't be reached."""
        if not self.dead:
            self.lines.append("  " + text)

    def make(self, kind: Type, text: str) -> Value:
        """The value of an instruction."""
        self._count += 1
        self.emit(f"%t{self._count} = {text}")
        return Value(kind, f"%t{self._count}")

    def labels(self, *names: str) -> list[str]:
        """Labels that no other place has."""
        self._count += 1
        return [f"{name}.{self._count}" for name in names]

    def jump(self, label: str) -> None:
        """End a block."""
        if not self.dead:
            self.emit(f"br label %{label}")
            self._arrive(label)
        self.dead = True

    def branch(self, condition: Value, yes: str, no: str) -> None:
        """End a block by a choice."""
        if not self.dead:
            self.emit(f"br i1 {condition.text}, label %{yes}, label %{no}")
            self._arrive(yes)
            self._arrive(no)
        self.dead = True

    def _arrive(self, label: str) -> None:
        self.arrivals[label] = self.arrivals.get(label, self.assigned) & self.assigned

    def label(self, label: str) -> None:
        """Begin a block; what comes next is dead if nothing leads here."""
        self.jump(label)
        self.dead = label not in self.arrivals
        if not self.dead:
            self.assigned = self.arrivals[label]
            self.lines.append(f"{label}:")

    def slot(self, name: str, kind: Type) -> str:
        """A new place on the stack."""
        text = f"%{name}.{len(self.slots)}"
        self.slots.append(f"  {text} = alloca {kind.ir}")
        return text

    def set_variable(self, node: Any, name: str, value: Value) -> None:
        """Set a variable, whose type is that of what it is first set to."""
        if name in self.known:
            self.fail(node, f"{name} is known while compiling; expected another name for what is set here")
        if name not in self.variables:
            kinds = part_types(value.type) if value.type.kind == "a" else [value.type]
            self.variables[name] = value.type, [self.slot(f"var.{name}", kind) for kind in kinds]
        kind, slots = self.variables[name]
        if value.type != kind:
            value = self.to(node, value, kind)
        for slot, part in zip(slots, self.parts(value) if kind.kind == "a" else [value], strict=True):
            self.emit(f"store {part.type.ir} {part.text}, ptr {slot}")
        self.assigned |= {name}

    # --- types --------------------------------------------------------------------------------------------------------

    def to(self, node: Any, value: Operand, kind: Type) -> Value:
        """A value as one of a type that holds all of its own."""
        if isinstance(value, Known):
            return self.constant(node, value.value, kind)
        have = value.type
        if have == kind:
            return value
        if have.kind == kind.kind == "t" and len(have.of) == len(kind.of):
            return self.make_tuple([self.to(node, self.item(value, k), item) for k, item in enumerate(kind.of)])
        if meeting(have, kind) != kind:
            self.fail(node, f"this is {have}, where {kind} is expected; write {kind}(...) to convert it")
        if kind.kind == "v":
            return self.spread(self.to(node, value, kind.of), kind.extent)
        return self.cast(node, value, kind)

    def stored(self, node: Any, value: Operand, kind: Type) -> Value:
        """A value as an array's item, which NumPy converts it to; but a float is no integer, nor a number a bool."""
        if isinstance(value, Known) or value.type == kind or kind.kind not in "iuf":
            return self.to(node, value, kind)
        if value.type.kind not in ("biuf" if kind.kind == "f" else "biu"):
            self.fail(node, f"{value.type} is stored in an array of {kind}; write {kind}(...) to convert it")
        return self.cast(node, value, kind)

    def constant(self, node: Any, number: Any, kind: Type) -> Value:
        """A number known while compiling, as one of a type."""
        if kind.kind == "v":
            return self.spread(self.constant(node, number, kind.of), kind.extent)
        if kind.kind == "t" and isinstance(number, tuple) and len(number) == len(kind.of):
            return self.make_tuple([self.constant(node, x, t) for x, t in zip(number, kind.of, strict=True)])
        if kind == BOOL and isinstance(number, bool):
            return Value(BOOL, "true" if number else "false")
        if isinstance(number, int | float):
            if kind.kind == "f":
                return Value(kind, float_text(float(number), kind.bits))
            low = -(1 << kind.bits - 1) if kind.kind == "i" else 0
            if kind.kind in "iu" and isinstance(number, int) and low <= number < low + (1 << kind.bits):
                return Value(kind, str(int(number)))
        shown = number.name if isinstance(number, Function) else repr(number)
        self.fail(node, f"{shown} is not a value of {kind}")

    def settled(self, node: Any, value: Operand) -> Value:
        """A value with a type: a number that meets no other is i64, f64 or bool."""
        if isinstance(value, Value):
            return value
        number = value.value
        if isinstance(number, tuple):
            return self.make_tuple([self._tuple_item(node, Known(x)) for x in number])
        kinds: dict[type, Type] = {bool: BOOL, int: I64, float: F64}
        if type(number) not in kinds:
            self.fail(node, f"{ast.unparse(node)} is not a value; expected a number")
        return self.constant(node, number, kinds[type(number)])

    def same(self, nodes: tuple[Any, Any], a: Operand, b: Operand) -> tuple[Value, Value]:
        """Two values as those of one type, as NumPy has them meet."""
        left, right = nodes
        if isinstance(a, Known) and isinstance(b, Known):
            a = self.settled(left, a)
        if isinstance(a, Known) or isinstance(b, Known):
            known, typed = (a, b) if isinstance(a, Known) else (b, a)
            kind = _beside(known.value, typed.type)  # type: ignore[union-attr]
        else:
            found = meeting(a.type, b.type)
            kind = found or self.fail(right, f"{a.type} meets {b.type}, and no type holds both; convert one of them")
        return self.to(left, a, kind), self.to(right, b, kind)

    def cast(self, node: Any, value: Operand, kind: Type) -> Value:
        """`kind(value)`. A float becomes the nearest integer towards 0 that there is; NaN becomes 0."""
        if isinstance(value, Known):
            number = value.value
            if kind.kind in "iu" and isinstance(number, int | bool):
                number = int(number) % (1 << kind.bits)
                number -= (1 << kind.bits) * (kind.kind == "i" and number >> kind.bits - 1)
            elif kind.kind == "f" and isinstance(number, bool):
                number = int(number)
            elif kind == BOOL and not isinstance(number, tuple):
                number = bool(number)
            if kind.kind not in "iu" or not isinstance(number, float):
                return self.constant(node, number, kind)
            value = self.settled(node, value)
        kind = _as_wide(kind, value)
        have, a, b = value.type, value.type.scalar, kind.scalar
        if have == kind:
            return value
        lanes = have.extent if have.kind == "v" else 0
        if (kind.extent if kind.kind == "v" else 0) != lanes:
            self.fail(node, f"there is no conversion from {have} to {kind}")
        if b == BOOL and a.kind in "iuf":
            return self.compare("ne", value, self.constant(node, 0, have))
        if a.kind in "iu" and b.kind in "iu":
            if a.bits == b.bits:
                return Value(kind, value.text)
            how = "trunc" if a.bits > b.bits else "sext" if a.kind == "i" else "zext"
        elif a == BOOL and b.kind in "iu":
            how = "zext"
        elif a.kind in "biu" and b.kind == "f":
            how = "sitofp" if a.kind == "i" else "uitofp"
        elif a.kind == b.kind == "f":
            how = "fpext" if a.bits < b.bits else "fptrunc"
        elif a.kind == "f" and b.kind in "iu":
            how = "fptosi" if b.kind == "i" else "fptoui"
            of = f"v{lanes}" if lanes else ""
            return self.intrinsic(kind, f"llvm.{how}.sat.{of}i{b.bits}.{of}f{a.bits}", value)
        else:
            self.fail(node, f"there is no conversion from {have} to {kind}")
        return self.make(kind, f"{how} {have.ir} {value.text} to {kind.ir}")

    def intrinsic(self, kind: Type, name: str, *values: Value, flags: str = "") -> Any:
        """Call a function of LLVM or of C; Known(None) if it returns nothing."""
        self.unit.declare(name, kind, [value.type for value in values])
        return self._call(f"call {flags}{kind.ir} @{name}({_arguments(values)})", kind)

    def call_extern(self, node: Any, of: Extern, given: list[Operand]) -> Operand:
        """Call a function of C."""
        if len(of.takes) != len(given):
            self.fail(node, f"{of.name} is given {len(given)} arguments; expected {len(of.takes)}")
        values = [self.cast(node, x, kind) for x, kind in zip(given, of.takes, strict=True)]
        found: Operand = self.intrinsic(of.returns, of.name, *values)
        return found

    def _call(self, text: str, returns: Type) -> Operand:
        if returns != NONE:
            return self.make(returns, text)
        self.emit(text)
        return Known(None)

    # --- tuples and vectors -------------------------------------------------------------------------------------------

    def item(self, value: Value, k: int) -> Any:
        """An item of a tuple."""
        if value.type.of[k] == NONE:
            return Known(None)
        return self.make(value.type.of[k], f"extractvalue {value.type.ir} {value.text}, {k}")

    def make_tuple(self, items: list[Value]) -> Value:
        """A tuple of values."""
        return self._composed(tuple_of(*[item.type for item in items]), items)

    def _composed(self, kind: Type, parts: list[Value]) -> Value:
        if kind.kind == "a":
            return Value(kind, "", tuple(parts))
        return self._whole(kind, parts)

    def whole(self, value: Value) -> Value:
        """A value that has one name in LLVM IR."""
        return self._whole(value.type, value.parts) if value.parts else value

    def _whole(self, kind: Type, parts: Sequence[Value]) -> Value:
        whole = Value(kind, "poison")
        for k, part in enumerate(map(self.whole, parts)):
            if part.type != NONE:
                whole = self.make(kind, f"insertvalue {kind.ir} {whole.text}, {part.type.ir} {part.text}, {k}")
        return whole

    def _tuple_item(self, node: Any, value: Operand) -> Value:
        """A value that a tuple holds; None takes no room there, and is known as such where it is taken out."""
        return Value(NONE, "poison") if value == Known(None) else self.settled(node, value)

    def spread(self, value: Value, lanes: int) -> Value:
        """A vector of one value in all lanes."""
        kind = vector_of(value.type, lanes)
        one = self.make(kind, f"insertelement {kind.ir} poison, {value.type.ir} {value.text}, i32 0")
        return self.make(kind, f"shufflevector {kind.ir} {one.text}, {kind.ir} poison, <{lanes} x i32> zeroinitializer")

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

    def truth(self, node: Any) -> Operand:
        """A condition: known, or a bool."""
        found = self.expr(node)
        if isinstance(found, Known):
            return Known(bool(found.value))
        if found.type != BOOL and found.type.kind not in "iuf":
            self.fail(node, f"{found.type} is neither true nor false; expected a bool or a number")
        return self.cast(node, found, BOOL)

    def _e_Constant(self, node: Any) -> Known:
        if not isinstance(node.value, bool | int | float | None):
            self.fail(node, f"{node.value!r} is not in the language; expected a number")
        return Known(node.value)

    def _e_Name(self, node: Any) -> Operand:
        if node.id in self.variables:
            if node.id not in self.assigned and not self.dead:
                self.fail(node, f"{node.id} may not be set here; expected it to be set on every path")
            kind, slots = self.variables[node.id]
            if kind.kind == "a":
                loads = zip(part_types(kind), slots, strict=True)
                return Value(kind, "", tuple(self.make(t, f"load {t.ir}, ptr {slot}") for t, slot in loads))
            return self.make(kind, f"load {kind.ir}, ptr {slots[0]}")
        found: Operand | None = self.known.get(node.id)
        if found is None and node.id in self.at.names:
            found = self.meaning(node, self.at.names[node.id])
        if found is None and node.id in PYTHONS:
            found = self.unit.meaning(PYTHONS[node.id])
        return found or self.fail(node, f"{node.id} is not known here")

    def meaning(self, node: Any, value: Any) -> Operand:
        """What an object of Python stands for."""
        if isinstance(value, np.generic):
            return self.constant(node, value.item(), scalar_type(value.dtype))
        if isinstance(value, np.ndarray):
            return self._table(value)
        found = self.unit.meaning(value)
        return found or self.fail(node, f"{ast.unparse(node)}, {value!r}, is not in the language")

    def _table(self, values: np.ndarray[Any, Any]) -> Value:
        """An array of constants."""
        name, kind = f"@table.{len(self.unit.heads)}", scalar_type(values.dtype)
        words = values.tobytes()
        text = "".join(f"\\{byte:02X}" for byte in words)
        self.unit.heads[name] = f'{name} = internal constant [{len(words)} x i8] c"{text}", align 16'
        parts = [Value(address_of(kind), name), *(Value(I64, str(length)) for length in values.shape)]
        return self._composed(array_of(kind, values.ndim), parts)

    def _e_Tuple(self, node: Any) -> Operand:
        items = [self.expr(x) for x in node.elts]
        if all(isinstance(x, Known) for x in items):
            return Known(tuple(x.value for x in items))  # type: ignore[union-attr]
        return self.make_tuple([self._tuple_item(n, x) for n, x in zip(node.elts, items, strict=True)])

    def _e_UnaryOp(self, node: Any) -> Operand:
        is_not = isinstance(node.op, ast.Not)
        a = self.truth(node.operand) if is_not else self.expr(node.operand)
        if isinstance(a, Known):
            return Known(self._plainly(node, UNARY[type(node.op)], a.value))
        if is_not:
            return self.make(BOOL, f"xor i1 {a.text}, true")
        kind = a.type.scalar.kind
        if isinstance(node.op, ast.Invert) and kind in "iub":
            ones = self.constant(node, True, a.type) if kind == "b" else self._ones(node, a.type)
            return self.make(a.type, f"xor {a.type.ir} {a.text}, {ones.text}")
        if isinstance(node.op, ast.USub) and kind == "f":
            return self.make(a.type, f"fneg {self.flags}{a.type.ir} {a.text}")
        if isinstance(node.op, ast.USub) and kind in "iu":
            return self.make(a.type, f"sub {a.type.ir} zeroinitializer, {a.text}")
        if isinstance(node.op, ast.UAdd) and kind in "iuf":
            return a
        self.fail(node, f"{ast.unparse(node)} is not in the language for {a.type}")

    def _ones(self, node: Any, kind: Type) -> Value:
        return self.constant(node, -1 if kind.scalar.kind == "i" else (1 << kind.scalar.bits) - 1, kind)

    def _plainly(self, node: Any, function: Callable[..., Any], *given: Any) -> Any:
        """What Python makes of numbers known while compiling."""
        try:
            return function(*given)
        except (TypeError, ValueError, ArithmeticError) as error:
            self.fail(node, f"{ast.unparse(node)} can't be computed while compiling: {error}")

    def _e_BinOp(self, node: Any) -> Operand:
        return self.binary(node, (node.left, node.right), self.expr(node.left), self.expr(node.right))

    def binary(self, node: Any, nodes: tuple[Any, Any], a: Operand, b: Operand) -> Operand:
        """The value of `a op b`, where `node` has the operator."""
        what, plain = OPERATORS.get(type(node.op), ("", None))
        if plain is None:
            self.fail(node, f"{type(node.op).__name__} is not in the language")
        if isinstance(a, Known) and isinstance(b, Known):
            if what in ("shl", "pow") and abs(b.value) >= 64:
                self.fail(node, f"{ast.unparse(node)} has no type, and more than 64 bits")
            return Known(self._plainly(node, plain, a.value, b.value))
        if what in ("shl", "shr"):
            a, b = self._shifting(node, nodes, a, b)
        a, b = self.same(nodes, a, b)
        kind = a.type.scalar.kind
        if what == "div" and a.type.kind in "iu":
            a, b, kind = self.cast(node, a, F64), self.cast(node, b, F64), "f"
        if a.type == BOOL and what not in ("and", "or", "xor"):
            self.fail(node, f"bool has no operator {what}; write i64(...)")
        if kind == "f" and what in ("add", "sub", "mul", "div"):
            return self.make(a.type, f"f{what} {self.flags}{a.type.ir} {a.text}, {b.text}")
        if (kind in "iu" and what in ("add", "sub", "mul")) or (kind in "iub" and what in ("and", "or", "xor")):
            return self.make(a.type, f"{what} {a.type.ir} {a.text}, {b.text}")
        if kind in "iu" and what in ("shl", "shr"):
            return self._shift(a, b, what)
        if a.type.kind in "iu" and what in ("quotient", "remainder"):
            return self._divide(a, b, what)
        self.fail(node, f"{a.type} has no operator {what}; of integers, convert to f64 before a division")

    def _shifting(self, node: Any, nodes: tuple[Any, Any], a: Operand, b: Operand) -> tuple[Operand, Operand]:
        """What is shifted keeps its type where no other holds both; how far is an integer of any type."""
        are_integers = isinstance(a, Value) and isinstance(b, Value) and a.type.kind in "iu" and b.type.kind in "iu"
        if are_integers and meeting(a.type, b.type) is None:  # type: ignore[union-attr]
            b = self.cast(nodes[1], b, a.type)  # type: ignore[union-attr]
        return a, b

    def _shift(self, a: Value, b: Value, what: str) -> Value:
        """Shift by `b` bits; as NumPy, by the width or more gives 0, or the sign."""
        kind, bits = a.type, a.type.scalar.bits
        name = "shl" if what == "shl" else "ashr" if kind.scalar.kind == "i" else "lshr"
        if b.text.isdigit() and int(b.text) < bits:
            return self.make(kind, f"{name} {kind.ir} {a.text}, {b.text}")
        last = self.constant(None, bits - 1, kind)
        is_less = self.make(self._truths(kind), f"icmp ule {kind.ir} {b.text}, {last.text}")
        choice = f"select {is_less.type.ir} {is_less.text}, {kind.ir}"
        by = self.make(kind, f"{choice} {b.text}, {kind.ir} {last.text}")
        shifted = self.make(kind, f"{name} {kind.ir} {a.text}, {by.text}")
        return shifted if name == "ashr" else self.make(kind, f"{choice} {shifted.text}, {kind.ir} zeroinitializer")

    def _divide(self, a: Value, b: Value, what: str) -> Value:
        """Divide rounding down, as Python does; 0 where b is 0, and the one quotient that overflows wraps."""
        kind, ir = a.type, a.type.ir
        if b.text.isdigit() and b.text != "0":
            return self._floor_divide(a, b, what)
        zero = self.make(BOOL, f"icmp eq {ir} {b.text}, 0")
        if kind.kind == "u":
            by = self.make(kind, f"select i1 {zero.text}, {ir} 1, {ir} {b.text}")
            found = self._floor_divide(a, by, what)
        else:  # the processor faults at the least integer by -1
            minus = self.make(BOOL, f"icmp eq {ir} {b.text}, -1")
            unsafe = self.make(BOOL, f"or i1 {zero.text}, {minus.text}")
            by = self.make(kind, f"select i1 {unsafe.text}, {ir} 1, {ir} {b.text}")
            found = self._floor_divide(a, by, what)
            if what == "quotient":
                negative = self.make(kind, f"sub {ir} 0, {a.text}")
                found = self.make(kind, f"select i1 {minus.text}, {ir} {negative.text}, {ir} {found.text}")
        return self.make(kind, f"select i1 {zero.text}, {ir} 0, {ir} {found.text}")

    def _floor_divide(self, a: Value, b: Value, what: str) -> Value:
        kind, ir = a.type, a.type.ir
        if kind.kind == "u":
            return self.make(kind, f"{'udiv' if what == 'quotient' else 'urem'} {ir} {a.text}, {b.text}")
        quotient, rest = (self.make(kind, f"{name} {ir} {a.text}, {b.text}") for name in ("sdiv", "srem"))
        signs = self.make(kind, f"xor {ir} {rest.text}, {b.text}")
        differ, some = (
            self.make(BOOL, f"icmp slt {ir} {signs.text}, 0"),
            self.make(BOOL, f"icmp ne {ir} {rest.text}, 0"),
        )
        is_off = self.make(BOOL, f"and i1 {differ.text}, {some.text}")
        if what == "quotient":
            one = self.make(kind, f"sext i1 {is_off.text} to {ir}")
            return self.make(kind, f"add {ir} {quotient.text}, {one.text}")
        more = self.make(kind, f"select i1 {is_off.text}, {ir} {b.text}, {ir} 0")
        return self.make(kind, f"add {ir} {rest.text}, {more.text}")

    def _e_Compare(self, node: Any) -> Operand:
        """A comparison; a chain looks at what comes later only if all before holds."""
        sides = [node.left, *node.comparators]
        left = self.expr(sides[0])

        def compare(k: int) -> Operand:
            nonlocal left
            right = self.expr(sides[k + 1])
            if isinstance(node.ops[k], ast.Is | ast.IsNot):
                if not (isinstance(right, Known) and right.value is None):
                    self.fail(node, "`is` is for None alone")
                is_none = isinstance(left, Known) and left.value is None
                return Known(is_none == isinstance(node.ops[k], ast.Is))
            what, plain = COMPARISONS.get(type(node.ops[k]), ("", None))
            if plain is None:
                self.fail(node, f"{type(node.ops[k]).__name__} is not in the language; expected == != < <= > or >=")
            if isinstance(left, Known) and isinstance(right, Known):
                found: Operand = Known(self._plainly(node, plain, left.value, right.value))
            elif _are_of_two_signs(left, right):
                found = self._compare_signs(what, left, right)  # type: ignore[arg-type]
            else:
                a, b = self.same((sides[k], sides[k + 1]), left, right)
                if a.type.kind not in "iufbv":
                    self.fail(node, f"{a.type} can't be compared; expected numbers")
                found = self.compare(what, a, b)
            left = right
            return found

        return self._until(False, [partial(compare, k) for k in range(len(node.ops))])

    def _compare_signs(self, what: str, a: Value, b: Value) -> Value:
        """Compare an int64 and a uint64: less than 0 is less than all."""
        word = a if a.type.kind == "i" else b
        is_less = self.compare("lt", word, Value(I64, "0"))
        plain = self.make(BOOL, f"icmp {what if what in ('eq', 'ne') else 'u' + what} i64 {a.text}, {b.text}")
        holds = what == "ne" or ((what in ("lt", "le")) == (word is a) and what != "eq")
        return self.make(BOOL, f"select i1 {is_less.text}, i1 {'true' if holds else 'false'}, i1 {plain.text}")

    def compare(self, what: str, a: Value, b: Value) -> Value:
        """Compare two values of one type; NaN is unequal to all."""
        kind = self._truths(a.type)
        if a.type.scalar.kind == "f":
            return self.make(kind, f"fcmp {'une' if what == 'ne' else 'o' + what} {a.type.ir} {a.text}, {b.text}")
        sign = "" if what in ("eq", "ne") else "s" if a.type.scalar.kind == "i" else "u"
        return self.make(kind, f"icmp {sign}{what} {a.type.ir} {a.text}, {b.text}")

    def _truths(self, kind: Type) -> Type:
        """The type of a comparison's answer."""
        return vector_of(BOOL, kind.extent) if kind.kind == "v" else BOOL

    def _e_BoolOp(self, node: Any) -> Operand:
        return self._until(isinstance(node.op, ast.Or), [partial(self.truth, part) for part in node.values])

    def _until(self, stops: bool, parts: list[Callable[[], Operand]]) -> Operand:
        """Whether a part is `stops`; those after the first that is are not computed. One part alone is as it is."""
        if len(parts) == 1:
            return parts[0]()
        slot, (end,), last = None, self.labels("end"), Known(not stops)
        for part in parts:
            found = part()
            if isinstance(found, Known):
                if found.value == stops:
                    last = found
                    break
                continue
            if found.type != BOOL:
                self.fail(self.at.node, f"a condition is {found.type}; expected a bool")
            if slot is None:
                slot = self.slot("bool", BOOL)
            self.emit(f"store i1 {found.text}, ptr {slot}")
            (further,) = self.labels("further")
            self.branch(found, *((end, further) if stops else (further, end)))
            self.label(further)
        if slot is None:
            return last
        self.emit(f"store i1 {'true' if last.value else 'false'}, ptr {slot}")
        self.label(end)
        return self.make(BOOL, f"load i1, ptr {slot}")

    def _e_IfExp(self, node: Any) -> Operand:
        """`a if c else b`: its type is known once both sides are."""
        condition = self.truth(node.test)
        if isinstance(condition, Known):
            return self.expr(node.body if condition.value else node.orelse)
        yes, no, end = self.labels("yes", "no", "end")
        self.branch(condition, yes, no)
        self.label(yes)
        a = self.expr(node.body)
        first, dead, assigned = self.lines, self.dead, self.assigned
        self.lines, self.dead = [], True
        self.label(no)
        b = self.expr(node.orelse)
        kind = self._joined(node, a, b)
        slot = self.slot("either", kind)
        b = self.whole(self.to(node.orelse, b, kind))
        self.emit(f"store {kind.ir} {b.text}, ptr {slot}")
        second, self.lines = self.lines, first
        after, self.dead, self.assigned = (self.dead, self.assigned), dead, assigned
        a = self.whole(self.to(node.body, a, kind))
        self.emit(f"store {kind.ir} {a.text}, ptr {slot}")
        self.jump(end)
        self.lines, (self.dead, self.assigned) = self.lines + second, after
        self.label(end)
        return self.make(kind, f"load {kind.ir}, ptr {slot}")

    def _joined(self, node: Any, a: Operand, b: Operand) -> Type:
        """The type that holds both sides of a choice."""
        if isinstance(a, Known) and isinstance(b, Known):
            if isinstance(a.value, bool) != isinstance(b.value, bool):
                self.fail(node, "one side is a bool and the other a number; expected two of a kind")
            kinds = {bool: BOOL, int: I64}
            if float in (type(a.value), type(b.value)):
                return F64
            return kinds.get(type(a.value)) or self.fail(node, f"{ast.unparse(node)} is not a number")
        if isinstance(a, Known) or isinstance(b, Known):
            known, typed = (a, b) if isinstance(a, Known) else (b, a)
            return _beside(known.value, typed.type)  # type: ignore[union-attr]
        found = meeting(a.type, b.type)
        return found or self.fail(node, f"one side is {a.type} and the other {b.type}; convert one of them")

    def _e_Subscript(self, node: Any) -> Operand:
        if (
            isinstance(node.value, ast.Name)
            and node.value.id in ("array", "vec", "tuple")
            and not self._is_set(node.value)
        ):
            return Known(self._type_constructed(node))
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
                return self.item(of, index.value)
        if isinstance(of, Value) and of.type.kind == "v":
            index = self.settled(node.slice, index)
            return self.make(of.type.of, f"extractelement {of.type.ir} {of.text}, {index.type.ir} {index.text}")
        what = of.type if isinstance(of, Value) else of.value
        self.fail(node, f"{what} has no items that {ast.unparse(node.slice)} picks; a tuple's are picked by constants")

    def _is_set(self, node: Any) -> bool:
        return node.id in self.variables or node.id in self.known

    def _type_constructed(self, node: Any) -> Type:
        name, inner = node.value.id, node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name == "tuple":
            return tuple_of(*map(self.type_at, inner))
        count = self.expr(inner[1]) if len(inner) > 1 else Known(1)
        if not (isinstance(count, Known) and isinstance(count.value, int) and count.value > 0 and len(inner) < 3):
            self.fail(node, f"expected {name}[type] or {name}[type, count]")
        return CONSTRUCTORS[name](self.type_at(inner[0]), count.value)

    def _e_Attribute(self, node: Any) -> Operand:
        of = self.expr(node.value)
        if node.attr == "shape" and isinstance(of, Value) and of.type.kind == "a":
            return self.make_tuple(self.parts(of)[1:])
        if node.attr == "dtype" and isinstance(of, Value) and of.type.kind == "a":
            return Known(of.type.of)
        if node.attr == "type" and isinstance(of, Known) and isinstance(of.value, Type):
            return of
        if isinstance(of, Known) and isinstance(of.value, ModuleType) and hasattr(of.value, node.attr):
            return self.meaning(node, getattr(of.value, node.attr))
        self.fail(node, f"{ast.unparse(node)} is not in the language")

    # --- arrays: an address, and the length of each dimension ---------------------------------------------------------

    def parts(self, array: Value) -> list[Value]:
        """The address of an array's first item, and its lengths."""
        if array.parts:
            return list(array.parts)
        kinds = part_types(array.type)
        return [self.make(t, f"extractvalue {array.type.ir} {array.text}, {k}") for k, t in enumerate(kinds)]

    def place(self, node: Any, start: Value, index: Value) -> Value:
        """The address of the item that is `index` items behind another."""
        if index.type.kind not in "iu":
            self.fail(node, f"an index is {index.type}; expected an integer")
        if index.type.kind == "u" and index.type.bits < 64:
            index = self.to(node, index, U64)
        item = start.type.of.stored
        text = f"getelementptr inbounds {item}, ptr {start.text}, {index.type.ir} {index.text}"
        return self.make(start.type, text)

    def locate(self, node: Any, array: Value) -> Value:
        """Where `array[...]` is: the address of an item, or what is left of an array."""
        start, *lengths = self.parts(array)
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(indices) > len(lengths):
            self.fail(node, f"{array.type} is given {len(indices)} indices")
        for k, index in enumerate(indices):
            if isinstance(index, ast.Slice):
                if k < len(indices) - 1 or index.step:
                    self.fail(node, "a slice is read only as the last index, and without a step; expected a loop")
                first = self._bound(index.lower) or Value(I64, "0")
                last = self._bound(index.upper) or lengths[0]
                start = self.place(node, start, self._times(first, lengths[1:]))
                lengths[0] = self.make(I64, f"sub i64 {last.text}, {first.text}")
                break
            found = self.expr(index)
            if isinstance(found, Known) and isinstance(found.value, int) and found.value < 0:
                self.fail(index, f"{ast.unparse(index)} is no index: they do not count from the end")
            at = self.settled(index, found)
            if len(lengths) > 1:
                at = self._times(self.cast(index, at, I64), lengths[1:])
            start, lengths = self.place(index, start, at), lengths[1:]
        if not lengths:
            return start
        return self._composed(array_of(array.type.of, len(lengths)), [start, *lengths])

    def _bound(self, node: Any) -> Value | None:
        if node is None:
            return None
        found = self.expr(node)
        if isinstance(found, Known) and not (isinstance(found.value, int) and found.value >= 0):
            self.fail(node, f"{ast.unparse(node)} bounds a slice; expected an integer, 0 or more")
        return self.cast(node, found, I64)

    def _times(self, index: Value, lengths: list[Value]) -> Value:
        for length in lengths:
            index = self.make(I64, f"mul i64 {index.text}, {length.text}")
        return index

    def read(self, place: Value, how: str = "") -> Value:
        """What is at an address; `how` is "" or "atomic ORDER"."""
        kind, (atomic, _, order) = place.type.of, how.partition(" ")
        found = self.make(kind, f"load {atomic} {kind.stored}, ptr {place.text} {order}, align {kind.size}")
        return self.make(BOOL, f"trunc i8 {found.text} to i1") if kind == BOOL else found

    def write(self, place: Value, value: Value, how: str = "") -> None:
        """Put a value at an address."""
        kind, (atomic, _, order) = place.type.of, how.partition(" ")
        if kind == BOOL:
            value = self.make(I8, f"zext i1 {value.text} to i8")
        self.emit(f"store {atomic} {kind.stored} {value.text}, ptr {place.text} {order}, align {kind.size}")

    def _fill(self, node: Any, target: Any, array: Value, value: Value) -> None:
        """`array[...] = value` where the indices leave dimensions: a loop over the first that a slice is of."""
        indices: list[Any] = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
        k = next((k for k, index in enumerate(indices) if isinstance(index, ast.Slice)), None)
        head = array if k == 0 else self.locate(_picked(target, indices[:k]), array)
        bounds: Any = indices[k] if k is not None else ast.Slice()
        rest = indices[k + 1 :] if k is not None else []
        start, *lengths = self.parts(head)
        first, last = self._bound(bounds.lower) or Value(I64, "0"), self._bound(bounds.upper) or lengths[0]
        step = self.expr(bounds.step) if bounds.step else Known(1)
        if not (isinstance(step, Known) and isinstance(step.value, int) and step.value > 0):
            self.fail(node, "a slice's step is not a positive constant")

        def one(at: Value) -> None:
            place = self.place(node, start, self._times(at, lengths[1:]))
            if len(lengths) == 1:
                self.write(place, value)
                return
            row = self._composed(array_of(head.type.of, len(lengths) - 1), [place, *lengths[1:]])
            if rest and not any(isinstance(index, ast.Slice) for index in rest):
                found = self.locate(_picked(target, rest), row)
                if found.type.kind == "p":
                    self.write(found, value)
                    return
            self._fill(node, _picked(target, rest or [ast.Slice()]), row, value)

        self._count_from(node, first, last, step, one)

    # --- calls --------------------------------------------------------------------------------------------------------

    def _e_Call(self, node: Any) -> Operand:
        if node.keywords or any(isinstance(x, ast.Starred) for x in node.args):
            self.fail(node, "a call has keywords or stars; expected plain arguments")
        of = self.expr(node.func)
        if not isinstance(of, Known):
            self.fail(node, f"{ast.unparse(node.func)} is {of.type}; expected a function")
        given = [self.expr(x) for x in node.args]
        if isinstance(of.value, Type):
            if len(given) != 1:
                self.fail(node, f"{of.value} converts one value; {len(given)} are given")
            return self.cast(node.args[0], given[0], of.value)
        if isinstance(of.value, Function):
            return self._call_function(node, of.value, given)
        if isinstance(of.value, Extern):
            return self.call_extern(node, of.value, given)
        if isinstance(of.value, Builtin):
            try:
                found: Operand = of.value.emit(self, node, *given)
            except TypeError as error:
                self.fail(node, f"{ast.unparse(node.func)} does not take these arguments: {error}")
            return found
        self.fail(node, f"{ast.unparse(node.func)} is not a function")

    def _call_function(self, node: Any, of: Function, given: list[Operand]) -> Operand:
        inside = Emitter(self.unit, of)
        parameters = inside.parameters()
        if len(parameters) != len(given):
            self.fail(node, f"{of.name} is given {len(given)} arguments; expected {len(parameters)}")
        kinds: list[Type | Known] = []
        values = []
        for parameter, value, at in zip(parameters, given, node.args, strict=True):
            if is_const(parameter.annotation):
                if isinstance(value, Value):
                    self.fail(at, f"{parameter.arg} of {of.name} is a value; expected what is known while compiling")
                kinds.append(value)
                continue
            wanted = inside.annotated(parameter.annotation)
            if wanted is None and isinstance(value, Known) and not isinstance(value.value, bool | int | float | tuple):
                kinds.append(value)
                continue
            value = self.settled(at, value) if wanted is None else self.to(at, value, wanted)
            values.append(Value(value.type, "", tuple(self.parts(value))) if value.type.kind == "a" else value)
            kinds.append(value.type)
        made = self.unit.instance(of, kinds, lambda message: self.fail(node, message))
        return self._call(f"call {made.returns.ir} @{made.symbol}({_arguments(values)})", made.returns)

    # --- statements ---------------------------------------------------------------------------------------------------

    def block(self, body: list[Any]) -> None:
        """Emit statements, as far as they can be reached."""
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
            # All are computed before any is set; numbers known while compiling take their targets' types.
            values = [self.expr(x) for x in node.value.elts]
            for target in node.targets:
                if len(target.elts) != len(values):
                    self.fail(node, f"{len(values)} values are set to {len(target.elts)} names")
                for each, value, source in zip(target.elts, values, node.value.elts, strict=True):
                    self.assign(each, value, source)
            return
        value = self.expr(node.value)
        for target in node.targets:
            self.assign(target, value, node.value)

    def _s_AnnAssign(self, node: Any) -> None:
        if node.value is None:
            self.fail(node, "a variable is declared but not set")
        self.assign(node.target, self.to(node.value, self.expr(node.value), self.type_at(node.annotation)), node.value)

    def _s_AugAssign(self, node: Any) -> None:
        nodes = node.target, node.value
        if not isinstance(node.target, ast.Subscript):
            self.assign(
                node.target, self.binary(node, nodes, self.expr(node.target), self.expr(node.value)), node.value
            )
            return
        place = self._item_place(node.target)
        found = self.binary(node, nodes, self.read(place), self.expr(node.value))
        self.write(place, self.stored(node.value, found, place.type.of))

    def _item_place(self, target: Any) -> Value:
        array = self.value(target.value)
        if array.type.kind != "a":
            self.fail(target, f"items of {array.type} can't be set; expected an array")
        place = self.locate(target, array)
        if place.type.kind != "p":
            self.fail(target, f"{array.type} is changed as a whole here; expected an index for each dimension")
        return place

    def assign(self, target: Any, value: Operand, source: Any) -> None:
        """Set a name, an item of an array, or several."""
        if isinstance(target, ast.Tuple):
            value = self.settled(source, value)
            if value.type.kind != "t" or len(value.type.of) != len(target.elts):
                self.fail(target, f"{value.type} is set to {len(target.elts)} names")
            for k, each in enumerate(target.elts):
                self.assign(each, self.item(value, k), source)
        elif isinstance(target, ast.Subscript):
            array = self.value(target.value)
            if array.type.kind != "a":
                self.fail(target, f"items of {array.type} can't be set; expected an array")
            indices = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
            if any(isinstance(index, ast.Slice) for index in indices) or len(indices) < array.type.extent:
                self._fill(target, target, array, self.stored(source, value, array.type.of))
            else:
                place = self.locate(target, array)
                self.write(place, self.stored(source, value, place.type.of))
        elif isinstance(target, ast.Name):
            if target.id in self.variables:
                self.set_variable(source, target.id, self.to(source, value, self.variables[target.id][0]))
            else:
                self.set_variable(source, target.id, self.settled(source, value))
        else:
            self.fail(target, f"{ast.unparse(target)} can't be set")

    def _s_If(self, node: Any) -> None:
        condition = self.truth(node.test)
        if isinstance(condition, Known):
            self.block(node.body if condition.value else node.orelse)
            return
        yes, no, end = self.labels("yes", "no", "end")
        self.branch(condition, yes, no)
        self.label(yes)
        self.block(node.body)
        self.jump(end)
        self.label(no)
        self.block(node.orelse)
        self.label(end)

    def _s_While(self, node: Any) -> None:
        head, body, end = self.labels("head", "body", "end")
        self.label(head)
        condition = self.truth(node.test)
        if isinstance(condition, Known):
            self.jump(body if condition.value else end)
        else:
            self.branch(condition, body, end)
        self.label(body)
        self._loop(node, head, end)
        self.jump(head)
        self.label(end)

    def _loop(self, node: Any, further: str, end: str) -> None:
        if node.orelse:
            self.fail(node, "a loop has an else, which is not in the language")
        self.loops.append((further, end))
        self.block(node.body)
        self.loops.pop()

    def _s_For(self, node: Any) -> None:
        call = node.iter
        if isinstance(call, ast.Tuple):  # the loop's body once for each, of what is known while compiling
            self._unrolled(node, call)
            return
        of = self.expr(call.func) if isinstance(call, ast.Call) else self.expr(call)
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

        def body(count: Value) -> None:
            self.set_variable(node, node.target.id, count)

        self._count_from(node, first, last, step, body, node)

    def _over_items(self, node: Any, array: Value) -> None:
        """A loop over the items, or the rows, of an array."""
        start, length, *lengths = self.parts(array)

        def body(count: Value) -> None:
            place = self.place(node, start, self._times(count, lengths))
            row = self._composed(array_of(array.type.of, len(lengths)), [place, *lengths]) if lengths else None
            self.assign(node.target, row or self.read(place), node.iter)

        self._count_from(node, Value(I64, "0"), length, Known(1), body, node)

    def _over_generator(self, node: Any, of: Function) -> None:
        """A loop over what a generator yields: its body, in which the loop's stands for each `yield`."""
        if node.orelse or node.iter.keywords or len(node.iter.args) != len(of.node.args.args):
            self.fail(node, f"expected a loop without else over {of.name}(...), of {len(of.node.args.args)} arguments")
        (end,) = self.labels("end")
        own = {p.arg for p in of.node.args.args}
        own |= {x.id for x in ast.walk(of.node) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
        inside = _Renamed({name: f"{name}.{end}" for name in own}).visit(copy.deepcopy(of.node))
        for parameter, given in zip(inside.args.args, node.iter.args, strict=True):
            self.set_variable(given, parameter.arg, self.value(given))
        outside, loops = self.at, self.loops

        def give(value: Operand) -> None:
            (further,) = self.labels("further")
            generator, within = self.at, self.loops
            self.at, self.loops = outside, [*loops, (further, end)]
            self.assign(node.target, value, node.iter)
            self.block(node.body)
            self.at, self.loops = generator, within
            self.label(further)

        self.at = of
        self._yields.append(give)
        self.block(inside.body)
        self._yields.pop()
        self.at = outside
        self.label(end)

    def _e_Yield(self, node: Any) -> Operand:
        if not self._yields or node.value is None:
            self.fail(node, "a generator is only looped over")
        self._yields[-1](self.expr(node.value))
        return Known(None)

    def _unrolled(self, node: Any, items: Any) -> None:
        if node.orelse or not isinstance(node.target, ast.Name):
            self.fail(node, "expected `for name in (...)`, without else")
        if any(isinstance(x, ast.Break | ast.Continue) for each in node.body for x in ast.walk(each)):
            self.fail(node, "a loop over a tuple is unrolled, so that it has no break and no continue")
        for item in items.elts:
            value = self.expr(item)
            if not isinstance(value, Known):
                self.fail(item, "a loop over a tuple is over a value; expected what is known while compiling")
            self.known[node.target.id] = value
            self.block(node.body)
        self.known.pop(node.target.id, None)

    def _count_from(
        self, node: Any, first: Value, last: Value, by: Operand, do: Callable[[Value], None], loop: Any = None
    ) -> None:
        """Count as `range` does. A loop's body comes after `do`; none where `loop` is None.

        Steps of other than 1 are counted by turns, as the last may go beyond the largest number of the type.
        """
        kind, step = first.type, by.value if isinstance(by, Known) else 0
        if kind.kind not in "iu":
            self.fail(node, f"a range is over {kind}; expected integers")
        slot, turns = self.slot("count", kind), None
        self.emit(f"store {kind.ir} {first.text}, ptr {slot}")
        if isinstance(by, Known):
            by = Value(kind, str(step % (1 << kind.bits)))
        if abs(step) != 1:
            turns = self.slot("turns", kind)
            self.emit(f"store {kind.ir} {self._turns(first, last, by, step).text}, ptr {turns}")
        head, body, further, end = self.labels("head", "body", "further", "end")
        self.label(head)
        count = self.make(kind, f"load {kind.ir}, ptr {slot}")
        if turns is None:
            goes_on = self.compare("gt" if step < 0 else "lt", count, last)
        else:
            left = self.make(kind, f"load {kind.ir}, ptr {turns}")
            goes_on = self.compare("ne", left, Value(kind, "0"))
            less = self.make(kind, f"sub {kind.ir} {left.text}, 1")
            self.emit(f"store {kind.ir} {less.text}, ptr {turns}")
        self.branch(goes_on, body, end)
        self.label(body)
        do(count)
        if loop is not None:
            self._loop(loop, further, end)
        self.label(further)
        wraps = "" if step != 1 else "nsw " if kind.kind == "i" else "nuw "
        following = self.make(kind, f"add {wraps}{kind.ir} {count.text}, {by.text}")
        self.emit(f"store {kind.ir} {following.text}, ptr {slot}")
        self.jump(head)
        self.label(end)

    def _turns(self, first: Value, last: Value, by: Value, step: int) -> Value:
        """How many turns a range has: (distance + |step| - 1) // |step|, without overflow; none by 0.

        `step` is `by`, where that is known while compiling; else 0.
        """
        kind, ir = first.type, first.type.ir
        if step:
            (low, high), size = (first, last) if step > 0 else (last, first), Value(kind, str(abs(step)))
        elif kind.kind == "u":
            low, high, size = first, last, by
        else:
            back = self.compare("lt", by, Value(kind, "0"))
            low, high = (
                self.make(kind, f"select i1 {back.text}, {ir} {a.text}, {ir} {b.text}")
                for a, b in ((last, first), (first, last))
            )
            less = self.make(kind, f"sub {ir} 0, {by.text}")
            size = self.make(kind, f"select i1 {back.text}, {ir} {less.text}, {ir} {by.text}")
        some = self.compare("lt", low, high)
        if not step:
            none = self.compare("eq", size, Value(kind, "0"))
            size = self.make(kind, f"select i1 {none.text}, {ir} 1, {ir} {size.text}")
            some = self.make(BOOL, f"select i1 {none.text}, i1 false, i1 {some.text}")
        distance = self.make(kind, f"sub {ir} {high.text}, {low.text}")
        before = self.make(kind, f"sub {ir} {distance.text}, 1")
        whole = self.make(kind, f"udiv {ir} {before.text}, {size.text}")
        turns = self.make(kind, f"add {ir} {whole.text}, 1")
        return self.make(kind, f"select i1 {some.text}, {ir} {turns.text}, {ir} 0")

    def _s_Break(self, node: Any) -> None:
        self.jump(self.loops[-1][1])

    def _s_Continue(self, node: Any) -> None:
        self.jump(self.loops[-1][0])

    def _s_Return(self, node: Any) -> None:
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            kind, text = NONE, "ret void"
        else:
            found = self.expr(node.value)
            is_first = self.returns is None
            value = self.settled(node.value, found) if is_first else self.to(node.value, found, self.returns)  # type: ignore[arg-type]
            value = self.whole(value)
            kind, text = value.type, f"ret {value.type.ir} {value.text}"
        if self.returns not in (None, kind):
            self.fail(node, f"{self.at.name} returns {kind} here and {self.returns} before; expected one type")
        self.returns = kind
        self.emit(text)
        self.dead = True


def is_const(annotation: Any) -> bool:
    """Whether a parameter is known while compiling."""
    return isinstance(annotation, ast.Name) and annotation.id == "const"


def float_text(number: float, bits: int) -> str:
    """A float as LLVM writes it: the bits of a float64, which a float32 is rounded to first."""
    with np.errstate(over="ignore"):
        rounded = np.dtype(f"f{bits // 8}").type(number)
    if bits == 16:
        return f"0xH{rounded.view(np.uint16):04X}"
    return "0x" + struct.pack(">d", rounded).hex().upper()


def _arguments(values: Any) -> str:
    return ", ".join(f"{part.type.ir} {part.text}" for value in values for part in value.parts or (value,))


def part_types(array: Type) -> list[Type]:
    """The types of an array's address, and of its lengths."""
    return [address_of(array.of)] + [I64] * array.extent


def _picked(target: Any, indices: list[Any]) -> Any:
    """A subscript of other indices, for messages at the same line."""
    index = indices[0] if len(indices) == 1 else ast.Tuple(indices, ast.Load())
    return ast.copy_location(ast.Subscript(target.value, index, ast.Load()), target)


def _are_of_two_signs(a: Operand, b: Operand) -> bool:
    return isinstance(a, Value) and isinstance(b, Value) and {a.type, b.type} == {I64, U64}


def _beside(number: Any, kind: Type) -> Type:
    """The type that a number known while compiling and a value meet in."""
    if isinstance(number, float) and kind.kind in "iub":
        return F64
    return I64 if kind == BOOL and not isinstance(number, bool) else kind


def _as_wide(kind: Type, value: Value) -> Type:
    """A type of numbers; of as many lanes as a value has, if that is a vector."""
    return vector_of(kind, value.type.extent) if value.type.kind == "v" and kind.kind in "biuf" else kind


class _Renamed(ast.NodeTransformer):
    """Gives some names others."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Rename a variable."""
        return ast.copy_location(ast.Name(self.names.get(node.id, node.id), node.ctx), node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Rename a parameter."""
        return ast.copy_location(ast.arg(self.names.get(node.arg, node.arg)), node)


PYTHONS: dict[str, Any] = {f.__name__: f for f in (min, max, abs, len, range, int, float, bool, sum)}
NAMES: dict[str, Any] = {**NUMBERS, "bool": BOOL, "inf": float("inf"), "nan": float("nan")}
