"""PageRank for many personalisations at once is what calls one by one give, and NetworkX."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

import gasla
from gasla import datasets, verify
from gasla.arrays import moved

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]
N = 100


def directed(kind: Any = np.float64) -> csr_array:
    """Dead ends, loops, stored zeros, vertices without edges."""
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, N - 5, (2, 300)).astype(np.int32)  # of wide ones all would be compiled once more
    keep = (src % 7 != 0) | (src == 0)
    return csr_array((rng.integers(0, 5, keep.sum()).astype(kind), (src[keep], dst[keep])), shape=(N, N))


def homes(k: int) -> np.ndarray:
    drawn = np.random.default_rng(k).random((k, N))
    return drawn * (drawn > 0.8) + np.eye(k, N)


def check(matrix: Any, given: Any, found: Any, tol: float = 1e-9, **options: Any) -> None:
    """Each row is what a call of its own gives, up to what both may differ from the limit."""
    assert found.ranks.shape == (len(given), matrix.shape[0])
    assert found.ranks.flags.c_contiguous
    assert found.converged
    assert found.residual < tol
    for row, (one, ranks) in enumerate(zip(given, found.ranks)):
        theirs = {name: x[row] if np.ndim(x) == 2 else x for name, x in options.items()}
        alone = gasla.pagerank(matrix, personalization=one, tol=tol, max_iter=500, **theirs)
        assert alone.iterations <= found.iterations
        np.testing.assert_allclose(ranks, alone.ranks, atol=10 * tol)
        theirs.pop("nstart", None)
        verify.pagerank(matrix, ranks, personalization=one, tol=tol, **theirs)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("k", [3, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 8, 11))])
@pytest.mark.slow
def test_as_many_as_there_are(k: int, device: Any) -> None:
    graph, given = gasla.Graph(directed()).to(device), homes(k)
    found = gasla.pagerank(graph, personalization=moved(given, device), tol=1e-9, max_iter=500)
    found = found._replace(ranks=moved(found.ranks, "cpu"))
    check(directed(), given, found)


@pytest.mark.slow  # a program each
@pytest.mark.parametrize(
    "options",
    [
        {"weighted": False},
        {"dangling": np.arange(N)},
        {"dangling": np.random.default_rng(3).random((3, N)), "weighted": False},
    ],
    ids=["unweighted", "dangling", "dangling each"],
)
def test_every_option_keeps_the_equations(options: dict[str, Any]) -> None:
    given = homes(3)
    found = gasla.pagerank(directed(), personalization=given, tol=1e-9, max_iter=500, **options)
    check(directed(), given, found, **options)


@pytest.mark.thorough
@pytest.mark.parametrize("start", [np.arange(N), np.random.default_rng(4).random((3, N))], ids=["one", "each"])
def test_any_start_converges_to_the_same_ranks(start: np.ndarray) -> None:
    options = {"nstart": start, "alpha": 0.5}
    found = gasla.pagerank(directed(), personalization=homes(3), tol=1e-9, max_iter=500, **options)
    check(directed(), homes(3), found, **options)


def test_lists_of_dicts_and_of_arrays() -> None:
    dicts = [{0: 1}, {3: 2, 4: 1}, {99: 5}]
    found = gasla.pagerank(directed(), personalization=dicts, tol=1e-9, max_iter=500)
    check(directed(), dicts, found)
    rows = np.zeros((3, N))
    for row, one in zip(rows, dicts):
        row[list(one)] = list(one.values())
    again = gasla.pagerank(directed(), personalization=list(rows), tol=1e-9, max_iter=500)
    np.testing.assert_array_equal(again.ranks, found.ranks)


def test_ranks_equal_those_of_networkx() -> None:
    matrix = datasets.rmat(6).astype(np.float64)
    theirs, dicts = nx.from_scipy_sparse_array(csr_array(matrix)), [{1: 1.0}, {5: 2.0, 6: 1.0}, {7: 1.0}]
    found = gasla.pagerank(matrix, personalization=dicts, tol=1e-12, max_iter=500, dtype=np.float64)
    for one, ranks in zip(dicts, found.ranks):
        expected = nx.pagerank(theirs, personalization=one, tol=1e-14, max_iter=500)
        np.testing.assert_allclose(ranks, [expected[v] for v in range(64)], atol=1e-10)


@pytest.mark.slow
def test_float32_weights_give_float32_ranks() -> None:
    found = gasla.pagerank(directed(np.float32), personalization=homes(3), tol=1e-5)
    assert found.ranks.dtype == np.float32
    check(directed(np.float32), homes(3), found, tol=1e-5)


@pytest.mark.slow
def test_weights_near_the_ends_of_their_type() -> None:
    matrix = directed(np.float32)
    matrix.data *= np.float32(1e37)
    found = gasla.pagerank(matrix, personalization=homes(3), tol=1e-4, max_iter=500)
    check(matrix, homes(3), found, tol=1e-4)


@pytest.mark.slow
def test_just_so_many_iterations() -> None:
    found = gasla.pagerank(directed(), personalization=homes(3), tol=0, max_iter=7)
    assert found.iterations == 7
    for row, one in enumerate(homes(3)):
        alone = gasla.pagerank(directed(), personalization=one, tol=0, max_iter=7)
        np.testing.assert_allclose(found.ranks[row], alone.ranks, rtol=1e-12)
        assert found.residual >= alone.residual * (1 - 1e-9)


def test_a_run_that_does_not_converge_warns() -> None:
    with pytest.warns(gasla.ConvergenceWarning, match="after 3 iterations"):
        found = gasla.pagerank(directed(), personalization=homes(3), max_iter=3)
    assert not found.converged
    assert found.residual >= 1e-6


@pytest.mark.slow
def test_int64_ids_are_supported() -> None:
    matrix = directed()
    wide = gasla.Graph.from_csr(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data)
    found, right = (gasla.pagerank(graph, personalization=homes(3), tol=1e-9) for graph in (wide, matrix))
    np.testing.assert_allclose(found.ranks, right.ranks, rtol=1e-12)


def test_arguments_are_not_changed() -> None:
    given = homes(3)
    before = given.copy()
    gasla.pagerank(directed(), personalization=given, nstart=given)
    np.testing.assert_array_equal(given, before)


def test_empty_graphs_give_empty_answers() -> None:
    found = gasla.pagerank(csr_array((0, 0)), personalization=np.ones((3, 0)))
    assert found.ranks.shape == (3, 0)
    assert found.converged
    single = gasla.pagerank(csr_array((1, 1)), personalization=[[1.0], [2.0], [3.0]])
    np.testing.assert_array_equal(single.ranks, [[1], [1], [1]])
    alone = gasla.pagerank(csr_array((3, 3)), personalization=np.eye(3))
    np.testing.assert_allclose(alone.ranks, np.eye(3), atol=1e-6)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "transposed": ({"personalization": np.ones((N, 3))}, r"personalization has shape \(3,\); expected \(100,\)"),
    "three dimensions": ({"personalization": np.ones((2, 3, N))}, r"personalization has shape \(3, 100\)"),
    "none": ({"personalization": np.ones((0, N))}, "personalization holds no distribution"),
    "one of zeros": ({"personalization": np.eye(2, N) * [[0], [1]]}, "personalization has only zeros"),
    "NaN": ({"personalization": np.full((2, N), np.nan)}, "personalization of vertex 0 is nan; expected a finite"),
    "a vertex that isn't there": ({"personalization": [{0: 1}, {N: 1}]}, "personalization: vertex 100 is outside"),
    "other starts": ({"personalization": homes(3), "nstart": homes(2)}, "nstart has 2 distributions; expected one, or"),
    "several dangling alone": ({"dangling": homes(2)}, r"dangling has shape \(2, 100\)"),
    "not normalised": ({"personalization": homes(2), "normalized": False}, "normalized=False"),
}


@pytest.mark.parametrize("case", BAD)
def test_unsupported_input_is_refused(case: str) -> None:
    options, words = BAD[case]
    with pytest.raises(ValueError, match=words):
        gasla.pagerank(directed(), **options)
