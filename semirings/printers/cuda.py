"""Print expressions as CUDA C++ device functions.

The text needs no header and compiles with NVRTC. Vectors and tuples are plain structs: templates in the namespace
``semirings``, which several programs share. For a wide vector, a thread loops over all lanes. Values of type float16
are passed as their bits, which the printed functions convert.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from semirings.expr import Expr, Symbol, table_values
from semirings.printers.statement_order import (
    Body,
    Branch,
    Fold,
    Line,
    Statement,
    arrays_in,
    check_parameters,
    identifiers,
    tables,
    wide_results,
)
from semirings.types import HALF, TupleType, Type, VectorType

MAX_TUPLE = 30  # number of items of the longest tuple for which the prelude has a struct

_STRUCTS = "".join(
    f"template <{', '.join(f'class T{i}' for i in range(n))}> struct tuple<{', '.join(f'T{i}' for i in range(n))}> "
    f"{{ {' '.join(f'T{i} item{i};' for i in range(n))} }};\n"
    for n in range(1, MAX_TUPLE + 1)
)

_HELPERS = """
// Integer arithmetic wraps: signed overflow is undefined in C++, so it is done on unsigned numbers.
using word = unsigned long long;
template <class T> __device__ __forceinline__ T narrow(word a) {
    if (sizeof(T) != 2) return T(a);
    unsigned int b = a;
    asm("" : "+r"(b));  // opaque to the compiler: CUDA 12.9 compares neg.s16 in 32 bits, where the lowest is positive
    return T(b);
}
template <class T> __device__ __forceinline__ T add(T a, T b) { return narrow<T>(word(a) + word(b)); }
template <class T> __device__ __forceinline__ T subtract(T a, T b) { return narrow<T>(word(a) - word(b)); }
template <class T> __device__ __forceinline__ T multiply(T a, T b) { return narrow<T>(word(a) * word(b)); }
template <class T> __device__ __forceinline__ T negative(T a) { return narrow<T>(word(0) - word(a)); }
template <class T> __device__ __forceinline__ T absolute(T a) {
    word sign = a < T(0) ? ~word(0) : word(0);
    asm("" : "+l"(sign));  // opaque to the compiler: CUDA 13 assumes that abs of the lowest integer is not negative
    return T((word(a) ^ sign) - sign);
}

// Integer division rounds down; division by 0 gives 0.
template <class T> __device__ __forceinline__ T floor_divide(T a, T b) {
    if (b == T(0)) return T(0);
    if (b == T(-1) && T(-1) < T(0)) return negative(a);
    T quotient = T(a / b);
    return quotient * b != a && (a < T(0)) != (b < T(0)) ? T(quotient - T(1)) : quotient;
}
template <class T> __device__ __forceinline__ T remainder(T a, T b) {
    if (b == T(0) || (b == T(-1) && T(-1) < T(0))) return T(0);
    T rest = T(a % b);
    return rest != T(0) && (rest < T(0)) != (b < T(0)) ? T(rest + b) : rest;
}

// An item of an array; `outside` for an index out of range.
template <class T, class U> __device__ __forceinline__ T item_at(const T* array, word index, word count, U outside) {
    return index < count ? array[index] : T(outside);
}

// A shift by the width or more, or by a negative count, shifts out every bit.
template <class T> __device__ __forceinline__ T left_shift(T a, T b) {
    return word(b) < 8 * sizeof(T) ? T(word(a) << b) : T(0);
}
template <class T> __device__ __forceinline__ T right_shift(T a, T b) {
    if (word(b) < 8 * sizeof(T)) return T(a >> b);
    return a < T(0) ? T(-1) : T(0);
}

// A float as an integer: truncated, saturated to the range, 0 for NaN.
template <class T, class F> __device__ __forceinline__ T to_signed(F x) {
    const F limit = F(1ULL << (8 * sizeof(T) - 1));
    if (x != x) return T(0);
    if (x >= limit) return T(~(1ULL << (8 * sizeof(T) - 1)));
    return x > -limit ? T(x) : T(1ULL << (8 * sizeof(T) - 1));
}
template <class T, class F> __device__ __forceinline__ T to_unsigned(F x) {
    const F limit = F(1ULL << (8 * sizeof(T) - 1)) * F(2);
    if (x >= limit) return T(~0ULL);
    return x > F(0) ? T(x) : T(0);
}

