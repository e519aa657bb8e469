"""The Laplacian of an undirected graph as a product, and its eigenvectors of the smallest eigenvalues.

A block of vectors is multiplied by a polynomial of the Laplacian that is large on the wanted eigenvalues and small on
the others, and the best vectors in the span of the block are taken, until they are eigenvectors. No system is solved.
A vertex program multiplies, on the graph's device or over ranks; all else is done on the CPU.

Y. Zhou, Y. Saad, M. L. Tiago, J. R. Chelikowsky: Self-consistent-field calculations using Chebyshev-filtered subspace
iteration. Journal of Computational Physics 219 (2006).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.arrays import module_of, moved
from gasla.graph.arguments import weight_range
from gasla.graph.graph import Graph
from gasla.graph.memory_limit import require_room
from gasla.operations.prepare import Prepared, prepare
from gasla.program import VertexProgram, edge, option, parameter, vertex

DENSE = 64  # up to this many vertices the Laplacian is a dense matrix
WIDTH = 4  # vectors that a run of the filter multiplies
EXTRA = 3  # least number of vectors in the block besides the wanted ones
GROWTH = 2.0  # a filter multiplies eigenvectors near 0 by up to exp(2 GROWTH)
SLACK = 0.1  # the filter damps above this part of the largest Ritz value, in case more eigenvalues are equal
COPIES = 3  # of the block, or of the dense matrix, in memory at once
LEAST_TOL = 1e-13  # which rounding allows


class Filter(VertexProgram):
    """A step of Chebyshev's recurrence: factor * (middle - Laplacian) * now - before."""

    weights = option(None)  # dtype of the weights; None if unweighted
    direction = option("in")
    now = vertex((np.float64, (WIDTH,)))
    before = vertex((np.float64, (WIDTH,)))
    diagonal = vertex(np.float64)
    scale = vertex(np.float64)  # factor of the weights of a receiver's edges
    weight = edge(weights, when=weights)
    middle = parameter(np.float64, 0.0)
    factor = parameter(np.float64, 1.0)
    unit = parameter(np.float64, 1.0)  # of all weights
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        weight = semirings.cast(edge.weight, np.float64) * self.unit if self.weights else self.unit
        return semirings.where(src.id == dst.id, 0.0, weight) * src.now

    def apply(self, vertex, gathered):
        product = (self.middle - vertex.diagonal) * vertex.now + vertex.scale * gathered
        return {"now": self.factor * product - vertex.before, "before": vertex.now}

    def activate(self, before, after):
        return True  # max_iterations ends the run


class Laplacian(NamedTuple):
    """A matrix that is similar to a Laplacian: a diagonal minus the scaled weights of in-edges; arrays are on the CPU.

    The Laplacian is ``root * matrix / root``: normalized, weights are divided by the degrees of the receivers.
    """

    graph: Graph
    step: Prepared  # `Filter` on it
    unit: float
    diagonal: Any
    scale: Any
    root: Any
    known: Any  # the known eigenvector of the Laplacian
    bound: float  # of the eigenvalues
    exponent: int  # weights were divided by two to this power

    def run(self, now: Any, before: Any = None, *, steps: int = 1, **values: Any) -> Any:
        """The fields `now` of the filter after some steps, on the graph's device; arrays have `WIDTH` columns."""
        xp: Any = module_of(self.graph.device)
        own: dict[str, Any] = {
            "diagonal": xp.asarray(self.diagonal),
            "scale": xp.asarray(self.scale),
            "unit": self.unit,
        }
        before = xp.zeros((len(self.known), WIDTH)) if before is None else before
        return self.step(now=now, before=before, max_iterations=steps, **own, **values).now


