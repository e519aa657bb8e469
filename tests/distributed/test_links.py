"""Values between GPUs of several processes by NCCL: what ranks do with it, with a wire between threads in its place."""

import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import gasla
from gasla import distributed
from gasla.arrays import device_of
from gasla.distributed import links, thread_ranks
from gasla.distributed.communicator import Rank, RankError
from gasla.distributed.engine.messages import NO_UPDATES, Updates, content_size, pack, pack_message, unpack_message
from gasla.distributed.engine.rank_run import RankRun
from gasla.distributed.links import Link, connect, find_link
from gasla.distributed.thread_ranks import ThreadCommunicator
from gasla.engines import peers
from gasla.gpu.runtime import nccl as nccl_runtime
from tests.distributed.test_ranks import CLOSE, EXACT, check, is_taken, over, random_graph
from tests.helpers import programs
from tests.helpers.emulated_ranks import Emulated
from tests.helpers.generated_programs import Case, cases
from tests.helpers.linked_ranks import ApartCommunicator, Connection, Wire, join_threads
from tests.helpers.strict_cupy import without_gpu


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    """Threads in place of processes whose GPUs are joined by NCCL."""
    monkeypatch.setattr(RankRun, "has_card", True)
    return join_threads(monkeypatch)


@pytest.mark.parametrize("name", ["bfs", "sssp", "connected_components", "core_number", "pagerank"])
def test_answers_are_those_of_one_process(name: str, wire: Wire) -> None:
    """Programs with buckets, aggregates and values of all vertices."""
    graph, function = random_graph(), {**EXACT, **CLOSE}[name]
    np.testing.assert_array_equal(np.asarray(function(over(graph, 3))), function(graph))
    assert (wire.bytes > 0) == (name != "connected_components")


