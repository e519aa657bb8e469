"""The built-in functions of the kernel language: atomics, bits, minimum and maximum, mathematics, vectors.

Each function here emits the instructions for one call in a kernel. It takes the emitter, the syntax tree of the call
and the values of the arguments. `BUILTINS` maps the names that kernels call to these functions.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import Any

from gasla.compiler.emit import Builtin, Emitter, Known, Operand, Value, parts
from gasla.compiler.kernel_types import BOOL, F64, I32, I64, NONE, Type, address_of, array_of, vector_of

BUILTINS: dict[str, Builtin] = {}


def builtin(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register the decorated function as one that emits a built-in function of the kernel language.

    The built-in function has the same name, without a trailing underscore.
    """
    _add(function.__name__.rstrip("_"), function)
    return function


def _add(name: str, function: Callable[..., Any], /, **options: Any) -> None:
    BUILTINS[name] = Builtin(name, partial(function, **options) if options else function)


# --- checking and converting the arguments of a call ------------------------------------------------------------------


def _parts(emit: Emitter, node: Any, array: Operand, dimensions: int = 0) -> list[Value]:
    """Return the address and the lengths of an array, the first argument of the call `node` in a kernel.

    Raise a CompileError if the argument is no array, or does not have the given number of dimensions, if that is not 0.
    """
    if not (isinstance(array, Value) and array.type.kind == "a" and dimensions in (0, array.type.extent)):
        emit.fail(
            node, f"{ast.unparse(node.args[0])} is not an array{' of one dimension' * bool(dimensions)}; expected one"
        )
    return parts(array)


def _item(emit: Emitter, node: Any, array: Operand, index: Operand) -> Value:
    """Return the address of the item `array[index]`, where the array must have one dimension.

    `node` is the call of a built-in function in a kernel, of which both are arguments.
    """
    return emit.place(node, _parts(emit, node, array, 1)[0], emit.settled(node.args[1], index))


def _integer(emit: Emitter, node: Any, x: Operand) -> Value:
    integer = emit.settled(node.args[0], x)
    if integer.type.kind not in "iu":
        emit.fail(node, f"{ast.unparse(node.args[0])} is {integer.type}; expected an integer, such as np.int64(x)")
    return integer


def _float(emit: Emitter, node: Any, x: Operand, place: int = 0) -> Value:
    """Return the argument `x` of a built-in function as a float or a vector of floats.

    An integer or a bool is converted to float64. `place` is the argument's position in the call `node`, for error
    messages.
    """
    x = emit.settled(node.args[place], x)
    if x.type.kind in "biu":
        x = emit.cast(node, x, F64)
    if x.type.scalar.kind != "f":
        emit.fail(node, f"{ast.unparse(node)} is given {x.type}; expected a float, such as np.float64(x)")
    return x


def _lanes(emit: Emitter, node: Any, lanes: Operand) -> int:
    if not isinstance(lanes, Known):
        emit.fail(node, f"{ast.unparse(node)}: the number of lanes is not known while compiling; expected a constant")
    return int(lanes.value)


# --- atomic operations on an item of an array -------------------------------------------------------------------------

# For the last word of an atomic function's name, such as "acquire", LLVM's names of two memory orders: one for an
# operation that changes the item, and one for a `compare_and_swap` that leaves the item unchanged.
ORDERS = {
    "relaxed": ("monotonic", "monotonic"),
    "acquire": ("acquire", "acquire"),
    "release": ("release", "monotonic"),
    "acq_rel": ("acq_rel", "acquire"),
}
# LLVM's weakest memory order, which only atomic loads and stores can have
UNORDERED = {"unordered": ("unordered", "unordered")}


def _fetch(
    emit: Emitter, node: Any, array: Operand, index: Operand, value: Operand, by_kind: dict[str, str], order: str
) -> Value:
    """Emit an atomic addition, bitwise or, or bitwise and on `array[index]`. Return the item's old value.

    `by_kind` has LLVM's name of the operation for each kind of item, such as "i", and `order` names the memory order.
    """
    place = _item(emit, node, array, index)
    kind = place.type.of
    if kind.kind not in by_kind:
        emit.fail(node, f"{ast.unparse(node.func)} is of items of {kind}; expected {' or '.join(by_kind)}")
    value = emit.stored(node.args[2], value, kind)
    return emit.make(
        kind, f"atomicrmw {by_kind[kind.kind]} {place.typed}, {value.typed} {ORDERS[order][0]}, align {kind.size}"
    )


