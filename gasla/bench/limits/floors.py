"""The least time of a cell on this machine: bytes over its bandwidth, random reads over their rate, barriers.

A floor counts only what any way of computing the same must do, so that no program reaches it; it says which of the
three is in the way. Random reads count on flat random graphs alone: on skewed ones most edges lead to a few vertices,
which may lie near, and on grids neighbours are near each other.
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
    """The least time of a call from the first source, or for betweenness from all; None where nobody has counted."""
    if algorithm not in COUNTS:
        return None
    work = Work(graph.graph.n, graph.graph.m, graph.is_scattered, ceilings)
    return COUNTS[algorithm](work, [graph.reach(s) for s in sources])


def streamed(graph: BenchmarkGraph, size: float, ceilings: Ceilings) -> Floor:
    """The least time for so many bytes that are read or written once."""
    return Work(graph.graph.n, graph.graph.m, False, ceilings).floor(size, 0, 0)


def levels(work: Work, reaches: list[Reach], fields: int = 4) -> Floor:
    """Levels are written; every reached vertex looks up its row and a sector of it; a barrier a level."""
    found = reaches[0]
    return work.floor(fields * work.n + found.vertices * (8 + SECTOR), found.vertices, found.depth)


def bfs(work: Work, reaches: list[Reach]) -> Floor:
    """The same, and parents are written too."""
    return levels(work, reaches, fields=8)


def searches(work: Work, reaches: list[Reach]) -> Floor:
    """Levels from all sources are written; each vertex looks up its row once, and all wait for the deepest."""
    deepest = max(reaches, key=lambda found: found.depth)
    return levels(work, [deepest], fields=4 * len(reaches))


def sssp(work: Work, reaches: list[Reach]) -> Floor:
    """Every edge and its weight are read once, and the distance at its end; a barrier a level at least."""
    return work.floor(8 * work.m + 8 * work.n, work.m, reaches[0].depth)


def many_shortest_paths(work: Work, reaches: list[Reach]) -> Floor:
    """Every edge and its weight are read once, and all distances are written."""
    return work.floor(8 * work.m + 4 * len(reaches) * work.n, work.m, max(found.depth for found in reaches))


def distance_sums(work: Work, reaches: list[Reach]) -> Floor:
    """A word and two sums a vertex; each looks up its row and a sector of it, and all wait for the deepest search."""
    deepest = max(reaches, key=lambda found: found.depth)
    return levels(work, [deepest], fields=24)


def iteration(work: Work) -> Floor:
    """An iteration of PageRank: every edge, the share at its end; six numbers a vertex."""
    return work.floor(4 * work.m + 24 * work.n, work.m, 1)


def pagerank(work: Work, _: list[Reach]) -> Floor:
    """All its iterations."""
    one = iteration(work)
    return Floor(PAGERANK_ITERATIONS * one.seconds, one.cause)


def settled(work: Work, _: list[Reach]) -> Floor:
    """One step at least: edges are read once, each with a score of 8 bytes, and scores are written."""
    return work.floor(4 * work.m + (8 + 8 + 8) * work.n, work.m, 1, vector=8 * work.n)


def sides(work: Work, _: list[Reach]) -> Floor:
    """Whether there are two: an edge or two may tell that there aren't."""
    return work.floor(8, 0, 0)


def cuts(work: Work, _: list[Reach]) -> Floor:
    """Every edge is read, from either end."""
    return work.floor(2 * work.m + 4 * work.n, work.m / 2, 1)


def hits(work: Work, _: list[Reach]) -> Floor:
    """The same twice in each of them, along both directions."""
    one = iteration(work)
    return Floor(2 * PAGERANK_ITERATIONS * one.seconds, one.cause)


def personal_pageranks(work: Work, _: list[Reach]) -> Floor:
    """The same with eight numbers at the end of an edge, and as many a vertex read and written."""
    one = work.floor(4 * work.m + 4 * 8 * 4 * work.n, work.m, 1, vector=32 * work.n)
    return Floor(PAGERANK_ITERATIONS * one.seconds, one.cause)


