"""Kernels on several threads: who takes part, who is waited for, and what becomes of an error."""

import _thread
import os
import random
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import programs
import pytest
from in_turns import in_turns
from numba import njit, types
from waiting import wait_until

import gasla
import semirings
from gasla import datasets, stages
from gasla.cpu import intersect, link, threads
from gasla.cpu.atomics import fetch_add, load, pause
from gasla.cpu.threads import STOP, barrier, launched, new_control, run_parallel, timed

_this_thread = types.ExternalFunction("PyThread_get_thread_ident", types.uintp())
_kernel = njit(nogil=True, error_model="numpy")


@_kernel
def _sign(thread, threads, control, found):  # type: ignore[no-untyped-def]
    """Each thread counts its calls, and says among how many it is, and who."""
    if launched(thread, threads, control):
        return
    fetch_add(found[thread], 0, 1)
    found[thread, 1] = threads
    found[thread, 2] = _this_thread()


@_kernel
def _meet(thread, threads, control, left):  # type: ignore[no-untyped-def]
    """All wait for each other."""
    if launched(thread, threads, control):
        return
    barrier(control, threads)
    barrier(control, threads)
    left[thread] = 1


@_kernel
def _wait_to_stop(thread, threads, control, left):  # type: ignore[no-untyped-def]
    """Nobody leaves before the stop flag is set."""
    if launched(thread, threads, control):
        return
    while load(control, STOP) == 0:
        pause()
    barrier(control, threads)
    left[thread] = 1


@pytest.mark.parametrize("short", [True, False])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_every_thread_runs_once(short: bool, count: int) -> None:
    """Each has its number; the caller is the first of a short run."""
    for _ in range(5):
        found = np.zeros((4, 3), np.int64)
        run_parallel(_sign, new_control(), (found,), count, short=short)
        assert found[:, 0].tolist() == [1] * count + [0] * (4 - count)
        assert set(found[:count, 1].tolist()) == {count}
        assert len(set(found[:count, 2].tolist())) == count
        assert (found[0, 2] == threading.get_ident()) == (short or count == 1)


def test_more_and_fewer_threads_by_turns() -> None:
    """Those who sleep are left asleep, and all have their part whoever else has one."""
    for count in [2, 5, 3, 1, 8, 2, 4] * 20:
        found, left = np.zeros((8, 3), np.int64), np.zeros(8, np.int64)
        run_parallel(_sign, new_control(), (found,), count, short=True)
        run_parallel(_meet, new_control(), (left,), count, short=True)
        assert found[:, 0].tolist() == left.tolist() == [1] * count + [0] * (8 - count)


def test_nobody_waits_for_who_is_not_awake() -> None:
    """In a loose run the first thread may have done all of the work before the second one begins."""
    found = np.zeros((2, 3), np.int64)
    for i in range(200):
        run_parallel(_sign, new_control(), (found,), 2, short=True, loose=True)
        assert found[0, 0] == i + 1
        assert found[1, 0] <= i + 1
        if i % 10 == 0:
            time.sleep(0.002)  # the second one falls asleep
    seen = found[1, 0]
    time.sleep(0.01)
    assert found[1, 0] == seen  # who comes too late for a job does it no more


