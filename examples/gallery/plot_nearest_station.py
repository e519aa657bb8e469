"""
Nearest station by a vertex program
===================================

Which of forty fire stations in New York is the nearest to each junction by road? A vertex sends its distance and its
station to its neighbors; the smallest distance counts, and the smaller station id in a tie.
"""

import matplotlib.pyplot as plt
import numpy as np

import gasla
import semirings
from gasla import datasets


class Nearest(gasla.VertexProgram):
    """The nearest station, and its distance."""

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
# The layout is computed from distances, as in "Roads by travel time". Colors are brighter near a station.

squares = gasla.multi_source_bfs(roads, pivots).astype(np.float64).T ** 2
centered = squares - squares.mean(0) - squares.mean(1, keepdims=True) + squares.mean()
x, y = (centered @ np.linalg.eigh(centered.T @ centered)[1][:, -2:]).T

colors = plt.get_cmap("gist_rainbow")(random.permutation(40) / 39)[found.station]
colors[:, :3] *= np.exp(-found.distance / 120)[:, None] * 0.7 + 0.3
figure, axes = plt.subplots(figsize=(9, 8), facecolor="#0b0f19", layout="constrained")
axes.scatter(x, y, c=colors, s=0.5, linewidth=0)
axes.scatter(x[stations], y[stations], color="white", edgecolor="black", s=22, linewidth=0.8, zorder=3)
axes.set_aspect("equal")
axes.axis("off")
plt.show()
