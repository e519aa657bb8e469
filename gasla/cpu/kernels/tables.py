"""Tables by open addressing: each thread has one, with room for twice as many keys as the longest list has entries.

A vertex uses as much of it as its own list asks for: where lists are short, that stays in the nearest cache. Between
vertices a table is empty: each used entry is cleared again.
"""

# mypy: disable-error-code="no-untyped-def"
import numpy as np

from gasla.compiler.function import compiled

GOLDEN, HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)  # by the first keys that are neighbours lie far apart


@compiled
def place_of(keys, key, capacity):
    """Where a key is in a table's first `capacity` entries, some of which are empty, or where there is a place for it.

    An entry that is empty holds a number below 0.
    """
    one, zero = np.uint64(1), np.uint64(0)
    place = ((np.uint64(key) * GOLDEN >> HALF) * capacity) >> HALF
    while keys[place] != key and keys[place] >= 0:
        place += one
        if place == capacity:
            place = zero
    return place
