"""The batches of a loader: samples around vertices or edges, with features, of graphs with and without types.

A batch of edges is a sample around the ends of these edges, and around the ends of random pairs that are not edges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.arrays import moved
from gasla.graph.arguments import in_host_memory, vertex_ids
from gasla.graph.edge_times import span_of
from gasla.graph.exchange.vertex_names import OfVertices
from gasla.graph.graph import Graph
from gasla.graph.typed_graph import Relation, TypedGraph
from gasla.graph.validate import as_array
from gasla.operations.edge_samples import By, Negatives
from gasla.operations.samples import NeighborSample, TypedSample
from gasla.operations.sampling import (
    PLAIN,
    TypedSampler,
    layers_of,
    repeats,
    sample_layers,
    sampler_of,
    seed_word,
    typed_ids,
)

Array = np.ndarray[Any, Any]
# A function that draws the sample of a batch. Its arguments are positions among the loader's vertices or edges, the
# vertices to sample around by type, and a seed.
Draw = Callable[[Array, dict[str, Array], int], NeighborSample | TypedSample]
# a function that makes a batch, given positions among the loader's vertices or edges, and a seed
Make = Callable[[Array, int], Any]


class Batch(NamedTuple):
    """A batch of vertices: a sample of neighbors around them, and the features of the sample's vertices.

    Attributes
    ----------
    sample : NeighborSample or TypedSample
        As of `sample_neighbors`; it begins with the vertices of the batch.
    places : array of int64
        The positions of the vertices of the batch among the `ids` of the loader: labels are ``y[places]``.
    features : dict of arrays
        The rows of each of the loader's features for `sample.vertices`; of a typed graph, a dict for each type.
    """

    sample: Any
    places: Any
    features: dict[str, Any]


class EdgeBatch(NamedTuple):
    """A batch of edges and of pairs that are not edges: a sample around their ends, and features of its vertices.

    Attributes
    ----------
    sample : NeighborSample or TypedSample
        As of `sample_neighbors`; it begins with the ends of all pairs: each vertex once, or in disjoint trees each
        source, then each target.
    places : array of int64
        The positions of the edges of the batch among the `edges` of the loader.
    features : dict of arrays
        As of `Batch`.
    pairs : (2, count) array of int64
        The source and the target of each pair, as numbers of the sample; in a typed graph, within their types. First
        are the edges of the batch, then the pairs without an edge: those of the first edge, of the second, ….
    labels : (count, …) array, or None
        The labels of the edges, and 0 for pairs without an edge.
    """

    sample: Any
    places: Any
    features: dict[str, Any]
    pairs: Any
    labels: Any


class Plain:
    """The source of a loader's batches for a graph without types.

    It checks the vertices or edges that the loader goes through, and gives samples around them, and features.
    """

    def __init__(self, graph: Any, k: Any, features: Any) -> None:
        self.graph, layers = in_host_memory("loader", graph), layers_of(k)
        if layers is None:
            raise TypeError(f"k is {k!r}; expected a list with a number for each layer, such as [{k!r}]")
        self.layers, self.features = layers, _check_features(self.graph.n, features)

    def vertices(self, ids: Any) -> tuple[str, Array]:
        """Check the vertices that a loader goes through, and return their type and their ids.

        The type is "" in a graph without types.
        """
        return "", vertex_ids(self.graph, "ids", ids)

    def edges(self, given: Any) -> tuple[Relation, Graph, int, Array]:
        """Check the edges that a loader goes through, and return a tuple that describes them.

        It has the name of the edges' relation, the relation's graph, the id of the first target vertex in that graph,
        and the ends of the edges as an array with a row of sources and a row of targets. In a graph without types, the
        name is a tuple of empty strings, and the first target is 0.
        """
        return PLAIN, self.graph, 0, _ends_of_edges(given, self.graph, (self.graph, self.graph), 0)

    def drawing(self, rows: int, options: Mapping[str, Any]) -> Draw:
        """Return a function that draws the sample of neighbors around the vertices of a batch.

        It takes the positions of the batch's vertices or edges in the loader, the ids around which to sample, and a
        seed. `rows` is the number of vertices or edges in the loader, and `options` are the options of
        `gasla.sample_neighbors`, such as a time for each row.
        """
        sampler = sampler_of(self.graph, rows, 0, **options)
        return lambda some, ids, seed: sample_layers(sampler.of(some, seed), ids[""], self.layers)

    def rows_of(self, vertices: Any) -> dict[str, Any]:
        """Return the features of some vertices: by the feature's name, an array with a row for each vertex."""
        return {name: array.take(vertices, axis=0) for name, array in self.features.items()}


