"""Ctrl-C at any time: a process that imports, compiles or runs ends soon, or goes on as its user says.

A signal that comes while Python calls back (a weak reference, for one) is lost, by Python itself. So it is sent again,
as a person would.
"""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.helpers import ROOT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="no signals")

SETTING = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs are begun deaf to it
print("here", flush=True)
import numpy as np, scipy.sparse as sp
import gasla, semirings
from gasla import datasets
from gasla.cpu.runtime import threads

class Endless(gasla.VertexProgram):
    x = gasla.vertex(np.int64, init=0)
    reduce = semirings.plus
    everyone = True
    def gather(self, src, dst, edge): return 1
    def apply(self, vertex, gathered): return {"x": vertex.x + gathered}

class Cycle(gasla.VertexProgram):
    x = gasla.vertex(np.float64, init=0)
    reduce = semirings.min
    def gather(self, src, dst, edge): return src.x - 1
    def apply(self, vertex, gathered): return {"x": semirings.minimum(vertex.x, gathered)}

class Heavy(gasla.VertexProgram):
    x = gasla.vertex((np.float64, (24,)), init=0)
    reduce = semirings.plus
    everyone = True
    def gather(self, src, dst, edge): return semirings.exp(semirings.sin(src.x))
    def apply(self, vertex, gathered): return {"x": gathered}

def always(call, *arguments, **options):
    while True:
        call(*arguments, **options)

def ring(n):
    return gasla.Graph.from_edges(np.arange(n), np.roll(np.arange(n), 1))

small, large = ring(3), ring(1 << 16)
skewed = datasets.rmat(12)
rmat, full = gasla.Graph(skewed), gasla.Graph(sp.csr_array(np.ones((1500, 1500), np.int8)))
CALLS = {
    "small": lambda: gasla.run(Endless, small),
    "one vertex at a time": lambda: gasla.run(Cycle, small, active=[0]),
    "two threads": lambda: gasla.run(Endless, large),
    "thin iterations": lambda: gasla.run(Cycle, large, active=[0]),
    "much to compute": lambda: gasla.run(Heavy, rmat),
    "searches": lambda: always(gasla.bfs, rmat, 1),
    "betweenness": lambda: always(gasla.betweenness_centrality, rmat, k=8, seed=0),
    "products": lambda: always(gasla.mxv, rmat, np.ones(rmat.n)),
    "components": lambda: always(gasla.connected_components, rmat),
    "triangles": lambda: always(gasla.triangle_count, full),
}

def check():
    "The threads are free again, and what comes next is right."
    levels = gasla.bfs(rmat, 1)
    right = sp.csgraph.shortest_path(skewed, unweighted=True, indices=1)
    assert np.array_equal(np.where(levels < 0, np.inf, levels), right)
    assert gasla.run(Endless, large, max_iterations=3).x.tolist() == [3] * large.n
    gasla.run(Cycle, small, active=[0], max_iterations=3)
    gasla.betweenness_centrality(rmat, k=2, seed=0)
    assert not threads.are_taken()
"""
ENDS = """
check()
print("ready", flush=True)
CALLS[sys.argv[1]]()
"""
GOES_ON = """
check()
for name in sys.argv[1:]:
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        print("ready", flush=True)
        CALLS[name]()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("heard", flush=True)
    check()
print("right", flush=True)
"""
ALARMS = """
class Late(Exception):
    pass

def be_late(*_):
    raise Late

import random, time
signal.signal(signal.SIGALRM, be_late)
draw, search = random.Random(0), gasla.prepare(Cycle, small)
search(max_iterations=1)
began, alarms = time.monotonic(), 0
while alarms < 5000 and time.monotonic() < began + 10:
    try:
        signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-5, 2e-4))
        for _ in range(1000):
            search(max_iterations=1)
    except Late:
        alarms += 1
    search(max_iterations=1)
