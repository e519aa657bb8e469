"""The edges of a graph sorted by their receiving vertex, the order in which the reference engine gathers values."""

import numpy as np

from gasla.graph.graph import Graph


class Edges:
    """The edges of a graph sorted by receiving vertex, then by position in the input.

    With direction "all" every edge occurs twice, once for each end. The arrays have for each entry: `src`, the vertex
    whose value is gathered; `dst`, the receiving vertex; `ids`, the edge's position in the input; and `leaves`, whether
    `src` is the source of the edge. Only entries with `leaves` scatter, so that each edge does so once.
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
        """Return the positions, in the arrays of this object, of the edges whose receiving vertex is in `vertices`.

        The arrays are sorted by receiving vertex. The positions ascend if the vertices ascend.
        """
        return _places(self._into, vertices)

    def out_of(self, vertices: np.ndarray) -> np.ndarray:
        """Return the positions, in the arrays of this object, of the edges whose values are gathered from `vertices`.

        These are the edges with `src` in `vertices`. The positions ascend.
        """
        return np.sort(self._leading[_places(self._from, vertices)])


def _offsets(keys: np.ndarray, n: int) -> np.ndarray:
    """Return where the entries of each key from 0 to n - 1 begin in `keys`, an array of ascending vertices.

    The last number is that of all entries, so the entries of a key k end where those of k + 1 begin.
    """
    return np.concatenate([[0], np.bincount(keys, minlength=n).cumsum()]).astype(np.int64)


def _places(offsets: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return the positions of the entries with any of the given keys in an array that is sorted by key.

    A key is a vertex, and `offsets` says where the entries of each key begin. The positions are in the order of the
    given keys.
    """
    counts = offsets[keys + 1] - offsets[keys]
    ends = counts.cumsum()
    shift = np.repeat(offsets[keys] - (ends - counts), counts)
    places: np.ndarray = shift + np.arange(len(shift))
    return places
