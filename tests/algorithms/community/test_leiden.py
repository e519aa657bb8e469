"""Communities with each option: verified, compared with igraph, on hard shapes and planted groups."""

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from benchmarks.communities import by_igraph, planted
from gasla import Graph, verify
from gasla.cli.compute import on_host
from gasla.verify import VerificationError
from tests.gpu.test_graph import sent
from tests.helpers.law import ALL_SPLIT, NO_EDGE, SHARED, VERIFIED, Answer, Array, Row
from tests.helpers.law import Asked as Changed
from tests.helpers.mutants import Asked, Question, Questions, Small

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]
FINDERS = [gasla.leiden_communities, gasla.louvain_communities]


# --- laws, and questions to the verifier -----------------------------------------------------------------------------


def found_by(**options: Any) -> Callable[[Changed], Answer]:
    def call(q: Changed) -> Answer:
        found = gasla.leiden_communities(q.given, **options)
        q.check(verify.leiden_communities, found.labels, **told(options))
        return {"parts": q.groups(found.labels)}

    return call


def told(options: dict[str, Any]) -> dict[str, Any]:
    """What a verifier has to know."""
    return {name: x for name, x in options.items() if name != "iterations"}


ANOTHER: dict[str, Any] = {"isolated": VERIFIED, "renamed": VERIFIED, "engines": VERIFIED}
WEIGHED: dict[str, Any] = {"weights": True, "zeros": NO_EDGE, "split": SHARED, **ANOTHER}
LAWS = [
    Row("leiden_communities", found_by(), **WEIGHED),
    Row("leiden_communities", found_by(iterations=3, min_size=2), "iterations=3, min_size=2", **WEIGHED),
    Row("leiden_communities", found_by(weighted=False, max_size=3), "weighted=False, max_size=3", gpu=False,
        split=ALL_SPLIT, **ANOTHER),
    Row("leiden_communities", found_by(directed=True), "directed=True", gpu=False, **WEIGHED),
]  # fmt: skip


def score(g: Small, labels: Array, directed: bool) -> float:
    same = labels[:, None] == labels
    both = g.dense if directed else (g.dense + g.dense.T) / 2
    expected = np.outer(both.sum(axis=1), both.sum(axis=0)) / both.sum()
    return float(((both - expected) * same).sum() / both.sum())


def are_connected(g: Small, labels: Array) -> bool:
    return all(nx.is_connected(g.simple.subgraph(np.flatnonzero(labels == c).tolist())) for c in np.unique(labels))


def communities(g: Small) -> Asked:
    for directed in (False, True):

        def is_right(labels: Array, directed: bool = directed) -> bool:
            first = np.unique(labels, return_index=True)[1] if labels.shape == (g.n,) else np.zeros(0, int)
            is_numbered = labels.shape == (g.n,) and labels[np.sort(first)].tolist() == list(range(len(first)))
            least = score(g, np.arange(g.n), directed) - 1e-9
            return is_numbered and are_connected(g, labels) and score(g, labels, directed) >= least

        groups = nx.community.louvain_communities(nx.from_numpy_array((g.dense + g.dense.T) / 2), seed=1)
        pieces = [piece for group in groups for piece in nx.connected_components(g.simple.subgraph(group))]
        labels = np.zeros(g.n, int)
        for number, piece in enumerate(sorted(pieces, key=min)):
            labels[[*piece]] = number
        assert is_right(labels)

        def ask(labels: Array, directed: bool = directed) -> None:
            verify.leiden_communities(g.matrix, labels, directed=directed)

        yield Question(ask, {"labels": labels}, is_right)


QUESTIONS: Questions = {"leiden_communities": (communities, ("directed", "undirected", "islands", "star"))}


