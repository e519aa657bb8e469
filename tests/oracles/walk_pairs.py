"""Oracle of the pairs of walks that skip-gram models learn from."""

from collections import Counter

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import VerificationError


def walk_pairs(walks: ArrayLike, window: int, pairs: ArrayLike) -> None:
    """Verify the pairs of walks: each center and context that are near each other, as often as they are.

    Parameters
    ----------
    walks, window
        As for `gasla.walk_pairs`.
    pairs : (2, count) array of integers
        The answer.

    Examples
    --------
    >>> walk_pairs([[0, 1]], 1, [[0, 1], [1, 0]])
    >>> walk_pairs([[0, 1]], 1, [[0], [1]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: the pair 1, 0 occurs 0 times; expected 1
    """
    found, wanted = np.asarray(pairs), Counter[tuple[int, int]]()
    if found.ndim != 2 or len(found) != 2 or found.dtype.kind not in "iu":
        raise VerificationError(f"pairs are {found.dtype}{found.shape}; expected two rows of integers")
    for walk in np.asarray(walks).tolist():
        for i, center in enumerate(walk):
            near = walk[max(i - window, 0) : i] + walk[i + 1 : i + 1 + window]
            wanted.update((center, x) for x in near if center >= 0 and x >= 0)
    counted = Counter(zip(*found.tolist()))
    for pair in wanted | counted:
        if counted[pair] != wanted[pair]:
            raise VerificationError(
                f"the pair {pair[0]}, {pair[1]} occurs {counted[pair]} times; expected {wanted[pair]}"
            )