def _compare_and_swap(
    emit: Emitter, node: Any, array: Operand, index: Operand, old: Operand, new: Operand, order: str
) -> Value:
    """Emit an atomic operation that sets `array[index]` to `new` if that item has the bits of `old`.

    Return, as a value in the kernel, whether the item was set.
    """
    place = _item(emit, node, array, index)
    kind, word = place.type.of, Type("u", 8 * place.type.of.size)
    values = [emit.stored(at, x, kind) for at, x in zip(node.args[2:], (old, new))]
    expected, fresh = (_bitcast(emit, x, word) if kind.kind == "f" else emit.cast(node, x, word) for x in values)
    orders = " ".join(ORDERS[order])
    instruction = f"cmpxchg {place.typed}, {expected.typed}, {fresh.typed} {orders}, align {kind.size}"
    return emit.make(BOOL, f"extractvalue {{ {word.ir}, i1 }} {emit.make(NONE, instruction).text}, 1")


def _load(emit: Emitter, node: Any, array: Operand, index: Operand, order: str) -> Value:
    return emit.read(_item(emit, node, array, index), f"atomic {(ORDERS | UNORDERED)[order][0]}")


def _store(emit: Emitter, node: Any, array: Operand, index: Operand, value: Operand, order: str) -> Known:
    place = _item(emit, node, array, index)
    emit.write(place, emit.stored(node.args[2], value, place.type.of), f"atomic {(ORDERS | UNORDERED)[order][0]}")
    return Known(None)


for _order in ORDERS:
    _add(f"fetch_add_{_order}", _fetch, by_kind={"i": "add", "u": "add", "f": "fadd"}, order=_order)
    _add(f"fetch_or_{_order}", _fetch, by_kind={"i": "or", "u": "or"}, order=_order)
    _add(f"fetch_and_{_order}", _fetch, by_kind={"i": "and", "u": "and"}, order=_order)
    _add(f"compare_and_swap_{_order}", _compare_and_swap, order=_order)
for _order in ("unordered", "relaxed", "acquire"):
    _add(f"load_{_order}", _load, order=_order)
for _order in ("unordered", "relaxed", "release"):
    _add(f"store_{_order}", _store, order=_order)


@builtin
def prefetch(emit: Emitter, node: Any, array: Operand, index: Operand) -> Any:
    """Emit a prefetch of an item's cache line. The index may lie outside the array, as a prefetch never faults."""
    place = _item(emit, node, array, index)
    return emit.intrinsic(NONE, "llvm.prefetch.p0", place, *(Value(I32, operand) for operand in "031"))


@builtin
def pause(emit: Emitter, node: Any) -> Any:
    """Emit the instruction that tells the processor that the code waits in a loop, if the processor has one."""
    if emit.unit.machine.startswith(("x86", "i386", "i686", "amd64")):
        return emit.intrinsic(NONE, "llvm.x86.sse2.pause")
    if emit.unit.machine.startswith(("aarch64", "arm64")):
        return emit.intrinsic(NONE, "llvm.aarch64.hint", Value(I32, "1"))
    return Known(None)


# --- lengths and addresses of arrays, arrays on the stack, and calls by address ---------------------------------------


@builtin
def len_(emit: Emitter, node: Any, array: Operand) -> Operand:
    """Return the length of an array's first dimension, or of a tuple or list that is known while compiling."""
    if isinstance(array, Known) and isinstance(array.value, tuple | list):
        return Known(len(array.value))
    return _parts(emit, node, array)[1]


@builtin
def address(emit: Emitter, node: Any, array: Operand) -> Value:
    """Return the address of an array's first item as an int64."""
    return emit.make(I64, f"ptrtoint {_parts(emit, node, array)[0].typed} to i64")


