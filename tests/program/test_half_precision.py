"""Fields of float16: stored so, computed with as float32; on the CPU, on the GPU emulated, and on the GPU."""

import ctypes
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla.arrays import moved
from gasla.gpu.program.generate import Module
from gasla.gpu.program.plan import GpuPlan, Variant
from gasla.gpu.runtime.compile import compile_source
from gasla.graph.graph import Graph
from gasla.program.binding import AUTO
from gasla.program.plan import Plan
from gasla.program.reasons import sentences
from tests.gpu import test_schedule_emulated, test_stages_emulated
from tests.gpu.test_stages_emulated import emulated  # noqa: F401  (a fixture)
from tests.helpers.emulated_loop import EmulatedRun
from tests.helpers.in_turns import in_turns
from tests.helpers.reference_engine import Reference

pytestmark = pytest.mark.thorough

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


def made(n: int = 70, m: int = 330) -> Graph:
    """Of many out- and many in-edges, loops and parallel edges; some vertices have none."""
    rng = np.random.default_rng(n)
    ends = rng.integers(0, n, m) ** 2 // n, rng.integers(0, n, m) ** 4 // n**3
    return Graph.from_edges(*ends, rng.integers(0, 9, m).astype(np.float32) / 4, n=n)


def hearing(length: int = 0, **options: Any) -> Any:
    """Everything a field may do: numbers that float16 rounds, others that it can't hold, whose sums are exact before.

    `scatters` and `masks` say whether there is that, too.
    """
    kind: Any = (np.float16, (length,)) if length else np.float16
    whole = semirings.max if length else lambda x: x

    class Hearing(gasla.VertexProgram):
        x = gasla.vertex(kind, init=lambda vertex: _between(vertex.id, length))
        large = gasla.vertex(kind, init=-0.1)
        third = gasla.vertex(np.float16)
        w = gasla.edge(np.float16)
        reduce = semirings.plus

        def gather(self, src, dst, edge):
            return src.x * edge.w

        def apply(self, vertex, gathered):
            return {"x": gathered % 8 + 8.3, "large": gathered * 999 + vertex.large, "third": whole(gathered) / 3}

        @gasla.aggregate(semirings.max, np.float32)
        def most(self, before, after):
            return semirings.maximum(whole(after.x), whole(before.x))

    class Scattering(Hearing):
        sent = gasla.edge(kind, init=4.7)

        def gather(self, src, dst, edge):
            return src.x * edge.w + edge.sent

        def mask(self, vertex):
            return (whole(vertex.x) < 15) | (vertex.id % 3 == 1)

        def scatter(self, src, dst, edge):
            return {"sent": (src.x + edge.sent) % 4 + 4.7}

    body = {"everyone": options.get("everyone", True), "sources": options.get("sources", "all")}
    return type("Half", (Scattering if options.get("scatters") else Hearing,), body)


def _between(number: Any, length: int) -> Any:
    """Numbers from 8 to 16, which float16 has in steps of 1 / 128."""
    return np.stack([8 + (number * k + k) % 1001 / 128 for k in range(length)]) if length else 8 + number % 1001 / 128


class Least(gasla.VertexProgram):
    """Minima travel, a little larger with each edge; what is sent is brought together, and rounded once."""

    x = gasla.vertex(np.float16, init=np.inf)
    reduce = semirings.min
    sources = "active"

    def gather(self, src, dst, edge):
        return src.x * 1.01 + 0.3

    def apply(self, vertex, gathered):
        return {"x": semirings.minimum(vertex.x, gathered)}


def check(run: EmulatedRun, program: Any, active: Any, limit: int, way: int = 0, **start: Any) -> None:
    reference = Reference(program(), run.graph, **start).run(active, limit)
    for name, values in run.run(active, limit=limit, way=way, at_once=3, **start).items():
        expected = {**reference.vertex, **reference.edge}[name]
        assert values.dtype == np.float16 or name == "w"
        np.testing.assert_array_equal(values.T if values.ndim == 2 else values, expected, err_msg=name)
    assert run.page.control.iteration == reference.iteration


SPARSE = {"everyone": False, "sources": "active"}
CASES: dict[str, tuple[Any, Any, int, dict[str, Any]]] = {
    "sparse": (lambda: hearing(scatters=True, **SPARSE), [1, 5], 2, {"bounded_degree": True}),
    "one block": (hearing, None, 1, {"small": True}),
    "short": (lambda: hearing(3, scatters=True, **SPARSE), None, 2, {}),
    "wide": (lambda: hearing(40, scatters=True, **SPARSE), [1, 5], 2, {}),
    "wide, everyone": (lambda: hearing(40), None, 2, {}),
    "wide, one block": (lambda: hearing(9), None, 1, {"small": True}),
}
QUICK = ("sparse", "one block", "wide")


