"""
Coloring a mesh
===============

A greedy coloring: triangles that share a side have different colors. Meshes are colored for parallel processing: no two
threads that work on triangles of one color touch the same side.
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
# Vertices of the graph are triangles, edges are common sides; -1 means no neighbor.

triangle, side = np.nonzero(mesh.neighbors >= 0)
neighbors = gasla.Graph.from_edges(triangle, mesh.neighbors[triangle, side], n=len(mesh.simplices))
colors = gasla.greedy_color(neighbors, seed=7)
print(f"{neighbors.n} triangles in {colors.max() + 1} colors")

figure, axes = plt.subplots(figsize=(8, 8), layout="constrained")
palette = ListedColormap(["#f4a259", "#5b8e7d", "#bc4b51", "#f4e285", "#8cb369"][: colors.max() + 1])
axes.tripcolor(*points.T, mesh.simplices, facecolors=colors, cmap=palette, edgecolors="white", linewidth=1.2)
axes.set_aspect("equal")
axes.axis("off")
plt.show()
