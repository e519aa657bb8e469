"""
A web by rank
=============

In this model of the web, new pages copy links of older pages, so that few pages get most links. Pages with a higher
PageRank are drawn larger and closer to the middle.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

import gasla

random = np.random.default_rng(4)
links = [(1, 0), (2, 0), (2, 1)]
for page in range(3, 3000):
    near = page - 1 - random.geometric(0.01) % page  # a page of about the same age
    old = links[random.integers(len(links))][1]  # the target of a random link
    links += [(page, near), (page, old), (page, links[random.integers(len(links))][1])]
web = gasla.Graph.from_edges(*np.array(links).T)

ranks = gasla.pagerank(web).ranks

# %%
# Consecutive pages are a golden angle apart, so that dots do not cover each other.

angle = np.arange(web.n) * np.pi * (3 - np.sqrt(5))
radius = np.log(ranks.max() / ranks) / np.log(ranks.max() / ranks.min())
place = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
order = np.argsort(ranks)

figure, axes = plt.subplots(figsize=(8, 8), facecolor="#0b0f19", layout="constrained")
axes.add_collection(LineCollection(place[np.array(links)], color="#7fb4ff", alpha=0.035, linewidth=0.4))
sizes = 6 + 1500 * ranks / ranks.max()
axes.scatter(*place[order].T, s=sizes[order], c=radius[order], cmap="plasma_r", vmin=-0.1, vmax=1.4, linewidth=0)
axes.set(xlim=(-1.03, 1.03), ylim=(-1.03, 1.03), aspect="equal")
axes.axis("off")
plt.show()
