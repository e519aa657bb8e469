"""A binary heap of vertices, the one with the largest key first, which knows the position of each vertex.

`heap` holds the vertices, ``place[v]`` is the position of v on the heap, and ``keys[v]`` is its key. For a vertex that
is not on the heap, callers store a negative number in `place`.
"""

# mypy: disable-error-code="no-untyped-def"
import numpy as np

from gasla.compiler.function import compiled

_ZERO, _ONE, _TWO = np.uint64(0), np.uint64(1), np.uint64(2)


@compiled
def rise(heap, place, keys, at):
    """Move the vertex at position `at` of the heap up until the key above it is at least as large."""
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
    """Move the vertex at position `at` of the heap down until no key below it is larger."""
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
    """Put vertex v on a heap of `size` vertices with a key. Return the new number of vertices on the heap."""
    keys[v] = key
    heap[size] = v
    rise(heap, place, keys, size)
    return size + _ONE


@compiled
def pop(heap, place, keys, size, mark):
    """Remove the vertex with the largest key from a heap of `size` vertices, and set its position in `place` to `mark`.

    `mark` is a negative number that says that the vertex is not on the heap. Return the new size of the heap.
    """
    place[np.uint64(heap[_ZERO])] = mark
    size -= _ONE
    if size > _ZERO:
        heap[_ZERO] = heap[size]
        sink(heap, place, keys, _ZERO, size)
    return size
