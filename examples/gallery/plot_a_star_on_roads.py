"""
A* on the roads
===============

The shortest path from one end of New York to the other. Dijkstra's algorithm visits all junctions closer than the goal,
in blue. A* needs a lower bound of the remaining distance, here from landmarks: a junction that is 30 blocks from a
landmark is at least 70 blocks from a goal that is 100 blocks from it. A* visits only the orange junctions.

(A. Goldberg, C. Harrelson: Computing the shortest path. A* search meets graph theory. SODA 2005.)
"""

import matplotlib.pyplot as plt
import numpy as np

import gasla
from gasla import datasets

roads = gasla.Graph(datasets.ny_roads())
pivots = np.random.default_rng(0).choice(roads.n, 64, replace=False)
blocks = gasla.multi_source_bfs(roads, pivots).astype(np.float64).T

# The pivots are the landmarks, and also determine the layout, as in "Roads by travel time".
squares = blocks**2
centered = squares - squares.mean(0) - squares.mean(1, keepdims=True) + squares.mean()
x, y = (centered @ np.linalg.eigh(centered.T @ centered)[1][:, -2:]).T

# %%
# The path, and the junctions that each search visits.

start, goal = (
    int(np.argmin(abs(x - np.quantile(x, a)) + abs(y - np.quantile(y, b)))) for a, b in [(0.25, 0.3), (0.7, 0.7)]
)
bound = np.abs(blocks - blocks[goal]).max(axis=1)
found = gasla.shortest_path(roads, start, goal, bound=bound)
begun = gasla.bfs(roads, start)
dijkstra, a_star = begun < found.distance, begun + bound <= found.distance
print(f"{found.distance:.0f} blocks; Dijkstra visits {dijkstra.sum():,} junctions, A* {a_star.sum():,}")

figure, axes = plt.subplots(figsize=(9, 8), facecolor="#0b0f19", layout="constrained")
for seen, color in [(~dijkstra, "#2b3346"), (dijkstra & ~a_star, "#3f7fd0"), (a_star, "#ff9f1c")]:
    axes.scatter(x[seen], y[seen], color=color, s=0.4, linewidth=0)
axes.plot(x[found.path], y[found.path], color="white", linewidth=1.6)
axes.scatter(x[[start, goal]], y[[start, goal]], color="white", s=50, zorder=3)
axes.set_aspect("equal")
axes.axis("off")
plt.show()
