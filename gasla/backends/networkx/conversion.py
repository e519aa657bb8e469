"""Conversion of NetworkX graphs to arrays and back: names of nodes, directions, parallel edges, and edge attributes.

Neighbors stay in NetworkX's order, on which the order of results depends. Parallel edges are one adjacency entry. Their
attributes are combined when a function asks for them, to a sum or a minimum.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from copy import copy
from functools import partial
from itertools import chain, islice, pairwise, repeat
from operator import itemgetter
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from gasla.arrays import Device, index_dtype, moved
from gasla.backends.networkx_calls import CONVERSION, GASLA, REPORT
from gasla.graph.graph import Graph

Array = np.ndarray[Any, Any]
BLOCK = 1 << 16  # number of names of nodes that are looked up in a dictionary at a time
EXACT = 2**53  # float64 represents all integers below this number exactly
I64 = np.iinfo(np.int64)
# types of weights that have the same sums in Python, as NetworkX computes them, and in NumPy arrays
EVEN = {bool, int, float, np.int64, np.float64}
PLAIN = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)


class Edges:
    """The edges of a NetworkX graph as adjacency lists, in NetworkX's order.

    Parallel edges are a single entry of an adjacency list.
    """

    def __init__(self, rows: list[Mapping[Any, Any]], numbers: dict[Any, int] | None, multigraph: bool) -> None:
        n = len(rows)
        degrees = np.fromiter(map(len, rows), np.int64, n)
        m = int(degrees.sum())
        offsets = np.zeros(n + 1, index_dtype(m))
        np.cumsum(degrees, out=offsets[1:])
        heads: Iterable[Any] = chain.from_iterable(rows)
        ids = np.fromiter(heads if numbers is None else _look_up_ids(heads, numbers), np.int32, m)
        self.graph = Graph.from_csr(offsets, ids)
        # number of parallel edges for each adjacency entry, or None if the graph has no parallel edges
        self.copies: Array | None = None
        if multigraph:
            copies = np.fromiter((len(keys) for row in rows for keys in row.values()), np.int64, m)
            self.copies = copies if np.any(copies > 1) else None

    @property
    def count(self) -> int:
        """The number of edges. Parallel edges count separately, and an undirected edge counts in both directions."""
        return len(self.graph.out.indices) if self.copies is None else int(self.copies.sum())

    def combined(self, values: Array, combine: np.ufunc) -> Array:
        """Return one value per adjacency entry. Values of parallel edges are combined, for example by `np.add`."""
        if self.copies is None:
            return values
        firsts = np.cumsum(self.copies) - self.copies
        return np.asarray(combine.reduceat(values, firsts)) if len(values) else values


class Degrees:
    """The degrees of all nodes, with the interface of NetworkX's degree views.

    Iteration yields pairs of a node and its degree. A call with a node returns the degree of the node, and a call
    without arguments the view itself.
    """

    def __init__(self, G: "Converted", counts: Array) -> None:
        self.G, self.counts = G, counts.tolist()

    def __iter__(self) -> Iterator[tuple[Any, int]]:
        return zip(self.G.names, self.counts)

    def __call__(self, *node: Any) -> Any:
        return self.counts[self.G.numbers[node[0]]] if node else self


class Subgraph(NamedTuple):
    """A subgraph that supports no other method than `copy`, which is the only one that NetworkX's functions call."""

    G: "Converted"
    nodes: Iterable[Any]

    def copy(self) -> Any:
        """Return the subgraph as a NetworkX graph."""
        return induced(self.G, self.nodes)


