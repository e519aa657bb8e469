"""Several cards compared with one: elapsed time of the same calls on the same machine, answers compared first.

python -m benchmarks.cards [--cards 1 2 4] [--graphs rmat22] [--graphs-module FILE] [--calls PageRank BFS]
                           [--divided] [--output FILE]
mpiexec -n 2 python -m benchmarks.cards --processes --calls PageRank BFS SSSP

With `--processes` each process of the job has a card, in place of the cards of one process; the times are those of the
first. A graph on one card is a `gasla.Graph` there; on several it is spread over `distributed.Cluster(cards=K)`.
Betweenness, closeness and triangles are shared out, each card with the whole graph. Everything else divides the graph,
or is left to the first card where that is faster; with --divided all cards take part. The time of an iteration of
PageRank is a hundredth of the difference that 100 further iterations make, so it excludes the time of a call on the
host; the time of BFS includes it.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import gasla
from benchmarks.graphs import load, module_at
from gasla import distributed
from gasla.arrays import Device, finish, moved, require_gpu
from gasla.bench.reports.provenance import provenance
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
    times = []
    for _ in range(REPETITIONS):
        finish(device)
        began = time.perf_counter()
        call()
        finish(device)
        times.append(time.perf_counter() - began)
    return statistics.median(times), answer


def measured(calls: dict[str, Any], graph: Any, source: int) -> dict[str, tuple[float, Any]]:
    """Seconds and answer of each call."""
    found = {}
    for what, call in calls.items():
        found[what] = seconds(partial(call, graph, source))
        if what == ITERATION:
            few, _ = seconds(lambda: ranks(graph, FEW))
            found[what] = (found[what][0] - few) / (MANY - FEW), found[what][1]
    return found


def rows(
    name: str, one: gasla.Graph, clusters: list[distributed.Cluster], calls: dict[str, Any], divided: bool
) -> list[str]:
    """A row for each call: milliseconds on one card, and for each cluster with the speed-up."""
    source, found = int(one.out_degrees.argmax()), {}
    for what, (time_of_one, answer) in measured(calls, one, source).items():
        found[what] = (f"{name:10s} {what:26s}{1e3 * time_of_one:10.2f}", time_of_one, answer)
    lines = {what: line for what, (line, _, _) in found.items()}
    for made in clusters:
        with made as cluster:
            began = time.perf_counter()
            spread = distributed.Graph.from_graph(one)
            spread.one_card = False if divided else None
            gasla.bfs(spread, source)
            needed = time.perf_counter() - began
            obstacle = cluster.together(lambda group: group.obstacle()) or "none"
            print(
                f"{name} over {cluster.size} cards: {needed:.1f} s to spread and search; obstacle: {obstacle}",
                flush=True,
            )
            for what, (needed, answer) in measured(calls, spread, source).items():
                _, before, expected = found[what]
                np.testing.assert_allclose(answer, expected, rtol=1e-4, err_msg=what)
                lines[what] += f"{1e3 * needed:10.2f} ({before / needed:.2f} x)"
                print(lines[what], flush=True)  # also if what follows fails
    return list(lines.values())


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cards", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--processes", action="store_true", help="under mpiexec: a card for each process")
    parser.add_argument("--graphs", nargs="+", default=["rmat22"])
    parser.add_argument("--graphs-module", type=Path, help="a Python file that makes them on the GPU")
    parser.add_argument("--calls", nargs="+", default=[""], help="begins of the names of calls")
    parser.add_argument("--divided", action="store_true", help="let all cards take part in each call")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    counts, number = options.cards, 0  # that of this process
    if options.processes:
        comm = mpi().COMM_WORLD
        counts, number = [comm.size], comm.rank
        require_gpu().cuda.Device(card_of(comm)).use()
        clusters = [distributed.Cluster(gpus=True)]
    else:
        clusters = [distributed.Cluster(cards=count) for count in counts]
    text = [str(provenance("gpu")), f"{'ms':37s}{'one card':>10s}" + "".join(f"{c:>9d} cards  " for c in counts)]
    calls = {what: call for what, call in CALLS.items() if what.startswith(tuple(options.calls))}
    for name in options.graphs:
        one = load(name, "gpu", module_at(options.graphs_module)).graph
        text += rows(name, one, clusters, calls, options.divided)
    if number:
        return
    print(*text, sep="\n")
    if options.output is not None:
        options.output.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
