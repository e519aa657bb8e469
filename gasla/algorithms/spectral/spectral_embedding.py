"""Spectral embedding gives vertices coordinates from eigenvectors of the Laplacian, in which neighbors are close."""

from typing import Any, NamedTuple

import numpy as np

from gasla.algorithms.spectral.laplacian import laplacian_of, smallest
from gasla.arrays import moved
from gasla.graph.arguments import MOST_SEED, check_flags, real_number, whole_number
from gasla.graph.graph import as_graph
from gasla.graph.weights import takes_weight
from gasla.operations.on_one_device import on_one_device
from gasla.rows import UNWEIGHTED, Command, Row

MOST_PRODUCTS = 20_000  # largest number of products of the Laplacian with a block of vectors


class SpectralResult(NamedTuple):
    """Coordinates of the vertices, with an eigenvector in each column, and the eigenvalues in ascending order."""

    vectors: Any
    values: Any


@takes_weight
@on_one_device()
def spectral_embedding(
    graph: Any,
    k: int = 2,
    *,
    normalized: bool = True,
    weighted: bool = True,
    tol: float = 1e-8,
    max_iter: int = MOST_PRODUCTS,
    seed: int = 0,
) -> SpectralResult:
    """Compute the eigenvectors of a graph's Laplacian with the smallest eigenvalues, besides the trivial one.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as undirected: a matrix that is not symmetric is replaced by the mean of itself and its transpose. Self
        loops are ignored; parallel edges add up.
    k : int, default 2
        The number of eigenvectors, less than n.
    normalized : bool, default True
        Whether to use the normalized Laplacian I - D^-1/2 A D^-1/2, where D has the degrees; otherwise D - A.
    weighted : bool, default True
        Whether values are weights, 0 or more; otherwise each edge has weight 1.
    tol : float, default 1e-8
        Accuracy of the eigenvalues, relative to the largest.
    max_iter : int, default 20,000
        Maximum number of products of the Laplacian with a block of vectors: 4 for each 16 eigenvectors.
    seed : int
        Seed of the random vectors that the search starts from.

    Returns
    -------
    SpectralResult(vectors, values)
        `vectors`, (n, k) float64, on the device of the graph: orthogonal columns of length 1, in which the first entry
        of nearly the largest size is positive. `values`, (k,) float64 of NumPy, ascend.

    Raises
    ------
    TypeError, ValueError
        If `k` is not less than n, or a weight is negative, infinite or NaN.
    RuntimeError
        If the eigenvectors do not converge.

    See Also
    --------
    gasla.fiedler_vector : the first one of a connected graph.
    gasla.layout : coordinates by forces.
    gasla.csgraph.laplacian : the matrix itself.

    Notes
    -----
    The trivial eigenvector is constant, or with `normalized` in proportion to the root of the degree; its eigenvalue is
    0. Each further component of the graph adds an eigenvalue of 0. With `normalized` a vertex without edges has an
    eigenvalue of 1 for itself.

    A basis grows by blocks of vectors that Chebyshev polynomials of the matrix have filtered, and the best vectors in
    its span are taken (Zhou and Saad), all on the graph's device. A vector has converged when
    ``norm(L @ x - value * x)`` is at most `tol` times a bound of the largest eigenvalue: 2 if `normalized`, else twice
    the largest degree. Eigenvectors whose eigenvalues differ by less may be mixed. So a graph of large diameter, whose
    eigenvalues are small and close, may need a smaller `tol`.

    The number of products grows as the inverse root of the gap between the smallest eigenvalues: of 2^18 vertices, an
    R-MAT graph takes 50 by default, a random graph 600, and a grid 1,800. The vectors take up to 56 k + 800 bytes per
    vertex. For up to 64 vertices, or with ``k > n // 4``, the matrix is written out, and takes up to 24 n^2 bytes while
    it is solved.

    References
    ----------
    M. Belkin, P. Niyogi: Laplacian Eigenmaps for Dimensionality Reduction and Data Representation. Neural Computation
    15 (2003).

    Y. Zhou, Y. Saad: A Chebyshev-Davidson algorithm for large symmetric eigenproblems. SIAM Journal on Matrix Analysis
    and Applications 29 (2007).

    Examples
    --------
    Two triangles, joined by an edge:

    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3]).symmetrized()
    >>> found = gasla.spectral_embedding(graph, 1)
    >>> (found.vectors[:, 0] > 0).astype(int)
    array([1, 1, 1, 0, 0, 0])
    """
    graph = as_graph(graph)
    check_flags(normalized=normalized, weighted=weighted)
    count, seed_number = whole_number("k", k), whole_number("seed", seed, MOST_SEED)
    accuracy = real_number("tol", tol, above=True)
    max_products = whole_number("max_iter", max_iter)
    if not 0 < count < graph.n:
        if graph.n < 2:
            raise ValueError(f"the graph has {graph.n} vertices; expected 2 or more")
        raise ValueError(f"k is {k}; expected 1 to {graph.n - 1}, less than the number of vertices")
    laplacian = laplacian_of(graph, weighted=weighted, normalized=normalized)
    values, vectors = smallest(laplacian, count, seed_number, accuracy, max_products)
    with np.errstate(over="ignore"):  # an eigenvalue beyond float64 is inf, without a warning
        return SpectralResult(moved(vectors, graph.device), np.ldexp(values, laplacian.exponent))


ROW = Row(
    spectral_embedding,
    Command(
        *("spectral-embedding", {"vectors": "coordinate"}),
        lambda f: f"coordinates by the eigenvalues {', '.join(f'{x:.4g}' for x in f['values'])}:",
        *(lambda f: f.coordinates("vectors"), "rows"),
        options=UNWEIGHTED,
    ),
    method="LOBPCG (Knyazev, SIAM J. Scientific Computing 23, 2001) or thick-restart Lanczos, as `eigsh`",
    longer="Hundreds of products with a polynomial of the matrix, as small eigenvalues are close together.",
)
