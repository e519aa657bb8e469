"""Eigenvalues and eigenvectors of the Laplacian. Iterations only approximate them, so gasla runs only on request."""

from typing import Any

import networkx as nx
import numpy as np

import gasla
from gasla.arrays import moved
from gasla.backends.networkx.conversion import Array, Converted
from gasla.backends.networkx.dispatch import UNDIRECTED, by_name, only, register
from gasla.graph.graph import Graph

METHOD = only("method", "tracemin_pcg", "tracemin_lu", "lanczos", "lobpcg")
WITHIN = "an iteration ends within a tolerance"


def _absolute_weights(G: Converted, weight: Any) -> tuple[Graph, bool]:
    """Return the graph with absolute values of an edge attribute as weights, and whether it is connected.

    Weights of parallel edges are summed, and edges of weight 0 are left out.
    """
    if len(G) < 2:
        raise nx.NetworkXError("graph has less than two nodes.")
    if weight is None:
        graph = G.weighted(None, np.add)
    else:
        sizes = G.edges.combined(np.abs(G.each(weight).astype(np.float64)), np.add)
        graph = G.plain().with_values(sizes).select(sizes != 0)
    graph = graph.to(G.device)
    return graph, int(gasla.connected_components(graph).count) == 1


def _smallest_eigenpair(graph: Graph, normalized: bool, tol: float, seed: Any) -> tuple[float, Array]:
    """Return the second smallest eigenvalue of the Laplacian (the smallest is 0), and its eigenvector."""
    start = 0 if seed is None else int(seed.randint(2**31 - 1))
    try:
        embedding = gasla.spectral_embedding(graph, 1, normalized=bool(normalized), tol=tol, seed=start)
    except RuntimeError as error:
        raise NotImplementedError(str(error)) from None
    return float(embedding.values[0]), np.asarray(moved(embedding.vectors, "cpu"))[:, 0]


@register(UNDIRECTED, by_name("weight"), METHOD, least=500, choice=WITHIN)
def algebraic_connectivity(
    G: Converted,
    weight: Any = "weight",
    normalized: bool = False,
    tol: float = 1e-8,
    method: str = "tracemin_pcg",
    seed: Any = None,
) -> float:
    """Return the second smallest eigenvalue of the Laplacian.

    gasla has a single method, which it uses for every value of `method`.
    """
    graph, is_connected = _absolute_weights(G, weight)
    return _smallest_eigenpair(graph, normalized, tol, seed)[0] if is_connected else 0.0


@register(UNDIRECTED, by_name("weight"), METHOD, least=500, choice=WITHIN)
def fiedler_vector(
    G: Converted,
    weight: Any = "weight",
    normalized: bool = False,
    tol: float = 1e-8,
    method: str = "tracemin_pcg",
    seed: Any = None,
) -> Array:
    """Return the eigenvector for the second smallest eigenvalue of the Laplacian, scaled to length 1.

    gasla has a single method, which it uses for every value of `method`.
    """
    graph, is_connected = _absolute_weights(G, weight)
    if not is_connected:
        raise nx.NetworkXError("graph is not connected.")
    return np.array([1.0, -1.0]) if len(G) == 2 else _smallest_eigenpair(graph, normalized, tol, seed)[1]
