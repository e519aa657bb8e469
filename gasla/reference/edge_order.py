"""The edges of a graph sorted by receiver, the order in which the reference engine gathers."""

import numpy as np

from gasla.graph.graph import Graph


class Edges:
    """Edges sorted by receiver, then by position in the input. With direction "all" every edge occurs at both its ends.

    Each has `src`, `dst`, `ids` (its position in the input) and `leaves`, whether `src` is its source; only entries
    with `leaves` scatter.
    """

    def __init__(self, graph: Graph, direction: str) -> None:
        lists = graph.out
        src, dst = lists.owners().astype(np.int64), lists.indices.astype(np.int64)
        ids, leaves = lists.numbers().astype(np.int64), np.ones(graph.m, bool)
        if direction == "out":
            src, dst = dst, src
        elif direction == "all":
            src, dst = np.concatenate([src, dst]), np.concatenate([dst, src])
            ids, leaves = np.concatenate([ids, ids]), np.repeat([True, False], graph.m)
        order = np.lexsort((leaves, ids, dst))
        self.src, self.dst, self.ids, self.leaves = src[order], dst[order], ids[order], leaves[order]
        self._into = _offsets(self.dst, graph.n)
        self._from, self._leading = _offsets(self.src, graph.n), np.argsort(self.src, kind="stable")

    def into(self, vertices: np.ndarray) -> np.ndarray:
        """Return the positions of the in-edges of some vertices. They ascend if the vertices do."""
        return _places(self._into, vertices)

    def out_of(self, vertices: np.ndarray) -> np.ndarray:
        """Return positions of the out-edges of some vertices, ascending."""
        return np.sort(self._leading[_places(self._from, vertices)])


def _offsets(keys: np.ndarray, n: int) -> np.ndarray:
    """Return the offset of each key's entries once they are sorted by key."""
    return np.concatenate([[0], np.bincount(keys, minlength=n).cumsum()]).astype(np.int64)


def _places(offsets: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return positions of the entries of some keys, key by key."""
    counts = offsets[keys + 1] - offsets[keys]
    ends = counts.cumsum()
    shift = np.repeat(offsets[keys] - (ends - counts), counts)
    places: np.ndarray = shift + np.arange(len(shift))
    return places
