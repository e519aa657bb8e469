"""Products with the Laplacian of an undirected graph, and its eigenvectors of the smallest eigenvalues.

The method is Chebyshev-Davidson. A basis grows by blocks of vectors. Each block has the best approximations in the span
of the basis, multiplied by a polynomial of the Laplacian that is large on the wanted eigenvalues and small on all
above the middle of those that the basis has. When the basis is full, its better half replaces it. In a mesh the
polynomial's degree is high, and nearly all time is spent on products. In an expander the degree is low, and the basis
does most of the work. No linear system is solved. A vertex program multiplies, on the graph's device or over ranks. The
basis is on that device, and over ranks on the CPU.

Y. Zhou, Y. Saad: A Chebyshev-Davidson algorithm for large symmetric eigenproblems. SIAM Journal on Matrix Analysis and
Applications 29 (2007).
"""

from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.arrays import Device, array_module, module_of, moved
from gasla.graph.arguments import weight_range
from gasla.graph.graph import Graph
from gasla.graph.memory_limit import require_room
from gasla.operations.prepare import Prepared, prepare
from gasla.program import VertexProgram, edge, option, parameter, vertex

DENSE = 64  # up to this number of vertices, eigenvectors are computed from a dense matrix
WIDTH = 4  # number of vectors that one run of the vertex program multiplies
EXTRA = 2  # smallest number of eigenvectors that are approximated in addition to the wanted ones
BLOCKS = 6  # the basis has room for this many blocks of vectors, in addition to twice the vectors that it begins with
GROWTH = 2.0  # a filter multiplies wanted eigenvectors by up to about exp(2 GROWTH), relative to those that it damps
# logarithm of the largest factor by which a filter multiplies, so that the factor's square fits float64
LARGEST = 300.0
# Smallest distance from the smallest Ritz value to the interval that a filter damps, relative to the range of Ritz
# values.
LEAST_GAP = 1e-3
COPIES = 3  # number of copies of a dense matrix that must fit in memory
LEAST_TOL = 1e-13  # smallest tolerance that rounding lets a residual reach
# A direction of a block is dropped as linearly dependent if its squared length, relative to the largest, is smaller.
DEPENDENT = 1e-12


class Filter(VertexProgram):
    """A step of Chebyshev's recurrence, by which vectors are multiplied by a polynomial of the Laplacian (a filter).

    It computes factor * (middle - Laplacian) * now - before, from the second step on with twice the factor.
    """

    weights = option(None)  # dtype of the weights; None if unweighted
    direction = option("in")
    now = vertex((np.float64, (WIDTH,)))
    before = vertex((np.float64, (WIDTH,)))
    diagonal = vertex(np.float64)
    scale = vertex(np.float64)  # factor of the weights of the edges that lead to the vertex
    weight = edge(weights, when=weights)
    middle = parameter(np.float64, 0.0)
    factor = parameter(np.float64, -1.0)
    unit = parameter(np.float64, 1.0)  # a power of two by which all weights are multiplied, so that sums don't overflow
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        weight = semirings.cast(edge.weight, np.float64) * self.unit if self.weights else self.unit
        return semirings.where(src.id == dst.id, 0.0, weight) * src.now

    def apply(self, vertex, gathered):
        factor = semirings.where(self.iteration == 0, self.factor, 2 * self.factor)
        product = (self.middle - vertex.diagonal) * vertex.now + vertex.scale * gathered
        return {"now": factor * product - vertex.before, "before": vertex.now}

    def activate(self, before, after):
        return True  # only max_iterations ends the run


