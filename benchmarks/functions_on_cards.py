"""Every function that takes a distributed graph, on one card and on several: elapsed time and ratio, answers compared.

    python -m benchmarks.functions_on_cards [--cards 2] [--graphs rmat22,urand22] [--graphs-module FILE]
                                            [--rows "betweenness|core"] [--divided] [--output FILE] [--json FILE]

The graph on one card is a `gasla.Graph` there, and on several it is spread over `distributed.Cluster(cards=K)`. The
library chooses where a call runs; with --divided all cards take part in each call. A figure below 1.1 in the column of
a cluster, divided by that of one card, says that a call over cards is not slower. Calls are made by turns, whole calls
are timed, and the median is printed.
"""

import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import gasla
from benchmarks.script import Script, command
from gasla import distributed
from gasla.arrays import Device, array_module, moved
from gasla.bench.graphs import BenchmarkGraph


class Uphill(gasla.WalkProgram):
    """A step leads to a vertex of no lower degree, or is tried again a few times."""

    height = gasla.vertex(np.int64)

    def accept(self, walk: Any, src: Any, dst: Any, edge: Any) -> Any:
        return dst.height >= src.height


class Call(NamedTuple):
    """A call, with the inputs that all graphs share: those of a `BenchmarkGraph` (`q`)."""

    function: Callable[[Any, BenchmarkGraph], Any]
    graph: str = "graph"  # the property of a `BenchmarkGraph` that is spread
    rtol: float = 1e-4  # 0 for answers that have to be equal