@pytest.mark.parametrize("short", [True, False])
def test_an_error_arrives(short: bool) -> None:
    """Of a kernel that cannot be launched: it does not compile, for one."""

    def kernel(*_: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_parallel(kernel, new_control(), (), 2, short=short)


def test_a_caller_that_watches_can_end_the_run() -> None:
    """As Ctrl-C does: the stop flag is set, and the exception raised when all have left."""
    left = np.zeros(2, np.int64)

    def watch() -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_parallel(_wait_to_stop, new_control(), (left,), 2, watch)
    assert left.tolist() == [1, 1]


@pytest.mark.parametrize("began", [True, False])
def test_ctrl_c_while_a_long_run_begins(began: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether its thread has begun nobody knows: either it does not, or all are waited for."""
    left, start = np.zeros(2, np.int64), _thread.start_new_thread
    run_parallel(_meet, new_control(), (left,), 2, short=True)
    left[:] = 0

    def interrupted(*arguments: Any) -> None:
        if began:
            start(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_thread, "start_new_thread", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_parallel(_wait_to_stop, new_control(), (left,), 2)
    assert left.tolist() in ([[0, 0], [1, 1]] if began else [[0, 0]])
    assert threads.hold(left)
    threads.busy.clear()
    run_parallel(_meet, new_control(), (left,), 2)
    assert left.tolist() == [1, 1]


@pytest.mark.skipif(os.name != "posix", reason="no clock")
def test_every_kernel_can_be_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    """By `launched` at its head, which adds up what it takes; without it other threads would not come."""
    others: set[str] = set()
    seen: set[str] = set()

    def run_and_look(kernel: Any, control: np.ndarray, args: Any, threads: int, *rest: Any, **options: Any) -> None:
        with timed() as spent:
            before = spent()
            run_parallel(kernel, control, args, threads, *rest, **options)
        seen.add(kernel.__name__)
        if spent() == before:
            others.add(kernel.__name__)

    for module in ("engine", "blocks"):
        monkeypatch.setattr(f"gasla.cpu.{module}.SMALL", 0)
    monkeypatch.setattr("gasla.cpu.engine.ALONE", -1)
    monkeypatch.setattr("gasla.cpu.symmetry._PARALLEL_FROM", 0)
    monkeypatch.setattr("gasla.cpu.threads.num_threads", lambda: 2)
    monkeypatch.setattr("gasla.cpu.blocks.num_threads", lambda: 2)
    monkeypatch.setattr("gasla.cpu.symmetry.num_threads", lambda: 2)
    for module in ("threads", "blocks", "symmetry"):
        monkeypatch.setattr(f"gasla.cpu.{module}.run_parallel", run_and_look)
    graph = gasla.Graph(datasets.rmat(10))
    assert graph.is_symmetric
    gasla.pagerank(graph)
    gasla.betweenness_centrality(graph, sources=[1])
    gasla.connected_components(graph)
    gasla.mxv(graph, np.ones(graph.n, np.float32))
    gasla.mxv(graph, np.ones(graph.n, np.float32), semirings.logaddexp_plus)
    forest = link.hook(graph)
    link.link(graph, forest)
    link.number(forest)
    link.compress(link.hook(graph))
    intersect.intersect_sorted(graph)
    intersect.intersect_oriented(intersect.orient(graph))
    stages.gather(stages.start(programs.Hops, graph), [1])
    generated = {"run_loop", "start", "multiply", "gather_list"}
    named = {"_hook", "_link", "_compress", "_number", "_components", "_merge", "_orient", "_probe"}
    assert generated | named | {"_imbalance"} <= seen
    assert not others


def test_who_has_no_work_sleeps() -> None:
    """After a moment in which the next run would have come cheaper; and wakes again."""
    for _ in range(3):
        run_parallel(_meet, new_control(), (np.zeros(2, np.int64),), 2, short=True)
        wait_until(lambda: not threads.are_ready(2), seconds=10)


@pytest.mark.parametrize("short", [True, False])
def test_threads_that_are_taken_are_not_waited_for(short: bool) -> None:
    """A run beside another has one thread."""
    left, found = np.zeros(2, np.int64), np.zeros((2, 3), np.int64)
    control = new_control()
    other = threading.Thread(target=run_parallel, args=(_wait_to_stop, control, (left,), 2), kwargs={"short": short})
    other.start()
    wait_until(lambda: bool(threads.busy))
    run_parallel(_sign, new_control(), (found,), 2, short=True)
    assert found[:, 1].tolist() == [1, 0]
    control[STOP] = 1
    other.join()
    assert left.tolist() == [1, 1]


FIRST_RUN = """
import sys, time
import numba, numpy as np
import gasla
from gasla import datasets

graph = gasla.Graph(datasets.rmat(14))
right = gasla.bfs(graph, 1)
def check():
    assert all(np.array_equal(a, b) for a, b in zip(gasla.bfs(graph, 1)[:1], right[:1]))
check()
"""
ENDINGS = {
    "while others are awake": "check()",
    "while others sleep": "time.sleep(0.05)",
    "by an exit": "check(); sys.exit(0)",
    "after more and fewer": "\n".join(f"numba.set_num_threads({k}); check()" for k in (1, 3, 2, 1, 3)),
    "in a child": """
import os
for _ in range(3):
    child = os.fork()
    if child == 0:
        check()
        check()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    check()
""",
    "beside a thread that runs": """
import threading
def go_on():
    while True:
        check()
threading.Thread(target=go_on, daemon=True).start()
time.sleep(0.05)
""",
}


@pytest.mark.parametrize(("ending", "mode"), in_turns([(ending,) for ending in ENDINGS], [("default",), ("dev",)]))
def test_a_process_ends(ending: str, mode: str) -> None:
    """Whatever its other threads are at."""
    if "os.fork" in ENDINGS[ending] and not hasattr(os, "fork"):
        pytest.skip("no forks")
    command = [sys.executable, *(["-X", "dev"] if mode == "dev" else []), "-c", FIRST_RUN + ENDINGS[ending]]
    environment = {**os.environ, "NUMBA_NUM_THREADS": "3"}
    found = subprocess.run(command, env=environment, timeout=600, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


def test_one_has_the_threads_at_a_time() -> None:
    one, another = object(), object()
    assert threads.hold(one) and threads.are_held(one)
    assert not threads.hold(another) and not threads.are_held(another)
    run_parallel(_sign, new_control(), (np.zeros((2, 3), np.int64),), 2, short=True)  # alone, and gives nothing back
    assert threads.are_held(one)
    del threads.busy["owner"]
    assert threads.hold(another)
    del threads.busy["owner"]


def test_who_watches_is_heard_while_others_have_the_threads() -> None:
    left, owner = np.zeros(2, np.int64), object()

    def watch() -> None:
        raise InterruptedError

    assert threads.hold(owner)
    with pytest.raises(InterruptedError):
        run_parallel(_wait_to_stop, new_control(), (left,), 2, watch)
    del threads.busy["owner"]
    assert left.tolist() == [1, 0]


def test_ctrl_c_before_it_is_noted_that_the_threads_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    hold = threads.hold

    def interrupted(owner: object) -> bool:
        assert hold(owner)
        raise KeyboardInterrupt

    monkeypatch.setattr("gasla.cpu.engine.SMALL", 0)
    graph = gasla.Graph(datasets.rmat(10))
    graph.is_symmetric  # noqa: B018
    calls = [
        lambda: gasla.bfs(graph, 1),
        lambda: run_parallel(_sign, new_control(), (np.zeros((2, 3), np.int64),), 2, short=True),
        lambda: gasla.betweenness_centrality(graph, sources=[1]),
    ]
    for call in calls:
        with monkeypatch.context() as patch:
            patch.setattr(threads, "hold", interrupted)
            with pytest.raises(KeyboardInterrupt):
                call()
        assert hold(call), "somebody has the threads still"
        del threads.busy["owner"]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in a callback of a weak reference
def test_ctrl_c_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for ever, nothing is written where it should not be, and the next run is right."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    for module in ("engine", "blocks"):
        monkeypatch.setattr(f"gasla.cpu.{module}.SMALL", 0)
    graph = gasla.Graph(datasets.rmat(10))
    vector = np.ones(graph.n, np.float32)
    calls = [
        lambda: gasla.bfs(graph, 1),
        lambda: gasla.sssp(graph, 1),
        lambda: gasla.connected_components(graph).labels,
        lambda: gasla.triangle_count(graph),
        lambda: gasla.betweenness_centrality(graph, sources=[1]),
        lambda: gasla.mxv(graph, vector),
    ]
    expected = [call() for call in calls]
    draw, interrupted = random.Random(1), 0
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for number in range(300):
            monkeypatch.setattr("gasla.cpu.engine.ALONE", draw.choice([-1, 100]))
            for module in ("threads", "blocks"):
                monkeypatch.setattr(f"gasla.cpu.{module}.SHORT", draw.choice([0, 1 << 26]))
            call, right = calls[number % len(calls)], expected[number % len(calls)]
            try:
                signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-5, 1e-3))
                np.testing.assert_allclose(call(), right)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupted += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert not threads.busy
            np.testing.assert_allclose(call(), right)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert interrupted
    other = threading.Thread(target=calls[0], daemon=True)  # waits for no lock that an interrupted call left taken
    other.start()
    other.join(60)
    assert not other.is_alive()


def test_a_worker_that_nobody_noted_shares_nothing_with_the_next() -> None:
    """As when Ctrl-C comes between its start and its place in the list: it may still write to its letters."""
    unnoted, worker = threads._Worker(0), threads._Worker(0)
    assert not np.shares_memory(unnoted.letters, worker.letters)
