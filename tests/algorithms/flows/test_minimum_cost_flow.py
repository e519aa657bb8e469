"""Cheapest flows cost what NetworkX's network simplex says, and what is refused."""

import warnings
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import Graph, verify
from tests.helpers.law import COPIED_WEIGHTS, TIMES, WEIGHS_0, Answer, Asked, Row, times
from tests.helpers.mutants import ALL, Array, Question, Questions, Small
from tests.helpers.mutants import Asked as Questioned


def sent(q: Asked) -> Answer:
    """Vertex 0 sends two units, vertices 1 and 2 take one each, if they can be reached."""
    reached = np.isfinite(np.asarray(gasla.sssp(q.plain.with_values(None), q.v(0)), float))
    supplies = np.zeros(q.n, np.int64)
    if len(q.now) >= 3 and reached[q.v(1)] and reached[q.v(2)]:
        supplies[[q.v(0), q.v(1), q.v(2)]] = 2, -1, -1
    found = gasla.minimum_cost_flow(q.given, supplies)
    q.check(lambda graph, *args: verify.minimum_cost_flow(graph, supplies, *args), *found)
    return {"cost": float(found.cost)}


LAWS = [
    Row("minimum_cost_flow", sent, weights=True, gpu=False, zeros=WEIGHS_0, split=COPIED_WEIGHTS,
        scaled=times(TIMES, cost=1)),
]  # fmt: skip


def by_networkx(src: Any, dst: Any, costs: Any, supplies: Any, capacities: Any) -> int | None:
    """The least cost; None if there is no flow."""
    network = nx.MultiDiGraph()
    network.add_nodes_from((v, {"demand": -int(s)}) for v, s in enumerate(supplies))
    for u, v, c, k in zip(src.tolist(), dst.tolist(), costs.tolist(), capacities.tolist(), strict=True):
        network.add_edge(u, v, weight=c, capacity=k)
    try:
        return int(nx.network_simplex(network)[0])
    except nx.NetworkXUnfeasible:
        return None


def flows(g: Small) -> Questioned:
    """The question to the verifier, about a unit from vertex 0 to 5 along edges that each carry one."""
    supplies = np.zeros(g.n, np.int64)
    supplies[[0, 5]] = 1, -1
    src, dst, ones = g.src, g.dst, np.ones(len(g.src), np.int64)
    whole = g.weight.astype(np.int64)
    if (whole != g.weight).any() or by_networkx(src, dst, whole, supplies, ones) is None:
        return
    graph = Graph.from_edges(src, dst, whole, n=g.n)
    distances = np.asarray(gasla.sssp(graph, 0), float)
    prices = np.where(np.isfinite(distances), distances, 2**20).astype(np.int64)
    flow, v = np.zeros(len(src), np.int64), 5
    while v != 0:
        e = next(e for e in range(len(src)) if dst[e] == v and distances[src[e]] + whole[e] == distances[v])
        flow[e], v = 1, int(src[e])
    right = int(distances[5])

    def is_right(cost: int, flow: Array, prices: Array) -> bool:
        if flow.shape != src.shape or prices.shape != (g.n,) or not ((flow >= 0) & (flow <= 10**9)).all():
            return False
        left = np.bincount(src, flow, g.n) - np.bincount(dst, flow, g.n)
        rise = prices[dst] - prices[src]
        is_dual = (rise <= whole).all() and (rise[flow > 0] >= whole[flow > 0]).all()
        return bool((left == supplies).all() and is_dual and cost == (flow * whole).sum() == right)

    answer = {"cost": right, "flow": flow, "prices": prices}
    yield Question(lambda **a: verify.minimum_cost_flow(graph, supplies, **a), answer, is_right)


QUESTIONS: Questions = {"minimum_cost_flow": (flows, ALL)}


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 8), m=st.integers(0, 30), seed=st.integers(0, 10**6), kind=st.sampled_from([np.int64, float]))
def test_costs_are_those_of_network_simplex(n: int, m: int, seed: int, kind: type) -> None:
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, n, (2, m))
    costs: Array
    costs, capacities = rng.integers(-3, 9, m).astype(kind), rng.integers(0, 6, m)
    supplies = rng.integers(-3, 4, n)
    supplies[0] -= supplies.sum()
    graph = Graph.from_edges(src, dst, costs, n=n).with_edge_attributes(most=capacities)
    least = by_networkx(src, dst, costs, supplies, capacities)
    if least is None:
        with pytest.raises(ValueError, match="no flow meets the supplies"):
            gasla.minimum_cost_flow(graph, supplies, capacities="most")
        return
    found = gasla.minimum_cost_flow(graph, supplies, capacities="most")
    verify.minimum_cost_flow(graph, supplies, *found, capacities=capacities)
    assert found.cost == least and type(found.cost) is (float if kind is float else int)
    again = gasla.minimum_cost_flow(graph, supplies.astype(float), capacities=capacities.astype(float))
    assert again.cost == least and again.flow.dtype == np.int64


