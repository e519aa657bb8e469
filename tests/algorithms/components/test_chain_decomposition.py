"""Chains cover all edges but bridges, as NetworkX finds these."""

from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import Graph, verify
from gasla.operations.vertex_lists import VertexLists
from tests.algorithms.community.test_edge_support import HARD, on, peer
from tests.helpers.law import Answer, Asked, Row, only
from tests.helpers.mutants import ALL, Array, Question, Questions, Small
from tests.helpers.mutants import Asked as Questioned


def steps(row: Any) -> list[tuple[int, int]]:
    """The edges along a list of vertices."""
    return [(min(u, v), max(u, v)) for u, v in pairwise(row)]


def lists_of(rows: list[list[int]]) -> dict[str, Array]:
    """The parts of vertex lists."""
    return {"indptr": np.cumsum([0, *map(len, rows)]), "vertices": np.array([v for row in rows for v in row], np.int32)}


def rows_of(indptr: Array, vertices: Array) -> list[list[int]] | None:
    """Lists of vertices of which none is empty; None if the offsets are wrong."""
    ends = indptr.tolist()
    if ends[:1] != [0] or ends[-1] != len(vertices) or (np.diff(indptr) < 1).any():
        return None
    return VertexLists(indptr, vertices).tolist()


def chained(q: Asked) -> Answer:
    found = gasla.chain_decomposition(q.given)
    q.check(verify.chain_decomposition, found)
    edges = [pair for row in found for pair in steps(q.was[row].tolist())]
    return {"edges": sorted(edges), "count": len(found), "vertices": q.was[found.vertices], "lengths": found.lengths}


LAWS = [
    Row("chain_decomposition", chained, gpu=False, renamed=only("other chains: verified", "edges", "count")),
]


def right(graph: nx.Graph, rows: list[list[int]] | None) -> bool:
    """Whether chains are cycles, or paths between earlier ones of a component, and cover all edges but bridges."""
    done = nx.Graph()
    for row in rows or []:
        if len(row) < 2 or not nx.is_path(graph, row) or {*row[1:-1]} & {*done} or len({*row[1:]}) < len(row) - 1:
            return False
        if done.has_edge(row[0], row[-1]) and len(row) == 2:
            return False
        if row[0] == row[-1]:
            if len(row) < 4:
                return False
        elif not ({row[0], row[-1]} <= {*done} and nx.has_path(done, row[0], row[-1]) and row[-1] not in row[:-1]):
            return False
        nx.add_path(done, row)
    bridges = {frozenset(pair) for pair in nx.bridges(graph)}
    return rows is not None and {frozenset(pair) for pair in done.edges} == {
        pair for pair in map(frozenset, graph.edges) if pair not in bridges
    }


def questions(g: Small) -> Questioned:
    """The question to the verifier."""
    chains = [[u for u, _ in chain] + [chain[-1][1]] for chain in nx.chain_decomposition(g.simple)]

    def check(indptr: Array, vertices: Array) -> None:
        verify.chain_decomposition(g.matrix, VertexLists(indptr, vertices))

    yield Question(check, lists_of(chains), lambda **a: right(g.simple, rows_of(**a)))


QUESTIONS: Questions = {"chain_decomposition": (questions, ALL)}


def check_chains(edges: tuple[int, Array, Array]) -> None:
    """Chains are right, and the same whatever the order of the edges."""
    n, src, dst = edges
    graph, simple = on("cpu", edges), peer(*edges)
    found = gasla.chain_decomposition(graph)
    verify.chain_decomposition(graph, found)
    assert right(simple, found.tolist())
    assert found.vertices.dtype == graph.id_dtype and found.indptr.dtype == np.int64
    assert len(found) == len([*nx.chain_decomposition(simple)])
    turned = Graph.from_edges(dst[::-1], src[::-1], n=n)
    assert gasla.chain_decomposition(turned).tolist() == found.tolist()


@pytest.mark.parametrize("shape", HARD)
def test_hard_shapes(shape: str) -> None:
    check_chains(HARD[shape])


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 14), st.integers(0, 40), st.integers(0, 10**6))
def test_random_graphs(n: int, m: int, seed: int) -> None:
    check_chains((n, *np.random.default_rng(seed).integers(0, n, (2, m))))


def test_a_long_ring_with_a_chord_is_two_chains() -> None:
    n = 20_000
    v = np.arange(n)
    found = gasla.chain_decomposition(Graph.from_edges(np.r_[v, 5], np.r_[(v + 1) % n, n // 2]))
    assert found.lengths.tolist() == [n + 1, 2] and found[1].tolist() == [5, n // 2]
