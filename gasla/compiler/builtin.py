"""The functions that the kernel language comes with: atomics, bits, extremes, mathematics, vectors.

Each takes the emitter, the call's node and the arguments, and emits what stands for the call. `BUILTINS` has them by
the name that a text calls them by.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from gasla.compiler.emit import Builtin, Emitter, Extern, Known, Operand, Value, parts
from gasla.compiler.kernel_types import BOOL, F64, I32, I64, NONE, Type, address_of, array_of, vector_of

BUILTINS: dict[str, Builtin] = {}


def builtin(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function, which emits, one of the language; a name's last underscore is none of that."""
    _add(function.__name__.rstrip("_"), function)
    return function


def _add(name: str, function: Callable[..., Any]) -> None:
    BUILTINS[name] = Builtin(name, function)


def _item(emit: Emitter, node: Any, array: Operand, index: Operand) -> Value:
    """The address of `array[index]` of an array of one dimension."""
    if not (isinstance(array, Value) and array.type.kind == "a" and array.type.extent == 1):
        emit.fail(node, f"{ast.unparse(node.args[0])} is not an array of one dimension")
    return emit.place(node, parts(array)[0], emit.settled(node.args[1], index))


# --- atomics: on an item of an array, given with its index ------------------------------------------------------------


def _fetch(name: str, operation: str, kinds: str) -> None:
    def fetch(emit: Emitter, node: Any, array: Operand, index: Operand, value: Operand) -> Value:
        place = _item(emit, node, array, index)
        kind = place.type.of
        if kind.kind not in kinds:
            emit.fail(node, f"{name} is of items of {kind}; expected {' or '.join(kinds)}")
        what = "fadd" if kind.kind == "f" else operation
        what = "u" + what if kind.kind == "u" and operation in ("min", "max") else what
        value = emit.stored(node.args[2], value, kind)
        return emit.make(kind, f"atomicrmw {what} ptr {place.text}, {kind.ir} {value.text} acq_rel, align {kind.size}")

    _add(name, fetch)


for _name, _operation, _kinds in (
    ("fetch_add", "add", "iuf"),
    ("fetch_or", "or", "iu"),
    ("fetch_and", "and", "iu"),
    ("fetch_min", "min", "iu"),
    ("fetch_max", "max", "iu"),
):
    _fetch(_name, _operation, _kinds)


@builtin
def compare_and_swap(emit: Emitter, node: Any, array: Operand, index: Operand, old: Operand, new: Operand) -> Value:
    """Set an item to `new` if it holds the very bits of `old`; whether it did."""
    place = _item(emit, node, array, index)
    kind, word = place.type.of, Type("u", 8 * place.type.of.size)
    expected, fresh = (emit.stored(n, x, kind) for n, x in zip(node.args[2:], (old, new), strict=True))
    if kind.kind == "f":
        expected, fresh = bits(emit, node, expected), bits(emit, node, fresh)
    elif kind == BOOL:
        expected, fresh = emit.cast(node, expected, word), emit.cast(node, fresh, word)
    words = f"{word.ir} {expected.text}, {word.ir} {fresh.text}"
    both = f"cmpxchg ptr {place.text}, {words} acq_rel acquire, align {kind.size}"
    return emit.make(BOOL, f"extractvalue {{ {word.ir}, i1 }} {emit.make(NONE, both).text}, 1")


def _load(name: str, order: str) -> None:
    def load(emit: Emitter, node: Any, array: Operand, index: Operand) -> Value:
        return emit.read(_item(emit, node, array, index), f"atomic {order}")

    _add(name, load)


def _store(name: str, order: str) -> None:
    def store(emit: Emitter, node: Any, array: Operand, index: Operand, value: Operand) -> Known:
        place = _item(emit, node, array, index)
        emit.write(place, emit.stored(node.args[2], value, place.type.of), f"atomic {order}")
        return Known(None)

    _add(name, store)


# Read before all that comes after, written after all that came before; and of an item that other threads may write at
# the same time: one of the values that it had.
_load("load", "acquire")
_store("store", "release")
_load("load_unordered", "unordered")
_store("store_unordered", "unordered")


@builtin
def prefetch(emit: Emitter, node: Any, array: Operand, index: Operand) -> Any:
    """Ask for the cache line of an item; any index is safe."""
    place = _item(emit, node, array, index)
    return emit.intrinsic(NONE, "llvm.prefetch.p0", place, *(Value(I32, how) for how in "031"))


