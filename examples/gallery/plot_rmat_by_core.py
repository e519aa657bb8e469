"""
An R-MAT graph by core
======================

The k-core is the largest subgraph in which every vertex has at least k neighbors. Hundreds of vertices at the rim are
attached by a single edge, and each of the three hundred in the innermost core has at least 65 neighbors there.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

import gasla
from gasla import datasets

graph = gasla.Graph(datasets.rmat(12))
cores = gasla.core_number(graph)
print(f"{graph.n} vertices, {graph.m // 2} edges, cores up to {cores.max()}")

# %%
# Vertices are placed from the center outwards by descending core number; vertices without edges are left out.

random = np.random.default_rng(0)
inwards = np.argsort(cores, kind="stable")[np.count_nonzero(cores == 0) :]
radius, angle = np.zeros(graph.n), random.uniform(0, 2 * np.pi, graph.n)
radius[inwards] = np.sqrt(np.linspace(1, 0, len(inwards)))  # fills the disc evenly
place = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
edges = graph.to_edge_index().T[random.choice(graph.m, 6000, replace=False)]

figure, axes = plt.subplots(figsize=(8.6, 8), facecolor="#0b0f19", layout="constrained")
axes.add_collection(LineCollection(place[edges], color="white", alpha=0.03, linewidth=0.5))
dots = axes.scatter(*place[inwards].T, s=6 + graph.out_degrees[inwards] / 6, c=cores[inwards], cmap="plasma", vmin=-12)
axes.set_aspect("equal")
axes.axis("off")
bar = figure.colorbar(dots, shrink=0.5)
bar.set_label("core", color="white")
bar.ax.set_ylim(0)
bar.ax.tick_params(colors="white")
plt.show()
