"""Conversion from and to the graphs of NetworkX, igraph and PyTorch Geometric, with attributes that are numbers."""

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

Chosen = bool | Sequence[str]  # the attributes to convert: all, none, or these names


class Records(NamedTuple):
    """Vertices and edges with their attributes by name. `undirected` tells about all edges, or about each."""

    nodes: list[tuple[Any, dict[str, Any]]]
    edges: list[tuple[Any, Any, dict[str, Any]]]
    undirected: bool | list[bool] = False


def records_of(G: Any) -> Records:
    """Return the records of a NetworkX graph."""
    if not hasattr(G, "adjacency") or not hasattr(G, "is_directed"):
        raise TypeError(f"G is a {type(G).__name__}; expected a NetworkX graph")
    return Records(list(G.nodes(data=True)), list(G.edges(data=True)), not G.is_directed())


def of_records(records: Records, weight: str | None, attributes: Chosen = False, file: str = "") -> Edges:
    """Return the edges in records, which may come from a `file`."""
    nodes, edges = [node for node, _ in records.nodes], records.edges
    numbers = {node: v for v, node in enumerate(nodes)}
    src, dst = (np.fromiter((numbers[edge[end]] for edge in edges), np.int64, len(edges)) for end in (0, 1))
    weights = None if weight is None else _weights_of(edges, weight, file)
    own = all(isinstance(node, int) for node in nodes) and nodes == list(range(len(nodes)))
    names = None if own else np.fromiter(nodes, object, len(nodes))
    columns: tuple[dict[str, Array | TimeColumn], ...] = {}, {}
    if attributes is not False:
        of_edges = _by_name([data for _, _, data in edges])
        of_nodes = _by_name([data for _, data in records.nodes])
        columns = _read_attributes(attributes, of_edges, of_nodes, weight, file)
    undirected = np.array(records.undirected, bool)
    return both_ways(Edges(len(nodes), src, dst, weights, names, *columns), undirected)


def _weights_of(edges: list[tuple[Any, Any, dict[str, Any]]], weight: str, file: str) -> Array | None:
    """Return the weight of each edge, or None if no edge has one.

    If only some have one, warn, and take 1 for the others.
    """
    bare = [edge for edge, (_, _, data) in enumerate(edges) if weight not in data]
    if len(bare) == len(edges):
        return None
    if bare:
        u, v, _ = edges[bare[0]]
        they = "1 edge has" if len(bare) == 1 else f"{len(bare):,} edges have"
        warnings.warn(
            f"{file}{they} no {weight!r}, the first from {u!r} to {v!r}, and others have one; without one the weight "
            "is 1, as in NetworkX",
            UserWarning,
            stacklevel=4,
        )
    given = [data.get(weight, 1) for _, _, data in edges]
    odd = next((edge for edge, value in enumerate(given) if not _is_number(value)), None)
    if odd is not None:
        u, v, _ = edges[odd]
        raise TypeError(
            f"the edge from {u!r} to {v!r} has {weight} {given[odd]!r}; expected a number, or no {weight!r} at all, "
            f"which counts 1{'' if file else '; weight=None ignores the weights of all edges'}"
        )
    return _numbers(given, "edge", weight, "weight=None")


def to_networkx(edges: Edges, directed: bool, parallel: bool) -> Any:
    """Return a NetworkX graph of the edges.

    An undirected one has one direction of each edge, from the smaller vertex.
    """
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


def _records(columns: Mapping[str, Array | TimeColumn], count: int) -> Iterator[dict[str, Any]]:
    """Return for each edge or vertex its attributes by name."""
    if not columns:
        return ({} for _ in range(count))
    return (dict(zip(columns, row)) for row in zip(*(column.tolist() for column in columns.values())))


