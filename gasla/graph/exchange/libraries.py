"""Conversion from and to graphs of NetworkX, igraph and PyTorch Geometric, with attributes of numbers or dates."""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gasla.arrays import imported
from gasla.graph.adjacency import Array
from gasla.graph.dates import NAT, TimeColumn, time_column
from gasla.graph.exchange.columns import Edges
from gasla.graph.validate import as_ids, count_vertices, is_value_type, vertex_count
from gasla.names import meant

Chosen = bool | Sequence[str]  # which attributes to convert: all (True), none (False), or the attributes of these names


class Records(NamedTuple):
    """The vertices and the edges of a graph as lists, each vertex and edge with a dict of its attributes by name.

    `undirected` says whether all edges are undirected, or has this for each edge.
    """

    nodes: list[tuple[Any, dict[str, Any]]]
    edges: list[tuple[Any, Any, dict[str, Any]]]
    undirected: bool | list[bool] = False


def records_of(G: Any) -> Records:
    """Return the vertices and edges of a NetworkX graph as lists, each with a dict of its attributes."""
    if not hasattr(G, "adjacency") or not hasattr(G, "is_directed"):
        raise TypeError(f"G is a {type(G).__name__}; expected a NetworkX graph")
    return Records(list(G.nodes(data=True)), list(G.edges(data=True)), not G.is_directed())


def of_records(records: Records, weight: str | None, attributes: Chosen = False, file: str = "") -> Edges:
    """Return the edges of a graph as arrays, with the names of vertices, the weights, and the chosen attributes.

    `records` has a dict of attributes for each edge and vertex. `weight` is the name of the attribute with the weights,
    or None. `file` is the beginning of warnings if the graph is from a file.
    """
    nodes, edges = [node for node, _ in records.nodes], records.edges
    numbers = {node: v for v, node in enumerate(nodes)}
    src, dst = (np.fromiter((numbers[edge[end]] for edge in edges), np.int64, len(edges)) for end in (0, 1))
    weights = None if weight is None else _weights_of(edges, weight, file)
    are_numbers = all(isinstance(node, int) for node in nodes) and nodes == list(range(len(nodes)))
    names = None if are_numbers else np.fromiter(nodes, object, len(nodes))
    columns: tuple[dict[str, Array | TimeColumn], ...] = {}, {}
    if attributes is not False:
        of_edges = _columns_by_name([data for _, _, data in edges])
        of_nodes = _columns_by_name([data for _, data in records.nodes])
        columns = _read_attributes(attributes, of_edges, of_nodes, weight, file)
    undirected = np.array(records.undirected, bool)
    return both_ways(Edges(len(nodes), src, dst, weights, names, *columns), undirected)


def _weights_of(edges: list[tuple[Any, Any, dict[str, Any]]], weight: str, file: str) -> Array | None:
    """Return the weight of each edge as an array, or None if no edge has a weight.

    If only some edges have one, warn, and take 1 for the other edges.
    """
    without_weight = [edge for edge, (_, _, data) in enumerate(edges) if weight not in data]
    if len(without_weight) == len(edges):
        return None
    if without_weight:
        u, v, _ = edges[without_weight[0]]
        edges_have = "1 edge has" if len(without_weight) == 1 else f"{len(without_weight):,} edges have"
        warnings.warn(
            f"{file}{edges_have} no {weight!r}, the first from {u!r} to {v!r}, and others have one; without one the "
            "weight is 1, as in NetworkX",
            UserWarning,
            stacklevel=4,
        )
    weights = [data.get(weight, 1) for _, _, data in edges]
    bad_edge = next((edge for edge, value in enumerate(weights) if not _is_number(value)), None)
    if bad_edge is not None:
        u, v, _ = edges[bad_edge]
        raise TypeError(
            f"the edge from {u!r} to {v!r} has {weight} {weights[bad_edge]!r}; expected a number, or no {weight!r} at "
            f"all, which counts 1{'' if file else '; weight=None ignores the weights of all edges'}"
        )
    return _as_numbers(weights, "edge", weight, "weight=None")


