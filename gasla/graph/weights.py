"""Types of sums of weights, and protection against overflow, for all algorithms that add up weights.

Integers and bool are summed in int64, and uint64 in uint64. Such sums are exact, or an error says that they don't fit.
Floats are summed in float64. Where scores are multiplied by weights, or finite weights may sum to infinity, weights are
first scaled by a power of two, which is exact (`in_range`). Integers are subtracted in uint64 (`differences`).
"""

from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

import numpy as np

from gasla.arrays import array_module
from gasla.graph.arguments import weight_range
from gasla.graph.edge_values import of_parts
from gasla.graph.graph import Graph, as_graph

P = ParamSpec("P")
Result = TypeVar("Result")
# Number of bits in half of a 64-bit integer. Upper and lower halves are summed apart, so that sums don't overflow 64
# bits.
HALF = 32


def takes_weight(function: Callable[P, Result]) -> Callable[P, Result]:
    """Decorate a function of a graph so that it also takes the argument `weight`, which chooses the weights of edges.

    `weight` is the name of an edge attribute, "weight" for the graph's values, or None for no weights. A function with
    the parameter `weighted` is told by it whether there are weights. Any other function is called with a graph whose
    values are the weights.
    """
    has_choice = "weighted" in signature(function).parameters

    @wraps(function)
    def call_with_weight(*args: P.args, **kwargs: P.kwargs) -> Result:
        if "weight" not in kwargs:
            return function(*args, **kwargs)
        keywords: Any = kwargs
        further: Any = args[1:]
        graph: Any = args[0] if args else keywords.pop("graph")
        graph, is_weighted = _choose_weights(function.__name__, as_graph(graph), keywords)
        if has_choice:
            keywords["weighted"] = is_weighted
            return function(graph, *further, **keywords)
        return function(graph if is_weighted else graph.with_values(None), *further, **keywords)

    return call_with_weight


def _choose_weights(function: str, graph: Any, keywords: Any) -> tuple[Any, bool]:
    """Return a graph whose values are the weights that the argument `weight` chooses, and whether there are any.

    `weight` is removed from `keywords`, the keyword arguments of the call.
    """
    if "weighted" in keywords:
        raise TypeError(f"{function}() got weighted and weight, which say the same; expected one of them")
    weight = keywords.pop("weight")
    if weight is None or isinstance(weight, bool):
        return graph, bool(weight)
    if not isinstance(weight, str):
        raise TypeError(f"weight is {weight!r}; expected an edge attribute, 'weight' for the values, or None")
    if weight == "weight" and weight not in graph.edge_attributes:
        return graph, True
    graph.edge_attributes.require(weight, "weight")
    return graph.weighted_by(weight), True