@needs_compiler
@pytest.mark.parametrize("case", [pytest.param(c, marks=[] if c in QUICK else pytest.mark.slow) for c in CASES])
def test_emulated_runs_equal_the_independent_engine(case: str, tmp_path: Path) -> None:
    make, active, blocks, shape = CASES[case]
    graph, program = made(), make()
    run = EmulatedRun(program, graph, Variant(graph.out.indptr.dtype, **shape), blocks, {}, tmp_path)
    if case == "one block":
        assert run.plan.single_block
    check(run, program, active, 3)


@needs_compiler
def test_what_is_sent_is_rounded_where_it_arrives(tmp_path: Path) -> None:
    graph = made()
    run = EmulatedRun(
        Least, graph, Variant(graph.out.indptr.dtype, bounded_degree=True), 2, {"SEGMENT": ("2048", "16")}, tmp_path
    )
    assert run.plan.accumulates
    x = np.random.default_rng(1).choice(np.array([np.inf, 65504, 0.1, 6e-8, -np.inf, 3], np.float16), graph.n)
    for way in range(3):
        check(run, Least, [1, 5], 10**6, way, x={1: 0.1, 5: -65504})
        check(run, Least, None, 10**6, way, x=x)
    x[7] = np.nan
    check(run, Least, None, 10**6, x=x)


@needs_compiler
def test_schedules_and_numbers_to_start_with(tmp_path: Path) -> None:
    """One number for all and another for one vertex, filled in by the kernel; who reads what was before its turn."""
    graph, program = made(), hearing()
    run = test_schedule_emulated.Emulated(program, graph, {"bounded_degree": True}, tmp_path)
    assert "x" in run.plan.read_by_level
    some = np.random.default_rng(3).integers(-1, 6, graph.n)
    start = {"large": {3: 1e-7}}
    for fill in (True, False):
        found = run.run(gasla.Schedule(some), 4, 100, False, fill, start)
        reference = Reference(program(), graph, **start).run(None, 10**6, tuple(some))
        for name, values in found.items():
            np.testing.assert_array_equal(values, reference.vertex[name], err_msg=name)


@needs_compiler
@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize("length", [0, pytest.param(11, marks=pytest.mark.slow)])
def test_stages_keep_half_precision(length: int) -> None:
    program = hearing(length, scatters=True, **SPARSE)
    test_stages_emulated.check(program, lambda source: {}, True, 2, made(), 1)


def test_why_a_field_of_half_precision_takes_no_values_on_their_way() -> None:
    class Everyones(Least):
        sources = "all"

    kind = np.dtype(np.int32)
    for plan in (Plan(Everyones.traced(kind), False, False), GpuPlan(Everyones.traced(kind), Variant(kind))):
        (why,) = (text for text in sentences(plan, AUTO) if "never pushes" in text)
        assert why.endswith("(sources = 'all'): x is float16, to which apply rounds the gathered value.")
    (why,) = (text for text in sentences(Plan(Least.traced(kind), False, False), AUTO) if "next iteration" in text)
    assert why.endswith("because x is float16, to which apply rounds the gathered value.")


SHAPES: dict[str, dict[str, Any]] = {
    "rows": {"row_lanes": 4}, "renumbered": {"relabelled": True, "row_lanes": 1},
    "one block": {"small": True},
    "scheduled": {"scheduled": True, "bounded_degree": True},
    "in order": {"deterministic": True}, "staged": {"staged": True},
}  # fmt: skip


@pytest.mark.parametrize(("shape", "length"), in_turns([(shape,) for shape in SHAPES], [(0,), (3,), (33,)]))
def test_every_kernel_compiles(shape: str, length: int) -> None:
    """NVRTC also finds the struct of arguments to have the size that Python gives it."""
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    kind = np.dtype("i8" if length else "i4")
    program = hearing(length, scatters=shape == "staged", everyone=shape not in ("scheduled", "staged"))
    module = Module(program.traced(kind), Variant(kind, **SHAPES[shape]))
    size = f"static_assert(sizeof(Program::Arguments) == {ctypes.sizeof(module.struct)});"
    assert compile_source(f"{module.source}\n{size}", ("compute_80", "compute_90")[length % 2], "half")


class Rounded(gasla.VertexProgram):
    """All that is converted, in either direction."""

    half = gasla.vertex(np.float16)
    single = gasla.vertex(np.float32)
    double = gasla.vertex(np.float64)
    whole = gasla.vertex(np.int64)
    of_half = gasla.vertex(np.float32)
    of_single = gasla.vertex(np.float16)
    of_double = gasla.vertex(np.float16)
    to_whole = gasla.vertex(np.int32)
    of_whole = gasla.vertex(np.float16)
    everyone = True

    def apply(self, vertex, gathered):
        return {
            "of_half": vertex.half, "of_single": vertex.single, "of_double": vertex.double,
            "to_whole": semirings.cast(vertex.half, np.int32), "of_whole": vertex.whole,
        }  # fmt: skip


DEVICES = ["cpu", pytest.param("gpu", marks=[pytest.mark.gpu, pytest.mark.sanitize])]


