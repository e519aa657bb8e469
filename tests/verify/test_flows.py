"""The verifiers of flows and cuts refuse what is wrong, however far apart capacities are. Nothing is compiled."""

import math
from typing import Any

import numpy as np
import pytest

import gasla
from gasla.verify import VerificationError, maximum_flow, minimum_cost_flow, minimum_cut

SRC, DST = np.array([0, 0, 1, 1, 2, 4, 3]), np.array([1, 2, 2, 3, 3, 3, 5])
UNIT = np.array([3, 2, 5, 2, 3, 9, 9])  # from 0 to 3 come 5; the edges to 4 and from 3 are of no use
FLOW = np.array([3, 2, 1, 2, 3, 0, 0])
SIDE = np.array([True, True, True, False, True, False])


def graph_of(unit: Any, elsewhere: Any) -> gasla.Graph:
    """The network in such units, with capacities of another size where they change nothing."""
    capacity = UNIT * unit
    capacity[2] = capacity[6] = elsewhere
    return gasla.Graph.from_edges(SRC, DST, capacity)


@pytest.mark.parametrize("unit", [1.0, 0.1, 1e-300, 1e300, 5e-324, 1e-12])
@pytest.mark.parametrize("elsewhere", [math.inf, 1e308, 1e20])
def test_flows_of_floats_are_verified_at_any_scale(unit: float, elsewhere: float) -> None:
    graph, flow, value = graph_of(unit, max(elsewhere, 5 * unit)), FLOW * unit, 5 * unit
    maximum_flow(graph, 0, 3, value, flow)
    minimum_cut(graph, 0, 3, value, SIDE & ~(np.arange(6) == 4))
    wrong: list[tuple[float, Any]] = [(0.0, flow * 0), (math.nan, flow), (math.inf, flow)]
    wrong += [(factor * value, flow) for factor in (0.0, 0.5, 2.0)]
    wrong += [(0.5 * value, flow * 0.5)] if unit > 5e-324 else []
    if unit > 1e-310:
        wrong += [((1 - 1e-6) * value, flow), (value * (1 - 1e-6), flow * (1 - 1e-6))]
    for e in range(5):
        for there in (0.0, flow[e] * 2, math.nan, -unit):
            other = flow.copy()
            other[e] = there
            wrong.append((value, other))
    for number, other in wrong:
        with pytest.raises(VerificationError):
            maximum_flow(graph, 0, 3, number, other)
    for side in range(64):
        members = (side >> np.arange(6)) % 2 == 1
        parted = graph.values[members[SRC] & ~members[DST]]  # type: ignore[index]
        cost = math.inf if np.isinf(parted).any() or parted.max(initial=0) > 1e307 else float(parted.sum())
        if not members[0] or members[3] or cost > value * (1 + 1e-12):
            with pytest.raises(VerificationError):
                minimum_cut(graph, 0, 3, cost, members)
            continue
        minimum_cut(graph, 0, 3, cost, members)
        for number in (0.0, cost / 2, cost * 2, math.nan, math.inf):
            with pytest.raises(VerificationError):
                minimum_cut(graph, 0, 3, number, members)


@pytest.mark.parametrize("unit", [1, 2**20, 2**40, 2**58])
@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_integers_are_exact(unit: int, kind: type) -> None:
    capacity = [int(x) * unit for x in UNIT[:5]]
    capacity[2] = int(np.iinfo(kind).max)
    graph = gasla.Graph.from_edges(SRC[:5], DST[:5], np.array(capacity, kind))
    flow, value = FLOW[:5] * np.int64(unit), 5 * unit
    maximum_flow(graph, 0, 3, value, flow)
    minimum_cut(graph, 0, 3, value, np.array([True, True, True, False]))
    for e in range(5):
        for change in (-1, 1):
            other = flow.copy()
            other[e] += change
            with pytest.raises(VerificationError):
                maximum_flow(graph, 0, 3, value, other)
    for change in (-1, 1):
        with pytest.raises(VerificationError):
            maximum_flow(graph, 0, 3, value + change, flow)
        with pytest.raises(VerificationError):
            minimum_cut(graph, 0, 3, value + change, np.array([True, True, True, False]))
    larger = graph.with_values(np.array([*capacity[:4], capacity[4] + 1], kind))  # the cut {0} stays the cheapest
    with pytest.raises(VerificationError, match=f"the cut costs {value + 1}, and there is one that costs {value}"):
        minimum_cut(larger, 0, 3, value + 1, np.array([True, True, True, False]))


