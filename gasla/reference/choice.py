"""Reductions by key, by sorting: the pairs of receiver and key, and the best key of each receiver."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Pairs(NamedTuple):
    """The distinct pairs of a receiver and a key, sorted by receiver, then by key."""

    order: np.ndarray  # positions of the values with a key, stably sorted by pair
    owners: np.ndarray  # the receiver of each pair
    keys: np.ndarray


def grouped(owners: np.ndarray, keys: np.ndarray) -> tuple[Pairs, np.ndarray]:
    """Return the pairs of some values, and for each value, in the order of the pairs, the number of its pair."""
    order = np.lexsort((keys, owners))
    order = order[keys[order] >= 0]
    owners, keys = owners[order], keys[order]
    begins = np.r_[True, (owners[1:] != owners[:-1]) | (keys[1:] != keys[:-1])][: len(order)]
    return Pairs(order, owners[begins], keys[begins]), np.cumsum(begins) - 1


def greatest(pairs: Pairs, scores: Sequence[np.ndarray]) -> np.ndarray:
    """Return the pair with the greatest scores of each receiver. NaN is smallest, and ties go to the smallest key."""
    columns: list[np.ndarray] = [-pairs.keys.astype(np.int64)]
    for score in reversed(scores):
        columns += [np.where(np.isnan(score), 0, score), ~np.isnan(score)]
    order = np.lexsort((*columns, pairs.owners))
    owners = pairs.owners[order]
    last: np.ndarray = order[np.r_[owners[1:] != owners[:-1], True][: len(order)]]
    return last
