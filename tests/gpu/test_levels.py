"""Schedules sorted for the GPU: the kernels without a GPU, and on one, beside NumPy's stable sort."""

import ctypes
import mmap
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gasla
from gasla.gpu.program import levels as gpu_levels
from gasla.gpu.program.levels import MOST
from gasla.gpu.runtime.compile import compile_source
from tests.helpers.emulated_loop import BLOCK, FLAGS, includes, kernel_file

RUN = """
extern "C" int run(unsigned blocks, const int* levels, u64 n, u64 first, u64 depth, unsigned* counts, unsigned* totals,
                   vertex_t* order, long long* starts) {
    return warp::run_grid(blocks, [=] { count_levels(levels, n, first, depth, counts, totals); }) ||
           warp::run_grid(blocks, [=] { place_by_level(levels, n, first, depth, counts, totals, order, starts); });
}
"""


def given(n: int, depth: int, first: int, kind: Any = np.int32) -> np.ndarray:
    """Levels such that `depth` of them take part, and some vertices do not; the most have the same."""
    rng = np.random.default_rng(n)
    levels = rng.integers(first - 3, first + depth, n)
    levels[rng.random(n) < 0.6] = first + depth - 1
    levels[: n // 20] = first - 2
    levels[n - 1 :] = first + depth - 1
    return levels.astype(kind)


def expected(levels: np.ndarray, first: int) -> list[list[int]]:
    """The vertices of each level."""
    order = np.argsort(levels, kind="stable")
    starts = np.searchsorted(levels[order], np.arange(first, max(int(levels.max(initial=first - 1)), first - 1) + 2))
    return [x.tolist() for x in np.split(order, starts)[1:-1]]


def lists_of(order: Any, starts: Any) -> list[list[int]]:
    return [order[a:b].tolist() for a, b in pairwise(starts)]


@pytest.mark.parametrize("architecture", [pytest.param("sm_80", marks=pytest.mark.slow), "sm_90"])
@pytest.mark.parametrize("size", [4, 8])
def test_compiles(architecture: str, size: int) -> None:
    pytest.importorskip("cupy")
    assert compile_source(gpu_levels.source(size), architecture)


def test_few_levels_are_as_many_as_the_kernel_has_room_for() -> None:
    assert f"MOST = {MOST};" in kernel_file("levels.cuh").read_text()


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("size", [4, pytest.param(8, marks=pytest.mark.thorough)])
def test_equals_a_stable_sort_emulated(size: int, tmp_path: Path) -> None:
    source = gpu_levels.source(size)
    (tmp_path / "levels.cpp").write_text(f'#include "loop.hpp"\n{source}{RUN}')
    library = tmp_path / "levels.so"
    subprocess.run(["g++", *FLAGS, *includes(), str(tmp_path / "levels.cpp"), "-o", str(library)], check=True)
    run = ctypes.CDLL(str(library)).run

    def shared(size: int, kind: Any) -> np.ndarray:  # by the processes that are blocks
        return np.frombuffer(mmap.mmap(-1, max(1, size * np.dtype(kind).itemsize)), kind, size)

    def address(array: np.ndarray) -> ctypes.c_void_p:
        return ctypes.c_void_p(array.ctypes.data)

    cases = [(1, 1, 0), (5, 2, 1), (31, 3, -1), (32, 64, 1), (33, 1, -(2**31) + 9), (900, 9, 1), (3000, 64, 2**31 - 64)]
    for n, depth, first in cases:
        levels = given(n, depth, first)
        blocks = 3 if n > BLOCK else 1
        counts, totals = shared(blocks * depth * 32, np.uint32), shared(blocks * depth, np.uint32)
        order, starts = shared(n, f"i{size}"), shared(depth + 1, np.int64)
        counts[:], totals[:], order[:], starts[:] = 77, 77, -7, -7
        numbers = [ctypes.c_uint64(x & 2**64 - 1) for x in (n, first, depth)]
        arrays = [address(x) for x in (counts, totals, order, starts)]
        assert run(blocks, address(levels), *numbers, *arrays) == 0
        assert starts[0] == 0
        assert lists_of(order, starts) == expected(levels, first)
        assert (order[starts[-1] :] == -7).all()


@pytest.fixture
def cupy() -> ModuleType:
    return pytest.importorskip("cupy")


@pytest.mark.gpu
@pytest.mark.sanitize
@pytest.mark.parametrize("ids", [np.int32, np.int64])
@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64])
def test_equals_a_stable_sort(kind: Any, ids: Any, cupy: ModuleType) -> None:
    cases = [(0, 0, 0), (1, 1, 0), (31, 3, -1), (33, 63, 1), (5000, 64, 1), (5000, 65, 1), (5000, 90, 0)]
    for n, depth, first in cases:
        levels = given(n, depth, first, kind)
        schedule = gasla.Schedule(cupy.asarray(levels), first)
        found = gpu_levels.by_level(schedule, np.dtype(ids))
        assert found.order.dtype == ids
        assert lists_of(found.order.get(), found.starts.get()) == expected(levels, first)
        again = gpu_levels.by_level(gasla.Schedule(levels, first), np.dtype(ids))  # of NumPy's
        assert lists_of(again.order.get(), again.starts.get()) == expected(levels, first)


@pytest.mark.gpu
@pytest.mark.parametrize("first", [-(2**40), -(2**31), 100, 2**31, 2**40])
def test_first_levels_that_are_far_off(first: int, cupy: ModuleType) -> None:
    levels = np.full(3000, first, np.int64) + np.arange(-1500, 1500) // 30
    schedule = gasla.Schedule(cupy.asarray(levels), first)
    found = gpu_levels.by_level(schedule, np.dtype(np.int32))
    assert lists_of(found.order.get(), found.starts.get()) == expected(levels, first)


@pytest.mark.gpu
def test_many_vertices(cupy: ModuleType) -> None:
    for n, depth in ((3_000_017, 7), (2_000_000, 64)):
        levels = given(n, depth, 1)
        found = gpu_levels.by_level(gasla.Schedule(cupy.asarray(levels), 1), np.dtype(np.int32))
        order, starts = found.order.get(), found.starts.get()
        receivers = np.flatnonzero(levels > 0)
        np.testing.assert_array_equal(order[: starts[-1]], receivers[np.argsort(levels[receivers], kind="stable")])
        np.testing.assert_array_equal(np.diff(starts), np.bincount(levels[receivers], minlength=depth + 1)[1:])
