"""Verifiers of flows and cuts, by duality. A maximum flow saturates a cut, and its value is that of a minimum cut."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gasla.graph.graph import as_graph
from gasla.graph.weights import exact_total
from gasla.verify._common import (
    Array,
    VerificationError,
    check_source,
    reachable,
    require,
    sample,
    sparse,
    vector_of,
    verifier,
    vertex_answer,
)

TOLERANCE = 1e-9  # largest relative error of flows and costs in floating point that is accepted
# Largest flow of integers through a vertex for which sums are exact. Correct flows stay below 2**62. Below this bound,
# the difference of two sums fits int64.
MAX_VERTEX_FLOW = 5 * 2**60
CAPACITY_BITS = 29  # number of bits of the capacities passed to SciPy, which adds two of them as int32 numbers


@verifier()
def maximum_flow(graph: Any, source: Any, target: Any, value: int, flow: Any) -> None:
    """Verify `value` and `flow` of `gasla.maximum_flow`.

    The flow respects capacities and is conserved at vertices, and no augmenting path exists. This is exact for
    integers, of which less than 2**62 flows through each vertex. Floats are conserved up to 1e-9 of the flow through a
    vertex, and augmenting paths carry at most 1e-9 of the value.

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
    source, target = _check_ends(source, target, n)
    name, is_whole, value = _edge_names(src, dst), capacity.dtype.kind == "i", _python_number(value)
    sent = np.asarray(flow)
    if sent.shape != src.shape or sent.dtype.kind != capacity.dtype.kind:
        raise VerificationError(
            f"flow: {len(src)} values of {capacity.dtype} were expected, one per edge, not {sent.dtype}{sent.shape}"
        )
    sent = sent.astype(capacity.dtype)
    require(sent >= 0, lambda e: f"{name(e)} carries {sent[e]}; expected 0 or more")
    require((sent == 0) | (src != dst), lambda e: f"{name(e)} carries {sent[e]}; expected 0, as it is a loop")
    require(sent < np.inf, lambda e: f"{name(e)} carries {sent[e]}; expected a finite number")
    require(sent <= capacity, lambda e: f"{name(e)} carries {sent[e]}; its capacity is {capacity[e]}")
    if not 0 <= value < np.inf:
        raise VerificationError(f"the value is {value}; expected a finite number, 0 or more")
    if is_whole:
        _require_exact_sums(n, src, dst, sent)
    overflows = _check_balance((n, src, dst), sent, source, target, value, 0, np.ones(n, bool))
    if overflows.any():
        _check_balance((n, src, dst), sent, source, target, value, -64, overflows)
    tails, heads = np.concatenate([src, dst]), np.concatenate([dst, src])
    residual = np.concatenate([capacity - sent, sent])
    path = _path(n, tails, heads, residual > 0, source, target)
    slack = _slack_of(is_whole, float(value))
    if path and (not slack or _largest_flow(n, tails, heads, residual, source, target, 4 * slack)[0] > slack):
        raise VerificationError(f"more could be sent, along the vertices {', '.join(map(str, path))}")


