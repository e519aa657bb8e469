"""Reduces segments of an array, such as the values of each vertex's edges, by any monoid, in order."""

from typing import Any

import numpy as np

from gasla.program.binding import layout
from semirings import Monoid, TupleType

# Values as arrays: one for each item of a tuple type, or a tuple of one array. If items are vectors, the first axis of
# an array has the vectors' items.
Parts = tuple[np.ndarray, ...]


def reduce_segments(monoid: Monoid, parts: Parts, rows: np.ndarray, count: int, kind: Any) -> Parts:
    """Reduce the values of each of `count` rows (segments of an array) by a monoid to one result.

    A row without values gets the monoid's identity. `rows` has the row of each value in `parts`, ascending. Adjacent
    values are combined pairwise, in rounds. This keeps the order, and a row of k values takes log2(k) rounds.
    """
    single = not isinstance(kind, TupleType)
    while len(rows) > 1 and (rows[1:] == rows[:-1]).any():
        begins = np.flatnonzero(np.r_[True, rows[1:] != rows[:-1]])
        index_in_row = np.arange(len(rows)) - np.repeat(begins, np.diff(np.r_[begins, len(rows)]))
        even = np.flatnonzero(index_in_row % 2 == 0)
        has_next = even + 1 < len(rows)
        has_next[has_next] = rows[even[has_next] + 1] == rows[even[has_next]]
        left_places = even[has_next]
        pairs = tuple(p[..., left_places] for p in parts), tuple(p[..., left_places + 1] for p in parts)
        combined = (monoid.combine(pairs[0][0], pairs[1][0]),) if single else monoid.combine(*pairs)
        parts, rows = tuple(p[..., even] for p in parts), rows[even]
        for part, new in zip(parts, combined, strict=True):
            part[..., has_next] = new
    totals = nothing(monoid, count, kind)
    for result, part in zip(totals, parts, strict=True):
        result[..., rows] = part
    return totals


def nothing(monoid: Monoid, count: int, kind: Any) -> Parts:
    """Return the results of reducing no values in each of `count` rows (segments of an array).

    They are the monoid's identity in every row.
    """
    kinds = kind.items if isinstance(kind, TupleType) else (kind,)
    identity = monoid.identity(kind)
    arrays = []
    for k, start in zip(kinds, identity if isinstance(kind, TupleType) else (identity,), strict=True):
        array = np.empty(*layout(k, count))
        array[:] = start
        arrays.append(array.T if array.ndim == 2 else array)
    return tuple(arrays)
