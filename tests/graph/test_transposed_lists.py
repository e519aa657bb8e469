"""Transposed neighbor lists: by NumPy of few edges and by SciPy of many, with the same arrays of the same types."""

import numpy as np
import pytest

from gasla.graph import lists_cpu


@pytest.mark.parametrize("pointer", [np.int32, np.int64])
@pytest.mark.parametrize("id_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("shape", ["empty", "one vertex", "loops", "parallel", "path", "star", "random"])
def test_both_ways_agree(
    shape: str, id_dtype: type[np.signedinteger], pointer: type[np.signedinteger], monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(3)
    n, tails, heads = {
        "empty": (0, [], []),
        "one vertex": (1, [], []),
        "loops": (3, [0, 1, 1], [0, 1, 1]),
        "parallel": (4, [0, 0, 0, 2], [3, 3, 1, 3]),
        "path": (6, range(5), range(1, 6)),
        "star": (9, [0] * 8, range(8, 0, -1)),
        "random": (50, np.sort(draw.integers(0, 50, 300)), draw.integers(0, 50, 300)),
    }[shape]
    indptr = np.zeros(n + 1, pointer)
    np.cumsum(np.bincount(np.array(tails, int), minlength=n), out=indptr[1:])
    indices = np.array(heads, id_dtype)
    for ids in (None, np.arange(len(indices), dtype=np.int64)[::-1], np.zeros(len(indices), np.int8)):
        monkeypatch.setattr(lists_cpu, "_FEW", 1 << 30)
        found = lists_cpu.transpose(indptr, indices, ids)
        monkeypatch.setattr(lists_cpu, "_FEW", 0)
        expected = lists_cpu.transpose(indptr, indices, ids)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
            assert ours.dtype == theirs.dtype
