"""The Laplacian of an undirected graph as a product, and its eigenvectors of the smallest eigenvalues.

A basis grows by blocks of vectors, each the best approximations in the span of the basis, multiplied by a polynomial of
the Laplacian that is large on the wanted eigenvalues and small on all above the middle of those that the basis has; a
full basis is replaced by its better half (Chebyshev-Davidson). In a mesh the polynomial's degree is high, and nearly
all time is products; in an expander it is low, and the basis does most of the work. No system is solved. A vertex
program multiplies, on the graph's device or over ranks; the basis is on that device, and over ranks on the CPU.

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

DENSE = 64  # up to this many vertices the Laplacian is a dense matrix
WIDTH = 4  # vectors that a run of the filter multiplies
EXTRA = 2  # fewest vectors that are computed besides the wanted ones
BLOCKS = 6  # blocks of vectors that the basis holds, besides twice the wanted vectors
GROWTH = 2.0  # a filter multiplies eigenvectors by up to about exp(2 GROWTH), relative to those that it damps
LARGEST = 300.0  # logarithm of the largest factor of a filter, whose square float64 holds
LEAST_GAP = 1e-3  # smallest gap between the least Ritz value and where a filter begins to damp, relative to all
COPIES = 3  # copies of a dense matrix that are in memory at once
LEAST_TOL = 1e-13  # the smallest tolerance that rounding allows
DEPENDENT = 1e-12  # a direction of a block is dropped if its square is smaller, in relation to the largest


class Filter(VertexProgram):
    """A step of Chebyshev's recurrence: factor * (middle - Laplacian) * now - before, from the second on twice that."""

    weights = option(None)  # dtype of the weights; None if unweighted
    direction = option("in")
    now = vertex((np.float64, (WIDTH,)))
    before = vertex((np.float64, (WIDTH,)))
    diagonal = vertex(np.float64)
    scale = vertex(np.float64)  # factor of the weights of a receiver's edges
    weight = edge(weights, when=weights)
    middle = parameter(np.float64, 0.0)
    factor = parameter(np.float64, -1.0)
    unit = parameter(np.float64, 1.0)  # all weights are multiplied by this power of two
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
        return True  # max_iterations ends the run


class Laplacian(NamedTuple):
    """A matrix that is similar to a Laplacian: a diagonal minus the scaled weights of in-edges. Arrays are at `home`.

    The Laplacian is ``root * matrix / root``: normalized, weights are divided by the degrees of the receivers.
    """

    home: Device
    step: Prepared  # `Filter` on it
    unit: float
    diagonal: Any
    scale: Any
    root: Any
    known: Any  # the known eigenvector of the Laplacian
    bound: float  # no eigenvalue is larger
    exponent: int  # weights were divided by two to this power

    def times(self, block: Any, *, steps: int = 1, **values: float) -> Any:
        """Return the columns of a block, multiplied by the Laplacian, or by the polynomial that the filter computes."""
        xp: Any = module_of(self.home)
        own = {"diagonal": self.diagonal, "scale": self.scale, "unit": self.unit, **values}
        root, product = self.root[:, None], xp.empty_like(block)
        for i in range(0, block.shape[1], WIDTH):
            part = block[:, i : i + WIDTH]
            now = xp.zeros((len(part), WIDTH))
            now[:, : part.shape[1]] = part / root
            made = self.step(now=now, max_iterations=steps, **own).now
            product[:, i : i + WIDTH] = xp.asarray(moved(made, self.home))[:, : part.shape[1]] * root
        return product


