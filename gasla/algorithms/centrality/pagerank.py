"""PageRank: where a random surfer is, following edges and at times jumping.

Returned are ranks (they sum to 1), and whether and how fast they settled.

Every vertex gathers its in-neighbors' shares, rank over out-degree (or split by weight), in every iteration. Ranks of
vertices without out-edges are gathered by an aggregate and dealt out again; another aggregate is the change in L1 that
ends the run.

L. Page, S. Brin, R. Motwani, T. Winograd: The PageRank citation ranking. Stanford 1999.
For many personalizations at once see personalized_pagerank.py.
The form without normalization, in which only vertices that still change wake others, is VertexAPI2's.
"""

from functools import lru_cache
from typing import Any, NamedTuple, get_args

import numpy as np

import semirings
from gasla.algorithms.centrality.personalized_pagerank import Rows, settle
from gasla.algorithms.centrality.ranking import distribution, has_settled, type_of_weights
from gasla.arrays import array_module, module_of
from gasla.graph.arguments import check_choice, check_flags, check_weights, real_number, score_type, whole_number
from gasla.graph.graph import Graph, as_graph
from gasla.graph.validate import range_of
from gasla.operations.multiply import mxv
from gasla.operations.run import run
from gasla.program.fields import Order, aggregate, edge, parameter, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram


class PageRank(VertexProgram):
    """rank(v) = (1 - alpha + alpha * lost) / n + alpha * (sum over in-edges of share(u)), in each iteration.

    `inverse` is one over the number of out-edges, or over the sum of their weights; 0 where that is 0. In place the
    ranks do not keep their sum, and it would settle late: jumps deal out `total`, whatever it is by now. Then only
    proportions have to settle; a last division has the ranks sum to 1. All jumps go by the iteration before.
    Without normalization rank(v) = 1 - alpha + alpha * (sum of share(u)), and a vertex that moves wakes others.
    """

    normalized = option(True)
    real = option(np.float64)
    weights = option(None)  # the type of the weights by which edges carry rank, if they do
    personal = option(False)  # jumps lead to some vertices more than to others, and from a dead end to yet others
    settles = option(True)  # the run ends when the ranks hardly change; without this a GPU need not be waited for
    in_place = option(False)
    norm = option(semirings.plus)  # of all changes

    rank = vertex(real)
    share = vertex(real)
    inverse = vertex(real)
    home = vertex(np.float64, when=personal)
    refuge = vertex(np.float64, when=personal)
    weight = edge(weights, when=weights)
    alpha = parameter(real, 0.85)
    tolerance = parameter(np.float64, 1e-6)
    reduce = semirings.plus
    everyone = normalized

    def gather(self, src, dst, edge):
        return src.share * edge.weight if self.weights else src.share

    def jump(self, vertex):
        """What comes other than along an edge."""
        if not self.normalized:
            return 1 - self.alpha
        kept = (1 - self.alpha) * self.total if self.in_place else 1 - self.alpha
        lost = self.alpha * self.lost
        return kept * vertex.home + lost * vertex.refuge if self.personal else (kept + lost) / self.n

    def apply(self, vertex, gathered):
        rank = semirings.cast(self.jump(vertex), self.real) + self.alpha * gathered
        return {"rank": rank, "share": rank * vertex.inverse}

    def activate(self, before, after):
        return self.normalized or abs(after.rank - before.rank) > self.tolerance  # True: only the residual ends the run

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
        return self.settles and self.residual < least


_made = lru_cache(PageRank)  # which spares a call on a small graph a few microseconds


