"""Dask workers with a GPU each: who uses which, and values between them by NCCL. GPUs and NCCL are emulated."""

import itertools
import time
from collections.abc import Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gasla import distributed
from gasla.distributed import dask_ranks, dask_worker
from gasla.distributed.communicator import Rank
from gasla.distributed.links import connect, find_link
from gasla.engines import peers
from tests.helpers.linked_ranks import Connection, Wire

dask = pytest.importorskip("distributed", reason="needs Dask")


@pytest.fixture
def client() -> Iterator[Any]:
    """Of two workers, which are threads of this process."""
    with (
        dask.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=50
        ) as workers,
        dask.Client(workers) as made,
    ):
        yield made


@pytest.fixture
def cards(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Two GPUs that both workers see. `made` has the connections, `entered` the GPUs used, `broken` those that fail."""
    made, wires = SimpleNamespace(made=[], entered=[], broken=set()), dict[bytes, Wire]()

    def device(number: int) -> Any:
        made.entered.append(number)
        if number in made.broken:
            raise OSError(f"GPU {number} is lost")
        return nullcontext()

    def join(rank: int, size: int, key: np.ndarray) -> Connection:
        made.made.append(Connection(rank, wires.setdefault(key.tobytes(), Wire())))
        return made.made[-1]

    keys, buses = itertools.count(), itertools.count()
    nccl = SimpleNamespace(obstacle=lambda: "", new_key=lambda: np.array([next(keys)], np.uint8), Connection=join)
    monkeypatch.setattr(peers(), "nccl", nccl)
    monkeypatch.setattr(peers(), "shared_memory", SimpleNamespace(bus_id=lambda: b"%d" % next(buses)))
    monkeypatch.setattr(dask_ranks, "find_cards", lambda: (b"host", b"GPU 0", 2))
    monkeypatch.setattr(dask_worker, "require_gpu", lambda: SimpleNamespace(cuda=SimpleNamespace(Device=device)))
    return made


def exchange(rank: Rank, late: float = 0.0, error: str = "") -> tuple[int, list[int]]:
    """The number of the link, and the ranks' numbers by it; the second rank comes late, or fails."""
    connect(rank)
    communicator: Any = rank.communicator
    link, own = find_link(communicator), communicator.rank
    assert link is not None
    if own == 1:
        time.sleep(late)
        if error:
            raise ValueError(error)
    sent = [np.array([own + 5], np.uint8)] * communicator.size
    return link.number, [int(got[0]) for got in link.exchange(communicator, sent, [1] * communicator.size)]


def test_later_calls_wait_for_each_other(client: Any, cards: SimpleNamespace) -> None:
    """A link outlives the call that made it, whose task Dask has forgotten by then."""
    with distributed.Cluster(client, gpus=True) as cluster:
        for late in (0.0, 0.7, 0.7):
            assert cluster.each(exchange, late) == [(1, [5, 6])] * 2
    assert sorted(set(cards.entered)) == [0, 1]
    assert len(cards.made) == 2 and all(connection.aborted for connection in cards.made)


def test_a_failed_call_does_not_fail_later_ones(client: Any, cards: SimpleNamespace) -> None:
    """After it, all ranks connect anew."""
    with distributed.Cluster(client, gpus=True) as cluster:
        assert cluster.each(exchange) == [(1, [5, 6])] * 2
        for number in (2, 3):
            with pytest.raises(ValueError, match="not today") as caught:
                cluster.each(exchange, 0.05, "not today")
            assert caught.value.__notes__[0].startswith("on rank 1 of 2")
            assert cluster.each(lambda rank: find_link(rank.communicator)) == [None, None]
            assert cluster.each(exchange, 0.05) == [(number, [5, 6])] * 2


def test_a_gpu_that_is_lost_fails_the_call(client: Any, cards: SimpleNamespace) -> None:
    with distributed.Cluster(client, gpus=True) as cluster:
        assert cluster.each(exchange) == [(1, [5, 6])] * 2
        cards.broken.add(1)
        with pytest.raises(OSError, match="GPU 1 is lost") as caught:
            cluster.each(exchange)
        assert caught.value.__notes__[0].startswith("on rank 1 of 2")
        cards.broken.clear()
        assert cluster.each(exchange) == [(2, [5, 6])] * 2


def test_clusters_have_links_of_their_own(client: Any, cards: SimpleNamespace) -> None:
    with distributed.Cluster(client, gpus=True) as outer, distributed.Cluster(client, gpus=True) as inner:
        for cluster in (outer, inner, outer):
            assert cluster.each(exchange, 0.05) == [(1, [5, 6])] * 2
        assert len(cards.made) == 4
    with distributed.Cluster(client, gpus=True) as again:
        assert again.each(exchange) == [(1, [5, 6])] * 2
    assert len(cards.made) == 6 and all(connection.aborted for connection in cards.made)


def test_a_worker_without_a_gpu_is_named(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left on the workers, and no client."""
    clients, made = dask.Client, list[Any]()
    monkeypatch.setattr(dask, "Client", lambda *given, **named: made.append(clients(*given, **named)) or made[-1])

    last = max(client.nthreads())

    def find(dask_worker: Any) -> Any:
        if dask_worker.address == last:
            raise OSError("no GPU here")
        return b"host", b"GPU 0", 1

    monkeypatch.setattr(dask_ranks, "find_cards", find)
    with pytest.raises(OSError, match="no GPU here") as caught, distributed.Cluster(client, gpus=True):
        pass
    assert last in caught.value.__notes__[0]
    assert not dask_worker._states and not made
