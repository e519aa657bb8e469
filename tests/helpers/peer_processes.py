"""Jobs of processes whose kernels exchange values: `mpiexec -n 2 python -m tests.helpers.peer_processes WAY JOB`.

The way is "gpu", or "emulated": kernels on emulated grids, and files that processes map in place of GPU memory.
"""

import ctypes
import faulthandler
import mmap
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla import distributed
from gasla.distributed import mpi_ranks, peer_groups
from gasla.distributed.communicator import RankError
from gasla.gpu.program import peers, relabel
from tests.helpers import emulated_peers

LIMIT = 100  # seconds, after which a job says where it hangs
signal.signal(signal.SIGINT, signal.default_int_handler)


class Files:
    """`gasla.gpu.runtime.shared_memory` without a GPU: files that processes map."""

    def __init__(self, rank: int) -> None:
        self._rank, self._folder = rank, Path(tempfile.mkdtemp())
        self._paths: dict[int, Path] = {}
        self.mapped: dict[int, mmap.mmap] = {}

    def allocate(self, size: int) -> np.ndarray:
        """Memory, not zero at first."""
        path = self._folder / str(len(self._paths))
        path.write_bytes(b"\xab" * size)
        found = np.frombuffer(self._map(path), np.uint8)
        self._paths[found.ctypes.data] = path
        return found

    def _map(self, path: Path) -> mmap.mmap:
        with path.open("r+b") as file:
            return mmap.mmap(file.fileno(), 0)

    def handle_of(self, array: np.ndarray) -> bytes:
        """The path of its file."""
        return str(self._paths[array.ctypes.data]).encode()

    def map_handle(self, handle: bytes) -> int:
        """The address of another process's file here."""
        made = self._map(Path(handle.decode()))
        at = ctypes.addressof(ctypes.c_char.from_buffer(made))
        self.mapped[at] = made
        return at

    def unmap(self, address: int) -> None:
        """Forget it."""
        del self.mapped[address]

    def bus_id(self) -> bytes:
        """Each process has a GPU of its own."""
        return b"GPU %d" % self._rank

    def can_map(self, bus_id: bytes) -> bool:
        """All reach all."""
        return True

    def view(self, address: int, size: int) -> np.ndarray:
        """The bytes at an address."""
        return np.frombuffer((ctypes.c_uint8 * size).from_address(address), np.uint8)


class EmulatedRanks(mpi_ranks.MPIRanks):
    """MPI ranks that drive a GPU each by name only."""

    def __init__(self) -> None:
        super().__init__()
        self.communicator._patience = 20.0  # emulated kernels end slowly
        self._group = peer_groups.Processes(self.communicator, self._rank, 0)


def open_ranks(way: str) -> tuple[mpi_ranks.MPIRanks, type[Any]]:
    """The ranks, and the type of the parts of runs."""
    if way == "gpu":
        ranks = mpi_ranks.MPIRanks(gpus=True)
        peer_groups.MAY_SHARE_CARD = True  # where there are fewer GPUs than processes
        return ranks, peers.PeerRun
    patch = pytest.MonkeyPatch()
    emulated_peers.emulate_kernels(patch)
    ranks = EmulatedRanks()
    patch.setattr(peers, "shared_memory", Files(ranks.here[0]))
    patch.setattr(peers, "enable", lambda cards: None)
    return ranks, emulated_peers.EmulatedPeerRun


class Endless(gasla.VertexProgram):
    """Counts supersteps for ever."""

    count = gasla.vertex(np.int64, init=0)
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        return 1

    def apply(self, vertex, gathered):
        return {"count": vertex.count + 1}


def random_graph(way: str) -> gasla.Graph:
    rng = np.random.default_rng(5)
    n, m = (20_000, 200_000) if way == "gpu" else (60, 240)
    return gasla.Graph.from_edges(*rng.integers(0, n, (2, m)), rng.integers(1, 50, m), n=n)


def say(*words: Any) -> None:
    print(" ".join(map(str, words)) + "\n", end="", flush=True)  # one write, so that lines of processes stay whole


