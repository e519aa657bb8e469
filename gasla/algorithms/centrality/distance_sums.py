"""Sums of the distances from many sources to each vertex, for closeness and harmonic centrality.

Distances are not stored. Each iteration of a search adds the number of the iteration to the sum of every vertex that it
reaches. If 64 searches run together, the number is added once for each search that reaches the vertex in the iteration.
With lengths, distances are computed for a few sources at a time and then summed.
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

BATCH = 8  # number of sources whose distances are stored together if edges have lengths


class _DistanceSums:
    """The base of vertex programs that sum up distances: count(v) = the number of sources that have reached v so far.

    total(v) = the sum of their distances to v, or of the inverse distances.
    """

    inverse = option(False)
    count = vertex(np.int64)
    total = vertex(np.float64)

    def term(self):
        """Return what a source adds to the total of a vertex that it reaches in this iteration: the distance, or its
        inverse.

        The distance is the number of the iteration plus one.
        """
        return 1 / (self.iteration + 1) if self.inverse else self.iteration + 1


class BatchedSums(_DistanceSums, Arrivals):
    """Sums of distances from 64 sources, whose breadth-first searches run together with one bit per source at each
    vertex.
    """

    def apply(self, vertex, gathered):
        new = gathered & ~vertex.seen
        arrived = semirings.popcount(new)
        total = vertex.total + arrived * semirings.cast(self.term(), np.float64)
        return {"seen": vertex.seen | new, "new": new, "count": vertex.count + arrived, "total": total}


class SingleSums(_DistanceSums, Levels):
    """Sums of distances from one source, by a breadth-first search that reaches each vertex at most once."""

    def apply(self, vertex, gathered):
        total = vertex.total + self.term()
        return {"level": self.iteration + 1, "count": vertex.count + 1, "total": total}


def distance_sums(graph: Graph, sources: list[int], *, weighted: bool, inverse: bool) -> tuple[Any, Any]:
    """Return for each vertex the number of sources other than itself that reach it, and the sum of their distances.

    With `inverse`, inverse distances are summed instead, and distances of 0 are left out.
    """
    batches = [sources[batch_start : batch_start + WORD] for batch_start in range(0, len(sources), WORD)]
    if batches and graph.sharers(len(batches)):
        # The ranks of a distributed graph divide the sources among them. If the whole graph does not fit in the memory
        # of a rank, the searches run on the distributed graph instead.
        with suppress(MemoryError):
            terms = _yield_total if graph.is_whole else _yield_terms
            counts_and_sums = graph.sum_shares(partial(terms, weighted, inverse), batches)
            return counts_and_sums[: graph.n].astype(np.int64), counts_and_sums[graph.n :]
    xp: Any = module_of(graph.device)
    count, distance_total = xp.zeros(graph.n, np.int64), xp.zeros(graph.n)
    if not sources:
        return count, distance_total
    if weighted:
        for batch_start in track(range(0, len(sources), BATCH), "batches of sources"):
            batch = sources[batch_start : batch_start + BATCH]
            _add_distances(multi_source_shortest_paths(graph, batch), batch, count, distance_total, inverse)
        return count, distance_total
    sums = {"count": count, "total": distance_total}
    if probe(graph, sources).is_shared:
        search = prepare(BatchedSums(inverse=inverse), graph)
        for batch_start in track(range(0, len(sources), WORD), "batches of sources"):
            search(**initial_state(graph, sources[batch_start : batch_start + WORD]), out=sums)
    else:
        search = prepare(SingleSums(inverse=inverse), graph)
        for source in track(sources, "sources"):
            search(active=[source], level={source: 0}, out=sums, wait=False)
    return count, distance_total


def _yield_total(weighted: bool, inverse: bool, graph: Graph, batches: list[list[int]]) -> Iterator[Any]:
    """Yield one array for all batches of sources: for each vertex the number of sources, and after them the sums.

    `Graph.sum_shares` calls this on each rank for the sources of the rank, and adds up the arrays.
    """
    yield from _yield_terms(weighted, inverse, graph, [list(chain(*batches))])


def _yield_terms(weighted: bool, inverse: bool, graph: Graph, batches: list[list[int]]) -> Iterator[Any]:
    """Yield an array for each batch of sources: for each vertex the number of sources, and after them the sums.

    `Graph.sum_shares` calls this on each rank, and adds up the arrays.
    """
    for sources in batches:
        count, distance_total = distance_sums(graph, sources, weighted=weighted, inverse=inverse)
        yield array_module(distance_total).concatenate([count.astype(np.float64), distance_total])


def _add_distances(distances: Any, sources: list[int], count: Any, distance_total: Any, inverse: bool) -> None:
    """Add the distances from some sources to the counts and sums of the vertices that the sources reach, in place.

    `distances` has a row for each source. `count` has the number of sources for each vertex, and `distance_total` the
    sum of their distances, or with `inverse` of the inverse distances.
    """
    xp: Any = array_module(distances)
    for distance, source in zip(distances, sources):
        is_reached = xp.isfinite(distance)
        is_reached[source] = False
        count += is_reached
        if inverse:
            is_reached &= distance != 0
        finite = xp.where(is_reached, distance, 1).astype(np.float64)
        with np.errstate(over="ignore"):  # a sum beyond the range of float64 is inf, without a warning
            distance_total += xp.where(is_reached, 1 / finite if inverse else finite, 0)


def distances_to(backwards: Graph, target: int, *, weighted: bool) -> Any:
    """Return the distance from every vertex to `target`, as floats.

    The distance is inf for vertices without a path to the target, and for the target itself. `backwards` is the graph
    with its edges reversed.
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
    """Return the graph with every edge reversed. If `weighted`, the edges keep their lengths as values."""
    if is_undirected(graph, weighted):
        return graph
    if weighted:
        return Graph.from_csr(graph.in_.indptr, graph.in_.indices, graph.in_values)
    return graph.kept("reversed", lambda g: Graph.from_csr(g.in_.indptr, g.in_.indices))


def has_lengths(graph: Graph, distance: Any, weighted: bool) -> bool:
    """Return whether the values of a graph are used as lengths, which the arguments `distance` and `weighted` decide.

    Raise ValueError if a length is negative.
    """
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
    """Return for each vertex the number of sources other than the vertex itself."""
    xp: Any = module_of(graph.device)
    source_ids = np.fromiter(sources, np.int64)
    count = xp.full(graph.n, len(source_ids))
    count[xp.asarray(source_ids)] -= 1
    return count
