"""Walks and samples of the GPU without one: the kernels by g++, against the CPU's, and what NVRTC says."""

import shutil
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gasla.cpu.primitive import draw_samples as cpu_drawing
from gasla.cpu.program import walk_runs as cpu_walks
from gasla.engines import Draws
from gasla.gpu.primitive import sampling
from gasla.gpu.program import walk_runs
from gasla.gpu.runtime.compile import compile_source
from gasla.graph.adjacency import Adjacency
from gasla.program.walk_plan import WalkBinding, walk_plan
from tests.helpers.emulated_kernel import EmulatedKernel, library
from tests.helpers.walk_programs import PROGRAMS, fields_of, graph_of

pytestmark = pytest.mark.thorough

KEY = 2**64 - 12345
NAMES = ["RandomWalk", "Node2Vec", "Everything"]


@pytest.mark.parametrize("name", NAMES)
def test_compiles(name: str) -> None:
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    for architecture, size, weighted in (("compute_90", 4, False), ("compute_80", 8, True)):
        plan = walk_plan(PROGRAMS[name], np.dtype(f"i{size}"))
        assert compile_source(walk_runs.source(plan, size, weighted), architecture)


def test_sums_and_samples_compile() -> None:
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    assert compile_source(sampling.source(8, 8), "compute_80")


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize(("name", "weighted"), [("RandomWalk", True), ("Node2Vec", False), ("Everything", True)])
def test_equals_the_cpu(name: str, weighted: bool, tmp_path: Path) -> None:
    graph = graph_of(np.int64 if weighted else np.int32)
    walking = WalkBinding(PROGRAMS[name](), graph, fields_of(PROGRAMS[name], graph))
    source = walk_runs.source(walking.plan, graph.out.indptr.dtype.itemsize, weighted)
    kernel = EmulatedKernel(library(source, ("walk",), tmp_path / "built"), "walk")
    starts = np.random.default_rng(5).integers(0, graph.n, 300).astype(np.int32)
    assert graph.out_values is not None
    weights = None
    if weighted:
        sums = cpu_drawing.list_sums(graph.out, graph.out_values)
        weights = sums, cpu_drawing.list_guides(graph.out, sums)
    for steps, first in (
        (30, 0),
        (0, 0),
        (1, 7),
        (2, 1),
        (3, 2**33),
        (8, 0),
    ):  # rows that begin anywhere within 16 bytes, and end there
        walks, complaint = np.full((300, steps + 1), -7, np.int32), np.zeros(4, np.uint64)
        kernel.plain(1, *map(numbers, walk_runs.arguments(walking, starts, first, KEY, weights, complaint, walks)))
        walk_runs.raise_first_error(walking, complaint)
        np.testing.assert_array_equal(walks, cpu_walks.walk(walking, starts, steps, KEY, weights, first))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_a_complaint_is_noted(tmp_path: Path) -> None:
    graph = graph_of(np.int32)
    walking = WalkBinding(PROGRAMS["Wrong"](), graph, {})
    kernel = EmulatedKernel(library(walk_runs.source(walking.plan), ("walk",), tmp_path / "built"), "walk")
    starts, complaint, walks = np.zeros(1, np.int32), np.zeros(4, np.uint64), np.zeros((1, 6), np.int32)
    kernel.plain(1, *map(numbers, walk_runs.arguments(walking, starts, 0, KEY, None, complaint, walks)))
    with pytest.raises(
        ValueError, match=r"Wrong.accept gives 3.0 for walker 0 in step 2; expected a number from 0 to 2"
    ):
        walk_runs.raise_first_error(walking, complaint)


