"""Sampling on the GPU: random neighbors, one thread per row, and prefix sums of weights for walkers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.gpu.runtime import compile as gpu
from gasla.graph.adjacency import Adjacency

Array = Any  # CuPy's

THREADS = 256  # per block


def list_sums(lists: Adjacency, weights: Array) -> Array:
    """Prefix sums of each list's weights, added in order."""
    import cupy

    sums, n = cupy.empty(len(lists.indices), np.float64), len(lists.indptr) - 1
    weights = cupy.ascontiguousarray(weights, np.float64)
    _launch("sum_lists", lists, n, np.uint64(n), lists.indptr, weights, sums)
    return sums


def list_guides(lists: Adjacency, sums: Array) -> Array:
    """For each list of d entries and each j < d: the first position whose sum exceeds j / d of the list's total."""
    import cupy

    guides, n = cupy.empty(len(sums), np.uint32), len(lists.indptr) - 1
    _launch("guide_lists", lists, n, np.uint64(n), lists.indptr, sums, guides)
    return guides


def sample(lists: Adjacency, ids: Array, k: int, key: int, replace: bool, weights: tuple[Array, Array] | None) -> Array:
    """Sample `k` neighbors of each vertex, one row per vertex; -1 pads rows with fewer."""
    import cupy

    found = cupy.empty((len(ids), k), lists.indices.dtype)
    _launch("sample", lists, len(ids), *arguments(lists, ids, None, k, 0, key, replace, weights, found, None))
    return found


def sample_lists(
    lists: Adjacency,
    ids: Array,
    firsts: Array,
    row: int,
    key: int,
    replace: bool,
    weights: tuple[Array, Array] | None,
) -> tuple[Array, Array]:
    """Sample neighbors of each vertex, and the numbers of their edges, into lists of given lengths, padded with -1."""
    import cupy

    count = int(firsts[-1])
    found, places = cupy.empty(count, lists.indices.dtype), cupy.empty(count, np.int64)
    _launch("sample", lists, len(ids), *arguments(lists, ids, firsts, 0, row, key, replace, weights, found, places))
    if lists.edge_ids is None:
        return found, places
    edges = lists.edge_ids[cupy.maximum(places, 0)].astype(np.int64) if lists.edge_ids.size else places
    return found, cupy.where(places < 0, -1, edges)


def arguments(
    lists: Adjacency,
    ids: Array,
    firsts: Array | None,
    k: int,
    row: int,
    key: int,
    replace: bool,
    weights: tuple[Array, Array] | None,
    found: Array,
    places: Array | None,
) -> tuple[Any, ...]:
    """The arguments of the kernel `sample`."""
    none = np.uint64(0)
    numbers = np.uint64(len(ids)), np.uint64(k), np.uint64(row)
    by_weight = (none, none) if weights is None else weights
    ends = none if firsts is None else firsts
    drawn = np.uint64(key), np.bool_(replace), found, none if places is None else places
    return *numbers, lists.indptr, lists.indices, *by_weight, ids, ends, *drawn


def append_distinct(vertices: Array, found: Array) -> tuple[Array, Array]:
    """Append to distinct vertices those that are new in `found`; with it, the index of each entry of `found`."""
    import cupy as xp

    both = xp.concatenate([vertices, found])
    if not len(both):
        return vertices, xp.zeros(0, np.int64)
    order = xp.argsort(both.astype(np.int64) * len(both) + xp.arange(len(both)))
    ordered = both[order]
    begins = xp.concatenate([xp.ones(1, bool), ordered[1:] != ordered[:-1]])
    group = xp.cumsum(begins.astype(np.int64)) - 1
    first = order[begins]  # the first appearance of each distinct vertex, by vertex
    rank = xp.empty(len(first), np.int64)
    rank[xp.argsort(first)] = xp.arange(len(first))
    at = xp.empty(len(both), np.int64)
    at[order] = rank[group]
    return both[xp.sort(first)], at[len(vertices) :]


def _launch(function: str, lists: Adjacency, count: int, *arguments: Any) -> None:
    """Launch one thread per item, at most as many as the device can hold; each then loops."""
    if count:
        text = source(lists.indices.dtype.itemsize, lists.indptr.dtype.itemsize)
        kernel = gpu.kernel(text, function, THREADS, blocks_per_multiprocessor=32)
        kernel.plain(min(-(-count // THREADS), kernel.blocks), *arguments)


def source(vertex_size: int, offset_size: int) -> str:
    """CUDA source of the kernels, for ids of `vertex_size` bytes and offsets of `offset_size`."""
    return gpu.source_of("sampling.cuh", vertex_size, offset_size)
