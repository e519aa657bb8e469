"""Kernels on several threads: who takes part, who is waited for, and what becomes of an error."""

import _thread
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import gasla
from gasla import datasets, primitives
from gasla.algorithms.traversal.bfs import LEVELS
from gasla.compiler.function import compiled
from gasla.compiler.kernel_types import CompileError
from gasla.cpu.program import generate, workspace
from gasla.cpu.runtime import blocks, cores, memory, threads, workers
from gasla.cpu.runtime.intrinsics import fetch_add_relaxed, load_relaxed, pause, this_thread
from gasla.cpu.runtime.threads import STOP, barrier, new_control, run_parallel
from gasla.cpu.runtime.workers import MOST
from gasla.program.binding import AUTO
from tests.helpers.in_turns import in_turns
from tests.helpers.waiting import wait_until

_kernel = compiled


@_kernel
def _sign(thread, threads, control, found):  # type: ignore[no-untyped-def]
    """Each thread counts its calls, and says among how many it is, and who."""
    fetch_add_relaxed(found[thread], 0, 1)
    found[thread, 1] = threads
    found[thread, 2] = this_thread()


@_kernel
def _meet(thread, threads, control, left):  # type: ignore[no-untyped-def]
    """All wait for each other."""
    barrier(control, threads)
    barrier(control, threads)
    left[thread] = 1


