"""Emits the functions of the kernel language as LLVM IR, statement by statement.

A value consists of scalars, which are called its leaves. The leaves of an array are its address and its lengths, and
those of a tuple are the leaves of its items. A variable is a stack slot for each leaf, which LLVM later turns into a
register. A parameter that is never set needs no slot. Constants (numbers that have no type yet, types and functions)
are evaluated here and need no instructions. For example, if the condition of an `if` is a constant, only the branch
that it selects is emitted.
"""

from __future__ import annotations

import ast
import builtins
import functools
import hashlib
import inspect
import linecache
import operator
import struct
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from types import BuiltinFunctionType, FunctionType, ModuleType
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
from gasla.compiler.shown import Shown, constant
from gasla.compiler.template import PLAN, Arrays, Constant, Each, Record


class Value:
    """A value in a kernel, which exists only while the kernel runs.

    It has a type, and for each of its scalars a name or constant in LLVM IR.
    """

    def __init__(self, kind: Type, *names: str) -> None:
        self.type, self.names = kind, names

    @property
    def text(self) -> str:
        """The name or constant in LLVM IR that stands for a value of a single scalar."""
        (name,) = self.names
        return name

    @property
    def typed(self) -> str:
        """The scalars of the value as operands of an LLVM instruction, each with its type.

        An example is `i64 %t1, double %t2`.
        """
        return ", ".join(f"{leaf.ir} {name}" for leaf, name in zip(self.type.leaves, self.names))


class Known(NamedTuple):
    """A constant in a kernel that is known while compiling: a number, a type or a function.

    In a template, which is compiled for a plan, it may be any Python object.
    """

    value: Any


class Function(NamedTuple):
    """A Python function as the compiler reads it: its syntax tree, file and parameters, and the objects that its names
    stand for.
    """

    node: ast.FunctionDef
    file: str
    lines: tuple[str, ...]
    marks: frozenset[str]
    names: Mapping[str, Any]
    signature: inspect.Signature
    # names of the parameters, except for records (sets of shared variables), which are not passed
    parameters: list[str]
    # For each parameter that is a record (a set of variables that functions share), the class that declares the
    # variables.
    records: dict[str, type[Record]]
    # names of those parameters of a template that are annotated as `Constant`, and so known while compiling
    constants: frozenset[str]

    @property
    def name(self) -> str:
        """The name of the function in its Python source."""
        return self.node.name

    @property
    def is_template(self) -> bool:
        """Tell whether the function is a template: a function that the compiler specializes for a plan.

        A plan is an object whose attributes are decisions about a kernel, such as whether values are pushed. The
        compiler reads these attributes while it compiles, so it compiles a template once for each plan. In the
        template's module, a global variable `plan` stands for the plan.
        """
        return self.names.get("plan") is PLAN


@functools.cache
def function_of(plain: Any, marks: frozenset[str] = frozenset()) -> Function:
    """Return the `Function` (syntax tree, parameters and names) that the compiler needs to compile a Python function.

    The Python function is never called. Only its text and the names of its module are used.
    """
    code = plain.__code__
    lines = tuple(linecache.getlines(code.co_filename))
    node = _functions(lines, code.co_filename).get((code.co_name, code.co_firstlineno))
    if node is None:
        raise CompileError(
            f"{code.co_filename}:{code.co_firstlineno}: there is no text of {code.co_name}; expected a file"
        )
    names = plain.__globals__
    if code.co_freevars:
        cells = [cell.cell_contents for cell in plain.__closure__]
        names = {**names, **dict(zip(code.co_freevars, cells, strict=True))}
    kinds = {arg.arg: names.get(ast.unparse(arg.annotation)) for arg in node.args.args if arg.annotation}
    records = {name: kind for name, kind in kinds.items() if _is_record(kind)}
    parameters_and_records = [arg.arg for arg in node.args.args if arg.arg not in records], records
    constants = frozenset(name for name, kind in kinds.items() if kind is Constant)
    return Function(
        node, code.co_filename, lines, marks, names, inspect.signature(plain), *parameters_and_records, constants
    )


@functools.cache
def _functions(lines: tuple[str, ...], file: str) -> dict[tuple[str, int], ast.FunctionDef]:
    """Return the syntax trees of all functions in a Python file, whose text is in `lines`.

    The keys are a function's name and the number of its first line.
    """
    definitions = {}
    for node in ast.walk(ast.parse("".join(lines), file)):
        if isinstance(node, ast.FunctionDef):
            definitions[node.name, min([node.lineno, *(mark.lineno for mark in node.decorator_list)])] = node
    return definitions


class Prefix(NamedTuple):
    """The common beginning of the names of a family of variables that the functions of a kernel share.

    For example, the prefix `run.sum` stands for the variables `sum_a`, `sum_b` and so on.
    """

    name: str

    def of(self, parts: Any) -> Any:
        """Return the name of one variable of the family: this prefix, an underscore, and a key.

        For example, the prefix `sum` and the key `total` give `sum_total`. If the key is a tuple, its parts are joined
        by underscores. If the last part is a list, return a tuple with a name for each item of the list.
        """
        parts_given = [part for part in (parts if isinstance(parts, tuple) else (parts,)) if part is not None]
        if parts_given and isinstance(parts_given[-1], list):
            return tuple(self.of((*parts_given[:-1], each)) for each in parts_given[-1])
        return "_".join(map(str, [self.name, *parts_given] if self.name else parts_given))


class Instance(NamedTuple):
    """A function of the kernel language that has been compiled for certain types of its arguments."""

    symbol: str
    returns: Type
    # types of the arguments that are passed when the function is called; those that are constants are not passed
    takes: list[Type]
    # names of the caller's shared variables that the function reads; they are passed as further arguments
    taken: list[str] = []


Operand = Value | Known


class Builtin:
    """A built-in function of the kernel language, such as an atomic addition.

    `emit(emitter, node, *arguments)` emits the LLVM instructions of a call, whose syntax tree is `node`.
    """

    def __init__(self, name: str, emit: Callable[..., Any]) -> None:
        self.name, self.emit = name, emit

    def __call__(self, *_: Any) -> Any:
        """Raise a TypeError, as a built-in function exists only in compiled code."""
        raise TypeError(f"{self.name} was called by Python; expected a call in a compiled function")

    def __repr__(self) -> str:
        return f"<{self.name} of the kernel language>"


class Extern(NamedTuple):
    """A C function that kernels may call: its name, and the types of its result and its arguments."""

    name: str
    returns: Type
    takes: tuple[Type, ...] = ()

    def __call__(self, *_: Any) -> Any:
        """Raise a TypeError, as kernels call this C function, and Python can't."""
        raise TypeError(f"{self.name} was called by Python; expected a call in a compiled function")


class Sources:
    """The functions of a compilation unit (what is compiled together) as LLVM IR.

    Each function is compiled once for each combination of argument types.
    """

    def __init__(self, machine: str, builtins: Mapping[str, Builtin], plan: Any = None) -> None:
        self.machine, self.builtins, self.plan = machine, builtins, plan
        # All functions of a kernel may use the variables that its subclass of `Record` declares. A compiled function
        # takes those that it uses as further arguments. They are sorted by the numbers that this dict has by name.
        self.order: dict[str, int] = {}
        # the Python source of templates as they are specialized, or None if no caller wants to see it
        self.shown: list[str] | None = None
        self.text: list[str] = []
        # LLVM IR of declarations of functions and of tables of constants, by their names
        self.heads: dict[str, str] = {}
        # LLVM IR of functions that are compiled into object files of their own, by the functions' symbols.
        self.parts: dict[str, str] = {}
        self.instances: dict[tuple[Any, ...], Instance | None] = {}

    def ir(self) -> str:
        """Return the LLVM IR of the whole compilation unit as text."""
        return "\n".join([*self.heads.values(), *self.text, ""])


# For each operator: its name, Python's function for it, and LLVM's instruction for each kind of scalar (i: signed
# integer, u: unsigned integer, f: float, b: bool). Where an operator has no instruction here, `binary` emits several.
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
# LLVM's instructions that convert between kinds of numbers, such as "if" for signed integer to float. The first
# instruction of a pair converts to a type of fewer bits, and the second to one of more bits.
CASTS = {
    **dict.fromkeys(("ii", "iu"), ("trunc", "sext")),
    **dict.fromkeys(("ui", "uu", "bi", "bu"), ("trunc", "zext")),
    **dict.fromkeys(("uf", "bf"), ("uitofp", "uitofp")),
    "if": ("sitofp", "sitofp"),
    "ff": ("fptrunc", "fpext"),
}
MARKS = {"inline": "alwaysinline"}  # for marks of a function that LLVM knows: LLVM's attribute for the mark
PYTHON_TYPES = {int: I64, float: F64, bool: BOOL}
PYTHONS: dict[str, Any] = {f.__name__: f for f in (min, max, abs, len, range, int, float, bool, sum)}
NAMES: dict[str, Any] = {**NUMBERS, "bool": BOOL, "inf": float("inf"), "nan": float("nan")}
# For functions of NumPy and `math`: the kernel language's name of the function, where that differs.
SAME = {"absolute": "abs", "fabs": "abs", "arctan2": "atan2", "power": "pow", "arcsin": "asin", "arccos": "acos"}
SAME |= {"arctan": "atan", "bitwise_count": "count_bits"}


class Variable:
    """A variable of a kernel. It has a type and a stack slot for each scalar of the type."""

    def __init__(self, kind: Type, slots: list[str]) -> None:
        self.type, self.slots = kind, slots


class Frame:
    """The state of a function whose body is being compiled, either by itself or in place of a call in another function.

    It says what the function's names stand for.
    """

    def __init__(self, function: Function, give: Callable[[Operand, Any], None] | None = None) -> None:
        self.function = function
        self.give = give  # for a generator: the function to call with each yielded value; for other functions None
        # for each parameter, the expression to show in its place in the shown source
        self.shown: dict[str, ast.expr] = {}
        # True for a function marked `where_used`: each of its assignments is emitted only if its variable is used
        self.is_where_used = False
        # the value that an inlined function has returned, or None before its return statement
        self.result: Operand | None = None
        # the expression that an inlined function has returned, for the shown source
        self.returned: ast.expr | None = None
        # for a generator: the target of the `for` loop over the generator, as the shown source has it
        self.target: Any = None
        # number of conditions and loops, among those that are left when the kernel runs, around the current statement
        self.depth = 0
        self.variables: dict[str, Variable] = {}
        # values of names that are never set: constants, and parameters to which the function assigns nothing
        self.bound: dict[str, Operand] = {}
        # For each loop around the current statement, two labels: the jump targets of `continue` and of `break`.
        self.loops: list[tuple[str, str]] = []


# Functions that are compiled into object files of their own, with their IR and that of the functions that they call.
# The keys contain ids (addresses) of syntax trees. The functions, which refer to the trees, are stored as well, so that
# no other tree gets the same id.
_separate_functions: dict[tuple[Any, ...], tuple[Function, Instance, dict[str, str]]] = {}


