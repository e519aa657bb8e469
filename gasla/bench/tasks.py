"""The measured algorithms: how gasla is called, how its answer is verified, and how answers are compared.

`gasla bench`, the asv suite and `benchmarks.compare` all use this table. Peers have a method of the same name, which is
called with one source, several sources, or no argument.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

import gasla
import semirings
from gasla import rows, verify
from gasla.arrays import array_module, device_of, moved
from gasla.bench.graphs import RELATION, SELECTED, STEPS, BenchmarkGraph
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

SOME = 4  # default number of sources of a call that takes several sources
FEW = 100  # number of walks or samples of an answer that are verified
PATHS = 5  # number of shortest paths to find between two vertices
FIRST = 4  # number of searches whose results are verified if one call makes many searches
# distances above this number count as unreachable, because some libraries return inf and others the largest double
UNREACHED = 1e300
SPLIT = 0.8, 0.1, 0.1  # fractions into which `split_edges` divides the edges
# longest time from the first to the last edge of a temporal cycle or motif; times of edges go up to 10,000
LOADED = 1 << 13
SOON = 10  # largest difference of times between consecutive edges of a temporal cycle or motif; times go up to 10,000
SHORT = 4  # largest number of edges of the cycles and paths that are enumerated
TOGETHER = 64  # number of graphs in a batch
# Squares of matrices that take more multiplications than this number are not measured, because they take too much
# memory and time.
MOST_PRODUCTS = 1 << 31

Answer = Any


# --- functions that compare answers of several libraries --------------------------------------------------------------


def same(a: Any, b: Any) -> bool:
    """Return whether all values of two answers are equal."""
    return bool((a == b).all())


def near(a: Any, b: Any) -> bool:
    """Return whether all values of two answers are equal up to rounding."""
    return bool((abs(a - b) <= 1e-6 + 1e-3 * abs(b)).all())


def near_in_sum(a: Any, b: Any) -> bool:
    """Return whether the sum of absolute differences of two answers is below 1e-3, as for sums in float32."""
    return bool(abs(a - b).sum() < 1e-3)


def as_given(answer: Any, _: list[int]) -> Any:
    """Return the answer unchanged, for algorithms with only one correct answer."""
    return answer


def nothing(answer: Any, _: list[int]) -> Any:
    """Return an empty answer, so that nothing is compared.

    This is for algorithms with several correct answers, such as orders, maximal sets and walks.
    """
    return answer[:0]


def distances(values: Any, _: list[int]) -> Any:
    """Return distances as float64, in which unreachable vertices are infinite."""
    values = values.astype(np.float64)
    return array_module(values).where(values < UNREACHED, values, np.inf)


def smallest_members(labels: Any, _: list[int]) -> Any:
    """Return for each vertex the smallest vertex of its component, because libraries label components differently."""
    _, first, inverse = array_module(labels).unique(labels, return_index=True, return_inverse=True)
    return first[inverse]


def shares(values: Any, _: list[int]) -> Any:
    """Return scores scaled to the sum 1, because NetworKit's PageRank loses the score of vertices without edges."""
    values = values.astype(np.float64)
    return values / values.sum()


def unit(values: Any, _: list[int]) -> Any:
    """Return scores scaled to the Euclidean norm 1."""
    values = values.astype(np.float64)
    return values / float((values * values).sum()) ** 0.5


def ascending(ids: Any, _: list[int]) -> Any:
    """Return ids sorted in ascending order, for answers that are sets."""
    return array_module(ids).sort(ids)


def pairs(rows: Any, _: list[int]) -> Any:
    """Return each unordered pair of vertices as one number, sorted, for answers that are sets of pairs."""
    rows = rows.astype(np.int64)
    return array_module(rows).sort((rows.min(axis=1) << 32) + rows.max(axis=1))


def levels_of(parents: Any, sources: list[int]) -> Any:
    """Return the level of each vertex in a tree given by parents, because several trees are correct."""
    return depths(parents, sources[0])


def whole_numbers(values: Any, _: list[int]) -> Any:
    """Return counts as int64, because some libraries count in floats."""
    return values.astype(np.int64)


def up_to_a_factor(values: Any, sources: list[int]) -> Any:
    """Return scores divided by the largest score, with 0 at the sources of the computation.

    Libraries scale scores of undirected graphs differently, and treat sources differently.
    """
    values = values.astype(np.float64)
    values[array_module(values).asarray(sources)] = 0
    largest = float(values.max())
    return values / largest if np.isfinite(largest) and largest > 0 else values


