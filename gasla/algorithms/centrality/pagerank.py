"""PageRank: the stationary distribution of a random surfer who follows edges and at times jumps.

In every iteration each vertex gathers its in-neighbors' shares. A share is a vertex's rank over its out-degree, or over
the sum of the weights of its out-edges. Two aggregates are computed in the same pass. One is the total rank of vertices
without out-edges, which is redistributed. The other is the L1 change of the ranks, which ends the run.

Several personalizations at once are in personalized_pagerank.py. The form without normalization, in which only vertices
whose rank changes activate their out-neighbors, is that of VertexAPI2.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.centrality.personalized_pagerank import BATCH, Rows, personalized_ranks
from gasla.algorithms.centrality.ranking import Spread, check_converged, distribution, weights_dtype
from gasla.arrays import array_module, here, module_of, moved
from gasla.graph.arguments import (
    check_choice,
    check_flags,
    check_weights,
    float_type,
    real_number,
    score_type,
    whole_number,
)
from gasla.graph.graph import Graph, as_graph
from gasla.graph.memory_limit import require_room
from gasla.graph.validate import range_of
from gasla.graph.weights import takes_weight
from gasla.operations.ahead import compile_ahead
from gasla.operations.multiply import mxv
from gasla.operations.on_one_device import on_one_device
from gasla.operations.run import run
from gasla.program import Order, VertexProgram, aggregate, edge, option, parameter, vertex
from gasla.program.program import ORDERS, in_order
from gasla.rows import UNWEIGHTED, Row, scores


class PageRank(Spread):
    """rank(v) = (1 - alpha + alpha * lost) / n + alpha * (sum over in-edges u -> v of share(u)), in each iteration.

    `lost` is the total rank of vertices without out-edges. `inverse` is one over the out-degree, or over the sum of the
    weights of the out-edges, and 0 if that is 0. Jumps use the aggregates of the previous iteration.

    With in-place updates the sum of all ranks varies, and would converge late. Jumps then distribute the current
    `total` rank instead of 1, so that only the proportions have to converge, and a final division normalizes the ranks.

    Without normalization rank(v) = 1 - alpha + alpha * (sum of share(u)), and a vertex activates its out-neighbors if
    its rank changes.
    """

    normalized = option(True)
    personal = option(False)  # whether jumps and vertices without out-edges have distributions that the caller gave
    until_converged = option(True)  # if False, every run has max_iterations, so that the host need not wait for a GPU
    in_place = option(False)
    norm = option(semirings.plus)  # how the changes of the ranks of all vertices are reduced to the residual

    rank = vertex(Spread.real)
    share = vertex(Spread.real)
    inverse = vertex(Spread.real)
    personalization = vertex(np.float64, when=personal)
    dangling = vertex(np.float64, when=personal)
    alpha = parameter(Spread.real, 0.85)
    tolerance = parameter(np.float64, 1e-6)
    everyone = normalized

    def gather(self, src, dst, edge):
        return self.along(edge, src.share)

    def jump(self, vertex):
        """Return the part of a vertex's rank that does not come along its in-edges.

        It comes from jumps of the random surfer, and from the rank of vertices without out-edges, which is
        redistributed.
        """
        if not self.normalized:
            return 1 - self.alpha
        jump_rank = (1 - self.alpha) * self.total if self.in_place else 1 - self.alpha
        lost_rank = self.alpha * self.lost
        return (
            jump_rank * vertex.personalization + lost_rank * vertex.dangling
            if self.personal
            else (jump_rank + lost_rank) / self.n
        )

    def apply(self, vertex, gathered):
        rank = semirings.cast(self.jump(vertex), self.real) + self.alpha * gathered
        return {"rank": rank, "share": rank * vertex.inverse}

    def activate(self, before, after):
        return self.normalized or abs(after.rank - before.rank) > self.tolerance

    @aggregate(semirings.plus, when=normalized)
    def lost(self, before, after):
        return semirings.where(after.inverse == 0, after.rank, 0)

    @aggregate(norm)
    def residual(self, before, after):
        return abs(after.rank - before.rank)

    @aggregate(semirings.plus, when=in_place)
    def total(self, before, after):
        return after.rank

    def stop(self):
        least = self.tolerance * self.total if self.in_place else self.tolerance
        return self.until_converged and self.residual < least


# programs are cached, which saves a few microseconds per call, and counts on small graphs
_program = lru_cache(PageRank)


class PageRankResult(NamedTuple):
    """The rank of each vertex, the number of iterations, the change in the last iteration, and whether it met the
    tolerance.
    """

    ranks: np.ndarray
    iterations: int
    residual: float  # or a CuPy array with 0 dimensions, which a GPU may still be computing
    converged: bool


@takes_weight
@on_one_device(divided=True)
def pagerank(
    graph: Any,
    *,
    alpha: float = 0.85,
    personalization: Any = None,
    nstart: Any = None,
    dangling: Any = None,
    weighted: bool = True,
    tol: float = 1e-6,
    max_iter: int = 100,
    normalized: bool = True,
    dtype: Any = None,
    order: Order = "synchronous",
) -> PageRankResult:
    """Compute the PageRank of every vertex.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j.
    alpha : float
        Damping factor: the probability that the surfer follows an edge instead of jumping; 0 to 1.
    personalization : (n,) array, dict of vertex to number, or names, optional
        Distribution of the jumps, up to a factor; uniform by default. Vertices whose names are given are equally
        likely. A (k, n) array, or a list of k arrays or dicts, computes k personalized PageRanks at once.
    nstart : (n,) array or dict, optional
        Initial ranks, up to a factor; uniform by default. With k personalizations, one for all or k.
    dangling : (n,) array or dict, optional
        Distribution of the rank of vertices without out-edges, up to a factor; by default as for jumps. With k
        personalizations, one for all or k.
    weighted : bool
        Whether the rank of a vertex is divided among its out-edges in proportion to their values. Otherwise equally.
    tol : float
        The run ends when the L1 change of the ranks, summed over all vertices, is less than this. With 0 it runs for
        `max_iter` iterations without a warning.
    max_iter : int
        Maximum number of iterations.
    normalized : bool
        False gives VertexAPI2's form: `rank = 1 - alpha + alpha * (sum of shares)`, without redistributing the rank of
        dangling vertices, unweighted and not personalized; a vertex whose rank changes by at most `tol` activates no
        other.
    dtype : float32 or float64, optional
        Type of the ranks; by default the type of the values if they are used and floating-point, else float64.
    order : "synchronous" or "in place"
        "in place" uses a changed rank at once, in the same iteration (Gauss-Seidel). This often needs fewer iterations,
        and is not deterministic. The result is as accurate: one synchronous step would change it by less than `tol` (L1
        norm). At most one personalization.

    Returns
    -------
    PageRankResult(ranks, iterations, residual, converged)
        `ranks`, shape (n,), sum to 1. `residual` is the L1 change in the last iteration (without normalization, the
        largest change of a vertex). With k personalizations `ranks` has shape (k, n); they run in batches of eight,
        until the sum over the vertices of the largest change among the eight is less than `tol`, which is at least as
        accurate as single calls. `residual` and `iterations` are then the maxima over the batches.

    Raises
    ------
    ValueError
        If a weight is NaN, infinite or negative, or a parameter is out of range.

    Warns
    -----
    ConvergenceWarning
        If the tolerance was not met.

    Notes
    -----
    Parallel edges add up, self loops count once. A stored zero is an edge unless `weighted`.

    On a GPU a run with `tol=0` may still be under way when this returns, as with CuPy's functions, and `residual` is a
    CuPy array with 0 dimensions. With a tolerance the host waits for the run.

    References
    ----------
    L. Page, S. Brin, R. Motwani, T. Winograd: The PageRank citation ranking. Stanford 1999.

    Examples
    --------
    >>> import gasla, numpy as np
    >>> from scipy.sparse import csr_array
    >>> A = csr_array(np.array([[0, 1, 1], [0, 0, 1], [1, 0, 0]]))
    >>> result = gasla.pagerank(A)
    >>> result.ranks.round(3), result.converged
    (array([0.388, 0.215, 0.397]), True)
    >>> gasla.pagerank(A, personalization=[{0: 1}, {1: 1, 2: 1}]).ranks.round(3)
    array([[0.452, 0.192, 0.356],
           [0.356, 0.226, 0.418]])
    """
    graph = as_graph(graph)
    check_flags(weighted=weighted, normalized=normalized)
    alpha, tol = real_number("alpha", alpha, most=1), real_number("tol", tol)
    check_choice("order", order, ORDERS)
    if order == "in place":
        graph.require_whole("order='in place'")
        if _is_batch(personalization):
            raise ValueError("personalization holds several distributions; expected one with order='in place'")
    max_iter = whole_number("max_iter", max_iter)
    weights = weights_dtype(graph, weighted and normalized)
    score_dtype = score_type(weights, dtype)
    if graph.n == 0:
        shape = (len(personalization), 0) if _is_batch(personalization) else 0
        return PageRankResult(module_of(graph.device).zeros(shape, score_dtype), 0, 0.0, True)
    distributions = {"personalization": personalization, "dangling": dangling, "nstart": nstart}
    if _is_batch(personalization):
        # bytes for a rank in `score_dtype`, and for the entry of its personalization in float64
        count, bytes_per_rank = len(personalization) * graph.n, score_dtype.itemsize + 8
        require_room("the ranks have", count, bytes_per_rank, graph.device, "top_k_pagerank, or fewer at a time")
        find = partial(_rank_batches, normalized, weights, score_dtype, alpha, tol, max_iter)
        batch_result = PageRankResult(*_share_batches(graph, distributions, normalized, score_dtype, find))
        converged = check_converged("ranks", batch_result.converged, batch_result.residual, max_iter, silent=tol == 0)
        return batch_result._replace(converged=converged)
    given = {
        name: _checked_distribution(graph, x, name, normalized) for name, x in distributions.items() if x is not None
    }
    if normalized:
        options: dict[str, Any] = {
            "personal": bool(given.keys() - {"nstart"}),
            "until_converged": tol > 0,
            "in_place": order == "in place",
        }
    else:
        options = {"normalized": False, "until_converged": False, "norm": semirings.max}
    program = in_order(_program(real=score_dtype, weights=weights, alpha=alpha, tolerance=tol, **options), order)
    compile_ahead(graph, program)
    graph, scaled, fields = prepared_fields(graph, weights, score_dtype)
    if scaled != weights:
        program = in_order(_program(real=score_dtype, weights=scaled, alpha=alpha, tolerance=tol, **options), order)
    if not normalized:
        given["nstart"] = module_of(graph.device).full(graph.n, 1 - alpha)
    if given:
        fields = fields | _fields_from_distributions(graph, fields["inverse"], given)
    result = run(program, graph, max_iterations=max_iter, wait=False, notice=False, **fields)
    if tol > 0 or not normalized:  # in other cases nothing reads the residual yet, so the host does not wait for a GPU
        check_converged("ranks", result.converged, float(result.residual), max_iter, silent=False)
    ranks, residual = result.state["rank"], _to_number(result.aggregates["residual"])
    if normalized and order == "in place":
        total = _to_number(result.aggregates["total"])
        ranks, residual = ranks / total, residual / total
    return PageRankResult(ranks, result.iterations, residual, result.converged)


def _to_number(value: Any) -> Any:
    """Return a NumPy number as a Python float, but a CuPy array unchanged, as a GPU may not have computed it yet."""
    return float(value) if array_module(value) is np else value


def prepared_fields(
    graph: Graph, weights: np.dtype | None, dtype: np.dtype
) -> tuple[Graph, np.dtype | None, dict[str, Any]]:
    """Return the graph on which PageRank runs, the dtype of its weights, and the initial fields of the program.

    If sums of weights come near the limits of `dtype`, the graph has scaled weights. The result is stored for later
    calls.
    """
    scaled, fields = graph.kept(("pagerank", weights, dtype), lambda graph: _initial_fields(graph, weights, dtype))
    return (graph, weights, fields) if scaled is None else (scaled, scaled.value_type, fields)


def _initial_fields(graph: Graph, weights: np.dtype | None, dtype: np.dtype) -> tuple[Graph | None, dict[str, Any]]:
    """Return a graph with scaled weights, or None if weights need no scaling, and the initial fields of PageRank's
    program.

    The fields are those for equal ranks.

    The field `inverse` is one over the sum of the weights of a vertex's out-edges, or 0. Weights need scaling if such
    sums come near the limits of `dtype`.
    """
    rank, scaled = dtype.type(1 / graph.n), None
    if weights is None:
        inverse, share = _inverses(graph.out_degrees, rank)
    else:
        check_weights(graph, shares=True)
        limit, ones = 2.0 ** (np.finfo(dtype).maxexp // 2), module_of(graph.device).ones(graph.n)
        total = mxv(graph, ones)
        inverse, share = _inverses(total, rank)
        if not all(range_of(each)[1] <= limit for each in (total, inverse)):
            scaled = graph.with_values(_scale_weights(graph))
            inverse, share = _inverses(mxv(scaled, ones), rank)
    return scaled, {"rank": 1 / graph.n, "share": graph.placed(share), "inverse": graph.placed(inverse)}


class Scale(VertexProgram):
    """scaled(e) = weight(e) times a power of two, the same for all out-edges of a vertex.

    The power is given as the product of two factors at the vertex that e leaves. It may be out of the range of the
    dtype, so the two factors are multiplied one after the other.
    """

    kind = option(np.float64)
    one, other = vertex(kind), vertex(kind)
    is_scaled = vertex(np.bool_, init=False)  # set at every vertex, so that every vertex changes and scatters
    weight, scaled = edge(kind), edge(kind, init=0)
    everyone = True

    def apply(self, vertex, gathered):
        return {"is_scaled": semirings.cast(1, np.bool_)}

    def scatter(self, src, dst, edge):
        return {"scaled": edge.weight * src.one * src.other}


def _scale_weights(graph: Graph) -> Any:
    """Return the edge weights, scaled at each vertex by a power of two such that each of its out-edges weighs less than
    1.

    PageRank only depends on the proportions of these weights, and powers of two cause no rounding.
    """
    xp, float_dtype = module_of(graph.device), float_type(graph)
    graph = graph.with_values(lambda values: values.astype(float_dtype, copy=False))
    exponent = -xp.frexp(mxv(graph, xp.ones(graph.n, float_dtype), semirings.max_times))[1]
    factor, other_factor = (xp.ldexp(float_dtype.type(1), part) for part in (exponent // 2, exponent - exponent // 2))
    return run(Scale(kind=float_dtype), graph, max_iterations=1, one=factor, other=other_factor, compile=False).scaled


def _inverses(total: Any, rank: Any) -> tuple[Any, Any]:
    """Return 1 / `total` for each vertex, or 0 where `total` is 0, and this inverse multiplied by the vertex's `rank`.

    `total` is the sum of the weights of a vertex's out-edges, among which PageRank divides the rank.
    """
    xp: Any = array_module(total)
    is_positive = total > 0
    with np.errstate(all="ignore"):  # callers check for infinite results
        inverse = is_positive / xp.where(is_positive, total, 1).astype(rank.dtype)
        return inverse, inverse * rank


def _fields_from_distributions(graph: Graph, inverse: Any, shares: dict[str, Any]) -> dict[str, Any]:
    """Return the initial fields of PageRank's program that follow from the caller's arguments `personalization`,
    `dangling` and `nstart`.

    `shares` maps "personalization", "dangling" and "nstart" to these distributions. `inverse` is one over the weight of
    each vertex's out-edges.
    """
    xp: Any = module_of(graph.device)
    fields: dict[str, Any] = {}
    if "nstart" in shares:
        rank = shares["nstart"].astype(inverse.dtype)
        fields |= {"rank": rank, "share": rank * inverse}
    if shares.keys() - {"nstart"}:
        fields["personalization"] = shares.get("personalization", xp.full(graph.n, 1 / graph.n))
        fields["dangling"] = shares.get("dangling", fields["personalization"])
    return fields


def _is_batch(given: Any) -> bool:
    """Return whether an argument holds several distributions: a list of them, or a two-dimensional array."""
    if isinstance(given, list | tuple):
        return bool(given) and (isinstance(given[0], dict) or np.ndim(given[0]) > 0)
    return getattr(given, "ndim", 1) > 1


Ranked = tuple[Any, int, float, bool]  # ranks, number of iterations, residual, and whether all runs converged


def _rank_batches(
    normalized: bool,
    weights: np.dtype | None,
    dtype: np.dtype,
    alpha: float,
    tol: float,
    max_iter: int,
    graph: Graph,
    chosen: dict[str, Any],
) -> Ranked:
    """Return the PageRanks for several personalizations (distributions of jumps), and how the runs ended.

    Parameters
    ----------
    normalized, weights, dtype :
        whether weights are divided by their sums at each vertex; type of the weights, or None; type of the ranks
    alpha, tol, max_iter :
        as for `pagerank`
    graph, chosen :
        the graph; `personalization`, `dangling` and `nstart`, with one row for each distribution
    """
    rows = _distribution_rows(graph, chosen, normalized)
    graph, weights, fields = prepared_fields(graph, weights, dtype)
    return personalized_ranks(graph, weights, fields["inverse"], rows, alpha, tol, max_iter)


@on_one_device("personalizations")
def _share_batches(
    graph: Graph,
    chosen: dict[str, Any],
    normalized: bool,
    dtype: np.dtype,
    find: Callable[[Graph, dict[str, Any]], Ranked],
) -> Ranked:
    """Return the PageRanks for all personalizations, computed by calls of `find`, and how the runs ended.

    The ranks of a distributed graph divide the personalizations among them. If the graph is not distributed, or does
    not fit in the memory of one rank, `find` is called once for the graph.
    """
    personalization_count = len(chosen["personalization"])
    if not graph.sharers(-(-personalization_count // BATCH)):
        return find(graph, chosen)
    # raises the errors for distributions that are not valid before any work begins
    _distribution_rows(graph, chosen, normalized)
    if not graph.is_whole:
        chosen = {name: x.compute() if hasattr(x, "compute") else moved(x, "cpu") for name, x in chosen.items()}

    def batch(which: slice) -> dict[str, Any]:
        return {name: x[which] if _is_batch(x) else x for name, x in chosen.items()}

    with suppress(MemoryError):
        batches = [batch(slice(first, first + BATCH)) for first in range(0, personalization_count, BATCH)]
        shared: Any = graph.map_shares(partial(_batch_table, find), batches)
        table = shared if graph.is_whole else shared.compute()
        ranks = table[:, :-OTHER_NUMBERS].reshape(-1, graph.n)[:personalization_count].astype(dtype)
        return ranks, int(table[:, -3].max()), float(table[:, -2].max()), bool(table[:, -1].all())
    return find(graph, chosen)


# number of entries that follow the ranks in a row of `_batch_table`: iterations, residual, and convergence
OTHER_NUMBERS = 3


def _batch_table(
    find: Callable[[Graph, dict[str, Any]], Ranked], graph: Graph, batches: list[dict[str, Any]], first: int
) -> np.ndarray:
    """Return a table with a row for each batch of personalizations: their ranks, and then three numbers.

    The three are the number of iterations, the residual, and whether the run converged. `Graph.map_shares` calls this
    on each rank of a distributed graph.
    """
    xp: Any = module_of(graph.device)
    table = xp.zeros((len(batches), BATCH * graph.n + OTHER_NUMBERS))
    for row, batch in zip(table, batches, strict=True):
        on_device = {name: here(x, graph.device) if hasattr(x, "dtype") else x for name, x in batch.items()}
        ranks, *numbers = find(graph, on_device)
        row[: ranks.size] = ranks.reshape(-1)
        row[-OTHER_NUMBERS:] = xp.array(numbers, float)
    return table


def _distribution_rows(graph: Graph, chosen: dict[str, Any], normalized: bool) -> Rows:
    """Return three sequences of distributions over the vertices, each with one distribution per personalization.

    They are the distributions of jumps, of the rank of vertices without out-edges, and of initial ranks. The second
    sequence is None if the caller gave none. Raise ValueError if the caller gave different numbers of distributions.
    """
    xp: Any = module_of(graph.device)
    count = len(chosen["personalization"])
    if count == 0:
        raise ValueError("personalization holds no distribution; expected at least one")

    def rows(name: str) -> Any:
        given = chosen[name]
        if given is None:
            return None
        if not _is_batch(given):
            return [_checked_distribution(graph, given, name, normalized)] * count
        if len(given) != count:
            raise ValueError(f"{name} has {len(given)} distributions; expected one, or {count} as personalization has")
        return [_checked_distribution(graph, each, name, normalized) for each in given]

    even = [xp.broadcast_to(xp.asarray(1 / graph.n), (graph.n,))] * count
    return Rows(rows("personalization"), rows("dangling"), rows("nstart") or even)


def _checked_distribution(graph: Graph, given: Any, name: str, normalized: bool) -> Any:
    """Return the argument `name` as a distribution that sums to 1.

    Raise ValueError if ranks are not normalized, since no distribution has a meaning then.
    """
    if not normalized:
        raise ValueError(f"{name} was given with normalized=False, which takes no distribution; leave one of them out")
    return distribution(graph, given, name)


ROW = Row(
    pagerank,
    scores("pagerank", {"ranks": "rank"}, lambda f: f.convergence("highest ranks"), options=UNWEIGHTED),
    "pagerank(g, weighted=False, personalization={0: 1.0})",
    method="pulling with partition-centric blocks: PCPM (Lakhotia, Kannan, Prasanna, USENIX ATC 2018)",
    longer="Each iteration reads every edge, and there are twenty iterations.",
)
