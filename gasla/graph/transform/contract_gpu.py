"""Contraction of a graph on a GPU, where weights of edges between the same two groups are added up in float64.

Edges are taken in the order of the groups of their sources, and sorted and added up in chunks of `CHUNK`. So memory
besides the result is some 60 bytes per edge of a chunk and 50 per vertex, however many edges there are. All operations
exist in NumPy as well, so tests run without a GPU.
"""

from typing import Any

import numpy as np

from gasla.arrays import array_module, index_dtype
from gasla.graph.adjacency import Adjacency, Array
from gasla.graph.graph import Graph
from gasla.graph.lists_gpu import _lower_halves, _pack_keys, group, owners
from gasla.graph.memory_limit import available
from gasla.graph.neighbor_lists import Lists
from gasla.graph.transform.merging import _reduce_runs_of_edges, mirrored, number_groups
from gasla.graph.transform.origin import IdMap
from semirings import plus

# the largest number of edges that are sorted at a time, and the number of edges where memory is short
CHUNK, LEAST_CHUNK = 1 << 25, 1 << 20
SHARE = 4 * 64  # bytes of free memory for each edge of a chunk, which limit the chunk: four times what sorting takes
EXACT_32, EXACT_64 = 2.0**24, 2.0**53  # the numbers up to which float32 and float64 represent all whole numbers exactly


def contracted(graph: Graph, groups: Array, within: Array | None) -> tuple[Graph, Array, Array]:
    """Merge groups of vertices of an undirected graph on a GPU into one vertex each.

    Return the new graph, the group of each vertex, and one vertex of each group. `groups` has a label for each vertex,
    equal within a group. If `graph` has other vertices than `groups`, because it is an earlier graph, `within` gives
    for each of its vertices the position in `groups`. Values of the new graph are sums of values of `graph`. The new
    graph has no `origin`, which would keep arrays of the previous graph.
    """
    group_of, count = number_groups(len(groups), graph.id_dtype, groups)
    of_edges = group_of if within is None else group_of[within]
    lists, values = summed(graph.lists.out, graph.valued.each, of_edges, count)
    vertex_map = IdMap(graph.device, len(groups), count, became=group_of)
    smaller = Graph.__new__(Graph)
    smaller._set_lists(Lists(count, graph.device, lists), values)
    smaller.valued.are_private = True  # no caller has the array of values, so none can write to it
    return smaller, vertex_map.new_ids, vertex_map.old_ids