class PageRankResult(NamedTuple):
    """Ranks, how many iterations they took, the last iteration's change, and whether that met the tolerance."""

    ranks: np.ndarray
    iterations: int
    residual: float  # or an array of CuPy's, of no dimension
    converged: bool


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
    """PageRank of every vertex.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j.
    alpha : float
        How likely the surfer follows an edge rather than jumps; 0 to 1.
    personalization : (n,) array or dict of vertex to number, optional
        Where jumps lead, in proportion; by default everywhere alike. Or many of these, for PageRanks of as many
        surfers at once: a (k, n) array, or a list of k arrays or dicts.
    nstart : (n,) array or dict, optional
        Where to start; by default everywhere alike. With k personalizations one for all of them, or k.
    dangling : (n,) array or dict, optional
        Where the rank of vertices without out-edges goes; by default as jumps do. With k personalizations one or k.
    weighted : bool
        Whether the matrix's values divide a vertex's rank among its out-edges; otherwise all get the same.
    tol : float
        The run ends when the ranks change by less than this in all (L1), whatever the number of vertices. With 0 it
        takes just `max_iter` iterations, and nobody is warned.
    max_iter : int
        The run ends at the latest after this many iterations, with a warning.
    normalized : bool
        False gives VertexAPI2's form: `rank = 1 - alpha + alpha * (sum of shares)`, without dealing out the rank of
        dangling vertices; a vertex that moves by no more than `tol` wakes nobody. Unweighted, not personal.
    dtype : float32 or float64, optional
        Of the ranks: by default that of the values if they are used and floating-point, else float64.
    order : "synchronous" or "in place"
        In place, a rank that has changed counts at once, for those who gather it later in the same iteration, as in
        Gauss and Seidel's method. That often takes fewer iterations, and is not deterministic. The ranks are as near:
        a plain step from them changes them by less than `tol` in all. One personalization at most.

    Returns
    -------
    PageRankResult(ranks, iterations, residual, converged)
        `residual` is the L1 change of the last iteration (without normalization, the largest change of one vertex).
        With k personalizations `ranks` has shape (k, n). Eight at a time go on until the tolerance is met by the sum
        over the vertices of the largest change among them, which is `residual`: so each is as near as `tol` to what
        a call of its own gives, or nearer. `iterations` is the most that any took.

    Raises
    ------
    ValueError
        For weights that are NaN, infinite or negative, or parameters outside their range.

    Warns
    -----
    ConvergenceWarning
        If the tolerance was not met.

    Notes
    -----
    On a GPU a run with `tol=0` may be under way when this returns, as with CuPy's functions, and `residual` is a CuPy
    array of no dimension, as CuPy's sums are. Whether a tolerance was met, the host has to wait for.

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
    check_choice("order", order, get_args(Order))
    if order == "in place" and _is_several(personalization):
        raise ValueError("personalization holds several distributions, which run together; expected one, in place")
    max_iter = whole_number("max_iter", max_iter)
    weights = type_of_weights(graph, weighted and normalized)
    kind = score_type(weights, dtype)
    if graph.n == 0:
        return _of_nothing(graph, kind, personalization)
    chosen = {"personalization": personalization, "dangling": dangling, "nstart": nstart}
    rows, shares = None, {}
    if _is_several(personalization):
        rows = _several(graph, chosen, normalized)
    else:
        shares = {name: _shares(graph, x, name, normalized) for name, x in chosen.items() if x is not None}
    scaled, fields = graph.kept(("pagerank", weights, kind), lambda graph: _fields(graph, weights, kind))
    if scaled is not None:
        graph, weights = scaled, scaled.values.dtype
    if rows is not None:
        many = PageRankResult(*settle(graph, weights, fields["inverse"], rows, alpha, tol, max_iter))
        settled = has_settled("ranks", many.converged, many.residual, max_iter, silent=tol == 0)
        return many._replace(converged=settled)
    if not normalized:
        shares["nstart"] = module_of(graph.device).full(graph.n, 1 - alpha)
    if shares:
        fields = fields | _other_fields(graph, fields["inverse"], shares)
    if normalized:
        form: dict[str, Any] = {"personal": "home" in fields, "settles": tol > 0, "in_place": order == "in place"}
    else:
        form = {"normalized": False, "settles": False, "norm": semirings.max}
    program = _made(real=kind, weights=weights, alpha=alpha, tolerance=tol, **form)
    result = run(program, graph, max_iterations=max_iter, order=order, wait=False, notice=False, **fields)
    if tol > 0 or not normalized:  # else the host need not wait for a GPU
        has_settled("ranks", result.converged, float(result.residual), max_iter, silent=False)
    ranks, residual = result.state["rank"], _number(result.aggregates["residual"])
    if normalized and order == "in place":
        total = _number(result.aggregates["total"])
        ranks, residual = ranks / total, residual / total
    return PageRankResult(ranks, result.iterations, residual, result.converged)


def _of_nothing(graph: Graph, kind: np.dtype, personalization: Any) -> PageRankResult:
    """Of a graph without vertices."""
    xp: Any = module_of(graph.device)
    if _is_several(personalization):
        return PageRankResult(xp.zeros((len(personalization), 0), kind), 0, 0.0, True)
    return PageRankResult(xp.zeros(0, kind), 0, 0.0, True)


def _number(value: Any) -> Any:
    """A number of Python's, but for an array that a GPU may still be making."""
    return float(value) if array_module(value) is np else value


