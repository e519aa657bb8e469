"""Several cards compared with one: elapsed time of the same calls on the same machine, answers compared first.

python -m benchmarks.cards [--cards 1 2 4] [--graphs rmat22,urand22] [--graphs-module FILE] [--calls PageRank BFS]
                           [--divided] [--output FILE]
mpiexec -n 2 python -m benchmarks.cards --processes --calls PageRank BFS SSSP

With `--processes` each process of the job has a card, in place of the cards of one process; the times are those of the
first. A graph on one card is a `gasla.Graph` there; on several it is spread over `distributed.Cluster(cards=K)`.
Betweenness, closeness and triangles are shared out, each card with the whole graph. Everything else divides the graph,
or is left to the first card where that is faster; with --divided all cards take part. The time of an iteration of
PageRank is a hundredth of the difference that 100 further iterations make, so it excludes the time of a call on the
host; the time of BFS includes it.
"""

import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np

import gasla
from benchmarks.script import Script, command
from gasla import distributed
from gasla.arrays import Device, moved, require_gpu
from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.runner import repeated
from gasla.distributed.mpi_ranks import card_of, mpi

FEW, MANY = 20, 120  # iterations
SOURCES = list(range(0, 640, 10))
ITERATION = "PageRank, an iteration"
CALLS: dict[str, Callable[[Any, int], Any]] = {
    "PageRank, 20 iterations": lambda g, s: ranks(g, FEW),
    ITERATION: lambda g, s: ranks(g, MANY),
    "BFS": lambda g, s: gasla.bfs(g, s),
    "SSSP": lambda g, s: gasla.sssp(g, s),
    "components": lambda g, s: gasla.connected_components(g).labels,
    "triangles": lambda g, s: gasla.triangle_count(g, per_vertex=True).per_vertex,
    "betweenness, 64 sources": lambda g, s: gasla.betweenness_centrality(g, sources=SOURCES, weighted=False),
    "closeness, 4,096 sources": lambda g, s: gasla.closeness_centrality(g, sources=range(4096)),
    "Louvain": lambda g, s: gasla.louvain_communities(g).labels,
}
REPETITIONS = 5


def ranks(graph: Any, iterations: int) -> Any:
    return gasla.pagerank(graph, tol=0, max_iter=iterations, weighted=False).ranks


def seconds(call: Callable[[], Any], device: Device = "gpu") -> tuple[float, Any]:
    """The median time of a call after a first one, and its answer in the host's memory."""
    answer = np.asarray(moved(call(), "cpu"))
    return median(repeated(call, REPETITIONS, device=device)), answer


def measured(call: Callable[[Any, int], Any], graph: Any, source: int, is_iteration: bool) -> tuple[float, Any]:
    """Seconds and answer of a call; of PageRank those of an iteration."""
    needed, answer = seconds(partial(call, graph, source))
    if is_iteration:
        few, _ = seconds(lambda: ranks(graph, FEW))
        needed = (needed - few) / (MANY - FEW)
    return needed, answer


def compare(script: Script, one: BenchmarkGraph, clusters: list[distributed.Cluster]) -> None:
    """Say the milliseconds of each call on one card, and for each cluster with the speed-up."""
    source, options = int(one.graph.out_degrees.argmax()), script.options
    calls = {what: call for what, call in CALLS.items() if what.startswith(tuple(options.calls))}
    alone = {}
    for what, call in calls.items():
        alone[what] = measured(call, one.graph, source, what == ITERATION)
        script.say(f"{one.name:10s} {what:26s} one card {1e3 * alone[what][0]:10.2f} ms")
    for made in clusters:
        with made as cluster:
            began = time.perf_counter()
            spread = distributed.Graph.from_graph(one.graph)
            spread.one_card = False if options.divided else None
            gasla.bfs(spread, source)
            needed = time.perf_counter() - began
            obstacle = cluster.together(lambda group: group.obstacle()) or "none"
            script.say(
                f"{one.name} over {cluster.size} cards: {needed:.1f} s to spread and search; obstacle: {obstacle}"
            )
            for what, call in calls.items():
                needed, answer = measured(call, spread, source, what == ITERATION)
                before, expected = alone[what]
                np.testing.assert_allclose(answer, expected, rtol=1e-4, err_msg=what)
                gain = f"{1e3 * needed:10.2f} ms ({before / needed:.2f} x)"
                script.say(f"{one.name:10s} {what:26s} {cluster.size:2d} cards {gain}")


def main() -> None:
    """Measure, and print a table."""
    parser = command(__doc__, "graphs_module", "output", graphs="rmat22")
    parser.set_defaults(device="gpu")
    parser.add_argument("--cards", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--processes", action="store_true", help="under mpiexec: a card for each process")
    parser.add_argument("--calls", nargs="+", default=[""], help="begins of the names of calls")
    parser.add_argument("--divided", action="store_true", help="let all cards take part in each call")
    comm = mpi().COMM_WORLD if parser.parse_args().processes else None
    if comm is not None:
        require_gpu().cuda.Device(card_of(comm)).use()
    script = Script(parser, is_first=comm is None or comm.rank == 0)
    if comm is not None:
        clusters = [distributed.Cluster(gpus=True)]
    else:
        clusters = [distributed.Cluster(cards=count) for count in script.options.cards]
    for name in script.options.graphs:
        compare(script, script.load(name), clusters)


if __name__ == "__main__":
    main()
