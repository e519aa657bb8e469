"""Hash tables with open addressing, in which a vertex adds up the values of its edges by key.

Each thread has a table, with twice as many entries as the longest adjacency list. A vertex uses only twice as many
entries as its own list has, so that these stay in the L1 cache if lists are short. Used entries are cleared after each
vertex, so the table is empty between vertices.
"""

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.runtime.intrinsics import ONE, ZERO

# a factor by which keys are multiplied (the golden ratio), so that consecutive keys are spread over the table
GOLDEN, HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


@compiled
def place_of(keys, key, capacity):
    """Return the index of a key in the first `capacity` entries of a hash table, or of the empty entry for the key.

    `keys` has the table's keys. Empty entries hold a negative number.
    """
    place = ((np.uint64(key) * GOLDEN >> HALF) * capacity) >> HALF
    while keys[place] != key and keys[place] >= 0:
        place += ONE
        if place == capacity:
            place = ZERO
    return place
