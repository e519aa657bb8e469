"""The arrays of a schedule, which the first run along it sorts: receivers by level, and where each level starts."""

from collections.abc import Hashable

import numpy as np

from gasla.program.schedule import Schedule, in_32_bits

Levels = tuple[np.ndarray, np.ndarray, np.ndarray]  # receivers; where they start; levels
NAMES = "receivers", "starts", "levels"  # as arguments


def kind(ids: np.dtype) -> Hashable:
    """What those are known by that a schedule keeps, once they are sorted; the receivers as ids of a type."""
    return "cpu", ids


def unsorted(schedule: Schedule, ids: np.dtype, team: int) -> Levels:
    """Those arrays before they are sorted, by at most so many threads, who count in the rows after the starts'."""
    levels, first = in_32_bits(schedule)
    where = starts(schedule.depth, team)
    where[0, 0] = first
    return np.empty(len(levels), ids), where, levels


def starts(depth: int, team: int) -> np.ndarray:
    """Room for where so many levels start."""
    return np.empty((team + 1, depth + 1), np.int64)
