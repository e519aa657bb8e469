"""Verifiers of chain decompositions and of cycle bases, read as undirected."""

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import VerificationError, components_of, edges_of, sparse, verifier
from gasla.verify.searches.paths_and_cycles import Path, check_edges, neighbors_of, rows_of

Pair = tuple[int, int]


@verifier()
def chain_decomposition(graph: Any, chains: Iterable[ArrayLike]) -> None:
    """Verify `chains` of `gasla.chain_decomposition`.

    Each chain is a cycle, or a path between vertices of earlier chains, and passes no vertex of an earlier chain in
    between. There are as many chains as independent cycles in the graph, and as independent cycles in the edges of all
    chains.

    Examples
    --------
    >>> from gasla import Graph
    >>> house = Graph.from_edges([0, 1, 2, 3, 0, 3], [1, 2, 3, 0, 4, 4])
    >>> chain_decomposition(house, [[0, 3, 2, 1, 0], [0, 4, 3]])
    >>> chain_decomposition(house, [[0, 3, 2, 1, 0]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: there are 1 chains; expected 2, the number of independent cycles
    """
    neighbors, rows = neighbors_of(graph, directed=False), rows_of(chains, edges_of(graph).n)
    for v, adjacent in enumerate(neighbors):
        adjacent.discard(v)
    seen: set[int] = set()
    covered: set[Pair] = set()
    for row in rows:
        is_cycle = row[0] == row[-1]
        check_edges(neighbors, [row[:-1] if is_cycle else row], 3 if is_cycle else 1, len(neighbors), closed=is_cycle)
        if again := seen.intersection(row[1:-1]):
            raise VerificationError(f"the chain {list(row)} passes vertex {min(again)}, which an earlier one visited")
        if not is_cycle and not seen.issuperset((row[0], row[-1])):
            raise VerificationError(f"the chain {list(row)} is no cycle, and does not end at earlier chains")
        steps = _edges_along(row)
        if again_covered := covered.intersection(steps):
            raise VerificationError(f"the edge {min(again_covered)} is in two chains")
        covered.update(steps)
        seen.update(row)
    expected = _count_independent_cycles(
        {(u, v) for u, adjacent in enumerate(neighbors) for v in adjacent if u < v}, len(neighbors)
    )
    if len(rows) != expected:
        raise VerificationError(f"there are {len(rows)} chains; expected {expected}, the number of independent cycles")
    if (independent := _count_independent_cycles(covered, len(neighbors))) != expected:
        raise VerificationError(
            f"the chains have {independent} independent cycles; expected {expected}, as the graph has"
        )


@verifier()
def cycle_basis(graph: Any, cycles: Iterable[ArrayLike]) -> None:
    """Verify `cycles` of `gasla.cycle_basis`.

    Each list is a cycle whose last edge is in no other cycle, so that the cycles are independent, and there are enough
    of them.

    Examples
    --------
    >>> from gasla import Graph
    >>> square = Graph.from_edges([0, 1, 2, 3, 0], [1, 2, 3, 0, 2])
    >>> cycle_basis(square, [[1, 0, 2], [2, 0, 3]])
    >>> cycle_basis(square, [[1, 0, 2]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: there are 1 cycles; expected 2
    """
    neighbors, rows = neighbors_of(graph, directed=False), rows_of(cycles, edges_of(graph).n)
    check_edges(neighbors, rows, 1, len(neighbors), closed=True)
    counts: Counter[Pair] = Counter()
    for row in rows:
        if len(row) == 2:
            raise VerificationError(f"{list(row)} is one undirected edge, no cycle")
        counts.update(_edges_along((*row, row[0])))
    for row in rows:
        (last,) = _edges_along((row[-1], row[0]))
        if counts[last] > 1:
            raise VerificationError(f"the last edge of the cycle {list(row)} is also in another cycle")
    expected = _count_independent_cycles(
        {(u, v) for u, adjacent in enumerate(neighbors) for v in adjacent if u <= v}, len(neighbors)
    )
    if len(rows) != expected:
        raise VerificationError(f"there are {len(rows)} cycles; expected {expected}")


def _edges_along(row: Path) -> list[Pair]:
    """Return the edges along a list of vertices, as pairs whose smaller vertex is first."""
    return [(min(u, v), max(u, v)) for u, v in pairwise(row)]


def _count_independent_cycles(pairs: set[Pair], n: int) -> int:
    """Return the dimension of the cycle space of the edges `pairs`, which is the number of independent cycles."""
    src, dst = np.array([*pairs], np.int64).reshape(-1, 2).T
    return len(pairs) - n + int(components_of(sparse(n, src, dst), "weak").max(initial=-1)) + 1
