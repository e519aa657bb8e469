"""Samples: what `sample_neighbors` returns, of graphs with one type of vertices and of typed graphs."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

import semirings
from gasla.arrays import array_module
from gasla.graph.arguments import check_choice
from gasla.graph.graph import Graph
from gasla.graph.typed_graph import Relation
from gasla.graph.validate import as_array
from gasla.operations.multiply import vxm

Array = Any  # an array of NumPy or CuPy
Reduction = Literal["mean", "sum", "max", "min"]


class Block(NamedTuple):
    """A layer of message passing over a sample.

    The first `destinations` vertices of the sample receive messages from its first `sources` vertices.
    """

    sources: int
    destinations: int
    edge_index: Array
    edge_ids: Array

    def aggregate(self, features: Any, reduce: Reduction = "mean") -> Array:
        """Reduce, for each destination, the features of the sources of its edges: message passing without weights.

        Parameters
        ----------
        features : (sources,) or (sources, k) array of numbers
            On the device of the sample. No gradient is computed: a tensor that requires one is refused.
        reduce : "mean", "sum", "max" or "min"

        Returns
        -------
        (destinations,) or (destinations, k) array
            0 for a destination without edges. Means of integers are float64, and sums int64 or uint64; other results
            have the type of the features.

        Examples
        --------
        >>> import gasla, numpy as np
        >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [2, 2, 0, 1])
        >>> sample = gasla.sample_neighbors(graph, [2], [5, 5], direction="in")
        >>> x = np.array([1.0, 2.0, 5.0])[sample.vertices]  # the features of the vertices of the sample
        >>> for block in sample.blocks:
        ...     x = block.aggregate(x)
        >>> x
        array([5.])
        """
        check_choice("reduce", reduce, get_args(Reduction))
        if getattr(features, "requires_grad", False):
            raise TypeError(
                "features require a gradient, which aggregate doesn't compute; expected features.detach(), or in "
                "PyTorch x.new_zeros(block.destinations, k).index_add(0, dst, x[src]) with src, dst = block.edge_index"
            )
        x = as_array("features", features)
        if x.dtype.kind not in "biuf" or x.ndim not in (1, 2) or len(x) != self.sources:
            expected = f"numbers of shape ({self.sources},) or ({self.sources}, k), a row for each source"
            raise ValueError(f"features have type {x.dtype} and shape {x.shape}; expected {expected}")
        xp: Any = array_module(x)
        if x.dtype.kind in "biu" and reduce in ("mean", "sum"):
            x = x.astype(np.float64 if reduce == "mean" else np.uint64 if x.dtype == np.uint64 else np.int64)
        src, dst = self.edge_index
        monoid = {"max": semirings.max, "min": semirings.min}.get(reduce, semirings.plus)
        # In a sample of a typed graph, sources and destinations may have different types, so there may be more
        # destinations than sources.
        edges = Graph.from_edges(src, dst, n=max(self.sources, self.destinations))
        if edges.n > len(x):
            x = xp.concatenate([x, xp.zeros((edges.n - len(x), *x.shape[1:]), x.dtype)])
        totals = vxm(x, edges, semirings.Semiring(monoid, semirings.binary.first))[: self.destinations]
        counts = edges.in_degrees[: self.destinations]
        counts = counts if x.ndim == 1 else counts[:, None]
        if reduce == "mean":
            return totals / xp.maximum(counts, 1).astype(totals.dtype)
        return xp.where(counts > 0, totals, totals.dtype.type(0))


class NeighborSample(NamedTuple):
    """A sample of neighbors of vertices, their neighbors, and so on, with new vertex numbers, from `sample_neighbors`.

    Attributes
    ----------
    vertices : array of the type of vertex ids
        The vertices of the sample, each once, or once in each of disjoint trees: first the given vertices, then those
        of each layer in order of their first appearance. Number v of the sample is `vertices[v]` of the graph.
    edge_index : (2, edges) array of int64
        Source and target of each drawn edge, as numbers of the sample; layer by layer.
    edge_ids : (edges,) array of int64
        The number of each drawn edge in the graph.
    vertex_counts, edge_counts : list of int
        The number of given vertices, then of new vertices per layer; the number of drawn edges per layer.
    batch : array of int64, or None
        Of disjoint trees, the position in `ids` of the given vertex in whose tree each vertex of the sample is.
    """

    vertices: Array
    edge_index: Array
    edge_ids: Array
    vertex_counts: list[int]
    edge_counts: list[int]
    batch: Array | None = None

    @property
    def blocks(self) -> list[Block]:
        """The layers of message passing that end at the given vertices, in the order in which they are computed.

        A layer has only the edges that its results, and so the given vertices, depend on. So each layer has fewer edges
        than the one before. Arrays are views.
        """
        vertex_ends, edge_ends = list(accumulate(self.vertex_counts)), list(accumulate(self.edge_counts))
        return [
            Block(vertex_ends[i + 1], vertex_ends[i], self.edge_index[:, : edge_ends[i]], self.edge_ids[: edge_ends[i]])
            for i in reversed(range(len(edge_ends)))
        ]


class TypedSample(NamedTuple):
    """A sample of neighbors of vertices of several types, their neighbors, and so on, from `sample_neighbors`.

    Each type of vertices has its own numbers, and each relation its own edges.

    Attributes
    ----------
    vertices : dict from type to array of vertex ids
        The vertices of each type, each once, or once in each of disjoint trees: first the given ones, then those of
        each layer in order of their first appearance, relation by relation.
    edge_index : dict from relation to (2, edges) array of int64
        Source and target of each drawn edge, as numbers of the sample within their types; layer by layer.
    edge_ids : dict from relation to (edges,) array of int64
        The number of each drawn edge in the graph of its relation.
    vertex_counts, edge_counts : dict of lists of int
        For each type, the number of given vertices, then of new vertices per layer; for each relation, the number of
        drawn edges per layer.
    batch : dict from type to array of int64, or None
        Of disjoint trees, the position of the root of each vertex among all given vertices.
    """

    vertices: dict[str, Array]
    edge_index: dict[Relation, Array]
    edge_ids: dict[Relation, Array]
    vertex_counts: dict[str, list[int]]
    edge_counts: dict[Relation, list[int]]
    batch: dict[str, Array] | None = None

    @property
    def blocks(self) -> list[dict[Relation, Block]]:
        """The layers of message passing that end at the given vertices, each with a block for each relation."""
        vertices = {type_name: [*accumulate(counts)] for type_name, counts in self.vertex_counts.items()}
        edges = {name: [*accumulate(counts)] for name, counts in self.edge_counts.items()}
        return [
            {
                name: Block(
                    vertices[name[0]][i + 1],
                    vertices[name[2]][i],
                    self.edge_index[name][:, : edge_totals[i]],
                    self.edge_ids[name][: edge_totals[i]],
                )
                for name, edge_totals in edges.items()
            }
            for i in reversed(range(len(next(iter(edges.values()), []))))
        ]