@builtin
def local(emit: Emitter, node: Any, kind: Operand, count: Operand) -> Value:
    """Return an uninitialized array of `count` items on the stack.

    It exists until the function that contains the call returns. `kind` is the type of the items.
    """
    if not (isinstance(kind, Known) and isinstance(kind.value, Type) and isinstance(count, Known)):
        emit.fail(node, f"{ast.unparse(node)}: expected a type and a length that are known while compiling")
    (text,) = emit.labels("%local")
    emit.slots.append(f"  {text} = alloca [{count.value} x {kind.value.stored}], align 16")
    return Value(array_of(kind.value), text, str(count.value))


@builtin
def words_at(emit: Emitter, node: Any, address: Operand, count: Operand) -> Value:
    """Return an array of `count` int64 items that begins at an address in memory."""
    address, count = (emit.cast(node, emit.settled(node, x), I64) for x in (address, count))
    return Value(array_of(I64), emit.make(address_of(I64), f"inttoptr {address.typed} to ptr").text, count.text)


@builtin
def call(emit: Emitter, node: Any, address: Operand, number: Operand, words: Operand) -> Any:
    """Emit a call of a compiled kernel, given by the address of its code, from another kernel.

    The called kernel gets a number, and the address of the buffer (of 8-byte words) with its other arguments.
    """
    address, number, words = (emit.to(n, x, I64) for n, x in zip(node.args, (address, number, words), strict=True))
    function, argument_address = (emit.make(address_of(I64), f"inttoptr {x.typed} to ptr") for x in (address, words))
    emit.emit(f"call void {function.text}({number.typed}, {argument_address.typed})")
    return Known(None)


# --- bits of integers and floats, minimum, maximum, and choosing one of two values ------------------------------------


def _count(emit: Emitter, node: Any, word: Operand, name: str, more: tuple[Value, ...] = ()) -> Any:
    word = _integer(emit, node, word)
    return emit.intrinsic(word.type, f"llvm.{name}.{word.type.mangled}", word, *more)


_add("count_bits", _count, name="ctpop")
# for 0, which has no bit set, the result is the number of bits of the type
_add("count_trailing_zeros", _count, name="cttz", more=(Value(BOOL, "false"),))


def _bitcast(emit: Emitter, x: Value, kind: Type) -> Value:
    """Return the bits of the value `x` as a value of the type `kind`, which has the same size.

    A vector is reinterpreted lane by lane.
    """
    kind = x.type.each(kind)
    return emit.make(kind, f"bitcast {x.typed} to {kind.ir}")


@builtin
def bits(emit: Emitter, node: Any, x: Operand) -> Value:
    """Return the bits of a float as an unsigned integer of the same size."""
    x = emit.settled(node, x)
    if x.type.scalar.kind != "f":
        emit.fail(node, f"bits takes a float; given {x.type}")
    return _bitcast(emit, x, Type("u", x.type.scalar.bits))


@builtin
def float_of(emit: Emitter, node: Any, x: Operand) -> Value:
    """Return the float that has the bits of an integer of 16, 32 or 64 bits."""
    x = emit.settled(node, x)
    if not x.type.is_integer or x.type.scalar.bits == 8:
        emit.fail(node, f"float_of is given {x.type}; expected an integer of 16 bits or more")
    return _bitcast(emit, x, Type("f", x.type.scalar.bits))


@builtin
def select(emit: Emitter, node: Any, condition: Operand, a: Operand, b: Operand) -> Value:
    """Return `a if condition else b` without a branch, so that both `a` and `b` are computed."""
    a, b = emit.same((node.args[1], node.args[2]), a, b)
    condition = emit.settled(node.args[0], condition)
    if condition.type.scalar != BOOL:
        emit.fail(node, f"a condition is {condition.type}; expected a bool")
    if condition.type.kind == "v" != a.type.kind:
        a, b = (emit.spread(x, condition.type.extent) for x in (a, b))
    return emit.choose(condition, a, b)


@builtin
def select_bits(emit: Emitter, node: Any, condition: Operand, a: Operand, b: Operand) -> Value:
    """Return `a if condition else b` without a branch, so that both `a` and `b` are computed.

    Floats are chosen by their bits, in a way that LLVM can't see through. Otherwise LLVM could make the choice a
    branch.
    """
    a, b = emit.same((node.args[1], node.args[2]), a, b)
    kind, word, hidden = a.type, Type("u", a.type.bits), [a, b]
    if kind.kind == "f":
        words = (_bitcast(emit, x, word) for x in hidden)
        hidden = [emit.make(word, f'call {word.ir} asm "", "=r,0"({x.typed})') for x in words]
    chosen: Value = select(emit, node, condition, *hidden)
    return _bitcast(emit, chosen, kind) if kind.kind == "f" else chosen