assert alarms > 100, alarms
print("right")
"""
CALLS = ["small", "one vertex at a time", "two threads", "thin iterations", "much to compute"]
CALLS += ["searches", "betweenness", "products", "components", "triangles"]
FEW = ["nearest_neighbors_graph (1000, 100)", "bfs over ranks", "two threads"]
TIMES, PAUSE = 5, 4  # it takes a second, and more on a busy machine


@contextmanager
def process(text: str, *arguments: str, cache: Path | None = None) -> Iterator[subprocess.Popen[str]]:
    """One that is at the text, and ends with the test."""
    environment = os.environ | ({} if cache is None else {"XDG_CACHE_HOME": str(cache)})
    command = [sys.executable, "-c", SETTING + text, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=subprocess.STDOUT, text=True, env=environment) as child:
        try:
            yield child
        finally:
            child.kill()


def read_until(child: subprocess.Popen[str], line: str) -> None:
    assert child.stdout is not None
    seen = []
    while (found := child.stdout.readline()) != line + "\n":
        seen.append(found)
        assert found, "".join(seen)


@contextmanager
def send_signals(child: subprocess.Popen[str], number: int) -> Iterator[None]:
    """Send it a signal now, and every few seconds as long as it does not answer; kill it if it never does."""
    answered = threading.Event()

    def send() -> None:
        for _ in range(TIMES):
            child.send_signal(number)
            if answered.wait(PAUSE):
                return
        child.kill()

    sender = threading.Thread(target=send)
    sender.start()
    yield
    answered.set()
    sender.join()


def end_by(child: subprocess.Popen[str], number: int) -> str:
    """What it says to that, when it has ended."""
    with send_signals(child, number):
        return child.communicate()[0]


def test_a_prepared_run_that_an_alarm_interrupts_can_be_called_again() -> None:
    """Wherever the alarm comes: also between the code that locks the run and what it does then."""
    with process(ALARMS) as child:
        assert child.communicate(timeout=60)[0].splitlines()[-1] == "right"


@pytest.mark.thorough
@pytest.mark.parametrize("name", [CALLS[0], *(pytest.param(name, marks=pytest.mark.slow) for name in CALLS[1:])])
def test_ctrl_c_ends_the_process(name: str) -> None:
    with process(ENDS, name) as child:
        read_until(child, "ready")
        time.sleep(0.3)
        assert "KeyboardInterrupt" in end_by(child, signal.SIGINT)
    assert child.returncode == -signal.SIGINT


@pytest.mark.thorough
def test_a_request_to_end_is_not_waited_for() -> None:
    """By SIGTERM, which Python leaves to the system, even while a kernel runs."""
    with process(ENDS, "two threads") as child:
        read_until(child, "ready")
        time.sleep(0.3)
        end_by(child, signal.SIGTERM)
    assert child.returncode == -signal.SIGTERM


SOME = ["two threads", "one vertex at a time", "betweenness"]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))])
def test_what_comes_after_ctrl_c_is_right(seed: int) -> None:
    draw = random.Random(seed)
    names = draw.sample(CALLS, len(CALLS)) if seed else SOME
    with process(GOES_ON, *names) as child:
        for _ in names:
            read_until(child, "ready")
            time.sleep(draw.uniform(0, 0.4))
            with send_signals(child, signal.SIGINT):
                read_until(child, "heard")
        read_until(child, "right")


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 21))])
def test_ctrl_c_while_it_imports_or_compiles(seed: int, tmp_path: Path) -> None:
    """It ends, and what it leaves in the cache serves the next process."""
    draw = random.Random(seed)
    with process(ENDS, draw.choice(CALLS), cache=tmp_path) as child:
        read_until(child, "here")
        time.sleep(draw.uniform(0, 1) if seed < 5 else draw.uniform(1, 15))
        assert "KeyboardInterrupt" in end_by(child, signal.SIGINT)
    assert child.returncode in (-signal.SIGINT, 1)
    if seed:
        with process(ENDS.partition("print")[0], cache=tmp_path) as child:
            assert child.communicate(timeout=600)[0] == "here\n"
        assert child.returncode == 0


def interrupt_all(*options: str) -> str:
    """Interrupt calls in a process of its own; return its last line, with the counts."""
    command = [sys.executable, "-m", "tests.helpers.interrupted_calls", *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=3600)
    assert done.returncode == 0 and "Exception ignored" not in done.stderr, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


def test_a_process_goes_on_after_ctrl_c_in_some_functions() -> None:
    """Those in which another library's threads read arrays of ours among them."""
    interrupt_all("--rounds", "5", "--calls", *FEW)


@pytest.mark.thorough
def test_a_process_goes_on_after_ctrl_c_in_any_function() -> None:
    interrupt_all("--rounds", "2", "--share", "2")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_process_goes_on_after_ctrl_c_a_hundred_times(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    counts = interrupt_all("--rounds", "100", "--seed", str(seed))
    with capsys.disabled():
        print(f"\n{counts}")
