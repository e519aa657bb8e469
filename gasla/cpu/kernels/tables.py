"""Hash tables with open addressing. Each thread has one, twice as large as the longest list.

A vertex uses only as much of it as its own list needs, which stays in the L1 cache if lists are short. The used entries
are cleared after each vertex, so the table is empty between vertices.
"""

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.runtime.intrinsics import ONE, ZERO

GOLDEN, HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)  # the golden ratio spreads consecutive keys


@compiled
def place_of(keys, key, capacity):
    """Return the entry of a key among a table's first `capacity` entries, or the empty entry where it belongs.

    Empty entries hold a negative number.
    """
    place = ((np.uint64(key) * GOLDEN >> HALF) * capacity) >> HALF
    while keys[place] != key and keys[place] >= 0:
        place += ONE
        if place == capacity:
            place = ZERO
    return place