def test_hosts_send_only_what_updates_are(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    longest, meet = [0], ThreadCommunicator.meet

    def watch(communicator: ThreadCommunicator, kind: int, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        longest[0] = max(longest[0], *(len(part) for part in parts))
        return meet(communicator, kind, parts)

    spread = over(random_graph(), 3)
    monkeypatch.setattr(ThreadCommunicator, "meet", watch)
    gasla.run(programs.Hops, spread, active=[3], hops={3: 0}, compile=False)
    assert wire.bytes > 0 and longest[0] <= 64


@pytest.mark.thorough
def test_programs_have_the_bits_of_one_process(wire: Wire) -> None:
    @settings(
        max_examples=40, deadline=None, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
    )
    @given(cases(("run", "deterministic")).filter(is_taken), st.integers(1, 4))
    def attempt(case: Case, ranks: int) -> None:
        check(case, ranks, compiled=False)

    seed(2028)(attempt)()


@pytest.mark.parametrize("rank", [0, 2])
def test_a_failure_while_others_wait_is_heard_by_all(rank: int, wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that wait for it give up the exchange, and the next run is as if nothing had been."""
    exchange, failures, ended = Connection.exchange, [0], list[int]()

    def fail(self: Connection, *given: Any) -> list[Any]:
        if self._rank == rank and self._turn == 1 and not failures[0]:
            failures[0] += 1
            raise MemoryError("the GPU is full")
        return exchange(self, *given)

    monkeypatch.setattr(Connection, "exchange", fail)
    monkeypatch.setattr(Connection, "abort", lambda self: ended.append(self._rank))
    graph = random_graph()
    spread, begun = over(graph, 3), time.monotonic()
    with pytest.raises(MemoryError, match="the GPU is full") as caught:
        gasla.pagerank(spread, tol=0, max_iter=9)
    assert time.monotonic() - begun < 10 and caught.value.__notes__[0].startswith(f"on rank {rank} of 3")
    assert rank in ended and len(ended) == len(set(ended))
    np.testing.assert_array_equal(np.asarray(gasla.pagerank(spread).ranks), gasla.pagerank(graph).ranks)


class Waiting:
    """The communicator of a rank whose connection fails, and the connection."""

    rank = 0

    def __init__(self, error: BaseException, warned: Any) -> None:
        self.error, self.warned, self.happened = error, warned, list[str]()
        self.link = Link(1, self)

    def is_warned(self, number: int) -> bool:
        if isinstance(self.warned, Exception):
            raise self.warned
        return bool(self.warned)

    def warn(self, number: int) -> None:
        self.happened.append("warned")

    def barrier(self) -> None:
        self.happened.append("met")
        raise RankError("rank 1 failed")

    def exchange(self, sent: Any, sizes: Any, show: Callable[[], None]) -> Any:
        raise self.error

    def abort(self) -> None:
        self.happened.append("ended")

    def fail(self) -> list[str]:
        """What happens in an exchange."""
        with pytest.raises((Exception, KeyboardInterrupt)) as caught:
            self.link.exchange(self, [np.zeros(3)] * 2, [0, 24])
        assert self.link.ended and find_link(self) is None
        return [type(caught.value).__name__, str(caught.value), *self.happened]


def test_an_error_of_another_rank_is_not_taken_for_an_own_one() -> None:
    """NCCL notices that a peer has gone before this rank hears why. The peer does not wait for the end of the link."""
    failed = Waiting(RuntimeError("NCCL: remote error"), True).fail()
    assert failed == ["RankError", "rank 1 failed", "met", "ended"]


def test_an_error_that_others_tell_at_once_is_raised() -> None:
    """Over Dask's connections a warning is the error itself."""
    failed = Waiting(RuntimeError("NCCL: remote error"), RankError("rank 1 failed")).fail()
    assert failed[:2] == ["RankError", "rank 1 failed"] and failed[-1] == "ended"


def test_ctrl_c_is_raised_at_once() -> None:
    began = time.monotonic()
    assert Waiting(KeyboardInterrupt(), False).fail() == ["KeyboardInterrupt", "", "warned", "ended"]
    assert time.monotonic() - began < 0.5


def test_runs_on_the_cpu_do_not_use_the_link(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks with GPUs run programs there that are not compiled."""
    graph = random_graph()
    spread = over(graph, 3)
    monkeypatch.undo()
    monkeypatch.setattr(thread_ranks, "ThreadCommunicator", ApartCommunicator)
    monkeypatch.setattr(ApartCommunicator, "wire", wire)
    found = gasla.run(programs.Hops, spread, active=[3], hops={3: 0}, compile=False)
    expected = gasla.run(programs.Hops, graph, active=[3], hops={3: 0})
    np.testing.assert_array_equal(np.asarray(found.hops), expected.hops)
    assert wire.count == 0


# --- making a link ----------------------------------------------------------------------------------------------------


@pytest.fixture
def nccl(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """In the place of NCCL: `missing` and `cards` say what each rank finds, by the number of its thread."""
    monkeypatch.setattr(thread_ranks, "ThreadCommunicator", ApartCommunicator)
    monkeypatch.setattr(ApartCommunicator, "wire", None)
    here, made = threading.local(), SimpleNamespace(missing={}, cards={}, keys=[], here=None)
    made.here = here
    stand_in = SimpleNamespace(
        obstacle=lambda: made.missing.get(here.rank, ""),
        new_key=lambda: np.arange(128, dtype=np.uint8),
        Connection=lambda rank, size, key: made.keys.append((rank, size, key.tolist())) or Connection(rank, Wire()),
    )
    monkeypatch.setattr(peers(), "nccl", stand_in)
    cards = SimpleNamespace(bus_id=lambda: made.cards.get(here.rank, b"%d" % here.rank))
    monkeypatch.setattr(peers(), "shared_memory", cards)
    return made


def connected(nccl: SimpleNamespace, size: int, before: Sequence[Link | None] = ()) -> list[Any]:
    """The links of all ranks."""

    def join(rank: Rank) -> Link | None:
        rank.has_card, nccl.here.rank = True, rank.communicator.rank
        if before:
            rank.communicator.link = before[rank.communicator.rank]
        connect(rank)
        assert find_link(rank.communicator) is (None if rank.communicator.link.obstacle else rank.communicator.link)
        return rank.communicator.link

    return distributed.ThreadRanks(size).each(join)


def test_all_ranks_connect_by_the_key_of_the_first(nccl: SimpleNamespace) -> None:
    found = connected(nccl, 3)
    assert [(link.number, link.obstacle) for link in found] == [(1, "")] * 3
    assert sorted(nccl.keys) == [(rank, 3, list(range(128))) for rank in range(3)]
    assert connected(nccl, 3, found) == found and len(nccl.keys) == 3


def test_a_link_that_has_ended_on_one_rank_is_made_again_by_all(nccl: SimpleNamespace) -> None:
    found = connected(nccl, 3)
    found[1].close()
    again = connected(nccl, 3, found)
    assert [link.number for link in again] == [2] * 3 and all(link.ended for link in found)


def test_what_one_rank_lacks_no_rank_uses(nccl: SimpleNamespace) -> None:
    nccl.missing[2] = "no library"
    found = connected(nccl, 3)
    assert [link.obstacle for link in found] == ["no library"] * 3 and not nccl.keys
    assert connected(nccl, 3, found) == found  # nor is it tried again


def test_a_gpu_of_two_processes_has_no_link(nccl: SimpleNamespace) -> None:
    nccl.cards[1] = b"0"
    assert {link.obstacle for link in connected(nccl, 3)} == {"processes share a GPU"} and not nccl.keys


@pytest.mark.filterwarnings("error")
def test_where_nccl_fails_ranks_do_without_and_say_so(nccl: SimpleNamespace) -> None:
    made: list[Connection] = []

    def join(rank: int, size: int, key: np.ndarray) -> Connection:
        if rank == 1:
            raise RuntimeError("no socket interface found")
        made.append(Connection(rank, Wire()))
        return made[-1]

    peers().nccl.Connection = join
    with pytest.warns(UserWarning, match="through the memory of the hosts, as NCCL can't join them: no socket"):
        found = connected(nccl, 3)
    assert ["no socket" in link.obstacle for link in found] == [True] * 3
    assert len(made) == 2 and all(one.aborted for one in made)


def test_ranks_that_need_none_have_no_link(nccl: SimpleNamespace) -> None:
    def join(rank: Rank) -> Any:
        connect(rank)
        return rank.communicator.link

    assert distributed.ThreadRanks(2).each(join) == [None, None]


# --- graphs and messages ----------------------------------------------------------------------------------------------


def test_edges_go_over_the_link(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    without_gpu(monkeypatch)
    graph = random_graph()
    counts = distributed.Graph.from_graph(graph, Emulated(3)).report()
    assert wire.bytes > 8 * graph.m * 0.5
    monkeypatch.undo()
    expected = over(graph, 3).report()
    for column in ("vertices", "edges", "mirrors"):
        np.testing.assert_array_equal(counts[column], expected[column])


@settings(max_examples=60, deadline=None, database=None)
@given(st.data())
def test_contents_that_come_apart_are_those_of_messages(data: Any) -> None:
    held = data.draw(st.sampled_from([1, 9, 300, 70_000]))
    places = np.unique(data.draw(st.lists(st.integers(0, held - 1), min_size=1, max_size=100))).astype(np.int64)
    some = np.arange(len(places))
    wide = (some[:, None] + np.arange(3)).astype(
        data.draw(st.sampled_from([np.int8, np.float16, np.complex64, np.int64]))
    )
    values = [some.astype(np.float32), some > 2, wide]
    news = Updates(places, data.draw(st.sampled_from([None, some % 3 == 0])), values)
    kinds = [(value.dtype, value.shape[1:]) for value in values]
    header, content = pack(news, held)
    message = np.frombuffer(b"123" + header, np.uint8)
    assert content_size(message, 3, held, kinds) == len(content)
    assert pack_message(b"123", news, held).tobytes() == message.tobytes() + content.tobytes()
    found = unpack_message(message, 3, held, kinds, content)
    np.testing.assert_array_equal(found.places, places)
    for got, right in zip(found.values, news.values, strict=True):
        np.testing.assert_array_equal(got, right)


def test_contents_stay_on_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is anything read there where its type may not begin: every number's bytes are in an array of their own."""
    without_gpu(monkeypatch)
    cupy: Any = gasla.arrays.require_gpu()
    for held in (4, 5000):
        places = cupy.asarray(np.array([0, 2, 3]))
        values = [cupy.asarray(np.array([1.5, 2.5, 3.5])), cupy.asarray(np.arange(6, dtype=np.int8).reshape(3, 2))]
        header, content = pack(Updates(places, cupy.asarray(np.array([True, False, True])), values), held)
        kinds = [(np.dtype(np.float64), ()), (np.dtype(np.int8), (2,))]
        found = unpack_message(np.frombuffer(header, np.uint8), 0, held, kinds, content)
        assert {device_of(x) for x in (content, found.places, found.is_active, *found.values)} == {"gpu"}
        assert found.places.get().tolist() == [0, 2, 3] and found.is_active.get().tolist() == [True, False, True]
        assert [x.get().tolist() for x in found.values] == [[1.5, 2.5, 3.5], [[0, 1], [2, 3], [4, 5]]]
        assert found.values[0].data.ptr % 8 == 0
    assert content_size(np.zeros(0, np.uint8), 0, 4, kinds) == 0
    assert unpack_message(np.zeros(0, np.uint8), 0, 4, kinds) is NO_UPDATES


def test_gpus_are_joined_before_anything_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank can't leave NCCL's first exchange with another one that has failed."""
    done: list[Any] = []

    class Communicator:
        def __init__(self, size: int, key: bytes, rank: int) -> None:
            done.append((size, key, rank))

        def send(self, at: int, size: int, kind: str, peer: int, stream: int) -> None:
            done.append(("send", size, kind, peer))

        def recv(self, at: int, size: int, kind: str, peer: int, stream: int) -> None:
            done.append(("recv", size, kind, peer))

    without_gpu(monkeypatch)
    cupy: Any = gasla.arrays.require_gpu()
    cupy.cuda.get_current_stream = lambda: SimpleNamespace(ptr=0)
    of_cupy: Any = SimpleNamespace(
        NcclCommunicator=Communicator,
        NCCL_UINT8="uint8",
        groupStart=lambda: done.append("start"),
        groupEnd=lambda: done.append("end"),
    )
    monkeypatch.setattr(sys.modules["cupy.cuda"], "nccl", of_cupy, raising=False)
    monkeypatch.setattr(nccl_runtime, "require_gpu", lambda: cupy)
    monkeypatch.setattr(nccl_runtime, "wait_for_stream", lambda show: done.append("waited"))
    nccl_runtime.Connection(1, 3, np.array([7], np.uint8))
    each = [(what, 1, "uint8", peer) for peer in range(3) for what in ("send", "recv")]
    assert done == [(3, b"\7", 1), "start", *each, "end", "waited"]


def test_links_has_no_numbers_of_kernels() -> None:
    """Warnings of exchanges and of kernels do not meet."""
    assert links.TASKS > 1 << 32