def numbers(given: Any) -> Any:
    """Numbers of other types than the emulated launch knows, as arrays of no dimension."""
    return np.asarray(given) if isinstance(given, np.generic) and not isinstance(given, np.uint64) else given


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_sums_and_samples_equal_the_cpu(tmp_path: Path) -> None:
    graph = graph_of(np.int64)
    lists, values, n = graph.out, graph.out_values, np.uint64(graph.n)
    built = library(
        f"{sampling.source(4, lists.indptr.dtype.itemsize)}using namespace gasla;",
        ("sum_lists", "guide_lists", "begin_samples", "sample"),
        tmp_path / "b",
    )
    assert values is not None
    sums = np.full(graph.m, np.nan)
    for kind in (np.float32, np.float64):
        weights = values.astype(kind)
        weights[:9] = np.finfo(kind).smallest_subnormal
        single = np.asarray(kind == np.float32)
        EmulatedKernel(built, "sum_lists").plain(1, n, lists.indptr, weights, single, sums)
        np.testing.assert_array_equal(sums, cpu_drawing.list_sums(lists, weights))
    guides = np.full(graph.m, 7, np.uint32)
    EmulatedKernel(built, "guide_lists").plain(1, n, lists.indptr, sums, guides)
    np.testing.assert_array_equal(guides, cpu_drawing.list_guides(lists, sums))
    ids = np.random.default_rng(5).integers(0, graph.n, 300).astype(np.int32)
    kernel, counts = EmulatedKernel(built, "sample"), EmulatedKernel(built, "begin_samples")
    of_edges = lists.indptr[:-1][ids] + np.arange(300) % 3, lists.indptr[1:][ids]
    bounds = np.stack([np.minimum(*of_edges), of_edges[1]], axis=1).ravel()  # of parts of the lists, as with times
    parts = Adjacency(bounds, lists.indices, lists.numbers()), 2 * np.arange(300, dtype=np.int32)
    cases = [*product((False, True), (None, (sums, guides)), (0, 6, 40), [(lists, ids)])]
    for replace, weights, k, (lists, ids) in [*cases, *product((False, True), [None], (0, 6, 40), [parts])]:
        found, given = np.full((300, k), -7, np.int32), Draws(KEY, replace, weights)
        kernel.plain(1, *map(numbers, sampling.arguments(lists, ids, None, k, 0, given, (found, None, None))))
        np.testing.assert_array_equal(found, cpu_drawing.sample(lists, ids, k, given))
        expected = cpu_drawing.sample_lists(lists, ids, k, 9, given)
        firsts, scratch = np.full(301, -7), (np.empty(1, np.uint64), np.zeros(1, np.uint64))
        counts.plain(1, np.uint64(300), np.uint64(k), lists.indptr, ids, np.bool_(replace), *scratch, firsts)
        assert firsts[0] == 0 and np.array_equal(np.repeat(np.arange(9, 309), np.diff(firsts)), expected[2])
        drawn = tuple(np.full(len(expected[0]), -7, array.dtype) for array in expected)
        kernel.plain(1, *map(numbers, sampling.arguments(lists, ids, firsts, k, 9, given, drawn)))
        for one, other in zip(drawn, expected):
            np.testing.assert_array_equal(one, other)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("size", [4, 8])
def test_distinct_vertices_are_numbered_as_by_the_cpu(size: int, tmp_path: Path) -> None:
    built = library(f"{sampling.source(size, size)}using namespace gasla;", ("append_distinct",), tmp_path / "b")
    kernel, rng, kind = EmulatedKernel(built, "append_distinct"), np.random.default_rng(3), np.dtype(f"i{size}")
    for known, count, of in ((0, 1, 9), (5, 0, 9), (0, 700, 9), (300, 900, 500), (300, 900, 10**6), (1, 64, 2)):
        vertices, found = rng.permutation(of)[:known].astype(kind), rng.integers(0, of, count, kind)
        most = len(vertices) + count
        table, scratch = np.full(1 << (2 * most).bit_length(), -1), (np.empty(1, np.uint64), np.zeros(1, np.uint64))
        mine, at, total = np.full(most, -7, kind), np.full(count, -7), np.zeros(1, np.int64)
        lengths = np.uint64(len(vertices)), np.uint64(count)
        kernel.plain(
            1, vertices, lengths[0], found, lengths[1], table, np.uint64(len(table)), *scratch, mine, at, total
        )
        expected = cpu_drawing.append_distinct(vertices, found)
        np.testing.assert_array_equal(mine[: total[0]], expected[0])
        np.testing.assert_array_equal(at, expected[1])
