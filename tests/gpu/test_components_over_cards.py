"""Components over cards have the labels of one card and of SciPy. Ranks may share a card, so one card suffices here."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import distributed
from gasla.arrays import device_of
from gasla.cpu import primitive
from gasla.distributed.collectives import card_components, joint_primitives
from gasla.distributed.thread_ranks import ThreadRanks
from gasla.graph.adjacency import Adjacency
from tests.algorithms.components.test_connected import edge_lists, expected
from tests.distributed.test_ranks import SHAPES

pytestmark = pytest.mark.gpu


def ranks(size: int) -> ThreadRanks:
    """Ranks on all cards in turn."""
    import cupy

    return ThreadRanks(size, [rank % cupy.cuda.runtime.getDeviceCount() for rank in range(size)])


@pytest.fixture(autouse=True)
def not_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(joint_primitives, "label_components")
    monkeypatch.setattr(distributed.Graph, "one_card", False)


def check(graph: gasla.Graph, size: int) -> None:
    count, labels = expected(graph.n, *graph.edges())
    found = gasla.connected_components(distributed.Graph.from_graph(graph, ranks(size)))
    assert found.count == count and found.labels.dtype == graph.id_dtype
    np.testing.assert_array_equal(found.labels, labels)
    one = gasla.connected_components(graph.to("gpu"))
    assert np.asarray(found.labels).tobytes() == one.labels.get().tobytes()


def both_ways(src: Any, dst: Any, n: int | None = None) -> gasla.Graph:
    return gasla.Graph.from_edges(np.concatenate([src, dst]), np.concatenate([dst, src]), n=n)


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str, size: int) -> None:
    graph = SHAPES[name]
    check(graph, size)
    check(both_ways(*graph.edges(), graph.n), size)


@settings(max_examples=50, deadline=None)
@given(edge_lists(), st.integers(1, 6), st.booleans(), st.sampled_from([1, 256]))
def test_random_graphs(edges: tuple[int, np.ndarray, np.ndarray], size: int, symmetric: bool, sample: int) -> None:
    n, src, dst = edges
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(card_components, "SAMPLE", sample)
        check(both_ways(src, dst, n) if symmetric else gasla.Graph.from_edges(src, dst, n=n), size)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("degree", [0.3, 1.0, 8.0])
@pytest.mark.parametrize("size", [2, 3, 8])
def test_larger_graphs(size: int, degree: float, symmetric: bool) -> None:
    n, rng = 100_000, np.random.default_rng(7)
    src, dst = (n * rng.random((2, int(n * degree))) ** 2).astype(int)  # hubs among the first
    src, dst = rng.permutation(n)[np.stack([src, dst])]
    check(both_ways(src, dst, n) if symmetric else gasla.Graph.from_edges(src, dst, n=n), size)


@pytest.mark.parametrize("shape", [(3, 20_000), (20_000, 3), (300, 200)])
def test_grids_with_holes(shape: tuple[int, int]) -> None:
    ids = np.arange(shape[0] * shape[1]).reshape(shape)
    src = np.concatenate([ids[1:].ravel(), ids[:, 1:].ravel()])
    dst = np.concatenate([ids[:-1].ravel(), ids[:, :-1].ravel()])
    stay = np.random.default_rng(1).random(len(src)) < 0.5
    check(both_ways(src[stay], dst[stay], ids.size), 3)


@pytest.mark.parametrize("centre", [0, 50_000, 100_000])
def test_star_over_all_cards(centre: int) -> None:
    leaves = np.delete(np.arange(100_001), centre)
    check(both_ways(np.full_like(leaves, centre), leaves), 3)
    check(gasla.Graph.from_edges(leaves, np.full_like(leaves, centre)), 3)


@pytest.mark.parametrize("order", ["from rank to rank", "shuffled"])
def test_path(order: str) -> None:
    way = (
        np.arange(60_000).reshape(3, -1).T.ravel()
        if order == "from rank to rank"
        else np.random.default_rng(0).permutation(60_000)
    )
    check(both_ways(way[:-1], way[1:]), 3)


def test_labels_stay_on_the_cards_and_calls_repeat() -> None:
    rng = np.random.default_rng(2)
    graph = both_ways(*rng.integers(0, 5000, (2, 9000)), 5000)
    spread = distributed.Graph.from_graph(graph, ranks(2))
    first = gasla.connected_components(spread)
    again = gasla.connected_components(spread)
    assert first.count == again.count
    np.testing.assert_array_equal(first.labels, again.labels)
    kept = spread.ranks.each(lambda rank, key: device_of(rank.kept[key]["labels"]), again.labels.handle.key)
    assert kept == ["gpu", "gpu"]


@pytest.mark.sanitize
@pytest.mark.parametrize(("ids", "offsets"), [(np.int32, np.int32), (np.int32, np.int64), (np.int64, np.int64)])
@pytest.mark.parametrize("known", [None, 3])
def test_groups_are_linked_as_on_the_cpu(ids: type, offsets: type, known: int | None) -> None:
    """Lists that a thread, a warp and several warps walk."""
    import cupy

    from gasla.gpu import primitive as on_gpu

    rng, n = np.random.default_rng(3), 4000
    hubs = np.repeat([7, 2000, 3999], [40, 3000, 9000])
    src, dst = np.concatenate([rng.integers(0, n, 3000), hubs]), rng.integers(0, n, 3000 + len(hubs))
    lists = gasla.Graph.from_edges(src, dst, n=n).out
    for count in (1, 50, 3000):
        groups = rng.integers(0, count, n).astype(ids)
        groups[hubs] %= 3
        here = np.arange(count, dtype=ids)
        there = cupy.asarray(here)
        primitive.link_groups(Adjacency(lists.indptr, lists.indices), groups, here, known)
        given = Adjacency(cupy.asarray(lists.indptr.astype(offsets)), cupy.asarray(lists.indices.astype(ids)))
        on_gpu.link_groups(given, cupy.asarray(groups), there, known)
        for forest in (here, there):
            gasla.primitives.compress(forest)
        np.testing.assert_array_equal(there.get(), here)
