"""Eigenvectors of the Laplacian: beside NetworkX and NumPy, on hard shapes, and what is refused."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import distributed, engines, verify
from gasla.arrays import moved
from gasla.verify import VerificationError

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]


def drawn(n: int, m: int, seed: int) -> gasla.Graph:
    """Loops, parallel edges, stored zeros; not symmetric."""
    rng = np.random.default_rng(seed)
    return gasla.Graph.from_edges(*rng.integers(0, n, (2, m)), rng.integers(0, 5, m).astype(float), n=n)


def check(graph: gasla.Graph, k: int, device: Any = "cpu", **options: Any) -> Any:
    found = gasla.spectral_embedding(graph.to(device), k, **options)
    vectors = moved(found.vectors, "cpu")
    verify.spectral_embedding(graph, vectors, found.values, **options)
    return vectors, found.values


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 14), st.integers(0, 40), st.integers(0, 10**6), st.booleans(), st.booleans(), st.data())
def test_small_graphs(n: int, m: int, seed: int, normalized: bool, weighted: bool, data: st.DataObject) -> None:
    check(drawn(n, m, seed), data.draw(st.integers(1, n - 1)), normalized=normalized, weighted=weighted)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("normalized", [False, True])
def test_larger_graphs_by_filters(normalized: bool, device: Any) -> None:
    check(drawn(300, 1500, 1), 4, device, normalized=normalized)
    check(drawn(300, 400, 2), 3, device, normalized=normalized)  # with several components
    check(gasla.Graph.from_networkx(nx.grid_2d_graph(9, 13)), 5, device, normalized=normalized)


def test_a_graph_with_more_vertices_than_the_verifier_writes_out() -> None:
    check(gasla.Graph.from_networkx(nx.barabasi_albert_graph(1500, 3, seed=1)), 3)


def test_expanders_and_meshes_need_few_products() -> None:
    """The eigenvalues next to the wanted ones are close in relation to the largest."""
    for G, most in ((nx.random_regular_graph(8, 900, seed=1), 150), (nx.grid_2d_graph(28, 32), 250)):
        graph = gasla.Graph.from_networkx(G)
        verify.spectral_embedding(graph, *gasla.spectral_embedding(graph, 2, max_iter=most))


def test_fiedler_vectors_are_networkxs() -> None:
    for G in (nx.karate_club_graph(), nx.path_graph(30), nx.barabasi_albert_graph(120, 2, seed=1)):
        for normalized in (False, True):
            graph = gasla.Graph.from_networkx(G)
            found = gasla.fiedler_vector(graph, normalized=normalized)
            right = nx.fiedler_vector(G, normalized=normalized, method="tracemin_lu", seed=1)
            verify.fiedler_vector(graph, found, normalized=normalized)
            if not normalized:
                assert abs(found @ right) / np.linalg.norm(right) == pytest.approx(1, abs=1e-4)


def test_signs_cut_a_barbell_in_the_middle() -> None:
    graph = gasla.Graph.from_networkx(nx.barbell_graph(40, 0))
    sides = gasla.fiedler_vector(graph) > 0
    assert sides[0] and (sides == (np.arange(80) < 40)).all()


def test_a_long_path_ends_within_seconds() -> None:
    n = 20_000
    path = gasla.Graph.from_edges(np.arange(n - 1), np.arange(1, n))
    found = gasla.spectral_embedding(path, 1, normalized=False, tol=1e-7, max_iter=10_000)
    assert found.values == pytest.approx([2 - 2 * np.cos(np.pi / n)], abs=2e-7)
    assert abs(np.diff(found.vectors[:, 0] > 0)).sum() == 1  # the signs cut it in two


def test_eigenvalues_of_higher_multiplicity_than_the_block_has_vectors() -> None:
    cliques = gasla.Graph.from_networkx(nx.disjoint_union_all([nx.complete_graph(5)] * 40))
    assert check(cliques, 2)[1].max() < 1e-9  # 40 times 0
    star = gasla.Graph.from_networkx(nx.star_graph(200))
    assert check(star, 3, normalized=False)[1] == pytest.approx([1, 1, 1])
    assert check(gasla.Graph.from_edges([], [], n=100), 3)[1] == pytest.approx([1, 1, 1])
    spokes = nx.Graph((0 if i % 10 == 0 else i, i + 1) for i in range(300))  # 30 paths of 10 from one vertex
    check(gasla.Graph.from_networkx(spokes), 4)
    check(gasla.Graph.from_networkx(spokes), 1, normalized=False)


def test_the_same_seed_gives_the_same_bits() -> None:
    graph = drawn(200, 900, 3)
    np.testing.assert_array_equal(*(gasla.spectral_embedding(graph, 2, seed=5).vectors for _ in range(2)))


@pytest.mark.parametrize("power", [-900, 900])
def test_weights_of_any_size(power: int) -> None:
    graph = drawn(100, 700, 3)
    other = graph.with_values(np.ldexp(graph.values, power))
    one, two = (gasla.spectral_embedding(g, 2, normalized=False) for g in (graph, other))
    np.testing.assert_allclose(two.values, np.ldexp(one.values, power), rtol=1e-9)
    verify.spectral_embedding(other, *two, normalized=False)


def test_unsupported_input_is_refused() -> None:
    graph = drawn(5, 9, 1)
    for k in (0, 5):
        with pytest.raises(ValueError, match=f"k is {k}; expected 1 to 4, less than the number of vertices"):
            gasla.spectral_embedding(graph, k)
    for n in (0, 1):
        with pytest.raises(ValueError, match=f"the graph has {n} vertices; expected 2 or more"):
            gasla.fiedler_vector(gasla.Graph.from_edges([], [], n=n))
    with pytest.raises(ValueError, match="expected a finite number, 0 or more"):
        gasla.spectral_embedding(graph.with_values(-graph.values - 1))
    with pytest.raises(ValueError, match="the graph has 2 components; expected one"):
        gasla.fiedler_vector(gasla.Graph.from_edges([0, 2], [1, 3]))
    joined = gasla.Graph.from_edges([0, 1, 2], [1, 2, 3], [1.0, 0.0, 1.0])
    for connected in (joined, distributed.Graph.from_graph(joined, distributed.ThreadRanks(2))):
        with engines.interpreted(), pytest.raises(ValueError, match="only edges of weight 0 connect the graph"):
            gasla.fiedler_vector(connected)
    with pytest.raises(RuntimeError, match="did not converge in 1 iterations; pass a larger max_iter"):
        gasla.fiedler_vector(gasla.Graph.from_networkx(nx.path_graph(3000)), max_iter=1)


def test_the_verifier_rejects_wrong_vectors() -> None:
    graph = gasla.Graph.from_networkx(nx.path_graph(6))
    vectors, values = gasla.spectral_embedding(graph, 3)
    with pytest.raises(VerificationError, match="eigenvalue 0 is"):
        verify.spectral_embedding(graph, vectors[:, 1:], values[1:])
    with pytest.raises(VerificationError, match="vector 0 is no eigenvector"):
        verify.spectral_embedding(graph, vectors[::-1, ::-1], values)
