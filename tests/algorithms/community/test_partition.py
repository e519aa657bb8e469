"""Partitions are balanced, count their cuts as NumPy does, and cut little: beside brute force, blocks and chance."""

from itertools import product
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
import semirings
from gasla import Graph, distributed, primitives, verify
from gasla.algorithms.community.balanced_partition import PartitionResult
from tests.algorithms.community.test_edge_support import HARD, on
from tests.helpers.law import ALL_SPLIT, SHARED, VERIFIED, Answer, Array, Asked, Law, Row
from tests.helpers.mutants import ALL, Question, Questions, Small
from tests.helpers.mutants import Asked as Questioned


def divided(**options: Any) -> Any:
    def call(q: Asked) -> Answer:
        found = gasla.partition(q.given, 3, **options)
        options.pop("objective", None)
        q.check(lambda graph, *parts: verify.partition(graph, *parts, 3, **options), *found)
        return {"parts": len(np.unique(found.labels))}

    return call


ZERO = Law("an edge of weight 0: verified", lambda before, then, now: {}, "set")
LAWS = [
    Row("partition", divided(), weights=True, gpu=False, zeros=ZERO, split=SHARED, isolated=VERIFIED),
    Row("partition", divided(weighted=False), "weighted=False", gpu=False, split=ALL_SPLIT, isolated=VERIFIED),
]  # fmt: skip


def cut_of(dense: Array, labels: Array) -> float:
    """The weight between parts in a matrix of weights, read as undirected."""
    both = dense if np.array_equal(dense, dense.T) else dense + dense.T
    return float(both[labels[:, None] != labels].sum() / 2)


def volume_of(joined: Array, labels: Array) -> int:
    return sum(len({*labels[near].tolist()} - {own}) for near, own in zip(joined, labels.tolist(), strict=True))


def parts(g: Small) -> Questioned:
    """The question to the verifier: with k = 3 and a tolerance of 0.2, of weights of vertices as well."""
    each = np.arange(g.n) % 3 + 1.0
    for weights in (None, each):
        labels = np.arange(g.n) % 3 if weights is None else np.arange(g.n) * 3 // g.n
        loads = np.ones(g.n) if weights is None else each

        def is_right(labels: Array, cut: float, volume: int, loads: Array = loads) -> bool:
            if labels.shape != (g.n,) or labels.dtype.kind not in "iu" or {*labels.tolist()} != {0, 1, 2}:
                return False
            mean = loads.sum() / 3
            most = max(1.2 * mean, mean + 2 / 3 * loads.max())
            right = cut_of(g.dense, labels), volume_of(g.joined, labels)
            return bool(np.bincount(labels, loads).max() <= most + 1e-9 and np.allclose((cut, volume), right))

        answer = {"labels": labels, "cut": cut_of(g.dense, labels), "volume": volume_of(g.joined, labels)}
        if is_right(**answer):
            yield Question(
                lambda weights=weights, **parts: verify.partition(
                    g.matrix, **parts, k=3, node_weights=weights, tolerance=0.2
                ),
                answer,
                is_right,
            )


QUESTIONS: Questions = {"partition": (parts, ALL)}


def check(graph: Any, k: int, **options: Any) -> PartitionResult:
    found = gasla.partition(graph, k, **options)
    options = {name: given for name, given in options.items() if name not in ("objective", "seed")}
    verify.partition(graph, *found, k, **options)
    assert found.labels.dtype == gasla.as_graph(graph).id_dtype
    return found


@pytest.mark.parametrize("objective", ["cut", "volume"])
@pytest.mark.parametrize("shape", HARD)
def test_hard_shapes(shape: str, objective: Any) -> None:
    graph = on("cpu", HARD[shape])
    for k in (1, 2, 3, max(graph.n - 1, 1), graph.n + 2):
        for tolerance in (0, 0.5):
            check(graph, k, objective=objective, tolerance=tolerance)
            check(graph, k, node_weights=np.arange(graph.n) % 4, tolerance=tolerance)


SEEDS = st.integers(0, 10**6)