def sum_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which values of another dtype are summed.

    Examples
    --------
    >>> sum_type(np.dtype("i1")), sum_type(np.dtype("?")), sum_type(np.dtype("u8")), sum_type(np.dtype("f4"))
    (dtype('int64'), dtype('int64'), dtype('uint64'), dtype('float64'))
    """
    if dtype.kind == "f":
        return np.dtype(np.float64)
    return np.dtype(np.uint64 if dtype == np.dtype(np.uint64) else np.int64)


def exact_total(values: Any, *, magnitudes: bool = False) -> int:
    """Return the exact sum of edge values that are integers, or of their absolute values, as a Python int.

    Examples
    --------
    >>> exact_total(np.full(4, 2**62)), exact_total(np.array([-128, 127], np.int8), magnitudes=True)
    (18446744073709551616, 255)
    """
    return sum(of_parts(values, partial(_total_of_part, magnitudes)))


def _total_of_part(magnitudes: bool, values: Any, _: Any) -> int:
    """Return the exact sum of the integers in an array (with `magnitudes` of absolute values) as a Python int.

    The array has the values of all edges, or of the edges on one rank.
    """
    if array_module(values) is not np:
        from gasla.gpu.runtime.min_max import total

        return total(values, magnitudes)
    # no overflow is possible: fewer than 2**31 values of at most 32 bits are added in 64 bits
    if values.dtype.itemsize < 8:
        return int((abs(values.astype(np.int64)) if magnitudes else values).sum(dtype=np.int64))
    if magnitudes and values.dtype.kind == "i":
        # `abs` of -2**63 overflows, but its bits read as uint64 are the right absolute value
        values = abs(values).view(np.uint64)
    low_bits = values & values.dtype.type(2**HALF - 1)
    return (int((values >> values.dtype.type(HALF)).sum()) << HALF) + int(low_bits.sum())


def check_total(function: str, values: Any) -> None:
    """Raise ValueError if the sum of integer values overflows the dtype in which they are summed."""
    dtype = values.dtype
    # no overflow is possible for floats, nor if up to 2**32 values of at most 32 bits are added in 64 bits
    if dtype.kind == "f" or dtype.itemsize < 8:
        return
    _check_fits(function, "sum", exact_total(values), sum_type(dtype))


def check_sums(function: str, graph: Graph) -> np.dtype[Any]:
    """Return the dtype in which the weights of a graph are summed.

    Raise ValueError if sums of some weights may overflow it.
    """
    values: Any = graph.valued.each
    dtype = sum_type(values.dtype)
    if values.dtype.kind == "f" or values.dtype.itemsize < 8 or len(values) == 0:
        return dtype
    smallest, largest = map(int, graph._noticed_range())
    if graph.m * max(-smallest, largest) > np.iinfo(dtype).max:
        _check_fits(function, "sum of absolute values", exact_total(values, magnitudes=True), dtype)
    return dtype


def _check_fits(function: str, what: str, total: int, dtype: np.dtype[Any]) -> None:
    bounds = np.iinfo(dtype)
    if not bounds.min <= total <= bounds.max:
        raise ValueError(
            f"{function} adds up weights whose {what} is {total}; expected below 2**{64 if dtype.kind == 'u' else 63}, "
            "so that integer sums are exact: pass floats, graph.with_values(graph.values.astype(np.float64))"
        )


def differences(later: Any, earlier: Any) -> Any:
    """Return ``later - earlier``, exactly for integers, as uint64.

    No entry of `earlier` may exceed its entry of `later`.

    Examples
    --------
    >>> differences(np.array([2**62]), np.array([-(2**63)]))
    array([13835058055282163712], dtype=uint64)
    """
    if later.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return later - earlier
    # Subtraction of uint64 is modulo 2**64. As every difference is smaller than that, the result is exact.
    return later.astype(np.uint64) - earlier.astype(np.uint64)


def in_range(graph: Graph, scores: Any = np.float64) -> tuple[Graph, int]:
    """Return the graph with its weights divided by a power of two, ``2**exponent``, and the exponent.

    The exponent is nearly always 0, and the graph is then `graph` itself.

    The largest weight is brought between 2**-256 and 2**256 (2**-32 and 2**32 for float32 scores), so that products of
    two weights, and sums of such products, neither overflow nor underflow. Weights far smaller than the largest are
    rounded, but not to 0. Negative and infinite weights are an error, as in ``check_weights(shares=True)``.
    """
    values: Any = graph.valued.each
    largest = float(weight_range(graph, shares=True)[1])
    if values is None or values.dtype.kind != "f" or len(values) == 0:
        # Only floats are scaled. Integers are smaller than 2**64, so products of them don't overflow a float.
        return graph, 0
    limit = int(np.finfo(scores).maxexp) // 4
    exponent = int(np.frexp(largest)[1]) if largest > 0 else 0
    exponent -= min(max(exponent, -limit), limit)
    if exponent == 0:
        return graph, 0
    return graph.kept(("in range", exponent), lambda graph: graph.with_values(partial(_scale_down, exponent))), exponent


def _scale_down(exponent: int, values: Any) -> Any:
    xp: Any = array_module(values)
    smallest = xp.where(values > 0, np.finfo(values.dtype).smallest_subnormal, values.dtype.type(0))
    return xp.maximum(xp.ldexp(values, -exponent), smallest).astype(values.dtype, copy=False)


def mean_size(sample: Any) -> float:
    """Return the mean absolute value of a NumPy array, ignoring NaN and infinity, and without overflow.

    Examples
    --------
    >>> mean_size(np.array([-128, 0], np.int8)), mean_size(np.array([1e308, 1e308, np.inf]))
    (64.0, 1e+308)
    """
    magnitudes = abs(sample.astype(np.float64))
    magnitudes = magnitudes[np.isfinite(magnitudes)]
    return float((magnitudes / max(len(magnitudes), 1)).sum())


def may_overflow(graph: Graph, dtype: np.dtype[Any], bounds: tuple[Any, Any] | None = None) -> bool:
    """Return whether the length of a path, as a sum of weights, may overflow the floating-point type `dtype`.

    Only paths that visit no vertex twice matter. `bounds` is the result of `weight_range`, if the caller has it
    already. On a GPU it would take a kernel and a wait to compute it again.
    """
    if graph.value_type is None or graph.m == 0:
        return False
    largest = float(max(map(abs, map(float, bounds or weight_range(graph)))))
    with np.errstate(over="ignore"):
        return not largest * graph.n < float(np.finfo(dtype).max)
