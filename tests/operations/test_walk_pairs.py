"""Pairs of walks: against two loops in plain Python, and hostile input."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import datasets
from tests import oracles

WALKS = st.integers(0, 6).flatmap(
    lambda width: st.lists(st.lists(st.integers(-1, 5), min_size=width, max_size=width), min_size=1, max_size=4)
)


@settings(max_examples=100, deadline=None)
@given(WALKS, st.integers(1, 8), st.sampled_from([np.int32, np.int64]))
def test_pairs_are_those_of_two_loops(rows: list[list[int]], window: int, kind: Any) -> None:
    walks = np.array(rows, kind).reshape(len(rows), -1)
    found = gasla.walk_pairs(walks, window)
    wanted = [
        (a, b)
        for row in rows
        for i, a in enumerate(row)
        for j, b in enumerate(row)
        if i != j and abs(i - j) <= window and a >= 0 and b >= 0
    ]
    assert sorted(zip(*found.tolist())) == sorted(wanted) and found.dtype == kind
    oracles.walk_pairs(walks, window, found)


def test_pairs_of_walks_of_a_graph() -> None:
    graph = gasla.Graph(datasets.rmat(6))
    walks = gasla.node2vec_walks(graph, np.arange(graph.n), 8, p=0.5, q=2, seed=1)
    pairs = gasla.walk_pairs(walks, 3)
    oracles.walk_pairs(walks, 3, pairs)
    read_only = walks.copy()
    read_only.flags.writeable = False
    np.testing.assert_array_equal(gasla.walk_pairs(read_only, 3), pairs)
    assert pairs.flags.writeable and pairs.flags.c_contiguous


@pytest.mark.parametrize(
    ("walks", "window", "kind", "message"),
    [
        ([0, 1], 1, TypeError, r"walks is int64\(2,\); expected integers, one row per walk"),
        ([[0.5]], 1, TypeError, r"walks is float64\(1, 1\); expected integers"),
        ([[0, 1], [2]], 1, ValueError, "expected an array, or rows of equal length"),
        ([[0, 1]], 0, ValueError, "window is 0; expected 1 or more"),
        ([[0, 1]], -2, ValueError, "window is -2; expected 0 or more"),
        ([[0, 1]], 1.5, TypeError, "window is 1.5; expected a whole number"),
    ],
)
def test_errors_say_what_is_wrong(walks: Any, window: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        gasla.walk_pairs(walks, window)


@pytest.mark.gpu
def test_gpu_gives_the_same() -> None:
    graph = gasla.Graph(datasets.rmat(6))
    walks = gasla.random_walks(graph, np.arange(graph.n), 8, seed=1)
    there = gasla.random_walks(graph.to("gpu"), np.arange(graph.n), 8, seed=1)
    np.testing.assert_array_equal(gasla.walk_pairs(there, 3).get(), gasla.walk_pairs(walks, 3))
