"""The measured algorithms: how gasla is called, how its answer is verified, and how answers are compared with peers'.

`gasla bench`, the asv suite and `benchmarks.compare` all use this table. Peers have a method of the same name, which is
called with one source, several sources, or no argument.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

import gasla
import semirings
from gasla import verify
from gasla.arrays import array_module, device_of, moved
from gasla.bench.graphs import SELECTED, STEPS, BenchmarkGraph
from gasla.bench.peers import (
    DAMPING,
    DRAWN,
    NIBBLE,
    NODE2VEC,
    PAGERANK_ITERATIONS,
    RADIUS,
    SIMILAR,
    TOLERANCE,
    TRUSS,
    WINDOW,
    depths,
    hub_iteration,
    personal_iteration,
    power_iteration,
)

SOME = 4  # default number of sources of a call that takes several
FEW = 100  # number of walks and samples to verify
PATHS = 5  # number of shortest paths between two vertices
HOPS = 3  # of neighborhoods that are counted
FIRST = 4  # number of searches to verify, of many
UNREACHED = 1e300  # larger distances mean unreachable: some peers return inf, others the largest double
SPLIT = 0.8, 0.1, 0.1  # fractions of the edges
MOST_PRODUCTS = 1 << 31  # multiplications of a matrix with itself; larger products take too much memory and time

Answer = Any


# --- comparison of answers --------------------------------------------------------------------------------------------


def same(a: Any, b: Any) -> bool:
    """Whether all values are equal."""
    return bool((a == b).all())


def near(a: Any, b: Any) -> bool:
    """Whether all values are equal up to rounding."""
    return bool((abs(a - b) <= 1e-6 + 1e-3 * abs(b)).all())


def near_in_sum(a: Any, b: Any) -> bool:
    """Whether the L1 difference is small, for float32 sums."""
    return bool(abs(a - b).sum() < 1e-3)


def as_given(answer: Any, _: list[int]) -> Any:
    """The answer, unchanged."""
    return answer


def nothing(answer: Any, _: list[int]) -> Any:
    """Nothing to compare: several different answers are correct (orders, maximal sets, walks)."""
    return answer[:0]


def distances(values: Any, _: list[int]) -> Any:
    """Distances, infinite for unreachable vertices."""
    values = values.astype(np.float64)
    return array_module(values).where(values < UNREACHED, values, np.inf)


def smallest_members(labels: Any, _: list[int]) -> Any:
    """For each vertex, the smallest vertex of its component."""
    _, first, inverse = array_module(labels).unique(labels, return_index=True, return_inverse=True)
    return first[inverse]


def shares(values: Any, _: list[int]) -> Any:
    """Values scaled to sum 1: NetworKit's PageRank loses the rank of vertices without edges."""
    values = values.astype(np.float64)
    return values / values.sum()


def unit(values: Any, _: list[int]) -> Any:
    """Scores scaled to norm 1."""
    values = values.astype(np.float64)
    return values / float((values * values).sum()) ** 0.5


def ascending(ids: Any, _: list[int]) -> Any:
    """Ids, sorted."""
    return array_module(ids).sort(ids)


def pairs(rows: Any, _: list[int]) -> Any:
    """Unordered pairs of vertices, each as one number, sorted."""
    rows = rows.astype(np.int64)
    return array_module(rows).sort((rows.min(axis=1) << 32) + rows.max(axis=1))


def up_to_a_factor(values: Any, sources: list[int]) -> Any:
    """Scores relative to the largest, without sources: peers scale undirected graphs and sources differently."""
    values = values.astype(np.float64)
    values[array_module(values).asarray(sources)] = 0
    largest = float(values.max())
    return values / largest if np.isfinite(largest) and largest > 0 else values


# --- the table --------------------------------------------------------------------------------------------------------


class Task(NamedTuple):
    """How to call, verify and compare one algorithm."""

    starts: Literal["source", "sources", "nowhere"]  # the argument of a call besides the graph
    call: Callable[..., Answer]  # gasla's function, of the graph and this argument
    verify: Callable[[BenchmarkGraph, Answer, list[int]], None] | None = None  # of graph, answer and sources, on CPU
    array: Callable[[Answer], Any] = lambda answer: answer  # the part of the answer to compare with peers
    form: Callable[[Any, list[int]], Any] = as_given  # normal form, in which correct answers are equal
    agree: Callable[[Any, Any], bool] = same  # compares two normal forms
    several: int | None = None  # number of sources, if "sources"
    counted: Callable[[BenchmarkGraph], float] = lambda graph: graph.graph.m  # edges traversed, if "nowhere"
    may_overflow: bool = False


