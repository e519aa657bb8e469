"""Functions that would give one random number for a whole run are refused by name; what looks like them is not."""

import datetime
import math
import random
import re
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.random import random as uniform

import gasla
import semirings
from semirings.constant_calls import constant_call

RNG, OLD, PYTHONS = np.random.default_rng(0), np.random.RandomState(0), random.Random(0)
HALF = RNG.random()  # a constant


def noise(x: Any) -> Any:
    return x + RNG.normal()


def twice(x: Any) -> Any:
    return noise(x) + twice.weight if hasattr(twice, "weight") else noise(x)


REFUSED: dict[str, Callable[..., Any]] = {
    "np.random.random": lambda x: x * np.random.random(),  # noqa: NPY002
    "np.random.randint": lambda x: semirings.where(x > 0, np.random.randint(3), 0),  # noqa: NPY002
    "np.random.default_rng": lambda x: x + np.random.default_rng(1).random(),
    "RNG.random": lambda x: x + RNG.random(),
    "OLD.rand": lambda x: x + OLD.rand(),
    "PYTHONS.random": lambda x: x + PYTHONS.random(),
    "RNG.normal": noise,
    "uniform": lambda x: x + uniform(),  # noqa: NPY002
    "default_rng": lambda x: x + default_rng(2).random(),
    "random.random": lambda x: x + random.random(),
    "time.time": lambda x: x + time.time(),
    "datetime.datetime.now": lambda x: x + datetime.datetime.now().hour,
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_number_that_would_be_constant_is_refused(name: str) -> None:
    assert constant_call(REFUSED[name]) == name
    assert constant_call(partial(REFUSED[name])) == name
    message = f"calls {name}, but is called only once, with symbols in place of numbers"
    with pytest.raises(TypeError, match=re.escape(message)):
        semirings.trace(REFUSED[name], semirings.Symbol("x", "f8"))


def test_calls_in_functions_of_the_module_and_in_closures_are_found() -> None:
    rng = np.random.default_rng(1)
    assert constant_call(twice) == "RNG.normal"
    assert constant_call(lambda x: x + rng.random()) == "rng.random"


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + HALF,
        lambda x: x + semirings.random(3, x) + np.pi,
        lambda x: np.minimum(x, math.sqrt(2)),
        lambda x: semirings.where(x > np.hypot(3, 4), x, 0),
        lambda x, random=semirings.random: random(3, x),
        np.add,
        len,
    ],
)
def test_other_functions_are_not_refused(function: Callable[..., Any]) -> None:
    assert constant_call(function) is None


class Epidemic(gasla.VertexProgram):
    health = gasla.vertex(np.int8)
    reduce = semirings.any
    rng = np.random.default_rng(3)

    def gather(self, src, dst, edge):
        return src.health & (self.rng.random() < 0.5)

    def apply(self, vertex, gathered):
        return {"health": semirings.where(gathered, 1, vertex.health)}


@pytest.mark.parametrize("compiled", [False, True])
def test_a_program_is_refused_before_it_runs(compiled: bool) -> None:
    with pytest.raises(TypeError, match=r"Epidemic.gather calls self.rng.random, but is called only once"):
        gasla.run(Epidemic, gasla.Graph.from_edges([0], [1]), max_iterations=1, compile=compiled)
