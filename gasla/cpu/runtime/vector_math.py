"""Functions such as exp and log that LLVM can compute for many values at once, in loops that it vectorises.

It vectorises arithmetic by itself, but not a loop that calls the C library's `expf`, unless the call says which
function takes a vector in its place. On x86 the GNU C library has one for most, in libmvec, right to a few units in the
last place. Elsewhere `is_vectorised` says no.

Vectors of different lengths have functions of their own, which may round differently: a loop whose values should not
depend on their place goes through a multiple of LANES of them.
"""

# mypy: disable-error-code="no-untyped-def"
import ctypes
import platform
from functools import cache
from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.extending import intrinsic

from gasla.cpu.runtime.intrinsics import select

LANES = 64  # at most four vectors of 16 values are computed side by side

# What C calls them, by NumPy's names; the last three are functions of two values.
NAMES = {
    "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh",
    "cosh": "cosh", "tanh": "tanh", "cbrt": "cbrt", "arctan2": "atan2", "hypot": "hypot", "power": "pow",
}  # fmt: skip
OF_TWO = ("arctan2", "hypot", "power")
FORMS = (("e", "avx512f", 64), ("d", "avx2", 32), ("b", "sse4.1", 16))  # letter, what it needs, bytes of a vector
INSTRUCTIONS = ("sqrt", "copysign", "isnan", "isinf", "isfinite", "rint", "floor", "ceil", "trunc")  # take one, or few
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


@cache
def _library() -> Any:
    """The vector functions, for LLVM too; None where there are none, or code is made for another processor."""
    if platform.machine().lower() not in ("x86_64", "amd64") or config.CPU_NAME or config.CPU_FEATURES is not None:
        return None
    try:
        library = ctypes.CDLL("libmvec.so.1")
        llvmlite.binding.load_library_permanently("libmvec.so.1")
    except (OSError, RuntimeError):
        return None
    return library


@cache
def _symbols(name: str, dtype: Any) -> dict[str, int]:
    """The vector functions that this processor can use, and of how many values each."""
    features, library = llvmlite.binding.get_host_cpu_features(), _library()
    values, suffix = "vv" if name in OF_TWO else "v", "f" if dtype.itemsize == 4 else ""
    found = {
        f"_ZGV{letter}N{size // dtype.itemsize}{values}_{NAMES[name]}{suffix}": size // dtype.itemsize
        for letter, feature, size in FORMS
        if library is not None and features.get(feature)
    }
    return {symbol: lanes for symbol, lanes in found.items() if hasattr(library, symbol)}


def is_vectorised(name: str, dtype: Any) -> bool:
    """Whether there is a vector function for an operation on values of this type."""
    return name in NAMES and dtype in FLOATS and bool(_symbols(name, dtype))


def _function(name: str, dtype: Any) -> Any:
    """The intrinsic that calls the C library's function, and tells LLVM of the others."""
    kind = types.float32 if dtype.itemsize == 4 else types.float64
    suffix = "f" if dtype.itemsize == 4 else ""

    def generate(context, builder, signature, arguments):
        plain, symbols = context.get_value_type(kind), _symbols(name, dtype)
        one = ir.FunctionType(plain, [plain] * len(arguments))
        function = _declare(builder.module, one, NAMES[name] + suffix)
        function.attributes.add("nounwind")
        function.attributes.add("readnone")
        for symbol, lanes in symbols.items():
            vector = ir.VectorType(plain, lanes)
            many = ir.FunctionType(vector, [vector] * len(arguments))
            _keep(builder.module, _declare(builder.module, many, symbol))
        call = builder.call(function, arguments)
        variants = ",".join(f"_ZGV_LLVM_{symbol[5:]}({symbol})" for symbol in symbols)
        # Private: llvmlite's attributes are a set that refuses what it doesn't know, as this one. Tried with llvmlite
        # 0.48 and 0.50, of Numba 0.66 and 0.68.
        set.add(call.attributes, f'"vector-function-abi-variant"="{variants}"')
        return call

    @intrinsic
    def of_one(typing_context, x):
        return (kind(kind), generate) if x == kind else None

    @intrinsic
    def of_two(typing_context, x, y):
        return (kind(kind, kind), generate) if x == y == kind else None

    return of_two if name in OF_TWO else of_one


def _declare(module, kind, name):
    """A function that is defined elsewhere."""
    found = module.globals.get(name)
    return ir.Function(module, kind, name) if found is None else found


def _keep(module, function):
    """Keep the declaration of a function that nothing calls yet."""
    entry = function.bitcast(ir.IntType(8).as_pointer())
    used = module.globals.get("llvm.compiler.used")
    if used is None:
        used = ir.GlobalVariable(module, ir.ArrayType(entry.type, 0), "llvm.compiler.used")
        used.linkage, used.section, used.initializer = "appending", "llvm.metadata", ir.Constant(used.value_type, [])
    entries = used.initializer.constant
    if entry not in entries:
        used.value_type = ir.ArrayType(entry.type, len(entries) + 1)
        used.type = used.value_type.as_pointer()
        used.initializer = ir.Constant(used.value_type, [*entries, entry])


def _even(plain: Any, kind: Any, limit: float) -> Any:
    """The exponential in the same time for all values: the library computes one by one what is no normal number."""
    near, one = kind(limit), kind(1)

    @njit(error_model="numpy", nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
    def exp(x):
        is_near, half = abs(x) <= near, x * kind(0.5)
        half = select(half < near, select(half > -near, half, -near), near)
        y = plain(select(is_near, x, half))
        return select(x == x, y * select(is_near, one, y), x)

    return exp


FUNCTIONS: dict[str, Any] = {f"{name}_{dtype}": _function(name, dtype) for name in NAMES for dtype in FLOATS}
FUNCTIONS["even_exp_float32"] = _even(FUNCTIONS["exp_float32"], np.float32, 87)
FUNCTIONS["even_exp_float64"] = _even(FUNCTIONS["exp_float64"], np.float64, 708)
globals().update(FUNCTIONS)  # for generated modules to import
