"""Samples of neighbors in layers and by weight: against plain Python, by chi-square tests, and hostile input."""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import gasla
import semirings
from gasla import datasets, verify
from gasla.graph.graph import Graph
from gasla.operations.sampling import NeighborSample
from tests.algorithms.walks.test_random_walks import graphs, likely, sampled, use_threads

Options = dict[str, Any]
OPTIONS: list[Options] = [
    {"direction": direction, "weighted": weighted, "replace": replace}
    for direction in ("out", "in")
    for weighted in (False, True)
    for replace in (False, True)
]
WEIGHTS = np.array([1.0, 2, 0, 4, 1, 8, 0.5])
STAR = Graph.from_edges(np.zeros(7, int), np.arange(1, 8), WEIGHTS)
PAIR = Graph.from_edges([0, 0], [1, 2], [1.0, -1.0])


def layers(graph: Graph, ids: list[int], k: list[int], seed: int, replace: bool) -> tuple[list[int], list[Any]]:
    """A sample of layers along out-edges by dicts: its vertices, and the ends of its edges by layer."""
    number, edges, begin = {v: i for i, v in enumerate(ids)}, list[Any](), 0
    for most in k:
        vertices, layer = list(number), []
        for i in range(begin, len(vertices)):
            row = sampled(graph, i, vertices[i], most, seed, replace)
            layer += [(i, number.setdefault(x, len(number))) for x in row if x >= 0]
        begin = len(vertices)
        edges.append(layer)
    return list(number), edges


@settings(max_examples=60, deadline=None)
@given(
    graphs(), st.integers(0, 2**64 - 1), st.booleans(), st.lists(st.integers(0, 4), min_size=1, max_size=3), st.data()
)
def test_layers_are_those_of_plain_draws(
    graph: Graph, seed: int, replace: bool, k: list[int], data: st.DataObject
) -> None:
    ids = data.draw(st.lists(st.integers(0, graph.n - 1), unique=True, max_size=5))
    found = gasla.sample_neighbors(graph, ids, k, seed=seed, replace=replace)
    vertices, edges = layers(graph, ids, k, seed, replace)
    assert found.vertices.tolist() == vertices and found.vertices.dtype == graph.id_dtype
    assert found.edge_counts == [len(layer) for layer in edges]
    assert found.edge_index.T.tolist() == [list(pair) for layer in edges for pair in layer]


@settings(max_examples=80, deadline=None)
@given(graphs(), st.sampled_from(OPTIONS), st.lists(st.integers(0, 4), min_size=1, max_size=3), st.data())
def test_samples_hold_what_the_verifier_checks(
    graph: Graph, options: Options, k: list[int], data: st.DataObject
) -> None:
    ids = data.draw(st.lists(st.integers(0, graph.n - 1), unique=True, max_size=5))
    verify.sample_neighbors(graph, ids, k, gasla.sample_neighbors(graph, ids, k, **options), **options)
    rows = gasla.sample_neighbors(graph, ids, k[0], **options)
    verify.sample_neighbors(graph, ids, k[0], rows, **options)
    back, other = graph.reversed(), options | {"direction": {"out": "in", "in": "out"}[options["direction"]]}
    again = gasla.sample_neighbors(back, ids, k[0], **other)
    assert [*map(sorted, rows.tolist())] == [*map(sorted, again.tolist())] or graph.out.edge_ids is not None


