"""Lower bounds of times on this machine: bytes / bandwidth, random reads / rate, number of barriers.

A floor counts only work that every algorithm for the problem has to do, so no program reaches it. It also says which of
the three resources dominates. Comments give the reason for each count. Random reads count only for uniformly random
graphs: in skewed graphs most edges lead to a few hubs, which stay in the cache, and in grids neighbors are close.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gasla.bench.graphs import FEATURES, SELECTED, STEPS, BenchmarkGraph, Reach
from gasla.bench.limits.ceilings import Ceilings
from gasla.bench.peers import DRAWN, PAGERANK_ITERATIONS, RADIUS, WINDOW

SECTOR = 32  # bytes fetched by a random read, at least


class Floor(NamedTuple):
    """A lower bound in seconds, and the resource that dominates it."""

    seconds: float
    cause: str


class Work(NamedTuple):
    """The input of a floor."""

    n: int
    m: int
    is_scattered: bool  # whether random reads count, see `BenchmarkGraph.is_scattered`
    ceilings: Ceilings

    def floor(self, size: float, reads: float, barriers: float, vector: float | None = None) -> Floor:
        """The larger time of streaming `size` bytes and of random `reads` (they overlap), plus the barriers.

        Random reads are from an array of `vector` bytes, by default 4 bytes per vertex.
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
    """The lower bound for a call with one or several sources; None for algorithms without a count."""
    if algorithm not in COUNTS:
        return None
    work = Work(graph.graph.n, graph.graph.m, graph.is_scattered, ceilings)
    return COUNTS[algorithm](work, [graph.reach(s) for s in sources])


Count = Callable[[Work, list[Reach]], Floor]


def streamed(size: Callable[[int, int], float], barriers: int = 1) -> Count:
    """A count of bytes read or written once, as a function of n and m."""
    return lambda work, _: work.floor(size(work.n, work.m), 0, barriers)


def gathered(
    size: Callable[[int, int], float], reads: Callable[[int, int], float], barriers: int = 1, wide: int = 4
) -> Count:
    """A count of bytes, and of random reads from an array of `wide` bytes per vertex."""
    return lambda work, _: work.floor(size(work.n, work.m), reads(work.n, work.m), barriers, wide * work.n)


def times(count: float, once: Count) -> Count:
    """`count` repetitions."""

    def repeated(work: Work, reaches: list[Reach]) -> Floor:
        found = once(work, reaches)
        return Floor(count * found.seconds, found.cause)

    return repeated


def after(first: Count, second: Count) -> Count:
    """Two counts in sequence; the dominating resource is that of the second."""

    def both(work: Work, reaches: list[Reach]) -> Floor:
        one, other = first(work, reaches), second(work, reaches)
        return Floor(one.seconds + other.seconds, other.cause)

    return both


def searched(fields: int, all_at_once: bool = False) -> Count:
    """A search: writes `fields` bytes per vertex; each reached vertex reads its row offsets and a sector of its row;
    one barrier per level.
    """

    def search(work: Work, reaches: list[Reach]) -> Floor:
        found = max(reaches, key=lambda reach: reach.depth) if all_at_once else reaches[0]
        size = fields * (len(reaches) if all_at_once and fields == 4 else 1) * work.n
        return work.floor(size + found.vertices * (8 + SECTOR), found.vertices, found.depth)

    return search


def relaxed(work: Work, reaches: list[Reach]) -> Floor:
    """Shortest paths: every edge, its weight and the distance at its end are read once; one barrier per level."""
    return work.floor(8 * work.m + 4 * (len(reaches) + 1) * work.n, work.m, max(found.depth for found in reaches))


def dependencies(work: Work, reaches: list[Reach]) -> Floor:
    """Betweenness: from every source, a search and two passes over all edges with 8-byte values at their ends."""
    total, cause = 0.0, ""
    for found in reaches:
        sums = work.floor(2 * (4 * work.m + 32 * work.n), 2 * work.m, 2 * found.depth, vector=8 * work.n)
        total, cause = total + LEVELS(work, [found]).seconds + sums.seconds, sums.cause
    return Floor(total, cause)