// Half precision is a storage type, passed as its bits. Rounding is to nearest, ties to even.
#ifdef __CUDA_ARCH__  // other targets define these functions themselves
__device__ __forceinline__ float widened_half(unsigned short bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}
__device__ __forceinline__ unsigned short to_half(float x) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
__device__ __forceinline__ unsigned short to_half(double x) {
    unsigned short bits;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x));
    return bits;
}
#endif
"""

_FLOAT_HELPERS = """
__device__ __forceinline__ FLOAT divide(FLOAT a, FLOAT b) {
    const FLOAT quotient = a / b;
    BITS bits = *reinterpret_cast<const BITS*>(&quotient);
    asm("" : "+LETTER"(bits));  // opaque to the compiler: CUDA 13 folds 0 / 0 to a number if it knows both zeros
    return *reinterpret_cast<FLOAT*>(&bits);
}
__device__ __forceinline__ FLOAT remainder(FLOAT a, FLOAT b) {
    FLOAT mod = fmodSUFFIX(a, b);
    if (mod == 0) return copysignSUFFIX(mod, b);
    return (b < 0) != (mod < 0) ? mod + b : mod;
}
__device__ __forceinline__ FLOAT floor_divide(FLOAT a, FLOAT b) {
    if (b == 0) return divide(a, b);
    FLOAT mod = fmodSUFFIX(a, b);
    FLOAT quotient = (a - mod) / b;
    if (mod != 0 && (b < 0) != (mod < 0)) quotient = quotient - FLOAT(1);
    if (quotient == 0) return copysignSUFFIX(FLOAT(0), a / b);
    FLOAT whole = floorSUFFIX(quotient);
    return quotient - whole > FLOAT(0.5) ? whole + FLOAT(1) : whole;
}
"""

PRELUDE = (
    "namespace semirings {\n"
    "template <class T, int k> struct vector { T item[k]; };\n"
    "template <class... T> struct tuple;\n"
    "template <> struct tuple<> {};\n"  # a function that returns no field has this result type
    + _STRUCTS
    + _HELPERS
    + "".join(
        _FLOAT_HELPERS.replace("FLOAT", f).replace("SUFFIX", s).replace("BITS", bits).replace("LETTER", letter)
        for f, s, bits, letter in (("float", "f", "unsigned int", "r"), ("double", "", "word", "l"))
    )
    + "}  // namespace semirings\n"
)
"""Structs and helper functions that printed functions use. A program includes them once, at its top."""

_CTYPES = {
    "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
    "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long long",
    "float16": "unsigned short", "float32": "float", "float64": "double",
}  # fmt: skip
_SUFFIXES = {"int32": "", "int64": "LL", "uint32": "U", "uint64": "ULL"}
RESERVED = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl
    concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete
    do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast
    requires return short signed sizeof static static_assert static_cast struct switch template this thread_local throw
    true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
    semirings isnan isinf isfinite threadIdx blockIdx blockDim gridDim warpSize
    NULL INFINITY NAN lane __int_as_float __longlong_as_double __popc __popcll
    """.split()  # noqa: SIM905  (a list of 90 words reads better as text)
)
_INFIX = {
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=",
}  # fmt: skip
_WRAPPING = {"add": "+", "subtract": "-", "multiply": "*"}
_HELPED = ("divide", "floor_divide", "remainder", "left_shift", "right_shift")
_MATH = {
    "power": "pow", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "absolute": "fabs",
    **{name: name for name in (
        "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh",
        "tanh", "hypot", "copysign", "fmod", "rint", "floor", "ceil", "trunc",
    )},
}  # fmt: skip
MATH_NAMES = {f"{name}{suffix}" for name in _MATH.values() for suffix in ("", "f")}


