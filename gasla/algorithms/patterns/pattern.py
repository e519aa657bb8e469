"""A pattern: a connected graph of up to four vertices, given as a small matrix, and the order in which to match it.

A pattern with automorphisms would be found once per automorphism at each place. It is found once if vertices that an
automorphism exchanges must match ascending vertices. These constraints are derived vertex by vertex: each must be the
smallest of the vertices that are mapped to its position by the automorphisms that fix the vertices before it.

J. A. Grochow, M. Kellis: Network Motif Discovery Using Subgraph Enumeration and Symmetry-Breaking. RECOMB 2007.
"""

from functools import cached_property
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np

from gasla.graph.graph import as_graph
from gasla.graph.validate import as_array

MOST = 4  # vertices
Edges = frozenset[tuple[int, int]]  # each with its smaller end first


class Step(NamedTuple):
    """Constraints on the next vertex to match, by positions in the order so far."""

    joined: tuple[int, ...]  # vertices it must be adjacent to
    others: tuple[int, ...]  # vertices it is not adjacent to in the pattern
    above: tuple[int, ...]  # vertices that must be smaller


class Pattern:
    """A connected simple graph of `size` vertices."""

    def __init__(self, size: int, edges: Edges) -> None:
        self.size, self.edges = size, edges

    @classmethod
    def of(cls, given: Any) -> "Pattern":
        """The pattern given by a matrix; raises an error that says what is wrong with it."""
        size, pairs = _read(given)
        if not 1 <= size <= MOST:
            raise ValueError(f"the pattern has {size} vertices; expected 1 to {MOST}")
        for u, v in sorted(pairs):
            if u == v:
                raise ValueError(
                    f"vertex {u} of the pattern has a self loop; expected none, since those of the graph are ignored"
                )
            if (v, u) not in pairs:
                raise ValueError(
                    f"the pattern has the edge {u} -> {v} and not {v} -> {u}; expected a symmetric matrix: the "
                    "graph is read as undirected, and directed patterns are not supported"
                )
        pattern = cls(size, frozenset((u, v) for u, v in pairs if u < v))
        reached = {0}
        for _ in range(size):
            reached |= {v for v in range(size) if any(pattern.has(u, v) for u in reached)}
        if len(reached) < size:
            left = min(set(range(size)) - reached)
            raise ValueError(f"no path of the pattern leads from vertex 0 to {left}; expected a connected pattern")
        return pattern

    def has(self, u: int, v: int) -> bool:
        """Whether two vertices are adjacent."""
        return (min(u, v), max(u, v)) in self.edges

    @cached_property
    def degrees(self) -> tuple[int, ...]:
        """Degrees in ascending order, which identify a connected graph of up to four vertices."""
        return tuple(sorted(sum(self.has(u, v) for v in range(self.size)) for u in range(self.size)))

    @cached_property
    def automorphisms(self) -> list[tuple[int, ...]]:
        """Permutations of the vertices that preserve the edges: vertex v is mapped to position `a[v]`."""
        return [a for a in permutations(range(self.size)) if self.placed(a) == self.edges]

    def placed(self, places: tuple[int, ...]) -> Edges:
        """The edges after moving each vertex v to places[v]."""
        return frozenset((min(places[u], places[v]), max(places[u], places[v])) for u, v in self.edges)

    def copies_in(self, other: "Pattern") -> int:
        """The number of copies of this pattern in another one with as many vertices."""
        return len({p for a in permutations(range(self.size)) if (p := self.placed(a)) <= other.edges})

    def larger(self) -> "list[Pattern]":
        """The patterns with as many vertices and more edges, one per isomorphism class."""
        rest = [pair for pair in combinations(range(self.size), 2) if pair not in self.edges]
        added = (some for count in range(1, len(rest) + 1) for some in combinations(rest, count))
        more = (Pattern(self.size, self.edges | set(some)) for some in added)
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
        return [
            Step(
                tuple(i for i, u in enumerate(self.order[:place]) if self.has(u, v)),
                tuple(i for i, u in enumerate(self.order[:place]) if not self.has(u, v)),
                tuple(above[v]),
            )
            for place, v in enumerate(self.order)
            if place
        ]


def _exchanged(automorphisms: list[tuple[int, ...]], fixed: list[int], vertex: int) -> set[int]:
    """The vertices that automorphisms move to the position of a vertex while fixing others."""
    return {a[vertex] for a in automorphisms if all(a[v] == v for v in fixed)}


def _read(given: Any) -> tuple[int, set[tuple[int, int]]]:
    """The number of vertices of a matrix, and its edges: stored entries of a sparse one, nonzeros of a dense one."""
    if hasattr(given, "tocsr") or hasattr(given, "out"):
        graph = as_graph(given).to("cpu")
        return graph.n, set(zip(graph.out.owners().tolist(), graph.out.indices.tolist()))
    matrix = as_array("pattern", given)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "biuf":
        raise TypeError(f"the pattern is {matrix.dtype}{matrix.shape}; expected a square matrix of numbers or bool")
    return len(matrix), {(u, v) for u, v in np.argwhere(matrix).tolist()}
