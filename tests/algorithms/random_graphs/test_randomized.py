"""Random graphs keep what they should, and nothing else: all graphs of the given degrees are equally likely."""

import re
from collections import Counter
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import Graph, verify
from gasla.algorithms.random_graphs.randomized import MODELS
from tests.algorithms.community.test_edge_support import DEVICES, HARD, on
from tests.algorithms.community.test_triangles import edge_lists
from tests.helpers.law import Asked, Row
from tests.helpers.mutants import ALL, Question, Questions, Small
from tests.helpers.mutants import Asked as Questioned

Array = np.ndarray[Any, Any]


def drawn(model: Any) -> Any:
    def call(q: Asked) -> dict[str, Any]:
        made = gasla.randomized(q.given, model, seed=q.seed)
        q.check(lambda graph, made: verify.randomized(graph, made, model=model), made.to("cpu"))
        if model == "erdos_renyi":
            return {"edges": made.m}
        return {"degrees": q.at_vertices(made.out_degrees), "arriving": q.at_vertices(made.in_degrees)}

    return call


def compared(q: Asked) -> dict[str, Any]:
    found = gasla.null_model(q.given, gasla.transitivity, 2, seed=q.seed)
    return {"observed": found.observed}


LAWS = [
    Row("randomized", drawn("rewired")),
    Row("randomized", drawn("erdos_renyi"), 'model="erdos_renyi"'),
    Row("null_model", compared),
]


def made_of(g: Small) -> Questioned:
    """The questions to the verifier."""
    plain = Graph(g.matrix).with_values(None)
    for model in MODELS:
        src, dst = np.nonzero(g.counts)
        if model == "configuration":
            src, dst = g.src.copy(), g.dst.copy()
        loops = (src == dst) & (model != "configuration" or plain.is_symmetric)
        src, dst = src[~loops], dst[~loops]
        degrees = [np.bincount(ends, minlength=g.n) for ends in (src, dst)]

        def check(src: Array, dst: Array, model: str = model) -> None:
            verify.randomized(g.matrix, Graph.from_edges(src, dst, n=g.n), model=model)

        def is_right(src: Array, dst: Array, model: str = model, count: int = len(src), degrees: Any = degrees) -> bool:
            if src.shape != dst.shape or src.ndim != 1 or not {*src.tolist(), *dst.tolist()} <= {*range(g.n)}:
                return False
            pairs = [*zip(src.tolist(), dst.tolist(), strict=True)]
            if plain.is_symmetric and Counter(pairs) != Counter((v, u) for u, v in pairs):
                return False
            if model != "configuration" and (len({*pairs}) < len(pairs) or (src == dst).any()):
                return False
            if model == "erdos_renyi":
                return len(pairs) == count
            return all((np.bincount(ends, minlength=g.n) == of).all() for ends, of in zip((src, dst), degrees))

        yield Question(check, {"src": src, "dst": dst}, is_right)


QUESTIONS: Questions = {"randomized": (made_of, ALL)}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("shape", HARD)
def test_hard_shapes(device: Any, model: Any, shape: str) -> None:
    graph = on(device, HARD[shape])
    for one in (graph, graph.symmetrized()):
        made = gasla.randomized(one, model, swaps=2)
        verify.randomized(one.to("cpu"), made.to("cpu"), model=model)
        assert made.device == graph.device and made.values is None


@settings(max_examples=40, deadline=None)
@given(edge_lists(), st.sampled_from(MODELS), st.booleans(), st.integers(0, 9))
def test_models_keep_degrees_or_the_number_of_edges(edges: Any, model: Any, undirected: bool, seed: int) -> None:
    graph = on("cpu", edges)
    graph = graph.symmetrized() if undirected else graph
    verify.randomized(graph, gasla.randomized(graph, model, swaps=3, seed=seed), model=model)


def shares(graph: Graph, draws: int, of: Any, **options: Any) -> Counter[Any]:
    return Counter(of(gasla.randomized(graph, seed=seed, **options)) for seed in range(draws))


def edges_of(graph: Graph) -> Any:
    return tuple(sorted(zip(*(ends.tolist() for ends in graph.edges()), strict=True)))


def require_even(counts: Counter[Any], kinds: int) -> None:
    """Each of the kinds is drawn as often as the others, within six standard deviations."""
    draws = counts.total()
    assert len(counts) == kinds
    sigma = (draws / kinds * (1 - 1 / kinds)) ** 0.5
    assert all(abs(count - draws / kinds) < 6 * sigma for count in counts.values()), counts


@pytest.mark.thorough
def test_all_undirected_graphs_of_these_degrees_are_equally_likely() -> None:
    """Degrees 2, 2, 2, 1, 1: seven graphs, of which one is not connected."""
    path = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4], n=5).symmetrized()
    require_even(shares(path, 700, edges_of, swaps=8), 7)


@pytest.mark.thorough
def test_all_directed_graphs_of_these_degrees_are_equally_likely() -> None:
    """Every vertex of four has one edge out and one in: permutations without a fixed point."""
    ring = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    require_even(shares(ring, 300, edges_of, swaps=30), 9)


def test_an_edge_of_an_erdos_renyi_graph_is_anywhere() -> None:
    graph = Graph.from_edges([0], [1], n=4)
    require_even(shares(graph, 240, edges_of, model="erdos_renyi"), 12)
    require_even(shares(graph.symmetrized(), 240, edges_of, model="erdos_renyi"), 6)


