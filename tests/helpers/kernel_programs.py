"""Random functions of the kernel language, and Python's own run of the same text on NumPy's numbers."""

import __future__

import ast
import linecache
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from gasla.compiler.builtin import BUILTINS, ORDERS
from gasla.compiler.emit import NAMES
from gasla.compiler.function import Compiled


def scalar_name(kind: str) -> str:
    """NumPy's name of a type."""
    return "bool" if kind == "bool" else f"{kind[0]}{int(kind[1:]) // 8}"


NUMBERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64")
TYPES = (*NUMBERS, "bool")
LENGTH = 8  # of all arrays
MEETINGS = {  # of two types that are not both bool, as NumPy has them; int64 and uint64 have none
    (a, b): next(k for k in TYPES if np.result_type(scalar_name(a), scalar_name(b)) == scalar_name(k))
    for a in TYPES
    for b in TYPES
    if (a, b) != ("bool", "bool") and not ({a[0], b[0]} == {"i", "u"} and "u64" in (a, b))
}


def bounds(kind: str) -> tuple[int, int]:
    """The least and the largest number of an integer type."""
    width = int(kind[1:])
    return (-(1 << width - 1), (1 << width - 1) - 1) if kind[0] == "i" else (0, (1 << width) - 1)


# --- the plain twin ---------------------------------------------------------------------------------------------------


def scalar(kind: str) -> type[Any]:
    """NumPy's type of numbers."""
    return np.dtype(scalar_name(kind)).type


def convert(kind: str, value: Any) -> Any:
    """What `kind(value)` is in the language."""
    if kind == "bool" or kind[0] == "f":
        return scalar(kind)(value)
    if isinstance(value, float | np.floating):
        low, high = bounds(kind)
        number = 0 if np.isnan(value) else high if value > high else low if value < low else int(value)
        return scalar(kind)(min(max(number, low), high))
    low, high = bounds(kind)
    return scalar(kind)((int(value) - low) % (high - low + 1) + low)


def typed_range(*given: Any) -> Iterator[Any]:
    """`range` whose numbers have the type of its bounds."""
    kinds = [np.asarray(x).dtype for x in given[:2] if isinstance(x, np.generic)]
    kind = np.result_type(*kinds).type if kinds else np.int64
    return (kind(x) for x in range(*map(int, given)))


def _view(x: Any, kinds: dict[str, str]) -> Any:
    return x.view(kinds[x.dtype.name])


def _fetch(change: Any) -> Any:
    def fetch(array: Any, index: Any, value: Any) -> Any:
        old = array[index]
        array[index] = change(old, array.dtype.type(value))
        return old

    return fetch


def _swap(array: Any, index: Any, old: Any, new: Any) -> Any:
    same = array[index : index + 1].tobytes() == array.dtype.type(old).tobytes()
    if same:
        array[index] = new
    return np.bool_(same)


def _store(array: Any, index: Any, value: Any) -> None:
    array[index] = value


BITS = {"float32": "u4", "float64": "u8"}
FLOATS = {"int32": "f4", "uint32": "f4", "int64": "f8", "uint64": "f8"}


def _extreme(choose: Any) -> Any:
    """Python's own, but that a literal has the type of what it meets."""

    def extreme(a: Any, b: Any) -> Any:
        kind = next((x.dtype.type for x in (a, b) if isinstance(x, np.generic)), None)
        return choose(a, b) if kind is None else kind(choose(kind(a), kind(b)))

    return extreme


def _width(x: Any) -> int:
    return 8 * x.dtype.itemsize


def _lowest(x: Any) -> Any:
    word = int(x) % (1 << _width(x))
    return x.dtype.type((word & -word).bit_length() - 1 if word else _width(x))


