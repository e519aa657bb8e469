"""Verifiers of minimum spanning forests and Steiner trees.

In a minimum spanning forest, no edge of the graph is lighter than the heaviest edge on the path between its ends.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gasla.graph.graph import Graph, as_graph
from gasla.verify._common import (
    SAMPLES,
    Array,
    VerificationError,
    components_of,
    distances_from,
    edges_by_id,
    edges_of,
    require,
    sparse,
    verifier,
)

BLOCK = 1 << 20  # number of edges that are verified in one batch, to bound the memory for their paths


class Steps(NamedTuple):
    """For each vertex of a forest: its depth, its ancestors 1, 2, 4, ... steps up, and the heaviest weights on the
    paths to these ancestors.
    """

    depth: Array
    ups: list[Array]
    heavy: list[Array]


@verifier("numbers")
def minimum_spanning_forest(graph: Any, edges: ArrayLike, total: float | None = None) -> None:
    """Verify `edges` of `gasla.minimum_spanning_forest`, and their `total` weight if given.

    The edges form no cycle and connect every component, and no edge of the graph is lighter than one on the path
    between its ends.

    Examples
    --------
    >>> from gasla import Graph
    >>> ring = Graph.from_edges([0, 1, 2], [1, 2, 0], [4, 1, 2])
    >>> minimum_spanning_forest(ring, [1, 2])
    >>> minimum_spanning_forest(ring, [0, 1])
    Traceback (most recent call last):
    gasla.verify.VerificationError: edge 2 weighs 2, but an edge on the path between its ends weighs 4
    """
    graph = as_graph(graph)
    (src, dst, _), tree_edges = edges_by_id(graph), np.asarray(edges)
    weight = np.ones(graph.m, np.int64) if graph.values is None else np.asarray(graph.values)
    if tree_edges.ndim != 1 or tree_edges.dtype.kind not in "iu":
        raise VerificationError(f"edges: numbers of edges were expected, not {tree_edges.dtype}{tree_edges.shape}")
    require((tree_edges >= 0) & (tree_edges < graph.m), lambda k: f"the graph has no edge {tree_edges[k]}")
    require(np.bincount(tree_edges, minlength=graph.m) < 2, lambda e: f"edge {e} is a duplicate")
    parent, up = _root_forest(graph.n, src[tree_edges], dst[tree_edges], weight[tree_edges])
    steps = _lift_forest(parent, up)
    for first in range(0, graph.m, BLOCK):
        block = slice(first, first + BLOCK)
        _check_edges(first, weight[block], src[block], dst[block], steps)
    tree_weights = weight[tree_edges].tolist()
    is_float = weight.dtype.kind == "f"
    # a sum of Python integers does not overflow, unlike NumPy's
    weight_sum = float(np.sum(tree_weights)) if is_float else sum(tree_weights)
    slack = 1e-12 * float(np.sum(np.abs(tree_weights))) if is_float else 0
    if total is not None and not (weight_sum == total or abs(float(total) - weight_sum) <= slack):
        raise VerificationError(f"the edges weigh {weight_sum}, not {total}")


@verifier("lengths")
def steiner_tree(graph: Any, terminals: ArrayLike, edges: ArrayLike, total: float) -> None:
    """Verify `edges` and `total` of `gasla.steiner_tree`.

    The edges form no cycle, join all terminals that can be joined, and have only terminals as leaves. They weigh no
    more than a minimum spanning forest of the distances between terminals, which is at most twice as heavy as the
    lightest tree.

    Examples
    --------
    >>> from gasla import Graph
    >>> path = Graph.from_edges([0, 1, 1], [1, 2, 3], [4.0, 1.0, 1.0])
    >>> steiner_tree(path, [0, 2], [0, 1], 5.0)
    >>> steiner_tree(path, [0, 2], [0, 1, 2], 6.0)
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 3 is a leaf, and no terminal
    """
    from scipy.sparse.csgraph import connected_components

    graph = as_graph(graph)
    (src, dst, weight), tree_edges, ends = (
        edges_by_id(graph),
        np.asarray(edges),
        np.unique(np.asarray(terminals, np.int64)),
    )
    if tree_edges.ndim != 1 or tree_edges.dtype.kind not in "iu":
        raise VerificationError(f"edges: numbers of edges were expected, not {tree_edges.dtype}{tree_edges.shape}")
    require((tree_edges >= 0) & (tree_edges < graph.m), lambda k: f"the graph has no edge {tree_edges[k]}")
    tree_src, tree_dst, n = src[tree_edges], dst[tree_edges], graph.n
    count, tree = connected_components(sparse(n, tree_src, tree_dst, np.ones(len(tree_edges))), directed=False)
    if count != n - len(tree_edges):
        raise VerificationError("the edges form a cycle; expected a tree")
    degree = np.bincount(np.concatenate([tree_src, tree_dst]), minlength=n)
    is_terminal = np.isin(np.arange(n), ends)
    require((degree != 1) | is_terminal, lambda v: f"vertex {v} is a leaf, and no terminal")
    undirected_graph = Graph.from_edges(
        np.concatenate([src, dst]), np.concatenate([dst, src]), np.concatenate([weight] * 2), n=n
    )
    lightest = edges_of(undirected_graph).lightest()
    components = components_of(lightest)
    require(
        np.bincount(tree[ends], minlength=n)[tree[ends]]
        == np.bincount(components[ends], minlength=n)[components[ends]],
        lambda k: f"terminal {ends[k]} is not joined to all terminals that it can be joined to",
    )
    weight_sum = float(weight[tree_edges].sum())
    if not np.isclose(weight_sum, float(total), rtol=1e-9, atol=0):
        raise VerificationError(f"the edges weigh {weight_sum}, not {total}")
    if len(ends) <= SAMPLES:
        spanning_weight = _spanning_weight(np.atleast_2d(distances_from(lightest, ends))[:, ends]) if len(ends) else 0.0
        if weight_sum > spanning_weight * (1 + 1e-9):
            raise VerificationError(
                f"the edges weigh {weight_sum}, and a spanning forest of the distances {spanning_weight}"
            )


def _spanning_weight(distances: Array) -> float:
    """Return the weight of a minimum spanning forest of a matrix of distances, by Prim's algorithm."""
    nearest, total = np.full(len(distances), np.inf), 0.0
    is_open = np.ones(len(distances), bool)
    for _ in range(len(distances)):
        v = (
            int(np.where(is_open, nearest, np.inf).argmin())
            if np.isfinite(nearest[is_open]).any()
            else int(is_open.argmax())
        )
        total += nearest[v] if np.isfinite(nearest[v]) else 0.0
        is_open[v] = False
        nearest = np.minimum(nearest, distances[v])
    return total


