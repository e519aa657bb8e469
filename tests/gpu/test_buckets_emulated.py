"""Buckets and waking as the GPU's loop has them, on an emulated grid of blocks, against the CPU's answers."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import gasla
from gasla.gpu.program.plan import Variant
from gasla.graph.graph import Graph
from tests.helpers.emulated_loop import EmulatedRun
from tests.helpers.in_turns import in_turns
from tests.helpers.programs import Cores, Reaches, Stirring, Thawing
from tests.program.test_buckets import GRAPHS, graph_of

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")]


MODES = ("blocks", "small", "deterministic")


PROGRAMS = (Cores, Thawing, Reaches, Stirring)


@pytest.mark.parametrize(("program", "mode"), in_turns([(program,) for program in PROGRAMS], [(m,) for m in MODES]))
def test_equals_the_cpu(program: type[gasla.VertexProgram], mode: str, tmp_path: Path) -> None:
    shape = {} if mode == "blocks" else {mode: True}
    limit = 6 if program is Stirring else 10**6  # which never ends
    for name in ("karate", "star", "apart", "random"):
        graph = Graph(graph_of(GRAPHS[name]))
        if program is Reaches and graph.n > 50:
            continue
        blocks = 1 if mode == "small" else 3
        emulated = EmulatedRun(program, graph, Variant(graph.out.indptr.dtype, **shape), blocks, {}, tmp_path / name)
        for active, way, at_once in ((None, 0, 1000), (None, 1, 2), ([0, 2], 2, 1), ([], 0, 3)):
            expected = gasla.run(program, graph, active=active, compile=False, max_iterations=limit)
            fields = emulated.run(active, way=way, at_once=at_once, limit=limit)
            for field, values in fields.items():
                np.testing.assert_array_equal(values, getattr(expected, field), err_msg=f"{name} {active} {way}")
            assert emulated.page.control.iteration == expected.iterations
