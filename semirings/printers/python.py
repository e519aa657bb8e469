"""Print expressions as Python source: functions of NumPy scalars, which gasla compiles.

The source computes exactly what NumPy would, and where NumPy leaves it undefined follows docs/compiler.md: integers
wrap, integer division by 0 gives 0, and floats saturate to integers. Vectors and tuples are Python tuples; a wide
vector is a one-dimensional array, which a function fills and returns. The caller decorates the printed functions, and
defines ``compiled``, the decorator of the prelude's functions. Values of type float16 are passed as their bits, in
uint16; the caller defines ``widened_half`` and ``to_half`` to convert them to float32 and back.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from semirings.describe import INFIX
from semirings.expr import Expr, Symbol, table_values
from semirings.printers.statement_order import (
    Branch,
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

PRELUDE = '''\
import math

import numpy as np


@compiled
def remainder(a, b):
    """a % b of floats, with the sign of b; NaN where b is 0."""
    rest = np.fmod(a, b)
    if rest == 0:
        return np.copysign(rest, b)
    return rest + b if (b < 0) != (rest < 0) else rest


@compiled
def floor_divide(a, b):
    """a // b of floats, rounded once as NumPy does; a / b where b is 0."""
    if b == 0:
        return a / b
    rest = np.fmod(a, b)
    quotient = (a - rest) / b
    if rest != 0 and (b < 0) != (rest < 0):
        quotient = quotient - 1
    if quotient == 0:
        return np.copysign(quotient, a / b)
    whole = np.floor(quotient)
    return whole + 1 if quotient - whole > 0.5 else whole


@compiled
def item_at(array, index, count, outside):
    """An item of an array; `outside` for an index out of range."""
    return array[np.uint64(index)] if np.uint64(index) < np.uint64(count) else outside


@compiled
def lane_at(array, index, count, lane, outside):
    """A lane of an item of an array of vectors; `outside` for an index out of range."""
    return array[np.uint64(index), lane] if np.uint64(index) < np.uint64(count) else outside
