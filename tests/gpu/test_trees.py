"""Numbered trees on both engines: any spanning forest may be found, but each must be one, and its numbers must fit."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gasla
from gasla import Graph, datasets, primitives
from gasla.arrays import moved
from gasla.cli.compute import on_host
from gasla.gpu.primitive import forest
from gasla.gpu.runtime.compile import compile_source
from tests.algorithms.components.test_bipartite_and_bridges import SHAPES
from tests.helpers.in_turns import in_turns

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]


@pytest.fixture
def cupy() -> ModuleType:
    return pytest.importorskip("cupy")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("sizes", "architecture"),
    in_turns([((4, 4),), ((4, 8),), ((8, 4),), ((8, 8),)], [("compute_80",), ("compute_90",)]),
)
def test_compiles(cupy: ModuleType, architecture: str, sizes: tuple[int, int]) -> None:
    assert compile_source(forest.source(*sizes, "trees"), architecture)


def check_trees(graph: Graph, parents: Any, numbers: Any, sizes: Any) -> None:
    """Hold the trees of a simple graph against what trees are."""
    n, ids = graph.n, np.arange(graph.n)
    labels = gasla.connected_components(graph).labels
    smallest = np.unique(labels, return_index=True)[1]
    is_root = parents == ids
    np.testing.assert_array_equal(np.flatnonzero(is_root), np.sort(smallest))
    np.testing.assert_array_equal(labels[parents], labels)
    src, dst = graph.edges()
    edges = set(zip(src.tolist(), dst.tolist(), strict=True))
    assert all(pair in edges for pair in zip(ids[~is_root].tolist(), parents[~is_root].tolist(), strict=True))
    np.testing.assert_array_equal(np.sort(numbers), ids)
    below = ids[~is_root]
    assert (numbers[parents[below]] < numbers[below]).all()  # so there is no cycle
    expected = np.ones(n, np.int64)
    for v in np.argsort(-numbers):
        if parents[v] != v:
            expected[parents[v]] += expected[v]
    np.testing.assert_array_equal(sizes, expected)
    assert ((numbers + sizes)[below] <= (numbers + sizes)[parents[below]]).all()
    assert parents.dtype == numbers.dtype == sizes.dtype


def check_extremes(trees: Any, values: Any, found: Any) -> None:
    """Hold extremes against those of a pass up the trees."""
    parents, numbers, _ = trees
    low, high = values[0].copy(), values[1].copy()
    for v in np.argsort(-numbers):
        low[parents[v]] = min(low[parents[v]], low[v])
        high[parents[v]] = max(high[parents[v]], high[v])
    np.testing.assert_array_equal(found[0], low)
    np.testing.assert_array_equal(found[1], high)


def check(given: Graph, device: Any) -> None:
    graph = primitives.simplify(given)
    there = graph.to(device)
    trees = primitives.number_trees(there)
    arrays = on_host(trees.parents), on_host(trees.numbers), on_host(trees.sizes)
    check_trees(graph, *arrays)
    values = [np.random.default_rng(i).integers(0, 1 << 30, graph.n).astype(graph.id_dtype) for i in range(2)]
    copies = [moved(each.copy(), device) for each in values]
    found = trees.extremes(*copies)
    check_extremes(arrays, values, [on_host(each) for each in found])
    np.testing.assert_array_equal(on_host(copies[0]), values[0])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_hard_shapes(device: Any, shape: str) -> None:
    check(SHAPES[shape](), device)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["grid", "rmat", "shuffled path", "stars", "isolated"])
def test_many_vertices(name: str) -> None:
    rng = np.random.default_rng(5)
    if name in ("grid", "rmat"):
        check(Graph(getattr(datasets, name)(14)), "gpu")
    elif name == "shuffled path":
        order = rng.permutation(50_000)
        check(Graph.from_edges(order[1:], order[:-1]), "gpu")
    elif name == "stars":
        check(Graph.from_edges(rng.integers(0, 3, 60_000), np.arange(60_000)), "gpu")
    else:
        check(Graph.from_edges([5], [9000], n=40_000), "gpu")


def test_what_is_not_of_trees_is_refused() -> None:
    graph = primitives.simplify(Graph.from_edges([0, 1], [1, 2]))
    trees = primitives.number_trees(graph)
    with pytest.raises(ValueError, match=r"an array is int32\(2,\) on the cpu; expected int32\(3,\) on the cpu"):
        trees.extremes(trees.numbers[:2], trees.numbers)
    with pytest.raises(TypeError, match="expected an array of int32 or int64"):
        trees.extremes([1, 2, 3], trees.numbers)
    with pytest.raises(TypeError, match="expected Trees"):
        primitives.link(graph, np.arange(3, dtype=np.int32), across=(trees.numbers, trees.sizes))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not symmetric"):
        primitives.link(Graph.from_edges([0, 1], [1, 2]), np.arange(3, dtype=np.int32), across=trees)
    assert repr(trees) == "Trees(3 vertices)"
