"""Nearest neighbors of points, found by SciPy's k-d tree in short steps, so that Ctrl-C is noticed between them."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np

from gasla.apart import run_apart
from gasla.arrays import index_dtype
from gasla.cpu.runtime.threads import get_num_threads

STEP = 0.1  # number of seconds that a step of the search takes; Ctrl-C is noticed between steps
# number of points that each thread processes in the first step; its duration gives the number for the next steps
FEW = 64


def nearest_by_tree(
    points: np.ndarray, wanted: np.ndarray, k: int, p: float, is_own: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each point in `wanted`, the k nearest of the points `points`, and their distances.

    With `is_own`, `wanted` and `points` are the same points, and no point is its own neighbor. `p` is the power of
    Minkowski's metric.
    """
    from scipy.spatial import cKDTree

    neighbors, distances = np.empty((len(wanted), k), index_dtype(len(points))), np.empty((len(wanted), k))
    # With `is_own`, the tree is searched for one neighbor more, because each point is found as its own neighbor. Only
    # if many points are at distance 0, the point itself may not be among them.
    neighbor_ranks = np.arange(1, k + 1 + is_own)

    def steps() -> Iterator[None]:
        """Find the neighbors of a few points at a time, and yield before each time, so that Ctrl-C can be noticed.

        The number of points is chosen such that this takes about `STEP` seconds.
        """
        tree: Any = cKDTree(points)
        workers, first_query = get_num_threads(), 0
        chunk_size = FEW * workers
        while first_query < len(wanted):
            yield
            chunk, start_time = slice(first_query, first_query + chunk_size), perf_counter()
            lengths, ids = tree.query(wanted[chunk], neighbor_ranks, p=p, workers=workers)
            if is_own:
                is_other = ids != np.arange(first_query, first_query + len(ids))[:, None]
                is_other[:, k] &= ~is_other.all(axis=1)
                lengths, ids = lengths[is_other].reshape(-1, k), ids[is_other].reshape(-1, k)
            neighbors[chunk], distances[chunk] = ids, lengths
            first_query += chunk_size
            chunk_size = max(workers, int(chunk_size * min(2, STEP / (perf_counter() - start_time + 1e-9))))

    if len(wanted) > 0 and k > 0:
        run_apart(steps())
    return neighbors, distances
