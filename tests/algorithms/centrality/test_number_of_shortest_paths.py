"""Counts of shortest paths are those of NetworkX's lists of paths, and of closed forms."""

from itertools import pairwise
from math import comb, prod
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import Graph, verify
from gasla.arrays import moved
from tests.algorithms.community.test_edge_support import DEVICES, HARD, on
from tests.helpers.law import REFUSED, Answer, Asked, Row, only
from tests.helpers.mutants import ALL, Question, Questions, Small
from tests.helpers.mutants import Asked as Questioned


def counted(weighted: bool) -> Any:
    def call(q: Asked) -> Answer:
        found = gasla.number_of_shortest_paths(q.given, q.v(0), weighted=weighted)
        q.check(lambda graph, counts: verify.number_of_shortest_paths(graph, q.v(0), counts, weighted=weighted), found)
        return {"counts": q.at_vertices(found)}

    return call


MORE = only("one path more: verified")
LAWS = [
    Row("number_of_shortest_paths", counted(False), split=MORE),
    Row("number_of_shortest_paths", counted(True), "weighted=True", least=1, weights=True, zeros=REFUSED, split=MORE),
]


def listed(n: int, edges: list[tuple[int, int, float]], source: int) -> list[float]:
    """The number of NetworkX's paths, times the choices among parallel edges of least length."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    for u, v, w in edges:
        if u != v and w < graph.edges.get((u, v), {"weight": np.inf})["weight"]:
            graph.add_edge(u, v, weight=w)
    ways = {(u, v): edges.count((u, v, d["weight"])) for u, v, d in graph.edges(data=True)}
    found = np.zeros(n)
    for v in nx.descendants(graph, source) | {source}:
        paths = nx.all_shortest_paths(graph, source, v, "weight")
        found[v] = sum(prod(ways[edge] for edge in pairwise(path)) for path in paths)
    return found.tolist()


def questions(g: Small) -> Questioned:
    """The questions to the verifier."""
    for weighted in (True, False):
        edges = [(u, v, w if weighted else 1.0) for u, v, w in g.edges]
        for source in (0, g.n - 1):
            yield Question(
                lambda counts, s=source, w=weighted: verify.number_of_shortest_paths(g.matrix, s, counts, weighted=w),
                {"counts": np.array(listed(g.n, edges, source))},
            )


QUESTIONS: Questions = {"number_of_shortest_paths": (questions, ALL)}


@settings(max_examples=16, deadline=None)
@given(st.integers(1, 9), st.integers(0, 30), st.integers(0, 10**6), st.booleans())
def test_counts_are_networkxs(n: int, m: int, seed: int, weighted: bool) -> None:
    """With loops, parallel edges, and vertices that are not reached."""
    random = np.random.default_rng(seed)
    src, dst = random.integers(0, n, (2, m))
    weights = random.integers(1, 4, m).astype(float)
    edges = [*zip(src.tolist(), dst.tolist(), (weights if weighted else np.ones(m)).tolist(), strict=True)]
    found = gasla.number_of_shortest_paths(Graph.from_edges(src, dst, weights, n=n), 0, weighted=weighted)
    assert found.dtype == np.float64 and found.tolist() == listed(n, edges, 0)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [shape for shape in HARD if shape != "no vertex"])
def test_hard_shapes(device: Any, shape: str) -> None:
    graph = on("cpu", HARD[shape])
    found = moved(gasla.number_of_shortest_paths(graph.to(device), 0), "cpu")
    assert graph.n < 500 or (found == 1).all()  # a star and a path from their first vertex
    verify.number_of_shortest_paths(graph, 0, found)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("weighted", [False, True])
def test_paths_on_a_grid_are_binomials_and_overflow_to_infinity(device: Any, weighted: bool) -> None:
    grid = Graph.from_networkx(nx.convert_node_labels_to_integers(nx.grid_2d_graph(20, 20))).to(device)
    grid = grid.with_values(np.ones(grid.m)) if device == "cpu" else grid
    found = moved(gasla.number_of_shortest_paths(grid, 0, weighted=weighted), "cpu").reshape(20, 20)
    assert all(found[i, j] == comb(i + j, i) for i in range(20) for j in range(20))
    n = 1101  # two parallel edges from each vertex to the next
    chain = Graph.from_edges(np.repeat(np.arange(n - 1), 2), np.repeat(np.arange(1, n), 2), np.ones(2 * n - 2))
    found = moved(gasla.number_of_shortest_paths(chain.to(device), 0, weighted=weighted), "cpu")
    with np.errstate(over="ignore"):
        assert (found == np.ldexp(1.0, np.arange(n))).all() and found[-1] == np.inf
    verify.number_of_shortest_paths(chain, 0, found, weighted=weighted)


def test_names_and_what_is_refused() -> None:
    graph = Graph.from_networkx(nx.cycle_graph(["a", "b", "c", "d"]))
    assert gasla.number_of_shortest_paths(graph, "a")[graph.vertex("c")] == 2
    with pytest.raises(ValueError, match="source 3 is outside a graph of 3 vertices"):
        gasla.number_of_shortest_paths(Graph.from_edges([0, 1], [1, 2]), 3)
    with pytest.raises(ValueError, match="the weight of edge 0 is 0"):
        gasla.number_of_shortest_paths(Graph.from_edges([0, 1], [1, 2], [0.0, 1.0]), 0, weighted=True)
