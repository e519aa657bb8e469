"""Verifiers of flows and cuts: a flow is largest where it fills a cut, and a cut the cheapest where a flow fills it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gasla.graph.graph import as_graph
from gasla.verify._common import Array, VerificationError, answer, require


def maximum_flow(graph: Any, source: int, target: int, value: int, flow: Any) -> None:
    """Verify a flow: within capacities, nothing lost, and no way along which more could go.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph; its values are capacities (1 where it has none).
    source, target : int
        Where the flow comes from and where it goes.
    value : int
        How much that is.
    flow : (m,) array of int
        What flows along each edge, in the order of the input.

    Raises
    ------
    VerificationError
        If an edge takes more than its capacity, or less than 0; if more or less leaves a vertex than arrives there; if
        the value is another; or if there is a way on which more could be sent.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 3, 0], [0, 0, 2], [0, 0, 0]])
    >>> maximum_flow(path, 0, 2, 2, [2, 2])
    >>> maximum_flow(path, 0, 2, 1, [1, 1])
    Traceback (most recent call last):
    gasla.verify.VerificationError: more could be sent, along the vertices 0, 1, 2
    """
    n, src, dst, capacity = _edges(graph)
    slack, name = _slack(n, src, capacity), _names(src, dst)
    sent = np.asarray(flow)
    if sent.shape != src.shape or sent.dtype.kind != capacity.dtype.kind:
        raise VerificationError(
            f"flow: {len(src)} values of type {capacity.dtype} were expected, one an edge, not {sent.dtype}{sent.shape}"
        )
    require(sent >= 0, lambda e: f"{name(e)} carries {sent[e]}; expected 0 or more")
    require(sent <= capacity, lambda e: f"{name(e)} carries {sent[e]}; its capacity is {capacity[e]}")
    excess = np.zeros(n, capacity.dtype)
    np.add.at(excess, dst, sent)
    np.subtract.at(excess, src, sent)
    if abs(excess[target] - value) > slack:
        raise VerificationError(f"the value is {value}, but {excess[target]} gets to target {target}")
    excess[[source, target]] = 0
    require(abs(excess) <= slack, lambda v: f"at vertex {v} arrives {excess[v]} more than leaves")
    heads, tails = np.concatenate([dst, src]), np.concatenate([src, dst])
    way = _way(n, tails, heads, np.concatenate([capacity - sent > slack, sent > slack]), source, target)
    if way:
        raise VerificationError(f"more could be sent, along the vertices {', '.join(map(str, way))}")


def minimum_cut(graph: Any, source: int, target: int, value: int, source_side: Any) -> None:
    """Verify a cut: it parts source and target, costs what it says, and SciPy's largest flow is as much.

    Parameters
    ----------
    graph, source, target
        As for `maximum_flow`.
    value : int
        What the cut costs.
    source_side : (n,) array of bool
        Who is on the source's side.

    Raises
    ------
    VerificationError
        If the two are on one side, the cut costs something else, or there is a cheaper one.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 3, 0], [0, 0, 2], [0, 0, 0]])
    >>> minimum_cut(path, 0, 2, 2, [True, True, False])
    >>> minimum_cut(path, 0, 2, 3, [True, False, False])
    Traceback (most recent call last):
    gasla.verify.VerificationError: the cut costs 3, and there is one that costs 2
    """
    n, src, dst, capacity = _edges(graph)
    side = answer("source_side", source_side, n, "b")
    if not side[source] or side[target]:
        raise VerificationError(f"source {source} and target {target} are not on their sides of the cut")
    cost = sum(capacity[side[src] & ~side[dst]].tolist())
    slack = _slack(n, src, capacity)
    if abs(cost - value) > slack:
        raise VerificationError(f"the value is {value}, but the edges of the cut cost {cost}")
    least, rounding = _largest_flow(n, src, dst, capacity, source, target)
    if cost - least > rounding + slack:
        raise VerificationError(f"the cut costs {cost}, and there is one that costs {least}")


def _edges(graph: Any) -> tuple[int, Array, Array, Array]:
    """Number of vertices, ends of edges, capacities: int64 or float64."""
    graph = as_graph(graph)
    src, dst = (np.asarray(ends).astype(np.int64) for ends in graph._edges())
    capacity = np.ones(len(src), np.int64) if graph.values is None else np.asarray(graph.values)
    return graph.n, src, dst, capacity.astype(np.float64 if capacity.dtype.kind == "f" else np.int64)


def _slack(n: int, src: Array, capacity: Array) -> float:
    """What sums of floats may differ by; nothing, for integers."""
    return 0 if capacity.dtype.kind == "i" else 2**-45 * float(np.bincount(src, capacity, n).max(initial=0))


def _names(src: Array, dst: Array) -> Callable[[int], str]:
    return lambda e: f"edge {e}, {src[e]} → {dst[e]},"


def _way(n: int, tails: Array, heads: Array, is_residual: Array, source: int, target: int) -> list[int]:
    """The vertices of a way along residual edges; none if there is none."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order

    ones = np.ones(int(is_residual.sum()))
    matrix = coo_array((ones, (tails[is_residual], heads[is_residual])), shape=(n, n)).tocsr()
    before, way = breadth_first_order(matrix, source)[1], [target]
    if before[target] < 0:
        return []
    while way[-1] != source:
        way.append(int(before[way[-1]]))
    return way[::-1]


def _largest_flow(n: int, src: Array, dst: Array, capacity: Array, source: int, target: int) -> tuple[Any, float]:
    """The value of SciPy's largest flow, which has 31 bits: where that takes rounding, how much is lost at most."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_flow as largest

    total = coo_array((capacity, (src, dst)), shape=(n, n)).tocsr()
    total.sum_duplicates()
    most = float(total.sum(axis=1).max(initial=0))
    unit = 1 if capacity.dtype.kind == "i" and most < 2**31 else most / 2**30 or 1
    total.data = total.data // unit
    return largest(total.astype(np.int32), source, target).flow_value * unit, 0 if unit == 1 else total.nnz * unit
