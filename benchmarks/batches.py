"""Many small graphs: one call on a batch of them, compared with a loop of calls. Answers are compared first.

python -m benchmarks.batches [--graphs 1000] [--vertices 100] [--edges 200] [--rounds 5]

Each round makes the graphs anew, so both columns include the neighbor lists that a call builds; that of the batch also
includes `gasla.batch` and `split`. Both run in turns, and the medians are shown.
"""

import argparse
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import gasla
from gasla.bench.reports.provenance import provenance

Call = Callable[[gasla.Graph, Any], Any]  # of a graph, and the first vertex of each of its parts
CALLS: dict[str, Call] = {
    "sssp": gasla.sssp,
    "connected_components": lambda graph, _: gasla.connected_components(graph).labels,
    "core_number": lambda graph, _: gasla.core_number(graph),
    "clustering": lambda graph, _: gasla.clustering(graph),
    "aggregate_features": lambda graph, _: gasla.aggregate_features(graph, np.ones((graph.n, 8))),
}


def drawn(count: int, n: int, m: int) -> list[gasla.Graph]:
    """Random graphs with weights."""
    rng = np.random.default_rng(1)
    return [gasla.Graph.from_edges(*rng.integers(0, n, (2, m)), rng.random(m), n=n) for _ in range(count)]


def in_a_loop(call: Call, graphs: list[gasla.Graph]) -> list[Any]:
    """The answers, graph by graph."""
    return [call(graph, [0]) for graph in graphs]


def batched(call: Call, graphs: list[gasla.Graph]) -> list[Any]:
    """The answers, of one call."""
    batch = gasla.batch(graphs)
    return batch.split(call(batch.graph, batch.vertex_starts[:-1]))


def row(name: str, make: Callable[[], list[gasla.Graph]], rounds: int) -> str:
    """Milliseconds of both ways, and their ratio."""
    seconds: dict[Any, list[float]] = {in_a_loop: [], batched: []}
    answers = [way(CALLS[name], make()[:10]) for way in seconds]
    for one, other in zip(*answers, strict=True):
        shift = other.min() if name == "connected_components" else 0  # labels count through the batch
        np.testing.assert_array_equal(one, other - shift)
    for _ in range(rounds):
        for way, times in seconds.items():
            graphs = make()
            began = perf_counter()
            way(CALLS[name], graphs)
            times.append(perf_counter() - began)
    loop, batch = (1e3 * median(times) for times in seconds.values())
    return f"{name:22}{loop:12.1f}{batch:12.1f}{loop / batch:10.1f}"


def main(arguments: list[str] | None = None) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=1000)
    parser.add_argument("--vertices", type=int, default=100)
    parser.add_argument("--edges", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    print(provenance("cpu"))
    print(f"{'ms':22}{'loop':>12}{'batch':>12}{'ratio':>10}")
    for name in CALLS:
        print(row(name, lambda: drawn(options.graphs, options.vertices, options.edges), options.rounds), flush=True)


if __name__ == "__main__":
    main()