def ctype(type: Type) -> str:
    """
    Return the C++ type for values of a type.

    Examples
    --------
    >>> from semirings import as_type
    >>> ctype(as_type("i8")), ctype(as_type(("f4", (3,)))), ctype(as_type(("f4", "i4")))
    ('long long', 'semirings::vector<float, 3>', 'semirings::tuple<float, int>')
    """
    if isinstance(type, VectorType):
        return f"semirings::vector<{ctype(type.scalar)}, {type.length}>"
    if isinstance(type, TupleType):
        return struct([ctype(item) for item in type.items])
    if type.name not in _CTYPES:
        raise TypeError(f"{type} is not printed as CUDA: use one of {', '.join(_CTYPES)}")
    return _CTYPES[type.name]


def struct(items: Sequence[str]) -> str:
    """Return the C++ type of a tuple whose items have the given C++ types."""
    if len(items) > MAX_TUPLE:
        raise TypeError(f"a tuple of {len(items)} items: CUDA structs hold at most {MAX_TUPLE}, use a vector")
    return f"semirings::tuple<{', '.join(items)}>"


def function(name: str, parameters: Sequence[Symbol], result: Expr | tuple[Expr, ...]) -> str:
    """
    Return the text of a ``__device__`` function of `parameters` that returns `result` by value.

    Parameters
    ----------
    name : str
    parameters : sequence of Symbol
        In call order. Names are kept where they are valid in C++.
    result : Expr or tuple of Expr
        Several results are returned in one ``semirings::tuple``.

    Examples
    --------
    >>> from semirings import Symbol, minimum
    >>> distance, weight = Symbol("distance", "f4"), Symbol("weight", "f4")
    >>> print(function("relax", [distance, weight], minimum(distance, weight + 1)))
    __device__ __forceinline__ float relax(float distance, float weight) {
        const float t0 = weight + 1.0f;
        return distance < t0 || distance != distance ? distance : t0;
    }
    <BLANKLINE>
    """
    given = result if isinstance(result, tuple) else (result,)
    check_parameters(name, parameters, given)
    style = Style(RESERVED, ctype, Body, expression, _statement_lines)
    return write_function(style, name, parameters, *wide_results(given), isinstance(result, tuple))


class Style(NamedTuple):
    """How the text of functions for a single thread and of functions for a whole warp differs."""

    reserved: Collection[str]
    ctype: Callable[[Type], str]
    body: type[Body]
    expression: Callable[[Expr, list[str]], str]
    lines: Callable[[Any], list[str]]  # returns the lines of C++ for a statement
    head: Sequence[str] = ()


def write_function(
    style: Style, name: str, parameters: Sequence[Symbol], results: list[Expr], wide: list[Expr], is_tuple: bool
) -> str:
    """Return the text of a ``__device__`` function that returns the given results.

    Parameters
    ----------
    style : Style
        How the text is printed: for a thread, or for a warp.
    name : str
        The function's name.
    parameters : sequence of Symbol
        Its parameters in call order.
    results : list of Expr
        What it returns.
    wide : list of Expr
        The wide vectors among the results, each of which is computed by a loop.
    is_tuple : bool
        Whether results are returned as a tuple, also if there is only one.
    """
    constants = tables(results)
    taken = {*style.reserved, *MATH_NAMES, *constants.values(), name}
    *names, wide_name = identifiers([*(parameter.name for parameter in parameters), "wide"], taken)
    targets = {loop: f"{wide_name}{i}" for i, loop in enumerate(dict.fromkeys(wide))}
    known = constants | dict[Expr, str](zip(parameters, names, strict=True))
    statements, values = style.body(known, style.expression, targets).write(results)
    types = [style.ctype(r.type) for r in results]
    returned = struct(types) if is_tuple else types[0]
    value = f"{returned}{{{', '.join(values)}}}" if is_tuple else values[0]
    text = [*style.head]
    text += [f"const {ctype(e.type)} {table} = {literal(table_values(e), e.type)};" for e, table in constants.items()]
    text += [f"{style.ctype(loop.type)} {target};" for loop, target in targets.items()]
    text += [line for statement in statements for line in style.lines(statement)]
    first = (
        f"__device__ __forceinline__ {returned} {name}({_parameter_list(parameters, names, results, style.ctype)}) {{"
    )
    inner = (line if line.startswith("#") else f"    {line}" for line in [*text, f"return {value};"])
    return "\n".join([first, *inner, "}", ""])


