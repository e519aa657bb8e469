"""What ends a run: an iteration that changes nothing, where that proves that no later one does, and nothing else."""

from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla import distributed
from gasla.program.plan import Plan
from tests.helpers import programs
from tests.helpers.reference_engine import Reference

RING = gasla.Graph.from_edges(np.arange(12), (np.arange(12) * 5 + 1) % 12)
NUMPY = {"compile": False}


class Base(gasla.VertexProgram):
    """An iteration that changes nothing, and one that does, and so on."""

    x = gasla.vertex(np.int64, init=lambda vertex: vertex.id, missing=0)
    y = gasla.vertex(np.int64)
    reduce = semirings.max
    everyone = True


def made(**body: Any) -> type[gasla.VertexProgram]:
    return type("Made", (Base,), body)


def by_iteration(self, vertex, gathered):
    return {"x": semirings.where(self.iteration == 3, 99, vertex.x)}


def by_total(self, vertex, gathered):
    return {"x": vertex.x % 5 + self.total % 3}


def later(self, vertex):
    return {"y": vertex.y + 1}


Totals = gasla.aggregate(semirings.plus, np.int64)
BY_ITERATION = made(apply=by_iteration)
VARYING = {
    "apply": (BY_ITERATION, "apply reads self.iteration"),
    "random": (
        made(apply=lambda self, v, _: {"x": v.x + (semirings.random(1, v.id, self.iteration) < 0.01)}),
        "apply reads self.iteration",
    ),
    "gather": (
        made(gather=lambda self, s, d, e: s.x + self.iteration, apply=lambda self, v, g: {"x": g % 7}),
        "gather reads self.iteration",
    ),
    "mask": (
        made(mask=lambda self, v: v.id == self.iteration, apply=lambda self, v, _: {"x": 50}),
        "mask reads self.iteration",
    ),
    "edge_mask": (
        made(
            edge_mask=lambda self, s, d, e: s.id == self.iteration,
            gather=lambda self, s, d, e: s.x,
            apply=lambda self, v, g: {"x": semirings.maximum(v.x, g)},
        ),
        "edge_mask reads self.iteration",
    ),
    "changes": (
        made(apply=by_total, total=Totals(lambda self, before, after: after.x - before.x)),
        "apply reads self.total",
    ),
    "masked": (
        made(mask=lambda self, v: v.x < 9, apply=by_total, total=Totals(lambda self, before, after: after.x)),
        "apply reads self.total",
    ),
    "post_apply": (
        made(apply=lambda self, v, _: {"x": semirings.where(v.y == 3, 99, v.x)}, post_apply=later),
        "apply reads y",
    ),
    "counter": (made(apply=lambda self, v, _: {"x": v.x % 5}, post_apply=later), "post_apply reads y"),
}
STEADY = {
    "all": made(apply=by_total, total=Totals(lambda self, before, after: after.x)),
    "explicit": made(apply=by_iteration, activate=lambda self, before, after: after.x != before.x),
    "waking": made(apply=by_iteration, wake=lambda self, vertex: self.iteration < 2),
    "aside": made(apply=lambda self, v, _: {"x": v.x % 5}, post_apply=lambda self, v: {"y": v.x * 2}),
    "few": made(everyone=False, gather=lambda self, s, d, e: s.x, apply=by_iteration),
    "constant": made(gather=lambda self, s, d, e: s.x, apply=lambda self, v, g: {"x": semirings.maximum(v.x, g)}),
}


@pytest.mark.parametrize("name", VARYING)
def test_a_still_iteration_ends_no_run_of_what_varies(name: str) -> None:
    program, why = VARYING[name]
    with pytest.raises(ValueError, match=f"Made never ends by itself: {why}.*give max_iterations, or add stop"):
        gasla.run(program, RING, **NUMPY)
    assert f"It never ends by itself: {why}" in gasla.explain(program, RING)
    found = gasla.run(program, RING, max_iterations=9, **NUMPY)
    assert (found.iterations, found.converged) == (9, False)
    ending = type("Ending", (program,), {"stop": lambda self: self.iteration == 4})
    found = gasla.run(ending, RING, **NUMPY)
    assert (found.iterations, found.converged) == (5, True)
    assert "It ends when stop holds, or after max_iterations: " in gasla.explain(ending, RING)
    over = distributed.Graph.from_graph(RING, distributed.ThreadRanks(2))
    found = gasla.run(ending, over, **NUMPY)
    assert (found.iterations, found.converged) == (5, True)