TWIN: dict[str, Any] = {
    **{kind: (lambda value, kind=kind: convert(kind, value)) for kind in TYPES},
    "range": typed_range,
    "len": lambda array: np.int64(len(array)),
    "abs": np.abs,
    "min": _extreme(min),
    "max": _extreme(max),
    "select": lambda condition, a, b: a if condition else b,
    "select_bits": lambda condition, a, b: a if condition else b,
    "bits": lambda x: _view(x, BITS),
    "float_of": lambda x: _view(x, FLOATS),
    "count_bits": lambda x: x.dtype.type((int(x) % (1 << _width(x))).bit_count()),
    "count_trailing_zeros": _lowest,
    **{name: getattr(np, name) for name in ("sqrt", "floor", "ceil", "trunc", "rint")},
    **{f"fetch_add_{order}": _fetch(lambda a, b: a + b) for order in ORDERS},
    **{f"fetch_or_{order}": _fetch(lambda a, b: a | b) for order in ORDERS},
    **{f"fetch_and_{order}": _fetch(lambda a, b: a & b) for order in ORDERS},
    **{f"compare_and_swap_{order}": _swap for order in ORDERS},
    **{f"load_{order}": (lambda array, index: array[index]) for order in ("relaxed", "acquire")},
    **{f"store_{order}": _store for order in ("relaxed", "release")},
    "prefetch": lambda array, index: None,
    "local": lambda kind, count: np.zeros(count, scalar(kind)),
    "inline": lambda function: function,
    "apart": lambda function: function,
    "inf": float("inf"),
    "nan": float("nan"),
    "array": {},
}


class _Typed(ast.NodeTransformer):
    """A literal that is all that a variable is set to, or that a call is given, becomes i64, f64 or bool at once."""

    def _settled(self, node: Any) -> Any:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            name = "bool" if isinstance(node.value, bool) else "i64" if isinstance(node.value, int) else "f64"
            return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), [node], []), node)
        return node

    def visit_Assign(self, node: Any) -> Any:
        if all(isinstance(target, ast.Name) for target in node.targets):
            node.value = self._settled(node.value)
        return self.generic_visit(node)

    def visit_arg(self, node: Any) -> Any:
        node.annotation = None
        return node


def run_plainly(text: str, name: str, *arguments: Any) -> Any:
    """Run a function of a text as Python's."""
    tree = ast.fix_missing_locations(_Typed().visit(ast.parse(text)))
    space = dict(TWIN)
    exec(compile(tree, "<twin>", "exec"), space)
    with np.errstate(all="ignore"):
        return space[name](*arguments)


def compiled(text: str, name: str = "f", **names: Any) -> Any:
    """A function of a text, compiled for what it is called with; the others are known to it, and `names`."""
    file = f"<test of {name}, {abs(hash(text))}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    marks = {mark: lambda f, mark=mark: Compiled(f, frozenset({mark})) for mark in ("inline", "apart")}
    space: dict[str, Any] = {**NAMES, **BUILTINS, **marks, "len": len, "range": range, **names}
    before = {*space, "__builtins__"}
    exec(compile(text, file, "exec", __future__.annotations.compiler_flag, dont_inherit=True), space)
    for key in space.keys() - before:
        if not isinstance(space[key], Compiled):
            space[key] = Compiled(space[key])
    return space[name]


# --- random functions -------------------------------------------------------------------------------------------------


