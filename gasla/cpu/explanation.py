"""What the CPU engine does with a program on a graph, and why, in words: read off its runs."""

import math
from typing import Any

import numpy as np

from gasla.cpu.program.decisions import FEW, TABLES
from gasla.cpu.program.prepared import Prepared
from gasla.cpu.program.workspace import least_shared
from gasla.graph.graph import Graph
from gasla.program import reasons
from gasla.program.program import VertexProgram
from gasla.program.schedule import Schedule


def sentences(runs: Prepared, program: VertexProgram, graph: Graph) -> list[str]:
    """See `gasla.engines.Engine.explain`."""
    plan = runs.plan
    workspace = sum(math.prod(shape) * kind.itemsize for shape, kind in runs._shapes.values())
    return [
        *reasons.sentences(plan, runs._way),
        *reasons.of_graph(plan, program, graph, plan.sends, "for each run"),
        reasons.of_memory(plan, graph, workspace),
        *_tables(runs),
        *_loop(runs, graph),
        _compiling(runs, program, graph),
    ]


def _tables(runs: Prepared) -> list[str]:
    """Sentences on tables, where values are reduced by key."""
    if runs.plan.keyed is None:
        return []
    tables = [runs._shapes[name] for name in TABLES]
    (team, entries), _ = tables[0]
    size = sum(math.prod(shape) * kind.itemsize for shape, kind in tables) // team
    return [f"Each thread has a table of {entries:,} keys, twice the longest list: {size:,} bytes."]


def _loop(runs: Prepared, graph: Graph) -> list[str]:
    """Sentences on how many threads run the loop, and how they walk lists."""
    found, least = [], least_shared(once=runs.plan.scheduled)
    if graph.n + graph.m < least:
        found.append(f"One thread does all: with fewer than {least:,} vertices and edges others are not worth waking.")
    elif runs.team == 1:
        found.append("One thread does all, as it is the only one.")
    else:
        found.append(f"{runs.team} threads share the work; where iterations are thin, one goes on alone.")
    if runs._common[runs._places["narrow"]] and runs.plan.gathers_few_at_once:
        found.append(f"Lists of neighbours are short, so that of each the first {FEW} are gathered without a branch.")
    return found


def _compiling(runs: Prepared, program: VertexProgram, graph: Graph) -> str:
    """A sentence on whether the loop has to be compiled."""
    if runs._call.function.is_compiled([0, runs.team, runs.control, *_arguments(runs, program, graph)]):
        return "It runs on the CPU, in code that is compiled already."
    return "It runs on the CPU, in code that is compiled when it is first called, in half a second or so; it is kept."


def _arguments(runs: Prepared, program: VertexProgram, graph: Graph) -> list[Any]:
    """What a run's loop is passed after its control words, were it to begin now."""
    with runs.turn:
        runs.program, runs.graph = program, graph
        try:
            runs._use({})
            runs._start({}, None)
            if runs.plan.scheduled:
                runs._follow(Schedule(np.full(graph.n, -1, np.int32)))
            return runs._arguments
        finally:
            runs.close()