def features(work: Work, _: list[Reach]) -> Floor:
    """Every edge, its weight, and the row of features at its end; rows fill whole cache lines, so only bytes count.

    If neighbors are close to each other, each row is fetched from memory only once.
    """
    rows = work.m if work.is_scattered else work.n
    return work.floor(8 * work.m + 4 * FEATURES * (rows + work.n), 0, 1)


def walks(work: Work, _: list[Reach]) -> Floor:
    """Each step reads a list offset and one entry, both at random, and writes a vertex."""
    return work.floor(4 * STEPS * work.n, 2 * STEPS * work.n, 0, vector=4 * (work.n + work.m))


def samples(work: Work, _: list[Reach]) -> Floor:
    """Each vertex reads its list offset and `DRAWN` entries, all at random."""
    return work.floor(4 * DRAWN * work.n, (1 + min(DRAWN, work.m / work.n)) * work.n, 0, vector=4 * work.m)


LEVELS = searched(4)
ITERATION = gathered(
    lambda n, m: 4 * m + 24 * n, lambda n, m: m
)  # every edge, the value at its end; six numbers per vertex
EVERY_EDGE = gathered(
    lambda n, m: 4 * m + 16 * n, lambda n, m: m
)  # every edge, the value at its end; row offsets, two numbers per vertex
FIXED = gathered(
    lambda n, m: 4 * m + 24 * n, lambda n, m: m, wide=8
)  # one iteration: edges, 8-byte scores read and written
CUTS = gathered(lambda n, m: 2 * m + 4 * n, lambda n, m: m / 2)  # every undirected edge, from one end
ONCE = streamed(
    lambda n, m: 2 * m + 4 * n
)  # each edge in one direction; how often lists are read again depends on the graph
SUPPORT = streamed(lambda n, m: 10 * m + 4 * n)  # as ONCE, and eight bytes written per stored edge
SELECTED_TWICE = gathered(
    lambda n, m: SELECTED * 8 * m + 12 * n, lambda n, m: SELECTED * 2 * m, 2
)  # forward and backward
ONE_WAY = gathered(
    lambda n, m: 2 * m + 12 * n, lambda n, m: m / 2
)  # each edge, the count of remaining in-edges at its end; a count, a level and a position per vertex
FREE = gathered(lambda n, m: 4 * m + 5 * n, lambda n, m: m)  # each edge, whether its end is matched; a byte and a mate
RESIDUAL = gathered(
    lambda n, m: 28 * m + 8 * n, lambda n, m: m, 2
)  # one search: the end, capacity and flow of each edge