class Laplacian(NamedTuple):
    """The Laplacian matrix of a graph, in a form in which a vertex program multiplies vectors by it.

    The Laplacian is ``root * matrix / root``, where `matrix` is a diagonal minus the scaled weights of in-edges. If it
    is normalized, weights are divided by the degrees of the vertices that the edges lead to. Arrays are on the device
    `home`.
    """

    home: Device
    step: Prepared  # the program `Filter`, prepared for the graph
    unit: float
    diagonal: Any
    scale: Any
    root: Any
    known: Any  # the eigenvector of the eigenvalue 0, which need not be computed
    bound: float  # no eigenvalue is larger than this
    exponent: int  # weights were divided by 2**exponent, so that sums don't overflow

    def times(self, block: Any, *, steps: int = 1, **values: float) -> Any:
        """Return the product of the Laplacian, or of a polynomial of the Laplacian, with the columns of a matrix
        `block`.

        Without `values`, the product is that of the Laplacian. The polynomial is the filter that `values`, parameters
        of the program `Filter`, describe, and `steps` is its degree.
        """
        xp: Any = module_of(self.home)
        inputs = {"diagonal": self.diagonal, "scale": self.scale, "unit": self.unit, **values}
        root, product = self.root[:, None], xp.empty_like(block)
        for i in range(0, block.shape[1], WIDTH):
            block_columns = block[:, i : i + WIDTH]
            padded_block = xp.zeros((len(block_columns), WIDTH))
            padded_block[:, : block_columns.shape[1]] = block_columns / root
            result = self.step(now=padded_block, max_iterations=steps, **inputs).now
            product[:, i : i + WIDTH] = xp.asarray(moved(result, self.home))[:, : block_columns.shape[1]] * root
        return product


def laplacian_of(graph: Graph, *, weighted: bool, normalized: bool) -> Laplacian:
    """Return the Laplacian of the mean of a graph's matrix and its transpose, without self loops."""
    weights, largest, n = None, 0.0, graph.n
    home: Device = graph.device if graph.is_whole else "cpu"
    xp: Any = module_of(home)
    if weighted and graph.value_type is not None:
        graph.notice_values()
        weights, largest = graph.value_type, float(weight_range(graph, shares=True)[1])
    is_symmetric = graph.has_symmetric_values if weights else graph.is_symmetric and not graph.has_parallel_edges
    step = prepare(Filter(weights=weights, direction="in" if is_symmetric else "all"), graph, deterministic=True)
    unit, known_vector = 1.0 if is_symmetric else 0.5, xp.full(n, 1 / max(n, 1) ** 0.5)
    zeros, ones = xp.zeros(n), xp.ones(n)
    laplacian = Laplacian(home, step, 1.0 if weights else unit, zeros, ones, ones, known_vector, 1.0, 0)
    degrees = _degrees(laplacian)
    # Weights are divided by the power of two that makes the largest degree less than 1. Self loops don't count in
    # degrees.
    if weights:
        highest = float(degrees.max())
        exponent = max(int(np.frexp(highest if np.isfinite(highest) else largest)[1]), -1000)
        laplacian = laplacian._replace(unit=float(np.ldexp(unit, -exponent)), exponent=exponent)
        degrees = _degrees(laplacian)
    if not normalized:
        return laplacian._replace(diagonal=degrees, bound=2 * float(degrees.max()) or 1.0)
    root, norm = xp.sqrt(xp.where(degrees > 0, degrees, 1)), float(xp.sqrt(degrees.sum()))
    known_vector = xp.sqrt(degrees) / norm if norm > 0 else laplacian.known
    return laplacian._replace(diagonal=ones, scale=1 / root**2, root=root, known=known_vector, bound=2.0, exponent=0)


def _degrees(laplacian: Laplacian) -> Any:
    return -laplacian.times(module_of(laplacian.home).ones((len(laplacian.known), 1)))[:, 0]


