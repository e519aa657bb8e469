"""Verifiers of depth-first orders, and of dominators."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import (
    SAMPLES,
    Array,
    Edges,
    VerificationError,
    edge_name,
    edges_of,
    reachable,
    require,
    sample,
    verifier,
    vertex_answer,
)


@verifier()
def depth_first_order(
    graph: Any, preorder: ArrayLike, postorder: ArrayLike, parents: ArrayLike, source: int | None = None
) -> None:
    """Verify `preorder`, `postorder` and `parents` of `gasla.depth_first_order`, from `source` or from all.

    Both orders belong to the tree of parents. No vertex is left before its out-neighbors were visited, and its edges
    are followed in the order in which they are stored.

    Examples
    --------
    >>> from gasla import Graph
    >>> fork = Graph.from_edges([0, 0], [2, 1])
    >>> depth_first_order(fork, [0, 2, 1], [2, 1, 0], [0, 0, 0], 0)
    >>> depth_first_order(fork, [0, 1, 2], [1, 2, 0], [0, 0, 0], 0)
    Traceback (most recent call last):
    gasla.verify.VerificationError: edge 0 → 1 was followed before an earlier edge of vertex 0
    """
    edges = edges_of(graph)
    n = edges.n
    parent = vertex_answer("parents", parents, n, "i").astype(np.int64)
    starts = np.arange(n) if source is None else np.array([source])
    is_visited = reachable(n, edges.src, edges.dst, starts)
    require((parent >= -1) & (parent < n), lambda v: f"vertex {v} has the parent {parent[v]}")
    require((parent >= 0) == is_visited, lambda v: f"vertex {v} has the parent {parent[v]}, contrary to the search")
    preorder_index, postorder_index = (
        _places(name, order, is_visited) for name, order in (("preorder", preorder), ("postorder", postorder))
    )
    visited = np.flatnonzero(is_visited)
    is_start = parent == np.arange(n)
    child = visited[~is_start[visited]]
    require(
        (preorder_index[parent[child]] < preorder_index[child])
        & (postorder_index[parent[child]] > postorder_index[child]),
        lambda k: f"vertex {child[k]} is not visited between the begin and the end of its parent {parent[child[k]]}",
    )
    # In a tree, the index of a vertex in postorder is its index in preorder, minus the number of its ancestors, plus
    # the number of its descendants.
    depth, size = _depth_and_size(parent, np.argsort(preorder_index)[n - len(visited) :])
    require(
        (postorder_index == preorder_index + size - 1 - depth)[visited],
        lambda k: (
            f"vertex {visited[k]} is at the place {postorder_index[visited[k]]} of postorder, "
            "which does not fit preorder"
        ),
    )
    is_left_early = (
        is_visited[edges.src]
        & (postorder_index[edges.src] < postorder_index[edges.dst])
        & (preorder_index[edges.src] < preorder_index[edges.dst])
    )
    require(~is_left_early, lambda e: f"vertex {edges.src[e]} was left before {edge_name(edges, e)} was followed")
    _require_stored_order(edges, parent, preorder_index)
    roots = visited[is_start[visited]]
    # for each vertex v, the largest index in preorder among the visited vertices of ids 0 to v
    largest_index = np.maximum.accumulate(np.where(is_visited, preorder_index, -1))
    if source is None:
        require(
            largest_index[roots] == preorder_index[roots],
            lambda k: f"the search starts at {roots[k]} before a smaller vertex",
        )
    elif roots.tolist() != [source]:
        raise VerificationError(f"the search starts at {roots.tolist()}; expected vertex {source}")


def _places(name: str, order: ArrayLike, is_visited: Array) -> Array:
    """Return the index of each vertex in an order, or -1 for a vertex that the search did not visit.

    Verify that the order holds each visited vertex once. `name` is what error messages call the order.
    """
    vertices, n = np.asarray(order), len(is_visited)
    if vertices.ndim != 1 or vertices.dtype.kind not in "iu":
        raise VerificationError(
            f"{name}: ids of vertices were expected, not {vertices.dtype} of shape {vertices.shape}"
        )
    require((vertices >= 0) & (vertices < n), lambda i: f"place {i} of {name} holds {vertices[i]}, not a vertex")
    index_of = np.full(n, -1)
    index_of[vertices] = np.arange(len(vertices))
    if len(vertices) != is_visited.sum():
        raise VerificationError(f"{name} has {len(vertices)} vertices; expected {is_visited.sum()}")
    require((index_of >= 0) == is_visited, lambda v: f"vertex {v} is missing from {name}, or not reachable")
    return index_of


def _depth_and_size(up: Array, order: Array) -> tuple[Array, Array]:
    """Return the depth of each vertex in a forest, and the number of vertices in the subtree of which the vertex is the
    root.

    `up` has the parent of each vertex; a root is its own parent. `order` holds the vertices, parents before children.
    """
    depth, size = np.zeros(len(up), np.int64), np.ones(len(up), np.int64)
    for v in order.tolist():
        depth[v] = depth[up[v]] + 1 if up[v] != v else 0
    for v in order[::-1].tolist():
        if up[v] != v:
            size[up[v]] += size[v]
    return depth, size


def _require_stored_order(edges: Edges, up: Array, before: Array) -> None:
    """Verify that an edge leads from each parent to its child, and that a vertex's edges were followed in stored order.

    `up` has the parent of each vertex, and `before` its index in preorder.
    """
    n, src, dst = edges.n, edges.src.astype(np.int64), edges.dst.astype(np.int64)
    is_tree = (up[dst] == src) & (src != dst)
    has_edge = np.bincount(dst[is_tree], minlength=n) > 0
    require(
        has_edge | (up < 0) | (up == np.arange(n)), lambda v: f"no edge leads from the parent {up[v]} to vertex {v}"
    )
    rank = src * (n + 1) + before[dst]
    in_order = rank == np.maximum.accumulate(rank) if len(rank) else rank == 0
    is_only_edge = is_tree & (np.bincount(dst[is_tree], minlength=n)[dst] == 1)
    require(
        in_order | ~is_only_edge,
        lambda e: f"{edge_name(edges, e)} was followed before an earlier edge of vertex {src[e]}",
    )


@verifier()
def dominators(graph: Any, source: int, dominators: ArrayLike, *, samples: int = SAMPLES) -> None:
    """Verify `dominators` of `gasla.dominators`.

    The dominators form a tree. An edge leads to a vertex v only from vertices that v's dominator dominates, so that all
    ancestors in the tree are dominators. Without one of `samples` vertices, every vertex that is not below it in the
    tree can still be reached.

    Examples
    --------
    >>> from gasla import Graph
    >>> path = Graph.from_edges([0, 1], [1, 2])
    >>> dominators(path, 0, [0, 0, 1])
    >>> dominators(path, 0, [0, 0, 0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 2 can't be reached without vertex 1, which is not above it
    """
    edges = edges_of(graph)
    n, src, dst = edges.n, edges.src.astype(np.int64), edges.dst.astype(np.int64)
    dominator = vertex_answer("dominators", dominators, n, "i").astype(np.int64)
    is_reached = reachable(n, src, dst, [source])
    require((dominator >= -1) & (dominator < n), lambda v: f"vertex {v} has the dominator {dominator[v]}")
    require(
        (dominator >= 0) == is_reached, lambda v: f"vertex {v} has the dominator {dominator[v]}, contrary to the paths"
    )
    is_own_dominator = dominator == np.arange(n)
    require(is_own_dominator == (np.arange(n) == source), lambda v: f"vertex {v} has the dominator {dominator[v]}")
    depth, ups = _ancestors(dominator, source)
    require((depth >= 0) | ~is_reached, lambda v: f"the dominators of vertex {v} form a cycle")
    proper = is_reached[src] & (dst != source)
    tail, head = src[proper], dst[proper]
    above = dominator[head]
    require(
        _ancestors_at(ups, tail, depth[tail] - depth[above]) == above,
        lambda e: f"an edge leads from {tail[e]} to {head[e]}, past its dominator {above[e]}",
    )
    inner = np.setdiff1d(np.flatnonzero(is_reached), [source])
    for d in inner[sample(len(inner), samples)].tolist():
        keep = (src != d) & (dst != d)
        lost = is_reached & ~reachable(n, src[keep], dst[keep], [source])
        is_below = is_reached & (_ancestors_at(ups, np.arange(n), depth - depth[d]) == d)
        require(~lost | is_below, lambda v: f"vertex {v} can't be reached without vertex {d}, which is not above it")  # noqa: B023


def _ancestors(up: Array, root: int) -> tuple[Array, list[Array]]:
    """Return the depth of each vertex in a tree, and a list of arrays with the ancestor of each vertex 1, 2, 4, ...
    steps up.

    `up` has the parent of each vertex. The depth is -1 for a vertex whose parents form a cycle.
    """
    ancestor = np.where(up < 0, root, up)
    depth, ups = (ancestor != np.arange(len(up))).astype(np.int64), [ancestor]
    while (depth[ancestor] > 0).any() and len(ups) <= len(up).bit_length():
        depth, ancestor = depth + depth[ancestor], ancestor[ancestor]
        ups.append(ancestor)
    return np.where(ancestor == root, depth, -1), ups


def _ancestors_at(ups: list[Array], v: Array, steps: Array) -> Array:
    """Return the ancestor that is `steps[i]` steps above each vertex `v[i]`, or -1 if the number of steps is negative.

    `ups` is a list of arrays with the ancestor of each vertex 1, 2, 4, ... steps up, as `_ancestors` returns it.
    """
    ancestors = v
    for k, over in enumerate(ups):
        ancestors = np.where((steps >> k) & 1 > 0, over[ancestors], ancestors)
    return np.where(steps < 0, -1, ancestors)
