"""What rankings by iteration share: how they start, which weights count, and whether they have converged."""

import warnings
from math import inf
from typing import Any

import numpy as np

from gasla.graph.arguments import vertex_numbers
from gasla.graph.graph import Graph
from gasla.operations.result import ConvergenceWarning


def type_of_weights(graph: Graph, weighted: bool) -> np.dtype | None:
    """The type of the weights that count, if any; `in_range` or `weight_range` refuses those that can't be used."""
    if not weighted or graph.values is None:
        return None
    graph.notice_values()
    kind: np.dtype = graph.values.dtype
    return kind


def distribution(graph: Graph, given: Any, name: str) -> Any:
    """An array or a dict of numbers, scaled to sum to 1."""
    numbers = vertex_numbers(graph, name, given, least=0)
    total = numbers.sum()
    if not 0 < total < np.inf:
        raise ValueError(f"{name} has only zeros, or an infinite sum; expected some positive numbers")
    return numbers / total


def has_settled(scores: str, ended: bool, residual: float, max_iter: int, *, silent: bool) -> bool:
    """Whether a run converged: it ended by itself, and its last change is a number.

    If it did not, the caller of the function that calls this is warned, unless `silent`. A change that is infinite or
    NaN is an error: then scores are no numbers any more.
    """
    if not residual < inf:  # NaN, too
        raise ValueError(
            f"the {scores} are no numbers any more: their last change is {residual}. Expected weights nearer to 1, or "
            "dtype=np.float64: divide all of them by one number"
        )
    if not (ended or silent):
        warnings.warn(
            f"the {scores} still changed by {residual:.3g} after {max_iter} iterations; raise max_iter, or tol",
            ConvergenceWarning,
            stacklevel=3,
        )
    return ended