@verifier()
def minimum_cut(graph: Any, source: Any, target: Any, value: int, source_side: Any) -> None:
    """Verify `value` and `source_side` of `gasla.minimum_cut`: the cut separates both, and has this capacity.

    SciPy computes a flow of this value, which shows that no cut is cheaper. For integers, the source side is the
    largest of a minimum cut: every other vertex has a path to the target along which more could flow. For floats this
    is not verified, since rounding may add and remove such paths.

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
    source, target = _check_ends(source, target, n)
    side = vertex_answer("source_side", source_side, n, "b")
    if not side[source] or side[target]:
        raise VerificationError(f"source {source} and target {target} are not on their sides of the cut")
    parted = capacity[side[src] & ~side[dst]]
    is_whole = capacity.dtype.kind == "i"
    cost = sum(parted.tolist()) if is_whole else _float_sum(parted)
    if not cost < np.inf:
        raise VerificationError(f"the edges of the cut cost {cost}; expected a cut of finite capacities")
    if not abs(cost - value) <= _slack_of(is_whole, cost):
        raise VerificationError(f"the value is {value}, but the edges of the cut cost {cost}")
    if is_whole and cost >= 2**62:
        raise VerificationError(f"the cut costs {cost}; expected less than 2**62, or an error")
    if not (cost or is_whole):
        return
    least, (tails, heads, residual) = _largest_flow(n, src, dst, capacity, source, target, cost)
    if cost - least > _slack_of(is_whole, cost):
        raise VerificationError(f"the cut costs {cost}, and there is one that costs {least}")
    if is_whole:
        can_send = reachable(n, heads[residual > 0], tails[residual > 0], [target])
        require(
            side | can_send,
            lambda v: f"vertex {v} is not on the source side; expected the largest, and no more can flow from {v}",
        )


@verifier("shares")
def global_minimum_cut(graph: Any, value: int, side: Any, *, samples: int = 16) -> None:
    """Verify `value` and `side` of `gasla.global_minimum_cut`: the cut has two sides, and this weight.

    No single vertex is cheaper to cut off. As SciPy finds, the value can also flow from vertex 0 to each of `samples`
    vertices, which are drawn at random.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 3, 0], [3, 0, 2], [0, 2, 0]])
    >>> global_minimum_cut(path, 2, [False, False, True])
    >>> global_minimum_cut(path, 3, [False, True, True])
    Traceback (most recent call last):
    gasla.verify.VerificationError: the cut costs 3, and cutting off vertex 2 costs 2
    """
    n, src, dst, capacity = _edges(graph)
    if n < 2:
        raise VerificationError(f"the graph has {n} vertices; expected an error")
    sides = vertex_answer("side", side, n, "b")
    if sides[0] or not sides.any():
        raise VerificationError(f"{sides.sum()} vertices are on the side, vertex 0 {'too' if sides[0] else 'not'}")
    is_whole = capacity.dtype.kind == "i"
    # edges are sorted by capacity, so that equal parallel edges are added in the same order in both directions
    order = np.argsort(capacity)
    src, dst, capacity = src[order], dst[order], capacity[order]
    reverse_weight = _both_directions(n, dst, src, capacity)[2]
    src, dst, weight = _both_directions(n, src, dst, capacity)
    weight = weight if (weight == reverse_weight).all() else weight + reverse_weight
    crossing = weight[sides[src] & ~sides[dst]]
    cost = sum(crossing.tolist()) if is_whole else _float_sum(crossing)
    if not abs(cost - value) <= _slack_of(is_whole, cost):
        raise VerificationError(f"the value is {value}, but the edges of the cut cost {cost}")
    degrees = _vertex_sums(n, src, weight, 0)
    v = int(degrees.argmin())
    if cost - degrees[v] > _slack_of(is_whole, cost):
        raise VerificationError(f"the cut costs {cost}, and cutting off vertex {v} costs {degrees[v]}")
    for v in (sample(n - 1, samples) + 1).tolist() if cost else []:
        least, _ = _largest_flow(n, src, dst, weight, 0, v, cost)
        if cost - least > _slack_of(is_whole, cost):
            raise VerificationError(f"the cut costs {cost}, and one between vertices 0 and {v} costs {least}")


@verifier()
def minimum_cost_flow(graph: Any, supplies: Any, cost: int, flow: Any, prices: Any, *, capacities: Any = None) -> None:
    """Verify `cost`, `flow` and `prices` of `gasla.minimum_cost_flow`, by duality.

    The flow respects capacities and meets the supplies. The price rises by at most the cost along edges that could
    carry more, and by at least the cost along edges that carry something. This is exact for integers, and within 1e-9
    of the largest cost for floats.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 3, 0], [0, 0, 2], [0, 0, 0]])
    >>> minimum_cost_flow(path, [4, 0, -4], 20, [4, 4], [-5, -2, 0])
    >>> minimum_cost_flow(path, [4, 0, -4], 20, [4, 4], [-4, -2, 0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: edge 0, 0 → 1, carries 4, and the price rises by 2; expected at least its cost, 3
    """
    graph = as_graph(graph)
    src, dst = (np.asarray(ends).astype(np.int64) for ends in graph.edges())
    values = np.ones(graph.m, np.int64) if graph.values is None else np.asarray(graph.values)
    is_whole, name, cost = values.dtype.kind != "f", _edge_names(src, dst), _python_number(cost)
    costs = _numbers("costs", values, is_whole)
    limits = graph.edge_attributes[capacities] if isinstance(capacities, str) else capacities
    limits = np.full(graph.m, np.inf) if limits is None else _whole_numbers("capacities", limits, graph.m)
    supply_values = vector_of(supplies, graph.n) if isinstance(supplies, Mapping) else supplies
    supply = _whole_numbers("supplies", supply_values, graph.n)
    sent = np.asarray(flow)
    price = _numbers("prices", vertex_answer("prices", prices, graph.n, "iu" if is_whole else "f"), is_whole)
    if sent.shape != src.shape or sent.dtype.kind != "i":
        raise VerificationError(f"flow is {sent.dtype}{sent.shape}; expected {graph.m} integers, one per edge")
    sent = sent.astype(np.int64)
    require((sent >= 0) & (sent <= limits), lambda e: f"{name(e)} carries {sent[e]}; its capacity is {limits[e]}")
    _require_exact_sums(graph.n, src, dst, sent)
    net_outflow = _vertex_sums(graph.n, src, sent, 0) - _vertex_sums(graph.n, dst, sent, 0)
    require(net_outflow == supply, lambda v: f"{net_outflow[v]} more leave vertex {v} than arrive; expected its supply")
    size = 0 if is_whole else _float_sum(abs(costs * sent))
    if not size < np.inf:
        raise VerificationError("the edges of the flow cost more than 1.8e308; expected an error")
    total = sum(map(int.__mul__, costs.tolist(), sent.tolist())) if is_whole else _float_sum(costs * sent)
    if not abs(total - cost) <= _slack_of(is_whole, size):
        raise VerificationError(f"the cost is {cost}, but that of the flow is {total}")
    rise, slack = price[dst] - price[src], _slack_of(is_whole, abs(costs).max(initial=0))
    require(
        (sent == limits) | (rise - costs <= slack),
        lambda e: (
            f"{name(e)} could carry more, and the price rises by {rise[e]}; expected at most its cost, {costs[e]}"
        ),
    )
    require(
        (sent == 0) | (costs - rise <= slack),
        lambda e: (
            f"{name(e)} carries {sent[e]}, and the price rises by {rise[e]}; expected at least its cost, {costs[e]}"
        ),
    )


def _edges(graph: Any) -> tuple[int, Array, Array, Array]:
    """Return the number of vertices, the source and the target of each edge, and its capacity in int64 or float64."""
    graph = as_graph(graph)
    src, dst = (np.asarray(ends).astype(np.int64) for ends in graph.edges())
    capacity = np.ones(len(src), np.int64) if graph.values is None else np.asarray(graph.values)
    require(capacity >= 0, lambda e: f"{_edge_names(src, dst)(e)} has the capacity {capacity[e]}; expected an error")
    if capacity.dtype.kind == "f":
        return graph.n, src, dst, capacity.astype(np.float64)
    return graph.n, src, dst, np.minimum(capacity.astype(np.uint64), np.uint64(2**63 - 1)).astype(np.int64)


def _check_ends(source: Any, target: Any, n: int) -> tuple[int, int]:
    """Check that source and target are two different vertices, and return their numbers."""
    source, target = check_source(source, n), check_source(target, n, "target")
    if source == target:
        raise ValueError(f"source and target are both {source}; expected two different vertices")
    return source, target


def _python_number(given: Any) -> Any:
    """Convert a NumPy scalar to a Python number, whose integers can't overflow. Return anything else unchanged."""
    return given.item() if isinstance(given, np.generic | np.ndarray) and given.ndim == 0 else given


def _slack_of(is_whole: bool, size: Any) -> Any:
    """Return the allowed error of a flow or cost of about `size`, which is 0 for integers."""
    return 0 if is_whole else TOLERANCE * size


def _vertex_sums(n: int, at: Array, sent: Array, scale: int) -> Array:
    """Return for each of `n` vertices the sum of `sent` over the edges at the vertex, times 2**scale. `at` has the
    vertex of each edge.

    A negative scale keeps sums of large floats finite. It has no effect on integers.
    """
    if sent.dtype.kind == "f":
        return np.bincount(at, np.ldexp(sent, scale), n)
    sums = np.zeros(n, sent.dtype)
    np.add.at(sums, at, sent)
    return sums


def _require_exact_sums(n: int, src: Array, dst: Array, sent: Array) -> None:
    """Raise an error if sums of integers at the source or target of edges might not fit int64. The integers are 0 or
    more.

    The sums are computed in float64 for this check, which does not overflow and is almost exact.
    """
    for at, verb in (src, "leave"), (dst, "enter"):
        sums = np.bincount(at, sent, n)
        if (largest := sums.max(initial=0)) >= MAX_VERTEX_FLOW:
            raise VerificationError(f"{largest:.3g} units {verb} vertex {sums.argmax()}; expected less than 2**62")


def _float_sum(numbers: Array) -> float:
    try:
        return math.fsum(numbers.tolist())
    except OverflowError:
        return math.inf


def _check_balance(
    edges: tuple[int, Array, Array], sent: Array, source: int, target: int, value: Any, scale: int, here: Array
) -> Array:
    """Verify that a flow has the given value, and that as much flows out of each vertex as into it, except at source
    and target.

    Sums are multiplied by 2**scale, so that those of large floats can be kept finite. Only vertices where `here` is
    True are verified. Return which of them could not be verified, since their sums overflow.
    """
    n, src, dst = edges
    is_whole = sent.dtype.kind == "i"
    expected = value if is_whole else math.ldexp(value, scale)
    arrives, leaves = (_vertex_sums(n, at, sent, scale) for at in (dst, src))
    excess = arrives - leaves
    is_known, throughput = np.isfinite(excess) & here, np.maximum(arrives, leaves)
    if is_known[target] and not abs(excess[target].item() - expected) <= _slack_of(
        is_whole, expected + throughput[target] / 2**20
    ):
        received = excess[target].item() * 2**-scale
        raise VerificationError(f"the value is {value}, but {received} arrives at target {target}")
    excess[[source, target]] = 0
    balanced = abs(excess) <= _slack_of(is_whole, throughput + expected / 2**20)
    require(balanced | ~is_known, lambda v: f"inflow minus outflow of vertex {v} is {excess[v].item() * 2**-scale}")
    return here & ~is_known


def _numbers(name: str, numbers: Array, is_whole: bool) -> Array:
    """Convert costs or prices to int64, if they are whole numbers, or float64. Raise an error if a sum of three of them
    could overflow.
    """
    bound = 2**61 if is_whole else np.inf
    require(
        (numbers < bound) & (numbers > -bound), lambda i: f"{name}[{i}] is {numbers[i]}; expected less than {bound}"
    )
    return numbers.astype(np.int64 if is_whole else np.float64)


def _whole_numbers(name: str, given: Any, count: int) -> Array:
    """Convert supplies or capacities to float64. Raise an error if float64 does not hold them exactly. inf stands for
    no limit.
    """
    numbers = np.asarray(given)
    if numbers.shape != (count,) or (numbers.dtype.kind not in "biuf" and count):
        raise VerificationError(f"{name} are {numbers.dtype}{numbers.shape}; expected {count} whole numbers")
    numbers = numbers.astype(np.float64)
    is_fit = (numbers == np.rint(numbers)) & ((abs(numbers) < 2.0**53) | (numbers == np.inf))
    require(is_fit, lambda i: f"{name}[{i}] is {numbers[i]}; expected a whole number, less than 2**53")
    return numbers


def _edge_names(src: Array, dst: Array) -> Callable[[int], str]:
    return lambda e: f"edge {e}, {src[e]} → {dst[e]},"


def _path(n: int, tails: Array, heads: Array, is_residual: Array, source: int, target: int) -> list[int]:
    """Return the vertices of a path from source to target along residual edges, or an empty list without a path."""
    from scipy.sparse.csgraph import breadth_first_order

    matrix = sparse(n, tails[is_residual], heads[is_residual])
    predecessor, path = breadth_first_order(matrix, source)[1], [target]
    if predecessor[target] < 0:
        return []
    while path[-1] != source:
        path.append(int(predecessor[path[-1]]))
    return path[::-1]


def _largest_flow(
    n: int, src: Array, dst: Array, capacity: Array, source: int, target: int, most: float
) -> tuple[int | float, tuple[Array, Array, Array]]:
    """Return the value of a maximum flow of at most `most`, and its residual graph, computed with SciPy.

    The value is exact for integers, and within 1e-10 of `most` for floats. The residual graph is three arrays with the
    tails, heads and residual capacities of its edges, exact for integers whose flow `most` does not limit.

    SciPy's capacities have 31 bits. So flows are computed in rounds of decreasing units, each on the residual
    capacities that the rounds before left. The result is complete once no edge of the saturated cut has lost capacity
    by rounding.
    """
    from scipy.sparse.csgraph import maximum_flow as scipy_flow

    is_whole = capacity.dtype.kind == "i"
    # capacities as multiples of `most`, at most 2, because a flow of at most `most` needs no more; integers stay as
    # they are
    capacities = capacity if is_whole else np.minimum(capacity / most, 2.0)
    tails, heads, residual = _both_directions(n, src, dst, capacities)
    total, limit = (0, int(most)) if is_whole else (0.0, 1.0)
    bound = limit
    # an added vertex, number n, sends at most `most` to the source, which limits the whole flow
    tails, heads = np.append(tails, [n, source]), np.append(heads, [source, n])
    while True:
        unit = 2.0 ** (math.frexp(limit)[1] - CAPACITY_BITS)
        unit = max(1, int(unit)) if is_whole else unit
        rounded = np.append(np.minimum(residual, min(limit, 2**62)) // unit, [-(-limit // unit), 0]).astype(np.int32)
        sent = scipy_flow(sparse(n + 1, tails, heads, rounded), n, target)
        edge_flow = np.asarray(sent.flow[tails, heads]).ravel().astype(residual.dtype)
        total += type(total)(sent.flow_value) * unit
        residual = residual - edge_flow[:-2] * unit
        has_capacity = rounded - edge_flow > 0
        source_side = reachable(n + 1, tails[has_capacity], heads[has_capacity], [n])
        cut_left = residual[source_side[tails[:-2]] & ~source_side[heads[:-2]]]
        remaining = min(exact_total(cut_left) if is_whole else cut_left.sum(), bound - total)
        if not source_side[source] or remaining <= (0 if is_whole else 1e-10):
            return min(total, bound) * (1 if is_whole else most), (tails[:-2], heads[:-2], residual)
        limit = type(limit)(remaining)
        bound = min(bound, total + limit)


def _both_directions(n: int, src: Array, dst: Array, capacity: Array) -> tuple[Array, Array, Array]:
    """Return all ordered pairs of adjacent vertices, as two arrays, and the total capacity from the first vertex to the
    second.

    Each pair is there in both directions. Total integer capacities above 2**62 are set to 2**62.
    """
    is_proper = src != dst
    src, dst, capacity = src[is_proper], dst[is_proper], capacity[is_proper]
    pairs, pair_index = np.unique(np.concatenate([src * n + dst, dst * n + src]), return_inverse=True)
    pair_index = pair_index[: len(src)]
    total = np.zeros(len(pairs), capacity.dtype)
    np.add.at(total, pair_index, capacity)
    if capacity.dtype.kind == "i":
        total[np.bincount(pair_index, capacity, len(pairs)) >= 2.0**62] = 2**62
    return pairs // n, pairs % n, total
