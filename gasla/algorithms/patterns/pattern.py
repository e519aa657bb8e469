"""The class of patterns. A pattern is a connected graph of up to eight vertices, given as text or as a small matrix."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations, permutations
from typing import Any

import numpy as np

from gasla.algorithms.patterns import pattern_text
from gasla.graph.graph import as_graph
from gasla.graph.validate import as_array

MOST = 8  # the largest number of vertices of a pattern
Edges = frozenset[tuple[int, int]]  # ordered pairs of vertices; an undirected edge is stored in both orders
# for each edge of the pattern, the numbers of the relations (sets of the graph's edges) that a matching edge must be in
Relations = dict[tuple[int, int], frozenset[int]]


class Pattern:
    """A connected simple graph of `size` vertices, whose matches in a larger graph are searched.

    `labels` has the number of each vertex's label, or -1 for any label. `frequencies` says how many vertices of the
    larger graph have each label. An edge without `relations` may be matched with any edge. `sizes` says how many edges
    of the larger graph are in each relation, from relation 1 on.
    """

    def __init__(
        self,
        size: int,
        edges: Edges,
        directed: bool = False,
        labels: tuple[int, ...] = (),
        frequencies: tuple[int, ...] = (),
        relations: Relations | None = None,
        sizes: tuple[int, ...] = (),
    ) -> None:
        self.size, self.edges, self.directed = size, edges, directed
        self.relations, self.sizes = relations or {}, sizes
        self.labels, self.frequencies = labels or (-1,) * size, frequencies

    @classmethod
    def of(cls, given: Any, directed: bool = False) -> "Pattern":
        """Return the pattern that a text or a matrix describes. Raise an error with the reason if it describes none."""
        size, pairs, directed = (
            pattern_text.read(given, directed, MOST) if isinstance(given, str) else _read_matrix(given, directed)
        )
        if not 1 <= size <= MOST:
            raise ValueError(f"the pattern has {size} vertices; expected 1 to {MOST}")
        for u, v in sorted(pairs):
            if u == v:
                raise ValueError(
                    f"vertex {u} of the pattern has a self loop; expected none, since those of the graph are ignored"
                )
            if not directed and (v, u) not in pairs:
                raise ValueError(
                    f"the pattern has the edge {u} -> {v} and not {v} -> {u}; expected a symmetric matrix, since the "
                    "graph is read as undirected, or directed=True"
                )
        pattern = cls(size, frozenset(pairs), directed)
        connected = {0}
        for _ in range(size):
            connected |= {v for v in range(size) if any(pattern.has(u, v) for u in connected)}
        if len(connected) < size:
            unreached = min(set(range(size)) - connected)
            raise ValueError(f"no path of the pattern leads from vertex 0 to {unreached}; expected a connected pattern")
        return pattern

    def has(self, u: int, v: int) -> bool:
        """Return whether two vertices of the pattern are adjacent, by an edge in either direction."""
        return (u, v) in self.edges or (v, u) in self.edges

    @cached_property
    def degrees(self) -> tuple[int, ...]:
        """The degrees of the pattern's vertices, sorted, which identify an undirected connected pattern of up to four
        vertices.
        """
        return tuple(sorted(sum(self.has(u, v) for v in range(self.size)) for u in range(self.size)))

    def degrees_of(self, v: int, merged: Sequence[int] = ()) -> tuple[int, int]:
        """Return the numbers of out-neighbors and of in-neighbors of the pattern's vertex v.

        The `merged` vertices count as one neighbor, because they may be matched with the same vertex.
        """
        targets, sources = (
            {neighbor for u, neighbor in self.edges if u == v},
            {u for u, neighbor in self.edges if neighbor == v},
        )
        return tuple(
            len(neighbors.difference(merged)) + (not neighbors.isdisjoint(merged)) for neighbors in (targets, sources)
        )  # type: ignore[return-value]

    @cached_property
    def automorphisms(self) -> list[tuple[int, ...]]:
        """The permutations of the pattern's vertices that preserve edges, labels and relations.

        A permutation `a` maps vertex v to `a[v]`.
        """
        return list(self.isomorphisms(self))

    def isomorphisms(self, other: "Pattern") -> Iterator[tuple[int, ...]]:
        """Yield the maps of this pattern's vertices to those of another pattern that preserve edges, labels and
        relations.

        There are none if the sizes differ.
        """
        if (self.size, len(self.edges), sorted(self.labels)) == (other.size, len(other.edges), sorted(other.labels)):
            yield from self._extend_isomorphism(other, ())

    def _extend_isomorphism(self, other: "Pattern", partial_map: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        v = len(partial_map)
        if v == self.size:
            yield partial_map
            return
        for candidate in range(self.size):
            if (
                candidate not in partial_map
                and self.labels[v] == other.labels[candidate]
                and all(
                    ((u, v) in self.edges) == ((x, candidate) in other.edges)
                    and ((v, u) in self.edges) == ((candidate, x) in other.edges)
                    and self.relations.get((u, v)) == other.relations.get((x, candidate))
                    and self.relations.get((v, u)) == other.relations.get((candidate, x))
                    for u, x in enumerate(partial_map)
                )
            ):
                yield from self._extend_isomorphism(other, (*partial_map, candidate))

    def may_coincide(self, u: int, v: int) -> bool:
        """Return whether one vertex of the graph can match both u and v, two vertices of the pattern, by their labels.

        It can if u and v have the same label, or if one of them has the label -1, which every vertex of the graph
        matches.
        """
        return self.labels[u] == self.labels[v] or -1 in (self.labels[u], self.labels[v])

    def merged(self, parts: list[list[int]]) -> "Pattern":
        """Return the pattern in which the vertices of each list in `parts` become one vertex. Other vertices remain
        apart.
        """
        merged_vertices = {v for merged_set in parts for v in merged_set}
        parts = [*([v] for v in range(self.size) if v not in merged_vertices), *parts]
        to = {v: k for k, merged_set in enumerate(parts) for v in merged_set}
        edges = frozenset((to[u], to[v]) for u, v in self.edges)
        labels = tuple(max(self.labels[v] for v in merged_set) for merged_set in parts)
        relations: Relations = {}
        for (u, v), relations_of_edge in self.relations.items():
            relations[to[u], to[v]] = relations.get((to[u], to[v]), frozenset()) | relations_of_edge
        return Pattern(len(parts), edges, self.directed, labels, self.frequencies, relations, self.sizes)

    def rarity(self, v: int, to: int | None = None) -> float:
        """Return how rare the graph's vertices are that can match the pattern's vertex v, by its label and its edges'
        relations.

        The result is 1 for the rarest, and 0 if any vertex can match. `to` limits the edges to those that join this
        vertex.
        """
        counts = [self.frequencies[self.labels[v]]] if self.labels[v] >= 0 else []
        for pattern_edge, relations in self.relations.items():
            if v in pattern_edge and (to is None or to in pattern_edge):
                counts += [2 * self.sizes[relation - 1] for relation in relations]
        return 1 / (1 + min(counts)) if counts else 0.0

    def placed(self, places: tuple[int, ...]) -> Edges:
        """Return the pattern's edges after renumbering its vertices: vertex v gets the number places[v]."""
        return frozenset((places[u], places[v]) for u, v in self.edges)

    def copies_in(self, other: "Pattern") -> int:
        """Return how many subgraphs of another pattern of the same size are copies of this pattern."""
        return len(
            {p for vertex_order in permutations(range(self.size)) if (p := self.placed(vertex_order)) <= other.edges}
        )

    def larger(self) -> "list[Pattern]":
        """Return the undirected patterns with as many vertices and more edges that contain this one, one per
        isomorphism class.
        """
        absent_pairs = [pair for pair in combinations(range(self.size), 2) if pair not in self.edges]
        added = (
            new_edges for count in range(1, len(absent_pairs) + 1) for new_edges in combinations(absent_pairs, count)
        )
        larger_patterns = (
            Pattern(self.size, self.edges.union(new_edges, ((v, u) for u, v in new_edges))) for new_edges in added
        )
        return list({pattern.degrees: pattern for pattern in larger_patterns}.values())

    @cached_property
    def order(self) -> list[int]:
        """The order in which the pattern's vertices are matched, as a list of vertices.

        It begins with the vertex of the rarest label or relation. The vertex with the most neighbors among those
        already matched comes next, and neighbors of early vertices are preferred.
        """
        order: list[int] = []

        def preference(v: int) -> tuple[int, float, list[bool], int]:
            is_neighbor = [self.has(u, v) for u in order]
            return sum(is_neighbor), self.rarity(v), is_neighbor, sum(self.has(u, v) for u in range(self.size))

        while len(order) < self.size:
            order.append(max((v for v in range(self.size) if v not in order), key=preference))
        return order


