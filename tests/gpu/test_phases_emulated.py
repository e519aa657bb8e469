"""Runs of phases in one launch, on an emulated grid of blocks, against turns that the host drives on the CPU."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla import verify
from gasla.algorithms.components import minimum_spanning_forest as forest
from gasla.algorithms.components import strongly_connected_components as strong
from gasla.algorithms.independence import greedy_color as coloring
from gasla.algorithms.independence import maximum_bipartite_matching as matching
from gasla.arrays import moved
from gasla.cpu.program.prepared import Prepared
from gasla.graph.graph import Graph
from tests.gpu.test_runs_emulated import SOON_WIDE, skewed
from tests.helpers.emulated_phases import EmulatedTogether
from tests.operations import test_phases

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")]


def check(phases: Any, graph: Graph, together: Any, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Any:
    """Run phases both ways; returns the result."""
    expected = gasla.run(phases, graph, **options)
    monkeypatch.setattr(Prepared, "in_turns", lambda *_: together)
    found = gasla.run(phases, graph, **options)
    monkeypatch.undo()
    assert together.launches == 1
    compare(phases, found, expected)
    return found


def compare(phases: Any, found: Any, expected: Any) -> None:
    """Compare what two runs have found."""
    assert (found.iterations, found.converged) == (expected.iterations, expected.converged)
    for name in (each for phase in phases for each in getattr(phase, "program", phase).vertex_fields):
        equal(getattr(found, name), getattr(expected, name), name)
    np.testing.assert_array_equal(moved(found.active.mask, "cpu"), expected.active.mask)
    assert found.aggregates.keys() == expected.aggregates.keys()
    for name, value in expected.aggregates.items():
        equal(found.aggregates[name], value, name)


def equal(found: Any, expected: Any, name: str) -> None:
    """Compare exactly, but for the order of sums."""
    rtol = 1e-12 if found.dtype.kind == "f" else 0
    np.testing.assert_allclose(moved(found, "cpu"), expected, rtol=rtol, atol=0, err_msg=name)


class Spread(gasla.VertexProgram):
    """From the vertices that the other phase has left active."""

    label = gasla.vertex(np.int64, init=lambda vertex: vertex.id)
    reduce = semirings.min

    def gather(self, src, dst, edge):
        return src.label

    def apply(self, vertex, gathered):
        return {"label": semirings.minimum(vertex.label, gathered)}


class Back(Spread):
    direction = "out"


class Average(gasla.VertexProgram):
    """Reads its own field of neighbors and by `at` while it writes it: two copies, and a copy behind."""

    heat = gasla.vertex(np.float64, init=lambda vertex: vertex.id * 1.5)
    label = gasla.vertex(np.int64, init=lambda vertex: vertex.id, missing=-1)
    turn = gasla.parameter(np.int64, 0)
    reduce = semirings.max
    everyone = True

    def gather(self, src, dst, edge):
        return src.heat

    def apply(self, vertex, gathered):
        return {"heat": semirings.where(gathered > 0, gathered, 0) - self.turn, "label": self.at(vertex.label).label}

    def activate(self, before, after):
        return after.heat > 100


class Next(gasla.VertexProgram):
    """Moves what is active one step on, with whatever lists the iteration before has left."""

    hops = gasla.vertex(np.int32, init=0)
    heat = gasla.vertex(np.float64, init=lambda vertex: vertex.id * 1.5)
    most = gasla.parameter(np.int64, -1)
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return semirings.cast(1, np.int32)

    def apply(self, vertex, gathered):
        return {"hops": (vertex.hops * 3 + gathered) % 1000}

    def activate(self, before, after):
        return (after.hops + self.most) % 3 == 0

    @gasla.aggregate(semirings.max, np.int64)
    def least(self, before, after):
        return semirings.cast(after.hops, np.int64)


class Measured(gasla.VertexProgram):
    """An aggregate that is a parameter of another phase, and one at vertices that is its field."""

    hops = gasla.vertex(np.int32)
    everyone = True

    def apply(self, vertex, gathered):
        return {"hops": vertex.hops + 1}

    @gasla.aggregate(semirings.max, np.int64)
    def most(self, before, after):
        return semirings.cast(after.hops, np.int64)

    @gasla.aggregate(semirings.plus, np.int32, at=lambda self, vertex: semirings.cast(vertex.hops % 7, np.int64))
    def seen(self, before, after):
        return semirings.cast(1, np.int32)


class Seeing(gasla.VertexProgram):
    seen = gasla.vertex(np.int32)
    total = gasla.vertex(np.int64)
    everyone = True

    def apply(self, vertex, gathered):
        return {"total": vertex.total * 2 + vertex.seen}


TREES = [
    forest.Lightest(kind=np.dtype(np.float32), direction="all"),
    forest.Choose(kind=np.dtype(np.float32)),
    forest.Hook,
    gasla.Phase(forest.Climb, until="still"),
    forest.Follow,
]
COLORS = np.where(np.arange(200) % 7 == 0, np.arange(200), -1).astype(np.int32)
SEEDS = {"region": np.zeros(200, np.int32), "color": COLORS, "rank": np.arange(200, dtype=np.int32), "limit": 8}
CASES: dict[str, tuple[Any, dict[str, Any], int]] = {
    "trees": (TREES, {}, 3),
    "strong components": (strong.ROUND, SEEDS, 1),
    "spread": ([Spread, Back], {"active": [3, 40]}, 3),
    "all of them, still": ([gasla.Phase(Spread, until="still")], {}, 1),
    "none": ([Spread, Back], {"active": []}, 1),
    "handed on": ([Next, Average, Next, Measured, Seeing], {"max_iterations": 9, "active": [7]}, 9),
    "everyone's, handed on": ([Next, Next], {"max_iterations": 12, "active": np.arange(0, 200, 3)}, 2),
    "authorities": ([test_phases.Authorities, test_phases.Hubs], {"max_iterations": 5}, 5),
    "turns": ([gasla.Phase(test_phases.Forward, until="still"), test_phases.Counting], {}, 10),
    "limited": ([gasla.Phase(test_phases.Forward, until="still"), test_phases.Limited], {"limit": 3}, 4),
}
SMALL, LARGE, FLAT = {"small": True}, {}, {"bounded_degree": True}


@pytest.mark.parametrize("variant", [SMALL, LARGE, FLAT], ids=["small", "large", "flat"])
@pytest.mark.parametrize("case", CASES)
def test_equals_turns_of_the_cpu(case: str, variant: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    phases, options, turns = CASES[case]
    together = EmulatedTogether(1 if variant is SMALL else 2, tmp_path, SOON_WIDE, **variant)
    assert check(phases, skewed(), together, monkeypatch, **options).iterations >= turns


def crowded() -> Graph:
    """All of its vertices are neighbors: they fill a window of colors, also of those that wait."""
    return Graph.from_edges(*np.triu_indices(132, 1), n=132)


COLORED = [(skewed, {}), (skewed, {"bounded_degree": True}), (skewed, {"small": True}), (crowded, {})]


@pytest.mark.parametrize(("graph", "variant"), COLORED)
def test_coloring(graph: Any, variant: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph()
    direction = coloring.undirected(graph)
    rank = np.random.default_rng(1).permutation(graph.n).astype(np.uint64)
    begun = gasla.run(coloring.Count(direction=direction), graph, max_iterations=1, rank=rank)
    fields = {name: getattr(begun, name) for name in ("color", "waiting", "tells_in")}
    phases = [gasla.Phase(coloring.Color(direction=direction), until="still"), coloring.Advance(direction=direction)]
    together = EmulatedTogether(1 if "small" in variant else 2, tmp_path, SOON_WIDE, **variant)
    found = check(phases, graph, together, monkeypatch, **fields)
    assert found.converged


@pytest.mark.parametrize("variant", [SMALL, LARGE], ids=["small", "large"])
def test_augmented_matchings(variant: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    graph = gasla.Graph.from_edges(rng.integers(0, 150, 330), 150 + rng.integers(0, 150, 330), n=300)
    direction, is_left = matching.undirected(graph), np.arange(300) < 150
    phases = [
        matching.Plant,
        gasla.Phase(matching.Grow(direction=direction), until="still"),
        matching.Choose,
        gasla.Phase(matching.Augment(direction=direction), until="still"),
    ]
    together = EmulatedTogether(1 if "small" in variant else 2, tmp_path, SOON_WIDE, **variant)
    found = check(phases, graph, together, monkeypatch, is_left=is_left, mate=gasla.maximal_matching(graph))
    assert found.iterations > 2
    verify.maximum_bipartite_matching(graph, found.mate)
