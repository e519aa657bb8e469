"""PageRank in place beside PageRank as it is by default, by turns.

As `python -m benchmarks.in_place --device gpu rmat22 urand22 rgg22 grid24`.

Printed are iterations, medians of milliseconds, the quotient of the two, and what a plain step afterwards changes.
"""

import argparse
import time
from typing import Any

import numpy as np

import gasla
from gasla.arrays import finish, moved
from gasla.bench.graphs import load

ORDERS = ("synchronous", "in place")
TURNS = 15


def main() -> None:
    """Measure the graphs that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    given = parser.parse_args()
    print(f"{'graph':12} {'order':12} {'iterations':>10} {'ms':>10} {'of synchronous':>15} {'step afterwards':>16}")
    for name in given.graphs:
        graph = load(name).graph.to(given.device)
        taken: dict[str, list[float]] = {order: [] for order in ORDERS}
        found = {order: run(graph, order)[0] for order in ORDERS}
        for _ in range(TURNS):
            for order in ORDERS:
                taken[order].append(run(graph, order)[1])
        medians = {order: float(np.median(times)) for order, times in taken.items()}
        for order, result in found.items():
            quotient, step = medians[order] / medians["synchronous"], changed_by_a_step(graph.to("cpu"), result.ranks)
            print(f"{name:12} {order:12} {result.iterations:10} {1e3 * medians[order]:10.3f}", end=" ")
            print(f"{quotient:15.2f} {step:16.2e}")


def run(graph: gasla.Graph, order: Any) -> tuple[Any, float]:
    """A result, and the seconds that it took."""
    began = time.perf_counter()
    result = gasla.pagerank(graph, weighted=False, order=order)
    finish(graph.device)
    return result, time.perf_counter() - began


def changed_by_a_step(graph: gasla.Graph, ranks: Any) -> float:
    """How much one synchronous step, by NumPy, changes ranks in all."""
    ranks, degrees, alpha = moved(ranks, "cpu"), graph.out_degrees, 0.85
    share = np.divide(ranks, degrees, out=np.zeros(graph.n), where=degrees > 0)
    along = np.bincount(graph.out.indices, share[graph.out.owners()], graph.n)
    step = (1 - alpha + alpha * ranks[degrees == 0].sum()) / graph.n + alpha * along
    return float(np.abs(step - ranks).sum())


if __name__ == "__main__":
    main()
