"""The product of a distributed graph's matrix and a vector or a dense matrix x: each rank multiplies its shard.

A rank receives the rows of x for its mirrors. It has all edges of its own rows, in the order of the input, so the
result has the same bits as in one process.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gasla.arrays import moved
from gasla.distributed.block_array import BlockArray, Handle
from gasla.distributed.communicator import Communicator, Rank
from gasla.distributed.engine import one_card
from gasla.distributed.engine.distributed_run import make_once, shard_on
from gasla.distributed.engine.shard import Shard
from gasla.distributed.engine.unsupported import not_whole
from gasla.engines import engine
from gasla.program.terms import Lists, Ready, trace
from semirings import Semiring, TupleType
from semirings.types import HALF

FOLLOWING = 64  # largest number of entries after the end of a matrix row that a kernel for products may read


def product(graph: Any, x: Any, semiring: Semiring, by_column: bool, of_whole: Callable[..., Any]) -> BlockArray:
    """Return the product of a distributed graph's matrix and x, which has the shape (n,) or (n, k).

    One GPU or all ranks compute it. The result is a `BlockArray` with a block per rank.

    Raises
    ------
    ValueError, TypeError
        If x has another length, or the multiply operator reads indices or returns a tuple.
    """
    if len(x.shape) not in (1, 2) or x.shape[0] != graph.n:
        raise ValueError(f"x has shape {x.shape}; expected ({graph.n},) or ({graph.n}, k), a value or row per vertex")
    if semiring.positional:
        raise not_whole(f"{semiring!r}, which reads indices")
    value = None if graph.values is None else graph.values.dtype
    computed_type = np.dtype(np.float32) if x.dtype == HALF else x.dtype
    if isinstance(trace(semiring, by_column, value, computed_type, None, wide=len(x.shape) > 1).out_type, TupleType):
        raise not_whole(f"{semiring!r}, which gives several values")

    def multiply(graph: Any, x: Any) -> Any:
        return (
            of_whole(graph, x, semiring, by_column)
            if graph.is_whole
            else _multiply_over_ranks(graph, x, semiring, by_column)
        )

    result: BlockArray = one_card.called(graph, multiply, (graph, x), {})
    return result


def _multiply_over_ranks(graph: Any, x: Any, semiring: Semiring, by_column: bool) -> BlockArray:
    """Return the product of a distributed graph's matrix and x as a `BlockArray`. Each rank computes the rows of its
    own vertices.
    """
    handle = Handle(graph.ranks)
    operand = (x.handle.key, x.name) if isinstance(x, BlockArray) else x
    dtype = graph.ranks.each(_multiply, graph.handle.key, handle.key, operand, semiring, by_column)[0]
    return BlockArray(handle, "y", x.shape, dtype)


def _multiply(rank: Rank, graph: Any, result: Any, x: Any, semiring: Semiring, by_column: bool) -> np.dtype:
    """Multiply the rows of the graph's matrix that this rank owns by x, and store the result under the key `result`
    (collective).

    x is a whole array, or the key and name of a distributed one. Return the dtype of the product.
    """
    shard = shard_on(rank, graph, "in" if by_column else "out")
    rows = (
        shard.with_mirrors(rank.communicator, moved(rank.kept[x[0]][x[1]], "cpu"))
        if isinstance(x, tuple)
        else x[shard.ids]
    )
    rows = np.ascontiguousarray(rows, np.float32 if rows.dtype == HALF else rows.dtype)
    lists = make_once(rank, graph, ("lists of a product", by_column), lambda: _lists(rank.communicator, shard))
    key = semiring, by_column, rows.dtype, rows.ndim
    ready = lists.products.get(key)
    if ready is None:
        value = None if lists.values is None else lists.values.dtype
        # None, because the product is a new array and not merged into one of the caller
        terms = trace(semiring, by_column, value, rows.dtype, None, wide=rows.ndim > 1)
        products = engine("cpu").products()
        multiply = (products.ready if rows.ndim == 1 else products.ready_wide)(lists, terms, False)
        ready = lists.products[key] = Ready(terms, multiply)
    values = np.empty((len(lists.indptr) - 1, *rows.shape[1:]), ready.terms.out_type)
    ready.multiply(rows, None, False, (values,))
    rank.kept[result] = {"y": values[: shard.own].copy()}
    return values.dtype


def _lists(communicator: Communicator, shard: Shard) -> Lists:
    """Return this rank's rows of the graph's matrix, followed by a row of zeros, as adjacency lists in the order of the
    input.

    Kernels may read a few entries past the end of a row, except at the end of the arrays, where they add a row's
    entries in another order. The zeros stand for the rows of later ranks. So the rank adds its rows as in the whole
    matrix, and results have the same bits.
    """
    edge_counts = np.concatenate(communicator.allgather(np.array([shard.graph.m], np.int64)))
    following = min(int(edge_counts[communicator.rank + 1 :].sum()), FOLLOWING) if len(shard.ids) else 0
    graph = shard.graph_on("cpu")
    local, values = graph.in_, graph.in_values
    indptr = np.append(local.indptr[: shard.own + 1], local.indptr[shard.own] + following).astype(local.indptr.dtype)
    indices = np.concatenate([local.indices, np.zeros(following, local.indices.dtype)])
    values = None if values is None else np.concatenate([values, np.zeros(following, values.dtype)])
    return Lists(indptr, indices, values, len(shard.ids))
