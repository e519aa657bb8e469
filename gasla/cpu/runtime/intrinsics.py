"""What compiled code can do that Numba does not offer: single machine instructions, and the head of a kernel.

Above all atomic operations on the elements of arrays, which Numba has on GPUs alone. Most functions here become one
LLVM instruction. Indices are taken as unsigned and are not checked.

This is what gasla needs from inside Numba, llvmlite and CPython, beside `modules.py` (what is compiled, and stored) and
`quads.py` and `vector_math.py` (vectors). Tried with Numba 0.66.0 and 0.68.1, llvmlite 0.48.0 and 0.50.0.
"""

# mypy: disable-error-code="no-untyped-def"
import ctypes
import os

import llvmlite.binding
import llvmlite.ir as ir  # an intrinsic's instructions are llvmlite's: Numba has no other way to write them
from numba import types
from numba.core import cgutils  # addresses of elements, variables on the stack, functions of C: no public name
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array  # an array at an address: `numba.carray` takes pointers, not numbers


def external(name, returns, *takes):
    """A function of C, and the names of its types."""
    kinds = [getattr(types, kind) for kind in (returns, *takes)]
    return types.ExternalFunction(name, kinds[0](*kinds[1:]))


# In CPython's stable ABI, though not in its manual: locks that need not hold the global one, and a thread's number.
acquire_lock = types.ExternalFunction("PyThread_acquire_lock", types.int32(types.intp, types.int32))
release_lock = types.ExternalFunction("PyThread_release_lock", types.void(types.intp))
this_thread = types.ExternalFunction("PyThread_get_thread_ident", types.uintp())
new_lock = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyThread_allocate_lock", ctypes.pythonapi))
take_lock = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)(("PyThread_acquire_lock", ctypes.pythonapi))


# --- atomic operations -----------------------------------------------------------------------------------------------


def element_pointer(context, builder, array_type, array, index):
    """The address of `array[index]` for a one-dimensional array."""
    struct = context.make_array(array_type)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, array_type, struct, [index], wraparound=False, boundscheck=False)


def _fetch(operation):
    """An intrinsic `f(array, index, value) -> old value` over one `atomicrmw` operation."""

    @intrinsic
    def fetch(typing_context, array, index, value):
        def generate(context, builder, signature, arguments):
            array_type, index_type, value_type = signature.args
            position = context.cast(builder, arguments[1], index_type, types.uintp)
            operand = context.cast(builder, arguments[2], value_type, array_type.dtype)
            pointer = element_pointer(context, builder, array_type, arguments[0], position)
            return builder.atomic_rmw(operation, pointer, operand, "acq_rel")

        return array.dtype(array, index, value), generate

    return fetch


fetch_add = _fetch("add")
fetch_or = _fetch("or")
fetch_and = _fetch("and")


@intrinsic
def compare_and_swap(typing_context, array, index, expected, new):
    """Set `array[index]` to `new` if it holds the very bits of `expected`; True if it did."""

    def generate(context, builder, signature, arguments):
        array_type, index_type, expected_type, new_type = signature.args
        element = array_type.dtype
        position = context.cast(builder, arguments[1], index_type, types.uintp)
        old = context.cast(builder, arguments[2], expected_type, element)
        fresh = context.cast(builder, arguments[3], new_type, element)
        pointer = element_pointer(context, builder, array_type, arguments[0], position)
        if isinstance(element, types.Float):  # cmpxchg takes integers alone
            bits = ir.IntType(element.bitwidth)
            pointer = builder.bitcast(pointer, bits.as_pointer())
            old = builder.bitcast(old, bits)
            fresh = builder.bitcast(fresh, bits)
        else:
            old, fresh = (context.data_model_manager[element].as_data(builder, x) for x in (old, fresh))
        result = builder.cmpxchg(pointer, old, fresh, "acq_rel", "acquire")
        return builder.extract_value(result, 1)

    return types.boolean(array, index, expected, new), generate


def _load(ordering):
    """An intrinsic `f(array, index) -> value` over an atomic load."""

    @intrinsic
    def load(typing_context, array, index):
        def generate(context, builder, signature, arguments):
            array_type, index_type = signature.args
            position = context.cast(builder, arguments[1], index_type, types.uintp)
            pointer = element_pointer(context, builder, array_type, arguments[0], position)
            data = builder.load_atomic(pointer, ordering, _size(context, pointer))
            return context.data_model_manager[array_type.dtype].from_data(builder, data)

        return array.dtype(array, index), generate

    return load


def _store(ordering):
    """An intrinsic `f(array, index, value)` over an atomic store."""

    @intrinsic
    def store(typing_context, array, index, value):
        def generate(context, builder, signature, arguments):
            array_type, index_type, value_type = signature.args
            position = context.cast(builder, arguments[1], index_type, types.uintp)
            operand = context.cast(builder, arguments[2], value_type, array_type.dtype)
            pointer = element_pointer(context, builder, array_type, arguments[0], position)
            data = context.data_model_manager[array_type.dtype].as_data(builder, operand)
            builder.store_atomic(data, pointer, ordering, _size(context, pointer))
            return context.get_dummy_value()

        return types.void(array, index, value), generate

    return store