def brute_force(graph: Graph, k: int, weights: Array, by_volume: bool, tolerance: float = 0.03) -> float:
    """The least cut or volume of all balanced partitions into k parts."""
    src, dst = graph.edges()
    dense = np.zeros((graph.n, graph.n))
    np.add.at(dense, (src, dst), 1 if graph.values is None else graph.values)
    np.fill_diagonal(dense, 0)
    joined, mean = (dense + dense.T) > 0, weights.sum() / k
    most, best = max((1 + tolerance) * mean, mean + (1 - 1 / k) * weights.max()), np.inf
    for rest in product(range(k), repeat=graph.n - 1):
        labels = np.array([0, *rest])
        if np.bincount(labels, weights, k).max() <= most * (1 + 1e-12) and len({*rest, 0}) == k:
            best = min(best, volume_of(joined, labels) if by_volume else cut_of(dense, labels))
    return best


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 8), st.integers(2, 3), st.floats(0.2, 0.9), st.booleans(), st.integers(0, 10**6))
def test_small_graphs_are_cut_nearly_as_little_as_possible(
    n: int, k: int, density: float, heavy: bool, seed: int
) -> None:
    random = np.random.default_rng(seed)
    src, dst = np.nonzero(np.triu(random.random((n, n)) < density, 1))
    graph = Graph.from_edges(src, dst, random.integers(1, 4, len(src)), n=n)
    weights = random.integers(1, 4, n).astype(float) if heavy else np.ones(n)
    found = check(graph, k, node_weights=weights, seed=seed)
    assert found.cut <= 1.5 * brute_force(graph, k, weights, False) + 2
    if n > k:
        volume = check(graph, k, node_weights=weights, objective="volume", seed=seed).volume
        assert volume <= 1.5 * brute_force(graph, k, weights, True) + 3


@settings(max_examples=40, deadline=None)
@given(
    st.integers(4, 8), st.integers(2, 3), st.floats(0.2, 0.9), st.sampled_from([0.03, 1.0, 3.0]), st.booleans(), SEEDS
)
def test_small_graphs_are_cut_little_within_loose_limits(
    n: int, k: int, density: float, tolerance: float, heavy: bool, seed: int
) -> None:
    random = np.random.default_rng(seed)
    src, dst = np.nonzero(np.triu(random.random((n, n)) < density, 1))
    graph = Graph.from_edges(src, dst, random.integers(1, 4, len(src)), n=n)
    weights = np.ones(n)
    weights[0] = 5.0 if heavy else 1.0
    found = check(graph, k, node_weights=weights, tolerance=tolerance, seed=seed)
    assert found.cut <= 1.5 * brute_force(graph, k, weights, False, tolerance) + 2


@pytest.mark.parametrize("heavy", [1, 50, 1000])
@pytest.mark.parametrize("tolerance", [0.03, 0.3, 1, 3, 10])
def test_no_part_of_cliques_is_emptied_where_limits_are_loose(tolerance: float, heavy: int) -> None:
    for count, size in ((4, 40), (7, 12)):
        G = nx.disjoint_union_all([nx.complete_graph(size)] * count)
        G.add_edges_from((size * i, size * i + size) for i in range(count - 1))
        weights = np.ones(count * size)
        weights[5] = heavy
        for seed in range(3):
            found = check(Graph.from_networkx(G), count, node_weights=weights, tolerance=tolerance, seed=seed)
            assert found.cut == count - 1


def test_halves_have_enough_vertices_for_their_parts() -> None:
    """Vertices of weight 0 gather in few groups; no part is empty all the same, and few edges are cut."""
    path = Graph.from_edges(np.arange(999), np.arange(1, 1000))
    for weights in (np.arange(1000) < 2, np.where(np.arange(1000) == 7, 1e9, 1), np.zeros(1000)):
        for k in (3, 20, 60):
            assert check(path, k, node_weights=weights).cut <= 2 * k
        check(path, 990, node_weights=weights)