COUNTS: dict[str, Count] = {
    "levels": LEVELS,
    "bfs": searched(8),  # levels and parents
    "multi_source_bfs": searched(4, all_at_once=True),
    "closeness": searched(24, all_at_once=True),  # a 64-bit word and two sums per vertex
    "harmonic": searched(24, all_at_once=True),
    "sssp": relaxed,
    "multi_source_shortest_paths": relaxed,
    "nearest_source": relaxed,
    "eccentricity": streamed(lambda n, m: 4 * n),
    "k_hop_counts": streamed(lambda n, m: 64 * (m + n)),  # counters of 64 bytes fill whole cache lines
    "effective_diameter": streamed(lambda n, m: 64 * (m + n)),
    "earliest_arrival": searched(4),
    "fastest_durations": gathered(
        lambda n, m: 32 * m + 8 * n, lambda n, m: m
    ),  # the ends, times and order of each edge
    "pagerank": times(PAGERANK_ITERATIONS, ITERATION),
    "hits": times(2 * PAGERANK_ITERATIONS, ITERATION),  # along both directions
    "personal_pageranks": times(  # eight numbers at the end of an edge, and eight per vertex read and written
        PAGERANK_ITERATIONS, gathered(lambda n, m: 4 * m + 128 * n, lambda n, m: m, wide=32)
    ),
    "katz": FIXED,
    "eigenvector": FIXED,
    "shortest_path": streamed(lambda n, m: 8, 0),  # the path may be one edge
    "k_shortest_paths": streamed(lambda n, m: 8, 0),
    "bipartite": streamed(lambda n, m: 8, 0),  # a few edges may form an odd cycle
    "bridges": CUTS,
    "articulation_points": CUTS,
    "aggregate_features": features,
    "components": gathered(lambda n, m: 16 * n, lambda n, m: n),  # the label of one neighbor; most edges can be skipped
    "strong_components": SELECTED_TWICE,
    "condensation": after(SELECTED_TWICE, gathered(lambda n, m: SELECTED * 4 * m + 8 * n, lambda n, m: SELECTED * m)),
    "ego_graph": streamed(lambda n, m: n, RADIUS),  # one byte per vertex marks the members
    "triangles": ONCE,
    "clustering": ONCE,
    "directed_clustering": streamed(lambda n, m: SELECTED * 4 * m + 4 * n),
    "scan_statistics": ONCE,
    "spectral_embedding": FIXED,
    "square_clustering": ONCE,
    "four_cliques": ONCE,
    "layout": ONCE,
    "geolocate": ONCE,
    "motif_counts": ONCE,
    "triadic_census": ONCE,
    "edge_support": SUPPORT,
    "k_truss": SUPPORT,  # computed at least once
    "jaccard": SUPPORT,
    "adamic_adar": SUPPORT,
    "shared_nearest_neighbors": SUPPORT,
    "top_k_similar": streamed(lambda n, m: 4 * m * m / max(n, 1)),  # for each edge, the list at its end, of mean length
    "core_number": gathered(lambda n, m: 2 * m + 12 * n, lambda n, m: m / 2),  # each edge from the end removed first
    "label_propagation": times(2, EVERY_EDGE),  # two passes are needed to move a label further than one step
    "synchronous_labels": times(2, EVERY_EDGE),
    "louvain_communities": times(2, EVERY_EDGE),
    "modularity": EVERY_EDGE,
    "pagerank_nibble": streamed(lambda n, m: 8 * n),  # the scores; the number of pushes depends on the graph
    "random_walks": walks,
    "node2vec_walks": walks,
    "sample_neighbors": samples,
    "negative_edges": gathered(lambda n, m: 16 * n, lambda n, m: n),  # one edge near each pair is read at least
    "split_edges": streamed(lambda n, m: 12 * m),  # the end of each edge is read, and its number written
    "walk_pairs": streamed(lambda n, m: WINDOW * (STEPS + 1 - WINDOW) * n, 0),  # eight bytes for each pair
    "maximal_independent_set": gathered(
        lambda n, m: (13 + SECTOR) * n, lambda n, m: n
    ),  # one entry of each row, and the rank of that neighbor
    "greedy_color": gathered(lambda n, m: 4 * m + 8 * n, lambda n, m: m),  # the color at the end of each edge
    "maximal_matching": FREE,
    "bipartite_matching": FREE,  # of each edge once
    "weighted_matching": gathered(lambda n, m: 8 * m + 5 * n, lambda n, m: m),  # as FREE, with weights
    "minimum_spanning_forest": gathered(
        lambda n, m: 8 * m + 12 * n, lambda n, m: m, 4
    ),  # weights, and the trees of both ends
    "topological_order": ONE_WAY,
    "longest_path": after(ONE_WAY, gathered(lambda n, m: 4 * m + 8 * n, lambda n, m: m / 2)),  # again, with weights
    "maximum_flow": RESIDUAL,
    "minimum_cut": RESIDUAL,
    "betweenness": dependencies,
    "edge_betweenness": after(streamed(lambda n, m: 8 * m, 0), dependencies),  # one number per edge is written, too
    "mxv": gathered(lambda n, m: 8 * m + 12 * n, lambda n, m: m, 0),  # each entry, and the vector element it multiplies
    "row sums": streamed(lambda n, m: 4 * m + 8 * n, 0),  # products that don't read the vector
    "mxm": streamed(lambda n, m: 16 * m, 0),  # both matrices are read; the size of the result depends on them
    "mxm_masked": streamed(lambda n, m: 6 * m, 0),  # half the entries are read, and one count per entry written
}
