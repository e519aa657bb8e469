"""Packed vertex ids against a plain decoder, which follows the description of the format."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gasla import datasets
from gasla.graph import packed
from gasla.graph.packed import (
    ADDRESS_BITS,
    BASES,
    BLOCK,
    BLOCKS,
    ENDS,
    FROM_ZERO,
    GROUP,
    PLACE,
    SHIFT_BITS,
    SIZE_BITS,
    UPPERS,
)

LARGEST = 2**31 - 1  # vertices


def pack(ids: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    return packed.pack(ids, n, lambda count: np.full(count, 0xABABABAB, np.uint32))


def unpacked(groups: np.ndarray, words: np.ndarray, count: int) -> list[int]:
    """All entries, one after the other, by Python's integers."""
    found: list[int] = []
    for group in groups:
        place, window = int(group[PLACE]) % 2**ADDRESS_BITS, int(group[PLACE]) >> ADDRESS_BITS
        assert place % 4 == 0
        bits, shift, steps = window % 2**SIZE_BITS, window >> SIZE_BITS & FROM_ZERO, window >> SIZE_BITS + SHIFT_BITS
        ends = [0, *int(group[ENDS]).to_bytes(BLOCKS, "little")]
        bases = b"".join(int(word).to_bytes(8, "little") for word in group[BASES])
        start = 0 if shift == FROM_ZERO else int.from_bytes(bases[:4], "little") - (steps << shift)
        for block, upper in enumerate(map(int, group[UPPERS])):
            width, first = ends[block + 1] - ends[block], place // 4 + ends[block]
            low = sum(int(word) << 32 * i for i, word in enumerate(words[first : first + width]))
            ones = [i for i in range(64) if upper >> i & 1]
            assert len(ones) == BLOCK and ones[0] == 0
            base = int.from_bytes(bases[4 * block : 4 * block + 4], "little")
            for k, one in enumerate(ones):
                key = ((one - k) << width) + (low >> k * width) % 2**width
                found.append(start + (base - start + key) % 2**bits)
    assert len(groups) == -(-count // GROUP)
    return found[:count]


SHAPES = {
    "nothing": (5, []),
    "one": (1, [0]),
    "loops of one vertex": (1, [0] * 700),
    "a path": (1000, np.arange(1, 1000)),
    "a star": (1000, [*range(1, 1000), *[0] * 999]),
    "a whole block": (40, range(32)),
    "one more": (40, range(33)),
    "a whole group": (300, range(256)),
    "one more than a group": (300, range(257)),
    "the largest numbers": (LARGEST, [LARGEST - 1] * 300),
    "from end to end": (LARGEST, [0, LARGEST - 1] * 200),
    "falling": (LARGEST, np.linspace(LARGEST - 1, 0, 1000).astype(np.int64)),
    "rising": (LARGEST, np.linspace(0, LARGEST - 1, 1000).astype(np.int64)),
    "a power of two": (2**30, [0, 2**30 - 1, 2**29] * 100),
    "parallel edges": (9, np.repeat(range(9), 77)),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_shapes(name: str, kind: type) -> None:
    n, given_ids = SHAPES[name]
    ids = np.asarray(given_ids, kind)
    before = ids.copy()
    assert unpacked(*pack(ids, n), len(ids)) == ids.tolist()
    np.testing.assert_array_equal(ids, before)


@settings(max_examples=200, deadline=None)
@given(data=st.data(), n=st.integers(1, LARGEST), count=st.integers(0, 600), spread=st.integers(0, 31))
def test_any_ids(data: st.DataObject, n: int, count: int, spread: int) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    first, width = int(rng.integers(0, n)), min(n, 2**spread)
    ids = (first + rng.integers(0, width, count)) % n
    cuts = np.sort(rng.integers(0, count + 1, data.draw(st.integers(0, 20))))
    for part in np.split(ids, cuts):  # lists that ascend
        part.sort() if data.draw(st.booleans()) else None
    assert unpacked(*pack(ids.astype(np.int32), n), count) == ids.tolist()


def test_pieces_are_packed_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = datasets.rmat(10)
    whole = pack(matrix.indices, 1024)
    monkeypatch.setattr(packed, "PIECE", 3)
    for one, other in zip(whole, pack(matrix.indices, 1024), strict=True):
        np.testing.assert_array_equal(one, other)
    assert unpacked(*whole, matrix.nnz) == matrix.indices.tolist()


def test_sorted_lists_become_small() -> None:
    matrix = datasets.rmat(14)
    groups, words = pack(matrix.indices, matrix.shape[0])
    assert 8 * words.nbytes < 9 * matrix.nnz
    assert 8 * groups.nbytes < 3.6 * matrix.nnz


def test_near_neighbors_become_small() -> None:
    """Lists are short, so that blocks have many ends of lists; but all ids of a group are near each other."""
    matrix = datasets.grid(16)
    _, words = pack(matrix.indices, matrix.shape[0])
    assert 8 * words.nbytes < 11 * matrix.nnz
    shifted = pack(matrix.indices + 2**30, LARGEST)[1]
    assert shifted.nbytes == words.nbytes