def laplacian_of(graph: Graph, *, weighted: bool, normalized: bool) -> Laplacian:
    """The Laplacian of the mean of a matrix and its transpose, without loops."""
    weights, largest, n = None, 0.0, graph.n
    if weighted and graph.value_type is not None:
        graph.notice_values()
        weights, largest = graph.value_type, float(weight_range(graph, shares=True)[1])
    is_symmetric = graph.has_symmetric_values if weights else graph.is_symmetric and not graph.has_parallel_edges
    step = prepare(Filter(weights=weights, direction="in" if is_symmetric else "all"), graph, deterministic=True)
    unit, known = 1.0 if is_symmetric else 0.5, np.full(n, 1 / max(n, 1) ** 0.5)
    zeros, ones = np.zeros(n), np.ones(n)
    made = Laplacian(graph, step, 1.0 if weights else unit, zeros, ones, ones, known, 1.0, 0)
    degrees = _degrees(made)
    if weights:  # divided by what the largest degree needs, in which loops don't count
        highest = float(degrees.max(initial=0))
        exponent = max(int(np.frexp(highest if np.isfinite(highest) else largest)[1]), -1000)
        made = made._replace(unit=float(np.ldexp(unit, -exponent)), exponent=exponent)
        degrees = _degrees(made)
    if not normalized:
        return made._replace(diagonal=degrees, bound=2 * float(degrees.max(initial=0)) or 1.0)
    root, norm = np.sqrt(np.where(degrees > 0, degrees, 1)), float(np.sqrt(degrees.sum()))
    known = np.sqrt(degrees) / norm if norm > 0 else made.known
    return made._replace(diagonal=ones, scale=1 / root**2, root=root, known=known, bound=2.0, exponent=0)


def _degrees(laplacian: Laplacian) -> Any:
    xp: Any = module_of(laplacian.graph.device)
    return _on_cpu(laplacian.run(xp.ones((len(laplacian.known), WIDTH))))[:, 0]


def _on_cpu(array: Any) -> Any:
    """An array of a device, or a field over ranks, in the memory of this process."""
    return np.asarray(moved(array, "cpu"))


def smallest(laplacian: Laplacian, k: int, seed: int, tol: float, max_iter: int) -> tuple[Any, Any]:
    """The k smallest eigenvalues besides the known one, ascending, and their eigenvectors, one per column."""
    n, bound = len(laplacian.known), laplacian.bound
    writes_out = n <= DENSE or k > n // 4
    width = n if writes_out else -(-(k + max(EXTRA, k // 2)) // WIDTH) * WIDTH
    require_room("the vectors have", n * width, 8 * COPIES, "cpu", "a smaller k")
    if writes_out:
        return _of_all(laplacian, k)
    limit = max(tol, LEAST_TOL) * bound
    block = np.random.default_rng(seed).standard_normal((n, width))
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
    return _by_columns(laplacian, block, lambda now: laplacian.run(now, factor=-1.0))


def _by_columns(laplacian: Laplacian, block: Any, multiply: Callable[[Any], Any]) -> Any:
    """A polynomial of the Laplacian, which multiplies `WIDTH` columns, times all columns of an array."""
    xp: Any = module_of(laplacian.graph.device)
    root, found = laplacian.root[:, None], np.empty_like(block)
    for i in range(0, block.shape[1], WIDTH):
        part = block[:, i : i + WIDTH] / root
        count = part.shape[1]
        now = xp.asarray(np.pad(part, ((0, 0), (0, WIDTH - count))))
        found[:, i : i + count] = _on_cpu(multiply(now))[:, :count] * root
    return found


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
    middle, half = (laplacian.bound + top) / 2, (laplacian.bound - top) / 2

    def multiply(begin: Any) -> Any:
        now = laplacian.run(begin, middle=middle, factor=1 / half)
        return now if degree == 1 else laplacian.run(now, begin, steps=degree - 1, middle=middle, factor=2 / half)

    return _by_columns(laplacian, block, multiply)


def _signed(vectors: Any) -> Any:
    """The vectors with the sign by which their first entry of nearly the largest size is positive."""
    size = abs(vectors)
    first = (size >= (1 - 1e-6) * size.max(axis=0)).argmax(axis=0)
    return vectors * np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
