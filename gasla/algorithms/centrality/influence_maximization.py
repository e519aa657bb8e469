"""Influence maximization: the vertices from which the independent cascade reaches most vertices.

A cascade is random: a vertex that it reaches has one chance to reach the head of each of its out-edges, with the
probability of the edge. A *reverse reachable set* holds the vertices from which a random vertex, its root, would be
reached: a search from the root against the edges, in which each edge is kept at random. The fraction of these sets that
contain one of some vertices estimates the fraction of all vertices that a cascade from them reaches. So vertices are
chosen greedily to be in most sets. A second, independent sample of sets tells how close to the best the choice is, and
both samples are doubled until it is close enough.

Many sets grow at once, level by level, as pairs of a set and a vertex. Only the kept edges of a level are drawn, by the
gaps between them, so that the other edges take no time.
"""

import math
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.arrays import module_of, running_sums
from gasla.graph.adjacency import Adjacency
from gasla.graph.arguments import MOST_SEED, edge_probabilities, real_number, whole_number
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.memory_limit import require_room
from gasla.rows import Command, Row, Task

Array = Any  # a NumPy or CuPy array
# Numbers of reverse reachable sets that are sampled together: at first, when their mean size is not known, and later.
FIRST_SETS, SETS_AT_ONCE = 1 << 6, 1 << 12
ENTRIES_TOGETHER = 1 << 18  # approximate largest number of pairs (set, vertex) in the sets that are sampled together
# Smallest allowed epsilon. It would take ten billion times the samples of the default, which no machine holds.
LEAST_EPSILON = 1e-6
# Bytes of memory for each vertex in a sampled set, which is sorted in two orders, or for each edge that a search
# follows.
BYTES_PER_ENTRY = 64


class InfluenceResult(NamedTuple):
    """The chosen vertices, the mean number of vertices that they reach, and a bound of how near this is to the best.

    The bound is a lower bound of the number divided by the largest possible number.
    """

    seeds: Array
    spread: float
    ratio: float


def influence_maximization(
    graph: Any,
    k: int,
    *,
    probability: float | None = 0.1,
    epsilon: float = 0.1,
    confidence: float = 0.99,
    seed: int = 0,
) -> InfluenceResult:
    """Choose the k vertices from which a random cascade along edges reaches most vertices.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j.
    k : int
        The number of vertices to choose.
    probability : float or None
        The probability that an edge passes on what has reached its start. None takes the values of the edges, 0 to 1.
    epsilon : float
        The spread is at least 1 - 1/e - epsilon (0.53 by default) of the largest. Smaller ones take more samples, about
        1 / epsilon² as many. 1e-6 to 1 - 1/e.
    confidence : float
        The probability with which that holds for the samples drawn, 0 to 0.999999.
    seed : int
        Seed of the samples.

    Returns
    -------
    InfluenceResult(seeds, spread, ratio)
        The chosen vertices, each adding most to those before, shape (k,). The mean number of vertices that they reach,
        themselves included, estimated. The ratio of that to the spread of the best k vertices, or more, with
        probability `confidence`. The same in every run.

    Raises
    ------
    ValueError
        If `k` is not 1 to n, as for an empty graph; if `epsilon` or a probability is out of its range; if the graph has
        no values, and `probability` is None.
    MemoryError
        If the samples need more memory than is available.

    See Also
    --------
    gasla.pagerank : ranks single vertices, whose neighborhoods may be the same ones.

    Notes
    -----
    Parallel edges pass on independently of each other. No choice by a fast algorithm is sure to be better than 1 - 1/e
    of the best (unless P = NP); chosen vertices mostly are.

    References
    ----------
    D. Kempe, J. Kleinberg, É. Tardos: Maximizing the Spread of Influence through a Social Network. KDD 2003.

    J. Tang, X. Tang, X. Xiao, J. Yuan: Online Processing Algorithms for Influence Maximization. SIGMOD 2018.

    Examples
    --------
    >>> import gasla
    >>> two_stars = gasla.Graph.from_edges([0, 0, 0, 4, 4], [1, 2, 3, 5, 6])
    >>> found = gasla.influence_maximization(two_stars, 2, probability=1)
    >>> found.seeds.tolist(), round(found.spread)
    ([0, 4], 7)
    """
    graph = whole_graph(graph)
    k, seed = whole_number("k", k), whole_number("seed", seed, MOST_SEED)
    if graph.n == 0:
        raise ValueError(f"k is {k}, and an empty graph has no vertices to choose; expected a graph with vertices")
    if not 1 <= k <= graph.n:
        raise ValueError(f"k is {k}; expected 1 to {graph.n}, the number of vertices")
    epsilon = real_number("epsilon", epsilon, LEAST_EPSILON, 1 - 1 / math.e)
    delta = 1 - real_number("confidence", confidence, most=0.999999)
    chances = edge_probabilities(graph, probability)
    fewest_sets, most_sets = _numbers_of_samples(graph.n, k, epsilon, delta)
    doublings = max(1, math.ceil(math.log2(most_sets / fewest_sets)))
    log_term = math.log(3 * doublings / delta)
    choosing, judging = (Sets(graph, chances, sample_seed) for sample_seed in (2 * seed, 2 * seed + 1))
    count = fewest_sets
    while True:
        choosing.grow(count, len(judging.keys))
        judging.grow(count, len(choosing.keys))
        seeds, upper_bound = choosing.greedy(k)
        covered_count = judging.covered_by(seeds)
        lower_bound = (math.sqrt(covered_count + 2 * log_term / 9) - math.sqrt(log_term / 2)) ** 2 - log_term / 18
        ratio = max(lower_bound, 0.0) / (math.sqrt(upper_bound + log_term / 2) + math.sqrt(log_term / 2)) ** 2
        if ratio >= 1 - 1 / math.e - epsilon or count >= most_sets:
            return InfluenceResult(seeds, max(graph.n * covered_count / count, float(k)), min(ratio, 1.0))
        count = min(2 * count, most_sets)


