"""Components over cards, without a card: ranks that are threads run them by the CPU's primitives."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph

import gasla
from gasla.cpu import primitive
from gasla.distributed.collectives import card_components, joint_primitives
from gasla.distributed.collectives.card_components import label_on_cards, largest_part, one_component
from gasla.graph.adjacency import Adjacency
from tests.distributed.test_ranks import SHAPES, over


@pytest.fixture(autouse=True)
def as_on_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_primitives, "label_components", label_on_cards)


@pytest.fixture
def skipped(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The parts whose lists are not read, of all ranks."""
    link, found = primitive.link_groups, list[int]()

    def noting(lists: Any, groups: Any, parents: Any, known: int | None) -> None:
        found.extend([] if known is None else [known])
        link(lists, groups, parents, known)

    monkeypatch.setattr(primitive, "link_groups", noting)
    return found


def check(graph: gasla.Graph, ranks: int) -> None:
    """The labels of SciPy, in the order of the least vertices, with the type of those of one process."""
    src, dst = graph.edges()
    matrix = sparse.csr_array((np.ones(graph.m), (src, dst)), shape=(graph.n, graph.n))
    count, labels = csgraph.connected_components(matrix, directed=False) if graph.n else (0, np.zeros(0, int))
    firsts = np.unique(labels, return_index=True)[1]
    found = gasla.connected_components(over(graph, ranks))
    assert found.count == count and found.labels.dtype == graph.id_dtype
    np.testing.assert_array_equal(found.labels, np.argsort(np.argsort(firsts))[labels] if graph.n else labels)


def both_ways(src: Any, dst: Any, n: int | None = None) -> gasla.Graph:
    return gasla.Graph.from_edges(np.concatenate([src, dst]), np.concatenate([dst, src]), n=n)


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str, ranks: int) -> None:
    graph = SHAPES[name]
    check(graph, ranks)
    check(both_ways(*graph.edges(), graph.n), ranks)


@settings(max_examples=100, deadline=None, database=None)
@given(st.integers(1, 40), st.data(), st.integers(1, 6), st.booleans(), st.sampled_from([1, 3, 256]))
def test_any_graph_with_any_sample(n: int, data: Any, ranks: int, symmetric: bool, sample: int) -> None:
    ends = st.lists(st.integers(0, n - 1), max_size=2 * n)
    edges = np.array([*zip(data.draw(ends), data.draw(ends), strict=False)], int).reshape(-1, 2).T
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(card_components, "SAMPLE", sample)
        check(both_ways(*edges, n) if symmetric else gasla.Graph.from_edges(*edges, n=n), ranks)


@pytest.mark.parametrize("ranks", [2, 3, 4, 7])
@pytest.mark.parametrize("degree", [0.5, 1.0, 3.0])
def test_larger_graphs(ranks: int, degree: float, skipped: list[int]) -> None:
    n, rng = 20_000, np.random.default_rng(4)
    src, dst = rng.integers(0, n, (2, int(n * degree)))
    check(gasla.Graph.from_edges(src, dst, n=n), ranks)
    assert not skipped
    check(both_ways(src, dst, n), ranks)
    if 2 * degree / ranks > 1.4:  # own neighbors of a vertex: enough for a giant component within each rank
        assert len(skipped) == ranks


def test_largest_parts_that_no_edge_joins(skipped: list[int]) -> None:
    """A ring on each of two ranks, joined by way of two vertices: only the first ring's lists are not read."""
    ring = np.arange(100)
    ends = np.repeat([310, 311, 120, 121], 5), np.concatenate([np.arange(10), np.arange(200, 210)])
    src = np.concatenate([ring, ring + 200, ends[0], [310, 311]])
    dst = np.concatenate([np.roll(ring, 1), np.roll(ring, 1) + 200, ends[1], [120, 121]])
    check(both_ways(src, dst, 320), 2)
    assert skipped == [0]


def test_largest_parts_of_two_components(skipped: list[int]) -> None:
    """A star whose leaves are on the second rank, and a path on both with more edges between them than any leaf has."""
    path = np.concatenate([np.arange(1, 100), np.arange(300, 399)])
    src = np.concatenate([np.zeros(100, int), path[:-1], [1, 2]])
    dst = np.concatenate([np.arange(200, 300), path[1:], [300, 301]])
    check(both_ways(src, dst), 2)
    assert skipped == [0]


@pytest.mark.parametrize("centre", [0, 150, 399])
@pytest.mark.parametrize("ranks", [2, 4])
def test_star_over_all_ranks(centre: int, ranks: int) -> None:
    leaves = np.delete(np.arange(400), centre)
    check(both_ways(np.full(399, centre), leaves), ranks)


def test_path_that_changes_ranks_at_each_step() -> None:
    way = np.arange(3000).reshape(3, 1000).T.ravel()
    check(both_ways(way[:-1], way[1:]), 3)


@settings(max_examples=100, deadline=None, database=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 29)), max_size=12), min_size=1, max_size=3))
def test_sampled_parts_are_in_one_component(drawn: list[list[tuple[int, int]]]) -> None:
    """Those of ranks that have a sample, and all that an edge joins to one of them."""
    samples = [np.array(pairs, int).reshape(-1, 2) + np.array([10 * rank, 0]) for rank, pairs in enumerate(drawn)]
    largest = [largest_part(sample) for sample in samples]
    found = one_component(largest)
    assert found == sorted(found) and len({part // 10 for part in found}) == len(found)
    assert bool(found) == any(drawn)
    pairs = np.concatenate(samples)
    matrix = sparse.csr_array((np.ones(len(pairs)), pairs.T), shape=(40, 40))
    labels = csgraph.connected_components(matrix, directed=False)[1]
    assert len(np.unique(labels[found])) == min(len(found), 1)
    joined = {int(each[0]): set(each[1:].tolist()) for each in largest if len(each)}
    for part, others in joined.items():
        assert part in found or not others & set(found)
        assert part not in found or others & joined.keys() <= set(found)


@settings(max_examples=100, deadline=None, database=None)
@given(st.integers(1, 12), st.integers(1, 30), st.data())
def test_groups_are_linked_as_vertices_would_be(count: int, n: int, data: Any) -> None:
    """Against a graph of the groups."""
    some = st.lists(st.integers(0, n - 1), max_size=40)
    edges = np.array([*zip(data.draw(some), data.draw(some), strict=False)], np.int32).reshape(-1, 2)
    of = st.lists(st.integers(0, count - 1), min_size=n, max_size=n)
    groups, known = np.array(data.draw(of), np.int32), data.draw(st.none() | st.integers(0, count - 1))
    graph = gasla.Graph.from_edges(*edges.T, n=n)
    forest = np.arange(count, dtype=np.int32)
    primitive.link_groups(Adjacency(graph.out.indptr, graph.out.indices), groups, forest, known)
    src, dst = groups[graph.edges()[0]], groups[graph.edges()[1]]
    read = src != (-1 if known is None else known)
    expected = np.arange(count, dtype=np.int32)
    gasla.primitives.link(gasla.Graph.from_edges(src[read], dst[read], n=count), expected)
    for each in (forest, expected):
        gasla.primitives.compress(each)
    np.testing.assert_array_equal(forest, expected)
