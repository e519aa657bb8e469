"""Walks whose next step depends on more than the vertex: walks in time, and walks along a path of relations.

Each step is a sample of one neighbor for all walkers at once, from a range of each vertex's list: the edges of a
relation, or those from a time on. A walker that has ended has an empty range. The draw of a walker in a step is a
function of `semirings.hash(semirings.hash(seed, step), walker, 0)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

import semirings
from gasla.arrays import array_module, module_of
from gasla.graph.arguments import NO_LIMIT, check_flags, vertex_ids, whole_number
from gasla.graph.edge_times import LARGEST_TIME, Span, span_of, times_of_edges
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.memory_limit import require_room
from gasla.graph.typed_graph import Relation, TypedGraph
from gasla.operations.sampling import Array, Sampler, TimedSampler, ranges_of, sampler_of, seed_hash, seed_word
from gasla.rows import Row


def temporal_walks(
    graph: Any,
    starts: Any,
    length: int,
    *,
    time: str = "time",
    at: Any = None,
    window: Any = None,
    weighted: bool = False,
    seed: int = 0,
) -> Array:
    """Walk at random along edges in the order of time, from many vertices at once.

    Each step follows an out-edge that is at the time of the edge before it or later.

    Parameters
    ----------
    graph : Graph
        With an edge attribute for the times. `A[i, j]` is the edge i -> j.
    starts : (walkers,) array of ids or names
        The first vertex of each walker; repetitions allowed.
    length : int
        Number of steps of each walker, 0 or more.
    time : str, default "time"
        The edge attribute with the time of each edge: numbers, dates, or times of day.
    at : time, or (walkers,) array of times, optional
        The time at which walkers begin: their first edge is at this time or later. Numbers, or dates as for
        `gasla.sample_neighbors`. By default any edge may be the first.
    window : number or duration, optional
        Each edge after the first is this much after the one before, or less: of dates, a duration such as "24h".
    weighted : bool
        Whether edges are drawn in proportion to their values, which must be finite and not negative. Otherwise, and in
        a graph without values, all edges of a vertex that are neither too early nor too late are equally likely.
    seed : int
        At most 64 bits. The same seed gives the same walks on both engines.

    Returns
    -------
    (walkers, length + 1) array of the type of vertex ids
        One row per walker: its first vertex, and its vertex after each step; -1 after a vertex that no edge leaves at
        the time of its last step or later, within the window.

    Raises
    ------
    TypeError, ValueError
        If a start is not a vertex, `length` or `seed` is out of range, or weights are negative, not finite, or add up
        to infinity at a vertex; for times as in `gasla.sample_neighbors`.
    MemoryError
        If the walks need more memory than is available.

    Notes
    -----
    The first call sorts the lists by time, and keeps them with the graph: up to 20 bytes per edge. With weights, each
    step copies the edges that may be drawn, and adds up their weights.

    See Also
    --------
    gasla.walk_pairs : pairs of vertices near each other in walks, for skip-gram training.
    gasla.earliest_arrival : the first time at which any such walk reaches each vertex.

    References
    ----------
    G. Nguyen et al.: Continuous-Time Dynamic Network Embeddings. WWW 2018.

    Examples
    --------
    >>> import gasla
    >>> calls = gasla.Graph.from_edges([0, 1, 1, 2], [1, 2, 3, 3]).with_edge_attributes(time=[2, 1, 5, 9])
    >>> gasla.temporal_walks(calls, [0, 1, 1], 3, at=[0, 0, 6])
    array([[ 0,  1,  3, -1],
           [ 1,  3, -1, -1],
           [ 1, -1, -1, -1]], dtype=int32)
    >>> gasla.temporal_walks(calls, [0], 3, at=0, window=2)  # the edge 1 -> 3 is 3 after 0 -> 1
    array([[ 0,  1, -1, -1]], dtype=int32)
    """
    graph, length, seed_bits = whole_graph(graph), whole_number("length", length, NO_LIMIT), seed_word(seed)
    check_flags(weighted=weighted)
    starts = vertex_ids(graph, "starts", starts)
    count, times = len(starts), times_of_edges(graph, time)
    require_room("the walks have", count * (length + 1), starts.itemsize, graph.device, "fewer steps, or fewer starts")
    xp: Any = array_module(starts)
    earliest, latest = (
        (-np.inf, np.inf) if times.dtype.kind == "f" else (np.iinfo(np.int64).min, np.iinfo(np.int64).max)
    )
    if at is None:
        from_time = xp.full(count, earliest, times.dtype)
    else:  # a span that ends at `at` and has length 0 begins at `at` too, so its first time is `at`, converted
        zero_duration = 0 if graph.edge_attributes.time_types.get(time) is None else np.timedelta64(0, "s")
        from_time = cast(Array, span_of(graph, time, at, zero_duration, count).first)
    width = None if window is None else _window_length(graph, time, window)
    walks, to_time = xp.full((count, length + 1), -1, starts.dtype), xp.full(count, latest, times.dtype)
    sampler = TimedSampler(sampler_of(graph, count, 0, weighted=weighted), time, Span(from_time, to_time), False)
    walks[:, 0] = starts
    for step in range(length):
        current = walks[:, step]
        # a walker that has ended gets an empty span of time, so that it finds no edge
        to_time = xp.where(current < 0, earliest, to_time)
        sampler.span, sampler.draws = Span(from_time, to_time), sampler.draws._replace(key=_step_key(seed_bits, step))
        following, edges, rows = sampler.layer(xp.maximum(current, 0), slice(None), 1, 0)
        if not len(rows):
            break
        walks[rows, step + 1], from_time[rows] = following, times[edges]
        if width is not None:
            to_time[rows] = times[edges] + width
    return walks


def _window_length(graph: Graph, time: str, window: Any) -> Array | None:
    """Return the argument `window`, the longest time between two edges of a walk, as an array of one number.

    The number has the unit of the edges' times. Return None if there is no limit.
    """
    dates = graph.edge_attributes.time_types.get(time)
    zero = np.zeros(1, np.int64 if dates is None else dates.dtype)
    earliest_time, latest_time = span_of(graph, time, zero, window, 1)
    if earliest_time is None:
        return None
    width = latest_time - earliest_time
    # The length is limited so that its sum with any time of an edge fits int64.
    return width if width.dtype.kind == "f" else array_module(width).minimum(width, LARGEST_TIME)


def metapath_walks(
    graph: TypedGraph, starts: Any, metapath: Sequence[Relation], length: int, *, weighted: bool = False, seed: int = 0
) -> Array:
    """Walk at random along a path of relations of a typed graph, from many vertices at once.

    Step i follows an edge of relation ``metapath[i % len(metapath)]``.

    Parameters
    ----------
    graph : TypedGraph
    starts : (walkers,) array of ids or names
        The first vertex of each walker, of the source type of the first relation; repetitions allowed.
    metapath : list of relations
        Each begins at the type where the one before ends. If there are more steps than relations, so does the first
        after the last.
    length : int
        Number of steps of each walker, 0 or more.
    weighted : bool
        Whether edges are drawn in proportion to their values, which must be finite and not negative. Otherwise, and in
        relations without values, all edges of a vertex are equally likely.
    seed : int
        At most 64 bits. The same seed gives the same walks on both engines.

    Returns
    -------
    (walkers, length + 1) array of the type of vertex ids
        One row per walker: its first vertex, and its vertex after each step, as numbers through all types: vertex v of
        a type is ``graph.offsets[type] + v``. -1 after a vertex without an edge of the next relation.

    Raises
    ------
    TypeError, ValueError
        If a start is not a vertex of its type, the relations are unknown or no path, `length` or `seed` is out of
        range, or weights are negative, not finite, or add up to infinity at a vertex.
    MemoryError
        If the walks need more memory than is available.

    See Also
    --------
    gasla.walk_pairs : pairs of vertices near each other in walks, for skip-gram training.

    References
    ----------
    Y. Dong, N. Chawla, A. Swami: metapath2vec: Scalable Representation Learning for Heterogeneous Networks. KDD 2017.

    Examples
    --------
    >>> import gasla
    >>> writes, cites = ("author", "writes", "paper"), ("paper", "written by", "author")
    >>> papers = gasla.TypedGraph({writes: [[0, 1, 1], [0, 0, 1]], cites: [[0, 0, 1], [0, 1, 1]]})
    >>> dict(papers.offsets)
    {'author': 0, 'paper': 2}
    >>> gasla.metapath_walks(papers, [0, 1], [writes, cites], 4)
    array([[0, 2, 0, 2, 0],
           [1, 3, 1, 2, 1]], dtype=int32)
    """
    if not isinstance(graph, TypedGraph):
        raise TypeError(f"graph is a {type(graph).__name__}; expected a TypedGraph")
    length, seed_bits, path = (
        whole_number("length", length, NO_LIMIT),
        seed_word(seed),
        _check_metapath(graph, metapath, length),
    )
    first_type_vertices = graph.vertices(path[0][0])
    starts = vertex_ids(first_type_vertices, "starts", starts)
    samplers = {name: sampler_of(graph[name], len(starts), 0, weighted=weighted) for name in path[:length]}
    dtype = np.result_type(graph.id_dtype, np.int64 if sum(graph.sizes.values()) > 2**31 - 1 else np.int32)
    require_room("the walks have", len(starts) * (length + 1), dtype.itemsize, graph.device, "fewer steps, or starts")
    walks = module_of(graph.device).full((len(starts), length + 1), -1, dtype)
    walks[:, 0] = starts.astype(dtype) + graph.offsets[path[0][0]]
    for step in range(length):
        name = path[step % len(path)]
        first_ids = graph.starts(name)
        # What to add to a vertex id in the relation's graph, to get the vertex's number among the vertices of all
        # types.
        source_offset, target_offset = graph.offsets[name[0]] - first_ids[0], graph.offsets[name[2]] - first_ids[1]
        following = _draw_neighbors(samplers[name], walks[:, step], source_offset, _step_key(seed_bits, step))
        walks[:, step + 1] = array_module(following).where(following < 0, -1, following + target_offset)
    return walks


def _step_key(word: np.uint64, step: int) -> int:
    return seed_hash(int(semirings.hash(word, step)))


def _draw_neighbors(sampler: Sampler, current: Array, offset: int, key: int) -> Array:
    """Return a random neighbor of each vertex in `current`, along the edges of one relation.

    A vertex without neighbors gets -1, which stands for a walk that has ended, and an entry -1 stays -1. `offset` is
    the difference between a vertex's number in `current` and its id in the relation's graph. `key` is the seed.
    """
    xp: Any = array_module(current)
    lists, id_dtype = sampler.lists, sampler.graph.id_dtype
    ids = xp.maximum(current - offset, 0)
    if not len(lists.indices):
        return xp.full(len(current), -1, id_dtype)
    begins, list_ends = lists.indptr[:-1][ids], lists.indptr[1:][ids]
    range_lists, ranges = ranges_of(lists, begins, xp.where(current < 0, begins, list_ends), id_dtype)
    return sampler.primitives.sample(range_lists, ranges, 1, sampler.draws._replace(key=key))[:, 0]


def _check_metapath(graph: TypedGraph, metapath: Any, length: int) -> list[Relation]:
    """Return the relations of a metapath as a list.

    Raise an error if a relation does not begin at the type of vertices at which the one before it ends.
    """
    if isinstance(metapath, str | Mapping) or not isinstance(metapath, Sequence) or not len(metapath):
        raise TypeError(
            f"metapath is {metapath!r}; expected a list of relations, such as [{next(iter(graph.relations))}]"
        )
    path = [*metapath]
    for name in path:
        if not isinstance(name, tuple) or name not in graph.relations:
            raise ValueError(f"metapath has {name!r}; expected relations of the graph: {[*graph.relations]}")
    for relation, next_relation in zip(
        path, [*path[1:], path[0]][: len(path) if length > len(path) else len(path) - 1]
    ):
        if relation[2] != next_relation[0]:
            raise ValueError(
                f"metapath goes from {relation} to {next_relation}; expected a relation that begins at {relation[2]!r}"
            )
    return path


ROW = [
    Row(
        temporal_walks,
        method="a search by time in each list: TEA (Huan et al., EuroSys 2023)",
        longer="Edges are sorted by time at the first call, and each step is a binary search in a list.",
    ),
    Row(
        metapath_walks,
        method="a walk over the lists of one relation a step (Dong, Chawla, Swami, KDD 2017)",
        longer="Sixteen steps of n walkers are dependent random reads, two for each step.",
    ),
]