def like(right: Callable[[BenchmarkGraph], Any], form: Callable[[Any, list[int]], Any] = as_given) -> Any:
    """A verifier that compares an answer with one computed in float64."""

    def check(graph: BenchmarkGraph, answer: Any, _: list[int]) -> None:
        off = float(abs(form(answer, []) - form(right(graph), [])).sum(axis=-1).max())
        if not off < 1e-3:
            raise verify.VerificationError(f"differs from a float64 computation by {off:.2g} in L1")

    return check


def whole(function: str, **options: Any) -> Callable[[BenchmarkGraph], Answer]:
    """A call of a function of gasla with the graph only."""
    return lambda g: getattr(gasla, function)(g.graph, **options)


def checked(function: Callable[..., None], **options: Any) -> Any:
    """A verifier that takes the graph and the answer only."""
    return lambda g, answer, _: function(g.graph, answer, **options)


def total(product: gasla.Sparse) -> Any:
    """The sum of all entries of a product, for comparison."""
    return np.array(float(product.data.sum(dtype=np.float64)))


def totals(right: Callable[[BenchmarkGraph], float]) -> Any:
    """A verifier of the sum of a product's entries."""

    def check(graph: BenchmarkGraph, product: Any, _: list[int]) -> None:
        found, expected = float(total(product)), right(graph)
        if not np.isclose(found, expected, rtol=1e-3):
            raise verify.VerificationError(f"the entries sum to {found:g}; expected {expected:g}")

    return check


def part(name: str) -> Callable[[Answer], Any]:
    """A field of an answer."""
    return lambda answer: getattr(answer, name)


def size(graph: gasla.Graph) -> Any:
    """Numbers of vertices and of stored edges."""
    return np.array([graph.n, graph.m])


def ranks(g: BenchmarkGraph, **options: Any) -> Any:
    """PageRank with a fixed number of iterations, as for the peers: the tolerance is 0."""
    return gasla.pagerank(
        g.graph, alpha=DAMPING, weighted=False, tol=0.0, max_iter=PAGERANK_ITERATIONS, dtype=np.float32, **options
    )


def in_float64(g: BenchmarkGraph) -> Any:
    """The pattern in float64."""
    return g.pattern.astype(np.float64)


SYNCHRONOUS: Any = {"method": "synchronous", "max_iter": 10}
HITS = {"weighted": False, "tol": 0.0, "max_iter": PAGERANK_ITERATIONS, "dtype": np.float32}
STEPS_OF_ALL = lambda g: STEPS * len(g.walkers)  # noqa: E731  # no walk ends early, as the graph is undirected

