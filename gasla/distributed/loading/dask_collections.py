"""Edges in a Dask dataframe or array, of which each rank gets some partitions.

If ranks are Dask workers, a partition stays on the worker that has it, or is computed by a worker. It is never sent to
the client. Otherwise each rank computes its own partitions.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gasla.distributed.block_array import Handle
from gasla.distributed.communicator import Rank, Ranks
from gasla.distributed.loading.edge_numbering import Piece, number_edges
from gasla.distributed.loading.file_shares import Columns, of_table
from gasla.graph.exchange.columns import Kinds, as_arrow, choose


def is_collection(edges: Any) -> bool:
    """Return whether an argument is a Dask collection (a dataframe or an array)."""
    return hasattr(edges, "to_delayed") and hasattr(edges, "__dask_graph__")


def distribute_parts(ranks: Ranks, edges: Any, columns: Columns, n: int | None) -> tuple[int, Handle]:
    """Let each rank store some partitions of a Dask dataframe or array of edges.

    Return the graph's number of vertices, and the handle of the key under which the ranks store the edges.
    """
    partitions, column_positions = _parts(edges, columns)
    handle = Handle(ranks)
    if ranks.place(handle.key, partitions):
        return ranks.each(_number_placed, handle.key, column_positions, n)[0], handle
    return ranks.each(_number_own, handle.key, partitions, column_positions, n)[0], handle


def _parts(edges: Any, columns: Columns) -> tuple[list[Any], list[int]]:
    """Return the partitions of a Dask dataframe or array of edges, in order, and the positions of the columns that are
    used.

    The partitions are Dask's delayed values. The positions are of the source, the target and, if given, the weight.
    """
    if hasattr(edges, "columns"):
        numbers, integer_columns, texts = (
            [position for position, dtype in enumerate(edges.dtypes) if dtype.kind in dtype_kinds]
            for dtype_kinds in ("iuf", "iu", "OUT")
        )
        titles = [str(name) for name in edges.columns]
        column_positions = [
            position
            for position in choose(titles, *columns, Kinds(numbers, integer_columns, texts))
            if position is not None
        ]
        return list(edges.to_delayed()), column_positions
    if any(column is not None for column in columns):
        raise TypeError("edges is an array, whose columns have no names; leave out src, dst and weight")
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(f"edges is an array of shape {edges.shape}; expected (m, 2), a source and a target per row")
    if edges.dtype.kind not in "iu":
        raise TypeError(f"edges is an array of {edges.dtype}; expected integers, the ids of vertices")
    return list(edges.rechunk({1: -1}).to_delayed().reshape(-1)), [0, 1]


def _piece(partition_number: int, partition: Any, column_positions: Sequence[int]) -> Piece:
    """Return the edges of one partition of a Dask collection, a dataframe or an array, as a `Piece` of the input.

    `column_positions` has the positions of the columns of sources, targets and, if given, weights.
    """
    where = f"partition {partition_number}"
    if isinstance(partition, np.ndarray):
        src, dst = (np.ascontiguousarray(partition[:, end]) for end in (0, 1))
        return Piece(partition_number, where, src, dst, None)
    try:
        return of_table(partition_number, where, as_arrow(partition.iloc[:, list(column_positions)]))
    except (ValueError, TypeError) as error:
        raise type(error)(f"{where}: {error}") from error


def _number_placed(rank: Rank, key: Any, column_positions: Sequence[int], n: int | None) -> int:
    """Give the edges in the partitions that Dask has placed on this rank their global numbers (collective).

    Return the number of vertices of the whole graph. `column_positions` has the positions of the columns.
    """
    partitions = rank.kept.pop(key, {})
    return number_edges(
        rank,
        key,
        [_piece(partition_number, partition, column_positions) for partition_number, partition in partitions.items()],
        n,
    )


def _number_own(rank: Rank, key: Any, partitions: Sequence[Any], column_positions: Sequence[int], n: int | None) -> int:
    """Compute this rank's share of the partitions, and give their edges their global numbers (collective).

    Return the number of vertices of the whole graph. `column_positions` has the positions of the columns.
    """
    import dask

    rank_count, count = rank.communicator.size, len(partitions)
    own_numbers = range(
        rank.communicator.rank * count // rank_count, (rank.communicator.rank + 1) * count // rank_count
    )
    own_partitions = dask.compute(
        *[partitions[partition_number] for partition_number in own_numbers], scheduler="synchronous"
    )
    return number_edges(
        rank,
        key,
        [
            _piece(partition_number, partition, column_positions)
            for partition_number, partition in zip(own_numbers, own_partitions)
        ],
        n,
    )
