"""Levels at which edges are removed (`gasla.primitives.peel_edges`), against their definition."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import primitives
from gasla.cpu import primitive as cpu
from gasla.cpu.primitive import trusses
from gasla.gpu.primitive import trusses as gpu
from tests.algorithms.community.test_triangles import edge_lists, undirected, use_threads

Edges = tuple[int, np.ndarray, np.ndarray]


def ends(graph: gasla.Graph) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of each edge, in the order of the input."""
    src, dst = np.empty((2, graph.m), np.int64)
    src[graph.out.numbers()], dst[graph.out.numbers()] = graph.out.owners(), graph.out.indices
    return src, dst


def levels_of(graph: gasla.Graph, first: int, last: int | None) -> list[int]:
    """By the definition: NetworkX's truss of each level."""
    other, pairs = nx.Graph(), list(zip(*(array.tolist() for array in ends(graph))))
    other.add_edges_from(pairs)
    wanted, level = dict.fromkeys(pairs, 2**62 + 1 if last is None else last + 1), first
    while other.number_of_edges() and (last is None or level <= last):
        left = nx.k_truss(other, level + 3)
        wanted |= {pair: level for pair in pairs if other.has_edge(*pair) and not left.has_edge(*pair)}
        other, level = left, level + 1
    return [wanted[pair] for pair in pairs]


@settings(max_examples=60)
@given(edges=edge_lists(), first=st.integers(0, 4), more=st.sampled_from([None, 0, 1]), threads=st.integers(1, 3))
def test_levels_are_those_of_the_definition(edges: Edges, first: int, more: int | None, threads: int) -> None:
    n, src, dst = edges
    simple = primitives.simplify(gasla.Graph.from_edges(src, dst, n=n))
    order = np.random.default_rng(first).permutation(simple.m)
    listed = gasla.Graph.from_edges(*(array[order] for array in ends(simple)), n=n)
    for graph in (simple, listed):
        last = None if more is None else first + more
        wanted = levels_of(graph, first, last)
        with pytest.MonkeyPatch.context() as patch:
            use_threads(patch, threads)
            assert primitives.peel_edges(graph, first, last).tolist() == wanted
            patch.setattr(gpu, "count_at_edges", cpu.count_at_edges)
            patch.setattr(gpu, "orient", cpu.orient)
            assert gpu.peel_edges(graph, first, 2**62 if last is None else last).tolist() == wanted


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.integers(100, 1000), st.integers(1, 30), st.booleans())
def test_several_threads_remove_what_one_removes(seed: int, n: int, degree: int, skewed: bool) -> None:
    graph = gasla.Graph(undirected(n, n * degree, seed, skewed))
    with pytest.MonkeyPatch.context() as patch:
        use_threads(patch, 1)
        alone = primitives.peel_edges(graph)
        use_threads(patch, 3)
        np.testing.assert_array_equal(primitives.peel_edges(graph), alone)
        np.testing.assert_array_equal(primitives.peel_edges(graph, 2, 2), np.clip(alone, 2, 3))
    highest = int(alone.max(initial=0))
    left = graph.select(alone == highest)
    assert (gasla.edge_support(left) >= highest).all()


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_hubs_and_complete_graphs(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A complete graph in which each vertex also has many leaves: lists are marked, searched and shortened."""
    size, leaves = 12, 300
    a, b = np.triu_indices(size, 1)
    hub = np.repeat(np.arange(size), leaves)
    src, dst = np.append(a, hub), np.append(b, size + np.arange(size * leaves))
    both = np.append(src, dst), np.append(dst, src)
    graph = gasla.Graph.from_edges(*both)
    monkeypatch.setattr(trusses, "index_dtype", lambda edges: np.dtype(kind))  # by the number of edges, not of vertices
    inner = (both[0] < size) & (both[1] < size)
    np.testing.assert_array_equal(primitives.peel_edges(graph), np.where(inner, size - 2, 0))


def test_arguments_are_checked() -> None:
    triangle = primitives.simplify(gasla.Graph.from_edges([0, 1, 2], [1, 2, 0]))
    with pytest.raises(ValueError, match="first is -1"):
        primitives.peel_edges(triangle, -1)
    with pytest.raises(TypeError, match="last is"):
        primitives.peel_edges(triangle, 0, 1.5)
    with pytest.raises(ValueError, match="last is 1; expected first, 2, or more"):
        primitives.peel_edges(triangle, 2, 1)
    with pytest.raises(ValueError, match="not simple and undirected"):
        primitives.peel_edges(gasla.Graph.from_edges([0], [1]))
    assert primitives.peel_edges(triangle, 10**30).tolist() == [2**62] * 6
    assert primitives.peel_edges(triangle, 0, 0).tolist() == [1] * 6