@builtin
def pause(emit: Emitter, node: Any) -> Any:
    """Tell the processor that this is a waiting loop."""
    if emit.unit.machine.startswith(("x86", "i386", "i686", "amd64")):
        return emit.intrinsic(NONE, "llvm.x86.sse2.pause")
    if emit.unit.machine.startswith(("aarch64", "arm64")):
        return emit.intrinsic(NONE, "llvm.aarch64.hint", Value(I32, "1"))
    return Known(None)


# --- arrays -----------------------------------------------------------------------------------------------------------


@builtin
def len_(emit: Emitter, node: Any, array: Operand) -> Value:
    """The length of an array's first dimension."""
    if not (isinstance(array, Value) and array.type.kind == "a"):
        emit.fail(node, f"{ast.unparse(node.args[0])} has no length; expected an array")
    return parts(array)[1]


@builtin
def local(emit: Emitter, node: Any, kind: Operand, count: Operand) -> Value:
    """An array of so many items that lives as long as the call, its items not set."""
    if not (isinstance(kind, Known) and isinstance(kind.value, Type) and isinstance(count, Known)):
        emit.fail(node, "local takes a type and a length known while compiling")
    text = f"%local.{len(emit.slots)}"
    emit.slots.append(f"  {text} = alloca [{count.value} x {kind.value.stored}], align 16")
    return Value(array_of(kind.value), text, str(count.value))


@builtin
def words_at(emit: Emitter, node: Any, address: Operand, count: Operand) -> Value:
    """The int64 words from an address on, as an array."""
    address, count = (emit.cast(node, emit.settled(node, x), I64) for x in (address, count))
    start = emit.make(address_of(I64), f"inttoptr i64 {address.text} to ptr")
    return Value(array_of(I64), start.text, count.text)


@builtin
def call(emit: Emitter, node: Any, address: Operand, number: Operand, words: Operand) -> Any:
    """Call a function, known by its address, that takes a number and an address: a kernel, as C sees it."""
    address, number, words = (emit.to(n, x, I64) for n, x in zip(node.args, (address, number, words), strict=True))
    function = emit.make(Type("p"), f"inttoptr i64 {address.text} to ptr")
    given = emit.make(Type("p"), f"inttoptr i64 {words.text} to ptr")
    emit.emit(f"call void {function.text}(i64 {number.text}, ptr {given.text})")
    return Known(None)


@builtin
def address(emit: Emitter, node: Any, array: Operand) -> Value:
    """Where an array begins."""
    if not (isinstance(array, Value) and array.type.kind == "a"):
        emit.fail(node, f"{ast.unparse(node.args[0])} has no address; expected an array")
    return emit.make(I64, f"ptrtoint ptr {parts(array)[0].text} to i64")


# --- bits and choices -------------------------------------------------------------------------------------------------


def _integer(emit: Emitter, node: Any, x: Operand) -> Value:
    found = emit.settled(node.args[0], x)
    if found.type.kind not in "iu":
        emit.fail(node, f"this takes integers, and is given {found.type}")
    return found


@builtin
def count_trailing_zeros(emit: Emitter, node: Any, word: Operand) -> Any:
    """The place of the lowest bit set; as many as there are bits, if none is."""
    word = _integer(emit, node, word)
    return emit.intrinsic(word.type, f"llvm.cttz.{word.type.ir}", word, Value(BOOL, "false"))


@builtin
def count_bits(emit: Emitter, node: Any, word: Operand) -> Any:
    """How many bits are set."""
    word = _integer(emit, node, word)
    return emit.intrinsic(word.type, f"llvm.ctpop.{word.type.ir}", word)


@builtin
def bits(emit: Emitter, node: Any, x: Operand) -> Value:
    """The bits of a float, as an unsigned integer."""
    x = emit.settled(node, x)
    if x.type.scalar.kind != "f":
        emit.fail(node, f"bits are those of a float; this is {x.type}")
    kind = Type("u", x.type.scalar.bits)
    kind = vector_of(kind, x.type.extent) if x.type.kind == "v" else kind
    return emit.make(kind, f"bitcast {x.type.ir} {x.text} to {kind.ir}")


@builtin
def float_of(emit: Emitter, node: Any, x: Operand) -> Value:
    """The float of the same bits as an integer of 16, 32 or 64 bits."""
    x = emit.settled(node, x)
    if not x.type.is_integer or x.type.scalar.bits == 8:
        emit.fail(node, f"float_of takes integers of 16 bits or more, and is given {x.type}")
    kind = Type("f", x.type.scalar.bits)
    kind = vector_of(kind, x.type.extent) if x.type.kind == "v" else kind
    return emit.make(kind, f"bitcast {x.type.ir} {x.text} to {kind.ir}")