def summed(lists: Adjacency, weights: Array | None, group_of: Array, count: int) -> tuple[Adjacency, Array]:
    """Return a contracted graph: sorted adjacency lists of `count` groups of vertices, and total weights of edges.

    `group_of` has the group of each vertex. `lists` and `weights` are those of an undirected graph, and the result is
    undirected too. Without `weights`, each edge weighs 1. The totals are float32 if all are whole numbers that float32
    can represent, otherwise float64.
    """
    xp, m = array_module(group_of), len(lists.indices)
    members = group(group_of, group_of, count)[2]
    lengths = (lists.indptr[1:] - lists.indptr[:-1])[members]
    list_ends = xp.cumsum(lengths, dtype=np.int64)
    # Edges are read in the order of the groups of their sources. For each vertex in `members`, this is the difference
    # between the position of its edges in `lists` and that in this order.
    shifts = (lists.indptr[members] - (list_ends - lengths)).astype(index_dtype(m))
    free_bytes = None if xp is np else available("gpu")
    chunk = CHUNK if free_bytes is None else min(CHUNK, max(LEAST_CHUNK, free_bytes // SHARE))
    cuts = [*range(0, m, chunk), m]
    between = xp.asarray(cuts)
    firsts = xp.searchsorted(list_ends, between[:-1], side="right").tolist()
    lasts = xp.searchsorted(list_ends, between[1:], side="left").tolist()
    result = _Result(xp, count, group_of.dtype, m)
    # Edges of the last group in the chunk before, and their total weights. The next chunk may have more edges of this
    # group.
    carried: tuple[Array, Array] | None = None
    are_whole = True
    for chunk_start, end, first_member, last_member in zip(cuts[:-1], cuts[1:], firsts, lasts, strict=True):
        offsets = xp.zeros(last_member - first_member + 2, np.int64)
        offsets[1:] = xp.minimum(list_ends[first_member : last_member + 1], end) - chunk_start
        positions = xp.arange(chunk_start, end, dtype=shifts.dtype)
        vertices = first_member + owners(offsets, xp.empty(end - chunk_start, members.dtype))
        positions += shifts[vertices]
        keys = _pack_keys(group_of[members[vertices]], group_of[lists.indices[positions]], count)
        del vertices
        chunk_weights = None
        if weights is not None:
            ids = lists.edge_ids
            chunk_weights = weights[positions if ids is None else ids[positions]].astype(np.float64)
            are_whole = are_whole and bool((xp.rint(chunk_weights) == chunk_weights).all())
        del positions
        keys, totals = _sums_of_keys(keys, chunk_weights, are_whole)
        del chunk_weights
        head, tail = _ends_of(keys, carried)
        if carried is not None:
            if head:
                joined_totals = xp.concatenate([carried[0], keys[:head]]), xp.concatenate([carried[1], totals[:head]])
                carried = _sums_of_keys(*joined_totals, are_whole)
            if head == len(keys):
                continue
            result.append(*carried, chunk_start)
        result.append(keys[head:tail], totals[head:tail], end)
        carried = keys[tail:].copy(), totals[tail:].copy()
        del keys, totals
    if carried is not None:
        result.append(*carried, m)
    new_lists, values = result.finish()
    is_exact = are_whole and float(values.sum(dtype=np.float64)) <= EXACT_64
    # If sums are rounded, those of the two directions of an edge may differ in their last bits, as weights were added
    # in different orders. So one is copied to the other.
    return new_lists, values if is_exact else mirrored(new_lists, values)


def _sums_of_keys(keys: Array, weights: Array | None, are_whole: bool) -> tuple[Array, Array]:
    """Return the distinct keys of edges in ascending order, and the sum of the weights of the edges with each key.

    A key stands for an edge between two groups of vertices. Without `weights`, the sum is the number of edges.
    `are_whole` says that the weights are whole numbers.
    """
    xp = array_module(keys)
    if weights is None:
        keys.sort()
        starts = _starts_of_runs(keys)
        return keys[starts], xp.diff(xp.append(starts, len(keys))).astype(np.float64)
    ids = xp.argsort(keys, kind="stable").astype(index_dtype(len(keys)))
    keys = keys[ids]
    starts = _starts_of_runs(keys)
    keys = keys[starts]
    # Differences of running sums of whole numbers are exact, and take less time than a reduction of each run.
    if are_whole:
        running = xp.cumsum(weights[ids])
        if len(running) and float(running[-1]) <= EXACT_64:
            sums = running[xp.append(starts[1:], len(ids)) - 1]
            sums[1:] -= sums[:-1].copy()
            return keys, sums
    totals: Any = _reduce_runs_of_edges(weights, plus, ids, starts.astype(ids.dtype))
    return keys, totals


def _starts_of_runs(keys: Array) -> Array:
    xp = array_module(keys)
    is_start = xp.ones(len(keys), bool)
    is_start[1:] = xp.not_equal(keys[1:], keys[:-1])
    starts: Array = xp.flatnonzero(is_start)
    return starts


def _group_at(keys: Array, index: int) -> int:
    return int(keys[index]) >> 32


def _ends_of(keys: Array, carried: tuple[Array, Array] | None) -> tuple[int, int]:
    """Return two positions at which to split ascending keys of edges: after the first group, and before the last group.

    The upper 32 bits of a key are the group of the edge's source. `carried` has the edges of an unfinished group, so
    the first position is the end of the keys of that group, or 0 if it is None. The second is the beginning of the keys
    of the last group.
    """
    xp = array_module(keys)
    limits = [0 if carried is None else _group_at(carried[0], -1) + 1 << 32, _group_at(keys, -1) << 32]
    head, tail = xp.searchsorted(keys, xp.asarray(limits, np.uint64)).tolist()
    return head, tail


class _Result:
    """Adjacency lists to which all edges of a few groups are appended at a time, in the order of the groups."""

    def __init__(self, xp: Any, count: int, id_dtype: np.dtype[Any], most: int) -> None:
        # `most` is an upper bound of the number of edges of the result
        self.xp, self.count, self.most = xp, count, most
        self.indptr = xp.zeros(count + 1, np.int64)
        self.indices, self.values = xp.empty(0, id_dtype), xp.empty(0, np.float32)
        self.m = self.next_group = 0

    def append(self, keys: Array, totals: Array, done: int) -> None:
        """Append the edges that `keys` stand for, with the weights `totals`, to the adjacency lists.

        The keys ascend, and have the group of the source in the upper and that of the target in the lower 32 bits.
        `done` is the number of the original graph's edges from which all edges so far come. The two numbers give an
        estimate of the size of the whole result, for which memory is allocated.
        """
        if not len(keys):
            return
        xp, last_group = self.xp, _group_at(keys, -1)
        groups = xp.arange(self.next_group, last_group + 1, dtype=np.uint64)
        groups <<= 32
        self.indptr[self.next_group : last_group + 1] = xp.searchsorted(keys, groups) + self.m
        self.next_group = last_group + 1
        previous_count, self.m = self.m, self.m + len(keys)
        if self.m > len(self.indices):
            likely = max(int(1.03 * self.m / max(done, 1) * self.most), int(1.2 * previous_count))
            # If most of the largest possible size is likely to be needed, all of it is allocated: an array that grows
            # later takes the memory of two arrays meanwhile.
            room = self.most if 4 * likely > 3 * self.most else max(self.m, likely)
            self.indices = self._longer(self.indices, previous_count, room)
            self.values = self._longer(self.values, previous_count, room)
        if self.values.dtype == np.float32 and not bool(((xp.rint(totals) == totals) & (totals <= EXACT_32)).all()):
            self.values = self.values.astype(np.float64)
        self.indices[previous_count : self.m] = _lower_halves(keys, self.indices.dtype)
        self.values[previous_count : self.m] = totals

    def _longer(self, array: Array, used: int, room: int) -> Array:
        longer: Array = self.xp.empty(room, array.dtype)
        longer[:used] = array[:used]
        return longer

    def finish(self) -> tuple[Adjacency, Array]:
        """Return the finished adjacency lists of the groups, and the weights of their edges."""
        self.indptr[self.next_group :] = self.m
        indptr = self.indptr.astype(index_dtype(self.m))
        return Adjacency(indptr, self.indices[: self.m]), self.values[: self.m]
