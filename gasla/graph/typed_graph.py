"""`TypedGraph`: a graph with vertices of several types, which has a `Graph` for each relation between two types.

The graph of a relation between different types is bipartite: the vertices of the source type come first, then the
vertices of the target type. So all functions that take a graph, such as `gasla.negative_edges` and `gasla.project`,
take the graph of a relation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import accumulate
from types import MappingProxyType
from typing import Any

import numpy as np

from gasla.arrays import Device, array_module
from gasla.graph.adjacency import Array
from gasla.graph.arguments import in_host_memory, whole_number
from gasla.graph.exchange.two_sides import SIDES, sides
from gasla.graph.exchange.vertex_names import Names
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.validate import as_array
from gasla.once import once_property

Relation = tuple[str, str, str]  # a relation is given by the type of its sources, its name, and the type of its targets
MOST = 2**62  # the largest number of vertices of a type, so that the sum of two such numbers fits int64


@dataclass
class VertexType:
    """The vertices of one type of a typed graph, as an object from which functions read arguments with vertices.

    An argument may have ids or names of vertices.
    """

    n: int
    device: Device
    naming: Names | None
    id_dtype: np.dtype[Any]


class TypedGraph:
    """A graph with several types of vertices and relations: a `Graph` for each relation between two types.

    Each type has its own vertices, numbered from 0. `gasla.sample_neighbors`, `gasla.loader`, `gasla.negative_edges`,
    `gasla.metapath_walks` and `gasla.aggregate_features` take typed graphs. All other functions take the graph of a
    relation.

    Parameters
    ----------
    relations : mapping from (source type, name, target type) to edges
        The edges of each relation: a sparse array with a row for each source and a column for each target, whose values
        are weights; a (2, m) array of integers, as `edge_index` of PyTorch Geometric; or a `Graph`. A `Graph` between
        different types has to know its `sides`, as graphs of `Graph.from_bipartite` do, and to number all sources
        before all targets.
    sizes : mapping from type to int, optional
        The number of vertices of each type; by default as matrices and graphs have it, and for arrays one more than the
        largest id.

    Attributes
    ----------
    relations : mapping from (source type, name, target type) to Graph
        In a graph between different types, target j is vertex ``sizes[source type] + j``.
    sizes : mapping from type to int
    device : "cpu" or "gpu"

    Raises
    ------
    TypeError, ValueError
        If a relation is not named by three strings; edges are of another kind, or do not fit the sizes; graphs have
        names of their own; or they are on two devices.

    Examples
    --------
    >>> import gasla
    >>> shop = gasla.TypedGraph(
    ...     {("user", "buys", "item"): [[0, 0, 1], [0, 2, 2]], ("user", "knows", "user"): [[0], [1]]},
    ...     sizes={"item": 4},
    ... )
    >>> shop
    TypedGraph(user=2, item=4; user-buys-item: 3, user-knows-user: 1)
    >>> shop["user", "buys", "item"].edges()
    (array([0, 0, 1], dtype=int32), array([2, 4, 4], dtype=int32))
    >>> sample = gasla.sample_neighbors(shop, {"item": [2]}, [5, 5], direction="in")
    >>> sample.vertices
    {'user': array([0, 1], dtype=int32), 'item': array([2], dtype=int32)}
    >>> sample.edge_index["user", "knows", "user"]
    array([[0],
           [1]])
    """

    def __init__(self, relations: Mapping[Relation, Any], sizes: Mapping[str, int] | None = None) -> None:
        if not isinstance(relations, Mapping) or not relations:
            raise TypeError(
                f"relations is a {type(relations).__name__} of {len(relations) if hasattr(relations, '__len__') else 0}"
                "; expected a mapping of one or more, such as {('user', 'buys', 'item'): edges}"
            )
        edges_of = {_check_relation_name(name): _check_edges(name, edges) for name, edges in relations.items()}
        known_sizes = {vertex_type: 0 for source, _, target in edges_of for vertex_type in (source, target)}
        for vertex_type, vertex_count in (sizes or {}).items():
            if not isinstance(vertex_type, str):
                raise TypeError(f"sizes has the type {vertex_type!r}; expected a string")
            known_sizes[vertex_type] = whole_number(f"sizes[{vertex_type!r}]", vertex_count, MOST)
        counts = {name: _count_ends(name, edges) for name, edges in edges_of.items()}
        for name, (source, target, _) in counts.items():
            for vertex_type, vertex_count in ((name[0], source), (name[2], target)):
                if vertex_type not in (sizes or {}):
                    known_sizes[vertex_type] = max(known_sizes[vertex_type], vertex_count)
        for name, (source, target, is_exact) in counts.items():
            for vertex_type, vertex_count in ((name[0], source), (name[2], target)):
                if vertex_count > known_sizes[vertex_type] or (is_exact and vertex_count < known_sizes[vertex_type]):
                    raise ValueError(
                        f"the edges of {name} have {vertex_count} vertices of type {vertex_type!r}; expected "
                        f"{known_sizes[vertex_type]}"
                    )
        graphs = {
            name: _graph_of_relation(name, edges, known_sizes[name[0]], known_sizes[name[2]])
            for name, edges in edges_of.items()
        }
        self._set(graphs, known_sizes, {})

    def _set(self, graphs: dict[Relation, Graph], vertex_counts: dict[str, int], naming: dict[str, Names]) -> None:
        self._graphs, self._sizes = graphs, vertex_counts
        devices = {graph.device: name for name, graph in graphs.items()}
        if len(devices) > 1:
            raise ValueError(f"{devices['cpu']} is on the CPU, and {devices['gpu']} on the GPU; expected one device")
        self.device: Device = next(iter(devices))
        self._naming = naming

    @classmethod
    def from_graph(cls, graph: Any, types: Sequence[str], relations: str | Sequence[str] = "to") -> TypedGraph:
        """Return a typed graph made from a graph and the types of its vertices and edges.

        Parameters
        ----------
        graph : Graph or SciPy sparse array
            In host memory. Its names, values and edge attributes are kept.
        types : (n,) sequence of str
            The type of each vertex. The vertices of a type are numbered in the order of the graph.
        relations : str, or (m,) sequence of str
            The name of the relation of each edge, or of all of them.

        Raises
        ------
        TypeError, ValueError
            If there is not one string for each vertex, and for each edge; or the graph has no edges.

        Examples
        --------
        >>> import gasla
        >>> plain = gasla.Graph.from_edges([0, 0, 1], [1, 2, 2])
        >>> gasla.TypedGraph.from_graph(plain, ["user", "user", "item"], ["knows", "buys", "buys"])
        TypedGraph(item=1, user=2; user-buys-item: 2, user-knows-user: 1)
        """
        graph = in_host_memory("TypedGraph.from_graph", graph)
        types_sorted, type_of = _distinct_strings("types", types, graph.n, "vertices")
        relation_names = [relations] * graph.m if isinstance(relations, str) else relations
        names, name_of = _distinct_strings("relations", relation_names, graph.m, "edges")
        if graph.m == 0:
            raise ValueError("the graph has no edges; expected one or more, whose relations name the types")
        order = np.argsort(type_of, kind="stable")
        counts = np.bincount(type_of, minlength=len(types_sorted))
        starts = np.cumsum(counts) - counts
        index_in_type = np.empty(graph.n, np.int64)
        index_in_type[order] = np.arange(graph.n) - starts[type_of[order]]
        src, dst = graph.edges()
        code = (type_of[src] * len(names) + name_of) * len(types_sorted) + type_of[dst]
        vertex_counts = {str(vertex_type): int(count) for vertex_type, count in zip(types_sorted, counts)}
        graphs = dict[Relation, Graph]()
        # a loop over the relations that have edges, which are few
        for combination in np.flatnonzero(np.bincount(code)).tolist():
            remainder, target = divmod(combination, len(types_sorted))
            source, name_index = divmod(remainder, len(names))
            name = str(types_sorted[source]), str(names[name_index]), str(types_sorted[target])
            graphs[name] = _extract_relation(
                graph, np.flatnonzero(code == combination), index_in_type, name, vertex_counts
            )
        naming = dict[str, Names]()
        if graph.naming is not None:
            names_by_type = np.split(graph.naming.each[order], starts[1:])
            naming = {
                str(vertex_type): Names(names_of_type)
                for vertex_type, names_of_type in zip(types_sorted, names_by_type)
            }
        typed = cls.__new__(cls)
        typed._set(graphs, vertex_counts, naming)
        return typed

    @classmethod
    def from_networkx(
        cls,
        G: Any,
        type: str = "type",
        relation: str = "relation",
        weight: str | None = "weight",
        *,
        attributes: bool | Sequence[str] = False,
    ) -> TypedGraph:
        """Return a typed graph of a NetworkX graph whose nodes have a type, and edges a relation.

        Parameters
        ----------
        G : NetworkX graph
            Each edge of an undirected graph leads both ways.
        type, relation : str
            The names of two attributes: that of nodes has their type, and that of edges the name of their relation. An
            edge without this attribute has the relation "to".
        weight, attributes
            As for `Graph.from_networkx`.

        Raises
        ------
        ValueError
            If a node has no type, and in the cases of `from_graph`.

        Examples
        --------
        >>> import gasla, networkx as nx
        >>> G = nx.Graph([("ann", "tea"), ("bob", "tea")])
        >>> nx.set_node_attributes(G, {"ann": "user", "bob": "user", "tea": "item"}, "type")
        >>> gasla.TypedGraph.from_networkx(G)
        TypedGraph(item=1, user=2; item-to-user: 2, user-to-item: 2)
        """
        G = G if G.is_directed() else G.to_directed()
        for node, node_attributes in G.nodes(data=True):
            if type not in node_attributes:
                raise ValueError(f"node {node!r} has no {type!r}; expected a type for each node")
        graph = Graph.from_networkx(G, weight, attributes=attributes)
        types = [node_attributes[type] for _, node_attributes in G.nodes(data=True)]
        return cls.from_graph(
            graph, types, [node_attributes.get(relation, "to") for *_, node_attributes in G.edges(data=True)]
        )

    @classmethod
    def from_hetero_data(cls, data: Any) -> TypedGraph:
        """Return a typed graph of PyTorch Geometric's `HeteroData`.

        Parameters
        ----------
        data : HeteroData
            Each edge type has an `edge_index`. One-dimensional tensors with an entry per edge, such as `time`, become
            edge attributes.

        Examples
        --------
        >>> import gasla
        >>> from torch_geometric.data import HeteroData  # doctest: +SKIP
        >>> data = HeteroData()  # doctest: +SKIP
        >>> data["user", "buys", "item"].edge_index = torch.tensor([[0, 1], [1, 1]])  # doctest: +SKIP
        >>> gasla.TypedGraph.from_hetero_data(data)  # doctest: +SKIP
        TypedGraph(user=2, item=2; user-buys-item: 2)
        """
        stores = {name: data[name] for name in data.edge_types}
        vertex_counts = {
            vertex_type: count for vertex_type in data.node_types if (count := data[vertex_type].num_nodes) is not None
        }
        typed = cls({name: store["edge_index"] for name, store in stores.items()}, vertex_counts)
        columns = dict[Relation, dict[str, Any]]()
        for name, store in stores.items():
            count = typed.relations[name].m
            columns[name] = {
                key: column
                for key, column in store.items()
                if key != "edge_index" and tuple(getattr(column, "shape", ())) == (count,)
            }
        return typed.with_edge_attributes(columns)

    def to_hetero_data(self) -> Any:
        """Return PyTorch Geometric's `HeteroData` with `num_nodes`, `edge_index`, and edge attributes by their names.

        Raises
        ------
        ImportError
            If PyTorch Geometric is missing.

        Examples
        --------
        >>> import gasla
        >>> gasla.TypedGraph({("a", "to", "b"): [[0], [0]]}).to_hetero_data().num_nodes  # doctest: +SKIP
        2
        """
        try:
            hetero_data, tensor = import_module("torch_geometric.data").HeteroData(), import_module("torch").from_dlpack
        except ImportError:
            raise ImportError("HeteroData needs PyTorch Geometric: pip install torch-geometric") from None
        for vertex_type, vertex_count in self.sizes.items():
            hetero_data[vertex_type].num_nodes = vertex_count
        for name, graph in self.relations.items():
            hetero_data[name].edge_index = tensor(self.edge_index(name))
            for column in graph.edge_attributes:
                hetero_data[name][column] = tensor(graph.edge_attributes.numbers(column).copy())
        return hetero_data

    @property
    def relations(self) -> Mapping[Relation, Graph]:
        """The graph of each relation, by the relation's source type, name and target type."""
        return MappingProxyType(self._graphs)

    @property
    def sizes(self) -> Mapping[str, int]:
        """The number of vertices of each type."""
        return MappingProxyType(self._sizes)

    def __getitem__(self, relation: Relation) -> Graph:
        if relation not in self.relations:
            raise KeyError(f"{relation!r} is no relation; there are {', '.join(map(repr, self.relations))}")
        return self.relations[relation]

    def edge_index(self, relation: Relation) -> Array:
        """Return the (2, m) sources and targets of a relation, each numbered within its type, as int64.

        Examples
        --------
        >>> import gasla
        >>> gasla.TypedGraph({("a", "to", "b"): [[0, 3], [1, 1]]}).edge_index(("a", "to", "b"))
        array([[0, 3],
               [1, 1]])
        """
        src, dst = self[relation].edges()
        xp: Any = array_module(src)
        return xp.stack([src.astype(np.int64), dst.astype(np.int64) - self.starts(relation)[1]])

    def starts(self, relation: Relation) -> tuple[int, int]:
        """Return the numbers of the first source and the first target of a relation among the vertices of its graph.

        Examples
        --------
        >>> import gasla
        >>> gasla.TypedGraph({("a", "to", "b"): [[0, 3], [1, 1]]}).starts(("a", "to", "b"))
        (0, 4)
        """
        source, _, target = relation
        return 0, 0 if source == target else self.sizes[source]

    @once_property
    def offsets(self) -> Mapping[str, int]:
        """The number of the first vertex of each type, if all vertices are numbered one type after another.

        `gasla.metapath_walks` numbers them so.
        """
        return dict(zip(self.sizes, accumulate(self.sizes.values(), initial=0)))

    @once_property
    def id_dtype(self) -> np.dtype[Any]:
        """The dtype of vertex ids in results: the widest dtype that the graph of any relation has for ids."""
        return np.result_type(*(graph.id_dtype for graph in self.relations.values()))

    def vertices(self, kind: str) -> VertexType:
        """Return an object for the vertices of a type, from which functions read arguments with these vertices.

        Raise ValueError if there is no type of this name.
        """
        if kind not in self.sizes:
            raise ValueError(f"{kind!r} is no type of vertices; there are {', '.join(map(repr, self.sizes))}")
        return VertexType(self.sizes[kind], self.device, self._naming.get(kind), self.id_dtype)

    def names(self, kind: str) -> Array | None:
        """Return the names of the vertices of a type, or None if they have none.

        Examples
        --------
        >>> import gasla, networkx as nx
        >>> G = nx.DiGraph([("ann", "tea")])
        >>> nx.set_node_attributes(G, {"ann": "user", "tea": "item"}, "type")
        >>> gasla.TypedGraph.from_networkx(G).names("item")
        array(['tea'], dtype=object)
        """
        naming = self.vertices(kind).naming
        return None if naming is None else naming.each

    def with_edge_attributes(self, columns: Mapping[Relation, Mapping[str, Any]]) -> TypedGraph:
        """Return the typed graph with attributes of the edges of some relations, such as times.

        Parameters
        ----------
        columns : mapping from relation to mapping
            For each relation that gets attributes, the columns by name, as for `Graph.with_edge_attributes`.

        Examples
        --------
        >>> import gasla
        >>> shop = gasla.TypedGraph({("user", "buys", "item"): [[0, 1], [0, 0]]})
        >>> shop = shop.with_edge_attributes({("user", "buys", "item"): {"time": [7, 3]}})
        >>> gasla.sample_neighbors(shop, {"item": [0]}, [5], direction="in", at=5).vertices["user"]
        array([1], dtype=int32)
        """
        graphs = dict(self.relations)
        for name, attributes in columns.items():
            graphs[name] = self[name].with_edge_attributes(attributes)
        typed = TypedGraph.__new__(TypedGraph)
        typed._set(graphs, dict(self.sizes), self._naming)
        return typed

    def to(self, device: Device) -> TypedGraph:
        """Return the typed graph on a device: the object itself if it is there already, otherwise a copy.

        Examples
        --------
        >>> import gasla
        >>> gasla.TypedGraph({("a", "to", "b"): [[0], [0]]}).to("cpu").device
        'cpu'
        """
        if device == self.device:
            return self
        copy = TypedGraph.__new__(TypedGraph)
        copy._set({name: graph.to(device) for name, graph in self.relations.items()}, dict(self.sizes), self._naming)
        return copy

    def __repr__(self) -> str:
        types = ", ".join(f"{vertex_type}={vertex_count}" for vertex_type, vertex_count in self.sizes.items())
        edges = ", ".join(f"{'-'.join(name)}: {graph.m}" for name, graph in self.relations.items())
        return f"TypedGraph({types}; {edges})"


