"""Verifiers of bipartiteness, bridges and articulation points of a graph read as undirected."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import (
    SAMPLES,
    Array,
    Edges,
    VerificationError,
    components_of,
    edge_name,
    edges_of,
    require,
    sample,
    two_sides,
    verifier,
    vertex_answer,
)


@verifier()
def bipartite(graph: Any, bipartite: bool, colors: ArrayLike | None = None) -> None:
    """Verify whether a graph is `bipartite`, and `colors` if given, of `gasla.is_bipartite`.

    No edge joins two of a color, and each component without a color has an odd cycle.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> bipartite(path, True, [0, 1, 0])
    >>> bipartite(path, True, [0, 1, 1])
    Traceback (most recent call last):
    gasla.verify.VerificationError: edge 1 → 2 joins two vertices of color 1
    """
    edges = edges_of(graph)
    piece, is_odd, _ = two_sides(edges)
    if bool(bipartite) == bool(is_odd.any()):
        raise VerificationError(f"the graph has {'an' if is_odd.any() else 'no'} odd cycle, contrary to the answer")
    if colors is None:
        return
    color = vertex_answer("colors", colors, edges.n, "i").astype(np.int64)
    require((color >= -1) & (color <= 1), lambda v: f"vertex {v} has the color {color[v]}; expected 0, 1 or -1")
    require(
        (color == -1) == is_odd,
        lambda v: f"vertex {v} has the color {color[v]}, and its component {'an' if is_odd[v] else 'no'} odd cycle",
    )
    differ = (color[edges.src] != color[edges.dst]) | (color[edges.src] < 0)
    require(differ, lambda e: f"{edge_name(edges, e)} joins two vertices of color {color[edges.src[e]]}")
    _, smallest = np.unique(piece, return_index=True)
    require(
        color[smallest] < 1,
        lambda p: f"vertex {smallest[p]} is the smallest of its component and has the color 1; expected 0",
    )


@verifier()
def bridges(graph: Any, bridges: ArrayLike, *, samples: int = SAMPLES) -> None:
    """Verify `bridges` of `gasla.bridges`: to remove all of them adds a component for each.

    To remove one of `samples` other edges of a spanning forest adds none.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> bridges(path, [[0, 1], [1, 2]])
    >>> bridges(path, [[0, 1]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: the edge between 1 and 2 is a bridge, and is missing
    """
    from scipy.sparse.csgraph import minimum_spanning_tree

    edges, given = edges_of(graph), np.asarray(bridges)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
        raise VerificationError(f"bridges: pairs of vertices were expected, not {given.dtype} of shape {given.shape}")
    src, dst = edges.src.astype(np.int64), edges.dst.astype(np.int64)
    pair, named = np.minimum(src, dst) * edges.n + np.maximum(src, dst), given.astype(np.int64) @ [edges.n, 1]
    directed, count = np.unique(src * edges.n + dst, return_counts=True)
    doubled = directed[count > 1]  # i -> j and j -> i are one edge
    doubled = np.append(doubled, doubled % max(edges.n, 1) * edges.n + doubled // max(edges.n, 1))
    right = ((given >= 0) & (given < edges.n)).all(axis=1) & (given[:, 0] < given[:, 1]) & ~np.isin(named, doubled)
    added = _components(edges, ~np.isin(pair, named)) - _components(edges)
    if right.all() and added < len(np.unique(named)):
        right = np.array([_components(edges, pair != p) > _components(edges) for p in named.tolist()])
    require(
        right,
        lambda i: (
            f"an edge between {given[i, 0]} and {given[i, 1]} is no bridge, or there is none, or it is in "
            "the wrong order"
        ),
    )
    require(named[1:] > named[:-1], lambda i: "the bridges don't ascend, or one occurs twice")
    forest = minimum_spanning_tree(edges.simple()).tocoo()
    others = np.minimum(forest.row, forest.col).astype(np.int64) * edges.n + np.maximum(forest.row, forest.col)
    others = np.setdiff1d(others, np.append(named, doubled))
    for p in others[sample(len(others), samples)].tolist():
        if _components(edges, pair != p) > _components(edges):
            u, v = divmod(p, edges.n)
            raise VerificationError(f"the edge between {u} and {v} is a bridge, and is missing")


@verifier()
def articulation_points(graph: Any, points: ArrayLike, *, samples: int = SAMPLES) -> None:
    """Verify `points` of `gasla.articulation_points`.

    To remove one adds components, and to remove another vertex adds none: of each, `samples` are removed.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> articulation_points(path, [1])
    >>> articulation_points(path, [0, 1])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 0 is no articulation point
    """
    edges, given = edges_of(graph), np.asarray(points)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise VerificationError(f"points: ids of vertices were expected, not {given.dtype} of shape {given.shape}")
    require((given >= 0) & (given < edges.n), lambda i: f"vertex {given[i]} is no articulation point")
    count = _components(edges)

    def is_point(v: int) -> bool:
        return _components(edges, (edges.src != v) & (edges.dst != v)) - 1 > count  # v itself is a component

    for v in given[sample(len(given), samples)].tolist():
        if not is_point(v):
            raise VerificationError(f"vertex {v} is no articulation point")
    degree = np.bincount(edges.src, minlength=edges.n) + np.bincount(edges.dst, minlength=edges.n)
    others = np.setdiff1d(np.flatnonzero(degree > 1), given)
    for v in others[sample(len(others), samples)].tolist():
        if is_point(v):
            raise VerificationError(f"vertex {v} is an articulation point, and is missing")
    require(given[1:] > given[:-1], lambda i: "the articulation points don't ascend, or one occurs twice")


def _components(edges: Edges, keep: Array | None = None) -> int:
    """The number of weak components of the edges, or of those that `keep` marks."""
    return int(components_of(edges.matrix(keep=keep)).max(initial=-1)) + 1
