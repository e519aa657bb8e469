"""Kernels on several threads: who takes part, who is waited for, and what becomes of an error."""

import random
import signal
import threading
import time
from typing import Any

import numpy as np
import programs
import pytest

import gasla
import semirings
from gasla import datasets, stages
from gasla.cpu import intersect, link, threads
from gasla.cpu.threads import STOP, _gate, barrier, new_control, run_parallel


@pytest.mark.parametrize("short", [True, False])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_every_thread_runs_once(short: bool, count: int) -> None:
    """Each has its number; the caller is the first of a short run."""
    found: dict[int, threading.Thread] = {}

    def kernel(thread: int, threads: int, control: np.ndarray) -> None:
        assert threads == count
        found[thread] = threading.current_thread()

    for _ in range(5):
        found.clear()
        run_parallel(kernel, new_control(), (), count, short=short)
        assert sorted(found) == list(range(count))
        assert len(set(found.values())) == count
        assert (found[0] is threading.current_thread()) == (short or count == 1)


def test_nobody_waits_for_who_is_not_awake() -> None:
    """In a loose run the first thread may have done all of the work before the second one begins."""
    done: list[int] = []

    def kernel(thread: int, threads: int, control: np.ndarray) -> None:
        done.append(thread)

    for i in range(200):
        run_parallel(kernel, new_control(), (), 2, short=True, loose=True)
        assert done.count(0) == i + 1
        assert done.count(1) <= i + 1


@pytest.mark.parametrize("short", [True, False])
@pytest.mark.parametrize("guilty", [0, 1])
def test_an_error_arrives(short: bool, guilty: int) -> None:
    """Whichever thread raises it, and only once all others have left."""
    left: list[int] = []

    def kernel(thread: int, threads: int, control: np.ndarray) -> None:
        if thread == guilty:
            raise ZeroDivisionError
        time.sleep(0.01)
        left.append(thread)

    with pytest.raises(ZeroDivisionError):
        run_parallel(kernel, new_control(), (), 2, short=short)
    assert left == [1 - guilty]


def test_a_caller_that_watches_can_end_the_run() -> None:
    """As Ctrl-C does: the stop flag is set, and the exception raised when all have left."""
    left: list[int] = []

    def kernel(thread: int, threads: int, control: np.ndarray) -> None:
        while not control[STOP]:
            time.sleep(0.001)
        left.append(thread)

    def watch() -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_parallel(kernel, new_control(), (), 2, watch)
    assert sorted(left) == [0, 1]


def test_ctrl_c_before_the_kernel_leaves_nobody_at_a_barrier() -> None:
    """The caller takes part after all, as the stop flag tells everybody to leave."""
    left: list[int] = []

    def kernel(thread: int, threads: int, control: np.ndarray) -> None:
        if thread == 0 and not control[STOP]:
            raise KeyboardInterrupt
        barrier(control, threads)
        left.append(thread)

    with pytest.raises(KeyboardInterrupt):
        run_parallel(kernel, new_control(), (), 2, short=True)
    assert sorted(left) == [0, 1]


def test_every_kernel_says_that_it_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """By `enter`: else the other threads wait a while, and may have to sleep for Python's lock."""
    silent: set[str] = set()
    seen: set[str] = set()

    def run_and_look(kernel: Any, control: np.ndarray, args: Any, threads: int, *rest: Any, **options: Any) -> None:
        _gate[0] = 0
        run_parallel(kernel, control, args, threads, *rest, **options)
        seen.add(kernel.__name__)
        if threads > 1 and not _gate[0]:
            silent.add(kernel.__name__)

    for module in ("engine", "blocks"):
        monkeypatch.setattr(f"gasla.cpu.{module}.SMALL", 0)
    monkeypatch.setattr("gasla.cpu.engine.ALONE", -1)
    monkeypatch.setattr("gasla.cpu.symmetry._PARALLEL_FROM", 0)
    monkeypatch.setattr("gasla.cpu.threads.num_threads", lambda: 2)
    monkeypatch.setattr("gasla.cpu.blocks.num_threads", lambda: 2)
    for module in ("threads", "blocks", "symmetry"):
        monkeypatch.setattr(f"gasla.cpu.{module}.run_parallel", run_and_look)
    graph = gasla.Graph(datasets.rmat(10))
    assert graph.is_symmetric
    gasla.pagerank(graph)
    gasla.betweenness_centrality(graph, sources=[1])
    gasla.connected_components(graph)
    gasla.mxv(graph, np.ones(graph.n, np.float32))
    gasla.mxv(graph, np.ones(graph.n, np.float32), semirings.logaddexp_plus)
    link.number(link.hook(graph))
    link.compress(link.hook(graph))
    intersect.intersect_sorted(graph)
    intersect.intersect_oriented(intersect.orient(graph))
    stages.gather(stages.start(programs.Hops, graph), [1])
    assert {"run_loop", "sort_by_level", "multiply", "_components", "_probe", "_imbalance", "gather_list"} <= seen
    assert not silent


def test_who_has_no_work_sleeps() -> None:
    """After a moment in which the next run would have come cheaper; and wakes again."""
    for _ in range(3):
        run_parallel(lambda _, threads, control: barrier(control, threads), new_control(), (), 2, short=True)
        until = time.monotonic() + 10
        while threads.are_awake(2) and time.monotonic() < until:
            time.sleep(0.01)
        assert not threads.are_awake(2)


def test_threads_that_are_taken_are_not_waited_for() -> None:
    """A run inside a run, or beside it, has one thread."""
    inner: list[int] = []

    def kernel(thread: int, threads: int, control: np.ndarray) -> None:
        if thread == 0:
            run_parallel(lambda _, threads, control: inner.append(threads), new_control(), (), 2, short=True)

    run_parallel(kernel, new_control(), (), 2, short=True)
    assert inner == [1]


def test_threads_are_given_back_by_who_has_them() -> None:
    one, another = object(), object()
    assert threads.hold(one) and threads.are_held(one)
    assert not threads.hold(another) and not threads.are_held(another)
    threads.release(another)
    assert not threads.hold(another)
    threads.release(one)
    assert threads.hold(another)
    threads.release(another)


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
        lambda: run_parallel(barrier, new_control(), (), 2, short=True),
        lambda: gasla.betweenness_centrality(graph, sources=[1]),
    ]
    for call in calls:
        with monkeypatch.context() as patch:
            patch.setattr(threads, "hold", interrupted)
            with pytest.raises(KeyboardInterrupt):
                call()
        assert hold(call), "somebody has the threads still"
        threads.release(call)


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
            call, right = calls[number % len(calls)], expected[number % len(calls)]
            try:
                signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-5, 1e-3))
                np.testing.assert_allclose(call(), right)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupted += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            np.testing.assert_allclose(call(), right)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert interrupted
    other = threading.Thread(target=calls[0], daemon=True)  # waits for no lock that an interrupted call left taken
    other.start()
    other.join(60)
    assert not other.is_alive()
