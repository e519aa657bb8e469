"""Functions that return a NetworkX graph: cores, trusses and ego graphs.

Nodes and edges are inserted in the order in which NetworkX copies its views, which is visible in the results.
"""

from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np

import gasla
from gasla.arrays import moved
from gasla.backends.networkx.conversion import Converted, add, induced, like
from gasla.backends.networkx.dispatch import NEVER, SIMPLE, UNDIRECTED, compose, number, register, when
from gasla.backends.networkx.triangles_and_cores import core_number as cores

Cores = Mapping[Any, int]
GIVEN = when(
    "core numbers that are no dict of all nodes",
    lambda given: (
        given["core_number"] is not None
        and not (isinstance(given["core_number"], dict) and set(given["core_number"]) == set(given["G"]))
    ),
)


for theirs in (nx.k_core, nx.k_shell, nx.k_crust):
    compose(theirs, SIMPLE, GIVEN, least=10_000)


@register(SIMPLE, GIVEN, least=10_000)
def k_corona(G: Converted, k: Any, core_number: Cores | None = None) -> Any:
    """Return the subgraph of the nodes of core number k that have exactly k neighbors in the k-core."""
    by_name = cores(G) if core_number is None else core_number
    out, numbers = G.plain().out, np.array([by_name[name] for name in G.names])
    inner = np.bincount(out.owners()[numbers[out.indices] >= k], minlength=len(G)).tolist() if len(G) else []
    return induced(G, (name for name in by_name if by_name[name] == k == inner[G.numbers[name]]))


@register(UNDIRECTED, SIMPLE, when("k is no integer", lambda given: type(given["k"]) is not int), least=10_000)
def k_truss(G: Converted, k: int) -> Any:
    """Return the k-truss: the largest subgraph in which each edge is in at least k - 2 triangles."""
    if G.has_loops():
        remedy = "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        raise nx.NetworkXNotImplemented(f"Input graph has self loops which is not permitted; {remedy}")
    out = G.plain().out
    is_in_truss = np.ones(len(out.indices), np.bool_)
    if k > 2 and len(is_in_truss):
        is_in_truss = moved(gasla.k_truss(G.plain().to(G.device), k), "cpu")
    entries = np.flatnonzero(is_in_truss)
    has_edges = np.bincount(out.owners()[entries], minlength=len(G)) > 0
    truss = like(G, G.called(np.flatnonzero(has_edges)))
    add(G, truss, entries)
    return truss


compose(
    nx.ego_graph,
    number("radius"),
    when("undirected neighborhoods", lambda given: bool(given["undirected"])),
    when("distance is a function", lambda given: callable(given["distance"])),
    least=NEVER,
)
