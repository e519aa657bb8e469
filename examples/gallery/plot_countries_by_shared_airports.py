"""
Countries by the airports they share
====================================

A bipartite graph joins countries and the foreign airports with flights from there. Its projection joins two countries
with the number of airports that they share; communities in the projection are parts of the world.
"""

import matplotlib.pyplot as plt
import numpy as np

import gasla
from gasla import datasets

flights, airports = datasets.openflights()
names, country = np.unique(airports.country, return_inverse=True)
start, end = flights.nonzero()
abroad = country[start] != country[end]

# %%
# Vertices are countries, then airports; parallel edges count once.

graph = gasla.Graph.from_edges(country[start][abroad], len(names) + end[abroad], n=len(names) + len(country))
shared = gasla.project(graph, np.arange(len(names)))

# %%
# The overlap of the forty countries with the most airports: shared airports, divided by those of the smaller country.

degree = graph.simple().out_degrees[: len(names)]
most = np.argsort(-degree)[:40]
table = np.zeros((len(names), len(names)))
table[tuple(shared.to_edge_index())] = shared.values
overlap = table[np.ix_(most, most)] / np.minimum.outer(degree[most], degree[most])
groups = gasla.louvain_communities(gasla.Graph.from_edges(*np.nonzero(overlap), overlap[np.nonzero(overlap)])).labels
order = np.lexsort([-overlap.sum(0), groups])

figure, axes = plt.subplots(figsize=(9, 8.4), layout="constrained")
np.fill_diagonal(overlap, np.nan)
picture = axes.imshow(overlap[np.ix_(order, order)], cmap="magma_r", vmin=0, vmax=1)
axes.set_xticks(range(40), names[most][order], rotation=90, fontsize=8)
axes.set_yticks(range(40), names[most][order], fontsize=8)
axes.tick_params(length=0)
axes.spines[:].set_visible(False)
figure.colorbar(picture, shrink=0.5, label="shared airports / airports of the smaller country")
plt.show()
