"""Global minimum cuts against NetworkX's Stoer-Wagner, in graphs of every kind of round."""

from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import Graph, primitives, verify
from gasla.algorithms.flows import global_minimum_cut as module
from tests.helpers.law import NO_EDGE, SHARED, TIMES, Answer, Asked, Row, only, times
from tests.helpers.mutants import ALL, Array, Question, Questions, Small
from tests.helpers.mutants import Asked as Questioned


def cut(q: Asked) -> Answer:
    if q.n < 2:
        return {"value": 0.0}
    found = gasla.global_minimum_cut(q.given)
    q.check(verify.global_minimum_cut, *found)
    return {"value": float(found.value)}


LAWS = [
    Row("global_minimum_cut", cut, weights=True, gpu=False, split=SHARED, zeros=NO_EDGE, isolated=only("0: verified"),
        scaled=times(TIMES, value=1)),
]  # fmt: skip


def cuts(g: Small) -> Questioned:
    """The question to the verifier, about the cheapest of all cuts."""
    cost = g.dense - np.diag(np.diag(g.dense))
    cost = cost if (cost == cost.T).all() else cost + cost.T

    def weight(side: Array) -> float:
        return float(cost[side][:, ~side].sum())

    sides = [np.isin(np.arange(g.n), s) for k in range(1, g.n) for s in combinations(range(1, g.n), k)]
    best = min(sides, key=weight)
    least = weight(best)

    def is_right(value: float, side: Array) -> bool:
        return side.shape == (g.n,) and not side[0] and bool(side.any()) and weight(side) == least == value

    answer = {"value": least, "side": best}
    yield Question(lambda **a: verify.global_minimum_cut(g.matrix, **a), answer, is_right)


QUESTIONS: Questions = {"global_minimum_cut": (cuts, ALL)}


def by_networkx(graph: Graph) -> float:
    """The value by Stoer and Wagner, of a graph each of whose edges is stored once."""
    theirs = nx.Graph()
    theirs.add_nodes_from(range(graph.n))
    assert graph.values is not None
    for u, v, w in zip(*(ends.tolist() for ends in graph.edges()), graph.values.tolist(), strict=True):
        if u != v:
            theirs.add_edge(u, v, weight=w + theirs.get_edge_data(u, v, {"weight": 0})["weight"])
    return nx.stoer_wagner(theirs)[0] if nx.is_connected(theirs) else 0


@pytest.mark.thorough
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_values_are_those_of_stoer_and_wagner(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 12))
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).map(sorted)
    edges = data.draw(st.lists(pairs, max_size=40))
    kind = data.draw(st.sampled_from([np.int64, np.uint8, np.float64]))
    weights = np.array(data.draw(st.lists(st.integers(0, 9), min_size=len(edges), max_size=len(edges))), kind)
    src, dst = (np.array([edge[i] for edge in edges], np.int64) for i in range(2))
    graph = Graph.from_edges(src, dst, weights, n=n)
    found = gasla.global_minimum_cut(graph)
    verify.global_minimum_cut(graph, *found)
    assert found.value == by_networkx(graph) and type(found.value) is (float if kind is np.float64 else int)
    doubled = Graph.from_edges(np.append(src, dst), np.append(dst, src), np.append(weights, weights), n=n)
    assert gasla.global_minimum_cut(doubled).value == found.value


def shapes() -> dict[str, Graph]:
    rng = np.random.default_rng(0)
    ids = np.arange(12 * 15).reshape(12, 15)
    mesh = np.r_[ids[:, :-1].ravel(), ids[:-1].ravel()], np.r_[ids[:, 1:].ravel(), ids[1:].ravel()]
    cycle = np.arange(300), (np.arange(300) + 1) % 300
    blocks = rng.integers(0, 60, 900), rng.integers(0, 60, 900)
    near = blocks[0] // 20 == blocks[1] // 20
    blocks = np.r_[blocks[0][near], 0, 25], np.r_[blocks[1][near], 30, 50]
    star = np.zeros(40, int), np.arange(1, 41)
    ends: dict[str, Any] = {
        "mesh": mesh,
        "cycle": cycle,
        "blocks": blocks,
        "star": star,
        "many": rng.integers(0, 80, (2, 900)),
    }
    return {name: Graph.from_edges(*e, rng.integers(4, 30, len(e[0]))) for name, e in ends.items()}


@pytest.mark.parametrize("name", ["mesh", "cycle", "blocks", "star", "many"])
def test_each_shape_gives_a_right_answer(name: str) -> None:
    graph = shapes()[name]
    found = gasla.global_minimum_cut(graph)
    verify.global_minimum_cut(graph, *found)
    assert found.value == by_networkx(graph) and found.side.dtype == bool and not found.side[0]
    alone = gasla.global_minimum_cut(Graph.from_edges(*graph.edges(), graph.values, n=graph.n + 1))
    assert alone.value == 0
    if name == "blocks":
        assert found.side.sum() in (20, 40)


def test_long_cycles_take_few_rounds() -> None:
    n = 20_000
    weights = np.full(n, 7)
    weights[[17, 9_000]] = 3, 2
    found = gasla.global_minimum_cut(Graph.from_edges(np.arange(n), (np.arange(n) + 1) % n, weights))
    assert found.value == 5 and np.flatnonzero(found.side)[[0, -1]].tolist() == [18, 9_000]


