"""Memory of several GPUs under consecutive addresses: here of one GPU, mapped from several pieces."""

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gasla.gpu.runtime import joint_memory

needs_gpu = pytest.mark.gpu


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """Return bytes of such memory, by GPU."""
    held = Counter[int]()
    monkeypatch.setattr(joint_memory, "_held", held)
    return held


@needs_gpu
def test_pieces_are_one_array(held: Counter[int]) -> None:
    counts = [1, 3_000_000, 0, 2_000_000]
    seen: Any = joint_memory.spread_array(counts, [0] * 4, np.int32)
    seen[0][...] = 0
    seen[1][...] = seen[0] + 7
    assert len(seen) == 4 and len(seen[0]) == sum(counts)
    assert int(seen[2].sum()) == 7 * sum(counts)
    assert 4 * sum(counts) <= held[0] < 4 * sum(counts) + 5 * joint_memory.UNIT
    del seen
    gc.collect()
    assert held[0] == 0


@needs_gpu
def test_large_arrays_are_spread_in_a_context(held: Counter[int]) -> None:
    cupy = pytest.importorskip("cupy")
    with joint_memory.spreading([0, 0], 8 << 20):
        large, small = cupy.arange(4 << 20, dtype=np.int64), cupy.arange(10)
        assert held[0] >= large.nbytes
        sorted_ = cupy.sort(-large)
        assert int(sorted_[0]) == -(len(large) - 1) and int(small.sum()) == 45
    after = held[0]
    cupy.arange(4 << 20, dtype=np.int64)
    assert held[0] == after


@needs_gpu
def test_memory_that_is_not_there_is_refused(held: Counter[int]) -> None:
    with pytest.raises(MemoryError, match=r"card 0 has [\d,]+ bytes left for an array over several; expected"):
        joint_memory.spread_array([1 << 44], [0], np.int64)
    assert held[0] == 0


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the calls of a driver that is not there, and of CuPy's pool, which has all memory until it frees some."""
    made = list[str]()

    def call(name: str, *_: Any) -> None:
        made.append(name)
        if name == "cuMemCreate" and not any(one.startswith("free") for one in made):
            raise MemoryError

    @contextmanager
    def device(card: int) -> Iterator[None]:
        here.card = card
        yield

    here = SimpleNamespace(card=0)
    cuda = SimpleNamespace(
        Device=device, runtime=SimpleNamespace(deviceSynchronize=lambda: made.append(f"wait for {here.card}"))
    )
    pool = SimpleNamespace(free_all_blocks=lambda: made.append(f"free blocks of {here.card}"))
    cupy = SimpleNamespace(cuda=cuda, get_default_memory_pool=lambda: pool)
    monkeypatch.setattr(joint_memory, "_call", call)
    monkeypatch.setattr(joint_memory, "require_gpu", lambda: cupy)
    return made


def test_memory_that_a_pool_holds_is_taken(held: Counter[int], calls: list[str]) -> None:
    joint = joint_memory._Joint([joint_memory.UNIT] * 2, [0, 1])
    assert calls.count("cuMemCreate") == 3 and "free blocks of 0" in calls
    assert held == {0: joint_memory.UNIT, 1: joint_memory.UNIT}
    del joint
    assert not any(held.values())


def test_nothing_is_freed_while_kernels_may_wait_for_others(held: Counter[int], calls: list[str]) -> None:
    joint = joint_memory._Joint([joint_memory.UNIT] * 2, [0, 1])
    with joint_memory.freeing_later():
        del joint
        assert "wait for 0" not in calls and sum(held.values()) == 2 * joint_memory.UNIT
    assert calls[-5:] == ["wait for 0", "wait for 1", "cuMemUnmap", "cuMemUnmap", "cuMemAddressFree"]
    assert not any(held.values())


def test_a_gpu_that_holds_no_part_is_waited_for(held: Counter[int], calls: list[str]) -> None:
    joint = joint_memory._Joint([0, joint_memory.UNIT], [0, 1])
    del joint
    assert calls[-4:] == ["wait for 0", "wait for 1", "cuMemUnmap", "cuMemAddressFree"]


@pytest.mark.parametrize("answers", [(1, 1), (1, 0)])
def test_a_driver_says_whether_it_maps_memory(answers: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    def call(name: str, answer: Any, *rest: Any) -> None:
        answer._obj.value = rest[0].value if name == "cuDeviceGet" else answers[rest[1].value]

    monkeypatch.setattr(joint_memory, "_call", call)
    monkeypatch.setattr(joint_memory, "_driver", lambda: SimpleNamespace(cuMemAddressReserve=None))
    assert joint_memory.can_map([1, 0]) == all(answers)
    monkeypatch.setattr(joint_memory, "_driver", SimpleNamespace)
    assert not joint_memory.can_map([0])


def test_without_a_driver_no_memory_is_mapped(monkeypatch: pytest.MonkeyPatch) -> None:
    def driver() -> None:
        raise OSError("libcuda.so.1: cannot open shared object file")

    monkeypatch.setattr(joint_memory, "_driver", driver)
    assert not joint_memory.can_map([0])


def test_memory_below_the_limit_is_taken_from_blocks_that_no_array_uses(
    held: Counter[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit of CuPy's pool counts them."""
    made = list[str]()

    def allocate(size: int) -> int:
        made.append("allocate")
        if "free" not in made:
            raise MemoryError
        return size

    @contextmanager
    def using(function: Any) -> Iterator[None]:
        assert function(7) == 7
        yield

    cuda = SimpleNamespace(Device=lambda *_: Card(), using_allocator=using)
    pool = SimpleNamespace(
        malloc=allocate,
        free_all_blocks=lambda: made.append("free"),
        get_limit=lambda: limit,
        used_bytes=lambda: 5,
        free_bytes=lambda: 1000,
    )
    cuda.runtime = SimpleNamespace(memGetInfo=lambda: (1000, 1000))
    cupy = SimpleNamespace(cuda=cuda, get_default_memory_pool=lambda: pool)
    monkeypatch.setattr(joint_memory, "require_gpu", lambda: cupy)
    limit = 0
    with joint_memory.spreading([0, 1], 8):
        assert made == ["allocate", "free", "allocate"]
    limit, held[0] = 20, 8
    with joint_memory.spreading([0, 1], 8):  # 5 of the pool, 8 of arrays over both, and 7 more
        pass
    held[0] = 9
    with pytest.raises(MemoryError, match="card 0 has 6 bytes left"), joint_memory.spreading([0, 1], 8):
        pass
    with joint_memory.spreading([0, 1], 8, lambda: held.update({0: -1})):  # frees what is kept for later calls
        assert held[0] == 8


class Card:
    """A device, as a context."""

    id = 0

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass
