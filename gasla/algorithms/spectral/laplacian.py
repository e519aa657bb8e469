"""The Laplacian of an undirected graph as a product, and its eigenvectors of the smallest eigenvalues.

The known eigenvector of eigenvalue 0 is moved to the other end of the spectrum, and the rest is turned around, so that
Lanczos' method finds the wanted eigenvectors as those of the largest eigenvalues, without solving a system.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np

from gasla.arrays import module_of, moved
from gasla.graph.arguments import check_weights
from gasla.graph.graph import Graph
from gasla.operations.multiply import mxv, vxm

DENSE = 64  # vertices of graphs whose Laplacian is written out
BASIS = 40  # least number of vectors of Lanczos' method


class Laplacian(NamedTuple):
    """A Laplacian: its product with a vector on the CPU, its known eigenvector, and a bound of its eigenvalues."""

    n: int
    product: Callable[[Any], Any]
    known: Any
    bound: float
    exponent: int  # weights were divided by two to this power


def laplacian_of(graph: Graph, *, weighted: bool, normalized: bool) -> Laplacian:
    """The Laplacian of the mean of a matrix and its transpose, without loops."""
    xp: Any = module_of(graph.device)
    plain, exponent = _weights(graph, weighted)
    if plain.has_self_loops:
        src, dst = plain.edges()
        plain = plain.select(src != dst)
    is_symmetric = plain.has_symmetric_values

    def adjacency(x: Any) -> Any:
        there = xp.asarray(x, np.float64)
        found = mxv(plain, there) if is_symmetric else (mxv(plain, there) + vxm(there, plain)) / 2
        return moved(found, "cpu")

    degree = adjacency(np.ones(graph.n))
    if not normalized:
        known = np.full(graph.n, 1 / max(graph.n, 1) ** 0.5)
        return Laplacian(
            graph.n, lambda x: degree * x - adjacency(x), known, 2 * float(degree.max(initial=0)) or 1.0, exponent
        )
    root = np.sqrt(degree)
    inverse = np.divide(1, root, out=np.zeros(graph.n), where=root > 0)
    norm = float(np.sqrt(degree.sum()))
    known = root / norm if norm > 0 else np.full(graph.n, 1 / max(graph.n, 1) ** 0.5)
    return Laplacian(graph.n, lambda x: x - inverse * adjacency(inverse * x), known, 2.0, 0)


def _weights(graph: Graph, weighted: bool) -> tuple[Graph, int]:
    """The graph with float64 weights of at most 1, and the binary exponent that they were divided by."""
    xp: Any = module_of(graph.device)
    if not weighted or graph.values is None:
        return graph.with_values(xp.ones(graph.m)), 0
    graph.notice_values()
    check_weights(graph, shares=True)
    values = graph.values.astype(np.float64)
    exponent = max(int(np.frexp(float(values.max()))[1]), -1000) if len(values) else 0
    return graph.with_values(values * float(np.ldexp(1.0, -exponent))), exponent


def smallest(laplacian: Laplacian, k: int, seed: int, tol: float, max_iter: int | None) -> tuple[Any, Any]:
    """The k smallest eigenvalues besides the known one, ascending, and their eigenvectors, one a column.

    Lanczos' method finds one eigenvector of a multiple eigenvalue. So found ones are moved out of the way, too, until
    another search finds none that belongs among the k.
    """
    n, bound, known = laplacian.n, laplacian.bound, laplacian.known[:, None]
    if n <= DENSE or k > n // 4:
        matrix = np.array([_turned(laplacian, known, row) for row in np.eye(n)])
        found, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        values, vectors = bound - found[::-1][:k], vectors[:, ::-1][:, :k]
        return np.maximum(values, 0), _signed(vectors)
    values, vectors = np.zeros(0), np.zeros((n, 0))
    while True:
        found, more = _largest(laplacian, np.hstack([known, vectors]), k, seed, tol, max_iter)
        is_last = len(values) == k and bool(bound - found.max() >= values.max() - 1e-9 * bound)
        if not is_last:
            vectors = np.linalg.qr(np.hstack([vectors, more]))[0] if len(values) else more
            values = np.append(values, bound - found)
            order = values.argsort(kind="stable")[:k]
            values, vectors = values[order], vectors[:, order]
        else:
            return np.maximum(values, 0), _signed(vectors)


def _turned(laplacian: Laplacian, known: Any, x: Any) -> Any:
    """The product with the bound minus the Laplacian, in which known eigenvectors have negative eigenvalues."""
    x = np.ravel(x)
    return laplacian.bound * (x - 2 * known @ (known.T @ x)) - laplacian.product(x)


def _largest(laplacian: Laplacian, known: Any, k: int, seed: int, tol: float, max_iter: int | None) -> tuple[Any, Any]:
    """The k largest eigenvalues of `_turned`, and their eigenvectors."""
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    n, solve = laplacian.n, cast(Any, eigsh)
    operator: Any = LinearOperator((n, n), matvec=lambda x: _turned(laplacian, known, x), dtype=np.float64)
    begin = np.random.default_rng(seed).standard_normal(n)
    begin -= known @ (known.T @ begin)
    basis = min(n - 1, max(2 * k + 1, BASIS))
    try:
        found, vectors = solve(operator, k, which="LA", v0=begin, ncv=basis, tol=tol, maxiter=max_iter)
    except ArpackNoConvergence:
        raise RuntimeError(
            f"the {k} eigenvectors did not converge in {'10 n' if max_iter is None else max_iter} iterations; pass a "
            "larger max_iter, or a larger tol"
        ) from None
    return found, vectors


def _signed(vectors: Any) -> Any:
    """The vectors with the sign by which their first entry of nearly the largest size is positive."""
    size = abs(vectors)
    first = (size >= (1 - 1e-6) * size.max(axis=0)).argmax(axis=0)
    return vectors * np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
