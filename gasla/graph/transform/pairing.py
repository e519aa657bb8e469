"""`Graph.paired`: add missing reverse edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.arrays import array_module, module_of
from gasla.graph.adjacency import Array
from gasla.graph.neighbor_lists import Lists
from gasla.graph.transform.origin import ExplicitIdMap, IdMap, Origin


def missing(lists: Lists, partners: Array, loops: bool) -> tuple[Array, tuple[Array, Array]]:
    """Return the edges without a reverse edge, and the sources and targets of the edges to add, loops last."""
    xp = array_module(partners)
    alone = xp.flatnonzero(xp.less(partners, 0))
    everyone = xp.arange(lists.n if loops else 0, dtype=lists.id_dtype)
    src, dst = (xp.concatenate([ends[alone], everyone]) for ends in lists.edges())
    return alone, (dst, src)


def with_missing(partners: Array, alone: Array, made: Lists) -> Array:
    """Return `reverse_edge_ids` after the `missing` edges have been added."""
    xp, m = array_module(partners), len(partners)
    own = xp.arange(m, made.m, dtype=made.offset_dtype)  # numbers of the added edges
    partner_ids: Array = xp.concatenate([partners.astype(made.offset_dtype), own])
    partner_ids[alone], partner_ids[m : m + len(alone)] = own[: len(alone)], alone
    return partner_ids


def origin(lists: Lists, m: int) -> Origin:
    """Return which edges of `lists` the `m` edges of a paired graph were, by their numbers.

    Vertices and the first `lists.m` edges keep their numbers. The edges after these were added, and have no origin: -1.
    """
    xp: Any = module_of(lists.device)
    first = xp.full(m, -1, np.int64)
    first[: lists.m] = became = xp.arange(lists.m, dtype=np.int64)
    return Origin(IdMap(lists.device, lists.n, lists.n), ExplicitIdMap(lists.device, first, became))


def as_held(fill: Any, dtype: np.dtype[Any]) -> Any:
    """Convert `fill` to the type of a graph's values.

    Raise TypeError if that changes it, except by rounding of floats.
    """
    given = np.asarray(fill)
    if given.ndim == 0 and given.dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            held = given.astype(dtype)
        if bool(np.isfinite(held) == np.isfinite(given)) if dtype.kind == "f" else held.item() == given.item():
            return held
    raise TypeError(
        f"fill is {fill!r}, which the graph's values of type {dtype} can't hold; pass a fill of that type, or make the "
        "graph with values of a wider one"
    )
