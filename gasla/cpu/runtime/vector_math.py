"""Functions such as exp and log that LLVM can compute for many values at once, in loops that it vectorizes.

LLVM vectorizes arithmetic without help. A loop that calls the C library's `expf` is vectorized only if the call names a
function for vectors that does the same. On x86 the GNU C library has vector functions for most of these, in libmvec,
correct to a few units in the last place. Elsewhere `is_vectorised` is False.

Functions for vectors of different lengths may round differently. A loop whose results must not depend on the position
of a value therefore always computes a multiple of LANES values.
"""

# mypy: disable-error-code="no-untyped-def"
import ctypes
from functools import cache
from typing import Any

import numpy as np

from gasla.compiler.builtin import OF_C
from gasla.compiler.emit import Builtin, Emitter, Operand, Value
from gasla.compiler.function import compiled
from gasla.compiler.kernel_types import scalar_type, vector_of
from gasla.compiler.objects import host
from gasla.cpu.runtime.intrinsics import select

# a generated module that imports this name is compiled for this processor only, to use its widest vectors
NATIVE = True
# number of values of which loops compute a multiple; LLVM computes at most four vectors of 16 values side by side
LANES = 64

# names of functions in C, by their names in NumPy; the last three functions take two values
NAMES = {
    "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh",
    "cosh": "cosh", "tanh": "tanh", "cbrt": "cbrt", "arctan2": "atan2", "hypot": "hypot", "power": "pow",
}  # fmt: skip
OF_TWO = ("arctan2", "hypot", "power")
# for each form of vector function: the letter that stands for it in function names, the processor feature that it
# needs, and the bytes of its vectors
FORMS: tuple[tuple[str, str, int], ...] = (
    ("e", "+avx512f", 64),
    ("d", "+avx2", 32),
    ("b", "+sse4.1", 16),
)
# LLVM computes these functions by single instructions, so no function of the C library is called
INSTRUCTIONS = ("sqrt", "copysign", "isnan", "isinf", "isfinite", "rint", "floor", "ceil", "trunc")
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


@cache
def _library() -> Any:
    """Load libmvec, the C library's functions for vectors, so that LLVM finds them.

    Return the library, or None if there is none.
    """
    try:
        return ctypes.CDLL("libmvec.so.1", ctypes.RTLD_GLOBAL)
    except OSError:
        return None


@cache
def _symbols(name: str, dtype: Any) -> dict[str, int]:
    """Return the C library's functions for vectors, by symbol, that compute an operation on values of a dtype.

    `name` is the operation's name in NumPy, such as "exp". For each function that this processor supports, the result
    has the number of values in its vectors.
    """
    features, library = host()[2].split(","), _library()
    values, suffix = "vv" if name in OF_TWO else "v", "f" if dtype.itemsize == 4 else ""
    symbols = {
        f"_ZGV{letter}N{size // dtype.itemsize}{values}_{NAMES[name]}{suffix}": size // dtype.itemsize
        for letter, feature, size in FORMS
        if library is not None and feature in features
    }
    return {symbol: lanes for symbol, lanes in symbols.items() if hasattr(library, symbol)}


def is_vectorised(name: str, dtype: Any) -> bool:
    """Return whether the C library has a function for vectors that computes an operation on values of a dtype.

    `name` is the operation's name in NumPy, such as "exp".
    """
    return name in NAMES and dtype in FLOATS and bool(_symbols(name, dtype))


def _make_function(name: str, dtype: Any) -> Builtin:
    """Return a function of the kernel language that computes an operation such as exp by the C library.

    In a loop, LLVM replaces its calls by calls of the library's functions for vectors.
    """
    kind, plain = scalar_type(dtype), NAMES[name] + ("f" if dtype.itemsize == 4 else "")
    wrapper_name = f"plain_{plain}"

    def call(emit: Emitter, node: Any, *operands: Operand) -> Value:
        values, heads = [emit.to(node, x, kind) for x in operands], emit.unit.heads
        emit.declare(plain, kind, [kind] * len(values))
        for symbol, lanes in _symbols(name, dtype).items():
            emit.declare(symbol, vector_of(kind, lanes), [vector_of(kind, lanes)] * len(values))
        # LLVM drops functions that are not called yet unless they are listed as used, so the vector functions are
        # listed here.
        used = [f"ptr @{symbol}" for symbol in heads if symbol.startswith("_ZGV")]
        text = f'global [{len(used)} x ptr] [{", ".join(used)}], section "llvm.metadata"'
        heads["llvm.compiler.used"] = f"@llvm.compiler.used = appending {text}" if used else ""
        # LLVM may replace a call of a C function by a less exact one. The mark `nobuiltin` (in `OF_C`) forbids that,
        # but LLVM vectorizes no call with this mark. So a loop calls a wrapper function without the mark, and only the
        # wrapper calls the C function. The wrapper is `weak`, which means that linking may replace it, so LLVM does not
        # inline it.
        takes = ", ".join(f"{kind.ir} %{k}" for k in range(len(values)))
        body = f"  %found = call {kind.ir} @{plain}({takes}) {OF_C}\n  ret {kind.ir} %found"
        heads[wrapper_name] = f"define weak {kind.ir} @{wrapper_name}({takes}) noinline nounwind {{\nentry:\n{body}\n}}"
        variants = ",".join(
            f"_ZGV_LLVM_{symbol[5:].replace(plain, wrapper_name)}({symbol})" for symbol in _symbols(name, dtype)
        )
        arguments = ", ".join(f"{kind.ir} {value.text}" for value in values)
        marks = f'nounwind willreturn memory(none) "vector-function-abi-variant"="{variants}"'
        return emit.make(kind, f"call {kind.ir} @{wrapper_name}({arguments}) {marks}")

    return Builtin(plain, call)


def _even_time_exp(plain: Any, kind: Any, limit: float) -> Any:
    """Return an exponential function for vectors that takes the same time for all values.

    It calls `plain`, the C library's function. That would compute subnormal results one by one, so if the absolute
    value of the argument is larger than `limit`, the argument is halved, and the result is squared. `kind` is the dtype
    of values.
    """
    bound, one, one_half = kind(limit), kind(1), kind(0.5)

    @compiled
    def exp(x):
        is_small, half_x = abs(x) <= bound, x * one_half
        half_x = select(half_x < bound, select(half_x > -bound, half_x, -bound), bound)
        y = plain(select(is_small, x, half_x))
        return select(x == x, y * select(is_small, one, y), x)

    return exp


FUNCTIONS: dict[str, Any] = {f"{name}_{dtype}": _make_function(name, dtype) for name in NAMES for dtype in FLOATS}
FUNCTIONS["even_exp_float32"] = _even_time_exp(FUNCTIONS["exp_float32"], np.float32, 87)
FUNCTIONS["even_exp_float64"] = _even_time_exp(FUNCTIONS["exp_float64"], np.float64, 708)
globals().update(FUNCTIONS)  # generated modules import these functions by name