class Emitter:
    """Emits the LLVM IR of one function for given argument types. Functions that it inlines become part of the IR."""

    def __init__(self, unit: Sources, function: Function, outer: Emitter | None = None) -> None:
        self.unit, self.outer = unit, outer  # `outer` is the emitter of the function that calls this one, or None
        # `root` is the state of the function itself, and `frame` that of the innermost function that is being inlined
        # into it
        self.frame = self.root = Frame(function)
        # a template's arguments that have not been used yet; an argument becomes a variable when it is first used
        self.arguments: dict[str, Value] = {}
        # for shared variables that this function reads from its caller, as further arguments: their types
        self.taken: dict[str, Type] = {}
        # Assignments of functions marked `where_used`, by the name of the variable that each sets. An assignment is
        # compiled when the variable is first used.
        self.later: dict[str, tuple[int, Any, Frame]] = {}
        # For each of these assignments that has been compiled, by its number: stack slots, instructions, and shown
        # source. They go to the beginning of the function.
        self.early: dict[int, tuple[list[str], list[str], list[str]]] = {}
        # LLVM IR of the stack slots of arguments that have become variables, and of the instructions that store the
        # arguments there
        self.argument_lines: list[str] = []
        # Variables that are set at the beginning of the function, so that any statement may read them.
        self.always: set[Variable] = set()
        self.shown = Shown(function.is_template and unit.shown is not None)
        self.lines: list[str] = []
        self.slots: list[str] = []
        self.returns: Type | None = None
        self.flags = "reassoc nsz " if "reassociating" in function.marks else ""
        self.dead = False  # True if the next statement can't be reached; then nothing is emitted for it
        # Variables that are set whenever the current statement is reached, so that it may read them.
        self.assigned: frozenset[Variable] = frozenset()
        # For each label, the variables that have been set at every jump to the label so far.
        self.arrivals: dict[str, frozenset[Variable]] = {}
        self._count = 0

    # --- emitting a function, and binding its parameters --------------------------------------------------------------

    def function(self, argument_types: list[Type | Known], symbol: str) -> Instance:
        """Emit the LLVM IR of the function that this emitter is for, and return the compiled `Instance`.

        `symbol` is the function's name in the IR. `argument_types` has a type for each parameter, or a value for a
        constant.
        """
        compiled = self.root.function
        takes = self.bind_all(self.parameters(), argument_types)
        self.block(compiled.node.body)
        if not self.dead:
            if self.returns not in (None, NONE):
                self.fail(
                    compiled.node,
                    f"{compiled.name} may end without returning {self.returns}; expected a return on every path",
                )
            self.emit("ret void")
        self.returns = self.returns or NONE
        taken = sorted(self.taken, key=self.unit.order.__getitem__)
        takes += [_argument(name, self.taken[name]) for name in taken]
        marks = " ".join(MARKS[mark] for mark in sorted(compiled.marks & MARKS.keys()))
        head = f"define internal {self.returns.ir} @{symbol}({listed(takes)}) nounwind {marks} {{\nentry:"
        early_text = [[line for number in sorted(self.early) for line in self.early[number][k]] for k in range(3)]
        if self.shown.is_wanted and self.unit.shown is not None:
            mark = "compiled" if self.outer is None else ast.unparse(compiled.node.decorator_list[0])
            names = [*(name for name in self.parameters() if name not in self.root.bound), *taken]
            above = [f"@{mark}", f"def {_shown_name(compiled, argument_types)}({', '.join(names)}):"]
            above.append(f'    """{ast.get_docstring(compiled.node, clean=False)}"""')
            self.unit.shown.append("\n".join([*above, *early_text[2], *self.shown.lines]))
        slots, lines = [*self.argument_lines, *early_text[0], *self.slots], [*early_text[1], *self.lines]
        self.unit.text.append("\n".join([head, *slots, *lines, "}"]))
        return Instance(symbol, self.returns, [value.type for value in takes], taken)

    def parameters(self) -> list[str]:
        """Return the names of the function's parameters. A plan may add parameters to those of a template."""
        function, signature = self.root.function, self.root.function.node.args
        if function.is_template:
            plan_parameters = getattr(self.unit.plan, signature.vararg.arg) if signature.vararg else []
            return [*function.parameters, *plan_parameters] or ([] if self.outer else self.unit.plan.arguments)
        if signature.posonlyargs or signature.kwonlyargs or signature.vararg or signature.kwarg or signature.defaults:
            self.fail(function.node, f"{function.name} has special parameters; expected plain ones, without defaults")
        return function.parameters

    def bind_all(self, names: list[str], argument_types: list[Type | Known]) -> list[Value]:
        """Bind all parameters of the function that is compiled. Return its arguments as values in LLVM IR.

        `argument_types` has for each of the parameters `names` its type, or its value if it is a constant.
        """
        function, takes = self.root.function, []
        self.root.bound |= {name: Known(kind) for name, kind in function.records.items()}
        for name, kind in zip(names, argument_types, strict=True):
            self.unit.order.setdefault(name, len(self.unit.order))
            if isinstance(kind, Type):
                takes.append(_argument(name, kind))
                # In a template, other functions may set the argument as a shared variable. So it becomes a variable
                # when it is first used.
                if function.is_template:
                    self.arguments[name] = takes[-1]
                    continue
            self.bind(name, takes[-1] if isinstance(kind, Type) else kind)
        return takes

    def bind(self, name: str, value: Operand) -> None:
        """Bind a parameter of a function to a value.

        The parameter becomes a variable with a stack slot only if the function sets it.
        """
        node = self.frame.function.node
        if isinstance(value, Known) or name not in _names_set(node):
            self.frame.bound[name] = value
        else:
            self.set_variable(node, name, value)

    def fail(self, node: Any, message: str) -> NoReturn:
        """Raise a CompileError that says where in a kernel the error is.

        It has the message, the file and the line of the node `node` of the syntax tree, and the text of the line.
        """
        function = self.frame.function
        number = getattr(node, "lineno", function.node.lineno)
        text = function.lines[number - 1].strip() if number <= len(function.lines) else ""
        raise CompileError(f"{function.file}:{number}: {message}\n    {text}")

    # --- writing instructions, calls, labels and jumps ----------------------------------------------------------------

    def emit(self, text: str) -> None:
        """Append an LLVM instruction to the IR of the function, unless the current statement can't be reached."""
        if not self.dead:
            self.lines.append("  " + text)

    def make(self, kind: Type, text: str) -> Value:
        """Append an LLVM instruction that computes a value of the type `kind`, and return the value under a new name.

        `text` is the instruction without the name of its result.
        """
        self._count += 1
        self.emit(f"%t{self._count} = {text}")
        return Value(kind, f"%t{self._count}")

    def op(self, name: str, a: Value, b: Value) -> Value:
        """Append a binary LLVM instruction such as `add` on two values of one type. Return its result."""
        return self.make(a.type, f"{name} {a.typed}, {b.text}")

    def choose(self, condition: Value, a: Value, b: Value) -> Value:
        """Return `a` if a condition is true, else `b`, by LLVM's instruction `select`, for which both are computed."""
        return self.make(a.type, f"select {condition.typed}, {a.typed}, {b.typed}")

    def compare(self, relation: str, a: Value, b: Value) -> Value:
        """Emit a comparison of two values of one type, and return its result, a bool.

        `relation` is "lt", "eq" and so on. NaN is unequal to everything.
        """
        if a.type.scalar.kind == "f":
            name = f"fcmp {'une' if relation == 'ne' else 'o' + relation}"
        else:
            sign = "" if relation in ("eq", "ne") else "s" if a.type.scalar.kind == "i" else "u"
            name = f"icmp {sign}{relation}"
        return self.make(a.type.each(BOOL), f"{name} {a.typed}, {b.text}")

    def call(self, returns: Type, name: str, values: Iterable[Value], flags: str = "", marks: str = "") -> Any:
        """Emit a call of a function by its name in LLVM IR, and return the result, of the type `returns`.

        Return Known(None) if the function returns nothing. `flags` and `marks` are LLVM's words before and after the
        call.
        """
        text = f"call {flags}{returns.ir} @{name}({listed(values)}) {marks}".rstrip()
        if returns == NONE:
            self.emit(text)
            return Known(None)
        result = self.make(returns, text)
        if returns.kind not in "at":
            return result
        leaves = enumerate(returns.leaves)
        return Value(returns, *(self.make(t, f"extractvalue {returns.ir} {result.text}, {k}").text for k, t in leaves))

    def declare(self, name: str, returns: Type, takes: Iterable[Type]) -> None:
        """Declare a function that LLVM or C defines, so that the LLVM IR of this compilation unit may call it."""
        self.unit.heads[name] = f"declare {returns.ir} @{name}({', '.join(kind.ir for kind in takes)}) nounwind"

    def intrinsic(self, kind: Type, name: str, *values: Value, flags: str = "", marks: str = "") -> Any:
        """Declare a function that LLVM or C defines, such as `sqrt`, and emit a call of it.

        Return the result of the call, or Known(None) if there is none.
        """
        self.declare(name, kind, [value.type for value in values])
        return self.call(kind, name, values, flags, marks)

    def labels(self, *names: str) -> list[str]:
        """Return a new label of a basic block of LLVM IR for each of some names.

        A label is the name with a number that makes it unique.
        """
        self._count += 1
        return [f"{name}.{self._count}" for name in names]

    def jump(self, *labels: str, condition: Value | None = None) -> None:
        """End a basic block of LLVM IR with a jump to a label.

        With a `condition`, jump to the first of two labels if it is true, and else to the second.
        """
        if not self.dead:
            where = ", ".join(f"label %{label}" for label in labels)
            self.emit(f"br {where}" if condition is None else f"br {condition.typed}, {where}")
            for label in labels:
                self.arrivals[label] = self.arrivals.get(label, self.assigned) & self.assigned
        self.dead = True

    def label(self, label: str) -> None:
        """Begin a basic block of LLVM IR with a label.

        If no jump leads to the label, the block can't be reached, and nothing is emitted for it.
        """
        self.jump(label)
        self.dead = label not in self.arrivals
        if not self.dead:
            self.assigned = self.arrivals[label]
            self.lines.append(f"{label}:")

    # --- variables of one function: stack slots that are stored to and loaded -----------------------------------------

    def variable(self, name: str, kind: Type) -> Variable:
        """Return a new variable of the type `kind`, with a stack slot for each of its scalars."""
        slots = []
        for leaf in kind.leaves:
            slots += self.labels(f"%{name}")
            self.slots.append(f"  {slots[-1]} = alloca {leaf.ir}")
        return Variable(kind, slots)

    def store(self, variable: Variable, value: Value) -> None:
        """Emit instructions that store a value in the stack slots of a variable."""
        for part, slot in zip(parts(value), variable.slots, strict=True):
            self.emit(f"store {part.typed}, ptr {slot}")

    def load(self, variable: Variable) -> Value:
        """Emit instructions that load a variable from its stack slots, and return the value."""
        places = zip(variable.type.leaves, variable.slots, strict=True)
        return Value(variable.type, *(self.make(t, f"load {t.ir}, ptr {slot}").text for t, slot in places))

    def set_variable(self, node: Any, name: str, value: Operand, frame: Frame | None = None) -> None:
        """Emit an assignment to a variable of the function that is compiled.

        The variable has the type of the first value that it is set to.
        """
        frame = frame or self.frame
        if name in frame.bound:
            self.fail(node, f"{name} is known while compiling; expected another name for what is set here")
        if frame is self.root:
            self._create_variable(name)
        variable = frame.variables.get(name)
        value = self.settled(node, value) if variable is None else self.to(node, value, variable.type)
        if variable is None:
            variable = frame.variables[name] = self.variable(f"var.{name}", value.type)
            self.unit.order.setdefault(name, len(self.unit.order))
        self.store(variable, value)
        self.assigned |= {variable}

    # --- shared variables, which `Record` classes declare and functions of a kernel pass to each other ----------------

    def _create_variable(self, name: str) -> None:
        """Create the shared variable `name` at the beginning of the function, when it is used for the first time.

        Its first value is an argument, or comes from an assignment in a function marked `where_used`, which is compiled
        only now. If there is neither an argument nor such an assignment of this name, do nothing.
        """
        if name in self.arguments:
            value = self.arguments.pop(name)
            slots, self.slots = self.slots, self.argument_lines
            variable = self.root.variables[name] = self.variable(f"var.{name}", value.type)
            self.slots = slots
            self.argument_lines += [
                f"  store {part.typed}, ptr {slot}" for part, slot in zip(parts(value), variable.slots)
            ]
            self.always.add(variable)
        elif name in self.later:
            number, node, frame = self.later[name]
            self.later = {
                variable_name: assignment for variable_name, assignment in self.later.items() if assignment[0] != number
            }
            saved_state = self.frame, self.lines, self.dead, self.assigned, self.slots, self.shown
            self.frame, self.lines, self.dead, self.slots = frame, [], False, []
            self.shown = Shown(self.shown.is_wanted)
            self._s_Assign(node)
            self.shown.assign(node)
            self.early[number], assigned_now = (self.slots, self.lines, self.shown.lines), self.assigned
            self.frame, self.lines, self.dead, self.assigned, self.slots, self.shown = saved_state
            self.always |= assigned_now - self.assigned

    def find(self, node: Any, name: str) -> Operand | None:
        """Return the value of a shared variable (declared by a `Record`), or a function of the user's program, by name.

        Return None if no such name is known. If this function does not set the variable, it becomes a further argument,
        which the caller passes.
        """
        self._create_variable(name)
        if name in self.root.variables or name in self.root.bound:
            return self._read_variable(node, name, self.root)
        if name in self.unit.plan.printed:
            return self.meaning(node, self.unit.plan.printed[name])
        operand = self.outer.find(node, name) if self.outer else None
        if isinstance(operand, Value):
            self.taken[name] = operand.type
            self.arguments[name] = _argument(name, operand.type)
            return self.find(node, name)
        if operand is not None:
            self.root.bound[name] = operand
        return operand

    def shared(self, node: Any, name: Any) -> Operand:
        """Return the value of a shared variable (declared by a `Record`) by its name.

        For a tuple of names, return a tuple of values. Raise a CompileError if a name is unknown.
        """
        if isinstance(name, tuple):
            operand = self.tuple_of([self.shared(node, each) for each in name], [node] * len(name))
        else:
            operand = self.find(node, name) or self.fail(
                node, f"{name} is not known here; expected a name that is set before"
            )
        self.shown.names(name)
        return operand

    def is_used(self, name: str) -> bool:
        """Return whether this function, as far as it is compiled already, uses the shared variable `name`.

        A shared variable is one that a `Record` declares for several functions of a kernel.
        """
        return name in self.root.variables

    def leave(self, node: Any, value: Operand) -> None:
        """Emit a return from the whole compiled function.

        The current statement may be in a function that is inlined into it.
        """
        if value == Known(None):
            kind, text = NONE, "ret void"
        else:
            value = self.settled(node, value) if self.returns is None else self.to(node, value, self.returns)
            kind, text = value.type, f"ret {self._as_operand(value)}"
        if self.returns not in (None, kind):
            name = self.root.function.name
            self.fail(node, f"{name} returns {kind} here and {self.returns} before; expected one type")
        self.returns = kind
        self.emit(text)
        self.dead = True

    # --- converting values from one type to another -------------------------------------------------------------------

    def to(self, node: Any, value: Operand, kind: Type) -> Value:
        """Emit the conversion of a value to the type `kind`, which can hold all values of the value's own type.

        Raise a CompileError if it can't. `node` is the syntax tree that the error message shows.
        """
        if isinstance(value, Known):
            return self.constant(node, value.value, kind)
        source_type = value.type
        if source_type == kind:
            return value
        if source_type.kind == kind.kind == "t" and len(source_type.of) == len(kind.of):
            return joined(kind, *(self.to(node, item(value, k), each) for k, each in enumerate(kind.of)))
        if meeting(source_type, kind) != kind:
            self.fail(node, f"this is {source_type}, where {kind} is expected; write {kind}(...) to convert it")
        if kind.kind == "v":
            return self.spread(self.to(node, value, kind.of), kind.extent)
        return self.cast(node, value, kind)

    def stored(self, node: Any, value: Operand, kind: Type) -> Value:
        """Emit the conversion of a value to the item type of the array in which it is stored, as NumPy converts it.

        Raise a CompileError if a float is stored in an array of integers, or a number in an array of bools.
        """
        if isinstance(value, Known) or value.type == kind or kind.kind not in "iuf":
            return self.to(node, value, kind)
        if value.type.kind not in ("biuf" if kind.kind == "f" else "biu"):
            self.fail(node, f"{value.type} is stored in an array of {kind}; expected {kind}(...), which converts it")
        return self.cast(node, value, kind)

    def constant(self, node: Any, number: Any, kind: Type) -> Value:
        """Return a constant number, bool or tuple as a value of the type `kind`, for use in LLVM instructions.

        Raise a CompileError if the type can't hold it.
        """
        if isinstance(number, np.generic):
            number = number.item()
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
        if kind.kind in "iu" and isinstance(number, int) and number == _wrap_around(number, kind):
            return Value(kind, str(int(number)))
        shown = number.name if isinstance(number, Function) else repr(number)
        self.fail(node, f"{shown} is not a value of {kind}; expected a number that {kind} holds")

    def settled(self, node: Any, value: Operand, within: bool = False) -> Value:
        """Return an operand, which may be a constant without a type, as a value with a type.

        A constant number or bool becomes an i64, f64 or bool. With `within`, the operand is an item of a tuple, which
        may be None.
        """
        if isinstance(value, Value):
            return value
        number = value.value
        if isinstance(number, tuple):
            return joined_tuple(self.settled(node, Known(x), True) for x in number)
        if isinstance(number, np.generic):
            return self.constant(node, number, scalar_type(number.dtype))
        kind = NONE if within and number is None else PYTHON_TYPES.get(type(number))
        return self.constant(
            node, number, kind or self.fail(node, f"{ast.unparse(node)} is not a value; expected a number")
        )

    def common(self, nodes: tuple[Any, Any], a: Operand, b: Operand) -> Type:
        """Return the type to which the operands of a binary operator are converted, as in NumPy.

        A constant takes the type of the other operand. `nodes` has the operands' syntax trees, for error messages.
        """
        if isinstance(a, Known) and isinstance(b, Known):
            a, b = self.settled(nodes[0], a), self.settled(nodes[1], b)
            if (a.type == BOOL) != (b.type == BOOL):
                self.fail(nodes[1], "one of two is a bool and the other a number; expected two bools or two numbers")
        for known, typed in ((a, b), (b, a)):
            if isinstance(known, Known):
                assert isinstance(typed, Value)
                if isinstance(known.value, float) and typed.type.kind in "iub":
                    return F64
                return I64 if typed.type == BOOL and not isinstance(known.value, bool) else typed.type
        assert isinstance(a, Value)
        assert isinstance(b, Value)
        meets = meeting(a.type, b.type)
        return meets or self.fail(
            nodes[1], f"{a.type} meets {b.type}, and no type holds both; expected a conversion of one of them"
        )

    def same(self, nodes: tuple[Any, Any], a: Operand, b: Operand) -> tuple[Value, Value]:
        """Emit the conversion of both operands of a binary operator to their common type, and return both values.

        `nodes` has the operands' syntax trees, for error messages.
        """
        kind = self.common(nodes, a, b)
        return self.to(nodes[0], a, kind), self.to(nodes[1], b, kind)

    def cast(self, node: Any, value: Operand, kind: Type) -> Value:
        """Emit the conversion of a value to a type, even if that loses information, as `i64(x)` in a kernel does.

        A float is truncated toward 0 and clipped to the range of an integer type, and NaN becomes 0.
        """
        if isinstance(value, Known):
            number = value.value
            if kind.kind not in "iu" or not isinstance(number, float):
                if kind.kind in "iu" and isinstance(number, int):
                    number = _wrap_around(number, kind)
                elif kind == BOOL and not isinstance(number, tuple):
                    number = bool(number)
                return self.constant(node, number, kind)
            value = self.settled(node, value)
        source_type = value.type
        if kind.kind in "biuf":
            kind = source_type.each(kind)
        a, b = source_type.scalar, kind.scalar
        if source_type == kind:
            return value
        if source_type.each(BOOL) == kind.each(BOOL):
            if b == BOOL and a.kind in "iuf":
                return self.compare("ne", value, self.constant(node, 0, source_type))
            if a.kind == "f" and b.kind in "iu":
                instruction = "fptosi" if b.kind == "i" else "fptoui"
                return self.intrinsic(kind, f"llvm.{instruction}.sat.{kind.mangled}.{source_type.mangled}", value)
            if a.is_integer and b.is_integer and a.bits == b.bits:
                return Value(kind, value.text)
            if a.kind + b.kind in CASTS:
                instruction = CASTS[a.kind + b.kind][a.bits < b.bits]
                return self.make(kind, f"{instruction} {value.typed} to {kind.ir}")
        self.fail(node, f"there is no conversion from {source_type} to {kind}; expected a number")

    def spread(self, value: Value, lanes: int) -> Value:
        """Return a vector that has a scalar value in all of its lanes."""
        kind = vector_of(value.type, lanes)
        first_lane = self.make(kind, f"insertelement {kind.ir} poison, {value.typed}, i32 0")
        return self.make(kind, f"shufflevector {first_lane.typed}, {kind.ir} poison, <{lanes} x i32> zeroinitializer")

    # --- expressions: one method `_e_X` for each class X of Python's syntax tree --------------------------------------

    def expr(self, node: Any) -> Operand:
        """Emit the code of an expression of the kernel, and return its value.

        The result is a constant (`Known`) if the value is known while compiling. `node` is the expression's syntax
        tree.
        """
        method = getattr(self, f"_e_{type(node).__name__}", None)
        if method is None:
            self.fail(
                node, f"{ast.unparse(node)} ({type(node).__name__}) is not in the language; expected another expression"
            )
        operand: Operand = method(node)
        if self.shown.is_wanted:
            if isinstance(node, ast.Name) and node.id not in (*self.frame.bound, *self.frame.shown):
                # a name of the module is shown as it is, and not as the object that it stands for
                self.shown.instead = None
            elif isinstance(operand, Known) and self.shown.instead is None:
                self.shown.instead = constant(operand.value)
            self.shown.note(node)
        return operand

    def value(self, node: Any) -> Value:
        """Emit the code of an expression of the kernel, and return its value.

        A constant becomes a value with a type.
        """
        return self.settled(node, self.expr(node))

    def _e_Constant(self, node: Any) -> Known:
        is_text = isinstance(node.value, str) and self.frame.function.is_template
        if not (isinstance(node.value, bool | int | float | None) or is_text):
            self.fail(node, f"{node.value!r} is not in the language; expected a number")
        return Known(node.value)

    def _e_Name(self, node: Any) -> Operand:
        name, frame = node.id, self.frame
        if frame is self.root:
            self._create_variable(name)
        if name in frame.variables or name in frame.bound:
            return self._read_variable(node, name, frame)
        for names in (frame.function.names, PYTHONS, vars(builtins) if frame.function.is_template else {}):
            if name in names:
                return self.meaning(node, names[name])
        self.fail(node, f"{name} is not known here; expected a name that is set before")

    def _read_variable(self, node: Any, name: str, frame: Frame) -> Operand:
        """Return the value of a variable or parameter of a function of the kernel, by its name.

        Raise a CompileError if it may not be set yet. `frame` says what the function's names stand for.
        """
        variable = frame.variables.get(name)
        self.shown.instead = frame.shown.get(name)
        if variable is None:
            return frame.bound[name]
        if variable not in self.assigned and variable not in self.always and not self.dead:
            self.fail(node, f"{name} may not be set here; expected it to be set on every path")
        return self.load(variable)

    def meaning(self, node: Any, value: Any) -> Operand:
        """Return what an object of Python stands for in a kernel, such as a constant, a table, a type or a function.

        An example is a number that a name of the kernel's module refers to. Raise a CompileError for any other object.
        """
        plain = getattr(value, "kernel_function", value)
        if isinstance(plain, np.generic):
            self.shown.instead = constant(plain)
            return self.constant(node, plain.item(), scalar_type(plain.dtype))
        if isinstance(plain, np.ndarray):
            return self._table(plain)
        if isinstance(plain, Function | Builtin | Extern | Type | ModuleType | bool | int | float | tuple | None):
            return Known(plain)
        if isinstance(plain, Known):
            return plain
        if plain is PLAN:
            return Known(self.unit.plan)
        if isinstance(plain, type) and issubclass(plain, np.generic):
            return Known(scalar_type(np.dtype(plain)))
        if plain is range:
            return Known(plain)
        if isinstance(plain, type) and plain in PYTHON_TYPES:
            return Known(PYTHON_TYPES[plain])
        if isinstance(plain, np.ufunc | BuiltinFunctionType):
            name = SAME.get(plain.__name__, plain.__name__)
            if name in self.unit.builtins:
                return Known(self.unit.builtins[name])
        if self.frame.function.is_template:
            return Known(plain)
        self.fail(
            node, f"{ast.unparse(node)}, {value!r}, is not in the language; expected a number, a type or a function"
        )

    def _table(self, values: np.ndarray[Any, Any]) -> Value:
        """Add a NumPy array to the compiled code as a table of constants, and return it as a value of the kernel."""
        name, kind = f"@table.{len(self.unit.heads)}", array_of(scalar_type(values.dtype), values.ndim)
        words = values.tobytes()
        text = "".join(f"\\{byte:02X}" for byte in words)
        self.unit.heads[name] = f'{name} = internal constant [{len(words)} x i8] c"{text}", align 16'
        return Value(kind, name, *map(str, values.shape))

    def _e_Tuple(self, node: Any) -> Operand:
        return self.tuple_of(self.items(node.elts), node.elts)

    def tuple_of(self, items: list[Operand], nodes: list[Any]) -> Operand:
        """Return a tuple of operands as one operand. The tuple is a constant if all of its items are constants."""
        if all(isinstance(x, Known) for x in items):
            return Known(tuple(x.value for x in items))  # type: ignore[union-attr]
        return joined_tuple(self.settled(n, x, True) for n, x in zip(nodes, items))

    # --- evaluating what is known while compiling: unrolled loops, `match`, and constant operators --------------------

    def items(self, nodes: Iterable[Any]) -> list[Operand]:
        """Emit the code of a list of expressions, and return their values.

        For `*x` in the list, all items of x are returned.
        """
        operands: list[Operand] = []
        for node in nodes:
            operands += self._all_items(node.value) if isinstance(node, ast.Starred) else [self.expr(node)]
        return operands

    def _all_items(self, node: Any) -> list[Operand]:
        """Return all items of a sequence in a kernel whose length is known while compiling.

        The sequence is a constant such as a list, a comprehension, or a tuple.
        """
        whole = node
        match node:
            case ast.Call(func=ast.Name(id="tuple"), args=[ast.GeneratorExp() as generator]):
                node = generator
        if isinstance(node, ast.GeneratorExp | ast.ListComp):
            ((target, over),) = ((loop.target, loop.iter) for loop in node.generators)
            operands = []
            items: list[Any] = []
            for each in self._all_items(over):
                self._bind_item(target, each)
                operands.append(self.expr(node.elt))
                items.append(self.shown.of(node.elt))
            self.shown.note(whole, ast.Tuple(items))
            return operands
        sequence = self.expr(node)
        if isinstance(sequence, Known):
            return [self.meaning(node, each) for each in self._evaluate(node, list, sequence.value)]
        if sequence.type.kind != "t":
            self.fail(node, f"{sequence.type} has no items that are known while compiling; expected a tuple")
        return [item(sequence, k) for k in range(len(sequence.type.of))]

    def _bind_item(self, target: Any, item_value: Operand) -> bool:
        """Bind the target of an unrolled loop, a name or a tuple of names, to the item of the current iteration.

        Return True, so that conditions can contain this call.
        """
        if isinstance(target, ast.Name):
            self.frame.bound[target.id] = item_value
        else:
            assert isinstance(item_value, Known)
            for name_node, value in zip(target.elts, item_value.value, strict=True):
                self._bind_item(name_node, self.meaning(target, value))
        return True

    def _e_List(self, node: Any) -> Operand:
        if not self.frame.function.is_template:
            self.fail(node, f"{ast.unparse(node)} ({type(node).__name__}) is not in the language; expected a tuple")
        items = self.items(node.elts) if isinstance(node, ast.List) else self._all_items(node)
        if not all(isinstance(each, Known) for each in items):
            self.fail(node, f"{ast.unparse(node)} is only known in the running kernel; expected a tuple")
        return Known([each.value for each in items])  # type: ignore[union-attr]

    _e_ListComp = _e_GeneratorExp = _e_List

    def _s_Match(self, node: Any) -> None:
        """Emit a `match` on a constant. Only the case that matches is compiled."""
        frame, subject = self.frame, self.expr(node.subject)
        known = {name: each.value for name, each in frame.bound.items() if isinstance(each, Known)}
        namespace = {**frame.function.names, **known, "_subject": subject.value}  # type: ignore[union-attr]
        exec(_compile_cases(node), namespace)
        if "_case" in namespace:
            case = node.cases[namespace["_case"]]
            names = [x.name for x in ast.walk(case.pattern) if isinstance(x, ast.MatchAs) and x.name]
            frame.bound |= {name: self.meaning(node, namespace[name]) for name in names}
            self.block(case.body)

    def _e_UnaryOp(self, node: Any) -> Operand:
        is_not = isinstance(node.op, ast.Not)
        a = self.truth(node.operand) if is_not else self.expr(node.operand)
        if isinstance(a, Known):
            return Known(self._evaluate(node, UNARY[type(node.op)], a.value))
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
        self.fail(node, f"{ast.unparse(node)} is not in the language for {a.type}; expected a number")

    def _evaluate(self, node: Any, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """Call a Python function with constants while a kernel is compiled, and return its result.

        If the function raises an error, raise a CompileError that names the line of the kernel.
        """
        try:
            return function(*arguments, **keywords)
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            self.fail(node, f"{ast.unparse(node)} can't be computed while compiling: {error}")

    def _e_BinOp(self, node: Any) -> Operand:
        return self.binary(node, (node.left, node.right), self.expr(node.left), self.expr(node.right))

    def binary(self, node: Any, nodes: tuple[Any, Any], a: Operand, b: Operand) -> Operand:
        """Emit a binary operation such as `a + b` on two operands in a kernel, and return its result.

        `node.op` is the operator, and `nodes` has the operands' syntax trees, for error messages.
        """
        if type(node.op) not in OPERATORS:
            self.fail(node, f"{type(node.op).__name__} is not in the language; expected + - * / // % ** << >> & | or ^")
        operation, python_operator, instructions = OPERATORS[type(node.op)]
        if isinstance(a, Known) and isinstance(b, Known):
            if operation in ("shl", "pow") and abs(b.value) >= 64:
                self.fail(
                    node, f"{ast.unparse(node)} has more than 64 bits; expected a number that int64 or uint64 holds"
                )
            return Known(self._evaluate(node, python_operator, a.value, b.value))
        if (
            operation in ("shl", "shr")
            and isinstance(a, Value)
            and isinstance(b, Value)
            and {a.type, b.type} == {I64, U64}
        ):
            # In a shift, `b` is converted to the type of `a`, because the result has that type.
            b = self.cast(nodes[1], b, a.type)
        a, b = self.same(nodes, a, b)
        if operation == "div" and a.type.kind in "iu":
            a, b = self.cast(node, a, F64), self.cast(node, b, F64)
        kind = a.type.scalar.kind
        for kinds, instruction in instructions.items():
            if kind in kinds:
                return self.op(f"{instruction} {self.flags}" if kind == "f" else instruction, a, b)
        if kind in "iu" and operation in ("shl", "shr"):
            return self._shift(a, b, operation)
        if a.type.kind in "iu" and operation in ("quotient", "remainder"):
            return self._divide(a, b, operation)
        hint = "write i64(...)" if a.type == BOOL else "of integers, convert to f64 before a division"
        self.fail(node, f"{a.type} has no operator {operation}; {hint}")

    def _shift(self, a: Value, b: Value, operation: str) -> Value:
        """Emit a shift of the integer `a` by `b` bits, and return the result. `operation` is LLVM's name of the shift.

        As in NumPy, a shift by all of its bits or more gives 0, or -1 for `>>` of a negative `a`.
        """
        kind, bits = a.type, a.type.scalar.bits
        name = "shl" if operation == "shl" else "ashr" if kind.scalar.kind == "i" else "lshr"
        if b.text.isdigit() and int(b.text) < bits:
            return self.op(name, a, b)
        last = self.constant(None, bits - 1, kind)
        is_less = self.make(kind.each(BOOL), f"icmp ule {b.typed}, {last.text}")
        shifted = self.op(name, a, self.choose(is_less, b, last))
        return shifted if name == "ashr" else self.choose(is_less, shifted, Value(kind, "zeroinitializer"))

    def _divide(self, a: Value, b: Value, operation: str) -> Value:
        """Emit a division of two integers that rounds down, as in Python, and return the quotient or the remainder.

        A quotient or remainder by 0 is 0. The one quotient that overflows, of the smallest integer by -1, wraps around.
        """
        zero, one = Value(a.type, "0"), Value(a.type, "1")
        if b.text.isdigit() and b.text != "0":
            return self._floor_divide(a, b, operation)
        is_zero = is_unsafe = self.compare("eq", b, zero)
        # x86 processors raise an exception when the smallest integer is divided by -1, so here it is divided by 1,
        # which gives the quotient after wraparound.
        if a.type.kind == "i":
            is_minus = self.compare("eq", b, Value(a.type, "-1"))
            is_unsafe = self.op("or", is_zero, is_minus)
        quotient = self._floor_divide(a, self.choose(is_unsafe, one, b), operation)
        if a.type.kind == "i" and operation == "quotient":
            quotient = self.choose(is_minus, self.op("sub", zero, a), quotient)
        return self.choose(is_zero, zero, quotient)

    def _floor_divide(self, a: Value, b: Value, operation: str) -> Value:
        zero = Value(a.type, "0")
        if a.type.kind == "u":
            return self.op("udiv" if operation == "quotient" else "urem", a, b)
        quotient, remainder = self.op("sdiv", a, b), self.op("srem", a, b)
        differ = self.compare("lt", self.op("xor", remainder, b), zero)
        is_off = self.op("and", differ, self.compare("ne", remainder, zero))
        if operation == "quotient":
            return self.op("add", quotient, self.make(a.type, f"sext {is_off.typed} to {a.type.ir}"))
        return self.op("add", remainder, self.choose(is_off, b, zero))

    def _e_Compare(self, node: Any) -> Operand:
        """Emit a comparison such as `a < b`, and return a bool. A chain `a < b < c` evaluates `c` only if `a < b`."""
        if len(node.ops) > 1:
            return self._e_BoolOp(self._split_chain(node))
        (op,), (side,) = node.ops, node.comparators
        a, b = self.expr(node.left), self.expr(side)
        if isinstance(op, ast.Is | ast.IsNot):
            if not (isinstance(b, Known) and b.value is None):
                self.fail(node, "`is` is for None alone; expected == for other values")
            return Known((isinstance(a, Known) and a.value is None) == isinstance(op, ast.Is))
        is_in = isinstance(op, ast.In | ast.NotIn) and self.frame.function.is_template
        if is_in and isinstance(a, Known) and isinstance(b, Known):
            return Known((a.value in b.value) == isinstance(op, ast.In))
        if type(op) not in COMPARISONS:
            self.fail(node, f"{type(op).__name__} is not in the language; expected == != < <= > or >=")
        relation, python_operator = COMPARISONS[type(op)]
        if isinstance(a, Known) and isinstance(b, Known):
            return Known(self._evaluate(node, python_operator, a.value, b.value))
        if isinstance(a, Value) and isinstance(b, Value) and {a.type, b.type} == {I64, U64}:
            a, b = (self.cast(node, x, Type("i", 128)) for x in (a, b))
        a, b = self.same((node.left, side), a, b)
        if a.type.kind not in "iufbv":
            self.fail(node, f"{a.type} can't be compared; expected numbers")
        return self.compare(relation, a, b)

    def _split_chain(self, node: Any) -> ast.BoolOp:
        """Return the syntax tree of `a < b and b < c` for the chain of comparisons `a < b < c` in a kernel.

        The code of `a` and `b` is emitted here, once. In the new tree, names stand for their values.
        """
        names = []
        for side in (node.left, node.comparators[0]):
            (name,) = self.labels("side")
            self.frame.bound[name] = self.expr(side)
            names.append(ast.copy_location(ast.Name(name, ast.Load()), side))
        pairs = (names[0], node.ops[:1], names[1:]), (names[1], node.ops[1:], node.comparators[1:])
        return ast.BoolOp(ast.And(), [ast.copy_location(ast.Compare(*pair), node) for pair in pairs])

    # --- conditions: comparisons that become jumps --------------------------------------------------------------------

    def truth(self, node: Any) -> Operand:
        """Emit the code of a condition, and return it as a bool, or as a constant if it is known while compiling."""
        operand = self.expr(node)
        if isinstance(operand, Known):
            return Known(bool(operand.value))
        if operand.type.kind not in "biuf":
            self.fail(node, f"{operand.type} is neither true nor false; expected a bool or a number")
        return self.cast(node, operand, BOOL)

    def test(self, node: Any, yes: str, no: str) -> bool | None:
        """Emit a jump to the label `yes` if a condition is true, and to the label `no` if it is false. Return None.

        If the condition is a constant, emit no jump and return it as a Python bool. As in Python, the second operand of
        `and` and `or` is evaluated only if the first does not decide the result.
        """
        if isinstance(node, ast.BoolOp):
            ends, jumps, undecided = isinstance(node.op, ast.Or), False, list[Any]()
            for part in node.values:
                (further,) = self.labels("further")
                last = part is node.values[-1]
                targets = (yes, no) if last else (yes, further) if ends else (further, no)
                constant_result = self.test(part, *targets)
                if constant_result is None:
                    undecided.append(self.shown.of(part))
                    jumps = True
                    if not last:
                        self.label(further)
                elif constant_result == ends or last:
                    if not jumps:
                        return constant_result
                    self.jump(yes if constant_result else no)
                    break
            self.shown.note(node, undecided[0] if len(undecided) == 1 else ast.BoolOp(node.op, undecided))
            return None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            constant_result = self.test(node.operand, no, yes)
            return None if constant_result is None else not constant_result
        value = self.truth(node)
        if isinstance(value, Known):
            return bool(value.value)
        self.jump(yes, no, condition=value)
        return None

    def _e_BoolOp(self, node: Any) -> Operand:
        yes, no, end = self.labels("yes", "no", "end")
        known = self.test(node, yes, no)
        if known is not None:
            return Known(known)
        if not {yes, no} <= self.arrivals.keys():
            self.label(yes if yes in self.arrivals else no)
            return Known(yes in self.arrivals)
        self.label(yes)
        self.jump(end)
        self.label(no)
        self.label(end)
        return self.make(BOOL, f"phi i1 [ true, %{yes} ], [ false, %{no} ]")

    def _e_IfExp(self, node: Any) -> Operand:
        """Emit `a if c else b`, and return a value of the type that both sides have in common."""
        yes, no, first, second, end = self.labels("yes", "no", "first", "second", "end")
        decided = self.test(node.test, yes, no)
        if decided is not None:
            side = node.body if decided else node.orelse
            value = self.expr(side)
            self.shown.instead = self.shown.of(side)
            return value
        sides = (yes, node.body, first), (no, node.orelse, second)
        reached = [side for side in sides if side[0] in self.arrivals]
        operands = []
        for label, side, after in reached or sides[:1]:
            self.label(label)
            operands.append(self.expr(side))
            if len(reached) < 2:
                return operands[0]
            self.jump(after)
        either = self.variable("either", self.common((node.body, node.orelse), *operands))
        for (_, side, after), value in zip(sides, operands):
            self.label(after)
            self.store(either, self.to(side, value, either.type))
            self.jump(end)
        self.label(end)
        return self.load(either)

    # --- items of arrays and tuples, slices, and attributes -----------------------------------------------------------

    def _e_Subscript(self, node: Any) -> Operand:
        container = self.expr(node.value)
        if isinstance(container, Known) and isinstance(container.value, Prefix):
            return self.shared(node, self._key(node, container.value))
        if isinstance(container, Known) and isinstance(container.value, Arrays):
            values = [*map(self.read, self._places(node, container.value))]
            return joined_tuple(values) if container.value.is_tuple else values[0]
        if isinstance(container, Value) and container.type.kind == "a":
            place = self.locate(node, container)
            return place if place.type.kind == "a" else self.read(place)
        index = self.expr(node.slice)
        if isinstance(index, Known) and isinstance(container, Known) and hasattr(container.value, "__getitem__"):
            return self.meaning(node, self._evaluate(node, operator.getitem, container.value, index.value))
        if (
            isinstance(index, Known)
            and isinstance(index.value, int)
            and isinstance(container, Value)
            and container.type.kind == "t"
        ):
            if not 0 <= index.value < len(container.type.of):
                self.fail(node, f"{container.type} has no item {index.value}; expected the number of an item")
            return item(container, index.value)
        if isinstance(container, Value) and container.type.kind == "v":
            return self.make(
                container.type.of, f"extractelement {container.typed}, {self.settled(node.slice, index).typed}"
            )
        holder = container.type if isinstance(container, Value) else container.value
        self.fail(
            node,
            f"{holder} has no items that {ast.unparse(node.slice)} picks; expected an array, or a tuple and a constant",
        )

    def _places(self, node: Any, arrays: Arrays) -> list[Value]:
        """Return the addresses of a value that several arrays hold together, such as a tuple: an address in each array.

        `node` is the expression `arrays[index]`, which has the index of the value.
        """
        index, places = self.value(node.slice), []
        for k, name in enumerate(arrays.names):
            at, array = index, self.shared(node, name)
            if arrays.offsets:
                at = self.op("add", *self.same((node, node), Value(U64, str(arrays.offsets[k])), index))
            assert isinstance(array, Value)
            places.append(self.place(node, parts(array)[0], at))
        return places

    def _key(self, node: Any, prefix: Prefix) -> Any:
        """Return the name of the shared variable that `run.sum[key]` selects in a template.

        The key must be known while compiling, and `prefix` stands for `run.sum`. If the key ends with a list, return a
        tuple with a name for each item of the list.
        """
        index = self.expr(node.slice)
        if not isinstance(index, Known):
            self.fail(node, f"{ast.unparse(node.slice)} is only known in the running kernel; expected a part of a name")
        return prefix.of(index.value)

    def _e_Attribute(self, node: Any) -> Operand:
        owner = self.expr(node.value)
        if isinstance(owner, Value) and owner.type.kind == "a":
            if node.attr == "shape":
                return joined_tuple(parts(owner)[1:])
            if node.attr == "dtype":
                return Known(owner.type.of)
        if isinstance(owner, Known):
            if node.attr == "type" and isinstance(owner.value, Type):
                return owner
            if _is_record(owner.value):
                kind = _declared(owner.value).get(node.attr) or self.fail(
                    node, f"{ast.unparse(node)}: the record does not declare this; expected a declaration there"
                )
                is_each = kind in ("Each", Each)
                prefix = Prefix("" if node.attr == "local" else node.attr.rstrip("_"))
                return Known(prefix) if is_each else self.shared(node, node.attr)
            if isinstance(owner.value, ModuleType) and hasattr(owner.value, node.attr):
                return self.meaning(node, getattr(owner.value, node.attr))
            if self.frame.function.is_template:
                return self.meaning(node, self._evaluate(node, getattr, owner.value, node.attr))
        self.fail(node, f"{ast.unparse(node)} is not in the language; expected a variable of a record, or a constant")

    def place(self, node: Any, start: Value, index: Value) -> Value:
        """Return the address that lies `index` items after the address `start`, where an array begins."""
        if index.type.kind not in "iu":
            self.fail(node, f"an index is {index.type}; expected an integer")
        if index.type.kind == "u" and index.type.bits < 64:
            index = self.to(node, index, U64)
        return self.make(start.type, f"getelementptr inbounds {start.type.of.stored}, {start.typed}, {index.typed}")

    def locate(self, node: Any, array: Value) -> Value:
        """Return the address of the item `array[...]`, where the syntax tree `node` has the indices.

        With fewer indices than dimensions, or with a slice, return the subarray.
        """
        (base, *lengths), indices = parts(array), _indices(node)
        if len(indices) > len(lengths):
            self.fail(node, f"{array.type} is given {len(indices)} indices; expected at most {len(lengths)}")
        for k, index in enumerate(indices):
            if not isinstance(index, ast.Slice):
                base, lengths = self._step_in(index, base, lengths), lengths[1:]
                continue
            if k < len(indices) - 1 or index.step:
                self.fail(node, "a slice is read only as the last index, and without a step; expected a loop")
            first, last = self._bounds(index, lengths[0])
            base = self.place(node, base, self._multiply_by_lengths(first, lengths[1:]))
            lengths[0] = self.op("sub", last, first)
        return joined(array_of(array.type.of, len(lengths)), base, *lengths) if lengths else base

    def _step_in(self, node: Any, start: Value, lengths: list[Value]) -> Value:
        """Return the address of `array[i]`, which is an item, or a row if the array has several dimensions.

        `node` is the expression `i`, `start` is the array's address, and `lengths` are its lengths.
        """
        step = self.expr(node)
        if isinstance(step, Known) and isinstance(step.value, int) and step.value < 0:
            self.fail(
                node, f"{ast.unparse(node)} is no index: indices do not count from the end; expected one from 0 on"
            )
        index = self.settled(node, step)
        return self.place(
            node, start, self._multiply_by_lengths(self.cast(node, index, I64), lengths[1:]) if lengths[1:] else index
        )

    def _bounds(self, node: Any, length: Value) -> tuple[Value, Value]:
        """Emit the bounds of the slice `node`, such as `a:b`. Return its first index and the index after its last.

        The default of the first is 0, and the default of the second is `length`.
        """
        bounds = []
        for part, default in ((node.lower, Value(I64, "0")), (node.upper, length)):
            bound = default if part is None else self.expr(part)
            if isinstance(bound, Known) and not (isinstance(bound.value, int) and bound.value >= 0):
                self.fail(part, f"{ast.unparse(part)} bounds a slice; expected an integer, 0 or more")
            bounds.append(self.cast(part, bound, I64))
        return bounds[0], bounds[1]

    def _multiply_by_lengths(self, index: Value, lengths: list[Value]) -> Value:
        for length in lengths:
            index = self.op("mul", index, length)
        return index

    def read(self, place: Value, how: str = "") -> Value:
        """Emit a load of a value from an address.

        `how` is "" for a plain load, or "atomic" followed by LLVM's memory order.
        """
        kind, (atomic, _, order) = place.type.of, how.partition(" ")
        loaded = self.make(kind, f"load {atomic} {kind.stored}, {place.typed} {order}, align {kind.size}")
        return self.make(BOOL, f"trunc i8 {loaded.text} to i1") if kind == BOOL else loaded

    def write(self, place: Value, value: Value, how: str = "") -> None:
        """Emit a store of a value at an address.

        `how` is "" for a plain store, or "atomic" followed by LLVM's memory order.
        """
        kind, (atomic, _, order) = place.type.of, how.partition(" ")
        if kind == BOOL:
            value = self.cast(None, value, I8)
        self.emit(f"store {atomic} {value.typed}, {place.typed} {order}, align {kind.size}")

    def fill(
        self, node: Any, source: Any, start: Value, lengths: list[Value], indices: list[Any], value: Operand
    ) -> None:
        """Emit an assignment to several items of an array, such as `a[i, :] = value`.

        It is a loop over each dimension that has a slice or no index.
        """
        if not lengths:
            self.write(start, self.stored(source, value, start.type.of))
            return
        index, *other_indices = indices or [ast.Slice()]
        if not isinstance(index, ast.Slice):
            self.fill(node, source, self._step_in(index, start, lengths), lengths[1:], other_indices, value)
            return
        first, last = self._bounds(index, lengths[0])
        step = self.expr(index.step) if index.step else Known(1)
        if not (isinstance(step, Known) and isinstance(step.value, int) and step.value > 0):
            self.fail(node, f"the step of {ast.unparse(node)} is not a positive constant; expected an integer above 0")

        def one(at: Value) -> None:
            self.fill(
                node,
                source,
                self.place(node, start, self._multiply_by_lengths(at, lengths[1:])),
                lengths[1:],
                other_indices,
                value,
            )

        self._count_from(node, first, last, step, one)

    # --- calls of compiled functions, of C functions, of built-in functions, and of types, which convert --------------

    def _e_Call(self, node: Any) -> Operand:
        is_template = self.frame.function.is_template
        if not is_template and (node.keywords or any(isinstance(x, ast.Starred) for x in node.args)):
            self.fail(node, "a call has keywords or stars; expected plain arguments")
        callee = self.expr(node.func)
        if isinstance(callee, Known) and isinstance(callee.value, Prefix):
            callee = self.shared(node, callee.value.of(None))
            self.shown.note(node.func)
        if not isinstance(callee, Known):
            self.fail(node, f"{ast.unparse(node.func)} is {callee.type}; expected a function")
        called = callee.value
        if called is tuple and isinstance(node.args[0], ast.GeneratorExp):
            items = self._all_items(node.args[0])
            self.shown.instead = self.shown.of(node.args[0])
            return self.tuple_of(items, [node] * len(items))
        arguments = self.items(node.args)
        keywords = {word.arg: self.expr(word.value) for word in node.keywords}
        if isinstance(called, np.dtype):
            called = scalar_type(called)
        if isinstance(called, Type):
            if len(arguments) != 1:
                self.fail(node, f"{called} is given {len(arguments)} values; expected one to convert")
            if called == BOOL and is_template and isinstance(arguments[0], Known):
                return Known(bool(arguments[0].value))
            return self.cast(node.args[0], arguments[0], called)
        if _is_inlined(called):
            return self._inline(node, _function_to_inline(called), arguments, keywords)
        if isinstance(called, Function):
            return self._call_function(node, called, arguments)
        if isinstance(called, Extern):
            return self.call_extern(node, called, arguments)
        if not isinstance(called, Builtin):
            return self._call_plain(node, called, arguments, keywords)
        try:
            return called.emit(self, node, *arguments)
        except TypeError as error:
            self.fail(node, f"{ast.unparse(node.func)} does not take these arguments: {error}")

    def _call_plain(self, node: Any, called: Any, arguments: list[Operand], keywords: dict[Any, Operand]) -> Operand:
        """Call an ordinary Python function while a template is compiled, and return its result as a constant.

        All arguments must be constants.
        """
        values = [each.value for each in arguments if isinstance(each, Known)]
        keyword_values = {name: each.value for name, each in keywords.items() if isinstance(each, Known)}
        is_known = len(values) == len(arguments) and len(keyword_values) == len(keywords)
        if not (self.frame.function.is_template and callable(called) and is_known):
            self.fail(node, f"{ast.unparse(node.func)} is not a function; expected a compiled function or a type")
        return self.meaning(node, self._evaluate(node, called, *values, **keyword_values))

    def _inline(
        self,
        node: Any,
        function: Function,
        operands: list[Operand],
        keywords: Mapping[Any, Operand],
        give: Any = None,
        target: Any = None,
    ) -> Operand:
        """Emit the body of a function in place of a call of the function, and return the value that it returns.

        For a generator, `give` is called with each yielded value, and `target` is the target of the loop over the
        generator.
        """
        try:
            arguments = function.signature.bind(*operands, **keywords)
        except TypeError as error:
            self.fail(node, f"{function.name}: {error}")
        arguments.apply_defaults()
        outside, inside = self.frame, Frame(function, give)
        if self.shown.is_wanted:
            self.shown.instead, inside.target = None, target
            nodes = [
                *zip(function.signature.parameters, node.args),
                *((word.arg, word.value) for word in node.keywords),
            ]
            inside.shown = {name: self.shown.of(each) for name, each in nodes if name not in _names_set(function.node)}
        self.frame = inside
        for name, value in arguments.arguments.items():
            if type(value) is tuple:  # the tuple has the arguments for a parameter `*values`
                value = self.tuple_of([*value], [node] * len(value))
            is_given = isinstance(value, Value | Known)
            self.bind(
                name, Known(function.records[name]) if name in function.records else value if is_given else Known(value)
            )
        inside.is_where_used = "where_used" in function.marks
        self.block(function.node.body)
        self.frame = outside
        self.shown.instead = inside.returned
        return inside.result or Known(None)

    def call_extern(self, node: Any, function: Extern, arguments: list[Operand]) -> Operand:
        """Emit a call of a C function from a kernel.

        The arguments are converted to the types that `function` declares.
        """
        if len(function.takes) != len(arguments):
            self.fail(node, f"{function.name} is given {len(arguments)} arguments; expected {len(function.takes)}")
        values = [self.cast(node, x, kind) for x, kind in zip(arguments, function.takes)]
        result: Operand = self.intrinsic(function.returns, function.name, *values)
        return result

    def _call_function(self, node: Any, function: Function, arguments: list[Operand]) -> Operand:
        records = [isinstance(x, Known) and _is_record(x.value) for x in arguments]
        arguments = [x for x, is_record in zip(arguments, records) if not is_record]
        parameters = Emitter(self.unit, function, self).parameters()
        if len(parameters) != len(arguments):
            self.fail(node, f"{function.name} is given {len(arguments)} arguments; expected {len(parameters)}")
        kinds: list[Type | Known] = []
        values: list[Value] = []
        constants = [name in function.constants for name in parameters]
        for value, at, is_constant in zip(arguments, [*node.args, *[node] * len(arguments)], constants):
            if _is_constant(value) or (is_constant and isinstance(value, Known)):
                kinds.append(value)  # type: ignore[arg-type]
            else:
                values.append(self.settled(at, value))
                kinds.append(values[-1].type)
        instance = self.instance(function, kinds)
        if instance is None:
            self.fail(node, f"{function.name} calls itself, which is not in the language; expected a loop")
        for name in instance.taken:
            value = self.shared(node, name)
            assert isinstance(value, Value)
            values.append(value)
        if self.shown.is_wanted:
            args = [x for x, is_record in zip(self.shown.of(node.args), records) if not is_record]
            args = [x for x, kind in zip(args, kinds) if isinstance(kind, Type)]
            title = ast.Name(_shown_name(function, kinds)) if function.is_template else self.shown.of(node.func)
            self.shown.instead = ast.Call(title, [*args, *map(ast.Name, instance.taken)], [])
        result: Operand = self.call(instance.returns, instance.symbol, values)
        return result

    def instance(self, function: Function, argument_types: list[Type | Known]) -> Instance | None:
        """Return a function of the kernel as compiled for some argument types and constants: its `Instance`.

        The first call for these compiles it. Return None if the function is being compiled right now, which means that
        it calls itself.
        """
        instances = self.unit.instances
        key = (
            id(function.node),
            *(x if isinstance(x, Type) else ("known", type(x.value), x.value) for x in argument_types),
        )
        if key not in instances:
            instances[key] = None
            if "apart" in function.marks:
                instances[key] = self._compile_apart(function, argument_types, key)
            else:
                instances[key] = Emitter(self.unit, function, self).function(
                    argument_types, f"{function.name}.{len(instances)}"
                )
        return instances[key]

    def _compile_apart(self, function: Function, argument_types: list[Type | Known], key: tuple[Any, ...]) -> Instance:
        """Compile a function into an object file of its own, and declare it, so that the current unit may call it.

        The function's symbol contains a hash of its IR, so all programs that call the function share one object file.
        """
        key, compiled = (
            (self.unit.machine, id(function.names), *key),
            {} if function.is_template else _separate_functions,
        )
        if key not in compiled:
            unit = Sources(self.unit.machine, self.unit.builtins, self.unit.plan)
            unit.order, unit.shown = self.unit.order, self.unit.shown
            # A function that is being compiled has None for its instance, so that a call of it is recognized as a
            # recursion. The new unit gets these entries, as it would compile the functions again, and again, without
            # end.
            unit.instances = {key: None for key, instance in self.unit.instances.items() if instance is None}
            instance = Emitter(unit, function, self).function(argument_types, function.name)
            text = unit.ir()
            symbol = f"{function.name}.{hashlib.sha256(text.encode()).hexdigest()[:32]}"
            head = f" {instance.returns.ir} @"
            text = text.replace(f"define internal{head}{function.name}(", f"define{head}{symbol}(")
            compiled[key] = function, instance._replace(symbol=symbol), unit.parts | {symbol: text}
        _, instance, parts = compiled[key]
        self.unit.parts |= parts
        self.declare(instance.symbol, instance.returns, [leaf for kind in instance.takes for leaf in kind.leaves])
        return instance

    # --- statements: one method `_s_X` for each class X of Python's syntax tree ---------------------------------------

    def block(self, body: list[Any]) -> None:
        """Emit the statements of a block of the kernel, up to the first one that can't be reached."""
        for node in body:
            if self.dead or self.frame.result is not None:
                return
            method = getattr(self, f"_s_{type(node).__name__}", None)
            if method is None:
                self.fail(node, f"{type(node).__name__} is not in the language; expected another statement")
            method(node)
            match node:
                case ast.Assign() if not self.frame.is_where_used:
                    self.shown.assign(node)
                case ast.AugAssign() | ast.Break() | ast.Continue():
                    self.shown.put("{}", node)
                case ast.Expr(value=ast.Call(func=called)) if not _is_inlined(self._module_object(called)):
                    self.shown.put("{}", node.value)

    def _module_object(self, node: Any) -> Any:
        """Return the object that a name in the function's module refers to, such as another function.

        Return None if the expression `node` is not such a name.
        """
        return self.frame.function.names.get(node.id) if isinstance(node, ast.Name) else None

    def _s_Pass(self, node: Any) -> None:
        pass

    def _s_Expr(self, node: Any) -> None:
        # a text alone is a docstring, for which nothing is emitted
        if not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)):
            self.expr(node.value)

    def _s_Assign(self, node: Any) -> None:
        if self.frame.is_where_used:
            number = len(self.later) + len(self.early)
            frame = Frame(self.frame.function)
            frame.bound |= self.frame.bound
            targets = [each for x in node.targets for each in (x.elts if isinstance(x, ast.Tuple) else [x])]
            self.later |= {self.set_of(each): (number, node, frame) for each in targets}
            return
        if isinstance(node.value, ast.Tuple) and all(isinstance(target, ast.Tuple) for target in node.targets):
            # As in Python, all values are computed before any target is set. Nothing makes a tuple of them, so a
            # constant takes the type of its target.
            values = [self.expr(x) for x in node.value.elts]
            for target in node.targets:
                if len(target.elts) != len(values):
                    self.fail(
                        node,
                        f"{len(values)} values are set to {len(target.elts)} names; expected a name for each value",
                    )
                for each, value, source in zip(target.elts, values, node.value.elts):
                    self.assign(each, value, source)
            return
        value = self.expr(node.value)
        for target in node.targets:
            self.assign(target, value, node.value)

    def _s_AugAssign(self, node: Any) -> None:
        target, nodes = node.target, (node.target, node.value)
        if not isinstance(target, ast.Subscript) or self.set_of(target) is not None:
            self.assign(target, self.binary(node, nodes, self.expr(target), self.expr(node.value)), node.value)
            return
        array = self._array_set(target)
        item_address = self.locate(target, array)
        if item_address.type.kind != "p":
            self.fail(target, f"{array.type} is changed as a whole here; expected an index for each dimension")
        result = self.binary(node, nodes, self.read(item_address), self.expr(node.value))
        self.write(item_address, self.stored(node.value, result, item_address.type.of))

    def set_of(self, target: Any) -> Any:
        """Return the name of the shared variable that is the target of an assignment, such as `size` for `run.size =
        0`.

        If the target is a family of variables, return a tuple of names. Return None for a target that is no shared
        variable.
        """
        if not isinstance(target, ast.Attribute | ast.Subscript):
            return None
        owner, name = self.expr(target.value), None
        if isinstance(target, ast.Attribute) and isinstance(owner, Known) and _is_record(owner.value):
            name = target.attr
        if isinstance(target, ast.Subscript) and isinstance(owner, Known) and isinstance(owner.value, Prefix):
            name = self._key(target, owner.value)
        if name is not None:
            self.shown.names(name)
            self.shown.note(target)
        return name

    def _array_set(self, target: Any) -> Value:
        array = self.value(target.value)
        if array.type.kind != "a":
            self.fail(target, f"items of {array.type} can't be set; expected an array")
        return array

    def assign(self, target: Any, value: Operand, source: Any) -> None:
        """Emit an assignment of a value to a target: a name, a shared variable, items of an array, or a tuple of
        targets.

        `source` is the syntax tree of the value, for error messages.
        """
        if isinstance(target, ast.Tuple):
            value = self.settled(source, value)
            if value.type.kind != "t" or len(value.type.of) != len(target.elts):
                self.fail(
                    target,
                    f"{value.type} is set to {len(target.elts)} names; expected a tuple with an item for each name",
                )
            for k, each in enumerate(target.elts):
                self.assign(each, item(value, k), source)
        elif (name := self.set_of(target)) is not None:
            if isinstance(name, str):
                self.set_variable(source, name, value, self.root)
                return
            value = self.settled(source, value)
            for k, variable_name in enumerate(name):
                self.set_variable(source, variable_name, item(value, k), self.root)
        elif isinstance(target, ast.Subscript):
            arrays = self.expr(target.value)
            if isinstance(arrays, Known) and isinstance(arrays.value, Arrays):
                value = self.settled(source, value)
                for k, place in enumerate(self._places(target, arrays.value)):
                    self.write(
                        place, self.stored(source, item(value, k) if arrays.value.is_tuple else value, place.type.of)
                    )
                return
            array, indices = self._array_set(target), _indices(target)
            if len(indices) > array.type.extent:
                self.fail(target, f"{array.type} is given {len(indices)} indices; expected at most {array.type.extent}")
            start, *lengths = parts(array)
            self.fill(target, source, start, lengths, indices, value)
        elif isinstance(target, ast.Name):
            self.set_variable(source, target.id, value)
        else:
            self.fail(
                target,
                f"{ast.unparse(target)} can't be set; expected a name, an item of an array, or a variable of a record",
            )

    def _s_If(self, node: Any) -> None:
        yes, no, end = self.labels("yes", "no", "end")
        decided = self.test(node.test, yes, no)
        if decided is not None:
            self.block(node.body if decided else node.orelse)
            return
        self.frame.depth += 1
        for label, body, form in ((yes, node.body, "if {}:"), (no, node.orelse, "else:")):
            self.label(label)
            with self.shown.block(form, node.test) if body else nullcontext():
                self.block(body)
            self.jump(end)
        self.frame.depth -= 1
        self.label(end)

    def _s_While(self, node: Any) -> None:
        head, body, end = self.labels("head", "body", "end")
        self.label(head)
        decided = self.test(node.test, body, end)
        if decided is not None:
            self.jump(body if decided else end)
        self.label(body)
        with self.shown.block("while {}:", node.test if decided is None else ast.Constant(decided)):
            self._emit_loop_body(node, head, end)
        self.jump(head)
        self.label(end)

    def _emit_loop_body(self, node: Any, further: str, end: str) -> None:
        if node.orelse:
            self.fail(
                node, "a loop has an else, which is not in the language; expected a variable that says how it ended"
            )
        self.frame.loops.append((further, end))
        self.frame.depth += 1
        self.block(node.body)
        self.frame.depth -= 1
        self.frame.loops.pop()

    def _s_Break(self, node: Any) -> None:
        self.jump(self.frame.loops[-1][1])

    def _s_Continue(self, node: Any) -> None:
        self.jump(self.frame.loops[-1][0])

    def _s_Return(self, node: Any) -> None:
        frame = self.frame
        if frame.give is not None and (frame.depth or not frame.function.is_template):
            self.fail(node, f"{frame.function.name} yields and returns; expected break, or an if around the rest")
        if frame is not self.root and frame.depth:
            self.fail(node, f"{frame.function.name} is inlined and returns under a condition; expected one return")
        value = Known(None) if node.value is None else self.expr(node.value)
        if frame is not self.root:
            frame.result = value
            frame.returned = node.value and self.shown.of(node.value)
        else:
            self.leave(node, value)
            self.shown.put("return {}" if node.value else "return", node.value)

    def _as_operand(self, value: Value) -> str:
        """Return a value of the kernel as a single operand with its type, as LLVM's instruction `ret` needs it.

        The scalars of an array or a tuple are combined into an LLVM structure.
        """
        if value.type.kind not in "at":
            return value.typed
        whole = Value(value.type, "poison")
        for k, part in enumerate(parts(value)):
            whole = self.make(value.type, f"insertvalue {value.type.ir} {whole.text}, {part.typed}, {k}")
        return f"{value.type.ir} {whole.text}"

    # --- `for` loops over ranges, arrays, generators, and sequences that are known while compiling --------------------

    def _s_For(self, node: Any) -> None:
        call = node.iter
        iterated = self.expr(call.func if isinstance(call, ast.Call) else call)
        known = iterated.value if isinstance(iterated, Known) else None
        if isinstance(known, Function) or _is_inlined(known):
            self._over_generator(node, known if isinstance(known, Function) else _function_to_inline(known))
        elif isinstance(iterated, Value) and iterated.type.kind == "a":
            self._over_items(node, iterated)
        elif known is range:
            self._over_range(node)
        elif self.frame.function.is_template:
            self._emit_unrolled(node, self._all_items(call))
        else:
            self.fail(node, "a loop is over something else than a range; expected range(...)")

    def _emit_unrolled(self, node: Any, items: list[Operand]) -> None:
        """Emit the body of a `for` loop once for each item of a sequence that is known while compiling."""
        for each in items:
            self._bind_item(node.target, each)
            self.block(node.body)

    def _over_range(self, node: Any) -> None:
        call = node.iter
        if not 1 <= len(call.args) <= 3 or call.keywords:
            self.fail(node, "expected `for name in range(...)`, of one to three numbers")
        limits = [self.expr(x) for x in call.args]
        if self.frame.function.is_template and all(isinstance(x, Known) for x in limits):
            self._emit_unrolled(node, [*map(Known, range(*(x.value for x in limits)))])  # type: ignore[union-attr]
            return
        begin, stop = (Known(0), limits[0]) if len(limits) == 1 else (limits[0], limits[1])
        first, last = self.same((call.args[0], call.args[min(1, len(limits) - 1)]), begin, stop)
        step = limits[2] if len(limits) == 3 else Known(1)
        if isinstance(step, Value):
            step = self.to(call.args[2], step, first.type)
        elif not isinstance(step.value, int) or not step.value:
            self.fail(node, f"the step of a range is {step.value!r}; expected an integer other than 0")
        self.set_of(node.target)
        with self.shown.block("for {} in {}:", node.target, call):
            self._count_from(node, first, last, step, lambda count: self.assign(node.target, count, node), node)

    def _over_items(self, node: Any, array: Value) -> None:
        """Emit a `for` loop of a kernel over the items of an array, or over its rows if it has several dimensions."""
        start, length, *lengths = parts(array)

        def body(count: Value) -> None:
            place = self.place(node, start, self._multiply_by_lengths(count, lengths))
            row = joined(array_of(array.type.of, len(lengths)), place, *lengths) if lengths else self.read(place)
            self.assign(node.target, row, node.iter)

        with self.shown.block("for {} in {}:", node.target, node.iter):
            self._count_from(node, Value(I64, "0"), length, Known(1), body, node)

    def _over_generator(self, node: Any, callee: Function) -> None:
        """Emit a `for` loop over a generator: the body of the generator function, in which the loop's body replaces
        each `yield`.
        """
        call, (end,) = node.iter, self.labels("end")
        outside, arguments, keywords = (
            self.frame,
            self.items(call.args),
            {x.arg: self.expr(x.value) for x in call.keywords},
        )
        if not callee.is_template:
            arguments = [self.settled(at, x) for at, x in zip(call.args, arguments)]
        if node.orelse:
            self.fail(
                node, f"a loop over {callee.name}(...) has an else, which is not in the language; expected no else"
            )

        def give(value: Operand, yielded: Any) -> None:
            (further,) = self.labels("further")
            generator, self.frame = self.frame, outside
            self.assign(node.target, value, call)
            if self.shown.is_wanted and ast.unparse(self.shown.of(node.target)) != ast.unparse(yielded):
                self.shown.put("{} = {}", node.target, yielded)
            self._emit_loop_body(node, further, end)
            self.frame = generator
            self.label(further)

        self.set_of(node.target)
        self._inline(call, callee, arguments, keywords, give, self.shown.of(node.target))
        self.shown.instead = None
        self.label(end)

    def _e_Yield(self, node: Any) -> Operand:
        if self.frame.give is None or node.value is None:
            self.fail(node, f"{ast.unparse(node)} gives nothing to a loop; expected `yield x` in a function for a loop")
        value = self.expr(node.value)
        self.frame.give(value, self.shown.of(node.value))
        return Known(None)

    def _e_YieldFrom(self, node: Any) -> Operand:
        name = ast.copy_location(ast.Name("each"), node)
        if self.shown.is_wanted:
            self.frame.shown["each"] = self.frame.target
            self.shown.note(name, self.frame.target)
        over = ast.For(name, node.value, [ast.Expr(ast.copy_location(ast.Yield(name), node))], [])
        self._s_For(ast.copy_location(over, node))
        return Known(None)

    def _count_from(
        self, node: Any, first: Value, last: Value, by: Operand, do: Callable[[Value], None], loop: Any = None
    ) -> None:
        """Emit a loop over `range(first, last, by)`.

        In each iteration, first `do` is called with the counter, and emits what it wants. Then the body of `loop`
        follows, a `for` statement or None. If the step is neither 1 nor -1, the counter could overflow after the last
        value. So the loop counts its iterations instead of comparing the counter with `last`.
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
            self.store(turns, self._iteration_count(first, last, by, step))
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
            self._emit_loop_body(loop, further, end)
        self.label(further)
        wraps = "" if step != 1 else "nsw" if kind.kind == "i" else "nuw"
        self.store(place, self.op(f"add {wraps}", count, by))
        self.jump(head)
        self.label(end)

    def _iteration_count(self, first: Value, last: Value, by: Value, step: int) -> Value:
        """Emit the computation of the number of iterations of `range(first, last, by)`, without overflow, and return
        it.

        The number is (distance + |step| - 1) // |step|, and 0 for a step of 0. `step` is the value of `by` if that is a
        constant, else 0.
        """
        kind = first.type
        zero, one = Value(kind, "0"), Value(kind, "1")
        if step:
            (low, high), size = (first, last) if step > 0 else (last, first), Value(kind, str(abs(step)))
        elif kind.kind == "u":
            low, high, size = first, last, by
        else:
            is_backward = self.compare("lt", by, zero)
            low, high = self.choose(is_backward, last, first), self.choose(is_backward, first, last)
            size = self.choose(is_backward, self.op("sub", zero, by), by)
        has_iterations = self.compare("lt", low, high)
        if not step:
            is_zero_step = self.compare("eq", size, zero)
            size, has_iterations = (
                self.choose(is_zero_step, one, size),
                self.choose(is_zero_step, Value(BOOL, "false"), has_iterations),
            )
        last_offset = self.op("sub", self.op("sub", high, low), one)
        return self.choose(has_iterations, self.op("add", self.op("udiv", last_offset, size), one), zero)


def _argument(name: str, kind: Type) -> Value:
    """Return the value of a function's argument: for each scalar of its type, a name in LLVM IR."""
    return Value(kind, *(f"%arg.{name}.{k}" for k in range(len(kind.leaves))))


