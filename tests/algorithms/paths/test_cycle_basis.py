"""Cycle bases: independent cycles, as many as NetworkX finds, and short."""

from collections import Counter
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import Graph, verify
from gasla.arrays import moved
from gasla.graph import memory_limit
from gasla.operations.vertex_lists import VertexLists
from tests.algorithms.community.test_edge_support import DEVICES, HARD, on
from tests.algorithms.components.test_chain_decomposition import lists_of, rows_of
from tests.helpers.law import Answer, Asked, Row, only
from tests.helpers.mutants import ALL, Array, Question, Questions, Small
from tests.helpers.mutants import Asked as Questioned


def on_host(found: Any) -> VertexLists:
    """Lists that may be on a GPU, in host memory."""
    return VertexLists(moved(found.indptr, "cpu"), moved(found.vertices, "cpu"))


def based(q: Asked) -> Answer:
    found = on_host(gasla.cycle_basis(q.given))
    q.check(verify.cycle_basis, found)
    return {"count": len(found), "vertices": q.was[found.vertices], "lengths": found.lengths}


LAWS = [Row("cycle_basis", based, renamed=only("another basis: verified", "count"))]


def edges_on(row: list[int]) -> list[frozenset[int]]:
    return [frozenset(pair) for pair in pairwise([*row, row[0]])]


def right(graph: nx.Graph, rows: list[list[int]] | None) -> bool:
    """Whether cycles are enough by number, and independent by the edges that only one of them has."""
    if rows is None or not all(0 <= v < len(graph) for row in rows for v in row):
        return False
    counts = Counter(edge for row in rows for edge in edges_on(row))
    if any(len({*row}) < len(row) or len(row) == 2 or counts[edges_on(row)[-1]] > 1 for row in rows):
        return False
    if not all(graph.has_edge(u, v) for row in rows for u, v in pairwise([*row, row[0]])):
        return False
    return len(rows) == graph.number_of_edges() - len(graph) + nx.number_connected_components(graph)


def questions(g: Small) -> Questioned:
    """The question to the verifier: the cycles of a spanning forest, found by NetworkX."""
    graph = g.directed.to_undirected()
    forest = nx.minimum_spanning_tree(g.simple)
    rows = [nx.shortest_path(forest, u, v) for u, v in graph.edges if u == v or not forest.has_edge(u, v)]

    def check(indptr: Array, vertices: Array) -> None:
        verify.cycle_basis(g.matrix, VertexLists(indptr, vertices))

    yield Question(check, lists_of(rows), lambda **a: right(graph, rows_of(**a)))


QUESTIONS: Questions = {"cycle_basis": (questions, ALL)}


def check_basis(device: Any, edges: tuple[int, Array, Array]) -> None:
    """Cycles are a basis, in any order of the edges the same, and span what NetworkX's span."""
    n, src, dst = edges
    graph, simple = on(device, edges), nx.Graph()
    simple.add_nodes_from(range(n))
    simple.add_edges_from(zip(src.tolist(), dst.tolist(), strict=True))
    found = gasla.cycle_basis(graph)
    assert found.vertices.dtype == graph.id_dtype and found.indptr.dtype == np.int64
    rows = on_host(found).tolist()
    verify.cycle_basis(graph.to("cpu"), on_host(found))
    assert right(simple, rows)
    assert on_host(gasla.cycle_basis(on(device, (n, dst[::-1], src[::-1])))).tolist() == rows
    numbers = {frozenset(edge): i for i, edge in enumerate(simple.edges)}
    both = np.zeros((2 * len(rows), len(numbers)), np.int64)
    for i, row in enumerate([*rows, *nx.cycle_basis(simple)]):
        for edge in edges_on(row):
            both[i, numbers[edge]] = 1
    assert rank(both[: len(rows)]) == rank(both[len(rows) :]) == rank(both) == len(rows)


def rank(rows: Array) -> int:
    """The rank of bits, by elimination."""
    left, found = [int("".join(map(str, row)), 2) if len(row) else 0 for row in rows.tolist()], 0
    while left:
        if pivot := left.pop():
            found += 1
            low = pivot & -pivot
            left = [x ^ pivot if x & low else x for x in left]
    return found


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", HARD)
def test_hard_shapes(device: Any, shape: str) -> None:
    check_basis(device, HARD[shape])


@pytest.mark.parametrize("device", DEVICES)
@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(0, 30), st.integers(0, 10**6))
def test_random_graphs(device: Any, n: int, m: int, seed: int) -> None:
    check_basis(device, (n, *np.random.default_rng(seed).integers(0, n, (2, m))))


@pytest.mark.parametrize("device", DEVICES)
def test_cycles_of_a_grid_are_short_and_those_of_a_ring_are_long(device: Any) -> None:
    grid = Graph.from_networkx(nx.convert_node_labels_to_integers(nx.grid_2d_graph(30, 40))).to(device)
    found = on_host(gasla.cycle_basis(grid))
    verify.cycle_basis(grid.to("cpu"), found)
    assert len(found) == 29 * 39 and found.lengths.max() <= 2 * (29 + 39)
    ring = Graph.from_edges(np.arange(5001), (np.arange(5001) + 1) % 5001).to(device)
    assert on_host(gasla.cycle_basis(ring)).lengths.tolist() == [5001]


def test_names_lead_to_vertices() -> None:
    graph = Graph.from_networkx(nx.Graph([("a", "b"), ("b", "c"), ("c", "a")]))
    assert [graph.name(v) for v in gasla.cycle_basis(graph)[0]] == ["b", "a", "c"]


def test_what_does_not_fit_memory_is_refused_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 100
    ring = Graph.from_edges(np.arange(n), (np.arange(n) + 1) % n)
    monkeypatch.setattr(memory_limit, "LARGE", 1)
    monkeypatch.setattr(memory_limit, "available", lambda device: 10)
    with pytest.raises(MemoryError, match=r"the cycles have 100 entries"):
        gasla.cycle_basis(ring)
