"""Lower bounds of times on this machine: bytes / bandwidth, random reads / rate, number of barriers.

A floor counts only work that every algorithm for the problem has to do, so no program reaches it. It also says which of
the three resources dominates. Comments give the reason for each count. Random reads count only for uniformly random
graphs: in skewed graphs most edges lead to a few hubs, which stay in the cache, and in grids neighbors are close.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gasla.bench.graphs import FEATURES, POINTS, RANKED, SELECTED, STEPS, BenchmarkGraph, Reach
from gasla.bench.limits.ceilings import Ceilings
from gasla.bench.peers import DRAWN, PAGERANK_ITERATIONS, RADIUS, WINDOW
from gasla.bench.tasks import LOADED, TASKS, TOGETHER
from gasla.rows import rows

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
        """Return the larger time of streaming `size` bytes and of random `reads` (they overlap), plus the barriers.

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
    """Return the lower bound for a call with one or several sources, or None for algorithms without a count."""
    if algorithm not in COUNTS:
        return None
    if algorithm in TASKS and TASKS[algorithm].on_part:  # a product is no task
        graph, sources = graph.part, graph.part.sources[: len(sources)]
    work = Work(graph.graph.n, graph.graph.m, graph.is_scattered, ceilings)
    return COUNTS[algorithm](work, [graph.reach(s) for s in sources])


Count = Callable[[Work, list[Reach]], Floor]


def streamed(m: float = 0, n: float = 0, bytes: float = 0, barriers: int = 1) -> Count:
    """Return a function that counts bytes read or written once: `m` per edge, `n` per vertex, and `bytes` more."""
    return gathered(m, n, 0, 0, bytes, barriers)


def sized(size: Callable[[int, int], float]) -> Count:
    """Return a function that counts bytes read or written once, from the numbers of vertices and edges."""
    return lambda work, _: work.floor(size(work.n, work.m), 0, 1)


def gathered(
    m: float = 0, n: float = 0, at_m: float = 1, at_n: float = 0, bytes: float = 0, barriers: int = 1, wide: int = 4
) -> Count:
    """Return what `streamed` returns, with random reads from an array of `wide` bytes per vertex.

    There are `at_m` random reads per edge, and `at_n` per vertex.
    """

    def count(work: Work, _: list[Reach]) -> Floor:
        reads = at_m * work.m + at_n * work.n
        return work.floor(m * work.m + n * work.n + bytes, reads, barriers, wide * work.n)

    return count


def times(count: float, once: Count) -> Count:
    """Return the count of `count` repetitions."""

    def repeated(work: Work, reaches: list[Reach]) -> Floor:
        floor = once(work, reaches)
        return Floor(count * floor.seconds, floor.cause)

    return repeated


def after(first: Count, second: Count) -> Count:
    """Return two counts in sequence. The dominating resource is the second one's."""

    def both(work: Work, reaches: list[Reach]) -> Floor:
        one, other = first(work, reaches), second(work, reaches)
        return Floor(one.seconds + other.seconds, other.cause)

    return both


def searched(fields: int, all_at_once: bool = False) -> Count:
    """Count a search, with one barrier per level.

    It writes `fields` bytes per vertex. Each reached vertex reads its row offsets and a sector of its row.
    """

    def search(work: Work, reaches: list[Reach]) -> Floor:
        deepest = max(reaches, key=lambda reach: reach.depth) if all_at_once else reaches[0]
        size = fields * (len(reaches) if all_at_once and fields == 4 else 1) * work.n
        return work.floor(size + deepest.vertices * (8 + SECTOR), deepest.vertices, deepest.depth)

    return search


def relaxed(work: Work, reaches: list[Reach]) -> Floor:
    """Return the floor of shortest paths.

    Every edge, its weight and the distance at its end are read once. There is one barrier per level.
    """
    return work.floor(8 * work.m + 4 * (len(reaches) + 1) * work.n, work.m, max(reach.depth for reach in reaches))


def dependencies(work: Work, reaches: list[Reach]) -> Floor:
    """Return the floor of betweenness.

    From every source, a search and two passes read all edges with 8-byte values at their ends.
    """
    total, cause = 0.0, ""
    for reach in reaches:
        sums = work.floor(2 * (4 * work.m + 32 * work.n), 2 * work.m, 2 * reach.depth, vector=8 * work.n)
        total, cause = total + LEVELS(work, [reach]).seconds + sums.seconds, sums.cause
    return Floor(total, cause)


def features(work: Work, _: list[Reach]) -> Floor:
    """Return the floor of reading every edge, its weight, and the row of features at its end.

    Rows fill whole cache lines, so only bytes count.

    If neighbors are close to each other, each row is fetched from memory only once.
    """
    fetched = work.m if work.is_scattered else work.n
    return work.floor(8 * work.m + 4 * FEATURES * (fetched + work.n), 0, 1)


def walks(work: Work, _: list[Reach]) -> Floor:
    """Return the floor of walks. Each step reads a list offset and one entry, both at random, and writes a vertex."""
    return work.floor(4 * STEPS * work.n, 2 * STEPS * work.n, 0, vector=4 * (work.n + work.m))


