"""The printed CUDA, on the CPU: NumPy's answers for every special constant, and no undefined behavior."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tests.helpers.emulated_expressions import run_emulated
from tests.helpers.language_table import TYPES, table

SOON = ("int8", "float32")
# What C++ leaves undefined for some operands.
DELICATE = (
    *("remainder", "floor_divide", "left_shift", "right_shift", "negative", "absolute", "add", "multiply", "popcount"),
    *(f"cast to {dtype}" for dtype in TYPES),
)


def _check(dtype: np.dtype, names: tuple[str, ...] = ()) -> None:
    made = table(dtype, names, hides=False)
    compared = made.check(run_emulated)
    print(f"{dtype}: {compared} expressions")
    assert not made.wrong, f"{len(made.wrong)} of {compared}: " + "\n".join(made.wrong[:20])


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", SOON)
def test_delicate_operations_are_defined(dtype: str) -> None:
    _check(np.dtype(dtype), DELICATE)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_all_operations_are_defined(dtype: np.dtype) -> None:
    _check(dtype)


@pytest.mark.thorough
def test_undefined_behavior_ends_the_process() -> None:
    code = """
import numpy as np
from semirings.printers import cuda
from tests.semirings.test_language_cuda import _check
cuda.PRELUDE = cuda.PRELUDE.replace("word(b) < 8 * sizeof(T) ? T(word(a) << b) : T(0)", "T(a << b)")
_check(np.dtype(np.int32), ("left_shift",))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "runtime error" in done.stderr