@_kernel
def _wait_to_stop(thread, threads, control, left):  # type: ignore[no-untyped-def]
    """Nobody leaves before the stop flag is set."""
    while load_relaxed(control, STOP) == 0:
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
        assert (found[0, 2] == threading.get_ident()) == short


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

    @compiled
    def kernel(thread: Any, threads: Any, control: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(CompileError, match="Raise is not in the language"):
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
    assert not threads.are_taken()
    run_parallel(_meet, new_control(), (left,), 2)
    assert left.tolist() == [1, 1]


@pytest.mark.skipif(os.name != "posix", reason="no clock")
@pytest.mark.parametrize("short", [True, False])
def test_kernels_are_timed_where_wanted(short: bool) -> None:
    with threads.time_kernels() as spent:
        before = spent()
        run_parallel(_meet, new_control(), (np.zeros(2, np.int64),), 2, short=short)
        after = spent()
        assert after > before
    run_parallel(_meet, new_control(), (np.zeros(2, np.int64),), 2, short=short)
    assert spent() == after


def test_who_has_no_work_sleeps() -> None:
    """After a moment in which the next run would have come cheaper; and wakes again."""
    for _ in range(3):
        run_parallel(_meet, new_control(), (np.zeros(2, np.int64),), 2, short=True)
        wait_until(lambda: threads.pool.item(threads.STARTED) == threads.pool.item(threads.SLEEPING), seconds=10)


@pytest.mark.parametrize("short", [True, False])
def test_threads_that_are_taken_are_not_waited_for(short: bool) -> None:
    """A run beside another has one thread."""
    left, found = np.zeros(2, np.int64), np.zeros((2, 3), np.int64)
    control = new_control()
    other = threading.Thread(target=run_parallel, args=(_wait_to_stop, control, (left,), 2), kwargs={"short": short})
    other.start()
    wait_until(threads.are_taken)
    run_parallel(_sign, new_control(), (found,), 2, short=True)
    assert found[:, 1].tolist() == [1, 0]
    control[STOP] = 1
    other.join()
    assert left.tolist() == [1, 1]


@pytest.mark.parametrize("name", ["depth_first", "strong_components", "peel", "acyclic_order"])
def test_a_kernel_on_one_thread_ends_when_it_is_stopped(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a path, which a search leaves only from its end."""
    path, stopped = gasla.Graph.from_edges(np.arange(999), np.arange(1, 1000)), new_control()
    whole = np.array(getattr(primitives, name)(path))
    stopped[STOP] = 1
    monkeypatch.setattr("gasla.cpu.runtime.blocks.new_control", lambda: stopped)
    assert (np.array(getattr(primitives, name)(path)) != whole).any()


FIRST_RUN = """
import sys, time
import numpy as np
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
    "after more and fewer": "\n".join(f"gasla.set_num_threads({k}); check()" for k in (1, 3, 2, 1, 3)),
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


@pytest.mark.thorough
@pytest.mark.parametrize(("ending", "mode"), in_turns([(ending,) for ending in ENDINGS], [("default",), ("dev",)]))
def test_a_process_ends(ending: str, mode: str) -> None:
    """Whatever its other threads are at."""
    if "os.fork" in ENDINGS[ending] and not hasattr(os, "fork"):
        pytest.skip("no forks")
    command = [sys.executable, *(["-X", "dev"] if mode == "dev" else []), "-c", FIRST_RUN + ENDINGS[ending]]
    environment = {**os.environ, "GASLA_NUM_THREADS": "3"}
    found = subprocess.run(command, env=environment, timeout=600, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


def test_one_has_the_threads_at_a_time() -> None:
    one, another = threading.Lock(), threading.Lock()
    with one, another:
        assert threads.hold(one) and threads.hold(one)
        assert not threads.hold(another)
        found = np.zeros((2, 3), np.int64)
        run_parallel(_sign, new_control(), (found,), 2, short=True)  # alone, and gives nothing back
        assert found[:, 1].tolist() == [1, 0]
        assert threads.are_taken() and not threads.hold(another)
    assert not threads.are_taken()
    with another:
        assert threads.hold(another)
    assert not threads.are_taken()


def test_a_handler_or_finalizer_that_runs_meanwhile_may_take_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python may run one between any two lines, so also between those that look for threads and take them."""
    one, another, found = threading.Lock(), threading.Lock(), list[bool]()
    are_taken = threads.are_taken

    def interrupted() -> bool:
        monkeypatch.setattr(threads, "are_taken", are_taken)
        with another:
            found.append(threads.hold(another))
        return are_taken()

    monkeypatch.setattr(threads, "are_taken", interrupted)
    with one:
        assert threads.hold(one)
    assert found == [True] and not threads.are_taken()


def test_who_watches_is_heard_while_others_have_the_threads() -> None:
    left, turn = np.zeros(2, np.int64), threading.Lock()

    def watch() -> None:
        raise InterruptedError

    with turn:
        assert threads.hold(turn)
        with pytest.raises(InterruptedError):
            run_parallel(_wait_to_stop, new_control(), (left,), 2, watch)
    assert left.tolist() == [1, 0]


def test_ctrl_c_before_it_is_noted_that_the_threads_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    hold = threads.hold

    def interrupted(turn: Any) -> bool:
        assert hold(turn)
        raise KeyboardInterrupt

    monkeypatch.setattr("gasla.cpu.program.workspace.SMALL", 0)
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
        assert not threads.are_taken(), "somebody has the threads still"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in a callback of a weak reference
def test_ctrl_c_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for ever, nothing is written where it should not be, and the next run is right."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    for module in ("program.workspace", "runtime.blocks"):
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
            monkeypatch.setattr("gasla.cpu.program.prepared.ALONE", draw.choice([-1, 100]))
            for module in ("runtime.threads", "runtime.blocks"):
                monkeypatch.setattr(f"gasla.cpu.{module}.SHORT", draw.choice([0, 1 << 26]))
            call, right = calls[number % len(calls)], expected[number % len(calls)]
            try:
                signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-5, 1e-3))
                np.testing.assert_allclose(call(), right)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupted += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert not threads.are_taken()
            np.testing.assert_allclose(call(), right)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert interrupted
    other = threading.Thread(target=calls[0], daemon=True)  # waits for no lock that an interrupted call left taken
    other.start()
    other.join(60)
    assert not other.is_alive()


def test_ctrl_c_while_workers_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has begun, and is not noted, is asked to begin again; and nobody serves the same mailbox with another."""
    fresh = np.zeros_like(workers.pool)
    begin, draw = workers.Worker.begin, random.Random(2)

    def interrupted(worker: workers.Worker) -> None:
        comes = draw.random() < 0.8
        if not comes or draw.random() < 0.5:
            begin(worker)
        if comes:
            raise KeyboardInterrupt

    monkeypatch.setattr(workers, "pool", fresh)
    monkeypatch.setattr(workers, "_workers", [])
    monkeypatch.setattr(workers, "mailboxes", np.zeros_like(workers.mailboxes))
    monkeypatch.setattr(workers.Worker, "begin", interrupted)
    for _ in range(100):
        with suppress(KeyboardInterrupt):
            workers.start_workers(3)
    assert len(workers._workers) == fresh[workers.STARTED] == 3
    wait_until(lambda: fresh[workers.SLEEPING] == 3)
    time.sleep(0.01)
    assert fresh[workers.SLEEPING] == 3


SHORT_OF_MEMORY = """
import contextlib, mmap, resource, sys, threading, warnings
import numpy as np
import gasla
from gasla import datasets
from gasla.cpu.program import workspace
from gasla.cpu.program import generate, workspace
from gasla.cpu.runtime import cores, threads, workers

cores.usable, workspace.SMALL = lambda: 6, 0
threads.SHORT = 0 if {long} else threads.SHORT
gasla.set_num_threads(1)
graph = gasla.Graph(datasets.rmat(12))
levels, groups = gasla.bfs(graph, 1), gasla.louvain_communities(graph, seed=1).labels
gasla.set_num_threads(6)
threading.stack_size(256 << 20)
with open("/proc/self/statm") as sizes:
    used = int(sizes.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20) + {room} * (256 << 20), resource.RLIM_INFINITY))
with contextlib.suppress(OSError):
    mmap.mmap(-1, 2 << 30)
    sys.exit("no limits")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(3):
        assert np.array_equal(gasla.bfs(graph, 1), levels)
    assert np.array_equal(gasla.louvain_communities(graph, seed=1).labels, groups)
assert min({room}, 2) <= gasla.get_num_threads() <= max({room}, 1), gasla.get_num_threads()
assert [each.category for each in caught] == [RuntimeWarning], [*map(str, caught)]
assert "instead of 6, because no more could be started" in str(caught[0].message), caught[0].message
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
threading.stack_size(0)
gasla.set_num_threads(6)
assert np.array_equal(gasla.bfs(graph, 1), levels)
assert gasla.get_num_threads() == 6 == workers.pool[workers.STARTED]
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits are Linux's")
@pytest.mark.parametrize(("room", "long"), [(0, False), (0, True), (3, False)])
def test_as_many_threads_as_can_be_started(room: int, long: bool) -> None:
    """With memory for few stacks, runs have fewer threads, and say so once; later they can have all again."""
    code = SHORT_OF_MEMORY.format(room=room, long=long)
    found = subprocess.run([sys.executable, "-c", code], timeout=300, capture_output=True, text=True)
    if found.stderr == "no limits\n":
        pytest.skip("the system keeps to no limits of memory, as QEMU")
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("fitting", [0, 1, 3, 5])
def test_as_many_threads_as_have_room(
    fitting: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where memory is short, as in a container, a run has fewer threads, says so in the log, and answers the same."""
    right = gasla.bfs(datasets.rmat(12), 1)
    monkeypatch.setattr(cores, "usable", lambda: 4)
    monkeypatch.setattr(threads, "_limit", [4])
    monkeypatch.setattr(workspace, "SMALL", 0)
    monkeypatch.setattr(memory, "LARGE", 0)
    graph = gasla.Graph(datasets.rmat(12))
    plan = generate.plan(type(LEVELS), graph.id_dtype, False, False, False)
    alone, two = (workspace._bytes_of(plan, graph, team) for team in (1, 2))
    monkeypatch.setattr(memory, "available", lambda: alone + (fitting - 1) * (two - alone))
    np.testing.assert_array_equal(gasla.bfs(graph, 1), right)
    team = graph.known((type(LEVELS), AUTO, False, False, True))[0].team
    assert team == min(max(fitting, 1), 4)
    assert len(caplog.records) == (team < 4)
    assert all(f"a run uses {team} of 4 threads" in message for message in caplog.messages)


def test_products_have_as_many_threads_as_have_room(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    matrix = sp.random_array((900, 900), density=1.2 / 900, format="csr", rng=np.random.default_rng(5))
    graph = gasla.Graph(matrix)
    right, masked = gasla.mxm(graph, graph).to_scipy(), gasla.mxm(graph, graph, mask=graph).to_scipy()
    monkeypatch.setattr(cores, "usable", lambda: 4)
    monkeypatch.setattr(threads, "_limit", [4])
    monkeypatch.setattr(blocks, "SMALL", 0)
    assert gasla.mxm(graph, graph).to_scipy().nnz == right.nnz and not caplog.records
    monkeypatch.setattr(memory, "LARGE", 0)
    monkeypatch.setattr(memory, "available", lambda: 2 * 33 * 900)
    for found, expected in ((gasla.mxm(graph, graph), right), (gasla.mxm(graph, graph, mask=graph), masked)):
        np.testing.assert_allclose(found.to_scipy().toarray(), expected.toarray())
    assert len(caplog.records) == 2
    assert all("a run uses 2 of 4 threads" in message for message in caplog.messages)


def test_a_worker_that_ends_at_once_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where memory for its first Python object is missing."""
    monkeypatch.setattr(workers, "pool", np.zeros_like(workers.pool))
    monkeypatch.setattr(workers, "_workers", [])
    monkeypatch.setattr(workers, "mailboxes", np.zeros_like(workers.mailboxes))
    monkeypatch.setattr(workers, "most_started", [MOST])
    monkeypatch.setattr(workers, "_serve", lambda mailbox: None)
    with pytest.warns(RuntimeWarning, match=r"uses 1 thread instead of 3, .* \(a new thread ended at once\)"):
        assert workers.start_workers(3) == 1
    assert workers.start_workers(3) == 1


@pytest.fixture
def groups(tmp_path: Path) -> Iterator[Path]:
    """Where Linux would show groups of processes, and which of them this process is in."""
    cores._share.cache_clear()
    yield tmp_path
    cores._share.cache_clear()


QUOTAS = [
    ("0::/", {"cpu.max": "150000 100000"}, 2),  # in a container
    ("0::/", {"cpu.max": "max 100000"}, None),
    ("0::/", {}, None),
    ("", {}, None),
    ("0::/a.slice/b", {"a.slice/b/cpu.max": "400000 100000"}, 4),
    ("0::/a.slice/b", {"a.slice/cpu.max": "250000 100000", "a.slice/b/cpu.max": "max 100000"}, 3),  # of a group around
    ("0::/a.slice/b", {"cpu.max": "5000 100000"}, 1),  # what the host calls so, the container has as its root
    (
        "3:cpu,cpuacct:/d\n0::/",
        {"cpu,cpuacct/d/cpu.cfs_quota_us": "200000", "cpu,cpuacct/d/cpu.cfs_period_us": "100000"},
        2,
    ),
    ("3:cpu:/d\n2:memory:/d", {"cpu/cpu.cfs_quota_us": "200001", "cpu/cpu.cfs_period_us": "100000"}, 3),
    ("3:cpu:/d", {"cpu/d/cpu.cfs_quota_us": "-1", "cpu/d/cpu.cfs_period_us": "100000"}, None),
    ("0::/", {"cpu.max": "nonsense"}, None),
    ("0::/", {"cpu.max": "100000 0"}, None),
]


@pytest.mark.parametrize(("membership", "files", "share"), QUOTAS)
def test_the_quota_of_a_container(groups: Path, membership: str, files: dict[str, str], share: int | None) -> None:
    """The least of those of all groups around a process, in whole cores."""
    (groups / "cgroup").write_text(membership + "\n")
    for name, text in files.items():
        (groups / name).parent.mkdir(parents=True, exist_ok=True)
        (groups / name).write_text(text + "\n")
    assert cores._share(groups, groups / "cgroup") == (cores.NO_LIMIT if share is None else share)


@pytest.mark.parametrize("count", [None, "2", 1.5, True, np.array([1, 2])])
def test_a_wrong_number_of_threads_is_refused_at_once(count: Any) -> None:
    before = gasla.get_num_threads()
    with pytest.raises(TypeError, match=r"count is .*; expected a whole number"):
        gasla.set_num_threads(count)
    assert gasla.get_num_threads() == before


def test_no_more_threads_than_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was set; and what a graph keeps for another number of threads is not used."""
    graph = gasla.Graph(datasets.rmat(14))
    right = gasla.bfs(graph, 1)
    for usable in (1, 2, 1):
        monkeypatch.setattr(cores, "usable", lambda n=usable: n)
        assert threads.num_threads() == min(usable, MOST)
        for _ in range(2):
            np.testing.assert_array_equal(gasla.bfs(graph, 1), right)
        assert graph.known((type(LEVELS), AUTO, False, False, True))[0].team == usable


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity")
def test_cores_that_a_process_is_bound_to() -> None:
    code = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
    code += "from gasla.cpu.runtime import threads; print(threads.num_threads())"
    environment = {**os.environ, "GASLA_NUM_THREADS": "4"}
    assert subprocess.check_output([sys.executable, "-c", code], env=environment, timeout=600).split() == [b"1"]


MANY = """
import time, sys
import numpy as np, scipy.sparse as sp
import gasla
from gasla.cpu.runtime import cores
def path(n):
    return gasla.Graph(sp.csr_array(sp.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1], format="csr")))
if sys.argv[1] == "all":
    cores.usable = lambda: 8
def run(graph):
    gasla.sssp(graph, 0)
    gasla.betweenness_centrality(graph, k=1, seed=0)
run(path(9))
long = path(50_000)
began = time.perf_counter()
run(long)
print(time.perf_counter() - began)
"""


@pytest.mark.slow  # and as long as others leave it the cores
@pytest.mark.parametrize("used", ["as many as cores", "all"])
def test_more_threads_than_cores(used: str) -> None:
    """Thin iterations are one thread's: a path takes a tenth of a second, and took 8 where eight met at barriers."""
    environment = {**os.environ, "GASLA_NUM_THREADS": "8"}
    took = subprocess.check_output([sys.executable, "-c", MANY, used], env=environment, timeout=600)
    assert float(took) < 5


def test_who_begins_alone_is_joined() -> None:
    """Others sleep at first. They are woken where there is much to do, and leave again where there is little."""
    side = 300
    line = sp.diags_array([np.ones(side - 1)] * 2, offsets=[-1, 1])
    tail = sp.diags_array([np.ones(1000)] * 2, offsets=[-1, 1])  # a path at a grid's end
    graph = sp.lil_array(sp.block_diag([sp.kron(line, sp.eye_array(side)) + sp.kron(sp.eye_array(side), line), tail]))
    graph[side**2 - 1, side**2] = 1
    graph = gasla.Graph(sp.csr_array(graph))
    right = [*range(2 * side - 1), *range(2 * side - 1, 2 * side + 1000)]
    for i in range(20):
        if i % 3:
            wait_until(lambda: workers.pool[workers.SLEEPING] == workers.pool[workers.STARTED])
        np.testing.assert_array_equal(np.unique(gasla.bfs(graph, 0)), right)
        np.testing.assert_array_equal(np.unique(gasla.sssp(graph, 0)), right)