def _extreme(emit: Emitter, node: Any, a: Operand, b: Operand, *more: Operand, name: str) -> Operand:
    """Emit the minimum or maximum (by `name`) of two or more numbers of a kernel, and return the result.

    As in Python, a later number replaces an earlier one only if it is less (or greater), also if one of them is NaN.
    """
    if more:
        inner = ast.copy_location(ast.Call(node.func, node.args[1:], []), node)
        return _extreme(emit, node, a, _extreme(emit, inner, b, *more, name=name), name=name)
    if isinstance(a, Known) and isinstance(b, Known):
        return Known({"min": min, "max": max}[name](a.value, b.value))
    a, b = emit.same((node.args[0], node.args[1]), a, b)
    if a.type.is_integer:
        extreme: Operand = emit.intrinsic(a.type, f"llvm.{_sign(a)}{name}.{a.type.mangled}", a, b)
        return extreme
    return emit.choose(emit.compare("lt" if name == "min" else "gt", b, a), b, a)


def _sign(x: Value) -> str:
    return "s" if x.type.scalar.kind == "i" else "u"


_add("min", _extreme, name="min")
_add("max", _extreme, name="max")


@builtin
def abs_(emit: Emitter, node: Any, x: Operand) -> Any:
    """Return the absolute value of a number. The smallest signed integer has none, and is returned unchanged."""
    if isinstance(x, Known):
        return Known(abs(x.value))
    if x.type.scalar.kind == "f":
        return emit.intrinsic(x.type, f"llvm.fabs.{x.type.mangled}", x)
    return x if _sign(x) == "u" else emit.intrinsic(x.type, f"llvm.abs.{x.type.mangled}", x, Value(BOOL, "false"))


# --- mathematical functions of a float, or of each lane of a vector ---------------------------------------------------


def _math(emit: Emitter, node: Any, *arguments: Operand, name: str, takes: int = 1, is_of_c: bool = False) -> Any:
    """Emit a call of a mathematical function that LLVM or the C library provides, and return its result.

    `name` is the function's name, and `takes` the number of its arguments. With `is_of_c` the C library provides it.
    """
    if len(arguments) != takes:
        emit.fail(node, f"{name} is given {len(arguments)} arguments; expected {takes}")
    if takes == 2:
        arguments = emit.same((node.args[0], node.args[1]), *arguments)
    values = [_float(emit, node, x, k) for k, x in enumerate(arguments)]
    kind = values[0].type
    if not is_of_c:
        return emit.intrinsic(kind, f"llvm.{name}.{kind.mangled}", *values)
    if kind.kind == "v" or kind.bits < 32:
        emit.fail(node, f"{name} is given {kind}; expected f32 or f64")
    return emit.intrinsic(kind, name + "f" * (kind.bits == 32), *values, marks=OF_C)


# Attributes of calls of C's mathematical functions. LLVM recognizes these functions by name and replaces calls of them,
# which is not always right. It turns `fmod` of a finite x and a y that is not 0 into an `frem` marked `nnan`, whose
# result is undefined if y is NaN. It turns `pow(8, y)` into `exp2(3 * y)`, whose result is off by hundreds of units in
# the last place. `nobuiltin` forbids these replacements. The other attributes say what LLVM would know by the name: the
# function returns, and it neither reads nor writes memory.
OF_C = "nobuiltin willreturn memory(none)"

for _name in ("sqrt", "floor", "ceil", "trunc", "rint", "exp", "exp2", "log", "log2", "log10", "sin", "cos"):
    _add(_name, _math, name=_name)
