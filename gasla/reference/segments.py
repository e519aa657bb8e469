"""Many reductions at once: each of its own values, in their order, by any monoid."""

from typing import Any

import numpy as np

from gasla.graph.derive.combining import Parts, reduce_runs
from gasla.program.binding import layout
from semirings import Monoid, TupleType


def reduce_segments(monoid: Monoid, parts: Parts, rows: np.ndarray, count: int, kind: Any) -> Parts:
    """For each of `count` rows what its values come to; the identity where it has none.

    `rows` says whose each value is, and ascends.
    """
    found = nothing(monoid, count, kind)
    reduce_runs(monoid, rows, parts, found)
    return found


def nothing(monoid: Monoid, count: int, kind: Any) -> Parts:
    """What so many reductions of no values come to."""
    kinds = kind.items if isinstance(kind, TupleType) else (kind,)
    identity = monoid.identity(kind)
    arrays = []
    for k, start in zip(kinds, identity if isinstance(kind, TupleType) else (identity,), strict=True):
        array = np.empty(*layout(k, count))
        array[:] = start
        arrays.append(array.T if array.ndim == 2 else array)
    return tuple(arrays)
