"""Edges that the calling process makes in chunks, one by one: each rank stores a part of each chunk in host memory."""

import reprlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gasla.arrays import moved
from gasla.distributed.block_array import Handle
from gasla.distributed.communicator import Rank, Ranks
from gasla.distributed.loading.edge_numbering import Piece, number_edges
from gasla.graph.validate import are_sparse, as_ids, as_values, check_range, require_vertices, vertex_count

# Chunks are collected until they have this many edges, and then sent to the ranks in one call. A call for each small
# chunk would take longer than making the chunk.
TOGETHER = 1 << 22


def distribute_chunks(ranks: Ranks, chunks: Any, n: int | None) -> tuple[int, Handle]:
    """Send the edges that the calling process makes in chunks to the ranks, which store them in host memory until the
    graph is made.

    Return the number of vertices, and the handle under which ranks store the edges.
    """
    handle, limit = Handle(ranks), None if n is None else vertex_count(n)
    largest_id, m, collected, count = -1, 0, list[Piece](), 0
    ranks.each(_begin_list, handle.key)
    for piece in _check_chunks(chunks, limit):
        largest_id = max([largest_id, *(int(ids.max()) for ids in (piece.src, piece.dst) if len(ids))])
        collected.append(piece)
        m, count = m + len(piece.src), count + len(piece.src)
        if count >= TOGETHER:
            ranks.each(_store_parts, handle.key, collected)
            collected, count = [], 0
    ranks.each(_store_parts, handle.key, collected)
    if limit is None:
        limit = largest_id + 1
        require_vertices(limit)
        if doubt := are_sparse(limit, m, is_table=False):
            raise ValueError(doubt)
    edge_count: int = ranks.each(_number_stored, handle.key, limit)[0]
    return edge_count, handle


def _check_chunks(chunks: Any, n: int | None) -> Iterator[Piece]:
    """Check the chunks of edges that a caller has passed, and yield the edges of each chunk.

    Raise ValueError if some of the nonempty chunks have weights and others have none.
    """
    try:
        chunk_iterator = iter(chunks)
    except TypeError:
        raise TypeError(
            f"src is {reprlib.repr(chunks)}, without dst; expected arrays src and dst, or chunks of edges: tuples "
            "(src, dst) or (src, dst, weights)"
        ) from None
    first_piece: Piece | None = None
    for chunk_number, chunk in enumerate(chunk_iterator):
        piece = _piece(chunk_number, chunk, n)
        if len(piece.src):
            first_piece = first_piece or piece
            if (piece.values is None) != (first_piece.values is None):
                with_weights, without = (piece, first_piece) if first_piece.values is None else (first_piece, piece)
                raise ValueError(
                    f"{with_weights.where} has weights and {without.where} has none; expected weights in all chunks or "
                    "in none"
                )
        yield piece


def _piece(chunk_number: int, chunk: Any, n: int | None) -> Piece:
    """Check the arrays of a chunk of edges, and return the edges as piece number `chunk_number` of the input.

    Arrays are copied, because the caller may reuse them for the next chunk.
    """
    where = f"chunk {chunk_number}"
    if not isinstance(chunk, tuple | list) or len(chunk) not in (2, 3):
        raise TypeError(
            f"{where} is {reprlib.repr(chunk)}; expected a tuple of arrays, (src, dst) or (src, dst, weights)"
        )
    endpoint_ids = []
    for name, ids_given in zip(("src", "dst"), chunk, strict=False):
        ids = np.array(moved(as_ids(f"{name} of {where}", ids_given), "cpu"))
        if len(ids) and (smallest := int(ids.min())) < 0:
            raise ValueError(f"{name} of {where} has the vertex {smallest}; expected ids from 0")
        if n is not None:
            check_range(f"{name} of {where}: ids", ids, n)
        endpoint_ids.append(ids)
    src, dst = endpoint_ids
    if len(src) != len(dst):
        raise ValueError(f"{where} has {len(src)} sources and {len(dst)} targets; expected as many of each")
    try:
        values = None if len(chunk) == 2 else as_values(chunk[2], len(src))
    except (TypeError, ValueError) as error:
        raise type(error)(f"{where}: {error}") from None
    return Piece(chunk_number, where, src, dst, None if values is None else np.array(moved(values, "cpu")))


# --- functions that run on each rank: storing a part of each chunk, and numbering the edges ---------------------------


def _begin_list(rank: Rank, key: Any) -> None:
    rank.kept[key] = []


def _store_parts(rank: Rank, key: Any, chunks: Sequence[Piece]) -> None:
    """Store this rank's part of each chunk of edges under `key`, until the graph is made."""
    rank_number, rank_count = rank.communicator.rank, rank.communicator.size
    for chunk_number, where, src, dst, values, *_ in chunks:
        edge_range = slice(len(src) * rank_number // rank_count, len(src) * (rank_number + 1) // rank_count)
        kept_values = None if values is None else values[edge_range].copy()
        rank.kept[key].append(
            Piece(
                chunk_number * rank_count + rank_number,
                where,
                src[edge_range].copy(),
                dst[edge_range].copy(),
                kept_values,
            )
        )


def _number_stored(rank: Rank, key: Any, n: int) -> int:
    """Give the edges that this rank has stored from all chunks their numbers in the whole graph (collective).

    Return the number of vertices of the whole graph.
    """
    return number_edges(rank, key, rank.kept.pop(key), n)
