"""Assignments weigh what dense assignments by SciPy weigh, zeros and large weights included, and what is refused."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array

import gasla
from gasla import Graph, verify
from tests.helpers.law import COPIED_WEIGHTS, TIMES, WEIGHS_0, Answer, Asked, Row, times
from tests.helpers.mutants import Array, Question, Questions, Small
from tests.helpers.mutants import Asked as Questioned


def weight_of(graph: Graph, mates: Array) -> float:
    """The weight of the lightest edges between mates."""
    src, dst = graph.edges()
    lightest: dict[frozenset[int], float] = {}
    for u, v, w in zip(src.tolist(), dst.tolist(), np.asarray(graph.values, float).tolist(), strict=True):
        if mates[u] == v:
            lightest[frozenset((u, v))] = min(w, lightest.get(frozenset((u, v)), np.inf))
    return sum(lightest.values())


def assigned(q: Asked) -> Answer:
    """Even vertices are one side; each may also stay alone, at 7 times the factor, so that there is an answer."""
    src, dst = q.graph.edges()
    even = np.flatnonzero((q.was >= 0) & (q.was % 2 == 0))
    n = q.n + len(even)
    values = np.ones(len(src)) if q.graph.values is None else q.graph.values
    weights = np.append(values, np.full(len(even), 7 * q.factor))
    sides = np.isin(np.arange(n), even, invert=True).astype(np.uint8)
    alone = Graph.from_edges(np.append(src, even), np.append(dst, np.arange(q.n, n)), weights, n=n)
    graph = alone.with_vertex_attributes(bipartite=sides)
    found = gasla.assignment(graph)
    verify.assignment(graph, found)
    return {"weight": weight_of(graph, found)}


LAWS = [
    Row("assignment", assigned, kinds=("bipartite",), weights=True, gpu=False, zeros=WEIGHS_0, split=COPIED_WEIGHTS,
        scaled=times(TIMES, weight=1)),
]  # fmt: skip


def assignments(g: Small) -> Questioned:
    """The question to the verifier, about the vertices that the best of all matchings by trial gives mates."""
    rows, columns = np.unique(g.src)[:4], np.unique(g.dst)
    cost = np.full((g.n, g.n), np.inf)
    np.minimum.at(cost, (g.src, g.dst), g.weight)
    best = min(permutations(columns.tolist(), len(rows)), key=lambda chosen: cost[rows, [*chosen]].sum())
    least = cost[rows, [*best]].sum()
    if np.isinf(least):
        return
    keep = np.isin(g.src, rows)
    sides = np.isin(np.arange(g.n), rows, invert=True).astype(np.uint8)
    graph = Graph.from_edges(g.src[keep], g.dst[keep], g.weight[keep], n=g.n).with_vertex_attributes(bipartite=sides)
    mates = np.full(g.n, -1, np.int32)
    mates[rows], mates[[*best]] = best, rows

    def is_right(mates: Array) -> bool:
        if mates.shape != (g.n,) or mates.min() < -1 or mates.max() >= g.n or (mates[rows] < 0).any():
            return False
        mutual = all(m < 0 or mates[m] == v for v, m in enumerate(mates.tolist()))
        return mutual and (mates >= 0).sum() == 2 * len(rows) and cost[rows, mates[rows]].sum() == least

    yield Question(lambda mates: verify.assignment(graph, mates), {"mates": mates}, is_right)


QUESTIONS: Questions = {"assignment": (assignments, ("two sides",))}


def check(cost: Array, kept: Array) -> None:
    """Compare with SciPy's dense solver; where `kept` is False there is no edge."""
    row, column = np.nonzero(kept)
    graph = Graph.from_bipartite(coo_array((cost[kept], (row, column)), shape=cost.shape))
    try:
        right: Any = linear_sum_assignment(np.where(kept, cost, np.inf))
    except ValueError:
        with pytest.raises(ValueError, match=f"no matching reaches all {min(cost.shape)} vertices of the smaller side"):
            gasla.assignment(graph)
        return
    mates = gasla.assignment(graph)
    verify.assignment(graph, mates)
    assert (mates >= 0).sum() == 2 * min(cost.shape) and mates.dtype == graph.id_dtype
    assert weight_of(graph, mates) == cost[right].sum()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 6), st.integers(0, 6), st.floats(0.3, 1), st.integers(0, 10**6))
def test_weights_are_those_of_scipys_dense_solver(rows: int, columns: int, density: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    check(random.integers(-4, 5, (rows, columns)), random.random((rows, columns)) < density)


def test_a_large_assignment() -> None:
    random = np.random.default_rng(0)
    check(random.integers(0, 50, (150, 170)), random.random((150, 170)) < 0.3)


def test_a_zero_is_the_lightest_edge_and_sums_do_not_overflow() -> None:
    for unit in (1, 1.0, np.float32(1), 1e308, 1e-300):
        graph = Graph.from_edges([0, 0, 1, 1], [2, 3, 2, 3], np.array([0, 1, 1, 0]) * unit)
        assert gasla.assignment(graph).tolist() == [2, 3, 0, 1]
        assert gasla.assignment(graph.with_values(-graph.values)).tolist() == [3, 2, 1, 0]


def test_graphs_without_sides_or_values() -> None:
    path = Graph.from_edges([0, 1, 2], [1, 2, 3], [5, -9, 1])
    assert gasla.assignment(path).tolist() == [1, 0, 3, 2]  # all vertices have mates, whatever they weigh
    assert gasla.assignment(path.with_values(None).symmetrized()).tolist() == [1, 0, 3, 2]
    parallel = Graph.from_edges([0, 1, 0, 2, 3], [2, 3, 3, 0, 0], [9, 1, 2, 1, 3])
    mates = gasla.assignment(parallel)
    assert mates.tolist() == [2, 3, 0, 1] and weight_of(parallel, mates) == 2
    assert gasla.assignment(Graph.from_edges([], [], n=0)).tolist() == []


def test_what_is_refused() -> None:
    star = Graph.from_edges([0, 0], [1, 2])
    with pytest.raises(
        ValueError, match=r"on one side and . on the other, so that not all have mates; expected a graph"
    ):
        gasla.assignment(star)
    assert (gasla.assignment(star.with_vertex_attributes(bipartite=[0, 1, 1])) >= 0).sum() == 2
    for bad, words in ((np.nan, "is nan; expected a number"), (-np.inf, "is -inf"), (np.inf, "a weight is infinite")):
        with pytest.raises(ValueError, match=words):
            gasla.assignment(Graph.from_edges([0], [1], [bad]))
    with pytest.raises(
        ValueError, match=r"a weight is 4611686018427387904 in absolute value, and there are 2 vertices"
    ):
        gasla.assignment(Graph.from_edges([0], [1], [-(2**62)]))
    with pytest.raises(ValueError, match="the graph is not bipartite"):
        gasla.assignment(Graph.from_edges([0, 1, 2], [1, 2, 0]))


def test_a_graph_on_a_gpu_is_refused_by_name() -> None:
    class Far(Graph):
        engine = "gpu"  # type: ignore[assignment]

    with pytest.raises(TypeError, match=r"assignment takes a graph in host memory, and this one is on the gpu"):
        gasla.assignment(Far.from_edges([0], [1]))
