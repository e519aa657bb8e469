"""Runs of small graphs on the GPU without a GPU: the generated kernel on an emulated block of two warps."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gasla.gpu.program.plan import Variant
from gasla.graph.graph import Graph
from tests.helpers import programs
from tests.helpers.emulated_loop import EmulatedRun
from tests.helpers.reference_engine import Reference
from tests.program.test_runs import CASES

DENSE = 2  # `Way` in state.cuh
QUICK = (programs.Hops, programs.Chain, programs.Settling, programs.Flow, programs.LateFlow)
pytestmark = [pytest.mark.thorough, pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")]


@pytest.mark.parametrize(
    ("program", "start", "alone", "limit"),
    [pytest.param(*c, id=c[0].__name__, marks=[] if c[0] in QUICK else pytest.mark.slow) for c in CASES],
)
def test_equals_the_independent_engine(program: Any, start: Any, alone: bool, limit: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(len(program.__name__))
    n, m = 150, 700
    ends = rng.integers(0, n, m) ** 2 // n, rng.integers(0, n, m) ** 4 // n**3
    graph = Graph.from_edges(*ends, rng.integers(0, 9, m), n=n)
    source = int(np.flatnonzero(graph.out_degrees)[0])
    active = [source] if alone else None
    reference = Reference(program(), graph, **start(source)).run(active, limit)
    expected = {**reference.vertex, **reference.edge}
    shape = Variant(graph.out.indptr.dtype, small=True)
    # A whole warp takes some rows.
    emulated = EmulatedRun(program, graph, shape, 1, {"LONG_FOR_LANE": ("32", "4")}, tmp_path)
    for lanes, at_once in ((1, 10**6), (4, 7), (32, 10**6)):
        found = emulated.run(active, lanes=lanes, way=DENSE, limit=limit, at_once=at_once, **start(source))
        for name, values in found.items():
            np.testing.assert_array_equal(values.T if values.ndim == 2 else values, expected[name], err_msg=name)
        if not emulated.plan.absorbs:  # else values travel further within an iteration
            assert emulated.page.control.iteration == reference.iteration
