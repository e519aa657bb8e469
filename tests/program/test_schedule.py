"""A schedule's levels may begin anywhere, in any type of integers."""

from typing import Any

import numpy as np
import pytest

import gasla
from gasla.graph.graph import Graph
from tests.helpers import programs


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("first", [-3, 0, 1, 5, 90, 1000])
def test_lower_levels_than_the_first_never_receive(kind: Any, first: int) -> None:
    rng = np.random.default_rng(7)
    graph = Graph.from_edges(*rng.integers(0, 300, (2, 2000)), n=300)
    levels = rng.integers(-5, 9, 300).astype(kind)
    levels[:4] = np.iinfo(kind).min, 100, 90, -1
    schedule, alike = gasla.Schedule(levels, first), np.maximum(levels.astype(np.int64), first - 1) - first
    assert schedule.depth == max(0, 101 - first)
    backwards = np.where(alike < 0, -1, alike.max() - alike)
    for chosen, expected in ((schedule, alike), (schedule.reversed(), backwards)):
        result = gasla.run(programs.Chain, graph, schedule=chosen, trace=True)
        by_levels = gasla.run(programs.Chain, graph, schedule=expected, trace=True)
        for name, values in by_levels.state.items():
            np.testing.assert_array_equal(result.state[name], values, err_msg=name)
        np.testing.assert_array_equal(result.trace["active"], by_levels.trace["active"])
        assert result.trace["active"].sum() == (levels >= first).sum()


@pytest.mark.parametrize("first", [0.0, "1", None])
def test_the_first_level_is_an_integer(first: Any) -> None:
    with pytest.raises(TypeError, match="expected a level, an integer"):
        gasla.Schedule(np.array([0, 1]), first=first)
