"""Graphs of chunks of edges are those of `gasla.Graph.from_edges` of all edges together."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import distributed
from gasla.distributed.engine import partition
from gasla.distributed.loading import chunks as loading
from gasla.distributed.thread_ranks import ThreadRanks
from tests.distributed.test_spreading import check as check_shards
from tests.helpers.emulated_ranks import Emulated
from tests.helpers.strict_cupy import without_gpu


def joined(chunks: list[Any], n: int | None = None) -> gasla.Graph:
    """The graph of the concatenation."""
    src, dst = (np.concatenate([np.asarray(chunk[end]).astype(np.int64) for chunk in chunks]) for end in (0, 1))
    weights = np.concatenate([chunk[2] for chunk in chunks]) if len(chunks[0]) > 2 else None
    return gasla.Graph.from_edges(src, dst, weights, n=n)


def check(chunks: list[Any], ranks: Any, n: int | None = None) -> None:
    graph, spread = joined(chunks, n), distributed.Graph.from_edges(iter(chunks), n=n, ranks=ranks)
    assert (spread.n, spread.m, spread.value_type) == (graph.n, graph.m, graph.value_type)
    check_shards(spread, graph)


NO_IDS = np.zeros(0, np.int32)
UNSORTED = np.random.default_rng(6).integers(0, 30, (2, 200))
CHUNKS: dict[str, list[Any]] = {
    "one chunk": [([2, 0, 1], [0, 1, 1])],
    "an edge each": [([v], [v // 2]) for v in range(9)],
    "no edges": [(NO_IDS, NO_IDS, np.zeros(0, np.float32))],
    "some are empty": [(NO_IDS, NO_IDS), ([0, 4], [1, 0]), (NO_IDS, NO_IDS), ([3], [3])],
    "types of ids": [(np.array(UNSORTED[0, :9], kind), np.array(UNSORTED[1, :9])) for kind in "bBhHiIlL"],
    "types of weights": [
        ([0, 1], [1, 0], np.array([1, 2], np.int8)),
        ([5], [2], np.array([0.5], np.float32)),
        (NO_IDS, NO_IDS, np.zeros(0, np.float64)),
        ([1], [0], [True]),
    ],
    "unsorted": [(*UNSORTED[:, a:b], np.arange(a, b)) for a, b in ((0, 7), (7, 150), (150, 151), (151, 200))],
}


@pytest.mark.parametrize("together", [1, 1 << 22])
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("name", CHUNKS)
def test_chunks(name: str, size: int, together: int, ranks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "TOGETHER", together)
    monkeypatch.setattr(partition, "ROUND", 3)
    check(CHUNKS[name], ranks(size))
    check(CHUNKS[name], ranks(size), n=40)


@settings(max_examples=8, deadline=None, database=None)
@given(st.lists(st.lists(st.tuples(*[st.integers(0, 11)] * 3), max_size=9), min_size=1, max_size=6), st.integers(1, 5))
def test_any_chunks(drawn: list[list[tuple[int, int, int]]], size: int) -> None:
    chunks = [tuple(np.array(part, np.int64).reshape(-1, 3).T) for part in drawn]
    check(chunks, ThreadRanks(size), n=12)


def test_no_chunks() -> None:
    spread = distributed.Graph.from_edges([], ranks=ThreadRanks(2))
    assert (spread.n, spread.m, spread.values) == (0, 0, None)
    assert distributed.Graph.from_edges(iter(()), n=3, ranks=ThreadRanks(2)).n == 3


def test_arrays(ranks: Any) -> None:
    weights = np.arange(200.0)
    spread = distributed.Graph.from_edges(*UNSORTED, weights, n=31, ranks=ranks(3))
    check_shards(spread, gasla.Graph.from_edges(*UNSORTED, weights, n=31))
    with distributed.Cluster(threads=2):
        assert repr(distributed.Graph.from_edges([0, 1], [1, 2])) == "distributed.Graph(n=3, m=2, over 2 ranks)"


def test_arrays_may_be_reused_for_the_next_chunk() -> None:
    def reusing() -> Iterator[Any]:
        src, dst, weights = np.zeros(2, np.int32), np.zeros(2, np.int64), np.zeros(2)
        for v in range(5):
            src[:], dst[:], weights[:] = v, [v + 1, v + 2], v
            yield src, dst, weights
            src[:], dst[:], weights[:] = 999, 999, -1

    expected = joined([([v, v], [v + 1, v + 2], [float(v)] * 2) for v in range(5)])
    check_shards(distributed.Graph.from_edges(reusing(), ranks=ThreadRanks(2)), expected)


def test_no_card_receives_a_whole_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    cupy: Any = without_gpu(monkeypatch)
    longest, asarray = [0], cupy.asarray

    def noting(array: Any, *given: Any, **named: Any) -> Any:
        longest.append(len(array) if isinstance(array, np.ndarray) else 0)
        return asarray(array, *given, **named)

    monkeypatch.setattr(cupy, "asarray", noting)
    monkeypatch.setattr(partition, "ROUND", 50)
    src, dst = np.random.default_rng(1).integers(0, 40, (2, 4000))
    distributed.Graph.from_edges([(src, dst)], ranks=Emulated(2))
    assert 0 < max(longest) <= 4000 // 8


def failing() -> Iterator[Any]:
    yield [0, 1], [1, 2]
    raise ZeroDivisionError("no such chunk")


@pytest.mark.parametrize(
    ("chunks", "n", "kind", "text"),
    [
        (failing(), None, ZeroDivisionError, "no such chunk"),
        (5, None, TypeError, r"src is 5, without dst; expected arrays src and dst, or chunks of edges: tuples \(src"),
        ([0, 1], None, TypeError, "chunk 0 is 0; expected a tuple"),
        ([([0], [1]), ([0],)], None, TypeError, "chunk 1 is .*; expected a tuple"),
        ([[0, 1]], None, ValueError, r"src of chunk 0 is 0; expected an array of integers"),
        ([([0], [1]), ([0.5], [1])], None, TypeError, "src of chunk 1 has type float64; expected integers"),
        ([([0], [1]), ([0], [1, 2])], None, ValueError, "chunk 1 has 1 sources and 2 targets"),
        ([([0], [1]), ([0], [-2])], None, ValueError, "dst of chunk 1 has the vertex -2; expected ids from 0"),
        (
            [([0], [1]), ([0, 3], [1, 1])],
            3,
            ValueError,
            r"src of chunk 1: ids\[1\] is 3, outside a graph of 3 vertices",
        ),
        ([([0], [1])], -1, ValueError, "n is -1; expected a number of vertices"),
        ([([0], [1]), ([0], [1], [2.5])], None, ValueError, "chunk 1 has weights and chunk 0 has none"),
        ([([0], [1], [2.5]), ([0], [1])], None, ValueError, "chunk 0 has weights and chunk 1 has none"),
        ([([0], [1], [2.5, 1])], None, ValueError, r"chunk 0: there are 1 edges and values of shape \(2,\)"),
        ([([0], [1], ["a"])], None, TypeError, "chunk 0: edge values have type"),
        ([([0], [1]), ([0], [10**8])], None, ValueError, "ids go up to 100,000,000, and there are 2 edges; if ids are"),
    ],
)
def test_errors_name_the_chunk(chunks: Any, n: int | None, kind: type[Exception], text: str) -> None:
    ranks = ThreadRanks(2)
    with pytest.raises(kind, match=text):
        distributed.Graph.from_edges(chunks, n=n, ranks=ranks)
    assert distributed.Graph.from_edges([([0], [1])], ranks=ranks).n == 2, "ranks are ready for the next call"
    with pytest.raises(TypeError, match="weights were given without dst"):
        distributed.Graph.from_edges([([0], [1])], weights=[2], ranks=ranks)


def test_nothing_is_kept_of_chunks_after_an_error() -> None:
    ranks = ThreadRanks(2)
    with pytest.raises(ZeroDivisionError):
        distributed.Graph.from_edges(failing(), ranks=ranks)
    assert ranks.each(lambda rank: len(rank.kept)) == [0, 0]
