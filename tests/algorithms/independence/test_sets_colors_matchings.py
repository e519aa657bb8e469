"""Independent sets, colourings and matchings: beside loops over the vertices and NetworkX, and on hard shapes."""

import importlib
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array

import gasla
import semirings
from gasla import datasets, verify
from gasla.cli.compute import on_host
from gasla.verify import VerificationError

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]


def entries(n: int, src: Any, dst: Any, weights: Any = None, both: bool = True) -> csr_array:
    """A matrix of float32 with these edges, in both directions if asked for; parallel ones stay."""
    src, dst = np.asarray(src, np.int32), np.asarray(dst, np.int32)
    weights = np.ones(len(src)) if weights is None else np.asarray(weights)
    if both:
        src, dst, weights = np.append(src, dst), np.append(dst, src), np.append(weights, weights)
    order = np.argsort(src, kind="stable")
    indptr = np.append(0, np.cumsum(np.bincount(src, minlength=n))).astype(np.int32)
    return csr_array((weights[order].astype(np.float32), dst[order], indptr), shape=(n, n))


def random(n: int, m: int, seed: int, **options: Any) -> csr_array:
    """Loops and parallel edges among them."""
    rng = np.random.default_rng(seed)
    return entries(n, *rng.integers(0, n, (2, m)), rng.integers(0, 5, m), **options)


def ring(n: int) -> csr_array:
    return entries(n, np.arange(n), (np.arange(n) + 1) % n)


def complete(n: int) -> csr_array:
    return csr_array(np.ones((n, n), np.float32))  # with loops


def but_thirds(n: int) -> csr_array:
    """All pairs but 0 and 1, 3 and 4, ..., so that two thirds of n colours are needed."""
    src, dst = np.triu_indices(n, 1)
    keep = (src % 3 > 0) | (dst > src + 1)
    return entries(n, src[keep], dst[keep])


SHAPES: dict[str, Callable[[], Any]] = {
    "random": lambda: random(60, 150, 1),
    "one way": lambda: random(60, 150, 2, both=False),
    "sparse": lambda: random(80, 50, 3),
    "path": lambda: entries(50, np.arange(49), np.arange(1, 50)),
    "odd ring": lambda: ring(51),
    "even ring": lambda: ring(50),
    "star": lambda: entries(300, np.zeros(299), np.arange(1, 300)),
    "star one way": lambda: entries(300, np.zeros(299), np.arange(1, 300), both=False),
    "more colours than two words hold": lambda: complete(200),
    "colours of three windows": lambda: but_thirds(390),
    "loops alone": lambda: entries(5, np.arange(5), np.arange(5)),
    "no edges": lambda: entries(5, [], []),
    "one vertex": lambda: entries(1, [], []),
    "no vertex": lambda: entries(0, [], []),
    "rmat": lambda: datasets.with_weights(datasets.rmat(9), largest=9),
    "grid": lambda: datasets.with_weights(datasets.grid(8), largest=9),
}


def neighbors_of(matrix: Any) -> list[set[int]]:
    """Who has an edge with whom, in either direction."""
    found: list[set[int]] = [set() for _ in range(matrix.shape[0])]
    for u, v in zip(*(ends.tolist() for ends in coo_array(matrix).coords)):
        if u != v:
            found[u].add(v)
            found[v].add(u)
    return found


def degrees(matrix: Any) -> np.ndarray:
    """Stored entries in a vertex's row and column."""
    src, dst = coo_array(matrix).coords
    return np.bincount(src, minlength=matrix.shape[0]) + np.bincount(dst, minlength=matrix.shape[0])


