"""Single machine instructions that Numba does not offer, above all atomic operations on the elements of arrays.

Not on the CPU, that is. Each function here becomes one LLVM instruction: `atomicrmw`, `cmpxchg`, an atomic
load or store, or a prefetch. Indices are taken as unsigned and are not checked.
"""

# mypy: disable-error-code="no-untyped-def"
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array


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
            import llvmlite.ir as ir

            bits = ir.IntType(element.bitwidth)
            pointer = builder.bitcast(pointer, bits.as_pointer())
            old = builder.bitcast(old, bits)
            fresh = builder.bitcast(fresh, bits)
        elif isinstance(element, types.Boolean):
            import llvmlite.ir as ir

            old, fresh = (builder.zext(x, ir.IntType(8)) for x in (old, fresh))
        result = builder.cmpxchg(pointer, old, fresh, "acq_rel", "acquire")
        return builder.extract_value(result, 1)

    return types.boolean(array, index, expected, new), generate


@intrinsic
def load(typing_context, array, index):
    """`array[index]`, read afresh from memory and before anything after it."""

    def generate(context, builder, signature, arguments):
        array_type, index_type = signature.args
        position = context.cast(builder, arguments[1], index_type, types.uintp)
        pointer = element_pointer(context, builder, array_type, arguments[0], position)
        return builder.load_atomic(pointer, "acquire", array_type.dtype.bitwidth // 8)

    return array.dtype(array, index), generate


@intrinsic
def store(typing_context, array, index, value):
    """Write `array[index]` after everything before it."""

    def generate(context, builder, signature, arguments):
        array_type, index_type, value_type = signature.args
        position = context.cast(builder, arguments[1], index_type, types.uintp)
        operand = context.cast(builder, arguments[2], value_type, array_type.dtype)
        pointer = element_pointer(context, builder, array_type, arguments[0], position)
        builder.store_atomic(operand, pointer, "release", array_type.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, index, value), generate


@intrinsic
def words_at(typing_context, address, count):
    """The int64 words from an address on, as an array that somebody else owns."""
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
        import llvmlite.ir as ir

        word = context.get_value_type(types.intp)
        function, *given = (context.cast(builder, a, t, types.intp) for a, t in zip(arguments, signature.args))
        kind = ir.FunctionType(ir.VoidType(), [word, word])
        builder.call(builder.inttoptr(function, kind.as_pointer()), given)
        return context.get_dummy_value()

    return types.void(function, number, address), generate


@intrinsic
def prefetch(typing_context, array, index):
    """Ask for the cache line of `array[index]`; any index is safe."""

    def generate(context, builder, signature, arguments):
        import llvmlite.ir as ir

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
def count_trailing_zeros(typing_context, word):
    """The place of the lowest bit set in a uint64 that is not 0."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), generate


@intrinsic
def select(typing_context, condition, yes, no):
    """`yes if condition else no` for two scalars of one type, without a branch to predict."""
    if yes != no:
        return None

    def generate(context, builder, signature, arguments):
        return builder.select(arguments[0], arguments[1], arguments[2])

    return yes(types.boolean, yes, yes), generate


def _same_bits(given, found):
    """A float's bits as a whole number, or the other way round."""
    import llvmlite.ir as ir

    words = {types.float32: ir.FloatType(), types.float64: ir.DoubleType()}
    words |= {types.int32: ir.IntType(32), types.int64: ir.IntType(64)}
    to = dict(zip(given, found))

    @intrinsic
    def same_bits(typing_context, x):
        def generate(context, builder, signature, arguments):
            return builder.bitcast(arguments[0], words[to[x]])

        return (to[x](x), generate) if x in to else None

    return same_bits


bits_of = _same_bits((types.float32, types.float64), (types.int32, types.int64))
float_of = _same_bits((types.int32, types.int64), (types.float32, types.float64))


@intrinsic
def select_bits(typing_context, condition, yes, no):
    """`select`, of floats by their bits: LLVM makes a branch of what is not a comparison of floats."""
    if yes != no:
        return None

    def generate(context, builder, signature, arguments):
        condition, yes, no = arguments
        if isinstance(signature.return_type, types.Float):
            import llvmlite.ir as ir

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
        import llvmlite.binding as binding
        import llvmlite.ir as ir

        machine = binding.get_process_triple()
        if machine.startswith(("x86", "i386", "i686", "amd64")):
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), [])
        elif machine.startswith(("aarch64", "arm64")):
            kind = ir.FunctionType(ir.VoidType(), [ir.IntType(32)])
            hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.aarch64.hint")
            builder.call(hint, [ir.IntType(32)(1)])
        return context.get_dummy_value()

    return types.void(), generate
