"""Rows of bits that tell which of a vertex's neighbors are adjacent to each other, for searches of cliques."""

# mypy: disable-error-code="no-untyped-def"
import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.runtime.blocks import inlined
from gasla.cpu.runtime.intrinsics import ONE, ZERO, count_trailing_zeros

SIX, LAST = np.uint64(6), np.uint64(63)


@compiled
def number(heads, first, count, places):
    """Number `count` vertices, the entries of `heads` from position `first` on, by 1, 2, … in the array `places`."""
    for i in range(count):
        places[np.uint64(heads[first + i])] = i + ONE


@compiled
def forget(heads, first, count, places):
    """Undo `number`: set the numbers of `count` vertices, the entries of `heads` from `first` on, in `places` back to
    0.
    """
    for i in range(count):
        places[np.uint64(heads[first + i])] = 0


@inlined
def fill_row(heads, begin, end, words, places, rows, row):
    """Fill a row of bits: set bit j if the adjacency list at `begin` to `end` has the vertex with number j + 1.

    ``places[v]`` is the number of vertex v, or 0. Return whether any bit is set.
    """
    is_any_set = False
    for word in range(words):
        rows[row, word] = ZERO
    for k in range(begin, end):
        place = np.uint64(places[np.uint64(heads[k])])
        if place:
            place -= ONE
            rows[row, place >> SIX] |= ONE << (place & LAST)
            is_any_set = True
    return is_any_set


@compiled
def mirror(rows, count, words):
    """Make a square matrix of bits symmetric: set bit i of row j wherever bit j of row i is set.

    The matrix is the first `count` rows of `rows`, of `words` words each.
    """
    for i in range(count):
        for word in range(words):
            remaining_bits = rows[i, word]
            while remaining_bits:
                rows[(word << SIX) + count_trailing_zeros(remaining_bits), i >> SIX] |= ONE << (i & LAST)
                remaining_bits &= remaining_bits - ONE
