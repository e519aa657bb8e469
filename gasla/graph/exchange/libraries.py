"""Conversion from and to the graphs of NetworkX, igraph and PyTorch Geometric, with attributes that are numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.arrays import imported
from gasla.graph.adjacency import Array
from gasla.graph.exchange.columns import Edges
from gasla.graph.validate import as_ids, count_vertices, is_value_type, vertex_count
from gasla.names import meant

Chosen = bool | Sequence[str]  # the attributes to convert: all, none, or those of these names


def of_networkx(G: Any, weight: str | None, attributes: Chosen = False) -> Edges:
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
        weights = _numbers([1 if value is None else value for value in given], "edge", weight, "weight=None")
    own = all(isinstance(node, int) for node in nodes) and nodes == list(range(len(nodes)))
    names = None if own else np.fromiter(nodes, object, len(nodes))
    columns: tuple[dict[str, Array], ...] = {}, {}
    if attributes is not False:
        of_edges = _by_name([data for _, _, data in G.edges(data=True)])
        columns = _read_attributes(attributes, of_edges, _by_name([data for _, data in G.nodes(data=True)]), weight)
    return _both(Edges(len(nodes), src, dst, weights, names, *columns), G.is_directed())


def to_networkx(edges: Edges, directed: bool, parallel: bool) -> Any:
    """A NetworkX graph of the edges; if undirected, of one direction of every edge, from the smaller vertex."""
    import networkx as nx

    if directed:
        G = nx.MultiDiGraph() if parallel else nx.DiGraph()
    else:
        G = nx.MultiGraph() if parallel else nx.Graph()
        edges = _taken(edges, np.flatnonzero(edges.src <= edges.dst))
    each = list(range(edges.n)) if edges.names is None else edges.names.tolist()
    G.add_nodes_from(zip(each, _records(edges.vertex_attributes, edges.n)))
    ends = [[each[v] for v in side.tolist()] for side in (edges.src, edges.dst)]
    G.add_edges_from(zip(*ends, _records(_with_weight(edges), len(edges.src))))
    return G


def _records(columns: Mapping[str, Array], count: int) -> Iterator[dict[str, Any]]:
    """For each edge or vertex, its attributes by name."""
    if not columns:
        return ({} for _ in range(count))
    return (dict(zip(columns, row)) for row in zip(*(column.tolist() for column in columns.values())))


def of_igraph(g: Any, weight: str | None, attributes: Chosen = False) -> Edges:
    """The edges of an igraph graph."""
    if not hasattr(g, "get_edgelist"):
        raise TypeError(f"g is a {type(g).__name__}; expected an igraph graph")
    edges = np.array(g.get_edgelist(), np.int64).reshape(-1, 2)
    weights = None
    if weight is not None and weight in g.es.attributes():
        weights = _numbers(g.es[weight], "edge", weight, "weight=None")
    names = np.fromiter(g.vs["name"], object, g.vcount()) if "name" in g.vs.attributes() else None
    if names is not None and len(set(names.tolist())) != len(names):
        raise ValueError("two vertices have the same name; expected distinct names, or none: del g.vs['name']")
    columns: tuple[dict[str, Array], ...] = {}, {}
    if attributes is not False:
        vertices = {name: g.vs[name] for name in g.vs.attributes() if name != "name"}
        columns = _read_attributes(attributes, {name: g.es[name] for name in g.es.attributes()}, vertices, weight)
    src, dst = edges[:, 0].copy(), edges[:, 1].copy()
    return _both(Edges(g.vcount(), src, dst, weights, names, *columns), g.is_directed())


def to_igraph(edges: Edges) -> Any:
    """An igraph graph of the edges."""
    import igraph

    if "name" in edges.vertex_attributes:
        raise ValueError("the vertex attribute 'name' would become the names of vertices; rename it, or leave it out")
    g = igraph.Graph(edges.n, np.stack([edges.src, edges.dst], axis=1).tolist(), directed=True)
    if edges.names is not None:
        g.vs["name"] = edges.names.tolist()
    for name, column in edges.vertex_attributes.items():
        g.vs[name] = column.tolist()
    for name, column in _with_weight(edges).items():
        g.es[name] = column.tolist()
    return g


def of_edge_index(edge_index: ArrayLike, edge_weight: ArrayLike | None, n: int | None) -> Edges:
    """The edges of an ``edge_index`` of PyTorch Geometric."""
    ids = _array(edge_index)
    if ids.ndim != 2 or len(ids) != 2:
        raise ValueError(f"edge_index has shape {ids.shape}; expected (2, m): a row of sources and a row of targets")
    src, dst = as_ids("edge_index[0]", ids[0]), as_ids("edge_index[1]", ids[1])
    n = count_vertices(src, dst) if n is None else vertex_count(n)
    return Edges(n, src, dst, None if edge_weight is None else _array(edge_weight), None)


def chosen(given: Chosen, edges: Collection[str], vertices: Collection[str]) -> list[list[str]]:
    """The names of attributes of edges and of vertices that an argument `attributes` chooses."""
    if given is True or given is False:
        return [[*edges], [*vertices]] if given else [[], []]
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise TypeError(
            f"attributes is {given!r}; expected True for all, or a list of names, such as ['amount', 'time']"
        )
    for name in given:
        if name not in edges and name not in vertices:
            known = [*dict.fromkeys([*edges, *vertices])]
            there = f"there are {', '.join(map(repr, known))}" if known else "there is none"
            hint = meant(name, [*filter(_is_text, known)]) if _is_text(name) else ""
            raise ValueError(f"attributes has {name!r}, which no edge or vertex has; {there}{hint}")
    return [[name for name in dict.fromkeys(given) if name in columns] for columns in (edges, vertices)]


def _is_text(name: Any) -> bool:
    return isinstance(name, str)


def _by_name(records: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """The attributes of edges or vertices as lists, with None where one has no such attribute."""
    names = dict.fromkeys(chain.from_iterable(records))
    return {name: [record.get(name) for record in records] for name in names}


def _read_attributes(
    given: Chosen, edges: Mapping[str, list[Any]], vertices: Mapping[str, list[Any]], weight: str | None
) -> tuple[dict[str, Array], ...]:
    """The chosen attributes as arrays: those of these names, or all that are numbers everywhere, but `weight`."""
    found: tuple[dict[str, Array], ...] = {}, {}
    for columns, names, of, lists in zip(found, chosen(given, edges, vertices), ("edge", "vertex"), (edges, vertices)):
        for name in names:
            if given is not True:
                columns[name] = _numbers(lists[name], of, name, "another list of attributes")
            elif _is_text(name) and name and not (of == "edge" and name == weight) and _are_numbers(lists[name]):
                columns[name] = _numbers(lists[name], of, name, "")
    return found


def _are_numbers(values: Iterable[Any]) -> bool:
    """Whether all values are numbers that one array of values holds."""
    values = [*values]
    if not all(isinstance(value, int | float | np.number | np.bool_) for value in values):
        return False
    try:
        return is_value_type(_numbers(values, "edge", "", "").dtype)
    except TypeError:  # integers of more than 64 bits
        return False


def _with_weight(edges: Edges) -> dict[str, Array]:
    """The attributes of edges, and their values as "weight"."""
    columns = dict(edges.edge_attributes)
    if edges.weights is None:
        return columns
    if columns.get("weight", edges.weights) is not edges.weights:
        raise ValueError("the edge attribute 'weight' has the name of the values; rename it, or leave it out")
    return columns | {"weight": edges.weights}


def are_equal_both_ways(edges: Edges) -> bool:
    """Whether i -> j and j -> i have equal values and attributes, of all parallel edges in any order."""
    src, dst, *columns = edges.src, edges.dst, *_with_weight(edges).values()
    ways = []
    for first, second in ((src, dst), (dst, src)):
        each = [column[first < second] for column in (first, second, *columns)]
        order = np.lexsort(each[::-1])
        ways.append([column[order] for column in each])
    return all(len(a) == len(b) and bool(((a == b) | ((a != a) & (b != b))).all()) for a, b in zip(*ways))


def _array(x: Any) -> Array:
    """A NumPy or CuPy array, with the memory of a tensor if that supports DLPack."""
    x = imported(x)
    empty = not hasattr(x, "dtype") and np.size(x) == 0
    return x if hasattr(x, "dtype") else np.asarray(x, np.int64 if empty else None)


def _numbers(values: list[Any], of: str, attribute: str | None, instead: str) -> Array:
    """Values of edges or vertices as an array; TypeError for the first value that is not a number."""
    for i, value in enumerate(values):
        if not isinstance(value, (int, float, np.number, np.bool_)):
            raise TypeError(f"{of} {i} has {attribute} {value!r}; expected a number, or {instead}")
    found = np.array(values)
    if found.dtype.kind == "f" and all(isinstance(value, (int, np.integer)) for value in values):
        try:  # NumPy converts integers below and above 2**63 to float64
            found = np.array(values, np.uint64)
        except OverflowError:
            found = np.array(values, object)
    if found.dtype == object:
        raise TypeError(f"{attribute} has integers of more than 64 bits; expected int64 or float64, or {instead}")
    return found


def _both(edges: Edges, directed: bool) -> Edges:
    """For an undirected graph, every edge followed by its reverse; self loops once."""
    if directed:
        return edges
    stays = np.ones((len(edges.src), 2), bool)
    stays[:, 1] = edges.src != edges.dst
    src, dst = (np.stack(ends, axis=1)[stays] for ends in ((edges.src, edges.dst), (edges.dst, edges.src)))
    return _taken(edges, np.nonzero(stays)[0])._replace(src=src, dst=dst)


def _taken(edges: Edges, numbers: Array) -> Edges:
    """The edges with the given numbers."""
    weights = None if edges.weights is None else edges.weights[numbers]
    columns = {
        name: weights if weights is not None and column is edges.weights else column[numbers]
        for name, column in edges.edge_attributes.items()
    }
    return edges._replace(src=edges.src[numbers], dst=edges.dst[numbers], weights=weights, edge_attributes=columns)