def _parameter_list(
    parameters: Sequence[Symbol], names: Sequence[str], results: Sequence[Expr], kind: Callable[[Type], str]
) -> str:
    """Return the parameter list of a C++ function as text. A parameter that stands for an array is a pointer.

    `names` has the name of each parameter, and `kind` is a function that returns the C++ type for a type.
    """
    arrays = arrays_in(results)
    texts = (
        f"const {ctype(p.type)}* {name}" if p in arrays else f"{kind(p.type)} {name}"
        for p, name in zip(parameters, names, strict=True)
    )
    return ", ".join(texts)


def _statement_lines(statement: Statement) -> list[str]:
    """Return the lines of C++ for a statement, such as the definition of a variable or a loop over a vector's items."""
    if isinstance(statement, Line):
        return [f"const {ctype(statement.type)} {statement.name} = {statement.text};"]
    assert not isinstance(statement, Branch)  # Branches are made only if asked for, which only printers for the CPU do.
    lines = [f"    {text}" for line in statement.lines for text in _statement_lines(line)]
    begin, stores = 0, [f"    {name}.item[lane] = {text};" for name, _, text in getattr(statement, "values", ())]
    before: list[str] = []
    if isinstance(statement, Fold):
        name, kind, text = statement.value
        begin, before, stores = 1, [f"{ctype(kind)} {name} = {statement.first};"], [f"    {name} = {text};"]
    return [*before, f"for (int lane = {begin}; lane < {statement.length}; ++lane) {{", *lines, *stores, "}"]


def expression(expr: Expr, args: list[str]) -> str:
    """Return the C++ text of one node of an expression. `args` has the texts of the node's arguments."""
    if expr.op == "constant":
        return literal(expr.payload, expr.type)
    if expr.op == "item":
        is_vector = isinstance(expr.args[0].type, VectorType)
        return f"{args[0]}.item[{expr.payload}]" if is_vector else f"{args[0]}.item{expr.payload}"
    if expr.op == "vector":
        return f"{ctype(expr.type)}{{{{{', '.join(args)}}}}}"
    if expr.op == "tuple":
        return f"{ctype(expr.type)}{{{', '.join(args)}}}"
    if expr.op == "lane":
        return f"{args[0]}.item[lane]"
    if expr.op == "lane_number":
        return "(long long)lane"
    if expr.op == "load":
        return f"semirings::item_at({', '.join(args)})"
    if expr.op == "where":
        return f"{args[0]} ? {args[1]} : {args[2]}"
    assert isinstance(expr.type, np.dtype)
    if expr.op == "cast":
        return _cast_text(args[0], expr.args[0].type, expr.type)
    if expr.op in ("minimum", "maximum"):
        return _extremum_text(expr, *args)
    return _arithmetic_text(expr, args, expr.type)


def _arithmetic_text(expr: Expr, args: list[str], dtype: np.dtype[Any]) -> str:
    """Return the C++ text of an arithmetic operation: a node on scalars of type `dtype`.

    `args` has the texts of the node's arguments.
    """
    op, arguments = expr.op, ", ".join(args)
    if op in _INFIX:
        return _narrowed_text(f"{args[0]} {_INFIX[op]} {args[1]}", dtype)
    if op in _WRAPPING:
        plain = dtype.kind == "f" or dtype.name in ("uint32", "uint64")
        return f"{args[0]} {_WRAPPING[op]} {args[1]}" if plain else f"semirings::{op}({arguments})"
    if op in _HELPED:
        return f"semirings::{op}({arguments})"
    if op == "negative":
        return f"-{args[0]}" if dtype.kind == "f" else f"semirings::negative({arguments})"
    if op == "invert":
        return f"!{args[0]}" if dtype.kind == "b" else _narrowed_text(f"~{args[0]}", dtype)
    if op == "absolute" and dtype.kind != "f":
        return f"semirings::absolute({arguments})"
    if op == "bitwise_count":
        return _narrowed_text(f"__popc{'ll' if expr.args[0].dtype.itemsize == 8 else ''}({arguments})", dtype)
    if op in ("isnan", "isinf", "isfinite"):
        return f"{op}({arguments})"
    return f"{_MATH[op]}{'f' if dtype.itemsize == 4 else ''}({arguments})"