# --- the table of measured algorithms ---------------------------------------------------------------------------------


def part(name: str) -> Callable[[Answer], Any]:
    """Return a function that takes an answer, which is a named tuple, and returns its field `name`."""
    return lambda answer: getattr(answer, name)


class Benchmark(NamedTuple):
    """The description of how to call, verify and compare one algorithm on the benchmark's graphs."""

    # what a call takes besides the graph: one source, several sources, or nothing
    starts: Literal["source", "sources", "nowhere"]
    # a function that calls gasla's function, given the graph and, if `starts` says so, the source or the sources
    call: Callable[..., Answer]
    # a function that verifies an answer on the CPU, given the graph, the answer and the sources
    verify: Callable[[BenchmarkGraph, Answer, list[int]], None] | None = None
    # a function that returns the part of an answer that is compared with other libraries' answers
    array: Callable[[Answer], Any] = lambda answer: answer
    # a function that converts an answer to a form in which all correct answers are equal, given the answer and the
    # sources
    form: Callable[[Any, list[int]], Any] = as_given
    agree: Callable[[Any, Any], bool] = same  # a function that says whether two answers, converted by `form`, agree
    # number of sources for a call that takes several sources, or None for the benchmark's default
    several: int | None = None
    # a function that returns the number of edges that a call without sources traverses
    counted: Callable[[BenchmarkGraph], float] = lambda graph: graph.graph.m
    may_overflow: bool = False
    function: str = ""  # name of the public function that the task calls, or "" if it is the name of the task
    on_part: bool = False  # whether the task runs on a small part of the graph, `BenchmarkGraph.part`


def like(right: Callable[[BenchmarkGraph], Any], form: Callable[[Any, list[int]], Any] = as_given) -> Any:
    """Return a verifier that compares an answer with `right(graph)`, which computes the right answer in float64."""

    def check(graph: BenchmarkGraph, answer: Any, _: list[int]) -> None:
        off = float(abs(form(answer, []) - form(right(graph), [])).sum(axis=-1).max())
        if not off < 1e-3:
            raise verify.VerificationError(f"differs from a float64 computation by {off:.2g} in L1")

    return check


def total(product: gasla.Sparse) -> Any:
    """Return the sum of all entries of a matrix product, by which products of several libraries are compared."""
    return np.array(float(product.data.sum(dtype=np.float64)))


def totals(right: Callable[[BenchmarkGraph], float]) -> Any:
    """Return a verifier that compares the sum of a product's entries with `right(graph)`."""

    def check(graph: BenchmarkGraph, product: Any, _: list[int]) -> None:
        total_sum, expected = float(total(product)), right(graph)
        if not np.isclose(total_sum, expected, rtol=1e-3):
            raise verify.VerificationError(f"the entries sum to {total_sum:g}; expected {expected:g}")

    return check


def size(graph: gasla.Graph) -> Any:
    """Return the numbers of vertices and of stored edges of a graph, which are compared if answers are graphs."""
    return np.array([graph.n, graph.m])


def selected(graph: BenchmarkGraph) -> float:
    """Return the number of edges of the benchmark's directed graph."""
    return SELECTED * graph.graph.m


def ends(graph: BenchmarkGraph) -> dict[str, int]:
    """Return the arguments `source` and `target` of a call from one vertex to another."""
    return dict(zip(("source", "target"), graph.ends))


def ranks(g: BenchmarkGraph, **options: Any) -> Any:
    """Return PageRank after the fixed number of iterations that other libraries compute, too.

    The tolerance 0 prevents an earlier stop.
    """
    return gasla.pagerank(
        g.graph, alpha=DAMPING, weighted=False, tol=0.0, max_iter=PAGERANK_ITERATIONS, dtype=np.float32, **options
    )


def in_float64(g: BenchmarkGraph) -> Any:
    """Return the adjacency matrix of a benchmark graph in float64, with all weights 1."""
    return g.pattern.astype(np.float64)


NONE: Mapping[str, Any] = {}