def aggregate_features(work: Work, _: list[Reach]) -> Floor:
    """Every edge and its weight, and a row of features at its end, which fills whole lines: so bytes are what counts.

    On a graph whose neighbours are near each other a row need come from memory only once.
    """
    rows = work.m if work.is_scattered else work.n
    return work.floor(8 * work.m + 4 * FEATURES * (rows + work.n), 0, 1)


def components(work: Work, _: list[Reach]) -> Floor:
    """Every vertex looks at one neighbour's label, and gets its own; most edges need not be read."""
    return work.floor(16 * work.n, work.n, 1)


def strong_components(work: Work, _: list[Reach]) -> Floor:
    """Every selected edge is read once, and what is known of its end, forward and backward; a label a vertex."""
    return work.floor(SELECTED * 2 * 4 * work.m + 12 * work.n, SELECTED * 2 * work.m, 2)


def condensation(work: Work, reaches: list[Reach]) -> Floor:
    """As for the components; then every selected edge once more, and the components of its ends."""
    once = work.floor(SELECTED * 4 * work.m + 8 * work.n, SELECTED * work.m, 1)
    return Floor(strong_components(work, reaches).seconds + once.seconds, once.cause)


def ego_graph(work: Work, _: list[Reach]) -> Floor:
    """A byte a vertex says who is near. How many that are depends on the graph."""
    return work.floor(work.n, 0, RADIUS)


def triangles(work: Work, _: list[Reach]) -> Floor:
    """Each edge is read once, in one of its directions. How often lists must be read again depends on the graph."""
    return work.floor(2 * work.m + 4 * work.n, 0, 1)


def edge_support(work: Work, _: list[Reach]) -> Floor:
    """As for triangles, and eight bytes are written for each stored edge; a truss asks for it at least once."""
    return work.floor(10 * work.m + 4 * work.n, 0, 1)


def two_hops(work: Work, _: list[Reach]) -> Floor:
    """Of each edge the list at its end is read: n times the square of the mean degree, or more where they differ."""
    return work.floor(4 * work.m * work.m / max(work.n, 1), 0, 1)


def betweenness(work: Work, reaches: list[Reach]) -> Floor:
    """From every source a search, and twice all edges, with a number of eight bytes at their ends."""
    total, cause = 0.0, ""
    for found in reaches:
        search = levels(work, [found])
        sums = work.floor(2 * (4 * work.m + 32 * work.n), 2 * work.m, 2 * found.depth, vector=8 * work.n)
        total, cause = total + search.seconds + sums.seconds, sums.cause
    return Floor(total, cause)


def edge_betweenness(work: Work, reaches: list[Reach]) -> Floor:
    """The same; at last a number an edge is written."""
    vertices = betweenness(work, reaches)
    return Floor(vertices.seconds + work.floor(8 * work.m, 0, 0).seconds, vertices.cause)


def core_number(work: Work, _: list[Reach]) -> Floor:
    """Each edge is read once, from the end that goes first, and the degree at the other; three numbers a vertex."""
    return work.floor(4 * work.m / 2 + 12 * work.n, work.m / 2, 1)


def label_propagation(work: Work, _: list[Reach]) -> Floor:
    """In two passes, with fewer of which no label has come further than a step, each edge and the label at its end."""
    once = work.floor(4 * work.m + 16 * work.n, work.m, 1)
    return Floor(2 * once.seconds, once.cause)


def pagerank_nibble(work: Work, _: list[Reach]) -> Floor:
    """Scores are written. How far pushes go depends on the graph."""
    return work.floor(8 * work.n, 0, 1)


def random_walks(work: Work, _: list[Reach]) -> Floor:
    """A step looks up where a list begins and reads one entry of it, and both are anywhere; it writes where it led."""
    steps = STEPS * work.n
    return work.floor(4 * steps, 2 * steps, 0, vector=4 * (work.n + work.m))


def sample_neighbors(work: Work, _: list[Reach]) -> Floor:
    """A vertex looks up where its list begins, and reads so many entries of it."""
    return work.floor(4 * DRAWN * work.n, (1 + min(DRAWN, work.m / work.n)) * work.n, 0, vector=4 * work.m)


def modularity(work: Work, _: list[Reach]) -> Floor:
    """Each edge is read once, and the label at its end; two row pointers, a label and a sum a vertex."""
    return work.floor(4 * work.m + 16 * work.n, work.m, 1)