def partitions(count: int) -> Iterator[tuple[int, ...]]:
    """Yield all partitions of a set of `count` items, each as the number of each item's part.

    Parts are numbered in the order of their first items.
    """
    labelings: list[tuple[int, ...]] = [()]
    for _ in range(count):
        labelings = [(*labels, label) for labels in labelings for label in range(max(labels, default=-1) + 2)]
    yield from labelings


def _read_matrix(argument: Any, directed: bool) -> tuple[int, set[tuple[int, int]], bool]:
    """Return the number of vertices of a pattern that is given as a matrix, its edges, and `directed`.

    A sparse matrix has an edge for each stored entry, and a dense matrix has an edge for each nonzero.
    """
    if hasattr(argument, "tocsr") or hasattr(argument, "out"):
        graph = as_graph(argument).to("cpu")
        is_small = graph.n <= MOST  # the caller refuses patterns of more vertices, so their edges are not read
        return (
            graph.n,
            set(zip(graph.out.owners().tolist(), graph.out.indices.tolist())) if is_small else set(),
            directed,
        )
    matrix = as_array("pattern", argument)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "biuf":
        raise TypeError(
            f"the pattern is {matrix.dtype}{matrix.shape}; expected a square matrix of numbers or bool, or text "
            "such as 'cycle4'"
        )
    return len(matrix), {(u, v) for u, v in np.argwhere(matrix).tolist()}, directed
