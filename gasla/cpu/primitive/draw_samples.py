"""Random samples of neighbors, and the prefix sums of weights by which weighted random walks choose edges."""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.kernels.draws import ONE, mixed, share
from gasla.cpu.runtime.blocks import block_size, blocks, run, threads_for
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph

Array = np.ndarray[Any, Any]

_ROWS = np.uint64(64)  # samples that a thread takes at once


def list_sums(lists: Adjacency, weights: Array) -> Array:
    """The prefix sums of each list's weights, added in order."""
    sums, n = np.empty(len(lists.indices)), len(lists.indptr) - 1
    work = n + len(lists.indices)
    run(_sum, work, lists.indptr, weights, sums, block_size(n, threads_for(work)), loose=True)
    return sums


def list_guides(lists: Adjacency, sums: Array) -> Array:
    """For each list of d entries and each j below d: the first position whose prefix sum exceeds j / d of the total."""
    guides, n = np.empty(len(sums), np.uint32), len(lists.indptr) - 1
    work = n + len(sums)
    run(_guide, work, lists.indptr, sums, guides, block_size(n, threads_for(work)), loose=True)
    return guides


def sample(graph: Graph, ids: Array, k: int, key: int, replace: bool) -> Array:
    """Sample `k` out-neighbors of each vertex; -1 where a vertex has fewer."""
    lists, found = graph.out, np.empty((len(ids), k), graph.id_dtype)
    most = found.size * (1 if replace else 1 + k)
    run(_sample, found.size, lists.indptr, lists.indices, ids, np.uint64(key), replace, found, most=most, loose=True)
    return found


@compiled
def _sum(thread, threads, control, indptr, weights, sums, grain):
    n = np.uint64(len(indptr) - 1)
    for start, end in blocks(control, n, grain):
        for v in range(start, end):
            total = 0.0
            for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + ONE])):
                total += np.float64(weights[k])
                sums[k] = total


@compiled
def _guide(thread, threads, control, indptr, sums, guides, grain):
    n = np.uint64(len(indptr) - 1)
    for start, end in blocks(control, n, grain):
        for v in range(start, end):
            first, last = np.uint64(indptr[v]), np.uint64(indptr[v + ONE])
            size, k = last - first, first
            for j in range(size):
                mark = np.float64(j) / np.float64(size) * sums[last - ONE]
                while k < last - ONE and sums[k] <= mark:
                    k += ONE
                guides[first + j] = k - first


@compiled
def _sample(thread, threads, control, indptr, indices, ids, key, replace, found):
    n, k = np.uint64(len(ids)), np.uint64(found.shape[1])
    for start, end in blocks(control, n, _ROWS):
        for w in range(start, end):
            v, state = np.uint64(ids[w]), mixed(key, w)
            first, degree = np.uint64(indptr[v]), np.uint64(indptr[v + ONE]) - np.uint64(indptr[v])
            count = k if replace and degree else min(k, degree)
            if replace:
                for j in range(count):
                    found[w, j] = share(mixed(state, j), degree)
            else:
                _draw_apart(found[w], count, degree, state)
            for j in range(count):
                found[w, j] = indices[first + np.uint64(found[w, j])]
            for j in range(count, k):
                found[w, j] = -1


@compiled
def _draw_apart(row, count, degree, state):
    """Draw `count` different numbers below the degree, by Floyd's algorithm: a repeated number is replaced by `top`."""
    for j in range(count):
        top = degree - count + j
        drawn = share(mixed(state, j), top + ONE)
        for i in range(j):
            if np.uint64(row[i]) == drawn:
                drawn = top
                break
        row[j] = drawn
