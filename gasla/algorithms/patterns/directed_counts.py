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
    """Return the number of matches of a directed pattern of three vertices in a graph whose triadic census is given.

    `census` has the number of the graph's triads (subgraphs induced by three vertices) of each of the 16 types. The
    result is a sum over the types: this number times the number of copies of the pattern in a triad of the type.
    """
    triads = {name: Pattern(3, edges, directed=True) for name, edges in TRIADS.items()}
    return sum(
        pattern.copies_in(triad) * census[name]
        for name, triad in triads.items()
        if not induced or len(triad.edges) == len(pattern.edges)
    )


def _count_tree(simple: Graph, pattern: Pattern) -> int:
    """Return the number of matches of a directed pattern of four vertices whose edges form a tree, in a simple graph.

    A map of the pattern to the graph may map several vertices to one. Inclusion and exclusion over all partitions of
    the pattern's vertices leaves the maps that keep vertices apart.
    """
    graphs, census, match_total = _NeighborGraphs(simple), census_of(simple), 0
    for labels in partitions(pattern.size):
        edges = frozenset((labels[u], labels[v]) for u, v in pattern.edges)
        if any(u == v for u, v in edges):
            continue  # merging two neighbors makes a self loop, which no map can keep, since the graph has none
        part_sizes = [labels.count(label) for label in range(max(labels) + 1)]
        sign = prod((-1) ** (size - 1) * factorial(size - 1) for size in part_sizes)
        merged_pattern = Pattern(len(part_sizes), edges, directed=True)
        # Merging the two ends of a path of four vertices makes a triangle. The number of its maps to the graph is the
        # number of its matches times the number of its automorphisms.
        if _adjacent_pairs(edges) == len(part_sizes):
            match_total += (
                sign * _count_from_triads(census, merged_pattern, induced=False) * len(merged_pattern.automorphisms)
            )
        else:
            match_total += sign * _count_maps(graphs, merged_pattern)
    return match_total // len(pattern.automorphisms)


def _adjacent_pairs(edges: Edges) -> int:
    return len({frozenset(edge) for edge in edges})


class _NeighborGraphs:
    """Three graphs with the edges of a directed graph, which differ in what their adjacency lists have as neighbors.

    The kind "out" stands for out-neighbors, "in" for in-neighbors, and "both" for neighbors joined by edges in both
    directions.
    """

    def __init__(self, simple: Graph) -> None:
        self.by_kind = {"out": simple, "in": simple.reversed(), "both": Dyads.of(simple).mutual}

    def sums(self, kind: str, values: Array | None) -> Array:
        """Return for each vertex the sum of `values` over its neighbors of a kind, which is "out", "in" or "both".

        If `values` is None, return the number of these neighbors.
        """
        graph = self.by_kind[kind]
        if values is None:
            return graph.out_degrees.astype(np.int64)
        return mxv(graph, values, semirings.plus_second)


def _count_maps(graphs: _NeighborGraphs, tree: Pattern) -> int:
    """Return the number of maps of a tree to a graph that map edges to edges, and may map several vertices to one.

    The root is a vertex with the most neighbors. The sums at each child of the root then fit in 64 bits, because they
    are at most the number of edges.
    """
    root = max(range(tree.size), key=lambda v: sum(tree.has(u, v) for u in range(tree.size)))
    factors = [_count_branch(graphs, tree, v, root) for v in range(tree.size) if tree.has(root, v)]
    return sum_of_products(*factors)


def _count_branch(graphs: _NeighborGraphs, tree: Pattern, v: int, parent: int) -> Array:
    """Return for each vertex of a graph the number of maps of a branch of a tree, if the branch's parent is mapped to
    it.

    The branch is the subtree of `tree` that consists of `v` and what hangs below `v`, if `parent` is above `v`.
    """
    direction_names = {(True, True): "both", (True, False): "out", (False, True): "in"}
    edge_direction = direction_names[(parent, v) in tree.edges, (v, parent) in tree.edges]
    beyond = [
        _count_branch(graphs, tree, child, v) for child in range(tree.size) if child != parent and tree.has(v, child)
    ]
    return graphs.sums(edge_direction, prod(beyond[1:], start=beyond[0]) if beyond else None)