def task(
    function: str,
    given: Mapping[str, Any] | Callable[[BenchmarkGraph], Mapping[str, Any]] = NONE,
    on: str = "graph",
    checked_by: str = "",
    checked_with: Mapping[str, Any] = NONE,
    **more: Any,
) -> Benchmark:
    """Return a task that calls a function of gasla with the given arguments, on one of the benchmark's graphs.

    `on` names the graph: an attribute of `BenchmarkGraph`, or of its part, such as "part.acyclic". Arguments are then
    made from the part, too. The benchmark gives sources to functions that take sources and no target. The verifier
    named `checked_by` is called with these arguments, those in `checked_with`, and the answer, each by its name.
    """
    public_function, arguments_for = getattr(gasla, function), given if callable(given) else lambda _: given
    part, _, on = on.rpartition(".")
    takes = inspect.signature(public_function).parameters
    starts: Any = next((name for name in ("source", "sources") if name in takes and "target" not in takes), "nowhere")

    def call(g: BenchmarkGraph, *start: Any) -> Answer:
        g = g.part if part else g
        return public_function(getattr(g, on), **dict(zip((starts,), start)), **arguments_for(g))

    def check(g: BenchmarkGraph, answer: Answer, sources: list[int]) -> None:
        g = g.part if part else g
        known: dict[str, Any] = {**arguments_for(g), **checked_with}
        if starts != "nowhere":
            known[starts] = sources[0] if starts == "source" else sources
        verifier = getattr(verify, checked_by)
        wanted = [*inspect.signature(verifier).parameters][1:]
        parts = answer._asdict() if hasattr(answer, "_asdict") else {}
        if not parts.keys() & set(wanted):
            parts = {next(name for name in wanted if name not in known): answer}
        verifier(getattr(g, on), **{name: value for name, value in {**known, **parts}.items() if name in wanted})

    return Benchmark(starts, call, check if checked_by else None, function=function, on_part=bool(part), **more)


def names_of(function: str) -> list[str]:
    """Return the names of the tasks that call a public function, the main one first."""
    return [name for name, task in TASKS.items() if function in (name, task.function)]


class Paces(gasla.WalkProgram):
    """A walk program for random walks that rarely go straight back: such a step is accepted one time in ten."""

    def accept(self, previous: Any, vertex: Any, target: Any, edge: Any) -> Any:
        return semirings.where(target.id == previous.id, 0.1, 1.0)


def batches(g: BenchmarkGraph) -> int:
    """Load sampled neighbors of some vertices in two layers, and return the number of batches."""
    return sum(1 for _ in gasla.loader(g.graph, np.arange(min(LOADED, g.graph.n)), [DRAWN, DRAWN]))


def picture(g: BenchmarkGraph) -> Any:
    """Draw a part of the graph at given positions, and return the positions."""
    from matplotlib import pyplot

    positions = g.part.features[:, :2]
    pyplot.close(gasla.draw(g.part.graph, positions).figure)
    return positions


def of_row(function: str, row: rows.Task) -> Benchmark:
    """Return the benchmark for a function and the task that its `Row` declares."""
    verifier = row.name if row.name in verify.__all__ else ""
    checked_by = verifier if row.checked_by is None else row.checked_by
    benchmark = task(function, row.options, checked_by=checked_by, checked_with=row.checked_with)
    benchmark = benchmark._replace(form=globals()[row.form], agree=globals()[row.agree])
    benchmark = benchmark._replace(several=row.several, may_overflow=row.may_overflow)
    return benchmark._replace(array=part(row.part)) if row.part else benchmark


STEPS_OF_ALL = lambda g: STEPS * len(g.walkers)  # noqa: E731  # no walk ends early, as the graph is undirected
HITS = {"weighted": False, "tol": 0.0, "max_iter": PAGERANK_ITERATIONS, "dtype": np.float32}

