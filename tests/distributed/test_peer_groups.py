"""What a process knows of the others whose kernels meet its own, without MPI and GPUs."""

import ctypes
import os
import re
import signal
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gasla.distributed import peer_groups
from gasla.distributed.communicator import Rank
from gasla.distributed.peer_groups import PeerFailed, Processes


def group(others: list[np.ndarray], warned: int = 0) -> Processes:
    """The first of two processes; the other one sends these arrays."""

    def allgather(array: np.ndarray) -> list[np.ndarray]:
        return [array.copy(), others.pop(0)]

    communicator: Any = SimpleNamespace(
        rank=0, size=2, host="node7", superstep=0, allgather=allgather, is_warned=lambda number: number == warned
    )
    return Processes(communicator, Rank(communicator), 0)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs file descriptors of processes")
def test_a_process_that_ends_is_noticed_without_its_launcher() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        found = group([np.array([other.pid])])
        found._watch_processes()
        found.watch(1, 4)
        other.send_signal(signal.SIGKILL)
        other.wait()
        with pytest.raises(ChildProcessError, match="rank 1 of 2 on node7, superstep 5: the process has ended"):
            found.watch(1, 5)
        found.unmap()


def test_a_warning_is_of_one_meeting() -> None:
    found = group([], warned=3)
    found.watch(2, 0)
    with pytest.raises(PeerFailed):
        found.watch(3, 0)


class Memory:
    """In the place of `gasla.gpu.runtime.shared_memory`."""

    def __init__(self) -> None:
        self.zeros, self.reaches, self.unmapped = np.zeros(64, np.uint8), True, list[int]()

    def bus_id(self) -> bytes:
        return b"0000:01:00.0"

    def can_map(self, bus_id: bytes) -> bool:
        return self.reaches

    def allocate(self, size: int) -> np.ndarray:
        return np.zeros(size, np.uint8)

    def view(self, address: int, size: int) -> np.ndarray:
        at = self.zeros.ctypes.data if address == 1 else address
        return np.frombuffer((ctypes.c_uint8 * size).from_address(at), np.uint8)

    def handle_of(self, array: np.ndarray) -> bytes:
        return b"mine"

    def map_handle(self, handle: bytes) -> int:
        if handle != b"theirs":
            raise OSError("invalid handle")
        return 1

    def unmap(self, address: int) -> None:
        self.unmapped.append(address)


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    found = Memory()
    monkeypatch.setattr(peer_groups, "peers", lambda: SimpleNamespace(MOST=32, shared_memory=found))
    return found


def text(content: str | bytes) -> np.ndarray:
    return np.frombuffer(content.encode() if isinstance(content, str) else content, np.uint8)


@pytest.mark.parametrize(
    ("host", "card", "reaches", "message"),
    [
        ("elsewhere", "0000:02:00.0", True, "on several hosts"),
        (None, "0000:01:00.0", True, "share a GPU"),
        (None, "0000:02:00.0", False, "GPU 0000:01:00.0 does not reach the memory of GPU 0000:01:00.0"),
    ],
)
def test_why_kernels_cannot_meet(host: str | None, card: str, reaches: bool, message: str, memory: Memory) -> None:
    memory.reaches = reaches
    there = [text(peer_groups.host_key() if host is None else host), text(card)]
    found = group([*there, text("")])
    assert message in found.obstacle()
    assert message in found.obstacle(), "it is found out once"


@pytest.mark.parametrize(
    ("handle", "message"),
    [("theirs", "rank 0 reads other bytes in the memory of rank 1"), ("other", "rank 0 can't map .* invalid handle")],
)
def test_a_trial_decides(handle: str, message: str, memory: Memory) -> None:
    there = [text(peer_groups.host_key()), text("0000:02:00.0"), text("")]
    found = group([*there, np.ones(16, np.uint8), text(handle), text("")])
    assert re.search(message, found.obstacle())


def test_memory_is_unmapped_when_no_process_uses_it(memory: Memory) -> None:
    """An empty array says that the other process uses nothing."""
    none = np.zeros(0, np.int64)
    found = group(
        [none, text("theirs"), text(""), np.array([5]), text("theirs"), text(""), none, text("theirs"), text("")]
    )
    first = found.share(5, [memory.allocate(8)])
    assert first.addresses[1] == 1
    del first
    second = found.share(6, [memory.allocate(8)])  # the other process still uses the first
    assert not memory.unmapped and set(found._held) == {5, 6}
    third = found.share(7, [memory.allocate(8)])
    assert memory.unmapped == [1] and set(found._held) == {6, 7}
    assert second.addresses[1] == third.addresses[1] == 1
    found.unmap()
    assert memory.unmapped == [1, 1, 1]


def test_a_kernel_that_ended_too_early_looks_for_a_failure(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The warning of another process may come after its kernel has ended this one's."""
    found = group([])
    answers = iter([False, False, True])
    monkeypatch.setattr(found._communicator, "is_warned", lambda number: next(answers), raising=False)
    with pytest.raises(peer_groups.PeerFailed):
        found.find_failure(3, 17)
    monkeypatch.setattr(peer_groups, "PATIENCE", 0.05)
    monkeypatch.setattr(found._communicator, "is_warned", lambda number: False)
    found.find_failure(3, 17)
    assert found._communicator.superstep == 17
