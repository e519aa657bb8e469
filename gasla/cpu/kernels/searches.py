"""Binary searches in ascending arrays."""

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.runtime.intrinsics import ONE, ZERO


@compiled
def first_not_less(indices, low, high, w):
    """Return the first position in [low, high) of an ascending list in `indices` whose entry is at least w.

    If all entries there are smaller, return `high`.
    """
    while low < high:
        middle = (low + high) >> ONE
        if np.int64(indices[middle]) < np.int64(w):
            low = middle + ONE
        else:
            high = middle
    return low


@compiled
def owner_of(indptr, place):
    """Return the number of the adjacency list that contains the entry at position `place` of all lists.

    `indptr` has the offsets of the lists. If the lists have fewer entries, return the last list.
    """
    low, high = ZERO, np.uint64(len(indptr) - 1)
    while low + ONE < high:
        middle = (low + high) >> ONE
        if np.uint64(indptr[middle]) <= place:
            low = middle
        else:
            high = middle
    return low