def _check_relation_name(name: Any) -> Relation:
    """Return the name of a relation, a tuple of three strings. Raise TypeError for anything else."""
    if not isinstance(name, tuple) or len(name) != 3 or not all(isinstance(type_name, str) for type_name in name):
        raise TypeError(f"relation {name!r}; expected three strings, such as ('user', 'buys', 'item')")
    return name


def _check_edges(name: Relation, edges: Any) -> Any:
    """Check the edges of a relation, and return them as a Graph, a sparse array, or a (2, m) array of integers."""
    if isinstance(edges, Graph):
        edges = whole_graph(edges)
        if edges.naming is not None:
            raise ValueError(
                f"the graph of {name} has names of its own; expected numbers, or one graph with all names: "
                "TypedGraph.from_graph"
            )
        return edges
    if hasattr(edges, "tocoo"):
        return edges
    array = as_array(f"edges of {name}", edges)
    array = array if array.size else array.reshape(2, 0).astype(np.int64)
    if array.ndim != 2 or len(array) != 2 or array.dtype.kind not in "iu":
        raise ValueError(
            f"the edges of {name} are {array.dtype}{array.shape}; expected integers of shape (2, m), a sparse array, "
            "or a Graph"
        )
    return array


def _count_ends(name: Relation, edges: Any) -> tuple[int, int, bool]:
    """Return how many sources and targets a relation has, and whether these numbers are exact or lower bounds.

    They are lower bounds if the edges are arrays of ids, because the last vertices may have no edges.
    """
    is_between = name[0] != name[2]
    if not isinstance(edges, Graph):
        if hasattr(edges, "tocoo"):
            if len(edges.shape) != 2 or not (is_between or edges.shape[0] == edges.shape[1]):
                raise ValueError(
                    f"the matrix of {name} has shape {edges.shape}; expected a row for each {name[0]!r} and a column "
                    f"for each {name[2]!r}"
                )
            return *map(int, edges.shape), True  # type: ignore[return-value]
        source, target = (int(row.max()) + 1 if len(row) else 0 for row in edges)
        return source, target, False
    if not is_between:
        return edges.n, edges.n, True
    if (side_of := edges.sides) is None:
        raise ValueError(
            f"the graph of {name} does not know its sides; expected one of Graph.from_bipartite, a sparse array with "
            "a row for each source, or an array of sources and targets"
        )
    count = int((side_of == 0).sum())
    if bool((side_of[:count] != 0).any()) or bool((side_of[edges.edges()[0]] != 0).any()):
        raise ValueError(f"the graph of {name} has targets before sources, or edges from targets; expected none")
    return count, edges.n - count, True


