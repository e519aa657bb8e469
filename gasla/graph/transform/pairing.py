"""Edges and their partners: `paired` of `Graph`, for what is written into both directions."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.arrays import array_module, module_of
from gasla.graph.adjacency import Array
from gasla.graph.neighbor_lists import Lists
from gasla.graph.transform.origin import Known, Numbers, Origin


def missing(lists: Lists, partners: Array, loops: bool) -> tuple[Array, tuple[Array, Array]]:
    """The numbers of edges without a partner, and sources and targets of edges to add; `loops`, one at every vertex."""
    xp = array_module(partners)
    alone = xp.flatnonzero(xp.less(partners, 0))
    everyone = xp.arange(lists.n if loops else 0, dtype=lists.id_dtype)
    src, dst = (xp.concatenate([ends[alone], everyone]) for ends in lists.edges())
    return alone, (dst, src)


def with_missing(partners: Array, alone: Array, made: Lists) -> Array:
    """The partners of all edges after those that were `missing` have been added, loops last."""
    xp, m = array_module(partners), len(partners)
    own = xp.arange(m, made.m, dtype=made.offset_dtype)  # numbers of the new edges
    found: Array = xp.concatenate([partners.astype(made.offset_dtype), own])
    found[alone], found[m : m + len(alone)] = own[: len(alone)], alone
    return found


def origin(lists: Lists, m: int) -> Origin:
    """Where the edges came from, of which those from `lists.m` on are new."""
    xp: Any = module_of(lists.device)
    first = xp.full(m, -1, np.int64)
    first[: lists.m] = became = xp.arange(lists.m, dtype=np.int64)
    return Origin(Numbers(lists.device, lists.n, lists.n), Known(lists.device, first, became))


def as_held(fill: Any, kind: np.dtype[Any]) -> Any:
    """`fill` in the type of a graph's values; refused where that is another number, rounding of floats aside."""
    given = np.asarray(fill)
    if given.ndim == 0 and given.dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            held = given.astype(kind)
        if bool(np.isfinite(held) == np.isfinite(given)) if kind.kind == "f" else held.item() == given.item():
            return held
    raise TypeError(
        f"fill is {fill!r}, which the graph's values of type {kind} can't hold; pass a fill of that type, or make the "
        "graph with values of a wider one"
    )
