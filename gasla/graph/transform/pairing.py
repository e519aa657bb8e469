"""`Graph.paired`: a graph with missing reverse edges added."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.arrays import array_module, module_of
from gasla.graph.adjacency import Array
from gasla.graph.neighbor_lists import Lists
from gasla.graph.transform.origin import ExplicitIdMap, IdMap, Origin


def missing(lists: Lists, partners: Array, loops: bool) -> tuple[Array, tuple[Array, Array]]:
    """Return the numbers of the edges without a reverse edge, and the sources and targets of the edges to add.

    The edges to add are the missing reverse edges, and with `loops` after them a self loop at every vertex. `partners`
    has the number of each edge's reverse edge, or -1.
    """
    xp = array_module(partners)
    unpaired = xp.flatnonzero(xp.less(partners, 0))
    loop_vertices = xp.arange(lists.n if loops else 0, dtype=lists.id_dtype)
    src, dst = (xp.concatenate([endpoint[unpaired], loop_vertices]) for endpoint in lists.edges())
    return unpaired, (dst, src)


def with_missing(partners: Array, alone: Array, made: Lists) -> Array:
    """Return `reverse_edge_ids` of a graph to which missing reverse edges and self loops have been added.

    `partners` has the reverse edge of each edge of the graph before, `alone` the edges that had none, and `made` is the
    new graph. A self loop that was added is its own reverse edge.
    """
    xp, m = array_module(partners), len(partners)
    # numbers of the edges that were added, which follow those of all other edges
    added_ids = xp.arange(m, made.m, dtype=made.offset_dtype)
    partner_ids: Array = xp.concatenate([partners.astype(made.offset_dtype), added_ids])
    partner_ids[alone], partner_ids[m : m + len(alone)] = added_ids[: len(alone)], alone
    return partner_ids


def origin(lists: Lists, m: int) -> Origin:
    """Return the `Origin` (the old numbers of edges) of a graph to which missing reverse edges have been added.

    The new graph has m edges. Its vertices, and the edges of the graph before (`lists`), have kept their numbers. The
    edges after these were added, and their old number is -1.
    """
    xp: Any = module_of(lists.device)
    old_numbers = xp.full(m, -1, np.int64)
    old_numbers[: lists.m] = new_numbers = xp.arange(lists.m, dtype=np.int64)
    return Origin(IdMap(lists.device, lists.n, lists.n), ExplicitIdMap(lists.device, old_numbers, new_numbers))


def as_held(fill: Any, dtype: np.dtype[Any]) -> Any:
    """Return the argument `fill`, the value of added edges, converted to the dtype of the graph's values.

    Raise TypeError if the conversion changes it, except by rounding of floats.
    """
    fill_value = np.asarray(fill)
    if fill_value.ndim == 0 and fill_value.dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            result = fill_value.astype(dtype)
        if (
            bool(np.isfinite(result) == np.isfinite(fill_value))
            if dtype.kind == "f"
            else result.item() == fill_value.item()
        ):
            return result
    raise TypeError(
        f"fill is {fill!r}, which the graph's values of type {dtype} can't hold; pass a fill of that type, or make the "
        "graph with values of a wider one"
    )