class Typed:
    """The source of a loader's batches for a graph with types.

    It checks the vertices or edges that the loader goes through, and gives samples around them, and features.
    """

    def __init__(self, graph: TypedGraph, k: Any, features: Any) -> None:
        for relation in graph.relations.values():
            in_host_memory("loader", relation)
        features_by_type = {} if features is None else features
        if not isinstance(features_by_type, Mapping):
            raise TypeError(
                f"features is a {type(features_by_type).__name__}; expected a mapping from type to the features of it"
            )
        self.graph, self.k = graph, k
        self.features = {
            type_name: _check_features(graph.vertices(type_name).n, type_features)
            for type_name, type_features in features_by_type.items()
        }

    def vertices(self, ids: Any) -> tuple[str, Array]:
        """Check the vertices that a loader goes through, and return their type and their ids.

        Raise ValueError if there are vertices of several types.
        """
        ids_by_type = typed_ids(self.graph, ids)
        if len(ids) != 1:
            example = next(iter(self.graph.sizes))
            raise ValueError(f"ids has {len(ids)} types; expected one, such as {{{example!r}: [0, 1]}}")
        ((type_name, _),) = ids.items()
        return type_name, ids_by_type[type_name]

    def edges(self, given: Any) -> tuple[Relation, Graph, int, Array]:
        """Check the edges that a loader goes through, and return a tuple that describes them.

        It has the name of the edges' relation, the relation's graph, the id of the first target vertex in that graph,
        and the ends of the edges as an array with a row of sources and a row of targets. The ends are numbered within
        their types.
        """
        if not isinstance(given, Mapping) or len(given) != 1:
            example = next(iter(self.graph.relations))
            problem = f"has {len(given)} relations" if isinstance(given, Mapping) else f"is a {type(given).__name__}"
            raise TypeError(f"edges {problem}; expected a mapping from one relation, such as {{{example!r}: [0, 1]}}")
        ((name, edges),) = given.items()
        relation = self.graph[name]
        graphs_of_ends = self.graph.vertices(name[0]), self.graph.vertices(name[2])
        first_target = self.graph.starts(name)[1]
        return name, relation, first_target, _ends_of_edges(edges, relation, graphs_of_ends, first_target)

    def drawing(self, rows: int, options: Mapping[str, Any]) -> Draw:
        """Return a function that draws the sample of neighbors around the vertices of a batch.

        It takes the positions of the batch's vertices or edges in the loader, the ids of each type around which to
        sample, and a seed. `rows` is the number of vertices or edges in the loader, and `options` are the options of
        `gasla.sample_neighbors`, such as a time for each row.
        """
        sampler = TypedSampler(self.graph, self.k, rows, 0, options)
        no_ids = typed_ids(self.graph, {})
        return lambda some, ids, seed: sampler.of(some, seed).sample(no_ids | ids)

    def rows_of(self, vertices: Any) -> dict[str, Any]:
        """Return the features of some vertices of each type, in dicts by type and then by the feature's name.

        Each feature is an array with a row for each vertex.
        """
        return {
            type_name: {name: array.take(vertices[type_name], axis=0) for name, array in features.items()}
            for type_name, features in self.features.items()
        }


