"""A binary heap of vertices, the one of the largest key first, in which each vertex knows its position.

`heap` holds the vertices, `place` the position of each vertex that is on the heap, and `keys` the key of each. Where
vertices are not on the heap, callers keep negative numbers in `place`.
"""

# mypy: disable-error-code="no-untyped-def"
import numpy as np

from gasla.compiler.function import compiled

_ZERO, _ONE, _TWO = np.uint64(0), np.uint64(1), np.uint64(2)


@compiled
def rise(heap, place, keys, at):
    """Move the entry at a place of the heap up until none above it is less."""
    v = np.uint64(heap[at])
    while at > _ZERO:
        above = (at - _ONE) // _TWO
        u = np.uint64(heap[above])
        if keys[u] >= keys[v]:
            break
        heap[at] = u
        place[u] = at
        at = above
    heap[at] = v
    place[v] = at


@compiled
def sink(heap, place, keys, at, size):
    """Move the entry at a place of the heap down until none below it is greater."""
    v = np.uint64(heap[at])
    while _TWO * at + _ONE < size:
        below = _TWO * at + _ONE
        if below + _ONE < size:
            below += np.uint64(keys[np.uint64(heap[below + _ONE])] > keys[np.uint64(heap[below])])
        u = np.uint64(heap[below])
        if keys[v] >= keys[u]:
            break
        heap[at] = u
        place[u] = at
        at = below
    heap[at] = v
    place[v] = at


@compiled
def push(heap, place, keys, size, v, key):
    """Put a vertex on the heap. Return the new size."""
    keys[v] = key
    heap[size] = v
    rise(heap, place, keys, size)
    return size + _ONE


@compiled
def pop(heap, place, keys, size, mark):
    """Take the first vertex from the heap, and put a mark in its place. Return the new size."""
    place[np.uint64(heap[_ZERO])] = mark
    size -= _ONE
    if size > _ZERO:
        heap[_ZERO] = heap[size]
        sink(heap, place, keys, _ZERO, size)
    return size
