"""What a shortest path from one vertex to another costs, beside all distances, and beside peers' paths.

    python -m benchmarks.routes [--graphs ny,grid18] [--engine gpu] [--rounds 9] [--graphs-module FILE]

Targets are told by how many vertices are nearer than they are: one in a thousand, half, nearly all. All is run by
turns, and lengths are compared. `bound` is A* by one landmark, the farthest vertex: what it knows, its distances from
all, is made beforehand. Near targets should take 0.3 of all distances, others no longer than these. igraph and
NetworKit, on the CPU alone, run Dijkstra's algorithm on one thread, with an end and from both ends.
"""

from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import gasla
from benchmarks.gpu import made
from gasla.arrays import array_module, finish, moved
from gasla.bench import peers
from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.interleave import interleave

TARGETS = {"near": 0.001, "middle": 0.5, "far": 0.999}  # the share of reached vertices that are nearer
BARS = {"near": 0.3, "middle": 1.0, "far": 1.0}  # of the time of all distances
Call = Callable[[int], Any]  # of the round; the length of a path


def measure(given: BenchmarkGraph, rounds: int) -> None:
    """Print a line for each target."""
    graph, source = given.graph, given.sources[0]
    distance = moved(gasla.sssp(graph, source), "cpu")
    reached = np.flatnonzero(np.isfinite(distance))
    order = reached[np.argsort(distance[reached], kind="stable")]
    away = gasla.sssp(graph, int(order[-1]))
    rivals = {name: peers.make(name, given) for name in others(given)}
    for name, share in TARGETS.items():
        target = int(order[int(share * (len(order) - 1))])
        calls = {**own(given, source, target, away), **of_peers(rivals, source, target)}
        for who, call in calls.items():
            if not np.isclose(found := float(call(0)), distance[target], rtol=1e-5):
                raise AssertionError(f"{who}: {found} from {source} to {target}; expected {distance[target]}")
        took = {who: median(times) for who, times in interleave(calls, rounds, 60.0, keep=frozenset(calls)).items()}
        times = "  ".join(f"{who} {1e3 * seconds:8.3f} ms" for who, seconds in took.items())
        ratio = took["path"] / took["all"]
        print(f"{given.name:<10}{name:<8}{times}  {ratio:6.3f} {'ok' if ratio <= BARS[name] else 'OVER'}", flush=True)


def others(given: BenchmarkGraph) -> list[str]:
    """The peers that have paths from one vertex to another."""
    return [name for name in ("igraph", "networkit") if given.device == "cpu" and peers.is_there(name)]


def own(given: BenchmarkGraph, source: int, target: int, away: Any) -> dict[str, Call]:
    """Distances to all, a path, and one by what a landmark knows: gasla's."""
    graph, device, xp = given.graph, given.device, array_module(away)
    bound = xp.where(xp.isfinite(away), abs(away - away[target]), 0)

    def everywhere(_: int) -> Any:
        found = gasla.sssp(graph, source)
        finish(device)
        return found[target]

    return {
        "all": everywhere,
        "path": lambda _: gasla.shortest_path(graph, source, target).distance,
        "bound": lambda _: gasla.shortest_path(graph, source, target, bound=bound).distance,
    }


def of_peers(rivals: dict[str, Any], source: int, target: int) -> dict[str, Call]:
    """The same by peers, whose graphs are made beforehand."""
    found: dict[str, Call] = {}
    if "igraph" in rivals:
        native, weights = rivals["igraph"].native, rivals["igraph"].weights
        native.es["length"] = weights

        def path(_: int) -> Any:
            return native.get_shortest_path(source, target, weights="length", output="epath")

        found["igraph"] = lambda number: sum(weights[e] for e in path(number))
    if "networkit" in rivals:
        import networkit as nk

        def both_ends(_: int) -> Any:
            search = nk.distance.BidirectionalDijkstra(rivals["networkit"].weighted, source, target)
            search.run()
            return search.getDistance()

        found["networkit"] = both_ends
    return found


def main() -> None:
    """Measure every graph."""
    for graph, rounds in made.asked_for(__doc__, "ny,grid18", 9):
        measure(graph, rounds)


if __name__ == "__main__":
    main()
