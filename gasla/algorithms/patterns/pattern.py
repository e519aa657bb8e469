"""A pattern: a connected graph of up to four vertices, from a small matrix, and the order in which to look for it.

A pattern looks the same from several sides: its automorphisms. So each place where it is would be found as often; it is
found once where vertices that an automorphism exchanges are asked for in ascending order. Which, is told by going
through the vertices one by one: each is to be the smallest of those that automorphisms put in its place which leave the
ones before where they are.

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
    """The next vertex to look for: what is asked of it, by places in the order so far."""

    joined: tuple[int, ...]  # its neighbors
    others: tuple[int, ...]  # which the pattern doesn't join to it
    above: tuple[int, ...]  # which are to be smaller


class Pattern:
    """A connected simple graph of `size` vertices."""

    def __init__(self, size: int, edges: Edges) -> None:
        self.size, self.edges = size, edges

    @classmethod
    def of(cls, given: Any) -> "Pattern":
        """The pattern that a matrix holds, or an error that says what is wrong with it."""
        size, pairs = _read(given)
        if not 1 <= size <= MOST:
            raise ValueError(f"the pattern has {size} vertices; expected 1 to {MOST}")
        for u, v in sorted(pairs):
            if u == v:
                raise ValueError(
                    f"vertex {u} of the pattern has a self loop; expected none, as the graph's are ignored"
                )
            if (v, u) not in pairs:
                raise ValueError(
                    f"the pattern has the edge {u} -> {v} and not {v} -> {u}; expected a symmetric matrix: the graph "
                    "is read as undirected, and directed patterns are not looked for"
                )
        pattern = cls(size, frozenset((u, v) for u, v in pairs if u < v))
        reached = {0}
        for _ in range(size):
            reached |= {v for v in range(size) if any(pattern.has(u, v) for u in reached)}
        if len(reached) < size:
            left = min(set(range(size)) - reached)
            raise ValueError(f"no path of the pattern leads from vertex 0 to {left}; expected a connected one")
        return pattern

    def has(self, u: int, v: int) -> bool:
        """Whether it joins two of its vertices."""
        return (min(u, v), max(u, v)) in self.edges

    @cached_property
    def degrees(self) -> tuple[int, ...]:
        """In ascending order: of connected graphs of up to four vertices, no two have the same."""
        return tuple(sorted(sum(self.has(u, v) for v in range(self.size)) for u in range(self.size)))

    @cached_property
    def automorphisms(self) -> list[tuple[int, ...]]:
        """Ways to put vertices in each other's places: `a[v]` comes to where v was, and edges are where they were."""
        return [a for a in permutations(range(self.size)) if self.placed(a) == self.edges]

    def placed(self, places: tuple[int, ...]) -> Edges:
        """Its edges where vertex v is at places[v]."""
        return frozenset((min(places[u], places[v]), max(places[u], places[v])) for u, v in self.edges)

    def copies_in(self, other: "Pattern") -> int:
        """How often another pattern of as many vertices holds it."""
        return len({p for a in permutations(range(self.size)) if (p := self.placed(a)) <= other.edges})

    def larger(self) -> "list[Pattern]":
        """Patterns of as many vertices and more edges, one of each kind."""
        rest = [pair for pair in combinations(range(self.size), 2) if pair not in self.edges]
        added = (some for count in range(1, len(rest) + 1) for some in combinations(rest, count))
        more = (Pattern(self.size, self.edges | set(some)) for some in added)
        return list({pattern.degrees: pattern for pattern in more}.values())

    @cached_property
    def order(self) -> list[int]:
        """Its vertices as they are looked for: next the one joined to most, and to the earliest, of those before."""
        order: list[int] = []

        def wanted(v: int) -> tuple[int, list[bool], int]:
            before = [self.has(u, v) for u in order]
            return sum(before), before, sum(self.has(u, v) for u in range(self.size))

        while len(order) < self.size:
            order.append(max((v for v in range(self.size) if v not in order), key=wanted))
        return order

    def steps(self) -> list[Step]:
        """What is asked of each in that order, but the first."""
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
    """The vertices that automorphisms move to a vertex's place, leaving some where they are."""
    return {a[vertex] for a in automorphisms if all(a[v] == v for v in fixed)}


def _read(given: Any) -> tuple[int, set[tuple[int, int]]]:
    """How many vertices a matrix has, and its entries: those that are stored, or of a dense one are not 0."""
    if hasattr(given, "tocsr") or hasattr(given, "out"):
        graph = as_graph(given).to("cpu")
        return graph.n, set(zip(graph.out.owners().tolist(), graph.out.indices.tolist()))
    matrix = as_array("pattern", given)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "biuf":
        raise TypeError(f"the pattern is {matrix.dtype}{matrix.shape}; expected a square matrix of numbers or bool")
    return len(matrix), {(u, v) for u, v in np.argwhere(matrix).tolist()}