TASKS: dict[str, Task] = {
    "bfs": Task(
        "source", lambda g, s: gasla.bfs(g.graph, s, parents=True),
        lambda g, a, s: verify.bfs(g.graph, s[0], *a), part("parents"), lambda a, s: depths(a, s[0]),
    ),
    "levels": Task("source", lambda g, s: gasla.bfs(g.graph, s), lambda g, a, s: verify.bfs(g.graph, s[0], a)),
    "sssp": Task(
        "source", lambda g, s: gasla.sssp(g.graph, s), lambda g, a, s: verify.sssp(g.graph, s[0], a), form=distances
    ),
    "pagerank": Task(
        "nowhere", lambda g: ranks(g).ranks, like(lambda g: power_iteration(in_float64(g)), shares),
        form=shares, agree=near_in_sum,
    ),
    "personal_pageranks": Task(
        "nowhere", lambda g: ranks(g, personalization=g.personalizations).ranks,
        like(lambda g: personal_iteration(in_float64(g), g.personalizations)), agree=near_in_sum,
    ),
    "katz": Task(
        "nowhere", lambda g: gasla.katz_centrality(g.graph, alpha=g.attenuation, tol=TOLERANCE).scores,
        lambda g, a, _: verify.katz(g.graph, a, alpha=g.attenuation, tol=TOLERANCE), form=unit, agree=near,
    ),
    "eigenvector": Task(
        "nowhere", lambda g: gasla.eigenvector_centrality(g.graph, tol=TOLERANCE, max_iter=100_000).scores,
        checked(verify.eigenvector, tol=TOLERANCE), form=nothing,
    ),
    "bipartite": Task("nowhere", whole("is_bipartite"), checked(verify.bipartite)),
    "bridges": Task("nowhere", whole("bridges"), form=pairs),
    "articulation_points": Task("nowhere", whole("articulation_points"), form=ascending),
    "hits": Task(
        "nowhere", lambda g: gasla.hits(g.graph, **HITS).hubs, like(lambda g: hub_iteration(in_float64(g)), shares),
        form=shares, agree=near_in_sum,
    ),
    "components": Task(
        "nowhere", lambda g: gasla.connected_components(g.graph).labels, checked(verify.components),
        form=smallest_members,
    ),
    "minimum_spanning_forest": Task(
        "nowhere", lambda g: gasla.minimum_spanning_forest(g.graph).edges,
        checked(verify.minimum_spanning_forest), form=nothing,
    ),
    "strong_components": Task(
        "nowhere", lambda g: gasla.strongly_connected_components(g.directed).labels,
        lambda g, a, _: verify.strong_components(g.directed, a), form=smallest_members,
        counted=lambda g: SELECTED * g.graph.m,
    ),
    "condensation": Task(
        "nowhere", lambda g: gasla.condensation(g.directed), lambda g, a, _: verify.condensation(g.directed, a), size,
        counted=lambda g: SELECTED * g.graph.m,
    ),
    "ego_graph": Task(
        "source", lambda g, s: gasla.ego_graph(g.graph, s, RADIUS),
        lambda g, a, s: verify.ego_graph(g.graph, s[0], a, RADIUS), size,
    ),
    "triangles": Task("nowhere", whole("triangle_count"), form=lambda a, _: a.astype(np.int64)),
    "edge_support": Task("nowhere", whole("edge_support"), checked(verify.edge_support)),
    "clustering": Task("nowhere", whole("clustering"), checked(verify.clustering), agree=near),
    "scan_statistics": Task("nowhere", whole("scan_statistics"), checked(verify.scan_statistics)),
    "directed_clustering": Task(
        "nowhere", lambda g: gasla.clustering(g.directed, mode="neighborhood"),
        lambda g, a, _: verify.clustering(g.directed, a, mode="neighborhood"), agree=near,
        counted=lambda g: SELECTED * g.graph.m,
    ),
    "spectral_embedding": Task(
        "nowhere", lambda g: gasla.spectral_embedding(g.graph, 1, tol=TOLERANCE, weighted=False).values, agree=near
    ),
    "jaccard": Task("nowhere", whole("jaccard"), checked(verify.similarity), agree=near),
    "adamic_adar": Task(
        "nowhere", whole("adamic_adar"), checked(verify.similarity, measure="adamic_adar"), agree=near
    ),
    "geolocate": Task(
        "nowhere", lambda g: gasla.geolocate(g.graph, g.places), lambda g, a, _: verify.geolocate(g.graph, g.places, a),
        form=nothing,
    ),
    "shared_nearest_neighbors": Task(
        "nowhere", whole("shared_nearest_neighbors"), checked(verify.shared_nearest_neighbors)
    ),
    "top_k_similar": Task("nowhere", lambda g: gasla.top_k_similar(g.graph, SIMILAR).scores, agree=near),
    "square_clustering": Task("nowhere", whole("square_clustering"), agree=near),
    "k_truss": Task("nowhere", lambda g: gasla.k_truss(g.graph, TRUSS)),
    "four_cliques": Task("nowhere", lambda g: gasla.count_cliques(g.graph, 4)),
    "motif_counts": Task("nowhere", lambda g: np.array([*gasla.motif_counts(g.graph).values()])),
    "triadic_census": Task("nowhere", lambda g: np.array([*gasla.triadic_census(g.directed).values()])),
    "layout": Task("nowhere", whole("layout"), checked(verify.layout), form=nothing),
    "label_propagation": Task("nowhere", whole("label_propagation"), checked(verify.label_propagation), form=nothing),
    "synchronous_labels": Task(
        "nowhere", whole("label_propagation", **SYNCHRONOUS), checked(verify.label_propagation, **SYNCHRONOUS)
    ),
    "louvain_communities": Task(
        "nowhere", lambda g: gasla.louvain_communities(g.graph, weighted=False).labels,
        checked(verify.louvain_communities, weighted=False), form=nothing,
    ),
    "modularity": Task(
        "nowhere", lambda g: gasla.modularity(g.graph, g.groups, weighted=False),
        lambda g, a, _: verify.modularity(g.graph, g.groups, float(a), weighted=False), agree=near,
    ),
    "pagerank_nibble": Task(
        "source", lambda g, s: gasla.pagerank_nibble(g.graph, s, alpha=NIBBLE[0], epsilon=NIBBLE[1]),
        lambda g, a, s: verify.pagerank_nibble(g.graph, s[0], *a, alpha=NIBBLE[0], epsilon=NIBBLE[1]),
        part("vertices"), nothing,
    ),
    "core_number": Task("nowhere", whole("core_number"), checked(verify.core_number)),
    "maximal_independent_set": Task(
        "nowhere", whole("maximal_independent_set"), checked(verify.maximal_independent_set), form=nothing
    ),
    "greedy_color": Task("nowhere", whole("greedy_color"), checked(verify.greedy_color), form=nothing),
    "maximal_matching": Task("nowhere", whole("maximal_matching"), checked(verify.maximal_matching), form=nothing),
    "bipartite_matching": Task(
        "nowhere", lambda g: gasla.maximum_bipartite_matching(g.two_sides),
        lambda g, a, _: verify.maximum_bipartite_matching(g.two_sides, a), form=nothing,
    ),
    "weighted_matching": Task(
        "nowhere", whole("maximal_matching", weighted=True), checked(verify.maximal_matching, weighted=True),
        form=nothing,
    ),
    "topological_order": Task(
        "nowhere", lambda g: gasla.topological_order(g.acyclic),
        lambda g, a, _: verify.topological_order(g.acyclic, a), form=nothing, counted=lambda g: g.graph.m / 2,
    ),
    "longest_path": Task(
        "nowhere", lambda g: gasla.longest_path(g.acyclic),
        lambda g, a, _: verify.longest_path(g.acyclic, a.lengths, a.parents, a.path, a.length), part("lengths"),
        counted=lambda g: g.graph.m / 2,
    ),
    "maximum_flow": Task(
        "nowhere", lambda g: gasla.maximum_flow(g.network, *g.ends),
        lambda g, a, _: verify.maximum_flow(g.network, *g.ends, a.value, a.flow), part("value"),
    ),
    "minimum_cut": Task("nowhere", lambda g: gasla.minimum_cut(g.network, *g.ends).value),
    "shortest_path": Task(
        "nowhere", lambda g: gasla.shortest_path(g.graph, *g.ends),
        lambda g, a, _: verify.shortest_path(g.graph, *g.ends, a.distance, a.path, a.edges), part("distance"),
        agree=near,
    ),
    "k_shortest_paths": Task(
        "nowhere", lambda g: gasla.k_shortest_paths(g.graph, *g.ends, PATHS),
        lambda g, a, _: verify.k_shortest_paths(g.graph, *g.ends, PATHS, a),
        lambda a: np.array([path.distance for path in a]),
        agree=near,
    ),
    "aggregate_features": Task(
        "nowhere", lambda g: gasla.aggregate_features(g.graph, g.features),
        lambda g, a, _: verify.aggregate_features(g.graph, g.features, a), agree=near,
    ),
    "betweenness": Task(
        "sources", lambda g, s: gasla.betweenness_centrality(g.graph, sources=s, normalized=False),
        lambda g, a, s: verify.betweenness(g.graph, a, sources=s, normalized=False),
        form=up_to_a_factor, agree=near, may_overflow=True,
    ),
    "edge_betweenness": Task(
        "sources", lambda g, s: gasla.edge_betweenness_centrality(g.graph, sources=s, normalized=False),
        lambda g, a, s: verify.edge_betweenness(g.graph, a, sources=s, normalized=False),
        form=unit, agree=near, may_overflow=True,
    ),
    "multi_source_bfs": Task(
        "sources", lambda g, s: gasla.multi_source_bfs(g.graph, s),
        lambda g, a, s: verify.multi_source_bfs(g.graph, s[:FIRST], a[:FIRST]), several=64,
    ),
    "multi_source_shortest_paths": Task(
        "sources", lambda g, s: gasla.multi_source_shortest_paths(g.graph, s),
        lambda g, a, s: verify.multi_source_shortest_paths(g.graph, s[:FIRST], a[:FIRST]), form=distances, several=8,
    ),
    "eccentricity": Task("nowhere", whole("eccentricity"), checked(verify.eccentricity, samples=FIRST)),
    "k_hop_counts": Task("nowhere", lambda g: gasla.k_hop_counts(g.graph, HOPS), form=nothing),
    "effective_diameter": Task("nowhere", lambda g: np.array(gasla.effective_diameter(g.graph)), agree=near),
    "earliest_arrival": Task(
        "source", lambda g, s: gasla.earliest_arrival(g.temporal, s),
        lambda g, a, s: verify.earliest_arrival(g.temporal, s[0], a),
    ),
    "fastest_durations": Task(
        "source", lambda g, s: gasla.fastest_durations(g.temporal, s),
        lambda g, a, s: verify.fastest_durations(g.temporal, s[0], a, samples=FIRST),
    ),
    "nearest_source": Task(
        "sources", lambda g, s: gasla.nearest_source(g.graph, s),
        lambda g, a, s: verify.nearest_source(g.graph, s, *a), part("distances"), several=64,
    ),
    "closeness": Task(
        "sources", lambda g, s: gasla.closeness_centrality(g.graph, sources=s),
        lambda g, a, s: verify.closeness(g.graph, a, sources=s), agree=near, several=64,
    ),
    "harmonic": Task(
        "sources", lambda g, s: gasla.harmonic_centrality(g.graph, sources=s),
        lambda g, a, s: verify.harmonic(g.graph, a, sources=s), agree=near, several=64,
    ),
    "random_walks": Task(
        "nowhere", lambda g: gasla.random_walks(g.graph, g.walkers, STEPS),
        lambda g, a, _: verify.random_walks(g.graph, g.walkers[:FEW], a[:FEW]), form=nothing, counted=STEPS_OF_ALL,
    ),
    "node2vec_walks": Task(
        "nowhere", lambda g: gasla.node2vec_walks(g.graph, g.walkers, STEPS, p=NODE2VEC[0], q=NODE2VEC[1]),
        lambda g, a, _: verify.random_walks(g.graph, g.walkers[:FEW], a[:FEW]), form=nothing, counted=STEPS_OF_ALL,
    ),
    "sample_neighbors": Task(
        "nowhere", lambda g: gasla.sample_neighbors(g.graph, g.walkers, DRAWN),
        lambda g, a, _: verify.sample_neighbors(g.graph, g.walkers[:FEW], DRAWN, a[:FEW]), form=nothing,
        counted=lambda g: DRAWN * len(g.walkers),
    ),
    "negative_edges": Task(
        "nowhere", lambda g: gasla.negative_edges(g.graph, g.graph.n),
        lambda g, a, _: verify.negative_edges(g.graph, g.graph.n, a), form=nothing, counted=lambda g: g.graph.n,
    ),
    "split_edges": Task(
        "nowhere", lambda g: gasla.split_edges(g.graph, SPLIT),
        lambda g, a, _: verify.split_edges(g.graph, SPLIT, a), lambda a: a[0], nothing,
    ),
    "walk_pairs": Task(
        "nowhere", lambda g: gasla.walk_pairs(g.walks, WINDOW), form=nothing, counted=lambda g: STEPS * len(g.walks)
    ),
    "mxv": Task(
        "nowhere", lambda g: gasla.mxv(g.graph, g.vector),
        like(lambda g: g.matrix.astype(np.float64) @ g.vector, shares), agree=near,
    ),
    "mxm": Task(
        "nowhere", lambda g: gasla.mxm(g.matrix, g.matrix),
        totals(lambda g: float(g.matrix.astype(np.float64).sum(axis=0) @ g.matrix.astype(np.float64).sum(axis=1))),
        total, agree=near, counted=lambda g: g.products,
    ),
    "mxm_masked": Task(
        "nowhere", lambda g: gasla.mxm(g.lower, g.lower, semirings.plus_pair, mask=g.lower),
        totals(lambda g: int(gasla.triangle_count(g.graph))), total, agree=near,
    ),
}  # fmt: skip
ALGORITHMS = tuple(TASKS)


