"""Trophic levels of food webs: the expected number of steps of a walk against the edges to a node without prey."""

from typing import Any

import networkx as nx
import numpy as np
from scipy.sparse import coo_array, eye_array
from scipy.sparse.linalg import spsolve

from gasla.backends.networkx.conversion import Array, Converted
from gasla.backends.networkx.degrees import each_edge
from gasla.backends.networkx.dispatch import DIRECTED, SIMPLE, by_name, register
from gasla.backends.networkx.visit_order import queue

WEIGHT = by_name("weight")
UNREACHED = (
    "Trophic levels are only defined for graphs where every node has a path "
    "from a basal node (basal nodes are nodes with no incoming edges)."
)


def _levels(G: Converted, weight: Any, loops: bool) -> tuple[Array, Array]:
    """Return the trophic level of every node, and a mask of the nodes without incoming edges.

    The levels solve a sparse system of linear equations. Self loops count only if `loops` is true.
    """
    values, tails, heads = each_edge(G, weight)
    if not loops:
        values, tails, heads = (each[tails != heads] for each in (values, tails, heads))
    if not (values > 0).all():
        raise NotImplementedError(f"{weight!r} of an edge is not positive")
    n = len(G)
    basal = np.bincount(heads, minlength=n) == 0
    if not basal.any():
        raise nx.NetworkXError(
            "This graph has no basal nodes (nodes with no incoming edges)."
            "Trophic levels are not defined without at least one basal node."
        )
    if len(queue(G, np.flatnonzero(basal).tolist()).order) < n:
        raise nx.NetworkXError(UNREACHED)
    shares = values / np.bincount(heads, values, n)[heads]
    system = eye_array(n, format="csc") - coo_array((shares, (heads, tails)), shape=(n, n)).tocsc()
    return np.asarray(spsolve(system.tocsc(), np.ones(n))).reshape(n), basal


def _differences(G: Converted, weight: Any, loops: bool = True) -> tuple[Array, Array, Array]:
    """Return the tails and heads of edges, and for each edge the level of its head minus the level of its tail.

    Self loops are included only if `loops` is true.
    """
    levels, _ = _levels(G, weight, loops)
    out = G.plain().out
    tails, heads = out.owners(), out.indices
    is_counted = (tails != heads) | loops
    return tails[is_counted], heads[is_counted], levels[heads[is_counted]] - levels[tails[is_counted]]


@register(DIRECTED, WEIGHT, least=2_000)
def trophic_levels(G: Converted, weight: Any = "weight") -> dict[Any, Any]:
    """Return the trophic level of every node.

    The level is 1 for a node without incoming edges, and else 1 more than the mean level of the nodes from which edges
    lead to it.
    """
    levels, basal = _levels(G, weight, True)
    by_name: dict[Any, Any] = dict.fromkeys(G.called(np.flatnonzero(basal)), 1)
    by_name.update(zip(G.called(np.flatnonzero(~basal)), levels[~basal].tolist()))
    return by_name


@register(DIRECTED, SIMPLE, WEIGHT, least=2_000)
def trophic_differences(G: Converted, weight: Any = "weight") -> dict[tuple[Any, Any], float]:
    """Return for every edge the level of its head minus the level of its tail."""
    tails, heads, differences = _differences(G, weight)
    return dict(zip(zip(G.called(tails), G.called(heads)), differences.tolist()))


@register(DIRECTED, SIMPLE, WEIGHT, least=2_000)
def trophic_incoherence_parameter(G: Converted, weight: Any = "weight", cannibalism: bool = False) -> float:
    """Return the standard deviation, over all edges, of the level of the head minus the level of the tail.

    Self loops count only if `cannibalism` is true.
    """
    differences = _differences(G, weight, bool(cannibalism))[2]
    if not len(differences):
        raise NotImplementedError("the graph has no edges, and NumPy has no standard deviation of none")
    return float(np.std(differences))
