"""A pattern: a connected graph of up to four vertices, given as text or as a small matrix, and its order of matching.

A pattern with automorphisms would be found once per automorphism at each place. It is found once if vertices that an
automorphism exchanges must match ascending vertices. These constraints are derived vertex by vertex: each must be the
smallest of the vertices that are mapped to its position by the automorphisms that fix the vertices before it.

J. A. Grochow, M. Kellis: Network Motif Discovery Using Subgraph Enumeration and Symmetry-Breaking. RECOMB 2007.
"""

from functools import cached_property
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np

from gasla.algorithms.patterns import pattern_text
from gasla.graph.graph import as_graph
from gasla.graph.validate import as_array

MOST = 4  # vertices
Edges = frozenset[tuple[int, int]]  # ordered pairs; an undirected edge is stored in both orders


class Step(NamedTuple):
    """Constraints on the next vertex to match, by positions in the order so far.

    Undirected edges are constraints in one direction only, since the graph has them in both.
    """

    after: tuple[int, ...]  # vertices with an edge to it
    before: tuple[int, ...]  # vertices with an edge from it
    not_after: tuple[int, ...]  # vertices without an edge to it in the pattern
    not_before: tuple[int, ...]  # vertices without an edge from it in the pattern
    others: tuple[int, ...]  # vertices it has no edge with
    above: tuple[int, ...]  # vertices that must be smaller


class Pattern:
    """A connected simple graph of `size` vertices."""

    def __init__(self, size: int, edges: Edges, directed: bool = False) -> None:
        self.size, self.edges, self.directed = size, edges, directed

    @classmethod
    def of(cls, given: Any, directed: bool = False) -> "Pattern":
        """The pattern given by text or a matrix; a wrong one raises an error that names the mistake."""
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
        """Whether two vertices are adjacent, in either direction."""
        return (u, v) in self.edges or (v, u) in self.edges

    @cached_property
    def degrees(self) -> tuple[int, ...]:
        """Degrees in ascending order, which identify an undirected connected graph of up to four vertices."""
        return tuple(sorted(sum(self.has(u, v) for v in range(self.size)) for u in range(self.size)))

    @cached_property
    def automorphisms(self) -> list[tuple[int, ...]]:
        """Permutations of the vertices that preserve the edges: vertex v is mapped to position `a[v]`."""
        return [a for a in permutations(range(self.size)) if self.placed(a) == self.edges]

    def placed(self, places: tuple[int, ...]) -> Edges:
        """The edges after moving each vertex v to places[v]."""
        return frozenset((places[u], places[v]) for u, v in self.edges)

    def copies_in(self, other: "Pattern") -> int:
        """The number of copies of this pattern in another one with as many vertices."""
        return len({p for a in permutations(range(self.size)) if (p := self.placed(a)) <= other.edges})

    def larger(self) -> "list[Pattern]":
        """The undirected patterns with as many vertices and more edges, one per isomorphism class."""
        rest = [pair for pair in combinations(range(self.size), 2) if pair not in self.edges]
        added = (some for count in range(1, len(rest) + 1) for some in combinations(rest, count))
        more = (Pattern(self.size, self.edges.union(some, ((v, u) for u, v in some))) for some in added)
        return list({pattern.degrees: pattern for pattern in more}.values())

    @cached_property
    def order(self) -> list[int]:
        """The order of matching: next the vertex with most neighbors among those before, preferring earlier ones."""
        order: list[int] = []

        def wanted(v: int) -> tuple[int, list[bool], int]:
            before = [self.has(u, v) for u in order]
            return sum(before), before, sum(self.has(u, v) for u in range(self.size))

        while len(order) < self.size:
            order.append(max((v for v in range(self.size) if v not in order), key=wanted))
        return order

    def steps(self) -> list[Step]:
        """The constraints of each vertex in that order, except the first."""
        above: dict[int, list[int]] = {v: [] for v in range(self.size)}
        for place, first in enumerate(self.order):
            for v in _exchanged(self.automorphisms, self.order[:place], first) - {first}:
                above[v].append(place)
        return [self._step(place, tuple(above[v])) for place, v in enumerate(self.order) if place]

    def _step(self, place: int, above: tuple[int, ...]) -> Step:
        v, placed = self.order[place], list(enumerate(self.order[:place]))
        after = tuple(i for i, u in placed if (u, v) in self.edges)
        not_after = tuple(i for i, u in placed if (u, v) not in self.edges)
        others = tuple(i for i, u in placed if not self.has(u, v))
        if not self.directed:
            return Step(after, (), not_after, (), others, above)
        before = tuple(i for i, u in placed if (v, u) in self.edges)
        not_before = tuple(i for i, u in placed if (v, u) not in self.edges)
        return Step(after, before, not_after, not_before, others, above)


def _exchanged(automorphisms: list[tuple[int, ...]], fixed: list[int], vertex: int) -> set[int]:
    """The vertices that automorphisms move to the position of a vertex while fixing others."""
    return {a[vertex] for a in automorphisms if all(a[v] == v for v in fixed)}


def _read(given: Any, directed: bool) -> tuple[int, set[tuple[int, int]], bool]:
    """The number of vertices of a matrix, and its edges: stored entries of a sparse one, nonzeros of a dense one."""
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