def samples(work: Work, _: list[Reach]) -> Floor:
    """Return the floor of samples. Each vertex reads its list offset and `DRAWN` entries, all at random."""
    return work.floor(4 * DRAWN * work.n, (1 + min(DRAWN, work.m / work.n)) * work.n, 0, vector=4 * work.m)


LEVELS = searched(4)
ITERATION = gathered(4, 24)  # every edge, the value at its end; six numbers per vertex
EVERY_EDGE = gathered(4, 16)  # every edge, the value at its end; row offsets, two numbers per vertex
FIXED = gathered(4, 24, wide=8)  # one iteration: edges, 8-byte scores read and written
CUTS = gathered(2, 4, 1 / 2)  # every undirected edge, from one end
ONCE = streamed(2, 4)  # each edge in one direction; how often lists are read again depends on the graph
SUPPORT = streamed(10, 4)  # as ONCE, and eight bytes written per stored edge
SELECTED_TWICE = gathered(SELECTED * 8, 12, SELECTED * 2, barriers=2)  # forward and backward
# Each edge, the count of remaining in-edges at its end; a count, a level and a position per vertex.
ONE_WAY = gathered(2, 12, 1 / 2)
FREE = gathered(4, 5)  # each edge, and whether its end is matched; per vertex a byte for that, and its mate
RESIDUAL = gathered(28, 8, barriers=2)  # one search: the end, capacity and flow of each edge
ONE_EDGE = streamed(bytes=8, barriers=0)  # the path may be one edge, and a few edges may form an odd cycle

