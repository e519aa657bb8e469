"""Print expressions as CUDA C++ functions that the 32 threads of a warp call together.

A wide vector is spread over the threads: thread i has the items i, i + 32, i + 64, and so on. All threads compute
scalars alike. So an operation on lanes is a loop over a thread's own items, and a fold is a warp reduction in
the order of the lanes, whose result all threads receive. Everything else is as for a single thread (`cuda`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from semirings.expr import Expr, Symbol, constant, node, rebuilt
from semirings.printers import cuda
from semirings.printers.statement_order import Body, Each, Fold, Line, check_parameters, wide_results
from semirings.types import TupleType, Type, VectorType, has_wide

WARP = 32
# The largest number of items per thread for which a loop over them is unrolled. More items would not fit in registers.
IN_REGISTERS = 16

PRELUDE = """\
namespace semirings {
// A thread's part of a wide vector that is spread over a warp.
template <class T, int k> struct spread { T item[(k + 31) / 32]; };

// The value of a scalar in another thread.
template <class T> __device__ __forceinline__ T from_thread(T value, unsigned int thread) {
    constexpr unsigned int ALL = 0xffffffffu;
    if constexpr (sizeof(T) == 8) {
        const word bits = *reinterpret_cast<const word*>(&value);
        const unsigned int low = __shfl_sync(ALL, (unsigned int)bits, thread);
        const word whole = (word)__shfl_sync(ALL, (unsigned int)(bits >> 32), thread) << 32 | low;
        return *reinterpret_cast<const T*>(&whole);
    } else {
        unsigned int bits = 0;
        *reinterpret_cast<T*>(&bits) = value;
        bits = __shfl_sync(ALL, bits, thread);
        return *reinterpret_cast<T*>(&bits);
    }
}
template <int at, class T, int k> __device__ __forceinline__ T item_of(const spread<T, k>& x) {
    return from_thread(x.item[at / 32], at % 32);
}
// Reduce the values of the first `count` threads in order; all threads receive the result.
template <class T, class Combine>
__device__ __forceinline__ T fold_threads(T value, unsigned int count, Combine combine) {
    const unsigned int thread = threadIdx.x & 31;
#pragma unroll
    for (unsigned int step = 1; step < 32; step <<= 1) {
        const T above = from_thread(value, (thread + step) & 31);
        if (thread + step < count) value = combine(value, above);
    }
    return from_thread(value, 0);
}
}  // namespace semirings
"""
"""Structs and helper functions of the printed functions, to be included after `cuda.PRELUDE`."""

_RESERVED = ("thread", "part", "left", "right")


class _WarpFold(NamedTuple):
    """A statement that reduces the lanes (items) of a wide vector over the threads of a warp.

    `result` is the variable for the result, `length` the vector's length, and `lines` compute the value of one lane.
    The values ``left`` and ``right`` of two lanes are combined by the lines `combining`, after which `combined` is the
    text of the result.
    """

    result: Line
    length: int
    lines: list[Line]
    combining: list[Line]
    combined: str


class _Body(Body):
    """A converter of the expressions that a function returns into statements that the threads of a warp run."""

    def is_simple(self, e: Expr) -> bool:
        """Return whether a node is printed where it is used, without a temporary variable.

        An item of a wide vector is not, because it is received from another thread by a shuffle.
        """
        return super().is_simple(e) and not (e.op == "item" and _is_wide(e.args[0].type))

    def fold(self, e: Expr) -> _WarpFold:  # type: ignore[override]
        _, body, combination = e.args
        self.texts[e] = name = self.temporary()
        texts, sides = dict(self.texts), dict(self.texts)
        lines = self.in_loop([body], texts)
        sides |= {node(side, e.type): side for side in ("left", "right")}
        combining = self.in_loop([combination], sides)
        return _WarpFold(Line(name, e.type, texts[body]), e.payload, lines, combining, sides[combination])


def ctype(type: Type) -> str:
    """
    Return the C++ type for what one thread of a warp has of a value of a type.

    Examples
    --------
    >>> from semirings import as_type
    >>> ctype(as_type(("f4", (64,)))), ctype(as_type("i8"))
    ('semirings::spread<float, 64>', 'long long')
    """
    if isinstance(type, TupleType) and has_wide(type):
        return cuda.struct([ctype(item) for item in type.items])
    if isinstance(type, VectorType) and type.is_wide:
        return f"semirings::spread<{cuda.ctype(type.scalar)}, {type.length}>"
    return cuda.ctype(type)


def function(name: str, parameters: Sequence[Symbol], result: Expr | tuple[Expr, ...]) -> str:
    """
    Return the text of a ``__device__`` function that returns `result` by value. All threads of a warp must call it.

    Parameters
    ----------
    name : str
    parameters : sequence of Symbol
        In call order. Names are kept where they are valid in C++.
    result : Expr or tuple of Expr
        Several results are returned in one ``semirings::tuple``.

    Examples
    --------
    >>> x, s = Symbol("x", ("f4", (64,))), Symbol("s", "f4")
    >>> print(function("scale", [x, s], x * (s + 1)))
    __device__ __forceinline__ semirings::spread<float, 64> scale(semirings::spread<float, 64> x, float s) {
        const int thread = threadIdx.x & 31;
        semirings::spread<float, 64> wide0;
        const float t0 = s + 1.0f;
    #pragma unroll
        for (int part = 0; part < 2; ++part) {
            const int lane = 32 * part + thread;
            const float t1 = x.item[part];
            const float t2 = t1 * t0;
            wide0.item[part] = t2;
        }
        return wide0;
    }
    <BLANKLINE>
    """
    given = result if isinstance(result, tuple) else (result,)
    check_parameters(name, parameters, given)
    reserved, head = {*cuda.RESERVED, *_RESERVED}, ["const int thread = threadIdx.x & 31;"]
    style = cuda.Style(reserved, ctype, _Body, _expression, _statement_lines, head)
    loops = wide_results([rebuilt(e, _without_first) for e in given])
    return cuda.write_function(style, name, parameters, *loops, isinstance(result, tuple))


def _without_first(e: Expr, args: list[Expr]) -> Expr | None:
    """Return a node ``"fold"`` whose value of the first lane is replaced by 0, or None for any other node.

    The value would be computed for nothing, because each thread of a warp starts with the value of its own lane.
    """
    if e.op != "fold":
        return None
    return node("fold", e.type, constant(0, e.type), *args[1:], payload=e.payload)


def _is_wide(type: Type) -> bool:
    return isinstance(type, VectorType) and type.is_wide


def _expression(e: Expr, args: list[str]) -> str:
    """Return the C++ text of one node of an expression, for a function that the threads of a warp call together.

    `args` has the texts of the node's arguments.
    """
    if e.op == "lane":
        return f"{args[0]}.item[{'lane' if e.args[0].op == 'table' else 'part'}]"
    if e.op == "item" and _is_wide(e.args[0].type):
        return f"semirings::item_of<{e.payload}>({args[0]})"
    if e.op == "tuple":
        return f"{ctype(e.type)}{{{', '.join(args)}}}"
    return cuda.expression(e, args)


def _statement_lines(statement: Line | Each | Fold | _WarpFold) -> list[str]:
    """Return the lines of C++ for a statement of a function that the threads of a warp call together."""
    if isinstance(statement, Line):
        return [f"const {ctype(statement.type)} {statement.name} = {statement.text};"]
    if isinstance(statement, Each):
        stores = [f"{name}.item[part] = {text};" for name, _, text in statement.values]
        return _loop_lines(statement.length, [], [*_all_lines(statement.lines), *stores], [])
    assert isinstance(statement, _WarpFold)
    (name, type, text), length = statement.result, statement.length
    kind, combine = ctype(type), f"combine_{statement.result.name}"
    combining = [*_all_lines(statement.combining), f"return {statement.combined};"]
    count = f"{length} - {WARP} * part < {WARP} ? {length} - {WARP} * part : {WARP}" if length % WARP else str(WARP)
    folded = f"semirings::fold_threads({name}_here, {count}, {combine})"
    return [
        f"const auto {combine} = [&](const {kind} left, const {kind} right) -> {kind} {{",
        *(f"    {line}" for line in combining),
        "};",
        f"{kind} {name}{{}};",
        *_loop_lines(
            length,
            [f"{kind} {name}_here{{}};"],
            [*_all_lines(statement.lines), f"{name}_here = {text};"],
            [f"const {kind} {name}_all = {folded};", f"{name} = part ? {combine}({name}, {name}_all) : {name}_all;"],
        ),
    ]


def _all_lines(lines: list[Line]) -> list[str]:
    return [text for line in lines for text in _statement_lines(line)]


def _loop_lines(length: int, before: list[str], lines: list[str], after: list[str]) -> list[str]:
    """Return the lines of a C++ loop over the items of a wide vector that belong to the calling thread of a warp.

    `before`, `lines` and `after` are the loop's body. `lines` run only for items within the vector's `length`.
    """
    parts = -(-length // WARP)
    if length % WARP:
        lines = [f"if (lane < {length}) {{", *(f"    {line}" for line in lines), "}"]
    inner = [f"const int lane = {WARP} * part + thread;", *before, *lines, *after]
    unrolled = "#pragma unroll" if parts <= IN_REGISTERS else "#pragma unroll 1"
    return [unrolled, f"for (int part = 0; part < {parts}; ++part) {{", *(f"    {line}" for line in inner), "}"]
