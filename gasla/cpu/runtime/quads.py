"""Four values side by side, in a vector of the processor: a type for Numba, and operations on it.

What a row's entries come to takes as many instructions for four of them as for one. LLVM would find out for loops, but
not for the few entries of a short row.
"""

# mypy: disable-error-code="no-untyped-def"
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from gasla.cpu.runtime.intrinsics import element_pointer
from semirings.types import SCALAR_NAMES

SIZE = 4
BIT, WORD = ir.IntType(1), ir.IntType(32)


class Quad(types.Type):
    """Four values of a type."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Quad({dtype})")


@register_model(Quad)
class QuadModel(models.PrimitiveModel):
    """A vector; of bits, where it is of bool."""

    def __init__(self, manager: Any, kind: Quad) -> None:
        super().__init__(manager, kind, ir.VectorType(_scalar(kind.dtype), SIZE))


def _scalar(kind: Any) -> Any:
    """LLVM's type for one value."""
    if kind == types.boolean:
        return BIT
    return {32: ir.FloatType(), 64: ir.DoubleType()}[kind.bitwidth] if _is_float(kind) else ir.IntType(kind.bitwidth)


def _is_float(kind: Any) -> bool:
    return isinstance(kind, types.Float)


def _packed(builder, values):
    """A vector of these values."""
    kind = ir.VectorType(values[0].type, SIZE)
    if values[0].type == BIT:  # bit by bit LLVM would take it through memory
        bits = [builder.shl(builder.zext(bit, WORD), WORD(k)) for k, bit in enumerate(values)]
        word = builder.or_(builder.or_(bits[0], bits[1]), builder.or_(bits[2], bits[3]))
        return builder.bitcast(builder.trunc(word, ir.IntType(SIZE)), kind)
    quad = ir.Constant(kind, ir.Undefined)
    for k, value in enumerate(values):
        quad = builder.insert_element(quad, value, WORD(k))
    return quad


def _repeated(builder, value):
    """A vector of one value."""
    quad = builder.insert_element(ir.Constant(ir.VectorType(value.type, SIZE), ir.Undefined), value, WORD(0))
    return _shuffled(builder, quad, [0] * SIZE)


def _shuffled(builder, quad, places):
    """The values at four places."""
    return builder.shuffle_vector(quad, quad, ir.Constant(ir.VectorType(WORD, SIZE), [WORD(k) for k in places]))


@intrinsic
def load(typing_context, array, index):
    """Four elements of an array from an index on."""

    def generate(context, builder, signature, arguments):
        pointer = element_pointer(context, builder, array, *arguments)
        element = pointer.type.pointee
        quad = builder.load(builder.bitcast(pointer, ir.VectorType(element, SIZE).as_pointer()))
        quad.align = context.get_abi_sizeof(element)
        return builder.trunc(quad, ir.VectorType(BIT, SIZE)) if array.dtype == types.boolean else quad

    return Quad(array.dtype)(array, types.uint64), generate


@intrinsic
def gather(typing_context, array, indices, index, bound):
    """The elements of an array at four indices, those from a place on, and whether all are below a bound; uint64."""
    kind = types.Tuple((Quad(array.dtype), types.boolean))

    def generate(context, builder, signature, arguments):
        values, places, start, limit = arguments
        outside, after = (builder.append_basic_block(name) for name in ("outside", "after"))
        found = []
        for k in range(SIZE):
            pointer = element_pointer(context, builder, indices, places, builder.add(start, start.type(k)))
            place = context.cast(builder, builder.load(pointer), indices.dtype, types.uint64)
            inside = builder.append_basic_block("inside")
            builder.cbranch(builder.icmp_unsigned("<", place, limit), inside, outside)
            builder.position_at_end(inside)
            value = builder.load(element_pointer(context, builder, array, values, place))
            found.append(builder.trunc(value, BIT) if array.dtype == types.boolean else value)
        quad, whole = _packed(builder, found), builder.block
        builder.branch(after)
        builder.position_at_end(outside)
        builder.branch(after)
        builder.position_at_end(after)
        result, is_inside = builder.phi(quad.type), builder.phi(BIT)
        for block, value in ((whole, quad), (outside, ir.Constant(quad.type, ir.Undefined))):
            result.add_incoming(value, block)
            is_inside.add_incoming(BIT(block is whole), block)
        return context.make_tuple(builder, kind, [result, is_inside])

    return kind(array, indices, types.uint64, types.uint64), generate


@intrinsic
def spread(typing_context, value):
    """Four times the same."""

    def generate(context, builder, signature, arguments):
        return _repeated(builder, arguments[0])

    return Quad(value)(value), generate


@intrinsic
def within(typing_context, count):
    """Which of the four places are among the first `count`, a uint64 below 2**31."""

    def generate(context, builder, signature, arguments):
        counts = _repeated(builder, builder.trunc(arguments[0], WORD))
        return builder.icmp_signed(">", counts, ir.Constant(counts.type, [WORD(k) for k in range(SIZE)]))

    return Quad(types.boolean)(types.uint64), generate


def _swap(count):
    """An intrinsic that swaps each value with that so many places on, or back."""

    @intrinsic
    def swapped(typing_context, quad):
        def generate(context, builder, signature, arguments):
            return _shuffled(builder, arguments[0], [k ^ count for k in range(SIZE)])

        return quad(quad), generate

    return swapped


by_one, by_two = _swap(1), _swap(2)


