"""Neighbor sampling: a few random neighbors of each of some vertices, in layers, and the checks that walks share.

Graph neural networks that train on samples draw them layer by layer: neighbors of a batch of vertices, then neighbors
of these. With replacement, draws are independent. Without replacement they follow Floyd's algorithm: to draw k of d
positions, draw j is uniform below d - k + j + 1, and is replaced by d - k + j if it was drawn before.

J. Bentley, B. Floyd: A Sample of Brilliance. Communications of the ACM 30 (1987).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import index
from typing import Any, Literal, NamedTuple, get_args, overload

import numpy as np

import semirings
from gasla.arrays import array_module
from gasla.engines import Draws, Primitives, engine
from gasla.graph.adjacency import Adjacency
from gasla.graph.arguments import (
    NO_LIMIT,
    TRUE_OR_FALSE,
    check_choice,
    check_flags,
    check_weights,
    vertex_ids,
    whole_number,
)
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.memory_limit import require_room
from gasla.graph.validate import as_array, range_of
from gasla.operations.multiply import vxm
from gasla.rows import Command, Row

Array = Any  # NumPy's or CuPy's
Direction = Literal["out", "in"]
Reduction = Literal["mean", "sum", "max", "min"]
Draw = Callable[[Array, int, int], tuple[Array, Array, Array]]  # of vertices, k and the number of the first row
ENTRY = 64  # bytes, at most, for each entry of a sample of layers
MOST = 2**31 - 1  # entries of a list: products of 64-bit hashes and degrees stay exact, and positions fit an id


class Block(NamedTuple):
    """One layer of message passing over a sample: the edges from the first `sources` vertices to the first
    `destinations` of them.
    """

    sources: int
    destinations: int
    edge_index: Array
    edge_ids: Array

    def aggregate(self, features: Any, reduce: Reduction = "mean") -> Array:
        """Reduce the features of the sources of each destination's edges: a layer of message passing without weights.

        Parameters
        ----------
        features : (sources,) or (sources, k) array of numbers
            On the device of the sample.
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
        x = as_array("features", features)
        if x.dtype.kind not in "biuf" or x.ndim not in (1, 2) or len(x) != self.sources:
            expected = f"numbers of shape ({self.sources},) or ({self.sources}, k), a row for each source"
            raise ValueError(f"features have type {x.dtype} and shape {x.shape}; expected {expected}")
        xp: Any = array_module(x)
        if x.dtype.kind in "biu" and reduce in ("mean", "sum"):
            x = x.astype(np.float64 if reduce == "mean" else np.uint64 if x.dtype == np.uint64 else np.int64)
        src, dst = self.edge_index
        monoid = {"max": semirings.max, "min": semirings.min}.get(reduce, semirings.plus)
        edges = Graph.from_edges(src, dst, n=self.sources)
        found = vxm(x, edges, semirings.Semiring(monoid, semirings.binary.first))[: self.destinations]
        counts = edges.in_degrees[: self.destinations]
        counts = counts if x.ndim == 1 else counts[:, None]
        if reduce == "mean":
            return found / xp.maximum(counts, 1).astype(found.dtype)
        return xp.where(counts > 0, found, found.dtype.type(0))


class NeighborSample(NamedTuple):
    """Neighbors of vertices, their neighbors, and so on, with new vertex numbers; see `sample_neighbors`.

    Attributes
    ----------
    vertices : array of the type of vertex ids
        The vertices of the sample, each once: first the given vertices, then those of each layer in order of their
        first appearance. Number v of the sample is `vertices[v]` of the graph.
    edge_index : (2, edges) array of int64
        Source and target of each drawn edge, as numbers of the sample; layer by layer.
    edge_ids : (edges,) array of int64
        The number of each drawn edge in the graph.
    vertex_counts, edge_counts : list of int
        The number of given vertices, then of new vertices per layer; the number of drawn edges per layer.
    """

    vertices: Array
    edge_index: Array
    edge_ids: Array
    vertex_counts: list[int]
    edge_counts: list[int]

    @property
    def blocks(self) -> list[Block]:
        """The layers of message passing that end at the given vertices, the first to be computed first.

        A layer has the edges between vertices that are near enough to matter, so each layer has fewer than the one
        before. Arrays are views.
        """
        vertices, edges = list(accumulate(self.vertex_counts)), list(accumulate(self.edge_counts))
        return [
            Block(vertices[i + 1], vertices[i], self.edge_index[:, : edges[i]], self.edge_ids[: edges[i]])
            for i in reversed(range(len(edges)))
        ]