def test_ends_of_a_configuration_are_joined_at_random() -> None:
    """Four ends at 0, 0, 1 and 1: of three ways to join them, two are two edges, and one is two loops."""
    pair = Graph.from_edges([0, 0, 1, 1], [1, 1, 0, 0])
    counts = shares(pair, 600, edges_of, model="configuration")
    assert counts.keys() == {((0, 0), (0, 0), (1, 1), (1, 1)), ((0, 1), (0, 1), (1, 0), (1, 0))}
    assert abs(counts[((0, 0), (0, 0), (1, 1), (1, 1))] - 200) < 6 * (600 * 2 / 9) ** 0.5


def test_rewiring_mixes_a_graph_with_hubs() -> None:
    """It keeps no more edges than a tenth more than with three times the swaps; a star can't change."""
    graph = Graph(gasla.datasets.rmat(9)).simple().with_values(None)
    kept = [(graph.edge_ids(*gasla.randomized(graph, swaps=swaps).edges()) >= 0).mean() for swaps in (0, 10, 30)]
    assert kept[0] == 1 and kept[2] < 0.6 and kept[1] < kept[2] * 1.1
    star = Graph.from_edges(np.zeros(50, int), np.arange(1, 51)).symmetrized()
    assert edges_of(gasla.randomized(star)) == edges_of(star)


def test_a_seed_gives_one_graph_whatever_is_kept_of_vertices() -> None:
    graph = Graph.from_networkx(nx.relabel_nodes(nx.karate_club_graph(), str))
    graph = graph.with_vertex_attributes(age=np.arange(graph.n)).with_edge_attributes(day=np.arange(graph.m))
    one, two, three = (gasla.randomized(graph, seed=seed) for seed in (5, 5, 2**64 - 1))
    assert edges_of(one) == edges_of(two) != edges_of(three)
    assert one.names is not None and one.names.tolist() == graph.names.tolist()
    assert one.vertex_attributes["age"].tolist() == list(range(graph.n)) and not one.edge_attributes


def test_wide_ids_and_offsets_make_no_difference() -> None:
    src, dst = np.random.default_rng(0).integers(0, 40, (2, 200))
    narrow, wide = (Graph.from_edges(src.astype(kind), dst.astype(kind), n=40) for kind in (np.int32, np.int64))
    assert edges_of(gasla.randomized(narrow)) == edges_of(gasla.randomized(wide))


def test_null_model_compares_with_means_and_deviations() -> None:
    """With the same random graphs, and NumPy's mean and standard deviation."""
    club = Graph.from_networkx(nx.karate_club_graph())
    seen: list[float] = []
    found = gasla.null_model(club, lambda graph: seen.append(gasla.transitivity(graph)) or seen[-1], 20, swaps=3)
    assert found.observed == seen[0] == gasla.transitivity(club)
    assert found.mean == pytest.approx(np.mean(seen[1:])) and found.std == pytest.approx(np.std(seen[1:], ddof=1))
    assert found.z == pytest.approx((seen[0] - found.mean) / found.std) and len({*seen}) > 5


def test_null_model_of_arrays_of_dicts_and_of_what_never_changes() -> None:
    club = Graph.from_networkx(nx.karate_club_graph())
    found = gasla.null_model(club, lambda graph: graph.out_degrees, 3)
    np.testing.assert_array_equal(found.mean, club.out_degrees)
    assert not found.std.any() and not found.z.any()
    with_both = gasla.null_model(club, lambda graph: {"edges": graph.m, "weights": graph.values is not None}, 3)
    assert with_both.z == {"edges": 0, "weights": 0}
    first = iter([1, 0, 0, 0])
    assert gasla.null_model(club, lambda _: next(first), 3).z == np.inf


def test_motif_counts_have_z_scores() -> None:
    """Small worlds have more triangles than random graphs of the same degrees; paths make up for them."""
    world = Graph.from_networkx(nx.connected_watts_strogatz_graph(100, 6, 0.1, seed=1))
    found = gasla.motif_counts(world, times=20)
    assert found.observed == gasla.motif_counts(world) and found.observed.keys() == found.z.keys()
    assert found.z["triangle"] > 6 and found.z["path3"] < -6
    assert gasla.motif_counts(world, times=3, model="erdos_renyi").std["path3"] > 0


WRONG: dict[str, tuple[Any, Any, str]] = {
    "model": (lambda g: gasla.randomized(g, "rewire"), ValueError, "model is 'rewire'; expected one of 'rewired'"),
    "swaps": (lambda g: gasla.randomized(g, swaps=-1), ValueError, "swaps is -1; expected 0 or more"),
    "seed": (lambda g: gasla.randomized(g, seed=0.5), TypeError, "seed is 0.5; expected a whole number"),
    "no function": (lambda g: gasla.null_model(g, 3), TypeError, "function is 3; expected a function of a graph"),
    "once": (lambda g: gasla.null_model(g, len, 1), ValueError, "times is 1; expected 2 or more"),
    "text": (lambda g: gasla.null_model(g, repr), TypeError, "expected a number, an array of numbers, or a dict"),
    "parts": (lambda g: gasla.null_model(g, gasla.pagerank), TypeError, "PageRankResult with ranks, iterations"),
    "shapes": (
        lambda g: gasla.null_model(g, lambda other: np.ones(1 if other is g else 2)),
        ValueError,
        "the result has shape (2,) on a random graph, and (1,) on the graph",
    ),
    "of motifs": (lambda g: gasla.motif_counts(g, model="x"), ValueError, "model is 'x'; expected one of"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_refused(case: str) -> None:
    call, error, message = WRONG[case]
    with pytest.raises(error, match=re.escape(message)):
        call(Graph.from_edges([0, 1, 2], [1, 2, 0]))