@pytest.mark.parametrize("name", STEADY)
def test_other_runs_end_with_a_still_iteration(name: str) -> None:
    program = STEADY[name]
    assert Plan(program.traced(np.dtype(np.int32))).ends_when_still
    found = gasla.run(program, RING, **NUMPY)
    again = gasla.run(program, RING, max_iterations=found.iterations + 5, **NUMPY)
    assert found.converged
    assert again.iterations == found.iterations
    assert "never ends" not in gasla.explain(program, RING)


def test_everyone_always_active_needs_a_limit() -> None:
    always = made(apply=lambda self, v, _: {"x": v.x}, activate=lambda self, before, after: True)
    with pytest.raises(ValueError, match="every vertex is always active, and it has no stop; give max_iterations"):
        gasla.run(always, RING, **NUMPY)
    waking = made(everyone=False, apply=lambda self, v, _: {"x": v.x}, wake=lambda self, vertex: True)
    with pytest.raises(ValueError, match="wake is always true"):
        gasla.prepare(waking, RING, **NUMPY)()
    found = gasla.run(always, RING, callback=lambda result: result.iterations == 3, **NUMPY)
    assert found.iterations == 3


def test_a_graph_without_vertices_ends_at_once() -> None:
    empty = gasla.Graph.from_edges([], [], n=0)
    assert gasla.run(BY_ITERATION, empty, max_iterations=5, **NUMPY).converged
    stops = type("Stops", (BY_ITERATION,), {"stop": lambda self: self.iteration < 0})
    assert gasla.run([stops], empty, **NUMPY).converged


def test_an_epidemic_goes_on_until_all_are_well() -> None:
    class Epidemic(gasla.VertexProgram):
        health = gasla.vertex(np.int8)  # 1: infected, 2: recovered
        reduce = semirings.any
        everyone = True

        def gather(self, src, dst, edge):
            return (src.health == 1) & (semirings.random(3, edge.id, self.iteration) < 0.01)

        def apply(self, vertex, gathered):
            well = (vertex.health == 1) & (semirings.random(4, vertex.id, self.iteration) < 0.05)
            caught = (vertex.health == 0) & gathered
            return {"health": semirings.where(caught, 1, semirings.where(well, 2, vertex.health))}

        @gasla.aggregate(semirings.plus, np.int64)
        def infected(self, before, after):
            return after.health == 1

        def stop(self):
            return self.infected == 0

    found = gasla.run(Epidemic, RING, health={0: 1, 5: 1}, **NUMPY)
    assert found.infected == 0
    assert not (np.asarray(found.health) == 1).any()


class ByTurn(Base):
    turn = gasla.parameter(np.int64, 0)

    def apply(self, vertex, gathered):
        return {"x": semirings.where(self.turn == 3, 99, vertex.x)}


class Starting(ByTurn):
    everyone = False

    def start(self, vertex):
        return vertex.id == self.turn

    def gather(self, src, dst, edge):
        return src.x


def test_a_still_turn_ends_no_phases_of_what_varies() -> None:
    for program in (ByTurn, Starting, BY_ITERATION):
        with pytest.raises(ValueError, match=r"these phases never end by themselves: .*give max_iterations"):
            gasla.run([program], RING, **NUMPY)
    found = gasla.run([ByTurn], RING, max_iterations=6, **NUMPY)
    assert found.iterations == 6
    assert (np.asarray(found.x) == 99).all()
    explicit = type("Explicit", (ByTurn,), {"activate": lambda self, before, after: after.x != before.x})
    assert gasla.run([explicit], RING, **NUMPY).iterations == 1
    stops = type("Stops", (Base,), {"apply": lambda self, v, _: {}, "stop": lambda self: self.turn == 4})
    stops = type("Stops", (stops,), {"turn": gasla.parameter(np.int64, 0)})
    assert gasla.run([ByTurn, stops], RING, **NUMPY).iterations == 5