TASKS: dict[str, Benchmark] = {
    task.name: of_row(row.function.__name__, task) for row in rows.rows() for task in row.tasks
}
TASKS |= {  # tasks that need the benchmark's own graphs, arguments or other libraries' settings
    "pagerank": Benchmark(
        "nowhere", lambda g: ranks(g).ranks, like(lambda g: power_iteration(in_float64(g)), shares),
        form=shares, agree=near_in_sum,
    ),
    "personal_pageranks": Benchmark(
        "nowhere", lambda g: ranks(g, personalization=g.personalizations).ranks,
        like(lambda g: personal_iteration(in_float64(g), g.personalizations)), agree=near_in_sum,
    ),
    "katz": task(
        "katz_centrality", lambda g: {"alpha": g.attenuation, "tol": TOLERANCE},
        checked_by="katz", array=part("scores"), form=unit, agree=near,
    ),
    "eigenvector": task(
        "eigenvector_centrality", {"tol": TOLERANCE, "max_iter": 100_000},
        checked_by="eigenvector", array=part("scores"), form=nothing,
    ),
    "hits": Benchmark(
        "nowhere", lambda g: gasla.hits(g.graph, **HITS).hubs, like(lambda g: hub_iteration(in_float64(g)), shares),
        form=shares, agree=near_in_sum,
    ),
    "strong_components": task(
        "strongly_connected_components", on="directed", checked_by="strong_components",
        array=part("labels"), form=smallest_members, counted=selected,
    ),
    "condensation": task("condensation", on="directed", checked_by="condensation", array=size, counted=selected),
    "ego_graph": task("ego_graph", {"radius": RADIUS}, checked_by="ego_graph", array=size),
    "directed_clustering": task(
        "clustering", {"mode": "neighborhood"}, "directed", "clustering", agree=near, counted=selected
    ),
    "spectral_embedding": task(
        "spectral_embedding", {"k": 1, "tol": TOLERANCE, "weighted": False}, array=part("values"), agree=near
    ),
    "geolocate": task("geolocate", lambda g: {"locations": g.places}, checked_by="geolocate", form=nothing),
    "top_k_similar": task("top_k_similar", {"k": SIMILAR}, array=part("scores"), agree=near),
    "k_truss": task("k_truss", {"k": TRUSS}),
    "motif_counts": Benchmark("nowhere", lambda g: np.array([*gasla.motif_counts(g.graph).values()])),
    "triadic_census": Benchmark("nowhere", lambda g: np.array([*gasla.triadic_census(g.directed).values()])),
    "modularity": task(
        "modularity", lambda g: {"labels": g.groups, "weighted": False}, checked_by="modularity", agree=near
    ),
    "pagerank_nibble": task(
        "pagerank_nibble", {"alpha": NIBBLE[0], "epsilon": NIBBLE[1]},
        checked_by="pagerank_nibble", array=part("vertices"), form=nothing,
    ),
    "bipartite_matching": task(
        "maximum_bipartite_matching", on="two_sides", checked_by="maximum_bipartite_matching", form=nothing
    ),
    "topological_order": task(
        "topological_order", on="acyclic", checked_by="topological_order", form=nothing, counted=lambda g: g.graph.m / 2
    ),
    "longest_path": task(
        "longest_path", on="acyclic", checked_by="longest_path",
        array=part("lengths"), counted=lambda g: g.graph.m / 2,
    ),
    "maximum_flow": task("maximum_flow", ends, "network", "maximum_flow", array=part("value")),
    "minimum_cut": task("minimum_cut", ends, "network", array=part("value")),
    "shortest_path": task("shortest_path", ends, checked_by="shortest_path", array=part("distance"), agree=near),
    "k_shortest_paths": task(
        "k_shortest_paths", lambda g: {**ends(g), "k": PATHS}, checked_by="k_shortest_paths",
        array=lambda a: np.array([path.distance for path in a]), agree=near,
    ),
    "aggregate_features": task(
        "aggregate_features", lambda g: {"features": g.features}, checked_by="aggregate_features", agree=near
    ),
    "multi_source_bfs": Benchmark(
        "sources", lambda g, s: gasla.multi_source_bfs(g.graph, s),
        lambda g, a, s: verify.multi_source_bfs(g.graph, s[:FIRST], a[:FIRST]), several=64,
    ),
    "multi_source_shortest_paths": Benchmark(
        "sources", lambda g, s: gasla.multi_source_shortest_paths(g.graph, s),
        lambda g, a, s: verify.multi_source_shortest_paths(g.graph, s[:FIRST], a[:FIRST]), form=distances, several=8,
    ),
    "effective_diameter": Benchmark("nowhere", lambda g: np.array(gasla.effective_diameter(g.graph)), agree=near),
    "earliest_arrival": task("earliest_arrival", on="temporal", checked_by="earliest_arrival"),
    "fastest_durations": task(
        "fastest_durations", on="temporal", checked_by="fastest_durations", checked_with={"samples": FIRST}
    ),
    "random_walks": Benchmark(
        "nowhere", lambda g: gasla.random_walks(g.graph, g.walkers, STEPS),
        lambda g, a, _: verify.random_walks(g.graph, g.walkers[:FEW], a[:FEW]), form=nothing, counted=STEPS_OF_ALL,
    ),
    "node2vec_walks": Benchmark(
        "nowhere", lambda g: gasla.node2vec_walks(g.graph, g.walkers, STEPS, p=NODE2VEC[0], q=NODE2VEC[1]),
        lambda g, a, _: verify.random_walks(g.graph, g.walkers[:FEW], a[:FEW]), form=nothing, counted=STEPS_OF_ALL,
    ),
    "sample_neighbors": Benchmark(
        "nowhere", lambda g: gasla.sample_neighbors(g.graph, g.walkers, DRAWN),
        lambda g, a, _: verify.sample_neighbors(g.graph, g.walkers[:FEW], DRAWN, a[:FEW]), form=nothing,
        counted=lambda g: DRAWN * len(g.walkers),
    ),
    "negative_edges": task(
        "negative_edges", lambda g: {"count": g.graph.n}, checked_by="negative_edges",
        form=nothing, counted=lambda g: g.graph.n,
    ),
    "split_edges": task(
        "split_edges", {"fractions": SPLIT}, checked_by="split_edges", array=lambda a: a[0], form=nothing
    ),
    "walk_pairs": Benchmark(
        "nowhere", lambda g: gasla.walk_pairs(g.walks, WINDOW), form=nothing, counted=lambda g: STEPS * len(g.walks)
    ),
    "mxv": Benchmark(
        "nowhere", lambda g: gasla.mxv(g.graph, g.vector),
        like(lambda g: g.matrix.astype(np.float64) @ g.vector, shares), agree=near,
    ),
    "mxm": Benchmark(
        "nowhere", lambda g: gasla.mxm(g.matrix, g.matrix),
        totals(lambda g: float(g.matrix.astype(np.float64).sum(axis=0) @ g.matrix.astype(np.float64).sum(axis=1))),
        total, agree=near, counted=lambda g: g.products,
    ),
    "mxm_masked": Benchmark(
        "nowhere", lambda g: gasla.mxm(g.lower, g.lower, semirings.plus_pair, mask=g.lower),
        totals(lambda g: int(gasla.triangle_count(g.graph))), total, agree=near,
    ),
}  # fmt: skip
COMPARED = tuple(TASKS)  # tasks that are compared with other libraries, or with fixed bounds
TASKS |= {  # tasks that `benchmarks.catalogue` measures and compares with lower bounds of times
    "dominators": task("dominators", on="directed", checked_by="dominators", counted=selected),
    "alternative_paths": task(
        "alternative_paths", ends, checked_by="alternative_paths",
        array=lambda a: np.array([path.distance for path in a]), form=nothing,
    ),
    "simple_paths": task("simple_paths", lambda g: {**ends(g), "max_length": SHORT, "count": True}, "part.graph"),
    "simple_cycles": task("simple_cycles", {"max_length": SHORT, "count": True}, "part.graph"),
    "find_cycle": Benchmark("nowhere", lambda g: np.array(gasla.find_cycle(g.acyclic) is None)),
    "cycle_basis": Benchmark("nowhere", lambda g: np.array(len(gasla.cycle_basis(g.part.graph))), on_part=True),
    "steiner_tree": task(
        "steiner_tree", lambda g: {"terminals": g.sources}, checked_by="steiner_tree", array=part("total"), agree=near
    ),
    "transitive_closure": Benchmark("nowhere", lambda g: size(gasla.transitive_closure(g.part.acyclic)), on_part=True),
    "transitive_reduction": task("transitive_reduction", on="part.acyclic", checked_by="transitive_reduction"),
    "latest_departure": task(
        "latest_departure", lambda g: {"target": g.ends[1]}, "temporal", checked_by="latest_departure"
    ),
    "temporal_reachability": task("temporal_reachability", on="temporal", several=8),
    "temporal_cycles": task(
        "temporal_cycles", {"max_length": 3, "duration": SOON, "count": True}, on="temporal"
    ),
    "temporal_motif_counts": Benchmark(
        "nowhere", lambda g: np.array([*gasla.temporal_motif_counts(g.temporal, SOON).values()])
    ),
    "top_k_pagerank": task("top_k_pagerank", array=part("vertices"), form=nothing, several=8),
    "partition_table": Benchmark(
        "nowhere", lambda g: gasla.partition_table(g.graph, g.groups, weighted=False).conductance, form=nothing
    ),
    "partition_quality": Benchmark(
        "nowhere", lambda g: np.array(gasla.partition_quality(g.graph, g.groups)), agree=near
    ),
    "maximal_cliques": task("maximal_cliques", {"count": True}, "part.graph"),
    "weisfeiler_lehman_hash": Benchmark("nowhere", lambda g: gasla.weisfeiler_lehman_hash(g.graph), form=nothing,
                                   array=lambda a: np.zeros(0)),
    "is_isomorphic": task("is_isomorphic", lambda g: {"other": g.shuffled}),
    "isomorphisms": Benchmark("nowhere", lambda g: next(gasla.isomorphisms(g.graph, g.shuffled)), form=nothing),
    "randomized": task("randomized", array=size),
    "null_model": Benchmark(
        "nowhere", lambda g: np.array(gasla.null_model(g.graph, gasla.transitivity, 2).mean), form=nothing
    ),
    "draw": Benchmark("nowhere", picture, form=nothing, on_part=True),
    "spectral_clustering": task(
        "spectral_clustering", {"k": 4, "tol": 1e-3, "weighted": False}, array=part("labels"), form=nothing
    ),
    "fiedler_vector": task(
        "fiedler_vector", {"tol": TOLERANCE, "weighted": False}, "part.graph", form=nothing
    ),
    "k_nearest_neighbors": Benchmark(
        "nowhere", lambda g: gasla.k_nearest_neighbors(g.points, SIMILAR).neighbors, form=nothing
    ),
    "nearest_neighbors_graph": Benchmark(
        "nowhere", lambda g: size(gasla.nearest_neighbors_graph(g.points, SIMILAR)), form=nothing
    ),
    "project": Benchmark(
        "nowhere", lambda g: size(gasla.project(g.part.two_sides, side=np.arange(g.part.graph.n))), on_part=True
    ),
    "complement": task("complement", on="part.graph", checked_by="complement", array=size),
    "line_graph": task("line_graph", on="part.graph", array=size),
    "assignment": task("assignment", on="part.costs", checked_by="assignment", form=nothing),
    "minimum_cost_flow": Benchmark(
        "nowhere", lambda g: np.array(
            gasla.minimum_cost_flow(g.part.network, dict(zip(g.part.ends, (1, -1)))).cost
        ), on_part=True,
    ),
    "temporal_walks": Benchmark(
        "nowhere", lambda g: gasla.temporal_walks(g.temporal, g.walkers, STEPS), form=nothing, counted=STEPS_OF_ALL
    ),
    "metapath_walks": Benchmark(
        "nowhere", lambda g: gasla.metapath_walks(g.typed, g.walkers, [RELATION], STEPS), form=nothing,
        counted=STEPS_OF_ALL,
    ),
    "walk": Benchmark(
        "nowhere", lambda g: gasla.walk(Paces, g.graph, g.walkers, STEPS), form=nothing, counted=STEPS_OF_ALL
    ),
    "loader": Benchmark("nowhere", lambda g: np.array(batches(g)), form=nothing, counted=lambda g: DRAWN * LOADED),
    "edge_softmax": task("edge_softmax", lambda g: {"scores": g.matrix.data}, form=nothing),
    "edge_softmax_gradient": task(
        "edge_softmax_gradient", lambda g: {"shares": g.matrix.data, "gradient": g.matrix.data}, form=nothing
    ),
    "ranking_metrics": Benchmark("nowhere", lambda g: np.array(gasla.ranking_metrics(g.ranked, g.graph)), agree=near),
    "vxm": Benchmark(
        "nowhere", lambda g: gasla.vxm(g.vector, g.graph),
        like(lambda g: g.vector @ g.matrix.astype(np.float64), shares), agree=near,
    ),
    "top_k": Benchmark("nowhere", lambda g: gasla.top_k(g.matrix, SIMILAR).values, agree=near),
    "batch": Benchmark("nowhere", lambda g: size(gasla.batch([g.part.graph] * TOGETHER).graph), on_part=True),
    "compare_partitions": Benchmark(
        "nowhere", lambda g: np.array(gasla.compare_partitions(g.groups, g.groups[::-1].copy())), agree=near
    ),
    "reduce_by_key": Benchmark(
        "nowhere", lambda g: gasla.reduce_by_key(g.matrix.indices, g.matrix.data, semirings.plus, g.graph.n),
        agree=near,
    ),
}  # fmt: skip
ALGORITHMS = tuple(TASKS)