def _size(context, pointer):
    """The bytes of what a pointer points to."""
    return context.get_abi_sizeof(pointer.type.pointee)


# Read afresh from memory and before anything after it; and written after everything before it.
load, store = _load("acquire"), _store("release")

# Of an element that other threads may write at the same time: some value that it had, no mixture. On processors these
# are plain loads and stores; but of plain ones LLVM may assume that no other thread writes, and read twice.
load_unordered, store_unordered = _load("unordered"), _store("unordered")


# --- addresses -------------------------------------------------------------------------------------------------------


@intrinsic
def words_at(typing_context, address, count):
    """The int64 words from an address on, as an array that doesn't own them."""
    kind = types.Array(types.int64, 1, "C")

    def generate(context, builder, signature, arguments):
        array = context.make_array(kind)(context, builder)
        address, count = (context.cast(builder, a, t, types.intp) for a, t in zip(arguments, signature.args))
        size = context.get_constant(types.intp, 8)
        data = builder.inttoptr(address, array.data.type)
        populate_array(array, data=data, shape=[count], strides=[size], itemsize=size, meminfo=None)
        return array._getvalue()

    return kind(address, count), generate


@intrinsic
def call(typing_context, function, number, address):
    """Call a function, known by its address, that takes a number and an address."""

    def generate(context, builder, signature, arguments):
        word = context.get_value_type(types.intp)
        function, *given = (context.cast(builder, a, t, types.intp) for a, t in zip(arguments, signature.args))
        kind = ir.FunctionType(ir.VoidType(), [word, word])
        builder.call(builder.inttoptr(function, kind.as_pointer()), given)
        return context.get_dummy_value()

    return types.void(function, number, address), generate


# --- single instructions ---------------------------------------------------------------------------------------------


