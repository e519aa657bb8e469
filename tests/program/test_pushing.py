"""Tuples and vectors that push: against the independent engine, on hard shapes, by one thread and by several."""

from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla.graph.graph import Graph
from gasla.program.plan import Plan
from semirings import minimum
from tests.helpers.pushing_programs import ABSORBING, PROGRAMS, AnyOrder, Both, Finders, Halves, Longest, Sources
from tests.helpers.reference_engine import Reference

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


SOME = [Sources, Both, Halves]  # of all kinds; others take as long to compile


@pytest.mark.thorough
@pytest.mark.parametrize("program", [P if P in SOME else pytest.param(P, marks=pytest.mark.slow) for P in PROGRAMS])
def test_every_way_gives_what_the_independent_engine_gives(program: Any) -> None:
    for name, graph in GRAPHS.items():
        if name == "int64":
            continue
        for way in ("auto", "push", "pull"):
            check(program, graph, {"direction": way})
    check(program, GRAPHS["random"], {"callback": lambda result: None}, list(range(0, 300, 7)))


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_wide_offsets_and_runs_that_are_to_be_alike(program: Any) -> None:
    for way in ("auto", "push", "pull"):
        check(program, GRAPHS["int64"], {"direction": way})
    for graph in GRAPHS.values():
        check(program, graph, {"deterministic": True})


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("program", [P if P in SOME else pytest.param(P, marks=pytest.mark.slow) for P in PROGRAMS])
def test_threads_may_reduce_into_one_vertex_at_once(program: Any) -> None:
    for name in ("star", "random", "path"):
        for way in ("auto", "push"):
            check(program, GRAPHS[name], {"direction": way})


@pytest.mark.usefixtures("two_threads")
@pytest.mark.slow
def test_who_comes_first_says_all_parts() -> None:
    star = GRAPHS["star"]
    for way in ("auto", "push", "pull"):
        result = gasla.run(Finders, star, active=[3], direction=way, parent={3: 3}, level={3: 0})
        expected = Reference(Finders(), star, parent={3: 3}, level={3: 0}).run([3])
        np.testing.assert_array_equal(result.level, expected.vertex["level"])
        np.testing.assert_array_equal(
            result.parent, np.where(np.arange(900) == 0, 3, np.where(np.arange(900) == 3, 3, 0))
        )


def test_which_programs_push() -> None:
    for program in PROGRAMS:
        plan = Plan(program.traced())
        assert plan.pushes and plan.reason_to_pull is None
        assert bool(plan.absorbs) == (program in ABSORBING)
    assert Plan(Sources.traced()).prioritised and Plan(Sources.traced()).adds_up
    assert Plan(Both.traced()).absorbs == ("hops", "names", "width")
    assert Plan(Finders.traced()).push_at_once


def changed(base: Any, **body: Any) -> Any:
    return type("Changed", (base,), body)


SUM = {"sources": "active", "gather": lambda self, src, dst, edge: (src.id, src.id)}


@pytest.mark.parametrize(
    ("program", "plan", "reason"),
    [
        (Sources, {"deterministic": True}, "deterministic=True: pushed values arrive in any order"),
        (Sources, {"scheduled": True}, "the receivers of each iteration are known ahead"),
        (changed(Sources, everyone=True), {}, "everyone = True: every vertex gathers in every iteration"),
        (changed(Longest, sources="all"), {}, "product(plus, max) is not idempotent"),
        (changed(Longest, **SUM, reduce=semirings.argmin), {}, "a tuple, is combined as a whole by argmin"),
        (changed(Longest, **SUM, reduce=semirings.product(semirings.first, semirings.max)), {}, "depends on the order"),
        (changed(Sources, mask=lambda self, vertex: vertex.distance[0] < 9), {}, "mask reads distance"),
        (changed(Sources, gather=lambda self, src, dst, edge: -src.distance), {}, "grow with src.distance[0]"),
        (
            changed(Sources, gather=lambda self, src, dst, edge: minimum(src.distance, src.distance[0])),
            {},
            "computes one item of its result from the field of another item",
        ),
        (
            changed(Sources, gather=lambda self, src, dst, edge: minimum(src.distance, dst.distance)),
            {},
            "gather reads the receiver's field that it is reduced into",
        ),
        (changed(AnyOrder, activate=lambda self, before, after: after.id > 3), {}, "activate asks for more"),
        (
            changed(AnyOrder, activate=lambda self, before, after: after.distance[0] < before.distance[0]),
            {},
            "activate asks for more",
        ),
        (
            changed(Sources, apply=lambda self, vertex, gathered: {"distance": minimum(vertex.distance, gathered + 1)}),
            {},
            "apply does more than reduce",
        ),
        (
            changed(Sources, distance=gasla.vertex((np.float32, (9,)), init=0), priority=None),
            {},
            "a vector, has over 8 numbers",
        ),
    ],
)
def test_the_reason_to_pull_is_told(program: Any, plan: Any, reason: str) -> None:
    found = Plan(program.traced(), **plan)
    assert not found.pushes
    assert reason in str(found.reason_to_pull)


class Least(gasla.VertexProgram):
    """A monoid whose identity, NaN, is equal to nothing."""

    x = gasla.vertex(np.float32, init=lambda vertex: vertex.id)
    reduce = semirings.Monoid(
        lambda x, y: semirings.where(x != x, y, semirings.where(y != y, x, minimum(x, y))),
        np.nan,
        name="least",
        commutative=True,
    )
    sources = "active"

    def gather(self, src, dst, edge):
        return semirings.where(src.x % 3 == 0, semirings.cast(np.nan, np.float32), src.x)

    def apply(self, vertex, gathered):
        return {"x": gathered}


@pytest.mark.slow
def test_an_identity_that_is_not_itself() -> None:
    for name in ("random", "star", "parallel"):
        expected = gasla.run(Least, GRAPHS[name], max_iterations=1, compile=False)
        result = gasla.run(Least, GRAPHS[name], max_iterations=1, direction="push")
        np.testing.assert_array_equal(result.x, expected.x)
