"""Bits that tell which neighbors of a vertex are adjacent: a row of words for each of several vertices."""

# mypy: disable-error-code="no-untyped-def"
import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.runtime.blocks import inlined
from gasla.cpu.runtime.intrinsics import ONE, ZERO, count_trailing_zeros

SIX, LAST = np.uint64(6), np.uint64(63)


@compiled
def number(heads, first, count, places):
    """Set the place of each of the `count` entries from `first` on to its number, from 1."""
    for i in range(count):
        places[np.uint64(heads[first + i])] = i + ONE


@compiled
def forget(heads, first, count, places):
    """Set the places of entries back to 0."""
    for i in range(count):
        places[np.uint64(heads[first + i])] = 0


@inlined
def fill_row(heads, begin, end, words, places, rows, row):
    """Set bit j of a row if the entries in [begin, end) have the one numbered j + 1. Return whether any bit is set."""
    any_ = False
    for word in range(words):
        rows[row, word] = ZERO
    for k in range(begin, end):
        place = np.uint64(places[np.uint64(heads[k])])
        if place:
            place -= ONE
            rows[row, place >> SIX] |= ONE << (place & LAST)
            any_ = True
    return any_


@compiled
def mirror(rows, count, words):
    """Make the matrix of bits symmetric."""
    for i in range(count):
        for word in range(words):
            left = rows[i, word]
            while left:
                rows[(word << SIX) + count_trailing_zeros(left), i >> SIX] |= ONE << (i & LAST)
                left &= left - ONE