def test_the_verifier_says_what_is_not_kept() -> None:
    path = Graph.from_edges([0, 1, 2], [1, 2, 3]).symmetrized()
    for labels, options, message in [
        ([0, 0, 1, 1], {"max_size": 1}, "community 0 has 2 vertices; expected 1 at most"),
        ([0, 0, 0, 1], {"max_size": [1, 2]}, "community 0 has 3 vertices; expected 2 at most"),
        ([0, 0, 1, 1], {"fixed": [True, True, False, False]}, "fixed vertices 0 and 1 were apart, and are together"),
        (
            [0, 0, 1, 1],
            {"fixed": [False, True, True, False], "start": [0, 1, 1, 2]},
            "fixed vertices 1 and 2 were together, and are apart",
        ),
        ([0, 1, 2, 3], {"start": [0, 0, 1, 1]}, "as of the start"),
        ([0, 0, 0, 0], {"quality": "cpm", "resolution": 2}, "the quality is .*, as of single vertices"),
        ([0, 1, 1, 0], {"quality": "cpm", "resolution": 0}, "vertex 3 is apart"),
    ]:
        with pytest.raises(VerificationError, match=message):
            verify.leiden_communities(path, labels, **options)


# --- graphs ----------------------------------------------------------------------------------------------------------


def ring_of_cliques(cliques: int = 30, size: int = 5) -> Graph:
    return Graph(sp.csr_array(nx.to_scipy_sparse_array(nx.ring_of_cliques(cliques, size), dtype=np.float64)))


# --- quality ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mixing", [0.2, pytest.param(0.4, marks=pytest.mark.thorough)])
def test_modularity_and_groups_are_found_as_well_as_by_igraph(mixing: float) -> None:
    ours, theirs = [], []
    for seed in range(3):
        A, group = planted(600, mixing, seed)
        found = gasla.leiden_communities(A, seed=seed, iterations=2)
        verify.leiden_communities(A, found.labels)
        for scores, labels in ((ours, found.labels), (theirs, by_igraph(A, seed, n_iterations=2))):
            scores.append([gasla.modularity(A, labels), gasla.compare_partitions(labels, group).nmi])
    (modularity, nmi), (their_modularity, their_nmi) = np.mean(ours, axis=0), np.mean(theirs, axis=0)
    assert modularity > their_modularity - 0.001 and nmi > their_nmi - 0.02


@pytest.mark.parametrize("resolution", [0.02, pytest.param(0.1, marks=pytest.mark.thorough)])
def test_the_potts_model_is_maximized_as_well_as_by_igraph(resolution: float) -> None:
    A, _ = planted(600, 0.3, 4)

    def quality(labels: Array) -> float:
        same = labels[:, None] == labels
        return float((A.toarray() - resolution)[same].sum() / A.sum())

    found = gasla.leiden_communities(A, quality="cpm", resolution=resolution, iterations=2).labels
    verify.leiden_communities(A, found, quality="cpm", resolution=resolution)
    expected = by_igraph(A, 1, "CPM", resolution=resolution, n_iterations=2)
    assert quality(found) > quality(expected) - 0.005


def test_iterations_raise_the_quality_until_nothing_moves() -> None:
    A, _ = planted(600, 0.7, 1)
    scores = [gasla.modularity(A, gasla.leiden_communities(A, iterations=k).labels) for k in (1, 2, 3, None)]
    assert scores == sorted(scores) and scores[-1] > scores[0]
    best = gasla.leiden_communities(A, iterations=None)
    again = gasla.leiden_communities(A, iterations=None)
    assert np.array_equal(best.labels, again.labels)


@pytest.mark.parametrize("device", DEVICES)
def test_a_consensus_finds_more_of_what_was_planted(device: str) -> None:
    A, group = planted(600, 0.4, 2)
    graph = Graph(A).to(device)
    one, many = (on_host(gasla.leiden_communities(graph, runs=k)).labels for k in (1, 8))
    verify.leiden_communities(A, many, runs=8)
    assert gasla.compare_partitions(many, group).nmi > gasla.compare_partitions(one, group).nmi + 0.02


@pytest.mark.parametrize("finder", FINDERS)
def test_cliques_in_a_ring_are_found_by_the_potts_model(finder: Any) -> None:
    graph, cliques = ring_of_cliques(), np.repeat(np.arange(30), 5)
    assert finder(graph).labels.max() < 29  # the resolution limit of modularity
    found = finder(graph, quality="cpm", resolution=[0.5, 0.001])
    assert found[0].labels.tolist() == cliques.tolist() and found[1].labels.max() < 29
    heavy = finder(graph, quality="cpm", resolution=0.1, node_weights=np.full(150, 2.0)).labels
    assert heavy.tolist() == finder(graph, quality="cpm", resolution=0.4).labels.tolist()