def hashes(n: int, seed: int) -> np.ndarray:
    return semirings.hash(np.uint64(seed), np.arange(n))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_independent_sets_are_those_of_a_loop(shape: str, device: Any) -> None:
    matrix, seed = SHAPES[shape](), 3
    n, neighbors = matrix.shape[0], neighbors_of(matrix)
    found = on_host(gasla.maximal_independent_set(gasla.Graph(matrix).to(device), seed=seed))
    verify.maximal_independent_set(matrix, found)
    few, drawn = np.minimum(degrees(matrix), 254), hashes(n, seed) >> np.uint64(40)
    expected: set[int] = set()
    for v in np.lexsort((-np.arange(n), -drawn.astype(np.int64), few)).tolist():
        if not expected & neighbors[v]:
            expected.add(v)
    assert set(np.flatnonzero(found).tolist()) == expected


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("strategy", ["largest_first", "random_sequential"])
@pytest.mark.parametrize("shape", SHAPES)
def test_colours_are_those_of_networkx(shape: str, strategy: Any, device: Any) -> None:
    """In the same order; but a component without odd cycles has two colours."""
    matrix, seed = SHAPES[shape](), 4
    n = matrix.shape[0]
    found = on_host(gasla.greedy_color(gasla.Graph(matrix).to(device), strategy, seed=seed))
    assert found.dtype == np.int32
    verify.greedy_color(matrix, found)
    most = degrees(matrix) if strategy == "largest_first" else np.zeros(n)
    drawn = (hashes(n, seed) >> np.uint64(32)).astype(np.int64)
    order = np.lexsort((-np.arange(n), -drawn, -most)).tolist()
    theirs = nx.Graph()
    theirs.add_nodes_from(range(n))
    theirs.add_edges_from((u, v) for u, others in enumerate(neighbors_of(matrix)) for v in others)
    expected = nx.greedy_color(theirs, strategy=lambda graph, colours: order)
    for part in nx.connected_components(theirs):
        if nx.is_bipartite(theirs.subgraph(part)):
            assert found[min(part)] == 0
            assert found[list(part)].max() == (len(part) > 1)
        else:
            assert all(found[v] == expected[v] for v in part)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_colours_by_priority_are_those_of_a_loop(shape: str, device: Any) -> None:
    matrix = SHAPES[shape]()
    priority = np.random.default_rng(5).integers(-2, 3, matrix.shape[0])
    given = gasla.arrays.moved(priority, device)
    found = on_host(gasla.greedy_color(gasla.Graph(matrix).to(device), priority=given))
    neighbors, expected = neighbors_of(matrix), np.full(len(priority), -1)
    for v in np.argsort(-priority, kind="stable").tolist():
        taken = {expected[u] for u in neighbors[v]}
        expected[v] = next(colour for colour in range(len(taken) + 1) if colour not in taken)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("wrong", [[1, 2], [[1], [2], [3]], ["a", "b", "c"], [0, np.nan, 1], [1j, 0, 0]])
def test_wrong_priorities_are_refused(wrong: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"^priority "):
        gasla.greedy_color(entries(3, [0, 1], [1, 2]), priority=wrong)


def greedy_matching(matrix: Any, weighted: bool) -> np.ndarray:
    """Mates by a loop over the edges, the best first."""
    n, few = matrix.shape[0], np.minimum(degrees(matrix), 255)
    src, dst = coo_array(matrix).coords
    weights = coo_array(matrix).data if weighted else np.zeros(len(src))
    mate = np.full(n, -1)
    for e in np.lexsort((src ^ dst, np.minimum(few[src], few[dst]), -weights)).tolist():
        u, v = src[e], dst[e]
        if u != v and mate[u] < 0 and mate[v] < 0:
            mate[u], mate[v] = v, u
    return mate


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rounds", [1, 64])
def test_matchings_are_those_of_a_loop(
    shape: str, weighted: bool, rounds: int, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module(gasla.maximal_matching.__module__), "ROUNDS", rounds)
    matrix = SHAPES[shape]()
    graph = gasla.Graph(matrix).to(device)
    found = on_host(gasla.maximal_matching(graph, weighted=weighted))
    assert found.dtype == np.int32
    verify.maximal_matching(matrix, found, weighted=weighted)
    np.testing.assert_array_equal(found, greedy_matching(matrix, weighted))
    with gasla.engines.programs_only():
        np.testing.assert_array_equal(found, on_host(gasla.maximal_matching(graph, weighted=weighted)))


def test_half_the_weight_and_half_the_edges_at_least() -> None:
    matrix = SHAPES["one way"]()
    theirs = nx.Graph()
    for u, v, w in zip(*coo_array(matrix).coords, coo_array(matrix).data.tolist()):
        known = theirs.get_edge_data(u, v, {"weight": w})["weight"]
        if u != v:
            theirs.add_edge(u, v, weight=max(w, known))
    heaviest = sum(theirs[u][v]["weight"] for u, v in nx.max_weight_matching(theirs))
    mate = gasla.maximal_matching(matrix, weighted=True)
    pairs = [(u, v) for u, v in enumerate(mate.tolist()) if u < v]
    assert nx.is_maximal_matching(theirs, set(pairs))
    assert sum(theirs[u][v]["weight"] for u, v in pairs) >= heaviest / 2
    most = len(nx.max_weight_matching(theirs, maxcardinality=True))
    assert 2 * (gasla.maximal_matching(matrix) >= 0).sum() // 2 >= most