class Gasla:
    """gasla with the interface of a peer: one method per algorithm of the table."""

    name = "gasla"

    def __init__(self, graph: BenchmarkGraph) -> None:
        self.graph = graph

    def __getattr__(self, name: str) -> Callable[..., Answer]:
        if name not in TASKS or (name == "mxm" and self.graph.products > MOST_PRODUCTS):
            raise AttributeError(f"gasla has no {name} on this graph")
        return partial(TASKS[name].call, self.graph)


def sources_of(graph: BenchmarkGraph, algorithm: str, some: int = SOME) -> list[int]:
    """The sources for a call that takes several."""
    count = TASKS[algorithm].several
    return graph.sources[:some] if count is None else graph.spread(count)


def bind(peer: Any, algorithm: str, sources: list[int], some: list[int]) -> Callable[[int], Answer] | None:
    """Return the peer's algorithm as a function of the number of the round, or None if the peer does not have it.

    Calls with one source use the `sources` in turn; calls with several use `some`.
    """
    method = getattr(peer, algorithm, None)
    if method is None:
        return None
    return {
        "source": lambda number: method(sources[number % len(sources)]),
        "sources": lambda _: method(some),
        "nowhere": lambda _: method(),
    }[TASKS[algorithm].starts]


def edges(graph: BenchmarkGraph, algorithm: str, some: list[int]) -> list[int]:
    """The number of edges traversed in each round; for walks and samples, the number of steps."""
    return {
        "source": lambda: [graph.reach(s).edges for s in graph.sources],
        "sources": lambda: [sum(graph.reach(s).edges for s in some)],
        "nowhere": lambda: [int(TASKS[algorithm].counted(graph))],
    }[TASKS[algorithm].starts]()