@pytest.mark.parametrize("device", DEVICES)
def test_numbers_are_rounded_once_to_the_nearest(device: str) -> None:
    """All numbers of half precision, those half way between two and those beside; infinities, NaN, zeros."""
    half = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    n = len(half)
    with np.errstate(all="ignore"):
        above = np.nextafter(half, np.float16(np.inf)).astype(np.float64)
        between = np.where(np.isfinite(above), (half.astype(np.float64) + above) / 2, half)
        double = between * (1 + np.array([0, 2.0**-52, -(2.0**-52), 2.0**-30, -(2.0**-30)])[np.arange(n) % 5])
        double[:6] = [1e300, -1e-300, 65520, np.nextafter(65520, 0), -65520, 5e-324]
        single = double.astype(np.float32)
        one, other = single.astype(np.float16), double.astype(np.float16)
    assert (one != other).sum() > n // 4  # to round twice would show
    start = {"half": half, "single": single, "double": double, "whole": np.arange(n) * 3 - n}
    graph = Graph.from_edges([], [], n=n)
    found = gasla.run(Rounded, graph, device=device, max_iterations=1, **start)
    expected = gasla.run(Rounded, graph, max_iterations=1, compile=False, **start)
    np.testing.assert_array_equal(moved(found.of_half, "cpu"), half.astype(np.float32))
    for name, rounded in (("of_single", one), ("of_double", other)):
        got = moved(getattr(found, name), "cpu")
        np.testing.assert_array_equal(got, rounded, err_msg=name)
        numbers = ~np.isnan(rounded)
        np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(rounded)[numbers], err_msg=name)
    for name in ("of_half", "of_single", "of_double", "to_whole", "of_whole"):
        np.testing.assert_array_equal(moved(getattr(found, name), "cpu"), getattr(expected, name), err_msg=name)


@pytest.mark.gpu
@pytest.mark.parametrize("small", [0, 10_000], ids=["several blocks", "one block"])
@pytest.mark.parametrize("length", [0, pytest.param(3, marks=pytest.mark.sanitize), 40])
@pytest.mark.parametrize("everyone", [True, False])
def test_the_gpu_equals_the_independent_engine(
    everyone: bool, length: int, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gasla.gpu.program.workspace.SMALL", small)
    options = {"everyone": True} if everyone else SPARSE
    for program in (hearing(length, **options), hearing(length, scatters=True, **options)):
        for graph in (made(), made(1, 5), made(0, 0), made(500, 3000)):
            active = None if everyone or graph.n < 6 else [1, 5]
            reference = Reference(program(), graph).run(active, 3)
            for option in ({}, {"direction": "pull"}, {"direction": "push"}, {"deterministic": True}):
                found = gasla.run(program, graph, device="gpu", active=active, max_iterations=3, **option)
                same(found, reference)


@pytest.mark.gpu
@pytest.mark.parametrize("small", [0, 10_000], ids=["several blocks", "one block"])
@pytest.mark.parametrize("given", ["array", "on the device", "of one vertex", "number"])
def test_minima_travel_on_the_gpu(given: str, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gasla.gpu.program.workspace.SMALL", small)
    graph = made(500, 3000)
    x: Any = np.random.default_rng(1).choice(np.array([np.inf, 65504, 0.1, 6e-8, np.nan, 3], np.float16), graph.n)
    x = {"of one vertex": {3: 0.1}, "number": 0.1}.get(given, x)
    reference = Reference(Least(), graph, x=x).run(None)
    x = moved(x, "gpu") if given == "on the device" else x
    for option in ({}, {"direction": "pull"}, {"direction": "push"}, {"deterministic": True}):
        same(gasla.run(Least, graph, device="gpu", x=x, **option), reference)


@pytest.mark.gpu
def test_fields_live_in_arrays_of_the_callers() -> None:
    graph, program = made(500, 3000), hearing(40)
    x = moved(np.asarray(_between(np.arange(500), 40).T, np.float16), "gpu")
    large = moved(np.full((500, 40), 9, np.float16), "gpu")
    reference = Reference(program(), graph, x=x.get(), large=large.get()).run(None, 1)  # what the array holds
    found = gasla.run(program, graph, device="gpu", max_iterations=1, x=x, out={"large": large})
    assert found.large is large
    same(found, reference)
    np.testing.assert_array_equal(x.get(), _between(np.arange(500), 40).T)


@pytest.mark.gpu
def test_renumbered_vertices_on_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gasla.gpu.program.relabel.LEAST_EDGES", 0)
    monkeypatch.setattr("gasla.gpu.program.workspace.SMALL", 0)
    graph, program = made(3000, 30_000), hearing()
    same(gasla.run(program, graph, device="gpu", max_iterations=3), Reference(program(), graph).run(None, 3))


def same(result: gasla.Result, reference: Reference) -> None:
    """Fields of the same types, and the same numbers, as the independent engine's; aggregates, too."""
    for name, expected in {**reference.vertex, **reference.edge}.items():
        if name in result.state:
            got = moved(result.state[name], "cpu")
            assert got.dtype == np.float16
            np.testing.assert_array_equal(got.T if got.ndim == 2 else got, expected, err_msg=name)
    for name, value in reference.aggregates.items():
        assert np.asarray(moved(result.aggregates[name], "cpu")) == value, name
