"""Runs of walk programs on the CPU: calls of their compiled kernels, and the source of what is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.compiler.emit import Known
from gasla.compiler.function import Compiled, array_type
from gasla.compiler.kernel_types import F64, I64, U64, Type, scalar_type
from gasla.cpu.kernels import walks
from gasla.cpu.kernels.walk_steps import TRIES
from gasla.cpu.program.decisions import array_of
from gasla.cpu.program.walk_decisions import WalkDecisions
from gasla.cpu.runtime.blocks import run, threads_for
from gasla.once import once
from gasla.program.walk_plan import WalkBinding, WalkPlan
from semirings.printers import python as printer

Array = np.ndarray[Any, Any]

# number of walkers that a thread moves together, for programs without and with `accept`; larger with `accept`, because
# then only the walkers that were rejected draw again
_GROUP, _BIASED_GROUP = 64, 256


def walk_source(plan: WalkPlan) -> str:
    """Return the Python source of all functions that are compiled for a walk program, to be shown to users.

    A walk program is a user's class whose methods say how a random walker chooses its next step.
    """
    decisions, ids = WalkDecisions(plan), plan.traced.id_type
    arrays: dict[str, tuple[Any, int]] = {
        "control": (np.int64, 1),
        "indptr": (np.int64, 1),
        "indices": (ids, 1),
        "near_indptr": (np.int64, 1),
    }
    arrays |= {"near_indices": (ids, 1), "starts": (ids, 1), "walks": (ids, 2), "scratch": (np.uint64, 3)}
    arrays |= {"marks": (np.float64, 2), "ids": (ids, 3), "complaints": (np.float64, 2)}
    argument_types: dict[str, Type | Known] = {
        name: array_type(np.dtype(kind), count) for name, (kind, count) in arrays.items()
    }
    argument_types |= {"thread": I64, "threads": I64, "weights": Known(None), "first": U64, "key": U64, "bound": F64}
    for argument in plan.inputs:
        argument_types[argument.name] = (
            scalar_type(argument.type) if argument.is_number else array_type(*array_of(argument.type))
        )
    texts = walks.walk.of(decisions).source(tuple(argument_types[name] for name in decisions.arguments))
    printed = (printer.function(f.printed, f.symbols, f.result) for f in plan.functions.values())
    return "\n\n\n".join(text.strip("\n") for text in (*("@compiled\n" + text for text in printed), *texts)) + "\n"


def walk(
    walking: WalkBinding, starts: Array, steps: int, key: int, weights: tuple[Array, Array] | None, first: int = 0
) -> Array:
    """Run the walkers of a walk program: walk `steps` steps from each of `starts`, and return the vertices that are
    visited.

    The result has one row for each walker. Walkers are numbered from `first` on. The number of a walker, with `key`, a
    hash of the seed, decides its random numbers. `weights` has prefix sums of weights and guides, or is None.
    """
    plan, graph = walking.plan, walking.graph
    lists, walks = graph.out, np.empty((len(starts), steps + 1), graph.id_dtype)
    sorted_lists = (graph.sorted_out.indptr, graph.sorted_out.indices) if plan.pair_count else (None, None)
    work, group = walks.size, _BIASED_GROUP if plan.accepts else _GROUP
    team = threads_for(work)
    scratch, marks = (
        np.empty((team, WalkDecisions.rows + 2 * plan.pair_count, group), np.uint64),
        np.empty((team, group)),
    )
    complaints, ids = np.full((team, 4), -1.0), np.empty((team, 3, group), walks.dtype)
    bound = walking.bound() if plan.accepts else 1.0
    drawing = starts, np.uint64(first), np.uint64(key), bound
    args = lists.indptr, lists.indices, weights, *sorted_lists, *drawing, walks, scratch, marks, ids
    largest_work = work * (1 + int(TRIES) * plan.accepts)
    run(_kernel(plan), work, *args, complaints, *walking.arrays(), most=largest_work, loose=True, team=team)
    invalid = complaints[complaints[:, 0] >= 0]
    if len(invalid):
        walker, step, function, value = invalid[invalid[:, 0].argmin()].tolist()
        walking.refuse(int(walker) + first, int(step), int(function), value)
    return walks


@once()
def _kernel(plan: WalkPlan) -> Compiled:
    """Return the kernel `walk`, which moves all walkers, compiled for the plan of a walk program."""
    compiled: Compiled = walks.walk.of(WalkDecisions(plan))
    return compiled