def to_networkx(edges: Edges, directed: bool, parallel: bool) -> Any:
    """Return a NetworkX graph with the given edges, names and attributes.

    An undirected graph gets each edge once, from the vertex with the smaller number.
    """
    import networkx as nx

    if directed:
        G = nx.MultiDiGraph() if parallel else nx.DiGraph()
    else:
        G = nx.MultiGraph() if parallel else nx.Graph()
        edges = _select_edges(edges, np.flatnonzero(edges.src <= edges.dst))
    nodes = list(range(edges.n)) if edges.names is None else edges.names.tolist()
    G.add_nodes_from(zip(nodes, _attribute_records(edges.vertex_attributes, edges.n)))
    end_nodes = [[nodes[v] for v in endpoints.tolist()] for endpoints in (edges.src, edges.dst)]
    G.add_edges_from(zip(*end_nodes, _attribute_records(_with_weight(edges), len(edges.src))))
    return G


def _attribute_records(columns: Mapping[str, Array | TimeColumn], count: int) -> Iterator[dict[str, Any]]:
    """Return an iterator over `count` edges or vertices that gives a dict of the attributes of each, by name."""
    if not columns:
        return ({} for _ in range(count))
    return (dict(zip(columns, row)) for row in zip(*(column.tolist() for column in columns.values())))


def of_igraph(g: Any, weight: str | None, attributes: Chosen = False) -> Edges:
    """Return the edges of an igraph graph as arrays, with the names of vertices and the chosen attributes."""
    if not hasattr(g, "get_edgelist"):
        raise TypeError(f"g is a {type(g).__name__}; expected an igraph graph")
    edges = np.array(g.get_edgelist(), np.int64).reshape(-1, 2)
    weights = None
    if weight is not None and weight in g.es.attributes():
        weights = _as_numbers(g.es[weight], "edge", weight, "weight=None")
    names = np.fromiter(g.vs["name"], object, g.vcount()) if "name" in g.vs.attributes() else None
    if names is not None and len(set(names.tolist())) != len(names):
        raise ValueError("two vertices have the same name; expected distinct names, or none: del g.vs['name']")
    columns: tuple[dict[str, Array | TimeColumn], ...] = {}, {}
    if attributes is not False:
        vertices = {name: g.vs[name] for name in g.vs.attributes() if name != "name"}
        columns = _read_attributes(attributes, {name: g.es[name] for name in g.es.attributes()}, vertices, weight, "")
    src, dst = edges[:, 0].copy(), edges[:, 1].copy()
    return both_ways(Edges(g.vcount(), src, dst, weights, names, *columns), not g.is_directed())


def to_igraph(edges: Edges, directed: bool) -> Any:
    """Return an igraph graph with the given edges, names and attributes.

    An undirected graph gets each edge once, from the vertex with the smaller number.
    """
    import igraph

    if not directed:
        edges = _select_edges(edges, np.flatnonzero(edges.src <= edges.dst))
    if "name" in edges.vertex_attributes:
        raise ValueError("the vertex attribute 'name' would become the names of vertices; rename it, or leave it out")
    igraph_graph = igraph.Graph(edges.n, np.stack([edges.src, edges.dst], axis=1).tolist(), directed=directed)
    if edges.names is not None:
        igraph_graph.vs["name"] = edges.names.tolist()
    for name, column in edges.vertex_attributes.items():
        igraph_graph.vs[name] = column.tolist()
    for name, column in _with_weight(edges).items():
        igraph_graph.es[name] = column.tolist()
    return igraph_graph


def of_edge_index(edge_index: ArrayLike, edge_weight: ArrayLike | None, n: int | None) -> Edges:
    """Return the edges of an ``edge_index`` of PyTorch Geometric, a (2, m) array of sources and targets."""
    ids = _as_array(edge_index)
    if ids.ndim != 2 or len(ids) != 2:
        raise ValueError(f"edge_index has shape {ids.shape}; expected (2, m): a row of sources and a row of targets")
    src, dst = as_ids("edge_index[0]", ids[0]), as_ids("edge_index[1]", ids[1])
    n = count_vertices(src, dst) if n is None else vertex_count(n)
    return Edges(n, src, dst, None if edge_weight is None else _as_array(edge_weight), None)


