"""Kernels of the GPU alone, against loops over vertices and the CPU's programs: `gasla.operations.in_order`."""

from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla import Graph, datasets, engines, primitives
from gasla.algorithms.components.is_bipartite import two_sides
from gasla.arrays import module_of
from gasla.cli.compute import on_host
from gasla.operations.in_order import narrowed
from tests.algorithms.components.test_bipartite_and_bridges import SHAPES
from tests.gpu.test_coloring_emulated import complete, one_by_one
from tests.gpu.test_independent_set_emulated import JOINED, LEFT
from tests.gpu.test_independent_set_emulated import one_by_one as set_one_by_one

LARGE = {
    "complete": lambda: complete(1100),  # more colors than a window has
    "grid": lambda: Graph(datasets.grid(12)),
    "rmat": lambda: Graph(datasets.rmat(11)),
    "random": lambda: Graph.from_edges(*np.random.default_rng(1).integers(0, 3000, (2, 9000)), n=3000),
    "star": lambda: Graph.from_edges(np.zeros(5000, np.int64), np.arange(1, 5001)),
}
ALL: dict[str, Any] = {**SHAPES, **LARGE}


@pytest.mark.parametrize("device", ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("name", ALL)
def test_colors_are_those_of_a_loop(name: str, device: Any) -> None:
    graph, random = ALL[name](), np.random.default_rng(4)
    xp, here = module_of(device), graph.to(device)
    for ranks in (np.diff(graph.both.indptr), random.integers(0, 5, graph.n), random.permutation(graph.n)):
        order = np.lexsort((np.arange(graph.n), ranks))[::-1]
        found = on_host(primitives.color_in_order(here, xp.asarray(ranks)))
        np.testing.assert_array_equal(found, one_by_one(graph, order, np.full(graph.n, -1)))
        given = np.where(random.random(graph.n) < 0.2, random.integers(0, 2, graph.n), -1)
        kept = given.copy()
        found = on_host(primitives.color_in_order(here, xp.asarray(ranks), xp.asarray(given)))
        np.testing.assert_array_equal(found, one_by_one(graph, order, given.copy()))
        np.testing.assert_array_equal(given, kept)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, np.uint64])
def test_ranks_of_any_integers_and_signs(dtype: Any) -> None:
    graph, most = Graph.from_edges(*np.random.default_rng(2).integers(0, 300, (2, 900)), n=300), np.iinfo(dtype)
    ranks = np.random.default_rng(3).integers(most.min, most.max, graph.n, dtype, endpoint=True)
    for given in (ranks, ranks // 4 * 3, np.full(graph.n, most.min, dtype)):
        order = np.lexsort((np.arange(graph.n), given))[::-1]
        expected = one_by_one(graph, order, np.full(graph.n, -1))
        np.testing.assert_array_equal(primitives.color_in_order(graph, given), expected)


def test_colors_that_are_larger_than_all_others_need_no_memory() -> None:
    path = Graph.from_edges([0, 1], [1, 2])
    given = np.array([2**31 - 1, -1, -5])
    assert primitives.color_in_order(path, [3, 2, 1], given).tolist() == [2**31 - 1, 0, 1]


def test_numbers_that_do_not_fit_are_refused() -> None:
    """They wrapped: a rank of -1 was that of a vertex in the set, and a color of 2**31 was none."""
    for given in ([-1, 0], [0, 2**32], np.array([0, 2**64 - 1], np.uint64)):
        with pytest.raises(ValueError, match="ranks has numbers that uint32 does not hold; expected 0 to 4294967295"):
            narrowed("ranks", np.array(given), np.uint32)
    for dtype in (np.uint8, np.int16, np.uint32, np.int64, np.uint64):
        assert narrowed("ranks", np.array([0, 7], dtype), np.uint32).tolist() == [0, 7]
    path = Graph.from_edges([0], [1])
    for color in (2**31, 2**64 - 1):
        with pytest.raises(ValueError, match="colors has numbers that int32 does not hold"):
            primitives.color_in_order(path, [1, 0], np.array([color, 0], np.uint64))
    assert primitives.color_in_order(path, [1, 0], np.array([3, -(2**40)])).tolist() == [3, 0]


@pytest.mark.parametrize("name", ALL)
def test_the_cpus_colors_are_those_of_programs(name: str) -> None:
    graph = ALL[name]()
    for options in ({}, {"strategy": "random_sequential", "seed": 3}, {"priority": np.arange(graph.n) % 7}):
        expected = gasla.greedy_color(graph, **options)
        with engines.programs_only():
            np.testing.assert_array_equal(gasla.greedy_color(graph, **options), expected)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ALL)
def test_sets_are_those_of_one_thread(name: str) -> None:
    import cupy

    graph, random = ALL[name](), np.random.default_rng(4)
    for most in (2, 5, 2**30):
        ranks = random.integers(1, most, graph.n).astype(np.uint32)
        found = primitives.decide_in_order(graph.to("gpu"), cupy.asarray(ranks)).get()
        np.testing.assert_array_equal(found, set_one_by_one(graph, ranks) == JOINED)
    assert LEFT not in set_one_by_one(graph, ranks)[found]


@pytest.mark.gpu
@pytest.mark.parametrize("name", ALL)
def test_sides_and_algorithms_are_those_of_programs(name: str) -> None:
    graph = ALL[name]()
    on_gpu = graph.to("gpu")
    np.testing.assert_array_equal(primitives.label_sides(on_gpu).get(), two_sides(graph, loops=True))
    for function in (gasla.greedy_color, gasla.maximal_independent_set):
        expected = function(graph)
        np.testing.assert_array_equal(function(on_gpu).get(), expected)
        with engines.programs_only():
            np.testing.assert_array_equal(function(on_gpu).get(), expected)


def test_other_graphs_are_refused() -> None:
    path = Graph.from_edges([0, 1], [1, 2])
    calls = (
        lambda: primitives.label_sides(path),
        lambda: primitives.decide_in_order(path, np.arange(3)),
    )
    for call in calls:
        with pytest.raises(TypeError, match=r"in the memory of a GPU, and this one is on the cpu: graph.to\('gpu'\)"):
            call()
    assert not primitives.fits_one_card(path)


@pytest.mark.gpu
def test_wrong_arrays_are_refused() -> None:
    import cupy

    path = Graph.from_edges([0, 1], [1, 2]).to("gpu")
    for wrong in (cupy.arange(2), cupy.ones(3)):
        with pytest.raises(ValueError, match="expected 3 integers"):
            primitives.color_in_order(path, wrong)
        with pytest.raises(ValueError, match="expected 3 integers"):
            primitives.decide_in_order(path, wrong)
        with pytest.raises(ValueError, match="colors has type"):
            primitives.color_in_order(path, cupy.arange(3), wrong)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("kind", [None, "f4", "f8", "i1", "u2", "bool"])
def test_forests_are_those_of_the_cpu(name: str, kind: str | None) -> None:
    """Few different weights: the order of ties decides. Graphs are not symmetric, and symmetric with sorted lists."""
    graph, random = ALL[name](), np.random.default_rng(7)
    weights = None if kind is None else random.integers(-2 if kind[0] in "fi" else 0, 3, graph.m).astype(kind)
    valued = graph if weights is None else graph.with_values(weights)
    for each in (valued, valued.symmetrized(semirings.min)):
        expected = gasla.minimum_spanning_forest(each)
        for _ in range(3):
            found = gasla.minimum_spanning_forest(each.to("gpu"))
            np.testing.assert_array_equal(found.edges.get(), expected.edges)
            assert found.total == expected.total
