"""Runs of generated programs on each engine, against the independent one; what `workers.Worker` calls."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gasla
from gasla.arrays import moved
from gasla.program.plan import Plan
from tests.helpers.generated_programs import Case
from tests.helpers.reference_engine import Reference
from tests.helpers.waiting import count_sleepers
from tests.program.test_runs import staged

WAYS = ("auto", "push", "pull")


def expected(case: Case) -> Reference:
    return Reference(case.program(), case.graph).run(case.active, case.limit, case.schedule)


def hurries(case: Case) -> bool:
    """Whether values may go on within an iteration, so that after some of them a run may be further on."""
    return bool(fields_that_absorb(case))


def fields_that_absorb(case: Case) -> tuple[str, ...]:
    traced = case.program.traced(np.dtype(np.int32))
    return Plan(traced, case.mode == "deterministic", case.mode == "scheduled", case.mode == "staged").absorbs


def check_fields(case: Case, fields: dict[str, Any], reference: Reference, ahead: bool) -> None:
    absorbing = fields_that_absorb(case)
    for name, values in {**reference.vertex, **reference.edge}.items():
        if name not in fields:
            continue
        got = moved(fields[name], "cpu")
        got = got.T if got.ndim == 2 else got
        if ahead and name in absorbing:
            monoids = getattr(case.program.reduce, "monoids", (case.program.reduce,))
            combined = monoids[absorbing.index(name)].combine(got, values)
            np.testing.assert_array_equal(combined, got, err_msg="behind the steps")
        else:
            np.testing.assert_array_equal(got, values, err_msg=name)


def check_result(case: Case, result: gasla.Result, reference: Reference) -> None:
    hurry = hurries(case)
    if hurry and hasattr(case.program, "priority") and not result.converged:
        return  # what was put off is behind the steps
    check_fields(case, dict(result.state), reference, hurry and not reference.converged)
    assert result.converged == reference.converged or (hurry and result.converged)
    if hurry:
        return
    assert result.iterations == reference.iteration
    for name, value in reference.aggregates.items():
        got = np.asarray(moved(result.aggregates[name], "cpu"))
        assert np.array_equal(got, value) and got.dtype == np.asarray(value).dtype, f"{name}: {got}, not {value}"
    if case.schedule is None and not (case.program.everyone and case.program.sources == "all"):
        np.testing.assert_array_equal(moved(result.active.mask, "cpu"), reference.active, err_msg="active")


def run(case: Case, graph: gasla.Graph) -> None:
    """All that a case says of runs, on the engine where the graph is."""
    program, reference = case.program, expected(case)
    start: dict[str, Any] = {"active": case.active, "max_iterations": case.limit}
    if case.mode == "staged":
        active = None if case.active is None else list(case.active)
        state = staged(program, graph, active, case.limit, {})
        names = {n: getattr(state, n) for n in (*program.vertex_fields, *program.edge_fields) if n != "w"}
        return check_fields(case, names, reference, False)
    if case.mode == "scheduled":
        start = {"schedule": np.array(case.schedule), "max_iterations": case.limit}
    elif hurries(case):
        start["delta"] = case.options["delta"]
    if case.options["in pieces"]:
        start |= {"callback": lambda result: None, "trace": True}
    for way in WAYS if case.mode == "run" else WAYS[:1]:
        result = gasla.run(program, graph, direction=way, deterministic=case.mode == "deterministic", **start)
        check_result(case, result, reference)
        assert result.trace is None or len(result.trace) == result.iterations
    return None


def on_cpu(case: Case) -> None:
    with pytest.MonkeyPatch.context() as patch:
        several = case.options["threads"] != "as it is"
        if several:  # as in test_programs
            patch.setattr("gasla.cpu.program.workspace.SMALL", 0)
            patch.setattr("gasla.cpu.program.prepared.THIN", 6 if "later" in case.options["threads"] else 0)
            patch.setattr("gasla.cpu.program.prepared.LARGE", 0)
            count_sleepers(-1000)
        try:
            run(case, case.graph)
        finally:
            count_sleepers(1000 * several)


def on_gpu(case: Case) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if case.options["threads"] != "as it is":
            patch.setattr("gasla.gpu.program.workspace.SMALL", 0)
        run(case, case.graph.to("gpu"))


def emulated(case: Case) -> None:
    """The kernel for the GPU on the CPU: by one block that is alone, or by two."""
    from gasla.gpu.program.plan import Variant
    from tests.helpers.emulated_loop import EmulatedRun

    graph, reference = case.graph, expected(case)
    shape: dict[str, Any] = {"deterministic": case.mode == "deterministic"}
    blocks = 2
    if case.options["threads"] == "as it is":
        shape, blocks = shape | {"small": True}, 1
    elif "later" in case.options["threads"]:
        shape |= {"bounded_degree": True, "local": True}
    with tempfile.TemporaryDirectory() as folder:
        kernel = EmulatedRun(case.program, graph, Variant(graph.out.indptr.dtype, **shape), blocks, {}, Path(folder))
        if kernel.plan.rows:
            return  # which tests of rows emulate
        pieces = 2 if case.options["in pieces"] else 10**6
        for way in (0, 1, 2) if blocks > 1 and case.mode == "run" else (2,) if blocks == 1 else (0,):
            delta = case.options["delta"] or 4.0
            fields = kernel.run(case.active, way=way, limit=case.limit, at_once=pieces, delta=delta)
            now, hurry = kernel.page.control, bool(kernel.plan.absorbs)
            if kernel.plan.prioritised and now.size + now.far:
                continue
            check_fields(case, fields, reference, hurry and not reference.converged)
            assert hurry or now.iteration == reference.iteration
