"""Iterative scores: PageRank, HITS, eigenvector and Katz centrality.

Except for HITS, the iterations are NetworkX's, and end after the same number. Eigenvector centrality may need one
iteration more or less, since gasla divides scores by the norm of the previous iteration. Scores differ by rounding.
"""

from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np

import gasla
from gasla.backends.networkx.conversion import Converted
from gasla.backends.networkx.dispatch import by_name, is_multigraph, register, when
from gasla.graph.graph import Graph
from gasla.log import unwarned

LIMITS = when("max_iter or tol is negative", lambda given: given["max_iter"] < 0 or not given["tol"] >= 0)
KRYLOV = 20  # number of matrix products in an iteration of ARPACK, which NetworkX's `hits` calls


def _weighted_graph(G: Converted, name: Any) -> Graph:
    """Return the graph with an edge attribute as weights. The weights of parallel edges are summed.

    Raise NotImplementedError for a weight that is negative, not finite, or so small that NetworkX computes infinity.
    """
    graph = G.weighted(name, np.add)
    if graph.values is not None:
        least, largest = graph.value_range or (0, 0)
        if not (least >= 0 and largest < np.inf):
            raise NotImplementedError(f"{name!r} of an edge is negative or not finite")
        if bool(((graph.values > 0) & (graph.values < np.finfo(np.float64).tiny)).any()):
            raise NotImplementedError(f"{name!r} of an edge is so small that its inverse overflows in NetworkX")
    return graph.to(G.device)


def _numbers_by_node(G: Converted, values_by_name: Any, what: str, default: Any = 0) -> np.ndarray[Any, Any]:
    """Return an array with one number per node, from a dictionary by the names of nodes.

    Raise NotImplementedError if `values_by_name` is no dictionary, or if a number is negative or not finite.
    """
    if not isinstance(values_by_name, Mapping):
        raise NotImplementedError(f"{what} is no dict")
    numbers = [values_by_name.get(name, default) for name in G.names]
    if not all(isinstance(x, int | float | np.number) and 0 <= x < np.inf for x in numbers):
        raise NotImplementedError(f"{what} has something else than finite numbers, 0 or more")
    return np.array(numbers, np.float64)


def _checked_shares(G: Converted, values_by_name: Any, what: str) -> np.ndarray[Any, Any] | None:
    numbers = None if values_by_name is None else _numbers_by_node(G, values_by_name, what)
    if numbers is not None and not 0 < numbers.sum() < np.inf:
        raise NotImplementedError(f"{what} has only zeros, or an infinite sum")
    return numbers


@register(
    by_name("weight"), when("alpha is outside 0 to 1", lambda given: not 0 <= given["alpha"] <= 1), LIMITS, least=20_000
)
def pagerank(
    G: Converted,
    alpha: float = 0.85,
    personalization: Any = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    nstart: Any = None,
    weight: Any = "weight",
    dangling: Any = None,
    *,
    dtype: Any = None,
) -> dict[Any, float]:
    """Return PageRank of every node."""
    if not len(G):
        return {}
    distributions = {"personalization": personalization, "nstart": nstart, "dangling": dangling}
    if isinstance(personalization, Mapping) and sum(personalization.get(name, 0) for name in G.names) == 0:
        raise ZeroDivisionError
    shares = {what: _checked_shares(G, numbers, what) for what, numbers in distributions.items()}
    graph = _weighted_graph(G, weight)
    # The warning is suppressed, because the exception below reports the same, as in NetworkX.
    with unwarned(gasla.ConvergenceWarning):
        result = gasla.pagerank(graph, alpha=alpha, max_iter=max_iter, tol=tol * len(G), dtype=dtype, **shares)
    if not result.converged:
        raise nx.PowerIterationFailedConvergence(max_iter)
    return G.by_name(result.ranks)


