"""Verifiers of eigenvectors of the Laplacian, by residuals and by eigenvalues that NumPy and SciPy compute."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.graph.graph import as_graph
from gasla.verify._common import Array, VerificationError, components_of, edges_of, verifier, vertex_answer

DENSE = 1000  # largest number of vertices for which all eigenvalues of a dense matrix are computed


@verifier("shares")
def spectral_embedding(
    graph: Any,
    vectors: ArrayLike,
    values: ArrayLike,
    *,
    normalized: bool = True,
    weighted: bool = True,
    tolerance: float = 1e-5,
) -> None:
    """Verify `vectors` and `values` of `gasla.spectral_embedding`.

    The Laplacian times each vector is the vector times its eigenvalue, the vectors are orthonormal, and SciPy finds no
    smaller eigenvalues. The largest error that is allowed is `tolerance`, relative to the largest degree.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> edge = csr_array([[0, 1.0], [1.0, 0]])
    >>> spectral_embedding(edge, [[0.5**0.5], [-(0.5**0.5)]], [2.0])
    >>> spectral_embedding(edge, [[0.5**0.5], [-(0.5**0.5)]], [1.0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vector 0 is no eigenvector of 1.0: the residual is 1
    """
    n = as_graph(graph).n
    x, eigenvalues = np.asarray(vectors), np.asarray(values)
    if (
        x.ndim != 2
        or len(x) != n
        or eigenvalues.shape != (x.shape[1],)
        or "f" not in (x.dtype.kind + eigenvalues.dtype.kind)
    ):
        raise VerificationError(
            f"vectors, values: floats of shapes ({n}, k) and (k,) were expected, not {x.shape} and {eigenvalues.shape}"
        )
    laplacian, known, exponent = _laplacian(graph, weighted=weighted, normalized=normalized)
    exact = (x * (laplacian @ x)).sum(axis=0)
    # where both the answer and the right eigenvalue are too large for float64, so that both are infinite
    overflows_in_both = (eigenvalues == np.inf) & (np.ldexp(exact, exponent) == np.inf)
    eigenvalues = np.where(overflows_in_both, exact, np.ldexp(eigenvalues, -exponent))
    if not (np.isfinite(x).all() and np.isfinite(eigenvalues).all()):
        raise VerificationError("a vector or an eigenvalue is not finite")
    size = max(1.0, float(abs(laplacian).sum(axis=1).max())) if n else 1.0
    errors = abs(x.T @ x - np.eye(x.shape[1])).max(initial=0), abs(known @ x).max(initial=0)
    if not np.max(errors) <= tolerance:
        raise VerificationError(f"the vectors are not orthonormal: the error is {np.max(errors):.3g}")
    for i in range(x.shape[1]):
        residual = float(np.linalg.norm(laplacian @ x[:, i] - eigenvalues[i] * x[:, i]))
        if not residual <= tolerance * size:
            raise VerificationError(f"vector {i} is no eigenvector of {eigenvalues[i]}: the residual is {residual:.3g}")
    expected = _smallest(laplacian, known, x.shape[1])
    wrong = np.flatnonzero(abs(eigenvalues - expected) > tolerance * size)
    if len(wrong):
        i = int(wrong[0])
        raise VerificationError(f"eigenvalue {i} is {eigenvalues[i]:.6g}; expected {expected[i]:.6g}")


@verifier("shares")
def fiedler_vector(
    graph: Any, vector: ArrayLike, *, normalized: bool = False, weighted: bool = True, tolerance: float = 1e-5
) -> None:
    """Verify `vector` of `gasla.fiedler_vector`, as for `spectral_embedding` up to the `tolerance`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> edge = csr_array([[0, 1.0], [1.0, 0]])
    >>> fiedler_vector(edge, [0.5**0.5, -(0.5**0.5)])
    >>> fiedler_vector(edge, [0.5**0.5, 0.5**0.5])
    Traceback (most recent call last):
    gasla.verify.VerificationError: the vectors are not orthonormal: the error is 1
    """
    edges = edges_of(graph)
    count = components_of(edges.matrix(keep=edges.weight > 0 if weighted else None)).max(initial=-1) + 1
    if count > 1:
        raise VerificationError(f"the graph has {count} components; expected an error instead of a vector")
    x = vertex_answer("vector", vector, edges.n, "f").astype(np.float64)
    laplacian, _, exponent = _laplacian(graph, weighted=weighted, normalized=normalized)
    value = np.ldexp(x @ (laplacian @ x), exponent)
    options: Any = {"normalized": normalized, "weighted": weighted, "tolerance": tolerance}
    spectral_embedding(graph, x[:, None], np.array([value]), **options)


def _laplacian(graph: Any, *, weighted: bool, normalized: bool) -> tuple[Any, Array, int]:
    """Return the Laplacian of a graph as a sparse matrix, its eigenvector of the eigenvalue 0, and an exponent.

    The matrix was divided by 2 to the power of the exponent, so that large weights do not overflow. The eigenvector
    has length 1.
    """
    from scipy.sparse import diags_array

    edges = edges_of(graph)
    weight = np.where(edges.src == edges.dst, 0, edges.weight if weighted else 1.0)
    exponent = max(int(np.frexp(weight.max())[1]), -1000) if len(weight) else 0
    matrix = edges.matrix(np.ldexp(weight, -exponent))
    mean: Any = (matrix + matrix.T) / 2
    degree = np.asarray(mean.sum(axis=1)).ravel()
    known = np.sqrt(degree) if normalized and degree.any() else np.ones(edges.n)
    known = known / max(float(np.linalg.norm(known)), 1e-300)
    if not normalized:
        return diags_array(degree) - mean, known, exponent
    inverse = np.divide(1, np.sqrt(degree), out=np.zeros(edges.n), where=degree > 0)
    return diags_array(np.ones(edges.n)) - diags_array(inverse) @ mean @ diags_array(inverse), known, 0


def _smallest(laplacian: Any, known: Array, k: int) -> Array:
    """Return the k smallest eigenvalues of a Laplacian, apart from the eigenvalue 0 whose eigenvector is `known`."""
    if laplacian.shape[0] <= DENSE:
        dense = laplacian.toarray() + 1e3 * max(1.0, abs(laplacian).max()) * np.outer(known, known)
        smallest: Array = np.linalg.eigvalsh(dense)[:k]
        return smallest
    from scipy.sparse.linalg import eigsh

    solve: Any = eigsh
    largest: Array = np.sort(solve(laplacian.tocsc(), k + 1, sigma=-1e-3, return_eigenvectors=False))[1:]
    return largest