def of_igraph(g: Any, weight: str | None, attributes: Chosen = False) -> Edges:
    """Return the edges of an igraph graph."""
    if not hasattr(g, "get_edgelist"):
        raise TypeError(f"g is a {type(g).__name__}; expected an igraph graph")
    edges = np.array(g.get_edgelist(), np.int64).reshape(-1, 2)
    weights = None
    if weight is not None and weight in g.es.attributes():
        weights = _numbers(g.es[weight], "edge", weight, "weight=None")
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
    """Return an igraph graph of the edges.

    An undirected one has one direction of each edge, from the smaller vertex.
    """
    import igraph

    if not directed:
        edges = _taken(edges, np.flatnonzero(edges.src <= edges.dst))
    if "name" in edges.vertex_attributes:
        raise ValueError("the vertex attribute 'name' would become the names of vertices; rename it, or leave it out")
    g = igraph.Graph(edges.n, np.stack([edges.src, edges.dst], axis=1).tolist(), directed=directed)
    if edges.names is not None:
        g.vs["name"] = edges.names.tolist()
    for name, column in edges.vertex_attributes.items():
        g.vs[name] = column.tolist()
    for name, column in _with_weight(edges).items():
        g.es[name] = column.tolist()
    return g


def of_edge_index(edge_index: ArrayLike, edge_weight: ArrayLike | None, n: int | None) -> Edges:
    """Return the edges of an ``edge_index`` of PyTorch Geometric."""
    ids = _array(edge_index)
    if ids.ndim != 2 or len(ids) != 2:
        raise ValueError(f"edge_index has shape {ids.shape}; expected (2, m): a row of sources and a row of targets")
    src, dst = as_ids("edge_index[0]", ids[0]), as_ids("edge_index[1]", ids[1])
    n = count_vertices(src, dst) if n is None else vertex_count(n)
    return Edges(n, src, dst, None if edge_weight is None else _array(edge_weight), None)


def chosen(given: Chosen, edges: Collection[str], vertices: Collection[str]) -> list[list[str]]:
    """Return the names of attributes of edges and of vertices that an argument `attributes` chooses."""
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
    """Return the attributes of edges or vertices as lists, with None where one has no such attribute."""
    names = dict.fromkeys(chain.from_iterable(records))
    return {name: [record.get(name) for record in records] for name in names}


def _read_attributes(
    given: Chosen, edges: Mapping[str, list[Any]], vertices: Mapping[str, list[Any]], weight: str | None, file: str
) -> tuple[dict[str, Array | TimeColumn], ...]:
    """Return the chosen attributes as arrays.

    Without a choice, these are all of numbers or dates everywhere, except `weight`.

    A warning names those that are numbers in some places only and, of a file, those that are no numbers at all.
    """
    both: tuple[dict[str, Array | TimeColumn], ...] = {}, {}
    left: list[str] = []
    for columns, names, of, lists in zip(both, chosen(given, edges, vertices), ("edge", "vertex"), (edges, vertices)):
        for name in names:
            if (dates := _dates(lists[name], of, name)) is not None:
                columns[name] = dates
            elif given is not True:
                columns[name] = _numbers(lists[name], of, name, "another list of attributes")
            elif of == "edge" and name == weight:
                continue
            elif _is_text(name) and name and _are_numbers(lists[name]):
                columns[name] = _numbers(lists[name], of, name, "")
            elif file or any(map(_is_number, lists[name])):
                left.append(f"{name!r} of {of} {_odd(lists[name])}")
    if left:
        warnings.warn(
            f"{file}attributes are left out, because only those are kept that are numbers of at most 64 bits "
            f"everywhere: {', '.join(left)}",
            UserWarning,
            stacklevel=5,
        )
    return both


def _odd(values: list[Any]) -> str:
    """Describe the first value that is no number, with its place.

    If there is none, describe the first with too many bits.
    """
    place = next((place for place, value in enumerate(values) if not _is_number(value)), 0)
    return f"{place} is {'missing' if values[place] is None else reprlib.repr(values[place])}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number | np.bool_)


def _are_numbers(values: list[Any]) -> bool:
    """Return whether all values are numbers that one array of values holds."""
    if not all(map(_is_number, values)):
        return False
    try:
        return is_value_type(_numbers(values, "edge", "", "").dtype)
    except TypeError:  # integers of more than 64 bits
        return False


def _dates(values: list[Any], of: str, name: str) -> TimeColumn | None:
    """Return the dates or times of edges or vertices, or None if these are not what all have."""
    if not values or any(value is None for value in values):
        return None
    try:
        column = time_column(np.fromiter(values, object, len(values)))
    except (TypeError, ValueError) as error:
        raise type(error)(f"{of} attribute {name!r}: {error}") from error
    return None if column is None or (column.numbers == NAT).any() else column


