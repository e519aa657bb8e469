"""A loop written by hand over the stages: two searches at once, until they meet.

A search from each of two airports grows by turns, always the smaller frontier; when a vertex is reached by both, the
flights needed are known, and most of the network was never looked at. `gasla.run` could not do this: it knows one
frontier. The stages don't mind.

    python examples/stages_loop.py
"""

import numpy as np

import gasla
import semirings
from gasla import datasets, stages


class Reached(gasla.VertexProgram):
    """level(v) = the round in which a search reaches v."""

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
    """The same against the direction of the edges."""

    direction = "out"


def flights_between(graph: gasla.Graph, start: int, goal: int) -> tuple[int | None, int]:
    """How many flights lie between two airports, and how many edges it took to find out."""
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
    """Ask for a few pairs."""
    flights, airports = datasets.openflights()
    graph = gasla.Graph(flights)
    codes = airports.iata.tolist()
    for start, goal in (("LHR", "JFK"), ("LYR", "USH"), ("KEF", "IPC"), ("BNX", "ZRH")):
        number, looked_at = flights_between(graph, codes.index(start), codes.index(goal))
        assert number == (level if (level := gasla.bfs(graph, codes.index(start))[codes.index(goal)]) >= 0 else None)
        print(f"{start} to {goal}: {number} flights; looked at {looked_at:,} of {graph.m:,} edges")


if __name__ == "__main__":
    main()