def test_directions_count_if_asked_for() -> None:
    """Leicht and Newman's modularity, at least NetworkX's of what was planted."""
    blocks = [[0.4 if j in (i, (i + 1) % 4) else 0.02 for j in range(4)] for i in range(4)]
    arcs = nx.stochastic_block_model([20] * 4, blocks, directed=True, seed=1)
    A = sp.csr_array(nx.to_scipy_sparse_array(arcs, dtype=np.float64))
    found = gasla.leiden_communities(A, directed=True, iterations=None).labels
    verify.leiden_communities(A, found, directed=True)
    without = gasla.leiden_communities(A, iterations=None).labels
    score, other, right = (gasla.modularity(A, x) for x in (found, without, np.repeat(np.arange(4), 20)))
    groups = [set(np.flatnonzero(found == c).tolist()) for c in range(found.max() + 1)]
    assert score == pytest.approx(nx.community.modularity(arcs, groups)) and score >= max(other, right) - 1e-12
    both = A + A.T
    assert np.array_equal(gasla.leiden_communities(both, directed=True).labels, gasla.leiden_communities(both).labels)


# --- what is given and kept ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("finder", FINDERS)
@pytest.mark.parametrize("device", DEVICES)
def test_a_run_starts_from_what_is_known(finder: Any, device: str) -> None:
    A, group = planted(600, 0.2, 3)
    graph = Graph(A).to(device)
    put: Any = sent if device == "gpu" else np.asarray
    first = finder(graph)
    again = on_host(finder(graph, start=first)).labels
    labels = on_host(first).labels
    verify.louvain_communities(A, again, start=labels)
    assert gasla.compare_partitions(again, labels).nmi > 0.95
    some = np.where(np.arange(600) % 3, group, -1)
    verify.louvain_communities(A, on_host(finder(graph, start=put(some))).labels, start=some)
    known = {v: int(c) for v, c in enumerate(group) if v % 3}
    assert np.array_equal(on_host(finder(graph, start=known)).labels, on_host(finder(graph, start=put(some))).labels)


def test_new_vertices_join_their_neighbors() -> None:
    old = ring_of_cliques(8)
    first = gasla.leiden_communities(old, quality="cpm", resolution=0.2)
    more = old.to_scipy().tocoo()
    src, dst = np.r_[more.coords[0], 40, 40, 41, 41], np.r_[more.coords[1], 3, 4, 22, 23]
    grown = Graph.from_edges(src, dst, n=42).symmetrized().with_values(None)
    found = gasla.leiden_communities(grown, start=first, quality="cpm", resolution=0.2).labels
    assert found[:40].tolist() == first.labels.tolist()
    assert found[40] == found[3] and found[41] == found[22]


@pytest.mark.parametrize("finder", FINDERS)
def test_fixed_vertices_stay(finder: Any) -> None:
    graph = ring_of_cliques()
    start = np.full(150, -1)
    start[[0, 77]], start[[10, 11]] = 3, [4, 5]  # together though far apart, and apart though in one clique
    fixed = start >= 0
    kept: dict[str, Any] = {"start": start, "fixed": fixed}
    for options in ({}, {"max_size": 12}, {"min_size": 12}, {"iterations": 3}, {"runs": 4}):
        labels = finder(graph, **kept, **options).labels
        verify.louvain_communities(graph, labels, **kept, **told(options))
    for level, most in zip(finder(graph, max_size=[7, 30], **kept).levels, (7, 30), strict=True):
        verify.louvain_communities(graph, level, max_size=most, **kept)
    assert np.array_equal(
        finder(graph, start=start, fixed=fixed).labels,
        finder(graph, start=start, fixed=np.flatnonzero(fixed)).labels,
    )
    names = gasla.Graph.from_table(pd.DataFrame({"a": ["u", "v", "w"], "b": ["v", "w", "u"]}), "a", "b")
    assert finder(names, fixed=["u", "w"], start={"u": 0, "w": 1}).labels[[0, 2]].tolist() == [0, 1]


