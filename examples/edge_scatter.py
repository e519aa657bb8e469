"""A vertex program with an edge field: the flow of water on the edges of a landscape.

Rain falls on every vertex of a hilly landscape, and flows down to the lower neighbors in proportion to the difference
in height. `scatter` writes the flow of each edge, and the gather of the next iteration reads it. The result has the
flows in the order of the matrix's entries.

    python examples/edge_scatter.py
"""

import numpy as np
from scipy.sparse import csr_array

import gasla
import semirings


class Runoff(gasla.VertexProgram):
    """water(v) = rain(v) + sum of flow over in-edges; flow(u, v) = water(u) * share(u, v)."""

    rain = gasla.vertex(np.float64, init=1.0)
    water = gasla.vertex(np.float64, init=1.0)
    share = gasla.edge(np.float64)  # values of the matrix: the fraction of the source's water on this edge
    flow = gasla.edge(np.float64, init=0.0)  # written by the program
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return edge.flow

    def apply(self, vertex, gathered):
        return {"water": vertex.rain + gathered}

    def activate(self, before, after):
        return abs(after.water - before.water) > 1e-9

    def scatter(self, src, dst, edge):
        return {"flow": src.water * edge.share}


def landscape(side: int) -> tuple[np.ndarray, csr_array]:
    """Heights of a square of hills that slopes to one corner, and the matrix of shares."""
    y, x = np.mgrid[:side, :side]
    height = (np.sin(x / 3.1) + np.cos(y / 2.3) + 0.35 * (x + y)).ravel()
    number = np.arange(side * side).reshape(side, side)
    pairs = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:])]
    a, b = (np.concatenate([p[i].ravel() for p in pairs]) for i in (0, 1))
    high, low = np.where(height[a] > height[b], a, b), np.where(height[a] > height[b], b, a)
    drop = height[high] - height[low]
    total = np.bincount(high, drop, side * side)
    return height, csr_array((drop / total[high], (high, low)), shape=(side * side, side * side))


def main() -> None:
    """Run the program, and check that no water is lost."""
    side = 40
    height, drains = landscape(side)
    graph = gasla.Graph(drains)
    # Flows start with the rain of each vertex, scattered.
    first = np.repeat(1.0, graph.m) * graph.out_values
    result = gasla.run(Runoff, graph, flow=first)
    lakes = np.flatnonzero(graph.out_degrees == 0)
    print(f"{graph.n} places, {graph.m} stretches of water, {result.iterations} iterations")
    print(f"rain: {graph.n}; arrived in {len(lakes)} lakes: {result.water[lakes].sum():.6f}")
    rows = np.repeat(np.arange(graph.n), np.diff(graph.out.indptr))
    for e in np.argsort(result.flow)[::-1][:5]:
        (y, x), (v, u) = divmod(rows[e], side), divmod(graph.out.indices[e], side)
        print(f"  ({x:2d},{y:2d}) -> ({u:2d},{v:2d}) carries {result.flow[e]:7.2f}, height {height[rows[e]]:5.2f}")
    assert np.isclose(result.water[lakes].sum(), graph.n)


if __name__ == "__main__":
    main()