COUNTS: dict[str, Count] = {
    "levels": LEVELS,
    "bfs": searched(8),  # levels and parents
    "multi_source_bfs": searched(4, all_at_once=True),
    **dict.fromkeys(("closeness", "harmonic"), searched(24, all_at_once=True)),  # a 64-bit word and two sums per vertex
    **dict.fromkeys(("sssp", "multi_source_shortest_paths", "nearest_source"), relaxed),
    "effective_diameter": streamed(64, 64),  # counters of 64 bytes fill whole cache lines
    "earliest_arrival": LEVELS,
    "fastest_durations": gathered(32, 8),  # the ends, times and order of each edge
    "pagerank": times(PAGERANK_ITERATIONS, ITERATION),
    "hits": times(2 * PAGERANK_ITERATIONS, ITERATION),  # along both directions
    # Eight numbers at the end of an edge, and eight per vertex read and written.
    "personal_pageranks": times(PAGERANK_ITERATIONS, gathered(4, 128, wide=32)),
    **dict.fromkeys(("katz", "eigenvector", "spectral_embedding"), FIXED),
    **dict.fromkeys(("shortest_path", "k_shortest_paths", "bipartite"), ONE_EDGE),
    **dict.fromkeys(("bridges", "articulation_points"), CUTS),
    "aggregate_features": features,
    "components": gathered(0, 16, 0, 1),  # the label of one neighbor; most edges can be skipped
    "strong_components": SELECTED_TWICE,
    "condensation": after(SELECTED_TWICE, gathered(SELECTED * 4, 8, SELECTED)),
    "ego_graph": streamed(n=1, barriers=RADIUS),  # one byte per vertex marks the members
    **dict.fromkeys(("triangles", "clustering", "scan_statistics", "square_clustering", "four_cliques"), ONCE),
    **dict.fromkeys(("layout", "geolocate", "motif_counts", "triadic_census"), ONCE),
    "directed_clustering": streamed(SELECTED * 4, 4),
    **dict.fromkeys(("edge_support", "k_truss"), SUPPORT),  # k_truss computes it at least once
    **dict.fromkeys(("jaccard", "adamic_adar", "shared_nearest_neighbors"), SUPPORT),
    "top_k_similar": sized(lambda n, m: 4 * m * m / max(n, 1)),  # for each edge, the list at its end, of mean length
    "core_number": gathered(2, 12, 1 / 2),  # each edge from the end removed first
    # Two passes are needed to move a label further than one step.
    **dict.fromkeys(
        ("label_propagation", "synchronous_labels", "louvain_communities", "leiden_communities", "partition"),
        times(2, EVERY_EDGE),
    ),
    "modularity": EVERY_EDGE,
    "pagerank_nibble": streamed(n=8),  # the scores; the number of pushes depends on the graph
    **dict.fromkeys(("random_walks", "node2vec_walks"), walks),
    "sample_neighbors": samples,
    "negative_edges": gathered(0, 16, 0, 1),  # one edge near each pair is read at least
    "split_edges": streamed(12),  # the end of each edge is read, and its number written
    "walk_pairs": streamed(n=WINDOW * (STEPS + 1 - WINDOW), barriers=0),  # eight bytes for each pair
    "maximal_independent_set": gathered(0, 13 + SECTOR, 0, 1),  # one entry of each row, and the rank of that neighbor
    "greedy_color": gathered(4, 8),  # the color at the end of each edge
    # The graph of bipartite_matching has one edge for each stored edge of the given graph.
    **dict.fromkeys(("maximal_matching", "bipartite_matching"), FREE),
    "weighted_matching": gathered(8, 5),  # as FREE, and the weight of each edge
    "minimum_spanning_forest": gathered(8, 12, barriers=4),  # each edge, its weight, and the trees of both its ends
    "topological_order": ONE_WAY,
    "longest_path": after(ONE_WAY, gathered(4, 8, 1 / 2)),  # the second pass reads weights
    **dict.fromkeys(("maximum_flow", "minimum_cut"), RESIDUAL),
    "betweenness": dependencies,
    "edge_betweenness": after(streamed(8, barriers=0), dependencies),  # one number per edge is written, too
    "depth_first_order": gathered(4, 20),  # three numbers per vertex are written
    "dominators": gathered(SELECTED * 4, 12, SELECTED),
    **dict.fromkeys(("alternative_paths", "simple_paths"), ONE_EDGE),
    **dict.fromkeys(("simple_cycles", "cycle_basis", "maximal_cliques", "subgraph_matches", "project"), ONCE),
    **dict.fromkeys(("transitivity", "average_clustering"), ONCE),
    "find_cycle": ONE_WAY,
    "steiner_tree": relaxed,
    "transitive_closure": sized(lambda n, m: 2 * m + n * n / 8),  # a bit for each pair
    "transitive_reduction": streamed(2.5, 4),  # each edge is read once, and a byte written
    "latest_departure": LEVELS,
    "temporal_reachability": searched(1, all_at_once=True),
    **dict.fromkeys(
        ("temporal_cycles", "temporal_motif_counts"), streamed(12, 4)
    ),  # the ends and the time of each edge
    "article_rank": FIXED,
    "salsa": times(2, FIXED),
    "top_k_pagerank": gathered(4, 128, wide=32),  # one iteration for eight sources
    "number_of_shortest_paths": searched(12),  # a level and a count
    "influence_maximization": streamed(n=4),  # a sample may be one vertex, but each must be in some
    **dict.fromkeys(("is_biconnected", "chain_decomposition"), CUTS),
    "partition_table": gathered(4, 8),
    "partition_quality": gathered(4, 8),
    "k_core": gathered(2, 12, 1 / 2),  # as core_number
    # An 8-byte color at the end of each edge, in each of three rounds.
    **dict.fromkeys(("weisfeiler_lehman_colors", "weisfeiler_lehman_hash"), times(3, gathered(4, 24, wide=8))),
    **dict.fromkeys(("is_isomorphic", "isomorphisms"), times(2, gathered(4, 24, wide=8))),  # one round, two graphs
    "randomized": streamed(16),  # both ends of each edge, read and written
    "null_model": times(2, streamed(16)),
    "draw": streamed(8, 16),
    **dict.fromkeys(("spectral_clustering", "fiedler_vector"), FIXED),
    **dict.fromkeys(("overlap", "sorensen", "cosine", "resource_allocation"), SUPPORT),
    "preferential_attachment": gathered(12, 4),  # a degree at each end, and the product
    **dict.fromkeys(("k_nearest_neighbors", "nearest_neighbors_graph"), streamed(bytes=4 * FEATURES * POINTS)),
    "fastrp": features,
    "complement": sized(lambda n, m: 4 * n * n),  # the result has nearly all pairs
    "line_graph": sized(lambda n, m: 4 * m * m / max(n, 1)),  # the result has m / n edges for each edge, in the mean
    "assignment": sized(lambda n, m: 8 * FEATURES * n),
    "minimum_cost_flow": streamed(20),
    "global_minimum_cut": streamed(4, 4),
    **dict.fromkeys(("temporal_walks", "metapath_walks", "walk"), walks),
    "loader": streamed(bytes=4 * LOADED * (1 + DRAWN + DRAWN**2)),
    "edge_softmax": streamed(8, barriers=2),  # the score of each edge, and its share
    "edge_softmax_gradient": streamed(12, barriers=2),
    "ranking_metrics": streamed(4, 8 * RANKED),
    "vxm": gathered(8, 12, barriers=0),  # as mxv
    "top_k": streamed(8, 4, barriers=0),
    "batch": streamed(4 + 8 * TOGETHER, 4 * TOGETHER, barriers=0),  # ids and values, written for each graph
    "compare_partitions": streamed(n=8),
    "reduce_by_key": streamed(8, 4),
    "mxv": gathered(8, 12, barriers=0),  # each entry, and the vector element it multiplies
    "row sums": streamed(4, 8, barriers=0),  # products that don't read the vector
    "mxm": streamed(16, barriers=0),  # both matrices are read; the size of the result depends on them
    "mxm_masked": streamed(6, barriers=0),  # half the entries are read, and one count per entry written
}
COUNTS |= {task.name: sized(task.size) for row in rows() for task in row.tasks if task.size is not None}
