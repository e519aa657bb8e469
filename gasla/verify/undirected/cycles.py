"""Verifiers of bipartiteness, bridges, articulation points and biconnected components, read as undirected."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import (
    SAMPLES,
    Array,
    Edges,
    VerificationError,
    components_of,
    distances_from,
    edge_name,
    edges_by_id,
    edges_of,
    require,
    sample,
    sparse,
    two_sides,
    verifier,
    vertex_answer,
)


@verifier()
def bipartite(graph: Any, bipartite: bool, colors: ArrayLike | None = None) -> None:
    """Verify whether a graph is `bipartite`, and `colors` if given, of `gasla.is_bipartite`.

    No edge joins two vertices of one color, and each component without colors has an odd cycle.

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
    """Verify `bridges` of `gasla.bridges`: removing all of them adds as many components as there are bridges.

    Removing one of `samples` other edges of a spanning forest adds no component.

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

    edges, answer = edges_of(graph), np.asarray(bridges)
    if answer.ndim != 2 or answer.shape[1] != 2 or answer.dtype.kind not in "iu":
        raise VerificationError(f"bridges: pairs of vertices were expected, not {answer.dtype} of shape {answer.shape}")
    src, dst = edges.src.astype(np.int64), edges.dst.astype(np.int64)
    pair, named = np.minimum(src, dst) * edges.n + np.maximum(src, dst), answer.astype(np.int64) @ [edges.n, 1]
    directed, count = np.unique(src * edges.n + dst, return_counts=True)
    # Parallel edges from i to j are two undirected edges, so they are no bridges. An edge from i to j and one from j to
    # i are the same undirected edge.
    doubled = directed[count > 1]
    doubled = np.append(doubled, doubled % max(edges.n, 1) * edges.n + doubled // max(edges.n, 1))
    is_valid = (
        ((answer >= 0) & (answer < edges.n)).all(axis=1) & (answer[:, 0] < answer[:, 1]) & ~np.isin(named, doubled)
    )
    added = _count_components(edges, ~np.isin(pair, named)) - _count_components(edges)
    if is_valid.all() and added < len(np.unique(named)):
        is_valid = np.array([_count_components(edges, pair != p) > _count_components(edges) for p in named.tolist()])
    require(
        is_valid,
        lambda i: (
            f"an edge between {answer[i, 0]} and {answer[i, 1]} is no bridge, or there is none, or it is in "
            "the wrong order"
        ),
    )
    require(named[1:] > named[:-1], lambda i: "the bridges don't ascend, or one occurs twice")
    forest = minimum_spanning_tree(edges.simple()).tocoo()
    other_edges = np.minimum(forest.row, forest.col).astype(np.int64) * edges.n + np.maximum(forest.row, forest.col)
    other_edges = np.setdiff1d(other_edges, np.append(named, doubled))
    for p in other_edges[sample(len(other_edges), samples)].tolist():
        if _count_components(edges, pair != p) > _count_components(edges):
            u, v = divmod(p, edges.n)
            raise VerificationError(f"the edge between {u} and {v} is a bridge, and is missing")


@verifier()
def articulation_points(graph: Any, points: ArrayLike, *, samples: int = SAMPLES) -> None:
    """Verify `points` of `gasla.articulation_points`.

    Removing an articulation point adds components, and removing any other vertex adds none. Of each kind, `samples`
    vertices are removed.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> articulation_points(path, [1])
    >>> articulation_points(path, [0, 1])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 0 is no articulation point
    """
    edges, answer = edges_of(graph), np.asarray(points)
    if answer.ndim != 1 or answer.dtype.kind not in "iu":
        raise VerificationError(f"points: ids of vertices were expected, not {answer.dtype} of shape {answer.shape}")
    require((answer >= 0) & (answer < edges.n), lambda i: f"vertex {answer[i]} is no articulation point")
    count = _count_components(edges)

    def is_point(v: int) -> bool:
        # without its edges, v itself is one more component, which does not count
        return _count_components(edges, (edges.src != v) & (edges.dst != v)) - 1 > count

    for v in answer[sample(len(answer), samples)].tolist():
        if not is_point(v):
            raise VerificationError(f"vertex {v} is no articulation point")
    degree = np.bincount(edges.src, minlength=edges.n) + np.bincount(edges.dst, minlength=edges.n)
    other_vertices = np.setdiff1d(np.flatnonzero(degree > 1), answer)
    for v in other_vertices[sample(len(other_vertices), samples)].tolist():
        if is_point(v):
            raise VerificationError(f"vertex {v} is an articulation point, and is missing")
    require(answer[1:] > answer[:-1], lambda i: "the articulation points don't ascend, or one occurs twice")


@verifier()
def biconnected_components(
    graph: Any, count: int, labels: ArrayLike, tree: ArrayLike, *, samples: int = SAMPLES
) -> None:
    """Verify `count`, `labels` and `tree` of `gasla.biconnected_components`.

    Each component is connected, and components share vertices as in a forest. At `samples` vertices, removing the
    vertex leaves no more pieces than there are components around the vertex. Components are numbered by their smallest
    vertices.

    Examples
    --------
    >>> from gasla import Graph
    >>> path = Graph.from_edges([0, 1], [1, 2])
    >>> biconnected_components(path, 2, [0, 1], [[1, 0], [1, 1]])
    >>> biconnected_components(path, 1, [0, 0], np.zeros((0, 2), int))
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 1 separates a component of the labels [0]
    """
    edges, (src, dst, _) = edges_of(graph), edges_by_id(graph)
    label, pairs, n = np.asarray(labels), np.asarray(tree), edges.n
    if label.shape != src.shape or label.dtype.kind not in "iu":
        raise VerificationError(f"labels: {len(src)} integers were expected, not {label.dtype} of shape {label.shape}")
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise VerificationError(f"tree: pairs were expected, not {pairs.dtype} of shape {pairs.shape}")
    proper = src != dst
    expected = np.where(proper, (label >= 0) & (label < count), label == -1)
    require(expected, lambda e: f"edge {e} has the label {label[e]}; expected 0 to {count - 1}, and -1 for a self loop")
    src, dst, label = src[proper], dst[proper], label[proper].astype(np.int64)
    if len(np.unique(label)) != count:
        raise VerificationError(f"there are {len(np.unique(label))} components, not {count}")
    pieces = components_of(edges.matrix())
    of, at = np.divmod(np.unique(np.concatenate([label * n + src, label * n + dst])), max(n, 1))
    # The block-cut tree has a vertex for each component and for each vertex of the graph, and joins each component to
    # its vertices. It is a forest if it has as many edges as this condition says.
    if len(of) != count + n - len(np.unique(pieces)) or not _are_connected(n, label, src, dst, of, at):
        raise VerificationError("the components are not connected, or share vertices along a cycle")
    is_articulation = np.bincount(at, minlength=n) > 1
    cut = is_articulation[at]
    expected = np.sort(at[cut] * count + of[cut])
    if (
        not np.array_equal(pairs.astype(np.int64) @ [count, 1], expected)
        or (pairs[:, 1:] >= count).any()
        or (pairs < 0).any()
    ):
        raise VerificationError("tree: expected each articulation point with each of its components, ascending")
    _check_separation(edges, src, dst, label, samples)
    _check_numbering(edges, of, at, count)


def _are_connected(n: int, label: Array, src: Array, dst: Array, of: Array, at: Array) -> bool:
    """Return whether each biconnected component is connected by the edges whose label is the component's number.

    `of` and `at` are all pairs of a component and one of its vertices, ascending. Each pair becomes a vertex of a
    helper graph, so that a vertex can be in several components. The helper graph's connected components are counted.
    """
    ends = [np.searchsorted(of * n + at, label * n + side) for side in (src, dst)]
    parts = components_of(sparse(len(of), *ends))
    return len(np.unique(parts)) == len(np.unique(of))


def _check_separation(edges: Edges, src: Array, dst: Array, label: Array, samples: int) -> None:
    """Verify that the removal of a vertex leaves each biconnected component connected, for a sample of vertices."""
    component_count = _count_components(edges)
    places = np.unique(np.concatenate([src, dst]))
    for v in places[sample(len(places), samples)].tolist():
        labels_around = np.unique(label[(src == v) | (dst == v)])
        # Without its edges, v alone is a component, and each biconnected component around v may be one. More components
        # mean that one of these falls apart.
        if _count_components(edges, (edges.src != v) & (edges.dst != v)) - component_count > len(labels_around):
            raise VerificationError(f"vertex {v} separates a component of the labels {labels_around.tolist()}")


def _check_numbering(edges: Edges, of: Array, at: Array, count: int) -> None:
    """Verify that biconnected components are numbered in the order of their smallest vertices.

    In each biconnected component, one vertex does not count: the one nearest to the smallest vertex of the connected
    component. `of` and `at` are all pairs of a component and one of its vertices.
    """
    n = edges.n
    roots = np.unique(components_of(edges.matrix()), return_index=True)[1]
    joined = sparse(n + 1, np.append(edges.src, np.full(len(roots), n)), np.append(edges.dst, roots))
    level = distances_from(joined, n, directed=False, unweighted=True)[:n]
    order = np.lexsort((level[at], of))
    rest = np.ones(len(of), bool)
    rest[order[np.unique(of[order], return_index=True)[1]]] = False
    smallest = np.full(count, n)
    np.minimum.at(smallest, of[rest], at[rest])
    require(smallest[1:] > smallest[:-1], lambda c: f"component {c + 1} is out of order")


def _count_components(edges: Edges, keep: Array | None = None) -> int:
    """Return the number of weak components of the graph, with only the edges where `keep` is True, or all if None."""
    return int(components_of(edges.matrix(keep=keep)).max(initial=-1)) + 1