@pytest.mark.parametrize("reduce", ["mean", "sum", "max", "min"])
@pytest.mark.parametrize("kind", ["float32", "float64", "int8", "uint64", "bool"])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_a_block_aggregates_the_features_of_its_sources(reduce: Any, kind: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(7)
    graph = gasla.Graph.from_edges(rng.integers(0, 30, 90), rng.integers(0, 30, 90), n=32)
    sample = gasla.sample_neighbors(graph, [3, 31, 5], [4, 3], direction="in", replace=True, seed=2)
    for block in sample.blocks:
        x = rng.integers(0, 2 if kind == "bool" else 100, (block.sources, *shape)).astype(kind)
        found = block.aggregate(x, reduce)
        src, dst = block.edge_index
        assert found.shape == (block.destinations, *shape)
        for v in range(block.destinations):
            rows = x[src[dst == v]]
            rows = rows if kind == "uint64" or x.dtype.kind == "f" else rows.astype(np.int64)
            right = getattr(rows, reduce)(axis=0) if len(rows) else np.zeros(shape)
            np.testing.assert_allclose(found[v], right, rtol=1e-6)
        if x.dtype.kind == "f" or reduce in ("max", "min"):
            assert found.dtype == x.dtype


def test_features_of_another_shape_are_refused() -> None:
    block = gasla.sample_neighbors(gasla.Graph.from_edges([0], [1]), [1], [2], direction="in").blocks[0]
    assert (block.sources, block.destinations) == (2, 1)
    for wrong in (np.zeros(3), np.zeros((2, 1, 1)), np.array(["a", "b"])):
        with pytest.raises(ValueError, match=r"features have type .*; expected numbers of shape \(2,\) or \(2, k\)"):
            block.aggregate(wrong)
    learned = np.zeros(2).view(type("Tensor", (np.ndarray,), {"requires_grad": True}))
    with pytest.raises(TypeError, match=r"require a gradient, .* expected features\.detach\(\)"):
        block.aggregate(learned)
    with pytest.raises(ValueError, match="reduce is 'median'"):
        block.aggregate(np.zeros(2), "median")  # type: ignore[arg-type]
    lonely = gasla.sample_neighbors(gasla.Graph.from_edges([0], [1]), [0], [2], direction="in").blocks[0]
    assert lonely.aggregate(np.ones((1, 2)), "max").tolist() == [[0, 0]]


def test_one_layer_draws_the_edges_of_one_number() -> None:
    graph, ids = Graph(datasets.rmat(8)), np.arange(40)
    rows = gasla.sample_neighbors(graph, ids, 5, seed=4)
    layer = gasla.sample_neighbors(graph, ids, [5], seed=4)
    np.testing.assert_array_equal(layer.vertices[layer.edge_index[1]], rows[rows >= 0])


@pytest.mark.parametrize("options", OPTIONS)
def test_any_number_of_threads(options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph(datasets.rmat(9))
    graph = graph.with_values(np.random.default_rng(2).integers(0, 3, graph.m).astype(np.float32))
    ids = np.random.default_rng(1).permutation(graph.n)[:200]
    expected = gasla.sample_neighbors(graph, ids, [5, 3], seed=7, **options)
    use_threads(monkeypatch, 2)
    for one, other in zip(gasla.sample_neighbors(graph, ids, [5, 3], seed=7, **options), expected):
        np.testing.assert_array_equal(one, other)


def in_order(weights: np.ndarray, k: int) -> dict[tuple[int, ...], float]:
    """The probability of each set of k positions, drawn one after the other by weight."""
    chances = dict[tuple[int, ...], float]()
    for order in permutations(np.flatnonzero(weights), k):
        rest, chance = weights.sum(), 1.0
        for i in order:
            chance, rest = chance * weights[i] / rest, rest - weights[i]
        chances[tuple(sorted(order))] = chances.get(tuple(sorted(order)), 0) + chance
    return chances


@pytest.mark.parametrize("heavy", [1.0, 1e6])  # with 1e6, nearly all draws repeat, and the others are weighed
def test_draws_by_weight_without_replacement_are_fair(heavy: float) -> None:
    weights = WEIGHTS.copy()
    weights[5] *= heavy
    graph = STAR.with_values(weights)
    found = gasla.sample_neighbors(graph, np.zeros(20_000, int), 3, weighted=True, seed=3)
    chances = in_order(weights, 3)
    sets, counts = np.unique(np.sort(found - 1, axis=1), axis=0, return_counts=True)
    assert {tuple(row) for row in sets.tolist()} <= chances.keys()
    seen = dict(zip(map(tuple, sets.tolist()), counts.tolist()))
    some = [chosen for chosen, chance in chances.items() if chance * 20_000 > 5]
    wanted = np.array([chances[chosen] for chosen in some])
    counted = np.array([seen.get(chosen, 0) for chosen in some])
    assert chisquare(counted, counted.sum() * wanted / wanted.sum()).pvalue > 1e-3


def test_draws_by_weight_with_replacement_are_fair() -> None:
    found = gasla.sample_neighbors(STAR, np.zeros(9000, int), 3, weighted=True, replace=True, seed=5)
    assert likely(np.bincount(found.ravel(), minlength=8), np.append(0, WEIGHTS))


def test_layers_are_fair() -> None:
    """Of second layers, and with the vertex's own number as the row: sets of draws are equally likely."""
    hubs = np.arange(1, 2001)
    graph = Graph.from_edges(
        np.concatenate([np.zeros(2000, int), np.repeat(hubs, 5)]),
        np.concatenate([hubs, np.tile(np.arange(2001, 2006), 2000)]),
    )
    found = gasla.sample_neighbors(graph, [0], [2000, 2], seed=8)
    second = found.vertices[found.edge_index[1, 2000:]].reshape(-1, 2) - 2001
    counts = np.unique(np.sort(second, axis=1), axis=0, return_counts=True)[1]
    assert len(counts) == 10 and chisquare(counts).pvalue > 1e-3


def test_all_neighbors_come_where_k_is_large() -> None:
    graph = Graph(datasets.rmat(7))
    found = gasla.sample_neighbors(graph, np.arange(graph.n), [graph.m], direction="in")
    assert np.array_equal(np.sort(found.edge_ids), np.arange(graph.m))
    rows = gasla.sample_neighbors(STAR, [0], 99, weighted=True)
    assert rows[0, :7].tolist() == [1, 2, 4, 5, 6, 7, -1]
    assert sorted(gasla.sample_neighbors(STAR, [0], 6, weighted=True)[0].tolist()) == [1, 2, 4, 5, 6, 7]


def test_blocks_are_the_layers_of_message_passing() -> None:
    """Sums over blocks, from the outermost, are those by whole matrices for the given vertices."""
    graph = Graph(datasets.rmat(6))
    found = gasla.sample_neighbors(graph, [3, 1, 7], [graph.m, graph.m], direction="in")
    x = np.random.default_rng(0).random(graph.n)
    wanted = gasla.vxm(gasla.vxm(x, graph, semirings.plus_first), graph, semirings.plus_first)[[3, 1, 7]]
    h = x[found.vertices]
    for block in found.blocks:
        assert len(h) == block.sources
        source, target = block.edge_index
        h = np.bincount(target, h[source], block.destinations)
        np.testing.assert_array_equal(block.edge_ids, found.edge_ids[: len(source)])
    np.testing.assert_allclose(h, wanted)


def test_hard_shapes_have_defined_samples() -> None:
    empty = gasla.sample_neighbors(Graph.from_edges([], [], n=0), [], [3, 2])
    assert empty.vertices.shape == (0,) and empty.edge_index.shape == (2, 0) and empty.vertex_counts == [0, 0, 0]
    none = gasla.sample_neighbors(STAR, [0, 4], [0, 9])
    assert none.vertices.tolist() == [0, 4] and none.edge_counts == [0, 0] and none.edge_ids.dtype == np.int64
    loop = gasla.sample_neighbors(Graph.from_edges([0, 0, 0], [0, 0, 1]), [0], (3, 1))
    assert loop.vertices.tolist() == [0, 1] and loop.edge_index.tolist() == [[0, 0, 0], [0, 0, 1]]
    weightless = Graph.from_edges([0, 0], [1, 2], [0.0, 0.0])
    for replace in (False, True):
        assert gasla.sample_neighbors(weightless, [0], [4], weighted=True, replace=replace).edge_counts == [0]
        assert gasla.sample_neighbors(weightless, [0], 2, weighted=True, replace=replace).tolist() == [[-1, -1]]
    wide = gasla.sample_neighbors(Graph.from_csr(np.array([0, 1, 2]), np.array([1, 0])), np.array([1], np.uint8), [2])
    assert wide.vertices.tolist() == [1, 0] and wide.vertices.dtype == np.int32


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: gasla.sample_neighbors(STAR, [0], [2, -1]), ValueError, r"k\[1\] is -1; .*for all neighbors give a"),
        (lambda: gasla.sample_neighbors(STAR, [0], [2, -5]), ValueError, r"k\[1\] is -5; expected 0 or more"),
        (lambda: gasla.sample_neighbors(STAR, [0], [2.5]), TypeError, r"k\[0\] is 2.5; expected a whole number"),
        (
            lambda: gasla.sample_neighbors(STAR, [0], []),
            ValueError,
            "k is empty; expected a number of neighbors for ea",
        ),
        (lambda: gasla.sample_neighbors(STAR, [0], "9"), TypeError, "k is '9'; expected a whole number"),
        (lambda: gasla.sample_neighbors(STAR, [3, 0, 3], [2]), ValueError, "ids has vertex 3 twice; expected distinct"),
        (lambda: gasla.sample_neighbors(STAR, [8], [2]), ValueError, "ids has vertex 8, outside a graph of 8 vertices"),
        (lambda: gasla.sample_neighbors(STAR, [0], 2, direction="all"), ValueError, "direction is 'all'; expected one"),
        (lambda: gasla.sample_neighbors(PAIR, [0], 2, weighted=True), ValueError, "the weight of edge 1 is -1.0"),
        (
            lambda: gasla.sample_neighbors(STAR, [0], 2**60),
            MemoryError,
            "the sample has .* expected fewer: a smaller k",
        ),
        (lambda: gasla.random_walks(STAR, [0], 2**60), MemoryError, "the walks have .* expected fewer: fewer steps"),
        (lambda: gasla.top_k_similar(STAR, 2**60), MemoryError, "the result has .* expected fewer: a smaller k"),
        (
            lambda: gasla.sample_neighbors(STAR, [0], [2**61], replace=True),
            MemoryError,
            "the sample has .* entries, which take .* expected fewer: a smaller number in k, or fewer ids",
        ),
        (
            lambda: gasla.sample_neighbors(
                Graph.from_edges([0, 2], [1, 1], [1e308, 1e308]), [1], 1, weighted=True, direction="in"
            ),
            ValueError,
            "the weights of the in-edges of vertex 1 add up to infinity",
        ),
    ],
)
def test_errors_say_what_is_wrong(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


RIGHT = NeighborSample(np.array([0, 6, 2]), np.array([[0, 0], [1, 2]]), np.array([5, 1]), [1, 2], [2])
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"vertices": np.array([0, 6, 6])}, "not distinct"),
    ({"vertices": np.array([0, 6, 9])}, "vertex 2 of the sample is 9; expected 0 to 7"),
    ({"edge_index": np.array([[0, 0], [1, 3]])}, "edge 1 of the sample has an end that is no vertex"),
    ({"edge_index": np.array([[0, 0], [2, 1]])}, "the target of edge 0 of the sample is not that of edge 5"),
    ({"edge_ids": np.array([5, 7])}, "edge id 7 is outside 7 edges"),
    ({"edge_ids": np.array([5])}, "the sample has 3 vertices, 1 edge ids"),
    ({"vertex_counts": [1, 1]}, "the sample has 3 vertices"),
    ({"edge_counts": [1, 1]}, "edges by layer; expected 1"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_the_verifier_of_layers_tells(change: dict[str, Any], message: str) -> None:
    verify.sample_neighbors(STAR, [0], [2], RIGHT)
    with pytest.raises(verify.VerificationError, match=message):
        verify.sample_neighbors(STAR, [0], [2], RIGHT._replace(**change))


def test_the_verifier_of_layers_tells_counts_repeats_weights_and_numbers() -> None:
    with pytest.raises(verify.VerificationError, match="layer 0 has other numbers of edges per vertex"):
        verify.sample_neighbors(STAR, [0], [3], RIGHT)
    twice = RIGHT._replace(vertices=np.array([0, 6]), edge_index=np.array([[0, 0], [1, 1]]), vertex_counts=[1, 1])
    twice = twice._replace(edge_ids=np.array([5, 5]))
    verify.sample_neighbors(STAR, [0], [2], twice, replace=True)
    with pytest.raises(verify.VerificationError, match="an edge was drawn twice"):
        verify.sample_neighbors(STAR, [0], [2], twice)
    light = RIGHT._replace(vertices=np.array([0, 6, 3]), edge_ids=np.array([5, 2]))
    with pytest.raises(verify.VerificationError, match="edge 2 was drawn, of weight 0"):
        verify.sample_neighbors(STAR, [0], [2], light, weighted=True)
    swapped = RIGHT._replace(edge_index=np.array([[0, 0], [2, 1]]), edge_ids=np.array([1, 5]))
    with pytest.raises(verify.VerificationError, match="not numbered by their first appearance"):
        verify.sample_neighbors(STAR, [0], [2], swapped)


@pytest.mark.gpu
@pytest.mark.parametrize("options", OPTIONS)
def test_gpu_gives_the_same(options: Options) -> None:
    graph = Graph(datasets.rmat(9))
    graph = graph.with_values(np.random.default_rng(2).integers(0, 3, graph.m).astype(np.float32))
    expected = gasla.sample_neighbors(graph, np.arange(50), [5, 3], seed=7, **options)
    found = gasla.sample_neighbors(graph.to("gpu"), np.arange(50), [5, 3], seed=7, **options)
    for one, other in zip(found[:3], expected[:3]):
        np.testing.assert_array_equal(one.get(), other)
    assert found[3:] == expected[3:]
