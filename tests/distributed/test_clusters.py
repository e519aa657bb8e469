"""Ranks as processes: under mpiexec, as a Dask cluster's workers, and both; what happens when one of them fails.

Each test is a job of its own with a time limit. After it, none of its processes may be left.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gasla
from gasla import distributed
from gasla.distributed.cluster import Cluster, current
from gasla.distributed.communicator import RankError
from gasla.distributed.engine.rank_run import RankRun
from gasla.distributed.failures import TerminationMessage, WorkerLost
from tests.helpers import ROOT
from tests.helpers.programs import Hops

pytestmark = pytest.mark.thorough

MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
QUIET = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "GASLA_NUM_THREADS": "1"}
SOON = 2.0  # seconds from a failure to its error


def missing(*modules: str, mpi: bool) -> str | None:
    """Why jobs of a kind can't run here."""
    import importlib.util

    absent = [name for name in modules if importlib.util.find_spec(name) is None]
    if absent:
        return f"{absent[0]} is not installed"
    return "there is no mpiexec" if mpi and MPIEXEC is None else None


NO_MPI = missing("mpi4py", mpi=True)
NO_DASK = missing("distributed", mpi=False)
NO_DASK_MPI = missing("mpi4py", "distributed", "dask_mpi", mpi=True)
needs_mpi = pytest.mark.skipif(NO_MPI is not None, reason=NO_MPI or "")
needs_dask = pytest.mark.skipif(NO_DASK is not None, reason=NO_DASK or "")
needs_dask_mpi = pytest.mark.skipif(NO_DASK_MPI is not None, reason=NO_DASK_MPI or "")


@dataclass
class Ended:
    """What a job has left."""

    code: int
    out: str
    error: str
    at: float  # when

    def said(self, word: str) -> float:
        """When the job printed a word and the time."""
        found = re.search(rf"{word} (\d+\.\d+)", self.out)
        assert found, self
        return float(found[1])