@pytest.mark.parametrize("finder", FINDERS)
def test_sizes_are_kept(finder: Any) -> None:
    A, _ = planted(600, 0.3, 5)
    for most in (1, 2, 9, 40):
        found = finder(A, max_size=most)
        assert all(np.bincount(labels).max() <= most for labels in found.levels)
        within = finder(A, max_size=most, start=finder(A))
        assert np.bincount(within.labels).max() <= most
    component = gasla.connected_components(A).labels
    for least in (5, 60):
        labels = finder(A, min_size=least).labels
        is_small = np.bincount(labels)[labels] < least
        assert (np.bincount(labels)[labels] == np.bincount(component)[component])[is_small].all()  # without a neighbor
    both = np.bincount(finder(A, max_size=40, min_size=10).labels)
    assert both.max() <= 40 and np.median(both) >= 10


@pytest.mark.parametrize("finder", FINDERS)
def test_several_maximum_sizes_give_a_hierarchy(finder: Any) -> None:
    A, _ = planted(600, 0.2, 6)
    found = finder(A, max_size=[5, 20, None])
    assert len(found.levels) == 3 and np.array_equal(found.labels, finder(A).labels)
    for level, most in enumerate((5, 20)):
        labels, parents = found.cut(level), found.parents(level)
        assert np.bincount(labels).max() <= most
        np.testing.assert_array_equal(parents[labels], found.cut(level + 1))
        verify.louvain_communities(A, labels, refine=finder is gasla.leiden_communities, max_size=most)
    small = np.bincount(found.labels)[found.labels] <= 20
    together = found.labels[:, None] == found.labels
    middle = found.cut(1)[:, None] == found.cut(1)
    assert np.array_equal(middle[small], together[small])  # what is small enough is not divided
    np.testing.assert_array_equal(found.parents(-1), np.arange(found.labels.max() + 1))
    with pytest.raises(ValueError, match="level is 3; expected 0 to 2"):
        found.cut(3)


# --- hard shapes -----------------------------------------------------------------------------------------------------

SHAPES: dict[str, tuple[list[int], list[int], int]] = {
    "nothing": ([], [], 0),
    "vertices alone": ([], [], 3),
    "a loop": ([0], [0], 1),
    "loops": ([0, 1, 1], [0, 1, 1], 3),
    "parallel edges": ([0, 0, 0, 1], [1, 1, 1, 0], 2),
    "a star": ([0] * 300, list(range(1, 301)), 302),
    "a path": (list(range(300)), list(range(1, 301)), 301),
}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"quality": "cpm", "resolution": 0.3},
    {"quality": "cpm", "resolution": 0.3, "directed": True},
    {"directed": True, "iterations": None},
    {"max_size": 2},
    {"max_size": [2, 5, None]},
    {"min_size": 4, "runs": 3},
    {"iterations": None, "resolution": 0},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("finder", FINDERS)
def test_hard_shapes(finder: Any, options: dict[str, Any]) -> None:
    for src, dst, n in SHAPES.values():
        for graph in (Graph.from_edges(src, dst, n=n), Graph.from_edges(src, dst, n=n).symmetrized()):
            labels = finder(graph, **options).labels
            verify.louvain_communities(graph, labels, refine=finder is gasla.leiden_communities, **told(options))


@pytest.mark.parametrize("power", [-1060, -300, 300, 1000])
def test_scaled_weights_give_the_same_communities(power: int) -> None:
    A, _ = planted(300, 0.3, 7)
    B = sp.csr_array((np.ldexp(A.data, power), A.indices, A.indptr), A.shape)
    for options in ({}, {"max_size": [9, None], "iterations": 2}, {"runs": 3}, {"min_size": 4}):
        assert np.array_equal(
            gasla.leiden_communities(A, **options).labels, gasla.leiden_communities(B, **options).labels
        )
    if abs(power) < 1000:
        potts = {"quality": "cpm", "resolution": 0.0625}
        scaled = {"quality": "cpm", "resolution": float(np.ldexp(0.0625, power))}
        expected = gasla.leiden_communities(A, **potts).labels
        assert np.array_equal(gasla.leiden_communities(B, **scaled).labels, expected)


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), st.integers(0, 3)), max_size=40),
    st.integers(0, 99),
    st.lists(st.integers(-1, 3), min_size=12, max_size=12),
    st.sampled_from([{}, {"max_size": 4}, {"quality": "cpm"}, {"directed": True}, {"min_size": 3}, {"iterations": 2}]),
    st.booleans(),
)
def test_any_network(edges: Any, seed: int, start: list[int], options: dict[str, Any], is_fixed: bool) -> None:
    src, dst, weights = np.array(edges, np.int64).reshape(-1, 3).T
    graph = Graph.from_edges(src, dst, weights.astype(np.float64), n=12)
    first = np.array(start)
    fixed = (first >= 0) & (np.arange(12) < 4) if is_fixed else None
    found = gasla.leiden_communities(graph, seed=seed, start=first, fixed=fixed, **options)
    verify.leiden_communities(graph, found.labels, start=first, fixed=fixed, **told(options))
    for finer, coarser in zip(found.levels, found.levels[1:]):
        assert len(np.unique(np.stack([finer, coarser]), axis=1).T) == finer.max() + 1


