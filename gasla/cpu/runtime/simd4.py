"""Vectors of four values in SIMD registers: functions that load, gather, permute and test them.

LLVM vectorizes long loops, but not a loop over the few entries of a short row. The operators and functions of the
kernel language also work on these vectors.
"""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from gasla.compiler.builtin import BUILTINS
from gasla.compiler.emit import Builtin, Emitter, Operand, Value
from gasla.compiler.kernel_types import BOOL, I32, U64, Type, vector_of
from gasla.cpu.runtime.blocks import inlined

SIZE = 4
_ONE, _TWO, _THREE = np.uint64(1), np.uint64(2), np.uint64(3)
_PLACES = Value(vector_of(I32, SIZE), f"<{', '.join(f'i32 {k}' for k in range(SIZE))}>")
_load_vector, _splat = BUILTINS["load_vector"], BUILTINS["splat"]
# ``where(condition, a, b)``: a vector that has the value of `a` in each lane whose condition is true, and else that of
# `b`
where = BUILTINS["select"]


@inlined
def load(array, index):
    """Return the four elements of an array from `index` on, as a vector."""
    return _load_vector(array, index, SIZE)


@inlined
def spread(value):
    """Return a vector whose four values are all equal to `value`."""
    return _splat(value, SIZE)


@inlined
def first(quad):
    """Return the first of the four values of a vector, which the parameter `quad` holds, as a scalar."""
    return quad[0]


@inlined
def gather(array, indices, index, bound):
    """Return a vector of the items of `array` at four indices, and True.

    The indices are at positions `index` to ``index + 3`` of `indices`. If an index is not below `bound`, return a
    vector of zeros and False instead.
    """
    a, b = np.uint64(indices[index]), np.uint64(indices[index + _ONE])
    c, d = np.uint64(indices[index + _TWO]), np.uint64(indices[index + _THREE])
    if a >= bound or b >= bound or c >= bound or d >= bound:
        return spread(array.dtype.type(0)), False
    return _packed(array[a], array[b], array[c], array[d]), True


@inlined
def any_of(quad):
    """Return whether at least one of the four truth values in the vector `quad` is true."""
    return bits(quad) != 0


def _emit_packed(emit: Emitter, node: Any, *values: Value) -> Value:
    """Emit LLVM instructions that combine four scalar values of a kernel into one vector, and return the vector."""
    kind = vector_of(values[0].type, SIZE)
    # LLVM would build a vector of truth values through memory, so this builds an integer of four bits and casts it
    if kind.of == BOOL:
        word = Value(I32, "0")
        for k, value in enumerate(values):
            bit = emit.make(I32, f"shl i32 {emit.cast(node, value, I32).text}, {k}")
            word = emit.make(I32, f"or i32 {word.text}, {bit.text}")
        word = emit.make(I32, f"trunc i32 {word.text} to i{SIZE}")
        return emit.make(kind, f"bitcast i{SIZE} {word.text} to {kind.ir}")
    quad = Value(kind, "poison")
    for k, value in enumerate(values):
        quad = emit.make(kind, f"insertelement {kind.ir} {quad.text}, {value.type.ir} {value.text}, i32 {k}")
    return quad


def _emit_within(emit: Emitter, node: Any, count: Operand) -> Value:
    return emit.compare("gt", emit.spread(emit.cast(node, count, I32), SIZE), _PLACES)


def _emit_bits(emit: Emitter, node: Any, quad: Value) -> Value:
    word = emit.make(Type("u", SIZE), f"bitcast {quad.type.ir} {quad.text} to i{SIZE}")
    return emit.make(U64, f"zext i{SIZE} {word.text} to i64")


def _shuffle(name: str, places: list[int]) -> Builtin:
    """Return a function of the kernel language that permutes a vector: lane i of its result is lane ``places[i]``."""
    mask = ", ".join(f"i32 {place}" for place in places)

    def shuffled(emit: Emitter, node: Any, quad: Value) -> Value:
        both = f"{quad.type.ir} {quad.text}, {quad.type.ir} poison"
        return emit.make(quad.type, f"shufflevector {both}, <{SIZE} x i32> <{mask}>")

    return Builtin(name, shuffled)


_packed = Builtin("packed", _emit_packed)
# ``within(k)``: a vector of four truth values, of which the first k (a number below 2**31) are true
within = Builtin("within", _emit_within)
# ``bits(quad)``: the four truth values of a vector, as the lowest four bits of a uint64
bits = Builtin("bits", _emit_bits)
by_one = _shuffle("by_one", [1, 0, 3, 2])  # swap lanes 0 and 1, and lanes 2 and 3
by_two = _shuffle("by_two", [2, 3, 0, 1])  # swap the two halves of a vector
turned = _shuffle("turned", [1, 2, 3, 0])  # rotate a vector by one lane, so that lane 1 comes first
