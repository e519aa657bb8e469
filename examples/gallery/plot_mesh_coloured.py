"""
A mesh coloured
===============

Triangles that share a side get different colours, as few as a greedy choice needs. Work on one colour can then go on
in parallel without two threads at one side: that is what meshes are coloured for.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from scipy.spatial import Delaunay

import gasla

number = np.arange(1, 420)
radius = np.sqrt(number / number[-1])
angle = number * np.pi * (3 - np.sqrt(5))  # a sunflower's seeds
points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) * (0.6 + 0.4 * radius[:, None])
mesh = Delaunay(points)

# %%
# A triangle is a vertex of the graph, a common side an edge; -1 stands where there is no neighbour.

triangle, side = np.nonzero(mesh.neighbors >= 0)
neighbours = gasla.Graph.from_edges(triangle, mesh.neighbors[triangle, side], n=len(mesh.simplices))
colours = gasla.greedy_color(neighbours, seed=7)
print(f"{neighbours.n} triangles in {colours.max() + 1} colours")

figure, axes = plt.subplots(figsize=(8, 8), layout="constrained")
palette = ListedColormap(["#f4a259", "#5b8e7d", "#bc4b51", "#f4e285", "#8cb369"][: colours.max() + 1])
axes.tripcolor(*points.T, mesh.simplices, facecolors=colours, cmap=palette, edgecolors="white", linewidth=1.2)
axes.set_aspect("equal")
axes.axis("off")
plt.show()
