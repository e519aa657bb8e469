"""Random numbers for walks. Each is a hash of the seed and of the numbers of the walker, the step and the draw.

The hash `semirings.hash(seed, walker, step, draw)` is computed in steps, in which `mixed` adds one number to a hash.
"""

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.runtime.intrinsics import ONE

NOWHERE = np.uint64(2**64 - 1)
_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)
_A, _B, _C = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@compiled
def mixed(state, number):
    """Mix one more number into the hash `state`, and return the new hash, as `semirings.hash` computes it."""
    z = (number + ONE) * _A + state
    z = (z ^ (z >> _30)) * _B
    z = (z ^ (z >> _27)) * _C
    return z ^ (z >> _31)


@compiled
def share(bits, count):
    """Return `bits * count // 2**64`, which makes of 64 random bits a random number from 0 to `count` - 1.

    The count must be below 2**32.
    """
    return ((bits >> _HALF) * count + (((bits & _LOW) * count) >> _HALF)) >> _HALF


@compiled
def fraction(bits):
    """Return a float in [0, 1) made of the 64 random bits `bits`, equal to what `semirings.random` makes of them."""
    return np.float64(bits >> _11) * 2.0**-53


@compiled
def aimed(sums, first, last, part):
    """Return where to search in the prefix sums of edge weights for the edge that a random number selects.

    `sums` has the prefix sums, and a vertex's adjacency list is at positions `first` to `last`. `part` is a random
    number in [0, 1). Return the threshold that the prefix sum at the edge must exceed, and an index into the table of
    guides: the entry there is a position near the edge.
    """
    total, size = sums[last - ONE], last - first
    mark = part * total
    if mark >= total:  # possible by rounding, if the total weight is hardly more than 0
        mark = 0.0
    return mark, first + min(np.uint64(part * np.float64(size)), size - ONE)


@compiled
def exceeding(sums, first, k, mark):
    """Return the first position of an adjacency list at which the prefix sum of weights exceeds the threshold `mark`.

    `sums` has the prefix sums, and the list begins at position `first`. The search begins at position k, which is near
    the result, and goes down or up from there.
    """
    while k > first and sums[k - ONE] > mark:
        k -= ONE
    while sums[k] <= mark:
        k += ONE
    return k
