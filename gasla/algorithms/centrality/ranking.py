"""What rankings by iteration share: how they start, the type of their numbers, what is said if they don't end."""

import warnings
from typing import Any

import numpy as np

from gasla.arrays import array_module, moved
from gasla.graph.arguments import check_weights
from gasla.graph.graph import Graph
from gasla.operations.result import ConvergenceWarning


def rank_type(weights: np.dtype | None, dtype: Any) -> np.dtype:
    """The type of scores: what is asked for, or that of the weights if they count and are floats, else float64."""
    if dtype is None:
        return weights if weights is not None and weights.kind == "f" else np.dtype(np.float64)
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype is {kind}; expected float32 or float64")
    return kind


def usable_weights(graph: Graph, weighted: bool) -> np.dtype | None:
    """The type of the weights that count, if any; refused are those that are no finite share of a sum."""
    if not weighted or graph.values is None:
        return None
    graph.notice_values()
    check_weights(graph, shares=True)
    kind: np.dtype = graph.values.dtype
    return kind


def distribution(graph: Graph, given: Any, name: str, expected: str = "one number a vertex") -> Any:
    """An array or a dict of numbers, scaled to sum to 1."""
    if isinstance(given, dict):
        array = np.zeros(graph.n)
        for v, x in given.items():
            if not 0 <= v < graph.n:
                raise ValueError(f"{name} names vertex {v}, outside a graph of {graph.n} vertices")
            array[v] = x
    else:
        array = given if array_module(given) is not np else np.asarray(given)
    array = moved(array, graph.device).astype(np.float64, copy=False)
    if array.shape != (graph.n,):
        raise ValueError(f"{name} has shape {array.shape}; expected ({graph.n},), {expected}")
    total = array.sum()
    if not (np.isfinite(total) and total > 0 and array.min() >= 0):
        raise ValueError(f"{name} has negative or no finite numbers, or only zeros; expected some positive numbers")
    return array / total


def warn_of(scores: str, residual: float, max_iter: int) -> None:
    """Say to whoever called the function that calls this that its tolerance was not met."""
    warnings.warn(
        f"the {scores} still changed by {residual:.3g} after {max_iter} iterations; raise max_iter, or tol",
        ConvergenceWarning,
        stacklevel=3,
    )