@overload
def sample_neighbors(
    graph: Any,
    ids: Any,
    k: int,
    *,
    direction: Direction = "out",
    weighted: bool = False,
    replace: bool = False,
    seed: int = 0,
) -> Array: ...
@overload
def sample_neighbors(
    graph: Any,
    ids: Any,
    k: Sequence[int],
    *,
    direction: Direction = "out",
    weighted: bool = False,
    replace: bool = False,
    seed: int = 0,
) -> NeighborSample: ...
def sample_neighbors(
    graph: Any,
    ids: Any,
    k: int | Sequence[int],
    *,
    direction: Direction = "out",
    weighted: bool = False,
    replace: bool = False,
    seed: int = 0,
) -> Array | NeighborSample:
    """Draw `k` random neighbors of each of some vertices, in one layer or several.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j. Edges are drawn: parallel edges each count, as do self loops and stored zeros.
    ids : (rows,) array of ids or names
        The vertices. With one number `k` a vertex may occur several times; each occurrence is an independent draw.
    k : int or list of int
        Number of neighbors per vertex, 0 or more. A list has a number for each layer: layer i draws neighbors of the
        vertices that layer i - 1 found first.
    direction : "out" or "in"
        Whether a vertex draws among its out-edges or its in-edges. Message passing to `ids` needs "in".
    weighted : bool
        Whether edges are drawn in proportion to their values, which must be finite and not negative. Otherwise, and in
        a graph without values, all edges of a vertex are equally likely.
    replace : bool
        Whether an edge may be drawn several times. If not, a vertex of `k` edges or fewer gives all of them.
    seed : int
        At most 64 bits. The same seed gives the same sample on both engines.

    Returns
    -------
    (rows, k) array of the type of vertex ids
        For a number `k`: one row per vertex, in no particular order, padded with -1 where a vertex has too few edges
        (of positive weight, if `weighted`).
    NeighborSample
        For a list `k`: `vertices`, `edge_index` with the vertices' new numbers, `edge_ids`, `vertex_counts`,
        `edge_counts`; and `blocks`, the same edges by layer of message passing.

    Raises
    ------
    TypeError, ValueError
        If an id is not a vertex, or `k` or `seed` is not a valid number; if a vertex occurs twice and `k` is a list; if
        weights are negative, not finite, or sum to infinity at a vertex.
    MemoryError
        If the sample needs more memory than is available.

    Notes
    -----
    Draw j of row i is a function of `semirings.hash(seed, i, j)`; in several layers, i is the vertex's number in the
    sample. Without replacement each draw is compared with all earlier draws of its row, which is fast up to some
    hundreds. By weight and without replacement, each draw is among the edges that are not drawn yet; after 32 draws
    that repeat earlier ones, the weights of all other edges of the vertex are added instead.

    With `weighted`, each call on the CPU computes a checksum of all weights, which takes longer than a small sample of
    a large graph. Lock the array of weights, ``A.data.flags.writeable = False``, or make them an edge attribute
    (`Graph.weighted_by`): then no call does.

    `vertices`, `edge_index`, `vertex_counts` and `edge_counts` are `n_id`, `edge_index`, `num_sampled_nodes` and
    `num_sampled_edges` of PyTorch Geometric. `blocks` are the message flow graphs of DGL.

    References
    ----------
    W. Hamilton, R. Ying, J. Leskovec: Inductive Representation Learning on Large Graphs. NIPS 2017.

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 0, 0, 0, 1], [1, 2, 3, 4, 0])
    >>> gasla.sample_neighbors(graph, [0, 1, 2], 3)
    array([[ 2,  3,  4],
           [ 0, -1, -1],
           [-1, -1, -1]], dtype=int32)

    Two layers: four in-neighbors of vertex 3 at most, and one of each of these.

    >>> sample = gasla.sample_neighbors(graph, [3], [4, 1], direction="in")
    >>> sample.vertices
    array([3, 0, 1], dtype=int32)
    >>> sample.edge_index
    array([[1, 2],
           [0, 1]])
    >>> sample.edge_ids, sample.vertex_counts, sample.edge_counts
    (array([2, 4]), [1, 1, 1], [1, 1])
    >>> [(block.sources, block.destinations) for block in sample.blocks]
    [(3, 2), (2, 1)]
    """
    graph, layers, key = whole_graph(graph), _layers(k), seed_hash(seed)
    check_flags(replace=replace, weighted=weighted)
    check_choice("direction", direction, get_args(Direction))
    ids = vertex_ids(graph, "ids", ids)
    check_lists(graph, direction)
    primitives = engine(graph.engine).primitives()
    has_weights = weighted and graph.value_type is not None and graph.m > 0
    weights = weights_of(graph, primitives, direction) if has_weights else None
    draws = Draws(key, bool(replace), weights)
    lists = graph.out if direction == "out" else graph.in_
    if layers is None:
        require_room("the sample has", len(ids) * index(k), ids.itemsize, graph.device, "a smaller k, or fewer ids")  # type: ignore[arg-type]
        return primitives.sample(lists, ids, index(k), draws)  # type: ignore[arg-type]

    def draw(ids: Array, k: int, row: int) -> tuple[Array, Array, Array]:
        if replace:
            _require_room(lists, ids, k)
        found, edges, rows = primitives.sample_lists(lists, ids, k, row, draws)
        is_drawn = None if weights is None else edges >= 0  # edges of weight 0 are never drawn
        if is_drawn is None or bool(is_drawn.all()):
            return found, edges, rows
        return found[is_drawn], edges[is_drawn], rows[is_drawn]

    return _sample_layers(ids, layers, direction == "out", draw, primitives)