@intrinsic
def prefetch(typing_context, array, index):
    """Ask for the cache line of `array[index]`; any index is safe."""

    def generate(context, builder, signature, arguments):
        array_type, index_type = signature.args
        position = context.cast(builder, arguments[1], index_type, types.uintp)
        pointer = element_pointer(context, builder, array_type, arguments[0], position)
        byte = ir.IntType(8).as_pointer()
        word = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte, word, word, word]), "llvm.prefetch.p0i8"
        )
        builder.call(function, [builder.bitcast(pointer, byte), word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate


@intrinsic
def widened_half(typing_context, bits):
    """The float32 that the bits of a float16, a uint16, stand for."""

    def generate(context, builder, signature, arguments):
        return builder.fpext(builder.bitcast(arguments[0], ir.HalfType()), ir.FloatType())

    return types.float32(types.uint16), generate


@intrinsic
def to_half(typing_context, number):
    """The bits of the float16 next to a float32 or a float64."""

    def generate(context, builder, signature, arguments):
        (single,) = arguments if number == types.float32 else (_rounded_to_odd(builder, *arguments),)
        return builder.bitcast(builder.fptrunc(single, ir.HalfType()), ir.IntType(16))

    return types.uint16(number), generate


def _rounded_to_odd(builder, number):
    """A float64 as a float32 next to it, of two the one whose last bit is set: to round that again does no harm.

    LLVM would call a function for the whole way, and there may be none.
    """
    word, half_word = ir.IntType(64), ir.IntType(32)
    single = builder.fptrunc(number, ir.FloatType())
    back, bits = builder.fpext(single, ir.DoubleType()), builder.bitcast(single, half_word)
    is_above = builder.icmp_unsigned(">", builder.bitcast(back, word), builder.bitcast(number, word))
    other = builder.add(bits, builder.select(is_above, half_word(-1), half_word(1)))
    is_even = builder.not_(builder.trunc(bits, ir.IntType(1)))
    moves = builder.and_(builder.fcmp_ordered("!=", back, number), is_even)
    return builder.bitcast(builder.select(moves, other, bits), ir.FloatType())


@intrinsic
def count_trailing_zeros(typing_context, word):
    """The place of the lowest bit set in a uint64 that is not 0."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), generate


@intrinsic
def count_bits(typing_context, word):
    """How many bits of a uint64 are set."""

    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic
def take_marks(typing_context, marks, index):
    """Which of the 64 bytes from an index on are not 0, as bits of a uint64; they are 0 afterwards."""

    def generate(context, builder, signature, arguments):
        pointer = element_pointer(context, builder, marks, *arguments)
        none = ir.Constant(ir.VectorType(pointer.type.pointee, 64), [0] * 64)
        pointer = builder.bitcast(pointer, none.type.as_pointer())
        bits = builder.icmp_unsigned("!=", builder.load(pointer, align=1), none)
        builder.store(none, pointer, align=1)
        return builder.bitcast(bits, ir.IntType(64))

    return types.uint64(marks, types.uint64), generate


@intrinsic
def select(typing_context, condition, yes, no):
    """`yes if condition else no` for two scalars of one type, without a branch to predict."""
    if yes != no:
        return None

    def generate(context, builder, signature, arguments):
        return builder.select(arguments[0], arguments[1], arguments[2])

    return yes(types.boolean, yes, yes), generate


@intrinsic
def float_of(typing_context, bits):
    """The float of the same bits as a whole number."""
    to = {types.int32: (types.float32, ir.FloatType()), types.int64: (types.float64, ir.DoubleType())}
    if bits not in to:
        return None
    found, word = to[bits]

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], word)

    return found(bits), generate


@intrinsic
def select_bits(typing_context, condition, yes, no):
    """`select`, of floats by their bits: LLVM makes a branch of what is not a comparison of floats."""
    if yes != no:
        return None

    def generate(context, builder, signature, arguments):
        condition, yes, no = arguments
        if isinstance(signature.return_type, types.Float):
            word = ir.IntType(signature.return_type.bitwidth)
            hide = ir.FunctionType(word, [word])  # an empty instruction: LLVM would see that they are floats
            bits = [builder.asm(hide, "", "=r,0", [builder.bitcast(x, word)], False) for x in (yes, no)]
            return builder.bitcast(builder.select(condition, *bits), yes.type)
        return builder.select(condition, yes, no)

    return yes(types.boolean, yes, yes), generate


@intrinsic
def apart(typing_context):
    """Keep the function at hand apart from those that call it: there would be too few registers for both."""

    def generate(context, builder, signature, arguments):
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def pause(typing_context):
    """Tell the processor that this is a spinning wait."""

    def generate(context, builder, signature, arguments):
        machine = llvmlite.binding.get_process_triple()
        if machine.startswith(("x86", "i386", "i686", "amd64")):
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), [])
        elif machine.startswith(("aarch64", "arm64")):
            kind = ir.FunctionType(ir.VoidType(), [ir.IntType(32)])
            hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.aarch64.hint")
            builder.call(hint, [ir.IntType(32)(1)])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def read_clock(typing_context, clock):
    """What a clock of the system says, in nanoseconds; 0 where there is none."""

    def generate(context, builder, signature, arguments):
        if os.name != "posix":
            return context.get_constant(types.int64, 0)
        number, word = ir.IntType(32), ir.IntType(64)
        place = cgutils.alloca_once(builder, ir.ArrayType(word, 2))
        kind = ir.FunctionType(number, [number, place.type])
        function = cgutils.get_or_insert_function(builder.module, kind, "clock_gettime")
        builder.call(function, [arguments[0], place])
        seconds, rest = (builder.extract_value(builder.load(place), i) for i in (0, 1))
        return builder.add(builder.mul(seconds, word(1_000_000_000)), rest)

    return types.int64(types.int32), generate


# --- a launch --------------------------------------------------------------------------------------------------------


def launching(run):
    if os.environ.get("GASLA_COMPILER", "own") == "own":
        from gasla.cpu.runtime.own_intrinsics import launched
        return launched
    return _launching(run)


def _launching(run):
    """The head of kernels of which `run`, compiled, has all threads do their parts; see `launched`."""

    @intrinsic
    def launched(typing_context, thread, threads, control):
        def generate(context, builder, signature, arguments):
            thread, threads, control = arguments
            is_launch = builder.icmp_signed("<", thread, thread.type(0))
            with builder.if_then(is_launch, likely=False):
                given = context.call_conv.get_arguments(builder.function)
                word = context.get_value_type(types.intp)
                size = sum(context.get_abi_sizeof(value.type) for value in given) // 8 + 1
                pack = cgutils.alloca_once_value(builder, cgutils.pack_struct(builder, [word(size), *given]))
                addresses = [builder.ptrtoint(p, word) for p in (_part(context, builder, pack.type), pack)]
                kind = typing_context.resolve_value_type(run)
                called = kind.get_call_type(typing_context, (types.intp,) * 2 + signature.args, {})
                context.get_function(kind, called)(builder, [*addresses, thread, threads, control])
            return is_launch

        return types.boolean(types.intp, types.intp, control), generate

    return launched


def _part(context, builder, pack):
    """A function of a thread's number and an address: it calls the kernel at hand with what lies there.

    That is the number of words there, and as many but one: what the kernel was passed, a thread's number first.
    """
    kernel = builder.function
    word = context.get_value_type(types.intp)
    kind = ir.FunctionType(ir.VoidType(), [word, word])
    part = ir.Function(builder.module, kind, kernel.name + ".part")
    part.linkage = "internal"
    part.attributes.add("noinline")
    inner = ir.IRBuilder(part.append_basic_block())
    thread, place = part.args
    given = cgutils.unpack_tuple(inner, inner.load(inner.inttoptr(place, pack)))
    results = [inner.alloca(a.type.pointee) for a in kernel.args[:2]]
    inner.call(kernel, [*results, thread, *given[2:]])
    inner.ret_void()
    return part


if os.environ.get("GASLA_COMPILER", "own") == "own":
    from gasla.cpu.runtime.own_intrinsics import *  # noqa: F403
