"""What closeness and harmonic centrality are made of: sums over the distances from many vertices to each.

No distance is stored. Where 64 searches go together, those that reach a vertex in an iteration each add the number of
the iteration to its sum; one search at a time adds it once. With lengths, distances come from a few sources at once.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

import semirings
from gasla.algorithms.paths.multi_source_shortest_paths import multi_source_shortest_paths
from gasla.algorithms.paths.sssp import sssp
from gasla.algorithms.traversal.bfs import Levels, bfs
from gasla.algorithms.traversal.multi_source_bfs import WORD, Arrivals, beginning, look
from gasla.arrays import array_module, module_of
from gasla.graph.arguments import has_negative
from gasla.graph.graph import Graph, is_undirected
from gasla.operations.prepare import prepare
from gasla.program.fields import vertex
from gasla.program.options import option
from gasla.progress import track

LANES = 8  # sources at once, where edges have lengths


class _Sums:
    """count(v) = how many sources have reached v; total(v) = the sum of their distances, or of one over each."""

    inverse = option(False)
    count = vertex(np.int64)
    total = vertex(np.float64)

    def share(self):
        """What one adds that arrives in this iteration."""
        return 1 / (self.iteration + 1) if self.inverse else self.iteration + 1


class Together(_Sums, Arrivals):
    """Of 64 sources."""

    def apply(self, vertex, gathered):
        new = gathered & ~vertex.seen
        arrived = semirings.popcount(new)
        total = vertex.total + arrived * semirings.cast(self.share(), np.float64)
        return {"seen": vertex.seen | new, "new": new, "count": vertex.count + arrived, "total": total}


class Alone(_Sums, Levels):
    """Of one source."""

    def apply(self, vertex, gathered):
        total = vertex.total + self.share()
        return {"level": self.iteration + 1, "count": vertex.count + 1, "total": total}


def distance_sums(graph: Graph, sources: list[int], *, weighted: bool, inverse: bool) -> tuple[Any, Any]:
    """From how many of the sources, itself aside, each vertex is reached, and the sum of their distances.

    Or, `inverse`, the sum of one over each distance; those that are 0 are left out.
    """
    xp: Any = module_of(graph.device)
    count, total = xp.zeros(graph.n, np.int64), xp.zeros(graph.n)
    if not sources:
        return count, total
    if weighted:
        for first in track(range(0, len(sources), LANES), "batches of sources"):
            some = sources[first : first + LANES]
            _add(multi_source_shortest_paths(graph, some), some, count, total, inverse)
        return count, total
    sums = {"count": count, "total": total}
    if look(graph, sources).is_shared:
        search = prepare(Together(inverse=inverse), graph)
        for first in track(range(0, len(sources), WORD), "batches of sources"):
            search(**beginning(graph, sources[first : first + WORD]), out=sums)
    else:
        search = prepare(Alone(inverse=inverse), graph)
        for source in track(sources, "sources"):
            search(active=[source], level={source: 0}, out=sums, wait=False)
    return count, total


def _add(distances: Any, sources: list[int], count: Any, total: Any, inverse: bool) -> None:
    xp: Any = array_module(distances)
    for distance, source in zip(distances, sources):
        reached = xp.isfinite(distance)
        reached[source] = False
        count += reached
        if inverse:
            reached &= distance != 0
        finite = xp.where(reached, distance, 1).astype(np.float64)
        total += xp.where(reached, 1 / finite if inverse else finite, 0)


def distances_to(backwards: Graph, target: int, *, weighted: bool) -> Any:
    """The distance from every vertex to one, as floats; infinite where there is no path, and at the target itself.

    The graph is given with its edges reversed.
    """
    xp: Any = module_of(backwards.device)
    if weighted:
        found = sssp(backwards, target).astype(np.float64)
    else:
        level = bfs(backwards, target)
        found = xp.where(level < 0, np.inf, level)
    found[target] = np.inf
    return found


def reversed_edges(graph: Graph, weighted: bool) -> Graph:
    """The graph with every edge the other way, with values where these are lengths."""
    if is_undirected(graph, weighted):
        return graph
    if weighted:
        return Graph.from_csr(graph.in_.indptr, graph.in_.indices, graph.in_values)
    return graph.kept("reversed", lambda g: Graph.from_csr(g.in_.indptr, g.in_.indices))


def asks_for_lengths(graph: Graph, distance: Any) -> bool:
    """Whether edges have lengths, as the argument `distance` says; refuses lengths that are negative."""
    if distance not in (None, "weight"):
        raise ValueError(
            f"distance is {distance!r}; expected None, every edge counts as one, or 'weight', the matrix's values count"
        )
    if distance is None or graph.values is None:
        return False
    graph.notice_values()
    if has_negative(graph):
        raise ValueError("a length is negative; expected lengths of 0 or more, whose sums tell who is near")
    return True


def others(graph: Graph, sources: Iterable[int]) -> Any:
    """For each vertex how many of the sources are others than itself."""
    xp: Any = module_of(graph.device)
    chosen = np.fromiter(sources, np.int64)
    count = xp.full(graph.n, len(chosen))
    count[xp.asarray(chosen)] -= 1
    return count
