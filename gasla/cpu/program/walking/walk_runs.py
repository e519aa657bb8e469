"""Walk programs on the CPU: the text of a module for each, and how it is called."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

import numpy as np

from gasla.cpu.program.walking.together import TRIES
from gasla.cpu.program.walking.walk_source import ROWS, walk_source
from gasla.cpu.runtime import modules
from gasla.cpu.runtime.blocks import run, threads_for
from gasla.program.walking.walk_plan import WalkBinding, WalkPlan

Array = np.ndarray[Any, Any]

_GROUP, _BIASED_GROUP = 64, 256  # walkers that go together; fewer and fewer of them draw again


def walk(walking: WalkBinding, starts: Array, steps: int, key: int, weights: tuple[Array, Array] | None) -> Array:
    """Walks of so many steps, a row a walker."""
    plan, graph = walking.plan, walking.graph
    lists, walks = graph.out, np.empty((len(starts), steps + 1), graph.id_dtype)
    near = (graph.sorted_out.indptr, graph.sorted_out.indices) if plan.pair_count else (None, None)
    work, group = walks.size, _BIASED_GROUP if plan.accepts else _GROUP
    team = threads_for(work)
    scratch, marks = np.empty((team, ROWS + 2 * plan.pair_count, group), np.uint64), np.empty((team, group))
    complaints, ids = np.full((team, 4), -1.0), np.empty((team, 3, group), walks.dtype)
    bound = walking.bound() if plan.accepts else 1.0
    args = lists.indptr, lists.indices, weights, *near, starts, np.uint64(key), bound, walks, scratch, marks, ids
    most = work * (1 + int(TRIES) * plan.accepts)
    run(
        _loaded(plan).walk,
        work,
        *args,
        complaints,
        *walking.arrays(),
        most=most,
        loose=True,
    )
    made = complaints[complaints[:, 0] >= 0]
    if len(made):
        walker, step, function, value = made[made[:, 0].argmin()].tolist()
        walking.refuse(int(walker), int(step), int(function), value)
    return walks


@functools.cache
def _loaded(plan: WalkPlan) -> ModuleType:
    return modules.load(walk_source(plan), plan.traced.program.__name__)
