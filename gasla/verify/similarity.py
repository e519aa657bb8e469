"""Verify how alike vertices are: rows of the adjacency matrix multiplied entry by entry, by SciPy."""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gasla.graph.graph import as_graph
from gasla.verify._common import Array, VerificationError, edges_of, require

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Measure = Literal[
    "jaccard", "overlap", "cosine", "adamic_adar", "resource_allocation", "preferential_attachment"
]  # fmt: skip
TOLERANCE = 1e-9  # relative


def similarity(graph: Any, scores: ArrayLike, measure: Measure = "jaccard", pairs: Any = None) -> None:
    """Verify how alike the ends of edges, or of given pairs, are; the graph is read as simple and undirected.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph.
    scores : array of float
        For each stored edge, in the order of the input, or for each pair, how alike its ends are said to be.
    measure : str
        The function that said so.
    pairs : (u, v), two arrays of vertices, optional
        As the function was given them.

    Raises
    ------
    VerificationError
        If a score is wrong.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> similarity(path, [1.0], "jaccard", ([0], [2]))
    >>> similarity(path, [0.5], "jaccard", ([0], [2]))
    Traceback (most recent call last):
    gasla.verify.VerificationError: the jaccard of 0 and 2 is 1, not 0.5
    """
    u, v = _stored(graph) if pairs is None else (np.asarray(ids) for ids in pairs)
    score = np.asarray(scores)
    if score.shape != u.shape or score.dtype.kind != "f":
        raise VerificationError(
            f"scores: {len(u)} floating-point numbers were expected, one a pair, not {score.dtype}{score.shape}"
        )
    simple = edges_of(graph).simple()
    degree = np.diff(simple.indptr).astype(np.float64)
    right = scored(measure, degree[u], degree[v], _in_common(simple, u, v, weights_of(measure, degree)))
    require(
        np.isclose(score, right, rtol=TOLERANCE, atol=0),
        lambda e: f"the {measure} of {u[e]} and {v[e]} is {right[e]:.6g}, not {score[e]:.6g}",
    )


def weights_of(measure: Measure, degree: Array) -> Array:
    """What each vertex counts where it is a common neighbour."""
    with np.errstate(divide="ignore"):
        if measure == "adamic_adar":
            return 1 / np.log(np.maximum(degree, 1))
        return 1 / np.maximum(degree, 1) if measure == "resource_allocation" else np.ones(len(degree))


def scored(measure: Measure, a: Array, b: Array, common: Array) -> Array:
    """A measure of ends of so many neighbours, and what those in common come to."""
    if measure in ("adamic_adar", "resource_allocation"):
        return common
    if measure == "preferential_attachment":
        return a * b
    size = {"jaccard": a + b - common, "overlap": np.minimum(a, b), "cosine": np.sqrt(a * b)}[measure]
    return np.divide(common, size, out=np.zeros(len(a)), where=size > 0)


def _stored(graph: Any) -> tuple[Array, Array]:
    """The ends of stored edges, in the order of the input."""
    graph = as_graph(graph)
    ends, numbers = np.empty((2, graph.m), np.int64), graph.out.numbers()
    ends[0][numbers], ends[1][numbers] = graph.out.owners(), graph.out.indices
    return ends[0], ends[1]


def _in_common(simple: "csr_array", u: Array, v: Array, weights: Array) -> Array:
    """What the common neighbours of each pair weigh, some pairs at a time."""
    degree, found = np.diff(simple.indptr), np.zeros(len(u))
    for some in _parts(degree[u] + degree[v]):
        both = simple[u[some]].multiply(simple[v[some]]).tocsr()
        both.data = weights[both.indices]
        found[some] = np.asarray(both.sum(axis=1)).ravel()
    return found


def _parts(sizes: Array, most: int = 1 << 22) -> Iterator[slice]:
    """Slices whose sizes add up to about so much each."""
    ends = np.cumsum(sizes)
    cuts = np.searchsorted(ends, np.arange(most, int(ends[-1]) if len(ends) else 0, most))
    bounds = np.unique(np.concatenate(([0], cuts, [len(sizes)])))
    return (slice(int(a), int(b)) for a, b in pairwise(bounds))
