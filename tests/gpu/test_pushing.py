"""Tuples and vectors that push on the GPU: as NVRTC compiles them, on an emulated grid, and on a device."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gasla
from gasla.arrays import moved
from gasla.gpu.program.generate import Module
from gasla.gpu.program.plan import GpuPlan, Variant
from gasla.gpu.runtime.compile import compile_source
from tests.helpers.emulated_loop import EmulatedRun
from tests.helpers.pushing_programs import ABSORBING, PROGRAMS, Both, ByTotal, Finders, Halves, Sources
from tests.helpers.reference_engine import Reference
from tests.program.test_pushing import GRAPHS, starts

pytestmark = pytest.mark.thorough

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
IDS = np.dtype(np.int32), np.dtype(np.int64)
SHAPES: dict[str, tuple[dict[str, bool], int]] = {
    "wide": ({}, 2),
    "thin": ({"bounded_degree": True, "local": True}, 2),
    "small": ({"small": True}, 1),
}
QUICK = [
    *[("Sources", "wide", "random"), ("Sources", "thin", "star"), ("ByTotal", "thin", "random")],
    *[("Both", "thin", "random"), ("Halves", "wide", "star"), ("Finders", "wide", "random")],
]


def limit_of(program: Any) -> int:
    return 10**6 if program in ABSORBING else 6


def check(program: Any, fields: Any, expected: Reference) -> None:
    for name in program.vertex_fields:
        got = moved(fields[name], "cpu")
        if program is Finders and name == "parent":  # any of those found at once
            assert (got >= 0).tolist() == (expected.vertex[name] >= 0).tolist()
        else:
            np.testing.assert_array_equal(got.T if got.ndim == 2 else got, expected.vertex[name], err_msg=name)


@pytest.mark.parametrize("program", [Sources, Halves])
def test_nvrtc_compiles_them(program: Any) -> None:
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    for ids, shape in ((IDS[0], {"bounded_degree": True}), (IDS[1], {})):
        assert compile_source(Module(program.traced(ids), Variant(ids, **shape)).source, "compute_90")


@pytest.mark.slow
@pytest.mark.parametrize("program", [*PROGRAMS, Finders])
def test_nvrtc_compiles_all_shapes_of_them(program: Any) -> None:
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    for ids in IDS:
        for shape in ({}, {"bounded_degree": True}, {"small": True}, {"staged": True}, {"deterministic": True}):
            assert compile_source(Module(program.traced(ids), Variant(ids, **shape)).source, "compute_90")


@needs_compiler
@pytest.mark.parametrize(
    ("program", "shape", "graph"),
    [
        pytest.param(*case, id="-".join(names), marks=[] if names in QUICK else [pytest.mark.slow])
        for program in (*PROGRAMS, Finders)
        for shape in SHAPES
        for graph in ("random", "star", "path", "loops", "parallel", "one")
        for case, names in [((program, shape, graph), (program.__name__, shape, graph))]
    ],
)
def test_an_emulated_grid_gives_what_the_independent_engine_gives(
    program: Any, shape: str, graph: str, tmp_path: Path
) -> None:
    (options, blocks), given = SHAPES[shape], starts(program, GRAPHS[graph].n)
    expected = Reference(program(), GRAPHS[graph], **given).run(None, limit_of(program))
    kernel = EmulatedRun(program, GRAPHS[graph], Variant(IDS[0], **options), blocks, {}, tmp_path)
    for way in (0, 1, 2) if blocks > 1 else (2,):
        for pieces in (10**6, 2):
            fields = kernel.run(None, way=way, limit=limit_of(program), at_once=pieces, delta=4.0, **given)
            check(program, fields, expected)


def test_who_waits_is_noted_where_there_are_several_parts() -> None:
    assert GpuPlan(Sources.traced(IDS[0]), Variant(IDS[0])).waits
    assert GpuPlan(ByTotal.traced(IDS[0]), Variant(IDS[0])).waits
    assert not GpuPlan(Sources.traced(IDS[0]), Variant(IDS[0], small=True)).waits
    assert not GpuPlan(Both.traced(IDS[0]), Variant(IDS[0])).waits


@pytest.mark.gpu
@pytest.mark.parametrize("program", [*PROGRAMS, Finders])
def test_a_device_gives_what_the_independent_engine_gives(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for small in (10_000, 0):
        monkeypatch.setattr("gasla.gpu.program.workspace.SMALL", small)
        for name, graph in GRAPHS.items():
            given = starts(program, graph.n)
            expected = Reference(program(), graph, **given).run(None, limit_of(program))
            ways: list[dict[str, Any]] = [{"direction": way} for way in ("auto", "push", "pull")]
            for options in (*ways, {"deterministic": True}):
                result = gasla.run(program, graph, device="gpu", max_iterations=limit_of(program), **options, **given)
                check(program, result.state, expected)
                assert name or result.converged


@pytest.mark.gpu
def test_many_threads_reduce_into_one_vertex_of_a_device() -> None:
    """A star of many leaves, all of which send to the hub at once, and which then sends to all of them."""
    leaves = np.arange(1, 300_001)
    hub = np.zeros(len(leaves), np.int64)
    graph = gasla.Graph.from_edges(
        np.append(leaves, hub), np.append(hub, leaves), np.random.default_rng(1).integers(1, 9, 2 * len(leaves))
    )
    distance = np.full((graph.n, 8), np.inf, np.float32)
    distance[np.arange(8) * 17, np.arange(8)] = 0
    expected = gasla.run(Sources, graph, distance=distance).distance
    for program in (Sources, ByTotal):
        for way in ("auto", "push", "pull"):
            result = gasla.run(program, graph, device="gpu", direction=way, distance=distance)
            np.testing.assert_array_equal(moved(result.distance, "cpu"), expected)
    sums = gasla.run(Halves, graph, max_iterations=3)
    found = gasla.run(Halves, graph, device="gpu", direction="push", max_iterations=3)
    np.testing.assert_allclose(moved(found.sums, "cpu"), sums.sums, rtol=1e-9)
    np.testing.assert_array_equal(moved(found.odd, "cpu"), sums.odd)