def job_bits(way: str, ranks: Any, kind: Any) -> None:
    """Results are those of one process, in several runs that share what was made for the first."""
    graph = random_graph(way)
    one = graph if way == "emulated" else gasla.Graph(graph, device="gpu")
    spread = distributed.Graph.from_graph(graph, ranks)
    calls: dict[str, Callable[[Any], Any]] = {
        "bfs": lambda g: gasla.bfs(g, 3),
        "sssp": lambda g: gasla.sssp(g, 3),
        "pagerank": lambda g: gasla.pagerank(g, tol=0, max_iter=20).ranks,
        "personal": lambda g: gasla.pagerank(g, personalization={3: 1.0}, tol=0, max_iter=20).ranks,
    }
    if way == "emulated":  # others are not emulated faster, and have nothing else to exchange
        calls = {name: calls[name] for name in ("bfs", "pagerank")}
    made = []
    share = peer_groups.Processes.share
    peer_groups.Processes.share = lambda *given: made.append(given) or share(*given)  # type: ignore[method-assign,func-returns-value]
    for name, call in calls.items():
        expected = np.asarray(call(one)) if way == "emulated" else call(one).get()
        for turn in range(3 if way == "gpu" else 2):
            began, before = time.perf_counter(), len(made)
            found = np.asarray(call(spread))
            say(f"{name} {turn}: {1e3 * (time.perf_counter() - began):.1f} ms, shared {len(made) - before}, "
                f"same bits: {found.tobytes() == expected.tobytes()}")  # fmt: skip
            if "sssp" in name or "bfs" in name:
                np.testing.assert_array_equal(found, expected)
            else:
                np.testing.assert_allclose(found, expected, rtol=1e-6)
            assert turn == 0 or len(made) == before, "the second run shares what the first has made"
    assert ranks._group._obstacle == "", ranks._group._obstacle
    assert made


def job_renumbered(way: str, ranks: Any, kind: Any) -> None:
    """Vertices of skewed graphs have other numbers on GPUs, by which other processes order what they send."""
    relabel.is_worthwhile, relabel.HOT = lambda *_: True, 40
    rng = np.random.default_rng(3)
    graph = gasla.Graph.from_edges(rng.integers(0, 500, 9000), (500 * rng.random(9000) ** 3).astype(int), n=500)
    expected, spread = gasla.pagerank(graph).ranks, distributed.Graph.from_graph(graph, ranks)
    for _ in range(2):
        np.testing.assert_allclose(np.asarray(gasla.pagerank(spread).ranks), expected, rtol=1e-9)
    assert ranks._group._obstacle == "", ranks._group._obstacle


def job_forgets(way: str, ranks: Any, kind: Any) -> None:
    """What graphs that are gone had shared is unmapped and freed when other memory is shared."""
    for _ in range(4):
        spread = distributed.Graph.from_graph(random_graph(way), ranks)
        gasla.bfs(spread, 3).compute()
        held = len(ranks._group._held)
        say("held", held)
        del spread
    assert held <= 3, "for exchanges, for the last graph, and at most for the one before"


def job_fails(way: str, ranks: Any, kind: Any) -> None:
    """An error on the last rank, while kernels run, ends those of all, and is told."""
    check_failure(way, ranks, kind, fail_once(kind, ranks), OSError)


def fail_once(kind: Any, ranks: Any) -> Callable[[], None]:
    failure = kind.raise_failure

    def begin() -> None:
        if ranks.here[0] != ranks.size - 1:
            return

        def fail(run: Any) -> None:
            kind.raise_failure = failure
            say("failing", time.time())
            raise OSError("no such card")

        kind.raise_failure = fail

    return begin


def signal_soon(ranks: Any, number: int) -> None:
    """Send the last process a signal while kernels run."""

    def send() -> None:
        say("failing", time.time())
        os.kill(os.getpid(), number)

    if ranks.here[0] == ranks.size - 1:
        threading.Timer(0.7, send).start()


def job_interrupted(way: str, ranks: Any, kind: Any) -> None:
    """Ctrl-C on the last rank."""
    check_failure(way, ranks, kind, lambda: signal_soon(ranks, signal.SIGINT), KeyboardInterrupt)


def job_killed(way: str, ranks: Any, kind: Any) -> None:
    """The last process is killed, which the launcher notices, or the other processes."""
    check_failure(way, ranks, kind, lambda: signal_soon(ranks, signal.SIGKILL), OSError)


def check_failure(way: str, ranks: Any, kind: Any, begin: Callable[[], None], error: type[BaseException]) -> None:
    """A run without an end fails on all ranks, soon; the next is as if nothing had been."""
    path = gasla.Graph.from_edges(range(19), range(1, 20), n=20)
    spread = distributed.Graph.from_graph(path, ranks)
    gasla.run(Endless, spread, max_iterations=3)
    assert ranks._group._obstacle == "", ranks._group._obstacle
    begin()
    say("running", time.time())
    with pytest.raises((Exception, KeyboardInterrupt)) as caught:
        gasla.run(Endless, spread, max_iterations=10**12)
    say("caught", time.time(), repr(caught.value), getattr(caught.value, "__notes__", []))
    assert type(caught.value) is (error if ranks.here[0] == ranks.size - 1 else RankError)
    found = gasla.run(Endless, spread, max_iterations=5).count.compute()
    assert (found == 5).all(), found
    np.testing.assert_array_equal(np.asarray(gasla.bfs(spread, 0)), np.arange(20))


