"""What rankings by iteration share: how they start, which weights count, what is said if they don't end."""

import warnings
from typing import Any

import numpy as np

from gasla.graph.arguments import check_weights, vertex_numbers
from gasla.graph.graph import Graph
from gasla.operations.result import ConvergenceWarning
from gasla.program.fields import edge


class ByWeight:
    """What a program that gathers scores is mixed with, for edges to count in proportion to their weights."""

    weight = edge(np.float64)

    def gather(self, src: Any, dst: Any, edge: Any) -> Any:
        return super().gather(src, dst, edge) * edge.weight  # type: ignore[misc]


def usable_weights(graph: Graph, weighted: bool) -> np.dtype | None:
    """The type of the weights that count, if any; refused are those that are no finite share of a sum."""
    if not weighted or graph.values is None:
        return None
    graph.notice_values()
    check_weights(graph, shares=True)
    kind: np.dtype = graph.values.dtype
    return kind


def distribution(graph: Graph, given: Any, name: str) -> Any:
    """An array or a dict of numbers, scaled to sum to 1."""
    numbers = vertex_numbers(graph, name, given, least=0)
    total = numbers.sum()
    if not 0 < total < np.inf:
        raise ValueError(f"{name} has only zeros, or an infinite sum; expected some positive numbers")
    return numbers / total


def warn_of(scores: str, residual: float, max_iter: int) -> None:
    """Warn the caller of the function that calls this that its tolerance was not met."""
    warnings.warn(
        f"the {scores} still changed by {residual:.3g} after {max_iter} iterations; raise max_iter, or tol",
        ConvergenceWarning,
        stacklevel=3,
    )
