"""The graphs that ranks make themselves: any number of ranks makes the same edges, in both directions."""

from typing import Any

import numpy as np
import pytest

from benchmarks import made_on_cards
from benchmarks.made_on_cards import FACTOR, Kronecker
from gasla import distributed
from gasla.distributed.communicator import Rank

SCALE = 9


def edges_of(ranks: int, rounds: int) -> np.ndarray:
    """All edges by their numbers: sources and targets."""

    def make(rank: Rank) -> list[Any]:
        share = Kronecker(rank, SCALE)
        made = [share.edges(number, rounds) for number in range(rounds)]
        assert sum(len(part.ids) for part in made) <= share.count + rounds
        return [np.stack([part.ids, part.src, part.dst]) for part in made]

    found = np.concatenate([part for parts in distributed.ThreadRanks(ranks).each(make) for part in parts], axis=1)
    assert np.array_equal(np.sort(found[0]), np.arange(2 * FACTOR << SCALE))
    return found[1:, np.argsort(found[0])]


def test_all_ranks_make_one_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    src, dst = edges_of(1, 1)
    assert src.min() >= 0 and src.max() < 1 << SCALE
    np.testing.assert_array_equal(src[::2], dst[1::2])
    np.testing.assert_array_equal(dst[::2], src[1::2])
    degrees = np.bincount(src, minlength=1 << SCALE)
    assert degrees.max() > 8 * degrees.mean()  # as of Graph500: some vertices have many edges
    monkeypatch.setattr(made_on_cards, "DRAWN", 100)
    np.testing.assert_array_equal(edges_of(3, 4), [src, dst])


def test_vertices_are_renamed_one_by_one() -> None:
    with distributed.Cluster(threads=1) as cluster:
        (share,) = cluster.each(lambda rank: Kronecker(rank, SCALE))
    assert sorted(share._renamed(np.arange(1 << SCALE, dtype=np.uint32)).tolist()) == list(range(1 << SCALE))


def test_answers_are_checked() -> None:
    with distributed.Cluster(threads=2) as cluster:
        made_on_cards.check_small(cluster, SCALE)
        cells = made_on_cards.row(2, 10, cluster).split()
    assert cells[:2] == ["2", "10"] and len(cells) == len(made_on_cards.HEAD.split()) - 4
