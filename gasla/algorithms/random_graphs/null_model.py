"""Null models tell how far a result on a graph is from results on random graphs that share some properties with the
graph.

The random graphs have the same degrees or the same number of edges.
"""

import reprlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.random_graphs.randomized import MODELS, MOST_SWAPS, SWAPS, Model, as_read, randomized
from gasla.arrays import moved
from gasla.graph.arguments import check_choice, whole_number
from gasla.graph.graph import Graph, whole_graph
from gasla.operations.sampling import seed_word
from gasla.rows import Row

MOST_TIMES = 1_000_000


class NullModelResult(NamedTuple):
    """The result on a graph, its mean and standard deviation on random graphs, and the z-score (observed - mean) / std.

    Each has the form of the result: a number, an array, or a dict of numbers.
    """

    observed: Any
    mean: Any
    std: Any
    z: Any


def null_model(
    graph: Any,
    function: Callable[[Graph], Any],
    times: int = 100,
    *,
    model: Model = "rewired",
    swaps: int = SWAPS,
    seed: int = 0,
) -> NullModelResult:
    """Compare the result of a function on a graph with its results on random graphs: z-scores.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        As `randomized` reads it: values are ignored.
    function : function of a Graph
        Returns a number, an array of numbers, or a dict of numbers, such as `gasla.transitivity`,
        `gasla.motif_counts`, or ``lambda graph: gasla.bridges(graph).sum()``.
    times : int
        Number of random graphs, 2 to 1,000,000.
    model : {"rewired", "configuration", "erdos_renyi"}
        The random graphs, as `randomized` draws them.
    swaps : int
        For "rewired", the number of swaps that are tried for each edge.
    seed : int
        At most 64 bits.

    Returns
    -------
    NullModelResult(observed, mean, std, z)
        The result on the graph without what the model ignores; the mean and the standard deviation (with
        `times` - 1 degrees of freedom) of the results on random graphs; and z = (observed - mean) / std: how many
        standard deviations the result is above the mean. Where all random graphs have the same result, z is 0 if that
        is the observed one, else infinite.

    Raises
    ------
    TypeError, ValueError
        If `function` is none or returns something else, `times` is below 2, or the model is not valid.

    See Also
    --------
    gasla.randomized : one of the random graphs.
    gasla.motif_counts : takes `times` itself.

    Notes
    -----
    The result is compared with that on the same edges without values, and for "rewired" and "erdos_renyi" without loops
    and parallel edges, so that no difference comes from them.

    References
    ----------
    R. Milo, S. Shen-Orr, S. Itzkovitz, N. Kashtan, D. Chklovskii, U. Alon: Network Motifs: Simple Building Blocks of
    Complex Networks. Science 298 (2002).

    Examples
    --------
    Friends of friends in a karate club are friends more often than the number of friends of each explains:

    >>> import gasla, networkx as nx
    >>> club = gasla.Graph.from_networkx(nx.karate_club_graph())
    >>> found = gasla.null_model(club, gasla.average_clustering, times=50)
    >>> found.observed > found.mean, found.z > 2
    (True, True)
    """
    graph, word = whole_graph(graph), seed_word(seed)
    if not callable(function):
        raise TypeError(f"function is {reprlib.repr(function)}; expected a function of a graph")
    if (times := whole_number("times", times, MOST_TIMES)) < 2:
        raise ValueError(f"times is {times}; expected 2 or more, as a standard deviation needs two results")
    check_choice("model", model, MODELS)
    whole_number("swaps", swaps, MOST_SWAPS)
    base = as_read(graph, model)
    observed = function(base)
    first = _numbers(observed)
    # sums of the differences from the observed result, which lose less to rounding than sums of results
    sums, squares = np.zeros_like(first), np.zeros_like(first)
    for sample_number in range(times):
        random_graph = randomized(base, model, swaps=swaps, seed=int(semirings.hash(word, np.uint64(sample_number))))
        result = _numbers(function(random_graph))
        if result.shape != first.shape:
            raise ValueError(
                f"the result has shape {result.shape} on a random graph, and {first.shape} on the graph; expected one "
                "shape"
            )
        sums += result - first
        squares += (result - first) ** 2
    mean = sums / times
    std = np.sqrt(np.maximum(squares - times * mean**2, 0) / (times - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(mean == 0, 0, -mean / std)
    return NullModelResult(observed, *(_in_form(observed, statistic) for statistic in (first + mean, std, z)))


def _numbers(result: Any) -> np.ndarray[Any, Any]:
    """Return the result of a user's function as an array of float64 in host memory."""
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        raise TypeError(
            f"function returned a {type(result).__name__} with {', '.join(result._fields)}; expected one of these"
        )
    values = [*result.values()] if isinstance(result, Mapping) else moved(result, "cpu")
    array = np.asarray(values)
    # Python integers may exceed 64 bits, and then make an array of objects, which is allowed.
    if array.dtype.kind not in "biuf" and not all(isinstance(x, int) for x in array.flat):
        raise TypeError(
            f"function returned {reprlib.repr(result)}; expected a number, an array of numbers, or a dict of numbers"
        )
    return array.astype(np.float64)


def _in_form(observed: Any, values: np.ndarray[Any, Any]) -> Any:
    """Return numbers, such as means over random graphs, in the form of the result `observed` on the graph itself.

    The form is a number, an array, or a dictionary.
    """
    if isinstance(observed, Mapping):
        return dict(zip(observed, values.tolist(), strict=True))
    return values if values.ndim else float(values)


ROW = Row(
    null_model,
    "null_model(g, gasla.triangle_count, times=2)",
    method="parallel global swaps (Allendorf et al., J. Parallel and Distributed Computing, 2023), then the function",
    longer="Two random graphs, each of ten rounds of swaps, and their triangles.",
)
