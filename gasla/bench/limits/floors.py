"""The least time of a cell on this machine: bytes over its bandwidth, random reads over their rate, barriers.

A floor counts only what every way of computing the answer must do, so that no program reaches it; it says which of the
three is in the way. Each count has its reason beside it. Random reads count on flat random graphs alone: on skewed ones
most edges lead to a few vertices, which may lie near, and on grids neighbours are near each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gasla.bench.graphs import FEATURES, SELECTED, BenchmarkGraph, Reach
from gasla.bench.limits.ceilings import Ceilings
from gasla.bench.peers import DRAWN, PAGERANK_ITERATIONS, RADIUS, STEPS

SECTOR = 32  # bytes: the least that is read at a random place


class Floor(NamedTuple):
    """Seconds, and what they are spent on."""

    seconds: float
    cause: str


class Work(NamedTuple):
    """A graph as a floor sees it."""

    n: int
    m: int
    is_scattered: bool  # whether neighbours are anywhere, and none is read so often that a cache could keep it
    ceilings: Ceilings

    def floor(self, size: float, reads: float, barriers: float, vector: float | None = None) -> Floor:
        """Bytes and random reads go on at the same time, so that the larger counts; barriers come on top.

        The reads are those of a vector of 4 bytes a vertex, or of so many bytes as are given.
        """
        ceilings = self.ceilings
        rate = ceilings.rate("gather", 4 * self.n if vector is None else vector)
        parts = {
            "bytes": size / ceilings.rate("copy", size),
            "random reads": reads / rate if self.is_scattered else 0.0,
        }
        cause = max(parts, key=lambda name: parts[name])
        waiting = barriers * ceilings.barrier
        return Floor(parts[cause] + waiting, "barriers" if waiting > parts[cause] else cause)


def floor(graph: BenchmarkGraph, algorithm: str, sources: list[int], ceilings: Ceilings) -> Floor | None:
    """The least time of a call from the first source, or from several at once; None where it has not been counted."""
    if algorithm not in COUNTS:
        return None
    work = Work(graph.graph.n, graph.graph.m, graph.is_scattered, ceilings)
    return COUNTS[algorithm](work, [graph.reach(s) for s in sources])


Count = Callable[[Work, list[Reach]], Floor]


def streamed(size: Callable[[int, int], float], barriers: int = 1) -> Count:
    """Bytes that are read or written once, by n and m."""
    return lambda work, _: work.floor(size(work.n, work.m), 0, barriers)


def gathered(
    size: Callable[[int, int], float], reads: Callable[[int, int], float], barriers: int = 1, wide: int = 4
) -> Count:
    """The same, and random reads of a vector of so many bytes a vertex."""
    return lambda work, _: work.floor(size(work.n, work.m), reads(work.n, work.m), barriers, wide * work.n)


def times(count: float, once: Count) -> Count:
    """The same again and again."""

    def repeated(work: Work, reaches: list[Reach]) -> Floor:
        found = once(work, reaches)
        return Floor(count * found.seconds, found.cause)

    return repeated


def after(first: Count, second: Count) -> Count:
    """One after the other; the cause is the second's."""

    def both(work: Work, reaches: list[Reach]) -> Floor:
        one, other = first(work, reaches), second(work, reaches)
        return Floor(one.seconds + other.seconds, other.cause)

    return both


def searched(fields: int, all_at_once: bool = False) -> Count:
    """So many bytes a vertex are written; each reached one looks up its row and a sector of it; a barrier a level."""

    def search(work: Work, reaches: list[Reach]) -> Floor:
        found = max(reaches, key=lambda reach: reach.depth) if all_at_once else reaches[0]
        size = fields * (len(reaches) if all_at_once and fields == 4 else 1) * work.n
        return work.floor(size + found.vertices * (8 + SECTOR), found.vertices, found.depth)

    return search


def relaxed(work: Work, reaches: list[Reach]) -> Floor:
    """Every edge and its weight are read once, and the distance at its end; a barrier a level at least."""
    return work.floor(8 * work.m + 4 * (len(reaches) + 1) * work.n, work.m, max(found.depth for found in reaches))


def dependencies(work: Work, reaches: list[Reach]) -> Floor:
    """From every source a search, and twice all edges, with a number of eight bytes at their ends."""
    total, cause = 0.0, ""
    for found in reaches:
        sums = work.floor(2 * (4 * work.m + 32 * work.n), 2 * work.m, 2 * found.depth, vector=8 * work.n)
        total, cause = total + LEVELS(work, [found]).seconds + sums.seconds, sums.cause
    return Floor(total, cause)


def features(work: Work, _: list[Reach]) -> Floor:
    """Every edge and its weight, and a row of features at its end, which fills whole lines: so bytes are what counts.

    On a graph whose neighbours are near each other a row need come from memory only once.
    """
    rows = work.m if work.is_scattered else work.n
    return work.floor(8 * work.m + 4 * FEATURES * (rows + work.n), 0, 1)


def walks(work: Work, _: list[Reach]) -> Floor:
    """A step looks up where a list begins and reads one entry of it, and both are anywhere; it writes where it led."""
    return work.floor(4 * STEPS * work.n, 2 * STEPS * work.n, 0, vector=4 * (work.n + work.m))


def samples(work: Work, _: list[Reach]) -> Floor:
    """A vertex looks up where its list begins, and reads so many entries of it."""
    return work.floor(4 * DRAWN * work.n, (1 + min(DRAWN, work.m / work.n)) * work.n, 0, vector=4 * work.m)


