"""
Maximum flow and minimum cut
============================

A maximum flow from left to right through pipes of random capacity. The pipes in red are a minimum cut: they are full,
and the sum of their capacities is the value of the flow.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from scipy.spatial import Delaunay

import gasla

random = np.random.default_rng(3)
points = np.vstack([[-0.08, 0.5], [2.08, 0.5], random.uniform([0, 0], [2, 1], (450, 2))])
triangles = Delaunay(points).simplices
pipes = np.unique(np.sort(np.vstack([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])), axis=0)
pipes = pipes[np.linalg.norm(points[pipes[:, 0]] - points[pipes[:, 1]], axis=1) < 0.3]
middle = points[pipes].mean(axis=1)[:, 0] - 1
capacity = random.integers(1, 9, len(pipes)) + (20 * middle**2).astype(int)  # narrow in the middle
capacity[(pipes < 2).any(axis=1)] = 200  # no bottleneck at the source and the target

# %%
# Water may flow in either direction through a pipe, so a pipe is two edges.

both = np.vstack([pipes, pipes[:, ::-1]])
network = gasla.Graph.from_edges(*both.T, np.tile(capacity, 2))
value, flow = gasla.maximum_flow(network, 0, 1)
left = gasla.minimum_cut(network, 0, 1).source_side
cut = left[pipes[:, 0]] != left[pipes[:, 1]]
print(f"a flow of {value} through a cut of {np.count_nonzero(cut)} pipes")

figure, axes = plt.subplots(figsize=(11, 5.6), layout="constrained")
through = flow.reshape(2, -1).sum(0)  # at most one of the two directions has a flow
axes.add_collection(LineCollection(points[pipes], color="#dddddd", linewidth=0.6))
axes.add_collection(LineCollection(points[pipes], color="#2a6fb0", linewidth=np.minimum(through, 20) * 0.3))
axes.add_collection(LineCollection(points[pipes[cut]], color="#e4332d", linewidth=2.5))
axes.scatter(*points[:2].T, s=160, color="#17324d", zorder=3)
axes.set(aspect="equal", xlim=(-0.15, 2.15), ylim=(-0.03, 1.03))
axes.axis("off")
plt.show()