class Converted:
    """A NetworkX graph converted to arrays, which hold its edges in NetworkX's order, and edge attributes by name.

    NetworkX passes this object to the functions of this backend, and `convert_to_nx` converts it back.
    """

    __networkx_backend__ = "gasla"
    device: Device = "cpu"
    is_placed = False  # Whether a call chose `device`. Other functions that the call makes then run on the same device.
    # Whether a call has used this graph before. On the second use, gasla warns that changes of the original may be
    # missing.
    has_served = False

    def __init__(self, G: Any, wanted: Mapping[Any, Any], *, everything: bool, node_data: bool) -> None:
        self.names: list[Any] = list(G)
        self._directed, self._multigraph = G.is_directed(), G.is_multigraph()
        self.graph: dict[Any, Any] = dict(G.graph)
        n = len(self.names)
        self.are_numbers = all(type(v) is int for v in self.names) and self.names == list(range(n))
        self.numbers: dict[Any, int] = dict(zip(self.names, range(n)))
        numbers = None if self.are_numbers else self.numbers
        rows = _neighbor_dicts(G._adj, self.names)
        self.edges = Edges(rows, numbers, self._multigraph)
        self._reversed_edges = (
            Edges(_neighbor_dicts(G._pred, self.names), numbers, False) if self._directed else self.edges
        )
        self.node_data = [dict(G._node[name]) for name in self.names] if node_data else None
        self.data: list[dict[Any, Any]] | None = list(self._each(rows)) if everything else None
        keys = chain.from_iterable(chain.from_iterable(row.values() for row in rows))
        self.keys: list[Any] | None = list(keys) if self._multigraph else None
        self._values: dict[tuple[Any, Any], Array | str] = {}
        # For each attribute with both floats and integers: a mask of the integers, and the integers as int64, because
        # float64 rounds large ones.
        self._integers: dict[tuple[Any, Any], tuple[Array, Array]] = {}
        for name, default in ({} if everything else wanted).items():
            self._keep(name, default, self._each(rows))
        self._cached_results: dict[Hashable, Any] = {}
        # For each weight function of a user: the weights that it returned, and a mask of the edges that it hides by
        # returning None.
        self._weights_by_function: dict[Any, tuple[Array, Array]] = {}

    def _each(self, rows: list[Mapping[Any, Any]]) -> Iterator[dict[Any, Any]]:
        """Return an iterator over the attribute dictionaries of all edges, each parallel edge with its own."""
        attributes = chain.from_iterable(row.values() for row in rows)
        return chain.from_iterable(keys.values() for keys in attributes) if self._multigraph else attributes

    # NetworkX calls the following methods before it chooses a backend. So do NetworkX functions that run unchanged on
    # this backend's graphs (see `compose`).

    def is_directed(self) -> bool:
        """Return whether the graph is directed."""
        return self._directed

    def is_multigraph(self) -> bool:
        """Return whether the graph may have parallel edges."""
        return self._multigraph

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        try:
            return name in self.numbers
        except TypeError:
            return False

    @property
    def _adj(self) -> Mapping[Any, int]:
        return self.numbers  # NetworkX's `nbunch_iter` looks up names in this mapping

    def nbunch_iter(self, nbunch: Any = None) -> Iterator[Any]:
        """Return an iterator over those nodes of `nbunch` that are in the graph, as NetworkX's graphs do."""
        names: Iterator[Any] = nx.Graph.nbunch_iter(self, nbunch)
        return names

    def number_of_edges(self) -> int:
        """Return the number of edges. Parallel edges count separately."""
        return int(self.degrees().sum()) // (1 if self._directed else 2)

    @property
    def degree(self) -> Degrees:
        """The degree of each node, which in a directed graph is the number of edges into and out of the node."""
        return self.once("degree", lambda: Degrees(self, self.all_degrees()))

    @property
    def in_degree(self) -> Degrees:
        """The number of edges into each node."""
        return self.once("in_degree", lambda: Degrees(self, self.degrees(reverse=True)))

    @property
    def out_degree(self) -> Degrees:
        """The number of edges out of each node."""
        return self.once("out_degree", lambda: Degrees(self, self.degrees()))

    def subgraph(self, nodes: Iterable[Any]) -> "Subgraph":
        """Return the subgraph that some nodes induce, as an object that can only be copied."""
        return Subgraph(self, nodes)

    def __str__(self) -> str:
        kind = PLAIN[2 * self._multigraph + self._directed].__name__
        name = self.graph.get("name", "")
        titled = f" named {name!r}" if name else ""
        return f"{kind}{titled} with {len(self)} nodes and {self.number_of_edges()} edges"

    # The functions of this backend call the following methods.

    def once(self, kind: Hashable, make: Callable[[], Any]) -> Any:
        """Return the result of `make()`, which is called only once and cached with the graph under the key `kind`."""
        if kind not in self._cached_results:
            self._cached_results[kind] = make()
        return self._cached_results[kind]

    def on(self, device: Device) -> "Converted":
        """Return a view of this graph for a call that runs on `device`. The view shares the arrays and the cache."""
        # The copy is shallow, so the view shares all arrays and results, also those that are cached later.
        view = copy(self)
        view.device, view.is_placed, view._weights_by_function = device, True, {}
        return view

    def plain(self, reverse: bool = False) -> Graph:
        """Return the edges as a `Graph` without values, in which parallel edges are a single edge.

        With `reverse`, all edges are reversed, and the edges into a node are in the order in which NetworkX lists
        predecessors.
        """
        return (self._reversed_edges if reverse else self.edges).graph

    def values(self, name: Any, combine: np.ufunc) -> Array:
        """Return an edge attribute as an array with one value for each adjacency entry.

        The values of parallel edges, which share an entry, are combined by `combine`.
        """
        each_value = self.each(name)
        return each_value if callable(name) else self.edges.combined(each_value, combine)

    def _by_function(self, weight: Callable[..., Any]) -> Array:
        """Return the weights of all adjacency entries, by calling the weight function of a user once for each entry.

        Where the function returns None, which hides the edge, the weight is 0.
        """
        if weight in self._weights_by_function:
            return self._weights_by_function[weight][0]
        if self.data is None:
            raise NotImplementedError("the graph was converted without its edges' attributes")
        out = self.edges.graph.out
        data: Iterable[Any] = self.data
        if self._multigraph:
            pairs = zip(self.keys or [], self.data)
            copies = repeat(1, len(out.indices)) if self.edges.copies is None else self.edges.copies.tolist()
            data = (dict(islice(pairs, copy_count)) for copy_count in copies)
        try:
            results = [weight(*edge) for edge in zip(self.called(out.owners()), self.called(out.indices), data)]
        except Exception as error:
            raise NotImplementedError("a function of weights raises an error, where it may not be called") from error
        numbers = _to_array([0 if x is None else x for x in results], "a function")
        if isinstance(numbers, str):
            raise NotImplementedError(numbers)
        _require_exact(numbers, "a function")
        self._weights_by_function[weight] = numbers, np.fromiter((x is None for x in results), np.bool_, len(results))
        return numbers

    def each(self, name: Any, default: Any = 1, *, large: bool = False) -> Array:
        """Return an attribute of every edge as an array, with `default` for edges without the attribute.

        Raise NotImplementedError unless all values are numbers that arrays can hold. Numbers of 2**53 and more are
        refused, too, unless `large`, with which integers among floats are rounded.
        """
        if callable(name):
            return self._by_function(name)
        # NetworkX would look up an attribute called None, which no edge has, so all edges have the default value.
        if name is None:
            return np.full(self.edges.count, default)
        key = (name, default)
        if key not in self._values and self.data is not None:
            self._keep(name, default, self.data)
        values = self._values.get(key, f"the graph was converted without its edges' {name!r}")
        if isinstance(values, str):
            raise NotImplementedError(values)
        if not large:
            _require_exact(values, name)
        return values

    def integers(self, name: Any, default: Any = 1) -> tuple[Array, Array]:
        """Return a mask of the edges whose value of an attribute is an integer, and the values of all edges as int64.

        Integers beyond int64 are limited to its range. Values that are not integers are 0 in the second array.
        """
        values = self.each(name, default, large=True)
        if not callable(name) and (name, default) in self._integers:
            return self._integers[name, default]
        is_whole = np.full(len(values), values.dtype.kind in "bi")
        return is_whole, np.where(is_whole, values, 0).astype(np.int64)

    def _keep(self, name: Any, default: Any, edges: Iterable[dict[Any, Any]]) -> None:
        """Store an attribute of every edge as an array, with `default` for edges without the attribute.

        If the values are both floats and integers, also store the integers as int64, because float64 rounds large ones.
        """
        values_list = [data.get(name, default) for data in edges]
        values = self._values[name, default] = _to_array(values_list, name)
        if isinstance(values, str) or values.dtype.kind != "f":
            return
        is_whole = np.fromiter((isinstance(x, int | np.integer) for x in values_list), np.bool_, len(values_list))
        if is_whole.any():
            whole = [
                min(max(x, -I64.max), I64.max) if is_int else 0 for x, is_int in zip(values_list, is_whole.tolist())
            ]
            self._integers[name, default] = is_whole, np.array(whole, np.int64)

    def keys_of(self, edges: Array) -> list[Any]:
        """Return the keys of some edges of a multigraph, whose positions among all edges are `edges`."""
        if self.keys is None:
            raise NotImplementedError("the graph was converted without its edges' keys")
        return [self.keys[edge] for edge in edges.tolist()]

    def weighted(self, name: Any, combine: np.ufunc = np.minimum, reverse: bool = False) -> Graph:
        """Return the graph with an edge attribute as float64 weights, or without weights if all of them are 1.

        If `name` is None, there are no weights either.

        A graph without weights is processed faster.

        It has no weights if all are 1 or the name is None.

        The attributes of parallel edges are combined, by default to the smallest. With the name None and `np.add`,
        weights are the numbers of parallel edges.
        """

        def make() -> Graph:
            if name is None:
                copies = self.edges.copies
                values = None if copies is None or combine is not np.add else copies.astype(np.float64)
            else:
                attribute = self.values(name, combine)
                values = None if len(attribute) and bool((attribute == 1).all()) else attribute.astype(np.float64)
            if values is not None and reverse and self._directed:
                values = values[self.backwards()]
            graph = self.plain(reverse)
            if callable(name) and self._weights_by_function[name][1].any():
                out, shown = graph.out, ~self._weights_by_function[name][1]
                lengths = self._weights_by_function[name][0].astype(np.float64)
                return Graph.from_edges(out.owners()[shown], out.indices[shown], lengths[shown], n=graph.n)
            return graph if values is None else graph.with_values(values)

        if callable(name):
            if reverse and self._directed:
                raise NotImplementedError("a function of weights would be called for edges the other way")
            return make()

        result: Graph = self.once(("weighted", name, combine, reverse and self._directed), make)
        return result

    def backwards(self) -> Array:
        """Return a permutation from adjacency lists of predecessors to those of successors.

        For each entry of the lists of predecessors, it is the position of the same edge in the lists of successors.
        """

        def make() -> Array:
            out, back = self.edges.graph.out, self._reversed_edges.graph.out
            out_order = np.lexsort((out.indices, out.owners()))
            in_order = np.lexsort((back.owners(), back.indices))
            places = np.empty(len(out_order), np.int64)
            places[in_order] = out_order
            return places

        edge_ids: Array = self.once("backwards", make)
        return edge_ids

    def are_whole(self, name: Any, combine: np.ufunc = np.minimum) -> bool:
        """Return whether all values of an edge attribute are integers, so that NetworkX's sums are integers, too."""
        return name is None or self.values(name, combine).dtype.kind in "bi"

    def degrees(self, reverse: bool = False) -> Array:
        """Return the number of edges out of each node, or into each node with `reverse`.

        In an undirected graph a loop counts twice, as in NetworkX.
        """
        edges = self._reversed_edges if reverse else self.edges
        if self.edges.copies is None:
            counts = edges.graph.out_degrees.astype(np.int64)
        else:
            ends = edges.graph.out.owners() if not reverse else self.edges.graph.out.indices
            counts = np.bincount(ends, self.edges.copies, len(self)).astype(np.int64)
        return counts if self._directed else counts + self._loops()

    def all_degrees(self) -> Array:
        """Return the degree of each node, which in a directed graph is the number of edges into and out of the node."""
        return self.degrees() + self.degrees(reverse=True) if self._directed else self.degrees()

    def _loops(self) -> Array:
        """Return the number of self loops at each node. Parallel loops count separately."""
        out = self.edges.graph.out
        owners = out.owners()
        is_loop = owners == out.indices
        copies = None if self.edges.copies is None else self.edges.copies[is_loop]
        return np.bincount(owners[is_loop], copies, len(self)).astype(np.int64)

    def has_loops(self) -> bool:
        """Return whether any edge leads from a node to itself."""
        return bool(self.edges.graph.has_self_loops)

    # The following methods convert results from ids of nodes to NetworkX's names of nodes.

    def called(self, ids: Any) -> list[Any]:
        """Return the names of the nodes with these ids."""
        chosen = np.asarray(ids).tolist()
        return chosen if self.are_numbers else list(map(self.names.__getitem__, chosen))

    def by_name(self, array: Any) -> dict[Any, Any]:
        """Return an array with one number per node as a dictionary from the names of nodes to Python numbers."""
        return dict(zip(self.names, moved(array, "cpu").tolist()))

    def numbered(self, node_names: Iterable[Any]) -> list[int]:
        """Return the ids of the nodes with these names."""
        return [self.numbers[name] for name in node_names]


