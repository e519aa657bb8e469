"""Counts of the matches of directed patterns by formulas, where these exist, without listing matches.

Patterns of three vertices come from the triadic census. A pattern of four vertices without cycles is first counted with
vertices that may coincide, which takes a sum over neighbors for each of its edges. Then the maps in which vertices do
coincide are subtracted:

    matches = sum over partitions of the pattern's vertices of (-1)^(4 - parts) * (the parts' sizes - 1)! * maps

where the maps are those of the pattern with each part merged into one vertex. Other patterns have to be enumerated.

L. Lovász: Large Networks and Graph Limits (2012), section 5.2.3.
"""

from math import factorial, prod
from typing import Any

import numpy as np

import semirings
from gasla.algorithms.patterns.exact_sums import sum_of_products
from gasla.algorithms.patterns.pattern import Edges, Pattern, partitions
from gasla.algorithms.patterns.triadic_census import TRIADS, Dyads, census_of
from gasla.graph.graph import Graph
from gasla.operations.multiply import mxv

Array = np.ndarray[Any, Any]  # a NumPy or CuPy array


def matches(simple: Graph, pattern: Pattern, induced: bool) -> int | None:
    """Return the number of matches of a directed pattern in a simple directed graph, or None if there is no formula."""
    if pattern.size == 1:
        return simple.n
    if pattern.size == 2:
        return _count_edges(simple, pattern, induced)
    if pattern.size == 3:
        return _count_from_triads(census_of(simple), pattern, induced)
    if pattern.size > 4 or induced or _adjacent_pairs(pattern.edges) > 3:
        return None
    return _count_tree(simple, pattern)


def _count_edges(simple: Graph, pattern: Pattern, induced: bool) -> int:
    mutual = Dyads.of(simple).mutual.m
    if len(pattern.edges) == 2:
        return mutual // 2
    return simple.m - mutual if induced else simple.m


def _count_from_triads(census: dict[str, int], pattern: Pattern, induced: bool) -> int:
    """Return the number of matches of a pattern of three vertices, as a sum over the types of triads that contain
    it.
    """
    triads = {name: Pattern(3, edges, directed=True) for name, edges in TRIADS.items()}
    return sum(
        pattern.copies_in(triad) * census[name]
        for name, triad in triads.items()
        if not induced or len(triad.edges) == len(pattern.edges)
    )


def _count_tree(simple: Graph, pattern: Pattern) -> int:
    """Return the number of matches of a pattern of four vertices whose edges form a tree."""
    graphs, census, total = _Graphs(simple), census_of(simple), 0
    for labels in partitions(pattern.size):
        edges = frozenset((labels[u], labels[v]) for u, v in pattern.edges)
        if any(u == v for u, v in edges):
            continue  # merging two neighbors makes a self loop, and the graph has none, so there are no maps
        parts = [labels.count(label) for label in range(max(labels) + 1)]
        sign = prod((-1) ** (size - 1) * factorial(size - 1) for size in parts)
        merged = Pattern(len(parts), edges, directed=True)
        # merging the ends of a path makes a triangle, whose maps are matches times automorphisms
        if _adjacent_pairs(edges) == len(parts):
            total += sign * _count_from_triads(census, merged, induced=False) * len(merged.automorphisms)
        else:
            total += sign * _count_maps(graphs, merged)
    return total // len(pattern.automorphisms)


def _adjacent_pairs(edges: Edges) -> int:
    return len({frozenset(edge) for edge in edges})


class _Graphs:
    """The adjacency lists of a directed graph by kind, "out", "in", and "both" for edges that lead both ways."""

    def __init__(self, simple: Graph) -> None:
        self.by_kind = {"out": simple, "in": simple.reversed(), "both": Dyads.of(simple).mutual}

    def sums(self, kind: str, values: Array | None) -> Array:
        """Return for each vertex the sum of `values` over its neighbors of a kind, or their number without values."""
        graph = self.by_kind[kind]
        if values is None:
            return graph.out_degrees.astype(np.int64)
        return mxv(graph, values, semirings.plus_second)


def _count_maps(graphs: _Graphs, tree: Pattern) -> int:
    """Return the number of maps of a tree to the graph that keep edges. Vertices of the tree may coincide.

    Sums start at a vertex of most neighbors, so that those at each child fit in 64 bits: they are at most the number of
    edges.
    """
    root = max(range(tree.size), key=lambda v: sum(tree.has(u, v) for u in range(tree.size)))
    factors = [_count_branch(graphs, tree, v, root) for v in range(tree.size) if tree.has(root, v)]
    return sum_of_products(*factors)


def _count_branch(graphs: _Graphs, tree: Pattern, v: int, parent: int) -> Array:
    """Return for each vertex of the graph the number of maps of a branch if the branch's parent is mapped there.

    The branch is the subtree of `tree` that begins with `v`.
    """
    kinds = {(True, True): "both", (True, False): "out", (False, True): "in"}
    kind = kinds[(parent, v) in tree.edges, (v, parent) in tree.edges]
    beyond = [_count_branch(graphs, tree, w, v) for w in range(tree.size) if w != parent and tree.has(v, w)]
    return graphs.sums(kind, prod(beyond[1:], start=beyond[0]) if beyond else None)
