"""Many small graphs: one call on a batch of them, compared with a loop of calls. Answers are compared first.

python -m benchmarks.batches [--graphs 1000] [--vertices 100] [--edges 200] [--rounds 5]

Each call has new graphs, so both times include the neighbor lists that a call builds; that of the batch also includes
`gasla.batch` and `split`. Both run by turns, and the medians are shown.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import gasla
from benchmarks.script import Script, command

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


def main(arguments: list[str] | None = None) -> None:
    """Measure, and print a row for each function."""
    parser = command(__doc__, "output", rounds=5)
    parser.add_argument("--graphs", type=int, default=1000)
    parser.add_argument("--vertices", type=int, default=100)
    parser.add_argument("--edges", type=int, default=200)
    script = Script(parser, arguments)
    size, made = (script.options.graphs, script.options.vertices, script.options.edges), list[gasla.Graph]()

    def make(_: str) -> None:
        made[:] = drawn(*size)

    for name, call in CALLS.items():

        def check(answers: list[Any], name: str = name) -> None:
            for one, other in zip(*answers, strict=True):
                shift = other.min() if name == "connected_components" else 0  # labels count through the batch
                np.testing.assert_array_equal(one, other - shift)

        ways = {"loop": lambda _, f=call: in_a_loop(f, made), "batch": lambda _, f=call: batched(f, made)}
        script.contest(name, ways, before=make, check=check)


if __name__ == "__main__":
    main()
