"""Print expressions as Python source for Numba.

The source computes exactly what NumPy would: Numba's own arithmetic widens small integers to 64 bits, so their
results are cast back; uint64 and floats need no cast, int64 sums and products a helper that wraps. Vectors and tuples
are Python tuples; a wide vector is an array of one dimension, which a function fills and returns. The caller decorates
the printed functions and must pass ``error_model="numpy"``, or a division by zero raises. Numbers of type float16 are
their bits, in uint16; ``widened_half`` and ``to_half``, the caller's, make them float32 and back.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from semirings.expr import Expr, Symbol, table_values
from semirings.printers.layout import (
    Fold,
    Line,
    Statement,
    check_parameters,
    identifiers,
    statements,
    tables,
    wide_results,
)
from semirings.types import HALF, TupleType, Type, VectorType

_HEAD = '''\
import math

import numpy as np


@jit
def wrapping_add(a, b):
    """a + b for int64. Numba's own addition tells LLVM that it never overflows, and LLVM then draws conclusions."""
    return np.int64(np.uint64(a) + np.uint64(b))


@jit
def wrapping_subtract(a, b):
    """a - b for int64."""
    return np.int64(np.uint64(a) - np.uint64(b))


@jit
def wrapping_multiply(a, b):
    """a * b for int64."""
    return np.int64(np.uint64(a) * np.uint64(b))


@jit
def floor_divide_signed(a, b):
    """a // b for int64: 0 where b is 0, and no trap where the quotient overflows."""
    if b == 0:
        return np.int64(0)
    if b == -1:
        return -a
    return a // b


@jit
def remainder_signed(a, b):
    """a % b for int64, with the sign of b: 0 where b is 0."""
    if b == 0 or b == -1:
        return np.int64(0)
    return a % b


@jit
def floor_divide_unsigned(a, b):
    """a // b for uint64: 0 where b is 0."""
    return a // b if b != np.uint64(0) else np.uint64(0)


@jit
def remainder_unsigned(a, b):
    """a % b for uint64: 0 where b is 0."""
    return a % b if b != np.uint64(0) else np.uint64(0)


@jit
def left_shift(a, b, bits):
    """a << b, 0 where every bit is shifted out."""
    return a << b if 0 <= b < bits else a ^ a


@jit
def right_shift_signed(a, b, bits):
    """a >> b, the sign where every bit is shifted out."""
    return a >> b if 0 <= b < bits else a >> (bits - 1)


@jit
def right_shift_unsigned(a, b, bits):
    """a >> b, 0 where every bit is shifted out."""
    return a >> b if b < bits else a ^ a


@jit
def item_at(array, index, count, outside):
    """An item of an array; what is given instead where there is no such index."""
    return array[np.uint64(index)] if np.uint64(index) < np.uint64(count) else outside


@jit
def lane_at(array, index, count, lane, outside):
    """The same of an array of vectors, for one lane."""
    return array[np.uint64(index), lane] if np.uint64(index) < np.uint64(count) else outside