def maximal_independent_set(work: Work, _: list[Reach]) -> Floor:
    """Each vertex looks up its row and a sector of it, and a neighbour's rank; it has one itself, and an answer."""
    return work.floor((4 + 8 + SECTOR + 1) * work.n, work.n, 1)


def greedy_color(work: Work, _: list[Reach]) -> Floor:
    """Each edge is read once, and the colour at its end; two numbers a vertex."""
    return work.floor(4 * work.m + 8 * work.n, work.m, 1)


def maximal_matching(work: Work, _: list[Reach]) -> Floor:
    """Each edge is read once, and whether its end is free; a byte and a mate a vertex."""
    return work.floor(4 * work.m + 5 * work.n, work.m, 1)


def weighted_matching(work: Work, _: list[Reach]) -> Floor:
    """The same with its weight."""
    return work.floor(8 * work.m + 5 * work.n, work.m, 1)


def minimum_spanning_forest(work: Work, _: list[Reach]) -> Floor:
    """Each edge is read once with its weight, and whose tree its end is in; a tree and an edge a vertex."""
    return work.floor(8 * work.m + 12 * work.n, work.m, 4)


def topological_order(work: Work, _: list[Reach]) -> Floor:
    """Each edge in one direction is read once, and what its end waits for; a count, a level and a place a vertex."""
    return work.floor(4 * work.m / 2 + 12 * work.n, work.m / 2, 1)


def longest_path(work: Work, _: list[Reach]) -> Floor:
    """The same, and each edge once more with its weight, and the length at its end."""
    first, second = topological_order(work, []), work.floor(8 * work.m / 2 + 8 * work.n, work.m / 2, 1)
    return Floor(first.seconds + second.seconds, second.cause)


def maximum_flow(work: Work, _: list[Reach]) -> Floor:
    """A search over residual edges: of each the end, the capacity, and what was sent there and back."""
    return work.floor(28 * work.m + 8 * work.n, work.m, 2)


def product(work: Work, _: list[Reach]) -> Floor:
    """Every entry and its value are read once, and the element that it meets."""
    return work.floor(8 * work.m + 12 * work.n, work.m, 0)


def row_sums(work: Work, _: list[Reach]) -> Floor:
    """A product whose terms are the values alone."""
    return work.floor(4 * work.m + 8 * work.n, 0, 0)


COUNTS: dict[str, Callable[[Work, list[Reach]], Floor]] = {
    "levels": levels,
    "bfs": bfs,
    "multi_source_bfs": searches,
    "multi_source_shortest_paths": many_shortest_paths,
    "closeness": distance_sums,
    "harmonic": distance_sums,
    "sssp": sssp,
    "pagerank": pagerank,
    "hits": hits,
    "katz": settled,
    "eigenvector": settled,
    "bipartite": sides,
    "bridges": cuts,
    "articulation_points": cuts,
    "personal_pageranks": personal_pageranks,
    "aggregate_features": aggregate_features,
    "components": components,
    "strong_components": strong_components,
    "condensation": condensation,
    "ego_graph": ego_graph,
    "triangles": triangles,
    "clustering": triangles,
    "jaccard": edge_support,
    "adamic_adar": edge_support,
    "top_k_similar": two_hops,
    "square_clustering": triangles,
    "four_cliques": triangles,
    "edge_support": edge_support,
    "k_truss": edge_support,
    "core_number": core_number,
    "label_propagation": label_propagation,
    "louvain_communities": label_propagation,
    "pagerank_nibble": pagerank_nibble,
    "random_walks": random_walks,
    "node2vec_walks": random_walks,
    "sample_neighbors": sample_neighbors,
    "modularity": modularity,
    "maximal_independent_set": maximal_independent_set,
    "greedy_color": greedy_color,
    "maximal_matching": maximal_matching,
    "weighted_matching": weighted_matching,
    "minimum_spanning_forest": minimum_spanning_forest,
    "topological_order": topological_order,
    "longest_path": longest_path,
    "maximum_flow": maximum_flow,
    "minimum_cut": maximum_flow,
    "betweenness": betweenness,
    "edge_betweenness": edge_betweenness,
    "product": product,
    "row sums": row_sums,
}
