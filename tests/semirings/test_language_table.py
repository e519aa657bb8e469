"""Every operation with every special constant in every position: the compiled answers are NumPy's, for every type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import gasla
import semirings
from semirings.functions import __all__ as FUNCTIONS
from semirings.ufuncs import PRIMITIVES, RULES
from tests.helpers.language_table import ELSEWHERE, OPERATIONS, SAME, TYPES, table
from tests.helpers.semirings_engines import run_cpu

# A whole number and a float; the others are printed alike.
SOON = ("int8", "float32")
# What LLVM has instructions for whose result may be poison, or undefined, or which it evaluates itself.
DELICATE = ("remainder", "fmod", "floor_divide", "left_shift", "right_shift", "cast of a choice to uint8", "**")


def test_the_table_has_every_operation() -> None:
    of_numpy = {
        name for name, function in vars(semirings).items() if name in FUNCTIONS and isinstance(function, np.ufunc)
    }
    assert {SAME.get(name, name) for name in of_numpy} <= OPERATIONS.keys()
    assert (PRIMITIVES | set(RULES) | set(FUNCTIONS)) - of_numpy - ELSEWHERE - {"cast"} <= OPERATIONS.keys()


def _check(dtype: np.dtype, count: int, names: Any = ()) -> None:
    made = table(dtype, names)
    compared = made.check(run_cpu)
    print(f"{dtype}: {compared} expressions of {len(made.answers[0])} values; refused: {dict(made.refused)}")
    assert compared > count
    assert not made.wrong, f"{len(made.wrong)} of {compared}: " + "\n".join(made.wrong[:20])


def test_delicate_operations_equal_numpys() -> None:
    _check(np.dtype(np.int32), 600, DELICATE)


@pytest.mark.parametrize(
    "dtype",
    [pytest.param(t, id=str(t), marks=pytest.mark.thorough if str(t) in SOON else pytest.mark.slow) for t in TYPES],
)
def test_all_operations_equal_numpys(dtype: np.dtype) -> None:
    _check(dtype, 3000)


@pytest.mark.thorough
def test_powers_of_two_are_as_exact_in_products() -> None:
    """LLVM would compute `8**y` as `exp2(3 * y)`, hundreds of units off, also where a library of vectors has `pow`."""
    values, each = np.linspace(-300, 300, 200), 64
    begins = np.arange(0, len(values) * each + 1, each)
    matrix = sp.csr_array((np.ones(len(values) * each), np.arange(len(values) * each), begins))
    for base in (8.0, 0.25, 7.0):
        powers = semirings.Semiring(semirings.max, lambda a, y, base=base: base**y, name=f"powers_of_{base}")
        found, right = gasla.mxv(matrix, np.repeat(values, each), powers), base**values
        assert (np.abs(found - right) <= 4 * np.spacing(right)).all(), base
