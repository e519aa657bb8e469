"""Stages by hand: what is no set, no array of edges and nothing that a gather gave is refused, by its name."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import gasla
from gasla import EdgeFrontier, Graph, stages
from tests.helpers import programs

GRAPH = Graph(csr_array(np.array([[0, 2, 7], [0, 0, 3], [1, 0, 0]])))


def hops() -> stages.State:
    return stages.start(programs.Hops, GRAPH, hops={0: 0})


def nearest() -> stages.State:
    return stages.start(programs.Nearest, GRAPH, cost={0: 0})


def spread() -> stages.State:
    return stages.start(programs.Spread, GRAPH)


def of_ends(src: list[int], dst: list[Any]) -> EdgeFrontier:
    return EdgeFrontier(3, np.arange(len(src)), np.array(src), np.array(dst))


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: stages.start(5, GRAPH), TypeError, r"program is 5; expected a gasla\.VertexProgram"),
        (lambda: stages.contract(GRAPH, gasla.Frontier(3, [0])), TypeError, "expected an EdgeFrontier"),
        (
            lambda: stages.contract(GRAPH, stages.expand(Graph.from_edges([0], [4]), [0])),
            ValueError,
            "of a graph of 5 vertices; this graph has 3",
        ),
        (lambda: stages.contract(GRAPH, of_ends([0], [-1])), ValueError, "vertex -1 is outside a graph of 3 vertices"),
        (lambda: stages.contract(GRAPH, of_ends([0], [3])), ValueError, "vertex 3 is outside a graph of 3 vertices"),
        (lambda: stages.contract(GRAPH, of_ends([0], [1.0])), TypeError, "the ends of edges are float64"),
        (lambda: stages.gather(hops(), [1, 1]), ValueError, "twice"),
        (lambda: stages.scatter(hops(), [1]), ValueError, "Hops has no scatter"),
        (lambda: stages.start(programs.Settling, GRAPH), ValueError, r"Settling\.apply reads the aggregate 'moved'"),
        (lambda: stages.apply(hops(), [1]), TypeError, "Hops gathers, so apply needs"),
        (lambda: stages.apply(hops(), [1, 2], np.array([5])), ValueError, r"has shape \(1,\); expected \(2,\)"),
        (lambda: stages.apply(hops(), [1, 2], 5), ValueError, r"gathered has shape \(\); expected \(2,\)"),
        (lambda: stages.apply(hops(), [1], np.array([0.5])), TypeError, "gathered has type float64; expected int32"),
        (lambda: stages.apply(hops(), [1], "a"), ValueError, "gathered has shape"),
        (lambda: stages.apply(nearest(), [1], np.array([1.0])), TypeError, "expected a tuple of 2 arrays"),
        (lambda: stages.apply(nearest(), [1], (np.array([1.0]),)), TypeError, "expected a tuple of 2 arrays"),
        (lambda: stages.apply(spread(), [1], np.ones(1, int)), ValueError, r"shape \(1,\); expected \(1, 3\)"),
        (lambda: setattr(hops(), "hops", np.zeros(3)), AttributeError, r"write into it: state\.hops\[:\]"),
        (lambda: stages.compress([0, 0]), TypeError, "the forest is list; expected an array of int32 or int64"),
        (lambda: stages.number(np.zeros(2)), TypeError, r"the forest is float64\(2,\)"),
        (lambda: stages.compress(np.array([0, 7 * 10**7, 1])), ValueError, "of vertex 1 is 70000000; expected 0 to 1"),
        (lambda: stages.number(np.array([-1, 0])), ValueError, "of vertex 0 is -1; expected 0 to 0"),
        (lambda: stages.link(GRAPH, np.array([1, 0, 2])), ValueError, "of vertex 0 is 1; expected 0 to 0, no larger"),
        (lambda: stages.link(GRAPH, np.arange(2)), ValueError, "2 entries; expected one for each of 3"),
        (lambda: stages.link(GRAPH, parents=np.arange(2.0)), TypeError, "the forest is float64"),
        (lambda: stages.compress(np.broadcast_to(np.int64(0), 3)), ValueError, "read-only"),
        (lambda: gasla.Frontier(2.5, [0]), TypeError, "integer"),
        (
            lambda: gasla.Frontier(3, [0]) | gasla.Frontier(4, [0]),
            ValueError,
            r"Frontier\(1 of 3 vertices\) \| Frontier\(1 of 4 vertices\); expected two frontiers of one graph",
        ),
        (
            lambda: gasla.Frontier(3, [0]) - [1],
            TypeError,
            r"Frontier\(1 of 3 vertices\) - \[1\]; expected another Frontier: gasla.Frontier\(3, ids\) makes one",
        ),
    ],
)
def test_refused_rows_raise(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


def frontiers(n: int, members: set[int]) -> list[Any]:
    """A set of vertices in all the forms that it may have."""
    ids = np.array(sorted(members), np.int32)
    found = [gasla.Frontier(n, ids[::-1]), gasla.Frontier(n, mask=np.isin(np.arange(n), ids))]
    found += [gasla.Frontier.all(n)] if len(members) == n else []
    found += [gasla.Frontier.none(n)] if not members else []
    return [*found, *(gasla.Frontier.one(n, v) for v in members if len(members) == 1)]


@given(st.integers(1, 6), st.data())
def test_frontiers_are_sets(n: int, data: st.DataObject) -> None:
    a, b = (data.draw(st.sets(st.integers(0, n - 1))) for _ in range(2))
    for x in frontiers(n, a):
        for y in frontiers(n, b):
            for result, right in ((x | y, a | b), (x & y, a & b), (x - y, a - b), (x ^ y, a ^ b)):
                assert set(result) == right and len(result) == len(right) and result.n == n
            assert (set(x), set(y)) == (a, b)


@pytest.mark.gpu
def test_frontiers_on_either_device_are_sets() -> None:
    import cupy

    n, a, b = 5, {0, 3, 4}, {3}
    for x in frontiers(n, a):
        for y in [*frontiers(n, b), gasla.Frontier.all(n), gasla.Frontier.none(n)]:
            for left, right in ((x.to("gpu"), y), (x, y.to("gpu")), (x.to("gpu"), y.to("gpu"))):
                for result, plain in ((left | right, x | y), (left & right, x & y), (left - right, x - y)):
                    assert isinstance(result.mask, cupy.ndarray) and set(result) == set(plain)


def test_values_of_other_types_and_lists_are_taken_where_they_fit() -> None:
    state = hops()
    assert list(stages.apply(state, [2, 1], [9, 8])) == [1, 2]
    np.testing.assert_array_equal(state.hops, [0, 8, 9])
    state.hops[:] = [3, 2, 1]
    np.testing.assert_array_equal(stages.gather(state, [1]), [4])
    state = nearest()
    stages.apply(state, [1], [np.array([1.5]), np.array([0])])
    np.testing.assert_array_equal(state.parent, [-1, 0, -1])