_add("copysign", _math, name="copysign", takes=2)
for _name in ("tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "expm1", "log1p", "cbrt"):
    _add(_name, _math, name=_name, is_of_c=True)
for _name in ("atan2", "hypot", "fmod", "nextafter", "pow"):
    _add(_name, _math, name=_name, takes=2, is_of_c=True)


@builtin
def isnan(emit: Emitter, node: Any, x: Operand) -> Value:
    """Return whether a float is NaN, as a bool."""
    x = _float(emit, node, x)
    return emit.compare("ne", x, x)


def _size(emit: Emitter, node: Any, x: Operand, what: str) -> Value:
    """Return, as a value in the kernel, how the absolute value of the float `x` compares with infinity.

    `what` is "eq" (equal) for `isinf`, and "lt" (less than) for `isfinite`.
    """
    size = abs_(emit, node, _float(emit, node, x))
    return emit.compare(what, size, emit.constant(node, float("inf"), size.type))


_add("isinf", _size, what="eq")
_add("isfinite", _size, what="lt")


# --- SIMD vectors -----------------------------------------------------------------------------------------------------


@builtin
def load_vector(emit: Emitter, node: Any, array: Operand, index: Operand, lanes: Operand) -> Value:
    """Return the vector of `lanes` items of an array, from an index on."""
    place = _item(emit, node, array, index)
    item, count = place.type.of, _lanes(emit, node, lanes)
    kind, stored = vector_of(item, count), f"<{count} x {item.stored}>"
    loaded = emit.make(kind, f"load {stored}, {place.typed}, align {item.size}")
    return emit.make(kind, f"trunc {stored} {loaded.text} to {kind.ir}") if item == BOOL else loaded


@builtin
def store_vector(emit: Emitter, node: Any, array: Operand, index: Operand, value: Operand) -> Known:
    """Store the lanes of a vector in the items of an array, from an index on."""
    place, value = _item(emit, node, array, index), emit.settled(node.args[2], value)
    if value.type != vector_of(place.type.of, value.type.extent):
        emit.fail(node, f"{value.type} is stored in an array of {place.type.of}; expected a vector of {place.type.of}")
    emit.emit(f"store {value.typed}, {place.typed}, align {place.type.of.size}")
    return Known(None)


@builtin
def splat(emit: Emitter, node: Any, value: Operand, lanes: Operand) -> Value:
    """Return a vector that has the same value in all lanes."""
    return emit.spread(emit.settled(node.args[0], value), _lanes(emit, node, lanes))


@builtin
def mask_of(emit: Emitter, node: Any, vector: Value) -> Value:
    """Return a vector of 8, 16, 32 or 64 bools as the bits of an unsigned integer."""
    if vector.type.kind != "v" or vector.type.of != BOOL or vector.type.extent not in (8, 16, 32, 64):
        emit.fail(node, f"mask_of is given {vector.type}; expected a vector of 8, 16, 32 or 64 bools")
    kind = Type("u", vector.type.extent)
    return emit.make(kind, f"bitcast {vector.typed} to {kind.ir}")


@builtin
def sum_(emit: Emitter, node: Any, vector: Value) -> Any:
    """Return the sum of a vector's lanes, which are added in no fixed order."""
    if vector.type.kind != "v" or vector.type.of.kind not in "iuf":
        emit.fail(node, f"sum is given {vector.type}; expected a vector of numbers")
    item, name = vector.type.of, f"llvm.vector.reduce.%s.{vector.type.mangled}"
    if item.kind == "f":
        return emit.intrinsic(item, name % "fadd", emit.constant(node, -0.0, item), vector, flags="reassoc ")
    return emit.intrinsic(item, name % "add", vector)


# --- functions that only templates (kernels that are specialized for a plan) can call ---------------------------------


@builtin
def leave(emit: Emitter, node: Any, *value: Operand) -> Any:
    """Emit a return from the whole compiled function, even if this call is in a function that is inlined into it.

    `value` is the value that the compiled function returns, if any.
    """
    emit.leave(node, *(value or [Known(None)]))
    emit.shown.instead = ast.Name(f"return {ast.unparse(emit.shown.of(node.args[0]))}" if value else "return")
    return Known(None)


@builtin
def is_used(emit: Emitter, node: Any, name: Known) -> Known:
    """Return whether the calling function, as far as it is compiled already, uses the shared variable `name`.

    A shared variable is one that a `Record` declares for several functions of a kernel.
    """
    return Known(emit.is_used(name.value))
