"""
Roads by travel time
====================

All of New York's roads, by how far each junction is from one of them: a ring for every forty blocks.

The roads come without a map, so gasla draws one. Distances from sixty-four junctions give every other a place
(pivot multidimensional scaling: U. Brandes, C. Pich, 2006), and the city's islands and bridges come out.
"""

import matplotlib.pyplot as plt
import numpy as np

import gasla
from gasla import datasets

roads = gasla.Graph(datasets.ny_roads())


def places(graph: gasla.Graph, pivots: int = 64) -> np.ndarray:
    """Return a place in the plane for every vertex, such that distances are as in the graph, as far as they can be."""
    chosen = np.random.default_rng(0).choice(graph.n, pivots, replace=False)
    squares = gasla.multi_source_bfs(graph, chosen).astype(np.float64).T ** 2
    centred = squares - squares.mean(0) - squares.mean(1, keepdims=True) + squares.mean()
    _, axes = np.linalg.eigh(centred.T @ centred)
    return centred @ axes[:, -2:]


# %%
# The search starts in the junction that is nearest to the middle.

x, y = places(roads).T
middle = int(np.argmin((x - np.median(x)) ** 2 + (y - np.median(y)) ** 2))
blocks = gasla.bfs(roads, middle)

figure, axes = plt.subplots(figsize=(9, 8), facecolor="#0b0f19", layout="constrained")
ring = blocks // 40
shade = plt.get_cmap("plasma_r")(ring / ring.max())
shade[:, :3] *= np.where(blocks % 40 < 4, 0.25, 1)[:, None]  # the rim of a ring is dark
order = np.argsort(-blocks)
axes.scatter(x[order], y[order], c=shade[order], s=0.5, linewidth=0)
axes.scatter(x[middle], y[middle], c="white", s=60, marker="*", zorder=3)
axes.set_aspect("equal")
axes.axis("off")
plt.show()