def _look_up_ids(names: Iterable[Any], numbers: dict[Any, int]) -> Iterator[int]:
    """Yield the ids of nodes, looked up by their names in blocks, which takes half the time of single look-ups."""
    remaining = iter(names)
    while block := list(islice(remaining, BLOCK)):
        yield from itemgetter(*block)(numbers) if len(block) > 1 else (numbers[block[0]],)


def _neighbor_dicts(adjacency: Any, names: list[Any]) -> list[Mapping[Any, Any]]:
    """Return for each node a dictionary whose keys are the node's neighbors.

    Where NetworkX has a view instead, it is copied to a dictionary, which is faster.
    """
    rows = [adjacency[name] for name in names]
    return rows if all(type(row) is dict for row in rows) else [dict(row) for row in rows]


def _to_array(values: list[Any], name: Any) -> Array | str:
    """Return the values of an edge attribute as an array. If an array can't hold them, return the reason as text."""
    if not values:
        return np.zeros(0, np.int64)
    try:
        numbers = np.array(values)
    # Either error may occur, for example because the values are lists of unequal lengths.
    except (ValueError, OverflowError):
        numbers = np.array(None)
    if numbers.ndim != 1 or numbers.dtype.kind not in "bif":
        unsupported = next(
            (x for x in values if not isinstance(x, int | float | np.number) or isinstance(x, complex)), None
        )
        kind = type(unsupported).__name__ if unsupported is not None or None in values else "integers beyond 64 bits"
        return f"edges have {name!r} that is no number of NumPy's ({kind})"
    # NetworkX sums narrow NumPy numbers, such as float32, in their own type, so that sums overflow or are rounded
    # differently than in gasla.
    if odd_types := {*map(type, values)} - EVEN:
        return f"edges have {name!r} of type {min(kind.__name__ for kind in odd_types)}"
    return numbers