class Lend(Base):
    def apply(self, vertex, gathered):
        return {"y": vertex.x}


class Take(Base):
    """Raises x at the next vertex, until 15."""

    def gather(self, src, dst, edge):
        return src.y

    def apply(self, vertex, gathered):
        return {"x": semirings.maximum(vertex.x, semirings.minimum(gathered + 1, 15))}


@pytest.mark.parametrize("everyone", [True, False])
def test_phases_until_still_go_on_while_a_stay_changes_something(everyone: bool) -> None:
    body: dict[str, Any] = {} if everyone else {"everyone": False, "start": lambda self, vertex: True}
    stays = [gasla.Phase(type(program.__name__, (program,), body), until="still") for program in (Lend, Take)]
    found = gasla.run(stays, RING, **NUMPY)
    assert found.converged
    assert (np.asarray(found.x) == 15).all()
    assert gasla.run(stays, RING, x=found.x, y=found.y, **NUMPY).iterations == 1


def test_a_phase_reads_what_post_apply_of_another_writes() -> None:
    body = {"z": gasla.vertex(np.int64)}
    one = made(**body, apply=lambda self, v, _: {"x": v.x}, post_apply=lambda self, v: {"y": v.z + 1})
    two = made(
        **body,
        apply=lambda self, v, _: {"x": semirings.where(v.y > 3, 99, v.x)},
        post_apply=lambda self, v: {"z": v.y + 1},
    )
    with pytest.raises(ValueError, match=r"these phases never end by themselves: .* reads [yz],"):
        gasla.run([one, two], RING, **NUMPY)
    found = gasla.run([one, two], RING, max_iterations=8, **NUMPY)
    assert (found.iterations, found.converged) == (8, False)
    assert (np.asarray(found.x) == 99).all()


def test_post_apply_alone_goes_on() -> None:
    counting = type("Counting", (Base,), {"post_apply": later})
    with pytest.raises(ValueError, match=r"post_apply reads y.*give max_iterations"):
        gasla.run(counting, RING, **NUMPY)
    assert np.asarray(gasla.run(counting, RING, max_iterations=5, **NUMPY).y).tolist() == [5] * 12


def test_a_phase_until_still_has_to_come_to_an_end() -> None:
    with pytest.raises(ValueError, match="the phase Made goes on until 'still', and never ends by itself"):
        gasla.run([gasla.Phase(BY_ITERATION, until="still")], RING, max_iterations=1, **NUMPY)


@pytest.mark.thorough
@pytest.mark.parametrize("program", [programs.Late, programs.LateFlow])
def test_engines_agree_on_what_ends_a_run(program: Any) -> None:
    reference = Reference(program(), RING).run(None, 9)
    for graph in (RING, distributed.Graph.from_graph(RING, distributed.ThreadRanks(3))):
        found = gasla.run(program, graph, max_iterations=9)
        assert (found.iterations, found.converged) == (reference.iteration, reference.converged) == (9, False)
        for name, expected in {**reference.vertex, **reference.edge}.items():
            np.testing.assert_array_equal(np.asarray(found.state[name]), expected)
        np.testing.assert_array_equal(found.active.mask, reference.active)
    pieces = gasla.run(program, RING, max_iterations=9, callback=lambda result: None)
    np.testing.assert_array_equal(pieces.value, reference.vertex["value"])


@pytest.mark.gpu
@pytest.mark.parametrize("n", [12, 20_000])
@pytest.mark.parametrize("program", [programs.Late, programs.LateFlow])
def test_the_gpu_agrees_on_what_ends_a_run(program: Any, n: int) -> None:
    graph = gasla.Graph.from_edges(np.arange(n), (np.arange(n) * 5 + 1) % n)
    reference = Reference(program(), graph).run(None, 9)
    for options in ({}, {"callback": lambda result: None}):
        found = gasla.run(program, graph, device="gpu", max_iterations=9, **options)
        assert (found.iterations, found.converged) == (9, False)
        for name, expected in {**reference.vertex, **reference.edge}.items():
            np.testing.assert_array_equal(found.state[name].get(), expected)
