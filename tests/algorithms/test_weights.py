"""Sums of weights: exact or refused by name, in whichever type weights come and however large or small they are.

Here programs run by NumPy and products by SciPy, so that nothing is compiled; the engines are tried with `thorough`.
"""

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import gasla
import semirings
from gasla import verify
from gasla.algorithms.centrality import pagerank, salsa
from gasla.algorithms.community import community_programs, louvain_communities, modularity, pagerank_nibble
from gasla.algorithms.neighborhood import aggregate_features
from gasla.engines import runner
from gasla.graph.weights import check_sums, check_total, exact_total, in_range, sum_type
from gasla.operations import prepare

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float32", "float64"]
DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]
N = 10


def _product(matrix: Any, x: Any) -> Any:
    """A sum of products in the type that NumPy has for both: in int64 or float64, as the engines add up."""
    kind = np.result_type(matrix.data.dtype, np.asarray(x).dtype)
    return matrix.astype(kind) @ np.asarray(x).astype(kind)


def _matrix(graph: gasla.Graph) -> Any:
    src, dst = graph.to_edge_index()
    values = np.ones(graph.m, bool) if graph.values is None else graph.values
    return sp.csr_array(sp.coo_array((values.astype(sum_type(values.dtype)), (src, dst)), shape=(graph.n, graph.n)))


def mxv(A: gasla.Graph, x: Any, semiring: Any = semirings.plus_times) -> Any:
    if semiring is semirings.plus_times:
        return _product(_matrix(A), x)
    assert semiring is semirings.max_times and A.values is not None
    src, dst = A.to_edge_index()
    found = np.full(A.n, -np.inf)
    np.maximum.at(found, src, A.values * np.asarray(x)[dst])
    return found


