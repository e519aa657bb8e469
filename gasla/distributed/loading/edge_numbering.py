"""Global edge numbers for edges that ranks have read in pieces.

A *piece* is a run of consecutive edges of the input, read by one rank. Pieces are numbered in the order of the input.
The number of an edge follows from the lengths of all earlier pieces, which ranks exchange.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gasla.distributed.communicator import Communicator, Rank, share_bytes
from gasla.distributed.engine.partition import Edges
from gasla.graph.arguments import NO_LIMIT


class Piece(NamedTuple):
    """A run of consecutive edges of the input, which one rank has read."""

    number: int
    where: str  # the file, partition or chunk that the edges come from, for error messages
    src: np.ndarray
    dst: np.ndarray
    values: np.ndarray | None
    n: int = 0  # number of vertices that the header of the file gives, or 0 without a header
    promised: int = 0  # number of edges that the header of the file gives, or 0 without a header


def number_edges(rank: Rank, key: Any, pieces: Iterable[Piece], n: int | None) -> int:
    """Give the edges in this rank's pieces of the input their global numbers, and store them on the rank (collective).

    Return the number of vertices of the whole graph. `take_share` fetches the stored edges.

    Raises
    ------
    ValueError
        On every rank, if some pieces have values and others have none, or an id is out of range.
    """
    pieces = list(pieces)
    starts = _first_numbers(rank.communicator, pieces)
    value_type = _common_dtype(rank.communicator, pieces)
    ids = [np.arange(start, start + len(piece.src)) for start, piece in zip(starts, pieces, strict=True)]
    values = None
    if value_type is not None:
        values = _join([piece.values for piece in pieces if piece.values is not None], value_type)
    src, dst = (_join([getattr(piece, end) for piece in pieces], np.dtype(np.int64)) for end in ("src", "dst"))
    rank.kept[key] = Edges(src, dst, _join(ids, np.dtype(np.int64)), values)
    return _count_vertices(rank.communicator, pieces, n)


def take_share(rank: Rank, key: Any) -> Edges:
    """Remove the edges that `number_edges` has stored on the rank under `key`, and return them."""
    edge_share: Edges = rank.kept.pop(key)
    return edge_share


def _join(arrays: Sequence[np.ndarray], dtype: np.dtype) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype), *arrays]).astype(dtype, copy=False)


def _first_numbers(communicator: Communicator, pieces: Sequence[Piece]) -> list[int]:
    """Return the global number of the first edge of each of this rank's pieces of the input (collective).

    It is the number of edges in all earlier pieces, which may be on other ranks.
    """
    lengths = np.array([(piece.number, len(piece.src)) for piece in pieces], np.int64).reshape(-1, 2)
    all_lengths = np.concatenate(communicator.allgather(lengths.reshape(-1))).reshape(-1, 2)
    all_lengths = all_lengths[np.argsort(all_lengths[:, 0])]
    edges_before = np.cumsum(all_lengths[:, 1]) - all_lengths[:, 1]
    piece_positions = np.searchsorted(all_lengths[:, 0], lengths[:, 0])
    return [int(start) for start in edges_before[piece_positions]]


def _common_dtype(communicator: Communicator, pieces: Sequence[Piece]) -> np.dtype | None:
    """Return the common dtype of the edge values that all ranks have read, or None if no edges have values
    (collective).

    `pieces` has the edges that this rank has read.
    """
    own_types = [
        (p.where, "" if p.values is None else p.values.dtype.str) for p in pieces if len(p.src) or p.values is not None
    ]
    text = "\n".join(
        f"{value_type}\t{where}"
        for where, value_type in {value_type: (where, value_type) for where, value_type in own_types}.values()
    )
    files: dict[str, str] = {}
    for text_of_rank in share_bytes(communicator, text.encode()):
        for line in text_of_rank.decode().splitlines():
            value_type, where = line.split("\t", 1)
            files.setdefault(value_type, where)
    if "" in files and len(files) > 1:
        weighted = next(where for value_type, where in files.items() if value_type)
        raise ValueError(f"{weighted} has weights and {files['']} has none; expected weights in all files or in none")
    return np.result_type(*files) if files.keys() - {""} else None


def _count_vertices(communicator: Communicator, pieces: Sequence[Piece], n: int | None) -> int:
    """Return the number of vertices of the whole graph, and raise an error if a vertex id is out of range (collective).

    `pieces` has the edges that this rank has read. Without `n`, the number follows from the largest id.
    """
    smallest, largest, stated = NO_LIMIT, -1, 0
    for piece in pieces:
        stated = max(stated, piece.n)
        for endpoint_ids in (piece.src, piece.dst):
            if len(endpoint_ids):
                smallest, largest = min(smallest, int(endpoint_ids.min())), max(largest, int(endpoint_ids.max()))
    of_ranks = np.stack(communicator.allgather(np.array([smallest, largest, stated], np.int64)))
    smallest, largest = int(of_ranks[:, 0].min()), int(of_ranks[:, 1].max())
    if smallest < 0:
        raise ValueError(f"an edge has the vertex {smallest}; expected ids from 0")
    if n is not None and largest >= n:
        raise ValueError(f"an edge has the vertex {largest}; expected ids below n = {n}")
    return n if n is not None else max(largest + 1, int(of_ranks[:, 2].max()))
