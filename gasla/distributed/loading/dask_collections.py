"""Edges in a dataframe or an array of Dask's: each rank gets some of its parts.

With a client of Dask's a part goes to the worker that has it already, or is computed there; it never comes to the
client. Otherwise each rank computes its own parts.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gasla.distributed.block_array import Handle
from gasla.distributed.communicator import Rank, Ranks
from gasla.distributed.loading.reading import Columns, of_table
from gasla.distributed.loading.settling import Piece, settle
from gasla.graph.exchange.columns import as_arrow, choose


def is_collection(edges: Any) -> bool:
    """Whether an argument is a collection of Dask's."""
    return hasattr(edges, "to_delayed") and hasattr(edges, "__dask_graph__")


def hand_out(ranks: Ranks, edges: Any, columns: Columns, n: int | None) -> tuple[int, Handle]:
    """Have ranks keep shares of the edges; how many vertices there are, and the handle of these."""
    parts, places = _parts(edges, columns)
    handle = Handle(ranks)
    if ranks.place(handle.key, parts):
        return ranks.each(_settle_placed, handle.key, places, n)[0], handle
    return ranks.each(_settle_own, handle.key, parts, places, n)[0], handle


def _parts(edges: Any, columns: Columns) -> tuple[list[Any], list[int]]:
    """The parts in their order, as Dask's delayed values; and which of their columns are meant."""
    if hasattr(edges, "columns"):
        numbers = [place for place, kind in enumerate(edges.dtypes) if kind.kind in "iuf"]
        titles = [str(name) for name in edges.columns]
        places = [place for place in choose(titles, *columns, numbers) if place is not None]
        return list(edges.to_delayed()), places
    if any(column is not None for column in columns):
        raise TypeError("edges is an array, which has no names of columns; leave out src, dst and weight")
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(f"edges is an array of shape {edges.shape}; expected (m, 2), a source and a destination a row")
    if edges.dtype.kind not in "iu":
        raise TypeError(f"edges is an array of {edges.dtype}; expected whole numbers, the numbers of vertices")
    return list(edges.rechunk({1: -1}).to_delayed().reshape(-1)), [0, 1]


def _piece(number: int, part: Any, places: Sequence[int]) -> Piece:
    """A part's edges."""
    where = f"partition {number}"
    if isinstance(part, np.ndarray):
        src, dst = (np.ascontiguousarray(part[:, end]) for end in (0, 1))
        return Piece(number, where, src, dst, None)
    try:
        return of_table(number, where, as_arrow(part.iloc[:, list(places)]))
    except (ValueError, TypeError) as error:
        raise type(error)(f"{where}: {error}") from error


def _settle_placed(rank: Rank, key: Any, places: Sequence[int], n: int | None) -> int:
    """Of what Dask has placed here, by its numbers."""
    parts = rank.kept.pop(key, {})
    return settle(rank, key, [_piece(number, part, places) for number, part in parts.items()], n)


def _settle_own(rank: Rank, key: Any, parts: Sequence[Any], places: Sequence[int], n: int | None) -> int:
    """Of what this rank computes itself."""
    import dask

    size, count = rank.communicator.size, len(parts)
    own = range(rank.communicator.rank * count // size, (rank.communicator.rank + 1) * count // size)
    computed = dask.compute(*[parts[number] for number in own], scheduler="synchronous")
    return settle(rank, key, [_piece(number, part, places) for number, part in zip(own, computed)], n)