def vxm(x: Any, A: gasla.Graph, semiring: Any = semirings.plus_times) -> Any:
    assert semiring.monoid is semirings.plus
    return _product(_matrix(A).T, np.asarray(x).astype(sum_type(np.asarray(x).dtype)))


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Algorithms whose programs NumPy runs, and whose products SciPy computes."""
    monkeypatch.setattr(prepare, "runner", lambda device, compiled: runner(device, False))
    for module in (pagerank, salsa, community_programs, louvain_communities, modularity, pagerank_nibble):
        monkeypatch.setattr(module, "mxv", mxv)
    for module in (salsa, community_programs, louvain_communities, modularity, pagerank_nibble, aggregate_features):
        monkeypatch.setattr(module, "vxm", vxm)


def ends() -> tuple[np.ndarray, np.ndarray]:
    """A ring with chords and a pair apart, each edge in both directions."""
    u = np.array([0, 1, 2, 3, 4, 5, 6, 0, 1, 8, 0])
    v = np.array([1, 2, 3, 4, 5, 6, 7, 7, 3, 9, 2])
    return np.r_[u, v], np.r_[v, u]


def weights_near_the_end(kind: str) -> np.ndarray:
    """Weights of which two add up to more than their type holds; those of 64 bits are exact as float64."""
    most = min(int(np.iinfo(kind).max), 2**50)
    some = most - np.random.default_rng(5).integers(0, max(most // 2, 1), 11)
    return np.r_[some, some].astype(kind)


def graph_of(weights: Any) -> gasla.Graph:
    return gasla.Graph.from_edges(*ends(), weights, n=N)


FEATURES = np.arange(2 * N, dtype=np.int64).reshape(N, 2)
ADDS: dict[str, Callable[[gasla.Graph], Any]] = {  # answers that don't depend on the scale of weights
    "label_propagation": lambda g: gasla.label_propagation(g, weighted=True),
    "pagerank_nibble": lambda g: (
        gasla.pagerank_nibble(g, 0, weighted=True, epsilon=1e-6 / float(g.values.max())).scores
    ),
    "modularity": lambda g: gasla.modularity(g, np.arange(N) % 3),
    "partition_table": lambda g: gasla.partition_table(g, np.arange(N) % 3).conductance,
    "leiden_communities": lambda g: gasla.leiden_communities(g).labels,
    "louvain_communities": lambda g: gasla.louvain_communities(g).labels,
    "hits": lambda g: gasla.hits(g, max_iter=1000, dtype=np.float64).hubs,
    "salsa": lambda g: gasla.salsa(g, dtype=np.float64).hubs,
    "pagerank": lambda g: gasla.pagerank(g, dtype=np.float64).ranks,
    "eigenvector_centrality": lambda g: (
        gasla.eigenvector_centrality(g, weighted=True, dtype=np.float64, max_iter=20_000, tol=1e-9).scores
    ),
    "katz_centrality": lambda g: (
        gasla.katz_centrality(g, weighted=True, alpha=0.1 / float(g.values.max()), dtype=np.float64).scores
    ),
    "minimum_spanning_forest": lambda g: gasla.minimum_spanning_forest(g).edges,
    "maximal_matching": lambda g: gasla.maximal_matching(g, weighted=True),
    "aggregate_features, mean": lambda g: gasla.aggregate_features(g, FEATURES, "mean"),
}
SUMS: dict[str, Callable[[gasla.Graph], Any]] = {  # answers that are sums of weights
    "minimum_spanning_forest, total": lambda g: gasla.minimum_spanning_forest(g).total,
    "aggregate_features": lambda g: gasla.aggregate_features(g, FEATURES.astype(np.uint8)),
    "sssp": lambda g: gasla.sssp(g, 0, dtype=np.float64),
    "nearest_source": lambda g: gasla.nearest_source(g, [0, 8], dtype=np.float64).distances,
    "k_shortest_paths": lambda g: np.array([path.distance for path in gasla.k_shortest_paths(g, 0, 8, 3)]),
    "multi_source_shortest_paths": lambda g: gasla.multi_source_shortest_paths(g, [0, 8], dtype=np.float64),
    "closeness_centrality": lambda g: gasla.closeness_centrality(g, distance="weight"),
    "harmonic_centrality": lambda g: gasla.harmonic_centrality(g, distance="weight"),
    "longest_path": lambda g: gasla.longest_path(g.select(np.less(*ends()))).lengths,
}
PERSONAL = {  # whose program NumPy can't run
    "top_k_pagerank": lambda g: gasla.top_k_pagerank(g, [0, [3, 8]], 9, known=True, dtype=np.float64).ranks,
    "pagerank, personal": lambda g: gasla.pagerank(g, personalization=[{0: 1}, {3: 1, 8: 2}], dtype=np.float64).ranks,
}


@pytest.mark.parametrize(
    "kind",
    [
        *(pytest.param(k, marks=() if k == "uint64" else pytest.mark.thorough) for k in INTEGERS),
        pytest.param("float32", marks=pytest.mark.thorough),
    ],
)
@pytest.mark.parametrize("name", [*ADDS, *SUMS])
def test_sums_are_those_of_float64(interpreted: None, name: str, kind: str) -> None:
    """Of large weights, which wrap, or round, in a sum of their own type."""
    weights = weights_near_the_end("int16" if kind == "float32" else kind).astype(kind)
    function = {**ADDS, **SUMS}[name]
    found, right = function(graph_of(weights)), function(graph_of(weights.astype(np.float64)))
    np.testing.assert_allclose(found, right, rtol=1e-6)


@pytest.mark.parametrize("name", ADDS)
def test_bool_weights_count_0_and_1(interpreted: None, name: str) -> None:
    weights = np.arange(22) % 11 != 4
    function = ADDS[name]
    np.testing.assert_allclose(function(graph_of(weights)), function(graph_of(weights.astype(np.float64))), rtol=1e-6)


def tried(function: Any, given: Any) -> Any:
    """The answer, or None if weights are refused by name."""
    try:
        return function(given)
    except ValueError as error:
        if "weights" not in str(error):
            raise
        return None


POWERS = [-900, -511, -260, -3, 3, 257, 500, 900]


SLOWER = {
    "leiden_communities",
    "louvain_communities",
    "hits",
    "salsa",
    "label_propagation",
    "pagerank_nibble",
    "eigenvector_centrality",
}
SCALED = [
    pytest.param(name, marks=pytest.mark.thorough if name in SLOWER else ()) for name in ADDS if "aggregate" not in name
]


@pytest.mark.parametrize("name", SCALED)
def test_the_scale_of_weights_changes_nothing(interpreted: None, name: str) -> None:
    weights, function = weights_near_the_end("int8").astype(np.float64), ADDS[name]
    right, refused = function(graph_of(weights)), 0
    for dtype, powers in ((np.float64, POWERS), (np.float32, [-100, -40, 40, 110])):
        for power in powers:
            found = tried(function, graph_of(np.ldexp(weights, power).astype(dtype)))
            if found is None:
                refused += 1
            else:
                np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-5, err_msg=f"{dtype.__name__}, 2**{power}")
    assert refused <= 4


def test_sums_of_integers_are_exact() -> None:
    big = np.array([2**62, 2**62 - 1, -(2**63), 5])
    assert exact_total(big) == 4
    assert exact_total(big, magnitudes=True) == 2**64 + 4
    with pytest.raises(ValueError, match=r"f adds up weights whose sum is 9223372036854775808; expected below 2\*\*63"):
        check_total("f", np.array([2**62, 2**62]))
    check_total("f", np.array([2**63, 2**62], np.uint64))
    assert check_sums("f", graph_of(np.full(22, -128, np.int8))) == np.int64


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=9), st.sampled_from(INTEGERS))
def test_exact_totals_are_pythons(numbers: list[int], kind: str) -> None:
    array = np.array(numbers, np.int64).astype(kind)
    assert exact_total(array) == sum(array.tolist())
    assert exact_total(array, magnitudes=True) == sum(map(abs, array.tolist()))


def test_a_range_is_reached_by_a_power_of_two() -> None:
    for weights in (np.ones(22), np.full(22, 1e60), np.zeros(22), np.full(22, 2**63, np.uint64)):
        graph = graph_of(weights)
        assert in_range(graph) == (graph, 0)
    huge = graph_of(np.full(22, 1.5e308))
    near, exponent = in_range(huge)
    assert near.values is not None and exponent == 1024 - 256
    np.testing.assert_array_equal(np.ldexp(near.values, exponent), huge.values)
    assert in_range(huge)[0] is near  # made once
    spread = in_range(graph_of(np.resize([1e300, 1e-300, 0.0], 22)))[0].values
    assert spread is not None and (spread[:3] > 0).tolist() == [True, True, False]  # an edge stays one
    assert huge.values is not None and huge.values[0] == 1.5e308
    huge.values[:] = 2
    huge.notice_values()
    assert in_range(huge) == (huge, 0)
    small = in_range(graph_of(np.full(22, 1e-30, np.float32)), np.float32)[0]
    assert small.values is not None and small.values.dtype == np.float32 and 2**-33 <= small.values[0] <= 2**-32


def test_what_cannot_be_added_up_is_refused(interpreted: None) -> None:
    large = np.full(22, 2**62)
    with pytest.raises(ValueError, match="label_propagation adds up weights whose sum of absolute values is"):
        gasla.label_propagation(graph_of(large), weighted=True)
    with pytest.raises(ValueError, match="minimum_spanning_forest adds up weights whose sum is"):
        gasla.minimum_spanning_forest(graph_of(large))
    with pytest.raises(ValueError, match="the weights of the forest sum to infinity"):
        gasla.minimum_spanning_forest(graph_of(np.full(22, 1e308)))
    with pytest.raises(ValueError, match="the sum of integer features may overflow 64 bits"):
        gasla.aggregate_features(graph_of(large), FEATURES)
    means = gasla.aggregate_features(graph_of(None), np.full(N, 2**62), "mean")
    np.testing.assert_array_equal(means, 2.0**62)
    pair = gasla.Graph.from_edges([0, 1], [2, 2], np.array([100, 100], np.int8))
    with pytest.raises(ValueError, match="condensation adds up values to 200, more than int8 holds"):
        gasla.condensation(pair, [0, 0, 1])
    large = gasla.Graph.from_edges([0, 0], [1, 1], np.array([2**62, 2**62]))
    with pytest.raises(ValueError, match="project adds up weights whose sum of absolute values is 9223372036854775808"):
        gasla.project(large, [0], semirings.plus_times)
    small = gasla.Graph.from_edges([0, 2], [1, 1], np.array([100, 100], np.int8))
    assert gasla.project(small, [0, 2], semirings.plus_times).values.tolist() == [10_000, 10_000]


def test_means_of_floats_do_not_overflow(interpreted: None) -> None:
    for kind in FLOATS:
        large = np.finfo(kind).max / 2
        found = gasla.aggregate_features(graph_of(None), np.full(N, large, kind), "mean")
        np.testing.assert_allclose(found, large, rtol=1e-6)


def test_matching_takes_the_heavier_of_integers_that_float64_takes_for_equal(interpreted: None) -> None:
    for kind, base in (("int64", 2**60), ("uint64", 2**63), ("int64", -(2**63))):
        path = gasla.Graph.from_edges([0, 1, 2], [1, 2, 3], np.array([base, base + 1, base], kind))
        mates = gasla.maximal_matching(path, weighted=True)
        assert mates.tolist() == [-1, 2, 1, -1]
        verify.maximal_matching(path, mates, weighted=True)
        with pytest.raises(verify.VerificationError, match="more than the matched edges at its ends"):
            verify.maximal_matching(path, [1, 0, 3, 2], weighted=True)


def test_verifiers_add_up_exactly() -> None:
    path = gasla.Graph.from_edges([0, 1], [1, 2], np.full(2, 2**62))
    with pytest.raises(verify.VerificationError, match="the edges weigh 9223372036854775808, not -9223"):
        verify.minimum_spanning_forest(path, [0, 1], -(2**63))
    small = gasla.Graph.from_edges([0, 1], [1, 2], np.full(2, 1e-200))
    verify.minimum_spanning_forest(small, [0, 1], 2e-200)
    with pytest.raises(verify.VerificationError, match="the edges weigh"):
        verify.minimum_spanning_forest(small, [0, 1], 0.0)
    for scale in (1e-300, 1.0, 1e308):
        pairs = gasla.Graph.from_edges([0, 1, 2, 3], [1, 0, 3, 2], np.full(4, scale))
        verify.modularity(pairs, [0, 0, 1, 1], 0.5)
        verify.louvain_communities(pairs, [0, 0, 1, 1])
        verify.label_propagation(pairs, [0, 0, 1, 1], weighted=True)
        verify.hits(pairs, np.full(4, 0.25), np.full(4, 0.25))
        verify.salsa(pairs, np.full(4, 0.25), np.full(4, 0.25))
        verify.pagerank(pairs, np.full(4, 0.25))
        with pytest.raises(verify.VerificationError):
            verify.modularity(pairs, [0, 0, 1, 1], np.nan)


def test_lengths_that_sum_to_infinity_are_refused(interpreted: None) -> None:
    path = gasla.Graph.from_edges([0, 1], [1, 2], np.full(2, 3e38, np.float32))
    with pytest.raises(ValueError, match=r"a path to vertex 2 sum to infinity in float32; .* pass float64 weights"):
        gasla.longest_path(path)
    with pytest.raises(ValueError, match=r"a path to vertex 2 sum to infinity in float64; .*: divide"):
        gasla.longest_path(path.with_values(np.full(2, 1e308)))
    assert gasla.longest_path(path.with_values(np.array([np.inf, 1]))).length == np.inf


def test_an_infinite_edge_beside_finite_ones_makes_a_longest_path_infinite(interpreted: None) -> None:
    diamond = gasla.Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3], [1.0, np.inf, 1.0, 1.0])
    found = gasla.longest_path(diamond)
    assert found.lengths.tolist() == [0, 1, np.inf, np.inf] and found.parents.tolist() == [0, 0, 0, 2]
    verify.longest_path(diamond, *found[2:], *found[:2])
    with pytest.raises(ValueError, match="a path to vertex 3 sum to infinity"):  # beside an infinite one, too
        gasla.longest_path(diamond.with_values(np.array([1e308, np.inf, 1e308, 1.0])))


@pytest.mark.parametrize("kind", ["bool", *INTEGERS, *FLOATS])
def test_lengths_of_0_are_refused_where_they_must_be_positive(interpreted: None, kind: str) -> None:
    path = gasla.Graph.from_edges([0, 1, 1, 2], [1, 0, 2, 1], np.array([1, 1, 0, 0], kind))
    for function in (gasla.betweenness_centrality, gasla.edge_betweenness_centrality):
        with pytest.raises(ValueError, match=r"the weight of edge 2 is .*; expected a positive number"):
            function(path, weighted=True)
        function(path.with_values(np.ones(4, kind)), weighted=True)


@pytest.mark.parametrize("resolution", [1e308, -1e308, -2.0, 0.0])
def test_modularity_of_any_resolution(interpreted: None, resolution: float) -> None:
    star = gasla.Graph.from_edges([0, 0, 0, 1, 2, 3], [1, 2, 3, 0, 0, 0])
    labels = [0, 0, 1, 1]
    found = gasla.modularity(star, labels, resolution=resolution)
    assert found == pytest.approx(1 / 3 - resolution * (5 / 9))
    verify.modularity(star, labels, found, resolution=resolution)


def test_a_radius_may_be_larger_than_lengths_can_be(interpreted: None) -> None:
    path = gasla.Graph.from_edges([0, 1], [1, 2], np.ones(2, np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gasla.ego_graph(path, 0, 1e300, weighted=True).n == 3


def test_what_grows_without_end_names_alpha(interpreted: None) -> None:
    star = gasla.Graph.from_edges([0, 0, 0, 0, 1, 2, 3, 4], [1, 2, 3, 4, 0, 0, 0, 0], np.ones(8))
    for dtype in (np.float32, np.float64):
        with pytest.warns(gasla.ConvergenceWarning, match=r"diverge; alpha is 0\.9, expected less than 1"):
            found = gasla.katz_centrality(star, alpha=0.9, dtype=dtype)
        assert not found.converged and np.isfinite(found.scores).all()
        np.testing.assert_allclose(np.linalg.norm(found.scores), 1, rtol=1e-5)
    with pytest.warns(gasla.ConvergenceWarning, match=r"or lower alpha, 0\.9"):
        gasla.katz_centrality(star, alpha=0.9, max_iter=50)
    with pytest.raises(ValueError, match=r"scores overflow float64: alpha is 0\.9"):
        gasla.katz_centrality(star.with_values(np.full(8, 1e308)), alpha=0.9, weighted=True)
    scale = 1e308
    small = gasla.katz_centrality(star.with_values(np.full(8, scale)), alpha=0.1 / scale, weighted=True)
    np.testing.assert_allclose(small.scores, gasla.katz_centrality(star, alpha=0.1).scores, rtol=1e-6)
    tiny = gasla.katz_centrality(star, alpha=0.1, beta=1e-200, tol=1e-210).scores
    np.testing.assert_allclose(tiny, small.scores, rtol=1e-5)


def test_a_change_that_is_no_number_has_not_settled(interpreted: None) -> None:
    from gasla.algorithms.centrality.ranking import check_converged

    for residual in (np.nan, np.inf):
        with pytest.raises(ValueError, match="the scores overflowed"):
            check_converged("scores", True, residual, 5, silent=True)
    with pytest.raises(
        ValueError, match="so small, relative to the largest, that the inverse of their sum overflows float64"
    ):
        gasla.salsa(gasla.Graph.from_edges([0, 1], [1, 0], np.array([1.0, 1e-310])))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = gasla.hits(graph_of(np.full(22, 1e25, np.float32)), tol=1e-5)
    assert np.isfinite(found.hubs).all() and np.isfinite(found.residual)


def test_every_function_that_reads_weights_is_tried() -> None:
    """A new function of weights has a row above, or stands here with the reason why it adds up none."""
    import inspect

    no_sums = {
        "betweenness_centrality": "float64 distances by sssp; counts of paths",
        "edge_betweenness_centrality": "as betweenness_centrality",
        "shortest_path": "float64 distances; see test_engines_agree_on_large_and_small_weights",
        "random_walks": "sums of float64, refused where infinite: tests/algorithms/walks/test_random_walks.py",
        "node2vec_walks": "as random_walks",
        "walk": "as random_walks",
        "clustering": "cube roots of values over the largest: tests/algorithms/clustering/test_weighted.py",
        "ego_graph": "distances by sssp",
        "condensation": "by the monoid that is asked for; tested above",
        "project": "by the semiring that is asked for; tested above",
        "maximum_flow": "flows: tests/algorithms/flows/test_maximum_flow.py",
        "minimum_cut": "flows: tests/algorithms/flows/test_maximum_flow.py",
        "minimum_cost_flow": "sums by SciPy: tests/algorithms/flows/test_minimum_cost_flow.py",
        "global_minimum_cut": "exact or in 60 bits: tests/algorithms/flows/test_global_minimum_cut.py",
        "strongly_connected_components": "values aren't read",
        "motif_counts": "values aren't read",
        "subgraph_matches": "by the semiring that is asked for: tests/algorithms/patterns/test_edge_matches.py",
        "top_k_pagerank": "as pagerank, personal",
        "partition": "sums that are exact: tests/algorithms/community/test_partition.py",
        "assignment": "sums by SciPy: tests/algorithms/independence/test_assignment.py",
        "steiner_tree": "float64 distances by sssp",
        "spectral_embedding": "weights of at most 1: tests/algorithms/spectral/test_eigenvectors.py",
        "fiedler_vector": "as spectral_embedding",
        "spectral_clustering": "as spectral_embedding",
        "number_of_shortest_paths": "as betweenness_centrality",
        "article_rank": "weights in_range: tests/algorithms/centrality/test_article_rank.py",
        "fastrp": "as aggregate_features, mean",
    }
    known = {name.partition(",")[0] for name in (*ADDS, *SUMS)} | set(no_sums)
    for name, home in gasla._HOMES.items():
        if not home.startswith("algorithms.") or not inspect.isfunction(function := getattr(gasla, name)):
            continue
        takes = {"weighted", "distance"} & set(inspect.signature(function).parameters)
        if takes or ".values" in inspect.getsource(function):
            assert name in known, f"{name} reads weights: expected a row in ADDS or SUMS, or a reason"


@pytest.mark.slow  # compiles programs for types of weights
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", [*ADDS, *PERSONAL, *SUMS])
def test_engines_agree_on_large_and_small_weights(name: str, device: Any) -> None:
    function = {**ADDS, **PERSONAL, **SUMS}[name]

    def on_device(weights: Any) -> Any:
        return moved(function(graph_of(weights).to(device)))

    int8 = weights_near_the_end("int8")
    right = on_device(int8.astype(np.float64))
    for weights in (int8, int8.astype(np.float32), int8.astype(np.uint64)):
        np.testing.assert_allclose(on_device(weights), right, rtol=1e-4)
    if name not in SUMS and "aggregate" not in name:
        for power in (-400, 400):
            found = tried(on_device, np.ldexp(int8.astype(np.float64), power))
            if found is not None:
                np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-5)


def moved(answer: Any) -> Any:
    return answer.get() if hasattr(answer, "get") else answer


EDGE, LOOPS, LOOP = ([0], [1]), ([0, 1, 2], [0, 1, 2]), ([0], [0])
COMPLETE = tuple(np.flatnonzero(~np.eye(4, dtype=bool)) // d % 4 for d in (4, 1))
EXTREMES: list[tuple[Any, Any, Callable[[gasla.Graph], Any], Any]] = [  # ends, weights, call, and result or error
    (COMPLETE, 1.7e308, lambda g: gasla.k_shortest_paths(g, 0, 3, 2), "on a path sum to infinity in float64"),
    (COMPLETE, 8e307, lambda g: gasla.k_shortest_paths(g, 0, 3, 5), "on a path sum to infinity in float64"),
    (COMPLETE, 1.7e308, lambda g: gasla.spectral_embedding(g, 1, normalized=False).values, [np.inf]),
    (COMPLETE, 1.7e308, lambda g: gasla.closeness_centrality(g, distance="weight"), np.zeros(4)),
    (COMPLETE, 1.7e308, lambda g: gasla.pagerank_nibble(g, 0, weighted=True), "sum to inf; expected 1e-150 to 1e150"),
    (EDGE, 5e-324, lambda g: gasla.closeness_centrality(g, distance="weight"), [0, np.inf]),
    (EDGE, 5e-324, lambda g: gasla.harmonic_centrality(g, distance="weight"), [0, np.inf]),
    (LOOP, np.uint64(2**64 - 1), lambda g: gasla.hits(g, dtype=np.float32)[:2], [[1], [1]]),
    (LOOPS, np.uint64(2**64 - 1), lambda g: gasla.hits(g, dtype=np.float32)[:2], np.full((2, 3), np.float32(1 / 3))),
    (LOOPS, 3e38, lambda g: gasla.hits(g, dtype=np.float32, normalized=False)[:2], np.ones((2, 3))),
    (LOOPS, [1.0, 1.0, 1e300], lambda g: gasla.salsa(g, dtype=np.float32), "so small, relative to the largest"),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("ends", "weights", "call", "expected"), EXTREMES)
@pytest.mark.filterwarnings("error")  # of NumPy
def test_weights_at_the_ends_of_a_type(ends: Any, weights: Any, call: Any, expected: Any) -> None:
    graph = gasla.Graph.from_edges(*ends, np.broadcast_to(weights, len(ends[0])))
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            call(graph)
    else:
        np.testing.assert_array_equal(call(graph), expected)


@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
def test_distances_that_overflow(device: Any) -> None:
    for kind, large in (("float32", 3e38), ("float64", 1e308)):
        path = gasla.Graph.from_edges([0, 1], [1, 2], np.full(2, large, kind)).to(device)
        calls = (
            lambda: gasla.sssp(path, 0),  # noqa: B023
            lambda: gasla.multi_source_shortest_paths(path, [0, 0]),  # noqa: B023
            lambda: gasla.shortest_path(path, 0, 2),  # noqa: B023
            lambda: gasla.betweenness_centrality(path, weighted=True),  # noqa: B023
        )
        for number, call in enumerate(calls):
            if kind == "float32" and number == 3:
                continue  # which takes float64
            with pytest.raises(ValueError, match=f"sum to infinity in {kind}"):
                call()
    far = gasla.Graph.from_edges([0, 1, 0], [1, 2, 2], np.array([1, np.inf, 5])).to(device)
    assert moved(gasla.sssp(far, 0)).tolist() == [0, 1, 5]


# --- one word for weights ---------------------------------------------------------------------------------------------

TRIPS = gasla.Graph.from_edges([0, 1, 0, 2, 1, 3], [1, 0, 2, 0, 3, 1]).with_edge_attributes(
    hours=[1.5, 1.5, 4.0, 4.0, 2.0, 2.0], weight=[3, 3, 1, 1, 2, 2]
)
WEIGHING = {
    "pagerank": (), "hits": (), "salsa": (), "katz_centrality": (), "eigenvector_centrality": (), "clustering": (),
    "betweenness_centrality": (), "edge_betweenness_centrality": (), "closeness_centrality": (),
    "harmonic_centrality": (), "label_propagation": (), "louvain_communities": (), "leiden_communities": (),
    "top_k_pagerank": ([0, 1], 2), "pagerank_nibble": (0,), "partition": (2,),
    "modularity": ([0, 0, 1, 1],), "partition_table": ([0, 0, 1, 1],),
    "maximal_matching": (), "random_walks": ([0, 1], 3), "node2vec_walks": ([0, 1], 3), "ego_graph": (0, 2.0),
    "aggregate_features": (np.arange(4.0),), "fiedler_vector": (), "spectral_embedding": (1,),
    "spectral_clustering": (2,), "fastrp": (), "article_rank": (), "number_of_shortest_paths": (0,),
    "sssp": (0,), "shortest_path": (0, 3), "k_shortest_paths": (0, 3, 2), "nearest_source": ([0, 1],),
    "multi_source_shortest_paths": ([0, 1],), "minimum_spanning_forest": (), "maximum_flow": (0, 3),
    "minimum_cut": (0, 3),
}  # fmt: skip


def test_every_function_with_weighted_takes_weight_as_well() -> None:
    homes = {name for name, home in gasla._HOMES.items() if home.startswith("algorithms.")}
    having = {name for name in homes if "weighted" in inspect.signature(getattr(gasla, name)).parameters}
    assert having - {"longest_path"} <= WEIGHING.keys()  # of acyclic graphs
    acyclic = gasla.Graph.from_edges([0, 1], [1, 2]).with_edge_attributes(hours=[1.5, 4.0])
    assert gasla.longest_path(acyclic, weight="hours").length == 5.5


@pytest.mark.thorough
@pytest.mark.parametrize("name", WEIGHING)
def test_weight_is_the_attribute_as_values(name: str) -> None:
    function, rest = getattr(gasla, name), WEIGHING[name]
    chooses = "weighted" in inspect.signature(function).parameters
    on = {"weighted": True} if chooses else {}
    for attribute in ("hours", "weight"):
        assert_equal(function(TRIPS, *rest, weight=attribute), function(TRIPS.weighted_by(attribute), *rest, **on))
    valued = TRIPS.with_edge_attributes(weight=None).weighted_by("hours")
    assert_equal(function(valued, *rest, weight="weight"), function(valued, *rest, **on))
    off = function(valued, *rest, weighted=False) if chooses else function(valued.with_values(None), *rest)
    assert_equal(function(valued, *rest, weight=None), off)


def assert_equal(found: Any, expected: Any) -> None:
    """Whether two results have equal parts."""
    if isinstance(found, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_equal(one, other)
    elif isinstance(found, gasla.Graph):
        assert_equal(found.edges(), expected.edges())
    elif found is not None:
        np.testing.assert_array_equal(found, expected)


def test_wrong_weights_are_refused_by_name() -> None:
    for wrong, error, words in (
        ({"weight": "hors"}, ValueError, "weight: 'hors' is no edge attribute.*did you mean 'hours'"),
        ({"weight": 3}, TypeError, "weight is 3; expected an edge attribute, 'weight' for the values, or None"),
        ({"weight": "hours", "weighted": True}, TypeError, "expected one of them"),
    ):
        with pytest.raises(error, match=words):
            gasla.closeness_centrality(TRIPS, **wrong)  # type: ignore[arg-type]
    np.testing.assert_array_equal(
        gasla.closeness_centrality(graph=TRIPS, weight="hours"),  # type: ignore[call-arg]
        gasla.closeness_centrality(TRIPS.weighted_by("hours"), distance="weight"),
    )
