"""Scratch arrays of the runs of a program on a graph.

A graph keeps them for its next run, as the system takes as long for fresh memory pages as a search takes.
"""

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

# on a graph with fewer vertices and edges than this, one thread does all the work; the limit is 8 times as high if each
# vertex is processed in only one iteration
SMALL = 1 << 15

Workspace = dict[tuple[str, Layout], np.ndarray]  # scratch arrays by name and layout; only one run uses them at a time


def workspaces(graph: Graph) -> deque[Workspace]:
    """Return the queue in which a graph keeps the scratch arrays of its last run for the next one.

    The queue has at most one item, which a run takes. If the queue is empty, the run makes new arrays.
    """
    return graph.kept("workspaces", lambda _: deque(maxlen=1))


def fitting(workspace: Workspace, shapes: Mapping[str, Layout]) -> dict[str, np.ndarray]:
    """Return scratch arrays of the shapes and dtypes `shapes`, by name, from those in `workspace`.

    Arrays that the workspace does not have yet are made and added to it.
    """
    for item in shapes.items():
        if item not in workspace:
            workspace[item] = np.empty(*item[1])
    return {name: workspace[name, layout_of] for name, layout_of in shapes.items()}


def workspace_shapes(plan: Any, graph: Graph, team: int) -> dict[str, Layout]:
    """Return the shape and type of each scratch array that a run of a program with `team` threads needs, by name."""
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
        index_type = np.dtype(np.int32 if longest < 2**30 else np.int64)
        shapes["table_keys"], shapes["table_totals"] = (
            ((team, 2 * longest), kind) for kind in (plan.keyed.key, plan.keyed.total)
        )
        shapes["table_places"] = (team, longest), index_type
    # each row is longer than the vector, so that two threads, which have a row each, never write to the same cache line
    for name, kind in plan.wide_scratch.items():
        shapes[name] = (team, kind.length + 128 // kind.scalar.itemsize), kind.scalar
    shapes |= {f"to_{name}": ((3, n), kind) for name, kind in plan.traced.deposit_types.items()}
    shapes |= {f"was_{name}": layout(plan.traced.vertex_types[name], n) for name in plan.behind}
    shapes["summed"] = (words,), bits
    shapes |= {f"term_{name}": ((n,), kind) for name, kind in plan.traced.aggregate_types.items()}
    # the schedule keeps these arrays, so they are not made here
    scheduled = {"receivers"} if plan.scheduled and not plan.staged else set()
    return {name: shape for name, shape in shapes.items() if name in plan.arrays and name not in scheduled}


def longest_list(graph: Graph, direction: str) -> int:
    """Return the length of the longest adjacency list that vertices gather over in a direction.

    The direction is "in", "out" or "all".
    """
    if direction == "all":
        return int(np.diff(graph.both.indptr).max(initial=0))
    return graph.max_in_degree if direction == "in" else graph.max_out_degree


def workspace_bytes(program: VertexProgram, graph: Graph, deterministic: bool) -> int:
    """Return the size in bytes of the scratch arrays of a program's runs on a graph."""
    kind: Any = type(program)
    return _bytes_of(generate.plan(kind, graph.id_dtype, deterministic), graph, team_for(graph, threads.num_threads()))


def _bytes_of(plan: Any, graph: Graph, team: int) -> int:
    return sum(math.prod(shape) * dtype.itemsize for shape, dtype in workspace_shapes(plan, graph, team).values())


def fitting_team(plan: Any, graph: Graph, team: int) -> int:
    """Return how many threads of a team can run at once so that their scratch arrays fit into memory."""
    # Scratch arrays take at most 256 bytes for each vertex and edge on each thread. If even that is little memory,
    # their exact sizes are not added up, because this takes a tenth of the time of a call on a small graph.
    if team == 1 or team * (graph.n + graph.m) < memory.LARGE // 256:
        return team
    team_bytes, bytes_of_one = _bytes_of(plan, graph, team), _bytes_of(plan, graph, 1)
    bytes_per_thread = (team_bytes - bytes_of_one) // (team - 1)
    return memory.threads_with_room(team, bytes_of_one - bytes_per_thread, bytes_per_thread)


def team_for(graph: Graph, number: int, once: bool = False) -> int:
    """Return how many of `number` threads run a program on a graph: all, or only one if the graph is small.

    `once` says that each vertex is processed in only one iteration. Then more vertices and edges count as small.
    """
    return 1 if graph.n + graph.m < least_shared(once) else number


def least_shared(once: bool) -> int:
    """Return the number of vertices and edges from which on several threads share the work of a run.

    The number is larger if each vertex is processed in only one iteration (`once`).
    """
    return SMALL << (3 if once else 0)