def _is_constant(value: Operand) -> bool:
    """Return whether an argument of a call is a type or a function.

    The called function is then compiled for this argument alone. Numbers, bools and tuples are passed to the compiled
    function instead.
    """
    return isinstance(value, Known) and not isinstance(value.value, bool | int | float | tuple)


def _shown_name(function: Function, arguments: Iterable[Any]) -> str:
    """Return the name of a specialized function in the source that users are shown.

    It is the function's own name, followed by the constants among its arguments.
    """
    return "_".join(
        [function.name, *(str(x.value) for x in arguments if isinstance(x, Known) and isinstance(x.value, str | int))]
    )


def _is_inlined(value: Any) -> bool:
    """Return whether the compiler inlines calls of an object: a Python function in a module of templates.

    A function with a decorator is not inlined.
    """
    return isinstance(value, FunctionType) and value.__globals__.get("plan") is PLAN


def _function_to_inline(function: Any) -> Function:
    """Return the `Function` (syntax tree and names) of a plain Python function of a template, which is to be
    inlined.
    """
    return function_of(function, frozenset({"where_used"} if hasattr(function, "is_where_used") else ()))


def _is_record(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Record)


@functools.cache
def _declared(record: Any) -> dict[str, Any]:
    """Return the variables that a `Record` class and its base classes declare: their names and annotations.

    They are the variables that the functions of a kernel share.
    """
    return {
        name: kind for each in reversed(record.__mro__) for name, kind in vars(each).get("__annotations__", {}).items()
    }


