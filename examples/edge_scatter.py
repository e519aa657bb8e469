"""A vertex program with state on its edges: how much of a river's water does every stretch carry?

Rain falls on every vertex of a hilly landscape and runs down to the lower neighbours, to each in proportion to how
much lower it lies. `scatter` writes the flow of every edge, the next iteration's gather reads it, and at the end the
edges' flows come back in the order of the matrix's entries.

    python examples/edge_scatter.py
"""

import numpy as np
from scipy.sparse import csr_array

import gasla
import semirings


class Runoff(gasla.VertexProgram):
    """water(v) = rain(v) + what flows in; the flow along an edge = its share of the water above."""

    rain = gasla.vertex(np.float64, init=1.0)
    water = gasla.vertex(np.float64, init=1.0)
    share = gasla.edge(np.float64)  # the matrix's values: the part of a vertex's water that takes this way
    flow = gasla.edge(np.float64, init=0.0)  # the program's own
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
    """Heights of a square of hills that slopes to one corner, and who drains into whom by how much."""
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
    """Run it, and show that no water is lost."""
    side = 40
    height, drains = landscape(side)
    graph = gasla.Graph(drains)
    # The first wave: every vertex scatters its own rain, which the flows start with.
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
