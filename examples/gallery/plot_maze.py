"""
A maze from a spanning tree
===========================

Every wall between two cells has a random weight. Removing the walls of the minimum spanning tree joins all cells, with
exactly one path between any two: a maze. The color of a cell is its distance from the entrance.
"""

import matplotlib.pyplot as plt
import numpy as np

import gasla

side = 90
cell = np.arange(side * side).reshape(side, side)
start = np.concatenate([cell[:, :-1].ravel(), cell[:-1].ravel()])
end = np.concatenate([cell[:, 1:].ravel(), cell[1:].ravel()])
walls = gasla.Graph.from_edges(start, end, np.random.default_rng(8).random(len(start)))

taken = gasla.minimum_spanning_forest(walls).edges
maze = gasla.Graph.from_edges(np.r_[start[taken], end[taken]], np.r_[end[taken], start[taken]])

# %%
# The path through the maze, and the distance of all cells; walls are one pixel wide, cells two.

steps = gasla.bfs(maze, 0)
way = gasla.shortest_path(maze, 0, side * side - 1).path

picture = np.full((3 * side + 1, 3 * side + 1), np.nan)
rows, columns = np.divmod(cell.ravel(), side)
for i, j in [(1, 1), (1, 2), (2, 1), (2, 2)]:
    picture[3 * rows + i, 3 * columns + j] = steps
for a, b in zip(start[taken], end[taken]):
    if b - a == 1:  # horizontal neighbors, else vertical
        picture[3 * rows[b] + 1 : 3 * rows[b] + 3, 3 * columns[b]] = steps[b]
    else:
        picture[3 * rows[b], 3 * columns[b] + 1 : 3 * columns[b] + 3] = steps[b]

figure, axes = plt.subplots(figsize=(8, 8), facecolor="#10131c", layout="constrained")
axes.imshow(picture, cmap="viridis", interpolation="nearest")
axes.plot(3 * columns[way] + 1.5, 3 * rows[way] + 1.5, color="white", linewidth=1.8)
axes.axis("off")
plt.show()
