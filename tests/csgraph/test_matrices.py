"""Laplacians and spanning trees of gasla.csgraph beside SciPy's, which they equal to the last bit."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import csgraph as scipys

from gasla import csgraph
from gasla.algorithms.components.minimum_spanning_forest import ForestResult
from gasla.csgraph import passthrough
from tests.helpers.csgraph_cases import matrix, ours

__all__ = ["ours"]  # a fixture
LAPLACIANS = [
    {"normed": normed, "use_out_degree": out, "symmetrized": both}
    for normed in (False, True)
    for out in (False, True)
    for both in (False, True)
]


def same(found: Any, expected: Any) -> None:
    """Of one kind, type and shape, and equal to the last bit."""
    assert (type(found), found.dtype, found.shape) == (type(expected), expected.dtype, expected.shape)
    found, expected = (np.asarray(x.toarray() if sp.issparse(x) else x) for x in (found, expected))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "kind", [np.int32, *(pytest.param(k, marks=pytest.mark.thorough) for k in (np.float32, np.float64, np.complex64))]
)
def test_laplacians_are_scipys(kind: Any) -> None:
    for n, m in ((0, 0), (1, 0), (1, 3), (6, 0), (12, 50)):
        A = matrix(n, m, 5, kind)
        A.sum_duplicates()  # SciPy does so at times, and then sums in another order
        forms = [A, A.tocoo(), sp.csc_matrix(A), A.tolil(), A.todok(), A.tobsr(), A.toarray()]
        for form in forms + [A.todia()] * (m > 0):  # SciPy adds no empty ones
            for options in LAPLACIANS:
                before = form.copy()
                found, diagonal = csgraph.laplacian(form, return_diag=True, **options)
                expected = scipys.laplacian(form, return_diag=True, **options)
                same(found, expected[0])
                same(diagonal, expected[1])
                np.testing.assert_array_equal((form != before).sum(), 0)
                wide = {"dtype": np.complex128, **options}
                same(csgraph.laplacian(form, **wide), scipys.laplacian(form, **wide))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_laplacians_that_multiply() -> None:
    A, rng = matrix(12, 50, 6), np.random.default_rng(1)
    x = rng.random((12, 3))
    for form in (A, A.toarray()):
        for options in LAPLACIANS:
            lap = csgraph.laplacian(A, **options)
            product = csgraph.laplacian(form, form="function", **options)
            operator, diagonal = csgraph.laplacian(form, form="lo", return_diag=True, dtype=np.float64, **options)
            same(diagonal, scipys.laplacian(form, form="lo", return_diag=True, **options)[1])
            for y in (x, x[:, 0]):
                np.testing.assert_allclose(product(y), lap @ y)
                np.testing.assert_allclose(operator @ y, lap @ y)
    dense = A.toarray()
    product = csgraph.laplacian(dense, form="function")
    expected = product(x)
    dense[:] = 0
    np.testing.assert_array_equal(product(x), expected)


def test_a_laplacian_in_place_of_its_graph() -> None:
    A = matrix(9, 30, 7)
    whole = (10 * A).astype(np.int32)  # which is widened, lest degrees wrap
    for form in (A.tocoo(), A.toarray(), whole.tocoo(), sp.coo_matrix(whole), whole.toarray()):
        expected = scipys.laplacian(form)
        assert csgraph.laplacian(form, copy=False) is form
        same(form, expected)
    for options in ({}, {"copy": False, "symmetrized": True}, {"copy": False, "dtype": np.float64}):
        form = whole.tocoo()
        csgraph.laplacian(form, **options)
        same(form, whole.tocoo())


def test_a_laplacian_that_overflows_leaves_its_graph() -> None:
    form = sp.coo_array(np.array([[0, 100, 100], [1, 0, 0], [1, 0, 0]], np.int8))
    before = form.toarray()
    with pytest.raises(ValueError, match="holds 200, which int8 doesn't"):
        csgraph.laplacian(form, use_out_degree=True, copy=False)
    np.testing.assert_array_equal(form.toarray(), before)


def test_what_has_no_laplacian(ours: list[str]) -> None:
    A = matrix(5, 9, 8)
    with pytest.raises(ValueError, match="Invalid form: 'x'"):
        csgraph.laplacian(A, form="x")
    with pytest.raises(ValueError, match="has shape"):
        csgraph.laplacian(A[:2])
    for kind in (bool, np.uint8):
        with pytest.raises(TypeError, match="no negative numbers"):
            csgraph.laplacian(A.astype(kind))
        as_floats = scipys.laplacian(A.astype(kind).astype(float), normed=True)
        same(csgraph.laplacian(A.astype(kind), normed=True), as_floats)
    for form, name in ((A.copy(), "indices"), (A.tocsc(), "indices"), (A.tocoo(), "row")):
        getattr(form, name)[0] = 77
        for function in (csgraph.laplacian, csgraph.minimum_spanning_tree):
            with pytest.raises(ValueError, match="77"):
                function(form)


def kruskals(graph: Any) -> Any:
    """What `minimum_spanning_forest` promises, in Python: no program needs to be compiled for it."""
    src, dst = graph.edges()
    low, high = np.minimum(src, dst), np.maximum(src, dst)
    tree, edges = list(range(graph.n)), []
    for e in np.lexsort((np.arange(graph.m), high, low, graph.values)).tolist():
        one, other = tree[low[e]], tree[high[e]]
        if one != other:
            edges.append(e)
            tree = [one if root == other else root for root in tree]
    return ForestResult(np.sort(np.array(edges, np.int64)), None)


def test_spanning_trees_equal_those_of_scipy(ours: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gasla.csgraph.spanning_tree.minimum_spanning_forest", kruskals)
    check_spanning_trees(ids=np.int32)
    assert not ours


@pytest.mark.slow
def test_spanning_trees_by_programs(ours: list[str]) -> None:
    """Slow: programs of two types of weights are compiled."""
    for ids in (np.int32, np.int64):
        check_spanning_trees(ids)
    assert not ours


def check_spanning_trees(ids: Any) -> None:
    """They are SciPy's, its choice among edges of a weight too; stored zeros join, and are not shown."""
    rng = np.random.default_rng(3)
    for n, m in ((0, 0), (1, 0), (1, 3), (6, 0), (9, 12), (30, 40), (30, 200)):
        A = matrix(n, m, n + m)
        odd = A.copy()
        odd.data[: m // 3] = rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0], m // 3)
        both = (A + A.T).tocsr()
        both.sort_indices()
        wide = sp.csr_matrix(A)
        wide.indices, wide.indptr = wide.indices.astype(ids), wide.indptr.astype(ids)
        masked = np.ma.array(A.toarray(), mask=A.toarray() < 2)
        for form in (A, odd, both, A.tocsc(), A.tocoo(), A.tolil(), A.toarray(), wide, masked, A.astype(np.int8)):
            before = form.copy()
            expected = scipys.minimum_spanning_tree(form)
            for overwrite in (False, True):
                found = csgraph.minimum_spanning_tree(form, overwrite=overwrite)
                same(found, expected)
                np.testing.assert_array_equal(found.indices, expected.indices)
            np.testing.assert_array_equal(getattr(form, "data", form), getattr(before, "data", before))
    with pytest.raises(ValueError, match="has shape"):
        csgraph.minimum_spanning_tree(np.zeros((2, 3)))


def test_which_spanning_trees_are_handed_over(ours: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    passthrough.SPARES_TIME = True
    A = matrix(9, 40, 2)
    csgraph.minimum_spanning_tree(A)
    monkeypatch.setattr("gasla.csgraph.spanning_tree.FEW", 0)
    csgraph.minimum_spanning_tree(sp.eye_array(9, format="csr"))
    monkeypatch.setattr("gasla.csgraph.spanning_tree.FEW_EACH", 0)
    csgraph.minimum_spanning_tree(A)
    assert ours == ["few edges", "few edges", "a matrix that is not symmetric"]


@pytest.mark.gpu
def test_laplacians_and_spanning_trees_of_cupys_arrays() -> None:
    import cupy
    import cupyx.scipy.sparse as cusp

    A = matrix(50, 200, 4)
    A.data[:3] = np.nan, -np.inf, np.inf
    for form in (A, sp.csr_matrix(A + A.T)):
        tree = csgraph.minimum_spanning_tree(cusp.csr_matrix(form))
        assert cusp.isspmatrix_csr(tree)
        np.testing.assert_array_equal(tree.get().toarray(), scipys.minimum_spanning_tree(form).toarray())
    A = matrix(50, 200, 4)
    x = np.random.default_rng(2).random((50, 2))
    for options in LAPLACIANS:
        expected, diagonal = scipys.laplacian(A, return_diag=True, **options)
        for there in (cusp.csr_matrix(A), cusp.csc_matrix(A), cusp.coo_matrix(A), cupy.asarray(A.toarray())):
            found, diag = csgraph.laplacian(there, return_diag=True, **options)
            dense = found.toarray() if cusp.issparse(found) else found
            np.testing.assert_allclose(dense.get(), expected.toarray(), rtol=1e-12)
            np.testing.assert_allclose(diag.get(), diagonal, rtol=1e-12)
        product = csgraph.laplacian(cusp.csr_matrix(A), form="function", **options)
        np.testing.assert_allclose(product(cupy.asarray(x)).get(), expected @ x, rtol=1e-10)
        operator = csgraph.laplacian(cusp.csr_matrix(A), form="lo", **options)
        np.testing.assert_allclose((operator @ cupy.asarray(x)).get(), expected @ x, rtol=1e-10)