@builtin
def select(emit: Emitter, node: Any, condition: Operand, a: Operand, b: Operand) -> Value:
    """`a if condition else b` where both are computed: no branch."""
    a, b = emit.same((node.args[1], node.args[2]), a, b)
    condition = emit.settled(node.args[0], condition)
    if condition.type.scalar != BOOL:
        emit.fail(node, f"a condition is {condition.type}; expected a bool")
    if condition.type.kind == "v" != a.type.kind:
        a, b = (emit.spread(x, condition.type.extent) for x in (a, b))
    return emit.make(a.type, f"select {condition.type.ir} {condition.text}, {a.type.ir} {a.text}, {a.type.ir} {b.text}")


@builtin
def select_bits(emit: Emitter, node: Any, condition: Operand, a: Operand, b: Operand) -> Value:
    """`select` of which LLVM does not make a branch again."""
    a, b = emit.same((node.args[1], node.args[2]), a, b)
    if a.type.kind != "f":
        found: Value = select(emit, node, condition, a, b)
        return found
    hidden = []
    for x in (a, b):
        word = bits(emit, node, x)
        hidden.append(emit.make(word.type, f'call {word.type.ir} asm "", "=r,0"({word.type.ir} {word.text})'))
    return emit.make(
        a.type, f"bitcast {hidden[0].type.ir} {select(emit, node, condition, *hidden).text} to {a.type.ir}"
    )


def _extreme(name: str) -> None:
    def extreme(emit: Emitter, node: Any, a: Operand, b: Operand, *more: Operand) -> Operand:
        """As Python has it, also for NaN: the second if it is less (or more) than the first, else the first."""
        if more:
            inner = ast.copy_location(ast.Call(node.func, node.args[1:], []), node)
            return extreme(emit, node, a, extreme(emit, inner, b, *more))
        if isinstance(a, Known) and isinstance(b, Known):
            return Known({"min": min, "max": max}[name](a.value, b.value))
        a, b = emit.same((node.args[0], node.args[1]), a, b)
        if a.type.is_integer:
            kind = f"v{a.type.extent}" if a.type.kind == "v" else ""
            sign = "s" if a.type.scalar.kind == "i" else "u"
            found: Operand = emit.intrinsic(a.type, f"llvm.{sign}{name}.{kind}i{a.type.scalar.bits}", a, b)
            return found
        is_b = emit.compare("lt" if name == "min" else "gt", b, a)
        return emit.make(a.type, f"select {is_b.type.ir} {is_b.text}, {a.type.ir} {b.text}, {a.type.ir} {a.text}")

    _add(name, extreme)


_extreme("min")
_extreme("max")


@builtin
def abs_(emit: Emitter, node: Any, x: Operand) -> Any:
    """The absolute value; of the least integer, itself."""
    if isinstance(x, Known):
        return Known(abs(x.value))
    lanes = f"v{x.type.extent}" if x.type.kind == "v" else ""
    if x.type.scalar.kind == "f":
        return emit.intrinsic(x.type, f"llvm.fabs.{lanes}f{x.type.scalar.bits}", x)
    if x.type.scalar.kind == "u":
        return x
    return emit.intrinsic(x.type, f"llvm.abs.{lanes}i{x.type.scalar.bits}", x, Value(BOOL, "false"))


# --- mathematics: of one float, or of each lane of a vector -----------------------------------------------------------


def _float(emit: Emitter, node: Any, place: int, x: Operand) -> Value:
    """A float, or a vector of floats; an integer becomes one."""
    x = emit.settled(node.args[place], x)
    if x.type.kind in "biu":
        x = emit.cast(node, x, F64)
    if x.type.scalar.kind != "f":
        emit.fail(node, f"this takes floats, and is given {x.type}")
    return x


def _of_llvm(name: str, takes: int = 1) -> None:
    """A function of floats that LLVM has."""

    def function(emit: Emitter, node: Any, *given: Operand) -> Any:
        values = _floats(emit, node, name, takes, given)
        kind = values[0].type
        lanes = f"v{kind.extent}" if kind.kind == "v" else ""
        return emit.intrinsic(kind, f"llvm.{name}.{lanes}f{kind.scalar.bits}", *values)

    _add(name, function)


def _of_c(name: str, takes: int = 1) -> None:
    """A function of floats that C has."""

    def function(emit: Emitter, node: Any, *given: Operand) -> Any:
        values = _floats(emit, node, name, takes, given)
        kind = values[0].type
        if kind.kind == "v" or kind.bits < 32:
            emit.fail(node, f"{name} takes f32 and f64, and is given {kind}")
        return emit.call_extern(node, Extern(name + "f" * (kind.bits == 32), kind, (kind,) * takes), list(values))

    _add(name, function)