def _extremum_text(expr: Expr, a: str, b: str) -> str:
    """Return the C++ text of a node that is the minimum or maximum of a and b, which is NaN if a or b is NaN."""
    sign = "<" if expr.op == "minimum" else ">"
    assert isinstance(expr.type, np.dtype)
    is_float = expr.type.kind == "f" and expr.args[0].op != "constant"
    if expr.type.kind == "f" and not is_float and np.isnan(expr.args[0].payload):
        return a
    test = f"{a} {sign} {b} || {a} != {a}" if is_float else f"{a} {sign} {b}"
    return f"{test} ? {a} : {b}"


def _narrowed_text(text: str, dtype: np.dtype[Any]) -> str:
    """Return the C++ text of a value, `text`, with a cast to type `dtype` where C++ has computed it in a wider type.

    C++ computes integers of less than 32 bits as int, so they are cast back.
    """
    return f"{_cast_operator(dtype)}({text})" if dtype.kind in "iu" and dtype.itemsize < 4 else text


def _cast_operator(dtype: np.dtype[Any]) -> str:
    """Return the C++ text of a cast to a type, such as ``(short)``: the name of the type in parentheses."""
    return f"({ctype(dtype)})"


def _cast_text(text: str, source: Type, target: np.dtype[Any]) -> str:
    """Return the C++ text that converts a scalar, whose text is given, from type `source` to type `target`."""
    assert isinstance(source, np.dtype)
    if source == HALF:
        single = f"semirings::widened_half({text})"
        return single if target.name == "float32" else _cast_text(single, np.dtype(np.float32), target)
    if target == HALF:
        return f"semirings::to_half({text if source.kind == 'f' else f'(float){text}'})"
    if target.kind == "b":
        return f"{text} != {literal(source.type(0), source)}"
    if source.kind == "f" and target.kind in "iu":
        helper = "to_signed" if target.kind == "i" else "to_unsigned"
        return f"semirings::{helper}<{ctype(target)}>({text})"
    if target.name == "int16":
        return f"semirings::narrow<short>({text})"
    return f"{_cast_operator(target)}{text}"


def literal(value: Any, type: Type) -> str:
    """
    Return the C++ text of a constant, with exactly the C++ type that stands for `type`.

    Examples
    --------
    >>> literal(0.1, np.dtype("f4")), literal(-np.inf, np.dtype("f8")), literal(5, np.dtype("u8"))
    ('0.1f', '-__longlong_as_double(0x7ff0000000000000LL)', '5ULL')
    """
    if isinstance(type, VectorType):
        return f"{ctype(type)}{{{{{', '.join(literal(part, type.scalar) for part in value)}}}}}"
    if isinstance(type, TupleType):
        parts = [literal(part, kind) for part, kind in zip(value, type.items, strict=True)]
        return f"{ctype(type)}{{{', '.join(parts)}}}"
    if type.kind == "b":
        return "true" if value else "false"
    if type.kind == "f":
        return _float_literal(type.type(value), type.itemsize == 4)
    number = int(value)
    if type.itemsize < 4:
        return f"({ctype(type)}){number}"
    suffix = _SUFFIXES[type.name]
    is_lowest = type.kind == "i" and number == np.iinfo(type).min
    return f"({number + 1}{suffix} - 1)" if is_lowest else f"{number}{suffix}"


def _float_literal(number: Any, single: bool) -> str:
    """Return the C++ text of a float. Infinities and NaN are written by their bits, because NVRTC has no <math.h>."""
    if np.isfinite(number):
        return f"{number!s}f" if single else str(number)
    bits = {True: (0x7F800000, 0x7FC00000), False: (0x7FF0000000000000, 0x7FF8000000000000)}[single]
    text = hex(bits[int(np.isnan(number))])
    call = f"__int_as_float({text})" if single else f"__longlong_as_double({text}LL)"
    return f"-{call}" if number < 0 else call