class Gasla:
    """gasla in the form of a peer (a library to compare with): each algorithm in the table of tasks is a method."""

    name = "gasla"

    def __init__(self, graph: BenchmarkGraph) -> None:
        self.graph = graph

    def __getattr__(self, name: str) -> Callable[..., Answer]:
        if name not in TASKS or (name == "mxm" and self.graph.products > MOST_PRODUCTS):
            raise AttributeError(f"gasla has no {name} on this graph")
        return partial(TASKS[name].call, self.graph)


def sources_of(graph: BenchmarkGraph, algorithm: str, some: int = SOME) -> list[int]:
    """Return the sources for a call of an algorithm that takes several sources: `some` of them, or as many as its task
    says.
    """
    count = TASKS[algorithm].several
    return graph.sources[:some] if count is None else graph.spread(count)


def bind(peer: Any, algorithm: str, sources: list[int], some: list[int]) -> Callable[[int], Answer] | None:
    """Return a function that calls the peer's algorithm, given the number of the round, or None if the peer lacks it.

    Calls with one source use another of the `sources` in each round. Calls with several sources use `some`.
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
    """Return the number of edges that a call traverses, as a list with a number for each source that calls start from.

    Walks count steps instead.
    """
    return {
        "source": lambda: [graph.reach(s).edges for s in graph.sources],
        "sources": lambda: [sum(graph.reach(s).edges for s in some)],
        "nowhere": lambda: [int(TASKS[algorithm].counted(graph))],
    }[TASKS[algorithm].starts]()


def broken(graph: BenchmarkGraph, algorithm: str, answer: Answer, sources: list[int]) -> str:
    """Verify gasla's answer on the CPU. Return what is wrong as text, or "" if the answer is correct."""
    check = TASKS[algorithm].verify
    try:
        if check is not None:
            check(graph.on("cpu"), on_cpu(answer), sources)
    except verify.VerificationError as error:
        return str(error)
    return ""