def test_a_strip_of_triangles_takes_few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = []

    def counted(graph: Graph, best: int) -> Any:
        rounds.append(graph.n)
        return primitives.adjacency_order(graph, best)

    monkeypatch.setattr(module, "adjacency_order", counted)
    n = 600
    i = np.arange(n)
    graph = Graph.from_edges(np.tile(i, 2), np.concatenate([(i + 1) % n, (i + 2) % n]))
    found = gasla.global_minimum_cut(graph)
    assert found.value == 4 and len(rounds) < 20
    verify.global_minimum_cut(graph, *found)


def test_pairs_in_triangles_are_never_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = module._pairs
    monkeypatch.setattr(module, "_pairs", lambda graph, degrees, _: pairs(graph, degrees, True))
    monkeypatch.setattr(module, "FEW", 4)  # so that some edges are looked at from one end alone
    rng = np.random.default_rng(5)
    for _ in range(100):
        n = int(rng.integers(4, 30))
        src, dst = rng.integers(0, n, (2, int(rng.integers(n, 5 * n))))
        graph = Graph.from_edges(src, (dst + src) // 2, rng.integers(1, 4, len(src)), n=n)
        assert gasla.global_minimum_cut(graph).value == by_networkx(graph)


def test_floats_of_any_size() -> None:
    for unit in (1e-320, 1e-300, 0.1, 1.0, 1e300):
        graph = Graph.from_edges([0, 1, 2, 2, 3, 4, 5], [1, 2, 0, 3, 4, 5, 3], np.array([3, 3, 3, 2, 3, 3, 3]) * unit)
        assert gasla.global_minimum_cut(graph).value == 2 * unit
    tiny = Graph.from_edges([0, 1, 2], [1, 2, 0], [1e300, 1e-300, 0.0])
    assert gasla.global_minimum_cut(tiny).value == 1e-300
    with pytest.raises(ValueError, match=r"the cut weighs more than 1\.8e308"):
        gasla.global_minimum_cut(Graph.from_edges([0, 0], [1, 1], [1e308, 1e308]))


@pytest.mark.parametrize(
    ("edges", "value"),
    [
        (([0, 1, 1, 2], [1, 0, 2, 1], [1.0, 2.0, 1e20, 1e20]), 3.0),  # the directions differ by less than a unit
        (([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0.1, 0.2, 0.3, 0.3, 0.2, 0.1]), 0.6),
        (([0, 1, 1], [1, 2, 3], [1e20, 1e-5, 1e-9]), 1e-9),
        (([0, 1, 1, 1], [1, 2, 3, 4], [1e300, 1e-300, 1e-320, 1.0]), 1e-320),
    ],
)
def test_floats_of_one_graph_of_any_size(edges: Any, value: float) -> None:
    graph = Graph.from_edges(*edges)
    found = gasla.global_minimum_cut(graph)
    assert found.value == value
    verify.global_minimum_cut(graph, *found)


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        (Graph.from_edges([], [], n=1), "the graph has 1 vertices; expected at least two"),
        (Graph.from_edges([], [], n=0), "the graph has 0 vertices"),
        (Graph.from_edges([0], [1], [-1]), "the weight of edge 0 is -1; expected a finite number, 0 or more"),
        (Graph.from_edges([0], [1], [np.inf]), "the weight of edge 0 is inf"),
        (
            Graph.from_edges([0, 0], [1, 1], [2**59, 2**59]),
            r"the weights sum to 1\.15e\+18; expected less than 2\*\*60",
        ),
    ],
)
def test_what_is_refused(graph: Graph, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        gasla.global_minimum_cut(graph)


def test_the_order_takes_most_weight_first() -> None:
    rng = np.random.default_rng(4)
    graph = Graph.from_edges(*rng.integers(0, 50, (2, 300)), rng.integers(1, 20, 300), n=55)
    import semirings

    both = graph.symmetrized(semirings.plus)
    order, sums = primitives.adjacency_order(both, 2**62)
    assert sorted(order.tolist()) == list(range(55)) and order[0] == 0
    dense: Any = both.to_scipy().toarray() * (1 - np.eye(55, dtype=int))
    for i, v in enumerate(order.tolist()):
        to_earlier = dense[order[i:]][:, order[:i]].sum(axis=1)
        assert to_earlier[0] == to_earlier.max() == sums[v]
    capped, sums = primitives.adjacency_order(both, 15)
    for i, v in enumerate(capped.tolist()):
        to_earlier = np.minimum(dense[capped[i:]][:, capped[:i]].sum(axis=1), 15)
        assert to_earlier[0] == to_earlier.max() == min(15, sums[v])
    with pytest.raises(TypeError, match="expected int64"):
        primitives.adjacency_order(both.with_values(both.values.astype(float)), 3)


def test_adjacency_orders_of_any_limit() -> None:
    graph = gasla.Graph.from_edges([0, 1, 0, 2, 1, 2], [1, 0, 2, 0, 2, 1], [1, 1, 3, 3, 1, 1])
    for most in (4, 2**63 - 1, 2**63, 2**70):
        order, sums = primitives.adjacency_order(graph, most)
        assert order.tolist() == [0, 2, 1] and sums.tolist() == [0, 2, 3]
    with pytest.raises(ValueError, match="most is -1; expected 0 or more"):
        primitives.adjacency_order(graph, -1)
    with pytest.raises(ValueError, match=r"the value of edge 2 is -3; expected 0 to 2\*\*63 - 1"):
        primitives.adjacency_order(graph.with_values([1, 1, -3, -3, 1, 1]), 4)
    with pytest.raises(ValueError, match=r"add up to 2.77e\+19; expected less than 2\*\*63"):
        primitives.adjacency_order(graph.with_values(np.full(6, 2**62)), 4)