def test_components_and_planted_blocks_are_not_cut() -> None:
    apart = Graph.from_networkx(nx.disjoint_union_all([nx.complete_graph(6)] * 4))
    assert check(apart, 4)[1:] == (0.0, 0) and check(apart, 2)[1:] == (0.0, 0)
    for size in (30, 300):  # of one level, and of several
        G = nx.planted_partition_graph(4, size, 30 / size, 1 / size, seed=2)
        graph = Graph.from_networkx(G)
        planted = np.arange(4 * size) // size
        found = check(graph, 4)
        assert found.cut <= 1.02 * cut_of(nx.to_numpy_array(G), planted)
        assert gasla.compare_partitions(found.labels, planted).nmi > 0.9
    heavy = Graph.from_networkx(nx.complete_graph(12))
    src, dst = heavy.edges()
    heavy = heavy.with_values(np.where(src // 4 == dst // 4, 9.0, 1.0))  # only weights tell the blocks
    assert check(heavy, 3).cut == 48 and len(np.unique(check(heavy, 3).labels[:4])) == 1


@pytest.mark.parametrize("k", [2, 5, 16])
def test_cuts_are_far_below_those_of_random_balanced_labels(k: int) -> None:
    for graph in (gasla.datasets.grid(12), gasla.datasets.rgg(12), gasla.datasets.rmat(10)):
        graph = gasla.as_graph(graph).with_values(None)
        labels = np.random.default_rng(0).permutation(graph.n) % k
        src, dst = graph.edges()
        by_chance = (labels[src] != labels[dst]).sum() / 2
        found = check(graph, k, seed=1)
        assert found.cut <= (0.9 if graph.max_out_degree > 100 else 0.25) * by_chance
        volume = check(graph, k, seed=1, objective="volume").volume
        assert volume < found.volume or (k == 2 and volume == found.volume)


def test_a_grid_is_cut_about_as_by_lines() -> None:
    side = 60
    i = np.arange(side * side).reshape(side, side)
    ends = np.r_[i[:, :-1].ravel(), i[:-1].ravel()], np.r_[i[:, 1:].ravel(), i[1:].ravel()]
    graph = Graph.from_edges(*ends)
    assert min(check(graph, 2, seed=seed).cut for seed in range(3)) <= 1.15 * side
    assert min(check(graph, 4, seed=seed).cut for seed in range(3)) <= 1.25 * 2 * side


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 9), st.sampled_from([0.0, 0.03, 0.3]))
def test_balance_with_heavy_vertices(seed: int, k: int, tolerance: float) -> None:
    random = np.random.default_rng(seed)
    graph = Graph.from_networkx(nx.gnm_random_graph(300, 900, seed=seed % 7))
    for weights in (random.pareto(1.1, 300), np.where(np.arange(300) < 2, 1e6, 1.0), random.random(300) < 0.03):
        check(graph, k, node_weights=weights, tolerance=tolerance)
    by_name = gasla.partition(graph, k, node_weights={3: 2.0, 5: 2}, tolerance=tolerance)
    verify.partition(graph, *by_name, k, node_weights={3: 2.0, 5: 2}, tolerance=tolerance)
    assert by_name.labels[3] != by_name.labels[5]


def test_the_same_seed_gives_the_same_labels() -> None:
    graph = gasla.as_graph(gasla.datasets.rgg(12))
    one, same, other = (gasla.partition(graph, 6, seed=seed).labels for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_scaled_weights_give_the_same_parts() -> None:
    graph = gasla.as_graph(gasla.datasets.rgg(10))
    one = gasla.partition(graph, 5)
    for factor in (2.0**-300, 2.0**900):
        other = gasla.partition(
            graph.with_values(graph.values.astype(float) * factor), 5, node_weights=np.full(graph.n, factor)
        )
        np.testing.assert_array_equal(other.labels, one.labels)
        assert other.cut == one.cut * factor and other.volume == one.volume


def test_the_verifier_compares_a_small_cut_with_itself_and_not_with_all_weights() -> None:
    triangles = [0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3]
    labels = np.array([0, 0, 0, 1, 1, 1])
    for heavy, least in ((1.0, 1e-20), (1e300, 1.0), (1e308, 1e-300), (2.0**-1000, 2.0**-1074)):
        for both in (False, True):
            graph = Graph.from_edges(*triangles, [heavy] * 6 + [least])
            graph = graph.symmetrized(semirings.max) if both else graph
            verify.partition(graph, labels, least, 2, 2)
            for wrong in (0.0, 2 * least, least * (1 + 1e-4) if least > 1e-300 else np.nan, np.inf, -least):
                with pytest.raises(verify.VerificationError, match="the cut is"):
                    verify.partition(graph, labels, wrong, 2, 2)
    verify.partition(Graph.from_edges(*triangles), labels, 1.0, 2, 2, weighted=False)
    huge = Graph.from_edges([0, 1], [2, 3], [1.5e308] * 2)
    verify.partition(huge, [0, 0, 1, 1], np.inf, 4, 2)
    with pytest.raises(verify.VerificationError, match="the cut is inf"):
        verify.partition(huge, [0, 0, 1, 1], 1.5e308, 4, 2)


@settings(max_examples=60, deadline=None)
@given(st.integers(6, 30), st.integers(2, 4), SEEDS)
def test_parallel_edges_never_raise_the_volume(n: int, k: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    src, dst = random.integers(0, n, (2, 2 * n))
    often = random.choice([1, 1, 9], len(src))
    graph = Graph.from_edges(np.repeat(src, often), np.repeat(dst, often), np.repeat(1 / often, often), n=n)
    for each in (
        graph,
        Graph.from_edges(*np.hstack([graph.edges(), graph.edges()[::-1]]), np.tile(graph.values, 2), n),
    ):
        cut, volume = (check(each, k, objective=o, seed=seed, tolerance=0.2).volume for o in ("cut", "volume"))
        assert volume <= cut


def test_the_cut_is_the_sum_of_the_given_weights() -> None:
    triangles = [0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3]
    for each, right in (
        ([1e300] * 3 + [1] * 4, 1.0),
        ([1] * 6 + [1e-20], 1e-20),
        ([1] * 6 + [1e-320], 1e-320),
        ([1e300] * 6 + [1e-320], 1e-320),
        ([2.0**-1000] * 6 + [2.0**-1074], 2.0**-1074),
        ([0.1] * 7, 0.1),
        ([3.0] * 6 + [0.1], 0.1),
    ):
        graph = Graph.from_edges(*triangles, np.array(each, np.float64))
        assert check(graph, 2).cut == right
        assert check(graph.symmetrized(semirings.max), 2).cut == right
    assert gasla.partition(Graph.from_edges([0, 1], [1, 0], [1.5e308] * 2), 2).cut == 1.5e308
    assert gasla.partition(Graph.from_edges([0, 1], [1, 2], [1.5e308] * 2), 3).cut == np.inf


def test_a_weight_far_below_the_sum_still_counts_in_the_search() -> None:
    path = Graph.from_edges([0, 1, 2], [1, 2, 3], [1e200, 1e-200, 1e200])
    labels, cut, _ = primitives.balanced_parts(path.symmetrized(semirings.max), 2)
    assert cut == 1e-200 and labels[0] == labels[1] != labels[2] == labels[3]
    pairs = Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3], [1e-200, 0.0, 0.0, 1e-200]).symmetrized(semirings.max)
    big = np.r_[pairs.values, 1e200]
    loop = Graph.from_edges(np.r_[pairs.edges()[0], 0], np.r_[pairs.edges()[1], 0], big)
    assert primitives.balanced_parts(loop, 2)[1] == 0


