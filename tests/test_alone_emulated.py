"""Runs of small graphs on the GPU without a GPU: the generated kernel on an emulated block of two warps."""

import ctypes
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import programs
import pytest
from emulated_loop import EmulatedLoop
from reference_engine import Reference
from test_programs import CASES

from gasla.gpu.plan import Shape
from gasla.graph import Graph

RUN = 'extern "C" void run(const Program::Arguments* a) { warp::run([=] { run_loop(*a); }); }\n'
DENSE = 2  # `Way` in state.cuh
QUICK = (programs.Hops, programs.Chain, programs.Settling, programs.Flow)
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


class Emulated(EmulatedLoop):
    """A run on a graph with rows that a whole warp takes."""

    file = "alone.cuh"
    entry = RUN

    def __init__(self, program: Any, graph: Graph, folder: Path) -> None:
        shape = Shape(graph.out.indptr.dtype, small=True, near=True)
        super().__init__(program, graph, shape, 1, {"LONG_ALONE": ("32", "4")}, folder)

    def field(self, name: str, start: dict[str, Any]) -> np.ndarray:
        """The array of a field, for the kernel to fill if it can."""
        array = self._vertex_array(name, start.get(name))
        if name in self.plan.starts:
            self.put(f"from_{name}", array[0] if name in self.plan.doubled else array)
            setattr(self.arguments, f"fills_{name}", 1)
            array = np.full_like(array, 77)
        return self.put(f"v_{name}", array)

    def run(self, active: Any, lanes: int, limit: int, at_once: int, start: dict[str, Any]) -> dict[str, Any]:
        """The fields after all iterations, `at_once` in a launch."""
        fields = {name: self.field(name, start) for name in self.traced.vertex_types}
        fields |= {name: self.put(f"e_{name}", self._edge_array(name, start)) for name in self.plan.edge_states}
        for name, value in self.parameters().items():
            setattr(self.arguments, f"self_{name}", value.item())
        arguments, now = self.arguments, self.page.control
        arguments.active_ids = 0
        arguments.active_count = self.graph.n if active is None else len(active)
        if active is not None:
            self.put("active_ids", np.asarray(active, self.ids))
        arguments.lanes, arguments.way, arguments.fresh, arguments.limit = lanes, DENSE, True, 0
        while arguments.fresh or (now.size and not now.done and now.iteration < limit):
            arguments.limit = min(limit, arguments.limit + at_once)
            self.kernel(ctypes.byref(arguments))
            arguments.fresh = False
        return {name: a[now.iteration & 1] if name in self.plan.doubled else a for name, a in fields.items()}


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
    emulated = Emulated(program, graph, tmp_path)
    for lanes, at_once in ((1, 10**6), (4, 7), (32, 10**6)):
        found = emulated.run(active, lanes, 10**6 if limit is None else limit, at_once, start(source))
        for name, values in found.items():
            np.testing.assert_array_equal(values.T if values.ndim == 2 else values, expected[name], err_msg=name)
        if not emulated.plan.absorbs:  # else values travel further within an iteration
            assert emulated.page.control.iteration == reference.iteration
