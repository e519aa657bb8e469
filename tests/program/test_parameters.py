"""Parameters of programs: what they take, and what they refuse by name."""

from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla import stages
from gasla.graph.graph import Graph

KINDS = [np.dtype(kind) for kind in (bool, "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")]
EDGE = Graph.from_edges([0], [1])


class Kinds(gasla.VertexProgram):
    """A parameter of each type, by default 1."""

    x = gasla.vertex(np.float64, init=1)
    reduce = semirings.plus
    for kind in KINDS:
        vars()[str(kind)] = gasla.parameter(kind, 1)
    del kind

    def gather(self, src, dst, edge):
        return sum((semirings.cast(getattr(self, str(kind)), np.float64) for kind in KINDS), src.x - 1)

    def apply(self, vertex, gathered):
        return {"x": gathered}


def total(**given: Any) -> float:
    """What the parameters come to in a run."""
    return float(gasla.run(Kinds(**given), EDGE, max_iterations=1).x[1])


@pytest.mark.slow
def test_parameters_take_what_fields_of_their_type_take() -> None:
    assert total() == len(KINDS)
    for kind in KINDS:
        forms = [0, 0.0, False, np.float32(0), np.int64(0), np.array(0), np.array(0, np.uint8), kind.type(0)]
        assert {total(**{str(kind): zero}) for zero in forms} == {len(KINDS) - 1.0}, kind
        if kind.kind in "iu":
            highest = int(np.iinfo(kind).max)
            forms = [highest, kind.type(highest)]
            assert {total(**{str(kind): form}) for form in forms} == {float(highest + len(KINDS) - 1)}
    assert total(float32=np.float64(0.1)) == float(np.float32(0.1)) + len(KINDS) - 1


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.kind != "f"], ids=str)
def test_parameters_refuse_what_their_type_does_not_hold(kind: np.dtype) -> None:
    low, high = (0, 1) if kind.kind == "b" else (np.iinfo(kind).min, np.iinfo(kind).max)
    wrong: list[Any] = [high + 1, low - 1, 0.5, np.float32(0.5), np.nan, np.inf, float(2**64), -float(2**64)]
    wrong += [np.array(0.5)]
    wrong += [form(x) for x in (high + 1, low - 1) if -(2**63) <= x < 2**63 for form in (np.int64, np.array)]
    for given in wrong:
        with pytest.raises(ValueError, match=rf"Kinds\.{kind} is .*; expected values of {kind}, whole numbers from"):
            total(**{str(kind): given})
    declared = type("P", (gasla.VertexProgram,), {"p": gasla.parameter(kind, high + 1)})
    with pytest.raises(ValueError, match=rf"P\.p is {high + 1}; expected values of {kind}"):
        declared.traced()  # type: ignore[attr-defined]


@pytest.mark.parametrize("given", ["one", None, [1], np.ones(1), 1j, np.datetime64(1, "s")], ids=repr)
def test_parameters_are_single_numbers(given: Any) -> None:
    for kind in KINDS:
        with pytest.raises(TypeError, match=rf"Kinds\.{kind} is .*; expected one number of type {kind}"):
            total(**{str(kind): given})
    declared = type("P", (gasla.VertexProgram,), {"p": gasla.parameter((np.float32, (2,)), 0)})
    with pytest.raises(TypeError, match=r"the parameter P\.p is .*; expected a scalar type"):
        declared.traced()  # type: ignore[attr-defined]


def test_a_float_that_an_integer_type_just_does_not_hold_is_refused() -> None:
    """2**63 is one more than int64 holds, and no float lies between the two."""
    program = type("P", (gasla.VertexProgram,), {"x": gasla.vertex(np.int64)})
    for given in (2.0**63, np.float64(2.0**63), np.array([2.0**63]), {0: 2.0**63}):
        with pytest.raises(ValueError, match=r"P\.x starts with .*; expected values of int64"):
            gasla.run(program, Graph.from_edges([], [], n=1), x=given)


def test_masks_of_stages_see_parameters_in_their_type() -> None:
    """A mask that is evaluated by itself sees float32(0.1), whatever number was given."""

    class Masked(gasla.VertexProgram):
        x = gasla.vertex(np.float64)
        level = gasla.parameter(np.float32, 0)

        def mask(self, vertex):
            return semirings.cast(self.level, np.float64) == vertex.x

        def apply(self, vertex, gathered):
            return {"x": vertex.x + 1}

    state = stages.start(Masked(level=np.float64(0.1)), EDGE, x=[np.float32(0.1), 0.1])
    assert stages.contract(state).ids.tolist() == [0]
