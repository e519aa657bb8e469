"""Tuples and vectors that push: against the independent engine, on hard shapes, by one thread and by several."""

from typing import Any

import numpy as np
import pytest
from pushing_programs import ABSORBING, PROGRAMS, Both, Finders, Sources
from reference_engine import Reference

import gasla
from gasla.graph.graph import Graph
from gasla.program.plan import Plan

RNG = np.random.default_rng(26)


def graphs() -> dict[str, Graph]:
    """Small ones of hard shapes."""
    src, dst = RNG.integers(0, 300, 1500), (300 * RNG.random(1500) ** 3).astype(np.int64)
    leaves, path = np.arange(1, 900), np.arange(400)

    def graph(src: Any, dst: Any, n: int) -> Graph:
        return Graph.from_edges(src, dst, np.random.default_rng(len(src)).integers(1, 9, len(src)), n=n)

    star = np.concatenate([leaves, 0 * leaves]), np.concatenate([0 * leaves, leaves])
    wide = graph(src, dst, 300)
    found = {
        "empty": graph([], [], 0),
        "one": graph([], [], 1),
        "loops": graph([0, 0, 1, 1, 2], [0, 0, 1, 2, 2], 4),
        "parallel": graph([0, 0, 0, 1, 1], [1, 1, 1, 2, 2], 3),
        "star": graph(*star, 900),
        "path": graph(path[:-1], path[1:], 410),
        "random": wide,
        "int64": Graph.from_csr(wide.out.indptr.astype(np.int64), wide.out.indices, wide.out_values),
        "unsorted": graph(src[::-1], dst[::-1], 300),
    }
    return found


GRAPHS = graphs()


def starts(program: Any, n: int) -> dict[str, Any]:
    """Something to begin with, where a program says the same of all vertices."""
    if issubclass(program, Sources):
        distance = np.full((n, 8), np.inf, np.float32)
        lanes = np.arange(8 if n else 0)
        distance[lanes * 7 % max(n, 1), lanes] = 0
        return {"distance": distance}
    if program is Both:
        hops = np.full((n, 2), 200, np.uint8)
        hops[::50, 0] = hops[3::90, 1] = 0
        return {"hops": hops, "width": (np.arange(n) % 13).astype(np.int16)}
    return {}


def check(program: Any, graph: Graph, options: dict[str, Any], active: Any = None, limit: int = 10**6) -> None:
    given = starts(program, graph.n)
    if limit == 10**6 and program not in ABSORBING:
        limit = 6
    expected = Reference(program(), graph, **given).run(active, limit)
    result = gasla.run(program, graph, active=active, max_iterations=limit, **options, **given)
    for name in program.vertex_fields:
        got, wanted = result.state[name], expected.vertex[name]
        np.testing.assert_array_equal(got.T if got.ndim == 2 else got, wanted, err_msg=f"{name} {options}")
    if program not in ABSORBING:
        assert result.iterations == expected.iteration
        for name, value in expected.aggregates.items():
            assert result.aggregates[name] == value


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_way_gives_what_the_independent_engine_gives(program: Any) -> None:
    for name, graph in GRAPHS.items():
        ways: list[dict[str, Any]] = [{"direction": way} for way in ("auto", "push", "pull")]
        for options in (*ways, {"deterministic": True}):
            check(program, graph, options)
        if name == "random":
            check(program, graph, {"callback": lambda result: None}, list(range(0, 300, 7)))


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("program", PROGRAMS)
def test_threads_may_reduce_into_one_vertex_at_once(program: Any) -> None:
    for name in ("star", "random", "path"):
        for way in ("auto", "push"):
            check(program, GRAPHS[name], {"direction": way})


def test_which_programs_push() -> None:
    for program in PROGRAMS:
        plan = Plan(program.traced())
        assert plan.pushes and plan.reason_to_pull is None
        assert bool(plan.absorbs) == (program in ABSORBING)
    assert Plan(Sources.traced()).prioritised and Plan(Sources.traced()).adds_up
    assert Plan(Both.traced()).absorbs == ("hops", "names", "width")
    assert Plan(Finders.traced()).push_at_once
