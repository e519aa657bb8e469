"""Waiting for a kernel, without one: who runs meanwhile, and who is called."""

import itertools
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from gasla.gpu.runtime import waiting


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses of a wait; its clock goes on by a microsecond at each look."""
    made: list[float] = []
    clock = itertools.count()
    stand_in = SimpleNamespace(perf_counter=lambda: 1e-6 * next(clock), sleep=made.append)
    monkeypatch.setattr(waiting, "time", stand_in)
    monkeypatch.setattr(waiting, "is_idle", lambda: False)
    return made


class Page:
    """Says at the look of some number that the kernel has ended."""

    def __init__(self, looks: int) -> None:
        self._left = looks

    @property
    def ended(self) -> int:
        self._left -= 1
        return int(self._left <= 0)


def test_a_short_wait_pauses_only_for_threads_that_drive_other_gpus(pauses: list[float]) -> None:
    waiting.wait(Page(500), 1)
    assert not pauses
    with waiting.yielding():
        waiting.wait(Page(500), 1)
    assert pauses == [0] * 499
    waiting.wait(Page(500), 1)
    assert len(pauses) == 499


def test_a_wait_may_ask_the_driver_without_a_pause(pauses: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def ask() -> bool:
        asked.append(True)
        return len(asked) == 300

    monkeypatch.setattr(waiting, "is_idle", ask)
    waiting.wait(Page(500), 1)
    assert not asked
    waiting.wait(Page(200), 1, asks=True)
    assert len(asked) == 199
    waiting.wait(Page(500), 1, asks=True)
    assert len(asked) == 300 and not pauses


@pytest.mark.parametrize("wait", ["page", "stream"])
def test_a_long_wait_looks_around_and_ends_by_an_error(wait: str, pauses: list[float]) -> None:
    looks = 0

    def look() -> None:
        nonlocal looks
        looks += 1
        if looks == 3:
            raise KeyboardInterrupt

    begin = partial(waiting.wait, Page(10**9), 1) if wait == "page" else waiting.wait_for_stream
    with pytest.raises(KeyboardInterrupt):
        begin(look)
    assert pauses[0] == 0 and pauses[-1] > 0


def test_a_wait_ends_with_the_work_of_its_stream(pauses: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Any:
        raise AssertionError("there was nothing to wait for")

    monkeypatch.setattr(waiting, "is_idle", lambda: True)
    waiting.wait_for_stream(refuse)
    waiting.wait(Page(10**9), 1)
    assert not pauses
