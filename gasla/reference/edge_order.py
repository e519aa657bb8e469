"""The edges that a program sees, in the one order that all of its iterations go by."""

import numpy as np

from gasla.graph.graph import Graph


class Edges:
    """Edges by receiver, each receiver's in the order of the input; under "all" every edge is there from both its ends.

    `src`, `dst` and `ids` (its place in the input) are given for each; `leaves` says whether it is seen from its tail,
    which alone scatters.
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
        """The places of all edges that some vertices gather over; they ascend if the vertices do."""
        return _places(self._into, vertices)

    def out_of(self, vertices: np.ndarray) -> np.ndarray:
        """The places of all edges along which some vertices are gathered, ascending."""
        return np.sort(self._leading[_places(self._from, vertices)])


def _offsets(keys: np.ndarray, n: int) -> np.ndarray:
    """Where each key's entries begin, once they are sorted."""
    return np.concatenate([[0], np.bincount(keys, minlength=n).cumsum()]).astype(np.int64)


def _places(offsets: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """The places of all entries of some keys, one key's after another's."""
    counts = offsets[keys + 1] - offsets[keys]
    ends = counts.cumsum()
    shift = np.repeat(offsets[keys] - (ends - counts), counts)
    places: np.ndarray = shift + np.arange(len(shift))
    return places
