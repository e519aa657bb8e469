"""The least and the largest of an array on the GPU: compiled, emulated, and on one beside NumPy."""

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gasla.gpu.runtime import min_max
from gasla.gpu.runtime.compile import compile_source
from tests.helpers.emulated_loop import FLAGS, includes

KINDS = [np.dtype(kind) for kind in ("?", "i1", "u1", "i4", "u4", "i8", "u8", "f4", "f8")]
RUN = """
extern "C" void run(
    const {type}* values, gasla::u64 count, gasla::MinMax* found, gasla::MinMaxPage* page, unsigned launch
) {{
    warp::run_grid(3, [=] {{ min_max(values, count, found, page, launch); }});
}}
"""


def arrays(kind: np.dtype[Any]) -> list[np.ndarray]:
    """Values of one sign, of both, at the ends of what the type holds, one alone, some NaN and infinite."""
    rng = np.random.default_rng(3)
    found = [rng.integers(0, 2, 300).astype(kind), rng.integers(60, 120, 1000).astype(kind), np.ones(1, kind)]
    if kind.kind in "if":
        found += [-found[1], found[1] - kind.type(90)]
    if kind.kind in "iu":
        found += [np.array([np.iinfo(kind).max, np.iinfo(kind).min, 3], kind)]
    if kind.kind == "f":
        found += [np.array([np.inf, -np.inf, 1], kind), np.array([2, np.nan, 1], kind), np.array([-0.5, -1e-40], kind)]
    return found


def check(kind: np.dtype[Any], find: Callable[[np.ndarray], min_max.Summary]) -> None:
    for values in arrays(kind):
        least, largest, checksum = find(values)
        assert type(least) is type(largest) is kind.type
        assert np.array_equal([least, largest], [values.min(), values.max()], equal_nan=kind.kind == "f")
        assert checksum == find(values.copy()).checksum
        check_writes(values, find)


def check_writes(values: np.ndarray, find: Any) -> None:
    """Any write changes the checksum: to one value, to its sign, and if two values change places."""
    seen, changed = [], values.copy()
    changed[-1] = not changed[-1]
    seen = [find(values).checksum, find(changed).checksum]
    if values.dtype.kind == "f":
        signed = values.copy()
        signed[0] = -signed[0]
        seen.append(find(signed).checksum)
    first = values.view(f"u{values.itemsize}")
    other = int((first != first[0]).argmax())
    if other:
        swapped = values.copy()
        swapped[[0, other]] = values[[other, 0]]
        seen.append(find(swapped).checksum)
    assert len(set(seen)) == len(seen)


def emulated(folder: Path, source: str, run: str) -> Any:
    """Compile a kernel by g++, with a function that runs it. Return the function."""
    (folder / "kernel.cpp").write_text(f'#include "loop.hpp"\n{source}{run}')
    library = folder / "kernel.so"
    subprocess.run(["g++", *FLAGS, *includes(), str(folder / "kernel.cpp"), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library)).run


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_compiles(kind: np.dtype[Any]) -> None:
    pytest.importorskip("cupy")
    assert compile_source(min_max.source(kind), "sm_90")


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize(
    "kind", [k if k in ("i4", "f8") else pytest.param(k, marks=pytest.mark.thorough) for k in KINDS], ids=str
)
def test_equals_numpy_emulated(kind: np.dtype[Any], tmp_path: Path) -> None:
    run = emulated(tmp_path, min_max.source(kind), RUN.format(type=min_max.ctype(kind)))
    found, page = np.zeros(5, np.uint64), min_max.Page()

    def find(values: np.ndarray) -> min_max.Summary:
        launch = page.ended + 1
        given = ctypes.c_void_p(values.ctypes.data), ctypes.c_uint64(len(values)), ctypes.c_void_p(found.ctypes.data)
        run(*given, ctypes.byref(page), ctypes.c_uint32(launch))
        assert page.ended == launch and not found.any(), "ready for the next launch"
        return min_max.summary_of(page, kind)

    check(kind, find)


INTEGERS = [kind for kind in KINDS if kind.kind in "biu"]
RUN_TOTAL = """
extern "C" void run(
    const {type}* values, gasla::u64 count, gasla::MinMax* found, gasla::MinMaxPage* page, unsigned launch,
    int magnitudes
) {{
    warp::run_grid(3, [=] {{ total(values, count, found, page, launch, magnitudes); }});
}}
"""


@pytest.mark.parametrize("kind", INTEGERS, ids=str)
def test_totals_compile(kind: np.dtype[Any]) -> None:
    pytest.importorskip("cupy")
    assert compile_source(min_max.source_of_totals(kind), "sm_90")


def check_totals(kind: np.dtype[Any], find: Callable[[np.ndarray, bool], int]) -> None:
    for values in [
        *arrays(kind),
        np.array([], kind),
        np.full(700, np.iinfo(kind).max if kind.kind != "b" else 1, kind),
    ]:
        assert find(values, False) == sum(map(int, values))
        assert find(values, True) == sum(abs(int(value)) for value in values)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize(
    "kind", [k if k in ("i1", "i8") else pytest.param(k, marks=pytest.mark.thorough) for k in INTEGERS], ids=str
)
def test_totals_are_exact_emulated(kind: np.dtype[Any], tmp_path: Path) -> None:
    run = emulated(tmp_path, min_max.source_of_totals(kind), RUN_TOTAL.format(type=min_max.ctype(kind)))
    found, page = np.zeros(5, np.uint64), min_max.Page()

    def find(values: np.ndarray, magnitudes: bool) -> int:
        given = ctypes.c_void_p(values.ctypes.data), ctypes.c_uint64(len(values)), ctypes.c_void_p(found.ctypes.data)
        run(*given, ctypes.byref(page), ctypes.c_uint32(page.ended + 1), ctypes.c_int(magnitudes))
        assert not found.any(), "ready for the next launch"
        return min_max.total_of(page, is_signed=kind.kind == "i" and not magnitudes)

    check_totals(kind, find)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", INTEGERS, ids=str)
def test_totals_are_exact(kind: np.dtype[Any]) -> None:
    import cupy

    check_totals(kind, lambda values, magnitudes: min_max.total(cupy.asarray(values), magnitudes))
    values = np.random.default_rng(1).integers(0, 100, 3_000_000).astype(kind)
    assert min_max.total(cupy.asarray(values)[::-1]) == int(values.sum(dtype=np.int64))


@pytest.mark.gpu
@pytest.mark.parametrize("kind", [*KINDS, np.dtype("f2")], ids=str)
def test_equals_numpy(kind: np.dtype[Any]) -> None:
    import cupy

    check(kind, lambda values: min_max.summary(cupy.asarray(values)))
    values = np.random.default_rng(1).integers(0, 100, 3_000_000).astype(kind)
    assert min_max.summary(cupy.asarray(values)[::-1])[:2] == (values.min(), values.max())