def test_what_may_be_missing() -> None:
    """Floats are allowed 1e-9 of the value, and no more, whatever else there is."""
    for large in (1.0, 1e20, math.inf):
        graph = gasla.Graph.from_edges([0, 1], [1, 2], [large, 1.0])
        for less, is_right in ((1e-12, True), (1e-7, False)):
            value, flow = 1 - less, np.full(2, 1 - less)
            if is_right:
                maximum_flow(graph, 0, 2, value, flow)
            else:
                with pytest.raises(VerificationError, match="more could be sent, along the vertices 0, 1, 2"):
                    maximum_flow(graph, 0, 2, value, flow)


def test_sums_that_overflow() -> None:
    graph = gasla.Graph.from_edges([0, 0, 1, 1, 2], [1, 1, 2, 2, 3], [1.5e308] * 4 + [1e308])
    maximum_flow(graph, 0, 3, 1e308, np.array([1e308, 0, 0, 1e308, 1e308]))
    with pytest.raises(VerificationError, match="inflow minus outflow of vertex 2 is"):
        maximum_flow(graph, 0, 3, 1e308, np.array([1.5e308, 1.5e308, 1.5e308, 1.5e308, 1e308]))
    minimum_cut(graph, 0, 3, 1e308, np.array([True, True, True, False]))
    with pytest.raises(VerificationError, match="expected a cut of finite"):
        minimum_cut(graph, 0, 3, math.inf, np.array([True, False, False, False]))


