"""Generated programs on every engine against the independent one, each with a time limit.

By default some; `GASLA_GENERATED=1000 pytest -m slow tests/program/test_generated.py` runs 1000 programs for each
engine and share.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.helpers import generated_runs
from tests.helpers.generated_programs import Case, cases
from tests.helpers.workers import Worker

pytestmark = pytest.mark.thorough

SOME = {"cpu": 2, "emulated": 10, "gpu": 20}
MANY = int(os.environ.get("GASLA_GENERATED", "100"))
SHARES = range(int(os.environ.get("GASLA_SHARES", "1")))
FIRST = int(os.environ.get("GASLA_SEED", "0"))  # other programs for another one
SECONDS = 120  # for a program: seconds to compile, and no more than one to run
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    one = Worker(SECONDS)
    yield one
    one.close()


def try_programs(worker: Worker, engine: Callable[[Case], None], strategy: Any, count: int, share: int) -> None:
    """What a failure prints is the program as it was found: to make it smaller takes seconds for every step."""
    phases = [Phase.explicit, Phase.reuse, Phase.generate] + [Phase.shrink] * ("GASLA_SHRINK" in os.environ)
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large]

    @settings(max_examples=count, phases=phases, suppress_health_check=checks, database=None)
    @given(strategy)
    def attempt(case: Case) -> None:
        worker(engine, case)

    seed(share)(attempt)()


ENGINES = {
    "cpu": (generated_runs.on_cpu, cases()),
    "emulated": (generated_runs.emulated, cases(modes=("run", "deterministic"))),
    "gpu": (generated_runs.on_gpu, cases()),
}
ON = [
    pytest.param("cpu"),
    pytest.param("emulated", marks=needs_compiler),
    pytest.param("gpu", marks=pytest.mark.gpu),
]


@pytest.mark.parametrize("engine", ON)
def test_some_programs(engine: str, worker: Worker) -> None:
    """The same every time: one that fails is a change's fault. Others come by name."""
    try_programs(worker, *ENGINES[engine], SOME[engine], 2026)


@pytest.mark.slow
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("engine", ON)
def test_many_programs(engine: str, share: int, worker: Worker) -> None:
    try_programs(worker, *ENGINES[engine], MANY, FIRST + share)


def never_ends() -> None:
    while True:
        pass


def ends_the_process() -> None:
    os._exit(3)


@pytest.mark.parametrize(("task", "said"), [(never_ends, "not ended after"), (ends_the_process, "ended with 3")])
def test_what_does_not_return_fails(task: Callable[[], None], said: str) -> None:
    some = Worker(60)
    before = some(os.getpid)
    some.seconds = 0.5 if task is never_ends else 60
    with pytest.raises(AssertionError, match=said):
        some(task)
    some.seconds = 60
    assert some(os.getpid) not in (before, os.getpid())
    some.close()