class Vertices:
    """The batches of a loader that goes through vertices."""

    relation = None

    def __init__(self, graph: Plain | Typed, ids: Any, options: Mapping[str, Any]) -> None:
        self.graph, self.options = graph, options
        self.kind, self.ids = graph.vertices(ids)
        if not _is_disjoint(options) and len(np.unique(self.ids)) < len(self.ids):
            raise repeats(self.ids)

    def __len__(self) -> int:
        return len(self.ids)

    def prepare(self) -> Make:
        """Check the loader's options, and return the function that makes a batch.

        That function takes the positions of the batch's vertices among the loader's vertices, and a seed for the random
        draws.
        """
        draw = self.graph.drawing(len(self), self.options)

        def make_batch(seed_positions: Array, seed: int) -> Batch:
            sample = draw(seed_positions, {self.kind: self.ids[seed_positions]}, seed)
            return Batch(sample, seed_positions, self.graph.rows_of(sample.vertices))

        return make_batch


class Edges:
    """The batches of a loader that goes through edges, with some random pairs that are not edges for each edge."""

    def __init__(
        self, graph: Plain | Typed, edges: Any, options: Mapping[str, Any], labels: Any, negatives: int, by: By
    ) -> None:
        self.graph, self.options, self.negatives, self.by = graph, options, negatives, by
        self.relation, self.own, self.first_target, self.ends = graph.edges(edges)
        self.labels = np.ones(len(self), np.float32) if negatives else None
        if labels is not None:
            self.labels = moved(as_array("labels", labels), "cpu")
            if self.labels.shape[:1] != (len(self),):
                raise ValueError(f"labels have shape {self.labels.shape}; expected one for each of {len(self)} edges")

    def __len__(self) -> int:
        return self.ends.shape[1]

    def prepare(self) -> Make:
        """Check the loader's options, and return the function that makes a batch.

        That function takes the positions of the batch's edges among the loader's edges, and a seed for the random
        draws.
        """
        draw, draw_negatives = self.graph.drawing(len(self), self.options), self._negative_drawer()

        def make_edge_batch(edge_positions: Array, seed: int) -> EdgeBatch:
            repeated_places = np.repeat(edge_positions, self.negatives)
            endpoints = np.concatenate([self.ends[:, edge_positions], draw_negatives(repeated_places, seed)], axis=1)
            ids, pairs = self._vertices_and_pairs(endpoints)
            sample = draw(np.tile(np.concatenate([edge_positions, repeated_places]), 2), ids, seed)
            features = self.graph.rows_of(sample.vertices)
            return EdgeBatch(
                sample, edge_positions, features, pairs, self._labels_of(edge_positions, len(repeated_places))
            )

        return make_edge_batch

    def _negative_drawer(self) -> Callable[[Array, int], Array]:
        """Return a function that draws random pairs of vertices that are not edges, for the batches of a loader.

        The function takes an array with the position of an edge in the loader for each pair to draw, and a seed. If the
        loader has times, the pair is not an edge at the time of that edge or before.
        """
        if self.negatives == 0:
            return lambda rows, seed: self.ends[:, :0]
        times, time = self.options.get("at"), self.options.get("time", "time")
        negatives = Negatives(self.own, False, self.by, None if times is None else time)
        edge_limits = None if times is None else span_of(self.own, time, times, None, len(self)).last

        def draw(rows: Array, seed: int) -> Array:
            seed_bits = seed_word(semirings.hash(np.uint64(seed), 1))
            negative = (
                negatives.draw(len(rows), seed_bits)
                if edge_limits is None
                else negatives.draw_each(edge_limits[rows], seed_bits)
            )
            pairs: Array = (negative - np.array([[0], [self.first_target]])).astype(self.ends.dtype)
            return pairs

        return draw

    def _vertices_and_pairs(self, endpoints: Array) -> tuple[dict[str, Array], Array]:
        """Return the vertices around which a batch of edges is sampled, and where the ends of its pairs are among them.

        `endpoints` has a row of sources and a row of targets: those of the batch's edges, then those of pairs that are
        not edges. The first result has the vertices to sample around by type, and the second, in the shape of
        `endpoints`, the position of each end among these vertices.
        """
        source, _, target = self.relation
        vertices_by_type = (
            {source: endpoints.ravel()} if source == target else {source: endpoints[0], target: endpoints[1]}
        )
        if _is_disjoint(self.options):
            pair_positions = [np.arange(len(vertices)) for vertices in vertices_by_type.values()]
        else:
            distinct_by_type = {
                type_name: np.unique(vertices, return_inverse=True) for type_name, vertices in vertices_by_type.items()
            }
            vertices_by_type = {type_name: vertices for type_name, (vertices, _) in distinct_by_type.items()}
            pair_positions = [inverse.ravel() for _, inverse in distinct_by_type.values()]
        return vertices_by_type, np.concatenate(pair_positions).reshape(2, -1)

    def _labels_of(self, edge_positions: Array, negative_count: int) -> Array | None:
        if self.labels is None:
            return None
        return np.concatenate(
            [self.labels[edge_positions], np.zeros((negative_count, *self.labels.shape[1:]), self.labels.dtype)]
        )