def on_cpu(answer: Answer) -> Answer:
    """Return an answer, or a tuple or list of answers, with NumPy arrays in place of CuPy's."""
    if isinstance(answer, gasla.Graph):
        return answer.to("cpu")
    if isinstance(answer, gasla.Sparse):
        return answer
    if isinstance(answer, list):
        return [*map(on_cpu, answer)]
    return type(answer)(*map(on_cpu, answer)) if isinstance(answer, tuple) else moved(answer, "cpu")


def disagreements(algorithm: str, answers: dict[str, Any], sources: list[int], trusted: str | None) -> dict[str, str]:
    """Compare the answers of all contestants. Return a note for each contestant whose answer differs or has overflowed.

    Parameters
    ----------
    answers : dict
        Answers by contestant, gasla first; NumPy or CuPy arrays.
    trusted : str or None
        The contestant whose answer was verified. If None, the answer that most contestants agree with is taken as
        correct; in a tie, a peer's answer rather than gasla's.
    """
    task = TASKS[algorithm]
    if len(answers) < 2 and not task.may_overflow:
        return {}  # with fewer than two answers, there is nothing to compare
    if len({device_of(answer) for answer in answers.values()}) > 1:
        answers = {name: moved(answer, "cpu") for name, answer in answers.items()}
    forms = {name: task.form(array_module(answer).asarray(answer), sources) for name, answer in answers.items()}
    finite = {name: form for name, form in forms.items() if not task.may_overflow or bool(np.isfinite(form).all())}
    notes = {name: "overflows" for name in forms if name not in finite}

    def agree(first: str, second: str) -> bool:
        first_finite, second_finite = finite[first], finite[second]
        return first_finite.shape == second_finite.shape and task.agree(first_finite, second_finite)

    if len(finite) > 1:
        candidates = [*list(finite)[1:], next(iter(finite))]
        reference = (
            trusted if trusted in finite else max(candidates, key=lambda first: sum(agree(first, x) for x in finite))
        )
        notes |= {name: f"wrong: differs from {reference}" for name in finite if not agree(name, reference)}
    return notes
