"""Processes of one host with a GPU each run the same kernels as one process with all of them, by IPC handles.

Without GPUs kernels are emulated, and files that processes map are in the place of GPU memory.
"""

import re
import shutil
from typing import Any

import numpy as np
import pytest

from gasla.arrays import require_gpu
from gasla.gpu.runtime import nccl
from tests.distributed.test_clusters import Ended, needs_mpi, run

SOON = {"gpu": 2.0, "emulated": 60.0}  # seconds from a failure to its error
ABORTED = {"gpu": 5.0, "emulated": 60.0}  # seconds from the death of a process until mpiexec has ended the others
COMPILED = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
WAYS = [
    pytest.param("gpu", marks=pytest.mark.gpu),
    pytest.param("emulated", marks=[pytest.mark.thorough, COMPILED]),
]
both_ways = pytest.mark.parametrize("way", WAYS)


def over_processes(way: str, job: str) -> Ended:
    return run(way, job, module="tests.helpers.peer_processes")


@needs_mpi
@both_ways
@pytest.mark.parametrize("job", ["bits", "forgets", "apart"])
def test_processes_exchange_values(way: str, job: str) -> None:
    ended = over_processes(way, job)
    assert ended.code == 0 and ended.out.count("ended well") == 2, ended


@needs_mpi
@pytest.mark.gpu
def test_renumbered_vertices_are_exchanged() -> None:
    ended = run("gpu", "renumbered", module="tests.helpers.peer_processes")
    assert ended.code == 0 and ended.out.count("ended well") == 2, ended


@pytest.fixture
def needs_nccl() -> None:
    """Skip where two processes can't exchange values by NCCL."""
    cupy: Any = require_gpu()
    if obstacle := "needs two GPUs" if cupy.cuda.runtime.getDeviceCount() < 2 else nccl.obstacle():
        pytest.skip(obstacle)


@needs_mpi
@pytest.mark.gpu
def test_processes_exchange_values_by_nccl(needs_nccl: None) -> None:
    ended = over_processes("gpu", "linked")
    assert ended.code == 0 and ended.out.count("ended well") == 2, ended


@needs_mpi
@pytest.mark.gpu
def test_a_failure_ends_the_wait_for_nccl(needs_nccl: None) -> None:
    ended = over_processes("gpu", "linked_fails")
    assert ended.code == 0 and ended.out.count("ended well") == 2, ended
    heard, failed = (np.array(re.findall(rf"{what} (\d+\.\d+)", ended.out), float) for what in ("caught", "failing"))
    assert len(heard) == 4 and len(failed) == 2 and np.sort(heard)[::2].max() - failed.max() < SOON["gpu"], ended


@needs_mpi
@pytest.mark.gpu
def test_a_killed_process_ends_the_wait_for_nccl(needs_nccl: None) -> None:
    ended = over_processes("gpu", "linked_killed")
    assert ended.code != 0 and "ended well" not in ended.out, ended
    assert ended.at - ended.said("failing") < SOON["gpu"], ended


@needs_mpi
@both_ways
@pytest.mark.parametrize("job", ["fails", "interrupted"])
def test_a_failure_ends_the_kernels_of_all(way: str, job: str) -> None:
    ended = over_processes(way, job)
    assert ended.code == 0 and ended.out.count("ended well") == 2, ended
    heard = [float(at) for at in re.findall(r"caught (\d+\.\d+)", ended.out)]
    assert len(heard) == 2 and max(heard) - ended.said("failing") < SOON[way], ended


@needs_mpi
@both_ways
def test_a_killed_process_ends_all(way: str) -> None:
    ended = over_processes(way, "killed")
    assert ended.code != 0 and "ended well" not in ended.out, ended
    assert ended.at - ended.said("failing") < ABORTED[way], ended
