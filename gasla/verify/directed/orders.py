"""Verifiers of topological orders, their levels, and longest paths."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.graph.vertex_keys import ranks_of_keys
from gasla.verify._common import (
    Array,
    Edges,
    VerificationError,
    components_of,
    edge_name,
    edges_of,
    require,
    sparse,
    verifier,
    vertex_answer,
)


@verifier()
def topological_order(
    graph: Any, order: ArrayLike, levels: ArrayLike | None = None, *, key: ArrayLike | None = None
) -> None:
    """Verify `order` of `gasla.topological_order`, and `levels` if given.

    Every vertex is in the order once, and every edge leads forward. Levels rise along each edge, and by exactly one
    along some edge to each vertex that is not at level 0. With `key`, no vertex of a larger key stands between a vertex
    and the last of its in-neighbors. Keys that the function refuses are errors here, too.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> topological_order(path, [0, 1, 2], [0, 1, 2])
    >>> topological_order(path, [1, 0, 2])
    Traceback (most recent call last):
    gasla.verify.VerificationError: edge 0 → 1 leads backwards, from place 1 of the order to place 0
    """
    edges = edges_of(graph)
    vertices = vertex_answer("order", order, edges.n, "iu").astype(np.int64)
    require(
        (vertices >= 0) & (vertices < edges.n), lambda i: f"place {i} of the order holds {vertices[i]}, not a vertex"
    )
    position = np.full(edges.n, -1)
    position[vertices] = np.arange(edges.n)
    require(position >= 0, lambda v: f"vertex {v} is missing from the order")
    tail_position, head_position = position[edges.src], position[edges.dst]
    require(
        tail_position < head_position,
        lambda e: (
            f"{edge_name(edges, e)} leads backwards, from place {tail_position[e]} of the order "
            f"to place {head_position[e]}"
        ),
    )
    if key is not None:
        _require_smallest_first(edges, vertices, position, ranks_of_keys("key", key, edges.n))
    if levels is None:
        return
    level = vertex_answer("levels", levels, edges.n, "iu").astype(np.int64)
    _require_levels(edges, level)
    if key is not None:
        return
    require(
        np.lexsort((np.arange(edges.n), level)) == vertices,
        lambda i: (
            f"place {i} of the order holds vertex {vertices[i]}; expected levels to ascend, and ids within a level"
        ),
    )


def _require_smallest_first(edges: Edges, order: Array, place: Array, rank: Array) -> None:
    """Verify that a topological order takes the smallest key first: each vertex had the smallest rank of those that
    could come next.

    `place` is the index of each vertex in the order, and `rank` the place of each vertex's key among the sorted keys.
    """
    # for each vertex, the largest index in the order of any of its in-neighbors, or -1 without one
    ready = np.full(edges.n, -1)
    np.maximum.at(ready, edges.dst, place[edges.src])
    # a stack of earlier vertices of the order, each of which no vertex of larger rank has followed so far
    larger: list[int] = []
    for v in order.tolist():
        while larger and rank[larger[-1]] < rank[v]:
            larger.pop()
        if larger and place[larger[-1]] > ready[v]:
            raise VerificationError(f"vertex {larger[-1]} comes before {v}, which could come, and has a smaller key")
        larger.append(v)


def _require_levels(edges: Edges, level: Array) -> None:
    """Verify that every edge leads to a higher level, and that each vertex has level 0 or an in-neighbor one level
    below it.
    """
    require(level >= 0, lambda v: f"vertex {v} is at level {level[v]}")
    above, below = level[edges.src], level[edges.dst]
    require(above < below, lambda e: f"{edge_name(edges, e)} leads from level {above[e]} to level {below[e]}")
    supported = level == 0
    supported[edges.dst[below == above + 1]] = True
    require(supported, lambda v: f"vertex {v} is at level {level[v]}, but has no in-edge from level {level[v] - 1}")


@verifier("numbers")
def longest_path(
    graph: Any,
    lengths: ArrayLike,
    parents: ArrayLike,
    path: ArrayLike | None = None,
    length: float | None = None,
    *,
    weighted: bool = True,
) -> None:
    """Verify `lengths` and `parents` of `gasla.longest_path`, and `path` and `length` if given.

    No edge offers a longer path to its end. Each length is that of a path through the parent, or 0 where a path begins.
    Sums may differ by rounding in the dtype of the lengths.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> triangle = csr_array([[0, 1.0, 5.0], [0, 0, 2.0], [0, 0, 0]])
    >>> longest_path(triangle, [0.0, 1.0, 5.0], [0, 0, 0], [0, 2], 5.0)
    >>> longest_path(triangle, [0.0, 1.0, 3.0], [0, 0, 1])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 2 has the length 3.0, but the edge 0 → 2 offers 5.0
    """
    edges = edges_of(graph)
    if not weighted:
        edges = edges._replace(weight=np.ones(len(edges.weight)))
    _require_acyclic(edges)
    answer = vertex_answer("lengths", lengths, edges.n, "f")
    length_to = answer.astype(np.float64)
    require(length_to >= 0, lambda v: f"vertex {v} has the length {answer[v]}; expected a number, 0 or more")
    parent = vertex_answer("parents", parents, edges.n, "iu").astype(np.int64)
    require((parent >= 0) & (parent < edges.n), lambda v: f"vertex {v} has the parent {parent[v]}, not a vertex")

    tail_length, offered = length_to[edges.src], length_to[edges.src] + edges.weight
    rounding = 4 * np.finfo(answer.dtype).eps * (tail_length + np.abs(edges.weight))
    excess = np.where(offered == length_to[edges.dst], 0, offered - length_to[edges.dst])
    require(
        ~(excess > rounding),
        lambda e: (
            f"vertex {edges.dst[e]} has the length {answer[edges.dst[e]]}, but the {edge_name(edges, e)} "
            f"offers {offered[e]}"
        ),
    )
    attains = ~(np.abs(excess) > rounding)
    # a vertex where paths begin is its own parent, and has the length 0
    is_attained = (parent == np.arange(edges.n)) & (length_to == 0)
    is_attained[edges.dst[(edges.src == parent[edges.dst]) & attains]] = True
    require(
        is_attained, lambda v: f"vertex {v} has the length {answer[v]}, but no path through its parent {parent[v]} has"
    )
    if path is not None:
        _require_path(np.asarray(path), length_to, parent)
    if length is not None and length != length_to.max(initial=0):
        raise VerificationError(f"the longest path has the length {length}; expected {length_to.max(initial=0)}")


def _require_path(path: Array, far: Array, parent: Array) -> None:
    """Verify that a path begins at a vertex that is its own parent, follows the parents, and ends at a vertex of the
    greatest length.
    """
    if path.ndim != 1 or path.dtype.kind not in "iu" or (len(path) == 0) != (len(far) == 0):
        raise VerificationError(f"the path is {path.dtype}{path.shape}; expected integers of one dimension")
    if len(path) == 0:
        return
    inside = (path >= 0) & (path < len(far))
    require(inside, lambda i: f"place {i} of the path holds {path[i]}, which is not a vertex")
    before = np.r_[path[0], path[:-1]]
    require(parent[path] == before, lambda i: f"vertex {path[i]} of the path is not preceded by its parent")
    if far[path[-1]] != far.max():
        raise VerificationError(f"the path ends at vertex {path[-1]}, of length {far[path[-1]]}, not {far.max()}")


def _require_acyclic(edges: Edges) -> None:
    require(edges.src != edges.dst, lambda e: f"{edge_name(edges, e)} is a cycle")
    label = components_of(sparse(edges.n, edges.src, edges.dst), "strong")
    size = np.bincount(label, minlength=1)
    if size.max(initial=0) > 1:
        raise VerificationError(f"vertex {int((label == size.argmax()).argmax())} is on a cycle")