def laplacian_of(graph: Graph, *, weighted: bool, normalized: bool) -> Laplacian:
    """Return the Laplacian of the mean of a matrix and its transpose, without loops."""
    weights, largest, n = None, 0.0, graph.n
    home: Device = graph.device if graph.is_whole else "cpu"
    xp: Any = module_of(home)
    if weighted and graph.value_type is not None:
        graph.notice_values()
        weights, largest = graph.value_type, float(weight_range(graph, shares=True)[1])
    is_symmetric = graph.has_symmetric_values if weights else graph.is_symmetric and not graph.has_parallel_edges
    step = prepare(Filter(weights=weights, direction="in" if is_symmetric else "all"), graph, deterministic=True)
    unit, known = 1.0 if is_symmetric else 0.5, xp.full(n, 1 / max(n, 1) ** 0.5)
    zeros, ones = xp.zeros(n), xp.ones(n)
    made = Laplacian(home, step, 1.0 if weights else unit, zeros, ones, ones, known, 1.0, 0)
    degrees = _degrees(made)
    if weights:  # divided by what the largest degree needs, in which loops don't count
        highest = float(degrees.max())
        exponent = max(int(np.frexp(highest if np.isfinite(highest) else largest)[1]), -1000)
        made = made._replace(unit=float(np.ldexp(unit, -exponent)), exponent=exponent)
        degrees = _degrees(made)
    if not normalized:
        return made._replace(diagonal=degrees, bound=2 * float(degrees.max()) or 1.0)
    root, norm = xp.sqrt(xp.where(degrees > 0, degrees, 1)), float(xp.sqrt(degrees.sum()))
    known = xp.sqrt(degrees) / norm if norm > 0 else made.known
    return made._replace(diagonal=ones, scale=1 / root**2, root=root, known=known, bound=2.0, exponent=0)


def _degrees(laplacian: Laplacian) -> Any:
    return -laplacian.times(module_of(laplacian.home).ones((len(laplacian.known), 1)))[:, 0]


def smallest(laplacian: Laplacian, k: int, seed: int, tol: float, max_iter: int) -> tuple[Any, Any]:
    """Return the k smallest eigenvalues besides the known one, ascending, and their eigenvectors, one per column."""
    n, bound = len(laplacian.known), laplacian.bound
    if n <= DENSE or k > n // 4:
        require_room("the vectors have", n * n, 8 * COPIES, "cpu", "a smaller k")
        return _of_all(laplacian, k)
    limit = max(tol, LEAST_TOL) * bound
    basis, products = Basis(laplacian, k, seed), 1
    while True:
        vectors, residuals = basis.best()
        worst = residuals[:k].max()
        if worst <= limit:
            return np.maximum(basis.values[:k], 0), _signed(vectors[:, :k])
        if products >= max_iter:
            raise RuntimeError(
                f"the {k} eigenvectors did not converge in {max_iter} iterations; pass a larger max_iter, or a tol of "
                f"{worst / bound:.1e}, which was reached"
            )
        low, high, degree = basis.next_filter()
        degree = min(degree, max(1, max_iter - products - 1))
        block = vectors[:, np.flatnonzero(residuals > limit)[: basis.block]]
        basis.grow(laplacian.times(block, steps=degree, middle=(low + high) / 2, factor=2 / (high - low)))
        products += degree + 1


