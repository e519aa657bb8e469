"""The GPU's stages without a GPU: the code that is generated for them, on an emulated warp, over NumPy's arrays."""

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gasla.gpu.program import staged as gpu
from gasla.graph.graph import Graph
from gasla.operations import stages
from tests.helpers import programs
from tests.helpers.emulated_loop import includes
from tests.helpers.reference_engine import Reference
from tests.program.test_runs import STAGED, graphs, staged

FLAGS = ("-std=c++20", "-w", "-pthread", "-shared", "-fPIC", "-fno-strict-aliasing")
RUN = 'extern "C" void run_{0}(const Program::Arguments* a) {{ warp::run([=] {{ stage_{0}(*a); }}); }}\n'
# One that gathers from the active, one with masks of edges, scatter and post_apply, one in order, one of vectors.
QUICK = (programs.Paths, programs.Flow, programs.Chain, programs.Spread)


class OnWarp:
    """Stands for a Kernel: one warp does it all."""

    blocks, threads = 1, 32

    def __init__(self, function: Callable[[Any], None]) -> None:
        self.function = function

    def plain(self, blocks: int, arguments: Any) -> None:
        self.function(ctypes.byref(arguments))


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Graphs on the CPU take the GPU's way through the stages."""
    libraries: dict[Any, ctypes.CDLL] = {}

    def kernel(plan: Any, stage: str) -> OnWarp:
        if plan not in libraries:
            folder = tmp_path_factory.mktemp("stages")
            text = ['#include "stages.hpp"\n', plan.source, *(RUN.format(name) for name in plan.stages)]
            (folder / "stages.cpp").write_text("".join(text))
            files = [str(folder / "stages.cpp"), "-o", str(folder / "stages.so")]
            subprocess.run(["g++", *FLAGS, *includes(), *files], check=True)
            libraries[plan] = ctypes.CDLL(str(folder / "stages.so"))
        return OnWarp(getattr(libraries[plan], f"run_{stage}"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpu, "_kernel", kernel)
        patch.setattr(gpu, "struct", lambda value: value)
        patch.setattr(stages, "engine", lambda device: SimpleNamespace(staged=gpu.Staged))
        yield


def check(program: Any, start: Any, alone: bool, limit: int, graph: Graph, source: int) -> None:
    """Staged as on the GPU, and the independent engine."""
    active = [source] if alone else None
    reference = Reference(program(), graph, **start(source)).run(active, limit)
    state = staged(program, graph, active, limit, start(source))
    for name, expected in {**reference.vertex, **reference.edge}.items():
        if name in program.edge_fields and program.edge_fields[name].is_value:
            continue
        found = getattr(state, name)
        np.testing.assert_array_equal(found.T if found.ndim == 2 else found, expected, err_msg=name)


pytestmark = [pytest.mark.thorough, pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")]
PARAMETERS = [
    pytest.param(*case, id=case[0].__name__, marks=[] if case[0] in QUICK else pytest.mark.slow) for case in STAGED
]


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize(("program", "start", "alone", "limit"), PARAMETERS)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(graph=graphs(), data=st.data())
def test_small_graphs(program: Any, start: Any, alone: bool, limit: int, graph: Graph, data: Any) -> None:
    check(program, start, alone, limit, graph, data.draw(st.integers(0, graph.n - 1)))


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize(("program", "start", "alone", "limit"), PARAMETERS)
@pytest.mark.parametrize("offsets", ["i4", "i8"])
def test_long_lists(program: Any, start: Any, alone: bool, limit: int, offsets: str) -> None:
    """Lists so long that a whole warp gathers over one."""
    rng = np.random.default_rng(5)
    many, few, weights = rng.integers(0, 60, 900) ** 2 // 60, rng.integers(0, 60, 900), rng.integers(0, 9, 900)
    for src, dst in ((many, few), (few, many)):
        lists = Graph.from_edges(src, dst, weights, n=60)
        graph = Graph.from_csr(lists.out.indptr.astype(offsets), lists.out.indices, lists.out_values)
        check(program, start, alone, min(limit, 4), graph, 0)
    assert graph.in_degrees.max() > 64
