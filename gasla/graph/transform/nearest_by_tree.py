"""Nearest neighbors of points by SciPy's k-d tree, in steps between which Ctrl-C is heard."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np

from gasla.apart import run_apart
from gasla.arrays import index_dtype
from gasla.cpu.runtime.threads import get_num_threads

STEP = 0.1  # seconds between looks whether Ctrl-C has come
FEW = 64  # points of each thread in the first step


def nearest_by_tree(
    points: np.ndarray, wanted: np.ndarray, k: int, p: float, is_own: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Find neighbors by a tree. If `is_own`, the points that are wanted are those of the tree."""
    from scipy.spatial import cKDTree

    neighbors, distances = np.empty((len(wanted), k), index_dtype(len(points))), np.empty((len(wanted), k))
    places = np.arange(1, k + 1 + is_own)  # a point is among its own neighbors unless many are at distance 0

    def steps() -> Iterator[None]:
        """Find the neighbors of some points at a time, which takes about `STEP` seconds."""
        tree: Any = cKDTree(points)
        workers, first = get_num_threads(), 0
        size = FEW * workers
        while first < len(wanted):
            yield
            some, began = slice(first, first + size), perf_counter()
            lengths, ids = tree.query(wanted[some], places, p=p, workers=workers)
            if is_own:
                others = ids != np.arange(first, first + len(ids))[:, None]
                others[:, k] &= ~others.all(axis=1)
                lengths, ids = lengths[others].reshape(-1, k), ids[others].reshape(-1, k)
            neighbors[some], distances[some] = ids, lengths
            first += size
            size = max(workers, int(size * min(2, STEP / (perf_counter() - began + 1e-9))))

    if len(wanted) > 0 and k > 0:
        run_apart(steps())
    return neighbors, distances
