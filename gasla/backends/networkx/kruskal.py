"""Spanning forests that Kruskal's algorithm selects, as graphs and as lists of edges in its order."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import gasla
from gasla.arrays import moved
from gasla.backends.networkx.conversion import Converted, like
from gasla.backends.networkx.dispatch import UNDIRECTED, by_name, only, register
from gasla.graph.graph import Graph

CONDITIONS = (UNDIRECTED, by_name("weight"), only("algorithm", "kruskal"), only("data", True, False))


def _register_forests(which: str, sign: int) -> None:
    """Register the functions for minimum spanning forests or, with `sign` -1, those for maximum spanning forests."""

    @register(*CONDITIONS, least=20_000, name=f"{which}_spanning_edges")
    def spanning_edges(
        G: Converted,
        algorithm: str = "kruskal",
        weight: Any = "weight",
        keys: bool = True,
        data: bool = True,
        ignore_nan: bool = False,
    ) -> Iterator[tuple[Any, ...]]:
        """Return the edges of a spanning forest, in the order in which Kruskal's algorithm selects them."""
        return _forest_edges(G, weight, sign, keys, data, ignore_nan)

    @register(*CONDITIONS[:3], least=20_000, name=f"{which}_spanning_tree")
    def spanning_tree(
        G: Converted, weight: Any = "weight", algorithm: str = "kruskal", ignore_nan: bool = False
    ) -> Any:
        """Return the spanning forest that Kruskal's algorithm selects, as a NetworkX graph."""
        forest = like(G, G.names)
        forest.add_edges_from(_forest_edges(G, weight, sign, True, True, ignore_nan))
        return forest


_register_forests("minimum", 1)
_register_forests("maximum", -1)


def _forest_edges(
    G: Converted, weight: Any, sign: int, keys: bool, data: bool, ignore_nan: bool
) -> Iterator[tuple[Any, ...]]:
    """Return the edges of the spanning forest that Kruskal's algorithm selects, in the order of selection.

    Edges are sorted by weight, and their position in this order serves as their weight, so that weights are distinct
    and the forest is unique.
    """
    out, copies = G.edges.graph.out, G.edges.copies
    tails, heads = out.owners(), out.indices
    entries = np.arange(len(heads)) if copies is None else np.repeat(np.arange(len(heads)), copies)
    tails, heads = tails[entries], heads[entries]
    # NetworkX yields an undirected edge only once, at the end that is first in the graph.
    edges = np.flatnonzero(tails <= heads)
    values = G.each(weight)[edges]
    missing = np.isnan(values)
    if not ignore_nan and bool(missing.any()):
        edge = next(_edge_tuples(G, tails, heads, edges[missing][:1], G.is_multigraph(), True))
        return map(_raise, [ValueError(f"NaN found as an edge weight. Edge {edge}")])
    edges, values = edges[~missing], values[~missing]
    edges = edges[np.argsort(sign * values.astype(np.float64), kind="stable")]
    graph = Graph.from_edges(tails[edges], heads[edges], np.arange(len(edges), dtype=np.float64), n=len(G))
    selected = edges[moved(gasla.minimum_spanning_forest(graph.to(G.device)).edges, "cpu")] if len(edges) else edges
    return _edge_tuples(G, tails, heads, selected, keys, data)


def _raise(error: Exception) -> Any:
    raise error


def _edge_tuples(G: Converted, tails: Any, heads: Any, taken: Any, keys: bool, data: bool) -> Iterator[tuple[Any, ...]]:
    """Return edges as NetworkX yields them, as tuples of both nodes and, if asked for, of the key and the attributes.

    `tails` and `heads` are the ends of all edges, and `taken` the positions of the edges to return.
    """
    columns: list[Any] = [G.called(tails[taken]), G.called(heads[taken])]
    if G.is_multigraph() and keys:
        columns.append(G.keys_of(taken))
    if data:
        if G.data is None:
            raise NotImplementedError("the graph was converted without its edges' attributes")
        columns.append(map(G.data.__getitem__, taken.tolist()))
    return zip(*columns)