'''
"""Imports and helper functions of the printed functions: the top of a generated module."""

_HELPERS = re.findall(r"^def (\w+)", PRELUDE, re.MULTILINE)
_RESERVED = {*keyword.kwlist, "np", "math", "compiled", "abs", "range", "lane", *_HELPERS}
_FORMS = {
    "where": "{1} if {0} else {2}", "lane": "{0}[lane]", "lane_number": "np.int64(lane)", "negative": "-{0}",
    "absolute": "abs({0})", "invert": "~{0}", "bitwise_count": "np.uint8(np.bitwise_count({0}))",
}  # fmt: skip
_MATH = {
    "sqrt": "sqrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10",
    "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arctan2": "atan2", "hypot": "hypot", "copysign": "copysign",
    "power": "pow", "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite",
}  # fmt: skip
_NUMPY = ("fmod", "cbrt", "rint", "floor", "ceil", "trunc")
CALLS = frozenset((*_MATH, *_NUMPY, "floor_divide", "remainder"))
"""operations for which Python source has a function call, or which cost about as much"""


def function(
    name: str,
    parameters: Sequence[Symbol],
    result: Expr | tuple[Expr, ...],
    write: Callable[[Expr, list[str]], str] | None = None,
    into: Sequence[str] | None = None,
    branches: bool = False,
) -> str:
    """
    Return the text of a Python function (without decorator) of `parameters` that returns `result`.

    Tables of constants that it reads follow as global arrays.

    Parameters
    ----------
    name : str
    parameters : sequence of Symbol
        In call order. Names are kept where they are valid in Python.
    result : Expr or tuple of Expr
        Several results are returned as a tuple.
    write : function, optional
        Prints one node, given the text of its arguments, in place of `expression`.
    into : sequence of str, optional
        Names of the arrays for the wide vectors of the result, in order. By default the function takes them as further
        parameters, ``into0``, ``into1``, …. Equal wide vectors share the first array.
    branches : bool
        Whether what costs much, and counts under a condition only, is computed only where the condition holds.

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
    written, values = statements(results, known, write or expression, targets, branches)
    body = [line for statement in written for line in _statement_lines(statement)]
    value = _tuple_text(values) if isinstance(result, tuple) else values[0]
    kinds = ", ".join(str(parameter.type) for parameter in parameters)
    kind = _tuple_text([str(r.type) for r in results]) if isinstance(result, tuple) else str(results[0].type)
    head = [f"def {name}({', '.join(names)}):", f"    # ({kinds}) -> {kind}"]
    arrays = [f"{table} = np.array({literal(table_values(e), e.type)}, np.{e.dtype})" for e, table in constants.items()]
    return "\n".join([*head, *(f"    {line}" for line in [*body, f"return {value}"]), *arrays, ""])


def _statement_lines(statement: Statement) -> list[str]:
    """Return the lines of Python for a statement, such as an assignment or a loop over the items of a vector."""
    if isinstance(statement, Line):
        return [f"{statement.name} = {statement.text}"]
    if isinstance(statement, Branch):
        name, _, text = statement.value
        inner = [line for each in statement.statements for line in _statement_lines(each)]
        return [
            f"{name} = {statement.otherwise}",
            f"if {'not ' * statement.negated}{statement.condition}:",
            *(f"    {line}" for line in [*inner, f"{name} = {text}"]),
        ]
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
    """Return the Python text of one node of an expression. `args` has the texts of the node's arguments."""
    if expr.op == "constant":
        return literal(expr.payload, expr.type)
    if expr.op == "item":
        return f"{args[0]}[{expr.payload}]"
    if expr.op in ("vector", "tuple"):
        return _tuple_text(args)
    if expr.op == "load":
        return _load_text(expr.type, *args)
    if expr.op in _FORMS:
        form = "not {0}" if expr.op == "invert" and expr.dtype.kind == "b" else _FORMS[expr.op]
        return form.format(*args)
    assert isinstance(expr.type, np.dtype)
    if expr.op == "cast":
        return _cast_text(args[0], expr.args[0].type, expr.type)
    if expr.op in ("minimum", "maximum"):
        return _extremum_text(expr, *args)
    if expr.op in INFIX and not (expr.op in ("floor_divide", "remainder") and expr.type.kind == "f"):
        return f"{args[0]} {INFIX[expr.op]} {args[1]}"
    name = f"math.{_MATH[expr.op]}" if expr.op in _MATH else f"np.{expr.op}" if expr.op in _NUMPY else expr.op
    return f"{name}({', '.join(args)})"


def _load_text(kind: Type, array: str, index: str, count: str, outside: str) -> str:
    """Return the Python text that reads an item of an array, or if its items are vectors, all lanes of one vector.

    The arguments are texts, too: the array's name, the index, the number of items, and the value for an index out of
    range.
    """
    if not isinstance(kind, VectorType):
        return f"item_at({array}, {index}, {count}, {outside})"
    lanes = [f"lane_at({array}, {index}, {count}, {i}, {outside}[{i}])" for i in range(kind.length)]
    return _tuple_text(lanes)


def _extremum_text(expr: Expr, a: str, b: str) -> str:
    """Return the Python text of a node that is the minimum or maximum of a and b, which is NaN if a or b is NaN."""
    sign = "<" if expr.op == "minimum" else ">"
    assert isinstance(expr.type, np.dtype)
    test = f"{a} {sign} {b}"
    if expr.type.kind == "f" and expr.args[0].op != "constant":
        test += f" or {a} != {a}"
    elif expr.type.kind == "f" and np.isnan(expr.args[0].payload):
        return a
    return f"{a} if {test} else {b}"


def _cast_text(text: str, source: Type, target: np.dtype[Any]) -> str:
    """Return the Python text that converts a scalar, whose text is given, from type `source` to type `target`."""
    assert isinstance(source, np.dtype)
    if source == HALF:
        single = f"widened_half({text})"
        return single if target.name == "float32" else _cast_text(single, np.dtype(np.float32), target)
    if target == HALF:
        return f"to_half({text if source.kind == 'f' else f'np.float32({text})'})"
    if target.kind == "b":
        return f"{text} != {literal(source.type(0), source)}"
    return f"np.{target}({text})"


def _tuple_text(texts: Sequence[str]) -> str:
    """Return the Python text of a tuple with the given items."""
    return f"({', '.join(texts)},)" if len(texts) == 1 else f"({', '.join(texts)})"


def literal(value: Any, type: Type) -> str:
    """
    Return the Python text of a constant that has exactly the given type in compiled code.

    Examples
    --------
    >>> literal(1, np.dtype("f4")), literal(np.inf, np.dtype("f8")), literal(-1, np.dtype("i8"))
    ('np.float32(1.0)', 'np.inf', '-1')
    """
    if isinstance(type, VectorType | TupleType):
        kinds = (type.scalar,) * type.length if isinstance(type, VectorType) else type.items
        return _tuple_text([literal(part, kind) for part, kind in zip(value, kinds, strict=True)])
    if type.kind == "b":
        return str(bool(value))
    if type.kind == "f":
        text = {"inf": "np.inf", "-inf": "-np.inf", "nan": "np.nan"}.get(str(type.type(value)), str(type.type(value)))
        return text if type.itemsize == 8 else f"np.{type}({text})"
    number = int(value)
    if type.name == "int64":
        return str(number)
    return f"np.{type}({number})"