def _graph_of_relation(name: Relation, edges: Any, sources: int, targets: int) -> Graph:
    """Return the graph of a relation from its edges in any form, given the numbers of sources and targets."""
    if isinstance(edges, Graph):
        return edges
    if hasattr(edges, "tocoo"):
        return Graph(edges) if name[0] == name[2] else Graph.from_bipartite(edges)
    return _graph_of_ends(name, edges[0], edges[1], None, sources, targets)


def _graph_of_ends(name: Relation, src: Array, dst: Array, values: Array | None, sources: int, targets: int) -> Graph:
    """Return the graph of a relation from arrays of sources and targets, each numbered within its type."""
    if name[0] == name[2]:
        return Graph.from_edges(src, dst, values, n=sources)
    for end, ids, count in (("sources", src, sources), ("targets", dst, targets)):
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < count:
            raise ValueError(f"the {end} of {name} are {int(ids.min())} to {int(ids.max())}; expected 0 to {count - 1}")
    n = sources + targets
    graph = Graph.from_edges(src, dst.astype(np.int64) + sources, values, n=n)
    return graph.with_vertex_attributes({SIDES: sides(n, sources, array_module(src))})


def _extract_relation(
    graph: Graph, edges: Array, index_in_type: Array, name: Relation, vertex_counts: Mapping[str, int]
) -> Graph:
    """Return the graph of the relation `name`, taken from a graph that has the edges of all relations.

    `edges` are the numbers of the relation's edges. `index_in_type` has the number of each vertex within its type, and
    `vertex_counts` the number of vertices of each type.
    """
    src, dst = (index_in_type[endpoints[edges]] for endpoints in graph.edges())
    values, columns = graph.values, graph.edge_attributes
    weight_name = columns.name_of(values)
    relation_graph = _graph_of_ends(
        name, src, dst, None if values is None else values[edges], vertex_counts[name[0]], vertex_counts[name[2]]
    )
    relation_graph = relation_graph.with_edge_attributes(
        {attribute: columns.column(attribute, columns.numbers(attribute)[edges]) for attribute in columns}
    )
    return relation_graph if weight_name is None else relation_graph.weighted_by(weight_name)


def _distinct_strings(name: str, argument: Any, count: int, counted_things: str) -> tuple[Array, Array]:
    """Return the distinct strings of an argument in ascending order, and the position among them of each string given.

    Raise an error unless there is one string for each of the `count` vertices or edges.
    """
    labels = argument.tolist() if hasattr(argument, "tolist") else [*argument]
    if len(labels) != count:
        raise ValueError(f"{name} has {len(labels)} entries; expected {count}, one for each of the {counted_things}")
    if not {*map(type, labels)} <= {str, np.str_}:
        bad_position = next(position for position, label in enumerate(labels) if not isinstance(label, str))
        raise TypeError(f"{name}[{bad_position}] is {labels[bad_position]!r}; expected a string")
    distinct_labels = sorted({*labels})
    positions = {label: position for position, label in enumerate(distinct_labels)}
    return np.array(distinct_labels, object), np.fromiter(map(positions.__getitem__, labels), np.int64, count)