@intrinsic
def turned(typing_context, quad):
    """Each value one place down, the first one last."""

    def generate(context, builder, signature, arguments):
        return _shuffled(builder, arguments[0], [(k + 1) % SIZE for k in range(SIZE)])

    return quad(quad), generate


@intrinsic
def first(typing_context, quad):
    """The first value."""

    def generate(context, builder, signature, arguments):
        return builder.extract_element(arguments[0], WORD(0))

    return quad.dtype(quad), generate


@intrinsic
def any_of(typing_context, quad):
    """Whether any of four truths is."""

    def generate(context, builder, signature, arguments):
        bits = builder.bitcast(arguments[0], ir.IntType(SIZE))
        return builder.icmp_unsigned("!=", bits, bits.type(0))

    return types.boolean(Quad(types.boolean)), generate


@intrinsic
def bits(typing_context, quad):
    """Four truths as the lowest bits of a uint64."""

    def generate(context, builder, signature, arguments):
        return builder.zext(builder.bitcast(arguments[0], ir.IntType(SIZE)), ir.IntType(64))

    return types.uint64(Quad(types.boolean)), generate


# --- operations ------------------------------------------------------------------------------------------------------


def _of_kind(of_floats: str, of_integers: str) -> Callable[..., Any]:
    """An operation that LLVM calls differently for floats and for integers."""
    return lambda builder, kind, *given: getattr(builder, of_floats if _is_float(kind) else of_integers)(*given)


def _comparison(sign: str) -> Callable[..., Any]:
    """NaN is not equal to anything, and no other comparison holds for it."""

    def build(builder, kind, a, b):
        if _is_float(kind):
            return (builder.fcmp_unordered if sign == "!=" else builder.fcmp_ordered)(sign, a, b)
        return (builder.icmp_signed if getattr(kind, "signed", False) else builder.icmp_unsigned)(sign, a, b)

    return build


def _function(name: str) -> Callable[..., Any]:
    """A function that LLVM has for floats."""

    def build(builder, kind, a):
        one = ir.FunctionType(a.type, [a.type])
        function = builder.module.declare_intrinsic(f"llvm.{name}.v{SIZE}f{kind.bitwidth}", (), one)
        return builder.call(function, [a])

    return build


def _shifted_right(builder, kind, a, b):
    return (builder.ashr if kind.signed else builder.lshr)(a, b)


def _absolute(builder, kind, a):
    if _is_float(kind):
        return _function("fabs")(builder, kind, a)
    if not kind.signed:
        return a
    return builder.select(builder.icmp_signed("<", a, ir.Constant(a.type, [0] * SIZE)), builder.neg(a), a)


SIGNS = {
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=",
}  # fmt: skip
OF_ONE: dict[str, Callable[..., Any]] = {
    "negative": _of_kind("fneg", "neg"),
    "absolute": _absolute,
    "invert": _of_kind("", "not_"),
    "isnan": lambda builder, kind, a: builder.fcmp_unordered("uno", a, a),
    **{name: _function(name) for name in ("sqrt", "floor", "ceil", "trunc", "rint")},
}
OF_TWO: dict[str, Callable[..., Any]] = {
    "add": _of_kind("fadd", "add"), "subtract": _of_kind("fsub", "sub"), "multiply": _of_kind("fmul", "mul"),
    "bitwise_and": _of_kind("", "and_"), "bitwise_or": _of_kind("", "or_"), "bitwise_xor": _of_kind("", "xor"),
    "divide": _of_kind("fdiv", ""), "left_shift": _of_kind("", "shl"), "right_shift": _shifted_right,
    **{name: _comparison(sign) for name, sign in SIGNS.items()},
}  # fmt: skip


def _operation(name: str) -> Any:
    """The intrinsic for an operation on quads of one type."""

    def generate(context, builder, signature, arguments):
        build = OF_ONE.get(name) or OF_TWO[name]
        return build(builder, signature.args[0].dtype, *arguments)

    @intrinsic
    def of_one(typing_context, a):
        return (Quad(types.boolean) if name == "isnan" else a)(a), generate

    @intrinsic
    def of_two(typing_context, a, b):
        return ((Quad(types.boolean) if name in SIGNS else a)(a, b), generate) if a == b else None

    return of_one if name in OF_ONE else of_two


@intrinsic
def where(typing_context, condition, a, b):
    """One of two values at each place."""

    def generate(context, builder, signature, arguments):
        return builder.select(*arguments)

    return (a(condition, a, b), generate) if condition == Quad(types.boolean) and a == b else None


def _conversion(name: str) -> Any:
    """The intrinsic that casts to a type of number, but for floats to integers."""
    target = getattr(types, name)

    @intrinsic
    def to_type(typing_context, a):
        def generate(context, builder, signature, arguments):
            return getattr(builder, _way(a.dtype, target))(arguments[0], ir.VectorType(_scalar(target), SIZE))

        return Quad(target)(a), generate

    return to_type


def _way(source: Any, target: Any) -> str:
    """LLVM's name for a cast."""
    is_wider, is_signed = target.bitwidth > getattr(source, "bitwidth", 1), getattr(source, "signed", False)
    if _is_float(source):
        return "fpext" if is_wider else "fptrunc"
    if _is_float(target):
        return "sitofp" if is_signed else "uitofp"
    if is_wider:
        return "sext" if is_signed else "zext"
    return "trunc" if target.bitwidth < source.bitwidth else "bitcast"


CASTS = {f"to_{name}": _conversion(name) for name in SCALAR_NAMES if name != "bool"}
globals().update({name: _operation(name) for name in (*OF_ONE, *OF_TWO)}, **CASTS)  # for generated modules
