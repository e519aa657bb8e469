"""Simple cycles as matches of patterns. On a GPU, a join of adjacency lists finds the cycles of each length."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gasla.algorithms.patterns.matching import Matching
from gasla.algorithms.patterns.pattern import MOST, Pattern
from gasla.arrays import array_module
from gasla.graph.graph import Graph
from gasla.graph.memory_limit import available, require_memory

Array = np.ndarray[Any, Any]  # a NumPy or CuPy array
# the two ends of the edge that all cycles must pass, or twice the vertex that they must pass; None if there is neither
Ends = tuple[int, int] | None


def matchings(simple: Graph, least: int, most: int, directed: bool, ends: Ends) -> Iterator[Matching]:
    """Yield a search for the cycles of each length from `least` to `most` in a simple graph, shortest first.

    If `ends` is not None, all cycles pass this edge or vertex.

    Raises
    ------
    ValueError
        If a cycle may be longer than patterns are.
    """
    most = min(most, simple.n)
    if most > MOST:
        raise ValueError(
            f"max_length is {most}, and the graph is on the GPU, which finds cycles of up to {MOST} edges; expected "
            f"{MOST} or less, or a graph in host memory: graph.to('cpu')"
        )
    labels = None
    if ends is not None:
        labels = array_module(simple.out.indices).full(simple.n, -1, np.int8)
        labels[ends[0]], labels[ends[1]] = 0, len({*ends}) - 1
    for length in range(least, most + 1):
        edges = {(k, (k + 1) % length) for k in range(length)}
        edges |= set() if directed else {(v, u) for u, v in edges}
        of_pattern = () if ends is None else (0, *(1,) * (ends[0] != ends[1]), *(-1,) * length)[:length]
        yield Matching(simple, Pattern(length, frozenset(edges), directed, of_pattern, (1, 1)), False, labels)


def listed(matching: Matching, limit: int | None, directed: bool) -> Array:
    """Return the cycles that `matching`, a search for a cycle as a pattern, finds, at most `limit` of them.

    A row has a cycle from its smallest vertex on.
    """
    cycle_count, size = matching.count(), matching.pattern.size
    if limit is not None and cycle_count > limit:
        xp, remaining = array_module(matching.simple.out.indices), limit
        row_blocks = [xp.empty((0, size), matching.simple.id_dtype)]
        for rows in matching.stream(limit) if limit else ():
            row_blocks.append(rows[:remaining])
            remaining -= len(row_blocks[-1])
            if remaining == 0:
                break
        cycles = xp.concatenate(row_blocks)
    else:
        bytes_per_cycle = size * matching.simple.id_dtype.itemsize
        device = matching.simple.device
        require_memory("the list has", cycle_count, bytes_per_cycle, available(device), "pass count=True or a limit")
        cycles = matching.listed(cycle_count)
    return _rotate_to_smallest(cycles, not directed)


def _rotate_to_smallest(rows: Array, both_ways: bool) -> Array:
    """Rotate cycles, which are rows of vertices, so that each begins with its smallest vertex.

    If `both_ways`, cycles have no direction, and are reversed where needed so that the smaller neighbor comes second.
    """
    if not len(rows):
        return rows
    xp, size = array_module(rows), rows.shape[1]
    smallest_index = rows.argmin(axis=1)[:, None]
    next_vertex, previous_vertex = (
        xp.take_along_axis(rows, (smallest_index + by) % size, axis=1) for by in (1, size - 1)
    )
    step = xp.where(next_vertex > previous_vertex, size - 1, 1) if both_ways else 1
    turned: Array = xp.take_along_axis(rows, (smallest_index + step * xp.arange(size)) % size, axis=1)
    return turned