def _floats(emit: Emitter, node: Any, name: str, takes: int, given: tuple[Operand, ...]) -> tuple[Value, ...]:
    if len(given) != takes:
        emit.fail(node, f"{name} is given {len(given)} arguments; expected {takes}")
    if takes == 1:
        return (_float(emit, node, 0, given[0]),)
    a, b = emit.same((node.args[0], node.args[1]), *given)
    return _float(emit, node, 0, a), _float(emit, node, 1, b)


for _name in ("sqrt", "floor", "ceil", "trunc", "rint", "exp", "exp2", "log", "log2", "log10", "sin", "cos"):
    _of_llvm(_name)
for _name in ("copysign", "pow"):
    _of_llvm(_name, 2)
for _name in ["tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "expm1", "log1p", "cbrt"]:
    _of_c(_name)
for _name in ("atan2", "hypot", "fmod", "nextafter"):
    _of_c(_name, 2)


@builtin
def isnan(emit: Emitter, node: Any, x: Operand) -> Value:
    """Whether a float is NaN."""
    x = _float(emit, node, 0, x)
    return emit.compare("ne", x, x)


@builtin
def isinf(emit: Emitter, node: Any, x: Operand) -> Value:
    """Whether a float is an infinity."""
    x = _float(emit, node, 0, x)
    size = emit.intrinsic(x.type, f"llvm.fabs.f{x.type.bits}", x)
    return emit.compare("eq", size, emit.constant(node, float("inf"), x.type))


@builtin
def isfinite(emit: Emitter, node: Any, x: Operand) -> Value:
    """Whether a float is neither an infinity nor NaN."""
    x = _float(emit, node, 0, x)
    size = emit.intrinsic(x.type, f"llvm.fabs.f{x.type.bits}", x)
    return emit.compare("lt", size, emit.constant(node, float("inf"), x.type))


# --- vectors ----------------------------------------------------------------------------------------------------------


@builtin
def load_vector(emit: Emitter, node: Any, array: Operand, index: Operand, lanes: Operand) -> Value:
    """So many items from an index on."""
    place = _item(emit, node, array, index)
    if not isinstance(lanes, Known):
        emit.fail(node, "a vector has a number of lanes known while compiling")
    kind, stored = vector_of(place.type.of, lanes.value), f"<{lanes.value} x {place.type.of.stored}>"
    found = emit.make(kind, f"load {stored}, ptr {place.text}, align {place.type.of.size}")
    return emit.make(kind, f"trunc {stored} {found.text} to {kind.ir}") if kind.of == BOOL else found


@builtin
def store_vector(emit: Emitter, node: Any, array: Operand, index: Operand, value: Operand) -> Known:
    """Put a vector's lanes into the items from an index on."""
    place, value = _item(emit, node, array, index), emit.settled(node.args[2], value)
    if value.type != vector_of(place.type.of, value.type.extent):
        emit.fail(node, f"{value.type} is stored in an array of {place.type.of}")
    emit.emit(f"store {value.type.ir} {value.text}, ptr {place.text}, align {place.type.of.size}")
    return Known(None)


@builtin
def splat(emit: Emitter, node: Any, value: Operand, lanes: Operand) -> Value:
    """A vector of one value in all lanes."""
    if not isinstance(lanes, Known):
        emit.fail(node, "a vector has a number of lanes known while compiling")
    return emit.spread(emit.settled(node.args[0], value), lanes.value)


@builtin
def mask_of(emit: Emitter, node: Any, vector: Value) -> Value:
    """The lanes of a vector of bools, as the bits of an unsigned integer; there are 8, 16, 32 or 64."""
    if vector.type.kind != "v" or vector.type.of != BOOL or vector.type.extent not in (8, 16, 32, 64):
        emit.fail(node, f"mask_of takes 8, 16, 32 or 64 bools, and is given {vector.type}")
    kind = Type("u", vector.type.extent)
    return emit.make(kind, f"bitcast {vector.type.ir} {vector.text} to {kind.ir}")


@builtin
def sum_(emit: Emitter, node: Any, vector: Value) -> Any:
    """The sum of a vector's lanes, in no fixed order."""
    if vector.type.kind != "v" or vector.type.of.kind not in "iuf":
        emit.fail(node, f"sum takes a vector of numbers, and is given {vector.type}")
    item, lanes = vector.type.of, vector.type.extent
    if item.kind == "f":
        name = f"llvm.vector.reduce.fadd.v{lanes}f{item.bits}"
        return emit.intrinsic(item, name, emit.constant(node, -0.0, item), vector, flags="reassoc ")
    return emit.intrinsic(item, f"llvm.vector.reduce.add.v{lanes}i{item.bits}", vector)
