"""Failures of runs over cards whose kernels exchange values: an error soon, on all, and the next run works.

Each case is a process of its own, as a kernel that faults ends a process's use of a card. With a single card two ranks
share it.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import ROOT

pytestmark = pytest.mark.gpu
SOON = 2.0  # seconds from a failure to its error
LIMIT = 40  # seconds, after which a script says where it hangs
BEGIN = f"""
import faulthandler
faulthandler.dump_traceback_later({LIMIT}, exit=True)
"""
BEGIN += """
import time
import cupy
import numpy as np
import gasla
import semirings
from gasla import distributed
from gasla.distributed.thread_ranks import ThreadRanks
from gasla.gpu.program import peers

LAST = cupy.cuda.runtime.getDeviceCount() - 1
N = 1 << 16


class Counted(gasla.VertexProgram):
    count = gasla.vertex(np.int64, init=0)
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        return 1

    def apply(self, vertex, gathered):
        return {"count": vertex.count + gathered}


class Summed(Counted):
    def gather(self, src, dst, edge):
        return src.count + 1


def run(kind=Counted, count=3):
    return gasla.run(kind, graph, max_iterations=count).count.compute()


path = gasla.Graph.from_edges(np.arange(N - 1), np.arange(1, N), n=N)
graph = distributed.Graph.from_graph(path, ThreadRanks(2, [0, LAST]))
graph.one_card = False
expected = np.r_[0, np.full(N - 1, 3)]
assert (run() == expected).all()


def failing(work):
    began = time.monotonic()
    try:
        work()
    except BaseException as error:
        print("failed", time.monotonic() - began, type(error).__name__, " ".join(str(error).split()),
              getattr(error, "__notes__", []), flush=True)
        return error
    raise SystemExit("nothing failed")
"""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}


def ended(script: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a script to its end."""
    (folder / "script.py").write_text(BEGIN + script)
    command: Any = [sys.executable, "script.py"]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=100)


def check_soon(said: str, *words: str) -> None:
    """Each failure came soon, and is told in these words."""
    failures = [line for line in said.splitlines() if line.startswith("failed")]
    assert failures, said
    for line in failures:
        assert float(line.split()[1]) < SOON, said
    for word in words:
        assert word in failures[0], said


FAULTS = """
launch = peers.PeerRun.launch
launched = []


def wrong(run, *given):
    launched.append(run)
    if len(launched) == 2:
        for name in ("v_count", "gp", "gi"):
            setattr(run._arguments, name, 64)  # no address of the card's memory
    launch(run, *given)


peers.PeerRun.launch = wrong
error = failing(lambda: run(count=200_000))
assert isinstance(error, RuntimeError), error
peers.PeerRun.launch = launch
print("again:", flush=True)
failing(run)
"""


def test_a_kernel_that_faults_ends_those_of_all(tmp_path: Path) -> None:
    """CUDA lets the process use the card no more, which the error says; a new process can."""
    done = ended(FAULTS, tmp_path)
    check_soon(done.stdout, "on rank ", "start a new process")
    assert "again:" in done.stdout, done
    assert ended("print('ready')", tmp_path).stdout == "ready\n"


SHORT = """
with cupy.cuda.Device(LAST):
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    pool.set_limit(size=pool.used_bytes() + 512)
error = failing(lambda: run(Summed))
assert isinstance(error, MemoryError), error
with cupy.cuda.Device(LAST):
    cupy.get_default_memory_pool().set_limit(size=0)
assert (run(Summed) == gasla.run(Summed, path, max_iterations=3).count).all()
assert (run() == expected).all()
print("ready")
"""


def test_memory_that_is_short_on_one_card(tmp_path: Path) -> None:
    done = ended(SHORT, tmp_path)
    assert done.stdout.endswith("ready\n"), done
    check_soon(done.stdout, "MemoryError", "on rank ")


REFUSED = """
launch = peers.PeerRun.launch
launched = []


def refused(run, *given):
    launched.append(run)
    if len(launched) == 2:
        time.sleep(0.2)  # while the first kernel waits
        raise OSError("no such card")
    launch(run, *given)


peers.PeerRun.launch = refused
error = failing(run)
assert isinstance(error, OSError), error
peers.PeerRun.launch = launch
assert (run() == expected).all()
print("ready")
"""


def test_a_launch_that_fails_while_another_kernel_waits(tmp_path: Path) -> None:
    done = ended(REFUSED, tmp_path)
    assert done.stdout.endswith("ready\n"), done
    check_soon(done.stdout, "no such card", "on rank 1 of 2")


BUSY = """
spin = cupy.RawKernel('''extern "C" __global__ void spin(unsigned long long until) {
    unsigned long long now, first;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(first));
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); while (now - first < until);
}''', "spin")
with cupy.cuda.Device(LAST) as card:
    blocks = card.attributes["MultiProcessorCount"] * 2
    with cupy.cuda.Stream(non_blocking=True):
        spin((blocks,), (1024,), (np.uint64(1),))
        card.synchronize()
        spin((blocks,), (1024,), (np.uint64(1_500_000_000),))
began = time.monotonic()
assert (run() == expected).all()
print("took", time.monotonic() - began)
"""


def test_a_card_that_is_busy_is_waited_for(tmp_path: Path) -> None:
    done = ended(BUSY, tmp_path)
    assert done.returncode == 0 and 0.5 < float(done.stdout.split()[1]) < 1.5 + SOON, done


ENDLESS = """
print("running", flush=True)
try:
    run(count=10**12)
except KeyboardInterrupt:
    print("interrupted", flush=True)
assert (run() == expected).all()
print("ready", flush=True)
"""


def test_ctrl_c_ends_the_kernels_of_all(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(BEGIN + ENDLESS)
    process = subprocess.Popen(
        [sys.executable, "script.py"], cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True
    )
    with process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "running\n"
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            began = time.monotonic()
            assert process.stdout.readline() == "interrupted\n"
            assert time.monotonic() - began < SOON
            assert process.stdout.readline() == "ready\n"
        finally:
            process.kill()
