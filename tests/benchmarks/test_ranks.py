"""The model of ranks: its mirrors are those of R-MAT graphs, its times are plausible."""

import numpy as np
import pytest

from benchmarks import ranks
from gasla.graph import generators


@pytest.mark.parametrize("size", [2, 8, 64])
def test_mirrors_are_those_of_a_graph(size: int) -> None:
    A = generators.rmat(12).tocoo()
    work = np.cumsum(np.bincount(A.col, minlength=A.shape[0]) + 1)
    bounds = np.searchsorted(work, np.arange(1, size) * work[-1] / size)
    receiver, sender = (np.searchsorted(bounds, ends, side="right") for ends in (A.col, A.row))
    counted = len(np.unique((receiver * A.shape[0] + A.row)[receiver != sender])) / size
    assert ranks.mirrors(12, size) == pytest.approx(counted, rel=0.03)


def test_times_are_plausible() -> None:
    for machine in ranks.MACHINES:
        for seconds in (ranks.search_seconds, ranks.pagerank_seconds):
            alone = seconds(machine, 28, 1)
            times = [seconds(machine, 28, size) for size in (2, 4, 8)]
            assert alone > times[0] > times[1] > times[2] > alone / 17  # twice as near, at most, in a cache
    table = ranks.simulate([24, 35])
    assert "| PageRank, an iteration, rmat35 | 1.1e+12 | – | – | – | – | – | " in table