def _fields(graph: Graph, weights: np.dtype | None, kind: np.dtype) -> tuple[Graph | None, dict[str, Any]]:
    """What a program starts with where all ranks are equal: `inverse` is one over what leaves each vertex, or 0.

    Before it comes the graph to run on, if that is another: where sums of weights come near the ends of the type.
    """
    rank = kind.type(1 / graph.n)
    if weights is None:
        inverse, share = _divided(graph.out_degrees, rank)
        return None, {"rank": 1 / graph.n, "share": share, "inverse": inverse}
    check_weights(graph, shares=True)
    far, scaled = 2.0 ** (np.finfo(kind).maxexp // 2), None
    total = mxv(graph, module_of(graph.device).ones(graph.n))
    inverse, share = _divided(total, rank)
    if not all(range_of(each)[1] <= far for each in (total, inverse)):
        scaled = graph.with_values(_scaled(graph))
        inverse, share = _divided(mxv(scaled, module_of(graph.device).ones(graph.n)), rank)
    return scaled, {"rank": 1 / graph.n, "share": share, "inverse": inverse}


def _scaled(graph: Graph) -> Any:
    """The weights, each vertex's by the power of two that brings the largest of them below 1: nothing is rounded."""
    xp: Any = module_of(graph.device)
    values: Any = graph.values
    values = values if values.dtype.kind == "f" else values.astype(np.float64)
    largest = mxv(graph.with_values(values), xp.ones(graph.n, values.dtype), semirings.max_times)
    return xp.ldexp(values, -xp.frexp(largest)[1][graph.edges()[0]])


def _divided(total: Any, rank: Any) -> tuple[Any, Any]:
    """One over what leaves each vertex, and its share of such a rank."""
    xp: Any = array_module(total)
    some = total > 0
    with np.errstate(all="ignore"):  # the result of the division is checked
        inverse = some / xp.where(some, total, 1).astype(rank.dtype)
        return inverse, inverse * rank


def _other_fields(graph: Graph, inverse: Any, shares: dict[str, Any]) -> dict[str, Any]:
    """What it starts with instead, or besides; `shares` are distributions by the names of pagerank's arguments."""
    xp: Any = module_of(graph.device)
    fields: dict[str, Any] = {}
    if "nstart" in shares:
        rank = shares["nstart"].astype(inverse.dtype)
        fields |= {"rank": rank, "share": rank * inverse}
    if shares.keys() - {"nstart"}:
        fields["home"] = shares.get("personalization", xp.full(graph.n, 1 / graph.n))
        fields["refuge"] = shares.get("dangling", fields["home"])
    return fields


def _is_several(given: Any) -> bool:
    """Whether these are several distributions: a list of them, or an array of two dimensions."""
    if isinstance(given, list | tuple):
        return bool(given) and (isinstance(given[0], dict) or np.ndim(given[0]) > 0)
    return getattr(given, "ndim", 1) > 1


def _several(graph: Graph, chosen: dict[str, Any], normalized: bool) -> Rows:
    """Where each surfer jumps, where from dead ends if that is elsewhere, and where each starts: a row each."""
    xp: Any = module_of(graph.device)
    count = len(chosen["personalization"])
    if count == 0:
        raise ValueError("personalization holds no distribution; expected at least one")

    def rows(name: str) -> Any:
        given = chosen[name]
        if given is None:
            return None
        if not _is_several(given):
            return [_shares(graph, given, name, normalized)] * count
        if len(given) != count:
            raise ValueError(f"{name} has {len(given)} distributions; expected one, or {count} as personalization has")
        return [_shares(graph, each, name, normalized) for each in given]

    even = [xp.broadcast_to(xp.asarray(1 / graph.n), (graph.n,))] * count
    return Rows(rows("personalization"), rows("dangling"), rows("nstart") or even)


def _shares(graph: Graph, given: Any, name: str, normalized: bool) -> Any:
    """A distribution, of which the form that isn't normalized has none."""
    if not normalized:
        raise ValueError(f"{name} was given with normalized=False, which has none; leave one of them out")
    return distribution(graph, given, name)
