"""The best k of each row, against a sort in Python; on the CPU both engines' ways."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array

import gasla
from gasla.gpu.primitive import top_k as of_gpu

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]


def by_sorting(A: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    rows = A.shape[0]
    columns, values = np.full((rows, k), -1), np.zeros((rows, k), A.data.dtype)
    for row in range(rows):
        span = slice(A.indptr[row], A.indptr[row + 1])
        best = sorted(zip((-A.data[span].astype(float)).tolist(), A.indices[span].tolist(), A.data[span].tolist()))[:k]
        for place, (_, column, value) in enumerate(best):
            columns[row, place], values[row, place] = column, value
    return columns, values


@st.composite
def matrices(draw: st.DrawFn) -> csr_array:
    """With unsorted rows, parallel entries, equal values and infinite ones."""
    rows, width = draw(st.integers(0, 6)), draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    lengths = rng.integers(0, 2 * width, rows)
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    data = rng.choice([-np.inf, -2.5, 0, 1, 1, 1, 7, np.inf], indptr[-1])
    return csr_array((data, rng.integers(0, width, indptr[-1], dtype=np.int32), indptr), shape=(rows, width))


@settings(max_examples=60)
@given(A=matrices(), k=st.integers(0, 50))
def test_the_largest_entries_equal_those_of_a_sort(A: csr_array, k: int) -> None:
    wanted = by_sorting(A, k)
    for found in (gasla.top_k(A, k), of_gpu(A.indptr, A.indices, A.data, k)):
        for part, right in zip(found, wanted):
            np.testing.assert_array_equal(part, right)
            assert part.shape == (A.shape[0], k)


@pytest.mark.gpu
@settings(max_examples=20)
@given(A=matrices(), k=st.integers(0, 50))
def test_on_the_gpu(A: csr_array, k: int) -> None:
    import cupy

    there = gasla.Sparse(A.shape, *(cupy.asarray(part) for part in (A.indptr, A.indices, A.data)))
    for part, right in zip(gasla.top_k(there, k), by_sorting(A, k)):
        np.testing.assert_array_equal(part.get(), right)


def test_types_and_formats() -> None:
    dense = np.array([[0, 3, 9, 3], [1, 0, 0, 0], [5, 6, 7, 8]])
    for kind in (np.int64, bool):
        A = csr_array(dense.astype(kind))
        columns, values = gasla.top_k(A, 2)
        assert (columns.dtype, values.dtype) == (np.int32, np.dtype(kind))
        for part, right in zip((columns, values), by_sorting(A, 2)):
            np.testing.assert_array_equal(part, right)
    same = [gasla.top_k(A, 3).columns for A in (csr_array(dense), csc_array(dense))]
    np.testing.assert_array_equal(*same)
    graph = gasla.Graph.from_edges([1, 0, 1], [0, 1, 1], [3, 4, 5])
    np.testing.assert_array_equal(gasla.top_k(graph, 2).columns, [[1, -1], [1, 0]])


def test_a_long_row_on_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gasla.cpu.runtime.blocks.SMALL", 0)
    monkeypatch.setattr("gasla.cpu.runtime.blocks.num_threads", lambda: 2)
    values = np.random.default_rng(1).random((70, 5000))
    values[3] = 0.5
    columns, best = gasla.top_k(csr_array(values), 300)
    order = np.argsort(-values, axis=1, kind="stable")[:, :300]
    np.testing.assert_array_equal(columns, order)
    np.testing.assert_array_equal(best, np.take_along_axis(values, order, axis=1))


def test_arguments_are_checked() -> None:
    A: Any = csr_array(np.eye(3))
    with pytest.raises(ValueError, match="k is -1"):
        gasla.top_k(A, -1)
    with pytest.raises(TypeError, match="the values of A are missing; expected real numbers"):
        gasla.top_k(gasla.Graph.from_edges([0], [1]), 1)
    with pytest.raises(MemoryError, match=r"the result has .* entries, .* are available; expected fewer: a smaller k"):
        gasla.top_k(A, 2**60)
    with pytest.raises(ValueError, match="value 1 of A is NaN"):
        gasla.top_k(csr_array(np.diag([1, np.nan, 2])), 1)
    A.indices[1] = 5
    with pytest.raises(ValueError, match="entry 1 of the matrix is in column 5; expected 0 to 2"):
        gasla.top_k(A, 1)
    A.indices[1], A.indptr[1] = 1, 9
    with pytest.raises(ValueError, match="row 0 of the matrix has entries 0 to 9 of 3"):
        gasla.top_k(A, 1)
