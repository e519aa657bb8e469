"""
Airports by community
=====================

Louvain's method knows nothing of geography: it sees which airports have a route between them, and no more.
What it finds are the regions of the world.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

import gasla
from gasla import datasets

flights, airports = datasets.openflights()
labels = gasla.louvain_communities(flights, weighted=False).labels

# %%
# The nine largest communities get a colour, each route within one is drawn in it, and all else stays dark.

largest = np.argsort(-np.bincount(labels))[:9]
place = np.column_stack([airports.longitude, airports.latitude])
colours = ["#ff5d5d", "#b98cff", "#4fb8ff", "#5be08a", "#ffb347", "#ffe14d", "#ff8fd0", "#3ee0d2", "#e8eef7"]

figure, axes = plt.subplots(figsize=(12, 6.2), facecolor="#0b0f19", layout="constrained")
start, end = flights.nonzero()
near = np.abs(place[start, 0] - place[end, 0]) < 180  # no line around the back of the map
between = near & (labels[start] != labels[end])
axes.add_collection(LineCollection(place[np.c_[start, end][between]], color="white", alpha=0.02, linewidth=0.4))
for community, colour in zip(largest, colours):
    inside = near & (labels[start] == community) & (labels[end] == community)
    axes.add_collection(LineCollection(place[np.c_[start, end][inside]], color=colour, alpha=0.13, linewidth=0.5))
    axes.scatter(*place[labels == community].T, s=3, color=colour, linewidth=0)
axes.set(xlim=(-180, 180), ylim=(-58, 80), aspect=1.15)
axes.axis("off")
plt.show()
