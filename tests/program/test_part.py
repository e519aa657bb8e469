"""Programs on a part of a graph: their functions, and what a plan makes of what all parts decide together."""

from typing import Any

import numpy as np
import pytest

import gasla
from gasla.distributed.engine.unsupported import check_supported
from gasla.program.part import DECIDED, OWN, PREFIX, in_part
from gasla.program.plan import Plan
from gasla.program.program import HOOKS
from tests.helpers import programs

INT, WIDE = np.dtype(np.int32), np.dtype(np.int64)


def _is_taken(kind: Any) -> bool:
    try:
        check_supported(kind(), kind.traced(WIDE))
    except ValueError:
        return False
    return not kind.options


KINDS = [
    kind
    for kind in vars(programs).values()
    if isinstance(kind, type) and issubclass(kind, gasla.VertexProgram) and kind.__module__ == programs.__name__
]
TAKEN = [kind for kind in KINDS if _is_taken(kind)]


@pytest.mark.parametrize("kind", TAKEN)
def test_functions_are_those_of_the_program(kind: Any) -> None:
    """Except those that all parts call together."""
    local = in_part(kind, WIDE, True)
    for name in HOOKS.keys() - {*DECIDED}:
        assert getattr(local, name, None) is getattr(kind, name, None)
    assert not local.traced(INT).functions.keys() & {*DECIDED}


@pytest.mark.parametrize("kind", TAKEN)
@pytest.mark.parametrize("deterministic", [False, True])
def test_a_plan_knows_what_all_parts_decide(kind: Any, deterministic: bool) -> None:
    """Buckets, scatter and whatever may change between iterations forbid the same in a part as in the whole graph."""
    whole = Plan(kind.traced(WIDE), deterministic)
    part = Plan(in_part(kind, WIDE, True).traced(INT), deterministic)
    assert {*part.absorbs} == {*whole.absorbs}
    assert part.keeps_active == whole.keeps_active
    assert part.push_at_once <= whole.push_at_once and part.closes <= whole.closes


@pytest.mark.parametrize("kind", TAKEN)
def test_numbers_of_vertices_are_global(kind: Any) -> None:
    """A part reads its own numbers only to tell its vertices from mirrors."""
    for f in in_part(kind, WIDE, True).traced(INT).functions.values():
        reads = {role: f.reads(role) for role in ("vertex", "src", "dst", "before", "after", "edge", "self")}
        assert not reads["self"] & {"n", "iteration", "bucket"} or f.reads("other")
        numbered = {role for role, read in reads.items() if read & {"id", "in_degree", "out_degree", "leaves"}}
        assert numbered <= ({"vertex"} if f.name == "mask" else {"after"} if f.is_aggregate else set())
        assert not numbered or OWN in reads["self"]
        assert all(name.startswith(PREFIX) for name in reads["edge"] & {"id", "leaves"})
