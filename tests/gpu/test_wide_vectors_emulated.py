"""Programs over wide vectors on the GPU without a GPU: the generated loop on an emulated grid, and what NVRTC says."""

import ctypes
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gasla.gpu.program.generate import Module
from gasla.gpu.program.plan import Variant
from gasla.gpu.runtime.compile import compile_source
from gasla.graph.graph import Graph
from tests.gpu import test_stages_emulated
from tests.gpu.test_stages_emulated import emulated  # noqa: F401  (a fixture)
from tests.helpers import wide_programs
from tests.helpers.emulated_loop import EmulatedRun
from tests.helpers.reference_engine import Reference

pytestmark = pytest.mark.thorough

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


def graph(n: int = 70, m: int = 330) -> Graph:
    """Of many out- and many in-edges, loops and parallel edges; some vertices have none."""
    rng = np.random.default_rng(n)
    ends = rng.integers(0, n, m) ** 2 // n, rng.integers(0, n, m) ** 4 // n**3
    return Graph.from_edges(*ends, rng.integers(0, 9, m), n=n)


def emulated_run(program: Any, graph: Graph, folder: Path, blocks: int = 2, **shape: Any) -> EmulatedRun:
    return EmulatedRun(program, graph, Variant(graph.out.indptr.dtype, **shape), blocks, {}, folder)


def check(run: EmulatedRun, program: Any, active: Any, limit: int, at_once: int = 3, **start: Any) -> None:
    reference = Reference(program(), run.graph, **start).run(active, limit)
    fields = run.run(active, limit=limit, at_once=at_once, **start)
    for name, values in fields.items():
        expected = {**reference.vertex, **reference.edge}[name]
        np.testing.assert_array_equal(values.T if values.ndim == 2 else values, expected, err_msg=name)
    if not run.plan.absorbs:
        assert run.page.control.iteration == reference.iteration


CASES = {
    "summing": (lambda: wide_programs.summing(40), None, 1, {}),
    "many lanes": (lambda: wide_programs.summing(600), None, 1, {}),
    "scaled": (lambda: wide_programs.scaled(9), None, 4, {}),
    "spreading": (lambda: wide_programs.spreading(33), [1, 5], 5, {}),
    "from all": (lambda: wide_programs.spreading(33, "all"), [1, 5], 4, {}),
    "lowering": (lambda: wide_programs.lowering(64), None, 30, {}),
    "lowering from a few": (lambda: wide_programs.lowering(10, "active"), [3], 30, {}),
    "first": (lambda: wide_programs.first(12), [0, 3], 8, {}),
    "looking": (lambda: wide_programs.looking(70), None, 1, {}),
    "nothing": (lambda: wide_programs.nothing(17), [2], 5, {}),
}
QUICK = {"summing": {}, "scaled": {}, "spreading": {}, "lowering": {}, "first": {"deterministic": True}}
MODES: dict[str, dict[str, Any]] = {
    "": {}, "deterministic": {"deterministic": True}, "small": {"small": True, "blocks": 1},
}  # fmt: skip


@needs_compiler
@pytest.mark.parametrize(
    ("case", "mode"),
    [
        pytest.param(case, mode, marks=[] if QUICK.get(case, 0) == MODES[mode] else pytest.mark.slow)
        for case in CASES
        for mode in MODES
    ],
)
def test_equals_the_independent_engine(case: str, mode: str, tmp_path: Path) -> None:
    made, active, limit, start = CASES[case]
    program = made()
    check(emulated_run(program, graph(), tmp_path, **MODES[mode]), program, active, limit, **start)


@needs_compiler
@pytest.mark.parametrize("n", [7, pytest.param(40, marks=pytest.mark.slow), pytest.param(150, marks=pytest.mark.slow)])
def test_groups_of_any_size(n: int, tmp_path: Path) -> None:
    """Warps take 8, 16 or 32 vertices that lie side by side."""
    program = wide_programs.lowering(10, "active")
    check(emulated_run(program, graph(n, 4 * n), tmp_path, blocks=3), program, [3], 30)


@needs_compiler
@pytest.mark.parametrize("lanes", [9, pytest.param(64, marks=pytest.mark.slow)])
def test_receivers_known_ahead(lanes: int, tmp_path: Path) -> None:
    """A schedule's receivers see what others had before, and put aside what they gather."""
    program = wide_programs.lowering(lanes)
    run = emulated_run(program, graph(), tmp_path, scheduled=True)
    levels = np.random.default_rng(3).integers(-1, 4, run.graph.n)
    (vertices,) = np.nonzero(levels >= 0)
    order = vertices[np.argsort(levels[vertices], kind="stable")]
    run.put("levels", levels.astype(np.int32))
    run.put("aside", order.astype(np.int32))
    run.put("starts", np.searchsorted(levels[order], np.arange(5)))
    run.arguments.active_count = 4
    fields = {name: run.field(name, None) for name in run.traced.vertex_types}
    run.arguments.lanes, run.arguments.fresh, run.arguments.limit = 4, True, 10
    assert run.kernel(ctypes.byref(run.arguments)) == 0
    reference = Reference(program(), run.graph).run(None, 10, tuple(levels))
    np.testing.assert_array_equal(fields["x"].T, reference.vertex["x"])


@needs_compiler
@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize("made", [wide_programs.spreading, wide_programs.first, wide_programs.nothing])
def test_stages_read_and_write_wide_vectors(made: Any) -> None:
    """A loop written by hand, on one warp."""
    test_stages_emulated.check(made(33), lambda source: {}, True, 4, graph(), 1)


OPTIONS = ("", "deterministic", "small", "scheduled")


@pytest.mark.parametrize(
    ("made", "lanes"),
    [
        pytest.param(made, lanes, marks=[] if (place + at) % 5 == 0 else pytest.mark.slow)
        for place, made in enumerate(
            (wide_programs.summing, wide_programs.scaled, wide_programs.spreading, wide_programs.looking)
        )
        for at, lanes in enumerate((8, 9, 33, 64, 200, 1024))
    ],
)
def test_every_kernel_compiles(made: Any, lanes: int) -> None:
    """Each in one of its ways; NVRTC also finds the struct of arguments to have the size that Python gives it."""
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    option = OPTIONS[(lanes + len(made.__name__)) % 4]
    architecture, kind = (("compute_80", "i8"), ("compute_90", "i4"))[lanes % 2]
    if option == "scheduled" and made in (wide_programs.scaled, wide_programs.spreading):
        option = ""
    shape = Variant(np.dtype(kind), **{option: True} if option else {})
    module = Module(made(lanes).traced(np.dtype(kind)), shape)
    size = f"static_assert(sizeof(Program::Arguments) == {ctypes.sizeof(module.struct)});"
    assert compile_source(f"{module.source}\n{size}", architecture, made.__name__)
    assert len(module.source) < 45_000  # however many lanes
