"""Bidirectional search, as an explicit loop over the stages.

Two searches, one forward from the start and one backward from the goal, advance alternately, always that with the
smaller frontier, until they meet; most of the network is never read. `gasla.run` has only one frontier, so the loop is
written by hand.

    python examples/stages_loop.py
"""

import numpy as np

import gasla
import semirings
from gasla import datasets, stages


class Reached(gasla.VertexProgram):
    """level(v) = the round in which the search reaches v."""

    level = gasla.vertex(np.int32, init=-1)
    reduce = semirings.any
    sources = "active"

    def mask(self, vertex):
        return vertex.level < 0

    def gather(self, src, dst, edge):
        return src.level + 1

    def apply(self, vertex, gathered):
        return {"level": gathered}


class Backwards(Reached):
    """`Reached` against the direction of the edges."""

    direction = "out"


def flights_between(graph: gasla.Graph, start: int, goal: int) -> tuple[int | None, int]:
    """The number of flights between two airports, and the number of edges read by the search."""
    searches = [stages.start(program, graph, level={v: 0}) for program, v in ((Reached, start), (Backwards, goal))]
    frontiers = [gasla.Frontier(graph.n, [v]) for v in (start, goal)]
    looked_at = 0
    while all(frontiers):
        side = int(len(frontiers[1]) < len(frontiers[0]))
        state, frontier = searches[side], frontiers[side]
        edges = stages.expand(state, frontier)
        looked_at += len(edges)
        receivers = stages.contract(state, edges)
        frontiers[side] = stages.apply(state, receivers, stages.gather(state, receivers, frontier))
        both = (searches[0].level >= 0) & (searches[1].level >= 0)
        if both.any():
            return int((searches[0].level + searches[1].level)[both].min()), looked_at
    return None, looked_at


def main() -> None:
    """Search between a few pairs of airports."""
    flights, airports = datasets.openflights()
    graph = gasla.Graph(flights)
    codes = airports.iata.tolist()
    for start, goal in (("LHR", "JFK"), ("LYR", "USH"), ("KEF", "IPC"), ("BNX", "ZRH")):
        number, looked_at = flights_between(graph, codes.index(start), codes.index(goal))
        assert number == (level if (level := gasla.bfs(graph, codes.index(start))[codes.index(goal)]) >= 0 else None)
        print(f"{start} to {goal}: {number} flights; looked at {looked_at:,} of {graph.m:,} edges")


if __name__ == "__main__":
    main()
