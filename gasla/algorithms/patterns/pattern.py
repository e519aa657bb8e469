"""A pattern: a connected graph of up to eight vertices, given as text or as a small matrix, and its symmetries."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations, permutations
from typing import Any

import numpy as np

from gasla.algorithms.patterns import pattern_text
from gasla.graph.graph import as_graph
from gasla.graph.validate import as_array

MOST = 8  # vertices
Edges = frozenset[tuple[int, int]]  # ordered pairs; an undirected edge is stored in both orders
Relations = dict[tuple[int, int], frozenset[int]]  # for each edge of the pattern, the relations that it must be in


class Pattern:
    """A connected simple graph of `size` vertices.

    `labels` has the number of each vertex's label; -1 stands for any label. `frequencies` has how many vertices of a
    graph have each label. An edge that has no `relations` may be any edge; `sizes` has how many edges of the graph are
    in each relation, from 1 on.
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
        """Return the pattern given by text or a matrix. A wrong one raises an error that names the mistake."""
        size, pairs, directed = (
            pattern_text.read(given, directed, MOST) if isinstance(given, str) else _read(given, directed)
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
        reached = {0}
        for _ in range(size):
            reached |= {v for v in range(size) if any(pattern.has(u, v) for u in reached)}
        if len(reached) < size:
            left = min(set(range(size)) - reached)
            raise ValueError(f"no path of the pattern leads from vertex 0 to {left}; expected a connected pattern")
        return pattern

    def has(self, u: int, v: int) -> bool:
        """Return whether two vertices are adjacent, in either direction."""
        return (u, v) in self.edges or (v, u) in self.edges

    @cached_property
    def degrees(self) -> tuple[int, ...]:
        """Degrees in ascending order, which identify an undirected connected graph of up to four vertices."""
        return tuple(sorted(sum(self.has(u, v) for v in range(self.size)) for u in range(self.size)))

    def degrees_of(self, v: int, merged: Sequence[int] = ()) -> tuple[int, int]:
        """Return the numbers of edges from and to a vertex, if some vertices are one."""
        after, before = ({w for u, w in self.edges if u == v}, {u for u, w in self.edges if w == v})
        return tuple(len(near.difference(merged)) + (not near.isdisjoint(merged)) for near in (after, before))  # type: ignore[return-value]

    @cached_property
    def automorphisms(self) -> list[tuple[int, ...]]:
        """Permutations of the vertices that preserve edges, labels and relations: vertex v is mapped to `a[v]`."""
        return list(self.isomorphisms(self))

    def isomorphisms(self, other: "Pattern") -> Iterator[tuple[int, ...]]:
        """Yield the maps to another pattern of the same size that preserve edges, labels and relations."""
        if (self.size, len(self.edges), sorted(self.labels)) == (other.size, len(other.edges), sorted(other.labels)):
            yield from self._continued(other, ())

    def _continued(self, other: "Pattern", a: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        v = len(a)
        if v == self.size:
            yield a
            return
        for w in range(self.size):
            if (
                w not in a
                and self.labels[v] == other.labels[w]
                and all(
                    ((u, v) in self.edges) == ((x, w) in other.edges)
                    and ((v, u) in self.edges) == ((w, x) in other.edges)
                    and self.relations.get((u, v)) == other.relations.get((x, w))
                    and self.relations.get((v, u)) == other.relations.get((w, x))
                    for u, x in enumerate(a)
                )
            ):
                yield from self._continued(other, (*a, w))

    def may_coincide(self, u: int, v: int) -> bool:
        """Return whether labels allow one vertex in the place of both."""
        return self.labels[u] == self.labels[v] or -1 in (self.labels[u], self.labels[v])

    def merged(self, parts: list[list[int]]) -> "Pattern":
        """Return the pattern in which the vertices of each part are one. Vertices that are in no part stay."""
        inside = {v for part in parts for v in part}
        parts = [*([v] for v in range(self.size) if v not in inside), *parts]
        to = {v: k for k, part in enumerate(parts) for v in part}
        edges = frozenset((to[u], to[v]) for u, v in self.edges)
        labels = tuple(max(self.labels[v] for v in part) for part in parts)
        relations: Relations = {}
        for (u, v), wanted in self.relations.items():
            relations[to[u], to[v]] = relations.get((to[u], to[v]), frozenset()) | wanted
        return Pattern(len(parts), edges, self.directed, labels, self.frequencies, relations, self.sizes)

    def rarity(self, v: int, to: int | None = None) -> float:
        """Return how rare a vertex is by its label and its edges' relations, 0 if not at all.

        `to` limits the edges to one vertex.
        """
        counts = [self.frequencies[self.labels[v]]] if self.labels[v] >= 0 else []
        for ends, relations in self.relations.items():
            if v in ends and (to is None or to in ends):
                counts += [2 * self.sizes[relation - 1] for relation in relations]
        return 1 / (1 + min(counts)) if counts else 0.0

    def placed(self, places: tuple[int, ...]) -> Edges:
        """Return the edges after moving each vertex v to places[v]."""
        return frozenset((places[u], places[v]) for u, v in self.edges)

    def copies_in(self, other: "Pattern") -> int:
        """Return the number of copies of this pattern in another pattern of the same size."""
        return len({p for a in permutations(range(self.size)) if (p := self.placed(a)) <= other.edges})

    def larger(self) -> "list[Pattern]":
        """Return the undirected patterns with the same number of vertices and more edges, one per isomorphism class."""
        rest = [pair for pair in combinations(range(self.size), 2) if pair not in self.edges]
        added = (some for count in range(1, len(rest) + 1) for some in combinations(rest, count))
        more = (Pattern(self.size, self.edges.union(some, ((v, u) for u, v in some))) for some in added)
        return list({pattern.degrees: pattern for pattern in more}.values())

    @cached_property
    def order(self) -> list[int]:
        """The order of matching: next the vertex with most neighbors among those before, preferring earlier ones.

        It begins with the vertex of the rarest label, or of the edge in the rarest relation.
        """
        order: list[int] = []

        def wanted(v: int) -> tuple[int, float, list[bool], int]:
            before = [self.has(u, v) for u in order]
            return sum(before), self.rarity(v), before, sum(self.has(u, v) for u in range(self.size))

        while len(order) < self.size:
            order.append(max((v for v in range(self.size) if v not in order), key=wanted))
        return order


def partitions(count: int) -> Iterator[tuple[int, ...]]:
    """Yield the partitions of a set, by the number of each item's part. Parts are numbered as they come up."""
    labelings: list[tuple[int, ...]] = [()]
    for _ in range(count):
        labelings = [(*labels, label) for labels in labelings for label in range(max(labels, default=-1) + 2)]
    yield from labelings


def _read(given: Any, directed: bool) -> tuple[int, set[tuple[int, int]], bool]:
    """Return the number of vertices of a matrix, and its edges.

    A sparse matrix has one for each stored entry, a dense one for each nonzero.
    """
    if hasattr(given, "tocsr") or hasattr(given, "out"):
        graph = as_graph(given).to("cpu")
        few = graph.n <= MOST  # patterns of more vertices are refused later
        return graph.n, set(zip(graph.out.owners().tolist(), graph.out.indices.tolist())) if few else set(), directed
    matrix = as_array("pattern", given)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "biuf":
        raise TypeError(
            f"the pattern is {matrix.dtype}{matrix.shape}; expected a square matrix of numbers or bool, or text "
            "such as 'cycle4'"
        )
    return len(matrix), {(u, v) for u, v in np.argwhere(matrix).tolist()}, directed