def smallest(laplacian: Laplacian, k: int, seed: int, tol: float, max_iter: int) -> tuple[Any, Any]:
    """Return the k smallest eigenvalues of a Laplacian and their eigenvectors, besides the trivial eigenvalue 0.

    Eigenvalues ascend, and eigenvectors are columns. The trivial eigenvector is known, so it is not computed.
    """
    n, largest_bound = len(laplacian.known), laplacian.bound
    if n <= DENSE or k > n // 4:
        require_room("the vectors have", n * n, 8 * COPIES, "cpu", "a smaller k")
        return _smallest_by_dense_matrix(laplacian, k)
    limit = max(tol, LEAST_TOL) * largest_bound
    basis, products = Basis(laplacian, k, seed), 1
    while True:
        vectors, residuals = basis.best()
        worst = residuals[:k].max()
        if worst <= limit:
            return np.maximum(basis.values[:k], 0), _fix_signs(vectors[:, :k])
        if products >= max_iter:
            raise RuntimeError(
                f"the {k} eigenvectors did not converge in {max_iter} iterations; pass a larger max_iter, or a tol of "
                f"{worst / largest_bound:.1e}, which was reached"
            )
        damped_low, damped_high, degree = basis.next_filter()
        degree = min(degree, max(1, max_iter - products - 1))
        block = vectors[:, np.flatnonzero(residuals > limit)[: basis.block]]
        basis.grow(
            laplacian.times(
                block, steps=degree, middle=(damped_low + damped_high) / 2, factor=2 / (damped_high - damped_low)
            )
        )
        products += degree + 1