# --- arguments -------------------------------------------------------------------------------------------------------


def test_refine_is_another_name_for_leiden() -> None:
    A, _ = planted(300, 0.3, 8)
    expected = gasla.leiden_communities(A, seed=3)
    found = gasla.louvain_communities(A, seed=3, refine=True)
    assert all(np.array_equal(a, b) for a, b in zip(found.levels, expected.levels, strict=True))


def test_several_resolutions_are_calls_of_their_own() -> None:
    A, _ = planted(300, 0.3, 9)
    found = gasla.leiden_communities(A, resolution=(0.5, 1, 2.0))
    for resolution, one in zip((0.5, 1, 2), found, strict=True):
        assert np.array_equal(one.labels, gasla.leiden_communities(A, resolution=resolution).labels)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": [0, 1]}, "start has 2 labels; expected one for each of 4 vertices, -1 for a vertex alone"),
        ({"start": [0, 0, 0, -2]}, "start has the label -2; expected 0 or more, or -1"),
        ({"start": {9: 1}}, "start: vertex 9"),
        ({"start": gasla.louvain_communities(ring_of_cliques(3, 3))}, "start has 9 vertices, and the graph 4"),
        ({"fixed": [4]}, "fixed has vertex 4, outside a graph of 4 vertices"),
        ({"fixed": [True]}, "fixed has 1 truth values; expected one for each of 4 vertices"),
        ({"fixed": [0, 1, 2], "start": [7, 7, 7, 8], "max_size": 2}, "3 fixed vertices are in one community of start"),
        ({"max_size": 0}, "max_size is 0; expected 1 or more"),
        ({"max_size": [5, 3]}, r"max_size is \[5, 3\]; expected one number, or several in ascending order"),
        ({"max_size": []}, r"max_size is \[\]"),
        ({"iterations": 0}, "iterations is 0"),
        ({"runs": 0}, "runs is 0"),
        ({"node_weights": [1, 1, 1, 1]}, "node_weights are for quality='cpm'; with 'modularity' vertices count by"),
        ({"quality": "cpm", "node_weights": [1, 1]}, r"node_weights is \[1, 1\], int64\(2,\); expected 4 numbers"),
        ({"quality": "cpm", "node_weights": [1, 1, 1, np.nan]}, "node_weights has a negative, infinite or NaN entry"),
        ({"quality": "surprise"}, "quality is 'surprise'; expected one of 'modularity', 'cpm'"),
    ],
)
def test_impossible_arguments_are_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gasla.leiden_communities(Graph.from_edges([0, 1, 2], [1, 2, 3]), **options)


@pytest.mark.parametrize("weight", [-2.0, np.nan, np.inf])
def test_impossible_weights_are_refused_by_name(weight: float) -> None:
    with pytest.raises(ValueError, match=f"weight of edge 1 is {weight}"):
        gasla.leiden_communities(Graph.from_edges([0, 1], [1, 0], [1.0, weight]))


@pytest.mark.gpu
@pytest.mark.parametrize("options", [{"fixed": [0]}, {"max_size": 3}, {"directed": True}], ids=str)
def test_what_a_gpu_cannot_do_is_refused_by_name(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(ValueError, match=rf"{name} is for graphs in host memory.*graph.to\('cpu'\)"):
        gasla.leiden_communities(ring_of_cliques().to("gpu"), **options)