@pytest.mark.thorough
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(-3, 3)), max_size=24), st.booleans())
def test_any_small_graph_gives_a_right_answer(edges: list[tuple[int, int, int]], both: bool) -> None:
    src, dst, weights = np.array(edges or np.empty((0, 3)), int).reshape(-1, 3).T
    matrix = entries(8, src, dst, weights, both)
    graph = gasla.Graph(matrix)
    verify.maximal_independent_set(matrix, gasla.maximal_independent_set(graph))
    verify.greedy_color(matrix, gasla.greedy_color(graph))
    for weighted in (False, True):
        mates = gasla.maximal_matching(graph, weighted=weighted)
        verify.maximal_matching(matrix, mates, weighted=weighted)
        np.testing.assert_array_equal(mates, greedy_matching(matrix, weighted))


@pytest.mark.parametrize("device", DEVICES)
def test_members_that_are_asked_for(device: Any) -> None:
    matrix = SHAPES["random"]()
    graph = gasla.Graph(matrix).to(device)
    away = next(v for v in range(1, 60) if v not in neighbors_of(matrix)[0])
    found = on_host(gasla.maximal_independent_set(graph, [0, away]))
    verify.maximal_independent_set(matrix, found, [0, away])
    beside = max(neighbors_of(matrix)[0])
    with pytest.raises(ValueError, match="vertex 0 and a neighbor are both among nodes; leave out one"):
        gasla.maximal_independent_set(graph, [0, beside])
    loops = gasla.Graph(SHAPES["loops alone"]()).to(device)
    assert on_host(gasla.maximal_independent_set(loops, [2])).all()


def test_another_seed_is_another_lot_and_the_same_seed_the_same() -> None:
    graph = gasla.Graph(datasets.grid(8))
    for function in (gasla.maximal_independent_set, lambda g, seed: gasla.greedy_color(datasets.rmat(7), seed=seed)):
        assert (function(graph, seed=1) == function(graph, seed=1)).all()
        assert (function(graph, seed=1) != function(graph, seed=2)).any()


def test_bad_arguments_are_refused() -> None:
    matrix = SHAPES["path"]()
    with pytest.raises(ValueError, match="node 50 is outside a graph of 50 vertices"):
        gasla.maximal_independent_set(matrix, [50])
    with pytest.raises(TypeError, match="node is 'a'; expected the id of a vertex"):
        gasla.maximal_independent_set(matrix, ["a"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="strategy is 'best'; expected one of 'largest_first'"):
        gasla.greedy_color(matrix, "best")  # type: ignore[arg-type]
    for function in (gasla.maximal_independent_set, gasla.greedy_color):
        with pytest.raises(ValueError, match="seed is -1; expected 0 or more"):
            function(matrix, seed=-1)  # type: ignore[operator]
    for bad in (np.nan, -np.inf):
        with pytest.raises(ValueError, match=f"weight of edge 1 is {bad}"):
            gasla.maximal_matching(gasla.Graph.from_edges([0, 1], [1, 2], [1, bad]), weighted=True)


def test_weights_that_change_are_noticed() -> None:
    matrix = entries(4, [0, 1, 2], [1, 2, 3], [1, 5, 1])
    graph = gasla.Graph(matrix)
    assert gasla.maximal_matching(graph, weighted=True).tolist() == [-1, 2, 1, -1]
    matrix.data[:] = 2
    assert gasla.maximal_matching(graph, weighted=True).tolist() == [1, 0, 3, 2]


def test_infinite_and_negative_weights() -> None:
    graph = gasla.Graph.from_edges([0, 1, 3], [1, 2, 4], np.array([np.inf, 7, -3], np.float32))
    assert gasla.maximal_matching(graph, weighted=True).tolist() == [1, 0, -1, 4, 3]


@pytest.mark.parametrize("device", DEVICES)
def test_a_long_path_of_rising_weights(device: Any) -> None:
    """Were it matched a round an edge, it would take minutes."""
    n = 200_000
    matrix = entries(n, np.arange(n - 1), np.arange(1, n), np.arange(n - 1))
    mates = on_host(gasla.maximal_matching(gasla.Graph(matrix).to(device), weighted=True))
    np.testing.assert_array_equal(mates, np.arange(n) ^ 1)


def test_rows_that_are_not_sorted() -> None:
    rows = SHAPES["rmat"]()
    matrix = rows.copy()
    for start, stop in zip(matrix.indptr, matrix.indptr[1:]):
        matrix.indices[start:stop] = matrix.indices[start:stop][::-1].copy()
        matrix.data[start:stop] = matrix.data[start:stop][::-1].copy()
    matrix.has_sorted_indices = False
    for function in (gasla.maximal_independent_set, gasla.greedy_color, gasla.maximal_matching):
        np.testing.assert_array_equal(function(matrix), function(rows))


@pytest.mark.slow  # other programs are compiled
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64, np.float64])
def test_types_of_weights_and_ids(dtype: Any) -> None:
    matrix = csr_array(SHAPES["rmat"]().astype(dtype))
    wide = gasla.Graph.from_csr(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data)
    mates = gasla.maximal_matching(wide, weighted=True)
    verify.maximal_matching(matrix, mates, weighted=True)
    np.testing.assert_array_equal(gasla.maximal_matching(matrix, weighted=True), mates)
    np.testing.assert_array_equal(gasla.maximal_independent_set(wide), gasla.maximal_independent_set(matrix))
    np.testing.assert_array_equal(gasla.greedy_color(wide), gasla.greedy_color(matrix))


