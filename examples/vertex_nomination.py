"""Vertex nomination: find the vertices closest to a given set of seeds (as Gunrock's application of this name).

The distances from all seeds are one vector field: `distance[k]` is the distance from seed k. One run of shortest paths
computes all of them; the vertices with the least sums of distances are nominated.

    python examples/vertex_nomination.py [SEED ...]

Seeds are IATA codes of airports or names of cities, at most eight.
"""

import sys

import numpy as np

import gasla
import semirings
from gasla.demo import airports as demo

SEEDS = ("JFK", "LHR", "HND", "SYD")


class Distances(gasla.VertexProgram):
    """distance(v)[k] = min over in-edges of distance(u)[k] + weight."""

    seeds = gasla.option(1)  # number of seeds
    distance = gasla.vertex((np.float64, (seeds,)), init=np.inf)
    weight = gasla.edge(np.float64)
    reduce = semirings.min

    def gather(self, src, dst, edge):
        return src.distance + edge.weight

    def apply(self, vertex, gathered):
        return {"distance": semirings.minimum(vertex.distance, gathered)}


def distances_from(graph: gasla.Graph, seeds: list[int]) -> np.ndarray:
    """The distance of every vertex from each seed, (n, seeds)."""
    start = np.full((graph.n, len(seeds)), np.inf)
    start[seeds, np.arange(len(seeds))] = 0
    return gasla.run(Distances(seeds=len(seeds)), graph, active=seeds, distance=start).distance


def nominate(graph: gasla.Graph, seeds: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The vertices by ascending sum of distances from the seeds, which come last, and the sums."""
    score = distances_from(graph, seeds).sum(axis=1)
    score[seeds] = np.inf
    return np.argsort(score, kind="stable"), score


def main(*names: str) -> None:
    """Print the nominated airports, and check the sums against one run per seed."""
    kilometers, airports, _ = demo.network()
    graph = gasla.Graph(kilometers)
    seeds = [demo.find_airport(airports, name) for name in names or SEEDS]
    if not 0 < len(set(seeds)) == len(seeds) <= 8:
        raise SystemExit("expected one to eight distinct airports")
    order, score = nominate(graph, seeds)
    print(f"Nearest to {', '.join(airports.city[seed] for seed in seeds)}, by kilometers flown to all of them:")
    for place, v in enumerate(order[:5].tolist(), 1):
        print(f"{place:4}  {score[v]:10,.0f} km  {airports.iata[v]}  {airports.city[v]}, {airports.country[v]}")
    alone = sum(gasla.sssp(graph, seed).astype(np.float64) for seed in seeds)
    alone[seeds] = np.inf
    np.testing.assert_allclose(score, alone, rtol=1e-6)
    assert alone[order[0]] <= alone.min() * (1 + 1e-6)


if __name__ == "__main__":
    main(*sys.argv[1:])