@functools.cache
def _compile_cases(node: ast.Match) -> Any:
    """Return Python code that finds the matching case of a `match` statement in a template.

    The code is run while compiling the template. It matches the variable `_subject`, sets `_case` to the number of the
    case, and sets the names that the case binds.
    """
    bodies = [ast.parse(f"_case = {number}").body for number in range(len(node.cases))]
    cases = [ast.match_case(case.pattern, case.guard, body) for case, body in zip(node.cases, bodies, strict=True)]
    tree = ast.Module([ast.Match(ast.Name("_subject", ast.Load()), cases)], [])
    return compile(ast.fix_missing_locations(tree), "<known while compiling>", "exec")


def joined(kind: Type, *values: Value) -> Value:
    """Return a value of the type `kind`, which consists of the scalars of several values in order.

    For example, the address and the lengths of an array make the array.
    """
    return Value(kind, *(name for value in values for name in value.names))


def joined_tuple(values: Iterable[Value]) -> Value:
    """Return a value of the kernel that is the tuple of several values."""
    values = list(values)
    return joined(tuple_of(*(value.type for value in values)), *values)


def parts(value: Value) -> list[Value]:
    """Return the scalars of which a value of the kernel consists, each as a value of its own."""
    return [Value(leaf, name) for leaf, name in zip(value.type.leaves, value.names)]