def _require_exact(numbers: Array, name: Any) -> None:
    """Raise NotImplementedError if any absolute value in an edge attribute is 2**53 or more.

    float64 rounds sums of such numbers, and Python doesn't round sums of integers, so results would differ.
    """
    if numbers.dtype.kind != "b" and bool((np.abs(numbers[np.isfinite(numbers)].astype(np.float64)) >= EXACT).any()):
        raise NotImplementedError(f"edges have {name!r} of 2**53 or more, which float64 doesn't hold exactly")


def like(G: Converted, names: Iterable[Any]) -> Any:
    """Return a new NetworkX graph of the same kind as G, with the nodes `names` and their attributes, but no edges."""
    if G.data is None or G.node_data is None:
        raise NotImplementedError("the graph was converted without its attributes")
    result = PLAIN[2 * G.is_multigraph() + G.is_directed()]()
    result.graph.update(G.graph)
    result.add_nodes_from((name, G.node_data[G.numbers[name]]) for name in names)
    return result


def add(G: Converted, target_graph: Any, entries: Array) -> None:
    """Add edges of G with their attributes to the NetworkX graph `target_graph`.

    `entries` are the positions of these edges in the adjacency lists of G. Parallel edges are added together.
    """
    out, copies = G.plain().out, G.edges.copies
    tails, heads = G.called(out.owners()[entries]), G.called(out.indices[entries])
    data: Any = G.data
    if not G.is_multigraph():
        target_graph.add_edges_from(zip(tails, heads, map(data.__getitem__, entries.tolist())))
        return
    counts = np.ones(len(out.indices), np.int64) if copies is None else copies
    firsts = np.cumsum(counts) - counts
    for u, v, first, copy_count in zip(tails, heads, firsts[entries].tolist(), counts[entries].tolist()):
        edges = range(first, first + copy_count)
        target_graph.add_edges_from((u, v, key, data[edge]) for edge, key in zip(edges, G.keys_of(np.array(edges))))