class Basis:
    """Orthonormal vectors, which span a space that approximates eigenvectors, and their products with the Laplacian.

    Both are rows of arrays. The first vector is the known eigenvector. The Ritz values and vectors are the eigenvalues
    and eigenvectors of the Laplacian restricted to the span of the other vectors.
    """

    def __init__(self, laplacian: Laplacian, k: int, seed: int) -> None:
        n, xp = len(laplacian.known), module_of(laplacian.home)
        self.laplacian: Laplacian = laplacian
        self.xp: Any = xp
        self.block = WIDTH * -(-k // 16)  # number of vectors by which the basis grows
        self.sought = -(-(k + EXTRA) // WIDTH) * WIDTH  # number of vectors with which the basis begins
        self.most = 2 * self.sought + BLOCKS * self.block
        require_room("the vectors have", n * (self.most + 1), 16, laplacian.home, "a smaller k")
        self.rows, self.images = xp.empty((self.most + 1, n)), xp.empty((self.most + 1, n))
        self.rows[0], self.size = laplacian.known, 1
        # inner products of the vectors with their products with the Laplacian
        self.inner = np.zeros((self.most, self.most))
        self.top = 0.0  # estimate of the largest eigenvalue, or 0 as long as there is none
        self.grow(semirings.random(np.uint64(seed), xp.arange(n * self.sought)).reshape(n, -1) - 0.5)

    def grow(self, block: Any) -> None:
        """Extend the basis by the columns of a block, orthogonalized. If they do not fit, restart the basis first."""
        if self.size + block.shape[1] > self.most + 1:
            self._restart()
        basis_rows = self.rows[: self.size]
        for _ in range(2):  # twice, since the first time leaves rounding errors
            block = _orthonormal(self.xp, block - basis_rows.T @ (basis_rows @ block))
        end = self.size + block.shape[1]
        self.rows[self.size : end] = block.T
        image = self.laplacian.times(block)
        self.images[self.size : end] = image.T
        inner = moved(self.rows[1:end] @ image, "cpu")
        self.inner[: end - 1, self.size - 1 : end - 1] = inner
        self.inner[self.size - 1 : end - 1, : end - 1] = inner.T
        self.size = end

    def _restart(self) -> None:
        """Make room in the basis of vectors: keep the half of the Ritz vectors (approximate eigenvectors) of smaller
        Ritz values.
        """
        kept_count = self.most // 2
        turn = self.xp.asarray(self.turn[:, :kept_count].T)
        for rows in (self.rows, self.images):
            rows[1 : kept_count + 1] = turn @ rows[1 : self.size]
        self.inner[:kept_count, :kept_count] = np.diag(self.values[:kept_count])
        self.size = kept_count + 1

    def best(self) -> tuple[Any, Any]:
        """Compute the current approximations of eigenvalues and eigenvectors from the basis (Ritz values and vectors).

        Return the wanted Ritz vectors as columns, and the norms of their residuals.

        The Ritz values are stored in `values`.
        """
        count = self.size - 1
        self.values, self.turn = np.linalg.eigh(self.inner[:count, :count])
        columns = [*range(self.sought), count - 1]
        turn, values = self.xp.asarray(self.turn[:, columns]), self.xp.asarray(self.values[columns])
        vectors = self.rows[1 : self.size].T @ turn
        errors = self.images[1 : self.size].T @ turn - vectors * values
        self.errors: Any = moved(self.xp.sqrt((errors**2).sum(axis=0)), "cpu")
        return vectors[:, :-1], self.errors[:-1]

    def next_filter(self) -> tuple[float, float, int]:
        """Return the interval (low, high) of eigenvalues that the next filter, a polynomial of the Laplacian, damps,
        and its degree.

        Ritz values approach eigenvalues from above, so all wanted ones are below the middle of the Ritz values. Far
        below `low` a filter of degree d multiplies a vector by about exp(2 d sqrt(distance / (high - low))).
        """
        if self.size <= self.most // 2:  # few Ritz values say little about the spectrum, so this filter damps nothing
            return 0.0, self.laplacian.bound, 1
        smallest_value, largest_value = self.values[0], self.values[-1]
        self.top = max(self.top or largest_value + self.errors[-1], largest_value)
        damped_high = min(self.top, self.laplacian.bound)
        gap = max(
            self.values[len(self.values) // 2] - smallest_value,
            LEAST_GAP * (largest_value - smallest_value),
            1e-15 * damped_high,
        )
        damped_low = min(smallest_value + gap, (smallest_value + damped_high) / 2)
        useful_degree = GROWTH * ((damped_high - smallest_value) / gap) ** 0.5
        largest_degree = LARGEST / np.arccosh((damped_high + damped_low) / (damped_high - damped_low))
        return damped_low, damped_high, int(np.ceil(min(useful_degree, largest_degree)))


def _orthonormal(xp: Any, block: Any) -> Any:
    """Return orthonormal columns that span the same space as the columns of a block, up to rounding.

    If the columns of the block are linearly dependent, fewer columns are returned.
    """
    sizes = xp.sqrt((block**2).sum(axis=0))
    block = block / xp.where(sizes > 0, sizes, 1)
    squares, rotation = np.linalg.eigh(moved(block.T @ block, "cpu"))
    is_independent = squares > DEPENDENT * squares.max(initial=0)
    return block @ xp.asarray(rotation[:, is_independent] / np.sqrt(squares[is_independent]))


def _smallest_by_dense_matrix(laplacian: Laplacian, k: int) -> tuple[Any, Any]:
    """Return the k smallest eigenvalues and their eigenvectors, computed from a dense matrix by NumPy.

    The eigenvalue of the known eigenvector is raised above all others, so that it is not among the smallest.
    """
    known_vector = laplacian.known
    xp: Any = module_of(laplacian.home)
    matrix = laplacian.times(xp.eye(len(known_vector))) + 2 * laplacian.bound * xp.outer(known_vector, known_vector)
    values, vectors = np.linalg.eigh(moved((matrix + matrix.T) / 2, "cpu"))
    return np.maximum(values[:k], 0), _fix_signs(vectors[:, :k])


def _fix_signs(vectors: Any) -> Any:
    """Return the eigenvectors with signs that don't depend on rounding.

    The first entry of each vector that is nearly as large in absolute value as its largest entry becomes positive.
    """
    xp, size = array_module(vectors), abs(vectors)
    first_large = (size >= (1 - 1e-6) * size.max(axis=0)).argmax(axis=0)
    return vectors * xp.where(vectors[first_large, xp.arange(vectors.shape[1])] < 0, -1.0, 1.0)