def test_costs_of_any_size_and_no_limit() -> None:
    for unit in (1e-300, 1e-9, 1.0, 1e300):
        graph = Graph.from_edges([0, 1, 0], [1, 2, 2], np.array([1, 1, 3]) * unit)
        found = gasla.minimum_cost_flow(graph, [2, 0, -2], capacities=[1, np.inf, np.inf])
        assert found.flow.tolist() == [1, 1, 1] and found.cost == pytest.approx(5 * unit, rel=1e-12)
    alone = gasla.minimum_cost_flow(Graph.from_edges([], [], n=3), [0, 0, 0])
    assert alone.cost == 0 and len(alone.flow) == 0 and alone.prices.tolist() == [0, 0, 0]
    assert gasla.minimum_cost_flow(Graph.from_edges([0, 1], [1, 2]), [3, 0, -3]).cost == 6
    assert gasla.minimum_cost_flow(Graph.from_edges([0], [1], [2**31]), [2**31, -(2**31)]).cost == 2**62


@pytest.mark.parametrize(
    ("values", "supplies", "options", "error", "said"),
    [
        ([1, 1], [1, 0, 0], {}, ValueError, "the supplies add up to 1; expected finite numbers that add up to 0"),
        ([1, 1], [1, -1], {}, ValueError, r"supplies has shape \(2,\); expected \(3,\), one per vertex"),
        ([1, 1], [0.5, -0.5, 0], {}, TypeError, r"supplies has the entry 0\.5; expected whole numbers"),
        ([1, 1], ["a", "b", "c"], {}, TypeError, "supplies is .*; expected whole numbers"),
        ([1, 1], [1, 0, -1], {"capacities": [1]}, ValueError, r"capacities has shape \(1,\)"),
        ([1, 1], [1, 0, -1], {"capacities": [1, -2]}, ValueError, "the capacity of edge 1 is -2; expected 0 or more"),
        ([1, 1], [1, 0, -1], {"capacities": "most"}, ValueError, "capacities: "),
        ([1, 1], [2, 0, -2], {"capacities": [1, 2]}, ValueError, "no flow meets the supplies, 2 units; expected paths"),
        ([1, 1], [-1, 0, 1], {}, ValueError, "no flow meets the supplies, 1 units"),
        ([1, np.inf], [1, 0, -1], {}, ValueError, "a cost is infinite"),
        ([1, np.nan], [1, 0, -1], {}, ValueError, "the weight of edge 1 is nan"),
        ([1, 2**40], [1, 0, -1], {}, ValueError, "integer costs range from 1 to 1099511627776; expected at most"),
        ([1, 1], [2**40, 0, -(2**40)], {}, ValueError, r"supplies has entries of more than 2\*\*31"),
        ([1, 1], [0, np.inf, -np.inf], {}, ValueError, "the supply of vertex 1 is inf; expected finite numbers"),
        ([1, 1], {1: np.inf, 0: -np.inf}, {}, ValueError, "supplies of vertex 0 is -inf; expected a finite number"),
        ([1, 1], {0: 1, 3: -1}, {}, ValueError, "3 is outside a graph of 3 vertices"),
        (
            [1, 1],
            [1, 0, -1],
            {"capacities": [1, 2**80]},
            ValueError,
            "2\\*\\*31, 1208925819614629174706176 for edge 1; expected smaller ones",
        ),
        ([1, 1], [1, 0, -(10**400)], {}, ValueError, "for vertex 2; expected smaller ones"),
        ([1, 1], [1, 0, -1], {"capacities": 2**80}, ValueError, r"capacities has shape \(\); expected \(2,\)"),
        ([1, 1], [1, 0, "a"], {}, TypeError, "supplies is .*; expected whole numbers"),
        ([1e308, 1.0], [10, -10, 0], {}, ValueError, "the cost exceeds float64, 1.8e308; expected smaller costs"),
        ([1e308, 1e308], [1, 0, -1], {}, ValueError, "exceeds float64, 1.8e308; expected smaller costs"),
    ],
)
def test_what_is_refused(values: Any, supplies: Any, options: Any, error: type[Exception], said: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(error, match=said):
            gasla.minimum_cost_flow(Graph.from_edges([0, 1], [1, 2], values), supplies, **options)


def test_a_cycle_without_limit_is_refused() -> None:
    graph = Graph.from_edges([0, 1], [1, 0], [-2, 1])
    with pytest.raises(ValueError, match="a cycle of negative cost has no limit"):
        gasla.minimum_cost_flow(graph, [0, 0])
    found = gasla.minimum_cost_flow(graph, [0, 0], capacities=[5, 9])
    assert found.cost == -5 and found.flow.tolist() == [5, 5]


def test_supplies_by_name() -> None:
    graph = Graph.from_networkx(nx.DiGraph([("Oslo", "Rome"), ("Rome", "Bonn")]))
    found = gasla.minimum_cost_flow(graph, {"Oslo": 3, "Bonn": -3})
    assert found.cost == 6 and found.flow.tolist() == [3, 3]
    verify.minimum_cost_flow(graph, {"Oslo": 3, "Bonn": -3}, *found)
    with pytest.raises(ValueError, match="the supply of vertex 'Oslo' is inf"):
        gasla.minimum_cost_flow(graph, [np.inf, 0, -np.inf])
