"""ArticleRank: a PageRank in which vertices of low out-degree give less.

Each vertex divides its rank by its out-degree plus the mean out-degree of the graph, so a neighbor with a single edge
does not pass on all of its rank. The program is that of PageRank without normalization, with these divisors instead of
the out-degree.
"""

from typing import Any

import numpy as np

import semirings
from gasla.algorithms.centrality.pagerank import PageRank, PageRankResult
from gasla.algorithms.centrality.ranking import check_converged, weights_dtype
from gasla.arrays import module_of
from gasla.graph.arguments import check_flags, real_number, whole_number
from gasla.graph.graph import as_graph
from gasla.graph.weights import in_range, takes_weight
from gasla.operations.multiply import mxv
from gasla.operations.on_one_device import on_one_device
from gasla.operations.run import run
from gasla.rows import UNWEIGHTED, Row, Task, scores


@takes_weight
@on_one_device(divided=True)
def article_rank(
    graph: Any, *, alpha: float = 0.85, weighted: bool = True, tol: float = 1e-6, max_iter: int = 100
) -> PageRankResult:
    """Compute the ArticleRank of every vertex: PageRank in which vertices of low out-degree give less.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j.
    alpha : float
        Damping factor, 0 to 1.
    weighted : bool
        Whether an edge passes on rank in proportion to its value, 0 or more, and degrees are sums of values. Otherwise
        each edge counts 1.
    tol : float
        A vertex whose rank changes by at most this activates no other.
    max_iter : int
        Maximum number of iterations.

    Returns
    -------
    PageRankResult(ranks, iterations, residual, converged)
        `ranks`, shape (n,), float64: ``rank(v) = 1 - alpha + alpha * (sum over edges u -> v of weight * rank(u) /
        (degree(u) + mean degree))``. They are not normalized. `residual` is the largest change in the last iteration.

    Raises
    ------
    ValueError
        If a weight is NaN, infinite or negative, or a parameter is out of range.

    Warns
    -----
    ConvergenceWarning
        If ranks still changed by more than `tol` in the last iteration.

    See Also
    --------
    gasla.pagerank : divides by the out-degree alone.

    Notes
    -----
    Parallel edges add up, self loops count once. A stored zero is an edge unless `weighted`.

    References
    ----------
    J. Li, P. Willett: ArticleRank: a PageRank-based alternative to numbers of citations for analysing citation
    networks. Aslib Proceedings 61 (2009).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [2, 2, 3, 0])
    >>> gasla.article_rank(graph).ranks.round(3)
    array([0.239, 0.15 , 0.315, 0.239])
    """
    graph = as_graph(graph)
    check_flags(weighted=weighted)
    alpha, tol = real_number("alpha", alpha, most=1), real_number("tol", tol)
    max_iter = whole_number("max_iter", max_iter)
    xp: Any = module_of(graph.device)
    if graph.n == 0:
        return PageRankResult(xp.zeros(0), 0, 0.0, True)
    weights = weights_dtype(graph, weighted)
    if weights is not None:
        graph, _ = in_range(graph)
    degrees = graph.out_degrees.astype(np.float64) if weights is None else mxv(graph, xp.ones(graph.n))
    mean = float(degrees.sum()) / graph.n
    inverse = 1 / (degrees + (mean or 1))
    program = PageRank(
        weights=weights, alpha=alpha, tolerance=tol, normalized=False, until_converged=False, norm=semirings.max
    )
    fields = {"rank": 1 - alpha, "share": graph.placed((1 - alpha) * inverse), "inverse": graph.placed(inverse)}
    result = run(program, graph, max_iterations=max_iter, notice=False, **fields)
    residual = float(result.aggregates["residual"])
    converged = check_converged("ranks", result.converged, residual, max_iter, silent=False)
    return PageRankResult(result.state["rank"], result.iterations, residual, converged)


ROW = Row(
    article_rank,
    scores("article-rank", {"ranks": "rank"}, lambda f: f.convergence("highest ranks"), options=UNWEIGHTED),
    Task(part="ranks", agree="near"),
    method="power iteration by pulling (Li, Willett, Aslib Proceedings 61, 2009), in blocks as of PageRank",
    longer="Each iteration reads every edge, and tens of iterations are needed until scores have converged.",
)