def _sources(count: int, graph: Any) -> list[int]:
    """Sources that are spread over a graph, as many of them as it has."""
    return list(range(0, graph.n, max(1, graph.n // count)))[:count]


def _starts(q: BenchmarkGraph) -> Any:
    """Where a quarter of the walkers of a benchmark begin, in host memory."""
    return moved(q.walkers[::4], "cpu")


def _all_starts(q: BenchmarkGraph) -> Any:
    """Where as many walkers as vertices begin, in host memory."""
    return moved(q.walkers, "cpu")


def _features(graph: Any, width: int) -> Any:
    """Numbers that say which vertex they belong to, where the graph's arrays are."""
    return graph.placed((np.arange(graph.n * width, dtype=np.float32) % 1009).reshape(-1, width))


# The functions that gained least, or lost, come first.
CALLS: dict[str, Call] = {
    "strongly_connected_components": Call(lambda g, q: gasla.strongly_connected_components(g).labels),
    "closeness_centrality, 512 sources": Call(lambda g, q: gasla.closeness_centrality(g, sources=_sources(512, g))),
    "betweenness_centrality, 64 sources": Call(lambda g, q: gasla.betweenness_centrality(g, sources=_sources(64, g))),
    "triangle_count": Call(lambda g, q: gasla.triangle_count(g, per_vertex=True).per_vertex, rtol=0),
    "louvain_communities": Call(lambda g, q: gasla.louvain_communities(g).labels, rtol=0),
    "core_number": Call(lambda g, q: gasla.core_number(g), rtol=0),
    "label_propagation": Call(lambda g, q: gasla.label_propagation(g), rtol=0),
    "minimum_spanning_forest": Call(lambda g, q: gasla.minimum_spanning_forest(g).edges, rtol=0),
    "closeness_centrality, 4,096 sources": Call(lambda g, q: gasla.closeness_centrality(g, sources=_sources(4096, g))),
    "bfs": Call(lambda g, q: gasla.bfs(g, q.sources[0]), rtol=0),
    "sssp": Call(lambda g, q: gasla.sssp(g, q.sources[0])),
    "pagerank": Call(lambda g, q: gasla.pagerank(g, weighted=False, tol=0, max_iter=20).ranks),
    "connected_components": Call(lambda g, q: gasla.connected_components(g).labels, rtol=0),
    "maximal_independent_set": Call(lambda g, q: gasla.maximal_independent_set(g), rtol=0),
    "maximal_matching": Call(lambda g, q: gasla.maximal_matching(g), rtol=0),
    "hits": Call(lambda g, q: gasla.hits(g, tol=0, max_iter=20).hubs),
    "k_core": Call(lambda g, q: gasla.k_core(g, 8), rtol=0),
    "harmonic_centrality, 512 sources": Call(lambda g, q: gasla.harmonic_centrality(g, sources=_sources(512, g))),
    "multi_source_bfs, 64 sources": Call(lambda g, q: gasla.multi_source_bfs(g, _sources(64, g)), rtol=0),
    "multi_source_bfs, 128 sources": Call(lambda g, q: gasla.multi_source_bfs(g, _sources(128, g)), rtol=0),
    "pagerank, 64 personalizations": Call(lambda g, q: gasla.pagerank(g, personalization=_persons(g, 64)).ranks),
    "random_walks": Call(lambda g, q: gasla.random_walks(g, _starts(q), 16), rtol=0),
    "random_walks, a walker a vertex": Call(lambda g, q: gasla.random_walks(g, _all_starts(q), 64), rtol=0),
    "condensation": Call(lambda g, q: gasla.condensation(g), rtol=0),
    "eigenvector_centrality": Call(lambda g, q: gasla.eigenvector_centrality(g).scores),
    "katz_centrality": Call(lambda g, q: gasla.katz_centrality(g, alpha=q.attenuation).scores),
    "leiden_communities": Call(lambda g, q: gasla.leiden_communities(g).labels, rtol=0),
    "mxv": Call(lambda g, q: gasla.mxv(g, g.placed(np.ones(g.n, np.float32)))),
    "vxm": Call(lambda g, q: gasla.vxm(g.placed(np.ones(g.n, np.float32)), g)),
    "aggregate_features": Call(lambda g, q: gasla.aggregate_features(g, _features(g, 8))),
    "modularity": Call(lambda g, q: np.array(gasla.modularity(g, g.placed(np.arange(g.n) // 64)))),
    "partition_table": Call(lambda g, q: gasla.partition_table(g, g.placed(np.arange(g.n) // 64)).cut),
    "nearest_source": Call(lambda g, q: gasla.nearest_source(g, q.sources).nearest, rtol=0),
    "multi_source_shortest_paths": Call(lambda g, q: gasla.multi_source_shortest_paths(g, q.sources)),
    "article_rank": Call(lambda g, q: gasla.article_rank(g, max_iter=20).ranks),
    "salsa": Call(lambda g, q: gasla.salsa(g, max_iter=20).authorities),
    "clustering": Call(lambda g, q: gasla.clustering(g)),
    "average_clustering": Call(lambda g, q: np.array(gasla.average_clustering(g))),
    "transitivity": Call(lambda g, q: np.array(gasla.transitivity(g))),
    "scan_statistics": Call(lambda g, q: gasla.scan_statistics(g), rtol=0),
    "count_cliques": Call(lambda g, q: np.array(gasla.count_cliques(g, 3)), rtol=0),
    "k_hop_counts": Call(lambda g, q: gasla.k_hop_counts(g, 2)),
    "effective_diameter": Call(lambda g, q: np.array(gasla.effective_diameter(g))),
    "eccentricity": Call(lambda g, q: gasla.eccentricity(g), rtol=0),
    "pagerank_nibble": Call(lambda g, q: gasla.pagerank_nibble(g, q.sources[0]).scores),
    "preferential_attachment": Call(lambda g, q: gasla.preferential_attachment(g, [[0, 1], [2, 3]]), rtol=0),
    "node2vec_walks": Call(lambda g, q: gasla.node2vec_walks(g, _starts(q)[::16], 8, p=0.5), rtol=0),
    "walk": Call(lambda g, q: gasla.walk(Uphill, g, _starts(q), 8, height=g.in_degrees.astype(np.int64)), rtol=0),
    "edge_betweenness_centrality, 8 sources": Call(
        lambda g, q: gasla.edge_betweenness_centrality(g, sources=_sources(8, g))
    ),
    "topological_order": Call(lambda g, q: gasla.topological_order(g), "acyclic", 0),
    "longest_path": Call(lambda g, q: gasla.longest_path(g).lengths, "acyclic"),
    "earliest_arrival": Call(lambda g, q: gasla.earliest_arrival(g, q.sources[0]), "temporal", 0),
    "latest_departure": Call(lambda g, q: gasla.latest_departure(g, q.sources[0]), "temporal", 0),
    "temporal_reachability": Call(lambda g, q: gasla.temporal_reachability(g, q.sources[:2]), "temporal", 0),
    "fastest_durations": Call(lambda g, q: gasla.fastest_durations(g, q.sources[0], window=(0, 3)), "temporal", 0),
    "fiedler_vector": Call(lambda g, q: gasla.fiedler_vector(g, tol=0.1)),
    "spectral_embedding": Call(lambda g, q: abs(gasla.spectral_embedding(g, 2, tol=0.1).vectors), rtol=0.1),
    "spectral_clustering": Call(lambda g, q: gasla.spectral_clustering(g, 2, tol=0.1).labels, rtol=0),
}


def _persons(graph: Any, count: int) -> Any:
    """Personalizations with all weight on one vertex each."""
    return [{source: 1.0} for source in _sources(count, graph)]


def parts(answer: Any) -> Iterator[np.ndarray]:
    """The arrays of an answer, in host memory."""
    if isinstance(answer, gasla.Graph):
        answer = answer.edges()
    if isinstance(answer, tuple):
        for part in answer:
            yield from parts(part)
    else:
        yield np.asarray(moved(answer, "cpu") if array_module(answer) is not np else answer)


def compare(call: Call, answers: Iterable[Any]) -> None:
    """Raise AssertionError if two answers differ."""
    first, *others = ([*parts(answer)] for answer in answers)
    for other in others:
        for found, expected in zip(other, first, strict=True):
            if call.rtol:
                np.testing.assert_allclose(found, expected, rtol=call.rtol, atol=1e-9)
            else:
                np.testing.assert_array_equal(found, expected)


def measure(script: Script, what: str, q: BenchmarkGraph, spread: dict[str, Any]) -> None:
    """Say the milliseconds of a call on one card and on each cluster, and the gain over one card."""
    call, wrong = CALLS[what], []

    def check(answers: list[Any]) -> None:
        try:
            compare(call, answers)
        except AssertionError as error:
            wrong.append(" ".join(str(error).split())[:200])

    calls = {where: partial(_called, call, graph, q) for where, graph in spread.items()}
    script.contest(f"{q.name} {what}", calls, check=check)
    for found in wrong:
        script.say(f"{q.name} {what}: ANSWERS DIFFER: {found}")


def ranks_of(count: int, device: Device) -> distributed.ThreadRanks:
    """Ranks of this process: cards, or threads of the CPU."""
    return distributed.ThreadRanks(count, range(count) if device == "gpu" else None)


def _called(call: Call, graph: Any, q: BenchmarkGraph, _: int) -> Any:
    return call.function(graph, q)


def main(arguments: list[str] | None = None) -> None:
    """Measure, and print a line for each function and graph."""
    options = "graphs_module", "output", "json", "rows", "commit", "rounds", "budget"
    parser = command(__doc__, *options, graphs="rmat22,urand22", device="gpu")
    parser.set_defaults(rounds=30, budget=1.0)  # the first calls of a program take longer
    parser.add_argument("--cards", type=int, nargs="+", default=[2])
    parser.add_argument("--divided", action="store_true", help="let all cards take part in each call")
    script = Script(parser, arguments)
    ranks = {f"{count} cards": ranks_of(count, script.device) for count in script.options.cards}
    given = {name: script.load(name) for name in script.options.graphs}
    made: dict[tuple[str, str], dict[str, Any]] = {}
    for what, call in script.wanted(CALLS.items()):
        for name, q in given.items():
            key = name, call.graph
            try:
                if key not in made:
                    began, one = time.perf_counter(), getattr(q, call.graph)
                    made[key] = {"one card": one}
                    for where, some in ranks.items():
                        spread = made[key][where] = distributed.Graph.from_graph(one, some)
                        spread.one_card = False if script.options.divided else None
                    script.say(f"{name} ({call.graph}): spread in {time.perf_counter() - began:.1f} s")
                measure(script, what, q, made[key])
            except Exception as error:  # the other functions are measured
                script.say(f"{name} {what}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
                traceback.print_exc()


if __name__ == "__main__":
    main()
