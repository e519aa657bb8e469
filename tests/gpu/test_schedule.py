"""Scheduled runs on the GPU against the CPU engine: few receivers or many, rows of all lengths, in pieces."""

from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla.graph.graph import Graph
from gasla.program.fields import aggregate, edge, vertex
from tests.helpers import programs

pytestmark = pytest.mark.gpu


class First(gasla.VertexProgram):
    """Any neighbor will do where all are the same; counts who applied, and notes it afterwards."""

    x = vertex(np.int64, init=1)
    seen = vertex(np.int32, init=0)
    reduce = semirings.any

    def gather(self, src, dst, edge):
        return semirings.where(src.seen < 0, 8, 7)

    def apply(self, vertex, gathered):
        return {"x": gathered + self.iteration}

    def post_apply(self, vertex):
        return {"seen": vertex.seen + 1}

    @aggregate(semirings.plus)
    def changed(self, before, after):
        return after.x != before.x

    def stop(self):
        return self.iteration >= 9


class Alone(gasla.VertexProgram):
    """Nothing that is written is gathered."""

    x = vertex(np.int64, init=lambda v: v.id)
    y = vertex(np.int64)
    weight = edge(np.int64)
    reduce = semirings.plus

    def edge_mask(self, src, dst, edge):
        return src.x % 3 != 1

    def gather(self, src, dst, edge):
        return src.x * edge.weight

    def apply(self, vertex, gathered):
        return {"y": gathered + vertex.id}


PROGRAMS: list[tuple[Any, dict[str, Any]]] = [
    (programs.Hops, {"hops": {0: 0}}),
    (programs.Cheapest, {"cost": {0: 0}}),
    (programs.Bits, {}),
    (programs.Nearest, {"cost": {0: 0}}),
    (programs.Chain, {}),
    (programs.Spread, {}),
    (First, {}),
    (Alone, {}),
]


def grid(wide: bool) -> Graph:
    side = 40
    v = np.arange(side * side).reshape(side, side)
    src = np.concatenate([v[:, 1:].ravel(), v[1:].ravel()])
    dst = np.concatenate([v[:, :-1].ravel(), v[:-1].ravel()])
    return graph_of(np.concatenate([src, dst]), np.concatenate([dst, src]), side * side, wide)


def even(wide: bool) -> Graph:
    """More vertices than there are groups of lanes."""
    rng = np.random.default_rng(1)
    n, m = 60_000, 600_000
    return graph_of(rng.integers(0, n, m), rng.integers(0, n, m), n, wide)


def skewed(wide: bool) -> Graph:
    """Rows of 0 to 100,000 entries; more hubs than a block can put off."""
    rng = np.random.default_rng(2)
    n, m = 3000, 200_000
    src, dst = rng.integers(0, n, m), (n * rng.random(m) ** 6).astype(np.int64)
    dst[: m // 4] = 5
    return graph_of(src, dst, n, wide)


def graph_of(src: np.ndarray, dst: np.ndarray, n: int, wide: bool) -> Graph:
    lists = Graph.from_edges(src, dst, np.arange(len(src)) % 9, n=n)
    return Graph.from_csr(lists.out.indptr.astype(np.int64 if wide else np.int32), lists.out.indices, lists.out_values)


def one(n: int) -> list[tuple[np.ndarray, int]]:
    """Levels, and the first of them."""
    return [(np.random.default_rng(3).integers(-1, 4, n), 0)]


def few(n: int) -> list[tuple[np.ndarray, int]]:
    rng = np.random.default_rng(3)
    return [
        (rng.integers(-1, 12, n), 0),
        (rng.integers(-1, 12, n).astype(np.int32), 1),
        (np.where(np.arange(n) == 5, 0, -1), 0),
    ]


def many(n: int) -> list[tuple[np.ndarray, int]]:
    return [(np.minimum(np.arange(n), 300).astype(np.int32), 2)]


# An iteration takes milliseconds under racecheck.
@pytest.mark.parametrize("schedules", [pytest.param(one, marks=pytest.mark.sanitize), few, many])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("shape", [grid, even, skewed])
@pytest.mark.parametrize(("program", "start"), PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_equals_the_cpu(program: Any, start: dict[str, Any], shape: Any, wide: bool, schedules: Any) -> None:
    import cupy

    graph = shape(wide)
    for levels, first in schedules(graph.n):
        schedule = gasla.Schedule(levels, first)
        expected = gasla.run(program, graph, schedule=schedule, trace=True, **start)
        seen: list[int] = []

        def note(result: Any, seen: list[int] = seen) -> None:
            seen.append(result.iterations)

        there = gasla.Schedule(cupy.asarray(levels), first)
        for options in ({"schedule": there}, {"schedule": schedule, "trace": True, "callback": note}):
            result = gasla.run(program, graph, device="gpu", **options, **start)
            for name, values in expected.state.items():
                np.testing.assert_array_equal(result.state[name].get(), values, err_msg=name)
            assert (result.iterations, result.converged) == (expected.iterations, expected.converged)
            assert result.edges == expected.edges or program in (programs.Hops, programs.Bits)  # which may end early
        assert seen == list(range(1, result.iterations + 1))
        np.testing.assert_array_equal(result.trace["active"], expected.trace["active"])
        assert result.trace["edges"].sum() == result.edges
        back = [gasla.run(program, graph, schedule=schedule.reversed(), device=d, **start) for d in ("cpu", "gpu")]
        for name, values in back[0].state.items():
            np.testing.assert_array_equal(back[1].state[name].get(), values, err_msg=name)
