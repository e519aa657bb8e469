"""Pairs of vertices near each other in walks, from which skip-gram models learn vectors of vertices."""

from __future__ import annotations

from typing import Any

from gasla.arrays import array_module, device_of
from gasla.graph.arguments import NO_LIMIT, whole_number
from gasla.graph.memory_limit import LARGE, require_room
from gasla.graph.validate import as_array
from gasla.rows import Row

Array = Any  # an array of NumPy or CuPy


def walk_pairs(walks: Any, window: int) -> Array:
    """List the pairs of vertices that are at most `window` steps apart in walks, for skip-gram training.

    Parameters
    ----------
    walks : (walkers, steps) array of integers
        Walks as `random_walks` and `node2vec_walks` return them. A negative number ends a walk.
    window : int
        Largest number of steps between both vertices of a pair, 1 or more.

    Returns
    -------
    (2, pairs) array of the type of `walks`
        Center and context of each pair, on the device of `walks`. Every two positions give two pairs, one for each
        vertex as the center. Pairs one step apart come first, then those two steps apart, and so on.

    Raises
    ------
    TypeError, ValueError
        If walks are not rows of integers, or `window` is not a whole number of 1 or more.

    Notes
    -----
    A walk of l steps gives up to 2 * window * l pairs. A vertex that a walk visits twice within the window is paired
    with itself.

    References
    ----------
    B. Perozzi, R. Al-Rfou, S. Skiena: DeepWalk: Online Learning of Social Representations. KDD 2014.

    Examples
    --------
    >>> import gasla
    >>> gasla.walk_pairs([[0, 1, 2], [3, 4, -1]], 2)
    array([[0, 1, 3, 1, 2, 4, 0, 2],
           [1, 2, 4, 0, 1, 3, 2, 0]])
    """
    rows, window = as_array("walks", walks), whole_number("window", window, NO_LIMIT)
    if rows.ndim != 2 or rows.dtype.kind not in "iu":
        raise TypeError(f"walks is {rows.dtype}{rows.shape}; expected integers, one row per walk")
    if window == 0:
        raise ValueError("window is 0; expected 1 or more")
    xp: Any = array_module(rows)
    _check_room(rows, min(window, max(rows.shape[1] - 1, 0)))
    pairs = [xp.zeros((2, 0), rows.dtype)]
    for distance in range(1, min(window, rows.shape[1] - 1) + 1):
        early, late = rows[:, :-distance], rows[:, distance:]
        is_pair = (early >= 0) & (late >= 0)
        early, late = early[is_pair], late[is_pair]
        pairs.append(xp.stack([xp.concatenate([early, late]), xp.concatenate([late, early])]))
    return xp.concatenate(pairs, axis=1)


def _check_room(rows: Array, window: int) -> None:
    """Raise MemoryError if the pairs of vertices within a window of walks need more memory than there is.

    The arrays from which the pairs are concatenated count as well.
    """
    count, pair_bytes = len(rows) * (rows.shape[1] * window - window * (window + 1) // 2), 8 * rows.itemsize
    # For many pairs it matters how many there are, so they are counted exactly, without those of walks that have ended.
    if count * pair_bytes >= LARGE:
        is_vertex = rows >= 0
        count = sum(
            int((is_vertex[:, distance:] & is_vertex[:, :-distance]).sum()) for distance in range(1, window + 1)
        )
    require_room("the pairs have", count, pair_bytes, device_of(rows), "a smaller window, or fewer walks")


ROW = Row(walk_pairs, method="a window over each walk (Perozzi, Al-Rfou, Skiena, KDD 2014)")
