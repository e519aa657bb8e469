"""What all tests share: GPU tests skip themselves where there is no GPU; hypothesis sets no deadline."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestItem
from hypothesis import HealthCheck, settings

from gasla import cache
from gasla.bench.reports import machine
from gasla.compiler.function import Compiled
from gasla.cpu.runtime import cores
from tests.helpers import ROOT

# Before gasla counts threads: what two threads do is tested on one core, too.
os.environ.setdefault("GASLA_NUM_THREADS", str(max(2, os.cpu_count() or 1)))
cores.usable = (lambda usable: lambda: max(2, usable()))(cores.usable)

# Benchmarks that are tested need not see that tests run beside them. No fixture does this: with one that changes a
# module, no test could run in several threads at once.
machine.spin = wraps(machine.spin)(lambda: machine.Spin(0.0, 1.0))
machine.STAT = Path(os.devnull)

GARBAGE = 0xA5  # negative as a whole number, true as a bool, and no 0 of any type

settings.register_profile("gasla", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("gasla")


def gpu_missing() -> str | None:
    """Return why no GPU can be used, or None where one can."""
    try:
        import cupy
    except ImportError:
        return "CuPy is not installed"
    return None if cupy.cuda.is_available() else "no NVIDIA GPU"


class Thorough:
    """Marks the examples in gasla's docstrings, of which tests stand for most, before marks choose what runs."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            if isinstance(item, DoctestItem) and item.path.is_relative_to(ROOT / "gasla"):
                item.add_marker("thorough")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: Any, log: Any) -> Any:
    """One process takes all tests of a file: what these compile is then compiled once."""
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log) if config.getoption("dist") == "load" else None


class Shipped:
    """Has tests find the code in a folder that `gasla.shipping` has filled, and lists those that compile more."""

    def __init__(self, folder: Path, own: Path) -> None:
        cache.SHIPPED = folder
        os.environ["GASLA_CACHE_DIR"] = str(own)
        self.compiled: dict[str, list[str]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        found = self.compiled.setdefault(item.nodeid, [])
        compile_now = Compiled._compile

        def noted(function: Compiled, *rest: Any) -> bytes:
            found.append(function.plain.__name__)
            return compile_now(function, *rest)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Compiled, "_compile", noted)
            return (yield)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        some = {name: kernels for name, kernels in self.compiled.items() if kernels}
        terminalreporter.section(f"{len(some)} of {len(self.compiled)} tests compile what is not shipped")
        for name, kernels in some.items():
            terminalreporter.line(f"{name}: {' '.join(kernels)}")


def asks_for_tests_below(config: pytest.Config) -> bool:
    """Whether a path below tests/ is given, and no -m says which of its tests run: all but slow ones do."""
    if any(argument.startswith("-m") for argument in config.invocation_params.args if isinstance(argument, str)):
        return False
    paths = [(config.invocation_params.dir / name.partition("::")[0]).resolve() for name in config.args]
    return any(ROOT / "tests" in path.parents for path in paths)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shipped", type=Path, metavar="FOLDER", help="which tests compile what is not shipped there")


def pytest_configure(config: pytest.Config) -> None:
    if asks_for_tests_below(config):
        config.option.markexpr = "not slow"
    config.pluginmanager.register(Thorough())
    if folder := config.getoption("--shipped"):
        own = tempfile.TemporaryDirectory()
        config.add_cleanup(own.cleanup)
        config.pluginmanager.register(Shipped(folder, Path(own.name)))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Have the garbage collector pass over modules and tests, which live to the end: it takes a tenth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests marked gpu, with the reason, where they cannot run."""
    marked = [item for item in items if item.get_closest_marker("gpu")]  # keywords also name folders
    reason = gpu_missing() if marked else None
    for item in marked if reason else []:
        item.add_marker(pytest.mark.skip(reason=reason))
    if marked and not reason:
        poison_memory()


def poison_memory() -> None:
    """Have memory of the GPU hold garbage at first, so that who reads what nobody has written gives wrong answers."""
    import cupy

    pool = cupy.get_default_memory_pool()

    def poisoned(size: int) -> cupy.cuda.MemoryPointer:
        memory = pool.malloc(size)
        if size:
            memory.memset_async(GARBAGE, size)
        return memory

    cupy.cuda.set_allocator(poisoned)


@pytest.fixture
def no_collector() -> Iterator[None]:
    """What is freed in the test is freed because nothing refers to it any more."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In every iteration, even on the smallest graph; the second one is not waited for to wake."""
    import gasla
    from gasla.cpu.runtime.workers import MOST
    from tests.helpers.waiting import count_sleepers

    monkeypatch.setattr("gasla.cpu.program.workspace.SMALL", 0)
    monkeypatch.setattr("gasla.cpu.program.prepared.THIN", 0)
    monkeypatch.setattr("gasla.cpu.program.prepared.LARGE", 0)
    gasla.set_num_threads(2)
    count_sleepers(-1000)
    yield
    count_sleepers(1000)
    gasla.set_num_threads(MOST)
