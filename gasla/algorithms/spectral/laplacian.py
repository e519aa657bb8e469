"""The Laplacian of an undirected graph as a product, and its eigenvectors of the smallest eigenvalues.

A block of vectors is multiplied by a polynomial of the Laplacian that is large on the wanted eigenvalues and small on
the others, and the best vectors in the span of the block are taken, until they are eigenvectors. No system is solved.
Vertex programs multiply, on the graph's device; all else is done on the CPU.

Y. Zhou, Y. Saad, M. L. Tiago, J. R. Chelikowsky: Self-consistent-field calculations using Chebyshev-filtered subspace
iteration. Journal of Computational Physics 219 (2006).
"""

from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.arrays import module_of, moved
from gasla.graph.arguments import check_weights
from gasla.graph.graph import Graph
from gasla.operations.multiply import vxm
from gasla.operations.prepare import prepare
from gasla.program.fields import edge, parameter, vertex
from gasla.program.program import VertexProgram

DENSE = 64  # vertices of graphs whose Laplacian is written out
WIDTH = 4  # vectors that a run of the filter multiplies
EXTRA = 3  # least number of vectors in the block besides the wanted ones
GROWTH = 2.0  # a filter multiplies eigenvectors near 0 by up to exp(2 GROWTH)
SLACK = 0.1  # of the largest Ritz value, above which a filter damps: it separates more equal eigenvalues than vectors
LEAST_TOL = 1e-13  # which rounding allows


class Filter(VertexProgram):
    """A step of Chebyshev's recurrence: factor * (middle - Laplacian) * now - before."""

    now = vertex((np.float64, (WIDTH,)))
    before = vertex((np.float64, (WIDTH,)))
    diagonal = vertex(np.float64)
    weight = edge(np.float64)
    middle = parameter(np.float64, 1.0)
    factor = parameter(np.float64, 1.0)
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        return edge.weight * src.now

    def apply(self, vertex, gathered):
        product = (self.middle - vertex.diagonal) * vertex.now + gathered
        return {"now": self.factor * product - vertex.before, "before": vertex.now}

    def activate(self, before, after):
        return True  # max_iterations ends the run


class Laplacian(NamedTuple):
    """A matrix that is similar to a Laplacian: a diagonal minus the weights of in-edges; arrays are on the CPU.

    The Laplacian is ``root * matrix / root``: normalized, weights are divided by the degrees of the receivers.
    """

    graph: Graph
    diagonal: Any
    root: Any
    known: Any  # the known eigenvector of the Laplacian
    bound: float  # of the eigenvalues
    exponent: int  # weights were divided by two to this power


def laplacian_of(graph: Graph, *, weighted: bool, normalized: bool) -> Laplacian:
    """The Laplacian of the mean of a matrix and its transpose, without loops."""
    xp: Any = module_of(graph.device)
    plain, exponent = _weights(graph, weighted)
    if plain.has_self_loops:
        src, dst = plain.edges()
        plain = plain.select(src != dst)
    n = graph.n
    if not plain.has_symmetric_values:
        both: Any = plain.symmetrized(semirings.plus)
        plain = both.with_values(both.values / 2)
    degree = vxm(xp.ones(n), plain)
    degrees = moved(degree, "cpu")
    constant = np.full(n, 1 / max(n, 1) ** 0.5)
    if not normalized:
        return Laplacian(plain, degrees, np.ones(n), constant, 2 * float(degrees.max(initial=0)) or 1.0, exponent)
    plain = plain.with_values(plain.values / xp.where(degree > 0, degree, 1)[plain.edges()[1]])
    norm = float(np.sqrt(degrees.sum()))
    known = np.sqrt(degrees) / norm if norm > 0 else constant
    return Laplacian(plain, np.ones(n), np.sqrt(np.where(degrees > 0, degrees, 1)), known, 2.0, 0)


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