def _numbers_of_samples(n: int, k: int, epsilon: float, delta: float) -> tuple[int, int]:
    """Return how many reverse reachable sets the first sample has, and the number of sets from which on samples no
    longer grow.

    The numbers are those of the method OPIM-C. They depend on the accuracy `epsilon` and on the probability of an error
    `delta`.
    """
    guarantee, choices = 1 - 1 / math.e, math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    sample_count = (
        2 * (guarantee * math.sqrt(math.log(6 / delta)) + math.sqrt(guarantee * (choices + math.log(6 / delta)))) ** 2
    )
    return math.ceil(sample_count), max(math.ceil(sample_count), math.ceil(sample_count * n / (epsilon**2 * k)))


class Sets:
    """A growing random sample of reverse reachable sets: each has the vertices from which a random cascade reaches its
    root.

    The random numbers follow from the seed, so set number i is the same in every run.
    """

    def __init__(self, graph: Graph, chances: Array, seed: int) -> None:
        xp: Any = module_of(graph.device)
        self.graph, self.xp, self.count, self.drawn = graph, xp, 0, 0
        # The seed may have 65 bits, since callers double it for the second sample, so it takes up to two words.
        seed_words = [seed & MOST_SEED, *([seed >> 64] if seed > MOST_SEED else [])]
        self.seed = [np.uint64(word) for word in seed_words]
        self.lists = graph.in_
        self.chances: Array = self.lists.by_position(chances)
        self.largest = float(chances.max()) if graph.m else 0.0
        self.is_even = bool((chances == self.largest).all())
        self.keys = xp.zeros(0, np.int64)  # set * n + vertex for each vertex of each set, ascending

    def grow(self, count: int, others: int) -> None:
        """Sample more reverse reachable sets, until this sample has `count` of them.

        `others` is the number of entries (set, vertex) of another sample, which counts toward the memory that both
        need.
        """
        blocks, key_count, first_set = [self.keys], len(self.keys), self.count
        while first_set < count:
            mean_size = key_count / first_set if first_set else 1.0
            set_count = max(
                1, min(SETS_AT_ONCE if first_set else FIRST_SETS, count - first_set, int(ENTRIES_TOGETHER / mean_size))
            )
            self._require_room(others + key_count + math.ceil(set_count * mean_size))
            blocks.append(self._sample_sets(self.xp.arange(first_set, first_set + set_count), others + key_count))
            key_count += len(blocks[-1])
            first_set += set_count
        self.keys, self.count = self.xp.concatenate(blocks), count

    def _require_room(self, entries: int) -> None:
        """Raise MemoryError if `entries` pairs of a set and a vertex, or as many edges of a search, do not fit in
        memory.
        """
        advice = "lower probabilities, or larger epsilon"
        require_room("the samples have", entries, BYTES_PER_ENTRY, self.graph.device, advice)

    def _sample_sets(self, sets: Array, keys_held: int) -> Array:
        """Sample new reverse reachable sets, and return their vertices as sorted keys set * n + vertex.

        `sets` are the numbers of the new sets. Each gets a random root. A search goes from the root against the
        direction of edges, and follows each edge with its probability. `keys_held` is the number of entries that both
        samples have already, for the check of memory.
        """
        xp, n, indptr = self.xp, self.graph.n, self.lists.indptr
        reached_keys = frontier = sets * n + xp.minimum((self._random_numbers(len(sets)) * n).astype(np.int64), n - 1)
        while len(frontier):
            sets, vertices = xp.divmod(frontier, n)
            offsets = running_sums(indptr[vertices + 1] - indptr[vertices])
            edge_count = int(offsets[-1])  # number of edges that lead to the vertices that the last step reached
            self._require_room(keys_held + len(reached_keys) + math.ceil(edge_count * self.largest))
            kept_edges = self._draw_edge_positions(edge_count)
            row = xp.searchsorted(offsets, kept_edges, side="right") - 1
            edges = indptr[vertices[row]] + kept_edges - offsets[row]
            if not self.is_even:
                is_kept = self._random_numbers(len(edges)) * self.largest < self.chances[edges]
                row, edges = row[is_kept], edges[is_kept]
            candidates = xp.unique(sets[row] * n + self.lists.indices[edges])
            positions = xp.minimum(xp.searchsorted(reached_keys, candidates), len(reached_keys) - 1)
            frontier = candidates[reached_keys[positions] != candidates]
            reached_keys = xp.sort(xp.concatenate([reached_keys, frontier]))
        return reached_keys

    def _draw_edge_positions(self, edge_total: int) -> Array:
        """Return a random sample of the numbers below `edge_total`, in ascending order: the positions of the edges that
        a search may follow.

        Each is drawn with the largest probability of all edges, and the caller then thins out edges of lower
        probability. The gaps between the numbers come from the geometric distribution, so the time depends on the size
        of the sample only.
        """
        xp, chance = self.xp, self.largest
        if chance in (0.0, 1.0):
            return xp.arange(edge_total if chance else 0)
        last_position, pieces = -1, [xp.zeros(0, np.int64)]
        while last_position < edge_total:
            uniform = self._random_numbers(int((edge_total - last_position) * chance * 1.1) + 64)
            # With a probability near 0, gaps may be infinite, so they are limited to `edge_total`.
            with np.errstate(over="ignore"):
                # inverse of the geometric distribution, which the gaps have
                gaps = xp.minimum(xp.log1p(-uniform) / math.log1p(-chance), edge_total).astype(np.int64)
            pieces.append(last_position + xp.cumsum(gaps + 1))
            last_position = int(pieces[-1][-1])
        positions = xp.concatenate(pieces)
        return positions[positions < edge_total]

    def _random_numbers(self, count: int) -> Array:
        """Return `count` new random numbers, at least 0 and below 1.

        They are hashes of the seed and of how many numbers were drawn before.
        """
        numbers = self.xp.arange(self.drawn, self.drawn + count).astype(np.uint64)
        self.drawn += count
        return (semirings.hash(*self.seed, numbers) >> np.uint64(11)) * 2.0**-53

    def greedy(self, k: int) -> tuple[Array, float]:
        """Choose k vertices one by one, each the one in the most sets of the sample that contain no vertex chosen
        before.

        Return the vertices, and an upper bound of the number of sets that the best k vertices could cover. A vertex
        covers a set if the set contains it. After some vertices are chosen, k more cover at most as many sets in
        addition as the k best of them would each cover alone. This gives the bound.
        """
        xp, n = self.xp, self.graph.n
        sets, vertices = xp.divmod(self.keys, n)
        by_set, by_vertex = Adjacency.grouped(sets, vertices, self.count), Adjacency.grouped(vertices, sets, n)
        counts, is_covered = xp.bincount(vertices, minlength=n), xp.zeros(self.count, bool)
        seeds, covered, upper_bound = xp.empty(k, self.graph.id_dtype), 0, float(self.count)
        for i in range(k):
            upper_bound = min(upper_bound, covered + float(xp.partition(counts, n - k)[n - k :].clip(0).sum()))
            vertex = int(counts.argmax())
            fresh = by_vertex.row(vertex)
            fresh = fresh[~is_covered[fresh]]
            is_covered[fresh] = True
            covered += len(fresh)
            counts -= xp.bincount(by_set.of(fresh).indices, minlength=n)
            # A chosen vertex gets a negative count, so that it is not chosen again.
            seeds[i], counts[vertex] = vertex, -1 - self.count
        return seeds, min(upper_bound, covered + float(xp.partition(counts, n - k)[n - k :].clip(0).sum()))

    def covered_by(self, seeds: Array) -> int:
        """Return the number of reverse reachable sets in the sample that contain at least one of the vertices in
        `seeds`.

        A set that contains a vertex is covered by it.
        """
        xp: Any = self.xp
        sets, vertices = xp.divmod(self.keys, self.graph.n)
        is_seed = xp.zeros(self.graph.n, bool)
        is_seed[seeds] = True
        return len(xp.unique(sets[is_seed[vertices]]))


ROW = Row(
    influence_maximization,
    Command(
        *("influence-maximization", {"seeds": "seed"}),
        lambda f: f"{len(f['seeds']):,} vertices reach {f['spread']:,.1f} of {f.graph.n:,}, on average:",
        *(lambda f: f.named(f["seeds"]), "ids"),
        defaults={"k": 3},
    ),
    Task(options={"k": 10, "probability": 0.01, "epsilon": 0.3}, part="seeds", form="nothing", checked_by=""),
    method="OPIM-C: reverse samples, with bounds from both halves (Tang et al., SIGMOD 2018)",
    longer="Thousands of random searches are sampled until the bound holds; seeds follow one another.",
)
