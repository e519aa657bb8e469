"""`VertexLists`: several lists of vertices of different lengths, such as cycles, as two arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False, repr=False)
class VertexLists:
    """Lists of vertices, one after another: list i is ``vertices[indptr[i]:indptr[i + 1]]``, and ``lists[i]``.

    Attributes
    ----------
    indptr : (k + 1,) array of int64
        Where each list begins, and the last one ends.
    vertices : array of the type of ids
    edges : array of int64, or None
        Where edges were searched for: the id of the edge that leaves each of the `vertices`.

    Examples
    --------
    >>> import gasla
    >>> cycles = gasla.simple_cycles(gasla.Graph.from_edges([0, 1, 2, 2, 3], [1, 2, 0, 3, 0]), 4)
    >>> cycles
    VertexLists(2 lists, 7 vertices)
    >>> cycles.lengths, cycles[1]
    (array([4, 3]), array([0, 1, 2], dtype=int32))
    >>> cycles.tolist()
    [[0, 1, 2, 3], [0, 1, 2]]
    """

    indptr: Array
    vertices: Array
    edges: Array | None = None

    @property
    def lengths(self) -> Array:
        """The number of vertices of each list."""
        return np.diff(self.indptr)

    def tolist(self) -> list[list[int]]:
        """Return the lists of vertices as a Python list of lists of integers."""
        offsets, vertices = self.indptr.tolist(), self.vertices.tolist()
        return [vertices[list_start:end] for list_start, end in pairwise(offsets)]

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, i: int) -> Array:
        list_start, end = self.indptr[range(len(self))[i] :][:2].tolist()
        return self.vertices[list_start:end]

    def __iter__(self) -> Iterator[Array]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"VertexLists({len(self):,} lists, {len(self.vertices):,} vertices)"
