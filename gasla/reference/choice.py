"""Reductions by key, by sorting: each receiving vertex gets a total for each key, and chooses the best key."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Pairs(NamedTuple):
    """The distinct pairs of a receiving vertex and a key, sorted by vertex, then by key."""

    order: np.ndarray  # indices of the values whose key is not negative, stably sorted by pair
    owners: np.ndarray  # the receiving vertex of each pair
    keys: np.ndarray


def grouped(owners: np.ndarray, keys: np.ndarray) -> tuple[Pairs, np.ndarray]:
    """Return the distinct pairs of `owners` and `keys`, and the number of each value's pair, in the order of the pairs.

    Values with a negative key are left out.
    """
    order = np.lexsort((keys, owners))
    order = order[keys[order] >= 0]
    owners, keys = owners[order], keys[order]
    begins = np.r_[True, (owners[1:] != owners[:-1]) | (keys[1:] != keys[:-1])][: len(order)]
    return Pairs(order, owners[begins], keys[begins]), np.cumsum(begins) - 1


def greatest(pairs: Pairs, scores: Sequence[np.ndarray]) -> np.ndarray:
    """Return, for each receiving vertex, the number of its pair with the greatest scores.

    The second score decides between equal first ones, and so on. NaN is smallest. Of equal scores, the smaller key is
    taken.
    """
    columns: list[np.ndarray] = [-pairs.keys.astype(np.int64)]
    for score in reversed(scores):
        columns += [np.where(np.isnan(score), 0, score), ~np.isnan(score)]
    order = np.lexsort((*columns, pairs.owners))
    owners = pairs.owners[order]
    last: np.ndarray = order[np.r_[owners[1:] != owners[:-1], True][: len(order)]]
    return last