def _is_disjoint(options: Mapping[str, Any]) -> bool:
    return bool(options.get("disjoint", False)) or options.get("at") is not None


def _ends_of_edges(
    argument: Any, graph: Graph, graphs_of_ends: tuple[OfVertices, OfVertices], first_target: int
) -> Array:
    """Return the sources and targets of the edges that a loader goes through, each numbered within its type.

    `argument` is the caller's argument: numbers of edges, or a (2, k) array of sources and targets. Raise an error if
    it is invalid.
    """
    array = moved(as_array("edges", argument), "cpu")
    if array.ndim == 1 and (array.dtype.kind in "iu" or not array.size):
        numbers = array.astype(np.int64)
        if len(wrong := np.flatnonzero((array < 0) | (array >= graph.m))):
            raise ValueError(f"edges[{wrong[0]}] is {array[wrong[0]]}; expected a number from 0 to {graph.m - 1}")
        src, dst = (endpoint[numbers] for endpoint in graph.edges())
        endpoints: Array = np.stack([src, dst - dst.dtype.type(first_target)])
        return endpoints
    if array.ndim != 2 or len(array) != 2:
        hint = ": pass edges.T" if array.ndim == 2 and array.shape[1] == 2 else ""
        raise ValueError(
            f"edges have type {array.dtype} and shape {array.shape}; expected (2, k) sources and targets{hint}, or a "
            "one-dimensional array of numbers of edges, such as a set of gasla.split_edges"
        )
    return np.stack(
        [vertex_ids(vertices_of_end, f"edges[{i}]", array[i]) for i, vertices_of_end in enumerate(graphs_of_ends)]
    )


def _check_features(n: int, features: Any) -> dict[str, Array]:
    """Return the loader's features by name, as arrays with one row for each of the n vertices.

    Raise an error if an array has another shape.
    """
    if features is None:
        return {}
    rows_by_name = dict[str, Array]()
    for name, values in features.items() if isinstance(features, Mapping) else [("x", features)]:
        if not isinstance(name, str):
            raise TypeError(f"features has the name {name!r}; expected a string")
        array = (
            np.load(values, mmap_mode="r")
            if isinstance(values, str | PathLike)
            else as_array(f"features {name!r}", values)
        )
        if not isinstance(array, np.ndarray) or array.ndim == 0 or len(array) != n:
            shape = getattr(array, "shape", None)
            raise ValueError(
                f"features {name!r} have shape {shape}; expected an array in host memory with a row for each of "
                f"{n} vertices"
            )
        # a plain array over the mapped file, because rows taken from `numpy.memmap` would be memory maps too
        rows_by_name[name] = array.view(np.ndarray)
    return rows_by_name
