"""
Roads by travel time
====================

The roads of New York, colored by distance from a junction in the middle: one ring per forty blocks.

The data set has no coordinates, so the layout is computed from distances to 64 junctions (pivot multidimensional
scaling: U. Brandes, C. Pich, 2006). Islands and bridges of the city become visible.
"""

import matplotlib.pyplot as plt
import numpy as np

import gasla
from gasla import datasets

roads = gasla.Graph(datasets.ny_roads())


def places(graph: gasla.Graph, pivots: int = 64) -> np.ndarray:
    """Return a position in the plane for every vertex, so that distances approximate those in the graph."""
    chosen = np.random.default_rng(0).choice(graph.n, pivots, replace=False)
    squares = gasla.multi_source_bfs(graph, chosen).astype(np.float64).T ** 2
    centered = squares - squares.mean(0) - squares.mean(1, keepdims=True) + squares.mean()
    _, axes = np.linalg.eigh(centered.T @ centered)
    return centered @ axes[:, -2:]


# %%
# The search starts at the junction nearest to the middle.

x, y = places(roads).T
middle = int(np.argmin((x - np.median(x)) ** 2 + (y - np.median(y)) ** 2))
blocks = gasla.bfs(roads, middle)

figure, axes = plt.subplots(figsize=(9, 8), facecolor="#0b0f19", layout="constrained")
ring = blocks // 40
shade = plt.get_cmap("plasma_r")(ring / ring.max())
shade[:, :3] *= np.where(blocks % 40 < 4, 0.25, 1)[:, None]  # dark borders between rings
order = np.argsort(-blocks)
axes.scatter(x[order], y[order], c=shade[order], s=0.5, linewidth=0)
axes.scatter(x[middle], y[middle], c="white", s=60, marker="*", zorder=3)
axes.set_aspect("equal")
axes.axis("off")
plt.show()
