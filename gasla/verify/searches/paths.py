"""Verifiers of levels, distances, and trees of parents that searches from one or several sources found."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.deprecation import deprecated
from gasla.graph.graph import as_graph
from gasla.progress import track
from gasla.verify._common import (
    Array,
    Edges,
    VerificationError,
    check_source,
    check_sources,
    edge_name,
    edges_of,
    reachable,
    require,
    verifier,
    vertex_answer,
)


@deprecated("depth_limit", since="0.2", parameter="max_depth")
@verifier()
def bfs(
    graph: Any, source: Any, levels: ArrayLike, parents: ArrayLike | None = None, *, depth_limit: int | None = None
) -> None:
    """Verify `levels` of `gasla.bfs`, and `parents` if given.

    Only the source is at level 0, no edge skips a level, and each reached vertex has an in-neighbor one level up.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> bfs(path, 0, [0, 1, 2], [0, 0, 1])
    >>> bfs(path, 0, [0, 1, 1])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 2 is at level 1, but has no in-edge from level 0
    """
    edges = edges_of(graph)
    source = check_source(source, edges.n)
    level = vertex_answer("levels", levels, edges.n, "iu").astype(np.int64)
    deepest = np.iinfo(np.int64).max if depth_limit is None else depth_limit

    if level[source] != 0:
        raise VerificationError(f"the source {source} is at level {level[source]}, not 0")
    require((level != 0) | (np.arange(edges.n) == source), lambda v: f"vertex {v} is at level 0, but is not the source")
    require(level >= -1, lambda v: f"vertex {v} is at level {level[v]}, below -1")
    require(level <= deepest, lambda v: f"vertex {v} is at level {level[v]}, past the limit of {depth_limit}")

    above, below = level[edges.src], level[edges.dst]
    follows = (above >= 0) & (above < deepest)
    require(
        ~follows | (below >= 0), lambda e: f"{edge_name(edges, e)} leads from level {above[e]} to an unreached vertex"
    )
    require(
        ~follows | (below <= above + 1), lambda e: f"{edge_name(edges, e)} skips from level {above[e]} to {below[e]}"
    )

    steps_down = (above >= 0) & (below == above + 1)
    supported = np.zeros(edges.n, bool)
    supported[source] = True
    supported[edges.dst[steps_down]] = True
    require(
        supported | (level < 0),
        lambda v: f"vertex {v} is at level {level[v]}, but has no in-edge from level {level[v] - 1}",
    )
    if parents is not None:
        _require_parent_tree(edges, source, parents, level >= 0, steps_down, "is not one level up")


@verifier("numbers")
def sssp(
    graph: Any, source: Any, distances: ArrayLike, parents: ArrayLike | None = None, *, cutoff: float | None = None
) -> None:
    """Verify `distances` of `gasla.sssp`, and `parents` if given. Weights may be negative.

    No edge offers a shorter path to its end. Edges that attain the distances of their ends lead from the source to each
    reached vertex. Sums may differ by rounding in the dtype of the distances.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> triangle = csr_array([[0, 1.0, 5.0], [0, 0, 2.0], [0, 0, 0]])
    >>> sssp(triangle, 0, [0.0, 1.0, 3.0], [0, 0, 1])
    >>> sssp(triangle, 0, [0.0, 1.0, 5.0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 2 is at distance 5.0, but the edge 1 → 2 offers 3.0
    """
    edges = edges_of(graph)
    source = check_source(source, edges.n)
    answer = vertex_answer("distances", distances, edges.n, "f")
    attains = _require_shortest(edges, [source], answer, cutoff)
    reached = np.isfinite(answer)
    require(
        reachable(edges.n, edges.src[attains], edges.dst[attains], [source]) | ~reached,
        lambda v: f"vertex {v} is at distance {answer[v]}, but no path from the source {source} is that short",
    )
    if parents is not None:
        _require_parent_tree(edges, source, parents, reached, attains, "is not on a shortest path")


@verifier("numbers")
def nearest_source(
    graph: Any, sources: Iterable[Any], distances: ArrayLike, nearest: ArrayLike, *, cutoff: float | None = None
) -> None:
    """Verify `distances` and `nearest` of `gasla.nearest_source`.

    Distances are verified as for `sssp`. Edges that attain the distances of their ends lead to each vertex from the
    source that is said to be nearest, and along no such edge comes a source of a smaller position.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1.0, 0], [0, 0, 2.0], [0, 0, 0]])
    >>> nearest_source(path, [2, 0], [0.0, 1.0, 0.0], [1, 1, 0])
    >>> nearest_source(path, [2, 0], [0.0, 1.0, 0.0], [1, 0, 0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 1 is said to be nearest to source 0, vertex 2, but no shortest path leads ...
    """
    edges = edges_of(graph)
    chosen = check_sources(sources, edges.n)
    answer = vertex_answer("distances", distances, edges.n, "f")
    nearest_index = vertex_answer("nearest", nearest, edges.n, "iu").astype(np.int64)
    attains = _require_shortest(edges, chosen, answer, cutoff)
    reached = np.isfinite(answer)
    require(
        np.where(reached, (nearest_index >= 0) & (nearest_index < len(chosen)), nearest_index == -1),
        lambda v: f"vertex {v} is at distance {answer[v]}, but its nearest source is said to be {nearest_index[v]}",
    )
    same_source = attains & (nearest_index[edges.src] == nearest_index[edges.dst])
    is_own_nearest = nearest_index[chosen] == np.arange(len(chosen))
    # False for a source that another source reaches along edges of negative total length, so that its distance is not 0
    starts_at_zero = answer[chosen] == 0
    require(
        starts_at_zero | ~is_own_nearest,
        lambda i: f"source {i}, vertex {chosen[i]}, is at distance {answer[chosen[i]]} from itself",
    )
    require(
        reachable(edges.n, edges.src[same_source], edges.dst[same_source], chosen[is_own_nearest]) | ~reached,
        lambda v: (
            f"vertex {v} is said to be nearest to source {nearest_index[v]}, vertex {chosen[nearest_index[v]]}, "
            "but no shortest path leads from there"
        ),
    )
    require(
        (nearest_index[chosen] <= np.arange(len(chosen))) | ~starts_at_zero,
        lambda i: f"source {i}, vertex {chosen[i]}, is said to be nearest to source {nearest_index[chosen[i]]}",
    )
    is_tight = (answer[edges.src] + edges.weight).astype(answer.dtype) == answer[edges.dst]
    require(
        ~(is_tight & reached[edges.dst]) | (nearest_index[edges.dst] <= nearest_index[edges.src]),
        lambda e: (
            f"vertex {edges.dst[e]} is as near to source {nearest_index[edges.src[e]]} "
            f"as to source {nearest_index[edges.dst[e]]}, which has a larger position"
        ),
    )


def _require_shortest(edges: Edges, sources: Iterable[int], given: Array, cutoff: float | None) -> Array:
    """Verify that no edge offers a shorter distance to its head. Return for each edge whether it attains its head's
    distance.
    """
    distance = given.astype(np.float64)
    is_negative, distinct = bool((edges.weight < 0).any()), {*map(int, sources)}
    for source in distinct:
        if distance[source] and not (distance[source] < 0 and is_negative and len(distinct) > 1):
            raise VerificationError(f"the source {source} is at distance {given[source]}, not 0")
    if is_negative and cutoff is not None:
        raise VerificationError("a weight is negative, and a cutoff was given; expected an error instead of an answer")
    require(~np.isnan(distance), lambda v: f"vertex {v} is at distance NaN")
    require(distance != -np.inf, lambda v: f"vertex {v} is at distance -inf")
    # the cutoff is rounded to the dtype of the distances, as the algorithm rounds it
    limit = np.array(np.inf if cutoff is None else cutoff).astype(given.dtype)
    require(
        (given <= limit) | (distance == np.inf),
        lambda v: f"vertex {v} is at distance {given[v]}, past the cutoff of {cutoff}",
    )

    tail_distance, head_distance = distance[edges.src], distance[edges.dst]
    offered = tail_distance + edges.weight
    is_within = offered.astype(given.dtype) <= limit
    float_info = np.finfo(given.dtype)
    rounding = 4 * float_info.eps * (np.abs(tail_distance) + np.abs(edges.weight)) + float_info.smallest_subnormal
    excess = np.where(np.isinf(tail_distance) | ~is_within, -np.inf, head_distance - offered)
    require(
        ~(excess > rounding),
        lambda e: (
            f"vertex {edges.dst[e]} is at distance {given[edges.dst[e]]}, but the {edge_name(edges, e)} "
            f"offers {offered[e]}"
        ),
    )
    attains: Array = np.isfinite(tail_distance) & np.isfinite(head_distance) & (np.abs(excess) <= rounding)
    return attains


def _require_parent_tree(
    edges: Edges, source: int, parents: ArrayLike, reached: Array, allowed: Array, otherwise: str
) -> None:
    """Verify that `parents` is a tree in which allowed edges lead from the source to the reached vertices, and only to
    these.

    `allowed` marks these edges. `otherwise` is how the error message describes the parent of an edge that isn't
    allowed.
    """
    parent = vertex_answer("parents", parents, edges.n, "iu").astype(np.int64)
    if parent[source] != source:
        raise VerificationError(f"the parent of the source {source} is {parent[source]}, not the source itself")
    require(reached | (parent == -1), lambda v: f"vertex {v} is unreached, but has the parent {parent[v]} and not -1")
    require(
        ~reached | ((parent >= 0) & (parent < edges.n)),
        lambda v: f"vertex {v} is reached, but its parent {parent[v]} is not a vertex",
    )
    is_parent = edges.src == parent[edges.dst]
    linked, is_allowed = np.zeros(edges.n, bool), np.zeros(edges.n, bool)
    linked[edges.dst[is_parent]] = True
    is_allowed[edges.dst[is_parent & allowed]] = True
    linked[source] = is_allowed[source] = True
    require(linked | ~reached, lambda v: f"vertex {v} has the parent {parent[v]}, but there is no edge between them")
    require(is_allowed | ~reached, lambda v: f"vertex {v} has the parent {parent[v]}, which {otherwise}")

    ancestor = np.where(reached, parent, source)
    # each iteration replaces the ancestor k steps above each vertex by that 2k steps above it (pointer doubling)
    for _ in range(int(edges.n).bit_length()):
        ancestor = ancestor[ancestor]
    require(ancestor == source, lambda v: f"vertex {v}: its parents form a cycle and never reach the source")


@verifier()
def multi_source_bfs(graph: Any, sources: Iterable[Any], levels: ArrayLike, *, depth_limit: int | None = None) -> None:
    """Verify `levels` of `gasla.multi_source_bfs`: each row as for `bfs`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> multi_source_bfs(path, [0, 2], [[0, 1, 2], [-1, -1, 0]])
    >>> multi_source_bfs(path, [0, 2], [[0, 1, 2], [-1, 1, 0]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: from source 2: vertex 1 is at level 1, but has no in-edge from level 0
    """
    _verify_rows(graph, sources, "levels", levels, lambda *found: bfs(*found, depth_limit=depth_limit))


@verifier("numbers")
def multi_source_shortest_paths(
    graph: Any, sources: Iterable[Any], distances: ArrayLike, *, cutoff: float | None = None
) -> None:
    """Verify `distances` of `gasla.multi_source_shortest_paths`: each row as for `sssp`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> triangle = csr_array([[0, 1.0, 5.0], [0, 0, 2.0], [0, 0, 0]])
    >>> multi_source_shortest_paths(triangle, [0, 1], [[0.0, 1.0, 3.0], [np.inf, 0.0, 2.0]])
    >>> multi_source_shortest_paths(triangle, [1], [[np.inf, 0.0, 5.0]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: from source 1: vertex 2 is at distance 5.0, but the edge 1 → 2 offers 2.0
    """
    _verify_rows(graph, sources, "distances", distances, lambda *found: sssp(*found, cutoff=cutoff))


def _verify_rows(graph: Any, sources: Iterable[int], name: str, rows: ArrayLike, check: Callable[..., None]) -> None:
    graph, chosen, array = as_graph(graph), list(sources), np.asarray(rows)
    if array.shape != (len(chosen), graph.n):
        raise VerificationError(
            f"{name}: expected one row per source and one value per vertex, of shape ({len(chosen)}, {graph.n}), "
            f"not an array of shape {array.shape}"
        )
    for source, row in track(list(zip(chosen, array)), "sources"):
        try:
            check(graph, source, row)
        except VerificationError as error:
            raise VerificationError(f"from source {source}: {error}") from None