@pytest.mark.parametrize("device", DEVICES)
def test_real_graphs_beside_igraph_and_networkit(device: Any) -> None:
    igraph, nk = pytest.importorskip("igraph"), pytest.importorskip("networkit")
    matrix = datasets.openflights().matrix if device == "gpu" else datasets.rmat(12)
    matrix = datasets.with_weights(csr_array(matrix + matrix.T))
    graph = gasla.Graph(matrix).to(device)
    upper = coo_array(matrix)
    keep = upper.coords[0] < upper.coords[1]
    ends = [x[keep] for x in upper.coords]
    colours = on_host(gasla.greedy_color(graph))
    verify.greedy_color(matrix, colours)
    theirs = igraph.Graph(n=matrix.shape[0], edges=np.column_stack(ends)).vertex_coloring_greedy()
    assert colours.max() + 1 <= 1.1 * (max(theirs) + 1)
    data = (upper.data[keep].astype(float), tuple(np.ascontiguousarray(x, np.uint64) for x in ends))
    for weighted in (False, True):
        native = nk.GraphFromCoo(data, n=matrix.shape[0], weighted=weighted)
        matcher = nk.matching.SuitorMatcher(native, False)
        matcher.run()
        size = matcher.getMatching().weight(native)
        mates = on_host(gasla.maximal_matching(graph, weighted=weighted))
        pair = mates[upper.coords[0]] == upper.coords[1]
        assert (upper.data[pair].sum() if weighted else pair.sum()) / 2 >= 0.95 * size
    verify.maximal_independent_set(matrix, on_host(gasla.maximal_independent_set(graph)))


def changed(values: np.ndarray, place: int, to: Any) -> np.ndarray:
    copy = values.copy()
    copy[place] = to
    return copy


def test_the_verifier_rejects_wrong_answers() -> None:
    matrix = SHAPES["random"]()
    members = gasla.maximal_independent_set(matrix)
    inside, outside = int(members.argmax()), int(members.argmin())
    for wrong in (changed(members, inside, False), changed(members, outside, True), members[1:], members.astype(int)):
        with pytest.raises(VerificationError):
            verify.maximal_independent_set(matrix, wrong)
    with pytest.raises(VerificationError, match="must be a member"):
        verify.maximal_independent_set(matrix, members, [outside])
    colours = gasla.greedy_color(matrix)
    most = int(colours.argmax())
    for wrong in (colours + 1, changed(colours, most, 0), changed(colours, most, colours.max() + 1), colours[1:]):
        with pytest.raises(VerificationError):
            verify.greedy_color(matrix, wrong)
    with pytest.raises(VerificationError, match="but its component is bipartite"):
        verify.greedy_color(entries(4, [0, 1, 2], [1, 2, 3]), [0, 1, 2, 0])
    mates = gasla.maximal_matching(matrix)
    u = int((mates >= 0).argmax())
    v = int(mates[u])
    for wrong in (changed(mates, u, -1), changed(changed(mates, u, -1), v, -1), changed(mates, u, 60), mates[1:]):
        with pytest.raises(VerificationError):
            verify.maximal_matching(matrix, wrong)
    with pytest.raises(VerificationError, match="not its neighbor"):
        verify.maximal_matching(csr_array((2, 2)), [1, 0])