def job_apart(way: str, ranks: Any, kind: Any) -> None:
    """Where memory can't be shared on one rank, values go by way of the host on all."""
    if ranks.here[0] == 1:
        refuse_kernels()
    graph = random_graph(way)
    spread = distributed.Graph.from_graph(graph, ranks)
    np.testing.assert_array_equal(np.asarray(gasla.bfs(spread, 3)), np.asarray(gasla.bfs(graph, 3)))
    assert "rank 1 can't map memory of the GPU of rank 0: no handles here" in ranks._group._obstacle


def refuse_kernels() -> None:
    """Kernels exchange nothing by themselves, as between hosts."""

    def refuse(*_: Any) -> int:
        raise OSError("no handles here")

    peers.shared_memory.map_handle = refuse


def job_linked(way: str, ranks: Any, kind: Any) -> None:
    """Where kernels exchange nothing by themselves, NCCL does."""
    refuse_kernels()
    graph = random_graph(way)
    for _ in range(2):
        began = time.perf_counter()
        spread = distributed.Graph.from_graph(graph, ranks)
        say(f"spread in {time.perf_counter() - began:.2f} s")
    for name in ("bfs", "sssp", "pagerank", "core_number", "connected_components", "label_propagation"):
        found, expected = (np.asarray(answer_of(getattr(gasla, name), g)) for g in (spread, graph))
        np.testing.assert_allclose(found, expected, rtol=1e-6, err_msg=name)
    assert ranks.communicator.link.obstacle == "" and ranks.communicator.link._exchanges > 9
    large = gasla.Graph(gasla.datasets.rmat(18))
    spread = distributed.Graph.from_graph(large, ranks)
    for link in ("NCCL", "hosts"):
        if link == "hosts":
            ranks.communicator.link.obstacle = "not asked for"
        for _ in range(2):
            began = time.perf_counter()
            gasla.pagerank(spread, tol=0, max_iter=50, weighted=False)
            say(f"pagerank by {link}: {1e3 * (time.perf_counter() - began) / 50:.2f} ms an iteration")


def answer_of(function: Callable[..., Any], graph: Any) -> Any:
    """The array that a function finds."""
    given: dict[str, Any] = {"bfs": {"source": 3}, "sssp": {"source": 3}}.get(function.__name__, {})
    found = function(graph, **given)
    return getattr(found, "ranks", getattr(found, "labels", found))


def job_linked_fails(way: str, ranks: Any, kind: Any) -> None:
    """An error on the last rank while the others wait for NCCL, then Ctrl-C."""
    for error in (OSError("no such card"), KeyboardInterrupt()):
        check_linked_failure(ranks, error)


def job_linked_killed(way: str, ranks: Any, kind: Any) -> None:
    """The last process is killed while the others wait for NCCL."""
    check_linked_failure(ranks, None)


def check_linked_failure(ranks: Any, error: BaseException | None) -> None:
    """As `check_failure`, on the last rank in its ninth exchange; without an error it is killed."""
    refuse_kernels()
    exchange, left = peers.nccl.Connection.exchange, [9]

    def fail(connection: Any, *given: Any) -> Any:
        left[0] -= 1
        if left[0] == 0 and ranks.here[0] == ranks.size - 1:
            time.sleep(0.5)
            say("failing", time.time())
            if error is None:
                os.kill(os.getpid(), signal.SIGKILL)
            else:
                raise error
        return exchange(connection, *given)

    spread = distributed.Graph.from_graph(gasla.Graph.from_edges(range(19), range(1, 20), n=20), ranks)
    peers.nccl.Connection.exchange = fail
    with pytest.raises((Exception, KeyboardInterrupt)) as caught:
        gasla.run(Endless, spread, max_iterations=10**6)
    say("caught", time.time(), repr(caught.value), getattr(caught.value, "__notes__", []))
    assert type(caught.value) is (type(error) if ranks.here[0] == ranks.size - 1 else RankError)
    peers.nccl.Connection.exchange = exchange
    np.testing.assert_array_equal(np.asarray(gasla.bfs(spread, 0)), np.arange(20))
    assert ranks.communicator.link.obstacle == "" and not ranks.communicator.link.ended


JOBS = {name.removeprefix("job_"): job for name, job in list(globals().items()) if name.startswith("job_")}


def main() -> None:
    """Run a job on this rank."""
    way, name = sys.argv[1:3]
    faulthandler.enable()
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    began = time.perf_counter()
    ranks, kind = open_ranks(way)
    say(f"rank {ranks.here[0]} of {ranks.size}, process {os.getpid()}, job {name}: open in "
        f"{time.perf_counter() - began:.1f} s")  # fmt: skip
    try:
        JOBS[name](way, ranks, kind)
    except BaseException as error:
        ranks.leave(error)
        raise
    finally:
        say("obstacle:", repr(ranks._group._obstacle if ranks._group else "no group"))
    ranks.leave(None)
    say(f"ended well in {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
