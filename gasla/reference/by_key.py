"""Values by receiver and key, and which key of each receiver is chosen: by sorting."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Pairs(NamedTuple):
    """The pairs of a receiver and a key that there are, by receiver and then by key."""

    order: np.ndarray  # the values that belong to some, in the order of the pairs, and in their own within each
    owners: np.ndarray  # of each pair
    keys: np.ndarray


def grouped(owners: np.ndarray, keys: np.ndarray) -> tuple[Pairs, np.ndarray]:
    """The pairs that values come with, and for each value in that order the number of its pair."""
    order = np.lexsort((keys, owners))
    order = order[keys[order] >= 0]
    owners, keys = owners[order], keys[order]
    begins = np.r_[True, (owners[1:] != owners[:-1]) | (keys[1:] != keys[:-1])][: len(order)]
    return Pairs(order, owners[begins], keys[begins]), np.cumsum(begins) - 1


def greatest(pairs: Pairs, scores: Sequence[np.ndarray]) -> np.ndarray:
    """The pair of each receiver with the greatest scores, NaN being the least; of those that tie, the smallest key."""
    columns: list[np.ndarray] = [-pairs.keys.astype(np.int64)]
    for score in reversed(scores):
        columns += [np.where(np.isnan(score), 0, score), ~np.isnan(score)]
    order = np.lexsort((*columns, pairs.owners))
    owners = pairs.owners[order]
    last: np.ndarray = order[np.r_[owners[1:] != owners[:-1], True][: len(order)]]
    return last
