"""In which type weights are added up, and what happens where a sum leaves that type. Every function that adds up asks.

Integers and bool add up in int64, and uint64 in uint64: exactly, or the call is refused by name. Floats add up in
float64. Where scores are multiplied by weights, or finite weights may add up to infinity, the weights are first
multiplied by a power of two, which rounds nothing: `in_range`. Sums of lengths along a path, whose answer is such a
sum, are refused where they overflow.
"""

from typing import Any, cast

import numpy as np

from gasla.arrays import array_module
from gasla.graph.arguments import weight_range
from gasla.graph.graph import Graph
from gasla.graph.validate import range_of

HALF = 32  # bits: sums of upper and of lower halves are exact in 64 bits


def sum_type(kind: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which values of a type are added up.

    Examples
    --------
    >>> sum_type(np.dtype("i1")), sum_type(np.dtype("?")), sum_type(np.dtype("u8")), sum_type(np.dtype("f4"))
    (dtype('int64'), dtype('int64'), dtype('uint64'), dtype('float64'))
    """
    if kind.kind == "f":
        return np.dtype(np.float64)
    return np.dtype(np.uint64 if kind == np.dtype(np.uint64) else np.int64)


def exact_total(values: Any, *, magnitudes: bool = False) -> int:
    """The sum of integers, or of their absolute values, whatever their type holds.

    Examples
    --------
    >>> exact_total(np.full(4, 2**62)), exact_total(np.array([-128, 127], np.int8), magnitudes=True)
    (18446744073709551616, 255)
    """
    if values.dtype.itemsize < 8:
        values = values.astype(np.int64)
    if magnitudes and values.dtype.kind == "i":
        values = abs(values).view(np.uint64)  # of the least integer, too, which has no opposite
    low = values & values.dtype.type(2**HALF - 1)
    return (int((values >> values.dtype.type(HALF)).sum()) << HALF) + int(low.sum())


def check_total(function: str, values: Any) -> None:
    """Refuse integers whose sum `sum_type` can't hold."""
    kind = values.dtype
    if kind.kind == "f" or kind.itemsize < 8:  # 2**32 values and more of up to 32 bits can be added up
        return
    _check_fits(function, "sum", exact_total(values), sum_type(kind))


def check_sums(function: str, graph: Graph) -> np.dtype[Any]:
    """Refuse integer weights of which some may add up to more than `sum_type` holds; returns that type."""
    values: Any = graph.values
    kind = sum_type(values.dtype)
    if values.dtype.kind == "f" or values.dtype.itemsize < 8 or len(values) == 0:
        return kind
    bounds = graph.value_range if graph.device == "cpu" else None
    least, most = map(int, bounds or range_of(values))
    if graph.m * max(-least, most) > np.iinfo(kind).max:
        _check_fits(function, "sum of absolute values", exact_total(values, magnitudes=True), kind)
    return kind


def _check_fits(function: str, what: str, total: int, kind: np.dtype[Any]) -> None:
    bounds = np.iinfo(kind)
    if not bounds.min <= total <= bounds.max:
        raise ValueError(
            f"{function} adds up weights whose {what} is {total}; expected below 2**{64 if kind.kind == 'u' else 63}, "
            "so that integers add up exactly: pass floats, graph.with_values(graph.values.astype(np.float64))"
        )


def in_range(graph: Graph, scores: Any = np.float64) -> tuple[Graph, int]:
    """The graph whose weights are multiplied by ``2**-exponent``, and that exponent: nearly always 0, and no other.

    So the largest is from 2**-256 to 2**256 (of float32 scores: 2**-32 to 2**32): products of two, and sums of such
    products, neither overflow nor vanish. Weights far smaller than the largest may. Weights that are no shares of a sum
    are refused, as by `check_weights`.
    """
    values: Any = graph.values
    largest = float(weight_range(graph, shares=True)[1])
    if values is None or values.dtype.kind != "f" or len(values) == 0:
        return graph, 0  # integers end at 2**64
    limit = int(np.finfo(scores).maxexp) // 4
    exponent = int(np.frexp(largest)[1]) if largest > 0 else 0
    exponent -= min(max(exponent, -limit), limit)
    if exponent == 0:
        return graph, 0
    if graph.device != "cpu":  # values may be written to without notice
        return _multiplied(graph, exponent), exponent
    return graph.kept(("in range", exponent), lambda graph: _multiplied(graph, exponent)), exponent


def _multiplied(graph: Graph, exponent: int) -> Graph:
    values: Any = graph.values
    return graph.with_values(array_module(values).ldexp(values, -exponent).astype(values.dtype, copy=False))


def mean_size(sample: Any) -> float:
    """The mean absolute value of some numbers, infinite ones and NaN aside: no sum overflows. NumPy's arrays.

    Examples
    --------
    >>> mean_size(np.array([-128, 0], np.int8)), mean_size(np.array([1e308, 1e308, np.inf]))
    (64.0, 1e+308)
    """
    sizes = abs(sample.astype(np.float64))
    sizes = sizes[np.isfinite(sizes)]
    return float((sizes / max(len(sizes), 1)).sum())


def may_overflow(graph: Graph, kind: np.dtype[Any], bounds: tuple[Any, Any] | None = None) -> bool:
    """Whether the length of a path without circles, added up in a type of floats, may overflow.

    `bounds` is what `weight_range` gave in this call: on a GPU to look again takes a kernel, and waits for all before.
    """
    if graph.values is None or graph.m == 0:
        return False
    largest = float(max(map(abs, map(float, bounds or weight_range(graph)))))
    with np.errstate(over="ignore"):
        return not largest * graph.n < float(np.finfo(kind).max)


def check_lengths(graph: Graph, lengths: Any) -> None:
    """Refuse shortest or longest lengths of paths that overflow: infinite ones that are sums of two finite numbers.

    A longest one may be infinite beside a finite sum, by an infinite edge; a shortest one may not.
    """
    xp: Any = array_module(lengths)
    lists, values = graph.out, cast(Any, graph.out_values)
    before, after = lengths[lists.owners()], lengths[lists.indices]
    with np.errstate(over="ignore"):
        sums = before + values.astype(lengths.dtype, copy=False)
    bad = xp.isfinite(before) & xp.isinf(after) & xp.isfinite(values) & xp.isinf(sums)
    if bool(bad.any()):
        v = int(lists.indices[int(bad.argmax())])
        remedy = "lengths of float64" if lengths.dtype == np.float32 else "smaller ones: divide all by one number"
        raise ValueError(f"the lengths on a path to vertex {v} sum to infinity in {lengths.dtype}; expected {remedy}")