LEVELS = searched(4)
ITERATION = gathered(
    lambda n, m: 4 * m + 24 * n, lambda n, m: m
)  # every edge, the share at its end; six numbers a vertex
EVERY_EDGE = gathered(
    lambda n, m: 4 * m + 16 * n, lambda n, m: m
)  # and what its end has; row pointers, two numbers a vertex
FIXED = gathered(
    lambda n, m: 4 * m + 24 * n, lambda n, m: m, wide=8
)  # one step: edges, scores of 8 bytes read and written
CUTS = gathered(lambda n, m: 2 * m + 4 * n, lambda n, m: m / 2)  # every edge, from either end
ONCE = streamed(
    lambda n, m: 2 * m + 4 * n
)  # each edge in one direction; how often lists are read again depends on the graph
SUPPORT = streamed(lambda n, m: 10 * m + 4 * n)  # the same, and eight bytes are written for each stored edge
SELECTED_TWICE = gathered(
    lambda n, m: SELECTED * 8 * m + 12 * n, lambda n, m: SELECTED * 2 * m, 2
)  # forward and backward
ONE_WAY = gathered(
    lambda n, m: 2 * m + 12 * n, lambda n, m: m / 2
)  # what an end waits for; a count, a level and a place
FREE = gathered(lambda n, m: 4 * m + 5 * n, lambda n, m: m)  # each edge, and whether its end is free; a byte and a mate
RESIDUAL = gathered(
    lambda n, m: 28 * m + 8 * n, lambda n, m: m, 2
)  # a search: of each edge end, capacity, what was sent

COUNTS: dict[str, Count] = {
    "levels": LEVELS,
    "bfs": searched(8),  # parents, too
    "multi_source_bfs": searched(4, all_at_once=True),
    "closeness": searched(24, all_at_once=True),  # a word and two sums a vertex
    "harmonic": searched(24, all_at_once=True),
    "sssp": relaxed,
    "multi_source_shortest_paths": relaxed,
    "pagerank": times(PAGERANK_ITERATIONS, ITERATION),
    "hits": times(2 * PAGERANK_ITERATIONS, ITERATION),  # along both directions
    "personal_pageranks": times(  # eight numbers at the end of an edge, and as many a vertex read and written
        PAGERANK_ITERATIONS, gathered(lambda n, m: 4 * m + 128 * n, lambda n, m: m, wide=32)
    ),
    "katz": FIXED,
    "eigenvector": FIXED,
    "shortest_path": streamed(lambda n, m: 8, 0),  # it may be one edge
    "bipartite": streamed(lambda n, m: 8, 0),  # an edge or two may tell that it isn't
    "bridges": CUTS,
    "articulation_points": CUTS,
    "aggregate_features": features,
    "components": gathered(lambda n, m: 16 * n, lambda n, m: n),  # one neighbour's label; most edges need not be read
    "strong_components": SELECTED_TWICE,
    "condensation": after(SELECTED_TWICE, gathered(lambda n, m: SELECTED * 4 * m + 8 * n, lambda n, m: SELECTED * m)),
    "ego_graph": streamed(lambda n, m: n, RADIUS),  # a byte a vertex says which are near
    "triangles": ONCE,
    "clustering": ONCE,
    "square_clustering": ONCE,
    "four_cliques": ONCE,
    "edge_support": SUPPORT,
    "k_truss": SUPPORT,  # asks for it at least once
    "jaccard": SUPPORT,
    "adamic_adar": SUPPORT,
    "top_k_similar": streamed(
        lambda n, m: 4 * m * m / max(n, 1)
    ),  # of each edge the list at its end, of the mean length
    "core_number": gathered(lambda n, m: 2 * m + 12 * n, lambda n, m: m / 2),  # from the end that goes first
    "label_propagation": times(2, EVERY_EDGE),  # with fewer passes no label has come further than a step
    "louvain_communities": times(2, EVERY_EDGE),
    "modularity": EVERY_EDGE,
    "pagerank_nibble": streamed(lambda n, m: 8 * n),  # scores are written; how far pushes go depends on the graph
    "random_walks": walks,
    "node2vec_walks": walks,
    "sample_neighbors": samples,
    "maximal_independent_set": gathered(
        lambda n, m: (13 + SECTOR) * n, lambda n, m: n
    ),  # its row, and a neighbour's rank
    "greedy_color": gathered(lambda n, m: 4 * m + 8 * n, lambda n, m: m),  # the colour at each edge's end
    "maximal_matching": FREE,
    "weighted_matching": gathered(lambda n, m: 8 * m + 5 * n, lambda n, m: m),  # with its weight
    "minimum_spanning_forest": gathered(
        lambda n, m: 8 * m + 12 * n, lambda n, m: m, 4
    ),  # weights, and trees of the ends
    "topological_order": ONE_WAY,
    "longest_path": after(ONE_WAY, gathered(lambda n, m: 4 * m + 8 * n, lambda n, m: m / 2)),  # once more, with weights
    "maximum_flow": RESIDUAL,
    "minimum_cut": RESIDUAL,
    "betweenness": dependencies,
    "edge_betweenness": after(streamed(lambda n, m: 8 * m, 0), dependencies),  # and a number an edge is written
    "mxv": gathered(lambda n, m: 8 * m + 12 * n, lambda n, m: m, 0),  # each entry, and the element that it meets
    "row sums": streamed(lambda n, m: 4 * m + 8 * n, 0),  # a product whose terms are the values alone
    "mxm": streamed(lambda n, m: 16 * m, 0),  # two matrices are read; how much is written depends on them
    "mxm_masked": streamed(lambda n, m: 6 * m, 0),  # half the entries are read, and as many counts written
}
