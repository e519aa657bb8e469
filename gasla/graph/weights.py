"""Types of sums of weights, and protection against overflow, for all algorithms that add up weights.

Integers and bool are summed in int64, and uint64 in uint64: exactly, or with an error if the sum does not fit. Floats
are summed in float64. Where scores are multiplied by weights, or finite weights may sum to infinity, weights are first
scaled by a power of two, which is exact: `in_range`. Path lengths that overflow are an error: `check_lengths`.
"""

from typing import Any, cast

import numpy as np

from gasla.arrays import array_module
from gasla.graph.arguments import weight_range
from gasla.graph.graph import Graph

HALF = 32  # bits: sums of upper and of lower halves are exact in 64 bits


def sum_type(kind: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which values of type `kind` are summed.

    Examples
    --------
    >>> sum_type(np.dtype("i1")), sum_type(np.dtype("?")), sum_type(np.dtype("u8")), sum_type(np.dtype("f4"))
    (dtype('int64'), dtype('int64'), dtype('uint64'), dtype('float64'))
    """
    if kind.kind == "f":
        return np.dtype(np.float64)
    return np.dtype(np.uint64 if kind == np.dtype(np.uint64) else np.int64)


def exact_total(values: Any, *, magnitudes: bool = False) -> int:
    """The exact sum of integers, or of their absolute values, as a Python int.

    Examples
    --------
    >>> exact_total(np.full(4, 2**62)), exact_total(np.array([-128, 127], np.int8), magnitudes=True)
    (18446744073709551616, 255)
    """
    if values.dtype.itemsize < 8:
        values = values.astype(np.int64)
    if magnitudes and values.dtype.kind == "i":
        values = abs(values).view(np.uint64)  # correct also for -2**63
    low = values & values.dtype.type(2**HALF - 1)
    return (int((values >> values.dtype.type(HALF)).sum()) << HALF) + int(low.sum())


def check_total(function: str, values: Any) -> None:
    """Raise ValueError for integers whose sum overflows `sum_type`."""
    kind = values.dtype
    if kind.kind == "f" or kind.itemsize < 8:  # 2**32 values of 32 bits can't overflow 64 bits
        return
    _check_fits(function, "sum", exact_total(values), sum_type(kind))


def check_sums(function: str, graph: Graph) -> np.dtype[Any]:
    """Raise ValueError for integer weights of which some subset may overflow `sum_type`; returns that type."""
    values: Any = graph._valued.each
    kind = sum_type(values.dtype)
    if values.dtype.kind == "f" or values.dtype.itemsize < 8 or len(values) == 0:
        return kind
    least, most = map(int, graph._noticed_range())
    if graph.m * max(-least, most) > np.iinfo(kind).max:
        _check_fits(function, "sum of absolute values", exact_total(values, magnitudes=True), kind)
    return kind


def _check_fits(function: str, what: str, total: int, kind: np.dtype[Any]) -> None:
    bounds = np.iinfo(kind)
    if not bounds.min <= total <= bounds.max:
        raise ValueError(
            f"{function} adds up weights whose {what} is {total}; expected below 2**{64 if kind.kind == 'u' else 63}, "
            "so that integer sums are exact: pass floats, graph.with_values(graph.values.astype(np.float64))"
        )


def in_range(graph: Graph, scores: Any = np.float64) -> tuple[Graph, int]:
    """The graph with weights multiplied by ``2**-exponent``, and the exponent; nearly always 0, with `graph` itself.

    The largest weight is brought between 2**-256 and 2**256 (2**-32 and 2**32 for float32 scores), so that products of
    two weights, and sums of such products, neither overflow nor underflow. Weights far smaller than the largest may
    underflow. Negative and infinite weights are an error, as in ``check_weights(shares=True)``.
    """
    values: Any = graph._valued.each
    largest = float(weight_range(graph, shares=True)[1])
    if values is None or values.dtype.kind != "f" or len(values) == 0:
        return graph, 0  # integers are below 2**64
    limit = int(np.finfo(scores).maxexp) // 4
    exponent = int(np.frexp(largest)[1]) if largest > 0 else 0
    exponent -= min(max(exponent, -limit), limit)
    if exponent == 0:
        return graph, 0
    return graph.kept(("in range", exponent), lambda graph: _multiplied(graph, exponent)), exponent


def _multiplied(graph: Graph, exponent: int) -> Graph:
    values: Any = graph._valued.each
    return graph.with_values(array_module(values).ldexp(values, -exponent).astype(values.dtype, copy=False))


def mean_size(sample: Any) -> float:
    """The mean absolute value of a NumPy array, ignoring NaN and infinity, and without overflow.

    Examples
    --------
    >>> mean_size(np.array([-128, 0], np.int8)), mean_size(np.array([1e308, 1e308, np.inf]))
    (64.0, 1e+308)
    """
    sizes = abs(sample.astype(np.float64))
    sizes = sizes[np.isfinite(sizes)]
    return float((sizes / max(len(sizes), 1)).sum())


def may_overflow(graph: Graph, kind: np.dtype[Any], bounds: tuple[Any, Any] | None = None) -> bool:
    """Whether the length of a simple path may overflow the float type `kind`.

    `bounds` is the result of `weight_range`, if the caller has it: on a GPU that takes a kernel and a synchronization.
    """
    if graph.value_type is None or graph.m == 0:
        return False
    largest = float(max(map(abs, map(float, bounds or weight_range(graph)))))
    with np.errstate(over="ignore"):
        return not largest * graph.n < float(np.finfo(kind).max)


def check_lengths(graph: Graph, lengths: Any) -> None:
    """Raise ValueError for path lengths that overflowed: infinite although both summands are finite."""
    xp: Any = array_module(lengths)
    lists, values = graph.out, cast(Any, graph._valued.by_out)
    before, after = lengths[lists.owners()], lengths[lists.indices]
    with np.errstate(over="ignore"):
        sums = before + values.astype(lengths.dtype, copy=False)
    bad = xp.isfinite(before) & xp.isinf(after) & xp.isfinite(values) & xp.isinf(sums)
    if bool(bad.any()):
        v = int(lists.indices[int(bad.argmax())])
        remedy = "pass float64 weights" if lengths.dtype == np.float32 else "divide all weights by the same number"
        raise ValueError(
            f"the weights on a path to vertex {v} sum to infinity in {lengths.dtype}; expected a finite sum: {remedy}"
        )