def test_the_primitive_takes_a_matrix_and_refuses_what_the_function_refuses() -> None:
    matrix = nx.to_scipy_sparse_array(nx.karate_club_graph(), weight=None)
    labels, cut, volume = primitives.balanced_parts(matrix, 4)
    verify.partition(matrix, labels, cut, volume, 4)
    with pytest.raises(ValueError, match=r"a weight is -1\.0; expected weights of 0 or more"):
        primitives.balanced_parts(-matrix, 2)
    with pytest.raises(ValueError, match="k is 0; expected 1 to 16777216"):
        primitives.balanced_parts(matrix, 0)
    with pytest.raises(ValueError, match=r"k is 16777217; expected .*16777216"):
        primitives.balanced_parts(matrix, 2**24 + 1)
    assert primitives.balanced_parts(matrix, 2**24)[0].tolist() == list(range(34))
    for ends, values in ((([0, 1], [1, 2]), None), (([0, 1], [1, 0]), [1.0, 2.0])):
        with pytest.raises(
            ValueError, match="an edge has no reverse edge of the same value; expected a graph with sym"
        ):
            primitives.balanced_parts(Graph.from_edges(*ends, values), 2)


def test_parallel_edges_whose_sums_are_rounded_are_not_refused() -> None:
    random = np.random.default_rng(0)
    src, dst = random.integers(0, 6, (2, 300))
    check(Graph.from_edges(src, dst, random.random(300)), 3)


def test_what_is_refused() -> None:
    path = Graph.from_edges([0, 1, 2], [1, 2, 3], [1.0, 2.0, 3.0])
    for options, words in (
        ({"k": 0}, "k is 0; expected 1 to 16777216"),
        ({"k": 2, "objective": "edges"}, "objective is 'edges'; expected one of 'cut', 'volume'"),
        ({"k": 2, "tolerance": -0.1}, r"tolerance is -0\.1; expected a number"),
        (
            {"k": 2, "node_weights": [1, 2, -3, 4]},
            r"node_weights of vertex 2 is -3\.0; expected a finite number, 0 or more",
        ),
        ({"k": 2, "node_weights": [1, 2]}, r"node_weights has shape \(2,\); expected \(4,\)"),
        ({"k": 2, "node_weights": [1e308] * 4}, "node_weights sum to infinity"),
        ({"k": 2, "seed": -1}, "seed is -1"),
    ):
        with pytest.raises(ValueError, match=words):
            gasla.partition(path, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="-1"):
        gasla.partition(path.with_values(np.array([1.0, -1.0, 1.0])), 2)
    spread = distributed.Graph.from_graph(path, distributed.ThreadRanks(2))
    with pytest.raises(TypeError, match="partition"):
        gasla.partition(spread, 2)


def test_a_graph_on_a_gpu_is_refused_by_name() -> None:
    class Far(Graph):
        engine = "gpu"  # type: ignore[assignment]

    with pytest.raises(TypeError, match=r"partition takes a graph in host memory, and this one is on the gpu"):
        gasla.partition(Far.from_edges([0], [1]), 2)
