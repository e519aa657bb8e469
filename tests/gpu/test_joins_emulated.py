"""Joins of the GPU without one: the kernels by g++, with their host's own code over NumPy; and what NVRTC says."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gasla.algorithms.patterns import match_counts
from gasla.algorithms.patterns.pattern import Pattern
from gasla.algorithms.patterns.pattern_joins import counting, listing
from gasla.cpu.primitive.depth_first_joins import Joined as OnCPU
from gasla.gpu.primitive import warp_joins
from gasla.gpu.runtime.compile import compile_source
from gasla.graph.graph import Graph
from gasla.operations.joins import lists_of
from gasla.program.join_plan import JoinPlan
from tests.helpers.emulated_kernel import EmulatedKernel, library

HOUSE, BULL, RING = "0-1,1-2,2-3,3-0,0-4,1-4", "0-1,1-2,2-0,1-3,2-4", "0-1,1-2,2-3,3-4,4-0"
DIRECTED = "0>1,1>2,2>0,2>3,4>3"
THREADS = 64  # of a block: two warps, which share tables
SQUARE = "0>1,1>2,2>3,3>0"
CASES = [(HOUSE, False), (BULL, True), (RING, False), (DIRECTED, True), (SQUARE, False), ("edge", False)]


def test_compiles() -> None:
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    plans = listing(Pattern.of(DIRECTED), True), counting(Pattern.of(HOUSE), False)
    for plan, way in ((plans[0].plan, "write"), (plans[0].plan, "tally"), (plans[1].plan, "count")):
        code = compile_source(warp_joins.source(plan, way, 4, 8), "compute_90")
        assert b"__local_depot" not in code  # a match is in registers


def test_conditions_that_are_not_tested_are_refused() -> None:
    class More(JoinPlan):
        _fields = (*JoinPlan._fields, "window")  # type: ignore[assignment]
        _field_defaults = {**JoinPlan._field_defaults, "window": None}

    plan = listing(Pattern.of(HOUSE), False).plan
    with pytest.raises(NotImplementedError, match=r"conditions \(window\) that are not tested on a GPU"):
        warp_joins.source(_longer(More, plan, 5), "count", 4, 4)


def _longer(kind: Any, plan: JoinPlan, value: Any) -> Any:
    return tuple.__new__(kind, (*plan, value))


@pytest.fixture
def emulated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The host's code launches kernels by g++; arrays are NumPy's."""

    @cache
    def built(text: str, function: str) -> Any:
        return library(f"{text}using namespace gasla;", (function,), tmp_path / str(hash(text)), THREADS)

    def kernel(text: str, function: str, threads: int, blocks: int) -> Any:
        made: Any = EmulatedKernel(built(text, function), function)
        made.blocks, made.threads = 1, THREADS
        return made

    monkeypatch.setattr(warp_joins.gpu, "kernel", kernel)
    monkeypatch.setattr(warp_joins.gpu, "multiprocessors", lambda: 1)
    monkeypatch.setattr(warp_joins, "free_bytes", lambda: 1 << 28)
    monkeypatch.setattr(warp_joins, "work_page", lambda: np.zeros(2, np.uint64))
    monkeypatch.setattr(warp_joins, "wait_for_work", lambda page, count, unit: None)
    monkeypatch.setattr(warp_joins, "_MOST_BLOCKS", 32)


def same(plan: JoinPlan, lists_for: Callable[[JoinPlan], Any], kinds: Any) -> list[int]:
    """The number of matches in each block, which an engine tells as the other does."""
    lists = lists_for(plan)
    found, wanted = warp_joins.Joined(plan, lists, kinds), OnCPU(plan, lists, kinds)
    counts = found.count()
    assert sum(counts) == found.total() == sum(wanted.count())
    assert found.count(2, 3) == counts[2:5]
    assert [min(count, 3) for count in found.count(most=3)] == [min(count, 3) for count in counts]
    return counts


def drawn(pattern: Pattern) -> tuple[Callable[[JoinPlan], Any], Any]:
    """Lists for a plan, with hubs and isolated vertices, and bits of vertices, some of which are at no place."""
    rng = np.random.default_rng(5)
    n, m = (18, 60) if pattern.directed else (30, 110)
    src, dst = rng.integers(0, n, (2, m)) * rng.integers(1, 3, (2, m)) // 2
    graph = Graph.from_edges(src, dst, n=n + 3).simple()
    ordered = match_counts.by_degree(graph if pattern.directed else graph.symmetrized())[0]
    related = [ordered.select(rng.random(ordered.m) < 0.8)] if pattern.relations else []
    kinds = np.where(rng.random(ordered.n) < 0.1, rng.integers(0, 256, ordered.n), 255)
    return lambda plan: lists_of(plan, ordered, related), kinds.astype(np.uint8)


@pytest.mark.thorough
@pytest.mark.usefixtures("emulated")
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize(("text", "induced"), CASES)
def test_equals_the_cpu(text: str, induced: bool) -> None:
    pattern = Pattern.of(text)
    if text == SQUARE:
        pattern.relations, pattern.sizes = {(2, 3): frozenset({1}), (0, 1): frozenset({1})}, (88,)
    lists, kinds = drawn(pattern)
    if pattern.size > 2 and not induced:
        same(counting(pattern, induced).plan, lists, kinds)
    plans = listing(pattern, induced)
    counts = same(plans.counting, lists, kinds)
    found, wanted = (made(plans.plan, lists(plans.plan), kinds) for made in (warp_joins.Joined, OnCPU))
    np.testing.assert_array_equal(found.tally(), wanted.tally())
    takes = np.array([[0, count, before] for count, before in zip(counts, np.cumsum(counts) - counts)])
    rows = np.full((sum(counts), pattern.size), -1, np.int32)
    assert found.write(0, takes, rows) == counts
    np.testing.assert_array_equal(rows, in_order(wanted))
    skips = np.array([[count // 2, 4, 4 * block] for block, count in enumerate(counts)])
    few = np.full((4 * len(counts), pattern.size), -1, np.int32)
    written = found.write(0, skips, few)
    assert written == [min(count - count // 2, 4) for count in counts]
    for block, (count, first) in enumerate(zip(counts, np.cumsum(counts) - counts)):
        part = few[4 * block : 4 * block + written[block]]
        np.testing.assert_array_equal(part, rows[first + count // 2 :][: written[block]])


@pytest.mark.thorough
@pytest.mark.usefixtures("emulated")
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_without_memory_for_tables_the_number_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = counting(Pattern.of(RING), False).plan
    lists, kinds = drawn(Pattern.of(RING))[0], np.full(33, 255, np.uint8)
    number = sum(OnCPU(plan, lists(plan), kinds).count())
    same(match_counts.CYCLES, lists, kinds)
    monkeypatch.setattr(warp_joins, "free_bytes", lambda: 8)
    assert plan.tabled and warp_joins.Joined(plan, lists(plan), kinds).total() == number


def in_order(joined: OnCPU) -> Any:
    """The rows that the CPU writes, of all blocks one after another."""
    counts = np.array(joined.count(), np.int64)
    rows = np.empty((counts.sum(), joined.plan.size), np.int32)
    joined.write(0, np.stack([np.zeros_like(counts), counts, np.cumsum(counts) - counts], axis=1), rows)
    return rows
