"""Explains in sentences how the CPU engine runs a program on a graph."""

import math
from typing import Any

import numpy as np

from gasla.cpu.program.decisions import FEW, TABLES
from gasla.cpu.program.prepared import Prepared
from gasla.cpu.program.workspace import least_shared
from gasla.graph.graph import Graph
from gasla.program import Schedule, VertexProgram, reasons


def sentences(runs: Prepared, program: VertexProgram, graph: Graph) -> list[str]:
    """Return the sentences that `gasla.explain` shows on how a program runs, once it is prepared on a graph."""
    plan = runs.plan
    workspace = sum(math.prod(shape) * kind.itemsize for shape, kind in runs._shapes.values())
    return [
        *reasons.sentences(plan, runs._way),
        *reasons.of_graph(plan, program, graph, "for each run"),
        reasons.of_memory(plan, graph, workspace),
        *_tables(runs),
        *_loop(runs, graph),
        _compiling(runs, program, graph),
    ]


def _tables(runs: Prepared) -> list[str]:
    """Return sentences on the size of the hash tables in which values are reduced by key, if the program does that.

    Otherwise return an empty list.
    """
    if runs.plan.keyed is None:
        return []
    tables = [runs._shapes[name] for name in TABLES]
    (team, entries), _ = tables[0]
    size = sum(math.prod(shape) * kind.itemsize for shape, kind in tables) // team
    return [f"Each thread has a table of {entries:,} keys, twice the longest list: {size:,} bytes."]


def _loop(runs: Prepared, graph: Graph) -> list[str]:
    """Return sentences for users on how many threads run the program, and on how short adjacency lists are read.

    If all lists are short, they may be read without branches.
    """
    lines, smallest_shared = [], least_shared(once=runs.plan.scheduled)
    if graph.n + graph.m < smallest_shared:
        lines.append(
            f"One thread does all: waking others does not pay with fewer than {smallest_shared:,} vertices and edges."
        )
    elif runs.team == 1:
        lines.append("One thread does all, as it is the only one.")
    else:
        lines.append(f"{runs.team} threads share the work; one goes on alone where iterations have little work.")
    if runs._common[runs._places["narrow"]] and runs.plan.gathers_few_at_once:
        lines.append(f"Neighbor lists are short: the first {FEW} edges of each are gathered without branches.")
    return lines


def _compiling(runs: Prepared, program: VertexProgram, graph: Graph) -> str:
    """Return a sentence that says whether the loop of a program over its iterations has been compiled already."""
    if runs._calls["run_loop"].function.is_compiled([0, runs.team, runs.control, *_arguments(runs, program, graph)]):
        return "It runs on the CPU. Its code is compiled already."
    return (
        "It runs on the CPU. Its code is compiled in the first call, which takes about half a second, and then cached."
    )


def _arguments(runs: Prepared, program: VertexProgram, graph: Graph) -> list[Any]:
    """Return the arguments that the kernel of the program's loop takes after the control array, for a run that begins
    now.
    """
    runs.program, runs.graph = program, graph
    try:
        runs._use({})
        runs._start({}, None)
        if runs.plan.scheduled:
            runs._follow(Schedule(np.full(graph.n, -1, np.int32)))
        return runs._arguments
    finally:
        runs.close()