@register(
    when("scores of either sign, as ARPACK leaves them", lambda given: not given["normalized"]), LIMITS, least=20_000
)
def hits(
    G: Converted,
    max_iter: int = 100,
    tol: float = 1e-8,
    nstart: Any = None,
    normalized: bool = True,
    *,
    dtype: Any = None,
) -> tuple[dict[Any, float], dict[Any, float]]:
    """Return hub and authority scores of every node.

    If several solutions exist, as in a graph of several equal parts, they may differ from NetworkX's.
    """
    if not len(G):
        return {}, {}
    if max_iter <= 0:
        raise nx.PowerIterationFailedConvergence(max_iter)
    graph = _weighted_graph(G, "weight")
    if len(G) < 3 or graph.m == 0:
        raise NotImplementedError("the graph is too small for ARPACK, which NetworkX calls")
    with unwarned(gasla.ConvergenceWarning):
        result = gasla.hits(graph, max_iter=KRYLOV * max_iter, tol=tol, dtype=dtype)
    if not result.converged:
        raise NotImplementedError(f"scores have not settled after {max_iter} iterations")
    return G.by_name(result.hubs), G.by_name(result.authorities)


@register(
    by_name("weight"),
    LIMITS,
    when(
        "one iteration, whose change NetworkX measures from a start of another scale",
        lambda given: given["max_iter"] == 1,
    ),
    when("a multigraph", is_multigraph),
    least=20_000,
)
def eigenvector_centrality(
    G: Converted, max_iter: int = 100, tol: float = 1e-6, nstart: Any = None, weight: Any = None, *, dtype: Any = None
) -> dict[Any, float]:
    """Return eigenvector centrality of every node."""
    if not len(G):
        raise nx.NetworkXPointlessConcept("cannot compute centrality for the null graph")
    if nstart is not None and all(x == 0 for x in nstart.values()):
        raise nx.NetworkXError("initial vector cannot have all zero values")
    if nstart is not None and set(nstart) != set(G.names):
        raise NotImplementedError("nstart names other nodes than the graph has")
    start = None if nstart is None else _numbers_by_node(G, nstart, "nstart")
    graph = _weighted_graph(G, weight or None)
    if graph.value_range is not None and not graph.value_range[1] >= 1:
        raise NotImplementedError(f"every {weight!r} is below 1: gasla multiplies them, and takes other steps")
    with unwarned(gasla.ConvergenceWarning):
        result = gasla.eigenvector_centrality(
            graph, max_iter=max_iter, tol=tol, nstart=start, weighted=True, dtype=dtype
        )
    if not result.converged:
        raise nx.PowerIterationFailedConvergence(max_iter)
    scores = G.by_name(result.scores)
    return scores if nstart is None else {name: scores[name] for name in nstart}


@register(
    by_name("weight"),
    LIMITS,
    when("alpha is negative", lambda given: not given["alpha"] >= 0),
    when("a multigraph", is_multigraph),
    least=20_000,
)
def katz_centrality(
    G: Converted,
    alpha: float = 0.1,
    beta: Any = 1.0,
    max_iter: int = 1000,
    tol: float = 1e-6,
    nstart: Any = None,
    normalized: bool = True,
    weight: Any = None,
    *,
    dtype: Any = None,
) -> dict[Any, float]:
    """Return Katz centrality of every node."""
    if not len(G):
        return {}
    if nstart is not None and (not isinstance(nstart, Mapping) or set(nstart) != set(G.names)):
        raise NotImplementedError("nstart names other nodes than the graph has")
    start = np.zeros(len(G)) if nstart is None else _numbers_by_node(G, nstart, "nstart")
    graph = _weighted_graph(G, weight)
    with unwarned(gasla.ConvergenceWarning):
        result = gasla.katz_centrality(
            graph,
            alpha=alpha,
            beta=_checked_beta(G, beta),
            max_iter=max_iter,
            tol=tol,
            nstart=start,
            normalized=bool(normalized),
            weighted=True,
            dtype=dtype,
        )
    if not result.converged:
        raise nx.PowerIterationFailedConvergence(max_iter)
    scores = G.by_name(result.scores)
    return scores if nstart is None else {name: scores[name] for name in nstart}


def _checked_beta(G: Converted, beta: Any) -> Any:
    """Return the argument `beta` in gasla's form, which is a number or an array with one number per node.

    Raise NetworkXError for a dictionary that lacks a node.
    """
    try:
        worth = float(beta)
    except (TypeError, ValueError, AttributeError) as error:
        if set(beta) != set(G.names):
            raise nx.NetworkXError("beta dictionary must have a value for every node") from error
        return _checked_shares(G, beta, "beta")
    if worth == 0 or not np.isfinite(worth):
        raise NotImplementedError("beta is 0 or not finite")
    return worth