def _with_weight(edges: Edges) -> dict[str, Array | TimeColumn]:
    """Return the attributes of edges, and their values as "weight"."""
    columns = dict(edges.edge_attributes)
    if edges.weights is None:
        return columns
    if columns.get("weight", edges.weights) is not edges.weights:
        raise ValueError("the edge attribute 'weight' has the name of the values; rename it, or leave it out")
    return columns | {"weight": edges.weights}


def are_equal_both_ways(edges: Edges) -> bool:
    """Return whether i -> j and j -> i have equal values and attributes, of all parallel edges in any order."""
    given = _with_weight(edges).values()
    held = [column.numbers if isinstance(column, TimeColumn) else column for column in given]
    src, dst, *columns = edges.src, edges.dst, *held
    ways = []
    for first, second in ((src, dst), (dst, src)):
        each = [column[first < second] for column in (first, second, *columns)]
        order = np.lexsort(each[::-1])
        ways.append([column[order] for column in each])
    return all(len(a) == len(b) and bool(((a == b) | ((a != a) & (b != b))).all()) for a, b in zip(*ways))


def _array(x: Any) -> Array:
    """Return a NumPy or CuPy array, with the memory of a tensor if that supports DLPack."""
    x = imported(x)
    empty = not hasattr(x, "dtype") and np.size(x) == 0
    return x if hasattr(x, "dtype") else np.asarray(x, np.int64 if empty else None)


def _numbers(values: list[Any], of: str, attribute: str | None, instead: str) -> Array:
    """Convert values of edges or vertices to an array. Raise TypeError for the first value that is not a number."""
    for i, value in enumerate(values):
        if not _is_number(value):
            raise TypeError(f"{of} {i} has {attribute} {value!r}; expected a number, or {instead}")
    numbers = np.array(values)
    if numbers.dtype.kind == "f" and all(isinstance(value, (int, np.integer)) for value in values):
        try:  # NumPy converts integers below and above 2**63 to float64
            numbers = np.array(values, np.uint64)
        except OverflowError:
            numbers = np.array(values, object)
    if numbers.dtype == object:
        raise TypeError(f"{attribute} has integers of more than 64 bits; expected int64 or float64, or {instead}")
    return numbers


def both_ways(edges: Edges, undirected: Any = True) -> Edges:
    """Add after each undirected edge its reverse, except after a loop.

    `undirected` tells this of all edges, or of each.

    Examples
    --------
    >>> edges = Edges(3, np.array([0, 1, 2]), np.array([1, 2, 2]), None, None)
    >>> both_ways(edges).src, both_ways(edges, np.array([False, True, True])).dst
    (array([0, 1, 1, 2, 2]), array([1, 2, 1, 2]))
    """
    stays = np.ones((len(edges.src), 2), bool)
    stays[:, 1] = (edges.src != edges.dst) & undirected
    if not stays[:, 1].any():
        return edges
    src, dst = (np.stack(ends, axis=1)[stays] for ends in ((edges.src, edges.dst), (edges.dst, edges.src)))
    return _taken(edges, np.nonzero(stays)[0])._replace(src=src, dst=dst)


def undirected(graph: Any) -> Any:
    """Return a graph in host memory with each edge followed by its reverse.

    If all edges have equal reverses, return `graph`.
    """
    src, dst = graph.edges()
    own, columns = graph.edge_attributes.name_of(graph.values), graph.edge_attributes.columns()
    edges = Edges(graph.n, src, dst, graph.values, graph.names, columns, graph.vertex_attributes.columns())
    others = {f"attribute {name}": column for name, column in columns.items()}  # none is called "weight"
    if are_equal_both_ways(edges._replace(edge_attributes=others)):
        return graph
    made = type(graph)._of_edges(both_ways(edges))
    return made if own is None else made.weighted_by(own)


def _taken(edges: Edges, numbers: Array) -> Edges:
    """Return the edges with the given numbers."""
    weights = None if edges.weights is None else edges.weights[numbers]
    columns = {
        name: weights if weights is not None and column is edges.weights else column[numbers]
        for name, column in edges.edge_attributes.items()
    }
    return edges._replace(src=edges.src[numbers], dst=edges.dst[numbers], weights=weights, edge_attributes=columns)
