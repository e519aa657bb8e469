"""Memory of several GPUs under consecutive addresses: here of one GPU, mapped from several pieces."""

import gc
from collections import Counter
from typing import Any

import numpy as np
import pytest

from gasla.gpu.runtime import joint_memory

pytestmark = pytest.mark.gpu


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """Return bytes of such memory, by GPU."""
    held = Counter[int]()
    monkeypatch.setattr(joint_memory, "_held", held)
    return held


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


def test_memory_that_is_not_there_is_refused(held: Counter[int]) -> None:
    with pytest.raises(MemoryError, match=r"card 0 has [\d,]+ bytes left for an array over several; expected"):
        joint_memory.spread_array([1 << 44], [0], np.int64)
    assert held[0] == 0