def chosen(given: Chosen, edges: Collection[str], vertices: Collection[str]) -> list[list[str]]:
    """Return the names of the edge attributes and of the vertex attributes that an argument `attributes` chooses."""
    if given is True or given is False:
        return [[*edges], [*vertices]] if given else [[], []]
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise TypeError(
            f"attributes is {given!r}; expected True for all, or a list of names, such as ['amount', 'time']"
        )
    for name in given:
        if name not in edges and name not in vertices:
            known_names = [*dict.fromkeys([*edges, *vertices])]
            known_text = f"there are {', '.join(map(repr, known_names))}" if known_names else "there is none"
            hint = meant(name, [*filter(_is_string, known_names)]) if _is_string(name) else ""
            raise ValueError(f"attributes has {name!r}, which no edge or vertex has; {known_text}{hint}")
    return [[name for name in dict.fromkeys(given) if name in columns] for columns in (edges, vertices)]


def _is_string(name: Any) -> bool:
    return isinstance(name, str)


def _columns_by_name(records: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return for each attribute of edges or vertices the list of its values, by name.

    `records` has a dict of attributes for each edge or vertex. A value is None where the attribute is missing.
    """
    names = dict.fromkeys(chain.from_iterable(records))
    return {name: [record.get(name) for record in records] for name in names}


def _read_attributes(
    chosen_attributes: Chosen,
    edges: Mapping[str, list[Any]],
    vertices: Mapping[str, list[Any]],
    weight: str | None,
    file: str,
) -> tuple[dict[str, Array | TimeColumn], ...]:
    """Return the chosen attributes of edges and of vertices as arrays by name.

    If all are chosen (`chosen_attributes` is True), these are the attributes that have a number or a date for every
    edge or vertex, except `weight`. A warning lists the attributes that have numbers in some places only, and for a
    file also the attributes that have no numbers at all.
    """
    columns_of_both: tuple[dict[str, Array | TimeColumn], ...] = {}, {}
    left_out: list[str] = []
    for columns, names, owner, lists in zip(
        columns_of_both, chosen(chosen_attributes, edges, vertices), ("edge", "vertex"), (edges, vertices)
    ):
        for name in names:
            if (dates := _as_dates(lists[name], owner, name)) is not None:
                columns[name] = dates
            elif chosen_attributes is not True:
                columns[name] = _as_numbers(lists[name], owner, name, "another list of attributes")
            elif owner == "edge" and name == weight:
                continue
            elif _is_string(name) and name and _are_numbers(lists[name]):
                columns[name] = _as_numbers(lists[name], owner, name, "")
            elif file or any(map(_is_number, lists[name])):
                left_out.append(f"{name!r} of {owner} {_describe_first_bad(lists[name])}")
    if left_out:
        warnings.warn(
            f"{file}attributes are left out, because only those are kept that are numbers of at most 64 bits "
            f"everywhere: {', '.join(left_out)}",
            UserWarning,
            stacklevel=5,
        )
    return columns_of_both


def _describe_first_bad(values: list[Any]) -> str:
    """Return text for an error that names the first value of an attribute that is not a number, and its position.

    If all values are numbers, one of them has too many bits for any type, and the text names the first value.
    """
    position = next((position for position, value in enumerate(values) if not _is_number(value)), 0)
    return f"{position} is {'missing' if values[position] is None else reprlib.repr(values[position])}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number | np.bool_)


def _are_numbers(values: list[Any]) -> bool:
    """Return whether all values of an attribute are numbers that fit one array of a type that attributes may have."""
    if not all(map(_is_number, values)):
        return False
    try:
        return is_value_type(_as_numbers(values, "edge", "", "").dtype)
    except TypeError:  # raised for an integer of more than 64 bits
        return False


def _as_dates(values: list[Any], owner: str, name: str) -> TimeColumn | None:
    """Return the values of an attribute as a column of dates or times, or None if any value is something else."""
    if not values or any(value is None for value in values):
        return None
    try:
        column = time_column(np.fromiter(values, object, len(values)))
    except (TypeError, ValueError) as error:
        raise type(error)(f"{owner} attribute {name!r}: {error}") from error
    return None if column is None or (column.numbers == NAT).any() else column


def _with_weight(edges: Edges) -> dict[str, Array | TimeColumn]:
    """Return the edge attributes by name, with the edge values (if the graph has any) as the attribute "weight"."""
    columns = dict(edges.edge_attributes)
    if edges.weights is None:
        return columns
    if columns.get("weight", edges.weights) is not edges.weights:
        raise ValueError("the edge attribute 'weight' has the name of the values; rename it, or leave it out")
    return columns | {"weight": edges.weights}


def are_equal_both_ways(edges: Edges) -> bool:
    """Return whether all edges i -> j have the same values and attributes as the edges j -> i.

    Parallel edges may be in any order.
    """
    columns_given = _with_weight(edges).values()
    arrays = [column.numbers if isinstance(column, TimeColumn) else column for column in columns_given]
    src, dst, *columns = edges.src, edges.dst, *arrays
    sorted_columns = []
    for tails, heads in ((src, dst), (dst, src)):
        columns_of_way = [column[tails < heads] for column in (tails, heads, *columns)]
        order = np.lexsort(columns_of_way[::-1])
        sorted_columns.append([column[order] for column in columns_of_way])
    return all(
        len(a) == len(reversed_column)
        and bool(((a == reversed_column) | ((a != a) & (reversed_column != reversed_column))).all())
        for a, reversed_column in zip(*sorted_columns)
    )


def _as_array(x: Any) -> Array:
    """Return an argument as a NumPy or CuPy array. If it is a tensor that supports DLPack, memory is shared."""
    x = imported(x)
    empty = not hasattr(x, "dtype") and np.size(x) == 0
    return x if hasattr(x, "dtype") else np.asarray(x, np.int64 if empty else None)


def _as_numbers(values: list[Any], owner: str, attribute: str | None, instead: str) -> Array:
    """Return the values of an attribute of edges or vertices as an array.

    Raise TypeError for the first value that is not a number.
    """
    for i, value in enumerate(values):
        if not _is_number(value):
            raise TypeError(f"{owner} {i} has {attribute} {value!r}; expected a number, or {instead}")
    numbers = np.array(values)
    if numbers.dtype.kind == "f" and all(isinstance(value, (int, np.integer)) for value in values):
        try:  # NumPy converts a mix of integers below and above 2**63 to float64, so this tries uint64 instead
            numbers = np.array(values, np.uint64)
        except OverflowError:
            numbers = np.array(values, object)
    if numbers.dtype == object:
        raise TypeError(f"{attribute} has integers of more than 64 bits; expected int64 or float64, or {instead}")
    return numbers


def both_ways(edges: Edges, undirected: Any = True) -> Edges:
    """Return edges in which each undirected edge is followed by its reverse edge. A self loop stays one edge.

    `undirected` says whether all edges are undirected, or is a mask of the undirected edges.

    Examples
    --------
    >>> edges = Edges(3, np.array([0, 1, 2]), np.array([1, 2, 2]), None, None)
    >>> both_ways(edges).src, both_ways(edges, np.array([False, True, True])).dst
    (array([0, 1, 1, 2, 2]), array([1, 2, 1, 2]))
    """
    is_stored = np.ones((len(edges.src), 2), bool)
    is_stored[:, 1] = (edges.src != edges.dst) & undirected
    if not is_stored[:, 1].any():
        return edges
    src, dst = (
        np.stack(endpoints, axis=1)[is_stored] for endpoints in ((edges.src, edges.dst), (edges.dst, edges.src))
    )
    return _select_edges(edges, np.nonzero(is_stored)[0])._replace(src=src, dst=dst)


def undirected(graph: Any) -> Any:
    """Return a graph in host memory in which each edge is followed by its reverse edge.

    If all edges have reverse edges of equal values and attributes already, return `graph` itself.
    """
    src, dst = graph.edges()
    weight_name, columns = graph.edge_attributes.name_of(graph.values), graph.edge_attributes.columns()
    edges = Edges(graph.n, src, dst, graph.values, graph.names, columns, graph.vertex_attributes.columns())
    # The attributes are renamed for this conversion. Otherwise one called "weight" would be confused with the values.
    renamed = {f"attribute {name}": column for name, column in columns.items()}
    if are_equal_both_ways(edges._replace(edge_attributes=renamed)):
        return graph
    both_directions = type(graph)._of_edges(both_ways(edges))
    return both_directions if weight_name is None else both_directions.weighted_by(weight_name)


def _select_edges(edges: Edges, numbers: Array) -> Edges:
    """Return the edges with the given numbers, with their values and attributes."""
    weights = None if edges.weights is None else edges.weights[numbers]
    columns = {
        name: weights if weights is not None and column is edges.weights else column[numbers]
        for name, column in edges.edge_attributes.items()
    }
    return edges._replace(src=edges.src[numbers], dst=edges.dst[numbers], weights=weights, edge_attributes=columns)