class Basis:
    """Orthonormal vectors, the known one first, and their products with the Laplacian. Both are rows of arrays.

    The Ritz values and vectors are the eigenvalues and eigenvectors of the Laplacian in the span of the others.
    """

    def __init__(self, laplacian: Laplacian, k: int, seed: int) -> None:
        n, xp = len(laplacian.known), module_of(laplacian.home)
        self.laplacian: Laplacian = laplacian
        self.xp: Any = xp
        self.block = WIDTH * -(-k // 16)  # vectors that the basis grows by
        self.sought = -(-(k + EXTRA) // WIDTH) * WIDTH  # vectors that it begins with
        self.most = 2 * self.sought + BLOCKS * self.block
        require_room("the vectors have", n * (self.most + 1), 16, laplacian.home, "a smaller k")
        self.rows, self.images = xp.empty((self.most + 1, n)), xp.empty((self.most + 1, n))
        self.rows[0], self.size = laplacian.known, 1
        self.inner = np.zeros((self.most, self.most))  # products of rows with images
        self.top = 0.0  # no eigenvalue is larger, as far as is known; 0 if nothing is
        self.grow(semirings.random(np.uint64(seed), xp.arange(n * self.sought)).reshape(n, -1) - 0.5)

    def grow(self, block: Any) -> None:
        """Add the directions of a block's columns that the basis lacks, after a restart if there is no room."""
        if self.size + block.shape[1] > self.most + 1:
            self._restart()
        old = self.rows[: self.size]
        for _ in range(2):  # the second time removes what rounding left
            block = _orthonormal(self.xp, block - old.T @ (old @ block))
        end = self.size + block.shape[1]
        self.rows[self.size : end] = block.T
        image = self.laplacian.times(block)
        self.images[self.size : end] = image.T
        inner = moved(self.rows[1:end] @ image, "cpu")
        self.inner[: end - 1, self.size - 1 : end - 1] = inner
        self.inner[self.size - 1 : end - 1, : end - 1] = inner.T
        self.size = end

    def _restart(self) -> None:
        """Keep the better half of the Ritz vectors."""
        kept = self.most // 2
        turn = self.xp.asarray(self.turn[:, :kept].T)
        for rows in (self.rows, self.images):
            rows[1 : kept + 1] = turn @ rows[1 : self.size]
        self.inner[:kept, :kept] = np.diag(self.values[:kept])
        self.size = kept + 1

    def best(self) -> tuple[Any, Any]:
        """Return the sought Ritz vectors, and the norms of their residuals. Sets all Ritz values."""
        count = self.size - 1
        self.values, self.turn = np.linalg.eigh(self.inner[:count, :count])
        columns = [*range(self.sought), count - 1]
        turn, values = self.xp.asarray(self.turn[:, columns]), self.xp.asarray(self.values[columns])
        vectors = self.rows[1 : self.size].T @ turn
        errors = self.images[1 : self.size].T @ turn - vectors * values
        self.errors: Any = moved(self.xp.sqrt((errors**2).sum(axis=0)), "cpu")
        return vectors[:, :-1], self.errors[:-1]

    def next_filter(self) -> tuple[float, float, int]:
        """Return the interval of eigenvalues that the next filter damps, and its degree.

        Ritz values approach eigenvalues from above, so all wanted ones are below the middle of the Ritz values. Far
        below `low` a filter of degree d multiplies a vector by about exp(2 d sqrt(distance / (high - low))).
        """
        if self.size <= self.most // 2:  # few Ritz values say little
            return 0.0, self.laplacian.bound, 1
        first, last = self.values[0], self.values[-1]
        self.top = max(self.top or last + self.errors[-1], last)
        high = min(self.top, self.laplacian.bound)
        gap = max(self.values[len(self.values) // 2] - first, LEAST_GAP * (last - first), 1e-15 * high)
        low = min(first + gap, (first + high) / 2)
        enough = GROWTH * ((high - first) / gap) ** 0.5
        most = LARGEST / np.arccosh((high + low) / (high - low))
        return low, high, int(np.ceil(min(enough, most)))


def _orthonormal(xp: Any, block: Any) -> Any:
    """Return orthonormal columns, up to rounding, that span the same space as the columns of a block.

    If the columns of the block are linearly dependent, fewer are returned.
    """
    sizes = xp.sqrt((block**2).sum(axis=0))
    block = block / xp.where(sizes > 0, sizes, 1)
    squares, turn = np.linalg.eigh(moved(block.T @ block, "cpu"))
    kept = squares > DEPENDENT * squares.max(initial=0)
    return block @ xp.asarray(turn[:, kept] / np.sqrt(squares[kept]))


def _of_all(laplacian: Laplacian, k: int) -> tuple[Any, Any]:
    """Return the k smallest eigenvalues and their vectors by a dense matrix. There the known vector has the largest."""
    known = laplacian.known
    xp: Any = module_of(laplacian.home)
    matrix = laplacian.times(xp.eye(len(known))) + 2 * laplacian.bound * xp.outer(known, known)
    values, vectors = np.linalg.eigh(moved((matrix + matrix.T) / 2, "cpu"))
    return np.maximum(values[:k], 0), _signed(vectors[:, :k])


def _signed(vectors: Any) -> Any:
    """Return the vectors with the sign by which their first entry of nearly the largest size is positive."""
    xp, size = array_module(vectors), abs(vectors)
    first = (size >= (1 - 1e-6) * size.max(axis=0)).argmax(axis=0)
    return vectors * xp.where(vectors[first, xp.arange(vectors.shape[1])] < 0, -1.0, 1.0)