def _check_edges(first: int, weight: Array, src: Array, dst: Array, steps: Steps) -> None:
    """Verify that no edge of a block is lighter than the heaviest edge on the forest's path between its ends.

    `first` is the number of the block's first edge, for error messages.
    """
    heaviest, is_joined = _heaviest_on_paths(steps, src, dst)
    require(is_joined, lambda e: f"edge {first + e} joins vertices in different trees of the forest")
    require(
        (src == dst) | (heaviest <= weight),
        lambda e: f"edge {first + e} weighs {weight[e]}, but an edge on the path between its ends weighs {heaviest[e]}",
    )


def _root_forest(n: int, src: Array, dst: Array, weight: Array) -> tuple[Array, Array]:
    """Return the parent of each vertex in a forest, and the weight of the edge between the two. A root is its own
    parent.
    """
    from scipy.sparse.csgraph import breadth_first_order

    _, roots = np.unique(components_of(sparse(n, src, dst)), return_index=True)
    if len(src) != n - len(roots):
        raise VerificationError(f"{len(src)} edges make {len(roots)} trees of {n} vertices; some form a cycle")
    # an added vertex, number n, joins all roots, so that one search reaches every tree
    whole = sparse(n + 1, np.append(src, np.full(len(roots), n)), np.append(dst, roots))
    parent = breadth_first_order(whole, n, directed=False)[1][:n].astype(np.int64)
    up, child = np.zeros(n, weight.dtype), np.where(parent[src] == dst, src, dst)
    up[child] = weight
    return np.where(parent == n, np.arange(n), parent), up


def _lift_forest(parent: Array, up: Array) -> Steps:
    """Return the depth of each vertex of a forest, its ancestors 1, 2, 4, ... steps up, and the heaviest weights on the
    paths to these ancestors.

    `parent` has the parent of each vertex, and `up` the weight of the edge to it.
    """
    depth, ancestor = np.where(parent == np.arange(len(parent)), 0, 1), parent
    ups, heaviest_to_ancestor = [parent], [up]
    while (ancestor != ancestor[ancestor]).any():
        depth = depth + depth[ancestor]
        heaviest_to_ancestor.append(
            np.where(
                ancestor == ancestor[ancestor],
                heaviest_to_ancestor[-1],
                np.maximum(heaviest_to_ancestor[-1], heaviest_to_ancestor[-1][ancestor]),
            )
        )
        ancestor = ancestor[ancestor]
        ups.append(ancestor)
    return Steps(depth, ups, heaviest_to_ancestor)


def _heaviest_on_paths(steps: Steps, src: Array, dst: Array) -> tuple[Array, Array]:
    """Return the weight of the heaviest edge on the path between each two vertices src[i] and dst[i] of a forest.

    A second array says whether there is a path between the two vertices.
    """
    depth, ups, heaviest_to_ancestor = steps
    parent, parent_weight = ups[0], heaviest_to_ancestor[0]
    lowest = (
        np.iinfo(parent_weight.dtype).min
        if parent_weight.dtype.kind in "iu"
        else False
        if parent_weight.dtype.kind == "b"
        else -np.inf
    )
    deeper, other = np.where(depth[src] >= depth[dst], src, dst), np.where(depth[src] >= depth[dst], dst, src)
    heaviest = np.full(len(deeper), lowest, parent_weight.dtype)
    # replace the deeper of both vertices by its ancestor at the depth of the other vertex
    for k in reversed(range(len(ups))):
        must_rise = depth[deeper] - depth[other] >= 1 << k
        heaviest = np.where(must_rise, np.maximum(heaviest, heaviest_to_ancestor[k][deeper]), heaviest)
        deeper = np.where(must_rise, ups[k][deeper], deeper)
    # replace both vertices by their ancestors just below their lowest common ancestor
    for k in reversed(range(len(ups))):
        differ = ups[k][deeper] != ups[k][other]
        heaviest = np.where(
            differ,
            np.maximum(heaviest, np.maximum(heaviest_to_ancestor[k][deeper], heaviest_to_ancestor[k][other])),
            heaviest,
        )
        deeper, other = np.where(differ, ups[k][deeper], deeper), np.where(differ, ups[k][other], other)
    differ = deeper != other
    heaviest = np.where(differ, np.maximum(heaviest, np.maximum(parent_weight[deeper], parent_weight[other])), heaviest)
    return heaviest, parent[deeper] == parent[other]
