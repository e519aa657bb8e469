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

SECTOR = 32  # smallest number of bytes that one random read fetches, even if fewer are needed


class Floor(NamedTuple):
    """A lower bound for the time of a call in seconds, and the hardware resource that takes most of this time.

    The resource is one of "bytes", "random reads" and "barriers".
    """

    seconds: float
    cause: str


class Work(NamedTuple):
    """The data from which a lower bound is computed: the size of the graph, and the measured speed of the machine."""

    n: int
    m: int
    # whether random reads are counted, because they miss the cache (see `BenchmarkGraph.is_scattered`)
    is_scattered: bool
    ceilings: Ceilings

    def floor(self, size: float, reads: float, barriers: float, vector: float | None = None) -> Floor:
        """Return a lower bound for a call that streams `size` bytes, makes random `reads` and waits at `barriers`.

        Streaming and random reads overlap, so that only the longer of both times counts. Waiting at barriers is added.
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
    """Return the lower bound for a call of an algorithm, or None for algorithms whose work is not counted."""
    if algorithm not in COUNTS:
        return None
    # products of matrices have a lower bound, but no entry in TASKS
    if algorithm in TASKS and TASKS[algorithm].on_part:
        graph, sources = graph.part, graph.part.sources[: len(sources)]
    work = Work(graph.graph.n, graph.graph.m, graph.is_scattered, ceilings)
    return COUNTS[algorithm](work, [graph.reach(s) for s in sources])


Count = Callable[[Work, list[Reach]], Floor]


def streamed(m: float = 0, n: float = 0, bytes: float = 0, barriers: int = 1) -> Count:
    """Return a function that computes a lower bound for the time of reading or writing all of a graph's arrays once.

    The work reads or writes `m` bytes per edge, `n` bytes per vertex, and `bytes` more, each once.
    """
    return gathered(m, n, 0, 0, bytes, barriers)


def sized(size: Callable[[int, int], float]) -> Count:
    """Return a function that bounds the time of streaming `size(n, m)` bytes for n vertices and m edges."""
    return lambda work, _: work.floor(size(work.n, work.m), 0, 1)


def gathered(
    m: float = 0, n: float = 0, at_m: float = 1, at_n: float = 0, bytes: float = 0, barriers: int = 1, wide: int = 4
) -> Count:
    """Return a function that computes a lower bound for the time of reading a value at the end of each edge, at random
    positions.

    It streams `m` bytes per edge, `n` bytes per vertex, and `bytes` more. It makes `at_m` random reads per edge and
    `at_n` per vertex, from an array of `wide` bytes per vertex.
    """

    def count(work: Work, _: list[Reach]) -> Floor:
        reads = at_m * work.m + at_n * work.n
        return work.floor(m * work.m + n * work.n + bytes, reads, barriers, wide * work.n)

    return count


def times(count: float, once: Count) -> Count:
    """Return a function that computes a lower bound for the time of doing some work `count` times. `once` is the bound
    for doing it once.
    """

    def repeated(work: Work, reaches: list[Reach]) -> Floor:
        floor = once(work, reaches)
        return Floor(count * floor.seconds, floor.cause)

    return repeated


def after(first: Count, second: Count) -> Count:
    """Return a function that adds the lower bounds for the times of two phases, of which one runs after the other.

    The dominating resource that it reports is that of the second phase.
    """

    def both(work: Work, reaches: list[Reach]) -> Floor:
        first_floor, second_floor = first(work, reaches), second(work, reaches)
        return Floor(first_floor.seconds + second_floor.seconds, second_floor.cause)

    return both


def searched(fields: int, all_at_once: bool = False) -> Count:
    """Return a function that computes a lower bound for the time of breadth-first searches, with one barrier per level.

    The search writes `fields` bytes per vertex. For each reached vertex it reads the row offsets and one sector of the
    row. With `all_at_once`, the searches from all sources share their levels.
    """

    def search(work: Work, reaches: list[Reach]) -> Floor:
        deepest = max(reaches, key=lambda reach: reach.depth) if all_at_once else reaches[0]
        size = fields * (len(reaches) if all_at_once and fields == 4 else 1) * work.n
        return work.floor(size + deepest.vertices * (8 + SECTOR), deepest.vertices, deepest.depth)

    return search


def relaxed(work: Work, reaches: list[Reach]) -> Floor:
    """Return a lower bound for the time of shortest paths.

    Every edge, its weight and the distance at its end are read once. There is one barrier per level.
    """
    return work.floor(8 * work.m + 4 * (len(reaches) + 1) * work.n, work.m, max(reach.depth for reach in reaches))


def dependencies(work: Work, reaches: list[Reach]) -> Floor:
    """Return a lower bound for the time of betweenness centrality.

    For each source, there is a search, and two passes that read all edges and 8-byte values at the ends of the edges.
    """
    total, cause = 0.0, ""
    for reach in reaches:
        sums = work.floor(2 * (4 * work.m + 32 * work.n), 2 * work.m, 2 * reach.depth, vector=8 * work.n)
        total, cause = total + LEVELS(work, [reach]).seconds + sums.seconds, sums.cause
    return Floor(total, cause)


def features(work: Work, _: list[Reach]) -> Floor:
    """Return a lower bound for the time of aggregating the features of neighbors.

    Every edge, its weight, and the row of features at its end are read. A row fills whole cache lines, so only bytes
    count and not random reads. In graphs whose neighbors are close in memory, each row is fetched only once.
    """
    fetched = work.m if work.is_scattered else work.n
    return work.floor(8 * work.m + 4 * FEATURES * (fetched + work.n), 0, 1)


def walks(work: Work, _: list[Reach]) -> Floor:
    """Return a lower bound for the time of random walks.

    Each step reads a row offset and one entry of the row, both at random, and writes a vertex.
    """
    return work.floor(4 * STEPS * work.n, 2 * STEPS * work.n, 0, vector=4 * (work.n + work.m))


def samples(work: Work, _: list[Reach]) -> Floor:
    """Return a lower bound for the time of neighbor sampling.

    Each vertex reads its row offset and `DRAWN` entries of its row, all at random.
    """
    return work.floor(4 * DRAWN * work.n, (1 + min(DRAWN, work.m / work.n)) * work.n, 0, vector=4 * work.m)


LEVELS = searched(4)
# one iteration of an algorithm: reads every edge and the value at its end, and six 4-byte numbers per vertex
ITERATION = gathered(4, 24)
# one pass over the graph: reads every edge and the value at its end, and per vertex its row offset and two numbers
EVERY_EDGE = gathered(4, 16)
# one iteration of an algorithm with 8-byte scores: reads every edge and the score at its end, writes a score per vertex
FIXED = gathered(4, 24, wide=8)
CUTS = gathered(2, 4, 1 / 2)  # one pass that reads every undirected edge from one of its ends
# A pass that reads each undirected edge in one direction. How often it has to read a row again depends on the graph, so
# such reads aren't counted.
ONCE = streamed(2, 4)
# a pass that reads each undirected edge in one direction, and writes eight bytes per stored edge
SUPPORT = streamed(10, 4)
# Two passes over a directed graph, one along its edges and one against their direction. The directed graph has the
# fraction SELECTED of the stored edges. For each of its edges, each pass reads 4 bytes in order and one value at
# random.
SELECTED_TWICE = gathered(SELECTED * 8, 12, SELECTED * 2, barriers=2)
# A topological order of an acyclic graph: for each edge, the number of remaining in-edges of its end is read. Per
# vertex, this number, a level and a position are written.
ONE_WAY = gathered(2, 12, 1 / 2)
# A matching: each edge is read, and whether the vertex at its end is matched. Per vertex, a byte for that and the id of
# its mate are written.
FREE = gathered(4, 5)
# one search for an augmenting path of a flow, which reads the end, the capacity and the flow of each edge
RESIDUAL = gathered(28, 8, barriers=2)
# Reading one edge (8 bytes) may be enough: a path may be one edge long, or a short odd cycle may show that a graph is
# not bipartite.
ONE_EDGE = streamed(bytes=8, barriers=0)

COUNTS: dict[str, Count] = {
    "levels": LEVELS,
    "bfs": searched(8),  # writes a level and a parent per vertex, 4 bytes each
    "multi_source_bfs": searched(4, all_at_once=True),
    # Per vertex, 24 bytes are written: a 64-bit word with a bit for each search, and two sums.
    **dict.fromkeys(("closeness", "harmonic"), searched(24, all_at_once=True)),
    **dict.fromkeys(("sssp", "multi_source_shortest_paths", "nearest_source"), relaxed),
    # reads for each edge the 64 bytes of counters at its end, which fill whole cache lines
    "effective_diameter": streamed(64, 64),
    "earliest_arrival": LEVELS,
    # Each edge takes 32 bytes: both ends, the time, and the position of the edge in the order of times.
    "fastest_durations": gathered(32, 8),
    "pagerank": times(PAGERANK_ITERATIONS, ITERATION),
    # each iteration of HITS goes along the edges, and then against their direction
    "hits": times(2 * PAGERANK_ITERATIONS, ITERATION),
    # PageRank for eight sources together: eight scores are read at the end of each edge, and read and written per
    # vertex.
    "personal_pageranks": times(PAGERANK_ITERATIONS, gathered(4, 128, wide=32)),
    **dict.fromkeys(("katz", "eigenvector", "spectral_embedding"), FIXED),
    **dict.fromkeys(("shortest_path", "k_shortest_paths", "bipartite"), ONE_EDGE),
    **dict.fromkeys(("bridges", "articulation_points"), CUTS),
    "aggregate_features": features,
    # Per vertex, only the label of one neighbor is read, because algorithms can skip most edges.
    "components": gathered(0, 16, 0, 1),
    "strong_components": SELECTED_TWICE,
    "condensation": after(SELECTED_TWICE, gathered(SELECTED * 4, 8, SELECTED)),
    # writes one byte per vertex, which says whether the vertex is in the ego graph
    "ego_graph": streamed(n=1, barriers=RADIUS),
    **dict.fromkeys(("triangles", "clustering", "scan_statistics", "square_clustering", "four_cliques"), ONCE),
    **dict.fromkeys(("layout", "geolocate", "motif_counts", "triadic_census"), ONCE),
    "directed_clustering": streamed(SELECTED * 4, 4),
    # k_truss counts the triangles at each edge at least once, as edge_support does
    **dict.fromkeys(("edge_support", "k_truss"), SUPPORT),
    **dict.fromkeys(("jaccard", "adamic_adar", "shared_nearest_neighbors"), SUPPORT),
    # For each of the m edges, the row of the vertex at its end is read, which has m / n entries of 4 bytes on average.
    "top_k_similar": sized(lambda n, m: 4 * m * m / max(n, 1)),
    # peeling reads each undirected edge once, from the end that is removed first
    "core_number": gathered(2, 12, 1 / 2),
    # At least two passes over all edges are counted, because in one pass a label moves by one edge only.
    **dict.fromkeys(
        ("label_propagation", "synchronous_labels", "louvain_communities", "leiden_communities", "partition"),
        times(2, EVERY_EDGE),
    ),
    "modularity": EVERY_EDGE,
    # 8-byte scores are written. The number of pushes depends on the graph, so pushes aren't counted.
    "pagerank_nibble": streamed(n=8),
    **dict.fromkeys(("random_walks", "node2vec_walks"), walks),
    "sample_neighbors": samples,
    # reads for each sampled pair at least one entry of a row, to see whether the pair is an edge
    "negative_edges": gathered(0, 16, 0, 1),
    "split_edges": streamed(12),  # reads the end of each edge, and writes the id of the edge into one of the sets
    # eight bytes are written for each pair of vertices
    "walk_pairs": streamed(n=WINDOW * (STEPS + 1 - WINDOW), barriers=0),
    # Each vertex reads one entry of its row, and the rank of that neighbor.
    "maximal_independent_set": gathered(0, 13 + SECTOR, 0, 1),
    "greedy_color": gathered(4, 8),  # reads the color of the vertex at the end of each edge
    # The graph of bipartite_matching, a double cover, has one undirected edge for each stored edge of the benchmark
    # graph.
    **dict.fromkeys(("maximal_matching", "bipartite_matching"), FREE),
    "weighted_matching": gathered(8, 5),  # reads what maximal_matching reads, and the weight of each edge
    # Each edge, its weight, and the trees that its two ends are in are read.
    "minimum_spanning_forest": gathered(8, 12, barriers=4),
    "topological_order": ONE_WAY,
    # orders the vertices, and then reads the weights of edges in a second pass
    "longest_path": after(ONE_WAY, gathered(4, 8, 1 / 2)),
    **dict.fromkeys(("maximum_flow", "minimum_cut"), RESIDUAL),
    "betweenness": dependencies,
    # This does the same work as betweenness, and writes one number per edge.
    "edge_betweenness": after(streamed(8, barriers=0), dependencies),
    # writes three numbers per vertex: an entry of both orders, preorder and postorder, and a parent
    "depth_first_order": gathered(4, 20),
    "dominators": gathered(SELECTED * 4, 12, SELECTED),
    **dict.fromkeys(("alternative_paths", "simple_paths"), ONE_EDGE),
    **dict.fromkeys(("simple_cycles", "cycle_basis", "maximal_cliques", "subgraph_matches", "project"), ONCE),
    **dict.fromkeys(("transitivity", "average_clustering"), ONCE),
    "find_cycle": ONE_WAY,
    "steiner_tree": relaxed,
    "transitive_closure": sized(lambda n, m: 2 * m + n * n / 8),  # writes one bit for each pair of vertices
    "transitive_reduction": streamed(2.5, 4),  # reads each edge once, and writes a byte for it
    "latest_departure": LEVELS,
    "temporal_reachability": searched(1, all_at_once=True),
    # these read both ends and the time of each edge
    **dict.fromkeys(("temporal_cycles", "temporal_motif_counts"), streamed(12, 4)),
    "article_rank": FIXED,
    "salsa": times(2, FIXED),
    "top_k_pagerank": gathered(4, 128, wide=32),  # does at least one iteration, for eight sources together
    "number_of_shortest_paths": searched(12),  # writes a level and a number of paths per vertex
    # One number per vertex is written. A sampled set may be a single vertex, but each vertex is in at least one sampled
    # set.
    "influence_maximization": streamed(n=4),
    **dict.fromkeys(("is_biconnected", "chain_decomposition"), CUTS),
    "partition_table": gathered(4, 8),
    "partition_quality": gathered(4, 8),
    "k_core": gathered(2, 12, 1 / 2),  # does the same work as core_number
    # There are three iterations, each of which reads the 8-byte color of the vertex at the end of each edge.
    **dict.fromkeys(("weisfeiler_lehman_colors", "weisfeiler_lehman_hash"), times(3, gathered(4, 24, wide=8))),
    # Vertices get new colors from their neighbors' colors at least once, in each of the two graphs.
    **dict.fromkeys(("is_isomorphic", "isomorphisms"), times(2, gathered(4, 24, wide=8))),
    "randomized": streamed(16),  # reads and writes both ends of each edge
    "null_model": times(2, streamed(16)),
    "draw": streamed(8, 16),
    **dict.fromkeys(("spectral_clustering", "fiedler_vector"), FIXED),
    **dict.fromkeys(("overlap", "sorensen", "cosine", "resource_allocation"), SUPPORT),
    # For each edge, the degrees of both ends are read, and their product is written.
    "preferential_attachment": gathered(12, 4),
    **dict.fromkeys(("k_nearest_neighbors", "nearest_neighbors_graph"), streamed(bytes=4 * FEATURES * POINTS)),
    "fastrp": features,
    # writes a graph that has nearly all pairs of vertices as edges, with 4 bytes for each
    "complement": sized(lambda n, m: 4 * n * n),
    # The line graph has m / n edges, on average, for each edge of the graph.
    "line_graph": sized(lambda n, m: 4 * m * m / max(n, 1)),
    "assignment": sized(lambda n, m: 8 * FEATURES * n),
    "minimum_cost_flow": streamed(20),
    "global_minimum_cut": streamed(4, 4),
    **dict.fromkeys(("temporal_walks", "metapath_walks", "walk"), walks),
    "loader": streamed(bytes=4 * LOADED * (1 + DRAWN + DRAWN**2)),
    "edge_softmax": streamed(8, barriers=2),  # reads the score of each edge, and writes its softmax
    "edge_softmax_gradient": streamed(12, barriers=2),
    "ranking_metrics": streamed(4, 8 * RANKED),
    "vxm": gathered(8, 12, barriers=0),  # does the same work as mxv
    "top_k": streamed(8, 4, barriers=0),
    # The ids and values of edges are written once for each graph of the batch.
    "batch": streamed(4 + 8 * TOGETHER, 4 * TOGETHER, barriers=0),
    "compare_partitions": streamed(n=8),
    "reduce_by_key": streamed(8, 4),
    # reads each stored entry of the matrix, and the element of the vector that the entry is multiplied by
    "mxv": gathered(8, 12, barriers=0),
    "row sums": streamed(4, 8, barriers=0),  # sums the rows of a matrix, so no vector has to be read
    # Both matrices are read. The size of the product depends on the matrices, so writing the product isn't counted.
    "mxm": streamed(16, barriers=0),
    # Half of the matrix's entries are read, and one count is written per entry of the product.
    "mxm_masked": streamed(6, barriers=0),
}
COUNTS |= {task.name: sized(task.size) for row in rows() for task in row.tasks if task.size is not None}
