"""Vertex nomination: who is nearest to a group of vertices that are known to be of interest?

Each seed is a lane of a vector: `distance[k]` is how far a vertex is from seed k. One run of shortest paths finds all
of them, and who has the least sum of distances to the seeds is nominated (as in Gunrock's application of this name).

    python examples/vertex_nomination.py [SEED ...]

Seeds are IATA codes of airports or names of cities, eight at most.
"""

import sys

import numpy as np

import gasla
import semirings
from gasla.demo import airports as demo

SEEDS = ("JFK", "LHR", "HND", "SYD")


class Distances(gasla.VertexProgram):
    """distance(v)[k] = min over in-edges of distance(u)[k] + weight."""

    seeds = gasla.option(1)  # how many
    distance = gasla.vertex((np.float64, (seeds,)), init=np.inf)
    weight = gasla.edge(np.float64)
    reduce = semirings.min

    def gather(self, src, dst, edge):
        return src.distance + edge.weight

    def apply(self, vertex, gathered):
        return {"distance": semirings.minimum(vertex.distance, gathered)}


def distances_from(graph: gasla.Graph, seeds: list[int]) -> np.ndarray:
    """How far every vertex is from each of the seeds, (n, seeds)."""
    start = np.full((graph.n, len(seeds)), np.inf)
    start[seeds, np.arange(len(seeds))] = 0
    return gasla.run(Distances(seeds=len(seeds)), graph, active=seeds, distance=start).distance


def nominate(graph: gasla.Graph, seeds: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The vertices by their sums of distances to the seeds, the nearest first, and these sums; seeds come last."""
    score = distances_from(graph, seeds).sum(axis=1)
    score[seeds] = np.inf
    return np.argsort(score, kind="stable"), score


def main(*names: str) -> None:
    """Print who is nominated, and see that searches from one seed after the other say the same."""
    kilometres, airports, _ = demo.network()
    graph = gasla.Graph(kilometres)
    seeds = [demo.find_airport(airports, name) for name in names or SEEDS]
    if not 0 < len(set(seeds)) == len(seeds) <= 8:
        raise SystemExit("expected one to eight airports, each once")
    order, score = nominate(graph, seeds)
    print(f"Nearest to {', '.join(airports.city[seed] for seed in seeds)}, by kilometres flown to all of them:")
    for place, v in enumerate(order[:5].tolist(), 1):
        print(f"{place:4}  {score[v]:10,.0f} km  {airports.iata[v]}  {airports.city[v]}, {airports.country[v]}")
    alone = sum(gasla.sssp(graph, seed).astype(np.float64) for seed in seeds)
    alone[seeds] = np.inf
    np.testing.assert_allclose(score, alone, rtol=1e-6)
    assert alone[order[0]] <= alone.min() * (1 + 1e-6)


if __name__ == "__main__":
    main(*sys.argv[1:])
