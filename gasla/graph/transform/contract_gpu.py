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

CHUNK, LEAST_CHUNK = 1 << 25, 1 << 20  # edges that are sorted at once, at most, and where memory is short
SHARE = 4 * 64  # bytes of free memory per edge that is sorted at once: four times what sorting takes
EXACT_32, EXACT_64 = 2.0**24, 2.0**53  # up to here, float32 and float64 have all whole numbers


def contracted(graph: Graph, groups: Array, within: Array | None) -> tuple[Graph, Array, Array]:
    """Return the graph whose vertices are groups of vertices, the group of each vertex, and a vertex of each group.

    If `graph` is an earlier one, `within` has for each of its vertices that vertex of which `groups` has the group.
    Values are the sums of those of `graph`, which is undirected. The new graph has no `origin`, which would keep arrays
    of the previous graph.
    """
    group_of, count = number_groups(len(groups), graph.id_dtype, groups)
    of_edges = group_of if within is None else group_of[within]
    lists, values = summed(graph.lists.out, graph.valued.each, of_edges, count)
    vertex_map = IdMap(graph.device, len(groups), count, became=group_of)
    smaller = Graph.__new__(Graph)
    smaller._set_lists(Lists(count, graph.device, lists), values)
    smaller.valued.are_private = True  # no caller has the array
    return smaller, vertex_map.new_ids, vertex_map.old_ids


def summed(lists: Adjacency, weights: Array | None, group_of: Array, count: int) -> tuple[Adjacency, Array]:
    """Return the sorted lists between `count` groups of vertices, and the summed weights of their edges.

    Lists and weights are those of an undirected graph, and so is the result. Without `weights`, each edge weighs 1. The
    sums are float32 if all are whole numbers that it can hold, otherwise float64.
    """
    xp, m = array_module(group_of), len(lists.indices)
    members = group(group_of, group_of, count)[2]
    lengths = (lists.indptr[1:] - lists.indptr[:-1])[members]
    ends = xp.cumsum(lengths, dtype=np.int64)
    # an entry's position in `lists` minus that in the order of the groups, by the number of its vertex in `members`
    shifts = (lists.indptr[members] - (ends - lengths)).astype(index_dtype(m))
    free = None if xp is np else available("gpu")
    chunk = CHUNK if free is None else min(CHUNK, max(LEAST_CHUNK, free // SHARE))
    cuts = [*range(0, m, chunk), m]
    between = xp.asarray(cuts)
    firsts = xp.searchsorted(ends, between[:-1], side="right").tolist()
    lasts = xp.searchsorted(ends, between[1:], side="left").tolist()
    result = _Result(xp, count, group_of.dtype, m)
    carried: tuple[Array, Array] | None = None  # the edges of the last group so far, which may have more
    are_whole = True
    for begin, end, first, last in zip(cuts[:-1], cuts[1:], firsts, lasts, strict=True):
        offsets = xp.zeros(last - first + 2, np.int64)
        offsets[1:] = xp.minimum(ends[first : last + 1], end) - begin
        positions = xp.arange(begin, end, dtype=shifts.dtype)
        vertices = first + owners(offsets, xp.empty(end - begin, members.dtype))
        positions += shifts[vertices]
        keys = _pack_keys(group_of[members[vertices]], group_of[lists.indices[positions]], count)
        del vertices
        each = None
        if weights is not None:
            ids = lists.edge_ids
            each = weights[positions if ids is None else ids[positions]].astype(np.float64)
            are_whole = are_whole and bool((xp.rint(each) == each).all())
        del positions
        keys, totals = _sums_of_keys(keys, each, are_whole)
        del each
        head, tail = _ends_of(keys, carried)
        if carried is not None:
            if head:
                joined = xp.concatenate([carried[0], keys[:head]]), xp.concatenate([carried[1], totals[:head]])
                carried = _sums_of_keys(*joined, are_whole)
            if head == len(keys):
                continue
            result.append(*carried, begin)
        result.append(keys[head:tail], totals[head:tail], end)
        carried = keys[tail:].copy(), totals[tail:].copy()
        del keys, totals
    if carried is not None:
        result.append(*carried, m)
    new_lists, values = result.finish()
    is_exact = are_whole and float(values.sum(dtype=np.float64)) <= EXACT_64
    # sums of other numbers differ in their last bits, because the two directions add in different orders
    return new_lists, values if is_exact else mirrored(new_lists, values)


def _sums_of_keys(keys: Array, weights: Array | None, are_whole: bool) -> tuple[Array, Array]:
    """Return the distinct keys, ascending, and the sum of the weights of each, or its number without weights.

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
    if are_whole:  # differences of running sums are exact, and faster
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


def _group_at(keys: Array, at: int) -> int:
    return int(keys[at]) >> 32


def _ends_of(keys: Array, carried: tuple[Array, Array] | None) -> tuple[int, int]:
    """Return how many of the ascending keys have the group that is carried, and where the keys of the last begin."""
    xp = array_module(keys)
    limits = [0 if carried is None else _group_at(carried[0], -1) + 1 << 32, _group_at(keys, -1) << 32]
    head, tail = xp.searchsorted(keys, xp.asarray(limits, np.uint64)).tolist()
    return head, tail


class _Result:
    """Adjacency lists that grow by the edges of whole groups, in the order of the groups."""

    def __init__(self, xp: Any, count: int, id_dtype: np.dtype[Any], most: int) -> None:
        self.xp, self.count, self.most = xp, count, most  # `most` is the largest possible number of edges
        self.indptr = xp.zeros(count + 1, np.int64)
        self.indices, self.values = xp.empty(0, id_dtype), xp.empty(0, np.float32)
        self.m = self.next_group = 0

    def append(self, keys: Array, totals: Array, done: int) -> None:
        """Add the edges with these keys, which ascend, and their weights. `done` edges before gave all so far."""
        if not len(keys):
            return
        xp, last = self.xp, _group_at(keys, -1)
        groups = xp.arange(self.next_group, last + 1, dtype=np.uint64)
        groups <<= 32
        self.indptr[self.next_group : last + 1] = xp.searchsorted(keys, groups) + self.m
        self.next_group = last + 1
        before, self.m = self.m, self.m + len(keys)
        if self.m > len(self.indices):
            likely = max(int(1.03 * self.m / max(done, 1) * self.most), int(1.2 * before))
            # to grow later would take a second copy meanwhile
            room = self.most if 4 * likely > 3 * self.most else max(self.m, likely)
            self.indices = self._longer(self.indices, before, room)
            self.values = self._longer(self.values, before, room)
        if self.values.dtype == np.float32 and not bool(((xp.rint(totals) == totals) & (totals <= EXACT_32)).all()):
            self.values = self.values.astype(np.float64)
        self.indices[before : self.m] = _lower_halves(keys, self.indices.dtype)
        self.values[before : self.m] = totals

    def _longer(self, array: Array, used: int, room: int) -> Array:
        longer: Array = self.xp.empty(room, array.dtype)
        longer[:used] = array[:used]
        return longer

    def finish(self) -> tuple[Adjacency, Array]:
        """Return the lists, and the weights of their edges."""
        self.indptr[self.next_group :] = self.m
        indptr = self.indptr.astype(index_dtype(self.m))
        return Adjacency(indptr, self.indices[: self.m]), self.values[: self.m]
