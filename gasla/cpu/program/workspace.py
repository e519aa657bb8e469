"""Scratch arrays of runs. A graph keeps them for its next run, as fresh pages cost as much time as a search."""

import math
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from gasla.cpu.program import generate
from gasla.cpu.runtime import memory, threads
from gasla.graph.graph import Graph
from gasla.program.binding import Layout, layout
from gasla.program.program import VertexProgram

SMALL = 1 << 15  # vertices and edges below which one thread does all; 8 times as many if each vertex takes part once

Workspace = dict[tuple[str, Layout], np.ndarray]  # used by one run at a time


def workspaces(graph: Graph) -> deque[Workspace]:
    """Return the graph's workspace between runs, at most one: a run pops it, or makes a new one."""
    return graph.kept("workspaces", lambda _: deque(maxlen=1))


def fitting(workspace: Workspace, shapes: Mapping[str, Layout]) -> dict[str, np.ndarray]:
    """Return arrays of these shapes and types by name, from a workspace. Missing ones are added to it."""
    for item in shapes.items():
        if item not in workspace:
            workspace[item] = np.empty(*item[1])
    return {name: workspace[name, of] for name, of in shapes.items()}


def workspace_shapes(plan: Any, graph: Graph, team: int) -> dict[str, Layout]:
    """Return shapes and types of the scratch arrays that a run needs."""
    n, words, ids, bits = graph.n, graph.n // 64 + 1, graph.id_dtype, np.dtype(np.uint64)
    shapes: dict[str, Layout] = {
        "queues": ((2, team, n), ids),
        "receivers": ((team, n), ids),
        "far": ((team, n), ids),
        "activated": ((n,), np.dtype(bool)),
        "admitted": ((2 * graph.m if plan.traced.program.direction == "all" else graph.m,), np.dtype(bool)),
        "bits": ((2, words), bits),
        "claimed": ((2, words), bits),
        "far_bits": ((team, words), bits),
        "lows": ((3, 8 * team), np.dtype(np.float64)),
        "bounds": ((4,), np.dtype(np.float64)),
        "news": ((n,), np.dtype(np.uint8)),
        "waiting": ((words,), bits),
        "lowest": ((8 * team,), np.dtype(np.int64)),
    }
    for name, kind in plan.components:
        shapes[name] = layout(kind, n)
    if plan.keyed is not None:
        longest = longest_list(graph, plan.traced.program.direction)
        place = np.dtype(np.int32 if longest < 2**30 else np.int64)
        shapes["table_keys"], shapes["table_totals"] = (
            ((team, 2 * longest), kind) for kind in (plan.keyed.key, plan.keyed.total)
        )
        shapes["table_places"] = (team, longest), place
    for name, kind in plan.wide_scratch.items():  # padded, so that threads' rows share no cache line
        shapes[name] = (team, kind.length + 128 // kind.scalar.itemsize), kind.scalar
    shapes |= {f"to_{name}": ((3, n), kind) for name, kind in plan.traced.deposit_types.items()}
    shapes |= {f"was_{name}": layout(plan.traced.vertex_types[name], n) for name in plan.behind}
    shapes["summed"] = (words,), bits
    shapes |= {f"term_{name}": ((n,), kind) for name, kind in plan.traced.aggregate_types.items()}
    scheduled = {"receivers"} if plan.scheduled and not plan.staged else set()  # arrays that the schedule owns
    return {name: shape for name, shape in shapes.items() if name in plan.arrays and name not in scheduled}


def longest_list(graph: Graph, direction: str) -> int:
    """Return the largest number of edges that a vertex gathers over."""
    if direction == "all":
        return int(np.diff(graph.both.indptr).max(initial=0))
    return graph.max_in_degree if direction == "in" else graph.max_out_degree


def workspace_bytes(program: VertexProgram, graph: Graph, deterministic: bool) -> int:
    """Return the size of the workspace in bytes."""
    kind: Any = type(program)
    return _bytes_of(generate.plan(kind, graph.id_dtype, deterministic), graph, team_for(graph))


def _bytes_of(plan: Any, graph: Graph, team: int) -> int:
    return sum(math.prod(shape) * of.itemsize for shape, of in workspace_shapes(plan, graph, team).values())


def fitting_team(plan: Any, graph: Graph, team: int) -> int:
    """Return how many threads of a team have room for their scratch arrays."""
    if team == 1 or team * (graph.n + graph.m) < memory.LARGE // 256:  # no more than 256 bytes for each, so too little
        return team  # to look at the memory available; adding up all arrays takes a tenth of a call on a small graph
    needed, alone = _bytes_of(plan, graph, team), _bytes_of(plan, graph, 1)
    each = (needed - alone) // (team - 1)
    return memory.threads_with_room(team, alone - each, each)


def team_for(graph: Graph, once: bool = False) -> int:
    """Return how many threads run a program on a graph."""
    return 1 if graph.n + graph.m < least_shared(once) else threads.num_threads()


def least_shared(once: bool) -> int:
    """Return how many vertices and edges several threads share at least.

    It is more if each vertex takes part `once`.
    """
    return SMALL << (3 if once else 0)