def run(
    way: str,
    jobs: str,
    ranks: int = 2,
    seed: int = 0,
    seconds: float = 120,
    before: tuple[str, ...] = (),
    module: str = "tests.helpers.cluster_jobs",
) -> Ended:
    """Run a job to its end, and look that nothing of it is left; `before` stands before and among mpiexec's words."""
    mark = f"GASLA_TEST_JOB={uuid.uuid4().hex}"
    name, value = mark.split("=")
    command = [sys.executable, "-m", module, way, jobs, str(seed)]
    if way != "dask":
        at = before.index("mpiexec") if before else 0
        words = before[at + 1 :] if before else ("--oversubscribe",)
        command = [*before[:at], str(MPIEXEC), *words, "-n", str(ranks), *command]
    environment = os.environ | QUIET | {name: value, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        out, error = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        pytest.fail(f"{command} has not ended after {seconds} s: {process.communicate()}")
    ended = Ended(process.returncode, out, error, time.time())
    deadline = time.monotonic() + 2
    while left(mark):
        assert time.monotonic() < deadline, f"left behind: {left(mark)}"
        time.sleep(0.05)
    return ended


def left(mark: str) -> list[str]:
    """The processes that have a mark in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in path.read_bytes():
                found.append((path.parent / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def check_failure(ended: Ended) -> None:
    """It failed, soon, and says which rank."""
    assert ended.code != 0, ended
    assert "ended well" not in ended.out
    heard = ended.said("caught") if "caught" in ended.out else ended.at
    assert heard - ended.said("failing") < SOON, ended
    assert re.search(r"rank \d+", ended.error), ended


# --- threads ---------------------------------------------------------------------------------------------------------


def test_jobs_run_on_threads() -> None:
    from tests.helpers import cluster_jobs

    for size in (1, 2, 5):
        with Cluster(threads=size) as cluster:
            assert current() is cluster and cluster.size == size
            if size > 1:
                cluster_jobs.job_good(cluster, size)
            else:
                cluster.each(cluster_jobs.talk, 30, 1)


def test_threads_hear_of_ctrl_c() -> None:
    from tests.helpers import cluster_jobs

    with Cluster(threads=2) as cluster:
        cluster_jobs.job_interrupt(cluster, 0)


def test_wrong_arguments_of_a_cluster_are_refused() -> None:
    with pytest.raises(ValueError, match="client and threads were given; expected one"):
        Cluster(object(), threads=2)
    for wrong in (0, -1, 2.0, True, "2"):
        with pytest.raises(ValueError, match="1 or more"):
            Cluster(threads=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"expected a distributed\.Client"):
        Cluster(3)
    cluster = Cluster(threads=1)
    with pytest.raises(RuntimeError, match="not open"):
        cluster.each(print)
    with pytest.raises(RuntimeError, match="no cluster is open"):
        current()
    with cluster, pytest.raises(RuntimeError, match="already open"), cluster:
        pass


def test_an_exit_of_a_rank_is_an_error() -> None:
    with Cluster(threads=2) as cluster, pytest.raises(RankError, match=r"rank 0 of 2 on .*SystemExit"):
        cluster.each(lambda rank: sys.exit(0) if rank.communicator.rank == 0 else rank.communicator.barrier())


def test_a_run_that_fails_names_its_superstep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in what the other ranks raise; and the next run is as if nothing had been."""
    iterate, heard = RankRun._iterate, []

    def failing(self: RankRun) -> np.ndarray:
        if self.communicator.rank == 1 and self.iteration == 3:
            raise OverflowError("a bad thing")
        return iterate(self)

    def telling(self: Any, message: str) -> None:
        heard.append(message)
        RuntimeError.__init__(self, message)

    path = gasla.Graph.from_edges(range(19), range(1, 20), n=20)
    with Cluster(threads=2):
        graph = distributed.Graph(path)
        options: dict[str, Any] = {"active": [9], "hops": {9: 0}, "compile": False, "max_iterations": 50}
        with monkeypatch.context() as patched:
            patched.setattr(RankRun, "_iterate", failing)
            patched.setattr(RankError, "__init__", telling)
            with pytest.raises(OverflowError, match="a bad thing") as caught:
                gasla.run(Hops, graph, **options)
        assert re.fullmatch(r"on rank 1 of 2 on \S+, superstep 3", caught.value.__notes__[0])
        assert re.fullmatch(r"rank 1 of 2 on \S+, superstep 3 failed: OverflowError: a bad thing", heard[0])
        assert gasla.run(Hops, graph, **options).hops[19] == 10


def test_ranks_that_do_different_things_hear_of_it() -> None:
    def types(rank: Any) -> None:
        rank.communicator.allgather(np.zeros(2, np.int32 if rank.communicator.rank else np.int64))

    def calls(rank: Any) -> None:
        (rank.communicator.barrier if rank.communicator.rank else lambda: rank.communicator.exchange([_NONE] * 2))()

    with Cluster(threads=2) as cluster:
        with pytest.raises(RankError, match="calls allgather of int64 and rank 1 allgather of int32"):
            cluster.each(types)
        with pytest.raises(RankError, match="calls exchange and rank 1 barrier"):
            cluster.each(calls)


_NONE = np.zeros(0, np.uint8)


def test_worker_lost_says_who() -> None:
    error = WorkerLost(1, 4, "tcp://10.0.0.7:1234", 17)
    assert (error.rank, error.address, error.superstep) == (1, "tcp://10.0.0.7:1234", 17)
    assert "rank 1 of 4 on tcp://10.0.0.7:1234, superstep 17" in str(error)


def test_last_words_leave_signals_as_they_were() -> None:
    """And to a person who has plans for them."""
    for _ in range(2):
        words = TerminationMessage(lambda: "never said")
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        words.forget()
        words.forget()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        assert signal.set_wakeup_fd(-1) == -1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        TerminationMessage(lambda: "nor this").forget()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


# --- mpiexec ---------------------------------------------------------------------------------------------------------


@needs_mpi
@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.slow)])
def test_jobs_run_over_mpi(ranks: int) -> None:
    ended = run("mpi", "good,graph,attributes,errors" if ranks > 1 else "alone", ranks, seed=ranks // 3)
    assert ended.code == 0 and ended.out.count("ended well") == ranks, ended


@needs_mpi
@pytest.mark.parametrize(
    "job", ["kill", *(pytest.param(job, marks=pytest.mark.slow) for job in ("slow", "outside", "leaves"))]
)
def test_a_failure_over_mpi_ends_all_ranks(job: str) -> None:
    ended = run("mpi", job, 3)
    check_failure(ended)
    if job == "kill":  # which those say who are ended for it; the launcher knows the rank and its host
        assert re.search(r"rank 0 of 3 on \S+, superstep \d+: terminated \(SIGTERM\)", ended.error), ended


@needs_mpi
@pytest.mark.slow  # 20 jobs of a second or two
@pytest.mark.parametrize("seed", range(20))
def test_mpi_failures_at_random_moments(seed: int) -> None:
    check_failure(run("mpi", "kill" if seed % 4 == 0 else "fail", 2 + seed % 3, seed))


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[tuple[str, ...]]:
    """What starts mpiexec on the first of two hosts: network namespaces on a bridge, with names of their own."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("network namespaces need ip, and root")
    mark, names = f"g{os.getpid()}", [f"g{os.getpid()}{side}" for side in "ab"]

    def ip(*words: str) -> None:
        done = subprocess.run(["ip", *words], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"no network namespaces here: {done.stderr.strip()}")

    try:
        ip("link", "add", mark, "type", "bridge")
        ip("link", "set", mark, "up")
        for i, name in enumerate(names, start=1):
            ip("netns", "add", name)
            ip("link", "add", f"{name}v", "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("link", "set", f"{name}v", "master", mark, "up")
            ip("-n", name, "addr", "add", f"10.77.0.{i}/24", "dev", "eth0")
            for link in ("lo", "eth0"):
                ip("-n", name, "link", "set", link, "up")
        into = "exec ip netns exec {0} unshare --uts bash -c 'hostname {0}; '\"$*\""
        agent = tmp_path / "agent"  # in the place of ssh
        agent.write_text(f"#!/bin/bash\nshift\n{into.format(names[1])}\n")
        agent.chmod(0o755)
        first = tmp_path / "first"
        first.write_text(f'#!/bin/bash\nhostname {names[0]}\nexec "$@"\n')
        first.chmod(0o755)
        one_link = ("--prtemca", "prte_if_include", "eth0", "--mca", "btl_tcp_if_include", "eth0")
        yield (
            *("ip", "netns", "exec", names[0], "unshare", "--uts", str(first), "mpiexec"),
            *("--prtemca", "plm", "ssh", "--prtemca", "plm_ssh_agent", str(agent), *one_link),
            *("--mca", "btl", "tcp,self", "--host", "10.77.0.1:1,10.77.0.2:1"),
            *("-x", "PYTHONPATH", "-x", "GASLA_TEST_JOB", "-x", "GASLA_NUM_THREADS"),
        )
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
        subprocess.run(["ip", "link", "del", mark], capture_output=True)


@needs_mpi
@pytest.mark.slow  # jobs on two hosts
@pytest.mark.parametrize("job", ["graph", "fail", "kill"])
def test_jobs_run_over_mpi_on_two_hosts(job: str, hosts: tuple[str, ...]) -> None:
    ended = run("mpi", job, seed=1, before=hosts)
    if job == "graph":
        assert ended.code == 0 and ended.out.count("ended well") == 2, ended
    else:
        check_failure(ended)
        assert re.search(r"g\d+b", ended.error), ended  # the host of the second rank
        assert "superstep" in ended.error, ended


# --- Dask ------------------------------------------------------------------------------------------------------------


@needs_dask
@pytest.mark.parametrize(
    "job", ["good", "attributes", "errors", pytest.param("graph", marks=pytest.mark.slow)]
)  # workers compile
def test_jobs_run_over_dask(job: str) -> None:
    ended = run("dask", job, seed=1)
    assert ended.code == 0 and "ended well" in ended.out, ended


@needs_dask
@pytest.mark.slow  # each waits for what is looked at now and then
@pytest.mark.parametrize("job", ["paused", "gone"])
def test_what_happens_to_a_dask_cluster(job: str) -> None:
    ended = run("dask", job)
    assert ended.code == 0, ended


@needs_dask
@pytest.mark.slow  # each starts a cluster
@pytest.mark.parametrize("seed", range(8))
def test_dask_workers_killed_at_random_moments(seed: int) -> None:
    ended = run("dask", "kill", seed=seed)
    assert ended.code == 0, ended
    assert ended.said("caught") - ended.said("failing") < SOON
    assert re.search(r"WorkerLost rank 1 of 2 on tcp://\S+, superstep \d+", ended.out), ended


@needs_dask
@pytest.mark.slow  # each starts a cluster
@pytest.mark.parametrize("seed", range(6))
def test_dask_failures_at_random_moments(seed: int) -> None:
    if seed % 2:
        assert run("dask", "interrupt", seed=seed).code == 0
    else:
        check_failure(run("dask", "fail", seed=seed))


@needs_dask_mpi
@pytest.mark.slow  # each starts a cluster
@pytest.mark.parametrize("job", ["good", "graph", "interrupt"])
def test_dask_over_mpi(job: str) -> None:
    ended = run("dask-mpi", job, 4, seed=1)
    assert "ended well" in ended.out, ended


@needs_dask_mpi
@pytest.mark.slow  # each starts a cluster
@pytest.mark.parametrize("job", ["kill", "fail"])
def test_dask_over_mpi_failures(job: str) -> None:
    check_failure(run("dask-mpi", job, 4, seed=3))


def test_nothing_is_imported_unless_used() -> None:
    code = "import sys, gasla.distributed.cluster; print({'mpi4py', 'dask', 'distributed'} & sys.modules.keys())"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
