"""Rows on the GPU, without one: their reduction by a warp of 32 emulated threads, each access checked; their facts."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gasla import datasets
from gasla.gpu.program import rows
from tests.helpers.emulated_loop import EMULATION, includes
from tests.helpers.emulated_loop import FLAGS as LOOP_FLAGS

pytestmark = pytest.mark.thorough

FLAGS = ("-std=c++20", "-g", "-pthread", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize(
    ("body", "offset", "value", "brings_near"),
    [
        (0, "int", "long long", 0),
        (1, "long long", "int", 0),
        (2, "int", "unsigned char", 0),
        (0, "long long", "int", 1),
        (2, "int", "unsigned char", 1),
    ],
    ids=["sum", "ordered", "early exit", "sum, near", "early exit, near"],
)
def test_rows_on_an_emulated_warp(body: int, offset: str, value: str, brings_near: int, tmp_path: Path) -> None:
    program = tmp_path / "rows"
    defines = [f"-DBODY={body}", f"-DOFFSET={offset}", f"-DVALUE={value}", f"-DBRINGS_NEAR={brings_near}"]
    source = str(EMULATION / "rows.cpp")
    subprocess.run(["g++", *FLAGS, *includes(), *defines, source, "-o", str(program)], check=True)
    done = subprocess.run([program], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr


MATRICES = [datasets.grid(16), datasets.rmat(9), datasets.grid(8) @ datasets.grid(8), datasets.grid(8)[:1]]
RUN = """
extern "C" void run(const offset_t* offsets, const vertex_t* indices, u64 rows, u64 stored, RowProperties* found) {
    warp::run([=] { find_properties(offsets, indices, rows, stored, found); });
    if (!found->wrong_offsets && found->lowest >= 0 && rows > 1)
        warp::run([=] { sample(offsets, indices, rows, found); });
}
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("kinds", [("i4", "i4"), ("i8", "i4"), ("i8", "i8")])
def test_facts_are_the_same_with_and_without_a_kernel(kinds: tuple[str, str], tmp_path: Path) -> None:
    source = rows._source(rows.SOURCE, *(np.empty(0, kind) for kind in kinds))
    (tmp_path / "facts.cpp").write_text(f'#include "loop.hpp"\n{source}{RUN}')
    library = tmp_path / "facts.so"
    subprocess.run(["g++", *LOOP_FLAGS, *includes(), str(tmp_path / "facts.cpp"), "-o", str(library)], check=True)
    run = ctypes.CDLL(str(library)).run

    def emulated(indptr: Any, indices: Any) -> rows.RowProperties:
        found = np.zeros(1, rows.PROPERTIES)
        found["highest"] = -1
        sizes = len(indptr) - 1, len(indices)
        offsets, columns, facts = (ctypes.c_void_p(array.ctypes.data) for array in (indptr, indices, found))
        run(offsets, columns, *map(ctypes.c_uint64, sizes), facts)
        return rows.RowProperties.of(*sizes, found[0])

    for matrix in MATRICES:
        indptr, indices = (array.astype(kind) for array, kind in zip((matrix.indptr, matrix.indices), kinds))
        assert rows.properties_of(indptr, indices) == emulated(indptr, indices)
        indices[1] = -2
        assert rows.properties_of(indptr, indices).lowest == emulated(indptr, indices).lowest == -2
        indptr[-1] += 1
        assert not rows.properties_of(indptr, indices).offsets_fit and not emulated(indptr, indices).offsets_fit


@pytest.mark.gpu
def test_facts_are_the_same_where_they_are_looked_for() -> None:
    cupy = pytest.importorskip("cupy")
    for matrix in MATRICES:
        lists = cupy.asarray(matrix.indptr), cupy.asarray(matrix.indices)
        assert rows.find_properties(*lists) == rows.find_properties_once(*lists)