def _layers(k: Any) -> list[int] | None:
    """The checked numbers of neighbors per layer; None if `k` is one number."""
    if not isinstance(k, list | tuple) and np.ndim(k) == 0:
        whole_number("k", k, NO_LIMIT)
        return None
    if len(k) == 0:
        raise ValueError("k is empty; expected a number of neighbors for each layer, such as [10, 5]")
    for i, number in enumerate(k):
        if type(number) is int and number == -1:
            raise ValueError(
                f"k[{i}] is -1; expected 0 or more; for all neighbors give a large number, such as graph.m"
            )
        whole_number(f"k[{i}]", number, NO_LIMIT)
    return [index(number) for number in k]


def _sample_layers(ids: Array, layers: list[int], along: bool, draw: Draw, primitives: Primitives) -> NeighborSample:
    """Sample layer by layer; each starts from the vertices that the one before found."""
    xp: Any = array_module(ids)
    vertices, _ = primitives.append_distinct(ids[:0], ids)
    if len(vertices) < len(ids):
        raise _repeats(ids)
    begin, sources, targets, numbers, counts = 0, [], [], [], [len(ids)]
    for k in layers:
        found, edges, rows = draw(vertices[begin:], k, begin)
        begin = len(vertices)
        vertices, at = primitives.append_distinct(vertices, found)
        sources.append(rows)
        targets.append(at)
        numbers.append(edges)
        counts.append(len(vertices) - begin)
    ends = [*sources, *targets] if along else [*targets, *sources]
    return NeighborSample(
        vertices, xp.concatenate(ends).reshape(2, -1), xp.concatenate(numbers), counts, [len(e) for e in numbers]
    )


