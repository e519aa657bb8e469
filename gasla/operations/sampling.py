"""Neighbor sampling: a few random neighbors of each of some vertices, in layers.

Random walks use its checks.

Graph neural networks that train on samples draw them layer by layer: neighbors of a batch of vertices, then neighbors
of these. With replacement, draws are independent. Without replacement they follow Floyd's algorithm: to draw k of d
positions, draw j is uniform below d - k + j + 1, and is replaced by d - k + j if it was drawn before.

Edges before a time are a range of a list that is in the order of time. So the same draws, on either engine, are within
ranges: as lists of an adjacency whose offsets are the bounds of each row's range.

J. Bentley, B. Floyd: A Sample of Brilliance. Communications of the ACM 30 (1987).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from itertools import accumulate
from operator import index
from typing import Any, Literal, NamedTuple, get_args, overload

import numpy as np

import semirings
from gasla.arrays import array_module, running_sums
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
from gasla.graph.edge_times import Span, lists_by_time, span_of
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.memory_limit import require_room
from gasla.graph.typed_graph import Relation, TypedGraph
from gasla.graph.validate import range_of
from gasla.operations.samples import NeighborSample, TypedSample
from gasla.rows import Command, Row

Array = Any  # an array of NumPy or CuPy
Direction = Literal["out", "in"]
Strategy = Literal["uniform", "last"]
# neighbors that were drawn, ids of their edges, and for each of them the row (number) of the vertex that drew it
Drawn = tuple[Array, Array, Array]
ENTRY = 64  # upper bound of the bytes of memory for each edge that a sample in layers draws
# Largest number of entries of one adjacency list. With this limit, products of 64-bit hashes and degrees stay exact,
# and a position in the list fits an id.
MOST = 2**31 - 1


@overload
def sample_neighbors(
    graph: Any,
    ids: Any,
    k: int,
    *,
    direction: Direction = "out",
    weighted: bool = False,
    replace: bool = False,
    at: Any = None,
    time: str = "time",
    window: Any = None,
    strategy: Strategy = "uniform",
    disjoint: bool = False,
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
    at: Any = None,
    time: str = "time",
    window: Any = None,
    strategy: Strategy = "uniform",
    disjoint: bool = False,
    seed: int = 0,
) -> NeighborSample: ...
@overload
def sample_neighbors(
    graph: TypedGraph,
    ids: Mapping[str, Any],
    k: Sequence[int] | Mapping[Relation, Sequence[int]],
    *,
    direction: Direction = "out",
    weighted: bool = False,
    replace: bool = False,
    at: Any = None,
    time: str = "time",
    window: Any = None,
    strategy: Strategy = "uniform",
    disjoint: bool = False,
    seed: int = 0,
) -> TypedSample: ...
def sample_neighbors(
    graph: Any,
    ids: Any,
    k: int | Sequence[int] | Mapping[Relation, Sequence[int]],
    *,
    direction: Direction = "out",
    weighted: bool = False,
    replace: bool = False,
    at: Any = None,
    time: str = "time",
    window: Any = None,
    strategy: Strategy = "uniform",
    disjoint: bool = False,
    seed: int = 0,
) -> Array | NeighborSample | TypedSample:
    """Draw `k` random neighbors of each of some vertices, in one layer or several.

    Parameters
    ----------
    graph : Graph, SciPy or CuPy sparse array, or TypedGraph
        `A[i, j]` is the edge i -> j. Edges are drawn: parallel edges each count, as do self loops and stored zeros. In
        a typed graph, a vertex draws from each relation that its type has a part in.
    ids : (rows,) array of ids or names, or of a typed graph a mapping from type to array
        The vertices. With one number `k`, or with disjoint trees, a vertex may occur several times; each occurrence is
        an independent draw.
    k : int, list of int, or of a typed graph a mapping from relation to list
        Number of neighbors per vertex, 0 or more. A list has a number for each layer: layer i draws neighbors of the
        vertices that layer i - 1 found first. In a typed graph, a list is for all relations, or for each its own.
    direction : "out" or "in"
        Whether a vertex draws among its out-edges or its in-edges. Message passing to `ids` needs "in".
    weighted : bool
        Whether edges are drawn in proportion to their values, which must be finite and not negative. Otherwise, and in
        a graph without values, all edges of a vertex are equally likely.
    replace : bool
        Whether an edge may be drawn several times. If not, a vertex of `k` edges or fewer gives all of them.
    at : time, (rows,) array of times, or of a typed graph a mapping from type to these, optional
        Draw only edges whose time is at this time or before: one time for all vertices, or one for each of `ids`. In
        several layers, the edges of a whole tree are those up to the time of the given vertex at its root. Numbers, or
        dates as for `window` of `gasla.earliest_arrival`; arrays of NumPy's dates are in UTC.
    time : str, default "time"
        The edge attribute with the time of each edge: numbers, dates, or times of day.
    window : number or duration, optional
        Draw only edges whose time is this much before `at`, or less: of dates, a duration such as "24h".
    strategy : "uniform" or "last"
        Whether to draw among these edges, or to take the last `k` of them; of edges at one time the later ones of the
        input.
    disjoint : bool
        Whether several layers give a tree of its own to each of `ids`: `batch` says which. So it always is with `at`.
    seed : int
        At most 64 bits. The same seed gives the same sample on both engines.

    Returns
    -------
    (rows, k) array of the type of vertex ids
        For a number `k`: one row per vertex, in no particular order, padded with -1 where a vertex has too few edges
        (of positive weight, if `weighted`; up to its time, if `at`). With "last", in the order of time.
    NeighborSample
        For a list `k`: `vertices`, `edge_index` with the vertices' new numbers, `edge_ids`, `vertex_counts`,
        `edge_counts`, `batch`; and `blocks`, the same edges by layer of message passing.
    TypedSample
        For a typed graph, the same, with dicts by type and by relation.

    Raises
    ------
    TypeError, ValueError
        If an id is not a vertex, or `k` or `seed` is not a valid number; if a vertex occurs twice and `k` is a list,
        without disjoint trees; if weights are negative, not finite, or sum to infinity at a vertex. If the graph has no
        such attribute; a time is missing, not finite, or an integer of 2**62 or more; `window` is negative; or
        `strategy` is "last" with `weighted` or `replace`.
    MemoryError
        If the sample needs more memory than is available.

    Notes
    -----
    Draw j of row i is a function of `semirings.hash(seed, i, j)`; in several layers, i is the vertex's number in the
    sample. In a typed graph it is the number among those of its type, and relation r > 0 of the graph has the seed
    `semirings.hash(seed, r)`.

    Without replacement each draw is compared with all earlier draws of its row, which is fast up to some hundreds. By
    weight and without replacement, each draw is among the edges that are not drawn yet; after 32 draws that repeat
    earlier ones, the weights of all other edges of the vertex are added instead.

    With `weighted`, each call on the CPU computes a checksum of all weights, which takes longer than a small sample of
    a large graph. Lock the array of weights, ``A.data.flags.writeable = False``, or make them an edge attribute
    (`Graph.weighted_by`): then no call does.

    The first call with `at` sorts the lists by time, and keeps them with the graph: up to 20 bytes per edge. By weight
    and time, each call copies the edges that may be drawn, and adds up their weights.

    In a tree, a vertex has one number, as in PyTorch Geometric: it draws once, in the layer that found it first. Edges
    need not come earlier from layer to layer: each is at the root's time or before.

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

    Of two types, with one neighbor by one relation and none by the other; `gasla.TypedGraph` has another example.

    >>> buys, sells = ("user", "buys", "item"), ("shop", "sells", "item")
    >>> typed = gasla.TypedGraph({buys: [[0, 1, 2], [0, 0, 1]], sells: [[0, 0], [0, 1]]})
    >>> gasla.sample_neighbors(typed, {"item": [0]}, {buys: [1], sells: [0]}, direction="in").edge_index[buys]
    array([[0],
           [0]])

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

    The last purchase up to a day, and the two last ones of each buyer up to the same day.

    >>> days = np.array(["2026-01-03", "2026-01-01", "2026-01-05", "2026-01-04"], "M8[D]")
    >>> bought = gasla.Graph.from_edges([0, 1, 2, 3], [1, 2, 1, 1]).with_edge_attributes(time=days)
    >>> sample = gasla.sample_neighbors(
    ...     bought, [1, 1], [1, 2], direction="in", at=["2026-01-03", "2026-01-05"], strategy="last"
    ... )
    >>> sample.vertices, sample.batch, sample.edge_ids
    (array([1, 1, 0, 2], dtype=int32), array([0, 1, 0, 1]), array([0, 2, 1]))
    """
    options: dict[str, Any] = {"direction": direction, "weighted": weighted, "replace": replace, "time": time}
    options |= {"window": window, "strategy": strategy, "disjoint": disjoint}
    if isinstance(graph, TypedGraph):
        check_flags(disjoint=disjoint)
        ids_by_type = typed_ids(graph, ids)
        options["at"] = typed_times(graph, at, ids_by_type)
        return TypedSampler(graph, k, sum(map(len, ids_by_type.values())), seed, options).sample(ids_by_type)
    graph, layers = whole_graph(graph), layers_of(k)
    ids = vertex_ids(graph, "ids", ids)
    sampler = sampler_of(graph, len(ids), seed, at=at, **options)
    if layers is not None:
        return sample_layers(sampler, ids, layers)
    require_room("the sample has", len(ids) * index(k), ids.itemsize, graph.device, "a smaller k, or fewer ids")  # type: ignore[arg-type]
    return sampler.rows(ids, index(k))  # type: ignore[arg-type]


def sampler_of(
    graph: Graph,
    rows: int,
    seed: int,
    *,
    direction: Direction = "out",
    weighted: bool = False,
    replace: bool = False,
    at: Any = None,
    time: str = "time",
    window: Any = None,
    strategy: Strategy = "uniform",
    disjoint: bool = False,
) -> Sampler:
    """Check the arguments of `sample_neighbors`, and return an object that draws neighbors as they say.

    Parameters
    ----------
    graph, rows, seed :
        the graph; number of given vertices; the caller's seed
    direction, weighted, replace, at, time, window, strategy, disjoint :
        as for `sample_neighbors`, not yet checked
    """
    check_flags(replace=replace, weighted=weighted, disjoint=disjoint)
    check_choice("direction", direction, get_args(Direction))
    check_choice("strategy", strategy, get_args(Strategy))
    timed = {"window": (window, None), "strategy": (strategy, "uniform"), "time": (time, "time")}
    for name, (value, default) in timed.items() if at is None else ():
        if value is not default and value != default:
            raise ValueError(f"{name}={value!r} without a time; expected at=, a time for each of ids, or one for all")
    if strategy == "last" and (weighted or replace):
        raise ValueError("strategy='last' draws nothing; expected weighted=False and replace=False")
    key = seed_hash(seed)
    check_lists(graph, direction)
    sampler = Sampler(graph, direction, weighted, Draws(key, bool(replace), None), disjoint)
    if at is None:
        return sampler
    return TimedSampler(sampler, time, span_of(graph, time, at, window, rows), strategy == "last")


class Sampler:
    """A source of random edges for each vertex of a graph, by which samples of neighbors are drawn."""

    def __init__(self, graph: Graph, direction: Direction, weighted: bool, draws: Draws, disjoint: bool) -> None:
        self.graph, self.direction, self.disjoint = graph, direction, disjoint
        self.primitives = engine(graph.engine).primitives()
        self.weighted = bool(weighted) and graph.value_type is not None and graph.m > 0
        weights = weights_of(graph, self.primitives, direction) if self.weighted else None
        self.draws = draws._replace(weights=weights)

    @property
    def lists(self) -> Adjacency:
        """The adjacency lists among whose entries edges are drawn: out-edges or in-edges."""
        return self.graph.out if self.direction == "out" else self.graph.in_

    def of(self, rows: Array, seed: int) -> Sampler:
        """Return this sampler with another seed, for a part of the vertices around which samples are drawn.

        `rows` are the positions of these vertices among all the vertices that the caller has given.
        """
        seeded = copy(self)
        seeded.draws = self.draws._replace(key=seed_hash(seed))
        return seeded

    def rows(self, ids: Array, k: int) -> Array:
        """Return `k` random neighbors of each vertex in `ids`, as an array with a row for each vertex.

        If a vertex has fewer neighbors, its row is padded with -1.
        """
        return self.primitives.sample(self.lists, ids, k, self.draws)

    def layer(self, ids: Array, roots: Any, k: int, row: int) -> Drawn:
        """Draw up to `k` random edges of each vertex in `ids`, for one layer of a sample.

        Return the neighbors, the ids of the edges, and the number of the vertex that drew each. These numbers are
        positions in the sample: vertices in `ids` have successive ones from `row` on, and draws depend on them. If
        trees are disjoint (one for each vertex that the caller has given), `roots` has, for each vertex in `ids`, the
        position of its tree's root among the given vertices.
        """
        return self._draw_edges(self.lists, ids, k, row, self.draws, roots is not None)

    def _draw_edges(self, lists: Adjacency, ids: Array, k: int, row: int, draws: Draws, repeats: bool) -> Drawn:
        if repeats or draws.replace:
            _require_room(lists, ids, k, draws.replace)
        neighbors, edges, rows = self.primitives.sample_lists(lists, ids, k, row, draws)
        # an entry of -1 stands for no edge: edges of weight 0 can't be drawn
        is_drawn = None if draws.weights is None else edges >= 0
        if is_drawn is None or bool(is_drawn.all()):
            return neighbors, edges, rows
        return neighbors[is_drawn], edges[is_drawn], rows[is_drawn]


class TimedSampler(Sampler):
    """A source of random edges for each vertex of a graph whose edges have times.

    Only edges in a span of time are drawn.
    """

    def __init__(self, sampler: Sampler, time: str, span: Span, is_last: bool) -> None:
        self.graph, self.direction, self.primitives = sampler.graph, sampler.direction, sampler.primitives
        self.weighted, self.draws, self.span, self.is_last = sampler.weighted, sampler.draws, span, is_last
        self.by_time, self.disjoint = lists_by_time(sampler.graph, time, sampler.direction), True

    def of(self, rows: Array, seed: int) -> Sampler:
        seeded = copy(self)
        seeded.draws, seeded.span = self.draws._replace(key=seed_hash(seed)), self.span.of(rows)
        return seeded

    def rows(self, ids: Array, k: int) -> Array:
        lists, ranges, draws = self._lists_in_span(ids, self.span, k)
        return self.primitives.sample(lists, ranges, k, draws)

    def layer(self, ids: Array, roots: Any, k: int, row: int) -> Drawn:
        lists, ranges, draws = self._lists_in_span(ids, self.span.of(roots), k)
        return self._draw_edges(lists, ranges, k, row, draws, True)

    def _lists_in_span(self, ids: Array, span: Span, k: int) -> tuple[Adjacency, Array, Draws]:
        """Return adjacency lists of only the edges in each vertex's span of time, to draw up to `k` edges from each.

        The result is a triple: the adjacency lists, for each vertex in `ids` the number of its list, and how edges are
        drawn.
        """
        (lists, times), search, xp = self.by_time, self.primitives.search_lists, array_module(ids)
        list_ends = search(lists, times, ids, span.last, True)
        begins = lists.indptr[:-1][ids] if span.first is None else search(lists, times, ids, span.first, False)
        # If a short window of time has no edge, the begin found may be after the end. Then the range is made empty.
        begins = xp.minimum(begins, list_ends)
        if self.is_last:
            begins = xp.maximum(begins, list_ends - min(k, len(times)))
        if self.weighted:
            return self._copy_lists_in_span(begins, list_ends, ids.dtype)
        return *ranges_of(lists, begins, list_ends, ids.dtype), self.draws

    def _copy_lists_in_span(self, begins: Array, list_ends: Array, dtype: Any) -> tuple[Adjacency, Array, Draws]:
        """Return adjacency lists with copies of the edges in each vertex's span of time, for random draws by weight.

        `begins` and `list_ends` are the bounds of the spans, as positions in lists sorted by time. The result is a
        triple: the adjacency lists, for each vertex the number of its list, and how edges are drawn.
        """
        lists, xp = self.by_time.lists, array_module(begins)
        indptr = running_sums(list_ends - begins)
        require_room("the edges up to the times have", int(indptr[-1]), ENTRY, lists.device, "fewer ids, or a window")
        copied_lists = Adjacency(indptr, xp.arange(int(indptr[-1])))
        owners = copied_lists.owners()
        copied_positions = begins[owners] + copied_lists.indices - indptr[owners]
        edge_ids = lists.numbers()[copied_positions]
        copied_lists = Adjacency(indptr, lists.indices[copied_positions], edge_ids)
        values: Any = self.graph.valued.each
        weights = _sums_and_guides(copied_lists, values[edge_ids], self.primitives, self.direction)
        return copied_lists, xp.arange(len(begins), dtype=dtype), self.draws._replace(weights=weights)


def ranges_of(lists: Adjacency, begins: Array, ends: Array, dtype: Any) -> tuple[Adjacency, Array]:
    """Return adjacency lists that are ranges of positions in other lists, and the numbers of the new lists.

    Range k has the positions from ``begins[k]`` to ``ends[k] - 1``. Nothing is copied, as only the offsets are new. Its
    list has the number 2k, of the dtype `dtype`, because the lists at odd numbers are the gaps between the ranges.
    """
    if 2 * len(begins) > np.iinfo(dtype).max:
        raise ValueError(f"the sample has {len(begins)} rows; expected fewer than {np.iinfo(dtype).max // 2}")
    xp: Any = array_module(begins)
    bounds = xp.stack([begins, ends], axis=1).ravel().astype(lists.indptr.dtype)
    return Adjacency(bounds, lists.indices, lists.edge_ids), xp.arange(0, 2 * len(begins), 2, dtype=dtype)


def layers_of(k: Any) -> list[int] | None:
    """Check the argument `k` of a sample, and return it as a list of the number of neighbors to draw in each layer.

    Return None if `k` is a single number, which asks for a row of neighbors without layers.
    """
    if not isinstance(k, list | tuple) and np.ndim(k) == 0:
        whole_number("k", k, NO_LIMIT)
        return None
    if len(k) == 0:
        raise ValueError("k is empty; expected a number of neighbors for each layer, such as [10, 5]")
    for i, count in enumerate(k):
        if type(count) is int and count == -1:
            raise ValueError(
                f"k[{i}] is -1; expected 0 or more; for all neighbors give a large number, such as graph.m"
            )
        whole_number(f"k[{i}]", count, NO_LIMIT)
    return [index(count) for count in k]


class Drawing(NamedTuple):
    """How the edges of one relation of a typed graph are drawn: by which sampler, and how many in each layer."""

    relation: Relation
    drawing: str  # the type of the vertices whose neighbors are drawn
    drawn: str
    sampler: Sampler
    # The graph of a relation has the vertices of the two types that the relation joins, and the ids of each type begin
    # at an offset. This pair has the offset of the type `drawing`, whose vertices draw neighbors, and the offset of the
    # type `drawn`, to which these neighbors belong.
    starts: tuple[int, int]
    layers: list[int]


class Numbering:
    """The vertices of one type in a sample, numbered in the order in which the sample reaches them.

    If each given vertex has a tree of its own (disjoint trees), a vertex is identified by a key: the position of its
    tree's root among all given vertices, times the number of vertices of the type, plus the vertex. `first_root` is the
    position of the first given vertex of this type, or None if trees are not disjoint.
    """

    def __init__(self, ids: Array, size: int, first_root: int | None) -> None:
        self.size, self.dtype, self.is_disjoint = max(size, 1), ids.dtype, first_root is not None
        self.keys, self.begin, self.counts = ids, 0, [len(ids)]
        if first_root is not None:
            self.keys = array_module(ids).arange(first_root, first_root + len(ids)) * self.size + ids

    def split(self, keys: Array) -> tuple[Array, Any]:
        """Return the vertices that `keys` stand for, and the position of each tree's root among all given vertices.

        A key identifies a vertex of the sample. If trees are not disjoint, it is the vertex itself, and None is
        returned in place of the positions.
        """
        if not self.is_disjoint:
            return keys, None
        roots = keys // self.size
        return (keys - roots * self.size).astype(self.dtype), roots

    def append(self, groups: list[Array], append: Callable[[Array, Array], tuple[Array, Array]]) -> list[Array]:
        """Give numbers in the sample to the vertices that one layer has reached, and return these numbers.

        `groups` has the keys of these vertices, an array for each relation along which they were drawn, and the result
        has an array for each. Vertices that are new draw neighbors in the next layer. `append` adds the keys that are
        new to an array of distinct keys.
        """
        xp: Any = array_module(self.keys)
        self.begin = len(self.keys)
        if not any(map(len, groups)):
            self.counts.append(0)
            return [xp.zeros(0, np.int64) for _ in groups]
        self.keys, numbers = append(self.keys, groups[0] if len(groups) == 1 else xp.concatenate(groups))
        self.counts.append(len(self.keys) - self.begin)
        group_ends = [*accumulate(map(len, groups))]
        return [numbers[end - len(id_group) : end] for end, id_group in zip(group_ends, groups)]


def sample_types(drawings: Sequence[Drawing], ids: Mapping[str, Array], sizes: Mapping[str, int]) -> TypedSample:
    """Return a sample of a typed graph around the vertices `ids` of each type.

    Each layer draws neighbors of the vertices that the layer before was the first to reach.
    """
    primitives, disjoint = drawings[0].sampler.primitives, drawings[0].sampler.disjoint
    id_count, largest_size = sum(map(len, ids.values())), max([*sizes.values(), 1])
    if disjoint and id_count * largest_size >= 2**63:
        raise ValueError(f"ids has {id_count} vertices of {largest_size}; expected a product below 2**63: fewer ids")
    numberings, root_count = dict[str, Numbering](), 0
    for type_name, type_ids in ids.items():
        if not disjoint and len(primitives.append_distinct(type_ids[:0], type_ids)[0]) < len(type_ids):
            raise repeats(type_ids)
        numberings[type_name] = Numbering(type_ids, sizes[type_name], root_count if disjoint else None)
        root_count += len(type_ids)
    relation_parts: dict[Relation, tuple[list[Any], ...]] = {drawing.relation: ([], [], []) for drawing in drawings}
    for layer in range(len(drawings[0].layers)):
        new_vertices = {type_name: each.split(each.keys[each.begin :]) for type_name, each in numberings.items()}
        drawn_keys: dict[str, list[Array]] = {type_name: [] for type_name in sizes}
        for drawing in drawings:
            (drawing_vertices, roots), numbering = new_vertices[drawing.drawing], numberings[drawing.drawing]
            keys, edges, rows = _draw_neighbors(drawing, drawing_vertices, roots, layer, numbering.begin)
            if roots is not None:
                keys = keys + (roots * numberings[drawing.drawn].size)[rows - numbering.begin]
            drawn_keys[drawing.drawn].append(keys)
            relation_parts[drawing.relation][0].append(rows)
            relation_parts[drawing.relation][1].append(edges)
        numbers = {
            type_name: iter(each.append(drawn_keys[type_name], primitives.append_distinct))
            for type_name, each in numberings.items()
        }
        for drawing in drawings:
            relation_parts[drawing.relation][2].append(next(numbers[drawing.drawn]))
    return _join_layers(drawings, numberings, relation_parts)


def _draw_neighbors(drawing: Drawing, type_ids: Array, roots: Any, layer: int, first_row: int) -> Drawn:
    """Draw neighbors of some vertices along one relation, in one layer of a sample.

    `type_ids` has the vertices, with successive numbers in the sample from `first_row` on, and `roots` the roots of
    their trees. Return three arrays with an entry for each edge drawn: the neighbor, the id of the edge, and the number
    in the sample of the vertex that drew it.
    """
    (first_id, first_drawn), sampler = drawing.starts, drawing.sampler
    ids = (
        type_ids
        if not first_id and type_ids.dtype == sampler.graph.id_dtype
        else type_ids.astype(sampler.graph.id_dtype) + first_id
    )
    neighbors, edges, rows = sampler.layer(ids, roots, drawing.layers[layer], first_row)
    if first_drawn:
        neighbors = neighbors - first_drawn
    return neighbors.astype(type_ids.dtype, copy=False), edges, rows


def _join_layers(
    drawings: Sequence[Drawing],
    numberings: Mapping[str, Numbering],
    drawn_parts: Mapping[Relation, tuple[list[Any], ...]],
) -> TypedSample:
    """Return the sample of a typed graph, put together from what each of its layers has drawn.

    For each relation, `drawn_parts` has three lists with an array for each layer: the vertices that drew an edge, the
    ids of the edges, and the neighbors.
    """
    index, edge_ids, counts = dict[Relation, Array](), dict[Relation, Array](), dict[Relation, list[int]]()
    for drawing in drawings:
        rows, edges, numbers = drawn_parts[drawing.relation]
        xp: Any = array_module(rows[0])
        edge_endpoints = [*rows, *numbers] if drawing.sampler.direction == "out" else [*numbers, *rows]
        index[drawing.relation] = xp.concatenate(edge_endpoints).reshape(2, -1)
        edge_ids[drawing.relation] = xp.concatenate(edges)
        counts[drawing.relation] = [len(numbering) for numbering in edges]
    vertices_and_roots = {type_name: numbering.split(numbering.keys) for type_name, numbering in numberings.items()}
    return TypedSample(
        {type_name: vertices for type_name, (vertices, _) in vertices_and_roots.items()},
        index,
        edge_ids,
        {type_name: numbering.counts for type_name, numbering in numberings.items()},
        counts,
        {type_name: roots for type_name, (_, roots) in vertices_and_roots.items()}
        if drawings[0].sampler.disjoint
        else None,
    )


PLAIN = ("", "", "")  # the name of the one relation of a graph without types, which is sampled like a typed graph


def sample_layers(sampler: Sampler, ids: Array, layers: list[int]) -> NeighborSample:
    """Return a sample of a graph without types around the vertices `ids`.

    `layers` has the number of neighbors to draw in each layer. The sample is drawn as if the graph were typed, with one
    type and one relation.
    """
    only = Drawing(PLAIN, "", "", sampler, (0, 0), layers)
    sample = sample_types([only], {"": ids}, {"": sampler.graph.n})
    batch = None if sample.batch is None else sample.batch[""]
    sample_arrays = sample.vertices[""], sample.edge_index[PLAIN], sample.edge_ids[PLAIN]
    return NeighborSample(*sample_arrays, sample.vertex_counts[""], sample.edge_counts[PLAIN], batch)


class TypedSampler:
    """A source of random edges for all vertices of a typed graph, in all of its relations.

    Each relation has a seed of its own. The first relation has the caller's seed, as a graph without types does.
    """

    def __init__(self, graph: TypedGraph, k: Any, rows: int, seed: int, options: Mapping[str, Any]) -> None:
        layers, time = _layers_of_relations(graph, k), options.get("time", "time")
        if options.get("at") is not None:
            for name, relation_graph in graph.relations.items():
                if isinstance(time, str) and time not in relation_graph.edge_attributes:
                    raise ValueError(
                        f"relation {name} has no edge attribute {time!r}; expected times of all relations, such as the "
                        "earliest of all where edges always exist: graph.with_edge_attributes"
                    )
        self.sizes = graph.sizes
        seed_bits, self.drawings = seed_word(seed), list[Drawing]()
        for i, (name, relation_graph) in enumerate(graph.relations.items()):
            sampler = sampler_of(relation_graph, rows, relation_seed(seed_bits, i), **options)
            end_types, starts = (name[0], name[2]), graph.starts(name)
            if sampler.direction == "in":
                end_types, starts = end_types[::-1], starts[::-1]
            self.drawings.append(Drawing(name, *end_types, sampler, starts, layers[name]))

    def of(self, rows: Array, seed: int) -> TypedSampler:
        """Return this sampler with another seed, for a part of the vertices around which samples are drawn.

        `rows` are the positions of these vertices among all the vertices that the caller has given.
        """
        seeded, seed_bits = copy(self), seed_word(seed)
        seeded.drawings = [
            drawing._replace(sampler=drawing.sampler.of(rows, relation_seed(seed_bits, i)))
            for i, drawing in enumerate(self.drawings)
        ]
        return seeded

    def sample(self, ids: Mapping[str, Array]) -> TypedSample:
        """Draw a sample of the typed graph around the vertices `ids` of each type."""
        return sample_types(self.drawings, ids, self.sizes)


def relation_seed(word: np.uint64, relation: int) -> int:
    """Return the seed for draws in one relation of a typed graph, given the number of the relation."""
    return int(semirings.hash(word, relation)) if relation else int(word)


def typed_ids(graph: TypedGraph, given: Any) -> dict[str, Array]:
    """Return the ids of the vertices that an argument gives for each type of a typed graph, by type.

    Raise an error if they are not valid.
    """
    if not isinstance(given, Mapping):
        raise TypeError(
            f"ids is a {type(given).__name__}; expected a mapping from types to vertices, such as "
            f"{{{next(iter(graph.sizes))!r}: [0, 1]}}"
        )
    for type_name in given:
        graph.vertices(type_name)
    return {
        type_name: vertex_ids(graph.vertices(type_name), f"ids[{type_name!r}]", given.get(type_name, []))
        for type_name in graph.sizes
    }


def typed_times(graph: TypedGraph, given: Any, ids: Mapping[str, Any]) -> Any:
    """Return the argument `at` as one array, with a time for each given vertex: type after type, as in the graph.

    A single time for all vertices is returned as it is.
    """
    if not isinstance(given, Mapping):
        types_with_ids = [type_name for type_name, arrays in ids.items() if len(arrays)]
        if np.ndim(given) and len(types_with_ids) > 1:
            raise TypeError(
                f"at is one array for vertices of {len(types_with_ids)} types; expected a mapping from type to times"
            )
        return given
    arrays = list[Any]()
    for type_name, vertices in ids.items():
        times = given.get(type_name, [])
        times = [times] * len(vertices) if np.ndim(times) == 0 else times
        if len(times) != len(vertices):
            raise ValueError(f"at[{type_name!r}] has {len(times)} times; expected {len(vertices)}, one for each of ids")
        if len(vertices):
            arrays.append(times)
    if all(isinstance(times, np.ndarray) for times in arrays):
        return np.concatenate(arrays) if arrays else np.zeros(0, np.int64)
    return [time for times in arrays for time in times]


def _layers_of_relations(graph: TypedGraph, k: Any) -> dict[Relation, list[int]]:
    """Return the argument `k` as a list of the number of neighbors to draw in each layer, for each relation.

    If `k` is a single list, it is the same for all relations.
    """
    if not isinstance(k, Mapping):
        if (layers := layers_of(k)) is None:
            raise TypeError(f"k is {k!r}; expected a list with a number for each layer, such as [{k!r}]")
        return dict.fromkeys(graph.relations, layers)
    for name in k:
        graph[name]
    by_relation = dict[Relation, list[int]]()
    for name in graph.relations:
        if name not in k:
            raise ValueError(f"k has no numbers for {name}; expected a list for each relation, such as [0, 0] for none")
        if (layers := layers_of(k[name])) is None:
            raise TypeError(f"k[{name}] is {k[name]!r}; expected a list with a number for each layer")
        by_relation[name] = layers
    if len(depths := {len(layers) for layers in by_relation.values()}) > 1:
        raise ValueError(f"k has {' and '.join(map(str, sorted(depths)))} layers; expected as many for each relation")
    return by_relation


def repeats(ids: Array) -> ValueError:
    """Return the error for a vertex that occurs twice in `ids`, the vertices around which a sample is drawn.

    In a sample of several layers whose trees are not disjoint, each vertex may occur only once.
    """
    xp: Any = array_module(ids)
    sorted_ids = xp.sort(ids)
    repeated = sorted_ids[1:][sorted_ids[1:] == sorted_ids[:-1]]
    return ValueError(
        f"ids has vertex {int(repeated[0])} twice; expected distinct vertices for several layers: pass np.unique(ids)"
    )


def _require_room(lists: Adjacency, ids: Array, k: int, replace: bool) -> None:
    """Raise MemoryError if the edges that one layer of a sample may draw don't fit in memory.

    It is called where a layer may draw an edge several times, and so more edges than the graph has.
    """
    degrees = lists.indptr[1:][ids] - lists.indptr[:-1][ids]
    count = k * int((degrees > 0).sum()) if replace else int(array_module(ids).minimum(degrees, min(k, MOST)).sum())
    require_room("the sample has", count, ENTRY, lists.device, "a smaller number in k, or fewer ids")


def seed_hash(seed: Any) -> int:
    """Return the hash of a seed, from which random draws are computed, as an integer.

    Raise an error if the seed is not a whole number of at most 64 bits.
    """
    return int(semirings.hash(seed_word(seed)))


def seed_word(seed: Any) -> np.uint64:
    """Return a seed as a 64-bit unsigned integer. Raise an error if it is not a whole number of at most 64 bits."""
    try:
        seed_number = index(seed)
    except TypeError:
        seed_number = None
    if seed_number is None or isinstance(seed, TRUE_OR_FALSE):
        raise TypeError(f"seed is {seed!r}; expected a whole number")
    if not -(2**63) <= seed_number < 2**64:
        raise ValueError(f"seed is {seed_number}; expected an integer of at most 64 bits")
    return np.uint64(seed_number % 2**64)


def check_lists(graph: Graph, direction: Direction = "out") -> None:
    """Raise ValueError if a vertex has 2**31 edges or more, too many for a random position in its adjacency list."""
    if graph.m > MOST:
        longest = graph.max_out_degree if direction == "out" else graph.max_in_degree
        if longest > MOST:
            raise ValueError(f"a vertex has {longest} {direction}-edges; expected at most {MOST}")


def weights_of(graph: Graph, primitives: Primitives, direction: Direction = "out") -> tuple[Array, Array]:
    """Return the two arrays for random draws by weight: running sums of weights in each adjacency list, guide tables.

    A draw is searched in the running sums, which are float64, and a guide table says where to begin. Both are cached in
    the graph.
    """
    graph.notice_values()
    check_weights(graph, shares=True)

    def made(graph: Graph) -> tuple[Array, Array]:
        valued = graph.valued
        lists, values = (graph.out, valued.by_out) if direction == "out" else (graph.in_, valued.by_in)
        return _sums_and_guides(lists, values, primitives, direction)

    return graph.kept("sums of weights" if direction == "out" else "sums of weights of in-edges", made)


def _sums_and_guides(
    lists: Adjacency, values: Array, primitives: Primitives, direction: Direction
) -> tuple[Array, Array]:
    """Return the two arrays for random draws by weight: running sums of weights in each adjacency list, guide tables.

    A draw is searched in the running sums, which are float64, and a guide table says where to begin. Raise ValueError
    if the weights of a vertex add up to infinity.
    """
    sums = primitives.list_sums(lists, values)
    is_not_finite = ~(sums < np.inf)
    if bool(is_not_finite.any()):
        v = int(lists.owners()[int(is_not_finite.argmax())])
        raise ValueError(
            f"the weights of the {direction}-edges of vertex {v} add up to infinity; expected a finite sum"
        )
    largest = float(range_of(sums)[1]) if len(sums) else 0.0
    # Tiny sums are multiplied by a power of two, because the product of such a weight and the result of `accept` in a
    # walk might be rounded to 0.
    if 0 < largest < 2.0**-256:
        sums = array_module(sums).ldexp(sums, -math.frexp(largest)[1])
    return sums, primitives.list_guides(lists, sums)


ROW = Row(
    sample_neighbors,
    Command(
        *("sample-neighbors", {"drawn": "drawn"}),
        lambda f: f"{len(f['drawn']):,} samples of neighbors of {len(f['sampled']):,} vertices; most often sampled:",
        *(lambda f: f.times_named("drawn"), "ids"),
        defaults={"k": 5},
        unpack=lambda _, found: {"sampled": found, "drawn": found[found >= 0]},
        edges=lambda f: len(f["drawn"]),
        fixed={"at": None, "time": "time", "window": None, "strategy": "uniform", "disjoint": False},
    ),
    "sample_neighbors(g, [0, 1], 4)",
    "sample_neighbors(g, [0, 1], 4, direction='in', weighted=True)",
    "sample_neighbors(g, [0, 1], [3, 2])",
    "sample_neighbors(g, [0, 1], [3, 2], direction='in', weighted=True)",
    "sample_neighbors(timed, [0, 1], [3, 2], at=50, window=30)",
    "sample_neighbors(timed, [0, 1], [3, 2], at=50.0, weighted=True)",
    method="a draw for each vertex of a layer (Hamilton et al., NIPS 2017), as in DGL and pyg-lib",
    longer="Ten entries are drawn for each of n vertices without repetition, all random reads.",
)
