"""Conversion from and to the graphs of NetworkX, igraph and PyTorch Geometric."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.arrays import imported
from gasla.graph.adjacency import Array
from gasla.graph.exchange.columns import Edges
from gasla.graph.validate import as_ids, vertex_count


def of_networkx(G: Any, weight: str | None) -> Edges:
    """The edges of a NetworkX graph."""
    if not hasattr(G, "adjacency") or not hasattr(G, "is_directed"):
        raise TypeError(f"G is a {type(G).__name__}; expected a NetworkX graph")
    nodes = list(G.nodes)
    numbers = {node: v for v, node in enumerate(nodes)}
    edges = list(G.edges(data=weight)) if weight is not None else [(u, v, None) for u, v in G.edges()]
    src, dst = (np.fromiter((numbers[edge[end]] for edge in edges), np.int64, len(edges)) for end in (0, 1))
    given = [edge[2] for edge in edges]
    weights = None
    if any(value is not None for value in given):
        weights = _numbers([1 if value is None else value for value in given], weight)
    own = all(isinstance(node, int) for node in nodes) and nodes == list(range(len(nodes)))
    names = None if own else np.fromiter(nodes, object, len(nodes))
    return _both(Edges(len(nodes), src, dst, weights, names), G.is_directed())


def to_networkx(edges: Edges, directed: bool, parallel: bool) -> Any:
    """A NetworkX graph of the edges; if undirected, of one direction of every edge, from the smaller vertex."""
    import networkx as nx

    n, src, dst, weights, names = edges
    if directed:
        G = nx.MultiDiGraph() if parallel else nx.DiGraph()
    else:
        G = nx.MultiGraph() if parallel else nx.Graph()
        stays = src <= dst
        src, dst, weights = src[stays], dst[stays], None if weights is None else weights[stays]
    each = list(range(n)) if names is None else names.tolist()
    G.add_nodes_from(each)
    ends = [[each[v] for v in side.tolist()] for side in (src, dst)]
    if weights is None:
        G.add_edges_from(zip(*ends))
    else:
        G.add_weighted_edges_from(zip(*ends, weights.tolist()))
    return G


def of_igraph(g: Any, weight: str | None) -> Edges:
    """The edges of an igraph graph."""
    if not hasattr(g, "get_edgelist"):
        raise TypeError(f"g is a {type(g).__name__}; expected an igraph graph")
    edges = np.array(g.get_edgelist(), np.int64).reshape(-1, 2)
    weights = None
    if weight is not None and weight in g.es.attributes():
        weights = _numbers(g.es[weight], weight)
    names = np.fromiter(g.vs["name"], object, g.vcount()) if "name" in g.vs.attributes() else None
    if names is not None and len(set(names.tolist())) != len(names):
        raise ValueError("two vertices have the same name; expected distinct names, or none: del g.vs['name']")
    return _both(Edges(g.vcount(), edges[:, 0].copy(), edges[:, 1].copy(), weights, names), g.is_directed())


def to_igraph(n: int, src: Array, dst: Array, weights: Array | None, names: Array | None) -> Any:
    """An igraph graph of the edges."""
    import igraph

    g = igraph.Graph(n, np.stack([src, dst], axis=1).tolist(), directed=True)
    if names is not None:
        g.vs["name"] = names.tolist()
    if weights is not None:
        g.es["weight"] = weights.tolist()
    return g


def of_edge_index(edge_index: ArrayLike, edge_weight: ArrayLike | None, n: int | None) -> Edges:
    """The edges of an ``edge_index`` of PyTorch Geometric."""
    ids = _array(edge_index)
    if ids.ndim != 2 or len(ids) != 2:
        raise ValueError(f"edge_index has shape {ids.shape}; expected (2, m): a row of sources and a row of targets")
    src, dst = as_ids("edge_index[0]", ids[0]), as_ids("edge_index[1]", ids[1])
    if n is None:
        n = 1 + int(ids.max()) if ids.size else 0
    return Edges(vertex_count(n), src, dst, None if edge_weight is None else _array(edge_weight), None)


def _array(x: Any) -> Array:
    """A NumPy or CuPy array, with the memory of a tensor if that supports DLPack."""
    x = imported(x)
    empty = not hasattr(x, "dtype") and np.size(x) == 0
    return x if hasattr(x, "dtype") else np.asarray(x, np.int64 if empty else None)


def _numbers(values: list[Any], attribute: str | None) -> Array:
    """Edge values as an array; TypeError for the first value that is not a number."""
    for e, value in enumerate(values):
        if not isinstance(value, (int, float, np.number)):
            raise TypeError(f"edge {e} has {attribute} {value!r}; expected a number, or weight=None")
    found = np.array(values)
    if found.dtype.kind == "f" and all(isinstance(value, (int, np.integer)) for value in values):
        try:  # NumPy converts integers below and above 2**63 to float64
            found = np.array(values, np.uint64)
        except OverflowError:
            found = np.array(values, object)
    if found.dtype == object:
        raise TypeError(f"{attribute} has integers of more than 64 bits; expected int64 or float64, or weight=None")
    return found


def _both(edges: Edges, directed: bool) -> Edges:
    """For an undirected graph, every edge followed by its reverse; self loops once."""
    if directed:
        return edges
    stays = np.ones((len(edges.src), 2), bool)
    stays[:, 1] = edges.src != edges.dst
    src, dst = (np.stack(ends, axis=1)[stays] for ends in ((edges.src, edges.dst), (edges.dst, edges.src)))
    weights = None if edges.weights is None else np.stack([edges.weights, edges.weights], axis=1)[stays]
    return edges._replace(src=src, dst=dst, weights=weights)
