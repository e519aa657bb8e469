"""Reductions by key, by sorting: each receiving vertex gets a total of values for each key, and chooses a key."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Pairs(NamedTuple):
    """The distinct pairs of a receiving vertex and a key of its edges, sorted by vertex, then by key."""

    # indices of the gathered values, sorted by vertex and key; values with a negative key are left out
    order: np.ndarray
    owners: np.ndarray  # the receiving vertex of each distinct pair
    keys: np.ndarray


def grouped(owners: np.ndarray, keys: np.ndarray) -> tuple[Pairs, np.ndarray]:
    """Return the distinct pairs of a receiving vertex and a key, and the number of each value's pair.

    `owners` and `keys` have the vertex and the key of each value. Values with a negative key are left out. The numbers
    are in the order of `Pairs.order`, which has the positions of the values that are not left out.
    """
    order = np.lexsort((keys, owners))
    order = order[keys[order] >= 0]
    owners, keys = owners[order], keys[order]
    is_first = np.r_[True, (owners[1:] != owners[:-1]) | (keys[1:] != keys[:-1])][: len(order)]
    return Pairs(order, owners[is_first], keys[is_first]), np.cumsum(is_first) - 1


def greatest(pairs: Pairs, scores: Sequence[np.ndarray]) -> np.ndarray:
    """Return, for each receiving vertex, the number of the pair (of the vertex and a key) that has the greatest scores.

    Pairs are compared by their first scores, then by their second scores, and so on. NaN is the smallest score. If all
    scores are equal, the pair with the smaller key is taken.
    """
    columns: list[np.ndarray] = [-pairs.keys.astype(np.int64)]
    for score in reversed(scores):
        columns += [np.where(np.isnan(score), 0, score), ~np.isnan(score)]
    order = np.lexsort((*columns, pairs.owners))
    owners = pairs.owners[order]
    last: np.ndarray = order[np.r_[owners[1:] != owners[:-1], True][: len(order)]]
    return last
