"""Temporal cycles are those that trying all sequences of edges finds."""

from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest

import gasla
from gasla.algorithms.temporal import temporal_cycles as module
from gasla.graph.graph import Graph
from tests.helpers.law import Answer, Row, only
from tests.helpers.law import Asked as LawAsked


def rings(q: LawAsked) -> Answer:
    """Of edges that were drawn, by the edges they were."""
    graph = q.graph.with_edge_attributes(time=q.here(q.edge_was * 7 % 11))
    found: Any = gasla.temporal_cycles(graph, 3, 6)
    assert gasla.temporal_cycles(graph, 3, 6, count=True) == len(found)
    edges = [tuple(q.edge_was[row].tolist()) for row in np.split(found.edges, found.indptr[1:-1])] if len(found) else []
    return {"cycles": sorted((*row, *(-2,) * (3 - len(row))) for row in edges if min(row) >= 0)}


LAWS = [Row("temporal_cycles", rings, split=only("each part counts"), gpu=False)]


def drawn(seed: int) -> tuple[Graph, Any]:
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 6)), int(rng.integers(0, 9))
    src, dst, time = rng.integers(0, n, m), rng.integers(0, n, m), rng.integers(0, 12, m)
    return Graph.from_edges(src, dst, n=n).with_edge_attributes(time=time), list(zip(src, dst, time.tolist()))


def tried(edges: Any, most: int, duration: float) -> list[tuple[int, ...]]:
    found = []
    for length in range(2, most + 1):
        for row in permutations(range(len(edges)), length):
            steps = [edges[e] for e in row]
            follows = all(a[1] == b[0] and a[2] < b[2] for a, b in pairwise(steps))
            closes = steps[-1][1] == steps[0][0] and len({step[0] for step in steps}) == length
            if follows and closes and steps[-1][2] - steps[0][2] <= duration:
                found.append(row)
    return sorted(found)


@pytest.mark.parametrize("part", [1 << 20, 2])
def test_cycles_are_those_that_are_found_by_trying(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PART", part)
    for seed in range(60):
        graph, edges = drawn(seed)
        for most, duration in ((2, 12), (3, 5), (4, 8.5)):
            want = tried(edges, most, duration)
            found: Any = gasla.temporal_cycles(graph, most, duration)
            rows = [tuple(row.tolist()) for row in np.split(found.edges, found.indptr[1:-1])] if len(found) else []
            assert sorted(rows) == want, seed
            assert found.tolist() == [[int(edges[e][0]) for e in row] for row in rows]
            assert gasla.temporal_cycles(graph, most, duration, count=True) == len(want)
            few: Any = gasla.temporal_cycles(graph, most, duration, limit=len(want) // 2)
            assert few.tolist() == found.tolist()[: len(want) // 2]
            longer = gasla.temporal_cycles(graph, most, duration, min_length=3, count=True)
            assert longer == sum(len(row) > 2 for row in want)


@pytest.mark.gpu
def test_cycles_on_a_gpu_are_the_same() -> None:
    for seed in range(10):
        graph, _ = drawn(seed)
        there: Any = gasla.temporal_cycles(graph.to("gpu"), 4, 8)
        here: Any = gasla.temporal_cycles(graph, 4, 8)
        assert sorted(there.edges.get().tolist()) == sorted(here.edges.tolist())


def test_dates_and_errors() -> None:
    days = np.array(["2026-01-01T10", "2026-01-02T09", "2026-01-02T09"], "datetime64[h]")
    graph = Graph.from_edges([0, 1, 1], [1, 0, 0]).with_edge_attributes(time=days)
    assert gasla.temporal_cycles(graph, 3, np.timedelta64(24, "h"), count=True) == 2
    assert gasla.temporal_cycles(graph, 3, np.timedelta64(22, "h"), count=True) == 0
    with pytest.raises(ValueError, match="max_length is -1"):
        gasla.temporal_cycles(graph, -1, np.timedelta64(1, "h"))