def item(value: Value, k: int) -> Operand:
    """Return item `k` of a value of the kernel that is a tuple."""
    kind, first = value.type.of[k], sum(len(before.leaves) for before in value.type.of[:k])
    return Known(None) if kind == NONE else Value(kind, *value.names[first : first + len(kind.leaves)])


def listed(values: Iterable[Value]) -> str:
    """Return the text of an argument list in LLVM IR: the scalars of all values, each with its type."""
    return ", ".join(value.typed for value in values if value.names)


@functools.cache
def _names_set(node: ast.FunctionDef) -> frozenset[str]:
    """Return the names that the statements of a function, given by its syntax tree, assign to."""
    return frozenset(x.id for x in ast.walk(node) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store))


def _indices(node: Any) -> list[Any]:
    """Return the index expressions of a subscript, such as `i` and `j` for `a[i, j]`."""
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _wrap_around(number: int, kind: Type) -> int:
    """Return the number that a variable of an integer type holds if `number` is stored in it with wraparound.

    For example, that is 0 for 256 as u8.
    """
    below = 1 << kind.bits - 1 if kind.kind == "i" else 0
    return (number + below) % (1 << kind.bits) - below


def float_text(number: float, bits: int) -> str:
    """Return a float as text in LLVM IR, rounded to a float type of 16, 32 or 64 bits.

    LLVM writes the bits of a float64 in hexadecimal, also for a float32, and those of a float16 after `0xH`.
    """
    with np.errstate(over="ignore"):
        rounded = np.dtype(f"f{bits // 8}").type(number)
    if bits == 16:
        return f"0xH{rounded.view(np.uint16):04X}"
    return "0x" + struct.pack(">d", rounded).hex().upper()
