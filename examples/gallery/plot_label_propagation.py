"""
Label propagation
=================

Every point repeatedly takes the most frequent label among its neighbors. The number of groups is not given; borders
form where points are sparse.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import cKDTree

import gasla

random = np.random.default_rng(5)
points = random.uniform(0, 1, (16_000, 2))
x, y = points.T
hills = np.sin(9 * x + 3 * np.sin(4 * y)) * np.sin(8 * y + 2 * np.cos(5 * x))
points = points[random.uniform(0, 1, len(x)) < 0.08 + 0.92 * np.abs(hills)]  # dense on hills, sparse in valleys

# %%
# Neighbors are the points nearby.

pairs = cKDTree(points).query_pairs(0.03, output_type="ndarray")
graph = gasla.Graph.from_edges(*np.vstack([pairs, pairs[:, ::-1]]).T, n=len(points))
labels = gasla.label_propagation(graph, seed=1)
sizes = np.bincount(labels, minlength=graph.n)
print(f"{graph.n:,} points, {graph.m // 2:,} edges, {np.count_nonzero(sizes > 20)} groups of more than 20")

figure, axes = plt.subplots(figsize=(8, 8), facecolor="#0b0f19", layout="constrained")
hue = random.permutation(graph.n)[labels] / graph.n
axes.scatter(*points.T, c=hue, cmap="gist_rainbow", s=22, linewidth=0)
axes.set_aspect("equal")
axes.axis("off")
plt.show()
