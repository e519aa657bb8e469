"""Verifiers of components and communities."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import (
    Array,
    Edges,
    VerificationError,
    edge_name,
    edges_of,
    near_one,
    require,
    strong_components_of,
    vertex_answer,
)


def components(graph: Any, labels: ArrayLike, count: int | None = None) -> None:
    """Verify weakly connected components.

    Parameters
    ----------
    graph
        As for `gasla.connected_components`.
    labels : array of int
        The component of each vertex; components are numbered by their smallest vertices.
    count : int, optional
        The number of components.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> edge_and_point = csr_array([[0, 1, 0], [0, 0, 0], [0, 0, 0]])
    >>> components(edge_and_point, [0, 0, 1], 2)
    >>> components(edge_and_point, [0, 0, 0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertices 0 and 2 share component 0, but no path joins them
    """
    from scipy.sparse.csgraph import connected_components

    edges = edges_of(graph)
    label = vertex_answer("labels", labels, edges.n, "iu").astype(np.int64)
    joined = label[edges.src] == label[edges.dst]
    require(
        joined,
        lambda e: f"{edge_name(edges, e)} leaves component {label[edges.src[e]]} for component {label[edges.dst[e]]}",
    )
    _, piece = connected_components(edges.matrix(), directed=True, connection="weak")
    _check_numbering(label, piece, count, "no path joins them")


def strong_components(graph: Any, labels: ArrayLike, count: int | None = None) -> None:
    """Verify strongly connected components.

    Parameters
    ----------
    graph
        As for `gasla.strongly_connected_components`.
    labels : array of int
        The component of each vertex; components are numbered by their smallest vertices.
    count : int, optional
        The number of components.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> cycle_and_edge = csr_array([[0, 1, 0], [1, 0, 1], [0, 0, 0]])
    >>> strong_components(cycle_and_edge, [0, 0, 1], 2)
    >>> strong_components(cycle_and_edge, [0, 0, 0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertices 0 and 2 share component 0, but not by paths in both directions within it
    >>> strong_components(cycle_and_edge, [0, 1, 2])
    Traceback (most recent call last):
    gasla.verify.VerificationError: edge 0 → 1 leaves component 0 for component 1, from which a path leads back
    """
    edges = edges_of(graph)
    label = vertex_answer("labels", labels, edges.n, "iu").astype(np.int64)
    inside = label[edges.src] == label[edges.dst]
    piece = strong_components_of(edges.n, edges.src[inside], edges.dst[inside])
    names, index = np.unique(label, return_inverse=True)
    # strong components of the graph of components
    cycle = strong_components_of(len(names), index[edges.src], index[edges.dst])[index]
    require(
        inside | (cycle[edges.src] != cycle[edges.dst]),
        lambda e: (
            f"{edge_name(edges, e)} leaves component {label[edges.src[e]]} for component {label[edges.dst[e]]}, "
            "from which a path leads back"
        ),
    )
    _check_numbering(label, piece, count, "not by paths in both directions within it")


def label_propagation(
    graph: Any,
    labels: ArrayLike,
    *,
    weighted: bool = False,
    share: float = 0.25,
    method: str = "pick-less",
    max_iter: int = 100,
) -> None:
    """Verify communities: almost all vertices are in the community of most of their neighbors.

    The labels of the synchronous method are verified exactly, by sorting the labels of all neighbors in each iteration.

    Parameters
    ----------
    graph, weighted, method, max_iter
        As for `gasla.label_propagation`.
    labels : array of int
        The community of each vertex, numbered by their smallest vertices.
    share : float
        The fraction of vertices that may violate this: propagation stops while a few labels still change.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> label_propagation(path, [0, 0, 0], share=0)
    >>> label_propagation(path, [0, 1, 0], share=0)
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 0 is in community 0, where 0 of its edges lead, and 1 to community 1...
    """
    from scipy.sparse import coo_array

    edges = edges_of(graph)
    label = vertex_answer("labels", labels, edges.n, "iu").astype(np.int64)
    if method == "synchronous":
        right = _synchronous_labels(edges, weighted, max_iter)
        require(label == right, lambda v: f"the label of vertex {v} is {right[v]}, not {label[v]}")
        return
    names, first = np.unique(label, return_index=True)
    first.sort()
    require(
        label[first] == np.arange(names.size),
        lambda c: (
            f"the community of vertex {first[c]} is numbered {label[first[c]]}; in the order of the smallest vertices "
            f"it is {c}"
        ),
    )
    counted = (edges.src != edges.dst) & (edges.weight > 0 if weighted else True)
    src, dst = edges.src[counted], edges.dst[counted]
    weight = near_one(edges.weight)[counted] if weighted else np.ones(src.size)
    both = np.r_[src, dst], label[np.r_[dst, src]]
    towards = coo_array((np.r_[weight, weight], both), shape=(edges.n, max(names.size, 1))).tocsr()
    most = towards.max(axis=1).toarray().ravel() if names.size else np.zeros(0)
    inside = np.zeros(edges.n)
    np.add.at(inside, both[0], np.where(both[1] == label[both[0]], np.r_[weight, weight], 0))
    elsewhere = inside < most * (1 - 1e-6)
    if elsewhere.sum() > share * edges.n:
        v = int(elsewhere.argmax())
        row = slice(*towards.indptr[v : v + 2])
        other = int(towards.indices[row][towards.data[row].argmax()])
        raise VerificationError(
            f"vertex {v} is in community {label[v]}, where {inside[v]:g} of its edges lead, and {most[v]:g} to "
            f"community {other}; {elsewhere.sum():,} of {edges.n:,} vertices are; expected at most {share:.0%}"
        )
    touched = np.zeros(edges.n, bool)
    touched[src] = touched[dst] = True
    if not weighted:
        sizes = np.bincount(label, minlength=names.size)
        require(touched | (sizes[label] == 1), lambda v: f"vertex {v} has no neighbor, but shares its community")


def _synchronous_labels(edges: Edges, weighted: bool, iterations: int) -> Array:
    """The labels after some iterations in which all vertices take the smallest of the most frequent labels at once."""
    proper = edges.src != edges.dst
    tails, heads = edges.src[proper], edges.dst[proper]
    src, dst = np.concatenate((tails, heads)), np.concatenate((heads, tails))
    weight = np.tile(edges.weight[proper] if weighted else np.ones(proper.sum()), 2)
    label = np.arange(edges.n)
    for _ in range(iterations if src.size else 0):
        order = np.lexsort((label[dst], src))
        owner, near = src[order], label[dst[order]]
        begins = np.flatnonzero(np.r_[True, (owner[1:] != owner[:-1]) | (near[1:] != near[:-1])])
        owner, near, total = owner[begins], near[begins], np.add.reduceat(weight[order], begins)
        order = np.lexsort((near, -total, owner))
        owner, first = np.unique(owner[order], return_index=True)
        before, label = label, label.copy()
        label[owner] = near[order][first]
        if np.array_equal(before, label):
            break
    return label


def louvain_communities(
    graph: Any, labels: ArrayLike, *, weighted: bool = True, resolution: float = 1.0, refine: bool = False
) -> None:
    """Verify communities: they are numbered in order, and their modularity is not below that of single vertices.

    Parameters
    ----------
    graph, weighted, resolution, refine
        As for `gasla.louvain_communities`.
    labels : array of int
        The community of each vertex.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> pairs = csr_array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    >>> louvain_communities(pairs, [0, 0, 1, 1])
    >>> louvain_communities(pairs, [0, 1, 0, 1])
    Traceback (most recent call last):
    gasla.verify.VerificationError: the modularity is -0.5; expected -0.25 or more, as of single vertices
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = edges_of(graph)
    label = vertex_answer("labels", labels, edges.n, "iu").astype(np.int64)
    _check_numbering(label, label, None, "no community of its own")
    weight = near_one(edges.weight) if weighted else np.ones(edges.dst.size)
    total = weight.sum() or 1.0
    degree = (np.bincount(edges.src, weight, edges.n) + np.bincount(edges.dst, weight, edges.n)) / 2

    def modularity(of: Array) -> float:
        inside = weight[of[edges.src] == of[edges.dst]].sum() / total
        return float(inside - resolution * ((np.bincount(of, degree, edges.n) / total) ** 2).sum())

    found, singles = modularity(label), modularity(np.arange(edges.n))
    if found < singles - 1e-9:
        raise VerificationError(f"the modularity is {found:.6g}; expected {singles:.6g} or more, as of single vertices")
    if refine:
        inside = label[edges.src] == label[edges.dst]
        pairs = coo_array((inside[inside], (edges.src[inside], edges.dst[inside])), (edges.n, edges.n))
        piece = connected_components(pairs, directed=False)[1]
        first = np.unique(label, return_index=True)[1]  # the smallest vertex of each community
        require(piece == piece[first[label]], lambda v: f"vertex {v} is apart from others of its community {label[v]}")


def modularity(graph: Any, labels: ArrayLike, score: float, *, weighted: bool = True, resolution: float = 1.0) -> None:
    """Verify the modularity of communities by summing edges and degrees again.

    Parameters
    ----------
    graph, labels, weighted, resolution
        As for `gasla.modularity`.
    score : float
        The result of `gasla.modularity`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> pairs = csr_array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    >>> modularity(pairs, [0, 0, 1, 1], 0.5)
    >>> modularity(pairs, [0, 0, 1, 1], 1.0)
    Traceback (most recent call last):
    gasla.verify.VerificationError: the modularity is 0.5, not 1
    """
    edges = edges_of(graph)
    label = vertex_answer("labels", labels, edges.n, "iu").astype(np.int64)
    weight = near_one(edges.weight) if weighted else np.ones(edges.dst.size)
    total = weight.sum()
    if total == 0:
        raise VerificationError("the weights sum to 0; expected an error instead of a score")
    leaving, arriving = np.bincount(label[edges.src], weight), np.bincount(label[edges.dst], weight)
    both = min(len(leaving), len(arriving))  # later labels have no leaving or no arriving edges: their product is 0
    inside = weight[label[edges.src] == label[edges.dst]].sum() / total
    right = float(inside - resolution * ((leaving[:both] / total) @ (arriving[:both] / total)))
    if not abs(score - right) <= 1e-9 * (1 + abs(resolution)):
        raise VerificationError(f"the modularity is {right:.9g}, not {score:.9g}")


def _check_numbering(label: Array, piece: Array, count: int | None, wanting: str) -> None:
    """Verify that labels are distinct for the connected pieces, and number them by their smallest vertices."""
    _, smallest = np.unique(piece, return_index=True)  # smallest vertex of each piece
    smallest = np.sort(smallest)
    _, owner, shared = np.unique(label[smallest], return_index=True, return_inverse=True)
    require(
        owner[shared] == np.arange(smallest.size),
        lambda p: (
            f"vertices {smallest[owner[shared[p]]]} and {smallest[p]} share component {label[smallest[p]]}, "
            f"but {wanting}"
        ),
    )
    require(
        label[smallest] == np.arange(smallest.size),
        lambda p: (
            f"the component of vertex {smallest[p]} is numbered {label[smallest[p]]}; in the order of the "
            f"smallest vertices it is {p}"
        ),
    )
    if count is not None and count != smallest.size:
        raise VerificationError(f"{count} components were counted, but there are {smallest.size}")
