"""How long it takes to make graphs: of arrays of edges, and of graphs.

python -m benchmarks.building [--edges 10_000_000] [--vertices 1_048_576] [--device cpu] [--rounds 5]

Edges are random, their ends drawn alike, as int32. The best of some rounds is shown, each of a new graph. The bars: a
graph of 10**7 edges on two cores under 1 s, one of 10**8 on an H100 under 60 ms.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import semirings
from gasla.arrays import finish, module_of
from gasla.graph.graph import Graph


def tasks(src: Any, dst: Any, weights: Any, labels: Any, mask: Any, n: int) -> dict[str, Callable[[], Any]]:
    """What is timed, by its name."""
    made = Graph.from_edges(src, dst, weights, n=n)
    assert made.out is not None

    def fresh(graph: Graph) -> Graph:
        return graph.with_values(graph.values)

    return {
        "from_edges, out": lambda: Graph.from_edges(src, dst, weights, n=n).out,
        "from_edges, in": lambda: Graph.from_edges(src, dst, weights, n=n).in_,
        "from_edges, combined": lambda: Graph.from_edges(src, dst, weights, n=n, combine=semirings.plus),
        "simple": lambda: fresh(made).simple(semirings.plus),
        "symmetrized": lambda: fresh(made).symmetrized(semirings.max),
        "contract": lambda: made.contract(labels),
        "select": lambda: made.select(mask),
        "subgraph": lambda: made.subgraph(mask[:n]),
    }


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, and print a line a task."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.building", description=__doc__.partition("\n")[0])
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--vertices", type=int, default=1 << 20, help="at most as many as edges")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    rng, xp, m, n = np.random.default_rng(0), module_of(options.device), options.edges, options.vertices
    src, dst = (xp.asarray(rng.integers(0, n, m, np.int32)) for _ in range(2))
    weights, labels = xp.asarray(rng.random(m, np.float32)), xp.asarray(rng.integers(0, n // 20 + 1, n, np.int32))
    mask = xp.asarray(rng.random(m) < 0.5)
    for name, task in tasks(src, dst, weights, labels, mask, n).items():
        times = []
        for _ in range(options.rounds + 1):  # the first compiles
            finish(options.device)
            begin = time.perf_counter()
            task()
            finish(options.device)
            times.append(time.perf_counter() - begin)
        print(f"{name:24} {1000 * min(times[1:]):10.1f} ms", flush=True)


if __name__ == "__main__":
    main()