def broken(graph: BenchmarkGraph, algorithm: str, answer: Answer, sources: list[int]) -> str:
    """Verify gasla's answer on the CPU; returns what is wrong, or ""."""
    check = TASKS[algorithm].verify
    try:
        if check is not None:
            check(graph.on("cpu"), on_cpu(answer), sources)
    except verify.VerificationError as error:
        return str(error)
    return ""


def on_cpu(answer: Answer) -> Answer:
    """An answer, or a named tuple of answers, with NumPy arrays."""
    if isinstance(answer, gasla.Graph):
        return answer.to("cpu")
    if isinstance(answer, gasla.Sparse):
        return answer
    if isinstance(answer, list):
        return [*map(on_cpu, answer)]
    return type(answer)(*map(on_cpu, answer)) if isinstance(answer, tuple) else moved(answer, "cpu")


def disagreements(algorithm: str, found: dict[str, Any], sources: list[int], trusted: str | None) -> dict[str, str]:
    """Compare answers; return a note for each contestant that disagrees or has overflowed.

    Parameters
    ----------
    found : dict
        Answers by contestant, gasla first; NumPy or CuPy arrays.
    trusted : str or None
        The contestant whose answer was verified. If None, the answer that most contestants agree with is taken as
        correct; in a tie, a peer's answer rather than gasla's.
    """
    task = TASKS[algorithm]
    if len(found) < 2 and not task.may_overflow:
        return {}  # nothing to compare with
    if len({device_of(answer) for answer in found.values()}) > 1:
        found = {name: moved(answer, "cpu") for name, answer in found.items()}
    forms = {name: task.form(array_module(answer).asarray(answer), sources) for name, answer in found.items()}
    finite = {name: form for name, form in forms.items() if not task.may_overflow or bool(np.isfinite(form).all())}
    notes = {name: "overflows" for name in forms if name not in finite}

    def agree(one: str, other: str) -> bool:
        a, b = finite[one], finite[other]
        return a.shape == b.shape and task.agree(a, b)

    if len(finite) > 1:
        others = [*list(finite)[1:], next(iter(finite))]
        reference = trusted if trusted in finite else max(others, key=lambda one: sum(agree(one, x) for x in finite))
        notes |= {name: f"wrong: differs from {reference}" for name in finite if not agree(name, reference)}
    return notes