@jit
def popcount(a):
    """How many bits of a uint64 are set, in the lines that LLVM knows as one instruction."""
    a = a - ((a >> np.uint64(1)) & np.uint64(0x5555555555555555))
    a = (a & np.uint64(0x3333333333333333)) + ((a >> np.uint64(2)) & np.uint64(0x3333333333333333))
    a = (a + (a >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (a * np.uint64(0x0101010101010101)) >> np.uint64(56)
'''

_FLOAT_HELPERS = '''

@jit
def remainder_FLOAT(a, b):
    """a % b with the sign of b, NaN where b is 0."""
    mod = np.FLOAT(np.fmod(a, b))
    if mod == 0:
        return math.copysign(mod, b)
    return mod + b if (b < 0) != (mod < 0) else mod


@jit
def floor_divide_FLOAT(a, b):
    """a // b, rounded once as NumPy does; a / b where b is 0."""
    if b == 0:
        return a / b
    mod = np.FLOAT(np.fmod(a, b))
    quotient = (a - mod) / b
    if mod != 0 and (b < 0) != (mod < 0):
        quotient = quotient - np.FLOAT(1)
    if quotient == 0:
        return math.copysign(np.FLOAT(0), a / b)
    whole = np.floor(quotient)
    return whole + np.FLOAT(1) if quotient - whole > np.FLOAT(0.5) else whole
'''

_CAST = '''

@jit
def to_INT(x):
    """A float as INT: towards zero, the nearest INT where it does not fit, 0 for NaN."""
    if x != x:
        return np.INT(0)
    if x >= LIMIT:
        return np.INT(HIGHEST)
    return np.INT(x) if x > BOUND else np.INT(LOWEST)
'''


def _cast_helper(dtype: np.dtype[Any]) -> str:
    """The saturating cast to one integer type.

    NaN has a branch of its own even where no comparison lets it through: LLVM 20 drops `x > 0` of a maximum with 0.
    """
    limits = np.iinfo(dtype)
    words = {"INT": dtype.name, "LIMIT": f"{float(limits.max + 1)}", "HIGHEST": f"{limits.max}"}
    if dtype.kind == "i":  # -2**63 alone would be read as minus an unsigned number
        words |= {"BOUND": f"-{words['LIMIT']}", "LOWEST": f"{limits.min + 1} - 1"}
    else:
        words |= {"BOUND": "0", "LOWEST": "0"}
    text = _CAST
    for word, value in words.items():
        text = text.replace(word, value)
    return text


_INTEGERS = [np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
PRELUDE = (
    _HEAD
    + "".join(_FLOAT_HELPERS.replace("FLOAT", name) for name in ("float32", "float64"))
    + "".join(map(_cast_helper, _INTEGERS))
)
"""Helper functions the printed functions call, with their imports: the top of a generated module."""

_HELPERS = re.findall(r"^(?:def )?(\w+)(?:\(| =)", PRELUDE, re.MULTILINE)
_RESERVED = {*keyword.kwlist, "np", "math", "jit", "abs", "range", "lane", *_HELPERS}
_INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=",
}  # fmt: skip
_WRAPPING = ("add", "subtract", "multiply")
_MATH = {
    "sqrt": "sqrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10",
    "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arctan2": "atan2", "hypot": "hypot", "copysign": "copysign",
    "power": "pow", "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite",
}  # fmt: skip
_NUMPY = ("fmod", "cbrt", "rint", "floor", "ceil", "trunc")
CALLS = frozenset((*_MATH, *_NUMPY, "floor_divide", "remainder"))
"""Operations that cost a call, or about as much."""


def function(
    name: str,
    parameters: Sequence[Symbol],
    result: Expr | tuple[Expr, ...],
    write: Callable[[Expr, list[str]], str] | None = None,
    into: Sequence[str] | None = None,
) -> str:
    """
    A plain Python function (the caller adds the decorator) of `parameters` that returns `result`.

    Tables of constants that it reads follow as arrays of the module.

    Parameters
    ----------
    name : str
    parameters : sequence of Symbol
        In call order; their names are kept where Python allows.
    result : Expr or tuple of Expr
        Several results come back as a tuple.
    write : function, optional
        Prints one node given its arguments as text, in place of `expression`.
    into : sequence of str, optional
        The arrays that the wide vectors of the result go to, in order; they are read no more once they are written to.
        Otherwise the function takes them after its parameters, as ``into0``, ``into1``, …. Wide vectors that equal each
        other share the first one's.

    Examples
    --------
    >>> from semirings import Symbol, minimum
    >>> distance, weight = Symbol("distance", "f4"), Symbol("weight", "f4")
    >>> print(function("relax", [distance, weight], minimum(distance, weight + 1)))
    def relax(distance, weight):
        # (float32, float32) -> float32
        t0 = weight + np.float32(1.0)
        return distance if distance < t0 or distance != distance else t0
    <BLANKLINE>
    >>> x = Symbol("x", ("f4", (64,)))
    >>> print(function("scale", [x, weight], x * (weight + 1)))
    def scale(x, weight, into0):
        # (float32[64], float32) -> float32[64]
        t0 = weight + np.float32(1.0)
        for lane in range(64):
            t1 = x[lane]
            t2 = t1 * t0
            into0[lane] = t2
        return into0
    <BLANKLINE>
    """
    given = result if isinstance(result, tuple) else (result,)
    check_parameters(name, parameters, given)
    results, wide = wide_results(given)
    constants = tables(results)
    wanted = [p.name for p in parameters] + ([f"into{i}" for i in range(len(wide))] if into is None else [])
    names = identifiers(wanted, {*_RESERVED, *constants.values(), name})
    targets: dict[Expr, str] = {}
    for loop, array in zip(wide, names[len(parameters) :] if into is None else into, strict=True):
        targets.setdefault(loop, array)
    known = constants | dict[Expr, str](zip(parameters, names, strict=False))
    found, values = statements(results, known, write or expression, targets)
    body = [line for statement in found for line in _lines(statement)]
    value = _tuple(values) if isinstance(result, tuple) else values[0]
    kinds = ", ".join(str(parameter.type) for parameter in parameters)
    kind = _tuple([str(r.type) for r in results]) if isinstance(result, tuple) else str(results[0].type)
    head = [f"def {name}({', '.join(names)}):", f"    # ({kinds}) -> {kind}"]
    arrays = [f"{table} = np.array({literal(table_values(e), e.type)}, np.{e.dtype})" for e, table in constants.items()]
    return "\n".join([*head, *(f"    {line}" for line in [*body, f"return {value}"]), *arrays, ""])


def _lines(statement: Statement) -> list[str]:
    """A statement as Python."""
    if isinstance(statement, Line):
        return [f"{statement.name} = {statement.text}"]
    lines = [f"    {line.name} = {line.text}" for line in statement.lines]
    if isinstance(statement, Fold):
        name, _, text = statement.value
        return [
            f"{name} = {statement.first}",
            f"for lane in range(1, {statement.length}):",
            *lines,
            f"    {name} = {text}",
        ]
    at, values = zip(*((f"{name}[lane]", text) for name, _, text in statement.values), strict=True)
    return [f"for lane in range({statement.length}):", *lines, f"    {', '.join(at)} = {', '.join(values)}"]


def expression(expr: Expr, args: list[str]) -> str:
    """One node as Python, given its arguments as text."""
    if expr.op == "constant":
        return literal(expr.payload, expr.type)
    if expr.op == "item":
        return f"{args[0]}[{expr.payload}]"
    if expr.op in ("vector", "tuple"):
        return _tuple(args)
    if expr.op == "lane":
        return f"{args[0]}[lane]"
    if expr.op == "lane_number":
        return "np.int64(lane)"
    if expr.op == "load":
        return _load(expr.type, *args)
    if expr.op == "where":
        return f"{args[1]} if {args[0]} else {args[2]}"
    assert isinstance(expr.type, np.dtype)
    if expr.op == "cast":
        return _cast(args[0], expr.args[0].type, expr.type)
    if expr.type.name == "int64" and expr.op in _WRAPPING:
        return f"wrapping_{expr.op}({args[0]}, {args[1]})"
    if expr.op in _INFIX:
        return _narrow(f"{args[0]} {_INFIX[expr.op]} {args[1]}", expr.type)
    if expr.op in ("minimum", "maximum"):
        return _extremum(expr, *args)
    if expr.op in _MATH:
        return f"math.{_MATH[expr.op]}({', '.join(args)})"
    if expr.op in _NUMPY:
        return f"np.{expr.op}({', '.join(args)})"
    return _narrow(_integer_operation(expr, args), expr.type)


def _load(kind: Type, array: str, index: str, count: str, outside: str) -> str:
    """An item of an array, or what stands for one outside."""
    if not isinstance(kind, VectorType):
        return f"item_at({array}, {index}, {count}, {outside})"
    lanes = [f"lane_at({array}, {index}, {count}, {i}, {outside}[{i}])" for i in range(kind.length)]
    return _tuple(lanes)


def _integer_operation(expr: Expr, args: list[str]) -> str:
    """Operations that differ by kind of number, or need a helper."""
    assert isinstance(expr.type, np.dtype)
    op, kind, bits = expr.op, expr.type.kind, expr.type.itemsize * 8
    signed = "signed" if kind == "i" else "unsigned"
    plain = expr.args[-1].op == "constant"  # zero, -1 and wide shifts have been taken care of
    if op == "negative":
        return f"-{args[0]}"
    if op == "absolute":
        return f"abs({args[0]})"
    if op == "bitwise_count":
        return f"popcount(np.uint64({args[0]}))"
    if op == "invert":
        return f"not {args[0]}" if kind == "b" else f"~{args[0]}"
    if op in ("floor_divide", "remainder"):
        if kind == "f":
            return f"{op}_{expr.type}({args[0]}, {args[1]})"
        if plain:
            return f"{args[0]} {'//' if op == 'floor_divide' else '%'} {args[1]}"
        wide = [f"np.uint64({arg})" if kind == "u" and bits < 64 else arg for arg in args]
        return f"{op}_{signed}({', '.join(wide)})"
    if plain:
        return f"{args[0]} {'<<' if op == 'left_shift' else '>>'} {args[1]}"
    if op == "left_shift":
        return f"left_shift({args[0]}, {args[1]}, {bits})"
    assert op == "right_shift", op
    return f"right_shift_{signed}({args[0]}, {args[1]}, {bits})"


def _extremum(expr: Expr, a: str, b: str) -> str:
    """Minimum or maximum; a NaN on either side is the answer."""
    sign = "<" if expr.op == "minimum" else ">"
    assert isinstance(expr.type, np.dtype)
    test = f"{a} {sign} {b}"
    if expr.type.kind == "f" and expr.args[0].op != "constant":
        test += f" or {a} != {a}"
    elif expr.type.kind == "f" and np.isnan(expr.args[0].payload):
        return a
    return f"{a} if {test} else {b}"


def _narrow(text: str, dtype: np.dtype[Any]) -> str:
    """Numba computes in 64 bits: cut a smaller integer back to its own size."""
    return f"np.{dtype}({text})" if dtype.kind in "iu" and dtype.itemsize < 8 else text


def _cast(text: str, source: Type, target: np.dtype[Any]) -> str:
    """A scalar converted to another type."""
    assert isinstance(source, np.dtype)
    if source == HALF:
        single = f"widened_half({text})"
        return single if target.name == "float32" else _cast(single, np.dtype(np.float32), target)
    if target == HALF:
        return f"to_half({text if source.kind == 'f' else f'np.float32({text})'})"
    if target.kind == "b":
        return f"{text} != {literal(source.type(0), source)}"
    return f"to_{target}({text})" if source.kind == "f" and target.kind in "iu" else f"np.{target}({text})"


def _tuple(texts: Sequence[str]) -> str:
    """The text of a tuple."""
    return f"({', '.join(texts)},)" if len(texts) == 1 else f"({', '.join(texts)})"


def literal(value: Any, type: Type) -> str:
    """
    A constant of exactly this type as Python source.

    Examples
    --------
    >>> literal(1, np.dtype("f4")), literal(np.inf, np.dtype("f8")), literal(-1, np.dtype("i8"))
    ('np.float32(1.0)', 'np.inf', '-1')
    """
    if isinstance(type, VectorType | TupleType):
        kinds = (type.scalar,) * type.length if isinstance(type, VectorType) else type.items
        return _tuple([literal(part, kind) for part, kind in zip(value, kinds, strict=True)])
    if type.kind == "b":
        return str(bool(value))
    if type.kind == "f":
        text = {"inf": "np.inf", "-inf": "-np.inf", "nan": "np.nan"}.get(str(type.type(value)), str(type.type(value)))
        return text if type.itemsize == 8 else f"np.{type}({text})"
    number = int(value)
    if type.name == "int64":
        return str(number) if number != np.iinfo(np.int64).min else f"({number + 1} - 1)"
    return f"np.{type}({number})"
