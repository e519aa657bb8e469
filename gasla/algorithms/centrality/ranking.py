"""What iterative centralities share: the program, results, initial distributions, and the check of convergence."""

from math import inf
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.graph.arguments import are_names, several_vertices, vertex_numbers
from gasla.graph.graph import Graph
from gasla.log import warn
from gasla.operations.result import ConvergenceWarning
from gasla.program import VertexProgram, edge, option


class Spread(VertexProgram):
    """The base of vertex programs in which every vertex adds up what its in-neighbors send, such as PageRank.

    What they send is multiplied by the weights of the edges, if there are weights.

    All vertices are active in every iteration, so a run ends only by the program's `stop`, or after the last iteration.
    """

    real = option(np.float64)  # dtype of the scores
    weights = option(None)  # dtype of the weights; None if unweighted
    weight = edge(weights, when=weights)
    reduce = semirings.plus
    everyone = True

    def along(self, edge, score):
        """Return what a vertex's score adds to the sum at the end of an edge: the score, times the weight if
        weighted.
        """
        return score * edge.weight if self.weights else score

    def activate(self, before, after):
        return True


class ScoresResult(NamedTuple):
    """Scores, the number of iterations, the change in the last iteration, and whether it met the tolerance."""

    scores: np.ndarray
    iterations: int
    residual: float
    converged: bool


class HubsResult(NamedTuple):
    """Hub and authority scores, iterations, the last change of the hub scores, and whether it met the tolerance."""

    hubs: np.ndarray
    authorities: np.ndarray
    iterations: int
    residual: float
    converged: bool


def weights_dtype(graph: Graph, weighted: bool) -> np.dtype | None:
    """Return the dtype of the graph's edge weights, or None if `weighted` is false or the graph has none.

    The caller checks the values of the weights, by `in_range` or `weight_range`.
    """
    if not weighted or graph.value_type is None:
        return None
    graph.notice_values()
    dtype: np.dtype = graph.value_type
    return dtype


def distribution(graph: Graph, given: Any, name: str) -> Any:
    """Return the argument `name`, a distribution over the vertices, as an array that sums to 1.

    The user may give an array or a dict of numbers, or the names of vertices, which then are equally likely.
    """
    if graph.naming is not None and are_names(given):
        given = dict.fromkeys(several_vertices(graph, name, given, "vertex"), 1.0)
    numbers = vertex_numbers(graph, name, given, least=0)
    with np.errstate(over="ignore"):
        number_sum = numbers.sum()
    if not 0 < number_sum < np.inf:
        raise ValueError(f"{name} has only zeros, or an infinite sum; expected a finite, positive sum")
    return numbers / number_sum


def check_converged(scores: str, ended: bool, residual: float, max_iter: int, *, silent: bool) -> bool:
    """Return whether a run converged: whether its stop condition ended it.

    If it did not, warn the caller of the calling function, unless `silent`. Raise ValueError if the last change is
    infinite or NaN, which shows that the scores have overflowed.
    """
    if not residual < inf:  # written so that it is also true for NaN
        raise ValueError(
            f"the {scores} overflowed: their last change is {residual}. Expected weights nearer to 1, or "
            "dtype=np.float64: divide all weights by one number"
        )
    if not (ended or silent):
        warn(
            f"the {scores} still changed by {residual:.3g} after {max_iter} iterations; raise max_iter, or tol",
            ConvergenceWarning,
        )
    return ended
