"""Functions such as exp and log that LLVM can compute for many values at once, in loops that it vectorises.

It vectorises arithmetic by itself, but not a loop that calls the C library's `expf`, unless the call says which
function takes a vector in its place. On x86 the GNU C library has one for most, in libmvec, right to a few units in the
last place. Elsewhere `is_vectorised` says no.

Vectors of different lengths have functions of their own, which may round differently: a loop whose values should not
depend on their place goes through a multiple of LANES of them.
"""

# mypy: disable-error-code="no-untyped-def"
import ctypes
from functools import cache
from typing import Any

import numpy as np

from gasla.compiler.emit import Builtin, Emitter, Operand, Value
from gasla.compiler.function import compiled
from gasla.compiler.kernel_types import scalar_type, vector_of
from gasla.compiler.objects import host
from gasla.cpu.runtime.intrinsics import select

NATIVE = True  # modules that import this are compiled for this very processor: its vectors may be wider than most have
LANES = 64  # at most four vectors of 16 values are computed side by side

# What C calls them, by NumPy's names; the last three are functions of two values.
NAMES = {
    "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh",
    "cosh": "cosh", "tanh": "tanh", "cbrt": "cbrt", "arctan2": "atan2", "hypot": "hypot", "power": "pow",
}  # fmt: skip
OF_TWO = ("arctan2", "hypot", "power")
FORMS = (("e", "+avx512f", 64), ("d", "+avx2", 32), ("b", "+sse4.1", 16))  # letter, what it needs, bytes of a vector
INSTRUCTIONS = ("sqrt", "copysign", "isnan", "isinf", "isfinite", "rint", "floor", "ceil", "trunc")  # take one, or few
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


@cache
def _library() -> Any:
    """The vector functions, for LLVM too; None where there are none."""
    try:
        return ctypes.CDLL("libmvec.so.1", ctypes.RTLD_GLOBAL)
    except OSError:
        return None


@cache
def _symbols(name: str, dtype: Any) -> dict[str, int]:
    """The vector functions that this processor can use, and of how many values each."""
    features, library = host()[2].split(","), _library()
    values, suffix = "vv" if name in OF_TWO else "v", "f" if dtype.itemsize == 4 else ""
    found = {
        f"_ZGV{letter}N{size // dtype.itemsize}{values}_{NAMES[name]}{suffix}": size // dtype.itemsize
        for letter, feature, size in FORMS
        if library is not None and feature in features
    }
    return {symbol: lanes for symbol, lanes in found.items() if hasattr(library, symbol)}


def is_vectorised(name: str, dtype: Any) -> bool:
    """Whether there is a vector function for an operation on values of this type."""
    return name in NAMES and dtype in FLOATS and bool(_symbols(name, dtype))


def _function(name: str, dtype: Any) -> Builtin:
    """Calls the C library's function, and tells LLVM of the others."""
    kind, plain = scalar_type(dtype), NAMES[name] + ("f" if dtype.itemsize == 4 else "")

    def call(emit: Emitter, node: Any, *given: Operand) -> Value:
        values, heads = [emit.to(node, x, kind) for x in given], emit.unit.heads
        emit.declare(plain, kind, [kind] * len(values))
        for symbol, lanes in _symbols(name, dtype).items():
            emit.declare(symbol, vector_of(kind, lanes), [vector_of(kind, lanes)] * len(values))
        # LLVM forgets what is not called yet, unless it is used.
        used = [f"ptr @{symbol}" for symbol in heads if symbol.startswith("_ZGV")]
        text = f'global [{len(used)} x ptr] [{", ".join(used)}], section "llvm.metadata"'
        heads["llvm.compiler.used"] = f"@llvm.compiler.used = appending {text}" if used else ""
        variants = ",".join(f"_ZGV_LLVM_{symbol[5:]}({symbol})" for symbol in _symbols(name, dtype))
        arguments = ", ".join(f"{kind.ir} {value.text}" for value in values)
        marks = f'nounwind willreturn memory(none) "vector-function-abi-variant"="{variants}"'
        return emit.make(kind, f"call {kind.ir} @{plain}({arguments}) {marks}")

    return Builtin(plain, call)


def _even(plain: Any, kind: Any, limit: float) -> Any:
    """The exponential in the same time for all values: the library computes one by one what is no normal number."""
    near, one, middle = kind(limit), kind(1), kind(0.5)

    @compiled
    def exp(x):
        is_near, half = abs(x) <= near, x * middle
        half = select(half < near, select(half > -near, half, -near), near)
        y = plain(select(is_near, x, half))
        return select(x == x, y * select(is_near, one, y), x)

    return exp


FUNCTIONS: dict[str, Any] = {f"{name}_{dtype}": _function(name, dtype) for name in NAMES for dtype in FLOATS}
FUNCTIONS["even_exp_float32"] = _even(FUNCTIONS["exp_float32"], np.float32, 87)
FUNCTIONS["even_exp_float64"] = _even(FUNCTIONS["exp_float64"], np.float64, 708)
globals().update(FUNCTIONS)  # for generated modules to import
