"""Compilation that a call begins for all of its programs: where, of what, and once for each graph."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla.operations import ahead


class Largest(gasla.VertexProgram):
    label = gasla.vertex(np.int64, init=lambda vertex: vertex.id)
    reduce = semirings.max

    def gather(self, src, dst, edge):
        return src.label

    def apply(self, vertex, gathered):
        return {"label": semirings.maximum(vertex.label, gathered)}


class Smallest(Largest):
    direction = "out"
    reduce = semirings.min


class Graph:
    """A graph that would be on a GPU: what it keeps is in `made`."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self.made: dict[Any, Any] = {}

    def known(self, key: Any) -> Any:
        return self.made.get(key)

    def kept(self, key: Any, make: Callable[[Any], Any]) -> Any:
        return self.made.setdefault(key, make(self))


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is begun: programs, and lists of phases."""
    found: list[Any] = []

    class Runs:
        def compile_ahead(self, program: Any, graph: Any) -> None:
            found.append(type(program))

    monkeypatch.setattr(ahead, "runs_of", lambda program, graph, variant, turn: Runs())
    monkeypatch.setattr(
        ahead, "begin_compiling", lambda phases, graph, variant: found.append([type(each.program) for each in phases])
    )
    return found


def test_programs_and_phases_are_begun_once_for_each_graph(begun: list[Any]) -> None:
    graph: Any = Graph("gpu")
    phases = [gasla.Phase(Largest(), until="still"), Smallest]
    for _ in range(2):
        ahead.compile_ahead(graph, Largest, Smallest(), phases)
    assert begun == [Largest, Smallest, [Largest, Smallest]]
    ahead.compile_ahead(graph, Smallest)
    other: Any = Graph("gpu")
    ahead.compile_ahead(other, Smallest)
    assert begun[3:] == [Smallest, Smallest]


@pytest.mark.parametrize("engine", ["cpu", "ranks"])
def test_other_engines_are_left_alone(begun: list[Any], engine: str) -> None:
    graph: Any = Graph(engine)
    ahead.compile_ahead(graph, Largest, [Largest, Smallest])
    assert not begun and not graph.made


def test_nothing_is_begun_where_programs_are_not_compiled(begun: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "compiles", lambda: False)
    graph: Any = Graph("gpu")
    ahead.compile_ahead(graph, Largest)
    assert not begun
