"""Vectors of up to eight numbers on the CPU: one vector of the processor, rows fetched ahead, the same sums."""

from typing import Any

import numba
import numpy as np
import pytest
import scipy.sparse as sparse
from numba import njit

import gasla
import semirings
from gasla.cpu.program.generate import module_source
from gasla.cpu.runtime.modules import INNER, Packing, Plain

pytestmark = pytest.mark.thorough


class Around(gasla.VertexProgram):
    """Rows of in-neighbours, summed."""

    row = gasla.vertex((np.float32, (8,)))
    total = gasla.vertex((np.float32, (8,)))
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        return src.row

    def apply(self, vertex, gathered):
        return {"total": gathered}


class AroundNumbers(Around):
    """The same of numbers."""

    row = gasla.vertex(np.float32)
    total = gasla.vertex(np.float32)


def four(x: Any, y: Any) -> None:
    """Four numbers side by side."""
    a, b, c, d = x[0] + y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3]
    x[0], x[1], x[2], x[3] = a, b, c, d


@pytest.mark.parametrize(("way", "packs"), [(Plain, False), (Packing, True)])
def test_packs_numbers_side_by_side(way: Any, packs: bool) -> None:
    before = numba.config.SLP_VECTORIZE
    function = njit(**INNER, pipeline_class=way)(four)
    function.compile((numba.float32[::1], numba.float32[::1]))
    text = function.inspect_llvm(function.signatures[0])
    assert ("fadd <4 x float>" in text) == packs
    assert before == numba.config.SLP_VECTORIZE


def test_numbers_alone_are_compiled_as_they_were() -> None:
    texts = [module_source(program.traced(np.dtype(np.int32))) for program in (Around, AroundNumbers)]
    assert ["packing" in text for text in texts] == [True, False]
    assert ["ahead = " in text for text in texts] == [True, False]


def graphs() -> dict[str, sparse.csr_array]:
    """Hard shapes."""
    star = sparse.coo_array((np.ones(99), (np.zeros(99, int), np.arange(1, 100))), (100, 100)).tocsr()
    return {
        "none": sparse.csr_array((0, 0)),
        "one": sparse.csr_array((1, 1)),
        "loop": sparse.csr_array(np.ones((1, 1))),
        "star": star,
        "to its centre": star.T.tocsr(),
        "path": sparse.eye_array(70, k=1, format="csr"),
        "parallel": sparse.csr_array((np.ones(5), [1, 1, 0, 2, 2], [0, 2, 3, 5])),
        "grid": gasla.generators.grid(12),
        "rmat": gasla.generators.rmat(10),
    }


@pytest.mark.parametrize("name", graphs())
def test_sums_equal_a_product(name: str) -> None:
    matrix = graphs()[name]
    rows = np.random.default_rng(1).integers(0, 9, (matrix.shape[0], 8)).astype(np.float32)
    found = gasla.run(Around, gasla.Graph(matrix), row=rows, max_iterations=1)
    ones = sparse.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), matrix.shape)
    assert np.array_equal(found.state["total"], ones.T @ rows)