def induced(G: Converted, nodes: Iterable[Any]) -> Any:
    """Return the subgraph of some nodes as a new NetworkX graph, with NetworkX's order of nodes and edges.

    As in NetworkX, nodes come in the order of a Python set if they are less than half of the graph's nodes. In a
    multigraph, the neighbors of a node come in that order if the chosen nodes are less than half of its neighbors.
    """
    chosen = set(iter(nodes))
    names = list(chosen) if 2 * len(chosen) < len(G) else [name for name in G.names if name in chosen]
    new_ids = np.full(len(G), -1, np.int64)
    new_ids[G.numbered(names)] = np.arange(len(names))
    out = G.plain().out
    owners = out.owners()
    tails, heads = new_ids[owners], new_ids[out.indices]
    entries = np.flatnonzero((tails >= 0) & (heads >= 0))
    # A second sort key, which orders the neighbors of a node; 0 for all keeps them in the order of the graph.
    neighbor_order = np.zeros(len(entries), np.int64)
    if G.is_multigraph():
        neighbor_order = np.where(2 * len(chosen) < np.bincount(owners)[owners[entries]], heads[entries], 0)
    result = like(G, names)
    add(G, result, entries[np.lexsort((neighbor_order, tails[entries]))])
    return result


class Unconverted:
    """A stand-in for a graph whose conversion ran out of memory. Each call that uses it tries to convert again."""

    __networkx_backend__ = "gasla"

    def __init__(self, convert: Callable[[], Converted]) -> None:
        self._convert = convert

    def convert(self) -> Converted:
        """Try to convert the graph again, and return the result. Raise NotImplementedError if memory runs out again."""
        try:
            return self._convert()
        except MemoryError as error:
            raise NotImplementedError("memory ran out when the graph was converted") from error


