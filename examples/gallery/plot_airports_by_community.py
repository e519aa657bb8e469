"""
Airports by community
=====================

Louvain's method gets no geography, only the routes between airports. The communities that it finds are the regions of
the world.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

import gasla
from gasla import datasets

flights, airports = datasets.openflights()
labels = gasla.louvain_communities(flights, weighted=False).labels

# %%
# The nine largest communities have a color each, in which routes within the community are drawn.

largest = np.argsort(-np.bincount(labels))[:9]
place = np.column_stack([airports.longitude, airports.latitude])
colors = ["#ff5d5d", "#b98cff", "#4fb8ff", "#5be08a", "#ffb347", "#ffe14d", "#ff8fd0", "#3ee0d2", "#e8eef7"]

figure, axes = plt.subplots(figsize=(12, 6.2), facecolor="#0b0f19", layout="constrained")
start, end = flights.nonzero()
near = np.abs(place[start, 0] - place[end, 0]) < 180  # excludes lines across the edge of the map
between = near & (labels[start] != labels[end])
axes.add_collection(LineCollection(place[np.c_[start, end][between]], color="white", alpha=0.02, linewidth=0.4))
for community, color in zip(largest, colors):
    inside = near & (labels[start] == community) & (labels[end] == community)
    axes.add_collection(LineCollection(place[np.c_[start, end][inside]], color=color, alpha=0.13, linewidth=0.5))
    axes.scatter(*place[labels == community].T, s=3, color=color, linewidth=0)
axes.set(xlim=(-180, 180), ylim=(-58, 80), aspect=1.15)
axes.axis("off")
plt.show()
