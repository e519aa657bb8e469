"""Vectors of up to eight numbers on the CPU: one vector of the processor, rows fetched ahead, the same sums."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse

import gasla
import semirings
from gasla.compiler.function import Compiled, kind_of
from gasla.compiler.objects import compile_ir, host
from gasla.compiler.unit import Unit
from gasla.cpu.program.generate import plan

pytestmark = pytest.mark.thorough


class Around(gasla.VertexProgram):
    """Rows of in-neighbors, summed."""

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


@pytest.mark.parametrize("packs", [False, True])
def test_packs_numbers_side_by_side(packs: bool) -> None:
    """What is packed is one instruction, and the object so much shorter."""
    numbers = kind_of(np.zeros(8, np.float32))
    unit = Unit(host()[0])
    unit.export(Compiled(four).kernel_function, (numbers, numbers))
    text = unit.ir()
    short, long = (len(compile_ir(text, packs=how)) for how in (True, False))
    assert short < long
    x, y = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
    Compiled(four, packs=packs)(x, y)
    assert np.array_equal(x, [1, 2, 3, 4])


def test_numbers_alone_are_compiled_as_they_were() -> None:
    plans = [plan(program, np.dtype(np.int32)) for program in (Around, AroundNumbers)]
    assert [each.kernels["run_loop"].packs for each in plans] == [True, False]
    assert ["ahead = " in each.source_text for each in plans] == [True, False]


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