def test_sums_of_integers_do_not_wrap() -> None:
    graph = gasla.Graph.from_edges([0] * 4 + [1], [1] * 4 + [2], np.array([2**62] * 4 + [0]))
    with pytest.raises(VerificationError, match=r"1.84e\+19 units leave vertex 0; expected less than 2\*\*62"):
        maximum_flow(graph, 0, 2, 0, np.array([2**62] * 4 + [0]))
    for kind in (np.int8, np.int32):
        part = 2 ** (8 * np.dtype(kind).itemsize - 2)
        graph = gasla.Graph.from_edges([0] * 4 + [1], [1] * 4 + [2], np.array([part] * 4 + [0], kind))
        with pytest.raises(VerificationError, match=f"inflow minus outflow of vertex 1 is {4 * part}"):
            maximum_flow(graph, 0, 2, 0, np.array([part] * 4 + [0], kind))
    many = gasla.Graph.from_edges([0] * 4 + [1] * 4, [1] * 4 + [2] * 4, np.full(8, 2**30))
    maximum_flow(many, 0, 2, 2**32, np.full(8, 2**30, np.int32))
    maximum_flow(many, 0, 2, np.int64(2**32), np.full(8, 2**30))
    with pytest.raises(VerificationError, match="the value is 1180591620717411303424"):
        maximum_flow(many, 0, 2, 2**70, np.full(8, 2**30))
    most = gasla.Graph.from_edges([0] * 3, [1] * 3, np.full(3, (2**62 - 2) // 3))
    maximum_flow(most, 0, 1, (2**62 - 2) // 3 * 3, np.full(3, (2**62 - 2) // 3))


@pytest.mark.parametrize(
    ("ends", "error", "said"),
    [
        ((0, -1), ValueError, "target -1 is outside a graph of 3 vertices"),
        ((7, 2), ValueError, "source 7 is outside a graph of 3 vertices"),
        ((1, 1), ValueError, "source and target are both 1; expected two different vertices"),
        ((0.0, 2), TypeError, "float"),
    ],
)
def test_ends_are_two_vertices(ends: Any, error: type[Exception], said: str) -> None:
    graph = gasla.Graph.from_edges([0, 1], [1, 2], [1, 1])
    with pytest.raises(error, match=said):
        maximum_flow(graph, *ends, 1, np.ones(2, np.int64))
    with pytest.raises(error, match=said):
        minimum_cut(graph, *ends, 1, np.array([True, False, False]))


@pytest.mark.parametrize(
    ("prices", "said"),
    [
        (np.array([-100, 100], np.int8), "the price rises by 200; expected at most its cost"),
        (np.array([-6 * 10**18, 6 * 10**18]), r"prices\[0\] is -6000000000000000000; expected less than"),
        (np.array([2**63, 0], np.uint64), r"prices\[0\] is 9223372036854775808; expected less than"),
    ],
)
def test_prices_do_not_wrap(prices: Any, said: str) -> None:
    graph = gasla.Graph.from_edges([0], [1], [0])
    with pytest.raises(VerificationError, match=said):
        minimum_cost_flow(graph, [0, 0], 0, np.zeros(1, np.int64), prices)


def test_prices_of_any_type_are_compared() -> None:
    graph = gasla.Graph.from_edges([0], [1], [-200])
    minimum_cost_flow(graph, [0, 0], 0, [0], np.array([200, 0], np.uint8), capacities=[5.0])
    minimum_cost_flow(graph, {0: 3, 1: -3}, np.int64(-600), np.array([3], np.int8), np.array([200, 0], np.uint8))


@pytest.mark.parametrize(
    ("supplies", "capacities", "flow", "said"),
    [
        (0, None, [0, 0], r"supplies are int64\(\); expected 3 whole numbers"),
        ([0], None, [0, 0], r"supplies are int64\(1,\); expected 3 whole numbers"),
        ([0, 0, 0], [1], [0, 0], r"capacities are int64\(1,\); expected 2 whole numbers"),
        ([1, 0, -1], [1.5, 3], [1, 1], r"capacities\[0\] is 1.5; expected a whole number"),
        ([0, 0, 0], [2**53, 3], [0, 0], r"capacities\[0\] is 9007199254740992.0; expected a whole number, less than"),
        ([2**60, 0, -(2**60)], None, [2**60, 2**60], r"supplies\[0\] is 1.15.*; expected a whole number, less than"),
    ],
)
def test_supplies_and_capacities_are_whole(supplies: Any, capacities: Any, flow: Any, said: str) -> None:
    graph = gasla.Graph.from_edges([0, 1], [1, 2], [1, 1])
    with pytest.raises(VerificationError, match=said):
        minimum_cost_flow(graph, supplies, sum(flow), flow, [-2, -1, 0], capacities=capacities)


def test_costs_without_end_are_refused() -> None:
    for cost, said in [(math.inf, r"costs\[0\] is inf"), (1e308, "cost more than 1.8e308; expected an error")]:
        graph = gasla.Graph.from_edges([0], [1], [cost])
        with pytest.raises(VerificationError, match=said):
            minimum_cost_flow(graph, [10, -10], 5.0, [10], [-cost, 0.0])


def test_wrong_cuts_of_huge_cost_are_refused() -> None:
    graph = gasla.Graph.from_edges([0] * 9 + [1], [1] * 9 + [2], np.array([2**62] * 9 + [1]))
    minimum_cut(graph, 0, 2, 1, np.array([True, True, False]))
    with pytest.raises(VerificationError, match=r"the cut costs 41505174165846491136; expected less than 2\*\*62"):
        minimum_cut(graph, 0, 2, 9 * 2**62, np.array([True, False, False]))
    wide = gasla.Graph.from_edges([0] * 9 + [*range(1, 10)], [*range(1, 10)] + [10] * 9, [2**61] * 9 + [2**55] * 9)
    minimum_cut(wide, 0, 10, 9 * 2**55, np.arange(11) < 10)
    with pytest.raises(VerificationError, match=f"{2**61 + 2**58}, and there is one that costs {9 * 2**55}"):
        minimum_cut(wide, 0, 10, 2**61 + 2**58, ~np.isin(np.arange(11), [9, 10]))


def test_integer_cuts_have_the_largest_source_side() -> None:
    graph = gasla.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 2], [1, 1, 1, 5], n=5)
    minimum_cut(graph, 0, 3, 1, np.array([True, True, True, False, True]))
    for smaller in ([0], [0, 4], [0, 1], [0, 1, 4], [0, 1, 2]):
        with pytest.raises(VerificationError, match=r"is not on the source side; expected the largest"):
            minimum_cut(graph, 0, 3, 1, np.isin(np.arange(5), smaller))
    floats = graph.with_values(np.array([1.0, 1.0, 1.0, 5.0]))
    minimum_cut(floats, 0, 3, 1.0, np.array([True, False, False, False, False]))
    apart = gasla.Graph.from_edges([1], [2], [3], n=4)
    minimum_cut(apart, 0, 2, 0, np.array([True, False, False, True]))
    with pytest.raises(VerificationError, match="vertex 3 is not on the source side"):
        minimum_cut(apart, 0, 2, 0, np.array([True, False, False, False]))
