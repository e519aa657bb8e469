"""
Random walks
============

Six hundred random walks from the middle of a grid of streets, a tenth of which are closed. The color is the time.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

import gasla
from gasla import datasets

side = 1024
city = gasla.Graph(datasets.grid(20))
middle = side * side // 2 + side // 2
walks = gasla.random_walks(city, np.full(600, middle), 8000, seed=2)

# %%
# Positions follow from vertex ids. One line per 200 steps; later ones are drawn below earlier ones.

place = np.stack([walks % side, walks // side], axis=-1)
figure, axes = plt.subplots(figsize=(8, 8), facecolor="#0b0f19", layout="constrained")
times = np.arange(0, walks.shape[1] - 1, 200)
colors = plt.get_cmap("magma_r")(times / times[-1] * 0.9)
for time, color in zip(times[::-1], colors[::-1]):
    axes.add_collection(LineCollection(place[:, time : time + 201], color=color, linewidth=0.35, alpha=0.6))
axes.set(aspect="equal", xlim=(middle % side - 210, middle % side + 210), ylim=(side // 2 - 210, side // 2 + 210))
axes.axis("off")
plt.show()