class Writer:
    """Writes a function whose variables are all set before they are read, whose indices are in range, and that ends."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.count = 0
        self.helpers: list[tuple[str, list[str], str]] = []  # name, types taken, type returned
        self.arrays: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.lines: list[str] = []

    def text(self) -> str:
        """Helpers, and `f(number, scalars..., arrays...)`, which returns a number."""
        parts = [self._helper() for _ in range(self.draw.randrange(3))]
        self.names = {"number": "i64", **{f"x_{kind}": kind for kind in self.draw.sample(TYPES, 5)}}
        taken = dict(self.names)
        self.arrays = {f"a_{kind}": kind for kind in self.draw.sample(TYPES, 5)}
        self.lines = []
        self._block(1, 7, 2)
        result = self.draw.choice(TYPES)
        self.lines.append(f"    return {self.expr(result, 3)}")
        header = [f"{n}: {k}" for n, k in taken.items()] + [f"{n}: array[{k}]" for n, k in self.arrays.items()]
        return "\n".join([*parts, f"def f({', '.join(header)}) -> {result}:", *self.lines, ""])

    def arguments(self) -> list[Any]:
        """What `f` may be called with, after its number."""
        scalars = [self.value(kind) for name, kind in self.taken().items() if name != "number"]
        return scalars + [np.array([self.value(kind) for _ in range(LENGTH)]) for kind in self.arrays.values()]

    def taken(self) -> dict[str, str]:
        """The parameters that are numbers."""
        return {name: kind for name, kind in self.names.items() if name == "number" or name.startswith("x_")}

    def value(self, kind: str) -> Any:
        """A number, often one at the end of a range."""
        if kind == "bool":
            return np.bool_(self.draw.random() < 0.5)
        if kind[0] == "f":
            some = [0.0, -0.0, 1.0, -1.5, 2.0**31, 1e30, -1e300, float("inf"), float("-inf"), float("nan")]
            with np.errstate(all="ignore"):
                return scalar(kind)(self.draw.choice([*some, self.draw.uniform(-9, 9), self.draw.uniform(-9, 9)]))
        low, high = bounds(kind)
        return scalar(kind)(
            self.draw.choice([low, high, 0, 1, low + 1, self.draw.randint(low, high), self.draw.randint(0, 9)])
        )

    def _helper(self) -> str:
        name, kinds = f"h{len(self.helpers)}", self.draw.choices(TYPES, k=self.draw.randrange(1, 4))
        self.names, self.arrays, self.lines = {f"p{k}": kind for k, kind in enumerate(kinds)}, {}, []
        result = self.draw.choice(TYPES)
        header = ", ".join(f"p{k}: {kind}" for k, kind in enumerate(kinds))
        if self.draw.random() < 0.5:
            self.lines += [f"    if {self.expr('bool', 2)}:", f"        return {self.expr(result, 2)}"]
        self._block(1, 2, 1)
        self.lines.append(f"    return {self.expr(result, 2)}")
        self.helpers.append((name, kinds, result))
        mark = self.draw.choice(["", "@inline\n", "@apart\n"])
        return f"{mark}def {name}({header}) -> {result}:\n" + "\n".join(self.lines)

    def literal(self, kind: str) -> str:
        """A number as it is written where its type is known from what it meets."""
        if kind == "bool":
            return self.draw.choice(["True", "False"])
        if kind[0] == "f":
            return self.draw.choice(["0.0", "1.0", "2.5", "-3.25", "100.0"])
        low, high = bounds(kind)
        return str(self.draw.choice([0, 1, 2, 3, 7, high, max(low, -1), max(low, -5)]))

    def variable(self, kind: str) -> str | None:
        """A variable of a type."""
        found = [name for name, have in self.names.items() if have == kind]
        return self.draw.choice(found) if found else None

    def expr(self, kind: str, depth: int) -> str:
        """An expression of a type."""
        if depth == 0 or self.draw.random() < 0.15:
            found = self.variable(kind)
            return found if found and self.draw.random() < 0.8 else f"{kind}({self.literal(kind)})"
        ways = [self._converted, self._chosen, self._called, self._read, self._select]
        ways += [self._condition] * 4 if kind == "bool" else [self._computed] * 5
        return self.draw.choice(ways)(kind, depth - 1)

    def _converted(self, kind: str, depth: int) -> str:
        return f"{kind}({self.expr(self.draw.choice(TYPES), depth)})"

    def _chosen(self, kind: str, depth: int) -> str:
        return f"({self.expr(kind, depth)} if {self.expr('bool', depth)} else {self.expr(kind, depth)})"

    def _select(self, kind: str, depth: int) -> str:
        name = self.draw.choice(["select", "select_bits"])
        return f"{name}({self.expr('bool', depth)}, {self.expr(kind, depth)}, {self.expr(kind, depth)})"

    def _called(self, kind: str, depth: int) -> str:
        found = [(name, kinds) for name, kinds, result in self.helpers if result == kind]
        if not found:
            return self._chosen(kind, depth)
        name, kinds = self.draw.choice(found)
        return f"{name}({', '.join(self.expr(k, depth) for k in kinds)})"

    def _index(self, depth: int) -> str:
        return f"(i64({self.expr(self.draw.choice(NUMBERS[:8]), depth)}) & {LENGTH - 1})"

    def _read(self, kind: str, depth: int) -> str:
        found = [name for name, have in self.arrays.items() if have == kind]
        if not found:
            return self._chosen(kind, depth)
        name, how = self.draw.choice(found), self.draw.random()
        if how < 0.5:
            return f"{name}[{self._index(depth)}]"
        if how < 0.7:
            start = self.draw.randrange(LENGTH)
            return f"{name}[{start}:][{self.draw.randrange(LENGTH - start)}]"
        return f"load_{self.draw.choice(['relaxed', 'acquire'])}({name}, {self._index(depth)})"

    def _computed(self, kind: str, depth: int) -> str:
        if self.draw.random() < 0.25:
            return self._met(kind, depth)
        a, b = self.expr(kind, depth), self.expr(kind, depth)
        if self.draw.random() < 0.3:
            b = self.literal(kind)
        if kind[0] == "f":
            one = ["sqrt", "floor", "ceil", "trunc", "rint", "abs"]
            two = [f"({a} {op} {b})" for op in "+-*/"]
            return self.draw.choice(
                [*two, *two, f"(-{a})", f"{self.draw.choice(one)}({a})", f"min({a}, {b})", f"max({a}, {b})"]
            )
        ops = ("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>")
        two = [f"({a} {op} {b})" for op in ops]
        one = [f"(-{a})", f"(~{a})", f"abs({a})", f"count_bits({a})", f"count_trailing_zeros({a})"]
        return self.draw.choice([*two, *one, f"min({a}, {b})", f"max({a}, {b})"])

    def _met(self, kind: str, depth: int) -> str:
        """Two values of types that meet in this one."""
        kinds = [pair for pair in MEETINGS if MEETINGS[pair] == kind]
        a, b = (self.expr(k, depth) for k in self.draw.choice(kinds))
        return f"({a} {self.draw.choice('+-*')} {b})"

    def _condition(self, _: str, depth: int) -> str:
        kind = self.draw.choice(TYPES)
        ops = ["==", "!="] if kind == "bool" else ["==", "!=", "<", "<=", ">", ">="]
        a, b, c = (self.expr(kind, depth) for _ in range(3))
        p, q = (self.expr("bool", depth) for _ in range(2))
        op, other = self.draw.choices(ops, k=2)
        one = f"({a} {op} {b})"
        return self.draw.choice(
            [one, one, one, f"({a} {op} {b} {other} {c})", f"({p} and {q})", f"({p} or {q})", f"(not {p})",
             f"({p} ^ {q})",
             f"({p} & {q})", f"({p} | {q})", f"({self._as_condition(a)} or {q})"]
        )  # fmt: skip

    def _as_condition(self, a: str) -> str:
        return f"(not {a})"

    def _block(self, indent: int, most: int, depth: int) -> None:
        before, lines = dict(self.names), len(self.lines)
        for _ in range(self.draw.randrange(1, most)):
            self._statement(indent, depth)
        if len(self.lines) == lines:
            self._add(indent, "pass")
        if indent > 1:  # what is set in a branch or a loop may not be set afterwards
            self.names = before

    def _new(self, kind: str) -> str:
        self.count += 1
        self.names[f"v{self.count}"] = kind
        return f"v{self.count}"

    def _add(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def _own(self) -> list[str]:
        """The variables that may be changed: a loop's count may not."""
        return [name for name in self.names if name[0] in "vx"]

    def _statement(self, indent: int, depth: int) -> None:
        how, kind = self.draw.random(), self.draw.choice(TYPES)
        if how < 0.3:
            value = self.expr(kind, 3)
            self._add(indent, f"{self._new(kind)} = {value}")
        elif how < 0.45 and self._own():
            name = self.draw.choice(self._own())
            self._add(indent, f"{name} = {self.expr(self.names[name], 3)}")
        elif how < 0.55 and self._own():
            name = self.draw.choice(self._own())
            op = self.draw.choice({"b": "&|^", "f": "+-*/"}.get(self.names[name][0], "+-*&|^"))
            self._add(indent, f"{name} {op}= {self.expr(self.names[name], 2)}")
        elif how < 0.75 and self.arrays:
            self._change_array(indent)
        elif depth:
            self._nested(indent, depth)

    def _change_array(self, indent: int) -> None:
        name, kind = self.draw.choice(list(self.arrays.items()))
        value, how = self.expr(kind, 2), self.draw.randrange(6)
        index = self._index(1)
        if how == 0:
            start, stop = sorted(self.draw.choices(range(LENGTH + 1), k=2))
            self._add(indent, f"{name}[{start}:{stop}] = {value}")
        elif how == 1:
            self._add(indent, f"{name}[{self.draw.randrange(3)}::{self.draw.randrange(1, 4)}] = {value}")
        elif how == 2 and kind[0] in "iu":
            change = self.draw.choice(["fetch_add", "fetch_or", "fetch_and"]) + "_" + self.draw.choice([*ORDERS])
            self._add(indent, f"{self._new(kind)} = {change}({name}, {index}, {value})")
        elif how == 3:
            old = f"{name}[{index}]" if self.draw.random() < 0.6 else self.expr(kind, 1)
            change = f"compare_and_swap_{self.draw.choice([*ORDERS])}"
            self._add(indent, f"{self._new('bool')} = {change}({name}, {index}, {old}, {value})")
        elif how == 4:
            self._add(indent, f"store_{self.draw.choice(['relaxed', 'release'])}({name}, {index}, {value})")
        else:
            op = self.draw.choice({"b": "&|^", "f": "+-*"}.get(kind[0], "+-*&|^"))
            self._add(indent, f"{name}[{index}] {self.draw.choice(['', op])}= {value}")

    def _nested(self, indent: int, depth: int) -> None:
        how = self.draw.randrange(4)
        if how == 0:
            self._add(indent, f"if {self.expr('bool', 2)}:")
            self._block(indent + 1, 4, depth - 1)
            if self.draw.random() < 0.6:
                self._add(indent, "else:")
                self._block(indent + 1, 4, depth - 1)
        elif how == 1:
            kind = self.draw.choice(NUMBERS[:8])
            low, high = bounds(kind)
            start = self.draw.choice([0, 1, high - 5, low])
            stop, step = start + self.draw.randrange(-1, 6), self.draw.choice([1, 1, 1, 2, 3])
            stop = min(max(stop, low), high)
            if self.draw.random() < 0.3:
                start, stop, step = stop, start, -step
            self.count += 1
            self._add(indent, f"for c{self.count} in range({kind}({start}), {kind}({stop}), {step}):")
            before, self.names[f"c{self.count}"] = dict(self.names), kind
            self._body(indent + 1, depth)
            self.names = before
        elif how == 2:
            self.count += 1
            name = f"c{self.count}"
            self._add(indent, f"{name} = 0")
            self._add(indent, f"while {name} < {self.draw.randrange(6)} and {self.expr('bool', 1)}:")
            self._add(indent + 1, f"{name} += 1")
            before, self.names[name] = dict(self.names), "i64"
            self._body(indent + 1, depth)
            self.names = before
        else:
            kinds = self.draw.choices(TYPES, k=2)
            values = ", ".join(f"{self.expr(kind, 2)}" for kind in kinds)
            names = ", ".join(self._new(kind) for kind in kinds)
            self._add(indent, f"{names} = {values}")

    def _body(self, indent: int, depth: int) -> None:
        if self.draw.random() < 0.3:
            self._add(indent, f"if {self.expr('bool', 1)}:")
            self._add(indent + 1, self.draw.choice(["break", "continue"]))
        self._block(indent, 4, depth - 1)
