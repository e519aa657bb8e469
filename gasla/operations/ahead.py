"""Compile programs ahead of their first run, for algorithms that run several programs one after another."""

from threading import Lock
from typing import Any

from gasla.engines import compiles
from gasla.graph.graph import Graph
from gasla.operations.phases import as_phases, begin_compiling
from gasla.operations.prepare import Variant, runs_of
from gasla.program.binding import AUTO
from gasla.program.program import as_program


def compile_ahead(graph: Graph, *runs: Any) -> None:
    """Begin to compile all programs that an algorithm is about to run on a graph.

    Each of `runs` is a program, or a list of phases. On a GPU all are compiled at the same time, once for each graph.
    On the CPU this does nothing: its compiler keeps the interpreter's lock, so it could not work while the caller goes
    on.
    """
    if graph.engine != "gpu" or not compiles():
        return
    key = (
        "compiled ahead",
        *(tuple(map(_program_class, run)) if isinstance(run, list) else _program_class(run) for run in runs),
    )
    if graph.known(key) is None:
        graph.kept(key, lambda graph: _begin(graph, runs))


def _program_class(run: Any) -> type:
    program = getattr(run, "program", run)  # a `Phase` has its program as an attribute; any other run is a program
    return program if isinstance(program, type) else type(program)


def _begin(graph: Graph, runs: tuple[Any, ...]) -> bool:
    variant = Variant(AUTO, False, False, True)
    for run in runs:
        if isinstance(run, list):
            begin_compiling(as_phases(run), graph, variant)
        else:
            program = as_program(run)
            runs_of(program, graph, variant, Lock()).compile_ahead(program, graph)
    return True