def convert_from_nx(
    graph: Any,
    edge_attrs: Mapping[Any, Any] | None = None,
    node_attrs: Mapping[Any, Any] | None = None,
    preserve_edge_attrs: bool = False,
    preserve_node_attrs: bool = False,
    preserve_graph_attrs: bool = False,
    name: str | None = None,
    graph_name: str | None = None,
) -> Converted | Unconverted:
    """Convert a NetworkX graph to one of this backend.

    Parameters
    ----------
    graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
        Subclasses are refused, because edges may have another meaning in them.
    edge_attrs : dict of name to default, optional
        Attributes of edges to keep, as arrays.
    preserve_edge_attrs, preserve_node_attrs : bool
        Keep all attributes, with the values that they have at this time.
    node_attrs, preserve_graph_attrs, name, graph_name
        As NetworkX passes them; attributes of nodes are all kept or none, those of the graph always.

    Returns
    -------
    Converted, or Unconverted
        A graph of this backend. Unconverted if memory ran out: NetworkX would cache an exception.

    Raises
    ------
    NotImplementedError
        For a subclass.
    """
    if isinstance(graph, Converted):
        return graph
    if type(graph) not in PLAIN:
        raise NotImplementedError(f"a {type(graph).__name__}; expected one of NetworkX's own four kinds of graphs")
    kinds = {"everything": preserve_edge_attrs is True, "node_data": preserve_node_attrs is True or bool(node_attrs)}
    unconverted = Unconverted(partial(Converted, graph, edge_attrs or {}, **kinds))
    try:
        with REPORT.measuring(CONVERSION, GASLA):
            return unconverted.convert()
    except NotImplementedError:
        return unconverted


def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
    """Convert a graph of this backend to a NetworkX graph. Return any other result unchanged."""
    if not isinstance(result, Converted):
        return result
    kind = PLAIN[2 * result.is_multigraph() + result.is_directed()]
    G = kind(**result.graph) if all(isinstance(key, str) for key in result.graph) else kind()
    G.graph.update(result.graph)
    G.add_nodes_from(result.names if result.node_data is None else zip(result.names, result.node_data))
    entries = _entry_attributes(result)
    for u, row in zip(result.names, _neighbor_names(result.edges.graph, result)):
        neighbors = G._adj[u]
        for v in row:
            entry = next(entries)
            neighbors[v] = entry if result.is_directed() or v == u or u not in G._adj[v] else G._adj[v][u]
    if result.is_directed():
        for v, row in zip(result.names, _neighbor_names(result.plain(reverse=True), result)):
            G._pred[v].update((u, G._succ[u][v]) for u in row)
    return G


def _neighbor_names(graph: Graph, names: Converted) -> Iterator[list[Any]]:
    """Return an iterator that yields, for one vertex after the other, the list of the names of its neighbors."""
    heads, offsets = names.called(graph.out.indices), graph.out.indptr.tolist()
    return (heads[first:last] for first, last in pairwise(offsets))


def _entry_attributes(graph: Converted) -> Iterator[dict[Any, Any]]:
    """Return an iterator over the attribute dictionaries of all adjacency entries, in the order of the adjacency lists.

    In a multigraph, an entry stands for parallel edges, and its dictionary maps their keys to their attributes.
    """
    copies, count = graph.edges.copies, graph.edges.count
    data: Iterator[dict[Any, Any]]
    if graph.data is not None:
        data = map(dict, graph.data)
    else:
        columns = {name: values for (name, _), values in graph._values.items() if not isinstance(values, str)}
        rows = zip(*(values.tolist() for values in columns.values()))
        data = (dict(zip(columns, row)) for row in rows) if columns else ({} for _ in range(count))
    if not graph.is_multigraph():
        return data
    each_copies = repeat(1, count) if copies is None else copies.tolist()
    keys = iter(graph.keys) if graph.keys is not None else chain.from_iterable(map(range, each_copies))
    each_copies = repeat(1, count) if copies is None else copies.tolist()
    return (dict(islice(zip(keys, data), copy_count)) for copy_count in each_copies)