def smallest(laplacian: Laplacian, k: int, seed: int, tol: float, max_iter: int) -> tuple[Any, Any]:
    """The k smallest eigenvalues besides the known one, ascending, and their eigenvectors, one a column."""
    n, bound = len(laplacian.known), laplacian.bound
    if n <= DENSE or k > n // 4:
        return _of_all(laplacian, k)
    limit = max(tol, LEAST_TOL) * bound
    block = np.random.default_rng(seed).standard_normal((n, -(-(k + max(EXTRA, k // 2)) // WIDTH) * WIDTH))
    products, top = 0, bound / 2
    while True:
        values, block, residuals = _best_in_span(laplacian, block, k)
        products += 1
        worst = residuals.max()
        if worst <= limit:
            return np.maximum(values[:k], 0), _signed(block[:, :k])
        if products >= max_iter:
            raise RuntimeError(
                f"the {k} eigenvectors did not converge in {max_iter} iterations; pass a larger max_iter, or a tol of "
                f"{worst / bound:.1e}, which was reached"
            )
        top = min(top, _top(values, residuals, bound))
        degree = min(_degree(bound, values[k - 1], top, worst / limit), max(1, max_iter - products - 1))
        block = _filtered(laplacian, block, top, degree)
        products += degree


def _of_all(laplacian: Laplacian, k: int) -> tuple[Any, Any]:
    """The k smallest eigenvalues and their vectors by a dense matrix, in which the known vector has the largest."""
    known = laplacian.known
    matrix = _product(laplacian, np.eye(len(known))) + 2 * laplacian.bound * np.outer(known, known)
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.maximum(values[:k], 0), _signed(vectors[:, :k])


def _product(laplacian: Laplacian, block: Any) -> Any:
    """The Laplacian times the columns of an array."""
    xp: Any = module_of(laplacian.graph.device)
    root = laplacian.root[:, None]
    block = block / root
    return root * (laplacian.diagonal[:, None] * block - moved(vxm(xp.asarray(block), laplacian.graph), "cpu"))


def _best_in_span(laplacian: Laplacian, block: Any, k: int) -> tuple[Any, Any, Any]:
    """Ritz values and vectors of the block's span without the known vector, and the norms of the first k residuals."""
    known = laplacian.known
    for _ in range(2):  # the second time removes what rounding left
        block = np.linalg.qr(block - np.outer(known, known @ block))[0]
    image = _product(laplacian, block)
    values, turn = np.linalg.eigh(block.T @ image)
    block, image = block @ turn, image @ turn
    return values, block, np.linalg.norm(image[:, :k] - block[:, :k] * values[:k], axis=0)


def _top(values: Any, residuals: Any, bound: float) -> float:
    """The eigenvalue from which on the next filter damps: a little more than the largest Ritz value of the block.

    If all Ritz values are 0, up to rounding, then a Ritz vector's error is among eigenvalues near residual^2 / value.
    """
    highest = float(values[-1])
    errors = float((residuals**2 / np.maximum(values[: len(residuals)], 1e-30 * bound)).max())
    return max(highest + SLACK * min(highest, bound - highest), errors, 1e-15 * bound)


def _degree(bound: float, wanted: float, top: float, ratio: float) -> int:
    """The degree of the next filter: enough to divide the residuals by ten times the ratio, if that is cheap.

    Far below `top` a filter of degree d multiplies a vector by about exp(2 d sqrt(distance / bound)). Estimates of both
    ends are rough at first, so a filter stops at exp(2 GROWTH), after which they are better.
    """
    most = GROWTH * (bound / top) ** 0.5
    enough = np.log(20 * ratio) / 2 * (bound / max(top - wanted, 1e-15 * bound)) ** 0.5
    return max(1, int(np.ceil(min(most, enough))))


def _filtered(laplacian: Laplacian, block: Any, top: float, degree: int) -> Any:
    """Multiply the block by the Chebyshev polynomial of the Laplacian that is at most 1 from `top` to the bound."""
    graph, root = laplacian.graph, laplacian.root[:, None]
    xp: Any = module_of(graph.device)
    step = prepare(Filter(), graph, deterministic=True)
    middle, half = (laplacian.bound + top) / 2, (laplacian.bound - top) / 2
    own = {"diagonal": xp.asarray(laplacian.diagonal), "middle": middle}
    filtered = np.empty_like(block)
    for i in range(0, block.shape[1], WIDTH):
        begin = xp.asarray(block[:, i : i + WIDTH] / root)
        found = step(now=begin, before=xp.zeros_like(begin), factor=1 / half, max_iterations=1, **own)
        if degree > 1:
            found = step(now=found.now, before=begin, factor=2 / half, max_iterations=degree - 1, **own)
        filtered[:, i : i + WIDTH] = moved(found.now, "cpu") * root
    return filtered


def _signed(vectors: Any) -> Any:
    """The vectors with the sign by which their first entry of nearly the largest size is positive."""
    size = abs(vectors)
    first = (size >= (1 - 1e-6) * size.max(axis=0)).argmax(axis=0)
    return vectors * np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
