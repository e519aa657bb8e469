"""Sums of the distances from many sources to each vertex, for closeness and harmonic centrality.

Distances are not stored. 64 searches that run together each add the number of the iteration at the vertices they reach
in it; a single search adds it once. With lengths, the distances from a few sources at a time are summed.
"""

import reprlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

import semirings
from gasla.algorithms.paths.multi_source_shortest_paths import multi_source_shortest_paths
from gasla.algorithms.paths.sssp import sssp
from gasla.algorithms.traversal.bfs import Levels, bfs
from gasla.algorithms.traversal.multi_source_bfs import WORD, Arrivals, initial_state, probe
from gasla.arrays import array_module, module_of
from gasla.graph.arguments import check_flags, has_negative
from gasla.graph.graph import Graph, is_undirected
from gasla.operations.prepare import prepare
from gasla.program import option, vertex
from gasla.progress import track

BATCH = 8  # sources per batch, where edges have lengths


class _Sums:
    """count(v) = number of sources that have reached v. total(v) = sum of their distances, or of the inverses."""

    inverse = option(False)
    count = vertex(np.int64)
    total = vertex(np.float64)

    def term(self):
        """Return the term that a source adds at the vertices that it reaches in this iteration."""
        return 1 / (self.iteration + 1) if self.inverse else self.iteration + 1


class BatchedSums(_Sums, Arrivals):
    """The sums for searches from 64 sources at once."""

    def apply(self, vertex, gathered):
        new = gathered & ~vertex.seen
        arrived = semirings.popcount(new)
        total = vertex.total + arrived * semirings.cast(self.term(), np.float64)
        return {"seen": vertex.seen | new, "new": new, "count": vertex.count + arrived, "total": total}


class SingleSums(_Sums, Levels):
    """The sums for a search from one source."""

    def apply(self, vertex, gathered):
        total = vertex.total + self.term()
        return {"level": self.iteration + 1, "count": vertex.count + 1, "total": total}


def distance_sums(graph: Graph, sources: list[int], *, weighted: bool, inverse: bool) -> tuple[Any, Any]:
    """Count the sources other than itself that reach each vertex, and sum their distances.

    With `inverse`, sum the inverse distances instead; distances of 0 are left out.
    """
    batches = [sources[first : first + WORD] for first in range(0, len(sources), WORD)]
    if batches and graph.sharers(len(batches)):
        with suppress(MemoryError):  # ranks share the sources, unless one has no room for the whole graph
            terms = _at_once if graph.is_whole else _terms
            both = graph.sum_shares(partial(terms, weighted, inverse), batches)
            return both[: graph.n].astype(np.int64), both[graph.n :]
    xp: Any = module_of(graph.device)
    count, total = xp.zeros(graph.n, np.int64), xp.zeros(graph.n)
    if not sources:
        return count, total
    if weighted:
        for first in track(range(0, len(sources), BATCH), "batches of sources"):
            some = sources[first : first + BATCH]
            _add(multi_source_shortest_paths(graph, some), some, count, total, inverse)
        return count, total
    sums = {"count": count, "total": total}
    if probe(graph, sources).is_shared:
        search = prepare(BatchedSums(inverse=inverse), graph)
        for first in track(range(0, len(sources), WORD), "batches of sources"):
            search(**initial_state(graph, sources[first : first + WORD]), out=sums)
    else:
        search = prepare(SingleSums(inverse=inverse), graph)
        for source in track(sources, "sources"):
            search(active=[source], level={source: 0}, out=sums, wait=False)
    return count, total


def _at_once(weighted: bool, inverse: bool, graph: Graph, batches: list[list[int]]) -> Iterator[Any]:
    """Yield what `_terms` does for all sources together."""
    yield from _terms(weighted, inverse, graph, [list(chain(*batches))])


def _terms(weighted: bool, inverse: bool, graph: Graph, batches: list[list[int]]) -> Iterator[Any]:
    """Yield the counts of each batch of sources, and after them the sums."""
    for sources in batches:
        count, total = distance_sums(graph, sources, weighted=weighted, inverse=inverse)
        yield array_module(total).concatenate([count.astype(np.float64), total])


def _add(distances: Any, sources: list[int], count: Any, total: Any, inverse: bool) -> None:
    xp: Any = array_module(distances)
    for distance, source in zip(distances, sources):
        reached = xp.isfinite(distance)
        reached[source] = False
        count += reached
        if inverse:
            reached &= distance != 0
        finite = xp.where(reached, distance, 1).astype(np.float64)
        with np.errstate(over="ignore"):  # sums beyond float64 are inf
            total += xp.where(reached, 1 / finite if inverse else finite, 0)


def distances_to(backwards: Graph, target: int, *, weighted: bool) -> Any:
    """Return distances from every vertex to `target`, as floats. They are inf without a path, and at the target itself.

    `backwards` is the graph with its edges reversed.
    """
    xp: Any = module_of(backwards.device)
    if weighted:
        distances = sssp(backwards, target).astype(np.float64)
    else:
        level = bfs(backwards, target)
        distances = xp.where(level < 0, np.inf, level)
    distances[target] = np.inf
    return distances


def reversed_edges(graph: Graph, weighted: bool) -> Graph:
    """Return the graph with every edge reversed. It has values if these are lengths."""
    if is_undirected(graph, weighted):
        return graph
    if weighted:
        return Graph.from_csr(graph.in_.indptr, graph.in_.indices, graph.in_values)
    return graph.kept("reversed", lambda g: Graph.from_csr(g.in_.indptr, g.in_.indices))


def has_lengths(graph: Graph, distance: Any, weighted: bool) -> bool:
    """Return whether values are lengths, by the arguments. Raises ValueError if a length is negative."""
    check_flags(weighted=weighted)
    if distance is not None and not (isinstance(distance, str) and distance == "weight"):
        raise ValueError(
            f"distance is {reprlib.repr(distance)}; expected None (every edge has length 1) or 'weight' (values are "
            "lengths)"
        )
    if (distance is None and not weighted) or graph.value_type is None:
        return False
    graph.notice_values()
    if has_negative(graph):
        raise ValueError("a length is negative; expected lengths of 0 or more")
    return True


def count_others(graph: Graph, sources: Iterable[int]) -> Any:
    """Return for each vertex the number of sources other than itself."""
    xp: Any = module_of(graph.device)
    chosen = np.fromiter(sources, np.int64)
    count = xp.full(graph.n, len(chosen))
    count[xp.asarray(chosen)] -= 1
    return count
