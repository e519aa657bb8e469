"""Shared by the oracles: blocks of work, and which pairs of vertices are adjacent."""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from gasla.verify._common import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def blocks(sizes: Array, most: int = 1 << 20) -> Iterator[slice]:
    """Slices of consecutive items whose sizes sum to about `most` each."""
    ends = np.cumsum(sizes)
    cuts = np.searchsorted(ends, np.arange(most, int(ends[-1]) if len(ends) else 0, most))
    bounds = np.unique(np.concatenate(([0], cuts, [len(sizes)])))
    return (slice(int(a), int(b)) for a, b in pairwise(bounds))


def adjacent(simple: "csr_array", u: Array, v: Array) -> Array:
    """Whether u[i] and v[i] are adjacent in a simple graph."""
    simple.sort_indices()
    n = simple.shape[0]
    edges = np.append(np.repeat(np.arange(n), np.diff(simple.indptr)) * n + simple.indices, n * n)
    wanted = np.asarray(u, np.int64) * n + v
    found: Array = edges[np.searchsorted(edges, wanted)] == wanted
    return found