def _repeats(ids: Array) -> ValueError:
    """The error for vertices of which one occurs twice: a sample of several layers numbers each vertex once."""
    xp: Any = array_module(ids)
    ordered = xp.sort(ids)
    again = ordered[1:][ordered[1:] == ordered[:-1]]
    return ValueError(
        f"ids has vertex {int(again[0])} twice; expected distinct vertices for several layers: pass np.unique(ids)"
    )


def _require_room(lists: Adjacency, ids: Array, k: int) -> None:
    """Refuse a layer of draws with replacement that does not fit in memory; without, lists limit it."""
    degrees = lists.indptr[1:][ids] - lists.indptr[:-1][ids]
    count = k * int((degrees > 0).sum())
    require_room("the sample has", count, ENTRY, lists.device, "a smaller number in k, or fewer ids")


def seed_hash(seed: Any) -> int:
    """The hash of a seed, checked."""
    return int(semirings.hash(seed_word(seed)))


def seed_word(seed: Any) -> np.uint64:
    """The 64 bits of a seed, checked."""
    try:
        number = index(seed)
    except TypeError:
        number = None
    if number is None or isinstance(seed, TRUE_OR_FALSE):
        raise TypeError(f"seed is {seed!r}; expected a whole number")
    if not -(2**63) <= number < 2**64:
        raise ValueError(f"seed is {number}; expected an integer of at most 64 bits")
    return np.uint64(number % 2**64)


def check_lists(graph: Graph, direction: Direction = "out") -> None:
    """Refuse lists too long for a position to be drawn."""
    if graph.m > MOST:
        longest = graph.max_out_degree if direction == "out" else graph.max_in_degree
        if longest > MOST:
            raise ValueError(f"a vertex has {longest} {direction}-edges; expected at most {MOST}")


def weights_of(graph: Graph, primitives: Primitives, direction: Direction = "out") -> tuple[Array, Array]:
    """Prefix sums of each list's weights in float64, and their guide tables; kept with the graph."""
    graph.notice_values()
    check_weights(graph, shares=True)

    def made(graph: Graph) -> tuple[Array, Array]:
        valued = graph.valued
        lists, values = (graph.out, valued.by_out) if direction == "out" else (graph.in_, valued.by_in)
        sums = primitives.list_sums(lists, values)
        bad = ~(sums < np.inf)
        if bool(bad.any()):
            v = int(lists.owners()[int(bad.argmax())])
            raise ValueError(
                f"the weights of the {direction}-edges of vertex {v} add up to infinity; expected a finite sum"
            )
        largest = float(range_of(sums)[1]) if len(sums) else 0.0
        if 0 < largest < 2.0**-256:  # the product of a weight and what `accept` returns might be 0
            sums = array_module(sums).ldexp(sums, -math.frexp(largest)[1])
        return sums, primitives.list_guides(lists, sums)

    return graph.kept("sums of weights" if direction == "out" else "sums of weights of in-edges", made)


ROW = Row(
    sample_neighbors,
    Command(
        *("sample-neighbors", {"drawn": "drawn"}),
        lambda f: f"{len(f['drawn']):,} samples of neighbors of {len(f['sampled']):,} vertices; most often sampled:",
        *(lambda f: f.times_named("drawn"), "ids"),
        defaults={"k": 5},
        unpack=lambda _, found: {"sampled": found, "drawn": found[found >= 0]},
        edges=lambda f: len(f["drawn"]),
    ),
    "sample_neighbors(g, [0, 1], [3, 2])",
    "sample_neighbors(g, [0, 1], [3, 2], direction='in', weighted=True)",
)
