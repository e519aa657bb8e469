"""
Who is nearest? A program of one's own
======================================

Forty fire stations in New York: which is the nearest to each junction, by road? A vertex sends along how far it is from
its station, and which that is; the smallest distance counts, and the smaller station among equals.
"""

import matplotlib.pyplot as plt
import numpy as np

import gasla
import semirings
from gasla import datasets


class Nearest(gasla.VertexProgram):
    """The distance to the nearest station, and which it is."""

    distance = gasla.vertex(np.int32, init=1_000_000)
    station = gasla.vertex(np.int32, init=-1)
    reduce = semirings.argmin  # of pairs (value, id)

    def gather(self, src, dst, edge):
        return src.distance + 1, src.station

    def apply(self, vertex, gathered):
        distance, station = gathered
        nearer = distance < vertex.distance
        return {
            "distance": semirings.where(nearer, distance, vertex.distance),
            "station": semirings.where(nearer, station, vertex.station),
        }


roads = gasla.Graph(datasets.ny_roads())
random = np.random.default_rng(0)
pivots = random.choice(roads.n, 64, replace=False)
stations = random.choice(roads.n, 40, replace=False)
distance, station = np.full(roads.n, 1_000_000), np.full(roads.n, -1)
distance[stations], station[stations] = 0, np.arange(40)
found = gasla.run(Nearest, roads, active=stations, distance=distance, station=station)

# %%
# The map is drawn from distances alone, as in the picture of travel times. Near a station colours are light.

squares = gasla.multi_source_bfs(roads, pivots).astype(np.float64).T ** 2
centred = squares - squares.mean(0) - squares.mean(1, keepdims=True) + squares.mean()
x, y = (centred @ np.linalg.eigh(centred.T @ centred)[1][:, -2:]).T

colours = plt.get_cmap("gist_rainbow")(random.permutation(40) / 39)[found.station]
colours[:, :3] *= np.exp(-found.distance / 120)[:, None] * 0.7 + 0.3
figure, axes = plt.subplots(figsize=(9, 8), facecolor="#0b0f19", layout="constrained")
axes.scatter(x, y, c=colours, s=0.5, linewidth=0)
axes.scatter(x[stations], y[stations], color="white", edgecolor="black", s=22, linewidth=0.8, zorder=3)
axes.set_aspect("equal")
axes.axis("off")
plt.show()
