"""Long computations in threads of their own: Ctrl-C ends the wait, threads end with their step, nothing is freed."""

import signal
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from gasla.apart import run_apart


@contextmanager
def ctrl_c(after: float) -> Iterator[None]:
    """A signal after some seconds, which Python handles as Ctrl-C."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


needs_signals = pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no signals")


@needs_signals
@pytest.mark.parametrize("count", [1, 3])
def test_ctrl_c_ends_the_wait_at_once(count: int) -> None:
    going_on, places = threading.Event(), list[weakref.ref[np.ndarray]]()
    steps: list[int] = []

    def computation(number: int) -> Iterator[None]:
        array = np.zeros(1000)
        places.append(weakref.ref(array))
        steps.append(number)
        yield
        going_on.wait(10)  # code that hears nothing
        assert array.sum() == 0
        steps.append(number)
        yield
        steps.append(-1)

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), ctrl_c(0.1):
        run_apart(*(computation(number) for number in range(count)))
    assert time.monotonic() - began < 5
    assert all(place() is not None for place in places), "freed while it is read"
    going_on.set()
    until = time.monotonic() + 5
    while len(steps) < 2 * count or any(place() is not None for place in places):
        assert time.monotonic() < until
        time.sleep(0.001)
    assert -1 not in steps


def test_an_error_is_raised_here() -> None:
    def fails() -> Iterator[None]:
        yield
        raise ValueError("as it is")

    with pytest.raises(ValueError, match="as it is"):
        run_apart(fails(), iter([1, 2]))


def test_without_further_threads_it_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    threads = set()

    def computation() -> Iterator[None]:
        threads.add(threading.current_thread())
        yield

    run_apart(computation(), computation())
    assert threads == {threading.current_thread()}
