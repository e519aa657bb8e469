"""
Looking at a graph
==================

`gasla.draw` shows a graph that has no places: `gasla.layout` puts neighbors close together. Here airports lie by their
routes alone, and continents are recognized all the same. The color is the core number, and the size the PageRank.
"""

import matplotlib.pyplot as plt
import numpy as np

import gasla

routes, airports = gasla.datasets.openflights()
flights = gasla.Graph(routes)
ranks = gasla.pagerank(flights).ranks
codes = {v: airports.iata[v] or airports.city[v] for v in np.argsort(-ranks)[:25]}
served = np.flatnonzero(flights.out_degrees + flights.in_degrees)

ax = gasla.draw(
    flights.subgraph(served),
    color=gasla.core_number(flights)[served],
    size=ranks[served],
    labels={np.searchsorted(served, v): code for v, code in codes.items()},
)
ax.figure.colorbar(ax.collections[-1], label="core number", shrink=0.6)
plt.show()

# %%
# More than 40,000 edges are drawn as a density, and the title says how many these are. Here vertices are random points
# in a square, with edges between close ones. The layout knows the edges alone.

ax = gasla.draw(gasla.Graph(gasla.datasets.rgg(13)), color="#d1495b", labels=0)
plt.show()
